//! A pool of connections to one server as one user. It reuses the most recently used connection, so
//! that the others become idle and are closed. Commands wait in a queue that serves clients in
//! turn.
//!
//! The pool is generic over the connection type, so that tests need neither servers nor real time.

use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

/// Opens and checks the connections of a pool.
pub trait Manage: Send + Sync + 'static {
    /// The type of the connections.
    type Connection: Send + 'static;
    /// Why a connection could not be opened.
    type Error: Send + std::fmt::Display + 'static;

    /// Opens a connection.
    fn open(&self) -> impl Future<Output = Result<Self::Connection, Self::Error>> + Send;

    /// Whether a connection that was idle for a long time can still be used.
    fn is_usable(&self, connection: &Self::Connection) -> bool;

    /// Reserves one more connection for a pool with `open` connections. Returns `false` if the limit is reached; call
    /// [`Pool::grow_again`] when that changes.
    fn reserve(&self, _open: usize) -> bool {
        true
    }

    /// Releases the reservation of a connection that was closed or could not be opened.
    fn release(&self) {}

    /// Called when a command has to wait because [`Self::reserve`] refused another connection.
    fn starve(&self) {}

    /// Whether other pools wait for a connection, so that idle connections should be closed.
    fn is_pressed(&self) -> bool {
        false
    }

    /// Whether a waiting pool has at least two connections fewer. A connection is then closed even
    /// if commands wait in this pool.
    fn is_unfair(&self, _open: usize) -> bool {
        false
    }
}

/// The limits of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// The maximum number of connections.
    pub max: usize,
    /// The minimum number of open connections.
    pub min: usize,
    /// The maximum number of connections that are opened at the same time.
    pub max_connecting: usize,
    /// The maximum number of waiting commands.
    pub max_waiting: usize,
    /// Maximum time that a command waits for a connection.
    pub wait: Duration,
    /// Connections that were idle for this long are closed.
    pub max_idle: Duration,
    /// Connections older than this are closed.
    pub max_lifetime: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            max: 32,
            min: 0,
            max_connecting: 2,
            max_waiting: 640,
            wait: Duration::from_secs(5),
            max_idle: Duration::from_secs(300),
            max_lifetime: Duration::from_secs(1800),
        }
    }
}

/// The use of a connection. Error messages list it when all connections are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A `getMore` command.
    Cursor,
    /// A command in a transaction.
    Transaction,
    /// Any other command.
    Other,
}

/// Statistics of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// Open connections, idle or in use.
    pub open: usize,
    /// Connections in use.
    pub in_use: usize,
    /// Connections in use for `getMore`.
    pub cursors: usize,
    /// Connections in use for transactions.
    pub transactions: usize,
    /// Connections that are being opened.
    pub connecting: usize,
    /// Commands that wait for a connection.
    pub waiting: usize,
    /// Connections opened since the pool was created.
    pub opened: u64,
    /// The number of calls of [`Pool::clear`].
    pub generation: u64,
}

/// Why a pool did not provide a connection.
#[derive(Debug, thiserror::Error)]
pub enum Denied<E: std::fmt::Display> {
    /// No connection became free in time.
    #[error("no connection became free within {} ms ({} in use: cursors {}, transactions {}, other {})", waited.as_millis(), state.in_use, state.cursors, state.transactions, state.in_use - state.cursors - state.transactions)]
    Timeout {
        /// The time that the command waited.
        waited: Duration,
        /// The statistics of the pool.
        state: PoolState,
    },
    /// The queue is full.
    #[error("{} commands already wait for a connection ({} in use: cursors {}, transactions {}, other {})", state.waiting, state.in_use, state.cursors, state.transactions, state.in_use - state.cursors - state.transactions)]
    Full {
        /// The statistics of the pool.
        state: PoolState,
    },
    /// A connection could not be opened.
    #[error("{0}")]
    Open(E),
    /// The pool was closed: its server was removed, or its user is no longer active.
    #[error("the connection pool was closed")]
    Closed,
}

/// A connection that was idle for longer than this is checked before use.
const LOOK_AFTER: Duration = Duration::from_secs(30);

struct Slot<C> {
    connection: C,
    opened: Instant,
    used: Instant,
    generation: u64,
}

type Answer<M> = Result<Lease<M>, <M as Manage>::Error>;

struct State<M: Manage> {
    limits: PoolLimits,
    idle: Vec<Slot<M::Connection>>,
    figures: PoolState,
    queue: Queue<oneshot::Sender<Answer<M>>>,
    /// When a command last asked for a connection.
    taken: Instant,
    closed: bool,
}

