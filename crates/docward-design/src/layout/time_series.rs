//! What the server makes of a native time series: readings of a bucket and their bytes.

use docward_model::{BsonType, DesignModel};

use crate::declared::dates::{DAY, HOUR};
use crate::declared::field_plan::{Origin, Planned, Rank, document_bytes};
use crate::layout::collection::{CollectionPlan, Purpose};

/// Bytes of a value in a column of a bucket that the server has closed and compressed: what rises evenly
/// takes hardly anything, numbers with few places take as many bytes as their differences, other values are
/// kept as they are.
pub(crate) fn column(field: &Planned, time: &str) -> f64 {
    match field.kind {
        _ if field.name == time => 0.1,
        BsonType::Bool => 0.5,
        BsonType::ObjectId if field.origin == Origin::Id => 1.0,
        BsonType::Double => 4.0,
        BsonType::Int | BsonType::Long => 3.0,
        _ => field.value_bytes(Rank::Mean) as f64 + 1.0,
    }
}

/// Readings and span of a bucket that the server makes.
pub(crate) const SERVER_MOST: u64 = 1000;

/// Bytes of it before it is compressed.
pub(crate) const SERVER_BYTES: u64 = 125_000;

/// Bytes of it beside its readings: id, version, least and greatest values.
pub(crate) const SERVER_HEAD: u64 = 160;

/// Most readings of a bucket that the server makes, of so many bytes and milliseconds from one to the next.
pub(crate) fn server_most(granularity: &str, step: i64, reading: u64) -> u64 {
    let span: i64 = match granularity {
        "seconds" => HOUR,
        "minutes" => DAY,
        _ => 30 * DAY,
    };
    let by_bytes = SERVER_BYTES / reading.max(1);
    // A bucket ends when the next reading would be a whole span after its begin.
    let by_span = (span as u64).div_ceil(step as u64).max(1);
    SERVER_MOST.min(by_bytes.max(1)).min(by_span)
}

/// Milliseconds from one reading of a series to the next.
pub(crate) fn step(series: &docward_model::Series) -> i64 {
    (1000.0 / series.per_second.max(1e-9)).clamp(1.0, 1e12).round() as i64
}

/// Bytes that a reading of a time series takes once the server has packed it, and how many of them a bucket
/// has; `None` for other collections.
pub(crate) fn packed(model: &DesignModel, collection: &CollectionPlan) -> Option<(f64, f64)> {
    let Purpose::TimeSeries { time, meta, granularity } = &collection.purpose else { return None };
    let series = model.entity(&collection.entity)?.series.as_ref()?;
    let reading = document_bytes(&collection.fields, Rank::Mean);
    let most = server_most(granularity, step(series), reading) as f64;
    let columns = collection.fields.iter().filter(|field| field.name != *meta);
    let each = columns.map(|field| column(field, time)).sum::<f64>();
    Some((each + (SERVER_HEAD + 2 * reading) as f64 / most, most))
}
