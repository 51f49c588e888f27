//! Reads Extended JSON: objects such as `{"$oid": "…"}` that represent one typed value.
//!
//! The first field of an object decides whether it is a typed value. `$ref`/`$id` stay documents,
//! as in BSON. `$regex` and `$type` are also query operators, so they form a typed value only in
//! the complete form of version 1.

use std::borrow::Cow;

use bson::raw::{RawBsonRef, RawDocument};

use super::convert::{self, Built, Kind};
use super::error::{Error, is_word, offset, quote};
use super::reader::{Read, Reader, element};

/// The form of an object, from its first field.
#[derive(Clone, Copy)]
enum Shape {
    /// A typed value with one text, at least in the usual form.
    Text(Kind, &'static str),
    /// A typed value with nested fields, or with more than one field.
    Parts(Kind, &'static str),
    /// A typed value if there is a matching second field, otherwise a document.
    Maybe(Kind),
}

/// A typed value with one text: its kind, the text, and its position.
struct Single<'i> {
    kind: Kind,
    text: Cow<'i, [u8]>,
    at: usize,
}

fn shape(name: &[u8]) -> Option<Shape> {
    Some(match name {
        b"$oid" => Shape::Text(Kind::ObjectId, "$oid"),
        b"$date" => Shape::Text(Kind::Date, "$date"),
        b"$numberInt" => Shape::Text(Kind::Int32, "$numberInt"),
        b"$numberLong" => Shape::Text(Kind::Int64, "$numberLong"),
        b"$numberDouble" => Shape::Text(Kind::Double, "$numberDouble"),
        b"$numberDecimal" => Shape::Text(Kind::Decimal, "$numberDecimal"),
        b"$uuid" => Shape::Text(Kind::Uuid, "$uuid"),
        b"$symbol" => Shape::Text(Kind::Symbol, "$symbol"),
        b"$binary" => Shape::Parts(Kind::Binary, "$binary"),
        b"$regularExpression" => Shape::Parts(Kind::Regex, "$regularExpression"),
        b"$timestamp" => Shape::Parts(Kind::Timestamp, "$timestamp"),
        b"$code" => Shape::Parts(Kind::Code, "$code"),
        b"$dbPointer" => Shape::Parts(Kind::DbPointer, "$dbPointer"),
        b"$minKey" => Shape::Parts(Kind::MinKey, "$minKey"),
        b"$maxKey" => Shape::Parts(Kind::MaxKey, "$maxKey"),
        b"$undefined" => Shape::Parts(Kind::Undefined, "$undefined"),
        b"$regex" | b"$options" => Shape::Maybe(Kind::Regex),
        b"$type" => Shape::Maybe(Kind::Binary),
        b"$scope" => Shape::Maybe(Kind::Code),
        _ => return None,
    })
}

impl<'i> Reader<'i> {
    /// Reads an object whose `{` is at `open` and whose first field, at `pos`, begins with `$`.
    pub(super) fn wrapped(&mut self, open: usize) -> Read<u8> {
        let name_at = self.pos;
        let Some((shape, after)) =
            self.plain_name().and_then(|(name, after)| Some((shape(name)?, after)))
        else {
            self.fields(open)?;
            return Ok(element::DOCUMENT);
        };
        if let Shape::Text(kind, _) = shape {
            let value = self.single(after, kind)?;
            if let Some(Single { kind, text, at }) = value {
                let element = self.put_text(kind, &text, at)?;
                // A date may have been given as an integer, see `single`.
                return Ok(if matches!(shape, Shape::Text(Kind::Date, _)) {
                    element::DATE
                } else {
                    element
                });
            }
        }
        // The object is not in the usual form: parse it as a document and convert that.
        self.pos = name_at;
        let slot = self.end;
        self.fields(open)?;
        let meaning = match RawDocument::from_bytes(self.written(slot)) {
            Ok(document) => meaning(shape, document, open)?,
            Err(_) => None,
        };
        let Some(built) = meaning else {
            return Ok(element::DOCUMENT);
        };
        self.end = slot;
        Ok(self.put_built(built))
    }

    /// The name at `pos`, if it is written without escapes, and its end.
    fn plain_name(&self) -> Option<(&'i [u8], usize)> {
        let quote = self.input.get(self.pos).filter(|byte| matches!(byte, b'"' | b'\''));
        let start = self.pos + usize::from(quote.is_some());
        let rest = self.input.get(start..)?;
        let length = rest.iter().position(|&byte| !is_word(byte))?;
        let end = start + length;
        match quote {
            Some(quote) if self.input.get(end) != Some(quote) => None,
            Some(_) => Some((&rest[..length], end + 1)),
            None => Some((&rest[..length], end)),
        }
    }

