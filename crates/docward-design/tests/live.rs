//! Runs the output of designs in a real shell on real servers: the scripts, every function, and the
//! check. Without a shell, the tests print a message and do nothing. With
//! `DOCWARD_REQUIRE_MONGOSH=1`, they fail instead.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::path::{Path, PathBuf};
use std::process::Command;

use bson::{Bson, Document, doc};
use docward_design::{Design, design, emit, read};
use docward_model::{DesignModel, ProfileName};
use docward_testkit::{Launch, Servers, mongosh};

use crate::common::{GALLERY, text_of};

const MODEL: &str = include_str!("models/all.yaml");
const MORE: &str = include_str!("models/more.yaml");
const REFERENCED: &str = include_str!("models/referenced.yaml");
const KEPT: &str = include_str!("models/kept.yaml");
const ELEMENTS: &str = include_str!("models/elements.yaml");
const PLAYERS: &str = include_str!("models/players.yaml");
const TOGETHER: &str = include_str!("models/together.yaml");

fn of(text: &str) -> (DesignModel, Design) {
    let model = read("all.yaml", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let design = design(&model, ProfileName::Vendor, &docward_design::Bounds::default());
    let clashes = docward_design::clashes(&model, &design, ProfileName::Vendor);
    assert!(clashes.is_empty(), "{clashes:#?}");
    (model, design)
}

fn write(folder: &Path, model: &DesignModel, design: &Design) {
    for (path, text) in emit::files(model, design, ProfileName::Vendor) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Runs scripts. Returns their output, and whether they succeeded.
fn run(shell: &Path, servers: &Servers, scripts: &[&Path]) -> (String, bool) {
    let output = Command::new(shell)
        .arg(servers.uri())
        .args(["--quiet", "--norc"])
        .args(scripts)
        .env("HOME", servers.directory())
        .output()
        .unwrap();
    let text =
        [output.stdout, output.stderr].map(|part| String::from_utf8_lossy(&part).into_owned());
    (text.concat(), output.status.success())
}

/// Writes a design, and runs its check, which executes every function. Returns the folder.
#[track_caller]
fn check_holds(shell: &Path, servers: &Servers, text: &str, said: &[&str]) -> PathBuf {
    let (model, design) = of(text);
    let folder = servers.directory().join(&design.database);
    write(&folder, &model, &design);
    let (printed, fine) = run(shell, servers, &[&folder.join("check.js")]);
    assert!(fine && printed.contains("checks hold"), "{printed}");
    let check = std::fs::read_to_string(folder.join("check.js")).unwrap();
    for said in said {
        assert!(check.contains(said), "the check does not say: {said}");
    }
    folder
}

/// Runs the check of all patterns. It covers SN-04 to SN-10 and the figures of several stories:
///
/// - ST-22: 150 pushes
/// - ST-23: 61 readings
/// - ST-25: 2,500 purchasers
/// - ST-26: copies
/// - ST-28: 7 reviews
#[test]
fn sn_04_sn_05_sn_06_sn_07_sn_08_sn_09_sn_10_all_patterns_hold_on_a_replica_set() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).shared().start();
    let said = [
        "5 pushes leave 3, newest first (SN-05)",
        "7 pushes leave 5, newest first (SN-05)",
        "the average is exact (GC-35)",
        "150 pushes leave the newest 100, in order (SN-06)",
        "it is a time series (SN-07)",
        "61 appends give buckets of 60 and 1 (SN-08)",
        "8 writers lose nothing",
        "the last millisecond belongs to the bucket (GC-50)",
        "the index of one kind is used when the kind is named (SN-09)",
        "no pair twice (GC-37)",
        "the reader has 2500, in order",
        "pages from 2 on",
        "a transaction changes the child (CK-10)",
        "and the parent (CK-10)",
        "copies stay as they were (PT-extref.2)",
    ];
    check_holds(&shell, &servers, MODEL, &said);
    // The check removes everything it created.
    let databases = servers.command("admin", doc! { "listDatabases": 1, "nameOnly": true });
    assert!(!databases.to_string().contains("db_all"), "{databases}");
}

