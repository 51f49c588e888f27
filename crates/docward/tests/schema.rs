//! `docward schema` on files with the real binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{fs, path::Path};

use crate::common::{code, docward, root, shared_data, stderr, stdout};
use serde_json::{Value, json};

fn json_of(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", stdout(output), stderr(output)))
}

fn write(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const USER: &str = r#"{"$jsonSchema": {"bsonType": "object", "required": ["userName", "email", "createTime"], "properties": {
    "userName": {"bsonType": "string", "minLength": 2, "maxLength": 50},
    "email": {"bsonType": "string", "pattern": "^[^@\\s]+@[^@\\s]+\\.[a-z]+$"},
    "age": {"bsonType": "int", "minimum": 0, "maximum": 150},
    "status": {"enum": ["active", "inactive", "deleted"]},
    "createTime": {"bsonType": "date"}}}}"#;

#[test]
fn alg_10_dm_11_1_a_schema_is_read_off_and_held_against_its_documents() {
    let output = docward(&["schema", "infer", "examples/shop", "--collection", "t_order"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let schema = json_of(&output);
    let order = &schema["$jsonSchema"];
    assert_eq!(order["bsonType"], "object");
    assert!(order["required"].as_array().unwrap().contains(&json!("orderNo")));
    assert_eq!(order["properties"]["items"]["items"]["properties"]["price"]["bsonType"], "decimal");
    assert_eq!(order["properties"]["items"]["maxItems"], 999);
    assert!(stderr(&output).contains("all of them meet it"), "{}", stderr(&output));
    // The number of threads does not change the result, and the output is a valid schema.
    let again =
        docward(&["schema", "infer", "examples/shop", "--collection", "t_order", "--quiet"]);
    assert_eq!(again.stdout, output.stdout);
    assert!(again.stderr.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let file = write(&folder, "order.schema.json", &stdout(&output));
    let check = docward(&[
        "schema",
        "check",
        &file,
        "examples/shop",
        "--collection",
        "t_order",
        "--format",
        "json",
    ]);
    assert_eq!((code(&check), json_of(&check)["findings"].as_array().unwrap().len()), (0, 0));
}

#[test]
fn alg_10_reasons_and_what_stays_open_are_told() {
    let output = docward(&[
        "schema",
        "infer",
        "examples/shop",
        "--collection",
        "t_user",
        "--format",
        "report",
    ]);
    let report = json_of(&output);
    let user = &report["collections"][0];
    assert_eq!((&report["version"], &user["namespace"]), (&json!(1), &json!("db_shop.t_user")));
    let reasons = user["reasons"].as_array().unwrap();
    let email = reasons.iter().find(|r| r["path"] == "email" && r["keyword"] == "pattern").unwrap();
    assert_eq!(email["why"], "all 80 are e-mail addresses");
    let open = user["undecided"].as_array().unwrap();
    assert!(
        open.iter().any(|o| o["path"] == "posts" && o["why"].as_str().unwrap().contains("DM-08.1"))
    );
    assert_eq!(user["checked"]["refused"], 0);
    let script = docward(&[
        "schema",
        "infer",
        "examples/shop",
        "--collection",
        "t_user",
        "--format",
        "mongosh",
    ]);
    let text = stdout(&script);
    assert!(
        text.contains("pattern: ") && text.contains("// all 80 are e-mail addresses"),
        "{text}"
    );
}

#[test]
fn alg_10_telephone_numbers_are_tried_and_dropped_when_a_document_disagrees() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |odd: &str| {
        let line = |n: usize| format!(r#"{{"_id": {n}, "phone": "+86 138 0013 8{n:03}"}}"#);
        let mut lines: Vec<String> = (0..500).map(line).collect();
        lines.push(format!(r#"{{"_id": 1000, "phone": "{odd}"}}"#));
        lines.join("\n")
    };
    for (odd, has_pattern) in [("(010) 555-0100", true), ("ask at desk", false)] {
        let file = write(&folder, "contacts.jsonl", &lines(odd));
        let output = docward(&["schema", "infer", &file, "--tolerance", "0"]);
        let phone = &json_of(&output)["$jsonSchema"]["properties"]["phone"];
        assert_eq!(phone["pattern"].is_string(), has_pattern, "{phone}");
        assert!(stderr(&output).contains("all of them meet it"), "{}", stderr(&output));
        let unchecked = docward(&["schema", "infer", &file, "--no-check", "--quiet"]);
        assert!(json_of(&unchecked)["$jsonSchema"]["properties"]["phone"]["pattern"].is_null());
    }
}

#[test]
fn several_collections_are_written_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let directory = format!("{}/", folder.path().join("schemas").display());
    let output = docward(&["schema", "infer", "examples/shop-clean", "--output", &directory]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let files = fs::read_dir(&directory).unwrap().count();
    assert!(files > 3, "{files}");
    // One file has all schemas, and each collection is checked with its own.
    let all = docward(&["schema", "infer", "examples/shop-clean", "--quiet"]);
    assert_eq!(json_of(&all).as_object().unwrap().len(), files);
    let file = write(&folder, "all.json", &stdout(&all));
    let check = docward(&["schema", "check", &file, "examples/shop-clean", "--format", "json"]);
    assert_eq!(code(&check), 0, "{}", stdout(&check));
}

#[test]
fn dm_11_3_documents_that_break_a_schema_are_counted_by_constraint() {
    let folder = tempfile::tempdir().unwrap();
    let schema = write(&folder, "user.json", USER);
    let mut lines = vec![
        r#"{"_id": 1, "userName": "z", "email": "z@example.com", "createTime": {"$date": 1}}"#.to_owned(),
        r#"{"_id": 2, "userName": "zhang", "email": "nonsense", "age": 151, "createTime": {"$date": 1}}"#.to_owned(),
        r#"{"_id": "someone@example.com", "userName": "zhang", "email": "z@example.com", "status": "x"}"#.to_owned(),
    ];
    lines.extend((10..1010).map(|n| format!(r#"{{"_id": {n}, "userName": "zhang", "email": "z@example.com", "age": {}, "createTime": {{"$date": 1}}}}"#, n % 90)));
    let users = write(&folder, "users.jsonl", &lines.join("\n"));
    let output = docward(&["schema", "check", &schema, &users, "--format", "json"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let report = json_of(&output);
    let found: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            format!(
                "{} {} {}: {} of {}, {}",
                f["rule"].as_str().unwrap(),
                f["path"].as_str().unwrap(),
                f["data"]["keyword"].as_str().unwrap(),
                f["data"]["documents"],
                f["data"]["of"],
                f["data"]["ids"]
            )
        })
        .collect();
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "V007 age maximum: 1 of 1003, [\"2\"]",
            "V007 createTime required: 1 of 1003, []",
            "V007 email pattern: 1 of 1003, [\"2\"]",
            "V007 status enum: 1 of 1003, []",
            "V007 userName minLength: 1 of 1003, [\"1\"]",
        ]
    );
    // An address is a value and is shown only on request.
    assert!(!stdout(&output).contains("someone@example.com"));
    let shown = docward(&["schema", "check", &schema, &users, "--show-values"]);
    assert!(stdout(&shown).contains("someone@example.com"), "{}", stdout(&shown));
    assert!(stdout(&shown).starts_with("docward schema check of "), "{}", stdout(&shown));
    let silent = docward(&["schema", "check", &schema, &users, "--fail-on", "never"]);
    assert_eq!(code(&silent), 0);
    let sarif = docward(&["schema", "check", &schema, &users, "--format", "sarif"]);
    assert_eq!(json_of(&sarif)["runs"][0]["results"].as_array().unwrap().len(), 5);
    // Many threads and blocks give the same result.
    let one = docward(&["schema", "check", &schema, "-", "--format", "json"]);
    assert_eq!(
        code(&one),
        2,
        "nothing on standard input is a problem, not a pass: {}",
        stdout(&one)
    );
}

#[test]
fn sn_12_one_document_is_tested_with_the_words_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let schema = write(&folder, "user.json", USER);
    let good =
        r#"{"userName": "zhang", "email": "z@example.com", "age": 30, "createTime": {"$date": 1}}"#;
    let accepted = docward(&["schema", "test", &schema, good]);
    assert_eq!((code(&accepted), stdout(&accepted).as_str()), (0, "accepted\n"));
    let bad = [
        (r#""userName": "z""#, "minLength"),
        (r#""userName": "zhangzhangzhangzhangzhangzhangzhangzhangzhangzhang1""#, "maxLength"),
        (r#""email": "z""#, "pattern"),
        (r#""age": -1"#, "minimum"),
        (r#""age": 151"#, "maximum"),
        (r#""age": 1.5"#, "bsonType"),
        (r#""age": "30""#, "bsonType"),
        (r#""status": "x""#, "enum"),
        (r#""createTime": "2024""#, "bsonType"),
    ];
    let base = [
        r#""userName": "zhang""#,
        r#""email": "z@example.com""#,
        r#""age": 30"#,
        r#""createTime": {"$date": 1}"#,
    ];
    for (wrong, keyword) in bad {
        let name = wrong.split(':').next().unwrap();
        let mut fields: Vec<&str> =
            base.iter().copied().filter(|field| !field.starts_with(name)).collect();
        fields.push(wrong);
        let document = format!("{{{}}}", fields.join(", "));
        let output = docward(&["schema", "test", &schema, &document, "--format", "json"]);
        assert_eq!(code(&output), 1, "{document}");
        let answer = json_of(&output);
        let rules = &answer["details"]["schemaRulesNotSatisfied"];
        assert_eq!(rules[0]["operatorName"], "properties", "{answer:#}");
        assert_eq!(
            rules[0]["propertiesNotSatisfied"][0]["details"][0]["operatorName"], keyword,
            "{answer:#}"
        );
    }
    let missing =
        docward(&["schema", "test", &schema, r#"{"userName": "zhang", "email": "z@example.com"}"#]);
    assert!(stdout(&missing).contains("createTime: required"), "{}", stdout(&missing));
}

#[test]
fn dm_11_5_three_descriptions_of_one_collection_are_compared() {
    let arguments = [
        "schema",
        "diff",
        "examples/drift/models/user.js",
        "examples/drift/user.validator.json",
        "--data",
        "examples/drift/users.jsonl",
    ];
    let output = docward(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let report = json_of(&output);
    assert_eq!(report["bAcceptsEverythingAAccepts"]["answer"], "no");
    assert_eq!(report["aAcceptsEverythingBAccepts"]["answer"], "no");
    assert_eq!(report["data"]["a"]["refused"], 167);
    assert_eq!(report["data"]["b"]["refused"], 58);
    let drift: Vec<_> = report["data"]["drift"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["path"].as_str().unwrap())
        .collect();
    assert_eq!(drift, ["balance", "createTime", "lastLogin", "nickName", "nickname", "status"]);
    let text = stdout(&docward(&arguments));
    assert!(text.contains("absent; similar name: `nickname`"), "{text}");
    assert!(text.contains("150 double, 50 decimal"), "{text}");
    // A schema is compared with itself.
    let same = docward(&[
        "schema",
        "diff",
        "examples/drift/user.validator.json",
        "examples/drift/user.validator.json",
    ]);
    assert_eq!(code(&same), 0);
    assert!(stdout(&same).contains("the schemas are equivalent"));
}

#[test]
fn models_in_code_become_schemas() {
    let fixtures = "crates/docward-code/tests/fixtures";
    for (file, model, place) in [
        ("shop.js", "User", "/properties/email/bsonType"),
        ("library.nest.ts", "Book", "/properties/_id/bsonType"),
        ("shop.prisma", "User", "/properties/email/bsonType"),
        ("shop.py", "Order", "/properties/items/bsonType"),
        ("shop.go", "Order", "/properties/_id/bsonType"),
        ("Shop.java", "Order", "/properties/_id/bsonType"),
    ] {
        let path = format!("{fixtures}/{file}");
        let listed = docward(&["schema", "import", &path, "--format", "report"]);
        let report = json_of(&listed);
        let names: Vec<_> = report["models"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["name"].as_str().unwrap().to_owned())
            .collect();
        let Some(name) = names.iter().find(|name| *name == model).or(names.first()) else {
            panic!("{file}: {report}")
        };
        let output = docward(&["schema", "import", &path, "--model", name, "--quiet"]);
        let schema = json_of(&output);
        assert!(
            schema["$jsonSchema"].pointer(place).is_some() || names.iter().all(|n| n != model),
            "{file}: {schema:#}"
        );
    }
    let unknown =
        docward(&["schema", "import", "examples/drift/models/user.js", "--model", "Order"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("there are User"), "{}", stderr(&unknown));
    let nothing = docward(&["schema", "import", "README.md"]);
    assert_eq!(code(&nothing), 2);
    assert!(stderr(&nothing).contains("--kind mongoose|"), "{}", stderr(&nothing));
}

#[test]
fn bad_input_is_told_with_the_place_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let check = |schema: &str, expected: &str| {
        let output =
            docward(&["schema", "check", schema, "examples/shop", "--collection", "t_user"]);
        assert_eq!(code(&output), 2, "{}", stdout(&output));
        assert!(stderr(&output).contains(expected), "{expected}: {}", stderr(&output));
    };
    check("no-such-file.json", "cannot read the schema no-such-file.json");
    check(&write(&folder, "cut.json", r#"{"$jsonSchema": {"bsonType": "#), "not a JSON document (");
    check(&write(&folder, "other.json", r#"{"name": "x"}"#), "neither a schema nor a validator");
    check(
        &write(&folder, "money.json", r#"{"properties": {"price": {"bsonType": "money"}}}"#),
        "code 2): Unknown type name alias: money",
    );
    check(
        &write(&folder, "expr.json", r#"{"$expr": {"$gt": ["$a", 1]}}"#),
        "cannot evaluate `$expr` offline",
    );
    check(&write(&folder, "where.json", r#"{"$where": "true"}"#), "MongoDB would refuse");
    let none = docward(&[
        "schema",
        "check",
        &write(&folder, "ok.json", USER),
        "examples/shop",
        "--collection",
        "t_nothing",
    ]);
    assert_eq!(code(&none), 2);
    assert!(stderr(&none).contains("no document was checked"), "{}", stderr(&none));
    let tolerance = docward(&["schema", "infer", "examples/shop", "--tolerance", "7"]);
    assert_eq!(code(&tolerance), 2);
    assert!(stderr(&tolerance).contains("between 0 and 0.5"));
    let document = docward(&["schema", "test", &write(&folder, "u.json", USER), "{\"a\": "]);
    assert_eq!(code(&document), 2);
    assert!(stderr(&document).contains("not a JSON document"), "{}", stderr(&document));
    let damaged = folder.path().join("users.bson");
    fs::write(&damaged, [60, 0, 0, 0, 2, b'a', 0, 1]).unwrap();
    let output =
        docward(&["schema", "check", &write(&folder, "v.json", USER), damaged.to_str().unwrap()]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    // Other drafts of JSON Schema are translated.
    let foreign = write(
        &folder,
        "draft.json",
        r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"_id": {"type": "integer"}, "email": {"format": "idn-email"}}}"#,
    );
    let output = docward(&[
        "schema",
        "check",
        &foreign,
        "examples/shop",
        "--collection",
        "t_user",
        "--format",
        "json",
    ]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert_eq!(json_of(&output)["findings"][0]["path"], "_id");
}

/// Names from documents stay on their line of the script, and odd documents are still accepted.
#[test]
fn alg_10_odd_names_and_doubled_fields_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let evil = (0..300).map(|n| format!(r#"{{"_id": {n}, "a.b\nprocess.exit(1)//": {n}, "c\u2028d": null, "__proto__": 1, "": 1}}"#));
    let file = write(&folder, "evil.jsonl", &evil.collect::<Vec<_>>().join("\n"));
    for strict in [&[][..], &["--strict"]] {
        let mut arguments =
            vec!["schema", "infer", &file, "--format", "mongosh", "--tolerance", "0"];
        arguments.extend(strict);
        let output = docward(&arguments);
        assert!(stderr(&output).contains("all of them meet it"), "{}", stderr(&output));
        let script = stdout(&output);
        assert!(script.lines().all(|line| !line.trim_start().starts_with("process")), "{script}");
        assert!(!script.contains('\u{2028}') && script.contains("[\"__proto__\"]"), "{script}");
        assert!(!script.contains("\"\": "), "{script}");
    }
    // Half of the documents have a field twice, and the other half lacks it.
    let doubled = folder.path().join("doubled.bson");
    let mut bytes = Vec::new();
    for n in 0..400_u32 {
        let field = b"\x10a\0\x01\0\0\0".repeat(if n < 200 { 2 } else { 0 });
        let id = [b"\x10_id\0".as_slice(), &n.to_le_bytes()].concat();
        bytes.extend(((4 + id.len() + field.len() + 1) as u32).to_le_bytes());
        bytes.extend([id, field, vec![0]].concat());
    }
    fs::write(&doubled, bytes).unwrap();
    let output = docward(&["schema", "infer", doubled.to_str().unwrap(), "--tolerance", "0"]);
    assert!(stderr(&output).contains("all of them meet it"), "{}", stderr(&output));
}

/// A schema that is inferred from real data must accept that data.
#[test]
fn alg_10_schemas_of_real_data_accept_their_own_documents() {
    for set in [
        "atlas-mcampo2",
        "dbkoda-data",
        "docs-assets",
        "neelabalan",
        "npm-vega-datasets-3.2.1",
        "ozlerhakan",
        "real-dumps",
        "mongo-tools-testdata",
    ] {
        let Some(path) = shared_data(&format!("datasets/{set}")) else { return };
        for more in [&[][..], &["--strict"]] {
            let mut arguments = vec![
                "schema",
                "infer",
                path.to_str().unwrap(),
                "--tolerance",
                "0",
                "--format",
                "report",
            ];
            arguments.extend(more);
            let report = json_of(&docward(&arguments));
            for collection in report["collections"].as_array().unwrap() {
                let name = &collection["namespace"];
                assert_eq!(
                    collection["checked"]["refused"], 0,
                    "{set} {name} {more:?}: {:#}",
                    collection["checked"]
                );
                assert!(collection["checked"]["documents"].as_u64().unwrap() > 0, "{set} {name}");
            }
        }
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for command in ["infer", "check", "test", "diff", "import", "apply", "rollback"] {
        let output = docward(&["schema", command, "--help"]);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("Examples:"), "{command}");
    }
    assert!(Path::new(&root()).join("docs/schema.md").exists());
}
