//! The guard itself: it accepts clients, tracks what they have open, and shuts down gracefully.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bson::{Bson, Document, RawDocument, doc, oid::ObjectId};
use docward_net::{
    Deployment, Lane, Login, Member, OpenError, Purpose,
    select::ReadPreference,
    topology::{Address, ServerKind},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, timeout},
};

use crate::{
    auth::{Identity, Users},
    caller::Caller,
    cursors::{Cursor, Cursors},
    errors::{Failure, code},
    gate::Gate,
    hello::Names,
    memory::Memory,
    metrics::Metrics,
    rates::Rates,
    reply::ReplyFacts,
    settings::{Auth, Live, OWN_COMMANDS, Settings},
    snapshot::{ServerReport, Snapshot},
    transactions::Transactions,
};

/// An application and a user.
type AppUser = (Arc<str>, Arc<str>);

/// A running guard.
#[derive(Debug)]
pub struct Guard {
    pub(crate) settings: Settings,
    pub(crate) live: RwLock<Arc<Live>>,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) cursors: Cursors,
    pub(crate) transactions: Transactions,
    /// Cursors that were removed from the table to be closed on their servers.
    pub(crate) displaced: mpsc::Sender<Cursor>,
    pub(crate) users: Users,
    pub(crate) metrics: Metrics,
    pub(crate) memory: Memory,
    pub(crate) rates: Rates,
    pub(crate) gate: Gate,
    /// The id of this process in `hello` replies.
    pub(crate) process: ObjectId,
    pub(crate) service: Identity,
    /// The name of applications without `appName`: an empty string.
    pub(crate) unnamed: Arc<str>,
    /// With `--face member`, the addresses that clients use for the servers.
    pub(crate) names: RwLock<Arc<Names>>,
    /// The newest cluster time that a server reported. `cluster_time` holds its document.
    newest: AtomicU64,
    cluster_time: Mutex<Option<Document>>,
    clients: AtomicUsize,
    /// The number of clients by application and user.
    who: Mutex<BTreeMap<AppUser, usize>>,
    next_client: AtomicU64,
    next_message: AtomicI32,
    drains: watch::Sender<Option<Instant>>,
    started: Instant,
}

/// The interval at which the guard removes expired cursors, transactions and holds.
const SWEEP: Duration = Duration::from_secs(5);
/// The number of displaced cursors that may wait to be closed.
const MAX_TO_CLOSE: usize = 1000;
/// The interval at which the guard asks the servers how many connections they have left.
const ASK_FOR_ROOM: Duration = Duration::from_secs(30);
/// The percentage of a server's connections that the guard and all other clients may use together.
const SHARE: u64 = 80;
/// The maximum number of application and user pairs that are counted separately.
const MAX_APPLICATIONS: usize = 1000;
/// The time that clients without open cursors or transactions may send commands during a shutdown. Drivers need this
/// time to notice the shutdown.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Returns random bits.
pub(crate) fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        // Without a random source the numbers are predictable, but they still differ from each other.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)
    })
}

