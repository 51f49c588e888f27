//! Parses a line of a structured server log, or a row of `system.profile`.

use docward_model::{AccessControl, Namespace, Operation, Value};

use crate::totals::Totals;

/// The content of a log line, as far as it is relevant.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// An operation finished.
    Ran(Box<Ran>),
    /// A connection was opened.
    #[expect(missing_docs, reason = "the names say it")]
    Accepted { at: i64, connection: i64, open: u64 },
    /// A connection was closed.
    #[expect(missing_docs, reason = "the names say it")]
    Ended { at: i64, connection: i64 },
    /// A client sent the name of its application on a connection.
    #[expect(missing_docs, reason = "the names say it")]
    Client { connection: i64, application: String },
    /// The server logged its version.
    Version(u32, u32),
    /// The server started: its earlier messages about itself no longer hold.
    #[expect(missing_docs, reason = "the names say it")]
    Started { server: Option<String> },
    /// The server logged at its start whether clients have to log in.
    AccessControl(AccessControl),
    /// The server reported a document above 16 MB, outside an operation's own line.
    #[expect(missing_docs, reason = "the names say it")]
    TooLarge { at: i64, namespace: Option<Namespace>, error: Error },
    /// The server's totals over operations of one shape.
    Totals(Box<Totals>),
    /// Any other line.
    Other,
}

/// The error of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// The server's error code; 0 if there is none.
    pub code: i64,
    /// The server's name of the error.
    pub name: String,
    /// The reported size above 16 MB.
    pub bytes: Option<u64>,
    /// True if the cause is a document above 16 MB.
    pub too_large: bool,
}

/// Codes with which a server refuses or interrupts operations because it is not the primary, no
/// longer is, or is shutting down. Interruptions end with the election; refusals last as long as
/// clients keep sending.
const NOT_PRIMARY: [i64; 8] = [10_107, 13_435, 13_436, 10_058, 189, 11_602, 91, 11_600];

impl Error {
    /// Returns whether another server would have executed the operation.
    pub(crate) fn is_not_primary(&self) -> bool {
        NOT_PRIMARY.contains(&self.code)
    }

    fn new(code: i64, name: &str, text: &str) -> Self {
        let stated = stated_size(text);
        let bytes = stated.filter(|bytes| TOO_LARGE.contains(bytes));
        let says_so =
            matches!(code, 10334 | 17419 | 17420) || name.starts_with("BSONObjectTooLarge");
        Self {
            code,
            name: name.chars().take(60).collect(),
            bytes,
            // Other sizes come from damaged data, not from a document; and a response is not a
            // document.
            too_large: bytes.is_some()
                || (says_so && stated.is_none() && !text.contains("while building Message")),
        }
    }
}

/// An operation as the server recorded it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Ran {
    /// When it ended, in milliseconds since 1970.
    pub at: i64,
    /// The collection, if the operation has one.
    pub namespace: Option<Namespace>,
    /// The command, or the statement of an update or delete.
    pub command: Option<Value>,
    /// The logical session, or else the connection.
    pub session: Option<String>,
    /// The connection, or the nearest equivalent: rows of the profiler contain only host,
    /// application and user. Servers record updates without their session, so this is what reads
    /// and updates have in common.
    pub connection: Option<String>,
    /// The duration in milliseconds.
    pub millis: u64,
    /// Index keys examined.
    pub keys_examined: u64,
    /// Documents examined.
    pub documents_examined: u64,
    /// Documents returned, matched for a change, or removed.
    pub returned: u64,
    /// True if it is a write that changed and added nothing, as the server reports it.
    pub idle: bool,
    /// The size of the response in bytes.
    pub response_bytes: u64,
    /// `COLLSCAN`, `IXSCAN { a: 1 }`, …
    pub plan: Option<String>,
    /// True if it sorted in memory.
    pub sorted: bool,
    /// The number of shards asked, if recorded.
    pub shards: Option<u64>,
    /// The error it ended with.
    pub error: Option<Error>,
    /// The original command of a getMore.
    pub originating: Option<Value>,
    /// The cursor it opened or continued.
    pub cursor: Option<i64>,
    /// True if it is part of a transaction.
    pub in_transaction: bool,
    /// The number of the transaction in its session.
    pub transaction: Option<i64>,
    /// The application's name.
    pub application: Option<String>,
    /// The host it came from, without the port.
    pub host: Option<String>,
    /// True if it had not finished at the time of the request.
    pub running: bool,
    /// The kind of a write whose command was too long for the server to record it.
    pub truncated_write: Option<Operation>,
}

