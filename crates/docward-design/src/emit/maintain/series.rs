//! Readings over time: buckets (PT-bucket.4) and native time series (PT-ts.1).

use bson::{Bson, Document, doc};
use docward_model::{Entity, text};

use crate::decide::pattern::{Bucket, Window};
use crate::declared::dates::{DAY, HOUR};
use crate::declared::field_plan::{Origin, Planned, has_statistics, is_number};
use crate::emit::example::day;
use crate::emit::expectations::{Check, stored};
use crate::emit::js::{self, SPREAD, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};

use super::plans::{Plans, factory, picked, varies, vary};

/// The parts of the design that the functions of a bucket use.
struct Packed<'p, 'm> {
    entity: &'m Entity,
    home: &'m CollectionPlan,
    bucket: &'p Bucket,
    /// The field with the readings.
    inside: &'m Planned,
    /// The fields of the series.
    series: Vec<&'m Planned>,
    /// The fields with the first and the last time.
    period: String,
    end: String,
}

impl<'m> Packed<'_, 'm> {
    /// Returns a filter for the series that an expression contains.
    fn of_series(&self, from: &str) -> Document {
        let fields = self.series.iter();
        fields.map(|field| (field.name.clone(), given(member_of(from, &field.name)))).collect()
    }

    /// Returns an expression for the beginning of the period with a time.
    fn start(&self, time: &str) -> Option<String> {
        let millis = length(self.bucket)?;
        Some(format!("new Date(Math.floor({time} / {millis}) * {millis})"))
    }

    /// Returns the path to the time of a reading.
    fn time(&self) -> String {
        format!("readings.{}", self.bucket.time)
    }

    /// Returns the numbers of readings for which a bucket has statistics, and the others.
    fn numbers(&self) -> (Vec<&'m Planned>, Vec<&'m Planned>) {
        let numbers = self.inside.fields.iter().filter(|field| is_number(field.kind));
        numbers.partition(|field| has_statistics(field))
    }

    fn between(&self, name: &str) -> Job {
        let time = self.time();
        let mut found = self.of_series("series");
        match self.start("from") {
            Some(start) => {
                found.insert(&self.period, doc! { "$gte": given(start), "$lt": given("to") });
            }
            None => {
                found.insert(&self.end, doc! { "$gte": given("from") });
                found.insert(&self.period, doc! { "$lt": given("to") });
            }
        }
        let stages = vec![
            Bson::from(doc! { "$match": found }),
            doc! { "$unwind": "$readings" }.into(),
            doc! { "$match": { &time: { "$gte": given("from"), "$lt": given("to") } } }.into(),
            doc! { "$sort": { &time: 1 } }.into(),
            doc! { "$replaceRoot": { "newRoot": "$readings" } }.into(),
        ];
        let read = Statement::new(&self.home.name, Method::Aggregate, [stages.into()]);
        let does = format!(
            "Returns the readings of `{}` of one series from `from` up to, but not including, `to`.",
            self.entity.name
        );
        Job::new(name, &["series", "from", "to"], does, [Step::Return(read)])
            .by(&["PT-bucket.1", "GC-50"])
    }
}

impl<'m> Plans<'m> {
    fn stat(&self, field: &Planned, word: &str) -> String {
        self.layout.naming.field(&[&field.name, word])
    }

