//! Tests the proxy with the real binary, a real driver and real servers.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    future::IntoFuture,
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::Duration,
};

use bson::{Document, doc};
use docward_testkit::{Launch, Servers, mongodb::Client, wait_until};

use crate::common::{code, docward, guard::Guard, stderr};

pub(crate) fn numbers(count: i32) -> impl Iterator<Item = Document> {
    (0..count).map(|n| doc! { "_id": n, "text": "x".repeat(100) })
}

/// Returns the `_id`s of a collection, fetched in small batches.
pub(crate) fn ids(servers: &Servers, client: &Client, namespace: (&str, &str)) -> Vec<i32> {
    use futures_util::TryStreamExt;
    let collection = client.database(namespace.0).collection::<Document>(namespace.1);
    servers.wait(async {
        let cursor = collection.find(doc! {}).sort(doc! { "_id": 1 }).batch_size(70).await.unwrap();
        let all: Vec<Document> = cursor.try_collect().await.unwrap();
        all.iter().map(|document| document.get_i32("_id").unwrap()).collect()
    })
}

fn connections(servers: &Servers) -> i32 {
    let status = servers.command("admin", doc! { "serverStatus": 1 });
    status.get_document("connections").unwrap().get_i32("current").unwrap()
}

#[test]
fn px_1_px_3_documents_and_cursors_come_through() {
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let client = servers.connect(&guard.uri());
    let orders = client.database("db_shop").collection::<Document>("t_order");
    servers.wait(async { orders.insert_many(numbers(1000)).await.unwrap() });
    let expected: Vec<i32> = (0..1000).collect();
    assert_eq!(ids(&servers, &client, ("db_shop", "t_order")), expected);
    assert_eq!(ids(&servers, servers.client(), ("db_shop", "t_order")), expected);
    servers.wait(async {
        let changed =
            orders.update_many(doc! { "_id": { "$lt": 10 } }, doc! { "$set": { "n": 1 } });
        assert_eq!(changed.await.unwrap().modified_count, 10);
        let found = orders.find_one_and_update(doc! { "_id": 3 }, doc! { "$inc": { "n": 1 } });
        assert_eq!(found.await.unwrap().unwrap().get_i32("n").unwrap(), 1);
        assert_eq!(orders.count_documents(doc! { "n": 1 }).await.unwrap(), 9);
        assert_eq!(orders.distinct("n", doc! {}).await.unwrap().len(), 2);
        assert_eq!(orders.delete_one(doc! { "_id": 0 }).await.unwrap().deleted_count, 1);
        let names = client.database("db_shop").list_collection_names().await.unwrap();
        assert_eq!(names, ["t_order"]);
        // A duplicate key is an error of the server.
        let error = orders.insert_one(doc! { "_id": 3 }).await.unwrap_err();
        assert!(error.to_string().contains("E11000"), "{error}");
        // Abandoning a cursor closes it on the server.
        let cursor = orders.find(doc! {}).batch_size(5).await.unwrap();
        drop(cursor);
    });
    let open = || {
        let status = servers.command("admin", doc! { "serverStatus": 1 });
        let cursors = status.get_document("metrics").unwrap().get_document("cursor").unwrap();
        cursors.get_document("open").unwrap().get_i64("total").unwrap()
    };
    wait_until("the cursor is closed", || open() == 0);
}

#[test]
fn px_1_cn_03_1_many_clients_share_few_connections() {
    let servers = Launch::standalone().start();
    let guard = Guard::start(&servers.uri(), &["--max-pool", "4"]);
    servers.insert("db_shop.t_order", numbers(10));
    let before = connections(&servers);
    let clients: Vec<Client> = (0..40).map(|_| servers.connect(&guard.uri())).collect();
    servers.wait(async {
        let mut all = Vec::new();
        for client in &clients {
            for n in 0..5 {
                let orders = client.database("db_shop").collection::<Document>("t_order");
                all.push(tokio::spawn(async move { orders.find_one(doc! { "_id": n }).await }));
            }
        }
        for task in all {
            assert!(task.await.unwrap().unwrap().is_some());
        }
    });
    let opened = connections(&servers) - before;
    assert!(opened <= 4, "{opened} connections for 40 clients");
}

