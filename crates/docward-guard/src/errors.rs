//! Errors that the guard sends to clients: its own, and errors of servers that it has to change first.

use bson::{Bson, Document, RawDocumentBuf, rawdoc};

/// The error codes of MongoDB servers that the guard uses.
pub(crate) mod code {
    pub(crate) const BAD_VALUE: i32 = 2;
    pub(crate) const HOST_UNREACHABLE: i32 = 6;
    pub(crate) const FAILED_TO_PARSE: i32 = 9;
    pub(crate) const UNAUTHORIZED: i32 = 13;
    pub(crate) const TYPE_MISMATCH: i32 = 14;
    pub(crate) const PROTOCOL_ERROR: i32 = 17;
    pub(crate) const AUTHENTICATION_FAILED: i32 = 18;
    pub(crate) const CURSOR_NOT_FOUND: i32 = 43;
    pub(crate) const MAX_TIME_EXPIRED: i32 = 50;
    pub(crate) const SHUTDOWN: i32 = 91;
    pub(crate) const NO_SERVER: i32 = 133;
    pub(crate) const STALENESS: i32 = 160;
    pub(crate) const NO_TRANSACTION: i32 = 251;
    pub(crate) const API_VERSION: i32 = 322;
    pub(crate) const INTERRUPTED: i32 = 11601;
    pub(crate) const UNSUPPORTED_OP_QUERY: i32 = 352;
    pub(crate) const MECHANISM_UNAVAILABLE: i32 = 334;
    pub(crate) const AWAITS_WITHOUT_VERSION: i32 = 31368;
    pub(crate) const MISSING_FIELD: i32 = 40414;
    pub(crate) const GET_LAST_ERROR: i32 = 5_739_000;
    pub(crate) const POOL: i32 = 450;
    pub(crate) const RATE: i32 = 462;
    /// The guard never sends this code. It closes the client connection instead, as an unavailable member would.
    pub(crate) const NO_MEMBER: i32 = -1;
}

/// Error labels that tell drivers how to react.
pub(crate) mod label {
    pub(crate) const RETRYABLE_WRITE: &str = "RetryableWriteError";
    pub(crate) const NO_WRITES: &str = "NoWritesPerformed";
    pub(crate) const TRANSIENT: &str = "TransientTransactionError";
    pub(crate) const OVERLOADED: &str = "SystemOverloadedError";
    pub(crate) const RETRYABLE: &str = "RetryableError";
    pub(crate) const RESUMABLE: &str = "ResumableChangeStreamError";
}

fn name(code: i32) -> &'static str {
    match code {
        code::BAD_VALUE => "BadValue",
        code::HOST_UNREACHABLE => "HostUnreachable",
        code::FAILED_TO_PARSE => "FailedToParse",
        code::UNAUTHORIZED => "Unauthorized",
        code::AUTHENTICATION_FAILED => "AuthenticationFailed",
        code::CURSOR_NOT_FOUND => "CursorNotFound",
        code::MAX_TIME_EXPIRED => "MaxTimeMSExpired",
        code::TYPE_MISMATCH => "TypeMismatch",
        code::PROTOCOL_ERROR => "ProtocolError",
        code::STALENESS => "MaxStalenessOutOfRange",
        code::NO_TRANSACTION => "NoSuchTransaction",
        code::API_VERSION => "APIVersionError",
        code::AWAITS_WITHOUT_VERSION => "Location31368",
        code::MISSING_FIELD => "Location40414",
        code::GET_LAST_ERROR => "Location5739000",
        code::SHUTDOWN => "ShutdownInProgress",
        code::NO_SERVER => "FailedToSatisfyReadPreference",
        code::INTERRUPTED => "Interrupted",
        code::UNSUPPORTED_OP_QUERY => "UnsupportedOpQueryCommand",
        code::MECHANISM_UNAVAILABLE => "MechanismUnavailable",
        code::POOL => "PooledConnectionAcquisitionRejected",
        code::RATE => "IngressRequestRateLimitExceeded",
        _ => "UnknownError",
    }
}

/// An error that the guard returns to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) errmsg: String,
    pub(crate) labels: Vec<&'static str>,
    /// The time that drivers should wait before they retry, in milliseconds.
    pub(crate) backoff_ms: Option<i32>,
}

impl Failure {
    pub(crate) fn new(code: i32, errmsg: impl Into<String>) -> Self {
        Self { code, errmsg: errmsg.into(), labels: Vec::new(), backoff_ms: None }
    }

