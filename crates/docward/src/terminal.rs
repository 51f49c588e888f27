//! Writes to standard output, standard error and files. All output of the program passes through
//! this module.

use std::{
    borrow::Cow,
    env,
    io::{IsTerminal, Write},
    path::Path,
};

use anyhow::Context;
use clap::ValueEnum;

use crate::secrets;

/// No finding at or above `--fail-on`.
pub(crate) const CLEAN: u8 = 0;
/// At least one finding at or above `--fail-on`.
pub(crate) const FINDINGS: u8 = 1;
/// The run failed or had problems.
pub(crate) const PROBLEMS: u8 = 2;

/// The assumed width without a terminal.
const COLUMNS: usize = 100;

/// The minimum width. On narrower terminals, the terminal itself breaks the lines.
const NARROWEST: usize = 40;

/// The maximum width. It keeps lines readable on a terminal as wide as the screen.
const WIDEST: usize = 200;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Writes a line to standard error without passwords. Errors are ignored, because there is no other
/// place to report them.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", folded(&secrets::in_message(text)));
}

/// Writes a line of Docward's own words to standard error. The words may contain hosts and forms of
/// connection strings, so only arguments are masked.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", folded(&secrets::in_report(text)));
}

/// Wraps long lines at words on a terminal. Programs get unwrapped lines.
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

/// Writes to a file or to standard output, without passwords from arguments.
pub(crate) fn put(text: &str, file: Option<&Path>) -> anyhow::Result<()> {
    let text = &secrets::in_report(text);
    match file {
        Some(path) => {
            write_whole(path, text).with_context(|| format!("cannot write to {}", path.display()))
        }
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            Ok(())
        }
    }
}

/// Prints that a file was written. Prints nothing for a pipe or a device, which already has a
/// reader.
pub(crate) fn note_written(path: &Path, quiet: bool) {
    if !quiet && path.is_file() {
        tell(&format!("wrote {}", path.display()));
    }
}

/// Writes a file atomically: first next to its place, then moved there. Writes directly to a pipe
/// or a device.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    // A link must stay a link.
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
        // Without permission to create a file, writing the existing one may still work.
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

/// Quotes a word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether to use colours: as requested, or on a terminal that does not forbid them.
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

/// Returns the width of the terminal, from the environment, the terminal or a default.
pub(crate) fn terminal_width() -> usize {
    let columns = env::var("COLUMNS").ok().and_then(|c| c.parse::<usize>().ok());
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(asked).unwrap_or(COLUMNS).clamp(NARROWEST, WIDEST)
}
