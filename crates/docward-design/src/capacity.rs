//! How large everything gets, and when a document crosses the tiers of the rule book (DM-05.1, CK-2,
//! LM-3, LM-1).

use docward_model::DesignModel;
use jiff::ToSpan;

use crate::collection::{CollectionPlan, Purpose};
use crate::layout::{Rank, document_bytes};
use crate::size;

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
    let documents = |years: f64| {
        let now = collection.documents?;
        Some(documents_after(now, collection.per_year, collection.kept_days, years))
    };
    let years = YEARS
        .map(|years| {
            let number = documents(f64::from(years));
            (years, number.map(|n| (n.round() as u64, (n * typical as f64).round() as u64)))
        })
        .to_vec();
    let index_bytes = documents(0.0).map(|n| {
        // The index on `_id` is there too; a time series keeps none.
        let own = if matches!(collection.purpose, Purpose::TimeSeries { .. }) { 0.0 } else { 1.0 };
        let planned: f64 = collection.indexes.iter().map(|index| entries(collection, index)).sum();
        (n * (own * ENTRY as f64 + planned * ENTRY as f64)) as u64
    });
    let hot = model.entity(&collection.entity).and_then(|entity| entity.hot);
    let working_set = documents(0.0).zip(index_bytes).map(|(n, indexes)| {
        let data = n * typical as f64 * hot.unwrap_or(1.0);
        ((data as u64).saturating_add(indexes), hot.is_none())
    });
    Capacity {
        collection: collection.name.clone(),
        document: (typical, bytes(Rank::P99), bytes(Rank::Max)),
        years,
        index_bytes,
        working_set,
    }
}

/// Bytes of an index entry before compression: a short key and the record's number.
pub const ENTRY: u64 = 24;

/// Entries a document has in an index: as many as elements when the path leads through an array.
fn entries(collection: &CollectionPlan, index: &crate::index::IndexPlan) -> f64 {
    let many = |path: &String| {
        let first = path.split('.').next().unwrap_or(path);
        collection
            .fields
            .iter()
            .find(|field| field.name == first)
            .and_then(|field| field.items)
            .map_or(1.0, |items| items.p50.max(1) as f64)
    };
    index.keys.iter().map(|(path, _)| many(path)).fold(1.0, f64::max)
}

/// Documents after years: what comes, less what goes.
pub(crate) fn documents_after(now: f64, per_year: f64, kept_days: Option<f64>, years: f64) -> f64 {
    let grown = now + per_year * years;
    match kept_days {
        // In the long run there are as many as come while one is kept.
        Some(days) => grown.min((per_year * days / 365.0).max(now)),
        None => grown,
    }
}

/// When a document that gets ever more children crosses the tiers: years from now, and the date.
pub fn crossings(
    base: u64,
    child: u64,
    now: u64,
    per_year: f64,
    as_of: Option<(i16, i8, i8)>,
) -> Vec<Crossing> {
    TIERS
        .iter()
        .map(|(bytes, label, clause)| {
            let room = bytes.saturating_sub(base);
            let most = size::fitting(room, child);
            let years = if most < now {
                Some(0.0)
            } else if per_year > 0.0 {
                Some((most - now) as f64 / per_year)
            } else {
                None
            };
            let date = years.zip(as_of).and_then(|(years, day)| after(day, years));
            Crossing { label, clause, children: most, years, date }
        })
        .collect()
}

/// A document crosses a tier.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The tier: `1 MB`.
    pub label: &'static str,
    /// Its clause.
    pub clause: &'static str,
    /// Children that fit below it.
    pub children: u64,
    /// Years from now; 0 when it has happened, `None` when it never does.
    pub years: Option<f64>,
    /// The month, when the model says which day it is true for.
    pub date: Option<String>,
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
