//! A table of what users have open, with a limit for each user and a time limit for each entry. Ordered indexes find the
//! least recently used and the expired entries, so that no operation visits all entries.

use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

/// The maximum number of idle entries of a user. A new entry replaces the least recently used one.
pub(crate) const MAX_PER_USER: usize = 10_000;

/// An entry. The indexes contain it unless a command uses it.
#[derive(Debug)]
struct Entry<V> {
    value: V,
    user: Arc<str>,
    /// Distinguishes this entry from others that had the same key.
    serial: u64,
    /// The position in the order of use.
    turn: u64,
    used: Instant,
    expires: Instant,
    /// The entry expires when it was not used for this long.
    lasts: Duration,
    /// The number of commands that use it now.
    commands: usize,
}

/// The entries of a user.
#[derive(Debug)]
struct Owned<K> {
    count: usize,
    /// The entries that no command uses, by their position in the order of use.
    idle: BTreeMap<u64, K>,
}

/// The entries of all users.
#[derive(Debug)]
pub(crate) struct Table<K, V> {
    entries: Entries<K, Entry<V>>,
    users: HashMap<Arc<str>, Owned<K>>,
    expiry: BTreeMap<(Instant, u64), K>,
    next: u64,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self {
            entries: Entries::default(),
            users: HashMap::new(),
            expiry: BTreeMap::new(),
            next: 0,
        }
    }
}

