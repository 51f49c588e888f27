//! Gives each declared read one figure for the design as a whole. The table of each relationship
//! covers only a part of a read. After this step, all tables show the same figure for the chosen
//! alternative. For other alternatives, they show the difference to it.

use std::collections::BTreeMap;

use docward_model::{BsonType, DesignRead, Relationship};

use crate::cost::compare::Compared;
use crate::cost::predict::View;
use crate::decide::alternative::{OperationCost, StorageAlternative};
use crate::decide::decision::home;
use crate::declared::field_plan::{Origin, Planned, Rank};
use crate::declared::size;
use crate::layout::capacity::Capacity;
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;

/// Figures that can be added.
#[derive(Clone, Copy, Default)]
struct Moved {
    documents: f64,
    bytes: f64,
    /// The size of the documents that the read begins with, in bytes.
    begin: f64,
    entries: f64,
}

/// A read in the table of a relationship.
struct Seen<'m> {
    /// The index of the table, and the row of the read.
    table: usize,
    row: usize,
    relationship: &'m Relationship,
    /// The cost with the chosen alternative, and its view.
    cost: OperationCost,
    view: View,
    /// The number of times that the read follows the relationship.
    times: f64,
    /// The data that the read already has at that point in the whole design: the multiple of the
    /// data that the relationship sees, and bytes.
    there: (f64, f64),
    /// The size of the third entity's documents, if these embed the fetched documents. The read
    /// loads them as a whole.
    around: Option<f64>,
}

impl Seen<'_> {
    /// Returns the entity that the read has when it follows the relationship, and the entity that
    /// it fetches.
    fn ends(&self) -> (&str, &str) {
        let (parent, child) = (&self.relationship.parent, &self.relationship.child);
        if self.view.by_parent { (parent, child) } else { (child, parent) }
    }

    fn touches(&self, entity: &str) -> bool {
        self.relationship.parent == entity || self.relationship.child == entity
    }

    /// Returns the bytes of an alternative, including the documents around the fetched ones.
    fn bytes(&self, cost: &OperationCost, view: View) -> f64 {
        match self.around {
            Some(size) if view.fetched > 0.0 => view.begin.1 + view.fetched * size,
            _ => cost.bytes,
        }
    }

    /// Returns the additional bytes of another alternative. A saving is at most the share of a
    /// document that the relationship sees.
    fn more_bytes(&self, cost: &OperationCost, view: View) -> f64 {
        let (own, other) = (self.view.begin.1, view.begin.1);
        let (documents, bytes) = self.there;
        let grown = match other < own {
            true => bytes * (other / own - 1.0),
            false => documents * (other - own),
        };
        let fetched = (self.bytes(cost, view) - other) - (self.bytes(&self.cost, self.view) - own);
        grown + self.times * fetched
    }

    /// Whether the read requests the relationship, or begins with one end of it.
    fn is_followed(&self, read: &DesignRead) -> bool {
        let name = &self.relationship.name;
        self.touches(&read.from)
            || read.with.iter().any(|with| with.relationship == *name)
            || read.counts.contains(name)
            || read.sums.iter().any(|(of, _)| of == name)
    }
}

