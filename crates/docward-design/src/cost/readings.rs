//! Three alternatives for storing readings over time, for `design simulate`: one document for each
//! reading, buckets, and a native time series. This module predicts their size and the data that
//! operations move.

use docward_model::{BsonType, DesignModel, DesignRead, DesignWrite, Entity};

use crate::decide::entity_patterns;
use crate::decide::pattern::{Bucket, Pattern, Window};
use crate::declared::dates::{DAY, HOUR};
use crate::declared::field_plan::{Origin, Planned, Rank, document_bytes};
use crate::declared::naming::Naming;
use crate::declared::size;
use crate::layout::capacity::{KeyPart, index_bytes};
use crate::layout::fields::{Layout, is_of_series};
use crate::layout::plan::Design;
use crate::layout::time_series::{SERVER_HEAD, column, server_most, step};

/// An alternative for storing readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingsWay {
    /// A document for each reading.
    Documents,
    /// A document for the readings of a period.
    Buckets,
    /// A native time series, for which the server makes the buckets.
    TimeSeries,
}

impl ReadingsWay {
    /// Returns the word in JSON and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Buckets => "buckets",
            Self::TimeSeries => "time-series",
        }
    }
}

/// The parts of an entity's series.
#[derive(Clone, Debug, PartialEq)]
pub struct Readings {
    /// The entity.
    pub entity: String,
    /// The time field.
    pub time: String,
    /// The fields that identify the series.
    pub ids: Vec<Planned>,
    /// The fields of a reading as a separate document.
    pub reading: Vec<Planned>,
    /// The fields of a reading in a bucket.
    pub inside: Vec<Planned>,
    /// The fields of a bucket.
    pub bucket: Vec<Planned>,
    /// The rule that ends a bucket.
    pub rule: Bucket,
    /// The field for the start time of a bucket.
    pub start: String,
    /// The time between two readings, in milliseconds.
    pub step: i64,
    /// `seconds`, `minutes` or `hours`.
    pub granularity: &'static str,
    /// The alternative that was chosen.
    pub chosen: ReadingsWay,
    /// Whether the model needs something that a time series does not support, such as changes of
    /// single readings.
    pub needs_plain: bool,
    /// The number of series, if it is declared.
    pub series: Option<f64>,
    bytes: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bytes {
    reading: u64,
    inside: u64,
    /// The size of a bucket without its readings.
    head: u64,
    /// The size of a reading in a bucket of the server: while the bucket is open, and compressed.
    open: f64,
    column: f64,
}

/// Returns the readings of an entity, or why there are none. An entity has none if it is not a
/// series or is undecided.
pub fn readings(
    model: &DesignModel,
    design: &Design,
    naming: Naming,
    entity: &Entity,
) -> Result<Readings, String> {
    let Some(series) = &entity.series else { return Err("it is not a series".to_owned()) };
    let advice = design.entities.iter().find(|advice| advice.entity == entity.name);
    let advice = advice.ok_or_else(|| "it was not decided".to_owned())?;
    let decided = advice.patterns.iter().find_map(|pattern| match pattern {
        Pattern::TimeSeries { .. } => Some((ReadingsWay::TimeSeries, None)),
        Pattern::Bucket(bucket) => Some((ReadingsWay::Buckets, Some(bucket.clone()))),
        _ => None,
    });
    let Some((chosen, bucket)) = decided else {
        let open = advice.questions.first().map_or("", |question| question.ask.as_str());
        return Err(format!("it is undecided: {open}"));
    };
    let layout = Layout { model, decisions: &design.decisions, advice: &design.entities, naming };
    let rule =
        bucket.unwrap_or_else(|| entity_patterns::bucket(series, layout.reading_bytes(entity)));
    let reading = layout.document(entity);
    let (ids, inside): (Vec<Planned>, Vec<Planned>) =
        reading[1..].iter().cloned().partition(|field| is_of_series(&series.id, field));
    if ids.is_empty() {
        return Err("no field identifies the series of a reading".to_owned());
    }
    if !inside.iter().any(|field| field.name == series.time && field.kind == BsonType::Date) {
        return Err(format!("`{}` is not a date", series.time));
    }
    let fields = layout.bucket(entity, &rule);
    let apart: Vec<Planned> = fields.iter().filter(|f| f.name != "readings").cloned().collect();
    let mean = |fields: &[Planned]| document_bytes(fields, Rank::Mean);
    let columns: Vec<&Planned> =
        reading.iter().filter(|field| !is_of_series(&series.id, field)).collect();
    let bytes = Bytes {
        reading: mean(&reading),
        inside: mean(&inside),
        head: mean(&apart),
        // The overhead before each value is a type byte, an index of about three digits and a zero
        // byte.
        open: columns.iter().map(|f| f.value_bytes(Rank::Mean) as f64 + 4.9).sum(),
        column: columns.iter().map(|field| column(field, &series.time)).sum(),
    };
    let updated = model.writes.iter().any(|write| write.updates.contains(&entity.name));
    Ok(Readings {
        entity: entity.name.clone(),
        time: series.time.clone(),
        start: naming.field(&["bucket", "start"]),
        step: step(series),
        granularity: match series.per_second {
            rate if rate > 1.0 / 60.0 => "seconds",
            rate if rate > 1.0 / 3600.0 => "minutes",
            _ => "hours",
        },
        chosen,
        needs_plain: updated || entity.needs_plain == Some(true),
        series: series.series,
        ids,
        reading,
        inside,
        bucket: fields,
        rule,
        bytes,
    })
}

impl Readings {
    /// Returns the index of the bucket that a reading of a series belongs to.
    pub fn bucket_of(&self, reading: u64) -> u64 {
        let time = self.step as u64 * reading;
        match self.rule.window {
            Window::Day => time / DAY as u64,
            Window::Hour => time / HOUR as u64,
            Window::Events(most) => reading / most.max(1),
        }
    }

