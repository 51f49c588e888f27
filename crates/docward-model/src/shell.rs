//! Names and values as mongosh takes them.

use crate::{Namespace, Value};

/// Quotes a text as a mongosh string literal.
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
            // Some readers treat these two characters as line ends, even inside strings. Characters
            // that change the writing direction would hide what the command does. Both are escaped.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || turns(c) => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)))
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether a character changes the writing direction of the text after it.
pub fn turns(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}

/// As an object key, quoted or not, this name would set the prototype instead of a field.
const PROTOTYPE: &str = "__proto__";

/// A key of an object literal, unquoted if possible.
pub fn key(name: &str) -> String {
    let bare = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$');
    if bare && name != PROTOTYPE { name.to_owned() } else { quoted_key(name) }
}

/// A quoted key of an object literal.
pub fn quoted_key(name: &str) -> String {
    if name == PROTOTYPE { format!("[{}]", quote(name)) } else { quote(name) }
}

/// `db.getSiblingDB("db_shop")`.
pub fn database(name: &str) -> String {
    format!("db.getSiblingDB({})", quote(name))
}

/// `db.getSiblingDB("db_shop").getCollection("t_order")`.
pub fn collection(namespace: &Namespace) -> String {
    format!("{}.getCollection({})", database(&namespace.database), quote(&namespace.collection))
}

/// A value as a literal.
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
    fn names_that_are_no_identifiers_are_quoted() {
        for bare in ["customerId", "_id", "$id", "a2"] {
            assert_eq!(key(bare), bare);
        }
        for quoted in ["2faId", "address.city", "a-b", "", "wild $**"] {
            assert_eq!(key(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(key("a\"b\\"), r#""a\"b\\""#);
        assert_eq!(key("__proto__"), r#"["__proto__"]"#);
        assert_eq!(quoted_key("__proto__"), r#"["__proto__"]"#);
        assert_eq!(quoted_key("_total"), r#""_total""#);
        let map = Value::Map(vec![
            ("a".to_owned(), Value::List(vec![Value::Int(1), Value::Text("x".to_owned())])),
            ("b-c".to_owned(), Value::Map(Vec::new())),
        ]);
        assert_eq!(value(&map), r#"{a: [1, "x"], "b-c": {}}"#);
        assert_eq!(quote("a\"b\\c\n"), r#""a\"b\\c\n""#);
        assert_eq!(quote("t_\u{202e}redro\u{7}"), r#""t_\u202eredro\u0007""#);
    }
}
