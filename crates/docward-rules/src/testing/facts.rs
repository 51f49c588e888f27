//! Facts that examples declare in a line: services, networks, servers, clusters.

use docward_model::{
    AccessRule, ClientUri, Cluster, Layer, Namespace, Network, Peer, PortRange, PrivilegePlace,
    Protocol, Purpose, RolePrivilege, Router, RuleGroup, Server, Service, ServiceClass, Shard,
    ShardPart, ShardedCollection, StartOptions, Topology, User, Value,
};

/// `service {"name": "order", "class": "core", "peak-qps": 1000, "latency-ms": 20, "instances": 2}`.
pub(super) fn service(facts: &Value) -> Service {
    let number = |key: &str| facts.get(key).and_then(Value::as_int);
    let class = facts.get("class").and_then(Value::as_text);
    Service {
        name: facts.get("name").and_then(Value::as_text).expect("a name").to_owned(),
        class: class.map(|class| {
            ServiceClass::ALL.into_iter().find(|known| known.name() == class).expect("a class")
        }),
        code: Vec::new(),
        peak_qps: number("peak-qps").map(|n| n as f64),
        latency_ms: number("latency-ms").map(|n| n as f64),
        instances: number("instances").map(|n| n as u32),
        processes: number("processes").map(|n| n as u32),
        stale_reads_ms: number("stale-reads-ms").map(|n| n as u64),
        pool: number("pool").map(|n| n as u32),
    }
}

/// A connection string in source code; `{}` is computed.
pub(super) fn template_of(text: &str) -> ClientUri {
    let mut pieces = Vec::new();
    for (number, piece) in text.split("{}").enumerate() {
        if number > 0 {
            pieces.push(docward_uri::Piece::Hole);
        }
        pieces.push(docward_uri::Piece::Text(piece));
    }
    let parsed = docward_uri::parse_template(&pieces);
    parsed.unwrap_or_else(|fault| panic!("{fault}\n  in {text}")).client(Purpose::Client)
}

pub(super) fn uri_of(text: &str, purpose: Purpose) -> ClientUri {
    let parsed = docward_uri::parse(text).unwrap_or_else(|fault| panic!("{fault}\n  in {text}"));
    parsed.client(purpose)
}

/// `network {"public_ip": [], "load_balancer_vip": ["10.0.0.100"], "listener_port": [27017], "groups": [{"name": "sg",
/// "layer": "mongodb", "rules": [{"sources": ["10.0.0.0/8"], "ports": ["27017"]}]}]}`. A rule with `"deny": true`
/// denies access; a source that is not a range is a name.
pub(super) fn network(facts: &Value) -> Network {
    let text = |value: &Value| value.as_text().expect("text").to_owned();
    let list = |value: &Value, key: &str| value.get(key).map_or(&[][..], Value::items).to_vec();
    let addresses =
        |key: &str| list(facts, key).iter().map(|a| text(a).parse().expect("an address")).collect();
    let ports = |key: &str| {
        let number = |port: &Value| port.as_int().and_then(|n| u16::try_from(n).ok());
        list(facts, key).iter().map(|port| number(port).expect("a port")).collect()
    };
    let range = |port: &Value| {
        let port = text(port);
        if port == "*" {
            return PortRange::every(Protocol::Any);
        }
        let (first, last) = port.split_once('-').unwrap_or((&port, &port));
        let number = |text: &str| text.parse().expect("a port");
        PortRange { protocol: Protocol::Tcp, first: number(first), last: number(last) }
    };
    let peer = |source: &Value| {
        let source = text(source);
        let single = || source.parse::<std::net::IpAddr>().map(Into::into);
        match source.parse().or_else(|_| single()) {
            Ok(range) => Peer::Range(range),
            // AWS names lists of addresses like this.
            Err(_) if source.starts_with("pl-") => Peer::Listed(source),
            Err(_) => Peer::Named(source),
        }
    };
    let rule = |rule: &Value| AccessRule {
        name: rule.get("name").map_or_else(|| "rule 1".to_owned(), text),
        allows: rule.get("deny").is_none(),
        sources: list(rule, "sources").iter().map(peer).collect(),
        ports: list(rule, "ports").iter().map(range).collect(),
        built_in: false,
        inherited: rule.get("inherited").is_some(),
    };
    let group = |group: &Value| RuleGroup {
        name: group.get("name").map(text).expect("a name"),
        id: group.get("id").map(text),
        layer: group.get("layer").map(|layer| match text(layer).as_str() {
            "load-balancer" => Layer::LoadBalancer,
            _ => Layer::MongoDb,
        }),
        rules: list(group, "rules").iter().map(rule).collect(),
    };
    Network {
        public_addresses: facts.get("public_ip").map(|_| addresses("public_ip")),
        load_balancer_vips: addresses("load_balancer_vip"),
        listener_ports: ports("listener_port"),
        mongodb_ports: ports("mongodb_port"),
        groups: list(facts, "groups").iter().map(group).collect(),
        unread: list(facts, "unread").iter().map(text).collect(),
    }
}

