//! The proxy: listens, takes clients in, ends in good order.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bson::oid::ObjectId;
use docward_net::{Credential, Deployment, PoolState, Stream, TlsServer, Upstream, tune};
use tokio::{
    net::TcpListener,
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::{
    auth::{Auth, Identity, Users},
    client,
    cursors::Cursors,
    errors::Failure,
    hello::Face,
    request::Request,
    transactions::Transactions,
};

/// What a guard does.
#[derive(Debug)]
pub struct Settings {
    /// Where clients come to.
    pub listen: SocketAddr,
    /// What it looks like to them.
    pub face: Face,
    /// How they log in.
    pub auth: Auth,
    /// Who opens connections where nobody logs in, and who looks users up.
    pub service: Credential,
    /// Where servers are.
    pub upstream: Upstream,
    /// Clients at most.
    pub max_clients: usize,
    /// How long clients may take to finish when the guard ends.
    pub grace: Duration,
    /// Encrypted, if so.
    pub tls: Option<TlsServer>,
}

/// Counts of what happened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) resent: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) errors: Mutex<BTreeMap<i32, u64>>,
}

/// A guard that runs.
#[derive(Debug)]
pub struct Guard {
    pub(crate) settings: Settings,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) cursors: Cursors,
    pub(crate) transactions: Transactions,
    pub(crate) users: Users,
    pub(crate) counters: Counters,
    pub(crate) service: ObjectId,
    pub(crate) everybody: Identity,
    clients: AtomicUsize,
    next_client: AtomicU64,
    next_message: AtomicI32,
    drains: watch::Sender<bool>,
}

/// Figures of a guard.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Clients that are connected.
    pub clients: usize,
    /// Server, user and figures of each pool.
    pub pools: Vec<(String, String, PoolState)>,
    /// Cursors that are open.
    pub cursors: usize,
    /// Transactions that are open.
    pub transactions: usize,
    /// Commands since the start.
    pub requests: u64,
    /// Of these, sent twice.
    pub resent: u64,
    /// Of these, refused because all connections were in use.
    pub rejected: u64,
}

/// Tables are looked through this often.
const SWEEP: Duration = Duration::from_secs(30);

/// Random bits.
pub(crate) fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        // Numbers that are not secret, only rarely the same.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    })
}

impl Guard {
    /// Begins to watch the deployment.
    pub fn new(settings: Settings) -> Arc<Self> {
        let deployment = Deployment::start(settings.upstream.clone());
        let mut secret = [0; 32];
        secret.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&random().to_le_bytes()));
        let everybody =
            Identity { name: settings.service.name().into(), login: settings.service.clone() };
        let [tag, ..] = random().to_le_bytes().map(u16::from);
        let guard = Arc::new(Self {
            cursors: Cursors::new((tag << 7) ^ u16::from_le_bytes([secret[0], secret[1]])),
            transactions: Transactions::default(),
            users: Users::new(settings.service.clone(), secret),
            counters: Counters::default(),
            service: ObjectId::new(),
            everybody,
            clients: AtomicUsize::new(0),
            next_client: AtomicU64::new(1),
            next_message: AtomicI32::new(1),
            drains: watch::Sender::new(false),
            deployment,
            settings,
        });
        let weak = Arc::downgrade(&guard);
        tokio::spawn(async move {
            loop {
                sleep(SWEEP).await;
                let Some(guard) = weak.upgrade() else { return };
                guard.cursors.sweep();
                guard.transactions.sweep();
            }
        });
        guard
    }

    /// Opens the door.
    pub async fn bind(&self) -> io::Result<TcpListener> {
        TcpListener::bind(self.settings.listen).await
    }

    /// Waits until a server is known, for a while.
    pub async fn ready(&self, patience: Duration) -> bool {
        let mut changes = self.deployment.changes();
        let known = changes
            .wait_for(|topology| topology.servers.values().any(|server| server.kind.holds_data()));
        timeout(patience, known).await.is_ok_and(|known| known.is_ok())
    }

    /// Takes clients in until it drains.
    pub async fn accept(self: &Arc<Self>, listener: TcpListener) {
        let mut draining = self.draining();
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = draining.wait_for(|is_draining| *is_draining) => return,
            };
            match accepted {
                Ok((stream, peer)) => self.take_in(stream, peer),
                Err(error) => {
                    // Out of files, usually: somebody has to leave first.
                    tracing::warn!(%error, "cannot take a client in");
                    sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn take_in(self: &Arc<Self>, stream: tokio::net::TcpStream, peer: SocketAddr) {
        let count = self.clients.fetch_add(1, Ordering::Relaxed);
        self.counters.accepted.fetch_add(1, Ordering::Relaxed);
        if count >= self.settings.max_clients || tune(&stream).is_err() {
            self.counters.refused.fetch_add(1, Ordering::Relaxed);
            self.clients.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let guard = Arc::clone(self);
        let number = self.next_client.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _counted = Counted(Arc::clone(&guard));
            let stream = match &guard.settings.tls {
                None => Stream::Plain(stream),
                Some(tls) => match timeout(Duration::from_secs(5), tls.accept(stream)).await {
                    Ok(Ok(stream)) => Stream::from(stream),
                    _ => return,
                },
            };
            client::serve(guard, stream, Some(peer.ip()), number).await;
        });
    }

    /// Ends in good order: no new clients, those that are there finish what they do.
    pub async fn drain(&self) {
        self.drains.send_replace(true);
        let end = Instant::now() + self.settings.grace;
        while self.clients.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn draining(&self) -> watch::Receiver<bool> {
        self.drains.subscribe()
    }

    pub(crate) fn next_id(&self) -> i32 {
        self.next_message.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn count(&self, _: &Request) {
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        let mut errors = self.counters.errors.lock().unwrap_or_else(PoisonError::into_inner);
        *errors.entry(failure.code).or_default() += 1;
    }

    /// Figures.
    pub fn snapshot(&self) -> Snapshot {
        let members = self.deployment.members();
        let pools = members.iter().flat_map(|member| {
            let states = member.states().into_iter();
            states.map(|(user, state)| (member.address.to_string(), user, state))
        });
        Snapshot {
            clients: self.clients.load(Ordering::Relaxed),
            pools: pools.collect(),
            cursors: self.cursors.len(),
            transactions: self.transactions.open(),
            requests: self.counters.requests.load(Ordering::Relaxed),
            resent: self.counters.resent.load(Ordering::Relaxed),
            rejected: self.counters.rejected.load(Ordering::Relaxed),
        }
    }
}

/// A client that is counted as long as this lives.
struct Counted(Arc<Guard>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
