//! Suggests the most similar known word, and quotes user text in messages.

use std::fmt::Write as _;

/// Longer words get no suggestion: the distance takes time and memory by length, and no typing
/// error has this length.
const LONGEST: usize = 64;

/// The maximum length of user text that a message quotes.
const EXCERPT: usize = 60;

/// "did you mean `x`?", if up to three known words are equally similar and similar enough.
pub(crate) fn did_you_mean<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<String> {
    let near = nearest(word, known);
    (!near.is_empty()).then(|| format!("did you mean {}?", list(&near, "or")))
}

/// The most similar known words, in the order given; none if more than three are equally similar,
/// because a code such as `D999` is similar to half of the registry.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let length = word.chars().count();
    if length == 0 || length > LONGEST {
        return Vec::new();
    }
    let word = kebab(word);
    let mut best = usize::MAX;
    let mut near: Vec<&str> = Vec::new();
    for candidate in known {
        let plain = kebab(candidate);
        let mut distance = strsim::damerau_levenshtein(&word, &plain);
        // `warning` for `warn` and `bounded-arrays` for `bounded`: different in length, but similar
        // in meaning.
        let shorter = word.len().min(plain.len());
        if shorter >= 3 && (word.starts_with(&plain) || plain.starts_with(&word)) {
            distance = distance.min(1);
        }
        if distance > (length / 3).max(1) || distance >= plain.chars().count() {
            continue;
        }
        if distance < best {
            best = distance;
            near.clear();
        }
        if distance == best && !near.contains(&candidate) {
            near.push(candidate);
        }
    }
    if near.len() > 3 { Vec::new() } else { near }
}

/// "`a`, `b` and `c`".
pub(crate) fn list(words: &[&str], last: &str) -> String {
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            let separator =
                if at + 1 == words.len() { format!(" {last} ") } else { ", ".to_owned() };
            out.push_str(&separator);
        }
        // Writing to a string cannot fail.
        let _ = write!(out, "`{word}`");
    }
    out
}

/// User text as messages quote it: short, on one line, without control characters.
pub(crate) fn excerpt(text: &str) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == EXCERPT {
            out.push('…');
            break;
        }
        if matches!(c, '"' | '\'' | '\\') { out.push(c) } else { out.extend(c.escape_debug()) }
    }
    out
}

/// Ignores case and separators: `maxElements` and `max_elements` are similar to `max-elements`.
fn kebab(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut after_lower = false;
    for c in word.chars() {
        if c.is_ascii_uppercase() && after_lower {
            out.push('-');
        }
        after_lower = c.is_ascii_lowercase();
        match c {
            '_' | ' ' => out.push('-'),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_was_meant() {
        let known = ["max-elements", "min-days", "severity", "enabled", "warn", "bounded", "D008"];
        for (word, expect) in [
            ("max-elemnts", Some("did you mean `max-elements`?")),
            ("max_elements", Some("did you mean `max-elements`?")),
            ("maxElements", Some("did you mean `max-elements`?")),
            ("MAX-ELEMENTS", Some("did you mean `max-elements`?")),
            ("warning", Some("did you mean `warn`?")),
            ("bounded-arrays", Some("did you mean `bounded`?")),
            ("d08", Some("did you mean `D008`?")),
            ("sev", Some("did you mean `severity`?")),
            ("x", None),
            ("", None),
            ("colour", None),
        ] {
            assert_eq!(did_you_mean(word, known).as_deref(), expect, "{word}");
        }
        assert_eq!(did_you_mean(&"x".repeat(100_000), known), None);
        assert_eq!(nearest("D00", ["D001", "D002"]), ["D001", "D002"]);
        assert_eq!(nearest("D00", ["D001", "D002", "D003", "D004"]), [""; 0]);
        assert_eq!(
            did_you_mean("D01", ["D001", "D011"]).as_deref(),
            Some("did you mean `D001` or `D011`?")
        );
    }

    #[test]
    fn excerpts_are_short_and_harmless() {
        assert_eq!(excerpt("a \"b\" é"), "a \"b\" é");
        assert_eq!(excerpt("\u{1b}[31m\n\u{202e}"), "\\u{1b}[31m\\n\\u{202e}");
        assert_eq!(excerpt(&"x".repeat(99)), format!("{}…", "x".repeat(60)));
    }
}
