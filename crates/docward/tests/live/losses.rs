//! Servers that hang, disappear or lose a connection during an audit.

use bson::{Bson, Uuid, doc, oid::ObjectId};
use docward_testkit::{Launch, Servers};
use serde_json::Value;

use super::{grant_proposed, interrupted_in, json, plain_documents, problems, report};
use crate::common::cut_by_time;

#[test]
fn facts_are_asked_a_second_time_after_a_cut() {
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    for (at, command) in
        ["getCmdLineOpts", "usersInfo", "listCollections", "listIndexes"].iter().enumerate()
    {
        let point = servers.fail_point(
            0,
            doc! { "times": 1 },
            doc! { "failCommands": [*command], "closeConnection": true, "appName": "docward" },
        );
        let report = json(&[&servers.uri()]);
        // The server goes on counting.
        assert_eq!(point.hits(), at as i64 + 1, "{command}");
        assert_eq!(problems(&report), Vec::<String>::new(), "{command}");
        assert_eq!(report["sources"][0]["documents"], 50, "{command}");
    }
}

#[test]
fn a_catalogue_that_hangs_ends_with_the_time_allowed() {
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    servers.block(0, &["listIndexes"], doc! { "times": 100 }, doc! {});
    let (report, seconds) = cut_by_time(
        |report| report["sources"][0]["sampled"] == true,
        |seconds| json(&[&servers.uri(), "--max-time", seconds]),
    );
    let told = problems(&report).join("\n");
    assert!(told.contains(&format!("reading stopped after {seconds} s")), "{told}");
    assert!(!told.contains("has not answered for"), "it waits for the server: {told}");
}

#[test]
fn a_command_that_hangs_is_given_up_and_told_once() {
    let servers = Launch::standalone().fail_points().start();
    for n in 0..30 {
        servers.insert(&format!("db_plain.t_invoice_{n}"), plain_documents(3));
    }
    servers.block(0, &["listIndexes"], doc! { "times": 1000 }, doc! {});
    let report = json(&[&servers.uri()]);
    let told = problems(&report);
    assert!((2..=6).contains(&told.len()), "{told:#?}");
    assert!(told.iter().any(|problem| problem.contains("so Docward skipped")), "{told:#?}");
    assert_eq!(report["sources"][0]["documents"], 90, "documents are read all the same");
}

#[test]
fn a_server_that_is_gone_is_not_looked_for_again_and_again() {
    let mut servers = Launch::standalone().fail_points().start();
    for n in 0..8 {
        servers.insert(&format!("db_plain.t_invoice_{n}"), plain_documents(20_000));
    }
    let blocked = servers.block(0, &["getMore"], doc! { "times": 1 }, doc! {});
    let uri = format!("{}serverSelectionTimeoutMS=3000", servers.uri());
    let audit = std::thread::spawn(move || json(&[&uri, "--full"]));
    blocked.wait_until_hit();
    servers.kill(0);
    let report = audit.join().expect("a report");
    let told = problems(&report);
    let (rest, cut): (Vec<&String>, Vec<&String>) =
        told.iter().partition(|problem| problem.contains("6 more collections were not read"));
    assert_eq!((rest.len(), cut.len()), (1, 2), "{told:#?}");
}

#[test]
fn a_collection_that_cannot_be_looked_up_is_told_once() {
    let servers = Launch::standalone().fail_points().start();
    let ids = customers_and_orders(&servers, |_, id| id.into());
    let visits = (0..5000).map(|n: usize| {
        doc! { "_id": ObjectId::new(), "customerId": ids[n % ids.len()], "host": ids[n % 7] }
    });
    servers.insert("db_shop.t_visit", visits);
    let _point = servers.fail_point(
        0,
        doc! { "times": 1000 },
        doc! {
            "failCommands": ["find"], "errorCode": 96, "namespace": "db_shop.t_customer",
            "appName": "docward",
        },
    );
    let report = json(&[&servers.uri(), "--sample", "150"]);
    let told = problems(&report);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("looking up what others refer to in db_shop.t_customer"), "{told:#?}");
}

#[test]
fn an_audit_that_is_interrupted_while_it_looks_up_says_so() {
    let servers = Launch::standalone().fail_points().start();
    customers_and_orders(&servers, |_, id| id.into());
    // Profilers are also read with `find`, before anything else.
    let customers = doc! { "namespace": "db_shop.t_customer" };
    let blocked = servers.block(0, &["find"], doc! { "times": 1000 }, customers);
    let output = interrupted_in(&servers, &blocked, &["--sample", "150"]);
    assert_eq!(output.status.code(), Some(2));
    let report = report(&output);
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["sources"][0]["documents"], 300, "both collections were read before");
}

#[test]
fn an_audit_that_is_interrupted_in_the_catalogue_does_not_say_that_there_is_nothing() {
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    let blocked = servers.block(0, &["listCollections"], doc! { "times": 1000 }, doc! {});
    let output = interrupted_in(&servers, &blocked, &[]);
    assert_eq!(output.status.code(), Some(2));
    let report = report(&output);
    assert_eq!(report["interrupted"], true);
    let told = problems(&report);
    assert!(told.iter().all(|problem| !problem.contains("no collection")), "{told:#?}");
}

