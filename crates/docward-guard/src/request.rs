//! Parses commands of clients. One pass over the top-level fields finds everything that decides where a command goes.

use bytes::BytesMut;
use docward_net::select::{BadPreference, ReadPreference};
use docward_wire::{Document, Element, Fault, Flags, Kind, Message, put_i32, put_i64};

use crate::commands::{self, Class, Command};

/// A number in the frame that can be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    /// The offset in the frame.
    pub(crate) at: usize,
    /// The BSON type.
    pub(crate) kind: Kind,
    /// The value.
    pub(crate) value: i64,
}

impl Number {
    fn of(element: &Element<'_>, offset: usize) -> Option<Self> {
        let value = element.integer()?;
        Some(Self { at: offset + element.at, kind: element.kind, value })
    }

    /// Overwrites the number. Returns `false` if the value does not fit the type.
    pub(crate) fn put(self, frame: &mut [u8], value: i64) -> bool {
        match self.kind {
            Kind::Int64 => put_i64(frame, self.at, value),
            Kind::Int32 => i32::try_from(value).is_ok_and(|value| put_i32(frame, self.at, value)),
            _ => false,
        }
    }
}

/// The id of a session.
pub(crate) type SessionId = [u8; 16];

/// A command, and the parts of it that the guard uses.
#[derive(Debug)]
pub(crate) struct Request {
    /// The complete message, uncompressed and without a checksum.
    pub(crate) frame: BytesMut,
    /// The positions of its parts.
    pub(crate) message: Message,
    /// Whether the client expects no reply.
    pub(crate) is_unacknowledged: bool,
    /// The name of the command.
    pub(crate) name: String,
    /// The treatment of the command by the guard.
    pub(crate) class: Class,
    /// Its row in the table of commands; `None` for an unknown command.
    pub(crate) command: Option<&'static Command>,
    /// The database.
    pub(crate) database: String,
    /// The id of the session.
    pub(crate) session: Option<SessionId>,
    /// The number of a transaction or of a retryable write.
    pub(crate) transaction: Option<i64>,
    /// Whether it belongs to a transaction.
    pub(crate) is_in_transaction: bool,
    /// Whether it begins a transaction.
    pub(crate) starts_transaction: bool,
    /// The read preference, or why it is invalid.
    pub(crate) preference: Result<ReadPreference, BadPreference>,
    /// The time limit for the server, in milliseconds.
    pub(crate) max_time_ms: Option<i64>,
    /// The cursor id of a `getMore`.
    pub(crate) cursor: Option<Number>,
    /// Whether the cursor that it opens waits for new data.
    pub(crate) awaits: bool,
    /// Whether the cursor that it opens has no timeout.
    pub(crate) is_kept: bool,
    /// Whether it opens a change stream.
    pub(crate) is_change_stream: bool,
    /// The database that `$out` or `$merge` writes to, if it names one.
    pub(crate) output: Option<String>,
    write_concern: Option<Number>,
}

