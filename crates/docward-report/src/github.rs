//! Formats findings as workflow commands of GitHub Actions: annotations in the log and next to the
//! code.

use std::fmt::Write;

use docward_model::{Finding, Report, Severity, Verdict, text};

use crate::{
    View, ranking,
    text::{change, checkout_path, place_before, plain},
};

/// The number of annotations of each kind that GitHub shows per step; it silently drops the rest.
const SHOWN: usize = 10;

/// Problems first, then one command per finding, highest severity first. A final notice counts the
/// ones that GitHub would drop.
pub(crate) fn github(report: &Report, view: View) -> String {
    let mut out = String::new();
    let obstacles = report.obstacles();
    let title = [("title", "docward could not read everything")];
    for problem in obstacles.iter().take(SHOWN / 2) {
        command(&mut out, "error", &title, &format!("{}: {}", problem.source, problem.message));
    }
    let more = obstacles.len().saturating_sub(SHOWN / 2);
    if more > 0 {
        command(&mut out, "warning", &title, &format!("{more} more problems: see the report"));
    }
    match view {
        View::Findings => findings(report, obstacles.len().min(SHOWN / 2), &mut out),
        View::Checklist => checklist(report, &mut out),
    }
    out
}

fn checklist(report: &Report, out: &mut String) {
    for item in &report.checklist {
        let (kind, word) = match (item.verdict, &item.waiver) {
            (Verdict::Pass | Verdict::NotApplicable, _) => continue,
            (_, Some(_)) => ("notice", ""),
            (Verdict::Warn, None) => ("warning", ""),
            (Verdict::Fail, None) => ("error", ""),
            (Verdict::Unknown, None) => ("notice", "unknown: "),
        };
        let waiver = item.waiver.as_ref().map_or(String::new(), |w| format!("; {}", w.text()));
        let title = format!("{} {}", item.id, item.title);
        command(out, kind, &[("title", &title)], &format!("{word}{}{waiver}", item.evidence));
    }
}

fn findings(report: &Report, errors_before: usize, out: &mut String) {
    let mut rest = Vec::new();
    for severity in Severity::ALL {
        // The maximum number of annotations of each kind that GitHub shows. One is reserved for the
        // final notice.
        let room = match severity {
            Severity::Error => SHOWN - errors_before,
            Severity::Warn => SHOWN - 1,
            Severity::Info => SHOWN - 1,
        };
        let all = ranking::readable(report).filter(|f| f.severity == severity);
        let count = all.clone().count();
        all.take(room).for_each(|found| finding(report, found, out));
        if count > room {
            let left = (count - room) as u64;
            rest.push(format!("{} more", text::plural(left, severity_noun(severity))));
        }
    }
    if let Some(compared) = report.compared.as_ref().filter(|compared| !compared.fixed.is_empty()) {
        rest.push(format!("{} fixed", text::count(compared.fixed.len() as u64)));
    }
    if report.suppressed > 0 {
        rest.push(format!("{} suppressed", text::count(report.suppressed)));
    }
    if !rest.is_empty() {
        let text = format!("{}: see the report", rest.join(", "));
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

fn finding(report: &Report, finding: &Finding, out: &mut String) {
    // Known findings do not fail the run.
    let is_known = !report.fails(finding, Some(Severity::Info));
    let kind = match finding.severity {
        _ if is_known => "notice",
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Info => "notice",
    };
    let title = format!("{} {}{}", finding.rule, finding.name, change(report, finding));
    let message = format!(
        "{}{}\nwhy: {}\ndo: {}",
        place_before(finding),
        finding.what,
        finding.why,
        finding.todo
    );
    let (file, line, column);
    let mut properties = vec![("title", title.as_str())];
    if let Some(place) = &finding.location {
        file = checkout_path(report, &place.file);
        (line, column) = (place.line.to_string(), place.column.to_string());
        properties.extend([("file", file.as_str()), ("line", &line), ("col", &column)]);
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

/// Names come from data: a line break in one must not start another command.
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
