//! Reads a running deployment: its catalogue, facts about its servers, and its documents.
//!
//! It only reads: everything goes through [`session`], which sends no other commands. The driver
//! runs on its own thread and fetches the next batch while the current one is profiled. Catalogue
//! and documents go to the same table and the same engine as those of files, so the same data gives
//! the same findings.
//!
//! The modules:
//!
//! - `session`: connections and requests
//! - `catalogue`: collections
//! - `server`: facts about the deployment
//! - `cluster`: tables of sharded clusters
//! - `key_analysis`: the server's analysis of shard keys
//! - `workload`: operations of clients
//! - `documents`: samples and full reads
//! - `ranges`: a large collection in parts
//! - `load`: pauses for busy servers
//! - `lookups`: references of a sample
//! - `pushdown`: figures computed by the server
//! - `privileges`: refused actions

mod catalogue;
mod check;
mod cluster;
mod documents;
mod driver_error;
mod key_analysis;
mod load;
mod lookups;
mod order;
mod pace;
mod privileges;
mod pushdown;
mod ranges;
mod resolve;
mod server;
mod session;
mod uri;
mod workload;

pub(crate) use lookups::Kept;
use order::Answering;
pub(crate) use privileges::Missing;
pub use resolve::{Resolved, resolve_name};
pub(crate) use session::Session;
use session::Stop;

use docward_model::{Namespace, SourceKind};

use super::Reader;
use crate::{
    engine::FileId,
    identity::Likeness,
    trouble::{LiveTrouble, Trouble, Troubles},
};

/// Returns whether a source is a connection string.
pub fn is_uri(source: &str) -> bool {
    source.starts_with("mongodb://") || source.starts_with("mongodb+srv://")
}

/// A deployment that is being read.
struct Deployment<'r> {
    session: Session<'r>,
    /// The index of the source in the run.
    source: usize,
    missing: Missing,
    /// The members of a replica set that can be asked individually; empty for a single server.
    members: Vec<String>,
    /// The members that do not respond.
    down: Vec<String>,
    /// The version of the server that responds.
    version: Option<(u32, u32)>,
    /// True if a router responds, not a member.
    is_routed: bool,
    /// The role of the responding member.
    answering: Answering,
    /// True if the facts about servers are from this deployment, not from an earlier source.
    is_told: bool,
    /// The number of consecutive collections for which no server responded.
    lost: usize,
    /// The number of requests that were not sent because earlier ones were not answered.
    not_asked: usize,
}

/// The number of consecutive unresponsive collections after which the others are skipped: each
/// takes half a minute.
const LOST: usize = 2;

impl Deployment<'_> {
    fn is_lost(&self) -> bool {
        self.lost >= LOST
    }
}

impl<'r> Reader<'r, '_, '_> {
    /// Connects to a deployment. From here on the source is named by its hosts, because a
    /// connection string may contain a password.
    pub(crate) fn connect(&mut self, source: usize, uri: &str) -> Option<Session<'r>> {
        self.sources[source].kind = SourceKind::Live;
        let (uri, left_out) = uri::without_unknown_options(uri);
        let at = self.request.max_time.and_then(|most| self.began.checked_add(most));
        let session = Session::connect(&uri, Stop { flag: self.stop, at });
        let (name, session) = match session {
            Ok(session) => (session.name.clone(), Ok(session)),
            Err((name, trouble)) => (name, Err(trouble)),
        };
        self.sources[source].name.clone_from(&name);
        if !left_out.is_empty() {
            self.progress.note(&format!(
                "{name}: Docward ignored these options of the connection string: {}",
                left_out.join(", ")
            ));
        }
        if matches!(session, Err(LiveTrouble::NoUsers)) {
            // The refusal shows that the server has no users, which is a fact about it.
            self.table.server.get_or_insert_with(server::without_users);
        }
        session.map_err(|trouble| self.troubles.add_for(name, &Trouble::Live(trouble))).ok()
    }

    /// Reads a deployment: facts first, then each collection.
    pub(crate) fn read_live(&mut self, source: usize, session: Session<'r>) {
        if self.request.namespace.is_some() {
            self.troubles.add_for(&*session.name, &Trouble::NamespaceUnused);
        }
        let is_told = self.table.server.is_none();
        let mut deployment = Deployment {
            session,
            source,
            missing: Missing::default(),
            members: Vec::new(),
            down: Vec::new(),
            version: None,
            is_routed: false,
            answering: Answering::default(),
            is_told,
            lost: 0,
            not_asked: 0,
        };
        if !self.request.full {
            deployment.session.watch_load();
        }
        let id = self.read_server(&mut deployment);
        let likeness = self.request.resume.likeness(id.as_ref());
        self.deployments.push((deployment.session.name.clone(), id));
        if likeness == Likeness::Other {
            return;
        }
        let databases = self.databases(&mut deployment);
        // The workload is read first: a profiler that records everything would overwrite the
        // operations of clients with Docward's own requests.
        if self.request.server_workload {
            self.read_workload(&mut deployment, &databases);
        }
        let collections = self.read_catalogue(&mut deployment, &databases);
        self.analyze_keys(&deployment, &collections);
        self.engine.expect(collections.len());
        self.progress.total_bytes(collections.iter().map(|c| self.expected_bytes(c)).sum());
        for (at, collection) in collections.iter().enumerate() {
            if deployment.is_lost() {
                self.lost(&deployment, collections.len() - at);
            }
            if self.is_stopped() || deployment.is_lost() {
                break;
            }
            self.read_live_collection(&mut deployment, collection);
        }
        if !deployment.is_lost() {
            self.look_up_references(&deployment, &collections);
            self.members_lost(&deployment);
        }
        // This also applies if the catalogue was not read completely.
        if self.is_stopped() {
            self.sources[source].sampled = true;
            self.left_open = true;
        }
        let name = deployment.session.name.clone();
        if let questions @ 1.. = deployment.not_asked {
            self.troubles.add_for(&*name, &Trouble::Live(LiveTrouble::NotAsked { questions }));
        }
        let missing = if self.request.documents_only {
            deployment.missing.about_documents()
        } else {
            deployment.missing
        };
        report_missing(&mut self.troubles, &name, missing, deployment.version);
    }

    /// Reports that the rest was not read.
    fn lost(&mut self, deployment: &Deployment<'_>, left: usize) {
        self.sources[deployment.source].sampled = true;
        self.left_open = true;
        let collections = match left {
            1 => "one more collection".to_owned(),
            left => format!("{left} more collections"),
        };
        let trouble = Trouble::Live(LiveTrouble::Lost { collections });
        self.troubles.add_for(&*deployment.session.name, &trouble);
    }

    /// Registers a collection of a deployment as a file of the report.
    fn live_file(&mut self, deployment: &Deployment<'_>, namespace: &Namespace) -> FileId {
        self.file(deployment.source, &format!("{} {namespace}", deployment.session.name))
    }
}

fn report_missing(
    troubles: &mut Troubles,
    name: &str,
    missing: Missing,
    version: Option<(u32, u32)>,
) {
    for trouble in missing.into_troubles(version) {
        troubles.add_for(name, &Trouble::Live(trouble));
    }
}
