//! Edits of raw documents: fixed-width values in place, everything else by copying.

use bson::{RawDocument, RawDocumentBuf, raw::RawBsonRef};

use crate::{Document, Element, Fault};

/// Overwrites the number at an offset. Returns `false` if it would extend past the end of the frame.
#[must_use]
pub fn put_i64(frame: &mut [u8], at: usize, number: i64) -> bool {
    put(frame, at, &number.to_le_bytes())
}

/// Overwrites the number at an offset. Returns `false` if it would extend past the end of the frame.
#[must_use]
pub fn put_i32(frame: &mut [u8], at: usize, number: i32) -> bool {
    put(frame, at, &number.to_le_bytes())
}

fn put(frame: &mut [u8], at: usize, bytes: &[u8]) -> bool {
    let place = at.checked_add(bytes.len()).and_then(|end| frame.get_mut(at..end));
    place.map(|place| place.copy_from_slice(bytes)).is_some()
}

/// The treatment of an element by [`edited`].
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// Copies the element.
    Keep,
    /// Removes the element.
    Drop,
    /// Replaces the value.
    Set(RawBsonRef<'a>),
}

/// Returns an edited copy of a document, followed by the elements of `behind`. Kept elements are copied byte for byte.
pub fn edited<'a>(
    document: Document<'_>,
    mut change: impl FnMut(&Element<'_>) -> Change<'a>,
    behind: &RawDocument,
) -> Result<Vec<u8>, Fault> {
    let bytes = document.bytes();
    let mut out = Vec::with_capacity(bytes.len() + behind.as_bytes().len());
    out.extend([0; 4]);
    for element in document.elements() {
        let element = element?;
        match change(&element) {
            Change::Keep => out.extend_from_slice(&bytes[element.start..element.end()]),
            Change::Drop => {}
            Change::Set(value) => {
                let mut one = RawDocumentBuf::new();
                one.append(cstr(&element)?, value);
                out.extend_from_slice(inside(one.as_bytes()));
            }
        }
    }
    out.extend_from_slice(inside(behind.as_bytes()));
    out.push(0);
    let length = i32::try_from(out.len()).map_err(|_| Fault::Document("it became too long"))?;
    out[..4].copy_from_slice(&length.to_le_bytes());
    Ok(out)
}

fn cstr<'e>(element: &Element<'e>) -> Result<&'e bson::raw::CStr, Fault> {
    let name = std::str::from_utf8(element.name).ok().and_then(|name| name.try_into().ok());
    name.ok_or(Fault::Document("a name is not UTF-8"))
}

/// Returns the elements of a document, without its length and final zero byte.
fn inside(document: &[u8]) -> &[u8] {
    document.get(4..document.len().saturating_sub(1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    #[test]
    fn what_is_kept_is_kept_and_the_rest_changes() {
        let raw = rawdoc! { "a": 1, "b": "x", "c": { "d": [1, 2] }, "e": 2.5 };
        let document = Document::new(raw.as_bytes()).unwrap();
        let change = |element: &Element<'_>| match element.name {
            b"a" => Change::Set(RawBsonRef::Int64(7)),
            b"b" => Change::Drop,
            _ => Change::Keep,
        };
        let made = edited(document, change, &rawdoc! { "z": true }).unwrap();
        let expected = rawdoc! { "a": 7_i64, "c": { "d": [1, 2] }, "e": 2.5, "z": true };
        assert_eq!(made, expected.as_bytes());
        let same = edited(document, |_| Change::Keep, &rawdoc! {}).unwrap();
        assert_eq!(same, raw.as_bytes());
    }

    #[test]
    fn numbers_are_written_where_they_stand() {
        let raw = rawdoc! { "cursor": { "id": 12_i64 }, "n": 3 };
        let mut frame = raw.as_bytes().to_vec();
        let document = Document::new(raw.as_bytes()).unwrap();
        let n = document.get("n").unwrap().unwrap();
        let cursor = document.get("cursor").unwrap().unwrap();
        let id = cursor.document().unwrap().get("id").unwrap().unwrap();
        assert!(put_i32(&mut frame, n.at, -1));
        assert!(put_i64(&mut frame, cursor.at + id.at, i64::MAX));
        assert_eq!(frame, rawdoc! { "cursor": { "id": i64::MAX }, "n": -1 }.as_bytes());
        let end = frame.len();
        assert!(!put_i64(&mut frame, end - 3, 0));
        assert!(!put_i64(&mut frame, usize::MAX, 0));
    }
}
