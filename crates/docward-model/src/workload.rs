//! The workload of clients: operations by shape, collections read together, connections, errors. It
//! comes from logs, the server's profiler, its running operations or its query statistics. It never
//! contains the queried values.

use serde::{Deserialize, Serialize};

use crate::Namespace;

/// Operations during a period of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// The sources of the workload.
    pub sources: Vec<WorkloadSource>,
    /// First and last moment, in milliseconds since 1970.
    pub span: Option<(i64, i64)>,
    /// Operations by shape, sorted by namespace and shape.
    pub shapes: Vec<QueryStats>,
    /// Operations beyond the maximum number of distinct shapes.
    pub other_operations: u64,
    /// Reads of two collections in succession on one session, sorted.
    pub sequences: Vec<ReadSequence>,
    /// Reads of a document followed by an update of it on the same session, sorted.
    pub read_then_write: Vec<(Namespace, u64)>,
    /// Errors, sorted by namespace and code.
    pub failures: Vec<Failure>,
    /// Connections made and ended.
    pub connections: ConnectionHistory,
    /// Periods in which a server refused clients because it was not the primary, by source and
    /// time.
    #[serde(default)]
    pub refusals: Vec<NotPrimary>,
    /// The completeness of each source per database, by source and database.
    #[serde(default)]
    pub coverage: Vec<Coverage>,
    /// Writes of two collections that occurred together, sorted; `None` if not all could be
    /// tracked.
    #[serde(default)]
    pub written_together: Option<Vec<WrittenTogether>>,
}

/// The operations on one database in a log or profiler, and how many were fast. If the source
/// records only slow operations, none are fast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The index of the source.
    pub source: usize,
    /// The database.
    pub database: String,
    /// Recorded operations.
    pub operations: u64,
    /// Recorded operations that took less than a millisecond.
    pub instant: u64,
}

/// Writes of one collection that occurred together with writes of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenTogether {
    /// The collection whose writes are counted.
    pub of: Namespace,
    /// The other one.
    pub with: Namespace,
    /// Updates of the first within a second of an update of the other by the same host.
    pub near: u64,
    /// Commands that wrote the first in transactions that also wrote the other. Profilers show this
    /// only for inserts and findAndModify, so it is a lower bound.
    pub in_transactions: u64,
}

/// A log or a profiler collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSource {
    /// The name the user gave.
    pub name: String,
    /// The kind of the source.
    pub kind: WorkloadKind,
    /// Lines or rows read.
    pub entries: u64,
    /// Operations among them.
    pub operations: u64,
    /// Major and minor version of the server that wrote it, if recorded.
    pub server_version: Option<(u32, u32)>,
    /// The server's address, if it recorded its start.
    #[serde(default)]
    pub server: Option<String>,
    /// The access control state at the last recorded start of the server.
    #[serde(default)]
    pub access_control: Option<AccessControl>,
}

/// The access control state that a server logs when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessControl {
    /// The time of the message, in milliseconds since 1970.
    pub at: i64,
    /// True if clients have to log in.
    pub on: bool,
}

/// The source of recorded operations, which determines how complete they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkloadKind {
    /// A structured server log: operations slower than `slowms` only.
    Log,
    /// `system.profile`: complete at level 2, slow operations at level 1.
    Profiler,
    /// `$currentOp`: long-running operations at the time of the request.
    Running,
    /// `$queryStats`: sums by shape since the server began to collect them.
    Totals,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "MongoDB's own command names")]
pub enum Operation {
    Find,
    Aggregate,
    Count,
    Distinct,
    GetMore,
    Insert,
    Update,
    Delete,
    FindAndModify,
}

impl Operation {
    /// MongoDB's name of the operation.
    pub fn name(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::Aggregate => "aggregate",
            Self::Count => "count",
            Self::Distinct => "distinct",
            Self::GetMore => "getMore",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::FindAndModify => "findAndModify",
        }
    }

    /// Returns whether it stores or changes documents.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::FindAndModify)
    }

    /// Returns whether it returns documents or figures and changes nothing.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Find | Self::Aggregate | Self::Count | Self::Distinct)
    }
}

/// The kind of comparison of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Comparison {
    Equality,
    /// `$in` with several values.
    OneOf,
    /// `$in` with more than 200 values: with a sort, the server treats it like a range.
    OneOfMany,
    /// A range with one end.
    Range,
    /// A range with both ends.
    Between,
    /// A regular expression with a fixed prefix.
    Prefix,
    /// Any other regular expression.
    Regex,
    Exists,
    /// `$ne`, `$nin`, `$not`.
    Negation,
    /// `$text`, `$near`, `$geoWithin`: need a special index.
    Special,
    /// `$expr`, `$where`, `$type`, `$mod`, `$size` and the like: cannot use an index.
    Expression,
}

