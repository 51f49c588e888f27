//! Documents in, statistics out: one pass, bounded memory, mergeable.
//!
//! This is the hot path of every audit. Work per value is limited to a few nanoseconds: the place
//! is predicted and compared, and text is hashed and checked for ASCII in one pass. Distinct values
//! cost one comparison once their sample is full. Work that needs a whole document at once is
//! limited to a sample of documents (`rows`).

use std::collections::BTreeMap;

use docward_bson::{
    value::hex,
    walk::{self, Fault, FaultKind, find_nul, i32_at, value_len},
};
use docward_model::{BlobKind, BsonType, TextClass};
use serde::{Deserialize, Serialize};

use crate::{
    forms, hash,
    histogram::Histogram,
    joins::Joins,
    rows::{Leaf, Row, Rows},
    sketch::{Added, Sketch},
    stats::{bump, widen},
    text,
    tree::{Kind, NONE, Node, NodeId, ROOT, Tree},
    values::{
        Sort, content_hash, fixed, fixed_at, has_short_decimals, id_text, id_value, number_of,
        remember_id, scalar_hash, seconds, shorten, sort_double, spelled_hash,
    },
};

/// Document sizes that are counted exactly (the limits of GC-02 and CK-14).
pub const TIERS: [u64; 6] = [102_400, 204_800, 1_048_576, 1_677_721, 10_485_760, 16_777_216];
/// The maximum number of damaged documents recorded individually.
pub(crate) const DAMAGES: usize = 64;
/// The number of largest documents recorded.
const LARGEST: usize = 16;
/// The maximum length of recorded ids.
const LONGEST_ID: usize = 64;
/// The minimum length of texts that are test-compressed in a few sampled documents.
const LONG_TEXT: usize = 16 * 1024;
/// The number of bytes of a long text to compress.
const PACKED_BYTES: usize = 64 * 1024;
/// Returned instead of a position if the document is damaged.
const FAULT: usize = 0;
/// The number of server depths that are counted separately.
const DEPTHS: usize = 32;

/// A document, or a part of one, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Byte offset in the file.
    pub offset: u64,
    /// The kind of damage.
    pub kind: FaultKind,
}

/// A large document, as recorded while reading.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Large {
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
    pub(crate) id: String,
    pub(crate) oid_seconds: u32,
    pub(crate) owner: String,
    pub(crate) owner_bytes: u64,
    pub(crate) owner_elements: Option<u64>,
}

/// Collects the statistics of one collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Profiler {
    pub(crate) tree: Tree,
    pub(crate) rows: Rows,
    pub(crate) joins: Joins,
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
    pub(crate) sizes: Histogram,
    pub(crate) larger: [u64; TIERS.len()],
    pub(crate) largest: Vec<Large>,
    pub(crate) depths: [u64; DEPTHS],
    pub(crate) max_server_depth: u32,
    pub(crate) id_pairs: u64,
    pub(crate) id_rising: u64,
    pub(crate) ids: crate::links::IdSet,
    /// Sets of top-level fields by hash, with counts; the smallest hashes are kept.
    pub(crate) shapes: Sketch,
    /// The fields of those sets.
    pub(crate) shape_fields: BTreeMap<u64, Vec<NodeId>>,
    #[serde(skip)]
    pub(crate) scratch: Scratch,
}

/// The state of the document being read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// Set while the document belongs to the sample.
    row: Option<Row>,
    /// The hash that decides whether the document is sampled.
    doc_hash: u64,
    /// Offset of the block in its file.
    pub(crate) base: u64,
    shape: u64,
    order: u64,
    /// True if the document's long texts are also examined.
    few: bool,
    depth: u32,
    server_depth: u32,
    /// References found in the current object: node and hash.
    refs: Vec<(NodeId, u64)>,
    /// The `_id` of the preceding document: tag and bytes.
    pub(crate) previous_id: Vec<u8>,
    /// The fault that ended the document. It is stored here so that the functions below return
    /// plain numbers: a `Result` per value goes through memory and costs more than the check
    /// itself.
    fault: Option<Fault>,
    pub(crate) damages: Vec<Damage>,
    pub(crate) damage_count: u64,
}

