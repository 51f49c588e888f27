//! Growth, either estimated from the ages of documents in one snapshot or measured on the same
//! documents on two dates.

use serde::{Deserialize, Serialize};

use crate::FieldPath;

/// The growth of a quantity with the age of its document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Spearman's rank correlation with age, −1..=1.
    pub correlation: f64,
    /// Documents it was computed on.
    pub rows: u64,
    /// Median growth per day of age (Theil–Sen slope).
    pub per_day: f64,
    /// The days between the oldest and the newest examined document.
    pub days: f64,
    /// Unix time in milliseconds of the newest document: "now" for forecasts.
    pub newest_ms: i64,
}

/// The change of a quantity in documents that were read on two dates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Documents seen on both dates.
    pub documents: u64,
    /// Documents in which the quantity grew.
    pub grown: u64,
    /// Documents in which the quantity shrank.
    pub shrunk: u64,
    /// Median growth per day of those that grew.
    pub per_day: f64,
    /// Current value and growth per day of documents that are not dominated by another one (both
    /// smaller and slower). For any limit, one of them reaches it first.
    pub leaders: [(u64, f64); 4],
    /// The largest value on the earlier date.
    #[serde(default)]
    pub largest_then: u64,
    /// The number of different amounts by which values grew to the largest value of the later date.
    /// Many different amounts mean that the application truncates at that length.
    #[serde(default)]
    pub ways_to_largest: u64,
    /// The earlier date, Unix time in milliseconds.
    pub from_ms: i64,
    /// The later date.
    pub to_ms: i64,
}

impl Observed {
    /// Days between the two dates.
    pub fn days(&self) -> f64 {
        (self.to_ms - self.from_ms) as f64 / 86_400_000.0
    }

    /// Days after the later date on which the first document reaches `target`; `None` if one has
    /// reached it already or none will.
    pub fn days_until(&self, target: f64) -> Option<f64> {
        self.days_until_beyond(target, 0.0)
    }

    /// Like [`Self::days_until`], but ignores growth of at most `step`: it may have been a single
    /// event.
    pub fn days_until_beyond(&self, target: f64, step: f64) -> Option<f64> {
        self.first_beyond(target, step).map(|(days, _)| days)
    }

    /// Like [`Self::days_until_beyond`], and also returns the growth rate of the first document.
    pub fn first_beyond(&self, target: f64, step: f64) -> Option<(f64, f64)> {
        let growing = || self.leaders.iter().filter(|(_, per_day)| *per_day > 0.0);
        if growing().any(|&(now, _)| now as f64 >= target) {
            return None;
        }
        // Half a unit of tolerance: after division by the days, the rate is no longer a whole
        // number of units.
        growing()
            .filter(|(_, per_day)| per_day * self.days() > step + 0.5)
            .map(|&(now, per_day)| ((target - now as f64) / per_day, per_day))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A document as it was on the date of reading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrackedDocument {
    /// Hash of its `_id`.
    pub hash: u64,
    /// BSON type and value of its `_id` in hexadecimal digits; empty if the `_id` is long.
    pub id: String,
    /// Its size.
    pub bytes: u64,
    /// Lengths of its arrays, for array paths that occur once per document.
    pub arrays: Vec<(FieldPath, u64)>,
}
