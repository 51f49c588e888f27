//! Translates one schema, keyword by keyword. A schema that loses a restriction accepts more
//! documents. Inside `not`, `oneOf` and `if`, it would accept fewer. These keywords are therefore
//! dropped completely if something inside them was lost.

use bson::{Bson, Document, doc};
use serde_json::{Map, Value};

use crate::{
    Place,
    draft::{Draft, is_nameable, join},
    pattern,
};

use super::{
    keywords::{self, ORDER},
    positions::Positions,
    refs::{Refs, escaped},
};

/// The maximum depth of the input. The server limits nesting, and one level of JSON Schema can
/// become four levels there.
const MAX_DEPTH: usize = 20;
/// The maximum number of parts. References can multiply a schema without bound.
const MAX_PARTS: usize = 20_000;

pub(super) struct Translator<'v> {
    pub(super) root: &'v Value,
    pub(super) refs: &'v Refs,
    positions: &'v Positions,
    pub(super) draft: Draft,
    /// The pointers of the references that are being followed.
    open: Vec<String>,
    depth: usize,
    parts: usize,
    /// The number of restrictions lost so far.
    lost: usize,
}

/// The place where a schema applies.
#[derive(Clone, Copy)]
pub(super) struct Spot<'p> {
    /// The JSON pointer of the schema in the text.
    pub(super) at: &'p str,
    /// The path of the value.
    pub(super) path: &'p str,
    /// Whether the value is the whole document, which always has an `_id`.
    pub(super) top: bool,
}

/// The translation of one schema.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) own: Document,
    /// Schemas that cannot be merged with the others and are combined under `allOf`.
    pub(super) beside: Vec<Document>,
}

impl<'v> Translator<'v> {
    pub(super) fn new(root: &'v Value, refs: &'v Refs, positions: &'v Positions) -> Self {
        Self {
            root,
            refs,
            positions,
            draft: Draft::default(),
            open: Vec::new(),
            depth: 0,
            parts: 0,
            lost: 0,
        }
    }

    /// Returns the translated schema of documents at a pointer.
    pub(super) fn document(&mut self, at: &str) -> Document {
        self.open.push(at.to_owned());
        self.node(Spot { at, path: "", top: true })
    }

    /// Returns the translated schema of a value at a pointer.
    #[cfg(test)]
    pub(super) fn value(&mut self, at: &str) -> Document {
        self.open.push(at.to_owned());
        self.node(Spot { at, path: "v", top: false })
    }

    pub(super) fn place(&self, at: &str) -> Place {
        self.positions.at(at)
    }

    /// Records a lost restriction.
    pub(super) fn lose(&mut self, spot: Spot<'_>, key: &str, why: impl Into<String>) {
        self.lost += 1;
        let place = self.place(&format!("{}/{}", spot.at, escaped(key)));
        self.draft.loosened(spot.path, key, why, place);
    }

    fn note(&mut self, spot: Spot<'_>, key: &str, why: &str) {
        let place = self.place(&format!("{}/{}", spot.at, escaped(key)));
        self.draft.noted(spot.path, key, why, place);
    }

    pub(super) fn node(&mut self, spot: Spot<'_>) -> Document {
        let root = self.root;
        let members = match root.pointer(spot.at) {
            Some(Value::Object(members)) => members,
            Some(Value::Bool(false)) => return never(),
            Some(Value::Bool(true)) | None => return Document::new(),
            Some(_) => {
                self.lose(spot, "", "a schema is an object or a boolean");
                return Document::new();
            }
        };
        self.parts += 1;
        if self.depth >= MAX_DEPTH || self.parts > MAX_PARTS {
            let why = if self.depth >= MAX_DEPTH { "nested too deeply" } else { "too many parts" };
            self.lose(spot, "", why);
            return Document::new();
        }
        self.depth += 1;
        let out = self.object(spot, members);
        self.depth -= 1;
        out
    }

    /// Translates a subschema that applies to the same value.
    pub(super) fn same_value(&mut self, spot: Spot<'_>, keyword: &str) -> Document {
        let at = format!("{}/{keyword}", spot.at);
        self.node(Spot { at: &at, ..spot })
    }

