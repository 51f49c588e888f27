//! Formats a report as Markdown for a pull request comment: highest severity first, long lists
//! folded, and within the size limit.

use std::{collections::BTreeMap, fmt::Write};

use docward_model::{Change, Finding, Known, Report, Severity, Verdict, text};

use crate::{
    View, ranking,
    text::{plain, seen, summary},
};

/// GitHub accepts 65,536 characters in a comment; GitLab a million.
const LONGEST: usize = 60_000;
/// The maximum number of entries in the lists after the findings.
const LISTED: usize = 30;
/// With more findings than this, only errors are written out.
const SHORT_REPORT: usize = 25;
/// With more findings of one rule than this, each is folded into one line.
const WRITTEN_OUT: usize = 3;

/// The report as a comment.
pub(crate) fn markdown(report: &Report, view: View) -> String {
    match view {
        View::Findings => findings(report),
        View::Checklist => {
            let mut out = String::from("## Docward checklist\n\n");
            checklist(report, &mut out);
            problems(report, &mut out);
            out
        }
    }
}

fn findings(report: &Report) -> String {
    let mut out = match &report.against {
        Some(model) => format!("## Docward: check of {}\n\n", crate::text::line(model)),
        None => String::from("## Docward\n\n"),
    };
    let _ = writeln!(out, "{}\n", summary(report));
    problems(report, &mut out);
    let mut left_out = 0;
    for severity in Severity::ALL {
        let found: Vec<&Finding> =
            ranking::readable(report).filter(|f| f.severity == severity).collect();
        if found.is_empty() {
            continue;
        }
        let title = match severity {
            Severity::Error => "Errors",
            Severity::Warn => "Warnings",
            Severity::Info => "Notes",
        };
        let _ = writeln!(out, "### {title} ({})\n", text::count(found.len() as u64));
        let in_full = match severity {
            Severity::Error => true,
            Severity::Warn => ranking::readable(report).count() <= SHORT_REPORT,
            Severity::Info => false,
        };
        left_out += section(report, &found, in_full, &mut out);
    }
    fixed(report, &mut out);
    suppressions(report, &mut out);
    notes(report, &mut out);
    if !report.checklist.is_empty() && out.len() < LONGEST {
        let open = report.checklist.iter().filter(|item| item.is_open()).count() as u64;
        let mut table = String::new();
        checklist(report, &mut table);
        folded(&format!("Checklist: {}", text::plural(open, "open item")), &table, &mut out);
    }
    if left_out > 0 {
        let all = text::plural(left_out, "finding");
        let _ = writeln!(out, "_{all} more are not shown; `--format json` has all._");
    }
    out
}

/// Writes findings rule by rule, and returns how many did not fit. Findings that do not fit in full
/// may fit as lines.
fn section(report: &Report, found: &[&Finding], wants_full: bool, out: &mut String) -> u64 {
    let mut by_rule: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    let mut order = Vec::new();
    for finding in found {
        let same = by_rule.entry(&finding.rule).or_default();
        if same.is_empty() {
            order.push(&*finding.rule);
        }
        same.push(finding);
    }
    let is_folded = found[0].severity == Severity::Info;
    let mut left_out = Vec::new();
    let mut body = String::new();
    for rule in order {
        let same = &by_rule[rule];
        let room = LONGEST.saturating_sub(out.len() + body.len());
        let fits = |part: &String| part.len() <= room;
        let full = Some(in_full(report, same)).filter(|part| wants_full && fits(part));
        let (part, shown) = match full {
            Some(part) => (part, same.len()),
            // No rule takes all the room, so that the next ones are also shown.
            None => as_lines(same, room / 4, !is_folded),
        };
        body.push_str(&part);
        if shown < same.len() {
            left_out.push((rule, (same.len() - shown) as u64));
        }
    }
    if !left_out.is_empty() {
        let rules: Vec<String> =
            left_out.iter().map(|(rule, n)| format!("{rule} ({})", text::count(*n))).collect();
        let _ = writeln!(body, "Not shown, to limit the length: {}\n", rules.join(", "));
    }
    if is_folded {
        folded("Show", &body, out);
    } else {
        out.push_str(&body);
    }
    left_out.iter().map(|(_, n)| n).sum()
}

