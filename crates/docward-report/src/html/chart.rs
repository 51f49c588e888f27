//! Draws small SVG charts: distributions on logarithmic scales, growth against age. The page's
//! style sets the colours, so that they follow light and dark mode. Each chart has a title that
//! describes it. Charts are drawn at about their display width, so that text keeps its size.

use docward_model::{Distribution, Growth, GrowthForecast, text};
use maud::{Markup, html};

use super::code_spans;

const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 150.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 24.0;
/// The space for an axis label.
const LABEL: f64 = 54.0;
/// The number of bars of a distribution.
const BARS: usize = 48;

/// A limit to draw in a chart.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub(crate) at: u64,
    pub(crate) label: &'static str,
}

/// The rule book's size limits.
pub(crate) const SIZES: [Line; 4] = [
    Line { at: 102_400, label: "100 KB" },
    Line { at: 1_048_576, label: "1 MB" },
    Line { at: 10_485_760, label: "10 MB" },
    Line { at: 16_777_216, label: "16 MB" },
];
/// The rule book's limit on array lengths.
pub(crate) const LENGTHS: [Line; 1] = [Line { at: 1000, label: "1,000" }];

/// The explanation of the axes.
const LOG_SCALES: &str = "Both axes are logarithmic, so single very large documents stay visible.";

/// A histogram of values. Both axes are logarithmic, so that single outliers stay visible.
pub(crate) fn distribution(
    title: &str,
    values: &Distribution,
    lines: &[Line],
    shown: fn(u64) -> String,
) -> Markup {
    if values.count == 0 {
        return html! {};
    }
    // The axis extends beyond the last limit, so that the remaining room is visible.
    let last = lines.iter().map(|line| line.at).max().unwrap_or(0);
    let end = last.max(values.max);
    let axis = Axis::new(values.min.max(1) as f64 * 0.9, end as f64 * 1.15);
    let mut bars = vec![0_u64; BARS];
    for &(low, high, n) in &values.buckets {
        let middle = (low.max(1) as f64 * high.max(1) as f64).sqrt();
        let at = ((axis.share(middle) * BARS as f64) as usize).min(BARS - 1);
        bars[at] += n;
    }
    let most = bars.iter().copied().max().unwrap_or(1).max(1);
    let height = |n: u64| (1.0 + n as f64).ln() / (1.0 + most as f64).ln();
    let width = (WIDTH - LEFT - RIGHT) / BARS as f64;
    let words = format!(
        "{title}: {} values, smallest {}, median {}, 99th percentile {}, largest {}",
        text::count(values.count),
        shown(values.min),
        shown(values.p50()),
        shown(values.p99()),
        shown(values.max)
    );
    html! {
        figure .chart {
            figcaption { b { (title) } " " span .muted {
                "median " (shown(values.p50())) ", p99 " (shown(values.p99())) ", largest " (shown(values.max))
                ". " (LOG_SCALES)
            } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words) {
                title { (words) }
                @for (at, n) in bars.iter().enumerate() {
                    @if *n > 0 {
                        rect .bar x=(px(LEFT + at as f64 * width + 0.5)) y=(px(floor(height(*n))))
                            width=(px(width - 1.0)) height=(px(HEIGHT - BOTTOM - floor(height(*n)))) {
                            title { (text::count(*n)) " near " (shown(axis.value((at as f64 + 0.5) / BARS as f64) as u64)) }
                        }
                    }
                }
                (base())
                @for (line, row) in staggered(&axis, lines) {
                    (upright(axis.x(line.at as f64), line.label, row))
                }
                @for at in axis.ticks() {
                    text .tick x=(px(axis.x(at))) y=(px(HEIGHT - 8.0)) text-anchor="middle" { (shown(at as u64)) }
                }
            }
        }
    }
}

