//! The tree of places: one node per path, found by prediction first and by hash second.
//!
//! Documents of one collection have their fields in nearly the same order, so each node stores
//! which nodes followed it last time. Comparing sixteen bytes with the prediction is right most of
//! the time and avoids hashing the name.

use crate::{
    hash,
    sketch::{SAMPLE_IDS, Sketch},
    stats::Stats,
    text,
};
use docward_model::{KeyForm, TextClass};
use serde::{Deserialize, Serialize};

/// Index of a node.
pub(crate) type NodeId = u32;
/// The root object.
pub(crate) const ROOT: NodeId = 0;
/// No node.
pub(crate) const NONE: NodeId = u32::MAX;

/// The maximum number of places that are tracked separately.
pub(crate) const MAX_NODES: usize = 8192;
/// The number of distinct values kept per place: near the root, and deeper.
const SAMPLE_SHALLOW: u32 = 256;
const SAMPLE_DEEP: u32 = 64;
/// From this number of places on, each keeps at most these numbers of distinct values and listed
/// values. The total then stays within about 30 MB. The limits depend only on the final number of
/// places.
const SHARES: [(usize, u32, usize); 3] =
    [(4096, 16, 8), (1024, 64, 16), (128, 1024, u8::MAX as usize)];
/// An object with this many different keys is checked for data used as keys.
const FOLD_FORMED: usize = 64;
const FOLD_ONE_TYPE: usize = 256;
const FOLD_SPARSE: usize = 1024;
const FOLD_ALWAYS: usize = 4096;
/// An object below the root with this many rare names may be a map.
const SPARSE_NAMES: usize = 32;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Root,
    Named,
    Element,
    AnyKey,
}

/// The field order is deliberate: fields that every value touches come first and together.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C)]
pub(crate) struct Node {
    /// The first sixteen bytes of the name and its NUL, and the mask of the valid ones.
    head: [u64; 2],
    mask: [u64; 2],
    /// Two predictions for the next node in the same object.
    pub(crate) next: [NodeId; 2],
    /// The prediction for the first field of an object here.
    first: NodeId,
    /// The elements of arrays here.
    pub(crate) element: NodeId,
    /// The node for all values of an object whose keys are data; set once folded.
    pub(crate) any: NodeId,
    pub(crate) key_len: u32,
    pub(crate) kind: Kind,
    /// True if the name indicates an identifier: its values may be references.
    pub(crate) id_like: bool,
    /// True if this is the documents' own `_id`.
    pub(crate) is_own_id: bool,
    /// The container depth of values here (ALG-1).
    pub(crate) depth: u32,
    /// The hash of the name, mixed with the parent for look-up; alone it identifies the name in the
    /// shape hash.
    pub(crate) key_hash: u64,
    pub(crate) stats: Stats,
    pub(crate) parent: NodeId,
    /// Name without NUL.
    pub(crate) key: Box<[u8]>,
    pub(crate) children: Vec<NodeId>,
    /// The byte position at which it was first seen, for a stable order.
    pub(crate) first_at: u64,
    /// Distinct keys and keys per object, once folded.
    pub(crate) keys: Option<Box<Keys>>,
    /// The maximum number of fields in an object here.
    pub(crate) most_fields: u32,
    /// The node it was folded into, if any.
    pub(crate) alias: NodeId,
}

/// Which keys of an object are data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Folded {
    /// Dates and numbers; the others are names of fields: columns next to years.
    Formed,
    /// All of them.
    All,
}

/// Keys of a folded object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Keys {
    pub(crate) folded: Folded,
    pub(crate) distinct: Sketch,
    pub(crate) examples: Vec<(u64, String)>,
    pub(crate) forms: [u64; 5],
    pub(crate) per_object: crate::histogram::Histogram,
}

impl Keys {
    fn new(folded: Folded) -> Self {
        Self {
            folded,
            distinct: Sketch::new(SAMPLE_SHALLOW),
            examples: Vec::new(),
            forms: [0; 5],
            per_object: crate::histogram::Histogram::default(),
        }
    }

