//! Translates the keywords that restrict values.

use bson::{Bson, Document, doc};
use serde_json::{Map, Value};

use crate::{
    draft::is_nameable,
    shape::{count, whole},
};

use super::{
    names,
    translate::{Parts, Spot, Translator, never},
};

/// The order of keywords in the output.
pub(super) const ORDER: [&str; 28] = [
    "title",
    "description",
    "bsonType",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "dependencies",
    "items",
    "additionalItems",
    "minItems",
    "maxItems",
    "uniqueItems",
    "enum",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

const KNOWN: [&str; 30] = [
    "type",
    "bsonType",
    "enum",
    "const",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "pattern",
    "required",
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "items",
    "prefixItems",
    "contains",
    "unevaluatedItems",
];

/// The server's names of types, for schemas that already use `bsonType`.
const BSON_TYPES: [&str; 21] = [
    "double",
    "string",
    "object",
    "array",
    "binData",
    "undefined",
    "objectId",
    "bool",
    "date",
    "null",
    "regex",
    "dbPointer",
    "javascript",
    "symbol",
    "javascriptWithScope",
    "int",
    "timestamp",
    "long",
    "decimal",
    "minKey",
    "maxKey",
];

pub(super) fn is_known(key: &str) -> bool {
    KNOWN.contains(&key) || key == "maxContains"
}

pub(super) fn translate(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    key: &str,
    value: &Value,
    members: &Map<String, Value>,
    parts: &mut Parts,
) {
    match key {
        "type" => {
            let mut kinds = types(value);
            if kinds.is_empty() {
                to.lose(spot, key, "no type of JSON");
                return;
            }
            if members.get("nullable") == Some(&Value::Bool(true)) && !kinds.contains(&"null") {
                kinds.push("null");
            }
            insert_type(parts, bson_type(kinds));
        }
        "bsonType" => {
            let names: Vec<&str> = listed(value).into_iter().filter_map(Value::as_str).collect();
            let mut kinds: Vec<&'static str> = Vec::new();
            for name in &names {
                let known = BSON_TYPES.iter().chain(&["number"]).find(|known| *known == name);
                if let Some(known) = known.filter(|known| !kinds.contains(known)) {
                    kinds.push(known);
                }
            }
            if kinds.is_empty() || kinds.len() != listed(value).len() {
                to.lose(spot, key, "no type of the server");
                return;
            }
            insert_type(parts, bson_type(kinds));
        }
        "enum" => match value {
            Value::Array(values) => insert_enum(parts, values),
            _ => to.lose(spot, key, "not a list of values"),
        },
        "const" => insert_enum(parts, std::slice::from_ref(value)),
        "multipleOf" => match value.as_f64().filter(|n| *n > 0.0 && n.is_finite()) {
            Some(_) => {
                parts.own.insert(key, bson(value));
            }
            None => to.lose(spot, key, "not a number above zero"),
        },
        "minimum" | "exclusiveMinimum" => {
            bound(to, spot, key, members, parts, ("minimum", "exclusiveMinimum", f64::gt));
        }
        "maximum" | "exclusiveMaximum" => {
            bound(to, spot, key, members, parts, ("maximum", "exclusiveMaximum", f64::lt));
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            let Some(mut n) = natural(value) else {
                to.lose(spot, key, "not a whole number from 0 on");
                return;
            };
            // Every stored document has an `_id`, which the schema may not list.
            if spot.top && key.ends_with("Properties") && !names_id(members) {
                n = n.saturating_add(1);
            }
            parts.own.insert(key, count(n));
        }
        "uniqueItems" if value == &Value::Bool(true) => {
            parts.own.insert(key, true);
        }
        "pattern" => match value.as_str() {
            Some(source) => {
                if let Some(pattern) = to.pattern(spot, key, source) {
                    parts.own.insert(key, pattern);
                }
            }
            None => to.lose(spot, key, "not a text"),
        },
        "required" => required(to, spot, value, parts),
        "properties" | "patternProperties" | "additionalProperties" => {
            // These three keywords are translated together, when the first of them is reached.
            let first = ["properties", "patternProperties", "additionalProperties"]
                .into_iter()
                .find(|name| members.contains_key(*name));
            if first == Some(key) {
                names::fields(to, spot, members, parts);
            }
        }
        "propertyNames" => names::property_names(to, spot, value, parts),
        "unevaluatedProperties" => names::unevaluated(to, spot, members, parts),
        "dependentRequired" | "dependentSchemas" | "dependencies" => {
            dependencies(to, spot, key, value, parts);
        }
        "items" | "prefixItems" => items(to, spot, key, members, parts),
        "unevaluatedItems" => unevaluated_items(to, spot, members, parts),
        "contains" => contains(to, spot, members, parts),
        "maxContains" if members.contains_key("contains") => {
            to.lose(spot, key, "the server does not count matching elements");
        }
        _ => {}
    }
}

fn listed(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    }
}

