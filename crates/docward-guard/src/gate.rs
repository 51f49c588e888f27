//! The gate that every command passes before the guard sends it. `pause` closes it for all
//! commands, `hold` for those on a namespace. Commands that were sent earlier continue, and the
//! caller waits until the last of them is answered.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use docward_model::NamespacePattern;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep_until, timeout_at},
};

/// The commands that a hold delays.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) namespaces: NamespacePattern,
    /// Whether reads pass.
    pub(crate) writes_only: bool,
}

#[derive(Clone, Debug, Default)]
struct Closed {
    paused: bool,
    holds: Vec<(u64, Hold, Instant)>,
}

impl Closed {
    /// Whether a command has to wait. A command whose namespace is unknown may touch any namespace.
    fn keeps(&self, namespace: Option<&str>, writes: bool) -> bool {
        let held = |(_, hold, until): &(u64, Hold, Instant)| {
            Instant::now() < *until
                && (writes || !hold.writes_only)
                && namespace.is_none_or(|namespace| hold.namespaces.matches(namespace))
        };
        self.paused || self.holds.iter().any(held)
    }
}

/// The gate before the servers.
#[derive(Debug)]
pub(crate) struct Gate {
    closed: watch::Sender<Arc<Closed>>,
    /// Whether the gate is closed for any command; read without a lock.
    is_closed: AtomicBool,
    /// Commands that passed and are not answered, counted in two groups. Closing the gate switches the group, so that
    /// the caller can wait for the commands of the old group.
    running: [AtomicUsize; 2],
    turn: AtomicUsize,
    /// Commands that wait at the gate.
    waiting: AtomicUsize,
    done: Notify,
    next: AtomicU64,
    closing: tokio::sync::Mutex<()>,
    expired: Mutex<Vec<u64>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            closed: watch::Sender::new(Arc::default()),
            is_closed: AtomicBool::new(false),
            running: Default::default(),
            turn: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            done: Notify::new(),
            next: AtomicU64::new(1),
            closing: tokio::sync::Mutex::default(),
            expired: Mutex::default(),
        }
    }
}

/// A command that waits at the gate. Dropping its future also ends the count.
struct Waiting<'g>(&'g AtomicUsize);

impl<'g> Waiting<'g> {
    fn new(count: &'g AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A command that passed.
#[derive(Debug)]
pub(crate) struct Passed<'g> {
    gate: &'g Gate,
    turn: usize,
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        if self.gate.running[self.turn].fetch_sub(1, Ordering::SeqCst) == 1
            && self.gate.is_closed.load(Ordering::SeqCst)
        {
            self.gate.done.notify_waiters();
        }
    }
}

impl Gate {
    /// Waits until the gate is open for the command.
    pub(crate) async fn pass(
        &self,
        namespace: impl Fn() -> Option<String>,
        writes: bool,
    ) -> Passed<'_> {
        loop {
            // Count before checking the gate. A caller that closes the gate now either waits for
            // this command, or this command sees the closed gate.
            let turn = self.turn.load(Ordering::SeqCst) & 1;
            self.running[turn].fetch_add(1, Ordering::SeqCst);
            let passed = Passed { gate: self, turn };
            if !self.is_closed.load(Ordering::SeqCst) {
                return passed;
            }
            let mut changes = self.closed.subscribe();
            let closed = Arc::clone(&changes.borrow_and_update());
            let namespace = namespace();
            if !closed.keeps(namespace.as_deref(), writes) {
                return passed;
            }
            drop(passed);
            let _waiting = Waiting::new(&self.waiting);
            let until = closed.holds.iter().map(|(_, _, until)| *until).max();
            tokio::select! {
                _ = changes.changed() => {}
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() && !closed.paused => {}
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut Closed)) {
        self.closed.send_modify(|closed| {
            let mut next = Closed::clone(closed);
            change(&mut next);
            self.is_closed.store(next.paused || !next.holds.is_empty(), Ordering::SeqCst);
            *closed = Arc::new(next);
        });
    }

    /// Closes the gate for all commands. Returns whether the commands that were sent before ended in time.
    pub(crate) async fn pause(&self, patience: Duration) -> bool {
        let _one_at_a_time = self.closing.lock().await;
        self.change(|closed| closed.paused = true);
        self.settle(Instant::now() + patience).await
    }

    /// Ends a pause.
    pub(crate) fn resume(&self) {
        self.change(|closed| closed.paused = false);
    }

    /// Returns how many commands wait at the gate.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether the gate is closed for all commands.
    pub(crate) fn is_paused(&self) -> bool {
        self.closed.borrow().paused
    }

