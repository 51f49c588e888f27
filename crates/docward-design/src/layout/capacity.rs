//! Predicts the size of collections, and when a document exceeds the size limits of the rule book
//! (DM-05.1, CK-2, LM-3, LM-1).

use docward_model::{BsonType, DesignModel};
use jiff::ToSpan;

use crate::decide::alternative::Crossing;
use crate::declared::field_plan::{Origin, Planned, Rank, at_path, document_bytes};
use crate::declared::{quantile, size};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::index_plan::IndexPlan;
use crate::layout::time_series;

/// The size limits: bytes, text and clause.
pub const TIERS: [(u64, &str, &str); 4] = [
    (102_400, "100 KB", "DM-05.1"),
    (1_048_576, "1 MB", "CK-2"),
    (10_485_760, "10 MB", "LM-3"),
    (16_777_216, "16 MB", "LM-1"),
];

/// The years for which sizes are predicted.
pub const YEARS: [u32; 4] = [0, 1, 3, 5];

/// The predicted size of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The name of the collection.
    pub collection: String,
    /// The size of a document in bytes: typical, 99th percentile, maximum.
    pub document: (u64, u64, u64),
    /// The number of documents and their size in bytes, now and after some years. `None` if the
    /// number is not declared.
    pub years: Vec<(u32, Option<(u64, u64)>)>,
    /// The current size of its indexes in bytes.
    pub index_bytes: Option<u64>,
    /// The current size of the working set in bytes. The flag marks an upper bound, because the
    /// model does not declare the hot share.
    pub working_set: Option<(u64, bool)>,
}

pub(crate) fn all(model: &DesignModel, collections: &[CollectionPlan]) -> Vec<Capacity> {
    collections.iter().map(|collection| of(model, collection)).collect()
}

fn of(model: &DesignModel, collection: &CollectionPlan) -> Capacity {
    let bytes = |rank| document_bytes(&collection.fields, rank);
    let typical = bytes(Rank::Typical);
    let stored = stored_bytes(model, collection);
    let documents = |years| documents_in(collection, years);
    let years = YEARS
        .map(|years| {
            let number = documents(f64::from(years));
            (years, number.map(|n| (n.round() as u64, (n * stored).round() as u64)))
        })
        .to_vec();
    let index_bytes = documents(0.0).map(|n| {
        // Includes the index on `_id`. A time series has none, but from 6.3 on it has another index
        // by default.
        let own = match collection.purpose {
            Purpose::TimeSeries { .. } => given_index_bytes(model, collection, n),
            _ => own_index_bytes(n),
        };
        let planned = collection.indexes.iter();
        (own + planned.map(|index| planned_bytes(model, collection, index, n)).sum::<f64>()) as u64
    });
    let hot = model.entity(&collection.entity).and_then(|entity| entity.hot);
    let used = documents(0.0).zip(collection.documents).map(|(n, all)| match hot {
        // An archive is rarely read.
        _ if collection.purpose == Purpose::Archive => 0.0,
        Some(hot) => n.min(all * hot),
        None => n,
    });
    let is_bound = hot.is_none() && collection.purpose != Purpose::Archive;
    let working_set = used
        .zip(index_bytes)
        .map(|(n, indexes)| (((n * stored) as u64).saturating_add(indexes), is_bound));
    Capacity {
        collection: collection.name.clone(),
        // The typical document may be larger than one at a higher percentile, so each size is at
        // least the smaller one.
        document: (typical, bytes(Rank::P99).max(typical), bytes(Rank::Max).max(typical)),
        years,
        index_bytes,
        working_set,
    }
}