/// One field of a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Predicate {
    /// Dotted path; `$` replaces a number that is, or may be, an array position.
    pub path: String,
    /// The kind of comparison.
    pub comparison: Comparison,
}

/// A join.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lookup {
    /// The other collection, in the same database; never the collection itself.
    pub from: String,
    /// The compared fields, if they are plain fields.
    pub fields: Option<(String, String)>,
}

/// A statement that adds elements to an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Push {
    /// The array; `$` replaces a position in an outer array.
    pub path: String,
    /// True if the statement truncates the array (`$slice`), or the filter or the operator bounds
    /// it.
    pub capped: bool,
}

/// The shape of an operation, without its values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueryShape {
    /// The collection.
    pub namespace: Namespace,
    /// The command.
    pub operation: Operation,
    /// Fields of the filter that all have to match, by path; fields of several `$or` branches are
    /// in `alternatives`.
    pub filter: Vec<Predicate>,
    /// True if there is a top-level `$or`.
    pub branches: bool,
    /// Fields of each branch of the `$or`, if it is the only one and not nested; otherwise empty.
    #[serde(default)]
    pub alternatives: Vec<Vec<Predicate>>,
    /// True if it filters by fields that pipeline stages compute: no index covers them.
    #[serde(default)]
    pub filters_late: bool,
    /// Sort fields and directions, as far as an index can sort by them.
    pub sort: Vec<(String, bool)>,
    /// True if it reads in storage order (`$natural`, tailable cursors), by a scan.
    #[serde(default)]
    pub in_stored_order: bool,
    /// Options of the collation and their values as literals, sorted; empty without a collation.
    #[serde(default)]
    pub collation: Vec<(String, String)>,
    /// Fields the projection keeps; `None` when everything is returned.
    pub projection: Option<Vec<String>>,
    /// True if a limit was given.
    pub limited: bool,
    /// Joins.
    pub lookups: Vec<Lookup>,
    /// True if it computes a count, a sum or an average over its results.
    pub computes: bool,
    /// Arrays it adds elements to.
    pub pushes: Vec<Push>,
    /// Paths it sets, removes or increments; `$` replaces array positions.
    pub writes: Vec<String>,
    /// Paths it removes.
    #[serde(default)]
    pub removes: Vec<String>,
}

/// Statistics of the operations of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryStats {
    /// The shape.
    pub shape: QueryShape,
    /// The number of operations.
    pub count: u64,
    /// Total milliseconds, and milliseconds of the slowest.
    pub millis: (u64, u64),
    /// Index keys examined.
    pub keys_examined: u64,
    /// Documents examined.
    pub documents_examined: u64,
    /// The most documents that a single operation examined.
    pub most_examined: u64,
    /// Documents returned, matched for a change, or removed.
    pub returned: u64,
    /// Writes that changed nothing, as far as the server reports it.
    #[serde(default)]
    pub idle: u64,
    /// Bytes of the answers.
    pub response_bytes: u64,
    /// Operations that scanned the whole collection.
    pub collection_scans: u64,
    /// Documents examined by collection scans.
    #[serde(default)]
    pub documents_scanned: u64,
    /// The most documents examined by a single collection scan.
    #[serde(default)]
    pub most_scanned: u64,
    /// Operations that sorted in memory.
    pub sorts: u64,
    /// Documents sorted in memory: the number returned, or, if that is only a part, an upper bound
    /// from the number examined.
    #[serde(default)]
    pub sorted: u64,
    /// Operations that reached more than the two shards of a targeted query (SK-4), and operations
    /// for which the number of shards is known.
    pub scattered: (u64, u64),
    /// Keys of the indexes that were used, `{ a: 1, b: -1 }`, sorted.
    #[serde(default)]
    pub indexes_used: Vec<String>,
    /// The applications that sent them, most frequent first.
    pub applications: Vec<(String, u64)>,
    /// Operations that had not finished at the time of the request; no other figure includes them.
    #[serde(default)]
    pub running: Running,
}

/// Long-running operations at the time of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// The number of operations.
    pub operations: u64,
    /// Operations among them that scan the whole collection.
    pub collection_scans: u64,
    /// The longest running time so far, in milliseconds.
    pub most_millis: u64,
}

