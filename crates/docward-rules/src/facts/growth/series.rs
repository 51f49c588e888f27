//! Collections that are a time series kept as plain documents (ALG-8), and the bucket arithmetic of
//! PT-bucket.2 and LM-9.

use docward_model::{BsonType, Collection, CollectionKind, Field, FieldShape, Profile};

use crate::facts::{
    growth::patterns,
    names::{self, meaning},
    values::sizes,
};

const HOUR_MS: f64 = 3_600_000.0;

/// A collection that is a time series.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// The field with the time of a measurement.
    pub time: &'a Field,
    /// The field that identifies the series.
    pub id: &'a Field,
    /// The measured fields.
    pub measures: Vec<&'a Field>,
    /// The number of documents.
    pub documents: u64,
    /// The number of distinct series.
    pub series: u64,
    /// Hours between the first and the last measurement.
    pub hours: f64,
}

/// The minimum evidence for a time series.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The minimum number of documents.
    pub documents: u64,
    /// The minimum number of documents per series, on average.
    pub per_series: f64,
    /// The maximum mean size of a document.
    pub mean_bytes: u64,
    /// The minimum share of documents with the time.
    pub presence: f64,
}

/// Numbers that are grades, choices or amounts of business, not measurements.
const NO_MEASURE: &[&str] = &[
    "rating",
    "score",
    "stars",
    "rank",
    "quantity",
    "qty",
    "age",
    "year",
    "month",
    "day",
    "hour",
    "version",
    "page",
    "order",
    "position",
    "index",
    "level",
    "priority",
    "grade",
    "floor",
    "lat",
    "lng",
    "lon",
    "latitude",
    "longitude",
    "zip",
    "port",
    "points",
    "votes",
];
/// Words in names that show a document is changed after it was written.
const CHANGED: &[&str] =
    &["update", "updated", "modified", "modify", "changed", "deleted", "edited"];

/// Recognises a hand-made time series: nearly all documents have one date, few series have many small documents, and
/// most other fields are numbers. Business entities with a date (orders, reviews, logins) have texts, statuses, money
/// or ids instead.
pub fn classify<'a>(
    collection: &Collection,
    profile: &'a Profile,
    limits: &Limits,
) -> Option<Series<'a>> {
    if collection.kind != CollectionKind::Plain
        || profile.documents.max(profile.total) < limits.documents
        || profile.sizes.mean() >= limits.mean_bytes as f64
    {
        return None;
    }
    let top: Vec<&Field> = profile.top_level().filter(|f| f.name != "_id").collect();
    if top.iter().any(|f| f.array.is_some() || f.shape != FieldShape::Named || f.dynamic.is_some())
    {
        return None;
    }
    if top.iter().any(|f| {
        meaning::is_status(&f.name)
            || names::words(&f.name).iter().any(|w| CHANGED.contains(&w.as_str()))
    }) {
        return None;
    }
    let dates: Vec<&Field> =
        top.iter().copied().filter(|f| f.types.of(BsonType::Date) > 0).collect();
    let [time] = dates[..] else { return None };
    let whole = |f: &Field| f.count as f64 >= limits.presence * profile.documents as f64;
    if !time.is_only(BsonType::Date) || !whole(time) {
        return None;
    }
    let (from, to) = time.dates?;
    let hours = to.saturating_sub(from) as f64 / HOUR_MS;
    if hours <= 0.0 {
        return None;
    }
    // Fields one level down also count: `meta.sensor`, `values.temp`.
    let leaves: Vec<&Field> = top
        .iter()
        .flat_map(|f| {
            if f.types.of(BsonType::Object) > 0 { profile.children(f).collect() } else { vec![*f] }
        })
        .filter(|f| f.path != time.path)
        .collect();
    if leaves.iter().any(|f| f.types.of(BsonType::Object) > 0 || f.array.is_some()) {
        return None;
    }
    let measures: Vec<&Field> = leaves.iter().copied().filter(|f| is_measure(f)).collect();
    if measures.is_empty() || measures.iter().all(|f| meaning::is_money(&f.name)) {
        return None;
    }
    let documents = profile.documents as f64;
    let id = leaves
        .iter()
        .copied()
        .filter(|f| {
            whole(f)
                && !measures.iter().any(|m| m.path == f.path)
                && f.distinct.values >= 1.0
                && f.distinct.values * limits.per_series <= documents
                && names_a_series(f)
        })
        // The finest of the candidates is the series; coarser ones describe it.
        .max_by(|a, b| {
            a.distinct.values.total_cmp(&b.distinct.values).then_with(|| b.path.cmp(&a.path))
        })?;
    // All remaining fields must be labels of the series, and there must not be more labels than measures.
    let rest: Vec<&Field> = leaves
        .iter()
        .copied()
        .filter(|f| f.path != id.path && !measures.iter().any(|m| m.path == f.path))
        .collect();
    let is_label = |f: &Field| f.distinct.values * limits.per_series <= documents;
    if rest.iter().any(|f| !is_label(f))
        || rest.iter().filter(|f| f.types.of(BsonType::String) > 0).count() > measures.len()
    {
        return None;
    }
    Some(Series {
        time,
        id,
        measures,
        documents: profile.total.max(profile.documents),
        series: if id.distinct.exact {
            id.distinct.values.round().max(1.0) as u64
        } else {
            crate::facts::text::rounded(id.distinct.values)
        },
        hours,
    })
}