impl Guard {
    /// Creates a guard and starts to monitor the deployment.
    pub fn new(settings: Settings, live: Live) -> Arc<Self> {
        let deployment = Deployment::start(settings.upstream.clone());
        let service = Arc::new(Login::from(settings.service.clone()));
        let (displaced, mut to_close) = mpsc::channel(MAX_TO_CLOSE);
        let [low, high, ..] = random().to_le_bytes();
        let listed = matches!(settings.auth, Auth::List).then(|| Arc::clone(&live.users));
        let rates = Rates::default();
        rates.set(live.rates.clone());
        let guard = Arc::new(Self {
            cursors: Cursors::new(u16::from_le_bytes([low, high])),
            transactions: Transactions::default(),
            displaced,
            users: Users::new(Arc::clone(&service), listed),
            metrics: Metrics::new(),
            memory: Memory::new(live.memory),
            rates,
            gate: Gate::default(),
            process: ObjectId::new(),
            service: Identity::of(service),
            unnamed: "".into(),
            names: RwLock::default(),
            newest: AtomicU64::new(0),
            cluster_time: Mutex::default(),
            clients: AtomicUsize::new(0),
            who: Mutex::default(),
            next_client: AtomicU64::new(1),
            next_message: AtomicI32::new(1),
            drains: watch::Sender::new(None),
            started: Instant::now(),
            live: RwLock::new(Arc::new(live)),
            deployment,
            settings,
        });
        let weak = Arc::downgrade(&guard);
        tokio::spawn(async move {
            let mut cursors = Vec::new();
            loop {
                tokio::select! {
                    count = to_close.recv_many(&mut cursors, MAX_TO_CLOSE) => if count == 0 { return },
                    () = sleep(SWEEP) => {}
                }
                let Some(guard) = weak.upgrade() else { return };
                cursors.extend(guard.cursors.take_expired());
                guard.close_on_servers(std::mem::take(&mut cursors)).await;
            }
        });
        let weak = Arc::downgrade(&guard);
        tokio::spawn(async move {
            while let Some(guard) = weak.upgrade() {
                guard.transactions.sweep();
                guard.gate.sweep();
                drop(guard);
                sleep(SWEEP).await;
            }
        });
        let weak = Arc::downgrade(&guard);
        tokio::spawn(async move {
            while let Some(guard) = weak.upgrade() {
                guard.ready(Duration::from_secs(1)).await;
                guard.find_room().await;
                drop(guard);
                sleep(ASK_FOR_ROOM).await;
            }
        });
        guard
    }

