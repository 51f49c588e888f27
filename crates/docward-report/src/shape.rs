//! The shapes of plans, choices and designs, and the look of the terminal.

/// The shapes of a plan, a choice or a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "formats by their usual names")]
pub enum Shape {
    Terminal,
    Json,
    Markdown,
    Html,
}

/// How the terminal looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Colours or none.
    pub color: bool,
    /// Columns.
    pub width: usize,
}
