//! Reads the files of `conformance/`: one page for each family of clauses.
//!
//! The grammar is in `conformance/README.md`. `cargo xtask docs` reads the same files for
//! `docs/clauses.md`, so this module depends on the standard library only.

use std::{fs, io, path::Path};

/// A clause with its cases.
#[derive(Debug, Default)]
pub(crate) struct Clause {
    pub(crate) id: String,
    /// Clauses whose cases show this clause too.
    pub(crate) same_as: Vec<String>,
    pub(crate) cases: Vec<Case>,
    /// Files of all cases, which stand before the first case.
    shared: Vec<File>,
}

/// What a case shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Docward reports the input.
    Violating,
    /// Docward reports nothing that belongs to the clause.
    Compliant,
    /// Docward prints what the clause says.
    Advice,
}

/// Inputs, and what the binary says about them.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    /// The file name and line of the heading.
    pub(crate) place: String,
    /// What the binary does instead, if the case is known to fail.
    pub(crate) fails: Option<String>,
    pub(crate) files: Vec<File>,
    pub(crate) runs: Vec<Run>,
}

/// An input.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) language: String,
    pub(crate) name: String,
    pub(crate) body: String,
}

/// A command with the expected lines below it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The file name and line of the command.
    pub(crate) place: String,
    /// The command without `docward`.
    pub(crate) command: String,
    pub(crate) expected: Vec<String>,
}

impl Case {
    /// Returns whether the case needs a server.
    pub(crate) fn is_live(&self) -> bool {
        self.files.iter().any(|file| file.language == "server")
    }
}

/// The clauses of all pages in a folder, in the order of the file names.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<Clause>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".md") && name != "README.md" {
            paths.push((name, path));
        }
    }
    paths.sort();
    let mut clauses = Vec::new();
    for (name, path) in paths {
        let text = fs::read_to_string(path)?;
        clauses.extend(parse(&name, &text).map_err(io::Error::other)?);
    }
    Ok(clauses)
}

/// The clauses of a page. The error names the file and the line.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<Clause>, String> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let place = format!("{name}:{}", at + 1);
        if let Some(title) = line.strip_prefix("### ") {
            let clause = clauses.last_mut().ok_or_else(|| format!("{place}: no clause"))?;
            let kind = kind(title).ok_or_else(|| format!("{place}: no kind of case: {title}"))?;
            let files = clause.shared.clone();
            clause.cases.push(Case { kind, place, fails: None, files, runs: Vec::new() });
        } else if let Some(title) = line.strip_prefix("## ") {
            let id = title.split(':').next().unwrap_or_default().trim().to_owned();
            clauses.push(Clause { id, ..Clause::default() });
        } else if let Some(info) = line.strip_prefix("```") {
            let mut body = Vec::new();
            loop {
                match lines.next() {
                    Some((_, "```")) => break,
                    Some((_, line)) => body.push(line),
                    None => return Err(format!("{place}: the fence is not closed")),
                }
            }
            let clause = clauses.last_mut().ok_or_else(|| format!("{place}: no clause"))?;
            fence(clause, name, at + 1, info, &body)?;
        } else if let Some(ids) = line.strip_prefix("Cases: ") {
            let clause = clauses.last_mut().ok_or_else(|| format!("{place}: no clause"))?;
            let ids = ids.trim_end_matches('.').split(',');
            clause.same_as.extend(ids.map(|id| id.trim().to_owned()));
        } else if let Some(sentence) = line.strip_prefix("Fails: ") {
            let case = clauses.last_mut().and_then(|clause| clause.cases.last_mut());
            case.ok_or_else(|| format!("{place}: no case"))?.fails = Some(sentence.to_owned());
        }
    }
    Ok(clauses)
}

fn kind(title: &str) -> Option<Kind> {
    match title.split(':').next()? {
        "Violating" => Some(Kind::Violating),
        "Compliant" => Some(Kind::Compliant),
        "Advice" => Some(Kind::Advice),
        _ => None,
    }
}

/// Adds a file or the runs of a `console` fence to the last case.
fn fence(
    clause: &mut Clause,
    name: &str,
    line: usize,
    info: &str,
    body: &[&str],
) -> Result<(), String> {
    if info != "console" {
        let (language, file) = info
            .split_once(' ')
            .ok_or_else(|| format!("{name}:{line}: a fence names its file: {info}"))?;
        let body = body.iter().flat_map(|line| [line, "\n"]).collect();
        let file = File { language: language.to_owned(), name: file.to_owned(), body };
        match clause.cases.last_mut() {
            Some(case) => case.files.push(file),
            None => clause.shared.push(file),
        }
        return Ok(());
    }
    let case = clause.cases.last_mut().ok_or_else(|| format!("{name}:{line}: no case"))?;
    for (at, text) in body.iter().enumerate() {
        let place = format!("{name}:{}", line + 1 + at);
        if let Some(command) = text.strip_prefix("$ docward ") {
            case.runs.push(Run { place, command: command.to_owned(), expected: Vec::new() });
        } else {
            let run = case.runs.last_mut().ok_or_else(|| format!("{place}: no command"))?;
            run.expected.push((*text).to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_parsed() {
        let page = "# Names\n## DM-1: a\nCases: DM-2, DM-3.\n```toml docward.toml\na = 1\n```\n\
                    ### Violating: b\nFails: It says nothing.\n```jsonl db.c\n{}\n```\n\
                    ```console\n$ docward audit dump\nN001 error\n$ docward lint .\n```\n";
        let clauses = parse("DM.md", page).expect("a page");
        let clause = &clauses[0];
        assert_eq!((clause.id.as_str(), clause.same_as.len()), ("DM-1", 2));
        let case = &clause.cases[0];
        assert_eq!((case.kind, case.files.len(), case.runs.len()), (Kind::Violating, 2, 2));
        assert_eq!(case.fails.as_deref(), Some("It says nothing."));
        assert_eq!(case.runs[0].place, "DM.md:13");
        assert_eq!(case.runs[0].expected, ["N001 error"]);
        assert!(parse("DM.md", "## DM-1\n### Perhaps\n").is_err());
    }
}
