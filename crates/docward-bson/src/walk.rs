//! Walks raw BSON: the shared primitives, and a bare walk for benchmarks to compare with.
//!
//! Hand-written because iterating with the `bson` crate costs about four times as much per element
//! (see docs/benchmarks.md); fuzzed against that crate. Safe Rust: every access is checked, and
//! damaged input gives a [`Fault`], never a panic.

use std::fmt;

/// The maximum size of a document from a MongoDB server: 16 MiB plus its internal allowance of 16
/// KiB.
pub const MAX_DOCUMENT: usize = 16 * 1024 * 1024 + 16 * 1024;

/// The maximum nesting depth. The server stores at most 100 levels.
pub const MAX_DEPTH: u32 = 250;

/// The reason why bytes are not valid BSON, with the offset within the slice that was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The byte offset of the invalid element.
    pub at: usize,
    /// The kind of the fault.
    pub kind: FaultKind,
}

/// The kinds of faults in BSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// A length that does not fit its context.
    Length,
    /// The bytes end inside an element.
    Truncated,
    /// A type tag that does not exist.
    Tag(u8),
    /// A name or regular expression without its closing NUL.
    Unterminated,
    /// Text that is not UTF-8.
    Utf8,
    /// Nested deeper than [`MAX_DEPTH`].
    Depth,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => f.write_str("a length that does not fit the document"),
            Self::Truncated => f.write_str("the document ends inside an element"),
            Self::Tag(tag) => write!(f, "unknown element type 0x{tag:02x}"),
            Self::Unterminated => f.write_str("a name without its closing NUL"),
            Self::Utf8 => f.write_str("text that is not UTF-8"),
            Self::Depth => write!(f, "nesting deeper than {MAX_DEPTH} levels"),
        }
    }
}

impl Fault {
    /// A fault at an offset.
    pub fn new(at: usize, kind: FaultKind) -> Self {
        Self { at, kind }
    }
}

/// Eight bytes as a little-endian number, if there are eight.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let window = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(window.try_into().ok()?))
}

/// Four bytes as a little-endian number, if there are four.
#[inline]
pub fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    let window = bytes.get(at..at.checked_add(4)?)?;
    Some(i32::from_le_bytes(window.try_into().ok()?))
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Position of the first NUL at or after `from`, before `end`. Eight bytes at a time.
#[inline]
pub fn find_nul(bytes: &[u8], from: usize, end: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = u64_at(bytes, at) {
        let hit = word.wrapping_sub(LOW) & !word & HIGH;
        if hit != 0 {
            let nul = at + (hit.trailing_zeros() / 8) as usize;
            return (nul < end).then_some(nul);
        }
        at += 8;
        if at >= end {
            return None;
        }
    }
    (at..end).find(|&i| bytes.get(i) == Some(&0))
}

/// Length of a value of type `tag` that begins at `at` and must end before `end`.
#[inline]
pub fn value_len(tag: u8, bytes: &[u8], at: usize, end: usize) -> Result<usize, FaultKind> {
    let len = match tag {
        0x01 | 0x09 | 0x11 | 0x12 => 8,
        0x02 | 0x0d | 0x0e => {
            let n = length_at(bytes, at, 1)?;
            n.checked_add(4).ok_or(FaultKind::Length)?
        }
        0x03 | 0x04 => length_at(bytes, at, 5)?,
        0x05 => length_at(bytes, at, 0)?.checked_add(5).ok_or(FaultKind::Length)?,
        0x07 => 12,
        0x08 => 1,
        0x06 | 0x0a | 0x7f | 0xff => 0,
        0x0b => {
            let pattern = find_nul(bytes, at, end).ok_or(FaultKind::Unterminated)?;
            let options = find_nul(bytes, pattern + 1, end).ok_or(FaultKind::Unterminated)?;
            options + 1 - at
        }
        0x0c => length_at(bytes, at, 1)?.checked_add(16).ok_or(FaultKind::Length)?,
        0x0f => length_at(bytes, at, 14)?,
        0x10 => 4,
        0x13 => 16,
        other => return Err(FaultKind::Tag(other)),
    };
    if len > end.saturating_sub(at) { Err(FaultKind::Truncated) } else { Ok(len) }
}

#[inline]
fn length_at(bytes: &[u8], at: usize, least: i32) -> Result<usize, FaultKind> {
    let n = i32_at(bytes, at).ok_or(FaultKind::Truncated)?;
    if n < least { Err(FaultKind::Length) } else { Ok(n as usize) }
}

/// The end of the document that begins at `at`, from its length prefix; `end` bounds it.
#[inline]
pub fn document_end(bytes: &[u8], at: usize, end: usize) -> Result<usize, FaultKind> {
    let len = length_at(bytes, at, 5)?;
    if len > end.saturating_sub(at) {
        return Err(FaultKind::Truncated);
    }
    if bytes.get(at + len - 1) != Some(&0) {
        return Err(FaultKind::Length);
    }
    Ok(at + len)
}

