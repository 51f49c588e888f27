//! Where the fields that a read names are in the documents of a collection.

use std::collections::BTreeMap;

use docward_model::{BsonType, DesignModel, DesignRead, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::{Pattern, Window};
use crate::declared::field_plan::{Origin, Planned};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;

/// The entities whose fields are in a collection, with where: nothing in front for its own, `items.` for one
/// that is embedded.
pub(crate) fn entities_in<'m>(
    layout: &Layout<'m>,
    collection: &CollectionPlan,
) -> BTreeMap<&'m str, String> {
    fn within<'m>(
        model: &'m DesignModel,
        fields: &[Planned],
        above: &str,
        depth: usize,
        found: &mut BTreeMap<&'m str, String>,
    ) {
        for field in fields.iter().filter(|_| depth < 4) {
            let Origin::Embedded(name) = &field.origin else { continue };
            let Some(relationship) = model.relationship(name) else { continue };
            let path = format!("{above}{}.", field.name);
            found.entry(&relationship.child).or_insert_with(|| path.clone());
            within(model, &field.fields, &path, depth + 1, found);
        }
    }
    let mut found = BTreeMap::new();
    // Pages have elements of a list of their entity, and nothing else of it.
    let is_page = matches!(collection.purpose, Purpose::Overflow(_));
    if let Some(own) = layout.model.entity(&collection.entity).filter(|_| !is_page) {
        found.insert(own.name.as_str(), String::new());
    }
    within(layout.model, &collection.fields, "", 0, &mut found);
    found
}

/// The decision about a relationship that a read names instead of a field: where the ids of what it asks for
/// are held.
pub(crate) fn leads_elsewhere<'l>(
    layout: &Layout<'l>,
    read: &DesignRead,
    name: &str,
) -> Option<(&'l Relationship, &'l Decision)> {
    layout.linked().find(|(r, _)| {
        let ends = [r.parent.as_str(), r.child.as_str()];
        ends.contains(&read.from.as_str())
            && (ends.contains(&name) || r.role() == name || r.name == name)
    })
}

/// The path of a field a read names: its own, or the id of another entity.
pub(crate) fn place_of(
    layout: &Layout<'_>,
    collection: &CollectionPlan,
    path: &str,
    name: &str,
) -> String {
    let fields = fields_at(&collection.fields, path);
    if let Purpose::Bucket(bucket) = &collection.purpose
        && path.is_empty()
    {
        if bucket.time == name {
            // Where buckets end by number, what is asked for lies between their ends.
            let word = if matches!(bucket.window, Window::Events(_)) { "end" } else { "start" };
            return layout.naming.field(&["bucket", word]);
        }
        // What is not of the bucket is of its readings.
        if !fields.iter().any(|field| field.name == name)
            && !bucket.series.contains(&name.to_owned())
        {
            return place_of(layout, collection, "readings.", name);
        }
    }
    let found = named(layout, fields, name);
    match found {
        Some(field) if field.kind == BsonType::Array && !field.fields.is_empty() => {
            // Ids in a list stand first; what is embedded is known by its first field.
            let known = field.fields.iter().find(|field| field.origin != Origin::Id);
            let id = known.map_or("", |first| first.name.as_str());
            format!("{path}{}.{id}", field.name)
        }
        Some(field) => format!("{path}{}", field.name),
        // The parent a child is embedded in: its own id.
        None if !path.is_empty() && name == collection.entity => match collection.purpose {
            Purpose::Overflow(_) => layout.naming.id_of(name),
            _ => "_id".to_owned(),
        },
        None => {
            // What says which series a reading belongs to is kept together.
            let objects = fields.iter().filter(|field| field.kind == BsonType::Object);
            let inside =
                objects.filter_map(|meta| Some((meta, named(layout, &meta.fields, name)?)));
            match inside.into_iter().next() {
                Some((meta, field)) => format!("{path}{}.{}", meta.name, field.name),
                None => format!("{path}{name}"),
            }
        }
    }
}

/// The field that a read means: one of that name, or the id of another entity.
pub(crate) fn named<'f>(
    layout: &Layout<'_>,
    fields: &'f [Planned],
    name: &str,
) -> Option<&'f Planned> {
    let direct = fields.iter().find(|field| field.name == name);
    let reference = || {
        fields.iter().find(|field| match &field.origin {
            Origin::Reference(entity) => {
                entity == name
                    || field.name == layout.naming.id_of(name)
                    || field.name == layout.naming.ids_of(name)
            }
            _ => false,
        })
    };
    // The role of a child whose id has a name of its own.
    let by_role = || {
        let of_role = layout.model.relationships.iter().filter(|r| r.role() == name);
        of_role.into_iter().find_map(|r| {
            let given = layout.naming.child_field(r);
            let is_id = |field: &&Planned| field.origin == Origin::Reference(r.child.clone());
            fields
                .iter()
                .filter(is_id)
                .find(|f| f.name == given || r.field.as_ref() == Some(&f.name))
        })
    };
    direct.filter(|f| !matches!(f.origin, Origin::Copy(_))).or_else(reference).or_else(by_role)
}

/// The server refuses an index through two arrays: keys through a second one are dropped, and the first
/// of them is named.
pub(crate) fn one_array(fields: &[Planned], keys: &mut Vec<(String, bool)>) -> Option<String> {
    let mut through: Option<String> = None;
    let mut dropped = None;
    keys.retain(|(path, _)| {
        let Some(array) = array_of(fields, path) else { return true };
        let first = through.get_or_insert_with(|| array.clone());
        if *first == array {
            return true;
        }
        dropped.get_or_insert_with(|| path.clone());
        false
    });
    dropped
}

/// The outermost array on the way to a field.
pub(crate) fn array_of(fields: &[Planned], path: &str) -> Option<String> {
    let mut at = fields;
    let mut gone = String::new();
    for part in path.split('.') {
        let field = at.iter().find(|field| field.name == part)?;
        gone = if gone.is_empty() { part.to_owned() } else { format!("{gone}.{part}") };
        if field.kind == BsonType::Array {
            return Some(gone);
        }
        at = &field.fields;
    }
    None
}

/// Where the attribute pattern keeps fields.
pub(crate) const ATTRIBUTES: &str = "attributes";

/// Whether a field is one of a list of names and values.
pub(crate) fn is_listed(layout: &Layout<'_>, collection: &CollectionPlan, name: &str) -> bool {
    let advice = layout.advice.iter().find(|a| a.entity == collection.entity);
    advice
        .into_iter()
        .flat_map(|a| &a.patterns)
        .any(|p| matches!(p, Pattern::Attribute { fields } if fields.iter().any(|f| f == name)))
}

pub(crate) fn fields_at<'f>(fields: &'f [Planned], path: &str) -> &'f [Planned] {
    let mut at = fields;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        match at.iter().find(|field| field.name == part) {
            Some(field) => at = &field.fields,
            None => return &[],
        }
    }
    at
}
