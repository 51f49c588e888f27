//! Tests of the kit itself: every kind of deployment starts, supports the operations of tests, and
//! is removed afterwards.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use bson::{Bson, doc};
use docward_testkit::{Launch, PATIENCE, wait_for, wait_until};

fn is_listening(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[test]
fn a_standalone_server_comes_and_goes() {
    let mut servers = Launch::standalone().start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }, doc! { "_id": 2 }]);
    let count = servers.command("db_shop", doc! { "count": "t_order" });
    assert_eq!(count.get_i32("n").ok(), Some(2));

    servers.kill(0);
    assert!(!is_listening(servers.port(0)));
    servers.restart(0);
    servers.pause(0);
    servers.resume(0);
    assert!(servers.try_command("admin", doc! { "ping": 1 }).is_ok());

    let port = servers.port(0);
    drop(servers);
    assert!(!is_listening(port));
}

/// One test, because tests of this process run side by side and share what is idle.
#[test]
fn shared_servers_are_empty_and_unchanged_for_the_next_test() {
    let start = || Launch::replica_set(1).shared().start();
    let servers = start();
    let port = servers.port(0);
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    servers.insert("admin.t_left", [doc! { "_id": 1 }]);
    servers.command("local", doc! { "create": "t_left" });
    servers.create_user("reader", ["readAnyDatabase"]);
    let user = doc! { "createUser": "app", "pwd": "secret", "roles": ["read"] };
    servers.command("db_gone", user);
    let role = doc! { "createRole": "lists", "privileges": [], "roles": [] };
    servers.command("admin", role);
    drop(servers);

    let servers = start();
    assert_eq!(servers.port(0), port, "the next test uses the same server");
    let count = |database: &str, collection: &str| {
        servers.command(database, doc! { "count": collection }).get_i32("n").unwrap()
    };
    for (database, collection) in [
        ("db_shop", "t_order"),
        ("admin", "t_left"),
        ("admin", "system.users"),
        ("admin", "system.roles"),
    ] {
        assert_eq!(count(database, collection), 0, "{database}.{collection}");
    }
    // The collection in `local` would exist.
    servers.command("local", doc! { "create": "t_left" });
    // A server with other settings is not for the next test.
    servers.command("admin", doc! { "setParameter": 1, "internalQueryMaxAddToSetBytes": 1000 });
    drop(servers);
    assert!(!is_listening(port));

    let servers = start();
    let port = servers.port(0);
    servers.command("admin", doc! { "profile": 0, "slowms": 5 });
    drop(servers);
    assert!(!is_listening(port));
}

#[test]
fn a_panic_takes_the_server_along() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let outcome = std::thread::spawn(move || {
        let servers = Launch::standalone().start();
        sender.send(servers.port(0)).unwrap();
        panic!("on purpose");
    })
    .join();
    assert!(outcome.is_err());
    assert!(!is_listening(receiver.recv().unwrap()));
}

/// Run by the next test in its own process.
#[test]
#[ignore = "starts a server and waits to be killed; the next test runs it"]
fn waits_to_be_killed() {
    let servers = Launch::standalone().start();
    std::fs::write(std::env::var("DOCWARD_PORT_FILE").unwrap(), servers.port(0).to_string())
        .unwrap();
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_killed_test_takes_the_server_along() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("port");
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "waits_to_be_killed"])
        .env("DOCWARD_PORT_FILE", &file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let port = wait_for("the other test names no port", || {
        std::fs::read_to_string(&file).ok()?.parse::<u16>().ok()
    });
    assert!(is_listening(port));
    // After SIGKILL no code in that process runs any more.
    test.kill().unwrap();
    test.wait().unwrap();
    wait_until("the server outlives its test", || !is_listening(port));
}

#[test]
fn a_command_that_is_held_up_is_waited_for() {
    let servers = Launch::standalone().fail_points().start();
    let only = doc! { "appName": "docward", "namespace": "db_shop.t_order" };
    let blocked = servers.block(0, &["find"], doc! { "times": 1 }, only);
    let asked = servers.connect(&format!("{}appName=docward", servers.uri())).database("db_shop");
    let find = |collection: &str| asked.run_command(doc! { "find": collection }).into_future();
    servers.wait(find("t_other")).unwrap();
    std::thread::scope(|scope| {
        let held_up = scope.spawn(|| servers.wait(find("t_order")));
        blocked.wait_until_hit();
        assert!(!held_up.is_finished());
        // Only one command was blocked: the next one is not.
        servers.wait(find("t_order")).unwrap();
        blocked.release();
        assert!(held_up.join().unwrap().is_err(), "it was ended");
    });
}

#[test]
fn a_replica_set_with_everything_survives_its_primary() {
    let mut servers = Launch::replica_set(3).auth().tls().fail_points().start();
    servers.insert("db_shop.t_order", [doc! { "_id": 1 }]);
    assert!(servers.certificates().is_some_and(|c| Path::new(&c.client).exists()));

    let nobody = servers.connect(&servers.uri_as(None));
    let refused = servers.wait(nobody.list_database_names().into_future());
    assert!(refused.is_err(), "access control is on");

    let before = servers.primary();
    {
        let _point = servers.fail_point(
            before,
            doc! { "times": 1 },
            doc! { "failCommands": ["count"], "errorCode": 13 },
        );
        let database = servers.connect(&servers.uri_of(before)).database("db_shop");
        let count = || database.run_command(doc! { "count": "t_order" });
        assert!(servers.wait(count().into_future()).is_err());
        assert!(servers.wait(count().into_future()).is_ok());
    }

    let after = servers.step_down();
    assert_ne!(before, after);
    servers.kill(after);
    let last = servers.primary();
    assert_ne!(last, after);
    let found = servers.command("db_shop", doc! { "count": "t_order" });
    assert_eq!(found.get("n"), Some(&Bson::Int32(1)));
}
