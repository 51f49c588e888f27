//! Links between collections: fields that contain another collection's `_id`s or unique keys, and
//! fields copied next to them.
//!
//! Each collection provides a small [`Links`]:
//!
//! - its ids (those with the smallest hashes)
//! - samples of its unique keys and of its reference-like fields, drawn by the same hash
//! - a sample of its rows
//!
//! [`relate`] then compares them. Two samples of large collections have hardly any documents in
//! common. The ids that some documents contain are therefore looked up in the other collection,
//! which gives a [`Lookup`]. Everything is bounded.

use std::collections::BTreeMap;

use docward_model::{
    BsonType, CopiedField, Distribution, FieldPath, Namespace, Reference,
    words::{singular, split},
};
use serde::{Deserialize, Serialize};

use crate::hash;

/// The number of ids kept: those with the smallest hashes.
const IDS: usize = 65_536;

/// The ids of a collection: all of them if they are few, otherwise a sample by hash. References are
/// also sampled by hash, so the ids looked up are among those kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IdSet {
    /// Ids at or above this hash are unknown.
    theta: u64,
    hashes: Vec<u64>,
}

impl Default for IdSet {
    fn default() -> Self {
        Self { theta: u64::MAX, hashes: Vec::new() }
    }
}

impl IdSet {
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        if hash < self.theta {
            self.hashes.push(hash);
            if self.hashes.len() >= 2 * IDS {
                self.settle();
            }
        }
    }

    /// Sorts, and keeps only the ids with the smallest hashes.
    #[cold]
    pub(crate) fn settle(&mut self) {
        self.cut(IDS);
    }

    fn cut(&mut self, most: usize) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        if self.hashes.len() > most {
            self.theta = self.hashes[most];
            self.hashes.truncate(most);
            self.hashes.shrink_to(most);
        }
    }

    /// Returns whether a value is an id; `None` if it is outside the sample.
    pub(crate) fn contains(&self, hash: u64) -> Option<bool> {
        (hash < self.theta).then(|| self.hashes.binary_search(&hash).is_ok())
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.theta = self.theta.min(other.theta);
        self.hashes.extend(other.hashes);
        let theta = self.theta;
        self.hashes.retain(|&hash| hash < theta);
        self.settle();
    }
}

/// A field that may hold references.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RefField {
    pub(crate) path: FieldPath,
    pub(crate) kind: BsonType,
    /// The number of values.
    pub(crate) count: u64,
    /// The number of documents with at least one value.
    pub(crate) holders: u64,
    pub(crate) distinct: f64,
    /// The number of occurrences of each value: the number of children for each parent.
    #[serde(default)]
    pub(crate) children: Distribution,
    /// Sampled distinct values with their counts, the most frequent ones first.
    pub(crate) values: Vec<(u64, u32)>,
    /// The values that occurred more than once in randomly drawn documents, the most frequent ones
    /// first, and the number of these documents. Empty if all values and their counts are known.
    #[serde(default)]
    pub(crate) frequent: (Vec<(u64, u32)>, u32),
    /// Sampled values with the scalars next to them, by index in [`Links::paths`].
    pub(crate) beside: Vec<(u64, Vec<(u32, u64)>)>,
}

/// A unique key of a collection other than `_id`, with a sample of its values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeyField {
    pub(crate) path: FieldPath,
    pub(crate) kind: BsonType,
    /// Values at or above this hash are unknown.
    pub(crate) theta: u64,
    /// The sorted hashes of its values.
    pub(crate) hashes: Vec<u64>,
}

impl KeyField {
    fn contains(&self, hash: u64) -> Option<bool> {
        (hash < self.theta).then(|| self.hashes.binary_search(&hash).is_ok())
    }
}

/// Words that name a key: `code`, `station.code`, `stationCode`.
const KEYS: &[&str] = &["code", "key", "no", "number", "sku", "slug"];
/// The words that are also written without a separator, such as `stationcode`.
const JOINED: &[&str] = &["code", "key"];

/// Returns whether the name of a field is that of a key in its own collection: `code`, `no`,
/// `stationCode`.
pub(crate) fn is_key_name(path: &FieldPath) -> bool {
    split(path.as_str()).last().is_some_and(|w| KEYS.contains(&w.as_str()))
}

