//! Evaluates a shard key (SK-*): its fields and its granularity. The key is that of the cluster, or else the declared
//! one. `key_change` plans changes of it.

use crate::facts::thresholds::{k002, k003};
use std::{borrow::Cow, collections::BTreeMap};

use docward_model::{
    BsonType, Cluster, Comparison, DeclaredTopology, Evidence, Field, KeyFields, Namespace,
    Operation, Predicate, Profile, QueryShape, QueryStats, Server, Settings, ShardKey, Topology,
};

use crate::facts::{
    names::{self, meaning},
    values::monotonic,
    workload,
};

/// Returns the metadata of a sharded cluster, if there is one.
pub fn cluster(evidence: &Evidence) -> Option<&Cluster> {
    evidence.server.as_ref()?.cluster.as_ref()
}

/// The shard key of a collection: the one in the cluster, else the declared one.
pub fn key_of<'a>(
    evidence: &'a Evidence,
    settings: &'a Settings,
    namespace: &Namespace,
) -> Option<&'a ShardKey> {
    let sharded = cluster(evidence).and_then(|cluster| cluster.collection(namespace));
    sharded
        .map(|sharded| &sharded.key)
        .or_else(|| settings.shard_keys.iter().find(|key| key.namespace == *namespace))
}

/// The status of a declared key: settings may describe the current or the planned state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The collection is sharded, by the key that the cluster reports.
    InUse,
    /// The collection is not sharded.
    Planned,
    /// Unknown: there is no running deployment, or the account cannot see it.
    Unknown,
}

impl Standing {
    /// Returns a name for the key.
    pub fn key_name(self) -> &'static str {
        match self {
            Self::Planned => "planned key",
            Self::InUse | Self::Unknown => "shard key",
        }
    }
}

/// Returns whether a collection is already sharded.
pub fn standing(evidence: &Evidence, namespace: &Namespace) -> Standing {
    let Some(server) = &evidence.server else { return Standing::Unknown };
    let Some(cluster) = &server.cluster else {
        return if is_outside_clusters(server) { Standing::Planned } else { Standing::Unknown };
    };
    match &cluster.collections {
        Some(_) if cluster.collection(namespace).is_some() => Standing::InUse,
        Some(_) => Standing::Planned,
        None => Standing::Unknown,
    }
}

/// Whether a server without the tables of a cluster is known to belong to none. A shard that is queried directly has no
/// such tables either.
fn is_outside_clusters(server: &Server) -> bool {
    let role = server.start.as_ref().map(|start| start.cluster_role.is_some());
    match &server.topology {
        Some(Topology::Standalone) => role != Some(true),
        Some(Topology::ReplicaSet(_)) => role == Some(false),
        Some(Topology::Sharded) | None => false,
    }
}

/// Whether the deployment is known to have no shards: by its server, or else by its declaration.
pub fn is_unsharded(evidence: &Evidence, settings: &Settings) -> bool {
    match &evidence.server {
        Some(server) => server.cluster.is_none() && is_outside_clusters(server),
        None => matches!(
            settings.deployment.topology,
            Some(DeclaredTopology::Standalone | DeclaredTopology::ReplicaSet)
        ),
    }
}

/// Whether any collection has a shard key.
pub fn has_keys(evidence: &Evidence, settings: &Settings) -> bool {
    let sharded = cluster(evidence).and_then(|cluster| cluster.collections.as_ref());
    !settings.shard_keys.is_empty() || sharded.is_some_and(|sharded| !sharded.is_empty())
}

/// The number of shards: as declared, otherwise as in the cluster.
pub fn shards(evidence: &Evidence, settings: &Settings) -> Option<u32> {
    let there = cluster(evidence).and_then(|cluster| cluster.shards.as_ref());
    let there = there.and_then(|shards| u32::try_from(shards.len()).ok()).filter(|n| *n > 0);
    settings.shards.or(there)
}

/// Returns `; 4 of its 12 chunks are too large to be moved` if the cluster reports such chunks, which are the result
/// of a coarse key.
pub fn jumbo_text(evidence: &Evidence, namespace: &Namespace) -> String {
    match jumbo(evidence, namespace) {
        Some((chunks, jumbo)) => format!(
            "; {} of its {} {} marked as too large to move",
            crate::facts::text::count(jumbo),
            crate::facts::text::plural(chunks, "chunk"),
            if jumbo == 1 { "is" } else { "are" }
        ),
        None => String::new(),
    }
}

/// The chunks of a collection, and the number of those marked as too large to be moved, if any.
pub fn jumbo(evidence: &Evidence, namespace: &Namespace) -> Option<(u64, u64)> {
    let sharded = cluster(evidence)?.collection(namespace)?;
    sharded.chunks().filter(|(_, jumbo)| *jumbo > 0)
}

