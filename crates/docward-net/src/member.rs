//! A server of a deployment and its connection pools.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, atomic::AtomicUsize},
    time::Duration,
};

use tokio::sync::Notify;

use crate::{
    budget::Budget,
    connection::{Connection, Credential, OpenError, Opener},
    pool::{Denied, Lease, Manage, Pool, PoolLimits, PoolState, Purpose},
    topology::Address,
};

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
    pub(crate) fn of(&self, lane: Lane) -> PoolLimits {
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
    pub(crate) fn new(address: Address, opener: Opener, limits: Arc<RwLock<Limits>>) -> Arc<Self> {
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

    pub(crate) fn each(&self, action: impl Fn(Lane, &Pool<AtServer>)) {
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
    pub(crate) fn maintain(&self) {
        self.each(|_, pool| pool.maintain());
        for lane in [Lane::Ordinary, Lane::Awaiting] {
            self.pools(lane).retain(|_, pool| !pool.retire());
        }
    }

    /// Distributes the budget over the pools. When it is used up, closes a connection of the pool with the most idle ones.
    pub(crate) async fn share(self: Arc<Self>) {
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
