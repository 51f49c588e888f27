//! Formats pool plans and choices of a connection method.

mod choose;
pub(crate) mod plan;
mod plot;

pub use choose::choice;
pub use plan::{PlanReport, plan_fails};
pub(crate) use plan::{pool_text, scenario_columns, service_columns, subject};

use docward_connect::{Gravity, Verdict};

use crate::text::Paint;

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
