//! Chooses shard keys from declarations (ALG-9, SK-1 to SK-13). `docward shardkey` measures keys of
//! existing data; this module works before data exists.

pub(crate) mod lookup;
mod reads;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{BsonType, DesignRead, text};

use crate::declared::field_plan::{Origin, Planned, Rank, document_bytes};
use crate::layout::capacity;
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::index_plan::IndexPlan;
use crate::layout::shard_key::{KeyCandidate, ShardPlan};
use crate::model_file::quantity::lasting;

use reads::{Found, fetched};
use values::Lack;

/// The field that distinguishes versions of a document.
const VERSION: &str = "version";

/// The number of other candidates that are shown.
const SHOWN: usize = 8;

/// The share of reads that must contain the key (SK-4).
const TARGETED: f64 = 0.8;

/// The share of the most frequent value that causes a warning or a failure (SK-2).
const TOP_WARN: f64 = 0.10;

const TOP_FAIL: f64 = 0.30;

/// The size in bytes of documents with one value that fit into a chunk with reserve: half of 128
/// MB.
const CHUNK: f64 = 64.0 * 1024.0 * 1024.0;

/// The number of chunks per shard that must be able to grow, as in `docward shardkey`.
const ENDS: u32 = 8;

/// The share of range reads from which a hashed key is too expensive (SK-9).
const RANGES: f64 = 0.2;

/// The number of chunks per shard that documents with one value must fill, if new documents have
/// only the newest value.
const CHUNKS_PER_SHARD: f64 = 2.0;

/// New documents may have the same value of an increasing field for this number of seconds.
const NEWEST_SECONDS: f64 = 60.0;

const DAY: f64 = 86_400.0;

