//! A bottom-k sample of distinct values with exact counts.
//!
//! Values are hashed; the `k` smallest hashes are kept, each with the number of its occurrences.
//! The bound only decreases, so a kept value has been kept since its first occurrence, and its
//! count is exact. One small table thus gives three results:
//!
//! - the number of distinct values (relative error about 1/√k)
//! - the distribution of their frequencies
//! - membership tests against other collections
//!
//! The results are exact while there are at most `k` values. Merging is exact and independent of
//! order, which HyperLogLog with heavy hitters is not.

use serde::{Deserialize, Serialize};

/// The number of distinct identifiers kept. Their counts are the numbers of children for each parent.
pub(crate) const SAMPLE_IDS: u32 = 16_384;

/// A hash table of at most `2k` counted hashes, of which the `k` smallest count.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub(crate) struct Sketch {
    /// Hashes at or above this bound are rejected.
    theta: u64,
    /// The hash table, with open addressing.
    slots: Vec<Slot>,
    len: u32,
    k: u32,
}

/// Hash and count next to each other, so that counting a value again costs one cache line.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// 0 marks an empty slot (a real hash of 0 is stored as 1).
    hash: u64,
    count: u32,
}

/// A serialized sketch: its table is rebuilt when it is read.
#[derive(Serialize, Deserialize)]
struct Saved {
    theta: u64,
    k: u32,
    counts: Vec<(u64, u32)>,
}

impl From<Sketch> for Saved {
    fn from(sketch: Sketch) -> Self {
        let used = sketch.slots.iter().filter(|slot| slot.hash != 0);
        Self {
            theta: sketch.theta,
            k: sketch.k,
            counts: used.map(|slot| (slot.hash, slot.count)).collect(),
        }
    }
}

impl From<Saved> for Sketch {
    fn from(saved: Saved) -> Self {
        let mut sketch = Self::new(saved.k);
        for (hash, count) in saved.counts {
            sketch.insert(hash, count);
        }
        sketch.theta = sketch.theta.min(saved.theta);
        sketch
    }
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// Rejected: not among the smallest.
    No,
    /// Already present; counted again.
    Again,
    /// Inserted for the first time.
    New,
}

impl Sketch {
    pub(crate) fn new(k: u32) -> Self {
        Self { theta: u64::MAX, slots: Vec::new(), len: 0, k }
    }

    /// The number of values it keeps.
    pub(crate) fn k(&self) -> u32 {
        self.k
    }

    /// The bound, which callers may compare before calling [`Self::add`].
    #[inline]
    pub(crate) fn theta(&self) -> u64 {
        self.theta
    }

    #[inline]
    pub(crate) fn add(&mut self, hash: u64) -> Added {
        if hash >= self.theta { Added::No } else { self.insert(hash, 1) }
    }

