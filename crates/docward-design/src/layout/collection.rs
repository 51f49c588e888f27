//! A collection of a design.

use crate::decide::pattern::Bucket;
use crate::declared::field_plan::Planned;
use crate::layout::index_plan::IndexPlan;
use crate::layout::shard_key::ShardPlan;

/// A collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionPlan {
    /// Its name.
    pub name: String,
    /// What its documents are.
    pub purpose: Purpose,
    /// The entity they come from.
    pub entity: String,
    /// The fields of a document.
    pub fields: Vec<Planned>,
    /// Documents today, those in the archive included; `None` when nobody said.
    pub documents: Option<f64>,
    /// New documents a year.
    pub per_year: f64,
    /// Days until a document should go.
    pub kept_days: Option<f64>,
    /// The same where something lets it go: an index, an option of the server, or a declared write.
    pub gone_days: Option<f64>,
    /// Days until a document goes to the archive; of an archive, until it comes.
    pub cold_days: Option<f64>,
    /// The services that read or write what is in it.
    pub services: Vec<String>,
    /// Indexes beside the one on `_id`.
    pub indexes: Vec<IndexPlan>,
    /// The shard key, on several shards.
    pub shard: Option<ShardPlan>,
    /// Of each parent so many are kept at most.
    pub kept_each: Option<KeptEach>,
}

/// What the documents of a collection are.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// An entity.
    Entity,
    /// Pairs of two entities: a relationship of many to many.
    Junction(String),
    /// Readings in a native time series.
    TimeSeries {
        /// The field of the time.
        time: String,
        /// The meta field.
        meta: String,
        /// `seconds`, `minutes` or `hours`.
        granularity: &'static str,
    },
    /// Readings in buckets.
    Bucket(Bucket),
    /// Pages of what does not fit a parent, for a relationship.
    Overflow(String),
    /// Old versions.
    Versions,
    /// Documents that are hardly read any more.
    Archive,
}

impl Purpose {
    /// The word in JSON and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Junction(_) => "junction",
            Self::TimeSeries { .. } => "time-series",
            Self::Bucket(_) => "bucket",
            Self::Overflow(_) => "overflow",
            Self::Versions => "versions",
            Self::Archive => "archive",
        }
    }

    /// Whether a validator can be set (GC-30).
    pub fn takes_validator(&self) -> bool {
        !matches!(self, Self::TimeSeries { .. })
    }
}

/// Of each parent so many are kept at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptEach {
    pub(crate) parents: f64,
    /// Parents that come in a year.
    pub(crate) per_year: f64,
    pub(crate) newest: u64,
}

impl KeptEach {
    /// The most documents there are after years.
    pub(crate) fn in_years(self, years: f64) -> f64 {
        (self.parents + self.per_year * years) * self.newest as f64
    }
}
