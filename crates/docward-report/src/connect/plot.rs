//! Draws the share of the limit against the number of applications, as text.

use docward_connect::share_text;
use docward_model::text;

/// The number of rows of the chart.
const ROWS: usize = 11;

/// A chart with lines at 80 % and 100 %, each row indented. `mark` is the current number of
/// applications.
pub(super) fn plot(curve: &[(u64, f64)], mark: u64, indent: usize) -> String {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return String::new() };
    // The lines at 80 % and 100 % must stay separate; values above the chart are cut off and
    // marked.
    let top = last.1.clamp(1.1, 2.0);
    let row_of = |share: f64| {
        let from_below = (share / top * (ROWS - 1) as f64).round() as usize;
        (ROWS - 1).checked_sub(from_below)
    };
    let (limit, budget) = (row_of(1.0), row_of(0.8));
    let above = curve.iter().position(|(_, share)| row_of(*share).is_none());
    let today = curve.iter().rposition(|(apps, _)| *apps <= mark);
    let mut out = String::new();
    for row in 0..ROWS {
        let label = match row {
            _ if Some(row) == limit => "100 %".to_owned(),
            _ if Some(row) == budget => "80 %".to_owned(),
            0 => format!("{:.0} %", top * 100.0),
            _ if row == ROWS - 1 => "0 %".to_owned(),
            _ => String::new(),
        };
        let mut line = format!("{}{label:>6} ", " ".repeat(indent));
        line.push(if label.is_empty() { '│' } else { '┤' });
        for (at, (_, share)) in curve.iter().enumerate() {
            let is_above = row == 0 && row_of(*share).is_none();
            line.push(match () {
                () if (row_of(*share) == Some(row) || is_above) && Some(at) == today => '◆',
                () if row_of(*share) == Some(row) => '•',
                () if is_above => '↑',
                () if Some(row) == limit || Some(row) == budget => '┄',
                () => ' ',
            });
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let pad = " ".repeat(indent + 7);
    out.push_str(&format!("{pad}└{}\n", "─".repeat(curve.len())));
    let (from, to) = (text::count(first.0), text::plural(last.0, "application"));
    let gap = curve.len().saturating_sub(from.chars().count() + to.chars().count()).max(1);
    out.push_str(&format!("{pad} {from}{}{to}\n", " ".repeat(gap)));
    if let Some((apps, _)) = above.and_then(|at| curve.get(at)) {
        out.push_str(&format!(
            "{pad} ↑ above {:.0} % from {} on; {} with {}\n",
            top * 100.0,
            text::plural(*apps, "application"),
            share_text(last.1),
            text::plural(last.0, "application"),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_and_today_are_drawn() {
        let curve: Vec<(u64, f64)> = (1..=30).map(|n| (n, n as f64 / 20.0)).collect();
        let drawn = plot(&curve, 20, 2);
        for part in ["80 %", "100 %", "150 %", "◆", "30 applications"] {
            assert!(drawn.contains(part), "{part}\n{drawn}");
        }
        assert_eq!(drawn.matches('◆').count(), 1);
        let high = plot(&[(1, 0.5), (2, 3.0), (3, 50.0)], 3, 0);
        assert!(high.contains("↑ above 200 % from 2 applications on; 5000.0 % with 3"), "{high}");
        assert!(high.contains("↑◆"), "{high}");
        assert!(plot(&[(1, 50.0), (2, 1e30)], 1, 0).contains("200 %"));
        assert_eq!(plot(&[], 1, 0), "");
    }
}
