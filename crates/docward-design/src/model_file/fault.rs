//! Mistakes in a model file, with their positions.

use docward_model::Location;

use crate::model_file::position::At;

/// A mistake in a model file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}{}", self.place(), hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
pub struct Fault {
    /// The position.
    pub location: Location,
    /// The problem. Begins with a lower-case letter and has no full stop.
    pub message: String,
    /// The text to write instead.
    pub hint: Option<String>,
}

impl Fault {
    /// Returns the position in the usual notation.
    pub fn place(&self) -> String {
        format!("{}:{}:{}", self.location.file, self.location.line, self.location.column)
    }
}

/// Escapes control characters in a quotation from the file, because they could manipulate a
/// terminal.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_debug()) } else { shown.push(c) }
    }
    shown
}

/// Collects the mistakes of a file.
pub(crate) struct Faults<'n> {
    file: &'n str,
    found: Vec<Fault>,
}

impl<'n> Faults<'n> {
    pub(crate) fn new(file: &'n str) -> Self {
        Self { file, found: Vec::new() }
    }

    pub(crate) fn location(&self, at: At) -> Location {
        Location { file: self.file.to_owned(), line: at.line, column: at.column }
    }

    pub(crate) fn push(&mut self, at: At, message: impl Into<String>, hint: Option<String>) {
        let message = visible(&message.into());
        let hint = hint.as_deref().map(visible);
        self.found.push(Fault { location: self.location(at), message, hint });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns all mistakes in the order of the file.
    pub(crate) fn finish(mut self) -> Vec<Fault> {
        self.found.sort_by_key(|fault| (fault.location.line, fault.location.column));
        // A name that is wrong twice in one line is reported once.
        self.found.dedup();
        self.found
    }
}
