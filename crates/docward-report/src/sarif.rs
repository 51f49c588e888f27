//! Formats a report as SARIF 2.1.0, for code scanning: rules with their pages, findings in files
//! with regions, findings in data with logical locations.

use std::collections::BTreeMap;

use docward_model::{
    Change, ChecklistItem, Compared, Finding, Known, Location, Report, RuleMeta, Severity, Site,
    SourceKind, Subject, Verdict,
};
use serde_json::{Map, Value, json};

use crate::{
    View,
    json::data,
    ranking,
    text::{checkout_path, place_before, plain, seen},
};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A log with one run.
pub(crate) fn sarif(report: &Report, view: View, rules: &[&RuleMeta], site: &Site) -> String {
    let (descriptors, results) = match view {
        View::Findings => findings(report, rules, site),
        View::Checklist => checklist(report, site),
    };
    let notifications: Vec<Value> = report
        .obstacles()
        .iter()
        .map(|problem| {
            let text = plain(&format!("{}: {}", problem.source, problem.message));
            json!({ "level": "error", "message": { "text": text } })
        })
        .collect();
    let suppressions: Vec<Value> = report
        .suppressions
        .iter()
        .map(|s| json!({ "about": s.about, "reason": s.reason, "findings": s.findings }))
        .collect();
    let mut driver = json!({
        "name": "docward",
        "semanticVersion": report.tool_version,
        "rules": descriptors,
    });
    link(&mut driver, "informationUri", site.page(""));
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": driver },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": report.problems.is_empty() && !report.interrupted,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
            "properties": {
                "suppressed": report.suppressed,
                "baselined": report.baselined,
                "suppressions": suppressions,
            },
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn findings(report: &Report, rules: &[&RuleMeta], site: &Site) -> (Vec<Value>, Vec<Value>) {
    let fixed = report.compared.iter().flat_map(|compared| &compared.fixed);
    // Only rules with findings, in the order of their codes.
    let mut index: BTreeMap<&str, usize> = ranking::readable(report)
        .map(|finding| &*finding.rule)
        .chain(fixed.clone().map(|known| known.rule.as_str()))
        .map(|code| (code, 0))
        .collect();
    index.values_mut().enumerate().for_each(|(at, place)| *place = at);
    let descriptors = index
        .keys()
        .map(|code| match rules.iter().find(|rule| rule.code == *code) {
            Some(rule) => descriptor(rule, site),
            // A rule of another version of Docward.
            None => json!({ "id": code }),
        })
        .collect();
    let place = |code: &str| index.get(code).copied().unwrap_or_default();
    let mut results: Vec<Value> = ranking::readable(report)
        .map(|finding| result(report, finding, place(&finding.rule)))
        .collect();
    results.extend(fixed.map(|known| absent(report, known, place(&known.rule))));
    (descriptors, results)
}

/// Adds an address, if there is one.
fn link(entry: &mut Value, key: &str, address: Option<String>) {
    if let Some(address) = address {
        entry[key] = address.into();
    }
}

fn descriptor(rule: &RuleMeta, site: &Site) -> Value {
    let section = |heading: &str| rule.section(heading).unwrap_or_default();
    let mut help: Vec<String> = ["Why it matters", "How to fix", "When to ignore it"]
        .iter()
        .map(|heading| format!("## {heading}\n\n{}", section(heading)))
        .collect();
    // A viewer shows `helpUri` as a link. Without a site, the command is a part of the text.
    let address = site.rule(rule.code);
    if address.is_none() {
        help.push(format!("More: `{}`", site.help(rule.code)));
    }
    let mut tags = vec!["mongodb".to_owned()];
    tags.extend(rule.clauses.iter().map(|clause| (*clause).to_owned()));
    let mut entry = json!({
        "id": rule.code,
        "name": pascal_case(rule.name),
        "shortDescription": { "text": rule.title() },
        "fullDescription": { "text": section("What it checks") },
        "help": { "text": help.join("\n\n"), "markdown": help.join("\n\n") },
        "defaultConfiguration": { "level": level(rule.highest_severity()) },
        "properties": { "tags": tags, "maturity": rule.maturity.name() },
    });
    link(&mut entry, "helpUri", address);
    entry
}

/// SARIF requires rule names in Pascal case.
fn pascal_case(name: &str) -> String {
    name.split('-')
        .map(|word| {
            let mut chars = word.chars();
            let first = chars.next().map(|c| c.to_ascii_uppercase());
            first.into_iter().chain(chars).collect::<String>()
        })
        .collect()
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    }
}

fn result(report: &Report, finding: &Finding, rule: usize) -> Value {
    let text = format!(
        "{}{}. Why: {}. Do: {}.",
        place_before(finding),
        finding.what,
        finding.why,
        finding.todo
    );
    let mut properties = Map::new();
    properties.insert("clauses".to_owned(), json!(finding.clauses));
    properties.insert("seen".to_owned(), seen(&finding.seen).into());
    properties.insert("data".to_owned(), Value::Object(data(finding)));
    if let Some(fix) = &finding.fix {
        let proposed = json!({ "command": fix.command(), "safety": fix.safety.name() });
        properties.insert("proposed".to_owned(), proposed);
    }
    if report.show_values && !finding.examples.is_empty() {
        properties.insert("examples".to_owned(), json!(finding.examples));
    }
    let mut result = json!({
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": level(finding.severity),
        "message": { "text": plain(&text) },
        "locations": [location(report, finding.location.as_ref(), &finding.at)],
        "partialFingerprints": { "docward/v1": finding.fingerprint },
        "properties": properties,
    });
    let related = related_locations(report, finding);
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    if let Some(compared) = &report.compared {
        result["baselineState"] = state(compared, finding).into();
    }
    result
}

