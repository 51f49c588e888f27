//! Models in the form that the source code scanner uses: fields with their types and positions.

use bson::{Bson, Document};
use docward_model::BsonType;
use docward_source::{DeclaredModel, Library, ModelField};

use crate::{Kind, Model};

/// Returns the models that a source text declares with a library.
pub fn declared_models(library: Library, text: &str) -> Vec<DeclaredModel> {
    let kind = match library {
        Library::Mongoose => Kind::Mongoose,
        Library::Prisma => Kind::Prisma,
        Library::Pydantic => Kind::Pydantic,
        Library::Go => Kind::Go,
        Library::Spring => Kind::Spring,
        Library::Php => Kind::Php,
        Library::CSharp => Kind::CSharp,
    };
    crate::read(kind, text).models.into_iter().map(declared).collect()
}

fn declared(model: Model) -> DeclaredModel {
    // A hook changes values but adds no fields.
    let is_hook = |what: &str| what.starts_with("pre(") || what.starts_with("post(");
    let mut found = Vec::new();
    properties(&model.schema, "", &mut found);
    let field = |(path, schema): (String, Document)| ModelField {
        declared_at: model.fields.get(&path).copied().unwrap_or(model.declared_at),
        types: types(&schema),
        allowed: allowed(&schema),
        max_items: schema.get("maxItems").and_then(|n| match n {
            Bson::Int32(n) => u64::try_from(*n).ok(),
            Bson::Int64(n) => u64::try_from(*n).ok(),
            _ => None,
        }),
        generated: model.generated.contains(&path),
        path,
    };
    DeclaredModel {
        fields: found.into_iter().map(field).collect(),
        has_own_id: has_own_id(&model),
        is_partial: model.left_out.iter().any(|left| left.path.is_empty() && !is_hook(&left.what)),
        name: model.name,
        collection: model.collection,
        embedded: model.embedded,
    }
}

/// Whether the declaration itself has an `_id`. Every generated schema has one.
fn has_own_id(model: &Model) -> bool {
    let fields = model.schema.get_document("properties");
    let is_document = fields
        .and_then(|fields| fields.get_document("_id"))
        .is_ok_and(|id| id.contains_key("properties"));
    model.fields.contains_key("_id") && !is_document
}

/// Collects all fields of a schema with their paths.
fn properties(schema: &Document, path: &str, out: &mut Vec<(String, Document)>) {
    if out.len() > 5000 || path.matches('.').count() > 20 {
        return;
    }
    if let Ok(fields) = schema.get_document("properties") {
        for (name, field) in fields {
            let Bson::Document(field) = field else { continue };
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            out.push((inner.clone(), field.clone()));
            properties(field, &inner, out);
        }
    }
    if let Ok(items) = schema.get_document("items") {
        let inner = format!("{path}[]");
        out.push((inner.clone(), items.clone()));
        properties(items, &inner, out);
    }
}

fn types(schema: &Document) -> Vec<BsonType> {
    let name = |value: &Bson| match value.as_str() {
        Some("number") => vec![BsonType::Double, BsonType::Int, BsonType::Long, BsonType::Decimal],
        Some(name) => BsonType::from_name(name).into_iter().collect(),
        None => Vec::new(),
    };
    match schema.get("bsonType") {
        Some(Bson::Array(names)) => names.iter().flat_map(name).collect(),
        Some(value) => name(value),
        None => Vec::new(),
    }
}

fn allowed(schema: &Document) -> Vec<String> {
    let Ok(values) = schema.get_array("enum") else { return Vec::new() };
    values.iter().map(|value| value.to_string()).collect()
}
