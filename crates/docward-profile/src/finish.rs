//! Converts running statistics to the [`Profile`] that rules read.

mod linking;

use std::{cmp::Reverse, collections::BTreeMap};

use docward_bson::value::hex;
use docward_model::{
    ArrayProfile, Blob, BsonType, Discriminator, Distinct, DynamicKeys, Field, FieldPath,
    FieldShape, IdOrder, KeyForm, LargeDocument, NumberProfile, Profile, SampledDocument,
    SampledValue, Shape, TextProfile, TrackedDocument, TypeCounts,
};

use crate::{
    growth::{by_age, growth, spearman},
    links::Links,
    profiler::{Profiler, TIERS},
    rows::{FEW, Leaf, Row},
    stats::{Stats, known},
    tree::{FORMS, Folded, Kind, NONE, NodeId, ROOT},
};

/// A finished profile and the data for comparing collections.
#[derive(Debug)]
pub struct Profiled {
    /// The profile for the rules.
    pub profile: Profile,
    /// The links for [`crate::relate`].
    pub links: Links,
}

const SHAPES: usize = 64;
/// The number of documents kept for comparison with another date.
const TRACKED: usize = 512;

/// The number of proper names from which they are not accidental.
const PROPER_NAMES: u64 = 3;

/// `Anna`, `Anna Smith`, `de Vries`, `O'Neil`: a capital before lower-case letters, or several
/// words.
fn is_proper_name(key: &[u8]) -> bool {
    let Ok(key) = std::str::from_utf8(key) else { return false };
    let mut letters = key.chars().filter(|c| c.is_alphabetic());
    let capital = key.starts_with(char::is_uppercase) && letters.any(char::is_lowercase);
    let words = key.split(' ').filter(|word| !word.is_empty()).count() > 1;
    (capital || words)
        && key.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '.' | '-' | '\''))
}

impl Profiler {
    /// Finishes the profile.
    pub fn finish(mut self) -> Profiled {
        self.rows.settle();
        self.shapes.settle();
        self.ids.settle();
        self.tree.settle_shares();
        self.fold_small();
        let resolved: Vec<NodeId> =
            (0..self.tree.nodes.len() as NodeId).map(|id| self.tree.resolve(id)).collect();
        for row in self.rows.all_mut() {
            row.leaves.iter_mut().for_each(|l| l.node = resolved[l.node as usize]);
            row.arrays.iter_mut().for_each(|a| a.0 = resolved[a.0 as usize]);
            row.packed.iter_mut().for_each(|p| p.0 = resolved[p.0 as usize]);
        }
        Finisher::new(self).finish()
    }

    /// Folds objects with few keys that all look like data; objects with many keys were folded
    /// while reading.
    fn fold_small(&mut self) {
        for id in 0..self.tree.nodes.len() as NodeId {
            let node = &self.tree.nodes[id as usize];
            if node.alias != NONE || node.children.is_empty() {
                continue;
            }
            if node.any != NONE {
                self.tree.fold_rare(id);
                continue;
            }
            let proper = || self.keys_are_proper_names(id).then_some(Folded::All);
            if let Some(folded) = self.tree.few_keys_are_data(id).or_else(proper) {
                self.tree.fold(id, 0, folded);
                self.tree.fold_rare(id);
                let per_object = self.keys_per_object(id);
                if let Some(keys) = &mut self.tree.nodes[id as usize].keys {
                    keys.per_object = per_object;
                }
            }
        }
    }

    /// Returns whether a few keys are names of people, places or similar: written as proper names,
    /// hardly any of them repeated, all with one type of value. Such values must not be printed as
    /// if they were field names. If every field is written this way, it is the style of the
    /// collection and proves nothing.
    fn keys_are_proper_names(&self, object: NodeId) -> bool {
        let nodes = &self.tree.nodes;
        let names = &nodes[object as usize].children;
        let (all, objects) = (names.len() as u64, self.tree.objects(object));
        if nodes[object as usize].kind == Kind::Root || all < PROPER_NAMES || objects < 2 {
            return false;
        }
        let is_proper = |id: &NodeId| is_proper_name(&nodes[*id as usize].key);
        if !names.iter().all(is_proper) {
            return false;
        }
        let uses: u64 = names.iter().map(|&c| nodes[c as usize].stats.count()).sum();
        let mut types = [0u64; BsonType::COUNT];
        for &id in names {
            types.iter_mut().zip(nodes[id as usize].stats.types()).for_each(|(a, b)| *a += b);
        }
        let one_type = types.iter().max().is_some_and(|n| n * 20 >= uses * 19);
        let beside = &nodes[ROOT as usize].children;
        let in_style = beside.iter().filter(|id| is_proper(id)).count();
        uses * 2 <= all * 3 && one_type && in_style * 2 <= beside.len()
    }

