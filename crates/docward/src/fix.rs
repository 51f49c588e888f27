//! Mending source code: changes that findings carry, applied to files or shown.
//!
//! A change is made only where the file still says what the finding saw; everything else in the file stays
//! byte for byte as it is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use docward_model::{Edit, EditedText, Finding, Location, Problem};
use similar::TextDiff;

use crate::write_whole;

/// What was mended.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    pub(crate) edits: u64,
    pub(crate) files: u64,
    pub(crate) problems: Vec<Problem>,
}

/// A file and what becomes of it.
struct Mended {
    file: String,
    before: String,
    after: String,
    /// Where something was changed.
    places: BTreeSet<Location>,
}

/// Changes files, and takes the findings that are mended out of the list.
pub(crate) fn apply(findings: &mut Vec<Finding>) -> Fixed {
    let (mended, mut problems) = mend(findings);
    let mut fixed = Fixed::default();
    let mut done = BTreeSet::new();
    for file in mended {
        match write_whole(Path::new(&file.file), &file.after) {
            Ok(()) => {
                fixed.files += 1;
                fixed.edits += file.places.len() as u64;
                done.extend(file.places);
            }
            Err(error) => problems.push(Problem {
                source: file.file,
                message: format!("cannot be written, and was left as it is: {error}"),
            }),
        }
    }
    findings.retain(|finding| !finding.edits.iter().any(|edit| done.contains(&edit.location)));
    fixed.problems = problems;
    fixed
}

/// The changes as a unified diff, to be read by people: passwords are blotted out. What stands on a line with
/// a password that is not taken out is left out, with a note.
pub(crate) fn diff(findings: &[Finding]) -> (String, Vec<String>) {
    let line_of = |location: &Location| (location.file.clone(), location.line);
    let is_literal = |edit: &Edit| edit.old == EditedText::Literal;
    let taken_out: BTreeSet<(String, u32)> = findings
        .iter()
        .flat_map(|finding| &finding.edits)
        .filter(|edit| is_literal(edit))
        .map(|edit| line_of(&edit.location))
        .collect();
    let secret: BTreeSet<(String, u32)> = findings
        .iter()
        .filter(|finding| finding.cites("SC-7"))
        .filter_map(|finding| finding.location.as_ref())
        .map(line_of)
        .collect();
    let is_hidden = |edit: &Edit| {
        let line = line_of(&edit.location);
        secret.contains(&line) && !taken_out.contains(&line)
    };
    let mut shown: Vec<Finding> = findings.to_vec();
    shown.iter_mut().for_each(|finding| finding.edits.retain(|edit| !is_hidden(edit)));
    let hidden = findings.iter().filter(|f| f.edits.iter().any(is_hidden)).count();
    let (mended, problems) = mend(&shown);
    let mut out = String::new();
    for file in &mended {
        let secrets: BTreeSet<&str> = file
            .before
            .split_inclusive('\n')
            .zip(1..)
            .filter(|(_, n)| secret.contains(&(file.file.clone(), *n)))
            .map(|(line, _)| line)
            .collect();
        let blotted = |text: &str| -> String {
            text.split_inclusive('\n')
                .map(|line| if secrets.contains(line) { blot(line) } else { line.to_owned() })
                .collect()
        };
        let (before, after) = (blotted(&file.before), blotted(&file.after));
        let name = file.file.trim_start_matches('/');
        let diff = TextDiff::from_lines(&before, &after);
        let header = (format!("a/{name}"), format!("b/{name}"));
        out.push_str(&diff.unified_diff().header(&header.0, &header.1).to_string());
    }
    if hidden > 0 {
        let n = docward_model::text::plural(hidden as u64, "change");
        out.push_str(&format!("# {n} beside a password not shown; --fix makes them\n"));
    }
    let problems = problems.iter().map(|p| format!("{}: {}", p.source, p.message)).collect();
    (out, problems)
}

/// A line with what is in quotes blotted out, or a connection string without its password.
fn blot(line: &str) -> String {
    let masked = docward_uri::redact(line);
    if masked != line {
        return masked;
    }
    let mut quote = None;
    let mut out = String::new();
    for c in line.chars() {
        match quote {
            Some(open) if c == open => {
                out.push_str("*****");
                out.push(c);
                quote = None;
            }
            Some(_) => {}
            None => {
                if matches!(c, '"' | '\'' | '`') {
                    quote = Some(c);
                }
                out.push(c);
            }
        }
    }
    out
}