    /// Returns the script for buckets that the application writes.
    pub(super) fn bucket(&self, entity: &'m Entity, bucket: &Bucket) -> Option<Script> {
        let home = self.home(&entity.name)?;
        let packed = Packed {
            entity,
            home,
            bucket,
            inside: home.fields.iter().find(|field| field.name == "readings")?,
            series: series_fields(home),
            period: self.layout.naming.field(&["bucket", "start"]),
            end: self.layout.naming.field(&["bucket", "end"]),
        };
        let add = js::function(&["append", &entity.name]);
        let read = js::function(&["list", &entity.name, "between"]);
        let mut jobs = vec![self.appending(&packed, &add), packed.between(&read)];
        let mut check = self.bucket_check(&packed, &add, &read);
        // Readings are never removed: a full bucket would become open again, in addition to the one
        // that is already open (GC-37).
        let mut writes = self.layout.model.writes.iter();
        if writes.any(|write| write.updates.contains(&entity.name)) {
            let change = js::function(&["change", &entity.name]);
            jobs.push(self.changing(&packed, &change));
            let is_fit = |field: &&Planned| {
                field.name != bucket.time && varies(field) && field.values.is_empty()
            };
            if let Some(field) = packed.inside.fields.iter().find(is_fit) {
                let value = vary(field, false, day(self.layout.model));
                let changes = js::object(&doc! { &field.name: given(value) }, 0);
                check.set("changes", format!("((i) => ({changes}))(3)"));
                let call = |time: &str| format!("{change}(at, mine, {time}, changes)");
                check.expect("a reading is changed", call(&member_of("first", &bucket.time)), true);
                check.expect("and one that is not there is not", call("new Date(0)"), false);
            }
        }
        if let Some(field) = packed.numbers().0.first() {
            let stat =
                |word| format!("Number({})", member_of("bucket.stats", &self.stat(field, word)));
            let mut each = Check::default();
            each.set(
                "values",
                format!("bucket.readings.map((one) => Number({}))", member_of("one", &field.name)),
            );
            let sum = format!("near({}, values.reduce((a, b) => a + b, 0))", stat("sum"));
            each.expect(
                "the statistics are those of the readings (ST-23)",
                format!("[{}, {}, {sum}]", stat("min"), stat("max")),
                "[Math.min(...values), Math.max(...values), true]",
            );
            let all = format!("{}.find(mine).toArray()", stored(&home.name));
            check.block(&format!("for (const bucket of {all}) {{"), each);
        }
        Some(Script {
            about: entity.name.clone(),
            pattern: "bucket",
            intro: format!(
                "`{}` in buckets of up to {}: {} documents of one series in a year instead of {}.",
                entity.name, bucket.most, bucket.per_year.0, bucket.per_year.1
            ),
            jobs,
            check,
        })
    }

    fn appending(&self, packed: &Packed<'_, 'm>, name: &str) -> Job {
        let Packed { entity, home, bucket, inside, period, end, .. } = packed;
        let reading = js::parameter(&self.layout.naming.singular(&entity.name));
        let time = member_of(&reading, &bucket.time);
        let mut filter = packed.of_series(&reading);
        let mut steps = Vec::new();
        let mut increments = doc! { "count": 1 };
        let (mut least, mut greatest) = (Document::new(), Document::new());
        let (always, sometimes) = packed.numbers();
        for field in &always {
            let value = given(member_of(&reading, &field.name));
            let stat = |word| format!("stats.{}", self.stat(field, word));
            increments.insert(stat("sum"), value.clone());
            least.insert(stat("min"), value.clone());
            greatest.insert(stat("max"), value);
        }
        let mut clauses = vec!["PT-bucket.4", "SN-08", "GC-37"];
        match packed.start(&time) {
            Some(start) => {
                let long = if bucket.window == Window::Day { "a day" } else { "an hour" };
                steps.push(Step::note(format!(
                    "A bucket covers {long}: from its start up to, but not including, the next start."
                )));
                steps.push(Step::code(format!("const start = {start};")));
                filter.insert(period, given("start"));
                clauses.extend(["GC-50", "GC-34"]);
            }
            None => {
                least.insert(period, given(&time));
                greatest.insert(end, given(&time));
            }
        }
        filter.insert("count", doc! { "$lt": bucket.most as i32 });
        let names: Vec<&str> = always.iter().map(|field| field.name.as_str()).collect();
        let kept = match (names.is_empty(), sometimes.is_empty()) {
            (false, _) => format!(
                " The same write updates minimum, maximum and sum of {}; the mean is sum divided \
                 by count.",
                text::list(&names, 3)
            ),
            (true, false) => " The bucket has no sums, because readings may lack their numbers or \
             have null, so sum divided by count would not be the mean."
                .to_owned(),
            (true, true) => String::new(),
        };
        let shown: Vec<&str> = inside.fields.iter().map(|field| field.name.as_str()).collect();
        let mut update = doc! { "$push": { "readings": given(picked(&reading, &shown)) } };
        update.insert("$inc", increments);
        if !least.is_empty() {
            update.insert("$min", least);
            update.insert("$max", greatest);
        }
        let append = Statement::update(&home.name, filter, update).with(doc! { "upsert": true });
        steps.push(Step::note(
            "A full bucket no longer matches, so the upsert creates another. If two writers \
             create one at the same time, the unique index refuses one of them, which retries and \
             appends.",
        ));
        steps.push(Step::Retry(vec![Step::Let("done", append), Step::code("return done;")]));
        let does = format!(
            "Appends a reading to the open bucket of its series, at most {} per bucket.{kept}",
            bucket.most
        );
        Job::new(name, &[&reading], does, steps).by(&clauses)
    }

