//! The topology of a deployment and how `hello` replies change it, as the drivers' specification of server discovery
//! and monitoring describes it. This module does no IO.
//!
//! `monitor.rs` sends `hello`; `select.rs` selects servers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use bson::{Document, oid::ObjectId};

/// A server address as `host:port`, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(Arc<str>);

impl Address {
    /// Parses `host`, `host:port` or `[::1]:port`. The default port is 27017.
    pub fn parse(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        let is_bare_v6 = text.matches(':').count() > 1 && !text.starts_with('[');
        let has_port = !is_bare_v6
            && text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        Self(match (has_port, is_bare_v6) {
            (true, _) => text.into(),
            (false, true) => format!("[{text}]:27017").into(),
            (false, false) => format!("{text}:27017").into(),
        })
    }

    /// Returns the host without brackets, and the port.
    pub fn parts(&self) -> (&str, u16) {
        let (host, port) = self.0.rsplit_once(':').unwrap_or((&self.0, "27017"));
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        (host, port.parse().unwrap_or(27017))
    }

    /// Returns the address as `host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// The server has not answered yet, or its last `hello` failed.
    Unknown,
    /// A server without a replica set.
    Standalone,
    /// A router of a sharded cluster.
    Mongos,
    /// The member that accepts writes.
    Primary,
    /// A member that replicates from the primary.
    Secondary,
    /// A member that votes and has no data.
    Arbiter,
    /// A member that is hidden, starting or recovering.
    Other,
    /// A member whose replica set is not initiated.
    Ghost,
}

impl ServerKind {
    /// Whether the server can answer reads.
    pub fn holds_data(self) -> bool {
        matches!(self, Self::Standalone | Self::Mongos | Self::Primary | Self::Secondary)
    }
}

/// The version of a server's state. It orders the replies of one server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopologyVersion {
    /// The id of the server process.
    pub process: ObjectId,
    /// Increases with each change of the state.
    pub counter: i64,
}

impl TopologyVersion {
    /// Returns the version in a `hello` reply or an error.
    pub fn of(document: &Document) -> Option<Self> {
        let version = document.get_document("topologyVersion").ok()?;
        let process = version.get_object_id("processId").ok()?;
        Some(Self { process, counter: version.get_i64("counter").ok()? })
    }

    /// Whether `other` belongs to the same process and is not newer.
    pub fn covers(self, other: Self) -> bool {
        self.process == other.process && self.counter >= other.counter
    }
}

/// A server as its last `hello` reply describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// The address that `hello` was sent to.
    pub address: Address,
    /// The kind of the server.
    pub kind: ServerKind,
    /// Why the kind is unknown.
    pub error: Option<String>,
    /// The name of the replica set.
    pub set_name: Option<String>,
    /// The version of the replica set configuration.
    pub set_version: Option<i64>,
    /// The id of the election that made this server primary.
    pub election_id: Option<ObjectId>,
    /// The members of the replica set that are not hidden.
    pub hosts: Vec<Address>,
    /// The server's own address.
    pub me: Option<Address>,
    /// The tags for read preferences.
    pub tags: BTreeMap<String, String>,
    /// The time of the last write, in milliseconds since 1970.
    pub last_write_ms: Option<i64>,
    /// When the reply arrived, in milliseconds of a monotonic clock.
    pub updated_ms: i64,
    /// The moving average of the round-trip time.
    pub round_trip: Option<Duration>,
    /// The minimum and maximum wire version.
    pub wire: (i32, i32),
    /// The version of the server's state, to ignore outdated replies.
    pub topology_version: Option<TopologyVersion>,
    /// The id of the server behind a load balancer.
    pub service_id: Option<ObjectId>,
    /// The complete `hello` reply.
    pub hello: Arc<Document>,
}

impl Server {
    /// Returns a server that has not answered yet.
    pub fn unknown(address: Address) -> Self {
        Self {
            address,
            kind: ServerKind::Unknown,
            error: None,
            set_name: None,
            set_version: None,
            election_id: None,
            hosts: Vec::new(),
            me: None,
            tags: BTreeMap::new(),
            last_write_ms: None,
            updated_ms: 0,
            round_trip: None,
            wire: (0, 0),
            topology_version: None,
            service_id: None,
            hello: Arc::default(),
        }
    }

    /// Returns a server whose kind is unknown because of an error.
    pub fn failed(address: Address, error: String, version: Option<TopologyVersion>) -> Self {
        Self { error: Some(error), topology_version: version, ..Self::unknown(address) }
    }