struct Shared<M: Manage> {
    manage: M,
    state: Mutex<State<M>>,
}

/// A pool of connections. Clones share the same pool.
pub struct Pool<M: Manage> {
    shared: Arc<Shared<M>>,
}

impl<M: Manage> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<M: Manage> Pool<M> {
    /// Creates an empty pool.
    pub fn new(manage: M, limits: PoolLimits) -> Self {
        let state = State {
            limits,
            idle: Vec::new(),
            figures: PoolState::default(),
            queue: Queue::default(),
            taken: Instant::now(),
            closed: false,
        };
        Self { shared: Arc::new(Shared { manage, state: Mutex::new(state) }) }
    }

    /// Takes a connection, or waits for one. The queue serves clients, identified by `client`, in turn.
    pub async fn take(&self, client: u64, purpose: Purpose) -> Result<Lease<M>, Denied<M::Error>> {
        let (receiver, waited, starves) = {
            let mut dropped = Vec::new();
            let mut state = self.lock();
            if state.closed {
                return Err(Denied::Closed);
            }
            state.taken = Instant::now();
            while let Some(slot) = state.idle.pop() {
                if self.is_good(&state.limits, &slot) {
                    return Ok(self.lease(&mut state, slot, purpose));
                }
                self.forget(&mut state, 1);
                dropped.push(slot);
            }
            if state.queue.len >= state.limits.max_waiting {
                state.queue.sweep();
            }
            if state.queue.len >= state.limits.max_waiting {
                return Err(Denied::Full { state: state.seen() });
            }
            let (sender, receiver) = oneshot::channel();
            state.queue.push(client, sender);
            let starves = !self.grow(&mut state);
            (receiver, state.limits.wait, starves)
        };
        if starves {
            self.shared.manage.starve();
        }
        match timeout(waited, receiver).await {
            Ok(Ok(Ok(mut lease))) => {
                lease.set_purpose(purpose);
                Ok(lease)
            }
            Ok(Ok(Err(error))) => Err(Denied::Open(error)),
            Ok(Err(_)) => Err(Denied::Closed),
            Err(_) => Err(Denied::Timeout { waited, state: self.state() }),
        }
    }

    /// Returns the statistics.
    pub fn state(&self) -> PoolState {
        self.lock().seen()
    }

    /// Closes all connections: idle ones now, the others when they are returned.
    pub fn clear(&self) {
        let _dropped = {
            let mut state = self.lock();
            state.figures.generation += 1;
            self.empty(&mut state)
        };
    }

    /// Sets the limits. Connections beyond them are closed when they are returned.
    pub fn set_limits(&self, limits: PoolLimits) {
        let mut state = self.lock();
        state.limits = limits;
        self.grow(&mut state);
    }

    /// Closes the connection that has been idle longest.
    pub fn close_idle(&self) {
        let _dropped = {
            let mut state = self.lock();
            if state.idle.is_empty() {
                return;
            }
            self.forget(&mut state, 1);
            state.idle.remove(0)
        };
    }

    /// Closes the pool if it has no connections and was not used for the maximum idle time. Returns whether it did.
    pub fn retire(&self) -> bool {
        let mut state = self.lock();
        state.queue.sweep();
        let is_empty = state.figures.open + state.figures.connecting + state.queue.len == 0;
        let is_unused = is_empty && state.taken.elapsed() >= state.limits.max_idle;
        state.closed |= is_unused;
        is_unused
    }

    /// Returns the number of idle connections.
    pub fn idle(&self) -> usize {
        self.lock().idle.len()
    }

    /// Opens connections for waiting commands, as far as the limits allow.
    pub fn grow_again(&self) {
        self.grow(&mut self.lock());
    }

    /// Closes the pool and its idle connections. Waiting and later commands get [`Denied::Closed`].
    pub fn close(&self) {
        let _dropped = {
            let mut state = self.lock();
            state.closed = true;
            (self.empty(&mut state), std::mem::take(&mut state.queue))
        };
    }

    /// Closes connections that are too old or were idle too long, and opens one if there are fewer than the minimum.
    pub fn maintain(&self) {
        let _dropped = {
            let mut state = self.lock();
            let limits = state.limits;
            let (keep, drop): (Vec<_>, Vec<_>) = std::mem::take(&mut state.idle)
                .into_iter()
                .partition(|slot| is_young(&limits, slot) && slot.used.elapsed() < limits.max_idle);
            self.forget(&mut state, drop.len());
            state.idle = keep;
            let wanted = limits.min.min(limits.max);
            if !state.closed
                && state.figures.open + state.figures.connecting < wanted
                && self.shared.manage.reserve(state.figures.open)
            {
                self.open_one(&mut state);
            }
            drop
        };
    }

