//! The launch checklist as a table.

use std::fmt::Write;

use docward_model::{Report, Verdict, text};

use crate::{
    terminal::{TerminalOptions, problems},
    text::{Paint, wrap},
};

/// One row per item: verdict, what is asked, the evidence.
pub(crate) fn checklist(report: &Report, options: &TerminalOptions) -> String {
    let (paint, width) = (Paint { color: options.color }, options.width);
    let mut out = String::new();
    for item in &report.checklist {
        let verdict = match item.verdict {
            Verdict::Pass => paint.green("pass   "),
            _ if item.waiver.is_some() => paint.yellow("waived "),
            Verdict::Warn => paint.yellow("warn   "),
            Verdict::Fail => paint.red("FAIL   "),
            Verdict::Unknown => paint.yellow("unknown"),
        };
        let _ = writeln!(out, "{verdict} {:<6} {}", item.id, paint.bold(&item.title));
        let _ = writeln!(out, "               {}", wrap(&item.evidence, width, 15, 15));
        if let Some(waiver) = &item.waiver {
            let text = wrap(&waiver.text(), width, 15, 15);
            let _ = writeln!(out, "               {}", paint.dim(&text));
        }
    }
    problems(report, width, paint, &mut out);
    let of = |verdict| {
        let items = report.checklist.iter();
        items.filter(|item| item.verdict == verdict && item.waiver.is_none()).count()
    };
    let waived = report.checklist.iter().filter(|item| item.waiver.is_some()).count();
    let waived =
        if waived > 0 { format!(", {} waived", text::count(waived as u64)) } else { String::new() };
    let _ = writeln!(
        out,
        "\n{} pass, {} fail, {} unknown{waived}",
        of(Verdict::Pass),
        of(Verdict::Fail),
        of(Verdict::Unknown)
    );
    out
}
