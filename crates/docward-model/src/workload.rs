//! What clients did: operations by shape, what was read together, connections, errors. Out of logs,
//! the server's profiler, its running operations or its query statistics; never the values that were
//! asked for.

use serde::{Deserialize, Serialize};

use crate::Namespace;

/// Operations of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Where it was read from.
    pub sources: Vec<WorkloadSource>,
    /// First and last moment, in milliseconds since 1970.
    pub span: Option<(i64, i64)>,
    /// Operations by shape, sorted by namespace and shape.
    pub shapes: Vec<QueryStats>,
    /// Operations beyond the number of shapes told apart.
    pub other_operations: u64,
    /// Reads of two collections that followed each other on one session, sorted.
    pub sequences: Vec<ReadSequence>,
    /// Reads of a document followed by an update of the same one on the same session, sorted.
    pub read_then_write: Vec<(Namespace, u64)>,
    /// Errors, sorted by namespace and code.
    pub failures: Vec<Failure>,
    /// Connections made and ended.
    pub connections: ConnectionHistory,
    /// Times in which a server refused clients because it was not the primary, by source and time.
    #[serde(default)]
    pub refusals: Vec<NotPrimary>,
    /// How much of what clients do with a database each source shows, by source and database.
    #[serde(default)]
    pub coverage: Vec<Coverage>,
    /// Writes of two collections that came together, sorted; `None` when not all were followed.
    #[serde(default)]
    pub written_together: Option<Vec<WrittenTogether>>,
}

/// Operations on one database that a log or profiler shows, and how many of them were fast: where only
/// slow ones are written down there are none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Which of the sources.
    pub source: usize,
    /// The database.
    pub database: String,
    /// Operations written down.
    pub operations: u64,
    /// Those of them that took less than a millisecond.
    pub instant: u64,
}

/// Writes of one collection that came with writes of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenTogether {
    /// The collection whose writes are counted.
    pub of: Namespace,
    /// The other one.
    pub with: Namespace,
    /// Updates of the first that lie within a second of an update of the other by the same host.
    pub near: u64,
    /// Commands that wrote the first in transactions that wrote the other, too. Profilers tell this of
    /// inserts and findAndModify only, so it is a lower bound.
    pub in_transactions: u64,
}

/// A log or a profiler collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadSource {
    /// As the user named it.
    pub name: String,
    /// What kind it is.
    pub kind: WorkloadKind,
    /// Lines or rows read.
    pub entries: u64,
    /// Operations among them.
    pub operations: u64,
    /// Major and minor version of the server that wrote it, when it says.
    pub server_version: Option<(u32, u32)>,
    /// The server's address, when it wrote down its start.
    #[serde(default)]
    pub server: Option<String>,
    /// What the server said of access control at its last start in there.
    #[serde(default)]
    pub access_control: Option<AccessControl>,
}

/// What a server says of access control when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessControl {
    /// When it said so, in milliseconds since 1970.
    pub at: i64,
    /// Whether everybody has to log in.
    pub on: bool,
}

/// Where operations were recorded, which says how complete they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkloadKind {
    /// A structured server log: operations slower than `slowms` only.
    Log,
    /// `system.profile`: complete at level 2, slow operations at level 1.
    Profiler,
    /// `$currentOp`: what was running for long when the server was asked.
    Running,
    /// `$queryStats`: sums by shape since the server began to keep them.
    Totals,
}

/// What an operation does.
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
    /// MongoDB's name.
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

    /// Whether it stores or changes documents.
    pub fn is_write(self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::FindAndModify)
    }

    /// Whether it answers with documents or figures and changes nothing.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Find | Self::Aggregate | Self::Count | Self::Distinct)
    }
}

/// How a field is compared.
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
    /// A regular expression that fixes how the text begins.
    Prefix,
    /// Any other regular expression.
    Regex,
    Exists,
    /// `$ne`, `$nin`, `$not`.
    Negation,
    /// `$text`, `$near`, `$geoWithin`: an index of its own kind.
    Special,
    /// `$expr`, `$where`, `$type`, `$mod`, `$size` and the like: no index.
    Expression,
}

