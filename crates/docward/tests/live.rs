//! `docward audit` of running deployments with the real binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use bson::{Document, doc, oid::ObjectId};
use docward_testkit::{Blocked, Launch, Refused, Servers, repository};
use serde_json::Value;

use crate::common::{cut_by_time, has_documents, report, signal};

mod losses;
mod samples;
mod sets;
mod told;

fn docward(arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin("docward")).args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let mut all = vec!["audit", "--format", "json", "--no-progress"];
    all.extend(arguments);
    report(&docward(&all))
}

fn problems(report: &Value) -> Vec<String> {
    let problems = report["problems"].as_array().unwrap();
    problems.iter().map(|p| format!("{}: {}", p["source"], p["message"])).collect()
}

fn example(name: &str) -> PathBuf {
    repository().join("examples").join(name)
}

/// Copies a dump without the collections that a server refused.
fn copy(dump: &Path, target: &Path, refused: &[Refused]) {
    std::fs::create_dir_all(target).unwrap();
    for entry in std::fs::read_dir(dump).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let database = dump.file_name().unwrap().to_str().unwrap();
        let is_refused = refused.iter().any(|refused| {
            let file = format!("{database}.{name}");
            file.starts_with(&format!("{}.", refused.namespace))
        });
        if path.is_dir() {
            copy(&path, &target.join(name), refused);
        } else if !is_refused {
            std::fs::copy(&path, target.join(name)).unwrap();
        }
    }
}

/// Loads a dump and audits both. The findings must be the same, except for facts that only a server
/// knows:
///
/// - It runs without access control, like these servers.
/// - The number of documents that fail a validator.
/// - Declared shard keys are only planned.
fn check_twin(servers: &Servers, dump: &Path, config: &[&str]) -> Vec<Refused> {
    let refused = servers.load(dump);
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("dump");
    copy(dump, &files, &refused);
    let uri = servers.uri();
    let files = json(&[&[files.to_str().unwrap()], config].concat());
    let live = json(&[&[uri.as_str(), "--full"], config].concat());
    assert_eq!(problems(&live), Vec::<String>::new());
    let is_about_keys = |finding: &Value| finding["rule"].as_str().unwrap().starts_with('K');
    let findings = |report: &Value| {
        let mut findings = report["findings"].as_array().unwrap().clone();
        for finding in findings.iter_mut().filter(|f| f["rule"] == "V006" || f["rule"] == "V002") {
            for part in ["what", "todo", "fix", "data"] {
                finding[part].take();
            }
        }
        for finding in findings.iter_mut().filter(|f| is_about_keys(f)) {
            for part in ["what", "todo", "fix"] {
                finding[part].take();
            }
        }
        findings
    };
    // These servers are not clusters, which a dump does not show.
    for (report, is_planned) in [(&files, false), (&live, true)] {
        let findings = report["findings"].as_array().unwrap().iter();
        for finding in findings.filter(|finding| is_about_keys(finding)) {
            let what = finding["what"].as_str().unwrap();
            assert_eq!(what.contains("planned key"), is_planned, "{what}");
        }
    }
    let (of_files, mut of_live) = (findings(&files), findings(&live));
    let told: Vec<Value> = of_live.extract_if(.., |finding| finding["rule"] == "S001").collect();
    assert_eq!(told.len(), 1, "a server without access control says so");
    // Only the server evaluates patterns.
    let by_pattern = |finding: &mut Value| {
        finding["rule"] == "V006" && finding["namespace"] == "db_shop.t_newsletter"
    };
    of_live.retain_mut(|finding| !by_pattern(finding));
    for finding in &of_live {
        assert!(of_files.contains(finding), "only live: {finding:#}");
    }
    for finding in &of_files {
        assert!(of_live.contains(finding), "only in files: {finding:#}");
    }
    assert!(!of_live.is_empty() && of_files == of_live);
    // The security self-check needs a server. Files also do not show whether it is sharded.
    let review = |report: &Value| -> Vec<Value> {
        let items = report["checklist"].as_array().unwrap().iter();
        items
            .filter(|item| item["id"].as_str().unwrap().starts_with("CK-") && item["id"] != "CK-13")
            .cloned()
            .collect()
    };
    assert_eq!(review(&files), review(&live));
    assert_eq!(files["sources"][0]["documents"], live["sources"][0]["documents"]);
    assert_eq!(live["sources"][0]["kind"], "live");
    assert_eq!(live["sources"][0]["sampled"], false);
    refused
}