/// Returns the mean size of a document in bytes. Uses the declared number of embedded children if
/// there is one, because a typical parent may have none.
fn stored_bytes(model: &DesignModel, collection: &CollectionPlan) -> f64 {
    if let Some((reading, _)) = time_series::packed(model, collection) {
        return reading;
    }
    let parents = model.entity(&collection.entity).and_then(|entity| entity.count);
    let mean = |field: &Planned| {
        let Origin::Embedded(name) = &field.origin else { return None };
        let relationship = model.relationship(name).filter(|r| !r.is_shared())?;
        let children = model.entity(&relationship.child)?.count?;
        Some(children / parents.filter(|parents| *parents > 0.0)?)
    };
    let list = |field: &Planned| {
        let items = field.items.filter(|_| field.kind == BsonType::Array)?;
        let one = document_bytes(&field.fields, Rank::Mean);
        Some(size::mean_array(mean(field)?.min(items.max as f64), one))
    };
    // A document has one embedded object or none.
    let presence = |field: &Planned| match field.there {
        Some(_) => mean(field).map_or_else(|| field.presence(Rank::Mean), |mean| mean.min(1.0)),
        None => 1.0,
    };
    let of = |field: &Planned| {
        let value = list(field).unwrap_or_else(|| field.value_bytes(Rank::Mean) as f64);
        (size::element(&field.name, 0) as f64 + value) * field.share() * presence(field)
    };
    collection.fields.iter().map(of).sum::<f64>() + size::DOCUMENT_OVERHEAD as f64
}

/// Returns the size in bytes of the default index of a time series on its series and time.
fn given_index_bytes(model: &DesignModel, collection: &CollectionPlan, documents: f64) -> f64 {
    let Purpose::TimeSeries { time, meta, .. } = &collection.purpose else { return 0.0 };
    if model.deployment.server < (6, 3) {
        return 0.0;
    }
    let keys = vec![(meta.clone(), false), (time.clone(), false)];
    planned_bytes(model, collection, &IndexPlan::on(keys, String::new()), documents)
}

/// Returns the size in bytes of an index of a collection with this number of documents.
fn planned_bytes(
    model: &DesignModel,
    collection: &CollectionPlan,
    index: &IndexPlan,
    documents: f64,
) -> f64 {
    let entity = model.entity(&collection.entity);
    let (mut many, mut different) = (1.0_f64, 1.0_f64);
    let mut parts = Vec::new();
    for (path, _) in &index.keys {
        let Some((field, leaf)) = at_path(&collection.fields, path) else { continue };
        let items = field.items.map_or(1.0, |items| {
            elements(model, field, documents).unwrap_or_else(|| quantile::mean(items)).max(1.0)
        });
        many = many.max(items);
        let kind = if leaf.kind == BsonType::Array { leaf.element } else { Some(leaf.kind) };
        let kind = kind.unwrap_or(BsonType::Object);
        let declared = entity.and_then(|entity| entity.field(path)).and_then(|f| f.distinct);
        let values = match (&leaf.origin, kind) {
            _ if !leaf.values.is_empty() => Some(leaf.values.len() as f64),
            (_, BsonType::Bool) => Some(2.0),
            (Origin::Reference(entity), _) => model.entity(entity).and_then(|e| e.count),
            _ => declared,
        };
        // Without a declared number of values, all values are assumed to differ.
        different = (different * values.unwrap_or(f64::INFINITY)).min(documents * many);
        parts.push(KeyPart::of(kind, leaf.bytes.0, different));
    }
    // A time series has one index entry for each bucket.
    let bucket = time_series::packed(model, collection).map_or(1.0, |(_, readings)| readings);
    index_bytes(&parts, documents * many / bucket)
}

/// Returns the mean number of embedded children of a document, if it is declared.
fn elements(model: &DesignModel, field: &Planned, documents: f64) -> Option<f64> {
    let Origin::Embedded(name) = &field.origin else { return None };
    let relationship = model.relationship(name).filter(|r| !r.is_shared())?;
    let count = model.entity(&relationship.child)?.count?;
    (documents > 0.0).then(|| count / documents)
}

/// A part of an index key as the server stores it, and how well it distinguishes entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyPart {
    /// The size in bytes: a type and the value.
    bytes: f64,
    /// The number of leading bytes that neighbouring keys share.
    common: f64,
    /// The number of bytes that are stored next to the key.
    beside: f64,
    is_text: bool,
    /// The number of distinct keys up to and including this part.
    different: f64,
}

