//! Colours, line breaking, and sentences that several formats share.

use docward_model::{
    Basis, Change, Deadline, Finding, NamespacePattern, Report, Seen, Severity, SourceKind,
    Subject, text,
};

/// Adds colours if they are enabled.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// True if escape sequences are written.
    pub color: bool,
}

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        let text = plain(text);
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
    }

    /// The colour of errors and failures.
    pub fn red(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// The colour of warnings.
    pub fn yellow(self, text: &str) -> String {
        self.with("1;33", text)
    }

    /// The colour of notes.
    pub fn blue(self, text: &str) -> String {
        self.with("1;34", text)
    }

    /// The colour of passed items.
    pub fn green(self, text: &str) -> String {
        self.with("1;32", text)
    }

    /// The style of headings.
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    /// The style of secondary text.
    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }
}

/// Removes control characters and characters that change the writing direction: names come from
/// data and must not control the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => c,
            c if c.is_control() => '\u{fffd}',
            c if docward_model::shell::turns(c) => '\u{fffd}',
            // Noncharacters, which XML cannot contain.
            c if u32::from(c) & 0xfffe == 0xfffe => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Does the same as [`plain`] and keeps the text on one line, so that a name cannot begin a new
/// line.
pub(crate) fn line(text: &str) -> String {
    plain(text).replace('\n', "\u{fffd}")
}

/// Breaks text into lines of at most `width` columns. The first line starts after `first` used
/// columns, the others are indented by `indent`. Words longer than a line are not broken, so that
/// names and commands can be copied.
pub fn wrap(text: &str, width: usize, first: usize, indent: usize) -> String {
    let mut out = String::new();
    let mut column = first;
    let mut line_start = true;
    for word in plain(text).split_whitespace() {
        let len = word.chars().count();
        if !line_start && column + 1 + len > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
            line_start = true;
        }
        if !line_start {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += len;
        line_start = false;
    }
    out
}

/// One line of at most `width` columns; a longer text ends in `…` after a whole word.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let text = line(text);
    if text.chars().count() <= width {
        return text;
    }
    let fits: String = text.chars().take(width.saturating_sub(1)).collect();
    let at_word = fits.rfind(' ').filter(|at| *at > fits.len() / 2).unwrap_or(fits.len());
    let kept = fits[..at_word].trim_end_matches([' ', ',', ';', ':', '(']);
    format!("{kept}…")
}

/// The path of a source file in the checkout: code scanning cannot resolve the path on the machine
/// of the run.
pub(crate) fn checkout_path(report: &Report, file: &str) -> String {
    match &report.evidence.code {
        Some(code) if file.starts_with('/') => code.within_project(file),
        _ => file.to_owned(),
    }
}

/// The place of a finding before its message: `db_shop.t_order: `. Empty for findings in code,
/// whose message is shown next to the code.
pub(crate) fn place_before(finding: &Finding) -> String {
    let is_code = finding.location.is_some() && finding.at == Subject::Deployment;
    if is_code { String::new() } else { format!("{}: ", finding.at.text()) }
}

/// The change of a finding since an earlier report, printed after its name: ` (new)`.
pub(crate) fn change(report: &Report, finding: &Finding) -> String {
    let compared = report.compared.as_ref().filter(|compared| compared.basis == Basis::Report);
    match compared.map(|compared| compared.change(finding)) {
        None | Some(Change::Same) => String::new(),
        Some(Change::Worse(before)) => format!(" (was {before})"),
        Some(change) => format!(" ({})", change.name()),
    }
}

/// Describes the number of items examined, and their total.
pub(crate) fn seen(seen: &Seen) -> String {
    if seen.sampled >= seen.total {
        let part = if seen.confidence < 1.0 {
            format!(", figures from a sample of them ({:.0} % confidence)", seen.confidence * 100.0)
        } else {
            String::new()
        };
        let all = text::form(seen.total, "", "all ");
        format!("seen: {all}{} {}{part}", text::count(seen.total), seen.unit.name(seen.total))
    } else {
        let read = format!(
            "{} of {} {}",
            text::count(seen.sampled),
            text::count(seen.total),
            seen.unit.name(seen.total)
        );
        let level = format!("({:.0} % confidence)", seen.confidence * 100.0);
        match (seen.showing, seen.of_all()) {
            _ if !seen.by_chance => {
                format!("seen: {read}, not a random sample: the others may differ")
            }
            (Some(showing), Some(share)) => {
                format!("seen: {read}, in {} of them, so in {share} {level}", text::count(showing))
            }
            (_, Some(bound)) => format!("seen: {read}; {bound} {level}"),
            (_, None) => format!("seen: {read}, too few for a statement about the others"),
        }
    }
}

/// The name of the task, by its inputs: `audit`, `lint`.
pub(crate) fn task(report: &Report) -> &'static str {
    let all_are = |kind| report.sources.iter().all(|source| source.kind == kind);
    match report.sources.as_slice() {
        [] => "audit",
        _ if all_are(SourceKind::Code) => "lint",
        _ if all_are(SourceKind::ConnectionStrings) => "check",
        _ if report.evidence.collections.iter().any(|c| c.checked.is_some()) => "schema check",
        _ => "audit",
    }
}

