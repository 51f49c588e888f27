//! Adds up entries in bounded memory.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    AccessControl, ConnectionHistory, Coverage, Failure, Namespace, Operation, QueryShape,
    QueryStats, Running, Value, Workload, WorkloadKind, WorkloadSource,
};

use crate::{
    entry::{Entry, Error, Ran},
    own::is_own,
    refusals::{Refusals, by_count},
    sessions::Sessions,
    shape::shape_of,
    totals::Totals,
    writes::Writes,
};

/// The maximum number of shapes; operations of further ones are only counted.
const SHAPES: usize = 4000;
/// The maximum number of distinct errors.
const FAILURES: usize = 1000;
/// The maximum number of open connections tracked, and of lifetimes kept.
const CONNECTIONS: usize = 50_000;
/// The maximum number of applications per shape.
const APPLICATIONS: usize = 8;

/// The maximum number of cursors and of index keys tracked.
const CURSORS: usize = 50_000;
const INDEXES: usize = 8;
/// The maximum number of databases per source whose fast operations are counted.
const DATABASES: usize = 2000;
/// Reports of the same size within this time concern the same document.
const SAME_MS: i64 = 1000;

/// The namespace of an error, the failed operation, its code and name, and whether a document was
/// too large.
type FailureKey = (Option<Namespace>, Option<Operation>, i64, String, bool);

/// Collects a workload.
#[derive(Debug, Default)]
pub struct Recorder {
    shapes: BTreeMap<QueryShape, Sums>,
    other: u64,
    sessions: Sessions,
    failures: BTreeMap<FailureKey, (u64, Option<u64>)>,
    /// Sizes reported outside operations, with the time and the key.
    complaints: BTreeMap<u64, (i64, FailureKey)>,
    /// Cursors of which the first batch, or a later one, was recorded.
    cursors: BTreeSet<i64>,
    connections: Connections,
    refusals: Refusals,
    writes: Writes,
    /// Operations by source and database, and how many of them were fast.
    coverage: BTreeMap<(usize, String), (u64, u64)>,
    span: Option<(i64, i64)>,
    sources: Vec<WorkloadSource>,
}

#[derive(Debug, Default)]
struct Sums {
    count: u64,
    millis: (u64, u64),
    keys_examined: u64,
    documents_examined: u64,
    most_examined: u64,
    returned: u64,
    idle: u64,
    response_bytes: u64,
    collection_scans: u64,
    documents_scanned: u64,
    most_scanned: u64,
    sorts: u64,
    sorted: u64,
    scattered: (u64, u64),
    indexes_used: BTreeSet<String>,
    applications: BTreeMap<String, u64>,
    running: Running,
}

#[derive(Debug, Default)]
struct Connections {
    history: ConnectionHistory,
    began: BTreeMap<i64, i64>,
    lifetimes: Vec<u64>,
    /// Docward's own connections.
    own: BTreeSet<i64>,
    minute: (i64, u64),
    /// The times of the first and the last connection of this source.
    span: Option<(i64, i64)>,
}

impl Recorder {
    /// Creates an empty recorder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the entries of another log or collection.
    pub fn begin(&mut self, name: &str, kind: WorkloadKind) {
        self.sources.push(WorkloadSource {
            name: name.to_owned(),
            kind,
            entries: 0,
            operations: 0,
            server_version: None,
            server: None,
            access_control: None,
        });
        // Connection numbers and sessions have another meaning on another server.
        self.connections.end_source();
        self.sessions.forget();
        self.writes.forget();
        self.cursors.clear();
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: Entry) {
        if let Some(source) = self.sources.last_mut() {
            source.entries += 1;
            match &entry {
                Entry::Version(major, minor) => source.server_version = Some((*major, *minor)),
                Entry::Started { server } => {
                    source.server = server.clone().or_else(|| source.server.take());
                    source.access_control = None;
                }
                // A server that starts with access control and permits clients without a login logs
                // both.
                Entry::AccessControl(said) => {
                    let off = source.access_control.is_some_and(|before| !before.on);
                    source.access_control = Some(AccessControl { on: said.on && !off, ..*said });
                }
                _ => {}
            }
        }
        match entry {
            // Docward's own operations are not part of the workload, in any source.
            Entry::Ran(ran) if ran.application.as_deref().is_some_and(is_own) => {}
            Entry::Totals(totals) if totals.application.as_deref().is_some_and(is_own) => {}
            Entry::Ran(ran) if ran.running => self.running(&ran),
            Entry::Ran(ran) => self.ran(&ran),
            Entry::Totals(totals) => self.totals(&totals),
            Entry::Accepted { at, connection, open } => {
                self.saw(at);
                self.connections.accepted(at, connection, open);
            }
            Entry::Ended { at, connection } => {
                self.saw(at);
                self.connections.ended(at, connection);
            }
            Entry::Client { connection, application } if is_own(&application) => {
                self.connections.leave_out(connection);
            }
            Entry::TooLarge { at, namespace, error } => self.complained(at, namespace, error),
            Entry::Client { .. }
            | Entry::Version(..)
            | Entry::Started { .. }
            | Entry::AccessControl(_)
            | Entry::Other => {}
        }
    }