/// Returns the server's types for JSON types. Returns no types if one of them is unknown.
pub(super) fn types(value: &Value) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for name in listed(value) {
        let here: &[&'static str] = match name.as_str().unwrap_or_default() {
            "string" => &["string"],
            "number" => &["number"],
            "integer" => &["int", "long"],
            "boolean" => &["bool"],
            "object" => &["object"],
            "array" => &["array"],
            "null" => &["null"],
            _ => return Vec::new(),
        };
        for kind in here {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
    }
    if kinds.contains(&"number") {
        kinds.retain(|kind| *kind != "int" && *kind != "long");
    }
    kinds
}

pub(super) fn bson_type(kinds: Vec<&'static str>) -> Bson {
    match kinds.as_slice() {
        [only] => Bson::from(*only),
        several => Bson::Array(several.iter().map(|kind| Bson::from(*kind)).collect()),
    }
}

fn insert_type(parts: &mut Parts, kinds: Bson) {
    if parts.own.contains_key("bsonType") {
        parts.beside.push(doc! { "bsonType": kinds });
    } else {
        parts.own.insert("bsonType", kinds);
    }
}

fn insert_enum(parts: &mut Parts, values: &[Value]) {
    let mut kept: Vec<&Value> = Vec::new();
    for value in values {
        // Values that no document can hold are dropped.
        if storable(value) && !kept.iter().any(|before| equal(before, value)) {
            kept.push(value);
        }
    }
    let values: Vec<Bson> = kept.into_iter().map(bson).collect();
    if values.is_empty() {
        parts.beside.push(never());
    } else if parts.own.contains_key("enum") {
        parts.beside.push(doc! { "enum": values });
    } else {
        parts.own.insert("enum", values);
    }
}

fn storable(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(storable),
        Value::Object(members) => members.iter().all(|(k, v)| !k.contains('\0') && storable(v)),
        _ => true,
    }
}

/// Compares values as JSON Schema and the server do: numbers by value, objects regardless of field
/// order.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().is_some_and(|a| Some(a) == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Returns a value as a driver would write it. Integers get the narrowest type.
pub(super) fn bson(value: &Value) -> Bson {
    match value {
        Value::Null => Bson::Null,
        Value::Bool(value) => Bson::Boolean(*value),
        Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(n), _) => whole(n),
            // Doubles represent all integers up to 2^53 exactly.
            (None, Some(n)) if n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0 => {
                whole(n as i64)
            }
            (None, n) => Bson::Double(n.unwrap_or(f64::MAX)),
        },
        Value::String(text) => Bson::from(text.as_str()),
        Value::Array(values) => Bson::Array(values.iter().map(bson).collect()),
        Value::Object(members) => {
            let mut out = Document::new();
            for (name, member) in members {
                out.insert(name, bson(member));
            }
            Bson::Document(out)
        }
    }
}

fn natural(value: &Value) -> Option<u64> {
    let n = value.as_f64().filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 9e18)?;
    Some(value.as_u64().unwrap_or(n as u64))
}