/// `server {"authorization": true, "bind": ["10.0.0.5"], "tls": "requireTLS", "users": […], …}`.
pub(super) fn server(facts: &Value) -> Server {
    let text = |value: &Value| value.as_text().expect("text").to_owned();
    let number = |key: &str| facts.get(key).and_then(Value::as_int).map(|n| n as u64);
    Server {
        start: Some(StartOptions {
            authorization: facts.get("authorization").is_some_and(Value::is_truthy),
            bind_addresses: facts.get("bind").map(|b| b.items().iter().map(text).collect()),
            tls_mode: facts.get("tls").map(text),
            ..StartOptions::default()
        }),
        parameters: facts.get("localhost-bypass").map_or_else(Vec::new, |bypass| {
            vec![("enableLocalhostAuthBypass".to_owned(), bypass.is_truthy().to_string())]
        }),
        uptime_seconds: number("uptime"),
        answers_anybody: facts.get("anonymous").is_some_and(Value::is_truthy),
        clock_seconds: number("clock").map(|n| n as i64),
        topology: match facts.get("topology").and_then(Value::as_text) {
            Some("sharded") => Some(Topology::Sharded),
            Some("standalone") => Some(Topology::Standalone),
            _ => facts.get("set").map(text).map(Topology::ReplicaSet),
        },
        default_concerns: facts.get("default-w").map(text).map(|w| {
            docward_model::DefaultConcerns {
                write: Some(w),
                ..docward_model::DefaultConcerns::default()
            }
        }),
        connections: number("connections").map(|current| docward_model::Connections {
            current,
            available: number("available").unwrap_or(0),
            total_created: number("created").unwrap_or(0),
            since_earlier: None,
        }),
        members: facts.get("members").map(|members| {
            let member = |member: &Value| docward_model::Member {
                host: member.get("host").map(text).expect("a host"),
                state: member.get("state").map(text),
                lag_seconds: member.get("lag").and_then(Value::as_int).map(|n| n as u64),
                delay_seconds: member.get("delay").and_then(Value::as_int).map(|n| n as u64),
                priority_milli: member
                    .get("priority")
                    .and_then(Value::as_int)
                    .map(|n| n as u64 * 1000),
                hidden: member.get("hidden").map(Value::is_truthy),
                arbiter: member.get("arbiter").map(Value::is_truthy),
                // Unknown tags are null.
                tags: match member.get("tags") {
                    Some(Value::Null) => None,
                    tags => Some(pairs(tags)),
                },
                ..docward_model::Member::default()
            };
            members.items().iter().map(member).collect()
        }),
        users: facts.get("users").map(|users| {
            let role = |role: &Value| {
                let part = |key: &str| role.get(key).map(text).unwrap_or_default();
                (part("db"), part("role"))
            };
            let user = |user: &Value| User {
                database: user.get("db").map(text).unwrap_or_else(|| "admin".into()),
                name: user.get("user").map(text).expect("a name"),
                roles: user.get("roles").expect("roles").items().iter().map(role).collect(),
            };
            users.items().iter().map(user).collect()
        }),
        custom_roles: facts.get("roles").map_or_else(Vec::new, |roles| {
            let part = |role: &Value, key: &str| role.get(key).map(text).unwrap_or_default();
            // `"bypasses": [{"db": "db_shop", "collection": ""}]`
            let places = |role: &Value, key: &str| {
                let listed = role.get(key).map_or(&[][..], Value::items).iter();
                listed.map(|place| (part(place, "db"), part(place, "collection"))).collect()
            };
            let custom = |role: &Value| docward_model::CustomRole {
                database: part(role, "db"),
                name: part(role, "role"),
                inherits: role
                    .get("inheritedRoles")
                    .map_or(&[][..], Value::items)
                    .iter()
                    .map(|inherited| (part(inherited, "db"), part(inherited, "role")))
                    .collect(),
                writes: places(role, "writes"),
                bypasses: places(role, "bypasses"),
            };
            roles.items().iter().map(custom).collect()
        }),
        role_privileges: role_privileges(facts),
        cluster: cluster(facts),
        own_collections: number("own-collections"),
        open_data_handles: number("handles"),
        max_open_files: number("open-files"),
        ..Server::default()
    }
}

