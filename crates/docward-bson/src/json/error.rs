//! The errors in a text, with their positions.
//!
//! Not included: continuing after an error (`skip`).

use std::fmt;

/// A position in the stream of text.
///
/// Lines and columns count from 1. Columns count bytes, because the text may not be UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The number of bytes from the start of the stream.
    pub offset: u64,
    /// The line.
    pub line: u64,
    /// The byte within the line.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, line, column } = self;
        write!(f, "line {line}, column {column} (byte {offset})")
    }
}

/// A document that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream ends before something is closed.
    #[error("unexpected end of input at {at}: the {what} that began at {began} is not closed")]
    UnexpectedEnd {
        /// The position of the end of the stream.
        at: Place,
        /// The open construct: a document, an array, a comment.
        what: &'static str,
        /// The position of its start.
        began: Place,
    },
    /// Other content in the place of a document.
    #[error("expected a document at {at}, found {found}")]
    NotADocument {
        /// The position of the error.
        at: Place,
        /// The content found.
        found: String,
    },
    /// The text violates the grammar.
    #[error("expected {expected} at {at}, found {found}")]
    Unexpected {
        /// The position of the error.
        at: Place,
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// Documents and arrays are nested too deeply.
    #[error("nested too deeply at {at}: at most {limit} levels are read")]
    TooDeep {
        /// The position of the first level beyond the limit.
        at: Place,
        /// The maximum number of levels.
        limit: usize,
    },
    /// A document that is too long to be one.
    #[error("the {what} that began at {at} is too long: at most {limit} bytes are read")]
    TooLong {
        /// The position of its start.
        at: Place,
        /// The construct that is too long: a document, a comment.
        what: &'static str,
        /// The maximum number of bytes.
        limit: usize,
    },
    /// A document that exceeds MongoDB's limit as BSON.
    #[error(
        "the document that began at {at} takes more than {limit} bytes as BSON, more than MongoDB can store; it was left out"
    )]
    TooLarge {
        /// The position of its start.
        at: Place,
        /// The maximum number of bytes of BSON.
        limit: usize,
    },
    /// Bytes in a string or name that are not UTF-8.
    #[error("invalid UTF-8 at {at}: found the byte 0x{byte:02X}")]
    InvalidUtf8 {
        /// The position of the first invalid byte.
        at: Place,
        /// The invalid byte.
        byte: u8,
    },
    /// An invalid escape sequence in a string.
    #[error(
        "invalid escape at {at}: expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four \
         hexadecimal digits, found {found}"
    )]
    InvalidEscape {
        /// The position of the backslash.
        at: Place,
        /// The escape sequence.
        found: String,
    },
    /// Half of a surrogate pair, which is not a character.
    #[error("lone surrogate \\u{unit:04X} at {at}: expected a high and a low surrogate in a row")]
    LoneSurrogate {
        /// The position of the backslash.
        at: Place,
        /// The surrogate.
        unit: u16,
    },
    /// A NUL character in a text that BSON terminates with NUL.
    #[error("found a NUL character in {what} at {at}: BSON cannot hold one there")]
    NulCharacter {
        /// The position of the name or value.
        at: Place,
        /// The construct that contains it: a field name, a regular expression.
        what: &'static str,
    },
    /// Text that begins like a number but is not one.
    #[error(
        "invalid number at {at}: expected a decimal number in the range of a double, found `{text}`"
    )]
    InvalidNumber {
        /// The position of its start.
        at: Place,
        /// The text.
        text: String,
    },
    /// A bare word that is not a value.
    #[error("unknown word `{word}` at {at}: expected a value")]
    UnknownWord {
        /// The position of its start.
        at: Place,
        /// The word.
        word: String,
    },
    /// A typed value such as `{"$oid": …}` or `ObjectId(…)` with invalid content.
    #[error("invalid {kind} at {at}: expected {expected}, found {found}")]
    InvalidValue {
        /// The position of the content, or of the whole value.
        at: Place,
        /// The type.
        kind: &'static str,
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// A typed value in Extended JSON with an additional field.
    #[error(
        "unexpected field {field} at {at}: `{wrapper}` makes a typed value and stands without it"
    )]
    ExtraField {
        /// The position of the typed value.
        at: Place,
        /// The field that makes it a typed value.
        wrapper: &'static str,
        /// The additional field.
        field: String,
    },
}

impl Error {
    /// The message without text from the document: found content is described by its kind only.
    pub fn without_values(&self) -> String {
        redact(&self.to_string())
    }

    /// The position of the error.
    pub fn place(&self) -> Place {
        match self {
            Self::UnexpectedEnd { at, .. }
            | Self::NotADocument { at, .. }
            | Self::Unexpected { at, .. }
            | Self::TooDeep { at, .. }
            | Self::TooLong { at, .. }
            | Self::TooLarge { at, .. }
            | Self::InvalidUtf8 { at, .. }
            | Self::InvalidEscape { at, .. }
            | Self::LoneSurrogate { at, .. }
            | Self::NulCharacter { at, .. }
            | Self::InvalidNumber { at, .. }
            | Self::UnknownWord { at, .. }
            | Self::InvalidValue { at, .. }
            | Self::ExtraField { at, .. } => *at,
        }
    }