#[test]
fn px_3_transactions_and_change_streams_stay_on_their_server() {
    use futures_util::StreamExt;
    let servers = Launch::replica_set(3).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let client = servers.connect(&guard.uri());
    let database = client.database("db_shop");
    let orders = database.collection::<Document>("t_order");
    servers.wait(async {
        database.create_collection("t_order").await.unwrap();
        let mut changes = orders.watch().await.unwrap();
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        orders.insert_one(doc! { "_id": 1 }).session(&mut session).await.unwrap();
        orders.insert_one(doc! { "_id": 2 }).session(&mut session).await.unwrap();
        assert_eq!(orders.count_documents(doc! {}).await.unwrap(), 0, "not committed yet");
        session.commit_transaction().await.unwrap();
        assert_eq!(orders.count_documents(doc! {}).await.unwrap(), 2);
        session.start_transaction().await.unwrap();
        orders.insert_one(doc! { "_id": 3 }).session(&mut session).await.unwrap();
        session.abort_transaction().await.unwrap();
        assert_eq!(orders.count_documents(doc! {}).await.unwrap(), 2);
        for id in [1, 2] {
            let event = changes.next().await.unwrap().unwrap();
            assert_eq!(event.document_key.unwrap().get_i32("_id").unwrap(), id);
        }
    });
}

#[test]
fn px_5_rp_3_reads_go_where_their_preference_says() {
    let servers = Launch::replica_set(3).start();
    let guard = Guard::start(&servers.uri(), &[]);
    servers.insert("db_shop.t_order", numbers(3));
    let client = servers.connect(&format!("{}&readPreference=secondary", guard.uri()));
    let told = |member: usize| {
        let direct = servers.connect(&servers.uri_of(member));
        let status = servers
            .wait(direct.database("admin").run_command(doc! { "serverStatus": 1 }).into_future())
            .unwrap();
        status.get_document("opcounters").unwrap().get_i64("query").unwrap()
    };
    let primary = servers.primary();
    let before: Vec<i64> = (0..3).map(told).collect();
    let orders = client.database("db_shop").collection::<Document>("t_order");
    servers.wait(async {
        for _ in 0..60 {
            orders.find_one(doc! { "_id": 1 }).await.unwrap();
        }
    });
    let after: Vec<i64> = (0..3).map(told).collect();
    let on_secondaries: i64 = (0..3).filter(|m| *m != primary).map(|m| after[m] - before[m]).sum();
    assert!(on_secondaries >= 60, "{before:?} {after:?}");
}

#[test]
fn px_1_unacknowledged_writes_arrive_and_are_not_answered() {
    use docward_wire::{Flags, Header, Message, message};
    let servers = Launch::standalone().start();
    let guard = Guard::start(&servers.uri(), &[]);
    let mut stream = TcpStream::connect(&guard.address).unwrap();
    for n in 0..50 {
        let body = doc! {
            "insert": "t_event", "documents": [{ "_id": n }], "writeConcern": { "w": 0 }, "$db": "db_shop",
        };
        let frame = message(n, 0, Flags(Flags::MORE_TO_COME), &body.to_vec().unwrap());
        stream.write_all(&frame).unwrap();
    }
    // The first reply belongs to the first request, and includes the earlier write.
    let body = doc! { "count": "t_event", "$db": "db_shop" }.to_vec().unwrap();
    stream.write_all(&message(77, 0, Flags::default(), &body)).unwrap();
    let mut head = [0; Header::SIZE];
    stream.read_exact(&mut head).unwrap();
    let header = Header::parse(&head, Header::MAX_LENGTH).unwrap();
    assert_eq!(header.response_to, 77);
    let mut frame = head.to_vec();
    frame.resize(header.length, 0);
    stream.read_exact(&mut frame[Header::SIZE..]).unwrap();
    let parsed = Message::parse(&frame).unwrap();
    let counted = parsed.body(&frame).unwrap().get("n").unwrap().unwrap().integer();
    assert_eq!(counted, Some(50));
}

#[test]
fn px_1_a_bulk_write_reaches_the_server_and_its_answer_the_client() {
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let mut stream = TcpStream::connect(&guard.address).unwrap();
    // The first message has no reply, so the first reply belongs to the second message. Servers
    // before 8.0 refuse both.
    stream.write_all(include_bytes!("messages/bulk_write_unacknowledged.bin")).unwrap();
    let acknowledged = include_bytes!("messages/bulk_write.bin");
    let answer = answer_to(&mut stream, acknowledged);
    assert_eq!(answer[8..12], acknowledged[4..8], "the answer names its request");
    let text = String::from_utf8_lossy(&answer).into_owned();
    assert!(text.contains("CommandNotFound") && text.contains("$clusterTime"), "{text}");
}

