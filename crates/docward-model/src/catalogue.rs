//! Catalogue documents (`options`, index definitions) as facts. The same formats occur in
//! `metadata.json`, from archives and from a live server.

use crate::{
    CollectionOptions, DirectionKind, Index, IndexKey, TimeSeriesOptions, ValidationAction,
    ValidationLevel, Value,
};

impl CollectionOptions {
    /// Reads an `options` document.
    pub fn from_value(options: &Value) -> Self {
        let text = |key: &str| options.get(key).and_then(Value::as_text);
        Self {
            // An empty `validator: {}` means that the validator was removed.
            validator: options.get("validator").filter(|v| !v.entries().is_empty()).cloned(),
            validation_level: match text("validationLevel") {
                Some("off") => ValidationLevel::Off,
                Some("moderate") => ValidationLevel::Moderate,
                _ => ValidationLevel::Strict,
            },
            validation_action: match text("validationAction") {
                Some("warn") => ValidationAction::Warn,
                Some("errorAndLog") => ValidationAction::ErrorAndLog,
                _ => ValidationAction::Error,
            },
            time_series: options.get("timeseries").map(|ts| {
                let text = |key: &str| ts.get(key).and_then(Value::as_text).map(str::to_owned);
                TimeSeriesOptions {
                    time_field: text("timeField").unwrap_or_default(),
                    meta_field: text("metaField"),
                    granularity: text("granularity"),
                }
            }),
            capped_bytes: options
                .get("capped")
                .filter(|v| v.is_truthy())
                .map(|_| options.get("size").and_then(Value::as_int).unwrap_or(0)),
            collation: options.get("collation").and_then(collation),
        }
    }
}

impl Index {
    /// Reads an index definition; `None` when it has no key.
    pub fn from_value(definition: &Value) -> Option<Self> {
        let key = definition.get("key")?;
        let mut keys: Vec<IndexKey> = key
            .entries()
            .iter()
            .map(|(path, kind)| IndexKey { path: path.clone(), kind: direction(kind) })
            .collect();
        // A text index stores its fields under `weights`; `_fts` and `_ftsx` are placeholders for
        // them.
        if let Some(at) = keys.iter().position(|k| k.path == "_fts") {
            keys.retain(|k| k.path != "_fts" && k.path != "_ftsx");
            let weights = definition.get("weights").map_or(&[][..], Value::entries);
            for (offset, (path, _)) in weights.iter().enumerate() {
                let key = IndexKey { path: path.clone(), kind: DirectionKind::Text };
                keys.insert((at + offset).min(keys.len()), key);
            }
        }
        let truthy = |name: &str| definition.get(name).is_some_and(Value::is_truthy);
        Some(Self {
            name: definition.get("name").and_then(Value::as_text).unwrap_or_default().to_owned(),
            keys,
            unique: truthy("unique"),
            sparse: truthy("sparse"),
            hidden: truthy("hidden"),
            ttl_seconds: definition.get("expireAfterSeconds").and_then(Value::as_int),
            partial_filter: definition.get("partialFilterExpression").cloned(),
            collation: definition.get("collation").and_then(collation),
            bytes: None,
            usage: None,
        })
    }
}

fn direction(kind: &Value) -> DirectionKind {
    match kind {
        Value::Text(text) => match text.as_str() {
            "hashed" => DirectionKind::Hashed,
            "text" => DirectionKind::Text,
            "2d" | "2dsphere" | "geoHaystack" => DirectionKind::Geo(text.clone()),
            other => DirectionKind::Other(other.to_owned()),
        },
        Value::Int(n) if *n < 0 => DirectionKind::Descending,
        Value::Double(n) if *n < 0.0 => DirectionKind::Descending,
        _ => DirectionKind::Ascending,
    }
}

/// A collation as text that can be compared; `None` for the simple collation.
fn collation(value: &Value) -> Option<String> {
    let mut parts: Vec<String> = value
        .entries()
        .iter()
        .filter(|(key, _)| key != "version")
        .map(|(key, value)| match value {
            Value::Text(text) => format!("{key}={text}"),
            Value::Bool(b) => format!("{key}={b}"),
            other => format!("{key}={}", other.as_int().unwrap_or_default()),
        })
        .collect();
    parts.sort();
    let text = parts.join(",");
    (!text.is_empty() && text != "locale=simple").then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(entries.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect())
    }

    #[test]
    fn text_indexes_show_their_fields() {
        let definition = map(&[
            (
                "key",
                map(&[
                    ("a", Value::Int(1)),
                    ("_fts", Value::Text("text".into())),
                    ("_ftsx", Value::Int(1)),
                ]),
            ),
            ("weights", map(&[("title", Value::Int(1)), ("body", Value::Int(1))])),
            ("name", Value::Text("t".into())),
        ]);
        let index = Index::from_value(&definition).unwrap();
        let paths: Vec<_> = index.keys.iter().map(|k| k.path.as_str()).collect();
        assert_eq!(paths, ["a", "title", "body"]);
        assert_eq!(index.key_text(), "{ a: 1, title: \"text\", body: \"text\" }");
    }

    #[test]
    fn an_empty_validator_is_none() {
        let options =
            map(&[("validator", map(&[])), ("validationAction", Value::Text("warn".into()))]);
        let options = CollectionOptions::from_value(&options);
        assert!(options.validator.is_none());
        assert_eq!(options.validation_action, ValidationAction::Warn);
    }
}
