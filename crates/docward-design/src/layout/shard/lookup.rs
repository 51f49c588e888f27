//! Collections that keep values unique if the shard key prevents a unique index.

use crate::declared::field_plan::{Origin, Planned, at_path};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::index_plan::{IndexPlan, Partial};
use crate::layout::shard_key::UniqueLookup;

/// Returns the paths of unique fields whose values a separate collection can keep unique.
pub(super) fn candidates(collection: &CollectionPlan) -> Vec<String> {
    let unique = collection.indexes.iter().filter(|index| index.unique);
    unique.filter_map(|index| path_of(index).map(str::to_owned)).collect()
}

/// Whether one of the paths is that of a unique index.
pub(super) fn covers(paths: &[String], index: &IndexPlan) -> bool {
    path_of(index).is_some_and(|path| paths.iter().any(|known| known == path))
}

/// Returns the path of a unique index on a single field.
fn path_of(index: &IndexPlan) -> Option<&str> {
    let [(path, _)] = index.keys.as_slice() else { return None };
    let all = matches!(&index.only, None | Some(Partial::Present(_)));
    (index.unique && all).then_some(path.as_str())
}

/// Returns the lookups that replace unique indexes.
pub(super) fn of(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    refused: &[&IndexPlan],
) -> Vec<UniqueLookup> {
    let paths = refused.iter().filter_map(|index| path_of(index));
    paths
        .map(|path| {
            let words: Vec<&str> =
                [collection.name.as_str()].into_iter().chain(path.split('.')).collect();
            UniqueLookup {
                collection: layout.naming.collection(&words),
                field: path.to_owned(),
                holder: layout.naming.id_of(&collection.entity),
            }
        })
        .collect()
}

/// Replaces unique indexes of a collection by lookups. Returns the collections of the lookups.
pub(crate) fn replace(layout: &Layout<'_>, collection: &mut CollectionPlan) -> Vec<CollectionPlan> {
    let lookups = collection.shard.as_ref().map_or(&[][..], |shard| &shard.lookups).to_vec();
    let mut found = Vec::new();
    for lookup in &lookups {
        let Some((top, value)) = at_path(&collection.fields, &lookup.field) else { continue };
        let id = Planned { required: true, nullable: false, ..value.clone() };
        let id = Planned { name: "_id".to_owned(), origin: Origin::Id, ..id };
        let holder = Origin::Reference(collection.entity.clone());
        let holder = Planned::new(&lookup.holder, docward_model::BsonType::ObjectId, holder);
        let mut fields = vec![id, holder];
        // A value expires with its document.
        let expiry = collection.indexes.iter().find(|index| index.expire_after.is_some());
        let date = expiry.and_then(|index| at_path(&collection.fields, &index.keys.first()?.0));
        let mut indexes = Vec::new();
        if let (Some(expiry), Some((_, date))) = (expiry, date) {
            let copy = format!("{}.{}", collection.entity, date.name);
            fields.push(Planned { origin: Origin::Copy(copy), ..date.clone() });
            indexes.push(expiry.clone());
        }
        // A list has a value for each of its elements.
        let each = top.items.map_or(1.0, crate::declared::quantile::mean);
        let index = |index: &IndexPlan| path_of(index) == Some(lookup.field.as_str());
        for index in collection.indexes.iter_mut().filter(|i| index(i)) {
            index.unique = false;
            index.serves.retain(|serves| !serves.starts_with("no two "));
        }
        collection.indexes.retain(|index| index.unique || !index.serves.is_empty());
        let mut plan = CollectionPlan {
            name: lookup.collection.clone(),
            purpose: Purpose::UniqueValues(lookup.field.clone()),
            entity: collection.entity.clone(),
            fields,
            documents: collection.documents.map(|documents| documents * each),
            per_year: collection.per_year * each,
            kept_days: collection.kept_days,
            gone_days: collection.gone_days,
            cold_days: None,
            services: collection.services.clone(),
            indexes,
            shard: None,
            unsharded: None,
            kept_each: None,
        };
        plan.shard = super::plan(layout, &plan);
        plan.unsharded = super::unsharded(layout, &plan);
        found.push(plan);
    }
    found
}
