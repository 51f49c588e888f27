//! Formats the first screen of an audit: the inputs, the number of findings, the first fixes, and
//! the next commands. At most [`LINES`] lines, for any number of findings; `terminal.rs` prints
//! every finding in full.

use std::{collections::BTreeMap, fmt::Write};

use docward_model::{Report, Severity, SourceKind, text};

use crate::{
    ranking::{self, OfRule},
    terminal_options::TerminalOptions,
    text::{Paint, besides, cut, limit_day, line, scope, summary},
};

/// The number of lines that fit a screen.
const LINES: usize = 40;

/// The maximum number of problems and notes that are listed individually.
const LISTED: usize = 2;

/// The maximum number of lines for checks that did not run: each option is named once.
const NOT_CHECKED: usize = 4;

/// The number of lines of a useful table: a blank line, the heading, and a few rows.
const TABLE: usize = 6;

/// The first screen.
pub(crate) fn overview(report: &Report, options: &TerminalOptions) -> String {
    let page = Overview { report, options, paint: Paint { color: options.color } };
    let mut lines = page.head();
    lines.extend(page.problems());
    let mut tail = page.tail(NOT_CHECKED);
    let rules = ranking::by_rule(report);
    let left =
        |used: &[&Vec<String>]| LINES.saturating_sub(used.iter().map(|lines| lines.len()).sum());
    let mut fix_first = page.fix_first(&rules, 2);
    if left(&[&lines, &tail, &fix_first]) < TABLE {
        fix_first = page.fix_first(&rules, 1);
    }
    let table = page.table(&rules, left(&[&lines, &tail, &fix_first]));
    let free = left(&[&lines, &tail, &fix_first, &table]);
    if free > 0 {
        tail = page.tail(NOT_CHECKED + free);
    }
    for part in [fix_first, table, tail] {
        lines.extend(part);
    }
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// The number of findings for each rule, highest first.
pub(crate) fn statistics(report: &Report, options: &TerminalOptions) -> String {
    let paint = Paint { color: options.color };
    let mut counts: BTreeMap<(&str, &str), BTreeMap<Severity, usize>> = BTreeMap::new();
    for finding in ranking::readable(report) {
        let of_rule = counts.entry((&*finding.rule, &*finding.name)).or_default();
        *of_rule.entry(finding.severity).or_default() += 1;
    }
    let mut rows: Vec<_> = counts
        .into_iter()
        .map(|(rule, counts)| (counts.values().sum::<usize>(), rule, counts))
        .collect();
    rows.sort_by_key(|(all, rule, _)| (std::cmp::Reverse(*all), *rule));
    let mut out = String::new();
    for (all, (rule, name), counts) in rows {
        let parts = Severity::ALL.iter().filter_map(|severity| {
            Some(text::plural(*counts.get(severity)? as u64, severity.word()))
        });
        let parts: Vec<String> = parts.collect();
        let _ = writeln!(out, "{all:>6}  {}  {name:<34}  {}", paint.bold(rule), parts.join(", "));
    }
    let _ = writeln!(out, "{}", summary(report));
    out
}

/// A password in a command line, as reports show it.
const MASKED: &str = ":*****@";

struct Overview<'a> {
    report: &'a Report,
    options: &'a TerminalOptions,
    paint: Paint,
}

/// Returns whether a word is a date, such as `2026-09-25`, that the text contains.
fn is_day_in(word: &str, text: &str) -> bool {
    word.len() == 10 && word.as_bytes()[4] == b'-' && text.contains(word)
}

/// `2 err`, `3 warn`.
fn counted(rule: &OfRule<'_>) -> String {
    let word = if rule.first.severity == Severity::Error { "err" } else { "warn" };
    format!("{} {word}", text::count(rule.count as u64))
}

