//! One hash function for all values, so that sketches of different fields and collections can be
//! compared.
//!
//! Numbers hash by value regardless of their type, because MongoDB compares them by value. Text
//! that represents an ObjectId, a UUID or an integer hashes like that value, with [`SPELLED`] mixed
//! in. A reference that is stored as text can therefore be matched with the ids.

/// Mixed into the hash of text that represents a value of another type. Samples keep the smallest
/// hashes, so the upper half of the hash stays unchanged: a text is in a sample if its value is.
pub(crate) const SPELLED: u64 = 0x7f4a_7c15;

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

/// Hash of a double; equal to that of the integer if it is one.
#[inline]
pub(crate) fn double(n: f64) -> u64 {
    whole(n).map_or_else(|| fraction(n), number)
}

/// Hash of a double that is not an integer.
#[inline]
pub(crate) fn fraction(n: f64) -> u64 {
    fold(n.to_bits() ^ K2, K1)
}

/// The integer that a double is equal to, if it fits. (`fract` is a library call on plain x86-64.)
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

/// For longer texts only the ends and the length are hashed; all of their bytes are still
/// validated.
const WHOLE: usize = 128;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const AT: u64 = 0x4040_4040_4040_4040;
const CASE: u64 = 0x2020_2020_2020_2020;

/// The results of one pass over a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan {
    pub(crate) hash: u64,
    /// True for pure ASCII, so UTF-8 needs no validation.
    pub(crate) ascii: bool,
    /// True if the text may contain an `@`; always false for long texts.
    pub(crate) at_sign: bool,
}

/// Hash of text, and whether it is pure ASCII and contains an `@`, in one pass.
#[inline]
pub(crate) fn text(bytes: &[u8]) -> Scan {
    match bytes.len() {
        n @ ..=SHORT => short::<0>(padded(bytes), n),
        ..=WHOLE => scan::<0>(bytes),
        _ => long_text(bytes),
    }
}

/// [`text`] of `bytes[from..from + n]`. Short texts are read as sixteen bytes with the rest masked
/// out, whatever their length, because a branch on each length would often be mispredicted.
#[inline]
pub(crate) fn text_at(bytes: &[u8], from: usize, n: usize) -> Scan {
    if n <= SHORT
        && let Some(window) = bytes.get(from..from + SHORT)
    {
        return short::<0>([word(window, 0) & KEPT[n][0], word(window, 8) & KEPT[n][1]], n);
    }
    text(&bytes[from..from + n])
}

/// The maximum length of texts that are hashed without a loop.
const SHORT: usize = 16;

/// The mask of the bytes that belong to a text, by length.
const KEPT: [[u64; 2]; SHORT + 1] = {
    let mut masks = [[0; 2]; SHORT + 1];
    let mut n = 1;
    while n <= SHORT {
        let low = if n >= 8 { u64::MAX } else { u64::MAX >> (64 - 8 * n) };
        let high = if n > 8 { u64::MAX >> (64 - 8 * (n - 8)) } else { 0 };
        masks[n] = [low, high];
        n += 1;
    }
    masks
};

fn padded(bytes: &[u8]) -> [u64; 2] {
    let mut window = [0; SHORT];
    window[..bytes.len()].copy_from_slice(bytes);
    [word(&window, 0), word(&window, 8)]
}

#[inline]
fn short<const MASK: u64>([a, b]: [u64; 2], n: usize) -> Scan {
    let hash = mix::<MASK>(a, b, n, n as u64 ^ K0);
    Scan { hash, ascii: (a | b) & HIGH == 0, at_sign: (has_at(a) | has_at(b)) & HIGH != 0 }
}

#[inline]
fn mix<const MASK: u64>(a: u64, b: u64, n: usize, seed: u64) -> u64 {
    fold(K2 ^ (n as u64), fold((a | MASK) ^ K1, (b | MASK) ^ seed))
}

/// The high bit of a byte is set if that byte is `@`; the other bits are arbitrary.
#[inline]
fn has_at(x: u64) -> u64 {
    let t = x ^ AT;
    t.wrapping_sub(LOW) & !t
}

/// Case-insensitive hash of `bytes[from..from + n]` (ASCII letters; some symbols also collide).
#[inline]
pub(crate) fn caseless_at(bytes: &[u8], from: usize, n: usize) -> u64 {
    if n > SHORT {
        return scan::<CASE>(&bytes[from..from + n.min(WHOLE)]).hash;
    }
    let words = match bytes.get(from..from + SHORT) {
        Some(window) => [word(window, 0) & KEPT[n][0], word(window, 8) & KEPT[n][1]],
        None => padded(&bytes[from..from + n]),
    };
    short::<CASE>(words, n).hash
}

fn long_text(bytes: &[u8]) -> Scan {
    let head = scan::<0>(&bytes[..WHOLE / 2]).hash;
    let tail = scan::<0>(&bytes[bytes.len() - WHOLE / 2..]).hash;
    let hash = fold(head ^ K1, tail ^ (bytes.len() as u64) ^ K2);
    Scan { hash, ascii: is_ascii(bytes), at_sign: false }
}

/// Returns whether at least eight bytes are all ASCII. The library function checks its tail byte by
/// byte.
fn is_ascii(bytes: &[u8]) -> bool {
    let mut seen = word(bytes, bytes.len() - 8);
    for chunk in bytes.chunks_exact(8) {
        seen |= word(chunk, 0);
    }
    seen & HIGH == 0
}

/// Texts longer than [`SHORT`].
fn scan<const MASK: u64>(bytes: &[u8]) -> Scan {
    let n = bytes.len();
    let mut seed = (n as u64) ^ K0;
    let mut seen = 0u64;
    let mut at_sign = 0u64;
    let (head, _) = bytes.as_chunks::<SHORT>();
    for chunk in &head[..(n - 1) / SHORT] {
        let (x, y) = (word(chunk, 0), word(chunk, 8));
        seen |= x | y;
        at_sign |= has_at(x) | has_at(y);
        seed = fold((x | MASK) ^ K1, (y | MASK) ^ seed);
    }
    // The last sixteen bytes, which may overlap the ones before.
    let (a, b) = (word(bytes, n - 16), word(bytes, n - 8));
    seen |= a | b;
    at_sign |= has_at(a) | has_at(b);
    let hash = mix::<MASK>(a, b, n, seed);
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
            let block = [b"x".as_slice(), &base, b"\0another text behind it"].concat();
            assert_eq!(text_at(&block, 1, n).hash, text(&base).hash);
            assert_eq!(text_at(&block[..n + 1], 1, n).hash, text(&base).hash);
            assert_ne!(text(&base).hash, text(&vec![b'a'; n + 1]).hash);
        }
    }

    #[test]
    fn case_and_signs_are_seen() {
        let caseless = |text: &str| {
            let hash = caseless_at(text.as_bytes(), 0, text.len());
            assert_eq!(
                hash,
                caseless_at(format!("{text}\0 and more behind").as_bytes(), 0, text.len())
            );
            hash
        };
        assert_eq!(caseless("User123-abcdefghijk"), caseless("uSER123-ABCDEFGHIJK"));
        assert_eq!(caseless("User123"), caseless("uSER123"));
        assert_ne!(caseless("User123"), caseless("User124"));
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
