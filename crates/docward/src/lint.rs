//! `docward lint`: source code and settings, judged before they run.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use docward_code::scan::Allowed;
use docward_collect::{SourceRequest, SourceSeen, read_source};
use docward_config::FailOn;
use docward_model::{
    Evidence, Location, Need, Problem, Report, Settings, Severity, Source, SourceKind, Suppression,
};
use docward_report::View;
use docward_rules::{RULES, judge};

use crate::{
    CLEAN, PROBLEMS,
    args::{BaselineArgs, Color, JudgingArgs, report_formats},
    audit::{self, Look},
    baseline::Baseline,
    complain, config, fix,
    interrupt::Interrupt,
    put,
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward lint .                                 everything below, as ignore files allow
  docward lint src/ deploy/ .env.production
  docward lint . --changed-since origin/main     only what a branch changes
  docward lint . --select C,S                    connections and secrets only
  docward lint . --format sarif --output lint.sarif
  docward lint . --write-baseline                accept what there is for now, …
  docward lint . --baseline docward-baseline.json   … and report only what is new
  docward lint . --diff                          what --fix would change
  docward lint . --fix                           mend what can be mended safely
  docward audit dump/ --code .                   code and data together

A comment allows a finding on its own line and the next, if need be until a day:
  // docward: allow D020 until 2027-01-31 a nightly job cuts the list

Tests are left out unless --include-tests is given; so is what .gitignore and .docwardignore name,
but for what git tracks all the same and, where there is no git, a .env in the tree.
Settings come from the nearest docward.toml; see docs/lint.md.";

/// What to look at and how to report.
#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Only files that differ from this revision of git, or that git does not know yet
    #[arg(long, value_name = "REV")]
    pub(crate) changed_since: Option<String>,

    /// Look at tests as well
    #[arg(long)]
    pub(crate) include_tests: bool,

    /// Mend what can be mended safely, in the files
    #[arg(long, conflicts_with = "diff")]
    pub(crate) fix: bool,

    /// Show what --fix would change, and change nothing
    #[arg(long)]
    pub(crate) diff: bool,

    /// Threads (default: as many as there are cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,

    /// Write out repeated findings: of all rules, or of the rules given
    #[arg(long, value_name = "CODES", num_args = 0..=1, require_equals = false, default_missing_value = "all", value_delimiter = ',')]
    pub(crate) expand: Vec<String>,

    /// Shape of the report
    #[arg(long, value_parser = report_formats(), default_value = "terminal")]
    pub(crate) format: docward_report::Format,

    /// Write the report to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Settings (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Colours
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,

    #[command(flatten)]
    pub(crate) judging: JudgingArgs,

    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
}

/// Runs the command.
pub(crate) fn lint(args: &LintArgs) -> anyhow::Result<u8> {
    let is_uri = |path: &String| {
        ["mongodb://", "mongodb+srv://"].iter().any(|scheme| path.starts_with(scheme))
    };
    if args.paths.iter().any(is_uri) {
        bail!("lint reads files and folders; `docward connect check` judges connection strings");
    }
    for path in &args.paths {
        crate::secrets::refuse_lookalike(path, "lint reads files and folders")?;
    }
    let config = config::load(args.config.as_deref(), &args.paths, args.judging.quiet)?;
    let mut config = config::with_arguments(config, &args.judging)?;
    for code in args.expand.iter().filter(|code| *code != "all") {
        config::known_selector(code)?;
    }
    let baseline = Baseline::open(&args.baseline, config.baseline.as_deref())?;
    narrow(&mut config.settings);

    let interrupt = Interrupt::listen();
    let request = SourceRequest {
        paths: args.paths.iter().map(PathBuf::from).collect(),
        tests: args.include_tests,
        changed_since: args.changed_since.clone(),
        threads: args.threads.map_or(0, usize::from),
    };
    let stop = || interrupt.stop().load(std::sync::atomic::Ordering::Relaxed);
    let mut seen = read_source(&request, &stop);
    let interrupted = stop();
    interrupt.judging();
    let mut problems = std::mem::take(&mut seen.problems);
    if seen.code.files == 0 && problems.is_empty() && args.changed_since.is_none() {
        let message = match seen.tests_left_out {
            0 => "no source code or settings were found: nothing was judged".to_owned(),
            n => format!("only tests were found ({n} files): give --include-tests to judge them"),
        };
        problems.push(Problem { source: args.paths.join(" "), message });
    }
    config.settings.suppressions.extend(allowed_by_comments(&mut seen, &mut problems));
    config.settings.is_partial = args.changed_since.is_some()
        || interrupted
        || !problems.is_empty()
        || !args.judging.select.is_empty();

    let sources = sources(&args.paths, &seen, args.changed_since.is_some());
    let evidence = Evidence {
        uris: std::mem::take(&mut seen.clients),
        code: Some(seen.code),
        ..Evidence::default()
    };
    let mut outcome = judge(&evidence, &config.settings);
    if args.diff {
        let (text, more) = fix::diff(&outcome.findings);
        problems.extend(more);
        let told = problems.iter().map(|p| format!("docward: {}: {}", p.source, p.message));
        told.for_each(|line| complain(&line));
        put(&text, args.output.as_deref())?;
        return Ok(if problems.is_empty() { CLEAN } else { PROBLEMS });
    }
    if args.fix {
        let fixed = fix::apply(&mut outcome.findings);
        problems.extend(fixed.problems);
        if !args.judging.quiet {
            let n = docward_model::text::plural(fixed.edits, "place");
            let files = docward_model::text::plural(fixed.files, "file");
            complain(&format!("note: mended {n} in {files}"));
        }
    }
    let judged = outcome.judged(&config.settings).map(|rule| rule.meta.code.into()).collect();
    let mut report = Report {
        sources,
        problems,
        interrupted,
        show_values: args.judging.show_values,
        judged: Some(judged),
        // What a string or a file does not say is no gap of the run: nothing is skipped.
        ..audit::report(&config.settings, outcome, evidence)
    };
    if let Some(baseline) = baseline {
        baseline.apply(&mut report, &config.settings, args.judging.quiet);
    }
    let fail_on = config.fail_on.unwrap_or(FailOn::AtLeast(Severity::Error));
    let look = Look {
        format: args.format,
        output: args.output.as_deref(),
        color: args.color,
        expand: &args.expand,
        quiet: args.judging.quiet,
    };
    let text = audit::render(&report, &look, View::Findings, fail_on);
    interrupt.writing();
    put(&text, args.output.as_deref())?;
    if !args.judging.quiet && seen.tests_left_out > 0 {
        let n = docward_model::text::plural(seen.tests_left_out, "file");
        complain(&format!("note: {n} of tests left out; --include-tests judges them too"));
    }
    Ok(audit::ended(&report, fail_on))
}

