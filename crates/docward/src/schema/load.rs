//! Loads schemas from files in various formats.

use std::path::Path;

use anyhow::{Context, bail};
use docward_bson::{
    json,
    walk::{Element, Elements},
};
use docward_model::Namespace;
use docward_schema::{SchemaFault, Validator, ValidatorFault};
use docward_uri::lookalike;

/// A validator from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Loaded {
    /// Parts of the file that the validator does not express.
    pub(crate) notes: Vec<String>,
    /// The collection that the file names, if any.
    pub(crate) namespace: Option<Namespace>,
    /// The validator as a document: `{$jsonSchema: …}`, query operators, or both.
    pub(crate) validator: Vec<u8>,
}

impl Loaded {
    /// Compiles the validator. Returns the operator as an inner error if only a server can evaluate
    /// it.
    pub(crate) fn compile(&self) -> anyhow::Result<Result<Validator, String>> {
        if docward_schema::demands_nameless(&self.validator) {
            bail!(
                "the schema constrains a field with an empty name. MongoDB 6.0 accepts such a \
                 validator and crashes when it refuses a document; remove that property"
            );
        }
        match Validator::compile(&self.validator) {
            Ok(validator) => Ok(Ok(validator)),
            Err(ValidatorFault::NotEvaluated { operator }) => Ok(Err(operator)),
            Err(ValidatorFault::Refused(fault)) => Err(refused(&fault)),
        }
    }
}

/// Returns an error for a validator that the server would refuse, with the server's message.
pub(crate) fn refused(fault: &SchemaFault) -> anyhow::Error {
    anyhow::anyhow!("MongoDB would refuse this validator (code {}): {}", fault.code, fault.message)
}

/// Keywords that only a schema begins with.
const KEYWORDS: [&str; 15] = [
    "bsonType",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "enum",
    "title",
    "minProperties",
    "maxProperties",
    "dependencies",
];

/// Keywords of other JSON Schema dialects, which the server refuses.
const FOREIGN: [&str; 5] = ["$schema", "$id", "$ref", "$defs", "definitions"];

/// Loads the validators of a file: a schema in JSON, or models in code (`user.js#User` for one of
/// several).
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Loaded>> {
    let given = path.to_string_lossy();
    refuse_uri(&given, "a schema file")?;
    let (file, model) = match given.rsplit_once('#') {
        Some((file, model)) if !path.exists() => (Path::new(file), Some(model)),
        _ => (path, None),
    };
    let shown = file.display();
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read the schema {shown}"))?;
    let text = text.trim_start_matches('\u{feff}');
    let name = file.to_string_lossy();
    match docward_code::Kind::detect(&name, text) {
        Some(kind) if kind != docward_code::Kind::JsonSchema => {
            return declared(kind, text, model).with_context(|| shown.to_string());
        }
        _ => {}
    }
    let document = json::parse_one(text).map_err(|error| {
        anyhow::anyhow!(
            "{shown}: not a JSON document ({error}), and not source code with models of a supported library"
        )
    })?;
    if is_foreign(&document) {
        return declared(docward_code::Kind::JsonSchema, text, model)
            .with_context(|| shown.to_string());
    }
    unwrap(&document).with_context(|| shown.to_string())
}

/// Loads the only validator of a file.
pub(crate) fn one(path: &Path) -> anyhow::Result<Loaded> {
    match load(path)?.as_slice() {
        [one] => Ok(one.clone()),
        several => bail!(
            "{} has schemas of {} collections, but this command needs one; `schema infer --output \
             DIR/` writes a file for each",
            path.display(),
            several.len()
        ),
    }
}

/// Refuses a connection string without repeating it, because it may contain a password.
pub(crate) fn refuse_uri(given: &str, wanted: &str) -> anyhow::Result<()> {
    let is_meant = docward_collect::is_uri(given)
        || (lookalike(given).is_some() && !Path::new(given).exists());
    if is_meant {
        bail!(
            "expected {wanted}, not a connection string; see --help for the order of the \
         arguments"
        );
    }
    Ok(())
}

/// Whether a document uses a dialect of JSON Schema that the server refuses.
fn is_foreign(document: &[u8]) -> bool {
    let fields = fields(document).unwrap_or_default();
    fields.iter().any(|field| FOREIGN.iter().any(|key| field.key == key.as_bytes()))
}

