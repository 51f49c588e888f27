//! Readings over time: buckets (PT-bucket.4) and native time series (PT-ts.1).

use bson::{Bson, Document, doc};
use docward_model::Entity;
use docward_model::shell::quote;

use crate::decide::pattern::{Bucket, Window};
use crate::declared::dates::{DAY, HOUR};
use crate::declared::field_plan::{Planned, has_statistics, is_number};
use crate::emit::example::day;
use crate::emit::js::{self, given, member_of};
use crate::emit::statement::{Job, Method, Script, Statement, Step};
use crate::layout::collection::{CollectionPlan, Purpose};

use super::bucket_corrections::{Packed, length, series_fields};
use super::plans::{Plans, factory, picked};

impl<'m> Plans<'m> {
    /// Returns the script for buckets that the application writes.
    pub(super) fn bucket(&self, entity: &'m Entity, bucket: &Bucket) -> Option<Script> {
        let home = self.home(&entity.name)?;
        let reading = js::parameter(&self.layout.naming.singular(&entity.name));
        let period = self.layout.naming.field(&["bucket", "start"]);
        let end = self.layout.naming.field(&["bucket", "end"]);
        let series = series_fields(home);
        let inside = home.fields.iter().find(|field| field.name == "readings")?;
        let shown: Vec<&str> = inside.fields.iter().map(|field| field.name.as_str()).collect();
        let time = member_of(&reading, &bucket.time);
        let mut filter = Document::new();
        for field in &series {
            filter.insert(&field.name, given(member_of(&reading, &field.name)));
        }
        let by_count = matches!(bucket.window, Window::Events(_));
        let mut steps = Vec::new();
        if let Some(millis) = length(bucket) {
            steps.push(Step::Note(format!(
                "A bucket covers the times from its start (inclusive) to {} later (exclusive).",
                if millis == DAY { "a day" } else { "an hour" }
            )));
            steps.push(Step::Code(format!(
                "const start = new Date(Math.floor({time} / {millis}) * {millis});"
            )));
            filter.insert(&period, given("start"));
        }
        filter.insert("count", doc! { "$lt": bucket.most as i32 });
        let mut increments = doc! { "count": 1 };
        let (mut least, mut greatest) = (Document::new(), Document::new());
        for field in inside.fields.iter().filter(|field| has_statistics(field)) {
            let value = given(member_of(&reading, &field.name));
            let stat =
                |word: &str| format!("stats.{}", self.layout.naming.field(&[&field.name, word]));
            increments.insert(stat("sum"), value.clone());
            least.insert(stat("min"), value.clone());
            greatest.insert(stat("max"), value);
        }
        let (always, sometimes): (Vec<&Planned>, Vec<&Planned>) =
            inside.fields.iter().filter(|f| is_number(f.kind)).partition(|f| has_statistics(f));
        let names: Vec<&str> = always.iter().map(|field| field.name.as_str()).collect();
        let kept = match (names.is_empty(), sometimes.is_empty()) {
            (false, _) => format!(
                " The same write updates minimum, maximum and sum of {}; the mean is sum divided \
                 by count.",
                docward_model::text::list(&names, 3)
            ),
            (true, false) => " The bucket has no sums, because readings may lack their numbers or \
             have null, so sum divided by count would not be the mean."
                .to_owned(),
            (true, true) => String::new(),
        };
        let mut update = doc! { "$push": { "readings": given(picked(&reading, &shown)) } };
        update.insert("$inc", increments);
        if by_count {
            least.insert(&period, given(&time));
            greatest.insert(&end, given(&time));
        }
        if !least.is_empty() {
            update.insert("$min", least);
            update.insert("$max", greatest);
        }
        let append = Statement::update(&home.name, filter, update).with(doc! { "upsert": true });
        steps.push(Step::Note(
            "A full bucket no longer matches, so the upsert creates another. If two writers \
             create one at the same time, the unique index refuses one of them, which retries and \
             appends."
                .to_owned(),
        ));
        steps.push(Step::Retry(vec![
            Step::Let("done", append),
            Step::Code("return done;".to_owned()),
        ]));
        let add = js::function(&["append", &entity.name]);
        let read = js::function(&["list", &entity.name, "between"]);
        let mut clauses = vec!["PT-bucket.4", "SN-08", "GC-37"];
        if !by_count {
            clauses.extend(["GC-50", "GC-34"]);
        }
        let packed = Packed { entity, home, bucket, inside, period: &period, end: &end };
        let mut jobs = vec![
            Job {
                name: add.clone(),
                parameters: vec![reading.clone()],
                does: format!(
                    "Appends a reading to the open bucket of its series, at most {} per \
                     bucket.{kept}",
                    bucket.most
                ),
                clauses,
                steps,
            },
            self.between(entity, home, bucket, &series, (&read, &period, &end)),
        ];
        let change = self.corrected(&packed);
        jobs.extend(change.clone());
        let mut sample = self.maker(true).object(&inside.fields, Some(entity), &entity.name, 0);
        let of_series = self.maker(true).document(home);
        for field in &series {
            if let Some(value) = of_series.get(&field.name) {
                sample.insert(&field.name, value.clone());
            }
        }
        let day = day(self.layout.model);
        let span = length(bucket).unwrap_or(HOUR);
        let step = (span / (bucket.most as i64 + 1)).max(1);
        sample.insert(&bucket.time, given(format!("new Date({day} + i * {step})")));
        let (most, collection) = (bucket.most, quote(&home.name));
        let key: Document = series
            .iter()
            .map(|field| (field.name.clone(), given(member_of("first", &field.name))))
            .collect();
        let mut check = vec![
            format!("const one = {};", factory(&sample)),
            "const first = one(0);".to_owned(),
            format!("const mine = {};", js::object(&key, 0)),
            format!("for (let i = 0; i <= {most}; i++) {add}(at, one(i));"),
            format!(
                "const counts = () => at.getCollection({collection}).find(mine).toArray().map((bucket) => bucket.count);"
            ),
            format!(
                "expect(\"{} appends give buckets of {most} and 1 (SN-08)\", counts().sort((a, b) => b - a), [{most}, 1]);",
                most + 1
            ),
            format!(
                "expect(\"no reading is lost\", {read}(at, mine, new Date({day}), new Date({day} + {span})).length, {});",
                most + 1
            ),
            format!(
                "await together(Array.from({{ length: 8 }}, async (_, writer) => {{\n  for (let i = 0; i < 10; i++) {add}(at, {{ ...one(0), {}: new Date({day} + {} + writer * 10 + i) }});\n}}));",
                docward_model::shell::key(&bucket.time),
                10 * span
            ),
            format!(
                "expect(\"8 writers lose nothing\", {read}(at, mine, new Date({day} + {}), new Date({day} + {})).length, 80);",
                10 * span,
                11 * span
            ),
        ];
        if !by_count {
            check.push(format!(
                "{add}(at, {{ ...one(0), {key}: new Date({day} + {} - 1) }});\n{add}(at, {{ ...one(0), {key}: new Date({day} + {}) }});",
                21 * span, 21 * span,
                key = docward_model::shell::key(&bucket.time)
            ));
            let filter = |start: i64| {
                let mut filter = doc! { "...": given("mine") };
                filter.insert(&period, given(format!("new Date({day} + {start})")));
                js::object(&filter, 0)
            };
            for (start, what) in [
                (20 * span, "the last millisecond belongs to the bucket (GC-50)"),
                (21 * span, "the next one begins the next bucket (GC-50)"),
            ] {
                check.push(format!(
                    "expect({}, at.getCollection({collection}).findOne({}).count, 1);",
                    quote(what),
                    filter(start)
                ));
            }
        }
        if by_count {
            check.push(format!(
                "{add}(at, {{ ...one(0), {}: new Date({day} - 1) }});",
                docward_model::shell::key(&bucket.time)
            ));
            check.push(format!(
                "expect(\"late readings are found\", {read}(at, mine, new Date({day} - 1), new \
                 Date({day})).length, 1);"
            ));
        }
        if let Some(nullable) = inside.fields.iter().find(|field| field.nullable) {
            let when = format!("new Date({day} + {})", 30 * span);
            let mut empty = doc! { "...": given("one(0)") };
            empty.insert(&bucket.time, given(&when));
            empty.insert(&nullable.name, Bson::Null);
            check.push(format!("{add}(at, {});", js::object(&empty, 0)));
            check.push(format!(
                "expect(\"a reading may have null\", {read}(at, mine, {when}, new Date({day} + {})).map((one) => {}), [null]);",
                31 * span,
                member_of("one", &nullable.name)
            ));
        }
        check.extend(change.and_then(|change| self.corrected_check(&packed, &change)));
        for field in always.into_iter().take(1) {
            let stat = |word: &str| {
                member_of("bucket.stats", &self.layout.naming.field(&[&field.name, word]))
            };
            let value = member_of("one", &field.name);
            check.push(format!(
                "for (const bucket of at.getCollection({collection}).find(mine).toArray()) {{\n  const values = bucket.readings.map((one) => Number({value}));\n  expect(\"the statistics are those of the readings (ST-23)\", [Number({}), Number({}), near(Number({}), values.reduce((a, b) => a + b, 0))], [Math.min(...values), Math.max(...values), true]);\n}}",
                stat("min"), stat("max"), stat("sum")
            ));
        }
        Some(Script {
            about: entity.name.clone(),
            pattern: "bucket",
            intro: format!(
                "`{}` in buckets of up to {most}: {} documents of one series in a year instead of {}.",
                entity.name, bucket.per_year.0, bucket.per_year.1
            ),
            jobs,
            check,
        })
    }

