//! Checks the texts that people read: the length of sentences and phrases that only insiders understand, in pages
//! and comments, and the subjects of commits.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result};

use crate::{links, root, source};

/// A longer sentence has more than one idea.
const MAX_WORDS: usize = 25;
/// Longer subjects of commits are cut off by tools.
const MAX_SUBJECT: usize = 72;
/// Older commits stay as they are.
const FIRST_CHECKED_COMMIT: &str = "2026-11-19T07:30:00Z";

/// Phrases that readers stumbled over, and what to write instead.
const PHRASES: [(&str, &str); 26] = [
    ("are told", "are reported"),
    ("as information", "as a note"),
    ("belong into", "belong in"),
    ("for ever", "forever"),
    ("gravest", "the highest severity"),
    ("held against", "checked against"),
    ("is information", "is a note"),
    ("is told", "is reported"),
    ("lies idle", "is not used"),
    ("mend", "fix or repair"),
    ("mends", "fixes or repairs"),
    ("of none", "of a parent without children, or of an empty list"),
    ("read off", "derived from"),
    ("say anything", "are meaningful"),
    ("says anything", "is meaningful"),
    ("so many", "this number of"),
    ("somebody", "another client, or a person"),
    ("speaks against", "argues against"),
    ("switched off", "turned off"),
    ("taken for", "treated as"),
    ("taken in", "imported, included or received"),
    ("takes in", "imports, includes or receives"),
    ("told apart", "distinguished"),
    ("told as", "reported as"),
    ("whoever", "anyone who"),
    ("worked out", "computed"),
];

/// More phrases that readers stumbled over, in messages.
const MESSAGE_PHRASES: [(&str, &str); 11] = [
    ("all the same", "anyway"),
    ("goes by itself", "expires"),
    ("is not known", "is unknown"),
    ("keep coming", "are added continuously"),
    ("known are", "known keys"),
    ("last day", "expiry date"),
    ("may be given several times", "can be repeated"),
    ("nobody", "no client, or no one"),
    ("the connection string of", "the connection string"),
    ("the new form", "the new type, name or validator"),
    ("the present form", "the current type, name or validator"),
];

/// Every fault of the texts.
pub(crate) fn faults() -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for page in links::pages()? {
        let shown = page.display().to_string();
        let text = fs::read_to_string(root().join(&page)).with_context(|| shown.clone())?;
        faults.extend(text_faults(&shown, paragraphs(&text, |line| Some(line.trim()))));
    }
    for file in source::rust_files()? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        faults.extend(text_faults(&shown(&file), paragraphs(&text, comment)));
        if source::is_product(&file) {
            faults.extend(message_faults(&shown(&file), &text));
        }
    }
    faults.extend(subjects().iter().filter_map(|subject| subject_fault(subject)));
    Ok(faults)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The text of a line that is a comment. `None` for lines of a string that contains comments.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//").filter(|text| !text.ends_with("\\n\\"))?;
    Some(text.strip_prefix(['/', '!']).unwrap_or(text).trim())
}

/// A paragraph or list item, with the number of its first line.
type Paragraph = (usize, String);

/// The paragraphs of running text: no code, tables, quotes or headings.
fn paragraphs(text: &str, words: impl Fn(&str) -> Option<&str>) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut is_open, mut is_code) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let Some(line) = words(line) else {
            (is_open, is_code) = (false, false);
            continue;
        };
        if line.starts_with("```") {
            (is_open, is_code) = (false, !is_code);
        } else if is_code || line.is_empty() || line.starts_with(['#', '|', '>', '<']) {
            is_open = false;
        } else {
            let item = item(line);
            match found.last_mut().filter(|_| is_open && item.is_none()) {
                Some((_, paragraph)) => {
                    paragraph.push(' ');
                    paragraph.push_str(line);
                }
                None => found.push((number + 1, item.unwrap_or(line).to_owned())),
            }
            is_open = true;
        }
    }
    found
}

/// The text of a line that begins an item of a list.
fn item(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if rest.len() < line.len() {
        rest.strip_prefix('.')?
    } else {
        line.strip_prefix(['-', '*'])?
    };
    mark.strip_prefix(' ').map(str::trim_start)
}

