//! Full readings of large live collections: in ranges of `_id`s, interrupted, and resumed.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Child, Command, Output, Stdio};

use bson::{Bson, DateTime, Document, doc, oid::ObjectId};
use docward_testkit::{Launch, Servers};
use serde_json::Value;

use crate::common::{cut_by_time, has_documents, signal};

const DOCUMENTS: usize = 24_000;

/// Returns ids of every common type. A filter on `_id` would skip all types but one.
fn id(at: usize) -> Bson {
    // Bounds of an index exclude its end.
    if at == DOCUMENTS - 1 {
        return Bson::MaxKey;
    }
    let n = at as i64;
    match at % 6 {
        0 => Bson::Int64(n * 7 - 40_000),
        1 => format!("order-{:06}", at * 31 % 100_003).into(),
        2 => ObjectId::from_bytes((n as u128 * 0x9e37_79b9).to_be_bytes()[4..].try_into().unwrap())
            .into(),
        3 => doc! { "shop": n % 17, "no": n }.into(),
        4 => DateTime::from_millis(1_700_000_000_000 + n * 60_000).into(),
        _ => Bson::Double(n as f64 + 0.5),
    }
}

fn orders() -> impl Iterator<Item = Document> {
    (0..DOCUMENTS).map(|at| {
        let mut order = doc! {
            "_id": id(at),
            "orderNo": format!("N{at:08}"),
            "createTime": "2024-03-01 10:00:00",
            "amount": at as f64 / 8.0 + 0.01,
            "note": "x".repeat(1400),
        };
        if at % 5 == 0 {
            order.insert("coupon", (at % 3) as i32);
        }
        order
    })
}

fn shop() -> Servers {
    let servers = Launch::replica_set(1).fail_points().start();
    servers.insert("db_shop.t_order", orders());
    servers.insert("db_shop.t_zone", (0..50).map(|at| doc! { "_id": at, "zoneName": "north" }));
    servers
}

fn docward(arguments: &[&str]) -> Output {
    let mut all = vec!["audit", "--format", "json", "--no-progress", "--full"];
    all.extend(arguments);
    Command::new(assert_cmd::cargo::cargo_bin("docward")).args(all).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = docward(arguments);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("docward"));
    command.args(["audit", "--format", "json", "--no-progress", "--full"]).args(arguments);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Runs an audit that is interrupted after this many replies with orders.
fn interrupted(servers: &Servers, answers: i32, arguments: &[&str]) -> Value {
    let orders = doc! { "namespace": "db_shop.t_order" };
    let blocked = servers.block(0, &["find", "getMore"], doc! { "skip": answers }, orders);
    let child = start(arguments);
    blocked.wait_until_hit();
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    blocked.release();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["interrupted"]), (Some(2), &true.into()));
    report
}

/// The number of replies that contain some of the orders but not all, with the largest batches. Up
/// to six of them may be in transit when an audit is interrupted.
const SOME: i32 = 10;

/// Returns how often the index on `_id` was used.
fn uses_of_id_index(servers: &Servers) -> i64 {
    let pipeline = vec![doc! { "$indexStats": {} }, doc! { "$match": { "name": "_id_" } }];
    let question = doc! { "aggregate": "t_order", "pipeline": pipeline, "cursor": {} };
    let reply = servers.command("db_shop", question);
    let index = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap()[0].clone();
    index.as_document().unwrap().get_document("accesses").unwrap().get_i64("ops").unwrap()
}

/// Returns the number of documents that the server has returned.
fn returned(servers: &Servers) -> i64 {
    let status = servers.command("admin", doc! { "serverStatus": 1 });
    let documents = status.get_document("metrics").unwrap().get_document("document").unwrap();
    documents.get_i64("returned").unwrap()
}

fn documents(report: &Value) -> u64 {
    report["sources"][0]["documents"].as_u64().unwrap()
}

