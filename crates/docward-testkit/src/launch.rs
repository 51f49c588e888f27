//! Starts deployments, and the operations for tests on them.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bson::{Document, doc};
use mongodb::{
    Client,
    options::{Acknowledgment, ClientOptions, WriteConcern},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    certificates::Certificates,
    patience::{PATIENCE, wait_for, wait_until},
    ports::Port,
    program::{mongod, mongod_of},
    supervised::{Down, Supervised},
};

const REPLICA_SET: &str = "rs0";
const USER: &str = "admin";
const PASSWORD: &str = "correct horse";
/// `PASSWORD`, encoded for a connection string.
const PASSWORD_IN_URI: &str = "correct%20horse";

/// The election timeout of a set. On a busy machine the usual ten seconds can pass without a fault,
/// and an election in the middle of a test breaks it.
const ELECTION_MS: i64 = 300_000;

/// Maximum time that a set may be without a primary before [`Servers::primary`] asks a member to
/// become one.
const GRACE: Duration = Duration::from_secs(2);

/// The time for which [`Servers::block`] blocks a command: longer than any test waits.
const BLOCKED_MS: i64 = 3_600_000;

/// The deployment to start.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// The number of members of a replica set; 0 for a standalone server.
    members: usize,
    auth: bool,
    tls: bool,
    fail_points: bool,
    version: Option<&'static str>,
    arguments: Vec<String>,
    is_shared: bool,
}

impl Launch {
    /// A standalone server.
    pub fn standalone() -> Self {
        Self::default()
    }

    /// A replica set.
    pub fn replica_set(members: usize) -> Self {
        assert!((1..=7).contains(&members), "a set of 1 to 7 members");
        Self { members, ..Self::default() }
    }

    /// Enables access control, with one administrator, whose name and password are in the URI.
    pub fn auth(mut self) -> Self {
        self.auth = true;
        self
    }

    /// Enables TLS on all connections; the certificates are created for this deployment.
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Enables the server's test commands, which fail points need.
    pub fn fail_points(mut self) -> Self {
        self.fail_points = true;
        self
    }

    /// Selects a version, one of those that `scripts/mongod.py` knows.
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = Some(version);
        self
    }

    /// Adds an argument for every server.
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Allows the use of a running deployment from an earlier test of this process, which is empty
    /// again (`shared.rs`). Not for tests that depend on the server's log, its counters or its uptime.
    pub fn shared(mut self) -> Self {
        let is_plain = !self.auth && !self.tls && !self.fail_points && self.version.is_none();
        assert!(is_plain && self.arguments.is_empty(), "only plain deployments are shared");
        self.is_shared = true;
        self
    }

    /// Whether a deployment for one launch is suitable for the other.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.members == other.members && self.is_shared == other.is_shared
    }

    /// Starts the deployment and waits until it accepts writes.
    pub(crate) fn launch(self) -> Deployment {
        let common = tempfile::Builder::new().prefix("docward-testkit-").tempdir();
        let common = common.expect("a temporary directory");
        let certificates = self.tls.then(|| Certificates::make(common.path()));
        let key_file = self.auth.then(|| key_file(common.path()));
        let members = (0..self.members.max(1))
            .map(|_| self.start_member(common.path(), certificates.as_ref(), key_file.as_deref()))
            .collect();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let mut servers =
            Deployment { launch: self, client: None, members, certificates, runtime, common };
        if servers.launch.members > 0 {
            servers.initiate();
        }
        if servers.launch.auth {
            servers.create_administrator();
        }
        servers.client = Some(servers.connect(&servers.uri()));
        if servers.launch.members > 1 {
            servers.keep_primary();
        }
        servers
    }

    fn start_member(
        &self,
        common: &Path,
        tls: Option<&Certificates>,
        key_file: Option<&Path>,
    ) -> Member {
        let program = self.version.map_or_else(|| mongod().to_owned(), mongod_of);
        for _ in 0..8 {
            let port = Port::reserve();
            let directory = tempfile::Builder::new().prefix("member-").tempdir_in(common);
            let directory = directory.expect("a temporary directory").keep();
            let arguments = self.arguments(&directory, port.number, tls, key_file);
            match Supervised::start(directory, &program, &arguments) {
                Ok(process) => return Member { process, port },
                Err(Down::PortTaken) => {}
                Err(Down::Other(log)) => panic!("mongod did not come up:\n{log}"),
            }
        }
        panic!("no free port was found")
    }

    fn arguments(
        &self,
        directory: &Path,
        port: u16,
        tls: Option<&Certificates>,
        key_file: Option<&Path>,
    ) -> Vec<String> {
        let data = directory.join("data");
        std::fs::create_dir(&data).expect("the directory is new");
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&w| w.to_owned()));
        add(&["--dbpath", &data.display().to_string()]);
        add(&["--logpath", &directory.join("log").display().to_string(), "--logappend"]);
        add(&["--port", &port.to_string(), "--bind_ip", "127.0.0.1", "--nounixsocket"]);
        add(&["--quiet", "--wiredTigerCacheSizeGB", "0.25"]);
        add(&["--setParameter", "diagnosticDataCollectionEnabled=false"]);
        // The content of the log must not depend on the load of the machine: tests that read it
        // lower this value.
        add(&["--slowms", "3600000"]);
        if self.fail_points {
            add(&["--setParameter", "enableTestCommands=1"]);
        }
        if self.members > 0 {
            add(&["--replSet", REPLICA_SET, "--oplogSize", "128"]);
        }
        match key_file {
            Some(file) if self.members > 0 => add(&["--keyFile", &file.display().to_string()]),
            Some(_) => add(&["--auth"]),
            None => {}
        }
        if let Some(tls) = tls {
            add(&["--tlsMode", "requireTLS", "--tlsAllowConnectionsWithoutCertificates"]);
            add(&["--tlsCertificateKeyFile", &tls.server.display().to_string()]);
            add(&["--tlsCAFile", &tls.authority.display().to_string()]);
        }
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }
}

