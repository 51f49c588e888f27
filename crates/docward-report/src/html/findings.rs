//! Draws the list of findings: filters, grouping, and one data block with every rendered finding.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Area, Change, Finding, Fix, Report, RuleMeta, Safety, Severity, Site, text};
use maud::{Markup, html};
use serde::Serialize;

use super::{MAX_FINDING_BYTES, MAX_FINDINGS, code_spans, command, figures, pack, prose, verdict};
use crate::{
    ranking,
    text::{checkout_path, limit_day, line, plain, seen},
};

/// A finding for the script: its filter values and its HTML.
#[derive(Serialize)]
struct Entry<'a> {
    /// The fingerprint, for links.
    f: &'a str,
    /// The severity.
    s: &'a str,
    /// The rule.
    r: &'a str,
    /// The area.
    a: &'a str,
    /// The namespace or file; empty for the deployment.
    n: String,
    /// The change of the finding, if reports are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<&'a str>,
    /// The searchable text, in lower case.
    t: String,
    /// The HTML.
    h: String,
}

/// The findings, and the heading of each rule.
#[derive(Serialize)]
struct Packed<'a> {
    rules: BTreeMap<&'a str, String>,
    list: Vec<Entry<'a>>,
}

/// The colour of a severity.
pub(super) fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "bad",
        Severity::Warn => "poor",
        Severity::Info => "note",
    }
}

/// The file of a finding, or else its namespace; empty for the deployment.
fn home(report: &Report, finding: &Finding) -> String {
    match &finding.location {
        Some(at) => line(&checkout_path(report, &at.file)),
        None => line(&finding.at.namespace().unwrap_or_default()),
    }
}

pub(crate) fn section(report: &Report, rules: &[&RuleMeta], site: &Site) -> Markup {
    let findings: Vec<&Finding> =
        report.findings.iter().filter(|finding| !ranking::is_recognised(finding)).collect();
    let whys = whys(&findings);
    let mut by_rule: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut by_severity: BTreeMap<Severity, u64> = BTreeMap::new();
    let mut areas: BTreeSet<Area> = BTreeSet::new();
    let (mut in_files, mut in_data) = (false, false);
    let mut bytes = 0;
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for finding in kept(&findings) {
        let why = whys.get(&*finding.rule).copied().unwrap_or_default();
        let entry = entry(report, finding, why);
        bytes += entry.h.len() + entry.t.len();
        if bytes > MAX_FINDING_BYTES {
            break;
        }
        *by_rule.entry((&finding.rule, &finding.name)).or_default() += 1;
        *by_severity.entry(finding.severity).or_default() += 1;
        areas.insert(finding.area);
        in_files |= finding.location.is_some();
        in_data |= finding.location.is_none() && !entry.n.is_empty();
        entries.push(entry);
    }
    let homes: BTreeSet<String> = entries.iter().map(|entry| entry.n.clone()).collect();
    let left_out = findings.len() - entries.len();
    let home = match (in_data, in_files) {
        (true, true) => "Collection or file",
        (false, true) => "File",
        _ => "Collection",
    };
    html! {
        section #findings aria-labelledby="findings-title" {
            h2 #findings-title { "Findings" }
            @if findings.is_empty() {
                p { "No findings." }
            } @else {
                form #filter role="search" aria-label="Filter findings" {
                    fieldset {
                        legend { "Severity" }
                        @for severity in Severity::ALL {
                            @let n = by_severity.get(&severity).copied().unwrap_or(0);
                            label {
                                input type="checkbox" name="severity" value=(severity.word()) checked;
                                " " (severity.word()) " (" (text::count(n)) ")"
                            }
                        }
                    }
                    label {
                        "Group by "
                        select name="group" {
                            option value="" { "rule" }
                            option value="place" { (home.to_lowercase()) }
                        }
                    }
                    label {
                        "Sort by "
                        select name="sort" {
                            option value="" { "impact" }
                            option value="severity" { "severity" }
                            option value="name" { "name" }
                        }
                    }
                    label {
                        "Area "
                        select name="area" {
                            option value="" { "all areas" }
                            @for area in areas { option value=(area.name()) { (area.title()) } }
                        }
                    }
                    label {
                        "Rule "
                        select name="rule" {
                            option value="" { "all rules" }
                            @for ((code, name), n) in &by_rule {
                                option value=(code) { (code) " " (name) " (" (text::count(*n)) ")" }
                            }
                        }
                    }
                    @if report.compared.is_some() {
                        label {
                            "Change "
                            select name="change" {
                                option value="" { "any" }
                                @for change in ["new", "worse", "changed", "not checked before"] {
                                    option value=(change) { (change) }
                                }
                            }
                        }
                    }
                    @if in_data || in_files {
                        label {
                            (home) " "
                            input type="text" name="ns" list="namespaces" autocomplete="off"
                                placeholder=(if in_data { "database.collection" } else { "path" });
                        }
                        datalist id="namespaces" {
                            @for name in &homes { @if !name.is_empty() { option value=(name) {} } }
                        }
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
                        (text::plural(left_out as u64, "finding")) " more are not on this page; "
                        "--format json has all of them."
                    }
                }
                div #list {}
                div .pager #findings-pager {}
                (rule_pages(report, rules, site))
                (pack::block("findings-data", &Packed { rules: headings(&findings, rules, &whys), list: entries }))
            }
            (verdict::patterns(report))
        }
    }
}

