//! `docward lint`: judges source code and settings before they run.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use docward_collect::{ChangedLines, SourceRequest, missing, read_source};
use docward_model::{Evidence, Finding, Need, PEDANTIC, Problem, Report, Settings, Source};
use docward_report::View;
use docward_rules::{Outcome, RULES, judge};

use crate::{
    args::{BaselineArgs, JudgingArgs, ShownArgs},
    excerpt::Masks,
    fix,
    interrupt::Interrupt,
    output,
    run::{self, Run},
    source_code,
    terminal::{CLEAN, Color, PROBLEMS, complain, put},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward lint .                                 all files, except ignored ones
  docward lint src/ deploy/ .env.production
  docward lint . --changed-since origin/main     only findings on lines that a branch changes
  docward lint . --select C,S                    connections and secrets only
  docward lint . --format sarif --output lint.sarif
  docward lint . --write-baseline                accept the existing findings, …
  docward lint . --baseline docward-baseline.json   … and report only what is new
  docward lint . --fix                           apply safe fixes
  docward lint . --diff --unsafe-fixes | git apply   all fixes, as a patch
  docward audit dump/ --code .                   code and data together

A comment accepts a finding on its own line and on the next line. The expiry date is optional:
  // docward: allow D020 until 2027-01-31 a nightly job trims the array

Docward skips tests (unless --include-tests is given) and files that .gitignore or .docwardignore \
 exclude. It does read ignored files that git tracks, and .env files outside of git repositories.
Settings come from the nearest docward.toml; see docs/lint.md.";

/// The files to check, and the options of the report.
#[derive(Args, Debug)]
pub(crate) struct LintArgs {
    /// Files and directories
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Report only findings on lines that changed since this git revision, and in new files
    #[arg(long, value_name = "REV")]
    pub(crate) changed_since: Option<String>,

    /// Check tests as well
    #[arg(long)]
    pub(crate) include_tests: bool,

    /// Apply safe fixes in place
    #[arg(long, group = "fixing")]
    pub(crate) fix: bool,

    /// Print the fixes as a patch for `git apply`, and change no files
    #[arg(long, group = "fixing")]
    pub(crate) diff: bool,

    /// Also apply fixes that may change the behaviour of the program
    #[arg(long, requires = "fixing")]
    pub(crate) unsafe_fixes: bool,

    /// Number of threads (default: number of cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,

    #[command(flatten)]
    pub(crate) shown: ShownArgs,

    /// Write the report to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// When to use colour
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
        bail!(
            "lint reads files and directories; `docward connect check` checks connection \
         strings"
        );
    }
    for path in &args.paths {
        crate::secrets::refuse_lookalike(path, "lint reads files and directories")?;
    }
    let paths: Vec<PathBuf> = args.paths.iter().map(PathBuf::from).collect();
    // If no path exists, there is no report, and an existing one stays unchanged.
    if paths.iter().all(|path| !path.exists()) {
        for path in &paths {
            complain(&format!("error: {}: {}", path.display(), missing(path)));
        }
        return Ok(PROBLEMS);
    }
    let look = output::Look {
        shown: &args.shown,
        output: args.output.as_deref(),
        color: args.color,
        quiet: args.judging.quiet,
        brief: true,
    };
    let settings = args.config.as_deref();
    let mut run = Run::start(look, &args.judging, settings, &args.paths, Some(&args.baseline))?;
    narrow(&mut run.config.settings);
    let changed = match &args.changed_since {
        Some(revision) => match ChangedLines::since(revision, &paths) {
            Ok(changed) => Some(changed),
            Err(message) => {
                let message = format!("error: --changed-since {revision}: {message}");
                complain(&message);
                return Ok(PROBLEMS);
            }
        },
        None => None,
    };
    let is_touched = |finding: &Finding| {
        changed.as_ref().is_none_or(|lines| finding.all_locations().any(|at| lines.touches(at)))
    };

    let interrupt = Interrupt::listen();
    let mut pass = Pass::new(args, &run.config.settings, &interrupt);
    if pass.read_nothing() {
        return Ok(run::refuse(&pass.problems));
    }
    if args.diff {
        let masks = Masks::of(pass.evidence.code.as_ref());
        let findings = || pass.outcome.findings.iter().filter(|finding| is_touched(finding));
        let patch = fix::patch(findings(), args.unsafe_fixes, &masks);
        pass.problems.extend(patch.problems);
        let problems = pass.problems.iter().map(|p| format!("error: {}: {}", p.source, p.message));
        problems.for_each(|line| complain(&line));
        put(&patch.text, args.output.as_deref())?;
        for at in &patch.left_out {
            complain(&format!(
                "note: the patch omits {}:{}, because it would show a password; {} changes the \
                 file itself",
                at.file,
                at.line,
                if args.unsafe_fixes { "--fix --unsafe-fixes" } else { "--fix" }
            ));
        }
        if !args.judging.quiet {
            let more = if args.unsafe_fixes { 0 } else { fix::available(findings()).not_safe };
            let note = fix::told("the patch has", patch.edits, patch.files, more);
            complain(&format!("note: {note}"));
        }
        return Ok(if pass.problems.is_empty() { CLEAN } else { PROBLEMS });
    }
    if args.fix {
        let touched = pass.outcome.findings.iter().filter(|finding| is_touched(finding));
        let fixed = fix::apply(touched, args.unsafe_fixes);
        if fixed.edits > 0 {
            // Edits move lines, and fixed code may reveal other findings, so everything is read
            // again.
            interrupt.reading_again();
            pass = Pass::new(args, &run.config.settings, &interrupt);
        }
        pass.problems.extend(fixed.problems);
        if !args.judging.quiet {
            let left = pass.outcome.findings.iter().filter(|finding| is_touched(finding));
            let more = if args.unsafe_fixes { 0 } else { fix::available(left).not_safe };
            let note = fix::told("applied", fixed.edits, fixed.files, more);
            complain(&format!("note: {note}"));
            if fixed.needs_variable {
                complain(
                    "note: set MONGODB_URI to the connection string before you start the program, \
                     and change the password, because it was in the code",
                );
            }
        }
    }
    let Pass { outcome, mut evidence, problems, sources, interrupted, settings, tests_left_out } =
        pass;
    if tests_left_out > 0 {
        let n = docward_model::text::plural(tests_left_out, "test file");
        evidence.notes.push(format!("{n} skipped (--include-tests)"));
    }
    let judged = outcome.judged(&settings).map(|rule| rule.meta.code.into()).collect();
    let mut report = Report {
        run: Some(run.stamp()),
        sources,
        problems,
        interrupted,
        show_values: args.judging.show_values,
        judged: Some(judged),
        // Strings and files lack most evidence by nature, so skipped rules are not reported.
        ..run::report(&settings, outcome, evidence)
    };
    run.apply_baseline(&mut report, &settings);
    if changed.is_some() {
        let (kept, left_out): (Vec<Finding>, Vec<Finding>) =
            std::mem::take(&mut report.findings).into_iter().partition(is_touched);
        report.findings = kept;
        report.withheld.extend(left_out.into_iter().map(|finding| finding.fingerprint));
    }
    interrupt.writing();
    run.finish(&report, View::Findings)
}

