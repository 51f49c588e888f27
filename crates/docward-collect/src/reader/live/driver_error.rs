//! Errors of the driver, classified by their consequence for reading.

use std::time::Duration;

use docward_uri::server_errors;
use mongodb::error::{Error, ErrorKind};

/// The reason why a request has no response, if neither the server nor the driver gives one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The run was stopped, or its time limit is reached.
    Stopped,
    /// The server did not respond for this long.
    Silent(Duration),
    /// Not sent, because the server did not answer earlier requests in time.
    NotAsked,
}

/// Wraps an error of Docward in the driver's error type.
pub(super) fn unanswered(why: Unanswered) -> Error {
    Error::custom(why)
}

/// Returns whether the server did not respond for too long.
pub(super) fn is_silent(error: &Error) -> bool {
    matches!(error.get_custom(), Some(Unanswered::Silent(_)))
}

/// The error code of a server's response.
pub(super) fn code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// Returns whether the server refused because a privilege is missing.
pub(super) fn is_forbidden(error: &Error) -> bool {
    code(error) == Some(13)
}

/// Returns whether the target does not exist, or was dropped or renamed while reading.
pub(super) fn is_gone(error: &Error) -> bool {
    match &*error.kind {
        // A cursor on such a collection fails because its plan was killed.
        ErrorKind::Command(command) if command.code == 175 => {
            ["dropped", "renamed"].iter().any(|change| command.message.contains(change))
        }
        _ => code(error) == Some(26),
    }
}

/// Returns whether a reading of documents can go on with another cursor.
pub(super) fn can_be_continued(error: &Error) -> bool {
    // One reply took longer than the server allows.
    let is_late = matches!(code(error), Some(50 | 262));
    (is_passing(error) && !is_gone(error)) || is_late
}

/// Returns whether a capped collection has overwritten the documents that were to be read next.
pub(super) fn is_overtaken(error: &Error) -> bool {
    code(error) == Some(136)
}

/// Returns whether the same request may succeed later or on another member: the network failed, or
/// the server changed its state.
pub(super) fn is_passing(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(_)
        | ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::ServerSelection { .. } => true,
        // Host unreachable or not found, network time-out, shutdown, step-down, recovery, cursor
        // lost or killed with its plan.
        ErrorKind::Command(command) => matches!(
            command.code,
            6 | 7 | 43 | 89 | 91 | 175 | 189 | 237 | 9001 | 10107 | 11600 | 11602 | 13435 | 13436
        ),
        _ => false,
    }
}

/// Returns whether the driver gave up looking for the server after its time limit.
pub(super) fn is_unreachable(error: &Error) -> bool {
    matches!(&*error.kind, ErrorKind::ServerSelection { .. })
}

/// The part of the driver's message about one member; the parts about other members would only
/// confuse.
pub(super) fn words_of(error: &Error, member: &str) -> String {
    let all = words(error);
    let about = |part: &str| part.strip_prefix(member)?.strip_prefix(": ").map(str::to_owned);
    all.split("; ").find_map(about).unwrap_or(all)
}

/// The driver's message without its decoration.
pub(super) fn words(error: &Error) -> String {
    match error.get_custom() {
        Some(Unanswered::Stopped) => return "the run was stopped".to_owned(),
        Some(Unanswered::Silent(time)) => {
            return format!("the server has not answered for {} s", time.as_secs());
        }
        Some(Unanswered::NotAsked) => {
            return "skipped, because the server did not answer earlier requests".to_owned();
        }
        None => {}
    }
    match &*error.kind {
        ErrorKind::Command(command) => format!("{} ({})", command.message, command.code_name),
        ErrorKind::ServerSelection { message, .. } => server_errors(message),
        kind => kind.to_string(),
    }
}
