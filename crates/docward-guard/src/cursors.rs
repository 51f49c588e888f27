//! The open cursors of clients and their servers. Clients get cursor ids of the guard, because the random ids of two
//! servers may be equal.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use docward_net::topology::Address;
use tokio::time::Instant;

use crate::request::SessionId;

/// A cursor that is open on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// The server that has the cursor.
    pub(crate) server: Address,
    /// The server's id of the cursor.
    pub(crate) id: i64,
    /// The user who opened it. Other users cannot use it.
    pub(crate) user: Arc<str>,
    /// The session that it belongs to.
    pub(crate) session: Option<SessionId>,
    /// The number of the client connection that opened it.
    pub(crate) client: u64,
    /// Whether `getMore` waits for new data, as in a change stream.
    pub(crate) awaits: bool,
    /// Whether it is a change stream.
    pub(crate) is_change_stream: bool,
    /// Whether the client asked the server to keep it without a timeout.
    pub(crate) is_kept: bool,
    /// Its database and collection, which `killCursors` needs.
    pub(crate) namespace: (String, String),
    /// When it was used last.
    pub(crate) used: Instant,
}

/// Servers close unused cursors after ten minutes. The guard removes them from its table a little later.
const FORGET_AFTER: Duration = Duration::from_secs(660);
/// The guard removes unused cursors with `noCursorTimeout` after this time.
const FORGET_KEPT_AFTER: Duration = Duration::from_secs(24 * 3600);

/// A user has at most this many open cursors in the table. A new one replaces the least recently used.
const MOST_PER_USER: usize = 10_000;

/// The open cursors of all clients of this guard.
#[derive(Debug)]
pub(crate) struct Cursors {
    /// 15 bits of every cursor id that distinguish this guard from others.
    tag: i64,
    open: Mutex<HashMap<i64, Cursor>>,
}

/// Why a cursor cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoCursor {
    /// The cursor is not open, or belongs to another user.
    Unknown,
    /// The id has the tag of another guard.
    Elsewhere,
}

impl Cursors {
    pub(crate) fn new(tag: u16) -> Self {
        Self { tag: i64::from(tag & 0x7FFF), open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Cursor>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a cursor and returns its id for the client. Calls `random` until its lower 48 bits give a free id.
    pub(crate) fn add(&self, cursor: Cursor, mut random: impl FnMut() -> u64) -> i64 {
        let mut open = self.lock();
        if open.len() >= MOST_PER_USER {
            let own = open.iter().filter(|(_, other)| other.user == cursor.user);
            let oldest = own.clone().min_by_key(|(_, other)| other.used).map(|(id, _)| *id);
            if let Some(oldest) = oldest.filter(|_| own.count() >= MOST_PER_USER) {
                open.remove(&oldest);
            }
        }
        loop {
            let low = i64::try_from(random() & 0xFFFF_FFFF_FFFF).unwrap_or(1);
            let id = (self.tag << 48) | low;
            if id != 0 && !open.contains_key(&id) {
                open.insert(id, cursor);
                return id;
            }
        }
    }

    /// Returns a cursor to the user who opened it, and marks it as used.
    pub(crate) fn get(&self, id: i64, user: &str) -> Result<Cursor, NoCursor> {
        let mut open = self.lock();
        match open.get_mut(&id) {
            Some(cursor) if &*cursor.user == user => {
                cursor.used = Instant::now();
                Ok(cursor.clone())
            }
            Some(_) => Err(NoCursor::Unknown),
            None if id >> 48 != self.tag => Err(NoCursor::Elsewhere),
            None => Err(NoCursor::Unknown),
        }
    }

    pub(crate) fn remove(&self, id: i64) {
        self.lock().remove(&id);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns the open cursors that a client connection opened as a user.
    pub(crate) fn of_client(&self, client: u64, user: &str) -> Vec<(i64, Cursor)> {
        let open = self.lock();
        let is_own = |cursor: &Cursor| cursor.client == client && &*cursor.user == user;
        let own = open.iter().filter(|(_, cursor)| is_own(cursor));
        let mut own: Vec<_> = own.map(|(id, cursor)| (*id, cursor.clone())).collect();
        drop(open);
        own.sort_by_key(|(id, _)| *id);
        own
    }

    /// Removes cursors that the servers have closed by now.
    pub(crate) fn sweep(&self) {
        self.lock().retain(|_, cursor| {
            let most = if cursor.is_kept { FORGET_KEPT_AFTER } else { FORGET_AFTER };
            cursor.used.elapsed() < most
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(user: &str) -> Cursor {
        Cursor {
            server: Address::parse("a"),
            id: 77,
            user: user.into(),
            session: None,
            client: 1,
            awaits: false,
            is_change_stream: false,
            is_kept: false,
            namespace: ("d".to_owned(), "t".to_owned()),
            used: Instant::now(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cursor_ids_have_the_tag_and_belong_to_one_user() {
        let cursors = Cursors::new(3);
        let mut numbers = [5, 5, 0xFFFF_0000_0000_0006].into_iter();
        let mut random = || numbers.next().unwrap();
        let first = cursors.add(cursor("ann"), &mut random);
        let second = cursors.add(cursor("ann"), &mut random);
        assert_eq!(first, (3 << 48) | 5);
        assert_eq!(second, (3 << 48) | 6, "an id is not used twice");
        assert_eq!(cursors.get(first, "ann").unwrap().id, 77);
        assert_eq!(cursors.get(first, "bob"), Err(NoCursor::Unknown));
        assert_eq!(cursors.get((4 << 48) | 5, "ann"), Err(NoCursor::Elsewhere));
        assert_eq!(cursors.of_client(1, "ann").len(), 2);
        assert_eq!(cursors.of_client(1, "bob").len(), 0, "the next user of the connection");
        cursors.remove(first);
        assert_eq!(cursors.get(first, "ann"), Err(NoCursor::Unknown));
        let mut number = 100;
        let mut count = || {
            number += 1;
            number
        };
        for _ in 0..=MOST_PER_USER {
            cursors.add(cursor("bob"), &mut count);
        }
        assert_eq!(cursors.of_client(1, "bob").len(), MOST_PER_USER);
        assert_eq!(cursors.get(second, "ann").unwrap().id, 77, "of another user");
        let kept = Cursor { is_kept: true, ..cursor("ann") };
        let kept = cursors.add(kept, || 7);
        tokio::time::advance(FORGET_AFTER).await;
        cursors.sweep();
        assert_eq!(cursors.len(), 1);
        assert!(cursors.get(kept, "ann").is_ok(), "noCursorTimeout");
        tokio::time::advance(FORGET_KEPT_AFTER).await;
        cursors.sweep();
        assert_eq!(cursors.len(), 0);
    }
}