/// The growth of a quantity with the age of its document, on a logarithmic scale, with the next
/// limit and its date.
pub(crate) fn growth(
    title: &str,
    points: &[(f64, u64)],
    growth: &Growth,
    forecast: Option<&GrowthForecast>,
    shown: fn(u64) -> String,
) -> Markup {
    let oldest = points.iter().map(|p| p.0).fold(1.0, f64::max);
    let most = points.iter().map(|p| p.1).max().unwrap_or(1).max(1) as f64;
    let least = points.iter().map(|p| p.1).min().unwrap_or(1).max(1) as f64;
    let axis = Axis::new(least, most * 1.1);
    let x = |age: f64| LEFT + age / oldest * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| floor(axis.share(value.max(axis.low)));
    let pace = if growth.per_day >= 10.0 {
        shown(growth.per_day as u64)
    } else {
        format!("{:.2}", growth.per_day)
    };
    let words = format!(
        "{title}: {} documents up to {:.0} days old, {pace} more per day of age, rank correlation {:.2}{}",
        text::count(growth.rows),
        oldest,
        growth.correlation,
        forecast.map_or(String::new(), |f| format!("; {} reaches {} on {}", f.pace, f.what, f.day)),
    );
    html! {
        figure .chart {
            figcaption { b { (title) } " " span .muted {
                "+" (pace) " per day of age (median)"
                @if let Some(next) = forecast {
                    "; " (code_spans(&next.pace)) ", reaches " b { (next.what) " on " (next.day) }
                    ", counted from the newest document of " (next.counted_from)
                }
                ". The height is on a logarithmic scale."
            } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(words) {
                title { (words) }
                (base())
                @for (age, value) in points {
                    circle .dot cx=(px(x(*age))) cy=(px(y(*value as f64))) r="2.5" {}
                }
                text .tick x=(px(LEFT)) y=(px(TOP - 10.0)) { (shown(most as u64)) }
                text .tick x=(px(LEFT)) y=(px(HEIGHT - 8.0)) { "newest, from " (shown(least as u64)) }
                text .tick x=(px(WIDTH - RIGHT)) y=(px(HEIGHT - 8.0)) text-anchor="end" {
                    (format!("{oldest:.0}")) " days old"
                }
            }
        }
    }
}

/// A number for SVG: a tenth of a pixel is precise enough, and the same on every machine.
fn px(n: f64) -> String {
    format!("{n:.1}")
}

/// The y coordinate of a share.
fn floor(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
}

fn base() -> Markup {
    html! {
        line .axis x1=(px(LEFT)) x2=(px(WIDTH - RIGHT)) y1=(px(HEIGHT - BOTTOM)) y2=(px(HEIGHT - BOTTOM)) {}
    }
}

/// The limits on the axis, each with the row of its label: two close limits get different rows.
fn staggered(axis: &Axis, lines: &[Line]) -> Vec<(Line, u32)> {
    let mut out: Vec<(Line, u32)> = Vec::new();
    for line in lines.iter().filter(|line| axis.holds(line.at as f64)) {
        let is_close =
            |(before, _): &&(Line, u32)| axis.x(line.at as f64) - axis.x(before.at as f64) < LABEL;
        let row = out.last().filter(is_close).map_or(0, |(_, row)| 1 - row);
        out.push((*line, row));
    }
    out
}

fn upright(x: f64, label: &str, row: u32) -> Markup {
    let anchor = if x > WIDTH - LABEL / 2.0 { "end" } else { "middle" };
    let top = TOP - 6.0 - 12.0 * f64::from(row);
    html! {
        line .limit x1=(px(x)) x2=(px(x)) y1=(px(top)) y2=(px(HEIGHT - BOTTOM)) {}
        text .limit-label x=(px(x)) y=(px(top - 5.0)) text-anchor=(anchor) { (label) }
    }
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn new(low: f64, high: f64) -> Self {
        let low = low.max(0.5);
        // A single value still needs an axis around it.
        Self { low, high: high.max(low * 2.0) }
    }

    fn share(&self, value: f64) -> f64 {
        ((value / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    fn value(&self, share: f64) -> f64 {
        self.low * (self.high / self.low).powf(share)
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn holds(&self, value: f64) -> bool {
        value >= self.low && value <= self.high
    }

    /// Powers of two, because they suit bytes, with enough distance for their labels.
    fn ticks(&self) -> Vec<f64> {
        let first = self.low.log2().ceil() as i32;
        let last = self.high.log2().floor() as i32;
        let step = ((last - first) / 5 + 1).max(1);
        let ticks = (first..=last).step_by(step.unsigned_abs() as usize).map(|n| 2_f64.powi(n));
        // The outermost labels would be cut off.
        let edge = LABEL / 2.0;
        ticks.filter(|at| (edge..=WIDTH - edge).contains(&self.x(*at))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        Distribution {
            count: sorted.len() as u64,
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            sum: sorted.iter().sum(),
            buckets: sorted.iter().map(|&n| (n, n, 1)).collect(),
            exact: None,
        }
    }

    #[test]
    fn dm_05_1_every_limit_is_drawn() {
        let small =
            distribution("Sizes", &of(&[200, 300, 5000]), &SIZES, text::bytes).into_string();
        let large =
            distribution("Sizes", &of(&[200, 16_000_000]), &SIZES, text::bytes).into_string();
        for label in ["100 KB", "1 MB", "10 MB", "16 MB"] {
            for drawn in [&small, &large] {
                assert!(drawn.contains(&format!(">{label}<")), "{label}");
            }
        }
    }

    #[test]
    fn the_pace_behind_a_day_is_told() {
        let growth = Growth {
            correlation: 0.9,
            rows: 60,
            per_day: 0.32,
            days: 533.0,
            newest_ms: 1_700_000_000_000,
        };
        let next = GrowthForecast {
            namespace: "db.auditLog".to_owned(),
            path: None,
            what: "1,000 elements".to_owned(),
            day: "2026-05-31".to_owned(),
            pace: "the longest, by 0.81 elements a day".to_owned(),
            counted_from: "2024-06-27".to_owned(),
        };
        let points = [(1.0, 3), (533.0, 430)];
        let drawn = self::growth("x", &points, &growth, Some(&next), text::count).into_string();
        for part in [
            "+0.32 per day of age (median)",
            "the longest, by 0.81 elements a day, reaches <b>1,000 elements on 2026-05-31</b>",
            "counted from the newest document of 2024-06-27",
            "logarithmic",
        ] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
        let sizes = distribution("Sizes", &of(&[1, 9]), &SIZES, text::bytes).into_string();
        assert!(sizes.contains("Both axes are logarithmic"));
    }

    #[test]
    fn odd_distributions_are_drawn_too() {
        for values in [&[0_u64][..], &[1], &[7, 7, 7], &[0, u64::MAX / 2]] {
            let drawn = distribution("x", &of(values), &LENGTHS, text::count).into_string();
            assert!(drawn.contains("<rect") && !drawn.contains("NaN"), "{drawn}");
        }
        assert!(distribution("x", &Distribution::default(), &[], text::count).0.is_empty());
    }
}
