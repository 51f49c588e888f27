//! Indexes on ids in documents: on the parent's id in children (PT-ref.1), and on the ids of
//! embedded objects.

use crate::decide::decision::Decision;
use crate::decide::facts::Kind;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Planned, at_path};
use crate::declared::read_direction;
use crate::layout::collection::CollectionPlan;
use crate::layout::fields::Layout;

use super::sorted::{orders, sorting_key};
use super::{IndexPlan, Partial, array_of, entities_in, place_of};

/// Adds indexes on the ids that documents store (PT-ref.1). If a page shows the newest children,
/// the index also contains their order.
pub(super) fn by_references(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    wanted: impl Fn(&Decision) -> bool,
    found: &mut Vec<IndexPlan>,
) {
    let here = entities_in(layout, collection);
    for (relationship, decision) in layout.linked().filter(|(_, decision)| wanted(decision)) {
        let (holder, other) = match decision.patterns.first() {
            Some(Pattern::ParentInChild | Pattern::ParentsInChild | Pattern::Tree) => {
                (&relationship.child, &relationship.parent)
            }
            Some(Pattern::ChildrenInParent) => (&relationship.parent, &relationship.child),
            _ => continue,
        };
        let Some(path) = here.get(holder.as_str()) else { continue };
        if decision.patterns.contains(&Pattern::Tree) {
            let parent = layout.naming.field(&["parent", "id"]);
            let serves = format!("direct children of `{}`", relationship.name);
            let by = orders(layout.model, relationship, decision).into_iter();
            let by: Vec<String> =
                by.filter_map(|by| sorting_key(layout, collection, path, &by)).collect();
            if by.is_empty() {
                found.push(IndexPlan::on(vec![(parent.clone(), false)], serves.clone()));
            }
            found.extend(by.into_iter().map(|by| {
                IndexPlan::on(vec![(parent.clone(), false), (by, true)], serves.clone())
            }));
            let serves = format!("all descendants of `{}`", relationship.name);
            found.push(IndexPlan::on(vec![("ancestors".to_owned(), false)], serves));
            continue;
        }
        // The ids in a parent point to `_id`s, which are indexed. The opposite direction is indexed
        // only if reads need it.
        let asked = layout.model.reads.iter().any(|read| {
            read.from == *holder
                && read.filter.iter().any(|(name, _)| {
                    let is_role = relationship.parent == *holder && *name == relationship.role();
                    is_role || name == other || relationship.field.as_ref() == Some(name)
                })
                // The read goes from a child to the parents that list it.
                || other != holder
                    && read.with.iter().any(|with| {
                        with.relationship == relationship.name
                            && !decision.spares(layout.model, with, false)
                    })
                    && read_direction::comes_by_parent(layout.model, read, relationship)
                        == (*other == relationship.parent)
        });
        let in_parent = decision.patterns.first() == Some(&Pattern::ChildrenInParent);
        let Some(held) = layout.held_at(relationship, decision) else { continue };
        let held = held.split('.').next().unwrap_or_default();
        let keys = vec![(place_of(layout, collection, path, held), false)];
        // A unique index ensures that a child has only one parent. It excludes empty lists, which
        // also have an index key. An empty list inside another list also has a key, and no filter
        // can exclude it.
        let own = matches!(decision.facts.kind, Kind::OneToOne | Kind::OneToMany);
        let in_list = array_of(&collection.fields, path.trim_end_matches('.')).is_some();
        if in_parent && own && !in_list {
            let key = keys[0].0.clone();
            let is_list =
                decision.facts.kind == Kind::OneToMany && !key[path.len()..].contains('.');
            let filled = if is_list { format!("{key}.0") } else { key.clone() };
            let serves = format!("no `{}` of two `{}`", relationship.child, relationship.parent);
            // If another index has the same key, this one is descending, because the names would
            // otherwise be equal.
            let apart = (asked || decision.refreshes_copies()) && filled != key;
            found.push(IndexPlan {
                unique: true,
                only: Some(Partial::Present(filled)),
                ..IndexPlan::on(vec![(key, apart)], serves)
            });
        }
        // A refresh finds the copies by the id next to them.
        let refreshed = in_parent && decision.refreshes_copies();
        if in_parent && !asked && !refreshed {
            continue;
        }
        let mut serves = format!("`{}`", relationship.name);
        if refreshed {
            serves.push_str(&format!(", to refresh copies of `{other}`"));
        }
        let mut sorted = orders(layout.model, relationship, decision)
            .into_iter()
            .filter(|_| !in_parent)
            .filter_map(|by| sorting_key(layout, collection, path, &by))
            .peekable();
        if sorted.peek().is_none() {
            found.push(IndexPlan::on(keys, serves));
            continue;
        }
        found.extend(sorted.map(|by| {
            let keys = keys.iter().cloned().chain([(by, true)]).collect();
            IndexPlan::on(keys, serves.clone())
        }));
    }
}

/// Adds indexes on the ids of embedded objects, which writes use to find them. An object in a list
/// needs one only if children store its id.
pub(super) fn by_parts(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    found: &mut Vec<IndexPlan>,
) {
    for (entity, path) in entities_in(layout, collection) {
        let id = format!("{path}_id");
        let in_list = array_of(&collection.fields, path.trim_end_matches('.')).is_some();
        if path.is_empty() || at_path(&collection.fields, &id).is_none() {
            continue;
        }
        if in_list && !layout.is_named(entity) {
            continue;
        }
        let serves = format!("`{entity}` by its id");
        let mut index = IndexPlan::on(vec![(id.clone(), false)], serves);
        // The id is unique. With several shards, a unique index would exclude the shard key
        // (CK-13). Documents without the object have no id.
        if !in_list && layout.model.deployment.shards < 2 {
            index.unique = true;
            let always = is_always_there(&collection.fields, &id);
            index.only = (!always).then_some(Partial::Present(id));
        }
        found.push(index);
    }
}

/// Whether every document has a value at a path.
fn is_always_there(fields: &[Planned], path: &str) -> bool {
    let mut at = fields;
    path.split('.').all(|part| {
        let field = at.iter().find(|field| field.name == part);
        at = field.map_or(&[], |field| &field.fields);
        field.is_some_and(|field| field.required && !field.nullable)
    })
}
