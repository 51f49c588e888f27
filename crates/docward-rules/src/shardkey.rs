//! Shard keys measured and ranked (ALG-9, SK-1 to SK-13): how many values a key has, whether one of
//! them dominates, whether it rises with time, how evenly it would spread and how many reads name it.
//!
//! Single fields are judged by their profile. What several fields do together, and how chunks would
//! fall, is worked out on documents drawn at random.

use std::{cmp::Ordering, collections::BTreeMap};

use docward_model::{
    BsonType, Collection, Comparison, Evidence, Field, FieldShape, KeyCheck, KeyFields, KeyReport,
    KeyVerdict, Profile, QueryStats, SampledDocument, SampledValue, Settings, Verdict,
};

use crate::facts::{ids, sharding, text, words};

/// Few values: below this, or below [`PER_SHARD`] times the shards (SK-1).
const LEAST_VALUES: u64 = 1000;
const PER_SHARD: u64 = 100;
/// A value with a larger share is a warning, and a failure (SK-2).
const TOP_WARN: f64 = 0.10;
const TOP_FAIL: f64 = 0.30;
/// A share of the newest documents in one chunk that shows a hot end (SK-3).
const HOT_END: f64 = 0.5;
/// Reads that must name the key (SK-4), and ranges that make a hash dear (SK-9).
const TARGETED: f64 = 0.8;
const RANGES: f64 = 0.2;
/// Chunks per shard in the simulation.
const CHUNKS: usize = 8;
/// Sampled documents below which nothing is said about them together.
const LEAST_SAMPLE: usize = 50;
/// Fields tried, and proposals made.
const FIELDS: usize = 24;
const PROPOSALS: usize = 5;

/// What is wanted.
#[derive(Clone, Debug, Default)]
pub struct KeyQuestion {
    /// Keys to judge; none means to propose.
    pub keys: Vec<KeyFields>,
    /// Shards to spread over.
    pub shards: Option<u32>,
    /// A field that says where documents must live, put first in every proposal (SK-11).
    pub zone: Option<String>,
}

/// Judges and proposes keys for a collection.
pub fn shard_keys(
    collection: &Collection,
    evidence: &Evidence,
    settings: &Settings,
    question: &KeyQuestion,
) -> Option<KeyReport> {
    let profile = collection.profile.as_ref()?;
    let shards = question.shards.or(settings.shards).unwrap_or(3).max(2);
    let reads: Vec<&QueryStats> = evidence
        .workload
        .iter()
        .flat_map(|w| w.of(&collection.namespace))
        .filter(|s| s.shape.operation.is_read())
        .collect();
    let judge = Judge {
        collection,
        profile,
        shards,
        reads: evidence.workload.is_some().then_some(reads),
        version: settings.server_version.or(evidence.deployment.server_version),
        current: sharding::declared(settings, collection).map(|key| key.fields.clone()),
    };
    let judged: Vec<KeyVerdict> = question.keys.iter().map(|key| judge.verdict(key)).collect();
    let mut proposals = judge.proposals(question.zone.as_deref());
    proposals.retain(|p| !judged.iter().any(|j| j.good && j.fields == p.fields));
    proposals.truncate(PROPOSALS);
    let nothing = proposals
        .is_empty()
        .then(|| judge.why_nothing())
        .filter(|_| judged.iter().all(|j| !j.good));
    Some(KeyReport {
        namespace: collection.namespace.clone(),
        documents: profile.total.max(profile.documents),
        sampled: profile.sample.len() as u64,
        shards,
        reads: judge.reads.as_ref().map(|reads| reads.iter().map(|s| s.count).sum()),
        judged,
        proposals,
        nothing,
    })
}

struct Judge<'a> {
    collection: &'a Collection,
    profile: &'a Profile,
    shards: u32,
    reads: Option<Vec<&'a QueryStats>>,
    version: Option<(u32, u32)>,
    current: Option<KeyFields>,
}

