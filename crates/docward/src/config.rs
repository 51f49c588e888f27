//! Finds and reads `docward.toml`, and lays the command line over it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use docward_config::{Config, Diagnostic};
use docward_model::{Problem, RuleMeta, Settings};
use docward_rules::RULES;

use crate::{args::JudgingArgs, audit, complain};

/// Metadata of every rule.
pub(crate) fn metas() -> Vec<&'static RuleMeta> {
    RULES.iter().map(|rule| &rule.meta).collect()
}

/// The settings of a file, or of the nearest `docward.toml`, or the defaults.
pub(crate) fn load(
    file: Option<&Path>,
    near: &[String],
) -> anyhow::Result<(Config, Vec<Diagnostic>)> {
    let found = match file {
        Some(path) => Some(path.to_owned()),
        None => nearest(near),
    };
    let Some(path) = found else {
        return Ok(docward_config::parse("", "docward.toml", &metas()));
    };
    // Reports name it, and are read on other machines.
    let here = env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).map_or_else(|_| path.clone(), Path::to_owned);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read the settings in {}", path.display()))?;
    let (mut config, diagnostics) =
        docward_config::parse(&text, &path.display().to_string(), &metas());
    // A name in the file is relative to the file.
    if let (Some(baseline), Some(directory)) = (&mut config.baseline, path.parent()) {
        *baseline = directory.join(&*baseline).display().to_string();
    }
    Ok((config, diagnostics))
}

/// The settings alone, with notes about them told; a file that cannot be used ends the command.
pub(crate) fn settings(file: Option<&Path>, near: &[String]) -> anyhow::Result<Settings> {
    let (Config { settings, .. }, diagnostics) = load(file, near)?;
    let mut problems: Vec<Problem> = Vec::new();
    tell(&diagnostics, &mut problems, false);
    match problems.first() {
        Some(problem) => bail!("{}", problem.message),
        None => Ok(settings),
    }
}

/// `docward.toml` of the first source that has one in its directory, else in the working directory or
/// above it, else beside the directory of a source.
fn nearest(sources: &[String]) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = sources
        .iter()
        .filter(|source| !source.starts_with("mongodb://") && !source.starts_with("mongodb+srv://"))
        .filter_map(|source| {
            let path = Path::new(source);
            if path.is_dir() { Some(path.to_owned()) } else { path.parent().map(Path::to_owned) }
        })
        .collect();
    // True paths, because `.` and a link name no directory above them.
    let above =
        directories.iter().filter_map(|d| Some(d.canonicalize().ok()?.parent()?.to_owned()));
    let here = env::current_dir().unwrap_or_default();
    directories
        .iter()
        .map(PathBuf::as_path)
        .chain(here.ancestors())
        .map(Path::to_owned)
        .chain(above)
        .map(|directory| directory.join("docward.toml"))
        .find(|file| file.is_file())
}

/// A code, family or name that means a rule, or a usage error that says what was meant.
pub(crate) fn known_selector(selector: &str) -> anyhow::Result<()> {
    match docward_config::selector_problem(selector, &metas()) {
        Some((message, hint)) => bail!("{message}; {hint}"),
        None => Ok(()),
    }
}

/// Settings with the command line laid over them; unknown selectors are usage errors.
pub(crate) fn with_arguments(mut config: Config, args: &JudgingArgs) -> anyhow::Result<Config> {
    for selector in args.select.iter().chain(&args.ignore) {
        known_selector(selector)?;
    }
    if !args.select.is_empty() {
        config.settings.select.clone_from(&args.select);
    }
    config.settings.ignore.extend(args.ignore.iter().cloned());
    config.settings.profile = args.profile.unwrap_or(config.settings.profile);
    config.fail_on = args.fail_on.or(config.fail_on);
    // Every command that judges asks suppressions for their last day.
    config.settings.today = audit::today();
    Ok(config)
}

/// Tells what is wrong with a settings file: problems where it could not be used, else notes.
pub(crate) fn tell(diagnostics: &[Diagnostic], problems: &mut Vec<Problem>, quiet: bool) {
    for diagnostic in diagnostics {
        if diagnostic.fatal {
            let (source, message) = (diagnostic.file.clone(), diagnostic.to_string());
            problems.push(Problem { source, message });
        } else if !quiet {
            complain(&format!("note: {diagnostic}"));
        }
    }
}