#[test]
fn the_shop_has_the_same_findings_live_and_from_files() {
    let servers = Launch::standalone().shared().start();
    let shop = example("shop");
    let config = shop.join("docward.toml");
    let refused = check_twin(&servers, &shop, &["--config", config.to_str().unwrap()]);
    // A server refuses this name, so only a file can have it.
    let names: Vec<_> = refused.iter().map(|r| r.namespace.as_str()).collect();
    assert_eq!(names, ["db_shop.system.orders"], "{refused:?}");
}

/// Checks the findings on older and newer servers, and all commands that the servers receive.
fn check_version(version: &'static str) {
    let servers = Launch::replica_set(1).version(version).start();
    let shop = example("shop");
    let mut settings = std::fs::read_to_string(shop.join("docward.toml")).unwrap();
    let short = version.rsplit_once('.').unwrap().0;
    settings.push_str(&format!("\n[deployment]\nserver-version = \"{short}\"\n"));
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(config.path(), settings).unwrap();
    let config = config.path().to_str().unwrap();
    let refused = check_twin(&servers, &shop, &["--config", config]);
    let names: Vec<_> = refused.iter().map(|r| r.namespace.as_str()).collect();
    assert_eq!(names, ["db_shop.system.orders"], "{refused:?}");
    let uri = servers.uri();
    for how in [&["--pushdown", "--sample", "40"][..], &["--metadata-only"], &["--pushdown"]] {
        let report = json(&[&[uri.as_str(), "--config", config], how].concat());
        assert_eq!(problems(&report), Vec::<String>::new(), "{version} {how:?}");
        let server = &report["sources"][0]["server"];
        assert!(server.to_string().contains(version), "{server:#}");
    }
}

#[test]
fn servers_of_4_4_are_audited() {
    check_version("4.4.2");
}

#[test]
fn servers_of_5_0_are_audited() {
    check_version("5.0.4");
}

#[test]
fn the_newest_servers_of_6_0_are_audited() {
    check_version("6.0.27");
}

#[test]
fn the_clean_shop_has_the_same_findings_live_and_from_files() {
    let servers = Launch::replica_set(1).shared().start();
    let refused = check_twin(&servers, &example("shop-clean"), &["--fail-on", "never"]);
    assert_eq!(refused, []);
}

/// Returns documents with every kind of fault, more than fit into one block.
fn plain_documents(count: i32) -> Vec<Document> {
    (0..count)
        .map(|n: i32| {
            let mut document = doc! {
                "_id": ObjectId::from_bytes([[0, 0, 0, 0].as_slice(), &n.to_be_bytes(), &[0; 4]].concat().try_into().unwrap()),
                "createTime": format!("2024-03-{:02} 10:00:00", n % 28 + 1),
                "amount": f64::from(n) / 7.0,
                "tags": (0..n % 40).map(|t| format!("tag{t}")).collect::<Vec<_>>(),
                "note": "x".repeat(usize::try_from(n % 700).unwrap()),
            };
            if n % 3 == 0 {
                document.insert("amount", format!("{n}"));
            }
            document
        })
        .collect()
}

#[test]
fn a_plain_data_set_has_the_same_findings_live_and_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("dump/db_plain");
    std::fs::create_dir_all(&database).unwrap();
    let bytes: Vec<u8> = plain_documents(6000).iter().flat_map(|d| d.to_vec().unwrap()).collect();
    std::fs::write(database.join("t_invoice.bson"), bytes).unwrap();
    let metadata =
        r#"{"options":{},"indexes":[{"v":2,"key":{"_id":1},"name":"_id_"}],"type":"collection"}"#;
    std::fs::write(database.join("t_invoice.metadata.json"), metadata).unwrap();
    std::fs::write(directory.path().join("dump/prelude.json"), r#"{"ServerVersion":"6.0.5"}"#)
        .unwrap();
    let servers = Launch::standalone().shared().start();
    check_twin(&servers, &directory.path().join("dump"), &[]);
}

