//! Reads fields of Mongoose schemas: types and options.
//!
//! Null is accepted for every field that is not required, including array elements. Mongoose stores
//! null, and its casts do not change it. Numbers are `int`, `long` or `double`. The driver writes
//! 32-bit integers as `int` and all other numbers as `double`; increments by other programs can
//! produce `long`. `Number` never produces a decimal, so decimals are not accepted.

use tree_sitter::Node;

use crate::{
    draft::{Draft, is_nameable, join},
    pattern,
    shape::{Items, Limit, Rest, Shape},
};
use docward_source::syntax::{parts, quoted};

use super::{
    Reader,
    script::{self, Entry, bare},
};

/// The database types of Mongoose's `Number`.
pub(super) const NUMBER: [&str; 3] = ["int", "long", "double"];

/// A field, and whether every document has it.
pub(super) struct Field {
    pub(super) shape: Shape,
    pub(super) required: bool,
}

impl Field {
    fn optional(shape: Shape) -> Self {
        Self { shape: shape.or_null(), required: false }
    }
}

impl<'t> Reader<'t> {
    /// Returns the fields that an object literal declares.
    pub(super) fn definition(
        &self,
        draft: &mut Draft,
        object: Node<'t>,
        path: &str,
        into: &mut Shape,
    ) {
        for spread in self.script.foreign_spreads(object) {
            let what = quoted(self.script.text(spread));
            draft.loosened(path, what, "declared in another file", self.place(spread));
        }
        for Entry { name, key, value } in self.script.entries(object) {
            let place = self.place(key);
            if !name.split('.').all(is_nameable) {
                draft.unnameable(path, &name, place);
                continue;
            }
            let inner = join(path, &name);
            draft.field(&inner, place);
            // `a.b` also declares `a`.
            for (dot, _) in name.match_indices('.') {
                draft.field(&join(path, &name[..dot]), place);
            }
            let field = self.field(draft, value, &inner);
            insert(into, &name, field);
        }
    }

    /// Reads the declaration of one field.
    pub(super) fn field(&self, draft: &mut Draft, value: Node<'t>, path: &str) -> Field {
        let node = self.script.resolve(value);
        if node.kind() == "object" {
            if let Some(kind) = self.declared_type(node) {
                return self.with_options(draft, Some(kind), node, path, None);
            }
            if !self.script.entries(node).is_empty() {
                return self.nested(draft, node, path);
            }
        }
        Field::optional(self.kind(draft, value, path))
    }