impl Scratch {
    #[cold]
    pub(crate) fn damaged(&mut self, fault: Fault) {
        self.damage_count += 1;
        if self.damages.len() < DAMAGES {
            let offset = self.base + fault.at as u64;
            self.damages.push(Damage { offset, kind: fault.kind });
        }
    }

    /// Records the fault that ended the document; `FAULT` propagates through the calls.
    #[cold]
    fn stop(&mut self, at: usize, kind: FaultKind) -> usize {
        self.fault.get_or_insert(Fault::new(at, kind));
        FAULT
    }
}

impl Default for Profiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Profiler {
    /// Creates an empty profiler.
    pub fn new() -> Self {
        Self {
            tree: Tree::new(),
            rows: Rows::new(),
            joins: Joins::default(),
            documents: 0,
            bytes: 0,
            sizes: Histogram::default(),
            larger: [0; TIERS.len()],
            largest: Vec::new(),
            depths: [0; DEPTHS],
            max_server_depth: 0,
            id_pairs: 0,
            id_rising: 0,
            ids: crate::links::IdSet::default(),
            shapes: Sketch::new(256),
            shape_fields: BTreeMap::new(),
            scratch: Scratch::default(),
        }
    }

    /// The number of documents.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The size of the documents in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes the damage so far, with at most a few dozen places; the count is of all damaged
    /// documents.
    pub fn take_damage(&mut self) -> (Vec<Damage>, u64) {
        let scratch = &mut self.scratch;
        (std::mem::take(&mut scratch.damages), std::mem::take(&mut scratch.damage_count))
    }

    /// The number of places, which determines its memory.
    pub fn places(&self) -> usize {
        self.tree.nodes.len()
    }

    pub(crate) fn document(&mut self, block: &[u8], start: usize, end: usize) -> Result<(), Fault> {
        let size = (end - start) as u64;
        self.documents += 1;
        self.bytes += size;
        self.sizes.add(size);
        if size > TIERS[0] {
            for (count, tier) in self.larger.iter_mut().zip(TIERS) {
                *count += u64::from(size > tier);
            }
        }
        let id = id_value(block, start, end);
        let doc_hash = match id {
            Some((tag, from, to)) => {
                let hash = scalar_hash(tag, &block[from..to]);
                self.note_id(tag, &block[from..to], hash);
                hash
            }
            None => content_hash(&block[start..end]),
        };
        let scratch = &mut self.scratch;
        scratch.doc_hash = doc_hash;
        scratch.shape = 0;
        scratch.order = 0;
        scratch.depth = 0;
        scratch.server_depth = 0;
        scratch.few = doc_hash < self.rows.few_theta();
        scratch.row = (doc_hash < self.rows.theta()).then(|| Row {
            hash: doc_hash,
            id: match id {
                Some((tag, from, to)) if to - from <= LONGEST_ID => {
                    [&[tag], &block[from..to]].concat().into()
                }
                _ => Box::default(),
            },
            at: scratch.base + start as u64,
            size: size as u32,
            oid_seconds: match id {
                Some((0x07, from, _)) => seconds(&block[from..]),
                _ => 0,
            },
            ..Row::default()
        });

        self.object(block, start + 4, end - 1, ROOT, 0);

        self.tree.nodes[ROOT as usize].stats.count_type(BsonType::Object);
        self.depths[(self.scratch.depth as usize).min(DEPTHS - 1)] += 1;
        self.max_server_depth = self.max_server_depth.max(self.scratch.server_depth);
        self.note_shape(&block[start..end]);
        if let Some(mut row) = self.scratch.row.take() {
            row.shape = self.scratch.shape;
            row.order = self.scratch.order;
            self.rows.push(row);
        }
        let enters = match self.largest.get(LARGEST - 1) {
            Some(last) => size > last.bytes || (size == last.bytes && doc_hash < last.hash),
            None => true,
        };
        if enters {
            self.note_large(
                &block[start..end],
                id.map(|(tag, from, to)| (tag, from - start, to - start)),
            );
        }
        self.scratch.fault.take().map_or(Ok(()), Err)
    }

