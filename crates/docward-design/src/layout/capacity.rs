//! How large everything gets, and when a document crosses the tiers of the rule book (DM-05.1, CK-2,
//! LM-3, LM-1).

use docward_model::{BsonType, DesignModel};
use jiff::ToSpan;

use crate::decide::alternative::Crossing;
use crate::declared::field_plan::{Origin, Planned, Rank, at_path, document_bytes};
use crate::declared::{quantile, size};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::index_plan::IndexPlan;
use crate::layout::time_series;

/// The tiers: bytes and the clause.
pub const TIERS: [(u64, &str, &str); 4] = [
    (102_400, "100 KB", "DM-05.1"),
    (1_048_576, "1 MB", "CK-2"),
    (10_485_760, "10 MB", "LM-3"),
    (16_777_216, "16 MB", "LM-1"),
];

/// The years that are looked at.
pub const YEARS: [u32; 4] = [0, 1, 3, 5];

/// How large a collection gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The collection.
    pub collection: String,
    /// Bytes of a document: typical, 99th percentile, most.
    pub document: (u64, u64, u64),
    /// Documents and bytes, now and after years; `None` when nobody said how many there are.
    pub years: Vec<(u32, Option<(u64, u64)>)>,
    /// Bytes of its indexes now.
    pub index_bytes: Option<u64>,
    /// Bytes in daily use now, and whether it is an upper bound because nobody said what is hot.
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
        // The index on `_id` is there too; a time series keeps none, and from 6.3 on comes with another.
        let own = match collection.purpose {
            Purpose::TimeSeries { .. } => given_index_bytes(model, collection, n),
            _ => own_index_bytes(n),
        };
        let planned = collection.indexes.iter();
        (own + planned.map(|index| planned_bytes(model, collection, index, n)).sum::<f64>()) as u64
    });
    let hot = model.entity(&collection.entity).and_then(|entity| entity.hot);
    let used = documents(0.0).zip(collection.documents).map(|(n, all)| match hot {
        // What is there is hardly read.
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
        // A list of long values may be shorter than one of typical values.
        document: (typical, bytes(Rank::P99).max(typical), bytes(Rank::Max).max(typical)),
        years,
        index_bytes,
        working_set,
    }
}

/// Bytes of a document at the mean of all. Children that are embedded are as many as there are, where that
/// was said: what a parent has typically may be none of them.
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
    // Of an embedded object there is none or one.
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

/// Bytes of the index on its series and time that a time series comes with.
fn given_index_bytes(model: &DesignModel, collection: &CollectionPlan, documents: f64) -> f64 {
    let Purpose::TimeSeries { time, meta, .. } = &collection.purpose else { return 0.0 };
    if model.deployment.server < (6, 3) {
        return 0.0;
    }
    let keys = vec![(meta.clone(), false), (time.clone(), false)];
    planned_bytes(model, collection, &IndexPlan::on(keys, String::new()), documents)
}

/// Bytes of an index of a collection with so many documents.
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
        // What nobody said anything about is different each time.
        different = (different * values.unwrap_or(f64::INFINITY)).min(documents * many);
        parts.push(KeyPart::of(kind, leaf.bytes.0, different));
    }
    // A time series has an entry for each bucket.
    let bucket = time_series::packed(model, collection).map_or(1.0, |(_, readings)| readings);
    index_bytes(&parts, documents * many / bucket)
}

/// Embedded children of a document, where it was said how many there are.
fn elements(model: &DesignModel, field: &Planned, documents: f64) -> Option<f64> {
    let Origin::Embedded(name) = &field.origin else { return None };
    let relationship = model.relationship(name).filter(|r| !r.is_shared())?;
    let count = model.entity(&relationship.child)?.count?;
    (documents > 0.0).then(|| count / documents)
}

/// A part of an index key as the server stores it, and how far it tells entries apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyPart {
    /// Bytes: a type and the value.
    bytes: f64,
    /// Bytes in front that neighbours have in common.
    common: f64,
    /// Bytes that are stored beside the key.
    beside: f64,
    is_text: bool,
    /// Different keys up to and with this part.
    different: f64,
}