fn text_faults(file: &str, paragraphs: Vec<Paragraph>) -> Vec<String> {
    let mut faults = Vec::new();
    for (line, text) in paragraphs {
        let text = plain(&text);
        for sentence in sentences(&text) {
            let count = words(sentence).count();
            if count > MAX_WORDS {
                let start: Vec<&str> = sentence.split_whitespace().take(6).collect();
                let start = start.join(" ");
                faults.push(format!(
                    "{file}:{line}: a sentence of {count} words (limit {MAX_WORDS}): {start} …"
                ));
            }
        }
        let lower = format!(" {} ", words(&text).collect::<Vec<_>>().join(" ").to_lowercase());
        for (phrase, instead) in PHRASES {
            if lower.contains(&format!(" {phrase} ")) {
                faults.push(format!("{file}:{line}: write {instead} instead of `{phrase}`"));
            }
        }
    }
    faults
}

/// The faults of the strings in a file, up to its tests.
fn message_faults(file: &str, text: &str) -> Vec<String> {
    let text = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let phrases = || PHRASES.iter().chain(&MESSAGE_PHRASES);
    let mut faults = Vec::new();
    for (line, message) in strings(text) {
        let lower = format!(" {} ", words(&message).collect::<Vec<_>>().join(" ").to_lowercase());
        for (phrase, instead) in phrases() {
            if lower.contains(&format!(" {phrase} ")) {
                faults.push(format!("{file}:{line}: write {instead} instead of `{phrase}`"));
            }
        }
    }
    faults
}

/// The strings of a Rust file, with the number of the line in which each begins.
fn strings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut line, mut chars, mut previous) = (1, text.chars().peekable(), ' ');
    while let Some(c) = chars.next() {
        let before = std::mem::replace(&mut previous, c);
        match c {
            // A raw string, with as many `#` at its end as at its start.
            '#' | '"' if before == 'r' => {
                let mut hashes = usize::from(c == '#');
                while hashes > 0 && chars.next_if_eq(&'#').is_some() {
                    hashes += 1;
                }
                if hashes > 0 && chars.next_if_eq(&'"').is_none() {
                    continue;
                }
                let end = format!("\"{}", "#".repeat(hashes));
                let (start, mut string) = (line, String::new());
                while !string.ends_with(&end)
                    && let Some(c) = chars.next()
                {
                    line += usize::from(c == '\n');
                    string.push(c);
                }
                found.push((start, string));
            }
            '\n' => line += 1,
            '/' if chars.peek() == Some(&'/') => {
                chars.by_ref().find(|c| *c == '\n');
                line += 1;
            }
            // A character such as `'"'`, but no lifetime.
            '\'' if chars.peek() == Some(&'"') => drop(chars.next()),
            '\'' if chars.peek() == Some(&'\\') => drop((chars.next(), chars.next())),
            '"' => {
                let (start, mut string) = (line, String::new());
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => {
                            let next = chars.next();
                            line += usize::from(next == Some('\n'));
                            string.push(' ');
                        }
                        _ => {
                            line += usize::from(c == '\n');
                            string.push(c);
                        }
                    }
                }
                found.push((start, string));
            }
            _ => {}
        }
    }
    found
}

/// Words without the punctuation around them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// A text in which a piece of code is one word and a link is its text.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('`').enumerate() {
        out.push_str(if index % 2 == 0 { piece } else { "X" });
    }
    while let Some(middle) = out.find("](") {
        let end = out[middle..].find(')').map_or(out.len(), |end| middle + end + 1);
        out.replace_range(middle..end, "");
    }
    out
}

/// The sentences of a text; a colon or a semicolon also ends one.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ') {
        let before = text[..at].trim_end_matches(['"', ')', '*', '\'']);
        let begins = |c: char| c.is_uppercase() || matches!(c, '"' | '(' | '*');
        let ends = before.ends_with([':', ';'])
            || before.ends_with(['.', '!', '?']) && text[at + 1..].starts_with(begins);
        if ends {
            found.push(&text[start..at]);
            start = at + 1;
        }
    }
    found.push(&text[start..]);
    found
}

