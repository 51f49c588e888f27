//! Tests what JSON Schema becomes and what is left out. `src/json_schema/suite.rs` compares
//! verdicts.

use crate::common::{all_compile, compiled, field, left_out, one, plain_document};
use docward_code::{Kind, Model, read};
use serde_json::json;

#[track_caller]
fn loosened(text: &str) -> Vec<String> {
    let model = one(Kind::JsonSchema, text);
    model.left_out.iter().filter(|one| one.loosens).map(|one| one.what.clone()).collect()
}

#[test]
fn restrictions_that_the_server_does_not_know_are_listed() {
    for (text, expect) in [
        (r##"{"contains": {"type": "null"}, "minContains": 2}"##, vec!["minContains"]),
        (r##"{"contains": {"type": "null"}, "maxContains": 2}"##, vec!["maxContains"]),
        (r##"{"$ref": "other.json"}"##, vec!["$ref"]),
        (r##"{"properties": {"a": {"$ref": "#"}}}"##, vec!["$ref"]),
        (r##"{"propertyNames": {"not": {"const": "a"}}}"##, vec!["propertyNames"]),
        (
            r##"{"anyOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}"##,
            vec!["unevaluatedProperties"],
        ),
        (r##"{"properties": {"a.b": {"type": "string"}}}"##, vec!["a.b"]),
        (
            r##"{"properties": {"a.b": {}}, "additionalProperties": false}"##,
            vec!["a.b", "additionalProperties"],
        ),
        (r##"{"properties": {"f": {"pattern": "(?<=a+)b"}}}"##, vec!["pattern"]),
        (r##"{"not": {"propertyNames": {"not": {}}}}"##, vec!["propertyNames", "not"]),
        (r##"{"if": {"$ref": "x"}, "then": false}"##, vec!["$ref", "if"]),
        (r##"{"oneOf": [{"$ref": "x"}, {}]}"##, vec!["$ref", "oneOf"]),
        (r##"{"type": "banana"}"##, vec!["type"]),
        (r##"{"required": "a"}"##, vec!["required"]),
        (r##"{"minItems": -1}"##, vec!["minItems"]),
        (r##"{"multipleOf": 0}"##, vec!["multipleOf"]),
        (r##"{"$schema": "https://x.test/meta", "type": "object"}"##, vec!["$schema"]),
    ] {
        assert_eq!(loosened(text), expect, "{text}");
    }
}

#[test]
fn annotations_are_listed_without_loss() {
    let text = r#"{"type": "object", "properties": {"a": {"type": "string", "format": "uuid", "default": "x",
        "examples": [1], "$comment": "c", "readOnly": true, "contentEncoding": "base64", "x-order": 1, "foo": 2}}}"#;
    let model = one(Kind::JsonSchema, text);
    assert_eq!(
        left_out(&model, "a"),
        [
            "format",
            "default",
            "examples",
            "$comment",
            "readOnly",
            "contentEncoding",
            "x-order",
            "foo"
        ]
    );
    assert!(model.left_out.iter().all(|one| !one.loosens));
    assert_eq!(field(&model, "a"), json!({ "bsonType": "string" }));
}

fn accepts(model: &Model, document: bson::Document) -> bool {
    let bytes = document.to_vec().expect("a document");
    compiled(model).accepts(&bytes).expect("sound bytes")
}

#[test]
fn every_document_has_an_id_that_the_schema_need_not_know() {
    for text in [
        r#"{"properties": {"a": {}}, "additionalProperties": false}"#,
        r#"{"properties": {"a": {}}, "unevaluatedProperties": false}"#,
        r#"{"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}], "unevaluatedProperties": false}"#,
        r#"{"propertyNames": {"enum": ["a"]}}"#,
        r#"{"propertyNames": {"pattern": "^a$"}}"#,
        r#"{"minProperties": 1, "maxProperties": 1}"#,
        r##"{"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {}}, "additionalProperties": false}}}"##,
    ] {
        let model = one(Kind::JsonSchema, text);
        assert!(accepts(&model, bson::doc! { "_id": 1, "a": 1 }), "{text}");
        assert!(!accepts(&model, bson::doc! { "_id": 1, "a": 1, "c": 1 }), "{text}");
    }
    // Nested documents have no implicit `_id`.
    let model = one(
        Kind::JsonSchema,
        r#"{"properties": {"o": {"properties": {"a": {}}, "additionalProperties": false}}}"#,
    );
    assert!(!accepts(&model, bson::doc! { "_id": 1, "o": { "_id": 1 } }));
}

#[test]
fn models_are_the_schema_its_definitions_or_those_of_an_api() {
    for (text, expect) in [
        (r#"{"title": " Order ", "type": "object"}"#, vec![("Order", false)]),
        (
            r#"{"$id": "https://x.test/a/order.schema.json", "type": "object"}"#,
            vec![("order", false)],
        ),
        (r#"{"type": "object"}"#, vec![("document", false)]),
        (r#"{"$jsonSchema": {"bsonType": "object", "title": "T"}}"#, vec![("T", false)]),
        (r#"{"validator": {"$jsonSchema": {"bsonType": "object"}}}"#, vec![("document", false)]),
        (
            r##"{"$defs": {"A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}}, "B": {"type": "object"},
            "C": {"type": "string"}}}"##,
            vec![("A", false), ("B", true)],
        ),
        (r#"{"swagger": "2.0", "definitions": {"A": {"properties": {}}}}"#, vec![("A", false)]),
        ("true", vec![("document", false)]),
    ] {
        let imported = read(Kind::JsonSchema, text);
        all_compile(&imported);
        let found: Vec<(&str, bool)> =
            imported.models.iter().map(|model| (model.name.as_str(), model.embedded)).collect();
        assert_eq!(found, expect, "{text}");
        assert_eq!(imported.problems, [], "{text}");
    }
    for text in ["3", "[]", "\"x\"", "{\"openapi\": \"3.1.0\"}", "{", "nul"] {
        let imported = read(Kind::JsonSchema, text);
        assert_eq!((imported.models.len(), imported.problems.len()), (0, 1), "{text}");
    }
}

#[test]
fn keys_are_written_in_one_order() {
    let text = r#"{"maxLength": 3, "type": ["object", "string"], "properties": {"b": {}, "a": {}}, "description": "d",
        "required": ["a"], "title": "t", "not": {}, "enum": ["a"]}"#;
    let model = one(Kind::JsonSchema, text);
    let keys: Vec<&String> = model.schema.keys().collect();
    assert_eq!(
        keys,
        ["title", "description", "bsonType", "required", "properties", "enum", "maxLength", "not"]
    );
    assert_eq!(plain_document(&model.schema)["properties"].to_string(), r#"{"b":{},"a":{}}"#);
}

#[test]
fn a_schema_of_the_server_stays_what_it_is() {
    let text = r#"{"$jsonSchema": {"title": "t", "bsonType": "object", "required": ["a"], "properties": {
        "a": {"bsonType": ["objectId", "null"]}, "b": {"bsonType": "array", "items": [{"bsonType": "int"}],
        "additionalItems": false}, "c": {"minimum": 1, "exclusiveMinimum": true}}, "additionalProperties": false}}"#;
    let model = one(Kind::JsonSchema, text);
    let mut expect: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut expect = expect["$jsonSchema"].take();
    expect["properties"]["_id"] = json!({});
    assert_eq!(plain_document(&model.schema), expect);
    assert_eq!(model.left_out, []);
}
