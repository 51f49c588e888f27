//! Translates restrictions on fields by name: named fields, fields that match a pattern, and all
//! others.

use std::collections::BTreeSet;

use bson::{Bson, Document, doc};
use serde_json::{Map, Value};

use crate::draft::is_nameable;

use super::{
    keywords::names_id,
    refs::escaped,
    translate::{Parts, Spot, Translator, never},
};

/// Keywords whose schemas apply to the same value and therefore also evaluate its fields and
/// elements.
pub(super) const IN_PLACE: [&str; 10] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
];

/// Translates `properties`, `patternProperties` and `additionalProperties`, which depend on each
/// other.
pub(super) fn fields(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    members: &Map<String, Value>,
    parts: &mut Parts,
) {
    let mut unnamed = false;
    let mut properties = Document::new();
    if let Some(value) = members.get("properties") {
        match value {
            Value::Object(named) => {
                unnamed |= named.keys().any(|name| !is_nameable(name));
                properties = to.fields(spot, "properties", named);
            }
            _ => to.lose(spot, "properties", "not an object"),
        }
    }
    let mut patterns = Document::new();
    if let Some(value) = members.get("patternProperties") {
        match value {
            Value::Object(named) => {
                for source in named.keys() {
                    let Some(pattern) = to.pattern(spot, "patternProperties", source) else {
                        unnamed = true;
                        continue;
                    };
                    let at = format!("{}/patternProperties/{}", spot.at, escaped(source));
                    let path = crate::draft::join(spot.path, "*");
                    let schema = to.node(Spot { at: &at, path: &path, top: false });
                    patterns.insert(pattern, schema);
                }
            }
            _ => to.lose(spot, "patternProperties", "not an object"),
        }
    }
    let rest = members.get("additionalProperties").and_then(|value| match value {
        Value::Bool(true) => None,
        Value::Bool(false) => Some(Bson::Boolean(false)),
        _ => {
            let at = format!("{}/additionalProperties", spot.at);
            let path = crate::draft::join(spot.path, "*");
            let schema = to.node(Spot { at: &at, path: &path, top: false });
            (!schema.is_empty()).then_some(Bson::Document(schema))
        }
    });
    if rest.is_some() && unnamed {
        let why = "some of its exceptions are not in the schema";
        to.lose(spot, "additionalProperties", why);
    } else if let Some(rest) = rest {
        if spot.top && !properties.contains_key("_id") {
            let mut with_id = doc! { "_id": {} };
            with_id.extend(properties);
            properties = with_id;
        }
        parts.own.insert("additionalProperties", rest);
    }
    if !properties.is_empty() {
        parts.own.insert("properties", properties);
    }
    if !patterns.is_empty() {
        parts.own.insert("patternProperties", patterns);
    }
}

/// Translates restrictions on names if a pattern or a list can express them.
pub(super) fn property_names(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    value: &Value,
    parts: &mut Parts,
) {
    let key = "propertyNames";
    let members = match value {
        Value::Bool(true) => return,
        Value::Bool(false) => {
            let none = if spot.top {
                doc! { "maxProperties": 1 }
            } else {
                doc! { "maxProperties": 0 }
            };
            parts.beside.push(none);
            return;
        }
        Value::Object(members) => members,
        _ => {
            to.lose(spot, key, "a schema is an object or a boolean");
            return;
        }
    };
    let mut only = |properties: Document, patterns: Document| {
        let mut out = doc! { "additionalProperties": false };
        let mut properties = properties;
        if spot.top {
            properties.insert("_id", Document::new());
        }
        if !properties.is_empty() {
            out.insert("properties", properties);
        }
        if !patterns.is_empty() {
            out.insert("patternProperties", patterns);
        }
        parts.beside.push(out);
    };
    for (inner, value) in members {
        match (inner.as_str(), value) {
            ("type", Value::String(kind)) if kind == "string" => {}
            ("pattern", Value::String(source)) => {
                if let Some(pattern) = to.pattern(spot, key, source) {
                    only(Document::new(), doc! { pattern: {} });
                }
            }
            ("minLength" | "maxLength", Value::Number(n))
                if n.as_u64().is_some_and(|n| n < 1000) =>
            {
                let pattern = match inner.as_str() {
                    "minLength" => format!("(?s)^.{{{n},}}$"),
                    _ => format!("(?s)^.{{0,{n}}}\\z"),
                };
                only(Document::new(), doc! { pattern: {} });
            }
            ("enum" | "const", value) => {
                let values = match value {
                    Value::Array(values) if inner == "enum" => values.as_slice(),
                    one => std::slice::from_ref(one),
                };
                let names: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                if names.iter().all(|name| is_nameable(name)) {
                    let named =
                        names.iter().map(|name| ((*name).to_owned(), Document::new().into()));
                    only(named.collect(), Document::new());
                } else {
                    to.lose(spot, key, "a name that a schema for the server cannot contain");
                }
            }
            ("title" | "description" | "$comment", _) => {}
            (other, _) => to.lose(
                spot,
                key,
                format!(
                    "the server cannot check `{other}` for \
             names"
                ),
            ),
        }
    }
}

