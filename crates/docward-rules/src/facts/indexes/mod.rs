//! Compares indexes: which one covers another, and which fields have an index of their own (AP-S4.6).

pub mod index_advice;
pub mod key_change;
pub mod renaming;
pub mod sharding;

use std::collections::BTreeSet;

use docward_model::{
    BsonType, Collection, DirectionKind, Evidence, FieldPath, Index, IndexKey, IndexUsage, Profile,
    Server, ShardKey, Topology,
};

use crate::facts::schema::described;

/// Whether all keys are plain ascending or descending fields.
pub fn is_plain(index: &Index) -> bool {
    index.keys.iter().all(is_plain_key)
}

fn is_plain_key(key: &IndexKey) -> bool {
    matches!(key.kind, DirectionKind::Ascending | DirectionKind::Descending)
        && !key.path.contains("$**")
}

/// Whether `long` begins with the fields of `short`, in an order that serves the same sorts. One field may be read in
/// either direction, several all forwards or all backwards.
fn begins_with(long: &Index, short: &Index) -> bool {
    if short.keys.is_empty() || short.keys.len() > long.keys.len() {
        return false;
    }
    let pairs = || short.keys.iter().zip(&long.keys);
    pairs().all(|(a, b)| a.path == b.path)
        && (short.keys.len() == 1
            || pairs().all(|(a, b)| a.kind == b.kind)
            || pairs().all(|(a, b)| a.kind != b.kind))
}

/// Days without an operation that used an index, by the server's counters. `None` if one used it,
/// or if unknown.
pub fn unused_days(index: &Index, server: &Server) -> Option<u64> {
    let usage = index.usage.filter(|usage| usage.operations == 0)?;
    let counted =
        usage.since.zip(server.clock_seconds).map(|(since, now)| (now - since).max(0) as u64);
    Some(counted.into_iter().chain(server.uptime_seconds).min()? / 86_400)
}

/// Whether all servers that could have used an index were asked: a standalone server, or every
/// data-bearing member of a set, including hidden ones.
pub fn is_counted_by_all(usage: &IndexUsage, server: &Server) -> bool {
    match server.topology {
        None | Some(Topology::Standalone) => true,
        Some(Topology::ReplicaSet(_)) => server.members.as_ref().is_some_and(|members| {
            let holders = members.iter().filter(|member| member.arbiter != Some(true)).count();
            holders > 0 && usage.members as usize >= holders
        }),
        Some(_) => false,
    }
}

/// Returns the note that other members may have counted more.
pub fn of_whom(usage: &IndexUsage, server: Option<&Server>) -> &'static str {
    match server {
        Some(server) if !is_counted_by_all(usage, server) => " on the members that were asked",
        _ => "",
    }
}

/// Whether an index must stay although no query uses it.
pub fn has_duty(index: &Index, shard_key: Option<&ShardKey>) -> bool {
    index.is_id()
        || index.unique
        || index.ttl_seconds.is_some()
        || carries_shard_key(index, shard_key)
}

/// An index of the collection that serves all queries of `short`, so that `short` only costs.
///
/// These indexes are never redundant:
///
/// - the key index, unique and TTL indexes, and the index of a shard key;
/// - hidden, sparse and partial ones, and those of another collation;
/// - hashed, text, geo and wildcard ones.
pub fn covering<'a>(
    collection: &'a Collection,
    short: &Index,
    shard_key: Option<&ShardKey>,
) -> Option<&'a Index> {
    let indexes = collection.indexes.as_deref()?;
    let duty = short.is_id() || short.hidden || short.ttl_seconds.is_some();
    if duty || !is_plain(short) || carries_shard_key(short, shard_key) {
        return None;
    }
    let mut best: Option<&Index> = None;
    for long in indexes {
        if covers(long, short, collection.profile.as_ref())
            // The longest cover is the one least likely to be redundant itself.
            && best.is_none_or(|b| {
                (std::cmp::Reverse(long.keys.len()), &long.name)
                    < (std::cmp::Reverse(b.keys.len()), &b.name)
            })
        {
            best = Some(long);
        }
    }
    best
}

