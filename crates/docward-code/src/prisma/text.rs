//! Parses the blocks and lines of Prisma schemas. An invalid line is reported as a problem, and
//! parsing continues with the next line.

use crate::{Place, Problem};
use docward_source::place::Places;

/// `keyword name { … }`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) keyword: String,
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) comment: Option<String>,
    /// Fields, values of an enumeration, or settings of a data source.
    pub(super) fields: Vec<Field>,
    /// Block attributes such as `@@map(…)`.
    pub(super) attributes: Vec<Attribute>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) comment: Option<String>,
    pub(super) kind: String,
    pub(super) optional: bool,
    pub(super) list: bool,
    pub(super) attributes: Vec<Attribute>,
    /// The text of a setting: `name = "text"`.
    pub(super) value: Option<String>,
}

impl Field {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }
}

/// `@name(arguments)`.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) place: Place,
    /// Whether it belongs to a block and not to a field.
    of_block: bool,
    arguments: String,
}

impl Attribute {
    /// Returns the first string among the arguments.
    pub(super) fn string(&self) -> Option<String> {
        let start = self.arguments.find('"')?;
        let mut out = String::new();
        let mut chars = self.arguments[start + 1..].chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => return Some(out),
                '\\' => match chars.next()? {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    other => out.push(other),
                },
                c => out.push(c),
            }
        }
        None
    }

    /// Returns the attribute as it is written.
    pub(super) fn text(&self) -> String {
        let arguments = &self.arguments;
        let mark = if self.of_block { "@@" } else { "@" };
        let text = if arguments.is_empty() {
            format!("{mark}{}", self.name)
        } else {
            format!("{mark}{}({arguments})", self.name)
        };
        docward_source::syntax::quoted(&text)
    }
}

const KEYWORDS: [&str; 6] = ["model", "type", "enum", "view", "datasource", "generator"];

