//! Replays stories of the rule book on real servers. Each test reproduces the problem, finds it,
//! and checks that the fix removes the finding.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{net::TcpStream, process::Command, time::Duration};

use bson::{Bson, Document, doc};
use docward_testkit::{Launch, Servers, mongodb::Client, statements, wait_until};
use serde_json::Value;

fn audit(arguments: &[&str]) -> Value {
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["audit", "--format", "json", "--no-progress"])
        .args(arguments)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn found<'r>(report: &'r Value, rule: &str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == rule).collect()
}

/// Makes the server log every operation from here on.
fn log_everything(servers: &Servers) {
    servers.command("admin", doc! { "profile": 0, "slowms": -1 });
    servers.command("admin", doc! { "setParameter": 1, "quiet": false });
}

/// Creates a client with an application name.
fn application(servers: &Servers, name: &str) -> Client {
    let uri = servers.uri();
    let joint = if uri.ends_with('?') { "" } else { "&" };
    servers.connect(&format!("{uri}{joint}appName={name}"))
}

fn read(servers: &Servers, client: &Client, collection: &str, filter: Document) {
    let find = doc! { "find": collection, "filter": filter };
    servers.wait(client.database("db_shop").run_command(find).into_future()).unwrap();
}

/// Orders and their items in two collections, which the application joins with two reads per
/// request. With embedding, one read returns everything.
#[test]
fn st_07_ap_s0_5_two_reads_per_request_become_one() {
    let servers = Launch::standalone().start();
    let item = |n: i32, line: i32| doc! { "sku": format!("S{line}"), "quantity": n % 5 + 1 };
    servers.insert(
        "db_shop.t_order",
        (0..400).map(|n| doc! { "_id": n, "customerName": format!("c{}", n % 50) }),
    );
    servers.insert(
        "db_shop.t_order_item",
        (0..1600).map(|at| {
            let mut document = item(at, at % 4);
            document.insert("orderId", at / 4);
            document
        }),
    );
    let index = doc! { "key": { "orderId": 1 }, "name": "orderId_1" };
    servers.command("db_shop", doc! { "createIndexes": "t_order_item", "indexes": [index] });
    servers.insert(
        "db_shop.t_order_whole",
        (0..400).map(|n| {
            let items: Vec<Document> = (0..4).map(|line| item(n, line)).collect();
            doc! { "_id": n, "customerName": format!("c{}", n % 50), "items": items }
        }),
    );
    log_everything(&servers);
    let shop = application(&servers, "shop-api");
    // Each request has its own session, as in web frameworks.
    let mut sessions = Vec::new();
    for n in 0..60 {
        let mut session = servers.wait(shop.start_session().into_future()).unwrap();
        for (collection, filter) in
            [("t_order", doc! { "_id": n }), ("t_order_item", doc! { "orderId": n })]
        {
            let find = doc! { "find": collection, "filter": filter };
            let database = shop.database("db_shop");
            let asked = database.run_command(find).session(&mut session);
            servers.wait(asked.into_future()).unwrap();
        }
        sessions.push(session);
    }
    let better = application(&servers, "shop-api-2");
    for n in 0..60 {
        read(&servers, &better, "t_order_whole", doc! { "_id": n });
    }
    let log = servers.log(0);
    let report = audit(&[&servers.uri(), "--full", "--log", log.to_str().unwrap()]);
    let together = found(&report, "W006");
    assert_eq!(together.len(), 1, "{together:#?}");
    assert_eq!(together[0]["namespace"], "db_shop.t_order_item");
    let what = together[0]["what"].as_str().unwrap();
    assert!(what.starts_with("60 requests read `db_shop.t_order` and then"), "{what}");
    let todo = together[0]["todo"].as_str().unwrap();
    assert!(todo.contains("embed"), "{todo}");
    // The documents alone show the same relationship.
    assert_eq!(found(&report, "R004").len(), 1, "{report:#}");
}