/// Translates a bound. Newer drafts have two keywords for it; draft 4 and the server have a keyword
/// and a flag.
fn bound(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    key: &str,
    members: &Map<String, Value>,
    parts: &mut Parts,
    (plain, exclusive, tighter): (&str, &str, fn(&f64, &f64) -> bool),
) {
    if parts.own.contains_key(plain) {
        return;
    }
    let limit = members.get(plain).filter(|value| value.is_number());
    match members.get(exclusive) {
        Some(other @ Value::Number(_)) => {
            let apart = match (limit.and_then(Value::as_f64), other.as_f64()) {
                (Some(limit), Some(other)) => tighter(&limit, &other),
                _ => false,
            };
            if let Some(limit) = limit.filter(|_| apart) {
                parts.own.insert(plain, bson(limit));
            } else {
                parts.own.insert(plain, bson(other));
                parts.own.insert(exclusive, true);
            }
        }
        flag => match limit {
            Some(limit) => {
                parts.own.insert(plain, bson(limit));
                if flag == Some(&Value::Bool(true)) {
                    parts.own.insert(exclusive, true);
                }
            }
            None if flag.is_some_and(Value::is_boolean) && key == exclusive => {}
            None => to.lose(spot, key, "not a number"),
        },
    }
}

fn required(to: &mut Translator<'_>, spot: Spot<'_>, value: &Value, parts: &mut Parts) {
    let Value::Array(values) = value else {
        to.lose(spot, "required", "not a list of names");
        return;
    };
    let mut names: Vec<Bson> = Vec::new();
    for name in values {
        match name.as_str() {
            Some(name) if is_nameable(name) => {
                let name = Bson::from(name);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            Some(_) => to.lose(
                spot,
                "required",
                "a name that a schema for the server cannot \
             contain",
            ),
            None => to.lose(spot, "required", "not a list of names"),
        }
    }
    if !names.is_empty() {
        parts.own.insert("required", names);
    }
}

pub(super) fn names_id(members: &Map<String, Value>) -> bool {
    members
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| properties.contains_key("_id"))
}

fn dependencies(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    key: &str,
    value: &Value,
    parts: &mut Parts,
) {
    let Value::Object(members) = value else {
        to.lose(spot, key, "not an object");
        return;
    };
    let mut out = Document::new();
    for (name, wanted) in members {
        if !is_nameable(name) {
            to.lose(spot, key, "a name that a schema for the server cannot contain");
            continue;
        }
        match wanted {
            Value::Array(_) | Value::String(_) => {
                let mut names: Vec<Bson> = Vec::new();
                for wanted in listed(wanted) {
                    match wanted.as_str().filter(|wanted| is_nameable(wanted)) {
                        Some(wanted) if !names.contains(&Bson::from(wanted)) => {
                            names.push(wanted.into())
                        }
                        Some(_) => {}
                        None => {
                            to.lose(
                                spot,
                                key,
                                "a name that a schema for the server cannot \
                             contain",
                            );
                        }
                    }
                }
                if !names.is_empty() {
                    out.insert(name, names);
                }
            }
            _ => {
                let below = format!("{key}/{}", super::refs::escaped(name));
                let schema = to.same_value(spot, &below);
                if !schema.is_empty() {
                    out.insert(name, schema);
                }
            }
        }
    }
    if out.is_empty() {
        return;
    }
    if parts.own.contains_key("dependencies") {
        parts.beside.push(doc! { "dependencies": out });
    } else {
        parts.own.insert("dependencies", out);
    }
}

