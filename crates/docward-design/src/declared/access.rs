//! Which way declared reads and writes go: from parent or child, along which relationships, and what they touch.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{DesignModel, DesignRead, DesignWrite, Relationship, With};

/// Reads that go along a relationship. Which way they come takes longer to find out, and most reads go elsewhere.
pub(crate) fn along<'m>(
    model: &'m DesignModel,
    relationship: &Relationship,
) -> impl Iterator<Item = &'m DesignRead> {
    model.reads.iter().filter(|read| followed(read).any(|name| name == relationship.name))
}

/// Whether a read comes to a relationship it goes along by the parent, and looks at children; else it comes by a
/// child. One that begins elsewhere comes by the end that other relationships lead it to.
pub(crate) fn comes_by_parent(
    model: &DesignModel,
    read: &DesignRead,
    relationship: &Relationship,
) -> bool {
    let (parent, child) = (relationship.parent.as_str(), relationship.child.as_str());
    if read.from == parent || read.from == child {
        return read.from == parent;
    }
    let others: Vec<&Relationship> = followed(read)
        .filter(|name| *name != relationship.name)
        .filter_map(|name| model.relationship(name))
        .collect();
    let mut reached = BTreeSet::from([read.from.as_str()]);
    loop {
        let before = reached.len();
        for other in &others {
            let ends = [other.parent.as_str(), other.child.as_str()];
            if ends.iter().any(|end| reached.contains(end)) {
                reached.extend(ends);
            }
        }
        if reached.len() == before {
            break;
        }
    }
    reached.contains(parent) || !reached.contains(child)
}

/// Entities that are part of an entity's documents, also by way of others, but for one; `inside` tells what is embedded
/// in each.
pub(crate) fn parts<'m>(
    entity: &str,
    without: &str,
    inside: impl Fn(&str) -> Vec<&'m str>,
) -> BTreeSet<&'m str> {
    let mut found = BTreeSet::new();
    let mut open = inside(entity);
    while let Some(at) = open.pop() {
        if at != entity && at != without && found.insert(at) {
            open.extend(inside(at));
        }
    }
    found
}

/// The relationships a read goes along, to fetch, count or sum.
pub(crate) fn followed(read: &DesignRead) -> impl Iterator<Item = &str> {
    let fetched = read.with.iter().map(|with| &with.relationship);
    let summed = read.sums.iter().map(|(relationship, _)| relationship);
    fetched.chain(&read.counts).chain(summed).map(String::as_str)
}

/// Times a second, all together. The sum of nothing is 0 here; `f64` says minus 0, and prints it.
pub(crate) fn total<'w>(writes: impl Iterator<Item = &'w DesignWrite>) -> f64 {
    writes.map(|write| write.per_second).fold(0.0, |sum, rate| sum + rate)
}

/// Whether a write changes an entity in what is part of its documents: not when they come or go as a whole.
pub(crate) fn changes_part(write: &DesignWrite, entity: &str, parts: &BTreeSet<&str>) -> bool {
    // Most entities have none.
    if parts.is_empty() {
        return false;
    }
    let whole = write.inserts.iter().chain(&write.deletes).any(|name| name == entity);
    let comes_or_goes = write.inserts.iter().chain(&write.deletes);
    let sets =
        |part: &str| write.sets.is_empty() || write.sets.iter().any(|(entity, _)| entity == part);
    !whole
        && (comes_or_goes.clone().any(|name| parts.contains(name.as_str()))
            || write.updates.iter().any(|name| parts.contains(name.as_str()) && sets(name)))
}

/// Fields worth copying (PT-extref.1).
pub(crate) const COPIED: usize = 3;

/// Whether entities lie above and below each other. Where one has several above it, as with followers,
/// it is a relationship of many to many between two of a kind.
pub(crate) fn is_tree(relationship: &Relationship) -> bool {
    relationship.parent == relationship.child && !relationship.is_shared()
}

/// How often documents of an entity come, change or go, a second.
pub(crate) fn arrivals(model: &DesignModel, entity: &str) -> f64 {
    total(model.writes.iter().filter(|w| w.touches(entity)))
}

/// Whether a read shows something that must be current, which is read where it is.
pub(crate) fn shows_current(relationship: &Relationship, with: &With) -> bool {
    let by = with.newest.as_ref().and_then(|(_, by)| by.as_ref());
    let in_full = with.newest.is_some() && with.fields.is_empty();
    in_full && relationship.current.is_some()
        || with.fields.iter().chain(by).any(|field| relationship.must_be_current(field))
}

/// Reads of what belongs to one parent find what a typical one has, however many they would take.
pub(crate) fn roots(model: &DesignModel) -> BTreeMap<String, u64> {
    let of = |read: &DesignRead| {
        let mut of_parents = model.relationships.iter().filter(|r| r.child == read.from);
        let typical = of_parents.find(|r| by_parent(read, r))?.children?.p50.max(1);
        // Other conditions leave fewer, nobody knows how few.
        let most = if read.filter.len() > 1 { read.limit.unwrap_or(1) } else { u64::MAX };
        Some((read.name.clone(), read.limit.unwrap_or(u64::MAX).min(typical).min(most)))
    };
    model.reads.iter().filter_map(of).collect()
}

/// Whether a read asks for children by the id of their parent.
pub(crate) fn by_parent(read: &DesignRead, relationship: &Relationship) -> bool {
    is_by(read, &relationship.name, &relationship.parent)
        || relationship.field.as_ref().is_some_and(|held| names_role(read, held))
}

pub(crate) fn is_by(read: &DesignRead, relationship: &str, parent: &str) -> bool {
    read.filter.iter().any(|(field, _)| field == parent || field == relationship)
}

pub(crate) fn names_role(read: &DesignRead, role: &str) -> bool {
    read.filter.iter().any(|(field, _)| field == role)
}

/// Whether copies beside ids have the order of a read that asks by an id alone.
pub(crate) fn is_ordered_by(read: &DesignRead, copied: &[String]) -> bool {
    read.filter.len() == 1
        && !read.sort.is_empty()
        && read.sort.iter().all(|(field, _)| copied.contains(field))
}

/// Whether a read wants some of many by more than what leads to them: in an order of their own, or with more
/// conditions.
pub(crate) fn is_picked(read: &DesignRead) -> bool {
    let is_ordered = read.sort.iter().any(|(field, _)| field != "_id");
    read.limit.is_some() && (is_ordered || read.filter.len() > 1)
}