#[test]
fn ck_13_sk_4_a_separate_collection_keeps_values_unique() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).shared().start();
    let said = ["a taken value is refused", "the value is free", "its document"];
    check_holds(&shell, &servers, PLAYERS, &said);
}

/// Tests more patterns:
///
/// - parents and children that must change atomically: both are written, and an error in one undoes
///   both (CK-10)
/// - values that are unique inside a parent
/// - elements with a retention (DP-2)
/// - averages of fields that some children lack (GC-35)
/// - buckets that end by number and accept late readings (PT-bucket.2)
/// - ids on the other side (ER-T.6)
/// - pages with a size limit (PT-outlier.1, CK-14)
/// - previews of children of several kinds (PT-subset.1, PT-poly.1)
/// - lists with the same name as a variable of a function (PT-outlier.1)
/// - filters with the shard key, which also work without shards (SK-4)
#[test]
fn ck_10_dp_2_gc_35_pt_bucket_2_er_t_6_pt_outlier_1_pt_subset_1_sk_4_more_patterns_hold() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).shared().start();
    let referenced = REFERENCED
        .replace("{server: 6.0}", "{server: 6.0, shards: 8}")
        .replace("db_referenced", "db_sharded");
    let together = [
        "a transaction changes the child (CK-10)",
        "one write changes the child (CK-10)",
        "and the parent (CK-10)",
        "undoes both: the child (CK-10)",
    ];
    let more = [
        "not twice in one document",
        "nor in two",
        "it is changed",
        "it is removed",
        "the average is exact (GC-35)",
        "101 appends give buckets of 100 and 1 (SN-08)",
        "late readings are found",
        "found from the other side",
        "pages from 2 on",
    ];
    for (text, said, functions) in [
        (MORE, &more[..], &[("tick-archive.js", "archiveTick")][..]),
        (TOGETHER, &together[..], &[][..]),
        (
            KEPT,
            &[][..],
            &[
                ("matter-filings-subset.js", PICKED),
                ("host-attempts-outlier.js", "attempt_"),
                ("host-picks-subset.js", "...pick(pick_, ["),
            ][..],
        ),
        (&referenced, &[][..], &[("patient-visits-subset.js", "function withKey(")][..]),
    ] {
        let folder = check_holds(&shell, &servers, text, said);
        for (file, part) in functions {
            let text = std::fs::read_to_string(folder.join("patterns").join(file)).unwrap();
            assert!(text.contains(part), "{file} does not say: {part}: {text}");
        }
    }
}

const PICKED: &str = "[\"type\", \"createTime\", \"seen\", \"pages\", \"by\", \"text\"]";

#[test]
fn every_model_of_the_gallery_holds() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).shared().start();
    for name in GALLERY {
        check_holds(&shell, &servers, &text_of(name), &[]);
    }
}

/// Tests children with several references (PT-extref.1), on the newest and on the oldest server.
/// A refresh changes copies in elements of lists, and nothing else (PT-extref.2).
#[test]
fn pt_extref_1_pt_extref_2_references_of_several_kinds_hold() {
    let Some(shell) = mongosh() else { return };
    for version in ["6.0.5", "4.4.2"] {
        let servers = Launch::replica_set(1).version(version).start();
        let on = |text: &str| text.replace("server: 6.0", &format!("server: {}", &version[..3]));
        let said = [
            "`ward` is copied along (PT-extref.1)",
            "`clinic` is copied along (PT-extref.1)",
            "`visitCount` counts along",
            "the preview shows the newest as they are",
            "counts and sums are 0 for a parent without children",
            "no parent, no child\", null, () => addLike(",
            "the parent is there",
            "a missing target is refused",
        ];
        check_holds(&shell, &servers, &on(REFERENCED), &said);
        let folder = check_holds(&shell, &servers, &on(ELEMENTS), &["and leaves the rest"]);
        // Break a statement, because a check that cannot fail proves nothing.
        let wrong = ("\"part.dishId\": dishId", "\"part.dishId\": { $exists: true }");
        let file = "line-dish-extended-reference.js";
        breaks(&shell, &servers, &folder, file, wrong, "leaves the rest");
    }
}

