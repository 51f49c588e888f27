//! Workflow commands of GitHub Actions: annotations in the log and beside the code.

use std::fmt::Write;

use docward_model::{Finding, Report, Severity, Verdict, text};

use crate::{View, text::plain};

/// GitHub shows this many annotations of a kind per step and drops the rest in silence.
const SHOWN: usize = 10;

/// One command per finding, loudest first; what GitHub would drop is counted in a last notice.
pub(crate) fn github(report: &Report, view: View) -> String {
    let mut out = String::new();
    match view {
        View::Findings => findings(report, &mut out),
        View::Checklist => {
            for item in &report.checklist {
                let (kind, open) = match item.verdict {
                    Verdict::Pass => continue,
                    Verdict::Warn => ("warning", ""),
                    Verdict::Fail if item.is_open() => ("error", ""),
                    Verdict::Fail => ("notice", "waived: "),
                    Verdict::Unknown => ("notice", "unknown: "),
                };
                let title = format!("{} {}", item.id, item.title);
                command(&mut out, kind, &[("title", &title)], &format!("{open}{}", item.evidence));
            }
        }
    }
    for problem in &report.problems {
        let text = format!("{}: {}", problem.source, problem.message);
        command(&mut out, "error", &[("title", "docward could not read everything")], &text);
    }
    out
}

fn findings(report: &Report, out: &mut String) {
    let mut dropped = Vec::new();
    for severity in Severity::ALL {
        let all = report.findings.iter().filter(|f| f.severity == severity);
        let count = all.clone().count();
        all.take(SHOWN).for_each(|found| finding(found, out));
        if count > SHOWN {
            let left = (count - SHOWN) as u64;
            dropped.push(text::plural(left, severity_noun(severity)));
        }
    }
    if !dropped.is_empty() {
        let text = format!("{} more: see the report", dropped.join(" and "));
        command(out, "notice", &[("title", "docward")], &text);
    }
}

fn severity_noun(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "note",
    }
}

fn finding(finding: &Finding, out: &mut String) {
    let kind = match finding.severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "notice",
    };
    let title = format!("{} {}", finding.rule, finding.name);
    let message = format!(
        "{}: {}\nwhy: {}\ndo: {}",
        finding.at.text(),
        finding.what,
        finding.why,
        finding.todo
    );
    let (line, column);
    let mut properties = vec![("title", title.as_str())];
    if let Some(place) = &finding.location {
        (line, column) = (place.line.to_string(), place.column.to_string());
        properties.extend([("file", place.file.as_str()), ("line", &line), ("col", &column)]);
    }
    command(out, kind, &properties, &message);
}

fn command(out: &mut String, kind: &str, properties: &[(&str, &str)], message: &str) {
    let properties: Vec<String> = properties
        .iter()
        .map(|(key, value)| {
            let value = escaped(value).replace(':', "%3A").replace(',', "%2C");
            format!("{key}={value}")
        })
        .collect();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "::{kind} {}::{}", properties.join(","), escaped(message));
}

/// Names come out of data: a line break in one must not begin a command of its own.
fn escaped(text: &str) -> String {
    plain(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    #[test]
    fn data_gives_no_commands() {
        let mut out = String::new();
        super::command(&mut out, "error", &[("title", "a:b,c")], "x\n::set-output name=a::b %");
        assert_eq!(out, "::error title=a%3Ab%2Cc::x%0A::set-output name=a::b %25\n");
    }
}
