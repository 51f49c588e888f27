//! Index definitions.

use docward_model::{DirectionKind, Index, IndexKey, Namespace, Value};

use super::collation;

/// Reads an index definition; `None` when it has no key.
pub(crate) fn read(definition: &Value) -> Option<Index> {
    let keys = keys(definition)?;
    let is = |option: &str| definition.get(option).is_some_and(Value::is_truthy);
    Some(Index {
        name: definition.get("name").and_then(Value::as_text).unwrap_or_default().to_owned(),
        keys,
        unique: is("unique"),
        sparse: is("sparse"),
        hidden: is("hidden"),
        ttl_seconds: definition.get("expireAfterSeconds").and_then(seconds),
        partial_filter: definition.get("partialFilterExpression").cloned(),
        collation: definition.get("collation").and_then(collation::canonical),
    })
}

/// Reads a document of `system.indexes`, which also says whose index it is.
pub(crate) fn read_system_index(definition: &Value) -> Option<(Namespace, Index)> {
    let namespace = Namespace::parse(definition.get("ns")?.as_text()?)?;
    Some((namespace, read(definition)?))
}

fn keys(definition: &Value) -> Option<Vec<IndexKey>> {
    let stored = definition.get("key").filter(|key| !key.entries().is_empty())?.entries();
    let mut keys = Vec::with_capacity(stored.len());
    for (path, value) in stored {
        match path.as_str() {
            // A text index stores two fields of its own; what it indexes stands in `weights`.
            "_fts" => {
                let weights = definition.get("weights").map_or(&[][..], Value::entries);
                keys.extend(weights.iter().map(|(path, _)| IndexKey {
                    path: path.clone(),
                    kind: DirectionKind::Text,
                }));
            }
            "_ftsx" => {}
            _ => keys.push(IndexKey { path: path.clone(), kind: direction(value) }),
        }
    }
    if keys.is_empty() {
        keys.push(IndexKey { path: "$**".to_owned(), kind: DirectionKind::Text });
    }
    Some(keys)
}

/// What an index does with a field. The server takes any number for a direction, by its sign.
fn direction(value: &Value) -> DirectionKind {
    let by_sign = |negative| {
        if negative { DirectionKind::Descending } else { DirectionKind::Ascending }
    };
    match value {
        Value::Int(number) => by_sign(*number < 0),
        Value::Double(number) => by_sign(*number < 0.0),
        Value::Other(text) if text.starts_with("NumberDecimal(\"") => {
            by_sign(text.contains("(\"-"))
        }
        Value::Text(kind) => match kind.as_str() {
            "hashed" => DirectionKind::Hashed,
            "text" => DirectionKind::Text,
            "2d" | "2dsphere" | "geoHaystack" => DirectionKind::Geo(kind.clone()),
            _ => DirectionKind::Other(kind.clone()),
        },
        // Servers before 3.4 took anything, and read it as ascending.
        Value::Bool(_) | Value::Null => DirectionKind::Ascending,
        other => DirectionKind::Other(format!("{other:?}")),
    }
}

/// `expireAfterSeconds`; servers read "not a number" as "practically never".
fn seconds(value: &Value) -> Option<i64> {
    match value {
        Value::Int(seconds) => Some(*seconds),
        Value::Double(seconds) if seconds.is_nan() => Some(i64::from(i32::MAX)),
        Value::Double(seconds) => Some(*seconds as i64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use docward_bson::json;

    use super::*;
    use crate::catalogue::of_document;

    fn check(text: &str, key: &str, also: impl Fn(&Index) -> bool) {
        let index = read(&of_document(&json::parse_one(text).unwrap())).unwrap();
        assert_eq!(index.key_text(), key, "{text}");
        assert!(also(&index), "{text}: {index:?}");
    }

    #[test]
    fn keys_of_every_kind() {
        check(r#"{"key":{"a":1,"b":-1.0},"name":"n"}"#, "{ a: 1, b: -1 }", |i| i.name == "n");
        check(
            r#"{"key":{"a":{"$numberLong":"-1"},"b":{"$numberDouble":"1.0"}}}"#,
            "{ a: -1, b: 1 }",
            |i| !i.unique,
        );
        check(r#"{"key":{"a":"hashed"}}"#, r#"{ a: "hashed" }"#, |i| {
            i.keys[0].kind == DirectionKind::Hashed
        });
        check(r#"{"key":{"a.b":"2dsphere"}}"#, r#"{ "a.b": "2dsphere" }"#, |i| {
            i.keys[0].kind == DirectionKind::Geo("2dsphere".to_owned())
        });
        check(r#"{"key":{"$**":1}}"#, r#"{ "$**": 1 }"#, |_| true);
        check(r#"{"key":{"a":true}}"#, "{ a: 1 }", |_| true);
        check(r#"{"key":{"a":"columnstore"}}"#, r#"{ a: "columnstore" }"#, |_| true);
    }

    #[test]
    fn text_indexes_show_what_they_index() {
        check(
            r#"{"key":{"tenant":1,"_fts":"text","_ftsx":1,"at":-1},"weights":{"title":1,"body":5}}"#,
            r#"{ tenant: 1, title: "text", body: "text", at: -1 }"#,
            |_| true,
        );
        check(r#"{"key":{"_fts":"text","_ftsx":1}}"#, r#"{ "$**": "text" }"#, |_| true);
    }

    #[test]
    fn options_in_every_spelling() {
        check(r#"{"key":{"a":1},"unique":1,"sparse":true,"hidden":true}"#, "{ a: 1 }", |i| {
            i.unique && i.sparse && i.hidden
        });
        for seconds in ["3600", "3600.0", r#"{"$numberLong":"3600"}"#] {
            let text = format!(r#"{{"key":{{"a":1}},"expireAfterSeconds":{seconds}}}"#);
            check(&text, "{ a: 1 }", |i| i.ttl_seconds == Some(3600));
        }
        check(
            r#"{"key":{"a":1},"expireAfterSeconds":{"$numberDouble":"NaN"}}"#,
            "{ a: 1 }",
            |i| i.ttl_seconds == Some(2_147_483_647),
        );
        check(
            r#"{"key":{"a":1},"partialFilterExpression":{"a":{"$gt":{"$numberInt":"5"}}},"collation":{"locale":"de"}}"#,
            "{ a: 1 }",
            |i| i.partial_filter.is_some() && i.collation.as_deref() == Some("locale=de"),
        );
        assert!(read(&Value::Map(Vec::new())).is_none());
    }
}
