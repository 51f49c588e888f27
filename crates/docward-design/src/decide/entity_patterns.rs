//! The patterns of single entities: time series, buckets, polymorphism, archives, versions.

use docward_model::{DesignModel, Entity};

use crate::decide::attribute;
use crate::decide::derive::Question;
use crate::decide::pattern::{Bucket, Made, Pattern, Window};
use crate::declared::field_plan::discriminator;
use crate::declared::{dates, read_direction, size};

/// Returns the patterns of a single entity.
pub(crate) fn of_entity(model: &DesignModel, entity: &Entity, bytes: u64) -> Made {
    let mut made = Made { patterns: Vec::new(), remarks: Vec::new(), questions: Vec::new() };
    if entity.series.is_some() {
        made.series(model, entity, bytes);
    }
    if !entity.variants.is_empty() {
        let discriminator = discriminator(entity);
        made.patterns.push(Pattern::Polymorphic { discriminator });
    }
    let (fields, remarks) = attribute::listed(model, entity);
    made.remarks.extend(remarks);
    if !fields.is_empty() {
        made.patterns.push(Pattern::Attribute { fields });
    }
    let has = |patterns: &[Pattern], of: fn(&Pattern) -> bool| patterns.iter().any(of);
    let is_native = has(&made.patterns, |p| matches!(p, Pattern::TimeSeries { .. }));
    let is_bucket = has(&made.patterns, |p| matches!(p, Pattern::Bucket(_)));
    if let Some(cold) = entity.lifecycle.and_then(|life| {
        // Documents that are deleted before they grow cold need no archive.
        life.cold_days.filter(|cold| life.kept_days.is_none_or(|kept| kept > *cold))
    }) {
        if is_native {
            made.remarks.push(
                "the server compresses readings of a time series, and deleting single ones \
                 (possible since 7.0) decompresses them: there is no archive for cold \
                 readings"
                    .to_owned(),
            );
        } else if is_bucket || dates::dated(entity).is_some() {
            made.patterns.push(Pattern::Archive { days: cold.max(1.0) as u64 });
            let guessed = dates::dated(entity).filter(|_| dates::coming(entity).is_none());
            if let Some(date) = guessed.filter(|_| !is_bucket) {
                made.remarks.push(format!(
                    "no date field such as `createTime` shows its age, so the archive uses \
                     `{date}`, the first date field: if another field is right, declare it first"
                ));
            }
        }
    }
    if entity.keeps_versions {
        if is_native || is_bucket {
            made.remarks.push(
                "one document has many readings but one version, so there are no old versions: \
                 correct a wrong reading with a new one"
                    .to_owned(),
            );
        } else {
            made.patterns.push(Pattern::DocumentVersioning);
        }
    }
    if let Some(current) = entity.shape_version {
        if entity.series.is_some() {
            made.remarks
                .push("the time of a reading determines its shape, not a version".to_owned());
        } else {
            made.patterns.push(Pattern::SchemaVersioning { current });
        }
    }
    made
}

