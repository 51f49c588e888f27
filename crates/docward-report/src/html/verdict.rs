//! Draws the verdict: counts by severity, a state for each area, the first fixes, and the checks
//! that did not run.

use std::collections::BTreeSet;

use docward_model::{Area, Report, RuleMeta, Severity, SourceKind, text};
use maud::{Markup, html};

use super::{code_spans, findings::severity_class, head::kind};
use crate::{
    ranking::{self, FIX_FIRST},
    text::{limit_day, line, plain},
};

/// The state of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Fail,
    Warn,
    Pass,
    /// No findings in the data that was read, which was not everything.
    NothingYet,
    /// No findings, but most rules had no input.
    NotFullyChecked,
    NotChecked,
}

impl State {
    fn class(self) -> &'static str {
        match self {
            Self::Fail => "bad",
            Self::Warn => "poor",
            Self::Pass => "good",
            Self::NothingYet | Self::NotFullyChecked | Self::NotChecked => "none",
        }
    }

    fn word(self, report: &Report) -> &'static str {
        match self {
            Self::Fail => "✕ Fail",
            Self::Warn => "! Warning",
            Self::Pass => "✓ Pass",
            Self::NothingYet if report.is_whole() => "Nothing found in the sample",
            Self::NothingYet => "Nothing found so far",
            Self::NotFullyChecked => "Not fully checked",
            Self::NotChecked => "Not checked",
        }
    }
}

/// One area: its state and its figures.
struct Tile {
    area: Area,
    state: State,
    /// The numbers of errors, warnings and notes.
    counts: [u64; 3],
    checked: usize,
    /// The number of rules that would run with more input.
    skipped: usize,
}

fn tile(report: &Report, rules: &[&RuleMeta], area: Area) -> Tile {
    let here = || report.findings.iter().filter(|f| f.area == area && !ranking::is_recognised(f));
    let count = |severity| here().filter(|f| f.severity == severity).count() as u64;
    let counts = [count(Severity::Error), count(Severity::Warn), count(Severity::Info)];
    let skipped: BTreeSet<&str> = report.skipped.iter().map(|skip| &*skip.rule).collect();
    let has_looked = |rule: &RuleMeta| match &report.judged {
        Some(judged) => judged.iter().any(|code| code == rule.code),
        // Reports of earlier versions do not contain it.
        None => !skipped.contains(rule.code),
    };
    let of_area = || rules.iter().filter(|rule| rule.area == area);
    let checked = of_area().filter(|rule| has_looked(rule)).count();
    let is_partial = !report.is_whole() || report.sources.iter().any(|source| source.sampled);
    let waiting = of_area().filter(|rule| skipped.contains(rule.code)).count();
    let state = match counts {
        [errors, _, _] if errors > 0 => State::Fail,
        [_, warnings, _] if warnings > 0 => State::Warn,
        _ if checked == 0 && here().next().is_none() => State::NotChecked,
        _ if !has_content(report) => State::NotChecked,
        _ if checked < waiting => State::NotFullyChecked,
        _ if is_partial => State::NothingYet,
        _ => State::Pass,
    };
    Tile { area, state, counts, checked, skipped: waiting }
}

/// Whether anything was read: documents, files of code, connection strings.
fn has_content(report: &Report) -> bool {
    report.sources.is_empty() || report.sources.iter().any(|source| source.documents > 0)
}

/// The first block of the page.
pub(super) fn block(report: &Report, rules: &[&RuleMeta]) -> Markup {
    let count = |severity| report.count(severity) as u64;
    let patterns = ranking::recognised(report).count() as u64;
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warn));
    let notes = count(Severity::Info) - patterns;
    let tiles: Vec<Tile> = Area::ALL.iter().map(|area| tile(report, rules, *area)).collect();
    let has_looked = tiles.iter().any(|tile| tile.state != State::NotChecked);
    let (class, headline) = match (errors, warnings) {
        (0, 0) if !has_content(report) => ("none", "No documents were read".to_owned()),
        (0, 0) if !has_looked => ("none", "Nothing was checked".to_owned()),
        (0, 0) if !report.is_whole() => ("none", "No errors or warnings so far".to_owned()),
        (0, 0) => ("good", "No errors or warnings".to_owned()),
        (0, n) => ("poor", format!("No errors, {}", text::plural(n, "warning"))),
        (n, 0) => ("bad", text::plural(n, "error")),
        (n, m) => ("bad", format!("{}, {}", text::plural(n, "error"), text::plural(m, "warning"))),
    };
    html! {
        div #verdict class={ "verdict " (class) } {
            h2 #summary-title { (headline) }
            p {
                @for (severity, n, meaning) in [
                    (Severity::Error, errors, "breaks a mandatory rule"),
                    (Severity::Warn, warnings, "does not follow a recommendation"),
                    (Severity::Info, notes, "worth knowing"),
                ] {
                    a class={ "count " (if n > 0 { severity_class(severity) } else { "zero" }) }
                        href={ "#findings?severity=" (severity.word()) } title=(meaning) { (text::plural(n, severity.word())) }
                    " "
                }
                @if patterns > 0 { a .count.zero href="#patterns" { (text::plural(patterns, "design pattern")) " in use" } " " }
                @if let Some(compared) = &report.compared {
                    span .count.zero { (text::count(compared.fixed.len() as u64)) " fixed" } " "
                    span .count.zero { (text::count(compared.unchanged.len() as u64)) " in the \
                     baseline" } " "
                }
                @if report.suppressed > 0 { span .count.zero { (text::count(report.suppressed)) " suppressed" } }
            }
        }
        div .areas {
            @for tile in &tiles { (drawn(report, tile)) }
        }
    }
}

