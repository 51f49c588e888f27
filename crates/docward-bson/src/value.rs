//! Converts raw BSON to a small tree, for catalogue documents (options, validators, index
//! definitions).

use docward_model::Value;

use crate::walk::{Elements, Fault};

/// Converts a document to a tree. Types that the catalogue does not use become [`Value::Other`].
pub fn to_value(document: &[u8]) -> Result<Value, Fault> {
    map(document, 0)
}

fn map(document: &[u8], depth: u32) -> Result<Value, Fault> {
    let mut entries = Vec::new();
    for element in Elements::new(document)? {
        let element = element?;
        let key = String::from_utf8_lossy(element.key).into_owned();
        entries.push((key, value(element.tag, element.value, depth)?));
    }
    Ok(Value::Map(entries))
}

fn value(tag: u8, bytes: &[u8], depth: u32) -> Result<Value, Fault> {
    if depth > crate::walk::MAX_DEPTH {
        return Ok(Value::Other("deep".into()));
    }
    let fixed = |n: usize| bytes.get(..n);
    Ok(match tag {
        0x01 => fixed(8)
            .and_then(|b| b.try_into().ok())
            .map_or(Value::Null, |b| Value::Double(f64::from_le_bytes(b))),
        0x02 | 0x0d | 0x0e => {
            let text = bytes.get(4..bytes.len().saturating_sub(1)).unwrap_or_default();
            Value::Text(String::from_utf8_lossy(text).into_owned())
        }
        0x03 => map(bytes, depth + 1)?,
        0x04 => match map(bytes, depth + 1)? {
            Value::Map(entries) => Value::List(entries.into_iter().map(|(_, v)| v).collect()),
            other => other,
        },
        0x08 => Value::Bool(bytes.first().is_some_and(|&b| b != 0)),
        0x09 => fixed(8)
            .and_then(|b| b.try_into().ok())
            .map_or(Value::Null, |b| Value::Date(i64::from_le_bytes(b))),
        0x0a | 0x06 => Value::Null,
        0x0b => {
            let mut parts = bytes.split(|&b| b == 0).map(String::from_utf8_lossy);
            let (pattern, options) = (parts.next(), parts.next());
            Value::Other(format!(
                "/{}/{}",
                pattern.unwrap_or_default(),
                options.unwrap_or_default()
            ))
        }
        0x10 => fixed(4)
            .and_then(|b| b.try_into().ok())
            .map_or(Value::Null, |b| Value::Int(i64::from(i32::from_le_bytes(b)))),
        0x12 => fixed(8)
            .and_then(|b| b.try_into().ok())
            .map_or(Value::Null, |b| Value::Int(i64::from_le_bytes(b))),
        0x07 => Value::Other(format!("ObjectId(\"{}\")", hex(bytes))),
        0x05 if bytes.len() == 21 && bytes.get(4) == Some(&4) => {
            Value::Other(format!("UUID(\"{}\")", hex(&bytes[5..])))
        }
        0x13 => fixed(16).and_then(|b| b.try_into().ok()).map_or(Value::Null, |b| {
            Value::Other(format!("NumberDecimal(\"{}\")", crate::decimal_text(b)))
        }),
        other => Value::Other(format!("0x{other:02x}")),
    })
}

/// Converts a tree to a document, for generated trees: values of types without a variant in
/// [`Value`] become text. Integers take 32 bits if they fit.
pub fn to_bytes(entries: &[(String, Value)]) -> Vec<u8> {
    let fields = entries.iter().map(|(key, value)| (key.clone(), value));
    write(fields)
}

fn write<'v>(fields: impl Iterator<Item = (String, &'v Value)>) -> Vec<u8> {
    let mut out = vec![0; 4];
    for (key, value) in fields {
        let (tag, bytes) = written(value);
        out.push(tag);
        // A key ends at its first NUL.
        out.extend(key.bytes().take_while(|byte| *byte != 0));
        out.push(0);
        out.extend(bytes);
    }
    out.push(0);
    let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
    out[..4].copy_from_slice(&length.to_le_bytes());
    out
}

fn written(value: &Value) -> (u8, Vec<u8>) {
    match value {
        Value::Null => (0x0a, Vec::new()),
        Value::Bool(is) => (0x08, vec![u8::from(*is)]),
        Value::Int(n) => match i32::try_from(*n) {
            Ok(n) => (0x10, n.to_le_bytes().to_vec()),
            Err(_) => (0x12, n.to_le_bytes().to_vec()),
        },
        Value::Double(n) => (0x01, n.to_le_bytes().to_vec()),
        Value::Date(ms) => (0x09, ms.to_le_bytes().to_vec()),
        Value::Text(text) | Value::Other(text) => {
            let length = u32::try_from(text.len() + 1).unwrap_or(u32::MAX);
            let mut out = length.to_le_bytes().to_vec();
            out.extend(text.as_bytes());
            out.push(0);
            (0x02, out)
        }
        Value::List(items) => {
            (0x04, write(items.iter().enumerate().map(|(at, item)| (at.to_string(), item))))
        }
        Value::Map(entries) => (0x03, to_bytes(entries)),
    }
}

/// Encodes bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Decodes hexadecimal digits.
pub fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        digits.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let (pairs, []) = digits.as_deref()?.as_chunks::<2>() else { return None };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_was_written_reads_as_it_was() {
        let text =
            r#"{"a": 1, "b": {"c": [true, null, "x", 2.5, 5000000000]}, "d": {"$date": 12}}"#;
        let bytes = crate::json::parse_one(text).unwrap();
        let tree = to_value(&bytes).unwrap();
        assert_eq!(to_bytes(tree.entries()), bytes);
    }
}
