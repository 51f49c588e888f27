//! Finds names that a design would use twice. The design derives names of collections, ids, counts
//! and copies from the model. To resolve a clash, the user must change the model, so each clash is
//! reported with its position.

use std::collections::BTreeMap;

use docward_model::{DesignModel, Entity, Location, ProfileName};

use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::declared::naming::Naming;
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;
use crate::layout::plan::Design;
use crate::model_file::fault::Fault;

/// Returns the names with two meanings, in the order of the file.
pub fn clashes(model: &DesignModel, design: &Design, profile: ProfileName) -> Vec<Fault> {
    let layout = Layout {
        model,
        decisions: &design.decisions,
        advice: &design.entities,
        naming: Naming::of(model, profile),
    };
    let mut found = collections(model, design);
    for entity in &model.entities {
        found.extend(fields(entity, &layout.wanted(entity, &mut Vec::new())));
    }
    found.extend(ids(&layout));
    for collection in &design.collections {
        // The pattern adds fields to those of the entity.
        if let (Purpose::Bucket(_), Some(entity)) =
            (&collection.purpose, model.entity(&collection.entity))
        {
            found.extend(fields(entity, &collection.fields));
        }
    }
    found.sort_by_key(|fault| (fault.location.line, fault.location.column));
    found.dedup();
    found
}

fn collections(model: &DesignModel, design: &Design) -> Vec<Fault> {
    let mut first: BTreeMap<&str, &CollectionPlan> = BTreeMap::new();
    let mut found = Vec::new();
    for collection in &design.collections {
        let Some(before) = first.get(collection.name.as_str()) else {
            first.insert(&collection.name, collection);
            continue;
        };
        let Some(location) = place(model, collection) else { continue };
        found.push(Fault {
            location,
            message: format!(
                "{} and {} would both use the collection `{}`",
                what(before),
                what(collection),
                collection.name
            ),
            hint: Some("set `collection:` of an entity, or rename one of them".to_owned()),
        });
    }
    found
}

fn what(collection: &CollectionPlan) -> String {
    match &collection.purpose {
        Purpose::Junction(name) => format!("the pairs of `{name}`"),
        Purpose::Overflow(name) => format!("the pages of `{name}`"),
        Purpose::Versions => format!("the versions of `{}`", collection.entity),
        Purpose::Archive => format!("the archive of `{}`", collection.entity),
        Purpose::UniqueValues(field) => {
            format!("the values of `{field}` of `{}`", collection.entity)
        }
        _ => format!("`{}`", collection.entity),
    }
}

fn place(model: &DesignModel, collection: &CollectionPlan) -> Option<Location> {
    let relationship = match &collection.purpose {
        Purpose::Junction(name) | Purpose::Overflow(name) => model.relationship(name),
        _ => None,
    };
    let entity = || model.entity(&collection.entity).map(|entity| entity.place.clone());
    relationship.map(|r| r.place.clone()).or_else(entity)
}

fn fields(entity: &Entity, wanted: &[Planned]) -> Vec<Fault> {
    let mut first: BTreeMap<&str, &Planned> = BTreeMap::new();
    let mut found = Vec::new();
    for field in wanted {
        let Some(before) = first.get(field.name.as_str()) else {
            first.insert(&field.name, field);
            continue;
        };
        // Both sides of a relationship may add the same id field.
        if before.origin == field.origin && before.kind == field.kind {
            continue;
        }
        let declared = entity.field(&field.name).map(|field| field.place.clone());
        found.push(Fault {
            location: declared.unwrap_or_else(|| entity.place.clone()),
            message: format!(
                "`{}` of `{}` would be {} and {}",
                field.name,
                entity.name,
                meaning(&before.origin),
                meaning(&field.origin)
            ),
            hint: Some("rename one of them".to_owned()),
        });
    }
    found
}

/// Finds ids of two relationships between the same entities that would share a field.
fn ids(layout: &Layout<'_>) -> Vec<Fault> {
    let mut first: BTreeMap<(&str, &str, String), &str> = BTreeMap::new();
    let mut found = Vec::new();
    let mut trees: BTreeMap<&str, &str> = BTreeMap::new();
    for (relationship, decision) in layout.linked() {
        if decision.patterns.contains(&Pattern::Tree)
            && let Some(before) = trees.insert(&relationship.parent, &relationship.name)
        {
            found.push(Fault {
                location: relationship.place.clone(),
                message: format!(
                    "`{before}` and `{}` are two trees of `{}`, but its documents can have the \
                     ancestors of only one",
                    relationship.name, relationship.parent
                ),
                hint: Some(format!(
                    "declare the other as a separate entity, such as `{}Link`, with the ids of \
                     both ends",
                    relationship.parent
                )),
            });
            continue;
        }
        let Some(held) = layout.held_at(relationship, decision) else { continue };
        let key = (relationship.parent.as_str(), relationship.child.as_str(), held);
        let Some(before) = first.get(&key) else {
            first.insert(key, &relationship.name);
            continue;
        };
        found.push(Fault {
            location: relationship.place.clone(),
            message: format!(
                "`{}` would contain the ids of both `{before}` and `{}`",
                key.2, relationship.name
            ),
            hint: Some("give each of them a `field:` of its own".to_owned()),
        });
    }
    found
}

fn meaning(origin: &Origin) -> String {
    match origin {
        Origin::Id => "the document's id".to_owned(),
        Origin::Own => "the declared field".to_owned(),
        Origin::Reference(entity) => format!("the id of `{entity}`"),
        Origin::Copy(path) => format!("a copy of `{path}`"),
        Origin::Embedded(name) => format!("the embedded `{name}`"),
        Origin::Preview(name) => format!("the newest of `{name}`"),
        Origin::Computed(name) => format!("a count or sum over `{name}`"),
        Origin::Pattern(name) => format!("a field of the {name} pattern"),
    }
}
