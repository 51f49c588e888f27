//! The plan of a collection.

use crate::decide::pattern::Bucket;
use crate::declared::field_plan::Planned;
use crate::layout::index_plan::IndexPlan;
use crate::layout::shard_key::ShardPlan;

/// The plan of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionPlan {
    /// The name.
    pub name: String,
    /// The content of the documents.
    pub purpose: Purpose,
    /// The entity of its documents.
    pub entity: String,
    /// The fields of a document.
    pub fields: Vec<Planned>,
    /// The current number of documents, including those in the archive. `None` if it is not
    /// declared.
    pub documents: Option<f64>,
    /// The number of new documents per year.
    pub per_year: f64,
    /// The declared retention of a document in days.
    pub kept_days: Option<f64>,
    /// The actual retention in days, if something enforces it: an index, a server option, or a
    /// declared write.
    pub gone_days: Option<f64>,
    /// Days until a document is archived. For an archive, the age of documents when they arrive.
    pub cold_days: Option<f64>,
    /// The services that read or write its data.
    pub services: Vec<String>,
    /// The indexes in addition to the one on `_id`.
    pub indexes: Vec<IndexPlan>,
    /// The shard key, if there are several shards.
    pub shard: Option<ShardPlan>,
    /// Why the collection is not sharded although there are several shards.
    pub unsharded: Option<String>,
    /// The maximum number of documents for each parent.
    pub kept_each: Option<KeptEach>,
}

/// The content of the documents of a collection.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// Documents of an entity.
    Entity,
    /// Junction documents of a many-to-many relationship.
    Junction(String),
    /// Readings in a native time series.
    TimeSeries {
        /// The time field.
        time: String,
        /// The meta field.
        meta: String,
        /// `seconds`, `minutes` or `hours`.
        granularity: &'static str,
    },
    /// Readings in buckets.
    Bucket(Bucket),
    /// Overflow pages of a relationship.
    Overflow(String),
    /// Old versions of documents.
    Versions,
    /// Archived documents, which are rarely read.
    Archive,
    /// The unique values of a field, with the id of the document that has each.
    UniqueValues(String),
}

impl Purpose {
    /// Returns the word in JSON and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Junction(_) => "junction",
            Self::TimeSeries { .. } => "time-series",
            Self::Bucket(_) => "bucket",
            Self::Overflow(_) => "overflow",
            Self::Versions => "versions",
            Self::Archive => "archive",
            Self::UniqueValues(_) => "unique-values",
        }
    }

    /// Whether the collection supports a validator (GC-30).
    pub fn takes_validator(&self) -> bool {
        !matches!(self, Self::TimeSeries { .. })
    }
}

/// A limit on the number of documents for each parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptEach {
    pub(crate) parents: f64,
    /// The number of new parents per year.
    pub(crate) per_year: f64,
    pub(crate) newest: u64,
}

impl KeptEach {
    /// Returns the maximum number of documents after some years.
    pub(crate) fn in_years(self, years: f64) -> f64 {
        (self.parents + self.per_year * years) * self.newest as f64
    }
}
