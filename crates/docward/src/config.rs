//! Finds and reads `docward.toml`, and applies the options of the command line.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use docward_config::{Config, Diagnostic};
use docward_model::{PEDANTIC, RuleMeta, Settings, Site};
use docward_rules::RULES;

use crate::{args::JudgingArgs, terminal::complain};

/// The variable with the address of the site; at build time, its default.
const SITE: &str = "DOCWARD_DOCS_URL";

/// Returns the site to which help links lead. Without one they name `docward explain`.
pub(crate) fn site() -> Site {
    static FOUND: OnceLock<Site> = OnceLock::new();
    let find = || {
        let given = env::var(SITE).ok().or(option_env!("DOCWARD_DOCS_URL").map(str::to_owned));
        let given = given.filter(|address| !address.is_empty())?;
        let site = Site::at(&given);
        if site.is_none() {
            complain(&format!(
                "note: {SITE} is ignored, because it is not a URL such as https://docs.example.org"
            ));
        }
        site
    };
    FOUND.get_or_init(|| find().unwrap_or_default()).clone()
}

/// Returns the metadata of every rule.
pub(crate) fn metas() -> Vec<&'static RuleMeta> {
    RULES.iter().map(|rule| &rule.meta).collect()
}

/// Returns the settings of a file, of the nearest `docward.toml`, or the defaults. A file with
/// mistakes ends the command before anything is read, because a run with other settings would
/// mislead. Notes on valid settings are printed unless `quiet` is set.
pub(crate) fn load(file: Option<&Path>, near: &[String], quiet: bool) -> anyhow::Result<Config> {
    let found = match file {
        Some(path) => Some(path.to_owned()),
        None => nearest(near),
    };
    let Some(path) = found else {
        return Ok(Config::default());
    };
    // Reports contain the path and are read on other machines, so it is relative.
    let here = env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).map_or_else(|_| path.clone(), Path::to_owned);
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read the settings in {}", path.display()))?;
    let (mut config, diagnostics) =
        docward_config::parse(&text, &path.display().to_string(), &metas());
    // Names in the file are relative to the file.
    if let Some(directory) = path.parent() {
        let guard = &mut config.guard;
        for name in [
            &mut config.baseline,
            &mut guard.users,
            &mut guard.tls_certificate,
            &mut guard.tls_client_ca,
        ] {
            *name = name.take().map(|name| directory.join(name).display().to_string());
        }
    }
    let (fatal, remarks): (Vec<Diagnostic>, Vec<Diagnostic>) =
        diagnostics.into_iter().partition(|diagnostic| diagnostic.fatal);
    if !quiet {
        remarks.iter().for_each(|remark| complain(&format!("note: {remark}")));
    }
    if !fatal.is_empty() {
        let lines: Vec<String> = fatal.iter().map(ToString::to_string).collect();
        bail!("{}", lines.join("\nerror: "));
    }
    Ok(config)
}

/// Returns only the settings.
pub(crate) fn settings(file: Option<&Path>, near: &[String]) -> anyhow::Result<Settings> {
    Ok(load(file, near, false)?.settings)
}

/// Returns the nearest `docward.toml`. It looks in these places, in order:
///
/// - the directory of the first source that has one
/// - the working directory, and the directories above it
/// - next to the directory of a source
fn nearest(sources: &[String]) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = sources
        .iter()
        .filter(|source| !source.starts_with("mongodb://") && !source.starts_with("mongodb+srv://"))
        .filter_map(|source| {
            let path = Path::new(source);
            if path.is_dir() { Some(path.to_owned()) } else { path.parent().map(Path::to_owned) }
        })
        .collect();
    // Resolves paths, because `.` and links do not show their parent directories.
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

/// Checks that a selector matches a rule by code, family or name. The usage error suggests what may
/// have been meant.
pub(crate) fn known_selector(selector: &str) -> anyhow::Result<()> {
    match docward_config::selector_problem(selector, &metas()) {
        Some((message, hint)) => bail!("{message}; {hint}"),
        None => Ok(()),
    }
}

/// Returns settings with the options of the command line applied. Unknown selectors are usage
/// errors.
pub(crate) fn with_arguments(mut config: Config, args: &JudgingArgs) -> anyhow::Result<Config> {
    let of_rules = args.select.iter().filter(|word| *word != PEDANTIC);
    for selector in of_rules.chain(&args.ignore) {
        known_selector(selector)?;
    }
    if !args.select.is_empty() {
        config.settings.set_select(args.select.clone());
    }
    config.settings.ignore.extend(args.ignore.iter().cloned());
    config.profile = args.profile.or(config.profile);
    config.settings.profile = config.profile.unwrap_or_default();
    config.fail_on = args.fail_on.or(config.fail_on);
    // Every judging command needs the date, because suppressions expire.
    config.settings.today = today();
    Ok(config)
}

/// Returns the date of the run, or `None` if the clock is set before 1970.
pub(crate) fn today() -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    docward_rules::facts::text::date(i64::try_from(now.as_millis()).ok()?)
}