    /// Returns the index of the first reading of a bucket.
    pub fn first_of(&self, bucket: u64) -> u64 {
        let from = |length: i64| (bucket * length as u64).div_ceil(self.step as u64);
        match self.rule.window {
            Window::Day => from(DAY),
            Window::Hour => from(HOUR),
            Window::Events(most) => bucket * most.max(1),
        }
    }

    /// Returns the time from the start of a series to the start of a bucket, in milliseconds.
    pub fn begin_of(&self, bucket: u64) -> i64 {
        match self.rule.window {
            Window::Day => bucket as i64 * DAY,
            Window::Hour => bucket as i64 * HOUR,
            Window::Events(_) => self.first_of(bucket) as i64 * self.step,
        }
    }

    /// Returns the number of readings in a bucket of a series with `readings` readings.
    fn filled(&self, bucket: u64, readings: u64) -> u64 {
        self.first_of(bucket + 1).min(readings).saturating_sub(self.first_of(bucket))
    }

    fn bucket_bytes(&self, readings: u64) -> u64 {
        self.bytes.head + size::element("readings", size::array(readings, self.bytes.inside))
    }

    /// Returns the maximum number of readings in a bucket of the server.
    fn server_most(&self) -> u64 {
        server_most(self.granularity, self.step, self.bytes.reading)
    }

    /// Returns the number of documents, their size in bytes, and the size in bytes of the index on
    /// series and time.
    pub fn stored(&self, way: ReadingsWay, series: u64, readings: u64) -> (u64, u64, u64) {
        let ids = |different: f64| -> Vec<KeyPart> {
            let part = |field: &Planned| KeyPart::of(field.kind, field.bytes.0, different);
            self.ids.iter().map(part).collect()
        };
        let index = |documents: u64, dates: usize| {
            let mut parts = ids(series as f64);
            let date = KeyPart::of(BsonType::Date, 0, documents as f64);
            parts.extend(std::iter::repeat_n(date, dates));
            index_bytes(&parts, documents as f64) as u64
        };
        let all = series * readings;
        match way {
            ReadingsWay::Documents => (all, all * self.bytes.reading, index(all, 1)),
            ReadingsWay::Buckets => {
                let each = readings.checked_sub(1).map_or(0, |last| self.bucket_of(last) + 1);
                let bytes: u64 =
                    (0..each).map(|bucket| self.bucket_bytes(self.filled(bucket, readings))).sum();
                (series * each, series * bytes, index(series * each, 1))
            }
            ReadingsWay::TimeSeries => {
                // The last bucket of a series is still open and not compressed.
                let closed = readings.saturating_sub(1) / self.server_most();
                let open = readings - closed * self.server_most();
                let head = (SERVER_HEAD + 2 * self.bytes.reading) as f64;
                let bytes = (closed + 1) as f64 * head
                    + (closed * self.server_most()) as f64 * self.bytes.column
                    + open as f64 * self.bytes.open;
                let each = closed + 1;
                (series * each, (series as f64 * bytes) as u64, index(series * each, 2))
            }
        }
    }