/// Returns the models of a text as validators. Returns one if it is named, or is the only one that
/// no other model contains.
fn declared(
    kind: docward_code::Kind,
    text: &str,
    wanted: Option<&str>,
) -> anyhow::Result<Vec<Loaded>> {
    let docward_code::Imported { mut models, problems } = docward_code::read(kind, text);
    if models.is_empty()
        && let Some(problem) = problems.first()
    {
        bail!("line {}, column {}: {}", problem.line, problem.column, problem.message);
    }
    let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    match wanted {
        Some(wanted) => models
            .retain(|model| model.name == wanted || model.collection.as_deref() == Some(wanted)),
        None if models.len() > 1 => models.retain(|model| !model.embedded),
        None => {}
    }
    match models.as_slice() {
        [model] => Ok(vec![of_model(model, &problems)?]),
        [] => bail!("the file has no such model; it declares {}", names.join(", ")),
        several => {
            let names: Vec<_> = several.iter().map(|model| model.name.as_str()).collect();
            bail!(
                "the file declares several models ({}); name one as FILE#{}",
                names.join(", "),
                names[0]
            )
        }
    }
}

fn of_model(
    model: &docward_code::Model,
    problems: &[docward_code::Problem],
) -> anyhow::Result<Loaded> {
    let schema = model.schema.to_vec().context("the schema is not a BSON document")?;
    let mut notes: Vec<String> = problems
        .iter()
        .map(|problem| {
            format!("line {}, column {}: {}", problem.line, problem.column, problem.message)
        })
        .collect();
    notes.extend(model.left_out.iter().filter(|left| left.loosens).map(|left| {
        let at = if left.path.is_empty() { &model.name } else { &left.path };
        format!("line {}: {at}: {} is not in the schema: {}", left.place.line, left.what, left.why)
    }));
    Ok(Loaded { notes, namespace: None, validator: wrap(&schema) })
}

/// Finds the validators in a document.
pub(crate) fn unwrap(document: &[u8]) -> anyhow::Result<Vec<Loaded>> {
    let fields = fields(document)?;
    let find = |key: &str| fields.iter().find(|field| field.key == key.as_bytes());
    if fields.is_empty() {
        bail!(
            "the document is empty; a schema looks like {{\"$jsonSchema\": {{\"bsonType\": \
             \"object\", …}}}}"
        );
    }
    // The document may be the metadata of a dump, a reply of listCollections, or a command that
    // sets a validator.
    refuse_doubles(document, 0)?;
    // `schema infer` writes this form for several collections.
    let by_name: Option<Vec<Loaded>> = fields
        .iter()
        .map(|field| {
            let name = std::str::from_utf8(field.key).ok()?;
            let namespace = Namespace::parse(name)?;
            let inner = self::fields(field.value).ok().filter(|_| field.tag == OBJECT)?;
            let is_validator = inner.iter().any(|field| field.key == b"$jsonSchema");
            is_validator.then(|| Loaded {
                notes: Vec::new(),
                namespace: Some(namespace),
                validator: field.value.to_vec(),
            })
        })
        .collect();
    if let Some(several) = by_name {
        return Ok(several);
    }
    // The document may be the options of a collection, or only the validator.
    let is_whole = |field: &Element<'_>| {
        const WHOLE: [&[u8]; 5] = [b"$jsonSchema", b"$and", b"$or", b"$nor", b"$expr"];
        let inner = self::fields(field.value).ok().filter(|_| field.tag == OBJECT);
        inner.is_some_and(|inner| inner.iter().any(|field| WHOLE.contains(&field.key)))
    };
    if let Some(validator) = find("validator").filter(|field| is_whole(field)) {
        return Ok(vec![Loaded { validator: validator.value.to_vec(), ..Loaded::default() }]);
    }
    // The document may be conditions on fields, such as {qty: {$gt: 0}}, with any field names.
    if fields.iter().all(is_condition) {
        return Ok(vec![Loaded { validator: document.to_vec(), ..Loaded::default() }]);
    }
    if let Some(options) = find("options").filter(|field| field.tag == OBJECT) {
        let inner = self::fields(options.value)?;
        let Some(validator) = inner.iter().find(|field| field.key == b"validator") else {
            bail!("the options of this collection have no validator");
        };
        return Ok(vec![Loaded {
            notes: Vec::new(),
            namespace: None,
            validator: validator.value.to_vec(),
        }]);
    }
    if let Some(validator) = find("validator").filter(|field| field.tag == OBJECT) {
        return Ok(vec![Loaded {
            notes: Vec::new(),
            namespace: None,
            validator: validator.value.to_vec(),
        }]);
    }
    if fields.iter().any(|field| field.key.starts_with(b"$")) {
        return Ok(vec![Loaded {
            notes: Vec::new(),
            namespace: None,
            validator: document.to_vec(),
        }]);
    }
    if KEYWORDS.iter().any(|key| find(key).is_some()) {
        return Ok(vec![Loaded { notes: Vec::new(), namespace: None, validator: wrap(document) }]);
    }
    let names: Vec<_> =
        fields.iter().take(3).map(|field| String::from_utf8_lossy(field.key)).collect();
    bail!(
        "neither a schema nor a validator: it begins with {}; expected {{\"$jsonSchema\": …}}, or a schema with `bsonType`, `required` and `properties`",
        names.join(", ")
    )
}

