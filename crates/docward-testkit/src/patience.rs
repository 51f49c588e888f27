//! Waits for events. Tests never wait by sleeping for a fixed time.

use std::time::{Duration, Instant};

/// The time limit of any wait in a test. It only ends tests that hang: a busy machine must not
/// cause a failure.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The polling interval.
const GLANCE: Duration = Duration::from_millis(20);

/// Waits until a condition holds; `what` describes it in the message if it never does.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    wait_for(what, || condition().then_some(()));
}

/// Waits until there is a value, and returns it.
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
