//! Plans indexes for every declared read: equality, then sort, then range, with the known
//! exceptions (CK-12).

mod constraints;
mod foreign_keys;
pub(crate) mod paths;
pub(crate) mod sorted;
mod special;
use docward_model::{BsonType, DesignRead, EntityField, Matching};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned, at_path};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::index::paths::{
    ATTRIBUTES, array_of, entities_in, is_listed, leads_elsewhere, one_array, place_of,
};
use crate::layout::index_plan::{IndexPlan, Partial};

/// Plans the indexes of a collection.
pub(crate) fn plan(layout: &Layout<'_>, collection: &mut CollectionPlan) {
    let mut found = Vec::new();
    match &collection.purpose {
        Purpose::Entity | Purpose::TimeSeries { .. } | Purpose::Bucket(_) => {
            by_reads(layout, collection, &mut found);
            foreign_keys::by_references(layout, collection, |_| true, &mut found);
            foreign_keys::by_parts(layout, collection, &mut found);
            constraints::unique(layout, collection, &mut found);
            constraints::by_shape(layout, collection, &mut found);
            constraints::by_age(layout, collection, &mut found);
        }
        Purpose::Junction(relationship) => {
            let keys: Vec<(String, bool)> =
                references(&collection.fields).map(|name| (name, false)).collect();
            let pair = IndexPlan {
                unique: true,
                ..IndexPlan::on(
                    keys.clone(),
                    format!("`{relationship}` from its parent; no duplicate pairs"),
                )
            };
            let back = IndexPlan::on(
                keys.into_iter().rev().collect(),
                format!("`{relationship}` from the other side"),
            );
            found.extend([pair, back]);
            found.extend(sorted::orders_of_pairs(layout, relationship, &collection.fields));
        }
        Purpose::Overflow(relationship) => {
            let mut keys: Vec<(String, bool)> =
                references(&collection.fields).take(1).map(|name| (name, false)).collect();
            keys.push(("page".to_owned(), false));
            let pages = format!("pages of `{relationship}` in order, without duplicates");
            found.push(IndexPlan { unique: true, ..IndexPlan::on(keys, pages) });
            // Reads query pages in the same way as the list in the parent.
            by_reads(layout, collection, &mut found);
            foreign_keys::by_references(layout, collection, |_| true, &mut found);
            constraints::unique_inside(layout, &collection.fields, "", false, &mut found);
        }
        Purpose::Versions => {
            let mut keys: Vec<(String, bool)> =
                references(&collection.fields).take(1).map(|name| (name, false)).collect();
            keys.push(("version".to_owned(), true));
            found.push(IndexPlan { unique: true, ..IndexPlan::on(keys, "versions, newest first") });
        }
        // The value is the `_id`.
        Purpose::UniqueValues(_) => {}
        Purpose::Archive => {
            // Rebuilding a parent's previews and figures also reads children in the archive.
            let is_kept = |pattern: &Pattern| {
                matches!(pattern, Pattern::Subset { .. } | Pattern::Computed { .. })
            };
            let keeps = |decision: &Decision| decision.patterns.iter().any(is_kept);
            foreign_keys::by_references(layout, collection, keeps, &mut found);
        }
    }
    constraints::expiry(layout, collection, &mut found);
    collection.indexes = special::one_text_index(merged(found));
    // From 6.3 on, a time series has an index on its meta field and time by default.
    if let Purpose::TimeSeries { time, meta, .. } = &collection.purpose
        && layout.model.deployment.server >= (6, 3)
    {
        let given = [meta.as_str(), time.as_str()];
        collection.indexes.retain(|index| {
            index.keys.len() > given.len()
                || index.keys.iter().zip(given).any(|((name, _), given)| name != given)
        });
    }
    // Before 5.0, servers refuse two indexes with the same keys, even if their partial filters
    // differ.
    let open = |index: &IndexPlan| matches!(index.only, Some(Partial::Below(..)));
    let keys: Vec<_> = collection
        .indexes
        .iter()
        .filter(|index| !open(index))
        .map(|index| index.keys.clone())
        .collect();
    for index in collection.indexes.iter_mut().filter(|index| open(index)) {
        if keys.contains(&index.keys)
            && let Some((_, falls)) = index.keys.last_mut()
        {
            *falls = true;
        }
    }
}