    /// Returns the server that a `hello` reply describes.
    pub fn of_hello(address: Address, hello: &Document, updated_ms: i64) -> Self {
        let flag = |name: &str| hello.get_bool(name).unwrap_or(false);
        let text = |name: &str| hello.get_str(name).ok();
        let number = |name: &str| match hello.get(name) {
            Some(bson::Bson::Int32(number)) => Some(i64::from(*number)),
            Some(bson::Bson::Int64(number)) => Some(*number),
            _ => None,
        };
        let kind = if !is_ok(hello) {
            ServerKind::Unknown
        } else if text("msg") == Some("isdbgrid") {
            ServerKind::Mongos
        } else if text("setName").is_some() {
            if flag("hidden") {
                ServerKind::Other
            } else if flag("isWritablePrimary") || flag("ismaster") {
                ServerKind::Primary
            } else if flag("secondary") {
                ServerKind::Secondary
            } else if flag("arbiterOnly") {
                ServerKind::Arbiter
            } else {
                ServerKind::Other
            }
        } else if flag("isreplicaset") {
            ServerKind::Ghost
        } else {
            ServerKind::Standalone
        };
        let hosts = ["hosts", "passives", "arbiters"].into_iter();
        let hosts = hosts.filter_map(|name| hello.get_array(name).ok()).flatten();
        let hosts = hosts.filter_map(|host| host.as_str()).map(Address::parse).collect();
        let tags = hello.get_document("tags").into_iter().flatten();
        let tags =
            tags.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        let last_write = hello.get_document("lastWrite").ok();
        let wire = |name: &str| number(name).and_then(|n| i32::try_from(n).ok()).unwrap_or(0);
        Self {
            kind,
            error: (kind == ServerKind::Unknown)
                .then(|| text("errmsg").unwrap_or("hello failed").to_owned()),
            set_name: text("setName").map(str::to_owned),
            set_version: number("setVersion"),
            election_id: hello.get_object_id("electionId").ok(),
            hosts,
            me: text("me").map(Address::parse),
            tags: tags.collect(),
            last_write_ms: last_write
                .and_then(|w| w.get_datetime("lastWriteDate").ok())
                .map(|date| date.timestamp_millis()),
            updated_ms,
            wire: (wire("minWireVersion"), wire("maxWireVersion")),
            topology_version: TopologyVersion::of(hello),
            service_id: hello.get_object_id("serviceId").ok(),
            hello: Arc::new(hello.clone()),
            ..Self::unknown(address)
        }
    }
}

fn is_ok(reply: &Document) -> bool {
    match reply.get("ok") {
        Some(bson::Bson::Double(ok)) => *ok == 1.0,
        Some(bson::Bson::Int32(ok)) => *ok == 1,
        Some(bson::Bson::Int64(ok)) => *ok == 1,
        Some(bson::Bson::Boolean(ok)) => *ok,
        _ => false,
    }
}

/// The kind of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyKind {
    /// No server has answered.
    Unknown,
    /// A single server, of any kind.
    Single,
    /// A replica set that has no primary now.
    NoPrimary,
    /// A replica set with a primary.
    WithPrimary,
    /// The routers of a sharded cluster.
    Sharded,
    /// A load balancer.
    LoadBalanced,
}

/// The known servers of a deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The kind of the deployment.
    pub kind: TopologyKind,
    /// The name of the replica set: the expected one, or the one that a member reported.
    pub set_name: Option<String>,
    /// The servers by address.
    pub servers: BTreeMap<Address, Arc<Server>>,
    max_election_id: Option<ObjectId>,
    max_set_version: Option<i64>,
    seeds: usize,
}

/// From this wire version on, elections are compared before configuration versions to find the newer primary.
const ELECTION_FIRST: i32 = 17;

impl Topology {
    /// Returns the topology before any server has answered.
    pub fn new(seeds: &[Address], kind: TopologyKind, set_name: Option<String>) -> Self {
        let seeds: BTreeSet<&Address> = seeds.iter().collect();
        let servers = seeds
            .iter()
            .map(|&address| (address.clone(), Arc::new(Server::unknown(address.clone()))));
        Self {
            kind: if set_name.is_some() && kind == TopologyKind::Unknown {
                TopologyKind::NoPrimary
            } else {
                kind
            },
            set_name,
            servers: servers.collect(),
            max_election_id: None,
            max_set_version: None,
            seeds: seeds.len(),
        }
    }

