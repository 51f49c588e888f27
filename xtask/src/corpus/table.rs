//! Precision by rule and recall by kind, for each half, as Markdown.

use std::{collections::BTreeSet, fmt::Write};

use super::{
    findings::Row,
    labels::{self, KINDS, Label, Verdict},
    packages::{Half, Package},
};

/// Findings of one rule in one half, and their verdicts.
#[derive(Default)]
struct Precision {
    reported: usize,
    right: usize,
    wrong: usize,
    doubtful: usize,
}

impl Precision {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>, labels: &[Label]) -> Self {
        let mut out = Self::default();
        for row in rows {
            out.reported += 1;
            match labels::about(row, labels).map(|label| label.verdict) {
                Some(Verdict::True) => out.right += 1,
                Some(Verdict::False) => out.wrong += 1,
                Some(Verdict::Doubtful) => out.doubtful += 1,
                None => {}
            }
        }
        out
    }

    fn cells(&self) -> String {
        let Self { reported, right, wrong, doubtful } = *self;
        let unlabelled = reported - right - wrong - doubtful;
        let share = share(right, right + wrong);
        format!(" {reported} | {right} | {wrong} | {doubtful} | {unlabelled} | {share} |")
    }
}

/// The tables. Doubtful labels count neither for nor against.
pub(super) fn text(packages: &[Package], rows: &[Row], labels: &[Label]) -> String {
    let (loud, quiet): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.is_loud());
    format!(
        "Precision of errors and warnings of a plain run:\n\n{}\n\
         Precision of notes, and of what only `--select pedantic` reports:\n\n{}\n\
         Recall on places that were found by reading:\n\n{}",
        precision(packages, &loud, labels),
        precision(packages, &quiet, labels),
        recall(packages, rows, labels)
    )
}

fn is_in(packages: &[Package], name: &str, half: Half) -> bool {
    packages.iter().any(|package| package.name == name && package.half() == half)
}

fn precision(packages: &[Package], rows: &[&Row], labels: &[Label]) -> String {
    let mut out = "| rule | half | reported | true | false | doubtful | unlabelled | precision |\n\
                   |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    let rules: BTreeSet<&str> = rows.iter().map(|row| &*row.rule).collect();
    for rule in rules.into_iter().map(Some).chain([None]) {
        for half in Half::ALL {
            let of_rule = rows.iter().copied().filter(|row| rule.is_none_or(|r| r == row.rule));
            let of_half = of_rule.filter(|row| is_in(packages, &row.package, half));
            let precision = Precision::of(of_half, labels);
            if precision.reported > 0 {
                let name = rule.unwrap_or("**all**");
                // Writing to a string cannot fail.
                let _ = writeln!(out, "| {name} | {} |{}", half.name(), precision.cells());
            }
        }
    }
    out
}

fn recall(packages: &[Package], rows: &[Row], labels: &[Label]) -> String {
    let mut out =
        "| kind | rules | half | places | found by default | as note or pedantic | recall |\n\
                   |---|---|---|---|---|---|---|\n"
            .to_owned();
    for kind in KINDS {
        for half in Half::ALL {
            let is_counted = |label: &&Label| {
                label.kind.as_deref() == Some(kind.name)
                    && label.verdict == Verdict::True
                    && is_in(packages, &label.package, half)
            };
            let sites: Vec<&Label> = labels.iter().filter(is_counted).collect();
            if sites.is_empty() {
                continue;
            }
            let found = |is_counted: fn(&Row) -> bool| {
                let is_found = |site: &&&Label| {
                    rows.iter().any(|row| is_counted(row) && site.is_found_by(row, kind.rules))
                };
                sites.iter().filter(is_found).count()
            };
            let (loudly, at_all) = (found(Row::is_loud), found(|_| true));
            let names = if kind.rules.is_empty() { "none".into() } else { kind.rules.join(", ") };
            let _ = writeln!(
                out,
                "| {} | {names} | {} | {} | {loudly} | {} | {} |",
                kind.name,
                half.name(),
                sites.len(),
                at_all - loudly,
                share(loudly, sites.len())
            );
        }
    }
    out
}