impl Request {
    /// Parses a message.
    pub(crate) fn parse(mut frame: BytesMut) -> Result<Self, Fault> {
        let mut message = Message::parse(&frame)?;
        let flags = message.flags;
        let is_unacknowledged = flags.has(Flags::MORE_TO_COME);
        if flags.0 != 0 {
            // The guard needs exactly one reply from the server, and has already verified the checksum.
            let length = message.set_flags(&mut frame, Flags::default());
            frame.truncate(length);
        }
        let mut request = Self {
            is_unacknowledged,
            name: String::new(),
            class: Class::Write,
            command: None,
            database: String::new(),
            session: None,
            transaction: None,
            is_in_transaction: false,
            starts_transaction: false,
            preference: Ok(ReadPreference::default()),
            max_time_ms: None,
            cursor: None,
            awaits: false,
            is_kept: false,
            is_change_stream: false,
            output: None,
            write_concern: None,
            frame: BytesMut::new(),
            message,
        };
        let offset = request.message.body.start;
        let body = request.message.body(&frame)?;
        // The guard checks only fields of the body. A sequence with another name, such as `pipeline`, would bypass it.
        for sequence in &request.message.sequences {
            let name = sequence.name.of(&frame);
            if !SEQUENCES.contains(&name) {
                return Err(Fault::Document("a document sequence has an unknown name"));
            }
        }
        let mut stages = Stages::default();
        let mut seen = 0_u32;
        for (at, element) in body.elements().enumerate() {
            let element = element?;
            // If a field occurs twice, the server might use one value and the guard the other.
            if let Some(bit) = DECIDING.iter().position(|name| *name == element.name) {
                if seen & (1 << bit) != 0 {
                    return Err(Fault::Document("a field of the command occurs twice"));
                }
                seen |= 1 << bit;
            }
            if at == 0 {
                request.name = String::from_utf8_lossy(element.name).into_owned();
                request.command = commands::find(&request.name);
                // An unknown command goes to the primary and is never sent twice.
                request.class = request.command.map_or(Class::Write, |command| command.class);
                if request.class == Class::GetMore {
                    request.cursor = Number::of(&element, offset);
                }
            }
            request.learn(&element, offset, &mut stages)?;
        }
        if stages.writes {
            request.class = Class::Write;
            request.output = stages.output;
        }
        request.is_change_stream = stages.watches;
        request.awaits |= stages.watches;
        request.frame = frame;
        Ok(request)
    }