impl Ran {
    /// A copy without cost and result figures, for one of several statements whose shares are not
    /// recorded.
    pub(crate) fn without_figures(&self) -> Self {
        Self {
            millis: 0,
            keys_examined: 0,
            documents_examined: 0,
            returned: 0,
            idle: false,
            response_bytes: 0,
            plan: None,
            sorted: false,
            ..self.clone()
        }
    }
}

/// Log messages by id. Ids are stable across versions; texts are not.
mod id {
    pub(super) const SLOW: i64 = 51803;
    pub(super) const ACCEPTED: i64 = 22943;
    pub(super) const ENDED: i64 = 22944;
    pub(super) const CLIENT: i64 = 51800;
    pub(super) const BUILD_INFO: i64 = 23403;
    pub(super) const ACCESS_CONTROL_OFF: i64 = 22120;
    pub(super) const STARTING: i64 = 4_615_611;
    pub(super) const RESTARTED: i64 = 20698;
    pub(super) const OPTIONS: i64 = 21951;
}

/// Parses a line of a structured log; `None` if it has another format.
pub fn log_entry(line: &Value) -> Option<Entry> {
    let at = line.get("t")?.as_date()?;
    let id = line.get("id")?.as_int()?;
    let message = line.get("msg")?.as_text()?;
    let nothing = Value::Map(Vec::new());
    let attr = line.get("attr").unwrap_or(&nothing);
    let number = |key: &str| attr.get(key).and_then(Value::as_int);
    Some(match id {
        id::SLOW => Entry::Ran(Box::new(ran(at, attr, line.get("ctx").and_then(Value::as_text)))),
        _ if message == "Slow query" => {
            Entry::Ran(Box::new(ran(at, attr, line.get("ctx").and_then(Value::as_text))))
        }
        id::ACCEPTED => Entry::Accepted {
            at,
            connection: number("connectionId")?,
            open: number("connectionCount").unwrap_or(0).max(0) as u64,
        },
        id::ENDED => Entry::Ended { at, connection: number("connectionId")? },
        id::CLIENT => client(attr).unwrap_or(Entry::Other),
        id::BUILD_INFO => {
            let version = attr.get("buildInfo")?.get("version")?.as_text()?;
            let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
            Entry::Version(parts.next()??, parts.next()??)
        }
        id::ACCESS_CONTROL_OFF => Entry::AccessControl(AccessControl { at, on: false }),
        id::RESTARTED => Entry::Started { server: None },
        id::STARTING => {
            let host = attr.get("host").and_then(Value::as_text);
            let port = number("port").unwrap_or(27017);
            Entry::Started { server: host.map(|host| format!("{host}:{port}")) }
        }
        id::OPTIONS => access_control(attr)
            .map_or(Entry::Other, |on| Entry::AccessControl(AccessControl { at, on })),
        _ => too_large(at, attr).unwrap_or(Entry::Other),
    })
}

/// The application that a client reports on a connection; `None` if it gives no name.
fn client(attr: &Value) -> Option<Entry> {
    let connection = attr.get("client")?.as_text()?.strip_prefix("conn")?.parse().ok()?;
    let application = attr.get("doc")?.get("application")?.get("name")?.as_text()?.to_owned();
    Some(Entry::Client { connection, application })
}

