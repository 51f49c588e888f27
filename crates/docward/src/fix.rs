//! Applies the edits of findings to source files, or writes them as a patch.
//!
//! An edit is made only if the file still has the text that the finding is about. The rest of the
//! file stays byte for byte the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use docward_model::{Applicability, Edit, EditedText, Finding, Location, Problem, text};

use crate::{excerpt::Masks, terminal::write_whole};

/// The number of context lines around a change in a patch.
const CONTEXT: usize = 3;

/// The result of applying fixes.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    pub(crate) edits: u64,
    pub(crate) files: u64,
    /// Whether the code now reads a connection string from the environment.
    pub(crate) needs_variable: bool,
    pub(crate) problems: Vec<Problem>,
}

/// A patch for `git apply`.
#[derive(Debug, Default)]
pub(crate) struct Patch {
    pub(crate) text: String,
    pub(crate) edits: u64,
    pub(crate) files: u64,
    /// Edits that are left out because the patch would show a password.
    pub(crate) left_out: Vec<Location>,
    pub(crate) problems: Vec<Problem>,
}

/// The number of available fixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Available {
    pub(crate) safe: u64,
    pub(crate) not_safe: u64,
}

/// Keeps the edits that are possible in the current files, one per place. Reports therefore
/// announce only fixes that work.
pub(crate) fn resolve(findings: &mut [Finding]) {
    let mut texts: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut literals = BTreeSet::new();
    for finding in findings.iter_mut() {
        let mut places = BTreeSet::new();
        finding.edits.retain(|edit| {
            let file = &edit.location.file;
            let text = texts.entry(file.clone()).or_insert_with(|| fs::read_to_string(file).ok());
            let fits = text.as_ref().is_some_and(|text| span(text, edit).is_some());
            // Of several spellings of an option, the one in the file counts.
            let is_kept = fits && places.insert(edit.location.clone());
            if is_kept && edit.old == EditedText::Literal {
                literals.insert(edit.location.clone());
            }
            is_kept
        });
    }
    // Two connection strings are two deployments, so a single variable cannot replace both.
    if literals.len() > 1 {
        for finding in findings {
            finding.edits.retain(|edit| edit.old != EditedText::Literal);
        }
    }
}

/// Counts the places that fixes change.
pub(crate) fn available<'a>(findings: impl Iterator<Item = &'a Finding>) -> Available {
    let places: BTreeSet<(&Location, Applicability)> = findings
        .flat_map(|finding| &finding.edits)
        .map(|edit| (&edit.location, edit.applicability))
        .collect();
    let safe = places.iter().filter(|(_, how)| *how == Applicability::Safe).count() as u64;
    Available { safe, not_safe: places.len() as u64 - safe }
}

/// Changes files.
pub(crate) fn apply<'a>(findings: impl Iterator<Item = &'a Finding>, unsafe_too: bool) -> Fixed {
    let (rewrites, mut problems) = rewrites(findings, unsafe_too);
    let mut fixed = Fixed::default();
    for rewrite in rewrites {
        // A read-only file must stay unchanged, even if the operating system would allow writing.
        if fs::metadata(&rewrite.file).is_ok_and(|metadata| metadata.permissions().readonly()) {
            problems.push(Problem {
                source: rewrite.file,
                message: "is read-only and was not changed; make it writable and run again"
                    .to_owned(),
            });
            continue;
        }
        match write_whole(Path::new(&rewrite.file), &rewrite.after()) {
            Ok(()) => {
                fixed.files += 1;
                fixed.edits += rewrite.edits.len() as u64;
                fixed.needs_variable |=
                    rewrite.edits.iter().any(|edit| edit.old == EditedText::Literal);
            }
            Err(error) => problems.push(Problem {
                source: rewrite.file,
                message: format!("cannot be written and was not changed: {error}"),
            }),
        }
    }
    fixed.problems = problems;
    fixed
}