/// Creates customers, and orders that refer to them in the given form. Returns the ids of the
/// customers.
fn customers_and_orders(
    servers: &Servers,
    named: impl Fn(usize, ObjectId) -> Bson,
) -> Vec<ObjectId> {
    let ids: Vec<ObjectId> = (0..4000).map(|_| ObjectId::new()).collect();
    servers
        .insert("db_shop.t_customer", ids.iter().map(|id| doc! { "_id": id, "name": id.to_hex() }));
    let orders = (0..5000).map(|n: usize| {
        doc! { "_id": ObjectId::new(), "customerId": named(n, ids[n % ids.len()]), "n": n as i32 }
    });
    servers.insert("db_shop.t_order", orders);
    ids
}

fn rules_of(servers: &Servers, options: &[&str]) -> Vec<String> {
    let report = json(&[&[servers.uri().as_str()], options].concat());
    assert_eq!(problems(&report), Vec::<String>::new());
    let findings: &Vec<Value> = report["findings"].as_array().expect("findings");
    let about = findings.iter().filter(|f| f["namespace"] == "db_shop.t_order");
    about.map(|f| f["rule"].as_str().expect("a rule").to_owned()).collect()
}

/// PT-ref.1: almost all orders belong to four customers. The others each refer to a different
/// missing customer.
#[test]
fn references_to_few_are_found_though_the_others_are_gone() {
    let servers = Launch::standalone().start();
    let ids: Vec<ObjectId> = (0..4).map(|_| ObjectId::new()).collect();
    let named =
        |n: usize, _| Bson::from(if n.is_multiple_of(10) { ObjectId::new() } else { ids[n % 4] });
    customers_and_orders(&servers, named);
    servers.insert("db_shop.t_customer", ids.iter().map(|id| doc! { "_id": id, "name": "x" }));
    for options in [&["--full"][..], &["--sample", "150"]] {
        let rules = rules_of(&servers, options);
        assert!(rules.contains(&"R002".to_owned()), "{options:?}: {rules:?}");
    }
}

/// DM-09.6: numbers and UUIDs that references store as text.
#[test]
fn ids_that_others_write_as_text_are_looked_up() {
    let servers = Launch::standalone().start();
    let uuids: Vec<Uuid> = (0..4000).map(|_| Uuid::new()).collect();
    let shops = (0..4000).map(|n| doc! { "_id": n, "name": format!("Shop {n}") });
    servers.insert("db_shop.t_shop", shops);
    let users = uuids.iter().map(|id| doc! { "_id": *id, "name": id.to_string() });
    servers.insert("db_shop.t_user", users);
    let orders = (0..5000).map(|n: usize| {
        let user = uuids[n % uuids.len()].to_string();
        doc! { "_id": ObjectId::new(), "shopId": (n % 4000).to_string(), "userId": user }
    });
    servers.insert("db_shop.t_order", orders);
    for options in [&["--full"][..], &["--sample", "150"]] {
        let rules = rules_of(&servers, options);
        let mismatched = rules.iter().filter(|rule| *rule == "R001").count();
        assert_eq!(mismatched, 2, "{options:?}: {rules:?}");
    }
}

fn with_a_time_series() -> Servers {
    let servers = Launch::standalone().auth().start();
    let series = doc! {
        "create": "t_reading", "timeseries": { "timeField": "at", "metaField": "sensor" },
    };
    servers.command("db_home", series);
    let readings = (0..200).map(|n| {
        doc! { "at": bson::DateTime::from_millis(1_700_000_000_000 + n * 1000), "sensor": n % 3, "v": n }
    });
    servers.insert("db_home.t_reading", readings);
    servers
}

/// The role `root` does not include the index statistics of a time series' buckets.
#[test]
fn a_time_series_is_audited_by_root() {
    let servers = with_a_time_series();
    assert_eq!(problems(&json(&[&servers.uri()])), Vec::<String>::new());
}

/// Requests about a time series go to its buckets, which have a separate name in roles.
#[test]
fn the_role_for_a_time_series_grants_all_that_is_asked() {
    let servers = with_a_time_series();
    let lists =
        doc! { "resource": { "db": "db_home", "collection": "" }, "actions": ["listCollections"] };
    servers.command("admin", doc! { "createRole": "lists", "privileges": [lists], "roles": [] });
    let uri = servers.uri_as(Some(&servers.create_user("reader", vec!["lists"])));
    grant_proposed(&servers, "reader", &problems(&json(&[&uri])));
    let report = json(&[&uri]);
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report["sources"][0]["sampled"], false);
}

/// A user who may monitor a cluster but not list collections learns which privileges it needs for time
/// series at once.
#[test]
fn the_role_for_a_watcher_knows_of_time_series_it_has_not_seen() {
    let servers = with_a_time_series();
    let uri = servers.uri_as(Some(&servers.create_user("watcher", vec!["clusterMonitor"])));
    let before = problems(&json(&[&uri]));
    assert!(!before.join(" ").contains("system.buckets"), "not seen yet: {before:#?}");
    grant_proposed(&servers, "watcher", &before);
    let report = json(&[&uri]);
    assert_eq!(problems(&report), Vec::<String>::new());
    assert_eq!(report["sources"][0]["sampled"], false);
}