    /// Returns the primary of a replica set.
    pub fn primary(&self) -> Option<&Arc<Server>> {
        self.servers.values().find(|server| server.kind == ServerKind::Primary)
    }

    /// Returns the topology after a reply or failure of a server.
    pub fn updated(&self, mut server: Server) -> Self {
        let mut next = self.clone();
        let Some(before) = self.servers.get(&server.address) else { return next };
        if let (Some(old), Some(new)) = (before.topology_version, server.topology_version)
            && old.process == new.process
            && old.counter > new.counter
        {
            return next;
        }
        server.round_trip = server.round_trip.or(before.round_trip);
        let kind = server.kind;
        let server = Arc::new(server);
        next.servers.insert(server.address.clone(), Arc::clone(&server));
        match (self.kind, kind) {
            (TopologyKind::Single, _) => {
                if self.set_name.is_some() && server.set_name != self.set_name && kind.holds_data()
                {
                    next.forget(&server.address, "it belongs to another replica set");
                }
            }
            (TopologyKind::LoadBalanced, _)
            | (TopologyKind::Unknown, ServerKind::Unknown | ServerKind::Ghost)
            | (TopologyKind::Sharded, ServerKind::Unknown | ServerKind::Mongos)
            | (TopologyKind::NoPrimary, ServerKind::Unknown | ServerKind::Ghost) => {}
            (TopologyKind::Unknown, ServerKind::Standalone) => {
                if self.seeds == 1 {
                    next.kind = TopologyKind::Single;
                } else {
                    next.servers.remove(&server.address);
                }
            }
            (TopologyKind::Unknown, ServerKind::Mongos) => next.kind = TopologyKind::Sharded,
            (TopologyKind::Sharded, _)
            | (TopologyKind::NoPrimary, ServerKind::Standalone | ServerKind::Mongos) => {
                next.servers.remove(&server.address);
            }
            (
                TopologyKind::Unknown | TopologyKind::NoPrimary | TopologyKind::WithPrimary,
                ServerKind::Primary,
            ) => {
                next.follow_primary(&server);
            }
            (TopologyKind::Unknown | TopologyKind::NoPrimary, _) => {
                next.kind = TopologyKind::NoPrimary;
                next.learn_from_member(&server);
            }
            (TopologyKind::WithPrimary, ServerKind::Unknown | ServerKind::Ghost) => {
                next.count_primary()
            }
            (TopologyKind::WithPrimary, ServerKind::Standalone | ServerKind::Mongos) => {
                next.servers.remove(&server.address);
                next.count_primary();
            }
            (TopologyKind::WithPrimary, _) => {
                if server.set_name != next.set_name || is_elsewhere(&server) {
                    next.servers.remove(&server.address);
                }
                next.count_primary();
            }
        }
        next
    }

    /// Returns the topology with exactly the routers that DNS lists now.
    pub fn with_routers(&self, routers: &BTreeSet<Address>) -> Self {
        let mut next = self.clone();
        // DNS does not decide the members of a replica set: they are those of its configuration.
        if !matches!(self.kind, TopologyKind::Sharded | TopologyKind::Unknown) {
            return next;
        }
        next.servers.retain(|address, _| routers.contains(address));
        next.add(routers);
        next
    }