/// A price is stored as a number, as a string and as an object. The proposed conversion gives all
/// of them one type. A validator keeps it, and the server refuses other types.
#[test]
fn st_11_dm_09_6_dm_11_1_three_forms_of_a_price_become_one() {
    let servers = Launch::standalone().start();
    let forms: [Bson; 3] = [99.0.into(), "99.00".into(), doc! { "value": 99 }.into()];
    servers.insert(
        "db_shop.t_product",
        (0..60).map(|n| doc! { "_id": n, "price": forms[n as usize % 3].clone() }),
    );
    let uri = servers.uri();
    let report = audit(&[&uri]);
    let mixed = found(&report, "T005");
    assert_eq!(mixed.len(), 1, "{report:#}");
    let what = mixed[0]["what"].as_str().unwrap();
    assert_eq!(what, "`price` holds 3 types: 20 numbers, 20 strings, 20 objects");
    assert_eq!(mixed[0]["data"]["target"], "decimal");
    assert!(!found(&report, "V001").is_empty());

    // One conversion gives all values the type for money.
    let command = mixed[0]["fix"]["command"].as_str().unwrap();
    for statement in statements(command).unwrap() {
        servers.run(&statement).unwrap();
    }
    assert!(found(&audit(&[&uri]), "T002").is_empty());
    let count = |filter: Document| {
        let reply = servers.command("db_shop", doc! { "count": "t_product", "query": filter });
        reply.get_i32("n").unwrap()
    };
    assert_eq!(count(doc! { "price": { "$type": "decimal", "$eq": 99 } }), 60);

    // SN-13: the options of an existing collection are replaced.
    let schema = doc! { "bsonType": "object", "required": ["price"], "properties": { "price": { "bsonType": "decimal" } } };
    servers.command(
        "db_shop",
        doc! {
            "collMod": "t_product", "validator": { "$jsonSchema": schema },
            "validationLevel": "strict", "validationAction": "error",
        },
    );
    let report = audit(&[&uri]);
    for rule in ["T005", "T002", "V001", "V002", "V006"] {
        assert!(found(&report, rule).is_empty(), "{rule}: {:#?}", found(&report, rule));
    }
    for refused in [Bson::from("99.00"), doc! { "value": 99 }.into()] {
        let insert = doc! { "insert": "t_product", "documents": [{ "price": refused }] };
        let reply = servers.command("db_shop", insert);
        let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap().clone();
        assert_eq!(error.get_i32("code").unwrap(), 121);
    }
}

/// SN-12: a validator with every kind of condition. The server refuses each single violation. A
/// document that bypassed the validator is counted.
#[test]
fn sn_12_dm_11_3_each_violation_is_refused_and_those_inside_are_counted() {
    let servers = Launch::standalone().start();
    let schema = doc! {
        "bsonType": "object",
        "required": ["userName", "email", "createTime"],
        "properties": {
            "userName": { "bsonType": "string", "minLength": 2, "maxLength": 50 },
            "email": { "bsonType": "string", "pattern": "^[^@ ]+@[^@ ]+\\.[a-z]{2,}$" },
            "age": { "bsonType": "int", "minimum": 0, "maximum": 150 },
            "status": { "enum": ["active", "inactive", "deleted"] },
            "createTime": { "bsonType": "date" },
        },
    };
    servers.command(
        "db_shop",
        doc! {
            "create": "t_user_account", "validator": { "$jsonSchema": schema },
            "validationLevel": "strict", "validationAction": "error",
        },
    );
    let good = doc! {
        "userName": "ann", "email": "ann@example.com", "age": 30, "status": "active",
        "createTime": bson::DateTime::from_millis(1_700_000_000_000),
    };
    servers.insert("db_shop.t_user_account", (0..30).map(|_| good.clone()));
    let with = |key: &str, value: Bson| {
        let mut bad = good.clone();
        bad.insert(key, value);
        bad
    };
    let mut without = good.clone();
    without.remove("createTime");
    let violations = [
        with("userName", "a".into()),
        with("userName", "a".repeat(51).into()),
        with("email", "nobody".into()),
        with("age", (-1).into()),
        with("age", 151.into()),
        with("age", 1.5.into()),
        with("age", "30".into()),
        with("status", "x".into()),
        with("createTime", "2024-03-01".into()),
        without,
    ];
    for bad in &violations {
        let insert = doc! { "insert": "t_user_account", "documents": [bad] };
        let reply = servers.command("db_shop", insert);
        let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap().clone();
        assert_eq!(error.get_i32("code").unwrap(), 121, "{bad}");
    }
    assert!(found(&audit(&[&servers.uri()]), "V006").is_empty());
    let past = doc! {
        "insert": "t_user_account", "documents": violations.to_vec(), "bypassDocumentValidation": true,
    };
    servers.command("db_shop", past);
    let report = audit(&[&servers.uri()]);
    let broken = found(&report, "V006");
    assert_eq!(broken.len(), 1, "{report:#}");
    let what = broken[0]["what"].as_str().unwrap();
    assert!(what.starts_with("10 of 40 stored documents break the validator"), "{what}");
}

