//! The result of a run, as every reporter receives it.

use std::{borrow::Cow, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Basis, Change, Compared, Evidence, FieldPath, Finding, Known, Namespace, NamespacePattern,
    ProfileName, Severity, Subject, Waiver,
};

/// The kind of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum SourceKind {
    Dump,
    Archive,
    Bson,
    Json,
    Zip,
    Stdin,
    Log,
    /// Rules of firewalls and security groups.
    NetworkRules,
    /// Connection strings of clients.
    ConnectionStrings,
    /// A running deployment.
    Live,
    /// The operations of clients, as a running deployment reports them.
    Workload,
    /// Saved evidence of another run.
    Evidence,
    /// Source code and settings.
    Code,
    /// An input in which nothing could be read as documents or metadata.
    Unknown,
}

impl SourceKind {
    const ALL: [Self; 14] = [
        Self::Dump,
        Self::Archive,
        Self::Bson,
        Self::Json,
        Self::Zip,
        Self::Stdin,
        Self::Log,
        Self::NetworkRules,
        Self::ConnectionStrings,
        Self::Live,
        Self::Workload,
        Self::Evidence,
        Self::Code,
        Self::Unknown,
    ];

    /// Parses the name of a kind.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// Returns whether it provides documents.
    pub fn is_data(self) -> bool {
        !matches!(
            self,
            Self::Log | Self::Workload | Self::NetworkRules | Self::Code | Self::ConnectionStrings
        )
    }

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dump => "dump",
            Self::Archive => "archive",
            Self::Bson => "bson",
            Self::Json => "json",
            Self::Zip => "zip",
            Self::Stdin => "stdin",
            Self::Log => "log",
            Self::NetworkRules => "network rules",
            Self::ConnectionStrings => "connection strings",
            Self::Live => "live",
            Self::Workload => "workload",
            Self::Evidence => "evidence",
            Self::Code => "code",
            Self::Unknown => "unknown",
        }
    }
}

/// An input that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The kind of the input.
    pub kind: SourceKind,
    /// The name that the user gave.
    pub name: String,
    /// Documents read.
    pub documents: u64,
    /// Bytes of BSON those documents have.
    pub bytes: u64,
    /// True if only a part was read.
    pub sampled: bool,
    /// For a running deployment: version, topology and read preference as text.
    pub server: Option<String>,
}

/// A rule that could not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// The rule's code.
    pub rule: Cow<'static, str>,
    /// The evidence that was missing.
    pub needs: String,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Problem {
    /// The file (and member), with the byte offset when known.
    pub source: String,
    /// The problem and the advice.
    pub message: String,
}

/// The outcome of a checklist item, or of one requirement of a shard key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Verdict {
    Pass,
    /// Passes, with something to watch.
    Warn,
    Fail,
    Unknown,
    /// Does not apply, such as shard keys without sharded collections.
    NotApplicable,
}

impl Verdict {
    /// Every verdict, in the order in which reports count them.
    pub const ALL: [Self; 5] =
        [Self::Pass, Self::Warn, Self::Fail, Self::Unknown, Self::NotApplicable];

    /// Parses the name of a verdict.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == word)
    }

    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
            Self::NotApplicable => "n/a",
        }
    }
}

/// One row of a launch checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecklistItem {
    /// `CK-1`.
    pub id: Cow<'static, str>,
    /// The requirement, in our words.
    pub title: Cow<'static, str>,
    /// The outcome.
    pub verdict: Verdict,
    /// The evidence for it.
    pub evidence: String,
    /// The waiver, if a person signed it off although it did not pass.
    pub waiver: Option<Waiver>,
}

impl ChecklistItem {
    /// Returns whether it blocks a launch.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::Fail && self.waiver.is_none()
    }

    /// Returns whether it fails a run with this failing severity: `fail` always does, `warn` does
    /// if warnings do.
    pub fn fails_from(&self, severity: Severity) -> bool {
        let is_warned = self.verdict == Verdict::Warn && severity <= Severity::Warn;
        self.is_open() || (is_warned && self.waiver.is_none())
    }
}

/// A suppression and its effect in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionUse {
    /// The subject of the suppression, as text.
    pub about: String,
    /// The reason.
    pub reason: String,
    /// The last day on which it holds.
    pub expires: Option<String>,
    /// The number of findings it suppressed.
    pub findings: u64,
}

/// The date on which a growing quantity reaches a limit, and how the date was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthForecast {
    /// The collection.
    pub namespace: String,
    /// The array; absent for whole documents.
    pub path: Option<FieldPath>,
    /// The limit: `1,000 elements`, `10 MB`.
    pub what: String,
    /// The date on which it is reached.
    pub day: String,
    /// The document that reaches it first, and its rate: `the longest, by 0.81 elements a day`.
    pub pace: String,
    /// The date of the newest document; the forecast counts from it.
    pub counted_from: String,
}

