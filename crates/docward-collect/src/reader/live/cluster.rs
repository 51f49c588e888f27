//! Reads the state of a sharded cluster from the database `config`: shards, keys, chunks, zones,
//! routers and the balancer. Routers and config servers have these tables. A replica set has none
//! of them; then nothing is requested and nothing is reported.
//!
//! The formats are those of the documentation and of 3.6 to 8.0: chunks contain the name of their
//! collection (up to 4.4) or its UUID (5.0 and later). The server counts chunks; the chunks
//! themselves, of which there may be millions, are not transferred.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Cluster, KeyFields, Namespace, Router, Shard, ShardPart, ShardedCollection, Topology,
    is_server_owned,
};
use mongodb::bson::{Bson, Document, doc};

use super::{
    super::Reader,
    Deployment,
    privileges::Resource,
    session::{Read, number},
};

const CONFIG: &str = "config";

/// The tables that distinguish a cluster from a standalone server or replica set.
const TELLING: [&str; 2] = ["mongos", "shards"];

/// The time limit for counting chunks on the server.
const COUNTING_MS: i64 = 30_000;

impl Reader<'_, '_, '_> {
    /// Reads the tables of a cluster; `None` if this is not a cluster.
    pub(super) fn cluster(
        &mut self,
        deployment: &mut Deployment<'_>,
        topology: Option<&Topology>,
    ) -> Option<Cluster> {
        let is_router = topology == Some(&Topology::Sharded);
        if !is_router && !has_tables(deployment) {
            return None;
        }
        let shards = self.table_of(deployment, "shards", find(doc! {}));
        let collections = self.table_of(
            deployment,
            "collections",
            // Dropped collections remain in the tables of old servers; collections that are merely
            // tracked (8.0 and later) are not sharded.
            find(doc! { "dropped": { "$ne": true }, "unsplittable": { "$ne": true } }),
        );
        let chunks = self.table_of(deployment, "chunks", aggregate(&counted_chunks()));
        let zones = self.table_of(deployment, "tags", aggregate(&[zone_names()]));
        let routers = self.table_of(deployment, "mongos", find(doc! {}));
        let wanted = doc! { "_id": { "$in": ["balancer", "chunksize"] } };
        let settings = self.table_of(deployment, "settings", find(wanted));
        let is_empty = |table: &Option<Vec<Document>>| table.as_ref().is_some_and(Vec::is_empty);
        if !is_router && [&shards, &collections, &routers].into_iter().all(is_empty) {
            return None;
        }
        let setting = |id: &str| {
            settings.iter().flatten().find(|row| row.get_str("_id").is_ok_and(|text| text == id))
        };
        Some(Cluster {
            id: cluster_id(deployment),
            shards: shards.map(|rows| self::shards(&rows)),
            collections: collections
                .map(|rows| sharded(&rows, chunks.as_deref(), zones.as_deref())),
            routers: routers.map(|rows| self::routers(&rows)),
            balancer_on: settings.is_some().then(|| is_balancing(setting("balancer"))),
            chunk_mib: setting("chunksize").and_then(|row| number(row, "value")),
        })
    }

    fn table_of(
        &mut self,
        deployment: &mut Deployment<'_>,
        table: &str,
        (read, mut rest): (Read, Document),
    ) -> Option<Vec<Document>> {
        let name = if read == Read::Find { "find" } else { "aggregate" };
        rest.insert(name, table);
        match deployment.session.list(CONFIG, read, rest) {
            Ok(rows) => Some(rows),
            Err(error) => {
                let resource = Resource::Collection(Namespace::new(CONFIG, table));
                let what = format!("reading {CONFIG}.{table}");
                self.refused(deployment, resource, "find", &what, &error);
                None
            }
        }
    }
}

/// Returns whether the server has the tables of a cluster. A missing privilege is not reported,
/// because on a replica set there is nothing to read.
fn has_tables(deployment: &Deployment<'_>) -> bool {
    let rest = doc! {
        "nameOnly": true, "authorizedCollections": true, "filter": { "name": { "$in": TELLING.to_vec() } },
    };
    let found = deployment.session.list(CONFIG, Read::ListCollections, rest);
    found.is_ok_and(|found| !found.is_empty())
}

/// The cluster id, if the user may read it. It only serves to distinguish clusters, so a missing
/// privilege is not reported.
fn cluster_id(deployment: &Deployment<'_>) -> Option<String> {
    let (read, mut rest) = find(doc! {});
    rest.insert("find", "version");
    let rows = deployment.session.list(CONFIG, read, rest).ok()?;
    rows.first()?.get_object_id("clusterId").ok().map(|id| id.to_hex())
}

