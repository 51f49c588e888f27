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
    "mongodb://ann:Wombat77%2@127.0.0.1:1/?serverSelectionTimeoutMS=10",
    "mongo://ann:Wombat77@h",
    "MONGODB://ann:Wombat77@h",
    "https://ann:Wombat77@h",
    "jdbc:mongodb://ann:Wombat77@h",
    "'mongodb://ann:Wombat77@h'",
    "\"mongodb://ann:Wombat77@h\"",
    " mongodb://ann:Wombat77@h",
    "mongodb://ann:Wombat77/host",
    "mongodb://ann:Wombat77;host",
    "mongodb://ann:Wombat77",
    "mongodb://ann:Wombat77@",
    "mongodb:/ann:Wombat77@h",
    "mongodb:ann:Wombat77@h",
    "mongodb//ann:Wombat77@h",
    "mongodb:///ann:Wombat77@h",
    "ann:Wombat77@h:27017",
    "ann:Wombat77@",
    "ann:x Wombat77@h:27017",
    "mongo://ann:x'Wombat77@h",
    "mongodb+srv://ann:Wombat77@h:1,g",
    "mongodb://ann:%zzWombat77@h/",
    "mongodb://ann:p@Wombat77@h/",
    "mongodb://ann:p/Wombat77@h/",
    "mongodb://ann:p?Wombat77@h/",
    "mongodb://ann:p#Wombat77@h/",
    "mongodb://ann:p:Wombat77@h/",
    "mongodb://ann:p Wombat77@h/",
    "mongodb://:Wombat77@127.0.0.1:1/?serverSelectionTimeoutMS=10",
    "mongodb://ann:Wombat77@h:99999/",
    "mongodb://ann:Wombat77@,h/db",
    "mongodb://ann%3AWombat77@127.0.0.1:1/?serverSelectionTimeoutMS=10",
    "mongodb://ann:Wombat77@h/?authMechanism=NOPE",
    "mongodb://h:1,g/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:Wombat77",
    "mongodb://127.0.0.1:1/?authMechanismProperties=Wombat77",
    "mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=/no.pem&tlsCertificateKeyFilePassword=Wombat77",
    "mongodb://127.0.0.1:1/?proxyHost=p&proxyUsername=u&proxyPassword=Wombat77&serverSelectionTimeoutMS=10",
    "MONGODB_URI=mongodb://ann:Wombat77@h",
    "mongodb://ann:Wombat77@127.0.0.1:1,mongodb://g",
    "host=h user=ann password=Wombat77",
];

/// Texts in the environment that are no connection strings. Docward repeats nothing of them.
const CONTENT: &[&str] = &["-u ann -p Wombat77 --host h", "mongosh h -u ann -p Wombat77"];

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
    "audit one.json --client-uri @ --select S001",
    "audit one.json --client-uri @ --format sarif --output %",
    "audit one.json --client-uri @ --format html --output %",
    "audit one.json --client-uri @ --save-evidence %",
    "init @ --output -",
    "schema rollback @",
    "schema rollback undo.json @",
    "design init --from @ --output -",
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

/// Commands that read the variable, files with connection strings, or settings. `@` in a file is
/// the string.
const READERS: &[(&str, &str, &str)] = &[
    ("", "", "audit"),
    ("", "", "audit --format json"),
    ("", "", "checklist"),
    ("", "", "shardkey"),
    ("", "", "init --output -"),
    ("", "", "schema infer"),
    ("", "", "schema check s.json"),
    ("", "", "schema apply --schema s.json --namespace a.b"),
    ("uris.txt", "@\n", "connect check --file uris.txt"),
    ("uris.txt", "@\n", "connect check --file uris.txt --format json"),
    (".env", "MONGODB_URI=@\n", "lint . --verbose"),
    ("application.yml", "spring:\n  data:\n    mongodb:\n      uri: @\n", "lint . --format sarif"),
    (
        "app.js",
        "const { MongoClient } = require(\"mongodb\");\nnew MongoClient(`@`);\n",
        "lint app.js --verbose",
    ),
    ("docward.toml", "[[service]]\nname = 'a'\nuri = '''@'''\n", "audit one.json --select S"),
    ("docward.toml", "[[service]]\nname = '''@'''\n", "connect plan"),
    ("docward.toml", "[guard]\nupstream = '''@'''\nlisten = 'x'\n", "guard"),
    ("undo.json", "@", "schema rollback undo.json mongodb://127.0.0.1:1"),
];

