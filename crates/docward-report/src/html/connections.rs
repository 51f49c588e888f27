//! Draws a pool plan as a page: in the style of the report, with the share of the limit against the
//! number of applications.

use docward_connect::{Gravity, Verdict, share_text};
use docward_model::{LimitScope, text};
use maud::{Markup, html};

use super::{code_spans, document, head::buttons};
use crate::connect::PlanReport;
use crate::table::Column;

// Narrow enough that text stays readable if the chart is as wide as a phone.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 270.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 44.0;
/// The maximum share drawn: above it the lines at 80 % and 100 % could not be distinguished.
const HIGHEST: f64 = 20.0;
/// The distances between the lines of the axis; at most six lines are drawn.
const STEPS: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 10.0];

/// The page.
pub(crate) fn page(report: &PlanReport) -> String {
    use crate::connect::{pool_text, scenario_columns, service_columns, subject};
    let plan = &report.plan;
    let is_per_node = plan.deployment.scope == LimitScope::PerNode;
    let rest = if is_per_node { plan.total } else { plan.per_node };
    let (whose, others) = match is_per_node {
        _ if report.is_standalone => ("connections", ""),
        true => ("connections per server", "connections in total"),
        false => ("connections in total", "connections per server"),
    };
    let body = html! {
        header .top {
            div .bar {
                div {
                    h1 { "Connection plan" }
                    p .muted { (subject(report)) }
                    @for origin in &report.origins { p .muted { (code_spans(origin)) } }
                }
                (buttons(false))
            }
        }
        main #main {
            section aria-label="Summary" {
                div .cards {
                    div class={ "card " (class(plan.verdict)) } { b { (share_text(plan.share)) } span { "of the limit" } }
                    div .card { b { (text::count(plan.counted())) } span { (whose) } }
                    div .card { b { (text::count(plan.budget)) } span { "budget (80 % of " (text::count(plan.deployment.limit)) ")" } }
                    @if !others.is_empty() {
                        div .card { b { (text::count(rest)) } span { (others) } }
                    }
                    @for part in plan.services.iter().take(1) {
                        div .card { b { (text::count(part.pool)) } span { "maxPoolSize" } }
                        div .card { b { (pool_text(part.cap)) } span { "largest maxPoolSize" } }
                    }
                }
            }
            section aria-labelledby="scenarios-title" {
                h2 #scenarios-title { "Scenarios" }
                (rows("Scenarios", &scenario_columns(report), &report.scenarios.rows, |row| Some(row.verdict)))
                (chart(report))
            }
            @if plan.services.len() > 1 {
                section aria-labelledby="services-title" {
                    h2 #services-title { "Services" }
                    (rows("Services", &service_columns(), &plan.services, |_| None))
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
    document("Docward connection plan", report.version, &body)
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

/// A table; on a narrow screen each row becomes a list of its cells.
fn rows<R>(
    label: &str,
    columns: &[Column<R>],
    rows: &[R],
    verdict: impl Fn(&R) -> Option<Verdict>,
) -> Markup {
    html! {
        div .scroll tabindex="0" role="region" aria-label=(label) {
            table .stacked {
                thead {
                    tr {
                        @for column in columns {
                            th scope="col" .num[!column.is_text] { (column.heading) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, column) in columns.iter().enumerate() {
                                @let cell = column.of(row);
                                @let verdict = verdict(row).filter(|_| at + 1 == columns.len());
                                @if at == 0 { th scope="row" { (cell) } }
                                @else if let Some(verdict) = verdict {
                                    td data-label=(column.heading) { span class={ "badge " (class(verdict)) } { (cell) } }
                                } @else {
                                    td .num[!column.is_text] data-label=(column.heading) { (cell) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The share of the limit by number of applications, with lines at 80 % and 100 %. A curve that
/// leaves the chart ends with an arrow and a label.
fn chart(report: &PlanReport) -> Markup {
    let curve = &report.scenarios.curve;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return html! {} };
    let top = (last.1 * 1.05).clamp(1.2, HIGHEST);
    let span = (last.0 - first.0).max(1) as f64;
    let x = |apps: f64| LEFT + (apps - first.0 as f64) / span * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| HEIGHT - BOTTOM - share.min(top) / top * (HEIGHT - TOP - BOTTOM);
    let (points, leaves) = drawn(curve, top);
    let points: Vec<String> =
        points.iter().map(|(apps, share)| format!("{:.1},{:.1}", x(*apps), y(*share))).collect();
    let today = report.given.first().map_or(0, |given| given.instances);
    let mark = curve.iter().rev().find(|(apps, _)| *apps <= today);
    let step = STEPS.into_iter().find(|step| top / step <= 6.0).unwrap_or(HIGHEST);
    // The curve rises: on the right it is far above the limit, unless everything fits.
    let (beside, anchor) =
        if last.1 > 1.3 { (WIDTH - RIGHT - 4.0, "end") } else { (LEFT + 6.0, "start") };
    let ticks = (0..).map(|n| f64::from(n) * step).take_while(|share| *share <= top);
    let words = format!(
        "share of the limit: {} with {}, {} with {}",
        share_text(first.1),
        text::plural(first.0, "application"),
        share_text(last.1),
        text::plural(last.0, "application")
    );
    html! {
        figure .chart style="max-width:36rem" {
            figcaption { b { "Share of the limit by applications" } " " span .muted { "pools as planned" } }
            svg .plan-chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words) {
                title { (words) }
                @for share in ticks {
                    line .grid x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(y(share))) y2=(px(y(share))) {}
                    text .tick x=(px(LEFT - 6.0)) y=(px(y(share) + 4.0)) text-anchor="end" { (format!("{:.0} %", share * 100.0)) }
                }
                // One above its line and one below: the two are close together if the axis is long.
                @for (share, label, below) in [(1.0, "limit", -5.0), (0.8, "budget, 80 %", 14.0)] {
                    line .limit x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(y(share))) y2=(px(y(share))) {}
                    text .limit-label x=(px(beside)) y=(px(y(share) + below)) text-anchor=(anchor) { (label) }
                }
                line .axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(HEIGHT - BOTTOM)) y2=(px(HEIGHT - BOTTOM)) {}
                line .axis x1=(px(LEFT)) x2=(px(LEFT)) y1=(px(TOP)) y2=(px(HEIGHT - BOTTOM)) {}
                polyline points=(points.join(" ")) style="fill:none;stroke:var(--bar);stroke-width:2.5" {}
                @if let Some(apps) = leaves {
                    @let (at, end) = (x(apps), y(top));
                    polyline points=(format!("{:.1},{:.1} {:.1},{:.1} {:.1},{:.1}", at - 5.0, end + 7.0, at, end, at + 5.0, end + 7.0)) style="fill:none;stroke:var(--bar);stroke-width:2.5" {}
                    text .tick x=(px(WIDTH - RIGHT)) y=(px(TOP - 6.0)) text-anchor="end" {
                        "up to " (share_text(last.1)) " with " (text::count(last.0))
                    }
                }
                @if let Some((apps, share)) = mark {
                    @let words = format!("today: {}, {}", text::count(today), share_text(*share));
                    @let (at, high) = (x(*apps as f64), y(*share));
                    @if *share > top {
                        text .today x=(px(WIDTH - RIGHT)) y=(px(TOP + 12.0)) text-anchor="end" { (words) }
                    } @else {
                        circle .dot cx=(px(at)) cy=(px(high)) r="5" style="fill-opacity:1" {}
                        // On the left there is room above the curve, on the right below it.
                        @if at > WIDTH * 0.55 {
                            text .today x=(px(at - 8.0)) y=(px((high - 8.0).max(12.0))) text-anchor="end" { (words) }
                        } @else {
                            text .today x=(px(at + 9.0)) y=(px((high + 16.0).min(HEIGHT - BOTTOM - 6.0))) text-anchor="start" { (words) }
                        }
                    }
                }
                text .tick x=(px(LEFT)) y=(px(HEIGHT - BOTTOM + 16.0)) text-anchor="start" { (text::count(first.0)) }
                text .tick x=(px(WIDTH - RIGHT)) y=(px(HEIGHT - BOTTOM + 16.0)) text-anchor="end" { (text::count(last.0)) }
                text .tick x=(px((LEFT + WIDTH - RIGHT) / 2.0)) y=(px(HEIGHT - 8.0)) text-anchor="middle" { "applications" }
            }
        }
    }
}

/// The points of a curve up to a share, and the position where it leaves the chart, if it does.
fn drawn(curve: &[(u64, f64)], top: f64) -> (Vec<(f64, f64)>, Option<f64>) {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (apps, share) in curve {
        let (apps, share) = (*apps as f64, *share);
        if share <= top {
            points.push((apps, share));
            continue;
        }
        let edge = match points.last() {
            Some((before, low)) => before + (apps - before) * (top - low) / (share - low),
            None => apps,
        };
        points.push((edge, top));
        return (points, Some(edge));
    }
    (points, None)
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_it_leaves_the_picture() {
        let curve = [(1, 1.0), (2, 2.0), (3, 6.0), (4, 8.0)];
        assert_eq!(drawn(&curve, 4.0), (vec![(1.0, 1.0), (2.0, 2.0), (2.5, 4.0)], Some(2.5)));
        assert_eq!(drawn(&curve, 8.0).1, None);
        assert_eq!(drawn(&[(1, 9.0)], 4.0), (vec![(1.0, 4.0)], Some(1.0)));
    }
}
