//! BSON into the model's small tree.

use bson::{RawBsonRef, RawDocument};
use docward_model::Value;

/// Deeper values are cut off: no server accepts options nested like that.
const MAX_DEPTH: u32 = 200;

/// The value of a document. What cannot be read is left out.
pub(crate) fn of_document(bytes: &[u8]) -> Value {
    match RawDocument::from_bytes(bytes) {
        Ok(document) => map(document, 0),
        Err(_) => Value::Map(Vec::new()),
    }
}

fn map(document: &RawDocument, depth: u32) -> Value {
    let entries = document.iter().map_while(Result::ok);
    Value::Map(entries.map(|(key, value)| (key.as_str().to_owned(), of(value, depth))).collect())
}

fn of(value: RawBsonRef<'_>, depth: u32) -> Value {
    if depth >= MAX_DEPTH {
        return Value::Other("…".to_owned());
    }
    match value {
        RawBsonRef::Null | RawBsonRef::Undefined => Value::Null,
        RawBsonRef::Boolean(value) => Value::Bool(value),
        RawBsonRef::Int32(value) => Value::Int(i64::from(value)),
        RawBsonRef::Int64(value) => Value::Int(value),
        RawBsonRef::Double(value) => Value::Double(value),
        RawBsonRef::String(text) | RawBsonRef::Symbol(text) => Value::Text(text.to_owned()),
        RawBsonRef::Array(items) => {
            let items = items.into_iter().map_while(Result::ok);
            Value::List(items.map(|item| of(item, depth + 1)).collect())
        }
        RawBsonRef::Document(document) => map(document, depth + 1),
        RawBsonRef::ObjectId(id) => Value::Other(format!("ObjectId(\"{id}\")")),
        RawBsonRef::DateTime(at) => match at.try_to_rfc3339_string() {
            Ok(text) => Value::Other(format!("ISODate(\"{text}\")")),
            Err(_) => Value::Other(format!("Date({})", at.timestamp_millis())),
        },
        RawBsonRef::Decimal128(number) => Value::Other(format!("NumberDecimal(\"{number}\")")),
        RawBsonRef::RegularExpression(regex) => {
            Value::Other(format!("/{}/{}", regex.pattern.as_str(), regex.options.as_str()))
        }
        RawBsonRef::Timestamp(at) => {
            Value::Other(format!("Timestamp({}, {})", at.time, at.increment))
        }
        RawBsonRef::Binary(binary) => {
            Value::Other(format!("BinData of {} bytes", binary.bytes.len()))
        }
        RawBsonRef::JavaScriptCode(code) => Value::Other(code.to_owned()),
        RawBsonRef::JavaScriptCodeWithScope(code) => Value::Other(code.code.to_owned()),
        RawBsonRef::MinKey => Value::Other("MinKey".to_owned()),
        RawBsonRef::MaxKey => Value::Other("MaxKey".to_owned()),
        RawBsonRef::DbPointer(_) => Value::Other("DBPointer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};

    use super::*;

    #[test]
    fn keeps_meaning_and_order() {
        let document = doc! { "b": 1, "a": [2_i64, 2.5, "x", Bson::Null, true], "c": { "d": 1 } };
        let value = of_document(&document.to_vec().unwrap());
        let keys: Vec<_> = value.entries().iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["b", "a", "c"]);
        let expected = [
            Value::Int(2),
            Value::Double(2.5),
            Value::Text("x".to_owned()),
            Value::Null,
            Value::Bool(true),
        ];
        assert_eq!(value.get("a").unwrap().items(), expected);
    }

    #[test]
    fn depth_is_bounded() {
        let mut document = doc! {};
        for _ in 0..2000 {
            document = doc! { "a": document };
        }
        let mut value = &of_document(&document.to_vec().unwrap());
        let mut depth = 0;
        while let Some(inner) = value.get("a") {
            (value, depth) = (inner, depth + 1);
        }
        assert_eq!(*value, Value::Other("…".to_owned()));
        assert_eq!(depth, MAX_DEPTH + 1);
    }

    #[test]
    fn damaged_bytes_give_what_can_be_read() {
        let bytes = doc! { "a": 1, "b": "text", "c": { "d": [1, 2] } }.to_vec().unwrap();
        for at in 4..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0xff;
            let _ = of_document(&broken);
        }
        assert_eq!(of_document(b"\x01"), Value::Map(Vec::new()));
    }
}
