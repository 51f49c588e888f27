//! Measures and ranks shard keys (ALG-9, SK-1 to SK-13) by these figures:
//!
//! - the number of values, and the share of the most frequent one
//! - whether values increase with time
//! - the evenness of the distribution
//! - the share of reads that contain the key
//!
//! Single fields are checked by their profile. Combinations of fields, and the distribution of
//! chunks, are computed on documents drawn at random.

mod age;
mod change;
mod places;
mod propose;
mod spread;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::BTreeMap};

use docward_model::{
    BsonType, Collection, Evidence, Field, FieldShape, KeyAnalysis, KeyCheck, KeyFields, KeyReport,
    KeySpread, KeyVerdict, Namespace, Placement, Profile, QueryStats, Settings, Verdict,
};

use age::Clock;
use docward_rules::facts::thresholds::{k001, k002, k003, w011};
use docward_rules::facts::{
    indexes::{
        key_change::{KeyChange, KeyChangePlan},
        sharding,
    },
    text,
    values::ids,
};
use places::CHUNKS;

/// The share of range reads from which a hashed key is expensive (SK-9).
const RANGES: f64 = 0.2;

/// The question to answer.
#[derive(Clone, Debug, Default)]
pub struct KeyQuestion {
    /// Keys to check; empty to propose some.
    pub keys: Vec<KeyFields>,
    /// The number of shards.
    pub shards: Option<u32>,
    /// A field that determines where documents must be stored; it comes first in every proposal
    /// (SK-11).
    pub zone: Option<String>,
    /// True if the zone plan may contain values of documents.
    pub show_values: bool,
}

/// Checks and proposes keys for a collection.
pub fn shard_keys(
    collection: &Collection,
    evidence: &Evidence,
    settings: &Settings,
    question: &KeyQuestion,
) -> Option<KeyReport> {
    let profile = collection.profile.as_ref()?;
    let shards = question.shards.or(sharding::shards(evidence, settings)).unwrap_or(3).max(2);
    let placement = placement(evidence, &collection.namespace);
    // The current key is checked first.
    let keys = match &placement {
        Some(placement) if question.keys.is_empty() => vec![placement.fields.clone()],
        _ => question.keys.clone(),
    };
    let reads = sharding::reads(evidence).remove(&collection.namespace).unwrap_or_default();
    let mut judge = Judge {
        collection,
        profile,
        shards,
        limits: Limits::of(settings, &collection.namespace),
        reads: evidence.workload.is_some().then_some(reads),
        key_change: KeyChange::of(collection, evidence, settings),
        placement: placement.as_ref(),
        analyses: &evidence.key_analyses,
        clock: Clock::of(profile),
        rising: BTreeMap::new(),
    };
    let candidates = judge.candidates();
    let asked = keys.iter().flatten().map(|(path, _)| path.as_str());
    judge.rising = candidates
        .iter()
        .copied()
        .chain(asked)
        .map(|path| (path.to_owned(), judge.rises(path)))
        .collect();

    let judged: Vec<KeyVerdict> = keys.iter().map(|key| judge.verdict(key)).collect();
    let is_good = |v: &KeyVerdict| v.verdict == Verdict::Pass;
    let zone = question.zone.as_deref();
    let spreading = judge.spreading(&candidates, zone);
    let mut proposals = judge.proposals(&spreading, zone);
    proposals.retain(|p| !judged.iter().any(|j| is_good(j) && j.fields == p.fields));
    proposals.truncate(propose::PROPOSALS);
    // Changing a good key would copy all data for no benefit. Unless a zone was requested, others
    // are shown for comparison.
    let keeps = placement
        .as_ref()
        .is_some_and(|placed| judged.iter().any(|j| is_good(j) && j.fields == placed.fields));
    if keeps && zone.is_none() {
        for other in &mut proposals {
            other.commands.clear();
            other.change = KEEP.to_owned();
        }
    }
    let nothing = proposals
        .is_empty()
        .then(|| judge.why_nothing(&spreading, zone))
        .filter(|_| !judged.iter().any(is_good));
    let zones = match (&question.zone, proposals.first()) {
        (Some(zone), Some(best)) => judge.zone_plan(zone, &best.fields, question.show_values),
        _ => None,
    };
    let documents = judge.documents();
    let counted = judge.counted_reads();
    Some(KeyReport {
        namespace: collection.namespace.clone(),
        documents,
        read: profile.documents,
        sampled: profile.sample.len() as u64,
        shards,
        reads: counted,
        placement,
        judged,
        proposals,
        nothing,
        zones,
    })
}

