//! The result of checking documents against a schema: how many break it, and which constraints.

use serde::{Deserialize, Serialize};

/// The result of checking the documents of a collection against a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The number of documents the result is about.
    pub documents: u64,
    /// The number of documents that break the schema.
    pub refused: u64,
    /// The number of failing documents that were examined in detail.
    pub examined: u64,
    /// The constraints that documents break, by number of documents, highest first.
    pub breaches: Vec<CheckedBreach>,
    /// Breaches at further paths, beyond the number of paths that are tracked separately.
    pub others: u64,
}

/// One constraint that documents break.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedBreach {
    /// The path: `items[].price`; empty for the document itself.
    pub path: String,
    /// The keyword or operator that is broken.
    pub keyword: String,
    /// Documents that break it, among those examined in detail.
    pub documents: u64,
    /// The `_id`s of the first few of these documents.
    pub ids: Vec<CheckedId>,
}

/// The `_id` of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CheckedId {
    /// The text in the notation of mongosh.
    pub text: String,
    /// True if the `_id` reveals nothing about the document except its identity: an ObjectId, a
    /// UUID or an integer. Other `_id`s are treated like any other value of a document.
    pub is_opaque: bool,
}
