//! Tests, without a server, embedded lists and the effect of other patterns on the same fields.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use crate::common::{Case, WRITTEN, of, pair};
use docward_design::{Pattern, example::example, validator::validator};
use docward_schema::Schema;

fn lists() -> Case {
    of(include_str!("models/lists.yaml"))
}

const OUTLIER: &str = "children: {p50: 1, p99: 40, max: 5000}, growth: bounded";
const PAGE: &str = "from: parent, where: [_id], with: [parent.children], rate: 10/s";

#[test]
fn pt_outlier_1_pt_computed_1_a_list_with_pages_is_not_counted_by_its_size() {
    let counting = |rate: &str| {
        let read = format!("from: parent, where: [_id], count: [parent.children], rate: {rate}");
        of(&pair(OUTLIER, &[PAGE, &read], WRITTEN))
    };
    let often = counting("9/s");
    assert_eq!(often.named("parent.children"), ["embedded", "outlier", "computed"]);
    let seldom = counting("1/day");
    assert_eq!(seldom.named("parent.children"), ["embedded", "outlier"]);
    let remarks = seldom.decision("parent.children").remarks.join(" ");
    assert!(remarks.contains("and of the pages") && !remarks.contains("without"), "{remarks}");
}

#[test]
fn pt_outlier_1_pt_slice_1_what_is_cut_has_no_pages() {
    let kept = |newest: u64| {
        let shape = format!("children: {{p50: 1, p99: 40, max: 5000}}, keep-newest: {newest}");
        of(&pair(&format!("{shape}, growth: endless"), &[PAGE], WRITTEN))
    };
    assert_eq!(kept(100).named("parent.children"), ["embedded", "capped-array"]);
    // A longer list becomes separate documents, which are limited there (GC-06).
    assert_eq!(kept(999).named("parent.children"), ["embedded", "capped-array"]);
    let many = kept(1500);
    assert_eq!(many.named("parent.children"), ["parent-id-in-child"]);
    let how = &many.decision("parent.children").ruling.how;
    assert_eq!(how, "vetoed: the newest 1,500 are kept, which is more than a list can contain");
}

#[test]
fn pt_outlier_1_two_lists_with_pages_have_a_flag_each() {
    let text = pair(OUTLIER, &[PAGE], WRITTEN).replace(
        "relationships:\n",
        &format!("relationships:\n  parent.others: {{child: child, {OUTLIER}}}\n"),
    );
    let both = of(&text.replace("[parent.children]", "[parent.children, parent.others]"));
    let flags = |case: &Case| -> Vec<String> {
        let fields = case.collection("parent").fields.iter();
        fields.filter(|f| f.name.contains("verflow")).map(|f| f.name.clone()).collect()
    };
    assert_eq!(flags(&both), ["hasOthersOverflow", "hasChildrenOverflow"]);
    assert_eq!(flags(&of(&pair(OUTLIER, &[PAGE], WRITTEN))), ["hasOverflow"]);
}

#[test]
fn pt_ts_1_pt_bucket_4_what_is_copied_is_no_part_of_a_series() {
    for server in ["6.0", "4.4"] {
        let text =
            include_str!("models/lists.yaml").replace("server: 6.0", &format!("server: {server}"));
        let case = of(&text);
        for (relationship, collection) in [("host.metrics", "metric"), ("host.probes", "probe")] {
            assert_eq!(case.named(relationship), ["parent-id-in-child"]);
            let remarks = &case.decision(relationship).remarks;
            assert!(remarks.iter().any(|r| r.contains("not copied into each")), "{remarks:?}");
            let copies = format!("{:?}", case.collection(collection).fields);
            assert!(!copies.contains("Copy("), "{copies}");
        }
        let open = case.indexes("probe");
        assert!(
            open.contains(
                &"{ hostId: 1, bucketStart: -1 } unique where count is below 60".to_owned()
            ),
            "{open:?}"
        );
    }
}

#[test]
fn sn_05_gc_36_the_newest_by_their_id_are_sorted_by_the_name_it_has_in_elements() {
    let case = lists();
    let update = |name: &str| {
        let job = case.job(name);
        let of_host = |s: &&&docward_design::statement::Statement| s.collection == "host";
        job.statements().iter().find(of_host).unwrap().update_part().unwrap().to_string()
    };
    let visit = update("addVisit");
    assert!(visit.contains("\"$sort\": { \"visitId\": -1 }"), "{visit}");
    let alarm = update("addAlarm");
    assert!(alarm.contains("$$this.alarmId") && !alarm.contains("$$this._id"), "{alarm}");
    // Separate documents have the id under its usual name.
    assert!(case.job("rebuildAlarms").shell().contains("sort({ _id: -1 })"));
}

