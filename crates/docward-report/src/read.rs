//! Parses a report from its JSON, to compare it or to print it in another format.

use std::{borrow::Cow, collections::BTreeSet};

use docward_model::{
    Action, Area, Basis, ChecklistItem, Data, DataValue, Deadline, Evidence, FieldPath, Filter,
    Finding, Fix, Level, Location, NamespacePattern, Problem, ProfileName, Report, Safety, Seen,
    Severity, Skipped, Source, SourceKind, Step, Subject, SuppressionUse, Unit, Verdict, Waiver,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The reason why a text is not a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportFault {
    /// The file is not JSON or has another structure.
    #[error("this is not a report (`docward audit … --format json` writes one): {0}")]
    Shape(#[from] serde_json::Error),
    /// Written by a newer Docward.
    #[error(
        "this file has version {0}, but this version of Docward reads only version 1; use a newer \
     Docward"
    )]
    Version(u64),
    /// A comparison of two reports is not a report itself.
    #[error("this is a comparison of two reports; give the two reports instead")]
    Comparison,
    /// A word that is invalid for its field.
    #[error("this is not a report: {field} is `{word}`")]
    Word {
        /// The field.
        field: &'static str,
        /// The word found.
        word: String,
    },
}

#[derive(Deserialize)]
struct Root {
    version: u64,
    tool: Tool,
    profile: String,
    #[serde(default)]
    sources: Vec<RawSource>,
    #[serde(default)]
    summary: Summary,
    findings: Vec<Entry>,
    #[serde(default)]
    skipped: Vec<RawSkipped>,
    #[serde(default)]
    problems: Vec<RawProblem>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    checklist: Vec<Item>,
    #[serde(default)]
    suppressions: Vec<RawSuppression>,
    judged: Option<Vec<String>>,
    #[serde(default)]
    filter: RawFilter,
    collections: Option<BTreeSet<String>>,
    #[serde(default)]
    withheld: BTreeSet<String>,
    compared: Option<RawCompared>,
    #[serde(default)]
    interrupted: bool,
}

#[derive(Deserialize)]
struct RawCompared {
    basis: String,
}

#[derive(Deserialize)]
struct Tool {
    version: String,
}

#[derive(Deserialize)]
struct RawSource {
    kind: String,
    name: String,
    documents: u64,
    bytes: u64,
    sampled: bool,
    server: Option<String>,
}

#[derive(Default, Deserialize)]
struct Summary {
    #[serde(default)]
    suppressed: u64,
    #[serde(default)]
    baselined: u64,
}

#[derive(Deserialize)]
struct Entry {
    rule: String,
    name: String,
    severity: String,
    level: String,
    #[serde(default)]
    area: Option<String>,
    #[serde(default)]
    deadline: Option<String>,
    #[serde(default, rename = "deadlineLimit")]
    deadline_limit: Option<String>,
    #[serde(default)]
    clauses: Vec<String>,
    namespace: Option<String>,
    path: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    index: Option<String>,
    location: Option<RawLocation>,
    #[serde(default)]
    locations: Vec<RawLocation>,
    what: String,
    why: String,
    todo: String,
    seen: RawSeen,
    #[serde(default)]
    data: Map<String, Value>,
    fix: Option<RawFix>,
    #[serde(default)]
    examples: Vec<String>,
    fingerprint: String,
}

#[derive(Deserialize)]
struct RawLocation {
    file: String,
    line: u32,
    column: u32,
}

#[derive(Deserialize)]
struct RawSeen {
    sampled: u64,
    total: u64,
    confidence: f64,
    unit: Option<String>,
    showing: Option<u64>,
    #[serde(default = "yes")]
    by_chance: bool,
}

/// The default for reports of versions that did not write this field.
fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct RawFix {
    refactoring: Option<String>,
    safety: String,
    command: String,
    /// Reports of earlier versions have no steps.
    #[serde(default)]
    steps: Value,
}

#[derive(Deserialize)]
struct RawSkipped {
    rule: String,
    needs: String,
}

#[derive(Deserialize)]
struct RawProblem {
    source: String,
    message: String,
}

#[derive(Deserialize)]
struct Item {
    id: String,
    #[serde(default)]
    title: String,
    verdict: String,
    evidence: String,
    waiver: Option<RawWaiver>,
}

#[derive(Deserialize)]
struct RawWaiver {
    reason: String,
    by: Option<String>,
    expires: Option<String>,
}

#[derive(Deserialize)]
struct RawSuppression {
    about: String,
    reason: String,
    expires: Option<String>,
    findings: u64,
}

#[derive(Default, Deserialize)]
struct RawFilter {
    database: Option<String>,
    collection: Option<String>,
}