/// The advice on other keys if the current one is good.
const KEEP: &str = "for comparison only: the current key is good, and a change would copy all \
 documents";

/// The placement of a collection's documents in a cluster.
fn placement(evidence: &Evidence, namespace: &Namespace) -> Option<Placement> {
    let cluster = sharding::cluster(evidence)?;
    let sharded = cluster.collection(namespace)?;
    Some(Placement {
        fields: sharded.key.fields.clone(),
        parts: sharded.parts.clone(),
        zones: sharded.zones.clone().unwrap_or_default(),
        balanced: cluster.balancer_on.map(|on| on && !sharded.balancing_off),
    })
}

/// The thresholds of `K001` to `K003` and `W011`, as configured for a namespace.
struct Limits {
    values: u64,
    values_per_shard: u64,
    repeats: f64,
    warn_share: f64,
    fail_share: f64,
    documents: u64,
    correlation: f64,
    rising_ids: (f64, u64),
    targeted: f64,
    reads: u64,
}

impl Limits {
    fn of(settings: &Settings, namespace: &Namespace) -> Self {
        let k001 = |threshold| k001::limit(settings, namespace, threshold);
        let k002 = |threshold| k002::limit(settings, namespace, threshold);
        let k003 = |threshold| k003::limit(settings, namespace, threshold);
        let w011 = |threshold| w011::limit(settings, namespace, threshold);
        let pairs = ids::Limits::of(settings, namespace).order_pairs;
        Self {
            values: k001(&k001::MIN_VALUES) as u64,
            values_per_shard: k001(&k001::PER_SHARD) as u64,
            repeats: k001(&k001::MIN_REPEATS),
            warn_share: k002(&k002::WARN),
            fail_share: k002(&k002::FAIL),
            documents: k002(&k002::MIN_DOCUMENTS) as u64,
            correlation: k003(&k003::CORRELATION),
            rising_ids: (k003(&k003::RISING), pairs),
            targeted: w011(&w011::MIN_TARGETED),
            reads: w011(&w011::MIN_COUNT) as u64,
        }
    }
}

struct Judge<'a> {
    collection: &'a Collection,
    profile: &'a Profile,
    shards: u32,
    limits: Limits,
    reads: Option<Vec<Cow<'a, QueryStats>>>,
    key_change: KeyChange<'a>,
    /// The placement of the documents in the cluster.
    placement: Option<&'a Placement>,
    /// The server's analyses of keys.
    analyses: &'a [KeyAnalysis],
    /// The source of the age of documents.
    clock: Clock<'a>,
    /// The candidate fields, and whether their values increase with time.
    rising: BTreeMap<String, bool>,
}

impl<'a> Judge<'a> {
    /// The number of documents in the collection.
    fn documents(&self) -> u64 {
        self.profile.total.max(self.profile.documents)
    }

    fn field(&self, path: &str) -> Option<(u32, &'a Field)> {
        let at = self.profile.fields.iter().position(|f| f.path.as_str() == path)?;
        Some((at as u32, &self.profile.fields[at]))
    }

    /// The number of chunks in the simulation.
    fn chunks(&self) -> usize {
        CHUNKS * self.shards as usize
    }

    /// The number of distinct values a key needs (SK-1).
    fn needed(&self) -> u64 {
        let Limits { values, values_per_shard, .. } = self.limits;
        sharding::needed_values(values, values_per_shard, Some(self.shards))
    }

