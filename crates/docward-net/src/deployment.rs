//! A deployment that is watched: its servers, their pools, and the choice of one for a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
    /// Of each server and user.
    pub limits: PoolLimits,
    /// Connections beside these on which commands wait for news: change streams and the like.
    pub max_awaiting: usize,
    /// How often servers are asked.
    pub heartbeat: Duration,
    /// How long a suitable server is waited for.
    pub selection: Duration,
    /// How much farther than the nearest a server may be.
    pub window: Duration,
}

/// Opens connections of one server as one user.
#[derive(Debug)]
pub struct AtServer {
    opener: Opener,
    address: Address,
    login: Credential,
}

impl Manage for AtServer {
    type Connection = Connection;
    type Error = Arc<OpenError>;

    async fn open(&self) -> Result<Connection, Arc<OpenError>> {
        self.opener.open(&self.address, &self.login).await.map_err(Arc::new)
    }

    fn is_usable(&self, connection: &Connection) -> bool {
        !connection.is_stale()
    }
}

/// What the name of a pool ends with whose commands wait for news.
const AWAITING: &str = " (awaiting)";

/// A connection in use.
pub type Leased = Lease<AtServer>;

/// A server and its pools, one for each user.
pub struct Member {
    /// Where it is.
    pub address: Address,
    pools: Mutex<BTreeMap<String, Pool<AtServer>>>,
    /// Commands that are under way.
    pub in_flight: AtomicUsize,
    pub(crate) wake: Notify,
    pub(crate) round_trip: Mutex<Option<Duration>>,
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Member({})", self.address)
    }
}

impl Member {
    fn new(address: Address) -> Arc<Self> {
        Arc::new(Self {
            address,
            pools: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            wake: Notify::new(),
            round_trip: Mutex::default(),
        })
    }

    fn pools(&self) -> MutexGuard<'_, BTreeMap<String, Pool<AtServer>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool of a user.
    fn pool(
        &self,
        upstream: &Upstream,
        login: &Credential,
        limits: PoolLimits,
        lane: &str,
    ) -> Pool<AtServer> {
        let name = format!("{}{lane}", login.name());
        let mut pools = self.pools();
        let new = || {
            let at = AtServer {
                opener: upstream.opener.clone(),
                address: self.address.clone(),
                login: login.clone(),
            };
            Pool::new(at, limits)
        };
        pools.entry(name).or_insert_with(new).clone()
    }

    /// Forgets the pool of a user: the next one is opened with what is known of the user then.
    pub fn forget(&self, login: &Credential) {
        for lane in ["", AWAITING] {
            let pool = self.pools().remove(&format!("{}{lane}", login.name()));
            if let Some(pool) = pool {
                pool.close();
            }
        }
    }

    /// Users and figures of their pools.
    pub fn states(&self) -> Vec<(String, PoolState)> {
        self.pools().iter().map(|(user, pool)| (user.clone(), pool.state())).collect()
    }

    fn each(&self, action: impl Fn(&Pool<AtServer>)) {
        let pools: Vec<_> = self.pools().values().cloned().collect();
        pools.iter().for_each(action);
    }

    /// Takes a connection as a user.
    pub async fn take(
        &self,
        upstream: &Upstream,
        login: &Credential,
        client: u64,
        purpose: Purpose,
    ) -> Result<Leased, Denied<Arc<OpenError>>> {
        self.pool(upstream, login, upstream.limits, "").take(client, purpose).await
    }

    /// Takes a connection for a command that waits for news, as a user: these have connections of their own.
    pub async fn take_to_wait(
        &self,
        upstream: &Upstream,
        login: &Credential,
        client: u64,
    ) -> Result<Leased, Denied<Arc<OpenError>>> {
        let limits = PoolLimits { max: upstream.max_awaiting, min: 0, ..upstream.limits };
        self.pool(upstream, login, limits, AWAITING).take(client, Purpose::Cursor).await
    }
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
                deployment.members().iter().for_each(|member| member.each(Pool::maintain));
            }
        });
        deployment
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
        member.each(Pool::clear);
        member.wake.notify_one();
    }

    fn add(self: &Arc<Self>, addresses: &[Address]) {
        for address in addresses {
            let member = Member::new(address.clone());
            let tasks = monitor::start(Arc::downgrade(self), &member, &self.upstream);
            self.locked().insert(address.clone(), (member, tasks));
        }
    }

    fn remove(&self, addresses: &[Address]) {
        for address in addresses {
            let removed = self.locked().remove(address);
            if let Some((member, tasks)) = removed {
                member.each(Pool::close);
                tasks.iter().for_each(JoinHandle::abort);
            }
        }
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        for (member, tasks) in self.locked().values() {
            member.each(Pool::close);
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
