//! Profilers and links at rest: what an interrupted run has learnt, for a later one to go on with.
//!
//! The form is that of this version of Docward and of no other. What is read may have been altered, so
//! everything that would lead nowhere is refused.

use serde::de::DeserializeOwned;

use crate::{Links, Profiler, tree::NodeId};

impl Profiler {
    /// The profiler as bytes.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// A profiler out of its bytes; `None` when they are not what [`Self::save`] gave.
    pub fn restore(bytes: &[u8]) -> Option<Self> {
        whole(bytes).filter(Self::is_sound)
    }

    /// Whether every place that is spoken of is there.
    fn is_sound(&self) -> bool {
        let is_place = |node: NodeId| (node as usize) < self.tree.nodes.len();
        let rows = self.rows.all().iter().all(|row| {
            row.leaves.iter().all(|leaf| is_place(leaf.node))
                && row.arrays.iter().all(|&(node, _)| is_place(node))
                && row.packed.iter().all(|&(node, _, _)| is_place(node))
        });
        rows && self.joins.places().all(is_place)
            && self.shape_fields.values().flatten().all(|&node| is_place(node))
    }
}

impl Links {
    /// The links as bytes.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Links out of their bytes; `None` when they are not what [`Self::save`] gave.
    pub fn restore(bytes: &[u8]) -> Option<Self> {
        whole(bytes).filter(Self::is_sound)
    }

    fn is_sound(&self) -> bool {
        self.rows.values().flatten().all(|&(path, _)| (path as usize) < self.paths.len())
    }
}

/// A value that takes up all bytes.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}
