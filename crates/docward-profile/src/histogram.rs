//! A histogram of whole numbers with a bounded relative error: exact below 64, buckets of 1/32 above.
//! Merging is exact.

use docward_model::Distribution;

const EXACT: u64 = 64;
const EXACT_BITS: u32 = 6;
const SUB_BITS: u32 = 5;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    min: u64,
    max: u64,
    sum: u64,
    total: u64,
}

#[inline]
fn bucket(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros();
    let sub = (value >> (exponent - SUB_BITS)) & ((1 << SUB_BITS) - 1);
    EXACT as usize + ((exponent - EXACT_BITS) << SUB_BITS) as usize + sub as usize
}

fn range(bucket: usize) -> (u64, u64) {
    if bucket < EXACT as usize {
        return (bucket as u64, bucket as u64);
    }
    let index = bucket - EXACT as usize;
    let exponent = EXACT_BITS + (index >> SUB_BITS) as u32;
    let sub = (index & ((1 << SUB_BITS) - 1)) as u64;
    let width = 1u64 << (exponent - SUB_BITS);
    let low = (1u64 << exponent) + sub * width;
    (low, low + (width - 1))
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let at = bucket(value);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        if self.total == 0 || value < self.min {
            self.min = value;
        }
        self.max = self.max.max(value);
        self.sum = self.sum.wrapping_add(value);
        self.total += 1;
    }

    /// Adds `n` equal values.
    pub(crate) fn add_many(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        self.add(value);
        self.counts[bucket(value)] += n - 1;
        self.sum = self.sum.wrapping_add(value.wrapping_mul(n - 1));
        self.total += n - 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.total == 0 {
            return;
        }
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.min = if self.total == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.sum = self.sum.wrapping_add(other.sum);
        self.total += other.total;
    }

    pub(crate) fn finish(&self) -> Distribution {
        let buckets = self
            .counts
            .iter()
            .enumerate()
            .filter(|&(_, &n)| n > 0)
            .map(|(at, &n)| {
                let (low, high) = range(at);
                (low, high, n)
            })
            .collect();
        Distribution { count: self.total, min: self.min, max: self.max, sum: self.sum, buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values_and_are_narrow() {
        for value in (0..5000).chain((13..60).flat_map(|e| [(1u64 << e) - 1, 1 << e, (1 << e) + 1]))
        {
            let (low, high) = range(bucket(value));
            assert!(low <= value && value <= high, "{value} in {low}..={high}");
            assert!(high - low <= value / 32, "{value}: {low}..={high}");
        }
    }

    #[test]
    fn quantiles_are_within_the_stated_error() {
        let mut histogram = Histogram::default();
        (1..=100_000u64).for_each(|v| histogram.add(v));
        let distribution = histogram.finish();
        for q in [0.01, 0.5, 0.95, 0.99, 1.0] {
            let exact = 100_000.0 * q;
            let got = distribution.quantile(q) as f64;
            assert!((got - exact).abs() <= exact / 32.0 + 1.0, "q {q}: {got}");
        }
        assert_eq!(distribution.at_least(100_000), 1);
        assert_eq!(distribution.at_least(100_001), 0);
    }
}
