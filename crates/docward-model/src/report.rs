//! The result of a run, as every reporter receives it.

use std::{borrow::Cow, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Basis, Change, Compared, Evidence, FieldPath, Finding, Known, Namespace, NamespacePattern,
    ProfileName, Severity, Subject, Waiver,
};

/// What kind of input a source was.
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
    /// What a running deployment says that clients do.
    Workload,
    /// What was saved of another run.
    Evidence,
    /// Source code and settings.
    Code,
    /// Named, but nothing in it could be read as documents or metadata.
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

    /// The kind a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// Whether documents come from it, or would.
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

/// One thing that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// What kind of input.
    pub kind: SourceKind,
    /// As the user named it.
    pub name: String,
    /// Documents read.
    pub documents: u64,
    /// Bytes of BSON those documents have.
    pub bytes: u64,
    /// Whether only a part was read.
    pub sampled: bool,
    /// For a running deployment: version, topology and read preference in words.
    pub server: Option<String>,
}

/// A rule that could not look.
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
    /// What went wrong and what to do.
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
    /// The question does not arise: shard keys where nothing is sharded.
    NotApplicable,
}

impl Verdict {
    /// Every verdict, in the order in which reports count them.
    pub const ALL: [Self; 5] =
        [Self::Pass, Self::Warn, Self::Fail, Self::Unknown, Self::NotApplicable];

    /// The verdict a word stands for.
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
    /// What is asked, in our words.
    pub title: Cow<'static, str>,
    /// The outcome.
    pub verdict: Verdict,
    /// The evidence for it.
    pub evidence: String,
    /// Who signed it off although it did not pass, and why.
    pub waiver: Option<Waiver>,
}

impl ChecklistItem {
    /// Whether it stands in the way of a launch.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::Fail && self.waiver.is_none()
    }

    /// Whether it makes a run fail that fails from this severity on: `fail` always does, `warn` does where
    /// warnings do.
    pub fn fails_from(&self, severity: Severity) -> bool {
        let is_warned = self.verdict == Verdict::Warn && severity <= Severity::Warn;
        self.is_open() || (is_warned && self.waiver.is_none())
    }
}

/// A suppression, and what it did in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuppressionUse {
    /// What it is about, in words.
    pub about: String,
    /// Why.
    pub reason: String,
    /// The last day on which it holds.
    pub expires: Option<String>,
    /// Findings it kept out of the report.
    pub findings: u64,
}

/// The day on which something that grows reaches a limit, and what that day was worked out from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowthForecast {
    /// The collection.
    pub namespace: String,
    /// The array; absent for whole documents.
    pub path: Option<FieldPath>,
    /// What is reached: `1,000 elements`, `10 MB`.
    pub what: String,
    /// On which day.
    pub day: String,
    /// Who gets there first and how fast, in words: `the longest, by 0.81 elements a day`.
    pub pace: String,
    /// The day of the newest document, from which was counted.
    pub counted_from: String,
}

/// When and how a run was made. Formats for programs leave it out: the same input gives the same output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The command line, without passwords.
    pub command: String,
    /// When it began, in UTC: `2026-11-18 14:05`.
    pub started: String,
    /// How long reading and judging took.
    pub millis: u64,
}