fn references(fields: &[Planned]) -> impl Iterator<Item = String> + '_ {
    fields
        .iter()
        .filter(|field| matches!(field.origin, Origin::Reference(_)))
        .map(|field| field.name.clone())
}

/// Adds one index for each read that begins with the entity or with an embedded one.
fn by_reads(layout: &Layout<'_>, collection: &CollectionPlan, found: &mut Vec<IndexPlan>) {
    let here = entities_in(layout, collection);
    for read in &layout.model.reads {
        let Some(path) = here.get(read.from.as_str()) else { continue };
        if let Some(index) = for_read(layout, collection, read, path) {
            found.push(index);
        }
    }
}

fn for_read(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    read: &DesignRead,
    path: &str,
) -> Option<IndexPlan> {
    let place = |name: &str| place_of(layout, collection, path, name);
    // The index on `_id` already exists.
    if read.filter.iter().any(|(name, how)| name == "_id" && *how == Matching::Equal)
        && path.is_empty()
    {
        return None;
    }
    if let Some(index) = special::for_read(layout, collection, read, path) {
        return Some(index);
    }
    let is_here = |name: &str| {
        at_path(&collection.fields, &place(name)).is_some() || is_listed(layout, collection, name)
    };
    // If the read gets ids from another collection, an index helps only on a selective field. Such
    // a field matches fewer documents than the ids do.
    let elsewhere: Vec<_> = read
        .filter
        .iter()
        .filter(|(name, _)| !is_here(name))
        .filter_map(|(name, _)| leads_elsewhere(layout, read, name))
        .collect();
    if !elsewhere.is_empty() {
        let is_open = elsewhere.iter().any(|(_, decision)| decision.choice.is_none());
        let entity = layout.model.entity(&read.from)?;
        let telling = read.filter.iter().find(|(name, how)| {
            *how == Matching::Equal && is_here(name) && entity.field(name).is_some_and(tells)
        });
        let (name, _) = telling.filter(|_| !is_open)?;
        let serves = format!("`{}`, with ids from another read", read.name);
        return Some(IndexPlan::on(vec![(place(name), false)], serves));
    }
    let sorted = !read.sort.is_empty();
    let (mut equal, mut narrow, mut range) = (Vec::new(), Vec::new(), Vec::new());
    for (name, how) in &read.filter {
        let mut key = (place(name), false);
        if is_listed(layout, collection, name) {
            // The query compares the name and the value of an attribute.
            equal.push((format!("{path}{ATTRIBUTES}.k"), false));
            key.0 = format!("{path}{ATTRIBUTES}.v");
        }
        match how {
            Matching::Equal | Matching::OneOf(_) => equal.push(key),
            Matching::NarrowRange if sorted => narrow.push(key),
            Matching::NarrowRange | Matching::Range => range.push(key),
            // These have a separate index.
            Matching::Near | Matching::Text | Matching::AnyField => {}
        }
    }
    // An index cannot sort the elements of a list, because it sorts documents.
    let in_list = array_of(&collection.fields, path.trim_end_matches('.')).is_some();
    let sort = read.sort.iter().filter(|_| !in_list);
    let sort: Vec<(String, bool)> = sort.map(|(name, falls)| (place(name), *falls)).collect();
    let mut notes = Vec::new();
    if !narrow.is_empty() {
        notes.push("the range is so selective that it precedes the sort".to_owned());
    }
    let mut keys: Vec<(String, bool)> = Vec::new();
    let mut compared = 0;
    let all = equal.len();
    for (i, key) in equal.into_iter().chain(narrow).chain(sort).chain(range).enumerate() {
        if at_path(&collection.fields, &key.0).is_none() {
            // A field that is not in this collection fails CK-12.
            continue;
        }
        if !keys.iter().any(|(name, _)| *name == key.0) {
            keys.push(key);
            compared += usize::from(i < all);
        }
    }
    if let Some(dropped) = one_array(&collection.fields, &mut keys) {
        notes.push(format!("an index can contain only one array, so `{dropped}` is left out"));
    }
    // The filter matches a single document, whatever its other conditions are.
    if keys.first().is_none_or(|(first, _)| first == "_id" && (keys.len() == 1 || compared > 0)) {
        return None;
    }
    let serves = format!("`{}`", read.name);
    let only = only_of(layout, collection, path, &keys);
    if let Some(Partial::Is(discriminator, _)) = &only {
        notes.push(format!("queries must name `{discriminator}` to use it"));
        // In a partial index for one kind, this field always has the same value.
        keys.retain(|(name, _)| name != discriminator);
    }
    let compared = compared.min(keys.len());
    Some(IndexPlan { only, notes, compared, ..IndexPlan::on(keys, serves) })
}

