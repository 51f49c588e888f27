//! Replica sets: login and TLS, members that disappear, and members that are read separately.

use std::{path::Path, time::Duration};

use bson::{Document, doc};
use docward_testkit::{Certificates, Launch, Servers, wait_for};
use serde_json::Value;

use super::{docward, json, plain_documents, problems};

#[test]
fn access_control_and_tls_of_a_replica_set_are_no_obstacle() {
    let servers = Launch::replica_set(3).auth().tls().start();
    servers.insert("db_plain.t_invoice", plain_documents(500));
    let majority =
        doc! { "insert": "t_invoice", "documents": [{ "a": 1 }], "writeConcern": { "w": 3 } };
    servers.command("db_plain", majority);
    let report = json(&[&servers.uri(), "--full", "--db", "db_plain"]);
    assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{:#}", report["problems"]);
    assert_eq!(report["sources"][0]["documents"], 501);
    let server = report["sources"][0]["server"].as_str().unwrap();
    assert!(server.contains("replica set rs0"), "{server}");

    // The client uses a certificate instead of a password.
    let certificates = servers.certificates().unwrap();
    let roles = ["readAnyDatabase", "clusterMonitor", "userAdminAnyDatabase"]
        .map(|role| doc! { "role": role, "db": "admin" });
    let uri_with = |certificate: &Path| {
        format!(
            "{}&authMechanism=MONGODB-X509&tlsCertificateKeyFile={}",
            servers.uri_as(None),
            certificate.display()
        )
    };
    let uri = uri_with(&certificates.client);
    let refused = |uri: &str| {
        let output = docward(&["audit", uri, "--format", "json"]);
        assert_eq!(output.status.code(), Some(2));
        crate::common::report(&output)["problems"][0]["message"].as_str().unwrap().to_owned()
    };
    let unknown = refused(&uri);
    assert!(unknown.contains("the database $external must have a user"), "{unknown}");
    let folder = tempfile::tempdir().unwrap();
    let others = Certificates::make(folder.path());
    let foreign = refused(&uri_with(&others.client));
    assert!(foreign.contains("check tlsCertificateKeyFile"), "{foreign}");
    let user = doc! { "createUser": &certificates.client_subject, "roles": roles.to_vec() };
    servers.command("$external", user);
    let report = json(&[&uri, "--full", "--db", "db_plain"]);
    assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{:#}", report["problems"]);
    assert_eq!(report["sources"][0]["documents"], 501);

    // Without the certificate of the authority there is no connection, and no password is sent.
    let uri = servers.uri().split("&tlsCAFile").next().unwrap().to_owned();
    let alone = refused(&uri);
    assert!(alone.contains("name the CA file with tlsCAFile"), "{alone}");
}

#[test]
fn a_lost_cursor_is_read_again_and_nothing_counts_twice() {
    let servers = Launch::replica_set(1).fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(20_000));
    let clean = json(&[&servers.uri(), "--full"]);
    let point = servers.fail_point(
        0,
        doc! { "times": 2 },
        doc! { "failCommands": ["getMore"], "closeConnection": true, "appName": "docward" },
    );
    let cut = json(&[&servers.uri(), "--full"]);
    assert_eq!(point.hits(), 2);
    assert_eq!(cut["problems"].as_array().unwrap().len(), 0, "{:#}", cut["problems"]);
    assert_eq!(cut["sources"][0]["documents"], 20_000);
    assert_eq!(cut["findings"], clean["findings"]);
}

#[test]
fn the_end_of_the_primary_is_survived() {
    let mut servers = Launch::replica_set(3).fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(20_000));
    let clean = json(&[&servers.uri(), "--full"]);
    let primary = servers.primary();
    // The second batch does not arrive, because the primary dies.
    let blocked = servers.block(primary, &["getMore"], doc! { "times": 1 }, doc! {});
    // An election may take a long time.
    let uri = format!("{}&readPreference=primary&serverSelectionTimeoutMS=300000", servers.uri());
    let audit = std::thread::spawn(move || json(&[&uri, "--full"]));
    blocked.wait_until_hit();
    servers.kill(primary);
    assert_ne!(servers.primary(), primary);
    let cut = audit.join().unwrap();
    let problems = problems(&cut);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let lost = format!("127.0.0.1:{} of the replica set became unreachable", servers.port(primary));
    assert!(problems[0].contains(&lost), "{problems:#?}");
    assert_eq!(cut["sources"][0]["documents"], 20_000);
    assert_eq!(cut["findings"], clean["findings"]);
}

