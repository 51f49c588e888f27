//! How many values a key has, how frequent the most frequent is, and how chunks of it would fall.

use docward_model::{BsonType, Field, Fullest, KeySpread};

use super::{
    Judge,
    places::{self, Placed, groups},
};

/// Sampled documents below which one occurrence of a value says something about its frequency.
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

    /// The share of the fullest shard as it is, for the key that the collection has.
    fn fullest_measured(&self, key: &[(String, bool)]) -> Option<(f64, Fullest)> {
        let placement = self.placement.filter(|placement| placement.fields == key)?;
        let (shares, by) = placement.shares()?;
        Some((shares.iter().map(|(_, share)| *share).fold(0.0, f64::max), by))
    }

    /// The key's value in every sampled document with its age, sorted by the key, and whether the
    /// values begin alike for too long to be sorted.
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

    /// Whether no two documents share a value of the key: `_id` is part of it.
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

    /// Whether values differ behind the point only, which a hash does not see.
    pub(super) fn is_cut_by_hashing(&self, path: &str) -> bool {
        let number = self.field(path).and_then(|(_, field)| field.number.as_ref());
        number.is_some_and(|n| n.fractional_doubles > 0)
    }

    /// Different values of the whole key, and whether that is exact.
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
                // Whole numbers between the smallest and the largest.
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
        // Chao's estimate of what the sample did not show: values seen once and twice tell.
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
        // One occurrence among the sampled says nothing about frequency.
        if placed.len() >= LEAST_SAMPLE && most <= 1 {
            1.0 / documents
        } else {
            most as f64 / placed.len().max(1) as f64
        }
    }
}