#[test]
fn filters_choose_databases_and_collections() {
    let servers = Launch::standalone().shared().start();
    for namespace in ["db_a.t_one", "db_a.t_two", "db_b.t_one"] {
        servers.insert(namespace, [doc! { "_id": 1, "a": 1 }]);
    }
    let uri = servers.uri();
    let documents = |arguments: &[&str]| {
        let report = json(&[&[uri.as_str()], arguments].concat());
        report["sources"][0]["documents"].as_u64().unwrap()
    };
    assert_eq!(documents(&[]), 3);
    assert_eq!(documents(&["--db", "db_a"]), 2);
    assert_eq!(documents(&["--collection", "t_one"]), 2);
    let nothing = json(&[&uri, "--db", "db_none"]);
    assert!(problems(&nothing)[0].contains("no database matches `db_none`"));
}

#[test]
fn a_user_who_may_only_read_learns_what_is_missing() {
    let servers = Launch::standalone().auth().start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1, "createTime": "2024-01-01 10:00:00" }]);
    servers.insert("db_shop.t_secret", [doc! { "_id": 1 }]);
    servers.command(
        "admin",
        doc! {
            "createRole": "ordersOnly",
            "privileges": [
                { "resource": { "db": "db_shop", "collection": "" },
                  "actions": ["listCollections", "listIndexes", "collStats", "indexStats"] },
                { "resource": { "db": "db_shop", "collection": "t_order" }, "actions": ["find"] },
            ],
            "roles": [],
        },
    );
    let user = servers.create_user("reader", vec!["ordersOnly"]);
    let uri = servers.uri_as(Some(&user));
    let output = docward(&["audit", "--format", "json", "--full", &uri]);
    assert_eq!(output.status.code(), Some(2));
    let report = report(&output);
    assert_eq!(report["sources"][0]["documents"], 1, "the rest was read");
    let problems = problems(&report);
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems[0].contains("serverStatus"), "{}", problems[0]);
    assert!(problems[1].contains("not allowed: find on db_shop.t_secret"), "{}", problems[1]);

    grant_proposed(&servers, "reader", &problems);
    let report = json(&[&uri, "--full"]);
    assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{:#}", report["problems"]);
    assert_eq!(report["sources"][0]["documents"], 2);
}

/// Creates the only proposed role and grants it to a user.
fn grant_proposed(servers: &Servers, user: &str, problems: &[String]) {
    let proposed: Vec<_> = problems.iter().filter(|p| p.contains("createRole")).collect();
    assert_eq!(proposed.len(), 1, "a second one of this name cannot be created: {proposed:#?}");
    let call =
        &proposed[0][proposed[0].find("db.getSiblingDB").unwrap()..proposed[0].rfind('"').unwrap()];
    let call = call.replace("\\\"", "\"").replace(".createRole({role:", ".runCommand({createRole:");
    let statements = docward_testkit::statements(&call).unwrap();
    servers.run(&statements[0]).unwrap();
    servers.command("admin", doc! { "grantRolesToUser": user, "roles": ["docwardAudit"] });
}

#[test]
fn one_failing_collection_does_not_stop_the_rest() {
    let servers = Launch::standalone().fail_points().start();
    for namespace in ["db_shop.t_bad", "db_shop.t_good"] {
        servers.insert(namespace, plain_documents(300));
    }
    let point = servers.fail_point(
        0,
        doc! { "times": 100 },
        doc! {
            "failCommands": ["find"], "errorCode": 96, "namespace": "db_shop.t_bad",
            "appName": "docward",
        },
    );
    let output = docward(&["audit", "--format", "json", "--full", &servers.uri()]);
    assert!(point.hits() > 0);
    assert_eq!(output.status.code(), Some(2));
    let report = report(&output);
    assert_eq!(report["sources"][0]["documents"], 300);
    assert_eq!(report["sources"][0]["sampled"], true);
    let problems = problems(&report);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].contains("db_shop.t_bad"), "{problems:#?}");
    assert!(problems[0].contains("reading stopped after 0 documents"), "{problems:#?}");
}