    /// Reads the elements of an object: `at..end` is between its length and its final NUL. Returns
    /// false if the document is damaged.
    fn object(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        end: usize,
        object: NodeId,
        level: u32,
    ) -> bool {
        if level > walk::MAX_DEPTH {
            self.scratch.stop(at, FaultKind::Depth);
            return false;
        }
        let begin = at;
        let refs_before = self.scratch.refs.len();
        let ordered = level == 0 && self.scratch.row.is_some();
        let mut previous = NONE;
        let mut guesses = self.tree.first_guesses(object);
        let (mut fields, mut keys_of_data): (u32, u32) = (0, 0);
        let mut shape: u64 = 0;
        while at < end {
            let start = at;
            let tag = bytes[at];
            at += 1;
            let node = match self.tree.guess(guesses, bytes, at) {
                Some((node, len)) => {
                    if node != guesses[0] {
                        self.tree.swap_guesses(previous);
                    }
                    at += len + 1;
                    node
                }
                None => match self.unforeseen(bytes, start, end, object, previous) {
                    Some((node, behind)) => {
                        at = behind;
                        node
                    }
                    None => return false,
                },
            };
            let place = &mut self.tree.nodes[node as usize];
            if at > end {
                self.scratch.stop(start, FaultKind::Truncated);
                return false;
            }
            fields += 1;
            shape = shape.wrapping_add(place.key_hash);
            if ordered {
                self.scratch.order = hash::number((self.scratch.order ^ place.key_hash) as i64);
            }
            if place.kind == Kind::Named {
                (previous, guesses) = (node, place.next);
            } else {
                keys_of_data += 1;
                (previous, guesses) = (NONE, self.tree.first_guesses(object));
            }
            at = self.value(bytes, tag, start, at, end, node, level);
            if at == FAULT {
                return false;
            }
        }
        if level == 0 {
            self.scratch.shape = shape;
        }
        if fields > 0 {
            // The depth of values in this object; the root's fields have depth 0 (ALG-1).
            let up = &mut self.tree.nodes[object as usize];
            up.most_fields = up.most_fields.max(fields);
            if up.kind != Kind::Root {
                self.scratch.depth = self.scratch.depth.max(up.depth + 1);
            }
            if up.any != NONE
                && let Some(keys) = &mut up.keys
            {
                // The keys of the object that were read as names before they turned out to be data.
                let names = u32::try_from(up.children.len()).unwrap_or(u32::MAX);
                keys.per_object.add(u64::from(keys_of_data.max(fields.saturating_sub(names))));
            }
        }
        if self.scratch.refs.len() > refs_before {
            self.note_joins(&bytes[begin..end], object, refs_before);
        }
        true
    }

    /// The node of the element at `start` whose name was not predicted, and the position of its
    /// value.
    #[cold]
    fn unforeseen(
        &mut self,
        bytes: &[u8],
        start: usize,
        end: usize,
        object: NodeId,
        previous: NodeId,
    ) -> Option<(NodeId, usize)> {
        let at = start + 1;
        let Some(nul) = find_nul(bytes, at, end) else {
            self.scratch.stop(start, FaultKind::Unterminated);
            return None;
        };
        let key = &bytes[at..nul];
        if std::str::from_utf8(key).is_err() {
            self.scratch.damaged(Fault::new(at, FaultKind::Utf8));
        }
        let first_at = self.scratch.base + start as u64;
        Some((self.tree.find(object, previous, key, first_at), nul + 1))
    }

