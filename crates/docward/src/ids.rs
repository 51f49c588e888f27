//! Ids other than those of rules: clauses, checklist items, refactorings, choices between sources,
//! calculations. `docward explain` looks them up here.

use std::fmt::Write;

use anyhow::Context;
use docward_model::RuleMeta;
use docward_report::wrap;
use serde_json::{Value, json};

use crate::config::{metas, site};

/// The clauses, as in docs/clauses.md.
const CLAUSES: &str = include_str!("../../../docs/clauses.toml");
/// The other ids, each with an explanation.
const TERMS: &str = include_str!("../../../docs/terms.toml");

/// The kinds of ids by their first letters.
const KINDS: [(&str, &str); 7] = [
    ("RF-", "refactoring"),
    ("GC-", "choice between sources"),
    ("ALG-", "calculation"),
    ("SN-", "statement"),
    ("ST-", "story"),
    ("CK-", "item of the launch checklist"),
    ("SC-", "item of the security self-check"),
];

/// An id with its explanation.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    title: String,
    /// The requirement level of a clause.
    level: Option<String>,
    /// The way in which Docward covers a clause.
    status: Option<String>,
    /// The rules and commands that implement a clause.
    by: Vec<String>,
    /// The explanation, if there is more than a title.
    text: Option<String>,
}

/// The result of a lookup.
pub(crate) enum Found {
    /// A single id.
    One(Entry),
    /// Several ids with the same beginning: `DM-04`.
    Group(Vec<Entry>),
    /// No match. Holds ids with a similar spelling.
    Nothing(Vec<String>),
}

/// Returns all ids, clauses first.
pub(crate) fn entries() -> anyhow::Result<Vec<Entry>> {
    let mut all = Vec::new();
    for (text, key) in [(CLAUSES, "clause"), (TERMS, "term")] {
        let document: toml_edit::DocumentMut = text.parse().context("the table of ids")?;
        let tables = document.get(key).and_then(|item| item.as_array_of_tables());
        for table in tables.into_iter().flatten() {
            let text = |key: &str| Some(table.get(key)?.as_str()?.to_owned());
            let list = table.get("by").and_then(|by| by.as_array()).into_iter().flatten();
            all.push(Entry {
                id: text("id").unwrap_or_default(),
                title: text("title").unwrap_or_default(),
                level: text("level"),
                status: text("status"),
                by: list.filter_map(|by| Some(by.as_str()?.to_owned())).collect(),
                text: text("text"),
            });
        }
    }
    Ok(all)
}

/// Looks up an id.
pub(crate) fn find(id: &str) -> anyhow::Result<Found> {
    let all = entries()?;
    if let Some(entry) = all.iter().find(|entry| entry.id.eq_ignore_ascii_case(id)) {
        return Ok(Found::One(entry.clone()));
    }
    let starts = |entry: &&Entry| {
        let rest = entry.id.get(..id.len()).filter(|head| head.eq_ignore_ascii_case(id));
        rest.is_some() && entry.id[id.len()..].starts_with(['.', '-'])
    };
    let group: Vec<Entry> = all.iter().filter(starts).cloned().collect();
    if !group.is_empty() {
        return Ok(Found::Group(group));
    }
    Ok(Found::Nothing(nearest(id, all.iter().map(|entry| entry.id.as_str()))))
}

/// Whether a text has the form of an id: letters, a hyphen, a number. It is then not a misspelt
/// rule.
pub(crate) fn is_id(text: &str) -> bool {
    text.split_once('-').is_some_and(|(letters, rest)| {
        (2..=4).contains(&letters.len())
            && letters.chars().all(|c| c.is_ascii_alphabetic())
            && rest.chars().any(|c| c.is_ascii_digit())
            && !rest.contains('-')
    })
}

/// Returns at most three words with the most similar spelling.
pub(crate) fn nearest<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let text = text.to_lowercase();
    // Numbers are mistyped more often than the letters before them.
    let family = |word: &str| word.split('-').next().map(str::to_owned);
    let mut near: Vec<(bool, usize, &str)> = words
        .map(|word| {
            let lower = word.to_lowercase();
            let is_other = family(&lower) != family(&text);
            (is_other, strsim::damerau_levenshtein(&text, &lower), word)
        })
        .filter(|(is_other, distance, word)| {
            *distance <= 1 + word.len() / 4 || !is_other && *distance <= 3
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(.., word)| word.to_owned()).collect()
}

