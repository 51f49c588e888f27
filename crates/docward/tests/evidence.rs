//! Evidence files: saved, audited elsewhere, and compared with a later date.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{fs, path::Path};

use crate::common::{code, docward, stderr, stdout};
use bson::{Bson, doc};
use docward_testkit::Launch;
use serde_json::Value;

const DAY: i64 = 86_400_000;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the report of an audit.
fn audited(arguments: &[&str]) -> Value {
    crate::common::audit_json(arguments).0
}

/// Returns the parts on which two audits must agree.
fn judged(report: &Value) -> [&Value; 4] {
    ["findings", "checklist", "skipped", "summary"].map(|part| &report[part])
}

#[test]
fn saved_evidence_gives_the_findings_of_the_data_itself() {
    let place = tempfile::tempdir().unwrap();
    // The settings beside the example apply wherever its evidence is.
    for (source, name) in [
        ("examples/shop", "shop.json"),
        ("examples/shop", "shop.json.gz"),
        ("examples/shop-clean", "clean.json"),
    ] {
        let file = place.path().join(name);
        let config = "examples/shop/docward.toml";
        let direct = audited(&[source, "--save-evidence", text(&file), "--config", config]);
        let again = audited(&[text(&file), "--config", config]);
        assert_eq!(judged(&direct), judged(&again), "{name}");
        assert_eq!(again["sources"][0]["kind"], "evidence");
        assert_eq!(again["sources"][0]["documents"], direct["sources"][0]["documents"]);
        let shown = audited(&[source, "--show-values", "--config", config]);
        let shown_again = audited(&[text(&file), "--show-values", "--config", config]);
        assert_eq!(judged(&shown), judged(&shown_again), "{name}");
    }
    let packed = fs::read(place.path().join("shop.json.gz")).unwrap();
    assert_eq!(packed[..2], [0x1f, 0x8b]);
    assert!(
        fs::read_dir(place.path())
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().ends_with(".part") })
    );
}

#[test]
fn evidence_on_standard_input_is_taken_as_evidence() {
    let directory = tempfile::tempdir().unwrap();
    let shop = docward_testkit::repository().join("examples/shop");
    for name in ["e.json", "e.json.gz"] {
        let file = directory.path().join(name);
        audited(&[text(&shop), "--save-evidence", text(&file)]);
        let from_file = audited(&[text(&file)]);
        let output = assert_cmd::Command::cargo_bin("docward")
            .unwrap()
            .args(["audit", "-", "--format", "json", "--no-progress"])
            .write_stdin(fs::read(&file).unwrap())
            .output()
            .unwrap();
        let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(piped["sources"][0]["kind"], "evidence", "{name}");
        assert_eq!(piped["findings"], from_file["findings"], "{name}");
    }
}

#[test]
fn filters_and_logs_work_on_saved_evidence() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("shop.json");
    audited(&["examples/shop", "--save-evidence", text(&file)]);
    let only =
        ["--collection", "t_user*", "--select", "D,T", "--config", "examples/shop/docward.toml"];
    let direct = audited(&[&["examples/shop"], &only[..]].concat());
    let again = audited(&[&[text(&file)], &only[..]].concat());
    assert_eq!(direct["findings"], again["findings"]);
    assert!(!again["findings"].as_array().unwrap().is_empty());
}