    /// Converts every position, in which the reader only set the offset within its piece of text,
    /// to a position in the stream.
    pub(super) fn relocate(&mut self, mut place: impl FnMut(u64) -> Place) {
        if let Self::UnexpectedEnd { began, .. } = self {
            *began = place(began.offset);
        }
        let (Self::UnexpectedEnd { at, .. }
        | Self::NotADocument { at, .. }
        | Self::Unexpected { at, .. }
        | Self::TooDeep { at, .. }
        | Self::TooLong { at, .. }
        | Self::TooLarge { at, .. }
        | Self::InvalidUtf8 { at, .. }
        | Self::InvalidEscape { at, .. }
        | Self::LoneSurrogate { at, .. }
        | Self::NulCharacter { at, .. }
        | Self::InvalidNumber { at, .. }
        | Self::UnknownWord { at, .. }
        | Self::InvalidValue { at, .. }
        | Self::ExtraField { at, .. }) = self;
        *at = place(at.offset);
    }
}

/// A position of which only the offset is known yet, see [`Error::relocate`].
pub(super) fn offset(offset: usize) -> Place {
    Place { offset: offset as u64, line: 0, column: 0 }
}

/// The maximum number of bytes of a text that an error shows.
const SHOWN: usize = 32;

/// The number of bytes after an error's position that its message may depend on.
pub(super) const LOOKAHEAD: usize = SHOWN + 8;

/// Describes the content at `pos`.
pub(super) fn describe(input: &[u8], pos: usize) -> String {
    let Some(&first) = input.get(pos) else {
        return "the end of the input".to_owned();
    };
    let rest = &input[pos..input.len().min(pos + LOOKAHEAD)];
    match first {
        b'"' | b'\'' => {
            let end = rest.iter().skip(1).position(|&b| b == first);
            let text = &rest[1..end.map_or(rest.len(), |end| end + 1)];
            format!("the string {}", quote(text))
        }
        _ if is_word(first) => {
            let end = rest.iter().position(|&b| !is_word(b) && b != b'.');
            format!("`{}`", shorten(&rest[..end.unwrap_or(rest.len())]))
        }
        b'-' | b'+' | b'.' => {
            let end = rest.iter().skip(1).position(|&b| !is_word(b) && b != b'.');
            format!("`{}`", shorten(&rest[..end.map_or(rest.len(), |end| end + 1)]))
        }
        b' '..=b'~' => format!("`{}`", char::from(first)),
        _ => format!("the byte 0x{first:02X}"),
    }
}

/// The text in double quotes, with unprintable characters escaped.
pub(super) fn quote(text: &[u8]) -> String {
    format!("{:?}", shorten(text))
}

/// The beginning of a text, marked as truncated.
pub(super) fn shorten(text: &[u8]) -> String {
    if text.len() <= SHOWN {
        return String::from_utf8_lossy(text).into_owned();
    }
    // Splitting a character would show a replacement character that the input does not contain.
    let end = (SHOWN - 3..=SHOWN).rev().find(|&i| text[i] & 0xC0 != 0x80).unwrap_or(SHOWN);
    format!("{}…", String::from_utf8_lossy(&text[..end]))
}

/// Returns whether a byte can be a part of a bare word: an unquoted field name or a shell word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Replaces text in quotes or backticks by its kind, unless it is a single character of the
/// grammar.
fn redact(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let Some((head, found)) = message.split_once("found ") else { return message.to_owned() };
    out.push_str(head);
    out.push_str("found ");
    let mut rest = found;
    while let Some(at) = rest.find(['"', '`']) {
        let mark = if rest[at..].starts_with('"') { '"' } else { '`' };
        let body = &rest[at + 1..];
        // The last quote closes, because the text itself may contain quotes.
        let end = body.rfind(mark).unwrap_or(body.len());
        out.push_str(&rest[..at]);
        if body[..end].chars().count() <= 1 && !body[..end].chars().all(char::is_alphanumeric) {
            out.push_str(&rest[at..=at + 1 + end.min(body.len().saturating_sub(1))]);
        } else {
            let is_number =
                body.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
            out.push_str(match mark {
                '"' => "text",
                _ if is_number => "a number",
                _ => "a word",
            });
        }
        rest = body.get(end + 1..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod redaction {
    use super::redact;

    #[test]
    fn values_are_named_by_kind() {
        for (message, expect) in [
            (
                "invalid ObjectId at line 1: expected 24 hexadecimal digits, found \"user_001\" with 8 characters",
                "invalid ObjectId at line 1: expected 24 hexadecimal digits, found text with 8 characters",
            ),
            (
                "expected `,` or `}` at line 1, found `HUNTER2`",
                "expected `,` or `}` at line 1, found a word",
            ),
            ("expected `{` at line 1, found `1e400`", "expected `{` at line 1, found a number"),
            ("expected `{` at line 1, found `-1`", "expected `{` at line 1, found a number"),
            ("expected a value at line 1, found `}`", "expected a value at line 1, found `}`"),
            ("unexpected end of input at line 2", "unexpected end of input at line 2"),
        ] {
            assert_eq!(redact(message), expect);
        }
    }
}
