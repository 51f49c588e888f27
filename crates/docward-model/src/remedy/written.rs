//! Serializes the parameters of steps as JSON: names as strings, types and levels as MongoDB's
//! words, validators unchanged.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

use crate::{
    BsonType, DirectionKind, IndexKey, Namespace, ValidationAction, ValidationLevel, Value,
};

/// Serializes a parameter as one string.
macro_rules! texts {
    ($($module:ident: $type:ty, $write:expr, $read:expr;)*) => {$(
        pub(super) mod $module {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(value: &$type, to: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> String = $write;
                to.serialize_str(&write(value))
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                let text = String::deserialize(from)?;
                let read: fn(&str) -> Option<$type> = $read;
                read(&text).ok_or_else(|| D::Error::custom(format!("unknown: {text}")))
            }
        }
    )*};
}
texts! {
    namespace: Namespace, Namespace::to_string, Namespace::parse;
    level: ValidationLevel, |level| level.name().to_owned(), ValidationLevel::parse;
    action: ValidationAction, |action| action.name().to_owned(), ValidationAction::parse;
}

pub(super) mod types {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(types: &[BsonType], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(types.iter().map(|kind| kind.name()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<BsonType>, D::Error> {
        let names: Vec<String> = Deserialize::deserialize(from)?;
        let kind = |name: String| {
            BsonType::from_name(&name).ok_or_else(|| D::Error::custom(format!("no type: {name}")))
        };
        names.into_iter().map(kind).collect()
    }
}

/// Serializes index keys as documents: `{"userId": 1, "date": -1}`.
pub(super) mod keys {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(keys: &[IndexKey], to: S) -> Result<S::Ok, S::Error> {
        let way = |key: &IndexKey| match &key.kind {
            DirectionKind::Ascending => Value::Int(1),
            DirectionKind::Descending => Value::Int(-1),
            DirectionKind::Hashed => Value::Text("hashed".to_owned()),
            DirectionKind::Text => Value::Text("text".to_owned()),
            DirectionKind::Geo(kind) | DirectionKind::Other(kind) => Value::Text(kind.clone()),
        };
        let entries = keys.iter().map(|key| (key.path.clone(), way(key))).collect();
        value::serialize(&Value::Map(entries), to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<IndexKey>, D::Error> {
        let read = value::deserialize(from)?;
        let kind = |value: &Value| match value {
            Value::Int(n) if *n < 0 => DirectionKind::Descending,
            Value::Text(text) => match text.as_str() {
                "hashed" => DirectionKind::Hashed,
                "text" => DirectionKind::Text,
                "2dsphere" | "2d" | "geoHaystack" => DirectionKind::Geo(text.clone()),
                _ => DirectionKind::Other(text.clone()),
            },
            _ => DirectionKind::Ascending,
        };
        let key =
            |(path, value): &(String, Value)| IndexKey { path: path.clone(), kind: kind(value) };
        Ok(read.entries().iter().map(key).collect())
    }
}

/// Serializes values as JSON. Dates, and types that JSON lacks, become objects with one key.
pub(super) mod value {
    use std::fmt;

    use serde::{
        Serialize,
        de::{MapAccess, SeqAccess, Visitor},
    };

    use super::*;

    const DATE: &str = "$date";
    const OTHER: &str = "$literal";

    struct Plain<'a>(&'a Value);

    impl Serialize for Plain<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                Value::Null => to.serialize_unit(),
                Value::Bool(b) => to.serialize_bool(*b),
                Value::Int(n) => to.serialize_i64(*n),
                Value::Double(n) => to.serialize_f64(*n),
                Value::Text(text) => to.serialize_str(text),
                Value::Date(ms) => to.collect_map([(DATE, ms)]),
                Value::Other(text) => to.collect_map([(OTHER, text)]),
                Value::List(items) => to.collect_seq(items.iter().map(Plain)),
                Value::Map(entries) => to.collect_map(entries.iter().map(|(k, v)| (k, Plain(v)))),
            }
        }
    }

    struct Read(Value);

    impl<'de> Deserialize<'de> for Read {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(Reader).map(Self)
        }
    }

    struct Reader;

    impl<'de> Visitor<'de> for Reader {
        type Value = Value;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }

        fn visit_unit<E>(self) -> Result<Value, E> {
            Ok(Value::Null)
        }

        fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
            Ok(Value::Bool(b))
        }

        fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
            Ok(Value::Int(n))
        }

        fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
            Ok(i64::try_from(n).map_or(Value::Double(n as f64), Value::Int))
        }

        fn visit_f64<E>(self, n: f64) -> Result<Value, E> {
            Ok(Value::Double(n))
        }

        fn visit_str<E>(self, text: &str) -> Result<Value, E> {
            Ok(Value::Text(text.to_owned()))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
            let mut items = Vec::new();
            while let Some(Read(item)) = from.next_element()? {
                items.push(item);
            }
            Ok(Value::List(items))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
            let mut entries = Vec::new();
            while let Some((key, Read(value))) = from.next_entry::<String, Read>()? {
                entries.push((key, value));
            }
            Ok(match entries.as_slice() {
                [(key, Value::Int(ms))] if key == DATE => Value::Date(*ms),
                [(key, Value::Text(text))] if key == OTHER => Value::Other(text.clone()),
                _ => Value::Map(entries),
            })
        }
    }

    pub(crate) fn serialize<S: Serializer>(value: &Value, to: S) -> Result<S::Ok, S::Error> {
        Plain(value).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        Read::deserialize(from).map(|Read(value)| value)
    }
}

pub(super) mod optional_value {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<Value>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value::serialize(value.as_ref().unwrap_or(&Value::Null), to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Value>, D::Error> {
        value::deserialize(from).map(|value| Some(value).filter(|v| *v != Value::Null))
    }
}
