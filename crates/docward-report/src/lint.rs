//! Formats findings in source code for people: one place per paragraph, with its line, like
//! compiler messages.

use std::{collections::BTreeMap, fmt::Write};

use docward_model::{
    Applicability, Excerpt, Finding, Location, Report, Severity, Site, SourceKind, text,
};

use crate::{
    overview,
    terminal::problems,
    terminal_options::{Detail, TerminalOptions},
    text::{Paint, change, line, summary, wrap},
};

/// The indentation of a paragraph.
const INDENT: usize = 4;
/// The maximum number of rules that the summary names.
const RULES_SHOWN: usize = 8;
/// The maximum number of fixed findings listed.
const FIXED_SHOWN: usize = 10;

/// Returns whether a report covers only source code.
pub(crate) fn is_about_code(report: &Report) -> bool {
    !report.sources.is_empty() && report.sources.iter().all(|s| s.kind == SourceKind::Code)
}

/// The report as text.
pub(crate) fn lint(report: &Report, options: &TerminalOptions, site: &Site) -> String {
    if options.detail == Detail::Statistics {
        return overview::statistics(report, options);
    }
    let page = Page { report, options, site, paint: Paint { color: options.color } };
    let mut out = String::new();
    if !options.quiet {
        page.header(&mut out);
        for severity in Severity::ALL {
            page.section(severity, &mut out);
        }
    }
    // The reason of a failure is always printed, even if other findings are left out.
    problems(report, options.width, page.paint, &mut out);
    if !options.quiet {
        page.fixed(&mut out);
    }
    page.summary(&mut out);
    out
}

struct Page<'a> {
    report: &'a Report,
    options: &'a TerminalOptions,
    site: &'a Site,
    paint: Paint,
}

