//! Schemas out of files, whatever they are wrapped in.

use std::path::Path;

use anyhow::{Context, bail};
use docward_bson::{
    json,
    walk::{Element, Elements},
};
use docward_model::Namespace;

/// A validator out of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loaded {
    /// The collection it is meant for, when the file says.
    pub(crate) namespace: Option<Namespace>,
    /// The validator as a document: `{$jsonSchema: …}`, query operators, or both.
    pub(crate) validator: Vec<u8>,
}

/// Words that only a schema begins with.
const KEYWORDS: [&str; 12] = [
    "bsonType",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "enum",
    "title",
];

/// Words of other dialects of JSON Schema, which the server refuses.
const FOREIGN: [&str; 5] = ["$schema", "$id", "$ref", "$defs", "definitions"];

/// Reads the validators of a file.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Loaded>> {
    let shown = path.display();
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the schema {shown}"))?;
    let document = json::parse_one(text.trim_start_matches('\u{feff}'))
        .map_err(|error| anyhow::anyhow!("{shown}: not a JSON document: {error}"))?;
    unwrap(&document).with_context(|| shown.to_string())
}

/// Finds the validators in a document.
pub(crate) fn unwrap(document: &[u8]) -> anyhow::Result<Vec<Loaded>> {
    let fields = fields(document)?;
    let find = |key: &str| fields.iter().find(|field| field.key == key.as_bytes());
    if fields.is_empty() {
        bail!(
            "it holds nothing; a schema looks like {{\"$jsonSchema\": {{\"bsonType\": \"object\", …}}}}"
        );
    }
    // The metadata of a dump, listCollections, and commands that set a validator.
    if let Some(options) = find("options").filter(|field| field.tag == OBJECT) {
        let inner = self::fields(options.value)?;
        let Some(validator) = inner.iter().find(|field| field.key == b"validator") else {
            bail!("the options of this collection hold no validator");
        };
        return Ok(vec![Loaded { namespace: None, validator: validator.value.to_vec() }]);
    }
    if let Some(validator) = find("validator").filter(|field| field.tag == OBJECT) {
        return Ok(vec![Loaded { namespace: None, validator: validator.value.to_vec() }]);
    }
    if let Some(foreign) = FOREIGN.iter().find(|key| find(key).is_some()) {
        bail!(
            "`{foreign}` belongs to a dialect of JSON Schema that MongoDB refuses; translate it with `docward schema import`"
        );
    }
    if fields.iter().any(|field| field.key.starts_with(b"$")) {
        return Ok(vec![Loaded { namespace: None, validator: document.to_vec() }]);
    }
    // What `schema infer` writes for several collections.
    let by_name: Option<Vec<Loaded>> = fields
        .iter()
        .map(|field| {
            let name = std::str::from_utf8(field.key).ok()?;
            let namespace = Namespace::parse(name)?;
            let inner = self::fields(field.value).ok().filter(|_| field.tag == OBJECT)?;
            let is_validator = inner.iter().any(|field| field.key == b"$jsonSchema");
            is_validator
                .then(|| Loaded { namespace: Some(namespace), validator: field.value.to_vec() })
        })
        .collect();
    if let Some(several) = by_name {
        return Ok(several);
    }
    if KEYWORDS.iter().any(|key| find(key).is_some()) {
        return Ok(vec![Loaded { namespace: None, validator: wrap(document) }]);
    }
    // Conditions on fields: {qty: {$gt: 0}}.
    if fields.iter().all(|field| is_condition(field)) {
        return Ok(vec![Loaded { namespace: None, validator: document.to_vec() }]);
    }
    let names: Vec<_> =
        fields.iter().take(3).map(|field| String::from_utf8_lossy(field.key)).collect();
    bail!(
        "neither a schema nor a validator: it begins with {}; expected {{\"$jsonSchema\": …}}, or a schema with `bsonType`, `required` and `properties`",
        names.join(", ")
    )
}

const OBJECT: u8 = 0x03;

fn is_condition(field: &Element<'_>) -> bool {
    let inner = if field.tag == OBJECT { fields(field.value).ok() } else { None };
    inner.is_some_and(|inner| {
        !inner.is_empty() && inner.iter().all(|operator| operator.key.starts_with(b"$"))
    })
}

fn fields(document: &[u8]) -> anyhow::Result<Vec<Element<'_>>> {
    let read: Result<Vec<_>, _> = Elements::new(document).and_then(Iterator::collect);
    read.map_err(|fault| anyhow::anyhow!("{}", fault.kind))
}

/// A schema as a validator.
pub(crate) fn wrap(schema: &[u8]) -> Vec<u8> {
    const KEY: &[u8] = b"\x03$jsonSchema\0";
    let length = 4 + KEY.len() + schema.len() + 1;
    let mut out = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    out.extend_from_slice(KEY);
    out.extend_from_slice(schema);
    out.push(0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let loaded = unwrap(&json::parse_one(text).unwrap()).unwrap();
        let expected = json::parse_one(expected).unwrap();
        assert_eq!(loaded, [Loaded { namespace: None, validator: expected }], "{text}");
    }

    #[test]
    fn a_schema_is_found_in_whatever_holds_it() {
        let validator = r#"{"$jsonSchema": {"required": ["a"]}}"#;
        check(validator, validator);
        check(r#"{"required": ["a"]}"#, validator);
        check(&format!(r#"{{"collMod": "c", "validator": {validator}}}"#), validator);
        check(&format!(r#"{{"options": {{"validator": {validator}}}, "indexes": []}}"#), validator);
        check(r#"{"qty": {"$gt": 0}}"#, r#"{"qty": {"$gt": 0}}"#);
        check(r#"{"$and": [{"qty": {"$gt": 0}}]}"#, r#"{"$and": [{"qty": {"$gt": 0}}]}"#);
    }

    #[test]
    fn several_schemas_are_told_apart_by_name() {
        let text =
            r#"{"db_shop.t_user": {"$jsonSchema": {}}, "db_shop.t_order": {"$jsonSchema": {}}}"#;
        let loaded = unwrap(&json::parse_one(text).unwrap()).unwrap();
        let names: Vec<_> =
            loaded.iter().map(|l| l.namespace.clone().unwrap().to_string()).collect();
        assert_eq!(names, ["db_shop.t_user", "db_shop.t_order"]);
    }

    #[test]
    fn what_is_no_schema_is_told_with_what_is_expected() {
        let message =
            |text: &str| format!("{:#}", unwrap(&json::parse_one(text).unwrap()).unwrap_err());
        assert!(message("{}").contains("holds nothing"));
        assert!(message(r#"{"_id": 1, "name": "x"}"#).contains("begins with _id, name"));
        assert!(message(r#"{"$schema": "x", "type": "object"}"#).contains("schema import"));
        assert!(message(r#"{"options": {}, "indexes": []}"#).contains("no validator"));
    }
}
