//! Indexes that enforce rules and do not serve reads. They keep values unique (GC-37), expire old
//! documents (DP-2), and find documents with an old shape.

use docward_model::{BsonType, Entity, EntityField};

use crate::decide::pattern::{Pattern, Window};
use crate::declared::dates::coming;
use crate::declared::field_plan::{Origin, Planned};
use crate::layout::aging::{self, bucket_aging, cooling};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::model_file::quantity;

use super::{IndexPlan, Partial};

/// Adds the unique indexes of a collection.
pub(super) fn unique(layout: &Layout<'_>, collection: &CollectionPlan, found: &mut Vec<IndexPlan>) {
    if matches!(collection.purpose, Purpose::TimeSeries { .. }) {
        return;
    }
    if let Purpose::Bucket(bucket) = &collection.purpose {
        // An append finds its bucket by series, period and free space (PT-bucket.4). If two writers
        // open a bucket at the same time, one is refused and appends to the bucket of the other
        // (GC-37).
        let by_count = matches!(bucket.window, Window::Events(_));
        let keys: Vec<(String, bool)> = collection
            .fields
            .iter()
            .take_while(|field| field.name != "count")
            .filter(|field| field.name != "_id")
            // Buckets that end by number start with any reading, so their period is not part of the
            // key.
            .filter(|field| !(by_count && field.origin == Origin::Pattern("bucket")))
            .map(|field| (field.name.clone(), false))
            .collect();
        let open = IndexPlan::on(keys, "appending to the only open bucket");
        let only = Some(Partial::Below("count".to_owned(), bucket.most));
        found.push(IndexPlan { unique: true, only, ..open });
        return;
    }
    let Some(entity) = layout.model.entity(&collection.entity) else { return };
    for field in entity.fields.iter().filter(|field| field.unique) {
        let mut index = one_of_each(entity, &field.name, field.name.clone());
        // Documents without the field must not conflict.
        index.only = (!field.required).then(|| Partial::Present(field.name.clone()));
        found.push(index);
    }
    // Documents of other kinds lack the field.
    for variant in &entity.variants {
        for field in variant.fields.iter().filter(|field| field.unique) {
            let mut index = one_of_each(entity, &field.name, field.name.clone());
            index.only = Some(Partial::Present(field.name.clone()));
            if !found.contains(&index) {
                found.push(index);
            }
        }
    }
    unique_inside(layout, &collection.fields, "", false, found);
}

/// Adds an index that finds documents of older shapes directly.
pub(super) fn by_shape(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    found: &mut Vec<IndexPlan>,
) {
    let advice = layout.advice.iter().find(|a| a.entity == collection.entity);
    for pattern in advice.into_iter().flat_map(|a| &a.patterns) {
        if let Pattern::SchemaVersioning { current } = pattern
            && *current > 1
        {
            let serves = format!("documents with a shape older than {current}, or without one");
            found.push(IndexPlan::on(vec![(layout.shape(), false)], serves));
        }
    }
}

fn one_of_each(entity: &Entity, field: &str, path: String) -> IndexPlan {
    let serves = format!("no two `{}` have the same `{field}`", entity.name);
    IndexPlan { unique: true, ..IndexPlan::on(vec![(path, false)], serves) }
}

/// Adds the unique indexes on embedded fields.
pub(super) fn unique_inside(
    layout: &Layout<'_>,
    fields: &[Planned],
    above: &str,
    in_list: bool,
    found: &mut Vec<IndexPlan>,
) {
    for field in fields {
        let Origin::Embedded(relationship) = &field.origin else { continue };
        let relationship = layout.model.relationship(relationship);
        // Several parents may have copies of a shared child with the same value.
        let Some(relationship) = relationship.filter(|r| !r.is_shared()) else { continue };
        let Some(child) = layout.model.entity(&relationship.child) else { continue };
        let path = format!("{above}{}.", field.name);
        // An element without the field still has an index key, and so does an empty nested list.
        // Two of them would conflict.
        let here = field.kind == BsonType::Array;
        let can_hold = |field: &&EntityField| field.required || !here;
        let unique = child.fields.iter().filter(|field| field.unique && !in_list);
        let in_list = in_list || here;
        for unique in unique.filter(can_hold) {
            let full = format!("{path}{}", unique.name);
            let mut index = one_of_each(child, &unique.name, full.clone());
            index.only = Some(Partial::Present(full));
            if in_list {
                index.notes.push(
                    "it applies between documents; within one document, the statement that adds \
                     to the list checks it"
                        .to_owned(),
                );
            }
            found.push(index);
        }
        unique_inside(layout, &field.fields, &path, in_list, found);
    }
}

/// Adds an index that expires documents after their retention. A time series has a collection
/// option for this instead.
pub(super) fn expiry(layout: &Layout<'_>, collection: &CollectionPlan, found: &mut Vec<IndexPlan>) {
    let (
        Some(days),
        Purpose::Entity
        | Purpose::Archive
        | Purpose::Versions
        | Purpose::Bucket(_)
        | Purpose::Overflow(_),
    ) = (collection.kept_days, &collection.purpose)
    else {
        return;
    };
    let Some(entity) = layout.model.entity(&collection.entity) else { return };
    if aging::holds_what_stays(layout.model, layout.decisions, &entity.name) {
        return;
    }
    let aging = match &collection.purpose {
        Purpose::Overflow(_) => coming(entity).map(|date| (date.to_owned(), 0)),
        _ => bucket_aging(layout, entity).or_else(|| Some((coming(entity)?.to_owned(), 0))),
    };
    let Some((field, longer)) = aging else { return };
    let serves = "retention".to_owned();
    let index = IndexPlan::on(vec![(field, false)], serves);
    found.push(IndexPlan { expire_after: Some(quantity::seconds(days) + longer), ..index });
}

/// Adds an index on the date by which documents are archived.
pub(super) fn by_age(layout: &Layout<'_>, collection: &CollectionPlan, found: &mut Vec<IndexPlan>) {
    let is_archived = collection.cold_days.is_some();
    let entity = layout.model.entity(&collection.entity).filter(|_| is_archived);
    if let Some((field, _)) = entity.and_then(|entity| cooling(layout, entity)) {
        let serves = "moving cold documents to the archive".to_owned();
        found.push(IndexPlan::on(vec![(field, false)], serves));
    }
}
