//! Names that are looked for in all files of a project, also in those that never speak of MongoDB: whether anybody
//! calls a method, and whether anything is computed with an amount.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use docward_model::{
    Code,
    code::{Mentioned, Method},
};

use super::{
    FileKind, Language, file_role, units,
    whose::{self, Candidates},
};

/// More names are of a project whose findings nobody reads one by one.
const MOST: usize = 50_000;

/// How programs ask people in a terminal, with the language where others write the same.
const ASKED: [(&str, Option<Language>); 8] = [
    ("System.in", Some(Language::Java)),
    ("readln", Some(Language::Kotlin)),
    ("readLine", Some(Language::Kotlin)),
    ("os.Stdin", Some(Language::Go)),
    ("process.stdin", None),
    ("inquirer", None),
    ("input(", Some(Language::Python)),
    ("Console.ReadLine", None),
];

/// What programs say that serve several people at a time: words that nobody writes by chance, which names of libraries
/// (`next`, `hono`) are not.
const SERVING: [&str; 24] = [
    "RestController",
    "@Controller",
    "KafkaListener",
    "RabbitListener",
    "express",
    "fastify",
    "NestFactory",
    "createServer",
    "FastAPI",
    "Flask",
    "django",
    "aiohttp",
    "ListenAndServe",
    "gin.Default",
    "gin.New",
    "fiber.New",
    "echo.New",
    "embeddedServer",
    "discord",
    "telegram",
    "telebot",
    "socket.io",
    "tornado",
    "sanic",
];

/// What is written where amounts have fractions: how they are rounded, charged, or turned into a type that has them, and
/// currencies whose smallest unit people pay with.
const FRACTIONS: [&str; 33] = [
    "toFixed(2",
    ".2f",
    "FractionDigits: 2",
    "parseFloat",
    "0.01",
    ", 2)",
    "BigDecimal",
    "setScale",
    "Decimal(",
    "decimal128",
    "cents",
    "kobo",
    "paise",
    "stripe",
    "razorpay",
    "paypal",
    "paystack",
    "flutterwave",
    "mercadopago",
    "braintree",
    "\u{20ac}",
    "\u{a3}",
    "USD",
    "EUR",
    "GBP",
    "CAD",
    "AUD",
    "BRL",
    "MXN",
    "ZAR",
    "CHF",
    "TRY",
    "PLN",
];

/// Names to look for.
pub struct Sought {
    search: AhoCorasick,
    /// What each pattern of the search stands for.
    names: Vec<Name>,
    /// Fields that numbers may be.
    candidates: Candidates,
    /// Methods by their files.
    methods: BTreeMap<String, Vec<Method>>,
}

enum Name {
    /// A method, as it is written.
    Method(String),
    /// A number, in any case: a field, a struct's field, a getter.
    Number(String),
    /// What numbers belong to, in any case and within other words.
    Owner(String),
    /// A question in a terminal.
    Asked(Option<Language>),
    /// A program that serves several people.
    Serving,
    /// What is written where amounts have fractions.
    Fraction,
    /// A class of documents, as it is written.
    Class(String),
}

