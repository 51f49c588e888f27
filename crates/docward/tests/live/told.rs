//! What a report on a running deployment states in addition to findings: what could not be counted,
//! read or requested.

use std::time::{Duration, Instant};

use bson::{Document, doc};
use docward_testkit::{Launch, wait_until};
use serde_json::Value;

use super::{json, plain_documents, problems};

fn of<'r>(report: &'r Value, rule: &str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == rule).collect()
}

/// DM-11.3: the report has the server's count of documents that fail a validator, or says that
/// there is none.
#[test]
fn dm_11_3_what_the_server_cannot_count_is_told() {
    let servers = Launch::standalone().shared().start();
    let people = (0..100).map(|n: i32| match n % 10 {
        0 => doc! { "_id": n, "age": n.to_string() },
        _ => doc! { "_id": n, "age": n },
    });
    servers.insert("db_shop.t_person", people);
    let sum = doc! { "$expr": { "$gt": [{ "$add": ["$age", 1] }, 0] } };
    servers.command("db_shop", doc! { "collMod": "t_person", "validator": sum });
    let closed = doc! { "additionalProperties": false, "properties": { "a": {} } };
    let create = doc! { "create": "t_closed", "validator": { "$jsonSchema": closed } };
    servers.command("db_shop", create);
    servers.insert("db_shop.t_closed", (0..30).map(|n: i32| doc! { "_id": n, "a": n }));
    let report = json(&[&servers.uri(), "--sample", "20"]);
    assert_eq!(problems(&report), Vec::<String>::new());
    let notes = report["notes"].to_string();
    let told = "db_shop.t_person: the server could not count the documents that break the \
     validator: ";
    assert!(notes.contains(told) && notes.contains("$add only supports"), "{notes}");
    assert!(!notes.contains("t_closed"), "{notes}");

    let closed = of(&report, "V008");
    assert_eq!(closed.len(), 1, "{closed:#?}");
    assert_eq!(closed[0]["data"]["invalid"], 30);
    let what = closed[0]["what"].as_str().unwrap();
    assert!(what.ends_with("30 stored documents break the validator (counted by the server)"));
}

#[test]
fn dm_11_1_ck_6_without_documents_nobody_knows_which_collections_are_core() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_order", plain_documents(300));
    let uri = servers.uri();
    let ck_6 = |report: &Value| {
        let items = report["checklist"].as_array().unwrap();
        items.iter().find(|item| item["id"] == "CK-6").unwrap()["verdict"].clone()
    };
    let skipped = |report: &Value| {
        let skipped = report["skipped"].as_array().unwrap();
        skipped.iter().find(|one| one["rule"] == "V001").map(|one| one["needs"].clone())
    };
    let read = json(&[&uri]);
    assert_eq!((of(&read, "V001").len(), skipped(&read)), (1, None));
    assert_eq!(ck_6(&read), "fail");
    let blind = json(&[&uri, "--metadata-only"]);
    assert_eq!((of(&blind, "V001").len(), skipped(&blind)), (0, Some("documents".into())));
    assert_eq!(ck_6(&blind), "unknown");
    // Counts of the server are enough for these rules.
    let counted = json(&[&uri, "--metadata-only", "--pushdown"]);
    assert_eq!((of(&counted, "V001").len(), skipped(&counted)), (1, None));
}

#[test]
fn many_damaged_documents_of_a_collection_are_one_problem() {
    let servers = Launch::standalone().shared().start();
    let documents: Vec<Document> = (0..60).map(|n| doc! { "_id": n, "a": "damaged" }).collect();
    let mut bytes = doc! { "insert": "t_bad", "documents": documents }.to_vec().unwrap();
    for at in 0..bytes.len() - 7 {
        if bytes[at..].starts_with(b"damaged") {
            bytes[at] = 0xff;
        }
    }
    let insert = bson::RawDocumentBuf::from_bytes(bytes).unwrap();
    let database = servers.client().database("db_shop");
    servers.wait(database.run_raw_command(insert).into_future()).unwrap();
    for how in ["--full", "--sample=10000"] {
        let told = problems(&json(&[&servers.uri(), how]));
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].contains("60 damaged documents: text that is not UTF-8"), "{told:#?}");
        assert!(!told[0].contains("file"), "{told:#?}");
    }
}

#[test]
fn who_does_not_answer_is_not_asked_for_collections() {
    let away = "mongodb://[::1]:1/?serverSelectionTimeoutMS=300";
    for filter in [&["--db", "db_shop"][..], &["--collection", "t_order"], &[]] {
        let told = problems(&json(&[&[away], filter].concat()));
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].contains("mongodb://[::1]:1") && told[0].contains("no server answered"));
        assert!(told[0].contains("[::1]:1: ") && !told[0].contains(" ::1"), "{told:#?}");
    }
    // A deployment that responds is audited, even if another source fails.
    let servers = Launch::standalone().shared().start();
    let told = problems(&json(&[away, &servers.uri(), "--db", "db_none"]));
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].contains("no database matches `db_none`"), "{told:#?}");
}

#[test]
fn a_capped_collection_that_is_replaced_meanwhile_is_told_as_one() {
    let servers = Launch::standalone().shared().start();
    let create = doc! { "create": "t_log", "capped": true, "size": 1_048_576 };
    servers.command("db_shop", create);
    let lines = |from: i32| (from..from + 8000).map(|n| doc! { "_id": n, "line": "x".repeat(90) });
    servers.insert("db_shop.t_log", lines(0));
    let uri = servers.uri();
    // Reading everything takes minutes, and the documents are deleted long before that.
    let audit = std::thread::spawn(move || json(&[&uri, "--full", "--max-rate", "20"]));
    wait_until("nobody reads the collection", || {
        let running = doc! { "$match": { "cursor.originatingCommand.find": "t_log" } };
        let pipeline = vec![doc! { "$currentOp": { "idleCursors": true } }, running];
        let question = doc! { "aggregate": 1, "pipeline": pipeline, "cursor": {} };
        let reply = servers.command("admin", question);
        !reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap().is_empty()
    });
    servers.insert("db_shop.t_log", lines(100_000));
    servers.insert("db_shop.t_log", lines(200_000));
    let told = problems(&audit.join().unwrap());
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("faster than Docward read them"), "{told:#?}");
    assert!(told[0].contains("without --max-rate"), "{told:#?}");
}

#[test]
fn a_very_low_rate_is_kept() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_few.t_order", (0..8).map(|n| doc! { "_id": n, "total": n }));
    servers.insert("db_many.t_order", (0..300).map(|n| doc! { "_id": n, "total": n }));
    let uri = servers.uri();
    for way in [["--db", "db_few", "--full"].as_slice(), &["--db", "db_many", "--sample", "8"]] {
        let began = Instant::now();
        let report = json(&[&[uri.as_str(), "--max-rate", "2"], way].concat());
        assert!(began.elapsed() > Duration::from_secs(3), "8 documents take four seconds: {way:?}");
        assert_eq!(report["sources"][0]["documents"], 8, "{way:?}");
    }
}
