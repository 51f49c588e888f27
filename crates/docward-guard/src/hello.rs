//! The reply to `hello`, which tells clients what kind of server the guard is.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc, oid::ObjectId};
use docward_net::topology::{Address, ServerKind, Topology, TopologyVersion};
use docward_wire::Compressor;

use crate::errors::code;

/// The kind of server that the guard presents to clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Face {
    /// A router of a sharded cluster, for every kind of deployment.
    #[default]
    Router,
    /// A router behind a load balancer. Clients connect with `loadBalanced=true`.
    LoadBalanced,
    /// The members of the replica set, each on its own port. Clients connect with `replicaSet`.
    Member,
}

/// The wire version of MongoDB 6.0, which the guard reports until a server has answered.
const USUAL_WIRE: i32 = 17;

/// The fields of a `hello` command that the guard uses.
#[derive(Debug, Default)]
pub(crate) struct HelloRequest {
    /// Whether the client sent `isMaster` instead of `hello`.
    pub(crate) is_legacy: bool,
    /// Whether the client asks if the server supports `hello`.
    pub(crate) hello_ok: bool,
    /// The user whose login mechanisms the client asks for, as `database.user`.
    pub(crate) mechanisms_of: Option<String>,
    /// The compressors that the client and the guard support.
    pub(crate) compression: Vec<Compressor>,
    /// Whether the client connects with `loadBalanced=true`.
    pub(crate) load_balanced: bool,
    /// The first step of a login, in `speculativeAuthenticate`.
    pub(crate) speculative: Option<Document>,
    /// The `appName` of the client.
    pub(crate) application: Option<String>,
    /// `topologyVersion` and `maxAwaitTimeMS` of an awaitable `hello`.
    pub(crate) awaits: Option<(TopologyVersion, u64)>,
}

impl HelloRequest {
    pub(crate) fn of(command: &Document) -> Self {
        let names = command.get_array("compression").into_iter().flatten();
        let named = |name: &Bson| {
            Compressor::NAMED
                .into_iter()
                .find(|compressor| name.as_str() == Some(compressor.name()))
        };
        let client = command.get_document("client").ok();
        let application = client.and_then(|client| client.get_document("application").ok());
        let most = match command.get("maxAwaitTimeMS") {
            Some(Bson::Int32(most)) => u64::try_from(*most).ok(),
            Some(Bson::Int64(most)) => u64::try_from(*most).ok(),
            _ => None,
        };
        Self {
            is_legacy: !command.contains_key("hello"),
            hello_ok: command.get_bool("helloOk").unwrap_or(false),
            mechanisms_of: command.get_str("saslSupportedMechs").ok().map(str::to_owned),
            compression: names.filter_map(named).collect(),
            load_balanced: command.get_bool("loadBalanced").unwrap_or(false),
            speculative: command.get_document("speculativeAuthenticate").ok().cloned(),
            application: application.and_then(|a| a.get_str("name").ok()).map(str::to_owned),
            awaits: TopologyVersion::of(command).zip(most),
        }
    }
}

/// The state from which the guard builds a `hello` reply.
#[derive(Debug)]
pub(crate) struct HelloContext<'a> {
    pub(crate) face: Face,
    pub(crate) topology: &'a Topology,
    /// With `--face member`: the `hello` reply of the server, and the addresses that clients use
    /// for all members.
    pub(crate) shown: Option<(&'a Document, &'a Names)>,
    pub(crate) connection: i32,
    /// The id of this process, for `topologyVersion` and `serviceId`.
    pub(crate) process: ObjectId,
    pub(crate) mechanisms: Option<Vec<&'static str>>,
    pub(crate) now: bson::DateTime,
}

/// The address that clients use for each server.
pub(crate) type Names = BTreeMap<Address, String>;