    fn between(
        &self,
        entity: &Entity,
        home: &CollectionPlan,
        bucket: &Bucket,
        series: &[&Planned],
        (name, period, end): (&str, &str, &str),
    ) -> Job {
        let time = format!("readings.{}", bucket.time);
        let mut found = Document::new();
        for field in series {
            found.insert(&field.name, given(member_of("series", &field.name)));
        }
        match length(bucket) {
            Some(millis) => {
                let from = format!("new Date(Math.floor(from / {millis}) * {millis})");
                found.insert(period, doc! { "$gte": given(from), "$lt": given("to") });
            }
            None => {
                found.insert(end, doc! { "$gte": given("from") });
                found.insert(period, doc! { "$lt": given("to") });
            }
        }
        let stages = vec![
            Bson::from(doc! { "$match": found }),
            doc! { "$unwind": "$readings" }.into(),
            doc! { "$match": { &time: { "$gte": given("from"), "$lt": given("to") } } }.into(),
            doc! { "$sort": { &time: 1 } }.into(),
            doc! { "$replaceRoot": { "newRoot": "$readings" } }.into(),
        ];
        Job {
            name: name.to_owned(),
            parameters: vec!["series".to_owned(), "from".to_owned(), "to".to_owned()],
            does: format!(
                "Returns the readings of one series of `{}` from `from` (inclusive) to `to` (exclusive).",
                entity.name
            ),
            clauses: vec!["PT-bucket.1", "GC-50"],
            steps: vec![Step::Return(Statement::new(
                &home.name,
                Method::Aggregate,
                [stages.into()],
            ))],
        }
    }