impl Made {
    /// Decides how to store readings over time. From 5.0 on, this is a native time series unless
    /// the model needs something that it lacks (GC-30). Otherwise it is buckets.
    fn series(&mut self, model: &DesignModel, entity: &Entity, bytes: u64) {
        let Some(series) = &entity.series else { return };
        let sum = |keep: &dyn Fn(&docward_model::DesignWrite) -> bool| -> f64 {
            read_direction::total(model.writes.iter().filter(|w| keep(w)))
        };
        let updates = sum(&|w| w.updates.contains(&entity.name));
        let inserts = sum(&|w| w.inserts.contains(&entity.name));
        // ALG-8 requires that the series is nearly insert-only.
        let changes = updates > 0.01 * (updates + inserts);
        let native = model.deployment.server >= (5, 0);
        // The declaration answers the question (GC-30).
        if let Some(field) = entity.fields.iter().find(|field| field.unique) {
            self.remarks.push(format!(
                "`{}` is unique, which neither a time series nor a list in a bucket can enforce: \
                 readings are separate documents (GC-30)",
                field.name
            ));
            return;
        }
        let corrected = model.writes.iter().find(|w| w.updates.contains(&entity.name));
        let needs_plain = match (corrected, entity.needs_plain) {
            (Some(_), None) => Some(true),
            (Some(write), Some(false)) if native && !changes => {
                self.remarks.push(format!(
                    "`{}` changes readings: a time series allows only updates of its meta field, \
                     so insert a corrected reading (GC-30)",
                    write.name
                ));
                Some(false)
            }
            (_, said) => said,
        };
        if native && !changes {
            match needs_plain {
                Some(false) => {
                    let granularity = match series.per_second {
                        rate if rate > 1.0 / 60.0 => "seconds",
                        rate if rate > 1.0 / 3600.0 => "minutes",
                        _ => "hours",
                    };
                    self.patterns.push(Pattern::TimeSeries {
                        time: series.time.clone(),
                        meta: series.id.clone(),
                        granularity,
                    });
                    return;
                }
                Some(true) => self.remarks.push(
                    "the model needs validators, change streams, unique indexes or arbitrary \
                     updates, which a time series does not support (GC-30)"
                        .to_owned(),
                ),
                None => {
                    self.questions.push(Question {
                        about: entity.name.clone(),
                        ask: format!(
                            "does `{}` need change streams, validators, unique indexes, or \
                             updates of single readings? A time series supports none of them \
                             (GC-30)",
                            entity.name
                        ),
                        write: format!(
                            "add `needs-change-streams-or-updates: false` (or `true`) to entity `{}`",
                            entity.name
                        ),
                    });
                    return;
                }
            }
        } else if !native {
            let (major, minor) = model.deployment.server;
            self.remarks
                .push(format!("time series need MongoDB 5.0, and the server is {major}.{minor}"));
        }
        if native && changes {
            self.remarks.push(
                "readings are updated, which a time series supports only in part \
                 (ALG-8)"
                    .to_owned(),
            );
        }
        let bucket = bucket(series, bytes);
        if bucket.most < 2 {
            self.remarks.push(
                "a bucket would have one reading, so readings are separate documents (PT-bucket.1)"
                    .to_owned(),
            );
            return;
        }
        if let Some(write) = model.writes.iter().find(|w| w.deletes.contains(&entity.name)) {
            self.remarks.push(format!(
                "`{}` deletes single readings, but no function can: a full bucket would become a \
                 second open bucket (GC-37). Mark the reading as invalid instead, or let the \
                 whole bucket expire (`kept`)",
                write.name
            ));
        }
        self.patterns.push(Pattern::Bucket(bucket));
    }
}

/// Seconds per day.
pub(crate) const DAY: f64 = 86_400.0;

pub(crate) const HOUR: f64 = 3600.0;

/// The maximum size of a bucket in bytes (DM-05.1), and its maximum number of elements (DM-08.1).
pub(crate) const BUCKET_BYTES: u64 = 102_400;

pub(crate) const BUCKET_MOST: u64 = 1000;

/// The bytes of a bucket without its readings: ids, times, count, statistics.
pub(crate) const BUCKET_HEAD: u64 = 300;

/// Returns the largest of the usual buckets that stays below 1,000 readings and 100 KB
/// (PT-bucket.2, GC-50).
pub(crate) fn bucket(series: &docward_model::Series, bytes: u64) -> Bucket {
    let full = |most: u64| size::array(most, bytes).saturating_add(BUCKET_HEAD);
    let fits = |most: u64| most < BUCKET_MOST && full(most) <= BUCKET_BYTES;
    let in_window = |seconds: f64| (series.per_second * seconds).ceil().max(1.0) as u64;
    let yearly = series.per_second * 365.0 * DAY;
    let (window, most) = if fits(in_window(DAY)) {
        (Window::Day, in_window(DAY))
    } else if fits(in_window(HOUR)) {
        (Window::Hour, in_window(HOUR))
    } else {
        let most = size::fitting(BUCKET_BYTES - BUCKET_HEAD, bytes).clamp(1, 100);
        (Window::Events(most), most)
    };
    let documents = match window {
        Window::Day => 365.0_f64.min(yearly),
        Window::Hour => (365.0 * 24.0_f64).min(yearly),
        Window::Events(most) => (yearly / most as f64).ceil(),
    };
    Bucket {
        time: series.time.clone(),
        series: series.id.clone(),
        window,
        most,
        bytes: full(most),
        per_year: (documents.round() as u64, yearly.round() as u64),
    }
}
