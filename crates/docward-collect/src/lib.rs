//! Reads the sources that users have: dumps, archives, BSON and JSON files, zips, standard input,
//! running deployments. Sources in, [`Evidence`] out.
//!
//! No other crate of Docward opens the data to audit. This crate detects formats by content first
//! and by name second. An unreadable file is a [`Problem`] and never ends the run. Memory is
//! bounded for any input: documents flow through a fixed number of blocks to the profilers.
//!
//! Names: files in a dump's layout, archives and `--namespace` give real names. A loose file is
//! collection *stem* of database `test` (or of the directory it is in, below the named one).
//! Naming rules do not judge such a name (`has_guessed_name`).
//!
//! The modules:
//!
//! - `plan`: finds files
//! - `detect`: detects formats
//! - `reader`: reads them
//! - `engine`: threads and blocks
//! - `catalogue`: metadata
//! - `table`: the evidence
//! - `reader::live`: running deployments
//! - `network`: firewalls and security groups

mod catalogue;
mod changed;
mod damages;
mod detect;
mod engine;
mod examine;
mod identity;
mod kinds;
mod log;
mod missing;
mod names;
mod network;
mod plan;
mod pull;
mod reader;
mod resume;
mod saved;
mod source;
mod stream;
mod table;
mod trouble;

pub use changed::ChangedLines;
pub use identity::{DeploymentId, Likeness};
pub use log::{Logs, read_logs};
pub use missing::missing;
pub use network::{NetworkFiles, parse_network_rules, read_network_rules};
pub use reader::live::{Resolved, is_uri, resolve_name};
pub use resume::{Resume, Unfinished};
pub use saved::{SavedError, SavedEvidence};
pub use source::{SourceRequest, SourceSeen, read_source};
pub use trouble::dns_words;

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use docward_model::{Evidence, Filter, KeyFields, Namespace, Problem, Source};
use docward_schema::Validator;

/// The sources to read, and the options for reading.
#[derive(Clone, Debug)]
pub struct Request {
    /// Paths, or `-` for standard input.
    pub sources: Vec<String>,
    /// The name of the collection, for sources that hold a single one.
    pub namespace: Option<Namespace>,
    /// The databases and collections to read.
    pub filter: Filter,
    /// Read catalogue facts only, no documents.
    pub metadata_only: bool,
    /// The number of profiling threads, in addition to the caller's thread, which reads the inputs
    /// that they cannot read. With 0 or 1, everything runs on the caller's thread. The number does
    /// not affect the result.
    pub threads: usize,
    /// Read only this many documents of each collection, the first ones.
    pub sample: Option<u64>,
    /// Read all documents of live deployments too, instead of a sample.
    pub full: bool,
    /// Let live deployments compute figures over all documents, in addition to the documents read.
    pub pushdown: bool,
    /// Keep the documents drawn at random, as hashes. Comparisons of several fields need them.
    pub keep_samples: bool,
    /// Also read the workload of live deployments: the profiler, long-running operations, query
    /// statistics.
    pub server_workload: bool,
    /// Stop reading after this time, and report on the data read so far.
    pub max_time: Option<Duration>,
    /// The maximum number of documents read per second from live deployments.
    pub max_rate: Option<u64>,
    /// Keep documents in a form in which they can be recognised on another date.
    pub track: bool,
    /// Additional documents of live collections to read, by the hexadecimal digits of their `_id`s:
    /// those that an earlier run tracked.
    pub follow: BTreeMap<Namespace, Vec<String>>,
    /// Keep the state that a later run needs to continue when a full reading of live deployments is
    /// interrupted.
    pub resumable: bool,
    /// The state of an earlier run.
    pub resume: Resume,
    /// Requests the analysis of these shard keys and the current key of the collection from a
    /// server that supports it (7.0 and later); `None` to analyse nothing.
    pub analyze_keys: Option<Vec<KeyFields>>,
    /// True if only documents are needed: missing privileges for other facts are then not a
    /// problem.
    pub documents_only: bool,
    /// Check documents against this schema instead of profiling them.
    pub check: Option<Check>,
}

/// The schema that documents are checked against.
#[derive(Clone, Debug)]
pub struct Check {
    /// The validator as a document, for counting on the server.
    pub filter: Vec<u8>,
    /// The compiled validator, for checking in Docward; `None` if only a server can evaluate it.
    pub validator: Option<Arc<Validator>>,
    /// The number of failing documents to fetch, to see which constraints they break.
    pub examples: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            namespace: None,
            filter: Filter::default(),
            metadata_only: false,
            threads: 1,
            sample: None,
            full: false,
            pushdown: false,
            keep_samples: false,
            server_workload: true,
            max_time: None,
            max_rate: None,
            track: false,
            follow: BTreeMap::new(),
            resumable: false,
            resume: Resume::default(),
            analyze_keys: None,
            documents_only: false,
            check: None,
        }
    }
}

/// Receives the progress of reading.
pub trait Progress: Sync {
    /// Adds to the total number of bytes to read, as far as known in advance.
    fn total_bytes(&self, n: u64);
    /// Reports bytes and documents read since the last call.
    fn advance(&self, bytes: u64, documents: u64);
    /// Reports a message that is not a problem.
    fn note(&self, text: &str);
}

/// A [`Progress`] that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn total_bytes(&self, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn note(&self, _: &str) {}
}

/// The result of reading.
#[derive(Debug)]
pub struct Collected {
    /// The evidence for the rules.
    pub evidence: Evidence,
    /// The sources, in the order they were named.
    pub sources: Vec<Source>,
    /// Inputs that could not be read, in the order of sources and files.
    pub problems: Vec<Problem>,
    /// True if `stop` was set before everything was read.
    pub interrupted: bool,
    /// The state that a later run needs to continue; empty if everything was read.
    pub unfinished: Unfinished,
    /// The deployments that answered, by the names of their sources; `None` for those that do not
    /// report their identity. If [`Request::resume`] belongs to another deployment, Docward read
    /// nothing more from it.
    pub deployments: Vec<(String, Option<DeploymentId>)>,
    /// The date of the data, Unix time in milliseconds: when files were last modified, or when a
    /// deployment was read.
    pub taken_ms: i64,
}

/// Reads all sources of a request.
///
/// Never fails: inputs that could not be read are in [`Collected::problems`]. When `stop` is set,
/// reading ends soon and the data read so far is returned.
pub fn collect(request: &Request, progress: &dyn Progress, stop: &AtomicBool) -> Collected {
    std::thread::scope(|scope| {
        let task = request.check.as_ref().and_then(|check| check.validator.clone());
        let mut engine = engine::Engine::new(scope, request.threads.max(1), progress, stop, task);
        engine.keep_samples(request.keep_samples);
        engine.keep_tracked(request.track);
        reader::Reader::new(request, progress, stop, engine).read()
    })
}