impl<K: Clone + Eq + Hash, V> Table<K, V> {
    /// Adds an entry, or replaces the one with the same key. Returns the entry that was displaced
    /// because the user had too many.
    pub(crate) fn insert(
        &mut self,
        key: K,
        user: &Arc<str>,
        lasts: Duration,
        value: V,
    ) -> Option<(K, V)> {
        self.remove(&key);
        let full = self.users.get(user).filter(|owned| owned.count >= MAX_PER_USER);
        let oldest = full.and_then(|owned| owned.idle.first_key_value());
        let oldest = oldest.map(|(_, oldest)| oldest.clone());
        let displaced = oldest.and_then(|oldest| Some((oldest.clone(), self.remove(&oldest)?)));
        let used = Instant::now();
        self.next += 1;
        let entry = Entry {
            value,
            user: Arc::clone(user),
            serial: self.next,
            turn: self.next,
            used,
            expires: used + lasts,
            lasts,
            commands: 0,
        };
        let owned = self
            .users
            .entry(Arc::clone(user))
            .or_insert_with(|| Owned { count: 0, idle: BTreeMap::new() });
        owned.count += 1;
        owned.idle.insert(entry.turn, key.clone());
        self.expiry.insert((entry.expires, entry.turn), key.clone());
        self.entries.insert(key, entry);
        displaced
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.entries.get(key).is_some()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Returns how long an entry was not used, or `None` while a command uses it.
    pub(crate) fn unused_for(&self, key: &K) -> Option<Duration> {
        let entry = self.entries.get(key).filter(|entry| entry.commands == 0)?;
        Some(entry.used.elapsed())
    }

    /// Records that a command uses an entry. It neither expires nor is displaced until [`Self::end_use`] gets the
    /// returned number.
    pub(crate) fn begin_use(&mut self, key: &K) -> Option<u64> {
        let entry = self.entries.get_mut(key)?;
        entry.commands += 1;
        entry.used = Instant::now();
        let (serial, turn, expires) = (entry.serial, entry.turn, entry.expires);
        if entry.commands == 1 {
            if let Some(owned) = self.users.get_mut(&entry.user) {
                owned.idle.remove(&turn);
            }
            self.expiry.remove(&(expires, turn));
        }
        Some(serial)
    }

    /// Records that a command no longer uses an entry. Returns whether the entry still exists.
    pub(crate) fn end_use(&mut self, key: &K, serial: u64) -> bool {
        let now = Instant::now();
        let Some(entry) = self.entries.get_mut(key).filter(|entry| entry.serial == serial) else {
            return false;
        };
        entry.commands = entry.commands.saturating_sub(1);
        entry.used = now;
        if entry.commands == 0 {
            self.next += 1;
            entry.turn = self.next;
            entry.expires = now + entry.lasts;
            if let Some(owned) = self.users.get_mut(&entry.user) {
                owned.idle.insert(entry.turn, key.clone());
            }
            self.expiry.insert((entry.expires, entry.turn), key.clone());
        }
        true
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.expiry.remove(&(entry.expires, entry.turn));
        if let Some(owned) = self.users.get_mut(&entry.user) {
            owned.idle.remove(&entry.turn);
            owned.count -= 1;
            if owned.count == 0 {
                self.users.remove(&entry.user);
            }
        }
        Some(entry.value)
    }

    /// Returns the key of an expired entry.
    pub(crate) fn expired(&self) -> Option<K> {
        let (at, key) = self.expiry.first_key_value()?;
        (at.0 <= Instant::now()).then(|| key.clone())
    }

    /// Postpones when an entry expires.
    pub(crate) fn postpone(&mut self, key: &K, expires: Instant) {
        if let Some(entry) = self.entries.get_mut(key)
            && self.expiry.remove(&(entry.expires, entry.turn)).is_some()
        {
            entry.expires = expires;
            self.expiry.insert((expires, entry.turn), key.clone());
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns how many entries were read, changed, added or removed so far.
    #[cfg(test)]
    pub(crate) fn visits(&self) -> usize {
        self.entries.visits()
    }
}

use entries::Entries;

/// A map that cannot be iterated. In tests, it counts the visited entries.
mod entries {
    #[cfg(test)]
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::{collections::HashMap, hash::Hash};

    #[derive(Debug)]
    pub(super) struct Entries<K, E> {
        map: HashMap<K, E>,
        #[cfg(test)]
        visits: AtomicUsize,
    }

    impl<K, E> Default for Entries<K, E> {
        fn default() -> Self {
            Self {
                map: HashMap::new(),
                #[cfg(test)]
                visits: AtomicUsize::new(0),
            }
        }
    }

    impl<K: Eq + Hash, E> Entries<K, E> {
        fn visit(&self) {
            #[cfg(test)]
            self.visits.fetch_add(1, Ordering::Relaxed);
        }

        pub(super) fn get(&self, key: &K) -> Option<&E> {
            self.visit();
            self.map.get(key)
        }

        pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut E> {
            self.visit();
            self.map.get_mut(key)
        }

        pub(super) fn insert(&mut self, key: K, entry: E) {
            self.visit();
            self.map.insert(key, entry);
        }

        pub(super) fn remove(&mut self, key: &K) -> Option<E> {
            self.visit();
            self.map.remove(key)
        }

        pub(super) fn len(&self) -> usize {
            self.map.len()
        }

        #[cfg(test)]
        pub(super) fn visits(&self) -> usize {
            self.visits.load(Ordering::Relaxed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTS: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn entries_in_use_are_neither_displaced_nor_expired() {
        let (mut table, user): (Table<usize, ()>, Arc<str>) = (Table::default(), "ann".into());
        for key in 0..MAX_PER_USER {
            assert_eq!(table.insert(key, &user, LASTS, ()), None);
        }
        let serial = table.begin_use(&0).unwrap();
        assert_eq!(table.insert(MAX_PER_USER, &user, LASTS, ()), Some((1, ())));
        assert_eq!(table.insert(1, &"bob".into(), LASTS, ()), None, "another user");
        tokio::time::advance(LASTS).await;
        while let Some(key) = table.expired() {
            table.remove(&key);
        }
        assert_eq!((table.len(), table.unused_for(&0)), (1, None));
        assert!(table.end_use(&0, serial));
        assert_eq!(table.expired(), None, "the time counts from the end of the command");
        tokio::time::advance(LASTS / 2).await;
        table.postpone(&0, Instant::now() + LASTS);
        tokio::time::advance(LASTS / 2).await;
        assert_eq!(table.expired(), None);
        tokio::time::advance(LASTS / 2).await;
        assert_eq!(table.expired(), Some(0));
        table.insert(0, &user, LASTS, ());
        assert!(!table.end_use(&0, serial), "a later entry with the same key");
        table.remove(&0);
        assert!(table.users.is_empty() && table.expiry.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn no_operation_visits_more_than_a_few_entries() {
        let (mut table, user): (Table<usize, ()>, Arc<str>) = (Table::default(), "ann".into());
        for key in 0..2 * MAX_PER_USER {
            let before = table.visits();
            table.insert(key, &user, LASTS, ());
            assert!(table.visits() - before <= 3, "inserting entry {key}");
        }
        assert_eq!(table.len(), MAX_PER_USER);
        let before = table.visits();
        let key = MAX_PER_USER + 7;
        let serial = table.begin_use(&key).unwrap();
        table.end_use(&key, serial);
        assert_eq!(table.expired(), None);
        table.remove(&key);
        assert_eq!(table.visits() - before, 3);
    }
}
