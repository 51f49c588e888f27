//! Parses a row of `$queryStats`: totals over the operations of one shape. Written for the
//! documented format of the rows (7.0 to 8.x, where totals are also found one level down), which
//! the manual calls unstable: missing figures count as unknown.

use docward_model::{Namespace, Value};

/// Operations of one shape, added up by the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// The collection.
    pub namespace: Namespace,
    /// The command, with the types of values in the place of values.
    pub command: Value,
    /// The number of executions.
    pub count: u64,
    /// The times when it was first and last seen, in milliseconds since 1970.
    pub span: Option<(i64, i64)>,
    /// Total milliseconds, and milliseconds of the slowest.
    pub millis: (u64, u64),
    /// Index keys examined.
    pub keys_examined: u64,
    /// Documents examined, and the maximum of one operation.
    pub documents_examined: (u64, u64),
    /// Documents returned.
    pub returned: u64,
    /// The number of operations that sorted in memory.
    pub sorts: u64,
    /// True if they scanned the collection: they examined documents, but no index keys.
    pub scans: bool,
    /// The application's name.
    pub application: Option<String>,
}

/// Parses a row of `$queryStats`; `None` if it has another format or no collection.
pub fn totals_entry(row: &Value) -> Option<Totals> {
    let key = row.get("key")?;
    let shape = key.get("queryShape")?;
    let metrics = row.get("metrics")?;
    let named = |key: &str| shape.get("cmdNs").and_then(|ns| ns.get(key)?.as_text());
    let (database, collection) = (named("db")?, named("coll")?);
    let name = shape.get("command")?.as_text()?;
    if !matches!(name, "find" | "aggregate" | "distinct" | "count") || collection.starts_with('$') {
        return None;
    }
    let count = metrics.get("execCount").and_then(Value::as_int).filter(|&n| n > 0)? as u64;
    let examined = figure(metrics, "docsExamined");
    let keys = figure(metrics, "keysExamined");
    let is_plain = key.get("collectionType").and_then(Value::as_text) == Some("collection");
    let micros = figure(metrics, "totalExecMicros").unwrap_or_default();
    let date = |key: &str| metrics.get(key).and_then(Value::as_date);
    let application = key.get("client").and_then(|c| c.get("application")?.get("name")?.as_text());
    Some(Totals {
        namespace: Namespace::new(database, collection),
        command: command(name, collection, shape),
        count,
        span: date("firstSeenTimestamp").zip(date("latestSeenTimestamp")),
        millis: (micros.0 / 1000, micros.1 / 1000),
        keys_examined: keys.unwrap_or_default().0,
        documents_examined: examined.unwrap_or_default(),
        returned: figure(metrics, "docsReturned").unwrap_or_default().0,
        sorts: metric(metrics, "hasSortStage").and_then(|s| whole(s.get("true")?)).unwrap_or(0),
        // Buckets of time series are found without index keys, so only plain collections count.
        scans: is_plain && keys.is_some_and(|k| k.0 == 0) && examined.is_some_and(|e| e.0 > 0),
        application: application.map(str::to_owned),
    })
}

/// The command for a shape, in the format of the server's profiler.
fn command(name: &str, collection: &str, shape: &Value) -> Value {
    let mut entries = vec![(name.to_owned(), Value::Text(collection.to_owned()))];
    for (key, value) in shape.entries() {
        match key.as_str() {
            "cmdNs" | "command" => {}
            // Only the existence of a limit is known.
            "limit" => entries.push((key.clone(), Value::Int(1))),
            _ => entries.push((key.clone(), value.clone())),
        }
    }
    Value::Map(entries)
}

/// A metric, at the top level or in one of the groups of newer servers.
fn metric<'a>(metrics: &'a Value, name: &str) -> Option<&'a Value> {
    let groups = metrics.entries().iter().map(|(_, group)| group);
    metrics.get(name).or_else(|| groups.filter_map(|group| group.get(name)).next())
}

/// The sum and the maximum of a metric.
fn figure(metrics: &Value, name: &str) -> Option<(u64, u64)> {
    let metric = metric(metrics, name)?;
    let sum = whole(metric.get("sum")?)?;
    Some((sum, metric.get("max").and_then(whole).unwrap_or(sum)))
}

fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Double(n) if n.is_finite() && *n >= 0.0 => Some(*n as u64),
        _ => value.as_int().and_then(|n| u64::try_from(n).ok()),
    }
}

#[cfg(test)]
mod tests {
    use docward_model::{Comparison, WorkloadKind};

    use super::*;
    use crate::{Entry, Recorder};

    fn read(row: &str) -> Option<Totals> {
        let document = docward_bson::json::parse_one(row).expect("a row");
        totals_entry(&docward_bson::value::to_value(&document).expect("BSON"))
    }