/// A client that connects for every request. A pool does the same work with one connection.
#[test]
fn st_16_cn_02_1_short_connections_are_found_in_the_log() {
    let servers = Launch::standalone().start();
    log_everything(&servers);
    let address = ("127.0.0.1", servers.port(0));
    for _ in 0..1500 {
        drop(TcpStream::connect(address).unwrap());
    }
    let log = servers.log(0);
    wait_until("the server does not see that clients are gone", || {
        std::fs::read_to_string(&log).unwrap().matches("\"msg\":\"Connection ended\"").count()
            >= 1500
    });
    let report = audit(&["--log", log.to_str().unwrap()]);
    let churn = found(&report, "W009");
    assert_eq!(churn.len(), 1, "{report:#}");
    assert!(churn[0]["clauses"].to_string().contains("CN-02.1"), "{:#}", churn[0]);

    let calm = Launch::standalone().start();
    log_everything(&calm);
    let shop = application(&calm, "shop-api");
    for n in 0..1500 {
        read(&calm, &shop, "t_order", doc! { "_id": n });
    }
    let log = calm.log(0);
    assert!(found(&audit(&["--log", log.to_str().unwrap()]), "W009").is_empty());
}

/// Balances are read from a lagging secondary.
#[test]
fn st_18_rp_7_a_secondary_that_lags_is_found() {
    let servers = Launch::replica_set(2).fail_points().start();
    servers.insert("db_bank.t_account_balance", [doc! { "_id": 1, "balance": 100_i64 }]);
    let config = servers.directory().join("docward.toml");
    std::fs::write(&config, "[rules.C002]\ntolerance = 3\n").unwrap();
    let config = config.to_str().unwrap();
    let uri = servers.uri();
    assert!(found(&audit(&[&uri, "--config", config]), "C002").is_empty());
    let secondary = servers.connect(&servers.uri_of(1 - servers.primary()));
    let hold = doc! { "configureFailPoint": "rsSyncApplyStop", "mode": "alwaysOn" };
    servers.wait(secondary.database("admin").run_command(hold).into_future()).unwrap();
    // The lag is measured by the time of a member's last write.
    for n in 0..8 {
        let update = doc! { "q": { "_id": 1 }, "u": { "$inc": { "balance": n } } };
        // The majority would wait for the blocked member.
        let update = doc! {
            "update": "t_account_balance", "updates": [update], "writeConcern": { "w": 1 },
        };
        servers.command("db_bank", update);
        std::thread::sleep(Duration::from_secs(1));
    }
    let report = audit(&[&uri, "--config", config]);
    let lagging = found(&report, "C002");
    assert_eq!(lagging.len(), 1, "{report:#}");
    let free = doc! { "configureFailPoint": "rsSyncApplyStop", "mode": "off" };
    servers.wait(secondary.database("admin").run_command(free).into_future()).unwrap();
}