/// The words in the name of a field that refers to another collection's key: `station` and `code`
/// for `stationCode`, `station.code` or `stationcode`.
pub(crate) fn key_words(path: &FieldPath) -> Option<(Vec<String>, &'static str)> {
    let mut words = split(path.as_str());
    let last = words.pop()?;
    if let Some(key) = KEYS.iter().find(|key| **key == last) {
        return (!words.is_empty()).then_some((words, key));
    }
    let key = JOINED.iter().find(|key| last.len() > key.len() + 2 && last.ends_with(**key))?;
    words.push(last[..last.len() - key.len()].to_owned());
    Some((words, key))
}

/// The data of a collection for comparison with others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Links {
    pub(crate) documents: u64,
    pub(crate) id_kind: Option<BsonType>,
    pub(crate) ids: IdSet,
    /// Unique keys other than `_id`: few, and with samples as small as those of references.
    pub(crate) keys: Vec<KeyField>,
    pub(crate) refs: Vec<RefField>,
    /// Sampled documents: the hash of `_id`, then fields and their hashes.
    pub(crate) rows: BTreeMap<u64, Vec<(u32, u64)>>,
    /// The paths that `rows` and the scalars next to references use.
    pub(crate) paths: Vec<FieldPath>,
}

impl Links {
    /// Shrinks it if there are many collections, so that the total size stays bounded.
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
        // The ids of all collections together stay within 16 MiB.
        self.ids.cut((2 << 20) / collections.max(32));
    }
}

/// Some documents of a collection, and all existing documents of another one whose `_id`s they
/// contain.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// The collection that may refer to the other.
    pub from: Namespace,
    /// The field whose values were looked up.
    pub path: FieldPath,
    /// Links of its documents; every value of the field was looked up.
    pub referring: Links,
    /// The collection where they were looked up.
    pub to: Namespace,
    /// Links of the documents that were found there.
    pub found: Links,
}

/// With more collections in a database, a field only counts as a reference if its name contains
/// that of the target collection.
pub const MANY: usize = 200;

impl Links {
    /// Returns whether a field's values should be looked up among the `_id`s of another collection.
    /// With many collections, only a field whose name contains that of the target qualifies.
    pub fn may_refer(
        &self,
        from: &Namespace,
        to: &Namespace,
        target: &Self,
        only_by_name: bool,
    ) -> Vec<&FieldPath> {
        let Some(to_type) = target.id_kind else { return Vec::new() };
        let name = split(&to.collection);
        self.refs
            .iter()
            .filter(|field| {
                let named = names_agree(&reference_words(&field.path), &name, from == to);
                let same = is_unique_kind(field.kind)
                    && field.kind == to_type
                    && from.database == to.database;
                named || (same && !only_by_name)
            })
            .map(|field| &field.path)
            .filter(|path| !path.has_any_key())
            .collect()
    }
}

/// ObjectIds and UUIDs are globally unique.
const fn is_unique_kind(kind: BsonType) -> bool {
    matches!(kind, BsonType::ObjectId | BsonType::BinData)
}

