//! `gcloud compute firewall-rules list --format=json`: rules of a network, each for some targets or for
//! every machine. What has the same targets is a group. A rule for every machine that keeps out counts
//! in the groups of single targets too; one that lets in is judged once, in its own group.

use std::collections::BTreeMap;

use docward_model::{AccessRule, Peer, PortRange, RuleGroup};
use serde::Deserialize;

use super::{
    Fault, by_precedence, group, one_or_list,
    parts::{self, Range, everyone, protocol},
    typed,
};

const FORMAT: &str = "gcloud compute firewall-rules list";

#[derive(Deserialize)]
struct List {
    items: Vec<Firewall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Firewall {
    name: String,
    network: Option<String>,
    direction: Option<String>,
    #[serde(default = "usual_priority")]
    priority: i64,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    source_ranges: Vec<Range>,
    #[serde(default)]
    source_tags: Vec<String>,
    #[serde(default)]
    source_service_accounts: Vec<String>,
    #[serde(default)]
    target_tags: Vec<String>,
    #[serde(default)]
    target_service_accounts: Vec<String>,
    #[serde(default)]
    allowed: Vec<Traffic>,
    #[serde(default)]
    denied: Vec<Traffic>,
}

/// What the platform takes when a rule has no priority.
fn usual_priority() -> i64 {
    1000
}

#[derive(Deserialize)]
struct Traffic {
    #[serde(rename = "IPProtocol")]
    protocol: String,
    #[serde(default)]
    ports: Vec<TrafficPorts>,
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct TrafficPorts(PortRange);

impl TryFrom<String> for TrafficPorts {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        parts::ports(&text, docward_model::Protocol::Tcp).map(Self)
    }
}

pub(super) fn groups(text: &str) -> Result<Vec<RuleGroup>, Fault> {
    // A list as the API has it, or as the command prints it.
    let is_api = !text.trim_start().starts_with('[') && text.contains("\"items\"");
    let rules: Vec<Firewall> =
        if is_api { typed::<List>(text, FORMAT)?.items } else { one_or_list(text, FORMAT)? };
    // By network and target; the empty target is every machine.
    let mut groups: BTreeMap<(String, String), Vec<(i64, AccessRule)>> = BTreeMap::new();
    for firewall in rules {
        let inbound =
            firewall.direction.as_deref().is_none_or(|d| d.eq_ignore_ascii_case("ingress"));
        if !inbound || firewall.disabled {
            continue;
        }
        let network = firewall.network.as_deref().unwrap_or("default");
        let network = network.rsplit('/').next().unwrap_or_default().to_owned();
        let mut targets = firewall.target_tags.clone();
        targets.extend(firewall.target_service_accounts.iter().cloned());
        if targets.is_empty() {
            targets.push(String::new());
        }
        let priority = firewall.priority;
        let rules = firewall.rules();
        for target in targets {
            let group = groups.entry((network.clone(), target)).or_default();
            group.extend(rules.iter().map(|rule| (priority, rule.clone())));
        }
    }
    let keeping_out: BTreeMap<String, Vec<(i64, AccessRule)>> = groups
        .iter()
        .filter(|((_, target), _)| target.is_empty())
        .map(|((network, _), rules)| {
            (network.clone(), rules.iter().filter(|(_, rule)| !rule.allows).cloned().collect())
        })
        .collect();
    let groups = groups.into_iter().map(|((network, target), mut rules)| {
        if target.is_empty() {
            by_precedence(&mut rules);
            return group(network, None, rules.into_iter().map(|(_, rule)| rule).collect());
        }
        rules.extend(keeping_out.get(&network).into_iter().flatten().cloned());
        by_precedence(&mut rules);
        let name = format!("{network}/{target}");
        group(name, Some(target), rules.into_iter().map(|(_, rule)| rule).collect())
    });
    Ok(groups.collect())
}

impl Firewall {
    fn rules(self) -> Vec<AccessRule> {
        let named = self.source_tags.into_iter().chain(self.source_service_accounts);
        let mut sources: Vec<Peer> = self.source_ranges.iter().map(|r| Peer::Range(r.0)).collect();
        sources.extend(named.map(Peer::Named));
        if sources.is_empty() {
            sources.extend(everyone());
        }
        let rule = |traffic: &[Traffic], allows| {
            let ports: Vec<PortRange> = traffic.iter().flat_map(Traffic::ranges).collect();
            let (name, sources) = (self.name.clone(), sources.clone());
            (!ports.is_empty()).then_some(AccessRule {
                name,
                allows,
                sources,
                ports,
                built_in: false,
            })
        };
        [rule(&self.denied, false), rule(&self.allowed, true)].into_iter().flatten().collect()
    }
}

impl Traffic {
    fn ranges(&self) -> Vec<PortRange> {
        match protocol(&self.protocol) {
            None => Vec::new(),
            Some(protocol) if self.ports.is_empty() => vec![PortRange::every(protocol)],
            Some(protocol) => self.ports.iter().map(|p| PortRange { protocol, ..p.0 }).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn se_5_firewall_rules_of_google_cloud() {
        let text = r#"[
            {"name": "allow-mongo", "network": "https://www.googleapis.com/compute/v1/projects/p/global/networks/prod",
             "direction": "INGRESS", "priority": 1000, "disabled": false, "sourceRanges": ["0.0.0.0/0"],
             "targetTags": ["mongo"], "allowed": [{"IPProtocol": "tcp", "ports": ["27017", "27018-27019"]}, {"IPProtocol": "icmp"}]},
            {"name": "deny-world", "network": "networks/prod", "direction": "INGRESS", "priority": 900,
             "denied": [{"IPProtocol": "all"}]},
            {"name": "old", "network": "networks/prod", "direction": "INGRESS", "disabled": true,
             "allowed": [{"IPProtocol": "tcp"}]},
            {"name": "out", "network": "networks/prod", "direction": "EGRESS", "allowed": [{"IPProtocol": "tcp"}]},
            {"name": "ssh", "network": "networks/prod", "direction": "INGRESS", "sourceTags": ["bastion"],
             "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]}]"#;
        assert_eq!(
            read(text),
            [
                "prod: deny-world deny 0.0.0.0/0,::/0 every port",
                "prod: ssh allow =bastion 22",
                "prod/mongo: deny-world deny 0.0.0.0/0,::/0 every port",
                "prod/mongo: allow-mongo allow 0.0.0.0/0 27017,27018-27019",
            ]
        );
        let one =
            r#"{"items": [{"name": "a", "allowed": [{"IPProtocol": "tcp", "ports": ["1"]}]}]}"#;
        assert_eq!(read(one), ["default: a allow 0.0.0.0/0,::/0 1"]);
    }
}