impl KeyPart {
    /// Returns the size of a value in a key, as measured on 6.0.5. `docs/design-simulate.md` has
    /// the figures.
    ///
    /// | value | bytes | shared | why |
    /// |---|---|---|---|
    /// | ObjectId | 13 | 4 | a type, twelve bytes; ids of one month share the type and three bytes of time |
    /// | date | 9 | 5 | a type, eight bytes; dates of six weeks share the type and four bytes |
    /// | string | length + 2 | 1 | a type and a zero byte |
    /// | binary data | length + 3 | 1 | a type, a length and a subtype |
    /// | int | 5 | 1 | a type that includes the length, and the bytes of the number |
    /// | long | 9, 2 beside | 1 | as int; two bytes beside the key record the type long |
    /// | double, decimal | 10 | 1 | a number with decimal places |
    /// | bool, null | 1 | 1 | only the type |
    pub fn of(kind: BsonType, length: u64, different: f64) -> Self {
        let length = length as f64;
        let (bytes, common, beside) = match kind {
            BsonType::ObjectId => (13.0, 4.0, 0.0),
            BsonType::Date | BsonType::Timestamp => (9.0, 5.0, 0.0),
            BsonType::String => (length + 2.0, 1.0, 0.0),
            BsonType::BinData => (length + 3.0, 1.0, 0.0),
            BsonType::Int => (5.0, 1.0, 0.0),
            BsonType::Long => (9.0, 1.0, 2.0),
            BsonType::Double | BsonType::Decimal => (10.0, 1.0, 0.0),
            BsonType::Object | BsonType::Array => (32.0, 1.0, 0.0),
            _ => (1.0, 1.0, 0.0),
        };
        Self { bytes, common, beside, is_text: kind == BsonType::String, different }
    }
}

/// The server writes an index page when it is 90 % full. Each page begins with a header.
const PAGE: f64 = 16_384.0;

const ROOM: f64 = 0.9 * PAGE - 40.0;

/// The size of an index file without its pages, in bytes.
const FILE: f64 = 18_432.0;

/// The server compresses a shared prefix only from this number of bytes on.
const LEAST_COMMON: f64 = 4.0;

/// The server uses a longer prefix only if it gains at least this number of bytes.
const LEAST_GAIN: f64 = 10.0;

/// Returns the size in bytes of an index file with this number of entries. For each entry, the
/// server stores these parts:
///
/// - a length byte
/// - the part of the key that differs from the previous key, and the length of the shared part
/// - the number of the record
///
/// If an index grows for a long time by inserts in the middle, its pages are less full. It is then
/// up to a third larger.
pub fn index_bytes(parts: &[KeyPart], entries: f64) -> f64 {
    if entries < 1.0 || parts.is_empty() {
        return FILE;
    }
    FILE + entries * entry(parts, entries, record(entries)) * PAGE / ROOM
}

/// Returns the size in bytes of the index on `_id`. The record number is stored next to the key,
/// with a byte before it.
fn own_index_bytes(documents: f64) -> f64 {
    let id = [KeyPart::of(BsonType::ObjectId, 0, documents)];
    if documents < 1.0 {
        return FILE;
    }
    FILE + documents * (entry(&id, documents, 0.0) + 1.0 + record(documents)) * PAGE / ROOM
}

/// Returns the size in bytes of a record number: 10 bits in two bytes, and 8 more bits in each
/// further byte.
fn record(records: f64) -> f64 {
    let bits = records.max(1.0).log2();
    2.0 + ((bits - 10.0) / 8.0).ceil().clamp(0.0, 7.0)
}

