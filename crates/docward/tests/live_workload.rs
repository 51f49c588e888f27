//! What `docward audit` learns from running servers about their clients, with the real binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    path::Path,
    process::{Command, Output},
    time::Duration,
};

use bson::{Document, doc};
use docward_testkit::{Launch, Servers, mongodb::Client, wait_for, wait_until};
use serde_json::Value;

fn docward(arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin("docward")).args(arguments).output().unwrap()
}

fn audit(arguments: &[&str]) -> Value {
    let mut all = vec!["audit", "--format", "json", "--no-progress"];
    all.extend(arguments);
    crate::common::report(&docward(&all))
}

fn found<'r>(report: &'r Value, rule: &str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == rule).collect()
}

fn problems(report: &Value) -> Vec<String> {
    let problems = report["problems"].as_array().unwrap();
    problems.iter().map(|p| p["message"].as_str().unwrap().to_owned()).collect()
}

/// Returns a connection string with an application name.
fn named(uri: &str, name: &str) -> String {
    let separator = if uri.ends_with('?') { "" } else { "&" };
    format!("{uri}{separator}appName={name}")
}

/// Creates a client with an application name.
fn client(servers: &Servers, uri: &str, name: &str) -> Client {
    servers.connect(&named(uri, name))
}

fn run(servers: &Servers, client: &Client, command: Document) {
    servers.wait(client.database("db_shop").run_command(command).into_future()).unwrap();
}

/// Creates a collection that an application scans while the profiler records everything.
fn profiled_shop(servers: &Servers, uri: &str) {
    let orders = (0..3000).map(|n| doc! { "_id": n, "status": format!("s{}", n % 7) });
    servers.insert("db_shop.t_order", orders);
    servers.command("db_shop", doc! { "profile": 2 });
    let shop = client(servers, uri, "shop-api");
    for _ in 0..5 {
        let filter = doc! { "status": "a-value-nobody-may-print" };
        run(servers, &shop, doc! { "find": "t_order", "filter": filter });
    }
}

