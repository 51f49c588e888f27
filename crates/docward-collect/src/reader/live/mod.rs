//! Reading a running deployment: its catalogue, what its servers say, and its documents.
//!
//! It can only read: everything goes through [`session`], which knows no other commands. The
//! driver works on a thread of its own and fetches the next batch while this one is profiled.
//! Catalogue and documents end up in the same table and the same engine as those of files, so the
//! same data gives the same findings.
//!
//! Read on: `session` (connecting and asking), `catalogue` (collections), `server` (facts about
//! the whole), `cluster` (tables of sharded clusters), `key_analysis` (what the server says about shard
//! keys), `workload` (what clients do), `documents` (what is read, and how), `ranges` (a large collection
//! in parts), `lookups` (what a sample refers to), `pushdown` (what the server counts itself), `privileges` (what was not allowed).

mod catalogue;
mod check;
mod cluster;
mod documents;
mod driver_error;
mod key_analysis;
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

/// Whether a source is a connection string.
pub fn is_uri(source: &str) -> bool {
    source.starts_with("mongodb://") || source.starts_with("mongodb+srv://")
}

/// A deployment being read.
struct Deployment<'r> {
    session: Session<'r>,
    /// Which source of the run it is.
    source: usize,
    missing: Missing,
    /// The members of a replica set that can be asked one by one; none of a single server.
    members: Vec<String>,
    /// The members that do not answer.
    down: Vec<String>,
    /// The version of the server that answers.
    version: Option<(u32, u32)>,
    /// Whether a router answers, and not a member.
    is_routed: bool,
    /// Who answers, of the members of a set.
    answering: Answering,
    /// Whether the facts about servers are those of this deployment, not of an earlier source.
    is_told: bool,
    /// Collections in a row for which no server answered.
    lost: usize,
    /// Questions that were not asked since others before were not answered.
    not_asked: usize,
}

/// Collections in a row without an answer, after which the others are left alone: each takes half a minute.
const LOST: usize = 2;

impl Deployment<'_> {
    fn is_lost(&self) -> bool {
        self.lost >= LOST
    }
}

impl<'r> Reader<'r, '_, '_> {
    /// Connects to a deployment. The source is called by its hosts from here on: a connection
    /// string may hold a password.
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
                "{name}: options of the connection string that mean nothing here were left out: {}",
                left_out.join(", ")
            ));
        }
        if matches!(session, Err(LiveTrouble::NoUsers)) {
            // What the refusal tells about the server is a fact like any other.
            self.table.server.get_or_insert_with(server::without_users);
        }
        session.map_err(|trouble| self.troubles.add_for(name, &Trouble::Live(trouble))).ok()
    }

    /// Reads a deployment: facts first, then collection by collection.
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
        let id = self.read_server(&mut deployment);
        let likeness = self.request.resume.likeness(id.as_ref());
        self.deployments.push((deployment.session.name.clone(), id));
        if likeness == Likeness::Other {
            return;
        }
        let databases = self.databases(&mut deployment);
        // Before anything else is read: a profiler that writes everything down would have what
        // clients did pushed out by what is asked from here on.
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
        // Also when the catalogue itself was not read to its end.
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

    /// Tells that the rest was not read.
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

    /// A file of the report for a collection of a deployment.
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
