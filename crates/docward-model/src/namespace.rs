//! Names of places: a collection in a database, a field in a document.

use serde::{Deserialize, Serialize};

use std::fmt;

/// A collection's full name, `database.collection`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Namespace {
    /// The database, which never holds a dot.
    pub database: String,
    /// The collection, which may hold dots (`system.buckets.t_metric`).
    pub collection: String,
}

impl Namespace {
    /// A namespace of the two names given.
    pub fn new(database: impl Into<String>, collection: impl Into<String>) -> Self {
        Self { database: database.into(), collection: collection.into() }
    }

    /// Reads `db.coll`; the first dot divides, because collection names may hold further dots.
    pub fn parse(text: &str) -> Option<Self> {
        let (database, collection) = text.split_once('.')?;
        (!database.is_empty() && !collection.is_empty()).then(|| Self::new(database, collection))
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.collection)
    }
}

/// A field's place in a document: `items[].price`. Array elements are `[]`, folded dynamic keys `*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldPath(String);

impl FieldPath {
    /// A path from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, as printed in reports.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as index keys and update statements write it: without `[]`.
    pub fn dotted(&self) -> String {
        self.0.replace("[]", "")
    }

    /// The last name, without `[]`.
    pub fn leaf(&self) -> &str {
        let text = self.0.trim_end_matches("[]");
        text.rsplit('.').next().unwrap_or(text)
    }

    /// Dotted names including the leaf (ALG-1 `path_parts`).
    pub fn parts(&self) -> usize {
        self.0.split('.').count()
    }

    /// Returns whether this path is inside an array.
    pub fn in_array(&self) -> bool {
        self.0.contains("[]")
    }

    /// Returns whether this path contains object keys that are data.
    pub fn has_any_key(&self) -> bool {
        self.0.contains('*')
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
