//! The steps that all judging commands share: from findings to a report and an exit code.

use std::path::Path;

use docward_config::{Config, FailOn};
use docward_model::{
    Evidence, Filter, Problem, Report, Settings, Severity, SuppressionUse, key_text,
};
use docward_report::{Format, View};
use docward_rules::{
    Outcome,
    facts::{relations::copies, schema::validators},
};

use crate::{
    args::{BaselineArgs, JudgingArgs},
    baseline::Baseline,
    config, excerpt, fix,
    output::{self, Look, Started},
    terminal::{CLEAN, FINDINGS, PROBLEMS, complain, tell},
};

/// A run of a command that judges: its settings, its baseline and the destination of its report.
pub(crate) struct Run<'a> {
    started: Started,
    look: Look<'a>,
    baseline: Option<Baseline>,
    pub(crate) config: Config,
}

impl<'a> Run<'a> {
    /// Checks the output flags, loads the settings and opens the baseline. Mistakes in any of them end the command
    /// before it reads anything. Settings are searched for in the directories of the sources in `near`.
    pub(crate) fn start(
        look: Look<'a>,
        judging: &JudgingArgs,
        settings: Option<&Path>,
        near: &[String],
        baseline: Option<&BaselineArgs>,
    ) -> anyhow::Result<Self> {
        output::check(look.shown, look.output)?;
        let files = look.shown.formats.format.iter().filter_map(|one| one.file.as_deref());
        output::spare(files.chain(look.output), near)?;
        let config = config::load(settings, near, judging.quiet)?;
        let config = config::with_arguments(config, judging)?;
        let baseline = match baseline {
            Some(args) => Baseline::open(args, config.baseline.as_deref(), near)?,
            None => None,
        };
        Ok(Self { started: Started::now(), look, baseline, config })
    }

    /// Returns the command line and the duration of the run so far.
    pub(crate) fn stamp(&self) -> docward_model::Run {
        self.started.ended()
    }

    /// Returns the severity from which on findings fail the run.
    pub(crate) fn fail_on(&self) -> FailOn {
        self.config.fail_on.unwrap_or(FailOn::AtLeast(Severity::Error))
    }

    /// Removes the findings of the baseline from the report, and updates the baseline if a flag requests it.
    pub(crate) fn apply_baseline(&mut self, report: &mut Report, settings: &Settings) {
        if let Some(baseline) = self.baseline.take() {
            baseline.apply(report, settings, self.look.quiet);
        }
    }

    /// Writes the report and returns the exit code.
    pub(crate) fn finish(&self, report: &Report, view: View) -> anyhow::Result<u8> {
        self.finish_with(report, view, |_, text, _| text)
    }

    /// Like [`Self::finish`]; `complete` gets each format, its text, and whether the text is coloured.
    pub(crate) fn finish_with(
        &self,
        report: &Report,
        view: View,
        complete: impl Fn(Format, String, bool) -> String,
    ) -> anyhow::Result<u8> {
        output::write_with(report, &self.look, view, self.fail_on(), complete)?;
        if self.look.output.is_some() {
            // The reason of the exit code is otherwise only in the file.
            for problem in &report.problems {
                tell(&format!("error: {}: {}", problem.source, problem.message));
            }
        }
        Ok(exit_code(report, self.fail_on()))
    }
}

/// Returns a report of the findings, without sources and problems.
pub(crate) fn report(settings: &Settings, mut outcome: Outcome, mut evidence: Evidence) -> Report {
    fix::resolve(&mut outcome.findings);
    excerpt::add(&mut outcome.findings, &excerpt::Masks::of(evidence.code.as_ref()));
    // Charts show only the copies that the rules accept as such, not every field of the same name.
    evidence.copies.retain(|copy| copies::is_real(settings, copy));
    evidence.notes.extend(validators::note(&outcome.findings));
    Report {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        run: None,
        profile: settings.profile,
        profile_reason: None,
        sources: Vec::new(),
        against: None,
        suppressions: suppressions(settings, &outcome),
        withheld: outcome.withheld.iter().map(|finding| finding.fingerprint.clone()).collect(),
        findings: outcome.findings,
        suppressed: outcome.suppressed,
        baselined: 0,
        skipped: Vec::new(),
        problems: Vec::new(),
        checklist: Vec::new(),
        interrupted: false,
        show_values: false,
        judged: None,
        filter: Filter::default(),
        namespaces: None,
        compared: None,
        evidence,
        forecasts: Vec::new(),
    }
}

/// Returns the exit code for a report.
fn exit_code(report: &Report, fail_on: FailOn) -> u8 {
    if !report.problems.is_empty() || report.interrupted {
        return PROBLEMS;
    }
    let failed = report.findings.iter().any(|finding| report.fails(finding, fail_on.least()));
    if failed { FINDINGS } else { CLEAN }
}

/// Prints why nothing could be read. No report is written: an empty one would look like a pass, and
/// would replace the last valid one.
pub(crate) fn refuse(problems: &[Problem]) -> u8 {
    for problem in problems {
        tell(&format!("error: {}: {}", problem.source, problem.message));
    }
    PROBLEMS
}

/// Prints a note for each declared shard key that differs from the key of the cluster, which is the one judged.
pub(crate) fn note_other_keys(evidence: &Evidence, settings: &Settings) {
    let cluster = evidence.server.as_ref().and_then(|server| server.cluster.as_ref());
    for declared in &settings.shard_keys {
        let sharded = cluster.and_then(|cluster| cluster.collection(&declared.namespace));
        if let Some(sharded) = sharded.filter(|sharded| sharded.key.fields != declared.fields) {
            complain(&format!(
                "note: {} is sharded by {}, but docward.toml declares {}; Docward evaluated the \
                 key of the cluster",
                declared.namespace,
                key_text(&sharded.key.fields),
                key_text(&declared.fields)
            ));
        }
    }
}

/// Returns how many findings each suppression of `docward.toml` and of comments matched.
fn suppressions(settings: &Settings, outcome: &Outcome) -> Vec<SuppressionUse> {
    let counts = outcome.kept_back.iter().copied();
    let used = settings.suppressions.iter().zip(counts);
    used.map(|(suppression, findings)| SuppressionUse {
        about: suppression.text(),
        reason: suppression.reason.clone(),
        expires: suppression.expires.clone(),
        findings,
    })
    .collect()
}
