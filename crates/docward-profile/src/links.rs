//! What links collections: fields that hold another collection's `_id`s, and fields copied beside them.
//!
//! Each collection leaves a small [`Links`] behind: the set of its ids (exact while small, a Bloom
//! filter beyond), samples of its reference-like fields, and a sample of its rows. [`relate`] then
//! compares them. Everything is bounded; error rates are corrected for.

use std::collections::BTreeMap;

use docward_model::{BsonType, CopiedField, FieldPath, Namespace, Reference};

use crate::{hash, histogram::Histogram};

/// Ids kept exactly.
const EXACT_IDS: usize = 16_384;
/// Words of the filter beyond that: 1 MiB.
const FILTER_WORDS: usize = 1 << 17;
/// Words of a block: 48 bytes, within one or two cache lines.
const BLOCK: usize = 6;

/// The ids of a collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdSet {
    exact: Vec<u64>,
    filter: Vec<u64>,
    /// Ids put in, equal ones counted again.
    added: u64,
}

impl IdSet {
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        self.added += 1;
        if !self.filter.is_empty() {
            self.set(hash);
            return;
        }
        self.exact.push(hash);
        if self.exact.len() >= 2 * EXACT_IDS {
            self.compact();
        }
    }

    #[cold]
    fn compact(&mut self) {
        self.exact.sort_unstable();
        self.exact.dedup();
        if self.exact.len() > EXACT_IDS {
            self.filter = vec![0; FILTER_WORDS / BLOCK * BLOCK];
            for hash in std::mem::take(&mut self.exact) {
                self.set(hash);
            }
        }
    }

    #[inline]
    fn set(&mut self, hash: u64) {
        let (at, mask) = block_bits(hash);
        for (word, bits) in self.filter[at..at + BLOCK].iter_mut().zip(mask) {
            *word |= bits;
        }
    }

    pub(crate) fn settle(&mut self) {
        if self.filter.is_empty() {
            self.compact();
        }
    }

    pub(crate) fn contains(&self, hash: u64) -> bool {
        if self.filter.is_empty() {
            return self.exact.binary_search(&hash).is_ok();
        }
        let (at, mask) = block_bits(hash);
        self.filter[at..at + BLOCK].iter().zip(mask).all(|(word, bits)| word & bits == bits)
    }

    /// Chance that a value that is no id is taken for one: the mean over the blocks.
    pub(crate) fn false_share(&self) -> f64 {
        if self.filter.is_empty() {
            return 0.0;
        }
        let blocks = self.filter.chunks_exact(BLOCK);
        let n = blocks.len() as f64;
        let chance = |block: &[u64]| -> f64 {
            // One bit is set per word, so the words' shares multiply.
            block.iter().map(|word| f64::from(word.count_ones()) / 64.0).product()
        };
        blocks.map(chance).sum::<f64>() / n
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.added += other.added;
        if !other.filter.is_empty() {
            if self.filter.is_empty() {
                self.filter = vec![0; other.filter.len()];
                for hash in std::mem::take(&mut self.exact) {
                    self.set(hash);
                }
            }
            self.filter.iter_mut().zip(other.filter).for_each(|(a, b)| *a |= b);
        } else if !self.filter.is_empty() {
            other.exact.into_iter().for_each(|hash| self.set(hash));
        } else {
            self.exact.extend(other.exact);
            self.compact();
        }
    }
}

/// Where in the filter an id's bits are: one block, so that setting them costs one cache line, and
/// one bit in each of its words.
#[inline]
fn block_bits(hash: u64) -> (usize, [u64; BLOCK]) {
    let blocks = FILTER_WORDS / BLOCK;
    let at = ((hash >> 40) as usize % blocks) * BLOCK;
    let mut mask = [0; BLOCK];
    for (i, word) in mask.iter_mut().enumerate() {
        *word = 1 << ((hash >> (6 * i)) & 63);
    }
    (at, mask)
}

/// A field that may hold references.
#[derive(Clone, Debug)]
pub(crate) struct RefField {
    pub(crate) path: FieldPath,
    pub(crate) kind: BsonType,
    /// Values seen.
    pub(crate) count: u64,
    /// Objects that hold at least one.
    pub(crate) holders: u64,
    pub(crate) distinct: f64,
    /// Lower bound of the share of the most frequent value.
    pub(crate) top_share: f64,
    /// Sampled distinct values and how often they came.
    pub(crate) values: Vec<(u64, u32)>,
    /// Sampled values with what stands beside them.
    pub(crate) beside: Vec<(u64, Vec<(FieldPath, u64)>)>,
}

