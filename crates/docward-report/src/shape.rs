//! The formats of plans, choices and designs, and the options of the terminal.

/// The formats of a plan, a choice or a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "formats by their usual names")]
pub enum Shape {
    Terminal,
    Json,
    Markdown,
    Html,
}

/// The options of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// True for colours.
    pub color: bool,
    /// The width in columns.
    pub width: usize,
}
