//! The sort orders that reads need: orders that indexes must provide, and reads that sort without
//! an index (CK-12).

use docward_model::{DesignModel, DesignRead, Matching, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::decide::preview;
use crate::declared::dates::newest_date;
use crate::declared::field_plan::{Origin, Planned, at_path};
use crate::declared::read_direction;
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;

use super::{IndexPlan, array_of, entities_in, place_of};

/// Returns the sort orders of a parent's children that indexes must provide. The order of the
/// preview comes first. Orders that the preview already answers are left out.
pub(crate) fn orders(
    model: &DesignModel,
    relationship: &Relationship,
    decision: &Decision,
) -> Vec<String> {
    let child = model.entity(&relationship.child);
    let mut found: Vec<String> = decision
        .patterns
        .iter()
        .filter_map(|pattern| match pattern {
            Pattern::Subset { by, .. } => Some(by.clone()),
            _ => None,
        })
        .collect();
    for (_, by) in unanswered(model, relationship, decision) {
        let by = preview::order(by.as_ref(), child).unwrap_or_else(|| "_id".to_owned());
        if !found.contains(&by) {
            found.push(by);
        }
    }
    if found.is_empty() && relationship.keep_newest.is_some() {
        found.extend(child.and_then(newest_date));
    }
    found
}

/// Returns reads of the newest children that no preview answers, each with its sort field.
fn unanswered<'m>(
    model: &'m DesignModel,
    relationship: &Relationship,
    decision: &Decision,
) -> Vec<(&'m DesignRead, Option<String>)> {
    let from_parent =
        |read: &&DesignRead| read_direction::comes_by_parent(model, read, relationship);
    let wanted = |read: &'m DesignRead| {
        let along = read.with.iter().filter(|with| with.relationship == relationship.name);
        let fetched = along.filter(|with| !decision.spares(model, with, true));
        let newest = fetched.filter_map(|with| with.newest.as_ref());
        newest.map(move |(_, by)| (read, by.clone())).collect::<Vec<_>>()
    };
    read_direction::along(model, relationship).filter(from_parent).flat_map(wanted).collect()
}

/// Returns the path of a sort field in a collection. Returns `None` for list elements, which have
/// the order of their list, and for time series with another field than their time.
pub(super) fn sorting_key(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    path: &str,
    by: &str,
) -> Option<String> {
    let key = place_of(layout, collection, path, by);
    let sorts = match &collection.purpose {
        Purpose::TimeSeries { time, .. } => key == *time,
        _ => {
            at_path(&collection.fields, &key).is_some()
                && array_of(&collection.fields, &key).is_none()
        }
    };
    sorts.then_some(key)
}

/// Returns reads that sort elements of lists in many documents. An index finds the documents, but
/// each read has to sort the elements.
pub(crate) fn sorted_at_every_read<'m>(
    layout: &Layout<'m>,
    collections: &[CollectionPlan],
) -> Vec<&'m DesignRead> {
    let homes = collections.iter().filter(|c| matches!(c.purpose, Purpose::Entity));
    let homes: Vec<_> = homes.map(|c| (c, entities_in(layout, c))).collect();
    let is_sorted = |read: &&DesignRead| {
        let from = read.from.as_str();
        let has_own = homes.iter().any(|(_, here)| here.get(from).is_some_and(String::is_empty));
        !read.sort.is_empty()
            && !has_own
            && homes.iter().any(|(collection, here)| {
                let path = here.get(from).map(|path| path.trim_end_matches('.'));
                let of_one = read.filter.iter().any(|(name, how)| {
                    *how == Matching::Equal && (*name == collection.entity || name == "_id")
                });
                !of_one && path.is_some_and(|path| array_of(&collection.fields, path).is_some())
            })
    };
    layout.model.reads.iter().filter(is_sorted).collect()
}

/// Returns indexes for reads from a parent that are sorted by copied fields in junction documents.
pub(super) fn orders_of_pairs(
    layout: &Layout<'_>,
    relationship: &str,
    fields: &[Planned],
) -> Vec<IndexPlan> {
    let copies = fields.iter().find(|field| matches!(field.origin, Origin::Copy(_)));
    let found = layout.linked().find(|(r, _)| r.name == relationship).zip(copies);
    let Some(((r, decision), copies)) = found else { return Vec::new() };
    let copied: Vec<String> = copies.fields.iter().map(|field| field.name.clone()).collect();
    let by_parent = layout.naming.id_of(&r.parent);
    let on = |sort: &[(String, bool)], read: &DesignRead| {
        let sort = sort.iter().map(|(field, falls)| (format!("{}.{field}", copies.name), *falls));
        let keys = std::iter::once((by_parent.clone(), false)).chain(sort).collect();
        IndexPlan::on(keys, format!("`{}`", read.name))
    };
    let asks = |read: &&DesignRead| {
        let mut filter = read.filter.iter();
        let is_by = filter.any(|(field, _)| *field == r.parent || *field == r.name);
        read.from == r.child && is_by && read_direction::is_ordered_by(read, &copied)
    };
    let sorted = layout.model.reads.iter().filter(asks).map(|read| on(&read.sort, read));
    let newest = unanswered(layout.model, r, decision).into_iter();
    let newest = newest.filter_map(|(read, by)| {
        let by = by.filter(|by| copied.contains(by))?;
        Some(on(&[(by, true)], read))
    });
    sorted.chain(newest).collect()
}

