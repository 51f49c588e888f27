//! The alternatives for storing a relationship, and what each costs.

/// The point at which a document exceeds a size limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The limit, such as `1 MB`.
    pub label: &'static str,
    /// The clause of the limit.
    pub clause: &'static str,
    /// The number of children that fit below the limit.
    pub children: u64,
    /// Years until the crossing. 0 if it has happened, `None` if it does not happen within a
    /// century.
    pub years: Option<f64>,
    /// The month of the crossing, if the model declares its date.
    pub date: Option<String>,
}

/// An alternative for storing a relationship.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageAlternative {
    /// All children are embedded in the parent.
    Embed,
    /// All children are separate documents.
    Reference,
    /// All children are separate documents, and the parent also has the newest few.
    Hybrid,
}

impl StorageAlternative {
    /// Returns the word in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Reference => "reference",
            Self::Hybrid => "hybrid",
        }
    }
}

/// The cost of one alternative.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The alternative.
    pub way: StorageAlternative,
    /// The name. If ids can be stored in several places, it states the place.
    pub name: &'static str,
    /// Whether it was chosen.
    pub chosen: bool,
    /// The operations that touch the parent or the child.
    pub operations: Vec<OperationCost>,
    /// The size of a parent in bytes over time: years from now, typical, 99th percentile, maximum.
    pub parent: Vec<(u32, u64, u64, u64)>,
    /// The points at which a parent at the 99th percentile exceeds the size limits.
    pub crossings: Vec<Crossing>,
    /// For shared children: the current number of elements of the longest list on either side, and
    /// whether it is unbounded.
    pub longest_list: Option<(u64, bool)>,
    /// The current size of parents and children in bytes.
    pub storage: Option<u64>,
    /// The size in bytes of the indexes that the relationship needs in addition to those on `_id`.
    pub index_bytes: Option<u64>,
}

/// The cost of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationCost {
    /// The name in the model.
    pub name: String,
    /// Whether it is a write.
    pub writes: bool,
    /// Executions per second.
    pub per_second: f64,
    /// Documents read or written per execution.
    pub documents: f64,
    /// Bytes read from or written to storage per execution.
    pub bytes: f64,
    /// Index entries that are written, or read for a count, per execution.
    pub entries: f64,
    /// Whether it must be atomic and needs a transaction.
    pub transaction: bool,
}

impl Alternative {
    /// Returns the sum of a figure over the operations, per second.
    pub fn per_second(&self, writes: bool, of: impl Fn(&OperationCost) -> f64) -> f64 {
        let kept = self.operations.iter().filter(|cost| cost.writes == writes);
        kept.map(|cost| cost.per_second * of(cost)).sum()
    }
}
