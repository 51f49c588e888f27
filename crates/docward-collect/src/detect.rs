//! Detects the content of a stream from its first bytes. The name decides only if the bytes do not.

use docward_bson::{archive, dump};
use docward_model::BsonType;

use crate::{names::Claim, trouble::Trouble};

/// The number of first bytes that detection needs.
pub(crate) const HEAD: usize = 4096;

/// The content that the first bytes indicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// No bytes, or only whitespace.
    Empty,
    Gzip,
    Zip,
    Archive,
    Bson,
    /// Text that begins like a JSON document or an array.
    Json,
    Utf16,
    /// A compression format that Docward does not read.
    Packed(&'static str),
    Unclear,
}

/// The format to read a stream as.
#[derive(Debug)]
pub(crate) enum Format {
    Bson,
    Json,
    Archive,
    Zip,
    /// Decompress, then detect again.
    Gzip,
    Empty,
    /// Unreadable, for this reason.
    Refused(Trouble),
}

/// Detects the content from the first bytes of a stream.
pub(crate) fn content(head: &[u8]) -> Content {
    const PACKED: &[(&[u8], &str)] = &[
        (b"BZh", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "Zstandard"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        (b"Rar!", "RAR"),
        (b"\x04\x22\x4d\x18", "LZ4"),
        (b"SQLite format 3\0", "SQLite"),
        (b"PAR1", "Parquet"),
    ];
    if head.starts_with(&[0x1f, 0x8b]) {
        return Content::Gzip;
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Content::Zip;
    }
    if head.starts_with(&archive::MAGIC) {
        return Content::Archive;
    }
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
        return Content::Utf16;
    }
    if let Some((_, name)) = PACKED.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Content::Packed(name);
    }
    if head.get(257..262) == Some(b"ustar") {
        return Content::Packed("tar");
    }
    if is_bson(head) {
        return Content::Bson;
    }
    let text = text(head);
    match text.first() {
        None => Content::Empty,
        Some(b'{' | b'[') => Content::Json,
        Some(b'/') if matches!(text.get(1), Some(b'/' | b'*')) => Content::Json,
        Some(_) => Content::Unclear,
    }
}

/// Decides how to read a stream.
pub(crate) fn format(head: &[u8], claim: Claim) -> Format {
    match (content(head), claim) {
        (Content::Gzip, _) => Format::Gzip,
        (Content::Zip, _) => Format::Zip,
        (Content::Archive, _) => Format::Archive,
        (Content::Bson, _) => Format::Bson,
        (Content::Json, _) => Format::Json,
        (Content::Empty, _) => Format::Empty,
        (Content::Utf16, _) => Format::Refused(Trouble::Utf16),
        (Content::Packed(what), _) => Format::Refused(Trouble::Packed(what)),
        (Content::Unclear, Claim::Bson) => Format::Bson,
        (Content::Unclear, Claim::Json | Claim::Prelude | Claim::Metadata) => Format::Json,
        (Content::Unclear, Claim::Archive) => Format::Archive,
        (Content::Unclear, Claim::Delimited) => Format::Refused(Trouble::Delimited),
        (Content::Unclear, _) => Format::Refused(Trouble::Unknown),
    }
}

/// Returns whether a file in a directory, whose name claims no format, is certainly data. Stricter
/// than [`format`], because the user did not name the file.
pub(crate) fn is_surely_data(head: &[u8]) -> bool {
    match content(head) {
        Content::Archive | Content::Bson => true,
        Content::Json => {
            let mut marks = text(head).iter().filter(|byte| !byte.is_ascii_whitespace());
            match (marks.next(), marks.next()) {
                (Some(b'{'), Some(b'"')) => true,
                (Some(b'['), Some(b'{')) => marks.next() == Some(&b'"'),
                _ => false,
            }
        }
        _ => false,
    }
}

/// Returns whether a document begins here: a plausible document length, then an element with a
/// name.
///
/// Text never matches: read as a length, its fourth byte alone means more than 16 MiB.
fn is_bson(head: &[u8]) -> bool {
    let Some(prefix) = head.first_chunk::<4>() else { return false };
    let Some(size) = dump::document_size(i32::from_le_bytes(*prefix)) else { return false };
    match head.get(4) {
        None => false,
        Some(0) => size == dump::MIN_DOCUMENT,
        Some(&tag) => size > dump::MIN_DOCUMENT && BsonType::from_tag(tag).is_some(),
    }
}

/// The text without a byte order mark and leading whitespace.
fn text(head: &[u8]) -> &[u8] {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    text.trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_the_content() {
        for (head, expected) in [
            (&b""[..], Content::Empty),
            (b" \r\n\t", Content::Empty),
            (b"\xef\xbb\xbf", Content::Empty),
            (b"\xef\xbb\xbf {\"a\": 1}", Content::Json),
            (b"[\n", Content::Json),
            (b"// exported\n{}", Content::Json),
            (b"/usr/bin", Content::Unclear),
            (b"a,b\n1,2", Content::Unclear),
            (b"\x1f\x8b\x08\0", Content::Gzip),
            (b"PK\x03\x04", Content::Zip),
            (b"\x6d\xe2\x99\x81", Content::Archive),
            (b"\x05\0\0\0\0", Content::Bson),
            (b"\x0c\0\0\0\x10a\0\x01\0\0\0\0", Content::Bson),
            (b"\x0c\0\0\0\x99a\0", Content::Unclear),
            (b"\xff\xff\xff\xff\x10", Content::Unclear),
            (b"\xff\xfe{\0", Content::Utf16),
            (b"BZh91", Content::Packed("bzip2")),
        ] {
            assert_eq!(content(head), expected, "{head:?}");
        }
    }

    #[test]
    fn names_decide_only_what_bytes_leave_open() {
        assert!(matches!(format(b"{}", Claim::Bson), Format::Json));
        assert!(matches!(format(b"\x05\0\0\0\0", Claim::Json), Format::Bson));
        assert!(matches!(format(b"noise", Claim::Bson), Format::Bson));
        assert!(matches!(format(b"noise", Claim::Json), Format::Json));
        assert!(matches!(format(b"a,b\n", Claim::Delimited), Format::Refused(Trouble::Delimited)));
        assert!(matches!(format(b"noise", Claim::Foreign), Format::Refused(Trouble::Unknown)));
    }

    #[test]
    fn unnamed_files_must_be_clear() {
        assert!(is_surely_data(b"{ \"_id\" : 1 }"));
        assert!(is_surely_data(b"[ {\n \"_id\": 1"));
        assert!(!is_surely_data(b"[Unit]\nDescription=x"));
        assert!(!is_surely_data(b"{% block %}"));
        assert!(!is_surely_data(b"[1, 2]"));
    }
}
