//! Prints connection strings with marks under the positions of findings, and corrected strings.

use std::{collections::BTreeMap, fmt::Write};

use docward_model::{Finding, Severity, UriChange};
use docward_report::Paint;
use serde_json::{Value, json};

use super::strings::{self, Given};

/// A string before and after the correction, both without passwords.
pub(super) struct Corrected {
    source: String,
    original: String,
    corrected: String,
    hosts: Vec<String>,
    /// Rules whose findings are gone in the corrected string.
    fixed: Vec<String>,
    /// Findings that the corrected string still has.
    remaining: Vec<Finding>,
}

/// Returns the changes that the findings about each string propose.
pub(super) fn changes_of(given: &[Given], findings: &[Finding]) -> Vec<Vec<UriChange>> {
    given.iter().map(|string| changes(string, findings)).collect()
}

/// Returns every string with its correction. `again` has the corrected strings, and `found_again`
/// the findings about them. A finding counts as corrected only if this second check does not report
/// it.
pub(super) fn corrected(
    given: &[Given],
    findings: &[Finding],
    again: &[Given],
    found_again: &[Finding],
) -> Vec<Corrected> {
    let pairs = given.iter().zip(again);
    pairs
        .map(|(string, new)| {
            let remaining: Vec<Finding> =
                found_again.iter().filter(|f| concerns(f, new)).cloned().collect();
            let is_gone = |finding: &&Finding| {
                is_about(finding, string) && !remaining.iter().any(|left| same_fault(left, finding))
            };
            let mut fixed: Vec<String> =
                findings.iter().filter(is_gone).map(|finding| finding.rule.to_string()).collect();
            fixed.sort();
            fixed.dedup();
            Corrected {
                source: string.label(),
                original: string.parsed.redacted(),
                corrected: new.parsed.redacted(),
                hosts: string.resolved.iter().flat_map(|r| r.hosts.clone()).collect(),
                fixed,
                remaining,
            }
        })
        .collect()
}

/// Whether two findings are about the same fault, in a string and in its correction.
fn same_fault(left: &Finding, right: &Finding) -> bool {
    left.rule == right.rule && left.data.get("option") == right.data.get("option")
}

/// Whether a finding is about a string.
fn is_about(finding: &Finding, string: &Given) -> bool {
    finding
        .location
        .as_ref()
        .is_some_and(|place| place.file == string.file && place.line == string.line)
}

/// Whether a finding is about a string, or about the options that the program adds to every string.
fn concerns(finding: &Finding, string: &Given) -> bool {
    is_about(finding, string)
        || finding.location.as_ref().is_some_and(|place| place.file == strings::OPTIONS)
}

fn changes(string: &Given, findings: &[Finding]) -> Vec<UriChange> {
    let mut about: Vec<&Finding> =
        findings.iter().filter(|finding| is_about(finding, string)).collect();
    // A change for the whole deployment (C032) overrides one for a single pool (C017, C018).
    about.sort_by(|a, b| a.rule.cmp(&b.rule));
    let mut changes: Vec<UriChange> = Vec::new();
    for change in about.iter().flat_map(|finding| &finding.uri) {
        let is_settled = match change {
            UriChange::Set { name, .. } => string.overlaid.contains(name),
            // The first list of hosts is complete.
            UriChange::Hosts(_) => changes.iter().any(|made| matches!(made, UriChange::Hosts(_))),
            _ => false,
        };
        if !is_settled {
            changes.push(change.clone());
        }
    }
    fit_minimum(string, &mut changes);
    changes
}

/// Keeps `minPoolSize` at or below a reduced `maxPoolSize`.
fn fit_minimum(string: &Given, changes: &mut Vec<UriChange>) {
    let last = |wanted: &str, changes: &[UriChange]| {
        changes.iter().rev().find_map(|change| match change {
            UriChange::Set { name, value } if name == wanted => value.parse::<i64>().ok(),
            _ => None,
        })
    };
    let own = |name: &str| match string.client.option(name)?.value {
        docward_model::OptionValue::Int(number) => Some(number),
        _ => None,
    };
    let Some(most) = last("maxPoolSize", changes) else { return };
    if last("minPoolSize", changes).or_else(|| own("minPoolSize")).is_some_and(|min| min > most) {
        changes.push(UriChange::set("minPoolSize", most.to_string()));
    }
}

/// Returns the JSON report with the corrected strings.
pub(super) fn with_corrected(report: &str, corrected: &[Corrected]) -> String {
    let Ok(Value::Object(mut root)) = serde_json::from_str(report) else {
        return report.to_owned();
    };
    let entries: Vec<Value> = corrected
        .iter()
        .map(|entry| {
            let mut value = json!({
                "source": entry.source,
                "original": entry.original,
                "corrected": entry.corrected,
                "fixed": entry.fixed,
                "remaining": entry.remaining.iter().map(|finding| json!({
                    "rule": finding.rule,
                    "name": finding.name,
                    "severity": finding.severity.name(),
                    "todo": finding.todo,
                })).collect::<Vec<_>>(),
            });
            if !entry.hosts.is_empty() {
                value["resolved"] = entry.hosts.clone().into();
            }
            value
        })
        .collect();
    root.insert("corrected".to_owned(), entries.into());
    let mut text = serde_json::to_string_pretty(&root).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns strings with a mark under the position of each finding, and then corrected strings.
pub(super) fn marked(
    given: &[Given],
    findings: &[Finding],
    corrected: &[Corrected],
    color: bool,
) -> String {
    let paint = Paint { color };
    let mut out = String::new();
    for (string, entry) in given.iter().zip(corrected) {
        let _ = writeln!(out, "\n{}", paint.bold(&entry.source));
        let _ = writeln!(out, "  {}", entry.original);
        for (column, found) in marks(string, findings) {
            let worst = found.iter().map(|finding| finding.severity).max();
            let names: Vec<String> =
                found.iter().map(|finding| format!("{} {}", finding.rule, finding.name)).collect();
            let mark = format!("^ {}", names.join(", "));
            let mark = match worst {
                Some(Severity::Error) => paint.red(&mark),
                Some(Severity::Warn) => paint.yellow(&mark),
                _ => paint.blue(&mark),
            };
            let _ = writeln!(out, "  {}{mark}", " ".repeat(column));
        }
        if !entry.hosts.is_empty() {
            let _ = writeln!(out, "  leads to {}", entry.hosts.join(", "));
        }
        if entry.corrected != entry.original {
            let _ = writeln!(out, "corrected\n  {}", entry.corrected);
        } else if entry.remaining.is_empty() {
            let _ = writeln!(out, "  {}", paint.dim("nothing to correct"));
        }
        if !entry.remaining.is_empty() {
            let mut left: Vec<String> = Vec::new();
            for finding in &entry.remaining {
                let name = format!("{} {}", finding.rule, finding.name);
                if !left.contains(&name) {
                    left.push(name);
                }
            }
            let _ = writeln!(out, "left for you to decide\n  {}", left.join(", "));
        }
    }
    out
}

/// Returns findings by column, in the order of the string.
fn marks<'f>(string: &Given, findings: &'f [Finding]) -> BTreeMap<usize, Vec<&'f Finding>> {
    let mut marks: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| is_about(finding, string)) {
        if let Some(place) = &finding.location {
            marks.entry(string.shown_column(place.column)).or_default().push(finding);
        }
    }
    marks
}
