//! Sequences of operations on one session: reads of two collections for one request, and reads of a
//! document that is then updated. Bounded: inactive sessions are dropped.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Comparison, Namespace, Operation, Predicate, QueryShape, ReadSequence, Value};

use crate::{entry::Ran, shape::filter_of, update::overwrites};

/// The maximum time between operations of one request.
const WINDOW_MS: i64 = 1000;
/// The maximum number of sessions tracked at a time.
const SESSIONS: usize = 4096;
/// The maximum number of pairs of collections.
const PAIRS: usize = 2000;

/// The maximum number of collections in one request that are tracked after the first one.
const FOLLOWERS: usize = 16;
/// The maximum number of fields by which a second collection is queried.
const FIELDS: usize = 8;
/// The placeholder for values on a server that redacts its log.
const REDACTED: &str = "###";

/// The state of a session.
#[derive(Debug, Default)]
struct Session {
    ended: i64,
    /// The collection of the request's first read.
    first: Option<Namespace>,
    /// The collections read after it.
    then: Vec<Follower>,
}

/// A collection that a request reads after its first one.
#[derive(Debug)]
struct Follower {
    namespace: Namespace,
    /// The ways in which it was read, each with the fields of the filter.
    ways: Vec<(Way, Vec<String>)>,
    /// True if it was read several times in the same way.
    is_repeated: bool,
}

/// The kind of result that a read returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Documents.
    Documents,
    /// A few documents in an order, such as the newest ones.
    Few,
    /// A number, a sum or an average.
    Figure,
}

/// The maximum number of documents that a parent could hold as a preview.
const FEW: i64 = 20;

impl Way {
    fn of(shape: &QueryShape, command: &Value) -> Self {
        let number = |key| command.get(key).and_then(Value::as_int);
        let is_few = number("limit").is_some_and(|limit| (1..=FEW).contains(&limit.abs()))
            && number("skip").is_none_or(|skip| skip == 0);
        match shape {
            shape if shape.computes => Self::Figure,
            shape if is_few && !shape.sort.is_empty() => Self::Few,
            _ => Self::Documents,
        }
    }
}

impl Follower {
    /// Whether a few documents and a figure of the same documents were read.
    fn is_preview(&self) -> bool {
        let few = self.ways.iter().filter(|(way, _)| *way == Way::Few);
        few.into_iter().any(|(_, by)| self.ways.contains(&(Way::Figure, by.clone())))
    }
}

/// The last document that a connection read by its `_id`.
#[derive(Debug)]
struct LastRead {
    ended: i64,
    document: (Namespace, String),
}

/// Reads of a second collection after a first one.
#[derive(Debug, Default)]
struct Pair {
    requests: u64,
    following: u64,
    repeated: u64,
    previews: u64,
    by: BTreeSet<String>,
}

/// All sessions and the sequences they showed.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: BTreeMap<String, Session>,
    /// By connection, because updates are recorded without their session.
    last_reads: BTreeMap<String, LastRead>,
    pairs: BTreeMap<(Namespace, Namespace), Pair>,
    reads: BTreeMap<Namespace, u64>,
    read_then_write: BTreeMap<Namespace, u64>,
}

impl Sessions {
    /// Records an operation.
    pub(crate) fn note(&mut self, ran: &Ran, shape: &QueryShape, command: &Value) {
        let (began, ended) = (ran.at - ran.millis as i64, ran.at);
        if shape.operation.is_read() {
            *self.reads.entry(shape.namespace.clone()).or_default() += 1;
        }
        self.follow(ran, shape, command);
        let Some(name) = ran.session.as_deref() else { return };
        if self.open.len() >= SESSIONS && !self.open.contains_key(name) {
            self.open.retain(|_, s| began - s.ended <= WINDOW_MS);
            if self.open.len() >= SESSIONS {
                return;
            }
        }
        let session = self.open.entry(name.to_owned()).or_default();
        if began - session.ended > WINDOW_MS {
            *session = Session::default();
        }
        session.ended = ended;
        if shape.operation.is_read() {
            self.read(name, shape, command);
        }
    }