fn find(filter: Document) -> (Read, Document) {
    (Read::Find, doc! { "filter": filter })
}

fn aggregate(pipeline: &[Document]) -> (Read, Document) {
    let rest = doc! { "pipeline": pipeline.to_vec(), "cursor": {}, "maxTimeMS": COUNTING_MS };
    (Read::Aggregate, rest)
}

/// The chunks of each collection on each shard, counted by the server. The key is the collection's
/// UUID (5.0 and later) or its name.
fn counted_chunks() -> [Document; 1] {
    let jumbo = doc! { "$cond": [{ "$eq": ["$jumbo", true] }, 1, 0] };
    [doc! { "$group": {
        "_id": { "of": { "$ifNull": ["$uuid", "$ns"] }, "shard": "$shard" },
        "chunks": { "$sum": 1 },
        "jumbo": { "$sum": jumbo },
    } }]
}

fn zone_names() -> Document {
    doc! { "$group": { "_id": "$ns", "zones": { "$addToSet": "$tag" } } }
}

fn texts(values: &Bson) -> Vec<String> {
    let values = values.as_array().into_iter().flatten();
    let named: BTreeSet<String> = values.filter_map(|v| v.as_str().map(str::to_owned)).collect();
    named.into_iter().collect()
}

fn yes(row: &Document, key: &str) -> bool {
    row.get_bool(key).is_ok_and(|yes| yes)
}

fn shards(rows: &[Document]) -> Vec<Shard> {
    let mut shards: Vec<Shard> = rows
        .iter()
        .filter_map(|row| {
            Some(Shard {
                name: row.get_str("_id").ok()?.to_owned(),
                host: row.get_str("host").unwrap_or_default().to_owned(),
                draining: yes(row, "draining"),
                zones: row.get("tags").map(texts).unwrap_or_default(),
            })
        })
        .collect();
    shards.sort_by(|a, b| a.name.cmp(&b.name));
    shards
}

/// The identifier of a collection in the table of chunks.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Uuid(Vec<u8>),
    Name(String),
}

impl Of {
    fn read(value: Option<&Bson>) -> Option<Self> {
        match value? {
            Bson::Binary(uuid) => Some(Self::Uuid(uuid.bytes.clone())),
            Bson::String(name) => Some(Self::Name(name.clone())),
            _ => None,
        }
    }
}

fn sharded(
    rows: &[Document],
    chunks: Option<&[Document]>,
    zones: Option<&[Document]>,
) -> Vec<ShardedCollection> {
    let mut parts: BTreeMap<Of, Vec<ShardPart>> = BTreeMap::new();
    for row in chunks.into_iter().flatten() {
        let Ok(id) = row.get_document("_id") else { continue };
        let (Some(of), Ok(shard)) = (Of::read(id.get("of")), id.get_str("shard")) else { continue };
        parts.entry(of).or_default().push(ShardPart {
            shard: shard.to_owned(),
            chunks: number(row, "chunks").unwrap_or_default(),
            jumbo: number(row, "jumbo").unwrap_or_default(),
            data_bytes: None,
        });
    }
    let zones: Option<BTreeMap<&str, Vec<String>>> = zones.map(|rows| {
        let named = |row: &'_ Document| row.get("zones").map(texts).unwrap_or_default();
        rows.iter().filter_map(|row| Some((row.get_str("_id").ok()?, named(row)))).collect()
    });
    let mut collections: Vec<ShardedCollection> = rows
        .iter()
        .filter_map(|row| {
            let name = row.get_str("_id").ok()?;
            let namespace = Namespace::parse(name).filter(|ns| !is_server_owned(ns))?;
            let fields = key_fields(row.get_document("key").ok()?);
            let counted = chunks.map(|_| {
                let by_uuid = Of::read(row.get("uuid")).and_then(|uuid| parts.remove(&uuid));
                let by_name = || parts.remove(&Of::Name(name.to_owned()));
                let mut counted = by_uuid.or_else(by_name).unwrap_or_default();
                counted.sort_by(|a, b| a.shard.cmp(&b.shard));
                counted
            });
            Some(ShardedCollection {
                unique: yes(row, "unique"),
                balancing_off: yes(row, "noBalance"),
                zones: zones.as_ref().map(|zones| zones.get(name).cloned().unwrap_or_default()),
                parts: counted,
                ..ShardedCollection::by(namespace, fields)
            })
        })
        .collect();
    collections.sort_by(|a, b| a.key.namespace.cmp(&b.key.namespace));
    collections
}