/// The fields that are certainly evaluated by other keywords.
#[derive(Default)]
struct Seen {
    all: bool,
    uncertain: bool,
    names: Vec<String>,
    patterns: Vec<String>,
    /// The pointers of the schemas that were visited.
    visited: BTreeSet<String>,
}

/// Translates `unevaluatedProperties` if it is certain which fields it covers. This is certain if
/// it stands alone, or together with schemas that always apply.
pub(super) fn unevaluated(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    members: &Map<String, Value>,
    parts: &mut Parts,
) {
    let key = "unevaluatedProperties";
    if members.get(key) == Some(&Value::Bool(true)) {
        return;
    }
    let mut seen = Seen::default();
    look(to, spot.at, &mut seen, 0, true);
    if seen.all {
        return;
    }
    if seen.uncertain {
        to.lose(spot, key, "its fields are determined during validation");
        return;
    }
    // If it stands alone, it is equivalent to `additionalProperties`.
    let alone = !IN_PLACE.iter().any(|key| members.contains_key(*key));
    if alone
        && seen.names.iter().all(|name| is_nameable(name))
        && seen.patterns.is_empty()
        && (!spot.top || names_id(members))
    {
        let rest = rest_of(to, spot, key);
        parts.own.insert("additionalProperties", rest);
        return;
    }
    let mut out = Document::new();
    let mut properties = Document::new();
    if spot.top && !names_id(members) {
        properties.insert("_id", Document::new());
    }
    for name in seen.names {
        if !is_nameable(&name) {
            to.lose(spot, key, "a name that a schema for the server cannot contain");
            return;
        }
        properties.insert(name, Document::new());
    }
    let mut patterns = Document::new();
    for source in seen.patterns {
        let Some(pattern) = to.pattern(spot, key, &source) else { return };
        patterns.insert(pattern, Document::new());
    }
    if !properties.is_empty() {
        out.insert("properties", properties);
    }
    if !patterns.is_empty() {
        out.insert("patternProperties", patterns);
    }
    out.insert("additionalProperties", rest_of(to, spot, key));
    parts.beside.push(out);
}

/// Returns the rule for all other fields.
fn rest_of(to: &mut Translator<'_>, spot: Spot<'_>, key: &str) -> Bson {
    let at = format!("{}/{key}", spot.at);
    let path = crate::draft::join(spot.path, "*");
    let rest = to.node(Spot { at: &at, path: &path, top: false });
    if rest == never() { Bson::Boolean(false) } else { Bson::Document(rest) }
}

fn look(to: &Translator<'_>, at: &str, seen: &mut Seen, depth: usize, own: bool) {
    let Some(Value::Object(members)) = to.root.pointer(at) else { return };
    if depth > 20 {
        seen.uncertain = true;
        return;
    }
    if !seen.visited.insert(at.to_owned()) {
        return;
    }
    for (key, value) in members {
        match (key.as_str(), value) {
            ("properties", Value::Object(named)) => seen.names.extend(named.keys().cloned()),
            ("patternProperties", Value::Object(named)) => {
                seen.patterns.extend(named.keys().cloned());
            }
            ("additionalProperties", _) => seen.all = true,
            ("unevaluatedProperties", _) if !own => seen.all = true,
            ("allOf", Value::Array(schemas)) => {
                for index in 0..schemas.len() {
                    look(to, &format!("{at}/allOf/{index}"), seen, depth + 1, false);
                }
            }
            ("$ref", Value::String(reference)) => match to.refs.resolve(to.root, at, reference) {
                Some(target) if target != at => look(to, &target, seen, depth + 1, false),
                _ => seen.uncertain = true,
            },
            (key, _) if IN_PLACE.contains(&key) => seen.uncertain = true,
            _ => {}
        }
    }
}
