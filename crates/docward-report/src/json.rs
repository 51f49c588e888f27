//! Formats a report as JSON, version 1 of the contract. Fields may be added; none is removed or
//! renamed. Byte-stable: the order of everything is fixed.

use std::{borrow::Cow, collections::BTreeSet};

use docward_model::{
    Change, DataValue, Finding, NamespacePattern, Report, RuleMeta, Severity, Site, Step,
    ThresholdValue,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ranking;

#[derive(Serialize)]
struct Root<'a> {
    version: u32,
    tool: Tool<'a>,
    profile: &'a str,
    sources: Vec<Source<'a>>,
    summary: Summary,
    findings: Vec<Entry<'a>>,
    skipped: Vec<Skipped<'a>>,
    problems: Vec<Problem<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
    checklist: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judged: Option<&'a [Cow<'static, str>]>,
    #[serde(skip_serializing_if = "Filter::is_empty")]
    filter: Filter<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collections: Option<&'a BTreeSet<String>>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    withheld: &'a BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Compared<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
}

#[derive(Serialize)]
struct Suppression<'a> {
    about: &'a str,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<&'a str>,
    findings: u64,
}

#[derive(Serialize)]
struct Filter<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<&'a str>,
}

impl Filter<'_> {
    fn is_empty(&self) -> bool {
        self.database.is_none() && self.collection.is_none()
    }
}

#[derive(Serialize)]
struct Compared<'a> {
    basis: &'a str,
    with: &'a str,
    new: usize,
    changed: usize,
    #[serde(rename = "notLookedForBefore")]
    not_looked_for_before: usize,
    unchanged: usize,
    fixed: Vec<Known<'a>>,
    #[serde(rename = "notJudged")]
    not_judged: Vec<Known<'a>>,
}

#[derive(Serialize)]
struct Known<'a> {
    rule: &'a str,
    name: &'a str,
    severity: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    what: &'a str,
    fingerprint: &'a str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Source<'a> {
    kind: &'a str,
    name: &'a str,
    documents: u64,
    bytes: u64,
    sampled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'a str>,
}

#[derive(Serialize)]
struct Summary {
    error: usize,
    warn: usize,
    info: usize,
    /// The number of recognised design patterns in `info`, which need no action.
    patterns: usize,
    suppressed: u64,
    baselined: u64,
}

#[derive(Serialize)]
struct Entry<'a> {
    rule: &'a str,
    name: &'a str,
    severity: &'a str,
    level: &'a str,
    area: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<&'a str>,
    #[serde(rename = "deadlineLimit", skip_serializing_if = "Option::is_none")]
    deadline_limit: Option<&'a str>,
    clauses: &'a [Cow<'static, str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    /// Every field that the finding covers, if its subject is not a single one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location<'a>>,
    /// Every place, the primary one first, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    locations: Vec<Location<'a>>,
    what: &'a str,
    why: &'a str,
    todo: &'a str,
    seen: Seen,
    data: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Fix<'a>>,
    /// The changes of text files that `lint --fix` makes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<CodeFix<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    examples: &'a [String],
    fingerprint: &'a str,
    /// The change of the finding, if reports are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a str>,
    /// Its earlier message.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'a str>,
}

#[derive(Serialize)]
struct Location<'a> {
    file: &'a str,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Seen {
    sampled: u64,
    total: u64,
    confidence: f64,
    unit: &'static str,
    /// The number of examined items that have the property.
    #[serde(skip_serializing_if = "Option::is_none")]
    showing: Option<u64>,
    /// The confidence interval of its share in the population.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<[f64; 2]>,
    /// An upper bound on the share of a property that none of the sample has.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen_below: Option<f64>,
    /// Present if the sample is not random.
    #[serde(skip_serializing_if = "is_true")]
    by_chance: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_true(value: &bool) -> bool {
    *value
}

/// Rounds to enough digits for computation, but few enough to be stable across platforms.
fn rounded(share: f64) -> f64 {
    (share * 1e8).round() / 1e8
}

#[derive(Serialize)]
struct Fix<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    refactoring: Option<&'a str>,
    safety: &'a str,
    command: String,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    steps: &'a [Step],
}

