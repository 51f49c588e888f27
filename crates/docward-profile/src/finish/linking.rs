//! The data that fields provide for comparing collections: values that may be references, and keys
//! that may be referenced.

use std::{cmp::Reverse, collections::BTreeMap};

use docward_model::{BsonType, Distinct, Field, FieldShape, Profile};

use super::Finisher;
use crate::{
    histogram::Histogram,
    links::{self, KeyField, Links, RefField},
    tree::NodeId,
};

/// The maximum number of unique keys per collection that others may refer to.
const KEYS: usize = 8;
/// The maximum number of reference-like fields compared with other collections.
const REFS: usize = 64;
/// The number of distinct values per field that are compared with other collections.
const VALUES: u32 = 256;

impl Finisher {
    /// The values that randomly drawn documents have in common, and the number of these documents.
    fn frequent(&self, id: NodeId) -> (Vec<(u64, u32)>, u32) {
        /// The maximum number of frequent values kept.
        const FREQUENT: usize = 64;
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        let leaves = &self.leaves[id as usize];
        leaves.iter().for_each(|(_, leaf)| *counts.entry(leaf.hash).or_default() += 1);
        let mut often: Vec<(u64, u32)> = counts.into_iter().filter(|(_, n)| *n > 1).collect();
        often.sort_by_key(|&(hash, count)| (Reverse(count), hash));
        often.truncate(FREQUENT);
        (often, u32::try_from(leaves.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn links(self, profile: &Profile) -> Links {
        let id = profile.field("_id");
        let (mut refs, mut keys) = (Vec::new(), Vec::new());
        for (at, field) in profile.fields.iter().enumerate() {
            let node_id = self.order[at];
            let node = &self.profiler.tree.nodes[node_id as usize];
            let Some(kind) = field.types.dominant() else { continue };
            let id_shaped = match kind {
                BsonType::ObjectId => true,
                BsonType::BinData => field
                    .blob
                    .as_ref()
                    .is_some_and(|b| b.subtypes.first().is_some_and(|s| matches!(s.0, 3 | 4))),
                BsonType::Int | BsonType::Long | BsonType::Double | BsonType::String => {
                    node.id_like
                }
                _ => false,
            };
            let coded = matches!(kind, BsonType::Int | BsonType::Long | BsonType::String);
            let by_code = coded
                && field.shape != FieldShape::AnyKey
                && !field.path.as_str().contains('*')
                && links::key_words(&field.path).is_some();
            let own_key = coded
                && field.parent.is_none()
                && !node.is_own_id
                && keys.len() < KEYS
                && links::is_key_name(&field.path)
                && is_unique(field, profile);
            let is_reference = (id_shaped || by_code) && !node.is_own_id && refs.len() < REFS;
            if !own_key && !is_reference {
                continue;
            }
            let mut sketch = node.stats.sketch.clone();
            sketch.settle();
            let counts = if is_reference { sketch.entries() } else { Vec::new() };
            sketch.shrink(VALUES);
            if own_key {
                keys.push(KeyField {
                    path: field.path.clone(),
                    kind,
                    theta: sketch.theta(),
                    hashes: sketch.entries().into_iter().map(|(hash, _)| hash).collect(),
                });
            }
            if !is_reference {
                continue;
            }
            let holders = holding_documents(profile, field);
            let top_share = surely_most(&field.distinct);
            let mut children = Histogram::default();
            counts.iter().for_each(|&(_, n)| children.add(u64::from(n)));
            let mut children = children.finish();
            // The sample may have missed the parent with the most children. The lower bound of its
            // share is known separately.
            children.max = children.max.max((top_share * field.count as f64).round() as u64);
            // The most frequent values first: the first few show whether it is a reference at all.
            let mut values = sketch.entries();
            values.sort_by_key(|&(hash, count)| (Reverse(count), hash));
            // If the sample of values is incomplete, the sample of documents shows frequently
            // referenced values.
            let frequent = match sketch.is_exact() {
                true => (Vec::new(), 0),
                false => self.frequent(node_id),
            };
            refs.push(RefField {
                path: field.path.clone(),
                kind,
                count: field.count,
                holders,
                distinct: field.distinct.values,
                children,
                values,
                frequent,
                beside: self
                    .profiler
                    .joins
                    .of(node_id)
                    .map(|(value, beside)| {
                        let siblings = beside
                            .siblings
                            .iter()
                            .filter_map(|&(n, hash)| {
                                let at = *self.index.get(&self.profiler.tree.resolve(n))?;
                                Some((at as u32, hash))
                            })
                            .collect();
                        (value, siblings)
                    })
                    .collect(),
            });
        }
        let rows = self
            .rows()
            .iter()
            .map(|row| {
                let leaves = row
                    .leaves
                    .iter()
                    .filter(|l| matches!(l.tag, 0x01 | 0x02 | 0x07 | 0x09 | 0x10 | 0x12 | 0x13))
                    .filter_map(|l| Some((*self.index.get(&l.node)? as u32, l.hash)))
                    .filter(|&(at, _)| !self.paths[at as usize].in_array())
                    .take(32)
                    .collect();
                (row.hash, leaves)
            })
            .collect();
        Links {
            documents: self.profiler.documents,
            id_kind: id.and_then(|f| f.types.dominant()),
            ids: self.profiler.ids,
            keys,
            refs,
            rows,
            paths: self.paths,
        }
    }
}

/// The number of documents that have at least one value of a field, through any number of arrays.
fn holding_documents(profile: &Profile, field: &Field) -> u64 {
    let mut holders = field.count;
    let mut here = Some(field);
    while let Some(at) = here {
        let above = at.parent.map(|parent| &profile.fields[parent]);
        match at.shape {
            FieldShape::Element => {
                let lengths = above.and_then(|array| Some(&array.array.as_ref()?.lengths.buckets));
                let empty = lengths.into_iter().flatten().filter(|(_, high, _)| *high == 0);
                holders = at.parents.saturating_sub(empty.map(|(_, _, n)| n).sum());
            }
            FieldShape::AnyKey => holders = at.parents,
            FieldShape::Named => {}
        }
        here = above;
    }
    // If elements of an array rarely have the field, the array gives a weaker bound than the number
    // of values.
    holders.clamp(1, field.count.max(1))
}

/// Returns whether nearly every document has the field with a distinct value; an estimate of many
/// values may be 20 % too low.
fn is_unique(field: &Field, profile: &Profile) -> bool {
    let distinct = field.distinct;
    let needed = if distinct.exact { 1.0 } else { 0.8 } * field.count as f64;
    field.count >= 2
        && field.count * 20 >= profile.documents * 19
        && distinct.values >= needed
        && distinct.top_share <= 0.05_f64.max(1.0 / field.count as f64)
}

/// A lower bound of the share of the most frequent value. The value was selected for its frequency,
/// and among many equally frequent values one is the most frequent by chance.
fn surely_most(distinct: &Distinct) -> f64 {
    let by_chance = (2.0 * distinct.values.max(1.0).ln()).sqrt() / 1.96;
    (distinct.top_share - distinct.top_share_error * (1.0 + by_chance)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_07_3_the_most_frequent_of_many_alike_is_so_by_chance() {
        let distinct = |values: f64, top_share: f64, sampled: f64| Distinct {
            values,
            exact: false,
            top_share,
            top_share_error: match sampled {
                0.0 => 0.0,
                n => 1.96 * (top_share * (1.0 - top_share) / n).sqrt(),
            },
        };
        // A thousand parents with equally many children: one of them occurred five times among
        // 4,096.
        assert!(surely_most(&distinct(1000.0, 5.0 / 4096.0, 4096.0)) < 1.0 / 1000.0);
        assert!(surely_most(&distinct(1000.0, 0.5, 4096.0)) > 0.45, "one that has half of all");
        assert_eq!(surely_most(&distinct(1000.0, 0.2, 0.0)), 0.2, "counted");
    }
}
