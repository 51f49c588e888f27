//! Adds tips to usage errors that clap cannot give, because it does not know formats, paths and
//! connection strings.

use std::{ffi::OsString, path::Path};

use clap::{
    CommandFactory as _, Error,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{cli::Cli, init::is_data};

/// Returns the error, with a better tip if there is one.
pub(crate) fn with_tip(mut error: Error, words: impl Iterator<Item = OsString>) -> Error {
    let tip = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => format(option, words),
        (ErrorKind::InvalidSubcommand, _) => match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(word)) => command(word),
            _ => None,
        },
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns a tip for `--json` instead of `--format json`, in commands with that format.
fn format(option: &str, words: impl Iterator<Item = OsString>) -> Option<String> {
    let name = option.strip_prefix("--")?.split('=').next()?;
    let mut command = Cli::command();
    for word in words {
        let Some(below) = command.find_subcommand(word) else { continue };
        command = below.clone();
    }
    let formats = command.get_arguments().find(|arg| arg.get_long() == Some("format"))?;
    let is_known = formats.get_possible_values().iter().any(|value| value.matches(name, true));
    is_known.then(|| format!("write '--format {name}'"))
}

/// Returns a tip for a source in place of a command.
fn command(word: &str) -> Option<String> {
    let path = Path::new(word);
    if is_data(word) {
        Some(format!("to audit it, write 'docward audit {word}'"))
    } else if path.exists() {
        Some(format!("to judge code, write 'docward lint {word}'"))
    } else {
        None
    }
}
