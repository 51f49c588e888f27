//! Figures that a server computed over all documents of a collection, without transferring the
//! documents.

use serde::{Deserialize, Serialize};

use crate::{Distribution, Seen, TypeCounts, Unit};

/// Figures over all documents of a collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The number of documents.
    pub documents: u64,
    /// Their sizes in bytes.
    pub sizes: Distribution,
    /// Exact counts of documents above a size: `(bytes, documents larger than that)`, ascending.
    pub larger_than: Vec<(u64, u64)>,
    /// Top-level fields by name.
    pub fields: Vec<CountedField>,
    /// True if there were more fields than are listed.
    pub capped: bool,
}

/// A top-level field over all documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedField {
    /// Its name.
    pub name: String,
    /// Values by type.
    pub types: TypeCounts,
    /// Bytes of all values.
    pub bytes: u64,
    /// Elements per array.
    pub lengths: Distribution,
    /// The number of arrays with 1,000 elements or more that hold only numbers, some of them with
    /// fractions.
    #[serde(default)]
    pub long_vectors: u64,
}

impl Counted {
    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&CountedField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Documents larger than `bytes`: exact for the size limits of the rule book, else from the
    /// distribution.
    pub fn documents_larger_than(&self, bytes: u64) -> u64 {
        self.sizes.larger_than(&self.larger_than, bytes)
    }

    /// The extent of the examination: all documents.
    pub fn seen(&self) -> Seen {
        Seen::all(self.documents, Unit::Documents)
    }
}