pub(crate) fn plan(layout: &Layout<'_>, collection: &CollectionPlan) -> Option<ShardPlan> {
    let deployment = &layout.model.deployment;
    if deployment.shards < 2 {
        return None;
    }
    // Archives are read by the id of a document, versions by the id of their document.
    let kept_by = match collection.purpose {
        Purpose::Archive | Purpose::UniqueValues(_) => Some("_id".to_owned()),
        Purpose::Versions => Some(layout.naming.id_of(&collection.entity)),
        _ => None,
    };
    // The fields that identify the series may be in one object.
    let meta = match &collection.purpose {
        Purpose::TimeSeries { meta, .. } => {
            collection.fields.iter().find(|field| field.name == *meta)
        }
        _ => None,
    };
    let zone = deployment.zones.as_ref().and_then(|(field, values)| {
        let is_it = |planned: &Planned| planned.name == *field;
        if collection.fields.iter().any(is_it) {
            return Some((field.clone(), values));
        }
        let meta = meta.filter(|meta| meta.fields.iter().any(is_it))?;
        Some((format!("{}.{field}", meta.name), values))
    });
    // With zones, even a small collection must be sharded.
    if zone.is_none() && stays_small(collection) {
        return None;
    }
    let here = match kept_by {
        Some(_) => BTreeMap::new(),
        None => crate::layout::index::paths::entities_in(layout, collection),
    };
    let mut judge = Judge {
        layout,
        collection,
        reads: layout
            .model
            .reads
            .iter()
            .filter_map(|read| Some((read, here.get(read.from.as_str())?.clone())))
            .collect(),
        fetched: fetched(layout, collection),
        least: (100 * u64::from(deployment.shards)).max(1000) as f64,
        ends: f64::from(ENDS.saturating_mul(deployment.shards)),
        looked_up: Vec::new(),
    };
    let mut candidates: Vec<Vec<(String, bool)>> = vec![vec![("_id".to_owned(), true)]];
    let named: Vec<String> = judge.named(zone.as_ref().map(|(field, _)| field.as_str()));
    for field in &named {
        candidates.push(vec![(field.clone(), false)]);
        candidates.push(vec![(field.clone(), true)]);
        for finer in judge.finer(field) {
            candidates.push(vec![(field.clone(), false), (finer, false)]);
        }
        // A monotonically increasing field after a coarse field concentrates inserts in a few
        // chunks. This also applies after a field that may be missing. Hashing the increasing field
        // prevents this; from 4.4 on, a part of a key can be hashed.
        let is_coarse = judge.is_coarse(field) || judge.may_lack(field).is_some();
        if deployment.server >= (4, 4) && is_coarse {
            candidates.push(vec![(field.clone(), false), ("_id".to_owned(), true)]);
        }
    }
    // Several parts with few values each can together distinguish many series.
    let series = judge.series();
    if series.len() > 1 {
        candidates.push(series.iter().map(|name| ((*name).to_owned(), false)).collect());
    }
    if let Some(id) = &kept_by {
        candidates = vec![match collection.purpose {
            // With the unique index on versions, the key cannot be hashed.
            Purpose::Versions => vec![(id.clone(), false), (VERSION.to_owned(), false)],
            _ => vec![(id.clone(), true)],
        }];
    }
    if let Purpose::TimeSeries { time, meta, .. } = &collection.purpose {
        // The key of a time series begins with its meta field or parts of it. Its time field can
        // only be last and ascending.
        let splits = judge.series_exceeds_chunk();
        let one = |name: &str| {
            let (name, time) = (name.to_owned(), time.clone());
            let mut keys = vec![vec![(name.clone(), false)], vec![(name.clone(), true)]];
            if splits {
                keys.push(vec![(name, false), (time, false)]);
            }
            keys
        };
        candidates = one(meta);
        let parts = collection.fields.iter().find(|field| field.name == *meta);
        let parts = parts.map_or(&[][..], |meta| &meta.fields).iter();
        let parts: Vec<String> = parts.map(|part| format!("{meta}.{}", part.name)).collect();
        if !parts.is_empty() {
            // If the zone field is a part of the meta field, it comes first.
            candidates.retain(|_| zone.is_none());
            candidates.extend(parts.iter().flat_map(|part| one(part)));
            candidates.push(parts.into_iter().map(|part| (part, false)).collect());
        }
    }
    if let Some((field, _)) = &zone {
        // Before 4.4, a hashed key has a single field.
        let hashes = deployment.server >= (4, 4);
        for candidate in &mut candidates {
            candidate.retain(|(name, _)| name != field);
            for part in candidate.iter_mut() {
                part.1 &= hashes;
            }
            candidate.insert(0, (field.clone(), false));
        }
        candidates.sort();
        candidates.dedup();
    }
    let zoned = zone.is_some();
    // Candidates are ranked by these properties, which are computed once:
    //
    // - soundness
    // - targeting
    // - open checks
    // - a second field that reads use (SK-10)
    // - a second field if it is needed to split a chunk
    let ranked = |judge: &Judge<'_, '_>| {
        let mut ranked: Vec<_> = candidates
            .clone()
            .into_iter()
            .map(|fields| {
                let key = judge.key(fields, zoned);
                let open = key.checks.iter().filter(|(_, holds, _)| holds.is_none()).count();
                // Within a zone, the next field distributes documents over the shards.
                let names: Vec<&str> = key.fields.iter().map(|(name, _)| name.as_str()).collect();
                let behind =
                    names.get(usize::from(zoned && names.len() > 1)).copied().unwrap_or("_id");
                let targeted = judge.direct(behind);
                let few = if zoned { 1.0 } else { judge.reaches_few(&key.fields, key.targeted) };
                ((open, targeted, few), judge.used(&key, zoned), judge.fits(&key, zoned), key)
            })
            .collect();
        ranked.sort_by(
            |((open_a, named_a, few_a), used_a, fits_a, a),
             ((open_b, named_b, few_b), used_b, fits_b, b)| {
                b.is_sound()
                    .cmp(&a.is_sound())
                    .then(b.targeted.total_cmp(&a.targeted))
                    .then(few_b.total_cmp(few_a))
                    .then(named_b.total_cmp(named_a))
                    .then(open_a.cmp(open_b))
                    .then(used_b.total_cmp(used_a))
                    .then(fits_b.cmp(fits_a))
                    .then(a.fields.cmp(&b.fields))
            },
        );
        let mut judged: Vec<KeyCandidate> = ranked.into_iter().map(|(.., key)| key).collect();
        judged.dedup_by(|a, b| a.fields == b.fields);
        // If no key is sound, prefer one that the server accepts. Of these, prefer one whose reads
        // go to every shard over one whose inserts go to a single shard.
        let rank = |key: &KeyCandidate| (key.is_sound(), key.is_possible(), key.spreads());
        let best = (0..judged.len()).rev().max_by_key(|i| rank(&judged[*i])).unwrap_or(0);
        let key = judged.remove(best);
        judged.truncate(SHOWN);
        (key, judged)
    };
    let (mut key, mut others) = ranked(&judge);
    let mut lookups = Vec::new();
    // If unique values prevent a good key, a separate collection keeps them unique.
    if !zoned && collection.purpose == Purpose::Entity && !key.is_good() {
        judge.looked_up = lookup::candidates(collection);
        let (other, behind) = ranked(&judge);
        if other.is_sound() && (!key.is_sound() || other.is_good()) {
            lookups = lookup::of(layout, collection, &judge.refused(&other.fields, false));
            (key, others) = (other, behind);
        }
    }
    let zones = zone.map(|(_, values)| values.clone()).unwrap_or_default();
    Some(ShardPlan { key, others, lookups, zones, change: change(deployment.server) })
}