impl Sought {
    /// What findings of a project may depend on; `None` when that is nothing.
    pub fn of(code: &Code) -> Option<Self> {
        let mut methods: BTreeMap<String, Vec<Method>> = BTreeMap::new();
        for method in &code.methods {
            methods.entry(method.file.clone()).or_default().push(method.clone());
        }
        let called: BTreeSet<&str> =
            code.methods.iter().map(|method| method.name.as_str()).collect();
        let candidates = Candidates::of(code);
        let classes: BTreeSet<String> = Mentioned::numbers(code)
            .filter(|field| Mentioned::names_classes(&field.place.location.file))
            .map(|field| field.model.clone())
            .collect();
        let mut patterns = Vec::new();
        let mut names = Vec::new();
        let mut seek = |pattern: String, name: Name| {
            patterns.push(pattern);
            names.push(name);
        };
        for method in called {
            seek(method.to_owned(), Name::Method(method.to_owned()));
        }
        if candidates.numbers().next().is_some() {
            FRACTIONS.iter().for_each(|shown| seek((*shown).to_owned(), Name::Fraction));
        }
        for class in classes {
            seek(class.clone(), Name::Class(class));
        }
        for number in candidates.numbers() {
            let plain = number.replace('_', "");
            seek(format!("get{plain}"), Name::Number(number.to_owned()));
            seek(format!("set{plain}"), Name::Number(number.to_owned()));
            seek(number.to_owned(), Name::Number(number.to_owned()));
        }
        for owner in candidates.owners() {
            seek(owner.to_owned(), Name::Owner(owner.to_owned()));
        }
        if !code.read_then_writes.is_empty() && code.serving.is_empty() {
            ASKED.iter().for_each(|(how, of)| seek((*how).to_owned(), Name::Asked(*of)));
            SERVING.iter().for_each(|word| seek((*word).to_owned(), Name::Serving));
        }
        if patterns.is_empty() || patterns.len() > MOST {
            return None;
        }
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(patterns).ok()?;
        Some(Self { search, names, candidates, methods })
    }

    /// Looks through a file, which lies `within` the project. Settings name what they start, and compute nothing.
    pub fn look(&self, file: &str, within: &str, kind: FileKind, text: &[u8]) -> Mentioned {
        let mut out = Mentioned::default();
        let mut computed: Vec<(usize, &str)> = Vec::new();
        let mut owners: Vec<(usize, &str)> = Vec::new();
        // What is filled in by hand or for a test is computed where nothing is booked.
        let is_test = file_role::is_test(within);
        let is_script = file_role::is_script(within);
        let is_aside = is_script || is_test;
        let own = self.methods.get(file).map(Vec::as_slice).unwrap_or_default();
        // Finds come in the order of their ends, which is near enough to that of lines.
        let (mut line, mut upto) = (1_u32, 0);
        for found in self.search.find_overlapping_iter(text) {
            let (from, to) = (found.start(), found.end());
            let is_part = |byte: Option<&u8>| {
                byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'))
            };
            let before = from.checked_sub(1).and_then(|at| text.get(at));
            let name = &self.names[found.pattern().as_usize()];
            if let Name::Owner(owner) = name {
                // Whoever holds the id of a product does not speak of its price.
                let behind = &text[to..text.len().min(to + 3)];
                let behind = behind.strip_prefix(b"_").unwrap_or(behind);
                let is_id = behind.get(..2).is_some_and(|id| id.eq_ignore_ascii_case(b"id"))
                    && !behind.get(2).is_some_and(u8::is_ascii_lowercase);
                if !is_id {
                    owners.push((from, owner));
                }
                continue;
            }
            if let Name::Fraction = name {
                let is_word = text[from..to].iter().all(u8::is_ascii_alphabetic);
                let is_code = is_word && to - from == 3;
                let is_part = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphabetic);
                let is_whole = !is_word || !(is_part(before) || is_part(text.get(to)));
                let is_known = !is_code
                    || text[from..to].iter().all(u8::is_ascii_uppercase)
                    || is_text(before) && is_text(text.get(to));
                out.shows_fractions |= is_whole && is_known;
                continue;
            }
            // `$price` is the field in a pipeline.
            let is_open = text[from..to].ends_with(b"(");
            if before != Some(&b'$') && is_part(before) || !is_open && is_part(text.get(to)) {
                continue;
            }
            match name {
                Name::Method(name)
                    if text[from..to] == *name.as_bytes()
                        && is_use(text, from, kind)
                        // Tests run what nothing else does, and scripts may ask whether it is there.
                        && !(is_test || is_script && is_said(text, from, to)) =>
                {
                    if !own.is_empty() && from > upto {
                        line += memchr::memchr_iter(b'\n', &text[upto..from]).count() as u32;
                        upto = from;
                    }
                    let around =
                        |method: &&Method| (method.lines.0..=method.lines.1).contains(&line);
                    let inside = own.iter().filter(around).min_by_key(|m| m.lines.1 - m.lines.0);
                    let inside = inside.map(|method| method.name.clone());
                    out.methods.entry(name.clone()).or_default().insert(inside);
                }
                Name::Number(name) => {
                    if units::is_whole(text, from, to) {
                        out.whole.insert(name.clone());
                    }
                    out.formats_hundredths |= units::is_formatted(text, from, to);
                    if units::has_fractions(text, from, to) || is_given_fraction(&text[to..]) {
                        out.fractions.insert(name.clone());
                    }
                    if kind != FileKind::Settings
                        && !is_aside
                        && is_computed(text, from, to)
                        && !units::is_counted_up(text, from, to)
                    {
                        match units::is_number_of_things(text, from, to) {
                            true => _ = out.whole.insert(name.clone()),
                            false => computed.push((from, name)),
                        }
                    }
                }
                Name::Class(name) if text[from..to] == *name.as_bytes() => {
                    let (files, times) = out.classes.entry(name.clone()).or_default();
                    files.insert(file.to_owned());
                    *times += 1;
                }
                Name::Asked(of) => {
                    out.asks_in_terminal |= of.is_none_or(|of| kind == FileKind::Code(of));
                }
                Name::Serving => out.serves = true,
                Name::Method(_) | Name::Owner(_) | Name::Fraction | Name::Class(_) => {}
            }
        }
        // What the file is called is spoken of all over it.
        let called = within.to_ascii_lowercase();
        let place = whose::Place { file, called: &called, text, owners: &owners };
        for (at, number) in computed {
            for (model, path) in self.candidates.whose(number, at, &place) {
                let of = (model.to_owned(), path.to_owned());
                out.computed.entry(of).or_insert(1);
            }
        }
        out
    }
}

