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
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use crate::{
    connection::Opener,
    member::{Limits, Member},
    monitor::{self, Observer},
    select::{ReadPreference, near, suitable},
    topology::{Address, Server, ServerKind, Topology, TopologyKind, TopologyVersion},
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
    /// Maximum time to wait for a suitable server.
    pub selection: Duration,
    /// The additional time that the round trip to a server may take, compared with the nearest one
    /// (`localThresholdMS`).
    pub window: Duration,
}

/// Why no server was selected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no suitable server within {} s: {seen}", .waited.as_secs())]
pub struct NoServer {
    /// The time that the caller waited.
    pub waited: Duration,
    /// The known servers, each with its kind or error.
    pub seen: String,
}

/// Servers, each with its monitoring tasks.
type Members = BTreeMap<Address, (Arc<Member>, Vec<JoinHandle<()>>)>;

/// A monitored deployment.
pub struct Deployment {
    /// The settings for connecting to the deployment.
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
            // The server itself may allow fewer connections. The limit can therefore only decrease here; it increases
            // after the server was asked.
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
        self.mark_failed(member, error, version);
        member.wake.notify_one();
    }

    fn mark_failed(
        self: &Arc<Self>,
        member: &Member,
        error: &str,
        version: Option<TopologyVersion>,
    ) {
        let topology = self.topology();
        let before = topology.servers.get(&member.address).and_then(|s| s.error.as_deref());
        if before != Some(error) {
            tracing::warn!(server = %member.address, error, "server is not usable");
        }
        self.apply(Server::failed(member.address.clone(), error.to_owned(), version));
        member.each(|_, pool| pool.clear());
    }

    fn add(self: &Arc<Self>, addresses: &[Address]) {
        for address in addresses {
            let opener = self.upstream.opener.clone();
            let member = Member::new(address.clone(), opener, Arc::clone(&self.limits));
            let Upstream { opener, heartbeat, .. } = &self.upstream;
            let mut tasks =
                monitor::start(Arc::downgrade(self), &member, opener, *heartbeat, self.started);
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

impl Observer for Deployment {
    fn is_known(&self, address: &Address) -> bool {
        let topology = self.topology();
        topology.servers.get(address).is_some_and(|server| server.kind != ServerKind::Unknown)
    }

    fn answered(self: &Arc<Self>, server: Server) {
        self.apply(server);
    }

    fn failed(self: &Arc<Self>, member: &Member, error: &str) {
        self.mark_failed(member, error, None);
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