/// Translates the elements of an array. Elements with a fixed position come from `prefixItems`, or
/// from a list under `items` in older drafts.
fn items(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    key: &str,
    members: &Map<String, Value>,
    parts: &mut Parts,
) {
    let prefix =
        members.get("prefixItems").and_then(Value::as_array).filter(|list| !list.is_empty());
    // Both keywords are translated together, at `prefixItems` if it is not empty.
    if key == "items" && prefix.is_some() {
        return;
    }
    let (listed, rest) = match (prefix, members.get("items")) {
        (Some(list), _) => (Some(("prefixItems", list.len())), "items"),
        (None, Some(Value::Array(list))) => (Some(("items", list.len())), "additionalItems"),
        (None, Some(_)) => (None, "items"),
        (None, None) => return,
    };
    if key == "prefixItems" && listed.is_none_or(|(name, _)| name != "prefixItems") {
        return;
    }
    let path = format!("{}[]", spot.path);
    let mut element = |below: String| {
        let at = format!("{}/{below}", spot.at);
        to.node(Spot { at: &at, path: &path, top: false })
    };
    match listed {
        None => {
            let each = element("items".to_owned());
            if !each.is_empty() {
                parts.own.insert("items", each);
            }
        }
        Some((name, length)) => {
            let by_position: Vec<Bson> =
                (0..length).map(|index| element(format!("{name}/{index}")).into()).collect();
            let others = members.get(rest).map(|value| match value {
                Value::Bool(value) => Bson::Boolean(*value),
                _ => element(rest.to_owned()).into(),
            });
            if by_position.is_empty() {
                match others {
                    Some(Bson::Boolean(false)) => {
                        parts.own.insert("items", never());
                    }
                    Some(Bson::Document(others)) => {
                        parts.own.insert("items", others);
                    }
                    _ => {}
                }
                return;
            }
            parts.own.insert("items", by_position);
            if let Some(others) = others.filter(|others| *others != Bson::Boolean(true)) {
                parts.own.insert("additionalItems", others);
            }
        }
    }
}

/// Translates `unevaluatedItems` if it is certain which elements it covers. It is then equivalent
/// to a rule for all remaining elements.
fn unevaluated_items(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    members: &Map<String, Value>,
    parts: &mut Parts,
) {
    let elsewhere = names::IN_PLACE.iter().chain(&["contains"]);
    if members.get("unevaluatedItems") == Some(&Value::Bool(true)) {
        return;
    }
    let all_seen = match members.get("items") {
        Some(Value::Array(_)) => members.contains_key("additionalItems"),
        Some(_) => true,
        None => false,
    };
    if all_seen {
        return;
    }
    if elsewhere.into_iter().any(|key| members.contains_key(*key)) {
        to.lose(spot, "unevaluatedItems", "its elements are determined during validation");
        return;
    }
    let path = format!("{}[]", spot.path);
    let at = format!("{}/unevaluatedItems", spot.at);
    let rest = to.node(Spot { at: &at, path: &path, top: false });
    let by_position = ["prefixItems", "items"]
        .into_iter()
        .find_map(|key| members.get(key).and_then(Value::as_array).filter(|list| !list.is_empty()));
    match by_position {
        None => {
            parts.own.insert("items", rest);
        }
        Some(list) => {
            let open = vec![Bson::from(Document::new()); list.len()];
            parts.beside.push(doc! { "items": open, "additionalItems": rest });
        }
    }
}

/// Translates `contains` as "not every element fails to match".
fn contains(
    to: &mut Translator<'_>,
    spot: Spot<'_>,
    members: &Map<String, Value>,
    parts: &mut Parts,
) {
    let least = members.get("minContains").map_or(Some(1), natural);
    match least {
        Some(0) => return,
        Some(1) => {}
        _ => to.lose(spot, "minContains", "the server does not count matching elements"),
    }
    let path = format!("{}[]", spot.path);
    let at = format!("{}/contains", spot.at);
    let wanted = to.node(Spot { at: &at, path: &path, top: false });
    let some = doc! { "items": { "not": wanted.clone() } };
    let array_only = members.get("type").is_some_and(|kind| kind == "array");
    let found = if wanted.is_empty() {
        doc! { "minItems": 1 }
    } else if array_only && !members.contains_key("not") {
        parts.own.insert("not", some);
        return;
    } else {
        doc! { "anyOf": [
            { "not": { "bsonType": "array" } },
            { "not": some },
        ] }
    };
    parts.beside.push(found);
}