#[test]
fn the_roles_the_manual_names_suffice() {
    let servers = Launch::replica_set(1).auth().start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    let user = servers.create_user("watcher", vec!["readAnyDatabase", "clusterMonitor"]);
    let report = json(&[&servers.uri_as(Some(&user)), "--full"]);
    let problems = problems(&report);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].contains("not allowed: viewUser on the deployment"), "{problems:#?}");
    assert_eq!(report["sources"][0]["documents"], 1);
}

#[test]
fn databases_that_a_login_may_not_see_are_told() {
    let servers = Launch::replica_set(1).auth().start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    servers.insert("db_two.t_order", [doc! { "_id": 1 }]);
    let lists = doc! { "resource": { "cluster": true }, "actions": ["listDatabases"] };
    servers.command("admin", doc! { "createRole": "lists", "privileges": [lists], "roles": [] });
    for (user, roles) in [
        ("blind", vec![doc! { "role": "read", "db": "db_shop" }]),
        (
            "sighted",
            vec![doc! { "role": "read", "db": "db_shop" }, doc! { "role": "lists", "db": "admin" }],
        ),
    ] {
        let uri = servers.uri_as(Some(&servers.create_user(user, roles)));
        let told = problems(&json(&[&uri])).join("\n");
        match user {
            "blind" => assert!(told.contains("listDatabases"), "{told}"),
            _ => {
                assert!(told.contains("listCollections on db_two"), "{told}");
                assert!(!told.contains("listDatabases"), "{told}");
            }
        }
        // The user names the database, so others are not wanted.
        let told = problems(&json(&[&uri, "--db", "db_shop"])).join("\n");
        assert!(!told.contains("db_two") && !told.contains("listDatabases"), "{told}");
    }
}

#[test]
fn login_and_network_failures_say_what_to_do() {
    let mut servers = Launch::standalone().auth().start();
    let output = docward(&["audit", &servers.uri_as(Some("nobody:topsecret"))]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(text.contains("the login was refused for user nobody"), "{text}");
    assert!(text.contains("authSource") && !text.contains("topsecret"), "{text}");

    let uri = format!("{}&serverSelectionTimeoutMS=500", servers.uri());
    servers.kill(0);
    let output = docward(&["audit", &uri]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(text.contains("no server answered within 500ms"), "{text}");
    assert!(text.contains(&format!("127.0.0.1:{}", servers.port(0))), "{text}");
    assert!(!text.contains("horse"), "{text}");
}

/// Runs an audit that is interrupted while a command is blocked. The audit does not wait for the
/// server.
fn interrupted_in(servers: &Servers, blocked: &Blocked<'_>, options: &[&str]) -> Output {
    let child = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["audit", "--format", "json", &servers.uri()])
        .args(options)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    blocked.wait_until_hit();
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let told = problems(&report(&output)).join("\n");
    assert!(!told.contains("has not answered for"), "{told}");
    output
}

#[test]
fn an_interrupted_audit_reports_what_it_read() {
    let servers = Launch::replica_set(1).fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(20_000));
    // Two batches are fetched ahead, so the fifth request means that the first batch was processed.
    let blocked = servers.block(0, &["getMore"], doc! { "skip": 3 }, doc! {});
    let output = interrupted_in(&servers, &blocked, &["--full", "--max-rate", "2000"]);
    assert_eq!(output.status.code(), Some(2));
    let report = report(&output);
    assert_eq!(report["interrupted"], true);
    let read = report["sources"][0]["documents"].as_u64().unwrap();
    assert!((1..20_000).contains(&read), "{read}");
    // The number of remaining documents is known.
    let seen = &report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["rule"] == "T001")
        .unwrap()["seen"];
    assert_eq!((seen["sampled"].as_u64(), seen["total"].as_u64()), (Some(read), Some(20_000)));
}