/// The subjects of new commits; empty without a history.
fn subjects() -> Vec<String> {
    let log = Command::new("git")
        .args(["log", "--no-merges", "--format=%s", "--since", FIRST_CHECKED_COMMIT])
        .current_dir(root())
        .output();
    let text = log.map(|log| String::from_utf8_lossy(&log.stdout).into_owned()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The fault of a commit's subject that is not `area: verb object`.
fn subject_fault(subject: &str) -> Option<String> {
    let is_area = |area: &str| {
        !area.is_empty() && area.chars().all(|c| c.is_ascii_alphanumeric() || "-_/, .".contains(c))
    };
    let is_formed = subject.split_once(": ").is_some_and(|(area, rest)| {
        is_area(area) && rest.split_whitespace().count() > 1 && !rest.ends_with('.')
    });
    let length = subject.chars().count();
    if !is_formed {
        return Some(format!("commit `{subject}`: write the subject as `area: verb object`"));
    }
    (length > MAX_SUBJECT).then(|| {
        format!("commit `{subject}`: the subject has {length} characters (limit {MAX_SUBJECT})")
    })
}

#[cfg(test)]
mod tests {
    use super::{comment, message_faults, paragraphs, subject_fault, text_faults};

    fn faults(text: &str) -> Vec<String> {
        text_faults("a.md", paragraphs(text, |line| Some(line.trim())))
    }

    #[test]
    fn long_sentences_are_faults() {
        let long = format!("{}end.", "word ".repeat(25));
        assert_eq!(
            faults(&long),
            ["a.md:1: a sentence of 26 words (limit 25): word word word word word word …"]
        );
        assert!(faults(&long.replacen("word ", "", 1)).is_empty());
        // Two sentences, a list, code and a table.
        let short = "word ".repeat(20);
        for text in [
            format!("{short}ends. Another {short}ends."),
            format!("{short}follows:\n- {short}\n- {short}"),
            format!("```\n{long}\n```\n"),
            format!("| {long} |"),
            format!("a `{long}` b"),
            format!("a [b]({}) c", "x".repeat(90)),
        ] {
            assert!(faults(&text).is_empty(), "{text}: {:?}", faults(&text));
        }
    }

    #[test]
    fn phrases_of_insiders_are_faults() {
        assert_eq!(
            faults("It is\nreported as information."),
            ["a.md:1: write as a note instead of `as information`"]
        );
        assert!(faults("For more information, amend `takes in` the commendable list.").is_empty());
    }

    #[test]
    fn messages_are_read() {
        let text = r##"fn a() { b('"', "it is \
            worked out", 'x'); } // "it is worked out"
            const C: &str = r#"a "b" is switched off"#;
            const D: &str = "fine";
#[cfg(test)]
mod tests { const E: &str = "switched off"; }"##;
        assert_eq!(
            message_faults("a.rs", text),
            [
                "a.rs:1: write computed instead of `worked out`",
                "a.rs:3: write turned off instead of `switched off`",
            ]
        );
    }

    #[test]
    fn comments_are_read() {
        let text = "//! First\n//! line.\nfn a() {} // not alone\n    /// Second.\n";
        assert_eq!(
            paragraphs(text, comment),
            [(1, "First line.".to_owned()), (4, "Second.".to_owned())]
        );
    }

    #[test]
    fn subjects_name_area_verb_and_object() {
        for good in [
            "guard: retry reads once after a step-down",
            "docs, rules: reword pages",
            "D008: name the limit",
        ] {
            assert_eq!(subject_fault(good), None, "{good}");
        }
        for bad in [
            "Pages follow",
            "wip",
            "docs: pages",
            "lint: treat a login as a date.",
            ": name things",
        ] {
            assert!(subject_fault(bad).is_some(), "{bad}");
        }
        let long = format!("docs: say {}", "x".repeat(63));
        assert!(subject_fault(&long).is_some_and(|fault| fault.contains("73 characters")));
    }
}