/// Returns the size in bytes of an entry without the unused space of pages.
fn entry(parts: &[KeyPart], entries: f64, record: f64) -> f64 {
    let key = parts.iter().map(|part| part.bytes).sum::<f64>() + 1.0 + record;
    let beside: f64 = parts.iter().map(|part| part.beside).sum();
    let stored = |common: f64| {
        let common = if common >= LEAST_COMMON { common } else { 0.0 };
        let rest = key - common;
        1.0 + f64::from(common > 0.0) + f64::from(rest > 63.0) + rest
    };
    // Records with the same key are thousands apart, so three bytes of their numbers differ.
    let end = 1.0 + (record - 3.0).max(0.0);
    let mut each = key;
    // The size of the shared prefix depends on the number of entries on a page, and that number
    // depends on the size.
    for _ in 0..3 {
        let on_page = (ROOM / each).min(entries);
        let (mut before, mut in_front) = (1.0_f64, 0.0);
        let varies = parts.iter().position(|part| {
            let varies = on_page * part.different.min(entries) / entries > 1.5;
            if !varies {
                in_front += part.bytes;
                before = part.different.min(entries).max(1.0);
            }
            varies
        });
        let Some(place) = varies else {
            let common = in_front + end;
            each = stored(if common < LEAST_COMMON { in_front + record } else { common });
            continue;
        };
        let part = parts[place];
        let different = part.different.min(entries);
        let (within, here) = (different / before, on_page * different / entries);
        // Estimates the shared letters of strings, or the shared bytes of other values on a page.
        let chance = if part.is_text {
            within.max(1.0).ln() / 26_f64.ln()
        } else {
            (within / here).max(1.0).ln() / 256_f64.ln()
        };
        let first = in_front + part.bytes.min(part.common + chance.floor());
        let mut next = in_front + part.bytes;
        match parts.get(place + 1) {
            Some(after) => next += after.common,
            None => next += end,
        }
        if first >= LEAST_COMMON && next < first + LEAST_GAIN {
            next = first;
        }
        let new = different / entries;
        each = new * stored(first) + (1.0 - new) * stored(next);
    }
    each + beside
}

/// Returns the number of documents after some years: growth minus expiry.
pub(crate) fn documents_after(now: f64, per_year: f64, kept_days: Option<f64>, years: f64) -> f64 {
    let grown = now + per_year * years;
    match kept_days {
        // In the long run, the number is that of the documents inserted within the retention time.
        Some(days) => {
            let (stay, in_the_end) = (days / 365.0, per_year * days / 365.0);
            if now <= in_the_end {
                grown.min(in_the_end)
            } else {
                // More documents exist now than in the long run. The old ones expire evenly, and
                // fewer new ones replace them.
                per_year * years.min(stay) + now * (1.0 - years / stay).max(0.0)
            }
        }
        None => grown,
    }
}

/// Returns the number of documents of a collection in the last of the predicted years.
pub(crate) fn in_the_end(collection: &CollectionPlan) -> Option<f64> {
    documents_in(collection, YEARS.last().copied().map_or(0.0, f64::from))
}

/// Returns the number of documents of a collection after some years. If it has an archive, the
/// collection keeps the younger documents and the archive has the rest. Inserts are assumed to be
/// even.
pub(crate) fn documents_in(collection: &CollectionPlan, years: f64) -> Option<f64> {
    let CollectionPlan { per_year, gone_days, .. } = collection;
    let all = documents_after(collection.documents?, *per_year, *gone_days, years);
    // Only the newest children of each parent are kept (PT-slice.1).
    let most = collection.kept_each.map_or(f64::MAX, |each| each.in_years(years));
    let all = all.min(most);
    let Some(days) = collection.cold_days else { return Some(all) };
    let young = all.min(per_year * days / 365.0);
    Some(if collection.purpose == Purpose::Archive { all - young } else { young })
}

/// Crossings after this number of years are ignored.
const FORESEEABLE: f64 = 100.0;

