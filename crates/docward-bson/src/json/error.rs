//! What can be wrong with a text, and where.
//!
//! Not here: deciding how to go on after an error (`skip`).

use std::fmt;

/// A place in the stream of text.
///
/// Lines and columns count from 1. Columns count bytes, as the text may not even be UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Bytes from the start of the stream.
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
        /// Where the stream ends.
        at: Place,
        /// What is open: a document, an array, a comment.
        what: &'static str,
        /// Where that began.
        began: Place,
    },
    /// Something other than a document where a document has to stand.
    #[error("expected a document at {at}, found {found}")]
    NotADocument {
        /// Where it is.
        at: Place,
        /// What stands there.
        found: String,
    },
    /// The text does not follow the grammar.
    #[error("expected {expected} at {at}, found {found}")]
    Unexpected {
        /// Where it is.
        at: Place,
        /// What would have been right.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// Documents and arrays inside one another beyond what is sensible.
    #[error("nested too deeply at {at}: at most {limit} levels are read")]
    TooDeep {
        /// Where the first level too many opens.
        at: Place,
        /// How many levels are read.
        limit: usize,
    },
    /// A document so long that it is surely no document.
    #[error("the {what} that began at {at} is too long: at most {limit} bytes are read")]
    TooLong {
        /// Where it began.
        at: Place,
        /// What is too long: a document, a comment.
        what: &'static str,
        /// How many bytes are read.
        limit: usize,
    },
    /// A document that takes more BSON than MongoDB stores.
    #[error(
        "the document that began at {at} takes more than {limit} bytes as BSON, more than MongoDB can store; it was left out"
    )]
    TooLarge {
        /// Where it began.
        at: Place,
        /// How many bytes of BSON are read.
        limit: usize,
    },
    /// Bytes in a string or name that are not UTF-8.
    #[error("invalid UTF-8 at {at}: found the byte 0x{byte:02X}")]
    InvalidUtf8 {
        /// Where the first wrong byte is.
        at: Place,
        /// That byte.
        byte: u8,
    },
    /// A backslash in a string with something after it that means nothing.
    #[error(
        "invalid escape at {at}: expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four \
         hexadecimal digits, found {found}"
    )]
    InvalidEscape {
        /// Where the backslash is.
        at: Place,
        /// The escape as it stands.
        found: String,
    },
    /// Half a surrogate pair: no character.
    #[error("lone surrogate \\u{unit:04X} at {at}: expected a high and a low surrogate in a row")]
    LoneSurrogate {
        /// Where the backslash is.
        at: Place,
        /// The surrogate.
        unit: u16,
    },
    /// A NUL character where BSON ends text with one.
    #[error("found a NUL character in {what} at {at}: BSON cannot hold one there")]
    NulCharacter {
        /// Where the name or value begins.
        at: Place,
        /// What it is in: a field name, a regular expression.
        what: &'static str,
    },
    /// Something that begins like a number and is none.
    #[error(
        "invalid number at {at}: expected a decimal number in the range of a double, found `{text}`"
    )]
    InvalidNumber {
        /// Where it begins.
        at: Place,
        /// The text.
        text: String,
    },
    /// A bare word that is no value.
    #[error("unknown word `{word}` at {at}: expected a value")]
    UnknownWord {
        /// Where it begins.
        at: Place,
        /// The word.
        word: String,
    },
    /// A typed value such as `{"$oid": …}` or `ObjectId(…)` with wrong content.
    #[error("invalid {kind} at {at}: expected {expected}, found {found}")]
    InvalidValue {
        /// Where the content, or the whole value, begins.
        at: Place,
        /// The type.
        kind: &'static str,
        /// What would have been right.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A typed value in Extended JSON with a field that does not belong to it.
    #[error(
        "unexpected field {field} at {at}: `{wrapper}` makes a typed value and stands without it"
    )]
    ExtraField {
        /// Where the typed value begins.
        at: Place,
        /// The field that makes it a typed value.
        wrapper: &'static str,
        /// The field too many.
        field: String,
    },
}

impl Error {
    /// The message without text out of the document: what was found is named by its kind only.
    pub fn without_values(&self) -> String {
        redact(&self.to_string())
    }

    /// Where the error is.
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

    /// Turns every place, in which the reader filled in only the offset within its piece of text,
    /// into a place in the stream.
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

/// A place of which only the offset is known yet, see [`Error::relocate`].
pub(super) fn offset(offset: usize) -> Place {
    Place { offset: offset as u64, line: 0, column: 0 }
}

/// How many bytes of a text an error shows.
const SHOWN: usize = 32;

/// How many bytes after the place of an error its message may depend on.
pub(super) const LOOKAHEAD: usize = SHOWN + 8;

/// What stands at `pos`, in words.
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

/// The text in double quotes, with everything unprintable escaped.
pub(super) fn quote(text: &[u8]) -> String {
    format!("{:?}", shorten(text))
}

/// The beginning of the text, with a sign that it is only that.
pub(super) fn shorten(text: &[u8]) -> String {
    if text.len() <= SHOWN {
        return String::from_utf8_lossy(text).into_owned();
    }
    // Cutting a character in two would show a replacement character nobody wrote.
    let end = (SHOWN - 3..=SHOWN).rev().find(|&i| text[i] & 0xC0 != 0x80).unwrap_or(SHOWN);
    format!("{}…", String::from_utf8_lossy(&text[..end]))
}

/// Whether a byte can be part of a bare word: a field name without quotes or a shell word.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Replaces what stands in quotes or backticks by its kind, unless it is a single sign of the grammar.
fn redact(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let Some((head, found)) = message.split_once("found ") else { return message.to_owned() };
    out.push_str(head);
    out.push_str("found ");
    let mut rest = found;
    while let Some(at) = rest.find(['"', '`']) {
        let mark = if rest[at..].starts_with('"') { '"' } else { '`' };
        let body = &rest[at + 1..];
        // The last mark closes: the text itself may hold quotes.
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
