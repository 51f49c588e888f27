//! Parses a row of `$currentOp`: an operation that has not finished.

use docward_model::Value;

use crate::entry::{Ran, ran};

/// Parses a row of `$currentOp`; `None` unless a client has waited for it for at least this many
/// seconds. Operations that wait by design do not count: awaitable `hello`s, tailable cursors,
/// change streams.
pub fn running_entry(row: &Value, least_seconds: u64) -> Option<Ran> {
    let text = |key: &str| row.get(key).and_then(Value::as_text);
    let number = |key: &str| row.get(key).and_then(Value::as_int).unwrap_or(0).max(0) as u64;
    // Routers call the client's address `client_s`.
    let client = text("client").or_else(|| text("client_s"))?;
    let is_operation = text("type").is_none_or(|kind| kind == "op");
    let is_active = row.get("active").is_some_and(Value::is_truthy);
    if !is_operation || !is_active || number("secs_running") < least_seconds || is_members(row) {
        return None;
    }
    let cursor = row.get("cursor");
    let waits = |key: &str| {
        let told =
            |value: Option<&Value>| value.and_then(|v| v.get(key)).is_some_and(Value::is_truthy);
        told(cursor) || told(row.get("command"))
    };
    if waits("tailable") || waits("awaitData") {
        return None;
    }
    let mut ran = ran(0, row, None);
    ran.millis = number("microsecs_running") / 1000;
    ran.originating = cursor.and_then(|cursor| cursor.get("originatingCommand")).cloned();
    ran.session = Some(client.to_owned());
    ran.running = true;
    Some(ran)
}

/// Returns whether another member or a router runs it for internal purposes.
fn is_members(row: &Value) -> bool {
    let users = row.get("effectiveUsers").map_or(&[][..], Value::items);
    users.iter().any(|user| user.get("user").and_then(Value::as_text) == Some("__system"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(row: &str) -> Option<Ran> {
        let document = docward_bson::json::parse_one(row).expect("a row");
        running_entry(&docward_bson::value::to_value(&document).expect("BSON"), 3)
    }

    fn row(more: &str) -> String {
        format!(
            r#"{{"type": "op", "active": true, "client": "10.0.0.7:5123", "appName": "api", "ns": "shop.orders", "op": "query", "secs_running": 12, "microsecs_running": 12345678, "planSummary": "COLLSCAN", "command": {{"find": "orders", "filter": {{"status": "new"}}}}{more}}}"#
        )
    }

    #[test]
    fn ck_12_operations_that_run_for_long_are_read() {
        let ran = read(&row("")).expect("an operation");
        assert!(ran.running);
        assert_eq!((ran.millis, ran.plan.as_deref()), (12_345, Some("COLLSCAN")));
        assert_eq!(ran.host.as_deref(), Some("10.0.0.7"));
        assert_eq!(ran.application.as_deref(), Some("api"));
    }

    #[test]
    fn ck_12_what_waits_by_design_or_is_internal_is_left_out() {
        assert!(read(&row("").replace("12,", "2,")).is_none(), "short");
        assert!(read(&row("").replace("\"op\",", "\"idleCursor\",")).is_none());
        assert!(read(&row("").replace("\"active\": true", "\"active\": false")).is_none());
        assert!(read(&row("").replace("\"client\"", "\"desc\"")).is_none(), "no client");
        assert!(read(&row(r#", "cursor": {"tailable": true}"#)).is_none());
        assert!(
            read(&row(r#", "effectiveUsers": [{"user": "__system", "db": "local"}]"#)).is_none()
        );
    }
}