/// The result of reading and judging everything once.
struct Pass {
    outcome: Outcome,
    evidence: Evidence,
    problems: Vec<Problem>,
    sources: Vec<Source>,
    interrupted: bool,
    /// The settings, including suppressions from comments.
    settings: Settings,
    tests_left_out: u64,
}

impl Pass {
    /// Whether nothing could be read. A report would then look like a pass.
    fn read_nothing(&self) -> bool {
        let files = self.evidence.code.as_ref().map_or(0, |code| code.files);
        files == 0 && !self.interrupted && !self.problems.is_empty()
    }

    fn new(args: &LintArgs, settings: &Settings, interrupt: &Interrupt) -> Self {
        let mut settings = settings.clone();
        let request = SourceRequest {
            paths: args.paths.iter().map(PathBuf::from).collect(),
            tests: args.include_tests,
            threads: args.threads.map_or(0, usize::from),
        };
        let stop = || interrupt.stop().load(std::sync::atomic::Ordering::Relaxed);
        let mut seen = read_source(&request, &stop);
        let interrupted = stop();
        interrupt.judging();
        let mut problems = std::mem::take(&mut seen.problems);
        if seen.code.files == 0 && problems.is_empty() {
            let message = match seen.tests_left_out {
                0 => "no source code or settings were found; nothing was checked".to_owned(),
                n => {
                    format!("only tests were found ({n} files); --include-tests checks them")
                }
            };
            problems.push(Problem { source: args.paths.join(" "), message });
        }
        settings.suppressions.extend(source_code::allowed_by_comments(&mut seen, &mut problems));
        settings.is_partial =
            interrupted || !problems.is_empty() || selects_rules(&args.judging.select);
        let sources = source_code::sources(&args.paths, &seen, false);
        let evidence = Evidence {
            uris: std::mem::take(&mut seen.clients),
            code: Some(seen.code),
            ..Evidence::default()
        };
        let mut outcome = judge(&evidence, &settings);
        fix::resolve(&mut outcome.findings);
        let tests_left_out = seen.tests_left_out;
        Self { outcome, evidence, problems, sources, interrupted, settings, tests_left_out }
    }
}

/// Whether selectors leave out rules. `pedantic` only adds findings.
fn selects_rules(selectors: &[String]) -> bool {
    selectors.iter().any(|word| word != PEDANTIC)
}

/// The family of rules about suppressions, which need no evidence.
const SUPPRESSIONS: char = 'A';

/// Restricts the rules to those that need only code and connection strings, unless the user selects
/// others.
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
