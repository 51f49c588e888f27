//! What a design is delivered as, run by a real shell on real servers: the scripts, every function, and the
//! check that comes with them. Without a shell the tests say so and are left out;
//! `DOCWARD_REQUIRE_MONGOSH=1` makes them fail instead.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::path::Path;
use std::process::Command;

use bson::{Bson, Document, doc};
use docward_design::{Design, design, emit, read};
use docward_model::{DesignModel, ProfileName};
use docward_testkit::{Launch, Servers, mongosh, repository};

const MODEL: &str = include_str!("models/all.yaml");
const MORE: &str = include_str!("models/more.yaml");
const REFERENCED: &str = include_str!("models/referenced.yaml");
const LISTS: &str = include_str!("models/lists.yaml");
const KEPT: &str = include_str!("models/kept.yaml");
const ELEMENTS: &str = include_str!("models/elements.yaml");
const NESTED: &str = include_str!("models/nested.yaml");
const TOGETHER: &str = include_str!("models/together.yaml");

/// The model as it is, or for another server.
fn designed(change: impl Fn(&str) -> String) -> (DesignModel, Design) {
    of(&change(MODEL))
}

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

/// Runs scripts; what they print, and whether they ended well.
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

#[track_caller]
fn holds((text, fine): (String, bool)) -> String {
    assert!(fine && text.contains("checks hold"), "{text}");
    text
}

/// The delivered check runs every function and asserts what it claims: SN-04 to SN-10, and the arithmetic of
/// ST-22 (150 pushes), ST-23 (61 readings), ST-25 (2,500 purchasers), ST-26 (copies) and ST-28 (7 reviews).
#[test]
fn sn_04_sn_05_sn_06_sn_07_sn_08_sn_09_sn_10_all_patterns_hold_on_a_replica_set() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let (model, design) = designed(str::to_owned);
    let folder = servers.directory().join("all");
    write(&folder, &model, &design);
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
    let text = std::fs::read_to_string(folder.join("check.js")).unwrap();
    for said in [
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
        "a transaction adds one (CK-10)",
        "and changes the parent (CK-10)",
        "copies stay as they were (PT-extref.2)",
    ] {
        assert!(text.contains(said), "the check does not say: {said}");
    }
    // It leaves nothing behind.
    let databases = servers.command("admin", doc! { "listDatabases": 1, "nameOnly": true });
    assert!(!databases.to_string().contains("db_all"), "{databases}");
}

/// Parents and children that change together: both documents are written, and an error in one undoes both.
#[test]
fn ck_10_a_transaction_writes_parent_and_child_or_none() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let (model, design) = of(TOGETHER);
    let folder = servers.directory().join("together");
    write(&folder, &model, &design);
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
    let text = std::fs::read_to_string(folder.join("check.js")).unwrap();
    for (said, times) in [
        ("a transaction adds one (CK-10)", 3),
        ("a transaction takes one away (CK-10)", 1),
        ("one write adds one (CK-10)", 1),
        ("and changes the parent (CK-10)", 5),
        ("undoes both: the child (CK-10)", 5),
        ("and changes the child (CK-10)", 3),
        ("the update is made of what was and what is (CK-10)", 1),
        ("changes no parent (CK-10)", 1),
        ("leaves no parent (CK-10)", 1),
    ] {
        assert_eq!(text.matches(said).count(), times, "{said}");
    }
    // What the comment of the function shows keeps what it must keep true.
    let example =
        "addEntryInTransaction(db, accountId, entry, { $inc: { balance: entry.amount } })";
    let file = "patterns/account-entries-parent-id-in-child.js";
    let said = std::fs::read_to_string(folder.join(file)).unwrap().replace("\n * ", " ");
    assert!(said.contains(example), "{said}");
    // A write that changes an entry that is there adds none.
    let changes =
        "For `confirm`, such as: changeEntryInTransaction(db, accountId, entryId, changes, ";
    assert!(said.contains(changes) && said.matches("`confirm`").count() == 1, "{said}");
    let used = folder.join("used.js");
    let script = format!(
        "load(__dirname + \"/{file}\");\ndb = db.getSiblingDB(\"used\");\nconst accountId = new ObjectId();\ndb.t_account.insertOne({{ _id: accountId, iban: \"1\", balance: NumberDecimal(\"0\"), state: \"open\" }});\nfor (let i = 1; i <= 3; i++) {{\n  const entry = {{ amount: NumberDecimal(String(i)), bookTime: new Date() }};\n  {example};\n}}\nconst sum = db.t_entry.find().toArray().reduce((sum, one) => sum + Number(one.amount), 0);\nprint(`balance ${{db.t_account.findOne().balance}} of ${{sum}}`);\n"
    );
    std::fs::write(&used, script).unwrap();
    let (printed, fine) = run(&shell, &servers, &[&used]);
    assert!(fine && printed.contains("balance 6 of 6"), "{printed}");
    // What is corrected twice, and what goes, was something else when the caller looked.
    let by = "[{ $set: { balance: { $add: [\"$balance\", ";
    let gone = format!("(gone) => ({by}{{ $subtract: [0, gone.amount] }}] }} }} }}])");
    assert!(said.contains(&gone), "{gone} in {said}");
    let corrected = format!(
        "(before, after) => ({by}{{ $subtract: [after.amount, before.amount] }}] }} }} }}])"
    );
    let script = format!(
        "load(__dirname + \"/{file}\");\ndb = db.getSiblingDB(\"used\");\nconst accountId = db.t_account.findOne()._id;\nconst [one, two] = db.t_entry.find().toArray();\nfor (const amount of [\"7\", \"9\"]) changeEntryInTransaction(db, accountId, one._id, {{ amount: NumberDecimal(amount) }}, {corrected});\nremoveEntryInTransaction(db, accountId, two._id, {gone});\nlet refused = \"\";\ntry {{\n  changeEntryInTransaction(db, accountId, one._id, {{ note: \"a\" }}, {{ $inc: {{ balance: 1 }} }});\n}} catch (error) {{\n  refused = error.message;\n}}\nconst sum = db.t_entry.find().toArray().reduce((sum, one) => sum + Number(one.amount), 0);\nprint(`balance ${{db.t_account.findOne().balance}} of ${{sum}}, ${{refused}}`);\n"
    );
    std::fs::write(&used, script).unwrap();
    let (printed, fine) = run(&shell, &servers, &[&used]);
    let held = "balance 12 of 12, accountUpdate is a function of (before, after)";
    assert!(fine && printed.contains(held), "{printed}");
}