fn key_file(directory: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = directory.join("key");
    std::fs::write(&path, "bm90IGEgc2VjcmV0OiBtYWRlIGZvciBvbmUgdGVzdA==").expect("writable");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("own file");
    path
}

#[derive(Debug)]
struct Member {
    process: Supervised,
    port: Port,
}

/// A running deployment. Dropping it stops the servers and removes their data.
#[derive(Debug)]
pub struct Deployment {
    launch: Launch,
    client: Option<Client>,
    members: Vec<Member>,
    certificates: Option<Certificates>,
    runtime: Runtime,
    /// The directory for key file and certificates.
    common: TempDir,
}

impl Deployment {
    pub(crate) fn launch(&self) -> &Launch {
        &self.launch
    }

    pub(crate) fn is_replica_set(&self) -> bool {
        self.launch.members > 0
    }

    /// A connection string for the whole deployment, with the administrator's password if there is
    /// one.
    pub fn uri(&self) -> String {
        let user = self.launch.auth.then(|| format!("{USER}:{PASSWORD_IN_URI}"));
        self.uri_as(user.as_deref())
    }

    /// A connection string for the whole deployment with the given `user:password`, or without.
    pub fn uri_as(&self, user: Option<&str>) -> String {
        let hosts: Vec<_> =
            self.members.iter().map(|m| format!("127.0.0.1:{}", m.port.number)).collect();
        let mut options = Vec::new();
        if self.launch.members > 0 {
            options.push(format!("replicaSet={REPLICA_SET}"));
        }
        if user.is_some() {
            options.push("authSource=admin".to_owned());
        }
        self.assemble(user, &hosts.join(","), options)
    }

    /// A connection string for one member only.
    pub fn uri_of(&self, member: usize) -> String {
        let user = self.launch.auth.then(|| format!("{USER}:{PASSWORD_IN_URI}"));
        self.direct_uri(member, user.as_deref())
    }

    fn direct_uri(&self, member: usize, user: Option<&str>) -> String {
        let host = format!("127.0.0.1:{}", self.members[member].port.number);
        let mut options = vec!["directConnection=true".to_owned()];
        if user.is_some() {
            options.push("authSource=admin".to_owned());
        }
        self.assemble(user, &host, options)
    }

