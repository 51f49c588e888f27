//! The options of the terminal.

/// The options of the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// True for colours.
    pub color: bool,
    /// The width in columns.
    pub width: usize,
}
