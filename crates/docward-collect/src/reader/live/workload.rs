//! The workload that servers report: profiler rows, long-running operations, and query statistics
//! from 7.0 on. All of it is bounded, and only shapes are kept.
//!
//! Each member of a replica set records its own operations, so all are asked.

use std::collections::BTreeSet;

use docward_model::{Namespace, Source, SourceKind, Value, WorkloadKind};
use docward_workload::{Entry, Ran, profile_entry, running_entry, totals_entry};
use mongodb::{
    bson::{Document, doc},
    error::Error,
};

use super::{
    super::Reader,
    Deployment,
    driver_error::{code, is_forbidden, is_gone, is_passing, words, words_of},
    privileges::Resource,
    session::{Question, Read},
};
use crate::trouble::{LiveTrouble, Trouble};

/// The collection the profiler of a database writes to.
pub(super) const PROFILE: &str = "system.profile";

/// The number of newest rows to read from each profiler.
const ROWS: u32 = 10_000;
/// The maximum bytes to read from one profiler, or from one server's response.
const BYTES: usize = 16 * 1024 * 1024;
/// The time limit of a request in milliseconds.
const PATIENCE_MS: u32 = 10_000;
/// An operation that has been running for this long is reported.
const LONG_SECONDS: u64 = 3;
/// The first version that has query statistics in its initial release.
const HAS_STATISTICS: (u32, u32) = (7, 0);