    /// Returns the current settings that a reload can change.
    pub fn live(&self) -> Arc<Live> {
        Arc::clone(&self.live.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Applies new settings, and reads the certificate files again.
    pub fn reload(&self, live: Live) -> Result<(), docward_net::TlsError> {
        if let Some(tls) = &self.settings.tls {
            tls.reload()?;
        }
        self.deployment.set_limits(live.limits);
        self.memory.set_limit(live.memory);
        self.rates.set(live.rates.clone());
        self.users.set_listed(Arc::clone(&live.users));
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
        tracing::info!("settings reloaded");
        Ok(())
    }

    /// Updates the topology with the routers that DNS lists now.
    pub fn renamed(&self, addresses: &std::collections::BTreeSet<Address>) {
        self.deployment.renamed(addresses);
    }

    /// Waits until a server with data has answered, at most for `patience`. Returns whether one has.
    pub async fn ready(&self, patience: Duration) -> bool {
        let mut changes = self.deployment.changes();
        let known = changes
            .wait_for(|topology| topology.servers.values().any(|server| server.kind.holds_data()));
        timeout(patience, known).await.is_ok_and(|known| known.is_ok())
    }

    /// Waits until the primary of the replica set is known, at most for `patience`. Returns whether it is.
    pub async fn knows_members(&self, patience: Duration) -> bool {
        let mut changes = self.deployment.changes();
        let known = changes.wait_for(|topology| topology.primary().is_some());
        timeout(patience, known).await.is_ok_and(|known| known.is_ok())
    }

    /// Whether the guard can answer commands now.
    pub fn is_ready(&self) -> bool {
        let topology = self.deployment.topology();
        self.drains.borrow().is_none()
            && !self.gate.is_paused()
            && topology.servers.values().any(|server| server.kind.holds_data())
    }

    /// Counts a new client. Returns `None` if there are too many.
    pub(crate) fn count_client(self: &Arc<Self>) -> Option<Counted> {
        let most = self.live.read().unwrap_or_else(PoisonError::into_inner).max_clients;
        let count = self.clients.fetch_add(1, Ordering::Relaxed);
        let number = self.next_client.fetch_add(1, Ordering::Relaxed);
        let counted = Counted { guard: Arc::clone(self), number };
        (count < most).then_some(counted)
    }

    /// Shuts down gracefully: accepts no new clients, and lets connected ones finish their commands, transactions and
    /// cursors within the grace period.
    pub async fn drain(&self) {
        self.begin_to_drain();
        let end = Instant::now() + self.live().grace;
        while self.clients.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Starts the shutdown: the guard accepts no new clients and announces the shutdown in `hello` replies.
    pub fn begin_to_drain(&self) {
        self.drains.send_if_modified(|since| {
            let is_new = since.is_none();
            since.get_or_insert_with(Instant::now);
            is_new
        });
    }

    /// Whether a client has open cursors or transactions.
    pub(crate) fn has_open(&self, who: &Caller) -> bool {
        let name = &who.identity.name;
        self.cursors.has_of_client(who.client, name)
            || self.transactions.has_of_client(who.client, name)
    }

    /// Subscribes to the time at which the shutdown began.
    pub(crate) fn draining(&self) -> watch::Receiver<Option<Instant>> {
        self.drains.subscribe()
    }

    /// Waits until the shutdown begins.
    pub async fn drained(&self) {
        let _ = self.draining().wait_for(Option::is_some).await;
    }

    /// Stores the cluster time of a reply if it is newer than the stored one.
    pub(crate) fn note_time(&self, frame: &[u8], seen: &ReplyFacts) {
        let Some((time, span)) = seen.cluster_time else { return };
        if self.newest.fetch_max(time, Ordering::Relaxed) >= time {
            return;
        }
        let document = RawDocument::from_bytes(span.of(frame)).and_then(Document::try_from);
        if let (Ok(document), Ok(mut kept)) = (document, self.cluster_time.lock()) {
            *kept = Some(document);
        }
    }

    /// Returns the newest cluster time, for replies of the guard itself.
    pub(crate) fn cluster_time(&self) -> Option<Document> {
        self.cluster_time.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn next_id(&self) -> i32 {
        self.next_message.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn failed(&self, failure: &Failure) {
        self.metrics.failed(failure.code);
        tracing::debug!(code = failure.code, errmsg = ?failure.errmsg, "error sent to client");
    }

    /// Counts a client under its application and user.
    pub(crate) fn counted_as(
        self: &Arc<Self>,
        application: &Arc<str>,
        user: &Arc<str>,
    ) -> CountedAs {
        let mut who = self.who.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Arc::clone(application), Arc::clone(user));
        let is_others = who.len() >= MAX_APPLICATIONS && !who.contains_key(&key);
        let key = if is_others { ("others".into(), "others".into()) } else { key };
        // Clients with the same names share the strings.
        let key = who.get_key_value(&key).map_or(key, |(known, _)| known.clone());
        *who.entry(key.clone()).or_default() += 1;
        drop(who);
        CountedAs { guard: Arc::clone(self), key }
    }

    /// Asks each server how many connections it has left, and sets the limit of the guard. All clients of a server
    /// together should use at most 80 % of its connections.
    async fn find_room(&self) {
        let topology = self.deployment.topology();
        for member in self.deployment.members() {
            if topology.servers.get(&member.address).is_none_or(|s| !s.kind.holds_data()) {
                continue;
            }
            let most = self.live().limits.server;
            match self.room_of(&member).await {
                Room::Known(current, available) => {
                    let own = u64::try_from(member.budget.used()).unwrap_or(0);
                    let room = room(current, available, own);
                    let limit = usize::try_from(room).unwrap_or(usize::MAX).min(most);
                    if limit != member.budget.limit() {
                        tracing::info!(server = %member.address, limit, "connection limit changed");
                    }
                    member.budget.set_limit(limit);
                }
                Room::Hidden => member.budget.set_limit(most),
                // The server may have no free connection, so keep the current limit.
                Room::Unknown => {}
            }
        }
    }

    async fn room_of(&self, member: &Member) -> Room {
        let login = &self.service.login;
        let Ok(mut lease) = member.take(login, Lane::Ordinary, 0, Purpose::Other).await else {
            return Room::Unknown;
        };
        let mut question = doc! { "serverStatus": 1 };
        for part in ["repl", "metrics", "locks", "wiredTiger", "tcmalloc", "opLatencies", "network"]
        {
            question.insert(part, 0);
        }
        let Some(connection) = lease.begin() else { return Room::Unknown };
        let reply = match timeout(OWN_COMMANDS, connection.run("admin", question)).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(OpenError::Server { code, .. })) => {
                lease.end();
                return if code == code::UNAUTHORIZED { Room::Hidden } else { Room::Unknown };
            }
            _ => return Room::Unknown,
        };
        lease.end();
        let Ok(connections) = reply.get_document("connections") else { return Room::Hidden };
        let number = |name: &str| match connections.get(name) {
            Some(Bson::Int32(number)) => u64::try_from(*number).ok(),
            Some(Bson::Int64(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        match (number("current"), number("available")) {
            (Some(current), Some(available)) => Room::Known(current, available),
            _ => Room::Hidden,
        }
    }

    /// Whether a server that accepts writes is known.
    fn has_primary(&self) -> bool {
        let topology = self.deployment.topology();
        self.deployment.choose(&topology, &ReadPreference::default(), None).is_some()
    }

    /// Collects the statistics for the state, the page and the metrics.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let members = self.deployment.members();
        let topology = self.deployment.topology();
        let server = |member: &Arc<Member>| {
            let known = topology.servers.get(&member.address);
            ServerReport {
                address: member.address.clone(),
                kind: known.map_or("unknown", |server| word(server.kind)),
                error: known.and_then(|server| server.error.clone()),
                round_trip: known.and_then(|server| server.round_trip),
                in_flight: member.in_flight.load(Ordering::Relaxed),
                connections: member.budget.used(),
                budget: member.budget.limit(),
            }
        };
        let pools = members.iter().flat_map(|member| {
            let reports = member.pool_reports().into_iter();
            reports.map(|report| (member.address.clone(), report))
        });
        let who = self.who.lock().unwrap_or_else(PoisonError::into_inner);
        let applications = who
            .iter()
            .map(|((application, user), count)| (Arc::clone(application), Arc::clone(user), *count))
            .collect();
        drop(who);
        Snapshot {
            uptime: self.started.elapsed(),
            clients: self.clients.load(Ordering::Relaxed),
            applications,
            servers: members.iter().map(server).collect(),
            pools: pools.collect(),
            cursors: self.cursors.len(),
            transactions: self.transactions.open(),
            memory: (self.memory.used(), self.memory.limit()),
            requests: self.metrics.requests_of(),
            resent: self.metrics.resent.get(),
            rejected: self.metrics.rejected.get(),
            limited: self.metrics.limited.get(),
            errors: self.metrics.errors(),
            added: self.metrics.lately(),
            has_primary: self.has_primary(),
            is_draining: self.drains.borrow().is_some(),
            is_paused: self.gate.is_paused(),
            held: self.gate.waiting(),
        }
    }

    /// Returns the number of connected clients.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Returns all metrics in the OpenMetrics text format.
    pub(crate) fn metrics_text(&self) -> Result<String, std::fmt::Error> {
        self.metrics.text(&self.snapshot())
    }
}

/// The connections of a server, as far as the guard knows them.
enum Room {
    /// The number of open connections, and how many more the server accepts.
    Known(u64, u64),
    /// The server does not report them, for example because the account lacks the right.
    Hidden,
    /// The command failed.
    Unknown,
}

/// Returns how many connections the guard may have to a server.
fn room(current: u64, available: u64, own: u64) -> u64 {
    let others = current.saturating_sub(own);
    ((current + available) * SHARE / 100).saturating_sub(others).max(1)
}

fn word(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::Unknown => "unknown",
        ServerKind::Standalone => "standalone",
        ServerKind::Mongos => "router",
        ServerKind::Primary => "primary",
        ServerKind::Secondary => "secondary",
        ServerKind::Arbiter => "arbiter",
        ServerKind::Other => "other",
        ServerKind::Ghost => "not initiated",
    }
}

/// A client that counts until this is dropped.
pub(crate) struct Counted {
    pub(crate) guard: Arc<Guard>,
    /// The number of the client connection.
    pub(crate) number: u64,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.guard.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a client under its application and user until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedAs {
    guard: Arc<Guard>,
    key: AppUser,
}

impl CountedAs {
    pub(crate) fn application(&self) -> &Arc<str> {
        &self.key.0
    }
}

impl Drop for CountedAs {
    fn drop(&mut self) {
        let mut who = self.guard.who.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = who.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                who.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cm_1_cp_1_eighty_in_a_hundred_connections_are_used() {
        assert_eq!(room(10, 990, 4), 794, "others use 6");
        assert_eq!(room(900, 100, 0), 1, "at least 1");
        assert_eq!(room(200, 800, 200), 800);
    }
}