#[test]
fn bad_evidence_files_are_named_and_nothing_is_lost() {
    let place = tempfile::tempdir().unwrap();
    let good = place.path().join("good.json");
    audited(&["examples/shop-clean", "--save-evidence", text(&good)]);
    let content = fs::read_to_string(&good).unwrap();
    let write = |name: &str, content: &str| {
        let path = place.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let cut = write("cut.json", &content[..content.len() / 2]);
    let newer = write("newer.json", &content.replacen("evidence\":1", "evidence\":2", 1));
    let altered =
        write("altered.json", &content.replacen("\"collections\":[", "\"collections\":[7,", 1));
    for (file, message) in [
        (&cut, "is damaged at line 1, column "),
        (
            &newer,
            "has version 2 of the evidence format, but this version of Docward reads version \
         1",
        ),
        (&altered, "is damaged at line 1, column "),
    ] {
        let output = docward(&["audit", text(file), text(&good), "--format", "json"]);
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let problem = report["problems"][0]["message"].as_str().unwrap();
        assert!(problem.contains(message), "{problem}");
        assert!(!report["checklist"].as_array().unwrap().is_empty(), "the rest was audited");
        let output = docward(&["audit", "examples/shop-clean", "--earlier", text(file)]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    let output = docward(&["audit", "examples/shop-clean", "--earlier", "Cargo.toml"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("is not an evidence file"), "{}", stderr(&output));
    let nowhere = place.path().join("no/such/directory.json");
    let output = docward(&["audit", "examples/shop-clean", "--save-evidence", text(&nowhere)]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));
    assert!(!nowhere.exists());
}

/// Changes the date in an evidence file.
fn date_back(file: &Path, days: i64) {
    let mut saved: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    saved["taken_ms"] = (saved["taken_ms"].as_i64().unwrap() - days * DAY).into();
    fs::write(file, saved.to_string()).unwrap();
}

fn finding<'r>(report: &'r Value, rule: &str) -> Option<&'r Value> {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule)
}

/// ALG-6, the second sign: the length increases between two samples of the same documents.
#[test]
fn an_array_that_grew_between_two_dates_is_forecast() {
    let place = tempfile::tempdir().unwrap();
    let dump = |name: &str, grown: i32| {
        let documents: Vec<u8> = (0..200)
            .flat_map(|n| {
                // Every second device reports ten events per day.
                let length = 40 + if n % 2 == 0 { grown } else { 0 };
                let events: Vec<Bson> = (0..length).map(|e| Bson::Int32(e * 7)).collect();
                doc! { "_id": n, "name": format!("device {n}"), "events": events }.to_vec().unwrap()
            })
            .collect();
        let path = place.path().join(name).join("db_iot");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("t_device.bson"), documents).unwrap();
        place.path().join(name)
    };
    let (before, after) = (dump("before", 0), dump("after", 70));
    let monday = place.path().join("monday.json");
    audited(&[text(&before), "--save-evidence", text(&monday)]);
    date_back(&monday, 7);
    let alone = audited(&[text(&after)]);
    assert!(finding(&alone, "D008").is_none(), "one snapshot without ages shows nothing");
    let report = audited(&[text(&after), "--earlier", text(&monday)]);
    let found = finding(&report, "D008").unwrap();
    let what = found["what"].as_str().unwrap();
    assert!(what.starts_with("`events` grew in 100 of 200 documents seen on "), "{what}");
    let told = what.contains("(+10.0 a day): 1,000 elements on ");
    assert!(told, "{what}");
    assert_eq!(found["data"]["grown"], 100);
    // Both dates come from files.
    let friday = place.path().join("friday.json");
    audited(&[text(&after), "--save-evidence", text(&friday)]);
    let offline = audited(&[text(&friday), "--earlier", text(&monday)]);
    assert_eq!(finding(&offline, "D008"), Some(found));
    // Below a week there is no finding, unless the rule is configured otherwise.
    date_back(&monday, -1);
    let report = audited(&[text(&after), "--earlier", text(&monday)]);
    assert!(finding(&report, "D008").is_none(), "six days");
    let config = place.path().join("docward.toml");
    fs::write(&config, "[rules.D008]\nmin-days = 1\n").unwrap();
    let arguments = [text(&after), "--earlier", text(&monday), "--config", text(&config)];
    assert!(finding(&audited(&arguments), "D008").is_some());
    // The two files are in the wrong order.
    let output = docward(&["audit", text(&monday), "--earlier", text(&friday)]);
    assert_eq!(code(&output), 2);
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("name the older of the two files"), "{text}");
}

