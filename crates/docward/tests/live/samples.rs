//! What a sample says about all documents.

use bson::{Bson, DateTime, doc, oid::ObjectId};
use docward_testkit::Launch;
use serde_json::Value;

use super::{json, plain_documents, problems};
use crate::common::{cut_by_time, has_documents};

#[test]
fn a_sample_is_stated_and_metadata_only_reads_nothing() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_plain.t_invoice", plain_documents(6000));
    let uri = servers.uri();

    // A random walk, random selection, and all documents.
    for (sample, least, most) in [("200", 200, 200), ("3000", 2500, 3500), ("6000", 6000, 6000)] {
        let report = json(&[&uri, "--sample", sample]);
        let source = &report["sources"][0];
        let read = source["documents"].as_u64().unwrap();
        assert!((least..=most).contains(&read), "{sample}: {source}");
        assert_eq!(source["sampled"], most < 6000);
        assert!(source["server"].as_str().unwrap().contains("read preference secondaryPreferred"));
        let finding = report["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "T001");
        let seen = &finding.expect("dates are text")["seen"];
        assert_eq!((seen["sampled"].as_u64(), seen["total"].as_u64()), (Some(read), Some(6000)));
    }

    let indexes = [
        doc! { "key": { "amount": 1 }, "name": "amount_1" },
        doc! { "key": { "amount": 1, "createTime": 1 }, "name": "amount_1_createTime_1" },
    ];
    servers.command("db_plain", doc! { "createIndexes": "t_invoice", "indexes": indexes.to_vec() });
    let report = json(&[&uri, "--metadata-only"]);
    assert_eq!(report["sources"][0]["documents"], 0);
    let rules: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["rule"].as_str().unwrap())
        .collect();
    assert!(rules.contains(&"I001"), "{rules:?}");
    assert!(!rules.contains(&"T001"), "{rules:?}");
}

/// Every finding states what a sample says about all documents, and the statement is correct.
#[test]
fn a_sample_says_what_it_knows_of_all_documents() {
    let servers = Launch::standalone().shared().start();
    // One amount in twenty is a string.
    let documents = (0..8000).map(|n| {
        let amount = if n % 20 == 7 { Bson::from(n.to_string()) } else { Bson::from(n) };
        doc! { "_id": ObjectId::new(), "amount": amount, "createTime": "2024-03-15 10:30:00" }
    });
    servers.insert("db_plain.t_invoice", documents);
    let of = |report: &Value, rule: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|f| f["rule"] == rule).unwrap_or_else(|| panic!("no {rule}"))["seen"]
            .clone()
    };
    for sample in ["300", "2000"] {
        let report = json(&[&servers.uri(), "--sample", sample]);
        let mixed = of(&report, "T005");
        let (low, high) =
            (mixed["share"][0].as_f64().unwrap(), mixed["share"][1].as_f64().unwrap());
        let shown = mixed["showing"].as_f64().unwrap() / mixed["sampled"].as_f64().unwrap();
        assert!(low <= shown && shown <= high && high - low < 0.08, "{mixed}");
        // A random result is outside the 95 % interval once in twenty runs, but never by seven
        // standard deviations.
        assert!(low < 0.1 && high > 0.02, "{mixed}");
        let unseen = mixed["unseen_below"].as_f64().unwrap();
        assert!((unseen - 3.0 / mixed["sampled"].as_f64().unwrap()).abs() < 1e-6, "{mixed}");
        assert_eq!((&mixed["confidence"], mixed.get("by_chance")), (&0.95.into(), None));
    }
    let all = of(&json(&[&servers.uri(), "--full"]), "T005");
    assert_eq!(
        (all["confidence"].as_f64(), all.get("share"), all.get("unseen_below")),
        (Some(1.0), None, None)
    );
    // A run that ended early is not a sample.
    let (cut, _) = cut_by_time(has_documents, |seconds| {
        json(&[&servers.uri(), "--full", "--max-time", seconds, "--max-rate", "200"])
    });
    let seen = of(&cut, "T001");
    assert_eq!(
        (&seen["by_chance"], seen.get("share"), seen.get("unseen_below")),
        (&false.into(), None, None)
    );
    let read = seen["sampled"].as_f64().unwrap();
    assert!((seen["confidence"].as_f64().unwrap() - read / 8000.0).abs() < 1e-9, "{seen}");
}