/// Splits a text into its blocks.
pub(super) fn blocks(text: &str) -> (Vec<Block>, Vec<Problem>) {
    let mut reader = Reader { text, at: 0, places: Places::new(text), problems: Vec::new() };
    let mut blocks = Vec::new();
    let mut comment = None;
    loop {
        reader.blank(&mut comment);
        if reader.rest().is_empty() {
            break;
        }
        match reader.block(comment.take()) {
            Some(block) => blocks.push(block),
            None => reader.skip_line(),
        }
    }
    reader.problems.truncate(50);
    (blocks, reader.problems)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    places: Places<'t>,
    problems: Vec<Problem>,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn place(&self) -> Place {
        self.places.at(self.at)
    }

    fn problem(&mut self, message: impl Into<String>) {
        let Place { line, column } = self.place();
        self.problems.push(Problem { line, column, message: message.into() });
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
    }

    /// Skips empty lines and comments. A comment with three slashes describes the next declaration.
    fn blank(&mut self, comment: &mut Option<String>) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            if let Some(text) = rest.strip_prefix("///") {
                let line = text.lines().next().unwrap_or_default().trim();
                match comment {
                    Some(before) => {
                        before.push('\n');
                        before.push_str(line);
                    }
                    None => *comment = Some(line.to_owned()),
                }
                self.skip_line();
            } else if rest.starts_with("//") {
                self.skip_line();
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }

    fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    fn block(&mut self, comment: Option<String>) -> Option<Block> {
        let start = self.place();
        let Some(keyword) = self.word().filter(|word| KEYWORDS.contains(word)) else {
            let message = "expected `model`, `type`, `enum`, `view`, `datasource` or `generator`";
            self.problems.push(Problem {
                line: start.line,
                column: start.column,
                message: message.to_owned(),
            });
            return None;
        };
        self.spaces();
        let place = self.place();
        let Some(name) = self.word() else {
            self.problem("expected a name");
            return None;
        };
        self.spaces();
        if !self.rest().starts_with('{') {
            self.problem("expected `{`");
            return None;
        }
        self.at += 1;
        let mut block = Block {
            keyword: keyword.to_owned(),
            name: name.to_owned(),
            place,
            comment,
            fields: Vec::new(),
            attributes: Vec::new(),
        };
        let mut comment = None;
        loop {
            self.blank(&mut comment);
            let rest = self.rest();
            if rest.is_empty() {
                self.problem(format!("`{}` is not closed: `}}` is missing", block.name));
                return Some(block);
            }
            if rest.starts_with('}') {
                self.at += 1;
                return Some(block);
            }
            if rest.starts_with("@@") {
                block.attributes.extend(self.attribute());
                comment = None;
                continue;
            }
            match self.field(comment.take()) {
                Some(field) => block.fields.push(field),
                None => self.skip_line(),
            }
        }
    }

    fn field(&mut self, comment: Option<String>) -> Option<Field> {
        let place = self.place();
        let Some(name) = self.word() else {
            self.problem("expected a field");
            return None;
        };
        let mut field = Field {
            name: name.to_owned(),
            place,
            comment,
            kind: String::new(),
            optional: false,
            list: false,
            attributes: Vec::new(),
            value: None,
        };
        self.spaces();
        if self.rest().starts_with('=') {
            self.at += 1;
            self.spaces();
            let line = self.rest().lines().next().unwrap_or_default();
            field.value = Some(line.trim().trim_matches('"').to_owned());
            self.skip_line();
            return Some(field);
        }
        if let Some(kind) = self.word() {
            field.kind = kind.to_owned();
            if self.rest().starts_with('(') {
                self.arguments();
            }
            if self.rest().starts_with("[]") {
                field.list = true;
                self.at += 2;
            }
            if self.rest().starts_with('?') {
                field.optional = true;
                self.at += 1;
            }
        }
        loop {
            self.spaces();
            let rest = self.rest();
            if rest.starts_with('@') {
                field.attributes.extend(self.attribute());
            } else if let Some(text) = rest.strip_prefix("///") {
                let line = text.lines().next().unwrap_or_default().trim();
                field.comment.get_or_insert_with(|| line.to_owned());
                self.skip_line();
                return Some(field);
            } else if rest.is_empty() || rest.starts_with(['\n', '}']) || rest.starts_with("//") {
                return Some(field);
            } else {
                let line = rest.lines().next().unwrap_or_default();
                self.problem(format!("unexpected `{}`", docward_source::syntax::quoted(line)));
                self.skip_line();
                return Some(field);
            }
        }
    }

    fn attribute(&mut self) -> Option<Attribute> {
        let place = self.place();
        let of_block = self.rest().starts_with("@@");
        self.at += if of_block { 2 } else { 1 };
        let mut name = self.word().unwrap_or_default().to_owned();
        while self.rest().starts_with('.') {
            self.at += 1;
            name.push('.');
            name.push_str(self.word().unwrap_or_default());
        }
        if name.is_empty() {
            self.problem("expected the name of an attribute");
            self.skip_line();
            return None;
        }
        let arguments =
            if self.rest().starts_with('(') { self.arguments().to_owned() } else { String::new() };
        Some(Attribute { name, place, of_block, arguments })
    }

    /// Returns the text in parentheses, including nested parentheses and strings.
    fn arguments(&mut self) -> &'t str {
        let rest = self.rest();
        let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
        for (at, c) in rest.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if in_text => escaped = true,
                '"' => in_text = !in_text,
                // A string ends with its line, so that an unclosed one affects only that line.
                '\n' if in_text => break,
                '(' if !in_text => depth += 1,
                ')' if !in_text => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += at + 1;
                        return &rest[1..at];
                    }
                }
                _ => {}
            }
        }
        self.problem("`)` is missing");
        let line = rest.find('\n').unwrap_or(rest.len());
        self.at += line;
        &rest[1..line]
    }
}