/// What a collection leaves behind for comparing it with others.
#[derive(Clone, Debug, Default)]
pub struct Links {
    pub(crate) documents: u64,
    pub(crate) id_kind: Option<BsonType>,
    pub(crate) ids: IdSet,
    pub(crate) refs: Vec<RefField>,
    /// Sampled documents: hash of `_id`, then fields and their hashes.
    pub(crate) rows: BTreeMap<u64, Vec<(u32, u64)>>,
    /// Paths that `rows` speaks of.
    pub(crate) paths: Vec<FieldPath>,
}

impl Links {
    /// Makes it smaller when there are many collections, so that all together stay bounded.
    pub fn shrink(&mut self, collections: usize) {
        let rows = (200_000 / collections.max(1)).clamp(0, 1024);
        if rows < 64 {
            self.rows.clear();
            self.refs.iter_mut().for_each(|r| r.beside.clear());
        } else {
            while self.rows.len() > rows {
                self.rows.pop_last();
            }
        }
        if collections > 24 && !self.ids.filter.is_empty() {
            // The filter is the large part; without it this collection is no longer matched as a target.
            self.ids = IdSet::default();
        }
        if collections > 500 {
            self.ids.exact.truncate(512);
        }
    }
}

/// Finds references and copies between collections. Deterministic; the order of the input is kept.
pub fn relate(collections: &[(Namespace, Links)]) -> (Vec<Reference>, Vec<CopiedField>) {
    let mut references = Vec::new();
    let mut copies = Vec::new();
    let only_by_name = collections.len() > 200;
    for (from, links) in collections {
        for field in &links.refs {
            let best = collections
                .iter()
                .filter_map(|(to, target)| {
                    let named = names_agree(&field.path, from, to);
                    if only_by_name && !named {
                        return None;
                    }
                    candidate(field, from, to, target, named)
                })
                .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.to.cmp(&a.1.to)));
            let Some((_, reference)) = best else { continue };
            if let Some((_, target)) = collections.iter().find(|(ns, _)| *ns == reference.to) {
                copies.extend(copied(from, field, &reference, target));
            }
            references.push(reference);
        }
    }
    (references, copies)
}

/// Whether `field` refers to `to`; with a score to choose the best target.
fn candidate(
    field: &RefField,
    from: &Namespace,
    to: &Namespace,
    target: &Links,
    named: bool,
) -> Option<(f64, Reference)> {
    let to_type = target.id_kind?;
    // ObjectIds and UUIDs are unique, so containment alone proves it; numbers and words need the name.
    let unique = matches!(field.kind, BsonType::ObjectId | BsonType::BinData);
    if (!unique && !named) || field.values.is_empty() || target.documents == 0 {
        return None;
    }
    if !named && from.database != to.database {
        return None;
    }
    let plain = share(field, target, 0);
    let spelled = if field.kind == BsonType::String && to_type != BsonType::String
        || to_type == BsonType::String && field.kind != BsonType::String
    {
        share(field, target, hash::SPELLED)
    } else {
        0.0
    };
    let contained = plain.max(spelled);
    let matched = (contained * field.values.len() as f64).round() as u64;
    if contained < 0.5 || matched < 2 {
        return None;
    }
    let mut children = Histogram::default();
    for &(_, n) in &field.values {
        children.add(u64::from(n));
    }
    let mut children = children.finish();
    // The sample may have missed the one parent with most children; its share is known apart, and
    // its lower bound is no guess.
    children.max = children.max.max((field.top_share * field.count as f64).round() as u64);
    let score = contained + if named { 1.0 } else { 0.0 } + if from == to { -0.25 } else { 0.0 };
    Some((
        score,
        Reference {
            from: from.clone(),
            path: field.path.clone(),
            to: to.clone(),
            contained,
            checked_values: field.values.len() as u64,
            from_type: field.kind,
            to_type,
            needs_conversion: spelled > plain,
            children_per_parent: children,
            parents: field.distinct,
            parents_per_child: field.count as f64 / field.holders.max(1) as f64,
        },
    ))
}

/// Share of the sampled values that exist as ids, corrected for the filter's error.
fn share(field: &RefField, target: &Links, mark: u64) -> f64 {
    let quick = field.values.iter().take(8).filter(|(h, _)| target.ids.contains(h ^ mark)).count();
    if quick == 0 {
        return 0.0;
    }
    let found = field.values.iter().filter(|(h, _)| target.ids.contains(h ^ mark)).count();
    let raw = found as f64 / field.values.len() as f64;
    let error = target.ids.false_share();
    if error >= 0.5 { 0.0 } else { ((raw - error) / (1.0 - error)).max(0.0) }
}

