//! A monitored deployment: its servers, their connection pools, and server selection.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use crate::{
    budget::Budget,
    connection::{Connection, Credential, OpenError, Opener},
    monitor,
    pool::{Denied, Lease, Manage, Pool, PoolLimits, PoolState, Purpose},
    select::{ReadPreference, near, suitable},
    topology::{Address, Server, Topology, TopologyKind, TopologyVersion},
};

/// The deployment to connect to, and how to connect to it.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The addresses in the connection string.
    pub seeds: Vec<Address>,
    /// The assumed kind of the deployment before any server has answered.
    pub kind: TopologyKind,
    /// The expected name of the replica set.
    pub set_name: Option<String>,
    /// Opens connections.
    pub opener: Opener,
    /// The initial connection limits.
    pub limits: Limits,
    /// The interval between two `hello` commands to a server.
    pub heartbeat: Duration,
    /// How long to wait for a suitable server.
    pub selection: Duration,
    /// How much longer the round trip to a server may take than to the nearest one (`localThresholdMS`).
    pub window: Duration,
}

/// Connection limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limits of each pool; there is one per server and user.
    pub pool: PoolLimits,
    /// Additional connections per server and user for cursors that wait for data, such as change streams.
    pub awaiting: usize,
    /// The maximum number of connections to one server, for all users together.
    pub server: usize,
}

impl Limits {
    fn of(&self, lane: Lane) -> PoolLimits {
        match lane {
            Lane::Ordinary => self.pool,
            Lane::Awaiting => PoolLimits { max: self.awaiting, min: 0, ..self.pool },
        }
    }
}

/// The user that connections are opened for.
#[derive(Clone, Debug)]
pub struct Login {
    key: LoginKey,
    credential: Credential,
}

/// A user and a hash of its keys. A user with a new password gets a new pool, because the old keys open no more
/// connections.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LoginKey {
    name: Arc<str>,
    keys: u64,
}

impl Login {
    /// Returns the user as `database.user`, or an empty name for connections without a login.
    pub fn name(&self) -> &Arc<str> {
        &self.key.name
    }
}

impl From<Credential> for Login {
    fn from(credential: Credential) -> Self {
        let keys = match &credential {
            Credential::Keys { keys, .. } => keys.fingerprint(),
            _ => 0,
        };
        Self { key: LoginKey { name: credential.name().into(), keys }, credential }
    }
}

/// Opens connections to one server as one user.
#[derive(Debug)]
pub struct AtServer {
    opener: Opener,
    address: Address,
    credential: Credential,
    budget: Arc<Budget>,
}

impl Manage for AtServer {
    type Connection = Connection;
    type Error = Arc<OpenError>;

    async fn open(&self) -> Result<Connection, Arc<OpenError>> {
        self.opener.open(&self.address, &self.credential).await.map_err(Arc::new)
    }

    fn is_usable(&self, connection: &Connection) -> bool {
        !connection.is_stale()
    }

    fn reserve(&self, open: usize) -> bool {
        self.budget.reserve(open)
    }

    fn release(&self) {
        self.budget.release();
    }

    fn starve(&self) {
        self.budget.changed.notify_one();
    }

    fn is_pressed(&self) -> bool {
        self.budget.is_pressed()
    }

    fn is_unfair(&self, open: usize) -> bool {
        self.budget.is_unfair(open)
    }
}

/// The kind of commands that a pool serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Commands that the server answers as soon as it has the result.
    Ordinary,
    /// `getMore` commands of cursors that wait for data, such as change streams.
    Awaiting,
}

/// Statistics of a pool.
#[derive(Clone, Debug)]
pub struct PoolReport {
    /// The user as `database.user`.
    pub user: Arc<str>,
    /// The kind of commands.
    pub lane: Lane,
    /// The maximum number of connections.
    pub max: usize,
    /// The current statistics.
    pub state: PoolState,
}

/// A connection in use.
pub type Leased = Lease<AtServer>;

type Pools = BTreeMap<LoginKey, Pool<AtServer>>;

