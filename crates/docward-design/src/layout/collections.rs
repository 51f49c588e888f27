//! Plans the collections of a design: documents, indexes, shard key, options.

use docward_model::{BsonType, Entity, Spread};

use crate::decide::decision::Decision;
use crate::decide::pattern::Pattern;
use crate::declared::field_plan::{Origin, Planned};
use crate::declared::quantile;
use crate::layout::collection::{CollectionPlan, KeptEach, Purpose};
use crate::layout::fields::{Layout, is_embedded, is_of_series};
use crate::layout::index::{self, paths};
use crate::layout::shard;

pub(crate) fn all(layout: &Layout<'_>) -> Vec<CollectionPlan> {
    let mut found = Vec::new();
    for entity in &layout.model.entities {
        if !is_embedded(layout, &entity.name) {
            found.push(of_entity(layout, entity));
            found.extend(beside(layout, entity));
        }
    }
    for (relationship, decision) in layout.linked() {
        for pattern in &decision.patterns {
            match pattern {
                Pattern::Junction => found.push(junction(layout, relationship, decision)),
                Pattern::Outlier { page } => found.extend(overflow(layout, relationship, *page)),
                _ => {}
            }
        }
    }
    let mut lookups = Vec::new();
    for collection in &mut found {
        index::plan(layout, collection);
        collection.services = services(layout, collection);
        collection.shard = shard::plan(layout, collection);
        collection.unsharded = shard::unsharded(layout, collection);
        lookups.extend(shard::lookup::replace(layout, collection));
    }
    found.extend(lookups);
    found
}