    #[inline]
    fn insert(&mut self, hash: u64, times: u32) -> Added {
        let hash = hash.max(1);
        let mask = self.slots.len().wrapping_sub(1);
        // The low bits are independent of the bound.
        let mut at = (hash as usize) & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.hash == hash {
                slot.count = slot.count.saturating_add(times);
                return Added::Again;
            }
            if slot.hash == 0 {
                break;
            }
            at = (at + 1) & mask;
        }
        self.insert_new(at, Slot { hash, count: times });
        Added::New
    }

    #[cold]
    fn insert_new(&mut self, mut at: usize, slot: Slot) {
        if self.slots.is_empty() {
            self.slots = vec![Slot::default(); 16];
            at = slot.hash as usize & 15;
        }
        self.slots[at] = slot;
        self.len += 1;
        if self.len as usize * 4 >= self.slots.len() * 3 {
            if self.len >= self.k + self.k / 2 {
                self.trim();
            } else {
                self.rebuild(self.slots.len() * 2, u64::MAX);
            }
        }
    }

    /// Removes everything beyond the `k` smallest and lowers the bound.
    fn trim(&mut self) {
        if self.len <= self.k {
            return;
        }
        let mut all: Vec<u64> = self.slots.iter().map(|s| s.hash).filter(|&h| h != 0).collect();
        // The bound is the (k+1)-th smallest, exclusive, so exactly k remain.
        let (_, &mut bound, _) = all.select_nth_unstable(self.k as usize);
        self.theta = self.theta.min(bound);
        self.rebuild(self.slots.len(), self.theta);
    }

    fn rebuild(&mut self, slots: usize, below: u64) {
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); slots]);
        self.len = 0;
        let mask = slots - 1;
        for slot in old {
            if slot.hash == 0 || slot.hash >= below {
                continue;
            }
            let mut at = (slot.hash as usize) & mask;
            while self.slots[at].hash != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
            self.len += 1;
        }
    }

    /// The number of values that the union of two tables keeps: a table that has all values fits
    /// any size, otherwise only the smaller size is valid for both.
    fn agreed(&self, other: &Self) -> u32 {
        match (self.is_exact(), other.is_exact()) {
            (true, true) => self.k.max(other.k),
            (true, false) => other.k,
            (false, true) => self.k,
            (false, false) => self.k.min(other.k),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let k = self.agreed(other);
        self.shrink(k);
        self.k = k;
        if other.theta < self.theta {
            self.theta = other.theta;
            if !self.slots.is_empty() {
                self.rebuild(self.slots.len(), self.theta);
            }
        }
        for slot in &other.slots {
            if slot.hash != 0 && slot.hash < self.theta {
                self.insert(slot.hash, slot.count);
            }
        }
    }

    /// Keeps at most `k` values from now on, unless it has lost values already.
    pub(crate) fn widen(&mut self, k: u32) {
        if self.is_exact() {
            self.k = self.k.max(k);
        }
    }

    /// Keeps at most `k` values from now on. A smaller sample is a subset of a larger one, so it
    /// does not matter when this happens.
    pub(crate) fn shrink(&mut self, k: u32) {
        if k >= self.k {
            return;
        }
        self.k = k;
        self.trim();
        let slots = (self.len as usize * 2).next_power_of_two().max(16);
        if slots < self.slots.len() {
            self.rebuild(slots, u64::MAX);
            self.slots.shrink_to_fit();
        }
    }

    /// Converts the table to its canonical form: the `k` smallest.
    pub(crate) fn settle(&mut self) {
        self.trim();
    }

    /// Returns whether every value is in the table.
    pub(crate) fn is_exact(&self) -> bool {
        self.theta == u64::MAX
    }

    /// The number of distinct values: exact, or estimated from the bound.
    pub(crate) fn distinct(&self) -> f64 {
        if self.is_exact() {
            return f64::from(self.len);
        }
        f64::from(self.len) / (self.theta as f64 / u64::MAX as f64)
    }

    /// Kept hashes with their counts, by hash.
    pub(crate) fn entries(&self) -> Vec<(u64, u32)> {
        let mut all: Vec<_> =
            self.slots.iter().filter(|s| s.hash != 0).map(|s| (s.hash, s.count)).collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    fn sketch(values: impl IntoIterator<Item = i64>) -> Sketch {
        let mut sketch = Sketch::new(256);
        for value in values {
            sketch.add(hash::number(value));
        }
        sketch
    }

    #[test]
    fn few_values_are_exact() {
        let mut few = sketch((0..1000).map(|i| i % 10));
        few.settle();
        assert!(few.is_exact());
        assert_eq!(few.distinct(), 10.0);
        assert!(few.entries().iter().all(|&(_, n)| n == 100));
    }

    #[test]
    fn many_values_are_within_the_error() {
        for n in [1000i64, 50_000, 1_000_000] {
            let mut many = sketch(0..n);
            many.settle();
            let error = (many.distinct() - n as f64).abs() / n as f64;
            assert!(error < 0.2, "{n}: {error}");
            assert_eq!(many.entries().len(), 256);
        }
    }

    #[test]
    fn shrinking_early_or_late_is_the_same() {
        let mut early = Sketch::new(256);
        early.shrink(64);
        let mut late = sketch(0..5000);
        (0..5000).for_each(|n| {
            early.add(hash::number(n));
        });
        late.shrink(64);
        early.settle();
        late.settle();
        assert_eq!(early.entries(), late.entries());
        assert_eq!(late.entries().len(), 64);
    }

    #[test]
    fn merging_is_exact() {
        let mut whole = sketch((0..10_000).map(|i| (i * i) % 777));
        let mut left = sketch((0..4000).map(|i| (i * i) % 777));
        left.merge(&sketch((4000..10_000).map(|i| (i * i) % 777)));
        whole.settle();
        left.settle();
        assert_eq!(whole.entries(), left.entries());
        let mut whole = sketch(0..10_000);
        let mut right = sketch(3000..10_000);
        right.merge(&sketch(0..3000));
        whole.settle();
        right.settle();
        assert_eq!(whole.entries(), right.entries());
    }
}