    /// Translates a subschema, or returns `None` if any restriction would be lost.
    fn exact(&mut self, spot: Spot<'_>, keyword: &str) -> Option<Document> {
        let before = self.lost;
        let out = self.same_value(spot, keyword);
        if self.lost == before {
            return Some(out);
        }
        self.lose(spot, keyword, "a part of it is left out, so it would refuse too much");
        None
    }

    fn object(&mut self, spot: Spot<'_>, members: &'v Map<String, Value>) -> Document {
        let mut parts = Parts::default();
        for key in ["$ref", "$recursiveRef", "$dynamicRef"] {
            if let Some(reference) = members.get(key) {
                let target = self.reference(spot, key, reference);
                if self.refs.lonely && key == "$ref" {
                    return target;
                }
                if !target.is_empty() {
                    parts.beside.push(target);
                }
            }
        }
        for (key, value) in members {
            match key.as_str() {
                "title" | "description" => match value {
                    Value::String(text) => {
                        parts.own.insert(key, text.as_str());
                    }
                    _ => self.note(spot, key, "no text"),
                },
                "allOf" | "anyOf" | "oneOf" => self.several(spot, key, value, &mut parts),
                "not" => {
                    if let Some(inner) = self.exact(spot, "not") {
                        parts.own.insert("not", inner);
                    }
                }
                "if" => self.condition(spot, members, &mut parts),
                // These keywords are translated together with others.
                "then" | "else" | "minContains" | "additionalItems" | "$ref" | "$recursiveRef"
                | "$dynamicRef" | "nullable" => {}
                "$schema" => {
                    let known = ["json-schema.org", "spec.openapis.org"];
                    if !known.iter().any(|name| value.as_str().is_some_and(|v| v.contains(name))) {
                        self.lose(
                            spot,
                            key,
                            "an unknown dialect, whose keywords may have other meanings",
                        );
                    }
                }
                "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "$defs"
                | "definitions" | "$vocabulary" => {}
                "format" => self.note(spot, key, "by default, formats only describe values"),
                "default" => self.note(spot, key, "the server sets no default values"),
                "readOnly" | "writeOnly" => {
                    self.note(spot, key, "write access is not part of validation")
                }
                "contentEncoding" | "contentMediaType" | "contentSchema" => {
                    self.note(spot, key, "content keywords only describe values")
                }
                "examples" | "example" | "$comment" | "deprecated" | "xml" | "externalDocs"
                | "discriminator" => self.note(spot, key, "an annotation for readers"),
                key if keywords::is_known(key) => {
                    keywords::translate(self, spot, key, value, members, &mut parts);
                }
                key if key.starts_with("x-") => self.note(spot, key, "an extension"),
                key => self.note(spot, key, "not a keyword of JSON Schema"),
            }
        }
        assembled(parts)
    }

    fn reference(&mut self, spot: Spot<'_>, key: &str, reference: &Value) -> Document {
        let Some(reference) = reference.as_str() else {
            self.lose(spot, key, "a reference is a text");
            return Document::new();
        };
        let target = match key {
            "$dynamicRef" => self.refs.resolve_dynamic(self.root, spot.at, reference),
            _ => self.refs.resolve(self.root, spot.at, reference),
        };
        let Some(target) = target else {
            let why = match key {
                "$dynamicRef" => "its target is determined during validation".to_owned(),
                _ => format!("`{reference}` is not in this document"),
            };
            self.lose(spot, key, why);
            return Document::new();
        };
        if self.open.contains(&target) {
            self.lose(
                spot,
                key,
                format!(
                    "`{reference}` contains itself, which a schema for the server cannot \
                 express"
                ),
            );
            // At least its type.
            let root = self.root;
            let kind = root.pointer(&target).and_then(|schema| schema.get("type"));
            return kind.map(keywords::types).filter(|kind| !kind.is_empty()).map_or_else(
                Document::new,
                |kinds| doc! { "bsonType": keywords::bson_type(kinds) },
            );
        }
        self.open.push(target.clone());
        let out = self.node(Spot { at: &target, ..spot });
        self.open.pop();
        out
    }

