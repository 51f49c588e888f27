//! Validators on running servers: the steps of RF-19, checks that the server counts, and the
//! rollback.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};

use crate::common::{code, docward, signal, stderr, stdout};
use bson::{Bson, Decimal128, Document, doc};
use docward_testkit::{Launch, PATIENCE, Servers, wait_until};
use serde_json::Value;

const SCHEMA: &str = r#"{"$jsonSchema": {"bsonType": "object", "required": ["price"],
    "properties": {"price": {"bsonType": "decimal", "description": "An amount of money"}}}}"#;

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().unwrap())
}

/// Returns the three prices of the story ST-11.
fn prices() -> [Document; 3] {
    [
        doc! { "_id": 1, "price": decimal("99.00") },
        doc! { "_id": 2, "price": "99.00" },
        doc! { "_id": 3, "price": { "value": 99 } },
    ]
}

fn schema_file(directory: &Path) -> PathBuf {
    let path = directory.join("price.schema.json");
    std::fs::write(&path, SCHEMA).unwrap();
    path
}

/// Returns the listed options of a collection.
fn options(servers: &Servers, collection: &str) -> Document {
    let list = doc! { "listCollections": 1, "filter": { "name": collection } };
    let reply = servers.command("db_shop", list);
    let row = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap()[0].clone();
    row.as_document().unwrap().get_document("options").unwrap().clone()
}

/// Runs `schema apply` once. Returns its JSON and its exit code.
fn apply(servers: &Servers, namespace: &str, more: &[&str]) -> (Value, i32) {
    let schema = schema_file(servers.directory());
    let undo = servers.directory().join("undo");
    let uri = servers.uri();
    let mut arguments = vec![
        "schema",
        "apply",
        &uri,
        "--schema",
        schema.to_str().unwrap(),
        "--namespace",
        namespace,
    ];
    arguments.extend(["--undo", undo.to_str().unwrap(), "--format", "json"]);
    arguments.extend(more);
    let output = docward(&arguments);
    let json = serde_json::from_slice(&output.stdout);
    (json.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output))), code(&output))
}

fn write(servers: &Servers, command: Document) -> Option<i32> {
    let reply = servers.command("db_shop", command);
    let errors = reply.get_array("writeErrors").cloned().unwrap_or_default();
    errors.first().map(|error| error.as_document().unwrap().get_i32("code").unwrap())
}

