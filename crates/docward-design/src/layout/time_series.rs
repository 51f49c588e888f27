//! Predicts the buckets of a native time series: their readings and bytes.

use docward_model::{BsonType, DesignModel};

use crate::declared::dates::{DAY, HOUR};
use crate::declared::field_plan::{Origin, Planned, Rank, document_bytes};
use crate::layout::collection::{CollectionPlan, Purpose};

/// Returns the size in bytes of a value in a column of a closed and compressed bucket. Values that
/// increase evenly need almost no space. Numbers with few digits need as many bytes as their
/// differences. Other values are not compressed.
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

/// The maximum number of readings in a bucket of the server.
pub(crate) const SERVER_MOST: u64 = 1000;

/// The maximum size of such a bucket in bytes before compression.
pub(crate) const SERVER_BYTES: u64 = 125_000;

/// The size of such a bucket without readings, in bytes: id, version, minimum and maximum values.
pub(crate) const SERVER_HEAD: u64 = 160;

/// Returns the maximum number of readings in a bucket of the server, for an interval in
/// milliseconds and a reading size in bytes.
pub(crate) fn server_most(granularity: &str, step: i64, reading: u64) -> u64 {
    let span: i64 = match granularity {
        "seconds" => HOUR,
        "minutes" => DAY,
        _ => 30 * DAY,
    };
    let by_bytes = SERVER_BYTES / reading.max(1);
    // A bucket ends when the next reading would be a whole span after its start.
    let by_span = (span as u64).div_ceil(step as u64).max(1);
    SERVER_MOST.min(by_bytes.max(1)).min(by_span)
}

/// Returns the time between two readings of a series in milliseconds.
pub(crate) fn step(series: &docward_model::Series) -> i64 {
    (1000.0 / series.per_second.max(1e-9)).clamp(1.0, 1e12).round() as i64
}

/// Returns the compressed size of a reading in bytes, and the number of readings in a bucket.
/// Returns `None` if the collection is not a time series.
pub(crate) fn packed(model: &DesignModel, collection: &CollectionPlan) -> Option<(f64, f64)> {
    let Purpose::TimeSeries { time, meta, granularity } = &collection.purpose else { return None };
    let series = model.entity(&collection.entity)?.series.as_ref()?;
    let reading = document_bytes(&collection.fields, Rank::Mean);
    let most = server_most(granularity, step(series), reading) as f64;
    let columns = collection.fields.iter().filter(|field| field.name != *meta);
    let each = columns.map(|field| column(field, time)).sum::<f64>();
    Some((each + (SERVER_HEAD + 2 * reading) as f64 / most, most))
}
