//! The guard closes on the servers what clients leave open, and nothing that is in use.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{io::Write, net::TcpStream, thread};

use bson::{Binary, Document, doc, spec::BinarySubtype};
use docward_testkit::{Launch, Servers, wait_until};
use docward_wire::{Flags, Message, message};

use crate::{
    common::guard::Guard,
    guard::{answer_to, numbers},
};

/// A client connection without a driver.
struct Connection(TcpStream);

impl Connection {
    fn open(guard: &Guard) -> Self {
        let mut connection = Self(TcpStream::connect(&guard.address).unwrap());
        connection.run("admin", doc! { "hello": 1 });
        connection
    }

    fn run(&mut self, database: &str, command: Document) -> Document {
        self.send_and_read(&frame(database, command))
    }

    /// Runs a command many times, and sends it again before the earlier replies arrive.
    fn succeed_often(&mut self, count: i64, database: &str, command: Document) {
        const AHEAD: i64 = 100;
        let frame = frame(database, command);
        for sent in 0..count + AHEAD {
            if sent < count {
                self.0.write_all(&frame).unwrap();
            }
            if sent >= AHEAD {
                let reply = self.send_and_read(&[]);
                assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
            }
        }
    }

    fn send_and_read(&mut self, frame: &[u8]) -> Document {
        let answer = answer_to(&mut self.0, frame);
        let body = Message::parse(&answer).unwrap().body(&answer).unwrap().bytes().to_vec();
        Document::from_reader(&body[..]).unwrap()
    }

    /// Runs a command that succeeds.
    fn succeed(&mut self, database: &str, command: Document) -> Document {
        let reply = self.run(database, command);
        assert_eq!(reply.get_f64("ok").ok(), Some(1.0), "{reply}");
        reply
    }

    /// Opens a cursor and returns its id.
    fn open_cursor(&mut self, command: Document) -> i64 {
        let reply = self.succeed("db_shop", command);
        reply.get_document("cursor").unwrap().get_i64("id").unwrap()
    }
}

fn frame(database: &str, mut command: Document) -> Vec<u8> {
    command.insert("$db", database);
    message(1, 0, Flags::default(), &command.to_vec().unwrap())
}

/// Returns the number of open cursors on the first member.
fn open_cursors(servers: &Servers) -> i64 {
    let status = servers.command("admin", doc! { "serverStatus": 1 });
    let metrics = status.get_document("metrics").unwrap();
    let open = metrics.get_document("cursor").unwrap().get_document("open").unwrap();
    open.get_i64("total").unwrap()
}

fn lsid(number: u8) -> Document {
    doc! { "id": Binary { subtype: BinarySubtype::Uuid, bytes: vec![number; 16] } }
}

#[test]
fn px_3_cursors_of_clients_that_left_are_closed_on_the_server() {
    let servers = Launch::replica_set(1).start();
    servers.insert("db_shop.t_order", numbers(3));
    servers.insert("db_shop.t_item", numbers(3));
    let guard = Guard::start(&servers.uri(), &["--face", "lb"]);
    let before = open_cursors(&servers);
    let mut client = Connection(TcpStream::connect(&guard.address).unwrap());
    client.succeed("admin", doc! { "hello": 1, "loadBalanced": true });
    for number in 0..30 {
        let collection = if number % 2 == 0 { "t_order" } else { "t_item" };
        let mut find = doc! { "find": collection, "batchSize": 0 };
        if number % 3 == 0 {
            find.insert("lsid", lsid(number));
        }
        client.open_cursor(find);
    }
    assert_eq!(open_cursors(&servers), before + 30);
    drop(client);
    wait_until("the cursors are closed", || open_cursors(&servers) == before);
}

