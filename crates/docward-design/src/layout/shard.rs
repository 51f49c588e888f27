//! Chooses shard keys from declarations (ALG-9, SK-1 to SK-13). `docward shardkey` measures keys of
//! existing data; this module works before data exists.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{BsonType, DesignRead, Matching, text};

use crate::decide::pattern::Pattern;
use crate::decide::vote::Choice;
use crate::declared::field_plan::{Origin, Planned, Rank, at_path, document_bytes};
use crate::layout::capacity;
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::index::paths::place_of;
use crate::layout::index_plan::{IndexPlan, Partial};
use crate::layout::shard_key::{KeyCandidate, ShardPlan};

/// The field that distinguishes versions of a document.
const VERSION: &str = "version";

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

pub(crate) fn plan(layout: &Layout<'_>, collection: &CollectionPlan) -> Option<ShardPlan> {
    let deployment = &layout.model.deployment;
    if deployment.shards < 2 {
        return None;
    }
    // Archives are read by the id of a document, versions by the id of their document.
    let kept_by = match collection.purpose {
        Purpose::Archive => Some("_id".to_owned()),
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
    let judge = Judge {
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
    if let Purpose::TimeSeries { meta, .. } = &collection.purpose {
        // The key of a time series begins with its meta field.
        candidates = vec![vec![(meta.clone(), false)]];
    }
    if let Some(meta) = meta.filter(|meta| !meta.fields.is_empty()) {
        let parts = meta.fields.iter().map(|part| (format!("{}.{}", meta.name, part.name), false));
        let parts: Vec<(String, bool)> = parts.collect();
        // If the zone field is a part of the meta field, it comes first.
        candidates = if zone.is_some() { vec![parts] } else { vec![candidates.remove(0), parts] };
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
    let mut ranked: Vec<_> = candidates
        .into_iter()
        .map(|fields| {
            let key = judge.key(fields, zoned);
            let open = key.checks.iter().filter(|(_, holds, _)| holds.is_none()).count();
            // Within a zone, the next field distributes documents over the shards.
            let names: Vec<&str> = key.fields.iter().map(|(name, _)| name.as_str()).collect();
            let behind = names.get(usize::from(zoned && names.len() > 1)).copied().unwrap_or("_id");
            let targeted = judge.targeting(behind).map_or(1.0, |(named, _)| named);
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
    // If no key is sound, prefer one that the server accepts. Of these, prefer one whose reads ask
    // every shard to one whose inserts go to a single shard.
    let rank = |key: &KeyCandidate| (key.is_sound(), key.is_possible(), key.spreads());
    let best = (0..judged.len()).rev().max_by_key(|i| rank(&judged[*i])).unwrap_or(0);
    let key = judged.remove(best);
    judged.truncate(4);
    let zones = zone.map(|(_, values)| values.clone()).unwrap_or_default();
    Some(ShardPlan { key, others: judged, zones, change: change(deployment.server) })
}

/// Whether all documents fit into one chunk in the coming years. Sharding such a collection has no
/// benefit.
pub(crate) fn stays_small(collection: &CollectionPlan) -> bool {
    let each = document_bytes(&collection.fields, Rank::Mean) as f64;
    capacity::in_the_end(collection).is_some_and(|documents| documents * each <= CHUNK)
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
    fetched: Vec<(f64, Found)>,
    /// The minimum number of distinct values of a key (SK-1).
    least: f64,
    /// The minimum number of values of a first field whose ranges grow at their ends. With fewer
    /// values, some shards get no inserts (SK-3).
    ends: f64,
}

/// How a document may lack a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lack {
    Missing,
    Null,
}

impl Lack {
    fn text(self) -> &'static str {
        match self {
            Self::Missing => "can be missing",
            Self::Null => "can be null",
        }
    }
}

/// How a read that follows a relationship finds documents.
enum Found {
    /// By `_id`.
    Id,
    /// By the id of an entity that they store.
    Holder(String),
    /// By a list of ids, which cannot be part of a key.
    Listed,
}

/// Returns the fetches of other entities' reads from a collection, unless they begin with it.
fn fetched(layout: &Layout<'_>, collection: &CollectionPlan) -> Vec<(f64, Found)> {
    let mut found = Vec::new();
    let is_home = matches!(
        collection.purpose,
        Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_)
    );
    for (r, decision) in layout.linked().filter(|_| is_home) {
        let Some(held) = decision.patterns.first() else { continue };
        let is_end = r.child == collection.entity || r.parent == collection.entity;
        if decision.choice != Some(Choice::Reference) || !is_end {
            continue;
        }
        for read in crate::declared::read_direction::along(layout.model, r) {
            let mut along = read.with.iter().filter(|with| with.relationship == r.name);
            let by_parent = crate::declared::read_direction::comes_by_parent(layout.model, read, r);
            if r.child == collection.entity && by_parent {
                let summed = read.sums.iter().any(|(of, _)| *of == r.name);
                let counted = read.counts.contains(&r.name)
                    && !matches!(held, Pattern::ChildrenInParent | Pattern::Junction);
                let worked_out = (summed || counted) && !decision.keeps(read);
                if worked_out
                    || along.clone().any(|with| !decision.spares(layout.model, with, true))
                {
                    let by = match held {
                        Pattern::ParentInChild | Pattern::Tree => Found::Holder(r.parent.clone()),
                        Pattern::ChildrenInParent | Pattern::Junction => Found::Id,
                        _ => Found::Listed,
                    };
                    found.push((read.per_second, by));
                }
            } else if r.parent == collection.entity
                && !by_parent
                && along.any(|with| !decision.spares(layout.model, with, false))
            {
                let by = match held {
                    Pattern::ChildrenInParent => Found::Listed,
                    _ => Found::Id,
                };
                found.push((read.per_second, by));
            }
        }
    }
    found
}

impl Judge<'_, '_> {
    /// Returns fields that reads compare with a value, without the zone field.
    fn named(&self, zone: Option<&str>) -> Vec<String> {
        let mut found = Vec::new();
        for index in &self.collection.indexes {
            let behind = index.keys.iter().filter(|(name, _)| zone != Some(name));
            for (name, _) in behind.take(1) {
                if !found.contains(name) && self.is_plain(name) {
                    found.push(name.clone());
                }
            }
        }
        // If a read compares several fields, each of them may lead the key, regardless of their
        // order in the read (SK-8, SK-10).
        for (read, path) in &self.reads {
            for name in self.given(read, path) {
                if !found.contains(&name) && zone != Some(name.as_str()) {
                    found.push(name);
                }
            }
        }
        found
    }

    /// Returns the fields of the collection that a read compares with a value.
    fn given(&self, read: &DesignRead, path: &str) -> Vec<String> {
        let equal = read
            .filter
            .iter()
            .filter(|(_, how)| matches!(how, Matching::Equal | Matching::OneOf(_)));
        let places = equal.map(|(name, _)| place_of(self.layout, self.collection, path, name));
        places.filter(|name| name != "_id" && self.is_plain(name)).collect()
    }

    /// Returns the share of reads that reach only a few shards. The documents of a value of a
    /// coarse field are on many shards, unless the read also contains the next field (SK-4).
    fn reaches_few(&self, fields: &[(String, bool)], targeted: f64) -> f64 {
        let [(first, _), rest @ ..] = fields else { return targeted };
        if !self.is_coarse(first) {
            return targeted;
        }
        let Some((next, hashed)) = rest.first() else { return targeted };
        let behind = |(read, path): &&(&DesignRead, String)| {
            let ranged = !hashed && read.filter.iter().any(|(name, _)| name == next);
            let given = self.given(read, path);
            given.contains(first) && (given.contains(next) || ranged)
        };
        let rate = |reads: &mut dyn Iterator<Item = &(&DesignRead, String)>| {
            reads.map(|(read, _)| read.per_second).sum::<f64>()
        };
        let all = rate(&mut self.reads.iter());
        let few = rate(&mut self.reads.iter().filter(|read| behind(read)));
        if all > 0.0 { few / all } else { targeted }
    }

    /// Returns the fields that identify the series of a bucket, in the order of the append's
    /// filter.
    fn series(&self) -> Vec<&str> {
        let fields = || self.collection.fields.iter();
        let is_series =
            |name: &str| fields().any(|f| f.name == name && f.origin != Origin::Pattern("bucket"));
        let is_open = |index: &&IndexPlan| matches!(index.only, Some(Partial::Below(..)));
        let open = self.collection.indexes.iter().filter(|index| index.unique).find(is_open);
        let keys = open.into_iter().flat_map(|index| &index.keys);
        keys.map(|(name, _)| name.as_str()).take_while(|name| is_series(name)).collect()
    }

    /// Returns the number of series if a key contains all fields that identify them.
    fn series_of(&self, names: &[&str]) -> Option<f64> {
        let declared = self.layout.model.entity(&self.collection.entity)?.series.as_ref()?;
        // References to an entity with an undecided relationship are missing here.
        let series = self.series();
        let all = series.len() == declared.id.len() && !series.is_empty();
        let named = all && series.iter().all(|part| names.contains(part));
        declared.series.filter(|series| named && *series >= 1.0)
    }

    fn is_plain(&self, name: &str) -> bool {
        self.collection
            .fields
            .iter()
            .any(|field| field.name == name && field.kind != BsonType::Array)
    }

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

    /// Returns the share of reads by the leading field that also sort or filter by the next one.
    fn used(&self, key: &KeyCandidate, zoned: bool) -> f64 {
        let Some((finer, _)) = key.fields.get(1 + usize::from(zoned)) else { return 0.0 };
        let (mut all, mut using) = (0.0, 0.0);
        for read in self.layout.model.reads.iter().filter(|r| r.from == self.collection.entity) {
            all += read.per_second;
            let filters = read.filter.iter().map(|(name, _)| name);
            if filters.chain(read.sort.iter().map(|(name, _)| name)).any(|name| name == finer) {
                using += read.per_second;
            }
        }
        if all == 0.0 { 0.0 } else { using / all }
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
        // A read without the first field asks every shard, even if it contains other fields of the
        // key.
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
                let why = match few < named {
                    true => format!(
                        "{named_it}, but each of the few values of `{first}` is on many shards, \
                         and only {} filter on the next field",
                        text::percent(few)
                    ),
                    false => named_it,
                };
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
        if fields.iter().any(|(_, hashed)| *hashed) {
            return ("SK-3", Some(true), "hashed, so new documents are distributed".to_owned());
        }
        match self.rises(leading) {
            Some(false) => {}
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
                        "the model does not declare whether `{leading}` \
                 increases monotonically"
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

    /// Whether a field has few values, or one value in most documents.
    fn is_coarse(&self, name: &str) -> bool {
        self.distinct(name).is_some_and(|values| values < self.ends)
            || self.top_share(name).is_some_and(|share| share > TOP_FAIL)
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
        let refused = self.collection.indexes.iter().filter(|index| index.unique).filter(|index| {
            let begins = fields.iter().zip(&index.keys).all(|(part, key)| part.0 == key.0);
            let hashed = fields.iter().any(|(_, hashed)| *hashed);
            hashed || fields.len() > index.keys.len() || !begins
        });
        let named: Vec<String> = refused
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
                let why = format!("the most frequent value is in {}{word}", text::percent(share));
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

    fn declared(&self, name: &str) -> Option<&docward_model::EntityField> {
        // A part of the object that identifies the series.
        let name = match &self.collection.purpose {
            Purpose::TimeSeries { meta, .. } => {
                name.strip_prefix(meta.as_str()).and_then(|rest| rest.strip_prefix('.'))
            }
            _ => None,
        }
        .unwrap_or(name);
        self.layout.model.entity(&self.collection.entity)?.field(name)
    }

    /// Returns the entity whose id a field stores.
    fn target(&self, name: &str) -> Option<&docward_model::Entity> {
        let field = self.collection.fields.iter().find(|field| field.name == name)?;
        match &field.origin {
            Origin::Reference(entity) => self.layout.model.entity(entity),
            _ => None,
        }
    }

    /// Whether each document has a different value.
    fn is_own(&self, name: &str) -> bool {
        name == "_id" || self.is_unique(name)
    }

    fn is_time(&self, name: &str) -> bool {
        let field = self.collection.fields.iter().find(|field| field.name == name);
        field.is_some_and(|field| field.kind == BsonType::Date)
    }

    fn is_unique(&self, name: &str) -> bool {
        self.declared(name).is_some_and(|field| field.unique) && self.may_lack(name).is_none()
    }

    /// Returns how a document may lack a field of a key.
    fn may_lack(&self, name: &str) -> Option<Lack> {
        let (_, field) = at_path(&self.collection.fields, name)?;
        match (field.required, field.nullable) {
            (false, _) => Some(Lack::Missing),
            (true, true) => Some(Lack::Null),
            (true, false) => None,
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

    fn distinct(&self, name: &str) -> Option<f64> {
        if let Some(entity) = self.target(name) {
            return entity.count;
        }
        if let Purpose::TimeSeries { meta, .. } = &self.collection.purpose
            && meta == name
            && let Some(series) = self.layout.model.entity(&self.collection.entity)?.series.as_ref()
            && series.series.is_some()
        {
            return series.series;
        }
        let field = self.declared(name)?;
        let listed = match field.kind {
            BsonType::Bool => Some(2.0),
            _ => (!field.values.is_empty()).then_some(field.values.len() as f64),
        };
        field.distinct.or(listed)
    }

    fn top_share(&self, name: &str) -> Option<f64> {
        if let Some(entity) = self.target(name) {
            // Uses the largest parent's share of all children.
            let relationship = self
                .layout
                .model
                .relationships
                .iter()
                .find(|r| r.parent == entity.name && r.child == self.collection.entity)?;
            let most = relationship.children?.max as f64;
            // A bucket holds many children, and the share refers to children.
            let all = match self.collection.purpose {
                Purpose::Bucket(_) => self.layout.model.entity(&self.collection.entity)?.count,
                _ => self.collection.documents,
            };
            return all.filter(|n| *n > 0.0).map(|n| (most / n).min(1.0));
        }
        let Some(field) = self.declared(name) else {
            return self.is_time(name).then_some(0.0);
        };
        field.top_share.or_else(|| (field.kind == BsonType::Date).then_some(0.0))
    }

    fn rises(&self, name: &str) -> Option<bool> {
        if name == "_id" {
            return Some(true);
        }
        if self.target(name).is_some() {
            // References to other documents are inserted in the order of use, not in the order of
            // the ids.
            return Some(false);
        }
        let Some(field) = self.declared(name) else {
            // The field is the period of a bucket.
            return self.is_time(name).then_some(true);
        };
        field.rising.or(match field.kind {
            BsonType::Date | BsonType::Timestamp | BsonType::ObjectId => Some(true),
            _ if !field.values.is_empty() => Some(false),
            BsonType::String | BsonType::Bool => Some(false),
            _ => None,
        })
    }

    /// Returns the share of reads along a relationship that know a field's value. Junction
    /// documents and pages are read only along a relationship.
    fn along_relationship(&self, relationship: &str, leading: &str) -> Option<f64> {
        let r = self.layout.model.relationship(relationship)?;
        let (mut all, mut named) = (0.0, 0.0);
        for read in &self.layout.model.reads {
            let along = read.with.iter().any(|with| with.relationship == r.name);
            let counted = read.counts.contains(&r.name);
            let from = read.from == r.parent || read.from == r.child;
            if !from || !(along || counted) {
                continue;
            }
            all += read.per_second;
            let side = if read.from == r.parent { 1 } else { 2 };
            if self.collection.fields.get(side).is_some_and(|field| field.name == leading) {
                named += read.per_second;
            }
        }
        (all > 0.0).then(|| named / all)
    }

    /// Returns the share of reads that compare a field with a value, and the share that use a
    /// range. Returns `None` if there are no reads.
    fn targeting(&self, leading: &str) -> Option<(f64, f64)> {
        let (mut all, mut named, mut ranged) = (0.0, 0.0, 0.0);
        if let Purpose::Junction(name) | Purpose::Overflow(name) = &self.collection.purpose {
            return self.along_relationship(name, leading).map(|named| (named, 0.0));
        }
        let meta = self.collection.fields.iter().find(|field| field.name == leading);
        let parts = meta.map(|meta| meta.fields.as_slice()).unwrap_or_default();
        for (read, path) in &self.reads {
            all += read.per_second;
            // A filter on all parts of an object counts as a filter on the object.
            let is_given = |part: &Planned| {
                read.filter.iter().any(|(name, how)| *name == part.name && *how == Matching::Equal)
            };
            if !parts.is_empty() && parts.iter().all(is_given) {
                named += read.per_second;
                continue;
            }
            for (name, how) in &read.filter {
                let place = place_of(self.layout, self.collection, path, name);
                let is_it = place == leading
                    || !path.is_empty() && leading == "_id" && *name == self.collection.entity
                    || path.is_empty()
                        && (self.target(leading).is_some_and(|entity| entity.name == *name)
                            || self.layout.naming.id_of(name) == leading);
                if !is_it {
                    continue;
                }
                match how {
                    Matching::Equal | Matching::OneOf(_) => named += read.per_second,
                    _ => ranged += read.per_second,
                }
            }
        }
        for (rate, by) in &self.fetched {
            all += rate;
            let is_it = match by {
                Found::Id => leading == "_id",
                Found::Holder(entity) => self.target(leading).is_some_and(|e| e.name == *entity),
                Found::Listed => false,
            };
            named += if is_it { *rate } else { 0.0 };
        }
        (all > 0.0).then(|| (named / all, ranged / all))
    }
}
