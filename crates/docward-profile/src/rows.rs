//! A uniform sample of documents, kept as rows of hashed values: the documents whose `_id` hashes
//! are smallest. What needs several fields of one document at once is computed from it: growth with
//! age, shares of frequent values, discriminators, copies. Merging is exact.
//!
//! Because the sample is drawn by the hash of `_id`, and references by the hash of the value they
//! hold, the samples of two collections meet: the parents kept here are those whose references are
//! kept there.

use serde::{Deserialize, Serialize};

use crate::tree::NodeId;

/// Documents kept.
pub(crate) const ROWS: usize = 1024;
/// Of those, how many have their long texts compressed.
pub(crate) const FEW: usize = 64;
/// Scalars kept per document.
const LEAVES: usize = 128;
/// Arrays kept per document.
const ARRAYS: usize = 32;

/// A scalar of a sampled document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Leaf {
    pub(crate) node: NodeId,
    pub(crate) tag: u8,
    /// For doubles: whether the shortest text has at most four decimals.
    pub(crate) short: bool,
    pub(crate) hash: u64,
    /// Sorts like the value, within one type: of texts the first 8 bytes, or the digits behind a
    /// prefix.
    pub(crate) sort: i64,
    /// Of texts, binaries and ObjectIds the 8 bytes behind those.
    pub(crate) rest: u64,
}

/// A sampled document.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) hash: u64,
    /// Type and value of a short `_id`.
    pub(crate) id: Box<[u8]>,
    /// Where it lay, for natural order.
    pub(crate) at: u64,
    pub(crate) size: u32,
    /// Seconds out of an ObjectId `_id`; 0 without.
    pub(crate) oid_seconds: u32,
    /// Sum of the names' hashes: equal for equal sets of top-level fields.
    pub(crate) shape: u64,
    /// Hash over the top-level names in their order.
    pub(crate) order: u64,
    pub(crate) leaves: Vec<Leaf>,
    /// Arrays and their lengths.
    pub(crate) arrays: Vec<(NodeId, u32)>,
    /// Long texts: node, bytes looked at, bytes after compression.
    pub(crate) packed: Vec<(NodeId, u32, u32)>,
}

impl Row {
    /// Whether another scalar is wanted.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.leaves.len() < LEAVES
    }

    pub(crate) fn push_array(&mut self, node: NodeId, length: u32) {
        if self.arrays.len() < ARRAYS {
            self.arrays.push((node, length));
        }
    }
}

/// The sample: at most twice [`ROWS`] while reading, cut to it when settled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rows {
    theta: u64,
    /// Bound of the [`FEW`] smallest hashes; falls like `theta`.
    few_theta: u64,
    rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self { theta: u64::MAX, few_theta: u64::MAX, rows: Vec::new() }
    }

    /// Rows with this hash or more are not wanted.
    #[inline]
    pub(crate) fn theta(&self) -> u64 {
        self.theta
    }

    /// Rows below this are among the few that are looked at most closely.
    #[inline]
    pub(crate) fn few_theta(&self) -> u64 {
        self.few_theta
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
        if self.rows.len() > FEW && self.rows.len().is_power_of_two() {
            let mut hashes: Vec<u64> = self.rows.iter().map(|r| r.hash).collect();
            self.few_theta = self.few_theta.min(*hashes.select_nth_unstable(FEW).1);
        }
        if self.rows.len() >= ROWS + ROWS / 2 {
            self.settle();
        }
    }

    /// Cuts the sample to the rows with the smallest hashes, sorted.
    pub(crate) fn settle(&mut self) {
        self.rows.sort_by_key(|r| (r.hash, r.at));
        if self.rows.len() > ROWS {
            self.theta = self.rows[ROWS].hash;
            self.rows.truncate(ROWS);
        }
    }

    pub(crate) fn merge(&mut self, other: Self, map: &[NodeId]) {
        self.theta = self.theta.min(other.theta);
        let theta = self.theta;
        for mut row in other.rows {
            row.leaves.iter_mut().for_each(|leaf| leaf.node = map[leaf.node as usize]);
            row.arrays.iter_mut().for_each(|(node, _)| *node = map[*node as usize]);
            row.packed.iter_mut().for_each(|(node, _, _)| *node = map[*node as usize]);
            self.rows.push(row);
        }
        self.rows.retain(|r| r.hash < theta);
        self.settle();
    }

    pub(crate) fn all(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Row] {
        &mut self.rows
    }
}
