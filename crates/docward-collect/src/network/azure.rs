//! `az network nsg show` and `az network nsg list`: rules with priorities, some of them the platform's.

use docward_model::{AccessRule, Peer, PortRange, RuleGroup};
use serde::Deserialize;

use super::{
    Fault, by_precedence, group, one_or_list,
    parts::{self, Range, everyone, protocol},
};

const FORMAT: &str = "az network nsg";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nsg {
    name: String,
    id: Option<String>,
    security_rules: Vec<Rule>,
    #[serde(default)]
    default_security_rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    name: String,
    access: String,
    direction: String,
    priority: i64,
    protocol: String,
    source_address_prefix: Option<Prefix>,
    source_address_prefixes: Option<Vec<Prefix>>,
    source_application_security_groups: Option<Vec<Named>>,
    destination_port_range: Option<DestinationPorts>,
    destination_port_ranges: Option<Vec<DestinationPorts>>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// A range of addresses, or a tag the platform knows the addresses of.
#[derive(Deserialize)]
#[serde(try_from = "String")]
enum Prefix {
    Everyone,
    Range(Range),
    Tag(String),
}

impl TryFrom<String> for Prefix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "*" | "Any" | "Internet" => Ok(Self::Everyone),
            _ if text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains(':') => {
                Ok(Self::Tag(text))
            }
            _ => Range::parse(&text).map(Self::Range),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct DestinationPorts(PortRange);

impl TryFrom<String> for DestinationPorts {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parts::ports(&text, docward_model::Protocol::Tcp).map(Self)
    }
}

pub(super) fn groups(text: &str) -> Result<Vec<RuleGroup>, Fault> {
    let groups: Vec<Nsg> = one_or_list(text, FORMAT)?;
    let groups = groups.into_iter().map(|nsg| {
        let own = nsg.security_rules.into_iter().filter_map(|rule| rule.rule(false));
        let built_in = nsg.default_security_rules.into_iter().filter_map(|rule| rule.rule(true));
        let mut rules: Vec<_> = own.chain(built_in).collect();
        by_precedence(&mut rules);
        group(nsg.name, nsg.id, rules.into_iter().map(|(_, rule)| rule).collect())
    });
    Ok(groups.collect())
}

impl Rule {
    fn rule(self, built_in: bool) -> Option<(i64, AccessRule)> {
        if !self.direction.eq_ignore_ascii_case("inbound") {
            return None;
        }
        let protocol = protocol(&self.protocol)?;
        let prefixes = self.source_address_prefixes.into_iter().flatten();
        let mut sources = Vec::new();
        for prefix in prefixes.chain(self.source_address_prefix) {
            match prefix {
                Prefix::Everyone => sources.extend(everyone()),
                Prefix::Range(range) => sources.push(Peer::Range(range.0)),
                Prefix::Tag(tag) => sources.push(Peer::Named(tag)),
            }
        }
        let named = self.source_application_security_groups.into_iter().flatten();
        sources.extend(
            named.map(|group| {
                Peer::Named(group.id.rsplit('/').next().unwrap_or_default().to_owned())
            }),
        );
        let ports = self.destination_port_ranges.into_iter().flatten();
        let ports = ports.chain(self.destination_port_range);
        let rule = AccessRule {
            name: self.name,
            allows: self.access.eq_ignore_ascii_case("allow"),
            sources,
            ports: ports.map(|p| PortRange { protocol, ..p.0 }).collect(),
            built_in,
        };
        Some((self.priority, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    const NSG: &str = r#"{"name": "nsg-mongo", "id": "/subscriptions/1/nsg-mongo",
        "defaultSecurityRules": [
            {"name": "DenyAllInBound", "access": "Deny", "direction": "Inbound", "priority": 65500, "protocol": "*",
             "sourceAddressPrefix": "*", "sourceAddressPrefixes": [], "destinationPortRange": "*", "destinationPortRanges": []}],
        "securityRules": [
            {"name": "late", "access": "Allow", "direction": "Inbound", "priority": 300, "protocol": "Tcp",
             "sourceAddressPrefix": "Internet", "destinationPortRange": "27017"},
            {"name": "early", "access": "Deny", "direction": "Inbound", "priority": 100, "protocol": "*",
             "sourceAddressPrefix": "VirtualNetwork", "sourceAddressPrefixes": ["203.0.113.0/24"],
             "sourceApplicationSecurityGroups": [{"id": "/a/b/asg-app"}],
             "destinationPortRange": null, "destinationPortRanges": ["80", "1000-2000"]},
            {"name": "out", "access": "Allow", "direction": "Outbound", "priority": 100, "protocol": "*",
             "sourceAddressPrefix": "*", "destinationPortRange": "*"}]}"#;

    #[test]
    fn se_5_network_security_groups_of_azure() {
        let expect = [
            "nsg-mongo: early deny 203.0.113.0/24,=VirtualNetwork,=asg-app 80,1000-2000",
            "nsg-mongo: late allow 0.0.0.0/0,::/0 27017",
            "nsg-mongo: DenyAllInBound deny 0.0.0.0/0,::/0 every port",
        ];
        assert_eq!(read(NSG), expect);
        assert_eq!(read(&format!("[{NSG}]")), expect);
    }
}
