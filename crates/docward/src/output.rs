//! Writes reports to standard output and to files in the requested formats.

use std::{
    env,
    path::{Path, PathBuf},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, bail};
use docward_config::FailOn;
use docward_model::{Report, Run};
use docward_report::{Expand, Format, Rendering, TerminalDetail, TerminalOptions, View};

use crate::{
    args::{Output, ShownArgs},
    config,
    terminal::{Color, note_written, put, quoted, terminal_width, wants_color},
};

/// The appearance of a report, from the command line.
pub(crate) struct Look<'a> {
    pub(crate) shown: &'a ShownArgs,
    pub(crate) output: Option<&'a Path>,
    pub(crate) color: Color,
    pub(crate) quiet: bool,
    /// Whether text for people is limited to one screen.
    pub(crate) brief: bool,
}

/// The start of a run.
pub(crate) struct Started {
    at: SystemTime,
    clock: Instant,
}

impl Started {
    pub(crate) fn now() -> Self {
        Self { at: SystemTime::now(), clock: Instant::now() }
    }

    /// Returns the run so far, with its command line without passwords.
    pub(crate) fn ended(&self) -> Run {
        let words = env::args_os().skip(1).map(|word| quoted(&word.to_string_lossy()));
        let command = std::iter::once("docward".to_owned()).chain(words).collect::<Vec<_>>();
        let seconds = self.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let started =
            i64::try_from(seconds).ok().and_then(|s| jiff::Timestamp::from_second(s).ok());
        Run {
            command: docward_uri::redact(&command.join(" ")),
            started: started
                .map_or_else(String::new, |at| at.strftime("%Y-%m-%d %H:%M").to_string()),
            millis: u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Checks that all outputs can be written before anything is read.
pub(crate) fn check(shown: &ShownArgs, output: Option<&Path>) -> anyhow::Result<()> {
    let without_file = shown.formats.format.iter().filter(|one| one.file.is_none()).count();
    if without_file > 1 {
        bail!(
            "two formats have the same destination; name a file for one of them, as in --format \
             html=report.html"
        );
    }
    if output.is_some() && without_file == 0 && !shown.formats.format.is_empty() {
        bail!("--output has no effect, because every --format names its own file; remove --output");
    }
    for code in shown.expand.iter().filter(|code| *code != "all") {
        config::known_selector(code)?;
    }
    // Only rule codes have the form of a letter and three digits.
    let is_code = |word: &&String| {
        let (letter, digits) = word.split_at_checked(1).unwrap_or(("", ""));
        letter.bytes().all(|b| b.is_ascii_uppercase())
            && digits.len() == 3
            && digits.bytes().all(|b| b.is_ascii_digit())
    };
    for code in shown.show.iter().filter(is_code) {
        config::known_selector(code).with_context(|| format!("--show {code}"))?;
    }
    Ok(())
}

/// Returns the path of a file that need not exist, without links.
fn resolved(file: &Path) -> PathBuf {
    let within = || {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(file.file_name()?))
    };
    file.canonicalize().ok().or_else(within).unwrap_or_else(|| file.to_owned())
}

/// Refuses output files that would replace a source, the settings or each other.
pub(crate) fn spare<'f>(
    files: impl IntoIterator<Item = &'f Path>,
    sources: &[String],
) -> anyhow::Result<()> {
    // Reports of earlier runs may be in a directory that is a source, but BSON is always data.
    let is_bson = |file: &Path| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".bson") || name.ends_with(".bson.gz")
    };
    let is = |file: &Path, other: &Path| {
        let (Ok(file), Ok(other)) = (file.canonicalize(), other.canonicalize()) else {
            return false;
        };
        file.is_file() && (file == other || is_bson(&file) && file.starts_with(other))
    };
    let mut written = Vec::new();
    for file in files {
        let shown = file.display();
        let path = resolved(file);
        if written.contains(&path) {
            bail!("two outputs would be written to {shown}; name another file for one of them");
        }
        written.push(path);
        if sources.iter().any(|source| is(file, Path::new(source))) {
            bail!("{shown} is a source, and the output would replace it; write to another file");
        }
        if file.file_name().is_some_and(|name| name == "docward.toml") && file.is_file() {
            bail!(
                "{shown} contains settings, and the output would replace them; write to another \
                 file"
            );
        }
    }
    Ok(())
}

/// Writes a report to each output. If all formats go to files, the terminal still gets a summary. `finish` completes
/// each text; it gets the format, the text, and whether to colour.
pub(crate) fn write_with(
    report: &Report,
    look: &Look<'_>,
    view: View,
    fail_on: FailOn,
    finish: impl Fn(Format, String, bool) -> String,
) -> anyhow::Result<()> {
    let terminal = Output { format: Format::Terminal, file: None };
    let formats = &look.shown.formats.format;
    let is_for_people = formats.iter().all(|one| one.file.is_some());
    let outputs = formats.iter().chain(is_for_people.then_some(&terminal));
    for one in outputs {
        let file = one.file.as_deref().or(look.output);
        let text = render(report, look, view, fail_on, one.format, file.is_some());
        let color = wants_color(look.color, file.is_some());
        put(&finish(one.format, text, color), file)?;
        if let Some(file) = file {
            note_written(file, look.quiet);
        }
    }
    Ok(())
}

/// Returns the report as text.
fn render(
    report: &Report,
    look: &Look<'_>,
    view: View,
    fail_on: FailOn,
    format: Format,
    to_file: bool,
) -> String {
    let shown = look.shown;
    let expand = match shown.expand.as_slice() {
        _ if !shown.show.is_empty() => Expand::All,
        [] => Expand::No,
        [all] if all == "all" => Expand::All,
        rules => Expand::Rules(rules.to_vec()),
    };
    let is_full = shown.verbose || !shown.show.is_empty() || !shown.expand.is_empty();
    let detail = if shown.statistics {
        TerminalDetail::Statistics
    } else if look.brief && !is_full {
        TerminalDetail::Overview
    } else {
        TerminalDetail::Full
    };
    let terminal = TerminalOptions {
        detail,
        show: shown.show.clone(),
        color: wants_color(look.color, to_file),
        width: terminal_width(),
        expand,
        quiet: look.quiet,
    };
    let rules = config::metas();
    let site = config::site();
    let fails_from = fail_on.least();
    let how = Rendering { format, view, terminal, fails_from, rules: &rules, site: &site };
    docward_report::render(report, &how)
}
