//! PT-bucket, PT-ts and GC-30: readings over time.

use docward_design::{Pattern, Window};

use crate::common::{Case, of};

/// Returns a model of sensor readings on a server version.
fn readings(server: &str, rate: &str, entity: &str, writes: &str) -> Case {
    of(&text(server, rate, entity, writes))
}

fn text(server: &str, rate: &str, entity: &str, writes: &str) -> String {
    format!(
        "deployment: {{server: \"{server}\"}}
entities:
  reading:
    count: 1M
    lifecycle: {{growth: 1M/year, kept: forever}}
    series: {{time: ts, id: sensor, rate: {rate}}}
{entity}
    fields: {{ts: date, sensor: int, value: double}}
reads:
  chart: {{from: reading, where: {{sensor: equal, ts: range}}, rate: 1/s}}
writes:
{writes}
"
    )
}

const PLAIN: &str = "    needs-change-streams-or-updates: false";
const INSERTS: &str = "  insert: {insert: reading, rate: 99/s}";

fn bucket(rate: &str) -> (Window, u64, (u64, u64)) {
    let case = readings("4.4", rate, "", INSERTS);
    match case.advice("reading").patterns.as_slice() {
        [Pattern::Bucket(bucket)] => {
            assert!(bucket.bytes <= 102_400, "DM-05.1");
            assert!(bucket.most < 1000, "DM-08.1");
            (bucket.window, bucket.most, bucket.per_year)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn pt_bucket_2_gc_50_the_window_follows_the_rate() {
    assert_eq!(bucket("1/min"), (Window::Hour, 60, (8760, 525_600)));
    assert_eq!(bucket("1/h"), (Window::Day, 24, (365, 8760)));
    // 3,600 readings per hour are too many.
    assert_eq!(bucket("1/s"), (Window::Events(100), 100, (315_360, 31_536_000)));
    // 999 readings per day are allowed, 1,000 are not.
    assert_eq!(bucket("999/day").0, Window::Day);
    assert_eq!(bucket("1000/day").0, Window::Hour);
}

#[test]
fn pt_bucket_2_large_readings_make_small_buckets() {
    let case = readings("4.4", "1/min", "", INSERTS);
    let large = text("4.4", "1/min", "", INSERTS)
        .replace("value: double", "blob: {type: binData, bytes: 3 KB}");
    let large = of(&large);
    let most = |case: &Case| match case.advice("reading").patterns.as_slice() {
        [Pattern::Bucket(bucket)] => (bucket.window, bucket.bytes),
        other => panic!("{other:?}"),
    };
    assert_eq!(most(&case).0, Window::Hour);
    let (window, bytes) = most(&large);
    let Window::Events(events) = window else { panic!("{window:?}") };
    assert!((30..34).contains(&events), "{events} of 3 KB in 100 KB");
    assert!(bytes <= 102_400 && bytes > 92_000, "{bytes}");
}

#[test]
fn gc_30_pt_ts_1_from_5_0_on_and_when_nothing_it_lacks_is_needed() {
    let name =
        |case: &Case| case.advice("reading").patterns.iter().map(Pattern::name).collect::<Vec<_>>();
    assert_eq!(name(&readings("5.0", "1/min", PLAIN, INSERTS)), ["time-series"]);
    assert_eq!(name(&readings("4.4", "1/min", PLAIN, INSERTS)), ["bucket"]);
    let needed = "    needs-change-streams-or-updates: true";
    let case = readings("5.0", "1/min", needed, INSERTS);
    assert_eq!(name(&case), ["bucket"]);
    assert!(case.advice("reading").remarks[0].ends_with("(GC-30)"));
    let unanswered = readings("5.0", "1/min", "", INSERTS);
    assert!(name(&unanswered).is_empty());
    let asked = unanswered.asked("reading");
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("does `reading` need change streams"), "{asked:?}");
    // Before 5.0, there is no choice and therefore no question.
    assert!(readings("4.4", "1/min", "", INSERTS).asked("reading").is_empty());
}

#[test]
fn alg_8_one_update_in_a_hundred_writes_is_nearly_insert_only() {
    let name = |update: &str| {
        let writes = format!("{INSERTS}\n  correct: {{update: reading, rate: {update}}}");
        readings("7.0", "1/min", PLAIN, &writes).advice("reading").patterns[0].name()
    };
    assert_eq!(name("1/s"), "time-series");
    assert_eq!(name("1.1/s"), "bucket");
}

#[test]
fn gc_30_what_is_declared_is_believed() {
    let fixed = format!("{INSERTS}\n  fix: {{update: reading, rate: 1/h}}");
    let case = readings("7.0", "1/min", PLAIN, &fixed);
    assert_eq!(case.advice("reading").patterns[0].name(), "time-series");
    assert!(case.advice("reading").remarks[0].contains("`fix` changes readings"));
    // The answer is not declared, but it follows from a write.
    let case = readings("7.0", "1/min", "", &fixed);
    assert_eq!(case.advice("reading").patterns[0].name(), "bucket");
    let unique = "code: {type: string, unique: true}";
    let case = of(&text("7.0", "1/min", PLAIN, INSERTS).replace("value: double", unique));
    assert!(case.advice("reading").patterns.is_empty());
    assert!(case.advice("reading").remarks[0].starts_with("`code` is unique"));
    assert_eq!(case.indexes("reading"), ["{ sensor: 1, ts: 1 }", "{ code: 1 } unique"]);
}

#[test]
fn pt_computed_1_nothing_is_stored_of_readings_beside_them() {
    let case = of("entities:
  sensor: {count: 90, lifecycle: {growth: 0, kept: forever}, fields: {place: string}}
  reading:
    lifecycle: {growth: 1M/year, kept: forever}
    series: {time: ts, id: sensor, rate: 1/min}
    needs-change-streams-or-updates: true
    fields: {ts: date, value: double}
relationships:
  sensor.readings: {child: reading, children: {p50: 9k, p99: 90k, max: 90k}, growth: 9k/year}
reads:
  page: {from: sensor, where: [_id], with: {sensor.readings: {newest: 3}}, count: [sensor.readings], rate: 900/s}
writes:
  measure: {insert: [reading], rate: 1/s}
  place: {insert: [sensor], rate: 1/day}
");
    assert_eq!(case.named("sensor.readings"), ["parent-id-in-child"]);
    assert!(case.decision("sensor.readings").remarks[0].contains("not kept in the parent"));
}

#[test]
fn pt_bucket_4_st_23_a_reading_is_put_right_with_what_is_kept_of_it() {
    let changed = |rate: &str, more: &str| {
        let case = readings("4.4", rate, "", &format!("{INSERTS}\n{more}"));
        let scripts = case.scripts();
        let mut jobs = scripts.iter().flat_map(|script| &script.jobs);
        let change = jobs.find(|job| job.name == "changeReading").map(|job| job.shell());
        (change, case.advice("reading").remarks.join(" "))
    };
    let correct = "  correct: {update: reading, rate: 1/h}";
    assert_eq!(changed("1/min", "").0, None);
    for (rate, found) in [
        ("1/min", "bucketStart: new Date(Math.floor(time / 3600000) * 3600000),"),
        ("1/s", "bucketStart: { $lte: time },"),
    ] {
        let text = changed(rate, correct).0.expect("a function");
        for said in
            [found, "\"readings.ts\": time", "\"stats.valueSum\": { $sum: \"$readings.value\" }"]
        {
            assert!(text.contains(said), "{said} in {text}");
        }
        assert!(text.contains("if (changes.ts !== undefined) throw"), "{text}");
    }
    // A full bucket that loses a reading would become open beside another open one.
    let remarks = changed("1/min", "  drop: {delete: reading, rate: 1/h}").1;
    assert!(remarks.contains("`drop` deletes single readings, but no function can"), "{remarks}");
}

#[test]
fn pt_bucket_1_a_bucket_of_one_reading_is_none() {
    let case = readings("4.4", "1/month", "", INSERTS);
    assert!(case.advice("reading").patterns.is_empty());
    assert!(case.advice("reading").remarks.iter().any(|said| said.contains("one reading")));
}

#[test]
fn pt_bucket_2_buckets_by_number_say_from_when_to_when() {
    let case = readings("4.4", "1/s", "", INSERTS);
    assert_eq!(
        case.indexes("reading"),
        ["{ sensor: 1, bucketEnd: 1 }", "{ sensor: 1 } unique where count is below 100"]
    );
    assert!(case.find("reading", "bucketStart").is_some());
}

#[test]
fn dp_2_a_bucket_goes_when_its_last_reading_may() {
    let gone = |rate: &str| {
        let text = text("4.4", rate, "", INSERTS).replace("kept: forever", "kept: 10 days");
        let case = of(&text);
        let indexes = &case.collection("reading").indexes;
        let index = indexes.iter().find(|index| index.expire_after.is_some()).unwrap();
        (index.keys[0].0.clone(), index.expire_after.unwrap() - 864_000)
    };
    assert_eq!(gone("1/h"), ("bucketStart".to_owned(), 86_400));
    assert_eq!(gone("1/min"), ("bucketStart".to_owned(), 3600));
    assert_eq!(gone("1/s"), ("bucketEnd".to_owned(), 0));
}

#[test]
fn pt_ts_1_granularity_matches_the_interval() {
    let granularity = |rate: &str| {
        let case = readings("7.0", rate, PLAIN, INSERTS);
        match case.advice("reading").patterns.as_slice() {
            [Pattern::TimeSeries { granularity, .. }] => *granularity,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        ["1/s", "2/min", "1/min", "4/h", "1/h", "1/day"].map(granularity),
        ["seconds", "seconds", "minutes", "minutes", "hours", "hours"]
    );
}

#[test]
fn pt_bucket_4_the_open_bucket_is_found_by_series_period_and_count() {
    let case = readings("4.4", "1/min", "", INSERTS);
    assert_eq!(
        case.indexes("reading"),
        [
            "{ sensor: 1, bucketStart: 1 }",
            "{ sensor: 1, bucketStart: -1 } unique where count is below 60"
        ]
    );
    let names: Vec<&str> =
        case.collection("reading").fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["_id", "sensor", "bucketStart", "count", "readings", "stats"]);
}

#[test]
fn gc_30_pt_bucket_2_buckets_have_an_archive_and_time_series_have_none() {
    let cold = "kept: 90 days, cold-after: 30 days";
    let more = format!("    keeps-versions: true\n{PLAIN}");
    let aged =
        |server: &str| of(&text(server, "1/min", &more, INSERTS).replace("kept: forever", cold));
    let old = aged("4.4");
    let names: Vec<&str> = old.advice("reading").patterns.iter().map(Pattern::name).collect();
    assert_eq!(names, ["bucket", "archive"]);
    // The bucket expires an hour later, because only then is its last reading old enough.
    let goes = "{ bucketStart: 1 } for 7779600 s";
    assert_eq!(old.indexes("reading_archive"), [goes]);
    assert!(old.indexes("reading").contains(&goes.to_owned()));
    let native = aged("6.0");
    let names: Vec<&str> = native.advice("reading").patterns.iter().map(Pattern::name).collect();
    assert_eq!(names, ["time-series"]);
    for case in [&old, &native] {
        assert!(case.advice("reading").remarks.iter().any(|s| s.contains("no old versions")));
        assert!(!case.has_collection("reading_versions"));
    }
    assert!(!native.has_collection("reading_archive"));
}

#[test]
fn pt_bucket_4_gc_35_a_reading_may_have_null_and_no_sum_of_it_is_kept() {
    let fields = "volts: double, heat: {type: double, nullable: true}";
    let case = of(&text("4.4", "1/min", "", INSERTS).replace("value: double", fields));
    let kept: Vec<&str> =
        case.field("reading", "stats").fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(kept, ["voltsMin", "voltsMax", "voltsSum"]);
    let append = case.file("patterns/reading-bucket.js");
    assert!(append.contains("stats.voltsSum") && !append.contains("stats.heat"), "{append}");
    assert!(case.file("check.js").contains("a reading may have null"));
}