impl Reader<'_, '_, '_> {
    /// Reads the workload of these databases.
    pub(super) fn read_workload(&mut self, deployment: &mut Deployment<'_>, databases: &[String]) {
        let mut members: Vec<Option<String>> =
            deployment.members.iter().cloned().map(Some).collect();
        if members.is_empty() {
            members.push(None);
        }
        for member in std::mem::take(&mut deployment.down) {
            self.member_down(deployment, &member, None);
        }
        let mut entries = 0;
        let mut profiled = BTreeSet::new();
        for member in &members {
            if self.is_stopped() {
                return;
            }
            entries += self.profilers(deployment, member.as_deref(), databases, &mut profiled);
            if is_lost(deployment, member.as_deref()) {
                continue;
            }
            entries += self.running(deployment, member.as_deref());
            if deployment.version >= Some(HAS_STATISTICS) && !is_lost(deployment, member.as_deref())
            {
                entries += self.statistics(deployment, member.as_deref(), &profiled);
            }
        }
        if entries > 0 {
            self.has_workload = true;
            self.sources.push(Source {
                kind: SourceKind::Workload,
                name: deployment.session.name.clone(),
                documents: entries,
                bytes: 0,
                sampled: false,
                server: None,
            });
        }
    }

    /// Reads the profilers of a member; adds the databases that had rows to `profiled`.
    fn profilers(
        &mut self,
        deployment: &mut Deployment<'_>,
        member: Option<&str>,
        databases: &[String],
        profiled: &mut BTreeSet<String>,
    ) -> u64 {
        let mut rows: Vec<Ran> = Vec::new();
        for database in databases {
            if self.is_stopped() || is_lost(deployment, member) {
                break;
            }
            let (newest, cut) = match deployment.session.list_of(member, newest(database), BYTES) {
                Ok(answer) => answer,
                Err(error) => {
                    if !self.is_without_profiler(deployment, member, database, &error) {
                        let namespace = Namespace::new(database.as_str(), PROFILE);
                        let what = format!("reading {namespace}");
                        let resource = Resource::Collection(namespace);
                        self.unanswered(deployment, member, resource, "find", &what, &error);
                    }
                    continue;
                }
            };
            if cut || newest.len() as u64 == u64::from(ROWS) {
                self.progress.note(&format!(
                    "{}: of {database}.{PROFILE} only the newest {} rows were read",
                    deployment.session.name,
                    newest.len()
                ));
            }
            let known = rows.len();
            // Rows are returned newest first; rows of the same millisecond have no other order.
            rows.extend(
                newest.iter().rev().filter_map(profile_entry).filter(|ran| self.is_asked_for(ran)),
            );
            if rows.len() > known {
                profiled.insert(database.clone());
            }
        }
        // Sessions and refusals are tracked through time.
        rows.sort_by_key(|ran| ran.at);
        self.record(deployment, member, PROFILE, WorkloadKind::Profiler, rows)
    }

    /// Reads the long-running operations of a member.
    fn running(&mut self, deployment: &mut Deployment<'_>, member: Option<&str>) -> u64 {
        let stage = doc! { "$currentOp": { "allUsers": true, "idleConnections": false } };
        match deployment.session.list_of(member, of_server(stage), BYTES) {
            Ok((rows, _)) => {
                let long = |row: &Value| running_entry(row, LONG_SECONDS);
                let rows: Vec<Ran> =
                    rows.iter().filter_map(long).filter(|ran| self.is_asked_for(ran)).collect();
                self.record(deployment, member, "$currentOp", WorkloadKind::Running, rows)
            }
            Err(error) => {
                let what = "asking for running operations";
                self.unanswered(deployment, member, Resource::Cluster, "inprog", what, &error);
                0
            }
        }
    }

    /// Reads the query statistics of a member, except for databases whose profiler was read,
    /// because both contain the same operations. Most servers keep none, so a missing privilege is
    /// only a note.
    fn statistics(
        &mut self,
        deployment: &mut Deployment<'_>,
        member: Option<&str>,
        profiled: &BTreeSet<String>,
    ) -> u64 {
        let name = deployment.session.name.clone();
        let rows = match deployment.session.list_of(
            member,
            of_server(doc! { "$queryStats": {} }),
            BYTES,
        ) {
            Ok((rows, _)) => rows,
            Err(error) => {
                let why = if is_forbidden(&error) {
                    "the privilege queryStatsRead on the cluster is missing".to_owned()
                } else {
                    words(&error)
                };
                self.progress.note(&format!("{name}: query statistics were not read: {why}"));
                return 0;
            }
        };
        let totals: Vec<Entry> = rows
            .iter()
            .filter_map(totals_entry)
            .filter(|totals| {
                self.wants_operation(&totals.namespace, Some(&totals.command))
                    && !profiled.contains(&totals.namespace.database)
            })
            .map(|totals| Entry::Totals(Box::new(totals)))
            .collect();
        self.record_entries(
            &source_name(&name, member, "$queryStats"),
            WorkloadKind::Totals,
            totals,
        )
    }

    fn is_asked_for(&self, ran: &Ran) -> bool {
        let namespace = ran.namespace.as_ref();
        namespace.is_some_and(|namespace| self.wants_operation(namespace, ran.command.as_ref()))
    }

    /// Returns whether an operation concerns a requested collection. Shard keys are checked by all
    /// reads of a collection, including those that a `$lookup` from another one sends to it (SK-4).
    fn wants_operation(&self, namespace: &Namespace, command: Option<&Value>) -> bool {
        let is_wanted =
            |from: &str| self.request.filter.wants(&Namespace::new(&*namespace.database, from));
        self.request.filter.wants(namespace)
            || (self.request.analyze_keys.is_some()
                && command
                    .and_then(|command| command.get("pipeline"))
                    .is_some_and(|pipeline| joins(pipeline, &is_wanted)))
    }

    fn record(
        &mut self,
        deployment: &Deployment<'_>,
        member: Option<&str>,
        what: &str,
        kind: WorkloadKind,
        rows: Vec<Ran>,
    ) -> u64 {
        let name = source_name(&deployment.session.name, member, what);
        let entries = rows.into_iter().map(|ran| Entry::Ran(Box::new(ran))).collect();
        self.record_entries(&name, kind, entries)
    }

    /// Adds entries of one origin; returns the number of client operations.
    fn record_entries(&mut self, name: &str, kind: WorkloadKind, entries: Vec<Entry>) -> u64 {
        if entries.is_empty() {
            return 0;
        }
        self.workload.begin(name, kind);
        entries.into_iter().for_each(|entry| self.workload.add(entry));
        self.workload.operations_of_source()
    }

    /// Returns whether a database has no profiler to read, as far as the server reports it. A
    /// missing privilege is not reported if there would be nothing to read.
    fn is_without_profiler(
        &self,
        deployment: &Deployment<'_>,
        member: Option<&str>,
        database: &str,
        error: &Error,
    ) -> bool {
        if is_gone(error) || is_passing(error) {
            return is_gone(error);
        }
        let rest = doc! { "filter": { "name": PROFILE }, "nameOnly": true };
        let question = (database.to_owned(), Read::ListCollections, rest);
        let listed = deployment.session.list_of(member, question, BYTES);
        listed.map_or(true, |(listed, _)| listed.is_empty())
    }

    pub(super) fn member_down(
        &mut self,
        deployment: &mut Deployment<'_>,
        member: &str,
        error: Option<&Error>,
    ) {
        let why = error.map(|error| words_of(error, member));
        let trouble = LiveTrouble::MemberDown { member: member.to_owned(), why };
        self.troubles.add_for(deployment.session.name.clone(), &Trouble::Live(trouble));
        deployment.down.push(member.to_owned());
    }

    /// Ignores requests that this server does not support; reports other failures as problems. An
    /// unreachable member is a problem, and is not asked again.
    fn unanswered(
        &mut self,
        deployment: &mut Deployment<'_>,
        member: Option<&str>,
        resource: Resource,
        action: &'static str,
        what: &str,
        error: &Error,
    ) {
        // Services that are compatible with MongoDB, and the small instance sizes of Atlas, do not
        // support these requests. Codes: command not found, not supported, no such stage, refused
        // by Atlas.
        let is_unknown = matches!(code(error), Some(59 | 115 | 8000 | 40_324));
        if is_passing(error)
            && let Some(member) = member
        {
            self.member_down(deployment, member, Some(error));
            return;
        }
        if is_unknown {
            let name = &deployment.session.name;
            self.progress.note(&format!("{name}: {what} failed: {}", words(error)));
            return;
        }
        self.refused(deployment, resource, action, what, error);
    }
}

