//! `docward design` with the real binary: the gallery, the format of its JSON, invalid input,
//! models from data, and data compared with models.
#![expect(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{fs, io::Write, path::PathBuf, process::Stdio};

use crate::common::{code, docward, root, stderr, stdout};
use serde_json::Value;

fn model(name: &str) -> String {
    root().join(format!("examples/models/{name}.yaml")).display().to_string()
}

fn json(name: &str) -> Value {
    let output = docward(&["design", &model(name), "--format", "json"]);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{name}: {e}: {}", stderr(&output)))
}

fn decision<'d>(design: &'d Value, relationship: &str) -> &'d Value {
    let all = design["decisions"].as_array().unwrap();
    all.iter()
        .find(|d| d["relationship"] == relationship)
        .unwrap_or_else(|| panic!("{relationship}"))
}

fn patterns(decision: &Value) -> Vec<&str> {
    decision["pattern"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect()
}

fn scratch(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("model.yaml");
    fs::write(&file, text).unwrap();
    (directory, file)
}

#[test]
fn er_x_1_st_19_tags_are_embedded_and_comments_referenced_in_one_run() {
    let blog = json("blog");
    assert_eq!(blog["version"], 1);
    let tags = decision(&blog, "post.tags");
    assert_eq!(tags["verdict"], "embed");
    let comments = decision(&blog, "post.comments");
    assert_eq!(comments["verdict"], "hybrid");
    assert!(patterns(comments).contains(&"subset") && patterns(comments).contains(&"computed"));
    // Every row has its id, its vote and its reason, and the outvoted rows are named.
    for vote in tags["votes"].as_array().unwrap() {
        assert!(vote["clause"].as_str().is_some() && vote["why"].as_str().is_some());
        assert!([-1, 0, 1].contains(&vote["vote"].as_i64().unwrap()));
    }
    assert!(!tags["dissent"].as_array().unwrap().is_empty());
    assert!(!comments["vetoes"].as_array().unwrap().is_empty());
}

#[test]
fn the_contract_of_the_json_holds_for_every_model() {
    for name in ["shop", "blog", "iot", "chat", "social", "catalogue", "bank"] {
        let design = json(name);
        for key in
            ["decisions", "entities", "indexes", "shardKeys", "capacity", "collections", "checks"]
        {
            assert!(design[key].is_array(), "{name}: {key}");
        }
        for decision in design["decisions"].as_array().unwrap() {
            for key in
                ["relationship", "verdict", "pattern", "votes", "vetoes", "turns", "alternatives"]
            {
                assert!(!decision[key].is_null(), "{name}: {key} of {}", decision["relationship"]);
            }
            assert_ne!(decision["verdict"], "undecided", "{name}: {}", decision["relationship"]);
        }
    }
}

#[test]
fn output_is_the_same_every_time_and_in_every_shape_names_every_relationship() {
    for format in ["terminal", "json", "markdown", "html"] {
        let run = || {
            stdout(&docward(&["design", &model("shop"), "--format", format, "--color", "never"]))
        };
        let text = run();
        assert_eq!(text, run(), "{format}");
        for name in ["customer.orders", "order.items", "product.reviews"] {
            assert!(text.contains(name), "{format}: {name}");
        }
    }
}

#[test]
fn st_07_pt_embed_1_the_shop_embeds_order_items_and_shows_its_arithmetic() {
    let text = stdout(&docward(&["design", &model("shop"), "--color", "never"]));
    for part in ["order.items  EMBED", "reference if", "embed (chosen)", "checks", "--explain"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The verdicts come first, one line each. Votes appear only on request.
    let head: Vec<&str> = text.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    assert!(head.iter().any(|line| line.trim_start().starts_with("order.items ")), "{head:?}");
    assert!(!text.contains("ER-T.1"), "{text}");
    assert!(text.contains("_id: objectId,") && text.contains("items: [ {"), "{text}");
    let explained = stdout(&docward(&["design", &model("shop"), "--explain", "--color", "never"]));
    assert!(explained.contains("ER-T.1") && explained.len() > text.len(), "{explained}");
    let brief = stdout(&docward(&["design", &model("shop"), "--brief", "--color", "never"]));
    assert!(brief.len() < text.len() / 2, "brief is not brief");
}

#[test]
fn dp_2_a_missing_answer_gives_the_question_and_exit_1() {
    let (_directory, file) = scratch(
        "entities:\n  post: {fields: {title: string}, written: never, lifecycle: {growth: 1/day, kept: forever}}\n  \
         comment: {fields: {text: string}, written: never}\nrelationships:\n  post.comments: {child: comment, \
         children: 5, growth: bounded}\nreads:\n  page: {rate: 1/s, from: post, with: [post.comments]}\n",
    );
    let file = file.display().to_string();
    let output = docward(&["design", &file]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("UNDECIDED") && text.contains("what is the lifecycle of `comment`"),
        "{text}"
    );
    assert_eq!(code(&docward(&["design", &file, "--fail-on", "never"])), 0);
}

#[test]
fn dp_1_rates_are_shown_as_people_say_them() {
    for (rate, shown) in [("3/week", "3/week"), ("2/day", "2/day"), ("6/year", "6/year")] {
        let (_directory, file) = scratch(&format!(
            "entities:\n  order:\n    fields: {{no: string}}\n    lifecycle: {{growth: 1/s, kept: forever}}\n  \
             item:\n    fields: {{sku: string}}\n    lifecycle: {{growth: 1/s, kept: forever}}\nrelationships:\n  \
             order.items: {{child: item, children: {{p50: 1, p99: 2, max: 3}}, growth: bounded}}\nreads:\n  \
             page: {{rate: {rate}, from: order, where: [no], with: [order.items]}}\nwrites:\n  \
             place: {{rate: 1/s, insert: [order, item], atomic: true}}\n",
        ));
        let told = stdout(&docward(&["design", &file.display().to_string(), "--explain"]));
        assert!(told.contains(&format!("page {shown} ")), "{told}");
    }
}

#[test]
fn mistakes_are_told_with_their_places_and_exit_2() {
    let (_directory, file) =
        scratch("entities:\n  post:\n    feilds: {title: string}\n    cuont: 3\n");
    let name = file.display().to_string();
    let output = docward(&["design", &name]);
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    let told = stderr(&output);
    assert!(
        told.contains(&format!("{name}:3:5")) && told.contains("did you mean `fields`?"),
        "{told}"
    );
    assert!(
        told.contains(&format!("{name}:4:5")) && told.contains("did you mean `count`?"),
        "{told}"
    );
    for (arguments, expect) in [
        (vec!["design", "no-such-file.yaml"], "cannot read the model no-such-file.yaml"),
        (vec!["design"], "MODEL.yaml"),
        (vec!["design", "--format", "pdf", "x.yaml"], "pdf"),
    ] {
        let output = docward(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(expect), "{arguments:?}: {}", stderr(&output));
    }
    let (_directory, file) = scratch("");
    let told = stderr(&docward(&["design", &file.display().to_string()]));
    assert!(told.contains("the file holds no model") && told.contains("design init"), "{told}");
    fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
    let output = docward(&["design", &file.display().to_string()]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("UTF-8"), "{}", stderr(&output));
}

#[test]
fn dm_03_1_names_that_clash_are_mistakes_of_the_model() {
    let alive = "lifecycle: {growth: 0, kept: forever}, written: never, read: never";
    let text = format!(
        "entities:\n  userProfile: {{{alive}, fields: {{a: int}}}}\n  user_profile: {{{alive}, fields: {{b: int}}}}\n"
    );
    let (_directory, file) = scratch(&text);
    let name = file.display().to_string();
    for arguments in [
        vec!["design", &name],
        vec!["design", "simulate", &name, "--uri", "mongodb://127.0.0.1:9/", "--yes"],
    ] {
        let output = docward(&arguments);
        assert_eq!((code(&output), stdout(&output).as_str()), (2, ""), "{arguments:?}");
        let told = stderr(&output);
        assert!(
            told.contains(&format!("{name}:3:3")) && told.contains("would both use the collection"),
            "{told}"
        );
    }
}

#[test]
fn a_model_to_start_from_can_be_decided_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("start.yaml").display().to_string();
    assert_eq!(code(&docward(&["design", "init", "--output", &file])), 0);
    let output = docward(&["design", &file]);
    assert_eq!(code(&output), 0, "{}{}", stderr(&output), stdout(&output));
    // An existing file is not overwritten.
    let again = docward(&["design", "init", "--output", &file]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
}

#[test]
fn dp_2_a_model_from_data_asks_what_data_cannot_say_and_agrees_with_the_data() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.yaml").display().to_string();
    let data = root().join("examples/shop-clean").display().to_string();
    let made = docward(&["design", "init", "--from", &data, "--output", &file]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("# ?") && text.contains("relationships:"), "{text}");
    assert!(text.contains("deviceNo: {type: long, unique: true}"), "{text}");
    let design = docward(&["design", &file, "--format", "json"]);
    assert_eq!(code(&design), 1, "{}", stderr(&design));
    let value: Value = serde_json::from_slice(&design.stdout).unwrap();
    assert!(!value["questions"].as_array().unwrap().is_empty());
    // Data must follow a model that was made from it.
    let checked = docward(&["design", "check", &file, &data, "--format", "json"]);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 0, "{}", report["findings"]);
    assert_eq!(code(&checked), 0, "{}", stderr(&checked));
}