/// When and how a run was made. Machine-readable formats leave it out: the same input gives the
/// same output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The command line, without passwords.
    pub command: String,
    /// The start time, in UTC: `2026-11-18 14:05`.
    pub started: String,
    /// Duration of reading and checking.
    pub millis: u64,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Version of the tool.
    pub tool_version: Cow<'static, str>,
    /// When and how it was made; unknown for a report read from a file.
    pub run: Option<Run>,
    /// The profile used.
    pub profile: ProfileName,
    /// The reason for the profile, if the user did not choose it.
    pub profile_reason: Option<String>,
    /// The inputs that were read.
    pub sources: Vec<Source>,
    /// The model the data was checked against, if that was the only check.
    pub against: Option<String>,
    /// The findings, sorted.
    pub findings: Vec<Finding>,
    /// Findings turned off by the configuration.
    pub suppressed: u64,
    /// The suppressions with a reason that had an effect.
    pub suppressions: Vec<SuppressionUse>,
    /// Findings listed in a baseline.
    pub baselined: u64,
    /// Rules that could not run.
    pub skipped: Vec<Skipped>,
    /// Inputs that could not be read.
    pub problems: Vec<Problem>,
    /// The launch checklist.
    pub checklist: Vec<ChecklistItem>,
    /// True if the run was interrupted before everything was read.
    pub interrupted: bool,
    /// True if document values may be printed.
    pub show_values: bool,
    /// Codes of the rules that ran, for which no finding means no problem; `None` if unknown.
    pub judged: Option<Vec<Cow<'static, str>>>,
    /// The collections that were requested.
    pub filter: Filter,
    /// Names of the collections that were read; `None` when that is not known.
    pub namespaces: Option<BTreeSet<String>>,
    /// Fingerprints of findings that are not reported: suppressed, or in the baseline.
    pub withheld: BTreeSet<String>,
    /// The differences from known findings.
    pub compared: Option<Compared>,
    /// The evidence for the findings, for charts.
    pub evidence: Evidence,
    /// The dates on which growing quantities reach a limit, for charts.
    pub forecasts: Vec<GrowthForecast>,
}

/// The collections a run is restricted to.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only databases that match.
    pub database: Option<NamespacePattern>,
    /// Only collections that match, by name or whole namespace.
    pub collection: Option<NamespacePattern>,
}

impl Filter {
    /// Returns whether the filter accepts everything.
    pub fn is_empty(&self) -> bool {
        self.database.is_none() && self.collection.is_none()
    }

    /// Returns whether the filter accepts a collection. Buckets follow their time series.
    pub fn wants(&self, namespace: &Namespace) -> bool {
        let collection = &namespace.collection;
        let collection = collection.strip_prefix("system.buckets.").unwrap_or(collection);
        self.database.as_ref().is_none_or(|glob| glob.matches(&namespace.database))
            && self.collection.as_ref().is_none_or(|glob| {
                glob.matches(collection)
                    || glob.matches(&format!("{}.{collection}", namespace.database))
            })
    }

    /// Returns whether a run with this filter reports the same about a subject as one without.
    pub fn admits(&self, at: &Subject) -> bool {
        match at {
            Subject::Deployment | Subject::Database(_) => self.is_empty(),
            Subject::Collection(ns) | Subject::Field(ns, _) | Subject::Index(ns, _) => {
                self.wants(ns)
            }
        }
    }
}

impl Report {
    /// Returns whether this run would have reported a known finding if it still existed.
    pub fn looked_for(&self, known: &Known) -> bool {
        self.is_whole() && self.has_judged(&known.rule) && self.has_read(&known.at)
    }

    /// Reports of earlier versions do not list the rules that ran.
    fn has_judged(&self, rule: &str) -> bool {
        self.judged.as_ref().is_none_or(|all| all.iter().any(|judged| judged == rule))
    }

    /// Returns whether everything that was requested was read.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && !self.interrupted
    }

    /// Returns whether a subject was read. A collection that was not read may still exist.
    fn has_read(&self, at: &Subject) -> bool {
        let Some(read) = self.namespaces.as_ref().filter(|_| self.filter.admits(at)) else {
            return self.filter.admits(at);
        };
        match at {
            Subject::Deployment => true,
            Subject::Database(name) => read
                .iter()
                .any(|ns| ns.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))),
            Subject::Collection(ns) | Subject::Field(ns, _) | Subject::Index(ns, _) => {
                read.contains(&ns.to_string()) || self.has_read_all_of(&ns.database, read)
            }
        }
    }

    /// Returns whether all collections of a database were read, so that one that was not read no
    /// longer exists. Single files and saved evidence may be partial.
    fn has_read_all_of(&self, database: &str, read: &BTreeSet<String>) -> bool {
        let is_data = |source: &&Source| source.kind.is_data();
        let is_whole = |source: &Source| {
            matches!(source.kind, SourceKind::Dump | SourceKind::Archive | SourceKind::Live)
        };
        let is_of = |ns: &String| ns.strip_prefix(database).is_some_and(|ns| ns.starts_with('.'));
        self.filter.collection.is_none()
            && self.sources.iter().filter(is_data).all(is_whole)
            && self.sources.iter().any(is_whole)
            && read.iter().any(is_of)
    }

    /// Returns whether a finding fails a run with this failing severity. When two reports are
    /// compared, only findings that are new or have a higher severity count.
    pub fn fails(&self, finding: &Finding, from: Option<Severity>) -> bool {
        let counts = match &self.compared {
            Some(compared) if compared.basis == Basis::Report => {
                matches!(compared.change(finding), Change::New | Change::Worse(_))
            }
            _ => true,
        };
        counts && from.is_some_and(|least| finding.severity >= least)
    }

    /// Problems that the reader has to know first: inputs that could not be read, and an interrupted run.
    pub fn obstacles(&self) -> Vec<Problem> {
        let stopped = self.interrupted.then(|| Problem {
            source: "the run".to_owned(),
            message: "stopped before the end: this is what was read so far".to_owned(),
        });
        stopped.into_iter().chain(self.problems.iter().cloned()).collect()
    }

    /// The number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|f| f.severity == severity).count()
    }

    /// Documents read over all sources.
    pub fn documents(&self) -> u64 {
        let data = self.sources.iter().filter(|source| source.kind.is_data());
        data.map(|s| s.documents).sum()
    }

    /// The number of documents checked against a schema. A server checks by itself and returns only
    /// some of the documents.
    pub fn checked_documents(&self) -> Option<u64> {
        let checked = self.evidence.collections.iter().filter_map(|c| c.checked.as_deref());
        checked.map(|checked| checked.documents).reduce(|a, b| a + b)
    }
}
