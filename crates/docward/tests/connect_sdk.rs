//! Compiles and runs generated clients. Each writes a numbered stream to a replica set whose
//! primary steps down, and no acknowledged write may be lost.
//!
//! `scripts/clients.py` lists the available drivers. A missing language is skipped with a message,
//! unless `DOCWARD_REQUIRE_CLIENTS` names it.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

#[path = "../../../examples/clients/mongo_client.rs"]
#[allow(dead_code, unreachable_pub, reason = "as it is generated")]
mod mongo_client;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
    sync::{Mutex, MutexGuard, OnceLock},
    time::{Duration, Instant},
};

use crate::common::{code, docward, driver, root, stderr, stdout};
use bson::{Document, doc};
use docward_testkit::{Launch, PATIENCE, Servers};

/// The number of writes in a stream, and the write after which the primary steps down. The programs
/// wait for a line of input before the last hundred writes. The test sends it when there is a new
/// primary.
const WRITES: usize = 800;
const STEP_DOWN_AT: usize = 200;

/// One replica set for all languages, used by one language at a time.
struct Stage {
    servers: Servers,
    user: String,
    password: String,
}

fn stage() -> MutexGuard<'static, Stage> {
    static STAGE: OnceLock<Mutex<Stage>> = OnceLock::new();
    let stage = STAGE.get_or_init(|| {
        let servers = Launch::replica_set(3).auth().start();
        let roles = bson::bson!([{ "role": "readWriteAnyDatabase", "db": "admin" }]);
        let user = servers.create_user("client", roles);
        let (user, password) = user.split_once(':').unwrap();
        let (user, password) = (user.to_owned(), password.to_owned());
        Mutex::new(Stage { servers, user, password })
    });
    // A failed language must not affect the next one.
    stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Stage {
    fn hosts(&self) -> String {
        let ports = (0..self.servers.len()).map(|member| self.servers.port(member));
        ports.map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
    }

    fn replica_set(&self) -> String {
        let uri = self.servers.uri();
        let (_, rest) = uri.split_once("replicaSet=").unwrap();
        rest.split('&').next().unwrap().to_owned()
    }

    fn settings(&self) -> [(&'static str, String); 5] {
        [
            ("MONGODB_USER", self.user.clone()),
            ("MONGODB_PASSWORD", self.password.clone()),
            ("MONGODB_HOSTS", self.hosts()),
            ("MONGODB_REPLICA_SET", self.replica_set()),
            ("MONGODB_TLS", "false".to_owned()),
        ]
    }

    /// Returns the numbers in a collection.
    fn numbers(&self, collection: &str) -> BTreeSet<i64> {
        let numbers = self.servers.client().database("db_sdk").collection::<Document>(collection);
        self.servers.wait(async {
            let mut found = BTreeSet::new();
            let mut cursor = numbers.find(doc! {}).await.unwrap();
            while cursor.advance().await.unwrap() {
                let document = cursor.deserialize_current().unwrap();
                let id = document.get("_id").unwrap();
                found.insert(id.as_i64().or(id.as_i32().map(i64::from)).unwrap());
            }
            found
        })
    }
}

/// A port on which no process listens.
const DEAD_HOST: &str = "127.0.0.1:1";

/// Writes the generated client for these `sdk` arguments to a directory.
fn generated(arguments: &[&str], into: &Path) {
    fs::create_dir_all(into).unwrap();
    let mut all = vec!["connect", "sdk", "--class", "core", "--app-name", "example"];
    all.extend(arguments);
    let into = format!("{}/", into.display());
    all.extend(["--output", into.as_str()]);
    let output = docward(&all);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

fn harness(name: &str, into: &Path) {
    fs::copy(root().join("crates/docward/tests/clients").join(name), into.join(name)).unwrap();
}

fn ok(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}: {told}");
    output
}

/// Without a server, the health check must fail within its limit of 1500 ms and throw nothing.
fn refuses_a_dead_port(command: impl Fn() -> Command) {
    let took = || {
        let output = ok(command()
            .arg("dead")
            .env("MONGODB_USER", "nobody")
            .env("MONGODB_PASSWORD", "p:/?#[]@ %+")
            .env("MONGODB_HOSTS", DEAD_HOST)
            .env("MONGODB_TLS", "false"));
        let text = String::from_utf8(output.stdout).unwrap();
        let line = text.lines().find(|line| line.starts_with("health ")).unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[..2], ["health", "false"], "{text}");
        words[2].parse::<u64>().unwrap()
    };
    // A client that waits for the driver needs five seconds every time. A busy machine does not
    // cause this every time.
    let all: Vec<u64> = (0..10).map(|_| took()).take_while(|took| *took >= 3_000).collect();
    assert!(all.len() < 10, "{all:?} ms");
}

