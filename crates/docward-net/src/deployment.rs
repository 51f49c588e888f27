//! A deployment that is watched: its servers, their pools, and the choice of one for a command.

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

/// Where servers are and how they are reached.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Addresses to begin with.
    pub seeds: Vec<Address>,
    /// What is known of the deployment before anybody was asked.
    pub kind: TopologyKind,
    /// The replica set that is expected.
    pub set_name: Option<String>,
    /// How connections are opened.
    pub opener: Opener,
    /// To begin with.
    pub limits: Limits,
    /// How often servers are asked.
    pub heartbeat: Duration,
    /// How long a suitable server is waited for.
    pub selection: Duration,
    /// How much farther than the nearest a server may be.
    pub window: Duration,
}

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of each server and user.
    pub pool: PoolLimits,
    /// Connections beside these on which commands wait for news: change streams and the like.
    pub awaiting: usize,
    /// To one server, whoever they are for.
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

/// Who connections are opened for.
#[derive(Clone, Debug)]
pub struct Login {
    /// `database.user`; empty for nobody.
    pub name: Arc<str>,
    /// How they are logged in.
    pub credential: Credential,
}

impl From<Credential> for Login {
    fn from(credential: Credential) -> Self {
        Self { name: credential.name().into(), credential }
    }
}

/// Opens connections of one server as one user.
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

/// What connections of a pool are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Commands that are answered as soon as they are done.
    Ordinary,
    /// Commands that wait for news.
    Awaiting,
}

/// Figures of a pool.
#[derive(Clone, Debug)]
pub struct PoolReport {
    /// Whose.
    pub user: Arc<str>,
    /// For what.
    pub lane: Lane,
    /// How many at most.
    pub max: usize,
    /// The figures.
    pub state: PoolState,
}

/// A connection in use.
pub type Leased = Lease<AtServer>;

type Pools = BTreeMap<Arc<str>, Pool<AtServer>>;

/// A server and its pools, one for each user.
pub struct Member {
    /// Where it is.
    pub address: Address,
    /// Places for its connections.
    pub budget: Arc<Budget>,
    opener: Opener,
    limits: Arc<RwLock<Limits>>,
    ordinary: Mutex<Pools>,
    awaiting: Mutex<Pools>,
    /// Commands that are under way.
    pub in_flight: AtomicUsize,
    pub(crate) wake: Notify,
    /// Told when the server does not answer any more: nobody waits for it any longer.
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

    /// The pool of a user.
    fn pool(&self, login: &Login, lane: Lane) -> Pool<AtServer> {
        let mut pools = self.pools(lane);
        if let Some(pool) = pools.get(&login.name) {
            return pool.clone();
        }
        let at = AtServer {
            opener: self.opener.clone(),
            address: self.address.clone(),
            credential: login.credential.clone(),
            budget: Arc::clone(&self.budget),
        };
        let pool = Pool::new(at, read(&self.limits).of(lane));
        pools.insert(Arc::clone(&login.name), pool.clone());
        pool
    }

    /// Forgets the pools of a user: the next are opened with what is known of the user then.
    pub fn forget(&self, name: &str) {
        for lane in [Lane::Ordinary, Lane::Awaiting] {
            let pool = self.pools(lane).remove(name);
            if let Some(pool) = pool {
                pool.close();
            }
        }
    }

    /// Figures of all pools.
    pub fn pool_reports(&self) -> Vec<PoolReport> {
        let limits = *read(&self.limits);
        let of = |lane: Lane| {
            let max = limits.of(lane).max;
            let pools = self.pools(lane);
            let reports = pools.iter().map(|(user, pool)| PoolReport {
                user: Arc::clone(user),
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

    /// Takes a connection as a user, in turn with other clients.
    pub async fn take(
        &self,
        login: &Login,
        lane: Lane,
        client: u64,
        purpose: Purpose,
    ) -> Result<Leased, Denied<Arc<OpenError>>> {
        self.pool(login, lane).take(client, purpose).await
    }

    /// Shares the places for connections out: who waits gets that of a connection that nobody uses.
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
            // Who waits longest is not known across pools: whoever has least comes first.
            pools.sort_by_key(|pool| pool.state().open);
            pools.iter().for_each(Pool::grow_again);
        }
    }
}

fn read(limits: &RwLock<Limits>) -> std::sync::RwLockReadGuard<'_, Limits> {
    limits.read().unwrap_or_else(PoisonError::into_inner)
}

/// Why there is no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no suitable server within {} s: {seen}", .waited.as_secs())]
pub struct NoServer {
    /// How long was waited.
    pub waited: Duration,
    /// What is known of the servers.
    pub seen: String,
}

/// Servers, each with the tasks that watch it.
type Members = BTreeMap<Address, (Arc<Member>, Vec<JoinHandle<()>>)>;

/// A deployment that is watched.
pub struct Deployment {
    /// How it is reached.
    pub upstream: Upstream,
    limits: Arc<RwLock<Limits>>,
    topology: watch::Sender<Arc<Topology>>,
    members: Mutex<Members>,
    turn: AtomicUsize,
}

impl std::fmt::Debug for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deployment")
    }
}

