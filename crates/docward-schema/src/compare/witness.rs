//! Searches for a document that one validator accepts and another refuses.
//!
//! A document that satisfies the first is generated from its schema, and changed at each path where
//! the two differ: another type, a value at a limit, a field removed or added. Both validators
//! evaluate every candidate, so a poor candidate costs time but never gives a wrong answer.

use std::collections::BTreeSet;

use bson::{Bson, Document};
use docward_model::BsonType;

use super::{Change, facts};
use crate::{Validator, as_stored};

/// The maximum number of candidates.
const MAX_CANDIDATES: usize = 20_000;

/// Searches for a document that `accepting` accepts and `refusing` refuses.
pub(super) fn find(
    accepted: &Document,
    refused: &Document,
    accepting: &Validator,
    refusing: &Validator,
    changes: &[Change],
) -> Option<Document> {
    let (schema, other) = (facts::schema_of(accepted), facts::schema_of(refused));
    let bases: Vec<Document> = [schema, other]
        .into_iter()
        .flatten()
        .flat_map(|schema| [sample(schema, true), sample(schema, false)])
        .filter_map(|value| value.as_document().cloned())
        .chain([Document::new()])
        // An `_id` need not be one that the server generates.
        .flat_map(|base| {
            let mut with_own = bson::doc! { "_id": 1 };
            with_own.extend(base.clone());
            [base, with_own]
        })
        .collect();
    let mut tried = 0;
    let mut is_found = |document: &Document| {
        tried += 1;
        let bytes = document.to_vec().ok()?;
        // Every stored document has an `_id`.
        let bytes = as_stored(&bytes).ok()?;
        let shown = accepting.accepts(&bytes).ok()? && !refusing.accepts(&bytes).ok()?;
        Some(shown && tried <= MAX_CANDIDATES)
    };
    for base in &bases {
        if is_found(base) == Some(true) {
            return Some(base.clone());
        }
    }
    for change in changes {
        let values = values_for(&said_at(&change.path, [schema, other]), change);
        for base in &bases {
            let steps = steps(&change.path);
            if let Some(document) = without(base, &steps)
                && is_found(&document) == Some(true)
            {
                return Some(document);
            }
            for value in &values {
                for document in with(base, &steps, value) {
                    if is_found(&document) == Some(true) {
                        return Some(document);
                    }
                }
            }
        }
    }
    None
}

/// Splits `items[].price` into steps: names, and `[]` for elements.
fn steps(path: &str) -> Vec<String> {
    let mut out = Vec::new();
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let name = part.trim_end_matches("[]");
        if !name.is_empty() {
            out.push(name.to_owned());
        }
        out.extend(std::iter::repeat_n("[]".to_owned(), (part.len() - name.len()) / 2));
    }
    out
}

/// Returns all keywords at a path. Their limits are tried, even if another keyword changed.
fn said_at(path: &str, schemas: [Option<&Document>; 2]) -> Vec<Bson> {
    let places = schemas.map(facts::places);
    let here = places.iter().filter_map(|places| places.get(path));
    here.flat_map(|place| place.facts.keywords.values().cloned()).collect()
}

/// Returns values to try at a path where something changed.
fn values_for(said: &[Bson], change: &Change) -> Vec<Bson> {
    let mut values = Vec::new();
    for said in said.iter().chain(&change.before).chain(&change.after) {
        match said {
            Bson::Array(several) => values.extend(several.iter().cloned()),
            Bson::Document(schema) => values.extend([sample(schema, true), sample(schema, false)]),
            _ => {}
        }
        let limit = match said {
            Bson::Int32(n) => Some(i64::from(*n)),
            Bson::Int64(n) => Some(*n),
            Bson::Double(n) if n.abs() < 1e15 => Some(*n as i64),
            _ => None,
        };
        if let Some(limit) = limit {
            for n in [limit.saturating_sub(1), limit, limit.saturating_add(1)] {
                values.extend(i32::try_from(n).ok().map(Bson::Int32));
                values.push(Bson::Int64(n));
                values.push(Bson::Double(n as f64));
                values.push(Bson::Double(n as f64 + 0.5));
                if let Some(count) = usize::try_from(n).ok().filter(|count| *count <= 100_000) {
                    values.push(Bson::String("a".repeat(count)));
                    if count <= 2000 {
                        values.push(Bson::Array(
                            (0..count).map(|at| Bson::Int32(at as i32)).collect(),
                        ));
                        values.push(Bson::Array(vec![Bson::Document(Document::new()); count]));
                        values.push(Bson::Array(vec![Bson::String("a".to_owned()); count]));
                    }
                }
            }
        }
    }
    values.extend(BsonType::ALL.into_iter().filter_map(of_type));
    values.push(Bson::String(String::new()));
    values.push(Bson::Array(vec![Bson::Int32(1), Bson::Int32(1)]));
    values
}

