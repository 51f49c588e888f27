//! Figures that a running server computes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::Command;

use bson::{Bson, Document, doc};
use docward_testkit::Launch;
use serde_json::Value;

fn audit(arguments: &[&str]) -> Value {
    let mut all = vec!["audit", "--format", "json", "--no-progress"];
    all.extend(arguments);
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward")).args(all).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn finding<'a>(report: &'a Value, rule: &str) -> Option<&'a Value> {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule)
}

/// Returns documents of which a sample of ten would hardly include the three important ones.
fn needles() -> impl Iterator<Item = Document> {
    (0..4000).map(|at| {
        let mut document = doc! {
            "_id": at, "price": 9.5, "tags": ["a", "b"], "note": "x".repeat(at as usize % 90),
        };
        match at {
            1234 => _ = document.insert("price", "9.50"),
            2345 => _ = document.insert("note", "y".repeat(200_000)),
            3456 => _ = document.insert("tags", vec!["t"; 1500]),
            // All arrays have the same length. Fractions form a vector, integers a list.
            3457 | 3458 => {
                _ = document.insert("vector", Bson::Array(vec![Bson::Double(0.5); 1536]));
                _ = document.insert("history", Bson::Array(vec![Bson::Int32(7); 1200]));
            }
            _ => {}
        }
        document
    })
}

#[test]
fn dm_05_1_dm_08_1_dm_09_6_lm_4_the_server_counts_what_a_sample_misses() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_order_item", needles());
    servers.command("db_shop", doc! { "create": "t_empty" });
    let uri = servers.uri();
    // Two documents are too few for a sample; the other run reads none.
    for how in [&["--sample", "2"][..], &["--metadata-only"]] {
        let report = audit(&[&[uri.as_str(), "--pushdown"], how].concat());
        assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{:#}", report["problems"]);
        let large = finding(&report, "D001").unwrap();
        assert!(
            large["what"].as_str().unwrap().starts_with("1 of 4,000 documents is larger than"),
            "{large:#}"
        );
        assert_eq!(
            (&large["seen"]["sampled"], &large["seen"]["total"]),
            (&4000.into(), &4000.into())
        );
        let arrays: Vec<_> =
            report["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == "D009").collect();
        let longest: Vec<_> =
            arrays.iter().map(|f| (f["path"].as_str().unwrap(), &f["data"]["max"])).collect();
        let (history, tags) = (1200.into(), 1500.into());
        assert_eq!(longest, [("history", &history), ("tags", &tags)], "the vector is none");
        let mixed = finding(&report, "T005").unwrap();
        assert_eq!(mixed["what"], "`price` holds 2 types: 3,999 numbers, 1 string");
    }
    let blind = audit(&[&uri, "--metadata-only"]);
    assert!(finding(&blind, "D001").is_none());

    // The figures equal those of a full reading.
    let whole = audit(&[&uri, "--full"]);
    let counted = audit(&[&uri, "--pushdown", "--metadata-only"]);
    let figures = |report: &Value| {
        let data = &finding(report, "D001").unwrap()["data"];
        ["p50", "p99", "max", "over102400", "over1048576"].map(|key| data[key].clone())
    };
    assert_eq!(figures(&counted), figures(&whole));
}

#[test]
fn what_cannot_be_counted_is_told() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_order_item", needles());
    // The memory limit is so low that the names of a few fields exceed it in a group.
    let memory = doc! { "setParameter": 1, "internalDocumentSourceGroupMaxMemoryBytes": 100 };
    servers.command("admin", memory);
    let counting = doc! {
        "aggregate": "t_order_item",
        "pipeline": [
            { "$unwind": { "path": "$tags", "preserveNullAndEmptyArrays": true } },
            { "$group": { "_id": "$_id", "n": { "$sum": 1 } } },
        ],
        "cursor": {},
        "allowDiskUse": false,
    };
    let refused = servers.try_command("db_shop", counting).unwrap_err().to_string();
    assert!(refused.contains("292") || refused.contains("QueryExceededMemoryLimit"), "{refused}");

    let report = audit(&[&servers.uri(), "--pushdown", "--select", "D001"]);
    let problems = report["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let message = problems[0]["message"].as_str().unwrap();
    assert!(
        message.starts_with("counting in db_shop.t_order_item failed: it has too many"),
        "{message}"
    );
    // The documents that were read are still judged.
    assert!(finding(&report, "D001").is_some(), "{report:#}");
}

#[test]
fn dm_08_1_the_servers_count_is_told_whatever_the_sample_shows() {
    let servers = Launch::standalone().shared().start();
    let items = (0..2000).map(|at| doc! { "_id": at, "tags": vec!["t"; 600 + at as usize % 450] });
    servers.insert("db_shop.t_item", items);
    let uri = servers.uri();
    let told = |how: &[&str]| {
        let report = audit(&[&[uri.as_str(), "--select", "D009"], how].concat());
        let found = report["findings"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{found:#?}");
        (found[0]["what"].clone(), found[0]["data"]["over"].clone())
    };
    let whole = told(&["--full"]);
    assert_eq!(whole.1, 200);
    for sample in ["1000", "80"] {
        assert_eq!(told(&["--pushdown", "--sample", sample]), whole, "{sample}");
    }
    assert_ne!(told(&["--sample", "1000"]), whole, "a sample alone cannot know");
}

/// The server stores such a name, but drivers cannot read it.
#[test]
fn dm_08_1_a_name_that_is_not_utf_8_does_not_cost_the_counts() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_order_item", needles());
    let mut odd =
        bson::RawDocumentBuf::try_from(&doc! { "_id": -1, "kX": 1 }).unwrap().into_bytes();
    let at = odd.windows(2).position(|two| two == b"kX").unwrap() + 1;
    odd[at] = 0xff;
    let odd = bson::RawDocumentBuf::from_bytes(odd).unwrap();
    let shop = servers.client().database("db_shop");
    let target = shop.collection::<bson::RawDocumentBuf>("t_order_item");
    servers.wait(target.insert_one(odd).into_future()).unwrap();
    let report = audit(&[&servers.uri(), "--pushdown", "--metadata-only"]);
    assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{:#}", report["problems"]);
    let large = finding(&report, "D001").unwrap();
    let what = large["what"].as_str().unwrap();
    assert!(what.starts_with("1 of 4,001 documents is larger than"), "{what}");
}