const OBJECT: u8 = 0x03;

fn is_condition(field: &Element<'_>) -> bool {
    const REGEX: u8 = 0x0b;
    if field.tag == REGEX {
        return true;
    }
    let inner = if field.tag == OBJECT { fields(field.value).ok() } else { None };
    inner.is_some_and(|inner| {
        !inner.is_empty() && inner.iter().all(|operator| operator.key.starts_with(b"$"))
    })
}

/// Refuses duplicate keys, because readers disagree about their meaning.
fn refuse_doubles(document: &[u8], depth: u32) -> anyhow::Result<()> {
    let fields = fields(document)?;
    for (at, field) in fields.iter().enumerate() {
        let name = String::from_utf8_lossy(field.key);
        if fields[..at].iter().any(|before| before.key == field.key) {
            bail!("the key `{name}` occurs twice in one object; remove one of them");
        }
        if matches!(field.tag, OBJECT | 0x04) && depth < 200 {
            refuse_doubles(field.value, depth + 1)?;
        }
    }
    Ok(())
}

fn fields(document: &[u8]) -> anyhow::Result<Vec<Element<'_>>> {
    let read: Result<Vec<_>, _> = Elements::new(document).and_then(Iterator::collect);
    read.map_err(|fault| anyhow::anyhow!("{}", fault.kind))
}

/// Returns a schema as a validator.
pub(crate) fn wrap(schema: &[u8]) -> Vec<u8> {
    const KEY: &[u8] = b"\x03$jsonSchema\0";
    let length = 4 + KEY.len() + schema.len() + 1;
    let mut out = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes().to_vec();
    out.extend_from_slice(KEY);
    out.extend_from_slice(schema);
    out.push(0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let loaded = unwrap(&json::parse_one(text).unwrap()).unwrap();
        let expected = json::parse_one(expected).unwrap();
        assert_eq!(
            loaded,
            [Loaded { notes: Vec::new(), namespace: None, validator: expected }],
            "{text}"
        );
    }

    #[test]
    fn a_schema_is_found_in_whatever_holds_it() {
        let validator = r#"{"$jsonSchema": {"required": ["a"]}}"#;
        check(validator, validator);
        check(r#"{"required": ["a"]}"#, validator);
        check(&format!(r#"{{"collMod": "c", "validator": {validator}}}"#), validator);
        check(&format!(r#"{{"options": {{"validator": {validator}}}, "indexes": []}}"#), validator);
        check(&format!(r#"{{"validator": {validator}}}"#), validator);
        check(r#"{"validator": {"$or": [{"a": 1}]}}"#, r#"{"$or": [{"a": 1}]}"#);
        // A field may have this name.
        check(r#"{"validator": {"$gt": 0}}"#, r#"{"validator": {"$gt": 0}}"#);
        check(r#"{"qty": {"$gt": 0}}"#, r#"{"qty": {"$gt": 0}}"#);
        check(r#"{"$and": [{"qty": {"$gt": 0}}]}"#, r#"{"$and": [{"qty": {"$gt": 0}}]}"#);
    }

    #[test]
    fn several_schemas_are_told_apart_by_name() {
        let text =
            r#"{"db_shop.t_user": {"$jsonSchema": {}}, "db_shop.t_order": {"$jsonSchema": {}}}"#;
        let loaded = unwrap(&json::parse_one(text).unwrap()).unwrap();
        let names: Vec<_> =
            loaded.iter().map(|l| l.namespace.clone().unwrap().to_string()).collect();
        assert_eq!(names, ["db_shop.t_user", "db_shop.t_order"]);
    }

    #[test]
    fn what_is_no_schema_is_told_with_what_is_expected() {
        let message =
            |text: &str| format!("{:#}", unwrap(&json::parse_one(text).unwrap()).unwrap_err());
        assert!(message("{}").contains("the document is empty"));
        assert!(message(r#"{"_id": 1, "name": "x"}"#).contains("begins with _id, name"));
        assert!(message(r#"{"options": {}, "indexes": []}"#).contains("no validator"));
    }
}