/// Returns the edits as a patch. A line with a password is never printed, so edits on or next to
/// such a line are left out.
pub(crate) fn patch<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    unsafe_too: bool,
    masks: &Masks<'_>,
) -> Patch {
    let (rewrites, problems) = rewrites(findings, unsafe_too);
    let mut patch = Patch { problems, ..Patch::default() };
    for mut rewrite in rewrites {
        let shown = rewrite.without_secrets(masks, &mut patch.left_out);
        let (hunks, edits) = rewrite.hunks(&shown, &mut patch.left_out);
        if hunks.is_empty() {
            continue;
        }
        let name = patch_path(&rewrite.file);
        let (old, new) = (quoted(&format!("a/{name}")), quoted(&format!("b/{name}")));
        patch.text.push_str(&format!("diff --git {old} {new}\n--- {old}\n+++ {new}\n{hunks}"));
        patch.files += 1;
        patch.edits += edits;
    }
    patch
}

/// A file and its edits.
struct Rewrite {
    file: String,
    /// Its lines, each with its line break.
    lines: Vec<String>,
    /// Replaced lines by index.
    replaced: BTreeMap<usize, String>,
    /// Lines to insert before a line, by index.
    inserted: BTreeMap<usize, BTreeSet<String>>,
    edits: Vec<Edit>,
}

impl Rewrite {
    fn new(file: &str, before: &str, edits: &[&Edit]) -> Self {
        let lines: Vec<String> = before.split_inclusive('\n').map(str::to_owned).collect();
        let mut out = Self {
            file: file.to_owned(),
            lines,
            replaced: BTreeMap::new(),
            inserted: BTreeMap::new(),
            edits: Vec::new(),
        };
        out.make(before, edits);
        out
    }

    fn make(&mut self, before: &str, edits: &[&Edit]) {
        self.replaced.clear();
        self.inserted.clear();
        self.edits.clear();
        let mut spans: BTreeMap<usize, (usize, &Edit)> = BTreeMap::new();
        for edit in edits {
            if let Some((at, length)) = span(before, edit) {
                spans.entry(at).or_insert((length, edit));
            }
        }
        let mut free_from = 0;
        spans.retain(|at, (length, _)| {
            let is_free = *at >= free_from;
            if is_free {
                free_from = *at + *length;
            }
            is_free
        });
        let ending = if before.contains("\r\n") { "\r\n" } else { "\n" };
        // Goes from the end, so that earlier positions in the line stay valid.
        for (at, (length, edit)) in spans.into_iter().rev() {
            let (line, start) = line_at(before, at);
            let text = self.replaced.entry(line).or_insert_with(|| self.lines[line].clone());
            text.replace_range(at - start..at - start + length, &edit.new);
            if let Some(needed) = edit.needs
                && let Some(Some(place)) = import_at(before, at, needed)
            {
                let (line, _) = line_at(before, place);
                self.inserted.entry(line).or_default().insert(format!("{needed}{ending}"));
            }
            self.edits.insert(0, edit.clone());
        }
    }

