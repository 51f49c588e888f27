//! Lines of source code for reports and patches, with passwords masked.

use std::{collections::BTreeMap, fs};

use docward_model::{Code, Excerpt, Finding, Location, code::SecretKind};
use docward_source::FileKind;

/// The mask for secret text.
const MASK: &str = "*****";
/// The end of a masked login.
const LOGIN: &str = "*****@";
/// The number of lines around the start of a connection string that may contain parts of it.
const BEFORE: u32 = 3;
const BEHIND: u32 = 10;

/// The lines of files that contain a secret or may contain a part of one.
#[derive(Debug, Default)]
pub(crate) struct Masks<'a> {
    /// The first and last line of each range, by file.
    lines: BTreeMap<&'a str, Vec<(u32, u32)>>,
}

impl<'a> Masks<'a> {
    /// Returns the masks for the secrets in code and settings.
    pub(crate) fn of(code: Option<&'a Code>) -> Self {
        let mut texts = Texts::default();
        Self::with(code, &mut |at| texts.line(at).map(str::to_owned))
    }

    fn with(code: Option<&'a Code>, line: &mut dyn FnMut(&Location) -> Option<String>) -> Self {
        let mut lines: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
        for secret in code.iter().flat_map(|code| &code.secrets) {
            let at = &secret.place.location;
            let is_whole = secret.kind == SecretKind::Password
                || line(at).is_some_and(|line| docward_uri::redact(&line).contains(LOGIN));
            let range = match is_whole {
                true => (at.line, at.line),
                // The string is concatenated, possibly over several lines.
                false => (at.line.saturating_sub(BEFORE), at.line.saturating_add(BEHIND)),
            };
            lines.entry(&at.file).or_default().push(range);
        }
        Self { lines }
    }

    /// Whether a line shows a secret or may show one.
    pub(crate) fn hides(&self, file: &str, line: u32, text: &str) -> bool {
        self.masked(file, line, text) != text
    }

    /// Returns a line with everything masked that is secret or may be.
    fn masked(&self, file: &str, line: u32, text: &str) -> String {
        let is_code = matches!(FileKind::of(file), Some(FileKind::Code(_)));
        let is_near = |(first, last): &(u32, u32)| (*first..=*last).contains(&line);
        let is_secret = self.lines.get(file).is_some_and(|ranges| ranges.iter().any(is_near));
        let mut out = docward_uri::redact(text);
        let is_redacted = out != text;
        out = mask_named(&out, is_code);
        if is_secret && is_code {
            out = mask_literals(&out, is_redacted);
        }
        // The value has no quotes.
        if is_secret && !is_code && out == text {
            let value = text.find(['=', ':']).map_or(0, |at| at + 1);
            out = format!("{}{MASK}", &text[..value]);
        }
        out
    }
}

/// Adds the line of each finding, with passwords masked.
pub(crate) fn add(findings: &mut [Finding], masks: &Masks<'_>) {
    let mut texts = Texts::default();
    for finding in findings {
        let Some(at) = &finding.location else { continue };
        finding.excerpt = texts.line(at).map(|text| {
            let masked = masks.masked(&at.file, at.line, text);
            let column = column(text, &masked, at.column);
            Excerpt { text: masked, column }
        });
    }
}

/// The lines of files. Each file is read once.
#[derive(Default)]
struct Texts(BTreeMap<String, Vec<String>>);

impl Texts {
    fn line(&mut self, at: &Location) -> Option<&str> {
        let lines = self.0.entry(at.file.clone()).or_insert_with(|| {
            let text = fs::read(&at.file).unwrap_or_default();
            String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
        });
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        lines.get(line).map(String::as_str)
    }
}

/// Returns the column in the masked line. A column within a mask maps to its start.
fn column(text: &str, masked: &str, column: u32) -> u32 {
    let at = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    let same_before = text.chars().zip(masked.chars()).take_while(|(a, b)| a == b).count();
    let (length, masked_length) = (text.chars().count(), masked.chars().count());
    let same_behind =
        text.chars().rev().zip(masked.chars().rev()).take_while(|(a, b)| a == b).count();
    let shown = if at <= same_before {
        at
    } else if at < length && length - at <= same_behind {
        masked_length - (length - at)
    } else {
        same_before
    };
    u32::try_from(shown + 1).unwrap_or(u32::MAX)
}

/// Masks values whose name is a word such as password, secret or token. In code, only literals are
/// masked.
fn mask_named(text: &str, is_code: bool) -> String {
    const NAMES: [&str; 6] = ["password", "passwd", "pass", "pwd", "secret", "token"];
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(value) = NAMES
        .iter()
        .flat_map(|name| lower[from..].match_indices(name).map(|(at, name)| from + at + name.len()))
        .filter_map(|behind| value_at(text, behind))
        .min()
    {
        let rest = &text[value..];
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
        let (start, length) = match quote {
            Some(quote) => (value + 1, rest[1..].find(quote).unwrap_or(rest.len() - 1)),
            None if is_code => (value, 0),
            None => {
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ';'));
                (value, end.unwrap_or(rest.len()))
            }
        };
        out.push_str(&text[from..start]);
        if length > 0 {
            out.push_str(MASK);
        }
        from = start + length;
    }
    out.push_str(&text[from..]);
    out
}