/// Whether a name is used where it stands: neither in a remark, nor in a list of what is taken in or handed out.
fn is_use(text: &[u8], at: usize, kind: FileKind) -> bool {
    /// Nobody writes longer lists of names.
    const LONGEST: usize = 3000;
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
    let line = text[start..at].trim_ascii_start();
    let is_code = matches!(kind, FileKind::Code(_));
    if !is_code {
        return true;
    }
    if [&b"//"[..], b"#", b"* ", b"/*"].iter().any(|sign| line.starts_with(sign)) {
        return false;
    }
    if line.starts_with(b"from ") || line.starts_with(b"import ") {
        return false;
    }
    // What holds it: `import {pay} from`, `const {pay} = require(…)`, `module.exports = {pay}`, `from x import (pay)`.
    let before = &text[at.saturating_sub(LONGEST)..at];
    let mut depth = 0_u32;
    let opener = before.iter().rposition(|b| match b {
        b')' | b'}' | b']' => {
            depth += 1;
            false
        }
        b'(' | b'{' | b'[' if depth > 0 => {
            depth -= 1;
            false
        }
        b'(' | b'{' | b'[' => true,
        _ => false,
    });
    let Some(opener) = opener else { return true };
    let head = before[..opener].trim_ascii_end();
    let ends = |words: &[&[u8]]| words.iter().any(|word| head.ends_with(word));
    match before[opener] {
        b'{' => !ends(&[
            b"import",
            b"export",
            b"export default",
            b"module.exports =",
            b"exports =",
            b"const",
            b"let",
            b"var",
            b"import type",
            b",",
        ]),
        b'(' => !ends(&[b" import"]),
        _ => true,
    }
}

/// Whether an amount with a fraction stands behind a name: `price: 12.99`, `"price": "12.99"`.
fn is_given_fraction(behind: &[u8]) -> bool {
    let start = behind.iter().take(8).take_while(|b| b"\"' :=(".contains(b)).count();
    let value = &behind[start.min(behind.len())..];
    let whole = value.iter().take_while(|b| b.is_ascii_digit()).count();
    let rest = &value[whole..];
    start > 0 && whole > 0 && matches!(rest, [b'.', b'0'..=b'9', ..]) && !rest.starts_with(b".0")
}