/// Whether all documents fit into one chunk in the coming years. Sharding such a collection has no
/// benefit.
pub(crate) fn stays_small(collection: &CollectionPlan) -> bool {
    let each = document_bytes(&collection.fields, Rank::Mean) as f64;
    capacity::in_the_end(collection).is_some_and(|documents| documents * each <= CHUNK)
}

/// Returns why a collection is not sharded although there are several shards.
pub(crate) fn unsharded(layout: &Layout<'_>, collection: &CollectionPlan) -> Option<String> {
    if layout.model.deployment.shards < 2 || collection.shard.is_some() {
        return None;
    }
    let each = document_bytes(&collection.fields, Rank::Mean) as f64;
    let bytes = capacity::in_the_end(collection)? * each;
    Some(format!("{} in five years fit into one chunk", text::bytes(bytes.round() as u64)))
}

/// Describes how a key can be changed later (SK-12).
fn change(server: (u32, u32)) -> &'static str {
    match server {
        (5.., _) => "`reshardCollection` changes it online, but copies all documents",
        (4, 4..) => {
            "`refineCollectionShardKey` appends fields; any other key needs a new collection"
        }
        (4, 2..) => {
            "it cannot change; values of its fields can be updated, and another key needs a new \
             collection"
        }
        _ => {
            "neither the key nor the values of its fields can change; another key needs a new \
         collection"
        }
    }
}