/// A missing order is reported if a read fetches this many documents for each one that it shows.
const WASTED: u64 = 10;

/// Returns reads that follow many ids but need only a few documents in another order. They must
/// read and sort all documents that the ids point to.
pub(crate) fn sorted_behind_ids<'m>(layout: &Layout<'m>) -> Vec<&'m DesignRead> {
    let mut found = Vec::new();
    for (r, decision) in layout.linked() {
        let Some(holder) = decision.patterns.first() else { continue };
        let (to_parents, to_children) = match holder {
            Pattern::Junction => (true, true),
            Pattern::ParentsInChild => (true, false),
            Pattern::ChildrenInParent => (false, true),
            _ => continue,
        };
        let (parents, children) = (r.parents_spread.p99, decision.facts.children.p99);
        let copied = decision.copied(true).unwrap_or_default();
        let reads = layout.model.reads.iter().filter(|read| read_direction::is_picked(read));
        found.extend(reads.filter(|read| {
            let asks = |name: &str| read.filter.iter().any(|(field, _)| field == name);
            let most = read.limit.unwrap_or(1).max(1).saturating_mul(WASTED);
            let by_child = r.is_shared() && read.from == r.parent && asks(r.role());
            let by_parent = read.from == r.child && (asks(&r.parent) || asks(&r.name));
            let is_sorted =
                *holder == Pattern::Junction && read_direction::is_ordered_by(read, copied);
            to_parents && by_child && parents >= most
                || to_children && by_parent && children >= most && !is_sorted
        }));
        if to_children {
            let shown = unanswered(layout.model, r, decision).into_iter();
            let has = |by: &String| *holder == Pattern::Junction && copied.contains(by);
            let by_order =
                shown.filter(|(_, by)| by.as_ref().is_none_or(|by| by != "_id" && !has(by)));
            found.extend(by_order.map(|(read, _)| read).filter(|read| {
                let along = read.with.iter().filter(|with| with.relationship == r.name);
                let mut newest = along.filter_map(|with| with.newest.as_ref());
                newest.any(|(newest, _)| children >= newest.max(&1).saturating_mul(WASTED))
            }));
        }
    }
    found
}

/// Returns reads of a parent's newest children without a suitable index. They read and sort all
/// children of the parent.
pub(crate) fn unsorted<'m>(
    layout: &Layout<'m>,
    collections: &[CollectionPlan],
) -> Vec<&'m DesignRead> {
    let mut found = Vec::new();
    let is_home = |collection: &&CollectionPlan| {
        matches!(
            collection.purpose,
            Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_)
        )
    };
    let homes = collections.iter().filter(is_home);
    let homes: Vec<_> = homes.map(|c| (c, entities_in(layout, c))).collect();
    for (relationship, decision) in layout.linked() {
        let is_tree = decision.patterns.contains(&Pattern::Tree);
        let held = match decision.patterns.first() {
            Some(Pattern::Tree) => Some(layout.naming.field(&["parent", "id"])),
            Some(Pattern::ParentInChild | Pattern::ParentsInChild) => {
                layout.held_at(relationship, decision)
            }
            // These children are found by ids from the parent or from junction documents.
            _ => continue,
        };
        let Some(held) = held else { continue };
        let child = layout.model.entity(&relationship.child);
        for (read, by) in unanswered(layout.model, relationship, decision) {
            let by = preview::order(by.as_ref(), child).unwrap_or_else(|| "_id".to_owned());
            let is_sorted = homes.iter().any(|(collection, here)| {
                let Some(path) = here.get(relationship.child.as_str()) else { return false };
                let key = sorting_key(layout, collection, path, &by);
                let Some(by) = key else { return false };
                let first =
                    if is_tree { held.clone() } else { place_of(layout, collection, path, &held) };
                // A time series has this index by default.
                let given = matches!(collection.purpose, Purpose::TimeSeries { .. });
                let serves = |index: &IndexPlan| {
                    let keys: Vec<&str> = index.keys.iter().map(|(key, _)| key.as_str()).collect();
                    index.only.is_none() && keys.starts_with(&[&first, &by])
                };
                given || collection.indexes.iter().any(serves)
            });
            if !is_sorted {
                found.push(read);
            }
        }
    }
    found
}
