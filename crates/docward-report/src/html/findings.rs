//! The list of findings: filters, and one block of data with every finding drawn.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Change, DataValue, Finding, Report, RuleMeta, Severity, text};
use maud::{Markup, html};
use serde::Serialize;

use super::{MAX_FINDING_BYTES, MAX_FINDINGS, code_spans, pack};
use crate::text::{line, plain, seen};

/// A finding for the script: what it is filtered by, and how it looks.
#[derive(Serialize)]
struct Entry<'a> {
    /// Fingerprint, for links.
    f: &'a str,
    /// Severity.
    s: &'a str,
    /// Rule.
    r: &'a str,
    /// Namespace; empty for the deployment.
    n: String,
    /// What became of it, when it was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<&'a str>,
    /// What is searched, in lower case.
    t: String,
    /// How it looks.
    h: String,
}

pub(crate) fn section(report: &Report, rules: &[&RuleMeta]) -> Markup {
    let kept = kept(&report.findings);
    let mut by_rule: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut by_severity: BTreeMap<Severity, u64> = BTreeMap::new();
    let mut bytes = 0;
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for finding in kept {
        let entry = entry(report, finding);
        bytes += entry.h.len() + entry.t.len();
        if bytes > MAX_FINDING_BYTES {
            break;
        }
        *by_rule.entry((&finding.rule, &finding.name)).or_default() += 1;
        *by_severity.entry(finding.severity).or_default() += 1;
        entries.push(entry);
    }
    let namespaces: BTreeSet<&str> = entries.iter().map(|entry| entry.n.as_str()).collect();
    let left_out = report.findings.len() - entries.len();
    html! {
        section #findings aria-labelledby="findings-title" {
            h2 #findings-title { "Findings" }
            @if report.findings.is_empty() {
                p { "Nothing was found." }
            } @else {
                form #filter role="search" aria-label="Filter findings" {
                    fieldset {
                        legend { "Severity" }
                        @for severity in Severity::ALL {
                            label {
                                input type="checkbox" name="severity" value=(severity.name()) checked;
                                " " (severity.name()) " (" (by_severity.get(&severity).copied().unwrap_or(0)) ")"
                            }
                        }
                    }
                    label {
                        "Rule "
                        select name="rule" {
                            option value="" { "all rules" }
                            @for ((code, name), n) in &by_rule {
                                option value=(code) { (code) " " (name) " (" (n) ")" }
                            }
                        }
                    }
                    @if report.compared.is_some() {
                        label {
                            "Change "
                            select name="change" {
                                option value="" { "any" }
                                @for change in ["new", "worse", "changed", "not looked for before"] {
                                    option value=(change) { (change) }
                                }
                            }
                        }
                    }
                    label {
                        "Namespace "
                        input type="text" name="ns" list="namespaces" autocomplete="off"
                            placeholder="database.collection";
                    }
                    datalist id="namespaces" {
                        @for name in namespaces { @if !name.is_empty() { option value=(name) {} } }
                    }
                    label {
                        "Text "
                        input type="search" name="q" placeholder="words" autocomplete="off";
                    }
                    button type="reset" { "Show all" }
                }
                p #found role="status" aria-live="polite" { "Unpacking…" }
                p #findings-on-paper .warn.on-paper {}
                @if left_out > 0 {
                    p .warn {
                        (text::plural(left_out as u64, "finding")) " more did not fit into this page; "
                        "--format json holds all of them."
                    }
                }
                div #list {}
                div .pager #findings-pager {}
                (rule_pages(report, rules))
                (pack::block("findings-data", &entries))
            }
        }
    }
}

/// The findings that fit: of every rule as many as its share of the room, in the report's order.
fn kept(findings: &[Finding]) -> Vec<&Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(&finding.rule).or_default() += 1;
    }
    // Rules with few findings leave room to those with many.
    let mut sorted: Vec<usize> = counts.values().copied().collect();
    sorted.sort_unstable();
    let (mut room, mut share) = (MAX_FINDINGS, usize::MAX);
    for (at, count) in sorted.iter().enumerate() {
        let left = sorted.len() - at;
        if count * left > room {
            share = room / left;
            break;
        }
        room -= count;
    }
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept = Vec::new();
    for finding in findings {
        let taken = taken.entry(&finding.rule).or_default();
        *taken += 1;
        if *taken <= share {
            kept.push(finding);
        }
    }
    kept
}