/// Changes a part of a file. The check must fail and name the expectation.
#[track_caller]
fn breaks(
    shell: &Path,
    servers: &Servers,
    folder: &Path,
    file: &str,
    (part, wrong): (&str, &str),
    said: &str,
) {
    let path = folder.join("patterns").join(file);
    let right = std::fs::read_to_string(&path).unwrap();
    assert!(right.contains(part), "{part} in {right}");
    std::fs::write(&path, right.replace(part, wrong)).unwrap();
    let (printed, fine) = run(shell, servers, &[&folder.join("check.js")]);
    std::fs::write(&path, right).unwrap();
    assert!(!fine && printed.contains(said), "{file}: {printed}");
}

/// DM-08.5: before 5.0 there are no time series, so readings go to buckets.
#[test]
fn dm_08_5_st_23_on_4_4_readings_go_to_buckets() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().version("4.4.2").start();
    let old = MODEL.replace("server: 6.0", "server: 4.4");
    let folder = check_holds(&shell, &servers, &old, &[]);
    assert!(folder.join("patterns/metric-bucket.js").exists());
    assert!(!folder.join("patterns/metric-time-series.js").exists());
}

/// The check must find broken statements, because a check that cannot fail proves nothing.
#[test]
fn pt_subset_2_a_check_finds_statements_that_are_wrong() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().shared().start();
    let (model, design) = of(MODEL);
    let folder = servers.directory().join("all");
    write(&folder, &model, &design);
    for (file, right, wrong, said) in [
        ("post-comments-subset.js", "$slice: 3", "$slice: 4", "maxItems"),
        (
            "product-reviews-subset.js",
            "ratingSum: {\n            $add: [",
            "ratingSum: {\n            $max: [",
            "the sum is right",
        ),
        ("order-audit-log-capped-array.js", "$slice: -100", "$slice: -99", "150 pushes"),
        ("reading-bucket.js", "$lt: 60", "$lt: 61", "reading-bucket.js: "),
    ] {
        breaks(&shell, &servers, &folder, file, (right, wrong), said);
    }
}

