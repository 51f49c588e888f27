//! What the tables of a sharded cluster say (the database `config` as routers and config servers show
//! it): shards, keys, chunks, routers. A table that could not be read is `None`.

use serde::{Deserialize, Serialize};

use crate::{KeyFields, Namespace, ShardKey};

/// A sharded cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The id it has given itself, in hexadecimal digits.
    #[serde(default)]
    pub id: Option<String>,
    /// The shards by name, sorted.
    pub shards: Option<Vec<Shard>>,
    /// Sharded collections, sorted by namespace.
    pub collections: Option<Vec<ShardedCollection>>,
    /// Routers that ever took part, sorted by host: rows of those that are gone stay.
    pub routers: Option<Vec<Router>>,
    /// Whether chunks are moved; `None` when the settings could not be read.
    pub balancer_on: Option<bool>,
    /// The size chunks are cut at, when it was set.
    pub chunk_mib: Option<u64>,
}

impl Cluster {
    /// A sharded collection by name.
    pub fn collection(&self, namespace: &Namespace) -> Option<&ShardedCollection> {
        let collections = self.collections.as_deref()?;
        let at = collections.binary_search_by(|c| c.key.namespace.cmp(namespace)).ok()?;
        Some(&collections[at])
    }

    /// The same, to be added to.
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
    /// Whether it is being emptied.
    pub draining: bool,
    /// Zones it belongs to.
    pub zones: Vec<String>,
}

/// A sharded collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShardedCollection {
    /// Its name and key.
    pub key: ShardKey,
    /// Whether the key is unique.
    pub unique: bool,
    /// Whether its chunks are left where they are.
    pub balancing_off: bool,
    /// Zones that ranges of the key are bound to, by name, sorted; `None` when not known.
    pub zones: Option<Vec<String>>,
    /// What each shard holds, sorted by shard; `None` when chunks could not be counted.
    pub parts: Option<Vec<ShardPart>>,
}

impl ShardedCollection {
    /// A sharded collection of which no more than the key is known.
    pub fn by(namespace: Namespace, fields: KeyFields) -> Self {
        Self {
            key: ShardKey { namespace, fields },
            unique: false,
            balancing_off: false,
            zones: None,
            parts: None,
        }
    }

    /// Chunks, and how many of them are marked as too large to be moved.
    pub fn chunks(&self) -> Option<(u64, u64)> {
        let parts = self.parts.as_deref()?;
        Some((parts.iter().map(|p| p.chunks).sum(), parts.iter().map(|p| p.jumbo).sum()))
    }
}

/// What a shard holds of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPart {
    /// The shard.
    pub shard: String,
    /// Chunks.
    pub chunks: u64,
    /// Chunks that are marked as too large to be moved.
    pub jumbo: u64,
    /// Bytes of documents, when the shard was asked.
    pub data_bytes: Option<u64>,
}

/// A router (`mongos`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Router {
    /// `host:port`.
    pub host: String,
    /// Other names of the host that it says it goes by (`advisoryHostFQDNs`).
    #[serde(default)]
    pub also: Vec<String>,
    /// When it last gave a sign of life, in seconds of Unix time.
    pub ping: Option<i64>,
    /// Seconds it had been up by then.
    pub up_seconds: Option<u64>,
}

/// What `analyzeShardKey` of a server (7.0 and later) says about a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyAnalysis {
    /// The collection and the key asked about.
    pub key: ShardKey,
    /// The answer, or why there is none.
    pub answer: Result<KeyMetrics, String>,
}

/// The figures of an answer; what it does not hold is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeyMetrics {
    /// Documents there are.
    pub documents: Option<u64>,
    /// Documents looked at.
    pub sampled: Option<u64>,
    /// Whether the server knows the key to be unique.
    pub unique: Option<bool>,
    /// Different values.
    pub values: Option<u64>,
    /// Documents of the most frequent value.
    pub most_frequent: Option<u64>,
    /// `monotonic`, `not monotonic` or `unknown`.
    pub monotonicity: Option<String>,
    /// Reads the server had sampled; none unless sampling was switched on before.
    pub reads: Option<u64>,
    /// Per cent of them that go to one shard.
    pub reads_to_one_shard: Option<f64>,
    /// Per cent of them that go to all shards.
    pub reads_to_all_shards: Option<f64>,
    /// Writes the server had sampled.
    pub writes: Option<u64>,
    /// Per cent of them that go to one shard.
    pub writes_to_one_shard: Option<f64>,
    /// Per cent of them that go to all shards.
    pub writes_to_all_shards: Option<f64>,
}
