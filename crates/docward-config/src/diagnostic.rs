//! The problems in a configuration file, with their positions.

use docward_model::Location;

use crate::position::Lines;

/// One problem in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}{}", tail(.hint.as_deref()))]
pub struct Diagnostic {
    /// The file name, as the caller gave it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column in characters, counted from 1.
    pub column: u32,
    /// The message: lower-case start, no final period.
    pub message: String,
    /// The advice on what to write instead.
    pub hint: Option<String>,
    /// True if a value cannot be used as written, so the run would differ from the requested one.
    /// False if the value was understood but has no effect.
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

    /// Adds a problem with something that cannot be used as written.
    pub(crate) fn error(&mut self, at: usize, message: impl Into<String>, hint: Option<String>) {
        self.push(at, message.into(), hint, true);
    }

    /// Adds a note on something that was understood but has no effect.
    pub(crate) fn note(&mut self, at: usize, message: impl Into<String>, hint: Option<String>) {
        self.push(at, message.into(), hint, false);
    }

    /// The position of an offset, for settings that store the place of their definition.
    pub(crate) fn location(&self, at: usize) -> Location {
        let (line, column) = self.lines.position(at);
        Location { file: self.file.to_owned(), line, column }
    }

    /// All problems, in file order.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        // The sort is stable: several problems at one position keep their order.
        self.found.sort_by_key(|(at, _)| *at);
        self.found.into_iter().map(|(_, diagnostic)| diagnostic).collect()
    }

    fn push(&mut self, at: usize, message: String, hint: Option<String>, fatal: bool) {
        let Location { file, line, column } = self.location(at);
        self.found.push((at, Diagnostic { file, line, column, message, hint, fatal }));
    }
}