/// Returns when a growing document exceeds the size limits: years from now, and the date. `bytes`
/// returns its size for a number of children.
pub fn crossings(
    bytes: impl Fn(u64) -> u64,
    now: u64,
    per_year: f64,
    as_of: Option<(i16, i8, i8)>,
) -> Vec<Crossing> {
    TIERS
        .iter()
        .map(|(tier, label, clause)| {
            let most = most_below(*tier, &bytes);
            let years = if most < now {
                Some(0.0)
            } else if per_year > 0.0 {
                Some((most - now) as f64 / per_year).filter(|years| *years <= FORESEEABLE)
            } else {
                None
            };
            let date = years.zip(as_of).and_then(|(years, day)| after(day, years));
            Crossing { label, clause, children: most, years, date }
        })
        .collect()
}

/// Returns the maximum number of children for which a document stays within a size limit.
fn most_below(tier: u64, bytes: &impl Fn(u64) -> u64) -> u64 {
    // An element has at least three bytes. Sizes grow with the count, so bisection finds the
    // answer.
    let (mut low, mut high) = (0_u64, tier / 3 + 1);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if bytes(middle) <= tier { low = middle } else { high = middle - 1 }
    }
    low
}

fn after((year, month, day): (i16, i8, i8), years: f64) -> Option<String> {
    let start = jiff::civil::Date::new(year, month, day).ok()?;
    let days = (years * 365.0).round();
    if !(0.0..=365.0 * 1000.0).contains(&days) {
        return None;
    }
    let date = start.checked_add((days as i64).days()).ok()?;
    Some(format!("{:04}-{:02}", date.year(), date.month()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of a key part, the length of its string, and the number of distinct keys up to it.
    type Part = (BsonType, u64, f64);

    fn each(parts: &[Part], entries: f64) -> f64 {
        let parts: Vec<KeyPart> = parts.iter().map(|(k, l, d)| KeyPart::of(*k, *l, *d)).collect();
        index_bytes(&parts, entries) / entries
    }

    /// The size of an entry in bytes that MongoDB 6.0.5 had on disk after a checkpoint.
    #[test]
    fn ck_12_index_entries_take_what_a_server_was_measured_to_take() {
        use BsonType::{Bool, Date, Decimal, Double, Int, Long, ObjectId, String};
        let n = 100_000.0;
        let cases: [(&[Part], f64); 15] = [
            (&[(ObjectId, 0, n)], 16.9),
            (&[(ObjectId, 0, n / 3.0)], 10.1),
            (&[(ObjectId, 0, n / 50.0)], 5.9),
            (&[(ObjectId, 0, n / 1000.0)], 5.5),
            (&[(ObjectId, 0, n / 3.0), (Date, 0, n)], 17.2),
            (&[(ObjectId, 0, n / 50.0), (Date, 0, n)], 12.3),
            (&[(ObjectId, 0, 100.0), (String, 20, n)], 30.2),
            (&[(Int, 0, n)], 11.3),
            (&[(Long, 0, n)], 18.0),
            (&[(Double, 0, n)], 17.2),
            (&[(Decimal, 0, n)], 17.1),
            (&[(Date, 0, n)], 11.3),
            (&[(Bool, 0, 2.0)], 3.6),
            (&[(String, 12, n)], 18.6),
            (&[(String, 100, n)], 118.1),
        ];
        for (parts, measured) in cases {
            let error = each(parts, n) / measured - 1.0;
            assert!(error.abs() < 0.1, "{parts:?}: {:.1}, {measured}", each(parts, n));
        }
        // In a small index of ids, the first pages have much weight.
        assert!((own_index_bytes(200_000.0) / 200_000.0 / 18.0 - 1.0).abs() < 0.05);
        assert!((each(&[(ObjectId, 0, 1e4)], 1e4) / 18.4 - 1.0).abs() < 0.05);
    }

    #[test]
    fn nothing_takes_a_file() {
        assert_eq!(index_bytes(&[], 100.0) as u64, 18_432);
        assert_eq!(own_index_bytes(0.0) as u64, 18_432);
        assert!((record(900.0) - 2.0).abs() < 1e-9 && (record(100_000.0) - 3.0).abs() < 1e-9);
    }
}
