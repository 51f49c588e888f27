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
    if n.fract() == 0.0 && n.abs() < 9.0e15 { number(n as i64) } else { fold(n.to_bits() ^ K2, K1) }
}

/// Hash of a few tagged bytes (ObjectId, UUID, decimal) or of anything else.
#[inline]
pub(crate) fn bytes(bytes: &[u8]) -> u64 {
    text(bytes).0
}

/// Hash of text, and whether it is pure ASCII: one pass gives both, so UTF-8 is checked only for
/// the rest.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> (u64, bool) {
    let n = bytes.len();
    let mut seed = (n as u64) ^ K0;
    let mut seen = 0u64;
    let (a, b);
    if n >= 8 {
        let mut at = 0;
        while n - at > 16 {
            let (x, y) = (word(bytes, at), word(bytes, at + 8));
            seen |= x | y;
            seed = fold(x ^ K1, y ^ seed);
            at += 16;
        }
        if n - at > 8 {
            a = word(bytes, at);
        } else {
            a = 0;
        }
        b = word(bytes, n - 8);
        seen |= a | b;
    } else if n >= 4 {
        let low = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes were sliced"));
        let high = u32::from_le_bytes(bytes[n - 4..].try_into().expect("four bytes were sliced"));
        a = (u64::from(low) << 32) | u64::from(high);
        b = 0;
        seen |= a;
    } else {
        let mut packed = 0u64;
        for &byte in bytes {
            packed = (packed << 8) | u64::from(byte);
        }
        a = packed;
        b = 0;
        seen |= a;
    }
    (fold(K2 ^ (n as u64), fold(a ^ K1, b ^ seed)), seen & 0x8080_8080_8080_8080 == 0)
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
                assert_ne!(text(&base).0, text(&other).0, "length {n}, byte {i}");
                other[i] = 0xc3;
                assert!(!text(&other).1, "length {n}, byte {i} is not ASCII");
            }
            assert!(text(&base).1);
            assert_ne!(text(&base).0, text(&vec![b'a'; n + 1]).0);
        }
    }

    #[test]
    fn numbers_hash_by_value() {
        assert_eq!(double(5.0), number(5));
        assert_ne!(double(5.5), number(5));
    }
}