    /// Returns the servers that were added and those that were removed since `before`.
    pub fn servers_since<'t>(&'t self, before: &'t Self) -> (Vec<&'t Address>, Vec<&'t Address>) {
        let missing = |a: &'t Self, b: &'t Self| {
            a.servers.keys().filter(|address| !b.servers.contains_key(*address)).collect()
        };
        (missing(self, before), missing(before, self))
    }

    fn follow_primary(&mut self, server: &Arc<Server>) {
        if self.set_name.is_none() {
            self.set_name.clone_from(&server.set_name);
        } else if self.set_name != server.set_name {
            self.servers.remove(&server.address);
            return self.count_primary();
        }
        if self.is_outdated(server) {
            self.forget(&server.address, "a newer primary is known");
            return self.count_primary();
        }
        let others = self
            .servers
            .values()
            .filter(|other| other.kind == ServerKind::Primary && other.address != server.address);
        let others: Vec<Address> = others.map(|other| other.address.clone()).collect();
        for other in others {
            self.forget(&other, "another primary was elected");
        }
        let hosts: BTreeSet<Address> = server.hosts.iter().cloned().collect();
        self.servers.retain(|address, _| hosts.contains(address));
        self.add(&hosts);
        self.count_primary();
    }

    /// Whether a newer primary is known, by election and configuration version. Stores the versions of a current one.
    fn is_outdated(&mut self, server: &Server) -> bool {
        if server.wire.1 >= ELECTION_FIRST {
            let seen = (self.max_election_id, self.max_set_version);
            let now = (server.election_id, server.set_version);
            if now < seen {
                return true;
            }
            (self.max_election_id, self.max_set_version) = now;
            return false;
        }
        if let (Some(version), Some(election)) = (server.set_version, server.election_id) {
            if let (Some(seen_version), Some(seen_election)) =
                (self.max_set_version, self.max_election_id)
                && (seen_version, seen_election) > (version, election)
            {
                return true;
            }
            self.max_election_id = Some(election);
        }
        self.max_set_version = self.max_set_version.max(server.set_version);
        false
    }

    fn learn_from_member(&mut self, server: &Arc<Server>) {
        if self.set_name.is_none() {
            self.set_name.clone_from(&server.set_name);
        } else if self.set_name != server.set_name {
            self.servers.remove(&server.address);
            return;
        }
        self.add(&server.hosts.iter().cloned().collect());
        if is_elsewhere(server) {
            self.servers.remove(&server.address);
        }
    }

    fn count_primary(&mut self) {
        self.kind = if self.primary().is_some() {
            TopologyKind::WithPrimary
        } else {
            TopologyKind::NoPrimary
        };
    }

    fn forget(&mut self, address: &Address, why: &str) {
        let server = Server::failed(address.clone(), why.to_owned(), None);
        self.servers.insert(address.clone(), Arc::new(server));
    }

    fn add(&mut self, hosts: &BTreeSet<Address>) {
        for host in hosts {
            let new = || Arc::new(Server::unknown(host.clone()));
            self.servers.entry(host.clone()).or_insert_with(new);
        }
    }
}

