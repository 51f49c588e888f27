//! Monitors a server with repeated `hello` commands. Servers that support it answer as soon as their state changes.

use std::{
    sync::{Arc, PoisonError, Weak},
    time::Duration,
};

use bson::{Document, doc};
use docward_wire::Flags;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

use crate::{
    connection::{Connection, OpenError, Opener},
    member::Member,
    topology::{Address, Server, ServerKind, TopologyVersion},
};

/// The minimum time between two `hello` commands to a server.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// The weight of a new measurement in the moving average of the round-trip time.
const NEWEST: f64 = 0.2;

/// Receives the results of monitoring.
pub(crate) trait Observer: Send + Sync + 'static {
    /// Whether the kind of a server is known.
    fn is_known(&self, address: &Address) -> bool;

    /// Records the `hello` reply of a server.
    fn answered(self: &Arc<Self>, server: Server);

    /// Records that a server cannot be used.
    fn failed(self: &Arc<Self>, member: &Member, error: &str);
}

/// Starts the tasks that monitor a server. `clock` is the zero of [`Server::updated_ms`]. All
/// servers use the same zero, because their replication lag is compared.
pub(crate) fn start(
    observer: Weak<impl Observer>,
    member: &Arc<Member>,
    opener: &Opener,
    heartbeat: Duration,
    clock: Instant,
) -> Vec<JoinHandle<()>> {
    let watch = watch(observer, Arc::clone(member), opener.clone(), heartbeat, clock);
    let measure = measure(Arc::clone(member), opener.clone(), heartbeat);
    vec![tokio::spawn(watch), tokio::spawn(measure)]
}

async fn watch(
    observer: Weak<impl Observer>,
    member: Arc<Member>,
    opener: Opener,
    heartbeat: Duration,
    clock: Instant,
) {
    let mut watched = Watched::default();
    loop {
        let asked = Instant::now();
        let said = tokio::select! {
            said = watched.ask(&member, &opener, heartbeat) => said,
            // The awaited reply may only arrive at the next heartbeat. A new connection gets an
            // answer at once.
            () = member.wake.notified(), if watched.streams => {
                watched = Watched::default();
                sleep_until(asked + LEAST_PAUSE).await;
                continue;
            }
        };
        let Some(observer) = observer.upgrade() else { return };
        let again = match said {
            Ok(hello) => {
                let now = i64::try_from(clock.elapsed().as_millis()).unwrap_or(i64::MAX);
                let mut server = Server::of_hello(member.address.clone(), &hello, now);
                server.round_trip =
                    *member.round_trip.lock().unwrap_or_else(PoisonError::into_inner);
                if server.kind == ServerKind::Unknown {
                    observer.failed(&member, server.error.as_deref().unwrap_or("unknown"));
                    watched = Watched::default();
                } else {
                    observer.answered(server);
                }
                watched.streams
            }
            Err(error) => {
                watched = Watched::default();
                let was_known = observer.is_known(&member.address);
                observer.failed(&member, &error.to_string());
                if let OpenError::Timeout(_) = error {
                    member.lost.notify_waiters();
                }
                // A broken connection does not mean that the server is down, so retry once without a pause.
                was_known
            }
        };
        drop(observer);
        if again {
            continue;
        }
        tokio::select! {
            () = sleep(heartbeat) => {}
            () = member.wake.notified() => sleep_until(asked + LEAST_PAUSE).await,
        }
    }
}

#[derive(Default)]
struct Watched {
    connection: Option<Connection>,
    /// Whether the server supports awaitable `hello`: it answers when its state changes.
    streams: bool,
    /// Whether the server sends the next reply without another command.
    has_more: bool,
}

impl Watched {
    async fn ask(
        &mut self,
        member: &Member,
        opener: &Opener,
        heartbeat: Duration,
    ) -> Result<Document, OpenError> {
        let Some(connection) = &mut self.connection else {
            let asked = Instant::now();
            let connection = opener.greet(&member.address).await?;
            measured(member, asked.elapsed());
            let hello = connection.hello.clone();
            self.streams = connection.topology_version().is_some();
            self.connection = Some(connection);
            return Ok(hello);
        };
        let (limit, said) = match connection.topology_version() {
            Some(version) if self.streams => {
                let limit = heartbeat + opener.timeout;
                let next = stream(connection, self.has_more, version, heartbeat);
                (limit, timeout(limit, next).await)
            }
            _ => (opener.timeout, timeout(opener.timeout, plain(connection)).await),
        };
        let (hello, has_more) = said.unwrap_or(Err(OpenError::Timeout(limit)))?;
        self.has_more = has_more;
        connection.hello = hello.clone();
        Ok(hello)
    }
}

async fn plain(connection: &mut Connection) -> Result<(Document, bool), OpenError> {
    connection.ask("admin", doc! { "isMaster": 1, "helloOk": true }, Flags::default()).await
}

/// Reads the next reply of a stream of `hello` replies, and starts the stream if there is none. The server replies when
/// its state changes, or after the heartbeat interval.
async fn stream(
    connection: &mut Connection,
    has_more: bool,
    version: TopologyVersion,
    heartbeat: Duration,
) -> Result<(Document, bool), OpenError> {
    if has_more {
        return connection.listen().await;
    }
    let wait = i64::try_from(heartbeat.as_millis()).unwrap_or(10_000);
    let question = doc! {
        "isMaster": 1,
        "helloOk": true,
        "topologyVersion": { "processId": version.process, "counter": version.counter },
        "maxAwaitTimeMS": wait,
    };
    connection.ask("admin", question, Flags(Flags::EXHAUST_ALLOWED)).await
}

/// Measures the round-trip time on a separate connection, because awaitable `hello` commands do not show it.
async fn measure(member: Arc<Member>, opener: Opener, pause: Duration) {
    let mut connection: Option<Connection> = None;
    loop {
        sleep(pause).await;
        let asked = Instant::now();
        match &mut connection {
            None => {
                connection = opener.greet(&member.address).await.ok();
            }
            Some(open) => match timeout(opener.timeout, plain(open)).await {
                Ok(Ok(_)) => measured(&member, asked.elapsed()),
                _ => connection = None,
            },
        }
    }
}

fn measured(member: &Member, took: Duration) {
    let mut mean = member.round_trip.lock().unwrap_or_else(PoisonError::into_inner);
    *mean = Some(match *mean {
        Some(before) => took.mul_f64(NEWEST) + before.mul_f64(1.0 - NEWEST),
        None => took,
    });
}