/// One field of a filter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Predicate {
    /// Dotted path; `$` stands for a number that is a position in an array, or may be one.
    pub path: String,
    /// How it is compared.
    pub comparison: Comparison,
}

/// A join.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Lookup {
    /// The other collection, in the same database; never the collection itself.
    pub from: String,
    /// The fields compared, when they are plain.
    pub fields: Option<(String, String)>,
}

/// Elements added to an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Push {
    /// The array; `$` stands for a position in another one.
    pub path: String,
    /// Whether the statement cuts the array (`$slice`), or the filter or the operator bounds it.
    pub capped: bool,
}

/// What an operation asks, without its values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueryShape {
    /// The collection.
    pub namespace: Namespace,
    /// The command.
    pub operation: Operation,
    /// Fields of the filter that all have to match, by path; those of several `$or` branches are in
    /// `alternatives`.
    pub filter: Vec<Predicate>,
    /// Whether there is an `$or` at the top.
    pub branches: bool,
    /// Fields of each branch of the `$or`, when it is the only one and not nested; else empty.
    #[serde(default)]
    pub alternatives: Vec<Vec<Predicate>>,
    /// Whether it filters by fields that stages of the pipeline made: no index has them.
    #[serde(default)]
    pub filters_late: bool,
    /// Sort fields and directions, as far as an index can sort by them.
    pub sort: Vec<(String, bool)>,
    /// Whether it reads in the order documents are stored (`$natural`, tailable cursors), by a scan.
    #[serde(default)]
    pub in_stored_order: bool,
    /// Options of the collation and their values as literals, sorted; empty without a collation.
    #[serde(default)]
    pub collation: Vec<(String, String)>,
    /// Fields the projection keeps; `None` when everything is returned.
    pub projection: Option<Vec<String>>,
    /// Whether a limit was given.
    pub limited: bool,
    /// Joins.
    pub lookups: Vec<Lookup>,
    /// Whether it computes a count, a sum or an average over what it finds.
    pub computes: bool,
    /// Arrays it adds to.
    pub pushes: Vec<Push>,
    /// Paths it sets, removes or increments; `$` stands for positions in arrays.
    pub writes: Vec<String>,
    /// Those of them that it removes.
    #[serde(default)]
    pub removes: Vec<String>,
}

/// Operations of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueryStats {
    /// What they ask.
    pub shape: QueryShape,
    /// How many there were.
    pub count: u64,
    /// Milliseconds all together, and of the slowest.
    pub millis: (u64, u64),
    /// Index keys examined.
    pub keys_examined: u64,
    /// Documents examined.
    pub documents_examined: u64,
    /// The most documents one of them examined.
    pub most_examined: u64,
    /// Documents returned, matched for a change, or removed.
    pub returned: u64,
    /// Writes among them that changed nothing, as far as the server says.
    #[serde(default)]
    pub idle: u64,
    /// Bytes of the answers.
    pub response_bytes: u64,
    /// How many scanned the whole collection.
    pub collection_scans: u64,
    /// Documents that those examined.
    #[serde(default)]
    pub documents_scanned: u64,
    /// The most documents one of those examined.
    #[serde(default)]
    pub most_scanned: u64,
    /// How many sorted in memory.
    pub sorts: u64,
    /// Documents that those sorted: what they returned, or where that is only a part, at most what
    /// they examined.
    #[serde(default)]
    pub sorted: u64,
    /// How many went to more shards than the two of a targeted query (SK-4), out of those that say.
    pub scattered: (u64, u64),
    /// Keys of the indexes that were used, `{ a: 1, b: -1 }`, sorted.
    #[serde(default)]
    pub indexes_used: Vec<String>,
    /// The applications that sent them, most frequent first.
    pub applications: Vec<(String, u64)>,
    /// Those that had not ended when the server was asked; they are in no other figure.
    #[serde(default)]
    pub running: Running,
}

/// Operations that were running for long when the server was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// How many.
    pub operations: u64,
    /// How many of them scan the whole collection.
    pub collection_scans: u64,
    /// For how long the longest had been running, in milliseconds.
    pub most_millis: u64,
}

