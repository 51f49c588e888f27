//! Raw BSON documents, read one level at a time. Elements give the name, type and position of a value; values are
//! decoded on request.

use crate::Fault;

/// The BSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of BSON")]
pub enum Kind {
    Double,
    String,
    Document,
    Array,
    Binary,
    Undefined,
    ObjectId,
    Boolean,
    Date,
    Null,
    Regex,
    DbPointer,
    Code,
    Symbol,
    CodeWithScope,
    Int32,
    Timestamp,
    Int64,
    Decimal128,
    MinKey,
    MaxKey,
}

impl Kind {
    fn of(byte: u8) -> Result<Self, Fault> {
        Ok(match byte {
            0x01 => Self::Double,
            0x02 => Self::String,
            0x03 => Self::Document,
            0x04 => Self::Array,
            0x05 => Self::Binary,
            0x06 => Self::Undefined,
            0x07 => Self::ObjectId,
            0x08 => Self::Boolean,
            0x09 => Self::Date,
            0x0A => Self::Null,
            0x0B => Self::Regex,
            0x0C => Self::DbPointer,
            0x0D => Self::Code,
            0x0E => Self::Symbol,
            0x0F => Self::CodeWithScope,
            0x10 => Self::Int32,
            0x11 => Self::Timestamp,
            0x12 => Self::Int64,
            0x13 => Self::Decimal128,
            0x7F => Self::MaxKey,
            0xFF => Self::MinKey,
            _ => return Err(Fault::Document("a value has an unknown type")),
        })
    }
}

/// A document with a valid length and final zero byte. Its elements are checked when they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    bytes: &'a [u8],
}

impl<'a> Document<'a> {
    /// The size of an empty document: a length and the final zero byte.
    const LEAST: usize = 5;

    /// Creates a document. Fails unless it fills `bytes` exactly.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        let document = Self::prefix(bytes)?;
        if document.bytes.len() == bytes.len() {
            Ok(document)
        } else {
            Err(Fault::Document("its length is wrong"))
        }
    }

    /// Returns the document at the start of `bytes`.
    pub fn prefix(bytes: &'a [u8]) -> Result<Self, Fault> {
        let length = i32_at(bytes, 0).ok_or(Fault::Document("it has no length"))?;
        let length = usize::try_from(length).unwrap_or(0);
        let whole = bytes.get(..length).filter(|whole| whole.len() >= Self::LEAST);
        let bytes = whole.ok_or(Fault::Document("its length is wrong"))?;
        if bytes.last() != Some(&0) {
            return Err(Fault::Document("it does not end with a zero byte"));
        }
        Ok(Self { bytes })
    }

    /// Returns the bytes of the document.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether documents are nested at most `most` levels deep and contain no code with scope. This
    /// check does not recurse, so a caller can run it before a recursive decoder.
    pub fn is_within(self, most: usize) -> Result<bool, Fault> {
        let mut rest = vec![(self, 1)];
        while let Some((document, depth)) = rest.pop() {
            if depth > most {
                return Ok(false);
            }
            for element in document.elements() {
                let element = element?;
                if element.kind == Kind::CodeWithScope {
                    return Ok(false);
                }
                rest.extend(element.document().map(|inner| (inner, depth + 1)));
            }
        }
        Ok(true)
    }

    /// Returns the elements in order. Iteration ends after the first invalid one.
    pub fn elements(self) -> Elements<'a> {
        Elements { document: self.bytes, at: 4 }
    }

    /// Returns the first element with a name.
    pub fn get(self, name: &str) -> Result<Option<Element<'a>>, Fault> {
        for element in self.elements() {
            let element = element?;
            if element.name == name.as_bytes() {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }
}

/// An element of a document: a name and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// The name. It may not be UTF-8, because servers do not check it.
    pub name: &'a [u8],
    /// The type of the value.
    pub kind: Kind,
    /// The bytes of the value.
    pub value: &'a [u8],
    /// The offset of the element in its document.
    pub start: usize,
    /// The offset of the value in its document.
    pub at: usize,
}