#[test]
fn px_4_st_32_a_step_down_loses_nothing_and_does_nothing_twice() {
    let servers = Launch::replica_set(3).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let client = servers.connect(&guard.uri());
    let orders = client.database("db_shop").collection::<Document>("t_order");
    let counters = client.database("db_shop").collection::<Document>("t_counter");
    servers.wait(async { counters.insert_one(doc! { "_id": 0, "n": 0 }).await.unwrap() });
    let (mut acknowledged, mut refused) = (Vec::new(), 0);
    for n in 0..300 {
        if n == 100 || n == 200 {
            servers.step_down();
        }
        let written = servers.wait(async {
            counters.update_one(doc! { "_id": 0 }, doc! { "$inc": { "n": 1 } }).await?;
            orders.insert_one(doc! { "_id": n }).await
        });
        match written {
            Ok(_) => acknowledged.push(n),
            Err(_) => refused += 1,
        }
    }
    let stored = ids(&servers, servers.client(), ("db_shop", "t_order"));
    let missing: Vec<_> = acknowledged.iter().filter(|n| !stored.contains(n)).collect();
    assert!(missing.is_empty(), "lost: {missing:?}");
    let counter = servers.wait(async { counters.find_one(doc! {}).await.unwrap().unwrap() });
    let counted = counter.get_i32("n").unwrap();
    let (least, most) = (acknowledged.len() as i32, 300);
    assert!((least..=most).contains(&counted), "{counted} of {least} acknowledged");
    assert_eq!(refused, 0, "drivers see none of it");
}

#[test]
fn px_2_clients_log_in_as_the_users_of_the_servers() {
    let servers = Launch::replica_set(1).auth().start();
    let guard = Guard::start(&servers.uri(), &[]);
    let reader = servers.create_user("reader", vec![doc! { "role": "read", "db": "db_shop" }]);
    let password = reader.split_once(':').unwrap().1.to_owned();
    servers.insert("db_shop.t_order", numbers(3));
    let find = |uri: &str| {
        let client = servers.connect(uri);
        servers.wait(async {
            let orders = client.database("db_shop").collection::<Document>("t_order");
            let found = orders.find_one(doc! { "_id": 1 }).await.map(|found| found.is_some());
            let written = orders.insert_one(doc! { "_id": 99 }).await.map(|_| ());
            (found, written)
        })
    };
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-1"] {
        let uri = format!("{}&authMechanism={mechanism}", guard.uri_as("reader", &password));
        let (found, written) = find(&uri);
        assert!(found.unwrap(), "{mechanism}");
        let error = written.unwrap_err().to_string();
        assert!(error.contains("not authorized"), "rights are the user's: {error}");
    }
    for (user, password) in [("reader", "wrong"), ("nobody", "x")] {
        let error = find(&guard.uri_as(user, password)).0.unwrap_err().to_string();
        assert!(error.contains("Authentication failed"), "{user}: {error}");
    }
    let error = find(&guard.uri()).0.unwrap_err().to_string();
    assert!(error.contains("requires authentication"), "{error}");
}

#[test]
fn px_2_a_new_password_is_for_new_logins() {
    let servers = Launch::standalone().auth().start();
    let guard = Guard::start(&servers.uri(), &["--admin", "127.0.0.1:0"]);
    let user = servers.create_user("app", vec![doc! { "role": "readWrite", "db": "db_shop" }]);
    servers.insert("db_shop.t_order", numbers(3));
    let count = |client: &Client| {
        let orders = client.database("db_shop").collection::<Document>("t_order");
        servers.wait(async { orders.count_documents(doc! {}).await })
    };
    let old = servers.connect(&guard.uri_as("app", user.split_once(':').unwrap().1));
    assert_eq!(count(&old).unwrap(), 3);
    servers.command("admin", doc! { "updateUser": "app", "pwd": "new-secret" });
    // The guard may use the old password for a short time. The first refusal ends that.
    let new = servers.connect(&guard.uri_as("app", "new-secret"));
    assert_eq!(count(&new).or_else(|_| count(&new)).unwrap(), 3);
    // As on the servers, the connections of the old login stay open, and the new login has its own.
    for client in [&old, &new, &old, &new] {
        assert_eq!(count(client).unwrap(), 3);
    }
    let state = guard.state();
    let pools = state["pools"].as_array().unwrap().iter();
    assert_eq!(pools.filter(|pool| pool["user"] == "admin.app").count(), 2, "{state}");
}