#[test]
fn sc_7_passwords_in_the_environment_and_in_files_are_not_repeated() {
    for (file, content, command) in READERS {
        for form in FORMS.iter().chain(CONTENT) {
            // In files, these are the words of other tools.
            let is_other = CONTENT.contains(form) || form.starts_with("host=");
            if is_other && !file.is_empty() {
                continue;
            }
            let folder = TempDir::new().unwrap();
            fs::write(folder.path().join("one.json"), "{\"_id\": 1}\n").unwrap();
            fs::write(folder.path().join("s.json"), "{\"required\": [\"a\"]}\n").unwrap();
            let mut docward = Command::cargo_bin("docward").unwrap();
            docward.args(command.split(' ')).current_dir(folder.path());
            if file.is_empty() {
                docward.env("MONGODB_URI", form);
            } else {
                fs::write(folder.path().join(file), content.replace('@', form)).unwrap();
            }
            let output = docward.output().unwrap();
            for text in [stdout(&output), stderr(&output)] {
                assert!(!text.contains(SECRET), "{command}, {file} with {form}:\n{text}");
            }
        }
    }
}

/// Commands that connect. `@` stands for the connection string.
const CONNECTING: &[&str] = &[
    "audit @ --output out",
    "audit @ --format html=out",
    "audit @ --save-evidence out",
    "audit @ --emit-fixes out",
    "checklist @ --output out",
    "shardkey @ --output out",
    "schema infer @ --output out",
    "schema check s.json @ --collection a.b --output out",
    "schema diff s.json @ --namespace a.b --output out",
    "schema diff s.json s.json --data @ --namespace a.b --output out",
    "schema apply @ --schema s.json --namespace a.b --output out",
    "design init --from @ --force --output out",
    "design check blog.yaml @ --output out",
    "design simulate blog.yaml --server @ --output out",
    "init @ --force --output out",
];

#[test]
fn sc_7_a_server_that_cannot_be_used_is_the_only_message() {
    let with_users = docward_testkit::Launch::standalone().auth().start();
    let with_tls = docward_testkit::Launch::standalone().tls().start();
    let (port, tls) = (with_users.port(0), with_tls.port(0));
    for uri in [
        "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300".to_owned(),
        format!("mongodb://admin:Wombat77@127.0.0.1:{port}/"),
        format!("mongodb://127.0.0.1:{tls}/?tls=true&serverSelectionTimeoutMS=1000"),
    ] {
        for command in CONNECTING {
            let folder = TempDir::new().unwrap();
            let file = folder.path().join("out");
            fs::write(&file, "earlier").unwrap();
            fs::write(folder.path().join("s.json"), "{\"required\": [\"a\"]}\n").unwrap();
            let model = folder.path().join("blog.yaml");
            fs::copy(root().join("examples/models/blog.yaml"), model).unwrap();
            let output = Command::cargo_bin("docward")
                .unwrap()
                .args(command.split(' ').map(|word| word.replace('@', &uri)))
                .current_dir(folder.path())
                .output()
                .unwrap();
            let told = stderr(&output);
            assert_eq!(code(&output), 2, "{command}: {told}");
            assert!(told.starts_with("error: "), "{command} {uri}: {told}");
            assert_eq!(stdout(&output), "", "{command}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "earlier", "{command}");
            assert!(!told.contains(SECRET), "{told}");
        }
    }
}

#[test]
fn sc_7_what_is_wrong_with_a_source_is_said() {
    for (source, expected) in [
        ("mongo://ann:Wombat77@h", "the scheme is `mongo://`; write `mongodb://`"),
        ("'mongodb://ann:Wombat77@h'", "has quotes around it; remove them"),
        (" mongodb://ann:Wombat77@h", "has blanks before or after it"),
        ("mongodb:/ann:Wombat77@h", "slashes are missing in the scheme; write `mongodb://`"),
        ("ann:Wombat77@h:27017", "a login without a scheme"),
        ("localhost:27017", "to name a server, write mongodb://localhost:27017"),
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
