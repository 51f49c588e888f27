//! The settings and state that all parts of a simulation share.

use std::sync::atomic::{AtomicBool, Ordering};

use docward_refactor::Trouble;

/// The context of every part of a run.
pub(crate) struct RunContext<'a> {
    pub(crate) seed: u64,
    pub(crate) operations: u64,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl RunContext<'_> {
    pub(crate) fn check(&self) -> Result<(), Trouble> {
        if self.stop.load(Ordering::Relaxed) { Err(Trouble::Ended) } else { Ok(()) }
    }
}