    /// Returns the function that changes a reading. The statistics of the bucket change in the same
    /// write (PT-bucket.4, ST-23).
    fn changing(&self, packed: &Packed<'_, 'm>, name: &str) -> Job {
        let time = &packed.bucket.time;
        let mut filter = packed.of_series("series");
        match packed.start("time") {
            Some(start) => {
                filter.insert(&packed.period, given(start));
            }
            None => {
                filter.insert(&packed.period, doc! { "$lte": given("time") });
                filter.insert(&packed.end, doc! { "$gte": given("time") });
            }
        }
        filter.insert(packed.time(), given("time"));
        let is_it = doc! { "$eq": [format!("$$this.{time}"), { "$literal": given("time") }] };
        let merged = doc! { "$mergeObjects": ["$$this", { "$literal": given("changes") }] };
        let each = doc! { "$cond": [is_it, merged, "$$this"] };
        let list = doc! { "$map": { "input": "$readings", "in": each } };
        let mut stages = vec![Bson::from(doc! { "$set": { "readings": list } })];
        let mut kept = Document::new();
        for field in packed.numbers().0 {
            let values = format!("$readings.{}", field.name);
            for (word, operator) in [("sum", "$sum"), ("min", "$min"), ("max", "$max")] {
                kept.insert(
                    format!("stats.{}", self.stat(field, word)),
                    doc! { operator: &values },
                );
            }
        }
        if !kept.is_empty() {
            stages.push(doc! { "$set": kept }.into());
        }
        let arguments = [filter.into(), stages.into()];
        let write = Statement::new(&packed.home.name, Method::UpdateMany, arguments);
        let steps = [
            Step::fail_if("Object.keys(changes).length === 0", "nothing to change"),
            Step::fail_if(
                format!("{} !== undefined", member_of("changes", time)),
                format!(
                    "{time} identifies a reading: a reading with another time is a different one, \
                     which is appended"
                ),
            ),
            Step::Let("done", write),
            Step::code("return done.matchedCount > 0;"),
        ];
        let does = "Changes the reading of a series at a time, and the statistics of its bucket; \
                    returns false if there is none. If several readings have this time, it \
                    changes all of them.";
        Job::new(name, &["series", "time", "changes"], does, steps).by(&["PT-bucket.4", "ST-23"])
    }

    fn bucket_check(&self, packed: &Packed<'_, 'm>, add: &str, read: &str) -> Check {
        let Packed { entity, home, bucket, inside, period, .. } = packed;
        let mut sample = self.maker(true).object(&inside.fields, Some(entity), &entity.name, 0);
        let of_series = self.maker(true).document(home);
        for field in &packed.series {
            if let Some(value) = of_series.get(&field.name) {
                sample.insert(&field.name, value.clone());
            }
        }
        let day = day(self.layout.model);
        let span = length(bucket).unwrap_or(HOUR);
        let step = (span / (bucket.most as i64 + 1)).max(1);
        sample.insert(&bucket.time, given(format!("new Date({day} + i * {step})")));
        let (most, buckets) = (bucket.most, stored(&home.name));
        let time = docward_model::shell::key(&bucket.time);
        // Later parts of the check use later times, so that they have separate buckets.
        let after = |spans: i64| format!("new Date({day} + {})", spans * span);
        let until = |from: &str, to: &str| format!("{read}(at, mine, {from}, {to}).length");
        let mut check = Check::default();
        check.set("one", factory(&sample));
        check.set("first", "one(0)");
        check.set("mine", js::object(&packed.of_series("first"), 0));
        check.run(format!("for (let i = 0; i <= {most}; i++) {add}(at, one(i));"));
        check.expect(
            &format!("{} appends give buckets of {most} and 1 (SN-08)", most + 1),
            format!(
                "{buckets}.find(mine).toArray().map((bucket) => bucket.count).sort((a, b) => b - a)"
            ),
            format!("[{most}, 1]"),
        );
        check.expect("no reading is lost", until(&after(0), &after(1)), most + 1);
        check.run(format!(
            "await together(Array.from({{ length: 8 }}, async (_, writer) => {{\n  for (let i = 0; i < 10; i++) {add}(at, {{ ...one(0), {time}: new Date({day} + {} + writer * 10 + i) }});\n}}));",
            10 * span
        ));
        check.expect("8 writers lose nothing", until(&after(10), &after(11)), 80);
        if length(bucket).is_some() {
            for (moment, start, what) in [
                (21 * span - 1, 20, "the last millisecond belongs to the bucket (GC-50)"),
                (21 * span, 21, "the next one begins the next bucket (GC-50)"),
            ] {
                check.run(format!(
                    "{add}(at, {{ ...one(0), {time}: new Date({day} + {moment}) }});"
                ));
                let filter = doc! { SPREAD: given("mine"), period: given(after(start)) };
                let found = format!("{buckets}.findOne({}).count", js::object(&filter, 0));
                check.expect(what, found, 1);
            }
        } else {
            let late = format!("new Date({day} - 1)");
            check.run(format!("{add}(at, {{ ...one(0), {time}: {late} }});"));
            check.expect("late readings are found", until(&late, &after(0)), 1);
        }
        if let Some(nullable) = inside.fields.iter().find(|field| field.nullable) {
            let mut empty = doc! { SPREAD: given("one(0)") };
            empty.insert(&bucket.time, given(after(30)));
            empty.insert(&nullable.name, Bson::Null);
            check.run(format!("{add}(at, {});", js::object(&empty, 0)));
            check.expect("a reading may have null", until(&after(30), &after(31)), 1);
        }
        check
    }

