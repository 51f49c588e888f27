//! `$jsonSchema` validators in a compact notation.

use bson::{Bson, Document, doc};

/// One node of a schema.
#[derive(Clone)]
pub(crate) struct Node(pub(crate) Document);

/// A property, and whether every document has it.
pub(crate) struct Property {
    name: &'static str,
    node: Node,
    required: bool,
}

/// A property that every document has.
pub(crate) fn need(name: &'static str, node: Node) -> Property {
    Property { name, node, required: true }
}

/// A property that may be missing.
pub(crate) fn may(name: &'static str, node: Node) -> Property {
    Property { name, node, required: false }
}

/// Formats of text that a pattern describes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    Email,
    Phone,
    Country,
    OrderNumber,
    Uuid,
}

impl Format {
    pub(crate) fn pattern(self) -> &'static str {
        match self {
            Self::Email => r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
            Self::Phone => "^1[3-9][0-9]{9}$",
            Self::Country => "^[A-Z]{2}$",
            Self::OrderNumber => "^ORD[0-9]{9,14}$",
            Self::Uuid => "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        }
    }
}

fn of_type(name: &str) -> Node {
    Node(doc! { "bsonType": name })
}

/// Text of `min` to `max` characters.
pub(crate) fn text(min: i32, max: i32) -> Node {
    Node(doc! { "bsonType": "string", "minLength": min, "maxLength": max })
}

/// Text of one format.
pub(crate) fn formatted(format: Format) -> Node {
    Node(doc! { "bsonType": "string", "pattern": format.pattern() })
}

/// One of a few words.
pub(crate) fn one_word_of(words: &[&str]) -> Node {
    Node(doc! { "bsonType": "string", "enum": words.to_vec() })
}

pub(crate) fn int(min: i32, max: i32) -> Node {
    Node(doc! { "bsonType": "int", "minimum": min, "maximum": max })
}

pub(crate) fn long(min: i64) -> Node {
    Node(doc! { "bsonType": "long", "minimum": min })
}

pub(crate) fn double(min: f64, max: f64) -> Node {
    Node(doc! { "bsonType": "double", "minimum": min, "maximum": max })
}

/// A non-negative amount.
pub(crate) fn decimal() -> Node {
    Node(doc! { "bsonType": "decimal", "minimum": 0 })
}

pub(crate) fn moment() -> Node {
    of_type("date")
}

pub(crate) fn object_id() -> Node {
    of_type("objectId")
}

pub(crate) fn flag() -> Node {
    of_type("bool")
}

pub(crate) fn binary() -> Node {
    of_type("binData")
}

/// An object without further constraints.
pub(crate) fn any_object() -> Node {
    of_type("object")
}

/// At most `max` elements.
pub(crate) fn list(items: Node, max: i32) -> Node {
    Node(doc! { "bsonType": "array", "maxItems": max, "items": items.0 })
}

/// Any number of elements: the validator of a collection without a designed limit.
pub(crate) fn endless_list(items: Node) -> Node {
    Node(doc! { "bsonType": "array", "items": items.0 })
}

pub(crate) fn object(properties: Vec<Property>) -> Node {
    let required: Vec<Bson> =
        properties.iter().filter(|p| p.required).map(|p| p.name.into()).collect();
    let mut node = doc! { "bsonType": "object" };
    // The server refuses an empty `required`.
    if !required.is_empty() {
        node.insert("required", required);
    }
    let all: Document =
        properties.into_iter().map(|p| (p.name.to_owned(), p.node.0.into())).collect();
    node.insert("properties", all);
    Node(node)
}

impl Node {
    /// Adds branches of which exactly one must match.
    pub(crate) fn one_of(mut self, branches: Vec<Node>) -> Self {
        let branches: Vec<Bson> = branches.into_iter().map(|b| b.0.into()).collect();
        self.0.insert("oneOf", branches);
        self
    }
}
