//! The answer to hello: what a client takes this process for.

use bson::{Bson, Document, doc, oid::ObjectId};
use docward_net::topology::{ServerKind, Topology};
use docward_wire::Compressor;

/// What a listener looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Face {
    /// A router of a sharded cluster, whatever stands behind.
    #[default]
    Router,
    /// The same, behind a balancer: clients say `loadBalanced=true`.
    LoadBalanced,
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
        Self {
            is_legacy: !command.contains_key("hello"),
            hello_ok: command.get_bool("helloOk").unwrap_or(false),
            mechanisms_of: command.get_str("saslSupportedMechs").ok().map(str::to_owned),
            compression: names.filter_map(named).collect(),
            load_balanced: command.get_bool("loadBalanced").unwrap_or(false),
            speculative: command.get_document("speculativeAuthenticate").ok().cloned(),
            application: application.and_then(|a| a.get_str("name").ok()).map(str::to_owned),
        }
    }
}

/// What is known here when a hello is answered.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    pub(crate) face: Face,
    pub(crate) topology: &'a Topology,
    pub(crate) connection: i32,
    pub(crate) service: ObjectId,
    pub(crate) mechanisms: Option<Vec<&'static str>>,
    pub(crate) now: bson::DateTime,
}

/// The answer.
pub(crate) fn answer(asked: &Asked, known: &Known<'_>) -> Document {
    let mut reply = doc! {};
    reply.insert(if asked.is_legacy { "ismaster" } else { "isWritablePrimary" }, true);
    if asked.hello_ok {
        reply.insert("helloOk", true);
    }
    reply.extend(doc! {
        "msg": "isdbgrid",
        "maxBsonObjectSize": 16 * 1024 * 1024,
        "maxMessageSizeBytes": 48_000_000,
        "maxWriteBatchSize": 100_000,
        "localTime": known.now,
        "logicalSessionTimeoutMinutes": 30,
        "connectionId": known.connection,
        "minWireVersion": 0,
        "maxWireVersion": wire(known.topology),
        "readOnly": false,
    });
    if asked.load_balanced && known.face == Face::LoadBalanced {
        reply.insert("serviceId", known.service);
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
            connection: 4,
            service: ObjectId::from_bytes([1; 12]),
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
        assert!(!reply.contains_key("serviceId") && !reply.contains_key("topologyVersion"));
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
