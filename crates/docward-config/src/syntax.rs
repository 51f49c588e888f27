//! Parses TOML text to a table with positions, in spite of syntax errors.
//!
//! `toml_edit` stops at the first error and returns no document. A user with three typing errors
//! needs to see all three, and also the unknown key further down. So the broken statement is
//! replaced by spaces (byte for byte, which keeps every position) and the text is read again.

use toml_edit::{Document, Table, TomlError};

use crate::{diagnostic::Diagnostics, position::Lines, suggest};

/// The number of errors after which a file is given up; it is probably not TOML at all.
const MAX_ERRORS: usize = 20;

/// Maximum number of lines above an error in which Docward searches the start of a broken
/// statement.
const MAX_LINES: usize = 60;

/// The maximum size for recovery, which reads the text many times; hand-written configuration is
/// smaller.
const LARGEST: usize = 64 * 1024;

/// Returns the root table without the broken statements, or empty if the text cannot be read at
/// all.
pub(crate) fn read(text: &str, out: &mut Diagnostics<'_>) -> Table {
    let mut work = text.to_owned();
    for _ in 0..MAX_ERRORS {
        let error = match Document::parse(work.as_str()) {
            Ok(document) => return document.into_table(),
            Err(error) => error,
        };
        let at = error.span().map_or(0, |span| span.start);
        let broken = if text.len() <= LARGEST { broken_lines(&work, at) } else { None };
        let Some(broken) = broken else {
            report(&work, &error, usize::MAX, out);
            break;
        };
        // Derived from the text up to the end of the statement: the effect of an open bracket on
        // the lines below is not the user's mistake.
        let upto = work.get(..Lines::new(&work).start(broken.end)).unwrap_or_default();
        let own = Document::parse(upto).err();
        report(&work, own.as_ref().unwrap_or(&error), upto.trim_end().len(), out);
        if !blank(&mut work, broken) {
            break;
        }
    }
    Table::new()
}

/// Returns the word at a position if it is the whole value of a key.
fn bare_word(work: &str, at: usize) -> Option<&str> {
    let line = work.get(..at)?.rsplit('\n').next()?;
    let rest = work.get(at..)?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let word = &rest[..end.unwrap_or(rest.len())];
    let after = rest[word.len()..].lines().next().unwrap_or_default().trim_start();
    let is_value = line.trim_end().ends_with('=') && (after.is_empty() || after.starts_with('#'));
    (is_value && word.starts_with(char::is_alphabetic)).then_some(word)
}

fn report(work: &str, error: &TomlError, latest: usize, out: &mut Diagnostics<'_>) {
    let span = error.span().unwrap_or(0..0);
    let what = suggest::excerpt(work.get(span.clone()).unwrap_or_default().trim());
    let (message, hint) = match error.message() {
        "duplicate key" => (format!("`{what}` is set twice"), None),
        message => {
            let unquoted = message.contains("must be quoted") && !what.is_empty();
            let word = if unquoted { Some(what.as_str()) } else { bare_word(work, span.start) };
            let hint = word.map(|word| format!("write `\"{word}\"`"));
            match word {
                // The parser takes `neutral` for the beginning of `nan`.
                Some(_) if !unquoted => ("not TOML: text needs quotes".to_owned(), hint),
                _ => (format!("not TOML: {message}"), hint),
            }
        }
    };
    out.error(span.start.min(latest), message, hint);
}

/// The lines (from 0) of the first broken statement, given the position of some error: from the
/// last line before which everything is valid, to the next line that looks like a new statement. A
/// broken header includes its section, because its keys would otherwise be attributed to the
/// section above.
fn broken_lines(text: &str, error: usize) -> Option<std::ops::Range<usize>> {
    let lines = Lines::new(text);
    let mut at = lines.line_of(error.min(text.len()));
    // An error at the end of the file concerns the text before it.
    while at > 0 && lines.line(at).trim().is_empty() {
        at -= 1;
    }
    let start = (at.saturating_sub(MAX_LINES)..=at).rev().find(|&line| {
        let sound = |text: &str| Document::parse(text).is_ok();
        !lines.line(line).trim().is_empty() && text.get(..lines.start(line)).is_some_and(sound)
    })?;
    let first = lines.line(start);
    let name = header_name(first);
    let is_next = |line: &str| {
        if first.trim_start().starts_with('[') {
            // `[namespaces.rules.D008]` is part of the `[[namespaces]]` above it.
            looks_like_header(line) && !header_name(line).starts_with(&format!("{name}."))
        } else {
            looks_like_header(line) || looks_like_pair(line)
        }
    };
    let end = (start + 1..lines.count()).find(|&line| is_next(lines.line(line)));
    Some(start..end.unwrap_or(lines.count()))
}