    /// Reads the elements of an array; returns their number, or `None` if the document is damaged.
    fn array(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        end: usize,
        array: NodeId,
        level: u32,
    ) -> Option<u32> {
        if level > walk::MAX_DEPTH {
            self.scratch.stop(at, FaultKind::Depth);
            return None;
        }
        if at >= end {
            return Some(0);
        }
        let element = self.tree.element(array, self.scratch.base + at as u64);
        let mut length: u32 = 0;
        // Keys are "0", "1", …: their width is known, so the position of the NUL is checked, not
        // searched.
        let mut width = 1;
        let mut wider_at: u32 = 10;
        let nested = self.tree.nodes[array as usize].kind == Kind::Element;
        while at < end {
            let start = at;
            let tag = bytes[at];
            if length == wider_at {
                width += 1;
                wider_at = wider_at.saturating_mul(10);
            }
            at = if bytes.get(at + 1 + width) == Some(&0) && bytes[at + 1] != 0 {
                at + 2 + width
            } else {
                match find_nul(bytes, at + 1, end) {
                    Some(nul) => nul + 1,
                    None => {
                        self.scratch.stop(start, FaultKind::Unterminated);
                        return None;
                    }
                }
            };
            if at > end {
                self.scratch.stop(start, FaultKind::Truncated);
                return None;
            }
            length += 1;
            at = self.value(bytes, tag, start, at, end, element, level);
            if at == FAULT {
                return None;
            }
        }
        if nested {
            let depth = self.tree.nodes[element as usize].depth;
            self.scratch.depth = self.scratch.depth.max(depth);
        }
        Some(length)
    }