#[test]
fn st_11_rf_19_dm_11_2_dm_11_3_dm_11_5_gc_01_the_ladder_up_and_down_on_a_replica_set() {
    let servers = Launch::replica_set(3).start();
    servers.insert("db_shop.t_product", prices());
    let none = options(&servers, "t_product");
    let insert = |id: i32, price: Bson| {
        write(
            &servers,
            doc! { "insert": "t_product", "documents": [{ "_id": id, "price": price }] },
        )
    };
    let update = |id: i32, price: Bson| {
        let change = doc! { "q": { "_id": id }, "u": { "$set": { "price": price } } };
        write(&servers, doc! { "update": "t_product", "updates": [change] })
    };

    // The step `measure` changes nothing.
    let (dry, exit) = apply(&servers, "db_shop.t_product", &[]);
    assert_eq!(
        (exit, dry["state"].as_str(), dry["step"].as_str()),
        (0, Some("dry-run"), Some("warn"))
    );
    assert_eq!((dry["documents"].as_u64(), dry["refused"].as_u64()), (Some(3), Some(2)));
    assert_eq!(dry["breaches"][0]["path"], "price");
    assert_eq!(dry["breaches"][0]["keyword"], "bsonType");
    assert_eq!(dry["breaches"][0]["ids"], serde_json::json!(["2", "3"]));
    assert_eq!(options(&servers, "t_product"), none);

    // The step `warn` stores and logs failing documents.
    let (warn, _) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!((warn["state"].as_str(), warn["step"].as_str()), (Some("changed"), Some("warn")));
    assert_eq!(insert(4, "1.00".into()), None);
    let log = std::fs::read_to_string(servers.log(servers.primary())).unwrap();
    assert!(log.contains("Document would fail validation"), "the server has logged it");

    // With the step `moderate`, new documents must pass, and old ones may stay unchanged.
    let (moderate, _) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!(moderate["step"], "moderate");
    assert_eq!(moderate["refusedAfter"], 3);
    assert_eq!(insert(5, "1.00".into()), Some(121));
    assert_eq!(update(1, "1.00".into()), Some(121), "an update of a valid document is checked");
    assert_eq!(update(2, "98.00".into()), None, "an update of an invalid one is not");

    // The step `strict` waits until all documents pass.
    let before = options(&servers, "t_product");
    let (held, exit) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!(
        (exit, held["state"].as_str(), held["step"].as_str()),
        (1, Some("held"), Some("strict"))
    );
    assert_eq!(options(&servers, "t_product"), before);
    let clean = doc! {
        "q": { "price": { "$not": { "$type": "decimal" } } },
        "u": [{ "$set": { "price": { "$toDecimal": { "$ifNull": ["$price.value", "$price"] } } } }],
        "multi": true,
    };
    assert_eq!(write(&servers, doc! { "update": "t_product", "updates": [clean] }), None);
    let (strict, exit) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!(
        (exit, strict["state"].as_str(), strict["refused"].as_u64()),
        (0, Some("changed"), Some(0))
    );
    assert_eq!(update(2, "98.00".into()), Some(121));
    let now = options(&servers, "t_product");
    assert_eq!(
        (now.get_str("validationLevel").unwrap(), now.get_str("validationAction").unwrap()),
        ("strict", "error")
    );
    // A majority of the members has the change.
    let members = (0..3).filter(|&member| {
        let client = servers.connect(&servers.uri_of(member));
        let database = client.database("db_shop");
        let list = doc! { "listCollections": 1, "filter": { "name": "t_product" } };
        let reply = servers.wait(database.run_command(list).into_future()).unwrap();
        let row = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap()[0].clone();
        row.as_document()
            .unwrap()
            .get_document("options")
            .unwrap()
            .get_str("validationLevel")
            .is_ok_and(|level| level == "strict")
    });
    assert!(members.count() >= 2);

    // A second run has nothing to do and saves no state.
    let (again, exit) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!((exit, again["state"].as_str(), again["undo"].as_str()), (0, Some("done"), None));

    // The rollback goes step by step. It refuses a file that a later change has made outdated.
    let files: Vec<&str> =
        [&warn, &moderate, &strict].iter().map(|run| run["undo"].as_str().unwrap()).collect();
    let uri = servers.uri();
    let overtaken = docward(&["schema", "rollback", files[0], &uri, "--yes"]);
    assert_eq!(code(&overtaken), 2);
    assert!(stderr(&overtaken).contains("has changed since"), "{}", stderr(&overtaken));
    let shown = docward(&["schema", "rollback", files[2], &uri]);
    assert!(stdout(&shown).contains("dry run"), "{}", stdout(&shown));
    assert_eq!(options(&servers, "t_product"), now);
    for file in files.iter().rev() {
        let output = docward(&["schema", "rollback", file, &uri, "--yes"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let told = if *file == files[0] { "no validator" } else { "byte for byte" };
        assert!(stdout(&output).contains(told), "{}", stdout(&output));
    }
    assert_eq!(insert(6, "free again".into()), None);
    let restored = options(&servers, "t_product");
    assert!(restored.get_document("validator").is_err(), "{restored}");
    // The server cannot remove the other two options, only set them to their defaults.
    let defaults = doc! { "validationLevel": "strict", "validationAction": "error" };
    assert_eq!(restored, defaults);
}

/// Starts `schema apply --yes`, with its output in pipes.
fn applying(servers: &Servers, more: &[&str]) -> std::process::Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin!("docward"))
        .args(["schema", "apply", &servers.uri(), "--namespace", "db_shop.t_product"])
        .args(["--schema", schema_file(servers.directory()).to_str().unwrap()])
        .args(["--undo", servers.directory().join("undo").to_str().unwrap()])
        .args(["--format", "json"])
        .args(more)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn rf_19_a_run_killed_before_the_change_leaves_a_file_that_only_the_user_reads() {
    use std::os::unix::fs::PermissionsExt as _;
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_shop.t_product", prices());
    let none = options(&servers, "t_product");
    let blocked = servers.block(0, &["collMod"], doc! { "times": 1 }, doc! {});
    let mut child = applying(&servers, &["--yes"]);
    blocked.wait_until_hit();
    child.kill().unwrap();
    child.wait().unwrap();
    blocked.release();
    assert_eq!(options(&servers, "t_product"), none, "nothing was changed");
    let undo = servers.directory().join("undo");
    let files: Vec<_> = std::fs::read_dir(undo).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = std::fs::metadata(&files[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "validators may contain values of documents");
    let uri = servers.uri();
    let file = files[0].to_str().unwrap();
    let output = docward(&["schema", "rollback", file, &uri, "--yes"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("in its previous state already"), "{}", stdout(&output));

    // After another run, both files restore the same state.
    let (again, _) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!(again["state"], "changed");
    let output = docward(&["schema", "rollback", file, &uri, "--yes"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(options(&servers, "t_product").get_document("validator").is_err());
}

#[test]
fn dm_11_3_a_detail_never_exceeds_the_total_while_clients_write() {
    let servers = Launch::standalone().fail_points().start();
    servers.insert("db_shop.t_product", prices());
    // The counts are done when the examples are fetched.
    let _point = servers.fail_point(
        0,
        doc! { "times": 1 },
        doc! {
            "failCommands": ["find"], "namespace": "db_shop.t_product", "appName": "docward",
            "blockConnection": true, "blockTimeMS": 1500,
        },
    );
    let child = applying(&servers, &[]);
    let hit = doc! { "waitForFailPoint": "failCommand", "timesEntered": 1, "maxTimeMS": 120_000 };
    servers.command("admin", hit);
    servers.insert("db_shop.t_product", (10..40).map(|n| doc! { "_id": n, "price": "1" }));
    let output = child.wait_with_output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let detail = json["breaches"][0]["documents"].as_u64().unwrap();
    let (refused, all) = (json["refused"].as_u64().unwrap(), json["documents"].as_u64().unwrap());
    assert!(detail > 2, "clients have written: {json:#}");
    assert!(detail <= refused && refused <= all, "{json:#}");
}

#[test]
fn gc_33_an_account_of_the_application_is_told_what_it_lacks() {
    let servers = Launch::replica_set(1).auth().start();
    servers.insert("db_shop.t_product", prices());
    let schema = schema_file(servers.directory());
    let user = servers.create_user("app", vec![doc! { "role": "readWrite", "db": "db_shop" }]);
    let run = |user: &str, more: &[&str]| {
        let uri = servers.uri_as(Some(user));
        let undo = servers.directory().join("undo");
        let mut arguments = vec!["schema", "apply", &uri, "--schema", schema.to_str().unwrap()];
        arguments.extend(["--namespace", "db_shop.t_product", "--undo", undo.to_str().unwrap()]);
        arguments.extend(more);
        docward(&arguments)
    };
    let refused = run(&user, &["--yes"]);
    assert_eq!(code(&refused), 2);
    let message = stderr(&refused);
    assert!(message.contains("may not collMod on db_shop.t_product"), "{message}");
    assert!(message.contains("dbAdmin"), "{message}");
    assert!(!message.contains("app-password"), "{message}");
    assert_eq!(code(&run(&user, &[])), 0, "a dry run needs no more than reading");
    // The privilege to read is enough to check and to infer.
    let reader = servers.create_user("reader", vec![doc! { "role": "read", "db": "db_shop" }]);
    let reader = servers.uri_as(Some(&reader));
    let check = docward(&[
        "schema",
        "check",
        schema.to_str().unwrap(),
        &reader,
        "--collection",
        "t_product",
    ]);
    assert_eq!(code(&check), 1, "{}", stdout(&check));
    let infer = docward(&["schema", "infer", &reader, "--collection", "t_product", "--quiet"]);
    assert_eq!(code(&infer), 0, "{}", stderr(&infer));
    let operator = servers.create_user(
        "operator",
        vec![doc! { "role": "dbAdmin", "db": "db_shop" }, doc! { "role": "read", "db": "db_shop" }],
    );
    let done = run(&operator, &["--yes"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let wrong = run("app:nonsense", &[]);
    assert_eq!(code(&wrong), 2);
    assert!(stderr(&wrong).contains("the login was refused"), "{}", stderr(&wrong));
}

#[test]
fn gc_30_what_can_have_no_validator_is_refused_with_the_reason() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_product", prices());
    servers.command("db_shop", doc! { "create": "t_reading", "timeseries": { "timeField": "at" } });
    servers
        .command("db_shop", doc! { "create": "v_product", "viewOn": "t_product", "pipeline": [] });
    let uri = servers.uri();
    let schema = schema_file(servers.directory());
    let message = |namespace: &str| {
        let output = docward(&[
            "schema",
            "apply",
            &uri,
            "--schema",
            schema.to_str().unwrap(),
            "--namespace",
            namespace,
            "--yes",
        ]);
        assert_eq!(code(&output), 2, "{}", stdout(&output));
        stderr(&output)
    };
    assert!(message("db_shop.t_reading").contains("is a time series collection"));
    assert!(message("db_shop.v_product").contains("is a view"));
    assert!(message("db_shop.system.views").contains("a system collection"));
    assert!(message("admin.t_settings").contains("database of the server"));
    assert!(message("db_shop.t_nothing").contains("does not exist"));
    assert!(message("t_product").contains("expected database.collection"));
    let bad = servers.directory().join("bad.json");
    std::fs::write(&bad, r#"{"$jsonSchema": {"bsonType": "money"}}"#).unwrap();
    let output = docward(&[
        "schema",
        "apply",
        &uri,
        "--schema",
        bad.to_str().unwrap(),
        "--namespace",
        "db_shop.t_product",
        "--yes",
    ]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("Unknown type name alias: money"), "{}", stderr(&output));
    let dead = docward(&[
        "schema",
        "apply",
        "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300",
        "--schema",
        schema.to_str().unwrap(),
        "--namespace",
        "db_shop.t_product",
    ]);
    assert_eq!(code(&dead), 2);
    let told = stderr(&dead);
    assert!(
        told.contains("no server answered: 127.0.0.1:1: connection refused; check host"),
        "{told}"
    );
    assert!(!told.contains("Topology"), "the driver's own words: {told}");
}

#[test]
fn dm_11_4_what_validation_costs_is_measured_and_swept_up() {
    let servers = Launch::standalone().shared().start();
    servers
        .insert("db_shop.t_product", (0..500).map(|n| doc! { "_id": n, "price": decimal("1.50") }));
    let (report, exit) = apply(&servers, "db_shop.t_product", &["--measure-cost", "--turns", "3"]);
    assert_eq!(exit, 0, "{report}");
    assert_eq!(report["state"], "dry-run", "measuring is not applying");
    assert_eq!(report["cost"]["turns"].as_array().unwrap().len(), 3);
    assert_eq!(report["cost"]["documents"], 500);
    assert!(report["cost"]["share"].as_f64().unwrap() > -0.9);
    let reply = servers.command("db_shop", doc! { "listCollections": 1, "nameOnly": true });
    let left = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap().len();
    assert_eq!(left, 1, "no scratch collection is left");
}

#[test]
fn dm_11_4_a_measurement_that_is_terminated_is_swept_up() {
    let servers = Launch::standalone().shared().start();
    let product = |n: i32| doc! { "_id": n, "price": decimal("1.50"), "text": "x".repeat(2000) };
    servers.insert("db_shop.t_product", (0..1000).map(product));
    let collections = || {
        let reply = servers.command("db_shop", doc! { "listCollections": 1, "nameOnly": true });
        reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap().len()
    };
    let schema = schema_file(servers.directory());
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("docward"))
        .args(["schema", "apply", &servers.uri(), "--schema", schema.to_str().unwrap()])
        .args(["--namespace", "db_shop.t_product", "--measure-cost", "--turns", "99"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("no scratch collection comes", || collections() >= 3);
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("stopped; nothing was changed"), "{}", stderr(&output));
    assert_eq!(collections(), 1, "no scratch collection is left");
}

#[test]
fn dm_11_3_a_count_that_takes_long_can_be_stopped() {
    for command in ["apply", "check"] {
        let servers = Launch::standalone().shared().start();
        servers.insert("db_shop.t_product", (0..50_000).map(|n| doc! { "_id": n }));
        // Only the server can evaluate this schema, and it would take hours.
        let schema = servers.directory().join("slow.json");
        let slow = r#"{"$expr": {"$lt": [-1, {"$reduce": {"input": {"$range": [0, 1000000]},
            "initialValue": "$_id", "in": {"$add": ["$$value", 1]}}}]}}"#;
        std::fs::write(&schema, slow).unwrap();
        let uri = servers.uri();
        let schema = schema.to_str().unwrap();
        let arguments: &[&str] = match command {
            "apply" => &["--schema", schema, "--namespace", "db_shop.t_product", &uri],
            _ => &[schema, &uri],
        };
        let child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("docward"))
            .args(["schema", command])
            .args(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let wanted = doc! {
            "appName": "docward", "command.aggregate": "t_product",
            "command.pipeline.0.$match": { "$exists": true },
        };
        let pipeline = vec![doc! { "$currentOp": {} }, doc! { "$match": wanted }];
        let question = doc! { "aggregate": 1, "pipeline": pipeline, "cursor": {} };
        wait_until("nobody counts", || {
            let reply = servers.command("admin", question.clone());
            !reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap().is_empty()
        });
        signal(&child, "INT");
        let start = std::time::Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(start.elapsed() < PATIENCE, "{command} waits for the server");
        assert_eq!(output.status.code(), Some(2), "{command}: {}", stderr(&output));
        let told = format!("{}{}", stdout(&output), stderr(&output));
        let expected =
            if command == "apply" { "stopped; nothing was changed" } else { "nterrupted" };
        assert!(told.contains(expected), "{command}: {told}");
    }
}

#[test]
fn rf_19_what_is_enforced_is_not_lowered_by_the_way() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_product", [doc! { "_id": 1, "price": decimal("1.00") }]);
    let other = doc! { "$jsonSchema": { "required": ["price"] } };
    servers.command("db_shop", doc! { "collMod": "t_product", "validator": &other });
    let before = options(&servers, "t_product");
    let (report, exit) = apply(&servers, "db_shop.t_product", &["--yes"]);
    assert_eq!((exit, report["state"].as_str()), (1, Some("lowering")));
    assert_eq!(options(&servers, "t_product"), before);
    let (report, exit) = apply(&servers, "db_shop.t_product", &["--yes", "--step", "strict"]);
    assert_eq!((exit, report["state"].as_str()), (0, Some("changed")), "{report}");
    let undo = report["undo"].as_str().unwrap();
    let back = docward(&["schema", "rollback", undo, &servers.uri(), "--yes"]);
    assert_eq!(code(&back), 0, "{}", stderr(&back));
    assert_eq!(options(&servers, "t_product").get_document("validator").unwrap(), &other);
    let (report, _) = apply(&servers, "db_shop.t_product", &["--yes", "--allow-lowering"]);
    assert_eq!(
        (report["state"].as_str(), report["step"].as_str()),
        (Some("changed"), Some("warn"))
    );
}

#[test]
fn dm_11_3_a_live_check_lets_the_server_count() {
    let servers = Launch::standalone().shared().start();
    let many = (0..3000).map(|n| match n % 10 {
        0 => doc! { "_id": n, "price": "99.00" },
        1 => doc! { "_id": n },
        _ => doc! { "_id": n, "price": decimal("99.00") },
    });
    servers.insert("db_shop.t_product", many);
    servers.insert("db_shop.t_other", [doc! { "_id": 1 }]);
    let schema = schema_file(servers.directory());
    let uri = servers.uri();
    let check = |more: &[&str]| {
        let mut arguments =
            vec!["schema", "check", schema.to_str().unwrap(), &uri, "--format", "json"];
        arguments.extend(["--collection", "t_product"]);
        arguments.extend(more);
        let output = docward(&arguments);
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        (report, code(&output))
    };
    let (report, exit) = check(&[]);
    assert_eq!(exit, 1);
    let found: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            (
                f["rule"].as_str().unwrap(),
                f["path"].as_str().unwrap(),
                f["data"]["keyword"].as_str().unwrap(),
                f["data"]["documents"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [("V007", "price", "bsonType", 300), ("V007", "price", "required", 300)]);
    assert_eq!(report["findings"][0]["data"]["of"], 3000);
    assert_eq!(report["sources"][0]["documents"], 600, "only documents that break it travel");
    // The output counts all checked documents.
    let output =
        docward(&["schema", "check", schema.to_str().unwrap(), &uri, "--collection", "t_product"]);
    let text = stdout(&output);
    let first = text.lines().next().unwrap();
    assert!(first.contains(": 3,000 documents checked, "), "{first}");
    assert!(text.contains(" · 3,000 documents checked\n"), "{text}");
    let (few, _) = check(&["--examples", "10"]);
    assert_eq!(few["sources"][0]["documents"], 10);
    assert_eq!(few["findings"][0]["data"]["atLeast"], true);
    assert_eq!(few["findings"][0]["data"]["refusedDocuments"], 600);
    // Only a server can evaluate this schema.
    let by_server = servers.directory().join("expr.json");
    std::fs::write(&by_server, r#"{"$expr": {"$eq": [{"$type": "$price"}, "decimal"]}}"#).unwrap();
    let output = docward(&[
        "schema",
        "check",
        by_server.to_str().unwrap(),
        &uri,
        "--collection",
        "t_product",
        "--format",
        "json",
    ]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["findings"][0]["data"]["refusedDocuments"], 600, "{report:#}");
}

/// The server must accept a schema that is inferred from a dump, and all documents of the dump must
/// pass there.
#[test]
fn alg_10_dm_11_1_schemas_read_off_a_dump_are_taken_by_the_server() {
    let servers = Launch::standalone().shared().start();
    let shop = crate::common::root().join("examples/shop");
    servers.load(&shop);
    let output = docward(&["schema", "infer", "examples/shop", "--tolerance", "0", "--quiet"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let schemas: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut applied = 0;
    for (namespace, validator) in schemas.as_object().unwrap() {
        let (database, collection) = namespace.split_once('.').unwrap();
        // The server does not allow changes of its own collections.
        if database == "admin" || collection.starts_with("system.") {
            continue;
        }
        let validator: Document = serde_json::from_value(validator.clone()).unwrap();
        servers.command(database, doc! { "collMod": collection, "validator": &validator });
        let count = doc! { "count": collection, "query": { "$nor": [validator] } };
        let refused = servers.command(database, count).get_i32("n").unwrap();
        assert_eq!(refused, 0, "{namespace}");
        applied += 1;
    }
    assert!(applied > 60, "{applied}");
    // A shell runs the script for one collection.
    let script = docward(&[
        "schema",
        "infer",
        "examples/shop",
        "--collection",
        "t_order",
        "--format",
        "mongosh",
        "--quiet",
    ]);
    // The shell of these tests does not support comments.
    let script: Vec<String> = stdout(&script)
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|line| line.split(" // ").next().unwrap().to_owned())
        .collect();
    let statements = docward_testkit::statements(&script.join("\n")).unwrap();
    assert_eq!(statements.len(), 1);
    servers.run(&statements[0]).unwrap();
    assert_eq!(options(&servers, "t_order").get_str("validationAction").unwrap(), "warn");
    // A full reading of the server gives the same schemas.
    let live = docward(&[
        "schema",
        "infer",
        &servers.uri(),
        "--full",
        "--collection",
        "db_shop.t_order",
        "--quiet",
    ]);
    let file = docward(&[
        "schema",
        "infer",
        "examples/shop",
        "--collection",
        "db_shop.t_order",
        "--quiet",
    ]);
    assert_eq!(stdout(&live), stdout(&file));
}
