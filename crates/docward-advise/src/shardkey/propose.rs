//! Proposes and ranks keys (ALG-9, SK-10, SK-11).

use std::cmp::Ordering;

use docward_model::{BsonType, CollectionKind, Field, KeyFields, KeyVerdict, QueryStats, Verdict};

use super::{Judge, RANGES, is_plain};
use docward_rules::facts::{indexes::sharding, names::meaning, text, values::monotonic};

/// The maximum number of fields to try.
const FIELDS: usize = 24;
/// The maximum number of proposals.
pub(super) const PROPOSALS: usize = 5;
/// With fewer documents a collection needs no shards and is no basis for a choice.
const LEAST_DOCUMENTS: u64 = 100;

impl<'a> Judge<'a> {
    /// Keys that distribute well, whether the server accepts them or not, best first: by the reads
    /// they target, then by evenness.
    pub(super) fn spreading(&self, fields: &[&str], zone: Option<&str>) -> Vec<KeyVerdict> {
        let no_zone = zone.is_some_and(|zone| self.field(zone).is_none());
        if self.documents() < LEAST_DOCUMENTS || no_zone {
            return Vec::new();
        }
        let ranged = |path: &str| (path.to_owned(), false);
        let mut keys: Vec<KeyFields> = Vec::new();
        match zone {
            Some(zone) => {
                let finer = fields.iter().filter(|f| **f != zone);
                keys.extend(finer.map(|f| vec![ranged(zone), ranged(f)]));
            }
            None => {
                for first in fields {
                    keys.push(vec![ranged(first)]);
                    keys.push(vec![((*first).to_owned(), true)]);
                    for second in fields.iter().filter(|f| *f != first) {
                        keys.push(vec![ranged(first), ranged(second)]);
                    }
                }
            }
        }
        let mut passed: Vec<KeyVerdict> = keys
            .iter()
            .map(|key| self.verdict(key))
            .filter(|verdict| self.is_known_to_spread(verdict, zone.is_some()))
            .collect();
        passed.sort_by(|a, b| {
            self.rank(a, zone.is_some())
                .partial_cmp(&self.rank(b, zone.is_some()))
                .unwrap_or(Ordering::Equal)
                .then_with(|| a.fields.cmp(&b.fields))
        });
        passed
    }

    /// Returns the spreading keys that can be recommended.
    pub(super) fn proposals(
        &self,
        spreading: &[KeyVerdict],
        zone: Option<&str>,
    ) -> Vec<KeyVerdict> {
        let passed: Vec<KeyVerdict> =
            spreading.iter().filter(|key| key.refusals.is_empty()).cloned().collect();
        if zone.is_some() {
            return passed;
        }
        // A longer key is useful if reads filter by its second field within the first, or if the
        // first alone is not sufficient.
        let singles: Vec<(String, bool)> =
            passed.iter().filter(|v| v.fields.len() == 1).map(|v| v.fields[0].clone()).collect();
        let mut out: Vec<KeyVerdict> = Vec::new();
        for verdict in passed {
            let first = &verdict.fields[0];
            let same_first = out.iter().filter(|o| o.fields[0] == *first).count();
            let is_new = verdict.fields.len() == 1
                || self.is_read_within(&verdict.fields)
                || (!singles.contains(first) && same_first == 0);
            if is_new && same_first < 2 {
                out.push(verdict);
            }
        }
        out
    }

    /// Returns whether a key is known to distribute well. If the age of documents is unknown,
    /// unique values may have been assigned in order.
    fn is_known_to_spread(&self, key: &KeyVerdict, for_zone: bool) -> bool {
        let may_rise = |path: &str| self.field(path).is_none_or(|(_, f)| monotonic::is_own(f));
        key.spread.is_some()
            && key.checks.iter().all(|check| match (check.clause, check.verdict) {
                (_, Verdict::Pass | Verdict::Warn) | ("SK-4", Verdict::Unknown) => true,
                // A zone key must begin with its field, whether reads contain it or not.
                ("SK-4", Verdict::Fail) => for_zone,
                ("SK-3", Verdict::Unknown) => {
                    key.fields.iter().all(|(path, hashed)| *hashed || !may_rise(path))
                }
                _ => false,
            })
    }

    /// Returns whether reads with a fixed first field use a range or an order of the second often
    /// enough to keep such documents together (SK-10).
    fn is_read_within(&self, key: &[(String, bool)]) -> bool {
        let [(first, _), (second, _), ..] = key else { return false };
        let within = |s: &QueryStats| {
            sharding::is_fixed(first, &s.shape)
                && (s.shape.filter.iter().any(|p| p.path == *second)
                    || s.shape.sort.first().is_some_and(|(by, _)| by == second))
        };
        self.share_of_reads(within).is_some_and(|share| share > RANGES)
    }

