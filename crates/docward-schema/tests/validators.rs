//! Explanations of refused documents. Those in `explained.jsonl` are from a real server (6.0.5):
//! `details` as it wrote them; `violations` is Docward's flat view of the same.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use bson::doc;
use docward_schema::{Schema, Tally, Validator, ValidatorFault, as_stored};
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

/// Damaged bytes give a fault or another verdict, never a panic.
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

#[test]
fn dm_11_2_names_are_matched_byte_by_byte() {
    let accepts = |pattern: &str, name: &str| {
        let validator =
            json!({ "$jsonSchema": { "patternProperties": { pattern: { "bsonType": "int" } } } });
        let document = json!({ "_id": 1, name: "text" });
        Validator::compile(&bytes(&validator)).unwrap().accepts(&bytes(&document)).unwrap()
    };
    // Two bytes, one character: the server counts the same (6.0.5).
    assert!(!accepts("^..$", "é") && accepts("^.$", "é"));
    assert!(accepts("(?i)É", "é"), "capitals of ASCII only");
    assert!(!accepts("^é$", "é"));
    let wide = json!({ "$jsonSchema": { "patternProperties": { "\\x{1F600}": {} } } });
    assert!(Validator::compile(&bytes(&wide)).is_err());
}

#[test]
fn dm_11_2_documents_are_judged_as_they_are_stored() {
    let closed =
        json!({ "$jsonSchema": { "additionalProperties": false, "properties": { "sku": {} } } });
    let validator = std::sync::Arc::new(Validator::compile(&bytes(&closed)).unwrap());
    let mut tally = Tally::new(validator);
    tally.add(&bytes(&json!({ "sku": "x" })), 0);
    let checked = tally.finish();
    assert_eq!((checked.refused, checked.breaches[0].path.as_str()), (1, "_id"));
    for (document, is_added) in [
        (json!({ "sku": 1 }), true),
        (json!({}), true),
        (json!({ "_id": 1, "sku": 1 }), false),
        (json!({ "sku": 1, "_id": 1 }), false),
    ] {
        let given = bytes(&document);
        let stored = as_stored(&given).unwrap();
        assert_eq!(stored.len() > given.len(), is_added, "{document}");
        let read = bson::Document::from_reader(&*stored).unwrap();
        assert!(read.contains_key("_id"));
    }
}

#[test]
fn dm_11_2_required_fields_are_told_by_name() {
    let names: Vec<String> = (0..25).map(|n| format!("f{n}")).collect();
    let validator = json!({ "$jsonSchema": { "required": names } });
    let mut tally =
        Tally::new(std::sync::Arc::new(Validator::compile(&bytes(&validator)).unwrap()));
    tally.add(&bytes(&json!({ "_id": 4 })), 0);
    let checked = tally.finish();
    assert_eq!(checked.breaches.len(), 25);
    assert!(checked.breaches.iter().all(|breach| breach.documents == 1 && breach.ids.len() == 1));
    assert!(checked.breaches.iter().all(|breach| breach.path != "*"));
}