impl Page<'_> {
    fn header(&self, out: &mut String) {
        let names: Vec<String> = self.report.sources.iter().map(|s| line(&s.name)).collect();
        let shown = match names.as_slice() {
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
            [] => "nothing".to_owned(),
        };
        let files: u64 = self.report.sources.iter().map(|s| s.documents).sum();
        let bytes: u64 = self.report.sources.iter().map(|s| s.bytes).sum();
        let _ = writeln!(
            out,
            "{} lint of {shown}: {}, {}, {} profile",
            self.paint.bold("docward"),
            text::plural(files, "file"),
            text::bytes(bytes),
            self.report.profile.name(),
        );
        if self.report.interrupted {
            let note = "interrupted: the report covers what was read so far";
            let _ = writeln!(out, "{}", self.paint.yellow(note));
        }
    }

    /// Notes are printed only on request.
    fn is_shown(&self, finding: &Finding) -> bool {
        let is_asked = !self.options.show.is_empty() || self.options.detail == Detail::Full;
        self.options.shows(finding) && (is_asked || finding.severity > Severity::Info)
    }

    fn section(&self, severity: Severity, out: &mut String) {
        let all = self.report.findings.iter().filter(|f| f.severity == severity);
        let shown: Vec<&Finding> = all.filter(|finding| self.is_shown(finding)).collect();
        if shown.is_empty() {
            return;
        }
        let title = match severity {
            Severity::Error => self.paint.red("ERRORS"),
            Severity::Warn => self.paint.yellow("WARNINGS"),
            Severity::Info => self.paint.blue("NOTES"),
        };
        let _ = writeln!(out, "\n{title} ({})", shown.len());
        for finding in shown {
            out.push('\n');
            self.finding(finding, out);
        }
    }

    fn finding(&self, finding: &Finding, out: &mut String) {
        let code = match finding.severity {
            Severity::Error => self.paint.red(&finding.rule),
            Severity::Warn => self.paint.yellow(&finding.rule),
            Severity::Info => self.paint.blue(&finding.rule),
        };
        let place = line(&finding.place());
        let best = finding.edits.iter().map(|edit| edit.applicability).min();
        let mark = if best == Some(Applicability::Safe) { " [*]" } else { "" };
        let change = change(self.report, finding);
        let name = format!("{}{mark}{change}", finding.name);
        // Measured without colours, which have no width.
        let used = format!("{place}: {} {name}: ", finding.rule).chars().count();
        let what = wrap(&finding.what, self.options.width, used, INDENT);
        let what = match used + finding.what.split(' ').next().unwrap_or("").chars().count() {
            // After a long path the text begins on a separate line.
            first if first > self.options.width => {
                let rest = wrap(&finding.what, self.options.width, INDENT, INDENT);
                format!("\n{:INDENT$}{rest}", "")
            }
            _ => format!(" {what}"),
        };
        let _ = writeln!(out, "{}: {code} {name}:{what}", self.paint.bold(&place));
        if let Some(excerpt) = &finding.excerpt {
            self.excerpt(excerpt, finding.location.as_ref(), out);
        }
        let is_other = |at: &&Location| {
            let first = finding.location.as_ref();
            first.is_none_or(|first| (&first.file, first.line) != (&at.file, at.line))
        };
        let others = finding.locations.iter().filter(is_other);
        let others: Vec<String> = others.map(|at| other(finding, at)).collect();
        if !others.is_empty() {
            self.paragraph("also: ", &others.join(", "), out);
        }
        let todo = match best {
            Some(Applicability::Unsafe) => {
                format!("{} (unsafe fix available)", finding.todo)
            }
            _ => finding.todo.clone(),
        };
        self.paragraph("fix: ", &todo, out);
        self.paragraph("why: ", &finding.why, out);
    }

    /// The line of the place, and a caret under the column.
    fn excerpt(&self, excerpt: &Excerpt, at: Option<&Location>, out: &mut String) {
        let number = at.map(|at| at.line.to_string()).unwrap_or_default();
        let gutter = number.chars().count().max(3);
        let room = self.options.width.saturating_sub(INDENT + gutter + 3).max(20);
        let (shown, caret) = cut(excerpt, room);
        let bar = self.paint.dim("|");
        let _ = writeln!(
            out,
            "{:INDENT$}{} {bar} {shown}",
            "",
            self.paint.dim(&format!("{number:>gutter$}"))
        );
        let _ = writeln!(
            out,
            "{:INDENT$}{:gutter$} {bar} {:caret$}{}",
            "",
            "",
            "",
            self.paint.bold("^")
        );
    }

    fn paragraph(&self, label: &str, text: &str, out: &mut String) {
        let used = INDENT + label.chars().count();
        let body = wrap(text, self.options.width, used, INDENT + 2);
        let _ = writeln!(out, "{:INDENT$}{}{body}", "", self.paint.dim(label));
    }

    /// Findings of the baseline that are gone.
    fn fixed(&self, out: &mut String) {
        let compared = self.report.compared.iter();
        let fixed: Vec<_> = compared.flat_map(|compared| &compared.fixed).collect();
        if fixed.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{} ({})", self.paint.green("FIXED"), fixed.len());
        let shown = if self.options.detail == Detail::Full { fixed.len() } else { FIXED_SHOWN };
        for known in fixed.iter().take(shown) {
            let what = line(&known.what);
            let _ = writeln!(out, "  {} {} {what}", self.paint.green(&known.rule), known.name);
        }
        if fixed.len() > shown {
            let more = format!("and {} more (--verbose lists all)", fixed.len() - shown);
            let _ = writeln!(out, "  {}", self.paint.dim(&more));
        }
    }

    fn summary(&self, out: &mut String) {
        let line = summary(self.report);
        let line = match (self.report.count(Severity::Error), self.report.count(Severity::Warn)) {
            (0, 0) => line,
            (0, _) => self.paint.yellow(&line),
            _ => self.paint.red(&line),
        };
        let _ = writeln!(out, "\n{line}");
        if self.options.quiet {
            return;
        }
        let mut lines = Vec::new();
        lines.extend(self.by_rule());
        lines.extend(self.fixes());
        let is_hidden = |f: &&Finding| f.severity == Severity::Info && !self.is_shown(f);
        let hidden = self.report.findings.iter().filter(is_hidden).count() as u64;
        if hidden > 0 {
            lines.push(format!(
                "{} hidden; --verbose or --show note prints {}",
                text::plural(hidden, "note"),
                text::form(hidden, "it", "them")
            ));
        }
        for used in self.report.suppressions.iter().filter(|used| used.findings > 0) {
            let until = used.expires.as_ref().map_or(String::new(), |day| format!(" until {day}"));
            lines.push(format!(
                "suppressed{until}: {} ({}): {}",
                used.about,
                text::plural(used.findings, "finding"),
                used.reason
            ));
        }
        lines.extend(self.report.evidence.notes.iter().cloned());
        lines.extend(self.next_command());
        for line in lines {
            let _ = writeln!(out, "{}", self.paint.dim(&wrap(&line, self.options.width, 0, 2)));
        }
    }

    /// The rules with the most findings: `by rule: D020 ×4, S020 ×2`.
    fn by_rule(&self) -> Option<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in self.report.findings.iter().filter(|f| f.severity > Severity::Info) {
            *counts.entry(&finding.rule).or_default() += 1;
        }
        let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
        counts.sort_by_key(|(rule, count)| (std::cmp::Reverse(*count), *rule));
        let rest = counts.len().saturating_sub(RULES_SHOWN);
        let named: Vec<String> = counts
            .iter()
            .take(RULES_SHOWN)
            .map(|(rule, count)| format!("{rule} ×{count}"))
            .collect();
        let more = match rest {
            0 => String::new(),
            n => format!(" and {n} more {}", text::form(n as u64, "rule", "rules")),
        };
        let is_telling = counts.len() > 1 && counts.iter().any(|(_, count)| *count > 1);
        is_telling.then(|| format!("by rule: {}{more}", named.join(", ")))
    }

    fn fixes(&self) -> Option<String> {
        let edits = || self.report.findings.iter().flat_map(|finding| &finding.edits);
        let safe = edits().filter(|edit| edit.applicability == Applicability::Safe).count() as u64;
        let not_safe = edits().count() as u64 - safe;
        let fixes = |n: u64| format!("{n} {}", text::form(n, "fix", "fixes"));
        match (safe, not_safe) {
            (0, 0) => None,
            (0, n) => Some(format!("{} available with --fix --unsafe-fixes", fixes(n))),
            (n, 0) => Some(format!("[*] {} available with --fix", fixes(n))),
            (n, more) => Some(format!(
                "[*] {} available with --fix, {more} more with --unsafe-fixes",
                fixes(n)
            )),
        }
    }

    fn next_command(&self) -> Option<String> {
        match self.report.findings.first() {
            Some(first) => Some(format!("next: {}", self.site.help(&first.rule))),
            None if self.report.problems.is_empty() => None,
            None => Some("next: fix what could not be read (above), then run again".to_owned()),
        }
    }
}