/// The family of rules about suppressions, which need no evidence.
const SUPPRESSIONS: char = 'A';

/// Only rules that code and connection strings alone can break, unless others were asked for.
pub(crate) fn narrow(settings: &mut Settings) {
    if settings.select.is_empty() {
        let of_code = |need: &Need| matches!(need, Need::Code | Need::Uris);
        let rules = RULES.iter().filter(|rule| {
            rule.meta.needs.iter().all(of_code)
                && (!rule.meta.needs.is_empty() || rule.meta.family() == SUPPRESSIONS)
                && settings.is_on(&rule.meta)
        });
        settings.select = rules.map(|rule| rule.meta.code.to_owned()).collect();
    }
}

/// The paths as sources of a report. Files are counted once, however many paths lead to them.
pub(crate) fn sources(paths: &[String], seen: &SourceSeen, sampled: bool) -> Vec<Source> {
    let one = |name: &String, documents: u64, bytes: u64| Source {
        kind: SourceKind::Code,
        name: name.clone(),
        documents,
        bytes,
        sampled,
        server: None,
    };
    let mut paths = paths.iter();
    let first = paths.next().map(|path| one(path, seen.code.files, seen.bytes));
    first.into_iter().chain(paths.map(|path| one(path, 0, 0))).collect()
}

/// What comments allow, as suppressions. Comments without a reason allow nothing: that is a problem, and so is a
/// rule nobody knows, or a day that is none.
pub(crate) fn allowed_by_comments(
    seen: &mut SourceSeen,
    problems: &mut Vec<Problem>,
) -> Vec<Suppression> {
    let mut out = Vec::new();
    for (file, allowed) in std::mem::take(&mut seen.allowed) {
        if let Some(message) = fault(&allowed) {
            problems.push(Problem { source: format!("{file}:{}", allowed.line), message });
            continue;
        }
        let Allowed { line, rules, until, reason } = allowed;
        let location = Location { file, line, column: 1 };
        // Rule by rule: each of them may be needed no more.
        out.extend(rules.into_iter().map(|rule| Suppression {
            rule,
            pattern: None,
            path: None,
            files: None,
            is_comment: true,
            // Code stands on the same line.
            reason: docward_uri::redact(&reason),
            expires: until.clone(),
            location: location.clone(),
        }));
    }
    out
}

/// What is wrong with a comment that allows something.
fn fault(allowed: &Allowed) -> Option<String> {
    let unknown = allowed.rules.iter().find(|rule| config::known_selector(rule).is_err());
    if let Some(rule) = unknown {
        // Whatever else stands there is not repeated.
        let is_name = rule.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let rule = if is_name { rule.as_str() } else { "…" };
        return Some(format!(
            "the comment allows `{rule}`, and there is no such rule; `docward rules` lists them"
        ));
    }
    if allowed.until.as_deref().is_some_and(|day| !docward_config::is_day(day)) {
        return Some(
            "the comment allows a finding until a day that cannot be read; write it as 2027-01-31"
                .to_owned(),
        );
    }
    allowed.reason.is_empty().then(|| {
        "the comment allows a finding and does not say why; write the reason behind the rule"
            .to_owned()
    })
}
