//! The declaration of a rule; the check itself is in `docward-rules`.

use crate::{Area, Level, Severity};

/// The maturity of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maturity {
    /// New: on by default, but its wording and thresholds may still change.
    Preview,
    /// Settled.
    Stable,
}

impl Maturity {
    /// The word used on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preview => "preview",
            Self::Stable => "stable",
        }
    }
}

/// Evidence that a rule needs. Missing evidence is reported as a skip, never ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// Names of databases and collections.
    Names,
    /// Documents.
    Documents,
    /// Documents, or figures that a server computed over them.
    Counts,
    /// The core collections: declared, or inferred from documents or from figures that a server
    /// computed.
    Core,
    /// Collection options (validators, time series, capped).
    Options,
    /// Index definitions.
    Indexes,
    /// A shard key declared in `docward.toml`.
    ShardKeys,
    /// A workload: profiler output, logs or proxy traffic.
    Workload,
    /// A workload that is long enough to compute rates.
    Rates,
    /// Facts that only a running server provides: its start options, its users, its members.
    Server,
    /// The usage counts of indexes, from a running server.
    IndexUsage,
    /// Files about firewalls and security groups.
    Network,
    /// Connection strings.
    Uris,
    /// A schema to check documents against.
    Schema,
    /// Source code.
    Code,
    /// A model declared for `docward design`.
    Design,
}

impl Need {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Documents | Self::Counts | Self::Core => "documents",
            Self::Options => "options",
            Self::Indexes => "indexes",
            Self::ShardKeys => "shard keys",
            Self::Workload => "workload",
            Self::Rates => "a workload of at least a minute",
            Self::Server => "a running server",
            Self::IndexUsage => "index usage",
            Self::Network => "network rules",
            Self::Uris => "a client's connection string",
            Self::Schema => "a schema to check against",
            Self::Code => "source code",
            Self::Design => "a declared model",
        }
    }
}

/// The profiles in which a rule is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In every profile.
    Everywhere,
    /// House naming: on in `vendor`, off in `neutral`.
    HouseNaming,
}

/// The default of a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum ThresholdValue {
    Int(i64),
    Float(f64),
    Flag(bool),
    Text(&'static str),
    Words(&'static [&'static str]),
}

/// A number (or word) that a rule compares with; users can change it in `docward.toml`.
#[derive(Debug)]
pub struct Threshold {
    /// The key under `[rules.CODE]`, kebab-case.
    pub key: &'static str,
    /// The default value.
    pub default: ThresholdValue,
    /// The unit of the number.
    pub unit: &'static str,
    /// The source of the default: a clause, a choice between sources (`GC-02`), or "our default".
    pub source: &'static str,
    /// A one-line description.
    pub help: &'static str,
}

/// The declaration of a rule.
#[derive(Debug)]
pub struct RuleMeta {
    /// `D008`: family letter and three digits, never reused.
    pub code: &'static str,
    /// `unbounded-array`: reads well after "allow".
    pub name: &'static str,
    /// The level of the clause it enforces.
    pub level: Level,
    /// The consequence in production when the rule is broken.
    pub area: Area,
    /// The severities of its findings unless configured, highest first.
    pub severities: &'static [Severity],
    /// The clauses it implements.
    pub clauses: &'static [&'static str],
    /// Its maturity.
    pub maturity: Maturity,
    /// The profiles in which it is on.
    pub scope: Scope,
    /// The evidence it needs.
    pub needs: &'static [Need],
    /// Its configurable thresholds.
    pub thresholds: &'static [&'static Threshold],
    /// The keys of `data` in its findings, in camelCase: part of the JSON contract. `over*` stands for keys that end with
    /// a configured limit.
    pub data: &'static [&'static str],
    /// The page: Markdown with the fixed headings.
    pub doc: &'static str,
    /// The source file, for contributors.
    pub file: &'static str,
}

impl RuleMeta {
    /// The family letter.
    pub fn family(&self) -> char {
        self.code.chars().next().unwrap_or('?')
    }

    /// The severities of its findings as text: `error, warning or note`.
    pub fn severity_text(&self) -> String {
        let names: Vec<&str> = self.severities.iter().map(|severity| severity.word()).collect();
        match names.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    /// The highest severity that its findings have.
    pub fn highest_severity(&self) -> Severity {
        self.severities.iter().copied().max().unwrap_or_else(|| self.level.severity())
    }

    /// The title: first heading of the page.
    pub fn title(&self) -> &'static str {
        self.doc.lines().find_map(|line| line.trim().strip_prefix("# ")).unwrap_or(self.name)
    }

    /// The body under a `## heading`, trimmed.
    pub fn section(&self, heading: &str) -> Option<String> {
        let mut body: Option<String> = None;
        for line in self.doc.lines() {
            let line = line.strip_prefix(' ').unwrap_or(line);
            if let Some(title) = line.strip_prefix("## ") {
                if body.is_some() {
                    break;
                }
                if title.trim() == heading {
                    body = Some(String::new());
                }
            } else if let Some(body) = &mut body {
                body.push_str(line);
                body.push('\n');
            }
        }
        body.map(|text| text.trim().to_owned())
    }
}
