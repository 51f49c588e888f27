//! The state of a sharded cluster from the `config` database, as routers and config servers show
//! it: shards, keys, chunks, routers. A table that could not be read is `None`.

use serde::{Deserialize, Serialize};

use crate::{KeyFields, Namespace, ShardKey};

/// A sharded cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The cluster id, in hexadecimal digits.
    #[serde(default)]
    pub id: Option<String>,
    /// The shards by name, sorted.
    pub shards: Option<Vec<Shard>>,
    /// Sharded collections, sorted by namespace.
    pub collections: Option<Vec<ShardedCollection>>,
    /// Routers that ever joined the cluster, sorted by host. Rows of routers that no longer exist
    /// remain.
    pub routers: Option<Vec<Router>>,
    /// True if the balancer is on; `None` if the settings could not be read.
    pub balancer_on: Option<bool>,
    /// The configured maximum chunk size, if one is set.
    pub chunk_mib: Option<u64>,
}

impl Cluster {
    /// A sharded collection by name.
    pub fn collection(&self, namespace: &Namespace) -> Option<&ShardedCollection> {
        let collections = self.collections.as_deref()?;
        let at = collections.binary_search_by(|c| c.key.namespace.cmp(namespace)).ok()?;
        Some(&collections[at])
    }

    /// A mutable reference to a sharded collection.
    pub fn collection_mut(&mut self, namespace: &Namespace) -> Option<&mut ShardedCollection> {
        let collections = self.collections.as_deref_mut()?;
        let at = collections.binary_search_by(|c| c.key.namespace.cmp(namespace)).ok()?;
        Some(&mut collections[at])
    }
}

/// A shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its name.
    pub name: String,
    /// Its replica set and hosts, as the table has them.
    pub host: String,
    /// True if the shard is draining.
    pub draining: bool,
    /// Zones it belongs to.
    pub zones: Vec<String>,
}

/// A sharded collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardedCollection {
    /// Its name and key.
    pub key: ShardKey,
    /// True if the key is unique.
    pub unique: bool,
    /// True if balancing is disabled for this collection.
    pub balancing_off: bool,
    /// Zones assigned to ranges of the key, by name, sorted; `None` if unknown.
    pub zones: Option<Vec<String>>,
    /// The data of the collection on each shard, sorted by shard; `None` if chunks could not be
    /// counted.
    pub parts: Option<Vec<ShardPart>>,
}

impl ShardedCollection {
    /// A sharded collection of which only the key is known.
    pub fn by(namespace: Namespace, fields: KeyFields) -> Self {
        Self {
            key: ShardKey { namespace, fields },
            unique: false,
            balancing_off: false,
            zones: None,
            parts: None,
        }
    }

    /// The number of chunks, and how many of them are marked as jumbo.
    pub fn chunks(&self) -> Option<(u64, u64)> {
        let parts = self.parts.as_deref()?;
        Some((parts.iter().map(|p| p.chunks).sum(), parts.iter().map(|p| p.jumbo).sum()))
    }
}

/// The data of a collection on one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPart {
    /// The shard.
    pub shard: String,
    /// The number of chunks.
    pub chunks: u64,
    /// The number of chunks marked as jumbo (too large to move).
    pub jumbo: u64,
    /// Bytes of documents, if the shard was asked.
    pub data_bytes: Option<u64>,
}

/// A router (`mongos`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Router {
    /// `host:port`.
    pub host: String,
    /// Other names that the host reports for itself (`advisoryHostFQDNs`).
    #[serde(default)]
    pub also: Vec<String>,
    /// The time of its last ping, in seconds of Unix time.
    pub ping: Option<i64>,
    /// Its uptime in seconds at that time.
    pub up_seconds: Option<u64>,
}

/// The result of the server's `analyzeShardKey` (7.0 and later) for a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyAnalysis {
    /// The collection and the key that were analysed.
    pub key: ShardKey,
    /// The metrics, or the reason why there are none.
    pub answer: Result<KeyMetrics, String>,
}

/// The metrics of an analysis; metrics that the server did not return are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeyMetrics {
    /// The number of documents in the collection.
    pub documents: Option<u64>,
    /// The number of documents sampled.
    pub sampled: Option<u64>,
    /// True if the server knows the key to be unique.
    pub unique: Option<bool>,
    /// The number of distinct values.
    pub values: Option<u64>,
    /// The number of documents with the most frequent value.
    pub most_frequent: Option<u64>,
    /// `monotonic`, `not monotonic` or `unknown`.
    pub monotonicity: Option<String>,
    /// Reads that the server sampled; 0 unless query sampling was turned on before.
    pub reads: Option<u64>,
    /// Per cent of them that go to one shard.
    pub reads_to_one_shard: Option<f64>,
    /// Per cent of them that go to all shards.
    pub reads_to_all_shards: Option<f64>,
    /// Writes that the server sampled.
    pub writes: Option<u64>,
    /// Per cent of them that go to one shard.
    pub writes_to_one_shard: Option<f64>,
    /// Per cent of them that go to all shards.
    pub writes_to_all_shards: Option<f64>,
}
