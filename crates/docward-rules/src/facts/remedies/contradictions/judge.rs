//! Evaluates single values against a schema, and checks whether the server accepts a schema.

use docward_bson::value::to_bytes;
use docward_model::{BsonType, Value};
use docward_schema::Schema;

use super::dead::decimal;
use crate::facts::schema::admitted_types;

/// Evaluates whether values meet schemas.
pub(super) struct Judge {
    schema: Schema,
    /// Whether decimals are explicitly allowed: the search tries none with a fraction.
    decimals: bool,
}

impl Judge {
    /// Returns `None` if a schema contains a value that a `Value` tree cannot represent.
    pub(super) fn new(parts: &[&Value]) -> Option<Self> {
        if parts.iter().any(|part| is_lossy(part, false)) {
            return None;
        }
        let all = Value::List(parts.iter().map(|part| (*part).clone()).collect());
        let value = Value::Map(vec![("allOf".to_owned(), all)]);
        let schema = vec![("properties".to_owned(), Value::Map(vec![("v".to_owned(), value)]))];
        let schema = Schema::compile(&to_bytes(&schema)).ok()?;
        let types: Vec<_> = parts.iter().filter_map(|part| admitted_types(part)).collect();
        let decimals = !types.is_empty() && types.iter().all(|t| t.contains(&BsonType::Decimal));
        Some(Self { schema, decimals })
    }

    /// Whether the value, in one of the types it equals, may meet them.
    pub(super) fn may_pass(&self, value: &Value) -> bool {
        let asks = |document: &[u8]| self.schema.accepts(document).unwrap_or(true);
        match value {
            Value::Double(n) if n.fract() != 0.0 && self.decimals => true,
            Value::Int(_) | Value::Double(_) => {
                numbers(value).iter().any(|document| asks(document))
            }
            value if is_lossy(value, true) => true,
            value => asks(&to_bytes(&[("v".to_owned(), value.clone())])),
        }
    }
}

/// Whether a tree contains a value of uncertain type; with `numbers`, whole numbers also count.
pub(super) fn is_lossy(value: &Value, numbers: bool) -> bool {
    match value {
        Value::Other(_) => true,
        Value::Int(_) | Value::Double(_) => numbers,
        Value::List(items) => items.iter().any(|item| is_lossy(item, numbers)),
        Value::Map(entries) => entries.iter().any(|(_, value)| is_lossy(value, numbers)),
        _ => false,
    }
}

/// `{v: number}` in every type that equals it; decimals of whole numbers only.
pub(super) fn numbers(value: &Value) -> Vec<Vec<u8>> {
    let document = |tag: u8, bytes: &[u8]| {
        let length = 4 + 1 + 2 + bytes.len() as i32 + 1;
        [&length.to_le_bytes()[..], &[tag], b"v\0", bytes, &[0]].concat()
    };
    let whole = match value {
        Value::Int(n) => Some(*n),
        Value::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
        _ => None,
    };
    let float = match value {
        Value::Int(n) => *n as f64,
        Value::Double(n) => *n,
        _ => return Vec::new(),
    };
    let mut out = vec![document(0x01, &float.to_le_bytes())];
    if let Some(n) = whole {
        out.push(document(0x12, &n.to_le_bytes()));
        // The exact number, with the exponent 0.
        let sign = if n < 0 { 1 << 63 } else { 0 };
        let high: u64 = sign | 0x3040 << 48;
        let decimal = [n.unsigned_abs().to_le_bytes(), high.to_le_bytes()].concat();
        out.push(document(0x13, &decimal));
        out.extend(i32::try_from(n).ok().map(|n| document(0x10, &n.to_le_bytes())));
    }
    out
}

/// Whether the server accepts a schema. Decimals are read as doubles, which does not change the
/// result.
pub(super) fn is_taken(schema: &Value) -> bool {
    pub(super) fn plain(value: &Value) -> Value {
        match value {
            Value::Other(_) => decimal(value).map_or_else(|| value.clone(), Value::Double),
            Value::List(items) => Value::List(items.iter().map(plain).collect()),
            Value::Map(entries) => {
                Value::Map(entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
            }
            other => other.clone(),
        }
    }
    Schema::compile(&to_bytes(plain(schema).entries())).is_ok()
}