    /// Reads one value of the element at `start`; returns the position of the next element, or
    /// `FAULT`.
    #[expect(
        clippy::too_many_arguments,
        reason = "the innermost function; a struct would go through memory"
    )]
    #[inline(always)]
    fn value(
        &mut self,
        bytes: &[u8],
        tag: u8,
        start: usize,
        at: usize,
        end: usize,
        node: NodeId,
        level: u32,
    ) -> usize {
        // The place is looked up once; everything below uses it and the scratch state.
        let place = &mut self.tree.nodes[node as usize];
        let scratch = &mut self.scratch;
        // Lengths are computed here rather than in `value_len`: one branch on the type instead of
        // two.
        match tag {
            0x02 => {
                let Some(len) = i32_at(bytes, at) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                let next = at + 4 + len.max(0) as usize;
                if len < 1 {
                    return scratch.stop(start, FaultKind::Length);
                }
                if next > end {
                    return scratch.stop(start, FaultKind::Truncated);
                }
                if bytes[next - 1] != 0 {
                    return scratch.stop(start, FaultKind::Unterminated);
                }
                text(place, scratch, node, bytes, at + 4, len as usize - 1);
                next
            }
            0x10 => {
                let Some(value) = fixed_at::<4>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                place.stats.count_type(BsonType::Int);
                whole(place, scratch, node, tag, i64::from(i32::from_le_bytes(value)));
                at + 4
            }
            0x12 => {
                let Some(value) = fixed_at::<8>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                place.stats.count_type(BsonType::Long);
                whole(place, scratch, node, tag, i64::from_le_bytes(value));
                at + 8
            }
            0x01 => {
                let Some(value) = fixed_at::<8>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                place.stats.count_type(BsonType::Double);
                double(place, scratch, node, f64::from_le_bytes(value));
                at + 8
            }
            0x09 => {
                let Some(value) = fixed_at::<8>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                let ms = i64::from_le_bytes(value);
                place.stats.count_type(BsonType::Date);
                widen(&mut place.stats.dates, ms);
                let text = || docward_bson::date_text(ms);
                scalar(place, scratch, node, tag, hash::number(ms), || Sort::by(ms), 24, text);
                at + 8
            }
            0x07 => {
                let Some(value) = fixed_at::<12>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                place.stats.count_type(BsonType::ObjectId);
                let sort = || Sort {
                    rest: u64::from_be_bytes(fixed(&value[4..])),
                    ..Sort::by(i64::from(seconds(&value)))
                };
                scalar(place, scratch, node, tag, hash::bytes(&value), sort, 24, || hex(&value));
                at + 12
            }
            0x08 => {
                let Some([value]) = fixed_at::<1>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                place.stats.count_type(BsonType::Bool);
                let truth = i64::from(value != 0);
                let text = || (truth == 1).to_string();
                scalar(place, scratch, node, tag, hash::number(truth), || Sort::by(truth), 5, text);
                at + 1
            }
            0x0a => {
                place.stats.count_type(BsonType::Null);
                at
            }
            0x13 => {
                let Some(value) = fixed_at::<16>(bytes, at, end) else {
                    return scratch.stop(start, FaultKind::Truncated);
                };
                place.stats.count_type(BsonType::Decimal);
                let text = || docward_bson::decimal_text(value);
                scalar(place, scratch, node, tag, hash::bytes(&value), || Sort::by(0), 40, text);
                at + 16
            }
            0x03 => {
                let next = match walk::document_end(bytes, at, end) {
                    Ok(next) => next,
                    Err(kind) => return scratch.stop(start, kind),
                };
                place.stats.count_type(BsonType::Object);
                place.stats.bytes += (next - at) as u64;
                scratch.server_depth = scratch.server_depth.max(level + 1);
                if self.object(bytes, at + 4, next - 1, node, level + 1) { next } else { FAULT }
            }
            0x04 => {
                let next = match walk::document_end(bytes, at, end) {
                    Ok(next) => next,
                    Err(kind) => return scratch.stop(start, kind),
                };
                let len = (next - at) as u64;
                place.stats.count_type(BsonType::Array);
                place.stats.bytes += len;
                scratch.server_depth = scratch.server_depth.max(level + 1);
                let Some(length) = self.array(bytes, at + 4, next - 1, node, level + 1) else {
                    return FAULT;
                };
                let arrays =
                    self.tree.nodes[node as usize].stats.arrays.get_or_insert_with(Box::default);
                arrays.lengths.add(u64::from(length));
                arrays.bytes.add(len);
                if let Some(row) = &mut self.scratch.row {
                    row.push_array(node, length);
                }
                next
            }
            _ => {
                let len = match value_len(tag, bytes, at, end) {
                    Ok(len) => len,
                    Err(kind) => return scratch.stop(start, kind),
                };
                rare(place, scratch, node, tag, &bytes[at..at + len]);
                at + len
            }
        }
    }

    fn note_id(&mut self, tag: u8, value: &[u8], id_hash: u64) {
        self.ids.add(id_hash);
        let previous = &mut self.scratch.previous_id;
        if previous.first() == Some(&tag) {
            self.id_pairs += 1;
            let rises = match tag {
                0x10 | 0x12 | 0x01 | 0x09 => number_of(tag, value) > number_of(tag, &previous[1..]),
                0x02 => value[4..] > previous[5..],
                _ => *value > previous[1..],
            };
            self.id_rising += u64::from(rises);
        }
        previous.clear();
        remember_id(previous, tag, value);
    }

    #[inline]
    fn note_shape(&mut self, document: &[u8]) {
        let shape = self.scratch.shape.max(1);
        if self.shapes.add(shape) == Added::New {
            self.new_shape(shape, document);
        }
    }

    /// Records the top-level fields of a document if their set is new.
    #[cold]
    fn new_shape(&mut self, shape: u64, document: &[u8]) {
        let Ok(elements) = walk::Elements::new(document) else { return };
        let fields = elements.flatten().map(|e| self.tree.child(ROOT, e.key, u64::MAX)).collect();
        self.shape_fields.insert(shape, fields);
        if self.shape_fields.len() > 600 {
            self.shapes.settle();
            let theta = self.shapes.theta();
            self.shape_fields.retain(|&hash, _| hash < theta);
        }
    }

    #[cold]
    fn note_large(&mut self, document: &[u8], id: Option<(u8, usize, usize)>) {
        let mut owner = (0u64, String::new(), None);
        let Ok(elements) = walk::Elements::new(document) else { return };
        for element in elements.flatten() {
            let len = element.value.len() as u64;
            if len > owner.0 {
                let count = (element.tag == 0x04)
                    .then(|| walk::Elements::new(element.value).map_or(0, |e| e.count() as u64));
                owner = (len, String::from_utf8_lossy(element.key).into_owned(), count);
            }
        }
        let id_text =
            id.map_or_else(String::new, |(tag, from, to)| id_text(tag, &document[from..to]));
        self.largest.push(Large {
            bytes: document.len() as u64,
            hash: self.scratch.doc_hash,
            id: shorten(id_text),
            oid_seconds: match id {
                Some((0x07, from, _)) => seconds(&document[from..]),
                _ => 0,
            },
            owner: owner.1,
            owner_bytes: owner.0,
            owner_elements: owner.2,
        });
        self.settle_largest();
    }

    pub(crate) fn settle_largest(&mut self) {
        self.largest.sort_by_key(|l| (std::cmp::Reverse(l.bytes), l.hash));
        self.largest.truncate(LARGEST);
    }

    /// Records the scalars next to references, if the references are among the sampled ones.
    #[cold]
    fn note_joins(&mut self, object: &[u8], parent: NodeId, from: usize) {
        let doc_hash = self.scratch.doc_hash;
        let wanted: Vec<(NodeId, u64)> = self.scratch.refs[from..]
            .iter()
            .copied()
            .filter(|&(node, _)| {
                let place = &self.tree.nodes[node as usize];
                // Only references directly in this object have siblings here.
                place.parent == parent && place.kind == Kind::Named
            })
            .filter(|&(node, hash)| self.joins.wants(node, hash, doc_hash))
            .collect();
        self.scratch.refs.truncate(from);
        if wanted.is_empty() {
            return;
        }
        let siblings = crate::joins::siblings(&mut self.tree, object, parent);
        for (node, hash) in wanted {
            let others = siblings.iter().copied().filter(|&(n, _)| n != node).collect();
            self.joins.put(&self.tree, node, hash, doc_hash, others);
        }
    }
}