#[test]
fn alg_8_dp_2_what_looks_like_readings_over_time_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let (mut sensors, mut readings) = (String::new(), String::new());
    for sensor in 1..=20 {
        let id = format!("{{\"$oid\": \"{sensor:024x}\"}}");
        sensors.push_str(&format!("{{\"_id\": {id}, \"place\": \"p{sensor}\"}}\n"));
        for minute in 0..60_i64 {
            let own = 1_000_000 + sensor * 1000 + minute;
            let at = 1_767_225_600_000 + minute * 60_000;
            readings.push_str(&format!(
                "{{\"_id\": {{\"$oid\": \"{own:024x}\"}}, \"sensorId\": {id}, \"at\": {{\"$date\": {{\"$numberLong\": \"{at}\"}}}}, \"temp\": {}.5}}\n",
                10 + minute % 37
            ));
        }
    }
    fs::write(folder.path().join("t_sensor.json"), sensors).unwrap();
    fs::write(folder.path().join("t_reading.json"), readings).unwrap();
    let made = docward(&["design", "init", "--from", &folder.path().display().to_string()]);
    let text = stdout(&made);
    let asked = "    # ? series: {time: at, id: sensor, rate: 1/min, series: 20}";
    assert!(text.contains(asked), "{text}");
    assert_eq!(text.matches("# ? series:").count(), 1, "{text}");
}

