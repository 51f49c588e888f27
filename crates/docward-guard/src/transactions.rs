//! The transactions of clients and the servers on which they run.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use docward_net::topology::Address;

use crate::{request::SessionId, table::Table};

#[derive(Clone, Debug)]
struct Transaction {
    number: i64,
    server: Address,
    /// The number of the client connection that used it last.
    client: u64,
    is_open: bool,
}

/// Transactions that were not used for this long are removed. Servers abort them after one minute, but drivers may
/// retry a commit later than that.
const FORGET_AFTER: Duration = Duration::from_secs(180);

/// A user and a session.
type Key = (Arc<str>, SessionId);

/// The transactions of all sessions.
#[derive(Debug, Default)]
struct Known {
    table: Table<Key, Transaction>,
    /// The open transactions by the client connection that used them last.
    by_client: HashMap<u64, BTreeSet<Key>>,
    open: usize,
}

impl Known {
    fn remove(&mut self, key: &Key) {
        self.close(key);
        self.table.remove(key);
    }

    /// Records that a transaction is no longer open.
    fn close(&mut self, key: &Key) {
        if let Some(transaction) = self.table.get_mut(key)
            && std::mem::replace(&mut transaction.is_open, false)
        {
            let client = transaction.client;
            self.note_closed(key, client);
        }
    }

    fn note_closed(&mut self, key: &Key, client: u64) {
        self.open -= 1;
        self.unassign(key, client);
    }

    fn unassign(&mut self, key: &Key, client: u64) {
        if let Some(keys) = self.by_client.get_mut(&client) {
            keys.remove(key);
            if keys.is_empty() {
                self.by_client.remove(&client);
            }
        }
    }

    /// Records which client connection used a transaction last.
    fn assign(&mut self, key: &Key, client: u64) {
        let Some(transaction) = self.table.get_mut(key) else { return };
        let before = std::mem::replace(&mut transaction.client, client);
        if transaction.is_open && before != client {
            self.unassign(key, before);
            self.by_client.entry(client).or_default().insert(key.clone());
        }
    }

    fn of_client<'k>(&'k self, client: u64, user: &'k str) -> impl Iterator<Item = &'k Key> {
        self.by_client.get(&client).into_iter().flatten().filter(move |(name, _)| &**name == user)
    }
}

/// The transactions of all clients of this guard.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    known: Mutex<Known>,
}

/// A transaction that a command uses until this is dropped. It neither expires nor counts as unused.
#[derive(Debug)]
pub(crate) struct InUse<'t> {
    transactions: &'t Transactions,
    key: Key,
    serial: u64,
    client: u64,
    /// The server where the transaction began.
    pub(crate) server: Address,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut known = self.transactions.lock();
        if known.table.end_use(&self.key, self.serial) {
            known.assign(&self.key, self.client);
        }
    }
}

impl Transactions {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a transaction began on a server.
    pub(crate) fn begin(
        &self,
        user: &Arc<str>,
        session: SessionId,
        number: i64,
        server: Address,
        client: u64,
    ) {
        let transaction = Transaction { number, server, client, is_open: true };
        let key = (Arc::clone(user), session);
        let mut known = self.lock();
        known.remove(&key);
        let displaced = known.table.insert(key.clone(), user, FORGET_AFTER, transaction);
        known.by_client.entry(client).or_default().insert(key);
        known.open += 1;
        if let Some((key, old)) = displaced.filter(|(_, old)| old.is_open) {
            known.note_closed(&key, old.client);
        }
    }

    /// Whether a client connection has open transactions as a user.
    pub(crate) fn has_of_client(&self, client: u64, user: &str) -> bool {
        self.lock().of_client(client, user).next().is_some()
    }

    /// Records that idle transactions of a client connection and user are no longer open. A
    /// transaction is idle if it was not used for a time. Returns the session, number and server of
    /// each.
    pub(crate) fn take_unused(
        &self,
        client: u64,
        user: &str,
        time: Duration,
    ) -> Vec<(SessionId, i64, Address)> {
        let mut known = self.lock();
        let is_unused =
            |key: &&Key| known.table.unused_for(key).is_some_and(|unused| unused >= time);
        let unused: Vec<Key> = known.of_client(client, user).filter(is_unused).cloned().collect();
        let mut taken = Vec::new();
        for key in unused {
            if let Some(transaction) = known.table.get(&key) {
                taken.push((key.1, transaction.number, transaction.server.clone()));
            }
            known.close(&key);
        }
        taken
    }

