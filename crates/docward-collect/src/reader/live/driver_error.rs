//! Errors of the driver, classified by what they mean for reading on.

use std::time::Duration;

use docward_uri::servers_told;
use mongodb::error::{Error, ErrorKind};

/// Why there is no answer to a question, when neither the server nor the driver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// The run was stopped, or its time is over.
    Stopped,
    /// The server said nothing for so long.
    Silent(Duration),
    /// The server had not answered others in time.
    NotAsked,
}

/// An error of Docward's own, in the driver's clothes.
pub(super) fn unanswered(why: Unanswered) -> Error {
    Error::custom(why)
}

/// Whether the server said nothing for too long.
pub(super) fn is_silent(error: &Error) -> bool {
    matches!(error.get_custom(), Some(Unanswered::Silent(_)))
}

/// The code of a server's answer.
pub(super) fn code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        _ => None,
    }
}

/// Whether the server said no for lack of a privilege.
pub(super) fn is_forbidden(error: &Error) -> bool {
    code(error) == Some(13)
}

/// Whether what was asked about is gone, or never was: dropped while reading.
pub(super) fn is_gone(error: &Error) -> bool {
    match &*error.kind {
        // A cursor on a collection that was dropped ends with its plan.
        ErrorKind::Command(command) if command.code == 175 => command.message.contains("dropped"),
        _ => code(error) == Some(26),
    }
}

/// Whether a capped collection has replaced the documents that were to be read next.
pub(super) fn is_overtaken(error: &Error) -> bool {
    code(error) == Some(136)
}

/// Whether the same question may get an answer later or elsewhere: the network failed, or the
/// server changed its state.
pub(super) fn is_passing(error: &Error) -> bool {
    match &*error.kind {
        ErrorKind::Io(_)
        | ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::ServerSelection { .. } => true,
        // Host unreachable or not found, network time-out, shut down, stepped down, recovering,
        // cursor lost or killed with its plan.
        ErrorKind::Command(command) => matches!(
            command.code,
            6 | 7 | 43 | 89 | 91 | 175 | 189 | 237 | 9001 | 10107 | 11600 | 11602 | 13435 | 13436
        ),
        _ => false,
    }
}

/// Whether the driver has looked for the server as long as it may.
pub(super) fn is_unreachable(error: &Error) -> bool {
    matches!(&*error.kind, ErrorKind::ServerSelection { .. })
}

/// The driver's words about one member: those about the others help nobody to find out what is the matter.
pub(super) fn words_of(error: &Error, member: &str) -> String {
    let all = words(error);
    let about = |part: &str| part.strip_prefix(member)?.strip_prefix(": ").map(str::to_owned);
    all.split("; ").find_map(about).unwrap_or(all)
}

/// The driver's words without its decoration.
pub(super) fn words(error: &Error) -> String {
    match error.get_custom() {
        Some(Unanswered::Stopped) => return "the run was stopped".to_owned(),
        Some(Unanswered::Silent(time)) => {
            return format!("the server has not answered for {} s", time.as_secs());
        }
        Some(Unanswered::NotAsked) => {
            return "not asked: the server did not answer the questions before".to_owned();
        }
        None => {}
    }
    match &*error.kind {
        ErrorKind::Command(command) => format!("{} ({})", command.message, command.code_name),
        ErrorKind::ServerSelection { message, .. } => servers_told(message),
        kind => kind.to_string(),
    }
}
