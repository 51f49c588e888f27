//! A small document tree for catalogue facts: options, validators, filters. Not for user documents.

use serde::{Deserialize, Serialize};

/// A value from the catalogue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    /// Milliseconds since 1970.
    Date(i64),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
    /// A value of any other type, as printed.
    Other(String),
}

impl Value {
    /// The entry of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The entries of a map; empty for other values.
    pub fn entries(&self) -> &[(String, Self)] {
        match self {
            Self::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; empty for other values.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number as an integer, when it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(*n),
            Self::Double(n) if n.fract() == 0.0 && n.abs() < 9e15 => Some(*n as i64),
            _ => None,
        }
    }

    /// The moment of a date.
    pub fn as_date(&self) -> Option<i64> {
        match self {
            Self::Date(milliseconds) => Some(*milliseconds),
            _ => None,
        }
    }

    /// Truthiness as catalogue options define it: `true`, or a number other than zero.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Bool(b) => *b,
            Self::Int(n) => *n != 0,
            Self::Double(n) => *n != 0.0,
            _ => false,
        }
    }
}
