//! Go, type by type and tag by tag.

use crate::common::{field, left_out, one, required};
use docward_code::{Kind, Model, read};
use serde_json::json;

#[track_caller]
fn model(fields: &str) -> Model {
    one(Kind::Go, &format!("package p\n\ntype M struct {{\n{fields}\n}}\n"))
}

#[test]
fn types_are_what_the_driver_writes() {
    for (kind, expect) in [
        ("string", json!({ "bsonType": "string" })),
        ("*string", json!({ "bsonType": ["string", "null"] })),
        ("bool", json!({ "bsonType": "bool" })),
        ("int", json!({ "bsonType": ["int", "long"] })),
        ("int32", json!({ "bsonType": "int" })),
        ("int64", json!({ "bsonType": "long" })),
        ("uint16", json!({ "bsonType": "int" })),
        ("uint64", json!({ "bsonType": ["int", "long"] })),
        ("float32", json!({ "bsonType": "double" })),
        ("time.Time", json!({ "bsonType": "date" })),
        ("*time.Time", json!({ "bsonType": ["date", "null"] })),
        ("time.Duration", json!({ "bsonType": "long" })),
        ("primitive.ObjectID", json!({ "bsonType": "objectId" })),
        ("bson.ObjectID", json!({ "bsonType": "objectId" })),
        ("primitive.Decimal128", json!({ "bsonType": "decimal" })),
        ("[]byte", json!({ "bsonType": ["binData", "null"] })),
        ("[16]byte", json!({ "bsonType": "binData" })),
        ("[]string", json!({ "bsonType": ["array", "null"], "items": { "bsonType": "string" } })),
        (
            "[]*int32",
            json!({ "bsonType": ["array", "null"], "items": { "bsonType": ["int", "null"] } }),
        ),
        (
            "[2]float64",
            json!({ "bsonType": "array", "items": { "bsonType": "double" }, "minItems": 2, "maxItems": 2 }),
        ),
        (
            "map[string]int32",
            json!({ "bsonType": ["object", "null"], "additionalProperties": { "bsonType": "int" } }),
        ),
        ("interface{}", json!({})),
        ("any", json!({})),
        ("bson.M", json!({ "bsonType": ["object", "null"] })),
        ("bson.A", json!({ "bsonType": ["array", "null"] })),
        (
            "struct {\n A int32\n}",
            json!({ "bsonType": "object", "required": ["a"],
            "properties": { "a": { "bsonType": "int" } } }),
        ),
    ] {
        let model = model(&format!("F {kind} `bson:\"f\"`"));
        assert_eq!(field(&model, "f"), expect, "{kind}");
        assert_eq!(required(&model), ["f"], "{kind}");
        // With `omitempty`, the field is omitted instead of null.
        let model =
            one(Kind::Go, &format!("type M struct {{\nF {kind} `bson:\"f,omitempty\"`\n}}"));
        let kinds = field(&model, "f")["bsonType"].as_array().cloned().unwrap_or_default();
        assert!(!kinds.contains(&json!("null")), "{kind}");
        assert_eq!(required(&model), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn names_come_from_tags_or_lower_case() {
    let model = model(
        "UserName string\nA, B int32\nC string `json:\"x\"`\nD string `bson:\"dd\" json:\"y\"`\n\
         E string `bson:\",omitempty\"`\nhidden string\nG string `bson:\"-\"`\nH int64 `bson:\"h,minsize\"`",
    );
    let names: Vec<&str> = model.fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "b", "c", "dd", "e", "h", "username"]);
    assert_eq!(field(&model, "h"), json!({ "bsonType": ["int", "long"] }));
}

#[test]
fn structs_are_nested_inlined_or_embedded() {
    let text = "type Base struct {\n X int32 `bson:\"x\"`\n}\ntype M struct {\n Base\n Other Base `bson:\",inline\"`\n \
                Rest map[string]string `bson:\",inline\"`\n P *M `bson:\"p,omitempty\"`\n}";
    let models = read(Kind::Go, text).models;
    let model = models.iter().find(|model| model.name == "M").unwrap();
    crate::common::compiled(model);
    assert_eq!(field(model, "base.x"), json!({ "bsonType": "int" }));
    assert_eq!(field(model, "x"), json!({ "bsonType": "int" }));
    assert_eq!(field(model, "p"), json!({ "bsonType": "object" }));
    assert!(model.schema.get_document("additionalProperties").is_ok());
    assert_eq!(left_out(model, "p"), ["M"]);
    assert!(models.iter().any(|model| model.name == "Base" && model.embedded));
}

#[test]
fn rules_of_the_validator_become_keywords() {
    for (kind, rules, expect) in [
        ("string", "required", json!({ "bsonType": "string", "minLength": 1 })),
        ("*string", "required", json!({ "bsonType": "string" })),
        ("bool", "required", json!({ "bsonType": "bool", "enum": [true] })),
        ("string", "min=2,max=5", json!({ "bsonType": "string", "minLength": 2, "maxLength": 5 })),
        ("string", "gt=2,lt=5", json!({ "bsonType": "string", "minLength": 3, "maxLength": 4 })),
        ("string", "len=3", json!({ "bsonType": "string", "minLength": 3, "maxLength": 3 })),
        ("string", "oneof=a 'b c'", json!({ "bsonType": "string", "enum": ["a", "b c"] })),
        ("string", "alphanum", json!({ "bsonType": "string", "pattern": "^[a-zA-Z0-9]+$" })),
        ("int32", "oneof=1 2", json!({ "bsonType": "int", "enum": [1, 2] })),
        (
            "int32",
            "gte=1,lt=9",
            json!({ "bsonType": "int", "minimum": 1, "maximum": 9, "exclusiveMaximum": true }),
        ),
        ("float64", "min=-1.5", json!({ "bsonType": "double", "minimum": -1.5 })),
        (
            "[]string",
            "required,min=1,unique,dive,max=3",
            json!({ "bsonType": "array",
            "items": { "bsonType": "string", "maxLength": 3 }, "minItems": 1, "uniqueItems": true }),
        ),
        (
            "map[string]int32",
            "max=2,dive,min=1",
            json!({ "bsonType": ["object", "null"],
            "additionalProperties": { "bsonType": "int", "minimum": 1 }, "maxProperties": 2 }),
        ),
    ] {
        let model = model(&format!("F {kind} `bson:\"f\" validate:\"{rules}\"`"));
        assert_eq!(field(&model, "f"), expect, "{kind} {rules}");
        assert_eq!(left_out(&model, "f"), Vec::<String>::new(), "{kind} {rules}");
    }
    for (kind, rules, expect) in [
        ("string", "email", "email"),
        ("string", "url", "url"),
        ("string", "eqfield=Other", "eqfield=Other"),
        ("string", "hexcolor|rgb", "hexcolor|rgb"),
        ("string", "omitempty,min=3", "min=3"),
        ("int32", "required", "required"),
        ("Elsewhere", "", "Elsewhere"),
        ("chan int", "", "chan int"),
    ] {
        let model = model(&format!("F {kind} `bson:\"f\" validate:\"{rules}\"`"));
        assert_eq!(left_out(&model, "f"), [expect], "{kind} {rules}");
    }
    // Zero values are not stored, so the rule applies to every stored value.
    let model = model("F string `bson:\"f,omitempty\" validate:\"omitempty,min=3\"`");
    assert_eq!(field(&model, "f"), json!({ "bsonType": "string", "minLength": 3 }));
}

#[test]
fn structs_without_tags_count_where_none_has_any() {
    let names = |text: &str| {
        read(Kind::Go, text).models.into_iter().map(|model| model.name).collect::<Vec<_>>()
    };
    assert_eq!(names("type A struct { X int }\ntype B struct { Y int `bson:\"y\"` }"), ["B"]);
    assert_eq!(names("type A struct { X int }\ntype C string"), ["A"]);
}

#[test]
fn validators_look_where_they_are_told_to() {
    let each = "[]struct { N int `bson:\"n\" validate:\"min=1\"` }";
    let minimum = |kind: &str, rules: &str, path: &str| {
        let model = model(&format!("F {kind} `bson:\"f\" validate:\"{rules}\"`"));
        field(&model, path).get("minimum").cloned()
    };
    assert_eq!(minimum(each, "max=5,dive", "f[].n"), Some(json!(1)));
    assert_eq!(minimum(each, "max=5", "f[].n"), None, "without `dive`");
    let one = "struct { N int `bson:\"n\" validate:\"min=1\"` }";
    assert_eq!(minimum(one, "required", "f.n"), Some(json!(1)));
    assert_eq!(minimum(one, "structonly", "f.n"), None);
    assert_eq!(minimum(one, "-", "f.n"), None);
    assert_eq!(minimum("int", "-", "f"), None);
}
