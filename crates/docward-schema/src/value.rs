//! Raw values in a document, and equality between them.

mod order;

use std::cmp::Ordering;

use docward_bson::walk::{Element, Elements, Fault, FaultKind, MAX_DEPTH, i32_at};

pub(crate) use order::{order, rank};

use crate::number::{Decimal, Number};

pub(crate) const DOUBLE: u8 = 0x01;
pub(crate) const STRING: u8 = 0x02;
pub(crate) const OBJECT: u8 = 0x03;
pub(crate) const ARRAY: u8 = 0x04;
pub(crate) const BINARY: u8 = 0x05;
pub(crate) const UNDEFINED: u8 = 0x06;
pub(crate) const BOOL: u8 = 0x08;
pub(crate) const NULL: u8 = 0x0a;
pub(crate) const REGEX: u8 = 0x0b;
pub(crate) const CODE: u8 = 0x0d;
pub(crate) const SYMBOL: u8 = 0x0e;
pub(crate) const SCOPED_CODE: u8 = 0x0f;
const INT: u8 = 0x10;
const LONG: u8 = 0x12;
const DECIMAL: u8 = 0x13;

/// A raw value in its document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'d> {
    pub(crate) tag: u8,
    pub(crate) bytes: &'d [u8],
}

impl<'d> From<Element<'d>> for Raw<'d> {
    fn from(element: Element<'d>) -> Self {
        Self { tag: element.tag, bytes: element.value }
    }
}

impl<'d> Raw<'d> {
    /// The number, if it is numeric.
    pub(crate) fn number(self) -> Option<Number> {
        Some(match self.tag {
            DOUBLE => Number::Double(f64::from_le_bytes(self.bytes.try_into().ok()?)),
            INT => Number::Int(i64::from(i32::from_le_bytes(self.bytes.try_into().ok()?))),
            LONG => Number::Int(i64::from_le_bytes(self.bytes.try_into().ok()?)),
            DECIMAL => Number::Decimal(Decimal::from_bytes(self.bytes.try_into().ok()?)),
            _ => return None,
        })
    }

    /// The bytes of a string.
    pub(crate) fn text(self) -> Option<&'d [u8]> {
        (self.tag == STRING).then(|| text(self.bytes))
    }

    /// The fields of an object, or the elements of an array.
    pub(crate) fn elements(self) -> Result<Elements<'d>, Fault> {
        Elements::new(self.bytes)
    }

    /// The first field with this name.
    pub(crate) fn field(self, name: &[u8]) -> Result<Option<Self>, Fault> {
        for element in self.elements()? {
            let element = element?;
            if element.key == name {
                return Ok(Some(Self::from(element)));
            }
        }
        Ok(None)
    }

    /// The number of fields or elements.
    pub(crate) fn count(self) -> Result<u64, Fault> {
        let mut count = 0;
        for element in self.elements()? {
            element?;
            count += 1;
        }
        Ok(count)
    }

    /// The number of characters in a string: the bytes that begin one.
    pub(crate) fn characters(self) -> Option<u64> {
        let text = self.text()?;
        Some(text.iter().filter(|byte| (**byte & 0xc0) != 0x80).count() as u64)
    }

    /// The first element of an array that equals one before it.
    pub(crate) fn duplicate(self) -> Result<Option<Self>, Fault> {
        let all: Vec<Self> =
            self.elements()?.map(|element| element.map(Self::from)).collect::<Result<_, _>>()?;
        Ok(repeated(&all)?.map(|at| all[at]))
    }

    /// Code, and its scope.
    pub(crate) fn scoped_code(self) -> Option<(&'d [u8], Self)> {
        let length = usize::try_from(i32_at(self.bytes, 4)?).ok()?;
        let (code, scope) = self.bytes.get(8..)?.split_at_checked(length)?;
        Some((code.get(..length.checked_sub(1)?)?, Self { tag: OBJECT, bytes: scope }))
    }

    /// The value as an owned one. A value that the library cannot read, such as text that is not
    /// UTF-8, is replaced by the server's printed form.
    pub(crate) fn owned(self) -> bson::Bson {
        // The value under an empty name, as a separate document.
        let mut bytes = Vec::with_capacity(self.bytes.len() + 7);
        bytes.extend((self.bytes.len() as u32 + 7).to_le_bytes());
        bytes.extend([self.tag, 0]);
        bytes.extend(self.bytes);
        bytes.push(0);
        let read = bson::RawDocument::from_bytes(&bytes).and_then(bson::Document::try_from);
        let value = read.ok().and_then(|mut document| document.remove(""));
        value.unwrap_or_else(|| bson::Bson::String(told(self)))
    }

    /// The name of its type in `bsonType`.
    pub(crate) fn type_name(self) -> &'static str {
        docward_model::BsonType::from_tag(self.tag).map_or("unknown", |kind| kind.name())
    }

    /// Returns whether two values are equal for the server's `enum` and `uniqueItems`: numbers by
    /// value, objects regardless of the order of their fields.
    pub(crate) fn equals(self, other: Raw<'_>) -> Result<bool, Fault> {
        Ok(self.order(other, 0)? == Ordering::Equal)
    }

    /// An order in which equal values are equal; for unequal values it only serves sorting.
    fn order(self, other: Raw<'_>, depth: u32) -> Result<Ordering, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::new(0, FaultKind::Depth));
        }
        if let (Some(a), Some(b)) = (self.number(), other.number()) {
            return Ok(a.order(b));
        }
        let kinds = class(self.tag).cmp(&class(other.tag));
        if kinds != Ordering::Equal {
            return Ok(kinds);
        }
        match self.tag {
            STRING | SYMBOL => Ok(text(self.bytes).cmp(text(other.bytes))),
            OBJECT => fields(self, other, true, depth),
            ARRAY => fields(self, other, false, depth),
            // Numbers in the scope of code are also compared by value.
            SCOPED_CODE => order(self, other),
            _ => Ok(self.bytes.cmp(other.bytes)),
        }
    }
}