/// A list inside of the elements of a list is added to, changed and kept in bounds (PT-embed.1, DM-08.1).
#[test]
fn pt_embed_1_dm_08_1_a_list_in_a_list_has_functions() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let text = "name: nest
entities:
  playlist: {count: 100k, lifecycle: {growth: 10k/year, kept: forever}, fields: {title: string}}
  song: {count: 500k, lifecycle: {growth: 50k/year, kept: forever}, fields: {name: string, seconds: int}}
  credit: {lifecycle: {growth: 20k/year, kept: forever}, fields: {role: string, person: string}}
relationships:
  playlist.songs: {child: song, children: {p50: 12, p95: 30, p99: 40, max: 45}, growth: bounded}
  song.credits: {child: credit, children: {p50: 3, p95: 6, p99: 10, max: 20}, growth: bounded}
reads:
  play: {from: playlist, where: [_id], with: [playlist.songs, song.credits], rate: 100/s}
writes:
  make: {insert: [playlist, song], rate: 1/min}
  add a credit: {insert: credit, rate: 5/min}
";
    let correct = "  correct: {update: credit, sets: [credit.role], rate: 1/min}\n";
    for (name, text, functions) in [
        ("added", text.to_owned(), &["addCredit"][..]),
        ("changed", format!("{text}{correct}"), &["addCredit", "changeCredit", "removeCredit"]),
    ] {
        let (model, design) = of(&text);
        let scripts = docward_design::maintain::scripts(&model, &design, ProfileName::Vendor);
        let script = scripts.iter().find(|script| script.about == "song.credits").unwrap();
        let made: Vec<&str> = script.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(made, functions, "{name}");
        let folder = servers.directory().join(name);
        write(&folder, &model, &design);
        holds(run(&shell, &servers, &[&folder.join("check.js")]));
        let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(!readme.contains("Without functions"), "{readme}");
    }
}

/// What a sharded cluster needs in filters does no harm where there are no shards (SK-4).
#[test]
fn sk_4_functions_that_look_up_the_shard_key_hold() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let bank = std::fs::read_to_string(repository().join("examples/models/bank.yaml")).unwrap();
    let referenced = REFERENCED.replace("{server: 6.0}", "{server: 6.0, shards: 8}");
    for (name, text) in [("bank", bank), ("referenced", referenced)] {
        let (model, design) = of(&text);
        let folder = servers.directory().join(name);
        write(&folder, &model, &design);
        let patterns = emit::files(&model, &design, ProfileName::Vendor);
        assert!(patterns.iter().any(|(_, text)| text.contains("function withKey(")), "{name}");
        holds(run(&shell, &servers, &[&folder.join("check.js")]));
    }
}

