//! Functions on single values: the position of a document's `_id`, and how a value hashes, sorts
//! and prints. No state; the profiler calls these from its hot path.

use docward_bson::{
    value::hex,
    walk::{self, value_len},
};
use docward_model::TextClass;

use crate::{hash, text};

/// The tag and the byte range of the `_id`, which the server stores first.
pub(crate) fn id_value(bytes: &[u8], start: usize, end: usize) -> Option<(u8, usize, usize)> {
    let first = start + 4;
    if bytes.get(first + 1..first + 5) == Some(b"_id\0") {
        let at = first + 5;
        let len = value_len(bytes[first], bytes, at, end - 1).ok()?;
        return Some((bytes[first], at, at + len));
    }
    let elements = walk::Elements::new(&bytes[start..end]).ok()?;
    for element in elements {
        let element = element.ok()?;
        if element.key == b"_id" {
            return Some((
                element.tag,
                start + element.at,
                start + element.at + element.value.len(),
            ));
        }
    }
    None
}

/// Keeps an `_id` for comparison: its tag and the beginning of its bytes.
#[inline]
pub(crate) fn remember_id(id: &mut Vec<u8>, tag: u8, value: &[u8]) {
    id.push(tag);
    id.extend_from_slice(&value[..value.len().min(256)]);
}

/// The hash of a value of any type, equal to that of the hot path.
pub(crate) fn scalar_hash(tag: u8, value: &[u8]) -> u64 {
    match tag {
        0x10 => hash::number(i64::from(i32::from_le_bytes(fixed(value)))),
        0x12 | 0x09 | 0x11 => hash::number(i64::from_le_bytes(fixed(value))),
        0x01 => hash::double(f64::from_le_bytes(fixed(value))),
        0x08 => hash::number(i64::from(value.first().is_some_and(|&b| b != 0))),
        0x02 if value.len() >= 5 => {
            let s = &value[4..value.len() - 1];
            let class = text::classify(s, false);
            spelled_hash(class, s).unwrap_or_else(|| hash::bytes(s))
        }
        0x05 if value.len() >= 5 => hash::bytes(&value[5..]),
        _ => hash::bytes(value),
    }
}

/// The number of digits of an ObjectId written as text.
pub(crate) const OBJECT_ID_DIGITS: u64 = 24;

/// The hash of a text that represents an id: that of the id, marked.
pub(crate) fn spelled_hash(class: TextClass, s: &[u8]) -> Option<u64> {
    let base = match class {
        TextClass::ObjectIdHex => hash::bytes(&unhex::<12>(s)?),
        // Some ids of one process contain no letter; they are looked up like the others.
        TextClass::HugeInteger | TextClass::LeadingZero if s.len() as u64 == OBJECT_ID_DIGITS => {
            hash::bytes(&unhex::<12>(s)?)
        }
        TextClass::UuidV4 | TextClass::UuidV7 | TextClass::Uuid => {
            let digits: Vec<u8> = s.iter().copied().filter(|&c| c != b'-').collect();
            hash::bytes(&unhex::<16>(&digits)?)
        }
        TextClass::Integer => hash::number(text::integer_value(s)?),
        _ => return None,
    };
    Some(base ^ hash::SPELLED)
}

