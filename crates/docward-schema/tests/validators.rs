//! What is told of refused documents. The explanations in `explained.jsonl` are those of a real server
//! (6.0.5): `details` as it wrote them; `violations` is our flat view of the same.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use bson::doc;
use docward_schema::{Schema, Validator, ValidatorFault};
use serde_json::{Value, json};

fn bytes(value: &Value) -> Vec<u8> {
    docward_bson::json::parse_one(&value.to_string()).unwrap()
}

fn cases() -> Vec<Value> {
    let lines = include_str!("explained.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn dm_11_2_explanations_are_those_of_the_server() {
    for case in cases() {
        let document = bytes(&case["document"]);
        let validator = Validator::compile(&bytes(&case["validator"])).unwrap();
        assert!(!validator.accepts(&document).unwrap(), "{case}");
        let details = validator.explain(&document).unwrap().unwrap();
        let told = bson::serialize_to_vec(&details).unwrap();
        assert_eq!(told, bytes(&case["details"]), "{}\n{details}", case["case"]);
    }
}

#[test]
fn a_schema_explains_what_its_validator_does() {
    for case in cases() {
        let schema = &case["validator"]["$jsonSchema"];
        if case["validator"].as_object().unwrap().len() > 1 || schema.is_null() {
            continue;
        }
        let schema = Schema::compile(&bytes(schema)).unwrap();
        let details = schema.explain(&bytes(&case["document"])).unwrap().unwrap();
        let told = bson::serialize_to_vec(&details).unwrap();
        assert_eq!(told, bytes(&case["details"]), "{}", case["case"]);
    }
}

#[test]
fn violations_are_told_flat() {
    for case in cases() {
        let validator = Validator::compile(&bytes(&case["validator"])).unwrap();
        let violations = validator.violations(&bytes(&case["document"])).unwrap();
        let told: Vec<Value> =
            violations.iter().map(|one| json!([one.path, one.keyword])).collect();
        assert_eq!(json!(told), case["violations"], "{}", case["case"]);
    }
}

#[test]
fn all_elements_and_properties_are_looked_at() {
    let validator = json!({ "$jsonSchema": {
        "properties": {
            "lines": { "items": { "required": ["sku"], "properties": { "price": { "minimum": 0 } } } },
        },
        "patternProperties": { "^n_": { "bsonType": "number" } },
    } });
    let document = json!({
        "_id": 1, "lines": [{ "price": 1 }, { "sku": "a", "price": -1 }], "n_1": "a", "n_2": "b",
    });
    let validator = Validator::compile(&bytes(&validator)).unwrap();
    let violations = validator.violations(&bytes(&document)).unwrap();
    let told: Vec<(&str, &str)> =
        violations.iter().map(|one| (&*one.path, &*one.keyword)).collect();
    let expect = [
        ("lines[].sku", "required"),
        ("lines[].price", "minimum"),
        ("n_1", "bsonType"),
        ("n_2", "bsonType"),
    ];
    assert_eq!(told, expect);
}

#[test]
fn what_cannot_be_asked_says_why() {
    let compile = |validator: bson::Document| {
        Validator::compile(&bson::serialize_to_vec(&validator).unwrap()).map(|_| ())
    };
    assert_eq!(compile(doc! {}), Ok(()));
    let not_evaluated =
        |operator: &str| Err(ValidatorFault::NotEvaluated { operator: operator.to_owned() });
    assert_eq!(compile(doc! { "a": 1, "$expr": { "$gt": ["$a", 1] } }), not_evaluated("$expr"));
    let box_query = doc! { "$geoWithin": { "$box": [[0, 0], [1, 1]] } };
    assert_eq!(compile(doc! { "$or": [{ "a": box_query }] }), not_evaluated("$geoWithin"));
    let encrypted = doc! { "properties": { "a": { "encrypt": {} } } };
    assert_eq!(compile(doc! { "$jsonSchema": encrypted }), not_evaluated("encrypt"));
    let code = |validator| match compile(validator) {
        Err(ValidatorFault::Refused(fault)) => fault.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(doc! { "$where": "true" }), 2);
    assert_eq!(code(doc! { "a": { "$near": [0, 0] } }), 5_626_500);
    assert_eq!(code(doc! { "$expr": { "$function": {} } }), 4_660_800);
    assert_eq!(code(doc! { "$expr": true, "a": { "$in": 1 } }), 2, "a mistake comes first");
    assert_eq!(code(doc! { "$jsonSchema": { "x": 1 } }), 9);
}

/// Damaged bytes are a fault or another verdict, never a panic.
#[test]
fn damage_is_survived() {
    for case in cases() {
        let (validator, document) = (bytes(&case["validator"]), bytes(&case["document"]));
        let compiled = Validator::compile(&validator).unwrap();
        for at in 0..document.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = document.clone();
                damaged[at] = byte;
                let _ = compiled.violations(&damaged);
            }
            let _ = compiled.violations(&document[..at]);
        }
        for at in 0..validator.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = validator.clone();
                damaged[at] = byte;
                if let Ok(compiled) = Validator::compile(&damaged) {
                    let _ = compiled.violations(&document);
                }
            }
        }
    }
}