/// The first field of the key that contains arrays, or is inside one, with their number: the server accepts no arrays
/// in a shard key.
pub fn array_field<'a>(profile: &Profile, fields: &'a [(String, bool)]) -> Option<(&'a str, u64)> {
    fields.iter().find_map(|(path, _)| {
        let arrays = profile
            .fields
            .iter()
            .filter(|f| f.types.of(BsonType::Array) > 0)
            .filter(|f| {
                let dotted = f.path.dotted();
                path.strip_prefix(dotted.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            .map(|f| f.types.of(BsonType::Array))
            .max()?;
        Some((path.as_str(), arrays))
    })
}

pub use docward_model::key_text;

/// The completed reads of each collection.
///
/// A `$lookup` of another collection counts as one read per operation, by the field that it compares. The record
/// does not contain the reads of a `$lookup` pipeline.
pub fn reads(evidence: &Evidence) -> BTreeMap<Namespace, Vec<Cow<'_, QueryStats>>> {
    let mut reads: BTreeMap<Namespace, Vec<Cow<'_, QueryStats>>> = BTreeMap::new();
    for stats in workload::business_shapes(evidence).filter(|s| s.shape.operation.is_read()) {
        let namespace = &stats.shape.namespace;
        reads.entry(namespace.clone()).or_default().push(Cow::Borrowed(stats));
        for lookup in &stats.shape.lookups {
            let Some((_, foreign)) = &lookup.fields else { continue };
            let to = Namespace::new(&*namespace.database, &*lookup.from);
            reads
                .entry(to.clone())
                .or_default()
                .push(Cow::Owned(sent_by_lookup(stats, to, foreign)));
        }
    }
    reads
}

/// Returns the query that a `$lookup` sends to another collection.
fn sent_by_lookup(stats: &QueryStats, to: Namespace, foreign: &str) -> QueryStats {
    let asked = Predicate { path: foreign.to_owned(), comparison: Comparison::Equality };
    let shape = QueryShape {
        namespace: to,
        operation: Operation::Find,
        filter: vec![asked],
        branches: false,
        alternatives: Vec::new(),
        filters_late: false,
        sort: Vec::new(),
        lookups: Vec::new(),
        ..stats.shape.clone()
    };
    QueryStats { shape, scattered: (0, 0), ..stats.clone() }
}

/// Whether a query goes to the shards of a few values. Its filter fixes the first field of the key, or has a range of
/// it with two ends; a hashed key scatters such a range. The branches of an additional `$or` do not matter. A range
/// with one end may go to all shards but the first.
pub fn is_targeted(fields: &[(String, bool)], shape: &QueryShape) -> bool {
    let Some((first, hashed)) = fields.first() else { return false };
    is_fixed(first, shape) || (!hashed && asks(first, shape, is_bounded))
}

/// Whether a query fixes a field to a value, or a few.
pub fn is_fixed(path: &str, shape: &QueryShape) -> bool {
    asks(path, shape, |c| matches!(c, Comparison::Equality | Comparison::OneOf))
}

/// Whether a query filters by a range of a field, with one end or two.
pub fn is_ranged(path: &str, shape: &QueryShape) -> bool {
    asks(path, shape, |c| c == Comparison::Range || is_bounded(c))
}

/// Ranges with two ends; the prefix of a string is one.
fn is_bounded(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::Between | Comparison::Prefix)
}

fn asks(path: &str, shape: &QueryShape, how: impl Fn(Comparison) -> bool) -> bool {
    shape.filter.iter().any(|p| p.path == path && how(p.comparison))
}

/// The number of distinct values of a key.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The maximum number: the product over the fields, whose combinations need not all occur.
    pub most: f64,
    /// Whether the number of each field is exact.
    pub exact: bool,
}

impl Values {
    /// The number as printed: exact, or with the digits of an estimate.
    pub fn shown(&self) -> u64 {
        if self.exact { self.most.round() as u64 } else { crate::facts::text::rounded(self.most) }
    }
}

/// The values of a key; `None` if a field does not exist.
pub fn values(profile: &Profile, key: &ShardKey) -> Option<Values> {
    let fields: Option<Vec<&Field>> =
        key.fields.iter().map(|(path, _)| profile.field(path)).collect();
    let fields = fields.filter(|f| !f.is_empty())?;
    let product: f64 = fields.iter().map(|f| f.distinct.values.max(1.0)).product();
    Some(Values {
        most: product.min(profile.documents as f64),
        exact: fields.iter().all(|f| f.distinct.exact),
    })
}

/// The minimum share of the most frequent combination, less the sampling error. The top values of several fields need
/// not coincide. Also returns whether it is the share itself. `None` if a field does not exist.
pub fn least_top_share(profile: &Profile, key: &ShardKey) -> Option<(f64, bool)> {
    let fields: Option<Vec<&Field>> =
        key.fields.iter().map(|(path, _)| profile.field(path)).collect();
    let fields = fields?;
    let top = |f: &Field| {
        // Documents without the field have the value null, which does not count here.
        let present = (f.types.non_null() as f64 / profile.documents.max(1) as f64).min(1.0);
        (f.distinct.top_share - f.distinct.top_share_error).max(0.0) * present
    };
    let together = fields.iter().map(|f| top(f)).sum::<f64>() - (fields.len() as f64 - 1.0);
    let exact = fields.len() == 1 && fields[0].distinct.top_share_error == 0.0;
    (!fields.is_empty()).then_some((together.max(0.0), exact))
}

