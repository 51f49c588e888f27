//! Corrects readings in buckets. The statistics of the bucket change in the same write
//! (PT-bucket.4, ST-23). Readings are never removed: a full bucket would become open again, beside
//! the one that is already open (GC-37).

use bson::{Bson, Document, doc};
use docward_model::Entity;
use docward_model::shell::quote;

use crate::decide::pattern::{Bucket, Window};
use crate::declared::dates::{DAY, HOUR};
use crate::declared::field_plan::{Origin, Planned, has_statistics};
use crate::emit::example::day;
use crate::emit::js::{self, given, member_of};
use crate::emit::statement::{Job, Method, Statement, Step};
use crate::layout::collection::CollectionPlan;

use super::plans::{Plans, varies, vary};

/// The parts of the design that the functions use.
pub(super) struct Packed<'p, 'm> {
    pub(super) entity: &'m Entity,
    pub(super) home: &'m CollectionPlan,
    pub(super) bucket: &'p Bucket,
    /// The field with the readings.
    pub(super) inside: &'m Planned,
    /// The fields with the first and the last time.
    pub(super) period: &'p str,
    pub(super) end: &'p str,
}

impl Packed<'_, '_> {
    /// Returns the path to the time of a reading.
    fn time(&self) -> String {
        format!("readings.{}", self.bucket.time)
    }

    /// Returns a filter for the bucket with the reading at a given time.
    fn filter(&self) -> Document {
        let mut filter = Document::new();
        for field in series_fields(self.home) {
            filter.insert(&field.name, given(member_of("series", &field.name)));
        }
        match length(self.bucket) {
            Some(millis) => {
                let start = format!("new Date(Math.floor(time / {millis}) * {millis})");
                filter.insert(self.period, given(start));
            }
            None => {
                filter.insert(self.period, doc! { "$lte": given("time") });
                filter.insert(self.end, doc! { "$gte": given("time") });
            }
        }
        filter.insert(self.time(), given("time"));
        filter
    }

    fn is_it(&self) -> Document {
        doc! { "$eq": [format!("$$this.{}", self.bucket.time), { "$literal": given("time") }] }
    }
}

impl<'m> Plans<'m> {
    /// Returns the function for readings, if declared writes change any.
    pub(super) fn corrected(&self, packed: &Packed<'_, 'm>) -> Option<Job> {
        let mut writes = self.layout.model.writes.iter();
        let is_changed = writes.any(|write| write.updates.contains(&packed.entity.name));
        is_changed.then(|| self.change_reading(packed))
    }

    /// Returns pipeline stages that replace the readings and recompute their statistics.
    fn worked_out(&self, packed: &Packed<'_, 'm>, list: Document) -> Bson {
        let mut kept = Document::new();
        for field in packed.inside.fields.iter().filter(|field| has_statistics(field)) {
            let values = format!("$readings.{}", field.name);
            for (word, operator) in [("sum", "$sum"), ("min", "$min"), ("max", "$max")] {
                let stat = format!("stats.{}", self.layout.naming.field(&[&field.name, word]));
                kept.insert(stat, doc! { operator: &values });
            }
        }
        let mut stages = vec![Bson::from(doc! { "$set": { "readings": list } })];
        if !kept.is_empty() {
            stages.push(doc! { "$set": kept }.into());
        }
        stages.into()
    }

    fn change_reading(&self, packed: &Packed<'_, 'm>) -> Job {
        let merged = doc! { "$mergeObjects": ["$$this", { "$literal": given("changes") }] };
        let each = doc! { "$cond": [packed.is_it(), merged, "$$this"] };
        let list = doc! { "$map": { "input": "$readings", "in": each } };
        let update = self.worked_out(packed, list);
        let why = format!(
            "{} identifies a reading: a reading with another time is a different one, which is \
             appended",
            packed.bucket.time
        );
        Job {
            name: js::function(&["change", &packed.entity.name]),
            parameters: ["series", "time", "changes"].map(str::to_owned).to_vec(),
            does: "Changes the reading of a series at a time, and the statistics of its bucket; \
             returns false if there is none. If several readings have this time, it changes all \
             of them."
                .to_owned(),
            clauses: vec!["PT-bucket.4", "ST-23"],
            steps: vec![
                Step::Code(
                    "if (Object.keys(changes).length === 0) throw new Error(\"nothing to change\");"
                        .to_owned(),
                ),
                Step::Code(format!(
                    "if ({} !== undefined) throw new Error({});",
                    member_of("changes", &packed.bucket.time),
                    quote(&why)
                )),
                Step::Let(
                    "done",
                    Statement::new(
                        &packed.home.name,
                        Method::UpdateMany,
                        [packed.filter().into(), update],
                    ),
                ),
                Step::Code("return done.matchedCount > 0;".to_owned()),
            ],
        }
    }

    /// Returns lines of a check that changes the first reading.
    pub(super) fn corrected_check(&self, packed: &Packed<'_, 'm>, change: &Job) -> Option<String> {
        let field = packed.inside.fields.iter().find(|field| {
            field.name != packed.bucket.time && varies(field) && field.values.is_empty()
        })?;
        let value = vary(field, false, day(self.layout.model));
        let changes = js::object(&doc! { &field.name: given(value) }, 0);
        let (change, time) = (&change.name, member_of("first", &packed.bucket.time));
        Some(format!(
            "{{\n  const i = 3;\n  expect(\"a reading is changed\", {change}(at, mine, {time}, {changes}), true);\n  expect(\"and one that is not there is not\", {change}(at, mine, new Date(0), {changes}), false);\n}}"
        ))
    }
}

/// Returns the fields of the series, which precede the period.
pub(super) fn series_fields(home: &CollectionPlan) -> Vec<&Planned> {
    home.fields
        .iter()
        .take_while(|field| field.origin != Origin::Pattern("bucket"))
        .filter(|field| field.origin != Origin::Id)
        .collect()
}

/// Returns the length of a bucket's period in milliseconds. Returns `None` if the bucket ends by
/// its number of readings.
pub(super) fn length(bucket: &Bucket) -> Option<i64> {
    match bucket.window {
        Window::Day => Some(DAY),
        Window::Hour => Some(HOUR),
        Window::Events(_) => None,
    }
}
