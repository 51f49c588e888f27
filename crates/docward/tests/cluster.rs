//! Sharded clusters, replica sets with tags, and very many collections, with the real binary and
//! real servers. No router is available. The tests write the tables of a cluster, in their
//! documented form, into the database `config` of a standalone server, where config servers have
//! them.

use crate::common::{audit_json, code, docward, stdout};
use bson::{DateTime, Document, Uuid, doc};
use docward_testkit::{Launch, Servers};
use serde_json::Value;

/// How chunks on a server name their collection.
#[derive(Clone, Copy, PartialEq)]
enum Chunks {
    /// Up to 4.4.
    ByName,
    /// From 5.0 on.
    ByUuid,
}

/// Creates a cluster of two shards with `db_shop.t_order`, which is sharded by its status. There
/// are 300 documents with three states in 12 chunks, four of which are jumbo.
fn sharded_by_status(servers: &Servers, form: Chunks) {
    let uuid = Uuid::new();
    servers.insert(
        "config.shards",
        [
            doc! { "_id": "s0", "host": "s0/h0:27018", "state": 1, "tags": ["EU"] },
            doc! { "_id": "s1", "host": "s1/h1:27018", "state": 1 },
        ],
    );
    let mut rows = vec![
        doc! { "_id": "db_shop.t_order", "key": { "status": 1 }, "unique": false, "uuid": uuid },
    ];
    rows.push(doc! { "_id": "db_shop.t_gone", "key": { "a": 1 }, "dropped": true });
    rows.push(doc! { "_id": "db_shop.t_moved", "key": { "_id": 1 }, "unsplittable": true });
    servers.insert("config.collections", rows);
    let chunk = |n: i32| {
        let shard = if n < 9 { "s0" } else { "s1" };
        let mut chunk =
            doc! { "_id": n, "shard": shard, "min": { "status": n }, "max": { "status": n + 1 } };
        match form {
            Chunks::ByName => chunk.insert("ns", "db_shop.t_order"),
            Chunks::ByUuid => chunk.insert("uuid", uuid),
        };
        if n < 4 {
            chunk.insert("jumbo", true);
        }
        chunk
    };
    servers.insert("config.chunks", (0..12).map(chunk));
    servers.insert("config.tags", [doc! { "_id": 1, "ns": "db_shop.t_order", "tag": "EU" }]);
    servers.insert("config.settings", [doc! { "_id": "balancer", "stopped": true }]);
    servers.insert(
        "db_shop.t_order",
        (0..100)
            .flat_map(|n| ["new", "paid", "sent"].map(|at| doc! { "status": at, "orderNo": n })),
    );
    servers.command(
        "db_shop",
        doc! { "createIndexes": "t_order", "indexes": [
            { "key": { "status": 1 }, "name": "status_1" },
            { "key": { "status": 1, "orderNo": 1 }, "name": "status_1_orderNo_1" },
        ] },
    );
}

fn of_rule<'a>(report: &'a Value, rule: &str) -> Vec<&'a Value> {
    report["findings"].as_array().expect("findings").iter().filter(|f| f["rule"] == rule).collect()
}

fn text<'a>(finding: &'a Value, part: &str) -> &'a str {
    finding[part].as_str().expect("text")
}

#[test]
fn sk_1_ck_13_the_key_a_collection_has_is_judged_and_its_chunks_are_counted() {
    for (version, form) in [("4.4.2", Chunks::ByName), ("6.0.5", Chunks::ByUuid)] {
        let servers = Launch::standalone().version(version).start();
        sharded_by_status(&servers, form);
        let uri = servers.uri();
        let (report, _) = audit_json(&[&uri, "--full", "--no-progress"]);
        assert_eq!(report["problems"], serde_json::json!([]));
        let low = of_rule(&report, "K001");
        assert_eq!(low.len(), 1);
        let what = text(low[0], "what");
        assert!(what.starts_with("shard key { status: 1 } has 3 different values"), "{what}");
        assert!(what.ends_with("4 of its 12 chunks are marked as too large to move"), "{what}");
        assert!(of_rule(&report, "K005").is_empty(), "K001 has said it");
        // The shard key needs the shorter of two indexes, so that index is not redundant.
        assert!(of_rule(&report, "I001").is_empty());
        let review = report["checklist"].as_array().expect("a list");
        let item = review.iter().find(|item| item["id"] == "CK-13").expect("CK-13");
        assert_eq!(item["verdict"], "fail", "{item}");
        // Without documents, Docward evaluates only the chunks.
        let (report, _) = audit_json(&[&uri, "--metadata-only", "--no-progress"]);
        let what = text(of_rule(&report, "K005")[0], "what").to_owned();
        assert!(what.starts_with("4 of 12 chunks of shard key { status: 1 }"), "{what}");
    }
}

