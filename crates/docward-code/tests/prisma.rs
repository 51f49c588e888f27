//! Prisma, type by type and attribute by attribute.

use crate::common::{all_compile, field, left_out, one, required};
use docward_code::{Kind, read};
use serde_json::json;

#[test]
fn types_are_what_the_connector_writes() {
    for (kind, expect) in [
        ("String", json!({ "bsonType": "string" })),
        ("String @db.ObjectId", json!({ "bsonType": "objectId" })),
        ("String?", json!({ "bsonType": ["string", "null"] })),
        ("String[]", json!({ "bsonType": "array", "items": { "bsonType": "string" } })),
        ("Int", json!({ "bsonType": "int" })),
        ("Int @db.Long", json!({ "bsonType": "long" })),
        ("BigInt", json!({ "bsonType": "long" })),
        ("Float", json!({ "bsonType": "double" })),
        ("Boolean", json!({ "bsonType": "bool" })),
        ("DateTime", json!({ "bsonType": "date" })),
        ("DateTime @db.Timestamp", json!({ "bsonType": "timestamp" })),
        ("Bytes", json!({ "bsonType": "binData" })),
        ("Json", json!({})),
        ("Json?", json!({})),
        ("Colour", json!({ "bsonType": "string", "enum": ["RED", "grün"] })),
        ("Colour?", json!({ "bsonType": ["string", "null"], "enum": ["RED", "grün", null] })),
        (
            "Point",
            json!({ "bsonType": "object", "required": ["x"],
            "properties": { "x": { "bsonType": "double" }, "y": { "bsonType": ["double", "null"] } } }),
        ),
    ] {
        let text = format!(
            "model M {{\n  f {kind}\n}}\nenum Colour {{\n RED\n GREEN @map(\"grün\")\n}}\n\
             type Point {{\n x Float\n y Float?\n}}\n"
        );
        let model = one(Kind::Prisma, &text);
        assert_eq!(field(&model, "f"), expect, "{kind}");
        let always = !kind.contains(['?', '[']);
        assert_eq!(required(&model).contains(&"f".to_owned()), always, "{kind}");
    }
}

#[test]
fn names_are_those_of_the_database() {
    let text = "/// A thing.\n/// Two lines.\nmodel M {\n  key String @id @map(\"_id\")\n  /// Its name.\n  \
                name String @map(\"n\") // not this\n\n  @@map(\"things\")\n}";
    let model = one(Kind::Prisma, text);
    assert_eq!((model.name.as_str(), model.collection.as_deref()), ("M", Some("things")));
    assert_eq!(model.schema.get_str("description").ok(), Some("A thing.\nTwo lines."));
    assert_eq!(field(&model, "n"), json!({ "description": "Its name.", "bsonType": "string" }));
    assert_eq!(required(&model), ["n"]);
    assert_eq!(model.fields["n"].line, 6);
    assert_eq!(
        one(Kind::Prisma, "model Order { id Int @id @map(\"_id\") }").collection.as_deref(),
        Some("Order")
    );
}

#[test]
fn what_cannot_be_carried_over_is_listed() {
    let text = "model M {\n  id Int @id @map(\"_id\")\n  a String @default(\"x\") @unique\n  \
                b DateTime @updatedAt\n  o Other @relation(fields: [oId], references: [id])\n  oId Int\n  \
                u Unsupported(\"x)\")?\n}\nmodel Other {\n  id Int @id @map(\"_id\")\n}";
    let imported = read(Kind::Prisma, text);
    all_compile(&imported);
    let model = &imported.models[0];
    assert_eq!(left_out(model, "a"), ["@default(\"x\")", "@unique"]);
    assert_eq!(left_out(model, "b"), ["@updatedAt"]);
    assert_eq!(left_out(model, "o"), ["relation to Other"]);
    assert_eq!(left_out(model, "u"), ["Unsupported"]);
    assert!(!model.fields.contains_key("o"));
}

#[test]
fn mistakes_have_places_and_the_rest_is_read() {
    let text = "datasource db {\n  provider = \"postgresql\"\n}\nmodel A {\n  f Strin\n  = 3\n  g Decimal\n  \
                h Int @default(\n  i Int %\n}\nmodle B {\n}\nmodel C {\n  x Int\n";
    let imported = read(Kind::Prisma, text);
    all_compile(&imported);
    let at: Vec<(u32, u32)> = imported.problems.iter().map(|p| (p.line, p.column)).collect();
    assert_eq!(at, [(2, 3), (5, 3), (6, 3), (7, 3), (8, 17), (9, 9), (11, 1), (12, 1), (15, 1)]);
    let names: Vec<&str> = imported.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["A", "C"]);
    assert_eq!(field(&imported.models[0], "h"), json!({ "bsonType": "int" }));
    assert_eq!(field(&imported.models[1], "x"), json!({ "bsonType": "int" }));
}
