//! Serialized profilers and links: the state of an interrupted run, from which a later one
//! continues.
//!
//! The format belongs to this version of Docward and to no other. The data may have been altered,
//! so every invalid reference in it is refused.

use serde::de::DeserializeOwned;

use crate::{Links, Profiler, tree::NodeId};

impl Profiler {
    /// Serializes the profiler.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Restores a profiler from its bytes; `None` if they are not the output of [`Self::save`].
    pub fn restore(bytes: &[u8]) -> Option<Self> {
        whole(bytes).filter(Self::is_sound)
    }

    /// Returns whether all nodes that are referred to exist.
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
    /// Serializes the links.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Restores links from their bytes; `None` if they are not the output of [`Self::save`].
    pub fn restore(bytes: &[u8]) -> Option<Self> {
        whole(bytes).filter(Self::is_sound)
    }

    fn is_sound(&self) -> bool {
        self.rows.values().flatten().all(|&(path, _)| (path as usize) < self.paths.len())
    }
}

/// Deserializes a value that must use all bytes.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}