#[test]
fn sk_2_shardkey_judges_the_key_that_is_there_first_and_measures_its_spread() {
    let servers = Launch::standalone().shared().start();
    sharded_by_status(&servers, Chunks::ByUuid);
    let uri = servers.uri();
    let arguments = ["shardkey", &uri, "--collection", "t_order", "--full", "--no-progress"];
    let out = docward(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(code(&out), 1, "the current key fails");
    let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let collection = &report["collections"][0];
    assert_eq!(collection["shards"], 2);
    let key = &collection["keys"][0];
    assert_eq!(key["key"], serde_json::json!({"status": 1}));
    assert_eq!((&key["fullestBy"], &key["fullestShard"]), (&"chunks".into(), &0.75.into()));
    assert_eq!(key["change"], "the collection is already sharded by this key");
    assert_eq!(key["analyzeShardKey"], Value::Null, "that needs 7.0");
    assert_eq!(collection["current"]["shards"][0]["jumbo"], 4);
    assert_eq!(collection["current"]["zones"][0], "EU");
    assert_eq!(collection["current"]["balanced"], false);
    let said = stdout(&docward(&arguments)).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "BAD { status: 1 }",
        "fullest shard 75 % of the current chunks",
        "of the chunks: s0 75 % (9 chunks, 4 too large to move) · s1 25 % (3 chunks)",
        "the balancer does not move its chunks",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A requested key is simulated.
    let asked = docward(
        &[&arguments[..], &["--format", "json", "--key", r#"{"orderNo": "hashed"}"#]].concat(),
    );
    let report: Value = serde_json::from_slice(&asked.stdout).expect("JSON");
    let keys = report["collections"][0]["keys"].as_array().expect("keys");
    assert_eq!((keys.len(), &keys[0]["fullestBy"]), (1, &"simulated".into()));
}

#[test]
fn cm_3_4_a_list_of_8_routers_lacks_8_of_16() {
    let servers = Launch::standalone().shared().start();
    let now = DateTime::now();
    let old = DateTime::from_millis(now.timestamp_millis() - 40 * 86_400_000);
    let router = |host: &str, ping: DateTime| doc! { "_id": host, "ping": ping, "up": 100_i64 };
    servers.insert("config.shards", [doc! { "_id": "s0", "host": "s0/h0:27018" }]);
    servers.insert("config.mongos", (0..16).map(|n| router(&format!("r{n:02}:27017"), now)));
    servers.insert("config.mongos", [router("old:27017", old)]);
    let host = |n: i32| format!("r{n:02}:27017");
    let list = |range: std::ops::Range<i32>| range.map(host).collect::<Vec<_>>().join(",");
    let (half, all) = (list(0..8), list(0..16));
    let uri = servers.uri();
    let (report, _) = audit_json(&[
        &uri,
        "--no-progress",
        "--uri",
        &format!("mongodb://{half}/?appName=half"),
        "--uri",
        &format!("mongodb://{all}/?appName=all"),
        "--uri",
        &format!("mongodb://{all},old/?appName=old"),
        "--uri",
        "mongodb+srv://cluster.example.net/?appName=srv",
    ]);
    let found = of_rule(&report, "C003");
    assert_eq!(found.len(), 2, "{found:#?}");
    assert_eq!((&found[0]["severity"], &found[1]["severity"]), (&"error".into(), &"warn".into()));
    assert!(text(found[0], "what").contains("`half` lacks 8 of 16 live routers"));
    let missing = found[0]["data"]["missing"].as_array().expect("a list");
    assert_eq!(missing, &(8..16).map(|n| Value::from(host(n))).collect::<Vec<_>>());
    assert_eq!(found[1]["data"]["gone"], serde_json::json!(["old:27017"]));
}

#[test]
fn rp_6_one_tagged_member_warns_and_two_do_not() {
    let servers = Launch::replica_set(3).start();
    servers.insert("db_shop.t_order", [doc! { "a": 1 }]);
    let primary = servers.primary();
    let tagged = |tagged: usize| {
        let reply = servers.command("admin", doc! { "replSetGetConfig": 1 });
        let mut config = reply.get_document("config").expect("a configuration").clone();
        let version = config.get_i32("version").expect("a version");
        config.insert("version", version + 1);
        let mut left = tagged;
        for member in config.get_array_mut("members").expect("members") {
            let member = member.as_document_mut().expect("a member");
            let is_primary = member
                .get_str("host")
                .expect("a host")
                .ends_with(&servers.port(primary).to_string());
            let mut tags = Document::new();
            if !is_primary && left > 0 {
                left -= 1;
                tags.insert("use", "read");
            }
            member.insert("tags", tags);
        }
        servers.command("admin", doc! { "replSetReconfig": config });
        let client = format!(
            "mongodb://127.0.0.1:{}/?replicaSet=rs0&readPreference=secondary&readPreferenceTags=use:read",
            servers.port(0)
        );
        let (report, _) = audit_json(&[&servers.uri(), "--no-progress", "--uri", &client]);
        let found = of_rule(&report, "C004");
        found.iter().map(|f| format!("{}: {}", f["severity"], f["what"])).collect::<Vec<_>>()
    };
    let one = tagged(1);
    assert_eq!(one.len(), 1, "{one:?}");
    assert!(
        one[0].starts_with("\"warn\"") && one[0].contains("all go to 127.0.0.1:"),
        "{}",
        one[0]
    );
    assert_eq!(tagged(2), Vec::<String>::new());
}

#[test]
fn tables_that_may_not_be_read_are_named_and_only_where_there_are_any() {
    let servers = Launch::standalone().auth().start();
    servers.insert("db_shop.t_order", [doc! { "a": 1 }]);
    let about_config = |user: &str| {
        let (report, _) = audit_json(&[&servers.uri_as(Some(user)), "--no-progress"]);
        let problems = report["problems"].as_array().expect("problems").iter();
        let messages = problems.map(|p| text(p, "message").to_owned());
        // Only the last message names a role for all missing privileges.
        let own = |message: String| message.split("; this role").next().map(str::to_owned);
        let messages = messages.filter_map(own);
        messages.filter(|message| message.contains("config")).collect::<Vec<_>>()
    };
    let watcher = servers.create_user("watcher", vec!["readAnyDatabase", "clusterMonitor"]);
    assert_eq!(about_config(&watcher), Vec::<String>::new(), "no cluster, nothing to say");
    sharded_by_status(&servers, Chunks::ByUuid);
    assert_eq!(about_config(&watcher), Vec::<String>::new(), "clusterMonitor may read them all");
    let config = |collection: &str| doc! { "db": "config", "collection": collection };
    servers.command(
        "admin",
        doc! { "createRole": "shardsOnly", "roles": ["readAnyDatabase"], "privileges": [
            { "resource": config("shards"), "actions": ["find"] },
        ] },
    );
    let some = servers.create_user("some", vec!["shardsOnly"]);
    let told = about_config(&some);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("config.chunks, config.collections"), "{}", told[0]);
    assert!(told[0].contains("what it says about the cluster is unknown"), "{}", told[0]);
}

/// Creates enough collections that their indexes are fetched with one cursor if the server
/// supports it. Returns how often the server was asked for the indexes of one collection, and the
/// report.
fn of_many_collections(version: &'static str) -> (i64, Value, Servers) {
    let servers = Launch::standalone().version(version).start();
    let index = |name: &str, key: Document| doc! { "key": key, "name": name };
    for n in 0..510 {
        let name = format!("t_part_{n}");
        let mut indexes = vec![index("a_1", doc! { "a": 1 })];
        if n == 7 {
            indexes.push(index("a_1_b_1", doc! { "a": 1, "b": 1 }));
        }
        servers.command("db_shop", doc! { "createIndexes": name, "indexes": indexes });
    }
    let series =
        doc! { "create": "t_metric", "timeseries": { "timeField": "at", "metaField": "m" } };
    servers.command("db_shop", series);
    let asked = || {
        let status = servers.command("admin", doc! { "serverStatus": 1 });
        let commands = status.get_document("metrics").and_then(|m| m.get_document("commands"));
        let listed = commands.and_then(|c| c.get_document("listIndexes")).expect("a counter");
        listed.get_i64("total").expect("a number")
    };
    let before = asked();
    let (report, _) = audit_json(&[&servers.uri(), "--metadata-only", "--no-progress"]);
    assert_eq!(report["problems"], serde_json::json!([]));
    (asked() - before, report, servers)
}

#[test]
fn dm_12_1_indexes_of_many_collections_come_over_one_cursor() {
    let (asked, report, servers) = of_many_collections("6.0.5");
    // Only the time series collection is asked separately, because its indexes belong to its
    // buckets.
    assert!(asked <= 1, "{asked} questions");
    check_many(&report);
    // The finding contains both figures of the server.
    let config = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(config.path(), "[rules.L001]\nmax-collections = 100\n").expect("written");
    let path = config.path().to_str().expect("UTF-8");
    let (crowded, _) =
        audit_json(&[&servers.uri(), "--metadata-only", "--no-progress", "--config", path]);
    let data = &of_rule(&crowded, "L001")[0]["data"];
    assert!(
        data["openFiles"].as_u64() > Some(0) && data["maxOpenFiles"].as_u64() > Some(0),
        "{data}"
    );
    assert!(data["systemCollections"].as_u64() > Some(0), "{data}");
}

#[test]
fn dm_12_1_older_servers_are_asked_for_each_collection() {
    let (asked, report, _servers) = of_many_collections("5.0.4");
    assert!(asked >= 510, "{asked} questions");
    check_many(&report);
}

fn check_many(report: &Value) {
    let redundant = of_rule(report, "I001");
    assert_eq!(redundant.len(), 1);
    assert_eq!(redundant[0]["namespace"], "db_shop.t_part_7");
    assert!(!of_rule(report, "R012").is_empty(), "a family of collections");
}