fn header_name(line: &str) -> String {
    let line = line.split(['#', ']']).next().unwrap_or_default();
    line.chars().filter(|c| !c.is_whitespace() && *c != '[').collect()
}

fn looks_like_header(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default().trim();
    line.starts_with('[')
        && line.ends_with(']')
        && line.chars().all(|c| is_key(c) || "[]".contains(c))
}

fn looks_like_pair(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, _)| !key.trim().is_empty() && key.chars().all(is_key))
}

fn is_key(c: char) -> bool {
    c.is_alphanumeric() || "-_.\"' \t".contains(c)
}

/// Overwrites lines with spaces; returns whether the text changed.
fn blank(text: &mut String, broken: std::ops::Range<usize>) -> bool {
    let lines = Lines::new(text);
    let (from, to) = (lines.start(broken.start), lines.start(broken.end));
    let (Some(before), Some(gone), Some(after)) =
        (text.get(..from), text.get(from..to), text.get(to..))
    else {
        return false;
    };
    // The same number of bytes, so that every later offset stays valid.
    let blanks: String = gone.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
    if blanks == gone {
        return false;
    }
    *text = [before, blanks.as_str(), after].concat();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, keys: &[&str], problems: &[&str]) {
        let mut out = Diagnostics::new("f", text);
        let table = read(text, &mut out);
        let found: Vec<_> = table.iter().map(|(key, _)| key.to_owned()).collect();
        let said: Vec<_> = out.finish().iter().map(ToString::to_string).collect();
        assert_eq!(said, problems, "{text}");
        assert_eq!(found, keys, "{text}");
    }

    #[test]
    fn the_rest_of_a_broken_file_still_counts() {
        check("a = 1\nb = 2\n", &["a", "b"], &[]);
        check(
            "a = vendor\nb = 2\n",
            &["b"],
            &[
                "f:1:5: not TOML: string values must be quoted, expected literal string; write `\"vendor\"`",
            ],
        );
        check("a = 1\na = 2\nb = 3\n", &["a", "b"], &["f:2:1: `a` is set twice"]);
        check("[a]\nx = 1\n[b]\n[a]\ny = 1\n[c]\n", &["a", "b", "c"], &["f:4:2: `a` is set twice"]);
    }

    #[test]
    fn every_broken_statement_is_reported() {
        check(
            "a = [1,\nb = 2\nc == 3\nd = 'x\ne = 5",
            &["b", "e"],
            &[
                "f:1:8: not TOML: unclosed array, expected `]`",
                "f:3:4: not TOML: extra `=`, expected nothing",
                "f:4:7: not TOML: invalid literal string, expected `'`",
            ],
        );
    }

    #[test]
    fn errors_are_told_where_the_statement_is() {
        // The reader first reports line 3, because of line 2, and only then line 1.
        check(
            "a = vendor\nb = ['D'\nc = 3\n",
            &["c"],
            &[
                "f:1:5: not TOML: string values must be quoted, expected literal string; write `\"vendor\"`",
                "f:2:9: not TOML: unclosed array, expected `]`",
            ],
        );
        check(
            "a = [\n  'x',\n  y,\n]\nb = 2\n",
            &["b"],
            &[
                "f:3:3: not TOML: string values must be quoted, expected literal string; write `\"y\"`",
            ],
        );
    }

    #[test]
    fn an_open_text_does_not_swallow_the_file() {
        check(
            "a = \"\"\"x\nb = 2\nc = 3\n",
            &["b", "c"],
            &["f:1:9: not TOML: invalid multi-line basic string, expected `\"`"],
        );
    }

    #[test]
    fn a_broken_header_takes_its_section_with_it() {
        check(
            "a = 1\n[[n]\nx = 1\n[n.rules.D]\ny = 1\n[c]\nz = 1\n",
            &["a", "c"],
            &["f:2:5: not TOML: unclosed array table, expected `]`"],
        );
    }

    #[test]
    fn hopeless_texts_end() {
        let text = "a == 1\n".repeat(100);
        let mut out = Diagnostics::new("f", &text);
        assert!(read(&text, &mut out).is_empty());
        assert_eq!(out.finish().len(), MAX_ERRORS);

        let text = format!("a = [\n{}", "b = 1\n".repeat(20_000));
        let mut out = Diagnostics::new("f", &text);
        assert!(read(&text, &mut out).is_empty(), "too large to recover");
        assert_eq!(out.finish().len(), 1);
    }
}