/// Fields of a key; true if hashed.
fn key_fields(key: &Document) -> KeyFields {
    key.iter().map(|(path, kind)| (path.clone(), kind.as_str() == Some("hashed"))).collect()
}

fn routers(rows: &[Document]) -> Vec<Router> {
    let mut routers: Vec<Router> = rows
        .iter()
        .filter_map(|row| {
            let ping = row.get_datetime("ping").ok();
            Some(Router {
                host: row.get_str("_id").ok()?.to_owned(),
                also: row.get("advisoryHostFQDNs").map(texts).unwrap_or_default(),
                ping: ping.map(|at| at.timestamp_millis().div_euclid(1000)),
                up_seconds: number(row, "up"),
            })
        })
        .collect();
    routers.sort_by(|a, b| a.host.cmp(&b.host));
    routers
}

/// Returns whether the balancer is on; without a row it is.
fn is_balancing(row: Option<&Document>) -> bool {
    row.is_none_or(|row| !yes(row, "stopped") && row.get_str("mode").ok() != Some("off"))
}

#[cfg(test)]
mod tests {
    use mongodb::bson::{Binary, DateTime, spec::BinarySubtype};

    use super::*;

    fn uuid(byte: u8) -> Bson {
        Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes: vec![byte; 16] })
    }

    fn group(of: Bson, shard: &str, chunks: i32, jumbo: i32) -> Document {
        doc! { "_id": { "of": of, "shard": shard }, "chunks": chunks, "jumbo": jumbo }
    }

    #[test]
    fn sk_1_chunks_are_joined_by_uuid_or_by_name() {
        let rows = [
            doc! { "_id": "db_b.t_new", "key": { "userId": "hashed" }, "uuid": uuid(1) },
            doc! { "_id": "db_a.t_old", "key": { "a": 1, "b.c": 1.0 }, "unique": true, "uuid": uuid(2) },
            doc! { "_id": "config.system.sessions", "key": { "_id": 1 }, "uuid": uuid(3) },
        ];
        let chunks = [
            group(uuid(1), "s1", 5, 0),
            group(uuid(1), "s0", 7, 2),
            group("db_a.t_old".into(), "s0", 3, 0),
            group(uuid(3), "s0", 1024, 0),
        ];
        let zones = [doc! { "_id": "db_a.t_old", "zones": ["EU", "AP", "EU"] }];
        let found = sharded(&rows, Some(&chunks), Some(&zones));
        let names: Vec<_> = found.iter().map(|c| c.key.namespace.to_string()).collect();
        assert_eq!(names, ["db_a.t_old", "db_b.t_new"]);
        assert_eq!(found[0].key.fields, [("a".to_owned(), false), ("b.c".to_owned(), false)]);
        assert_eq!((found[0].unique, found[0].chunks()), (true, Some((3, 0))));
        assert_eq!(found[0].zones.as_deref(), Some(&["AP".to_owned(), "EU".to_owned()][..]));
        assert_eq!(found[1].key.fields, [("userId".to_owned(), true)]);
        assert_eq!(found[1].chunks(), Some((12, 2)));
        let parts = found[1].parts.as_deref().expect("counted");
        assert_eq!((parts[0].shard.as_str(), parts[0].chunks), ("s0", 7));
        assert_eq!(sharded(&rows, None, None)[0].chunks(), None, "not counted is not none");
    }

    #[test]
    fn routers_and_the_balancer_are_read() {
        let at = Bson::DateTime(DateTime::from_millis(1_700_000_000_500));
        let rows = [
            doc! { "_id": "b:27017", "ping": at, "up": 120_i64, "waiting": true },
            doc! { "_id": "a:27017", "advisoryHostFQDNs": ["a.example.net"] },
        ];
        let found = routers(&rows);
        assert_eq!((found[0].host.as_str(), found[0].ping), ("a:27017", None));
        assert_eq!(found[0].also, ["a.example.net"]);
        assert_eq!((found[1].ping, found[1].up_seconds), (Some(1_700_000_000), Some(120)));
        assert!(is_balancing(None));
        assert!(is_balancing(Some(&doc! { "_id": "balancer", "mode": "full" })));
        assert!(!is_balancing(Some(&doc! { "_id": "balancer", "stopped": true })));
        assert!(!is_balancing(Some(&doc! { "_id": "balancer", "mode": "off" })));
    }
}
