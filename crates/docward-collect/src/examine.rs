//! Processes the documents of a collection: profiles them, or checks them against a schema.

use std::sync::Arc;

use docward_model::Checked;
use docward_profile::{Damage, Profiled, Profiler, array_documents};
use docward_schema::{Tally, Validator};

/// Size of a block. It is larger only for a document that does not fit.
pub(crate) const BLOCK: usize = 256 * 1024;

/// Examines the documents of one collection, or a part of them.
pub(crate) enum Examiner {
    Profile(Box<Profiler>),
    Check(Box<Tally>),
}

/// The result of the examination.
pub(crate) enum Examined {
    Profile(Box<Profiled>),
    Check(Box<Checked>),
}

/// The task for documents: check them against this validator, or profile them.
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

    /// The number of places it stores, as a measure of memory.
    pub(crate) fn places(&self) -> usize {
        match self {
            Self::Profile(profiler) => profiler.places(),
            Self::Check(_) => 0,
        }
    }

    /// Adds contiguous documents that follow the one with `previous_id`.
    pub(crate) fn add_block(&mut self, block: &[u8], position: u64, previous_id: &[u8]) {
        match self {
            Self::Profile(profiler) => profiler.add_block_after(block, position, previous_id),
            Self::Check(tally) => tally.add_block(block, position),
        }
    }

    /// Adds the documents of an array, except for the first `skip`.
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

    /// Takes the damage since the last call: the first few damaged documents, and the number of
    /// all.
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

    /// Merges the results of another examiner of the same collection.
    pub(crate) fn merge(&mut self, other: Self) {
        match (self, other) {
            (Self::Profile(profiler), Self::Profile(other)) => profiler.merge(*other),
            (Self::Check(tally), Self::Check(other)) => tally.merge(*other),
            // All examiners of a run have the same task.
            _ => debug_assert!(false, "one task per run"),
        }
    }

    /// Its serialized state, from which a later run can continue.
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