#[derive(Serialize)]
struct CodeFix<'a> {
    applicability: &'a str,
    location: Location<'a>,
    /// The replacement text. The old text is not repeated: it may be a password.
    replacement: &'a str,
}

#[derive(Serialize)]
struct Skipped<'a> {
    rule: &'a str,
    needs: &'a str,
}

#[derive(Serialize)]
struct Problem<'a> {
    source: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Item<'a> {
    id: &'a str,
    title: &'a str,
    verdict: &'a str,
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiver: Option<Waiver<'a>>,
}

#[derive(Serialize)]
struct Waiver<'a> {
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<&'a str>,
}

/// The report as JSON text, ending in a newline.
pub fn json(report: &Report) -> String {
    let root = Root {
        version: 1,
        tool: Tool { name: "docward", version: &report.tool_version },
        profile: report.profile.name(),
        sources: report
            .sources
            .iter()
            .map(|s| Source {
                kind: s.kind.name(),
                name: &s.name,
                documents: s.documents,
                bytes: s.bytes,
                sampled: s.sampled,
                server: s.server.as_deref(),
            })
            .collect(),
        summary: Summary {
            error: report.count(Severity::Error),
            warn: report.count(Severity::Warn),
            info: report.count(Severity::Info),
            patterns: ranking::recognised(report).count(),
            suppressed: report.suppressed,
            baselined: report.baselined,
        },
        findings: report.findings.iter().map(|f| entry(report, f)).collect(),
        skipped: report
            .skipped
            .iter()
            .map(|s| Skipped { rule: &s.rule, needs: &s.needs })
            .collect(),
        problems: report
            .problems
            .iter()
            .map(|p| Problem { source: &p.source, message: &p.message })
            .collect(),
        notes: &report.evidence.notes,
        checklist: report
            .checklist
            .iter()
            .map(|c| Item {
                id: &c.id,
                title: &c.title,
                verdict: c.verdict.name(),
                evidence: &c.evidence,
                waiver: c.waiver.as_ref().map(|w| Waiver {
                    reason: &w.reason,
                    by: w.by.as_deref(),
                    expires: w.expires.as_deref(),
                }),
            })
            .collect(),
        suppressions: report
            .suppressions
            .iter()
            .map(|s| Suppression {
                about: &s.about,
                reason: &s.reason,
                expires: s.expires.as_deref(),
                findings: s.findings,
            })
            .collect(),
        judged: report.judged.as_deref(),
        filter: Filter {
            database: report.filter.database.as_ref().map(NamespacePattern::as_str),
            collection: report.filter.collection.as_ref().map(NamespacePattern::as_str),
        },
        collections: report.namespaces.as_ref(),
        withheld: &report.withheld,
        compared: report.compared.as_ref().map(|compared| Compared {
            basis: compared.basis.name(),
            with: &compared.with,
            new: compared.count_new(&report.findings),
            changed: compared.count_changed(&report.findings),
            not_looked_for_before: compared.count_unseen(&report.findings),
            unchanged: compared.unchanged.len(),
            fixed: compared.fixed.iter().map(known).collect(),
            not_judged: compared.not_judged.iter().map(known).collect(),
        }),
        interrupted: report.interrupted,
    };
    let mut text = serde_json::to_string_pretty(&root).unwrap_or_default();
    text.push('\n');
    text
}

fn known(known: &docward_model::Known) -> Known<'_> {
    Known {
        rule: &known.rule,
        name: &known.name,
        severity: known.severity.name(),
        namespace: known.at.namespace(),
        path: known.at.path().map(docward_model::FieldPath::as_str),
        index: known.at.index(),
        what: &known.what,
        fingerprint: &known.fingerprint,
    }
}

/// The figures of a finding.
pub(crate) fn data(finding: &Finding) -> Map<String, Value> {
    finding.data.entries().iter().map(|(key, data)| (key.clone(), value(data))).collect()
}

