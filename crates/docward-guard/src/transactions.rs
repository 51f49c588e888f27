//! The transactions of clients and the servers on which they run.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use docward_net::topology::Address;
use tokio::time::Instant;

use crate::request::SessionId;

#[derive(Clone, Debug)]
struct Transaction {
    number: i64,
    server: Address,
    /// The number of the client connection that began it.
    client: u64,
    is_open: bool,
    used: Instant,
}

/// Transactions that were not used for this long are removed. Servers abort them after one minute, but drivers may
/// retry a commit later than that.
const FORGET_AFTER: Duration = Duration::from_secs(180);

/// The table holds at most this many sessions of a user. A new one replaces the least recently used.
const MOST_PER_USER: usize = 10_000;

/// The transactions of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    all: Mutex<HashMap<(Arc<str>, SessionId), Transaction>>,
}

impl Transactions {
    fn lock(&self) -> MutexGuard<'_, HashMap<(Arc<str>, SessionId), Transaction>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
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
        let used = Instant::now();
        let transaction = Transaction { number, server, client, is_open: true, used };
        let mut all = self.lock();
        if all.len() >= MOST_PER_USER {
            let own = all.iter().filter(|((name, _), _)| name == user);
            let oldest = own.clone().min_by_key(|(_, t)| t.used).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest.filter(|_| own.count() >= MOST_PER_USER) {
                all.remove(&oldest);
            }
        }
        all.insert((Arc::clone(user), session), transaction);
    }

    /// Returns the session, number and server of each open transaction that a client connection began as a user.
    pub(crate) fn of_client(&self, client: u64, user: &str) -> Vec<(SessionId, i64, Address)> {
        let all = self.lock();
        let own =
            all.iter().filter(|((name, _), t)| t.client == client && t.is_open && **name == *user);
        let mut own: Vec<_> =
            own.map(|((_, session), t)| (*session, t.number, t.server.clone())).collect();
        drop(all);
        own.sort_by_key(|(session, ..)| *session);
        own
    }

    /// Returns how long an open transaction was not used, or `None` if it is not open.
    pub(crate) fn unused_for(
        &self,
        user: &Arc<str>,
        session: SessionId,
        number: i64,
    ) -> Option<Duration> {
        let all = self.lock();
        let found = all.get(&(Arc::clone(user), session)).filter(|t| t.number == number)?;
        found.is_open.then(|| found.used.elapsed())
    }

    /// Returns the server of a transaction, and marks the transaction as used.
    pub(crate) fn server(
        &self,
        user: &Arc<str>,
        session: SessionId,
        number: i64,
    ) -> Option<Address> {
        let mut all = self.lock();
        let found = all.get_mut(&(Arc::clone(user), session)).filter(|t| t.number == number)?;
        found.used = Instant::now();
        Some(found.server.clone())
    }

    /// Records that a transaction was committed or aborted. Keeps its server, because drivers may retry the commit.
    pub(crate) fn end(&self, user: &Arc<str>, session: SessionId, number: i64) {
        let mut all = self.lock();
        if let Some(found) =
            all.get_mut(&(Arc::clone(user), session)).filter(|t| t.number == number)
        {
            found.is_open = false;
        }
    }

    /// Returns the number of open transactions.
    pub(crate) fn open(&self) -> usize {
        self.lock().values().filter(|transaction| transaction.is_open).count()
    }

    /// Removes transactions that the servers have aborted by now.
    pub(crate) fn sweep(&self) {
        self.lock().retain(|_, transaction| transaction.used.elapsed() < FORGET_AFTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn transactions_stay_on_their_server() {
        let (all, user): (_, Arc<str>) = (Transactions::default(), "ann".into());
        let (a, b) = (Address::parse("a"), Address::parse("b"));
        all.begin(&user, [1; 16], 5, a.clone(), 7);
        assert_eq!(all.of_client(7, "ann"), [([1; 16], 5, a.clone())]);
        assert_eq!(all.of_client(7, "bob"), [], "the next user of the connection");
        assert_eq!(all.server(&user, [1; 16], 5), Some(a.clone()));
        assert_eq!(all.server(&user, [1; 16], 6), None, "another transaction");
        assert_eq!(all.server(&"bob".into(), [1; 16], 5), None, "another user");
        all.end(&user, [1; 16], 5);
        assert_eq!(all.of_client(7, "ann"), []);
        assert_eq!(
            (all.open(), all.server(&user, [1; 16], 5)),
            (0, Some(a.clone())),
            "a driver may retry the commit"
        );
        for number in 0..=u16::try_from(MOST_PER_USER).unwrap() {
            let [high, low] = number.to_be_bytes();
            let mut session = [9; 16];
            (session[0], session[1]) = (high, low);
            all.begin(&"bob".into(), session, 1, a.clone(), 8);
        }
        assert_eq!(all.of_client(8, "bob").len(), MOST_PER_USER);
        all.begin(&user, [1; 16], 6, b, 7);
        assert_eq!(all.server(&user, [1; 16], 5), None);
        tokio::time::advance(FORGET_AFTER).await;
        all.sweep();
        assert_eq!(all.server(&user, [1; 16], 6), None);
    }
}