    /// The number of client operations since the last [`Recorder::begin`].
    pub fn operations_of_source(&self) -> u64 {
        self.sources.last().map_or(0, |source| source.operations)
    }

    fn saw(&mut self, at: i64) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    fn failed(&mut self, key: FailureKey, bytes: Option<u64>) {
        if self.failures.len() < FAILURES || self.failures.contains_key(&key) {
            let (count, most) = self.failures.entry(key).or_default();
            *count += 1;
            *most = (*most).max(bytes);
        }
    }

    /// Records a report outside an operation. The server may log several lines about one document,
    /// and the line of the operation after them.
    fn complained(&mut self, at: i64, namespace: Option<Namespace>, error: Error) {
        let key = (namespace, None, error.code, error.name, error.too_large);
        if let Some(bytes) = error.bytes {
            if let Some((then, _)) = self.complaints.get_mut(&bytes)
                && at - *then <= SAME_MS
            {
                // Already counted, under the key of the first line.
                *then = at;
                return;
            }
            if self.complaints.len() < FAILURES || self.complaints.contains_key(&bytes) {
                self.complaints.insert(bytes, (at, key.clone()));
            }
        }
        self.failed(key, error.bytes);
    }

    fn operation_failed(&mut self, ran: &Ran, operation: Operation) {
        let Some(error) = &ran.error else { return };
        let complaint = error.bytes.and_then(|bytes| self.complaints.remove(&bytes));
        if let Some((at, key)) = complaint
            && ran.at - at <= SAME_MS
            && let Some((count, _)) = self.failures.get_mut(&key)
        {
            *count -= 1;
            if *count == 0 {
                self.failures.remove(&key);
            }
        }
        let key = (
            ran.namespace.clone(),
            Some(operation),
            error.code,
            error.name.clone(),
            error.too_large,
        );
        self.failed(key, error.bytes);
    }

    /// Records an operation that has not finished: its cost is not known yet.
    fn running(&mut self, ran: &Ran) {
        let (Some(namespace), Some(command)) = (&ran.namespace, &ran.command) else { return };
        let Some(shape) = shape_of(namespace, ran.originating.as_ref().unwrap_or(command)) else {
            return;
        };
        if let Some(source) = self.sources.last_mut() {
            source.operations += 1;
        }
        if self.shapes.len() < SHAPES || self.shapes.contains_key(&shape) {
            let sums = self.shapes.entry(shape).or_default();
            sums.running.operations += 1;
            sums.running.collection_scans += u64::from(is_scan(ran));
            sums.running.most_millis = sums.running.most_millis.max(ran.millis);
            sums.sent_by(ran.application.as_ref(), 1);
        }
    }

    /// Adds operations that the server has added up.
    fn totals(&mut self, totals: &Totals) {
        let Some(shape) = shape_of(&totals.namespace, &totals.command) else { return };
        if let Some((first, last)) = totals.span {
            self.saw(first);
            self.saw(last);
        }
        if let Some(source) = self.sources.last_mut() {
            source.operations += totals.count;
        }
        if self.shapes.len() >= SHAPES && !self.shapes.contains_key(&shape) {
            self.other += totals.count;
            return;
        }
        let returns_all = returns_all(&shape);
        self.shapes.entry(shape).or_default().add_totals(totals, returns_all);
    }