fn drawn(report: &Report, tile: &Tile) -> Markup {
    let parts = Severity::ALL.iter().zip(tile.counts).filter(|(_, n)| *n > 0);
    let parts: Vec<String> = parts.map(|(s, n)| text::plural(n, s.word())).collect();
    let inside = html! {
        span .area-name { (tile.area.title()) }
        b { (tile.state.word(report)) }
        span .muted {
            @if !parts.is_empty() { (parts.join(", ")) br; }
            @match (tile.checked, tile.skipped) {
                (0, 0) => {},
                (0, n) => { (text::plural(n as u64, "rule")) " need" (text::form(n as u64, "s", "")) " more input" },
                (n, 0) => { (text::plural(n as u64, "rule")) " checked" },
                (n, m) => { (n) " of " (text::plural((n + m) as u64, "rule")) " checked" },
            }
        }
    };
    let class = format!("area {}", tile.state.class());
    html! {
        @if parts.is_empty() {
            div class=(class) data-area=(tile.area.name()) { (inside) }
        } @else {
            a class=(class) data-area=(tile.area.name()) href={ "#findings?area=" (tile.area.name()) } { (inside) }
        }
    }
}

/// The first rules of the report, each with its worst place.
pub(super) fn fix_first(report: &Report, rules: &[&RuleMeta]) -> Markup {
    let ranked = ranking::by_rule(report);
    html! {
        @if !ranked.is_empty() {
            h3 #fix-first { "Fix first" }
            ol .fix-first {
                @for rule in ranking::fix_first(&ranked) {
                    @let first = rule.first;
                    @let title = rules.iter().find(|known| known.code == first.rule).map_or(&*first.name, |known| known.title());
                    li {
                        span class={ "badge " (severity_class(first.severity)) } { (first.severity.word()) } " "
                        a href={ "#findings?rule=" (first.rule) "&severity=" (first.severity.word()) } {
                            b { (first.rule) } " " (title)
                        }
                        @if rule.count > 1 { " in " (text::plural(rule.count as u64, "place")) }
                        @if let Some(limit) = limit_day(report, first) { " " span .badge.bad { (limit) } }
                        span .what { code { (line(&first.place())) } ": " (code_spans(&first.what)) }
                    }
                }
            }
            @if ranked.len() > FIX_FIRST {
                p { a href="#findings" { "All findings" } }
            }
        }
    }
}

/// The checks that did not run, and how to run them.
pub(super) fn coverage(report: &Report, rules: &[&RuleMeta]) -> Markup {
    let missing = ranking::missing_inputs(report);
    let waiting: BTreeSet<&str> =
        missing.iter().flat_map(|input| input.rules.iter().copied()).collect();
    let judged = report.judged.as_ref().map_or(0, Vec::len);
    let all = rules.len();
    let is_code = !report.sources.is_empty()
        && report.sources.iter().all(|source| source.kind == SourceKind::Code);
    html! {
        @if !waiting.is_empty() {
            h3 #coverage { "Not checked" }
            p {
                b { (text::count(waiting.len() as u64)) }
                @if all > 0 { " of " (text::plural(all as u64, "rule")) } @else { " rules" }
                " " (text::form(waiting.len() as u64, "needs", "need")) " input that this run did not have. "
                @if all > 0 {
                    span .stack.wide role="img" aria-label={ (waiting.len()) " of " (all) " rules need more input" } {
                        span .fill style={ "flex:" (all - waiting.len().min(all)) } {}
                        span .rest style={ "flex:" (waiting.len()) } {}
                    }
                }
            }
            ul .inputs {
                @for input in &missing {
                    li {
                        details {
                            summary {
                                b { (text::plural(input.rules.len() as u64, "rule")) }
                                " " (text::form(input.rules.len() as u64, "needs", "need")) " " (input.what)
                                @if !input.how.is_empty() { ": " code { (input.how) } }
                            }
                            p .muted { (input.rules.join(", ")) }
                        }
                    }
                }
            }
        } @else if is_code && all > 0 && kind(report) == "lint" {
            h3 #coverage { "Not checked" }
            p {
                "This run read source code only: " (text::count(judged as u64)) " of " (text::plural(all as u64, "rule"))
                " apply to it. " code { "docward audit SOURCE --code PATH" } " checks the data as well."
            }
        }
    }
}

/// Recognised patterns: they are not problems and need no action.
pub(super) fn patterns(report: &Report) -> Markup {
    const LISTED: usize = 500;
    let found: Vec<_> = ranking::recognised(report).collect();
    html! {
        @if !found.is_empty() {
            details #patterns {
                summary { (text::plural(found.len() as u64, "design pattern")) " in use" span .muted { ": nothing to do" } }
                ul {
                    @for finding in found.iter().take(LISTED) {
                        li { code { (plain(&finding.place())) } ": " (code_spans(&finding.what)) }
                    }
                    @if found.len() > LISTED { li { "and " (text::count((found.len() - LISTED) as u64)) " more" } }
                }
            }
        }
    }
}