/// Whether something is computed with what stands there: a sign of arithmetic before or behind it, or an operator of an
/// update or a pipeline shortly before.
fn is_computed(text: &[u8], from: usize, to: usize) -> bool {
    /// Nobody writes more between an operator and what it works on.
    const NEAR: usize = 90;
    const OPERATORS: [&[u8]; 8] =
        [b"$inc", b"$sum", b"$add", b"$subtract", b"$multiply", b"$divide", b"$avg", b"$mul"];
    if units::is_remark(text, from) || is_in_prose(text, from, to) {
        return false;
    }
    let near = &text[from.saturating_sub(NEAR)..from];
    if OPERATORS.iter().any(|operator| memchr::memmem::find(near, operator).is_some()) {
        return true;
    }
    // Behind it: `price) * n`, `price || 0) + x`, `price ?? 0) - x`, `getPrice() * n`.
    let mut rest = &text[to..text.len().min(to + NEAR)];
    loop {
        let start = rest;
        rest = rest.trim_ascii_start_of_line();
        for skipped in [&b"||"[..], b"??", b"0.0", b"0", b"()", b")", b"]", b"!", b"?", b"'", b"\""]
        {
            rest = rest.strip_prefix(skipped).unwrap_or(rest);
        }
        if rest.len() == start.len() {
            break;
        }
    }
    let spaced = rest.get(1).is_some_and(|b| *b == b' ' || *b == b'=');
    let behind = match rest.first() {
        Some(b'*') => rest.get(1) != Some(&b'/'),
        Some(b'+') => !is_text(rest[1..].trim_ascii_start().first()),
        // A path, a comment, an arrow and a name with a hyphen are no arithmetic.
        Some(b'-') => spaced && !is_order(&rest[1..], &text[from..to]),
        Some(b'/') => spaced,
        _ => false,
    };
    // Before it: `total += item.price`, `n * Number(item.price)`, `- (order.price`.
    let is_way = |b: &u8| b.is_ascii_alphanumeric() || b"_.()[]?!'\"$".contains(b);
    let way = near.iter().rev().take_while(|b| is_way(b)).count();
    let head = near[..near.len() - way].trim_ascii_end();
    let gap = near.len() - way - head.len();
    // A line of a comment or a list begins with a sign as well.
    let line = head.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let is_first = line.len() < 2 || line[..line.len() - 1].trim_ascii().is_empty();
    let before = !is_first
        && match head {
            [.., b'+' | b'-' | b'*' | b'/', b'='] => true,
            [.., b'*'] => !head.ends_with(b"/*") && !head.ends_with(b"**"),
            [text @ .., b'+'] => !is_text(text.trim_ascii_end().last()),
            [other @ .., b'-'] => {
                gap > 0
                    && other.last() == Some(&b' ')
                    && !other.trim_ascii_end().ends_with(&text[from..to])
            }
            [.., b'/'] => gap > 0 && head.get(head.len().wrapping_sub(2)) == Some(&b' '),
            _ => false,
        };
    behind || before || is_given_result(rest)
}

/// Whether a name stands in a text: alone, or as a word of it.
fn is_said(text: &[u8], from: usize, to: usize) -> bool {
    let before = from.checked_sub(1).and_then(|at| text.get(at));
    is_text(before) && is_text(text.get(to)) || is_in_prose(text, from, to)
}