/// Everything a run found out.
#[derive(Clone, Debug)]
pub struct Report {
    /// Version of the tool.
    pub tool_version: Cow<'static, str>,
    /// When and how it was made; unknown for a report that was read from a file.
    pub run: Option<Run>,
    /// The profile used.
    pub profile: ProfileName,
    /// Why it was used, where nobody chose it.
    pub profile_reason: Option<String>,
    /// What was read.
    pub sources: Vec<Source>,
    /// The model that data was held against, when nothing else was asked.
    pub against: Option<String>,
    /// What was found, sorted.
    pub findings: Vec<Finding>,
    /// Findings switched off by configuration.
    pub suppressed: u64,
    /// The suppressions with a reason that did some of it.
    pub suppressions: Vec<SuppressionUse>,
    /// Findings known from a baseline.
    pub baselined: u64,
    /// Rules that could not look.
    pub skipped: Vec<Skipped>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// The launch checklist.
    pub checklist: Vec<ChecklistItem>,
    /// Set when the run was stopped before everything was read.
    pub interrupted: bool,
    /// Whether document values may be printed.
    pub show_values: bool,
    /// Codes of the rules whose silence means something; `None` when that is not known.
    pub judged: Option<Vec<Cow<'static, str>>>,
    /// Which collections were asked for.
    pub filter: Filter,
    /// Names of the collections that were read; `None` when that is not known.
    pub namespaces: Option<BTreeSet<String>>,
    /// Fingerprints of findings that were made and are not told: suppressed, or in the baseline.
    pub withheld: BTreeSet<String>,
    /// How the findings differ from those that were known.
    pub compared: Option<Compared>,
    /// What the findings rest on, for pictures.
    pub evidence: Evidence,
    /// When what grows reaches a limit, for pictures.
    pub forecasts: Vec<GrowthForecast>,
}

/// Which collections a run was about.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only databases that match.
    pub database: Option<NamespacePattern>,
    /// Only collections that match, by name or whole namespace.
    pub collection: Option<NamespacePattern>,
}

impl Filter {
    /// Whether everything is let through.
    pub fn is_empty(&self) -> bool {
        self.database.is_none() && self.collection.is_none()
    }

    /// Whether a collection is let through. Buckets go with their time series.
    pub fn wants(&self, namespace: &Namespace) -> bool {
        let collection = &namespace.collection;
        let collection = collection.strip_prefix("system.buckets.").unwrap_or(collection);
        self.database.as_ref().is_none_or(|glob| glob.matches(&namespace.database))
            && self.collection.as_ref().is_none_or(|glob| {
                glob.matches(collection)
                    || glob.matches(&format!("{}.{collection}", namespace.database))
            })
    }

    /// Whether a run with this filter says about a subject what one without would.
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
    /// Whether the run would have found a known finding if it were still there.
    pub fn looked_for(&self, known: &Known) -> bool {
        self.is_whole() && self.has_judged(&known.rule) && self.has_read(&known.at)
    }

    /// Reports of earlier versions do not say which rules they judged.
    fn has_judged(&self, rule: &str) -> bool {
        self.judged.as_ref().is_none_or(|all| all.iter().any(|judged| judged == rule))
    }

    /// Whether everything that was asked for was read.
    pub fn is_whole(&self) -> bool {
        self.problems.is_empty() && !self.interrupted
    }

    /// Whether a subject was among what was read: a collection that was not may be there all the same.
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

    /// Whether all collections of a database were read: one that is not among them is there no more. Single
    /// files, and what was saved of another run, may be parts.
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

    /// Whether a finding fails a run that fails from this severity on. Of two reports only what is new or
    /// louder counts.
    pub fn fails(&self, finding: &Finding, from: Option<Severity>) -> bool {
        let counts = match &self.compared {
            Some(compared) if compared.basis == Basis::Report => {
                matches!(compared.change(finding), Change::New | Change::Worse(_))
            }
            _ => true,
        };
        counts && from.is_some_and(|least| finding.severity >= least)
    }

    /// What a reader has to know before anything else: what could not be read, and a run that was stopped.
    pub fn obstacles(&self) -> Vec<Problem> {
        let stopped = self.interrupted.then(|| Problem {
            source: "the run".to_owned(),
            message: "stopped before the end: this is what was read so far".to_owned(),
        });
        stopped.into_iter().chain(self.problems.iter().cloned()).collect()
    }

    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|f| f.severity == severity).count()
    }

    /// Documents read over all sources.
    pub fn documents(&self) -> u64 {
        let data = self.sources.iter().filter(|source| source.kind.is_data());
        data.map(|s| s.documents).sum()
    }

    /// Documents that were held against a schema. A server does that by itself, and sends only some of them.
    pub fn checked_documents(&self) -> Option<u64> {
        let checked = self.evidence.collections.iter().filter_map(|c| c.checked.as_deref());
        checked.map(|checked| checked.documents).reduce(|a, b| a + b)
    }
}