/// Returns the reply to `hello`.
pub(crate) fn answer(asked: &HelloRequest, known: &HelloContext<'_>) -> Document {
    let (is_primary, mut rest) = match known.shown {
        None => (true, router(known)),
        Some((hello, names)) => {
            let flag = |name: &str| hello.get_bool(name).unwrap_or(false);
            (flag("isWritablePrimary") || flag("ismaster"), member(hello, names))
        }
    };
    let mut reply = doc! {};
    reply.insert(if asked.is_legacy { "ismaster" } else { "isWritablePrimary" }, is_primary);
    if asked.hello_ok {
        reply.insert("helloOk", true);
    }
    rest.insert("localTime", known.now);
    rest.insert("connectionId", known.connection);
    reply.extend(rest);
    if asked.load_balanced && known.face == Face::LoadBalanced {
        reply.insert("serviceId", known.process);
    }
    if !asked.compression.is_empty() {
        let names: Vec<&str> =
            asked.compression.iter().map(|compressor| compressor.name()).collect();
        reply.insert("compression", names);
    }
    if let Some(mechanisms) = &known.mechanisms {
        reply.insert("saslSupportedMechs", mechanisms.clone());
    }
    reply.insert("ok", 1.0);
    reply
}

fn router(known: &HelloContext<'_>) -> Document {
    let mut reply = doc! {};
    let mut servers = known.topology.servers.values();
    // Standalone servers support neither retryable writes nor transactions. Without `msg`, drivers do not use them.
    let is_alone = known.face == Face::Router
        && !known.topology.servers.is_empty()
        && servers.all(|server| server.kind == ServerKind::Standalone);
    if !is_alone {
        reply.insert("msg", "isdbgrid");
    }
    reply.extend(doc! {
        "maxBsonObjectSize": 16 * 1024 * 1024,
        "maxMessageSizeBytes": 48_000_000,
        "maxWriteBatchSize": 100_000,
        "logicalSessionTimeoutMinutes": 30,
        "minWireVersion": 0,
        "maxWireVersion": wire(known.topology),
        "readOnly": false,
    });
    if known.face == Face::Router {
        reply.insert("topologyVersion", version(known.process, 0));
    }
    reply
}

/// Returns a `topologyVersion` of this process.
pub(crate) fn version(process: ObjectId, counter: i64) -> Document {
    doc! { "processId": process, "counter": counter }
}

/// Returns the reply to `hello` while the guard shuts down. Drivers then use another guard.
pub(crate) fn goodbye(process: ObjectId) -> Document {
    doc! {
        "ok": 0.0,
        "errmsg": "docward: this guard is shutting down",
        "code": code::SHUTDOWN,
        "codeName": "ShutdownInProgress",
        "topologyVersion": version(process, 1),
    }
}

/// Fields of a server's `hello` reply that the guard sets itself or leaves out.
const OF_CONNECTION: [&str; 11] = [
    "ismaster",
    "isWritablePrimary",
    "helloOk",
    "localTime",
    "connectionId",
    "compression",
    "saslSupportedMechs",
    "speculativeAuthenticate",
    "$clusterTime",
    "operationTime",
    "ok",
];

/// Returns the `hello` reply of a server with the addresses that clients use.
fn member(hello: &Document, names: &Names) -> Document {
    let named = |host: &str| names.get(&Address::parse(host)).cloned();
    let mut reply = Document::new();
    for (name, value) in hello {
        if OF_CONNECTION.contains(&name.as_str()) {
            continue;
        }
        let value = match (name.as_str(), value) {
            ("hosts" | "passives" | "arbiters", Bson::Array(hosts)) => {
                let hosts = hosts.iter().filter_map(|host| named(host.as_str()?));
                Bson::Array(hosts.map(Bson::String).collect())
            }
            ("me" | "primary", Bson::String(host)) => match named(host) {
                Some(host) => Bson::String(host),
                None => continue,
            },
            _ => value.clone(),
        };
        reply.insert(name.clone(), value);
    }
    reply
}

