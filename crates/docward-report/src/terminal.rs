//! Formats the main report for people: grouped by severity, then by place; with message, reason and
//! advice.

use std::{collections::BTreeMap, fmt::Write};

use docward_model::{Change, Finding, Report, Severity, Site, SourceKind, Subject, text};

use crate::{
    overview,
    ranking::{is_recognised, missing_inputs},
    terminal_options::{Detail, Expand, TerminalOptions},
    text::{Paint, line, scope, seen, summary, task, wrap},
};

/// If more rules than this could not run, they are not listed individually.
const LISTED_RULES: usize = 12;

/// The indentation of the text of a finding or problem.
const INDENT: usize = 7;

/// With more findings of one rule than this, they are folded.
const FOLD_AFTER: usize = 3;

/// The maximum number of fixed findings listed.
const FIXED_SHOWN: usize = 10;

/// The report as text.
pub(crate) fn terminal(report: &Report, options: &TerminalOptions, site: &Site) -> String {
    match options.detail {
        Detail::Statistics => return overview::statistics(report, options),
        Detail::Overview if !options.quiet => return overview::overview(report, options),
        _ => {}
    }
    let page = Page { report, options, site, paint: Paint { color: options.color } };
    let mut out = String::new();
    if !options.quiet {
        page.header(&mut out);
        for severity in [Severity::Error, Severity::Warn, Severity::Info] {
            page.section(severity, &mut out);
        }
        if !options.show.is_empty() && !report.findings.iter().any(|f| options.shows(f)) {
            let wanted = line(&options.show.join(", "));
            let skipped =
                report.skipped.iter().filter(|skip| options.show.iter().any(|w| *w == skip.rule));
            for skip in skipped {
                let _ = writeln!(out, "\n{} was not checked: it needs {}", skip.rule, skip.needs);
            }
            let near = options.show.iter().filter_map(|word| page.nearest(word));
            let near: Vec<String> = near.map(|name| format!("`{name}`")).collect();
            if !near.is_empty() {
                let _ = writeln!(out, "\ndid you mean {}?", near.join(" or "));
            }
            let _ = writeln!(
                out,
                "\nno finding matches --show {wanted}: name a rule, a family, a severity, an area, a database, a \
                 collection or a file"
            );
        }
    }
    // The reason of a failure is always printed, even if other findings are left out.
    problems(report, options.width, page.paint, &mut out);
    if !options.quiet {
        page.accepted(&mut out);
        // For a single rule or place, missing inputs are not relevant.
        if options.show.is_empty() {
            page.skipped(&mut out);
            page.notes(&mut out);
        }
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
        // The workload of a deployment is not a separate source for a user who named only the
        // deployment.
        let named = self.report.sources.iter().filter(|s| s.kind != SourceKind::Workload);
        let names: Vec<String> = named.map(|s| line(&s.name)).collect();
        let count_of = |kind| -> u64 {
            let sources = self.report.sources.iter().filter(|s| s.kind == kind);
            sources.map(|s| s.documents).sum()
        };
        let entries = count_of(SourceKind::Log);
        let recorded = count_of(SourceKind::Workload);
        let rules = count_of(SourceKind::NetworkRules);
        let strings = count_of(SourceKind::ConnectionStrings);
        let of_strings =
            self.report.sources.iter().any(|s| s.kind == SourceKind::ConnectionStrings);
        let bytes: u64 = self.report.sources.iter().map(|s| s.bytes).sum();
        let files = count_of(SourceKind::Code);
        let mut read = Vec::new();
        let checked = self.report.checked_documents();
        if let Some(checked) = checked {
            read.push(format!("{} checked", text::plural(checked, "document")));
        } else if self.report.documents() > 0 || !of_strings && entries + rules + files == 0 {
            read.push(text::plural(self.report.documents(), "document"));
        }
        if entries > 0 {
            read.push(format!("{} log entries", text::count(entries)));
        }
        if recorded > 0 {
            read.push(text::plural(recorded, "recorded operation"));
        }
        if rules > 0 {
            read.push(text::plural(rules, "network rule"));
        }
        if files > 0 {
            read.push(text::plural(files, "file"));
        }
        let command = task(self.report);
        if of_strings {
            read.push(text::plural(strings, "connection string"));
        }
        // Connection strings, and documents that a server checked by itself, have no meaningful
        // size.
        if checked.is_none() && (bytes > 0 || !of_strings) {
            read.push(text::bytes(bytes));
        }
        let shown = match names.as_slice() {
            [] => "nothing".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} and {} more", rest.len()),
        };
        let compared = self.report.compared.as_ref();
        let pair = compared.and_then(|c| Some((&c.with, c.subject.as_ref()?)));
        let subject = match (&self.report.against, pair) {
            (_, Some((old, new))) => format!("diff of {} and {}: {shown}", line(old), line(new)),
            (Some(model), None) => format!("design check of {} against {shown}", line(model)),
            (None, None) => format!("{command} of {shown}{}", scope(self.report)),
        };
        let _ = writeln!(
            out,
            "{} {subject}: {}, {} profile",
            self.paint.bold("docward"),
            read.join(", "),
            self.report.profile.name(),
        );
        for server in self.report.sources.iter().filter_map(|s| s.server.as_deref()) {
            let _ = writeln!(out, "{}", self.paint.dim(server));
        }
        if self.report.interrupted {
            let note = "interrupted: the report covers what was read so far";
            let _ = writeln!(out, "{}", self.paint.yellow(note));
        }
        if self.report.sources.iter().any(|s| s.sampled) {
            let _ = writeln!(
                out,
                "{}",
                self.paint.dim(
                    "not all documents were read: see `seen` \
             in each finding"
                )
            );
        }
    }

    /// The namespace that a word of `--show` probably meant.
    fn nearest(&self, word: &str) -> Option<String> {
        let distance = |name: &&String| strsim::damerau_levenshtein(word, name);
        let known = self.report.namespaces.iter().flatten();
        let nearest = known.filter(|name| *name != word).min_by_key(distance)?;
        let is_near = distance(&nearest) <= (word.chars().count() / 4).max(1);
        is_near.then(|| line(nearest))
    }

    fn section(&self, severity: Severity, out: &mut String) {
        let findings: Vec<&Finding> = self
            .report
            .findings
            .iter()
            .filter(|f| f.severity == severity && self.options.shows(f))
            // `--show` also prints recognised patterns.
            .filter(|f| !is_recognised(f) || !self.options.show.is_empty())
            .collect();
        if findings.is_empty() {
            return;
        }
        let mut by_rule: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
        for finding in &findings {
            by_rule.entry(&*finding.rule).or_default().push(finding);
        }
        let title = match severity {
            Severity::Error => self.paint.red("ERRORS"),
            Severity::Warn => self.paint.yellow("WARNINGS"),
            Severity::Info => self.paint.blue("NOTES"),
        };
        let _ = writeln!(out, "\n{title} ({})", findings.len());
        let mut place: Option<String> = None;
        for finding in &findings {
            let same = &by_rule[&*finding.rule];
            if self.is_folded(finding, same.len()) {
                // The folded findings of a rule appear at the position of the first one.
                if std::ptr::eq(same[0], *finding) {
                    self.folded(same, out);
                    place = None;
                }
                continue;
            }
            let here = match (&finding.location, finding.at.namespace()) {
                (_, Some(namespace)) => namespace,
                (Some(location), None) => location.file.clone(),
                (None, None) => "deployment".to_owned(),
            };
            if place.as_ref() != Some(&here) {
                let _ = writeln!(out, "\n{}", self.paint.bold(&line(&here)));
                place = Some(here);
            }
            self.finding(finding, out);
        }
    }

    fn is_folded(&self, finding: &Finding, of_rule: usize) -> bool {
        let expanded = match &self.options.expand {
            Expand::No => false,
            Expand::All => true,
            Expand::Rules(rules) => {
                rules.iter().any(|r| r.eq_ignore_ascii_case(&finding.rule) || **r == *finding.name)
            }
        };
        of_rule > FOLD_AFTER && !expanded
    }

    fn finding(&self, finding: &Finding, out: &mut String) {
        let tag = self.tag(finding.severity, &finding.rule);
        let place = match &finding.at {
            Subject::Field(_, path) => format!(" {}", self.paint.bold(&line(path.as_str()))),
            Subject::Index(_, name) => format!(" index {}", self.paint.bold(&line(name))),
            Subject::Deployment if finding.location.is_some() => {
                format!(" {}", self.paint.bold(&line(&finding.place())))
            }
            _ => String::new(),
        };
        let _ = writeln!(out, "  {tag} {}{place}{}", finding.name, self.change(finding));
        self.paragraph("", &finding.what, out);
        if let Some(Change::Changed(before)) =
            self.report.compared.as_ref().map(|c| c.change(finding))
        {
            self.paragraph("was: ", before, out);
        }
        self.paragraph("why: ", &finding.why, out);
        self.paragraph("do:  ", &finding.todo, out);
        if let Some(fix) = &finding.fix {
            let _ = writeln!(out, "       {}", self.paint.dim(&fix.command()));
        }
        if self.report.show_values && !finding.examples.is_empty() {
            self.paragraph("e.g. ", &finding.examples.join(" · "), out);
        }
        let mut rests_on = vec![seen(&finding.seen)];
        rests_on.extend((!finding.clauses.is_empty()).then(|| finding.clauses.join(" ")));
        let _ = writeln!(out, "       {}", self.paint.dim(&rests_on.join(" · ")));
    }

    /// The change of a finding, if reports are compared.
    fn change(&self, finding: &Finding) -> String {
        let word = match self.report.compared.as_ref().map(|compared| compared.change(finding)) {
            Some(Change::New) => "new".to_owned(),
            Some(Change::Worse(before)) => format!("was {before}"),
            Some(Change::Changed(_)) => "changed".to_owned(),
            Some(Change::NotLookedFor) => "not checked before".to_owned(),
            Some(Change::Same) | None => return String::new(),
        };
        format!(" {}", self.paint.dim(&format!("({word})")))
    }

    /// More than three findings of one rule as one paragraph.
    fn folded(&self, same: &[&Finding], out: &mut String) {
        let first = same[0];
        let tag = self.tag(first.severity, &first.rule);
        let _ = writeln!(
            out,
            "\n{}\n  {tag} {} {}",
            self.paint.bold(&format!("in {} places", same.len())),
            first.name,
            self.paint.dim(&format!("(--show {} lists all)", first.rule)),
        );
        for finding in same.iter().take(FOLD_AFTER) {
            self.paragraph("· ", &format!("{}: {}", finding.place(), finding.what), out);
        }
        let rest: Vec<String> = same.iter().skip(FOLD_AFTER).take(8).map(|f| f.place()).collect();
        let more = same.len().saturating_sub(FOLD_AFTER + rest.len());
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        self.paragraph("· ", &format!("also {}{tail}", rest.join(", ")), out);
        self.paragraph("why: ", &first.why, out);
        self.paragraph("do:  ", &format!("for the first: {}", first.todo), out);
        let _ = writeln!(out, "       {}", self.paint.dim(&first.clauses.join(" ")));
    }

    fn tag(&self, severity: Severity, code: &str) -> String {
        match severity {
            Severity::Error => self.paint.red(code),
            Severity::Warn => self.paint.yellow(code),
            Severity::Info => self.paint.blue(code),
        }
    }

    fn paragraph(&self, label: &str, text: &str, out: &mut String) {
        let body = wrap(text, self.options.width, INDENT + label.chars().count(), INDENT);
        let _ = writeln!(out, "{:INDENT$}{}{body}", "", self.paint.dim(label));
    }

    fn skipped(&self, out: &mut String) {
        for (index, input) in missing_inputs(self.report).iter().enumerate() {
            if index == 0 {
                out.push('\n');
            }
            let rules = &input.rules;
            let listed = match rules.as_slice() {
                [first, second, .., last] if rules.len() > LISTED_RULES => {
                    format!("{} rules ({first}, {second}, … {last})", rules.len())
                }
                _ => rules.join(", "),
            };
            let line = format!("not checked, because the run lacks {}: {listed}", input.text());
            let _ = writeln!(out, "{}", self.paint.dim(&wrap(&line, self.options.width, 0, 2)));
        }
    }

    fn notes(&self, out: &mut String) {
        for (index, note) in self.report.evidence.notes.iter().enumerate() {
            if index == 0 {
                out.push('\n');
            }
            let note = wrap(&format!("note: {}", line(note)), self.options.width, 0, 2);
            let _ = writeln!(out, "{}", self.paint.dim(&note));
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
        if !self.options.quiet {
            let _ = writeln!(out, "{}", self.paint.dim(&self.next_command()));
        }
    }

    /// Findings that are gone, and the reasons why others are not reported.
    fn accepted(&self, out: &mut String) {
        let compared = self.report.compared.iter();
        let fixed: Vec<_> = compared.flat_map(|compared| &compared.fixed).collect();
        if !fixed.is_empty() {
            let _ = writeln!(out, "\n{} ({})", self.paint.green("FIXED"), fixed.len());
            let shown = if self.folds() { FIXED_SHOWN } else { fixed.len() };
            for known in fixed.iter().take(shown) {
                let _ = writeln!(
                    out,
                    "  {} {} {}",
                    self.paint.green(&known.rule),
                    known.name,
                    self.paint.bold(&line(&known.at.text()))
                );
            }
            if fixed.len() > shown {
                let more =
                    format!("and {} more (--verbose --expand lists all)", fixed.len() - shown);
                let _ = writeln!(out, "  {}", self.paint.dim(&more));
            }
        }
        for used in self.report.suppressions.iter().filter(|used| used.findings > 0) {
            let until = used.expires.as_ref().map_or(String::new(), |day| format!(" until {day}"));
            let line = format!(
                "suppressed{until}: {} ({}): {}",
                used.about,
                text::plural(used.findings, "finding"),
                used.reason
            );
            let _ = writeln!(out, "{}", self.paint.dim(&wrap(&line, self.options.width, 0, 2)));
        }
    }

    fn folds(&self) -> bool {
        matches!(self.options.expand, Expand::No)
    }

    fn next_command(&self) -> String {
        // An example from the shown findings, if only a part is shown.
        let shown = self.report.findings.iter().find(|finding| self.options.shows(finding));
        match shown.or(self.report.findings.first()) {
            Some(first) => format!("next: {}", self.site.help(&first.rule)),
            None if self.report.evidence.collections.iter().any(|c| c.checked.is_some()) => {
                "next: docward schema apply, to make the server enforce the schema".to_owned()
            }
            None if self.report.problems.is_empty() => {
                "next: docward checklist, for the launch review".to_owned()
            }
            None => "next: fix what could not be read, then run again".to_owned(),
        }
    }
}

/// Inputs that could not be read, and requests that could not be fulfilled.
pub(crate) fn problems(report: &Report, width: usize, paint: Paint, out: &mut String) {
    if report.problems.is_empty() {
        return;
    }
    let title = paint.red("NOT READ IN FULL");
    let _ = writeln!(out, "\n{title} ({})", report.problems.len());
    for problem in &report.problems {
        let _ = writeln!(out, "  {}", paint.bold(&line(&problem.source)));
        let _ = writeln!(out, "{:INDENT$}{}", "", wrap(&problem.message, width, INDENT, INDENT));
    }
}
