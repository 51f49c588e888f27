//! Writes that occur together: updates of two collections by one host within a second, and writes
//! of two collections in one transaction. Bounded: if there is more than can be tracked, the result
//! is unknown.

use std::collections::{BTreeMap, VecDeque};

use docward_model::{Namespace, QueryShape, WrittenTogether};

use crate::entry::Ran;

/// The maximum time between updates of one request.
const WINDOW_MS: i64 = 1000;
/// The maximum number of updates of one host within that time.
const RECENT: usize = 1024;
/// The maximum number of hosts tracked at a time.
const HOSTS: usize = 512;
/// The maximum number of collections.
const COLLECTIONS: usize = 1000;
/// The maximum number of pairs of collections.
const PAIRS: usize = 4000;
/// The maximum number of transactions tracked at a time.
const TRANSACTIONS: usize = 4096;

/// An update, and the other collections that were updated close to it.
#[derive(Debug)]
struct Update {
    at: i64,
    of: usize,
    near: Vec<usize>,
}

/// A transaction of a session: the collections it wrote, and the number of commands for each.
#[derive(Debug, Default)]
struct Transaction {
    number: i64,
    wrote: BTreeMap<usize, u64>,
}

/// All tracked writes and the pairs they showed.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    collections: BTreeMap<Namespace, usize>,
    recent: BTreeMap<String, VecDeque<Update>>,
    open: BTreeMap<String, Transaction>,
    /// The counts by pair of collections: updates close to each other, and commands in one
    /// transaction.
    pairs: BTreeMap<(usize, usize), (u64, u64)>,
    /// True if there were updates that could not be tracked.
    lost: bool,
}

impl Writes {
    /// Records a statement that may change documents.
    ///
    /// Servers record single updates without their session, so the host is the best available
    /// substitute for a client: parallel requests of one host look as if they belonged together.
    pub(crate) fn statement(&mut self, ran: &Ran, shape: &QueryShape) {
        if !shape.is_update() {
            return;
        }
        let Some(of) = self.number(&shape.namespace) else { return };
        let host = ran.host.clone().unwrap_or_default();
        if !self.recent.contains_key(&host) && !self.has_room(ran.at) {
            self.lost = true;
            return;
        }
        let mut updates = self.recent.remove(&host).unwrap_or_default();
        while updates.front().is_some_and(|first| ran.at - first.at > WINDOW_MS) {
            updates.pop_front().iter().for_each(|past| self.settle(past));
        }
        let mut near = Vec::new();
        for other in updates.iter_mut().filter(|other| other.of != of) {
            if !other.near.contains(&of) {
                other.near.push(of);
            }
            if !near.contains(&other.of) {
                near.push(other.of);
            }
        }
        if updates.len() < RECENT {
            updates.push_back(Update { at: ran.at, of, near });
        } else {
            self.lost = true;
        }
        self.recent.insert(host, updates);
    }

    /// Records a whole command, which contains its transaction.
    pub(crate) fn command(&mut self, ran: &Ran) {
        let (Some(number), Some(session)) = (ran.transaction, ran.session.as_ref()) else { return };
        let (Some(namespace), Some(command)) = (&ran.namespace, &ran.command) else { return };
        let name = command.entries().first().map(|(name, _)| name.as_str());
        if !matches!(name, Some("insert" | "update" | "delete" | "findAndModify" | "findandmodify"))
        {
            return;
        }
        let Some(of) = self.number(namespace) else { return };
        if self.open.get(session).is_none_or(|open| open.number != number) {
            self.open.remove(session).iter().for_each(|past| self.end(past));
            if self.open.len() >= TRANSACTIONS {
                self.end_all();
            }
        }
        let open = self.open.entry(session.clone()).or_default();
        open.number = number;
        *open.wrote.entry(of).or_default() += 1;
    }

    /// Drops the tracked state; the counts remain.
    pub(crate) fn forget(&mut self) {
        self.end_all();
        for past in std::mem::take(&mut self.recent).into_values().flatten() {
            self.settle(&past);
        }
    }

    pub(crate) fn finish(mut self) -> Option<Vec<WrittenTogether>> {
        self.forget();
        if self.lost {
            return None;
        }
        let mut names: Vec<_> = self.collections.into_iter().collect();
        names.sort_by_key(|(_, number)| *number);
        let name = |number: usize| names[number].0.clone();
        let mut found: Vec<_> = self
            .pairs
            .into_iter()
            .map(|((of, with), (near, in_transactions))| WrittenTogether {
                of: name(of),
                with: name(with),
                near,
                in_transactions,
            })
            .collect();
        found.sort_by(|a, b| (&a.of, &a.with).cmp(&(&b.of, &b.with)));
        Some(found)
    }

    fn number(&mut self, namespace: &Namespace) -> Option<usize> {
        let next = self.collections.len();
        if let Some(known) = self.collections.get(namespace) {
            return Some(*known);
        }
        if next >= COLLECTIONS {
            self.lost = true;
            return None;
        }
        self.collections.insert(namespace.clone(), next);
        Some(next)
    }