    /// Returns the `type` option of an object literal that declares one field. If the value of
    /// `type` itself has a `type`, the literal declares a nested field of that name.
    pub(super) fn declared_type(&self, object: Node<'t>) -> Option<Node<'t>> {
        let kind = self.script.option(object, "type")?;
        let resolved = self.script.resolve(kind);
        let field = resolved.kind() == "object" && self.script.option(resolved, "type").is_some();
        (!field).then_some(kind)
    }

    fn nested(&self, draft: &mut Draft, object: Node<'t>, path: &str) -> Field {
        let shape = draft.deeper(path, self.place(object), |draft| {
            let mut shape = Shape::object();
            self.definition(draft, object, path, &mut shape);
            shape
        });
        // Mongoose checks the required fields of a nested object even if the object is missing.
        let required = !shape.required.is_empty();
        Field { shape: if required { shape } else { shape.or_null() }, required }
    }

    /// Reads a type in any notation.
    pub(super) fn kind(&self, draft: &mut Draft, value: Node<'t>, path: &str) -> Shape {
        let place = self.place(value);
        draft.deeper(path, place, |draft| self.kind_inside(draft, value, path))
    }

    fn kind_inside(&self, draft: &mut Draft, value: Node<'t>, path: &str) -> Shape {
        if let Some(schema) = self.schema(value) {
            return self.sub_schema(draft, &schema, path, self.place(value));
        }
        let node = self.script.resolve(value);
        match node.kind() {
            "array" => {
                let element = parts(node).first().copied();
                let inner = format!("{path}[]");
                Shape::array(
                    element.map_or_else(Shape::default, |element| {
                        self.element(draft, element, &inner)
                    }),
                )
            }
            "object" if self.script.entries(node).is_empty() => Shape::default(),
            "object" => {
                let mut shape = Shape::object();
                self.definition(draft, node, path, &mut shape);
                shape
            }
            "arrow_function" => match node.child_by_field_name("body") {
                Some(body) => self.kind(draft, body, path),
                None => Shape::default(),
            },
            "call_expression" if self.script.text(node).starts_with("raw(") => {
                let first = node.child_by_field_name("arguments").map(parts).unwrap_or_default();
                match first.first() {
                    Some(inner) => self.kind(draft, *inner, path),
                    None => Shape::default(),
                }
            }
            "string" | "template_string" => {
                let name = self.script.string(node).unwrap_or_default();
                self.named(draft, &name, value, path)
            }
            _ => match self.script.last_name(bare(node)) {
                Some(name) => self.named(draft, name, value, path),
                None => self.foreign(draft, value, path),
            },
        }
    }

    /// Reads the type of an array element.
    fn element(&self, draft: &mut Draft, element: Node<'t>, path: &str) -> Shape {
        let resolved = self.script.resolve(element);
        if resolved.kind() == "object" && self.declared_type(resolved).is_none() {
            // Mongoose treats an object in an array as a separate schema with an `_id`.
            let mut shape = Shape::object();
            shape.set_property("_id", Shape::of(&["objectId"]));
            self.definition(draft, resolved, path, &mut shape);
            return if shape.properties.len() == 1 { Shape::default() } else { shape.or_null() };
        }
        self.field(draft, element, path).shape
    }

    fn named(&self, draft: &mut Draft, name: &str, value: Node<'t>, path: &str) -> Shape {
        let mut letters = name.chars();
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        let name = format!("{first}{}", letters.as_str());
        match name.as_str() {
            "String" => Shape::of(&["string"]),
            "Number" => Shape::of(&NUMBER),
            "Date" => Shape::of(&["date"]),
            "Boolean" | "Bool" => Shape::of(&["bool"]),
            "ObjectId" | "ObjectID" | "Oid" => Shape::of(&["objectId"]),
            "Buffer" | "UUID" | "Uuid" => Shape::of(&["binData"]),
            "Decimal128" => Shape::of(&["decimal"]),
            "BigInt" => Shape::of(&["long"]),
            "Int32" => Shape::of(&["int"]),
            "Double" => Shape::of(&["double"]),
            "Array" | "DocumentArray" => Shape::of(&["array"]),
            "Map" => Shape::object(),
            "Mixed" | "Object" => Shape::default(),
            _ => match self.script.classes.get(name.as_str()) {
                Some(class) => self.class(draft, *class, path, self.place(value), false),
                None => self.foreign(draft, value, path),
            },
        }
    }

    fn foreign(&self, draft: &mut Draft, value: Node<'t>, path: &str) -> Shape {
        let what = quoted(self.script.text(value));
        let why = "no type of Mongoose, and not declared in this file";
        draft.loosened(path, what, why, self.place(value));
        Shape::default()
    }

    /// Reads a field in the form `{ type: …, required: …, … }`. With NestJS, the type comes from
    /// the annotation.
    pub(super) fn with_options(
        &self,
        draft: &mut Draft,
        kind: Option<Node<'t>>,
        object: Node<'t>,
        path: &str,
        inferred: Option<Shape>,
    ) -> Field {
        let mut shape = match (kind, inferred) {
            (Some(kind), _) => {
                let mut shape = self.kind(draft, kind, path);
                if shape.is("object")
                    && shape.properties.is_empty()
                    && let Some(values) = self.script.option(object, "of")
                {
                    let inner = join(path, "*");
                    shape = Shape::map(self.field(draft, values, &inner).shape);
                }
                shape
            }
            (None, inferred) => inferred.unwrap_or_default(),
        };
        let mut required = false;
        for entry in self.script.entries(object) {
            let Entry { name, key, value } = &entry;
            let (place, value) = (self.place(*key), *value);
            let what = || quoted(&format!("{name}: {}", self.script.text(value)));
            match name.as_str() {
                "required" => match self.flag(value) {
                    Some(flag) => required = flag,
                    None => draft.loosened(path, what(), "decided by code", place),
                },
                "enum" => match self.script.values(value) {
                    Some(values) if values.is_empty() => {}
                    Some(values) => match &mut shape.items {
                        Items::Each(each) => each.set_enum(values),
                        _ => shape.set_enum(values),
                    },
                    None => draft.loosened(path, what(), "its values are not in this file", place),
                },
                "min" | "max" if shape.is("date") => {
                    draft.loosened(path, what(), "the server compares numbers only", place);
                }
                "min" | "max" | "minlength" | "minLength" | "maxlength" | "maxLength" => {
                    self.limit(draft, &mut shape, &entry, path);
                }
                "match" => self.matched(draft, &mut shape, value, path),
                "validate" => draft.loosened(path, what(), "decided by code", place),
                "default" => draft.noted(path, what(), "the server sets no default values", place),
                "ref" | "refPath" => {
                    draft.noted(path, what(), "the server does not look up references", place);
                }
                "unique" if self.flag(value) != Some(false) => {
                    draft.loosened(path, what(), "needs a unique index, not a schema", place);
                }
                "alias" => draft.noted(path, what(), "a name in code only", place),
                "get" | "set" | "transform" | "cast" => {
                    draft.noted(path, what(), "decided by code", place);
                }
                // These options do not affect stored values.
                _ => {}
            }
        }
        if required {
            // Mongoose treats an empty string as a missing one.
            if shape.types == ["string"] && shape.enumeration.is_empty() {
                shape.set_min_size(1);
            }
            shape.null = false;
            Field { shape, required }
        } else {
            // Mongoose does not match patterns against an empty string.
            for pattern in &mut shape.patterns {
                let flags = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
                *pattern = match flags {
                    Some((flags, rest)) if flags.chars().all(|c| "ims".contains(c)) => {
                        format!("(?{flags})^$|{rest}")
                    }
                    _ => format!("^$|{pattern}"),
                };
            }
            Field::optional(shape)
        }
    }

    /// Applies a call such as `schema.path('a.b').required(true)`, which changes a field after its
    /// declaration.
    pub(super) fn said_of_path(
        &self,
        draft: &mut Draft,
        shape: &mut Shape,
        arguments: &[Node<'t>],
        call: Node<'t>,
        path: &str,
    ) {
        let source = self.script.source;
        let Some((_, method)) = script::method(source, call) else { return };
        let inner =
            script::path_call(source, call).and_then(|c| c.child_by_field_name("arguments"));
        let name = inner.and_then(|inner| self.script.literal(*parts(inner).first()?));
        let Some(name) = name.as_ref().and_then(bson::Bson::as_str) else { return };
        let at = join(path, name);
        let place = self.place(call);
        let given = arguments.first().map_or("", |argument| self.script.text(*argument));
        let what = quoted(&format!("{method}({given})"));
        let flag = arguments.first().map_or(Some(true), |argument| self.flag(*argument));
        match method {
            "required" => match flag {
                Some(flag) => set_required(shape, name, flag),
                None => draft.loosened(&at, what, "decided by code", place),
            },
            "validate" => draft.loosened(&at, "validate", "decided by code", place),
            // `schema.path('name', Number)` replaces the declaration.
            "path" => {
                if let Some(kind) = arguments.get(1) {
                    let field = self.field(draft, *kind, &at);
                    insert(shape, name, field);
                }
            }
            "enum" | "min" | "max" | "match" | "minlength" | "minLength" | "maxlength"
            | "maxLength" => {
                draft.loosened(
                    &at,
                    what,
                    "declared separately from the field; declare it \
                 there",
                    place,
                );
                // The call overrides the option in the declaration.
                if let Some(field) = found(shape, name) {
                    match method {
                        "enum" => field.enumeration.clear(),
                        "min" => field.minimum = None,
                        "max" => field.maximum = None,
                        "match" => field.patterns.clear(),
                        "minlength" | "minLength" => field.min_length = None,
                        _ => field.max_length = None,
                    }
                }
            }
            "unique" if flag != Some(false) => {
                draft.loosened(&at, what, "needs a unique index, not a schema", place);
            }
            "default" => draft.noted(&at, what, "the server sets no default values", place),
            "discriminator" => {
                let why = "elements of several kinds; the schema has only their common fields";
                draft.loosened(&at, what, why, place);
                // Objects at this path, or elements of a list, have fields that are not listed.
                if let Some(field) = found(shape, name) {
                    match &mut field.items {
                        Items::Each(each) => each.rest = Rest::Open,
                        _ => field.rest = Rest::Open,
                    }
                }
            }
            _ => {}
        }
    }

    /// Reads `true`, `[true, message]`, or just a message.
    fn flag(&self, value: Node<'t>) -> Option<bool> {
        let node = self.first_of(value);
        match self.script.literal(node)? {
            bson::Bson::Boolean(flag) => Some(flag),
            bson::Bson::String(message) => Some(!message.is_empty()),
            bson::Bson::Null => Some(false),
            _ => None,
        }
    }

    /// Returns the value of `[value, message]` and `{ value, message }`, or a plain value itself.
    fn first_of(&self, value: Node<'t>) -> Node<'t> {
        let node = self.script.resolve(value);
        match node.kind() {
            "array" => parts(node).first().copied().unwrap_or(node),
            "object" => self.script.option(node, "value").unwrap_or(node),
            _ => node,
        }
    }

    fn limit(&self, draft: &mut Draft, shape: &mut Shape, entry: &Entry<'t>, path: &str) {
        let literal = self.script.literal(self.first_of(entry.value));
        let size = match literal {
            Some(bson::Bson::Int32(n)) => u64::try_from(n).ok(),
            _ => None,
        };
        match (entry.name.as_str(), literal, size) {
            ("min", Some(n), _) if is_number(&n) => shape.minimum = Limit::including(n),
            ("max", Some(n), _) if is_number(&n) => shape.maximum = Limit::including(n),
            ("minlength" | "minLength", _, Some(n)) => shape.min_length = Some(n),
            ("maxlength" | "maxLength", _, Some(n)) => shape.max_length = Some(n),
            _ => {
                let what = quoted(&format!("{}: {}", entry.name, self.script.text(entry.value)));
                draft.loosened(path, what, "no number in this file", self.place(entry.key));
            }
        }
    }

    fn matched(&self, draft: &mut Draft, shape: &mut Shape, value: Node<'t>, path: &str) {
        let node = self.first_of(value);
        let resolved = self.script.resolve(node);
        let place = self.place(value);
        let what = quoted(&format!("match: {}", self.script.text(value)));
        if resolved.kind() != "regex" {
            draft.loosened(path, what, "no regular expression in this file", place);
            return;
        }
        let inner = |name| resolved.child_by_field_name(name).map_or("", |n| self.script.text(n));
        match pattern::ecma(inner("pattern"), inner("flags")) {
            Ok(pattern) if !shape.is("array") => shape.patterns.push(pattern),
            Ok(_) => draft.loosened(
                path,
                what,
                "it applies to strings, but this is an \
             array",
                place,
            ),
            Err(why) => draft.loosened(path, what, why, place),
        }
    }
}

fn is_number(value: &bson::Bson) -> bool {
    matches!(value, bson::Bson::Int32(_) | bson::Bson::Int64(_) | bson::Bson::Double(_))
}

/// Returns the shape of the field at a path. `a.b` means `b` inside `a`.
fn found<'s>(shape: &'s mut Shape, name: &str) -> Option<&'s mut Shape> {
    let (outer, rest) = name.split_once('.').unwrap_or((name, ""));
    let (_, inner) = shape.properties.iter_mut().find(|(known, _)| known == outer)?;
    if rest.is_empty() { Some(inner) } else { found(inner, rest) }
}

/// Removes the field at a path.
pub(super) fn take_out(shape: &mut Shape, name: &str) {
    let (outer, leaf) = match name.rsplit_once('.') {
        Some((outer, leaf)) => (found(shape, outer), leaf),
        None => (Some(shape), name),
    };
    if let Some(outer) = outer {
        outer.properties.retain(|(known, _)| known != leaf);
        outer.required.retain(|known| known != leaf);
    }
}

fn set_required(shape: &mut Shape, name: &str, flag: bool) {
    let (outer, rest) = match name.split_once('.') {
        Some((outer, rest)) => (outer, Some(rest)),
        None => (name, None),
    };
    let Some((_, inner)) = shape.properties.iter_mut().find(|(known, _)| known == outer) else {
        return;
    };
    match rest {
        Some(rest) => set_required(inner, rest, flag),
        // Mongoose treats an empty string as a missing one.
        None if flag && inner.types == ["string"] && inner.enumeration.is_empty() => {
            inner.set_min_size(1);
        }
        None => {}
    }
    if flag {
        inner.null = false;
        inner.enumeration.retain(|value| *value != bson::Bson::Null);
        shape.require(outer);
    } else if rest.is_none() {
        inner.null = true;
        shape.required.retain(|known| known != outer);
    }
}

pub(super) fn insert(into: &mut Shape, name: &str, field: Field) {
    match name.split_once('.') {
        None => {
            into.set_property(name, field.shape);
            // The last declaration of a field wins.
            into.required.retain(|known| known != name);
            if field.required {
                into.require(name);
            }
        }
        Some((outer, rest)) => {
            if !into.has_property(outer) {
                into.set_property(outer, Shape::object());
            }
            if field.required {
                into.require(outer);
            }
            if let Some((_, inner)) = into.properties.iter_mut().find(|(name, _)| name == outer) {
                insert(inner, rest, field);
            }
        }
    }
}