    fn assemble(&self, user: Option<&str>, hosts: &str, mut options: Vec<String>) -> String {
        if let Some(certificates) = &self.certificates {
            options.push("tls=true".to_owned());
            options.push(format!("tlsCAFile={}", certificates.authority.display()));
        }
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        format!("mongodb://{user}{hosts}/?{}", options.join("&"))
    }

    /// The certificates, if TLS is enabled.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// A directory that exists as long as the deployment.
    pub fn directory(&self) -> &Path {
        self.common.path()
    }

    /// The port of a member.
    pub fn port(&self, member: usize) -> u16 {
        self.members[member].port.number
    }

    /// The log of a member.
    pub fn log(&self, member: usize) -> PathBuf {
        self.members[member].process.directory().join("log")
    }

    /// The number of servers.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Always false: there is at least one server.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The administrator's client.
    pub fn client(&self) -> &Client {
        self.client.as_ref().expect("it is started")
    }

    /// Runs a future of the driver.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Runs a command; an error fails the test.
    pub fn command(&self, database: &str, command: Document) -> Document {
        let shown = command.clone();
        self.try_command(database, command).unwrap_or_else(|error| panic!("{shown}: {error}"))
    }

    /// Runs a command.
    pub fn try_command(
        &self,
        database: &str,
        command: Document,
    ) -> Result<Document, mongodb::error::Error> {
        self.wait(self.client().database(database).run_command(command).into_future())
    }

    /// Inserts documents into a collection, bypassing its validator.
    pub fn insert(&self, namespace: &str, documents: impl IntoIterator<Item = Document>) {
        let (database, collection) = namespace.split_once('.').expect("database.collection");
        let collection = self.client().database(database).collection::<Document>(collection);
        let documents: Vec<_> = documents.into_iter().collect();
        let insert = collection.insert_many(documents).bypass_document_validation(true);
        let insert = insert.write_concern(self.everywhere());
        self.wait(insert.into_future()).unwrap_or_else(|error| panic!("{namespace}: {error}"));
    }

    /// The write concern for all members, so that a test may read from any of them.
    pub(crate) fn everywhere(&self) -> WriteConcern {
        let members = u32::try_from(self.members.len()).expect("a handful");
        WriteConcern::builder().w(Acknowledgment::Nodes(members)).build()
    }

    /// Adds a user of the database `admin`; returns `user:password` for [`Self::uri_as`].
    pub fn create_user(&self, name: &str, roles: impl Into<bson::Bson>) -> String {
        let password = format!("{name}-password");
        self.command("admin", doc! { "createUser": name, "pwd": &password, "roles": roles.into() });
        format!("{name}:{password}")
    }

    /// The index of the current primary. If the old one is gone, this starts an election.
    pub fn primary(&self) -> usize {
        let mut last = Instant::now();
        wait_for("there is no primary", || {
            let is_primary = |member: &usize| {
                let hello = self.hello(*member);
                hello.is_some_and(|hello| hello.get_bool("isWritablePrimary").ok() == Some(true))
            };
            let found = (0..self.members.len()).find(is_primary);
            // The first election of a set happens by itself, before anyone can log in.
            if found.is_none() && self.client.is_some() && last.elapsed() > GRACE {
                self.elect();
                last = Instant::now();
            }
            found
        })
    }

    /// Makes the first available member primary.
    fn elect(&self) {
        for member in 0..self.members.len() {
            let client = self.connect_within(&self.uri_of(member), GRACE);
            let admin = client.database("admin");
            let command = admin.run_command(doc! { "replSetStepUp": 1 });
            if self.wait(command.into_future()).is_ok() {
                return;
            }
        }
    }