/// The date on which a growing quantity reaches its next limit: `1 MB on 2029-02-20`, or `1 MB due
/// since …` if that day has passed.
pub(crate) fn limit_day(report: &Report, finding: &Finding) -> Option<String> {
    let Deadline { day, limit } = finding.deadline.as_ref()?;
    let today = report.run.as_ref().and_then(|run| run.started.get(..day.len()));
    let word = if today.is_some_and(|today| day.as_str() < today) { "due since" } else { "on" };
    Some(format!("{limit} {word} {day}"))
}

/// The part of the sources that was read, if not everything: `database shop`.
pub(crate) fn scope(report: &Report) -> String {
    let part = |kind: &str, pattern: &Option<NamespacePattern>| {
        pattern.as_ref().map(|pattern| format!(", {kind} {}", line(pattern.as_str())))
    };
    let parts =
        [part("database", &report.filter.database), part("collection", &report.filter.collection)];
    parts.into_iter().flatten().collect()
}

/// The one-line summary.
pub(crate) fn summary(report: &Report) -> String {
    let part = |n: usize, one: &str| text::plural(n as u64, one);
    // Recognised patterns do not count as findings.
    let recognised = crate::ranking::recognised(report).count();
    let counts = [
        part(report.count(Severity::Error), "error"),
        part(report.count(Severity::Warn), "warning"),
        part(report.count(Severity::Info) - recognised, "note"),
    ];
    let mut parts = vec![counts.join(", ")];
    if recognised > 0 {
        parts.push(format!("{} in use", part(recognised, "design pattern")));
    }
    parts.extend(besides(report));
    parts.push(read(report));
    parts.join(" · ")
}

/// Notes in addition to the counts: an interrupted run, a comparison, omitted findings, problems.
pub(crate) fn besides(report: &Report) -> Vec<String> {
    let mut parts = Vec::new();
    if report.interrupted {
        parts.push("interrupted".to_owned());
    }
    if let Some(compared) = &report.compared {
        let count = |n: usize| text::count(n as u64);
        let known = count(compared.unchanged.len());
        match compared.basis {
            Basis::Baseline => parts.push(format!("{known} in the baseline")),
            Basis::Report => {
                parts.push(format!("{} new", count(compared.count_new(&report.findings))));
                parts.push(format!("{} changed", count(compared.count_changed(&report.findings))));
                let unseen = compared.count_unseen(&report.findings);
                if unseen > 0 {
                    parts.push(format!("{} not checked before", count(unseen)));
                }
                parts.push(format!("{known} unchanged"));
            }
        }
        parts.push(format!("{} fixed", count(compared.fixed.len())));
        if !compared.not_judged.is_empty() {
            parts.push(format!("{} not checked", count(compared.not_judged.len())));
        }
    }
    if report.suppressed > 0 {
        parts.push(format!("{} suppressed", report.suppressed));
    }
    if !report.problems.is_empty() {
        parts.push(text::plural(report.problems.len() as u64, "problem"));
    }
    parts
}

/// Describes the amount of data that was read.
fn read(report: &Report) -> String {
    let count_of = |kind: SourceKind| -> u64 {
        let sources = report.sources.iter().filter(|source| source.kind == kind);
        sources.map(|source| source.documents).sum()
    };
    let (strings, files) = (count_of(SourceKind::ConnectionStrings), count_of(SourceKind::Code));
    let all_are = |kind: SourceKind| {
        !report.sources.is_empty() && report.sources.iter().all(|source| source.kind == kind)
    };
    let only_strings = all_are(SourceKind::ConnectionStrings);
    if let Some(checked) = report.checked_documents() {
        format!("{} checked", text::plural(checked, "document"))
    } else if all_are(SourceKind::Code) {
        format!("{} read", text::plural(files, "file"))
    } else if only_strings || report.documents() == 0 && strings > 0 {
        format!("{} read", text::plural(strings, "connection string"))
    } else {
        format!("{} read", text::plural(report.documents(), "document"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docward_model::Unit;

    #[test]
    fn data_does_not_command_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}c\u{7}"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}");
        assert!(!Paint { color: false }.bold("x\u{1b}c").contains('\u{1b}'));
    }

    #[test]
    fn what_was_counted_is_named() {
        for (seen, expect) in [
            (Seen::all(3, Unit::Indexes), "seen: all 3 indexes"),
            (Seen::all(1, Unit::Collections), "seen: 1 collection"),
            (
                Seen::some(1_000, 20_000, Unit::Documents, true),
                "seen: 1,000 of 20,000 documents; what they do not show, fewer than 0.3 % have (95 % confidence)",
            ),
            (
                Seen::some(1_000, 20_000, Unit::Documents, true).showing(40),
                "seen: 1,000 of 20,000 documents, in 40 of them, so in 2.9 to 5.4 % of all (95 % confidence)",
            ),
            (
                Seen::some(1_000, 20_000, Unit::Documents, false),
                "seen: 1,000 of 20,000 documents, not a random sample: the others may differ",
            ),
        ] {
            assert_eq!(super::seen(&seen), expect);
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrap("aa bb cc dd", 5, 0, 2), "aa bb\n  cc\n  dd");
        assert_eq!(wrap("a-very-long-word x", 5, 0, 0), "a-very-long-word\nx");
    }
}
