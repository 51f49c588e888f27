//! A compiled schema: each keyword in the form its check needs.

mod expr;

pub(crate) use expr::{
    Account, Allowed, Bits, Bound, Choice, Comparison, Expr, LONE, Note, Regex, Test, What,
};

use crate::{names::Names, number::Number, pattern::Pattern, value::Literal};

/// The constraints of one (sub)schema; absent keywords have no effect.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) types: Option<Types>,
    pub(crate) scalar: Scalar,
    pub(crate) array: Array,
    pub(crate) object: Object,
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Box<Node>>,
    pub(crate) enumeration: Option<Vec<Literal>>,
}

/// Types as bits: one per BSON tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(pub(crate) u32);

impl Types {
    /// The bit of a tag.
    fn bit(tag: u8) -> u32 {
        match tag {
            0x01..=0x13 => 1 << tag,
            0xff => 1 << 20,
            0x7f => 1 << 21,
            _ => 0,
        }
    }

    pub(crate) fn with(self, tag: u8) -> Self {
        Self(self.0 | Self::bit(tag))
    }

    pub(crate) fn has(self, tag: u8) -> bool {
        self.0 & Self::bit(tag) != 0
    }
}

/// Constraints on numbers and strings.
#[derive(Debug, Default)]
pub(crate) struct Scalar {
    pub(crate) pattern: Option<Pattern>,
    pub(crate) max_length: Option<u64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) multiple_of: Option<Number>,
    /// The limit, and whether it is exclusive.
    pub(crate) maximum: Option<(Number, bool)>,
    pub(crate) minimum: Option<(Number, bool)>,
}

/// Constraints on arrays.
#[derive(Debug, Default)]
pub(crate) struct Array {
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique: bool,
    pub(crate) items: Items,
}

/// The constraint on elements.
#[derive(Debug, Default)]
pub(crate) enum Items {
    #[default]
    Anything,
    /// One schema for each element.
    Each(Box<Node>),
    /// Schemas by position, and the constraint on the rest.
    ByPosition(Vec<Node>, Rest),
}

/// The constraint on everything that is not named.
#[derive(Debug, Default)]
pub(crate) enum Rest {
    #[default]
    Allowed,
    Forbidden,
    Like(Box<Node>),
}

/// Returns whether a name is a path through objects rather than the name of a field.
pub(crate) fn is_path(name: &[u8]) -> bool {
    name.contains(&b'.')
}

/// Constraints on objects.
#[derive(Debug, Default)]
pub(crate) struct Object {
    /// The number of required fields.
    pub(crate) required: usize,
    /// The required fields whose names are paths.
    pub(crate) required_paths: Vec<Box<[u8]>>,
    /// Properties in the order written, and every field that is named.
    pub(crate) properties: Vec<Node>,
    pub(crate) names: Names,
    /// The properties whose names are paths. These may lead to several values, and the server
    /// evaluates each keyword separately.
    pub(crate) paths: Vec<Expr>,
    pub(crate) patterns: Vec<(Pattern, Node)>,
    pub(crate) rest: Rest,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) dependencies: Vec<(Box<[u8]>, Dependency)>,
}

impl Object {
    /// Returns whether there is no constraint on objects.
    pub(crate) fn is_silent(&self) -> bool {
        self.required == 0
            && self.properties.is_empty()
            && self.patterns.is_empty()
            && matches!(self.rest, Rest::Allowed)
            && self.min_properties.is_none()
            && self.max_properties.is_none()
            && self.dependencies.is_empty()
    }
}

/// The constraint that applies if a property is present.
#[derive(Debug)]
pub(crate) enum Dependency {
    /// These properties must also be present.
    Names(Vec<Box<[u8]>>),
    /// The object must satisfy this schema.
    Schema(Box<Node>),
}