    /// Keeps the current primary, unless it becomes unavailable.
    fn keep_primary(&self) {
        wait_until("the set takes no other configuration", || {
            let Ok(reply) = self.try_command("admin", doc! { "replSetGetConfig": 1 }) else {
                return false;
            };
            let mut config = reply.get_document("config").expect("a configuration").clone();
            let version = config.get_i32("version").expect("a version");
            config.insert("version", version + 1);
            let settings = config.get_document_mut("settings").expect("settings");
            settings.insert("electionTimeoutMillis", ELECTION_MS);
            self.try_command("admin", doc! { "replSetReconfig": config }).is_ok()
        });
    }

    fn hello(&self, member: usize) -> Option<Document> {
        let client = self.connect_within(&self.direct_uri(member, None), Duration::from_secs(1));
        self.wait(client.database("admin").run_command(doc! { "hello": 1 }).into_future()).ok()
    }

    /// Makes the primary step down, and waits for the next one.
    pub fn step_down(&self) -> usize {
        let before = self.primary();
        let client = self.connect(&self.uri_of(before));
        let run = |command| self.wait(client.database("admin").run_command(command).into_future());
        let after = wait_for("the primary does not step down", || {
            // The server may close the connection before it responds.
            let _ = run(doc! { "replSetStepDown": 120, "secondaryCatchUpPeriodSecs": 60 });
            Some(self.primary()).filter(|after| *after != before)
        });
        // It must be able to become primary again when the next one steps down.
        wait_until("the old primary stays out of elections", || {
            run(doc! { "replSetFreeze": 0 }).is_ok()
        });
        after
    }

    /// Kills a member, like a power failure.
    pub fn kill(&mut self, member: usize) {
        self.members[member].process.signal("KILL");
    }

    /// Starts a killed member again.
    pub fn restart(&mut self, member: usize) {
        self.members[member].process.restart();
    }

    /// Freezes a member: connections stay open and nothing responds.
    pub fn pause(&mut self, member: usize) {
        self.members[member].process.signal("STOP");
    }

    /// Resumes a frozen member.
    pub fn resume(&mut self, member: usize) {
        self.members[member].process.signal("CONT");
    }

    /// Sets the fail point `failCommand` on a member until the guard is dropped. `mode` is for
    /// instance `{"times": 2}`, `data` selects the commands and the failure.
    pub fn fail_point(&self, member: usize, mode: Document, data: Document) -> FailPoint<'_> {
        let client = self.connect(&self.uri_of(member));
        self.set_fail_point(&client, mode, data);
        FailPoint { servers: self, client }
    }

    /// Blocks commands of Docward on a member for longer than any test waits. `mode` is for
    /// instance `{"times": 1}` or `{"skip": 3}`, `more` restricts the blocked commands:
    /// `{"namespace": "db_shop.t_order"}`.
    pub fn block(
        &self,
        member: usize,
        commands: &[&str],
        mode: Document,
        more: Document,
    ) -> Blocked<'_> {
        let client = self.connect(&self.uri_of(member));
        let mut data = doc! {
            "failCommands": commands, "blockConnection": true, "blockTimeMS": BLOCKED_MS,
            "appName": "docward",
        };
        data.extend(more);
        let before = self.set_fail_point(&client, mode, data);
        let running = |command: &&str| doc! { format!("command.{command}"): { "$exists": true } };
        let commands = commands.iter().map(running).collect();
        Blocked { servers: self, client, commands, before }
    }

    /// Sets the fail point; returns the number of earlier hits.
    fn set_fail_point(&self, client: &Client, mode: Document, data: Document) -> i64 {
        let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
        let reply = self.wait(client.database("admin").run_command(command).into_future());
        hits(&reply.expect("Launch::fail_points was asked for"))
    }

    /// A client for any connection string.
    pub fn connect(&self, uri: &str) -> Client {
        self.connect_within(uri, PATIENCE)
    }

    fn connect_within(&self, uri: &str, patience: Duration) -> Client {
        self.wait(async {
            let mut options = ClientOptions::parse(uri).await.expect("a valid URI");
            options.server_selection_timeout = Some(patience);
            Client::with_options(options).expect("valid options")
        })
    }

    fn initiate(&self) {
        let members: Vec<_> = self
            .members
            .iter()
            .zip(0i32..)
            .map(|(member, id)| doc! { "_id": id, "host": format!("127.0.0.1:{}", member.port.number) })
            .collect();
        // Only for the first election: see `keep_primary`.
        let settings = doc! { "electionTimeoutMillis": 1500, "heartbeatIntervalMillis": 300 };
        let config = doc! { "_id": REPLICA_SET, "members": members, "settings": settings };
        let client = self.connect(&self.direct_uri(0, None));
        let command = doc! { "replSetInitiate": config };
        self.wait(client.database("admin").run_command(command).into_future())
            .expect("the set can be initiated");
        self.primary();
        wait_until("the members do not come up", || {
            (0..self.members.len()).all(|member| self.is_ready(member))
        });
    }

    fn is_ready(&self, member: usize) -> bool {
        let is = |hello: &Document, key| hello.get_bool(key).ok() == Some(true);
        self.hello(member)
            .is_some_and(|hello| is(&hello, "isWritablePrimary") || is(&hello, "secondary"))
    }

    /// Creates the first user, which is permitted from the same machine without a login.
    fn create_administrator(&self) {
        let member = if self.launch.members > 0 { self.primary() } else { 0 };
        let client = self.connect(&self.direct_uri(member, None));
        let command = doc! { "createUser": USER, "pwd": PASSWORD, "roles": ["root"] };
        self.wait(client.database("admin").run_command(command).into_future())
            .expect("the first user can be made");
    }
}