/// A period without long pauses in which one server refused clients because it was not, or ceased
/// to be, the primary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotPrimary {
    /// The index of the source.
    pub source: usize,
    /// First and last refusal, in milliseconds since 1970.
    pub span: (i64, i64),
    /// The number of refused operations.
    pub count: u64,
    /// The number of refused writes.
    pub writes: u64,
    /// The server's names for the errors, most frequent first.
    pub errors: Vec<(String, u64)>,
    /// The applications that were refused, most frequent first.
    pub applications: Vec<(String, u64)>,
    /// The hosts they came from, most frequent first.
    pub hosts: Vec<(String, u64)>,
}

/// An error that the server returned or logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The namespace, if recorded.
    pub namespace: Option<Namespace>,
    /// The operation that failed; `None` if not recorded.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// The server's error code; 0 if there is none.
    pub code: i64,
    /// The server's name of the error.
    pub name: String,
    /// The number of occurrences.
    pub count: u64,
    /// The largest reported size above 16 MB.
    pub bytes: Option<u64>,
    /// True if the cause was a document above 16 MB.
    #[serde(default)]
    pub too_large: bool,
}

/// Reads of two collections in quick succession on one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSequence {
    /// Read first.
    pub first: Namespace,
    /// Read after it.
    pub then: Namespace,
    /// Requests with this sequence.
    pub count: u64,
    /// All reads of the first and of the second collection.
    pub reads: (u64, u64),
    /// Reads of the second that followed a read of the first; several per request mean N+1.
    #[serde(default)]
    pub following: u64,
    /// Requests that read the second several times in the same way.
    pub repeated: u64,
    /// Requests that read a few of the second in an order, and compute a figure such as their number.
    #[serde(default)]
    pub previews: u64,
    /// Fields by which the second was queried, sorted.
    #[serde(default)]
    pub by: Vec<String>,
}

/// Connections a server accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionHistory {
    /// The number of accepted connections.
    pub accepted: u64,
    /// The number of closed connections.
    pub ended: u64,
    /// The most within one minute.
    pub most_per_minute: u64,
    /// Milliseconds from the first to the last accepted connection, summed over the sources.
    #[serde(default)]
    pub millis: u64,
    /// The highest number of open connections, as the server counted.
    pub most_open: u64,
    /// Known lifetimes: their number, and their median in milliseconds.
    pub lifetimes: Option<(u64, u64)>,
}

impl QueryShape {
    /// Returns whether it updates existing documents. A findAndModify counts only if it names the
    /// fields it changes, because others may remove the document.
    pub fn is_update(&self) -> bool {
        match self.operation {
            Operation::Update => true,
            Operation::FindAndModify => !self.writes.is_empty() || !self.pushes.is_empty(),
            _ => false,
        }
    }
}

impl QueryStats {
    /// The number of documents examined, or of index keys if that is higher.
    pub fn examined(&self) -> u64 {
        self.documents_examined.max(self.keys_examined)
    }

    /// The same for operations that did not scan the collection.
    pub fn examined_through_indexes(&self) -> u64 {
        self.documents_examined.saturating_sub(self.documents_scanned).max(self.keys_examined)
    }

    /// Documents or keys examined per document returned; the total if none was returned.
    pub fn examined_per_returned(&self) -> f64 {
        self.examined() as f64 / self.returned.max(1) as f64
    }
}

impl Workload {
    /// Operations recorded.
    pub fn operations(&self) -> u64 {
        self.shapes.iter().map(|s| s.count).sum::<u64>() + self.other_operations
    }

    /// The duration in seconds.
    pub fn seconds(&self) -> Option<f64> {
        self.span.map(|(from, to)| (to - from) as f64 / 1000.0)
    }

    /// Returns whether it is long enough to compute rates.
    pub fn tells_rates(&self) -> bool {
        self.seconds().is_some_and(|seconds| seconds >= 60.0)
    }

    /// Long-running operations at the time of the request.
    pub fn running(&self) -> u64 {
        self.shapes.iter().map(|s| s.running.operations).sum()
    }

    /// The writes of a collection that occurred together with those of another; `None` if there
    /// were none.
    pub fn together(&self, of: &Namespace, with: &Namespace) -> Option<&WrittenTogether> {
        self.written_together.iter().flatten().find(|t| t.of == *of && t.with == *with)
    }

    /// Shapes of a collection.
    pub fn of<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = &'a QueryStats> {
        self.shapes.iter().filter(move |s| s.shape.namespace == *namespace)
    }
}