    fn lock(&self) -> MutexGuard<'_, State<M>> {
        // No code panics while it holds the lock. If it did, the state would still be usable.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all idle connections. The caller drops them after releasing the lock.
    fn empty(&self, state: &mut State<M>) -> Vec<Slot<M::Connection>> {
        self.forget(state, state.idle.len());
        std::mem::take(&mut state.idle)
    }

    /// Counts connections as closed.
    fn forget(&self, state: &mut State<M>, count: usize) {
        state.figures.open -= count;
        (0..count).for_each(|_| self.shared.manage.release());
    }

    fn is_good(&self, limits: &PoolLimits, slot: &Slot<M::Connection>) -> bool {
        let idle = slot.used.elapsed();
        is_young(limits, slot)
            && idle < limits.max_idle
            && (idle < LOOK_AFTER || self.shared.manage.is_usable(&slot.connection))
    }

    fn lease(&self, state: &mut State<M>, slot: Slot<M::Connection>, purpose: Purpose) -> Lease<M> {
        state.figures.in_use += 1;
        state.count(purpose, 1);
        Lease { slot: Some(slot), pool: self.clone(), purpose, is_used: false }
    }

    /// Opens connections for waiting commands, up to the limits. Returns `false` if [`Manage::reserve`] refused one.
    fn grow(&self, state: &mut State<M>) -> bool {
        while !state.closed
            && state.figures.connecting < state.queue.len
            && state.figures.connecting < state.limits.max_connecting
            && state.figures.open + state.figures.connecting < state.limits.max
        {
            if !self.shared.manage.reserve(state.figures.open) {
                return false;
            }
            self.open_one(state);
        }
        true
    }

    fn open_one(&self, state: &mut State<M>) {
        state.figures.connecting += 1;
        let pool = self.clone();
        let generation = state.figures.generation;
        tokio::spawn(async move {
            let opened = pool.shared.manage.open().await;
            pool.arrived(opened, generation);
        });
    }

    fn arrived(&self, opened: Result<M::Connection, M::Error>, generation: u64) {
        let _dropped = {
            let mut state = self.lock();
            state.figures.connecting -= 1;
            let dropped = match opened {
                Ok(connection) => {
                    state.figures.open += 1;
                    state.figures.opened += 1;
                    let now = Instant::now();
                    self.hand(&mut state, Slot { connection, opened: now, used: now, generation })
                }
                Err(error) => {
                    self.shared.manage.release();
                    // Only one waiting command gets the error; `grow` tries again for the others.
                    if let Some(first) = state.queue.pop() {
                        let _ = first.send(Err(error));
                    }
                    None
                }
            };
            self.grow(&mut state);
            dropped
        };
    }

    /// Hands a connection to the next waiting command, or keeps it as idle. Returns it if it must be closed; the caller
    /// drops it after releasing the lock.
    fn hand(
        &self,
        state: &mut State<M>,
        mut slot: Slot<M::Connection>,
    ) -> Option<Slot<M::Connection>> {
        if state.closed
            || slot.generation != state.figures.generation
            || state.figures.open > state.limits.max
            || !is_young(&state.limits, &slot)
            || self.shared.manage.is_unfair(state.figures.open)
        {
            self.forget(state, 1);
            return Some(slot);
        }
        while let Some(next) = state.queue.pop() {
            let lease = self.lease(state, slot, Purpose::Other);
            match next.send(Ok(lease)) {
                Ok(()) => return None,
                // The command stopped waiting; try the next one.
                Err(Ok(mut lease)) => {
                    state.figures.in_use -= 1;
                    match lease.slot.take() {
                        Some(back) => slot = back,
                        None => return None,
                    }
                }
                Err(Err(_)) => return None,
            }
        }
        if self.shared.manage.is_pressed() {
            self.forget(state, 1);
            return Some(slot);
        }
        state.idle.push(slot);
        None
    }

    fn give_back(&self, slot: Slot<M::Connection>, purpose: Purpose, is_good: bool) {
        let _dropped = {
            let mut state = self.lock();
            state.figures.in_use -= 1;
            state.count(purpose, -1);
            let dropped = if is_good {
                self.hand(&mut state, slot)
            } else {
                self.forget(&mut state, 1);
                Some(slot)
            };
            self.grow(&mut state);
            dropped
        };
    }
}

