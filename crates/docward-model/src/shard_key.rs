//! What is said about shard keys: measured, judged and ranked.

use crate::{KeyMetrics, Namespace, ShardPart, Verdict};

/// Fields of a key with whether each is hashed.
pub type KeyFields = Vec<(String, bool)>;

/// The shard keys of one collection.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyReport {
    /// The collection.
    pub namespace: Namespace,
    /// Documents it has.
    pub documents: u64,
    /// Documents of it that were read, on which single fields were counted.
    pub read: u64,
    /// Documents drawn at random, on which several fields were compared.
    pub sampled: u64,
    /// Shards the spread was worked out for.
    pub shards: u32,
    /// Reads the workload shows; `None` without a workload.
    pub reads: Option<u64>,
    /// The key the collection has in its cluster and where its chunks lie, when that is known.
    pub placement: Option<Placement>,
    /// The key the collection has, when none was asked about, and keys that were asked about.
    pub judged: Vec<KeyVerdict>,
    /// Keys proposed instead, best first.
    pub proposals: Vec<KeyVerdict>,
    /// Why there is nothing to propose.
    pub nothing: Option<String>,
    /// Zones for the best proposal, when a zone field was given.
    pub zones: Option<ZonePlan>,
}

/// How to keep each value of a field on shards of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonePlan {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// Whether placeholders stand where values out of documents would be.
    pub values_hidden: bool,
    /// The field and about how many values it has, where they are too many to write out.
    pub too_many: Option<(String, u64)>,
}

/// Where the documents of a sharded collection are.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The key.
    pub fields: KeyFields,
    /// What each shard holds; `None` when chunks could not be counted.
    pub parts: Option<Vec<ShardPart>>,
    /// Zones that ranges of the key are bound to.
    pub zones: Vec<String>,
    /// Whether chunks are moved; `None` when not known.
    pub balanced: Option<bool>,
}

impl Placement {
    /// The share of each shard, by bytes where all of them are known, else by chunks.
    pub fn shares(&self) -> Option<(Vec<(&ShardPart, f64)>, Fullest)> {
        let parts = self.parts.as_deref().filter(|parts| !parts.is_empty())?;
        let bytes: Option<u64> = parts.iter().map(|part| part.data_bytes).sum();
        let (all, by) = match bytes.filter(|bytes| *bytes > 0) {
            Some(bytes) => (bytes, Fullest::Data),
            None => (parts.iter().map(|part| part.chunks).sum(), Fullest::Chunks),
        };
        let of = |part: &ShardPart| match by {
            Fullest::Data => part.data_bytes.unwrap_or(0),
            _ => part.chunks,
        };
        let share = |part| of(part) as f64 / all.max(1) as f64;
        Some((parts.iter().map(|part| (part, share(part))).collect(), by))
    }
}

/// What the share of the fullest shard rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fullest {
    /// Chunks cut on sampled documents and dealt out evenly.
    Simulated,
    /// Chunks counted in the cluster.
    Chunks,
    /// Bytes that the shards hold.
    Data,
}

impl Fullest {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Chunks => "chunks",
            Self::Data => "data",
        }
    }
}

/// A key and what speaks for and against it.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyVerdict {
    /// The key.
    pub fields: KeyFields,
    /// Fails when the server refuses it or a check fails; unknown when its spread cannot be told.
    pub verdict: Verdict,
    /// Why the server would not take the key.
    pub refusals: Vec<String>,
    /// The checks, one per clause.
    pub checks: Vec<KeyCheck>,
    /// What the documents show; `None` when they cannot show it.
    pub spread: Option<KeySpread>,
    /// Share of reads that reach few shards.
    pub targeted: Option<f64>,
    /// Share of reads that ask for a range of the hashed field.
    pub hashed_ranges: Option<f64>,
    /// What `analyzeShardKey` of the server says, or why it says nothing; `None` when not asked.
    pub analysis: Option<Result<KeyMetrics, String>>,
    /// How to get there on this server.
    pub change: String,
    /// The commands that do it, in order.
    pub commands: Vec<String>,
}

/// How a key spreads the documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySpread {
    /// Different values of the whole key, estimated.
    pub values: f64,
    /// Whether the number is exact.
    pub exact: bool,
    /// Share of the most frequent value.
    pub top_share: f64,
    /// Share of the newest tenth of documents that would go to one chunk; `None` when too few were
    /// seen or nothing tells which are newest.
    pub newest_share: Option<f64>,
    /// Whether that is far more than the chunk has of the older documents.
    pub hot_end: bool,
    /// Share of data on the fullest shard.
    pub fullest_shard: f64,
    /// What that rests on.
    pub fullest_by: Fullest,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCheck {
    /// The clause.
    pub clause: &'static str,
    /// How the key does.
    pub verdict: Verdict,
    /// The figure and what it means.
    pub evidence: String,
}

/// `{ customerId: 1, "address.city": "hashed" }`, as the shell writes it.
pub fn key_text(fields: &[(String, bool)]) -> String {
    let parts: Vec<String> = fields
        .iter()
        .map(|(path, hashed)| {
            let name = crate::shell::key(path);
            format!("{name}: {}", if *hashed { "\"hashed\"" } else { "1" })
        })
        .collect();
    format!("{{ {} }}", parts.join(", "))
}
