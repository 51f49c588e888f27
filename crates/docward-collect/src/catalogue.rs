//! Catalogue facts from dumps: `*.metadata.json`, the metadata text in archives, and the
//! `system.indexes` of old servers.
//!
//! Every generation of `mongodump` writes them slightly differently (plain JSON, Extended JSON 1,
//! Extended JSON 2 canonical; with and without `options`, `uuid`, `collectionName`, `type`).
//! `docward-model` interprets options and index definitions.

use docward_bson::{json, value::to_value};
use docward_model::{CollectionKind, CollectionOptions, Index, Namespace, Value};

/// The facts that metadata contains about a collection.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The collection's full name. Newer versions of `mongodump` write it, because long file names
    /// are truncated.
    pub(crate) collection: Option<String>,
    /// Plain, a view, a time series or capped.
    pub(crate) kind: CollectionKind,
    /// Its options; `None` if the value cannot be options.
    pub(crate) options: Option<CollectionOptions>,
    /// Its indexes; `None` if the value cannot be a list of indexes.
    pub(crate) indexes: Option<Vec<Index>>,
    /// Deviations from the format of `mongodump`, as text.
    pub(crate) faults: Vec<String>,
}

/// Reads metadata text. `kind` is the collection type that an archive states next to it, or empty.
pub(crate) fn read(text: &str, kind: &str) -> Result<Facts, json::Error> {
    Ok(facts(&document(text)?, kind))
}

/// Extracts the facts from a metadata document.
pub(crate) fn facts(metadata: &Value, kind: &str) -> Facts {
    let mut faults = Vec::new();
    let nothing = Value::Map(Vec::new());
    let options = match metadata.get("options") {
        None | Some(Value::Null) => Some(&nothing),
        Some(options @ Value::Map(_)) => Some(options),
        Some(other) => {
            faults.push(format!(
                "`options` is {}, not an object: the options are unknown",
                shape(other)
            ));
            None
        }
    };
    let has = |key: &str| options.and_then(|options| options.get(key));
    let kind = match metadata.get("type").and_then(Value::as_text).unwrap_or(kind) {
        "view" => CollectionKind::View,
        _ if has("viewOn").is_some() => CollectionKind::View,
        "timeseries" => CollectionKind::TimeSeries,
        _ if has("timeseries").is_some() => CollectionKind::TimeSeries,
        _ if has("capped").is_some_and(Value::is_truthy) => CollectionKind::Capped,
        _ => CollectionKind::Plain,
    };
    let indexes = match metadata.get("indexes") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::List(items)) => Some(indexes(items, &mut faults)),
        Some(other) => {
            faults.push(format!(
                "`indexes` is {}, not an array: the indexes are unknown",
                shape(other)
            ));
            None
        }
    };
    Facts {
        collection: metadata.get("collectionName").and_then(Value::as_text).map(str::to_owned),
        kind,
        options: options.map(CollectionOptions::from_value),
        indexes,
        faults,
    }
}

fn indexes(definitions: &[Value], faults: &mut Vec<String>) -> Vec<Index> {
    let mut out = Vec::new();
    for (at, definition) in definitions.iter().enumerate() {
        let has_key = definition.get("key").is_some_and(|key| !key.entries().is_empty());
        match Index::from_value(definition).filter(|_| has_key) {
            Some(index) => out.push(index),
            None => faults
                .push(format!("`indexes[{at}]` has no `key` with fields: the index is left out")),
        }
    }
    out
}

/// Describes the type of a value.
fn shape(value: &Value) -> &'static str {
    match value {
        Value::Map(_) => "an object",
        Value::List(_) => "an array",
        Value::Text(_) => "a string",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Double(_) => "a number",
        Value::Null | Value::Date(_) | Value::Other(_) => "something else",
    }
}

/// Reads a document of `system.indexes`: an index, and the collection it belongs to.
pub(crate) fn read_system_index(document: &[u8]) -> Option<(Namespace, Index)> {
    let definition = to_value(document).ok()?;
    let namespace = Namespace::parse(definition.get("ns")?.as_text()?)?;
    Some((namespace, Index::from_value(&definition)?))
}

/// Major and minor of a version such as `6.0.5` or `r4.1.3-4-gd9eef`.
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.trim_start_matches(['r', 'v']).split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The server's version in the text of `prelude.json`.
pub(crate) fn read_prelude(text: &str) -> Result<Option<(u32, u32)>, json::Error> {
    Ok(document(text)?.get("ServerVersion").and_then(Value::as_text).and_then(version))
}