#[test]
fn px_3_cursors_that_the_guard_has_no_room_for_are_closed_on_the_server() {
    const MAX_CURSORS: i64 = 10_000;
    const MORE: i64 = 50;
    const OTHERS: i64 = 10;
    let servers = Launch::replica_set(1).start();
    servers.insert("db_shop.t_order", numbers(3));
    let guard = Guard::start(&servers.uri(), &["--admin", "127.0.0.1:0"]);
    let before = open_cursors(&servers);
    let mut client = Connection::open(&guard);
    let find = || doc! { "find": "t_order", "batchSize": 0 };
    let (oldest, second) = (client.open_cursor(find()), client.open_cursor(find()));
    let each = (MAX_CURSORS - 2) / OTHERS;
    let _others: Vec<_> = thread::scope(|scope| {
        let open = || {
            let mut other = Connection::open(&guard);
            other.succeed_often(each, "db_shop", find());
            other
        };
        let threads: Vec<_> = (0..OTHERS).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    client.succeed_often(MAX_CURSORS - 2 - each * OTHERS, "db_shop", find());
    // The oldest cursor is used again, so that others are displaced.
    let more = |id: i64| doc! { "getMore": id, "collection": "t_order", "batchSize": 1 };
    client.succeed("db_shop", more(oldest));
    client.succeed_often(MORE, "db_shop", find());
    wait_until("the server has as many cursors as the guard", || {
        open_cursors(&servers) == before + MAX_CURSORS
    });
    assert_eq!(guard.state()["cursors"], MAX_CURSORS);
    client.succeed("db_shop", more(oldest));
    assert_eq!(client.run("db_shop", more(second)).get_i32("code").ok(), Some(43));
}

#[test]
fn px_3_a_long_command_keeps_the_cursors_and_the_transaction_of_its_session() {
    // Longer than the 30 seconds after which the guard closes what a client left open.
    const LONG: i32 = 36_000;
    let servers = Launch::replica_set(1)
        .fail_points()
        .argument("--setParameter")
        .argument("transactionLifetimeLimitSeconds=3600")
        .start();
    servers.insert("db_shop.t_order", numbers(3));
    let capped = doc! { "create": "t_log", "capped": true, "size": 100_000 };
    servers.command("db_shop", capped);
    servers.insert("db_shop.t_log", numbers(1));
    let guard = Guard::start(&servers.uri(), &[]);
    let data = doc! {
        "failCommands": ["count", "update"], "blockConnection": true, "blockTimeMS": LONG,
    };
    let _point = servers.fail_point(0, doc! { "times": 2 }, data);
    let more = |id: i64, collection: &str| doc! { "getMore": id, "collection": collection };
    thread::scope(|scope| {
        // The cursor is in use: `getMore` waits for new data.
        scope.spawn(|| {
            let find = doc! { "find": "t_log", "tailable": true, "awaitData": true };
            let cursor = Connection::open(&guard).open_cursor(find);
            let mut other = Connection::open(&guard);
            let mut wait = more(cursor, "t_log");
            wait.insert("maxTimeMS", LONG);
            other.succeed("db_shop", wait.clone());
            wait.insert("maxTimeMS", 1);
            other.succeed("db_shop", wait);
        });
        // The session is in use: another command runs.
        scope.spawn(|| {
            let find = doc! { "find": "t_order", "batchSize": 0, "lsid": lsid(1) };
            let cursor = Connection::open(&guard).open_cursor(find);
            let mut other = Connection::open(&guard);
            other.succeed("db_shop", doc! { "count": "t_order", "lsid": lsid(1) });
            let mut next = more(cursor, "t_order");
            next.insert("lsid", lsid(1));
            other.succeed("db_shop", next);
        });
        // The transaction is in use: another statement runs.
        scope.spawn(|| {
            let transaction = doc! { "lsid": lsid(2), "txnNumber": 1_i64, "autocommit": false };
            let with = |mut command: Document| {
                command.extend(transaction.clone());
                command
            };
            let mut insert = doc! { "insert": "t_order", "documents": [{ "_id": 100 }] };
            insert.insert("startTransaction", true);
            Connection::open(&guard).succeed("db_shop", with(insert));
            let mut other = Connection::open(&guard);
            let change = doc! { "q": { "_id": 100 }, "u": { "$set": { "is_paid": true } } };
            other.succeed("db_shop", with(doc! { "update": "t_order", "updates": [change] }));
            other.succeed("admin", with(doc! { "commitTransaction": 1 }));
        });
    });
}