/// A key's value in one sampled document, in the order chunks are cut.
type Place = Vec<(u8, i64, u64)>;

impl Judge<'_> {
    fn verdict(&self, key: &[(String, bool)]) -> KeyVerdict {
        let mut checks = Vec::new();
        if let Some(refusal) = self.refusal(key) {
            checks.push(KeyCheck { clause: "SK-1", verdict: Verdict::Fail, evidence: refusal });
        }
        let places = self.places(key);
        let (values, exact) = self.values(key, &places);
        let top_share = self.top_share(key, &places);
        let newest_share = newest_share(&places, self.shards);
        let fullest_shard = fullest_shard(&places, self.shards);
        let targeted = self.share_of_reads(|s| sharding::is_targeted(key, &s.shape));
        let hashed_ranges = key
            .first()
            .filter(|(_, hashed)| *hashed)
            .and_then(|(path, _)| self.share_of_reads(|s| asks_range(s, path)));

        let needed = sharding::needed_values(LEAST_VALUES, PER_SHARD, Some(self.shards));
        let about = if exact { "" } else { "about " };
        let few = values < needed as f64;
        // A small collection cannot show many values; then nearly one per document is enough.
        let fine =
            values * 2.0 >= self.profile.documents as f64 && self.profile.documents < 2 * needed;
        checks.push(KeyCheck {
            clause: "SK-1",
            verdict: if few && !fine { Verdict::Fail } else { Verdict::Pass },
            evidence: format!(
                "{about}{} different values in {}; {} are needed for {} shards",
                text::count(values.round() as u64),
                text::plural(self.profile.documents, "document"),
                text::count(needed),
                self.shards
            ),
        });
        checks.push(KeyCheck {
            clause: "SK-2",
            verdict: if top_share > TOP_FAIL { Verdict::Fail } else { Verdict::Pass },
            evidence: format!(
                "the most frequent value has {} of the documents{}",
                text::percent(top_share),
                if top_share > TOP_FAIL {
                    ": they can never be split"
                } else if top_share > TOP_WARN {
                    ": watch it, above 30 % it fails"
                } else {
                    ""
                }
            ),
        });
        checks.push(self.monotonic(key, newest_share));
        checks.push(self.targeting(targeted));
        if let Some(share) = hashed_ranges {
            checks.push(KeyCheck {
                clause: "SK-9",
                verdict: if share > RANGES { Verdict::Fail } else { Verdict::Pass },
                evidence: format!(
                    "{} of the reads ask for a range of the hashed field, which goes to all shards",
                    text::percent(share)
                ),
            });
        }
        let good = checks.iter().all(|c| c.verdict != Verdict::Fail);
        let keeps_prefix =
            self.current.as_ref().is_some_and(|old| key.len() > old.len() && key.starts_with(old));
        let (change, command) = if self.current.is_some() {
            (
                sharding::how_to_change(self.version, keeps_prefix).to_owned(),
                sharding::change_command(
                    self.version,
                    &self.collection.namespace,
                    key,
                    keeps_prefix,
                ),
            )
        } else {
            (
                "shardCollection, with an index that begins with the key if there are documents already".to_owned(),
                Some(format!(
                    "sh.shardCollection({}, {})",
                    crate::facts::shell::quote(&self.collection.namespace.to_string()),
                    sharding::key_text(key)
                )),
            )
        };
        KeyVerdict {
            fields: key.to_vec(),
            good,
            checks,
            values,
            exact,
            top_share,
            newest_share,
            fullest_shard,
            targeted,
            hashed_ranges,
            change,
            command,
        }
    }

    /// Why the server would not take the key at all.
    fn refusal(&self, key: &[(String, bool)]) -> Option<String> {
        if key.iter().filter(|(_, hashed)| *hashed).count() > 1 {
            return Some("a key may have one hashed field only".to_owned());
        }
        if key.len() > 1
            && key.iter().any(|(_, hashed)| *hashed)
            && self.version.is_some_and(|v| v < (4, 4))
        {
            return Some("compound keys with a hashed field need 4.4 or later".to_owned());
        }
        for (path, _) in key {
            let inside_array = self.profile.fields.iter().any(|f| {
                let dotted = f.path.dotted();
                f.types.of(BsonType::Array) > 0
                    && path
                        .strip_prefix(dotted.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            if inside_array {
                return Some(format!("`{path}` holds arrays, which no shard key may"));
            }
            if self.profile.field(path).is_none() {
                return Some(format!(
                    "no document has `{path}`: all of them would share one value"
                ));
            }
        }
        None
    }

    fn field(&self, path: &str) -> Option<(u32, &Field)> {
        let at = self.profile.fields.iter().position(|f| f.path.as_str() == path)?;
        Some((at as u32, &self.profile.fields[at]))
    }

    /// The key's value in every sampled document with its place in natural order, sorted by the key.
    fn places(&self, key: &[(String, bool)]) -> Vec<(Place, u64)> {
        let fields: Vec<(Option<u32>, bool)> = key
            .iter()
            .map(|(path, hashed)| (self.field(path).map(|(at, _)| at), *hashed))
            .collect();
        let mut places: Vec<(Place, u64)> = self
            .profile
            .sample
            .iter()
            .map(|document| {
                let place =
                    fields.iter().map(|&(field, hashed)| part(document, field, hashed)).collect();
                (place, document.position)
            })
            .collect();
        places.sort();
        places
    }

    /// Different values of the whole key, and whether that is exact.
    fn values(&self, key: &[(String, bool)], places: &[(Place, u64)]) -> (f64, bool) {
        let singles: Vec<&Field> =
            key.iter().filter_map(|(path, _)| Some(self.field(path)?.1)).collect();
        if let ([field], 1) = (singles.as_slice(), key.len()) {
            return (field.distinct.values, field.distinct.exact);
        }
        let most: f64 = singles.iter().map(|f| f.distinct.values.max(1.0)).product();
        let least = singles.iter().map(|f| f.distinct.values).fold(1.0, f64::max);
        let documents = self.profile.documents as f64;
        let groups = groups(places);
        let whole = places.len() as u64 >= self.profile.documents;
        if whole {
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

    fn top_share(&self, key: &[(String, bool)], places: &[(Place, u64)]) -> f64 {
        let sampled =
            groups(places).into_iter().max().unwrap_or(0) as f64 / places.len().max(1) as f64;
        if let [(path, _)] = key
            && let Some((_, field)) = self.field(path)
        {
            let documents = self.profile.documents.max(1) as f64;
            let missing = 1.0 - field.types.non_null() as f64 / documents;
            let share = field.distinct.top_share * field.types.non_null() as f64 / documents;
            return share.max(missing);
        }
        // One occurrence among the sampled says nothing about frequency.
        if places.len() >= LEAST_SAMPLE && sampled * places.len() as f64 <= 1.0 {
            1.0 / self.profile.documents.max(1) as f64
        } else {
            sampled
        }
    }

    fn monotonic(&self, key: &[(String, bool)], newest: Option<f64>) -> KeyCheck {
        let first = key
            .first()
            .filter(|(_, hashed)| !hashed)
            .and_then(|(path, _)| Some(self.field(path)?.1));
        let Some(field) = first else {
            let hashed = key.first().is_some_and(|(_, hashed)| *hashed);
            return KeyCheck {
                clause: "SK-3",
                verdict: if hashed { Verdict::Pass } else { Verdict::Unknown },
                evidence: if hashed {
                    "hashed: new documents go everywhere even if the field rises".to_owned()
                } else {
                    "no document has its first field".to_owned()
                },
            };
        };
        let by_type = field.path.as_str() == "_id" && field.is_only(BsonType::ObjectId)
            || field.path.as_str() == "_id"
                && ids::judge(self.profile, ids::RISING_SHARE, ids::ORDER_PAIRS).is_some_and(
                    |id| matches!(id.kind, ids::IdKind::OrderedUuid | ids::IdKind::Ulid),
                );
        let order = field.natural_order;
        let follows = order.is_some_and(|r| r.abs() >= 0.9) && field.distinct.values >= 20.0;
        let hot = newest.is_some_and(|share| share >= HOT_END);
        let (verdict, evidence) = if by_type {
            (
                Verdict::Fail,
                "its values begin with their time: every insert goes to the last chunk".to_owned(),
            )
        } else if follows && (hot || newest.is_none()) {
            (
                Verdict::Fail,
                format!(
                    "`{}` follows the order of documents (correlation {:.2}){}",
                    field.path.as_str(),
                    order.unwrap_or_default(),
                    newest.map_or(String::new(), |share| format!(
                        ": {} of the newest documents go to one chunk",
                        text::percent(share)
                    ))
                ),
            )
        } else if let Some(share) = newest {
            (
                Verdict::Pass,
                format!(
                    "{} of the newest documents go to the fullest of {} chunks",
                    text::percent(share),
                    CHUNKS * self.shards as usize
                ),
            )
        } else {
            (Verdict::Unknown, "too few documents to see an order".to_owned())
        };
        KeyCheck { clause: "SK-3", verdict, evidence }
    }

    fn targeting(&self, targeted: Option<f64>) -> KeyCheck {
        let (verdict, evidence) = match (targeted, &self.reads) {
            (Some(share), _) => (
                if share < TARGETED { Verdict::Fail } else { Verdict::Pass },
                format!(
                    "{} of the reads name its first field; 80 % are asked for",
                    text::percent(share)
                ),
            ),
            (None, Some(_)) => {
                (Verdict::Unknown, "the workload shows no reads of this collection".to_owned())
            }
            (None, None) => (Verdict::Unknown, "no workload was given (--workload LOG)".to_owned()),
        };
        KeyCheck { clause: "SK-4", verdict, evidence }
    }

    fn share_of_reads(&self, test: impl Fn(&QueryStats) -> bool) -> Option<f64> {
        let reads = self.reads.as_ref()?;
        let all: u64 = reads.iter().map(|s| s.count).sum();
        let with: u64 = reads.iter().filter(|s| test(s)).map(|s| s.count).sum();
        (all > 0).then(|| with as f64 / all as f64)
    }

    /// Keys that pass, best first: by the reads they target, then by how evenly they spread.
    fn proposals(&self, zone: Option<&str>) -> Vec<KeyVerdict> {
        let fields = self.candidates();
        let mut keys: Vec<KeyFields> = Vec::new();
        match zone {
            Some(zone) => {
                keys.extend(
                    fields
                        .iter()
                        .filter(|f| **f != zone)
                        .map(|f| vec![(zone.to_owned(), false), ((*f).to_owned(), false)]),
                );
            }
            None => {
                for first in &fields {
                    keys.push(vec![((*first).to_owned(), false)]);
                    keys.push(vec![((*first).to_owned(), true)]);
                    for second in fields.iter().filter(|f| *f != first) {
                        keys.push(vec![
                            ((*first).to_owned(), false),
                            ((*second).to_owned(), false),
                        ]);
                    }
                }
            }
        }
        let mut passed: Vec<KeyVerdict> = keys
            .iter()
            .map(|key| self.verdict(key))
            .filter(|v| v.good || (zone.is_some() && zone_is_good(v)))
            .collect();
        passed.sort_by(|a, b| {
            self.rank(a)
                .partial_cmp(&self.rank(b))
                .unwrap_or(Ordering::Equal)
                .then_with(|| a.fields.cmp(&b.fields))
        });
        // A longer key that is no better than its beginning says nothing new.
        let mut out: Vec<KeyVerdict> = Vec::new();
        for verdict in passed {
            let first_is_there =
                out.iter().any(|o| o.fields.len() == 1 && o.fields[0] == verdict.fields[0]);
            let same_first = out.iter().filter(|o| o.fields[0] == verdict.fields[0]).count();
            if !(verdict.fields.len() > 1 && first_is_there) && same_first < 2 {
                out.push(verdict);
            }
        }
        out
    }

    /// Smaller is better: reads that name the key, then what kind of field it begins with, then how
    /// evenly it spreads.
    fn rank(&self, key: &KeyVerdict) -> (f64, u8, f64, usize) {
        let targeted = (key.targeted.unwrap_or(0.0) * 20.0).round();
        let even = (key.fullest_shard * 20.0).round()
            + (key.newest_share.unwrap_or(0.0) * 10.0).round()
            + (key.top_share * 20.0).round();
        (-targeted, self.likelihood(key), even, key.fields.len())
    }

    /// How likely reads name the first field, when no workload says: ids of other things, then the
    /// document's own, then anything but times and amounts.
    fn likelihood(&self, key: &KeyVerdict) -> u8 {
        let Some((path, _)) = key.fields.first() else { return 5 };
        let Some((_, field)) = self.field(path) else { return 5 };
        let kind = |kind: BsonType| field.types.of(kind) * 2 > field.count;
        if path == "_id" {
            1
        } else if kind(BsonType::Date) || kind(BsonType::Decimal) || kind(BsonType::Double) {
            4
        } else if words::is_id(&field.name) {
            0
        } else if kind(BsonType::String) {
            2
        } else {
            3
        }
    }

    /// Fields a key may be made of: scalars that every document has, those that reads name first.
    fn candidates(&self) -> Vec<&str> {
        let asked = |path: &str| -> u64 {
            let reads = self.reads.iter().flatten();
            reads.filter(|s| s.shape.filter.iter().any(|p| p.path == path)).map(|s| s.count).sum()
        };
        let plain = |field: &Field| {
            let mut at = Some(field);
            while let Some(f) = at {
                if f.shape != FieldShape::Named || f.types.of(BsonType::Array) > 0 {
                    return false;
                }
                at = self.profile.parent(f);
            }
            true
        };
        let scalar = |field: &Field| {
            [BsonType::Object, BsonType::Double, BsonType::Bool, BsonType::BinData]
                .iter()
                .all(|&kind| field.types.of(kind) * 2 < field.count.max(1))
        };
        let mut fields: Vec<&Field> = self
            .profile
            .fields
            .iter()
            .filter(|f| {
                f.types.non_null() * 100 >= self.profile.documents * 99
                    && f.distinct.values >= 2.0
                    && plain(f)
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

    fn why_nothing(&self) -> String {
        let needed = sharding::needed_values(LEAST_VALUES, PER_SHARD, Some(self.shards));
        if self.profile.documents < needed {
            return format!(
                "the collection has {}: too few to need shards, or to tell a good key",
                text::plural(self.profile.documents, "document")
            );
        }
        if self.reads.as_ref().is_some_and(|r| !r.is_empty()) {
            return "no key of one or two fields spreads the documents and is named by 80 % of the reads: shape the queries around a common field first".to_owned();
        }
        "no field or pair of fields has enough values without one dominating; add a field made for it".to_owned()
    }
}

/// A zone key begins with few values on purpose: only the whole key is asked for its spread.
fn zone_is_good(verdict: &KeyVerdict) -> bool {
    verdict.checks.iter().all(|c| c.verdict != Verdict::Fail || c.clause == "SK-4")
}

fn asks_range(stats: &QueryStats, path: &str) -> bool {
    let ranged = |c: Comparison| matches!(c, Comparison::Range | Comparison::Prefix);
    stats.shape.filter.iter().any(|p| p.path == path && ranged(p.comparison))
        || stats.shape.sort.first().is_some_and(|(by, _)| by == path)
}

/// A field's part in the order of chunks: type, value, then the hash to tell equal beginnings apart.
fn part(document: &SampledDocument, field: Option<u32>, hashed: bool) -> (u8, i64, u64) {
    let value: Option<&SampledValue> = document.values.iter().find(|v| Some(v.field) == field);
    match value {
        None => (0, 0, 0),
        // The sample was drawn by the hash of `_id`: mixed again, so that it spreads as the server's does.
        Some(v) if hashed => (
            1,
            (v.hash
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(31)
                .wrapping_mul(0xd6e8_feb8_6659_fd93)) as i64,
            v.hash,
        ),
        Some(v) => (2 + type_rank(v.kind), v.order, v.hash),
    }
}

/// Numbers compare with each other whatever their type.
fn type_rank(kind: BsonType) -> u8 {
    if kind.is_number() { 0 } else { kind as u8 }
}

/// How often each value comes.
fn groups(places: &[(Place, u64)]) -> Vec<usize> {
    places.chunk_by(|a, b| a.0 == b.0).map(<[_]>::len).collect()
}

/// Cuts sorted places into about so many chunks, never between equal values; sizes of the chunks and
/// the place each begins with.
fn chunks(places: &[(Place, u64)], count: usize) -> Vec<(Place, usize)> {
    let wanted = places.len().div_ceil(count).max(1);
    let mut out: Vec<(Place, usize)> = Vec::new();
    for group in places.chunk_by(|a, b| a.0 == b.0) {
        match out.last_mut() {
            Some((_, size)) if *size < wanted => *size += group.len(),
            _ => out.push((group[0].0.clone(), group.len())),
        }
    }
    out
}

/// The share of data on the fullest shard when chunks are dealt out, largest first, to the emptiest.
fn fullest_shard(places: &[(Place, u64)], shards: u32) -> f64 {
    let mut sizes: Vec<usize> =
        chunks(places, CHUNKS * shards as usize).into_iter().map(|c| c.1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut load = vec![0usize; shards as usize];
    for size in sizes {
        if let Some(least) = load.iter_mut().min() {
            *least += size;
        }
    }
    load.into_iter().max().unwrap_or(0) as f64 / places.len().max(1) as f64
}

/// Cuts chunks on the older nine tenths and asks how much of the newest tenth falls into one of them.
fn newest_share(places: &[(Place, u64)], shards: u32) -> Option<f64> {
    if places.len() < LEAST_SAMPLE * 2 {
        return None;
    }
    let mut positions: Vec<u64> = places.iter().map(|p| p.1).collect();
    positions.sort_unstable();
    let cut = positions[positions.len() * 9 / 10];
    let (new, old): (Vec<_>, Vec<_>) = places.iter().cloned().partition(|p| p.1 >= cut);
    let bounds = chunks(&old, CHUNKS * shards as usize);
    let mut hits: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, _) in &new {
        let at = bounds.partition_point(|(begin, _)| begin <= place);
        *hits.entry(at).or_default() += 1;
    }
    let most = hits.values().copied().max().unwrap_or(0);
    Some(most as f64 / new.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Example;

    fn report(body: &str, keys: &[&[(&str, bool)]]) -> KeyReport {
        let example = Example::new("K001", "", body);
        let keys =
            keys.iter().map(|k| k.iter().map(|(p, h)| ((*p).to_owned(), *h)).collect()).collect();
        let question = KeyQuestion { keys, shards: Some(3), zone: None };
        shard_keys(
            &example.evidence.collections[0],
            &example.evidence,
            &example.settings,
            &question,
        )
        .expect("documents were read")
    }

    fn verdict(report: &KeyReport, clause: &str) -> Verdict {
        report.judged[0].checks.iter().find(|c| c.clause == clause).expect("the clause").verdict
    }

    /// ST-24: 80 % of documents are active; 200 countries, 60 % of them US.
    fn st_24() -> String {
        let mut body = String::new();
        for i in 0..2500u32 {
            let mixed = i.wrapping_mul(2_654_435_761) >> 8;
            let status =
                if mixed % 10 < 8 { "active".to_owned() } else { format!("s{}", mixed % 5) };
            let country =
                if mixed % 100 < 60 { "US".to_owned() } else { format!("C{}", mixed % 199) };
            body += &format!(
                "{{\"_id\": ObjectId(\"{:08x}{:016x}\"), \"status\": \"{status}\", \"country\": \"{country}\", \"userId\": {mixed}, \"createdAt\": {{\"$date\": {}}}}}\n",
                1_700_000_000 + i,
                i,
                1_700_000_000_000u64 + u64::from(i) * 1000
            );
        }
        body
    }

    #[test]
    fn sk_1_sk_2_sk_7_sk_8_dominated_keys_fail_whatever_their_cardinality() {
        let body = st_24();
        let status = report(&body, &[&[("status", false)]]);
        assert_eq!(
            (verdict(&status, "SK-1"), verdict(&status, "SK-2")),
            (Verdict::Fail, Verdict::Fail)
        );
        let country = report(&body, &[&[("country", false)]]);
        assert_eq!(verdict(&country, "SK-2"), Verdict::Fail);
        assert!((country.judged[0].top_share - 0.6).abs() < 0.05);
        assert!(country.judged[0].fullest_shard > 0.55);
    }

    #[test]
    fn sk_3_sk_5_sk_6_rising_keys_fail_and_hashed_ones_pass() {
        let body = st_24();
        for (key, expect) in [
            ([("_id", false)], Verdict::Fail),
            ([("createdAt", false)], Verdict::Fail),
            ([("_id", true)], Verdict::Pass),
            ([("userId", false)], Verdict::Pass),
        ] {
            let found = report(&body, &[&key]);
            assert_eq!(verdict(&found, "SK-3"), expect, "{key:?}: {:?}", found.judged[0].checks);
        }
        let hashed = report(&body, &[&[("_id", true)]]);
        assert!(hashed.judged[0].good && hashed.judged[0].fullest_shard < 0.45);
        assert!(hashed.judged[0].newest_share.expect("enough documents") < 0.2);
    }

    #[test]
    fn sk_8_sk_10_a_finer_field_mends_a_dominated_one() {
        let body = st_24();
        let pair = report(&body, &[&[("country", false), ("userId", false)]]);
        assert!(pair.judged[0].good, "{:?}", pair.judged[0].checks);
    }

    #[test]
    fn sk_4_sk_9_sk_10_the_workload_decides_among_good_keys() {
        let body = st_24();
        let by_user = format!(
            "{body}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7}}}}}}\nran x10 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"country\": \"US\"}}}}}}"
        );
        let proposals = report(&by_user, &[]).proposals;
        assert_eq!(proposals[0].fields[0].0, "userId", "{:?}", proposals[0]);
        assert_eq!(proposals[0].targeted, Some(0.9));
        let ranges = format!(
            "{body}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": {{\"$gt\": 7}}}}}}}}"
        );
        let hashed = report(&ranges, &[&[("userId", true)]]);
        assert_eq!(verdict(&hashed, "SK-9"), Verdict::Fail);
    }

    #[test]
    fn sk_11_zones_come_first() {
        let example = Example::new("K001", "", &st_24());
        let question =
            KeyQuestion { keys: Vec::new(), shards: Some(3), zone: Some("country".into()) };
        let report = shard_keys(
            &example.evidence.collections[0],
            &example.evidence,
            &example.settings,
            &question,
        )
        .expect("documents");
        assert!(!report.proposals.is_empty());
        assert!(report.proposals.iter().all(|p| p.fields[0].0 == "country" && p.fields.len() == 2));
    }

    #[test]
    fn arrays_and_missing_fields_are_refused() {
        let body = "x60 {\"_id\": $i, \"tags\": [1, 2]}";
        for path in ["tags", "nobody"] {
            assert!(!report(body, &[&[(path, false)]]).judged[0].good, "{path}");
        }
    }
}