fn in_full(report: &Report, same: &[&Finding]) -> String {
    let mut part = String::new();
    for finding in same.iter().take(WRITTEN_OUT) {
        written_out(report, finding, &mut part);
    }
    let rest: Vec<String> = same.iter().skip(WRITTEN_OUT).map(|f| line(f)).collect();
    if !rest.is_empty() {
        let more = format!("{}: {} more", same[0].rule, text::count(rest.len() as u64));
        folded(&more, &rest.join("\n"), &mut part);
    }
    part
}

/// Findings of a rule as lines, as many as fit, and their number. Long lists are folded, unless
/// they are inside a folded one.
fn as_lines(same: &[&Finding], room: usize, folds: bool) -> (String, usize) {
    let mut lines = String::new();
    let mut shown = 0;
    // The text around the lines.
    let room = room.saturating_sub(200);
    for finding in same {
        let line = line(finding);
        if lines.len() + line.len() > room {
            break;
        }
        lines.push_str(&line);
        lines.push('\n');
        shown += 1;
    }
    if shown == 0 {
        return (String::new(), 0);
    }
    let (rule, name) = (&same[0].rule, &same[0].name);
    if !folds || shown <= WRITTEN_OUT {
        return (format!("**{rule} {name}**\n{lines}\n"), shown);
    }
    let mut part = String::new();
    let of = match shown == same.len() {
        true => text::count(shown as u64),
        false => format!("{} of {}", text::count(shown as u64), text::count(same.len() as u64)),
    };
    folded(&format!("{rule} {name}: {of}"), &lines, &mut part);
    (part, shown)
}

fn line(finding: &Finding) -> String {
    format!("- {}: {}", code(&finding.place()), escaped(&finding.what))
}

fn written_out(report: &Report, finding: &Finding, out: &mut String) {
    let change = match report.compared.as_ref().map(|compared| compared.change(finding)) {
        Some(Change::New) => " (new)".to_owned(),
        Some(Change::Worse(before)) => format!(" (was {before})"),
        Some(Change::Changed(before)) => format!(" (before: {})", escaped(before)),
        Some(Change::NotLookedFor) => " (not checked before)".to_owned(),
        Some(Change::Same) | None => String::new(),
    };
    let place = match &finding.location {
        Some(place) => format!("{}:{}", place.file, place.line),
        None => finding.at.text(),
    };
    let _ = writeln!(
        out,
        "**{} {}** {}{change}<br>\n{}\n- why: {}\n- do: {}",
        finding.rule,
        finding.name,
        code(&place),
        escaped(&finding.what),
        escaped(&finding.why),
        escaped(&finding.todo),
    );
    if report.show_values && !finding.examples.is_empty() {
        let examples: Vec<String> = finding.examples.iter().map(|e| code(e)).collect();
        let _ = writeln!(out, "- e.g. {}", examples.join(" "));
    }
    let mut rests_on = vec![seen(&finding.seen)];
    rests_on.extend((!finding.clauses.is_empty()).then(|| finding.clauses.join(" ")));
    let _ = writeln!(out, "- {}", rests_on.join(" · "));
    out.push('\n');
    if let Some(fix) = &finding.fix {
        folded("Command", &fenced(&fix.command()), out);
    }
}

fn fixed(report: &Report, out: &mut String) {
    let Some(compared) = &report.compared else { return };
    let lines = |known: &[Known]| -> String {
        let line = |k: &Known| format!("- {} {} {}", k.rule, k.name, code(&k.at.text()));
        let mut lines = known.iter().take(LISTED).map(line).collect::<Vec<_>>().join("\n") + "\n";
        more(known.len(), &mut lines);
        lines
    };
    if !compared.fixed.is_empty() && out.len() < LONGEST {
        let count = text::count(compared.fixed.len() as u64);
        folded(&format!("Fixed ({count})"), &lines(&compared.fixed), out);
    }
}

fn suppressions(report: &Report, out: &mut String) {
    if report.suppressions.is_empty() {
        return;
    }
    let lines: Vec<String> = report
        .suppressions
        .iter()
        .take(LISTED)
        .map(|used| {
            let until = used.expires.as_ref().map_or(String::new(), |day| format!(", until {day}"));
            let found = text::plural(used.findings, "finding");
            format!("- {}: {found}{until}: {}", code(&used.about), escaped(&used.reason))
        })
        .collect();
    let mut lines = lines.join("\n") + "\n";
    more(report.suppressions.len(), &mut lines);
    folded("Suppressed", &lines, out);
}

