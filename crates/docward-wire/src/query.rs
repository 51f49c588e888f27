//! `OP_QUERY` and `OP_REPLY`. Drivers use them only for the first `hello` of a connection.

use bson::rawdoc;

use crate::{Document, Fault, Header, Op, Span};

/// A command in an `OP_QUERY` message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// `database.$cmd`, without the final zero byte.
    pub collection: Span,
    /// The command.
    pub document: Span,
}

impl Query {
    /// Parses a complete frame.
    pub fn parse(frame: &[u8]) -> Result<Self, Fault> {
        let cut = || Fault::Truncated("a query");
        let start = Header::SIZE + 4;
        let rest = frame.get(start..).ok_or_else(cut)?;
        let name = rest.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
        let collection = Span { start, end: start + name };
        // Skip `numberToSkip` and `numberToReturn`.
        let at = collection.end + 1 + 8;
        let document = Document::prefix(frame.get(at..).ok_or_else(cut)?)?;
        let end = at + document.bytes().len();
        // A field selector may follow. Commands have none, so it is only checked.
        if end != frame.len() {
            Document::new(&frame[end..]).map_err(|_| Fault::Leftover("a query"))?;
        }
        Ok(Self { collection, document: Span { start: at, end } })
    }

    /// Returns the database of the command.
    pub fn database(self, frame: &[u8]) -> Option<&str> {
        std::str::from_utf8(self.collection.of(frame)).ok()?.strip_suffix(".$cmd")
    }
}

/// The `QueryFailure` flag of `OP_REPLY`.
const QUERY_FAILURE: i32 = 2;

/// Encodes the reply to a query: one document.
pub fn reply(request_id: i32, response_to: i32, document: &[u8]) -> Vec<u8> {
    answer(request_id, response_to, 0, document)
}

/// Encodes an error reply to a query.
pub fn failed_reply(request_id: i32, response_to: i32, code: i32, why: &str) -> Vec<u8> {
    let document = rawdoc! { "$err": why, "code": code };
    answer(request_id, response_to, QUERY_FAILURE, document.as_bytes())
}

fn answer(request_id: i32, response_to: i32, flags: i32, document: &[u8]) -> Vec<u8> {
    let length = Header::SIZE + 20 + document.len();
    let header = Header { length, request_id, response_to, op: Op::Reply };
    let mut frame = Vec::with_capacity(length);
    frame.extend(header.bytes());
    frame.extend(flags.to_le_bytes());
    // `cursorID`, `startingFrom` and `numberReturned`.
    frame.extend(0_i64.to_le_bytes());
    frame.extend(0_i32.to_le_bytes());
    frame.extend(1_i32.to_le_bytes());
    frame.extend_from_slice(document);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(collection: &[u8], document: &[u8], behind: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; Header::SIZE + 4];
        frame.extend(collection);
        frame.extend([0; 4]);
        frame.extend((-1_i32).to_le_bytes());
        frame.extend(document);
        frame.extend(behind);
        frame
    }

    #[test]
    fn the_first_hello_of_a_driver_is_read() {
        let hello = rawdoc! { "isMaster": 1, "helloOk": true };
        let frame = query(b"admin.$cmd\0", hello.as_bytes(), &[]);
        let query = Query::parse(&frame).unwrap();
        assert_eq!(query.database(&frame), Some("admin"));
        assert_eq!(query.document.of(&frame), hello.as_bytes());
    }

    #[test]
    fn broken_queries_are_refused() {
        let hello = rawdoc! { "isMaster": 1 };
        let whole = query(b"admin.$cmd\0", hello.as_bytes(), &[]);
        for end in 0..whole.len() {
            assert!(Query::parse(&whole[..end]).is_err(), "{end}");
        }
        assert!(Query::parse(&query(b"admin.$cmd", hello.as_bytes(), &[])).is_err());
        let more = query(b"admin.$cmd\0", hello.as_bytes(), &[1]);
        assert_eq!(Query::parse(&more), Err(Fault::Leftover("a query")));
        let selector = query(b"a.b\0", hello.as_bytes(), hello.as_bytes());
        assert_eq!(Query::parse(&selector).unwrap().database(&selector), None);
    }

    #[test]
    fn replies_have_one_document() {
        let frame = reply(3, 9, rawdoc! { "ok": 1.0 }.as_bytes());
        let header = Header::of_frame(&frame).unwrap();
        assert_eq!((header.op, header.response_to), (Op::Reply, 9));
        assert_eq!(frame[16..36], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
        let failed = failed_reply(3, 9, 352, "no");
        assert_eq!(failed[16], 2);
        let document = Document::new(&failed[36..]).unwrap();
        assert_eq!(document.get("code").unwrap().unwrap().integer(), Some(352));
    }
}
