//! DM-05.2, LM-2: writes that the server refused because the document was too large.

use docward_model::{Draft, Evidence, Level, Operation, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
};

declare_rule! {
    /// # Write too large
    ///
    /// ## What it checks
    /// Reports writes that the server refused because a document would exceed 16 MB. Docward recognises
    /// `BSONObjectTooLarge` (10334), and the codes 17419 and 17420 of an update or upsert with too large a
    /// result, or their texts. A line that names no operation is a warning, because it may come from a read.
    ///
    /// Reads whose result would be too large are not reported. Several lines about one document count once. The
    /// text mentions 16,793,600 bytes: this is the server's internal limit, 16 KB above the limit for users.
    ///
    /// ## Why it matters
    /// Every further write that enlarges the document fails, and the data of that write is lost.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran {"command": {"q": {"_id": 7}, "u": {"$push": {"log": 1}}}, "errCode": 17419, "errName": "Location17419", "errMsg": "Resulting document after update is larger than 16777216"}
    /// ```
    /// The profiler shortens a long command to the beginning of its text:
    /// ```jsonl,fires
    /// ran {"op": "update", "command": {"$truncated": "{ q: { _id: 7 }, u: { $push: { log: \"xxxxxxxxxxxx..."}, "errCode": 17419, "errName": "Location17419", "errMsg": "Resulting document after update is larger than 16777216"}
    /// ```
    /// A query result that is too large is not a refused document:
    /// ```jsonl,clean
    /// ran {"command": {"aggregate": "t_order_item", "pipeline": [{"$group": {"_id": 1, "all": {"$push": "$$ROOT"}}}]}, "errCode": 10334, "errName": "BSONObjectTooLarge", "errMsg": "BSONObj size: 17825816 (0x1100018) is invalid. Size must be between 0 and 16793600(16MB)"}
    /// ```
    /// ```jsonl,clean
    /// ran {"command": {"q": {"_id": 7}, "u": {"$push": {"log": 1}}}, "errCode": 11000, "errName": "DuplicateKey"}
    /// ```
    ///
    /// ## How to fix
    /// Find the document with `$bsonSize`, and move its growing part to a separate collection. Then limit what is
    /// added, or use buckets.
    ///
    /// ## When to ignore it
    /// Never. Writes were lost.
    W008, "write-too-large",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["DM-05.2", "LM-2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [],
    data: ["code", "writes"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(workload) = &evidence.workload else { return };
    let refused = workload
        .failures
        .iter()
        .filter(|f| f.too_large && f.operation.is_none_or(Operation::is_write));
    for failure in refused {
        let namespace = failure.namespace.as_ref().filter(|ns| workload::is_business(ns));
        let size = match failure.bytes {
            Some(bytes) if bytes > 16 * 1024 * 1024 => {
                format!(", the largest has {} bytes", text::count(bytes))
            }
            _ => String::new(),
        };
        let what = match failure.operation {
            Some(_) => format!(
                "the server rejected {} because the document would exceed 16 MB ({}){size}",
                text::plural(failure.count, "write"),
                failure.name
            ),
            None => format!(
                "the server reported {} a document above 16 MB ({}){size}",
                text::plural(failure.count, "time"),
                failure.name
            ),
        };
        let level = if failure.operation.is_some() { Level::Mandatory } else { Level::Recommended };
        cx.report(
            Draft::new(
                namespace.map_or(Subject::Deployment, |ns| Subject::Collection(ns.clone())),
                what,
                "every write that makes the document larger fails, and the application's data is not stored",
                "find the document with $bsonSize, move its growing part to a separate collection, and limit its length",
                Seen::all(workload.operations(), Unit::Operations),
            )
            .level(level)
            .data("writes", failure.count)
            .data("code", failure.code)
            .key(format!("{} {:?}", failure.code, failure.operation)),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_05_2_lm_2_the_size_is_read_from_the_text() {
        let body = r#"ran {"command": {"insert": "t_order_item"}, "errCode": 10334, "errName": "BSONObjectTooLarge", "errMsg": "BSONObj size: 17825816 (0x1100018) is invalid. Size must be between 0 and 16793600(16MB)"}"#;
        let found = check("W008", body);
        assert!(found[0].what.contains("17,825,816 bytes"), "{}", found[0].what);
    }

    #[test]
    fn lm_2_lines_outside_of_operations_count_too() {
        let body = r#"log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "E", "c": "REPL", "id": 21099, "ctx": "x", "msg": "Failed", "attr": {"namespace": "db_shop.t_log", "error": {"code": 10334, "codeName": "BSONObjectTooLarge", "errmsg": "BSONObj size: 16793700 is invalid."}}}"#;
        let found = check("W008", body);
        assert_eq!(found[0].at.namespace().as_deref(), Some("db_shop.t_log"));
        assert_eq!(found[0].severity, docward_model::Severity::Warn);
    }

    #[test]
    fn lm_2_dm_05_2_commands_that_were_cut_off_count_when_they_write() {
        let row = |op: &str, text: &str| {
            let row = format!(
                r#"ran {{"op": "{op}", "command": {{"$truncated": "{text}..."}}, "errCode": 10334, "errName": "BSONObjectTooLarge", "errMsg": "BSONObj size: 17825816 (0x1100018) is invalid. Size must be between 0 and 16793600(16MB)"}}"#
            );
            check("W008", &row).len()
        };
        assert_eq!(row("insert", "{ insert: 't_order_item'"), 1);
        assert_eq!(row("command", "{ findAndModify: 't_order_item'"), 1);
        assert_eq!(row("command", "{ aggregate: 't_order_item'"), 0, "no write");
        assert_eq!(row("query", "{ find: 't_order_item'"), 0, "no write");
    }

    #[test]
    fn lm_2_damaged_sizes_are_not_too_large() {
        let body = r#"log {"t": {"$date": "2024-03-15T10:30:00Z"}, "s": "E", "c": "X", "id": 1234, "ctx": "x", "msg": "Some", "attr": {"error": {"code": 9001, "codeName": "X", "errmsg": "BSONObj size: 0 (0x0) is invalid. Size must be between 0 and 16793600(16MB)"}}}"#;
        assert!(check("W008", body).is_empty());
    }
}
