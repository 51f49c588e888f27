//! Finds the paths of fields that a read names in the documents of a collection.

use std::collections::BTreeMap;

use docward_model::{BsonType, DesignModel, DesignRead, Relationship};

use crate::decide::decision::Decision;
use crate::decide::pattern::{Pattern, Window};
use crate::declared::field_plan::{Origin, Planned};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::fields::Layout;

/// Returns the entities whose fields are in a collection, with the prefix of their paths. The
/// prefix is empty for the entity of the collection, and for example `items.` for an embedded one.
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
    // Pages and lookups do not have the fields of their entity.
    let is_apart = matches!(collection.purpose, Purpose::Overflow(_) | Purpose::UniqueValues(_));
    if let Some(own) = layout.model.entity(&collection.entity).filter(|_| !is_apart) {
        found.insert(own.name.as_str(), String::new());
    }
    within(layout.model, &collection.fields, "", 0, &mut found);
    found
}

/// Returns the relationship that a read names instead of a field, and its decision, which
/// determines the place of the ids.
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

/// Returns the path of a field that a read names: a field of the entity, or the id of another
/// entity.
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
            // For buckets that end by number, a query compares with their end time.
            let word = if matches!(bucket.window, Window::Events(_)) { "end" } else { "start" };
            return layout.naming.field(&["bucket", word]);
        }
        // Fields that the bucket lacks belong to its readings.
        if !fields.iter().any(|field| field.name == name)
            && !bucket.series.contains(&name.to_owned())
        {
            return place_of(layout, collection, "readings.", name);
        }
    }
    let found = named(layout, fields, name);
    match found {
        Some(field) if field.kind == BsonType::Array && !field.fields.is_empty() => {
            // In a list of ids, the id comes first. An embedded object is identified by its first
            // field.
            let known = field.fields.iter().find(|field| field.origin != Origin::Id);
            let id = known.map_or("", |first| first.name.as_str());
            format!("{path}{}.{id}", field.name)
        }
        Some(field) => format!("{path}{}", field.name),
        // The parent that a child is embedded in is found by its own id.
        None if !path.is_empty() && name == collection.entity => match collection.purpose {
            Purpose::Overflow(_) => layout.naming.id_of(name),
            _ => "_id".to_owned(),
        },
        None => {
            // The fields that identify the series may be in one object.
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

/// Returns the field that a read means: one with this name, or the id of another entity.
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
    // The name may be the role of a child with an id field.
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

/// Keeps only the keys of one array, because the server refuses an index over two. Returns the
/// first dropped key.
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

/// Returns the outermost array on the path to a field.
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

/// The field of the attribute pattern.
pub(crate) const ATTRIBUTES: &str = "attributes";

/// Whether a field is stored in the attribute list.
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