    /// Returns a transaction for a command of a client connection.
    pub(crate) fn begin_use(
        &self,
        user: &Arc<str>,
        session: SessionId,
        number: i64,
        client: u64,
    ) -> Option<InUse<'_>> {
        let key = (Arc::clone(user), session);
        let mut known = self.lock();
        let server = known.table.get(&key).filter(|t| t.number == number)?.server.clone();
        let serial = known.table.begin_use(&key)?;
        known.assign(&key, client);
        drop(known);
        Some(InUse { transactions: self, key, serial, client, server })
    }

    /// Records that a transaction was committed or aborted. Keeps its server, because drivers may retry the commit.
    pub(crate) fn end(&self, user: &Arc<str>, session: SessionId, number: i64) {
        let key = (Arc::clone(user), session);
        let mut known = self.lock();
        if known.table.get(&key).is_some_and(|t| t.number == number) {
            known.close(&key);
        }
    }

    /// Returns the number of open transactions.
    pub(crate) fn open(&self) -> usize {
        self.lock().open
    }

    /// Removes transactions that the servers have aborted by now.
    pub(crate) fn sweep(&self) {
        let mut known = self.lock();
        while let Some(key) = known.table.expired() {
            known.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::MAX_PER_USER;

    fn server(
        all: &Transactions,
        user: &Arc<str>,
        session: SessionId,
        number: i64,
    ) -> Option<Address> {
        all.begin_use(user, session, number, 7).map(|used| used.server.clone())
    }

    fn session(number: usize) -> SessionId {
        let [.., high, low] = number.to_be_bytes();
        let mut session = [9; 16];
        (session[0], session[1]) = (high, low);
        session
    }

    #[tokio::test(start_paused = true)]
    async fn transactions_stay_on_their_server() {
        let (all, user): (_, Arc<str>) = (Transactions::default(), "ann".into());
        let (a, b) = (Address::parse("a"), Address::parse("b"));
        all.begin(&user, [1; 16], 5, a.clone(), 7);
        assert!(all.has_of_client(7, "ann"));
        assert!(!all.has_of_client(7, "bob"), "the next user of the connection");
        assert_eq!(server(&all, &user, [1; 16], 5), Some(a.clone()));
        assert_eq!(server(&all, &user, [1; 16], 6), None, "another transaction");
        assert_eq!(server(&all, &"bob".into(), [1; 16], 5), None, "another user");
        all.end(&user, [1; 16], 5);
        assert!(!all.has_of_client(7, "ann"));
        assert_eq!(
            (all.open(), server(&all, &user, [1; 16], 5)),
            (0, Some(a.clone())),
            "a driver may retry the commit"
        );
        for number in 0..=MAX_PER_USER {
            all.begin(&"bob".into(), session(number), 1, a.clone(), 8);
        }
        assert_eq!(all.open(), MAX_PER_USER);
        all.begin(&user, [1; 16], 6, b, 7);
        assert_eq!(server(&all, &user, [1; 16], 5), None);
        assert_eq!(all.take_unused(8, "bob", Duration::ZERO).len(), MAX_PER_USER);
        tokio::time::advance(FORGET_AFTER).await;
        all.sweep();
        assert_eq!(server(&all, &user, [1; 16], 6), None);
        let known = all.lock();
        assert!(known.open == 0 && known.by_client.is_empty() && known.table.len() == 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_transaction_belongs_to_the_connection_that_uses_it() {
        const TIME: Duration = Duration::from_secs(30);
        let (all, user): (_, Arc<str>) = (Transactions::default(), "ann".into());
        let a = Address::parse("a");
        all.begin(&user, [1; 16], 5, a.clone(), 1);
        all.begin(&user, [2; 16], 6, a.clone(), 1);
        // Connection 1 ends. Connection 2 runs a long command in the first transaction.
        let used = all.begin_use(&user, [1; 16], 5, 2).unwrap();
        drop(all.begin_use(&user, [1; 16], 5, 3));
        tokio::time::advance(FORGET_AFTER + TIME).await;
        all.sweep();
        assert_eq!(all.open(), 1, "in use");
        assert_eq!(all.take_unused(3, "ann", Duration::ZERO), [], "in use");
        drop(used);
        assert_eq!(all.take_unused(2, "ann", TIME), [], "used until now");
        tokio::time::advance(TIME).await;
        assert_eq!(all.take_unused(1, "ann", TIME), []);
        assert_eq!(all.take_unused(2, "ann", TIME), [([1; 16], 5, a.clone())]);
        assert_eq!((all.open(), server(&all, &user, [1; 16], 5)), (0, Some(a.clone())));
        // A command of an earlier transaction ends after the next one began.
        let used = all.begin_use(&user, [1; 16], 5, 2);
        all.begin(&user, [1; 16], 7, a.clone(), 3);
        let next = all.begin_use(&user, [1; 16], 7, 3);
        drop(used);
        assert_eq!(all.take_unused(3, "ann", Duration::ZERO), []);
        drop(next);
        assert_eq!(all.take_unused(3, "ann", Duration::ZERO), [([1; 16], 7, a)]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_operation_visits_all_transactions() {
        let (all, user): (_, Arc<str>) = (Transactions::default(), "ann".into());
        let a = Address::parse("a");
        for number in 0..2 * MAX_PER_USER {
            let before = all.lock().table.visits();
            all.begin(&user, session(number), 1, a.clone(), 8);
            assert!(all.lock().table.visits() - before <= 6, "transaction {number}");
        }
        let last = session(2 * MAX_PER_USER - 1);
        let before = all.lock().table.visits();
        drop(all.begin_use(&user, last, 1, 9));
        all.sweep();
        assert!(all.has_of_client(9, "ann"));
        assert_eq!(
            (all.open(), all.take_unused(9, "ann", Duration::ZERO).len()),
            (MAX_PER_USER, 1)
        );
        all.end(&user, last, 1);
        assert!(all.lock().table.visits() - before <= 15);
    }
}
