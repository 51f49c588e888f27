//! Adds up entries, in bounded memory.

use std::collections::BTreeMap;

use docward_model::{
    ConnectionHistory, Failure, Namespace, QueryShape, QueryStats, Workload, WorkloadKind,
    WorkloadSource,
};

use crate::{
    entry::{Entry, Ran},
    sessions::Sessions,
    shape::shape_of,
};

/// Shapes told apart; operations of further ones are counted only.
const SHAPES: usize = 4000;
/// Errors told apart.
const FAILURES: usize = 1000;
/// Connections whose beginning is remembered, and lifetimes kept.
const CONNECTIONS: usize = 50_000;
/// Applications remembered per shape.
const APPLICATIONS: usize = 8;

/// Where an error came, its code and its name.
type FailureKey = (Option<Namespace>, i64, String);

/// Collects a workload.
#[derive(Debug, Default)]
pub struct Recorder {
    shapes: BTreeMap<QueryShape, Sums>,
    other: u64,
    sessions: Sessions,
    failures: BTreeMap<FailureKey, (u64, Option<u64>)>,
    connections: Connections,
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
    response_bytes: u64,
    collection_scans: u64,
    sorts: u64,
    scattered: (u64, u64),
    applications: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct Connections {
    history: ConnectionHistory,
    began: BTreeMap<i64, i64>,
    lifetimes: Vec<u64>,
    minute: (i64, u64),
}

impl Recorder {
    /// Nothing recorded yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that entries come from another log or collection now.
    pub fn begin(&mut self, name: &str, kind: WorkloadKind) {
        self.sources.push(WorkloadSource {
            name: name.to_owned(),
            kind,
            entries: 0,
            operations: 0,
            server_version: None,
            access_control_off: false,
        });
        // Connection numbers and sessions of another server are others.
        self.connections.began.clear();
        self.connections.minute = (0, 0);
        self.sessions.forget();
    }

    /// Takes in an entry.
    pub fn add(&mut self, entry: Entry) {
        if let Some(source) = self.sources.last_mut() {
            source.entries += 1;
            match &entry {
                Entry::Version(major, minor) => source.server_version = Some((*major, *minor)),
                Entry::AccessControlOff => source.access_control_off = true,
                _ => {}
            }
        }
        match entry {
            Entry::Ran(ran) => self.ran(&ran),
            Entry::Accepted { at, connection, open } => {
                self.saw(at);
                self.connections.accepted(at, connection, open);
            }
            Entry::Ended { at, connection } => {
                self.saw(at);
                self.connections.ended(at, connection);
            }
            Entry::Failed { namespace, code, name, bytes } => {
                self.failed(namespace, code, name, bytes);
            }
            Entry::Version(..) | Entry::AccessControlOff | Entry::Other => {}
        }
    }

    fn saw(&mut self, at: i64) {
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    fn failed(
        &mut self,
        namespace: Option<Namespace>,
        code: i64,
        name: String,
        bytes: Option<u64>,
    ) {
        let key = (namespace, code, name);
        if self.failures.len() < FAILURES || self.failures.contains_key(&key) {
            let (count, most) = self.failures.entry(key).or_default();
            *count += 1;
            *most = (*most).max(bytes);
        }
    }

    fn ran(&mut self, ran: &Ran) {
        self.saw(ran.at);
        if let Some((code, name, bytes)) = &ran.error {
            self.failed(ran.namespace.clone(), *code, name.clone(), *bytes);
        }
        let (Some(namespace), Some(command)) = (&ran.namespace, &ran.command) else { return };
        let Some(shape) = shape_of(namespace, command) else { return };
        if let Some(source) = self.sources.last_mut() {
            source.operations += 1;
        }
        self.sessions.note(
            ran.session.as_deref(),
            ran.at - ran.millis as i64,
            ran.at,
            &shape,
            command,
        );
        if self.shapes.len() >= SHAPES && !self.shapes.contains_key(&shape) {
            self.other += 1;
            return;
        }
        let sums = self.shapes.entry(shape).or_default();
        sums.count += 1;
        sums.millis = (sums.millis.0 + ran.millis, sums.millis.1.max(ran.millis));
        sums.keys_examined += ran.keys_examined;
        sums.documents_examined += ran.documents_examined;
        sums.most_examined = sums.most_examined.max(ran.documents_examined);
        sums.returned += ran.returned;
        sums.response_bytes += ran.response_bytes;
        let plan = ran.plan.as_deref().unwrap_or_default();
        sums.collection_scans +=
            u64::from(plan.split_whitespace().any(|w| w.trim_end_matches(',') == "COLLSCAN"));
        sums.sorts += u64::from(ran.sorted);
        if let Some(shards) = ran.shards {
            sums.scattered.0 += u64::from(shards > 1);
            sums.scattered.1 += 1;
        }
        if let Some(application) = &ran.application
            && (sums.applications.len() < APPLICATIONS
                || sums.applications.contains_key(application))
        {
            *sums.applications.entry(application.clone()).or_default() += 1;
        }
    }

    /// Ends recording.
    pub fn finish(self) -> Workload {
        let (sequences, read_then_write) = self.sessions.finish();
        Workload {
            sources: self.sources,
            span: self.span,
            shapes: self
                .shapes
                .into_iter()
                .map(|(shape, sums)| {
                    let mut applications: Vec<_> = sums.applications.into_iter().collect();
                    applications.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
                    QueryStats {
                        shape,
                        count: sums.count,
                        millis: sums.millis,
                        keys_examined: sums.keys_examined,
                        documents_examined: sums.documents_examined,
                        most_examined: sums.most_examined,
                        returned: sums.returned,
                        response_bytes: sums.response_bytes,
                        collection_scans: sums.collection_scans,
                        sorts: sums.sorts,
                        scattered: sums.scattered,
                        applications,
                    }
                })
                .collect(),
            other_operations: self.other,
            sequences,
            read_then_write,
            failures: self
                .failures
                .into_iter()
                .map(|((namespace, code, name), (count, bytes))| Failure {
                    namespace,
                    code,
                    name,
                    count,
                    bytes,
                })
                .collect(),
            connections: self.connections.finish(),
        }
    }
}

impl Connections {
    fn accepted(&mut self, at: i64, connection: i64, open: u64) {
        self.history.accepted += 1;
        self.history.most_open = self.history.most_open.max(open);
        let minute = at.div_euclid(60_000);
        self.minute =
            if self.minute.0 == minute { (minute, self.minute.1 + 1) } else { (minute, 1) };
        self.history.most_per_minute = self.history.most_per_minute.max(self.minute.1);
        if self.began.len() < CONNECTIONS {
            self.began.insert(connection, at);
        }
    }

    fn ended(&mut self, at: i64, connection: i64) {
        self.history.ended += 1;
        if let Some(began) = self.began.remove(&connection)
            && self.lifetimes.len() < CONNECTIONS
        {
            self.lifetimes.push((at - began).max(0) as u64);
        }
    }

    fn finish(mut self) -> ConnectionHistory {
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
}