/// Pools are looked after this often.
const MAINTENANCE: Duration = Duration::from_secs(10);

impl Deployment {
    /// Begins to watch.
    pub fn start(upstream: Upstream) -> Arc<Self> {
        let topology = Topology::new(&upstream.seeds, upstream.kind, upstream.set_name.clone());
        let seeds: Vec<Address> = topology.servers.keys().cloned().collect();
        let deployment = Arc::new(Self {
            limits: Arc::new(RwLock::new(upstream.limits)),
            upstream,
            topology: watch::Sender::new(Arc::new(topology)),
            members: Mutex::default(),
            turn: AtomicUsize::new(0),
        });
        deployment.add(&seeds);
        let weak = Arc::downgrade(&deployment);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(MAINTENANCE).await;
                let Some(deployment) = weak.upgrade() else { return };
                deployment
                    .members()
                    .iter()
                    .for_each(|member| member.each(|_, pool| pool.maintain()));
            }
        });
        deployment
    }

    /// How many connections there may be.
    pub fn limits(&self) -> Limits {
        *read(&self.limits)
    }

    /// Sets how many connections there may be, for what is open too.
    pub fn set_limits(&self, limits: Limits) {
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) = limits;
        for member in self.members() {
            // The server itself may allow fewer; only whoever asks it raises the limit.
            member.budget.set_limit(member.budget.limit().min(limits.server));
            member.each(|lane, pool| pool.set_limits(limits.of(lane)));
        }
    }

    /// What is known now.
    pub fn topology(&self) -> Arc<Topology> {
        Arc::clone(&self.topology.borrow())
    }

    /// Tells of changes.
    pub fn changes(&self) -> watch::Receiver<Arc<Topology>> {
        self.topology.subscribe()
    }

    /// The servers, as far as they are watched.
    pub fn members(&self) -> Vec<Arc<Member>> {
        self.locked().values().map(|(member, _)| Arc::clone(member)).collect()
    }

    /// A server by its address.
    pub fn member(&self, address: &Address) -> Option<Arc<Member>> {
        self.locked().get(address).map(|(member, _)| Arc::clone(member))
    }

    fn locked(&self) -> MutexGuard<'_, Members> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses a server, and waits for one where there is none. `avoid` is not chosen while there is another.
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

    /// Chooses a server among those that are suitable now.
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
        // Of two in turn the one that has less to do.
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let pair = [turn % found.len(), (turn + 1) % found.len()];
        let pair = pair.into_iter().filter_map(|at| self.member(&found[at].address));
        pair.min_by_key(|member| member.in_flight.load(Ordering::Relaxed))
    }

    /// Takes what a server said, or that it failed.
    pub fn apply(self: &Arc<Self>, server: Server) {
        let mut changed = (Vec::new(), Vec::new());
        self.topology.send_if_modified(|topology| {
            let next = topology.updated(server);
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

    /// Takes the addresses that DNS names now.
    pub fn renamed(self: &Arc<Self>, routers: &BTreeSet<Address>) {
        let mut changed = (Vec::new(), Vec::new());
        self.topology.send_if_modified(|topology| {
            let next = topology.with_routers(routers);
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

    /// A server failed, or is not what it was: nothing goes there until it says what it is.
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
            // It has said something newer since.
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
            let mut tasks = monitor::start(Arc::downgrade(self), &member, &self.upstream);
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

/// The servers and what is known of them, for messages.
fn describe(topology: &Topology) -> String {
    let one = |server: &Arc<Server>| match &server.error {
        Some(error) => format!("{} {error}", server.address),
        None => format!("{} {:?}", server.address, server.kind),
    };
    topology.servers.values().map(one).collect::<Vec<_>>().join(", ")
}
