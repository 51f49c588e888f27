//! Parses messages as the guard parses those of clients that have not logged in, and compares the results with those of
//! the `bson` crate. Fuzz tests call it with arbitrary bytes.

use bson::{Document, RawBsonRef, RawDocument, spec::BinarySubtype};
use bytes::BytesMut;
use docward_wire::{Flags, Message, Query, decompress};

use crate::{client::MAX_BEFORE_LOGIN, forward::DEEPEST, hello::HelloRequest, request::Request};

/// Parses a message. Returns whether it is a command.
///
/// # Panics
///
/// If the guard and the `bson` crate disagree about the command.
pub fn message(bytes: &[u8]) -> bool {
    if bytes.len() > MAX_BEFORE_LOGIN {
        return false;
    }
    if let Ok((inner, _)) = decompress(bytes, MAX_BEFORE_LOGIN) {
        assert!(inner.len() <= MAX_BEFORE_LOGIN, "the message is too long when it is unpacked");
        return command(&inner);
    }
    if let Ok(query) = Query::parse(bytes) {
        let document = docward_wire::Document::new(query.document.of(bytes));
        if document.and_then(|document| document.is_within(DEEPEST)) == Ok(true) {
            greet(query.document.of(bytes));
        }
    }
    command(bytes)
}

fn command(frame: &[u8]) -> bool {
    let Ok(mut request) = Request::parse(BytesMut::from(frame)) else { return false };
    let parsed = Message::parse(&request.frame).expect("the guard forwards a valid message");
    assert_eq!(parsed.flags, Flags::default(), "the server would send more than one reply");
    let _ = (request.namespace(), request.bulk_namespaces());
    let mut elements = 0;
    let _ = request.each_element(|_| {
        elements += 1;
        Ok(())
    });
    assert!(elements <= frame.len());
    let length = request.frame.len();
    request.acknowledge();
    assert_eq!(request.frame.len(), length);
    let body = request.body().expect("it was parsed");
    if body.is_within(DEEPEST) == Ok(true) && greet(body.bytes()) {
        agree(&request, RawDocument::from_bytes(body.bytes()).expect("it was read"));
    }
    true
}

/// Reads a document as `hello`. Returns whether it is well-formed.
fn greet(bytes: &[u8]) -> bool {
    let document = RawDocument::from_bytes(bytes).and_then(Document::try_from);
    document.is_ok_and(|document| {
        let _ = HelloRequest::of(&document);
        true
    })
}

/// Compares the parts that decide where a command goes.
fn agree(request: &Request, theirs: &RawDocument) {
    let get = |name: &str| theirs.get(name).ok().flatten();
    let first = theirs.iter().next().and_then(Result::ok);
    assert_eq!(request.name, first.map_or("", |(name, _)| name.as_str()));
    assert_eq!(request.database, get("$db").and_then(RawBsonRef::as_str).unwrap_or_default());
    let number = match get("txnNumber") {
        Some(RawBsonRef::Int64(number)) => Some(number),
        Some(RawBsonRef::Int32(number)) => Some(i64::from(number)),
        _ => None,
    };
    assert!(number.is_none() || request.transaction == number);
    if let Some(is_automatic) = get("autocommit").and_then(RawBsonRef::as_bool) {
        assert_eq!(request.is_in_transaction, !is_automatic);
    }
    if let Some(starts) = get("startTransaction").and_then(RawBsonRef::as_bool) {
        assert_eq!(request.starts_transaction, starts);
    }
    let session = get("lsid").and_then(RawBsonRef::as_document);
    let id = session.and_then(|session| session.get_binary("id").ok());
    if let (Some(id), Some(ours)) =
        (id.filter(|id| id.subtype == BinarySubtype::Uuid), request.session)
    {
        assert_eq!(id.bytes, ours);
    }
}
