//! C#, type by type and attribute by attribute.

use crate::common::{field, left_out, one, required};
use docward_code::{Kind, Model, read};
use serde_json::json;

#[track_caller]
fn model(members: &str) -> Model {
    one(
        Kind::CSharp,
        &format!(
            "using MongoDB.Bson;\n[BsonIgnoreExtraElements] public class M {{\n{members}\n}}\nenum Colour {{ Red, Green = 4 }}\n"
        ),
    )
}

#[test]
fn types_are_what_the_driver_writes() {
    let nullable = |kind: &str| json!({ "bsonType": [kind, "null"] });
    for (kind, expect) in [
        ("string", nullable("string")),
        ("int", json!({ "bsonType": "int" })),
        ("int?", nullable("int")),
        ("Nullable<int>", nullable("int")),
        ("short", json!({ "bsonType": "int" })),
        ("long", json!({ "bsonType": "long" })),
        ("System.Int64", json!({ "bsonType": "long" })),
        ("double", json!({ "bsonType": "double" })),
        ("float", json!({ "bsonType": "double" })),
        ("bool", json!({ "bsonType": "bool" })),
        ("decimal", json!({ "bsonType": ["decimal", "string"] })),
        ("Decimal128", json!({ "bsonType": "decimal" })),
        ("DateTime", json!({ "bsonType": "date" })),
        ("ObjectId", json!({ "bsonType": "objectId" })),
        ("byte[]", nullable("binData")),
        ("Colour", json!({ "bsonType": ["int", "long"] })),
        ("int[]", json!({ "bsonType": ["array", "null"], "items": { "bsonType": "int" } })),
        (
            "IReadOnlyList<double>",
            json!({ "bsonType": ["array", "null"], "items": { "bsonType": "double" } }),
        ),
        (
            "Dictionary<string, long>",
            json!({ "bsonType": ["object", "null"], "additionalProperties": { "bsonType": "long" } }),
        ),
        ("object", json!({})),
    ] {
        let model = model(&format!("public {kind} F {{ get; set; }}"));
        assert_eq!(field(&model, "F"), expect, "{kind}");
        assert!(required(&model).is_empty(), "a convention may give the element another name");
    }
}

#[test]
fn attributes_decide_names_and_types() {
    for (member, name, expect, needed) in [
        (
            "[BsonElement(\"f\")] public int F { get; set; }",
            "f",
            json!({ "bsonType": "int" }),
            true,
        ),
        (
            "[BsonElement(\"f\")] [BsonIgnoreIfNull] public int? F { get; set; }",
            "f",
            json!({ "bsonType": ["int", "null"] }),
            false,
        ),
        (
            "[BsonRepresentation(BsonType.Decimal128)] public decimal F { get; set; }",
            "F",
            json!({ "bsonType": "decimal" }),
            false,
        ),
        (
            "[BsonRepresentation(BsonType.String)] public Colour F { get; set; }",
            "F",
            json!({ "bsonType": "string", "enum": ["Red", "Green"] }),
            false,
        ),
        (
            "[BsonRepresentation(BsonType.ObjectId)] public string Id { get; set; }",
            "_id",
            json!({ "bsonType": ["objectId", "null"] }),
            false,
        ),
        ("[BsonId] public long Number { get; set; }", "_id", json!({ "bsonType": "long" }), false),
    ] {
        let model = model(member);
        assert_eq!(field(&model, name), expect, "{member}");
        assert_eq!(!required(&model).is_empty(), needed, "{member}");
    }
    for member in [
        "[BsonIgnore] public int F { get; set; }",
        "public int F => 1;",
        "public static int F { get; set; }",
        "int F { get; set; }",
        "public const int F = 1;",
    ] {
        let model = model(&format!("{member} public int G {{ get; set; }}"));
        assert_eq!(field(&model, "F"), json!(null), "{member}");
        assert_ne!(field(&model, "G"), json!(null), "{member}");
    }
}

#[test]
fn what_is_not_known_is_left_open_and_said() {
    let model = model("public Money Price { get; set; }");
    assert_eq!(field(&model, "Price"), json!({}));
    assert_eq!(left_out(&model, "Price"), ["Money"]);
    // A class without any sign that it is stored.
    assert!(read(Kind::CSharp, "public class A { public int B { get; set; } }").models.is_empty());
}
