//! Parses replies of servers. One pass over the top-level fields finds the fields that the guard
//! must change or react to.

use bson::{Document, RawDocument};
use docward_wire::{Fault, Flags, Header, Kind, Message, Span, message};

use crate::errors::{is_state_change, label};

/// The parts of a reply that the guard uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyFacts {
    /// Whether the command succeeded.
    pub(crate) is_ok: bool,
    /// The error code, if the command failed.
    pub(crate) code: Option<i64>,
    /// The id of a cursor that stays open. The first number is the offset of the id in the frame.
    pub(crate) cursor: Option<(usize, i64)>,
    /// Whether the reply has a cursor, open or exhausted.
    pub(crate) has_cursor: bool,
    /// Whether an error in the reply means that the server changed its role.
    pub(crate) changes_state: bool,
    /// Whether another reply follows.
    pub(crate) has_more: bool,
    /// Whether the reply has the label `TransientTransactionError`.
    pub(crate) is_transient: bool,
    /// Whether the reply has the label `RetryableWriteError`.
    pub(crate) is_retryable: bool,
    /// The cluster time, and the position of `$clusterTime` in the frame.
    pub(crate) cluster_time: Option<(u64, Span)>,
}

/// Parses a reply.
pub(crate) fn look(frame: &[u8]) -> Result<ReplyFacts, Fault> {
    let parsed = Message::parse(frame)?;
    let offset = parsed.body.start;
    let mut seen =
        ReplyFacts { has_more: parsed.flags.has(Flags::MORE_TO_COME), ..ReplyFacts::default() };
    for element in parsed.body(frame)?.elements() {
        let element = element?;
        match element.name {
            b"ok" => seen.is_ok = element.is_true(),
            b"code" => {
                seen.code = element.integer();
                seen.changes_state |= seen.code.is_some_and(is_state_change);
            }
            b"cursor" => {
                let id = element.document().map(|cursor| cursor.get("id")).transpose()?.flatten();
                seen.has_cursor = id.is_some();
                // Servers send ids as 64-bit integers. The id 0 means that the cursor is exhausted.
                let open = id.filter(|id| id.kind == Kind::Int64);
                let open = open.and_then(|id| Some((offset + element.at + id.at, id.integer()?)));
                seen.cursor = open.filter(|(_, id)| *id != 0);
            }
            b"writeConcernError" => {
                let inner = element.document().map(|e| e.get("code")).transpose()?.flatten();
                let code = inner.and_then(|code| code.integer());
                seen.changes_state |= code.is_some_and(is_state_change);
            }
            b"writeErrors" => {
                let Some(errors) = element.document() else { continue };
                for error in errors.elements() {
                    let Some(error) = error?.document() else { continue };
                    let code = error.get("code")?.and_then(|code| code.integer());
                    seen.changes_state |= code.is_some_and(is_state_change);
                }
            }
            b"errorLabels" => {
                let Some(labels) = element.document() else { continue };
                for label in labels.elements() {
                    let label = label?.text();
                    seen.is_transient |= label == Some(label::TRANSIENT);
                    seen.is_retryable |= label == Some(label::RETRYABLE_WRITE);
                }
            }
            b"$clusterTime" => {
                let time = element.document().map(|time| time.get("clusterTime")).transpose()?;
                let time = time.flatten().and_then(|time| Some(*time.value.first_chunk::<8>()?));
                let (start, end) = (offset + element.at, offset + element.end());
                seen.cluster_time =
                    time.map(|time| (u64::from_le_bytes(time), Span { start, end }));
            }
            _ => {}
        }
    }
    Ok(seen)
}

/// Returns the body of a reply as a [`Document`]. Only rare replies need this slow conversion.
pub(crate) fn tree(frame: &[u8]) -> Option<Document> {
    let parsed = Message::parse(frame).ok()?;
    let raw = RawDocument::from_bytes(parsed.body.of(frame)).ok()?;
    Document::try_from(raw).ok()
}

/// Returns a reply with another body.
pub(crate) fn rebuilt(frame: &[u8], body: &Document) -> Option<Vec<u8>> {
    let header = Header::of_frame(frame).ok()?;
    let body = body.to_vec().ok()?;
    Some(message(header.request_id, header.response_to, Flags::default(), &body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{RawDocumentBuf, rawdoc};

    fn seen(body: &RawDocumentBuf) -> ReplyFacts {
        look(&message(1, 2, Flags::default(), body.as_bytes())).unwrap()
    }

    #[test]
    fn the_offset_of_a_cursor_id_is_found() {
        let body = rawdoc! { "cursor": { "firstBatch": [{ "a": 1 }], "id": 99_i64, "ns": "d.t" }, "ok": 1.0 };
        let mut frame = message(1, 2, Flags::default(), body.as_bytes());
        let (at, id) = look(&frame).unwrap().cursor.unwrap();
        assert_eq!(id, 99);
        assert!(docward_wire::put_i64(&mut frame, at, 5));
        assert_eq!(look(&frame).unwrap().cursor, Some((at, 5)));
        let done = seen(&rawdoc! { "cursor": { "id": 0_i64 }, "ok": 1.0 });
        assert!(done.has_cursor && done.cursor.is_none() && done.is_ok);
    }

    #[test]
    fn state_changes_are_found_in_nested_errors() {
        for body in [
            rawdoc! { "ok": 0.0, "code": 10107 },
            rawdoc! { "ok": 1.0, "writeConcernError": { "code": 91 } },
            rawdoc! { "ok": 1.0, "writeErrors": [{ "code": 11000 }, { "code": 189 }] },
        ] {
            assert!(seen(&body).changes_state, "{body:?}");
        }
        let other =
            seen(&rawdoc! { "ok": 0.0, "code": 251, "errorLabels": ["TransientTransactionError"] });
        assert!(!other.changes_state && other.is_transient && !other.is_ok);
        assert_eq!(other.code, Some(251));
    }
}
