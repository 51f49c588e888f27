//! A histogram of integers with a bounded relative error: exact below 64, buckets of 1/32 above.
//! Merging is exact.

use docward_model::Distribution;
use serde::{Deserialize, Serialize};

use crate::tally::Tally;

const EXACT: u64 = 64;
const EXACT_BITS: u32 = 6;
const SUB_BITS: u32 = 5;
/// The rule book's array limit: values at or above it are counted exactly.
const EXACT_LIMIT: u64 = 1000;

/// Counts per value below 64, and per bucket above.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Histogram {
    small: Tally<{ EXACT as usize }>,
    /// Counts of values of 64 and above.
    large: Option<Box<Large>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Large {
    /// Indexed by bucket number minus the number of exact ones.
    counts: Vec<u64>,
    min: u64,
    max: u64,
    sum: u64,
    /// The number of values at or above [`EXACT_LIMIT`].
    at_limit: u64,
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
        // Nearly all lengths are small, so this path is a single increment.
        if value < EXACT {
            self.small.bump(value as usize);
        } else {
            self.add_large(value, 1);
        }
    }

    fn add_large(&mut self, value: u64, times: u64) {
        let large =
            self.large.get_or_insert_with(|| Box::new(Large { min: value, ..Large::default() }));
        let at = bucket(value) - EXACT as usize;
        if at >= large.counts.len() {
            large.counts.resize(at + 1, 0);
        }
        large.counts[at] += times;
        large.min = large.min.min(value);
        large.max = large.max.max(value);
        large.sum = large.sum.wrapping_add(value.wrapping_mul(times));
        if value >= EXACT_LIMIT {
            large.at_limit += times;
        }
    }

    /// Adds `times` equal values.
    pub(crate) fn add_many(&mut self, value: u64, times: u64) {
        if times == 0 {
        } else if value < EXACT {
            self.small.add(value as usize, times);
        } else {
            self.add_large(value, times);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.small.merge(&other.small);
        match (&mut self.large, &other.large) {
            (Some(mine), Some(theirs)) => {
                if theirs.counts.len() > mine.counts.len() {
                    mine.counts.resize(theirs.counts.len(), 0);
                }
                mine.counts.iter_mut().zip(&theirs.counts).for_each(|(a, b)| *a += b);
                mine.min = mine.min.min(theirs.min);
                mine.max = mine.max.max(theirs.max);
                mine.sum = mine.sum.wrapping_add(theirs.sum);
                mine.at_limit += theirs.at_limit;
            }
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// Sum of all values.
    pub(crate) fn sum(&self) -> u64 {
        let small: u64 = self.small.all().enumerate().map(|(value, n)| value as u64 * n).sum();
        small.wrapping_add(self.large.as_ref().map_or(0, |l| l.sum))
    }

    pub(crate) fn finish(&self) -> Distribution {
        let large: &[u64] = self.large.as_ref().map_or(&[], |l| &l.counts);
        let buckets: Vec<_> = self
            .small
            .all()
            .chain(large.iter().copied())
            .enumerate()
            .filter(|&(_, n)| n > 0)
            .map(|(at, n)| {
                let (low, high) = range(at);
                (low, high, n)
            })
            .collect();
        let last = self.small.all().rposition(|n| n > 0).unwrap_or(0) as u64;
        Distribution {
            count: buckets.iter().map(|b| b.2).sum(),
            min: match self.small.all().position(|n| n > 0) {
                Some(first) => first as u64,
                None => self.large.as_ref().map_or(0, |l| l.min),
            },
            max: self.large.as_ref().map_or(last, |l| l.max),
            sum: self.sum(),
            buckets,
            exact: Some((EXACT_LIMIT, self.large.as_ref().map_or(0, |l| l.at_limit))),
        }
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