    /// Keys per object, for an object that is folded only now: only the mean and the maximum are
    /// known.
    fn keys_per_object(&self, object: NodeId) -> crate::histogram::Histogram {
        let node = &self.tree.nodes[object as usize];
        let objects = self.tree.objects(object).max(1);
        let uses = self.tree.nodes[node.any as usize].stats.count();
        // Names occur in most objects: the largest object has them in addition to its keys.
        let most = u64::from(node.most_fields).saturating_sub(node.children.len() as u64).max(1);
        let mut histogram = crate::histogram::Histogram::default();
        histogram.add_many(uses.div_ceil(objects).min(most), objects - 1);
        histogram.add(most);
        histogram
    }
}

/// The state of building a profile, including the order of fields.
struct Finisher {
    profiler: Profiler,
    /// Nodes in the order of the profile's fields.
    order: Vec<NodeId>,
    /// Field index of a node.
    index: BTreeMap<NodeId, usize>,
    paths: Vec<FieldPath>,
    /// Sampled scalars by node, with their row: rows are scanned once, not per field.
    leaves: Vec<Vec<(u32, Leaf)>>,
    /// Sampled array lengths by node, with their row.
    lengths: Vec<Vec<(u32, u32)>>,
    /// The creation time of each sampled row, if known.
    created: Vec<Option<i64>>,
    age_from: Option<FieldPath>,
}

impl Finisher {
    fn new(profiler: Profiler) -> Self {
        let mut this = Self {
            profiler,
            order: Vec::new(),
            index: BTreeMap::new(),
            paths: Vec::new(),
            leaves: Vec::new(),
            lengths: Vec::new(),
            created: Vec::new(),
            age_from: None,
        };
        this.sort_rows();
        this.place(ROOT, "");
        this.find_ages();
        this
    }

    fn sort_rows(&mut self) {
        self.leaves = vec![Vec::new(); self.profiler.tree.nodes.len()];
        self.lengths = vec![Vec::new(); self.profiler.tree.nodes.len()];
        for (at, row) in self.profiler.rows.all().iter().enumerate() {
            for leaf in &row.leaves {
                self.leaves[leaf.node as usize].push((at as u32, *leaf));
            }
            for &(node, length) in &row.arrays {
                self.lengths[node as usize].push((at as u32, length));
            }
        }
    }

    /// The first scalar a sampled row has at a node.
    fn leaf_of(&self, row: usize, node: NodeId) -> Option<&Leaf> {
        let leaves = &self.leaves[node as usize];
        let at = leaves.partition_point(|&(r, _)| (r as usize) < row);
        leaves.get(at).filter(|&&(r, _)| r as usize == row).map(|(_, leaf)| leaf)
    }

    /// Lists nodes, parents first, siblings in the order they were first seen.
    fn place(&mut self, id: NodeId, path: &str) {
        let node = &self.profiler.tree.nodes[id as usize];
        let mut below: Vec<NodeId> = node.children.clone();
        below.extend([node.element, node.any].into_iter().filter(|&n| n != NONE));
        below.sort_by_key(|&n| {
            let child = &self.profiler.tree.nodes[n as usize];
            (child.first_at, child.key.clone())
        });
        for child in below {
            let node = &self.profiler.tree.nodes[child as usize];
            if node.stats.count() == 0 {
                continue;
            }
            let name = String::from_utf8_lossy(&node.key);
            let full = match node.kind {
                Kind::Element => format!("{path}[]"),
                Kind::AnyKey if path.is_empty() => "*".to_owned(),
                Kind::AnyKey => format!("{path}.*"),
                _ if path.is_empty() => name.into_owned(),
                _ => format!("{path}.{name}"),
            };
            self.index.insert(child, self.order.len());
            self.order.push(child);
            self.paths.push(FieldPath::new(full.clone()));
            self.place(child, &full);
        }
    }