#[test]
fn pt_ts_1_a_series_may_be_named_after_a_role() {
    let text = |series: &str, plain: bool| {
        format!(
            "deployment: {{server: 6.0}}
entities:
  host: {{count: 10, lifecycle: {{growth: 0, kept: forever}}, fields: {{code: string}}}}
  metric:
    lifecycle: {{growth: 1M/year, kept: forever}}
    series: {{time: ts, id: {series}, rate: 1/min, series: 10}}
    needs-change-streams-or-updates: {plain}
    fields: {{ts: date, disk: string, free: long}}
relationships:
  metric.machine: {{child: host, children: 1, parents: {{p50: 10k, p99: 100k, max: 1M}}}}
reads:
  chart: {{from: metric, where: {{ts: range}}, with: {{metric.machine: [code]}}, rate: 1/s}}
  host: {{from: host, where: [code], rate: 9/s}}
writes:
  measure: {{insert: [metric, host], rate: 10/s}}
"
        )
    };
    let names = |series: &str, plain: bool| -> Vec<String> {
        let case = of(&text(series, plain));
        case.collection("metric").fields.iter().map(|field| field.name.clone()).collect()
    };
    assert_eq!(names("machine", false), ["_id", "machineId", "ts", "disk", "free"]);
    assert_eq!(names("machine", true)[..3], ["_id", "machineId", "bucketStart"]);
    // Fields that do not identify the series are copied into each reading.
    assert_eq!(names("disk", false), ["_id", "disk", "ts", "free", "machineId", "machine"]);
    assert_eq!(names("disk", true)[..3], ["_id", "disk", "bucketStart"]);
}

/// Returns a model of a product with three similar fields, one of which another pattern may need.
fn alike(fields: &str, more: &str, reads: &str) -> Case {
    of(&format!(
        "entities:
  product:
    count: 1000
    lifecycle: {{growth: 1/day, kept: forever}}
    attributes: [colour, size, weight, shape]
    fields: {{name: string, colour: string, size: int, weight: double, {fields}}}
{more}
  shelf: {{count: 10, lifecycle: {{growth: 1/day, kept: forever}}, fields: {{room: string}}}}
relationships:
  shelf.products: {{child: product, children: {{p50: 50, p99: 800, max: 999}}, parents: {{p50: 3, p99: 100, max: 400}}, growth: bounded}}
reads:
  find: {{from: product, where: [colour, size], rate: 1/s}}
{reads}
writes:
  stock: {{insert: [product, shelf], rate: 1/h}}
"
    ))
}

#[test]
fn what_something_else_needs_by_its_name_is_no_attribute() {
    let listed = |case: &Case| -> Vec<String> {
        let patterns = case.advice("product").patterns.iter();
        patterns
            .filter_map(|p| match p {
                Pattern::Attribute { fields } => Some(fields.clone()),
                _ => None,
            })
            .flatten()
            .collect()
    };
    let plain = alike("shape: string", "", "");
    assert_eq!(listed(&plain), ["colour", "size", "weight", "shape"]);
    for (fields, more, reads, why) in [
        ("shape: {type: string, unique: true}", "", "", "it is unique"),
        (
            "shape: {type: string, values: [ball, box]}",
            "    variants: {ball: {radius: int}, box: {depth: int}}",
            "",
            "it distinguishes the kinds",
        ),
        (
            "shape: string",
            "",
            "  by shape: {from: product, where: [size], sort: {shape: 1}, rate: 1/s}",
            "`by shape` sorts by it",
        ),
        (
            "shape: string",
            "",
            "  shelf: {from: shelf, where: [_id], with: {shelf.products: [name, shape]}, rate: 9/s}",
            "`shelf` reads it by name",
        ),
        (
            "shape: int",
            "",
            "  shelf: {from: shelf, where: [_id], sum: {shelf.products: shape}, rate: 9/s}",
            "`shelf` sums it",
        ),
    ] {
        let case = alike(fields, more, reads);
        assert_eq!(listed(&case), ["colour", "size", "weight"], "{why}");
        let remarks = &case.advice("product").remarks;
        assert!(
            remarks.iter().any(|r| r.starts_with(&format!("`shape` is not an attribute: {why}"))),
            "{remarks:?}"
        );
        assert!(case.find("product", "shape").is_some(), "{why}");
        takes_example(&case, "product");
    }
    // Two fields are too few.
    let two = alike(
        "shape: {type: string, unique: true}",
        "",
        "  a: {from: product, where: [size], sort: {weight: 1}, rate: 1/s}",
    );
    assert_eq!(listed(&two), [""; 0]);
    assert!(two.find("product", "attributes").is_none());
}

