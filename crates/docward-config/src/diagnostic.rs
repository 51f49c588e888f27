//! What is wrong with a configuration file, and where.

use docward_model::Location;

use crate::position::Lines;

/// One problem of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}{}", tail(.hint.as_deref()))]
pub struct Diagnostic {
    /// The file, as the caller named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is wrong: lower-case start, no final stop.
    pub message: String,
    /// What to write instead.
    pub hint: Option<String>,
    /// Something cannot be taken as written, so the run would not be the one asked for. Otherwise it
    /// was understood, but has no effect.
    pub fatal: bool,
}

fn tail(hint: Option<&str>) -> String {
    hint.map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// Collects problems by byte offset.
pub(crate) struct Diagnostics<'t> {
    file: &'t str,
    pub(crate) lines: Lines<'t>,
    found: Vec<(usize, Diagnostic)>,
}

impl<'t> Diagnostics<'t> {
    pub(crate) fn new(file: &'t str, text: &'t str) -> Self {
        Self { file, lines: Lines::new(text), found: Vec::new() }
    }

    /// Something that cannot be taken as written.
    pub(crate) fn error(&mut self, at: usize, message: impl Into<String>, hint: Option<String>) {
        self.push(at, message.into(), hint, true);
    }

    /// Something that was understood and has no effect.
    pub(crate) fn note(&mut self, at: usize, message: impl Into<String>, hint: Option<String>) {
        self.push(at, message.into(), hint, false);
    }

    /// The place of an offset, for settings that remember where they came from.
    pub(crate) fn location(&self, at: usize) -> Location {
        let (line, column) = self.lines.position(at);
        Location { file: self.file.to_owned(), line, column }
    }

    /// Everything found, in the order of the file.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        // Stable: several problems of one place keep the order in which they were found.
        self.found.sort_by_key(|(at, _)| *at);
        self.found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    fn push(&mut self, at: usize, message: String, hint: Option<String>, fatal: bool) {
        let Location { file, line, column } = self.location(at);
        self.found.push((at, Diagnostic { file, line, column, message, hint, fatal }));
    }
}