/// Returns whether a member is known to be unreachable.
fn is_lost(deployment: &Deployment<'_>, member: Option<&str>) -> bool {
    member.is_some_and(|member| deployment.down.iter().any(|down| down == member))
}

/// The newest rows of a database's profiler.
fn newest(database: &str) -> Question {
    let rest = doc! {
        "find": PROFILE, "sort": { "$natural": -1 }, "limit": ROWS, "maxTimeMS": PATIENCE_MS,
    };
    (database.to_owned(), Read::Find, rest)
}

/// A request about the server as a whole.
fn of_server(stage: Document) -> Question {
    let rest = doc! { "aggregate": 1, "pipeline": [stage], "cursor": {}, "maxTimeMS": PATIENCE_MS };
    ("admin".to_owned(), Read::Aggregate, rest)
}

fn source_name(deployment: &str, member: Option<&str>, what: &str) -> String {
    match member {
        Some(member) => format!("mongodb://{member} {what}"),
        None => format!("{deployment} {what}"),
    }
}

/// Returns whether a stage joins such a collection, at any depth: `$facet` contains pipelines.
fn joins(stages: &Value, is_wanted: &impl Fn(&str) -> bool) -> bool {
    let stage_joins = |name: &str, stage: &Value| {
        let from = stage.get("from").and_then(Value::as_text);
        matches!(name, "$lookup" | "$graphLookup") && from.is_some_and(is_wanted)
    };
    match stages {
        Value::List(stages) => stages.iter().any(|stage| joins(stage, is_wanted)),
        Value::Map(stage) => {
            stage.iter().any(|(name, of)| stage_joins(name, of) || joins(of, is_wanted))
        }
        _ => false,
    }
}