/// A time without a longer pause in which one server kept refusing clients because it was not the
/// primary, or stopped being it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotPrimary {
    /// Which of the sources shows it.
    pub source: usize,
    /// First and last refusal, in milliseconds since 1970.
    pub span: (i64, i64),
    /// How many operations were refused.
    pub count: u64,
    /// How many of them were writes.
    pub writes: u64,
    /// The server's names for the errors, most frequent first.
    pub errors: Vec<(String, u64)>,
    /// The applications that were refused, most frequent first.
    pub applications: Vec<(String, u64)>,
    /// The hosts they came from, most frequent first.
    pub hosts: Vec<(String, u64)>,
}

/// An error the server answered with, or wrote down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Where, when the server said.
    pub namespace: Option<Namespace>,
    /// What failed; `None` when the line does not say.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// The server's code; 0 when it gave none.
    pub code: i64,
    /// The server's name for it.
    pub name: String,
    /// How often.
    pub count: u64,
    /// The size above 16 MB it complained about, the largest of all.
    pub bytes: Option<u64>,
    /// Whether a document above 16 MB was the reason.
    #[serde(default)]
    pub too_large: bool,
}

/// Reads of two collections on one session, close together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSequence {
    /// Read first.
    pub first: Namespace,
    /// Read after it.
    pub then: Namespace,
    /// Requests that did so.
    pub count: u64,
    /// Reads of the first, and of the second, in all.
    pub reads: (u64, u64),
    /// Reads of the second that came after the first: several for one request, when it is N+1.
    #[serde(default)]
    pub following: u64,
    /// Requests that read the second several times.
    pub repeated: u64,
    /// Fields by whose values the second was asked for, sorted.
    #[serde(default)]
    pub by: Vec<String>,
}

/// Connections a server accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionHistory {
    /// How many.
    pub accepted: u64,
    /// How many ended.
    pub ended: u64,
    /// The most within one minute.
    pub most_per_minute: u64,
    /// Milliseconds from the first to the last accepted, added up over the sources.
    #[serde(default)]
    pub millis: u64,
    /// The most open at once, as the server counted.
    pub most_open: u64,
    /// Lifetimes known: how many, and their median in milliseconds.
    pub lifetimes: Option<(u64, u64)>,
}

impl QueryShape {
    /// Whether it changes documents that are there. Of findAndModify, only what names the fields it
    /// changes: the others may remove.
    pub fn is_update(&self) -> bool {
        match self.operation {
            Operation::Update => true,
            Operation::FindAndModify => !self.writes.is_empty() || !self.pushes.is_empty(),
            _ => false,
        }
    }
}

impl QueryStats {
    /// What was examined: documents, or the keys of an index when those were more.
    pub fn examined(&self) -> u64 {
        self.documents_examined.max(self.keys_examined)
    }

    /// The same of the operations that did not scan the collection.
    pub fn examined_through_indexes(&self) -> u64 {
        self.documents_examined.saturating_sub(self.documents_scanned).max(self.keys_examined)
    }

    /// Documents or keys examined for each document returned; everything when nothing was.
    pub fn examined_per_returned(&self) -> f64 {
        self.examined() as f64 / self.returned.max(1) as f64
    }
}

impl Workload {
    /// Operations recorded.
    pub fn operations(&self) -> u64 {
        self.shapes.iter().map(|s| s.count).sum::<u64>() + self.other_operations
    }

    /// How long it lasted.
    pub fn seconds(&self) -> Option<f64> {
        self.span.map(|(from, to)| (to - from) as f64 / 1000.0)
    }

    /// Whether it lasted long enough to say how often something happens.
    pub fn tells_rates(&self) -> bool {
        self.seconds().is_some_and(|seconds| seconds >= 60.0)
    }

    /// Operations that were running for long when a server was asked.
    pub fn running(&self) -> u64 {
        self.shapes.iter().map(|s| s.running.operations).sum()
    }

    /// What of one collection was written together with another; nothing when that was not seen.
    pub fn together(&self, of: &Namespace, with: &Namespace) -> Option<&WrittenTogether> {
        self.written_together.iter().flatten().find(|t| t.of == *of && t.with == *with)
    }

    /// Shapes of a collection.
    pub fn of<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = &'a QueryStats> {
        self.shapes.iter().filter(move |s| s.shape.namespace == *namespace)
    }
}