#[test]
fn ck_12_the_profiler_is_read_and_docward_leaves_itself_out() {
    let servers = Launch::standalone().start();
    let uri = servers.uri();
    profiled_shop(&servers, &uri);
    let saved = servers.directory().join("evidence.json");
    let saved = saved.to_str().unwrap();
    // The profiler also records the requests of these runs. The last run has an application name
    // from the user.
    for arguments in [
        vec![uri.as_str(), "--full"],
        vec![uri.as_str(), "--metadata-only"],
        vec![uri.as_str(), "--db", "db_shop", "--save-evidence", saved],
        vec![&named(&uri, "nightly"), "--full", "--save-evidence", saved],
    ] {
        let report = audit(&arguments);
        assert_eq!(problems(&report), Vec::<String>::new());
        let scans = found(&report, "W001");
        assert_eq!(scans.len(), 1, "{scans:#?}");
        assert_eq!(scans[0]["namespace"], "db_shop.t_order");
        assert_eq!(scans[0]["data"]["operations"], 5, "{arguments:?}");
        let fix = scans[0]["fix"]["command"].as_str().unwrap();
        assert!(fix.ends_with("createIndex({status: 1})"), "{fix}");
        let workload = report["sources"].as_array().unwrap().last().unwrap();
        assert_eq!((&workload["kind"], &workload["documents"]), (&"workload".into(), &5.into()));
        assert!(!report.to_string().contains("a-value-nobody-may-print"));
    }
    let evidence = std::fs::read_to_string(saved).unwrap();
    assert!(!evidence.contains("a-value-nobody-may-print"));
    let evidence: Value = serde_json::from_str(&evidence).unwrap();
    for shape in evidence["evidence"]["workload"]["shapes"].as_array().unwrap() {
        assert!(!shape["applications"].to_string().contains("docward"), "{shape:#}");
    }
    // Evidence files store the workload.
    let again = audit(&[saved]);
    assert_eq!(found(&again, "W001").len(), 1);
    // Operations do not count as documents there either.
    let sources = again["sources"].as_array().unwrap();
    let counted: Vec<_> = sources.iter().map(|s| (&s["kind"], &s["documents"])).collect();
    let expected = [(&"evidence".into(), &3000.into()), (&"workload".into(), &5.into())];
    assert_eq!(counted, expected, "{sources:#?}");
    // Collections outside the filter are left out.
    assert!(found(&audit(&[&uri, "--collection", "t_none"]), "W001").is_empty());
    // The terminal output states what was read.
    let text = docward(&["audit", &uri, "--no-progress"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("5 recorded operations"), "{text}");
}

#[test]
fn ck_12_each_member_tells_what_it_did_itself() {
    let servers = Launch::replica_set(2).start();
    profiled_shop(&servers, &servers.uri());
    let other = 1 - servers.primary();
    let reader = client(&servers, &servers.uri_of(other), "reports");
    run(&servers, &reader, doc! { "profile": 2 });
    for _ in 0..3 {
        run(&servers, &reader, doc! { "find": "t_order", "filter": { "note": 1 } });
    }
    let report = audit(&[&servers.uri()]);
    assert_eq!(problems(&report), Vec::<String>::new());
    let whats: Vec<_> = found(&report, "W001").iter().map(|f| f["what"].to_string()).collect();
    assert!(whats.iter().any(|what| what.contains("{status}")), "{whats:?}");
    assert!(whats.iter().any(|what| what.contains("{note}")), "{whats:?}");
}

#[test]
fn ck_12_a_member_that_is_down_is_a_problem_and_the_rest_is_audited() {
    let mut servers = Launch::replica_set(3).start();
    profiled_shop(&servers, &servers.uri());
    let primary = servers.primary();
    let dead = (primary + 1) % 3;
    let host = format!("127.0.0.1:{}", servers.port(dead));
    // The other members have not noticed it yet.
    servers.kill(dead);
    let unnoticed = audit(&[&servers.uri()]);
    let told = |report: &Value| {
        let problems = problems(report);
        assert_eq!(problems.len(), 1, "{problems:#?}");
        assert!(problems[0].contains(&servers.port(dead).to_string()), "{host}: {problems:?}");
        assert!(problems[0].contains("profiler"), "{problems:?}");
    };
    told(&unnoticed);
    assert_eq!(found(&unnoticed, "W001").len(), 1, "the primary's profiler was read");
    // The other members have noticed it.
    wait_until("the dead member is not missed", || {
        let status = servers.command("admin", doc! { "replSetGetStatus": 1 });
        let members = status.get_array("members").unwrap();
        members.iter().any(|m| m.as_document().unwrap().get_f64("health").unwrap() == 0.0)
    });
    let output = docward(&["audit", "--format", "json", "--no-progress", &servers.uri()]);
    assert_eq!(output.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    told(&report);
    assert_eq!(found(&report, "W001").len(), 1);
    // A run on one server only reports problems of that server.
    assert_eq!(problems(&audit(&[&servers.uri_of(primary)])), Vec::<String>::new());
}

/// Reads documents on one connection and overwrites them, as a program would after a computation.
fn read_then_write(servers: &Servers, reader: &Client, writer: &Client, collection: &str) {
    for n in 0..60 {
        run(servers, reader, doc! { "find": collection, "filter": { "_id": n }, "limit": 1 });
        let update = doc! { "q": { "_id": n }, "u": { "$set": { "stock": n + 1 } } };
        run(servers, writer, doc! { "update": collection, "updates": [update] });
    }
}

#[test]
fn ck_15_what_is_read_and_then_written_is_found_in_profiler_and_log() {
    let servers = Launch::standalone().start();
    let uri = servers.uri();
    for collection in ["t_stock", "t_price"] {
        let documents = (0..60).map(|n| doc! { "_id": n, "stock": n });
        servers.insert(&format!("db_shop.{collection}"), documents);
    }
    servers.command("db_shop", doc! { "profile": 2, "slowms": -1 });
    let [shop, reports] = ["shop-api", "reports"].map(|name| client(&servers, &uri, name));
    // The same client does both; then one client reads and another writes.
    read_then_write(&servers, &shop, &shop, "t_stock");
    read_then_write(&servers, &reports, &shop, "t_price");
    servers.command("db_shop", doc! { "profile": 0, "slowms": 1000 });
    let log = servers.log(0);
    for arguments in [
        vec![uri.as_str(), "--db", "db_shop"],
        vec![uri.as_str(), "--db", "db_shop", "--log", log.to_str().unwrap()],
    ] {
        let report = audit(&arguments);
        let races = found(&report, "W010");
        assert_eq!(races.len(), 1, "{arguments:?}: {races:#?}");
        assert_eq!(races[0]["namespace"], "db_shop.t_stock");
        assert_eq!(races[0]["data"]["times"], 60);
        let list = report["checklist"].as_array().unwrap();
        let item = list.iter().find(|item| item["id"] == "CK-15").unwrap();
        assert_eq!(item["verdict"], "fail", "{item}");
    }
}

#[test]
fn lm_2_dm_05_2_a_long_write_that_was_refused_is_seen() {
    let servers = Launch::standalone().start();
    let text = "x".repeat(9_000_000);
    servers.insert("db_shop.t_order", [doc! { "_id": 1, "pages": [&text] }]);
    servers.command("db_shop", doc! { "profile": 2 });
    let shop = client(&servers, &servers.uri(), "shop-api");
    let update = doc! { "q": { "_id": 1 }, "u": { "$push": { "pages": &text } } };
    run(&servers, &shop, doc! { "update": "t_order", "updates": [update] });
    let report = audit(&[&servers.uri()]);
    let refused = found(&report, "W008");
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_eq!(refused[0]["namespace"], "db_shop.t_order");
    assert_eq!(refused[0]["severity"], "error");
}

#[test]
fn cn_02_1_st_16_the_counters_of_a_server_show_connection_churn() {
    let servers = Launch::standalone().start();
    let uri = servers.uri();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    let config = servers.directory().join("docward.toml");
    // The default of five minutes after a start is too long for a test.
    std::fs::write(&config, "[rules.W009]\nmin-uptime = 1\n").unwrap();
    let config = config.to_str().unwrap();
    let early = audit(&[&uri])["skipped"].to_string();
    assert!(early.contains("W009"), "it has just been started: {early}");
    let status = || servers.command("admin", doc! { "serverStatus": 1 });
    // The server counts whole seconds since its start.
    wait_until("no time passes", || status().get_f64("uptime").unwrap() >= 2.0);
    let quiet = audit(&[&uri, "--config", config]);
    assert!(found(&quiet, "W009").is_empty(), "nothing is wrong yet");
    let skipped = quiet["skipped"].to_string();
    assert!(!skipped.contains("W009"), "the counters answer: {skipped}");
    for _ in 0..300 {
        let stream = std::net::TcpStream::connect(("127.0.0.1", servers.port(0))).unwrap();
        drop(stream);
    }
    // The server takes a moment to notice disconnected clients.
    wait_until("the server does not see that clients are gone", || {
        let status = status();
        let connections = status.get_document("connections").unwrap();
        let count = |name: &str| connections.get_i32(name).unwrap();
        count("totalCreated") >= 300 && count("current") < 20
    });
    let report = audit(&[&uri, "--config", config]);
    let churn = found(&report, "W009");
    assert_eq!(churn.len(), 1, "{report:#}");
    assert!(churn[0]["data"]["created"].as_u64().unwrap() >= 300, "{}", churn[0]);
    assert!(found(&audit(&[&uri]), "W009").is_empty(), "the server was just started");
}

#[test]
fn ck_12_missing_privileges_are_named() {
    let servers = Launch::standalone().auth().start();
    let uri = servers.uri();
    profiled_shop(&servers, &uri);
    let user = servers.create_user("reader", vec!["readAnyDatabase"]);
    let report = audit(&[&servers.uri_as(Some(&user))]);
    let problems_of_reader = problems(&report);
    let named = |action: &str, on: &str| {
        problems_of_reader
            .iter()
            .any(|p| p.starts_with("not allowed: ") && p.contains(action) && p.contains(on))
    };
    assert!(named("inprog", "on the deployment"), "{problems_of_reader:#?}");
    assert!(named("find", "db_shop.system.profile"), "{problems_of_reader:#?}");
    assert!(named("find", "what the profiler wrote down was not read"), "{problems_of_reader:#?}");
    assert!(found(&report, "W001").is_empty());
    // With the profiler off, only data about the whole server is missing.
    let report = audit(&[&servers.uri_as(Some(&user)), "--db", "admin"]);
    assert!(problems(&report).iter().all(|p| !p.contains("system.profile")), "{report:#}");
    let user = servers.create_user("watcher", vec!["readAnyDatabase", "clusterMonitor"]);
    let report = audit(&[&servers.uri_as(Some(&user))]);
    assert!(problems(&report).iter().all(|p| p.contains("viewUser")), "{:#?}", problems(&report));
    assert_eq!(found(&report, "W001").len(), 1);
}

#[test]
fn ck_12_scans_that_are_running_are_seen() {
    let servers = Launch::standalone().start();
    let uri = servers.uri();
    servers.insert("db_shop.t_order", (0..5000).map(|n| doc! { "_id": n, "status": "new" }));
    let shop = client(&servers, &uri, "shop-api");
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| {
            // The total is more than an hour.
            let filter = doc! { "status": "new", "$where": "sleep(1000) || false" };
            let find = doc! { "find": "t_order", "filter": filter };
            servers.wait(shop.database("db_shop").run_command(find).into_future())
        });
        let pipeline = vec![
            doc! { "$currentOp": {} },
            doc! { "$match": { "command.find": "t_order", "secs_running": { "$gte": 4 } } },
        ];
        let question = doc! { "aggregate": 1, "pipeline": pipeline, "cursor": {} };
        let operation = wait_for("nothing runs for long", || {
            let reply = servers.command("admin", question.clone());
            let batch = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
            batch
                .first()
                .map(|operation| operation.as_document().unwrap().get("opid").unwrap().clone())
        });
        let report = audit(&[&uri]);
        servers.command("admin", doc! { "killOp": 1, "op": operation });
        assert_eq!(problems(&report), Vec::<String>::new());
        let scans = found(&report, "W001");
        assert_eq!(scans.len(), 1, "{scans:#?}");
        let what = scans[0]["what"].as_str().unwrap();
        assert!(what.contains("was still scanning"), "{what}");
        assert_eq!(scans[0]["severity"], "info");
        assert!(slow.join().unwrap().is_err(), "it was stopped");
    });
}

