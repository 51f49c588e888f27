//! Counters that take four bytes each while they are small. A place has more than a hundred of
//! them, and the speed of the hot path depends on the number of cache lines it touches. Exact for
//! any value.

use serde::{Deserialize, Serialize};

/// `N` counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub(crate) struct Tally<const N: usize> {
    low: [u32; N],
    /// Full-size counters, for values that no longer fit.
    high: Option<Box<[u64; N]>>,
}

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self { low: [0; N], high: None }
    }
}

impl<const N: usize> From<Tally<N>> for Vec<u64> {
    fn from(tally: Tally<N>) -> Self {
        tally.all().collect()
    }
}

impl<const N: usize> From<Vec<u64>> for Tally<N> {
    fn from(counts: Vec<u64>) -> Self {
        let mut tally = Self::default();
        counts.into_iter().take(N).enumerate().for_each(|(at, n)| tally.add(at, n));
        tally
    }
}

impl<const N: usize> Tally<N> {
    #[inline(always)]
    pub(crate) fn bump(&mut self, at: usize) {
        let count = &mut self.low[at];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.add_high(at, 1 << 32);
        }
    }

    pub(crate) fn add(&mut self, at: usize, times: u64) {
        let sum = u64::from(self.low[at]) + (times & u64::from(u32::MAX));
        self.low[at] = sum as u32;
        let carried = (times >> 32) + (sum >> 32);
        if carried > 0 {
            self.add_high(at, carried << 32);
        }
    }

    #[cold]
    fn add_high(&mut self, at: usize, n: u64) {
        self.high.get_or_insert_with(|| Box::new([0; N]))[at] += n;
    }

    pub(crate) fn get(&self, at: usize) -> u64 {
        u64::from(self.low[at]) + self.high.as_ref().map_or(0, |high| high[at])
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + '_ {
        (0..N).map(|at| self.get(at))
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (at, n) in other.all().enumerate() {
            self.add(at, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_beyond_four_bytes() {
        let mut tally = Tally::<3>::default();
        tally.add(1, u64::from(u32::MAX));
        tally.bump(1);
        assert_eq!(tally.get(1), 1 << 32);
        tally.bump(1);
        tally.add(2, 7 << 33);
        let mut other = tally.clone();
        other.merge(&tally);
        assert_eq!(other.all().collect::<Vec<_>>(), [0, (1 << 33) + 2, 7 << 34]);
    }
}