/// Values that are unique inside a parent, elements that are kept for a time (DP-2), means of fields that some
/// children lack (GC-35), a cap on documents of their own (PT-slice.1), buckets that end by number (PT-bucket.2)
/// and take what comes late, ids on the other side (ER-T.6), pages that stay small (PT-outlier.1, CK-14).
#[test]
fn dp_2_gc_35_pt_slice_1_pt_bucket_2_er_t_6_pt_outlier_1_more_patterns_hold() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let (model, design) = of(MORE);
    let folder = servers.directory().join("more");
    write(&folder, &model, &design);
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
    let text = std::fs::read_to_string(folder.join("check.js")).unwrap();
    for said in [
        "not twice in one document",
        "nor in two",
        "it is changed",
        "it is removed",
        "what is old is gone",
        "the average is exact (GC-35)",
        "62 leave the newest 60 (PT-slice.1)",
        "101 appends give buckets of 100 and 1 (SN-08)",
        "what comes late is found",
        "all are found",
        "pages from 2 on",
        "they are brought up",
    ] {
        assert!(text.contains(said), "the check does not say: {said}");
    }
    for file in [
        "account-card-embedded.js",
        "account-homes-embedded.js",
        "account-offices-embedded.js",
        "account-logins-parent-id-in-child.js",
        "account-pictures-outlier.js",
        "account-reviews-computed.js",
        "course-students-parent-ids-in-child.js",
        "invoice-lines-embedded.js",
        "invoice-schema-versioning.js",
        "tick-archive.js",
        "tick-bucket.js",
    ] {
        assert!(folder.join("patterns").join(file).exists(), "{file}");
    }
}

/// Children with several references (PT-extref.1), on the newest and on the oldest server.
#[test]
fn pt_extref_1_references_of_several_kinds_hold() {
    let Some(shell) = mongosh() else { return };
    for (version, server) in [("6.0.5", "6.0"), ("4.4.2", "4.4")] {
        let servers = Launch::replica_set(1).version(version).start();
        let (model, design) = of(&REFERENCED.replace("server: 6.0", &format!("server: {server}")));
        let folder = servers.directory().join("referenced");
        write(&folder, &model, &design);
        holds(run(&shell, &servers, &[&folder.join("check.js")]));
        let text = std::fs::read_to_string(folder.join("check.js")).unwrap();
        for said in [
            "`ward` is copied along (PT-extref.1)",
            "`clinic` is copied along (PT-extref.1)",
            "`visitCount` counts along",
            "changePatientVisit(at, root._id, some._id, changes(302 + i))",
            "changeNurse(at, some._id, changes(302 + i))",
            "the preview shows the newest as they are",
            "what is archived is kept like the rest",
            "also what is archived is removed",
            "what is changed meanwhile stays\", archiveVisit(sly",
            "of none there is none",
            "one that goes is counted off",
            "down to nothing and no further",
            "no parent, no child\", null, () => addLike(",
            "what others write meanwhile is not lost",
            "whoever read the old shape must read again",
            "both ends are there",
            "nothing leads nowhere",
            "also this link is taken away",
            "expect(\"and refreshed\", refreshCopiesOfStudent(at, bare._id).matchedCount, 1)",
            "expect(\"and refreshed\", refreshCopiesOfInteract(at, bare._id).matchedCount, 1)",
        ] {
            assert!(text.contains(said), "the check does not say: {said}");
        }
    }
}

/// Previews of children of several kinds (PT-subset.1, PT-poly.1), children that name a part of their own by its
/// id (GC-37), and lists that are called like something in the functions (PT-outlier.1).
#[test]
fn pt_subset_1_pt_poly_1_gc_37_pt_outlier_1_what_parents_keep_is_whole() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let (model, design) = of(KEPT);
    let folder = servers.directory().join("kept");
    write(&folder, &model, &design);
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
    for (file, said) in [
        (
            "matter-filings-subset.js",
            "[\"type\", \"createTime\", \"seen\", \"pages\", \"by\", \"text\"]",
        ),
        ("host-attempts-outlier.js", "attempt_"),
        ("host-picks-subset.js", "...pick(pick_, [\"createTime\", \"score\"])"),
    ] {
        let text = std::fs::read_to_string(folder.join("patterns").join(file)).unwrap();
        assert!(text.contains(said), "{file} does not say: {said}: {text}");
    }
    let indexes = std::fs::read_to_string(folder.join("02-indexes.js")).unwrap();
    assert!(indexes.contains("scanId"), "{indexes}");
}

