//! Tests `docward shardkey` with the real binary.

use crate::common::{code, docward, stderr};
use bson::doc;
use docward_testkit::Launch;

fn shardkey(arguments: &[&str]) -> std::process::Output {
    docward(&[&["shardkey"], arguments].concat())
}

#[test]
fn sk_3_shardkey_judges_the_keys_it_is_given() {
    let out = shardkey(&[
        "examples/shop",
        "--collection",
        "t_order",
        "--key",
        r#"{"_id": 1}"#,
        "--key",
        r#"{"_id": "hashed"}"#,
        "--format",
        "json",
    ]);
    assert_eq!(code(&out), 1);
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let keys = report["collections"][0]["keys"].as_array().expect("keys");
    let rises = |key: &serde_json::Value| {
        let checks = key["checks"].as_array().expect("checks").iter();
        let about: Vec<_> = checks.filter(|c| c["clause"] == "SK-3").collect();
        assert_eq!(about.len(), 1, "{key}");
        about[0]["verdict"] == "fail"
    };
    assert_eq!((rises(&keys[0]), rises(&keys[1])), (true, false));
    // The order number is unique, which a key without it could not enforce.
    assert!(keys[1]["refusals"][0].as_str().expect("a reason").contains("`orderNo_1`"));
}

#[test]
fn shardkey_says_what_is_wrong_with_a_key() {
    for (key, says) in [
        ("{", "a key is a JSON document"),
        (r#"{"a": -1}"#, "must be 1 or \"hashed\""),
        ("{}", "at least one field"),
    ] {
        let out = shardkey(&["examples/shop", "--collection", "t_order", "--key", key]);
        assert_eq!(code(&out), 2, "{key}");
        let error = stderr(&out);
        assert!(error.contains(says), "{key}: {error}");
    }
    let several = shardkey(&["examples/shop", "--key", r#"{"_id": 1}"#]);
    assert!(stderr(&several).contains("choose one with --collection"));
}

/// Writes a collection in the format of `mongodump`: options, and documents if it has its own.
fn dumped(options: &str, documents: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let database = directory.path().join("db_shop");
    std::fs::create_dir(&database).expect("a directory");
    let metadata = format!("{{\"options\": {options}, \"indexes\": []}}");
    std::fs::write(database.join("t_order.metadata.json"), metadata).expect("a file");
    if !documents.is_empty() {
        std::fs::write(directory.path().join("t_order.json"), documents).expect("a file");
    }
    directory
}

#[test]
fn shardkey_says_what_cannot_be_judged() {
    for (options, says) in [
        (r#"{"viewOn": "t_order_item", "pipeline": []}"#, "is a view, which cannot be sharded"),
        (
            r#"{"timeseries": {"timeField": "at", "metaField": "device"}}"#,
            "can consist of `device` or fields inside it and, in the last place and not hashed, \
             `at`",
        ),
    ] {
        let dump = dumped(options, "");
        let out = shardkey(&[dump.path().to_str().expect("UTF-8"), "--no-progress"]);
        assert_eq!(code(&out), 2, "{options}");
        let error = stderr(&out);
        assert!(error.contains(says), "{options}: {error}");
    }
    let zone = shardkey(&["examples/shop", "--collection", "t_order", "--zone", "nope"]);
    assert_eq!(code(&zone), 2);
    assert!(stderr(&zone).contains("--zone nope: no document that was read has this field"));
}

#[test]
fn sk_11_values_of_the_zone_field_are_printed_on_demand_only() {
    let documents: String = (0..3000u64)
        .map(|i| {
            let user = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let region = ["Elbonia", "Grand Fenwick"][user as usize % 2];
            format!("{{\"_id\": {user}, \"region\": \"{region}\", \"userId\": {user}}}\n")
        })
        .collect();
    let dump = dumped("{}", &documents);
    let file = dump.path().join("t_order.json");
    let run = |more: &[&str]| {
        let file = file.to_str().expect("UTF-8");
        let zone = ["--namespace", "db_shop.t_order", "--zone", "region", "--no-progress"];
        let out = shardkey(&[&[file], &zone[..], more].concat());
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    for format in ["terminal", "json"] {
        let hidden = run(&["--format", format]);
        assert!(hidden.contains("<value 2>"), "{hidden}");
        assert!(!hidden.contains("Elbonia") && !hidden.contains("Fenwick"), "{hidden}");
        let shown = run(&["--format", format, "--show-values"]);
        assert!(shown.contains("Elbonia") && shown.contains("Grand Fenwick"), "{shown}");
        assert!(!shown.contains("<value") && !shown.contains("--show-values"), "{shown}");
    }
    assert!(run(&[]).contains("--show-values shows them"));
    let json: serde_json::Value = serde_json::from_str(&run(&["--format", "json"])).expect("JSON");
    assert_eq!(json["collections"][0]["zoneValuesHidden"], true);
}

#[test]
fn shardkey_reads_a_part_and_counts_in_words() {
    let documents: String = (0..200).map(|i| format!("{{\"_id\": {i}, \"a\": 1}}\n")).collect();
    let dump = dumped("{}", &documents);
    let file = dump.path().join("t_order.json");
    let run = |more: &[&str]| {
        let file = file.to_str().expect("UTF-8");
        let name = ["--namespace", "db_shop.t_order", "--no-progress"];
        let out = shardkey(&[&[file], &name[..], more].concat());
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let one = run(&["--sample", "1", "--key", r#"{"a": 1}"#]);
    assert!(one.contains("1 different value in 1 document"), "{one}");
    assert!(!one.contains("1 documents") && !one.contains("1 values"), "{one}");
    let all = run(&["--full", "--key", r#"{"a": [1]}"#]);
    assert!(all.is_empty(), "a key that is none: {all}");
    let all = run(&["--full", "--key", r#"{"a": 1}"#]);
    assert!(all.contains("200 documents"), "{all}");
}

#[test]
fn sk_3_a_sample_of_a_running_collection_says_nothing_about_insertion_order() {
    let servers = Launch::standalone().start();
    servers.insert(
        "db_shop.t_order",
        (0..8000u64).map(|n| {
            let id = format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            doc! { "_id": id, "seq": n as i64 }
        }),
    );
    let uri = servers.uri();
    let evidence = |more: &[&str]| {
        let key = ["--key", r#"{"seq": 1}"#, "--format", "json", "--no-progress"];
        let out = shardkey(&[&[uri.as_str(), "--db", "db_shop"], &key[..], more].concat());
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let checks = report["collections"][0]["keys"][0]["checks"].as_array().expect("checks");
        let found = checks.iter().find(|c| c["clause"] == "SK-3").expect("SK-3");
        format!("{}: {}", found["verdict"], found["evidence"])
    };
    // Below a twentieth of the collection, the server uses a random walk.
    let sampled = evidence(&["--sample", "390"]);
    assert!(
        sampled.starts_with("\"unknown\"") && sampled.contains("not read in storage order"),
        "{sampled}"
    );
    let whole = evidence(&["--full"]);
    assert!(whole.starts_with("\"fail\""), "{whole}");
}

/// A secondary stores a batch with several threads, so its order differs from that of inserts.
#[test]
fn sk_3_the_order_of_inserts_is_read_from_the_primary() {
    let servers = Launch::replica_set(3).start();
    servers.insert("db_shop.t_order", (0..500).map(|n| doc! { "_id": n, "state": "open" }));
    let judged = |uri: &str| {
        let key = ["--key", r#"{"_id": 1}"#, "--format", "json", "--no-progress"];
        let out = shardkey(&[&[uri, "--db", "db_shop"], &key[..]].concat());
        let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
        let checks = report["collections"][0]["keys"][0]["checks"].as_array().expect("checks");
        let found = checks.iter().find(|c| c["clause"] == "SK-3").expect("SK-3");
        format!("{}: {}", found["verdict"], found["evidence"])
    };
    // Without a read preference, the primary is read.
    let default = judged(&servers.uri());
    assert!(default.starts_with("\"fail\""), "{default}");
    assert!(default.contains("100 % of the last documents in storage order"), "{default}");
    let secondary = format!("{}&readPreference=secondary", servers.uri());
    let direct = servers.uri_of((servers.primary() + 1) % 3);
    for uri in [&secondary, &direct] {
        let said = judged(uri);
        assert!(!said.starts_with("\"pass\""), "{uri}: {said}");
    }
}

#[test]
fn sk_4_joins_of_other_collections_are_reads_of_the_one_asked_about() {
    let servers = Launch::standalone().start();
    let orders = (0..3000).map(|n| doc! { "_id": n, "customerId": (n * 7919) % 1500 });
    servers.insert("db_shop.t_order", orders);
    servers.insert("db_shop.t_customer", (0..1500).map(|n| doc! { "_id": n }));
    servers.command("db_shop", doc! { "profile": 2 });
    let lookup = doc! { "from": "t_order", "localField": "_id", "foreignField": "customerId", "as": "orders" };
    for n in 0..25 {
        let pipeline = vec![doc! { "$match": { "_id": n } }, doc! { "$lookup": &lookup }];
        let join = doc! { "aggregate": "t_customer", "pipeline": pipeline, "cursor": {} };
        servers.command("db_shop", join);
    }
    let judged = |key: &str| {
        let asked = ["--db", "db_shop", "--collection", "t_order", "--no-progress", "--key", key];
        let out = shardkey(&[&[servers.uri().as_str()], &asked[..]].concat());
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let text = judged(r#"{"customerId": 1}"#);
    let said = "pass    SK-4  100 % of 25 reads (25 by a $lookup of other collections) filter on its \
         first";
    assert!(text.contains(said), "{text}");
    servers.command("db_shop", doc! { "profile": 0 });
    servers.command("db_shop", doc! { "drop": "system.profile" });
    servers.command("db_shop", doc! { "profile": 2 });
    servers.command("db_shop", doc! { "find": "t_order", "filter": { "customerId": 7 } });
    let text = judged(r#"{"customerId": 1}"#);
    assert!(text.contains("1 read (too few to judge by)"), "{text}");
}

/// Shard keys are judged by documents and reads, which needs no privileges for accounts or options.
#[test]
fn gc_33_who_may_read_and_watch_may_judge_shard_keys() {
    let servers = Launch::standalone().auth().start();
    servers.insert("db_shop.t_order", (0..3000).map(|n| doc! { "_id": n, "customerId": n % 1500 }));
    let login = servers.create_user("watcher", bson::bson!(["readAnyDatabase", "clusterMonitor"]));
    let uri = servers.uri_as(Some(&login));
    let key = ["--key", r#"{"customerId": 1, "_id": 1}"#, "--format", "json", "--no-progress"];
    let out = shardkey(&[&[uri.as_str(), "--db", "db_shop"], &key[..]].concat());
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(0), "{:#}", report["problems"]);
    assert_ne!(code(&out), 2, "{}", stderr(&out));
}