/// One element of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its type tag.
    pub tag: u8,
    /// Its name, without the NUL.
    pub key: &'a [u8],
    /// Its value, as stored.
    pub value: &'a [u8],
    /// Offset of the value in the slice walked.
    pub at: usize,
}

/// The elements of one document or array, not descending.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl<'a> Elements<'a> {
    /// The elements of the document in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Result<Self, Fault> {
        let end = document_end(bytes, 0, bytes.len()).map_err(|kind| Fault::new(0, kind))?;
        Ok(Self { bytes, at: 4, end: end - 1 })
    }

    /// The elements in `bytes`, without a length and a final NUL around them.
    pub fn body(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len() }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let start = self.at;
        let step = || -> Result<(Element<'a>, usize), FaultKind> {
            let tag = self.bytes[start];
            let nul = find_nul(self.bytes, start + 1, self.end).ok_or(FaultKind::Unterminated)?;
            let len = value_len(tag, self.bytes, nul + 1, self.end)?;
            let value = &self.bytes[nul + 1..nul + 1 + len];
            Ok((
                Element { tag, key: &self.bytes[start + 1..nul], value, at: nul + 1 },
                nul + 1 + len,
            ))
        };
        match step() {
            Ok((element, next)) => {
                self.at = next;
                Some(Ok(element))
            }
            Err(kind) => {
                self.at = self.end;
                Some(Err(Fault::new(start, kind)))
            }
        }
    }
}

/// Walks every element of a document at all levels, and only counts them. The lower bound for
/// benchmarks, and the oracle for fuzzing.
pub fn count_elements(bytes: &[u8]) -> Result<u64, Fault> {
    let end = document_end(bytes, 0, bytes.len()).map_err(|kind| Fault::new(0, kind))?;
    count_in(bytes, 4, end - 1, 0)
}

/// Like [`count_elements`], for contiguous documents.
pub fn count_block(block: &[u8]) -> Result<u64, Fault> {
    let mut at = 0;
    let mut total = 0;
    while at < block.len() {
        let end = document_end(block, at, block.len()).map_err(|kind| Fault::new(at, kind))?;
        total += count_in(block, at + 4, end - 1, 0)?;
        at = end;
    }
    Ok(total)
}

fn count_in(bytes: &[u8], mut at: usize, end: usize, depth: u32) -> Result<u64, Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::new(at, FaultKind::Depth));
    }
    let mut total = 0;
    while at < end {
        let start = at;
        let fault = |kind| Fault::new(start, kind);
        let tag = bytes[at];
        let nul = find_nul(bytes, at + 1, end).ok_or_else(|| fault(FaultKind::Unterminated))?;
        at = nul + 1;
        let len = value_len(tag, bytes, at, end).map_err(fault)?;
        total += 1;
        if tag == 0x03 || tag == 0x04 {
            let inner = document_end(bytes, at, at + len).map_err(fault)?;
            total += count_in(bytes, at + 4, inner - 1, depth + 1)?;
        }
        at += len;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nul_is_found_at_every_alignment() {
        for len in 0..40usize {
            for nul in 0..len {
                let mut bytes = vec![b'x'; len];
                bytes[nul] = 0;
                for from in 0..=nul {
                    assert_eq!(find_nul(&bytes, from, len), Some(nul));
                    assert_eq!(find_nul(&bytes, from, nul), None, "beyond the end");
                }
            }
            assert_eq!(find_nul(&vec![b'x'; len], 0, len), None);
        }
    }

    #[test]
    fn elements_agree_with_the_bson_crate() {
        let doc = bson::doc! {
            "a": 1, "b": "text", "c": { "d": [1, 2.5, { "e": bson::Bson::Null }] },
            "f": bson::oid::ObjectId::from_bytes([7; 12]), "g": bson::Bson::MinKey,
        };
        let bytes = doc.to_vec().unwrap();
        let ours: Vec<_> = Elements::new(&bytes)
            .unwrap()
            .map(|e| String::from_utf8(e.unwrap().key.to_vec()).unwrap())
            .collect();
        assert_eq!(ours, doc.keys().cloned().collect::<Vec<_>>());
        assert_eq!(count_elements(&bytes), Ok(10));
    }

    #[test]
    fn damage_is_a_fault_not_a_panic() {
        let bytes = bson::doc! { "a": { "b": [1, "two"] }, "c": 3.5 }.to_vec().unwrap();
        for cut in 0..bytes.len() {
            assert!(count_elements(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for value in [0u8, 1, 3, 4, 0x7f, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[at] = value;
                let _ = count_elements(&broken);
            }
        }
    }
}
