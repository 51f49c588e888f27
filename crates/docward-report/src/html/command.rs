//! Formats proposed commands for reading: statements for mongosh are broken into lines at brackets
//! and commas, and strings, numbers and operators are coloured. Only whitespace outside strings is
//! added or replaced, so a copied command runs unchanged.

use maud::{Markup, html};

use crate::text::plain;

/// The maximum line width, if brackets permit a choice.
const WIDTH: usize = 76;
/// The indentation per open bracket.
const STEP: usize = 2;

/// The command, broken into lines and coloured.
pub(super) fn drawn(command: &str) -> Markup {
    let text = lines(&plain(command));
    html! {
        @for (kind, part) in coloured(&text) {
            @match kind {
                Kind::Plain => (part),
                Kind::String => span .s { (part) },
                Kind::Number => span .n { (part) },
                Kind::Operator => span .o { (part) },
            }
        }
    }
}

/// A part of a statement.
enum Node {
    Text(String),
    /// The content of two brackets, split at its commas.
    Group(char, Vec<Vec<Node>>, char),
}

/// The command over several lines. It stays unchanged if it is not a mongosh statement, has lines
/// already, or contains comments or regular expressions, in which brackets have another meaning.
fn lines(command: &str) -> String {
    let is_statement = ["db.", "sh.", "rs."].iter().any(|start| command.starts_with(start));
    if !is_statement || command.contains('\n') {
        return command.to_owned();
    }
    let Some(statements) = parsed(command) else { return command.to_owned() };
    let mut out = String::new();
    for (at, statement) in statements.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        write(trimmed(statement), 0, 0, &mut out);
    }
    out
}

/// The statements of a line; `None` if brackets or quotes do not match.
fn parsed(command: &str) -> Option<Vec<Vec<Node>>> {
    // Each open bracket with its completed items.
    let mut open: Vec<(char, Vec<Vec<Node>>)> = Vec::new();
    let mut statements: Vec<Vec<Node>> = Vec::new();
    let mut item: Vec<Node> = Vec::new();
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            '"' | '\'' | '`' => push(&mut item, &quoted(c, &mut rest)?),
            '/' => return None,
            '(' | '[' | '{' => open.push((c, vec![std::mem::take(&mut item)])),
            ')' | ']' | '}' => {
                let (bracket, mut before) = open.pop()?;
                if (bracket, c) != ('(', ')')
                    && (bracket, c) != ('[', ']')
                    && (bracket, c) != ('{', '}')
                {
                    return None;
                }
                before.push(std::mem::take(&mut item));
                item = before.remove(0);
                item.push(Node::Group(bracket, before, c));
            }
            ',' if !open.is_empty() => {
                let (_, before) = open.last_mut()?;
                before.push(std::mem::take(&mut item));
            }
            ';' if open.is_empty() => {
                push(&mut item, ";");
                statements.push(std::mem::take(&mut item));
            }
            _ => push(&mut item, c.encode_utf8(&mut [0; 4])),
        }
    }
    if !open.is_empty() {
        return None;
    }
    if !flat(trimmed(&item)).trim().is_empty() {
        statements.push(item);
    }
    Some(statements)
}

