//! A change of a field that a finding proposes.

use docward_model::{FieldChange, Namespace};

/// What a finding asks to be done to a field.
#[derive(Clone, Debug)]
pub struct ProposedChange {
    /// The rule that asks for it.
    pub rule: &'static str,
    /// The collection.
    pub namespace: Namespace,
    /// What is to be done.
    pub change: FieldChange,
}