/// The index of the first value that equals one before it. A few values are compared in pairs, more
/// are sorted.
pub(crate) fn repeated(values: &[Raw<'_>]) -> Result<Option<usize>, Fault> {
    const FEW: usize = 12;
    if values.len() <= FEW {
        for (at, value) in values.iter().enumerate() {
            for other in &values[..at] {
                if other.equals(*value)? {
                    return Ok(Some(at));
                }
            }
        }
        return Ok(None);
    }
    let mut broken = None;
    let mut order = |a: usize, b: usize| {
        values[a].order(values[b], 0).unwrap_or_else(|fault| {
            broken.get_or_insert(fault);
            Ordering::Equal
        })
    };
    // Equal values keep their order, so the second of each run is the first repetition.
    let mut sorted: Vec<usize> = (0..values.len()).collect();
    sorted.sort_by(|a, b| order(*a, *b));
    let mut first = None;
    for run in sorted.chunk_by(|a, b| order(*a, *b) == Ordering::Equal) {
        if let [_, second, ..] = run {
            first = Some(first.map_or(*second, |found: usize| found.min(*second)));
        }
    }
    broken.map_or(Ok(first), Err)
}

/// Types that are compared with each other by value.
fn class(tag: u8) -> u8 {
    match tag {
        DOUBLE | INT | LONG | DECIMAL => DOUBLE,
        SYMBOL => STRING,
        tag => tag,
    }
}

/// Text for display.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The text after its length, without its NUL.
pub(crate) fn text(bytes: &[u8]) -> &[u8] {
    bytes.get(4..bytes.len().saturating_sub(1)).unwrap_or_default()
}

/// Compares fields in pairs: of objects sorted by name, of arrays in order, ignoring names.
fn fields(a: Raw<'_>, b: Raw<'_>, by_name: bool, depth: u32) -> Result<Ordering, Fault> {
    let mut a: Vec<Element<'_>> = a.elements()?.collect::<Result<_, _>>()?;
    let mut b: Vec<Element<'_>> = b.elements()?.collect::<Result<_, _>>()?;
    let count = a.len().cmp(&b.len());
    if count != Ordering::Equal {
        return Ok(count);
    }
    if by_name {
        a.sort_by(|x, y| x.key.cmp(y.key));
        b.sort_by(|x, y| x.key.cmp(y.key));
    }
    for (x, y) in a.into_iter().zip(b) {
        let names = if by_name { x.key.cmp(y.key) } else { Ordering::Equal };
        let order = match names {
            Ordering::Equal => Raw::from(x).order(Raw::from(y), depth + 1)?,
            names => names,
        };
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// A value in a schema.
#[derive(Clone, Debug)]
pub(crate) struct Literal {
    tag: u8,
    bytes: Vec<u8>,
}

impl Literal {
    pub(crate) fn of(value: Raw<'_>) -> Self {
        Self { tag: value.tag, bytes: value.bytes.to_vec() }
    }

    pub(crate) fn raw(&self) -> Raw<'_> {
        Raw { tag: self.tag, bytes: &self.bytes }
    }
}

/// A field in the format of the server's messages.
pub(crate) fn told_field(name: &[u8], value: Raw<'_>) -> String {
    format!("{}: {}", String::from_utf8_lossy(name), told(value))
}

/// A value in the format of the server's messages.
pub(crate) fn told(value: Raw<'_>) -> String {
    let list = |open: &str, close: &str, named: bool| {
        let parts: Vec<String> = value
            .elements()
            .map(|elements| {
                elements
                    .filter_map(Result::ok)
                    .map(|element| {
                        let inner = told(Raw::from(element));
                        if named {
                            format!("{}: {inner}", String::from_utf8_lossy(element.key))
                        } else {
                            inner
                        }
                    })
                    .collect()
            })
            .unwrap_or_default();
        if parts.is_empty() {
            format!("{open}{close}")
        } else {
            format!("{open} {} {close}", parts.join(", "))
        }
    };
    match (value.tag, value.number()) {
        (DOUBLE, Some(Number::Double(n))) => double_text(n),
        (DECIMAL, _) => {
            value.bytes.try_into().map_or_else(|_| String::new(), docward_bson::decimal_text)
        }
        (_, Some(Number::Int(n))) => n.to_string(),
        (STRING, _) => {
            format!("\"{}\"", String::from_utf8_lossy(value.text().unwrap_or_default()))
        }
        (BOOL, _) => (value.bytes.first() == Some(&1)).to_string(),
        (0x0a, _) => "null".to_owned(),
        (0xff, _) => "MinKey".to_owned(),
        (0x7f, _) => "MaxKey".to_owned(),
        (0x07, _) => format!("ObjectId('{}')", docward_bson::value::hex(value.bytes)),
        (0x05, _) => {
            let (subtype, bytes) = (value.bytes.get(4), value.bytes.get(5..));
            let digits = docward_bson::value::hex(bytes.unwrap_or_default()).to_uppercase();
            format!("BinData({}, {digits})", subtype.copied().unwrap_or_default())
        }
        (0x09, _) => {
            let ms = value.bytes.try_into().map_or(0, i64::from_le_bytes);
            format!("new Date({ms})")
        }
        (0x11, _) => {
            let stamp = value.bytes.try_into().map_or(0, u64::from_le_bytes);
            format!("Timestamp({}, {})", stamp >> 32, stamp & 0xffff_ffff)
        }
        (0x0b, _) => {
            let parts: Vec<_> =
                value.bytes.split(|b| *b == 0).map(String::from_utf8_lossy).collect();
            let part = |n: usize| parts.get(n).map_or("", |part| part);
            format!("/{}/{}", part(0), part(1))
        }
        (SYMBOL, _) => format!("\"{}\"", String::from_utf8_lossy(text(value.bytes))),
        (SCOPED_CODE, _) => match value.scoped_code() {
            Some((code, scope)) => format!("CodeWScope( {}, {})", lossy(code), told(scope)),
            None => value.type_name().to_owned(),
        },
        (CODE, _) => lossy(text(value.bytes)),
        (UNDEFINED, _) => "undefined".to_owned(),
        (OBJECT, _) => list("{", "}", true),
        (ARRAY, _) => list("[", "]", false),
        _ => value.type_name().to_owned(),
    }
}

/// `%.16g`, with `.0` after a number that looks like an integer.
fn double_text(n: f64) -> String {
    let text = significant(n, 16);
    if text.contains('.') { text } else { format!("{text}.0") }
}

/// `%.Ng`: this many significant digits, without trailing zeros.
pub(crate) fn significant(n: f64, digits: usize) -> String {
    if n.is_nan() {
        return "nan".to_owned();
    }
    if n.is_infinite() {
        return if n < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let last = digits.saturating_sub(1);
    let text = format!("{n:.last$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(last as i32 - exponent).unwrap_or(0);
    without_zeros(&format!("{n:.decimals$}"))
}
