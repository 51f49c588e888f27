//! A plan of pools as a page: the same look as the report, with the share of the limit drawn against the
//! number of applications.

use docward_connect::{Gravity, Verdict, share_text};
use docward_model::text;
use maud::{Markup, html};

use super::{code_spans, shell};
use crate::connect::PlanReport;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 34.0;

/// The page.
pub(crate) fn page(report: &PlanReport) -> String {
    use crate::connect::{HEADINGS, SERVICE_HEADINGS, cells, service_cells, subject};
    let plan = &report.plan;
    let body = html! {
        header .top {
            div .bar {
                div {
                    h1 { "Connection plan" }
                    p .muted { (subject(report)) }
                    @for origin in &report.origins { p .muted { (code_spans(origin)) } }
                }
                div .buttons { button type="button" #theme { "Dark or light" } }
            }
        }
        main #main {
            section aria-label="Summary" {
                div .cards {
                    div class={ "card " (class(plan.verdict)) } { b { (share_text(plan.share)) } span { "of the limit" } }
                    div .card { b { (text::count(plan.total)) } span { "connections" } }
                    div .card { b { (text::count(plan.budget)) } span { "budget (80 %)" } }
                    @for part in plan.services.iter().take(1) {
                        div .card { b { (text::count(part.pool)) } span { "maxPoolSize" } }
                        div .card { b { (text::count(part.cap)) } span { "largest that fits" } }
                    }
                }
            }
            section aria-labelledby="scenarios-title" {
                h2 #scenarios-title { "Scenarios" }
                (rows("Scenarios", &HEADINGS, report.scenarios.rows.iter().map(|row| (cells(row).to_vec(), Some(row.verdict)))))
                (chart(report))
            }
            @if plan.services.len() > 1 {
                section aria-labelledby="services-title" {
                    h2 #services-title { "Services" }
                    (rows("Services", &SERVICE_HEADINGS, plan.services.iter().map(|part| (service_cells(part).to_vec(), None))))
                }
            }
            section aria-labelledby="warnings-title" {
                h2 #warnings-title { "What to know" }
                ul {
                    @for warning in &plan.warnings {
                        li {
                            span class={ "badge " (gravity_class(warning.gravity)) } { (warning.gravity.name()) } " "
                            (code_spans(&warning.message)) " " span .muted { (warning.clause) }
                        }
                    }
                }
                h2 { "What to do" }
                ul {
                    @for advice in &report.scenarios.advice {
                        li { (code_spans(&advice.message)) " " span .muted { (advice.clause) } }
                    }
                }
            }
        }
    };
    shell("Docward connection plan", report.version, &body)
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "good",
        Verdict::OverBudget | Verdict::OverLimit => "bad",
    }
}

fn gravity_class(gravity: Gravity) -> &'static str {
    match gravity {
        Gravity::Critical | Gravity::Violation => "bad",
        Gravity::Warning => "poor",
        Gravity::Note => "note",
    }
}

fn rows(
    label: &str,
    headings: &[&str],
    rows: impl Iterator<Item = (Vec<String>, Option<Verdict>)>,
) -> Markup {
    html! {
        div .scroll tabindex="0" role="region" aria-label=(label) {
            table {
                thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                tbody {
                    @for (cells, verdict) in rows {
                        tr {
                            @for (at, cell) in cells.iter().enumerate() {
                                @if at == 0 { th scope="row" { (cell) } }
                                @else if let (Some(verdict), true) = (verdict, at + 1 == cells.len()) {
                                    td { span class={ "badge " (class(verdict)) } { (cell) } }
                                } @else { td .num { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The share of the limit by number of applications, with lines at 80 % and 100 %.
fn chart(report: &PlanReport) -> Markup {
    let curve = &report.scenarios.curve;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return html! {} };
    // Beyond twice the limit nothing is left to see.
    let top = last.1.clamp(1.1, 2.0);
    let span = (last.0 - first.0).max(1) as f64;
    let x = |apps: u64| LEFT + (apps - first.0) as f64 / span * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| HEIGHT - BOTTOM - share.min(top) / top * (HEIGHT - TOP - BOTTOM);
    let points: Vec<String> =
        curve.iter().map(|(apps, share)| format!("{:.1},{:.1}", x(*apps), y(*share))).collect();
    let today = report.given.first().map_or(0, |given| given.instances);
    let mark = curve.iter().rev().find(|(apps, _)| *apps <= today);
    let words = format!(
        "share of the limit: {} with {}, {} with {}",
        share_text(first.1),
        text::plural(first.0, "application"),
        share_text(last.1),
        text::plural(last.0, "application")
    );
    html! {
        figure .chart {
            figcaption { b { "Share of the limit by applications" } " " span .muted { "pools as planned" } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words) {
                title { (words) }
                @for (share, label) in [(0.8, "80 %"), (1.0, "100 %")] {
                    line .limit x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(y(share))) y2=(px(y(share))) {}
                    text .limit-label x=(px(LEFT - 6.0)) y=(px(y(share) + 4.0)) text-anchor="end" { (label) }
                }
                line .axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(HEIGHT - BOTTOM)) y2=(px(HEIGHT - BOTTOM)) {}
                line .axis x1=(px(LEFT)) x2=(px(LEFT)) y1=(px(TOP)) y2=(px(HEIGHT - BOTTOM)) {}
                polyline points=(points.join(" ")) style="fill:none;stroke:var(--bar);stroke-width:2.5" {}
                @if let Some((apps, share)) = mark {
                    circle .dot cx=(px(x(*apps))) cy=(px(y(*share))) r="5" style="fill-opacity:1" {
                        title { "today: " (text::plural(today, "application")) ", " (share_text(*share)) }
                    }
                }
                text .tick x=(px(LEFT)) y=(px(HEIGHT - 12.0)) text-anchor="start" { (text::count(first.0)) }
                text .tick x=(px(WIDTH - RIGHT)) y=(px(HEIGHT - 12.0)) text-anchor="end" { (text::plural(last.0, "application")) }
            }
        }
    }
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}