    /// Returns the edited file.
    fn after(&self) -> String {
        let mut out = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            self.inserted.get(&at).into_iter().flatten().for_each(|line| out.push_str(line));
            out.push_str(self.replaced.get(&at).unwrap_or(line));
        }
        out
    }

    /// Drops edits on lines that show a password. Returns which lines may be printed.
    fn without_secrets(&mut self, masks: &Masks<'_>, left_out: &mut Vec<Location>) -> Vec<bool> {
        let shown: Vec<bool> = (1..)
            .zip(&self.lines)
            .map(|(number, line)| !masks.hides(&self.file, number, line))
            .collect();
        let is_shown = |edit: &Edit| {
            let line = usize::try_from(edit.location.line).unwrap_or(usize::MAX);
            line.checked_sub(1).and_then(|line| shown.get(line)).copied().unwrap_or(false)
        };
        let (kept, dropped): (Vec<Edit>, Vec<Edit>) =
            std::mem::take(&mut self.edits).into_iter().partition(is_shown);
        left_out.extend(dropped.iter().map(|edit| edit.location.clone()));
        let before = self.lines.concat();
        self.make(&before, &kept.iter().collect::<Vec<_>>());
        shown
    }

    /// Returns the edits as hunks of a unified diff, and the number of edits in them.
    fn hunks(&self, shown: &[bool], left_out: &mut Vec<Location>) -> (String, u64) {
        let mut changed: BTreeSet<usize> = self.replaced.keys().copied().collect();
        changed.extend(self.inserted.keys());
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for at in changed {
            let body = at + usize::from(self.replaced.contains_key(&at));
            let before = (at.saturating_sub(CONTEXT)..at).rev().take_while(|line| shown[*line]);
            let behind = (body..self.lines.len()).take(CONTEXT).take_while(|line| shown[*line]);
            let (from, to) = (at - before.count(), body + behind.count());
            // Without a line after the change, `git apply` assumes that the file ends there.
            if to == body && body < self.lines.len() {
                left_out.extend(self.edits_in(at, at + 1).map(|edit| edit.location.clone()));
                continue;
            }
            match ranges.last_mut().filter(|last| from <= last.1) {
                Some(last) => last.1 = to,
                None => ranges.push((from, to)),
            }
        }
        let mut out = String::new();
        let mut moved = 0;
        let mut edits = 0;
        for (from, to) in ranges {
            let mut body = String::new();
            let mut added = 0;
            for at in from..to {
                for line in self.inserted.get(&at).into_iter().flatten() {
                    push_line(&mut body, '+', line);
                    added += 1;
                }
                match self.replaced.get(&at) {
                    Some(new) => {
                        push_line(&mut body, '-', &self.lines[at]);
                        push_line(&mut body, '+', new);
                    }
                    None => push_line(&mut body, ' ', &self.lines[at]),
                }
            }
            let old = to - from;
            let new = old + added;
            out.push_str(&format!("@@ -{},{old} +{},{new} @@\n{body}", from + 1, from + 1 + moved));
            moved += added;
            edits += self.edits_in(from, to).count() as u64;
        }
        (out, edits)
    }

    /// Returns the edits on a range of lines, counted from 0.
    fn edits_in(&self, from: usize, to: usize) -> impl Iterator<Item = &Edit> {
        self.edits.iter().filter(move |edit| {
            let line = usize::try_from(edit.location.line).unwrap_or(usize::MAX);
            (from + 1..=to).contains(&line)
        })
    }
}

