//! What is known about one relationship, whatever it was learnt from: a model file, or documents and a
//! workload. Everything that may be unknown is an `Option`, and rows that need it stay open.

use docward_model::Spread;

/// The facts of ALG-5.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// How many of one side belong to how many of the other.
    pub kind: Kind,
    /// Children of a parent.
    pub children: Spread,
    /// Whether there is an end to them.
    pub growth: Growth,
    /// Bytes of a child, at the mean.
    pub child_bytes: u64,
    /// Bytes of a child at the 99th percentile.
    pub child_p99: u64,
    /// Bytes of a parent without its children, at the 99th percentile.
    pub parent_bytes: u64,
    /// Share of the reads of a child that read its parent too.
    pub co_read: Option<f64>,
    /// Share of the writes of a child that write its parent too.
    pub co_update: Option<f64>,
    /// Share of the updates of parent or child that change children alone.
    pub child_only_update: Option<f64>,
    /// Share of the reads of a child that do not come by its parent.
    pub queried_alone: Option<f64>,
    /// Whether parent and children must change together or not at all.
    pub atomic: Option<bool>,
    /// Whether what is shared must never be out of date.
    pub must_be_current: Option<bool>,
    /// Who else the child belongs to, in words; `None` when it belongs to one parent.
    pub shared: Option<String>,
    /// Whether the parent lists ids of its children today.
    pub lists_ids: bool,
}

/// How many of one side belong to how many of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One child for one parent.
    OneToOne,
    /// Several children, each of one parent.
    OneToMany,
    /// One child that several parents share.
    ManyToOne,
    /// Several children, shared by several parents.
    ManyToMany,
}

impl Kind {
    /// The words in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneToOne => "one to one",
            Self::OneToMany => "one to many",
            Self::ManyToOne => "many to one",
            Self::ManyToMany => "many to many",
        }
    }
}

/// Whether there is an end to the children of one parent.
#[derive(Clone, Debug, PartialEq)]
pub enum Growth {
    /// Nobody said.
    Unknown,
    /// There is one.
    Bounded,
    /// There is none (DM-08.2).
    Endless,
    /// Older ones are cut off, but not before there are more than a list may hold (GC-06).
    CutLate(u64),
    /// There is probably none, to judge by what they are called; the words say why.
    LooksEndless(String),
}

impl Growth {
    /// Whether there is no end, by what was declared or by what they are called.
    pub fn is_endless(&self) -> bool {
        matches!(self, Self::Endless | Self::LooksEndless(_))
    }
}

impl Facts {
    /// Bytes of all children of a parent at the 99th percentile, as elements of an array (ALG-2).
    pub fn children_bytes(&self) -> u64 {
        crate::declared::size::large_array(self.children.p99, self.child_bytes, self.child_p99)
    }

    /// Bytes of a parent at the 99th percentile with its children embedded.
    pub fn projected(&self) -> u64 {
        self.parent_bytes.saturating_add(self.children_bytes())
    }
}

/// Bounds the rows compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Fewer children than this are few (ER-T.1).
    pub few: u64,
    /// This many or more are never embedded whole (GC-06).
    pub many: u64,
    /// Children that are small together (DM-05.1).
    pub small_bytes: u64,
    /// A projected size above it vetoes embedding (CK-14).
    pub safe_bytes: u64,
    /// From this share on two things happen together (no figure in the rule book).
    pub mostly: f64,
    /// From this share on a thing happens often by itself (no figure in the rule book).
    pub often: f64,
    /// Up to this share a thing happens rarely (no figure in the rule book).
    pub rarely: f64,
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
        }
    }
}