    fn verdict(&self, key: &[(String, bool)]) -> KeyVerdict {
        let refusals = self.refusals(key);
        let holds_arrays = sharding::array_field(self.profile, key).is_some();
        let hidden = self.not_comparable(key);
        let spread = (!holds_arrays && hidden.is_none()).then(|| self.spread(key));
        let targeted = self.share_of_reads(|s| sharding::is_targeted(key, &s.shape));
        let hashed_ranges = key
            .first()
            .filter(|(_, hashed)| *hashed)
            .and_then(|(path, _)| self.share_of_reads(|s| sharding::is_ranged(path, &s.shape)));

        let mut checks = Vec::new();
        if let Some(spread) = &spread {
            checks.push(self.cardinality(key, spread));
            checks.push(self.frequency(key, spread));
            checks.push(self.monotonic(key, spread));
        } else if let Some(why) = hidden {
            let again = "unknown, for the same reason".to_owned();
            let unknown =
                |clause, evidence| KeyCheck { clause, verdict: Verdict::Unknown, evidence };
            checks.extend([
                unknown("SK-1", why),
                unknown("SK-2", again.clone()),
                unknown("SK-3", again),
            ]);
        }
        checks.push(self.targeting(key, targeted));
        if let Some(share) = hashed_ranges {
            checks.push(KeyCheck {
                clause: "SK-9",
                verdict: if share > RANGES { Verdict::Warn } else { Verdict::Pass },
                evidence: format!(
                    "{} of {} read a range of the hashed field, which goes to all shards",
                    text::percent(share),
                    text::plural(self.counted_reads().unwrap_or_default(), "read")
                ),
            });
        }
        let has = |verdict: Verdict| checks.iter().any(move |c| c.verdict == verdict);
        // Without a workload, SK-4 is unknown for every key and does not distinguish this one.
        let open = checks.iter().any(|c| c.verdict == Verdict::Unknown && c.clause != "SK-4");
        let verdict = if !refusals.is_empty() || has(Verdict::Fail) {
            Verdict::Fail
        } else if open {
            Verdict::Unknown
        } else {
            Verdict::Pass
        };
        let way = if refusals.is_empty() {
            self.key_change.plan_for(key)
        } else {
            KeyChangePlan::default()
        };
        let analysis = self.analyses.iter().find(|analysis| {
            analysis.key.namespace == self.collection.namespace && analysis.key.fields == key
        });
        KeyVerdict {
            fields: key.to_vec(),
            verdict,
            refusals,
            checks,
            spread,
            targeted,
            hashed_ranges,
            analysis: analysis.map(|analysis| analysis.answer.clone()),
            commands: way.commands(),
            change: way.how,
        }
    }

    /// The reason why the values of a key cannot be compared, if so.
    fn not_comparable(&self, key: &[(String, bool)]) -> Option<String> {
        key.iter().find_map(|(path, hashed)| {
            let (at, field) = self.field(path)?;
            let mostly = |kind: BsonType| field.types.of(kind) * 2 > field.count;
            if mostly(BsonType::Object) {
                let inside = self.profile.children(field).find(|c| c.distinct.values >= 2.0);
                let instead = inside.map_or(String::new(), |c| {
                    format!("; name a field inside, as `{}`", c.path.as_str())
                });
                return Some(format!(
                    "`{path}` contains embedded documents, which Docward does not compare as a \
                     whole{instead}"
                ));
            }
            if *hashed && mostly(BsonType::Decimal) {
                return Some(format!(
                    "hashing truncates `{path}` to whole numbers, which were not counted"
                ));
            }
            // For wide documents the sample contains only the first scalars.
            let sample = &self.profile.sample;
            let kept = sample.iter().filter(|d| d.values.iter().any(|v| v.field == at)).count();
            let expected = field.types.non_null() as f64 / self.profile.documents.max(1) as f64;
            (!is_container(field) && 2.0 * (kept as f64) < expected * sample.len() as f64).then(
                || {
                    format!(
                        "`{path}` is too far back in documents with many fields to be \
                 compared"
                    )
                },
            )
        })
    }

    /// SK-1.
    fn cardinality(&self, key: &[(String, bool)], spread: &KeySpread) -> KeyCheck {
        let needed = self.needed();
        let documents = self.profile.documents;
        let check = |verdict, evidence| KeyCheck { clause: "SK-1", verdict, evidence };
        if let Some((path, _)) = key.iter().find(|(path, _)| self.field(path).is_none()) {
            let evidence =
                format!("no document has `{path}`, so all documents have the key value null");
            if key.len() == 1 {
                return check(Verdict::Fail, evidence);
            }
        }
        if self.is_unique(key) {
            return check(
                Verdict::Pass,
                format!(
                    "every document has its own value, {} now; {} shards need {} values",
                    text::count(spread.values as u64),
                    text::count(needed),
                    self.shards
                ),
            );
        }
        let values = spread.values.round() as u64;
        let about = if spread.exact { "" } else { "about " };
        let cut = key
            .iter()
            .find(|(path, hashed)| *hashed && self.is_cut_by_hashing(path))
            .map_or(String::new(), |(path, _)| {
                format!(" (hashing truncates `{path}` to whole numbers)")
            });
        let counted = format!(
            "{about}{} in {}{cut}",
            text::plural(values, "different value"),
            text::plural(documents, "document")
        );
        let repeats = documents as f64 / spread.values.max(1.0);
        if values >= needed {
            check(
                Verdict::Pass,
                format!("{counted}; {} are needed for {} shards", text::count(needed), self.shards),
            )
        } else if documents < 2 * needed && repeats < self.limits.repeats {
            // A small collection cannot show many distinct values.
            check(Verdict::Unknown, format!("{counted}: too few documents to judge"))
        } else {
            check(
                Verdict::Fail,
                format!("{counted}; {} are needed for {} shards", text::count(needed), self.shards),
            )
        }
    }