    /// Returns the script for a native time series.
    pub(super) fn time_series(&self, entity: &'m Entity) -> Option<Script> {
        let home = self.home(&entity.name)?;
        let Purpose::TimeSeries { time, meta, .. } = &home.purpose else { return None };
        let readings = js::parameter("readings");
        let add = js::function(&["insert", &entity.name, "readings"]);
        let read = js::function(&["list", &entity.name, "between"]);
        let arguments = [given(&readings), doc! { "ordered": false }.into()];
        let insert = Statement::new(&home.name, Method::InsertMany, arguments);
        // The server compares whole objects including the order of their fields, so the order must
        // match the stored one.
        let inside = home.fields.iter().find(|field| field.name == *meta);
        let parts = inside.map(|field| field.fields.as_slice()).unwrap_or_default();
        let mut filter = Document::new();
        for part in parts {
            filter.insert(format!("{meta}.{}", part.name), given(member_of("series", &part.name)));
        }
        if parts.is_empty() {
            filter.insert(meta, given("series"));
        }
        filter.insert(time, doc! { "$gte": given("from"), "$lt": given("to") });
        let find = Statement::find(&home.name, filter).then("sort", doc! { time: 1 });
        let does = "Inserts many readings in one call; the server groups them by itself.";
        let reads = format!("Readings of one `{meta}`, from a time up to, not including, another.");
        let jobs = vec![
            Job::new(&add, &[&readings], does, [Step::Return(insert)]).by(&["PT-ts.1", "DM-08.5"]),
            Job::new(&read, &["series", "from", "to"], reads, [Step::Return(find)])
                .by(&["PT-ts.1"]),
        ];
        let day = day(self.layout.model);
        let mut sample = self.maker(true).document(home);
        sample.remove("_id");
        sample.insert(time, given(format!("new Date({day} + i * 60000)")));
        let mut check = Check::default();
        check.set("one", factory(&sample));
        check.run(format!("{add}(at, Array.from({{ length: 61 }}, (_, i) => one(i)));"));
        let name = docward_model::shell::quote(&home.name);
        let kind = format!("at.getCollectionInfos({{ name: {name} }})[0].type");
        check.expect("it is a time series (SN-07)", kind, "\"timeseries\"");
        let series = member_of("one(0)", meta);
        let found =
            format!("{read}(at, {series}, new Date({day}), new Date({day} + {HOUR})).length");
        check.expect("the end is not included", found, 60);
        Some(Script {
            about: entity.name.clone(),
            pattern: "time-series",
            intro: format!(
                "`{}` in a native time series. It takes no validator, no unique index and no change stream.",
                entity.name
            ),
            jobs,
            check,
        })
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
fn length(bucket: &Bucket) -> Option<i64> {
    match bucket.window {
        Window::Day => Some(DAY),
        Window::Hour => Some(HOUR),
        Window::Events(_) => None,
    }
}