/// Reads a report of version 1. Fields that later minor versions added may be missing.
pub fn read(text: &str) -> Result<Report, ReportFault> {
    // The version first: a later one may have another structure.
    let value: Value = serde_json::from_str(text)?;
    if let Some(version) = value.get("version").and_then(Value::as_u64).filter(|v| *v != 1) {
        return Err(ReportFault::Version(version));
    }
    let root: Root = serde_json::from_value(value)?;
    debug_assert_eq!(root.version, 1, "anything else was refused above");
    if root.compared.is_some_and(|compared| compared.basis != Basis::Baseline.name()) {
        return Err(ReportFault::Comparison);
    }
    let profile = known("profile", &root.profile, ProfileName::parse(&root.profile))?;
    let pattern = |text: Option<String>| text.and_then(|text| NamespacePattern::new(&text).ok());
    Ok(Report {
        tool_version: root.tool.version.into(),
        run: None,
        profile_reason: None,
        profile,
        sources: root.sources.into_iter().map(source).collect(),
        against: None,
        findings: root.findings.into_iter().map(finding).collect::<Result<_, _>>()?,
        suppressed: root.summary.suppressed,
        baselined: root.summary.baselined,
        suppressions: root
            .suppressions
            .into_iter()
            .map(|s| SuppressionUse {
                about: s.about,
                reason: s.reason,
                expires: s.expires,
                findings: s.findings,
            })
            .collect(),
        skipped: root
            .skipped
            .into_iter()
            .map(|s| Skipped { rule: s.rule.into(), needs: s.needs })
            .collect(),
        problems: root
            .problems
            .into_iter()
            .map(|p| Problem { source: p.source, message: p.message })
            .collect(),
        checklist: root.checklist.into_iter().map(item).collect::<Result<_, _>>()?,
        interrupted: root.interrupted,
        // Only a run with `--show-values` writes examples.
        show_values: true,
        judged: root.judged.map(|codes| codes.into_iter().map(Cow::Owned).collect()),
        filter: Filter {
            database: pattern(root.filter.database),
            collection: pattern(root.filter.collection),
        },
        namespaces: root.collections,
        withheld: root.withheld,
        compared: None,
        evidence: Evidence { notes: root.notes, ..Evidence::default() },
        forecasts: Vec::new(),
    })
}

fn known<T>(field: &'static str, word: &str, found: Option<T>) -> Result<T, ReportFault> {
    found.ok_or_else(|| ReportFault::Word { field, word: word.to_owned() })
}

fn source(raw: RawSource) -> Source {
    Source {
        kind: SourceKind::parse(&raw.kind).unwrap_or(SourceKind::Unknown),
        name: raw.name,
        documents: raw.documents,
        bytes: raw.bytes,
        sampled: raw.sampled,
        server: raw.server,
    }
}

fn finding(raw: Entry) -> Result<Finding, ReportFault> {
    let at =
        Subject::from_parts(raw.namespace.as_deref(), raw.path.as_deref(), raw.index.as_deref());
    let fix = raw.fix.map(|fix| {
        let safety = known("safety", &fix.safety, Safety::parse(&fix.safety))?;
        let refactoring = fix.refactoring.map(Cow::Owned);
        // Steps of a later version may be unknown here, but their statements can be read.
        let action = match serde_json::from_value::<Vec<Step>>(fix.steps) {
            Ok(steps) if !steps.is_empty() => Action::Plan(steps),
            _ => Action::Command(fix.command),
        };
        Ok::<_, ReportFault>(Fix { refactoring, safety, action })
    });
    Ok(Finding {
        severity: known("severity", &raw.severity, Severity::parse(&raw.severity))?,
        level: known("level", &raw.level, Level::parse(&raw.level))?,
        // Reports of earlier versions do not contain it.
        area: raw.area.as_deref().and_then(Area::parse).unwrap_or(Area::Hygiene),
        // Reports of earlier versions do not name the limit.
        deadline: raw.deadline.map(|day| Deadline {
            day,
            limit: raw.deadline_limit.unwrap_or_else(|| "limit".to_owned()),
        }),
        rule: raw.rule.into(),
        name: raw.name.into(),
        clauses: raw.clauses.into_iter().map(Cow::Owned).collect(),
        at,
        location: raw.location.map(location),
        // The primary place comes first.
        locations: raw.locations.into_iter().skip(1).map(location).collect(),
        paths: raw.paths.into_iter().map(FieldPath::new).collect(),
        excerpt: None,
        what: raw.what,
        why: raw.why,
        todo: raw.todo,
        seen: Seen {
            unit: raw.seen.unit.as_deref().and_then(Unit::parse).unwrap_or(Unit::Documents),
            sampled: raw.seen.sampled,
            total: raw.seen.total,
            confidence: raw.seen.confidence,
            showing: raw.seen.showing,
            by_chance: raw.seen.by_chance,
        },
        data: raw.data.into_iter().fold(Data::new(), |data, (key, value)| match figure(value) {
            Some(value) => data.with(&key, value),
            None => data,
        }),
        examples: raw.examples,
        fix: fix.transpose()?,
        edits: Vec::new(),
        uri: Vec::new(),
        fingerprint: raw.fingerprint,
    })
}

fn location(raw: RawLocation) -> Location {
    Location { file: raw.file, line: raw.line, column: raw.column }
}

fn figure(value: Value) -> Option<DataValue> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(b) => DataValue::Bool(b),
        Value::Number(n) => match n.as_i64() {
            Some(n) => DataValue::Int(n),
            None => DataValue::Float(n.as_f64()?),
        },
        Value::String(text) => DataValue::Text(text),
        Value::Array(items) => DataValue::List(items.into_iter().filter_map(figure).collect()),
        Value::Object(entries) => DataValue::Map(
            entries.into_iter().filter_map(|(key, value)| Some((key, figure(value)?))).collect(),
        ),
    })
}

fn item(raw: Item) -> Result<ChecklistItem, ReportFault> {
    let verdict = known("verdict", &raw.verdict, Verdict::parse(&raw.verdict))?;
    Ok(ChecklistItem {
        verdict,
        waiver: raw.waiver.map(|waiver| Waiver {
            item: raw.id.clone(),
            reason: waiver.reason,
            by: waiver.by,
            expires: waiver.expires,
        }),
        id: raw.id.into(),
        title: raw.title.into(),
        evidence: raw.evidence,
    })
}