    fn rows(&self) -> &[Row] {
        self.profiler.rows.all()
    }

    /// Determines the source of document ages: the ObjectId, or a creation date.
    fn find_ages(&mut self) {
        let rows = self.profiler.rows.all();
        let with_oid = rows.iter().filter(|r| r.oid_seconds > 0).count();
        if !rows.is_empty() && with_oid * 20 >= rows.len() * 19 {
            self.age_from = Some(FieldPath::new("_id"));
            self.created = rows
                .iter()
                .map(|r| (r.oid_seconds > 0).then(|| i64::from(r.oid_seconds) * 1000))
                .collect();
            if self.spread_days() >= 1.0 {
                return;
            }
        }
        let mut best: Option<(u32, usize, NodeId)> = None;
        for (&node, &at) in &self.index {
            let place = &self.profiler.tree.nodes[node as usize];
            let dates = place.stats.of(BsonType::Date);
            if place.parent != ROOT || dates * 20 < self.profiler.documents * 19 {
                continue;
            }
            let name = String::from_utf8_lossy(&place.key).to_lowercase();
            let rank = if name.contains("creat") {
                0
            } else if ["date", "ts", "timestamp", "time", "bucket_start", "hour"]
                .contains(&name.as_str())
            {
                1
            } else if name.contains("regist") || name.contains("insert") || name.contains("start") {
                2
            } else {
                continue;
            };
            if best.is_none_or(|b| (rank, at) < (b.0, b.1)) {
                best = Some((rank, at, node));
            }
        }
        let Some((_, at, node)) = best else { return };
        let created: Vec<Option<i64>> = (0..self.rows().len())
            .map(|row| self.leaf_of(row, node).filter(|l| l.tag == 0x09).map(|l| l.sort))
            .collect();
        self.created = created;
        self.age_from = Some(self.paths[at].clone());
    }

    fn spread_days(&self) -> f64 {
        let known = self.created.iter().flatten();
        match (known.clone().min(), known.max()) {
            (Some(a), Some(b)) => (b - a) as f64 / 86_400_000.0,
            _ => 0.0,
        }
    }

    /// The growth of a measure with age, and some of the documents it is based on.
    fn growth_of(
        &self,
        measures: impl Iterator<Item = (usize, f64)>,
    ) -> (Option<docward_model::Growth>, Vec<(f64, u64)>) {
        let points: Vec<(i64, f64)> = measures
            .filter_map(|(row, measure)| Some(((*self.created.get(row)?)?, measure)))
            .collect();
        let growth = growth(&points);
        let drawn = growth.map_or_else(Vec::new, |growth| by_age(points, growth.newest_ms));
        (growth, drawn)
    }