/// Returns whether the start options require a login; `None` if they do not show it, because the
/// server then logs it itself. `transitionToAuth` permits clients that do not log in.
fn access_control(attr: &Value) -> Option<bool> {
    let security = attr.get("options")?.get("security")?;
    let text = |key: &str| security.get(key).and_then(Value::as_text);
    let asks = text("authorization") == Some("enabled")
        || text("keyFile").is_some()
        || text("clusterAuthMode").is_some();
    let lets_in = security.get("transitionToAuth").is_some_and(Value::is_truthy);
    asks.then_some(!lets_in)
}

/// A document above 16 MB, in a separate line.
fn too_large(at: i64, attr: &Value) -> Option<Entry> {
    let error = attr.get("error")?;
    let text = error.as_text().or_else(|| error.get("errmsg")?.as_text()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_int).unwrap_or(0);
    let name = error
        .get("codeName")
        .and_then(Value::as_text)
        .or_else(|| text.split_once(':').map(|(name, _)| name))
        .unwrap_or(text);
    let error = Error::new(code, name, text);
    let namespace = attr.get("ns").or_else(|| attr.get("namespace")).and_then(Value::as_text);
    let namespace = namespace.and_then(Namespace::parse);
    error.too_large.then_some(Entry::TooLarge { at, namespace, error })
}

/// Sizes of documents that are too large; beyond the maximum message size the data is damaged.
const TOO_LARGE: std::ops::RangeInclusive<u64> = 16 * 1024 * 1024..=64 * 1024 * 1024;

/// The size in `BSONObj size: 17825816 (0x1100018) is invalid…` and `Resulting document after
/// update is larger than 16777216` (LM-2); 0 if there is no valid size.
fn stated_size(message: &str) -> Option<u64> {
    let rest = message
        .split_once("BSONObj size: ")
        .or_else(|| message.split_once("object to insert too large. size in bytes: "))
        .or_else(|| message.split_once("document after update is larger than "))
        .map(|(_, rest)| rest)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(digits.parse().unwrap_or(0))
}

/// Parses a row of `system.profile`; `None` if it has another format.
pub fn profile_entry(row: &Value) -> Option<Ran> {
    let at = row.get("ts")?.as_date()?;
    row.get("op")?.as_text()?;
    row.get("ns")?.as_text()?;
    let mut ran = ran(at, row, None);
    ran.millis = row.get("millis").and_then(Value::as_int).unwrap_or(0).max(0) as u64;
    Some(ran)
}

pub(crate) fn ran(at: i64, attr: &Value, context: Option<&str>) -> Ran {
    let number = |key: &str| attr.get(key).and_then(Value::as_int).unwrap_or(0).max(0) as u64;
    let text = |key: &str| attr.get(key).and_then(Value::as_text).map(str::to_owned);
    let command = attr.get("command");
    let session = command
        .and_then(|c| c.get("lsid")?.get("id"))
        .and_then(|id| match id {
            Value::Other(uuid) if uuid.starts_with("UUID") => Some(uuid.clone()),
            _ => None,
        })
        .or_else(|| context.filter(|ctx| ctx.starts_with("conn")).map(str::to_owned))
        .or_else(|| text("client"));
    let message = text("errMsg").unwrap_or_default();
    let error = attr.get("errCode").and_then(Value::as_int).map(|code| {
        Error::new(code, attr.get("errName").and_then(Value::as_text).unwrap_or("error"), &message)
    });
    let is_false = |key: &str| command.and_then(|c| c.get(key)) == Some(&Value::Bool(false));
    Ran {
        at,
        namespace: namespace(attr, command),
        command: command.cloned(),
        session,
        connection: connection(attr, context),
        millis: number("durationMillis"),
        keys_examined: number("keysExamined"),
        documents_examined: number("docsExamined"),
        // An update whose document already has the new values still matched it.
        returned: number("nreturned")
            + number("nMatched").max(number("nModified"))
            + number("ndeleted"),
        idle: attr.get("nModified").is_some() && number("nModified") == 0 && !is_upsert(attr),
        response_bytes: number("reslen") + number("responseLength"),
        plan: text("planSummary"),
        sorted: attr.get("hasSortStage").is_some_and(Value::is_truthy),
        shards: attr.get("nShards").and_then(Value::as_int).map(|n| n.max(0) as u64),
        error,
        originating: attr.get("originatingCommand").cloned(),
        cursor: command
            .and_then(|c| c.get("getMore"))
            .or_else(|| attr.get("cursorid"))
            .and_then(Value::as_int)
            .filter(|cursor| *cursor != 0),
        in_transaction: is_false("autocommit"),
        transaction: command
            .filter(|_| is_false("autocommit"))
            .and_then(|c| c.get("txnNumber"))
            .and_then(Value::as_int),
        application: text("appName"),
        host: text("remote").or_else(|| text("client")).map(|host| without_port(&host)),
        running: false,
        truncated_write: command.and_then(|command| truncated_write(attr, command)),
    }
}