    /// Closes the gate for some commands, for at most `ttl`. Returns a number for [`Self::release`]. Returns `None` and
    /// holds no commands if the commands that were sent before did not end in time.
    pub(crate) async fn hold(&self, hold: Hold, ttl: Duration) -> Option<u64> {
        let _one_at_a_time = self.closing.lock().await;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let until = Instant::now() + ttl;
        self.change(|closed| closed.holds.push((id, hold, until)));
        let is_settled = self.settle(until).await;
        if !is_settled {
            self.remove(id);
            return None;
        }
        Some(id)
    }

    /// Ends a hold. Returns whether it had already expired, or `None` if there is no such hold.
    pub(crate) fn release(&self, id: u64) -> Option<bool> {
        if self.expired.lock().unwrap_or_else(PoisonError::into_inner).contains(&id) {
            return Some(true);
        }
        let found = self.closed.borrow().holds.iter().find(|hold| hold.0 == id).cloned();
        let (_, _, until) = found?;
        self.remove(id);
        Some(until <= Instant::now())
    }

    fn remove(&self, id: u64) {
        self.change(|closed| closed.holds.retain(|hold| hold.0 != id));
    }

    /// Removes expired holds.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let over: Vec<u64> = {
            let closed = self.closed.borrow();
            closed.holds.iter().filter(|hold| hold.2 <= now).map(|hold| hold.0).collect()
        };
        if !over.is_empty() {
            over.iter().for_each(|id| self.remove(*id));
            let mut expired = self.expired.lock().unwrap_or_else(PoisonError::into_inner);
            expired.extend(over);
            let surplus = expired.len().saturating_sub(100);
            expired.drain(..surplus);
        }
    }

    /// Waits until the commands that passed before are answered.
    async fn settle(&self, until: Instant) -> bool {
        // The other group may hold commands from an earlier close that timed out. New commands do not join it.
        if !self.is_done(self.turn.load(Ordering::SeqCst) + 1, until).await {
            return false;
        }
        // Commands that pass from here on have seen the closed gate.
        let before = self.turn.fetch_add(1, Ordering::SeqCst);
        self.is_done(before, until).await
    }

    async fn is_done(&self, turn: usize, until: Instant) -> bool {
        let running = &self.running[turn & 1];
        loop {
            let done = self.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if running.load(Ordering::SeqCst) == 0 {
                return true;
            }
            if timeout_at(until, done).await.is_err() {
                return running.load(Ordering::SeqCst) == 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{sleep, timeout};

    fn hold(pattern: &str, writes_only: bool) -> Hold {
        Hold { namespaces: NamespacePattern::new(pattern).unwrap(), writes_only }
    }

    async fn passes(gate: &Gate, namespace: &str, writes: bool) -> bool {
        let pass = gate.pass(|| Some(namespace.to_owned()), writes);
        timeout(Duration::from_millis(10), pass).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_waits_for_running_commands_and_delays_new_ones() {
        let gate = Arc::new(Gate::default());
        let running = gate.pass(|| Some("d.t".to_owned()), true).await;
        for _ in 0..3 {
            assert!(!gate.pause(Duration::from_secs(1)).await, "a command is still running");
        }
        assert!(gate.is_paused());
        assert!(!passes(&gate, "d.t", false).await);
        drop(running);
        assert!(gate.pause(Duration::from_secs(1)).await);
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { drop(gate.pass(|| Some("d.t".to_owned()), true).await) }
        });
        sleep(Duration::from_secs(60)).await;
        assert!(!waiting.is_finished());
        gate.resume();
        waiting.await.unwrap();
        assert!(passes(&gate, "d.t", true).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hold_delays_its_namespace_until_it_is_released_or_expires() {
        let gate = Gate::default();
        let _reader = gate.pass(|| Some("other.t".to_owned()), false).await;
        assert!(gate.hold(hold("d.t", true), Duration::from_secs(2)).await.is_none());
        assert!(passes(&gate, "d.t", true).await, "a hold that timed out is removed");
        drop(_reader);
        let id = gate.hold(hold("d.t", true), Duration::from_secs(5)).await.unwrap();
        assert!(!passes(&gate, "d.t", true).await);
        assert!(passes(&gate, "d.t", false).await && passes(&gate, "d.u", true).await);
        assert_eq!(gate.release(id), Some(false));
        assert!(passes(&gate, "d.t", true).await);
        let id = gate.hold(hold("d.t", false), Duration::from_secs(5)).await.unwrap();
        let before = Instant::now();
        drop(gate.pass(|| Some("d.t".to_owned()), false).await);
        assert_eq!(before.elapsed().as_secs(), 5, "the hold expired");
        gate.sweep();
        assert_eq!((gate.release(id), gate.release(99)), (Some(true), None));
    }
}
