//! Standard output, standard error and files: everything that the program prints goes through here.

use std::{
    borrow::Cow,
    env,
    io::{IsTerminal, Write},
    path::Path,
};

use anyhow::Context;
use clap::ValueEnum;

use crate::secrets;

/// Nothing at or above `--fail-on`.
pub(crate) const CLEAN: u8 = 0;
/// Findings at or above `--fail-on`.
pub(crate) const FINDINGS: u8 = 1;
/// Could not run, or ran with problems.
pub(crate) const PROBLEMS: u8 = 2;

/// Columns where there is no terminal to ask.
const COLUMNS: usize = 100;

/// Narrower terminals get lines that are broken by the terminal.
const NARROWEST: usize = 40;

/// Longer lines are hard to read.
const WIDEST: usize = 120;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Writes a line to standard error, without passwords; if that is closed, nobody is listening.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", folded(&secrets::in_message(text)));
}

/// The same for a line of our own words, which may name hosts and forms of connection strings: only what was
/// given as an argument is masked.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", folded(&secrets::in_report(text)));
}

/// Text with its long lines broken at words where a person reads it; programs get lines as they are.
fn folded(text: &str) -> Cow<'_, str> {
    if !std::io::stderr().is_terminal() {
        return Cow::Borrowed(text);
    }
    let width = terminal_width();
    let fits = |line: &str| line.chars().count() <= width;
    let lines = text.split('\n').map(|line| match fits(line) {
        true => line.to_owned(),
        false => docward_report::wrap(line, width, 0, 2),
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Writes to a file, or to standard output, without passwords that were given as arguments.
pub(crate) fn put(text: &str, file: Option<&Path>) -> anyhow::Result<()> {
    let text = &secrets::in_report(text);
    match file {
        Some(path) => write_whole(path, text)
            .with_context(|| format!("cannot write the report to {}", path.display())),
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            Ok(())
        }
    }
}

/// Says that a file was written; what is no ordinary file (a pipe, a device) has its reader already.
pub(crate) fn note_written(path: &Path, quiet: bool) {
    if !quiet && path.is_file() {
        tell(&format!("wrote {}", path.display()));
    }
}

/// Writes a file so that it is there whole or not at all: beside its place first, then moved there.
/// What is no ordinary file (a pipe, a device) is written to as it is.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays a link.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let permissions = std::fs::metadata(path).map(|metadata| metadata.permissions());
    let written = std::fs::write(&beside, text).and_then(|()| {
        if let Ok(permissions) = permissions {
            std::fs::set_permissions(&beside, permissions)?;
        }
        std::fs::rename(&beside, path)
    });
    match written {
        // Where nothing new may be put, what is there may still be written to.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let _ = std::fs::remove_file(&beside);
            std::fs::write(path, text)
        }
        Err(error) => {
            let _ = std::fs::remove_file(&beside);
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether to colour: as asked, or on a terminal that did not refuse.
pub(crate) fn wants_color(color: Color, to_file: bool) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            !to_file
                && std::io::stdout().is_terminal()
                && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    }
}

/// Columns of the terminal: as the environment says, else as the terminal says, else a default.
pub(crate) fn terminal_width() -> usize {
    let columns = env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(asked).unwrap_or(COLUMNS).clamp(NARROWEST, WIDEST)
}
