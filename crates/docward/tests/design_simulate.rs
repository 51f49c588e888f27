//! `design simulate` on running servers: compares predictions with measurements, and checks that
//! nothing is left behind.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Child, Command, Stdio};

use crate::common::{code, docward, root, signal, stderr, stdout};
use bson::doc;
use docward_testkit::{Launch, Servers, wait_until};
use serde_json::Value;

/// Returns the existing scratch databases.
fn scratch(servers: &Servers) -> Vec<String> {
    let reply = servers.command("admin", doc! { "listDatabases": 1, "nameOnly": true });
    let all = reply.get_array("databases").unwrap().iter();
    let names = all.map(|row| row.as_document().unwrap().get_str("name").unwrap().to_owned());
    names.filter(|name| name.starts_with("docward_simulate_")).collect()
}

fn run(servers: &Servers, model: &str, more: &[&str]) -> Value {
    run_file(servers, &format!("examples/models/{model}.yaml"), more)
}

fn run_file(servers: &Servers, model: &str, more: &[&str]) -> Value {
    let uri = servers.uri();
    let mut arguments = vec!["design", "simulate", model, "--uri", &uri, "--yes"];
    arguments.extend(["--operations", "300", "--format", "json"]);
    if !more.contains(&"--parents") {
        arguments.extend(["--parents", "200"]);
    }
    arguments.extend(more);
    let output = docward(&arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(scratch(servers).is_empty(), "nothing is left behind");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Visits every alternative of every relationship and series.
fn each_way(report: &Value, mut with: impl FnMut(&str, &Value)) {
    for (list, name) in [("relationships", "relationship"), ("series", "entity")] {
        for simulated in report[list].as_array().unwrap() {
            for way in simulated["ways"].as_array().unwrap() {
                with(simulated[name].as_str().unwrap(), way);
            }
        }
    }
}

/// Visits every alternative of every relationship and series with each of its operations.
fn each_operation(report: &Value, mut with: impl FnMut(&str, &str, &Value)) {
    each_way(report, |name, way| {
        for operation in way["operations"].as_array().unwrap() {
            with(name, way["way"].as_str().unwrap(), operation);
        }
    });
}

fn assert_predicted(report: &Value) {
    let mut seen = 0;
    each_operation(report, |relationship, way, operation| {
        let figure = |key: &str, of: &str| operation[key][of].as_f64().unwrap();
        let place = format!("{relationship} {way}: {operation:#}");
        let (predicted, measured) =
            (figure("documents", "predicted"), figure("documents", "measured"));
        assert!((predicted - measured).abs() < 1e-6, "documents of {place}");
        // A write runs only thirty times on documents of many sizes, so its mean is inaccurate. The
        // same holds for forty courses that all students share.
        if operation["writes"] == false {
            let most = if relationship == "user.courses" { 0.5 } else { 0.15 };
            assert!(figure("bytes", "error").abs() < most, "bytes of {place}");
        }
        seen += 1;
    });
    assert!(seen > 0);
    each_way(report, |name, way| {
        let place = format!("{name} {}", way["way"]);
        let error = |of: &Value| of["error"].as_f64().unwrap();
        let few = ["user.courses", "item.product"].contains(&name);
        // The size of the server's buckets is only estimated.
        let packed = way["way"] == "time-series";
        let most = if packed || few { 0.5 } else { 0.15 };
        assert!(error(&way["dataBytes"]).abs() < most, "{place}: {}", way["dataBytes"]);
        if !packed {
            assert_eq!(way["documents"]["predicted"], way["documents"]["measured"], "{place}");
        }
        // A small index is mostly the file around it.
        if way["indexBytes"]["measured"].as_f64().unwrap() > 500_000.0 {
            assert!(error(&way["indexBytes"]).abs() < 0.35, "{place}: {}", way["indexBytes"]);
        }
        let parent = &way["parentBytes"];
        if !parent.is_null() {
            // If a list in the parent has a long tail, the largest of two hundred is random.
            for (figure, most) in [("p50", 0.15), ("p99", 0.4), ("max", 0.7)] {
                let most = if few { 0.7 } else { most };
                assert!(error(&parent[figure]).abs() < most, "{place} {figure}: {parent}");
            }
        }
    });
}

fn ways(report: &Value) -> Vec<(&str, Vec<&str>)> {
    let word = |value: &'_ Value| value.as_str().unwrap().to_owned().leak() as &str;
    let all = report["relationships"].as_array().unwrap().iter();
    all.map(|relationship| {
        let ways = relationship["ways"].as_array().unwrap();
        let names = ways.iter().map(|way| word(&way["way"])).collect();
        (word(&relationship["relationship"]), names)
    })
    .collect()
}

#[test]
fn alg_2_alg_5_predictions_are_what_a_server_measures() {
    let servers = Launch::standalone().shared().start();
    let names = ["--relationship", "order.items", "--relationship", "product.reviews"];
    let shop = run(&servers, "shop", &names);
    assert_predicted(&shop);
    let expected = [
        ("order.items", vec!["embed", "reference"]),
        ("product.reviews", vec!["hybrid", "embed", "reference"]),
    ];
    assert_eq!(ways(&shop), expected, "the chosen alternative first");
    let standalone = shop["notes"].to_string();
    assert!(standalone.contains("has no transactions"), "{standalone}");

    assert_predicted(&run(&servers, "blog", &["--relationship", "post.comments"]));

    let social = run(&servers, "social", &[]);
    assert_predicted(&social);
    assert_eq!(ways(&social).len(), 2, "all but those who follow each other");
    assert!(social["skipped"].to_string().contains("user.followees"));
}

#[test]
fn er_t_6_pt_junction_1_children_that_parents_share_are_stored_in_four_ways() {
    let servers = Launch::standalone().shared().start();
    let chat = run(&servers, "chat", &["--relationship", "room.members"]);
    assert_predicted(&chat);
    let all = ["child-ids-in-parent", "embed", "parent-ids-in-child", "junction"];
    assert_eq!(ways(&chat), [("room.members", all.to_vec())], "the chosen alternative first");
    let relationship = &chat["relationships"][0];
    // 200,000 users and 30,000 rooms.
    assert_eq!(relationship["differentChildren"], 1333);
    assert!(chat["notes"].to_string().contains("shared children evenly"), "{}", chat["notes"]);
    let documents = |way: &str, name: &str| {
        let mut found = None;
        each_operation(&chat, |_, at, operation| {
            if at == way && operation["name"] == name {
                found = operation["documents"]["measured"].as_f64();
            }
        });
        found.unwrap()
    };
    // PT-extref.1: the room has copies of names and pictures, so nothing else is read.
    assert!((documents("child-ids-in-parent", "room") - 1.0).abs() < 1e-9);
    assert!(documents("parent-ids-in-child", "room") > 5.0);
    assert!(documents("junction", "room") > 5.0, "pairs have the copies");
    // PT-extref.2: a change of a picture changes its copies.
    assert!(documents("child-ids-in-parent", "sign up or edit") > 2.0);
    assert!(documents("embed", "sign up or edit") > 1.0);
    assert!((documents("parent-ids-in-child", "sign up or edit") - 1.0).abs() < 1e-9);

    // Each parent has one child, which many parents share.
    let shop = run(&servers, "shop", &["--relationship", "item.product"]);
    assert_predicted(&shop);
}

#[test]
fn pt_ts_1_pt_bucket_1_readings_are_stored_in_three_ways() {
    let servers = Launch::standalone().shared().start();
    let iot = run(&servers, "iot", &["--series", "reading", "--readings", "20000"]);
    assert_predicted(&iot);
    let series = &iot["series"][0];
    let names: Vec<&str> =
        series["ways"].as_array().unwrap().iter().map(|w| w["way"].as_str().unwrap()).collect();
    assert_eq!(names, ["time-series", "documents", "buckets"], "the chosen alternative first");
    assert_eq!((&series["series"], &series["readings"]), (&6.into(), &3333.into()));
    let documents: Vec<f64> = series["ways"]
        .as_array()
        .unwrap()
        .iter()
        .map(|way| way["documents"]["measured"].as_f64().unwrap())
        .collect();
    // A bucket is an hour with sixty readings, so 3,333 readings need 56 buckets.
    assert!((documents[1] - 19_998.0).abs() < 1e-9 && (documents[2] - 336.0).abs() < 1e-9);
    assert!(documents[0] < 100.0, "{documents:?}");

    let chat = run(&servers, "chat", &["--series", "message", "--readings", "20000"]);
    assert_predicted(&chat);
    let series = &chat["series"][0];
    assert_eq!(series["ways"].as_array().unwrap().len(), 2);
    assert!(series["notes"].to_string().contains("GC-30"), "{}", series["notes"]);
    let mut operations = Vec::new();
    each_operation(&chat, |_, way, op| {
        if way == "buckets" {
            operations.push(op["name"].as_str().unwrap().to_owned());
        }
    });
    assert_eq!(operations, ["open a room", "send", "edit a message"]);
}

/// Scanned pages: few, too large to embed, always read with their book and never by id.
const PAGES: &str = "name: library
entities:
  book:
    count: 10k
    lifecycle: {growth: 1k/year, kept: forever}
    fields: {title: {type: string, bytes: 40}}
  page:
    count: 200k
    lifecycle: {growth: 20k/year, kept: forever}
    fields: {number: int, scan: {type: binData, bytes: {typical: 20 KB, p99: 30 KB}}}
relationships:
  book.pages: {child: page, children: {p50: 20, p95: 60, p99: 120, max: 200}, growth: bounded}
reads:
  book with pages: {from: book, where: [_id], with: [book.pages], rate: 5/s}
  page: {from: page, where: [_id], rate: 1/s}
writes:
  buy: {insert: book, rate: 1/min}
  scan: {insert: page, rate: 1/min}
  burn: {delete: page, rate: 1/h}
";

#[test]
fn gc_07_a_parent_that_lists_its_children_grows_by_their_ids() {
    let servers = Launch::standalone().shared().start();
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("library.yaml");
    std::fs::write(&model, PAGES).unwrap();
    let report = run_file(&servers, model.to_str().unwrap(), &["--parents", "40"]);
    let relationship = &report["relationships"][0];
    assert_eq!(relationship["verdict"], "reference");
    let way = &relationship["ways"][0];
    assert_eq!(way["way"], "reference");
    // An id in the list needs 12 bytes and its index position. The unique index prevents
    // duplicates.
    assert!(way["parentBytes"]["p50"]["measured"].as_f64().unwrap() > 300.0, "{way:#}");
    assert!(way["indexBytes"]["measured"].as_f64().unwrap() > 0.0, "{way:#}");
    assert_predicted(&report);
}

/// Copies that follow a change, one embedded object, and a list with a long tail.
const COPIES: &str = "name: copies
entities:
  customer:
    count: 1k
    lifecycle: {growth: 0, kept: forever}
    fields: {name: string, email: string}
  settings:
    count: 1k
    lifecycle: {growth: 0, kept: forever}
    fields: {theme: string, signature: {type: string, bytes: 200}}
  order:
    count: 100k
    lifecycle: {growth: 1k/day, kept: forever}
    fields: {no: {type: string, unique: true}, at: date}
  book:
    count: 1k
    lifecycle: {growth: 0, kept: forever}
    fields: {title: string}
  buyer:
    count: 2k
    lifecycle: {growth: 1/day, kept: forever}
    fields: {email: {type: string, bytes: 2 KB}}
relationships:
  customer.orders: {child: order, children: {p50: 100, p99: 1500, max: 2000}, growth: endless}
  customer.settings: {child: settings, children: 1}
  book.buyers: {child: buyer, children: {p50: 1, p95: 2, p99: 4, max: 5000}, growth: bounded}
reads:
  order: {from: order, where: [no], with: {customer.orders: [name, email]}, rate: 10/s}
  customer: {from: customer, where: [_id], with: [customer.settings], rate: 9/s}
  book: {from: book, where: [_id], with: [book.buyers], rate: 9/s}
writes:
  come: {insert: [customer, settings, book], rate: 1/h}
  set: {update: settings, rate: 1/h}
  place: {insert: [order, buyer], rate: 1/s}
  rename: {update: customer, sets: [customer.name], rate: 1/min}
";

#[test]
fn pt_extref_2_pt_embed_1_pt_outlier_1_copies_parts_and_long_tails_are_measured_or_told() {
    let servers = Launch::standalone().shared().start();
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("copies.yaml");
    std::fs::write(&model, COPIES).unwrap();
    let report = run_file(&servers, model.to_str().unwrap(), &["--parents", "100"]);
    let of = |name: &str| -> Value {
        let all = report["relationships"].as_array().unwrap();
        all.iter().find(|found| found["relationship"] == name).unwrap().clone()
    };
    // A renamed customer is also renamed in the copies of the orders.
    let mut renamed = Vec::new();
    each_operation(&report, |name, way, operation| {
        if name == "customer.orders" && operation["name"] == "rename" {
            let figure = |of: &str| operation["documents"][of].as_f64().unwrap();
            assert!((figure("predicted") - figure("measured")).abs() < 1e-6, "{operation:#}");
            renamed.push((way.to_owned(), figure("measured")));
        }
    });
    let [(first, many), (second, one)] = renamed.as_slice() else { panic!("{renamed:?}") };
    assert_eq!((first.as_str(), second.as_str(), *one), ("reference", "embed", 1.0));
    assert!(*many > 50.0, "{renamed:?}");
    // The embedded object needs as many documents as there are parents.
    let settings = of("customer.settings");
    assert_eq!(settings["verdict"], "embed");
    assert_eq!(settings["ways"][0]["documents"]["measured"], 100.0, "{settings:#}");
    // The report states what is not simulated.
    assert!(of("book.buyers")["notes"].to_string().contains("PT-outlier.1"), "{report:#}");
}

const AWAY: &str = "\
entities:
  match: {count: 10k, lifecycle: {growth: 10k/year, kept: forever}, fields: {map: string}}
  player: {count: 1k, lifecycle: {growth: 1k/year, kept: forever}, fields: {name: string}}
  score: {count: 40k, lifecycle: {growth: 40k/year, kept: forever}, fields: {points: int}}
relationships:
  match.scores: {child: score, children: {p50: 4, p95: 8, p99: 10, max: 12}, growth: bounded}
  player.scores: {child: score, children: {p50: 30, p95: 90, p99: 200, max: 400}, growth: endless}
reads:
  match: {from: match, where: [_id], with: [match.scores], rate: 9/s}
  profile: {from: player, where: [_id], with: [player.scores], rate: 1/s}
writes:
  play: {insert: [match, score], rate: 1/min, atomic: true}
  join: {insert: player, rate: 1/h}
";

/// The design embeds scores in their match. The simulation of a player's scores stores them
/// separately.
#[test]
fn dm_07_6_children_that_live_in_another_document_are_told() {
    let servers = Launch::standalone().shared().start();
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("away.yaml");
    std::fs::write(&model, AWAY).unwrap();
    let model = model.to_str().unwrap();
    let report = run_file(&servers, model, &["--parents", "20"]);
    let of = |name: &str| -> Value {
        let all = report["relationships"].as_array().unwrap();
        all.iter().find(|found| found["relationship"] == name).unwrap().clone()
    };
    let told = "the design stores `score` in the documents of `match` (`match.scores`)";
    let away = of("player.scores");
    assert!(away["notes"].to_string().contains(told), "{away:#}");
    assert_eq!(away["chosenIsFastest"], Value::Null, "{away:#}");
    let home = of("match.scores");
    assert!(!home["notes"].to_string().contains("the design stores"), "{home:#}");
    assert_ne!(home["chosenIsFastest"], Value::Null, "{home:#}");
    // The text never mentions a chosen alternative that was not built.
    let uri = servers.uri();
    let arguments = ["design", "simulate", model, "--uri", &uri, "--relationship", "player.scores"];
    let before = stdout(&docward(&arguments));
    assert!(before.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{before}");
    let scale = ["--yes", "--parents", "20", "--operations", "50"];
    let after = stdout(&docward(&[&arguments[..], &scale].concat()));
    assert!(after.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{after}");
    assert!(!after.contains("the chosen alternative"), "{after}");
}

#[test]
fn ck_10_what_is_all_or_nothing_is_a_transaction_on_a_replica_set() {
    let servers = Launch::replica_set(1).shared().start();
    let shop = run(&servers, "shop", &["--relationship", "order.items"]);
    assert_predicted(&shop);
    let mut transactions = Vec::new();
    each_operation(&shop, |_, way, operation| {
        if operation["transaction"] == true {
            transactions.push((way.to_owned(), operation["name"].as_str().unwrap().to_owned()));
        }
    });
    assert_eq!(transactions, [("reference".to_owned(), "place an order".to_owned())]);
}

#[test]
fn the_same_seed_gives_the_same_documents() {
    let servers = Launch::standalone().shared().start();
    let figures = |seed: &str| {
        let report =
            run(&servers, "shop", &["--relationship", "customer.addresses", "--seed", seed]);
        let mut found = Vec::new();
        each_operation(&report, |_, _, op| found.push(op["bytes"]["measured"].to_string()));
        found
    };
    assert_eq!(figures("7"), figures("7"));
    assert_ne!(figures("7"), figures("8"));
}

#[test]
fn without_yes_nothing_is_written() {
    let servers = Launch::standalone().shared().start();
    let uri = servers.uri();
    let output = docward(&["design", "simulate", "examples/models/social.yaml", "--uri", &uri]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("docward_simulate_") && text.contains("nothing was written"), "{text}");
    assert!(text.contains("user.courses (junction): "), "{text}");
    assert!(text.contains("not simulated: user.followees"), "{text}");
    assert!(scratch(&servers).is_empty());
}

#[test]
fn the_scratch_database_is_kept_when_asked_for() {
    let servers = Launch::standalone().shared().start();
    let uri = servers.uri();
    let model = "examples/models/shop.yaml";
    let mut arguments = vec!["design", "simulate", model, "--uri", &uri, "--yes", "--keep"];
    arguments.extend(["--relationship", "order.items", "--parents", "10", "--operations", "20"]);
    let output = docward(&arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(scratch(&servers).len(), 1);
}

/// Starts a run that takes some time.
fn begin(servers: &Servers) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("docward"));
    command.args(["design", "simulate", "examples/models/blog.yaml", "--uri", &servers.uri()]);
    command.args(["--relationship", "post.comments", "--parents", "30000", "--yes"]);
    let child = command.current_dir(root()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    wait_until("it does not begin", || !scratch(servers).is_empty());
    child
}

#[test]
fn signals_end_it_and_leave_nothing_behind() {
    let servers = Launch::standalone().shared().start();
    for name in ["TERM", "INT"] {
        let child = begin(&servers);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains("stopped before the end"), "{}", stderr(&output));
        assert!(stderr(&output).contains("was dropped"), "{}", stderr(&output));
        assert!(scratch(&servers).is_empty(), "after {name}");
    }
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let servers = Launch::standalone().fail_points().start();
    let failing = servers.fail_point(
        0,
        doc! { "skip": 40 },
        doc! { "failCommands": ["find"], "errorCode": 2, "appName": "docward" },
    );
    let uri = servers.uri();
    let model = "examples/models/shop.yaml";
    let mut arguments = vec!["design", "simulate", model, "--uri", &uri, "--yes"];
    arguments.extend(["--relationship", "order.items", "--parents", "50"]);
    let output = docward(&arguments);
    assert_eq!(code(&output), 2, "{}{}", stdout(&output), stderr(&output));
    let told = stderr(&output);
    assert!(told.contains("running the declared operations failed (code 2)"), "{told}");
    assert!(told.contains("was dropped"), "{told}");
    drop(failing);
    assert!(scratch(&servers).is_empty());
}

#[test]
fn gc_33_an_account_that_may_not_write_is_told_what_is_missing() {
    let servers = Launch::standalone().auth().start();
    let user = servers.create_user("reader", vec!["readAnyDatabase"]);
    let uri = servers.uri_as(Some(&user));
    let model = "examples/models/shop.yaml";
    let output = docward(&["design", "simulate", model, "--uri", &uri, "--yes"]);
    let told = stderr(&output);
    assert_eq!(code(&output), 2, "{told}");
    assert!(!told.contains("reader-password"), "{told}");
    assert!(told.contains("may not") && told.contains("readWriteAnyDatabase"), "{told}");
    assert!(scratch(&servers).is_empty());
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let dead = "mongodb://someone:secret@127.0.0.1:1/?serverSelectionTimeoutMS=300";
    let shop = "examples/models/shop.yaml";
    let refused = |arguments: &[&str], words: &str| {
        let mut all = vec!["design", "simulate"];
        all.extend(arguments);
        all.extend(["--uri", dead, "--yes"]);
        let output = docward(&all);
        let told = stderr(&output);
        assert_eq!(code(&output), 2, "{told}");
        assert!(told.contains(words), "{told}");
        assert!(!told.contains("secret"), "{told}");
    };
    refused(&[shop], "no server answered");
    refused(&[shop, "--parents", "0"], "--parents is 0");
    refused(&[shop, "--operations", "9999999"], "choose a number from 1 to 1,000,000");
    refused(&[shop, "--relationship", "order.item"], "did you mean `order.items`?");
    refused(&[shop, "--relationship", "x"], "there are `customer.addresses`");
    let tree = ["examples/models/catalogue.yaml", "--relationship", "category.subcategories"];
    refused(&tree, "no relationship and no series that can be simulated");
    let iot = "examples/models/iot.yaml";
    refused(&[iot, "--series", "readings"], "did you mean `reading`?");
    refused(&[shop, "--series", "reading"], "it has none");
    refused(&[iot, "--readings", "0"], "--readings is 0");
}

#[test]
fn undecided_relationships_are_named_and_skipped() {
    let servers = Launch::standalone().shared().start();
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("open.yaml");
    let whole = std::fs::read_to_string(root().join("examples/models/shop.yaml")).unwrap();
    // The model no longer says whether the lines of an order are bounded.
    let (before, after) = whole.split_once("  order.items:").unwrap();
    let open = format!("{before}  order.items:{}", after.replacen("    growth: bounded\n", "", 1));
    std::fs::write(&model, open).unwrap();
    let uri = servers.uri();
    let output = docward(&["design", "simulate", model.to_str().unwrap(), "--uri", &uri]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("not simulated: order.items: it is undecided"));
}