#[test]
fn a_set_without_a_primary_is_read_and_told() {
    let mut servers = Launch::replica_set(3).start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    let primary = servers.primary();
    // The documents must be on the member that is then read.
    let majority =
        doc! { "insert": "t_mark", "documents": [{ "_id": 1 }], "writeConcern": { "w": 3 } };
    servers.command("db_plain", majority);
    let others: Vec<usize> = (0..3).filter(|member| *member != primary).collect();
    others.iter().for_each(|member| servers.kill(*member));
    // A primary does the same when it has lost the other members.
    let last = servers.connect(&servers.uri_of(primary));
    let step_down = doc! { "replSetStepDown": 3600, "force": true };
    let _ = servers.wait(last.database("admin").run_command(step_down).into_future());
    let uri = servers.uri();
    let (report, told) = wait_for("nobody tells that there is no primary", || {
        let report = json(&[&uri]);
        let told = problems(&report).into_iter().find(|told| told.contains("has no primary"));
        told.map(|told| (report, told))
    });
    for member in &others {
        assert!(told.contains(&format!("127.0.0.1:{}", servers.port(*member))), "{told}");
    }
    assert_eq!(report["sources"][0]["documents"], 51);
}

/// Starts a set of three members, the last of which is hidden.
fn with_a_hidden_member() -> Servers {
    let servers = Launch::replica_set(3).start();
    let reply = servers.command("admin", doc! { "replSetGetConfig": 1 });
    let mut config: Document = reply.get_document("config").unwrap().clone();
    let version = config.get_i32("version").unwrap();
    config.insert("version", version + 1);
    let hidden = (servers.primary() + 1) % 3;
    let members = config.get_array_mut("members").unwrap();
    let member = members[hidden].as_document_mut().unwrap();
    member.extend(doc! { "priority": 0, "hidden": true });
    servers.command("admin", doc! { "replSetReconfig": config });
    servers
}

/// A hidden member serves no reads, but the set needs its copy and its vote.
#[test]
fn a_hidden_member_that_is_down_is_told() {
    let mut servers = with_a_hidden_member();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    let clean = json(&[&servers.uri()]);
    assert_eq!(problems(&clean), Vec::<String>::new());
    let hidden = (servers.primary() + 1) % 3;
    servers.kill(hidden);
    // The others notice after ten seconds without a heartbeat.
    let told = wait_for("the hidden member is not missed", || {
        Some(problems(&json(&[&servers.uri()]))).filter(|told| !told.is_empty())
    });
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains(&format!("127.0.0.1:{}", servers.port(hidden))), "{told:#?}");
}

/// An arbiter has no data that could be missing, but the set needs its vote.
#[test]
fn an_arbiter_that_is_down_is_told_as_one() {
    let servers = Launch::replica_set(3).start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    // A set with an arbiter needs an explicit default write concern.
    let default = doc! { "setDefaultRWConcern": 1, "defaultWriteConcern": { "w": 1 } };
    servers.command("admin", default);
    let reply = servers.command("admin", doc! { "replSetGetConfig": 1 });
    let mut config: Document = reply.get_document("config").unwrap().clone();
    let version = config.get_i32("version").unwrap();
    config.insert("version", version + 1);
    // No process listens on this port.
    let arbiter = doc! { "_id": 9, "host": "127.0.0.1:1", "arbiterOnly": true, "priority": 0 };
    config.get_array_mut("members").unwrap().push(arbiter.into());
    servers.command("admin", doc! { "replSetReconfig": config });
    let report = wait_for("the arbiter is not missed", || {
        Some(json(&[&servers.uri()])).filter(|report| !problems(report).is_empty())
    });
    let told = problems(&report);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("the arbiter 127.0.0.1:1 of the replica set"), "{told:#?}");
    assert_eq!(report["sources"][0]["documents"], 50);
}

/// An error about TLS tells the user whether to add or remove `tls=true`.
#[test]
fn a_connection_with_the_wrong_idea_of_tls_says_what_to_write() {
    for (launch, option, wanted) in [
        (Launch::standalone().tls(), "", "set tls=true"),
        (Launch::standalone(), "&tls=true", "set tls=false"),
    ] {
        let servers = launch.start();
        let uri = format!(
            "mongodb://127.0.0.1:{}/?serverSelectionTimeoutMS=3000{option}",
            servers.port(0)
        );
        let told = problems(&json(&[&uri]));
        assert!(told[0].contains(wanted), "{told:#?}");
    }
}

/// AP-S4.6: an index that one member uses is in use.
#[test]
fn ap_s4_6_the_use_of_an_index_is_counted_on_every_member() {
    let servers = Launch::replica_set(3).start();
    servers.insert("db_plain.t_invoice", plain_documents(200));
    let indexes = vec![
        doc! { "key": { "amount": 1 }, "name": "amount_1" },
        doc! { "key": { "amount": 1, "createTime": 1 }, "name": "amount_1_createTime_1" },
    ];
    servers.command(
        "db_plain",
        doc! { "createIndexes": "t_invoice", "indexes": indexes, "commitQuorum": 3 },
    );
    let find = doc! { "find": "t_invoice", "filter": { "amount": 5 }, "hint": "amount_1" };
    for _ in 0..7 {
        servers.command("db_plain", find.clone());
    }
    let told = |report: &Value| report["findings"][0]["what"].as_str().unwrap().to_owned();
    let report = json(&[&servers.uri(), "--select", "I001"]);
    // A server that restarts a find, for example after a catalogue change, counts it twice.
    let used = told(&report);
    let used =
        used.strip_suffix(" times (removal: likely)").and_then(|text| text.rsplit(' ').next());
    let used: u32 = used.and_then(|n| n.parse().ok()).unwrap_or_default();
    assert!((7..=14).contains(&used), "{}", told(&report));
    assert_eq!(report["findings"][0]["data"]["tier"], "likely");
    // One member alone does not show the usage on the others.
    let one = json(&[&servers.uri_of((servers.primary() + 1) % 3), "--select", "I001"]);
    let said = told(&one);
    assert!(!said.contains("used") || said.contains("on the members that were asked"), "{said}");
    assert_eq!(problems(&one), Vec::<String>::new());
}