/// Returns the services of the entities in a collection. For junction documents, these are the
/// services of both ends.
fn services(layout: &Layout<'_>, collection: &CollectionPlan) -> Vec<String> {
    let mut entities: Vec<&str> = paths::entities_in(layout, collection).into_keys().collect();
    if let Purpose::Junction(name) = &collection.purpose
        && let Some(r) = layout.model.relationship(name)
    {
        entities.extend([r.parent.as_str(), r.child.as_str()]);
    }
    let of = |entity: &&str| layout.model.entity(entity).map(|entity| &entity.services);
    let mut found: Vec<String> = entities.iter().filter_map(of).flatten().cloned().collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the limit of documents for each parent, if older ones are removed.
fn kept_each(layout: &Layout<'_>, entity: &Entity) -> Option<KeptEach> {
    let mut of = layout.model.relationships.iter().filter(|r| r.child == entity.name);
    let relationship = of.next().filter(|r| !r.is_shared() && of.next().is_none())?;
    let parent = layout.model.entity(&relationship.parent)?;
    Some(KeptEach {
        parents: parent.count?,
        per_year: parent.lifecycle.map_or(0.0, |life| life.per_year),
        newest: relationship.keep_newest?,
    })
}

fn of_entity(layout: &Layout<'_>, entity: &Entity) -> CollectionPlan {
    let entity =
        layout.model.entity(&entity.name).unwrap_or_else(|| unreachable!("it is of this model"));
    let patterns =
        layout.advice.iter().find(|a| a.entity == entity.name).map_or(&[][..], |a| &a.patterns);
    let life = entity.lifecycle.unwrap_or_default();
    let mut plan = CollectionPlan {
        name: name_of(layout, entity),
        purpose: Purpose::Entity,
        entity: entity.name.clone(),
        fields: layout.document(entity),
        documents: entity.count,
        per_year: life.per_year,
        kept_days: life.kept_days,
        // If the growth is not declared, no documents are assumed to expire either.
        gone_days: crate::declared::dates::gone_after(layout.model, &entity.name)
            .filter(|_| !life.growth_open)
            .filter(|_| {
                !crate::layout::aging::holds_what_stays(
                    layout.model,
                    layout.decisions,
                    &entity.name,
                )
            }),
        cold_days: patterns.iter().find_map(|pattern| match pattern {
            Pattern::Archive { days } => Some(*days as f64),
            _ => None,
        }),
        services: Vec::new(),
        indexes: Vec::new(),
        shard: None,
        unsharded: None,
        kept_each: kept_each(layout, entity),
    };
    for pattern in patterns {
        match pattern {
            Pattern::TimeSeries { time, meta, granularity } => {
                series(layout, &mut plan, time, meta, granularity)
            }
            Pattern::Bucket(bucket) => {
                plan.fields = layout.bucket(entity, bucket);
                let shrink = bucket.per_year.1.max(1) as f64 / bucket.per_year.0.max(1) as f64;
                plan.documents = plan.documents.map(|number| (number / shrink).ceil());
                plan.per_year = (plan.per_year / shrink).ceil();
                plan.purpose = Purpose::Bucket(bucket.clone());
            }
            _ => {}
        }
    }
    plan
}

/// A time series has a single meta field, so several fields become an object.
fn series(
    layout: &Layout<'_>,
    plan: &mut CollectionPlan,
    time: &str,
    meta: &[String],
    granularity: &'static str,
) {
    let is_meta = |field: &Planned| is_of_series(meta, field);
    let (inside, mut rest): (Vec<Planned>, Vec<Planned>) = plan.fields.drain(..).partition(is_meta);
    let name = match inside.as_slice() {
        [one] => one.name.clone(),
        _ => layout.naming.field(&["meta"]),
    };
    let meta = match <[Planned; 1]>::try_from(inside) {
        Ok([one]) => one,
        Err(several) => Planned {
            fields: several,
            ..Planned::new(name.clone(), BsonType::Object, Origin::Pattern("time series"))
        },
    };
    rest.insert(1.min(rest.len()), meta);
    plan.fields = rest;
    plan.purpose = Purpose::TimeSeries { time: time.to_owned(), meta: name, granularity };
}

pub(crate) fn name_of(layout: &Layout<'_>, entity: &Entity) -> String {
    entity.collection.clone().unwrap_or_else(|| layout.naming.collection(&[&entity.name]))
}

/// Returns the additional collections of an entity's patterns.
fn beside(layout: &Layout<'_>, entity: &Entity) -> Vec<CollectionPlan> {
    let patterns =
        layout.advice.iter().find(|a| a.entity == entity.name).map_or(&[][..], |a| &a.patterns);
    let mut found = Vec::new();
    for pattern in patterns {
        let (word, purpose) = match pattern {
            Pattern::DocumentVersioning => ("versions", Purpose::Versions),
            Pattern::Archive { .. } => ("archive", Purpose::Archive),
            _ => continue,
        };
        let mut plan = of_entity(layout, entity);
        if purpose == Purpose::Versions {
            // A version stores the id of its document. Its own id is new.
            let id = layout.naming.id_of(&entity.name);
            plan.fields.insert(
                1,
                Planned::new(id, BsonType::ObjectId, Origin::Reference(entity.name.clone())),
            );
        }
        plan.name = layout.naming.collection(&[&name_of(layout, entity), word]);
        if purpose != Purpose::Archive {
            (plan.documents, plan.cold_days) = (None, None);
        }
        plan.purpose = purpose;
        found.push(plan);
    }
    found
}

fn junction(
    layout: &Layout<'_>,
    relationship: &docward_model::Relationship,
    decision: &Decision,
) -> CollectionPlan {
    let naming = layout.naming;
    let parent = &relationship.parent;
    let fields = layout.pair(relationship, decision.copied(true));
    let parents = layout.model.entity(parent).and_then(|entity| entity.count);
    // Few parents with many children have most junction documents, so the median would mislead.
    let each = quantile::mean(relationship.children.unwrap_or(Spread::always(1)));
    CollectionPlan {
        name: naming.collection(&[parent, &naming.singular(relationship.role())]),
        purpose: Purpose::Junction(relationship.name.clone()),
        entity: parent.clone(),
        fields,
        documents: parents.map(|parents| (parents * each).round()),
        per_year: match relationship.growth {
            Some(docward_model::ChildGrowth::Endless { typical, .. }) => {
                parents.unwrap_or(0.0) * typical
            }
            // The links of existing parents do not grow, so only new parents add junction documents.
            _ => {
                let yearly = layout.model.entity(parent).and_then(|entity| entity.lifecycle);
                yearly.map_or(0.0, |life| life.per_year) * each
            }
        },
        kept_days: None,
        gone_days: None,
        cold_days: None,
        services: Vec::new(),
        indexes: Vec::new(),
        shard: None,
        unsharded: None,
        kept_each: None,
    }
}

fn overflow(
    layout: &Layout<'_>,
    relationship: &docward_model::Relationship,
    page: u64,
) -> Option<CollectionPlan> {
    let child = layout.model.entity(&relationship.child)?;
    let naming = layout.naming;
    let origin = Origin::Pattern("outlier");
    let parent = &relationship.parent;
    let mut fields = vec![
        Planned::new("_id", BsonType::ObjectId, Origin::Id),
        Planned::new(naming.id_of(parent), BsonType::ObjectId, Origin::Reference(parent.clone())),
        Planned::new("page", BsonType::Int, origin),
    ];
    // Pages have the date of their parent and expire with it.
    let owner = layout.model.entity(parent).filter(|_| !is_embedded(layout, parent));
    let kept_days = owner.and_then(|owner| owner.lifecycle?.kept_days);
    if let Some(date) =
        owner.filter(|_| kept_days.is_some()).and_then(crate::declared::dates::coming)
    {
        let copy = Origin::Copy(format!("{parent}.{date}"));
        fields.push(Planned { required: false, ..Planned::new(date, BsonType::Date, copy) });
    }
    fields.push(Planned::list(
        relationship.role(),
        Origin::Embedded(relationship.name.clone()),
        layout.part(relationship, child, &mut Vec::new()),
        Spread::always(page),
    ));
    Some(CollectionPlan {
        name: naming.collection(&[parent, &naming.singular(relationship.role()), "overflow"]),
        purpose: Purpose::Overflow(relationship.name.clone()),
        entity: parent.clone(),
        fields,
        documents: None,
        per_year: 0.0,
        kept_days,
        gone_days: kept_days,
        cold_days: None,
        services: Vec::new(),
        indexes: Vec::new(),
        shard: None,
        unsharded: None,
        kept_each: None,
    })
}
