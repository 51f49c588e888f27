//! Programs in other languages through the proxy, and a program that is started for each request.
//!
//! `scripts/clients.py` lists the available drivers.
#![expect(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{
    path::PathBuf,
    process::{Command, Output},
    thread,
};

use bson::{Document, doc};
use docward_testkit::{Launch, Servers, mongosh};

use crate::common::{driver, guard::Guard, root, stderr, stdout};

fn program(name: &str) -> PathBuf {
    root().join("crates/docward/tests/clients").join(name)
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}{}", stdout(output), stderr(output));
    assert!(stdout(output).ends_with("ok\n"), "{}", stdout(output));
}

fn opened(servers: &Servers) -> i32 {
    let status = servers.command("admin", doc! { "serverStatus": 1 });
    status.get_document("connections").unwrap().get_i32("totalCreated").unwrap()
}

#[test]
fn px_1_programs_of_node_and_mongoose_do_not_notice() {
    let Some(drivers) = driver("mongoose") else { return };
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let output = Command::new("node")
        .arg(program("guard.mjs"))
        .arg(format!("mongodb://{}/", guard.address))
        .arg(drivers)
        .output()
        .unwrap();
    succeeds(&output);
}

#[test]
fn px_1_the_shell_does_not_notice() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let script = "for (let n = 0; n < 300; n++) db.t_shell.insertOne({ _id: n }); \
                  print(db.t_shell.find().toArray().length === 300 ? 'ok' : 'wrong')";
    let output = Command::new(shell)
        .arg(format!("mongodb://{}/db_shop", guard.address))
        .args(["--quiet", "--norc", "--eval", script])
        .env("HOME", servers.directory())
        .output()
        .unwrap();
    succeeds(&output);
}

#[test]
fn px_1_programs_in_go_do_not_notice() {
    let Some(path) = driver("go") else { return };
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let output = Command::new("go")
        .args(["run"])
        .arg(program("guard.go"))
        .arg(format!("mongodb://{}/", guard.address))
        .env("GOPATH", path)
        .env("GO111MODULE", "off")
        .env("GOCACHE", servers.directory().join("go"))
        .output()
        .unwrap();
    succeeds(&output);
}

/// Starts as many processes as a busy page does in some seconds, each with its own connection.
#[test]
fn st_13_cn_03_1_short_lived_programs_share_connections() {
    const PROGRAMS: usize = 60;
    let Some(_) = driver("php") else { return };
    let servers = Launch::replica_set(1).auth().start();
    let user = servers.create_user("page", vec![doc! { "role": "readWrite", "db": "db_shop" }]);
    let password = user.split_once(':').unwrap().1.to_owned();
    let guard = Guard::start(&servers.uri(), &["--max-pool", "4", "--admin", "127.0.0.1:0"]);
    let uri = guard.uri_as("page", &password);
    let run =
        || succeeds(&Command::new("php").arg(program("guard.php")).arg(&uri).output().unwrap());
    run();
    let before = opened(&servers);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..PROGRAMS / 4).for_each(|_| run()));
        }
    });
    let state = guard.state();
    // There is one connection for each `serverStatus` of this test and four for commands, and not
    // one for each program.
    assert!(
        opened(&servers) - before < 20,
        "{} for {PROGRAMS} programs",
        opened(&servers) - before
    );
    let most = state["pools"].as_array().unwrap().iter().map(|p| p["open"].as_u64().unwrap()).max();
    assert!(most <= Some(4), "{state}");
    let pages = servers.client().database("db_shop").collection::<Document>("t_page");
    let page = servers.wait(async { pages.find_one(doc! {}).await.unwrap().unwrap() });
    assert_eq!(page.get("visits").and_then(bson::Bson::as_i32), Some(1 + PROGRAMS as i32));
}

#[test]
fn px_1_an_audit_through_the_guard_says_the_same() {
    let servers = Launch::replica_set(1).start();
    let many = (0..200).map(|n| doc! { "_id": n, "User_Age": n.to_string(), "price": 1.5 });
    servers.insert("db_shop.t_order", many);
    let guard = Guard::start(&servers.uri(), &[]);
    let rules = |uri: &str| {
        let output = crate::common::docward(&["audit", uri, "--format", "json", "--db", "db_shop"]);
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let found = findings.map(|f| f["rule"].as_str().unwrap().to_owned());
        // Rules about the deployment and the connection treat the guard as a router.
        found.filter(|rule| "NDTRV".contains(&rule[..1])).collect::<Vec<_>>()
    };
    let direct = rules(&servers.uri());
    assert!(direct.contains(&"N004".to_owned()) || direct.len() > 2, "{direct:?}");
    assert_eq!(rules(&format!("mongodb://{}/", guard.address)), direct);
}

#[test]
fn cn_03_1_the_story_of_the_examples_runs() {
    let output = Command::new("python3")
        .arg(root().join("examples/guard/story.py"))
        .args(["--clients", "30"])
        .env("DOCWARD_BIN", assert_cmd::cargo::cargo_bin("docward"))
        .output()
        .unwrap();
    let said = stdout(&output);
    assert!(output.status.success(), "{said}{}", stderr(&output));
    let opened = |row: &str| -> i32 {
        let line = said.lines().find(|line| line.starts_with(row)).unwrap();
        line[row.len()..].split_whitespace().next().unwrap().parse().unwrap()
    };
    assert_eq!(opened("directly to the server"), 30);
    assert!(opened("through docward guard") < 12, "{said}");
}
