//! Tests the directions and proofs on pairs of schemas.

use super::*;

fn bytes(text: &str) -> Vec<u8> {
    docward_bson::json::parse_one(text).unwrap()
}

fn check(first: &str, second: &str, expected: &str) {
    let wrapped = |schema: &str| bytes(&format!("{{\"$jsonSchema\": {schema}}}"));
    let (first_bytes, second_bytes) = (wrapped(first), wrapped(second));
    let comparison = compare(&first_bytes, &second_bytes).unwrap();
    let word = |containment: &Containment| match containment {
        Containment::Yes => "yes",
        Containment::No(_) => "no",
        Containment::Undecided => "undecided",
    };
    let changes: Vec<String> = comparison
        .changes
        .iter()
        .map(|change| format!("{}:{} {}", change.path, change.keyword, change.effect.name()))
        .collect();
    let told = format!(
        "{} | {} {}",
        changes.join(", "),
        word(&comparison.second_accepts_first),
        word(&comparison.first_accepts_second)
    );
    assert_eq!(told, expected, "{first} against {second}: {comparison:?}");
    // Counterexamples are verified.
    let (a, b) =
        (Validator::compile(&first_bytes).unwrap(), Validator::compile(&second_bytes).unwrap());
    for (containment, accepts, refuses) in
        [(&comparison.second_accepts_first, &a, &b), (&comparison.first_accepts_second, &b, &a)]
    {
        if let Containment::No(document) = containment {
            let document = document.to_vec().unwrap();
            assert!(accepts.accepts(&document).unwrap() && !refuses.accepts(&document).unwrap());
        }
    }
}