    fn several(&mut self, spot: Spot<'_>, key: &str, value: &Value, parts: &mut Parts) {
        let count = match value {
            Value::Array(schemas) if !schemas.is_empty() => schemas.len(),
            _ => {
                self.lose(spot, key, "not a list of schemas");
                return;
            }
        };
        let before = self.lost;
        let mut inner: Vec<Bson> = Vec::new();
        for index in 0..count {
            inner.push(self.same_value(spot, &format!("{key}/{index}")).into());
        }
        let mut key = key;
        if key == "oneOf" && self.lost > before {
            self.lose(
                spot,
                key,
                "a part of it is left out, so more than one may match: converted to anyOf",
            );
            key = "anyOf";
        }
        if key == "allOf" {
            let documents = inner.into_iter().filter_map(|part| match part {
                Bson::Document(part) => Some(part),
                _ => None,
            });
            parts.beside.extend(documents.filter(|part| !part.is_empty()));
        } else if parts.own.contains_key(key) {
            parts.beside.push(doc! { key: inner });
        } else {
            parts.own.insert(key, inner);
        }
    }

    fn condition(&mut self, spot: Spot<'_>, members: &Map<String, Value>, parts: &mut Parts) {
        let (then, otherwise) = (members.contains_key("then"), members.contains_key("else"));
        if !then && !otherwise {
            return;
        }
        let Some(condition) = self.exact(spot, "if") else { return };
        if then {
            let then = self.same_value(spot, "then");
            if !then.is_empty() {
                parts.beside.push(doc! { "anyOf": [{ "not": condition.clone() }, then] });
            }
        }
        if otherwise {
            let otherwise = self.same_value(spot, "else");
            if !otherwise.is_empty() {
                parts.beside.push(doc! { "anyOf": [condition, otherwise] });
            }
        }
    }

    /// Translates the schemas of fields. Also returns the names that the server's schemas cannot
    /// express.
    pub(super) fn fields(
        &mut self,
        spot: Spot<'_>,
        key: &str,
        fields: &Map<String, Value>,
    ) -> Document {
        let mut out = Document::new();
        for name in fields.keys() {
            let at = format!("{}/{key}/{}", spot.at, escaped(name));
            if !is_nameable(name) {
                let place = self.place(&at);
                self.lost += 1;
                if name.contains('\0') {
                    self.draft.unnameable(spot.path, name, place);
                    continue;
                }
                let why = "in a schema for the server, a dot separates nested fields, and names must \
                     not be empty";
                self.draft.loosened(&join(spot.path, name), name.as_str(), why, place);
                continue;
            }
            let path = join(spot.path, name);
            let place = self.place(&at);
            self.draft.field(&path, place);
            out.insert(name, self.node(Spot { at: &at, path: &path, top: false }));
        }
        out
    }

    /// Translates a pattern for the server.
    pub(super) fn pattern(&mut self, spot: Spot<'_>, key: &str, source: &str) -> Option<String> {
        match pattern::ecma(source, "") {
            Ok(pattern) => Some(pattern),
            Err(why) => {
                self.lose(spot, key, why);
                None
            }
        }
    }
}

/// Returns a schema that no value matches.
pub(super) fn never() -> Document {
    doc! { "not": {} }
}

/// Returns the translation as one document with keys in a fixed order.
fn assembled(parts: Parts) -> Document {
    let Parts { mut own, mut beside } = parts;
    // A lone reference is replaced by its target. A title next to the reference is kept.
    if beside.len() == 1 && own.keys().all(|key| key == "title" || key == "description") {
        let mut target = beside.remove(0);
        for (key, value) in own {
            target.insert(key, value);
        }
        own = target;
    }
    if !beside.is_empty() {
        let beside: Vec<Bson> = beside.into_iter().map(Bson::from).collect();
        own.insert("allOf", beside);
    }
    let mut out = Document::new();
    for key in ORDER {
        if let Some(value) = own.remove(key) {
            out.insert(key, value);
        }
    }
    out
}