/// Whether a field is selective.
fn tells(field: &EntityField) -> bool {
    let plain = matches!(
        field.kind,
        BsonType::String | BsonType::Int | BsonType::Long | BsonType::Date | BsonType::ObjectId
    );
    plain && field.values.is_empty() && field.distinct.is_none_or(|values| values >= MANY_VALUES)
}

/// A field with this many values is selective (SK-1).
const MANY_VALUES: f64 = 1000.0;

/// Returns reads that query a collection by a field that its documents do not have.
pub(crate) fn lost<'m>(layout: &Layout<'m>, collection: &CollectionPlan) -> Vec<&'m DesignRead> {
    let here = entities_in(layout, collection);
    let reads = layout.model.reads.iter();
    let is_lost = |read: &&DesignRead| {
        here.get(read.from.as_str()).is_some_and(|path| is_lost(layout, collection, read, path))
    };
    reads.filter(is_lost).collect()
}

/// Whether a read queries a field that is missing in the documents it searches. A field that
/// identifies another entity may be in junction documents, which have their own indexes.
fn is_lost(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    read: &DesignRead,
    path: &str,
) -> bool {
    read.filter.iter().any(|(name, _)| {
        let place = place_of(layout, collection, path, name);
        at_path(&collection.fields, &place).is_none()
            && leads_elsewhere(layout, read, name).is_none()
            && !is_listed(layout, collection, name)
    })
}

/// Returns reads that use an undecided relationship.
pub(crate) fn open<'m>(layout: &Layout<'m>, collections: &[CollectionPlan]) -> Vec<&'m DesignRead> {
    // With all decisions made, no read is open.
    if layout.linked().all(|(_, decision)| decision.choice.is_some()) {
        return Vec::new();
    }
    let homes: Vec<_> = collections.iter().map(|c| (c, entities_in(layout, c))).collect();
    let is_open = |read: &&DesignRead| {
        let undecided: Vec<&str> = read
            .filter
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| {
                leads_elsewhere(layout, read, name)
                    .is_some_and(|(_, decision)| decision.choice.is_none())
            })
            .collect();
        homes.iter().filter(|_| !undecided.is_empty()).any(|(collection, here)| {
            here.get(read.from.as_str()).is_some_and(|path| {
                undecided.iter().any(|name| {
                    let place = place_of(layout, collection, path, name);
                    at_path(&collection.fields, &place).is_none()
                })
            })
        })
    };
    layout.model.reads.iter().filter(is_open).collect()
}