/// Returns whether a write may have added a document. Older servers do not report the number of
/// added documents.
fn is_upsert(attr: &Value) -> bool {
    match attr.get("nUpserted").and_then(Value::as_int) {
        Some(added) => added > 0,
        None => [Some(attr), attr.get("command")]
            .into_iter()
            .any(|place| place.and_then(|place| place.get("upsert")).is_some_and(Value::is_truthy)),
    }
}

/// The connection of a log line; for a row of the profiler host, application and user.
fn connection(attr: &Value, context: Option<&str>) -> Option<String> {
    if let Some(connection) = context.filter(|ctx| ctx.starts_with("conn")) {
        return Some(connection.to_owned());
    }
    let text = |key: &str| attr.get(key).and_then(Value::as_text);
    let client = text("client")?;
    let [application, user] = ["appName", "user"].map(|key| text(key).unwrap_or_default());
    Some(format!("{client}\n{application}\n{user}"))
}

/// The kind of a write whose row contains only the beginning of the command's text.
fn truncated_write(attr: &Value, command: &Value) -> Option<Operation> {
    let text = command.get("$truncated")?.as_text()?;
    match attr.get("op").or_else(|| attr.get("type"))?.as_text()? {
        "insert" => Some(Operation::Insert),
        "update" => Some(Operation::Update),
        "command" if text.to_ascii_lowercase().starts_with("{ findandmodify") => {
            Some(Operation::FindAndModify)
        }
        _ => None,
    }
}

/// `10.0.0.7:51234` as `10.0.0.7`, `[::1]:51234` and `::1` as `::1`.
fn without_port(address: &str) -> String {
    let host = match address.rsplit_once(':') {
        Some((host, _)) if !host.contains(':') || host.ends_with(']') => host,
        _ => address,
    };
    host.trim_matches(['[', ']']).to_owned()
}

