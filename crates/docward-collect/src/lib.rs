//! Reading what people have: dumps, archives, BSON and JSON files, zips, standard input, running
//! deployments. Sources in, [`Evidence`] out.
//!
//! The only place of Docward that opens what is to be audited. Formats are told by content first and
//! by name second; one unreadable file is a [`Problem`], never the end of a run. Memory stays
//! bounded whatever the input: documents flow through a handful of blocks to the profilers.
//!
//! Names: files in a dump's layout, archives and `--namespace` give real names. A loose file is
//! collection *stem* of database `test` (or of the directory it is in below the one named), and
//! `names_are_real` is false as soon as one collection is known by such a name only.
//!
//! Read on: `plan` (what lies where), `detect` (what it is), `reader` (reading it), `engine`
//! (threads and blocks), `catalogue` (metadata), `table` (the evidence), `reader::live` (running
//! deployments), `network` (firewalls and security groups).

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

/// What to read, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Paths, or `-` for standard input.
    pub sources: Vec<String>,
    /// The name of the collection, for sources that hold a single one.
    pub namespace: Option<Namespace>,
    /// Which databases and collections.
    pub filter: Filter,
    /// Read catalogue facts only, no documents.
    pub metadata_only: bool,
    /// Threads that profile, besides the caller's, which reads what they cannot read themselves.
    /// With one (or none), everything happens on the caller's thread. The outcome is the same for
    /// any number.
    pub threads: usize,
    /// Read only so many documents of each collection, the first ones.
    pub sample: Option<u64>,
    /// Read everything from live deployments too, of which otherwise a sample is read.
    pub full: bool,
    /// Let live deployments count over all documents, besides what is read.
    pub pushdown: bool,
    /// Keep the documents drawn at random, as hashes: what compares several fields needs them.
    pub keep_samples: bool,
    /// Read what clients do from live deployments too: the profiler, long-running operations, query
    /// statistics.
    pub server_workload: bool,
    /// Stop reading after this time, and report on what was read.
    pub max_time: Option<Duration>,
    /// Read no more documents of live deployments than this in a second.
    pub max_rate: Option<u64>,
    /// Keep documents in a form in which they can be met again on another date.
    pub track: bool,
    /// Documents of live collections to look at besides, by the hexadecimal digits of their `_id`s:
    /// those that an earlier run kept track of.
    pub follow: BTreeMap<Namespace, Vec<String>>,
    /// Keep what a later run needs to go on, when a whole reading of live deployments is interrupted.
    pub resumable: bool,
    /// What an earlier run has read already.
    pub resume: Resume,
    /// Let a server that can (7.0 and later) analyse these shard keys, and the one a collection has;
    /// `None` to ask nothing.
    pub analyze_keys: Option<Vec<KeyFields>>,
    /// Whether nothing but documents is wanted: what else a deployment does not tell is no problem then.
    pub documents_only: bool,
    /// Hold documents against this instead of profiling them.
    pub check: Option<Check>,
}

/// What documents are held against.
#[derive(Clone, Debug)]
pub struct Check {
    /// The validator as a document, for servers to count by.
    pub filter: Vec<u8>,
    /// The same, ready to be asked here; `None` when only a server can evaluate it.
    pub validator: Option<Arc<Validator>>,
    /// Documents that a server says break it and that are fetched to see what they break.
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

/// Someone who wants to know how far reading is.
pub trait Progress: Sync {
    /// So many bytes are to be read, as far as known before, besides those told of earlier.
    fn total_bytes(&self, n: u64);
    /// That much was read since the last call.
    fn advance(&self, bytes: u64, documents: u64);
    /// Something worth saying that is no problem.
    fn note(&self, text: &str);
}

/// Nobody wants to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn total_bytes(&self, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn note(&self, _: &str) {}
}

/// What was read.
#[derive(Debug)]
pub struct Collected {
    /// What rules look at.
    pub evidence: Evidence,
    /// The sources, in the order they were named.
    pub sources: Vec<Source>,
    /// What could not be read, in the order of sources and files.
    pub problems: Vec<Problem>,
    /// Whether `stop` was set before everything was read.
    pub interrupted: bool,
    /// What a later run needs to go on; empty when everything was read.
    pub unfinished: Unfinished,
    /// The deployments that answered, by the names of their sources; `None` for those that do not say
    /// enough to be known again. Of one that [`Request::resume`] is not about, nothing more was read.
    pub deployments: Vec<(String, Option<DeploymentId>)>,
    /// The date the evidence shows, Unix time in milliseconds: when files were last written to, or
    /// when a deployment was read.
    pub taken_ms: i64,
}

/// Reads all sources of a request.
///
/// Never fails: what could not be read is in [`Collected::problems`]. When `stop` is set, reading
/// ends soon and what was read until then is returned.
pub fn collect(request: &Request, progress: &dyn Progress, stop: &AtomicBool) -> Collected {
    std::thread::scope(|scope| {
        let task = request.check.as_ref().and_then(|check| check.validator.clone());
        let mut engine = engine::Engine::new(scope, request.threads.max(1), progress, stop, task);
        engine.keep_samples(request.keep_samples);
        engine.keep_tracked(request.track);
        reader::Reader::new(request, progress, stop, engine).read()
    })
}
