//! Ways to store a relationship, and what each costs.

/// A document crosses a tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The tier: `1 MB`.
    pub label: &'static str,
    /// Its clause.
    pub clause: &'static str,
    /// Children that fit below it.
    pub children: u64,
    /// Years from now; 0 when it has happened, `None` when it never does or not in this century.
    pub years: Option<f64>,
    /// The month, when the model says which day it is true for.
    pub date: Option<String>,
}

/// A way to store a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// All children in the parent.
    Embed,
    /// All children by themselves.
    Reference,
    /// All by themselves, the newest few in the parent as well.
    Hybrid,
}

impl Way {
    /// The word in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
            Self::Hybrid => "hybrid",
        }
    }
}

/// What one way costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The way.
    pub way: Way,
    /// What it is called: where the ids are, when they can be in several places.
    pub name: &'static str,
    /// Whether it was chosen.
    pub chosen: bool,
    /// Each operation that touches parent or child.
    pub operations: Vec<OperationCost>,
    /// Bytes of a parent: years from now, typical, 99th percentile, most.
    pub parent: Vec<(u32, u64, u64, u64)>,
    /// When the parent crosses the tiers, at the 99th percentile.
    pub crossings: Vec<Crossing>,
    /// Of what several parents share: elements of the longest list now, on either end, and whether it has no end.
    pub longest_list: Option<(u64, bool)>,
    /// Bytes of parents and children now.
    pub storage: Option<u64>,
    /// Bytes of the indexes that the relationship needs, beside those on `_id`.
    pub index_bytes: Option<u64>,
}

/// What an operation costs.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationCost {
    /// Its name in the model.
    pub name: String,
    /// Whether it writes.
    pub writes: bool,
    /// Times a second.
    pub per_second: f64,
    /// Documents read or written, one time.
    pub documents: f64,
    /// Bytes read from, or written to, storage, one time.
    pub bytes: f64,
    /// Index entries that are written, or read to count, one time.
    pub entries: f64,
    /// Whether it is all or nothing and needs a transaction.
    pub transaction: bool,
}

impl Alternative {
    /// A sum over operations, a second.
    pub fn per_second(&self, writes: bool, of: impl Fn(&OperationCost) -> f64) -> f64 {
        let kept = self.operations.iter().filter(|cost| cost.writes == writes);
        kept.map(|cost| cost.per_second * of(cost)).sum()
    }
}
