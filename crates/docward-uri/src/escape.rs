//! Percent codes, read strictly where drivers do and written where they have to be.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What cannot stand in the value of an option. `:`, `,` and `/` can, and are easier to read so.
const VALUE: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'&')
    .add(b';')
    .add(b'+')
    .add(b'?')
    .add(b'@');

/// Percent codes resolved; what is none stays as it is.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Percent codes resolved, or the place of a percent sign that starts none.
pub(crate) fn strictly_decoded(text: &str) -> Result<String, usize> {
    match bad_percent(text) {
        Some(at) => Err(at),
        None => Ok(decoded(text)),
    }
}

/// The first percent sign that starts no code.
pub(crate) fn bad_percent(text: &str) -> Option<usize> {
    text.match_indices('%').map(|(at, _)| at).find(|at| {
        !text
            .as_bytes()
            .get(at + 1..at + 3)
            .is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    })
}

/// A text as the value of an option.
pub(crate) fn encoded_value(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}