/// Returns the start of a name's value. The name ends at `behind`, as in `password: "…"`,
/// `"pwd" => "…"`, `pass = …`.
fn value_at(text: &str, behind: usize) -> Option<usize> {
    let rest = text[behind..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let rest = rest.strip_prefix(['"', '\'', '`', ']']).unwrap_or(rest).trim_start();
    let value = rest.strip_prefix("=>").or_else(|| rest.strip_prefix([':', '=']))?;
    let value = value.trim_start_matches(['=', ' ', '\t', '(']);
    (!value.is_empty()).then(|| text.len() - value.len())
}

/// Masks literals, except for connection strings that are already masked.
fn mask_literals(text: &str, is_redacted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\'', '`']) {
        let quote = rest[at..].chars().next().unwrap_or('"');
        let (before, inner) = rest.split_at(at + 1);
        out.push_str(before);
        let end = inner.find(quote).unwrap_or(inner.len());
        let literal = &inner[..end];
        let is_kept =
            literal.is_empty() || literal == MASK || (is_redacted && literal.contains("://"));
        out.push_str(if is_kept { literal } else { MASK });
        out.extend(inner[end..].chars().next());
        rest = inner.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use docward_model::code::{CodeSecret, Place};

    use super::*;

    fn code(file: &str, line: u32, kind: SecretKind) -> Code {
        let location = Location { file: file.to_owned(), line, column: 1 };
        let secret = CodeSecret {
            place: Place { location, function: None },
            kind,
            mark: 0,
            shown: String::new(),
            fallback: false,
            local: false,
            in_remark: false,
            in_sample: false,
            in_prose: false,
            placeholder: None,
            literal: None,
        };
        Code { secrets: vec![secret], ..Code::default() }
    }

    #[test]
    fn sc_7_lines_are_shown_without_passwords() {
        let none = Code::default();
        let far = Masks::of(Some(&none));
        for (file, text, expected) in [
            (
                "a.py",
                "c = MongoClient(\"mongodb://u:9dXk@h/x\")",
                "c = MongoClient(\"mongodb://u:*****@h/x\")",
            ),
            (
                "a.js",
                "auth: { user: 'u', password: '9dXk' },",
                "auth: { user: 'u', password: '*****' },",
            ),
            ("a.go", "Password: \"9dXk\", Username: \"u\"", "Password: \"*****\", Username: \"u\""),
            (
                "a.py",
                "connect(password=getpass(), retry=1)",
                "connect(password=getpass(), retry=1)",
            ),
            (".env", "MONGO_PASSWORD=9dXk", "MONGO_PASSWORD=*****"),
            ("a.yaml", "  mongo-root-password: 9dXk # old", "  mongo-root-password: ***** # old"),
            ("a.js", "const compass = 'x'; f(1)", "const compass = '*****'; f(1)"),
            ("a.js", "users.find({ name: 'x' })", "users.find({ name: 'x' })"),
        ] {
            assert_eq!(far.masked(file, 1, text), expected, "{text}");
        }
        let pieces = "const u = 'mongodb://a:' + '9dXk' + '@db.shop.io/x';";
        let code_at = code("a.js", 5, SecretKind::ConnectionString);
        let near =
            Masks::with(Some(&code_at), &mut |_| Some("const u = 'mongodb://a:' +".to_owned()));
        assert!(!near.masked("a.js", 5, pieces).contains("9dXk"));
        assert_eq!(near.masked("a.js", 7, "  '9dXk' +"), "  '*****' +");
        assert_eq!(near.masked("a.js", 70, "f('x')"), "f('x')");
        // A secret on one line is masked only there.
        let alone = Masks::with(Some(&code_at), &mut |_| Some(pieces.to_owned()));
        assert!(!alone.masked("a.js", 5, pieces).contains("9dXk"));
        assert_eq!(alone.masked("a.js", 6, "f({'$push': x})"), "f({'$push': x})");
        let bare = "const db = monk('shop:9dXk@h.shop.io/shop');";
        assert!(
            !Masks::with(Some(&code_at), &mut |_| Some(bare.to_owned()))
                .masked("a.js", 5, bare)
                .contains("9dXk")
        );
        let settings = code("x.conf", 2, SecretKind::Password);
        let settings = Masks::with(Some(&settings), &mut |_| None);
        assert_eq!(settings.masked("x.conf", 2, "mongo = 9dXk"), "mongo =*****");
    }

    #[test]
    fn columns_follow_what_is_masked() {
        let text = "c = f(\"mongodb://u:9dXk2pLw7Q@h/?w=1\", g)";
        let masked = docward_uri::redact(text);
        for word in ["c = f", "\"mongodb", "w=1", "g)"] {
            let place =
                |text: &str| u32::try_from(text.find(word).expect("a word") + 1).expect("short");
            assert_eq!(column(text, &masked, place(text)), place(&masked), "{word}");
        }
        assert_eq!(column(text, &masked, 23), 20, "within the password");
    }
}