impl KeyPart {
    /// What a value takes in a key, measured on 6.0.5 (`docs/design-simulate.md` has the figures).
    ///
    /// | value | bytes | in common | why |
    /// |---|---|---|---|
    /// | ObjectId | 13 | 4 | a type, twelve bytes; ids of one month share type and three bytes of time |
    /// | date | 9 | 5 | a type, eight bytes; dates of a month and a half share type and four of them |
    /// | text | length + 2 | 1 | a type and a zero around it |
    /// | binary data | length + 3 | 1 | a type, a length and a subtype around it |
    /// | int | 5 | 1 | a type that tells the length, and as many bytes as the number has |
    /// | long | 9, 2 beside | 1 | as int; that it is a long is kept beside the key |
    /// | double, decimal | 10 | 1 | a number with places behind the point |
    /// | bool, null | 1 | 1 | the type says it all |
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

/// A page of an index is written when it is nine tenths full, and begins with a header.
const PAGE: f64 = 16_384.0;

const ROOM: f64 = 0.9 * PAGE - 40.0;

/// Bytes of an index file beside its pages.
const FILE: f64 = 18_432.0;

/// Fewer bytes in common are not worth being left out.
const LEAST_COMMON: f64 = 4.0;

/// More bytes in common than before are left out from this gain on.
const LEAST_GAIN: f64 = 10.0;

/// Bytes of an index with so many entries, as the file is on disk. Of a key are stored a byte, what it
/// does not have in common with the one before it and the length of that, and the number of the record.
/// An index that grew for long by inserts in the middle has pages that are less full, up to a third.
pub fn index_bytes(parts: &[KeyPart], entries: f64) -> f64 {
    if entries < 1.0 || parts.is_empty() {
        return FILE;
    }
    FILE + entries * entry(parts, entries, record(entries)) * PAGE / ROOM
}

/// Bytes of the index on `_id`: the record's number stands beside the key, with a byte in front.
fn own_index_bytes(documents: f64) -> f64 {
    let id = [KeyPart::of(BsonType::ObjectId, 0, documents)];
    if documents < 1.0 {
        return FILE;
    }
    FILE + documents * (entry(&id, documents, 0.0) + 1.0 + record(documents)) * PAGE / ROOM
}

/// Bytes of the number of a record: 10 bits in two bytes, eight more in each further one.
fn record(records: f64) -> f64 {
    let bits = records.max(1.0).log2();
    2.0 + ((bits - 10.0) / 8.0).ceil().clamp(0.0, 7.0)
}

/// Bytes of an entry, before pages are filled with it.
fn entry(parts: &[KeyPart], entries: f64, record: f64) -> f64 {
    let key = parts.iter().map(|part| part.bytes).sum::<f64>() + 1.0 + record;
    let beside: f64 = parts.iter().map(|part| part.beside).sum();
    let stored = |common: f64| {
        let common = if common >= LEAST_COMMON { common } else { 0.0 };
        let rest = key - common;
        1.0 + f64::from(common > 0.0) + f64::from(rest > 63.0) + rest
    };
    // Records of one key are some thousands apart: three bytes of their numbers differ.
    let end = 1.0 + (record - 3.0).max(0.0);
    let mut each = key;
    // How much is in common depends on how many entries a page has, and the other way round.
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
        // Letters in common of many texts, bytes in common of the values on a page.
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

/// Documents after years: what comes, less what goes.
pub(crate) fn documents_after(now: f64, per_year: f64, kept_days: Option<f64>, years: f64) -> f64 {
    let grown = now + per_year * years;
    match kept_days {
        // In the long run there are as many as come while one is kept.
        Some(days) => {
            let (stay, in_the_end) = (days / 365.0, per_year * days / 365.0);
            if now <= in_the_end {
                grown.min(in_the_end)
            } else {
                // More than come by now: what is there goes evenly, and what comes is fewer.
                per_year * years.min(stay) + now * (1.0 - years / stay).max(0.0)
            }
        }
        None => grown,
    }
}

/// Documents of a collection in the last of the years that are looked at.
pub(crate) fn in_the_end(collection: &CollectionPlan) -> Option<f64> {
    documents_in(collection, YEARS.last().copied().map_or(0.0, f64::from))
}

/// Documents of a collection after years. Of those that go to an archive it has the ones that are younger,
/// if they come evenly, and the archive the rest.
pub(crate) fn documents_in(collection: &CollectionPlan, years: f64) -> Option<f64> {
    let CollectionPlan { per_year, gone_days, .. } = collection;
    let all = documents_after(collection.documents?, *per_year, *gone_days, years);
    // Of each parent the newest are kept, however many come (PT-slice.1).
    let most = collection.kept_each.map_or(f64::MAX, |each| each.in_years(years));
    let all = all.min(most);
    let Some(days) = collection.cold_days else { return Some(all) };
    let young = all.min(per_year * days / 365.0);
    Some(if collection.purpose == Purpose::Archive { all - young } else { young })
}

/// Years after which nobody has to worry.
const FORESEEABLE: f64 = 100.0;

/// When a document that gets ever more children crosses the tiers: years from now, and the date. `bytes`
/// says how large it is with so many.
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

/// The most children with which a document is not larger than a tier.
fn most_below(tier: u64, bytes: &impl Fn(u64) -> u64) -> u64 {
    // An element takes three bytes at least; sizes rise with the count, so the answer can be bisected.
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

    /// The type of a part, the length of its text, and how many different keys there are up to it.
    type Part = (BsonType, u64, f64);

    fn each(parts: &[Part], entries: f64) -> f64 {
        let parts: Vec<KeyPart> = parts.iter().map(|(k, l, d)| KeyPart::of(*k, *l, *d)).collect();
        index_bytes(&parts, entries) / entries
    }

    /// Bytes of an entry that MongoDB 6.0.5 had on disk after a checkpoint.
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
        // Ids of documents, and how much the first pages weigh in a small index.
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