fn no_problems(report: &Value) {
    assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{:#}", report["problems"]);
}

#[test]
fn ranges_hold_every_document_whatever_the_type_of_its_id() {
    let servers = shop();
    let uri = servers.uri();
    let in_one_go = json(&[&uri, "--threads", "2"]);
    assert_eq!(uses_of_id_index(&servers), 0, "in its natural order");
    let in_ranges = json(&[&uri, "--threads", "4"]);
    assert!(uses_of_id_index(&servers) >= 4, "in ranges");
    for report in [&in_one_go, &in_ranges] {
        no_problems(report);
        assert_eq!(documents(report), DOCUMENTS as u64 + 50);
    }
    assert_eq!(in_ranges["findings"], in_one_go["findings"]);

    // Connections break. Reading continues after the last document, and no document counts twice.
    let point = servers.fail_point(
        0,
        doc! { "times": 3 },
        doc! { "failCommands": ["getMore"], "closeConnection": true, "appName": "docward" },
    );
    let before = returned(&servers);
    let cut = json(&[&uri, "--threads", "4"]);
    assert!(point.hits() >= 3);
    no_problems(&cut);
    assert_eq!(documents(&cut), DOCUMENTS as u64 + 50);
    assert_eq!(cut["findings"], in_one_go["findings"]);
    assert!(returned(&servers) - before < DOCUMENTS as i64 * 3 / 2, "not from the start");
}

#[test]
fn an_interrupted_reading_is_gone_on_with() {
    let servers = shop();
    let uri = servers.uri();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let whole = json(&[&uri, "--threads", "2", "--save-evidence", &file("whole.json.gz")]);
    no_problems(&whole);

    let part = file("part.json.gz");
    let cut = interrupted(&servers, SOME, &[&uri, "--threads", "2", "--save-evidence", &part]);
    let read = documents(&cut);
    assert!((1000..DOCUMENTS as u64).contains(&read), "{read}");

    // The audit is interrupted again, with another number of threads.
    let more = file("more.json");
    let again = ["--threads", "1", "--resume", &part, "--save-evidence", &more];
    let slowly = [&[uri.as_str()], &again[..], &["--max-rate", "1000"]].concat();
    let cut = interrupted(&servers, 8, &slowly);
    assert!(
        (read + 500..DOCUMENTS as u64).contains(&documents(&cut)),
        "{read} {}",
        documents(&cut)
    );

    let before = returned(&servers);
    let resumed = json(&[&uri, "--threads", "2", "--resume", &more]);
    no_problems(&resumed);
    assert_eq!(documents(&resumed), DOCUMENTS as u64 + 50);
    assert_eq!(resumed["findings"], whole["findings"]);
    let read_again = returned(&servers) - before;
    assert!(read_again < (DOCUMENTS as u64 - read) as i64, "{read_again} documents were read");

    // A completed reading cannot be resumed.
    let output = docward(&[&uri, "--resume", &file("whole.json.gz")]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("this run cannot be continued"), "{said}");
    let altered = std::fs::read_to_string(&more).unwrap();
    let at = altered.find("\"Part\":[\"").unwrap() + 40;
    let altered = format!("{}AAAA{}", &altered[..at], &altered[at + 4..]);
    std::fs::write(file("altered.json"), altered).unwrap();
    let output = docward(&[&uri, "--resume", &file("altered.json")]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("start again"), "{said}");
}

#[test]
fn a_collection_that_was_not_read_in_ranges_is_read_from_the_start() {
    let servers = Launch::replica_set(1).shared().start();
    servers.insert("db_shop.t_zip", (0..9000).map(|n| doc! { "_id": n, "cityName": "a" }));
    let uri = servers.uri();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let part = file("part.json");
    let (cut, _) = cut_by_time(has_documents, |seconds| {
        let limits = ["--max-time", seconds, "--max-rate", "300"];
        json(&[&[uri.as_str(), "--save-evidence", &part], &limits[..]].concat())
    });
    assert!((1..9000).contains(&documents(&cut)), "{}", documents(&cut));
    let whole = json(&[&uri, "--resume", &part, "--save-evidence", &file("whole.json")]);
    no_problems(&whole);
    assert_eq!(documents(&whole), 9000, "none counts twice");
    assert_eq!(whole["findings"], json(&[&uri])["findings"]);
    let said = refusal(&[&uri, "--resume", &file("whole.json")]);
    assert!(said.contains("this run cannot be continued"), "{said}");
}

/// Lets getMores on the orders fail, and reads everything with these options.
fn read_with_failures(code: i32, times: i32, options: &[&str]) -> (Value, i64) {
    let servers = shop();
    let point = servers.fail_point(
        0,
        doc! { "times": times },
        doc! {
            "failCommands": ["getMore"], "errorCode": code, "namespace": "db_shop.t_order",
            "appName": "docward",
        },
    );
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("all.json").to_str().unwrap().to_owned();
    let uri = servers.uri();
    let options: Vec<&str> =
        options.iter().map(|word| if *word == "FILE" { file.as_str() } else { *word }).collect();
    let report = json(&[&[uri.as_str()], &options[..]].concat());
    (report, point.hits())
}

/// CursorKilled, NotWritablePrimary, MaxTimeMSExpired: every reader fails several times, and others
/// read the ranges that are still in the queue.
#[test]
fn readers_of_ranges_that_failed_are_replaced() {
    for code in [237, 10_107, 50] {
        for threads in ["2", "4"] {
            let options = ["--threads", threads, "--save-evidence", "FILE"];
            let (report, hits) = read_with_failures(code, 8, &options);
            assert_eq!(hits, 8, "{code}");
            no_problems(&report);
            assert_eq!(documents(&report), DOCUMENTS as u64 + 50, "{code}, {threads} threads");
        }
    }
}

/// CursorNotFound and MaxTimeMSExpired in natural order: more often than a reading begins anew.
#[test]
fn a_reading_that_loses_its_cursor_again_and_again_reaches_the_end() {
    for code in [43, 50] {
        for times in [1, 7] {
            let (report, hits) = read_with_failures(code, times, &["--threads", "1"]);
            assert_eq!(hits, i64::from(times), "{code}");
            no_problems(&report);
            assert_eq!(documents(&report), DOCUMENTS as u64 + 50, "{code}, {times} times");
        }
    }
}

/// How long replies are blocked in the next test. The rename takes some milliseconds.
const SLOW_MS: i32 = 1500;

#[test]
fn a_collection_that_is_renamed_meanwhile_is_told_and_keeps_what_was_read() {
    for (skip, options) in [
        (4, &["--threads", "1"][..]),
        (SOME, &["--threads", "2", "--save-evidence", "all.json"]),
        (SOME, &["--threads", "4", "--save-evidence", "all.json"]),
    ] {
        let servers = shop();
        let directory = tempfile::tempdir().unwrap();
        let point = servers.fail_point(
            0,
            doc! { "skip": skip },
            doc! {
                "failCommands": ["find", "getMore"], "namespace": "db_shop.t_order",
                "appName": "docward", "blockConnection": true, "blockTimeMS": SLOW_MS,
            },
        );
        let child = Command::new(assert_cmd::cargo::cargo_bin("docward"))
            .args(["audit", &servers.uri(), "--format", "json", "--no-progress", "--full"])
            .args(options)
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let hit =
            doc! { "waitForFailPoint": "failCommand", "timesEntered": 1, "maxTimeMS": 120_000 };
        servers.command("admin", hit);
        servers.command(
            "admin",
            doc! { "renameCollection": "db_shop.t_order", "to": "db_shop.t_sale" },
        );
        point.hits();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let problems = report["problems"].to_string();
        assert!(
            problems.contains("was renamed to t_sale during the run"),
            "{options:?} {problems}"
        );
        let read = documents(&report);
        assert!((1000..DOCUMENTS as u64).contains(&read), "{options:?} {read}");
    }
}

/// Returns the error of an audit that must fail.
fn refusal(arguments: &[&str]) -> String {
    let output = docward(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty(), "{said}");
    said
}

#[test]
fn a_reading_is_gone_on_with_on_its_own_deployment_only() {
    let servers = shop();
    let uri = servers.uri();
    let directory = tempfile::tempdir().unwrap();
    let part = directory.path().join("part.json").to_str().unwrap().to_owned();
    interrupted(&servers, SOME, &[&uri, "--threads", "2", "--save-evidence", &part]);
    let before = std::fs::read_to_string(&part).unwrap();
    let ids = &before[before.find("\"deployments\":[").unwrap()..];
    let ids = &ids[..ids.find("],").unwrap() + 2];

    let files = refusal(&["examples/shop", "--resume", &part]);
    assert!(
        files.contains(&part)
            && files.contains(
                "no running deployment is among the \
     sources"
            ),
        "{files}"
    );
    let away = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300";
    let away = refusal(&[away, "--resume", &part, "--save-evidence", &part]);
    assert!(
        away.contains(&part)
            && away.contains("cannot reach the deployment")
            && away.contains("check host"),
        "{away}"
    );

    let other = Launch::standalone().shared().start();
    other.insert("db_shop.t_order", orders().take(10));
    // Earlier files lack this list, so the facts about the server identify it.
    for text in [before.clone(), before.replacen(ids, "", 1)] {
        std::fs::write(&part, &text).unwrap();
        let said = refusal(&[&other.uri(), "--resume", &part, "--save-evidence", &part]);
        assert!(said.contains(&part) && said.contains("was read from the replica set"), "{said}");
        assert!(said.contains("is the server") && said.contains("start again"), "{said}");
        assert_eq!(std::fs::read_to_string(&part).unwrap(), text, "it stays as it is");
    }

    // One member is enough to recognise the set. An unknown deployment is no obstacle.
    let member = format!("{}&directConnection=true", uri);
    let resumed = docward(&[&member, "--resume", &part]);
    assert_eq!(String::from_utf8(resumed.stderr).unwrap(), "");
    let at = before.find("\"topology\":{").unwrap();
    let known = &before[at..at + before[at..].find('}').unwrap() + 1];
    let unknown = before.replacen(ids, "", 1).replacen(known, "\"topology\":null", 1);
    std::fs::write(&part, unknown).unwrap();
    let resumed = docward(&[&uri, "--resume", &part]);
    let report: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    let notes = report["notes"].to_string();
    assert!(notes.contains("cannot check whether"), "{notes}");
    assert_eq!(documents(&report), DOCUMENTS as u64 + 50);
}

#[test]
fn a_collection_that_was_made_anew_is_read_from_the_start() {
    let servers = shop();
    servers.insert("db_shop.t_area", (0..50).map(|at| doc! { "_id": at, "areaName": "north" }));
    let uri = servers.uri();
    let directory = tempfile::tempdir().unwrap();
    let part = directory.path().join("part.json").to_str().unwrap().to_owned();
    let cut = interrupted(&servers, SOME, &[&uri, "--threads", "2", "--save-evidence", &part]);
    assert!((1000..DOCUMENTS as u64).contains(&documents(&cut)), "{}", documents(&cut));
    // One collection was read in part, the other completely.
    for (name, new) in [("t_order", 500), ("t_area", 7)] {
        servers.command("db_shop", doc! { "drop": name });
        let anew = (0..new).map(|at| doc! { "_id": format!("new {at}"), "total": at });
        servers.insert(&format!("db_shop.{name}"), anew);
    }
    let resumed = json(&[&uri, "--resume", &part]);
    no_problems(&resumed);
    assert_eq!(documents(&resumed), 500 + 7 + 50);
    let notes = resumed["notes"].to_string();
    for name in ["t_order", "t_area"] {
        let told = format!("db_shop.{name}: dropped and recreated since it was read");
        assert!(notes.contains(&told), "{notes}");
    }
    assert!(!notes.contains("t_zone"), "{notes}");
    assert_eq!(resumed["findings"], json(&[&uri])["findings"]);
}

#[test]
fn a_server_that_went_away_is_no_reason_to_start_anew() {
    let mut servers = shop();
    let uri = servers.uri();
    let directory = tempfile::tempdir().unwrap();
    let part = directory.path().join("part.json.gz").to_str().unwrap().to_owned();
    let orders = doc! { "namespace": "db_shop.t_order" };
    let blocked = servers.block(0, &["find", "getMore"], doc! { "skip": SOME }, orders);
    let patient = format!("{uri}&serverSelectionTimeoutMS=3000");
    let reading = start(&[&patient, "--threads", "2", "--save-evidence", &part]);
    blocked.wait_until_hit();
    servers.kill(0);
    let output = reading.wait_with_output().unwrap();
    let cut: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = documents(&cut);
    assert!((500..DOCUMENTS as u64).contains(&read), "{read}");
    assert_ne!(cut["problems"].as_array().unwrap().len(), 0);
    servers.restart(0);
    let resumed = json(&[&uri, "--threads", "2", "--resume", &part]);
    no_problems(&resumed);
    assert_eq!(documents(&resumed), DOCUMENTS as u64 + 50);
}
