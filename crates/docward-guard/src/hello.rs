//! The answer to hello: what a client takes this process for.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc, oid::ObjectId};
use docward_net::topology::{Address, ServerKind, Topology, TopologyVersion};
use docward_wire::Compressor;

use crate::errors::code;

/// What a listener looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Face {
    /// A router of a sharded cluster, whatever stands behind.
    #[default]
    Router,
    /// The same, behind a balancer: clients say `loadBalanced=true`.
    LoadBalanced,
    /// The members of the replica set, each on a port of its own: clients keep `replicaSet`.
    Member,
}

/// The version of the protocol that is spoken where no server has said its own: that of 6.0.
const USUAL_WIRE: i32 = 17;

/// What is asked for in a hello.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// In the words of before 5.0.
    pub(crate) is_legacy: bool,
    /// Whether the client wants to know if it may say `hello`.
    pub(crate) hello_ok: bool,
    /// The user whose mechanisms are asked for, as `database.user`.
    pub(crate) mechanisms_of: Option<String>,
    /// Compressors that the client knows.
    pub(crate) compression: Vec<Compressor>,
    /// Whether the client believes in a balancer.
    pub(crate) load_balanced: bool,
    /// The first step of a login.
    pub(crate) speculative: Option<Document>,
    /// What the client calls itself.
    pub(crate) application: Option<String>,
    /// What the client knows already, and how long it waits for something else, in milliseconds.
    pub(crate) awaits: Option<(TopologyVersion, u64)>,
}

impl Asked {
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

/// What is known here when a hello is answered.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) face: Face,
    pub(crate) topology: &'a Topology,
    /// The server that is shown, and how clients call the servers: where members are shown.
    pub(crate) shown: Option<(&'a Document, &'a Names)>,
    pub(crate) connection: i32,
    /// This process, for `topologyVersion` and `serviceId`.
    pub(crate) process: ObjectId,
    pub(crate) mechanisms: Option<Vec<&'static str>>,
    pub(crate) now: bson::DateTime,
}

/// By which name clients reach each server.
pub(crate) type Names = BTreeMap<Address, String>;

/// The answer.
pub(crate) fn answer(asked: &Asked, known: &Known<'_>) -> Document {
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

fn router(known: &Known<'_>) -> Document {
    let mut reply = doc! {};
    let mut servers = known.topology.servers.values();
    // A server on its own knows neither retryable writes nor transactions: drivers must not expect them.
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

/// Which answers of this process are newer.
pub(crate) fn version(process: ObjectId, counter: i64) -> Document {
    doc! { "processId": process, "counter": counter }
}

/// Returns the reply to `hello` while the guard is ending: drivers then use another guard.
pub(crate) fn goodbye(process: ObjectId) -> Document {
    doc! {
        "ok": 0.0,
        "errmsg": "docward: this guard is ending",
        "code": code::SHUTDOWN,
        "codeName": "ShutdownInProgress",
        "topologyVersion": version(process, 1),
    }
}

/// Fields of a server's answer that belong to the connection it was given on.
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

/// What a server says of itself, with the names that clients know.
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

/// The oldest protocol that any of the servers speaks.
fn wire(topology: &Topology) -> i32 {
    let known = topology.servers.values().filter(|server| server.kind != ServerKind::Unknown);
    known.map(|server| server.wire.1).filter(|wire| *wire > 0).min().unwrap_or(USUAL_WIRE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use docward_net::topology::{Address, Server, TopologyKind};

    fn known(topology: &Topology, face: Face) -> Known<'_> {
        Known {
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
    fn a_client_sees_a_router_of_the_oldest_version_behind_it() {
        let (a, b) = (Address::parse("a"), Address::parse("b"));
        let start = Topology::new(&[a.clone(), b.clone()], TopologyKind::Unknown, None);
        let reply = answer(&Asked::default(), &known(&start, Face::Router));
        assert_eq!(reply.get_i32("maxWireVersion").ok(), Some(USUAL_WIRE));
        let member = |address, wire| {
            let hello = doc! { "ok": 1, "setName": "rs", "secondary": true, "maxWireVersion": wire, "hosts": ["a", "b"] };
            Server::of_hello(address, &hello, 0)
        };
        let topology = start.updated(member(a, 21)).updated(member(b, 13));
        let asked =
            Asked::of(&doc! { "isMaster": 1, "helloOk": true, "compression": ["lzma", "zlib"] });
        let reply = answer(&asked, &known(&topology, Face::Router));
        assert_eq!(reply.get_i32("maxWireVersion").ok(), Some(13));
        assert!(reply.get_bool("ismaster").unwrap() && reply.get_bool("helloOk").unwrap());
        assert_eq!(reply.get_str("msg").ok(), Some("isdbgrid"));
        assert_eq!(reply.get_array("compression").unwrap(), &[Bson::from("zlib")]);
        assert!(!reply.contains_key("serviceId") && reply.contains_key("topologyVersion"));
    }

    #[test]
    fn px_1_a_member_says_what_the_server_says_with_names_of_ours() {
        let names = [("a:1", "guard:5"), ("b:2", "guard:6")];
        let names = names.map(|(real, ours)| (Address::parse(real), ours.to_owned())).into();
        let hello = doc! {
            "ismaster": true, "setName": "rs", "hosts": ["a:1", "b:2", "c:3"], "me": "A:1", "primary": "a:1",
            "electionId": ObjectId::from_bytes([2; 12]), "connectionId": 99, "helloOk": true, "ok": 1,
            "$clusterTime": {},
        };
        let topology = Topology::new(&[], TopologyKind::Unknown, None);
        let known = Known { shown: Some((&hello, &names)), ..known(&topology, Face::Member) };
        let reply = answer(&Asked::of(&doc! { "hello": 1 }), &known);
        let hosts: Vec<_> = reply.get_array("hosts").unwrap().iter().map(|h| h.as_str()).collect();
        assert_eq!(
            hosts,
            [Some("guard:5"), Some("guard:6")],
            "a server without a port is not told"
        );
        assert_eq!(reply.get_str("me").unwrap(), "guard:5");
        assert_eq!(reply.get_str("primary").unwrap(), "guard:5");
        assert!(reply.get_bool("isWritablePrimary").unwrap());
        assert_eq!(reply.get_i32("connectionId").unwrap(), 4, "that of the client");
        for absent in ["$clusterTime", "helloOk", "ismaster", "msg"] {
            assert!(!reply.contains_key(absent), "{absent}");
        }
    }

    #[test]
    fn behind_a_balancer_there_is_a_service() {
        let topology = Topology::new(&[], TopologyKind::Unknown, None);
        let asked = Asked::of(&doc! { "hello": 1, "loadBalanced": true });
        let reply = answer(&asked, &known(&topology, Face::LoadBalanced));
        assert!(reply.contains_key("serviceId"));
        assert_eq!(reply.get_bool("isWritablePrimary").ok(), Some(true));
        assert!(!answer(&asked, &known(&topology, Face::Router)).contains_key("serviceId"));
    }
}
