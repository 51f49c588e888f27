//! What leaves the program repeats no password that was given to it on the command line, whatever command it was
//! given to and however the connection string was written.

use std::{borrow::Cow, path::Path, sync::OnceLock};

use anyhow::bail;
use docward_uri::{lookalike, redact, redact_argument};

/// Arguments that may hold a password, in the forms in which they may be printed, with what is printed instead.
static MASKS: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Takes note of the arguments of this run.
pub(crate) fn remember(arguments: impl IntoIterator<Item = std::ffi::OsString>) {
    let mut masks = Vec::new();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let value = argument.strip_prefix("--").and_then(|option| option.split_once('='));
        let value = value.map_or(argument.as_ref(), |(_, value)| value);
        let bare = value.trim().trim_matches(['"', '\'', '`', '<', '>']);
        for text in [value, bare] {
            let masked = redact_argument(text);
            if masked == text {
                continue;
            }
            // Paths lose the second slash; formats escape what has a meaning in them.
            for form in [text.to_owned(), text.replace("//", "/"), json(text), html(text)] {
                masks.push((form, masked.clone()));
            }
        }
    }
    // The longest first: an argument may be a part of another one.
    masks.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    masks.dedup();
    let _ = MASKS.set(masks);
}

fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_matches('"').to_owned()
}

fn html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;")
}

/// A report without arguments that may hold a password. All else in it stays: data has an `@` of its own.
pub(crate) fn in_report(text: &str) -> Cow<'_, str> {
    let masks = MASKS.get().map_or(&[][..], Vec::as_slice);
    let mut text = Cow::Borrowed(text);
    for (argument, masked) in masks {
        if text.contains(argument.as_str()) {
            text = Cow::Owned(text.replace(argument.as_str(), masked));
        }
    }
    text
}

/// A message without anything that may be a password.
pub(crate) fn in_message(text: &str) -> String {
    redact(&in_report(text))
}

/// Refuses an argument that was meant to be a connection string and is written wrongly, unless a file has that
/// name. `what` says which argument it is.
pub(crate) fn refuse_lookalike(argument: &str, what: &str) -> anyhow::Result<()> {
    match lookalike(argument) {
        Some(fault) if !Path::new(argument).exists() => bail!("{what}: {fault}"),
        _ => Ok(()),
    }
}

/// Refuses an argument that has to be a connection string and is none.
pub(crate) fn expect_connection_string(argument: &str, what: &str) -> anyhow::Result<()> {
    match lookalike(argument) {
        Some(docward_uri::Lookalike::Host(host)) => bail!("{what}: write mongodb://{host}"),
        Some(fault) => bail!("{what}: {fault}"),
        None if !docward_collect::is_uri(argument) => {
            bail!(
                "{what} expects a connection string that begins with mongodb:// or mongodb+srv://"
            )
        }
        None => Ok(()),
    }
}