impl Overview<'_> {
    fn width(&self) -> usize {
        self.options.width
    }

    /// The inputs, and the counts.
    fn head(&self) -> Vec<String> {
        let report = self.report;
        let named = report.sources.iter().filter(|s| s.kind != SourceKind::Workload);
        let names: Vec<String> = named.map(|source| line(&source.name)).collect();
        let shown = match names.as_slice() {
            [] => "no source".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        };
        let title = format!(
            "{} {} audit of {}",
            self.paint.bold("docward"),
            report.tool_version,
            self.paint.bold(&shown) + &scope(report)
        );
        let mut lines = vec![title];
        lines.extend(self.folded(&facts(report).join(" · "), 2));
        for server in report.sources.iter().filter_map(|s| s.server.as_deref()).take(2) {
            lines.push(self.paint.dim(&cut(server, self.width())));
        }
        if let Some(reason) = &report.profile_reason {
            lines.push(self.paint.dim(&cut(reason, self.width())));
        }
        if report.interrupted {
            let note = "interrupted: the report covers what was read so far";
            lines.push(self.paint.yellow(note));
        }
        lines.push(String::new());
        lines.extend(self.counts());
        lines
    }

    fn counts(&self) -> Vec<String> {
        let count = |severity| self.report.count(severity) as u64;
        let recognised = ranking::recognised(self.report).count() as u64;
        let notes = count(Severity::Info) - recognised;
        let mut parts = vec![format!(
            "{}, {}{}",
            text::plural(count(Severity::Error), "error"),
            text::plural(count(Severity::Warn), "warning"),
            match notes {
                0 => String::new(),
                n => format!(", {} (not shown)", text::plural(n, "note")),
            }
        )];
        parts.extend(besides(self.report));
        let line = cut(&parts.join(" · "), self.width());
        let mut lines = vec![match (count(Severity::Error), count(Severity::Warn)) {
            (0, 0) => self.paint.green(&line),
            (0, _) => self.paint.yellow(&line),
            _ => self.paint.red(&line),
        }];
        if recognised > 0 {
            let patterns = text::plural(recognised, "design pattern");
            let line = format!("{patterns} in use (such as buckets): nothing to do");
            lines.push(self.paint.dim(&cut(&line, self.width())));
        }
        lines
    }

    fn problems(&self) -> Vec<String> {
        let problems = &self.report.problems;
        let mut lines = Vec::new();
        for (at, problem) in problems.iter().take(LISTED).enumerate() {
            if at == 0 {
                lines.push(String::new());
                lines.push(self.paint.red("Not read in full"));
            }
            let text = format!("{}: {}", line(&problem.source), line(&problem.message));
            lines.extend(self.indented(&text));
        }
        if problems.len() > LISTED {
            lines.push(format!("  and {} more (--verbose)", problems.len() - LISTED));
        }
        lines
    }

    /// A paragraph of at most two lines, indented by two columns.
    fn indented(&self, text: &str) -> Vec<String> {
        let lines = self.folded(text, 2);
        lines.into_iter().map(|line| format!("  {line}")).collect()
    }

    /// Text on at most this many lines; the rest is cut off.
    fn folded(&self, text: &str, most: usize) -> Vec<String> {
        self.folded_to(text, self.width().saturating_sub(2).max(20), most)
    }

    fn folded_to(&self, text: &str, width: usize, most: usize) -> Vec<String> {
        let wrapped = crate::text::wrap(text, width, 0, 0);
        let mut lines: Vec<String> = wrapped.lines().map(str::to_owned).collect();
        if lines.len() > most {
            let rest = lines.split_off(most - 1).join(" ");
            lines.push(cut(&rest, width));
        }
        lines
    }

    /// The rules to fix first, each with its worst place, on at most this many lines.
    fn fix_first(&self, rules: &[OfRule<'_>], most: usize) -> Vec<String> {
        if rules.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![String::new(), self.paint.bold("Fix first")];
        for (at, rule) in ranking::fix_first(rules).into_iter().enumerate() {
            let code = self.tag(rule.first.severity, &rule.first.rule);
            let times = if rule.count > 1 { format!("×{} ", rule.count) } else { String::new() };
            let (place, what) = (line(&rule.first.place()), line(&rule.first.what));
            let used = 4 + rule.first.rule.len() + 1;
            // The place already contains the field.
            let path = rule.first.at.path().map(|path| format!("`{}` ", path.as_str()));
            let what = path.and_then(|path| what.strip_prefix(&path)).unwrap_or(&what);
            let limit = limit_day(self.report, rule.first);
            // The sentence often contains the day already.
            let limit = limit.filter(|limit| !limit.split(' ').any(|word| is_day_in(word, what)));
            let limit = limit.map_or_else(String::new, |limit| format!(" ({limit})"));
            let text = format!("{times}{place}{limit}: {what}");
            let text = self.folded_to(&text, self.width().saturating_sub(used).max(20), most);
            for (row, text) in text.into_iter().enumerate() {
                lines.push(match row {
                    0 => format!("  {} {code} {text}", at + 1),
                    _ => format!("{:used$}{text}", ""),
                });
            }
        }
        lines
    }

    /// Errors and warnings by rule, in two columns if they fit.
    fn table(&self, rules: &[OfRule<'_>], most: usize) -> Vec<String> {
        if rules.is_empty() || most < 4 {
            return Vec::new();
        }
        let longest = |of: &dyn Fn(&OfRule<'_>) -> usize| rules.iter().map(of).max().unwrap_or(0);
        let name = longest(&|rule| rule.first.name.chars().count());
        let number = longest(&|rule| counted(rule).chars().count());
        let cell = 5 + name + 1 + number;
        let columns = if self.width() >= 2 + 2 * cell + 2 { 2 } else { 1 };
        // A blank line and the heading; the last row states how many are left out.
        let rows = most - 2;
        let fit = |rows: usize| rows * columns;
        let shown = if rules.len() <= fit(rows) { rules.len() } else { fit(rows - 1) };
        let height = shown.div_ceil(columns);
        let mut lines = vec![String::new(), self.paint.bold("By rule")];
        for row in 0..height {
            let mut text = String::from("  ");
            for column in 0..columns {
                let at = column * height + row;
                let Some(rule) = rules.get(at).filter(|_| at < shown) else { continue };
                let code = self.tag(rule.first.severity, &rule.first.rule);
                let gap = if column > 0 { "  " } else { "" };
                let (rule_name, counted) = (&rule.first.name, counted(rule));
                let _ = write!(text, "{gap}{code} {rule_name:<name$} {counted:>number$}");
            }
            lines.push(text);
        }
        if shown < rules.len() {
            let more = text::plural((rules.len() - shown) as u64, "more row");
            lines.push(self.paint.dim(&format!("  and {more} (--statistics lists all)")));
        }
        lines
    }

    /// The checks that did not run, on at most this many lines, and the next commands.
    fn tail(&self, most: usize) -> Vec<String> {
        let mut lines = vec![String::new()];
        for note in self.report.evidence.notes.iter().take(LISTED) {
            let note = self.folded(&format!("note: {}", line(note)), 2);
            lines.extend(note.iter().map(|line| self.paint.dim(line)));
        }
        let text = not_checked(self.report);
        if !text.is_empty() {
            lines.extend(self.folded(&text, most).iter().map(|line| self.paint.dim(line)));
        }
        let repeated = self.repeated();
        let rules = ranking::by_rule(self.report);
        let rule = ranking::fix_first(&rules).first().map(|rule| rule.first);
        let mut next = Vec::new();
        if let Some(first) = rule {
            next.push((repeated.with(&format!("--show {}", first.rule)), "one rule in full"));
            next.push((repeated.with("--verbose"), "every finding in full"));
        } else if !self.report.findings.is_empty() {
            next.push((repeated.with("--verbose"), "the notes"));
        }
        next.push((repeated.with("--format html --output report.html"), "a page to share"));
        let column = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        lines.push(self.paint.bold("Next"));
        for (command, about) in next {
            let full = format!("  {command:<column$}  {about}");
            let fits = full.chars().count() <= self.width();
            lines.push(if fits { full } else { format!("  {command}") });
        }
        if let Some(note) = repeated.note() {
            lines.push(self.paint.dim(&cut(&format!("  {note}"), self.width())));
        }
        lines
    }

    fn repeated(&self) -> Repeated {
        let run = self.report.run.as_ref().map(|run| run.command.as_str());
        Repeated::of(run.unwrap_or("docward audit …"))
    }

    fn tag(&self, severity: Severity, code: &str) -> String {
        match severity {
            Severity::Error => self.paint.red(code),
            Severity::Warn => self.paint.yellow(code),
            Severity::Info => self.paint.blue(code),
        }
    }
}

/// The command of the user, to be repeated with other options. It lacks the options for format and
/// destination, which the next command sets itself. A connection string whose password is masked
/// cannot be repeated, so a variable takes its place.
struct Repeated {
    command: String,
    /// The words behind `--`, which are sources only.
    last: String,
    variables: Vec<&'static str>,
    reads_input: bool,
}

impl Repeated {
    fn of(command: &str) -> Self {
        const WITH_VALUE: [&str; 7] =
            ["-f", "--format", "-o", "--output", "--show", "--expand", "--emit-fixes"];
        const ALONE: [&str; 4] = ["-v", "--verbose", "--statistics", "--write-baseline"];
        let (command, last) = match command.split_once(" -- ") {
            Some((command, last)) => (command, format!(" -- {last}")),
            None => (command, String::new()),
        };
        let (mut kept, mut is_value) = (Vec::new(), false);
        let (mut variables, mut reads_input) = (Vec::new(), false);
        for word in shell_words(command) {
            if std::mem::take(&mut is_value) || ALONE.contains(&word) {
                continue;
            }
            let (option, value) = word.split_once('=').map_or((word, None), |(o, v)| (o, Some(v)));
            if WITH_VALUE.contains(&option) {
                is_value = value.is_none();
                continue;
            }
            reads_input |= word == "-";
            let is_client = kept.last().is_some_and(|last| last == "--client-uri");
            let word = match (word.contains(MASKED), is_client || option == "--client-uri") {
                (false, _) => word.to_owned(),
                (true, false) => {
                    variables.push("MONGODB_URI");
                    "\"$MONGODB_URI\"".to_owned()
                }
                (true, true) => {
                    variables.push("CLIENT_URI");
                    let option = if is_client { "" } else { "--client-uri=" };
                    format!("{option}\"$CLIENT_URI\"")
                }
            };
            kept.push(word);
        }
        variables.dedup();
        Self { command: kept.join(" "), last, variables, reads_input }
    }

    fn with(&self, options: &str) -> String {
        let input = if self.reads_input { " < FILE" } else { "" };
        format!("{} {options}{}{input}", self.command, self.last)
    }

    /// The variables that the user must set, because passwords are not shown.
    fn note(&self) -> Option<String> {
        let names = self.variables.join(" and ");
        (!names.is_empty()).then(|| format!("Set {names} first: passwords are not repeated here"))
    }
}

/// The words of a command line, in which single quotes group words.
fn shell_words(command: &str) -> Vec<&str> {
    let mut quoted = false;
    let words = command.split(|c: char| {
        quoted ^= c == '\'';
        c == ' ' && !quoted
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// The amounts read: documents, collections, lines, files, bytes.
pub(crate) fn amounts(report: &Report) -> Vec<String> {
    let count_of = |kind| -> u64 {
        report.sources.iter().filter(|s| s.kind == kind).map(|s| s.documents).sum()
    };
    let mut facts = Vec::new();
    let collections = report.evidence.collections.len() as u64;
    // Code and connection strings alone have neither.
    let has_data = report.sources.iter().any(|source| source.kind.is_data());
    if has_data || collections > 0 || report.sources.is_empty() {
        facts.push(text::plural(report.documents(), "document"));
        facts.push(text::plural(collections, "collection"));
    }
    for (kind, word) in [
        (SourceKind::Log, "log line"),
        (SourceKind::Workload, "recorded operation"),
        (SourceKind::NetworkRules, "network rule"),
        (SourceKind::ConnectionStrings, "connection string"),
        (SourceKind::Code, "file"),
    ] {
        let n = count_of(kind);
        if n > 0 {
            facts.push(text::plural(n, word));
        }
    }
    let bytes: u64 = report.sources.iter().map(|s| s.bytes).sum();
    if bytes > 0 {
        facts.push(text::bytes(bytes));
    }
    facts
}

/// The inputs and the manner of reading, in a few figures.
fn facts(report: &Report) -> Vec<String> {
    let mut facts = amounts(report);
    if report.documents() > 0 {
        let sampled = report.sources.iter().any(|source| source.sampled);
        facts.push(if sampled { "sampled" } else { "read in full" }.to_owned());
    }
    if let Some(run) = &report.run {
        facts.push(format!("{:.1} s", run.millis as f64 / 1000.0));
    }
    facts.push(format!("{} profile", report.profile.name()));
    facts
}

/// The inputs that would let more rules run, as command-line options.
fn not_checked(report: &Report) -> String {
    let missing = ranking::missing_inputs(report);
    if missing.is_empty() {
        return String::new();
    }
    let rules: std::collections::BTreeSet<&str> =
        missing.iter().flat_map(|input| input.rules.iter().copied()).collect();
    let inputs: Vec<String> = missing.iter().map(ranking::MissingInput::text).collect();
    let need = text::form(rules.len() as u64, "rule needs", "rules need");
    format!("Not checked: {} more {need} {}", rules.len(), inputs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::Repeated;

    fn repeated(typed: &str, options: &str) -> String {
        Repeated::of(typed).with(options)
    }

    #[test]
    fn masked_strings_are_named_by_variables() {
        let typed = "docward audit 'mongodb://app:*****@h/?a=1&b=2' --full";
        assert_eq!(repeated(typed, "-v"), "docward audit \"$MONGODB_URI\" --full -v");
        let note = Repeated::of(typed).note().expect("there is a password");
        assert!(note.starts_with("Set MONGODB_URI first"), "{note}");
        for option in ["--client-uri ", "--client-uri="] {
            let typed = format!("docward audit dump {option}mongodb://app:*****@h");
            let expect = format!("docward audit dump {option}\"$CLIENT_URI\" -v");
            assert_eq!(repeated(&typed, "-v"), expect);
        }
        assert_eq!(Repeated::of("docward audit dump").note(), None);
    }

    #[test]
    fn next_commands_set_their_own_output() {
        for (typed, expect) in [
            ("docward audit dump", "docward audit dump -v"),
            ("docward audit dump -f json -o out.json", "docward audit dump -v"),
            ("docward audit --format=html=a.html dump --show D008", "docward audit dump -v"),
            (
                "docward audit 'my dump' -o 'a b.html' --full -v",
                "docward audit 'my dump' --full -v",
            ),
            ("docward audit -- -dump", "docward audit -v -- -dump"),
            ("docward audit - --as a.b", "docward audit - --as a.b -v < FILE"),
        ] {
            assert_eq!(repeated(typed, "-v"), expect);
        }
    }
}
