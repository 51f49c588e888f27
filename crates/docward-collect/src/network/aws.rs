//! Reads `aws ec2 describe-security-groups`. The rules of security groups only allow; there are no
//! deny rules.

use docward_model::{AccessRule, Peer, PortRange, Protocol};
use serde::Deserialize;

use super::{
    Export, Fault, group,
    parts::{Entry, Range, protocol, readable},
    typed,
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    security_groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Group {
    group_id: String,
    group_name: Option<String>,
    #[serde(default)]
    ip_permissions: Vec<Entry<Permission>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Permission {
    ip_protocol: String,
    from_port: Option<i32>,
    to_port: Option<i32>,
    #[serde(default)]
    ip_ranges: Vec<Ipv4Range>,
    #[serde(default)]
    ipv6_ranges: Vec<Ipv6Range>,
    #[serde(default)]
    user_id_group_pairs: Vec<GroupPair>,
    #[serde(default)]
    prefix_list_ids: Vec<PrefixList>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ipv4Range {
    cidr_ip: Range,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Ipv6Range {
    cidr_ipv6: Range,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GroupPair {
    group_id: Option<String>,
    group_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PrefixList {
    prefix_list_id: String,
}

pub(super) fn groups(text: &str) -> Result<Export, Fault> {
    let answer: Answer = typed(text, "aws ec2 describe-security-groups")?;
    let mut export = Export::default();
    for g in answer.security_groups {
        let name = g.group_name.filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| g.group_id.clone());
        let rules =
            readable(g.ip_permissions, &g.group_id, &mut export.unread, |number, permission| {
                permission.rule(number)
            });
        export.groups.push(group(name, Some(g.group_id), rules));
    }
    Ok(export)
}

impl Permission {
    fn rule(self, number: usize) -> Result<Option<AccessRule>, String> {
        let Some(protocol) = protocol(&self.ip_protocol) else { return Ok(None) };
        let ports = self.ports(protocol)?;
        let v4 = self.ip_ranges.into_iter().map(|r| Peer::Range(r.cidr_ip.0));
        let v6 = self.ipv6_ranges.into_iter().map(|r| Peer::Range(r.cidr_ipv6.0));
        let groups =
            self.user_id_group_pairs.into_iter().filter_map(|p| p.group_id.or(p.group_name));
        let lists = self.prefix_list_ids.into_iter().map(|l| l.prefix_list_id);
        Ok(Some(AccessRule {
            name: format!("rule {}", number + 1),
            allows: true,
            sources: v4
                .chain(v6)
                .chain(groups.map(Peer::Named))
                .chain(lists.map(Peer::Listed))
                .collect(),
            ports: vec![ports],
            built_in: false,
            inherited: false,
        }))
    }

    /// No port, or -1, means all ports. An invalid range must not be treated as an empty one.
    fn ports(&self, protocol: Protocol) -> Result<PortRange, String> {
        let (first, last) = match (self.from_port, self.to_port) {
            _ if protocol == Protocol::Any => return Ok(PortRange::every(protocol)),
            (None | Some(-1), None | Some(-1)) => return Ok(PortRange::every(protocol)),
            (first, last) => (first.unwrap_or(-1), last.unwrap_or(-1)),
        };
        match (u16::try_from(first), u16::try_from(last)) {
            (Ok(first), Ok(last)) if first <= last => Ok(PortRange { protocol, first, last }),
            _ => Err(format!("ports from {first} to {last} are not a range")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{parse, tests::read};

    #[test]
    fn se_5_security_groups_of_aws() {
        let text = r#"{"SecurityGroups": [{
            "Description": "database", "GroupName": "mongo", "GroupId": "sg-1", "OwnerId": "1", "VpcId": "vpc-1",
            "IpPermissions": [
                {"IpProtocol": "tcp", "FromPort": 27017, "ToPort": 27018,
                 "IpRanges": [{"CidrIp": "10.0.0.0/16", "Description": "apps"}], "Ipv6Ranges": [{"CidrIpv6": "::/0"}],
                 "PrefixListIds": [{"PrefixListId": "pl-1"}], "UserIdGroupPairs": [{"GroupId": "sg-2", "UserId": "1"}]},
                {"IpProtocol": "icmp", "FromPort": 8, "ToPort": -1, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]},
                {"IpProtocol": "-1", "IpRanges": [], "UserIdGroupPairs": [{"GroupId": "sg-1"}]}
            ],
            "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        }]}"#;
        assert_eq!(
            read(text),
            [
                "mongo: rule 1 allow 10.0.0.0/16,::/0,=sg-2,@pl-1 27017-27018",
                "mongo: rule 3 allow =sg-1 every port",
            ]
        );
    }

    #[test]
    fn sc_2_se_5_ports_that_are_no_range_are_told() {
        let group = |first: i32, last: i32| {
            format!(
                r#"{{"SecurityGroups": [{{"GroupId": "sg-1", "IpPermissions": [{{"IpProtocol": "tcp", "FromPort": {first}, "ToPort": {last}, "IpRanges": [{{"CidrIp": "0.0.0.0/0"}}]}}]}}]}}"#
            )
        };
        assert_eq!(read(&group(-1, -1)), ["sg-1: rule 1 allow 0.0.0.0/0 every port"]);
        for (first, last) in [(27018, 27017), (27017, 70_000), (-1, 27017)] {
            let content = parse(&group(first, last), "stem").unwrap();
            assert_eq!(content.network.groups[0].rules, [], "{first} {last}");
            assert_eq!(content.network.unread.len(), 1, "{first} {last}");
        }
    }
}