/// Reads a string up to its closing quote.
fn quoted(quote: char, rest: &mut std::str::Chars<'_>) -> Option<String> {
    let mut text = String::from(quote);
    let mut is_escaped = false;
    for c in rest {
        text.push(c);
        if c == quote && !is_escaped {
            return Some(text);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

fn push(item: &mut Vec<Node>, text: &str) {
    match item.last_mut() {
        Some(Node::Text(last)) => last.push_str(text),
        _ => item.push(Node::Text(text.to_owned())),
    }
}

/// Removes leading and trailing parts that are only whitespace; [`write`] trims the others.
fn trimmed(nodes: &[Node]) -> &[Node] {
    let is_blank = |node: &Node| matches!(node, Node::Text(text) if text.trim().is_empty());
    let start = nodes.iter().position(|node| !is_blank(node)).unwrap_or(nodes.len());
    let end = nodes.iter().rposition(|node| !is_blank(node)).map_or(start, |at| at + 1);
    &nodes[start..end]
}

/// Writes the nodes on one line, unchanged.
fn flat(nodes: &[Node]) -> String {
    let mut out = String::new();
    for node in nodes {
        match node {
            Node::Text(text) => out.push_str(text),
            Node::Group(open, items, close) => {
                out.push(*open);
                let items: Vec<String> = items.iter().map(|item| flat(item)).collect();
                out.push_str(&items.join(","));
                out.push(*close);
            }
        }
    }
    out
}

/// The number of columns used on the last line.
fn column(out: &str) -> usize {
    out.chars().rev().take_while(|c| *c != '\n').count()
}

/// Writes a part; `indent` is the start column of its lines, `behind` the width of the text that
/// has to fit after it.
fn write(nodes: &[Node], indent: usize, behind: usize, out: &mut String) {
    for (at, node) in nodes.iter().enumerate() {
        match node {
            Node::Text(text) => {
                let text = if at == 0 { text.trim_start() } else { text };
                out.push_str(if at + 1 == nodes.len() { text.trim_end() } else { text });
            }
            Node::Group(open, items, close) => {
                let alone = std::slice::from_ref(node);
                let next = match nodes.get(at + 1) {
                    Some(Node::Text(text)) => text.chars().count() + 1,
                    Some(Node::Group(..)) => 1,
                    None => behind,
                };
                let whole = flat(alone);
                if column(out) + whole.chars().count() + next <= WIDTH || whole.len() <= 4 {
                    out.push_str(&whole);
                } else {
                    group(*open, items, *close, indent, out);
                }
            }
        }
    }
}

/// Writes brackets over several lines, each item on its own line.
fn group(open: char, items: &[Vec<Node>], close: char, indent: usize, out: &mut String) {
    out.push(open);
    // Brackets that contain only brackets open and close together.
    if let [only] = items
        && let [Node::Group(inner, parts, end)] = trimmed(only)
    {
        group(*inner, parts, *end, indent, out);
        out.push(close);
        return;
    }
    let inside = indent + STEP;
    for (at, item) in items.iter().enumerate() {
        out.push('\n');
        out.push_str(&" ".repeat(inside));
        write(trimmed(item), inside, 1, out);
        if at + 1 < items.len() {
            out.push(',');
        }
    }
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(close);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    String,
    Number,
    Operator,
}

/// The coloured parts, and the parts between them.
fn coloured(text: &str) -> Vec<(Kind, &str)> {
    let mut parts: Vec<(Kind, &str)> = Vec::new();
    let mut from = 0;
    let mut at = 0;
    let mut before = ' ';
    while let Some(c) = text[at..].chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let word = |text: &str| text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        let found = match c {
            '"' | '\'' => {
                let mut rest = text[at + 1..].chars();
                quoted(c, &mut rest).map(|string| (Kind::String, string.len()))
            }
            '$' if !is_word(before) => Some((Kind::Operator, word(&text[at..]))),
            '0'..='9' if !is_word(before) => Some((Kind::Number, word(&text[at..]))),
            _ => None,
        };
        let (kind, length) = found.unwrap_or((Kind::Plain, c.len_utf8()));
        if kind != Kind::Plain {
            parts.extend([(Kind::Plain, &text[from..at]), (kind, &text[at..at + length])]);
            from = at + length;
        }
        before = text[at..at + length].chars().next_back().unwrap_or(c);
        at += length;
    }
    parts.push((Kind::Plain, &text[from..]));
    parts.retain(|(_, part)| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything except whitespace outside strings.
    fn bare(command: &str) -> String {
        let mut out = String::new();
        let mut rest = command.chars();
        while let Some(c) = rest.next() {
            match c {
                '"' | '\'' | '`' => out.push_str(&quoted(c, &mut rest).expect("it ends")),
                c if c.is_whitespace() => {}
                c => out.push(c),
            }
        }
        out
    }

    /// Pseudo-random numbers that are the same every time.
    struct Dice(u64);

    impl Dice {
        fn throw(&mut self, sides: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (self.0 >> 33) % sides
        }

        fn value(&mut self, depth: u64) -> String {
            let parts = |dice: &mut Self, one: fn(&mut Self, u64) -> String| {
                let n = dice.throw(5);
                (0..n).map(|_| one(dice, depth + 1)).collect::<Vec<_>>().join(", ")
            };
            match self.throw(if depth > 5 { 4 } else { 8 }) {
                0 => "\"a, {b\\\" [ c  d\"".to_owned(),
                1 => "'it\\'s (1 ; 2'".to_owned(),
                2 => "NumberDecimal(\"1.50\")".to_owned(),
                3 => "-17".to_owned(),
                4 | 5 => format!("[{}]", parts(self, Self::value)),
                _ => format!("{{ {}}}", parts(self, |d, depth| format!("$k: {}", d.value(depth)))),
            }
        }
    }

    #[test]
    fn only_white_space_outside_of_strings_changes() {
        let mut dice = Dice(7);
        let mut broken = 0;
        for _ in 0..500 {
            let (a, b, c) = (dice.value(0), dice.value(0), dice.value(0));
            let command = format!("db.getCollection(\"t  x\").update({a}, {b}); db.run({c})");
            let shown = lines(&command);
            assert_eq!(bare(&shown), bare(&command));
            assert_eq!(lines(&shown), shown, "what has lines keeps them");
            broken += usize::from(shown.lines().count() > 2);
            let joined: String = coloured(&shown).iter().map(|(_, part)| *part).collect();
            assert_eq!(joined, shown, "colours take nothing away");
        }
        assert!(broken > 100, "{broken}");
    }

    #[test]
    fn long_statements_are_broken_at_brackets_and_commas() {
        let command = "db.getSiblingDB(\"db_shop\").runCommand({collMod: \"t_payment\", validationAction: \"warn\"}); \
                       db.getSiblingDB(\"db_shop\").getCollection(\"t_payment\").updateMany({\"amount\": {$type: \"double\"}}, \
                       [{$set: {\"amount\": {$cond: [{$in: [{$type: \"$amount\"}, [\"double\"]]}, {$toDecimal: \"$amount\"}, \"$amount\"]}}}])";
        let expect = r#"db.getSiblingDB("db_shop").runCommand({
  collMod: "t_payment",
  validationAction: "warn"
});
db.getSiblingDB("db_shop").getCollection("t_payment").updateMany(
  {"amount": {$type: "double"}},
  [{
    $set: {
      "amount": {
        $cond: [
          {$in: [{$type: "$amount"}, ["double"]]},
          {$toDecimal: "$amount"},
          "$amount"
        ]
      }
    }
  }]
)"#;
        assert_eq!(lines(command), expect);
        assert_eq!(lines("db.t.createIndex({a: 1})"), "db.t.createIndex({a: 1})");
    }

    #[test]
    fn what_is_no_plain_statement_stays_as_it_is() {
        let long = "x".repeat(90);
        for command in [
            format!("docward shardkey SOURCE --log 'a, ({long}'"),
            format!("db.t.find({{a: /[,({long}/}})"),
            format!("db.t.find({{a: 1}}) // {long}, ({long})"),
            format!("db.t.find({{a: \"{long}, )"),
            format!("db.t.find([{{a: 1}}, \"{long}\"}}])"),
            format!("db.t.find({{\n a: \"{long}\", b: 1}})"),
        ] {
            assert_eq!(lines(&command), command);
        }
    }

    #[test]
    fn strings_numbers_and_operators_have_colours() {
        let drawn = drawn("db.t1.find({$gt: 10, b: \"<5\"})").into_string();
        assert_eq!(
            drawn,
            "db.t1.find({<span class=\"o\">$gt</span>: <span class=\"n\">10</span>, b: <span class=\"s\">&quot;&lt;5&quot;</span>})"
        );
    }
}