/// Pages of the rules that spoke, once each.
fn rule_pages(report: &Report, rules: &[&RuleMeta]) -> Markup {
    let spoke: BTreeSet<&str> = report.findings.iter().map(|finding| &*finding.rule).collect();
    let pages: BTreeMap<&str, String> = rules
        .iter()
        .filter(|rule| spoke.contains(rule.code))
        .map(|rule| {
            let section = |heading: &str| rule.section(heading).unwrap_or_default();
            let page = html! {
                h4 { (rule.code) ": " (rule.title()) }
                p { (code_spans(&section("What it checks"))) }
                h5 { "How to fix" }
                p { (code_spans(&section("How to fix"))) }
                h5 { "When to ignore it" }
                p { (code_spans(&section("When to ignore it"))) }
            };
            (rule.code, page.into_string())
        })
        .collect();
    pack::block("rules-data", &pages)
}

fn entry<'a>(report: &'a Report, finding: &'a Finding) -> Entry<'a> {
    let place = finding.place();
    let change = report.compared.as_ref().map(|compared| compared.change(finding));
    let words = format!("{} {} {place} {}", finding.rule, finding.name, finding.what);
    Entry {
        f: &finding.fingerprint,
        s: finding.severity.name(),
        r: &finding.rule,
        n: line(&finding.at.namespace().unwrap_or_default()),
        c: change.map(Change::name),
        t: plain(&words).to_lowercase(),
        h: drawn(report, finding, change).into_string(),
    }
}

fn drawn(report: &Report, finding: &Finding, change: Option<&Change>) -> Markup {
    let class = match finding.severity {
        Severity::Error => "bad",
        Severity::Warn => "poor",
        Severity::Info => "note",
    };
    let place = match &finding.location {
        Some(at) => format!("{}:{}:{}", at.file, at.line, at.column),
        None => finding.at.text(),
    };
    html! {
        details .finding id={ "finding-" (finding.fingerprint) } {
            summary {
                span class={ "badge " (class) } { (finding.severity.name()) }
                " " b { (finding.rule) } " " span .name { (finding.name) }
                " " code .place { (plain(&place)) }
                @match change {
                    Some(Change::New) => { " " span .badge { "new" } },
                    Some(Change::Worse(before)) => { " " span .badge { "was " (before.name()) } },
                    Some(Change::Changed(_)) => { " " span .badge { "changed" } },
                    Some(Change::NotLookedFor) => { " " span .badge { "not looked for before" } },
                    Some(Change::Same) | None => {},
                }
                span .what { (code_spans(&finding.what)) }
            }
            dl {
                @if let Some(Change::Changed(before)) = change {
                    dt { "Before" } dd { (code_spans(before)) }
                }
                dt { "Why" } dd { (code_spans(&finding.why)) }
                dt { "What to do" } dd { (code_spans(&finding.todo)) }
                @if let Some(fix) = &finding.fix {
                    dt { "Command" }
                    dd {
                        div .command {
                            pre tabindex="0" { code { (plain(&fix.command)) } }
                            button type="button" data-copy { "Copy" }
                        }
                        span .muted {
                            (fix.safety.name())
                            @if let Some(refactoring) = &fix.refactoring { ", " (refactoring) }
                        }
                    }
                }
                @if !finding.data.entries().is_empty() {
                    dt { "Figures" }
                    dd .figures {
                        @for (key, value) in finding.data.entries() {
                            span { (key) " " b { (plain(&figure(value))) } }
                        }
                    }
                }
                @if report.show_values && !finding.examples.is_empty() {
                    dt { "Examples" }
                    dd { @for example in &finding.examples { code { (plain(example)) } " " } }
                }
                dt { "Seen" } dd { (seen(&finding.seen).trim_start_matches("seen: ")) }
                @if !finding.clauses.is_empty() { dt { "Clauses" } dd { (finding.clauses.join(" ")) } }
            }
            p .links {
                a .permalink href={ "#finding=" (finding.fingerprint) } { "Link to this finding" }
                button type="button" data-rule=(finding.rule) { "About " (finding.rule) }
                button type="button" data-filter=(finding.rule) { "Only " (finding.rule) }
            }
        }
    }
}

fn figure(value: &DataValue) -> String {
    match value {
        DataValue::Int(n) => match u64::try_from(*n) {
            Ok(n) => text::count(n),
            Err(_) => n.to_string(),
        },
        DataValue::Float(n) => n.to_string(),
        DataValue::Bool(b) => b.to_string(),
        DataValue::Text(text) => text.clone(),
        DataValue::List(items) => items.iter().map(figure).collect::<Vec<_>>().join(", "),
        DataValue::Map(entries) => {
            let parts: Vec<_> = entries.iter().map(|(k, v)| format!("{k} {}", figure(v))).collect();
            parts.join(", ")
        }
    }
}
