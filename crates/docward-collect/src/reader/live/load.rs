//! Watches the number of client writes in progress, so that a sample has little effect on them.
//!
//! The server's queues for locks stay empty even if its processors are busy. The time that all
//! writes together take, divided by the time that passed, is the mean number of writes in progress.

use std::{
    sync::{
        Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use mongodb::{
    Client,
    bson::{Document, doc},
    options::{ReadPreference, SelectionCriteria},
};

use super::session::{Read, number};

/// The interval between two looks at the server.
const INTERVAL: Duration = Duration::from_millis(250);

/// Fewer writes in progress than this never count as a sign of a busy server.
const LEAST_WRITES: f64 = 4.0;

/// More writes in progress than this for each core indicate a busy server.
const WRITES_PER_CORE: f64 = 2.0;

/// A pause takes this many times as long as the response before it. Docward then uses the server for
/// less than a tenth of the time.
const PAUSES: u32 = 12;

/// The maximum pause.
const LONGEST: Duration = Duration::from_secs(5);

/// Whether the primary is busy with writes of clients.
#[derive(Debug, Default)]
pub(super) struct Load(AtomicBool);

impl Load {
    /// The pause after a response that took this long.
    pub(super) fn pause(&self, took: Duration) -> Duration {
        if self.0.load(Ordering::Relaxed) { (took * PAUSES).min(LONGEST) } else { Duration::ZERO }
    }
}

/// Watches until the load is dropped. Without the privilege for it, there are no pauses.
pub(super) async fn watch(client: Client, load: Weak<Load>) {
    let cores = ask(&client, Read::HostInfo, Document::new())
        .await
        .and_then(|host| number(host.get_document("system").ok()?, "numCores"));
    let most = LEAST_WRITES.max(WRITES_PER_CORE * cores.unwrap_or(0) as f64);
    let mut before: Option<(Instant, u64)> = None;
    while let Some(spent) = spent_on_writes(&client).await {
        let now = Instant::now();
        let Some(load) = load.upgrade() else { return };
        if let Some((at, earlier)) = before {
            let is_busy = in_progress(spent.saturating_sub(earlier), now - at) > most;
            load.0.store(is_busy, Ordering::Relaxed);
        }
        drop(load);
        before = Some((now, spent));
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The mean number of operations in progress that took these microseconds together.
fn in_progress(micros: u64, passed: Duration) -> f64 {
    micros as f64 / (passed.as_micros() as f64).max(1.0)
}

/// The microseconds that all writes have taken together.
async fn spent_on_writes(client: &Client) -> Option<u64> {
    let sections = ["connections", "locks", "metrics", "repl", "tcmalloc", "transactions"];
    let mut rest: Document =
        sections.into_iter().map(|section| (section.to_owned(), 0.into())).collect();
    rest.insert("wiredTiger", 0);
    let status = ask(client, Read::ServerStatus, rest).await?;
    number(status.get_document("opLatencies").ok()?.get_document("writes").ok()?, "latency")
}

async fn ask(client: &Client, read: Read, rest: Document) -> Option<Document> {
    let mut command = doc! { read.name(): 1 };
    command.extend(rest);
    // Clients write to the primary.
    let primary = ReadPreference::PrimaryPreferred { options: None };
    let admin = client.database("admin");
    let question = admin.run_command(command);
    question.selection_criteria(SelectionCriteria::ReadPreference(primary)).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_busy_server_gets_pauses() {
        let second = Duration::from_secs(1);
        assert!((in_progress(44_000_000, second) - 44.0).abs() < 1e-9);
        let load = Load::default();
        assert_eq!(load.pause(second), Duration::ZERO);
        load.0.store(true, Ordering::Relaxed);
        assert_eq!(load.pause(Duration::from_millis(20)), Duration::from_millis(240));
        assert_eq!(load.pause(second), LONGEST);
    }
}