/// Documents with a value at a path. If the steps lead through arrays, the value is put into one
/// element, or into an array extended to the length that another value requires.
fn with(base: &Document, steps: &[String], value: &Bson) -> Vec<Document> {
    let mut document = Bson::Document(base.clone());
    put(&mut document, steps, value);
    let mut out: Vec<Document> = document.as_document().cloned().into_iter().collect();
    // A field that no schema names, next to the path.
    if let Some(parent) = steps.split_last().map(|(_, parent)| parent) {
        let mut document = Bson::Document(base.clone());
        let mut path = parent.to_vec();
        path.push("unnamed".to_owned());
        put(&mut document, &path, value);
        out.extend(document.as_document().cloned());
    } else {
        let mut document = base.clone();
        document.insert("unnamed", value.clone());
        out.push(document);
    }
    out
}

fn put(at: &mut Bson, steps: &[String], value: &Bson) {
    let Some((step, rest)) = steps.split_first() else {
        *at = value.clone();
        return;
    };
    if step == "[]" {
        if !matches!(at, Bson::Array(elements) if !elements.is_empty()) {
            *at = Bson::Array(vec![Bson::Null]);
        }
        if let Bson::Array(elements) = at {
            put(&mut elements[0], rest, value);
        }
        return;
    }
    if !matches!(at, Bson::Document(_)) {
        *at = Bson::Document(Document::new());
    }
    if let Bson::Document(document) = at {
        put(document.entry(step.clone()).or_insert(Bson::Null), rest, value);
    }
}

fn without(base: &Document, steps: &[String]) -> Option<Document> {
    let (last, parents) = steps.split_last()?;
    let mut document = Bson::Document(base.clone());
    let mut at = &mut document;
    for step in parents {
        at = match (at, step.as_str()) {
            (Bson::Array(elements), "[]") => elements.first_mut()?,
            (Bson::Document(document), step) => document.get_mut(step)?,
            _ => return None,
        };
    }
    at.as_document_mut()?.remove(last)?;
    document.as_document().cloned()
}

/// A value that a schema is likely to accept: with all its properties, or only those it requires.
fn sample(schema: &Document, whole: bool) -> Bson {
    sample_at(schema, whole, 0)
}

fn sample_at(schema: &Document, whole: bool, depth: u32) -> Bson {
    if depth > 20 {
        return Bson::Null;
    }
    let mut schema = schema.clone();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get_array(keyword).cloned().unwrap_or_default();
        let taken = if keyword == "allOf" { parts.len() } else { 1 };
        for part in parts.iter().take(taken).filter_map(Bson::as_document) {
            for (key, value) in part {
                match (schema.get_mut(key), value) {
                    (Some(Bson::Document(before)), Bson::Document(more)) => {
                        before.extend(more.clone());
                    }
                    (Some(Bson::Array(before)), Bson::Array(more)) if key == "required" => {
                        before.extend(more.iter().cloned());
                    }
                    (Some(_), _) => {}
                    (None, value) => {
                        schema.insert(key.clone(), value.clone());
                    }
                }
            }
        }
    }
    if let Some(first) = schema.get_array("enum").ok().and_then(|values| values.first()) {
        return first.clone();
    }
    let places = facts::places(Some(&schema));
    let types = places.get("").and_then(|place| place.facts.types());
    let about = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(key));
    let kind = match &types {
        Some(types) => preferred(types),
        None if about(&["properties", "required", "minProperties"]) => BsonType::Object,
        None if about(&["items", "minItems", "maxItems", "uniqueItems"]) => BsonType::Array,
        None if about(&["minimum", "maximum", "multipleOf"]) => BsonType::Int,
        None => BsonType::String,
    };
    let count = |key: &str| match schema.get(key) {
        Some(Bson::Int32(n)) => usize::try_from(*n).ok(),
        Some(Bson::Int64(n)) => usize::try_from(*n).ok(),
        Some(Bson::Double(n)) if *n >= 0.0 => Some(*n as usize),
        _ => None,
    };
    match kind {
        BsonType::Object => {
            let mut out = Document::new();
            let empty = Document::new();
            let properties = schema.get_document("properties").unwrap_or(&empty);
            let required: BTreeSet<&str> = schema
                .get_array("required")
                .map(|names| names.iter().filter_map(Bson::as_str).collect())
                .unwrap_or_default();
            for (name, property) in properties {
                if whole || required.contains(name.as_str()) {
                    let property = property.as_document().unwrap_or(&empty);
                    out.insert(name.clone(), sample_at(property, whole, depth + 1));
                }
            }
            for name in required {
                if !out.contains_key(name) {
                    out.insert(name, "a");
                }
            }
            let least = count("minProperties").unwrap_or(0);
            (0..least.min(1000)).map(|n| format!("extra{n}")).for_each(|name| {
                if out.len() < least {
                    out.insert(name, "a");
                }
            });
            Bson::Document(out)
        }
        BsonType::Array => {
            let empty = Document::new();
            let items = schema.get_document("items").unwrap_or(&empty);
            let least = count("minItems").unwrap_or(usize::from(whole)).min(2000);
            Bson::Array((0..least).map(|_| sample_at(items, whole, depth + 1)).collect())
        }
        BsonType::String => Bson::String(text(&schema, count("minLength").unwrap_or(1))),
        kind if kind.is_number() => within(&schema, kind),
        kind => of_type(kind).unwrap_or(Bson::Null),
    }
}