/// A server and its pools: one per user and [`Lane`].
pub struct Member {
    /// The server's address.
    pub address: Address,
    /// Limits the connections of all pools.
    pub budget: Arc<Budget>,
    opener: Opener,
    limits: Arc<RwLock<Limits>>,
    ordinary: Mutex<Pools>,
    awaiting: Mutex<Pools>,
    /// The number of commands that were sent and not answered.
    pub in_flight: AtomicUsize,
    pub(crate) wake: Notify,
    /// Notified when the server no longer answers its monitor, so that commands stop waiting for replies.
    pub lost: Notify,
    pub(crate) round_trip: Mutex<Option<Duration>>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Member({})", self.address)
    }
}

impl Member {
    fn new(address: Address, opener: Opener, limits: Arc<RwLock<Limits>>) -> Arc<Self> {
        let server = read(&limits).server;
        Arc::new(Self {
            address,
            budget: Arc::new(Budget::new(server)),
            opener,
            limits,
            ordinary: Mutex::default(),
            awaiting: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            wake: Notify::new(),
            lost: Notify::new(),
            round_trip: Mutex::default(),
        })
    }

    fn pools(&self, lane: Lane) -> MutexGuard<'_, Pools> {
        let pools = match lane {
            Lane::Ordinary => &self.ordinary,
            Lane::Awaiting => &self.awaiting,
        };
        pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pool of a user, and creates it if there is none.
    fn pool(&self, login: &Login, lane: Lane) -> Pool<AtServer> {
        let mut pools = self.pools(lane);
        if let Some(pool) = pools.get(&login.key) {
            return pool.clone();
        }
        let at = AtServer {
            opener: self.opener.clone(),
            address: self.address.clone(),
            credential: login.credential.clone(),
            budget: Arc::clone(&self.budget),
        };
        let pool = Pool::new(at, read(&self.limits).of(lane));
        pools.insert(login.key.clone(), pool.clone());
        pool
    }

    /// Removes the pools of a login that the server refused.
    pub fn forget(&self, login: &Login) {
        for lane in [Lane::Ordinary, Lane::Awaiting] {
            let pool = self.pools(lane).remove(&login.key);
            if let Some(pool) = pool {
                pool.close();
            }
        }
    }

    /// Returns the statistics of all pools.
    pub fn pool_reports(&self) -> Vec<PoolReport> {
        let limits = *read(&self.limits);
        let of = |lane: Lane| {
            let max = limits.of(lane).max;
            let pools = self.pools(lane);
            let reports = pools.iter().map(|(key, pool)| PoolReport {
                user: Arc::clone(&key.name),
                lane,
                max,
                state: pool.state(),
            });
            reports.collect::<Vec<_>>()
        };
        [of(Lane::Ordinary), of(Lane::Awaiting)].concat()
    }

    fn each(&self, action: impl Fn(Lane, &Pool<AtServer>)) {
        for lane in [Lane::Ordinary, Lane::Awaiting] {
            let pools: Vec<_> = self.pools(lane).values().cloned().collect();
            pools.iter().for_each(|pool| action(lane, pool));
        }
    }

    /// Takes a connection from the user's pool. Clients that wait are served in turn.
    pub async fn take(
        &self,
        login: &Login,
        lane: Lane,
        client: u64,
        purpose: Purpose,
    ) -> Result<Leased, Denied<Arc<OpenError>>> {
        match self.pool(login, lane).take(client, purpose).await {
            // The pool was retired after the lookup, so look it up again.
            Err(Denied::Closed) => self.pool(login, lane).take(client, purpose).await,
            taken => taken,
        }
    }

    /// Closes idle connections and removes the pools of users that no longer use any.
    fn maintain(&self) {
        self.each(|_, pool| pool.maintain());
        for lane in [Lane::Ordinary, Lane::Awaiting] {
            self.pools(lane).retain(|_, pool| !pool.retire());
        }
    }

