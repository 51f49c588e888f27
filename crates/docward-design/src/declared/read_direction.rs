//! Determines the direction of declared reads and writes: whether they begin with the parent or the
//! child, which relationships they follow, and which entities they touch.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{DesignModel, DesignRead, DesignWrite, Relationship, With};

/// Returns the reads that follow a relationship. The direction is not computed here, because that
/// is slow and most reads do not follow the relationship.
pub(crate) fn along<'m>(
    model: &'m DesignModel,
    relationship: &Relationship,
) -> impl Iterator<Item = &'m DesignRead> {
    model.reads.iter().filter(|read| followed(read).any(|name| name == relationship.name))
}

/// Whether a read that follows a relationship arrives at the parent and fetches children. Otherwise
/// it arrives at a child. A read that begins elsewhere arrives at the end that other relationships
/// lead to.
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

/// Returns the entities that are embedded in an entity, directly or through others. One can be
/// excluded. `inside` returns what is embedded in each entity.
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

/// Returns the relationships that a read follows to fetch, count or sum.
pub(crate) fn followed(read: &DesignRead) -> impl Iterator<Item = &str> {
    let fetched = read.with.iter().map(|with| &with.relationship);
    let summed = read.sums.iter().map(|(relationship, _)| relationship);
    fetched.chain(&read.counts).chain(summed).map(String::as_str)
}

/// Returns the total rate per second. An empty sum is 0, because the `f64` sum would be -0 and be
/// printed as such.
pub(crate) fn total<'w>(writes: impl Iterator<Item = &'w DesignWrite>) -> f64 {
    writes.map(|write| write.per_second).fold(0.0, |sum, rate| sum + rate)
}

/// Returns whether a write changes data that is embedded in an entity's documents. A write that
/// inserts or deletes whole documents does not count.
pub(crate) fn changes_part(write: &DesignWrite, entity: &str, parts: &BTreeSet<&str>) -> bool {
    // Most entities embed nothing.
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

/// The maximum number of fields that are worth copying (PT-extref.1).
pub(crate) const COPIED: usize = 3;

/// Whether the entities form a tree. If a document has several parents, as with followers, the
/// relationship is many-to-many within one entity.
pub(crate) fn is_tree(relationship: &Relationship) -> bool {
    relationship.parent == relationship.child && !relationship.is_shared()
}

/// Returns how often per second documents of an entity are inserted, updated or deleted.
pub(crate) fn arrivals(model: &DesignModel, entity: &str) -> f64 {
    total(model.writes.iter().filter(|w| w.touches(entity)))
}

/// Whether a read shows fields that must be current. Such fields are read from their source.
pub(crate) fn shows_current(relationship: &Relationship, with: &With) -> bool {
    let by = with.newest.as_ref().and_then(|(_, by)| by.as_ref());
    let in_full = with.newest.is_some() && with.fields.is_empty();
    in_full && relationship.current.is_some()
        || with.fields.iter().chain(by).any(|field| relationship.must_be_current(field))
}

/// Returns the number of documents that each read by parent begins with: that of a typical parent,
/// or its limit.
pub(crate) fn roots(model: &DesignModel) -> BTreeMap<String, u64> {
    let of = |read: &DesignRead| {
        let mut of_parents = model.relationships.iter().filter(|r| r.child == read.from);
        let typical = of_parents.find(|r| by_parent(read, r))?.children?.p50.max(1);
        // Additional conditions reduce the number by an unknown amount.
        let most = if read.filter.len() > 1 { read.limit.unwrap_or(1) } else { u64::MAX };
        Some((read.name.clone(), read.limit.unwrap_or(u64::MAX).min(typical).min(most)))
    };
    model.reads.iter().filter_map(of).collect()
}

/// Whether a read filters children by the id of their parent.
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

/// Whether the copied fields next to ids can sort a read that filters only by an id.
pub(crate) fn is_ordered_by(read: &DesignRead, copied: &[String]) -> bool {
    read.filter.len() == 1
        && !read.sort.is_empty()
        && read.sort.iter().all(|(field, _)| copied.contains(field))
}

/// Whether a read selects some of many documents by its own order or by additional conditions.
pub(crate) fn is_picked(read: &DesignRead) -> bool {
    let is_ordered = read.sort.iter().any(|(field, _)| field != "_id");
    read.limit.is_some() && (is_ordered || read.filter.len() > 1)
}