/// Another place of a finding; in the same file only its line is printed.
fn other(finding: &Finding, at: &Location) -> String {
    let is_here = finding.location.as_ref().is_some_and(|own| own.file == at.file);
    match is_here {
        true => format!("line {}", at.line),
        false => line(&format!("{}:{}:{}", at.file, at.line, at.column)),
    }
}

/// The part of a line around the place that fits the room, without its indentation; and the number
/// of columns before the caret.
fn cut(excerpt: &Excerpt, room: usize) -> (String, usize) {
    const MORE: char = '…';
    // The width of a tab depends on the terminal.
    let chars: Vec<char> = line(&excerpt.text.replace('\t', " ")).trim_end().chars().collect();
    let indent = chars.iter().take_while(|c| c.is_whitespace()).count();
    let at = usize::try_from(excerpt.column).unwrap_or(1).saturating_sub(1).min(chars.len());
    let indent = indent.min(at);
    let (chars, at) = (&chars[indent..], at - indent);
    if chars.len() <= room {
        return (chars.iter().collect(), at);
    }
    // A third of the room is before the place.
    let start = at.saturating_sub(room / 3).min(chars.len().saturating_sub(room - 1));
    let before = start > 0;
    let length = room - usize::from(before);
    let end = (start + length).min(chars.len());
    let behind = end < chars.len();
    let mut shown: String = if before { MORE.to_string() } else { String::new() };
    shown.extend(&chars[start..end - usize::from(behind)]);
    if behind {
        shown.push(MORE);
    }
    (shown, at - start + usize::from(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let excerpt = |text: &str, column: u32| Excerpt { text: text.to_owned(), column };
        assert_eq!(cut(&excerpt("\t\tx = 1", 3), 20), ("x = 1".to_owned(), 0));
        assert_eq!(cut(&excerpt("x = 1", 9), 20), ("x = 1".to_owned(), 5));
        let long = format!("{}HERE{}", "a".repeat(100), "b".repeat(100));
        let (shown, caret) = cut(&excerpt(&long, 101), 30);
        assert_eq!(shown.chars().count(), 30);
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().skip(caret).take(4).collect::<String>(), "HERE");
        let (shown, caret) = cut(&excerpt(&long, 203), 30);
        assert!(shown.ends_with('b') && shown.chars().nth(caret) == Some('b'), "{shown} {caret}");
        let (shown, caret) = cut(&excerpt(&long, 1), 30);
        assert!(shown.starts_with('a') && caret == 0, "{shown}");
    }
}
