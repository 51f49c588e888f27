//! The BSON types, under the names MongoDB's `bsonType` uses.

use serde::{Deserialize, Serialize};

/// A BSON element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
#[expect(missing_docs, reason = "the variants are MongoDB's own type names")]
pub enum BsonType {
    Double,
    String,
    Object,
    Array,
    BinData,
    Undefined,
    ObjectId,
    Bool,
    Date,
    Null,
    Regex,
    DbPointer,
    Javascript,
    Symbol,
    JavascriptWithScope,
    Int,
    Timestamp,
    Long,
    Decimal,
    MinKey,
    MaxKey,
}

impl BsonType {
    /// The number of types.
    pub const COUNT: usize = 21;

    /// Every type, in tag order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Double,
        Self::String,
        Self::Object,
        Self::Array,
        Self::BinData,
        Self::Undefined,
        Self::ObjectId,
        Self::Bool,
        Self::Date,
        Self::Null,
        Self::Regex,
        Self::DbPointer,
        Self::Javascript,
        Self::Symbol,
        Self::JavascriptWithScope,
        Self::Int,
        Self::Timestamp,
        Self::Long,
        Self::Decimal,
        Self::MinKey,
        Self::MaxKey,
    ];

    /// The type of a wire tag.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            0x01..=0x13 => Self::ALL[usize::from(tag) - 1],
            0xff => Self::MinKey,
            0x7f => Self::MaxKey,
            _ => return None,
        })
    }

    /// Looks up a type by the name that `bsonType` and `$type` use.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name `bsonType` and `$type` use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::String => "string",
            Self::Object => "object",
            Self::Array => "array",
            Self::BinData => "binData",
            Self::Undefined => "undefined",
            Self::ObjectId => "objectId",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Null => "null",
            Self::Regex => "regex",
            Self::DbPointer => "dbPointer",
            Self::Javascript => "javascript",
            Self::Symbol => "symbol",
            Self::JavascriptWithScope => "javascriptWithScope",
            Self::Int => "int",
            Self::Timestamp => "timestamp",
            Self::Long => "long",
            Self::Decimal => "decimal",
            Self::MinKey => "minKey",
            Self::MaxKey => "maxKey",
        }
    }

    /// Returns whether the type is a number (int, long, double, decimal).
    pub fn is_number(self) -> bool {
        matches!(self, Self::Double | Self::Int | Self::Long | Self::Decimal)
    }

    /// Returns whether the type carries no value (null, undefined).
    pub fn is_nothing(self) -> bool {
        matches!(self, Self::Null | Self::Undefined)
    }
}

/// The number of values of each type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCounts([u64; BsonType::COUNT]);

impl TypeCounts {
    /// Counts from an array in [`BsonType::ALL`] order.
    pub fn new(counts: [u64; BsonType::COUNT]) -> Self {
        Self(counts)
    }

    /// Values of one type.
    pub fn of(&self, kind: BsonType) -> u64 {
        self.0[kind as usize]
    }

    /// Adds `n` values of one type.
    pub fn add(&mut self, kind: BsonType, n: u64) {
        self.0[kind as usize] += n;
    }

    /// Types seen with their counts, most frequent first, ties in tag order.
    pub fn seen(&self) -> Vec<(BsonType, u64)> {
        let mut seen: Vec<_> =
            BsonType::ALL.into_iter().zip(self.0).filter(|&(_, n)| n > 0).collect();
        seen.sort_by_key(|&(kind, n)| (std::cmp::Reverse(n), kind));
        seen
    }

    /// Types that carry a value (not null, not undefined), most frequent first.
    pub fn values(&self) -> Vec<(BsonType, u64)> {
        self.seen().into_iter().filter(|(kind, _)| !kind.is_nothing()).collect()
    }

    /// All values seen, null and undefined included.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Values other than null and undefined.
    pub fn non_null(&self) -> u64 {
        self.total() - self.of(BsonType::Null) - self.of(BsonType::Undefined)
    }

    /// Numbers of any width.
    pub fn numbers(&self) -> u64 {
        BsonType::ALL.into_iter().filter(|k| k.is_number()).map(|k| self.of(k)).sum()
    }

    /// The most frequent type that carries a value.
    pub fn dominant(&self) -> Option<BsonType> {
        self.values().first().map(|&(kind, _)| kind)
    }

    /// `1200 string, 3 int`: for messages.
    pub fn describe(&self) -> String {
        let parts: Vec<_> =
            self.seen().iter().map(|(kind, n)| format!("{n} {}", kind.name())).collect();
        parts.join(", ")
    }
}