    /// Returns the number of readings that a declared read is about: its limit, or the readings of
    /// a day.
    pub fn wanted(&self, read: &DesignRead) -> u64 {
        let day = (DAY as u64).div_ceil(self.step as u64);
        read.limit.unwrap_or(day).max(1)
    }

    /// Whether a read filters by one series.
    pub fn is_of_one(&self, read: &DesignRead) -> bool {
        let named = |id: &Planned| {
            read.filter.iter().any(|(field, _)| {
                *field == id.name || matches!(&id.origin, Origin::Reference(of) if of == field)
            })
        };
        read.from == self.entity && self.ids.iter().all(named)
    }

    /// Returns the documents and bytes of a read of the readings `from..to`. `readings` is the
    /// number of readings of the series.
    pub fn read(&self, way: ReadingsWay, from: u64, to: u64, readings: u64) -> (f64, f64) {
        if way != ReadingsWay::Buckets {
            return ((to - from) as f64, ((to - from) * self.bytes.reading) as f64);
        }
        let buckets = self.bucket_of(from)..self.bucket_of(to.saturating_sub(1)) + 1;
        let bytes = buckets.clone().map(|b| self.bucket_bytes(self.filled(b, readings)));
        let bytes = bytes.sum::<u64>() as f64;
        (buckets.count() as f64, bytes)
    }

    /// Returns the bytes that are written when a reading is added or changed. `readings` is the
    /// number of readings of the series after the write.
    pub fn write(&self, way: ReadingsWay, reading: u64, readings: u64) -> f64 {
        if way != ReadingsWay::Buckets {
            return self.bytes.reading as f64;
        }
        let bucket = self.bucket_of(reading);
        self.bucket_bytes(self.filled(bucket, readings)) as f64
    }

    /// Returns the fields of the entity that a write changes.
    pub fn changed<'w>(&self, write: &'w DesignWrite) -> Vec<&'w str> {
        let sets = write.sets.iter().filter(|(entity, _)| *entity == self.entity);
        sets.map(|(_, field)| field.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, design, read};
    use docward_model::ProfileName;

    fn of(model: &str, entity: &str) -> Readings {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models");
        let text = std::fs::read_to_string(format!("{folder}/{model}.yaml")).unwrap();
        let model = read("m.yaml", &text).unwrap_or_else(|faults| panic!("{faults:?}"));
        let made = design(&model, ProfileName::Neutral, &Bounds::default());
        let naming = Naming::of(&model, ProfileName::Neutral);
        readings(&model, &made, naming, model.entity(entity).unwrap()).unwrap()
    }

    #[test]
    fn pt_bucket_2_an_hour_of_minutes_is_sixty() {
        let readings = of("iot", "reading");
        assert_eq!(readings.chosen, ReadingsWay::TimeSeries);
        assert_eq!(readings.rule.window, Window::Hour);
        assert_eq!((readings.bucket_of(59), readings.bucket_of(60)), (0, 1));
        assert_eq!((readings.first_of(1), readings.filled(1, 70)), (60, 10));
        // By PT-ts.1, an interval of 60 seconds means `minutes`. A bucket then spans a day and has
        // at most 1,000 readings.
        assert_eq!((readings.granularity, readings.server_most()), ("minutes", 1000));
        let (documents, _, _) = readings.stored(ReadingsWay::Documents, 10, 120);
        let (buckets, _, _) = readings.stored(ReadingsWay::Buckets, 10, 120);
        assert_eq!((documents, buckets), (1200, 20));
    }

    #[test]
    fn pt_bucket_4_a_read_of_a_day_takes_its_buckets() {
        let readings = of("iot", "reading");
        assert_eq!(readings.read(ReadingsWay::Documents, 0, 1440, 2880).0 as u64, 1440);
        assert_eq!(readings.read(ReadingsWay::Buckets, 0, 1440, 2880).0 as u64, 24);
        assert_eq!(readings.read(ReadingsWay::Buckets, 30, 1470, 2880).0 as u64, 25);
    }

    #[test]
    fn dm_08_5_what_is_changed_is_no_time_series() {
        let messages = of("chat", "message");
        assert_eq!(messages.chosen, ReadingsWay::Buckets);
        assert!(messages.needs_plain);
        assert_eq!(messages.rule.window, Window::Day);
    }
}
