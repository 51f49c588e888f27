//! Translates JSON Schema, drafts 4 to 2020-12, to the server's dialect of draft 4. The input is
//! one of these:
//!
//! - the schema itself
//! - a `$jsonSchema` document for MongoDB
//! - a set of definitions
//! - an OpenAPI document
//!
//! Integers become `["int", "long"]`, because drivers write them in these types. JSON has a single
//! number type, so `1.0` is an integer there. The generated schema refuses a double with that
//! value, because a double is a different type in a database.

mod keywords;
mod names;
mod positions;
mod refs;
mod translate;

#[cfg(test)]
mod suite;

use serde_json::{Map, Value};

use crate::{Imported, Model, Place, Problem};
use positions::Positions;
use refs::{Refs, escaped};
use translate::Translator;

/// Keywords that name or describe a schema and do not restrict values.
const SILENT: [&str; 9] = [
    "$schema",
    "$id",
    "id",
    "$defs",
    "definitions",
    "title",
    "description",
    "$comment",
    "$vocabulary",
];

pub(crate) fn read(text: &str) -> Imported {
    let mut imported = Imported::default();
    // A byte order mark is not part of JSON, but some editors write it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            let at = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
            let text = error.to_string();
            let message = text.split(" at line ").next().unwrap_or_default();
            imported.problems.push(Problem {
                line: at(error.line()),
                column: at(error.column()),
                message: format!("no JSON: {message}"),
            });
            return imported;
        }
    };
    let positions = Positions::of(text);
    let mut problems = Vec::new();
    let refs = Refs::of(&value);
    let references = refs.all(&value);
    for at in starts(&value, &mut problems) {
        let mut model = model(&value, &at, &refs, &positions);
        model.embedded = !at.is_empty()
            && references.iter().any(|(from, to)| *to == at && !from.starts_with(&at));
        imported.models.push(model);
    }
    imported.problems.extend(problems.into_iter().map(|message| {
        let Place { line, column } = positions.at("");
        Problem { line, column, message }
    }));
    imported
}

/// Returns the pointers of the schemas that describe documents.
fn starts(value: &Value, problems: &mut Vec<String>) -> Vec<String> {
    let object = match value {
        Value::Object(object) => object,
        Value::Bool(_) => return vec![String::new()],
        _ => {
            problems.push("a schema is an object or a boolean".to_owned());
            return Vec::new();
        }
    };
    for at in ["/$jsonSchema", "/validator/$jsonSchema", "/options/validator/$jsonSchema"] {
        if value.pointer(at).is_some() {
            return vec![at.to_owned()];
        }
    }
    if object.contains_key("openapi") || object.contains_key("swagger") {
        let found: Vec<String> = ["/components/schemas", "/definitions"]
            .iter()
            .flat_map(|at| listed(value, at))
            .collect();
        if found.is_empty() {
            problems.push("no schemas under components".to_owned());
        }
        return found;
    }
    if object.keys().any(|key| !SILENT.contains(&key.as_str())) {
        return vec![String::new()];
    }
    let found: Vec<String> =
        ["/$defs", "/definitions"].iter().flat_map(|at| listed(value, at)).collect();
    if found.is_empty() {
        return vec![String::new()];
    }
    found
}

/// Returns the schemas of a set that can describe documents.
fn listed(value: &Value, at: &str) -> Vec<String> {
    let set = value.pointer(at).and_then(Value::as_object);
    let about_objects = |schema: &Map<String, Value>| match schema.get("type") {
        Some(kind) => kind == "object",
        None => ["properties", "allOf", "anyOf", "oneOf", "$ref", "required"]
            .iter()
            .any(|key| schema.contains_key(*key)),
    };
    set.into_iter()
        .flatten()
        .filter(|(_, schema)| schema.as_object().is_some_and(about_objects))
        .map(|(name, _)| format!("{at}/{}", escaped(name)))
        .collect()
}

fn model(value: &Value, at: &str, refs: &Refs, positions: &Positions) -> Model {
    let mut translator = Translator::new(value, refs, positions);
    let schema = translator.document(at);
    let mut model = translator.draft.finish(
        name(value, at),
        None,
        positions.at(at),
        crate::shape::Shape::default(),
    );
    model.schema = schema;
    model
}

/// Returns the name of a model: the name of the definition, the title, or the last part of the
/// identifier.
fn name(value: &Value, at: &str) -> String {
    let schema = value.pointer(at);
    let text = |key: &str| schema.and_then(|schema| schema.get(key)).and_then(Value::as_str);
    if !at.is_empty() && !at.ends_with("/$jsonSchema") {
        let last = at.rsplit('/').next().unwrap_or_default();
        return last.replace("~1", "/").replace("~0", "~");
    }
    if let Some(title) = text("title").filter(|title| !title.trim().is_empty()) {
        return title.trim().to_owned();
    }
    let id = text("$id").or_else(|| text("id")).unwrap_or_default();
    let last = id.trim_end_matches(['#', '/']).rsplit(['/', ':']).next().unwrap_or_default();
    let stem = last.trim_end_matches(".json").trim_end_matches(".schema");
    if stem.is_empty() { "document".to_owned() } else { stem.to_owned() }
}