    fn learn(
        &mut self,
        element: &Element<'_>,
        offset: usize,
        stages: &mut Stages,
    ) -> Result<(), Fault> {
        match element.name {
            b"$db" => {
                let name = element.text().ok_or(Fault::Document("$db is not a UTF-8 string"))?;
                self.database = name.to_owned();
            }
            b"lsid" => {
                let id = element.document().map(|lsid| lsid.get("id")).transpose()?.flatten();
                // A BSON binary value has 4 bytes of length, 1 byte of subtype, and here 16 bytes of UUID.
                self.session = id.and_then(|id| id.value.get(5..)?.try_into().ok());
            }
            b"txnNumber" => self.transaction = element.integer(),
            b"autocommit" => self.is_in_transaction = !element.is_true(),
            b"startTransaction" => self.starts_transaction = element.is_true(),
            b"$readPreference" => {
                if let Some(document) = element.document() {
                    self.preference = ReadPreference::parse(document);
                }
            }
            b"maxTimeMS" => self.max_time_ms = element.integer(),
            b"noCursorTimeout" if self.name == "find" => self.is_kept = element.is_true(),
            b"awaitData" if self.name == "find" => self.awaits = element.is_true(),
            b"writeConcern" => {
                let w = element.document().map(|concern| concern.get("w")).transpose()?.flatten();
                self.write_concern = w.and_then(|w| Number::of(&w, offset + element.at));
            }
            b"pipeline" if self.name == "aggregate" => {
                if let Some(pipeline) = element.document() {
                    stages.learn(pipeline)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Changes `w: 0` to `w: 1`, so that the server replies and the guard knows when the connection is free again.
    pub(crate) fn acknowledge(&mut self) {
        if let Some(w) = self.write_concern.filter(|w| w.value == 0) {
            let is_written = w.put(&mut self.frame, 1)
                || w.kind == Kind::Double
                    && put_i64(&mut self.frame, w.at, 1.0_f64.to_bits().cast_signed());
            debug_assert!(is_written, "every numeric type can be overwritten");
        }
    }

    /// Whether the guard may send it a second time if the outcome of the first attempt is unknown.
    pub(crate) fn can_be_sent_again(&self) -> bool {
        match self.class {
            Class::Read => !self.is_in_transaction,
            // Drivers retry a commit with a stronger write concern, so the guard never retries it.
            Class::EndTransaction => self.name == "abortTransaction",
            Class::Write => self.is_retryable_write(),
            _ => false,
        }
    }

    /// Whether it belongs to a transaction that an earlier command began.
    pub(crate) fn continues_transaction(&self) -> bool {
        (self.is_in_transaction || self.class == Class::EndTransaction) && !self.starts_transaction
    }

    /// Whether the guard cancels it when its client disconnects.
    pub(crate) fn is_given_up(&self) -> bool {
        matches!(self.class, Class::Read | Class::GetMore) && !self.is_in_transaction
    }

    /// Whether it is a retryable write, which the server executes at most once.
    pub(crate) fn is_retryable_write(&self) -> bool {
        self.class == Class::Write
            && self.transaction.is_some()
            && self.session.is_some()
            && !self.is_in_transaction
    }

    /// Returns the namespace that it uses, or `None` if it may use several or cannot be read.
    pub(crate) fn namespace(&self) -> Option<String> {
        // An aggregation with `$out` or `$merge` also writes to a second collection.
        let writes_elsewhere = self.name == "aggregate" && self.class == Class::Write;
        let is_single = self.class == Class::GetMore || self.command.is_some_and(|c| c.is_single);
        if !is_single || writes_elsewhere {
            return None;
        }
        let first = self.body().ok().and_then(|body| body.elements().next()?.ok());
        let collection = match self.class {
            Class::GetMore => {
                self.body().ok().and_then(|body| body.get("collection").ok().flatten())
            }
            _ => first,
        };
        let collection = match collection {
            // Commands on a database have a number, such as `aggregate: 1`.
            Some(value) if value.integer().is_some() => "",
            // A UUID or a symbol also names a collection.
            Some(value) => value.text()?,
            None => "",
        };
        Some(format!("{}.{collection}", self.database))
    }

    /// Returns database and collection of each namespace that a `bulkWrite` names, or `None` if they cannot be read.
    pub(crate) fn bulk_namespaces(&self) -> Option<Vec<(String, String)>> {
        let name = |entry: Document<'_>| {
            let (database, collection) = entry.get("ns").ok()??.text()?.split_once('.')?;
            Some((database.to_owned(), collection.to_owned()))
        };
        let mut found = Vec::new();
        let mut is_named = false;
        if let Some(list) = self.body().ok()?.get("nsInfo").ok()? {
            is_named = true;
            for entry in list.document()?.elements() {
                found.push(name(entry.ok()?.document()?)?);
            }
        }
        for sequence in &self.message.sequences {
            if sequence.name.of(&self.frame) == b"nsInfo" {
                is_named = true;
                let mut rest = sequence.documents.of(&self.frame);
                while !rest.is_empty() {
                    let entry = Document::prefix(rest).ok()?;
                    found.push(name(entry)?);
                    rest = rest.get(entry.bytes().len()..)?;
                }
            }
        }
        is_named.then_some(found)
    }

    /// Visits every element of the body, nested ones included.
    pub(crate) fn each_element<'s>(
        &'s self,
        mut visit: impl FnMut(&Element<'s>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut rest = vec![self.body()?];
        while let Some(document) = rest.pop() {
            for element in document.elements() {
                let element = element?;
                visit(&element)?;
                rest.extend(element.document());
            }
        }
        Ok(())
    }

    /// Returns the body.
    pub(crate) fn body(&self) -> Result<Document<'_>, Fault> {
        self.message.body(&self.frame)
    }
}

/// The allowed names of document sequences.
const SEQUENCES: [&[u8]; 5] = [b"documents", b"updates", b"deletes", b"ops", b"nsInfo"];

/// Fields that decide where a command goes, and whether the user may run it.
const DECIDING: [&[u8]; 9] = [
    b"$db",
    b"pipeline",
    b"nsInfo",
    b"lsid",
    b"txnNumber",
    b"autocommit",
    b"startTransaction",
    b"$readPreference",
    b"viewOn",
];

/// Properties of a command that follow from the stages of its pipeline.
#[derive(Debug, Default)]
struct Stages {
    writes: bool,
    watches: bool,
    output: Option<String>,
}

impl Stages {
    fn learn(&mut self, pipeline: Document<'_>) -> Result<(), Fault> {
        for stage in pipeline.elements() {
            let Some(stage) = stage?.document() else { continue };
            let Some(first) = stage.elements().next().transpose()? else { continue };
            if matches!(first.name, b"$out" | b"$merge") {
                self.writes = true;
                // The value is a collection or `{ db, coll }`; `$merge` may have it in `into`.
                let mut target = first.document();
                if let Some(into) = target.map(|target| target.get("into")).transpose()?.flatten() {
                    target = into.document();
                }
                let database = target.map(|target| target.get("db")).transpose()?.flatten();
                let no_name = Fault::Document("the database of $out or $merge is not a string");
                self.output = match database {
                    Some(name) => Some(name.text().ok_or(no_name)?.to_owned()),
                    None => None,
                };
            }
            self.watches |= first.name == b"$changeStream";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{RawDocumentBuf, rawdoc};
    use docward_net::select::Mode;

    fn request(body: &RawDocumentBuf) -> Request {
        flagged(body, 0)
    }

    fn flagged(body: &RawDocumentBuf, flags: u32) -> Request {
        let frame = docward_wire::message(1, 0, Flags(flags), body.as_bytes());
        Request::parse(BytesMut::from(&frame[..])).unwrap()
    }

    fn session() -> bson::Binary {
        bson::Binary { subtype: bson::spec::BinarySubtype::Uuid, bytes: vec![7; 16] }
    }

    /// Messages that PyMongo 4.10 sends to a server of version 8.0.
    const BULK_WRITE: &[u8] = include_bytes!("../../docward/tests/messages/bulk_write.bin");
    const BULK_WRITE_UNACKNOWLEDGED: &[u8] =
        include_bytes!("../../docward/tests/messages/bulk_write_unacknowledged.bin");

    #[test]
    fn px_1_a_recorded_bulk_write_is_read() {
        let pair = |database: &str, collection: &str| (database.to_owned(), collection.to_owned());
        let request = Request::parse(BytesMut::from(BULK_WRITE)).unwrap();
        assert_eq!((request.name.as_str(), request.class), ("bulkWrite", Class::Write));
        assert!(request.is_retryable_write() && !request.is_unacknowledged);
        assert_eq!(request.namespace(), None, "it writes to several collections");
        let namespaces = [pair("db_shop", "t_order"), pair("db_log", "t_event")];
        assert_eq!(request.bulk_namespaces().unwrap(), namespaces);
        let mut request = Request::parse(BytesMut::from(BULK_WRITE_UNACKNOWLEDGED)).unwrap();
        assert!(request.is_unacknowledged && !request.is_retryable_write());
        request.acknowledge();
        let concern = request.body().unwrap().get("writeConcern").unwrap().unwrap();
        let w = concern.document().unwrap().get("w").unwrap().unwrap().integer();
        assert_eq!((w, request.message.sequences.len()), (Some(1), 2));
    }

    #[test]
    fn each_command_has_its_class() {
        for (body, class) in [
            (rawdoc! { "find": "t", "$db": "d" }, Class::Read),
            (rawdoc! { "aggregate": "t", "pipeline": [{ "$match": {} }], "$db": "d" }, Class::Read),
            (
                rawdoc! { "aggregate": "t", "pipeline": [{ "$match": {} }, { "$merge": "x" }] },
                Class::Write,
            ),
            (rawdoc! { "aggregate": "t", "pipeline": [{ "$out": "x" }] }, Class::Write),
            (rawdoc! { "insert": "t" }, Class::Write),
            (rawdoc! { "newCommandOfTomorrow": 1 }, Class::Write),
            (rawdoc! { "hello": 1 }, Class::Local),
            (rawdoc! { "getMore": 5_i64, "collection": "t" }, Class::GetMore),
            (rawdoc! { "commitTransaction": 1 }, Class::EndTransaction),
            (rawdoc! { "getLastError": 1 }, Class::Refused),
        ] {
            assert_eq!(request(&body).class, class, "{body:?}");
        }
    }

    #[test]
    fn se_1_repeated_fields_and_unknown_sequences_are_refused() {
        let parse = |body: &RawDocumentBuf| {
            let frame = docward_wire::message(1, 0, Flags::default(), body.as_bytes());
            Request::parse(BytesMut::from(&frame[..])).is_ok()
        };
        let mut twice = rawdoc! { "find": "t", "$db": "db_shop" };
        assert!(parse(&twice));
        twice.append(bson::raw::cstr!("$db"), "admin");
        assert!(!parse(&twice));
        let mut frame =
            docward_wire::message(1, 0, Flags::default(), rawdoc! { "aggregate": "t" }.as_bytes());
        let stage = rawdoc! { "$out": "x" };
        for (name, expected) in [("pipeline", false), ("documents", true)] {
            let start = frame.len();
            frame.push(1);
            let size = 4 + name.len() + 1 + stage.as_bytes().len();
            frame.extend(i32::try_from(size).unwrap().to_le_bytes());
            frame.extend(name.as_bytes());
            frame.push(0);
            frame.extend(stage.as_bytes());
            let length = i32::try_from(frame.len()).unwrap().to_le_bytes();
            frame[..4].copy_from_slice(&length);
            assert_eq!(Request::parse(BytesMut::from(&frame[..])).is_ok(), expected, "{name}");
            frame.truncate(start);
        }
    }

    #[test]
    fn routing_fields_are_found() {
        let body = rawdoc! {
            "find": "t", "lsid": { "id": session() }, "txnNumber": 3_i64, "autocommit": false,
            "startTransaction": true, "$readPreference": { "mode": "nearest" }, "maxTimeMS": 50,
            "awaitData": true, "$db": "db_shop",
        };
        let request = request(&body);
        assert_eq!(request.session, Some([7; 16]));
        assert_eq!((request.transaction, request.max_time_ms), (Some(3), Some(50)));
        assert!(request.is_in_transaction && request.starts_transaction && request.awaits);
        assert_eq!(request.preference.as_ref().unwrap().mode, Mode::Nearest);
        assert_eq!(request.database, "db_shop");
        assert!(!request.can_be_sent_again(), "in a transaction");
    }

    #[test]
    fn reads_and_retryable_writes_can_be_sent_again() {
        let write = |more: RawDocumentBuf| {
            let mut body = rawdoc! { "insert": "t" };
            for (name, value) in more.iter().map(Result::unwrap) {
                body.append(name, bson::RawBson::from(value));
            }
            request(&body).can_be_sent_again()
        };
        assert!(write(rawdoc! { "lsid": { "id": session() }, "txnNumber": 1_i64 }));
        assert!(!write(rawdoc! { "lsid": { "id": session() } }));
        assert!(!write(rawdoc! {}));
        assert!(!write(
            rawdoc! { "lsid": { "id": session() }, "txnNumber": 1_i64, "autocommit": false }
        ));
        assert!(request(&rawdoc! { "find": "t" }).can_be_sent_again());
        assert!(!request(&rawdoc! { "getMore": 1_i64 }).can_be_sent_again());
    }

    #[test]
    fn unacknowledged_writes_become_acknowledged_ones() {
        for w in [bson::RawBson::Int32(0), bson::RawBson::Int64(0), bson::RawBson::Double(0.0)] {
            let mut concern = RawDocumentBuf::new();
            concern.append(bson::raw::cstr!("w"), w);
            let body = rawdoc! { "insert": "t", "writeConcern": concern };
            let mut request = flagged(&body, Flags::MORE_TO_COME | Flags::EXHAUST_ALLOWED);
            assert!(request.is_unacknowledged);
            request.acknowledge();
            let again = Message::parse(&request.frame).unwrap();
            assert_eq!(again.flags, Flags(0));
            let concern = again.body(&request.frame).unwrap().get("writeConcern").unwrap().unwrap();
            let w = concern.document().unwrap().get("w").unwrap().unwrap();
            assert_eq!(w.integer(), Some(1));
        }
    }
}