    fn finish(self) -> Profiled {
        let fields: Vec<Field> = (0..self.order.len()).map(|at| self.field(at)).collect();
        let p = &self.profiler;
        let newest = self.created.iter().flatten().max().copied();
        let from_oid = self.age_from.as_ref().is_some_and(|f| f.as_str() == "_id");
        // An empty object is also a value; of equally deep places, one with values is named.
        let has_values = |f: &Field| {
            let values = f.types.values();
            values.iter().any(|(kind, _)| !matches!(kind, BsonType::Object | BsonType::Array))
        };
        let deepest = fields
            .iter()
            .max_by_key(|f| (f.depth, has_values(f), Reverse(f.path.as_str().len())))
            .map(|f| f.path.clone());
        let max_depth = p.depths.iter().rposition(|&n| n > 0).unwrap_or(0) as u32;
        let max_depth = fields
            .iter()
            .map(|f| f.depth)
            .max()
            .unwrap_or(0)
            .max(if max_depth as usize + 1 == p.depths.len() { max_depth } else { 0 });
        let sizes = self.rows().iter().map(|row| f64::from(row.size));
        let (growth, by_age) = self.growth_of(sizes.enumerate());
        let mut depths = p.depths.to_vec();
        while depths.len() > 1 && depths.last() == Some(&0) {
            depths.pop();
        }
        let (shapes, other_shapes) = self.shapes();
        let reordered = self.reordered();
        let profile = Profile {
            documents: p.documents,
            total: p.documents,
            sizes: p.sizes.finish(),
            larger_than: TIERS.into_iter().zip(p.larger).collect(),
            largest: p
                .largest
                .iter()
                .map(|l| LargeDocument {
                    bytes: l.bytes,
                    id: l.id.clone(),
                    owner: l.owner.clone(),
                    owner_bytes: l.owner_bytes,
                    owner_elements: l.owner_elements,
                    age_days: newest
                        .filter(|_| from_oid && l.oid_seconds > 0)
                        .map(|n| (n - i64::from(l.oid_seconds) * 1000) as f64 / 86_400_000.0),
                })
                .collect(),
            depths,
            max_depth,
            deepest,
            max_server_depth: p.max_server_depth,
            fields_capped: p.tree.capped,
            id_order: IdOrder { pairs: p.id_pairs, rising: p.id_rising },
            shuffled: false,
            copied: false,
            in_order: false,
            observed: None,
            growth,
            by_age,
            age_from: self.age_from.clone(),
            dynamic: dynamic(&p.tree.nodes[ROOT as usize]).map(Box::new),
            discriminator: self.discriminator(&fields, &shapes),
            shapes,
            other_shapes,
            reordered_objects: reordered,
            objects: self.rows().len() as u64,
            sample: self.sample(&fields),
            tracked: self.tracked(),
            fields,
        };
        let links = self.links(&profile);
        Profiled { profile, links }
    }

    /// The sampled documents in a form in which they can be recognised on another date.
    fn tracked(&self) -> Vec<TrackedDocument> {
        let rows = self.rows().iter().take(TRACKED);
        rows.map(|row| {
            let places = row.arrays.iter().map(|&(node, _)| node);
            let once = |node| places.clone().filter(|&other| other == node).count() == 1;
            let known = row.arrays.iter().filter(|&&(node, _)| once(node));
            TrackedDocument {
                hash: row.hash,
                id: hex(&row.id),
                bytes: u64::from(row.size),
                arrays: known
                    .filter_map(|&(node, length)| {
                        let at = *self.index.get(&self.profiler.tree.resolve(node))?;
                        Some((self.paths[at].clone(), u64::from(length)))
                    })
                    .collect(),
            }
        })
        .collect()
    }

    /// The sampled documents with their scalars outside arrays and folded keys.
    fn sample(&self, fields: &[Field]) -> Vec<SampledDocument> {
        let mut plain = vec![false; fields.len()];
        for (at, field) in fields.iter().enumerate() {
            let below_plain = field.parent.is_none_or(|parent| plain[parent]);
            plain[at] = below_plain && field.shape == FieldShape::Named;
        }
        let sampled = |leaf: &Leaf| {
            let &at = self.index.get(&leaf.node).filter(|&&at| plain[at])?;
            let kind = BsonType::from_tag(leaf.tag)?;
            Some(SampledValue {
                field: at as u32,
                kind,
                order: leaf.sort,
                rest: leaf.rest,
                hash: leaf.hash,
            })
        };
        let rows = self.rows().iter();
        rows.map(|row| SampledDocument {
            position: row.at,
            values: row.leaves.iter().filter_map(sampled).collect(),
        })
        .collect()
    }