/// Places that were found by reading and that no rule for their kind reports as an error or a warning.
pub(super) fn missed(packages: &[Package], rows: &[Row], labels: &[Label]) -> String {
    let mut out = String::new();
    for kind in KINDS {
        let is_counted = |label: &&Label| {
            label.kind.as_deref() == Some(kind.name)
                && label.verdict == Verdict::True
                && packages.iter().any(|package| package.name == label.package)
        };
        for label in labels.iter().filter(is_counted) {
            let found: Vec<&Row> =
                rows.iter().filter(|row| label.is_found_by(row, kind.rules)).collect();
            if found.iter().any(|row| row.is_loud()) {
                continue;
            }
            let note = if found.is_empty() { "" } else { " (as a note, or with pedantic)" };
            let Label { package, file, line, reason, .. } = label;
            // Writing to a string cannot fail.
            let _ = writeln!(out, "{} {package} {file}:{line}{note}: {reason}", kind.name);
        }
    }
    out
}

fn share(part: usize, whole: usize) -> String {
    let percent = (part * 100 + whole / 2).checked_div(whole);
    percent.map_or_else(|| "–".into(), |percent| format!("{percent} %"))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            labels::tests::{label, row},
            packages::Registry,
        },
        *,
    };

    fn package(name: &str) -> Package {
        Package {
            name: name.into(),
            registry: Registry::Npm,
            version: "1.0.0".into(),
            sha256: String::new(),
            python: None,
        }
    }

    #[test]
    fn counts_verdicts_and_places() {
        let packages = [package("shop")];
        let half = packages[0].half().name();
        let mut quiet = row("W020", "b.js", 5);
        quiet.severity = "info".into();
        let rows = [
            row("D020", "a.js", 1),
            row("D020", "a.js", 20),
            row("D020", "a.js", 40),
            row("D020", "a.js", 60),
            quiet,
        ];
        let labels = [
            label("\"line\":1,\"rule\":\"D020\""),
            label("\"line\":20,\"rule\":\"D020\""),
            label("\"line\":1,\"rule\":null,\"kind\":\"unbounded-append\""),
            label("\"line\":90,\"rule\":null,\"kind\":\"unbounded-append\""),
            Label {
                file: "b.js".into(),
                ..label("\"line\":5,\"rule\":null,\"kind\":\"lost-update\"")
            },
            Label { verdict: Verdict::False, ..label("\"line\":40,\"rule\":\"D020\"") },
            Label {
                verdict: Verdict::False,
                ..label("\"line\":9,\"rule\":null,\"kind\":\"lost-update\"")
            },
        ];
        let text = text(&packages, &rows, &labels);
        let has = |line: String| assert!(text.contains(&line), "{line}\n{text}");
        has(format!("| D020 | {half} | 4 | 2 | 1 | 0 | 1 | 67 % |\n"));
        has(format!("| **all** | {half} | 4 | 2 | 1 | 0 | 1 | 67 % |\n"));
        has(format!("| unbounded-append | D020, D023 | {half} | 2 | 1 | 0 | 50 % |\n"));
        has(format!("| lost-update | W020 | {half} | 1 | 0 | 1 | 0 % |\n"));
        let (warnings, notes) = text.split_once("Precision of notes").unwrap();
        assert!(!warnings.contains("\n| W020 |"), "a note is no warning\n{text}");
        assert!(
            notes.contains(&format!("\n| W020 | {half} | 1 | 1 | 0 | 0 | 0 | 100 % |\n")),
            "{text}"
        );
    }

    #[test]
    fn lists_places_that_no_warning_reports() {
        let packages = [package("shop")];
        let mut quiet = row("W020", "a.js", 5);
        quiet.severity = "info".into();
        let rows = [row("D020", "a.js", 1), quiet];
        let labels = [
            label("\"line\":1,\"rule\":null,\"kind\":\"unbounded-append\""),
            label("\"line\":90,\"rule\":null,\"kind\":\"unbounded-append\""),
            label("\"line\":5,\"rule\":null,\"kind\":\"lost-update\""),
        ];
        assert_eq!(
            missed(&packages, &rows, &labels),
            "unbounded-append shop a.js:90: grows\n\
             lost-update shop a.js:5 (as a note, or with pedantic): grows\n"
        );
        assert_eq!(missed(&[package("other")], &rows, &labels), "");
    }
}
