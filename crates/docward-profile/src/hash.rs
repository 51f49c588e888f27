//! One hash for values, so that sketches of different fields and collections can be compared.
//!
//! Numbers hash by value whatever their width, because MongoDB compares them so. Text that spells an
//! ObjectId, a UUID or an integer hashes like that value with [`SPELLED`] mixed in: a reference kept
//! as text can then be matched with the ids it means.

/// Mixed into the hash of text that spells another type's value.
pub(crate) const SPELLED: u64 = 0x9e37_79b9_7f4a_7c15;

const K0: u64 = 0xa076_1d64_78bd_642f;
const K1: u64 = 0xe703_7ed1_a0b4_28db;
const K2: u64 = 0x8ebc_6af0_9c88_c6e3;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were sliced"))
}

/// Hash of a 64-bit value.
#[inline]
pub(crate) fn number(n: i64) -> u64 {
    fold((n as u64) ^ K0, K1)
}

/// Hash of a double: like the integer when it is one.
#[inline]
pub(crate) fn double(n: f64) -> u64 {
    match whole(n) {
        Some(whole) => number(whole),
        None => fold(n.to_bits() ^ K2, K1),
    }
}

/// The integer a double stands for, if it is one that fits. (`fract` is a library call on plain x86-64.)
#[inline]
pub(crate) fn whole(n: f64) -> Option<i64> {
    let cut = n as i64;
    (cut as f64 == n && n.abs() < 9.0e15).then_some(cut)
}

/// Hash of a few tagged bytes (ObjectId, UUID, decimal) or of anything else.
#[inline]
pub(crate) fn bytes(bytes: &[u8]) -> u64 {
    text(bytes).hash
}

/// Texts longer than this are hashed by their ends and length; all of their bytes are still checked.
const WHOLE: usize = 128;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const AT: u64 = 0x4040_4040_4040_4040;
const CASE: u64 = 0x2020_2020_2020_2020;

/// What one pass over a text tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    pub(crate) hash: u64,
    /// Pure ASCII, so UTF-8 needs no check.
    pub(crate) ascii: bool,
    /// Whether an `@` may be in it; always false for long texts.
    pub(crate) at_sign: bool,
}

/// Hash of text, whether it is pure ASCII and whether it holds an `@`: one pass gives all.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Scan {
    if bytes.len() > WHOLE { long_text(bytes) } else { scan::<0>(bytes) }
}

/// Hash of text without its case (ASCII letters; a few signs fall together too).
pub(crate) fn caseless(bytes: &[u8]) -> u64 {
    scan::<CASE>(&bytes[..bytes.len().min(WHOLE)]).hash
}

fn long_text(bytes: &[u8]) -> Scan {
    let head = scan::<0>(&bytes[..WHOLE / 2]).hash;
    let tail = scan::<0>(&bytes[bytes.len() - WHOLE / 2..]).hash;
    let hash = fold(head ^ K1, tail ^ (bytes.len() as u64) ^ K2);
    Scan { hash, ascii: is_ascii(bytes), at_sign: false }
}

/// Whether at least eight bytes are all ASCII. The library's own walks its tail byte by byte.
fn is_ascii(bytes: &[u8]) -> bool {
    let mut seen = word(bytes, bytes.len() - 8);
    for chunk in bytes.chunks_exact(8) {
        seen |= word(chunk, 0);
    }
    seen & HIGH == 0
}

#[inline]
fn scan<const MASK: u64>(bytes: &[u8]) -> Scan {
    let n = bytes.len();
    let mut seed = (n as u64) ^ K0;
    let mut seen = 0u64;
    let mut at_sign = 0u64;
    let mut look = |x: u64| {
        seen |= x;
        let t = x ^ AT;
        at_sign |= t.wrapping_sub(LOW) & !t;
    };
    let (a, b);
    if n >= 8 {
        let mut at = 0;
        while n - at > 16 {
            let (x, y) = (word(bytes, at), word(bytes, at + 8));
            look(x);
            look(y);
            seed = fold((x | MASK) ^ K1, (y | MASK) ^ seed);
            at += 16;
        }
        a = if n - at > 8 { word(bytes, at) } else { 0 };
        b = word(bytes, n - 8);
        look(a);
        look(b);
    } else if n >= 4 {
        let low = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes were sliced"));
        let high = u32::from_le_bytes(bytes[n - 4..].try_into().expect("four bytes were sliced"));
        a = (u64::from(low) << 32) | u64::from(high);
        b = 0;
        look(a);
    } else {
        let mut packed = 0u64;
        for &byte in bytes {
            packed = (packed << 8) | u64::from(byte);
        }
        a = packed;
        b = 0;
        look(a);
    }
    let hash = fold(K2 ^ (n as u64), fold((a | MASK) ^ K1, (b | MASK) ^ seed));
    Scan { hash, ascii: seen & HIGH == 0, at_sign: at_sign & HIGH != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_and_the_length_matter() {
        for n in 0..70usize {
            let base = vec![b'a'; n];
            for i in 0..n {
                let mut other = base.clone();
                other[i] = b'b';
                assert_ne!(text(&base).hash, text(&other).hash, "length {n}, byte {i}");
                other[i] = 0xc3;
                assert!(!text(&other).ascii, "length {n}, byte {i} is not ASCII");
            }
            assert!(text(&base).ascii);
            assert_ne!(text(&base).hash, text(&vec![b'a'; n + 1]).hash);
        }
    }

    #[test]
    fn case_and_signs_are_seen() {
        assert_eq!(caseless(b"User123-abcdefghijk"), caseless(b"uSER123-ABCDEFGHIJK"));
        assert_ne!(caseless(b"User123"), caseless(b"User124"));
        for n in 1..40usize {
            let mut name = vec![b'x'; n];
            assert!(!text(&name).at_sign);
            name[n / 2] = b'@';
            assert!(text(&name).at_sign, "{n}");
        }
        let mut long = vec![b'a'; 500];
        assert!(text(&long).ascii);
        long[250] = 0xc3;
        assert!(!text(&long).ascii);
    }

    #[test]
    fn numbers_hash_by_value() {
        assert_eq!(double(5.0), number(5));
        assert_ne!(double(5.5), number(5));
    }
}