#[test]
fn dm_11_5_what_became_tighter_or_looser_is_told_with_a_proof() {
    let p = |inner: &str| format!("{{\"properties\": {{\"a\": {inner}}}}}");
    check("{}", "{}", " | yes yes");
    check(r#"{"required": ["a"]}"#, "{}", "a:required looser | yes no");
    check("{}", r#"{"required": ["a", "b"]}"#, "a:required tighter, b:required tighter | no yes");
    check(
        &p(r#"{"bsonType": "int"}"#),
        &p(r#"{"bsonType": ["int", "long"]}"#),
        "a:bsonType looser | yes no",
    );
    check(
        &p(r#"{"bsonType": "number"}"#),
        &p(r#"{"bsonType": ["double", "string"]}"#),
        "a:bsonType other | no no",
    );
    check(
        &p(r#"{"bsonType": "number"}"#),
        &p(r#"{"bsonType": ["double", "int", "long", "decimal"]}"#),
        " | yes yes",
    );
    check(&p(r#"{"minimum": 1}"#), &p(r#"{"minimum": 0}"#), "a:minimum looser | yes no");
    check(
        &p(r#"{"maximum": 10}"#),
        &p(r#"{"maximum": 10, "exclusiveMaximum": true}"#),
        "a:exclusiveMaximum tighter | no yes",
    );
    check(&p(r#"{"maxLength": 20}"#), &p(r#"{"maxLength": 30}"#), "a:maxLength looser | yes no");
    check(
        &p(r#"{"enum": ["x", "y"]}"#),
        &p(r#"{"enum": ["y", "x", "z"]}"#),
        "a:enum looser | yes no",
    );
    check(&p(r#"{"enum": ["x", "y"]}"#), &p(r#"{"enum": ["y", "z"]}"#), "a:enum other | no no");
    check(&p(r#"{"pattern": "^a"}"#), &p(r#"{"pattern": "a"}"#), "a:pattern other | undecided no");
    check(
        &p(r#"{"description": "x"}"#),
        &p(r#"{"description": "y"}"#),
        "a:description wording | yes yes",
    );
    check(
        r#"{"properties": {"items": {"bsonType": "array", "items": {"required": ["sku"]}}}}"#,
        r#"{"properties": {"items": {"bsonType": "array", "maxItems": 3, "items": {"required": ["sku", "n"]}}}}"#,
        "items:maxItems tighter, items[].n:required tighter | no yes",
    );
}

#[test]
fn dm_11_5_closed_objects_admit_what_they_name() {
    check(
        r#"{"properties": {"_id": {}, "a": {}}, "additionalProperties": false}"#,
        r#"{"properties": {"_id": {}, "a": {}, "b": {"bsonType": "int"}}, "additionalProperties": false}"#,
        "b:properties looser | yes no",
    );
    check(
        r#"{"properties": {"_id": {}, "a": {}, "b": {}}}"#,
        r#"{"properties": {"_id": {}, "a": {}}, "additionalProperties": false}"#,
        ":additionalProperties tighter, b:properties tighter | no yes",
    );
    check(
        r#"{"properties": {"_id": {}, "a": {}}, "additionalProperties": false}"#,
        r#"{"properties": {"_id": {}, "a": {}, "b": {"bsonType": "int"}}}"#,
        ":additionalProperties looser, b:properties looser | yes no",
    );
}

#[test]
fn dm_11_5_who_is_named_beside_a_ruled_rest_is_not_called_looser() {
    check(
        r#"{"additionalProperties": {"bsonType": "int"}}"#,
        r#"{"properties": {"b": {"bsonType": "string"}}, "additionalProperties": {"bsonType": "int"}}"#,
        "b:properties other, b:bsonType tighter | no no",
    );
}

#[test]
fn dm_11_5_nothing_is_called_the_same_that_is_not() {
    let p = |inner: &str| format!("{{\"properties\": {{\"a\": {inner}}}}}");
    let differs = |first: &str, second: &str| {
        let wrapped = |schema: &str| bytes(&format!("{{\"$jsonSchema\": {schema}}}"));
        let comparison = compare(&wrapped(first), &wrapped(second)).unwrap();
        let is_same = comparison.second_accepts_first == Containment::Yes
            && comparison.first_accepts_second == Containment::Yes;
        assert!(!is_same, "{first} | {second}: {comparison:?}");
    };
    differs(
        &p(r#"{"allOf": [{"minimum": 5}, {"minimum": 3, "exclusiveMinimum": true}]}"#),
        &p(r#"{"minimum": 5, "exclusiveMinimum": true}"#),
    );
    differs(
        r#"{"additionalProperties": false, "properties": {"_id": {}}, "allOf": [{"properties": {"a": {"bsonType": "int"}}}]}"#,
        r#"{"additionalProperties": false, "properties": {"_id": {}, "a": {"bsonType": "int"}}}"#,
    );
    differs(
        &p(r#"{"items": [{"bsonType": "int"}], "allOf": [{"additionalItems": false}]}"#),
        &p(r#"{"items": [{"bsonType": "int"}], "additionalItems": false}"#),
    );
    differs(
        r#"{"properties": {"a[]": {"bsonType": "int"}}}"#,
        &p(r#"{"items": {"bsonType": "int"}}"#),
    );
    differs(r#"{"required": ["a.b"]}"#, &p(r#"{"required": ["b"]}"#));
    differs(
        r#"{"properties": {"a.b": {"bsonType": "int"}}}"#,
        &p(r#"{"properties": {"b": {"bsonType": "int"}}}"#),
    );
    differs(r#"{"properties": {"": {"bsonType": "object"}}}"#, r#"{"bsonType": "object"}"#);
    differs(&p(r#"{"minimum": {"$numberDouble": "NaN"}}"#), &p(r#"{"minimum": 5}"#));
    let ordered = |order: &str| bytes(&format!("{{\"a\": {{\"$eq\": {order}}}}}"));
    let comparison =
        compare(&ordered(r#"{"x": 1, "y": 2}"#), &ordered(r#"{"y": 2, "x": 1}"#)).unwrap();
    assert_eq!(comparison.changes.len(), 1);
}

#[test]
fn conditions_beside_the_schema_count() {
    let comparison = compare(
        &bytes(r#"{"$jsonSchema": {"required": ["a"]}, "qty": {"$gt": 0}}"#),
        &bytes(r#"{"$jsonSchema": {"required": ["a"]}, "qty": {"$gt": 5}}"#),
    )
    .unwrap();
    assert_eq!(comparison.changes.len(), 1);
    assert_eq!(
        (comparison.changes[0].path.as_str(), comparison.changes[0].effect),
        ("qty", Effect::Other)
    );
}

#[test]
fn what_the_server_refuses_is_not_compared() {
    let fault =
        compare(&bytes(r#"{"$jsonSchema": {"bsonType": "money"}}"#), &bytes("{}")).unwrap_err();
    assert!(matches!(fault, ValidatorFault::Refused(_)));
}

#[test]
fn dm_11_6_documents_have_an_id() {
    let with = |schema: &str| bytes(&format!("{{\"$jsonSchema\": {schema}}}"));
    let comparison = compare(
        &with(r#"{"required": ["_id"]}"#),
        &with(r#"{"required": ["_id"], "minProperties": 1}"#),
    )
    .unwrap();
    assert_eq!(comparison.second_accepts_first, Containment::Yes);
    // A closed schema without `_id` accepts only documents that are never stored.
    let comparison = compare(
        &with(r#"{"additionalProperties": false, "properties": {"a": {"bsonType": "int"}}}"#),
        &with(r#"{"properties": {"a": {"bsonType": "string"}}}"#),
    )
    .unwrap();
    assert!(!matches!(comparison.second_accepts_first, Containment::No(_)), "{comparison:?}");
}