    fn ran(&mut self, ran: &Ran) {
        self.saw(ran.at);
        let before = self.operations_of_source();
        let refused = self.refusals.note(self.sources.len().saturating_sub(1), ran);
        self.statements(ran);
        // Servers refuse whole commands, without recording their statements.
        if refused
            && self.operations_of_source() == before
            && let Some(source) = self.sources.last_mut()
        {
            source.operations += 1;
        }
        if self.operations_of_source() > before {
            self.covered(ran);
        }
        self.writes.command(ran);
    }

    /// Counts an operation for its database. A refused operation does not represent the others.
    fn covered(&mut self, ran: &Ran) {
        let Some(namespace) = ran.namespace.as_ref().filter(|_| ran.error.is_none()) else {
            return;
        };
        let key = (self.sources.len().saturating_sub(1), namespace.database.clone());
        if self.coverage.len() < DATABASES || self.coverage.contains_key(&key) {
            let (operations, instant) = self.coverage.entry(key).or_default();
            *operations += 1;
            *instant += u64::from(ran.millis == 0);
        }
    }

    fn statements(&mut self, ran: &Ran) {
        let Some(command) = &ran.command else { return };
        // Servers record the statements of an update or delete one by one, routers the whole
        // command.
        let statements = ["updates", "deletes"].iter().find_map(|key| command.get(key));
        match statements {
            Some(statements) if ran.shards.is_some() => match statements.items() {
                [only] => self.operation(ran, only),
                several => {
                    let each = Ran { error: None, ..ran.without_figures() };
                    several.iter().for_each(|statement| self.operation(&each, statement));
                }
            },
            _ => self.operation(ran, command),
        }
    }

    fn operation(&mut self, ran: &Ran, command: &Value) {
        let Some(namespace) = &ran.namespace else { return };
        let continued = ran.originating.as_ref();
        let Some(shape) = shape_of(namespace, continued.unwrap_or(command)) else {
            // A document that was too large is often too long to be recorded.
            if let Some(operation) = ran.truncated_write {
                self.operation_failed(ran, operation);
                if let Some(source) = self.sources.last_mut() {
                    source.operations += 1;
                }
            }
            return;
        };
        self.operation_failed(ran, shape.operation);
        if let Some(source) = self.sources.last_mut() {
            source.operations += 1;
        }
        // Further batches belong to the operation that opened the cursor, if that was recorded.
        let known = match ran.cursor {
            Some(cursor) if self.cursors.len() < CURSORS => !self.cursors.insert(cursor),
            Some(cursor) => self.cursors.contains(&cursor),
            None => false,
        };
        if continued.is_none() {
            self.sessions.note(ran, &shape, command);
            self.writes.statement(ran, &shape);
        }
        if self.shapes.len() >= SHAPES && !self.shapes.contains_key(&shape) {
            self.other += 1;
            return;
        }
        let returns_all = returns_all(&shape) && ran.cursor.is_none();
        let sums = self.shapes.entry(shape).or_default();
        sums.add(ran, continued.is_none() || !known, returns_all);
    }

    /// Returns the workload.
    pub fn finish(self) -> Workload {
        let (sequences, read_then_write) = self.sessions.finish();
        Workload {
            sources: self.sources,
            span: self.span,
            shapes: self
                .shapes
                .into_iter()
                .map(|(shape, sums)| QueryStats {
                    shape,
                    count: sums.count,
                    millis: sums.millis,
                    keys_examined: sums.keys_examined,
                    documents_examined: sums.documents_examined,
                    most_examined: sums.most_examined,
                    returned: sums.returned,
                    idle: sums.idle,
                    response_bytes: sums.response_bytes,
                    documents_scanned: sums.documents_scanned,
                    most_scanned: sums.most_scanned,
                    sorted: sums.sorted,
                    collection_scans: sums.collection_scans,
                    sorts: sums.sorts,
                    scattered: sums.scattered,
                    indexes_used: sums.indexes_used.into_iter().collect(),
                    applications: by_count(sums.applications),
                    running: sums.running,
                })
                .collect(),
            other_operations: self.other,
            sequences,
            read_then_write,
            failures: self
                .failures
                .into_iter()
                .map(|((namespace, operation, code, name, too_large), (count, bytes))| Failure {
                    namespace,
                    operation,
                    code,
                    name,
                    count,
                    bytes,
                    too_large,
                })
                .collect(),
            connections: self.connections.finish(),
            refusals: self.refusals.finish(),
            coverage: self
                .coverage
                .into_iter()
                .map(|((source, database), (operations, instant))| Coverage {
                    source,
                    database,
                    operations,
                    instant,
                })
                .collect(),
            written_together: self.writes.finish(),
        }
    }
}

