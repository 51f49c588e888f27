//! Holes: the parts of a connection string that source code computes.

/// What stands for a hole in names of hosts.
pub const HOLE: &str = docward_model::client_uri::HOLE;

/// What stands for a hole while the text is taken apart: a character that no connection string holds.
pub(crate) const HOLE_CHARACTER: char = '\u{fffc}';

/// Whether a part of the text is computed.
pub(crate) fn has_hole(text: &str) -> bool {
    text.contains(HOLE_CHARACTER)
}