/// Numbers that vary, under a name without another meaning.
fn is_measure(field: &Field) -> bool {
    patterns::is_numeric(field) && field.distinct.values >= 10.0 && names_a_measure(&field.name)
}

/// Whether a number of this name may be a measurement. Ids, codes, statuses, ratings and counts are not.
pub fn names_a_measure(name: &str) -> bool {
    !meaning::is_id(name)
        && !meaning::is_code(name)
        && !meaning::is_status(name)
        && !meaning::is_soft_status(name)
        && !names::words(name).iter().any(|word| NO_MEASURE.contains(&word.as_str()))
}

const SOURCES: &[&str] = &[
    "sensor",
    "device",
    "host",
    "hostname",
    "server",
    "station",
    "meter",
    "machine",
    "node",
    "symbol",
    "ticker",
    "metric",
    "probe",
    "source",
    "channel",
    "vehicle",
    "instance",
    "tag",
    "series",
    "unit",
    "gateway",
    "container",
    "pod",
    "site",
    "location",
];

fn names_a_series(field: &Field) -> bool {
    meaning::is_id(&field.name)
        || names::words(&field.name)
            .iter()
            .any(|w| SOURCES.contains(&meaning::singular(w).as_str()))
}

/// A bucket size with its arithmetic.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucketing {
    /// `1 hour`, `1 day` or `100 events`.
    pub size: &'static str,
    /// Measurements in a full bucket.
    pub elements: u64,
    /// The number of buckets for all documents.
    pub buckets: u64,
    /// The maximum number of bytes of a full bucket.
    pub bytes: u64,
}

/// The largest of 1 day and 1 hour whose buckets stay below 1000 measurements and within 100 KB, else
/// 100 events. `document` is the mean size of a document, which a measurement does not exceed.
pub fn bucketing(documents: u64, series: u64, hours: f64, document: u64) -> Bucketing {
    let series = series.max(1);
    // A span of n measurements has n - 1 steps.
    let per_hour = (documents as f64 / series as f64 - 1.0).max(1.0) / hours.max(1.0);
    for (size, window) in [("1 day", 24.0), ("1 hour", 1.0)] {
        let elements = (per_hour * window - 1e-6).ceil() as u64;
        let bytes = sizes::array_bytes(elements, document);
        // Fewer than a handful per bucket saves nothing.
        if (5..1000).contains(&elements) && bytes <= sizes::RECOMMENDED {
            let windows = (hours / window).ceil().max(1.0) as u64;
            return Bucketing { size, elements, buckets: (series * windows).min(documents), bytes };
        }
    }
    Bucketing {
        size: "100 events",
        elements: 100,
        buckets: series * (documents / series).div_ceil(100).max(1),
        bytes: sizes::array_bytes(100, document),
    }
}

/// The `granularity` nearest to the time between measurements of one series.
pub fn granularity(documents: u64, series: u64, hours: f64) -> &'static str {
    let steps = documents.saturating_sub(series).max(1) as f64;
    let seconds = (hours * 3600.0 * series.max(1) as f64 / steps).round();
    if seconds < 60.0 {
        "seconds"
    } else if seconds < 3600.0 {
        "minutes"
    } else {
        "hours"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lm_9_a_year_of_minutes_is_8760_hourly_buckets() {
        let hours = 525_599.0 / 60.0;
        let b = bucketing(525_600, 1, hours, 90);
        assert_eq!((b.size, b.elements, b.buckets), ("1 hour", 60, 8_760));
        assert!(b.bytes < sizes::RECOMMENDED);
        assert_eq!(granularity(525_600, 1, hours), "minutes");
    }

    #[test]
    fn pt_bucket_2_a_reading_a_second_does_not_fit_an_hour() {
        let b = bucketing(86_400, 1, 24.0, 60);
        assert_eq!((b.size, b.elements, b.buckets), ("100 events", 100, 864));
        assert_eq!(granularity(86_400, 1, 24.0), "seconds");
    }

    #[test]
    fn pt_bucket_2_a_reading_a_quarter_of_an_hour_fits_a_day() {
        let b = bucketing(35_040, 1, 8_760.0, 90);
        assert_eq!((b.size, b.elements, b.buckets), ("1 day", 96, 365));
    }

    #[test]
    fn pt_bucket_2_large_measurements_keep_within_100_kb() {
        // 60 an hour of 2 KB each would be 120 KB.
        assert_eq!(bucketing(525_600, 1, 8_760.0, 2_048).size, "100 events");
    }
}
