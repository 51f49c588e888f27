//! Verdicts of a real server on cases of MongoDB's own tests and of the official draft 4 suite. The
//! files are not part of the repository.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

use std::{fs, path::PathBuf};

use docward_schema::Schema;
use serde_json::{Value, json};

fn data(name: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/jsonschema");
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

fn lines(path: PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Extended JSON as BSON.
fn bytes(value: &Value) -> Vec<u8> {
    docward_bson::json::parse_one(&value.to_string()).unwrap()
}

/// Docward's verdict: `match`, `no_match`, or `error:CODE` with the message.
fn verdict(schema: &Value, document: Option<&Value>) -> (String, String) {
    match Schema::compile(&bytes(schema)) {
        Err(fault) => (format!("error:{}", fault.code), fault.message),
        Ok(schema) => {
            let holds = document.is_none_or(|document| schema.accepts(&bytes(document)).unwrap());
            (if holds { "match" } else { "no_match" }.to_owned(), String::new())
        }
    }
}

#[test]
fn dm_11_2_cases_of_the_servers_own_tests() {
    let Some(path) = data("split_dev_jstests.jsonl") else { return };
    let cases = lines(path);
    assert!(cases.len() > 200);
    let mut wrong = Vec::new();
    for case in &cases {
        // The server adds an `_id` to documents it stores.
        let stored = case.get("doc").map(|document| {
            let mut stored = document.clone();
            stored.as_object_mut().unwrap().entry("_id").or_insert(json!(1));
            stored
        });
        let (said, words) = verdict(&case["schema"], stored.as_ref());
        let expect = case["mongod_6_0_5"].as_str().unwrap();
        let words_agree = case["errmsg"].as_str().is_none_or(|expected| expected == words);
        if said != expect || !words_agree {
            wrong.push(format!("{case}\n  said {said} {words}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn dm_11_2_cases_of_the_draft_4_suite() {
    let Some(path) = data("split_dev_draft4_oracle.jsonl") else { return };
    let suite = data("JSON-Schema-Test-Suite/tests/draft4").unwrap();
    let cases = lines(path);
    let mut wrong = Vec::new();
    for case in &cases {
        let file = fs::read_to_string(suite.join(case["file"].as_str().unwrap())).unwrap();
        let groups: Value = serde_json::from_str(&file).unwrap();
        let index = |key: &str| case[key].as_u64().unwrap() as usize;
        let group = &groups[index("group")];
        let test = &group["tests"][index("test")];
        // Documents are objects, so the value to test is put into a field of one.
        let schema = json!({ "properties": { "v": group["schema"] } });
        let document = json!({ "v": test["data"] });
        let (said, words) = verdict(&schema, Some(&document));
        let expect = match case["mongod"].as_str().unwrap() {
            "error" => format!("error:{}", case["code"]),
            word => word.to_owned(),
        };
        let words_agree = case["errmsg"].as_str().is_none_or(|expected| expected == words);
        if said != expect || !words_agree {
            wrong.push(format!(
                "{case}\n  {} {}\n  said {said} {words}",
                group["schema"], test["data"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
