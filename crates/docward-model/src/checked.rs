//! Documents held against a schema: how many break it, and what of it.

use serde::{Deserialize, Serialize};

/// What came of holding the documents of a collection against a schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Documents the verdict is about.
    pub documents: u64,
    /// Documents that break the schema.
    pub refused: u64,
    /// Of those, how many were looked at closely.
    pub examined: u64,
    /// What they break: most documents first.
    pub breaches: Vec<CheckedBreach>,
    /// Breaches of further places, when there were too many to be kept apart.
    pub others: u64,
}

/// One constraint that documents break.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckedBreach {
    /// Where: `items[].price`; empty for the document itself.
    pub path: String,
    /// The keyword or operator that is broken.
    pub keyword: String,
    /// Documents that break it, among those looked at closely.
    pub documents: u64,
    /// The first few of them.
    pub ids: Vec<CheckedId>,
}

/// The `_id` of a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CheckedId {
    /// As mongosh writes it.
    pub text: String,
    /// Whether it says nothing about the document beyond which one it is: an ObjectId, a UUID, a whole
    /// number. Others are values like any other.
    pub is_opaque: bool,
}
