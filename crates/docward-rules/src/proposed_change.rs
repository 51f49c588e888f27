//! A change of a field that a finding proposes.

use docward_model::{FieldChange, Namespace};

/// A change of a field that a finding proposes.
#[derive(Clone, Debug)]
pub struct ProposedChange {
    /// The rule that proposes it.
    pub rule: &'static str,
    /// The collection.
    pub namespace: Namespace,
    /// The change.
    pub change: FieldChange,
}
