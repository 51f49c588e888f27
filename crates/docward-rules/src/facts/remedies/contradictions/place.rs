//! The constraints on one value, and the types that keywords apply to.

use std::collections::BTreeSet;

use docward_model::{BsonType, Value};

use crate::facts::schema::admitted_types;

/// Kinds of values that keywords apply to.
pub(super) const KINDS: [Kind; 4] = [
    Kind {
        noun: "string",
        types: &[BsonType::String, BsonType::Symbol],
        keywords: &["minLength", "maxLength", "pattern"],
    },
    Kind {
        noun: "number",
        types: &[BsonType::Int, BsonType::Long, BsonType::Double, BsonType::Decimal],
        keywords: &["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"],
    },
    Kind {
        noun: "array",
        types: &[BsonType::Array],
        keywords: &["items", "additionalItems", "minItems", "maxItems", "uniqueItems"],
    },
    Kind {
        noun: "object",
        types: &[BsonType::Object],
        keywords: &[
            "required",
            "properties",
            "patternProperties",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "dependencies",
        ],
    },
];

pub(super) struct Kind {
    pub(super) noun: &'static str,
    pub(super) types: &'static [BsonType],
    pub(super) keywords: &'static [&'static str],
}

/// The constraints on one value: a schema with the parts of its `allOf`, or a branch with its
/// surroundings.
pub(super) struct Place<'s> {
    pub(super) parts: Vec<&'s Value>,
    /// Parts from here on are examined; those before are the surroundings.
    pub(super) own: usize,
    /// `anyOf` and `oneOf` of the own parts.
    pub(super) groups: Vec<(&'static str, &'s [Value])>,
}

impl<'s> Place<'s> {
    pub(super) fn of(nodes: impl Iterator<Item = &'s Value>) -> Self {
        Self::within(Vec::new(), nodes)
    }

    pub(super) fn within(
        mut parts: Vec<&'s Value>,
        nodes: impl Iterator<Item = &'s Value>,
    ) -> Self {
        let own = parts.len();
        for node in nodes {
            flatten(node, &mut parts);
        }
        let groups = groups(&parts[own..]);
        Self { parts, own, groups }
    }

    pub(super) fn branch(&self, node: &'s Value) -> Self {
        Self::within(self.parts.clone(), std::iter::once(node))
    }

    /// Returns the constraints on a place inside this one.
    pub(super) fn inside(&self, find: impl Fn(&'s Value) -> Option<&'s Value>) -> Self {
        let (around, own) = self.parts.split_at(self.own);
        let mut surroundings = Vec::new();
        around.iter().filter_map(|part| find(part)).for_each(|n| flatten(n, &mut surroundings));
        Self::within(surroundings, own.iter().filter_map(|part| find(part)))
    }

    pub(super) fn property(&self, name: &str) -> Self {
        self.inside(|part| part.get("properties").and_then(|p| p.get(name)))
    }

    pub(super) fn items(&self) -> Self {
        self.inside(|part| part.get("items").filter(|items| matches!(items, Value::Map(_))))
    }

    pub(super) fn own(&self) -> &[&'s Value] {
        &self.parts[self.own..]
    }

    /// The same place with all alternatives of all its parts, as a separate question.
    pub(super) fn whole(&self) -> Self {
        Self { parts: self.parts.clone(), own: 0, groups: groups(&self.parts) }
    }

    /// Types that all parts accept; `None` if no part restricts them.
    pub(super) fn types(&self) -> Option<BTreeSet<BsonType>> {
        let stated = self.parts.iter().filter_map(|part| admitted_types(part));
        stated.reduce(|a, b| a.intersection(&b).copied().collect())
    }

    pub(super) fn required(&self) -> BTreeSet<&'s str> {
        let lists = self.parts.iter().filter_map(|part| part.get("required"));
        lists.flat_map(Value::items).filter_map(Value::as_text).collect()
    }

    /// Returns the strictest value of a numeric keyword: the greatest if `most`, otherwise the smallest.
    pub(super) fn count(&self, keyword: &str, most: bool) -> Option<i64> {
        let found = self.parts.iter().filter_map(|part| whole(part.get(keyword)?));
        if most { found.max() } else { found.min() }
    }
}

pub(super) fn groups<'s>(parts: &[&'s Value]) -> Vec<(&'static str, &'s [Value])> {
    let mut out = Vec::new();
    for part in parts {
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = part.get(keyword) {
                out.push((keyword, branches.items()));
            }
        }
    }
    out
}

pub(super) fn flatten<'s>(node: &'s Value, out: &mut Vec<&'s Value>) {
    out.push(node);
    for part in node.get("allOf").map(Value::items).unwrap_or_default() {
        flatten(part, out);
    }
}

pub(super) fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Double(n) if n.fract() == 0.0 && n.abs() < 1e15 => Some(*n as i64),
        _ => None,
    }
}

pub(super) fn possible_types(place: &Place<'_>, is_document: bool) -> BTreeSet<BsonType> {
    let mut types = place.types().unwrap_or_else(|| BsonType::ALL.into_iter().collect());
    if is_document {
        types.retain(|t| *t == BsonType::Object);
    }
    types
}