/// Writes a stream during a step-down and compares the acknowledged writes with the stored
/// documents.
fn loses_nothing(language: &str, command: impl Fn() -> Command) {
    let stage = stage();
    let collection = format!("t_{language}");
    let mut child = command()
        .args(["stream", "db_sdk", &collection, &WRITES.to_string()])
        .envs(stage.settings())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut orders = child.stdin.take().unwrap();
    let (mut acknowledged, mut health, mut done) = (BTreeSet::new(), Vec::new(), None);
    std::thread::scope(|scope| {
        let stage = &*stage;
        // The closure owns its end of the pipe, so that the program continues even if this test
        // fails.
        let mut go_on = Some(move || {
            stage.servers.step_down();
            writeln!(orders, "go on").unwrap();
        });
        for line in lines {
            let line = line.unwrap();
            if let Some(n) = line.strip_prefix("ack ") {
                acknowledged.insert(n.parse::<i64>().unwrap());
                if acknowledged.len() == STEP_DOWN_AT {
                    scope.spawn(go_on.take().unwrap());
                }
            } else if let Some(word) = line.strip_prefix("health ") {
                health.push(word.to_owned());
            } else if let Some(retried) = line.strip_prefix("done ") {
                done = Some(retried.to_owned());
            }
        }
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(health, ["true", "true"], "before and after");
    assert_eq!(acknowledged.len(), WRITES);
    let there = stage.numbers(&collection);
    let lost: Vec<&i64> = acknowledged.difference(&there).collect();
    let retried = done.unwrap();
    eprintln!(
        "{language}: {} of {WRITES} acknowledged writes lost, {retried} retried by the program",
        lost.len()
    );
    assert!(lost.is_empty(), "{language}: {lost:?}");
    assert_eq!(there.len(), WRITES, "and nothing was written twice");
}

#[test]
fn sdk_all_1_sdk_all_2_examples_are_what_the_command_writes() {
    let fresh = tempfile::tempdir().unwrap();
    for language in ["python", "java", "node", "rust"] {
        generated(&["--lang", language], fresh.path());
    }
    for version in ["1", "2"] {
        let arguments = ["--lang", "go", "--go-version", version];
        generated(&arguments, &fresh.path().join(format!("go-v{version}")));
    }
    for file in [
        "mongo_client.py",
        "MongoConnection.java",
        "mongoClient.mjs",
        "mongo_client.rs",
        "go-v1/mongoclient.go",
        "go-v2/mongoclient.go",
    ] {
        let kept = fs::read_to_string(root().join("examples/clients").join(file)).unwrap();
        let written = fs::read_to_string(fresh.path().join(file)).unwrap();
        assert_eq!(
            kept, written,
            "examples/clients/{file}: write it again with `docward connect sdk`"
        );
    }
}

fn python(driver: &Path, directory: &Path) -> Command {
    let mut command = Command::new("python3");
    let path = format!("{}:{}", driver.display(), directory.display());
    command.env("PYTHONPATH", path).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[test]
fn sdk_py_1_sdk_py_2_sdk_py_3_sdk_py_4_sdk_py_5_sdk_all_3_sdk_all_4_python() {
    let Some(driver) = driver("python") else { return };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    generated(&["--lang", "python"], here);
    harness("stream.py", here);
    let command = || {
        let mut command = python(&driver, here);
        command.arg(here.join("stream.py"));
        command
    };
    refuses_a_dead_port(command);
    loses_nothing("python", command);
}

#[test]
fn pf_2_pf_5_mongos_share_the_pool() {
    let client = |more: &[&str]| {
        let mut all = vec!["connect", "sdk", "--lang", "python", "--class", "general"];
        all.extend(more);
        let output = docward(&all);
        (stdout(&output), stderr(&output))
    };
    let (text, notes) = client(&["--method", "srv", "--mongos", "16"]);
    assert!(text.contains("\"maxPoolSize\": 10,"), "{text}");
    assert!(text.contains("# For each of 16 mongos: up to 160 connections"), "{text}");
    assert!(notes.is_empty(), "{notes}");
    let (text, notes) = client(&["--method", "all-mongos"]);
    assert!(text.contains("\"maxPoolSize\": 150,") && text.contains("# For each mongos"), "{text}");
    assert!(notes.contains("a pool of 150 connections for each router"), "{notes}");
    let (text, notes) = client(&["--method", "replica-set", "--mongos", "16"]);
    assert!(text.contains("\"maxPoolSize\": 150,") && notes.is_empty(), "{text}{notes}");
}

#[test]
fn sdk_py_1_the_samples_own_idiom_is_refused_and_ours_is_not() {
    let Some(driver) = driver("python") else { return };
    let directory = tempfile::tempdir().unwrap();
    generated(&["--lang", "python", "--read-preference", "secondaryPreferred"], directory.path());
    let script = "\
import pymongo
from pymongo import MongoClient, ReadPreference
try:
    MongoClient('mongodb://h/', connect=False, readPreference=ReadPreference.SECONDARY_PREFERRED)
    raise SystemExit('the idiom of the samples was accepted')
except ValueError:
    pass
import mongo_client
wanted = {'maxPoolSize': 150, 'minPoolSize': 10, 'maxIdleTimeMS': 120000, 'waitQueueTimeoutMS': 5000,
          'connectTimeoutMS': 10000, 'serverSelectionTimeoutMS': 5000, 'retryWrites': True, 'retryReads': True,
          'w': 'majority', 'readPreference': 'secondaryPreferred', 'authSource': 'admin'}
assert wanted.items() <= mongo_client.OPTIONS.items(), mongo_client.OPTIONS
for connect in (mongo_client.connect_replica_set, mongo_client.connect_load_balancer,
                mongo_client.connect_all_mongos):
    client = connect()
    assert client.read_preference == ReadPreference.SECONDARY_PREFERRED
    assert client.options.pool_options.max_pool_size == 150
    assert client.options.pool_options.wait_queue_timeout == 5
    assert client.write_concern.document == {'w': 'majority'}
    assert client.options.retry_writes and client.options.retry_reads
    client.close()
print('constructed')
";
    let output = ok(python(&driver, directory.path())
        .args(["-c", script])
        .env("MONGODB_USER", "u ser")
        .env("MONGODB_PASSWORD", "p:/?#[]@ %+")
        .env("MONGODB_HOSTS", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3")
        .env("MONGODB_REPLICA_SET", "rs0"));
    assert!(stdout(&output).contains("constructed"));
}

#[test]
fn sdk_nd_1_sdk_nd_2_sdk_all_3_sdk_all_4_node() {
    let Some(driver) = driver("node") else { return };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    generated(&["--lang", "node"], here);
    harness("stream.mjs", here);
    std::os::unix::fs::symlink(driver.join("node_modules"), here.join("node_modules")).unwrap();
    let command = || {
        let mut command = Command::new("node");
        command.arg(here.join("stream.mjs"));
        command
    };
    refuses_a_dead_port(command);
    loses_nothing("node", command);
}

#[test]
fn sdk_jv_1_sdk_jv_2_sdk_all_3_sdk_all_4_java() {
    let Some(driver) = driver("java") else { return };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    generated(&["--lang", "java"], here);
    harness("Stream.java", here);
    let path = format!("{}/*:{}", driver.display(), here.display());
    ok(Command::new("javac")
        .args(["-encoding", "UTF-8", "-cp", &path])
        .args([here.join("MongoConnection.java"), here.join("Stream.java")]));
    let command = || {
        let mut command = Command::new("java");
        command.args(["-cp", &path, "Stream"]);
        command
    };
    refuses_a_dead_port(command);
    loses_nothing("java", command);
}

#[test]
fn sdk_go_1_sdk_go_2_sdk_go_3_sdk_all_3_sdk_all_4_go() {
    let Some(driver) = driver("go") else { return };
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source = here.join("src/example");
    generated(&["--lang", "go", "--go-version", "1"], &source.join("mongoclient"));
    fs::create_dir_all(source.join("stream")).unwrap();
    harness("stream.go", &source.join("stream"));
    let program = here.join("stream");
    let path = format!("{}:{}", here.display(), driver.display());
    ok(Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg("example/stream")
        .current_dir(here)
        .env("GO111MODULE", "off")
        .env("GOFLAGS", "")
        .env("GOPATH", path));
    let command = || Command::new(&program);
    refuses_a_dead_port(command);
    loses_nothing("go", command);
}

/// The Rust client is part of this program. The test starts this program again, because the client
/// reads the environment.
#[test]
fn sdk_all_3_sdk_all_4_rust() {
    let this = std::env::current_exe().unwrap();
    let command = || {
        let mut command = Command::new(&this);
        command.args([
            "--ignored",
            "--exact",
            "--nocapture",
            "connect_sdk::rust_stream",
            "--test-threads=1",
            "--",
        ]);
        command
    };
    // The test harness accepts no arguments, so they are passed in the environment.
    let with = |words: &str| {
        let mut command = command();
        command.env("DOCWARD_RUST_STREAM", words);
        command
    };
    refuses_a_dead_port(|| with("dead"));
    loses_nothing("rust", || with(&format!("stream db_sdk t_rust {WRITES}")));
}

/// The test above runs this one in a separate process.
#[test]
#[ignore = "started by sdk_all_3_sdk_all_4_rust"]
#[expect(clippy::print_stdout, reason = "what it says is read by the other process")]
fn rust_stream() {
    let Ok(words) = std::env::var("DOCWARD_RUST_STREAM") else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if words == "dead" {
            let client = mongo_client::connect_load_balancer().await.unwrap();
            let timeout = Duration::from_millis(1500);
            let start = Instant::now();
            let healthy = mongo_client::check_connection(&client, timeout).await;
            println!("\nhealth {healthy} {}", start.elapsed().as_millis());
            return;
        }
        let client = mongo_client::shared().await.unwrap();
        let healthy = mongo_client::check_connection(&client, mongo_client::HEALTH_TIMEOUT).await;
        println!("\nhealth {healthy}");
        let numbers = client.database("db_sdk").collection::<Document>("t_rust");
        let mut retried = 0;
        for n in 0..i64::try_from(WRITES).unwrap() {
            if n == i64::try_from(WRITES).unwrap() - 100 {
                std::io::stdin().read_line(&mut String::new()).unwrap();
            }
            let until = Instant::now() + PATIENCE;
            loop {
                let write = numbers.insert_one(doc! { "_id": n }).into_future();
                match tokio::time::timeout(mongo_client::OPERATION_TIMEOUT, write).await {
                    Ok(Ok(_)) => break,
                    // The document was written before the connection was lost.
                    Ok(Err(error)) if error.to_string().contains("E11000") => break,
                    _ => {
                        retried += 1;
                        assert!(Instant::now() < until, "{n} could not be written");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
            println!("ack {n}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let healthy = mongo_client::check_connection(&client, mongo_client::HEALTH_TIMEOUT).await;
        println!("health {healthy}");
        drop((numbers, client));
        mongo_client::close_shared().await;
        mongo_client::close_shared().await;
        println!("done {retried}");
    });
}