#[test]
fn dm_09_6_a_model_from_data_says_where_null_was_seen_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("t_lesson.json");
    let lines = "{\"no\": \"A\", \"opt\": null, \"few\": \"x\"}\n{\"no\": \"A\", \"opt\": \"v\"}\n";
    fs::write(&data, lines.repeat(30)).unwrap();
    let (data, file) = (data.display().to_string(), directory.path().join("m.yaml"));
    let file = file.display().to_string();
    let made = docward(&["design", "init", "--from", &data, "--output", &file]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("opt: {type: string, bytes: 1 B, nullable: true}"), "{text}");
    assert!(text.contains("few: {type: string, bytes: 1 B, required: false}"), "{text}");
    let checked = docward(&["design", "check", &file, &data, "--format", "json"]);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 0, "{}", report["findings"]);
    // A required field that can be null is present and null.
    let out = directory.path().join("out").display().to_string();
    docward(&["design", &file, "--fail-on", "never", "--emit", &out]);
    let schema = fs::read_to_string(directory.path().join("out/validators/t_lesson.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let schema = &schema["$jsonSchema"];
    assert_eq!(schema["properties"]["opt"]["bsonType"], serde_json::json!(["string", "null"]));
    assert_eq!(schema["properties"]["few"]["bsonType"], "string");
    assert_eq!(schema["required"], serde_json::json!(["_id", "no", "opt"]));
}

#[test]
fn dp_2_dm_09_6_a_type_that_data_cannot_tell_is_a_question() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("t_lesson.json");
    let lines = "{\"no\": \"A\", \"gone\": null, \"tags\": [\"x\", null], \"none\": [null], \"empty\": [], \"at\": {\"x\": 1, \"y\": null}, \"rows\": [{\"a\": 1}, null]}\n";
    fs::write(&data, lines.repeat(30)).unwrap();
    let (data, file) = (data.display().to_string(), directory.path().join("m.yaml"));
    let file = file.display().to_string();
    let made = docward(&["design", "init", "--from", &data, "--output", &file]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let text = fs::read_to_string(&file).unwrap();
    for line in [
        "gone: {type: string, nullable: true}   # ? `gone` is always null: what is its type?",
        "of: string, items: {p50: 2, p95: 2, p99: 2, max: 2}}   # ? some elements of `tags` are null, which a list in a model cannot have",
        "none: {type: array, items: {p50: 1, p95: 1, p99: 1, max: 1}}   # ? elements of `none` are always null: what is their type?",
        "# ? `empty` is always empty: what is the type of its elements?",
        "# ? `at.y` is always null: what is its type?",
        "# ? some elements are null today: a child is an object",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    // It is still a valid model.
    let design = docward(&["design", &file, "--format", "json"]);
    assert_eq!(code(&design), 1, "{}", stderr(&design));
}

#[test]
fn dp_2_ids_of_elements_are_the_designs_business() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("t_order.json");
    let line = "{\"no\": \"A\", \"lines\": [{\"_id\": 2, \"sku\": \"v\"}, {\"_id\": 3, \"sku\": \"w\"}]}\n";
    fs::write(&data, line.repeat(30)).unwrap();
    let (data, file) = (data.display().to_string(), directory.path().join("m.yaml"));
    let file = file.display().to_string();
    let made = docward(&["design", "init", "--from", &data, "--output", &file]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("sku") && !text.contains("_id:"), "{text}");
    // It has questions and no mistakes.
    let design = docward(&["design", &file]);
    assert_eq!(code(&design), 1, "{}{}", stdout(&design), stderr(&design));
}

/// Returns the model of a directory with one Extended JSON file for each collection.
fn model_of(files: &[(&str, String)]) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("db_store");
    fs::create_dir(&data).unwrap();
    for (name, text) in files {
        fs::write(data.join(name), text).unwrap();
    }
    let (data, file) = (data.display().to_string(), directory.path().join("m.yaml"));
    let made =
        docward(&["design", "init", "--from", &data, "--output", &file.display().to_string()]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    (directory, fs::read_to_string(&file).unwrap())
}

fn questions(directory: &tempfile::TempDir) -> Value {
    let file = directory.path().join("m.yaml").display().to_string();
    let design = docward(&["design", &file, "--format", "json"]);
    assert_eq!(code(&design), 1, "{}", stderr(&design));
    serde_json::from_slice::<Value>(&design.stdout).unwrap()["questions"].clone()
}

/// Returns documents that were created over a year, one each day.
fn dated(number: usize, rest: &str) -> String {
    let day = |i: usize| {
        format!(
            "{{\"createTime\": {{\"$date\": \"2025-{:02}-{:02}T00:00:00Z\"}}, {rest}}}\n",
            1 + i / 28 % 12,
            1 + i % 28
        )
    };
    (0..number).map(day).collect()
}

fn indexes(ttl: &str) -> String {
    format!(
        "{{\"indexes\": [{{\"v\": 2, \"key\": {{\"_id\": 1}}, \"name\": \"_id_\"}}{ttl}], \"type\": \"collection\"}}"
    )
}

#[test]
fn dp_2_a_ttl_of_less_than_a_day_is_written_in_its_unit() {
    for (seconds, kept) in [
        (1_800_u64, "30 minutes"),
        (3_600, "1 hour"),
        (90, "90 seconds"),
        (86_400, "1 day"),
        (129_600, "36 hours"),
        (2_592_000, "30 days"),
    ] {
        let ttl = format!(
            ", {{\"v\": 2, \"key\": {{\"createTime\": 1}}, \"name\": \"ttl\", \"expireAfterSeconds\": {seconds}}}"
        );
        let files = [
            ("t_session.json", dated(336, "\"no\": \"A\"")),
            ("t_session.metadata.json", indexes(&ttl)),
        ];
        let (directory, text) = model_of(&files);
        assert!(text.contains(&format!("kept: {kept}, by: createTime}}")), "{text}");
        // The model is read again, and facts from data are no longer questions.
        let open = questions(&directory).to_string();
        assert!(!open.contains("live") && !open.contains("kept"), "{open}");
    }
}

#[test]
fn dp_1_recorded_operations_keep_what_they_ask_for() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("db_store");
    fs::create_dir(&data).unwrap();
    let members = (0..60).map(|i| format!("{{\"_id\": {}, \"name\": \"M{i}\"}}\n", id(1, i)));
    let loan = |i: usize| {
        let rest = format!("\"memberId\": {}, \"title\": \"T\", \"state\": \"in\"", id(1, i % 60));
        format!(
            "{{\"_id\": {}, {rest}, \"loanTime\": {{\"$date\": \"2025-{:02}-{:02}T00:00:00Z\"}}}}\n",
            id(2, i),
            1 + i / 28 % 12,
            1 + i % 28
        )
    };
    fs::write(data.join("t_member.json"), members.collect::<String>()).unwrap();
    fs::write(data.join("t_loan.json"), (0..600).map(loan).collect::<String>()).unwrap();
    let line = |second: usize, ns: &str, command: &str, more: &str| {
        format!(
            "{{\"t\":{{\"$date\":\"2025-12-01T10:00:{second:02}.000Z\"}},\"s\":\"I\",\"c\":\"COMMAND\",\"id\":51803,\"ctx\":\"conn1\",\"msg\":\"Slow query\",\"attr\":{{{more}\"ns\":\"test.{ns}\",\"command\":{command},\"durationMillis\":40}}}}\n"
        )
    };
    let mut text = String::new();
    for i in 0..40 {
        let member = id(1, i);
        let find = format!(
            "{{\"find\":\"t_loan\",\"filter\":{{\"memberId\":{member},\"loanTime\":{{\"$gt\":{{\"$date\":\"2025-01-01T00:00:00Z\"}}}},\"other.path\":1}},\"sort\":{{\"loanTime\":-1}},\"limit\":10,\"projection\":{{\"title\":1}}}}"
        );
        text +=
            &line(i, "t_loan", &find, "\"type\":\"command\",\"nreturned\":10,\"docsExamined\":10,");
        let join = format!(
            "{{\"aggregate\":\"t_member\",\"pipeline\":[{{\"$match\":{{\"_id\":{member}}}}},{{\"$lookup\":{{\"from\":\"t_loan\",\"localField\":\"_id\",\"foreignField\":\"memberId\",\"as\":\"loans\"}}}}]}}"
        );
        text += &line(i, "t_member", &join, "\"type\":\"command\",\"nreturned\":1,");
        let set =
            format!("{{\"q\":{{\"_id\":{}}},\"u\":{{\"$set\":{{\"state\":\"out\"}}}}}}", id(2, i));
        text += &line(i, "t_loan", &set, "\"type\":\"update\",\"nMatched\":1,");
    }
    let log = directory.path().join("mongod.log");
    fs::write(&log, text).unwrap();
    let file = directory.path().join("m.yaml").display().to_string();
    let (data, log) = (data.display().to_string(), log.display().to_string());
    let made = docward(&["design", "init", "--from", &data, "--log", &log, "--output", &file]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let text = fs::read_to_string(&file).unwrap();
    for said in [
        "from: loan, where: {loanTime: range, memberId: equal}, sort: {loanTime: -1}, limit: 10, fields: [title]}   # ? where (also `other.path`), with",
        "from: member, where: {_id: equal}, with: [member.loans]}",
        "update: [loan], sets: [loan.state]}",
        "# Rates are computed from 120 operations in 39 s. ? This period is short",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    // Everything that it names exists.
    let model = docward_design::read("m.yaml", &text).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_eq!((model.reads.len(), model.writes.len()), (2, 1));
}

#[test]
fn dp_2_the_date_of_a_ttl_index_is_kept() {
    let ttl = ", {\"v\": 2, \"key\": {\"loanTime\": 1}, \"name\": \"ttl\", \"expireAfterSeconds\": 86400}";
    let files = [
        ("t_loan.json", dated(336, "\"no\": \"A\"").replace("createTime", "loanTime")),
        ("t_loan.metadata.json", indexes(ttl)),
    ];
    let (directory, text) = model_of(&files);
    assert!(text.contains("kept: 1 day, by: loanTime}"), "{text}");
    let file = directory.path().join("m.yaml").display().to_string();
    let design = docward(&["design", &file, "--format", "json"]);
    let design: Value = serde_json::from_slice(&design.stdout).unwrap();
    let found = design["indexes"].as_array().unwrap();
    let ttl = found.iter().find(|index| !index["expireAfterSeconds"].is_null());
    assert_eq!(ttl.unwrap_or_else(|| panic!("{design:#}"))["expireAfterSeconds"], 86_400);
    assert_eq!(design["collections"][0]["keptDays"], 1.0);
}

#[test]
fn dp_2_without_a_ttl_nobody_knows_how_long_documents_are_kept() {
    let files =
        [("t_note.json", dated(336, "\"no\": \"A\"")), ("t_note.metadata.json", indexes(""))];
    let (directory, text) = model_of(&files);
    let active: String = text.lines().filter(|line| !line.trim().starts_with('#')).collect();
    assert!(!active.split('#').next().unwrap().contains("kept"), "{text}");
    // The growth is known and stays in the file.
    assert!(text.contains("lifecycle: {growth: ") && text.contains("# ? kept:"), "{text}");
    let open = questions(&directory);
    let asked = open.as_array().unwrap().iter().any(|question| {
        question["about"] == "note" && question["ask"].as_str().unwrap().contains("how long")
    });
    assert!(asked, "{open:#}");
}

/// Returns an object id in Extended JSON.
fn id(kind: usize, number: usize) -> String {
    format!("{{\"$oid\": \"65{kind:02}0000000000000000{number:04x}\"}}")
}

/// Returns products, and orders with lists of elements.
fn store(element: impl Fn(usize, usize) -> String) -> [(&'static str, String); 2] {
    let product = |i: usize| {
        format!("{{\"_id\": {}, \"sku\": \"SKU{i}\", \"label\": \"Product {i}\"}}\n", id(1, i))
    };
    let order = |i: usize| {
        let items: Vec<String> = (0..1 + i % 5).map(|k| element(i, (i + k) % 80)).collect();
        format!("{{\"_id\": {}, \"no\": {i}, \"items\": [{}]}}\n", id(2, i), items.join(", "))
    };
    [
        ("t_product.json", (0..80).map(product).collect()),
        ("t_order.json", (0..400).map(order).collect()),
    ]
}

#[test]
fn dp_3_pt_embed_1_elements_with_fields_beside_an_id_are_an_entity_of_their_own() {
    let files = store(|i, p| {
        format!("{{\"productId\": {}, \"qty\": {}, \"price\": 2.5}}", id(1, p), 1 + i % 3)
    });
    let (directory, text) = model_of(&files);
    let model = docward_design::read("m.yaml", &text).unwrap();
    let item = model.entity("order_item").unwrap_or_else(|| panic!("{text}"));
    let fields: Vec<&str> = item.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, ["qty", "price"], "{text}");
    let [items, product] = model.relationships.as_slice() else { panic!("{text}") };
    assert_eq!((items.name.as_str(), items.child.as_str()), ("order.items", "order_item"));
    assert!(!items.is_shared(), "{text}");
    assert_eq!((product.parent.as_str(), product.child.as_str()), ("order_item", "product"));
    assert_eq!(product.field.as_deref(), Some("productId"), "{text}");
    assert!(product.is_shared() && product.children.unwrap().max == 1, "{text}");
    // The data follow the model.
    let file = directory.path().join("m.yaml").display().to_string();
    let data = directory.path().join("db_store").display().to_string();
    let checked = docward(&["design", "check", &file, &data, "--format", "json"]);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["findings"].as_array().unwrap().len(), 0, "{}", report["findings"]);
}

#[test]
fn er_m_5_lists_of_ids_stay_many_to_many_with_or_without_copies() {
    let bare = store(|_, p| id(1, p));
    let object = store(|_, p| format!("{{\"productId\": {}}}", id(1, p)));
    let copies =
        store(|_, p| format!("{{\"productId\": {}, \"label\": \"Product {p}\"}}", id(1, p)));
    for files in [bare, object, copies] {
        let (_directory, text) = model_of(&files);
        let model = docward_design::read("m.yaml", &text).unwrap();
        let [items] = model.relationships.as_slice() else { panic!("{text}") };
        assert_eq!((items.name.as_str(), items.child.as_str()), ("order.items", "product"));
        assert!(items.is_shared(), "{text}");
        assert_eq!(model.entities.len(), 2, "{text}");
    }
}

#[test]
fn dp_4_copies_in_elements_are_no_fields_of_their_own() {
    let files = store(|i, p| {
        format!(
            "{{\"productId\": {}, \"label\": \"Product {p}\", \"qty\": {}}}",
            id(1, p),
            1 + i % 3
        )
    });
    let (_directory, text) = model_of(&files);
    let model = docward_design::read("m.yaml", &text).unwrap();
    let item = model.entity("order_item").unwrap_or_else(|| panic!("{text}"));
    let fields: Vec<&str> = item.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(fields, ["qty"], "{text}");
    assert!(
        text.contains(
            "# fields copied from `product` in the data: label (the design creates copies from the model)"
        ),
        "{text}"
    );
}

#[test]
fn dp_2_a_check_against_data_of_something_else_is_not_green() {
    let (model, data) =
        (root().join("examples/models/bank.yaml"), root().join("examples/shop-clean"));
    let (model, data) = (model.display().to_string(), data.display().to_string());
    let checked = docward(&["design", "check", &model, &data, "--format", "json"]);
    assert_eq!(code(&checked), 1, "{}", stderr(&checked));
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(report["findings"][0]["rule"], "R034", "{}", report["findings"]);
}

#[test]
fn dp_2_data_that_left_its_model_is_drift_and_exit_1() {
    let (directory, file) = scratch(
        "name: shop\nentities:\n  order:\n    fields: {orderNo: string}\n    lifecycle: {growth: 1/s, kept: forever}\n  \
         item:\n    fields: {sku: string}\n    lifecycle: {growth: 1/s, kept: forever}\nrelationships:\n  \
         order.items: {child: item, children: {p50: 1, p99: 2, max: 3}, growth: bounded}\nreads:\n  \
         page: {rate: 9/s, from: order, where: [orderNo], with: [order.items]}\nwrites:\n  \
         place: {rate: 1/s, insert: [order, item], atomic: true}\n",
    );
    let data = directory.path().join("t_order.json");
    let items = vec!["{\"sku\":\"A\"}"; 1200].join(",");
    let line = format!("{{\"orderNo\":\"1\",\"coupon\":\"X\",\"items\":[{items}]}}\n");
    fs::write(&data, line.repeat(3)).unwrap();
    let (file, data) = (file.display().to_string(), data.display().to_string());
    let arguments =
        ["design", "check", &file, &data, "--namespace", "db_shop.t_order", "--format", "json"];
    let output = docward(&arguments);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["rule"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["R031", "R032", "R030"]);
    let turned = report["findings"][0]["todo"].as_str().unwrap();
    assert!(turned.contains("changes from embed to reference"), "{turned}");
    // The same rules report findings in an audit.
    let audit = docward(&[
        "audit",
        &data,
        "--namespace",
        "db_shop.t_order",
        "--model",
        &file,
        "--select",
        "R031",
    ]);
    assert!(stdout(&audit).contains("R031"), "{}", stdout(&audit));
    // Mistakes of the model are reported before anything is read.
    let (_other, bad) = scratch("entities: 3\n");
    let output = docward(&["design", "check", &bad.display().to_string(), &data]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("must be a table"), "{}", stderr(&output));
}

#[test]
fn dp_2_an_interview_ends_in_a_model_and_its_design() {
    let answers = "blog\npost\n2 KB\n50k\n20/day\nforever\npost.comments\ncomment\n300 B\n5M\n1/s\nforever\n\
                   20 3000 90000\nendless\n1\n500/s\n3\n2/s\n1/s\n0\nno\n\n";
    let ask = |answers: &str| {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_docward"))
            .args(["design", "ask"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(answers.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = ask(answers);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("post.comments  HYBRID"), "{}", stdout(&output));
    // Without operations, there are the same questions as in `docward design` for this file.
    let output = ask("blog\npost\n2 KB\n50k\n20/day\nforever\n\n");
    assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("how is `post` read"), "{}", stdout(&output));
    let output = ask("blog\n");
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(stderr(&output).contains("was cancelled"), "{}", stderr(&output));
}

#[test]
fn alg_3_cn_03_1_pools_are_sized_when_the_deployment_is_declared() {
    let pools = &json("bank")["pools"];
    for (key, expect) in [
        ("maxPoolSize", 80),
        ("minPoolSize", 10),
        ("maxIdleTimeMS", 120_000),
        ("waitQueueTimeoutMS", 5_000),
        ("connectTimeoutMS", 10_000),
        ("clients", 40),
        ("limit", 4_000),
        ("budget", 3_200),
        ("cap", 80),
        ("total", 3_200),
    ] {
        assert_eq!(pools[key], expect, "{key}");
    }
    assert_eq!((&pools["verdict"], &pools["method"]), (&"fits".into(), &"lb".into()));
    // The figures equal those of the pool command, which the report recommends next.
    let plan = docward(&[
        "connect", "plan", "--apps", "40", "--method", "lb", "--limit", "4000", "--pool", "80",
        "--format", "json",
    ]);
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    for key in ["maxPoolSize", "minPoolSize", "total", "budget", "limit", "share", "cap", "verdict"]
    {
        assert_eq!(pools[key], plan[key], "{key}");
    }
    for format in ["terminal", "markdown", "html"] {
        let text = stdout(&docward(&["design", &model("bank"), "--format", format]));
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains("80 % of 4,000 connections / 40 clients = 80 each"), "{format}");
        assert!(joined.contains("docward connect plan --apps 40 --method lb"), "{format}");
    }
}

#[test]
fn cn_03_1_pools_that_cannot_be_sized_are_asked_for_and_nothing_fails() {
    let output = docward(&["design", &model("shop"), "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let design: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(design["pools"].is_null() && design["questions"].as_array().unwrap().is_empty());
    let asked = &design["undeclared"][0];
    assert_eq!(asked["about"], "deployment");
    let write = asked["write"].as_str().unwrap();
    assert!(write.contains("connection-limit") && write.contains("clients"), "{write}");
    for format in ["terminal", "markdown", "html"] {
        let text = stdout(&docward(&["design", &model("shop"), "--format", format]));
        assert!(text.contains("connection-limit") && !text.contains("maxPoolSize"), "{format}");
    }
}

#[test]
fn dp_2_a_check_says_what_was_held_against_what() {
    let (_directory, file) = scratch(
        "name: shop\nentities:\n  customer: {fields: {name: string}, written: never, read: never, \
         lifecycle: {growth: 1/day, kept: forever}}\n",
    );
    let file = file.display().to_string();
    let run = |more: &[&str]| {
        let mut all = vec!["design", "check", file.as_str(), "examples/shop-clean"];
        all.extend(more);
        stdout(&docward(&all))
    };
    let text = run(&[]);
    let expect = format!("docward design check of {file} against examples/shop-clean: ");
    assert!(text.starts_with(&expect), "{text}");
    assert!(run(&["--format", "markdown"]).starts_with(&format!("## Docward: check of {file}\n")));
    let page = run(&["--format", "html"]);
    assert!(page.contains(&format!("{file} against examples/shop-clean")));
    // An audit with a model still runs all other rules.
    let audit = stdout(&docward(&["audit", "examples/shop-clean", "--design", &file]));
    assert!(audit.starts_with("docward 0.1.0 audit of examples/shop-clean\n"), "{audit}");
}

/// Finds language faults that generated text can have: repeated words, wrong articles and wrong
/// plurals.
#[test]
fn reports_of_the_gallery_are_english() {
    for name in ["shop", "blog", "iot", "chat", "social", "catalogue", "bank"] {
        for format in ["terminal", "markdown"] {
            let text = stdout(&docward(&["design", &model(name), "--format", format]));
            let words: Vec<&str> = text.split_whitespace().collect();
            for pair in words.windows(2) {
                let bare = pair[1].trim_start_matches(['`', '*', '(']).to_lowercase();
                let vowel = bare.starts_with(['a', 'e', 'i', 'o']) && !bare.starts_with("one");
                assert!(!(pair[0] == "a" && vowel), "{name} {format}: a {}", pair[1]);
                let many = ["docs,", "docs", "days", "months", "years", "documents", "clients"];
                let one = ["1", "(1", "/1"].contains(&pair[0]);
                assert!(!(one && many.contains(&pair[1])), "{name} {format}: 1 {}", pair[1]);
            }
        }
    }
    let pairs = stdout(&docward(&["design", &model("social"), "--brief"]));
    assert!(pairs.contains("in each pair"), "{pairs}");
}

/// Returns the numbers in the attributes of every element with this beginning.
fn attributes(svg: &str, element: &str, names: &[&str]) -> Vec<Vec<f64>> {
    let elements = svg.split(element).skip(1).filter_map(|rest| rest.split('>').next());
    elements
        .map(|element| {
            let number = |name: &str| {
                let value = element.split(&format!(" {name}=\"")).nth(1)?;
                value.split('"').next()?.parse().ok()
            };
            names.iter().map(|name| number(name).unwrap_or(f64::NAN)).collect()
        })
        .collect()
}

#[test]
fn pictures_of_the_gallery_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["shop", "blog", "iot", "chat", "social", "catalogue", "bank"] {
        let out = directory.path().join(name).display().to_string();
        docward(&["design", &model(name), "--brief", "--emit", &out]);
        for side in ["before", "after"] {
            let svg = fs::read_to_string(format!("{out}/{side}.svg")).unwrap();
            let place = ["x", "y", "width", "height"];
            let page = &attributes(&svg, "<svg", &["width", "height"])[0];
            let nodes = attributes(&svg, "<rect class=\"node\"", &place);
            let labels = attributes(&svg, "<rect class=\"paper\" x", &["y", "width", "height"]);
            assert!(!nodes.is_empty(), "{name} {side}");
            // The diagram has its own background, so that it is readable on a dark page.
            assert!(svg.contains("<rect class=\"paper\" width=\"100%\""), "{name} {side}");
            let papers = svg.split("<rect class=\"paper\" x=\"").skip(1);
            let labels: Vec<Vec<f64>> = papers
                .zip(labels)
                .map(|(rest, sizes)| {
                    let x = rest.split('"').next().unwrap().parse().unwrap();
                    [vec![x], sizes].concat()
                })
                .collect();
            for (i, a) in nodes.iter().chain(&labels).enumerate() {
                assert!(a[0] >= 0.0 && a[1] >= 0.0, "{name} {side}: {a:?}");
                assert!(a[0] + a[2] <= page[0] && a[1] + a[3] <= page[1], "{name} {side}: {a:?}");
                for b in nodes.iter().chain(&labels).skip(i + 1) {
                    let across = (a[0] + a[2]).min(b[0] + b[2]) - a[0].max(b[0]);
                    let down = (a[1] + a[3]).min(b[1] + b[3]) - a[1].max(b[1]);
                    assert!(across <= 0.0 || down <= 0.0, "{name} {side}: {a:?} covers {b:?}");
                }
            }
        }
    }
    // A reference of an entity to itself is shown in its box.
    let social = fs::read_to_string(directory.path().join("social/before.svg")).unwrap();
    assert!(social.contains("↻ followees N:M"), "{social}");
}

#[test]
fn help_has_examples() {
    for arguments in [
        vec!["design", "--help"],
        vec!["design", "init", "--help"],
        vec!["design", "ask", "--help"],
        vec!["design", "check", "--help"],
    ] {
        let output = docward(&arguments);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("Examples:"), "{arguments:?}");
    }
}

#[test]
fn files_are_emitted_once_and_name_what_they_do() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("shop").display().to_string();
    let run = |more: &[&str]| {
        let name = model("shop");
        let mut all = vec!["design", name.as_str(), "--brief", "--emit", out.as_str()];
        all.extend(more);
        docward(&all)
    };
    let first = run(&[]);
    assert!(stderr(&first).contains("README.md"), "{}", stderr(&first));
    for name in [
        "01-collections.js",
        "02-indexes.js",
        "03-shard.js",
        "check.js",
        "README.md",
        "before.svg",
        "after.svg",
        "model.mmd",
        "design.mmd",
    ] {
        let text =
            fs::read_to_string(format!("{out}/{name}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(!text.trim().is_empty(), "{name}");
    }
    assert!(fs::read_to_string(format!("{out}/after.svg")).unwrap().starts_with("<svg xmlns="));
    let again = run(&[]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    assert_eq!(code(&run(&["--force"])), code(&first));
}

#[test]
fn dp_2_er_t_6_lists_of_ids_are_relationships_and_no_fields() {
    let directory = tempfile::tempdir().unwrap();
    let id = |n: usize| format!("{{\"$oid\": \"{n:024x}\"}}");
    let quests: String =
        (0..40).map(|n| format!("{{\"_id\": {}, \"title\": \"q{n}\"}}\n", id(n))).collect();
    let players: String = (0..300)
        .map(|n| {
            let held: Vec<String> = (0..3).map(|k| id((n * 7 + k * 11) % 40)).collect();
            format!("{{\"nick\": \"p{n}\", \"questIds\": [{}]}}\n", held.join(", "))
        })
        .collect();
    let skills: String = (0..200)
        .map(|n| {
            let above = match n {
                0 => "\"ancestors\": []".to_owned(),
                n => format!("\"parentId\": {0}, \"ancestors\": [{0}]", id(1000 + (n - 1) / 3)),
            };
            format!("{{\"_id\": {}, \"name\": \"s{n}\", {above}}}\n", id(1000 + n))
        })
        .collect();
    for (name, text) in [("t_quest", quests), ("t_player", players), ("t_skill", skills)] {
        fs::write(directory.path().join(format!("{name}.json")), text).unwrap();
    }
    let file = directory.path().join("m.yaml").display().to_string();
    let data = directory.path().display().to_string();
    let made = docward(&["design", "init", "--from", &data, "--output", &file]);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("  player.questIds:\n    child: quest\n    field: questIds\n"), "{text}");
    assert!(!text.contains("questIds: {type"), "{text}");
    // The design of a tree adds the list of ancestors itself.
    assert!(text.contains("  skill.skills:\n") && !text.contains("ancestors"), "{text}");
    let design = docward(&["design", &file, "--format", "json"]);
    assert_eq!(code(&design), 1, "questions, and no fault: {}", stderr(&design));
}
