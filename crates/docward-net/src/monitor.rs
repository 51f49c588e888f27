//! Asks a server what it is, again and again; servers that can tell of changes by themselves are listened to.

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
    deployment::{Deployment, Member, Upstream},
    topology::{Server, ServerKind, TopologyVersion},
};

/// Servers are not asked more often than this.
const LEAST_PAUSE: Duration = Duration::from_millis(500);

/// Weight of a new measurement in the running mean.
const NEWEST: f64 = 0.2;

/// Begins to watch a server.
pub(crate) fn start(
    deployment: Weak<Deployment>,
    member: &Arc<Member>,
    upstream: &Upstream,
) -> Vec<JoinHandle<()>> {
    let watch = watch(
        deployment,
        Arc::clone(member),
        upstream.opener.clone(),
        upstream.heartbeat,
        Instant::now(),
    );
    let measure = measure(Arc::clone(member), upstream.opener.clone(), upstream.heartbeat);
    vec![tokio::spawn(watch), tokio::spawn(measure)]
}

async fn watch(
    deployment: Weak<Deployment>,
    member: Arc<Member>,
    opener: Opener,
    heartbeat: Duration,
    start: Instant,
) {
    let mut watched = Watched { connection: None, streams: false };
    loop {
        let asked = Instant::now();
        let said = tokio::select! {
            said = watched.ask(&member, &opener, heartbeat) => said,
            // What it was going to say is of no use: it is asked anew.
            () = member.wake.notified(), if watched.streams => {
                watched = Watched { connection: None, streams: false };
                sleep_until(asked + LEAST_PAUSE).await;
                continue;
            }
        };
        let Some(deployment) = deployment.upgrade() else { return };
        let is_known = |deployment: &Deployment| {
            let topology = deployment.topology();
            topology.servers.get(&member.address).is_some_and(|s| s.kind != ServerKind::Unknown)
        };
        let again = match said {
            Ok(hello) => {
                let clock = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
                let mut server = Server::of_hello(member.address.clone(), &hello, clock);
                server.round_trip =
                    *member.round_trip.lock().unwrap_or_else(PoisonError::into_inner);
                if server.kind == ServerKind::Unknown {
                    deployment.failed(&member, server.error.as_deref().unwrap_or("unknown"), None);
                    watched = Watched { connection: None, streams: false };
                } else {
                    deployment.apply(server);
                }
                watched.streams
            }
            Err(error) => {
                watched = Watched { connection: None, streams: false };
                let was_known = is_known(&deployment);
                deployment.failed(&member, &error.to_string(), None);
                if let OpenError::Timeout(_) = error {
                    member.lost.notify_waiters();
                }
                // A connection that broke says little: it is tried once more at once.
                was_known
            }
        };
        drop(deployment);
        if again {
            continue;
        }
        tokio::select! {
            () = sleep(heartbeat) => {}
            () = member.wake.notified() => sleep_until(asked + LEAST_PAUSE).await,
        }
    }
}

struct Watched {
    connection: Option<Connection>,
    /// Whether the server says by itself what changed.
    streams: bool,
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
        let patience = heartbeat + opener.timeout;
        let said = match connection.topology_version() {
            Some(version) if self.streams => {
                timeout(patience, stream(connection, version, heartbeat)).await
            }
            _ => timeout(opener.timeout, plain(connection)).await,
        };
        let hello = said.unwrap_or(Err(OpenError::Timeout(patience)))?;
        connection.hello = hello.clone();
        Ok(hello)
    }
}

async fn plain(connection: &mut Connection) -> Result<Document, OpenError> {
    connection
        .ask("admin", doc! { "isMaster": 1, "helloOk": true }, Flags::default())
        .await
        .map(|r| r.0)
}

/// Waits until the server has something new to say, or repeats itself after a while.
async fn stream(
    connection: &mut Connection,
    version: TopologyVersion,
    heartbeat: Duration,
) -> Result<Document, OpenError> {
    let wait = i64::try_from(heartbeat.as_millis()).unwrap_or(10_000);
    let question = doc! {
        "isMaster": 1,
        "helloOk": true,
        "topologyVersion": { "processId": version.process, "counter": version.counter },
        "maxAwaitTimeMS": wait,
    };
    connection.ask("admin", question, Flags::default()).await.map(|reply| reply.0)
}

/// Measures how far away a server is, on a connection that nobody else waits on.
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