#[test]
fn px_2_se_7_both_sides_are_encrypted() {
    let servers = Launch::standalone().tls().auth().start();
    let certificates = servers.certificates().unwrap();
    let own = certificates.server.display().to_string();
    let guard = Guard::start(&servers.uri(), &["--tls-certificate", &own]);
    let user = servers.create_user("reader", vec![doc! { "role": "read", "db": "db_shop" }]);
    servers.insert("db_shop.t_order", numbers(3));
    let password = user.split_once(':').unwrap().1;
    let authority = certificates.authority.display();
    let uri = format!("{}&tls=true&tlsCAFile={authority}", guard.uri_as("reader", password));
    let found = ids(&servers, &servers.connect(&uri), ("db_shop", "t_order"));
    assert_eq!(found, [0, 1, 2]);
    // Without TLS there is no answer.
    let mut plain = TcpStream::connect(&guard.address).unwrap();
    let hello = doc! { "hello": 1, "$db": "admin" }.to_vec().unwrap();
    let frame = docward_wire::message(1, 0, docward_wire::Flags::default(), &hello);
    plain.write_all(&frame).unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.windows(4).any(|part| part == b"isdb"), "{answer:?}");
}

#[test]
fn what_is_not_the_protocol_closes_one_connection_only() {
    let servers = Launch::standalone().start();
    let guard = Guard::start(&servers.uri(), &[]);
    let head = |length: i32, op: i32| {
        [length, 1, 0, op].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>()
    };
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        head(-1, 2013),
        head(i32::MAX, 2013),
        head(15, 2013),
        [head(20, 2002), vec![0; 4]].concat(),
        [head(21, 2013), vec![0; 5]].concat(),
        [head(40, 2012), vec![9; 24]].concat(),
    ] {
        let mut stream = TcpStream::connect(&guard.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&bytes).unwrap();
        let mut answer = Vec::new();
        // The connection is closed: either the end of the stream, or a reset if bytes were left
        // unread.
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"", "{bytes:?}");
    }
    let client = servers.connect(&guard.uri());
    servers.wait(async {
        client.database("admin").run_command(doc! { "ping": 1 }).await.unwrap();
        let error =
            client.database("admin").run_command(doc! { "getLastError": 1 }).await.unwrap_err();
        assert!(error.to_string().contains("writeConcern"), "{error}");
    });
}

#[test]
fn px_1_sigterm_ends_it_in_good_order() {
    let servers = Launch::standalone().start();
    let guard = Guard::start(&servers.uri(), &[]);
    let client = servers.connect(&guard.uri());
    servers.wait(async { client.database("admin").run_command(doc! { "ping": 1 }).await.unwrap() });
    let address = guard.address.clone();
    let (code, said) = guard.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("shutting down: "), "{said}");
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn se_1_what_cannot_be_guarded_is_told() {
    for (arguments, expected) in [
        (
            vec!["--upstream", "mongodb://h/", "--listen", "0.0.0.0:0"],
            "could connect without a login",
        ),
        (vec!["--upstream", "mongodb://h/", "--auth", "mirror"], "give --upstream a user"),
        (vec!["--upstream", "mongo://ann:S3cret@h/"], "write `mongodb://`"),
        (vec!["--upstream", "mongodb://h/", "--tls-certificate", "no.pem"], "no.pem"),
        (vec!["--upstream", "mongodb://h/", "--max-pool", "0"], "--max-pool"),
        (vec![], "--upstream"),
    ] {
        let output = docward(&[&["guard"], &arguments[..]].concat());
        assert_eq!(code(&output), 2, "{arguments:?}");
        let said = stderr(&output);
        assert!(said.contains(expected) && !said.contains("S3cret"), "{arguments:?}: {said}");
    }
    let help = docward(&["guard", "--help"]);
    assert!(crate::common::stdout(&help).contains("Examples:"));
}

