//! The load generator for `docward guard` and the proxies it is compared with. It sends raw messages and checks every
//! reply. `bench/guard.py` starts it; each measurement prints one line of JSON.

use std::{
    cell::Cell,
    collections::HashMap,
    fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    rc::Rc,
    sync::{
        Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use docward_net::{
    command, nonce,
    scram::{ClientLogin, Keys, Mechanism},
};
use docward_wire::{Flags, Header, Message, put_i32, put_i64};
use mongodb::bson::{Binary, Bson, Document, RawDocument, doc, spec::BinarySubtype};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The number of documents to search for.
const POINTS: i32 = 10_000;
/// The warm-up time, which is not measured: connections are opened and caches filled.
const WARM: Duration = Duration::from_millis(700);
/// The maximum number of clients per source address, so that its ports suffice.
const FROM_ONE_ADDRESS: usize = 20_000;
/// The maximum delay behind the plan, after which a run is given up.
const TOO_LATE: Duration = Duration::from_secs(5);

fn broken(why: impl std::fmt::Display) -> io::Error {
    io::Error::other(why.to_string())
}

// Messages

/// A reply, as far as it has arrived. There is only one at a time, so nothing follows it.
struct Reply {
    bytes: Vec<u8>,
    filled: usize,
}

impl Reply {
    fn new() -> Self {
        Self { bytes: vec![0; 4096], filled: 0 }
    }

    /// Adds bytes that have arrived; returns whether the reply is complete.
    fn add(&mut self, count: usize) -> io::Result<bool> {
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.filled += count;
        let Some(head) = self.bytes[..self.filled].first_chunk() else { return Ok(false) };
        let length = Header::parse(head, Header::MAX_LENGTH).map_err(broken)?.length;
        if self.filled > length {
            return Err(broken("more than one answer"));
        }
        self.bytes.resize(self.bytes.len().max(length), 0);
        Ok(self.filled == length)
    }

    fn frame(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Sends a message and waits for the reply.
    fn exchange(&mut self, stream: &mut TcpStream, frame: &[u8]) -> io::Result<()> {
        stream.write_all(frame)?;
        self.filled = 0;
        while { let count = stream.read(&mut self.bytes[self.filled..])?; !self.add(count)? } {}
        Ok(())
    }

    /// Like `exchange`, but asynchronous.
    async fn exchange_async(&mut self, stream: &mut tokio::net::TcpStream, frame: &[u8]) -> io::Result<()> {
        stream.write_all(frame).await?;
        self.filled = 0;
        while { let count = stream.read(&mut self.bytes[self.filled..]).await?; !self.add(count)? } {}
        Ok(())
    }

    /// Runs a command that is expected to succeed.
    fn run(&mut self, stream: &mut TcpStream, database: &str, body: Document) -> io::Result<Document> {
        self.exchange(stream, &command(1, database, body, Flags::default()).map_err(broken)?)?;
        let parsed = Message::parse(self.frame()).map_err(broken)?;
        let answer = RawDocument::from_bytes(parsed.body.of(self.frame())).and_then(Document::try_from);
        let answer = answer.map_err(broken)?;
        if answer.get_f64("ok").is_ok_and(|ok| ok == 1.0) { Ok(answer) } else { Err(broken(answer)) }
    }
}

/// A command that is sent repeatedly, each time with another key.
struct Question {
    frame: Vec<u8>,
    key_at: usize,
    is_insert: bool,
    id: i32,
    /// The last key searched for; the next one is a pseudo-random successor.
    key: u32,
}

/// Keys of inserts; unique across runs.
static NEXT_KEY: AtomicI64 = AtomicI64::new(0);

impl Question {
    /// `find` or `insert` in the format of drivers: with a session, and with documents in a
    /// separate section.
    fn new(what: &str, seed: usize) -> Self {
        let id: Vec<u8> = (0..16).map(|at| (seed >> (8 * (at % 4))) as u8).collect();
        let session = doc! { "id": Binary { subtype: BinarySubtype::Uuid, bytes: id } };
        let is_insert = what == "insert";
        let body = if is_insert {
            doc! { "insert": "added", "ordered": true, "lsid": session }
        } else {
            doc! { "find": "points", "filter": { "_id": 0 }, "limit": 1, "singleBatch": true, "lsid": session }
        };
        let mut frame = command(1, "bench", body, Flags::default()).expect("it is a document");
        let key_at;
        if is_insert {
            let added = doc! { "_id": 0_i64, "name": "a name", "text": "x".repeat(100), "number": 1 };
            let added = added.to_vec().expect("it is a document");
            let size = 4 + b"documents\0".len() + added.len();
            frame.push(1);
            frame.extend(i32::try_from(size).expect("it is small").to_le_bytes());
            frame.extend(b"documents\0");
            // The length of the document, the type of its first field and the field's name precede
            // the key.
            key_at = frame.len() + 4 + 1 + b"_id\0".len();
            frame.extend(added);
            let length = i32::try_from(frame.len()).expect("it is small");
            let _ = put_i32(&mut frame, 0, length);
            let _ = NEXT_KEY.compare_exchange(0, nanoseconds_now(), Ordering::Relaxed, Ordering::Relaxed);
        } else {
            let parsed = Message::parse(&frame).expect("it was just made");
            let filter = parsed.body(&frame).and_then(|body| body.get("filter")).expect("it was just made");
            let filter = filter.expect("it was just made");
            let key = filter.document().and_then(|filter| filter.get("_id").ok()?).expect("it was just made");
            key_at = parsed.body.start + filter.at + key.at;
        }
        Self { frame, key_at, is_insert, id: 1, key: seed as u32 }
    }

    /// The next message.
    fn next(&mut self) -> &[u8] {
        self.id = self.id.wrapping_add(1);
        let _ = put_i32(&mut self.frame, 4, self.id);
        if self.is_insert {
            let _ = put_i64(&mut self.frame, self.key_at, NEXT_KEY.fetch_add(1, Ordering::Relaxed));
        } else {
            self.key = self.key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _ = put_i32(&mut self.frame, self.key_at, (self.key >> 8) as i32 % POINTS);
        }
        &self.frame
    }

    /// Returns whether the reply belongs to this message and reports success.
    fn is_answered(&self, reply: &Reply) -> bool {
        let frame = reply.frame();
        let is_ours = Header::of_frame(frame).is_ok_and(|header| header.response_to == self.id);
        let Ok(parsed) = Message::parse(frame) else { return false };
        let Ok(body) = parsed.body(frame) else { return false };
        let get = |name| body.get(name).ok().flatten();
        let did = if self.is_insert {
            get("n").and_then(|n| n.integer()) == Some(1) && get("writeErrors").is_none()
        } else {
            let cursor = get("cursor").and_then(|cursor| cursor.document());
            let batch = cursor.and_then(|cursor| cursor.get("firstBatch").ok()?).and_then(|batch| batch.document());
            batch.is_some_and(|batch| batch.elements().next().is_some())
        };
        is_ours && did && get("ok").is_some_and(|ok| ok.integer() == Some(1))
    }
}

fn nanoseconds_now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).expect("before 2262")
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn hello() -> Document {
    let client = doc! { "driver": { "name": "docward-bench", "version": "0" }, "os": { "type": "Linux" } };
    doc! { "hello": 1, "client": client }
}

// Figures

/// The processor time of each process so far, in seconds.
fn processor(pids: &[&str]) -> Vec<f64> {
    let of = |pid: &&str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // Hundredths of a second on every Linux.
        fields[11..13].iter().map(|field| field.parse::<f64>().expect("a number")).sum::<f64>() / 100.0
    };
    pids.iter().map(of).collect()
}

/// Prints the measurements.
fn report(mut nanoseconds: Vec<u64>, errors: u64, elapsed: Duration, before: &[f64], after: &[f64]) {
    nanoseconds.sort_unstable();
    let at = |share: f64| {
        let place = (nanoseconds.len() as f64 * share) as usize;
        nanoseconds.get(place.min(nanoseconds.len().saturating_sub(1))).map_or(0.0, |ns| *ns as f64 / 1000.0)
    };
    let used: Vec<f64> = before.iter().zip(after).map(|(before, after)| after - before).collect();
    println!(
        "{}",
        serde_json::json!({
            "operations": nanoseconds.len(), "errors": errors, "seconds": elapsed.as_secs_f64(),
            "p50": at(0.5), "p99": at(0.99), "processor": used,
        })
    );
}

// Measurements

/// Measures throughput: each connection sends its next command as soon as it has the reply. Uses one thread.
pub fn load(address: &str, what: &str, connections: u64, seconds: f64, pids: &[&str]) {
    if what == "insert" {
        // All connections begin with the same collection.
        let mut stream = connect(address).expect("a server");
        let _ = Reply::new().run(&mut stream, "bench", doc! { "drop": "added" });
        Reply::new().run(&mut stream, "bench", doc! { "create": "added" }).expect("created");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let tasks = tokio::task::LocalSet::new();
    tasks.block_on(&runtime, async {
        // 0: warm-up, 1: measuring, 2: finished.
        let phase = Rc::new(Cell::new(0));
        let mut all = Vec::new();
        for seed in 0..connections {
            let mut stream = tokio::net::TcpStream::connect(address).await.expect("a server");
            stream.set_nodelay(true).expect("a socket");
            let phase = Rc::clone(&phase);
            let mut question = Question::new(what, seed as usize + 1);
            all.push(tokio::task::spawn_local(async move {
                let mut reply = Reply::new();
                let greeting = command(1, "admin", hello(), Flags::default()).expect("it is a document");
                let (mut seen, mut errors) = (Vec::new(), 0_u64);
                if reply.exchange_async(&mut stream, &greeting).await.is_err() {
                    return (seen, 1);
                }
                while phase.get() < 2 {
                    let start = Instant::now();
                    if reply.exchange_async(&mut stream, question.next()).await.is_err() {
                        return (seen, errors + 1);
                    }
                    if !question.is_answered(&reply) {
                        errors += 1;
                    } else if phase.get() == 1 {
                        seen.push(start.elapsed().as_nanos() as u64);
                    }
                }
                (seen, errors)
            }));
        }
        tokio::time::sleep(WARM).await;
        let (before, start) = (processor(pids), Instant::now());
        phase.set(1);
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        let (after, elapsed) = (processor(pids), start.elapsed());
        phase.set(2);
        let (mut seen, mut errors) = (Vec::new(), 0);
        for task in all {
            let (own, wrong) = task.await.expect("it does not panic");
            seen.extend(own);
            errors += wrong;
        }
        report(seen, errors, elapsed, &before, &after);
    });
}

/// Measures latency at a fixed rate of finds. Latency counts from the planned send time, so that a slow reply does not
/// hide later ones. Each connection has a thread, because the runtime's timers have a resolution of 1 ms.
pub fn paced(address: &str, rate: f64, connections: u64, seconds: f64, pids: &[&str]) {
    // By default Linux may extend each sleep by 50 µs.
    let _ = fs::write("/proc/self/timerslack_ns", "1000");
    let mut clients = Vec::new();
    for seed in 0..connections {
        let mut stream = connect(address).expect("a server");
        let mut reply = Reply::new();
        reply.run(&mut stream, "admin", hello()).expect("an answer");
        clients.push((stream, reply, Question::new("find", seed as usize + 1)));
    }
    let start = Instant::now() + Duration::from_millis(50);
    let counted = start + WARM;
    let end = counted + Duration::from_secs_f64(seconds);
    let (seen, errors, before, after) = thread::scope(|scope| {
        let all: Vec<_> = (0_u64..).zip(clients).map(|(number, (mut stream, mut reply, mut question))| {
            scope.spawn(move || {
                let (mut seen, mut errors) = (Vec::new(), 0_u64);
                for turn in 0.. {
                    let planned = start + Duration::from_secs_f64((turn * connections + number) as f64 / rate);
                    if planned >= end {
                        break;
                    }
                    thread::sleep(planned.saturating_duration_since(Instant::now()));
                    if reply.exchange(&mut stream, question.next()).is_err() || Instant::now() > end + TOO_LATE {
                        errors += 1;
                        break;
                    }
                    if !question.is_answered(&reply) {
                        errors += 1;
                    } else if planned >= counted {
                        seen.push(planned.elapsed().as_nanos() as u64);
                    }
                }
                (seen, errors)
            })
        }).collect();
        thread::sleep(counted.saturating_duration_since(Instant::now()));
        let before = processor(pids);
        thread::sleep(end.saturating_duration_since(Instant::now()));
        let after = processor(pids);
        let (mut seen, mut errors) = (Vec::new(), 0);
        for thread in all {
            let (own, wrong) = thread.join().expect("it does not panic");
            seen.extend(own);
            errors += wrong;
        }
        (seen, errors, before, after)
    });
    report(seen, errors, counted.elapsed(), &before, &after);
}

/// Opens connections, sends a hello on each, and keeps them. Each line on standard input triggers a
/// find on each.
pub fn hold(address: &str, count: u64) {
    let to: SocketAddr = address.parse().expect("an address");
    let open = |number: usize, reply: &mut Reply| -> io::Result<TcpStream> {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
        let last = u8::try_from(1 + number / FROM_ONE_ADDRESS).map_err(broken)?;
        // Each target has its own source addresses: a bound port cannot be used for two targets.
        let [high, low] = to.port().to_be_bytes();
        socket.bind(&SocketAddr::from((Ipv4Addr::new(127, high, low, last), 0)).into())?;
        socket.connect(&to.into())?;
        let mut stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        reply.run(&mut stream, "admin", hello())?;
        Ok(stream)
    };
    let mut reply = Reply::new();
    let mut streams = Vec::new();
    for number in 0..count as usize {
        match open(number, &mut reply) {
            Ok(stream) => streams.push(stream),
            Err(error) => {
                eprintln!("only {number} clients: {error}");
                break;
            }
        }
    }
    println!("{}", streams.len());
    let mut question = Question::new("find", 1);
    for _ in io::stdin().lines() {
        let (mut good, mut wrong) = (0_u64, None);
        for stream in &mut streams {
            match reply.exchange(stream, question.next()) {
                Ok(()) if question.is_answered(&reply) => good += 1,
                Ok(()) => wrong = wrong.or_else(|| Some(String::from_utf8_lossy(reply.frame()).into_owned())),
                Err(error) => wrong = wrong.or_else(|| Some(error.to_string())),
            }
        }
        if let Some(wrong) = wrong {
            eprintln!("the first that was not answered well: {wrong:?}");
        }
        println!("{good}");
    }
}

/// Derived keys by salt. Drivers cache them for the lifetime of a process.
type Known = Mutex<HashMap<Vec<u8>, Keys>>;

/// Opens a connection and logs in with SCRAM-SHA-256; the first step is sent with the hello, like
/// drivers do.
fn log_in(address: &str, user: &str, password: &str, known: Option<&Known>, reply: &mut Reply) -> io::Result<TcpStream> {
    let binary = |text: &str| Binary { subtype: BinarySubtype::Generic, bytes: text.as_bytes().to_vec() };
    let payload = |answer: &Document| answer.get_binary_generic("payload").cloned().map_err(broken);
    let mut stream = connect(address)?;
    let login = ClientLogin::new(Mechanism::Sha256, user, nonce());
    let mut greeting = hello();
    greeting.insert("saslSupportedMechs", format!("admin.{user}"));
    greeting.insert("speculativeAuthenticate", doc! {
        "saslStart": 1, "mechanism": login.mechanism().name(), "payload": binary(&login.first()), "db": "admin",
        "options": { "skipEmptyExchange": true },
    });
    let answer = reply.run(&mut stream, "admin", greeting)?;
    let first = answer.get_document("speculativeAuthenticate").map_err(broken)?;
    let challenge = login.challenge(&payload(first)?).map_err(broken)?;
    let kept = known.and_then(|known| known.lock().ok()?.get(&challenge.salt).cloned());
    let keys = match kept {
        Some(keys) => keys,
        None => Keys::of_password(Mechanism::Sha256, user, password, &challenge.salt, challenge.iterations)
            .map_err(broken)?,
    };
    let proof = login.prove(&challenge, &keys);
    let id = first.get("conversationId").cloned().unwrap_or(Bson::Int32(1));
    let last = doc! { "saslContinue": 1, "conversationId": id, "payload": binary(&proof.payload) };
    let answer = reply.run(&mut stream, "admin", last)?;
    proof.check(&payload(&answer)?).map_err(broken)?;
    if !answer.get_bool("done").unwrap_or(false) {
        return Err(broken("the login does not end"));
    }
    if let Some(mut known) = known.and_then(|known| known.lock().ok()) {
        known.insert(challenge.salt, keys);
    }
    Ok(stream)
}

/// Clients that connect, log in, find one document and disconnect, some of them concurrently.
/// Latency covers all of these steps. The last processor time is that of the clients.
pub fn logins(address: &str, password: &str, count: u64, at_once: u64, is_cached: bool, pids: &[&str]) {
    let known = Known::default();
    let known = is_cached.then_some(&known);
    let visit = |seed: u64, reply: &mut Reply| -> io::Result<bool> {
        let mut stream = log_in(address, "app", password, known, reply)?;
        let mut question = Question::new("find", seed as usize);
        reply.exchange(&mut stream, question.next())?;
        Ok(question.is_answered(reply))
    };
    // The first one fills the cache and is not counted.
    assert!(visit(1, &mut Reply::new()).expect("a login"), "a good answer");
    let next = AtomicU64::new(0);
    let own = std::process::id().to_string();
    let pids: Vec<&str> = pids.iter().copied().chain([own.as_str()]).collect();
    let (before, start) = (processor(&pids), Instant::now());
    let (seen, errors) = thread::scope(|scope| {
        let visits = || {
            let (mut seen, mut errors, mut reply) = (Vec::new(), 0_u64, Reply::new());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return (seen, errors);
                }
                let start = Instant::now();
                match visit(number + 2, &mut reply) {
                    Ok(true) => seen.push(start.elapsed().as_nanos() as u64),
                    Ok(false) => errors += 1,
                    Err(error) => {
                        eprintln!("{error}");
                        errors += 1;
                    }
                }
            }
        };
        let all: Vec<_> = (0..at_once).map(|_| scope.spawn(visits)).collect();
        let (mut seen, mut errors) = (Vec::new(), 0);
        for thread in all {
            let (own, wrong) = thread.join().expect("it does not panic");
            seen.extend(own);
            errors += wrong;
        }
        (seen, errors)
    });
    report(seen, errors, start.elapsed(), &before, &processor(&pids));
}

