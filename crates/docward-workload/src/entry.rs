//! One line of a structured server log, or one row of `system.profile`, as what it says.

use docward_model::{Namespace, Value};

/// What a line of a log says, as far as it is of use.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// An operation ended.
    Ran(Ran),
    /// A connection was made.
    #[expect(missing_docs, reason = "the names say it")]
    Accepted { at: i64, connection: i64, open: u64 },
    /// A connection ended.
    #[expect(missing_docs, reason = "the names say it")]
    Ended { at: i64, connection: i64 },
    /// The server said its version.
    Version(u32, u32),
    /// The server said that access control is off.
    AccessControlOff,
    /// An error outside of an operation's own line.
    #[expect(missing_docs, reason = "the names say it")]
    Failed { namespace: Option<Namespace>, code: i64, name: String, bytes: Option<u64> },
    /// Anything else.
    Other,
}

/// An operation as the server wrote it down.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Ran {
    /// When it ended, in milliseconds since 1970.
    pub at: i64,
    /// The collection, when it is one.
    pub namespace: Option<Namespace>,
    /// The command, or the statement of an update or delete.
    pub command: Option<Value>,
    /// The logical session, or else the connection.
    pub session: Option<String>,
    /// How long it took.
    pub millis: u64,
    /// Index keys examined.
    pub keys_examined: u64,
    /// Documents examined.
    pub documents_examined: u64,
    /// Documents returned, changed or removed.
    pub returned: u64,
    /// Bytes of the answer.
    pub response_bytes: u64,
    /// `COLLSCAN`, `IXSCAN { a: 1 }`, …
    pub plan: Option<String>,
    /// Whether it sorted in memory.
    pub sorted: bool,
    /// Shards asked, when the line says.
    pub shards: Option<u64>,
    /// The error it ended with: code, name, and the size it complained about.
    pub error: Option<(i64, String, Option<u64>)>,
    /// The application's name.
    pub application: Option<String>,
}

/// Log messages by id. Ids are stable across versions; texts are not.
mod id {
    pub(super) const SLOW: i64 = 51803;
    pub(super) const ACCEPTED: i64 = 22943;
    pub(super) const ENDED: i64 = 22944;
    pub(super) const BUILD_INFO: i64 = 23403;
    pub(super) const ACCESS_CONTROL_OFF: i64 = 22120;
}

/// Reads a line of a structured log; `None` when it has not the form of one.
pub fn log_entry(line: &Value) -> Option<Entry> {
    let at = line.get("t")?.as_date()?;
    let id = line.get("id")?.as_int()?;
    let message = line.get("msg")?.as_text()?;
    let nothing = Value::Map(Vec::new());
    let attr = line.get("attr").unwrap_or(&nothing);
    let number = |key: &str| attr.get(key).and_then(Value::as_int);
    Some(match id {
        id::SLOW => Entry::Ran(ran(at, attr, line.get("ctx").and_then(Value::as_text))),
        _ if message == "Slow query" => {
            Entry::Ran(ran(at, attr, line.get("ctx").and_then(Value::as_text)))
        }
        id::ACCEPTED => Entry::Accepted {
            at,
            connection: number("connectionId")?,
            open: number("connectionCount").unwrap_or(0).max(0) as u64,
        },
        id::ENDED => Entry::Ended { at, connection: number("connectionId")? },
        id::BUILD_INFO => {
            let version = attr.get("buildInfo")?.get("version")?.as_text()?;
            let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
            Entry::Version(parts.next()??, parts.next()??)
        }
        id::ACCESS_CONTROL_OFF => Entry::AccessControlOff,
        _ => failed(attr).unwrap_or(Entry::Other),
    })
}

/// An error that stands in a line of its own.
fn failed(attr: &Value) -> Option<Entry> {
    let error = attr.get("error")?;
    let text = error.as_text().or_else(|| error.get("errmsg")?.as_text()).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_int).unwrap_or(0);
    let name = error
        .get("codeName")
        .and_then(Value::as_text)
        .or_else(|| text.split_once(':').map(|(name, _)| name))
        .unwrap_or(text);
    let bytes = oversized(text);
    if bytes.is_none() && !name.starts_with("BSONObjectTooLarge") {
        return None;
    }
    let namespace = attr.get("ns").or_else(|| attr.get("namespace")).and_then(Value::as_text);
    Some(Entry::Failed {
        namespace: namespace.and_then(Namespace::parse),
        code,
        name: name.chars().take(60).collect(),
        bytes,
    })
}

/// The size in `BSONObj size: 17825816 (0x1100018) is invalid…` and
/// `Resulting document after update is larger than 16777216` (LM-2).
pub(crate) fn oversized(message: &str) -> Option<u64> {
    let rest = message
        .split_once("BSONObj size: ")
        .or_else(|| message.split_once("object to insert too large. size in bytes: "))
        .or_else(|| message.split_once("document after update is larger than "))
        .map(|(_, rest)| rest)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Reads a row of `system.profile`; `None` when it has not the form of one.
pub fn profile_entry(row: &Value) -> Option<Ran> {
    let at = row.get("ts")?.as_date()?;
    row.get("op")?.as_text()?;
    row.get("ns")?.as_text()?;
    let mut ran = ran(at, row, None);
    ran.millis = row.get("millis").and_then(Value::as_int).unwrap_or(0).max(0) as u64;
    Some(ran)
}

fn ran(at: i64, attr: &Value, context: Option<&str>) -> Ran {
    let number = |key: &str| attr.get(key).and_then(Value::as_int).unwrap_or(0).max(0) as u64;
    let text = |key: &str| attr.get(key).and_then(Value::as_text).map(str::to_owned);
    let command = attr.get("command");
    // A getMore carries the command it goes on with.
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
        (code, text("errName").unwrap_or_else(|| "error".to_owned()), oversized(&message))
    });
    Ran {
        at,
        namespace: namespace(attr, command),
        command: command.cloned(),
        session,
        millis: number("durationMillis"),
        keys_examined: number("keysExamined"),
        documents_examined: number("docsExamined"),
        returned: number("nreturned") + number("nModified") + number("ndeleted"),
        response_bytes: number("reslen") + number("responseLength"),
        plan: text("planSummary"),
        sorted: attr.get("hasSortStage").is_some_and(Value::is_truthy),
        shards: attr.get("nShards").and_then(Value::as_int).map(|n| n.max(0) as u64),
        error,
        application: text("appName"),
    }
}

/// The collection an operation is about; `None` for `db.$cmd` and whole databases.
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
            assert_eq!(oversized(text), bytes, "{text}");
        }
    }

    #[test]
    fn other_lines_are_told_apart() {
        let accepted = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"s":"I","c":"NETWORK","id":22943,"ctx":"listener","msg":"Connection accepted","attr":{"remote":"10.0.0.1:5000","connectionId":7,"connectionCount":3}}"#;
        assert_eq!(
            entry(accepted),
            Some(Entry::Accepted { at: 1_710_498_600_000, connection: 7, open: 3 })
        );
        let version = r#"{"t":{"$date":"2024-03-15T10:30:00Z"},"s":"I","c":"CONTROL","id":23403,"ctx":"initandlisten","msg":"Build Info","attr":{"buildInfo":{"version":"6.0.9"}}}"#;
        assert_eq!(entry(version), Some(Entry::Version(6, 0)));
        assert_eq!(entry(r#"{"a": 1}"#), None);
    }
}
