//! The launch checklist as a table.

use std::fmt::Write;

use docward_model::{Report, SourceKind, Verdict, text};

use crate::{
    terminal::problems,
    terminal_options::TerminalOptions,
    text::{Paint, line, wrap},
};

/// A heading, one row per item (verdict, requirement, evidence), and the counts.
pub(crate) fn checklist(report: &Report, options: &TerminalOptions) -> String {
    let (paint, width) = (Paint { color: options.color }, options.width);
    let mut out = String::new();
    if !options.quiet {
        heading(report, paint, &mut out);
    }
    for item in &report.checklist {
        let verdict = match item.verdict {
            Verdict::Pass => paint.green("pass   "),
            Verdict::NotApplicable => paint.dim("n/a    "),
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
    let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let items = report.checklist.iter();
        let count = items.filter(|i| i.verdict == verdict && i.waiver.is_none()).count();
        // Verdicts that decide about a launch are shown even if their count is 0.
        let is_shown = count > 0 || matches!(verdict, Verdict::Pass | Verdict::Fail);
        is_shown.then(|| format!("{} {}", text::count(count as u64), verdict.name()))
    });
    let waived = report.checklist.iter().filter(|item| item.waiver.is_some()).count() as u64;
    let waived = (waived > 0).then(|| format!("{} waived", text::count(waived)));
    let _ = writeln!(out, "\n{}", counts.chain(waived).collect::<Vec<_>>().join(", "));
    if !options.quiet {
        let _ = writeln!(out, "{}", paint.dim(&next(report)));
    }
    out
}

/// The inputs that were read, and the profile.
fn heading(report: &Report, paint: Paint, out: &mut String) {
    let named = report.sources.iter().filter(|source| source.kind != SourceKind::Workload);
    let names: Vec<String> = named.map(|source| line(&source.name)).collect();
    let of = match names.as_slice() {
        [] => String::new(),
        [one] => format!(" of {one}"),
        [first, rest @ ..] => format!(" of {first} and {} more", rest.len()),
    };
    let bytes: u64 = report.sources.iter().map(|source| source.bytes).sum();
    let _ = writeln!(
        out,
        "{} checklist{of}: {} in {}, {}, {} profile",
        paint.bold("docward"),
        text::plural(report.documents(), "document"),
        text::plural(report.evidence.collections.len() as u64, "collection"),
        text::bytes(bytes),
        report.profile.name(),
    );
    for server in report.sources.iter().filter_map(|source| source.server.as_deref()) {
        let _ = writeln!(out, "{}", paint.dim(server));
    }
    if report.interrupted {
        let note = "interrupted: the verdicts are based on the documents read so far";
        let _ = writeln!(out, "{}", paint.yellow(note));
    } else if report.sources.iter().any(|source| source.sampled) {
        let _ = writeln!(
            out,
            "{}",
            paint.dim(
                "the verdicts are based on a sample (--full reads \
         all documents)"
            )
        );
    }
    out.push('\n');
}

/// The first step for the open items.
fn next(report: &Report) -> String {
    let of = |verdict| {
        report.checklist.iter().find(|item| item.verdict == verdict && item.waiver.is_none())
    };
    if !report.problems.is_empty() {
        return "next: fix the problems above, then run again".to_owned();
    }
    match of(Verdict::Fail).or_else(|| of(Verdict::Warn)) {
        Some(item) => format!("next: docward explain {}", item.id),
        None => match of(Verdict::Unknown) {
            Some(item) => format!(
                "next: docward explain {}; sign off items that only people can answer under \
                 [[waive]]",
                item.id
            ),
            None => "next: --format html --output FILE writes a list to sign".to_owned(),
        },
    }
}