/// The collection of an operation; `None` for `db.$cmd` and whole databases.
fn namespace(attr: &Value, command: Option<&Value>) -> Option<Namespace> {
    let namespace = Namespace::parse(attr.get("ns")?.as_text()?)?;
    if namespace.collection != "$cmd" {
        return Some(namespace);
    }
    let (_, collection) = command?.entries().first()?;
    Some(Namespace::new(namespace.database, collection.as_text()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(line: &str) -> Option<Entry> {
        let document = docward_bson::json::parse_one(line).expect("a line");
        log_entry(&docward_bson::value::to_value(&document).expect("BSON"))
    }

    #[test]
    fn operations_are_read_from_log_lines() {
        let line = r#"{"t":{"$date":"2024-03-15T10:30:00.500+00:00"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn9","msg":"Slow query","attr":{"type":"command","ns":"shop.orders","appName":"api","command":{"find":"orders","filter":{"status":"new"},"$db":"shop"},"planSummary":"COLLSCAN","keysExamined":0,"docsExamined":5000,"hasSortStage":true,"nreturned":3,"reslen":900,"durationMillis":42}}"#;
        let Some(Entry::Ran(ran)) = entry(line) else { panic!("not an operation") };
        assert_eq!(ran.namespace, Namespace::parse("shop.orders"));
        assert_eq!(
            (ran.at, ran.millis, ran.documents_examined, ran.returned),
            (1_710_498_600_500, 42, 5000, 3)
        );
        assert_eq!(
            (ran.session.as_deref(), ran.plan.as_deref()),
            (Some("conn9"), Some("COLLSCAN"))
        );
        assert!(ran.sorted);
    }

    #[test]
    fn lm_2_sizes_are_read_from_error_texts() {
        for (text, bytes) in [
            (
                "BSONObj size: 17825816 (0x1100018) is invalid. Size must be between 0 and 16793600(16MB)",
                Some(17_825_816),
            ),
            (
                "object to insert too large. size in bytes: 16777250, max size: 16777216",
                Some(16_777_250),
            ),
            ("Resulting document after update is larger than 16777216", Some(16_777_216)),
            ("something else", None),
        ] {
            assert_eq!(stated_size(text), bytes, "{text}");
        }
    }

    #[test]
    fn lm_2_sizes_of_damaged_data_are_not_too_large() {
        let of = |text: &str| Error::new(10334, "BSONObjectTooLarge", text).too_large;
        assert!(of("BSONObj size: 17825816 (0x1100018) is invalid."));
        assert!(of(""), "the code says it");
        assert!(!of("BSON size limit hit while building Message. Size: 20971980 (0x14001CC)"));
        assert!(!of("BSONObj size: 0 (0x0) is invalid. Size must be between 0 and 16793600(16MB)"));
        assert!(!of("BSONObj size: -286331154 (0xEEEEEEEE) is invalid."));
        assert!(!of("BSONObj size: 1936682341 (0x736F6D65) is invalid."));
    }

    #[test]
    fn se_1_starts_say_whether_everybody_logs_in() {
        let said = |security: &str| {
            let line = format!(
                r#"{{"t":{{"$date":"2024-03-15T10:30:00Z"}},"s":"I","c":"CONTROL","id":21951,"ctx":"initandlisten","msg":"Options set by command line","attr":{{"options":{{"security":{security}}}}}}}"#
            );
            match entry(&line) {
                Some(Entry::AccessControl(access)) => Some(access.on),
                _ => None,
            }
        };
        assert_eq!(said(r#"{"authorization":"enabled"}"#), Some(true));
        assert_eq!(said(r#"{"keyFile":"/k"}"#), Some(true));
        assert_eq!(said(r#"{"keyFile":"/k","transitionToAuth":true}"#), Some(false));
        assert_eq!(said(r#"{"javascriptEnabled":false}"#), None);
    }

    #[test]
    fn other_lines_are_told_apart() {
        let accepted = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"s":"I","c":"NETWORK","id":22943,"ctx":"listener","msg":"Connection accepted","attr":{"remote":"10.0.0.1:5000","connectionId":7,"connectionCount":3}}"#;
        assert_eq!(
            entry(accepted),
            Some(Entry::Accepted { at: 1_710_498_600_000, connection: 7, open: 3 })
        );
        let client = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"s":"I","c":"NETWORK","id":51800,"ctx":"conn7","msg":"client metadata","attr":{"remote":"10.0.0.1:5000","client":"conn7","doc":{"driver":{"name":"PyMongo"},"application":{"name":"api"}}}}"#;
        let application = "api".to_owned();
        assert_eq!(entry(client), Some(Entry::Client { connection: 7, application }));
        let unnamed = client.replace("application", "platform");
        assert_eq!(entry(&unnamed), Some(Entry::Other));
        let version = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"s":"I","c":"CONTROL","id":23403,"ctx":"initandlisten","msg":"Build Info","attr":{"buildInfo":{"version":"6.0.9"}}}"#;
        assert_eq!(entry(version), Some(Entry::Version(6, 0)));
        assert_eq!(entry(r#"{"a": 1}"#), None);
    }
}
