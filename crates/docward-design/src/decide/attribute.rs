//! The attribute pattern: fields with similar searches become a list of names and values. Fields
//! that another part of the design needs by name are excluded.

use docward_model::{BsonType, DesignModel, Entity, EntityField};

use crate::declared::field_plan::discriminator;

/// Minimum number of fields for which the attribute pattern pays off.
const ALIKE: usize = 3;

/// Returns the listed fields of an entity that can be attributes, if there are enough. Also returns
/// remarks on the others.
pub(crate) fn listed(model: &DesignModel, entity: &Entity) -> (Vec<String>, Vec<String>) {
    let (mut fields, mut remarks) = (Vec::new(), Vec::new());
    for field in entity.attributes.iter().filter_map(|name| entity.field(name)) {
        match needed(model, entity, field) {
            Some(why) => remarks.push(format!("`{}` is not an attribute: {why}", field.name)),
            None => fields.push(field.name.clone()),
        }
    }
    if fields.len() >= ALIKE {
        return (fields, remarks);
    }
    if !entity.attributes.is_empty() {
        remarks.push("fewer than three similar fields get separate indexes".to_owned());
    }
    (Vec::new(), remarks)
}

/// Returns why a field must stay separate. An element of the list cannot be sorted, copied or
/// summed by name.
fn needed(model: &DesignModel, entity: &Entity, field: &EntityField) -> Option<String> {
    let name = &field.name;
    if field.unique {
        return Some("it is unique".to_owned());
    }
    if !entity.variants.is_empty() && discriminator(entity) == *name {
        return Some("it distinguishes the kinds".to_owned());
    }
    if entity.variants.iter().any(|variant| variant.fields.iter().any(|f| f.name == *name)) {
        return Some("one of the kinds has a field of the same name".to_owned());
    }
    if entity.series.as_ref().is_some_and(|s| s.time == *name || s.id.contains(name)) {
        return Some("it is part of the series".to_owned());
    }
    if model.deployment.zones.as_ref().is_some_and(|(zone, _)| zone == name) {
        return Some("it determines where documents are stored".to_owned());
    }
    let touching = |relationship: &str| {
        model
            .relationship(relationship)
            .filter(|r| r.child == entity.name || r.parent == entity.name)
    };
    for read in &model.reads {
        if read.from == entity.name && read.sort.iter().any(|(sorted, _)| sorted == name) {
            return Some(format!("`{}` sorts by it", read.name));
        }
        let summed = |(of, sum): &(String, String)| sum == name && touching(of).is_some();
        if read.sums.iter().any(summed) {
            return Some(format!("`{}` sums it", read.name));
        }
        for with in read.with.iter().filter(|with| touching(&with.relationship).is_some()) {
            if with.fields.contains(name) {
                return Some(format!("`{}` reads it by name, together with others", read.name));
            }
            if with.newest.as_ref().is_some_and(|(_, by)| by.as_ref() == Some(name)) {
                return Some(format!("`{}` finds the newest by it", read.name));
            }
        }
    }
    let ages = entity.lifecycle.is_some_and(|l| l.kept_days.is_some() || l.cold_days.is_some())
        || model.relationships.iter().any(|r| r.child == entity.name && r.keep_newest.is_some());
    (field.kind == BsonType::Date && ages).then(|| {
        "it is the expiry date of the \
     documents"
            .to_owned()
    })
}