pub(crate) fn unhex<const N: usize>(s: &[u8]) -> Option<[u8; N]> {
    let mut out = [0; N];
    for (i, byte) in out.iter_mut().enumerate() {
        let high = char::from(*s.get(i * 2)?).to_digit(16)?;
        let low = char::from(*s.get(i * 2 + 1)?).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(out)
}

/// The hash of a document without `_id`: its ends and its length, so that large documents cost no
/// more.
pub(crate) fn content_hash(document: &[u8]) -> u64 {
    let n = document.len();
    let head = hash::bytes(&document[..n.min(96)]);
    let tail = hash::bytes(&document[n.saturating_sub(96)..]);
    hash::number((head ^ tail.rotate_left(17)) as i64 ^ n as i64)
}

#[inline]
pub(crate) fn fixed_at<const N: usize>(bytes: &[u8], at: usize, end: usize) -> Option<[u8; N]> {
    let value = bytes.get(at..at + N)?.try_into().ok()?;
    (at + N <= end).then_some(value)
}

#[inline]
pub(crate) fn fixed<const N: usize>(value: &[u8]) -> [u8; N] {
    value[..N].try_into().expect("the length of a fixed-size value was checked")
}

pub(crate) fn number_of(tag: u8, value: &[u8]) -> f64 {
    match tag {
        0x10 => f64::from(i32::from_le_bytes(fixed(value))),
        0x01 => f64::from_le_bytes(fixed(value)),
        _ => i64::from_le_bytes(fixed(value)) as f64,
    }
}

/// The seconds in the first four bytes of an ObjectId.
pub(crate) fn seconds(oid: &[u8]) -> u32 {
    u32::from_be_bytes(fixed(oid))
}

/// The sort key of a sampled value, within its type.
pub(crate) struct Sort {
    pub(crate) key: i64,
    /// Decides between equal keys.
    pub(crate) rest: u64,
    /// For doubles: true if the shortest text has at most four decimals.
    pub(crate) short: bool,
}

impl Sort {
    pub(crate) fn by(key: i64) -> Self {
        Self { key, rest: 0, short: false }
    }

    /// The sort key from the first 16 bytes.
    pub(crate) fn bytes(s: &[u8]) -> Self {
        let word = |from: usize| {
            let mut padded = [0; 8];
            let part = &s[from.min(s.len())..s.len().min(from + 8)];
            padded[..part.len()].copy_from_slice(part);
            u64::from_be_bytes(padded)
        };
        // Bytes above 127 sort last, not first.
        Self { key: (word(0) ^ (1 << 63)) as i64, rest: word(8), short: false }
    }

    /// The sort key of a text: the digits after a prefix, or its bytes.
    pub(crate) fn text(s: &[u8]) -> Self {
        let numbered = if s.len() < 8 { None } else { sort_numbered(s) };
        numbered.map_or_else(|| Self::bytes(s), Self::by)
    }
}

/// An integer that sorts like the double.
pub(crate) fn sort_double(n: f64) -> i64 {
    let bits = n.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// Longer texts do not count as numbers with a prefix.
const NUMBERED: usize = 64;

/// Texts such as `INVOICE-2024-000123` differ only at the end, so they sort by their digits if only
/// separators are between them. Their prefixes are assumed to be equal.
fn sort_numbered(s: &[u8]) -> Option<i64> {
    if s.len() > NUMBERED {
        return None;
    }
    let from = s.iter().position(u8::is_ascii_digit)?;
    let mut digits = 0;
    let mut key: i64 = 0;
    for &b in &s[from..] {
        if b.is_ascii_digit() {
            digits += 1;
            if digits <= 18 {
                key = key * 10 + i64::from(b - b'0');
            }
        } else if b.is_ascii_alphabetic() || !b.is_ascii() {
            return None;
        }
    }
    (from > 0 && digits > 0).then_some(key)
}

pub(crate) fn has_short_decimals(n: f64) -> bool {
    let scaled = n * 10_000.0;
    n.is_finite() && scaled.abs() < 9.0e15 && (scaled.round() / 10_000.0 == n)
}

pub(crate) fn shorten(text: String) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

pub(crate) fn id_text(tag: u8, value: &[u8]) -> String {
    match tag {
        0x07 => hex(value),
        0x02 if value.len() >= 5 => {
            String::from_utf8_lossy(&value[4..value.len() - 1]).into_owned()
        }
        0x10 | 0x12 | 0x01 => number_of(tag, value).to_string(),
        _ => hex(&value[..value.len().min(24)]),
    }
}
