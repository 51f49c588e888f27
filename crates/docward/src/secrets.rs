//! Removes passwords of the command line from everything that the program prints. This works for
//! every command and every notation of a connection string.

use std::{borrow::Cow, path::Path, sync::OnceLock};

use anyhow::bail;
use docward_uri::{lookalike, redact, redact_argument};

/// Arguments that may contain a password, in every form that may be printed, each with its
/// replacement.
static MASKS: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Stores the arguments of this run.
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
            // Paths lose the second slash, and formats escape or replace special characters.
            let plain = text.replace(char::is_control, "\u{fffd}");
            for form in [text.to_owned(), text.replace("//", "/"), json(text), html(text), plain] {
                masks.push((form, masked.clone()));
            }
        }
    }
    // The longest comes first, because an argument may be part of another one.
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

/// Masks arguments that may contain a password in a report. Everything else stays unchanged,
/// because data may contain an `@`.
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

/// Masks everything in a message that may be a password.
pub(crate) fn in_message(text: &str) -> String {
    redact(&in_report(text))
}

/// Refuses an argument that looks like a misspelt connection string, unless a file has that name.
/// `what` names the argument.
pub(crate) fn refuse_lookalike(argument: &str, what: &str) -> anyhow::Result<()> {
    match lookalike(argument) {
        Some(fault) if !Path::new(argument).exists() => bail!("{what}: {fault}"),
        _ => Ok(()),
    }
}

/// Refuses an argument that must be a connection string but is not.
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
