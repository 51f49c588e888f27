//! The scalars next to a reference: for a sample of the values of a reference field, the scalars of
//! one object that contains it. A comparison with the referenced collection shows copied fields and
//! how much they differ (DP-4, PT-extref).

use std::collections::{BTreeMap, BTreeSet};

use docward_bson::walk::Elements;
use serde::{Deserialize, Serialize};

use crate::{
    tree::{Kind, NONE, NodeId, Tree},
    values::scalar_hash,
};

/// The number of values kept per reference field.
const VALUES: usize = 256;
/// The maximum number of reference fields: those nearest to the root, and among them those with the
/// smallest path hashes, so that neither the order of documents nor their partition matters.
const FIELDS: usize = 48;
/// The maximum number of scalars kept per object.
const SIBLINGS: usize = 32;
/// The maximum length of texts that are copied.
const TEXT: usize = 512;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// The hash of its document: the smallest hash wins, so the order of documents does not matter.
    doc_hash: u64,
    pub(crate) siblings: Vec<(NodeId, u64)>,
}

/// The depth and the hash of a path.
type Rank = (u32, u64);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Field {
    rank: Rank,
    theta: u64,
    values: BTreeMap<u64, Beside>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Joins {
    fields: BTreeMap<NodeId, Field>,
    /// Fields with a higher rank than the selected ones. Ranks of selected fields only decrease.
    passed_over: BTreeSet<NodeId>,
}

impl Joins {
    /// All nodes it refers to.
    pub(crate) fn places(&self) -> impl Iterator<Item = NodeId> + '_ {
        let fields = self.fields.iter().flat_map(|(&node, field)| {
            let siblings = field.values.values().flat_map(|beside| &beside.siblings);
            std::iter::once(node).chain(siblings.map(|&(node, _)| node))
        });
        fields.chain(self.passed_over.iter().copied())
    }

    pub(crate) fn wants(&self, node: NodeId, value: u64, doc_hash: u64) -> bool {
        match self.fields.get(&node) {
            None => !self.passed_over.contains(&node),
            Some(field) => {
                value < field.theta
                    && field.values.get(&value).is_none_or(|beside| doc_hash < beside.doc_hash)
            }
        }
    }

    pub(crate) fn put(
        &mut self,
        tree: &Tree,
        node: NodeId,
        value: u64,
        doc_hash: u64,
        siblings: Vec<(NodeId, u64)>,
    ) {
        let field = self.fields.entry(node).or_insert_with(|| Field::of(rank(tree, node)));
        field.values.insert(value, Beside { doc_hash, siblings });
        field.trim();
        self.trim();
    }

    /// Merges the data of another profiler; `map` contains the node of `tree` for each of its
    /// nodes.
    pub(crate) fn merge(&mut self, tree: &Tree, other: Self, map: &[NodeId]) {
        self.passed_over.extend(other.passed_over.iter().map(|&node| map[node as usize]));
        for (node, theirs) in other.fields {
            let node = map[node as usize];
            let field = self.fields.entry(node).or_insert_with(|| Field::of(rank(tree, node)));
            field.theta = field.theta.min(theirs.theta);
            for (value, mut beside) in theirs.values {
                beside.siblings.iter_mut().for_each(|(n, _)| *n = map[*n as usize]);
                match field.values.get_mut(&value) {
                    Some(mine) if mine.doc_hash <= beside.doc_hash => {}
                    Some(mine) => *mine = beside,
                    None => {
                        field.values.insert(value, beside);
                    }
                }
            }
            let theta = field.theta;
            field.values.retain(|&value, _| value < theta);
            field.trim();
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.fields.len() > FIELDS {
            let last = self.fields.iter().max_by_key(|(_, field)| field.rank);
            let Some(node) = last.map(|(&node, _)| node) else { return };
            self.fields.remove(&node);
            self.passed_over.insert(node);
        }
    }

    pub(crate) fn of(&self, node: NodeId) -> impl Iterator<Item = (u64, &Beside)> {
        self.fields
            .get(&node)
            .into_iter()
            .flat_map(|field| field.values.iter().map(|(&value, beside)| (value, beside)))
    }
}

impl Field {
    fn of(rank: Rank) -> Self {
        Self { rank, theta: u64::MAX, values: BTreeMap::new() }
    }

    fn trim(&mut self) {
        while self.values.len() > VALUES {
            if let Some((value, _)) = self.values.pop_last() {
                self.theta = value;
            }
        }
    }
}

fn rank(tree: &Tree, node: NodeId) -> Rank {
    let mut hash = 0;
    let mut at = node;
    while at != NONE {
        let place = &tree.nodes[at as usize];
        hash = crate::hash::number((hash ^ place.key_hash) as i64);
        at = place.parent;
    }
    (tree.nodes[node as usize].depth, hash)
}

/// The scalars of an object and of the objects directly in it, with their hashes.
pub(crate) fn siblings(tree: &mut Tree, object: &[u8], parent: NodeId) -> Vec<(NodeId, u64)> {
    let mut out = Vec::new();
    gather(tree, Elements::body(object), parent, 1, &mut out);
    out
}

fn gather(
    tree: &mut Tree,
    elements: Elements<'_>,
    parent: NodeId,
    levels: u32,
    out: &mut Vec<(NodeId, u64)>,
) {
    for element in elements.flatten() {
        if out.len() >= SIBLINGS {
            return;
        }
        let node = tree.child(parent, element.key, u64::MAX);
        if tree.nodes[node as usize].kind != Kind::Named {
            continue;
        }
        match element.tag {
            0x03 if levels > 0 => {
                if let Ok(inner) = Elements::new(element.value) {
                    gather(tree, inner, node, levels - 1, out);
                }
            }
            0x02 if element.value.len() > TEXT || element.value.len() <= 5 => {}
            0x01 | 0x02 | 0x07 | 0x09 | 0x10 | 0x12 | 0x13 => {
                out.push((node, scalar_hash(element.tag, element.value)));
            }
            _ => {}
        }
    }
}
