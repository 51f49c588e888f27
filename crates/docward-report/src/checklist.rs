//! The launch checklist as a table.

use std::fmt::Write;

use docward_model::{Report, Verdict};

use crate::{
    terminal::problems,
    text::{Paint, wrap},
};

/// One row per item: verdict, what is asked, the evidence.
pub fn checklist(report: &Report, color: bool, width: usize) -> String {
    let paint = Paint { color };
    let mut out = String::new();
    for item in &report.checklist {
        let verdict = match item.verdict {
            Verdict::Pass => paint.green("pass   "),
            Verdict::Warn => paint.yellow("warn   "),
            Verdict::Fail => paint.red("FAIL   "),
            Verdict::Unknown => paint.yellow("unknown"),
        };
        let _ = writeln!(out, "{verdict} {:<6} {}", item.id, paint.bold(item.title));
        let _ = writeln!(out, "               {}", wrap(&item.evidence, width, 15, 15));
    }
    problems(report, width, paint, &mut out);
    let of = |verdict| report.checklist.iter().filter(|i| i.verdict == verdict).count();
    let _ = writeln!(
        out,
        "\n{} pass, {} fail, {} unknown",
        of(Verdict::Pass),
        of(Verdict::Fail),
        of(Verdict::Unknown)
    );
    out
}