/// Writes a configuration in which a connection storm may be shorter than a minute.
fn impatient(directory: &Path) -> String {
    let config = directory.join("docward.toml");
    std::fs::write(&config, "[rules.W012]\nmin-seconds = 2\nmin-count = 10\n").unwrap();
    config.display().to_string()
}

#[test]
fn ap_s1_6_st_15_a_log_shows_clients_that_stay_with_a_secondary() {
    let servers = Launch::replica_set(2).start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    let other = 1 - servers.primary();
    let stuck = client(&servers, &servers.uri_of(other), "stuck");
    let level = doc! { "profile": 0, "slowms": -1 };
    servers.wait(stuck.database("admin").run_command(level).into_future()).unwrap();
    for n in 0..16 {
        let update = doc! { "q": { "_id": 1 }, "u": { "$set": { "n": n } } };
        let command = doc! { "update": "t_order", "updates": [update] };
        let refused = servers.wait(stuck.database("db_shop").run_command(command).into_future());
        assert!(refused.is_err());
        std::thread::sleep(Duration::from_millis(200));
    }
    let log = servers.log(other);
    let log = log.to_str().unwrap();
    let report = audit(&["--log", log, "--config", &impatient(servers.directory())]);
    let storms = found(&report, "W012");
    assert_eq!(storms.len(), 1, "{report:#}");
    let what = storms[0]["what"].as_str().unwrap();
    assert!(what.contains("16 operations, 16 of them writes,"), "{what}");
    assert!(what.contains("`stuck`") && what.contains("`127.0.0.1`"), "{what}");
    assert_eq!(storms[0]["severity"], "error");
    // With the default settings, a few seconds of errors count as an election.
    assert!(found(&audit(&["--log", log]), "W012").is_empty());
    // With the deployment as a second source, the finding contains the full connection string.
    let config = impatient(servers.directory());
    let report = audit(&[&servers.uri(), "--log", log, "--config", &config]);
    let todo = found(&report, "W012")[0]["todo"].as_str().unwrap().to_owned();
    assert!(
        todo.contains("/?replicaSet=rs0") && todo.contains("without directConnection"),
        "{todo}"
    );
}