// Around it

/// Loads the documents to search for; with a password it also creates the users `keeper` and `app`.
pub fn fill(address: &str, password: Option<&str>) {
    let mut reply = Reply::new();
    let mut stream = connect(address).expect("a server");
    if let Some(password) = password {
        // The first user can be created without a login.
        let keeper = doc! { "createUser": "keeper", "pwd": password, "roles": ["root"] };
        reply.run(&mut stream, "admin", keeper).expect("a user");
        stream = log_in(address, "keeper", password, None, &mut reply).expect("a login");
        let app = doc! { "createUser": "app", "pwd": password, "roles": ["readWriteAnyDatabase"] };
        reply.run(&mut stream, "admin", app).expect("a user");
    }
    let documents: Vec<Document> =
        (0..POINTS).map(|id| doc! { "_id": id, "name": format!("point {id}"), "text": "x".repeat(100) }).collect();
    reply.run(&mut stream, "bench", doc! { "insert": "points", "documents": documents }).expect("inserted");
}

/// Prints the current number of connections of the server, and the number ever opened.
pub fn connections(address: &str, password: Option<&str>) {
    let mut reply = Reply::new();
    let stream = match password {
        Some(password) => log_in(address, "keeper", password, None, &mut reply),
        None => connect(address),
    };
    let status = reply.run(&mut stream.expect("a server"), "admin", doc! { "serverStatus": 1 }).expect("an answer");
    let figures = status.get_document("connections").expect("figures");
    let figure = |name: &str| figures.get(name).and_then(|n| n.as_i64().or(n.as_i32().map(i64::from))).unwrap_or(-1);
    println!("{}", serde_json::json!({ "current": figure("current"), "created": figure("totalCreated") }));
}

/// A proxy that only copies data: one connection to the server for each client.
pub fn forward(address: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("listening on {}", listener.local_addr().expect("an address"));
        loop {
            let (mut client, _) = listener.accept().await.expect("a client");
            let address = address.to_owned();
            tokio::spawn(async move {
                let mut server = tokio::net::TcpStream::connect(address).await?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                tokio::io::copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
}