/// A text of at least this length; for formats that are common in schemas, one that matches.
fn text(schema: &Document, least: usize) -> String {
    const COMMON: [&str; 9] = [
        "someone@example.com",
        "550e8400-e29b-41d4-a716-446655440000",
        "65f3a2b8c1d2e3f4a5b6c7d8",
        "+8613800138000",
        "13800138000",
        "2024-03-15",
        "https://example.com/",
        "ABC-123",
        "1",
    ];
    let filled = "a".repeat(least.clamp(1, 100_000));
    let Ok(pattern) = schema.get_str("pattern") else { return filled };
    let Ok(pattern) = crate::pattern::Pattern::new(pattern) else { return filled };
    let fits = |text: &&str| text.chars().count() >= least && pattern.is_in(text.as_bytes());
    COMMON.into_iter().find(fits).map_or(filled, str::to_owned)
}

/// A number between the limits.
fn within(schema: &Document, kind: BsonType) -> Bson {
    let limit = |key: &str| schema.get(key).and_then(super::number);
    let n = match (limit("minimum"), limit("maximum")) {
        (Some(low), Some(high)) => ((low + high) / 2.0).round().max(low).min(high),
        (Some(low), None) => low + 1.0,
        (None, Some(high)) => high - 1.0,
        (None, None) => 1.0,
    };
    match kind {
        BsonType::Int => Bson::Int32(n as i32),
        BsonType::Long => Bson::Int64(n as i64),
        BsonType::Double => Bson::Double(n),
        _ => format!("{n}").parse().map_or(Bson::Null, Bson::Decimal128),
    }
}

/// The type to try first: one that other keywords apply to.
fn preferred(types: &BTreeSet<BsonType>) -> BsonType {
    let order = [BsonType::Object, BsonType::String, BsonType::Int, BsonType::Array];
    let first = order.into_iter().find(|kind| types.contains(kind));
    first
        .or_else(|| types.iter().find(|kind| **kind != BsonType::Null).copied())
        .unwrap_or(BsonType::Null)
}

/// A value of a type.
fn of_type(kind: BsonType) -> Option<Bson> {
    Some(match kind {
        BsonType::Double => Bson::Double(1.5),
        BsonType::String => Bson::String("a".to_owned()),
        BsonType::Object => Bson::Document(Document::new()),
        BsonType::Array => Bson::Array(Vec::new()),
        BsonType::BinData => Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![1],
        }),
        BsonType::ObjectId => Bson::ObjectId(bson::oid::ObjectId::from_bytes([1; 12])),
        BsonType::Bool => Bson::Boolean(true),
        BsonType::Date => Bson::DateTime(bson::DateTime::from_millis(1)),
        BsonType::Null => Bson::Null,
        BsonType::Int => Bson::Int32(1),
        BsonType::Timestamp => Bson::Timestamp(bson::Timestamp { time: 1, increment: 1 }),
        BsonType::Long => Bson::Int64(1),
        BsonType::Decimal => "1".parse().map_or(Bson::Null, Bson::Decimal128),
        BsonType::MinKey => Bson::MinKey,
        BsonType::MaxKey => Bson::MaxKey,
        _ => return None,
    })
}