#[test]
fn ap_s1_6_clients_that_follow_the_set_make_no_storm() {
    let servers = Launch::replica_set(3).start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    let level = doc! { "profile": 0, "slowms": -1 };
    for member in 0..3 {
        let direct = servers.connect(&servers.uri_of(member));
        servers.wait(direct.database("admin").run_command(level.clone()).into_future()).unwrap();
    }
    let shop = client(&servers, &servers.uri(), "shop-api");
    let orders = shop.database("db_shop").collection::<Document>("t_order");
    let mut failed = 0;
    for n in 0..60 {
        if n == 10 {
            servers.step_down();
        }
        let update = orders.update_one(doc! { "_id": 1 }, doc! { "$set": { "n": n } });
        failed += usize::from(servers.wait(update.into_future()).is_err());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(failed <= 1, "the driver bridges an election: {failed}");
    for member in 0..3 {
        let log = servers.log(member);
        let config = impatient(servers.directory());
        let report = audit(&["--log", log.to_str().unwrap(), "--config", &config]);
        assert!(found(&report, "W012").is_empty(), "{report:#}");
    }
}

/// Creates twelve posts with four pictures each, to which no other documents refer.
fn blog(servers: &Servers) {
    servers.insert("db_shop.t_post", (0..12).map(|n| doc! { "_id": n, "title": "a post" }));
    let pictures = (0..48).map(|n| doc! { "_id": n, "postId": n / 4, "file": "a.png" });
    servers.insert("db_shop.t_picture", pictures);
}

/// Returns the advice about the posts of pictures.
fn advice(report: &Value) -> &Value {
    let found = found(report, "R013");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["path"], "postId");
    found[0]
}