/// A member stores replicated documents in runs, by several threads. A sample of a twentieth
/// contains hardly any runs, but its ids increase.
#[test]
fn dm_10_2_the_order_of_a_secondary_is_no_disorder_of_ids() {
    let servers = Launch::replica_set(2).start();
    let documents: Vec<Document> =
        (0..95_000).map(|i| doc! { "_id": format!("INV-{i:08}"), "state": "open" }).collect();
    servers.insert("db_plain.t_invoice", documents);
    let uri = format!("{}&readPreference=secondary", servers.uri());
    let report = json(&[&uri, "--sample", "5000", "--db", "db_plain"]);
    let rules = |wanted: &str| {
        report["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == wanted).count()
    };
    assert_eq!((rules("T008"), rules("T009")), (0, 1), "{:#}", report["findings"]);
}

/// By default, a lagging member is still read, and the report says so.
#[test]
fn a_member_that_is_behind_is_told_when_it_is_read_from() {
    let servers = Launch::replica_set(2).fail_points().start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    let late = 1 - servers.primary();
    let member = servers.connect(&servers.uri_of(late));
    let set = |mode: &str| {
        let point = doc! { "configureFailPoint": "rsSyncApplyStop", "mode": mode };
        servers.wait(member.database("admin").run_command(point).into_future()).unwrap();
    };
    set("alwaysOn");
    // Only one member has these twelve seconds of writes. The lag is measured by the time of a
    // member's last write.
    for n in 0..13 {
        let document = doc! { "_id": format!("late {n}") };
        let insert =
            doc! { "insert": "t_invoice", "documents": [document], "writeConcern": { "w": 1 } };
        servers.command("db_plain", insert);
        std::thread::sleep(Duration::from_secs(1));
    }
    let name = format!("127.0.0.1:{} (", servers.port(late));
    let told = |uri: &str| {
        let report = json(&[uri, "--full", "--db", "db_plain"]);
        (report["notes"].to_string(), report["sources"][0]["documents"].clone())
    };
    let (notes, documents) = told(&servers.uri());
    assert!(notes.contains("may have been read from a member"), "{notes}");
    assert!(notes.contains(&name) && notes.contains("readPreference=primary"), "{notes}");
    assert_eq!(documents, 50);
    let (notes, documents) = told(&format!("{}&readPreference=primary", servers.uri()));
    assert!(!notes.contains("behind the primary"), "{notes}");
    assert_eq!(documents, 63);
    let (notes, _) = told(&servers.uri_of(late));
    assert!(notes.contains("this data was read from") && notes.contains(&name), "{notes}");
    let (notes, _) = told(&servers.uri_of(1 - late));
    assert!(!notes.contains("behind the primary"), "{notes}");
    set("off");
}

#[test]
fn an_arbiter_is_told_as_one_to_who_connects_to_it() {
    let servers = Launch::replica_set(1).start();
    servers.insert("db_plain.t_invoice", plain_documents(50));
    let arbiter = Launch::standalone().argument("--replSet").argument("rs0").start();
    let default = doc! { "setDefaultRWConcern": 1, "defaultWriteConcern": { "w": 1 } };
    servers.command("admin", default);
    let reply = servers.command("admin", doc! { "replSetGetConfig": 1 });
    let mut config: Document = reply.get_document("config").unwrap().clone();
    let version = config.get_i32("version").unwrap();
    config.insert("version", version + 1);
    let host = format!("127.0.0.1:{}", arbiter.port(0));
    let member = doc! { "_id": 9, "host": host, "arbiterOnly": true, "priority": 0 };
    config.get_array_mut("members").unwrap().push(member.into());
    servers.command("admin", doc! { "replSetReconfig": config });
    // The member must first receive the configuration of the set.
    let told = wait_for("the arbiter is not told as one", || {
        let told = problems(&json(&[&arbiter.uri_of(0), "--db", "db_plain"]));
        Some(told).filter(|told| told.iter().any(|problem| problem.contains("arbiter")))
    });
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("has no documents"), "{told:#?}");
    assert!(told[0].contains(&format!("such as 127.0.0.1:{}", servers.port(0))), "{told:#?}");
}
