//! Damaged documents of a file.

use std::collections::BTreeSet;

use docward_bson::walk::FaultKind;
use docward_profile::Damage;

/// The maximum number of damaged documents per file that are recorded individually.
const DAMAGES: usize = 32;

/// Damaged documents of a file.
#[derive(Default)]
pub(crate) struct Damages {
    /// The first ones, in file order.
    pub(crate) first: Vec<Damage>,
    /// The number of all damaged documents.
    pub(crate) count: u64,
    /// The kinds of damage, each once.
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

/// Converts the positions of damages from the collection to the file.
pub(crate) fn relocate(damages: &mut [Damage], position: u64, offset: u64) {
    for damage in damages {
        damage.offset = damage.offset.saturating_sub(position) + offset;
    }
}
