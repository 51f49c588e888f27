//! One self-contained page for people: summary, findings, pictures of every collection, the map of
//! relationships, checklists. It asks for nothing from anywhere: style and script are inside, and a
//! policy in its head forbids the rest.
//!
//! Everything is drawn and escaped here; the script only unpacks, filters and pages. Findings and
//! collections travel compressed, so that ten thousand of them stay a small file that opens at once.

mod chart;
mod collection;
pub(crate) mod connections;
pub(crate) mod design;
mod findings;
mod graph;
mod map;
mod pack;
mod route;

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use docward_model::{
    CollectionKind, Evidence, Report, RuleMeta, Severity, SourceKind, Subject, Verdict, text,
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::{
    View,
    text::{line, plain, summary},
};

/// Findings beyond these are counted and left out: the file has to open in a browser.
const MAX_FINDINGS: usize = 20_000;
/// Bytes of drawn findings, before they are compressed.
const MAX_FINDING_BYTES: usize = 30_000_000;
/// Bytes of drawn collections, before they are compressed; those beyond have no pictures.
const MAX_COLLECTION_BYTES: usize = 60_000_000;
/// Collections beyond these are left out.
const MAX_COLLECTIONS: usize = 5_000;
/// The script that unpacks, filters and pages.
const SCRIPT: &str = include_str!("page.js");

/// Nothing but what is inside the file, and no script but ours.
fn policy() -> String {
    let script = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// The report as a page.
pub(crate) fn html(report: &Report, view: View, rules: &[&RuleMeta]) -> String {
    let title = match view {
        View::Findings => "Docward report",
        View::Checklist => "Docward checklist",
    };
    let body = match view {
        View::Findings => findings_page(report, rules),
        View::Checklist => checklist_page(report),
    };
    let title = format!("{title}: {}", subject(report));
    let made = format!("{}, {} profile", report.tool_version, report.profile.name());
    document(&title, &report.tool_version, &made, &body)
}

/// A page about something that is no report.
fn shell(title: &str, version: &str, body: &Markup) -> String {
    document(title, version, version, body)
}

fn document(title: &str, version: &str, made: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "docward " (version) };
                meta http-equiv="Content-Security-Policy" content=(policy());
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                a .skip href="#main" { "Skip to the content" }
                (body)
                footer {
                    p {
                        "Made by docward " (made)
                        ". Nothing in this file asks for anything from anywhere."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

fn findings_page(report: &Report, rules: &[&RuleMeta]) -> Markup {
    let overview = Overview::of(report);
    let has_map = !report.evidence.references.is_empty() || !report.evidence.copies.is_empty();
    let sections: Vec<(&str, &str)> = [
        ("summary", "Summary", true),
        ("findings", "Findings", true),
        ("collections", "Collections", overview.collections > 0),
        ("map", "Map", has_map),
        ("checklist", "Checklists", !report.checklist.is_empty()),
        ("more", "What else", true),
    ]
    .into_iter()
    .filter(|(_, _, shown)| *shown)
    .map(|(id, title, _)| (id, title))
    .collect();
    html! {
        (header("Docward report", report, &sections))
        main #main {
            (problems(report))
            (summary_section(report, &overview))
            (findings::section(report, rules))
            @if overview.collections > 0 { (collection::section(report)) }
            @if has_map { (map::section(&report.evidence)) }
            @if !report.checklist.is_empty() { (checklists(report)) }
            (more(report))
        }
    }
}

fn checklist_page(report: &Report) -> Markup {
    html! {
        (header("Docward checklist", report, &[]))
        main #main {
            (problems(report))
            (checklists(report))
            section aria-label="Signatures" .signatures {
                @for role in ["Development", "Operations", "Security"] {
                    p { (role) ":" span .rule {} "Date:" span .rule {} }
                }
            }
        }
    }
}

fn subject(report: &Report) -> String {
    let named = report.sources.iter().filter(|s| s.kind != SourceKind::Workload);
    let names: Vec<String> = named.map(|source| plain(&source.name)).collect();
    let named = match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    match &report.against {
        Some(model) => format!("{} against {named}", plain(model)),
        None => named,
    }
}

fn header(title: &str, report: &Report, sections: &[(&str, &str)]) -> Markup {
    html! {
        header .top {
            div .bar {
                div {
                    h1 { (title) }
                    p .muted { (subject(report)) }
                    @for server in report.sources.iter().filter_map(|s| s.server.as_deref()) {
                        p .muted { (plain(server)) }
                    }
                    @if report.interrupted {
                        p .warn { "Stopped before the end: this is what was read so far." }
                    }
                    @if report.sources.iter().any(|source| source.sampled) {
                        p .muted { "Read in part; each finding says how much was seen." }
                    }
                }
                div .buttons {
                    button type="button" #theme { "Dark or light" }
                    @if !sections.is_empty() {
                        button type="button" #whole { "Prepare for printing" }
                    }
                }
            }
            @if !sections.is_empty() {
                nav aria-label="Sections" {
                    @for (id, title) in sections { a href={ "#" (id) } { (title) } }
                }
            }
        }
        noscript {
            p .warn {
                "This page needs JavaScript to unpack findings and collections. "
                "docward writes the same report as text with --format markdown."
            }
        }
    }
}

fn problems(report: &Report) -> Markup {
    html! {
        @if !report.problems.is_empty() {
            section .panel.bad aria-labelledby="problems" {
                h2 #problems { "Not read in full (" (report.problems.len()) ")" }
                ul {
                    @for problem in &report.problems {
                        li { b { (plain(&problem.source)) } ": " (plain(&problem.message)) }
                    }
                }
            }
        }
    }
}

/// What the summary says of each database, and the list of collections.
struct Overview {
    collections: u64,
    documents: u64,
    databases: BTreeMap<String, Health>,
}

/// One database.
#[derive(Default)]
struct Health {
    collections: u64,
    with_errors: u64,
    with_warnings: u64,
    documents: u64,
    bytes: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    /// Findings that a baseline knows, and collections that have no others.
    known: u64,
    with_known: u64,
}

impl Overview {
    fn of(report: &Report) -> Self {
        let evidence: &Evidence = &report.evidence;
        let mut databases: BTreeMap<String, Health> = BTreeMap::new();
        let (mut bad, mut poor) = (BTreeSet::new(), BTreeSet::new());
        for finding in &report.findings {
            let Some(namespace) = finding.at.namespace() else { continue };
            let database = match &finding.at {
                Subject::Database(name) => name.clone(),
                _ => namespace.split('.').next().unwrap_or_default().to_owned(),
            };
            let health = databases.entry(database).or_default();
            match finding.severity {
                Severity::Error => health.errors += 1,
                Severity::Warn => health.warnings += 1,
                Severity::Info => health.notes += 1,
            }
            match finding.severity {
                Severity::Error => _ = bad.insert(namespace),
                Severity::Warn => _ = poor.insert(namespace),
                Severity::Info => {}
            }
        }
        let known = collection::in_baseline(report);
        for (namespace, n) in &known {
            let database = namespace.split('.').next().unwrap_or_default();
            databases.entry(database.to_owned()).or_default().known += n;
        }
        let mut all = 0;
        for collection in &evidence.collections {
            let namespace = collection.namespace.to_string();
            let health = databases.entry(collection.namespace.database.clone()).or_default();
            let (documents, bytes) = collection::amounts(collection);
            health.collections += 1;
            health.documents += documents;
            health.bytes += bytes;
            if bad.contains(&namespace) {
                health.with_errors += 1;
            } else if poor.contains(&namespace) {
                health.with_warnings += 1;
            } else if known.contains_key(&namespace) {
                health.with_known += 1;
            }
            all += documents;
        }
        Self { collections: evidence.collections.len() as u64, documents: all, databases }
    }
}

fn summary_section(report: &Report, overview: &Overview) -> Markup {
    let has_known = overview.databases.values().any(|health| health.known > 0);
    let with_amounts = overview.collections > 0;
    let views =
        report.evidence.collections.iter().filter(|c| c.kind == CollectionKind::View).count();
    html! {
        section #summary aria-labelledby="summary-title" {
            h2 #summary-title { "Summary" }
            p { (summary(report)) }
            div .cards {
                (card("bad", report.count(Severity::Error) as u64, "errors"))
                (card("poor", report.count(Severity::Warn) as u64, "warnings"))
                (card("note", report.count(Severity::Info) as u64, "notes"))
                @if let Some(compared) = &report.compared {
                    (card("good", compared.fixed.len() as u64, "fixed"))
                    (card("", compared.unchanged.len() as u64, "known before"))
                }
                (card("", report.suppressed, "suppressed"))
                @if overview.collections > 0 {
                    (card("", overview.collections, "collections"))
                    (card("", overview.documents, "documents"))
                }
            }
            @if !overview.databases.is_empty() {
                h3 { "Health of each database" }
                div .scroll tabindex="0" role="region" aria-label="Health of each database" {
                    table {
                        thead { tr {
                            th scope="col" { "Database" }
                            @if with_amounts { th scope="col" { "Collections" } }
                            th scope="col" .num { "Errors" }
                            th scope="col" .num { "Warnings" }
                            th scope="col" .num { "Notes" }
                            @if has_known { th scope="col" .num { "In the baseline" } }
                            @if with_amounts {
                                th scope="col" .num { "Documents" }
                                th scope="col" .num { "Bytes" }
                            }
                        } }
                        tbody {
                            @for (name, health) in &overview.databases { (health_row(name, health, with_amounts, has_known)) }
                        }
                    }
                }
                @if with_amounts {
                    p .legend {
                        span .key.bad {} "with errors " span .key.poor {} "with warnings "
                        @if has_known { span .key.known {} "with known findings only " }
                        span .key.good {} "with neither"
                        ". Findings about a database as a whole are in the numbers only."
                        @if views > 0 { " Views count as collections." }
                    }
                }
                @if has_known {
                    p .warn {
                        "Findings in the baseline are accepted for now, not mended: they are counted here and left "
                        "out of the list below. Without the baseline the report has them."
                    }
                }
            }
        }
    }
}

fn card(class: &str, count: u64, noun: &str) -> Markup {
    html! {
        div class={ "card " (class) } { b { (text::count(count)) } " " span { (noun) } }
    }
}

fn health_row(name: &str, health: &Health, with_amounts: bool, has_known: bool) -> Markup {
    let Health { with_errors, with_warnings, with_known, .. } = health;
    let clean = health.collections - with_errors - with_warnings - with_known;
    let known = match has_known {
        true => format!("{with_known} with known findings only, "),
        false => String::new(),
    };
    let title = format!(
        "{with_errors} with errors, {with_warnings} with warnings, {known}{clean} with neither"
    );
    html! {
        tr {
            th scope="row" { a href={ "#findings?ns=" (pack::percent_encoded(&line(name))) } { (line(name)) } }
            @if with_amounts {
                td {
                    @if health.collections > 0 {
                        span .stack role="img" aria-label=(title) title=(title) {
                            (part("bad", *with_errors, health.collections))
                            (part("poor", *with_warnings, health.collections))
                            (part("known", *with_known, health.collections))
                            (part("good", clean, health.collections))
                        }
                        " " (text::count(health.collections))
                    }
                }
            }
            td .num { (text::count(health.errors)) }
            td .num { (text::count(health.warnings)) }
            td .num { (text::count(health.notes)) }
            @if has_known { td .num { (text::count(health.known)) } }
            @if with_amounts {
                td .num { (text::count(health.documents)) }
                td .num { (text::bytes(health.bytes)) }
            }
        }
    }
}

/// A part of a stacked bar; none is so small that it cannot be seen.
fn part(class: &str, n: u64, of: u64) -> Markup {
    let width = if of == 0 { 0.0 } else { (n as f64 / of as f64 * 100.0).max(2.0) };
    html! {
        @if n > 0 { span class=(class) style={ "flex:" (format!("{width:.1}")) } {} }
    }
}

fn checklists(report: &Report) -> Markup {
    let list = |prefix: &str| -> Vec<_> {
        report.checklist.iter().filter(|item| item.id.starts_with(prefix)).collect()
    };
    html! {
        section #checklist aria-labelledby="checklist-title" {
            h2 #checklist-title { "Checklists" }
            @for (title, items) in [
                ("Launch review", list("CK")),
                ("Security", list("SE")),
                ("Security self-check", list("SC")),
            ] {
                @if !items.is_empty() {
                    h3 { (title) }
                    div .scroll tabindex="0" role="region" aria-label=(title) {
                        table .checklist {
                            thead { tr {
                                th scope="col" { "Item" }
                                th scope="col" { "Asked" }
                                th scope="col" { "Verdict" }
                                th scope="col" { "Evidence" }
                                th scope="col" { "Signed off" }
                            } }
                            tbody {
                                @for item in items {
                                    tr {
                                        th scope="row" { (item.id) }
                                        td { (item.title) }
                                        td { (verdict(item.verdict)) }
                                        td { (code_spans(&item.evidence)) }
                                        td {
                                            @if let Some(waiver) = &item.waiver { (plain(&waiver.text())) }
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn verdict(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Pass => "good",
        Verdict::Fail => "bad",
        Verdict::Warn | Verdict::Unknown => "poor",
        Verdict::NotApplicable => "",
    };
    html! { span class={ "badge " (class) } { (verdict.name()) } }
}

fn more(report: &Report) -> Markup {
    let mut by_need: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for skipped in &report.skipped {
        by_need.entry(&skipped.needs).or_default().push(&skipped.rule);
    }
    html! {
        section #more aria-labelledby="more-title" {
            h2 #more-title { "What else" }
            @if let Some(compared) = &report.compared {
                p { "Compared with the " (compared.basis.name()) " " code { (plain(&compared.with)) } "." }
                @for (title, list) in [("Fixed", &compared.fixed), ("Not looked for", &compared.not_judged)] {
                    @if !list.is_empty() {
                        details {
                            summary { (title) " (" (list.len()) ")" }
                            ul {
                                @for known in list.iter().take(500) {
                                    li { b { (known.rule) } " " (known.name) " " code { (plain(&known.at.text())) } }
                                }
                                @if list.len() > 500 { li { "and " (list.len() - 500) " more" } }
                            }
                        }
                    }
                }
            }
            @if !report.suppressions.is_empty() {
                h3 { "Suppressed" }
                ul {
                    @for used in &report.suppressions {
                        li {
                            code { (plain(&used.about)) } ": " (text::plural(used.findings, "finding"))
                            @if let Some(day) = &used.expires { ", until " (day) }
                            ": " (plain(&used.reason))
                        }
                    }
                }
            }
            @if !report.evidence.notes.is_empty() {
                h3 { "Notes" }
                ul { @for note in &report.evidence.notes { li { (plain(note)) } } }
            }
            h3 { "Sources" }
            ul {
                @for source in &report.sources {
                    li {
                        code { (plain(&source.name)) } " (" (source.kind.name()) "): "
                        (text::count(source.documents)) " read, " (text::bytes(source.bytes))
                        @if source.sampled { ", a part" }
                    }
                }
            }
            @if !by_need.is_empty() {
                h3 { "Rules that were not judged" }
                ul {
                    @for (needs, rules) in &by_need {
                        li { "for lack of " (needs) ": " (rules.join(", ")) }
                    }
                }
            }
        }
    }
}

/// Text whose `spans` in backticks become code. Names may hold backticks themselves: a span begins behind a
/// space or a bracket, ends at the first backtick behind which no word goes on, and keeps those between.
fn code_spans(text: &str) -> Markup {
    let text = plain(text);
    let mut rest = text.as_str();
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut from = 0;
    while let Some(at) = rest[from..].find('`').map(|at| from + at) {
        match span_end(rest, at).filter(|_| opens(rest, at)) {
            Some(end) => {
                parts.extend([(false, &rest[..at]), (true, &rest[at + 1..end])]);
                (rest, from) = (&rest[end + 1..], 0);
            }
            // A lone backtick opens nothing.
            None => from = at + 1,
        }
    }
    parts.push((false, rest));
    html! {
        @for (is_code, part) in parts {
            @if is_code { code { (part) } } @else { (part) }
        }
    }
}

/// Whether a span can begin at a backtick.
fn opens(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '`')
}

/// Where the span ends that begins at a backtick.
fn span_end(text: &str, start: usize) -> Option<usize> {
    let mut last = None;
    for (at, _) in text.match_indices('`').filter(|(at, _)| *at > start) {
        let next = text[at + 1..].chars().next();
        let begins_another = opens(text, at) && next.is_some_and(|c| !c.is_whitespace());
        match next {
            // Another one begins: this one ended before, in the middle of a word (`_id`s).
            Some(c) if c != '`' && last.is_some() && begins_another => return last,
            Some(c) if c == '`' || c.is_alphanumeric() => {
                last = last.or((at > start + 1).then_some(at))
            }
            _ if at > start + 1 => return Some(at),
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_backticks_become_code_and_nothing_becomes_markup() {
        assert_eq!(code_spans("a `b<c` d").into_string(), "a <code>b&lt;c</code> d");
        assert_eq!(code_spans("a ` d").into_string(), "a ` d");
        assert_eq!(code_spans("`a`, (`b`)").into_string(), "<code>a</code>, (<code>b</code>)");
        assert_eq!(
            code_spans("`_id`s of `x`").into_string(),
            "<code>_id</code>s of <code>x</code>"
        );
    }

    #[test]
    fn names_keep_their_backticks() {
        for (name, shown) in
            [("a`b", "a`b"), ("a`", "a`"), ("`a", "`a"), ("``", "``"), ("a`b`c", "a`b`c")]
        {
            let drawn = code_spans(&format!("field `{name}` is in `t_x`, not in `{name}`"));
            let expect = format!(
                "field <code>{shown}</code> is in <code>t_x</code>, not in <code>{shown}</code>"
            );
            assert_eq!(drawn.into_string(), expect);
        }
    }
}