fn is_young<C>(limits: &PoolLimits, slot: &Slot<C>) -> bool {
    slot.opened.elapsed() < limits.max_lifetime
}

impl<M: Manage> State<M> {
    fn seen(&self) -> PoolState {
        PoolState { waiting: self.queue.len, ..self.figures }
    }

    fn count(&mut self, purpose: Purpose, by: isize) {
        let figure = match purpose {
            Purpose::Cursor => &mut self.figures.cursors,
            Purpose::Transaction => &mut self.figures.transactions,
            Purpose::Other => return,
        };
        *figure = figure.saturating_add_signed(by);
    }
}

/// A connection in use. If it is dropped between `begin` and `end`, it is closed, because a reply may still arrive.
pub struct Lease<M: Manage> {
    slot: Option<Slot<M::Connection>>,
    pool: Pool<M>,
    purpose: Purpose,
    is_used: bool,
}

impl<M: Manage> Lease<M> {
    /// Whether [`Pool::clear`] was called since this connection was opened.
    pub fn is_outdated(&self) -> bool {
        let generation = self.pool.lock().figures.generation;
        self.slot.as_ref().is_none_or(|slot| slot.generation != generation)
    }

    /// Returns the connection and marks it as used until [`Self::end`].
    pub fn begin(&mut self) -> Option<&mut M::Connection> {
        self.is_used = true;
        self.slot.as_mut().map(|slot| &mut slot.connection)
    }

    /// Marks the connection as reusable: the reply is complete.
    pub fn end(&mut self) {
        self.is_used = false;
        if let Some(slot) = &mut self.slot {
            slot.used = Instant::now();
        }
    }

    fn set_purpose(&mut self, purpose: Purpose) {
        let mut state = self.pool.lock();
        state.count(self.purpose, -1);
        state.count(purpose, 1);
        drop(state);
        self.purpose = purpose;
    }
}

impl<M: Manage> Drop for Lease<M> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.pool.give_back(slot, self.purpose, !self.is_used);
        }
    }
}

/// Waiting commands. `pop` serves the clients in turn.
struct Queue<T> {
    order: VecDeque<u64>,
    by_client: HashMap<u64, VecDeque<T>>,
    len: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { order: VecDeque::new(), by_client: HashMap::new(), len: 0 }
    }
}

