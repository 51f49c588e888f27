//! Growth: told from the ages of documents in one snapshot, or seen in the same documents on two
//! dates.

use serde::{Deserialize, Serialize};

use crate::FieldPath;

/// How something grows with the age of its document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Spearman's rank correlation with age, −1..=1.
    pub correlation: f64,
    /// Documents it was computed on.
    pub rows: u64,
    /// Median growth per day of age (Theil–Sen slope).
    pub per_day: f64,
    /// Days between the oldest and the newest document looked at.
    pub days: f64,
    /// Unix time in milliseconds of the newest document: "now" for forecasts.
    pub newest_ms: i64,
}

/// How something changed in documents that were seen on two dates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Documents seen on both dates.
    pub documents: u64,
    /// Those in which it grew.
    pub grown: u64,
    /// Those in which it shrank.
    pub shrunk: u64,
    /// Median growth per day of those that grew.
    pub per_day: f64,
    /// Present value and growth per day of documents none of which is both smaller and slower than
    /// another: whatever the limit, one of them is the first to reach it.
    pub leaders: [(u64, f64); 4],
    /// The largest value on the earlier date.
    #[serde(default)]
    pub largest_then: u64,
    /// By how many different amounts values have grown to the largest one of the later date: what grows to one
    /// length by many is cut there.
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

    /// Days after the later date on which the first document reaches `target`; `None` when one is
    /// there already or none gets there.
    pub fn days_until(&self, target: f64) -> Option<f64> {
        self.days_until_beyond(target, 0.0)
    }

    /// As [`Self::days_until`], but documents that grew by no more than `step` have no pace: that may
    /// have happened once.
    pub fn days_until_beyond(&self, target: f64, step: f64) -> Option<f64> {
        self.first_beyond(target, step).map(|(days, _)| days)
    }

    /// The same with the pace of the document that is first.
    pub fn first_beyond(&self, target: f64, step: f64) -> Option<(f64, f64)> {
        let growing = || self.leaders.iter().filter(|(_, per_day)| *per_day > 0.0);
        if growing().any(|&(now, _)| now as f64 >= target) {
            return None;
        }
        // Half a unit: the pace was divided by the days and is a whole number of units no more.
        growing()
            .filter(|(_, per_day)| per_day * self.days() > step + 0.5)
            .map(|&(now, per_day)| ((target - now as f64) / per_day, per_day))
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A document as it was on the date it was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrackedDocument {
    /// Hash of its `_id`.
    pub hash: u64,
    /// BSON type and value of its `_id` in hexadecimal digits; empty when that is long.
    pub id: String,
    /// Its size.
    pub bytes: u64,
    /// Lengths of the arrays it has once each.
    pub arrays: Vec<(FieldPath, u64)>,
}