/// Whether a name is a word of a text for people or of a remark within a line: `"Wage / budget"`, `{/* Price + button */}`.
fn is_in_prose(text: &[u8], from: usize, to: usize) -> bool {
    let start = memchr::memrchr(b'\n', &text[..from]).map_or(0, |end| end + 1);
    let line = &text[start..from];
    if line.trim_ascii_start().starts_with(b"{/*") {
        return true;
    }
    let mut open = None;
    for (at, byte) in line.iter().enumerate() {
        match open {
            Some((quote, _)) if *byte == quote => open = None,
            None if is_text(Some(byte)) => open = Some((*byte, at)),
            _ => {}
        }
    }
    let Some((quote, at)) = open else { return false };
    // `item['price'] * n` ends right behind it, `${price * n}` and `'$price'` are no words.
    let is_computed = line[at..].iter().any(|b| matches!(b, b'{' | b'$'));
    let is_closed = text[to..].iter().take_while(|b| **b != b'\n').any(|b| *b == quote);
    !is_computed && is_closed && text.get(to) != Some(&quote)
}

/// Whether the same of another one is taken away, as those do who sort: `a.price - b.price`.
fn is_order(behind: &[u8], name: &[u8]) -> bool {
    let way = behind.trim_ascii_start();
    let end = way.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_.?!".contains(b)).count();
    way[..end].ends_with(name)
}

/// Whether what stands beside a sign is a text, which is put together rather than added up.
fn is_text(beside: Option<&u8>) -> bool {
    beside.is_some_and(|b| matches!(b, b'"' | b'\'' | b'`'))
}

/// Whether what stands there is given something that was computed: `totalPrice: items.reduce(…)`.
fn is_given_result(rest: &[u8]) -> bool {
    const COMPUTED: [&[u8]; 8] =
        [b"reduce(", b" * ", b" + ", b" - ", b"toFixed(", b"sum(", b"round(", b"floor("];
    let value = match rest {
        // The end of a text: `"[price=" + price`, `"price='" + price`.
        [b':' | b'=', value @ ..] if is_end_of_text(value) => return false,
        [b':', value @ ..] => value,
        [b'=', next, value @ ..] if !matches!(next, b'=' | b'>') => value,
        _ => return false,
    };
    let line = value.split(|b| *b == b'\n').next().unwrap_or_default();
    COMPUTED.iter().any(|sign| memchr::memmem::find(line, sign).is_some())
}

/// Whether a text ends there that something is put behind.
fn is_end_of_text(rest: &[u8]) -> bool {
    let quotes = rest.iter().take_while(|b| is_text(Some(b))).count();
    quotes > 0 && rest[quotes..].trim_ascii_start().starts_with(b"+")
}

/// Spaces are skipped, ends of lines are not.
trait OfLine {
    fn trim_ascii_start_of_line(&self) -> &Self;
}

impl OfLine for [u8] {
    fn trim_ascii_start_of_line(&self) -> &Self {
        let spaces = self.iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        &self[spaces..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_seen_before_and_behind() {
        let computed = |text: &str| {
            let from = text.find("price").expect("a price");
            is_computed(text.as_bytes(), from, from + 5)
        };
        for text in [
            "total += item.price;",
            "sum + Number(item.price || 0)",
            "order.price * n",
            "(item?.price ?? 0) * n",
            "x = item['price'] - off",
            "{ $sum: '$price' }",
            "{ $multiply: ['$n', '$items.price'] }",
            "$inc: { price: n }",
            "items.reduce((a, b) => a + b.price, 0)",
            "100*price !== unit",
            "price: items.reduce((a, b) => b, 0),",
            "price = n * 3",
        ] {
            assert!(computed(text), "{text}");
        }
        for text in [
            "res.json({ price: product.title })",
            "class=\"price-tag\"",
            "// price - what it costs",
            "if (price < 3) {",
            "const { price } = req.body;",
            "/price/",
            "/** price */",
            "price => price",
            "price: product.price,",
            "label: product.price,",
            "list.sort((a, b) => a.price - b.price)",
            "\"Room [price=\" + price + \", id=\" + id",
            "'$' + item.price",
            "\", price='\" + price + '\\'' +",
            "total_amount: found?.price,",
            " * price of it",
            "path/to/price",
        ] {
            assert!(!computed(text), "{text}");
        }
    }
}
