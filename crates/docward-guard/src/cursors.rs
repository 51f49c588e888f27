//! The open cursors of clients and their servers. Clients get cursor ids of the guard, because the random ids of two
//! servers may be equal.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use docward_net::{Login, topology::Address};
use tokio::time::Instant;

use crate::{request::SessionId, table::Table};

/// A cursor that is open on a server.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// The server that has the cursor.
    pub(crate) server: Address,
    /// The server's id of the cursor.
    pub(crate) id: i64,
    /// The user who opened it. Other users cannot use it.
    pub(crate) user: Arc<str>,
    /// The account that can close it.
    pub(crate) login: Arc<Login>,
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
}

/// Servers close unused cursors after ten minutes. The guard removes them from its table a little later.
const FORGET_AFTER: Duration = Duration::from_secs(660);
/// Servers close the cursors of a session with the session, which ends after 30 minutes without use.
const FORGET_IN_SESSION_AFTER: Duration = Duration::from_secs(31 * 60);
/// The guard removes unused cursors with `noCursorTimeout` after this time.
const FORGET_KEPT_AFTER: Duration = Duration::from_secs(24 * 3600);

impl Cursor {
    fn lasts(&self) -> Duration {
        match self.session {
            _ if self.is_kept => FORGET_KEPT_AFTER,
            Some(_) => FORGET_IN_SESSION_AFTER,
            None => FORGET_AFTER,
        }
    }

    fn group(&self, id: i64) -> Group {
        match self.session {
            Some(session) => Group::Session(Arc::clone(&self.user), session),
            None => Group::Cursor(Arc::clone(&self.user), id),
        }
    }
}

/// The cursors of one session, or a cursor without a session. They belong to the client connection that used one of
/// them, or their session, last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Group {
    Session(Arc<str>, SessionId),
    Cursor(Arc<str>, i64),
}

impl Group {
    fn user(&self) -> &str {
        match self {
            Self::Session(user, _) | Self::Cursor(user, _) => user,
        }
    }
}

#[derive(Debug)]
struct GroupState {
    /// The number of the client connection that used it last.
    client: u64,
    /// The number of commands that use it now.
    commands: usize,
    used: Instant,
    cursors: BTreeSet<i64>,
}

impl GroupState {
    /// Returns how long it was not used, or `None` while a command uses it.
    fn unused_for(&self) -> Option<Duration> {
        (self.commands == 0).then(|| self.used.elapsed())
    }
}

#[derive(Debug, Default)]
struct Open {
    table: Table<i64, Cursor>,
    groups: HashMap<Group, GroupState>,
    by_client: HashMap<u64, BTreeSet<Group>>,
}

impl Open {
    fn insert(&mut self, id: i64, cursor: Cursor) -> Option<Cursor> {
        let (group, client) = (cursor.group(id), cursor.client);
        let state = self.groups.entry(group.clone()).or_insert_with(|| GroupState {
            client,
            commands: 0,
            used: Instant::now(),
            cursors: BTreeSet::new(),
        });
        state.cursors.insert(id);
        let user = Arc::clone(&cursor.user);
        let displaced = self.table.insert(id, &user, cursor.lasts(), cursor);
        self.by_client.entry(client).or_default().insert(group.clone());
        self.assign(&group, client);
        displaced.map(|(id, cursor)| {
            self.leave_group(id, &cursor);
            cursor
        })
    }

    fn remove(&mut self, id: i64) -> Option<Cursor> {
        let cursor = self.table.remove(&id)?;
        self.leave_group(id, &cursor);
        Some(cursor)
    }

    fn leave_group(&mut self, id: i64, cursor: &Cursor) {
        let group = cursor.group(id);
        if let Some(state) = self.groups.get_mut(&group) {
            state.cursors.remove(&id);
        }
        self.drop_if_empty(&group);
    }

    fn drop_if_empty(&mut self, group: &Group) {
        let empty = self.groups.get(group).filter(|g| g.cursors.is_empty() && g.commands == 0);
        if let Some(client) = empty.map(|state| state.client) {
            self.groups.remove(group);
            self.unassign(group, client);
        }
    }

    /// Records which client connection used a group last.
    fn assign(&mut self, group: &Group, client: u64) {
        let Some(state) = self.groups.get_mut(group) else { return };
        state.used = Instant::now();
        let before = std::mem::replace(&mut state.client, client);
        if before != client {
            self.unassign(group, before);
            self.by_client.entry(client).or_default().insert(group.clone());
        }
    }

