//! Formats BSON as JavaScript for mongosh. A value of the BSON type JavaScript represents an
//! expression over the parameters of a function, and is written unchanged.

use bson::{Bson, Document};
use docward_model::shell::{key, quote};

/// A key that spreads an object into the one around it: `{ ...comment, postId }`.
pub const SPREAD: &str = "...";

/// Longer lines are broken.
const WIDTH: usize = 88;

/// Returns an expression over a function's parameters, such as `comment.text`.
pub(crate) fn given(expression: impl Into<String>) -> Bson {
    Bson::JavaScriptCode(expression.into())
}

/// Formats a value. Further lines are indented by `indent` spaces.
pub fn value(value: &Bson, indent: usize) -> String {
    match value {
        Bson::Document(document) => object(document, indent),
        Bson::Array(items) => {
            let parts = items.iter().map(|item| self::value(item, indent + 2)).collect();
            enclosed("[", parts, "]", indent)
        }
        other => scalar(other),
    }
}

/// Formats an object.
pub fn object(document: &Document, indent: usize) -> String {
    let parts = document.iter().map(|(name, value)| member(name, value, indent + 2)).collect();
    enclosed("{", parts, "}", indent)
}

fn member(name: &str, value: &Bson, indent: usize) -> String {
    match value {
        Bson::JavaScriptCode(code) if name.starts_with(SPREAD) => format!("...{code}"),
        Bson::JavaScriptCode(code) if code == name && key(name) == name => code.clone(),
        value => format!("{}: {}", key(name), self::value(value, indent)),
    }
}

/// Formats parts in one line if they fit, otherwise in one line each.
pub(crate) fn enclosed(open: &str, parts: Vec<String>, close: &str, indent: usize) -> String {
    if parts.is_empty() {
        return format!("{open}{close}");
    }
    let space = if open.ends_with('{') { " " } else { "" };
    let short = format!("{open}{space}{}{space}{close}", parts.join(", "));
    if short.len() + indent <= WIDTH && !short.contains('\n') {
        return short;
    }
    let inner = " ".repeat(indent + 2);
    let lines: Vec<String> = parts.iter().map(|part| format!("{inner}{part},\n")).collect();
    format!("{open}\n{}{}{close}", lines.concat(), " ".repeat(indent))
}