    /// Distributes the budget over the pools. When it is used up, closes a connection of the pool with the most idle ones.
    async fn share(self: Arc<Self>) {
        loop {
            self.budget.changed.notified().await;
            let mut pools = Vec::new();
            for lane in [Lane::Ordinary, Lane::Awaiting] {
                pools.extend(self.pools(lane).values().cloned());
            }
            if self.budget.is_full() {
                let mut idle: Vec<_> = pools.iter().map(|pool| (pool.idle(), pool)).collect();
                idle.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
                if let Some((_, most)) = idle.first() {
                    most.close_idle();
                }
            }
            // Pools do not know how long others have waited, so the one with the fewest connections goes first.
            pools.sort_by_key(|pool| pool.state().open);
            pools.iter().for_each(Pool::grow_again);
        }
    }
}

fn read(limits: &RwLock<Limits>) -> std::sync::RwLockReadGuard<'_, Limits> {
    limits.read().unwrap_or_else(PoisonError::into_inner)
}

/// Why no server was selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no suitable server within {} s: {seen}", .waited.as_secs())]
pub struct NoServer {
    /// How long the caller waited.
    pub waited: Duration,
    /// The known servers, each with its kind or error.
    pub seen: String,
}

/// Servers, each with its monitoring tasks.
type Members = BTreeMap<Address, (Arc<Member>, Vec<JoinHandle<()>>)>;

/// A monitored deployment.
pub struct Deployment {
    /// How to connect to the deployment.
    pub upstream: Upstream,
    limits: Arc<RwLock<Limits>>,
    topology: watch::Sender<Arc<Topology>>,
    members: Mutex<Members>,
    turn: AtomicUsize,
    started: Instant,
}

impl std::fmt::Debug for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deployment")
    }
}

/// The interval of pool maintenance.
const MAINTENANCE: Duration = Duration::from_secs(10);

