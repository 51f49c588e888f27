//! Functions that several test files share.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use bson::{Bson, Document};
use docward_code::{Imported, Kind, Model, Place};
use serde_json::{Map, Value, json};

/// Every fixture: its kind, name and text.
pub const FIXTURES: [(Kind, &str, &str); 12] = [
    (Kind::Mongoose, "shop.js", include_str!("../fixtures/shop.js")),
    (Kind::Mongoose, "clinic.ts", include_str!("../fixtures/clinic.ts")),
    (Kind::Mongoose, "library.nest.ts", include_str!("../fixtures/library.nest.ts")),
    (Kind::Prisma, "shop.prisma", include_str!("../fixtures/shop.prisma")),
    (Kind::Pydantic, "shop.py", include_str!("../fixtures/shop.py")),
    (Kind::Go, "shop.go", include_str!("../fixtures/shop.go")),
    (Kind::Spring, "Shop.java", include_str!("../fixtures/Shop.java")),
    (Kind::Php, "shop.php", include_str!("../fixtures/shop.php")),
    (Kind::Php, "OrderItem.php", include_str!("../fixtures/OrderItem.php")),
    (Kind::CSharp, "Shop.cs", include_str!("../fixtures/Shop.cs")),
    (Kind::JsonSchema, "order.schema.json", include_str!("../fixtures/order.schema.json")),
    (Kind::JsonSchema, "openapi.json", include_str!("../fixtures/openapi.json")),
];

/// Returns a value as plain JSON.
pub fn plain(value: &Bson) -> Value {
    match value {
        Bson::Document(document) => plain_document(document),
        Bson::Array(values) => values.iter().map(plain).collect(),
        Bson::String(text) => json!(text),
        Bson::Boolean(flag) => json!(flag),
        Bson::Int32(n) => json!(n),
        Bson::Int64(n) => json!({ "$numberLong": n.to_string() }),
        Bson::Double(n) => json!(n),
        Bson::Null => Value::Null,
        other => json!(other.to_string()),
    }
}

pub fn plain_document(document: &Document) -> Value {
    let members = document.iter().map(|(name, value)| (name.clone(), plain(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn at(place: Place) -> String {
    format!("{}:{}", place.line, place.column)
}

/// Returns everything that was read, as JSON.
pub fn shown(imported: &Imported) -> String {
    let models: Vec<Value> = imported
        .models
        .iter()
        .map(|model| {
            let fields: Map<String, Value> = model
                .fields
                .iter()
                .map(|(path, place)| (path.clone(), json!(at(*place))))
                .collect();
            let left_out: Vec<Value> = model
                .left_out
                .iter()
                .map(|one| {
                    let loosens = if one.loosens { "loosens" } else { "keeps" };
                    json!(format!(
                        "{} {}: {} ({}; {loosens})",
                        at(one.place),
                        one.path,
                        one.what,
                        one.why
                    ))
                })
                .collect();
            json!({
                "name": model.name,
                "collection": model.collection,
                "embedded": model.embedded,
                "declared_at": at(model.declared_at),
                "schema": plain_document(&model.schema),
                "fields": fields,
                "left_out": left_out,
            })
        })
        .collect();
    let problems: Vec<String> = imported
        .problems
        .iter()
        .map(|p| format!("{}:{} {}", p.line, p.column, p.message))
        .collect();
    serde_json::to_string_pretty(&json!({ "models": models, "problems": problems })).expect("JSON")
}

/// Checks that the server would accept every schema.
#[track_caller]
pub fn all_compile(imported: &Imported) {
    for model in &imported.models {
        compiled(model);
    }
}

#[track_caller]
pub fn compiled(model: &Model) -> docward_schema::Schema {
    let bytes = model.schema.to_vec().expect("a document");
    match docward_schema::Schema::compile(&bytes) {
        Ok(schema) => schema,
        Err(fault) => panic!("{}: {fault}: {}", model.name, model.schema),
    }
}

/// Reads a text that declares one model and has no problems.
#[track_caller]
pub fn one(kind: Kind, text: &str) -> Model {
    let mut imported = docward_code::read(kind, text);
    assert_eq!(imported.problems, [], "{text}");
    all_compile(&imported);
    assert_eq!(imported.models.len(), 1, "{text}\n{}", shown(&imported));
    imported.models.remove(0)
}

/// Returns the schema of one field. In the path, dots lead to nested fields and `[]` to array
/// elements.
#[track_caller]
pub fn field(model: &Model, path: &str) -> Value {
    let mut value = plain_document(&model.schema);
    for part in path.split('.') {
        let (name, elements) = match part.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (part, false),
        };
        value = value["properties"][name].take();
        if elements {
            value = value["items"].take();
        }
    }
    value
}

/// Returns the names of required fields.
pub fn required(model: &Model) -> Vec<String> {
    let names = model.schema.get_array("required").map(Vec::as_slice).unwrap_or_default();
    names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Returns what was left out of one field.
pub fn left_out(model: &Model, path: &str) -> Vec<String> {
    let all = model.left_out.iter().filter(|one| one.path == path);
    all.map(|one| one.what.clone()).collect()
}