/// Sets the storage of the chosen alternatives to the figures of the collections, so that all
/// tables agree about a collection. Other alternatives keep their difference.
pub(crate) fn reconcile_storage<'t>(
    layout: &Layout<'_>,
    collections: &[CollectionPlan],
    capacity: &[Capacity],
    tables: impl Iterator<Item = &'t mut Compared>,
) {
    for ((relationship, _), compared) in layout.linked().zip(tables) {
        let homes = [&relationship.parent, &relationship.child].map(|e| home(layout.decisions, e));
        let is_of_it = |collection: &CollectionPlan| match &collection.purpose {
            Purpose::Junction(name) | Purpose::Overflow(name) => *name == relationship.name,
            // An archive holds documents of the same entity.
            Purpose::Entity
            | Purpose::TimeSeries { .. }
            | Purpose::Bucket(_)
            | Purpose::Archive => homes.contains(&collection.entity.as_str()),
            Purpose::Versions | Purpose::UniqueValues(_) => false,
        };
        let stored =
            collections.iter().zip(capacity).filter(|(collection, _)| is_of_it(collection));
        let stored: Option<u64> = stored
            .map(|(collection, sizes)| match (sizes.years.first()?.1, &collection.purpose) {
                (Some((_, bytes)), _) => Some(bytes),
                // The number of overflow pages is unknown but small.
                (None, Purpose::Overflow(_)) => Some(0),
                (None, _) => None,
            })
            .try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)));
        let chosen = compared.ways.first().and_then(|way| way.storage);
        let Some((stored, chosen)) = stored.zip(chosen) else { continue };
        for storage in compared.ways.iter_mut().filter_map(|way| way.storage.as_mut()) {
            *storage = match *storage >= chosen {
                true => stored.saturating_add(*storage - chosen),
                // A saving is relative to the storage that the relationship sees.
                false => (stored as f64 * *storage as f64 / chosen as f64).round() as u64,
            };
        }
    }
}

/// Gives each read the same figure in all tables. The tables are in the order of the relationships.
pub(crate) fn reconcile_reads<'t>(
    layout: &Layout<'_>,
    collections: &[CollectionPlan],
    tables: impl Iterator<Item = &'t mut Compared>,
) {
    let mut tables: Vec<&mut Compared> = tables.collect();
    let mut rows: BTreeMap<String, Vec<Seen<'_>>> = BTreeMap::new();
    for (table, ((relationship, _), compared)) in layout.linked().zip(&tables).enumerate() {
        let Some(chosen) = compared.ways.first() else { continue };
        let views = compared.views.first().into_iter().flatten();
        // Reads come before writes.
        for (row, (cost, view)) in chosen.operations.iter().zip(views).enumerate() {
            let (cost, view) = (cost.clone(), *view);
            let name = cost.name.clone();
            let (times, there, around) = (0.0, (0.0, 0.0), None);
            let seen = Seen { table, row, relationship, cost, view, times, there, around };
            rows.entry(name).or_default().push(seen);
        }
    }
    // Look up once what each entity is embedded in.
    let entities = layout.model.entities.iter();
    let homes = entities.map(|e| (e.name.as_str(), home(layout.decisions, &e.name))).collect();
    let mut sizes = BTreeMap::new();
    for read in &layout.model.reads {
        let Some(mut seen) = rows.remove(&read.name) else { continue };
        let Some(whole) = read_cost(layout, collections, &homes, (read, &mut seen), &mut sizes)
        else {
            continue;
        };
        for one in &seen {
            let Compared { ways, views } = &mut *tables[one.table];
            // A child in a third entity's documents would move to this parent.
            let child = one.relationship.child.as_str();
            let moves = child == read.from
                && homes.get(child).is_some_and(|home| {
                    *home != child && Some(home) != homes.get(one.relationship.parent.as_str())
                });
            for (way, views) in ways.iter_mut().zip(views) {
                let (cost, view) = (&mut way.operations[one.row], views[one.row]);
                cost.bytes = match moves && way.way == StorageAlternative::Embed {
                    true => whole.bytes - whole.begin + cost.bytes,
                    false => whole.bytes + one.more_bytes(cost, view),
                };
                cost.documents =
                    whole.documents + one.times * (cost.documents - one.cost.documents);
                cost.entries = whole.entries + one.times * (cost.entries - one.cost.entries);
            }
        }
    }
}