struct Judge<'l, 'm> {
    layout: &'l Layout<'m>,
    collection: &'l CollectionPlan,
    /// The reads that begin with this collection or an embedded entity, with the prefix of their
    /// paths.
    reads: Vec<(&'m DesignRead, String)>,
    /// The reads that begin elsewhere and fetch from this collection: the rate, and how they find
    /// documents.
    fetched: Vec<(&'m DesignRead, Found)>,
    /// The minimum number of distinct values of a key (SK-1).
    least: f64,
    /// The minimum number of values of a first field whose ranges grow at their ends. With fewer
    /// values, some shards get no inserts (SK-3).
    ends: f64,
    /// Unique fields whose values a separate collection maps to documents.
    looked_up: Vec<String>,
}

impl Judge<'_, '_> {
    /// Returns fields that split documents with the same value of the first field (SK-10).
    fn finer(&self, first: &str) -> Vec<String> {
        let date = self
            .collection
            .fields
            .iter()
            .find(|f| f.kind == BsonType::Date && self.may_lack(&f.name).is_none())
            .map(|f| f.name.clone());
        // The other end of a pair, which is the next field of the unique index.
        let ends = self.collection.fields.iter().filter(|field| {
            matches!(self.collection.purpose, Purpose::Junction(_))
                && matches!(field.origin, Origin::Reference(_))
        });
        let ends = ends.map(|field| field.name.clone());
        // Fields that reads compare together with the first one find a single chunk.
        let beside = self.reads.iter().map(|(read, path)| self.given(read, path));
        let beside = beside.filter(|given| given.iter().any(|name| name == first)).flatten();
        let finer = ends.chain(beside).chain(date).chain(["_id".to_owned()]);
        let mut finer: Vec<String> = finer.filter(|name| name != first).collect();
        let mut seen = BTreeSet::new();
        finer.retain(|name| seen.insert(name.clone()));
        finer
    }

    /// Whether the key has a second field exactly if documents with one value of the first may
    /// exceed a chunk.
    fn fits(&self, key: &KeyCandidate, zoned: bool) -> bool {
        let zone = usize::from(zoned);
        let leading = key.fields.get(zone).map_or("_id", |(name, _)| name.as_str());
        let typical = document_bytes(&self.collection.fields, Rank::Typical) as f64;
        let largest = match (self.top_share(leading), self.collection.documents) {
            _ if self.is_own(leading) => Some(typical),
            (Some(share), Some(documents)) => Some(share * documents * typical),
            _ => None,
        };
        let needed = largest.is_none_or(|bytes| bytes > CHUNK);
        needed == (key.fields.len() > 1 + zone)
    }

    fn key(&self, fields: Vec<(String, bool)>, zoned: bool) -> KeyCandidate {
        let mut checks = Vec::new();
        let hashed = fields.iter().any(|(_, hashed)| *hashed);
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        checks.push(self.cardinality(&names));
        // A zone may hold many documents, so only the fields after it must be selective.
        let behind = if zoned && names.len() > 1 { &names[1..] } else { &names[..] };
        match self.lacking(&fields, zoned) {
            Some(shared @ ("SK-2", ..)) => checks.push(shared),
            other => {
                checks.push(self.frequency(behind));
                checks.extend(other);
            }
        }
        // After a zone, the next field counts as the leading one.
        let leading = names.get(usize::from(zoned)).or(names.first()).copied().unwrap_or("_id");
        checks.push(self.hot_end(&fields[usize::from(zoned && names.len() > 1)..]));
        // A read without the first field goes to every shard, even if it contains other fields of
        // the key.
        let first = names.first().copied().unwrap_or("_id");
        let aimed = self.targeting(first);
        let targeted = aimed.map_or(1.0, |(named, _)| named);
        let ranged = self.targeting(leading).map_or(0.0, |(_, ranged)| ranged);
        checks.push(match aimed {
            None => ("SK-4", Some(true), "no declared read uses the collection".to_owned()),
            Some((named, _)) if zoned => {
                let share = text::percent(named);
                let why = format!(
                    "{share} of the reads filter on `{first}`; the others go to \
                 every zone"
                );
                ("SK-4", Some(named >= TARGETED), why)
            }
            Some((named, _)) => {
                // The clause accepts a prefix, but the text says how much it helps.
                let few = self.reaches_few(&fields, named);
                let named_it = format!("{} of the reads filter on it", text::percent(named));
                let mut why = match few < named {
                    true => format!(
                        "{named_it}, but each of the few values of `{first}` is on many shards, \
                         and only {} filter on the next field",
                        text::percent(few)
                    ),
                    false => named_it,
                };
                if named < TARGETED {
                    let unaimed = self.unaimed(first);
                    why.push_str(&format!(
                        "; {} every shard: add {} to `where` of {}",
                        text::form(unaimed.len() as u64, "the other asks", "the others ask"),
                        self.given_as(first),
                        text::list(&unaimed, 3)
                    ));
                }
                ("SK-4", Some(named >= TARGETED), why)
            }
        });
        if let Some((field, write)) = self.changed(&names) {
            let why = format!("`{write}` changes `{field}`, so documents move between shards");
            checks.push(("SK-12", Some(false), why));
        }
        if let Some(why) = self.not_unique(&fields) {
            checks.push(("CK-13", Some(false), why));
        }
        if hashed && ranged > RANGES {
            let why = format!("{} of the reads filter on a range of it", text::percent(ranged));
            checks.push(("SK-9", Some(false), why));
        }
        KeyCandidate { fields, checks, targeted }
    }

    /// Judges where new documents are inserted (SK-3). If the first field increases, they go to the
    /// end of one range. If an increasing field follows a coarse one, they go to the ends of few
    /// ranges (SK-7, SK-8, SK-10).
    fn hot_end(&self, fields: &[(String, bool)]) -> (&'static str, Option<bool>, String) {
        let leading = fields.first().map_or("_id", |(name, _)| name.as_str());
        let is_hashed = fields.iter().any(|(_, hashed)| *hashed);
        if self.rises(leading) == Some(true)
            && !self.is_own(leading)
            && self.seconds_per_value(leading).is_some_and(|seconds| seconds > NEWEST_SECONDS)
            && !self.splits_values(fields)
        {
            let why = format!(
                "new documents have the newest value of `{leading}` for {} at a time: they go to \
                 one chunk, hashed or not",
                lasting(self.seconds_per_value(leading).unwrap_or_default() / DAY)
            );
            return ("SK-3", Some(false), why);
        }
        if is_hashed {
            return ("SK-3", Some(true), "hashed, so new documents are distributed".to_owned());
        }
        match self.rises(leading) {
            Some(false) => {}
            // Each value has documents in many chunks, and the next field distributes them.
            rises if self.splits_values(fields) => {
                let how = if rises.is_some() { "increases" } else { "may increase" };
                let next = fields.get(1).map_or("_id", |(name, _)| name.as_str());
                let why = format!(
                    "`{leading}` {how}, but each value has documents in many chunks, and \
                     `{next}` distributes them"
                );
                return ("SK-3", Some(true), why);
            }
            Some(true) if self.target(leading).is_some() => {
                let entity = self.target(leading).map_or("", |entity| &entity.name);
                let why = format!(
                    "new documents belong to the newest `{entity}`, whose ids increase: they all \
                     go to one chunk"
                );
                return ("SK-3", Some(false), why);
            }
            Some(true) => {
                let why = format!(
                    "`{leading}` increases monotonically: all new documents go to \
                 one chunk"
                );
                return ("SK-3", Some(false), why);
            }
            None => {
                return (
                    "SK-3",
                    None,
                    format!(
                        "the model does not declare whether `{leading}` increases monotonically \
                         ({})",
                        self.rising_key(leading)
                    ),
                );
            }
        }
        let behind = fields.get(1).map(|(name, _)| name.as_str());
        if let Some(behind) = behind.filter(|name| self.rises(name) == Some(true))
            && !self.is_own(leading)
        {
            let Some(values) = self.distinct(leading) else {
                let why = format!(
                    "`{behind}` increases monotonically, and the number of values of `{leading}` \
                     before it is not declared (`distinct`)"
                );
                return ("SK-3", None, why);
            };
            if values < self.ends {
                let why = format!(
                    "`{behind}` increases monotonically, and `{leading}` before it has only {}: \
                     new documents go to the ends of a few ranges",
                    text::plural(values as u64, "value")
                );
                return ("SK-3", Some(false), why);
            }
            if let Some(share) = self.top_share(leading).filter(|share| *share > TOP_FAIL) {
                let why = format!(
                    "`{behind}` increases monotonically, and {} of the documents have one value \
                     of `{leading}`: they go to one chunk",
                    text::percent(share)
                );
                return ("SK-3", Some(false), why);
            }
        }
        ("SK-3", Some(true), format!("`{leading}` does not increase monotonically"))
    }

    /// Whether documents with one value of the first field fill several chunks on each shard, and the
    /// second field distributes new ones over them.
    fn splits_values(&self, fields: &[(String, bool)]) -> bool {
        let [(leading, false), (next, hashed), ..] = fields else { return false };
        let chunks = CHUNKS_PER_SHARD * f64::from(self.layout.model.deployment.shards);
        let is_large = self.bytes_per_value(leading).is_some_and(|bytes| bytes >= chunks * CHUNK);
        is_large && (*hashed || self.rises(next) == Some(false))
    }

    /// Returns a field of the key that a declared write changes, and the write.
    fn changed<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &str)> {
        names.iter().find_map(|name| {
            let sets = |(entity, field): &(String, String)| {
                *entity == self.collection.entity && field == name
            };
            let mut writes = self.layout.model.writes.iter();
            writes
                .find(|write| write.sets.iter().any(sets))
                .map(|write| (*name, write.name.as_str()))
        })
    }

    /// Returns why a unique index conflicts with the key. The server requires that the index begins
    /// with the whole key.
    fn not_unique(&self, fields: &[(String, bool)]) -> Option<String> {
        let named: Vec<String> = self
            .refused(fields, true)
            .into_iter()
            .map(|index| {
                let names: Vec<&str> = index.keys.iter().map(|(name, _)| name.as_str()).collect();
                text::list(&names, 3)
            })
            .collect();
        let one = named.len() == 1;
        (!named.is_empty()).then(|| {
            format!(
                "the unique {} on {} {} not begin with it, and the server refuses the combination",
                if one { "index" } else { "indexes" },
                named.join(", on "),
                if one { "does" } else { "do" }
            )
        })
    }

    /// Returns the unique indexes that the server refuses together with a key. `remaining` leaves
    /// out indexes on values that a separate collection keeps unique.
    fn refused(&self, fields: &[(String, bool)], remaining: bool) -> Vec<&IndexPlan> {
        let indexes = self.collection.indexes.iter().filter(|index| index.unique);
        let left = indexes.filter(|index| !remaining || !lookup::covers(&self.looked_up, index));
        left.filter(|index| {
            let begins = fields.iter().zip(&index.keys).all(|(part, key)| part.0 == key.0);
            let hashed = fields.iter().any(|(_, hashed)| *hashed);
            hashed || fields.len() > index.keys.len() || !begins
        })
        .collect()
    }

    fn cardinality(&self, names: &[&str]) -> (&'static str, Option<bool>, String) {
        if let Some(own) = names.iter().find(|name| self.is_own(name)) {
            return ("SK-1", Some(true), format!("`{own}` is unique in every document"));
        }
        let known: Vec<Option<f64>> = names.iter().map(|name| self.distinct(name)).collect();
        let series = self.series_of(names);
        let most = known.iter().flatten().copied().chain(series).fold(0.0, f64::max);
        // A time field has almost as many values as there are documents.
        let times = names.iter().find(|name| self.is_time(name));
        if let Some(time) = times.filter(|_| most < self.least) {
            return ("SK-1", Some(true), format!("`{time}` is a time, so values rarely repeat"));
        }
        let holds = if most >= self.least {
            Some(true)
        } else if known.iter().all(Option::is_some) {
            Some(false)
        } else {
            None
        };
        let why = match holds {
            None => "the number of its values is not declared (`distinct`)".to_owned(),
            _ => format!(
                "at least {} values (required: {})",
                text::count(most as u64),
                text::count(self.least as u64)
            ),
        };
        ("SK-1", holds, why)
    }

    fn frequency(&self, names: &[&str]) -> (&'static str, Option<bool>, String) {
        // A second field that is unique splits the documents of any first value.
        let split = names.iter().any(|name| self.is_own(name));
        let first = names.first().copied().unwrap_or("_id");
        // All series are assumed to have equally many documents.
        if let Some(series) = self.series_of(names).filter(|_| names.len() > 1 && !split) {
            let why = format!("a series has {} of the documents", text::percent(1.0 / series));
            return ("SK-2", Some(1.0 / series <= TOP_FAIL), why);
        }
        // A document has each version number only once.
        let split =
            split || self.collection.purpose == Purpose::Versions && names.last() == Some(&VERSION);
        match (self.top_share(first), split) {
            (_, true) => ("SK-2", Some(true), "no value is in two documents".to_owned()),
            (Some(share), false) => {
                let fine = names.len() > 1 || share <= TOP_FAIL;
                let word = if share > TOP_WARN && fine { ", which is a lot" } else { "" };
                let why = format!(
                    "the most frequent value is in {} of the documents{word}",
                    text::percent(share)
                );
                ("SK-2", Some(fine), why)
            }
            // With so few values, the most frequent one is in at least an equal share of the
            // documents.
            (None, false)
                if names.len() == 1 && self.distinct(first).is_some_and(|n| n * TOP_FAIL < 1.0) =>
            {
                let values = self.distinct(first).unwrap_or(1.0).max(1.0);
                let why = format!(
                    "it has only {}: one of them is in at least {} of the documents",
                    text::plural(values as u64, "value"),
                    text::percent(1.0 / values)
                );
                ("SK-2", Some(false), why)
            }
            (None, false) => {
                let why = "the frequency of its values is not declared (`top-share`)".to_owned();
                ("SK-2", None, why)
            }
        }
    }

    /// Judges documents without a field of the key. They share the value null (SK-2) and stay in
    /// one chunk, unless the key has a hashed field after it. They belong to no zone (SK-11).
    /// Servers before 4.4 refuse them.
    fn lacking(
        &self,
        fields: &[(String, bool)],
        zoned: bool,
    ) -> Option<(&'static str, Option<bool>, String)> {
        let lacks = |(name, _): &(String, bool)| Some((name.clone(), self.may_lack(name)?));
        if self.layout.model.deployment.server < (4, 4) {
            let missing = fields.iter().filter_map(lacks).find(|(_, lack)| *lack == Lack::Missing);
            if let Some((name, _)) = missing {
                let why = format!(
                    "`{name}` can be missing, and servers before 4.4 refuse such a \
                     document"
                );
                return Some(("CK-13", Some(false), why));
            }
        }
        let zone = usize::from(zoned && fields.len() > 1);
        if let Some((name, lack)) = fields[..zone].iter().find_map(lacks) {
            let why = format!("`{name}` {}: such documents belong to no zone", lack.text());
            return Some(("SK-11", Some(false), why));
        }
        let (name, lack) = fields.get(zone).and_then(lacks)?;
        let is_split = fields[zone + 1..].iter().any(|(_, hashed)| *hashed);
        let why = format!(
            "`{name}` {}: such documents share one value of it, and go to one chunk",
            lack.text()
        );
        (!is_split).then_some(("SK-2", Some(false), why))
    }
}