    /// Returns whether a key is data.
    fn holds(&self, key: &[u8]) -> bool {
        self.folded == Folded::All || key_form(key).is_some()
    }

    #[inline]
    pub(crate) fn note(&mut self, key: &[u8]) {
        let hash = hash::bytes(key);
        if self.distinct.add(hash) == crate::sketch::Added::New {
            self.forms[form_index(key_form(key))] += 1;
            if self.examples.len() < 5 || self.examples.iter().any(|(h, _)| hash < *h) {
                self.examples.push((hash, String::from_utf8_lossy(key).into_owned()));
                self.examples.sort();
                self.examples.truncate(5);
            }
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.distinct.merge(&other.distinct);
        self.examples.extend(other.examples);
        self.examples.sort();
        self.examples.dedup();
        self.examples.truncate(5);
        self.forms.iter_mut().zip(other.forms).for_each(|(a, b)| *a += b);
        self.per_object.merge(&other.per_object);
    }
}

/// Key forms that indicate data.
pub(crate) const FORMS: [KeyForm; 5] =
    [KeyForm::Date, KeyForm::Number, KeyForm::ObjectId, KeyForm::Uuid, KeyForm::Various];

fn form_index(form: Option<KeyForm>) -> usize {
    form.and_then(|f| FORMS.iter().position(|x| *x == f)).unwrap_or(4)
}

/// The form of a key that looks like data; `None` for an ordinary name.
pub(crate) fn key_form(key: &[u8]) -> Option<KeyForm> {
    use TextClass as T;
    match text::classify(key, key.contains(&b'@')) {
        T::DateTimeOffset | T::DateTimeLocal | T::DateOnly | T::DateAmbiguous | T::YearMonth => {
            Some(KeyForm::Date)
        }
        T::Integer | T::LeadingZero | T::HugeInteger => Some(KeyForm::Number),
        T::ObjectIdHex => Some(KeyForm::ObjectId),
        T::UuidV4 | T::UuidV7 | T::Uuid | T::Ulid | T::HexDigest => Some(KeyForm::Uuid),
        T::Email | T::Url => Some(KeyForm::Various),
        _ => None,
    }
}

/// The tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// The hash table over (parent, key), with open addressing.
    #[serde(skip)]
    table: Vec<NodeId>,
    /// True if places were left out because there were too many.
    pub(crate) capped: bool,
}

/// A serialized tree.
#[derive(Deserialize)]
struct Saved {
    nodes: Vec<Node>,
    capped: bool,
}

impl TryFrom<Saved> for Tree {
    type Error = &'static str;

    fn try_from(Saved { nodes, capped }: Saved) -> Result<Self, Self::Error> {
        let count = nodes.len();
        let is_below =
            |at: usize, id: NodeId| id == NONE || (id as usize > at && (id as usize) < count);
        let is_known = |id: NodeId| id == NONE || (id as usize) < count;
        let is_sound = |at: usize, node: &Node| {
            // Every place was created after its parent, so walks in either direction terminate.
            let is_root = node.kind == Kind::Root && at == 0;
            (is_root || ((node.parent as usize) < at && node.kind != Kind::Root))
                && node.key_len as usize == node.key.len()
                && [node.element, node.any].into_iter().all(|id| is_below(at, id))
                && node.children.iter().all(|&id| id != NONE && is_below(at, id))
                && node.next.into_iter().chain([node.first, node.alias]).all(is_known)
        };
        let ends = |mut id: usize| {
            (0..=count).any(|_| {
                let last = nodes[id].alias == NONE;
                id = if last { id } else { nodes[id].alias as usize };
                last
            })
        };
        let all = nodes.iter().enumerate();
        if count == 0 || !all.clone().all(|(at, node)| is_sound(at, node)) || !(0..count).all(ends)
        {
            return Err("its places do not fit together");
        }
        let size = (count * 4).next_power_of_two().max(256);
        let mut tree = Self { nodes, table: vec![NONE; size / 2], capped };
        tree.rehash();
        Ok(tree)
    }
}

