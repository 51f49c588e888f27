//! Percent encoding: decoded as strictly as drivers do, and written where necessary.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Characters that cannot occur in the value of an option. `:`, `,` and `/` can, and are easier to
/// read unencoded.
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

/// Decodes percent codes; invalid ones stay as they are.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Decodes percent codes; the error is the position of a percent sign that does not begin one.
pub(crate) fn strictly_decoded(text: &str) -> Result<String, usize> {
    match bad_percent(text) {
        Some(at) => Err(at),
        None => Ok(decoded(text)),
    }
}

/// The first percent sign that does not start a code.
pub(crate) fn bad_percent(text: &str) -> Option<usize> {
    text.match_indices('%').map(|(at, _)| at).find(|at| {
        !text
            .as_bytes()
            .get(at + 1..at + 3)
            .is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Encodes a text as the value of an option.
pub(crate) fn encoded_value(text: &str) -> String {
    utf8_percent_encode(text, VALUE).to_string()
}