    fn field(&self, at: usize) -> Field {
        let id = self.order[at];
        let p = &self.profiler;
        let node = &p.tree.nodes[id as usize];
        let stats = &node.stats;
        let parent_node = &p.tree.nodes[node.parent as usize];
        let parents = match node.kind {
            Kind::Element => parent_node.stats.of(BsonType::Array),
            _ => parent_node.stats.of(BsonType::Object),
        };
        let mut children: Vec<usize> = node
            .children
            .iter()
            .copied()
            .chain([node.element, node.any])
            .filter_map(|n| self.index.get(&n).copied())
            .collect();
        children.sort_unstable();
        let top_level = node.parent == ROOT;
        let distinct = self.distinct(id, stats);
        Field {
            path: self.paths[at].clone(),
            name: String::from_utf8_lossy(&node.key).into_owned(),
            shape: match node.kind {
                Kind::Element => FieldShape::Element,
                Kind::AnyKey => FieldShape::AnyKey,
                _ => FieldShape::Named,
            },
            parent: self.index.get(&node.parent).copied(),
            children,
            depth: node.depth,
            count: stats.count(),
            parents,
            types: TypeCounts::new(stats.types()),
            bytes: stats.value_bytes(),
            distinct,
            enumeration: enumeration(stats),
            text: self.text(id, stats).map(Box::new),
            number: self.number(id, stats),
            dates: known(stats.dates),
            array: stats.arrays.as_ref().map(|arrays| {
                // Only one array per document: nested arrays occur several times per row.
                let rows = self.lengths[id as usize].chunk_by(|a, b| a.0 == b.0);
                let (growth, by_age) = self.growth_of(
                    rows.filter_map(<[_]>::first)
                        .map(|&(row, length)| (row as usize, f64::from(length))),
                );
                Box::new(ArrayProfile {
                    lengths: arrays.lengths.finish(),
                    bytes: arrays.bytes.finish(),
                    observed: None,
                    growth,
                    by_age,
                })
            }),
            blob: stats.blobs.as_ref().map(|blobs| {
                let mut blob = Blob {
                    sizes: blobs.sizes.finish(),
                    kinds: blobs.kinds.clone(),
                    subtypes: blobs.subtypes.clone(),
                    encoded: blobs.encoded,
                    uuid_v4: blobs.uuid_v4,
                    uuid_v7: blobs.uuid_v7,
                };
                blob.kinds.sort_by_key(|&(k, n)| (Reverse(n), k));
                blob.subtypes.sort_by_key(|&(k, n)| (Reverse(n), k));
                Box::new(blob)
            }),
            dynamic: dynamic(node).map(Box::new),
            natural_order: top_level.then(|| self.natural_order(id)).flatten(),
            examples: stats.examples.iter().map(|(_, text)| text.clone()).collect(),
        }
    }

    fn distinct(&self, id: NodeId, stats: &Stats) -> Distinct {
        let mut sketch = stats.sketch.clone();
        sketch.settle();
        let entries = sketch.entries();
        let scalars = BsonType::ALL.into_iter().filter(|&kind| is_scalar(kind));
        let total: u64 = scalars.map(|kind| stats.of(kind)).sum();
        if total == 0 || entries.is_empty() {
            return Distinct::default();
        }
        if sketch.is_exact() {
            let top = entries.iter().map(|e| u64::from(e.1)).max().unwrap_or(0);
            return Distinct {
                values: sketch.distinct(),
                exact: true,
                top_share: top as f64 / total as f64,
                top_share_error: 0.0,
            };
        }
        // If the sample of values is incomplete, the sample of documents shows which values are
        // frequent.
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let mut n = 0u64;
        for (_, leaf) in &self.leaves[id as usize] {
            *counts.entry(leaf.hash).or_default() += 1;
            n += 1;
        }
        let top = counts.values().copied().max().unwrap_or(0);
        let sampled_share = if n == 0 { 0.0 } else { top as f64 / n as f64 };
        let known = entries.iter().map(|e| f64::from(e.1)).fold(0.0, f64::max) / total as f64;
        // A single occurrence in the sample does not show frequency.
        let top_share = if top <= 1 { known } else { sampled_share.max(known) };
        let error =
            if n == 0 { 0.0 } else { 1.96 * (top_share * (1.0 - top_share) / n as f64).sqrt() };
        Distinct {
            values: sketch.distinct().min(total as f64),
            exact: false,
            top_share,
            top_share_error: error,
        }
    }