impl Tree {
    pub(crate) fn new() -> Self {
        let mut tree = Self { nodes: Vec::new(), table: vec![NONE; 256], capped: false };
        tree.nodes.push(Node::new(b"", 0, NONE, Kind::Root, 0, 0, 1));
        tree
    }

    /// The node named at `at` and the length of the name, if one of the predictions is right.
    /// `guesses` are those of the preceding field in the same object, or of the object at its
    /// start.
    #[inline(always)]
    pub(crate) fn guess(
        &self,
        guesses: [NodeId; 2],
        bytes: &[u8],
        at: usize,
    ) -> Option<(NodeId, usize)> {
        let name = bytes.get(at..at + 16).map(|window| [word(window, 0), word(window, 8)]);
        guesses.into_iter().find_map(|id| {
            let node = self.nodes.get(id as usize)?;
            node.is_at(name, bytes, at).then_some((id, node.key_len as usize))
        })
    }

    /// Predictions for the first field of an object.
    pub(crate) fn first_guesses(&self, object: NodeId) -> [NodeId; 2] {
        [self.nodes[object as usize].first, NONE]
    }

    /// The successful prediction is tried first the next time.
    #[cold]
    pub(crate) fn swap_guesses(&mut self, previous: NodeId) {
        if previous != NONE {
            self.nodes[previous as usize].next.reverse();
        }
    }

    fn learn(&mut self, parent: NodeId, previous: NodeId, found: NodeId) {
        if previous == NONE {
            self.nodes[parent as usize].first = found;
        } else {
            let [first, _] = self.nodes[previous as usize].next;
            self.nodes[previous as usize].next = [found, first];
        }
    }

    /// The share of each place, if there are many.
    fn share(&self) -> Option<(u32, usize)> {
        let share = SHARES.iter().find(|share| self.nodes.len() >= share.0)?;
        Some((share.1, share.2))
    }

    /// Adds a place, limited to its share.
    fn push(&mut self, node: Node) {
        self.nodes.push(node);
        let Some((k, values)) = self.share() else { return };
        if SHARES.iter().any(|share| self.nodes.len() == share.0) {
            self.settle_shares();
        } else if let Some(node) = self.nodes.last_mut() {
            node.stats.shrink(k, values);
        }
    }

    /// Reduces every place to its share.
    pub(crate) fn settle_shares(&mut self) {
        if let Some((k, values)) = self.share() {
            self.nodes.iter_mut().for_each(|node| node.stats.shrink(k, values));
        }
    }