fn scalar(value: &Bson) -> String {
    match value {
        Bson::String(text) => quote(text),
        Bson::Boolean(flag) => flag.to_string(),
        Bson::Null => "null".to_owned(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => format!("NumberLong({})", quote(&number.to_string())),
        // mongosh stores any whole number as an int, even if it is written as `1.0`.
        Bson::Double(number) if number.fract() == 0.0 => format!("Double({number})"),
        Bson::Double(number) => number.to_string(),
        Bson::Decimal128(number) => format!("NumberDecimal({})", quote(&number.to_string())),
        Bson::DateTime(date) => match date.try_to_rfc3339_string() {
            Ok(text) => format!("ISODate({})", quote(&text)),
            Err(_) => format!("new Date({})", date.timestamp_millis()),
        },
        Bson::ObjectId(id) => format!("ObjectId({})", quote(&id.to_hex())),
        Bson::Timestamp(at) => format!("Timestamp({{ t: {}, i: {} }})", at.time, at.increment),
        Bson::Binary(data) => {
            let hex: String = data.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("HexData({}, {})", u8::from(data.subtype), quote(&hex))
        }
        Bson::MinKey => "MinKey()".to_owned(),
        Bson::MaxKey => "MaxKey()".to_owned(),
        Bson::JavaScriptCode(code) => code.clone(),
        // The generator creates no other types.
        other => other.to_string(),
    }
}

/// Reserved words, and the parameter that every function has.
const WORDS: &str = "\
    arguments await break case catch class const continue db debugger default delete do else \
    enum eval export extends false finally for function if implements import in instanceof \
    interface let new null package private protected public return static super switch this \
    throw true try typeof undefined var void while with yield";

/// Names that generated functions use for variables and for helper functions. A parameter with the
/// same name would shadow them or be shadowed.
const OWN: &[&str] = &[
    "_id", "above", "added", "after", "all", "archived", "attempt", "before", "changes", "counted",
    "current", "deepest", "document", "done", "edge", "element", "error", "found", "from", "gone",
    "has", "ids", "ignored", "keeper", "label", "last", "levels", "marked", "moved", "name",
    "next", "number", "old", "older", "one", "open", "own", "page", "pages", "pairs", "parent",
    "pick", "placed", "rest", "result", "session", "set", "shown", "some", "start", "text",
    "update", "value", "was", "whole",
];

/// Prefixes of the names that functions derive from names of the model: `ofCustomerId`,
/// `inBookReader`.
const DERIVED: &[&str] = &["in", "of"];

/// Returns a parameter name that is derived from a name of the model: `postId`, `class_`.
pub(crate) fn parameter(name: &str) -> String {
    let parts = docward_model::words::split(name);
    let mut made = camel(&parts);
    if made.is_empty() || made.starts_with(|c: char| c.is_numeric()) {
        made.insert(0, '_');
    }
    let is_word = WORDS.split(' ').any(|word| word == made);
    let taken = is_word || OWN.contains(&made.as_str());
    let derived = parts.len() > 1 && DERIVED.contains(&parts[0].as_str());
    if taken || derived {
        made.push('_');
    }
    made
}

/// Returns a function name: `addPostComment`.
pub(crate) fn function(parts: &[&str]) -> String {
    let parts: Vec<String> =
        parts.iter().flat_map(|part| docward_model::words::split(part)).collect();
    camel(&parts)
}

/// Joins words: `addPostComment`.
fn camel(parts: &[String]) -> String {
    let parts = parts.iter().enumerate();
    parts.map(|(i, part)| if i == 0 { part.clone() } else { capital(part) }).collect()
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Returns the expression for a member of an object: `comment.text`, `comment["first name"]`.
pub(crate) fn member_of(object: &str, name: &str) -> String {
    let bare = key(name) == name;
    if bare { format!("{object}.{name}") } else { format!("{object}[{}]", quote(name)) }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn values_keep_their_types() {
        let id = bson::oid::ObjectId::from_bytes([1; 12]);
        let document = doc! {
            "_id": id, "n": 5, "l": 5_i64, "d": 5.0, "h": 1.5, "t": "a\"b", "at": bson::DateTime::from_millis(0),
            "a-b": [true, Bson::Null], "low": Bson::MinKey,
        };
        let text = object(&document, 0);
        for part in [
            "ObjectId(\"010101010101010101010101\")",
            "n: 5,",
            "l: NumberLong(\"5\")",
            "d: Double(5)",
            "h: 1.5",
            "t: \"a\\\"b\"",
            "ISODate(\"1970-01-01T00:00:00Z\")",
            "\"a-b\": [true, null]",
            "low: MinKey()",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn parameters_are_written_as_they_are() {
        let document =
            doc! { SPREAD: given("comment"), "postId": given("postId"), "n": given("a.b") };
        assert_eq!(object(&document, 0), "{ ...comment, postId, n: a.b }");
    }

    #[test]
    fn no_parameter_has_a_name_of_the_language() {
        assert_eq!(parameter("class"), "class_");
        assert_eq!(parameter("line_item"), "lineItem");
        assert_eq!(parameter("2fa"), "_2fa");
        assert_eq!(parameter("db"), "db_");
        assert_eq!(parameter("attempt"), "attempt_");
        assert_eq!(parameter("of_customer_id"), "ofCustomerId_");
        assert_eq!(parameter("office"), "office");
        assert_eq!(member_of("a", "first name"), "a[\"first name\"]");
    }
}
