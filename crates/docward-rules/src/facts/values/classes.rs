//! Types as rules compare them: a path has one class, or several (DM-09.6).

use docward_model::{BsonType, Collection, CollectionKind, Field, FieldShape, Profile, TypeCounts};

/// Types that sort and compare together. Null and undefined belong to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Class {
    Number,
    Text,
    Object,
    Array,
    Bool,
    Date,
    ObjectId,
    Binary,
    Other,
}

impl Class {
    /// The class of a type; `None` for null and undefined.
    pub fn of(kind: BsonType) -> Option<Self> {
        Some(match kind {
            BsonType::Null | BsonType::Undefined => return None,
            BsonType::Double | BsonType::Int | BsonType::Long | BsonType::Decimal => Self::Number,
            BsonType::String | BsonType::Symbol => Self::Text,
            BsonType::Object => Self::Object,
            BsonType::Array => Self::Array,
            BsonType::Bool => Self::Bool,
            BsonType::Date | BsonType::Timestamp => Self::Date,
            BsonType::ObjectId => Self::ObjectId,
            BsonType::BinData => Self::Binary,
            _ => Self::Other,
        })
    }

    /// The noun in messages.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Text => "string",
            Self::Object => "object",
            Self::Array => "array",
            Self::Bool => "boolean",
            Self::Date => "date",
            Self::ObjectId => "ObjectId",
            Self::Binary => "binary value",
            Self::Other => "rare value",
        }
    }
}

/// The classes of a field with their counts, most frequent first, ties in declaration order.
pub fn classes(field: &Field) -> Vec<(Class, u64)> {
    classes_of(&field.types)
}

/// The classes of counts of types.
pub fn classes_of(types: &TypeCounts) -> Vec<(Class, u64)> {
    let mut found: Vec<(Class, u64)> = Vec::new();
    for (kind, n) in types.values() {
        if let Some(class) = Class::of(kind) {
            match found.iter_mut().find(|(c, _)| *c == class) {
                Some(entry) => entry.1 += n,
                None => found.push((class, n)),
            }
        }
    }
    found.sort_by_key(|&(class, n)| (std::cmp::Reverse(n), class));
    found
}

/// Whether the field has values and all of them, ignoring null, are of this class.
pub fn is_only(field: &Field, class: Class) -> bool {
    matches!(classes(field)[..], [(only, _)] if only == class)
}

/// The profile of a collection whose fields people chose. The server defines the fields of time series
/// buckets, and of the rows of its profiler and oplog. These are not checked.
pub fn shaped_by_people(collection: &Collection) -> Option<&Profile> {
    if collection.kind == CollectionKind::TimeSeries {
        return None;
    }
    collection.profile.as_ref().filter(|p| !crate::facts::deployment::server::holds_server_rows(p))
}

/// Returns the named sibling fields of this one.
pub fn siblings<'a>(profile: &'a Profile, field: &'a Field) -> Vec<&'a Field> {
    let all: Vec<&Field> = match field.parent {
        Some(at) => profile.children(&profile.fields[at]).collect(),
        None => profile.top_level().collect(),
    };
    all.into_iter().filter(|f| f.path != field.path && f.shape == FieldShape::Named).collect()
}

/// The innermost enclosing array of a field, or the field itself if it is an array.
pub fn enclosing_array<'a>(profile: &'a Profile, field: &'a Field) -> Option<&'a Field> {
    let mut at = Some(field);
    while let Some(current) = at {
        if current.array.is_some() {
            return Some(current);
        }
        at = profile.parent(current);
    }
    None
}
