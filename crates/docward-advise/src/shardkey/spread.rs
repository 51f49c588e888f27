//! Computes the number of values of a key, the frequency of the most frequent one, and the
//! distribution of its chunks.

use docward_model::{BsonType, Field, Fullest, KeySpread};

use super::{
    Judge,
    places::{self, Placed, groups},
};

/// In smaller samples, a single occurrence of a value is significant for its frequency.
const LEAST_SAMPLE: usize = 50;

impl Judge<'_> {
    pub(super) fn spread(&self, key: &[(String, bool)]) -> KeySpread {
        let (placed, blurred) = self.places(key);
        let (values, exact) = self.values(key, &placed);
        let newest = if blurred { None } else { places::newest(&placed, self.chunks()) };
        let measured = self.fullest_measured(key);
        let (fullest_shard, fullest_by) = measured
            .unwrap_or_else(|| (places::fullest_shard(&placed, self.shards), Fullest::Simulated));
        KeySpread {
            values,
            exact,
            top_share: self.top_share(key, &placed),
            newest_share: newest.map(|newest| newest.share),
            hot_end: newest.is_some_and(|newest| newest.is_hot()),
            fullest_shard,
            fullest_by,
        }
    }

    /// The actual share of the fullest shard, for the current key of the collection.
    fn fullest_measured(&self, key: &[(String, bool)]) -> Option<(f64, Fullest)> {
        let placement = self.placement.filter(|placement| placement.fields == key)?;
        let (shares, by) = placement.shares()?;
        Some((shares.iter().map(|(_, share)| *share).fold(0.0, f64::max), by))
    }

    /// Returns the key value and age of every sampled document, sorted by the key. The flag marks
    /// values that share a prefix that is too long for sorting.
    pub(super) fn places(&self, key: &[(String, bool)]) -> (Vec<Placed>, bool) {
        let fields: Vec<(Option<u32>, bool)> = key
            .iter()
            .map(|(path, hashed)| (self.field(path).map(|(at, _)| at), *hashed))
            .collect();
        let mut placed: Vec<Placed> = self
            .profile
            .sample
            .iter()
            .map(|document| Placed {
                place: fields
                    .iter()
                    .map(|&(field, hashed)| places::part(document, field, hashed))
                    .collect(),
                age: self.clock.age(document),
            })
            .collect();
        placed.sort_unstable();
        let blurred = (0..key.len()).any(|at| !key[at].1 && places::is_blurred(&placed, at));
        (placed, blurred)
    }

    /// Returns whether key values are unique because `_id` is a part of the key.
    pub(super) fn is_unique(&self, key: &[(String, bool)]) -> bool {
        key.iter().any(|(path, hashed)| {
            path == "_id"
                && !(*hashed
                    && (self.is_cut_by_hashing(path)
                        || self
                            .field(path)
                            .is_some_and(|(_, f)| f.types.of(BsonType::Decimal) > 0)))
        })
    }

    /// Returns whether values only differ in their fraction, which a hash ignores.
    pub(super) fn is_cut_by_hashing(&self, path: &str) -> bool {
        let number = self.field(path).and_then(|(_, field)| field.number.as_ref());
        number.is_some_and(|n| n.fractional_doubles > 0)
    }

    /// The number of distinct values of the whole key, and whether it is exact.
    pub(super) fn values(&self, key: &[(String, bool)], placed: &[Placed]) -> (f64, bool) {
        if self.is_unique(key) {
            return (self.documents() as f64, true);
        }
        let fields: Vec<(&Field, bool)> =
            key.iter().filter_map(|(path, hashed)| Some((self.field(path)?.1, *hashed))).collect();
        let single = key.len() == 1;
        let cut = |(field, hashed): &(&Field, bool)| {
            *hashed && self.is_cut_by_hashing(field.path.as_str())
        };
        match fields.as_slice() {
            [] => return (1.0, true),
            [(field, _)] if single && !fields.iter().any(cut) => {
                return (field.distinct.values, field.distinct.exact);
            }
            _ => {}
        }
        let documents = self.profile.documents as f64;
        let of = |field: &(&Field, bool)| {
            let values = field.0.distinct.values.max(1.0);
            match &field.0.number {
                // The number of integers between the minimum and the maximum.
                Some(n) if cut(field) => values.min(n.max.trunc() - n.min.trunc() + 1.0),
                _ => values,
            }
        };
        let most: f64 = fields.iter().map(of).product();
        let least = fields.iter().filter(|f| !cut(f)).map(of).fold(1.0, f64::max);
        let groups = groups(placed);
        if placed.len() as u64 >= self.profile.documents {
            return (groups.len() as f64, true);
        }
        // Chao's estimator for unseen values, from the values that occur once and twice.
        let once = groups.iter().filter(|&&n| n == 1).count() as f64;
        let twice = groups.iter().filter(|&&n| n == 2).count() as f64;
        let unseen = if twice > 0.0 {
            once * once / (2.0 * twice)
        } else {
            once * (once - 1.0).max(0.0) / 2.0
        };
        let estimate = groups.len() as f64 + unseen;
        (estimate.clamp(least, most.min(documents).max(least)), false)
    }

    fn top_share(&self, key: &[(String, bool)], placed: &[Placed]) -> f64 {
        let documents = self.profile.documents.max(1) as f64;
        if self.is_unique(key) {
            return 1.0 / documents;
        }
        if let [(path, hashed)] = key
            && !(*hashed && self.is_cut_by_hashing(path))
        {
            let Some((_, field)) = self.field(path) else { return 1.0 };
            let missing = 1.0 - field.types.non_null() as f64 / documents;
            let share = field.distinct.top_share * field.types.non_null() as f64 / documents;
            return share.max(missing);
        }
        let most = groups(placed).into_iter().max().unwrap_or(0);
        // A single occurrence in the sample is not significant for the frequency.
        if placed.len() >= LEAST_SAMPLE && most <= 1 {
            1.0 / documents
        } else {
            most as f64 / placed.len().max(1) as f64
        }
    }
}
