//! Raw BSON documents, one level at a time: names, kinds and places of values, nothing decoded that is not
//! asked for.

use crate::Fault;

/// Kinds of values, as the byte before each of them says.
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
            _ => return Err(Fault::Document("a value of an unknown kind")),
        })
    }
}

/// A document: its length is right and it ends with a zero. What is inside is looked at when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    bytes: &'a [u8],
}

impl<'a> Document<'a> {
    /// The shortest document: a length and the final zero.
    const LEAST: usize = 5;

    /// A document that fills the bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        let document = Self::prefix(bytes)?;
        if document.bytes.len() == bytes.len() {
            Ok(document)
        } else {
            Err(Fault::Document("its length is wrong"))
        }
    }

    /// The document that the bytes begin with.
    pub fn prefix(bytes: &'a [u8]) -> Result<Self, Fault> {
        let length = i32_at(bytes, 0).ok_or(Fault::Document("it has no length"))?;
        let length = usize::try_from(length).unwrap_or(0);
        let whole = bytes.get(..length).filter(|whole| whole.len() >= Self::LEAST);
        let bytes = whole.ok_or(Fault::Document("its length is wrong"))?;
        if bytes.last() != Some(&0) {
            return Err(Fault::Document("it does not end with a zero"));
        }
        Ok(Self { bytes })
    }

    /// All of it.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// Whether documents stand in each other at most this deep, scopes of code not at all. Looked at without
    /// recursion: whoever builds a tree of it may recurse.
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

    /// Its elements, in order. The first broken one ends it.
    pub fn elements(self) -> Elements<'a> {
        Elements { document: self.bytes, at: 4 }
    }

    /// The element of a name; the first of several.
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

/// A name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// The name; servers do not ask whether it is UTF-8.
    pub name: &'a [u8],
    /// What the value is.
    pub kind: Kind,
    /// The bytes of the value.
    pub value: &'a [u8],
    /// Where the element begins in its document.
    pub start: usize,
    /// Where the value begins in its document.
    pub at: usize,
}

impl<'a> Element<'a> {
    /// Where the element ends in its document.
    pub fn end(&self) -> usize {
        self.at + self.value.len()
    }

    /// The text of a string.
    pub fn text(&self) -> Option<&'a str> {
        let bytes = match self.kind {
            Kind::String => self.value.get(4..self.value.len() - 1)?,
            _ => return None,
        };
        std::str::from_utf8(bytes).ok()
    }

    /// The document, of documents and arrays.
    pub fn document(&self) -> Option<Document<'a>> {
        matches!(self.kind, Kind::Document | Kind::Array)
            .then(|| Document::new(self.value).ok())
            .flatten()
    }

    /// A whole number, whatever kind of number it is written as.
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

    /// Whether the server takes the value for true: everything but false, 0, null and undefined.
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

/// Goes through a document.
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
    let kind = document.get(start).copied().ok_or(Fault::Document("it ends in an element"))?;
    let kind = Kind::of(kind)?;
    let rest = document.get(start + 1..end).ok_or(Fault::Document("it ends in an element"))?;
    let length = cstring(rest).ok_or(Fault::Document("a name does not end"))?;
    let (name, value) = (&rest[..length], &rest[length + 1..]);
    let width = width(kind, value).filter(|width| *width <= value.len());
    let width = width.ok_or(Fault::Document("a value reaches beyond it"))?;
    Ok(Element { name, kind, value: &value[..width], start, at: start + 1 + length + 1 })
}

/// Bytes of a value; `None` where its lengths make no sense.
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
        // Its length counts itself, a string and a document.
        Kind::CodeWithScope => own().filter(|length| *length >= 14)?,
        Kind::Binary => own()?.checked_add(5)?,
        Kind::Regex => {
            let pattern = cstring(value)?;
            pattern + 1 + cstring(value.get(pattern + 1..)?)? + 1
        }
    })
}

/// How many bytes stand before the next zero.
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
            (&[5, 0, 0, 0, 1], "it does not end with a zero"),
            (&[5, 0, 0, 0, 0, 0], "its length is wrong"),
        ] {
            assert_eq!(Document::new(bytes), Err(Fault::Document(why)), "{bytes:?}");
        }
        for (element, why) in [
            (&[0x10, b'a', 0, 1, 2][..], "a value reaches beyond it"),
            (&[0x10, b'a'], "a name does not end"),
            (&[0x20, b'a', 0], "a value of an unknown kind"),
            (&[0x02, b'a', 0, 0xFF, 0xFF, 0xFF, 0x7F, 0], "a value reaches beyond it"),
            (&[0x02, b'a', 0, 0, 0, 0, 0], "a value reaches beyond it"),
            (&[0x05, b'a', 0, 0xFF, 0xFF, 0xFF, 0xFF, 0], "a value reaches beyond it"),
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
