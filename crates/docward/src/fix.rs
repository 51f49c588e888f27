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
    after: String,
    /// What is changed, by place.
    edits: BTreeMap<Location, Edit>,
}

/// Changes files, and takes the findings that are mended out of the list.
pub(crate) fn apply(findings: &mut Vec<Finding>) -> Fixed {
    let (mended, mut problems) = mend(findings);
    let mut fixed = Fixed::default();
    let mut done = BTreeSet::new();
    for file in mended {
        // Whoever forbids writing means it, also where the operating system would let us.
        if fs::metadata(&file.file).is_ok_and(|metadata| metadata.permissions().readonly()) {
            problems.push(Problem {
                source: file.file,
                message: "is read-only, and was left as it is; make it writable and run again"
                    .to_owned(),
            });
            continue;
        }
        match write_whole(Path::new(&file.file), &file.after) {
            Ok(()) => {
                fixed.files += 1;
                fixed.edits += file.edits.len() as u64;
                done.extend(file.edits.into_keys());
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

/// The changes, place by place. No line of a file is printed: passwords may stand anywhere in it.
pub(crate) fn diff(findings: &[Finding]) -> (String, Vec<Problem>) {
    let (mended, problems) = mend(findings);
    let mut out = String::new();
    for file in &mended {
        let name = file.file.trim_start_matches('/');
        out.push_str(&format!("--- a/{name}\n+++ b/{name}\n"));
        for (at, edit) in &file.edits {
            let old = match &edit.old {
                EditedText::Exactly(old) => old.as_str(),
                EditedText::Literal => "\"mongodb…\"",
            };
            out.push_str(&format!(
                "@@ line {}, column {} @@\n-{old}\n+{}\n",
                at.line, at.column, edit.new
            ));
            if let Some(line) = edit.needs {
                out.push_str(&format!("@@ imports, unless it is there @@\n+{line}\n"));
            }
        }
    }
    (out, problems)
}

fn mend(findings: &[Finding]) -> (Vec<Mended>, Vec<Problem>) {
    let mut by_file: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    // Two connection strings are two deployments: one variable cannot stand for both.
    let all = || findings.iter().flat_map(|finding| &finding.edits);
    let literals: BTreeSet<&Location> =
        all().filter(|e| e.old == EditedText::Literal).map(|e| &e.location).collect();
    for edit in all() {
        if edit.old == EditedText::Literal && literals.len() > 1 {
            continue;
        }
        by_file.entry(&edit.location.file).or_default().push(edit);
    }
    let mut mended = Vec::new();
    let mut problems = Vec::new();
    for (file, edits) in by_file {
        match fs::read_to_string(file) {
            Ok(before) => {
                let (after, edits) = rewritten(&before, &edits);
                if !edits.is_empty() {
                    mended.push(Mended { file: file.to_owned(), after, edits });
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
fn rewritten(text: &str, edits: &[&Edit]) -> (String, BTreeMap<Location, Edit>) {
    let mut changes: BTreeMap<usize, (usize, &Edit)> = BTreeMap::new();
    for edit in edits {
        let Some(at) = offset(text, &edit.location) else { continue };
        let rest = &text[at..];
        let length = match &edit.old {
            EditedText::Exactly(old) => rest.starts_with(old.as_str()).then_some(old.len()),
            EditedText::Literal => literal(rest).filter(|length| {
                stands_alone(text, at, *length)
                    && edit.needs.is_none_or(|line| import_at(text, at, line).is_some())
            }),
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
    let mut made = BTreeMap::new();
    let mut imports = BTreeMap::new();
    for (at, (length, edit)) in changes {
        if at < from {
            continue;
        }
        out.push_str(&text[from..at]);
        out.push_str(&edit.new);
        from = at + length;
        made.insert(edit.location.clone(), edit.clone());
        if let Some(line) = edit.needs
            && let Some(Some(place)) = import_at(text, at, line)
        {
            imports.insert(line, place);
        }
    }
    out.push_str(&text[from..]);
    // Imports stand before everything that was changed, so their places hold.
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    for (line, place) in imports {
        out.insert_str(place, &format!("{line}{ending}"));
    }
    (out, made)
}

/// Whether a literal is all that is assigned, or the first argument of a client: anywhere else an expression
/// may not be allowed, or mean something else.
fn stands_alone(text: &str, at: usize, length: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    let before = text[start..at].trim_end();
    let after = text[at + length..].split('\n').next().unwrap_or_default().trim();
    let is_argument =
        ["MongoClient(", "MongoClient.connect(", "mongoose.connect(", "mongoose.createConnection("]
            .iter()
            .any(|call| before.ends_with(call))
            && after.starts_with([')', ',']);
    let is_assigned = before.strip_suffix('=').is_some_and(|target| {
        let target = target.trim();
        let name = ["const ", "let ", "var "]
            .iter()
            .find_map(|word| target.strip_prefix(word))
            .unwrap_or(target);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }) && (after.is_empty() || after == ";");
    is_argument || is_assigned
}

/// Where a line has to be put that must stand before a place: `Some(None)` when it is there already, `None` when
/// there is no place for it that is beyond doubt.
fn import_at(text: &str, before: usize, line: &str) -> Option<Option<usize>> {
    let mut at = 0;
    let mut in_text = false;
    let mut place = None;
    for part in text[..before].split_inclusive('\n') {
        // Within a text of several lines nothing is code.
        let quotes = part.matches("\"\"\"").count() + part.matches("'''").count();
        if !in_text && quotes == 0 {
            if part.trim_end() == line {
                return Some(None);
            }
            let is_import = part.starts_with("import ") || part.starts_with("from ");
            if is_import && !part.contains("__future__") && place.is_none() {
                place = Some(at);
            }
        }
        in_text ^= quotes % 2 == 1;
        at += part.len();
    }
    place.map(Some)
}

/// A literal in quotes that leads to MongoDB, on one line.
fn literal(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &text[1..];
    let end = inner.find(quote)?;
    let inside = &inner[..end];
    (inside.starts_with("mongodb") && !inside.contains(['\n', '\\'])).then_some(end + 2)
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
        let again = edit(2, 5, EditedText::Literal, "x", Some("import os"));
        let have = "import os\nx = \"mongodb://u:p@h\"\n";
        assert_eq!(rewritten(have, &[&again]).0, "import os\nx = x\n");
        // Where an expression may not stand, or an import has no place, nothing is touched.
        for text in [
            "import os\nx = [\"mongodb://u:p@h\"]\n",
            "from __future__ import a\nx = \"mongodb://u:p@h\"\n",
            "\"\"\"\nimport os\n\"\"\"\nx = \"mongodb://u:p@h\"\n",
        ] {
            let line = text.lines().position(|l| l.starts_with("x =")).expect("a line") as u32 + 1;
            for column in [5, 6] {
                let at = edit(line, column, EditedText::Literal, "y", Some("import os"));
                assert_eq!(rewritten(text, &[&at]).0, text, "{text}");
            }
        }
    }
}