/// Finds references and copies between collections. The result is deterministic and in the order of
/// the input.
pub fn relate(
    collections: &[(Namespace, Links)],
    lookups: &[Lookup],
) -> (Vec<Reference>, Vec<CopiedField>) {
    let mut references = Vec::new();
    let mut copies = Vec::new();
    let mut databases: BTreeMap<&str, usize> = BTreeMap::new();
    for (namespace, _) in collections {
        *databases.entry(&namespace.database).or_default() += 1;
    }
    let mut looked_up: BTreeMap<&Namespace, Vec<&Lookup>> = BTreeMap::new();
    lookups.iter().for_each(|lookup| looked_up.entry(&lookup.from).or_default().push(lookup));
    // Names are split once, because thousands of collections form millions of pairs.
    let names: Vec<Vec<String>> = collections.iter().map(|(ns, _)| split(&ns.collection)).collect();
    for (from, links) in collections {
        // A field whose name does not contain that of a collection can only refer to one of the
        // same database.
        let only_by_name = databases[from.database.as_str()] > MANY;
        for field in &links.refs {
            let words = reference_words(&field.path);
            let by = key_words(&field.path);
            // A lookup is more reliable than the overlap of two samples.
            let asked: Vec<(&Lookup, &RefField)> = looked_up
                .get(from)
                .into_iter()
                .flatten()
                .filter(|lookup| lookup.path == field.path)
                .filter_map(|lookup| {
                    let same = |asked: &&RefField| asked.path == field.path;
                    Some((*lookup, lookup.referring.refs.iter().find(same)?))
                })
                .collect();
            let answered = asked.iter().filter_map(|(lookup, some)| {
                let words_of_target = split(&lookup.to.collection);
                let named = names_agree(&words, &words_of_target, *from == lookup.to);
                let (score, reference) = candidate(some, from, &lookup.to, &lookup.found, named)?;
                let reference = Reference { looked_up: true, ..reference };
                Some((score, with_counts_of(field, reference)))
            });
            let best = collections
                .iter()
                .zip(&names)
                .filter(|((to, _), _)| asked.iter().all(|(lookup, _)| lookup.to != *to))
                .filter_map(|((to, target), name)| {
                    let named = names_agree(&words, name, from == to);
                    if only_by_name && !named {
                        return by_key(field, from, to, target, by.as_ref()?, name);
                    }
                    candidate(field, from, to, target, named)
                        .or_else(|| by_key(field, from, to, target, by.as_ref()?, name))
                })
                .chain(answered)
                .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.to.cmp(&a.1.to)));
            let Some((_, reference)) = best else { continue };
            if let Some((lookup, some)) = asked.iter().find(|(l, _)| l.to == reference.to) {
                copies.extend(copied(from, &lookup.referring, some, &reference, &lookup.found));
            } else if let Some((_, target)) = collections.iter().find(|(ns, _)| *ns == reference.to)
            {
                copies.extend(copied(from, links, field, &reference, target));
            }
            references.push(reference);
        }
    }
    (references, copies)
}

/// A reference with counts over all documents that were read, not only those whose values were
/// looked up.
fn with_counts_of(field: &RefField, reference: Reference) -> Reference {
    Reference {
        children_per_parent: field.children.clone(),
        parents: field.distinct,
        parents_per_child: field.count as f64 / field.holders.max(1) as f64,
        ..reference
    }
}

/// Returns the reference from `field` to `to`, if there is one, with a score to choose the best
/// target.
fn candidate(
    field: &RefField,
    from: &Namespace,
    to: &Namespace,
    target: &Links,
    named: bool,
) -> Option<(f64, Reference)> {
    let to_type = target.id_kind?;
    // ObjectIds and UUIDs are unique, so containment alone proves a reference; numbers and words
    // need a matching name.
    if (!is_unique_kind(field.kind) && !named) || field.values.is_empty() || target.documents == 0 {
        return None;
    }
    // Small numbers are ids in every database, so a match in another one proves nothing.
    let is_number = matches!(field.kind, BsonType::Int | BsonType::Long | BsonType::Double);
    if (!named || is_number) && from.database != to.database {
        return None;
    }
    // Frequent values that match unique values do not match by chance.
    let by_frequent = is_unique_kind(field.kind).then(|| frequent_share(field, target)).flatten();
    let plain = share(field, target, 0, by_frequent.is_some());
    let mixed = (field.kind == BsonType::String) != (to_type == BsonType::String);
    let spelled = if mixed { share(field, target, hash::SPELLED, false) } else { (0, 0) };
    let part = |(found, tested): (u64, u64)| found as f64 / tested.max(1) as f64;
    let needs_conversion = part(spelled) > part(plain);
    // Some of the values may exist in the other representation.
    let (found, tested) = if needs_conversion { spelled } else { either(field, target, plain) };
    let contained = part((found, tested));
    let references_contained = match (field.kind, by_frequent) {
        (_, Some((_, share))) => (share + (1.0 - share) * contained).max(contained),
        // Numbers occur everywhere, so a frequent match proves nothing.
        (BsonType::String, None) => references_share(field, target).max(contained),
        (kind, None) if is_unique_kind(kind) && field.frequent.1 == 0 => {
            references_share(field, target).max(contained)
        }
        _ => contained,
    };
    let agreement = contained.max(references_contained);
    if agreement < 0.5 || found.max(by_frequent.map_or(0, |(found, _)| found)) < 2 {
        return None;
    }
    let score = agreement + if named { 1.0 } else { 0.0 } + if from == to { -0.25 } else { 0.0 };
    Some((
        score,
        Reference {
            from: from.clone(),
            path: field.path.clone(),
            to: to.clone(),
            to_path: FieldPath::new("_id"),
            contained,
            references_contained,
            checked_values: tested,
            from_type: field.kind,
            to_type,
            needs_conversion,
            children_per_parent: field.children.clone(),
            parents: field.distinct,
            parents_per_child: field.count as f64 / field.holders.max(1) as f64,
            looked_up: false,
        },
    ))
}

