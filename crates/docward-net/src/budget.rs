//! The limit on connections to one server, shared by the pools of all users. When a pool has to
//! wait, the guard closes a connection of another pool. It closes an idle connection first. A pool
//! that has at least two connections more also loses a busy one, as soon as its command ends.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Counts the connections to one server against a limit.
#[derive(Debug)]
pub struct Budget {
    limit: AtomicUsize,
    used: AtomicUsize,
    /// Whether a pool wanted to open a connection and could not.
    pressed: AtomicBool,
    /// The smallest number of open connections among the pools that could not open another.
    poorest: AtomicUsize,
    /// Notified when a connection was closed or a pool has to wait.
    pub(crate) changed: Notify,
}

impl Budget {
    /// Creates a budget with a limit.
    pub fn new(limit: usize) -> Self {
        Self {
            limit: AtomicUsize::new(limit),
            used: AtomicUsize::new(0),
            pressed: AtomicBool::new(false),
            poorest: AtomicUsize::new(usize::MAX),
            changed: Notify::new(),
        }
    }

    /// Returns the limit.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that are open or being opened.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Sets the limit. Connections beyond it are closed when their command ends.
    pub fn set_limit(&self, limit: usize) {
        let before = self.limit.swap(limit, Ordering::Relaxed);
        if limit > before {
            self.changed.notify_one();
        }
    }

    /// Counts one more connection for a pool with `open` connections. Returns `false` if the limit is reached.
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

    /// Counts one connection less.
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

    /// Whether a waiting pool has at least two connections fewer than a pool with `open` connections.
    pub(crate) fn is_unfair(&self, open: usize) -> bool {
        let poorest = self.poorest.load(Ordering::Relaxed);
        self.pressed.load(Ordering::Relaxed) && poorest.saturating_add(1) < open
    }

    /// Whether idle connections should be closed.
    pub(crate) fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed) || self.used() > self.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_gives_a_connection_up_for_one_that_has_fewer() {
        let budget = Budget::new(2);
        assert!(budget.reserve(0) && budget.reserve(1));
        assert!(!budget.is_pressed() && !budget.is_unfair(2));
        assert!(!budget.reserve(0), "the limit is reached");
        assert!(budget.is_pressed());
        assert!(budget.is_unfair(2) && !budget.is_unfair(1), "one each is fair");
        budget.release();
        assert!(!budget.is_pressed() && budget.reserve(0));
        assert!(!budget.reserve(2));
        assert!(!budget.is_unfair(2), "a pool does not take from itself");
        budget.set_limit(1);
        budget.release();
        assert!(!budget.reserve(0), "one is open, and one is allowed");
    }
}