#[test]
fn nothing_is_written() {
    let servers = Launch::replica_set(1).shared().start();
    servers.insert("db_plain.t_invoice", plain_documents(200));
    // The oplog contains every write of a replica set. The server's own writes are in `config`, and
    // its keys in `admin`.
    let writes = || -> Vec<String> {
        let filter = doc! { "op": { "$ne": "n" }, "ns": { "$not": { "$regex": "^config[.]" } } };
        let find = doc! { "find": "oplog.rs", "filter": filter, "batchSize": 100_000 };
        let reply = servers.command("local", find);
        let batch = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap().clone();
        let entries = batch.iter().map(|entry| entry.as_document().unwrap());
        entries
            .filter(|entry| entry.get_str("ns").unwrap() != "admin.system.keys")
            .map(ToString::to_string)
            .collect()
    };
    let before = writes();
    assert!(before.len() >= 200, "{}", before.len());
    json(&[&servers.uri(), "--full"]);
    json(&[&servers.uri(), "--sample", "5"]);
    assert_eq!(writes(), before);
}

/// DM-11.3: the server counts the documents that fail the validator, even if the documents alone do
/// not show it.
#[test]
fn documents_that_break_their_validator_are_counted_by_the_server() {
    let servers = Launch::standalone().shared().start();
    let user = |n: i32| {
        let email = if n % 50 == 0 { format!("user {n}") } else { format!("user{n}@example.com") };
        doc! { "_id": n, "email": email }
    };
    servers.insert("db_shop.t_user", (1..=500).map(user));
    let schema = doc! { "$jsonSchema": { "properties": { "email": { "pattern": "@" } } } };
    let strict = doc! { "collMod": "t_user", "validator": schema };
    servers.command("db_shop", strict);
    let found = json(&[&servers.uri(), "--sample", "40", "--select", "V006"]);
    let what = found["findings"][0]["what"].as_str().unwrap();
    assert_eq!(what, "10 of 500 stored documents break the validator (counted by the server)");
    servers.command(
        "db_shop",
        doc! { "delete": "t_user", "deletes": [{ "q": { "email": { "$not": { "$regex": "@" } } }, "limit": 0 }] },
    );
    let clean = json(&[&servers.uri(), "--select", "V006"]);
    assert_eq!(clean["findings"].as_array().unwrap().len(), 0, "{clean}");
    let weak = doc! { "collMod": "t_user", "validator": { "$jsonSchema": { "required": ["phone"] } }, "validationAction": "warn" };
    servers.command("db_shop", weak);
    let advice = json(&[&servers.uri(), "--select", "V002"]);
    let todo = advice["findings"][0]["todo"].as_str().unwrap();
    assert!(todo.contains("repair the 490 documents that the server counts as invalid"), "{todo}");
}

#[test]
fn a_limited_rate_is_kept_and_limited_time_gives_a_report_on_what_was_read() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_order", (0..3000).map(|n| doc! { "_id": n, "total": n }));
    let uri = servers.uri();
    let began = Instant::now();
    let report = json(&[&uri, "--full", "--max-rate", "1500"]);
    assert!(began.elapsed() > Duration::from_millis(1500), "3,000 documents take two seconds");
    assert_eq!(report["sources"][0]["documents"], 3000);
    assert_eq!(problems(&report), Vec::<String>::new());

    let (cut, seconds) = cut_by_time(has_documents, |seconds| {
        let arguments = ["audit", &uri, "--full", "--max-rate", "100", "--max-time", seconds];
        let output = docward(&[&arguments[..], &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(2));
        self::report(&output)
    });
    let read = cut["sources"][0]["documents"].as_u64().unwrap();
    assert!((1..3000).contains(&read), "{read}");
    assert_eq!(cut["sources"][0]["sampled"], true);
    let told = problems(&cut);
    assert!(told[0].contains(&format!("reading stopped after {seconds} s")), "{told:?}");
}

