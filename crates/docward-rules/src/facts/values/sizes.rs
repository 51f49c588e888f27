//! Exact BSON sizes (ALG-2) and their limits. An array takes more space than its values: each
//! element has a type byte, its index as decimal text and a NUL.

use docward_model::{Collection, Distribution, Profile, Seen};

use crate::facts::growth::patterns;

/// The server's limit on a stored document (LM-1).
pub const DOCUMENT_LIMIT: u64 = 16_777_216;
/// The limit at which the rule book says "refactor now" (LM-3).
pub const DANGER: u64 = 10_485_760;
/// The limit for core documents (CK-2).
pub const CORE_LIMIT: u64 = 1_048_576;
/// The size every document should stay within (DM-05.1).
pub const RECOMMENDED: u64 = 102_400;
/// Bytes of an ObjectId.
pub const OBJECT_ID: u64 = 12;
/// Bytes of a UUID as binary: length, subtype and 16 bytes.
pub const UUID: u64 = 21;

/// The number of digits of the indexes `0..n` written one after another.
pub fn index_digits(n: u64) -> u64 {
    let mut total = 0;
    let mut low = 0;
    let mut high: u64 = 10;
    let mut digits = 1;
    while low < n {
        total += (n.min(high) - low) * digits;
        low = high;
        high = high.saturating_mul(10);
        digits += 1;
    }
    total
}

/// Bytes of an array of `n` values of `value` bytes each, as a BSON document body:
/// 4 + Σ(1 + digits + 1 + value) + 1.
pub fn array_bytes(n: u64, value: u64) -> u64 {
    5 + n.saturating_mul(2 + value).saturating_add(index_digits(n))
}

/// Bytes of an element with this name: type byte, name, NUL, value.
pub fn element_bytes(name: &str, value: u64) -> u64 {
    2 + name.len() as u64 + value
}

/// The mean size of a value if `arrays` arrays contain `elements` elements in `bytes` bytes. The
/// overhead of index texts is subtracted as if all arrays had the same length.
pub fn value_bytes(arrays: u64, elements: u64, bytes: u64) -> u64 {
    if arrays == 0 || elements == 0 {
        return 0;
    }
    let each = elements.div_ceil(arrays);
    let overhead = arrays * 5 + elements * 2 + arrays * index_digits(each);
    bytes.saturating_sub(overhead) / elements
}

/// The maximum number of values of `value` bytes whose array fits into `limit` bytes.
pub fn array_capacity(limit: u64, value: u64) -> u64 {
    let (mut low, mut high) = (0, limit / 3 + 1);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if array_bytes(middle, value) <= limit {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// Sizes of documents: of all, counted by the server, or of those that were read.
pub struct Figures<'a> {
    /// The number of documents.
    pub documents: u64,
    /// Their sizes.
    pub sizes: &'a Distribution,
    /// Exact counts of documents above the size limits.
    tiers: &'a [(u64, u64)],
    /// The number of documents examined.
    pub seen: Seen,
    /// Whether the server counted all of them.
    pub is_counted: bool,
}

impl<'a> Figures<'a> {
    /// Returns the figures of a collection; `None` if unknown.
    pub fn of(collection: &'a Collection, read: Option<&'a Profile>) -> Option<Self> {
        match (&collection.counted, read) {
            (Some(counted), _) if !patterns::holds_server_buckets(collection) => Some(Self {
                documents: counted.documents,
                sizes: &counted.sizes,
                tiers: &counted.larger_than,
                seen: counted.seen(),
                is_counted: true,
            }),
            (_, read) => read.map(|profile| Self {
                documents: profile.documents,
                sizes: &profile.sizes,
                tiers: &profile.larger_than,
                seen: profile.seen(),
                is_counted: false,
            }),
        }
    }

    /// The number of documents that are larger than a limit.
    pub fn larger_than(&self, limit: u64) -> u64 {
        self.sizes.larger_than(self.tiers, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum without the closed form, for comparison.
    fn slow(n: u64, value: u64) -> u64 {
        5 + (0..n).map(|i| 1 + i.to_string().len() as u64 + 1 + value).sum::<u64>()
    }

    #[test]
    fn alg_2_array_sizes_are_exact() {
        for n in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 12_345] {
            for value in [1, 4, 8, 12, 100] {
                assert_eq!(array_bytes(n, value), slow(n, value), "{n} values of {value} bytes");
            }
        }
        assert_eq!(index_digits(1_000_000), 5_888_890);
    }

    #[test]
    fn lm_6_half_a_million_object_ids() {
        assert_eq!(array_bytes(500_000, OBJECT_ID), 9_888_895);
    }

    #[test]
    fn lm_6_sixteen_megabytes_hold_about_844_000_object_ids() {
        let n = array_capacity(DOCUMENT_LIMIT, OBJECT_ID);
        assert!((844_000..845_000).contains(&n), "{n}");
        assert!(array_bytes(n, OBJECT_ID) <= DOCUMENT_LIMIT);
        assert!(array_bytes(n + 1, OBJECT_ID) > DOCUMENT_LIMIT);
    }

    #[test]
    fn alg_2_capacity_is_the_inverse() {
        for value in [0, 1, 4, 8, 12, 100, 5_000] {
            for limit in [5, 6, 50, 102_400, DOCUMENT_LIMIT] {
                let n = array_capacity(limit, value);
                assert!(n == 0 || array_bytes(n, value) <= limit, "{value} in {limit}");
                assert!(array_bytes(n + 1, value) > limit, "{value} in {limit}");
            }
        }
    }

    #[test]
    fn mean_values_come_back() {
        let bytes = 3 * array_bytes(100, 12);
        assert_eq!(value_bytes(3, 300, bytes), 12);
        assert_eq!(value_bytes(0, 0, 0), 0);
    }
}