fn document(text: &str) -> Result<Value, json::Error> {
    // The parser always writes complete documents. If it did not, nothing would be known about the
    // collection.
    Ok(to_value(&json::parse_one(text)?).unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests {
    use docward_model::{ValidationAction, ValidationLevel};

    use super::*;

    #[test]
    fn indexes_of_real_dumps_are_read() {
        let text = r#"{"options":{},"indexes":[
            {"v":2,"unique":true,"key":{"email":1.0},"name":"email_1","ns":"a.b"},
            {"v":2,"key":{"location.geo":"2dsphere"},"name":"geo index","2dsphereIndexVersion":3},
            {"v":2,"key":{"_fts":"text","_ftsx":1},"name":"t","weights":{"cast":1,"title":1}},
            {"v":{"$numberInt":"2"},"key":{"at":{"$numberLong":"-1"}},"name":"at",
                "expireAfterSeconds":{"$numberLong":"3600"},"hidden":true,
                "partialFilterExpression":{"a":{"$gt":{"$numberInt":"5"}}},
                "collation":{"locale":"de"}},
            {"v":2,"key":{"a":"hashed"},"name":"a_hashed"}
        ]}"#;
        let indexes = read(text, "").unwrap().indexes.unwrap();
        let keys: Vec<_> = indexes.iter().map(Index::key_text).collect();
        assert_eq!(
            keys,
            [
                "{ email: 1 }",
                r#"{ "location.geo": "2dsphere" }"#,
                r#"{ cast: "text", title: "text" }"#,
                "{ at: -1 }",
                r#"{ a: "hashed" }"#,
            ]
        );
        assert!(indexes[0].unique && !indexes[1].unique);
        assert_eq!((indexes[3].ttl_seconds, indexes[3].hidden), (Some(3600), true));
        assert!(indexes[3].partial_filter.is_some() && indexes[3].collation.is_some());
    }

    #[test]
    fn metadata_of_every_generation_is_read() {
        let old = r#"{ "indexes" : [ { "v" : 1, "key" : { "_id" : 1 }, "name" : "_id_", "ns" : "test.prices" } ] }"#;
        let middle = r#"{"options":{"capped":true,"size":4096},"indexes":[{"v":2,"key":{"_id":1},"name":"_id_","ns":"a.b"}],"uuid":"01b9"}"#;
        let new = r#"{"options":{"validator":{"$jsonSchema":{"required":["a"]}},"validationLevel":"moderate","validationAction":"warn"},"indexes":[{"v":{"$numberInt":"2"},"key":{"_id":{"$numberInt":"1"}},"name":"_id_"}],"uuid":"3c","collectionName":"t_a","type":"collection"}"#;

        let facts = read(old, "").unwrap();
        assert!(facts.indexes.unwrap()[0].is_id() && facts.kind == CollectionKind::Plain);

        let facts = read(middle, "").unwrap();
        let capped = facts.options.unwrap().capped_bytes;
        assert_eq!((facts.kind, capped), (CollectionKind::Capped, Some(4096)));

        let facts = read(new, "").unwrap();
        assert_eq!(facts.collection.as_deref(), Some("t_a"));
        let options = facts.options.unwrap();
        assert!(options.json_schema().is_some());
        assert_eq!(options.validation_level, ValidationLevel::Moderate);
        assert_eq!(options.validation_action, ValidationAction::Warn);
        assert!(facts.indexes.unwrap()[0].is_id());
    }

    #[test]
    fn views_and_time_series_are_told() {
        let view = r#"{"options":{"viewOn":"t_order","pipeline":[]},"indexes":[]}"#;
        assert_eq!(read(view, "").unwrap().kind, CollectionKind::View);
        assert_eq!(read("{}", "view").unwrap().kind, CollectionKind::View);

        let series = r#"{"options":{"timeseries":{"timeField":"at","metaField":"m","granularity":"seconds"}},"indexes":[],"type":"timeseries"}"#;
        let facts = read(series, "").unwrap();
        assert_eq!(facts.kind, CollectionKind::TimeSeries);
        let series = facts.options.unwrap().time_series.unwrap();
        assert_eq!((series.time_field.as_str(), series.meta_field.as_deref()), ("at", Some("m")));
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version("6.0.5"), Some((6, 0)));
        assert_eq!(version("r4.1.3-4-gd9eef"), Some((4, 1)));
        assert_eq!(version("unknown"), None);
        assert_eq!(
            read_prelude(r#"{"ServerVersion":"7.0.5","ToolVersion":"100"}"#),
            Ok(Some((7, 0)))
        );
        assert_eq!(read_prelude("{}"), Ok(None));
    }
}