impl<T> Queue<T> {
    fn push(&mut self, client: u64, item: T) {
        let own = self.by_client.entry(client).or_default();
        if own.is_empty() {
            self.order.push_back(client);
        }
        own.push_back(item);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<T> {
        let client = self.order.pop_front()?;
        let own = self.by_client.get_mut(&client)?;
        let item = own.pop_front();
        if own.is_empty() {
            self.by_client.remove(&client);
        } else {
            self.order.push_back(client);
        }
        self.len -= usize::from(item.is_some());
        item
    }
}

impl<R> Queue<oneshot::Sender<R>> {
    /// Removes commands that no longer wait.
    fn sweep(&mut self) {
        self.by_client.retain(|_, own| {
            own.retain(|sender| !sender.is_closed());
            !own.is_empty()
        });
        self.order.retain(|client| self.by_client.contains_key(client));
        self.len = self.by_client.values().map(VecDeque::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Opens numbers as connections. Each takes one second of paused time; number 0 counts as broken.
    #[derive(Default)]
    struct Numbers {
        next: AtomicUsize,
        fails: bool,
    }

    impl Manage for Numbers {
        type Connection = usize;
        type Error = String;

        async fn open(&self) -> Result<usize, String> {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if self.fails {
                return Err("refused".to_owned());
            }
            Ok(self.next.fetch_add(1, Ordering::Relaxed))
        }

        fn is_usable(&self, connection: &usize) -> bool {
            *connection != 0
        }
    }

    fn pool(limits: PoolLimits) -> Pool<Numbers> {
        Pool::new(Numbers::default(), limits)
    }

    fn number(lease: &mut Lease<Numbers>) -> usize {
        let number = *lease.begin().unwrap();
        lease.end();
        number
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_used_is_used_next_and_no_more_are_opened_than_needed() {
        let pool = pool(PoolLimits::default());
        let mut a = pool.take(1, Purpose::Other).await.unwrap();
        let mut b = pool.take(1, Purpose::Cursor).await.unwrap();
        assert_eq!((number(&mut a), number(&mut b)), (0, 1));
        assert_eq!((pool.state().in_use, pool.state().cursors), (2, 1));
        drop(a);
        drop(b);
        assert_eq!(number(&mut pool.take(1, Purpose::Other).await.unwrap()), 1);
        let state = pool.state();
        assert_eq!((state.open, state.in_use, state.cursors, state.opened), (2, 0, 0, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_too_long_is_told_who_holds_them() {
        let pool = pool(PoolLimits { max: 1, ..PoolLimits::default() });
        let _held = pool.take(1, Purpose::Transaction).await.unwrap();
        let Err(denied) = pool.take(2, Purpose::Other).await else {
            panic!("the pool has one connection")
        };
        assert_eq!(
            denied.to_string(),
            "no connection became free within 5000 ms (1 in use: cursors 0, transactions 1, other 0)"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_goes_to_who_waits_and_clients_take_turns() {
        let pool = pool(PoolLimits { max: 1, ..PoolLimits::default() });
        let held = pool.take(9, Purpose::Other).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for client in [1, 1, 1, 2] {
            let (pool, order) = (pool.clone(), Arc::clone(&order));
            waiting.push(tokio::spawn(async move {
                let lease = pool.take(client, Purpose::Other).await.unwrap();
                order.lock().unwrap().push(client);
                drop(lease);
            }));
            tokio::task::yield_now().await;
        }
        drop(held);
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [1, 2, 1, 1]);
        assert_eq!(pool.state().open, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_use_that_is_broken_off_closes_the_connection() {
        let pool = pool(PoolLimits::default());
        let mut lease = pool.take(1, Purpose::Other).await.unwrap();
        lease.begin();
        drop(lease);
        assert_eq!(pool.state().open, 0);
        assert_eq!(number(&mut pool.take(1, Purpose::Other).await.unwrap()), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn all_are_given_up_when_the_server_changes() {
        let pool = pool(PoolLimits::default());
        let mut held = pool.take(1, Purpose::Other).await.unwrap();
        drop(pool.take(1, Purpose::Other).await.unwrap());
        pool.clear();
        assert_eq!((pool.state().open, pool.state().generation), (1, 1));
        number(&mut held);
        drop(held);
        assert_eq!(pool.state().open, 0, "the connection is of an older generation");
    }

    #[tokio::test(start_paused = true)]
    async fn old_idle_and_broken_connections_are_not_used() {
        let pool = pool(PoolLimits::default());
        drop(pool.take(1, Purpose::Other).await.unwrap());
        tokio::time::advance(LOOK_AFTER).await;
        assert_eq!(number(&mut pool.take(1, Purpose::Other).await.unwrap()), 1, "0 is broken");
        tokio::time::advance(Duration::from_secs(301)).await;
        assert_eq!(
            number(&mut pool.take(1, Purpose::Other).await.unwrap()),
            2,
            "1 was idle for too long"
        );
        assert!(!pool.retire());
        tokio::time::advance(Duration::from_secs(301)).await;
        assert!(!pool.retire(), "it has a connection");
        pool.maintain();
        assert_eq!(pool.state().open, 0);
        assert!(pool.retire());
        assert!(matches!(pool.take(1, Purpose::Other).await, Err(Denied::Closed)));
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_connect_is_told_and_who_is_too_many_too() {
        let refusing =
            Pool::new(Numbers { fails: true, ..Numbers::default() }, PoolLimits::default());
        let Err(denied) = refusing.take(1, Purpose::Other).await else {
            panic!("the server refuses")
        };
        assert_eq!(denied.to_string(), "refused");
        assert_eq!(refusing.state(), PoolState::default());
        let small = pool(PoolLimits { max: 1, max_waiting: 1, ..PoolLimits::default() });
        let _held = small.take(1, Purpose::Other).await.unwrap();
        let waiting = {
            let small = small.clone();
            tokio::spawn(async move { small.take(2, Purpose::Other).await.is_ok() })
        };
        tokio::task::yield_now().await;
        let Err(denied) = small.take(3, Purpose::Other).await else { panic!("the queue is full") };
        assert!(matches!(denied, Denied::Full { .. }), "{denied}");
        waiting.abort();
        let _ = waiting.await;
        let Err(denied) = small.take(3, Purpose::Other).await else {
            panic!("the connection is in use")
        };
        assert!(
            matches!(denied, Denied::Timeout { .. }),
            "commands that gave up do not count: {denied}"
        );
        small.close();
        let Err(denied) = small.take(4, Purpose::Other).await else { panic!("it is closed") };
        assert!(matches!(denied, Denied::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_minimum_is_kept_open() {
        let pool = pool(PoolLimits { min: 2, ..PoolLimits::default() });
        for _ in 0..3 {
            pool.maintain();
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!((pool.state().open, pool.state().in_use), (2, 0));
    }
}