/// The number of distinct values that a key needs: enough chunks for every shard, and never below the minimum.
pub fn needed_values(floor: u64, per_shard: u64, shards: Option<u32>) -> u64 {
    floor.max(per_shard.saturating_mul(u64::from(shards.unwrap_or(0))))
}

/// Returns an id to put first in the key, or to add to it. It is present in all documents, has many values without a
/// dominant one, and does not increase. If the order of documents is unknown, its type must not be one that may
/// increase. Other fields may be as good, but no evidence shows that queries use them.
pub fn fine_field<'a>(
    profile: &'a Profile,
    needed: u64,
    avoid: &[&str],
    max_share: f64,
) -> Option<&'a Field> {
    let is_key = |name: &str| {
        let last = names::words(name).pop().unwrap_or_default();
        meaning::is_id(name) || last.ends_with("code") || last == "sku" || last == "slug"
    };
    profile.top_level().find(|f| {
        !avoid.contains(&f.path.as_str())
            && f.path.as_str() != "_id"
            && is_key(&f.name)
            && f.array.is_none()
            && f.types.non_null() == profile.documents
            && f.distinct.values >= needed as f64
            && f.distinct.top_share <= max_share
            && !monotonic::is_made_in_order(f)
            && match f.natural_order {
                Some(r) => r.abs() < k003::CORRELATION.default_number(),
                None => !monotonic::may_rise(f),
            }
    })
}

/// Returns the field to append to a key so that MongoDB can split documents with the same value: a fine id, otherwise
/// `_id`. It is hashed if new documents would otherwise all go to the end of their range.
pub fn splitter(
    profile: &Profile,
    needed: u64,
    key: &ShardKey,
    version: Option<(u32, u32)>,
    max_share: f64,
) -> KeyFields {
    let used: Vec<&str> = key.fields.iter().map(|(path, _)| path.as_str()).collect();
    let mut fields = key.fields.clone();
    if let Some(finer) = fine_field(profile, needed, &used, max_share) {
        fields.push((finer.path.as_str().to_owned(), false));
        return fields;
    }
    let rises = profile.field("_id").is_none_or(monotonic::may_rise);
    let one_hash_more =
        key.fields.iter().all(|(_, hashed)| !hashed) && version.is_none_or(|v| v >= (4, 4));
    if rises && (!one_hash_more || used.contains(&"_id")) {
        return vec![("_id".to_owned(), true)];
    }
    fields.push(("_id".to_owned(), rises));
    fields
}

/// The share of one value that `K002` warns about, as configured for a namespace.
pub fn max_share(settings: &Settings, namespace: &Namespace) -> f64 {
    k002::limit(settings, namespace, &k002::WARN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sk_12_a_declared_key_is_planned_where_the_collection_is_known_not_to_be_sharded() {
        let ns = Namespace::new("db_shop", "t_order");
        let other = Namespace::new("db_shop", "t_user");
        let seen = |server: Server| {
            let evidence = Evidence { server: Some(server), ..Evidence::default() };
            standing(&evidence, &ns)
        };
        let set = Some(Topology::ReplicaSet("rs0".to_owned()));
        let start = |role: Option<&str>| {
            let cluster_role = role.map(str::to_owned);
            Some(docward_model::StartOptions { cluster_role, ..Default::default() })
        };
        let tables = |collections: Option<Vec<&Namespace>>| {
            let by = |ns: &Namespace| {
                docward_model::ShardedCollection::by(ns.clone(), vec![("a".to_owned(), false)])
            };
            let collections = collections.map(|names| names.into_iter().map(by).collect());
            let cluster = Some(Cluster { collections, ..Cluster::default() });
            Server { topology: Some(Topology::Sharded), cluster, ..Server::default() }
        };
        assert_eq!(standing(&Evidence::default(), &ns), Standing::Unknown, "a dump");
        let alone = Server { topology: Some(Topology::Standalone), ..Server::default() };
        assert_eq!(seen(alone), Standing::Planned);
        let with = |start| Server { topology: set.clone(), start, ..Server::default() };
        assert_eq!(seen(with(start(None))), Standing::Planned);
        assert_eq!(seen(with(start(Some("shardsvr")))), Standing::Unknown, "a shard");
        assert_eq!(seen(with(None)), Standing::Unknown, "it does not say how it was started");
        assert_eq!(seen(tables(Some(vec![&ns]))), Standing::InUse);
        assert_eq!(seen(tables(Some(vec![&other]))), Standing::Planned);
        assert_eq!(seen(tables(None)), Standing::Unknown, "the table could not be read");
    }

    #[test]
    fn sk_1_the_need_grows_with_the_shards() {
        assert_eq!(needed_values(1000, 100, None), 1000);
        assert_eq!(needed_values(1000, 100, Some(4)), 1000);
        assert_eq!(needed_values(1000, 100, Some(20)), 2000);
    }
}