/// Handles rare types.
#[cold]
fn rare(place: &mut Node, scratch: &mut Scratch, node: NodeId, tag: u8, value: &[u8]) {
    let Some(kind) = BsonType::from_tag(tag) else { return };
    place.stats.count_type(kind);
    match kind {
        BsonType::BinData => {
            place.stats.bytes += value.len() as u64;
            let (subtype, data) = (value[4], &value[5..]);
            place.stats.blobs.get_or_insert_with(Box::default).add(subtype, data);
            let sort = || Sort::bytes(data);
            let text = || hex(&data[..data.len().min(32)]);
            scalar(place, scratch, node, tag, hash::bytes(data), sort, data.len() * 2, text);
        }
        BsonType::Timestamp => {
            let n = i64::from_le_bytes(fixed(value));
            scalar(
                place,
                scratch,
                node,
                tag,
                hash::number(n),
                || Sort::by(n),
                20,
                || n.to_string(),
            );
        }
        _ => place.stats.bytes += value.len() as u64,
    }
}

#[inline]
fn whole(place: &mut Node, scratch: &mut Scratch, node: NodeId, tag: u8, n: i64) {
    widen(&mut place.stats.ints, n);
    scalar(place, scratch, node, tag, hash::number(n), || Sort::by(n), 20, || n.to_string());
}