/// PT-ref.1, PT-ref.3: two samples share hardly any documents, so references are looked up.
#[test]
fn references_are_found_between_collections_larger_than_their_samples() {
    let servers = Launch::standalone().shared().start();
    let ids: Vec<ObjectId> = (0..4000).map(|_| ObjectId::new()).collect();
    let customers = ids.iter().enumerate().map(|(n, id)| {
        doc! { "_id": id, "name": format!("Customer {n}"), "createTime": DateTime::now() }
    });
    servers.insert("db_shop.t_customer", customers);
    // One order in five belongs to a missing customer. One in four has kept an old name.
    let orders = (0..5000).map(|n: usize| {
        let customer = if n.is_multiple_of(5) { ObjectId::new() } else { ids[n % ids.len()] };
        let name = match n % 4 {
            0 => "An old name".to_owned(),
            _ => format!("Customer {}", n % ids.len()),
        };
        doc! { "_id": ObjectId::new(), "customerId": customer, "customerName": name, "lines": [{ "sku": 1 }] }
    });
    servers.insert("db_shop.t_order", orders);
    let notes = (0..5000).map(|n: usize| {
        doc! { "_id": ObjectId::new(), "customerId": ids[n % ids.len()], "lines": "called" }
    });
    servers.insert("db_shop.t_visit", notes);
    // Lists of ids, all of which exist.
    let teams = (0..3000).map(|n: usize| {
        let members: Vec<Bson> = (0..9).map(|m| ids[(n * 7 + m * 31) % ids.len()].into()).collect();
        doc! { "_id": ObjectId::new(), "customerIds": members, "lines": "team" }
    });
    servers.insert("db_shop.t_team", teams);
    let found = |options: &[&str]| {
        let report = json(&[&[servers.uri().as_str()], options].concat());
        assert_eq!(problems(&report), Vec::<String>::new());
        let findings = report["findings"].as_array().unwrap().clone();
        let about = |f: &Value| ["R002", "R003", "R007"].contains(&f["rule"].as_str().unwrap());
        findings.into_iter().filter(about).collect::<Vec<_>>()
    };
    let rules = |findings: &[Value]| -> Vec<String> {
        let mut rules: Vec<_> = findings
            .iter()
            .map(|f| {
                format!("{} {}", f["rule"].as_str().unwrap(), f["namespace"].as_str().unwrap())
            })
            .collect();
        rules.sort();
        rules
    };
    let all = found(&["--full"]);
    let expected = [
        "R002 db_shop.t_order",
        "R002 db_shop.t_team",
        "R002 db_shop.t_visit",
        "R003 db_shop.t_order",
        "R007 db_shop.t_order",
    ];
    assert_eq!(rules(&all), expected);
    let sampled = found(&["--sample", "150"]);
    assert_eq!(rules(&sampled), expected);
    // A sample has only some children of each parent, so embedding is not recommended.
    let report = json(&[&servers.uri(), "--sample", "150", "--select", "R013"]);
    let advice = report["findings"].to_string();
    assert!(!advice.contains("embedding `t_visit`"), "{advice}");
    let dangling = sampled.iter().find(|f| f["rule"] == "R003").unwrap();
    let (checked, missing) = (
        dangling["data"]["checked"].as_f64().unwrap(),
        dangling["data"]["missing"].as_f64().unwrap(),
    );
    assert!(checked >= 50.0 && (0.05..0.45).contains(&(missing / checked)), "{dangling}");
}

/// A random walk prefers small documents, because it selects pages and not documents. It is not
/// used if documents are large.
#[test]
fn a_sample_is_not_taken_where_documents_are_large() {
    let servers = Launch::standalone().shared().start();
    let small = (0..20_000).map(|n| doc! { "_id": ObjectId::new(), "age": n.to_string() });
    servers.insert("db_plain.t_page", small);
    let large = (0..1000).map(|n| {
        doc! { "_id": ObjectId::new(), "age": n, "text": "x".repeat(30_000) }
    });
    servers.insert("db_plain.t_page", large);
    let report = json(&[&servers.uri(), "--sample", "600"]);
    let findings = report["findings"].as_array().unwrap();
    let seen = &findings.iter().find(|f| f["rule"] == "T005").unwrap()["seen"];
    let (low, high) = (seen["share"][0].as_f64().unwrap(), seen["share"][1].as_f64().unwrap());
    // Twenty in twenty-one documents are strings, and a walk over pages would find almost none of
    // the others. These bounds are far from 0.952: in samples of 600 documents, the share varies by
    // less than 0.009.
    assert!(low > 0.86 && low < 0.98 && high > 0.90, "{seen}");
}