#[test]
fn connection_strings_that_do_not_fit_say_what_to_change() {
    let servers = Launch::replica_set(1).auth().start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    let told = |uri: &str| problems(&json(&[uri, "--full"])).join("\n");
    let text = told(&servers.uri_as(None));
    assert!(text.contains("the server requires a login"), "{text}");
    assert!(!text.contains("createRole"), "{text}");

    let uri = servers.uri().replace("replicaSet=rs0", "replicaSet=rs9");
    assert!(uri.contains("rs9"), "{uri}");
    let text = told(&uri);
    assert!(text.contains("replica set rs0") && text.contains("names rs9"), "{text}");

    for password in ["top@secret", "top/secret", "top?secret", "top:secret"] {
        let uri = format!("mongodb://ann:{password}@127.0.0.1:{}/?tls=false", servers.port(0));
        let text = told(&uri);
        assert!(text.contains("`@` as %40"), "{text}");
        assert!(!text.contains("secret") && !text.contains("top"), "{text}");
    }

    let other =
        "compressors=snappy,zlib&socketTimeoutMS=9000&uuidRepresentation=standard&timeoutMS=9000";
    let uri = format!("{}&{other}", servers.uri());
    let report = json(&[&uri, "--full"]);
    assert_eq!(report["sources"][0]["documents"], 1, "{:#}", report["problems"]);
    assert_eq!(problems(&report), Vec::<String>::new());
}

#[test]
fn a_collection_that_is_dropped_meanwhile_is_a_problem() {
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_shop.t_gone", plain_documents(300));
    let point = servers.fail_point(
        0,
        doc! { "times": 1 },
        doc! {
            "failCommands": ["find"], "errorCode": 26, "namespace": "db_shop.t_gone",
            "appName": "docward",
        },
    );
    let report = json(&[&servers.uri(), "--full"]);
    assert_eq!(point.hits(), 1);
    let problems = problems(&report);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].contains("db_shop.t_gone"), "{problems:#?}");
    assert!(problems[0].contains("was dropped during the run"), "{problems:#?}");
}

#[test]
fn dm_01_1_names_in_the_servers_own_databases_are_looked_at() {
    let servers = Launch::standalone().shared().start();
    servers.insert("local.app_settings", [doc! { "_id": 1 }]);
    let report = json(&[&servers.uri(), "--full"]);
    let findings = report["findings"].as_array().unwrap();
    let misplaced: Vec<_> = findings.iter().filter(|f| f["rule"] == "N001").collect();
    assert_eq!(misplaced.len(), 1, "{findings:#?}");
    assert_eq!(misplaced[0]["namespace"], "local.app_settings");
    assert_eq!(report["sources"][0]["documents"], 0, "its documents are not read");
}

#[test]
fn se_8_roles_of_your_own_are_looked_into() {
    let servers = Launch::standalone().auth().start();
    let role = doc! {
        "createRole": "app",
        "privileges": [],
        "roles": [
            { "role": "readWrite", "db": "db_order" },
            { "role": "userAdminAnyDatabase", "db": "admin" },
        ],
    };
    servers.command("admin", role);
    servers.create_user("order", vec!["app"]);
    let report = json(&[&servers.uri(), "--full"]);
    let findings = report["findings"].as_array().unwrap();
    let powerful = findings.iter().find(|f| f["rule"] == "S004" && f["severity"] == "error");
    let what = powerful.unwrap()["what"].as_str().unwrap();
    assert!(what.contains("userAdminAnyDatabase@admin by app@admin"), "{what}");
}

