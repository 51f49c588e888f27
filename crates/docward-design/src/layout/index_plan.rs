//! An index of a design.

use std::collections::BTreeSet;

use bson::{Bson, Document, doc};

/// An index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPlan {
    /// Fields and whether each falls.
    pub keys: Vec<(String, bool)>,
    /// How many keys in front are compared with one value each: their order is free.
    pub compared: usize,
    /// Whether no two documents share a key.
    pub unique: bool,
    /// Which documents it is for; `None` means all.
    pub only: Option<Partial>,
    /// Seconds after which documents go.
    pub expire_after: Option<u64>,
    /// What it serves.
    pub serves: Vec<String>,
    /// Whether a range stands before the sort, and other things worth saying.
    pub notes: Vec<String>,
}

/// Documents that an index is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partial {
    /// A field has a value (PT-poly.2).
    Is(String, String),
    /// A number is below another: buckets with room left (GC-37), documents of an old shape.
    Below(String, u64),
    /// A field is there: parents without children share none of their fields.
    Present(String),
}

impl Partial {
    /// As people read it: `type is car`.
    pub fn text(&self) -> String {
        match self {
            Self::Is(field, value) => format!("{field} is {value}"),
            Self::Below(field, most) => format!("{field} is below {most}"),
            Self::Present(field) => format!("{field} is there"),
        }
    }

    /// The `partialFilterExpression`.
    pub fn filter(&self) -> Document {
        match self {
            Self::Is(field, value) => doc! { field: value },
            Self::Below(field, most) => doc! { field: { "$lt": number(*most) } },
            Self::Present(field) => doc! { field: { "$exists": true } },
        }
    }
}

/// A whole number as short as it can be.
pub(crate) fn number(value: u64) -> Bson {
    i32::try_from(value).map_or_else(|_| Bson::Int64(value as i64), Bson::Int32)
}

impl IndexPlan {
    pub(crate) fn on(keys: Vec<(String, bool)>, serves: impl Into<String>) -> Self {
        Self {
            keys,
            compared: 1,
            unique: false,
            only: None,
            expire_after: None,
            serves: vec![serves.into()],
            notes: Vec::new(),
        }
    }

    /// Whether it does what another would: it begins with the same keys, where those that are compared with
    /// one value each may stand in any order, and the others may all be turned round.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        let all = other.keys.len();
        if self.keys.len() < all {
            return false;
        }
        let compared = other.compared.min(all);
        let in_front = |index: &Self| -> BTreeSet<String> {
            index.keys[..compared].iter().map(|(name, _)| name.clone()).collect()
        };
        let behind = || self.keys[compared..all].iter().zip(&other.keys[compared..]);
        in_front(self) == in_front(other)
            && behind().all(|(a, b)| a.0 == b.0)
            && (behind().all(|(a, b)| a.1 == b.1) || behind().all(|(a, b)| a.1 != b.1))
    }
}
