//! The facts about one relationship, from a model file, or from documents and a workload. Each fact
//! that may be unknown is an `Option`. Rows that need an unknown fact stay open.

use docward_model::Spread;

/// The facts of ALG-5.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The cardinality of the relationship.
    pub kind: Kind,
    /// The number of children of a parent.
    pub children: Spread,
    /// Whether the number of children is bounded.
    pub growth: Growth,
    /// The number of children that a parent gains per year at the 99th percentile, if overflow
    /// pages can hold children (PT-outlier.1). `None` if they cannot.
    pub paged_per_year: Option<f64>,
    /// The mean size of a child in bytes.
    pub child_bytes: u64,
    /// The size of a child in bytes at the 99th percentile.
    pub child_p99: u64,
    /// The size of a parent without its children in bytes, at the 99th percentile.
    pub parent_bytes: u64,
    /// The share of a child's reads that also read its parent.
    pub co_read: Option<f64>,
    /// The share of a child's writes that also write its parent.
    pub co_update: Option<f64>,
    /// The share of the updates of parent or child that change only children.
    pub child_only_update: Option<f64>,
    /// The share of a child's reads that do not find it through its parent.
    pub queried_alone: Option<f64>,
    /// Whether parent and children must change atomically.
    pub atomic: Option<bool>,
    /// Whether shared data must always be current.
    pub must_be_current: Option<bool>,
    /// Describes the other parents of the child. `None` if it belongs to one parent.
    pub shared: Option<String>,
    /// Whether the parent currently lists the ids of its children.
    pub lists_ids: bool,
}

/// The cardinality of a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One parent has one child.
    OneToOne,
    /// One parent has several children, and each has one parent.
    OneToMany,
    /// One parent has one child, which several parents share.
    ManyToOne,
    /// One parent has several children, which several parents share.
    ManyToMany,
}

impl Kind {
    /// Returns the word in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "one to one",
            Self::OneToMany => "one to many",
            Self::ManyToOne => "many to one",
            Self::ManyToMany => "many to many",
        }
    }
}

/// Whether the number of children of a parent is bounded.
#[derive(Clone, Debug, PartialEq)]
pub enum Growth {
    /// Not declared.
    Unknown,
    /// The number is bounded.
    Bounded,
    /// The number is unbounded (DM-08.2).
    Endless,
    /// Older children are removed, but only beyond this number, which is more than a list may hold
    /// (GC-06).
    CutLate(u64),
    /// The number is probably unbounded, judging by the names. The text states the reason.
    LooksEndless(String),
}

impl Growth {
    /// Whether the number is unbounded, as declared or judging by the names.
    pub fn is_endless(&self) -> bool {
        matches!(self, Self::Endless | Self::LooksEndless(_))
    }
}

/// The years in which a paged list must stay short for nearly all parents.
const PAGED_YEARS: f64 = 5.0;

/// Whether a few parents have far more children than the others. PT-outlier.1 requires 1,000 or
/// more, and ten times the 99th percentile.
pub fn is_outlier(p99: u64, max: u64, bounds: &Bounds) -> bool {
    bounds.overflow_pages
        && p99 < bounds.many
        && max >= bounds.many
        && max >= p99.saturating_mul(10)
}

impl Facts {
    /// Returns the size in bytes of all children of a parent at the 99th percentile, as elements of
    /// an array (ALG-2).
    pub fn children_bytes(&self) -> u64 {
        crate::declared::size::large_array(self.children.p99, self.child_bytes, self.child_p99)
    }

    /// Returns whether overflow pages bound an unbounded list. Few parents have a long list, this
    /// does not change for years, and nearly all reads have the whole list (ST-25, AP-S4.1).
    pub fn is_paged(&self, bounds: &Bounds) -> bool {
        let Some(yearly) = self.paged_per_year.filter(|_| self.growth == Growth::Endless) else {
            return false;
        };
        let Spread { p99, max, .. } = self.children;
        is_outlier(p99, max, bounds)
            && p99 as f64 + yearly * PAGED_YEARS < bounds.many as f64
            && self.co_read.is_some_and(|share| share >= bounds.mostly)
            && self.queried_alone == Some(0.0)
    }

    /// Returns the size in bytes of a parent at the 99th percentile with its children embedded.
    pub fn projected(&self) -> u64 {
        self.parent_bytes.saturating_add(self.children_bytes())
    }
}

/// The bounds that rows compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Fewer children than this count as few (ER-T.1).
    pub few: u64,
    /// A list with this many children or more is never embedded completely (GC-06).
    pub many: u64,
    /// Children whose total size in bytes is at most this count as small (DM-05.1).
    pub small_bytes: u64,
    /// A projected size in bytes above this vetoes embedding (CK-14).
    pub safe_bytes: u64,
    /// From this share on, two operations mostly occur together. The rule book has no figure.
    pub mostly: f64,
    /// From this share on, something often happens alone. The rule book has no figure.
    pub often: f64,
    /// Up to this share, something rarely happens. The rule book has no figure.
    pub rarely: f64,
    /// Whether a few very large parents may have overflow pages (PT-outlier.1). Otherwise the largest parent decides.
    pub overflow_pages: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            few: 50,
            many: 1000,
            small_bytes: 102_400,
            safe_bytes: 1_677_721,
            mostly: 0.8,
            often: 0.5,
            rarely: 0.2,
            overflow_pages: true,
        }
    }
}