/// What elements of a list keep of their children (PT-computed.1, GC-35), copies in elements and on pages
/// (PT-extref.2), elements that are asked for by a field of their own (PT-outlier.1, CK-12), and parents inside of
/// another document, with ids and pairs (GC-07).
#[test]
fn pt_computed_1_gc_35_pt_extref_2_pt_outlier_1_gc_07_elements_of_lists_follow() {
    let Some(shell) = mongosh() else { return };
    for version in ["6.0.5", "4.4.2"] {
        let servers = Launch::replica_set(1).version(version).start();
        let text = ELEMENTS.replace("server: 6.0", &format!("server: {}", &version[..3]));
        let (model, design) = of(&text);
        let folder = servers.directory().join("elements");
        write(&folder, &model, &design);
        holds(run(&shell, &servers, &[&folder.join("check.js")]));
        let check = std::fs::read_to_string(folder.join("check.js")).unwrap();
        for said in [
            "changeOptionVote(at, root.options[0]._id, some._id, changes(302 + i))",
            "and leaves the rest",
            "found in the parent and on its page (PT-outlier.1)",
            "linkGroup(at, root.profile._id, other._id)",
        ] {
            assert!(check.contains(said), "the check does not say: {said}");
        }
        // A check that could not fail would show nothing.
        for (file, part, wrong, said) in [
            (
                "option-votes-computed.js",
                "[\"$$part._id\", { $literal: optionId }]",
                "[1, 1]",
                "rest",
            ),
            (
                "line-dish-extended-reference.js",
                "\"part1.dishId\": dishId",
                "\"part1.dishId\": { $exists: true }",
                "leaves the rest",
            ),
        ] {
            let path = folder.join("patterns").join(file);
            let right = std::fs::read_to_string(&path).unwrap();
            assert!(right.contains(part), "{part} in {right}");
            std::fs::write(&path, right.replace(part, wrong)).unwrap();
            let (printed, fine) = run(&shell, &servers, &[&folder.join("check.js")]);
            std::fs::write(&path, right).unwrap();
            assert!(!fine && printed.contains(said), "{part}: {printed}");
        }
    }
}

/// Pages with counts, sums and unique values: what is refused leaves nothing, elements are changed and removed
/// where they are, and order is kept (PT-outlier.1, GC-35, GC-37).
#[test]
fn pt_outlier_1_gc_35_gc_37_lists_with_pages_stay_right() {
    let Some(shell) = mongosh() else { return };
    for version in ["6.0.5", "4.4.2"] {
        let servers = Launch::standalone().version(version).start();
        let text = LISTS.replace("server: 6.0", &format!("server: {}", &version[..3]));
        let (model, design) = of(&text);
        let folder = servers.directory().join("lists");
        write(&folder, &model, &design);
        holds(run(&shell, &servers, &[&folder.join("check.js")]));
        if version != "6.0.5" {
            continue;
        }
        // A check that could not fail would show nothing.
        let path = folder.join("patterns/book-buyers-outlier.js");
        let right = std::fs::read_to_string(&path).unwrap();
        for (part, wrong, said) in [
            ("      hasOverflow: { $ne: true },\n", "", "the next one is the last"),
            ("if (hasBuyer(db, buyer)) throw", "if (false) throw", "not in two, from a page"),
            (
                "$subtract: [\n              { $ifNull: [\"$priceSum\"",
                "$add: [\n              { $ifNull: [\"$priceSum\"",
                "sum",
            ),
        ] {
            assert!(right.contains(part), "{part} in {right}");
            std::fs::write(&path, right.replace(part, wrong)).unwrap();
            let (printed, fine) = run(&shell, &servers, &[&folder.join("check.js")]);
            assert!(!fine && printed.contains(said), "{part}: {printed}");
        }
    }
}

/// DM-08.5: before 5.0 there are no time series, and readings go to buckets.
#[test]
fn dm_08_5_st_23_on_4_4_readings_go_to_buckets() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().version("4.4.2").start();
    let (model, design) = designed(|text| text.replace("server: 6.0", "server: 4.4"));
    let folder = servers.directory().join("all");
    write(&folder, &model, &design);
    assert!(folder.join("patterns/metric-bucket.js").exists());
    assert!(!folder.join("patterns/metric-time-series.js").exists());
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
}

