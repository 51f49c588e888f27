//! How many connections one server may have from here, whoever they are for. Pools of several users share the places:
//! where one has to wait, a connection that another does not use is closed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Places for connections.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    used: AtomicUsize,
    /// Somebody did not get a place, and how many connections that pool has.
    pressed: AtomicBool,
    poorest: AtomicUsize,
    /// A place became free, or somebody waits for one.
    pub(crate) changed: Notify,
}

impl Budget {
    /// That many places.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: AtomicUsize::new(limit),
            used: AtomicUsize::new(0),
            pressed: AtomicBool::new(false),
            poorest: AtomicUsize::new(usize::MAX),
            changed: Notify::new(),
        }
    }

    /// Connections at most.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Connections that are open or being opened.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Sets the limit. Connections beyond it are closed as they come back.
    pub fn set_limit(&self, limit: usize) {
        let before = self.limit.swap(limit, Ordering::Relaxed);
        if limit > before {
            self.changed.notify_one();
        }
    }

    pub(crate) fn reserve(&self, open: usize) -> bool {
        let limit = self.limit();
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            (used < limit).then_some(used + 1)
        });
        if taken.is_err() {
            self.poorest.fetch_min(open, Ordering::Relaxed);
            self.pressed.store(true, Ordering::Relaxed);
        }
        taken.is_ok()
    }

    pub(crate) fn release(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
        if self.pressed.swap(false, Ordering::Relaxed) {
            self.poorest.store(usize::MAX, Ordering::Relaxed);
            self.changed.notify_one();
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.used() >= self.limit()
    }

    pub(crate) fn is_unfair(&self, open: usize) -> bool {
        let poorest = self.poorest.load(Ordering::Relaxed);
        self.pressed.load(Ordering::Relaxed) && poorest.saturating_add(1) < open
    }

    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed) || self.used() > self.limit()
    }
}
