//! Docward's own format: addresses and single rules, in TOML or JSON. See docs/security.md.

use std::collections::BTreeMap;

use docward_model::{AccessRule, Layer, Network, Peer, PortRange, Protocol, RuleGroup};
use serde::Deserialize;

use super::{
    Content, Fault,
    parts::{Address, Many, Ports, Range},
    typed,
};

/// The keys that identify a JSON file of this format.
pub(super) const KEYS: [&str; 6] =
    ["public_ip", "load_balancer_vip", "listener_port", "mongodb_port", "rules", "layers"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declared {
    public_ip: Option<Many<Address>>,
    load_balancer_vip: Option<Many<Address>>,
    listener_port: Option<Many<u16>>,
    mongodb_port: Option<Many<u16>>,
    #[serde(default)]
    rules: Vec<DeclaredRule>,
    #[serde(default)]
    layers: BTreeMap<String, LayerName>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredRule {
    name: Option<String>,
    layer: LayerName,
    #[serde(default)]
    direction: Direction,
    #[serde(default)]
    action: Action,
    #[serde(default)]
    protocol: ProtocolName,
    sources: Many<Range>,
    ports: Option<Many<Ports>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LayerName {
    LoadBalancer,
    Mongodb,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Direction {
    #[default]
    In,
    Out,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Allow,
    Deny,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ProtocolName {
    #[default]
    Tcp,
    Udp,
    Any,
}

impl From<LayerName> for Layer {
    fn from(name: LayerName) -> Self {
        match name {
            LayerName::LoadBalancer => Self::LoadBalancer,
            LayerName::Mongodb => Self::MongoDb,
        }
    }
}

pub(super) fn from_json(text: &str) -> Result<Content, Fault> {
    typed::<Declared>(text, "network rules").map(Declared::content)
}

pub(super) fn from_toml(text: &str) -> Result<Content, Fault> {
    let declared: Result<Declared, _> = toml_edit::de::from_str(text);
    declared.map(Declared::content).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Fault::Toml {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: error.message().replace('\n', ", "),
        }
    })
}

impl Declared {
    fn content(self) -> Content {
        let addresses = |list: Many<Address>| list.0.into_iter().map(|a| a.0).collect::<Vec<_>>();
        let ports = |list: Option<Many<u16>>| list.map(|list| list.0).unwrap_or_default();
        let mut groups: Vec<RuleGroup> = Vec::new();
        for (number, rule) in self.rules.into_iter().enumerate() {
            if rule.direction == Direction::Out {
                continue;
            }
            let layer = Layer::from(rule.layer);
            let at = groups.iter().position(|g| g.layer == Some(layer)).unwrap_or_else(|| {
                groups.push(RuleGroup {
                    name: layer.name().to_owned(),
                    layer: Some(layer),
                    ..RuleGroup::default()
                });
                groups.len() - 1
            });
            groups[at].rules.push(rule.rule(number));
        }
        Content {
            network: Network {
                public_addresses: self.public_ip.map(addresses),
                load_balancer_vips: self.load_balancer_vip.map(addresses).unwrap_or_default(),
                listener_ports: ports(self.listener_port),
                mongodb_ports: ports(self.mongodb_port),
                groups,
                unread: Vec::new(),
            },
            layers: self.layers.into_iter().map(|(group, l)| (group, l.into())).collect(),
        }
    }
}

impl DeclaredRule {
    fn rule(self, number: usize) -> AccessRule {
        let protocol = match self.protocol {
            ProtocolName::Tcp => Protocol::Tcp,
            ProtocolName::Udp => Protocol::Udp,
            ProtocolName::Any => Protocol::Any,
        };
        AccessRule {
            name: self.name.unwrap_or_else(|| format!("rule {}", number + 1)),
            allows: self.action == Action::Allow,
            sources: self.sources.0.into_iter().map(|range| Peer::Range(range.0)).collect(),
            ports: match self.ports {
                Some(ports) => ports.0.into_iter().map(|p| PortRange { protocol, ..p.0 }).collect(),
                None => vec![PortRange::every(protocol)],
            },
            built_in: false,
            inherited: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::read, *};

    #[test]
    fn rules_are_grouped_by_what_they_stand_in_front_of() {
        let text = r#"
            public_ip = []
            load_balancer_vip = "10.0.0.100"
            listener_port = 27017

            [[rules]]
            name = "office"
            layer = "load-balancer"
            sources = "203.0.113.10"
            ports = [27017, "27018-27019"]

            [[rules]]
            layer = "mongodb"
            action = "deny"
            protocol = "any"
            sources = ["2001:db8::1/32", "10.1.2.3/8"]

            [[rules]]
            layer = "mongodb"
            direction = "out"
            sources = "0.0.0.0/0"

            [layers]
            "sg-1" = "mongodb"
        "#;
        let content = from_toml(text).unwrap();
        assert_eq!(content.network.public_addresses, Some(Vec::new()));
        assert_eq!(content.network.load_balancer_vips.len(), 1);
        assert_eq!(content.network.listener_ports, [27017]);
        assert_eq!(content.layers["sg-1"], Layer::MongoDb);
        let expect = [
            "load-balancer: office allow 203.0.113.10/32 27017,27018-27019",
            "mongodb: rule 2 deny 2001:db8::/32,10.0.0.0/8 every port",
        ];
        assert_eq!(read(text), expect);
        let json = r#"{"rules": [{"layer": "mongodb", "sources": "::/0", "ports": "*"}]}"#;
        assert_eq!(read(json), ["mongodb: rule 1 allow ::/0 every port"]);
        assert_eq!(from_toml("listener_port = 1").unwrap().network.public_addresses, None);
    }
}