    /// Returns the script for a native time series.
    pub(super) fn time_series(&self, entity: &'m Entity) -> Option<Script> {
        let home = self.home(&entity.name)?;
        let Purpose::TimeSeries { time, meta, .. } = &home.purpose else { return None };
        let readings = js::parameter("readings");
        let add = js::function(&["insert", &entity.name, "readings"]);
        let read = js::function(&["list", &entity.name, "between"]);
        let insert = Statement::new(
            &home.name,
            Method::InsertMany,
            [given(&readings), doc! { "ordered": false }.into()],
        );
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
        let jobs = vec![
            Job {
                name: add.clone(),
                parameters: vec![readings],
                does: "Inserts many readings in one call; the server groups them.".to_owned(),
                clauses: vec!["PT-ts.1", "DM-08.5"],
                steps: vec![Step::Return(insert)],
            },
            Job {
                name: read.clone(),
                parameters: vec!["series".to_owned(), "from".to_owned(), "to".to_owned()],
                does: format!(
                    "Returns the readings of one `{meta}` from `from` (inclusive) to `to` (exclusive)."
                ),
                clauses: vec!["PT-ts.1"],
                steps: vec![Step::Return(find)],
            },
        ];
        let day = day(self.layout.model);
        let mut sample = self.maker(true).document(home);
        sample.remove("_id");
        sample.insert(time, given(format!("new Date({day} + i * 60000)")));
        let check = vec![
            format!("const one = {};", factory(&sample)),
            format!("{add}(at, Array.from({{ length: 61 }}, (_, i) => one(i)));"),
            format!(
                "expect(\"it is a time series (SN-07)\", at.getCollectionInfos({{ name: {} }})[0].type, \"timeseries\");",
                quote(&home.name)
            ),
            format!(
                "expect(\"the end is not included\", {read}(at, {}, new Date({day}), new Date({day} + {HOUR})).length, 60);",
                member_of("one(0)", meta)
            ),
        ];
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
