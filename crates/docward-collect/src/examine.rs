//! What is done with the documents of a collection: they are profiled, or held against a schema.

use std::sync::Arc;

use docward_model::Checked;
use docward_profile::{Damage, Profiled, Profiler, array_documents};
use docward_schema::{Tally, Validator};

/// Size of a block. It is larger only for a document that does not fit.
pub(crate) const BLOCK: usize = 256 * 1024;

/// Looks at the documents of one collection, or at a part of them.
pub(crate) enum Examiner {
    Profile(Box<Profiler>),
    Check(Box<Tally>),
}

/// What came of it.
pub(crate) enum Examined {
    Profile(Box<Profiled>),
    Check(Box<Checked>),
}

/// What is to be done with documents: held against this, else profiled.
pub(crate) type Task = Option<Arc<Validator>>;

impl Examiner {
    pub(crate) fn new(task: &Task) -> Self {
        match task {
            Some(validator) => Self::Check(Box::new(Tally::new(Arc::clone(validator)))),
            None => Self::Profile(Box::default()),
        }
    }

    pub(crate) fn documents(&self) -> u64 {
        match self {
            Self::Profile(profiler) => profiler.documents(),
            Self::Check(tally) => tally.documents(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Profile(profiler) => profiler.bytes(),
            Self::Check(tally) => tally.bytes(),
        }
    }

    /// How much it has to remember.
    pub(crate) fn places(&self) -> usize {
        match self {
            Self::Profile(profiler) => profiler.places(),
            Self::Check(_) => 0,
        }
    }

    /// Takes in documents that lie back to back and follow the one with `previous_id`.
    pub(crate) fn add_block(&mut self, block: &[u8], position: u64, previous_id: &[u8]) {
        match self {
            Self::Profile(profiler) => profiler.add_block_after(block, position, previous_id),
            Self::Check(tally) => tally.add_block(block, position),
        }
    }

    /// Takes in the documents of an array, but for the first `skip`.
    pub(crate) fn add_array(
        &mut self,
        array: &[u8],
        skip: usize,
        position: u64,
        previous_id: &[u8],
    ) {
        match self {
            Self::Profile(profiler) => profiler.add_array(array, skip, position, previous_id),
            Self::Check(tally) => {
                let mut at = position;
                for document in array_documents(array).skip(skip) {
                    tally.add(document, at);
                    at += document.len() as u64;
                }
            }
        }
    }

    /// What was damaged since the last call: the first few, and how many.
    pub(crate) fn take_damage(&mut self) -> (Vec<Damage>, u64) {
        match self {
            Self::Profile(profiler) => profiler.take_damage(),
            Self::Check(tally) => {
                let damages: Vec<_> = tally
                    .take_faults()
                    .into_iter()
                    .map(|(at, fault)| Damage { offset: at + fault.at as u64, kind: fault.kind })
                    .collect();
                let count = damages.len() as u64;
                (damages, count)
            }
        }
    }

    /// Takes over what another one saw of the same collection.
    pub(crate) fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Profile(profiler), Self::Profile(other)) => profiler.merge(*other),
            (Self::Check(tally), Self::Check(other)) => tally.merge(*other),
            // All examiners of a run have the same task.
            _ => debug_assert!(false, "one task per run"),
        }
    }

    /// Its state, for a later run to go on with.
    pub(crate) fn save(&self) -> Option<Vec<u8>> {
        match self {
            Self::Profile(profiler) => Some(profiler.save()),
            Self::Check(_) => None,
        }
    }

    pub(crate) fn finish(self) -> Examined {
        match self {
            Self::Profile(profiler) => Examined::Profile(Box::new(profiler.finish())),
            Self::Check(tally) => Examined::Check(Box::new(tally.finish())),
        }
    }
}
