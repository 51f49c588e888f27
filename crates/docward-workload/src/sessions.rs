//! What follows what on one session: reads of two collections for one request, and reads of a
//! document that is then changed. Bounded: sessions not heard of for a while are forgotten.

use std::collections::BTreeMap;

use docward_model::{Comparison, Namespace, Operation, QueryShape, ReadSequence, Value};

/// Operations closer than this belong to one request.
const WINDOW_MS: i64 = 1000;
/// Sessions remembered at a time.
const SESSIONS: usize = 4096;
/// Pairs of collections told apart.
const PAIRS: usize = 2000;

/// What is remembered of a session.
#[derive(Debug, Default)]
struct Session {
    ended: i64,
    /// The collection the request began with.
    first: Option<Namespace>,
    /// The collection read last after it.
    then: Option<Namespace>,
    /// Whether that one was counted as read several times.
    repeated: bool,
    /// The document read last by its `_id`.
    document: Option<(Namespace, String)>,
}

/// Sessions and what they showed.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    open: BTreeMap<String, Session>,
    pairs: BTreeMap<(Namespace, Namespace), (u64, u64)>,
    reads: BTreeMap<Namespace, u64>,
    read_then_write: BTreeMap<Namespace, u64>,
}

impl Sessions {
    /// Takes in an operation that ran from `began` to `ended`.
    pub(crate) fn note(
        &mut self,
        session: Option<&str>,
        began: i64,
        ended: i64,
        shape: &QueryShape,
        command: &Value,
    ) {
        if shape.operation.is_read() {
            *self.reads.entry(shape.namespace.clone()).or_default() += 1;
        }
        let Some(name) = session else { return };
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
        let id = id_of(shape, command);
        match shape.operation {
            Operation::Find => session.document = id.map(|id| (shape.namespace.clone(), id)),
            Operation::Update => {
                if let Some(id) = id
                    && session.document.take() == Some((shape.namespace.clone(), id))
                {
                    *self.read_then_write.entry(shape.namespace.clone()).or_default() += 1;
                }
            }
            _ => {}
        }
        if !shape.operation.is_read() {
            return;
        }
        let namespace = &shape.namespace;
        match (&session.first, &session.then) {
            (None, _) => session.first = Some(namespace.clone()),
            // Back at the collection it began with: the next request.
            (Some(first), Some(_)) if first == namespace => {
                session.then = None;
                session.repeated = false;
            }
            (Some(first), _) if first == namespace => {}
            (Some(first), Some(then)) if then == namespace => {
                if !session.repeated
                    && let Some(pair) = self.pairs.get_mut(&(first.clone(), then.clone()))
                {
                    pair.1 += 1;
                    session.repeated = true;
                }
            }
            (Some(first), _) => {
                let key = (first.clone(), namespace.clone());
                if self.pairs.len() < PAIRS || self.pairs.contains_key(&key) {
                    self.pairs.entry(key).or_default().0 += 1;
                }
                session.then = Some(namespace.clone());
                session.repeated = false;
            }
        }
    }

    /// Forgets what is going on; what was counted stays.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
    }

    pub(crate) fn finish(self) -> (Vec<ReadSequence>, Vec<(Namespace, u64)>) {
        let reads = |namespace: &Namespace| self.reads.get(namespace).copied().unwrap_or(0);
        let sequences = self
            .pairs
            .iter()
            .map(|((first, then), &(count, repeated))| ReadSequence {
                reads: (reads(first), reads(then)),
                first: first.clone(),
                then: then.clone(),
                count,
                repeated,
            })
            .collect();
        (sequences, self.read_then_write.into_iter().collect())
    }
}

/// The `_id` an operation names, as text.
fn id_of(shape: &QueryShape, command: &Value) -> Option<String> {
    let by_id =
        |p: &docward_model::Predicate| p.path == "_id" && p.comparison == Comparison::Equality;
    if !shape.filter.iter().any(by_id) {
        return None;
    }
    let filter = ["filter", "query", "q"].iter().find_map(|key| command.get(key))?;
    filter.get("_id").map(|id| format!("{id:?}"))
}