    /// The rank of a key, smaller is better. The criteria, in order: reads that contain the key;
    /// whether its hash scatters frequent range reads (SK-9); the kind of its first field; whether
    /// reads filter within it; evenness. A zone field comes first whatever reads contain, so there
    /// the next field decides.
    fn rank(&self, key: &KeyVerdict, for_zone: bool) -> (f64, bool, u8, bool, f64, usize) {
        let decisive = key.fields.get(usize::from(for_zone)).map_or("", |(path, _)| path.as_str());
        let named = if for_zone {
            self.share_of_reads(|s| {
                sharding::is_fixed(decisive, &s.shape) || sharding::is_ranged(decisive, &s.shape)
            })
        } else {
            key.targeted
        };
        let even = key.spread.map_or(f64::MAX, |spread| {
            (spread.fullest_shard * 20.0).round()
                + (spread.newest_share.unwrap_or(0.0) * 10.0).round()
                + (spread.top_share * 20.0).round()
        });
        (
            -(named.unwrap_or(0.0) * 20.0).round(),
            key.hashed_ranges.is_some_and(|share| share > RANGES),
            self.likelihood(decisive),
            !self.is_read_within(&key.fields),
            even,
            key.fields.len(),
        )
    }

    /// Ranks how likely reads filter by a field, for collections without a workload: ids of other entities first,
    /// then the document's own, then everything except times and amounts.
    fn likelihood(&self, path: &str) -> u8 {
        let Some((_, field)) = self.field(path) else { return 5 };
        let kind = |kind: BsonType| field.types.of(kind) * 2 > field.count;
        if path == "_id" {
            1
        } else if monotonic::is_dated(field) || kind(BsonType::Decimal) || kind(BsonType::Double) {
            4
        } else if meaning::is_id(&field.name) {
            0
        } else if kind(BsonType::String) {
            2
        } else {
            3
        }
    }

    /// The fields a key may consist of: scalars that every document has, those that reads contain
    /// first.
    pub(super) fn candidates(&self) -> Vec<&'a str> {
        let asked = |path: &str| -> u64 {
            let reads = self.reads.iter().flatten();
            let names = |s: &QueryStats| {
                s.shape.filter.iter().any(|p| p.path == path)
                    || s.shape.sort.first().is_some_and(|(by, _)| by == path)
            };
            reads.filter(|s| names(s)).map(|s| s.count).sum()
        };
        let scalar = |field: &Field| {
            let few = |n: u64| n * 2 < field.count.max(1);
            // Doubles without a fraction are ids written by drivers without integers; binaries of
            // subtype 4 are UUIDs.
            let fractions = field.number.map_or(0, |number| number.fractional_doubles);
            let uuids = field.blob.as_ref().map_or(0, |blob| {
                blob.subtypes.iter().filter(|(kind, _)| *kind == 4).map(|(_, n)| n).sum()
            });
            few(field.types.of(BsonType::Object))
                && few(field.types.of(BsonType::Bool))
                && few(fractions)
                && few(field.types.of(BsonType::BinData).saturating_sub(uuids))
        };
        let mut fields: Vec<&'a Field> = self
            .profile
            .fields
            .iter()
            .filter(|f| {
                f.types.non_null() * 100 >= self.profile.documents * 99
                    && f.distinct.values >= 2.0
                    && is_plain(self.profile, f)
                    && scalar(f)
                    && f.text.as_ref().is_none_or(|t| t.lengths.quantile(0.99) <= 200)
            })
            .collect();
        fields.sort_by(|a, b| {
            let key = |f: &Field| (asked(f.path.as_str()), f.distinct.values as u64);
            key(b).cmp(&key(a)).then_with(|| a.path.cmp(&b.path))
        });
        fields.into_iter().take(FIELDS).map(|f| f.path.as_str()).collect()
    }

    pub(super) fn why_nothing(&self, spreading: &[KeyVerdict], zone: Option<&str>) -> String {
        if self.collection.kind == CollectionKind::Capped {
            return "capped collections cannot be sharded".to_owned();
        }
        if let Some(why) = spreading.iter().find_map(|key| self.why_not_unique(key)) {
            return why;
        }
        if self.documents() < self.needed() {
            return format!(
                "the collection has {}, too few to need shards or to find a good key",
                text::plural(self.documents(), "document")
            );
        }
        if let Some(zone) = zone {
            if self.field(zone).is_none() {
                return format!("no document has `{zone}`");
            }
            return format!("no field after `{zone}` distributes the documents within each zone");
        }
        if self.share_of_reads(|_| true).is_some() {
            return format!(
                "no key of one or two fields both distributes the documents and is used by {} of \
                 {}: first change the queries so that they filter on a common field",
                text::percent(self.limits.targeted),
                self.reads_in_words()
            );
        }
        "no field or pair of fields has enough values without a dominant or monotonic one; add a \
         field for the shard key"
            .to_owned()
    }

    /// For a key that is good except for unique indexes: those indexes, and the options.
    fn why_not_unique(&self, key: &KeyVerdict) -> Option<String> {
        let indexes = self.not_unique_any_more(&key.fields);
        if indexes.is_empty() || indexes.len() < key.refusals.len() {
            return None;
        }
        let n = indexes.len() as u64;
        let named: Vec<String> =
            indexes.iter().map(|i| format!("`{}` {}", i.name, i.key_text())).collect();
        let best = sharding::key_text(&key.fields);
        Some(format!(
            "every unique index must begin with the shard key, and no key that distributes the \
             documents is a prefix of the {} {}; to use {best}, drop {2} or rebuild {2} with that \
             key in front; values are then unique only within each shard key value",
            text::form(n, "unique index", "unique indexes"),
            text::phrases(&named, 3),
            text::form(n, "it", "them"),
        ))
    }
}
