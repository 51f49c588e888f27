//! The result of a run, as every reporter receives it.

use serde::{Deserialize, Serialize};

use crate::{Finding, ProfileName, Severity};

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
    /// A running deployment.
    Live,
    /// What a running deployment says that clients do.
    Workload,
    /// What was saved of another run.
    Evidence,
    /// Named, but nothing in it could be read as documents or metadata.
    Unknown,
}

impl SourceKind {
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
            Self::Live => "live",
            Self::Workload => "workload",
            Self::Evidence => "evidence",
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
    pub rule: &'static str,
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
}

impl Verdict {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

/// One row of a launch checklist.
#[derive(Clone, Debug, PartialEq)]
pub struct ChecklistItem {
    /// `CK-1`.
    pub id: &'static str,
    /// What is asked, in our words.
    pub title: &'static str,
    /// The outcome.
    pub verdict: Verdict,
    /// The evidence for it.
    pub evidence: String,
}

/// Everything a run found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Version of the tool.
    pub tool_version: &'static str,
    /// The profile used.
    pub profile: ProfileName,
    /// What was read.
    pub sources: Vec<Source>,
    /// What was found, sorted.
    pub findings: Vec<Finding>,
    /// Findings switched off by configuration.
    pub suppressed: u64,
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
}

impl Report {
    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|f| f.severity == severity).count()
    }

    /// Documents read over all sources.
    pub fn documents(&self) -> u64 {
        let data = self.sources.iter().filter(|s| {
            !matches!(s.kind, SourceKind::Log | SourceKind::Workload | SourceKind::NetworkRules)
        });
        data.map(|s| s.documents).sum()
    }
}