/// Switches the fail point off when dropped.
#[derive(Debug)]
pub struct FailPoint<'s> {
    servers: &'s Deployment,
    client: Client,
}

impl FailPoint<'_> {
    /// Switches it off and returns the number of commands that it failed.
    pub fn hits(&self) -> i64 {
        let command = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        let admin = self.client.database("admin");
        let reply = self.servers.wait(admin.run_command(command).into_future());
        reply.map_or(0, |reply| hits(&reply))
    }
}

/// The number of hits of the fail point since the server's start.
fn hits(reply: &Document) -> i64 {
    match reply.get("count") {
        Some(bson::Bson::Int32(count)) => i64::from(*count),
        Some(bson::Bson::Int64(count)) => *count,
        _ => 0,
    }
}

/// Commands that are blocked until [`Blocked::release`], or until the server stops.
#[derive(Debug)]
pub struct Blocked<'s> {
    servers: &'s Deployment,
    client: Client,
    /// Filters on running operations, one for each command.
    commands: Vec<Document>,
    before: i64,
}

impl Blocked<'_> {
    /// Waits until a command is blocked.
    pub fn wait_until_hit(&self) {
        let limit = i64::try_from(PATIENCE.as_millis()).expect("minutes");
        let command = doc! {
            "waitForFailPoint": "failCommand", "timesEntered": self.before + 1, "maxTimeMS": limit,
        };
        let admin = self.client.database("admin");
        let reply = self.servers.wait(admin.run_command(command).into_future());
        reply.expect("a command is held up");
    }

    /// Aborts the blocked commands, and blocks no more.
    pub fn release(self) {
        let admin = self.client.database("admin");
        let run = |command| self.servers.wait(admin.run_command(command).into_future());
        let ours =
            doc! { "$match": { "appName": "docward", "active": true, "$or": self.commands } };
        let running =
            doc! { "aggregate": 1, "pipeline": [{ "$currentOp": {} }, ours], "cursor": {} };
        // Switching it off waits for the end of the blocked commands.
        wait_until("commands are still held up", || {
            let reply = run(running.clone()).expect("the server says what runs");
            let cursor =
                reply.get_document("cursor").and_then(|cursor| cursor.get_array("firstBatch"));
            let operations = cursor.expect("a list of operations");
            for operation in operations.iter().filter_map(|operation| operation.as_document()) {
                let id = operation.get("opid").expect("a number").clone();
                let _ = run(doc! { "killOp": 1, "op": id });
            }
            operations.is_empty()
        });
        run(doc! { "configureFailPoint": "failCommand", "mode": "off" }).expect("it was set");
    }
}

impl Drop for FailPoint<'_> {
    fn drop(&mut self) {
        self.hits();
    }
}
