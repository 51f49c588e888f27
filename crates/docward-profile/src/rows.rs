//! A uniform sample of documents, stored as rows of hashed values: the documents with the smallest
//! `_id` hashes. Everything that needs several fields of one document is computed from it: growth
//! with age, shares of frequent values, discriminators, copies. Merging is exact.
//!
//! The sample is drawn by the hash of `_id`, and references by the hash of their value. The samples
//! of two collections therefore overlap: the parents kept in one are those whose references are
//! kept in the other.

use serde::{Deserialize, Serialize};

use crate::tree::NodeId;

/// The number of documents kept.
pub(crate) const ROWS: usize = 1024;
/// The number of those documents whose long texts are compressed.
pub(crate) const FEW: usize = 64;
/// The maximum number of scalars kept per document.
const LEAVES: usize = 128;
/// The maximum number of arrays kept per document.
const ARRAYS: usize = 32;

/// A scalar of a sampled document.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Leaf {
    pub(crate) node: NodeId,
    pub(crate) tag: u8,
    /// For doubles: true if the shortest text has at most four decimals.
    pub(crate) short: bool,
    pub(crate) hash: u64,
    /// Sort key of the value within one type. For texts: the first 8 bytes, or the digits after a
    /// prefix.
    pub(crate) sort: i64,
    /// For texts, binaries and ObjectIds: the next 8 bytes.
    pub(crate) rest: u64,
}

/// A sampled document.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) hash: u64,
    /// The type and the value of a short `_id`.
    pub(crate) id: Box<[u8]>,
    /// Its position, for natural order.
    pub(crate) at: u64,
    pub(crate) size: u32,
    /// The timestamp of an ObjectId `_id` in seconds; 0 for other ids.
    pub(crate) oid_seconds: u32,
    /// The sum of the names' hashes: equal for equal sets of top-level fields.
    pub(crate) shape: u64,
    /// A hash over the top-level names in order.
    pub(crate) order: u64,
    pub(crate) leaves: Vec<Leaf>,
    /// Its arrays and their lengths.
    pub(crate) arrays: Vec<(NodeId, u32)>,
    /// Long texts: node, bytes examined, bytes after compression.
    pub(crate) packed: Vec<(NodeId, u32, u32)>,
}

impl Row {
    /// Returns whether the row accepts another scalar.
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

/// The sample: at most twice [`ROWS`] while reading, reduced to [`ROWS`] when settled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rows {
    theta: u64,
    /// The bound of the [`FEW`] smallest hashes; it decreases like `theta`.
    few_theta: u64,
    rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self { theta: u64::MAX, few_theta: u64::MAX, rows: Vec::new() }
    }

    /// Rows with this hash or a higher one are rejected.
    #[inline]
    pub(crate) fn theta(&self) -> u64 {
        self.theta
    }

    /// Rows with a lower hash are examined in most detail.
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

    /// Reduces the sample to the rows with the smallest hashes, sorted.
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
