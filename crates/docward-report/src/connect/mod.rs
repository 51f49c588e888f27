//! Plans of pools and choices of a method, in the shapes they can have.

mod choose;
mod plan;
mod plot;

pub use choose::choice;
pub(crate) use plan::{Column, pool_text, scenario_columns, service_columns, subject};
pub use plan::{PlanReport, plan_fails, plan_report};

use docward_connect::{Gravity, Verdict};

use crate::text::Paint;

/// The shapes of a plan or a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "formats by their usual names")]
pub enum Shape {
    Terminal,
    Json,
    Markdown,
    Html,
}

/// How the terminal looks.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Colours or none.
    pub color: bool,
    /// Columns.
    pub width: usize,
}

fn verdict(paint: Paint, verdict: Verdict) -> String {
    match verdict {
        Verdict::Fits => paint.green(verdict.name()),
        Verdict::OverBudget => paint.red(&verdict.name().to_uppercase()),
        Verdict::OverLimit => paint.red(&verdict.name().to_uppercase()),
    }
}

fn gravity(paint: Paint, gravity: Gravity) -> String {
    let word = format!("{:<9}", gravity.name());
    match gravity {
        Gravity::Critical | Gravity::Violation => paint.red(&word.to_uppercase()),
        Gravity::Warning => paint.yellow(&word),
        Gravity::Note => paint.blue(&word),
    }
}

/// A table for the terminal: the first column to the left, the others to the right or as told.
pub(crate) fn table(rows: &[Vec<String>], left: &[usize], indent: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (at, text) in row.iter().enumerate() {
            let gap = " ".repeat(widths[at].saturating_sub(text.chars().count()));
            if at > 0 {
                line.push_str("  ");
            }
            if left.contains(&at) {
                line.push_str(text);
                line.push_str(&gap);
            } else {
                line.push_str(&gap);
                line.push_str(text);
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