/// Returns whether operations of a shape return everything that they sort.
fn returns_all(shape: &QueryShape) -> bool {
    shape.operation == Operation::Find && !shape.limited
}

/// Returns whether the plan scans the whole collection.
fn is_scan(ran: &Ran) -> bool {
    let plan = ran.plan.as_deref().unwrap_or_default();
    plan.split_whitespace().any(|word| word.trim_end_matches(',') == "COLLSCAN")
}

impl Sums {
    /// Adds an operation, or another batch of one that was counted before.
    fn add(&mut self, ran: &Ran, is_new: bool, returns_all: bool) {
        self.millis = (self.millis.0 + ran.millis, self.millis.1.max(ran.millis));
        self.keys_examined += ran.keys_examined;
        self.documents_examined += ran.documents_examined;
        self.most_examined = self.most_examined.max(ran.documents_examined);
        if is_scan(ran) {
            self.documents_scanned += ran.documents_examined;
            self.most_scanned = self.most_scanned.max(ran.documents_examined);
        }
        self.returned += ran.returned;
        self.response_bytes += ran.response_bytes;
        for keys in index_keys(ran.plan.as_deref().unwrap_or_default()) {
            if self.indexes_used.len() < INDEXES {
                self.indexes_used.insert(keys.to_owned());
            }
        }
        if !is_new {
            return;
        }
        self.count += 1;
        self.idle += u64::from(ran.idle);
        self.collection_scans += u64::from(is_scan(ran));
        if ran.sorted {
            let examined = ran.documents_examined.max(ran.keys_examined);
            self.sorts += 1;
            self.sorted += if returns_all { ran.returned.min(examined) } else { examined };
        }
        if let Some(shards) = ran.shards {
            self.scattered.0 += u64::from(shards > 2);
            self.scattered.1 += 1;
        }
        self.sent_by(ran.application.as_ref(), 1);
    }

    fn add_totals(&mut self, totals: &Totals, returns_all: bool) {
        self.count += totals.count;
        self.millis = (self.millis.0 + totals.millis.0, self.millis.1.max(totals.millis.1));
        self.keys_examined += totals.keys_examined;
        self.documents_examined += totals.documents_examined.0;
        self.most_examined = self.most_examined.max(totals.documents_examined.1);
        self.returned += totals.returned;
        if totals.scans {
            self.collection_scans += totals.count;
            self.documents_scanned += totals.documents_examined.0;
            self.most_scanned = self.most_scanned.max(totals.documents_examined.1);
        }
        let examined = totals.documents_examined.0.max(totals.keys_examined);
        let sorted = if returns_all { totals.returned.min(examined) } else { examined };
        self.sorts += totals.sorts;
        self.sorted += sorted / totals.count.max(1) * totals.sorts;
        self.sent_by(totals.application.as_ref(), totals.count);
    }

    fn sent_by(&mut self, application: Option<&String>, times: u64) {
        if let Some(application) = application
            && (self.applications.len() < APPLICATIONS
                || self.applications.contains_key(application))
        {
            *self.applications.entry(application.clone()).or_default() += times;
        }
    }
}

/// The keys in `IXSCAN { a: 1, b: -1 }, IXSCAN { c: 1 }`.
fn index_keys(plan: &str) -> impl Iterator<Item = &str> {
    plan.split("IXSCAN ").skip(1).filter_map(|rest| Some(&rest[..=rest.find('}')?]))
}

fn minute_of(at: i64) -> i64 {
    at.div_euclid(60_000)
}

impl Connections {
    fn accepted(&mut self, at: i64, connection: i64, open: u64) {
        self.history.accepted += 1;
        self.history.most_open = self.history.most_open.max(open);
        self.own.remove(&connection);
        let minute = minute_of(at);
        if self.minute.0 != minute {
            self.end_minute();
            self.minute.0 = minute;
        }
        self.minute.1 += 1;
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        if self.began.len() < CONNECTIONS {
            self.began.insert(connection, at);
        }
    }