/// Returns the partial filter of an index on a field that only one kind has (PT-poly.2).
fn only_of(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    path: &str,
    keys: &[(String, bool)],
) -> Option<Partial> {
    let entity = layout.model.entity(&collection.entity).filter(|_| path.is_empty())?;
    let discriminator =
        layout.advice.iter().find(|a| a.entity == entity.name)?.patterns.iter().find_map(|p| {
            match p {
                Pattern::Polymorphic { discriminator } => Some(discriminator.clone()),
                _ => None,
            }
        })?;
    // If two kinds have the field, a partial index would miss one of them.
    let mut having = entity.variants.iter().filter(|variant| {
        keys.iter().any(|(name, _)| variant.fields.iter().any(|field| field.name == *name))
    });
    let variant = having.next().filter(|_| having.next().is_none())?;
    Some(Partial::Is(discriminator, variant.name.clone()))
}

/// Removes indexes that are a prefix of another, unless they are unique, partial or delete
/// documents.
fn merged(found: Vec<IndexPlan>) -> Vec<IndexPlan> {
    // This comes first, because merging combines the lists of reads.
    let found = without_known(found);
    let mut kept: Vec<IndexPlan> = Vec::new();
    let whole = |index: &IndexPlan| index.only.is_none();
    let plain = |index: &IndexPlan| {
        whole(index) && !index.unique && index.expire_after.is_none() && index.kinds.is_empty()
    };
    for index in found {
        // A query for a value can use an index of the documents that have a value.
        let covers = |a: &IndexPlan, b: &IndexPlan| {
            a.only == b.only
                || (b.only.is_none() || matches!(b.only, Some(Partial::Is(..))) && !b.unique)
                    && matches!(&a.only, Some(Partial::Present(path)) if a.unique && *path == a.keys[0].0)
        };
        let same = kept.iter_mut().find(|have| {
            have.keys == index.keys
                && have.kinds == index.kinds
                && (covers(have, &index) || covers(&index, have))
        });
        if let Some(same) = same {
            // An index that is unique among all documents with a value also serves those of one
            // kind.
            if matches!(same.only, Some(Partial::Is(..))) && index.unique {
                same.notes.clear();
                same.only = index.only.clone();
            }
            same.only = same.only.take().or(index.only);
            same.unique |= index.unique;
            same.expire_after = same.expire_after.or(index.expire_after);
            same.serves.extend(index.serves);
            same.notes.extend(index.notes);
            continue;
        }
        if plain(&index)
            && let Some(longer) =
                kept.iter_mut().find(|have| whole(have) && have.begins_with(&index))
        {
            longer.serves.extend(index.serves);
            continue;
        }
        let (shorter, rest): (Vec<_>, Vec<_>) = kept
            .into_iter()
            .partition(|have| plain(have) && whole(&index) && index.begins_with(have));
        kept = rest;
        let mut index = index;
        index.serves.extend(shorter.into_iter().flat_map(|have| have.serves));
        kept.push(index);
    }
    kept
}

/// Removes indexes for reads whose filter contains a unique field. That field alone finds the
/// single document.
fn without_known(found: Vec<IndexPlan>) -> Vec<IndexPlan> {
    let one_of = |index: &IndexPlan| match (index.keys.as_slice(), &index.only) {
        ([(key, _)], None) if index.unique => Some(key.clone()),
        ([(key, _)], Some(Partial::Present(path))) if index.unique && path == key => {
            Some(key.clone())
        }
        _ => None,
    };
    let known: Vec<String> = found.iter().filter_map(one_of).collect();
    let is_known = |index: &IndexPlan| {
        let given = index.keys.iter().take(index.compared).map(|(key, _)| key);
        let plain = index.only.is_none() && !index.unique && index.expire_after.is_none();
        let mut given = given.filter(|_| plain && index.keys.len() > 1);
        given.find(|key| known.contains(key)).cloned()
    };
    let (mut kept, mut served): (Vec<IndexPlan>, Vec<(String, Vec<String>)>) = Default::default();
    for index in found {
        match is_known(&index) {
            Some(key) => served.push((key, index.serves)),
            None => kept.push(index),
        }
    }
    for (key, serves) in served {
        let unique = kept.iter_mut().find(|index| one_of(index).as_ref() == Some(&key));
        unique.into_iter().for_each(|index| index.serves.extend(serves.iter().cloned()));
    }
    kept
}