    /// Returns whether another host can be tracked, after dropping inactive ones.
    fn has_room(&mut self, now: i64) -> bool {
        if self.recent.len() >= HOSTS {
            let (silent, busy) = std::mem::take(&mut self.recent)
                .into_iter()
                .partition(|(_, updates)| updates.back().is_none_or(|u| now - u.at > WINDOW_MS));
            self.recent = busy;
            let silent: BTreeMap<String, VecDeque<Update>> = silent;
            silent.values().flatten().for_each(|past| self.settle(past));
        }
        self.recent.len() < HOSTS
    }

    fn pair(&mut self, of: usize, with: usize) -> Option<&mut (u64, u64)> {
        if self.pairs.len() >= PAIRS && !self.pairs.contains_key(&(of, with)) {
            self.lost = true;
            return None;
        }
        Some(self.pairs.entry((of, with)).or_default())
    }

    fn settle(&mut self, past: &Update) {
        for with in &past.near {
            if let Some((near, _)) = self.pair(past.of, *with) {
                *near += 1;
            }
        }
    }

    fn end(&mut self, past: &Transaction) {
        for (of, commands) in &past.wrote {
            for with in past.wrote.keys().filter(|with| *with != of) {
                if let Some((_, together)) = self.pair(*of, *with) {
                    *together += commands;
                }
            }
        }
    }

    fn end_all(&mut self) {
        for past in std::mem::take(&mut self.open).into_values() {
            self.end(&past);
        }
    }
}

#[cfg(test)]
mod tests {
    use docward_model::{Workload, WorkloadKind};

    use crate::{Entry, Recorder, profile_entry};

    /// Records rows of a profiler, or commands of a log: `(milliseconds, host, collection,
    /// command)`.
    fn record<'a>(rows: impl IntoIterator<Item = (i64, &'a str, &'a str, String)>) -> Workload {
        let mut recorder = Recorder::new();
        recorder.begin("test", WorkloadKind::Profiler);
        for (at, host, collection, command) in rows {
            let row = format!(
                r#"{{"ts": {{"$date": {{"$numberLong": "{}"}}}}, "op": "command", "ns": "shop.{collection}", "client": "{host}", "millis": 0, "command": {command}}}"#,
                1_710_000_000_000 + at
            );
            let document = docward_bson::json::parse_one(&row).expect("a row");
            let value = docward_bson::value::to_value(&document).expect("BSON");
            recorder.add(Entry::Ran(Box::new(profile_entry(&value).expect("a row"))));
        }
        recorder.finish()
    }

    const SET: &str = r#"{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}"#;

    /// The counts for items with orders: updates close to each other, and commands in one
    /// transaction.
    fn together(workload: &Workload) -> (u64, u64) {
        let found = workload.written_together.as_ref().expect("everything was followed");
        let pair =
            found.iter().find(|t| t.of.collection == "items" && t.with.collection == "orders");
        pair.map_or((0, 0), |pair| (pair.near, pair.in_transactions))
    }

    #[test]
    fn er_m_2_updates_within_a_second_may_belong_together() {
        let at = |order: i64, item: i64, host| {
            let mut rows =
                [(order, "a", "orders", SET.to_owned()), (item, host, "items", SET.into())];
            rows.sort_by_key(|row| row.0);
            together(&record(rows)).0
        };
        assert_eq!(at(0, 1000, "a"), 1);
        assert_eq!(at(1000, 0, "a"), 1, "whichever comes first");
        assert_eq!(at(0, 1001, "a"), 0);
        assert_eq!(at(0, 10, "b"), 0, "another host is another client");
    }

    #[test]
    fn er_m_2_one_update_of_the_parent_goes_with_several_of_children() {
        let items = (0..30).map(|n| (n * 10, "a", "items", SET.to_owned()));
        let rows = items.chain([(400, "a", "orders", SET.to_owned())]);
        let later = (0..5).map(|n| (5000 + n * 10, "a", "items", SET.to_owned()));
        assert_eq!(together(&record(rows.chain(later))).0, 30);
    }

    #[test]
    fn er_t_4_writes_of_one_transaction_are_counted() {
        let uuid = "9a5b515d-d2bb-4036-bac8-8e854c53968f";
        let insert = |of: &str, number: i64, autocommit: &str| {
            format!(
                r#"{{"insert": "{of}", "lsid": {{"id": {{"$uuid": "{uuid}"}}}}, "txnNumber": {{"$numberLong": "{number}"}}{autocommit}}}"#
            )
        };
        let count = |second: i64, autocommit: &str| {
            together(&record([
                (0, "a", "orders", insert("orders", 3, autocommit)),
                (1, "a", "items", insert("items", 3, autocommit)),
                (2, "a", "items", insert("items", second, autocommit)),
            ]))
            .1
        };
        assert_eq!(count(3, r#", "autocommit": false"#), 2);
        assert_eq!(count(4, r#", "autocommit": false"#), 1, "the next transaction");
        assert_eq!(count(3, ""), 0, "numbers of retryable writes are no transactions");
    }

    #[test]
    fn er_m_2_more_than_can_be_followed_is_not_known() {
        let crowd = (0..1100).map(|_| (0, "a", "items", SET.to_owned()));
        assert_eq!(record(crowd).written_together, None);
    }
}
