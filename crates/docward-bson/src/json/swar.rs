//! Processes eight bytes at a time in one `u64`: finds bytes and reads digits.
//!
//! Words are little-endian, so the first byte of the text is the lowest. Masks have the top bit of
//! a byte set for a match. Borrows and carries can set wrong bits *above* the first right one.
//! Callers may therefore use only the lowest set bit, which is all they need.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The eight bytes at `pos`, if there are that many.
#[inline(always)]
pub(super) fn load(input: &[u8], pos: usize) -> Option<u64> {
    let bytes = input.get(pos..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Marks zero bytes.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Marks the bytes equal to `byte`.
#[inline(always)]
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    zeros(word ^ (LOW * byte as u64))
}

/// Marks the bytes above ASCII.
#[inline(always)]
pub(super) fn high(word: u64) -> u64 {
    word & HIGH
}

/// The index of the first marked byte of a non-zero mask.
#[inline(always)]
pub(super) fn first(mask: u64) -> usize {
    (mask.trailing_zeros() / 8) as usize
}

/// The number of leading decimal digits of the word, and their value.
#[inline(always)]
pub(super) fn digits(word: u64) -> (usize, u64) {
    // Digits become 0 to 9; adding 0x76 carries any other ASCII byte into the top bit.
    let values = word ^ (LOW * b'0' as u64);
    let others = (values.wrapping_add(LOW * 0x76) | values) & HIGH;
    if others == 0 {
        return (8, combine(values));
    }
    let count = first(others);
    // Zeros before the digits (the lower bytes) do not change the value. Two shifts, because a
    // single shift by 64 bits would overflow if there is no digit.
    let aligned = (values << 8) << (56 - 8 * count);
    (count, combine(aligned))
}

/// The value of eight digits, the first in the lowest byte: pairs, then fours, then all.
#[inline(always)]
fn combine(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100).wrapping_add(pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    (fours.wrapping_mul(10_000).wrapping_add(fours >> 32)) & 0xFFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &[u8; 8]) -> u64 {
        u64::from_le_bytes(*text)
    }

    #[test]
    fn finds_the_first_byte() {
        assert_eq!(first(equal(word(b"abc\"d\"ef"), b'"')), 3);
        assert_eq!(equal(word(b"abcdefgh"), b'"'), 0);
        assert_eq!(first(equal(word(b"\0\x01\0aaaaa"), 0)), 0);
        assert_eq!(high(word(b"abcdefgh")), 0);
        assert_eq!(first(high(word("abcdef\u{e9}".as_bytes().try_into().unwrap()))), 6);
    }

    #[test]
    fn reads_digits() {
        assert_eq!(digits(word(b"12345678")), (8, 12_345_678));
        assert_eq!(digits(word(b"99999999")), (8, 99_999_999));
        assert_eq!(digits(word(b"1234567,")), (7, 1_234_567));
        assert_eq!(digits(word(b"007}9999")), (3, 7));
        assert_eq!(digits(word(b"9\xFF\xFF99999")), (1, 9));
        assert_eq!(digits(word(b",1234567")).0, 0);
        assert_eq!(digits(word(b"\xFF1234567")).0, 0);
        for other in (0..=255u8).filter(|b| !b.is_ascii_digit()) {
            let text = [b'4', b'2', other, b'1', b'1', b'1', b'1', b'1'];
            assert_eq!(digits(word(&text)), (2, 42), "{other}");
        }
    }
}
