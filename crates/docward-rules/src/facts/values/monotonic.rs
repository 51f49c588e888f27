//! Determines whether a field increases monotonically as documents are inserted (SK-3), by its values or by the storage
//! order of the documents.

use docward_model::{BsonType, Field, Profile, TextClass};

use crate::facts::{
    names::meaning,
    text,
    values::{classes, ids},
};

/// Nearly all: a few values of another type do not change the place of new documents.
fn is_most(n: u64, all: u64) -> bool {
    all > 0 && 20 * n >= 19 * all
}

/// The number of texts of a class.
fn texts(field: &Field, of: impl Fn(TextClass) -> bool) -> u64 {
    field.text.as_ref().map_or(0, |t| t.count(of))
}

/// Whether nearly all values are dates, or texts of dates that sort like them.
pub fn is_dated(field: &Field) -> bool {
    let sorted = |c: TextClass| c.is_date() && c != TextClass::DateAmbiguous;
    let dates = field.types.of(BsonType::Date) + field.types.of(BsonType::Timestamp);
    is_most(dates + texts(field, sorted), field.types.non_null())
}

/// Whether nearly all values are ids that begin with their creation time.
pub fn is_timed_id(field: &Field) -> bool {
    let timed = |c| matches!(c, TextClass::UuidV7 | TextClass::Ulid | TextClass::ObjectIdHex);
    let binary = field.blob.as_ref().map_or(0, |blob| blob.uuid_v7);
    let ids = field.types.of(BsonType::ObjectId) + texts(field, timed) + binary;
    is_most(ids, field.types.non_null())
}

/// Whether nearly all values are random UUIDs.
pub fn is_random(field: &Field) -> bool {
    let binary = field.blob.as_ref().map_or(0, |blob| blob.uuid_v4);
    is_most(binary + texts(field, |c| c == TextClass::UuidV4), field.types.non_null())
}

/// Whether nearly every document has a distinct value. References repeat.
pub fn is_own(field: &Field) -> bool {
    2.0 * field.distinct.values >= field.types.non_null() as f64
}

/// Returns why every new document has the latest value, if type and name alone show it.
pub fn by_type(field: &Field) -> Option<&'static str> {
    if field.path.as_str() == "_id" && is_timed_id(field) {
        return Some(if field.is_only(BsonType::ObjectId) {
            "ObjectIds begin with their creation time"
        } else {
            "its ids begin with their creation time"
        });
    }
    // A time inside a copy belongs to the source document, and copies repeat it.
    let of_document = field.parent.is_none() || is_own(field);
    (is_dated(field) && meaning::is_creation_time(field.path.leaf()) && of_document)
        .then_some("new documents have the latest time")
}

/// The reason why the field increases in the order of documents, if it does.
pub fn by_order(
    profile: &Profile,
    field: &Field,
    correlation: f64,
    (rising_share, order_pairs): (f64, u64),
) -> Option<String> {
    if field.path.as_str() == "_id" {
        let id = ids::judge(profile, rising_share, order_pairs)?;
        let words = id.kind == ids::IdKind::Natural && !is_sequence(field);
        if id.order == ids::Order::Rising && !words {
            return Some(format!("{} of neighbouring ids increase", text::percent(id.rising)));
        }
    }
    let follows = field.natural_order.filter(|r| r.abs() >= correlation && is_counter(field))?;
    let direction = if follows > 0.0 { "increase" } else { "decrease" };
    Some(format!("its values {direction} in the order of documents (correlation {follows:.2})"))
}

/// Whether the values begin with their time and nearly every document has a distinct value: they were created with the
/// document. Other dates may have any order.
pub fn is_made_in_order(field: &Field) -> bool {
    by_type(field).is_some() || is_own(field) && is_timed_id(field)
}

/// Whether the values may be assigned in increasing order as documents are inserted, judging by their type. Dates,
/// numbers and sequences also count if nearly every document has a distinct one.
pub fn may_rise(field: &Field) -> bool {
    is_made_in_order(field)
        || is_own(field)
            && (is_dated(field)
                || is_sequence(field)
                || classes::is_only(field, classes::Class::Number))
}

/// Whether the field contains numbers of a counter. Each of the `documents` has a distinct integer, and at least half
/// of the numbers between the smallest and the largest exist.
pub fn has_no_gaps(field: &Field, documents: u64) -> bool {
    let Some(number) = field.number else { return false };
    let is_whole = number.fractional_doubles == 0 && number.not_finite == 0;
    let own = 20.0 * field.distinct.values >= 19.0 * field.types.non_null() as f64;
    is_whole
        && own
        && classes::is_only(field, classes::Class::Number)
        && number.max - number.min < 2.0 * documents as f64
}

/// Whether all texts have one length, the same prefix and digits after it, as in `ORD-000123`: numbers that are
/// assigned in order.
pub fn is_sequence(field: &Field) -> bool {
    let prefix =
        |value: &str| value.find(|c: char| c.is_ascii_digit()).map(|at| value[..at].to_owned());
    let common = field.examples.first().and_then(|first| prefix(first));
    classes::is_only(field, classes::Class::Text)
        && field.text.as_ref().is_some_and(|t| t.lengths.min == t.lengths.max && t.lengths.max > 1)
        && common.is_some()
        && field.examples.iter().all(|value| prefix(value) == common)
}

/// Dates, and numbers or time-ordered ids of which nearly every document has a distinct one. Words that were loaded in
/// alphabetical order also follow the order of documents, but new ones will not.
pub fn is_counter(field: &Field) -> bool {
    if is_dated(field) {
        return field.distinct.values >= 20.0;
    }
    let numbers = classes::classes(field)
        .into_iter()
        .find(|(class, _)| *class == classes::Class::Number)
        .map_or(0, |(_, n)| n);
    let all = field.types.non_null();
    let ordered = texts(field, |c| c.is_date() || c.is_number());
    is_own(field)
        && (is_timed_id(field) || is_sequence(field) || is_most(numbers, all) || 2 * ordered > all)
}