/// Returns the data that a read moves: the documents that it begins with, and what each
/// relationship adds whenever it is followed.
fn read_cost<'m>(
    layout: &Layout<'_>,
    collections: &[CollectionPlan],
    homes: &BTreeMap<&str, &str>,
    (read, seen): (&'m DesignRead, &mut [Seen<'_>]),
    sizes: &mut BTreeMap<&'m str, Option<f64>>,
) -> Option<Moved> {
    let home = |entity: &str| homes.get(entity).map_or_else(String::new, |home| (*home).to_owned());
    // If the read filters by a relationship, that relationship determines the number of documents.
    // Otherwise prefer buckets, because there are fewer of them than readings.
    let first = seen.iter().filter(|one| one.touches(&read.from)).max_by(|a, b| {
        let of = |one: &Seen<'_>| (one.view.is_by_it, one.view.is_packed);
        of(a).cmp(&of(b)).then(a.view.begin.0.total_cmp(&b.view.begin.0))
    })?;
    let view = first.view;
    let from = home(&read.from);
    let size_of = |entity: &str| {
        let is_it = |c: &&CollectionPlan| c.entity == entity && c.purpose == Purpose::Entity;
        collections.iter().find(is_it).map(|c| usual(layout, &c.fields) as f64)
    };
    // Buckets and full pages have their own size.
    let mut packed = seen.iter().filter(|one| one.touches(&read.from) && one.view.is_packed);
    let size = match packed.next().map(|one| one.view.begin) {
        Some((documents, bytes)) => (documents > 0.0).then(|| bytes / documents),
        None => *sizes.entry(read.from.as_str()).or_insert_with(|| size_of(&from)),
    };
    let bytes = size.map_or(view.begin.1, |size| view.begin.0 * size);
    let mut whole = Moved { documents: view.begin.0, bytes, begin: bytes, entries: 0.0 };
    let mut there = BTreeMap::from([(from.clone(), view.begin.0)]);
    let mut open: Vec<usize> = (0..seen.len()).filter(|i| seen[*i].is_followed(read)).collect();
    loop {
        let ready = |i: &usize| there.contains_key(&home(seen[*i].ends().0));
        let Some(at) = open.iter().position(ready) else { break };
        let one = &mut seen[open.remove(at)];
        let view = one.view;
        let (here, wanted) = one.ends();
        let (here, next) = (home(here), home(wanted));
        if next != wanted && next != here {
            one.around = size_of(&next);
        }
        let known = there[&here];
        one.times = if view.begin.0 > 0.0 { known / view.begin.0 } else { 1.0 };
        let there_bytes = if here == from { bytes } else { one.times * view.begin.1 };
        one.there = (one.times, there_bytes);
        whole.documents += one.times * (one.cost.documents - view.begin.0);
        whole.bytes += one.times * (one.bytes(&one.cost, view) - view.begin.1);
        whole.entries += one.times * one.cost.entries;
        if here != next && view.fetched > 0.0 {
            *there.entry(next).or_insert(0.0) += one.times * view.fetched;
        }
    }
    // A relationship that is not followed still changes the size of the documents that are read.
    for one in seen.iter_mut().filter(|one| !one.is_followed(read)) {
        let known = there.get(&home(one.ends().0)).copied().unwrap_or(0.0);
        let (documents, bytes) = one.view.begin;
        let times = if documents > 0.0 { known / documents } else { 0.0 };
        one.there = (times, times * bytes);
    }
    Some(whole)
}

/// Returns the mean size of a document with lists of typical length, in bytes.
fn usual(layout: &Layout<'_>, fields: &[Planned]) -> u64 {
    let typical = |name: &str| {
        let found = layout.decisions.iter().find(|decision| decision.relationship == name);
        found.map_or(1, |decision| decision.facts.children.p50)
    };
    let value = |field: &Planned| match (&field.origin, field.kind, field.items) {
        (
            Origin::Embedded(_) | Origin::Preview(_) | Origin::Reference(_),
            BsonType::Array,
            Some(items),
        ) => {
            let each = match field.element {
                Some(_) => 12,
                None => usual(layout, &field.fields),
            };
            size::array(items.p50, each)
        }
        (Origin::Embedded(_), BsonType::Object, _) => usual(layout, &field.fields),
        _ => field.value_bytes(Rank::Mean),
    };
    let is_there = |field: &&Planned| match &field.origin {
        Origin::Embedded(name) if field.kind == BsonType::Object => typical(name) > 0,
        Origin::Computed(name) => field.required || typical(name) > 0,
        _ => true,
    };
    let inside = fields.iter().filter(is_there);
    let bytes = inside.map(|f| f.share() * size::element(&f.name, value(f)) as f64);
    size::DOCUMENT_OVERHEAD + bytes.sum::<f64>().round() as u64
}
