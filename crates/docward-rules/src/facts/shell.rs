//! Commands as mongosh takes them: quoting, and catalogue values as text.

use docward_model::{Namespace, Value};

pub use docward_model::shell::{key, quote, quoted_key};

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
