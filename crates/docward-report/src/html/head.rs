//! Draws the head of the page: the subject, the date, the command and the version, before any
//! finding.

use docward_model::{Report, SourceKind, text};
use maud::{Markup, html};

use crate::{
    overview::amounts,
    text::{line, plain, scope, task},
};

/// The maximum number of sources named individually.
const NAMED: usize = 5;

/// The subject of the run in a few words, for titles.
pub(super) fn subject(report: &Report) -> String {
    let names = names(report);
    let named = match names.as_slice() {
        [] => "no source".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    match &report.against {
        Some(model) => format!("{} against {named}", line(model)),
        None => named + &scope(report),
    }
}

/// The workload of a deployment is not a separate source for a user who named only the deployment.
fn names(report: &Report) -> Vec<String> {
    let named = report.sources.iter().filter(|source| source.kind != SourceKind::Workload);
    named.map(|source| line(&source.name)).collect()
}

pub(super) fn header(kind: &str, report: &Report, sections: &[(&str, &str)]) -> Markup {
    html! {
        header .top {
            div .bar {
                div {
                    p .kind { "Docward " (kind) }
                    h1 { (subject(report)) }
                }
                (buttons(!sections.is_empty()))
            }
            (facts(report))
        }
        @if !sections.is_empty() {
            nav aria-label="Sections" {
                div { @for (id, title) in sections { a href={ "#" (id) } { (title) } } }
            }
        }
        noscript {
            p .warn {
                "This page needs JavaScript to show findings and collections. "
                "docward writes the same report as text with --format markdown."
            }
        }
    }
}

/// The buttons at the top of every page.
pub(super) fn buttons(can_be_printed: bool) -> Markup {
    html! {
        div .buttons {
            button type="button" #theme { "Toggle theme" }
            @if can_be_printed { button type="button" #whole { "Prepare for printing" } }
        }
    }
}

/// The name of the task: `audit`, `lint`.
pub(super) fn kind(report: &Report) -> &'static str {
    match &report.against {
        Some(_) => "design check",
        None => task(report),
    }
}

fn facts(report: &Report) -> Markup {
    let sampled = report.sources.iter().any(|source| source.sampled);
    let names = names(report);
    let servers: Vec<String> =
        report.sources.iter().filter_map(|source| source.server.as_deref()).map(plain).collect();
    let run = report.run.as_ref();
    html! {
        dl .facts {
            @if let Some(run) = run.filter(|run| !run.started.is_empty()) {
                div { dt { "Date" } dd { time #started { (run.started) " UTC" } } }
            }
            @if names.len() > 1 || report.against.is_some() {
                div {
                    dt { (text::form(names.len() as u64, "Source", "Sources")) }
                    dd {
                        @for name in names.iter().take(NAMED) { code { (name) } " " }
                        @if names.len() > NAMED { "and " (names.len() - NAMED) " more" }
                    }
                }
            }
            @for server in &servers { div { dt { "Server" } dd { (server) } } }
            div {
                dt { "Read" }
                dd {
                    (amounts(report).join(", "))
                    @if report.documents() > 0 {
                        @if sampled {
                            "; " b { "sampled" } ": each finding says how many documents it is \
                             based on"
                        } @else { "; read in full" }
                    }
                    @if report.interrupted { "; " b .warn { "interrupted" } ": the report covers \
                     what was read so far" }
                }
            }
            @if let Some(run) = run {
                div { dt { "Duration" } dd #duration { (format!("{:.1} s", run.millis as f64 / 1000.0)) } }
            }
            div {
                dt { "Profile" }
                dd {
                    (report.profile.name())
                    @if let Some(reason) = &report.profile_reason { span .muted { " (" (plain(reason)) ")" } }
                }
            }
            div { dt { "Docward" } dd { (report.tool_version) } }
            @if let Some(run) = run {
                div .wide { dt { "Command" } dd { code { (plain(&run.command)) } } }
            }
        }
    }
}