#[inline]
fn double(place: &mut Node, scratch: &mut Scratch, node: NodeId, n: f64) {
    let whole = hash::whole(n);
    place.stats.doubles.add(n, whole.is_some());
    let value_hash = whole.map_or_else(|| hash::fraction(n), hash::number);
    let sort = || Sort { short: has_short_decimals(n), ..Sort::by(sort_double(n)) };
    scalar(place, scratch, node, 0x01, value_hash, sort, 24, || n.to_string());
}

/// The string `bytes[from..from + n]`.
#[inline]
fn text(
    place: &mut Node,
    scratch: &mut Scratch,
    node: NodeId,
    bytes: &[u8],
    from: usize,
    n: usize,
) {
    let scan = hash::text_at(bytes, from, n);
    let mut value_hash = scan.hash;
    let s = &bytes[from..from + n];
    if !scan.ascii
        && let Err(error) = std::str::from_utf8(s)
    {
        scratch.damaged(Fault::new(from + error.valid_up_to(), FaultKind::Utf8));
    }
    let class = text::classify_at(bytes, from, n, scan.at_sign);
    place.stats.count_text(class, n);
    match class {
        TextClass::Other if forms::is_placeholder(s) => {
            place.stats.placeholders += 1;
            place.stats.placeholder_words += u64::from(forms::is_placeholder_word(s));
        }
        TextClass::Other => {}
        TextClass::Empty => {}
        TextClass::EncodedFile => {
            let (kind, from) = text::encoded_file(s).unwrap_or((BlobKind::Unknown, 0));
            let blobs = place.stats.blobs.get_or_insert_with(Box::default);
            blobs.sizes.add((n - from) as u64 * 3 / 4);
            bump(&mut blobs.kinds, kind, 1);
            blobs.encoded += 1;
        }
        _ => value_hash = spelled_hash(class, s).unwrap_or(value_hash),
    }
    if place.id_like && n <= 64 {
        let text = || String::from_utf8_lossy(s).into_owned();
        place.stats.note_case(hash::caseless_at(bytes, from, n), value_hash, text);
    }
    if n >= LONG_TEXT {
        note_long_text(scratch, node, s);
    }
    let text = || String::from_utf8_lossy(s).into_owned();
    scalar(place, scratch, node, 0x02, value_hash, || Sort::text(s), n, text);
}

/// The part that all scalars share: distinct values, references, the document sample.
#[expect(
    clippy::too_many_arguments,
    reason = "the innermost function; a struct would go through memory"
)]
#[inline]
fn scalar(
    place: &mut Node,
    scratch: &mut Scratch,
    node: NodeId,
    tag: u8,
    value_hash: u64,
    sort: impl Fn() -> Sort,
    bytes: usize,
    text: impl Fn() -> String,
) {
    if value_hash < place.stats.sketch.theta() {
        if place.stats.sketch.add(value_hash) == Added::New {
            if tag == 0x07 && !place.is_own_id && place.depth <= 2 {
                place.stats.widen();
            }
            place.stats.remember(value_hash, bytes, || shorten(text()));
            if tag == 0x02 {
                place.stats.forms.get_or_insert_with(Box::default).add(value_hash, &text);
            }
        }
        if (place.id_like || tag == 0x07) && !place.is_own_id {
            scratch.refs.push((node, value_hash));
        }
    }
    if let Some(row) = &mut scratch.row
        && row.has_room()
    {
        let Sort { key, rest, short } = sort();
        row.leaves.push(Leaf { node, tag, short, hash: value_hash, sort: key, rest });
    }
}

#[cold]
fn note_long_text(scratch: &mut Scratch, node: NodeId, s: &[u8]) {
    // A few of the sampled documents are enough to estimate the ratio.
    if let Some(row) = &mut scratch.row
        && scratch.few
        && row.packed.len() < 4
    {
        use std::io::Write;
        let part = &s[..s.len().min(PACKED_BYTES)];
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        if encoder.write_all(part).is_ok()
            && let Ok(packed) = encoder.finish()
        {
            row.packed.push((node, part.len() as u32, packed.len() as u32));
        }
    }
}