#[track_caller]
fn takes_example(case: &Case, collection: &str) {
    let plan = case.collection(collection);
    let validator = validator(&case.model, plan).unwrap();
    let schema = validator.get_document("$jsonSchema").unwrap();
    let schema = Schema::compile(&schema.to_vec().unwrap()).unwrap();
    let sample = example(&case.model, plan);
    let why = schema.explain(&sample.to_vec().unwrap()).unwrap();
    assert!(why.is_none(), "{sample}: {why:?}");
}

#[test]
fn pt_subset_1_a_preview_of_all_fields_shows_attributes_as_they_are_stored() {
    let read = "  shelf: {from: shelf, where: [_id], with: {shelf.products: {newest: 2, by: name}}, rate: 9/s}";
    let case = alike("shape: string", "", read);
    let shown: Vec<&str> =
        case.field("shelf", "recentProducts").fields.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(shown, ["productId", "name", "attributes"]);
}

#[test]
fn attributes_of_an_embedded_entity_have_its_types() {
    let case = of("entities:
  house: {count: 10, lifecycle: {growth: 0, kept: forever}, attributes: [a, b, c], fields: {a: int, b: int, c: int}}
  door: {lifecycle: {growth: 0, kept: forever}, attributes: [d, e, f], fields: {d: string, e: string, f: string}}
relationships:
  house.doors: {child: door, children: {p50: 2, p99: 5, max: 9}, growth: bounded}
reads:
  house: {from: house, where: [_id], with: [house.doors], rate: 9/s}
writes:
  build: {insert: [house, door], rate: 1/h}
");
    let validator = validator(&case.model, case.collection("house")).unwrap().to_string();
    assert!(validator.contains("\"v\": { \"bsonType\": [\"int\", \"long\"] }"), "{validator}");
    assert!(validator.contains("\"v\": { \"bsonType\": \"string\" }"), "{validator}");
    takes_example(&case, "house");
}

#[test]
fn pt_extref_1_elements_come_with_the_copies_beside_their_references() {
    let case = lists();
    let check = case.file("check.js");
    assert!(case.field("stay", "guests.tenant").required);
    let mut parts = check.split("section = ");
    let part = parts.find(|part| part.starts_with("\"stay-guests-capped-array.js\"")).unwrap();
    assert!(part.contains("tenant: {"), "{part}");
    assert!(case.job("addStayGuest").does.contains("`tenant` contains copies"));
}

/// Returns a model of readings in buckets with a rate.
fn buckets(rate: &str, fields: &str) -> Case {
    of(&format!(
        "deployment: {{server: \"4.4\"}}
entities:
  reading:
    lifecycle: {{growth: 1M/year, kept: forever}}
    series: {{time: ts, id: sensor, rate: {rate}}}
    fields: {{ts: date, sensor: int, {fields}}}
reads:
  chart: {{from: reading, where: {{sensor: equal, ts: range}}, rate: 1/s}}
writes:
  measure: {{insert: reading, rate: 9/s}}
"
    ))
}

#[test]
fn gc_50_readings_of_an_example_lie_in_the_period_of_their_bucket() {
    for (rate, length) in [("1/h", Some(86_400_000)), ("1/min", Some(3_600_000)), ("1/s", None)] {
        let case = buckets(rate, "value: double");
        let made = example(&case.model, case.collection("reading"));
        let start = made.get_datetime("bucketStart").unwrap().timestamp_millis();
        let times: Vec<i64> = made
            .get_array("readings")
            .unwrap()
            .iter()
            .map(|one| one.as_document().unwrap().get_datetime("ts").unwrap().timestamp_millis())
            .collect();
        assert!(times.is_sorted() && times.len() == 2, "{made}");
        match length {
            Some(length) => {
                assert_eq!(start % length, 0, "{made}");
                assert!(times.iter().all(|at| (start..start + length).contains(at)), "{made}");
            }
            None => {
                let end = made.get_datetime("bucketEnd").unwrap().timestamp_millis();
                assert_eq!((start, end), (times[0], times[1]), "{made}");
            }
        }
        takes_example(&case, "reading");
    }
}

#[test]
fn pt_bucket_4_what_is_said_to_be_kept_is_kept() {
    for (fields, said, kept) in [
        ("temp: double, note: string", "sum of `temp`", true),
        ("temp: double, hum: {type: int, required: false}", "sum of `temp`", true),
        ("hum: {type: int, required: false}", "has no sums", false),
        ("note: string", "at most 60 per bucket.", false),
    ] {
        let case = buckets("1/min", fields);
        let append = case.job("appendReading");
        assert!(append.does.contains(said), "{}", append.does);
        assert_eq!(append.does.contains("The same write updates"), kept, "{}", append.does);
        assert_eq!(append.shell().contains("$min"), kept, "{}", append.does);
    }
}