/// Further places in files, and the fields of a collection.
fn related_locations(report: &Report, finding: &Finding) -> Vec<Value> {
    let places = finding.locations.iter().map(|place| location(report, Some(place), &finding.at));
    let namespace = finding.at.collection();
    let fields =
        finding.paths.iter().filter(|path| finding.at.path() != Some(path)).filter_map(|path| {
            Some(location(report, None, &Subject::Field(namespace?.clone(), path.clone())))
        });
    let related = places.chain(fields).zip(1..);
    related
        .map(|(mut related, id)| {
            related["id"] = json!(id);
            related["message"] = json!({ "text": "the same here" });
            related
        })
        .collect()
}

fn state(compared: &Compared, finding: &Finding) -> &'static str {
    match compared.change(finding) {
        Change::New | Change::NotLookedFor => "new",
        Change::Worse(_) | Change::Changed(_) => "updated",
        Change::Same => "unchanged",
    }
}

/// A finding that is gone.
fn absent(report: &Report, known: &Known, rule: usize) -> Value {
    let what = if known.what.is_empty() { "fixed" } else { &known.what };
    json!({
        "ruleId": known.rule,
        "ruleIndex": rule,
        "level": level(known.severity),
        "message": { "text": plain(&format!("{}: {what}", known.at.text())) },
        "locations": [location(report, None, &known.at)],
        "partialFingerprints": { "docward/v1": known.fingerprint },
        "baselineState": "absent",
    })
}

fn location(report: &Report, place: Option<&Location>, at: &Subject) -> Value {
    let (name, kind) = match at {
        Subject::Deployment => ("deployment".to_owned(), "namespace"),
        Subject::Database(name) => (name.clone(), "namespace"),
        Subject::Collection(ns) => (ns.collection.clone(), "object"),
        Subject::Field(_, path) => (path.to_string(), "property"),
        Subject::Index(_, name) => (name.clone(), "member"),
    };
    let mut out = json!({
        "logicalLocations": [{
            "name": plain(&name),
            "fullyQualifiedName": plain(&at.text()),
            "kind": kind,
        }],
    });
    // Code scanning refuses results without a file, so findings in data get a name in the form of a
    // path.
    out["physicalLocation"] = match place {
        Some(place) => json!({
            "artifactLocation": { "uri": uri(&checkout_path(report, &place.file)) },
            "region": { "startLine": place.line.max(1), "startColumn": place.column.max(1) },
        }),
        None => json!({
            "artifactLocation": { "uri": uri(&format!("{}{}", source(report), data_path(at))) },
        }),
    };
    out
}

/// The source of the data, if it is a single file or directory.
fn source(report: &Report) -> String {
    match report.sources.as_slice() {
        [one] if !matches!(one.kind, SourceKind::Live | SourceKind::Stdin) => {
            format!("{}/", one.name.trim_end_matches(['/', '\\']).trim_start_matches(['/', '\\']))
        }
        _ => "mongodb/".to_owned(),
    }
}

fn data_path(at: &Subject) -> String {
    match at {
        Subject::Deployment => "deployment".to_owned(),
        Subject::Database(name) => name.clone(),
        Subject::Collection(ns) | Subject::Field(ns, _) | Subject::Index(ns, _) => {
            format!("{}/{}", ns.database, ns.collection)
        }
    }
}

/// A path as a relative reference: forward slashes, with escapes for characters that a URI cannot
/// contain.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn checklist(report: &Report, site: &Site) -> (Vec<Value>, Vec<Value>) {
    let descriptors = report
        .checklist
        .iter()
        .map(|item| {
            let mut entry = json!({ "id": item.id, "shortDescription": { "text": item.title } });
            link(&mut entry, "helpUri", site.page("checklist.html"));
            entry
        })
        .collect();
    let results =
        report.checklist.iter().enumerate().map(|(at, item)| answer(report, item, at)).collect();
    (descriptors, results)
}

fn answer(report: &Report, item: &ChecklistItem, rule: usize) -> Value {
    let (kind, level) = match item.verdict {
        Verdict::Pass => ("pass", "none"),
        Verdict::Warn => ("fail", "warning"),
        Verdict::Fail => ("fail", "error"),
        Verdict::Unknown => ("open", "none"),
        Verdict::NotApplicable => ("notApplicable", "none"),
    };
    let mut result = json!({
        "ruleId": item.id,
        "ruleIndex": rule,
        "kind": kind,
        "level": level,
        "message": { "text": plain(&format!("{}: {}", item.title, item.evidence)) },
        "locations": [location(report, None, &Subject::Deployment)],
        "partialFingerprints": { "docward/v1": format!("checklist-{}", item.id) },
    });
    if let Some(waiver) = &item.waiver {
        result["suppressions"] = json!([
            { "kind": "external", "status": "accepted", "justification": plain(&waiver.text()) }
        ]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_as_sarif_wants_them() {
        assert_eq!(pascal_case("money-as-double"), "MoneyAsDouble");
        assert_eq!(uri("src\\a b/ü.py"), "src/a%20b/%C3%BC.py");
    }
}