    fn text(&self, id: NodeId, stats: &Stats) -> Option<TextProfile> {
        let lengths = stats.lengths.finish();
        let classes = stats.settled_classes(&lengths);
        if classes.iter().all(|&n| n == 0) {
            return None;
        }
        let (mut raw, mut packed) = (0, 0);
        for row in self.rows().iter().take(FEW) {
            for &(_, r, c) in row.packed.iter().filter(|p| p.0 == id) {
                raw += u64::from(r);
                packed += u64::from(c);
            }
        }
        Some(TextProfile {
            classes,
            lengths,
            case_collisions: stats.cases.as_ref().map(|c| c.finish()),
            compression: (raw > 0).then_some((raw, packed)),
            placeholders: stats.placeholders,
            placeholder_words: stats.placeholder_words,
            forms: stats.forms.as_ref().map(|forms| forms.finish()).unwrap_or_default(),
        })
    }

    fn number(&self, id: NodeId, stats: &Stats) -> Option<NumberProfile> {
        let ints = known(stats.ints);
        let doubles = &stats.doubles;
        let finite = doubles.integral + doubles.fractional;
        if ints.is_none() && finite + doubles.not_finite == 0 {
            return None;
        }
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        if let Some((a, b)) = ints {
            min = min.min(a as f64);
            max = max.max(b as f64);
        }
        if finite > 0 {
            min = min.min(doubles.min);
            max = max.max(doubles.max);
        }
        if min > max {
            (min, max) = (0.0, 0.0);
        }
        let leaves = || self.leaves[id as usize].iter().filter(|(_, l)| l.tag == 0x01);
        let longs: Vec<i64> = self.leaves[id as usize]
            .iter()
            .filter(|(_, l)| l.tag == 0x12 && l.sort.unsigned_abs() >= EIGHTEEN_DIGITS)
            .map(|(_, l)| l.sort)
            .collect();
        Some(NumberProfile {
            min,
            max,
            integral_doubles: doubles.integral,
            fractional_doubles: doubles.fractional,
            inexact_doubles: doubles.inexact,
            not_finite: doubles.not_finite,
            long_ids: longs.len() as u64,
            rounded_longs: longs.iter().filter(|&&n| is_text_of_double(n)).count() as u64,
            examined_doubles: leaves().count() as u64,
            short_decimals: leaves().filter(|(_, l)| l.short).count() as u64,
        })
    }

    /// Rank correlation of a top-level scalar with natural order.
    fn natural_order(&self, id: NodeId) -> Option<f64> {
        let leaves = &self.leaves[id as usize];
        let tag = leaves.first()?.1.tag;
        if leaves.len() < 50 || leaves.iter().any(|(_, leaf)| leaf.tag != tag) {
            return None;
        }
        // Ranks instead of the values themselves, because the values have more bits than a double.
        let mut sorted: Vec<(i64, u64)> = leaves.iter().map(|(_, l)| (l.sort, l.rest)).collect();
        sorted.sort_unstable();
        let rank = |leaf: &Leaf| sorted.partition_point(|&key| key < (leaf.sort, leaf.rest)) as f64;
        let at: Vec<f64> =
            leaves.iter().map(|(row, _)| self.rows()[*row as usize].at as f64).collect();
        let value: Vec<f64> = leaves.iter().map(|(_, leaf)| rank(leaf)).collect();
        spearman(&at, &value)
    }