/// Returns the header of a message.
fn head(length: usize, op: i32) -> Vec<u8> {
    let length = i32::try_from(length).unwrap();
    [length, 1, 0, op].iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[test]
fn px_1_long_messages_pass_and_false_lengths_do_not() {
    use docward_wire::{Compressor, Flags, compress, message};
    let servers = Launch::replica_set(1).start();
    let guard = Guard::start(&servers.uri(), &[]);
    let client = servers.connect(&guard.uri());
    // 45 MB in one message.
    let large = |n: i32| doc! { "_id": n, "text": "x".repeat(5 << 20) };
    let orders = client.database("db_shop").collection::<Document>("t_order");
    servers.wait(async { orders.insert_many((0..9).map(large)).await.unwrap() });
    let expected: Vec<i32> = (0..9).collect();
    assert_eq!(ids(&servers, &client, ("db_shop", "t_order")), expected);
    // A message that claims 40 MB after decompression, and one that has less than it claims.
    let body = doc! { "ping": 1, "$db": "admin" }.to_vec().unwrap();
    let packed = compress(&message(1, 0, Flags::default(), &body), Compressor::Zlib).unwrap();
    for claimed in [47_999_000_i32, 48_000_001, -1, 1] {
        let mut bomb = packed.clone();
        bomb[20..24].copy_from_slice(&claimed.to_le_bytes());
        let mut stream = TcpStream::connect(&guard.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(&bomb).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(answer, b"", "{claimed}");
    }
    assert_eq!(orders_count(&servers, &client), 9);
}

fn orders_count(servers: &Servers, client: &Client) -> u64 {
    let orders = client.database("db_shop").collection::<Document>("t_order");
    servers.wait(async { orders.count_documents(doc! {}).await.unwrap() })
}

#[test]
fn px_4_slow_clients_hold_no_connections() {
    use docward_wire::{Flags, message};
    let servers = Launch::replica_set(1).start();
    let large = |n: i32| doc! { "_id": n, "text": "x".repeat(1 << 20) };
    servers.insert("db_shop.t_order", (0..8).map(large));
    let guard = Guard::start(&servers.uri(), &["--max-pool", "2", "--admin", "127.0.0.1:0"]);
    // Some clients request 8 MB each and read nothing; others begin a message and never end it.
    let find = doc! { "find": "t_order", "batchSize": 100, "$db": "db_shop" }.to_vec().unwrap();
    let find = message(1, 0, Flags::default(), &find);
    let connect = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(&guard.address).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let slow: Vec<TcpStream> = (0..6).map(|_| connect(&find)).collect();
    let half: Vec<TcpStream> = (0..50).map(|_| connect(&head(1_000_000, 2013))).collect();
    let client = servers.connect(&guard.uri());
    for _ in 0..20 {
        assert_eq!(orders_count(&servers, &client), 8);
    }
    wait_until("all connections are given back", || {
        let state = guard.state();
        let pools = state["pools"].as_array().unwrap();
        state["clients"].as_u64().unwrap() >= 56 && pools.iter().all(|pool| pool["inUse"] == 0)
    });
    drop((slow, half));
    wait_until("they are gone", || guard.state()["clients"].as_u64().unwrap() < 10);
}

#[test]
fn px_4_a_command_of_a_client_that_left_ends_on_the_server() {
    use docward_wire::{Flags, message};
    let servers = Launch::replica_set(1).start();
    servers.insert("db_shop.t_order", numbers(3));
    let guard = Guard::start(&servers.uri(), &["--admin", "127.0.0.1:0"]);
    let slow = doc! {
        "find": "t_order", "$db": "db_shop",
        "filter": { "$where": "sleep(600000) || true" },
    };
    let frame = message(1, 0, Flags::default(), &slow.to_vec().unwrap());
    let running = || {
        let current = doc! { "currentOp": 1, "ns": "db_shop.t_order", "op": "query" };
        servers.command("admin", current).get_array("inprog").unwrap().len()
    };
    let socket = servers.directory().join("guard.sock");
    let _local = Guard::start(&servers.uri(), &["--listen", &socket.display().to_string()]);
    let tcp = || -> Box<dyn Write> { Box::new(TcpStream::connect(&guard.address).unwrap()) };
    let unix = || -> Box<dyn Write> { Box::new(UnixStream::connect(&socket).unwrap()) };
    for connect in [&tcp as &dyn Fn() -> Box<dyn Write>, &unix] {
        let mut stream = connect();
        stream.write_all(&frame).unwrap();
        wait_until("it runs", || running() == 1);
        drop(stream);
        wait_until("the server has given it up", || running() == 0);
    }
}

#[test]
fn px_4_a_commit_is_repeated_by_the_driver_and_not_by_the_guard() {
    let servers = Launch::replica_set(1).fail_points().start();
    let guard = Guard::start(&servers.uri(), &["--admin", "127.0.0.1:0"]);
    let client = servers.connect(&guard.uri());
    let orders = client.database("db_shop").collection::<Document>("t_order");
    servers.wait(async { orders.insert_one(doc! { "_id": 0 }).await.unwrap() });
    let data = doc! { "failCommands": ["commitTransaction"], "closeConnection": true };
    let _point = servers.fail_point(0, doc! { "times": 1 }, data);
    servers.wait(async {
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        orders.insert_one(doc! { "_id": 1 }).session(&mut session).await.unwrap();
        session.commit_transaction().await.unwrap();
    });
    assert_eq!(orders_count(&servers, &client), 2);
    // A repeated commit needs a majority write concern, which only the driver sets.
    assert_eq!(guard.state()["retries"], 0);
    // The guard does not repeat a write if the server does not label it as retryable.
    let data = doc! { "failCommands": ["insert"], "errorCode": 11600, "errorLabels": [] };
    let _point = servers.fail_point(0, doc! { "times": 1 }, data);
    let error = servers.wait(async { orders.insert_one(doc! { "_id": 2 }).await.unwrap_err() });
    assert!(error.to_string().contains("Error code 6 "), "{error}");
    let data = doc! { "failCommands": ["insert"], "errorCode": 11600, "errorLabels": ["RetryableWriteError"] };
    let _point = servers.fail_point(0, doc! { "times": 1 }, data);
    servers.wait(async { orders.insert_one(doc! { "_id": 2 }).await.unwrap() });
    assert_eq!(guard.state()["retries"], 1);
}

/// Sends a message. Returns the bytes of the reply, which are empty if the guard closed the
/// connection.
pub(crate) fn answer_to(stream: &mut TcpStream, frame: &[u8]) -> Vec<u8> {
    use docward_wire::Header;
    stream.set_read_timeout(Some(Duration::from_secs(600))).unwrap();
    let _ = stream.write_all(frame);
    let mut head = [0; Header::SIZE];
    if stream.read_exact(&mut head).is_err() {
        return Vec::new();
    }
    let mut answer = head.to_vec();
    answer.resize(Header::parse(&head, Header::MAX_LENGTH).unwrap().length, 0);
    stream.read_exact(&mut answer[Header::SIZE..]).unwrap();
    answer
}

#[test]
fn se_1_whoever_has_not_logged_in_can_do_no_harm() {
    use docward_wire::{Compressor, Flags, compress, message};
    let servers = Launch::standalone().auth().start();
    let guard = Guard::start(&servers.uri(), &["--admin", "127.0.0.1:0"]);
    // Nested documents, as deep as a message of 60 KB allows. Building a tree of them may overflow
    // the stack.
    let mut deep = vec![5, 0, 0, 0, 0];
    for _ in 0..7500 {
        let length = i32::try_from(deep.len() + 7).unwrap().to_le_bytes();
        deep = [&length[..], &[3, 0], &deep, &[0]].concat();
    }
    let hello = bson::RawDocumentBuf::from_bytes(deep).unwrap();
    let mut body = bson::rawdoc! { "hello": 1 };
    body.append(bson::raw::cstr!("client"), hello);
    body.append(bson::raw::cstr!("$db"), "admin");
    let deep = message(1, 0, Flags::default(), body.as_bytes());
    let mut stream = TcpStream::connect(&guard.address).unwrap();
    let answer = answer_to(&mut stream, &deep);
    assert!(String::from_utf8_lossy(&answer).contains("cannot parse"), "{answer:?}");
    // A small message that becomes large after decompression.
    let zeros = doc! { "hello": 1, "x": "0".repeat(1 << 20), "$db": "admin" }.to_vec().unwrap();
    let bomb = compress(&message(1, 0, Flags::default(), &zeros), Compressor::Zlib).unwrap();
    assert!(bomb.len() < 64 * 1024);
    let mut stream = TcpStream::connect(&guard.address).unwrap();
    assert_eq!(answer_to(&mut stream, &bomb), b"");
    // Monitoring connections of drivers never log in. They may stay for any time.
    let hello = doc! { "hello": 1, "$db": "admin" }.to_vec().unwrap();
    let hello = message(1, 0, Flags::default(), &hello);
    let mut monitor = TcpStream::connect(&guard.address).unwrap();
    assert!(!answer_to(&mut monitor, &hello).is_empty());
    let mut silent = TcpStream::connect(&guard.address).unwrap();
    silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(
        silent.read(&mut [0]).unwrap(),
        0,
        "who says nothing at all is closed after ten seconds"
    );
    assert!(!answer_to(&mut monitor, &hello).is_empty());
    assert_eq!(guard.ask("GET", "/readyz").0, 200);
}
