//! Waiting for events. Nothing in a test waits by sleeping for a fixed time.

use std::time::{Duration, Instant};

/// How long anything may take that a test waits for. It only has to end a test in which something hangs: a
/// busy machine is no failure.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// How often to look.
const GLANCE: Duration = Duration::from_millis(20);

/// Waits until something holds; `what` it is goes into the message when it never does.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Waits until there is something, and returns it.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited for {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(GLANCE);
    }
}
