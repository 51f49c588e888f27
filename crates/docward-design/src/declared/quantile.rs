//! Interpolates a declared spread between its figures. Predictions and the documents of `design
//! simulate` use the same curve, so a predicted mean is the mean of the generated documents.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use docward_model::Spread;

/// The number of midpoints for a mean.
const STEPS: u32 = 400;

/// The share of values that equal the maximum, if the number of values is unknown.
pub const RAREST: f64 = 0.5 / STEPS as f64;

/// Returns the value that the share `q` of all values does not exceed. The share `rarest` of values
/// reaches the maximum. The curve is linear between the logarithm of the value and the logarithm of
/// the share above it. Numbers of children and lengths of texts have such long tails.
pub fn at(spread: Spread, q: f64, rarest: f64) -> f64 {
    along(spread, &knots(spread, rarest), depth(1.0 - q.clamp(0.0, 1.0)))
}

fn depth(above: f64) -> f64 {
    -above.max(1e-12).ln()
}

/// Returns depths and the logarithm of the value at each.
fn knots(spread: Spread, rarest: f64) -> [(f64, f64); 5] {
    // Zero has no logarithm. Values below 0.5 round to zero.
    let log = |value: u64| (value as f64).max(0.4).ln();
    let (p50, p95) = (log(spread.p50), log(spread.p95));
    // Below the median, the curve mirrors the one above it.
    let low = p50 - (p95 - p50);
    [
        (0.0, low),
        (depth(0.5), p50),
        (depth(0.05), p95),
        (depth(0.01), log(spread.p99)),
        (depth(rarest.min(0.005)), log(spread.max)),
    ]
}

fn along(spread: Spread, knots: &[(f64, f64); 5], t: f64) -> f64 {
    for pair in knots.windows(2) {
        let ((from, a), (to, b)) = (pair[0], pair[1]);
        if t <= to {
            return (a + (b - a) * (t - from) / (to - from)).exp();
        }
    }
    spread.max as f64
}

/// The depths of the midpoints.
static MIDPOINTS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let above = |i: u32| 1.0 - (f64::from(i) + 0.5) / f64::from(STEPS);
    (0..STEPS).map(|i| depth(above(i))).collect()
});

/// Returns the share of all elements beyond the first `most` of each list.
pub(crate) fn beyond(spread: Spread, most: u64) -> f64 {
    let cut = |number: u64| number.min(most);
    let Spread { p50, p95, p99, max } = spread;
    let first = Spread { p50: cut(p50), p95: cut(p95), p99: cut(p99), max: cut(max) };
    1.0 - mean(first) / mean(spread).max(1.0)
}

/// Returns the mean of integers with this spread.
pub fn mean(spread: Spread) -> f64 {
    // Most figures are declared as constant.
    if spread == Spread::always(spread.p50) {
        return spread.p50 as f64;
    }
    let key = [spread.p50, spread.p95, spread.p99, spread.max];
    if let Some(known) = MEANS.with_borrow(|means| means.get(&key).copied()) {
        return known;
    }
    let knots = knots(spread, RAREST);
    let all = MIDPOINTS.iter().map(|t| along(spread, &knots, *t).round());
    let mean = all.sum::<f64>() / f64::from(STEPS);
    MEANS.with_borrow_mut(|means| {
        if means.len() >= KNOWN {
            means.clear();
        }
        means.insert(key, mean);
    });
    mean
}

/// The maximum number of cached means. A model declares few spreads but needs their means often.
const KNOWN: usize = 4096;

thread_local! {
    static MEANS: RefCell<BTreeMap<[u64; 4], f64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the spread of the length of a value, from its typical length and its 99th percentile.
pub fn lengths((typical, p99): (u64, u64)) -> Spread {
    let p99 = p99.max(typical);
    let ratio = p99 as f64 / typical.max(1) as f64;
    // The point of the curve at the 95th percentile.
    let p95 = (typical as f64 * ratio.powf(0.588_6)).round() as u64;
    Spread { p50: typical, p95, p99, max: p99 }
}

/// Returns the number of children of each parent, in ascending order.
pub fn counts(spread: Spread, parents: u64) -> Vec<u64> {
    let all = parents.max(1) as f64;
    (0..parents).map(|i| at(spread, (i as f64 + 0.5) / all, 0.5 / all).round() as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_met() {
        let spread = Spread { p50: 40, p95: 400, p99: 2847, max: 20_000 };
        for (q, value) in [(0.5, 40.0), (0.95, 400.0), (0.99, 2847.0), (0.9999, 20_000.0)] {
            assert!((at(spread, q, 0.0001) - value).abs() < 0.5, "{q}");
        }
        let counts = counts(spread, 5000);
        assert_eq!((counts[2500], counts.last()), (40, Some(&20_000)));
        assert!(counts.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn what_is_always_the_same_stays_so() {
        assert!(counts(Spread::always(1), 7).iter().all(|n| *n == 1));
        assert!(counts(Spread::always(0), 7).iter().all(|n| *n == 0));
        assert!((mean(lengths((12, 12))) - 12.0).abs() < 1e-9);
    }
}
