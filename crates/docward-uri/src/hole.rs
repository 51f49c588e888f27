//! Holes: the parts of a connection string that source code computes.

/// The placeholder for a hole in host names.
pub const HOLE: &str = docward_model::client_uri::HOLE;

/// The placeholder for a hole while parsing: a character that no connection string contains.
pub(crate) const HOLE_CHARACTER: char = '\u{fffc}';

/// Returns whether a part of the text is computed.
pub(crate) fn has_hole(text: &str) -> bool {
    text.contains(HOLE_CHARACTER)
}