    pub(crate) fn with(mut self, labels: &[&'static str]) -> Self {
        self.labels.extend(labels);
        self
    }

    /// Returns the reply with this error.
    pub(crate) fn document(&self) -> RawDocumentBuf {
        let mut reply = rawdoc! {
            "ok": 0.0, "errmsg": self.errmsg.as_str(), "code": self.code, "codeName": name(self.code),
        };
        if !self.labels.is_empty() {
            let mut labels = bson::RawArrayBuf::new();
            self.labels.iter().for_each(|label| labels.push(*label));
            reply.append(bson::raw::cstr!("errorLabels"), labels);
        }
        if let Some(wait) = self.backoff_ms {
            reply.append(bson::raw::cstr!("baseBackoffMS"), wait);
        }
        reply
    }
}

/// Whether an error code means that the server is not primary, is recovering or is shutting down. Drivers react to
/// these codes by looking for a new primary.
pub(crate) fn is_state_change(code: i64) -> bool {
    matches!(code, 91 | 189 | 10_058 | 10_107 | 11_600 | 11_602 | 13_435 | 13_436)
}

/// Phrases in error messages by which old drivers detect such a state change.
const TELLING: [&str; 3] = ["not master", "node is recovering", "not primary"];

/// Replaces state change errors in a reply, so that drivers do not treat the guard as a member that stepped down. Keeps
/// the labels, which tell drivers whether to retry.
pub(crate) fn hide_state_change(reply: &mut Document) {
    hide(reply);
    reply.remove("topologyVersion");
    if let Ok(concern) = reply.get_document_mut("writeConcernError") {
        hide(concern);
    }
    if let Ok(errors) = reply.get_array_mut("writeErrors") {
        errors.iter_mut().filter_map(Bson::as_document_mut).for_each(hide);
    }
}

fn hide(error: &mut Document) {
    let is_change = match error.get("code") {
        Some(Bson::Int32(code)) => is_state_change(i64::from(*code)),
        Some(Bson::Int64(code)) => is_state_change(*code),
        _ => false,
    };
    if is_change {
        error.insert("code", code::HOST_UNREACHABLE);
        if error.contains_key("codeName") {
            error.insert("codeName", name(code::HOST_UNREACHABLE));
        }
    }
    if let Ok(text) = error.get_str("errmsg") {
        let lower = text.to_ascii_lowercase();
        if is_change || TELLING.iter().any(|word| lower.contains(word)) {
            let kept = TELLING.iter().fold(text.to_owned(), |text, word| without(&text, word));
            error.insert("errmsg", format!("docward: the server changed its role: {kept}"));
        }
    }
}

/// Returns a text with a phrase replaced, ignoring ASCII case.
fn without(text: &str, phrase: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut from) = (String::new(), 0);
    for (at, _) in lower.match_indices(phrase) {
        out.push_str(&text[from..at]);
        out.push_str("server changed");
        from = at + phrase.len();
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn errors_have_the_format_of_server_errors() {
        let failure =
            Failure::new(code::POOL, "no connection").with(&[label::OVERLOADED, label::RETRYABLE]);
        let reply = Document::try_from(failure.document()).unwrap();
        assert_eq!(
            reply,
            doc! {
                "ok": 0.0, "errmsg": "no connection", "code": 450,
                "codeName": "PooledConnectionAcquisitionRejected",
                "errorLabels": ["SystemOverloadedError", "RetryableError"],
            }
        );
    }

    #[test]
    fn state_changes_are_hidden_from_drivers() {
        let mut reply = doc! {
            "ok": 0.0, "errmsg": "not primary", "code": 10107, "codeName": "NotWritablePrimary",
            "errorLabels": ["RetryableWriteError"], "topologyVersion": { "counter": 1_i64 },
        };
        hide_state_change(&mut reply);
        assert_eq!(reply.get_i32("code").ok(), Some(6));
        assert_eq!(reply.get_str("codeName").ok(), Some("HostUnreachable"));
        assert!(!reply.get_str("errmsg").unwrap().contains("not primary"));
        assert!(reply.contains_key("errorLabels") && !reply.contains_key("topologyVersion"));
        let mut inner = doc! {
            "ok": 1.0, "n": 1,
            "writeConcernError": { "code": 91, "codeName": "ShutdownInProgress", "errmsg": "bye" },
            "writeErrors": [{ "index": 0, "code": 189, "errmsg": "stepped down" }, { "index": 1, "code": 11000, "errmsg": "dup" }],
        };
        hide_state_change(&mut inner);
        assert_eq!(inner.get_document("writeConcernError").unwrap().get_i32("code").ok(), Some(6));
        let errors = inner.get_array("writeErrors").unwrap();
        let codes: Vec<_> =
            errors.iter().map(|e| e.as_document().unwrap().get_i32("code").unwrap()).collect();
        assert_eq!(codes, [6, 11000]);
    }
}