/// A check that could not fail would show nothing: broken statements are found.
#[test]
fn pt_subset_2_a_check_finds_statements_that_are_wrong() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().start();
    let (model, design) = designed(str::to_owned);
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
        let path = folder.join("patterns").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(right), "{right} in {text}");
        std::fs::write(&path, text.replace(right, wrong)).unwrap();
        let (printed, fine) = run(&shell, &servers, &[&folder.join("check.js")]);
        assert!(!fine && printed.contains(said), "{file}: {printed}");
        std::fs::write(&path, text).unwrap();
    }
}

/// SN-14 to SN-16, SK-11: sharding is guarded; there are no routers here to run it on.
#[test]
fn sk_11_sharding_does_nothing_without_shards_and_names_both_zones() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().start();
    let zones = "server: 6.0, shards: 2, zones: {field: place, values: [EU, US]}";
    let (model, design) = designed(|text| text.replace("server: 6.0", zones));
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

/// The data of a statement, its parameters replaced, as the driver takes it: 8 writers of 100 likes each, with
/// a third of them taken back (PT-computed.1, SN-04, ST-27).
#[test]
fn sn_04_st_27_counts_are_exact_with_8_writers() {
    let (model, design) = designed(str::to_owned);
    let servers = Launch::standalone().start();
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
        // 67 come and 33 go, eight times.
        assert_eq!(post.get_i32("likeCount").unwrap(), 8 * (67 - 33));
    });
}

/// Parameters become the id of the post.
fn filled(value: &Bson) -> Bson {
    match value {
        Bson::JavaScriptCode(_) => Bson::Int32(7),
        Bson::Document(document) => Bson::Document(
            document.iter().map(|(key, value)| (key.clone(), filled(value))).collect(),
        ),
        other => other.clone(),
    }
}

/// A retention that changes changes the index that is there; scripts can be run again.
#[test]
fn dp_2_a_time_after_which_documents_go_can_be_changed() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().start();
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

/// Copies two lists deep (PT-extref.2), ids that one part of one document may have (GC-37), one version for one
/// change, also on a page (PT-outlier.1), previews that are filled again when a link goes (PT-subset.2), means that null
/// has no part in (GC-35), and readings with null (PT-bucket.4).
#[test]
fn pt_extref_2_gc_37_pt_outlier_1_pt_subset_2_gc_35_pt_bucket_4_nested_parts_follow() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let (model, design) = of(NESTED);
    let folder = servers.directory().join("nested");
    write(&folder, &model, &design);
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
    let check = std::fs::read_to_string(folder.join("check.js")).unwrap();
    for said in [
        "root0.modules[0].steps[0].skill.name",
        "it has one parent",
        "one more on a page is one more version",
        "a reading may have null",
        "if (i === 1) sent[i].price = null;",
        "without.points = null",
    ] {
        assert!(check.contains(said), "the check does not say: {said}");
    }
    for file in [
        "club-members-junction.js",
        "list-songs-child-ids-in-parent.js",
        "topic-posts-parent-ids-in-child.js",
    ] {
        let text = std::fs::read_to_string(folder.join("patterns").join(file)).unwrap();
        let unlink = &text[text.find("function unlink").unwrap()..];
        assert!(unlink.contains("Until the preview agrees"), "{file}: {unlink}");
    }
}

/// A list of ids whose ends are deleted: none leads nowhere afterwards (GC-07).
#[test]
fn gc_07_an_id_goes_from_all_lists() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
    let (model, design) = of("name: watched
entities:
  buyer: {count: 9k, lifecycle: {growth: 1k/year, kept: forever}, fields: {name: string}}
  listing: {count: 90k, lifecycle: {growth: 9k/year, kept: forever}, fields: {title: string, text: {type: string, bytes: 4 KB}}}
relationships:
  buyer.watched: {child: listing, children: {p50: 5, p95: 40, p99: 100, max: 500}, growth: bounded, parents: {p50: 2, p99: 3000, max: 90k}}
reads:
  watch list: {from: buyer, where: [_id], with: [buyer.watched], rate: 9/s}
  listing: {from: listing, where: [_id], rate: 90/s}
writes:
  come: {insert: [buyer, listing], rate: 1/s}
  gone: {delete: listing, rate: 1/h}
");
    let folder = servers.directory().join("watched");
    write(&folder, &model, &design);
    holds(run(&shell, &servers, &[&folder.join("check.js")]));
    let check = std::fs::read_to_string(folder.join("check.js")).unwrap();
    assert!(check.contains("it is in no list"), "{check}");
}

/// What a check left that was ended half-way is its own and goes; what is somebody else's stays (DM-11).
#[test]
fn dm_11_a_check_that_was_ended_is_run_again() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::replica_set(1).start();
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