    fn shapes(&self) -> (Vec<Shape>, u64) {
        let p = &self.profiler;
        let theta = p.shapes.theta();
        let mut shapes: Vec<Shape> = p
            .shapes
            .entries()
            .into_iter()
            .filter(|(hash, _)| *hash < theta)
            .filter_map(|(hash, documents)| {
                let mut fields: Vec<usize> = p
                    .shape_fields
                    .get(&hash)?
                    .iter()
                    .filter_map(|&n| self.index.get(&p.tree.resolve(n)).copied())
                    .collect();
                fields.sort_unstable();
                fields.dedup();
                Some(Shape { documents: u64::from(documents), fields })
            })
            .collect();
        shapes.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.fields.cmp(&b.fields)));
        // Shapes may have become equal through folding.
        shapes.dedup_by(|b, a| {
            let same = a.fields == b.fields;
            if same {
                a.documents += b.documents;
            }
            same
        });
        shapes.truncate(SHAPES);
        let known: u64 = shapes.iter().map(|s| s.documents).sum();
        (shapes, p.documents.saturating_sub(known))
    }

    /// The number of sampled documents whose field order differs from most documents of the same
    /// shape.
    fn reordered(&self) -> u64 {
        let mut orders: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for row in self.rows() {
            *orders.entry(row.shape).or_default().entry(row.order).or_default() += 1;
        }
        orders
            .values()
            .map(|of| of.values().sum::<u64>() - of.values().max().copied().unwrap_or(0))
            .sum()
    }

    /// A top-level field with few values that predicts the set of fields of a document.
    fn discriminator(&self, fields: &[Field], shapes: &[Shape]) -> Option<Discriminator> {
        if shapes.len() < 2 || self.rows().len() < 3 {
            return None;
        }
        let mut families: BTreeMap<u64, u64> = BTreeMap::new();
        for row in self.rows() {
            *families.entry(row.shape).or_default() += 1;
        }
        let total = self.rows().len() as f64;
        let chance = families.values().copied().max().unwrap_or(0) as f64 / total;
        if chance > 0.95 {
            return None;
        }
        let mut best: Option<Discriminator> = None;
        for (at, field) in fields.iter().enumerate() {
            let kind = field.types.dominant();
            let few = field.distinct.exact
                && field.distinct.values >= 2.0
                && field.distinct.values <= 20.0
                && field.distinct.values * 2.0 <= total.max(6.0);
            if field.parent.is_some()
                || field.presence() < 0.99
                || !few
                || !matches!(kind, Some(BsonType::String | BsonType::Int | BsonType::Long))
            {
                continue;
            }
            let node = self.order[at];
            let mut joint: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
            for (row, leaf) in &self.leaves[node as usize] {
                let shape = self.rows()[*row as usize].shape;
                *joint.entry(leaf.hash).or_default().entry(shape).or_default() += 1;
            }
            let right: u64 = joint.values().filter_map(|of| of.values().max()).sum();
            let accuracy = right as f64 / total;
            let useful = accuracy >= 0.9 && accuracy - chance >= 0.15;
            if useful && best.as_ref().is_none_or(|b| accuracy > b.accuracy) {
                best = Some(Discriminator { field: at, accuracy, chance });
            }
        }
        best
    }
}

/// The smallest number of 18 digits: a double shows 17 at most, and zeros behind them.
const EIGHTEEN_DIGITS: u64 = 100_000_000_000_000_000;

/// Whether a number is the printed form of the nearest double. This holds for one in sixteen
/// numbers of 18 digits.
fn is_text_of_double(n: i64) -> bool {
    (n as f64).to_string() == n.to_string()
}

fn is_scalar(kind: BsonType) -> bool {
    !matches!(
        kind,
        BsonType::Object
            | BsonType::Array
            | BsonType::Null
            | BsonType::Undefined
            | BsonType::Regex
            | BsonType::Javascript
            | BsonType::JavascriptWithScope
            | BsonType::Symbol
            | BsonType::DbPointer
            | BsonType::MinKey
            | BsonType::MaxKey
    )
}

fn enumeration(stats: &Stats) -> Option<Vec<(String, u64)>> {
    let values = stats.values.as_ref()?;
    if values.is_empty() {
        return None;
    }
    let counts: BTreeMap<u64, u32> = stats.sketch.entries().into_iter().collect();
    let mut named: Vec<(String, u64)> = values
        .iter()
        .map(|(hash, text)| {
            (text.clone(), u64::from(counts.get(&(*hash).max(1)).copied().unwrap_or(0)))
        })
        .collect();
    named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Some(named)
}

fn dynamic(node: &crate::tree::Node) -> Option<DynamicKeys> {
    let keys = node.keys.as_ref()?;
    let mut distinct = keys.distinct.clone();
    distinct.settle();
    let total: u64 = keys.forms.iter().sum();
    let form = FORMS
        .iter()
        .zip(keys.forms)
        .max_by_key(|(_, n)| *n)
        .filter(|(_, n)| *n * 5 >= total * 4)
        .map_or(KeyForm::Various, |(form, _)| *form);
    Some(DynamicKeys {
        keys: distinct.distinct(),
        exact: distinct.is_exact(),
        form,
        per_object: keys.per_object.finish(),
        examples: keys.examples.iter().map(|(_, key)| key.clone()).collect(),
    })
}