    fn unassign(&mut self, group: &Group, client: u64) {
        if let Some(groups) = self.by_client.get_mut(&client) {
            groups.remove(group);
            if groups.is_empty() {
                self.by_client.remove(&client);
            }
        }
    }

    fn begin_group_use(&mut self, group: &Group, client: u64) -> bool {
        let Some(state) = self.groups.get_mut(group) else { return false };
        state.commands += 1;
        self.assign(group, client);
        true
    }

    fn end_group_use(&mut self, group: &Group, client: u64) {
        if let Some(state) = self.groups.get_mut(group) {
            state.commands = state.commands.saturating_sub(1);
            self.assign(group, client);
            self.drop_if_empty(group);
        }
    }

    fn groups_of<'o>(&'o self, client: u64, user: &'o str) -> impl Iterator<Item = &'o Group> {
        self.by_client.get(&client).into_iter().flatten().filter(move |group| group.user() == user)
    }
}

/// The open cursors of all clients of this guard.
#[derive(Debug)]
pub(crate) struct Cursors {
    /// The 15 bits that distinguish this guard from others. Every cursor id contains them.
    tag: i64,
    open: Mutex<Open>,
}

/// Why a cursor cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoCursor {
    /// The cursor is not open, or belongs to another user.
    Unknown,
    /// The id has the tag of another guard.
    Elsewhere,
}

/// A cursor or session that a command uses until this is dropped. Its cursors neither expire nor count as unused.
#[derive(Debug)]
pub(crate) struct InUse<'c> {
    cursors: &'c Cursors,
    group: Group,
    client: u64,
    /// The id and the serial number of the cursor that a `getMore` uses.
    cursor: Option<(i64, u64)>,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut open = self.cursors.lock();
        if let Some((id, serial)) = self.cursor {
            open.table.end_use(&id, serial);
        }
        open.end_group_use(&self.group, self.client);
    }
}

