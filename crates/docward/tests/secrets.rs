//! Passwords on the command line: no command repeats one, in any notation of the connection string.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::fs;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::common::{code, docward, root, stderr, stdout};

const SECRET: &str = "Wombat77";

/// Connection strings, valid and invalid. None leads to a server.
const FORMS: &[&str] = &[
    "mongodb://ann:Wombat77@127.0.0.1:1/?serverSelectionTimeoutMS=10",
    "mongo://ann:Wombat77@h",
    "MONGODB://ann:Wombat77@h",
    "https://ann:Wombat77@h",
    "'mongodb://ann:Wombat77@h'",
    "\"mongodb://ann:Wombat77@h\"",
    " mongodb://ann:Wombat77@h",
    "mongodb://ann:Wombat77/host",
    "mongodb:/ann:Wombat77@h",
    "mongodb:ann:Wombat77@h",
    "mongodb//ann:Wombat77@h",
    "ann:Wombat77@h:27017",
    "ann:x Wombat77@h:27017",
    "mongo://ann:x'Wombat77@h",
    "mongodb+srv://ann:Wombat77@h:1,g",
];

/// Commands. `@` stands for the string, and `%` for an output file.
const COMMANDS: &[&str] = &[
    "audit @",
    "audit @ --format json --output %",
    "audit @ --format html --output %",
    "audit one.json @ --select N001",
    "audit --client-uri @",
    "audit --uri=@",
    "audit one.json --select N001 --config @",
    "audit one.json --select N001 --output @",
    "audit one.json --select N001 --log @",
    "audit one.json --select N001 --code @",
    "audit one.json --select N001 --network-rules @",
    "audit one.json --select N001 --baseline @",
    "audit one.json --select @",
    "audit one.json --format @",
    "audit one.json --namespace @",
    "audit one.json --earlier @",
    "audit one.json --model @",
    "audit --no-such-option @",
    "checklist @ --format markdown",
    "shardkey @",
    "shardkey one.json --key @",
    "lint @",
    "lint @ --format html --output %",
    "lint one.json --config @",
    "connect check @",
    "connect check @ --format json --output %",
    "connect check @ --format html --output %",
    "connect check --file @",
    "connect check mongodb://h --options @",
    "connect check mongodb://h --service @",
    "connect plan --apps 1 --pool 5 --uri @",
    "connect choose --uri @",
    "connect choose --topology sharded --mongos 2 --lock @",
    "connect sdk --lang @",
    "connect sdk --lang python --app-name @",
    "schema infer @",
    "schema check @ one.json",
    "schema check one.json @",
    "schema test @ @",
    "schema diff @ @",
    "schema apply @ --schema @ --namespace a.b",
    "schema import @",
    "design @",
    "design check @ @",
    "design simulate blog.yaml --uri @",
    "diff @ @",
    "explain @",
    "rules --family @",
    "man @",
    "@",
];

#[test]
fn sc_7_no_command_repeats_a_password() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("one.json"), "{\"_id\": 1}\n").unwrap();
    fs::copy(root().join("examples/models/blog.yaml"), folder.path().join("blog.yaml")).unwrap();
    for command in COMMANDS {
        for form in FORMS {
            let file = folder.path().join("out");
            let _ = fs::remove_file(&file);
            let shown = file.display().to_string();
            let arguments: Vec<String> = command
                .split(' ')
                .map(|word| match word {
                    "%" => shown.clone(),
                    _ => word.replace('@', form),
                })
                .collect();
            // Some commands write files with the same name as the string.
            let output = Command::cargo_bin("docward")
                .unwrap()
                .args(&arguments)
                .current_dir(folder.path())
                .output()
                .unwrap();
            let written = fs::read(&file).unwrap_or_default();
            let all =
                [stdout(&output), stderr(&output), String::from_utf8_lossy(&written).into_owned()];
            for text in &all {
                assert!(!text.contains(SECRET), "{command} with {form}:\n{text}");
            }
        }
    }
}

#[test]
fn sc_7_what_is_wrong_with_a_source_is_said() {
    for (source, expected) in [
        ("mongo://ann:Wombat77@h", "the scheme is `mongo://`; write `mongodb://`"),
        ("'mongodb://ann:Wombat77@h'", "has quotes around it; remove them"),
        (" mongodb://ann:Wombat77@h", "has blanks before or after it"),
        ("mongodb:/ann:Wombat77@h", "too few slashes; write `mongodb://`"),
        ("ann:Wombat77@h:27017", "a login without a scheme"),
        ("localhost:27017", "to read a server, use mongodb://localhost:27017"),
        ("https://h/dump.json", "the scheme is `https://`; connection strings begin"),
    ] {
        for command in ["audit", "checklist", "shardkey"] {
            let output = docward(&[command, source]);
            assert_eq!(code(&output), 2, "{command} {source}");
            assert!(stderr(&output).contains(expected), "{command} {source}: {}", stderr(&output));
        }
    }
    // If a file has this name, the argument is a file.
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("localhost:27017");
    fs::write(&file, "{\"_id\": 1}\n").unwrap();
    let output = docward(&["audit", file.to_str().unwrap()]);
    assert!(!stderr(&output).contains("mongodb://"), "{}", stderr(&output));
}
