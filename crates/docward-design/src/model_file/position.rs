//! A position in a model file.

/// A line and a column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) line: u32,
    pub(crate) column: u32,
}