    /// Reads the rest of an object whose value is one text, after the name; `None` if it has
    /// another form. Does not read values of other kinds: reading them here and again later would
    /// double the time at every level.
    fn single(&mut self, after: usize, kind: Kind) -> Read<Option<Single<'i>>> {
        self.pos = after;
        let Some(byte) = self.colon()? else {
            return Ok(None);
        };
        if byte == b'{' && kind == Kind::Date {
            self.pos += 1;
            self.peek()?;
            let Some((b"$numberLong", after)) = self.plain_name() else {
                return Ok(None);
            };
            let inner = self.single(after, Kind::Int64)?;
            return Ok(match inner {
                Some(_) if self.closed(b'}')? => inner,
                _ => None,
            });
        }
        let at = self.pos;
        if !matches!(byte, b'"' | b'\'') {
            return Ok(None);
        }
        let text = self.quoted(byte)?;
        Ok(self.closed(b'}')?.then_some(Single { kind, text, at }))
    }

    /// Skips the colon, if it comes next, and returns the byte after it.
    fn colon(&mut self) -> Read<Option<u8>> {
        if self.peek()? != b':' {
            return Ok(None);
        }
        self.pos += 1;
        self.peek().map(Some)
    }

    /// Skips the closing bracket, with an optional comma before it; `false` if something else comes
    /// next.
    pub(super) fn closed(&mut self, close: u8) -> Read<bool> {
        let mut byte = self.peek()?;
        if byte == b',' {
            self.pos += 1;
            byte = self.peek()?;
        }
        if byte == close {
            self.pos += 1;
        }
        Ok(byte == close)
    }
}

/// The typed value of a document that begins like one; `None` if it is an ordinary document.
fn meaning(shape: Shape, document: &RawDocument, open: usize) -> Read<Option<Built>> {
    let field = |name: &str| document.get(name).ok().flatten();
    let (kind, wrapper) = match shape {
        Shape::Text(kind, wrapper) | Shape::Parts(kind, wrapper) => (kind, wrapper),
        Shape::Maybe(Kind::Regex) => {
            let parts = (field("$regex"), field("$options"), document.iter().count());
            let (Some(RawBsonRef::String(pattern)), Some(RawBsonRef::String(options)), 2) = parts
            else {
                return Ok(None);
            };
            return Ok(convert::regex(pattern.as_bytes(), options.as_bytes()));
        }
        Shape::Maybe(kind) => {
            let wrapper = if kind == Kind::Code { "$code" } else { "$binary" };
            if field(wrapper).is_none() {
                return Ok(None);
            }
            (kind, wrapper)
        }
    };
    let value = field(wrapper);
    let partner = match (kind, value) {
        (Kind::Code, _) => Some("$scope"),
        (Kind::Binary, Some(RawBsonRef::String(_))) => Some("$type"),
        _ => None,
    };
    refuse_others(document, wrapper, &[Some(wrapper), partner], open)?;
    let (first, second) = match (kind, value) {
        (
            Kind::Binary | Kind::Regex | Kind::Timestamp | Kind::DbPointer,
            Some(RawBsonRef::Document(inner)),
        ) => {
            let names = inner_names(kind);
            refuse_others(inner, wrapper, &names.map(Some), open)?;
            let part = |name: &str| inner.get(name).ok().flatten();
            let [first, second] = names.map(part);
            if second.is_none() {
                return Err(kind.invalid(open, format!("no `{}`", names[1])));
            }
            (first, second)
        }
        // `$regularExpression` with a text in it exists in no version.
        (Kind::Regex, _) => return Err(kind.invalid(open, convert::show(value))),
        _ => (value, partner.and_then(field)),
    };
    match first.and_then(|first| convert::from_parts(kind, first, second)) {
        Some(built) => Ok(Some(built)),
        None => {
            let found = match second {
                Some(_) => format!("{} and {}", convert::show(first), convert::show(second)),
                None => convert::show(first),
            };
            Err(kind.invalid(open, found))
        }
    }
}

/// The field names inside a typed value that contains a document.
pub(super) fn inner_names(kind: Kind) -> [&'static str; 2] {
    match kind {
        Kind::Binary => ["base64", "subType"],
        Kind::Regex => ["pattern", "options"],
        Kind::DbPointer => ["$ref", "$id"],
        _ => ["t", "i"],
    }
}

/// The error for a typed value with additional fields.
fn refuse_others(
    document: &RawDocument,
    wrapper: &'static str,
    allowed: &[Option<&str>],
    open: usize,
) -> Read<()> {
    for (index, item) in document.iter().enumerate() {
        let Ok((name, _)) = item else { continue };
        // A repeated name is also an additional field.
        if !allowed.contains(&Some(name.as_str())) || index >= allowed.iter().flatten().count() {
            let field = quote(name.as_str().as_bytes());
            return Err(Box::new(Error::ExtraField { at: offset(open), wrapper, field }));
        }
    }
    Ok(())
}