impl<'a> Element<'a> {
    /// Returns the offset of the element's end in its document.
    pub fn end(&self) -> usize {
        self.at + self.value.len()
    }

    /// Returns the value if it is a UTF-8 string.
    pub fn text(&self) -> Option<&'a str> {
        let bytes = match self.kind {
            Kind::String => self.value.get(4..self.value.len() - 1)?,
            _ => return None,
        };
        std::str::from_utf8(bytes).ok()
    }

    /// Returns the value if it is a document or an array.
    pub fn document(&self) -> Option<Document<'a>> {
        matches!(self.kind, Kind::Document | Kind::Array)
            .then(|| Document::new(self.value).ok())
            .flatten()
    }

    /// Returns the value if it is an integer, or a double with an integral value of at most 2^53.
    pub fn integer(&self) -> Option<i64> {
        match self.kind {
            Kind::Int32 => i32_at(self.value, 0).map(i64::from),
            Kind::Int64 => self.value.first_chunk().map(|bytes| i64::from_le_bytes(*bytes)),
            Kind::Double => {
                let number = f64::from_le_bytes(*self.value.first_chunk()?);
                let limit = 9_007_199_254_740_992.0;
                let is_whole = number.trunc() == number && number.abs() <= limit;
                #[allow(clippy::cast_possible_truncation, reason = "whole and within bounds")]
                is_whole.then_some(number as i64)
            }
            _ => None,
        }
    }

    /// Whether the server treats the value as true: every value except false, 0, null and undefined.
    pub fn is_true(&self) -> bool {
        match self.kind {
            Kind::Boolean => self.value != [0],
            Kind::Int32 | Kind::Int64 => self.value.iter().any(|byte| *byte != 0),
            Kind::Double => {
                self.value.first_chunk().is_some_and(|bytes| f64::from_le_bytes(*bytes) != 0.0)
            }
            Kind::Null | Kind::Undefined => false,
            _ => true,
        }
    }
}

/// An iterator over the elements of a document.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    document: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        let inside = self.document.len() - 1;
        if self.at >= inside {
            return None;
        }
        let element = read(self.document, self.at, inside);
        self.at = element.as_ref().map_or(inside, Element::end);
        Some(element)
    }
}

fn read(document: &[u8], start: usize, end: usize) -> Result<Element<'_>, Fault> {
    let kind = document.get(start).copied().ok_or(Fault::Document("it ends inside an element"))?;
    let kind = Kind::of(kind)?;
    let rest = document.get(start + 1..end).ok_or(Fault::Document("it ends inside an element"))?;
    let length = cstring(rest).ok_or(Fault::Document("a name has no final zero byte"))?;
    let (name, value) = (&rest[..length], &rest[length + 1..]);
    let width = width(kind, value).filter(|width| *width <= value.len());
    let width = width.ok_or(Fault::Document("a value extends past its end"))?;
    Ok(Element { name, kind, value: &value[..width], start, at: start + 1 + length + 1 })
}

/// Returns the size of a value in bytes, or `None` if its length fields are invalid.
fn width(kind: Kind, value: &[u8]) -> Option<usize> {
    let text = |at: usize| {
        let length = usize::try_from(i32_at(value, at)?).ok().filter(|length| *length > 0)?;
        let end = at.checked_add(4)?.checked_add(length)?;
        (value.get(end - 1) == Some(&0)).then_some(end)
    };
    let own = || usize::try_from(i32_at(value, 0)?).ok();
    Some(match kind {
        Kind::Undefined | Kind::Null | Kind::MinKey | Kind::MaxKey => 0,
        Kind::Boolean => 1,
        Kind::Int32 => 4,
        Kind::Double | Kind::Date | Kind::Timestamp | Kind::Int64 => 8,
        Kind::ObjectId => 12,
        Kind::Decimal128 => 16,
        Kind::String | Kind::Code | Kind::Symbol => text(0)?,
        Kind::DbPointer => text(0)?.checked_add(12)?,
        Kind::Document | Kind::Array => Document::prefix(value).ok()?.bytes.len(),
        // The length includes itself (4 bytes), an empty string (5) and an empty document (5).
        Kind::CodeWithScope => own().filter(|length| *length >= 14)?,
        Kind::Binary => own()?.checked_add(5)?,
        Kind::Regex => {
            let pattern = cstring(value)?;
            pattern + 1 + cstring(value.get(pattern + 1..)?)? + 1
        }
    })
}

