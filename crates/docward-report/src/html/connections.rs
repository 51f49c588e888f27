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
/// Above this share, the lines at 80 % and 100 % could not be distinguished on a linear axis.
const HIGHEST_LINEAR: f64 = 6.0;
/// The smallest share of a logarithmic axis.
const LEAST_SHARE: f64 = 0.01;
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
                    p .muted {
                        @if !report.run.started.is_empty() { (report.run.started) " UTC · " }
                        code { (report.run.command) }
                    }
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

/// The vertical axis: linear while the lines at 80 % and 100 % stay apart, else logarithmic, so that
/// the whole curve fits.
struct Axis {
    least: f64,
    top: f64,
    is_log: bool,
}

impl Axis {
    fn of(curve: &[(u64, f64)], today: f64) -> Self {
        let shares = || curve.iter().map(|(_, share)| *share).chain([today]);
        let most = shares().fold(0.0, f64::max) * 1.05;
        if most <= HIGHEST_LINEAR {
            return Self { least: 0.0, top: most.max(1.2), is_log: false };
        }
        let decade = |share: f64| 10.0_f64.powf(share.max(LEAST_SHARE).log10().floor());
        Self { least: decade(shares().fold(0.8, f64::min)), top: most, is_log: true }
    }

    /// The position of a share, from 0 at the bottom to 1 at the top.
    fn position(&self, share: f64) -> f64 {
        if self.is_log {
            (share.max(self.least) / self.least).ln() / (self.top / self.least).ln()
        } else {
            share / self.top
        }
    }

    /// The shares with a line.
    fn ticks(&self) -> Vec<f64> {
        let next: Box<dyn Fn(u32) -> f64> = if self.is_log {
            Box::new(|n| self.least * 10.0_f64.powi(n as i32))
        } else {
            let step = STEPS.into_iter().find(|step| self.top / step <= 6.0).unwrap_or(1.0);
            Box::new(move |n| f64::from(n) * step)
        };
        (0..).map(next).take_while(|share| *share <= self.top).collect()
    }
}

/// The share of the limit by number of applications, with lines at 80 % and 100 %.
fn chart(report: &PlanReport) -> Markup {
    let curve = &report.scenarios.curve;
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return html! {} };
    let (today, share) =
        (report.given.first().map_or(0, |given| given.instances), report.plan.share);
    let axis = Axis::of(curve, share);
    let span = (last.0 - first.0).max(1) as f64;
    let x =
        |apps: u64| LEFT + (apps.saturating_sub(first.0)) as f64 / span * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| HEIGHT - BOTTOM - axis.position(share) * (HEIGHT - TOP - BOTTOM);
    let points: Vec<String> =
        curve.iter().map(|(apps, share)| format!("{:.1},{:.1}", x(*apps), y(*share))).collect();
    // The curve increases: on the right it is far above the limit, unless everything fits.
    let (beside, anchor) =
        if last.1 > 1.3 { (WIDTH - RIGHT - 4.0, "end") } else { (LEFT + 6.0, "start") };
    let words = format!(
        "share of the limit: {} with {}, {} with {}",
        share_text(first.1),
        text::plural(first.0, "application"),
        share_text(last.1),
        text::plural(last.0, "application")
    );
    let note = if axis.is_log { "pools as planned; logarithmic scale" } else { "pools as planned" };
    let (at, high) = (x(today).min(WIDTH - RIGHT), y(share));
    let here = format!("today: {}, {}", text::count(today), share_text(share));
    html! {
        figure .chart style="max-width:36rem" {
            figcaption { b { "Share of the connection limit, by number of applications" } " " span .muted { (note) } }
            svg .plan-chart viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words) {
                title { (words) }
                @for share in axis.ticks() {
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
                circle .dot cx=(px(at)) cy=(px(high)) r="5" style="fill-opacity:1" {}
                // On the left there is room above the curve, on the right below it.
                @if at > WIDTH * 0.55 {
                    text .today x=(px(at - 8.0)) y=(px((high - 8.0).max(12.0))) text-anchor="end" { (here) }
                } @else {
                    text .today x=(px(at + 9.0)) y=(px((high + 16.0).min(HEIGHT - BOTTOM - 6.0))) text-anchor="start" { (here) }
                }
                text .tick x=(px(LEFT)) y=(px(HEIGHT - BOTTOM + 16.0)) text-anchor="start" { (text::count(first.0)) }
                text .tick x=(px(WIDTH - RIGHT)) y=(px(HEIGHT - BOTTOM + 16.0)) text-anchor="end" { (text::count(last.0)) }
                text .tick x=(px((LEFT + WIDTH - RIGHT) / 2.0)) y=(px(HEIGHT - 8.0)) text-anchor="middle" { "applications" }
            }
        }
    }
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_is_inside_the_picture_and_the_lines_stay_apart() {
        let pixels = HEIGHT - TOP - BOTTOM;
        for (curve, today) in [
            (vec![(1, 0.1), (20, 0.5)], 0.2),
            (vec![(1, 0.5), (2, 5.0)], 0.5),
            (vec![(1, 0.001), (513, 68.4)], 53.3),
            (vec![(1, 0.0), (2, 9e6)], 2.0),
            (vec![(1, 9.0)], 9.0),
        ] {
            let axis = Axis::of(&curve, today);
            for share in curve.iter().map(|(_, share)| *share).chain([today, 0.8, 1.0]) {
                let at = axis.position(share);
                assert!((0.0..=1.0).contains(&at), "{share} of {curve:?} is at {at}");
            }
            let gap = (axis.position(1.0) - axis.position(0.8)) * pixels;
            assert!(gap > 2.0, "{gap} of {curve:?}");
            assert!(axis.ticks().len() <= 12, "{:?}", axis.ticks());
        }
    }
}
