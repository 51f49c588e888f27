//! The baseline of a run: findings that are accepted for now. It only grows if the user requests
//! it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use docward_model::{Basis, Change, Compared, Finding, Known, Problem, Report, Settings, text};

use crate::{
    args::BaselineArgs,
    config, secrets,
    terminal::{complain, write_whole},
};

/// The default file.
const DEFAULT: &str = "docward-baseline.json";

/// The action on the baseline file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Compare,
    Write,
    Update,
}

/// A baseline. It is read before the run, so that a mistake in it is reported early.
pub(crate) struct Baseline {
    path: PathBuf,
    /// Its findings. `None` if the file does not exist yet.
    known: Option<Vec<Known>>,
    action: Action,
    allow_growth: bool,
}

/// Whether the run changes the baseline.
fn writes(args: &BaselineArgs) -> bool {
    args.baseline.is_none() && (args.write_baseline || args.update_baseline)
}

/// Returns the first source that is a missing JSON file. It was probably meant as the file of the
/// baseline.
fn missing_file(sources: &[String]) -> Option<&String> {
    sources.iter().find(|source| source.ends_with(".json") && !Path::new(source).exists())
}

impl Baseline {
    /// Opens the baseline that flags or `docward.toml` name, if any. `sources` are the sources of
    /// the run.
    pub(crate) fn open(
        args: &BaselineArgs,
        configured: Option<&str>,
        sources: &[String],
    ) -> anyhow::Result<Option<Self>> {
        if let Some(file) = missing_file(sources).filter(|_| writes(args)) {
            bail!(
                "{file} does not exist. --write-baseline and --update-baseline take no file, so \
                 {file} is read as a source; use --baseline {file}"
            );
        }
        let action = match (args.write_baseline, args.update_baseline) {
            (true, _) => Action::Write,
            (_, true) => Action::Update,
            _ => Action::Compare,
        };
        if args.allow_growth && action == Action::Compare {
            bail!("--allow-growth requires --write-baseline or --update-baseline");
        }
        let path = match (&args.baseline, configured) {
            (Some(path), _) => path.clone(),
            (None, Some(path)) => PathBuf::from(path),
            (None, None) if action == Action::Compare => return Ok(None),
            (None, None) => PathBuf::from(DEFAULT),
        };
        let known = match std::fs::read_to_string(&path) {
            Ok(text) => {
                let known = docward_report::read_baseline(&text);
                Some(known.map_err(|fault| anyhow::anyhow!("{} {fault}", path.display()))?)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read the baseline {}", path.display()));
            }
        };
        if known.is_none() && action != Action::Write {
            bail!("the baseline {} does not exist; --write-baseline creates it", path.display());
        }
        Ok(Some(Self { path, known, action, allow_growth: args.allow_growth }))
    }

    /// Removes known findings from the report. Updates the file if the user asked for it.
    pub(crate) fn apply(self, report: &mut Report, settings: &Settings, quiet: bool) {
        let Self { path, known, action, allow_growth } = self;
        let name = path.display().to_string();
        let is_new = known.is_none();
        let compare = |report: &Report, known: Vec<Known>| {
            let looked_for = |known: &Known| {
                report.looked_for(known)
                    && speaks(settings, known)
                    && !report.withheld.contains(&known.fingerprint)
            };
            Compared::of(Basis::Baseline, &name, known, &report.findings, looked_for, |_| true)
        };
        let mut compared = compare(report, known.unwrap_or_default());
        if action != Action::Compare {
            let added = compared.count_new(&report.findings);
            let accepts = is_new || allow_growth;
            let refused = if report.interrupted {
                Some("the run was interrupted".to_owned())
            } else if is_new && !report.problems.is_empty() && !allow_growth {
                Some(
                    "not everything was read, so existing findings would look new later; fix the \
                     reading problems, or accept them with --allow-growth"
                        .to_owned(),
                )
            } else if action == Action::Write && added > 0 && !accepts {
                Some(format!(
                    "it would grow by {added}. --update-baseline only removes fixed findings; \
                     --allow-growth also accepts new findings"
                ))
            } else {
                None
            };
            let entries = entries(report, &compared, accepts);
            let failed = match refused {
                Some(why) => Some(why),
                None => {
                    put_baseline(&path, report, &entries).err().map(|error| format!("{error:#}"))
                }
            };
            match failed {
                Some(why) => report.problems.push(Problem {
                    source: secrets::in_message(&name),
                    message: secrets::in_message(&format!("the baseline was not written: {why}")),
                }),
                None => {
                    if !quiet {
                        let added = if accepts { added } else { 0 };
                        complain(&told(&name, entries.len(), &compared, added));
                    }
                    if accepts {
                        // Fixed findings are listed once more; all others are now in the baseline.
                        let fixed = std::mem::take(&mut compared.fixed);
                        compared = compare(report, entries);
                        compared.fixed = fixed;
                    }
                }
            }
        }
        let is_known = |finding: &Finding| *compared.change(finding) == Change::Same;
        let known = report.findings.iter().filter(|finding| is_known(finding));
        report.withheld.extend(known.map(|finding| finding.fingerprint.clone()));
        report.findings.retain(|finding| !is_known(finding));
        report.baselined = compared.unchanged.len() as u64;
        report.compared = Some(compared);
    }
}

/// Whether a rule reports findings about a subject, that is, it is not ignored or suppressed there.
fn speaks(settings: &Settings, known: &Known) -> bool {
    let Some(rule) = config::metas().into_iter().find(|rule| rule.code == known.rule) else {
        return false;
    };
    let ignored = known.at.namespace().is_some_and(|ns| settings.is_ignored_at(rule, &ns));
    // A baseline does not record files. Findings that a run withholds are recognised by their
    // fingerprint.
    !ignored && !settings.suppressions.iter().any(|s| s.covers(rule, &known.at, None, None))
}

/// Returns the new content of the file: findings that exist or were not checked, and new findings
/// if they are accepted.
fn entries(report: &Report, compared: &Compared, accepts: bool) -> Vec<Known> {
    let mut out = compared.not_judged.clone();
    for finding in &report.findings {
        let known = Known { what: String::new(), ..Known::of(finding) };
        match compared.change(finding) {
            Change::New if !accepts => {}
            Change::Worse(before) if !accepts => out.push(Known { severity: *before, ..known }),
            _ => out.push(known),
        }
    }
    out
}

fn put_baseline(path: &Path, report: &Report, entries: &[Known]) -> anyhow::Result<()> {
    let text = docward_report::baseline_json(&report.tool_version, entries);
    write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))
}

fn told(name: &str, held: usize, compared: &Compared, added: usize) -> String {
    format!(
        "note: {name} contains {} ({added} added, {} removed)",
        text::plural(held as u64, "finding"),
        compared.fixed.len()
    )
}