fn mend(findings: &[Finding]) -> (Vec<Mended>, Vec<Problem>) {
    let mut by_file: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for edit in findings.iter().flat_map(|finding| &finding.edits) {
        by_file.entry(&edit.location.file).or_default().push(edit);
    }
    let mut mended = Vec::new();
    let mut problems = Vec::new();
    for (file, edits) in by_file {
        match fs::read_to_string(file) {
            Ok(before) => {
                let (after, places) = rewritten(&before, &edits);
                if !places.is_empty() {
                    mended.push(Mended { file: file.to_owned(), before, after, places });
                }
            }
            Err(error) => problems.push(Problem {
                source: file.to_owned(),
                message: format!("cannot be read again to be mended: {error}"),
            }),
        }
    }
    (mended, problems)
}

/// The text with all edits that fit.
fn rewritten(text: &str, edits: &[&Edit]) -> (String, BTreeSet<Location>) {
    let mut changes: BTreeMap<usize, (usize, &Edit)> = BTreeMap::new();
    for edit in edits {
        let Some(at) = offset(text, &edit.location) else { continue };
        let rest = &text[at..];
        let length = match &edit.old {
            EditedText::Exactly(old) => rest.starts_with(old.as_str()).then_some(old.len()),
            EditedText::Literal => literal(rest),
        };
        // Of several ways to write a thing the one that is there counts.
        if let Some(length) = length
            && !changes.contains_key(&at)
        {
            changes.insert(at, (length, edit));
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut places = BTreeSet::new();
    let mut needs = BTreeSet::new();
    for (at, (length, edit)) in changes {
        if at < from {
            continue;
        }
        out.push_str(&text[from..at]);
        out.push_str(&edit.new);
        from = at + length;
        places.insert(edit.location.clone());
        needs.extend(edit.needs);
    }
    out.push_str(&text[from..]);
    for line in needs {
        if !out.lines().any(|have| have.trim() == line) {
            out.insert_str(before_imports(&out), &format!("{line}\n"));
        }
    }
    (out, places)
}

/// A literal in quotes that leads to MongoDB, on one line.
fn literal(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &text[1..];
    let end = inner.find(quote)?;
    let inside = &inner[..end];
    (inside.starts_with("mongodb") && !inside.contains(['\n', '\\'])).then_some(end + 2)
}

/// Where a new import goes: before the first one.
fn before_imports(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // What Python wants first stays first.
        if line.starts_with("import ") || line.starts_with("from ") && !line.contains("__future__")
        {
            return at;
        }
        at += line.len();
    }
    0
}

/// The byte at a line and column, both counted from 1, columns in characters.
fn offset(text: &str, location: &Location) -> Option<usize> {
    let line = usize::try_from(location.line).ok()?.checked_sub(1)?;
    let column = usize::try_from(location.column).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let within = text.get(start..)?.split('\n').next()?;
    let byte = within.char_indices().map(|(at, _)| at).chain([within.len()]).nth(column)?;
    Some(start + byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(
        line: u32,
        column: u32,
        old: EditedText,
        new: &str,
        needs: Option<&'static str>,
    ) -> Edit {
        let location = Location { file: "a.py".to_owned(), line, column };
        Edit { location, old, new: new.to_owned(), needs }
    }

    #[test]
    fn edits_are_made_where_the_text_is_as_it_was() {
        let text = "# ünïcode\nx = f(a=False)\n";
        let fits = edit(2, 9, EditedText::Exactly("False".to_owned()), "True", None);
        assert_eq!(rewritten(text, &[&fits]).0, "# ünïcode\nx = f(a=True)\n");
        let other = edit(2, 8, EditedText::Exactly("False".to_owned()), "True", None);
        let (same, places) = rewritten(text, &[&other]);
        assert!(same == text && places.is_empty());
        let beyond = edit(9, 9, EditedText::Exactly("x".to_owned()), "y", None);
        assert_eq!(rewritten(text, &[&beyond]).0, text);
    }

    #[test]
    fn sc_7_a_literal_gives_way_to_the_environment() {
        let text = "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nfrom pymongo import MongoClient\nc = MongoClient(\"mongodb://u:p@h/db\")\n";
        let at = edit(4, 17, EditedText::Literal, "os.environ[\"MONGODB_URI\"]", Some("import os"));
        let (after, places) = rewritten(text, &[&at]);
        assert_eq!(places.len(), 1);
        assert_eq!(
            after,
            "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nimport os\nfrom pymongo import MongoClient\nc = MongoClient(os.environ[\"MONGODB_URI\"])\n"
        );
        // Once is enough.
        let again = edit(1, 5, EditedText::Literal, "x", Some("import os"));
        assert_eq!(
            rewritten("x = \"mongodb://u:p@h\"\nimport os\n", &[&again]).0,
            "x = x\nimport os\n"
        );
    }
}