#[test]
fn er_m_7_er_m_1_the_profiler_answers_what_data_cannot() {
    let servers = Launch::standalone().start();
    let uri = servers.uri();
    blog(&servers);
    let report = audit(&[&uri, "--full"]);
    let open = serde_json::json!(["ER-M.1", "ER-M.2", "ER-M.7", "ER-T.4"]);
    assert_eq!(advice(&report)["data"]["open"], open);
    servers.command("db_shop", doc! { "profile": 2 });
    let shop = client(&servers, &uri, "shop-api");
    // Implicit sessions of the driver may change between commands.
    servers.wait(async {
        let mut session = shop.start_session().await.unwrap();
        let database = shop.database("db_shop");
        for n in 0..80 {
            let update = doc! { "q": { "_id": n % 48 }, "u": { "$set": { "file": "b.png" } } };
            for command in [
                doc! { "find": "t_post", "filter": { "_id": n % 12 } },
                doc! { "find": "t_picture", "filter": { "postId": n % 12 } },
                doc! { "update": "t_picture", "updates": [update] },
            ] {
                database.run_command(command).session(&mut session).await.unwrap();
            }
        }
    });
    let report = audit(&[&uri, "--full"]);
    let advice = advice(&report);
    assert_eq!(advice["data"]["open"], serde_json::json!(["ER-T.4"]), "{advice:#}");
    let mut measured = advice["data"]["measured"].clone();
    // If the server pauses within a request, the request counts as two. The first request causes
    // such a pause, because the server creates `system.profile`.
    let together = measured.as_object_mut().unwrap().remove("coReadAtLeast").unwrap();
    assert!(together.as_f64().unwrap() > 0.95, "{advice:#}");
    let others = serde_json::json!({
        "reads": 80, "queriedAlone": 0.0, "updates": 80, "childOnlyUpdate": 1.0,
    });
    assert_eq!(measured, others, "{advice:#}");
    let todo = advice["todo"].as_str().unwrap();
    assert!(todo.starts_with("data and workload suggest embedding `t_picture`"), "{todo}");
}

#[test]
fn er_t_4_er_m_2_transactions_in_a_log_show_what_changes_together() {
    let servers = Launch::replica_set(1).start();
    blog(&servers);
    // Every operation is logged, whatever its duration.
    servers.command("admin", doc! { "profile": 0, "slowms": -1 });
    let shop = client(&servers, &servers.uri(), "shop-api");
    let database = shop.database("db_shop");
    servers.wait(async {
        let mut session = shop.start_session().await.unwrap();
        let set = doc! { "$inc": { "changed": 1 } };
        for n in 0..70 {
            session.start_transaction().await.unwrap();
            let posts = database.collection::<Document>("t_post");
            posts
                .update_one(doc! { "_id": n % 12 }, set.clone())
                .session(&mut session)
                .await
                .unwrap();
            let pictures = database.collection::<Document>("t_picture");
            let update = pictures.update_one(doc! { "postId": n % 12 }, set.clone());
            update.session(&mut session).await.unwrap();
            session.commit_transaction().await.unwrap();
        }
    });
    let log = servers.log(servers.primary());
    let report = audit(&[&servers.uri(), "--full", "--log", log.to_str().unwrap()]);
    let advice = advice(&report);
    assert_eq!(advice["data"]["open"], serde_json::json!(["ER-M.1", "ER-M.7"]), "{advice:#}");
    let measured = &advice["data"]["measured"];
    assert_eq!(measured["coUpdate"], 1.0, "{advice:#}");
    assert_eq!(measured["childOnlyUpdate"], Value::Null, "{advice:#}");
}