/// `"roles": [{…, "privileges": [{"db": "", "collection": "", "actions": ["find"]}]}]`; `"cluster": true` and
/// `"anyResource": true` replace both names.
fn role_privileges(facts: &Value) -> Option<Vec<RolePrivilege>> {
    let roles = facts.get("roles").map_or(&[][..], Value::items);
    if !roles.iter().any(|role| role.get("privileges").is_some()) {
        return None;
    }
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_text).unwrap_or_default().to_owned()
    };
    let privilege = |role: &Value, given: &Value| RolePrivilege {
        role: (text(role, "db"), text(role, "role")),
        place: if given.get("cluster").is_some() {
            PrivilegePlace::Cluster
        } else if given.get("anyResource").is_some() {
            PrivilegePlace::Everywhere
        } else {
            PrivilegePlace::Collections(text(given, "db"), text(given, "collection"))
        },
        actions: given
            .get("actions")
            .map_or(&[][..], Value::items)
            .iter()
            .filter_map(|action| Some(action.as_text()?.to_owned()))
            .collect(),
    };
    let given = |role: &Value| {
        let listed = role.get("privileges").map_or(&[][..], Value::items).iter();
        listed.map(|given| privilege(role, given)).collect::<Vec<_>>()
    };
    Some(roles.iter().flat_map(given).collect())
}

pub(super) fn key_fields(key: &Value) -> Vec<(String, bool)> {
    let fields = key.entries().iter();
    fields.map(|(path, kind)| (path.clone(), *kind == Value::Text("hashed".into()))).collect()
}

fn pairs(map: Option<&Value>) -> Vec<(String, String)> {
    let entries = map.map_or(&[][..], Value::entries).iter();
    entries.map(|(key, value)| (key.clone(), value.as_text().expect("text").to_owned())).collect()
}

/// `"shards": ["s0"]`, `"sharded": [{"ns": "db.coll", "key": {"a": 1}, "chunks": {"s0": 4}, "jumbo":
/// {"s0": 1}}]`, `"routers": [{"host": "r1:27017", "ping": SECONDS}]`.
fn cluster(facts: &Value) -> Option<Cluster> {
    let list = |key: &str| facts.get(key).map(|list| list.items().to_vec());
    let text = |value: &Value| value.as_text().expect("text").to_owned();
    let sharded = |entry: &Value| {
        let count = |kind: &str, shard: &str| {
            let counted = entry.get(kind).and_then(|counts| counts.get(shard));
            counted.and_then(Value::as_int).unwrap_or(0) as u64
        };
        let ns = entry.get("ns").map(text).expect("a namespace");
        let ns = Namespace::parse(&ns).expect("a namespace");
        let parts = entry.get("chunks").map(|chunks| {
            let shards = chunks.entries().iter();
            let part = |shard: &String| ShardPart {
                shard: shard.clone(),
                chunks: count("chunks", shard),
                jumbo: count("jumbo", shard),
                data_bytes: None,
            };
            shards.map(|(shard, _)| part(shard)).collect()
        });
        let fields = key_fields(entry.get("key").expect("a key"));
        ShardedCollection { parts, ..ShardedCollection::by(ns, fields) }
    };
    let router = |router: &Value| Router {
        host: router.get("host").map(text).expect("a host"),
        also: router.get("also").map(text).into_iter().collect(),
        ping: router.get("ping").and_then(Value::as_int),
        up_seconds: None,
    };
    let shard = |name: &Value| Shard { name: text(name), ..Shard::default() };
    let cluster = Cluster {
        shards: list("shards").map(|shards| shards.iter().map(shard).collect()),
        collections: list("sharded").map(|sharded_ones| sharded_ones.iter().map(sharded).collect()),
        routers: list("routers").map(|routers| routers.iter().map(router).collect()),
        ..Cluster::default()
    };
    (cluster != Cluster::default()).then_some(cluster)
}