/// Whether a member reports another address as its own. It stays in the topology under that address only.
fn is_elsewhere(server: &Server) -> bool {
    server.me.as_ref().is_some_and(|me| *me != server.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn address(n: u16) -> Address {
        Address::parse(&format!("h{n}:27017"))
    }

    fn hello(n: u16, role: &str, hosts: &[u16], more: Document) -> Server {
        let hosts: Vec<String> = hosts.iter().map(|n| address(*n).to_string()).collect();
        let mut reply = doc! {
            "ok": 1, "setName": "rs0", "hosts": hosts, "minWireVersion": 0, "maxWireVersion": 17,
            "me": address(n).to_string(), role: true,
        };
        reply.extend(more);
        Server::of_hello(address(n), &reply, 0)
    }

    fn election(n: u8) -> ObjectId {
        ObjectId::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n])
    }

    fn kinds(topology: &Topology) -> Vec<(String, ServerKind)> {
        topology.servers.values().map(|s| (s.address.to_string(), s.kind)).collect()
    }

    fn set() -> Topology {
        let start = Topology::new(&[address(1)], TopologyKind::Unknown, None);
        let primary = hello(
            1,
            "isWritablePrimary",
            &[1, 2, 3],
            doc! { "electionId": election(2), "setVersion": 1 },
        );
        start.updated(primary).updated(hello(2, "secondary", &[1, 2, 3], doc! {}))
    }

    #[test]
    fn a_set_is_found_from_one_member() {
        let topology = set();
        assert_eq!(topology.kind, TopologyKind::WithPrimary);
        assert_eq!(
            kinds(&topology),
            [
                ("h1:27017".to_owned(), ServerKind::Primary),
                ("h2:27017".to_owned(), ServerKind::Secondary),
                ("h3:27017".to_owned(), ServerKind::Unknown),
            ]
        );
    }

    #[test]
    fn a_new_primary_replaces_the_old_one_and_the_old_one_cannot_come_back() {
        let newer = doc! { "electionId": election(3), "setVersion": 1 };
        let topology = set().updated(hello(2, "isWritablePrimary", &[1, 2, 3], newer));
        assert_eq!(topology.primary().unwrap().address, address(2));
        assert_eq!(topology.servers[&address(1)].kind, ServerKind::Unknown);
        let older = doc! { "electionId": election(2), "setVersion": 1 };
        let topology = topology.updated(hello(1, "isWritablePrimary", &[1, 2, 3], older));
        assert_eq!(topology.primary().unwrap().address, address(2));
        assert_eq!(topology.servers[&address(1)].kind, ServerKind::Unknown);
        // The same election with a newer configuration counts as newer.
        let settings = doc! { "electionId": election(3), "setVersion": 2 };
        let topology = topology.updated(hello(2, "isWritablePrimary", &[2, 3], settings));
        assert_eq!(topology.servers.len(), 2, "a removed member leaves the topology");
    }

    #[test]
    fn old_servers_compare_settings_first() {
        let old = |n: u16, e: u8, v: i64| {
            let more = doc! { "electionId": election(e), "setVersion": v, "maxWireVersion": 9 };
            hello(n, "ismaster", &[1, 2], more)
        };
        let start = Topology::new(&[address(1), address(2)], TopologyKind::Unknown, None);
        let topology = start.updated(old(1, 1, 2)).updated(old(2, 9, 1));
        assert_eq!(topology.primary().unwrap().address, address(1));
        let topology = topology.updated(old(2, 2, 2));
        assert_eq!(topology.primary().unwrap().address, address(2));
    }

    #[test]
    fn a_primary_that_fails_leaves_the_set_without() {
        let failed = Server::failed(address(1), "refused".to_owned(), None);
        let topology = set().updated(failed);
        assert_eq!(topology.kind, TopologyKind::NoPrimary);
        assert_eq!(topology.servers.len(), 3);
    }

    #[test]
    fn strangers_are_left_out() {
        let start =
            Topology::new(&[address(1), address(2)], TopologyKind::Unknown, Some("rs0".to_owned()));
        assert_eq!(start.kind, TopologyKind::NoPrimary);
        let other = hello(2, "secondary", &[2], doc! { "setName": "other" });
        let topology = start.updated(other);
        assert_eq!(topology.servers.len(), 1);
        let router = Server::of_hello(address(1), &doc! { "ok": 1, "msg": "isdbgrid" }, 0);
        assert!(topology.updated(router).servers.is_empty());
        // A member that reports another address is added under that address.
        let renamed = hello(1, "secondary", &[5], doc! { "me": "h5:27017" });
        let topology = start.updated(renamed);
        assert!(topology.servers.contains_key(&address(5)));
        assert!(!topology.servers.contains_key(&address(1)));
    }

    #[test]
    fn routers_and_lone_servers_are_told_apart() {
        let router = |n| Server::of_hello(address(n), &doc! { "ok": 1, "msg": "isdbgrid" }, 0);
        let lone = |n| Server::of_hello(address(n), &doc! { "ok": 1.0 }, 0);
        let two = Topology::new(&[address(1), address(2)], TopologyKind::Unknown, None);
        let sharded = two.updated(router(1));
        assert_eq!(sharded.kind, TopologyKind::Sharded);
        assert_eq!(sharded.updated(lone(2)).servers.len(), 1);
        assert_eq!(
            two.updated(lone(1)).servers.len(),
            1,
            "a standalone server cannot be one of several"
        );
        let one = Topology::new(&[address(1)], TopologyKind::Unknown, None);
        assert_eq!(one.updated(lone(1)).kind, TopologyKind::Single);
        let now: BTreeSet<Address> = [address(2), address(3)].into();
        let moved = sharded.with_routers(&now);
        assert_eq!(moved.servers.keys().cloned().collect::<BTreeSet<_>>(), now);
        assert_eq!(
            set().with_routers(&now),
            set(),
            "a replica set has the members of its configuration"
        );
    }

    #[test]
    fn old_news_of_the_same_process_is_left_out() {
        let version = |counter: i64| doc! { "topologyVersion": { "processId": election(9), "counter": counter } };
        let topology = set().updated(hello(2, "secondary", &[1, 2, 3], version(5)));
        let late = hello(2, "arbiterOnly", &[1, 2, 3], version(4));
        assert_eq!(topology.updated(late), topology);
    }

    #[test]
    fn addresses_are_read_as_drivers_do() {
        for (text, host, port) in [
            ("DB1.example.com:27018", "db1.example.com", 27018),
            ("db1", "db1", 27017),
            ("[::1]:27019", "::1", 27019),
            ("[::1]", "::1", 27017),
            ("::1", "::1", 27017),
            ("127.0.0.1:1", "127.0.0.1", 1),
        ] {
            assert_eq!(Address::parse(text).parts(), (host, port), "{text}");
        }
    }
}