    /// Counts an update of the document that the same connection read immediately before.
    fn follow(&mut self, ran: &Ran, shape: &QueryShape, command: &Value) {
        let Some(connection) = &ran.connection else { return };
        let began = ran.at - ran.millis as i64;
        match shape.operation {
            Operation::Find => {
                self.last_reads.remove(connection);
                // In a transaction no other client can change the document in the meantime.
                let is_one = ran.returned <= 1;
                let Some(id) = named(shape, command).filter(|_| !ran.in_transaction && is_one)
                else {
                    return;
                };
                if self.last_reads.len() >= SESSIONS {
                    self.last_reads.retain(|_, read| began - read.ended <= WINDOW_MS);
                }
                if self.last_reads.len() < SESSIONS {
                    let document = (shape.namespace.clone(), id);
                    self.last_reads
                        .insert(connection.clone(), LastRead { ended: ran.at, document });
                }
            }
            Operation::Update => {
                let read = self.last_reads.remove(connection);
                if let (Some(read), Some(id)) = (read, named(shape, command))
                    && began - read.ended <= WINDOW_MS
                    && read.document == (shape.namespace.clone(), id)
                    && is_unguarded(shape, command)
                {
                    *self.read_then_write.entry(shape.namespace.clone()).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, name: &str, shape: &QueryShape, command: &Value) {
        let Some(session) = self.open.get_mut(name) else { return };
        let namespace = &shape.namespace;
        let Some(first) = &session.first else {
            session.first = Some(namespace.clone());
            return;
        };
        if first == namespace {
            // Another read of the first collection starts the next request.
            session.then.clear();
            return;
        }
        let key = (first.clone(), namespace.clone());
        if self.pairs.len() >= PAIRS && !self.pairs.contains_key(&key) {
            return;
        }
        let pair = self.pairs.entry(key).or_default();
        let has_room = session.then.len() < FOLLOWERS;
        let by = shape.filter.iter().map(|asked| asked.path.clone()).collect();
        let way = (Way::of(shape, command), by);
        match session.then.iter_mut().find(|then| then.namespace == *namespace) {
            Some(then) if then.ways.contains(&way) => {
                pair.repeated += u64::from(!then.is_repeated);
                then.is_repeated = true;
            }
            Some(then) => {
                let was_preview = then.is_preview();
                then.ways.push(way);
                pair.previews += u64::from(then.is_preview() && !was_preview);
            }
            None if has_room => {
                pair.requests += 1;
                let namespace = namespace.clone();
                session.then.push(Follower { namespace, ways: vec![way], is_repeated: false });
            }
            None => return,
        }
        pair.following += 1;
        for asked in shape.filter.iter().filter(|p| fixes_value(p.comparison)) {
            if pair.by.len() < FIELDS {
                pair.by.insert(asked.path.clone());
            }
        }
    }

    /// Drops the state of all sessions; the counts remain.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
        self.last_reads.clear();
    }

    pub(crate) fn finish(self) -> (Vec<ReadSequence>, Vec<(Namespace, u64)>) {
        let reads = |namespace: &Namespace| self.reads.get(namespace).copied().unwrap_or(0);
        let sequences = self
            .pairs
            .iter()
            .map(|((first, then), pair)| ReadSequence {
                reads: (reads(first), reads(then)),
                first: first.clone(),
                then: then.clone(),
                count: pair.requests,
                following: pair.following,
                repeated: pair.repeated,
                previews: pair.previews,
                by: pair.by.iter().cloned().collect(),
            })
            .collect();
        (sequences, self.read_then_write.into_iter().collect())
    }
}

fn fixes_value(comparison: Comparison) -> bool {
    matches!(comparison, Comparison::Equality | Comparison::OneOf | Comparison::OneOfMany)
}

/// Returns whether an update overwrites changes that another client may have made since the read:
/// it computes nothing on the server, and filters only by `_id`, so it does not check a version.
fn is_unguarded(shape: &QueryShape, command: &Value) -> bool {
    shape.filter.len() == 1 && !shape.branches && command.get("u").is_some_and(overwrites)
}

/// The single document that an operation identifies, as text: by its `_id`, or by one value of one
/// field if that matched no other document.
fn named(shape: &QueryShape, command: &Value) -> Option<String> {
    let is_equal = |p: &&Predicate| p.comparison == Comparison::Equality;
    let by_id = shape.filter.iter().filter(is_equal).find(|p| p.path == "_id");
    let is_many = command.get("multi").is_some_and(Value::is_truthy);
    let alone = || match &shape.filter[..] {
        [only] if !shape.branches && !is_many => Some(only).filter(is_equal),
        _ => None,
    };
    let by = by_id.or_else(alone)?;
    let value = filter_of(command)?.get(&by.path)?;
    (value.as_text() != Some(REDACTED)).then(|| format!("{}: {value:?}", by.path))
}