#[test]
fn a_sample_ends_though_the_server_has_lost_count() {
    let mut servers = Launch::standalone().argument("--syncdelay").argument("0").start();
    servers.insert("db_plain.t_invoice", plain_documents(20_000));
    // The write waits for the journal, so the earlier documents are stored. Their number is not.
    let mark = doc! { "insert": "t_mark", "documents": [{}], "writeConcern": { "j": true } };
    servers.command("db_mark", mark);
    servers.kill(0);
    servers.restart(0);
    let count = servers.command("db_plain", doc! { "count": "t_invoice" });
    assert!(
        count.get_i32("n").unwrap() < 20_000,
        "it counts right, so this shows nothing: {count}"
    );
    let report = json(&[&servers.uri(), "--db", "db_plain", "--sample", "500"]);
    let read = report["sources"][0]["documents"].as_u64().unwrap();
    assert!((300..700).contains(&read), "{read}");
    assert_eq!(report["sources"][0]["sampled"], true);
    let findings = report["findings"].as_array().unwrap();
    let seen = &findings.iter().find(|f| f["rule"] == "T001").unwrap()["seen"];
    assert_eq!((seen["sampled"].as_u64(), seen["total"].as_u64()), (Some(read), Some(20_000)));
    // A partial run must not look like a full one.
    let (cut, _) = cut_by_time(has_documents, |seconds| {
        let limits = ["--full", "--max-time", seconds, "--max-rate", "500"];
        json(&[&[servers.uri().as_str(), "--db", "db_plain"], &limits[..]].concat())
    });
    let findings = cut["findings"].as_array().unwrap();
    let seen = &findings.iter().find(|f| f["rule"] == "T001").unwrap()["seen"];
    assert!(seen["sampled"].as_u64().unwrap() < 20_000, "{seen}");
    // The time limit may end the run before the documents are counted. The total is then a lower
    // bound.
    assert!(seen["total"].as_u64() > seen["sampled"].as_u64(), "{seen}");
    assert_eq!(cut["sources"][0]["sampled"], true);
    // A full run still reads all documents, and so does a sample larger than the collection.
    for more in [&["--full"][..], &["--sample", "30000"]] {
        let report = json(&[&[servers.uri().as_str(), "--db", "db_plain"], more].concat());
        assert_eq!(report["sources"][0]["documents"], 20_000, "{more:?}");
        assert_eq!(report["sources"][0]["sampled"], false, "{more:?}");
    }
}

/// References to documents of several megabytes are found without transferring them.
#[test]
fn references_to_large_documents_are_found() {
    let servers = Launch::standalone().shared().start();
    let ids: Vec<ObjectId> = (0..60).map(|_| ObjectId::new()).collect();
    let films = ids.iter().map(|id| doc! { "_id": id, "script": "x".repeat(700_000) });
    servers.insert("db_cinema.t_film", films);
    let shows = (0..4000).map(|n: usize| {
        doc! { "_id": ObjectId::new(), "filmId": ids[n % ids.len()], "hall": (n % 9) as i32 }
    });
    servers.insert("db_cinema.t_show", shows);
    let report = json(&[&servers.uri(), "--sample", "40", "--select", "R002"]);
    assert_eq!(problems(&report), Vec::<String>::new());
    let found = &report["findings"][0];
    assert_eq!(found["namespace"], "db_cinema.t_show", "{report:#}");
}

/// DM-11.3: a count that takes too long is cancelled, and every report format says so.
#[test]
fn dm_11_3_a_count_that_takes_too_long_is_told_in_the_report() {
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_shop.t_user", (1..=50).map(|n| doc! { "_id": n, "email": "a@b" }));
    let schema = doc! { "$jsonSchema": { "properties": { "email": { "pattern": "@" } } } };
    servers.command("db_shop", doc! { "collMod": "t_user", "validator": schema });
    let _late = servers.fail_point(
        0,
        doc! { "times": 100 },
        doc! { "failCommands": ["count", "aggregate"], "errorCode": 50, "namespace": "db_shop.t_user" },
    );
    let report = json(&[&servers.uri(), "--select", "V"]);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains(
            "db_shop.t_user: the server did not count the documents that break the \
     validator within 5 s"
        ),
        "{notes}"
    );
}
