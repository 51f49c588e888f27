//! Tencent Cloud's `DescribeSecurityGroupPolicies`, as the API returns it or `tccli` prints it. The
//! response does not contain the name of the group, so the file name is used.

use docward_model::{AccessRule, Peer, PortRange};
use serde::Deserialize;

use super::{
    Export, Fault, by_precedence, group,
    parts::{self, Entry, Filled, Range, is_first, protocol, readable},
    typed,
};

const FORMAT: &str = "DescribeSecurityGroupPolicies";

#[derive(Deserialize)]
struct Wrapped {
    #[serde(rename = "Response")]
    response: Answer,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    security_group_policy_set: PolicySet,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PolicySet {
    ingress: Option<Vec<Entry<Policy>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Policy {
    policy_index: Option<i64>,
    protocol: Option<String>,
    port: Option<PolicyPorts>,
    cidr_block: Option<Filled<Range>>,
    ipv6_cidr_block: Option<Filled<Range>>,
    security_group_id: Option<String>,
    address_template: Option<AddressTemplate>,
    action: String,
    policy_description: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AddressTemplate {
    address_id: Option<String>,
    address_group_id: Option<String>,
}

/// `ALL`, `27017`, `80,443`, `1000-2000`; empty if a service template contains the ports.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct PolicyPorts(Vec<PortRange>);

impl TryFrom<String> for PolicyPorts {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let ports = parts.map(|part| parts::ports(part, docward_model::Protocol::Tcp));
        ports.collect::<Result<_, _>>().map(Self)
    }
}

pub(super) fn groups(text: &str, stem: &str) -> Result<Export, Fault> {
    let answer = if text.contains("\"Response\"") {
        typed::<Wrapped>(text, FORMAT)?.response
    } else {
        typed::<Answer>(text, FORMAT)?
    };
    let mut export = Export::default();
    let ingress = answer.security_group_policy_set.ingress.unwrap_or_default();
    let read = |number, policy: Policy| policy.rule(number as i64);
    let mut rules = readable(ingress, stem, &mut export.unread, read);
    by_precedence(&mut rules);
    let rules = rules.into_iter().map(|(_, rule)| rule).collect();
    export.groups.push(group(stem.to_owned(), None, rules));
    Ok(export)
}

impl Policy {
    fn rule(self, number: i64) -> Result<Option<(i64, AccessRule)>, String> {
        let index = self.policy_index.unwrap_or(number);
        let stated = self.protocol.filter(|text| !text.is_empty());
        let ports = match (stated.as_deref().map(protocol), self.port) {
            // A service template, whose ports are stored elsewhere.
            (None, _) => Vec::new(),
            (Some(None), _) => return Ok(None),
            (Some(Some(protocol)), Some(PolicyPorts(ports))) if !ports.is_empty() => {
                ports.into_iter().map(|range| PortRange { protocol, ..range }).collect()
            }
            (Some(Some(protocol)), _) => vec![PortRange::every(protocol)],
        };
        let ranges = [self.cidr_block, self.ipv6_cidr_block].into_iter().flatten();
        let mut sources: Vec<Peer> =
            ranges.filter_map(|block| block.0).map(|range| Peer::Range(range.0)).collect();
        let template = self.address_template.into_iter();
        let lists = template.flat_map(|t| [t.address_id, t.address_group_id]).flatten();
        sources.extend(lists.filter(|name| !name.is_empty()).map(Peer::Listed));
        let group = self.security_group_id.filter(|name| !name.is_empty());
        sources.extend(group.map(Peer::Named));
        let name = self.policy_description.filter(|text| !text.trim().is_empty());
        let rule = AccessRule {
            name: name.unwrap_or_else(|| format!("rule {index}")),
            allows: is_first(&self.action, "ACCEPT", "DROP")?,
            sources,
            ports,
            built_in: false,
            inherited: false,
        };
        Ok(Some((index, rule)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn se_5_security_groups_of_tencent_cloud() {
        let set = r#"{"Version": "3", "Egress": [{"Action": "ACCEPT", "Protocol": "ALL", "Port": "ALL", "CidrBlock": "0.0.0.0/0"}],
            "Ingress": [
                {"PolicyIndex": 1, "Protocol": "TCP", "Port": "27017,27018", "CidrBlock": "0.0.0.0/0", "Ipv6CidrBlock": "",
                 "SecurityGroupId": "", "AddressTemplate": {"AddressId": "", "AddressGroupId": ""}, "Action": "ACCEPT", "PolicyDescription": ""},
                {"PolicyIndex": 0, "Protocol": "ALL", "Port": "ALL", "CidrBlock": "", "Ipv6CidrBlock": "::/0",
                 "SecurityGroupId": "sg-2", "Action": "DROP", "PolicyDescription": "no v6"},
                {"PolicyIndex": 2, "Protocol": "ICMP", "Port": "ALL", "CidrBlock": "0.0.0.0/0", "Action": "ACCEPT"},
                {"PolicyIndex": 3, "Protocol": "", "Port": "", "CidrBlock": "10.0.0.1", "Action": "ACCEPT",
                 "ServiceTemplate": {"ServiceId": "ppm-1"}}]}"#;
        let expect = [
            "stem: no v6 deny ::/0,=sg-2 every port",
            "stem: rule 1 allow 0.0.0.0/0 27017,27018",
            "stem: rule 3 allow 10.0.0.1/32 ",
        ];
        let api =
            format!(r#"{{"Response": {{"SecurityGroupPolicySet": {set}, "RequestId": "x"}}}}"#);
        assert_eq!(read(&api), expect);
        assert_eq!(read(&format!(r#"{{"SecurityGroupPolicySet": {set}}}"#)), expect);
    }
}