/// SN-14 to SN-16, SK-11: the sharding script does nothing without shards. These tests have no
/// routers to run it on.
#[test]
fn sk_11_sharding_does_nothing_without_shards_and_names_both_zones() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().shared().start();
    let zones = "server: 6.0, shards: 2, zones: {field: place, values: [EU, US]}";
    let (model, design) = of(&MODEL.replace("server: 6.0", zones));
    let folder = servers.directory().join("all");
    write(&folder, &model, &design);
    let (printed, fine) = run(&shell, &servers, &[&folder.join("03-shard.js")]);
    assert!(fine && printed.contains("nothing was done"), "{printed}");
    let text = std::fs::read_to_string(folder.join("03-shard.js")).unwrap();
    for part in
        ["sh.addShardToZone(shard, zone)", "place: \"EU\"", "place: \"US\"", "MinKey()", "MaxKey()"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// Runs a statement through the driver with its parameters replaced. 8 writers add 100 likes each
/// and remove a third of them (PT-computed.1, SN-04, ST-27).
#[test]
fn sn_04_st_27_counts_are_exact_with_8_writers() {
    let (model, design) = of(MODEL);
    let servers = Launch::standalone().shared().start();
    let scripts = docward_design::maintain::scripts(&model, &design, ProfileName::Vendor);
    let likes = scripts.iter().find(|script| script.about == "post.likes").unwrap();
    let update = |job: &str| {
        let job = likes.jobs.iter().find(|one| one.name == job).unwrap();
        let statements = job.statements();
        (*statements.iter().find(|s| s.collection == "t_post").unwrap()).clone()
    };
    let (add, remove) = (update("addLike"), update("removeLike"));
    servers.insert("db_all.t_post", [doc! { "_id": 7 }]);
    let posts = servers.client().database("db_all").collection::<Document>("t_post");
    servers.wait(async {
        let writers = (0..8).map(|_| {
            let (posts, add, remove) = (posts.clone(), add.clone(), remove.clone());
            async move {
                for i in 0..100 {
                    let statement = if i % 3 == 2 { &remove } else { &add };
                    let filter = filled(&statement.filter().unwrap().clone().into());
                    let change = filled(statement.update_part().unwrap());
                    let (Bson::Document(filter), Bson::Document(change)) = (filter, change) else {
                        panic!("documents")
                    };
                    posts.update_one(filter, change).await.unwrap();
                }
            }
        });
        let mut set = Vec::new();
        for writer in writers {
            set.push(tokio::spawn(writer));
        }
        for task in set {
            task.await.unwrap();
        }
        let post = posts.find_one(doc! { "_id": 7 }).await.unwrap().unwrap();
        // Each of the eight writers adds 67 likes and removes 33.
        assert_eq!(post.get_i32("likeCount").unwrap(), 8 * (67 - 33));
    });
}

/// Replaces parameters by the id of the post.
fn filled(value: &Bson) -> Bson {
    match value {
        Bson::JavaScriptCode(_) => Bson::Int32(7),
        Bson::Document(document) => Bson::Document(
            document.iter().map(|(key, value)| (key.clone(), filled(value))).collect(),
        ),
        other => other.clone(),
    }
}

/// A changed retention updates the existing index. Scripts can run repeatedly.
#[test]
fn dp_2_a_time_after_which_documents_go_can_be_changed() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().shared().start();
    let text = "name: kept
database: db_kept
entities:
  login: {count: 1000, lifecycle: {growth: 100/day, kept: 90 days}, fields: {who: string, createTime: date}}
reads:
  r: {from: login, where: [who], rate: 1/s}
writes:
  w: {insert: login, rate: 1/min}
";
    for (kept, seconds) in [("90 days", 7_776_000), ("30 days", 2_592_000)] {
        let (model, design) = of(&text.replace("90 days", kept));
        let folder = servers.directory().join("kept");
        write(&folder, &model, &design);
        let scripts = ["01-collections.js", "02-indexes.js"].map(|name| folder.join(name));
        for _ in 0..2 {
            let (printed, fine) = run(&shell, &servers, &[&scripts[0], &scripts[1]]);
            assert!(fine, "{printed}");
        }
        let reply = servers.command("db_kept", doc! { "listIndexes": "t_login" });
        let all = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
        let expiring: Vec<i64> = all
            .iter()
            .filter_map(|index| match index.as_document().unwrap().get("expireAfterSeconds")? {
                Bson::Int32(n) => Some(i64::from(*n)),
                Bson::Int64(n) => Some(*n),
                Bson::Double(n) => Some(*n as i64),
                _ => None,
            })
            .collect();
        assert_eq!(expiring, [seconds]);
    }
}

/// The check removes the remains of an aborted check, but refuses to use a foreign database
/// (DM-11).
#[test]
fn dm_11_a_check_that_was_ended_is_run_again() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).shared().start();
    let (model, design) = of("name: small
database: db_small
entities:
  thing: {count: 9k, lifecycle: {growth: 9/year, kept: forever}, fields: {name: string}}
reads:
  r: {from: thing, where: [name], rate: 1/s}
writes:
  w: {insert: thing, rate: 1/h}
");
    let folder = servers.directory().join("small");
    write(&folder, &model, &design);
    let check = folder.join("check.js");
    let left = |names: [&str; 2]| {
        for name in names {
            servers
                .command("db_small_check", doc! { "insert": name, "documents": [{ "left": 1 }] });
        }
    };
    left(["t_thing", "docward_check"]);
    let (text, fine) = run(&shell, &servers, &[&check]);
    assert!(fine && text.contains("1 check holds"), "{text}");
    left(["t_thing", "t_other"]);
    let (text, fine) = run(&shell, &servers, &[&check]);
    assert!(!fine && text.contains("db_small_check is in use"), "{text}");
    let found = servers.command("db_small_check", doc! { "count": "t_thing" });
    assert_eq!(found.get_i32("n").unwrap(), 1, "{found}");
}
