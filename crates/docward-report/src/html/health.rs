//! Draws the health of each database: the numbers of its collections with errors, warnings or
//! neither.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{CollectionKind, Report, Severity, Subject, text};
use maud::{Markup, html};

use super::{collection, pack};
use crate::{ranking, text::line};

/// One database.
#[derive(Default)]
struct Health {
    collections: u64,
    with_errors: u64,
    with_warnings: u64,
    /// Collections with findings in the baseline only.
    with_known: u64,
    /// Collections without findings and without documents, which cannot have a problem yet.
    empty: u64,
    documents: u64,
    bytes: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    known: u64,
    /// The worst finding about the database as a whole, which concerns all of its collections.
    own: Option<Severity>,
}

impl Health {
    fn clean(&self) -> u64 {
        self.collections - self.with_errors - self.with_warnings - self.with_known - self.empty
    }
}

fn databases(report: &Report) -> BTreeMap<String, Health> {
    let mut databases: BTreeMap<String, Health> = BTreeMap::new();
    let (mut bad, mut poor) = (BTreeSet::new(), BTreeSet::new());
    for finding in report.findings.iter().filter(|f| !ranking::is_recognised(f)) {
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
        if matches!(finding.at, Subject::Database(_)) {
            health.own = health.own.max(Some(finding.severity));
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
    for collection in &report.evidence.collections {
        let namespace = collection.namespace.to_string();
        let health = databases.entry(collection.namespace.database.clone()).or_default();
        let (documents, bytes) = collection::amounts(collection);
        health.collections += 1;
        health.documents += documents;
        health.bytes += bytes;
        if bad.contains(&namespace) || health.own == Some(Severity::Error) {
            health.with_errors += 1;
        } else if poor.contains(&namespace) || health.own == Some(Severity::Warn) {
            health.with_warnings += 1;
        } else if known.contains_key(&namespace) {
            health.with_known += 1;
        } else if documents == 0 {
            health.empty += 1;
        }
    }
    databases
}

/// The table of databases; empty for code and connection strings.
pub(super) fn table(report: &Report) -> Markup {
    let databases = databases(report);
    let has_known = databases.values().any(|health| health.known > 0);
    let with_amounts = !report.evidence.collections.is_empty();
    let views =
        report.evidence.collections.iter().filter(|c| c.kind == CollectionKind::View).count();
    html! {
        @if !databases.is_empty() {
            h3 #databases { "Health of each database" }
            div .scroll tabindex="0" role="region" aria-label="Health of each database" {
                table .stacked {
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
                        @for (name, health) in &databases { (row(name, health, with_amounts, has_known)) }
                    }
                }
            }
            @if with_amounts {
                p .legend {
                    "Collections: "
                    span .key.bad {} "with errors " span .key.poor {} "with warnings "
                    @if has_known { span .key.known {} "with known findings only " }
                    span .key.good {} "with neither " span .key.empty {} "without documents. "
                    "A finding about a database counts for all of its collections."
                    @if views > 0 { " Views count as collections." }
                }
            }
            @if has_known {
                p .warn {
                    "Findings in the baseline are accepted, not fixed. They are counted here but \
                     left "
                    "out of the list below. Run without the baseline to see them."
                }
            }
        }
    }
}

fn row(name: &str, health: &Health, with_amounts: bool, has_known: bool) -> Markup {
    let Health { with_errors, with_warnings, with_known, empty, .. } = health;
    let clean = health.clean();
    let known = match has_known {
        true => format!("{with_known} with known findings only, "),
        false => String::new(),
    };
    let title = format!(
        "{with_errors} with errors, {with_warnings} with warnings, {known}{clean} with none of these, {empty} without documents"
    );
    let number = |label: &str, n: u64, class: &str| {
        let class = if n == 0 { "zero" } else { class };
        html! { td data-label=(label) class={ "num " (class) } { (text::count(n)) } }
    };
    html! {
        tr {
            th scope="row" { a href={ "#findings?ns=" (pack::percent_encoded(&line(name))) } { (line(name)) } }
            @if with_amounts {
                td data-label="Collections" {
                    @if health.collections > 0 {
                        span .stack role="img" aria-label=(title) title=(title) {
                            (part("bad", *with_errors, health.collections))
                            (part("poor", *with_warnings, health.collections))
                            (part("known", *with_known, health.collections))
                            (part("good", clean, health.collections))
                            (part("empty", *empty, health.collections))
                        }
                        " " (text::count(health.collections))
                    }
                }
            }
            (number("Errors", health.errors, "bad"))
            (number("Warnings", health.warnings, "poor"))
            (number("Notes", health.notes, ""))
            @if has_known { (number("In the baseline", health.known, "")) }
            @if with_amounts {
                (number("Documents", health.documents, ""))
                td data-label="Bytes" .num { (text::bytes(health.bytes)) }
            }
        }
    }
}

/// A part of a stacked bar, with a minimum width to stay visible.
fn part(class: &str, n: u64, of: u64) -> Markup {
    let width = if of == 0 { 0.0 } else { (n as f64 / of as f64 * 100.0).max(2.0) };
    html! {
        @if n > 0 { span class=(class) style={ "flex:" (format!("{width:.1}")) } {} }
    }
}
