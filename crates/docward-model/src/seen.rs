//! Sample sizes: the number of examined items, and the conclusions about the rest.

use crate::{Unit, text};

/// The confidence level of all statements about a population from a sample.
const CONFIDENCE: f64 = 0.95;

/// The two-sided quantile of the normal distribution for that level.
const Z: f64 = 1.96;

/// The extent of an examination: the numbers behind a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The unit of the counts.
    pub unit: Unit,
    /// The number examined.
    pub sampled: u64,
    /// The total number.
    pub total: u64,
    /// The probability that the statement holds for all of them; 1 if everything was read. If the
    /// sample is not random, this is the fraction read rather than a probability.
    pub confidence: f64,
    /// The number of examined items that show the problem, if the statement is about a count.
    pub showing: Option<u64>,
    /// True if the sample is random. A run that was stopped early covers only the first part.
    pub by_chance: bool,
}

impl Seen {
    /// Everything was examined.
    pub fn all(total: u64, unit: Unit) -> Self {
        Self::some(total, total, unit, true)
    }

    /// A part was examined.
    pub fn some(sampled: u64, total: u64, unit: Unit, by_chance: bool) -> Self {
        let confidence = match (sampled >= total, by_chance) {
            (true, _) => 1.0,
            (_, true) => CONFIDENCE,
            (_, false) => sampled as f64 / total as f64,
        };
        Self { unit, sampled, total, confidence, showing: None, by_chance }
    }

    /// Returns the same for a statement that is based on a sample of the examined items.
    #[must_use]
    pub fn estimated(self, estimated: bool) -> Self {
        let most = if estimated { CONFIDENCE } else { 1.0 };
        Self { confidence: self.confidence.min(most), ..self }
    }

    /// The same for a statement about this many of those examined.
    #[must_use]
    pub fn showing(self, showing: u64) -> Self {
        Self { showing: Some(showing.min(self.sampled)), ..self }
    }

    /// Returns whether the sample allows a statement about all of them.
    fn is_sample(&self) -> bool {
        self.by_chance && self.sampled > 0 && self.sampled < self.total
    }

    /// An upper bound on the share of the population with the property, if none of the sample has
    /// it.
    pub fn unseen_below(&self) -> Option<f64> {
        self.is_sample().then(|| unseen_share(self.sampled))
    }

    /// The interval for the share of the population with the property. It is Wilson's score
    /// interval with finite population correction, limited to the values that the count allows.
    pub fn share(&self) -> Option<(f64, f64)> {
        let showing = self.showing.filter(|_| self.is_sample())?;
        let (k, read, total) = (showing as f64, self.sampled as f64, self.total as f64);
        // Finite population correction: the larger the fraction read, the smaller the uncertainty.
        let n = read * (total - 1.0) / (total - read);
        let (p, z2) = (k / read, Z * Z);
        let center = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let high = if showing == 0 { unseen_share(self.sampled) } else { center + half };
        let counted = (k / total, (k + total - read) / total);
        Some(((center - half).max(counted.0).min(p), high.min(counted.1).max(p)))
    }

    /// The statement about the population, as text; `None` if everything, or too little, was
    /// examined.
    pub fn of_all(&self) -> Option<String> {
        if let Some((low, high)) = self.share() {
            return Some(format!("{} of all", text::percent_range(low, high)));
        }
        // The sample is too small for any bound below 100 %.
        let share = self.unseen_below().filter(|share| *share < 1.0)?;
        Some(format!("what they do not show, fewer than {} have", text::small_percent(share)))
    }
}

/// The upper bound of the share with 95 % confidence if none in the sample has the property: 3/n
/// (rule of three).
fn unseen_share(sampled: u64) -> f64 {
    3.0 / sampled.max(3) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(sampled: u64, total: u64) -> Seen {
        Seen::some(sampled, total, Unit::Documents, true)
    }

    #[test]
    fn what_none_shows_is_rare_in_all() {
        assert_eq!(sample(20_000, 1_000_000).unseen_below(), Some(0.000_15));
        let said = sample(20_000, 1_000_000).of_all().unwrap();
        assert_eq!(said, "what they do not show, fewer than 0.015 % have");
        assert_eq!(sample(20_000, 20_000).of_all(), None);
        assert_eq!(sample(0, 20_000).of_all(), None, "nothing follows from nothing");
        assert_eq!(sample(3, 20_000).of_all(), None, "and nothing from three");
    }

    #[test]
    fn what_some_show_lies_between_two_shares() {
        // Wilson's interval for 37 of 20,000, from the published formula: 0.134 % to 0.255 %.
        let (low, high) = sample(20_000, u64::MAX).showing(37).share().unwrap();
        assert!((low - 0.001_342).abs() < 1e-5 && (high - 0.002_549).abs() < 1e-5, "{low} {high}");
        assert_eq!(
            sample(20_000, 1_200_000).showing(37).of_all().unwrap(),
            "0.13 to 0.26 % of all"
        );
        assert_eq!(sample(10, 1_000_000).showing(10).of_all().unwrap(), "72 to 100 % of all");
    }

    #[test]
    fn what_was_counted_is_never_contradicted() {
        for (showing, read, total) in
            [(1, 10, 11), (10, 10, 11), (0, 10, 11), (5, 99, 100), (1, 1, 2)]
        {
            let (low, high) = sample(read, total).showing(showing).share().unwrap();
            let least = showing as f64 / total as f64;
            let most = (showing + total - read) as f64 / total as f64;
            assert!(
                least <= low && low <= high && high <= most,
                "{showing} {read} {total}: {low} {high}"
            );
        }
    }

    #[test]
    fn without_chance_nothing_is_said_of_the_rest() {
        let cut = Seen::some(8_000, 20_000, Unit::Documents, false).showing(4);
        assert_eq!((cut.confidence, cut.of_all()), (0.4, None));
    }

    /// The interval must hold in at least about 95 of 100 samples, also for rare properties in
    /// small collections.
    #[test]
    fn the_interval_holds_as_often_as_it_says() {
        let mut state = 7_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for (total, read, having) in
            [(20_000_u64, 1_000, 100), (5_000, 1_000, 2_500), (3_000, 1_000, 30)]
        {
            let mut held = 0;
            for _ in 0..1_000 {
                // Draws without replacement: the first `having` have the property.
                let (mut left, mut having_left, mut showing) = (total, having, 0);
                for _ in 0..read {
                    if random() % left < having_left {
                        having_left -= 1;
                        showing += 1;
                    }
                    left -= 1;
                }
                let (low, high) = sample(read, total).showing(showing).share().unwrap();
                let share = having as f64 / total as f64;
                held += u32::from(low <= share && share <= high);
            }
            assert!(held >= 930, "{held} of 1,000 with {having} of {total}");
        }
    }
}
