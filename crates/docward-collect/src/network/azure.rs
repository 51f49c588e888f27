//! `az network nsg show` and `az network nsg list`: rules with priorities, some of them built into
//! the platform.

use docward_model::{AccessRule, Peer, PortRange};
use serde::Deserialize;

use super::{
    Export, Fault, by_precedence, group, one_or_list,
    parts::{Entry, Filled, Ports, Range, everyone, is_first, protocol, readable},
};

const FORMAT: &str = "az network nsg";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nsg {
    name: String,
    id: Option<String>,
    security_rules: Vec<Entry<Rule>>,
    #[serde(default)]
    default_security_rules: Vec<Entry<Rule>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    name: String,
    access: String,
    direction: String,
    priority: i64,
    protocol: String,
    source_address_prefix: Option<Filled<Prefix>>,
    source_address_prefixes: Option<Vec<Filled<Prefix>>>,
    source_application_security_groups: Option<Vec<Named>>,
    destination_port_range: Option<Filled<Ports>>,
    destination_port_ranges: Option<Vec<Filled<Ports>>>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
}

/// An address range, or a service tag whose addresses the platform knows.
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
        let text = text.trim();
        if ["*", "any", "internet"].iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Ok(Self::Everyone);
        }
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains(':') {
            return Ok(Self::Tag(text.to_owned()));
        }
        Range::parse(text).map(Self::Range)
    }
}

/// Returns whether a tag means the network of the machines. Other tags are services of the
/// platform, and anyone can rent an address of some of them (`AzureCloud`).
fn is_own(tag: &str) -> bool {
    ["VirtualNetwork", "AzureLoadBalancer"].iter().any(|own| tag.eq_ignore_ascii_case(own))
}

pub(super) fn groups(text: &str) -> Result<Export, Fault> {
    let list: Vec<Nsg> = one_or_list(text, FORMAT)?;
    let mut export = Export::default();
    for nsg in list {
        let mut read = |entries, built_in| {
            readable(entries, &nsg.name, &mut export.unread, |_, rule: Rule| rule.rule(built_in))
        };
        let mut rules = read(nsg.security_rules, false);
        rules.extend(read(nsg.default_security_rules, true));
        by_precedence(&mut rules);
        let rules = rules.into_iter().map(|(_, rule)| rule).collect();
        export.groups.push(group(nsg.name, nsg.id, rules));
    }
    Ok(export)
}

impl Rule {
    fn rule(self, built_in: bool) -> Result<Option<(i64, AccessRule)>, String> {
        if !is_first(&self.direction, "Inbound", "Outbound")? {
            return Ok(None);
        }
        let Some(protocol) = protocol(&self.protocol) else { return Ok(None) };
        let prefixes = self.source_address_prefixes.into_iter().flatten();
        let mut sources = Vec::new();
        for prefix in prefixes.chain(self.source_address_prefix).filter_map(|prefix| prefix.0) {
            match prefix {
                Prefix::Everyone => sources.extend(everyone()),
                Prefix::Range(range) => sources.push(Peer::Range(range.0)),
                Prefix::Tag(tag) if is_own(&tag) => sources.push(Peer::Named(tag)),
                Prefix::Tag(tag) => sources.push(Peer::Listed(tag)),
            }
        }
        let named = self.source_application_security_groups.into_iter().flatten();
        sources.extend(
            named.map(|group| {
                Peer::Named(group.id.rsplit('/').next().unwrap_or_default().to_owned())
            }),
        );
        let ports = self.destination_port_ranges.into_iter().flatten();
        let ports = ports.chain(self.destination_port_range).filter_map(|ports| ports.0);
        let ports: Vec<PortRange> = ports.map(|p| PortRange { protocol, ..p.0 }).collect();
        if sources.is_empty() || ports.is_empty() {
            return Err("it has no source or no destination port".to_owned());
        }
        let rule = AccessRule {
            name: self.name,
            allows: is_first(&self.access, "Allow", "Deny")?,
            sources,
            ports,
            built_in,
            inherited: false,
        };
        Ok(Some((self.priority, rule)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{parse, tests::read};

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

    fn rules(rules: &str) -> String {
        format!(r#"{{"name": "nsg", "securityRules": [{rules}]}}"#)
    }

    fn inbound(name: &str, more: &str) -> String {
        format!(
            r#"{{"name": "{name}", "access": "Allow", "direction": "Inbound", "priority": 100, "protocol": "Tcp", {more}}}"#
        )
    }

    #[test]
    fn sc_2_se_5_tags_are_known_in_whichever_case() {
        for everyone in ["INTERNET", "internet", "any", "ANY", "*"] {
            let more =
                format!(r#""sourceAddressPrefix": "{everyone}", "destinationPortRange": "27017""#);
            let expect = ["nsg: r allow 0.0.0.0/0,::/0 27017"];
            assert_eq!(read(&rules(&inbound("r", &more))), expect, "{everyone}");
        }
    }

    #[test]
    fn sc_2_se_5_tags_of_services_are_lists_of_addresses() {
        for (tag, read_as) in [
            ("AzureCloud", "@AzureCloud"),
            ("Storage.WestEurope", "@Storage.WestEurope"),
            ("virtualnetwork", "=virtualnetwork"),
            ("AzureLoadBalancer", "=AzureLoadBalancer"),
        ] {
            let more =
                format!(r#""sourceAddressPrefix": "{tag}", "destinationPortRange": "27017""#);
            let expect = [format!("nsg: r allow {read_as} 27017")];
            assert_eq!(read(&rules(&inbound("r", &more))), expect, "{tag}");
        }
    }

    #[test]
    fn sc_2_se_5_empty_texts_are_none() {
        let more = r#""sourceAddressPrefix": "", "sourceAddressPrefixes": ["10.0.0.0/8"],
            "destinationPortRange": "", "destinationPortRanges": ["27017"]"#;
        assert_eq!(read(&rules(&inbound("r", more))), ["nsg: r allow 10.0.0.0/8 27017"]);
    }

    #[test]
    fn sc_2_se_5_an_odd_rule_is_named_and_the_others_count() {
        let good =
            inbound("good", r#""sourceAddressPrefix": "*", "destinationPortRange": "27017""#);
        let from = r#""sourceAddressPrefix": "10.0.0.0/33", "destinationPortRange": "27017""#;
        let nothing = r#""sourceAddressPrefix": "", "destinationPortRange": "27017""#;
        let fine = r#""sourceAddressPrefix": "*", "destinationPortRange": "27017""#;
        for (odd, why) in [
            (inbound("odd", from), "`10.0.0.0/33` is not an address"),
            (inbound("odd", nothing), "no source"),
            (inbound("odd", fine).replace("Allow", "Audit"), "neither Allow nor Deny"),
            (inbound("odd", fine).replace("Inbound", "Sideways"), "neither Inbound nor Outbound"),
            (r#"{"name": "odd"}"#.to_owned(), "missing field"),
        ] {
            let content = parse(&rules(&format!("{odd}, {good}")), "stem").unwrap();
            assert_eq!(content.network.groups[0].rules.len(), 1, "{odd}");
            assert_eq!(content.network.unread.len(), 1, "{odd}");
            let told = &content.network.unread[0];
            assert!(told.starts_with("`odd` of `nsg`: ") && told.contains(why), "{told}");
        }
    }
}