/// Adds a line of a hunk.
fn push_line(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

/// Returns the path of a file in a patch: relative to its repository, or else to the current
/// directory.
fn patch_path(file: &str) -> String {
    let path = Path::new(file).canonicalize().unwrap_or_else(|_| Path::new(file).to_owned());
    let repository = path.ancestors().skip(1).find(|folder| folder.join(".git").exists());
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok();
    let base = repository.map(Path::to_owned).or(here);
    let name = base.and_then(|base| path.strip_prefix(base).ok().map(Path::to_owned));
    let name = name.unwrap_or_else(|| Path::new(file.trim_start_matches('/')).to_owned());
    name.display().to_string().replace('\\', "/")
}

/// Quotes a name as git does, if it contains special characters.
fn quoted(name: &str) -> String {
    if !name.contains(|c: char| c.is_control() || c == '"') {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' => out.push_str("\\\""),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the files that fixes change, with their edits.
fn rewrites<'a>(
    findings: impl Iterator<Item = &'a Finding>,
    unsafe_too: bool,
) -> (Vec<Rewrite>, Vec<Problem>) {
    let mut by_file: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    let wanted = |edit: &&Edit| unsafe_too || edit.applicability == Applicability::Safe;
    for edit in findings.flat_map(|finding| &finding.edits).filter(wanted) {
        by_file.entry(&edit.location.file).or_default().push(edit);
    }
    let mut out = Vec::new();
    let mut problems = Vec::new();
    for (file, edits) in by_file {
        match fs::read_to_string(file) {
            Ok(before) => out.push(Rewrite::new(file, &before, &edits)),
            Err(error) => problems.push(Problem {
                source: file.to_owned(),
                message: format!("cannot be read again to be fixed: {error}"),
            }),
        }
    }
    out.retain(|rewrite| !rewrite.edits.is_empty());
    (out, problems)
}

/// Returns the start and length of an edit in a text, or `None` if the text has changed.
fn span(text: &str, edit: &Edit) -> Option<(usize, usize)> {
    let at = offset(text, &edit.location)?;
    let rest = &text[at..];
    let length = match &edit.old {
        EditedText::Exactly(old) => rest.starts_with(old.as_str()).then_some(old.len()),
        EditedText::Literal => literal(rest).filter(|length| {
            stands_alone(text, at, *length)
                && edit.needs.is_none_or(|line| import_at(text, at, line).is_some())
        }),
    };
    Some((at, length?))
}

/// Returns the line of a byte, counted from 0, and the start of that line.
fn line_at(text: &str, at: usize) -> (usize, usize) {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    (text[..start].matches('\n').count(), start)
}

/// Returns a description such as `2 fixes`, and how many more are available.
pub(crate) fn told(done: &str, edits: u64, files: u64, more: u64) -> String {
    let made = match edits {
        0 => "no fixes".to_owned(),
        n => format!("{n} {} in {}", text::form(n, "fix", "fixes"), text::plural(files, "file")),
    };
    match more {
        0 => format!("{done} {made}"),
        1 => format!("{done} {made}; 1 more is available with --unsafe-fixes"),
        n => format!("{done} {made}; {n} more are available with --unsafe-fixes"),
    }
}
/// Whether a literal is a complete assigned value or the first argument of a client. In other
/// positions, an expression may be invalid or have another meaning.
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

/// Returns where to insert an import that must precede a place. `Some(None)` means that it exists.
/// `None` means that no position is certain.
fn import_at(text: &str, before: usize, line: &str) -> Option<Option<usize>> {
    let mut at = 0;
    let mut in_text = false;
    let mut place = None;
    for part in text[..before].split_inclusive('\n') {
        // Inside a multi-line string, no text is code.
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

/// Returns the length of a quoted literal on one line that contains a MongoDB connection string.
fn literal(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &text[1..];
    let end = inner.find(quote)?;
    let inside = &inner[..end];
    (inside.starts_with("mongodb") && !inside.contains(['\n', '\\'])).then_some(end + 2)
}

/// Returns the byte at a line and column, both counted from 1. Columns are counted in characters.
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
        Edit { applicability: Applicability::Unsafe, location, old, new: new.to_owned(), needs }
    }

    fn rewritten(text: &str, edits: &[&Edit]) -> (String, usize) {
        let rewrite = Rewrite::new("a.py", text, edits);
        (rewrite.after(), rewrite.edits.len())
    }

    #[test]
    fn edits_are_made_where_the_text_is_as_it_was() {
        let text = "# ünïcode\nx = f(a=False)\n";
        let fits = edit(2, 9, EditedText::Exactly("False".to_owned()), "True", None);
        assert_eq!(rewritten(text, &[&fits]).0, "# ünïcode\nx = f(a=True)\n");
        let other = edit(2, 8, EditedText::Exactly("False".to_owned()), "True", None);
        assert_eq!(rewritten(text, &[&other]), (text.to_owned(), 0));
        let beyond = edit(9, 9, EditedText::Exactly("x".to_owned()), "y", None);
        assert_eq!(rewritten(text, &[&beyond]).0, text);
    }

    #[test]
    fn sc_7_a_literal_gives_way_to_the_environment() {
        let text = "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nfrom pymongo import MongoClient\nc = MongoClient(\"mongodb://u:p@h/db\")\n";
        let at = edit(4, 17, EditedText::Literal, "os.environ[\"MONGODB_URI\"]", Some("import os"));
        assert_eq!(
            rewritten(text, &[&at]),
            ("\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\nimport os\nfrom pymongo import MongoClient\nc = MongoClient(os.environ[\"MONGODB_URI\"])\n".to_owned(), 1)
        );
        // The import must be added only once.
        let again = edit(2, 5, EditedText::Literal, "x", Some("import os"));
        let have = "import os\nx = \"mongodb://u:p@h\"\n";
        assert_eq!(rewritten(have, &[&again]).0, "import os\nx = x\n");
        // If an expression is not allowed, or the import has no certain position, nothing changes.
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

    #[test]
    fn two_edits_of_one_line_are_both_made() {
        let text = "f(a=False, b=False)\n";
        let first = edit(1, 5, EditedText::Exactly("False".to_owned()), "True", None);
        let second = edit(1, 14, EditedText::Exactly("False".to_owned()), "None", None);
        assert_eq!(rewritten(text, &[&second, &first]), ("f(a=True, b=None)\n".to_owned(), 2));
    }

    #[test]
    fn names_in_patches_are_quoted_as_git_does() {
        assert_eq!(quoted("a/b c.py"), "a/b c.py");
        assert_eq!(quoted("a/b\"c\n.py"), "\"a/b\\\"c\\012.py\"");
    }
}