impl Cursors {
    pub(crate) fn new(tag: u16) -> Self {
        Self { tag: i64::from(tag & 0x7FFF), open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a cursor. Returns its id for the client. Also returns the cursor that was displaced
    /// because the user had too many. Calls `random` until its lower 48 bits give a free id.
    pub(crate) fn add(
        &self,
        cursor: Cursor,
        mut random: impl FnMut() -> u64,
    ) -> (i64, Option<Cursor>) {
        let mut open = self.lock();
        loop {
            let low = i64::try_from(random() & 0xFFFF_FFFF_FFFF).unwrap_or(1);
            let id = (self.tag << 48) | low;
            if id != 0 && !open.table.contains(&id) {
                let displaced = open.insert(id, cursor);
                return (id, displaced);
            }
        }
    }

    fn find(&self, open: &Open, id: i64, user: &str) -> Result<Cursor, NoCursor> {
        match open.table.get(&id) {
            Some(cursor) if &*cursor.user == user => Ok(cursor.clone()),
            Some(_) => Err(NoCursor::Unknown),
            None if id >> 48 != self.tag => Err(NoCursor::Elsewhere),
            None => Err(NoCursor::Unknown),
        }
    }

    /// Returns a cursor to the user who opened it.
    pub(crate) fn get(&self, id: i64, user: &str) -> Result<Cursor, NoCursor> {
        self.find(&self.lock(), id, user)
    }

    /// Returns a cursor to the user who opened it, for a command of a client connection.
    pub(crate) fn begin_use(
        &self,
        id: i64,
        user: &str,
        client: u64,
    ) -> Result<(Cursor, InUse<'_>), NoCursor> {
        let mut open = self.lock();
        let cursor = self.find(&open, id, user)?;
        let group = cursor.group(id);
        open.begin_group_use(&group, client);
        let serial = open.table.begin_use(&id);
        drop(open);
        let cursor_in_use = serial.map(|serial| (id, serial));
        Ok((cursor, InUse { cursors: self, group, client, cursor: cursor_in_use }))
    }

    /// Records that a command uses a session. Returns `None` if the session has no cursors.
    pub(crate) fn begin_session_use(
        &self,
        user: &Arc<str>,
        session: SessionId,
        client: u64,
    ) -> Option<InUse<'_>> {
        let mut open = self.lock();
        if open.groups.is_empty() {
            return None;
        }
        let group = Group::Session(Arc::clone(user), session);
        let is_open = open.begin_group_use(&group, client);
        drop(open);
        is_open.then_some(InUse { cursors: self, group, client, cursor: None })
    }

    pub(crate) fn remove(&self, id: i64) {
        self.lock().remove(id);
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().table.len()
    }

    /// Whether a client connection has open cursors as a user.
    pub(crate) fn has_of_client(&self, client: u64, user: &str) -> bool {
        self.lock().groups_of(client, user).next().is_some()
    }

    /// Removes and returns idle cursors of a client connection and user. A cursor is idle if
    /// neither it nor its session was used for `time`.
    pub(crate) fn take_unused(&self, client: u64, user: &str, time: Duration) -> Vec<Cursor> {
        let mut open = self.lock();
        let groups = open.groups_of(client, user).filter_map(|group| open.groups.get(group));
        let unused = groups.filter(|state| state.unused_for().is_some_and(|for_| for_ >= time));
        let ids: Vec<i64> = unused.flat_map(|state| &state.cursors).copied().collect();
        ids.into_iter().filter_map(|id| open.remove(id)).collect()
    }

    /// Removes and returns cursors that the servers should have closed by now.
    pub(crate) fn take_expired(&self) -> Vec<Cursor> {
        let mut open = self.lock();
        let mut expired = Vec::new();
        while let Some(id) = open.table.expired() {
            let Some(cursor) = open.table.get(&id) else { break };
            let (group, lasts) = (cursor.group(id), cursor.lasts());
            // Any command on a session keeps the session open, and with it the session's cursors.
            let unused_for = open.groups.get(&group).and_then(GroupState::unused_for);
            let unused_for = unused_for.unwrap_or(Duration::ZERO);
            if unused_for < lasts {
                open.table.postpone(&id, Instant::now() + (lasts - unused_for));
            } else {
                expired.extend(open.remove(id));
            }
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::MAX_PER_USER;
    use docward_net::Credential;

    fn cursor(user: &str) -> Cursor {
        Cursor {
            server: Address::parse("a"),
            id: 77,
            user: user.into(),
            login: Arc::new(Login::from(Credential::None)),
            session: None,
            client: 1,
            awaits: false,
            is_change_stream: false,
            is_kept: false,
            namespace: ("d".to_owned(), "t".to_owned()),
        }
    }

    fn counter() -> impl FnMut() -> u64 {
        let mut number = 100;
        move || {
            number += 1;
            number
        }
    }

    fn ids(taken: &[Cursor]) -> Vec<i64> {
        let mut ids: Vec<_> = taken.iter().map(|cursor| cursor.id).collect();
        ids.sort_unstable();
        ids
    }

    #[tokio::test(start_paused = true)]
    async fn cursor_ids_have_the_tag_and_belong_to_one_user() {
        let cursors = Cursors::new(3);
        let mut numbers = [5, 5, 0xFFFF_0000_0000_0006].into_iter();
        let mut random = || numbers.next().unwrap();
        let (first, _) = cursors.add(cursor("ann"), &mut random);
        let (second, _) = cursors.add(cursor("ann"), &mut random);
        assert_eq!(first, (3 << 48) | 5);
        assert_eq!(second, (3 << 48) | 6, "an id is not used twice");
        assert_eq!(cursors.get(first, "ann").unwrap().id, 77);
        assert_eq!(cursors.get(first, "bob").unwrap_err(), NoCursor::Unknown);
        assert_eq!(cursors.get((4 << 48) | 5, "ann").unwrap_err(), NoCursor::Elsewhere);
        assert!(cursors.has_of_client(1, "ann"));
        assert!(!cursors.has_of_client(1, "bob"), "the next user of the connection");
        cursors.remove(first);
        assert_eq!(cursors.get(first, "ann").unwrap_err(), NoCursor::Unknown);
        let mut count = counter();
        let oldest = Cursor { id: 78, ..cursor("bob") };
        assert!(cursors.add(oldest, &mut count).1.is_none());
        for _ in 1..MAX_PER_USER {
            assert!(cursors.add(cursor("bob"), &mut count).1.is_none());
        }
        let (_, displaced) = cursors.add(cursor("bob"), &mut count);
        assert_eq!(displaced.unwrap().id, 78);
        assert_eq!(cursors.len(), MAX_PER_USER + 1);
        assert_eq!(cursors.get(second, "ann").unwrap().id, 77, "of another user");
        let kept = Cursor { is_kept: true, id: 79, ..cursor("ann") };
        cursors.add(kept, || 7);
        tokio::time::advance(FORGET_AFTER).await;
        assert_eq!(cursors.take_expired().len(), MAX_PER_USER + 1);
        assert_eq!(cursors.len(), 1, "noCursorTimeout");
        tokio::time::advance(FORGET_KEPT_AFTER).await;
        assert_eq!(ids(&cursors.take_expired()), [79]);
        let open = cursors.lock();
        assert!(open.groups.is_empty() && open.by_client.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cursor_belongs_to_the_connection_that_uses_it_or_its_session() {
        const TIME: Duration = Duration::from_secs(30);
        let (cursors, user): (_, Arc<str>) = (Cursors::new(3), "ann".into());
        let mut count = counter();
        let (alone, _) = cursors.add(Cursor { id: 1, ..cursor("ann") }, &mut count);
        let in_session = Cursor { session: Some([1; 16]), ..cursor("ann") };
        for id in [2, 3] {
            cursors.add(Cursor { id, ..in_session.clone() }, &mut count);
        }
        cursors.add(Cursor { id: 4, session: Some([2; 16]), ..cursor("ann") }, &mut count);
        // Connection 1 ends. Connection 2 uses one cursor and one session for longer than a minute.
        let (_, more) = cursors.begin_use(alone, "ann", 2).unwrap();
        let other = cursors.begin_session_use(&user, [1; 16], 2).unwrap();
        assert!(cursors.begin_session_use(&"bob".into(), [1; 16], 2).is_none());
        assert!(cursors.begin_session_use(&user, [3; 16], 2).is_none());
        // Connection 3 also uses the session, and ends before the command of connection 2.
        drop(cursors.begin_session_use(&user, [1; 16], 3));
        tokio::time::advance(TIME * 2).await;
        assert_eq!(ids(&cursors.take_unused(1, "ann", TIME)), [4]);
        assert!(ids(&cursors.take_unused(3, "ann", TIME)).is_empty());
        assert!(ids(&cursors.take_unused(2, "ann", Duration::ZERO)).is_empty(), "in use");
        tokio::time::advance(FORGET_KEPT_AFTER).await;
        assert!(ids(&cursors.take_expired()).is_empty(), "in use");
        drop((more, other));
        assert!(!cursors.has_of_client(3, "ann"));
        assert!(ids(&cursors.take_unused(2, "ann", TIME)).is_empty(), "used until now");
        tokio::time::advance(TIME).await;
        assert_eq!(ids(&cursors.take_unused(2, "ann", TIME)), [1, 2, 3]);
        assert_eq!(cursors.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_keeps_its_cursors_while_it_is_used() {
        let (cursors, user): (_, Arc<str>) = (Cursors::new(3), "ann".into());
        cursors.add(Cursor { session: Some([1; 16]), ..cursor("ann") }, counter());
        for _ in 0..3 {
            tokio::time::advance(FORGET_IN_SESSION_AFTER - Duration::from_secs(1)).await;
            assert!(cursors.take_expired().is_empty());
            drop(cursors.begin_session_use(&user, [1; 16], 1));
        }
        tokio::time::advance(FORGET_IN_SESSION_AFTER).await;
        assert_eq!(cursors.take_expired().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn no_operation_visits_all_cursors() {
        let (cursors, user): (_, Arc<str>) = (Cursors::new(3), "ann".into());
        let mut count = counter();
        for number in 0..2 * MAX_PER_USER {
            let [.., high, low] = number.to_be_bytes();
            let mut session = [9; 16];
            (session[0], session[1]) = (high, low);
            let client = u64::from(low);
            let new = Cursor { client, session: Some(session), ..cursor("ann") };
            let before = cursors.lock().table.visits();
            cursors.add(new, &mut count);
            assert!(cursors.lock().table.visits() - before <= 4, "adding cursor {number}");
        }
        let (id, _) = cursors.add(Cursor { client: 1000, ..cursor("ann") }, &mut count);
        let before = cursors.lock().table.visits();
        drop(cursors.begin_use(id, "ann", 1001));
        drop(cursors.begin_session_use(&user, [9; 16], 1001));
        assert!(cursors.has_of_client(1001, "ann") && !cursors.has_of_client(1000, "ann"));
        assert!(cursors.take_expired().is_empty());
        assert_eq!(cursors.take_unused(1001, "ann", Duration::ZERO).len(), 1);
        assert!(cursors.lock().table.visits() - before <= 8);
    }
}