impl Entry {
    fn kind(&self) -> &'static str {
        let kind = KINDS.iter().find(|(prefix, _)| self.id.starts_with(prefix));
        kind.map_or("clause", |(_, kind)| kind)
    }

    /// Returns the page with the clauses. Other ids are explained completely here.
    fn page(&self) -> Option<String> {
        self.text.is_none().then(|| site().page("clauses.html")).flatten()
    }

    /// Returns the rules that cite or implement it.
    fn rules(&self) -> Vec<&'static RuleMeta> {
        let cites = |rule: &&RuleMeta| {
            rule.clauses.contains(&self.id.as_str()) || self.by.iter().any(|by| by == rule.code)
        };
        metas().into_iter().filter(cites).collect()
    }

    /// Returns the commands that implement it.
    fn commands(&self) -> impl Iterator<Item = &str> {
        self.by.iter().map(String::as_str).filter(|by| by.starts_with("docward"))
    }

    /// Formats it for the terminal.
    pub(crate) fn terminal(&self, width: usize) -> String {
        let mut head = vec![self.kind()];
        head.extend(self.level.as_deref());
        let mut out = format!("{}   {}\n\n", self.id, head.join(" · "));
        let _ = writeln!(out, "{}", wrap(&self.title, width, 0, 0));
        if let Some(text) = &self.text {
            let _ = writeln!(out, "\n{}", wrap(text, width, 0, 0));
        }
        let rules = self.rules();
        if !rules.is_empty() {
            out.push_str("\nRules\n");
            let longest = rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
            for rule in rules {
                let _ = writeln!(out, "  {} {:<longest$}  {}", rule.code, rule.name, rule.title());
            }
        }
        let commands: Vec<&str> = self.commands().collect();
        if !commands.is_empty() {
            out.push_str("\nCommands\n");
            for command in commands {
                let _ = writeln!(out, "  {command}");
            }
        }
        if self.status.as_deref() == Some("planned") {
            out.push_str("\nDocward does not cover it yet.\n");
        }
        if let Some(page) = self.page() {
            let _ = writeln!(out, "\nMore: {page}");
        }
        out
    }

    /// Returns it as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind(),
            "title": self.title,
            "text": self.text,
            "level": self.level,
            "status": self.status,
            "rules": self.rules().iter().map(|rule| rule.code).collect::<Vec<_>>(),
            "commands": self.commands().collect::<Vec<_>>(),
            "url": self.page(),
        })
    }

    /// Returns it as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("# {}: {}\n", self.id, self.title);
        if let Some(text) = &self.text {
            let _ = writeln!(out, "\n{text}");
        }
        let rules = self.rules();
        if !rules.is_empty() {
            out.push('\n');
        }
        for rule in rules {
            let _ = writeln!(out, "- {} {}: {}", rule.code, rule.name, rule.title());
        }
        out
    }
}

/// Returns a list of ids with the same beginning, one line each.
pub(crate) fn list(entries: &[Entry], width: usize) -> String {
    let longest = entries.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let mut out = String::new();
    for entry in entries {
        let text = wrap(&entry.title, width, longest + 2, longest + 2);
        let _ = writeln!(out, "{:<longest$}  {text}", entry.id);
    }
    out.push_str("\n`docward explain ID` explains one\n");
    out
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    /// Collects the ids in a text: two to four capitals, a hyphen, letters and digits, optionally a
    /// number after a dot.
    fn ids_in(text: &str, known: &BTreeSet<String>, out: &mut BTreeSet<String>) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        for word in text.split(|c: char| !is_part(c)) {
            let word = word.trim_matches(['.', '-']);
            let Some((letters, rest)) = word.split_once('-') else { continue };
            let is_prefix = known
                .iter()
                .any(|id| id.split_once('-').is_some_and(|(prefix, _)| prefix == letters));
            // `SE-1..9` is a range, and `DM-08.2-style` is not an id.
            let rest = rest.split("..").next().unwrap_or_default();
            if is_prefix && rest.chars().any(|c| c.is_ascii_digit()) && !rest.contains('-') {
                out.insert(format!("{letters}-{rest}"));
            }
        }
    }

    fn sources(directory: &Path, out: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("tests") && !path.ends_with("testing") {
                sources(&path, out);
            } else if path.extension().is_some_and(|end| end == "rs")
                && !path.ends_with("tests.rs")
                && !path.ends_with("testing.rs")
            {
                out.push(path);
            }
        }
    }

    /// Returns the ids in strings of the program without tests, and in the pages of rules.
    fn printed_ids() -> BTreeSet<String> {
        let known: BTreeSet<String> = entries().unwrap().into_iter().map(|e| e.id).collect();
        let mut out = BTreeSet::new();
        for rule in metas() {
            ids_in(rule.doc, &known, &mut out);
            rule.clauses.iter().for_each(|clause| ids_in(clause, &known, &mut out));
            rule.thresholds.iter().for_each(|t| ids_in(t.source, &known, &mut out));
        }
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut files = Vec::new();
        for entry in fs::read_dir(crates).unwrap().flatten() {
            let name = entry.file_name();
            if !matches!(name.to_str(), Some("docward-testkit" | "docward-fuzz-cases")) {
                sources(&entry.path().join("src"), &mut files);
            }
        }
        assert!(files.len() > 300, "{}", files.len());
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_comment = |line: &&str| line.trim_start().starts_with("//");
            for line in code.lines().filter(|line| !is_comment(line)) {
                for (at, part) in line.split('"').enumerate() {
                    if at % 2 == 1 {
                        ids_in(part, &known, &mut out);
                    }
                }
            }
        }
        out
    }

    #[test]
    fn every_id_that_is_printed_is_explained() {
        let printed = printed_ids();
        assert!(printed.len() > 150, "{}", printed.len());
        let unknown: Vec<_> =
            printed.iter().filter(|id| matches!(find(id).unwrap(), Found::Nothing(_))).collect();
        assert!(unknown.is_empty(), "add to docs/terms.toml: {unknown:?}");
    }

    #[test]
    fn ids_are_unique_and_have_words() {
        let all = entries().unwrap();
        let mut seen = BTreeSet::new();
        for entry in &all {
            assert!(seen.insert(&entry.id), "{} twice", entry.id);
            assert!(!entry.title.is_empty(), "{}", entry.id);
        }
        assert!(matches!(find("dm-08.2").unwrap(), Found::One(_)));
        assert!(matches!(find("DM-08").unwrap(), Found::Group(group) if group.len() > 3));
        assert!(matches!(find("RF").unwrap(), Found::Group(group) if group.len() == 20));
        let Found::Nothing(near) = find("CK-44").unwrap() else { panic!("no such item") };
        assert!(near.contains(&"CK-4".to_owned()), "{near:?}");
        assert!(is_id("CK-4") && is_id("DM-08.2") && !is_id("money-as-double") && !is_id("D008"));
    }
}
