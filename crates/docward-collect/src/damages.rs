//! Damaged documents of a file.

use std::collections::BTreeSet;

use docward_bson::walk::FaultKind;
use docward_profile::Damage;

/// Damaged documents of a file that are remembered one by one.
const DAMAGES: usize = 32;

/// Damaged documents of a file.
#[derive(Default)]
pub(crate) struct Damages {
    /// The first ones, in the order they stand in the file.
    pub(crate) first: Vec<Damage>,
    /// All.
    pub(crate) count: u64,
    /// What is the matter with them, each once.
    pub(crate) kinds: BTreeSet<FaultKind>,
}

impl Damages {
    pub(crate) fn add(&mut self, damages: Vec<Damage>, count: u64) {
        self.count += count;
        self.kinds.extend(damages.iter().map(|damage| damage.kind));
        self.first.extend(damages);
        self.first.sort_by_key(|damage| damage.offset);
        self.first.truncate(DAMAGES);
    }
}

/// Says of damages where they stand in the file rather than in the collection.
pub(crate) fn relocate(damages: &mut [Damage], position: u64, offset: u64) {
    for damage in damages {
        damage.offset = damage.offset.saturating_sub(position) + offset;
    }
}