/// Writes the number of list entries that are left out.
fn more(of: usize, out: &mut String) {
    if of > LISTED {
        let _ = writeln!(out, "- and {} more", text::count((of - LISTED) as u64));
    }
}

fn problems(report: &Report, out: &mut String) {
    let obstacles = report.obstacles();
    if obstacles.is_empty() {
        return;
    }
    let _ = writeln!(out, "### Not read in full\n");
    for problem in obstacles.iter().take(LISTED) {
        let message = shortened(&problem.message, 400);
        let _ = writeln!(out, "- {}: {}", code(&problem.source), escaped(&message));
    }
    more(obstacles.len(), out);
    out.push('\n');
}

fn notes(report: &Report, out: &mut String) {
    let notes = &report.evidence.notes;
    if notes.is_empty() {
        return;
    }
    let mut lines = String::new();
    for note in notes.iter().take(LISTED) {
        let _ = writeln!(lines, "- {}", escaped(&shortened(note, 400)));
    }
    more(notes.len(), &mut lines);
    folded("Notes", &lines, out);
}

fn checklist(report: &Report, out: &mut String) {
    out.push_str("| | item | evidence | signed off |\n|---|---|---|---|\n");
    for item in &report.checklist {
        let verdict = match item.verdict {
            Verdict::Pass => "✅ pass",
            Verdict::Warn => "⚠️ warn",
            Verdict::Fail => "❌ fail",
            Verdict::Unknown => "❔ unknown",
            Verdict::NotApplicable => "➖ n/a",
        };
        let waiver = item.waiver.as_ref().map_or(String::new(), |waiver| waiver.text());
        let _ = writeln!(
            out,
            "| {verdict} | {} {} | {} | {} |",
            item.id,
            cell(&item.title),
            cell(&item.evidence),
            cell(&waiver)
        );
    }
    out.push('\n');
}

fn folded(title: &str, body: &str, out: &mut String) {
    let title = escaped(title);
    let _ =
        writeln!(out, "<details><summary>{title}</summary>\n\n{}\n\n</details>\n", body.trim_end());
}

/// A fenced block that backticks in the text cannot end.
fn fenced(command: &str) -> String {
    let command = plain(command);
    let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}js\n{command}\n{fence}")
}

/// A code span that backticks in the text cannot end.
fn code(text: &str) -> String {
    let text = shortened(&plain(text).replace('\n', " "), 300);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    match longest {
        0 => format!("`{text}`"),
        _ => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

/// Shortens long names in the middle.
fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let part = longest / 2;
    let begin: String = text.chars().take(part).collect();
    let end: Vec<char> = text.chars().rev().take(part).collect();
    format!("{begin}…{}", end.into_iter().rev().collect::<String>())
}

/// Escapes text for a table cell.
pub(crate) fn cell(text: &str) -> String {
    escaped(text).replace('|', "\\|")
}

/// Escapes text except for code spans. Names come from data, and must not become tags or mention
/// users. A span is the text between two single backticks; other backticks are literals.
pub(crate) fn escaped(text: &str) -> String {
    let text = plain(text).replace('\n', " ");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('`') {
        letters(&rest[..at], &mut out);
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let after = &rest[at + run..];
        let end = after
            .find('`')
            .filter(|end| run == 1 && *end > 0 && !after[end + 1..].starts_with('`'));
        match end {
            Some(end) => {
                out.push_str(&format!("`{}`", &after[..end]));
                rest = &after[end + 1..];
            }
            None => {
                out.push_str(&"&#96;".repeat(run));
                rest = after;
            }
        }
    }
    letters(rest, &mut out);
    out
}

/// Escapes characters with a special meaning.
fn letters(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // A zero-width character prevents a mention.
            '@' => out.push_str("@\u{2060}"),
            '*' | '_' | '[' | ']' | '#' | '~' | '\\' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_becomes_neither_markup_nor_a_mention() {
        assert_eq!(escaped("`a*b` <img> @all *x*"), "`a*b` &lt;img&gt; @\u{2060}all \\*x\\*");
        assert_eq!(escaped("a ` b"), "a &#96; b");
        assert_eq!(escaped("```<img>`` `x`"), "&#96;&#96;&#96;&lt;img&gt;&#96;&#96; `x`");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("a``<b>``"), "``` a``<b>`` ```");
        assert!(fenced("x ``` y").starts_with("````js"));
    }
}
