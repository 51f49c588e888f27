//! The plan of an index.

use std::collections::{BTreeMap, BTreeSet};

use bson::{Bson, Document, doc};

/// The plan of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPlan {
    /// The fields, and whether each is descending.
    pub keys: Vec<(String, bool)>,
    /// The number of leading keys that are compared with one value each. Their order is arbitrary.
    pub compared: usize,
    /// The keys of another kind than ascending or descending: `2dsphere`, `text`.
    pub kinds: BTreeMap<String, &'static str>,
    /// Whether keys must be unique.
    pub unique: bool,
    /// The documents in the index. `None` means all.
    pub only: Option<Partial>,
    /// The number of seconds after which documents expire.
    pub expire_after: Option<u64>,
    /// The reads that it serves.
    pub serves: Vec<String>,
    /// Notes, for example that a range precedes the sort.
    pub notes: Vec<String>,
}

/// The documents in a partial index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partial {
    /// A field has this value (PT-poly.2).
    Is(String, String),
    /// A number is below this value: buckets with free space (GC-37), documents of an old shape.
    Below(String, u64),
    /// A field exists. Parents without children therefore do not conflict.
    Present(String),
}

impl Partial {
    /// Returns the condition in words: `type is car`.
    pub fn text(&self) -> String {
        match self {
            Self::Is(field, value) => format!("{field} is {value}"),
            Self::Below(field, most) => format!("{field} is below {most}"),
            Self::Present(field) => format!("{field} is there"),
        }
    }

    /// Returns the `partialFilterExpression`.
    pub fn filter(&self) -> Document {
        match self {
            Self::Is(field, value) => doc! { field: value },
            Self::Below(field, most) => doc! { field: { "$lt": number(*most) } },
            Self::Present(field) => doc! { field: { "$exists": true } },
        }
    }
}

/// Returns an integer in the narrowest type.
pub(crate) fn number(value: u64) -> Bson {
    i32::try_from(value).map_or_else(|_| Bson::Int64(value as i64), Bson::Int32)
}

impl IndexPlan {
    pub(crate) fn on(keys: Vec<(String, bool)>, serves: impl Into<String>) -> Self {
        Self {
            keys,
            compared: 1,
            kinds: BTreeMap::new(),
            unique: false,
            only: None,
            expire_after: None,
            serves: vec![serves.into()],
            notes: Vec::new(),
        }
    }

    /// Returns the keys as the server takes them: `{ region: 1, place: "2dsphere" }`.
    pub fn key_document(&self) -> Document {
        let value = |(name, falls): &(String, bool)| {
            let kind = self.kinds.get(name).map(|kind| Bson::from(*kind));
            (name.clone(), kind.unwrap_or(Bson::Int32(if *falls { -1 } else { 1 })))
        };
        self.keys.iter().map(value).collect()
    }

    /// Whether this index can replace another, because it begins with the same keys. Keys that are
    /// compared with one value may be in any order. The directions of the others may all be
    /// reversed.
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