    /// A row in the documented format.
    fn row(application: &str, shape: &str, metrics: &str) -> String {
        format!(
            r#"{{"key": {{"queryShape": {{"cmdNs": {{"db": "shop", "coll": "orders"}}, {shape}}},
                "client": {{"application": {{"name": "{application}"}}}}, "collectionType": "collection"}},
              "keyHash": "abc", "queryShapeHash": "DEF", "asOf": {{"$timestamp": {{"t": 1, "i": 1}}}},
              "metrics": {{"lastExecutionMicros": 90, "execCount": 40,
                "totalExecMicros": {{"sum": 8000000, "max": 900000, "min": 90, "sumOfSquares": {{"$numberDecimal": "1E9"}}}},
                "firstResponseExecMicros": {{"sum": 8000000, "max": 900000, "min": 90}},
                "docsReturned": {{"sum": 80, "max": 2, "min": 2}},
                "firstSeenTimestamp": {{"$date": "2024-03-15T10:00:00Z"}},
                "latestSeenTimestamp": {{"$date": "2024-03-15T11:00:00Z"}}{metrics}}}}}"#
        )
    }

    const FIND: &str = r#""command": "find", "filter": {"status": {"$eq": "?string"}, "kind": {"$in": "?array<?number>"}, "at": {"$gt": "?date"}}, "sort": {"n": -1}, "limit": "?number", "projection": {"no": true, "_id": false}"#;
    const EXAMINED: &str = r#", "keysExamined": {"sum": 0, "max": 0}, "docsExamined": {"sum": 200000, "max": 5000}, "hasSortStage": {"true": 40, "false": 0}"#;

    #[test]
    fn ck_12_sums_by_shape_are_read_as_the_manual_describes_them() {
        let totals = read(&row("api", FIND, EXAMINED)).expect("a row");
        assert_eq!(totals.namespace, Namespace::new("shop", "orders"));
        assert_eq!((totals.count, totals.millis, totals.returned), (40, (8000, 900), 80));
        assert_eq!((totals.documents_examined, totals.sorts), ((200_000, 5000), 40));
        assert!(totals.scans);
        let mut recorder = Recorder::new();
        recorder.begin("test", WorkloadKind::Totals);
        recorder.add(Entry::Totals(Box::new(totals)));
        let workload = recorder.finish();
        let stats = &workload.shapes[0];
        let filter: Vec<_> =
            stats.shape.filter.iter().map(|p| (p.path.as_str(), p.comparison)).collect();
        assert_eq!(
            filter,
            [
                ("at", Comparison::Range),
                ("kind", Comparison::OneOf),
                ("status", Comparison::Equality)
            ]
        );
        assert_eq!(stats.shape.projection.as_deref(), Some(&["no".to_owned()][..]));
        assert!(stats.shape.limited);
        assert_eq!((stats.count, stats.collection_scans, stats.most_examined), (40, 40, 5000));
        assert_eq!(stats.applications, [("api".to_owned(), 40)]);
        assert_eq!(workload.span, Some((1_710_496_800_000, 1_710_500_400_000)));
    }

    #[test]
    fn ck_12_aggregations_counts_and_sums_in_groups_are_read() {
        let pipeline = r#""command": "aggregate", "pipeline": [{"$match": {"userId": {"$eq": "?objectId"}}}, {"$limit": "?number"}]"#;
        let grouped = r#", "queryExec": {"docsExamined": {"sum": 7, "max": 3}, "keysExamined": {"sum": 7, "max": 3}}"#;
        let totals = read(&row("api", pipeline, grouped)).expect("a row");
        assert_eq!(
            (totals.documents_examined, totals.keys_examined, totals.scans),
            ((7, 3), 7, false)
        );
        let distinct =
            r#""command": "distinct", "key": "status", "query": {"userId": {"$eq": "?number"}}"#;
        let totals = read(&row("api", distinct, "")).expect("a row");
        // Servers of version 7.0 do not report examined documents, which is not a scan.
        assert!(!totals.scans && totals.documents_examined == (0, 0));
    }

    #[test]
    fn rows_of_another_form_are_passed_over() {
        for text in [
            "{}",
            r#"{"key": {}, "metrics": {}}"#,
            r#"{"key": {"queryShape": {"cmdNs": {"db": "admin", "coll": "$cmd.aggregate"}, "command": "aggregate", "pipeline": []}}, "metrics": {"execCount": 1}}"#,
            r#"{"key": {"queryShape": {"cmdNs": {"db": "a", "coll": "b"}, "command": "find"}}, "metrics": {"execCount": 0}}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
