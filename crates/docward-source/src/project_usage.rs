//! Searches all files of a project, including those that never mention MongoDB, for names. They show whether
//! anything calls a method, and whether the program serves several people.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use docward_model::{
    Code,
    code::{Mentioned, Method},
};

use super::{FileKind, Language, file_role};

/// Maximum number of names to collect; larger projects are summarised.
const MOST: usize = 50_000;

/// Calls that read input from a terminal, with the language if other languages use the same text.
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

/// Words that show a program that serves several people at a time. They do not occur by chance, unlike names of
/// libraries (`next`, `hono`).
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

/// Names to look for.
pub struct Sought {
    search: AhoCorasick,
    /// The meaning of each pattern of the search.
    names: Vec<Name>,
    /// Methods by their files.
    methods: BTreeMap<String, Vec<Method>>,
}

enum Name {
    /// A method, in its original spelling.
    Method(String),
    /// A question in a terminal.
    Asked(Option<Language>),
    /// A program that serves several people.
    Serving,
}

impl Sought {
    /// Collects the facts of a project on which findings may depend; returns `None` if there are none.
    pub fn of(code: &Code) -> Option<Self> {
        let mut methods: BTreeMap<String, Vec<Method>> = BTreeMap::new();
        for method in &code.methods {
            methods.entry(method.file.clone()).or_default().push(method.clone());
        }
        let called: BTreeSet<&str> =
            code.methods.iter().map(|method| method.name.as_str()).collect();
        let mut patterns = Vec::new();
        let mut names = Vec::new();
        let mut seek = |pattern: String, name: Name| {
            patterns.push(pattern);
            names.push(name);
        };
        for method in called {
            seek(method.to_owned(), Name::Method(method.to_owned()));
        }
        if !code.read_then_writes.is_empty() && code.serving.is_empty() {
            ASKED.iter().for_each(|(how, of)| seek((*how).to_owned(), Name::Asked(*of)));
            SERVING.iter().for_each(|word| seek((*word).to_owned(), Name::Serving));
        }
        // Models also depend on which files are imported.
        if (patterns.is_empty() && code.fields.is_empty()) || patterns.len() > MOST {
            return None;
        }
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(patterns).ok()?;
        Some(Self { search, names, methods })
    }

    /// Searches a file, whose path in the project is `within`.
    pub fn look(&self, file: &str, within: &str, kind: FileKind, text: &[u8]) -> Mentioned {
        let mut out = Mentioned::default();
        let is_test = file_role::is_test(within);
        let is_script = file_role::is_script(within);
        let own = self.methods.get(file).map(Vec::as_slice).unwrap_or_default();
        // Matches are ordered by their ends, which is nearly the order of their lines.
        let (mut line, mut upto) = (1_u32, 0);
        for found in self.search.find_overlapping_iter(text) {
            let (from, to) = (found.start(), found.end());
            let is_part = |byte: Option<&u8>| {
                byte.is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$'))
            };
            let before = from.checked_sub(1).and_then(|at| text.get(at));
            let name = &self.names[found.pattern().as_usize()];
            let is_open = text[from..to].ends_with(b"(");
            if is_part(before) || !is_open && is_part(text.get(to)) {
                continue;
            }
            match name {
                Name::Method(name)
                    if text[from..to] == *name.as_bytes()
                        && is_use(text, from, kind)
                        // Tests run code that nothing else runs, and scripts may test whether a name exists.
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
                Name::Asked(of) => {
                    out.asks_in_terminal |= of.is_none_or(|of| kind == FileKind::Code(of));
                }
                Name::Serving => out.serves = true,
                Name::Method(_) => {}
            }
        }
        out
    }
}

/// Whether an occurrence of a name is a use: not in a comment and not in a list of imports or exports.
fn is_use(text: &[u8], at: usize, kind: FileKind) -> bool {
    /// Maximum length of a list of names, in bytes.
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
    // The construct that contains the name: `import {pay} from`, `const {pay} = require(…)`, `module.exports = {pay}`,
    // `from x import (pay)`.
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

/// Whether a name occurs in a text: alone, or as a word.
fn is_said(text: &[u8], from: usize, to: usize) -> bool {
    let before = from.checked_sub(1).and_then(|at| text.get(at));
    is_text(before) && is_text(text.get(to)) || is_in_prose(text, from, to)
}

/// Whether a name is a word in displayed text or in a comment within a line: `"Wage / budget"`,
/// `{/* Price + button */}`.
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
    // `item['price'] * n` continues after the name; `${price * n}` and `'$price'` are not words.
    let is_computed = line[at..].iter().any(|b| matches!(b, b'{' | b'$'));
    let is_closed = text[to..].iter().take_while(|b| **b != b'\n').any(|b| *b == quote);
    !is_computed && is_closed && text.get(to) != Some(&quote)
}

/// Whether the operand next to a `+` is a text, so that the code concatenates and does not add.
fn is_text(beside: Option<&u8>) -> bool {
    beside.is_some_and(|b| matches!(b, b'"' | b'\'' | b'`'))
}
