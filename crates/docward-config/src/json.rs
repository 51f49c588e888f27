//! A minimal JSON writer for the schema: ordered, indented by two, byte-stable.

use std::fmt::Write as _;

use docward_model::shell::quote;

/// A JSON value; objects keep their order.
pub(crate) enum Json {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    pub(crate) fn object<K: Into<String>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Object(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Adds an entry; has no effect on values other than objects.
    pub(crate) fn with(mut self, key: &str, value: Self) -> Self {
        if let Self::Object(entries) = &mut self {
            entries.push((key.to_owned(), value));
        }
        self
    }

    /// Appends the entries of another object.
    pub(crate) fn merged(mut self, other: Self) -> Self {
        if let (Self::Object(entries), Self::Object(more)) = (&mut self, other) {
            entries.extend(more);
        }
        self
    }

    /// The formatted text, with a final line break.
    pub(crate) fn pretty(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        // Writing to a string cannot fail.
        match self {
            Self::Bool(b) => _ = write!(out, "{b}"),
            Self::Int(n) => _ = write!(out, "{n}"),
            // JSON cannot represent the other values.
            Self::Float(n) if !n.is_finite() => out.push_str("null"),
            Self::Float(n) => _ = write!(out, "{n:?}"),
            Self::Text(text) => out.push_str(&quote(text)),
            Self::List(items) => block(out, depth, ('[', ']'), items, |out, item| {
                item.write(out, depth + 1);
            }),
            Self::Object(entries) => block(out, depth, ('{', '}'), entries, |out, (key, value)| {
                out.push_str(&quote(key));
                out.push_str(": ");
                value.write(out, depth + 1);
            }),
        }
    }
}

fn block<T>(
    out: &mut String,
    depth: usize,
    (open, close): (char, char),
    items: &[T],
    mut each: impl FnMut(&mut String, &T),
) {
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        each(out, item);
    }
    if !items.is_empty() {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_json() {
        let json = Json::object([
            ("a\"\\\n\u{1}é", Json::List(vec![Json::Int(-1), Json::Float(0.5), Json::Float(1.0)])),
            ("b", Json::object::<&str>([])),
            ("c", Json::Float(f64::NAN)),
        ])
        .with("d", Json::Bool(true));
        let text = "{\n  \"a\\\"\\\\\\n\\u0001é\": [\n    -1,\n    0.5,\n    1.0\n  ],\n  \"b\": {},\n  \"c\": null,\n  \"d\": true\n}\n";
        assert_eq!(json.pretty(), text);
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
    }
}
