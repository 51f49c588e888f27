//! The proxy from the operators' point of view: admin address, settings, limits, lists of users,
//! faces.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{fs, path::Path};

use assert_cmd::Command;
use bson::{Document, doc};
use docward_testkit::{Browser, Launch, Servers, mongodb::Client, wait_until};

use crate::{
    common::{code, docward, guard::Guard, stderr, stdout},
    guard::{ids, numbers},
};

const ADMIN: [&str; 2] = ["--admin", "127.0.0.1:0"];

fn ping(servers: &Servers, client: &Client) {
    servers.wait(async { client.database("admin").run_command(doc! { "ping": 1 }).await.unwrap() });
}

/// Inserts one document. Returns the error text if this is refused.
fn insert(servers: &Servers, client: &Client, namespace: (&str, &str)) -> Result<(), String> {
    let collection = client.database(namespace.0).collection::<Document>(namespace.1);
    let written = servers.wait(async { collection.insert_one(doc! { "n": 1 }).await });
    written.map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn px_5_operators_see_health_metrics_and_state() {
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    let client = servers.connect(&format!("{}&appName=web", guard.uri()));
    servers.insert("db_shop.t_order", numbers(10));
    ping(&servers, &client);
    ids(&servers, &client, ("db_shop", "t_order"));
    assert_eq!(guard.ask("GET", "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(guard.ask("GET", "/readyz").0, 200);
    let state = guard.state();
    assert!(state["clients"].as_u64().unwrap() >= 1, "{state}");
    let pool = &state["pools"][0];
    assert_eq!(pool["server"], format!("127.0.0.1:{}", servers.port(0)));
    assert!(pool["open"].as_u64().unwrap() >= 1 && pool["waiting"] == 0, "{state}");
    assert_eq!(state["applications"][0]["application"], "web");
    assert_eq!(state["hasPrimary"], true);
    assert!(state["addedMicros"]["count"].as_u64().unwrap() >= 2, "{state}");
    assert_eq!(state["refused"], serde_json::json!({}));
    let (status, metrics) = guard.ask("GET", "/metrics");
    assert_eq!(status, 200);
    for line in [
        "docward_guard_requests_total{class=\"Read\"} ",
        "docward_guard_pool_open{",
        "docward_guard_request_seconds_bucket{",
        "docward_guard_primary_known 1",
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert_eq!(guard.ask("GET", "/nothing").0, 404);
    assert_eq!(guard.ask("GET", "/drain").0, 405, "verbs are for POST");
    // A page of another site cannot make a browser on this machine send actions.
    for head in ["Origin: http://evil.example\r\n", "Host: evil.example\r\n"] {
        assert_eq!(guard.ask_with("POST", "/drain", head).0, 403, "{head}");
    }
    assert_eq!(guard.ask("POST", "/drain").0, 200);
    wait_until("it ends", || std::net::TcpStream::connect(guard.admin()).is_err());
}

#[test]
fn px_5_the_page_shows_pools_and_clients_in_a_browser() {
    let Some(browser) = Browser::start(1000, 900) else { return };
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    let client = servers.connect(&format!("{}&appName=web", guard.uri()));
    ping(&servers, &client);
    browser.visit(&format!("http://{}/", guard.admin()));
    browser.until("document.getElementById('status').textContent.startsWith('ready')");
    browser.until("document.getElementById('pools').textContent.includes('commands')");
    browser.until("document.getElementById('clients').textContent.includes('web')");
    browser.until("document.getElementById('servers').textContent.includes('primary')");
    guard.ask("POST", "/pause");
    browser.until("document.getElementById('status').textContent.includes('paused')");
    guard.ask("POST", "/resume");
    browser.resize(400, 800);
    browser.until("document.getElementById('status').textContent.startsWith('ready')");
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert_eq!(browser.value(fits), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn px_5_commands_wait_while_they_are_kept_back() {
    let servers = Launch::standalone().start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    let client = servers.connect(&guard.uri());
    ping(&servers, &client);
    let (status, answer) = guard.ask("POST", "/pause?within=60");
    assert_eq!((status, answer.contains("\"settled\":true")), (200, true), "{answer}");
    assert_eq!(guard.ask("GET", "/readyz").0, 503);
    std::thread::scope(|scope| {
        let written = scope.spawn(|| insert(&servers, &client, ("db_shop", "t_order")));
        wait_until("the insert waits", || guard.state()["held"] == 1);
        assert!(ids_direct(&servers).is_empty());
        guard.ask("POST", "/resume");
        written.join().unwrap().unwrap();
    });
    // The hold covers the writes of one namespace.
    let (status, answer) = guard.ask("POST", "/hold?namespace=db_shop.t_order&ttl=10");
    assert_eq!(status, 200, "{answer}");
    let hold: serde_json::Value = serde_json::from_str(&answer).unwrap();
    insert(&servers, &client, ("db_shop", "t_other")).unwrap();
    assert_eq!(ids(&servers, &client, ("db_shop", "t_empty")), Vec::<i32>::new(), "reads pass");
    std::thread::scope(|scope| {
        let written = scope.spawn(|| insert(&servers, &client, ("db_shop", "t_order")));
        wait_until("the insert waits, or the hold has expired", || {
            guard.state()["held"] == 1 || written.is_finished()
        });
        let (status, answer) = guard.ask("POST", &format!("/release?hold={}", hold["hold"]));
        assert_eq!(status, 200, "{answer}");
        written.join().unwrap().unwrap();
    });
    assert_eq!(ids_direct(&servers).len(), 2);
    for (path, expected) in [
        ("/hold", "namespace is missing"),
        ("/hold?namespace=a.b&ttl=99", "at most 10 seconds"),
        ("/hold?namespace=a.b&what=reads", "`writes` or `all`"),
        ("/release?hold=x", "the number of a hold"),
        ("/pause?within=soon", "a number of seconds"),
        ("/pause?within=1e19", "a number of seconds"),
    ] {
        let (status, answer) = guard.ask("POST", path);
        assert!(status == 400 && answer.contains(expected), "{path}: {status} {answer}");
    }
    assert_eq!(guard.ask("POST", "/release?hold=77").0, 404);
}

fn ids_direct(servers: &Servers) -> Vec<Document> {
    use futures_util::TryStreamExt;
    let collection = servers.client().database("db_shop").collection::<Document>("t_order");
    servers.wait(async { collection.find(doc! {}).await.unwrap().try_collect().await.unwrap() })
}

#[test]
fn px_4_when_a_client_leaves_its_reads_are_dropped_and_its_writes_are_sent() {
    use docward_wire::{Flags, message};
    use std::io::Write;
    let servers = Launch::standalone().start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    guard.ask("POST", "/pause");
    let send = |bodies: Vec<Document>, flags: u32| {
        let mut stream = std::net::TcpStream::connect(&guard.address).unwrap();
        for body in bodies {
            stream.write_all(&message(1, 0, Flags(flags), &body.to_vec().unwrap())).unwrap();
        }
        wait_until("the command waits", || guard.state()["held"] == 1);
    };
    send(vec![doc! { "find": "t_order", "$db": "db_shop" }], 0);
    wait_until("the read is dropped", || guard.state()["held"] == 0);
    let unacknowledged = |id: i32| {
        doc! {
            "insert": "t_order", "documents": [{ "_id": id }], "writeConcern": { "w": 0 }, "$db": "db_shop",
        }
    };
    send((0..5).map(unacknowledged).collect(), Flags::MORE_TO_COME);
    // The guard needs time to notice that the client has disconnected.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(guard.state()["held"], 1);
    guard.ask("POST", "/resume");
    wait_until("all writes are there", || ids_direct(&servers).len() == 5);
}

#[test]
fn px_4_a_commit_after_a_step_down_is_answered_by_the_new_primary() {
    let servers = Launch::replica_set(3).start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    let client = servers.connect(&guard.uri());
    let orders = client.database("db_shop").collection::<Document>("t_order");
    let mut session = servers.wait(async {
        client.database("db_shop").create_collection("t_order").await.unwrap();
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        orders.insert_one(doc! { "_id": 1 }).session(&mut session).await.unwrap();
        session
    });
    servers.step_down();
    let error = servers.wait(async { session.commit_transaction().await.unwrap_err() });
    assert!(error.contains_label("TransientTransactionError"), "{error}");
}

#[test]
fn px_4_a_transaction_of_a_listed_user_outlives_its_guard() {
    let servers = Launch::replica_set(1).start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.toml");
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["guard", "user", "app", "--database", "db_shop=readWrite"])
        .write_stdin("app-secret\n")
        .output()
        .unwrap();
    fs::write(&file, stdout(&output)).unwrap();
    let options = ["--auth", "list", "--users", &path(&file)];
    let guard = Guard::start(&servers.uri(), &options);
    let client = servers.connect(&guard.uri_as("app", "app-secret"));
    let orders = client.database("db_shop").collection::<Document>("t_order");
    let mut session = servers.wait(async {
        client.database("db_shop").create_collection("t_order").await.unwrap();
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        orders.insert_one(doc! { "_id": 1 }).session(&mut session).await.unwrap();
        session
    });
    let address = guard.address.clone();
    guard.signal("KILL");
    drop(guard);
    let more = [&options[..], &["--listen", &address]].concat();
    let _guard = Guard::start(&servers.uri(), &more);
    servers.wait(async { session.commit_transaction().await.unwrap() });
    assert_eq!(ids_direct(&servers).len(), 1);
}

#[test]
fn cm_1_cp_1_the_guard_leaves_a_fifth_of_the_connections_to_others() {
    let servers = Launch::standalone().argument("--maxConns").argument("50").start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    wait_until("the guard has asked the server for its limit", || {
        let limit = guard.state()["servers"][0]["maxConnections"].as_u64().unwrap();
        assert!(limit > 1, "others use few connections");
        limit <= 40
    });
}

#[test]
fn px_4_a_server_that_stops_answering_holds_nobody_up() {
    use std::io::{Read, Write};
    let mut servers = Launch::replica_set(1).start();
    let upstream = format!("{}&heartbeatFrequencyMS=500&connectTimeoutMS=1000", servers.uri());
    let guard = Guard::start(&upstream, &ADMIN);
    let client = servers.connect(&guard.uri());
    ping(&servers, &client);
    servers.pause(0);
    let body = doc! { "insert": "t_order", "documents": [{ "_id": 1 }], "$db": "db_shop" };
    let body = body.to_vec().unwrap();
    let frame = docward_wire::message(1, 0, docward_wire::Flags::default(), &body);
    let mut stream = std::net::TcpStream::connect(&guard.address).unwrap();
    stream.set_read_timeout(Some(docward_testkit::PATIENCE)).unwrap();
    stream.write_all(&frame).unwrap();
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).unwrap();
    let said = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(said.contains("HostUnreachable") || said.contains("FailedToSatisfy"), "{said}");
    servers.resume(0);
}

#[test]
fn px_4_limits_of_users_and_applications_hold_and_can_be_changed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docward.toml");
    let write = |limit: u32| {
        let text = format!(
            "[guard]\nmax-pool = 4\n[[guard.limit]]\napplication = \"etl*\"\noperations-per-second = {limit}\n"
        );
        fs::write(&file, text).unwrap();
    };
    write(1);
    let servers = Launch::standalone().start();
    let config = file.display().to_string();
    let guard = Guard::start(&servers.uri(), &[&ADMIN[..], &["--config", &config]].concat());
    let etl = servers.connect(&format!("{}&appName=etl-night&retryWrites=false", guard.uri()));
    let web = servers.connect(&format!("{}&appName=web", guard.uri()));
    let refused = |client: &Client| {
        let all: Vec<_> =
            (0..50).map(|_| insert(&servers, client, ("db_shop", "t_order"))).collect();
        all.into_iter().filter_map(Result::err).collect::<Vec<_>>()
    };
    let errors = refused(&etl);
    assert!(!errors.is_empty());
    for expected in ["462", "1 commands per second", "etl-night"] {
        assert!(errors[0].contains(expected), "{expected} is not in {}", errors[0]);
    }
    assert!(errors[0].contains("SystemOverloadedError"), "{}", errors[0]);
    assert_eq!(refused(&web), Vec::<String>::new());
    assert!(guard.state()["limited"].as_u64().unwrap() >= 1);
    // Invalid settings change nothing.
    fs::write(&file, "[guard]\nmax-pool = 0\n").unwrap();
    let (status, answer) = guard.ask("POST", "/reload");
    assert!(status == 422 && answer.contains("max-pool"), "{status} {answer}");
    assert_eq!(guard.state()["pools"][0]["max"], 4);
    write(1_000_000);
    guard.signal("HUP");
    wait_until("settings are read again", || refused(&etl).is_empty());
    fs::write(&file, "[guard]\nmax-pool = 7\n").unwrap();
    assert_eq!(guard.ask("POST", "/reload").0, 200);
    assert_eq!(guard.state()["pools"][0]["max"], 7);
}

#[test]
fn px_2_users_of_a_list_share_one_account() {
    let servers = Launch::standalone().auth().start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users.toml");
    let entry = |name: &str, rights: &str| {
        let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
            .args(["guard", "user", name, "--database", rights])
            .write_stdin(format!("{name}-secret\n"))
            .output()
            .unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let text = stdout(&output);
        assert!(text.contains("SCRAM-SHA-256$") && !text.contains("-secret"), "{text}");
        text
    };
    let text = entry("app", "db_shop=readWrite") + &entry("report", "db_*=read");
    fs::write(&file, &text).unwrap();
    let users = file.display().to_string();
    let guard = Guard::start(
        &servers.uri(),
        &["--auth", "list", "--users", &users, "--admin", "127.0.0.1:0"],
    );
    let app = servers.connect(&guard.uri_as("app", "app-secret"));
    let report = servers.connect(&guard.uri_as("report", "report-secret"));
    insert(&servers, &app, ("db_shop", "t_order")).unwrap();
    for (client, namespace) in
        [(&app, ("db_other", "t")), (&report, ("db_shop", "t_order")), (&report, ("admin", "t"))]
    {
        let error = insert(&servers, client, namespace).unwrap_err();
        assert!(error.contains("not authorized on"), "{error}");
    }
    let count = |client: &Client| {
        let orders = client.database("db_shop").collection::<Document>("t_order");
        servers.wait(async { orders.count_documents(doc! {}).await })
    };
    assert_eq!((count(&app).unwrap(), count(&report).unwrap()), (1, 1));
    let drop = servers.wait(async { app.database("db_shop").drop().await });
    assert!(drop.unwrap_err().to_string().contains("may not run dropDatabase"));
    let status = doc! { "connectionStatus": 1 };
    let status = servers.wait(async { app.database("db_shop").run_command(status).await.unwrap() });
    let own = status.get_document("authInfo").unwrap().get_array("authenticatedUsers").unwrap();
    assert_eq!(own[0].as_document().unwrap().get_str("user").unwrap(), "app");
    for (user, password) in [("app", "wrong"), ("nobody", "x")] {
        let error = count(&servers.connect(&guard.uri_as(user, password))).unwrap_err().to_string();
        assert!(error.contains("Authentication failed"), "{user}: {error}");
    }
    // To the server, all of them are the same account.
    let pools = guard.state()["pools"].as_array().unwrap().len();
    assert_eq!(pools, 1);
    // Revoked rights end at once, and so does the login of a removed user.
    fs::write(&file, text.replace("readWrite", "read")).unwrap();
    assert_eq!(guard.ask("POST", "/reload").0, 200);
    let error = insert(&servers, &app, ("db_shop", "t_order")).unwrap_err();
    assert!(error.contains("not authorized on"), "{error}");
    assert_eq!(count(&app).unwrap(), 1);
    fs::write(&file, entry("report", "db_*=read")).unwrap();
    assert_eq!(guard.ask("POST", "/reload").0, 200);
    assert!(count(&app).unwrap_err().to_string().contains("removed from the list"));
    let error =
        count(&servers.connect(&guard.uri_as("app", "app-secret"))).unwrap_err().to_string();
    assert!(error.contains("Authentication failed"), "{error}");
}

#[test]
fn px_2_se_7_a_certificate_is_a_login() {
    let servers = Launch::standalone().tls().auth().start();
    let certificates = servers.certificates().unwrap();
    let (own, authority) = (path(&certificates.server), path(&certificates.authority));
    let directory = tempfile::tempdir().unwrap();
    let users = directory.path().join("users.toml");
    let subject = &certificates.client_subject;
    let text =
        format!("[[user]]\nsubject = \"{subject}\"\ndatabases = {{ db_shop = \"readWrite\" }}\n");
    fs::write(&users, text).unwrap();
    let guard = Guard::start(
        &servers.uri(),
        &[
            "--tls-certificate",
            &own,
            "--tls-client-ca",
            &authority,
            "--auth",
            "list",
            "--users",
            &path(&users),
        ],
    );
    let uri = |client: &Path| {
        format!(
            "{}&tls=true&tlsCAFile={authority}&tlsCertificateKeyFile={}&authMechanism=MONGODB-X509&authSource=$external",
            guard.uri(),
            client.display()
        )
    };
    let client = servers.connect(&uri(&certificates.client));
    insert(&servers, &client, ("db_shop", "t_order")).unwrap();
    let error = insert(&servers, &client, ("db_other", "t")).unwrap_err();
    assert!(error.contains("not authorized on db_other"), "{error}");
    // A certificate from the same authority that is not listed.
    let other = servers.connect(&uri(&certificates.server));
    let error = insert(&servers, &other, ("db_shop", "t_order")).unwrap_err();
    assert!(error.contains("Authentication failed"), "{error}");
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn px_1_each_member_has_a_port_and_drivers_choose() {
    let servers = Launch::replica_set(3).start();
    let guard = Guard::start(&servers.uri(), &[&ADMIN[..], &["--face", "member"]].concat());
    let uri = format!("mongodb://{}/?replicaSet=rs0", guard.address);
    let client = servers.connect(&uri);
    let orders = client.database("db_shop").collection::<Document>("t_order");
    servers.wait(async { orders.insert_many(numbers(300)).await.unwrap() });
    let expected: Vec<i32> = (0..300).collect();
    assert_eq!(ids(&servers, &client, ("db_shop", "t_order")), expected);
    let hello = doc! { "hello": 1 };
    let hello = servers.wait(async { client.database("admin").run_command(hello).await.unwrap() });
    assert_eq!(hello.get_str("setName").unwrap(), "rs0");
    let hosts = hello.get_array("hosts").unwrap();
    assert_eq!(hosts.len(), 3, "{hello}");
    for host in hosts {
        let port: u16 = host.as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
        assert!((0..3).all(|member| servers.port(member) != port), "{host} is a server's own");
    }
    assert!(!hello.contains_key("msg"), "{hello}");
    servers.step_down();
    servers.wait(async { orders.insert_one(doc! { "_id": 300 }).await.unwrap() });
    assert_eq!(guard.state()["retries"], 0, "the driver itself found the new primary");
}

#[test]
fn px_1_a_socket_of_the_machine_is_an_address_too() {
    let servers = Launch::standalone().start();
    let socket = servers.directory().join("guard.sock");
    let guard = Guard::start(&servers.uri(), &["--listen", &path(&socket)]);
    assert_eq!(guard.address, path(&socket));
    let encoded = path(&socket).replace('/', "%2F");
    let client = servers.connect(&format!("mongodb://{encoded}/"));
    ping(&servers, &client);
    drop(client);
    let (code, said) = guard.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(!socket.exists(), "the socket is gone");
}

#[test]
fn cm_1_cp_1_users_share_the_connections_to_a_server() {
    let servers = Launch::standalone().auth().start();
    servers.insert("db_shop.t_order", numbers(3));
    let guard = Guard::start(
        &servers.uri(),
        &[&ADMIN[..], &["--max-server-connections", "3", "--max-pool", "3"]].concat(),
    );
    for user in ["ann", "bob", "eve", "kim", "joe"] {
        servers.create_user(user, vec![doc! { "role": "read", "db": "db_shop" }]);
        let client = servers.connect(&guard.uri_as(user, &format!("{user}-password")));
        assert_eq!(ids(&servers, &client, ("db_shop", "t_order")), [0, 1, 2], "{user}");
        let state = guard.state();
        let open: u64 =
            state["pools"].as_array().unwrap().iter().map(|p| p["open"].as_u64().unwrap()).sum();
        assert!(open <= 3, "{state}");
        assert!(state["servers"][0]["connections"].as_u64().unwrap() <= 3, "{state}");
    }
}

#[test]
fn px_1_drivers_are_told_that_it_ends() {
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &ADMIN);
    let other = Guard::start(&servers.uri(), &[]);
    let uri = format!("mongodb://{},{}/", guard.address, other.address);
    let client = servers.connect(&uri);
    // Clients with an open transaction or cursor may finish; the others use the other guard.
    for n in 0..20 {
        insert(&servers, &client, ("db_shop", "t_order")).unwrap();
        if n == 10 {
            guard.ask("POST", "/drain");
        }
    }
    assert_eq!(ids_direct(&servers).len(), 20);
}

#[test]
fn bad_settings_of_a_guard_are_told_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("docward.toml");
    let run = |text: &str, more: &[&str]| {
        fs::write(&file, text).unwrap();
        let config = file.display().to_string();
        let output = docward(&[&["guard", "--config", &config][..], more].concat());
        assert_eq!(code(&output), 2, "{text}");
        stderr(&output)
    };
    let upstream = ["--upstream", "mongodb://127.0.0.1:1/"];
    for (text, expected) in [
        (
            "[guard]\nfase = \"lb\"\n",
            "docward.toml:2:1: unknown key `fase` in `[guard]`; did you mean `face`?",
        ),
        (
            "[guard]\nface = \"rooter\"\n",
            "docward.toml:2:8: `face` cannot be `rooter`; did you mean `router`?",
        ),
        (
            "[guard]\nmax-pool = \"9\"\n",
            "must be a whole number, not a string; write `max-pool = 9`",
        ),
        ("[[guard.limit]]\nuser = \"[\"\n", "is not a pattern"),
        ("[guard]\nadmin = \"0.0.0.0:9\"\n", "must be a loopback address"),
        ("[guard]\nadvertise = \"db\"\n", "--advertise has no effect without --face member"),
        ("[guard]\nusers = \"u.toml\"\n", "u.toml"),
        ("[guard]\nlisten = \"here\"\n", "write HOST:PORT"),
        ("[guard]\nauth = \"list\"\n", "give --users FILE"),
        ("[guard]\nauth = \"list\"\nusers = \"none.toml\"\n", "none.toml"),
        ("[guard]\ntls-client-ca = \"ca.pem\"\n", "--tls-client-ca needs --tls-certificate"),
        ("[guard]\nface = \"member\"\nlisten = \"0.0.0.0:0\"\n", "could connect without a login"),
    ] {
        let said = run(text, &upstream);
        assert!(said.contains(expected), "{text}: {said}");
    }
    let users = directory.path().join("users.toml");
    for (text, expected) in [
        (
            "[[user]]\nname = \"app\"\n",
            "users.toml:1:1: `[[user]]` needs `name` and `password`, or `subject`",
        ),
        (
            "[[user]]\nname = \"app\"\npassword = \"plain\"\ndatabases = { d = \"read\" }\n",
            "is not a SCRAM-SHA-256 verifier",
        ),
        ("[[user]]\nsubject = \"CN=x\"\ndatabases = { d = \"write\" }\n", "`d` cannot be `write`"),
        ("[[users]]\n", "unknown key `users`"),
    ] {
        fs::write(&users, text).unwrap();
        let said = run("[guard]\nauth = \"list\"\nusers = \"users.toml\"\n", &upstream);
        assert!(said.contains(expected), "{text}: {said}");
    }
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["guard", "user", "app", "--database", "d=all"])
        .write_stdin("x\n")
        .output()
        .unwrap();
    assert!(stderr(&output).contains("write NAME=read or NAME=readWrite"));
}