/// The reason that most findings of a rule share: it is shown once, with the rule.
fn whys<'a>(findings: &[&'a Finding]) -> BTreeMap<&'a str, &'a str> {
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for finding in findings {
        *counts.entry(&finding.rule).or_default().entry(&finding.why).or_default() += 1;
    }
    let most = |whys: BTreeMap<&'a str, usize>| whys.into_iter().max_by_key(|(_, n)| *n);
    counts.into_iter().filter_map(|(rule, whys)| Some((rule, most(whys)?.0))).collect()
}

/// The heading above the findings of a rule.
fn headings<'a>(
    findings: &[&'a Finding],
    rules: &[&RuleMeta],
    whys: &BTreeMap<&str, &str>,
) -> BTreeMap<&'a str, String> {
    let mut out: BTreeMap<&str, String> = BTreeMap::new();
    for finding in findings {
        out.entry(&finding.rule).or_insert_with(|| {
            let rule = rules.iter().find(|rule| rule.code == finding.rule);
            let title = rule.map_or(&*finding.name, |rule| rule.title());
            let heading = html! {
                h3 { span .code { (finding.rule) } " " (title) }
                p .why { (code_spans(whys.get(&*finding.rule).copied().unwrap_or_default())) }
                p .links {
                    span .muted { (finding.area.title()) }
                    @if rule.is_some() { button type="button" data-rule=(finding.rule) { "About this rule" } }
                    a href={ "#findings?rule=" (finding.rule) } { "Only " (finding.rule) }
                }
            };
            heading.into_string()
        });
    }
    out
}

/// The findings that fit: of every rule as many as its share of the room permits, in the report's
/// order.
fn kept<'a>(findings: &[&'a Finding]) -> Vec<&'a Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in findings {
        *counts.entry(&finding.rule).or_default() += 1;
    }
    // Rules with few findings leave room for those with many.
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
            kept.push(*finding);
        }
    }
    kept
}

/// The pages of the rules with findings, once each.
fn rule_pages(report: &Report, rules: &[&RuleMeta], site: &Site) -> Markup {
    let spoke: BTreeSet<&str> = report.findings.iter().map(|finding| &*finding.rule).collect();
    let pages: BTreeMap<&str, String> = rules
        .iter()
        .filter(|rule| spoke.contains(rule.code))
        .map(|rule| {
            let section = |heading: &str| rule.section(heading).unwrap_or_default();
            let page = html! {
                h4 { (rule.code) ": " (rule.title()) }
                (prose(&section("What it checks")))
                h5 { "How to fix" }
                (prose(&section("How to fix")))
                h5 { "When to ignore it" }
                (prose(&section("When to ignore it")))
                p {
                    "More: "
                    @match site.rule(rule.code) {
                        Some(address) => { a href=(address) { (address) } }
                        None => { code { (site.help(rule.code)) } }
                    }
                }
            };
            (rule.code, page.into_string())
        })
        .collect();
    pack::block("rules-data", &pages)
}