/// Returns the lowest `maxWireVersion` of the servers, so that clients use no feature that one of them lacks.
fn wire(topology: &Topology) -> i32 {
    let known = topology.servers.values().filter(|server| server.kind != ServerKind::Unknown);
    known.map(|server| server.wire.1).filter(|wire| *wire > 0).min().unwrap_or(USUAL_WIRE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use docward_net::topology::{Address, Server, TopologyKind};

    fn known(topology: &Topology, face: Face) -> HelloContext<'_> {
        HelloContext {
            face,
            topology,
            shown: None,
            connection: 4,
            process: ObjectId::from_bytes([1; 12]),
            mechanisms: None,
            now: bson::DateTime::from_millis(0),
        }
    }

    #[test]
    fn a_router_reports_the_lowest_wire_version() {
        let (a, b) = (Address::parse("a"), Address::parse("b"));
        let start = Topology::new(&[a.clone(), b.clone()], TopologyKind::Unknown, None);
        let reply = answer(&HelloRequest::default(), &known(&start, Face::Router));
        assert_eq!(reply.get_i32("maxWireVersion").ok(), Some(USUAL_WIRE));
        let member = |address, wire| {
            let hello = doc! { "ok": 1, "setName": "rs", "secondary": true, "maxWireVersion": wire, "hosts": ["a", "b"] };
            Server::of_hello(address, &hello, 0)
        };
        let topology = start.updated(member(a, 21)).updated(member(b, 13));
        let asked = HelloRequest::of(
            &doc! { "isMaster": 1, "helloOk": true, "compression": ["lzma", "zlib"] },
        );
        let reply = answer(&asked, &known(&topology, Face::Router));
        assert_eq!(reply.get_i32("maxWireVersion").ok(), Some(13));
        assert!(reply.get_bool("ismaster").unwrap() && reply.get_bool("helloOk").unwrap());
        assert_eq!(reply.get_str("msg").ok(), Some("isdbgrid"));
        assert_eq!(reply.get_array("compression").unwrap(), &[Bson::from("zlib")]);
        assert!(!reply.contains_key("serviceId") && reply.contains_key("topologyVersion"));
    }

    #[test]
    fn px_1_a_member_reply_has_the_addresses_of_the_guard() {
        let names = [("a:1", "guard:5"), ("b:2", "guard:6")];
        let names = names.map(|(real, ours)| (Address::parse(real), ours.to_owned())).into();
        let hello = doc! {
            "ismaster": true, "setName": "rs", "hosts": ["a:1", "b:2", "c:3"], "me": "A:1", "primary": "a:1",
            "electionId": ObjectId::from_bytes([2; 12]), "connectionId": 99, "helloOk": true, "ok": 1,
            "$clusterTime": {},
        };
        let topology = Topology::new(&[], TopologyKind::Unknown, None);
        let known =
            HelloContext { shown: Some((&hello, &names)), ..known(&topology, Face::Member) };
        let reply = answer(&HelloRequest::of(&doc! { "hello": 1 }), &known);
        let hosts: Vec<_> = reply.get_array("hosts").unwrap().iter().map(|h| h.as_str()).collect();
        assert_eq!(
            hosts,
            [Some("guard:5"), Some("guard:6")],
            "a server without a listener is left out"
        );
        assert_eq!(reply.get_str("me").unwrap(), "guard:5");
        assert_eq!(reply.get_str("primary").unwrap(), "guard:5");
        assert!(reply.get_bool("isWritablePrimary").unwrap());
        assert_eq!(reply.get_i32("connectionId").unwrap(), 4, "the id of the client connection");
        for absent in ["$clusterTime", "helloOk", "ismaster", "msg"] {
            assert!(!reply.contains_key(absent), "{absent}");
        }
    }

    #[test]
    fn a_load_balanced_reply_has_a_service_id() {
        let topology = Topology::new(&[], TopologyKind::Unknown, None);
        let asked = HelloRequest::of(&doc! { "hello": 1, "loadBalanced": true });
        let reply = answer(&asked, &known(&topology, Face::LoadBalanced));
        assert!(reply.contains_key("serviceId"));
        assert_eq!(reply.get_bool("isWritablePrimary").ok(), Some(true));
        assert!(!answer(&asked, &known(&topology, Face::Router)).contains_key("serviceId"));
    }
}