fn covers(long: &Index, short: &Index, profile: Option<&Profile>) -> bool {
    if std::ptr::eq(long, short)
        || long.name == short.name
        || long.hidden
        || long.collation != short.collation
        || long.sparse != short.sparse
        || long.partial_filter != short.partial_filter
        || !begins_with(long, short)
        // 2dsphere and text indexes leave out documents without their field; a wildcard has no prefix.
        || !long.keys.iter().all(|k| is_plain_key(k) || k.kind == DirectionKind::Hashed)
    {
        return false;
    }
    let equal = long.keys.len() == short.keys.len();
    if short.unique && !(equal && long.unique) {
        return false;
    }
    if equal {
        // Of two equivalent indexes, the one with more functions stays, otherwise the first by name.
        let rank = |i: &Index| (!i.unique, i.ttl_seconds.is_none(), i.name.clone());
        return rank(long) < rank(short);
    }
    // Array fields after the prefix multiply the entries, so the shorter index is not redundant.
    let extra_arrays = profile.is_some_and(|p| {
        long.keys[short.keys.len()..].iter().any(|k| is_array_path(p, &k.path))
            && !short.keys.iter().any(|k| is_array_path(p, &k.path))
    });
    !extra_arrays
}

/// Whether the collection's shard key needs this very index: a longer one might be multikey.
pub fn carries_shard_key(index: &Index, shard_key: Option<&ShardKey>) -> bool {
    shard_key.is_some_and(|key| {
        key.fields.len() <= index.keys.len()
            && key.fields.iter().zip(&index.keys).all(|((path, _), k)| *path == k.path)
    })
}

/// Whether an index on this path is multikey, by the content of the documents.
pub fn is_array_path(profile: &Profile, path: &str) -> bool {
    profile
        .fields
        .iter()
        .any(|f| f.path.dotted() == path && (in_array(&f.path) || f.types.of(BsonType::Array) > 0))
}

/// The array whose elements an index on this path contains.
pub fn array_root(profile: &Profile, path: &str) -> Option<String> {
    let is_array = |dotted: &str| {
        profile.fields.iter().any(|f| f.types.of(BsonType::Array) > 0 && f.path.dotted() == dotted)
    };
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).find(|prefix| is_array(prefix)).map(str::to_owned)
}

fn in_array(path: &FieldPath) -> bool {
    path.in_array()
}

/// Top-level fields that are the first key of a separate index, and all top-level fields, without the key and object
/// mappers' fields.
pub fn leading_fields(
    evidence: &Evidence,
    collection: &Collection,
) -> Option<(BTreeSet<String>, usize)> {
    let profile = collection.profile.as_ref().filter(|p| p.documents > 0)?;
    let names: BTreeSet<&str> = described(profile).map(|f| f.name.as_str()).collect();
    let leading = collection
        .indexes
        .as_deref()?
        .iter()
        .filter(|i| !i.is_id())
        .filter(|i| i.usage.is_none_or(|usage| usage.operations == 0))
        .filter_map(|i| i.keys.first())
        .filter(|key| !is_asked_for(evidence, collection, &key.path))
        .filter_map(|k| k.path.split('.').next())
        .filter(|name| names.contains(name))
        .map(str::to_owned)
        .collect();
    Some((leading, names.len()))
}

/// Whether a recorded operation uses a field first by value, range or order: an index that begins with it has a query.
fn is_asked_for(evidence: &Evidence, collection: &Collection, path: &str) -> bool {
    let shapes = evidence.workload.iter().flat_map(|w| w.of(&collection.namespace));
    let mut shapes = shapes.map(|stats| &stats.shape);
    shapes.any(|shape| {
        let asked = shape.filter.iter().chain(shape.alternatives.iter().flatten());
        asked.map(|p| &p.path).chain(shape.sort.iter().map(|(by, _)| by)).any(|by| by == path)
    })
}

/// Whether nearly every field has a separate index (GC-38).
pub fn indexes_every_field(
    evidence: &Evidence,
    collection: &Collection,
    ratio: f64,
    least: u64,
) -> bool {
    leading_fields(evidence, collection).is_some_and(|(leading, all)| {
        leading.len() as u64 >= least && leading.len() as f64 >= ratio * all as f64
    })
}
