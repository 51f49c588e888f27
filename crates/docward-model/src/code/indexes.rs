//! Facts about indexes that code declares, and about what needs them.

use std::collections::BTreeSet;

use super::Place;

/// Facts about indexes.
#[derive(Clone, Debug, Default)]
pub struct CodeIndexes {
    /// Indexes that code declares or creates.
    pub declared: Vec<CodeIndex>,
    /// Files that declare expiry in a form that could not be read.
    pub unread_expiry: BTreeSet<String>,
    /// Fields by which code deletes documents, without the path before them.
    pub deleted_by: BTreeSet<String>,
    /// Queries whose filters could be read as a whole.
    pub queries: Vec<FieldQuery>,
}

impl CodeIndexes {
    /// Adds the facts of another file.
    pub(super) fn absorb(&mut self, other: Self) {
        let Self { declared, unread_expiry, deleted_by, queries } = other;
        self.declared.extend(declared);
        self.unread_expiry.extend(unread_expiry);
        self.deleted_by.extend(deleted_by);
        self.queries.extend(queries);
    }

    /// Whether code declares an index of a field after which documents expire.
    pub fn expires_by(&self, field: &str) -> bool {
        self.declared
            .iter()
            .any(|index| index.expires && index.keys.first().is_some_and(|key| key == field))
    }
}

/// An index that code declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeIndex {
    /// The place.
    pub place: Place,
    /// The collection or model, if known.
    pub of: Option<String>,
    /// The paths of its keys in order.
    pub keys: Vec<String>,
    /// Whether documents expire by it.
    pub expires: bool,
}

/// A query, with the fields of its filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldQuery {
    /// The place.
    pub place: Place,
    /// The collection or model.
    pub of: String,
    /// The paths that it compares, sorted. Negations and patterns do not count.
    pub fields: Vec<String>,
}