impl Deployment {
    /// Starts to monitor a deployment.
    pub fn start(upstream: Upstream) -> Arc<Self> {
        let topology = Topology::new(&upstream.seeds, upstream.kind, upstream.set_name.clone());
        let seeds: Vec<Address> = topology.servers.keys().cloned().collect();
        let deployment = Arc::new(Self {
            limits: Arc::new(RwLock::new(upstream.limits)),
            upstream,
            topology: watch::Sender::new(Arc::new(topology)),
            members: Mutex::default(),
            turn: AtomicUsize::new(0),
            started: Instant::now(),
        });
        deployment.add(&seeds);
        let weak = Arc::downgrade(&deployment);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(MAINTENANCE).await;
                let Some(deployment) = weak.upgrade() else { return };
                deployment.members().iter().for_each(|member| member.maintain());
            }
        });
        deployment
    }

    /// Sets the connection limits. Open connections beyond them are closed when their command ends.
    pub fn set_limits(&self, limits: Limits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
        for member in self.members() {
            // The server itself may allow fewer, so the limit only falls here. It rises after the server was asked.
            member.budget.set_limit(member.budget.limit().min(limits.server));
            member.each(|lane, pool| pool.set_limits(limits.of(lane)));
        }
    }

    /// Returns the current topology.
    pub fn topology(&self) -> Arc<Topology> {
        Arc::clone(&self.topology.borrow())
    }

    /// Subscribes to changes of the topology.
    pub fn changes(&self) -> watch::Receiver<Arc<Topology>> {
        self.topology.subscribe()
    }

    /// Returns the monitored servers.
    pub fn members(&self) -> Vec<Arc<Member>> {
        self.locked().values().map(|(member, _)| Arc::clone(member)).collect()
    }

    /// Returns the server with an address.
    pub fn member(&self, address: &Address) -> Option<Arc<Member>> {
        self.locked().get(address).map(|(member, _)| Arc::clone(member))
    }

    fn locked(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Selects a server, and waits if none is suitable. `avoid` is selected only if it is the only suitable server.
    pub async fn select(
        &self,
        preference: &ReadPreference,
        avoid: Option<&Address>,
    ) -> Result<Arc<Member>, NoServer> {
        let waited = self.upstream.selection;
        let deadline = Instant::now() + waited;
        let mut changes = self.topology.subscribe();
        loop {
            let topology = Arc::clone(&changes.borrow_and_update());
            if let Some(member) = self.choose(&topology, preference, avoid) {
                return Ok(member);
            }
            self.members().iter().for_each(|member| member.wake.notify_one());
            if timeout_at(deadline, changes.changed()).await.is_err() {
                return Err(NoServer { waited, seen: describe(&topology) });
            }
        }
    }

    /// Selects one of the servers that are suitable now.
    pub fn choose(
        &self,
        topology: &Topology,
        preference: &ReadPreference,
        avoid: Option<&Address>,
    ) -> Option<Arc<Member>> {
        let all = suitable(topology, preference, self.upstream.heartbeat);
        let mut found = near(all.clone(), self.upstream.window);
        if let Some(avoid) = avoid
            && all.len() > 1
        {
            found = all.into_iter().filter(|server| server.address != *avoid).collect();
        }
        if let [only] = found[..] {
            return self.member(&only.address);
        }
        if found.is_empty() {
            return None;
        }
        // Take two servers in round-robin order, and of these the one with fewer commands in flight.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let pair = [turn % found.len(), (turn + 1) % found.len()];
        let pair = pair.into_iter().filter_map(|at| self.member(&found[at].address));
        pair.min_by_key(|member| member.in_flight.load(Ordering::Relaxed))
    }

    /// Updates the topology with the `hello` reply of a server, or with its failure.
    pub fn apply(self: &Arc<Self>, server: Server) {
        self.change(|topology| topology.updated(server));
    }

    /// Updates the topology with the routers that DNS lists now.
    pub fn renamed(self: &Arc<Self>, routers: &BTreeSet<Address>) {
        self.change(|topology| topology.with_routers(routers));
    }

    fn change(self: &Arc<Self>, change: impl FnOnce(&Topology) -> Topology) {
        let mut changed = (Vec::new(), Vec::new());
        self.topology.send_if_modified(|topology| {
            let next = change(topology);
            let (added, removed) = next.servers_since(topology);
            changed =
                (added.into_iter().cloned().collect(), removed.into_iter().cloned().collect());
            let differs = next != **topology;
            *topology = Arc::new(next);
            differs
        });
        self.add(&changed.0);
        self.remove(&changed.1);
    }

    /// Marks a server as unknown after a failure or a change of its role. It gets no commands until its next `hello`.
    pub fn failed(
        self: &Arc<Self>,
        member: &Member,
        error: &str,
        version: Option<TopologyVersion>,
    ) {
        let known = self.topology().servers.get(&member.address).and_then(|s| s.topology_version);
        if let (Some(known), Some(version)) = (known, version)
            && known.covers(version)
        {
            // The server has sent a newer `hello` reply since.
            return;
        }
        tracing::warn!(server = %member.address, error, "server is not usable");
        self.apply(Server::failed(member.address.clone(), error.to_owned(), version));
        member.each(|_, pool| pool.clear());
        member.wake.notify_one();
    }

    fn add(self: &Arc<Self>, addresses: &[Address]) {
        for address in addresses {
            let opener = self.upstream.opener.clone();
            let member = Member::new(address.clone(), opener, Arc::clone(&self.limits));
            let mut tasks =
                monitor::start(Arc::downgrade(self), &member, &self.upstream, self.started);
            tasks.push(tokio::spawn(Arc::clone(&member).share()));
            self.locked().insert(address.clone(), (member, tasks));
        }
    }

    fn remove(&self, addresses: &[Address]) {
        for address in addresses {
            let removed = self.locked().remove(address);
            if let Some((member, tasks)) = removed {
                member.each(|_, pool| pool.close());
                tasks.iter().for_each(JoinHandle::abort);
            }
        }
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        for (member, tasks) in self.locked().values() {
            member.each(|_, pool| pool.close());
            tasks.iter().for_each(JoinHandle::abort);
        }
    }
}

/// Lists the servers with their kind or error, for error messages.
fn describe(topology: &Topology) -> String {
    let one = |server: &Arc<Server>| match &server.error {
        Some(error) => format!("{} {error}", server.address),
        None => format!("{} {:?}", server.address, server.kind),
    };
    topology.servers.values().map(one).collect::<Vec<_>>().join(", ")
}