    fn slot_of(&self, parent: NodeId, key: &[u8], key_hash: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut at =
            (key_hash ^ u64::from(parent).wrapping_mul(0x9e37_79b9_7f4a_7c15)) as usize & mask;
        loop {
            let id = self.table[at];
            if id == NONE {
                return at;
            }
            let node = &self.nodes[id as usize];
            if node.parent == parent && node.key_hash == key_hash && *node.key == *key {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// The node of a key, created if new; corrects the prediction.
    #[cold]
    pub(crate) fn find(&mut self, parent: NodeId, previous: NodeId, key: &[u8], at: u64) -> NodeId {
        let found = self.child(parent, key, at);
        if self.nodes[found as usize].kind == Kind::Named {
            self.learn(parent, previous, found);
        }
        found
    }

    /// The child for a key, created if new.
    pub(crate) fn child(&mut self, parent: NodeId, key: &[u8], at: u64) -> NodeId {
        // The documents' own `_id` is a name, whatever the other keys are.
        let own_id = parent == ROOT && key == b"_id";
        let any = self.nodes[parent as usize].any;
        if any != NONE
            && !own_id
            && let Some(keys) = &mut self.nodes[parent as usize].keys
            && keys.holds(key)
        {
            keys.note(key);
            return any;
        }
        let key_hash = hash::bytes(key);
        let slot = self.slot_of(parent, key, key_hash);
        if self.table[slot] != NONE {
            return self.table[slot];
        }
        if self.nodes.len() >= MAX_NODES && !own_id {
            // The number of nodes is bounded: beyond the limit an object's new keys share one
            // place.
            self.capped = true;
            self.fold(parent, at, Folded::All);
            return self.child(parent, key, at);
        }
        let up = &self.nodes[parent as usize];
        let depth = if up.kind == Kind::Root { 0 } else { up.depth + 1 };
        let own_id = parent == ROOT && key == b"_id";
        let k = sample(depth, is_id_like(key) && !own_id);
        let id = self.nodes.len() as NodeId;
        self.push(Node::new(key, key_hash, parent, Kind::Named, depth, at, k));
        self.nodes[parent as usize].children.push(id);
        self.table[slot] = id;
        if self.nodes.len() * 2 > self.table.len() {
            self.rehash();
        }
        let children = self.nodes[parent as usize].children.len();
        if children >= FOLD_FORMED
            && children.is_power_of_two()
            && let Some(folded) = self.keys_are_data(parent)
        {
            self.fold(parent, at, folded);
            return self.resolve(id);
        }
        id
    }

    fn rehash(&mut self) {
        self.table = vec![NONE; self.table.len() * 2];
        for id in 0..self.nodes.len() {
            let node = &self.nodes[id];
            if node.kind != Kind::Named || node.alias != NONE {
                continue;
            }
            let (parent, key_hash) = (node.parent, node.key_hash);
            let key = node.key.clone();
            let slot = self.slot_of(parent, &key, key_hash);
            self.table[slot] = id as NodeId;
        }
    }

    /// The element node of an array, created if new.
    #[inline]
    pub(crate) fn element(&mut self, array: NodeId, at: u64) -> NodeId {
        let id = self.nodes[array as usize].element;
        if id != NONE { id } else { self.new_element(array, at) }
    }

    #[cold]
    fn new_element(&mut self, array: NodeId, at: u64) -> NodeId {
        let up = &self.nodes[array as usize];
        // An array and its element objects are one level together; an array directly in an array is
        // another level (ALG-1). `depth` is that of values here, so objects below add theirs.
        let depth = up.depth + u32::from(up.kind == Kind::Element);
        let id_like = up.id_like;
        let k = sample(depth, id_like);
        let id = self.nodes.len() as NodeId;
        self.push(Node::new(b"", 0, array, Kind::Element, depth, at, k));
        self.nodes[id as usize].id_like = id_like;
        self.nodes[array as usize].element = id;
        id
    }

    /// Returns whether the keys of an object are data rather than names, decided while reading.
    fn keys_are_data(&self, object: NodeId) -> Option<Folded> {
        let node = &self.nodes[object as usize];
        let children = node.children.len();
        if children >= FOLD_ALWAYS {
            return Some(Folded::All);
        }
        let formed = self.formed(&node.children);
        if formed.is_some() {
            return formed;
        }
        let is_map = || node.kind != Kind::Root && self.is_one_type(&node.children);
        if children < FOLD_ONE_TYPE || (children < FOLD_SPARSE && !is_map()) {
            return None;
        }
        // An open set of names, each in few of the objects.
        let objects = self.objects(object).max(1);
        let uses: u64 = node.children.iter().map(|&c| self.nodes[c as usize].stats.count()).sum();
        ((uses as f64) < 0.05 * (objects as f64) * (children as f64)).then_some(Folded::All)
    }

    /// Returns the keys that are data if four of five keys have the form of data. Addresses and ids do not
    /// stand among names; dates and numbers do.
    fn formed(&self, children: &[NodeId]) -> Option<Folded> {
        let forms = children.iter().filter_map(|&c| key_form(&self.nodes[c as usize].key));
        let plain = |form: &KeyForm| matches!(form, KeyForm::Date | KeyForm::Number);
        let (plain, personal): (Vec<_>, Vec<_>) = forms.partition(plain);
        let formed = plain.len() + personal.len();
        (formed * 5 >= children.len() * 4).then_some(if personal.is_empty() {
            Folded::Formed
        } else {
            Folded::All
        })
    }

    /// Returns whether the keys of an object are data, decided after everything was read. Objects
    /// folded while reading usually satisfy this too.
    pub(crate) fn few_keys_are_data(&self, object: NodeId) -> Option<Folded> {
        let node = &self.nodes[object as usize];
        let child = |id: &NodeId| &self.nodes[*id as usize];
        let names: Vec<NodeId> =
            node.children.iter().copied().filter(|c| !child(c).is_own_id).collect();
        let all = names.len();
        // A single UUID, ObjectId or address is also data; a single number or date may be a name.
        let personal = |c: &NodeId| {
            matches!(
                key_form(&child(c).key),
                Some(KeyForm::Uuid | KeyForm::ObjectId | KeyForm::Various)
            )
        };
        if all < 2 && !(all == 1 && node.kind != Kind::Root && names.iter().all(personal)) {
            return None;
        }
        let formed = self
            .formed(&names)
            .filter(|_| all >= 8 || names.iter().all(|c| key_form(&child(c).key).is_some()));
        if formed.is_some() {
            return formed;
        }
        // Many names, each in few objects, all with one type of value: a map, not a record.
        if all < SPARSE_NAMES || node.kind == Kind::Root {
            return None;
        }
        let objects = self.objects(object).max(1);
        let uses: u64 = node.children.iter().map(|c| child(c).stats.count()).sum();
        (self.is_one_type(&node.children) && (uses as f64) < 0.1 * (objects as f64) * (all as f64))
            .then_some(Folded::All)
    }

    /// Whether nearly all values of these fields have one type.
    fn is_one_type(&self, fields: &[NodeId]) -> bool {
        let mut types = [0u64; docward_model::BsonType::COUNT];
        for &id in fields {
            let stats = &self.nodes[id as usize].stats;
            types.iter_mut().zip(stats.types()).for_each(|(a, b)| *a += b);
        }
        types.iter().max().is_some_and(|n| n * 20 >= types.iter().sum::<u64>() * 19)
    }

    /// The number of objects at a node.
    pub(crate) fn objects(&self, node: NodeId) -> u64 {
        self.nodes[node as usize].stats.of(docward_model::BsonType::Object)
    }

    /// Merges the children of an object whose keys are data into one place.
    pub(crate) fn fold(&mut self, object: NodeId, at: u64, folded: Folded) {
        let keys = self.nodes[object as usize].keys.take();
        let is_done = keys.as_ref().is_some_and(|k| k.folded == folded || k.folded == Folded::All);
        if is_done {
            self.nodes[object as usize].keys = keys;
            return;
        }
        let mut keys = keys.unwrap_or_else(|| Box::new(Keys::new(folded)));
        keys.folded = folded;
        let is_data = |node: &Node| !node.is_own_id && keys.holds(&node.key);
        let children = std::mem::take(&mut self.nodes[object as usize].children);
        let (children, kept): (Vec<NodeId>, Vec<NodeId>) =
            children.into_iter().partition(|&c| is_data(&self.nodes[c as usize]));
        self.nodes[object as usize].children = kept;
        self.nodes[object as usize].first = NONE;
        let any = self.any_key(object, at, &children);
        self.merge_keys(any, &mut keys, children);
        self.nodes[object as usize].keys = Some(keys);
    }

    /// Merges names that few of the objects have into the place of keys that are data. Columns next
    /// to years are in most documents; a rare name among data keys is data.
    pub(crate) fn fold_rare(&mut self, object: NodeId) {
        let objects = self.objects(object);
        let node = &mut self.nodes[object as usize];
        let (any, Some(mut keys)) = (node.any, node.keys.take()) else { return };
        let children = std::mem::take(&mut node.children);
        let (rare, kept): (Vec<NodeId>, Vec<NodeId>) = children.into_iter().partition(|&c| {
            let child = &self.nodes[c as usize];
            !child.is_own_id && child.stats.count() * 2 < objects
        });
        self.nodes[object as usize].children = kept;
        self.merge_keys(any, &mut keys, rare);
        self.nodes[object as usize].keys = Some(keys);
    }

    fn merge_keys(&mut self, any: NodeId, keys: &mut Keys, children: Vec<NodeId>) {
        for child in children {
            keys.note(&self.nodes[child as usize].key.clone());
            self.graft_own(any, child);
        }
    }

    /// The place of all values of an object whose keys are data, created if new.
    fn any_key(&mut self, object: NodeId, at: u64, children: &[NodeId]) -> NodeId {
        let up = &self.nodes[object as usize];
        if up.any != NONE {
            return up.any;
        }
        let depth = if up.kind == Kind::Root { 0 } else { up.depth + 1 };
        let first_at =
            children.iter().map(|&c| self.nodes[c as usize].first_at).min().unwrap_or(at);
        let k = if depth <= 2 { SAMPLE_SHALLOW } else { SAMPLE_DEEP };
        let any = self.nodes.len() as NodeId;
        self.push(Node::new(b"", 0, object, Kind::AnyKey, depth, first_at, k));
        self.nodes[object as usize].any = any;
        any
    }

    /// Moves the statistics of `from` and everything below it to `to`.
    fn graft_own(&mut self, to: NodeId, from: NodeId) {
        let k = if self.nodes[from as usize].depth <= 2 { SAMPLE_SHALLOW } else { SAMPLE_DEEP };
        let node = &mut self.nodes[from as usize];
        node.alias = to;
        node.forget_key();
        let stats = std::mem::replace(&mut node.stats, Stats::new(k));
        let children = std::mem::take(&mut node.children);
        let (element, any, keys, first_at) =
            (node.element, node.any, node.keys.take(), node.first_at);
        self.nodes[to as usize].stats.merge(stats);
        if element != NONE {
            let target = self.element(to, first_at);
            self.graft_own(target, element);
        }
        if let (true, Some(keys)) = (any != NONE, &keys) {
            self.fold(to, first_at, keys.folded);
            let target = self.nodes[to as usize].any;
            self.graft_own(target, any);
        }
        if let (Some(keys), Some(mine)) = (keys, self.nodes[to as usize].keys.as_mut()) {
            mine.merge(*keys);
        }
        for child in children {
            let (key, at) =
                (self.nodes[child as usize].key.clone(), self.nodes[child as usize].first_at);
            let target = self.child(to, &key, at);
            self.graft_own(target, child);
        }
    }

    /// Merges another tree; returns the new index of each of its nodes.
    pub(crate) fn absorb(&mut self, mut other: Self) -> Vec<NodeId> {
        let mut map = vec![NONE; other.nodes.len()];
        self.absorb_node(ROOT, &mut other, ROOT, &mut map);
        for id in 0..other.nodes.len() {
            // Folded nodes point to their targets, which have been mapped already.
            let mut at = id;
            while other.nodes[at].alias != NONE {
                at = other.nodes[at].alias as usize;
            }
            map[id] = map[at];
        }
        self.capped |= other.capped;
        self.settle_shares();
        map
    }

    fn absorb_node(&mut self, to: NodeId, other: &mut Self, from: NodeId, map: &mut [NodeId]) {
        map[from as usize] = to;
        let node = &mut other.nodes[from as usize];
        let stats = std::mem::replace(&mut node.stats, Stats::new(1));
        let children = std::mem::take(&mut node.children);
        let (element, any, keys, first_at) =
            (node.element, node.any, node.keys.take(), node.first_at);
        let most_fields = other.nodes[from as usize].most_fields;
        let mine = &mut self.nodes[to as usize];
        mine.first_at = mine.first_at.min(first_at);
        mine.most_fields = mine.most_fields.max(most_fields);
        mine.stats.merge(stats);
        if element != NONE {
            let target = self.element(to, other.nodes[element as usize].first_at);
            self.absorb_node(target, other, element, map);
        }
        if let (true, Some(keys)) = (any != NONE, &keys) {
            self.fold(to, first_at, keys.folded);
            let target = self.nodes[to as usize].any;
            self.absorb_node(target, other, any, map);
        }
        if let (Some(keys), Some(mine)) = (keys, self.nodes[to as usize].keys.as_mut()) {
            mine.merge(*keys);
        }
        for child in children {
            let key = other.nodes[child as usize].key.clone();
            let target = self.child(to, &key, other.nodes[child as usize].first_at);
            self.absorb_node(target, other, child, map);
        }
    }

    /// The node that now contains a node's statistics.
    pub(crate) fn resolve(&self, mut id: NodeId) -> NodeId {
        while self.nodes[id as usize].alias != NONE {
            id = self.nodes[id as usize].alias;
        }
        id
    }
}

#[inline(always)]
fn word(window: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(window[at..at + 8].try_into().expect("eight of sixteen bytes"))
}

impl Node {
    /// Returns whether this is the node whose name is at `at`; `name` is the sixteen bytes there,
    /// if there are that many.
    #[inline(always)]
    fn is_at(&self, name: Option<[u64; 2]>, bytes: &[u8], at: usize) -> bool {
        let Some([a, b]) = name else { return self.ends_at(bytes, at, 0) };
        if ((a ^ self.head[0]) & self.mask[0]) | ((b ^ self.head[1]) & self.mask[1]) != 0 {
            return false;
        }
        self.key_len < 16 || self.ends_at(bytes, at, 16)
    }

    /// Returns whether the name from its byte `from` on is at `at`.
    #[inline(never)]
    fn ends_at(&self, bytes: &[u8], at: usize, from: usize) -> bool {
        let len = self.key.len();
        bytes.get(at + from..at + len) == Some(&self.key[from..]) && bytes.get(at + len) == Some(&0)
    }

    /// Makes sure that no prediction finds it any more: no name has these bytes.
    fn forget_key(&mut self) {
        const NO_NAME: [u8; 17] = [0xff; 17];
        (self.head, self.mask) = ([u64::MAX; 2], [u64::MAX; 2]);
        (self.key, self.key_len) = (NO_NAME.into(), NO_NAME.len() as u32);
    }

    fn new(
        key: &[u8],
        key_hash: u64,
        parent: NodeId,
        kind: Kind,
        depth: u32,
        first_at: u64,
        k: u32,
    ) -> Self {
        let mut head = [0u8; 16];
        let mut mask = [0u8; 16];
        // The NUL is part of the comparison: `name` must not match `nameSuffix`.
        for (i, (h, m)) in head.iter_mut().zip(&mut mask).enumerate().take(key.len() + 1) {
            *h = key.get(i).copied().unwrap_or(0);
            *m = 0xff;
        }
        let words = |b: [u8; 16]| {
            let (low, high) = b.split_at(8);
            [
                u64::from_le_bytes(low.try_into().expect("eight of sixteen bytes")),
                u64::from_le_bytes(high.try_into().expect("eight of sixteen bytes")),
            ]
        };
        Self {
            head: words(head),
            mask: words(mask),
            next: [NONE; 2],
            first: NONE,
            element: NONE,
            any: NONE,
            parent,
            kind,
            depth,
            key_len: key.len() as u32,
            key: key.into(),
            key_hash,
            children: Vec::new(),
            id_like: kind == Kind::Named && is_id_like(key),
            is_own_id: kind == Kind::Named && parent == ROOT && key == b"_id",
            first_at,
            keys: None,
            most_fields: 0,
            alias: NONE,
            stats: Stats::new(k),
        }
    }
}

/// The number of distinct values to keep at a place.
fn sample(depth: u32, is_id: bool) -> u32 {
    match depth {
        0..=2 if is_id => SAMPLE_IDS,
        0..=2 => SAMPLE_SHALLOW,
        _ => SAMPLE_DEEP,
    }
}

/// Returns whether a name indicates an identifier: `_id`, `userId`, `user_id`, `uuid`, `username`,
/// `email`, …
fn is_id_like(key: &[u8]) -> bool {
    let ends = |tail: &[u8]| key.ends_with(tail);
    key == b"id"
        || ends(b"Id")
        || ends(b"ID")
        || ends(b"_id")
        || ends(b"Ids")
        || ends(b"_ids")
        || ends(b"uuid")
        || ends(b"Uuid")
        || ends(b"guid")
        || ends(b"No")
        || ends(b"_no")
        || key.eq_ignore_ascii_case(b"username")
        || key.eq_ignore_ascii_case(b"user_name")
        || key.eq_ignore_ascii_case(b"login")
        || key.eq_ignore_ascii_case(b"email")
        || key.eq_ignore_ascii_case(b"sku")
}
