//! What becomes of a decision: the post-rules of ALG-5, which turn "reference" and "embed" into patterns
//! (PT-*), and patterns of single entities.

use crate::decide::derive::Question;

/// A pattern with what it needs to be built.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Children are elements of an array, or an object, in the parent.
    Embedded,
    /// Each child names its parent.
    ParentInChild,
    /// The parent lists ids of its children.
    ChildrenInParent,
    /// The child lists ids of its parents.
    ParentsInChild,
    /// One document for each pair (PT-junction.1).
    Junction,
    /// Fields copied beside the reference (PT-extref.1).
    ExtendedReference {
        /// The fields.
        fields: Vec<String>,
        /// Whether the copies live in the parent; else in the child.
        in_parent: bool,
        /// Fields among them that are changed at their source: somebody must say whether copies follow.
        changing: Vec<String>,
    },
    /// The newest few in the parent, all of them elsewhere (PT-subset.1).
    Subset {
        /// How many.
        newest: u64,
        /// The field they are sorted by.
        by: String,
        /// Fields of the child that are shown; empty means all.
        fields: Vec<String>,
    },
    /// Counts and sums kept in the parent (PT-computed.1).
    Computed {
        /// Whether children are counted.
        counts: bool,
        /// Fields that are summed, for averages too.
        sums: Vec<String>,
    },
    /// A count that is kept roughly, written once for many events.
    Approximation {
        /// One write stands for so many events.
        step: u64,
    },
    /// Most parents hold all, a few overflow into pages (PT-outlier.1).
    Outlier {
        /// Elements of a page.
        page: u64,
    },
    /// Only the newest so many are kept (PT-slice.1).
    CappedArray {
        /// How many.
        newest: u64,
    },
    /// A native time series (PT-ts.1).
    TimeSeries {
        /// The field of the time.
        time: String,
        /// The fields of the series; one of them is the meta field, several go into an object.
        meta: Vec<String>,
        /// `seconds`, `minutes` or `hours`.
        granularity: &'static str,
    },
    /// Readings of a period in one document (PT-bucket.1).
    Bucket(Bucket),
    /// Several kinds in one collection, told apart by a field (PT-poly.1).
    Polymorphic {
        /// The field.
        discriminator: String,
    },
    /// Fields that are searched alike, as a list of names and values.
    Attribute {
        /// The fields.
        fields: Vec<String>,
    },
    /// Documents that are hardly read any more go to a place of their own.
    Archive {
        /// After so many days.
        days: u64,
    },
    /// Old versions of a document go to a collection of their own.
    DocumentVersioning,
    /// Documents say which shape they have, so that old and new shapes live side by side.
    SchemaVersioning {
        /// The current shape.
        current: u64,
    },
    /// Entities above and below each other.
    Tree,
}

/// How readings are put together (PT-bucket.2).
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    /// The field of the time.
    pub time: String,
    /// The fields of the series.
    pub series: Vec<String>,
    /// What ends a bucket.
    pub window: Window,
    /// Most readings of a bucket.
    pub most: u64,
    /// Bytes of a full bucket.
    pub bytes: u64,
    /// Documents of one series in a year, against one for each reading.
    pub per_year: (u64, u64),
}

/// What ends a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The day.
    Day,
    /// The hour.
    Hour,
    /// So many readings.
    Events(u64),
}

impl Pattern {
    /// The word in JSON and messages.
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

    /// Whether it adds something to the parent that follows its children.
    pub(crate) fn is_summary(&self) -> bool {
        matches!(self, Self::Subset { .. } | Self::Computed { .. } | Self::Approximation { .. })
    }

    /// The clauses it comes from.
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

/// What a relationship becomes, with remarks on what was weighed and left.
pub(crate) struct Made {
    /// The patterns, the main one first.
    pub patterns: Vec<Pattern>,
    /// What was considered and why it was left.
    pub remarks: Vec<String>,
    /// What must be answered for a pattern to be advised.
    pub questions: Vec<Question>,
}