/// Whether a field's name speaks of a collection: `customerId`, `customer_id`, `customer.id` and
/// `t_customers`. A reference to the own collection is named by a role (`parentId`, `managerId`).
fn names_agree(path: &FieldPath, from: &Namespace, to: &Namespace) -> bool {
    let mut words: Vec<String> = split(path.as_str());
    while matches!(
        words.last().map(String::as_str),
        Some("id" | "ids" | "uuid" | "ref" | "no" | "oid")
    ) {
        words.pop();
    }
    let Some(last) = words.last() else { return false };
    if from == to {
        return matches!(
            last.as_str(),
            "parent" | "manager" | "reply" | "previous" | "next" | "origin"
        );
    }
    let target = split(&to.collection);
    let Some(head) = target.last() else { return false };
    same_word(last, head)
        || (words.len() >= 2
            && target.len() >= 2
            && target.iter().any(|t| same_word(last, t))
            && same_word(&words[words.len() - 2], &target[target.len() - 2]))
}

/// Lower-case words of a path or name; `_id` and `[]` give none of their own but `id`.
fn split(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            was_lower = false;
            continue;
        }
        if c.is_uppercase() && was_lower {
            words.push(std::mem::take(&mut word));
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        word.extend(c.to_lowercase());
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Equal but for a plural ending.
fn same_word(a: &str, b: &str) -> bool {
    let stem = |w: &str| -> String {
        if let Some(s) = w.strip_suffix("ies") {
            format!("{s}y")
        } else if let Some(s) = w.strip_suffix("es")
            && (s.ends_with('s') || s.ends_with('x') || s.ends_with("ch") || s.ends_with("sh"))
        {
            s.to_owned()
        } else if w.ends_with('s') && !w.ends_with("ss") && w.len() > 3 {
            w[..w.len() - 1].to_owned()
        } else {
            w.to_owned()
        }
    };
    a == b || stem(a) == stem(b)
}

/// Fields beside a reference that repeat fields of the collection referred to.
fn copied(
    from: &Namespace,
    field: &RefField,
    reference: &Reference,
    target: &Links,
) -> Vec<CopiedField> {
    if reference.needs_conversion || *from == reference.to {
        return Vec::new();
    }
    // (path here, path there) -> compared, equal, distinct values there
    let mut pairs: BTreeMap<(&FieldPath, u32), (u64, u64, Vec<u64>)> = BTreeMap::new();
    for (value, siblings) in &field.beside {
        let Some(row) = target.rows.get(value) else { continue };
        for (here, here_hash) in siblings {
            for &(there, there_hash) in row {
                if target.paths[there as usize].as_str() == "_id" {
                    continue;
                }
                let entry = pairs.entry((here, there)).or_default();
                entry.0 += 1;
                entry.1 += u64::from(*here_hash == there_hash);
                if entry.2.len() < 64 && !entry.2.contains(&there_hash) {
                    entry.2.push(there_hash);
                }
            }
        }
    }
    let mut found: BTreeMap<&FieldPath, CopiedField> = BTreeMap::new();
    for ((here, there), (compared, equal, distinct)) in pairs {
        let source = &target.paths[there as usize];
        let same_name = here.leaf().to_lowercase().contains(&source.leaf().to_lowercase());
        let telling = distinct.len() as u64 >= (compared / 4).clamp(3, 32);
        let enough = equal * 2 >= compared && compared >= 5;
        if !enough || !(telling || (same_name && distinct.len() >= 2)) {
            continue;
        }
        let copy = CopiedField {
            from: from.clone(),
            path: here.clone(),
            reference: field.path.clone(),
            to: reference.to.clone(),
            source: source.clone(),
            compared,
            differing: compared - equal,
        };
        let better = found.get(here).is_none_or(|old| {
            (copy.differing, !same_name) < (old.differing, old.source.leaf() != old.path.leaf())
        });
        if better {
            found.insert(here, copy);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_speak_of_collections() {
        let agree = |path: &str, collection: &str| {
            names_agree(
                &FieldPath::new(path),
                &Namespace::new("db", "x"),
                &Namespace::new("db", collection),
            )
        };
        assert!(agree("customerId", "customers"));
        assert!(agree("customer_id", "t_customer"));
        assert!(agree("items[].productId", "t_products"));
        assert!(agree("customer._id", "customers"));
        assert!(agree("category", "categories"));
        assert!(!agree("customerId", "orders"));
        assert!(!agree("_id", "orders"));
    }

    #[test]
    fn ids_are_found_and_strangers_are_not() {
        for n in [100i64, 300_000] {
            let mut ids = IdSet::default();
            (0..n).for_each(|i| ids.add(hash::number(i)));
            ids.settle();
            assert!((0..n).step_by(97).all(|i| ids.contains(hash::number(i))));
            let wrong = (n..n + 10_000).filter(|&i| ids.contains(hash::number(i))).count();
            assert!((wrong as f64 / 10_000.0 - ids.false_share()).abs() < 0.01, "{n}: {wrong}");
        }
    }
}