/// ALG-6, DM-08.2: one more address does not show an unbounded array.
#[test]
fn alg_6_dm_08_2_short_lists_that_gain_one_element_are_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let dump = |name: &str, moved: bool| {
        let documents: Vec<u8> = (0..100)
            .flat_map(|n| {
                let length = 1 + n % 4 + i32::from(moved && n < 6);
                let addresses: Vec<Bson> =
                    (0..length).map(|a| doc! { "street": format!("street {a}") }.into()).collect();
                doc! { "_id": n, "name": "x", "addresses": addresses }.to_vec().unwrap()
            })
            .collect();
        let path = place.path().join(name).join("db_shop");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("t_user.bson"), documents).unwrap();
        place.path().join(name)
    };
    let (before, after) = (dump("before", false), dump("after", true));
    for days in [1, 8] {
        let earlier = place.path().join("earlier.json");
        audited(&[text(&before), "--save-evidence", text(&earlier)]);
        date_back(&earlier, days);
        let report = audited(&[text(&after), "--earlier", text(&earlier)]);
        assert!(finding(&report, "D008").is_none(), "{days} days: {report:#}");
    }
}

/// Two random samples of a large collection share hardly any documents. The documents of the
/// earlier run are therefore looked up.
#[test]
fn live_growth_is_measured_on_the_documents_of_the_earlier_run() {
    let servers = Launch::standalone().start();
    let device = |n: i32| doc! { "_id": n, "name": format!("device {n}"), "events": [1, 2, 3] };
    servers.insert("db_iot.t_device", (0..8000).map(device));
    let place = tempfile::tempdir().unwrap();
    let (first, uri) = (place.path().join("first.json"), servers.uri());
    let sampled = ["--sample", "100", "--select", "D"];
    let mut arguments = vec![uri.as_str(), "--save-evidence", text(&first)];
    arguments.extend(sampled);
    audited(&arguments);
    date_back(&first, 7);
    let push = doc! {
        "update": "t_device",
        "updates": [{ "q": {}, "u": { "$push": { "events": { "$each": vec![7; 210] } } }, "multi": true }],
    };
    servers.command("db_iot", push);
    let mut arguments = vec![uri.as_str(), "--earlier", text(&first)];
    arguments.extend(sampled);
    let report = audited(&arguments);
    let found = finding(&report, "D008").unwrap_or_else(|| panic!("{report}"));
    let what = found["what"].as_str().unwrap();
    assert!(what.starts_with("`events` grew in 100 of 100 documents seen on "), "{what}");
    assert!(what.contains("+30"), "{what}");
}

/// ALG-6: two dates without common documents say nothing about growth, and the report says so.
#[test]
fn an_earlier_date_of_other_data_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, ids: std::ops::Range<u32>, month: u64| {
        let file = directory.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let lines: String = ids.map(|id| format!("{{\"_id\": {id}, \"n\": 1}}\n")).collect();
        fs::write(&file, lines).unwrap();
        let changed = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_592_000 * month);
        fs::File::options().append(true).open(&file).unwrap().set_modified(changed).unwrap();
        file
    };
    let (before, after) =
        (write("a/t_app_note.jsonl", 0..9, 3), write("b/t_app_note.jsonl", 20..29, 5));
    let (same, other) =
        (write("c/t_app_note.jsonl", 0..9, 5), write("d/t_app_other.jsonl", 0..9, 5));
    let saved = directory.path().join("monday.json.gz");
    docward(&["audit", text(&before), "--save-evidence", text(&saved), "--fail-on", "never"]);
    let told = |file: &Path| {
        let report = crate::common::audit_json(&[text(file), "--earlier", text(&saved)]).0;
        report["notes"].to_string()
    };
    assert!(told(&after).contains("the two runs have no document in common"), "{}", told(&after));
    assert!(told(&other).contains("none of its collections was audited"), "{}", told(&other));
    assert!(!told(&same).contains("growth is unknown"), "{}", told(&same));
}
