//! What is said about shard keys: measured, judged and ranked.

use crate::{Namespace, Verdict};

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
    /// Keys that were asked about.
    pub judged: Vec<KeyVerdict>,
    /// Keys proposed instead, best first.
    pub proposals: Vec<KeyVerdict>,
    /// Why there is nothing to propose.
    pub nothing: Option<String>,
    /// Commands that keep each value of the zone field on shards of its own, for the best proposal.
    pub zones: Vec<String>,
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
    /// Share of data on the fullest shard, when chunks are dealt out evenly.
    pub fullest_shard: f64,
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
            let plain = path.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let name = if plain { path.clone() } else { format!("{path:?}") };
            format!("{name}: {}", if *hashed { "\"hashed\"" } else { "1" })
        })
        .collect();
    format!("{{ {} }}", parts.join(", "))
}