    /// Removes a connection of Docward itself, which sends its name as soon as it connects.
    fn leave_out(&mut self, connection: i64) {
        if self.own.len() >= CONNECTIONS || !self.own.insert(connection) {
            return;
        }
        if let Some(began) = self.began.remove(&connection) {
            self.history.accepted -= 1;
            if minute_of(began) == self.minute.0 {
                self.minute.1 = self.minute.1.saturating_sub(1);
            }
        }
    }

    fn ended(&mut self, at: i64, connection: i64) {
        if self.own.remove(&connection) {
            return;
        }
        self.history.ended += 1;
        if let Some(began) = self.began.remove(&connection)
            && self.lifetimes.len() < CONNECTIONS
        {
            self.lifetimes.push((at - began).max(0) as u64);
        }
    }

    /// Finishes the count of the last minute.
    fn end_minute(&mut self) {
        self.history.most_per_minute = self.history.most_per_minute.max(self.minute.1);
        self.minute = (0, 0);
    }

    /// The next entries are from another server or another time.
    fn end_source(&mut self) {
        if let Some((first, last)) = self.span.take() {
            self.history.millis += (last - first).unsigned_abs();
        }
        self.began.clear();
        self.own.clear();
        self.end_minute();
    }

    fn finish(mut self) -> ConnectionHistory {
        self.end_source();
        if !self.lifetimes.is_empty() {
            let middle = self.lifetimes.len() / 2;
            let (_, median, _) = self.lifetimes.select_nth_unstable(middle);
            let median = *median;
            self.history.lifetimes = Some((self.lifetimes.len() as u64, median));
        }
        self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_entry;

    fn record(lines: &[String]) -> Workload {
        let mut recorder = Recorder::new();
        recorder.begin("test", WorkloadKind::Log);
        for line in lines {
            let document = docward_bson::json::parse_one(line).expect("a line");
            let value = docward_bson::value::to_value(&document).expect("BSON");
            recorder.add(log_entry(&value).expect("a log line"));
        }
        recorder.finish()
    }

    fn ran(second: u32, ctx: &str, ns: &str, command: &str) -> String {
        format!(
            r#"{{"t":{{"$date":"2024-03-15T10:{:02}:{:02}.000Z"}},"s":"I","c":"COMMAND","id":51803,"ctx":"{ctx}","msg":"Slow query","attr":{{"type":"command","ns":"{ns}","command":{command},"docsExamined":10,"nreturned":1,"planSummary":"COLLSCAN","durationMillis":5}}}}"#,
            second / 60,
            second % 60
        )
    }

    #[test]
    fn dp_1_reads_of_one_request_are_put_together() {
        let mut lines = Vec::new();
        for n in 0..10 {
            let at = n * 5;
            lines.push(ran(at, "conn1", "shop.orders", r#"{"find":"orders","filter":{"_id":1}}"#));
            lines.push(ran(
                at,
                "conn1",
                "shop.items",
                r#"{"find":"items","filter":{"orderId":1}}"#,
            ));
            lines.push(ran(
                at,
                "conn1",
                "shop.items",
                r#"{"find":"items","filter":{"orderId":2}}"#,
            ));
            lines.push(ran(at, "conn2", "shop.users", r#"{"find":"users","filter":{"_id":1}}"#));
        }
        let workload = record(&lines);
        assert_eq!(workload.sequences.len(), 1);
        let pair = &workload.sequences[0];
        assert_eq!(
            (pair.first.collection.as_str(), pair.then.collection.as_str()),
            ("orders", "items")
        );
        assert_eq!((pair.count, pair.reads, pair.repeated), (10, (10, 20), 10));
        assert_eq!((pair.following, pair.by.as_slice()), (20, &["orderId".to_owned()][..]));
        let items =
            &workload.shapes.iter().find(|s| s.shape.namespace.collection == "items").unwrap();
        assert_eq!((items.count, items.collection_scans, items.documents_examined), (20, 20, 200));
    }

    #[test]
    fn ck_15_read_then_write_of_one_document() {
        let lines = [
            ran(1, "conn1", "shop.stock", r#"{"find":"stock","filter":{"_id":7}}"#),
            ran(1, "conn1", "shop.stock", r#"{"q":{"_id":7},"u":{"$set":{"n":3}},"multi":false}"#),
            ran(2, "conn1", "shop.stock", r#"{"find":"stock","filter":{"_id":7}}"#),
            ran(2, "conn1", "shop.stock", r#"{"q":{"_id":8},"u":{"$set":{"n":3}},"multi":false}"#),
        ];
        let workload = record(&lines);
        assert_eq!(workload.read_then_write, [(Namespace::new("shop", "stock"), 1)]);
    }

    #[test]
    fn ap_s0_5_reads_that_follow_are_counted_apart_from_those_alone() {
        let mut lines = Vec::new();
        for n in 0..50 {
            let read = r#"{"find":"items","filter":{"sku":1}}"#;
            lines.push(ran(n * 5, &format!("conn{}", 100 + n), "shop.items", read));
        }
        for n in 0..20 {
            let order = r#"{"find":"orders","filter":{"_id":1}}"#;
            lines.push(ran(n * 5, "conn1", "shop.orders", order));
            for _ in 0..3 {
                let read = r#"{"find":"items","filter":{"orderId":1}}"#;
                lines.push(ran(n * 5, "conn1", "shop.items", read));
            }
        }
        let workload = record(&lines);
        let pair = &workload.sequences[0];
        assert_eq!((pair.count, pair.following, pair.reads.1, pair.repeated), (20, 60, 110, 20));
    }

    #[test]
    fn ck_15_updates_that_lose_nothing_are_no_read_then_write() {
        let find = r#"{"find":"stock","filter":{"_id":7}}"#;
        let in_transaction =
            r#"{"find":"stock","filter":{"_id":7},"startTransaction":true,"autocommit":false}"#;
        let redacted = r####"{"find":"stock","filter":{"_id":"###"}}"####;
        let count = |read: &str, write: &str| {
            let lines = [ran(1, "conn1", "shop.stock", read), ran(1, "conn1", "shop.stock", write)];
            record(&lines).read_then_write.len()
        };
        assert_eq!(count(find, r#"{"q":{"_id":7},"u":{"$set":{"n":3}}}"#), 1);
        assert_eq!(count(find, r#"{"q":{"_id":7},"u":{"n":3}}"#), 1, "a whole document");
        assert_eq!(count(find, r#"{"q":{"_id":7},"u":{"$inc":{"n":3}}}"#), 0);
        assert_eq!(count(find, r#"{"q":{"_id":7},"u":[{"$set":{"n":{"$add":["$n",1]}}}]}"#), 0);
        assert_eq!(count(find, r#"{"q":{"_id":7,"version":3},"u":{"$set":{"n":3}}}"#), 0);
        assert_eq!(count(in_transaction, r#"{"q":{"_id":7},"u":{"$set":{"n":3}}}"#), 0);
        assert_eq!(count(redacted, r####"{"q":{"_id":"###"},"u":{"$set":{"n":"###"}}}"####), 0);
        let by_name = r#"{"find":"stock","filter":{"sku":"A"}}"#;
        assert_eq!(count(by_name, r#"{"q":{"sku":"A"},"u":{"$set":{"n":3}},"multi":false}"#), 1);
        assert_eq!(count(by_name, r#"{"q":{"sku":"B"},"u":{"$set":{"n":3}},"multi":false}"#), 0);
        assert_eq!(count(by_name, r#"{"q":{"sku":"A"},"u":{"$set":{"n":3}},"multi":true}"#), 0);
        assert_eq!(count(by_name, r#"{"q":{"sku":"A","n":2},"u":{"$set":{"n":3}}}"#), 0);
    }

    #[test]
    fn ck_12_what_docward_did_itself_is_no_workload() {
        let line = |application: &str| {
            ran(1, "conn1", "shop.orders", r#"{"find":"orders","filter":{"a":1}}"#)
                .replace(r#""type":"command""#, &format!(r#""appName":"{application}""#))
        };
        let workload = record(&[line("docward"), line("docward nightly"), line("docwards")]);
        assert_eq!((workload.operations(), workload.sources[0].entries), (1, 3));
        assert_eq!(workload.shapes[0].applications, [("docwards".to_owned(), 1)]);
    }

    #[test]
    fn ck_12_running_operations_are_in_no_other_figure() {
        let line = ran(1, "conn1", "shop.orders", r#"{"find":"orders","filter":{"a":1}}"#);
        let document = docward_bson::json::parse_one(&line).expect("a line");
        let value = docward_bson::value::to_value(&document).expect("BSON");
        let Some(Entry::Ran(ran)) = log_entry(&value) else { panic!("an operation") };
        let mut recorder = Recorder::new();
        recorder.begin("test", WorkloadKind::Running);
        recorder.add(Entry::Ran(Box::new(Ran { running: true, ..*ran })));
        let workload = recorder.finish();
        let stats = &workload.shapes[0];
        assert_eq!((workload.operations(), workload.running(), stats.count), (0, 1, 0));
        assert_eq!((stats.running.collection_scans, stats.running.most_millis), (1, 5));
        assert_eq!(stats.documents_examined, 0);
    }

    #[test]
    fn ck_12_further_batches_belong_to_the_operation_that_began() {
        let line = |command: &str, rest: &str| {
            format!(
                r#"{{"t":{{"$date":"2024-03-15T10:00:01.000Z"}},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"type":"command","ns":"shop.orders","command":{command},{rest},"planSummary":"COLLSCAN","nreturned":1,"durationMillis":5}}}}"#
            )
        };
        let find = r#"{"find":"orders","filter":{"status":"x"}}"#;
        let more = format!(r#""originatingCommand":{find},"docsExamined":9000"#);
        let first = line(find, r#""cursorid":77,"docsExamined":100"#);
        let next = line(r#"{"getMore":77,"collection":"orders"}"#, &more);
        let workload = record(&[first, next.clone(), next.clone()]);
        assert_eq!(workload.shapes.len(), 1);
        let stats = &workload.shapes[0];
        assert_eq!((stats.count, stats.collection_scans), (1, 1));
        assert_eq!((stats.most_examined, stats.documents_examined), (9000, 18_100));
        // Only the slow batches are in the log.
        let stats = &record(&[next.clone(), next]).shapes[0];
        assert_eq!((stats.count, stats.shape.filter.len()), (1, 1));
    }

    #[test]
    fn routers_write_whole_updates_and_deletes() {
        let line = |command: &str, shards: &str| {
            format!(
                r#"{{"t":{{"$date":"2024-03-15T10:00:01.000Z"}},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"type":"command","ns":"shop.orders","command":{command}{shards},"durationMillis":5}}}}"#
            )
        };
        let update = r#"{"update":"orders","updates":[{"q":{"_id":1},"u":{"$push":{"log":1}}}]}"#;
        let delete = r#"{"delete":"orders","deletes":[{"q":{"a":1},"limit":0},{"q":{"b":1}}]}"#;
        let routed = r#","nShards":3"#;
        let workload = record(&[line(update, routed), line(delete, routed)]);
        assert_eq!(workload.shapes.len(), 3);
        assert!(workload.shapes.iter().any(|s| s.shape.pushes.len() == 1));
        // A server also records the statements.
        assert!(record(&[line(update, "")]).shapes.is_empty());
    }

    #[test]
    fn lm_2_one_document_is_one_failure_however_many_lines_tell_of_it() {
        let text = "BSONObjectTooLarge: BSONObj size: 17825822 (0x110001E) is invalid.";
        let told = format!(
            r#"{{"t":{{"$date":"2024-03-15T10:00:01.000Z"}},"s":"I","c":"X","id":23077,"ctx":"conn1","msg":"Assertion","attr":{{"error":"{text}"}}}}"#
        );
        let failed = format!(
            r#"{{"t":{{"$date":"2024-03-15T10:00:01.100Z"}},"s":"I","c":"X","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"ns":"shop.a","command":{{"insert":"a"}},"errCode":10334,"errName":"BSONObjectTooLarge","errMsg":"{text}"}}}}"#
        );
        let failures = record(&[told.clone(), told.clone(), failed]).failures;
        assert_eq!(failures.len(), 1);
        assert_eq!((failures[0].count, failures[0].operation), (1, Some(Operation::Insert)));
        let failures = record(&[told.clone(), told]).failures;
        assert_eq!((failures.len(), failures[0].count, failures[0].operation), (1, 1, None));
    }

    #[test]
    fn lm_2_lines_with_and_without_a_namespace_are_about_one_document() {
        let text = "BSONObjectTooLarge: BSONObj size: 17825822 (0x110001E) is invalid.";
        let told = |attr: &str| {
            format!(
                r#"{{"t":{{"$date":"2024-03-15T10:00:01.000Z"}},"s":"I","c":"X","id":23077,"ctx":"conn1","msg":"Assertion","attr":{{"error":"{text}"{attr}}}}}"#
            )
        };
        let failed = format!(
            r#"{{"t":{{"$date":"2024-03-15T10:00:01.100Z"}},"s":"I","c":"X","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"ns":"shop.a","command":{{"insert":"a"}},"errCode":10334,"errName":"BSONObjectTooLarge","errMsg":"{text}"}}}}"#
        );
        let lines = [told(""), told(r#","namespace":"shop.a""#), failed];
        let failures = record(&lines).failures;
        assert_eq!(failures.iter().map(|f| f.count).collect::<Vec<_>>(), [1], "{failures:?}");
    }

    #[test]
    fn ck_12_scans_and_sorts_have_figures_of_their_own() {
        let line = |plan: &str, examined: u32, rest: &str| {
            format!(
                r#"{{"t":{{"$date":"2024-03-15T10:00:01.000Z"}},"s":"I","c":"COMMAND","id":51803,"ctx":"conn1","msg":"Slow query","attr":{{"type":"command","ns":"shop.a","command":{{"find":"a","filter":{{"b":1}},"sort":{{"c":1}}}},"docsExamined":{examined},"nreturned":7,"hasSortStage":true{rest},"planSummary":"{plan}","durationMillis":5}}}}"#
            )
        };
        let workload = record(&[line("COLLSCAN", 8, ""), line("IXSCAN { b: 1 }", 40_000, "")]);
        let stats = &workload.shapes[0];
        assert_eq!((stats.most_examined, stats.most_scanned), (40_000, 8));
        assert_eq!((stats.documents_scanned, stats.sorts, stats.sorted), (8, 2, 14));
        // The first batch does not contain everything that was sorted.
        let workload = record(&[line("IXSCAN { b: 1 }", 900, r#","cursorid":77"#)]);
        assert_eq!(workload.shapes[0].sorted, 900);
    }

    #[test]
    fn se_1_a_later_start_outvotes_an_earlier_one() {
        let line = |id: u32, attr: &str| {
            format!(
                r#"{{"t":{{"$date":"2024-03-15T10:00:01.000Z"}},"s":"I","c":"X","id":{id},"ctx":"x","msg":"m","attr":{attr}}}"#
            )
        };
        let (off, restart) = (line(22120, "{}"), line(20698, "{}"));
        let on = line(21951, r#"{"options":{"security":{"authorization":"enabled"}}}"#);
        let said = |lines: &[String]| record(lines).sources[0].access_control.map(|a| a.on);
        assert_eq!(said(std::slice::from_ref(&off)), Some(false));
        assert_eq!(said(&[off.clone(), restart.clone(), on.clone()]), Some(true));
        assert_eq!(said(&[on, restart, off]), Some(false));
    }

    #[test]
    fn cn_02_1_lifetimes_of_connections() {
        let line = |id: u32, second: u32, connection: u32| {
            format!(
                r#"{{"t":{{"$date":"2024-03-15T10:00:{second:02}.000Z"}},"s":"I","c":"NETWORK","id":{id},"ctx":"listener","msg":"Connection","attr":{{"connectionId":{connection},"connectionCount":2}}}}"#
            )
        };
        let mut lines = Vec::new();
        for n in 0..20 {
            lines.push(line(22943, n, n));
            lines.push(line(22944, n + 2, n));
        }
        let connections = record(&lines).connections;
        assert_eq!((connections.accepted, connections.most_per_minute), (20, 20));
        assert_eq!(connections.lifetimes, Some((20, 2000)));
    }

    #[test]
    fn cn_02_1_the_time_between_two_logs_does_not_count() {
        let accepted = |day: u32, second: u32| {
            let line = format!(
                r#"{{"t":{{"$date":"2024-03-{day:02}T10:00:{second:02}.000Z"}},"s":"I","c":"NETWORK","id":22943,"ctx":"listener","msg":"Connection","attr":{{"connectionId":{second},"connectionCount":2}}}}"#
            );
            let document = docward_bson::json::parse_one(&line).expect("a line");
            log_entry(&docward_bson::value::to_value(&document).expect("BSON")).expect("an entry")
        };
        let mut recorder = Recorder::new();
        for day in [1, 31] {
            recorder.begin("test", WorkloadKind::Log);
            recorder.add(accepted(day, 0));
            recorder.add(accepted(day, 30));
        }
        let connections = recorder.finish().connections;
        assert_eq!((connections.accepted, connections.millis), (4, 60_000));
    }
}