fn entry<'a>(report: &'a Report, finding: &'a Finding, why: &str) -> Entry<'a> {
    let place = finding.place();
    let change = report.compared.as_ref().map(|compared| compared.change(finding));
    let words = format!("{} {} {place} {}", finding.rule, finding.name, finding.what);
    Entry {
        f: &finding.fingerprint,
        s: finding.severity.word(),
        r: &finding.rule,
        a: finding.area.name(),
        n: home(report, finding),
        c: change.map(Change::name),
        t: plain(&words).to_lowercase(),
        h: drawn(report, finding, change, why).into_string(),
    }
}

/// Renders a finding. `why` is the reason already shown above the findings of the rule.
fn drawn(report: &Report, finding: &Finding, change: Option<&Change>, why: &str) -> Markup {
    let class = severity_class(finding.severity);
    let place = match &finding.location {
        Some(at) => format!("{}:{}:{}", checkout_path(report, &at.file), at.line, at.column),
        None => finding.at.text(),
    };
    html! {
        details .finding id={ "finding-" (finding.fingerprint) } {
            summary {
                span class={ "badge " (class) } { (finding.severity.word()) }
                span .of-rule { " " b { (finding.rule) } " " span .name { (finding.name) } }
                " " code .place { (plain(&place)) }
                @if let Some(limit) = limit_day(report, finding) { " " span .badge.bad { (limit) } }
                @match change {
                    Some(Change::New) => { " " span .badge { "new" } },
                    Some(Change::Worse(before)) => { " " span .badge { "was " (before.word()) } },
                    Some(Change::Changed(_)) => { " " span .badge { "changed" } },
                    Some(Change::NotLookedFor) => { " " span .badge { "not checked before" } },
                    Some(Change::Same) | None => {},
                }
                span .what { (code_spans(&finding.what)) }
            }
            dl {
                @if let Some(Change::Changed(before)) = change {
                    div { dt { "Before" } dd { (code_spans(before)) } }
                }
                div .same[finding.why == why] { dt { "Why" } dd { (code_spans(&finding.why)) } }
                div { dt { "What to do" } dd { (code_spans(&finding.todo)) } }
                @if let Some(fix) = &finding.fix { div { dt { "Command" } dd { (proposed(fix)) } } }
                div { dt { "Based on" } dd { (seen(&finding.seen).trim_start_matches("seen: ")) } }
            }
            (behind(report, finding))
            p .links { a .permalink href={ "#finding=" (finding.fingerprint) } { "Link to this finding" } }
        }
    }
}

/// A command with its risk and a copy button.
fn proposed(fix: &Fix) -> Markup {
    let (class, risk) = match fix.safety {
        Safety::Safe => ("good", "No stored data changes"),
        Safety::Guarded => ("poor", "Changes data; can be undone"),
        Safety::Manual => ("note", "Decide first"),
    };
    html! {
        p .risk { span class={ "badge " (class) } { (risk) } }
        div .command {
            pre tabindex="0" { code { (command::drawn(&fix.command())) } }
            button type="button" data-copy { "Copy" }
        }
    }
}

/// The figures and the rule book's ids, for verification.
fn behind(report: &Report, finding: &Finding) -> Markup {
    let has_examples = report.show_values && !finding.examples.is_empty();
    html! {
        @if !finding.data.entries().is_empty() || !finding.clauses.is_empty() || has_examples {
            details .behind {
                summary { "Details" }
                @if !finding.data.entries().is_empty() { (figures::drawn(finding.data.entries())) }
                @if has_examples {
                    p { "Examples: " @for example in &finding.examples { code { (plain(example)) } " " } }
                }
                @if !finding.clauses.is_empty() {
                    p .muted { "Clauses of the rule book: " (finding.clauses.join(", ")) "." }
                }
            }
        }
    }
}