fn entry<'a>(report: &'a Report, finding: &'a Finding) -> Entry<'a> {
    let change = report.compared.as_ref().map(|compared| compared.change(finding));
    Entry {
        rule: &finding.rule,
        name: &finding.name,
        severity: finding.severity.name(),
        level: finding.level.name(),
        area: finding.area.name(),
        deadline: finding.deadline.as_ref().map(|deadline| deadline.day.as_str()),
        deadline_limit: finding.deadline.as_ref().map(|deadline| deadline.limit.as_str()),
        clauses: &finding.clauses,
        namespace: finding.at.namespace(),
        path: finding.at.path().map(docward_model::FieldPath::as_str),
        paths: finding.paths.iter().map(docward_model::FieldPath::as_str).collect(),
        index: finding.at.index(),
        location: finding.location.as_ref().map(location),
        locations: match finding.locations.is_empty() {
            true => Vec::new(),
            false => finding.all_locations().map(location).collect(),
        },
        what: &finding.what,
        why: &finding.why,
        todo: &finding.todo,
        seen: Seen {
            sampled: finding.seen.sampled,
            total: finding.seen.total,
            confidence: finding.seen.confidence,
            unit: finding.seen.unit.name(2),
            showing: finding.seen.showing.filter(|_| finding.seen.sampled < finding.seen.total),
            share: finding.seen.share().map(|(low, high)| [rounded(low), rounded(high)]),
            unseen_below: finding.seen.unseen_below().map(rounded),
            by_chance: finding.seen.by_chance || finding.seen.sampled >= finding.seen.total,
        },
        data: data(finding),
        fix: finding.fix.as_ref().map(|fix| Fix {
            refactoring: fix.refactoring.as_deref(),
            safety: fix.safety.name(),
            command: fix.command(),
            steps: fix.steps(),
        }),
        fixes: finding
            .edits
            .iter()
            .map(|edit| CodeFix {
                applicability: edit.applicability.name(),
                location: location(&edit.location),
                replacement: &edit.new,
            })
            .collect(),
        examples: if report.show_values { &finding.examples } else { &[] },
        fingerprint: &finding.fingerprint,
        change: change.map(Change::name),
        before: match change {
            Some(Change::Changed(before)) => Some(before),
            Some(Change::Worse(before)) => Some(before.name()),
            _ => None,
        },
    }
}

fn location(location: &docward_model::Location) -> Location<'_> {
    Location { file: &location.file, line: location.line, column: location.column }
}

fn value(data: &DataValue) -> Value {
    match data {
        DataValue::Int(n) => (*n).into(),
        DataValue::Float(n) => (*n).into(),
        DataValue::Bool(b) => (*b).into(),
        DataValue::Text(text) => text.as_str().into(),
        DataValue::List(items) => items.iter().map(value).collect(),
        DataValue::Map(entries) => {
            Value::Object(entries.iter().map(|(k, v)| (k.clone(), value(v))).collect())
        }
    }
}

/// The rules as JSON text, for `docward rules --format json`.
pub fn rules_json(rules: &[&RuleMeta], site: &Site) -> String {
    let list: Vec<Value> = rules
        .iter()
        .map(|rule| {
            let thresholds: Vec<Value> = rule
                .thresholds
                .iter()
                .map(|t| {
                    serde_json::json!({
                        "key": t.key,
                        "default": threshold_value(t.default),
                        "unit": t.unit,
                        "source": t.source,
                        "help": t.help,
                    })
                })
                .collect();
            serde_json::json!({
                "code": rule.code,
                "name": rule.name,
                "title": rule.title(),
                "level": rule.level.name(),
                "area": rule.area.name(),
                "severity": rule.highest_severity().name(),
                "severities": rule.severities.iter().map(|s| s.name()).collect::<Vec<_>>(),
                "maturity": rule.maturity.name(),
                "clauses": rule.clauses,
                "needs": rule.needs.iter().map(|n| n.name()).collect::<Vec<_>>(),
                "url": site.rule(rule.code),
                "houseNaming": rule.scope == docward_model::Scope::HouseNaming,
                "thresholds": thresholds,
            })
        })
        .collect();
    let mut text = serde_json::to_string_pretty(&list).unwrap_or_default();
    text.push('\n');
    text
}

fn threshold_value(value: ThresholdValue) -> Value {
    match value {
        ThresholdValue::Int(n) => n.into(),
        ThresholdValue::Float(n) => n.into(),
        ThresholdValue::Flag(b) => b.into(),
        ThresholdValue::Text(text) => text.into(),
        ThresholdValue::Words(words) => words.iter().copied().collect(),
    }
}