    /// SK-2.
    fn frequency(&self, key: &[(String, bool)], spread: &KeySpread) -> KeyCheck {
        let share = spread.top_share;
        let has = format!("the most frequent value has {} of the documents", text::percent(share));
        let (verdict, evidence) = if self.is_unique(key) {
            (Verdict::Pass, "no value occurs twice".to_owned())
        } else if self.profile.documents < self.limits.documents {
            (Verdict::Unknown, "too few documents to judge".to_owned())
        } else if share > self.limits.fail_share {
            (
                Verdict::Fail,
                format!(
                    "{has}: these documents can never be split into several \
             chunks"
                ),
            )
        } else if share > self.limits.warn_share {
            let fail = text::percent(self.limits.fail_share);
            (Verdict::Warn, format!("{has}: watch this share; above {fail} the key fails"))
        } else {
            (Verdict::Pass, has)
        };
        KeyCheck { clause: "SK-2", verdict, evidence }
    }

    /// SK-4.
    fn targeting(&self, key: &[(String, bool)], targeted: Option<f64>) -> KeyCheck {
        let (verdict, evidence) = match (targeted, &self.reads) {
            (Some(share), _) => {
                let by_range = key.first().and_then(|(path, _)| {
                    let ranged = |s: &QueryStats| {
                        sharding::is_targeted(key, &s.shape) && !sharding::is_fixed(path, &s.shape)
                    };
                    self.share_of_reads(ranged).filter(|share| *share > 0.0)
                });
                let by_range = by_range.map_or(String::new(), |share| {
                    format!(
                        " ({} by a bounded range, which goes only to the shards with that range)",
                        text::percent(share)
                    )
                });
                (
                    if share < self.limits.targeted { Verdict::Fail } else { Verdict::Pass },
                    format!(
                        "{} of {} filter on its first field{by_range} (required: {})",
                        text::percent(share),
                        self.reads_in_words(),
                        text::percent(self.limits.targeted)
                    ),
                )
            }
            (None, Some(_)) => (Verdict::Unknown, self.why_no_share()),
            (None, None) => (Verdict::Unknown, "the workload is unknown (--log LOG)".to_owned()),
        };
        KeyCheck { clause: "SK-4", verdict, evidence }
    }

    /// The number of recorded reads; `None` without a workload.
    fn counted_reads(&self) -> Option<u64> {
        Some(self.reads.as_ref()?.iter().map(|s| s.count).sum())
    }

    /// The number of reads, and how many of them come from other collections. Users who look only
    /// at this collection's queries would miss the latter.
    fn reads_in_words(&self) -> String {
        let joined = self.reads.iter().flatten().filter(|read| matches!(read, Cow::Owned(_)));
        let all = text::plural(self.counted_reads().unwrap_or_default(), "read");
        match joined.map(|read| read.count).sum() {
            0 => all,
            joined => {
                format!("{all} ({} by a $lookup of other collections)", text::count(joined))
            }
        }
    }

    /// The reason why there are no shares of reads.
    fn why_no_share(&self) -> String {
        match self.counted_reads().unwrap_or_default() {
            0 => "the workload shows no reads of this collection".to_owned(),
            few => format!(
                "the workload shows {} of this collection, too few to judge (minimum: {})",
                text::plural(few, "read"),
                text::count(self.limits.reads.max(1))
            ),
        }
    }

    /// The share of reads that satisfy a test, if there are enough.
    fn share_of_reads(&self, test: impl Fn(&QueryStats) -> bool) -> Option<f64> {
        let all = self.counted_reads()?;
        let with: u64 = self.reads.iter().flatten().filter(|s| test(s)).map(|s| s.count).sum();
        (all >= self.limits.reads.max(1)).then(|| with as f64 / all as f64)
    }
}

/// Returns whether every document has a single value at the field: it is in no array and below no
/// key that is data.
fn is_plain(profile: &Profile, field: &Field) -> bool {
    let mut at = Some(field);
    while let Some(f) = at {
        if f.shape != FieldShape::Named || f.types.of(BsonType::Array) > 0 {
            return false;
        }
        at = profile.parent(f);
    }
    true
}

/// Returns whether some values are objects or arrays.
fn is_container(field: &Field) -> bool {
    field.types.of(BsonType::Object) + field.types.of(BsonType::Array) > 0
}