/// Returns the number of bytes before the first zero byte.
fn cstring(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == 0)
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    #[test]
    fn elements_are_found_with_their_places() {
        let raw = rawdoc! { "find": "t_order", "filter": { "a": 1 }, "limit": 5_i64, "x": 2.0, "y": true, "z": null };
        let document = Document::new(raw.as_bytes()).unwrap();
        let find = document.get("find").unwrap().unwrap();
        assert_eq!(find.text(), Some("t_order"));
        assert_eq!(find.start, 4);
        let limit = document.get("limit").unwrap().unwrap();
        assert_eq!((limit.kind, limit.integer()), (Kind::Int64, Some(5)));
        assert_eq!(&raw.as_bytes()[limit.at..limit.end()], 5_i64.to_le_bytes());
        let filter = document.get("filter").unwrap().unwrap().document().unwrap();
        assert_eq!(filter.get("a").unwrap().unwrap().integer(), Some(1));
        assert_eq!(document.get("x").unwrap().unwrap().integer(), Some(2));
        assert!(document.get("y").unwrap().unwrap().is_true());
        assert!(!document.get("z").unwrap().unwrap().is_true());
        assert_eq!(document.get("none"), Ok(None));
    }

    #[test]
    fn numbers_of_every_kind_are_true_or_false_as_the_server_says() {
        let raw = rawdoc! { "a": 0, "b": 0_i64, "c": 0.0, "d": -0.0, "e": false, "f": 1, "g": 0.5, "h": "", "i": {} };
        let truth: Vec<bool> = Document::new(raw.as_bytes())
            .unwrap()
            .elements()
            .map(|element| element.unwrap().is_true())
            .collect();
        assert_eq!(truth, [false, false, false, false, false, true, true, true, true]);
    }

    #[test]
    fn broken_documents_are_refused() {
        for (bytes, why) in [
            (&[][..], "it has no length"),
            (&[5, 0, 0, 0], "its length is wrong"),
            (&[4, 0, 0, 0, 0], "its length is wrong"),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0], "its length is wrong"),
            (&[5, 0, 0, 0, 1], "it does not end with a zero byte"),
            (&[5, 0, 0, 0, 0, 0], "its length is wrong"),
        ] {
            assert_eq!(Document::new(bytes), Err(Fault::Document(why)), "{bytes:?}");
        }
        for (element, why) in [
            (&[0x10, b'a', 0, 1, 2][..], "a value extends past its end"),
            (&[0x10, b'a'], "a name has no final zero byte"),
            (&[0x20, b'a', 0], "a value has an unknown type"),
            (&[0x02, b'a', 0, 0xFF, 0xFF, 0xFF, 0x7F, 0], "a value extends past its end"),
            (&[0x02, b'a', 0, 0, 0, 0, 0], "a value extends past its end"),
            (&[0x05, b'a', 0, 0xFF, 0xFF, 0xFF, 0xFF, 0], "a value extends past its end"),
        ] {
            let mut bytes = i32::try_from(element.len() + 5).unwrap().to_le_bytes().to_vec();
            bytes.extend(element);
            bytes.push(0);
            let document = Document::new(&bytes).unwrap();
            let last = document.elements().last().unwrap();
            assert_eq!(last, Err(Fault::Document(why)), "{element:?}");
        }
    }
}
