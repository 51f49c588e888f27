//! The patterns (PT-*) that follow from a decision, and patterns of single entities.

use crate::decide::derive::Question;

/// A pattern and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Children are embedded in the parent, as an array or an object.
    Embedded,
    /// Each child stores the id of its parent.
    ParentInChild,
    /// The parent lists the ids of its children.
    ChildrenInParent,
    /// The child lists the ids of its parents.
    ParentsInChild,
    /// There is a junction document for each pair (PT-junction.1).
    Junction,
    /// Fields are copied next to the reference (PT-extref.1).
    ExtendedReference {
        /// The fields.
        fields: Vec<String>,
        /// Whether the copies are in the parent. Otherwise they are in the child.
        in_parent: bool,
        /// The copied fields that change at their source. The user must decide whether copies
        /// follow.
        changing: Vec<String>,
    },
    /// The parent has the newest few children; all children are separate documents (PT-subset.1).
    Subset {
        /// The number of children in the parent.
        newest: u64,
        /// The sort field.
        by: String,
        /// The fields of the child in the preview. Empty means all.
        fields: Vec<String>,
    },
    /// The parent stores counts and sums (PT-computed.1).
    Computed {
        /// Whether children are counted.
        counts: bool,
        /// The fields that are summed, also for averages.
        sums: Vec<String>,
    },
    /// The parent stores an approximate count, which is written once for many events.
    Approximation {
        /// The number of events per write.
        step: u64,
    },
    /// Most parents embed all children; a few use overflow pages (PT-outlier.1).
    Outlier {
        /// The number of elements of a page.
        page: u64,
    },
    /// Only the newest children are kept (PT-slice.1).
    CappedArray {
        /// The number of children that are kept.
        newest: u64,
    },
    /// A native time series (PT-ts.1).
    TimeSeries {
        /// The time field.
        time: String,
        /// The fields that identify the series. A single field becomes the meta field; several
        /// become an object.
        meta: Vec<String>,
        /// `seconds`, `minutes` or `hours`.
        granularity: &'static str,
    },
    /// A document holds the readings of a period (PT-bucket.1).
    Bucket(Bucket),
    /// One collection holds several kinds of documents, which a field distinguishes (PT-poly.1).
    Polymorphic {
        /// The field that distinguishes them.
        discriminator: String,
    },
    /// Fields with similar searches become a list of names and values.
    Attribute {
        /// The fields.
        fields: Vec<String>,
    },
    /// Documents that are rarely read move to another collection.
    Archive {
        /// Documents move after this many days.
        days: u64,
    },
    /// Old versions of a document move to another collection.
    DocumentVersioning,
    /// Documents record the version of their shape, so that old and new shapes can coexist.
    SchemaVersioning {
        /// The current version.
        current: u64,
    },
    /// Entities that form a tree.
    Tree,
}

/// The grouping of readings (PT-bucket.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The time field.
    pub time: String,
    /// The fields that identify the series.
    pub series: Vec<String>,
    /// The rule that ends a bucket.
    pub window: Window,
    /// The maximum number of readings in a bucket.
    pub most: u64,
    /// The size of a full bucket in bytes.
    pub bytes: u64,
    /// The number of documents of one series per year: with buckets, and with one document for each
    /// reading.
    pub per_year: (u64, u64),
}

/// The rule that ends a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Each day.
    Day,
    /// Each hour.
    Hour,
    /// This number of readings.
    Events(u64),
}

impl Pattern {
    /// Returns the word in JSON and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::ParentInChild => "parent-id-in-child",
            Self::ChildrenInParent => "child-ids-in-parent",
            Self::ParentsInChild => "parent-ids-in-child",
            Self::Junction => "junction",
            Self::ExtendedReference { .. } => "extended-reference",
            Self::Subset { .. } => "subset",
            Self::Computed { .. } => "computed",
            Self::Approximation { .. } => "approximation",
            Self::Outlier { .. } => "outlier",
            Self::CappedArray { .. } => "capped-array",
            Self::TimeSeries { .. } => "time-series",
            Self::Bucket(_) => "bucket",
            Self::Polymorphic { .. } => "polymorphic",
            Self::Attribute { .. } => "attribute",
            Self::Archive { .. } => "archive",
            Self::DocumentVersioning => "document-versioning",
            Self::SchemaVersioning { .. } => "schema-versioning",
            Self::Tree => "tree",
        }
    }

    /// Whether it adds data to the parent that depends on its children.
    pub(crate) fn is_summary(&self) -> bool {
        matches!(self, Self::Subset { .. } | Self::Computed { .. } | Self::Approximation { .. })
    }

    /// Returns the clauses of the pattern.
    pub fn clauses(&self) -> &'static [&'static str] {
        match self {
            Self::Embedded => &["PT-embed.1"],
            Self::ParentInChild => &["PT-ref.1", "GC-07"],
            Self::ChildrenInParent => &["ER-T.3", "GC-07"],
            Self::ParentsInChild => &["ER-T.6", "GC-07"],
            Self::Junction => &["PT-junction.1", "ER-T.6", "GC-37"],
            Self::ExtendedReference { .. } => &["PT-extref.1", "PT-extref.2", "DM-07.7"],
            Self::Subset { .. } => &["PT-subset.1", "PT-subset.2", "PT-hybrid.1"],
            Self::Computed { .. } => &["PT-computed.1", "PT-computed.2", "GC-35"],
            Self::Approximation { .. } => &["PT-computed.2"],
            Self::Outlier { .. } => &["PT-outlier.1", "GC-04"],
            Self::CappedArray { .. } => &["PT-slice.1", "DM-08.4"],
            Self::TimeSeries { .. } => &["PT-ts.1", "DM-08.5", "GC-30"],
            Self::Bucket(_) => &["PT-bucket.1", "PT-bucket.2", "PT-bucket.4"],
            Self::Polymorphic { .. } => &["PT-poly.1", "PT-poly.2"],
            Self::Attribute { .. }
            | Self::Archive { .. }
            | Self::DocumentVersioning
            | Self::SchemaVersioning { .. } => &[],
            Self::Tree => &["ER-X.1"],
        }
    }
}

/// The patterns of a relationship, with remarks and questions.
pub(crate) struct Made {
    /// The patterns, the main one first.
    pub patterns: Vec<Pattern>,
    /// Remarks on options that were considered and rejected.
    pub remarks: Vec<String>,
    /// Questions that must be answered before a pattern can be recommended.
    pub questions: Vec<Question>,
}