/// The minimum number of key values to find for a reference.
const MIN_FOUND: u64 = 5;

/// Returns the reference from `field` to a unique key of `to` other than `_id`: its name contains
/// both names, and nearly all values looked up exist.
fn by_key(
    field: &RefField,
    from: &Namespace,
    to: &Namespace,
    target: &Links,
    (words, word): &(Vec<String>, &'static str),
    name: &[String],
) -> Option<(f64, Reference)> {
    if from == to || from.database != to.database || !names_agree(words, name, false) {
        return None;
    }
    let numeric = |kind| matches!(kind, BsonType::Int | BsonType::Long | BsonType::Double);
    let alike = |key: &&KeyField| {
        (key.kind == field.kind || (numeric(key.kind) && numeric(field.kind)))
            && split(key.path.as_str()).last().is_some_and(|last| last == word)
    };
    target.keys.iter().filter(alike).find_map(|key| {
        let answers = field.values.iter().filter_map(|(hash, _)| key.contains(*hash));
        let (found, tested) =
            answers.fold((0, 0), |(found, all), is| (found + u64::from(is), all + 1));
        let contained = found as f64 / f64::max(tested as f64, 1.0);
        if found < MIN_FOUND || contained < 0.9 {
            return None;
        }
        Some((
            contained + 0.9,
            Reference {
                from: from.clone(),
                path: field.path.clone(),
                to: to.clone(),
                to_path: key.path.clone(),
                contained,
                references_contained: contained,
                checked_values: tested,
                from_type: field.kind,
                to_type: key.kind,
                needs_conversion: false,
                children_per_parent: field.children.clone(),
                parents: field.distinct,
                parents_per_child: field.count as f64 / field.holders.max(1) as f64,
                looked_up: false,
            },
        ))
    })
}

/// Counts the sampled values that exist as ids, and the values that could be checked.
fn share(field: &RefField, target: &Links, mark: u64, is_sure: bool) -> (u64, u64) {
    let known = |(h, _): &(u64, u32)| target.ids.contains(h ^ mark);
    if !is_sure && !field.values.iter().filter_map(known).take(8).any(|is_id| is_id) {
        return (0, 0);
    }
    let answers = field.values.iter().filter_map(known);
    answers.fold((0, 0), |(found, tested), is_id| (found + u64::from(is_id), tested + 1))
}

/// Counts the frequent values of random documents that exist, and computes the share of these
/// documents that have one of them. `None` if the most frequent values do not exist.
fn frequent_share(field: &RefField, target: &Links) -> Option<(u64, f64)> {
    let (values, drawn) = &field.frequent;
    let is_known = |(hash, _): &&(u64, u32)| target.ids.contains(*hash) == Some(true);
    if !values.iter().take(8).any(|value| is_known(&value)) {
        return None;
    }
    let found = values.iter().filter(is_known);
    let (n, documents) =
        found.fold((0, 0.0), |(n, all), (_, count)| (n + 1, all + f64::from(*count)));
    Some((n, documents / f64::from((*drawn).max(1))))
}

/// The share of references (not of distinct values) that exist in either representation.
fn references_share(field: &RefField, target: &Links) -> f64 {
    let (mut found, mut tested) = (0.0, 0.0);
    for &(hash, count) in &field.values {
        let known = [hash, hash ^ hash::SPELLED].map(|hash| target.ids.contains(hash));
        if known == [None, None] {
            continue;
        }
        tested += f64::from(count);
        found += if known.contains(&Some(true)) { f64::from(count) } else { 0.0 };
    }
    found / f64::max(tested, 1.0)
}

/// Adds to the share `plain` the values that exist in another representation.
fn either(field: &RefField, target: &Links, plain: (u64, u64)) -> (u64, u64) {
    let is_spelled = |(h, _): &&(u64, u32)| {
        target.ids.contains(*h) == Some(false)
            && target.ids.contains(h ^ hash::SPELLED) == Some(true)
    };
    match plain {
        (found, tested) if found < tested && found > 0 => {
            let spelled = field.values.iter().filter(is_spelled).count() as u64;
            ((found + spelled).min(tested), tested)
        }
        all => all,
    }
}

/// The words in the name of a reference: `items[].productId` gives `items`, `product`.
fn reference_words(path: &FieldPath) -> Vec<String> {
    let mut words = split(path.as_str());
    while matches!(
        words.last().map(String::as_str),
        Some("id" | "ids" | "uuid" | "ref" | "no" | "oid")
    ) {
        words.pop();
    }
    words
}

/// Returns whether the words of a reference match a collection: `customerId`, `customer_id`,
/// `customer.id` and `t_customers`. A reference to its own collection is named after a role
/// (`parentId`, `managerId`).
fn names_agree(words: &[String], target: &[String], own: bool) -> bool {
    let Some(last) = words.last() else { return false };
    if own {
        return matches!(
            last.as_str(),
            "parent" | "manager" | "reply" | "previous" | "next" | "origin"
        );
    }
    let Some(head) = target.last() else { return false };
    same_word(last, head)
        || (words.len() >= 2
            && target.len() >= 2
            && target.iter().any(|t| same_word(last, t))
            && same_word(&words[words.len() - 2], &target[target.len() - 2]))
}

/// Returns whether two words are equal except for a plural ending.
fn same_word(a: &str, b: &str) -> bool {
    a == b
        || (a.len().abs_diff(b.len()) <= 2
            && a.get(..2) == b.get(..2)
            && singular(a) == singular(b))
}

/// The fields next to a reference that copy fields of the referenced collection.
fn copied(
    from: &Namespace,
    own: &Links,
    field: &RefField,
    reference: &Reference,
    target: &Links,
) -> Vec<CopiedField> {
    if reference.needs_conversion || *from == reference.to || !reference.is_by_id() {
        return Vec::new();
    }
    // (path here, path there) -> compared, equal, distinct values there
    let mut pairs: BTreeMap<(&FieldPath, u32), (u64, u64, Vec<u64>)> = BTreeMap::new();
    for (value, siblings) in &field.beside {
        let Some(row) = target.rows.get(value) else { continue };
        for (here, here_hash) in siblings {
            let here = &own.paths[*here as usize];
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
        let enough = compared >= 5;
        let by_value = equal * 2 >= compared && (telling || (same_name && distinct.len() >= 2));
        // A copy that differs in many documents can only be recognised by its name; the user may
        // have declared it.
        let by_name = here.leaf() == source.leaf();
        if !enough || !(by_value || by_name) {
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
            by_value,
        };
        let better = found.get(here).is_none_or(|old| {
            let rank =
                |c: &CopiedField| (!c.by_value, c.differing, c.source.leaf() != c.path.leaf());
            rank(&copy) < rank(old)
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
            names_agree(&reference_words(&FieldPath::new(path)), &split(collection), false)
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
    fn keys_are_named_after_their_collection() {
        let words = |path: &str| key_words(&FieldPath::new(path)).map(|(w, k)| (w.join(" "), k));
        for path in ["stationCode", "station_code", "station.code", "stationcode"] {
            assert_eq!(words(path), Some(("station".to_owned(), "code")), "{path}");
        }
        assert_eq!(words("orderNo"), Some(("order".to_owned(), "no")));
        for path in ["code", "monkey", "piano", "barcode.x"] {
            assert!(words(path).is_none_or(|(w, _)| w != "station"), "{path}");
        }
        assert_eq!(words("code"), None);
    }

    #[test]
    fn ids_are_found_and_strangers_are_not() {
        for n in [100i64, 300_000] {
            let mut ids = IdSet::default();
            (0..n).for_each(|i| ids.add(hash::number(i)));
            ids.settle();
            let known: Vec<bool> = (0..n).filter_map(|i| ids.contains(hash::number(i))).collect();
            assert!(known.len() as i64 >= n.min(65_536), "{n}");
            assert!(known.iter().all(|is_id| *is_id));
            assert!((n..2 * n).filter_map(|i| ids.contains(hash::number(i))).all(|is_id| !is_id));
        }
    }
}
