//! `gcloud compute firewall-rules list --format=json`: rules of a network, each for some targets or
//! for every machine. Rules with the same targets form a group. A rule for every machine also
//! applies in the groups of single targets, by its priority.

use std::collections::BTreeMap;

use docward_model::{AccessRule, Peer, PortRange, RuleGroup};
use serde::Deserialize;

use super::{
    Export, Fault, by_precedence, group, one_or_list,
    parts::{Entry, Ports, Range, everyone, is_first, protocol, readable},
    typed,
};

const FORMAT: &str = "gcloud compute firewall-rules list";

#[derive(Deserialize)]
struct List {
    items: Vec<Entry<Firewall>>,
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

/// The platform's default priority.
fn usual_priority() -> i64 {
    1000
}

#[derive(Deserialize)]
struct Traffic {
    #[serde(rename = "IPProtocol")]
    protocol: String,
    #[serde(default)]
    ports: Vec<Ports>,
}

/// Rules with their priorities.
type Ranked = Vec<(i64, AccessRule)>;

pub(super) fn groups(text: &str) -> Result<Export, Fault> {
    // A list in the format of the API, or as the command prints it.
    let is_api = !text.trim_start().starts_with('[') && text.contains("\"items\"");
    let entries: Vec<Entry<Firewall>> =
        if is_api { typed::<List>(text, FORMAT)?.items } else { one_or_list(text, FORMAT)? };
    let mut export = Export::default();
    let firewalls = readable(entries, "firewall-rules", &mut export.unread, |_, rule: Firewall| {
        let inbound = rule.direction.as_deref().map(|d| is_first(d, "INGRESS", "EGRESS"));
        Ok((inbound.unwrap_or(Ok(true))? && !rule.disabled).then_some(rule))
    });
    // By network: the rules for every machine, and the rules of each target.
    let mut networks: BTreeMap<String, (Ranked, BTreeMap<String, Ranked>)> = BTreeMap::new();
    for firewall in firewalls {
        let network = firewall.network.as_deref().unwrap_or("default");
        let network = network.rsplit('/').next().unwrap_or_default().to_owned();
        let (for_all, by_target) = networks.entry(network).or_default();
        let mut targets = firewall.target_tags.clone();
        targets.extend(firewall.target_service_accounts.iter().cloned());
        let priority = firewall.priority;
        let rules = firewall.rules();
        let ranked = || rules.iter().map(|rule| (priority, rule.clone()));
        if targets.is_empty() {
            for_all.extend(ranked());
        }
        for target in targets {
            by_target.entry(target).or_default().extend(ranked());
        }
    }
    let in_order = |mut rules: Ranked| -> Vec<AccessRule> {
        by_precedence(&mut rules);
        rules.into_iter().map(|(_, rule)| rule).collect()
    };
    for (network, (for_all, by_target)) in networks {
        let inherited = |(priority, rule): &(i64, AccessRule)| {
            (*priority, AccessRule { inherited: true, ..rule.clone() })
        };
        let targets = by_target.into_iter().map(|(target, mut rules)| {
            rules.extend(for_all.iter().map(inherited));
            group(format!("{network}/{target}"), Some(target), in_order(rules))
        });
        let targets: Vec<RuleGroup> = targets.collect();
        if !for_all.is_empty() {
            export.groups.push(group(network, None, in_order(for_all)));
        }
        export.groups.extend(targets);
    }
    Ok(export)
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
                inherited: false,
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
    use super::super::{parse, tests::read};

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
                "prod/mongo: ssh allow =bastion 22",
            ]
        );
        let one =
            r#"{"items": [{"name": "a", "allowed": [{"IPProtocol": "tcp", "ports": ["1"]}]}]}"#;
        assert_eq!(read(one), ["default: a allow 0.0.0.0/0,::/0 1"]);
    }

    #[test]
    fn sc_2_se_5_rules_for_every_machine_count_in_each_group_by_priority() {
        let rule = |name: &str, kind: &str, priority: u32, more: &str| {
            format!(
                r#"{{"name": "{name}", "network": "n/prod", "priority": {priority}, "{kind}": [{{"IPProtocol": "tcp", "ports": ["27017"]}}]{more}}}"#
            )
        };
        let mongo = r#", "targetTags": ["mongo"], "sourceRanges": ["10.0.0.0/8"]"#;
        let text = format!(
            "[{}, {}, {}]",
            rule("world", "allowed", 800, ""),
            rule("early", "denied", 700, mongo),
            rule("late", "allowed", 900, mongo)
        );
        assert_eq!(
            read(&text),
            [
                "prod: world allow 0.0.0.0/0,::/0 27017",
                "prod/mongo: early deny 10.0.0.0/8 27017",
                "prod/mongo: world allow 0.0.0.0/0,::/0 27017",
                "prod/mongo: late allow 10.0.0.0/8 27017",
            ]
        );
        let groups = parse(&text, "stem").unwrap().network.groups;
        let inherited = |at: usize| groups[at].rules.iter().filter(|rule| rule.inherited).count();
        assert_eq!((groups.len(), inherited(0), inherited(1)), (2, 0, 1));
    }

    #[test]
    fn sc_2_an_odd_firewall_rule_is_named() {
        let text = r#"[{"name": "odd", "sourceRanges": ["10.0.0.0/40"], "allowed": [{"IPProtocol": "tcp"}]},
            {"name": "good", "allowed": [{"IPProtocol": "tcp", "ports": ["1"]}]}]"#;
        let network = parse(text, "stem").unwrap().network;
        assert_eq!((network.groups.len(), network.unread.len()), (1, 1));
        assert!(network.unread[0].starts_with("`odd` of `firewall-rules`: "));
    }
}
