//! Shard keys: measurements, checks and ranking.

use crate::{KeyMetrics, Namespace, ShardPart, Verdict};

/// Fields of a key; true if hashed.
pub type KeyFields = Vec<(String, bool)>;

/// The assessment of the shard keys of one collection.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyReport {
    /// The collection.
    pub namespace: Namespace,
    /// The number of documents in the collection.
    pub documents: u64,
    /// The number of documents read, which single-field counts are based on.
    pub read: u64,
    /// The number of documents drawn at random, which comparisons of several fields are based on.
    pub sampled: u64,
    /// The number of shards the distribution was computed for.
    pub shards: u32,
    /// Reads in the workload; `None` without a workload.
    pub reads: Option<u64>,
    /// The key of the collection in its cluster and the placement of its chunks, if known.
    pub placement: Option<Placement>,
    /// The requested keys; the current key of the collection if none was requested.
    pub judged: Vec<KeyVerdict>,
    /// Proposed alternative keys, best first.
    pub proposals: Vec<KeyVerdict>,
    /// The reason why there is no proposal.
    pub nothing: Option<String>,
    /// Zones for the best proposal, if a zone field was given.
    pub zones: Option<ZonePlan>,
}

/// A plan to keep each value of a field on its own shards.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonePlan {
    /// The commands, in order.
    pub commands: Vec<String>,
    /// True if placeholders replace values of documents.
    pub values_hidden: bool,
    /// The field and its approximate number of values, if there are too many to list.
    pub too_many: Option<(String, u64)>,
}

/// The placement of the documents of a sharded collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The key.
    pub fields: KeyFields,
    /// The data on each shard; `None` if chunks could not be counted.
    pub parts: Option<Vec<ShardPart>>,
    /// Zones assigned to ranges of the key.
    pub zones: Vec<String>,
    /// True if the balancer moves chunks; `None` if unknown.
    pub balanced: Option<bool>,
}

impl Placement {
    /// The share of each shard, by bytes if all are known, otherwise by chunks.
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

/// The basis of the share of the fullest shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fullest {
    /// Simulated: chunks are split on sampled documents and distributed evenly.
    Simulated,
    /// Chunks counted in the cluster.
    Chunks,
    /// Bytes stored on the shards.
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

/// A key and its assessment.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyVerdict {
    /// The key.
    pub fields: KeyFields,
    /// Fails if the server refuses it or a check fails; unknown if its distribution cannot be
    /// computed.
    pub verdict: Verdict,
    /// The reasons why the server would refuse the key.
    pub refusals: Vec<String>,
    /// The checks, one per clause.
    pub checks: Vec<KeyCheck>,
    /// The distribution of the documents; `None` if they do not show it.
    pub spread: Option<KeySpread>,
    /// The share of reads that reach few shards.
    pub targeted: Option<f64>,
    /// The share of reads with a range on the hashed field.
    pub hashed_ranges: Option<f64>,
    /// The result of the server's `analyzeShardKey`, or the reason why there is none; `None` if not
    /// requested.
    pub analysis: Option<Result<KeyMetrics, String>>,
    /// The procedure that changes to this key on this server version.
    pub change: String,
    /// The commands for the change, in order.
    pub commands: Vec<String>,
}

/// The distribution of documents over a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeySpread {
    /// Estimated distinct values of the whole key.
    pub values: f64,
    /// True if the number of values is exact.
    pub exact: bool,
    /// The share of the most frequent value.
    pub top_share: f64,
    /// The share of the newest tenth of documents that would go to one chunk; `None` if too few
    /// were read or their age is unknown.
    pub newest_share: Option<f64>,
    /// True if that share is far above the chunk's share of older documents.
    pub hot_end: bool,
    /// The share of data on the fullest shard.
    pub fullest_shard: f64,
    /// The basis of that share.
    pub fullest_by: Fullest,
}

/// One checked requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyCheck {
    /// The clause.
    pub clause: &'static str,
    /// The verdict on the key.
    pub verdict: Verdict,
    /// The figure and its meaning.
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