/// Privileges of user-defined roles count as well, but not those for everyday work.
#[test]
fn se_8_sc_5_privileges_of_your_own_roles_are_looked_into() {
    let servers = Launch::standalone().auth().start();
    let any_database = doc! { "db": "", "collection": "" };
    for (name, resource, actions, roles) in [
        ("all", doc! { "anyResource": true }, vec!["anyAction"], vec![]),
        ("grants", any_database, vec!["grantRole"], vec![]),
        (
            "plain",
            doc! { "db": "db_shop", "collection": "t_order" },
            vec!["find"],
            vec![doc! { "role": "readWrite", "db": "db_shop" }],
        ),
    ] {
        let privileges = vec![doc! { "resource": resource, "actions": actions }];
        let role = doc! { "createRole": name, "privileges": privileges, "roles": roles };
        servers.command("admin", role);
        let work = doc! { "role": "readWrite", "db": "db_shop" };
        let roles = vec![doc! { "role": name, "db": "admin" }, work];
        servers.create_user(&format!("app_{name}"), roles);
    }
    let report = json(&[&servers.uri(), "--full"]);
    let told = report["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == "S004");
    let told: Vec<String> = told.map(|f| f["what"].to_string()).collect();
    let told = told.join("\n");
    assert!(told.contains("app_all") && told.contains("app_grants"), "{told}");
    assert!(!told.contains("app_plain"), "{told}");
}

#[test]
fn dm_11_2_se_8_privileges_that_bypass_validators_are_looked_into() {
    let servers = Launch::standalone().auth().start();
    let schema = doc! { "required": ["sku"], "properties": { "sku": { "bsonType": "string" } } };
    let create = doc! { "create": "t_order", "validator": { "$jsonSchema": schema } };
    servers.command("db_shop", create);
    servers.insert("db_shop.t_order", [doc! { "_id": 1, "sku": "P001" }]);
    let bypass = doc! {
        "resource": { "db": "db_shop", "collection": "" },
        "actions": ["bypassDocumentValidation"],
    };
    let role = |name: &str, privileges: Vec<Document>, held: &str| {
        let held = if held == "readWrite" {
            doc! { "role": held, "db": "db_shop" }
        } else {
            doc! { "role": held, "db": "admin" }
        };
        doc! { "createRole": name, "privileges": privileges, "roles": [held] }
    };
    // Privileges through an inherited role count too.
    servers.command("admin", role("past", vec![bypass], "readWrite"));
    servers.command("admin", role("app", vec![], "past"));
    servers.command("admin", role("plain", vec![], "readWrite"));
    servers.create_user("shop-service", vec!["app"]);
    servers.create_user("pay-service", vec!["plain"]);
    let report = json(&[&servers.uri(), "--full", "--select", "V010"]);
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0]["severity"], "warn");
    assert_eq!(
        findings[0]["what"],
        "1 account writes to `db_shop` and can bypass the validator of `t_order`: `shop-service` (by `app@admin`)"
    );
}

#[test]
fn dm_11_6_a_server_takes_schemas_that_no_document_meets() {
    let servers = Launch::standalone().shared().start();
    let impossible = [
        doc! { "additionalProperties": false, "properties": { "sku": {} } },
        doc! { "required": ["a"], "properties": { "a": { "minimum": 2, "maximum": 1, "bsonType": "int" } } },
        doc! { "required": ["a"], "properties": { "a": { "bsonType": "string", "enum": [1, 2] } } },
        doc! { "oneOf": [{ "required": ["a"] }, { "required": ["a"] }] },
    ];
    for (n, schema) in impossible.iter().enumerate() {
        let name = format!("t_closed_{n}");
        let create = doc! { "create": &name, "validator": { "$jsonSchema": schema } };
        servers.command("db_shop", create);
        for document in [doc! { "a": 1 }, doc! { "a": "1" }, doc! { "sku": "x" }] {
            let insert = doc! { "insert": &name, "documents": [document] };
            let reply = servers.command("db_shop", insert);
            let error = reply.get_array("writeErrors").unwrap()[0].as_document().unwrap();
            assert_eq!(error.get_i32("code").unwrap(), 121, "{schema}");
        }
    }
    let report = json(&[&servers.uri(), "--full", "--select", "V008"]);
    let findings = report["findings"].as_array().unwrap();
    let closed = findings.iter().filter(|f| {
        f["severity"] == "error" && f["what"].as_str().unwrap().starts_with("no document can pass")
    });
    assert_eq!(closed.count(), impossible.len(), "{findings:#?}");
}

#[test]
fn damage_in_a_live_document_is_not_said_to_be_in_a_file() {
    let servers = Launch::standalone().shared().start();
    let insert = doc! { "insert": "t_bad", "documents": [{ "_id": 1, "a": "damaged" }] };
    let mut bytes = insert.to_vec().unwrap();
    let at = bytes.windows(7).position(|word| word == b"damaged").unwrap();
    bytes[at] = 0xff;
    let insert = bson::RawDocumentBuf::from_bytes(bytes).unwrap();
    let database = servers.client().database("db_shop");
    servers.wait(database.run_raw_command(insert).into_future()).unwrap();
    let problems = problems(&json(&[&servers.uri(), "--full"]));
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0].contains("damaged document"), "{problems:#?}");
    assert!(problems[0].contains("check the collection"), "{problems:#?}");
    assert!(!problems[0].contains("file"), "{problems:#?}");
}
