//! The constraints of a schema by path, so that two schemas can be compared.

use std::collections::{BTreeMap, BTreeSet};

use bson::{Bson, Document};
use docward_model::BsonType;

/// Constraints by path.
pub(super) type Places = BTreeMap<String, Place>;

/// The constraints of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// True if the field is required.
    pub(super) required: bool,
    /// True if `properties` names the field.
    pub(super) named: bool,
    pub(super) facts: Facts,
}

/// The keywords of one path, except for types.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    types: Option<BTreeSet<BsonType>>,
    pub(super) keywords: BTreeMap<String, Bson>,
}

impl Facts {
    /// The permitted types; `None` for all.
    pub(super) fn types(&self) -> Option<BTreeSet<BsonType>> {
        self.types.clone()
    }
}

/// The schema of a validator; `None` if there is none, which permits everything.
pub(super) fn schema_of(validator: &Document) -> Option<&Document> {
    validator.get_document("$jsonSchema").ok()
}

/// The constraints of a schema.
pub(super) fn places(schema: Option<&Document>) -> Places {
    let mut out = Places::new();
    if let Some(schema) = schema {
        walk(schema, "", &mut out);
    }
    out
}

/// Returns whether the object around a path permits no fields that it does not name.
pub(super) fn is_closed_around(places: &Places, path: &str) -> bool {
    said_around(places, path, "additionalProperties") == Some(&Bson::Boolean(false))
}

/// Returns whether the object around a path has a schema for fields that it does not name.
pub(super) fn is_ruled_around(places: &Places, path: &str) -> bool {
    matches!(said_around(places, path, "additionalProperties"), Some(Bson::Document(_)))
        || said_around(places, path, "patternProperties").is_some()
}

/// The path of the object around a path.
fn parent(path: &str) -> &str {
    let end = match path.strip_suffix('"') {
        // A quoted name begins at its other quotation mark.
        Some(inner) => inner.rfind("\"").map_or(0, |quote| quote.saturating_sub(1)),
        None => path.rfind('.').unwrap_or(0),
    };
    path.get(..end).unwrap_or("")
}

fn said_around<'p>(places: &'p Places, path: &str, keyword: &str) -> Option<&'p Bson> {
    places.get(parent(path))?.facts.keywords.get(keyword)
}

/// The path of a field. A name that could be read as a path is quoted, so that two fields never
/// share a path.
fn child(path: &str, name: &str) -> String {
    let is_odd = name.is_empty() || name.contains(['.', '"']) || name.ends_with("[]");
    let name = &if is_odd { format!("{name:?}") } else { name.to_owned() };
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn walk(schema: &Document, path: &str, out: &mut Places) {
    out.entry(path.to_owned()).or_default();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("bsonType" | "type", _) => {
                let types = types(keyword, value);
                let place = out.entry(path.to_owned()).or_default();
                place.facts.types = Some(types);
            }
            ("required", Bson::Array(names)) => {
                for name in names.iter().filter_map(Bson::as_str) {
                    out.entry(child(path, name)).or_default().required = true;
                }
            }
            ("properties", Bson::Document(properties)) => {
                for (name, schema) in properties {
                    let at = child(path, name);
                    out.entry(at.clone()).or_default().named = true;
                    if let Some(schema) = schema.as_document() {
                        walk(schema, &at, out);
                    }
                }
            }
            ("items", Bson::Document(items)) => walk(items, &format!("{path}[]"), out),
            (keyword, value) => {
                let place = out.entry(path.to_owned()).or_default();
                place.facts.keywords.insert(keyword.to_owned(), value.clone());
            }
        }
    }
}

/// The types that keyword values name.
fn types(keyword: &str, value: &Bson) -> BTreeSet<BsonType> {
    let words: Vec<&str> = match value {
        Bson::String(word) => vec![word],
        Bson::Array(words) => words.iter().filter_map(Bson::as_str).collect(),
        _ => Vec::new(),
    };
    let mut out = BTreeSet::new();
    for word in words {
        match word {
            "number" => out.extend(BsonType::ALL.into_iter().filter(|kind| kind.is_number())),
            "boolean" if keyword == "type" => {
                out.insert(BsonType::Bool);
            }
            word => out.extend(BsonType::ALL.into_iter().find(|kind| kind.name() == word)),
        }
    }
    out
}
