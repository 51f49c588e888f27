//! The launch checklist: each item with a verdict and the evidence for it.

use docward_model::{ChecklistItem, Evidence, Settings};

use crate::Outcome;

/// The items that files can answer (CK-1..8 and CK-14).
pub fn checklist(
    _evidence: &Evidence,
    _settings: &Settings,
    _outcome: &Outcome,
) -> Vec<ChecklistItem> {
    Vec::new()
}
