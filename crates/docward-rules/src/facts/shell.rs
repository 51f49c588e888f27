//! Commands as mongosh takes them: quoting, and catalogue values as text.

use docward_model::{Namespace, Value};

/// A string literal for mongosh.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A key of an object literal: bare when it can be.
pub fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if bare { name.to_owned() } else { quote(name) }
}

/// `db.getSiblingDB("db_shop")`.
pub fn database(name: &str) -> String {
    format!("db.getSiblingDB({})", quote(name))
}

/// `db.getSiblingDB("db_shop").getCollection("t_order")`.
pub fn collection(namespace: &Namespace) -> String {
    format!("{}.getCollection({})", database(&namespace.database), quote(&namespace.collection))
}

/// A catalogue value as an object literal.
pub fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Double(n) => n.to_string(),
        Value::Text(text) => quote(text),
        Value::Date(ms) => format!("new Date({ms})"),
        Value::Other(text) => text.clone(),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(self::value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Map(entries) => {
            let entries: Vec<_> =
                entries.iter().map(|(k, v)| format!("{}: {}", key(k), self::value(v))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_quoted() {
        assert_eq!(quote("a\"b\\c\n"), r#""a\"b\\c\n""#);
        assert_eq!(key("first name"), "\"first name\"");
        assert_eq!(key("$jsonSchema"), "$jsonSchema");
        let map = Value::Map(vec![
            ("a".to_owned(), Value::List(vec![Value::Int(1), Value::Text("x".to_owned())])),
            ("b-c".to_owned(), Value::Map(Vec::new())),
        ]);
        assert_eq!(value(&map), r#"{a: [1, "x"], "b-c": {}}"#);
    }
}
