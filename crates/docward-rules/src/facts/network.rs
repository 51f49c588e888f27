//! What rules of firewalls and security groups let in, once those that keep out are taken into account.

use std::net::IpAddr;

use docward_model::{AccessRule, Layer, Network, Peer, PortRange, Protocol, RuleGroup};
use ipnet::IpNet;

/// A range of no more ports than this is about what it holds; a wider one happens to hold it.
const NARROW: u16 = 100;

/// What one rule lets in.
#[derive(Debug)]
pub struct Admission<'a> {
    /// The rule.
    pub rule: &'a AccessRule,
    /// Addresses it lets in.
    pub ranges: Vec<IpNet>,
    /// What else it lets in, known by name only.
    pub named: Vec<&'a str>,
    /// On which ports; empty when the file does not tell.
    pub ports: Vec<PortRange>,
}

/// What a group lets in, rule by rule. What an earlier rule keeps out as a whole is left out; a range
/// of which a part is kept out stays.
pub fn admissions(group: &RuleGroup) -> Vec<Admission<'_>> {
    let untold = [PortRange::every(Protocol::Any)];
    let mut all = Vec::new();
    for (at, rule) in group.rules.iter().enumerate().filter(|(_, rule)| rule.allows) {
        let denials: Vec<&AccessRule> = group.rules[..at].iter().filter(|r| !r.allows).collect();
        let is_open = |peer: &Peer, ports: &PortRange| {
            !denials.iter().any(|denial| {
                denial.ports.iter().any(|p| p.covers(ports)) && keeps_out(denial, peer)
            })
        };
        let ports = if rule.ports.is_empty() { &untold[..] } else { &rule.ports[..] };
        let open: Vec<&Peer> =
            rule.sources.iter().filter(|s| ports.iter().any(|p| is_open(s, p))).collect();
        if open.is_empty() {
            continue;
        }
        let is_used = |p: &&PortRange| rule.sources.iter().any(|source| is_open(source, p));
        all.push(Admission {
            rule,
            ranges: open
                .iter()
                .filter_map(|peer| match peer {
                    Peer::Range(range) => Some(*range),
                    Peer::Named(_) => None,
                })
                .collect(),
            named: open
                .iter()
                .filter_map(|peer| match peer {
                    Peer::Named(name) => Some(name.as_str()),
                    Peer::Range(_) => None,
                })
                .collect(),
            ports: rule.ports.iter().filter(is_used).copied().collect(),
        });
    }
    all
}

fn keeps_out(denial: &AccessRule, peer: &Peer) -> bool {
    match peer {
        Peer::Range(range) => {
            denial.sources.iter().any(|s| matches!(s, Peer::Range(r) if r.contains(range)))
        }
        Peer::Named(_) => denial.sources.contains(peer) || everyone(&ranges(denial)).len() == 2,
    }
}

fn ranges(rule: &AccessRule) -> Vec<IpNet> {
    rule.sources
        .iter()
        .filter_map(|peer| match peer {
            Peer::Range(range) => Some(*range),
            Peer::Named(_) => None,
        })
        .collect()
}

/// Which kinds of addresses are let in without exception, also when several ranges make up the whole.
pub fn everyone(ranges: &[IpNet]) -> Vec<&'static str> {
    let joined = IpNet::aggregate(&ranges.to_vec());
    let has =
        |v4: bool| joined.iter().any(|r| r.prefix_len() == 0 && matches!(r, IpNet::V4(_)) == v4);
    [(has(true), "0.0.0.0/0"), (has(false), "::/0")]
        .into_iter()
        .filter(|(open, _)| *open)
        .map(|(_, name)| name)
        .collect()
}

impl Admission<'_> {
    /// Which kinds of addresses it lets in without exception.
    pub fn everyone(&self) -> Vec<&'static str> {
        everyone(&self.ranges)
    }

    /// Whether one of the ports is among those it opens.
    pub fn opens(&self, ports: &[u16]) -> bool {
        self.ports.iter().any(|range| ports.iter().any(|&port| range.has(port)))
    }

    /// Ports it opens besides those that are meant. Without any that are meant only every port at once
    /// is too much.
    pub fn beyond(&self, meant: &[u16]) -> Vec<PortRange> {
        let is_meant = |range: &PortRange| {
            if meant.is_empty() {
                return !range.is_every();
            }
            range.protocol == Protocol::Tcp
                && (range.first..=range.last).all(|port| meant.contains(&port))
        };
        self.ports.iter().filter(|range| !is_meant(range)).copied().collect()
    }

    /// Whether it lets in an address on one of the ports, as far as that can be told: what is known by
    /// name only may hold any address.
    pub fn may_admit(&self, address: IpAddr, ports: &[u16]) -> bool {
        (self.ports.is_empty() || self.opens(ports))
            && (!self.named.is_empty() || self.ranges.iter().any(|r| r.contains(&address)))
    }

    /// `27017, 27019-27020`, for messages.
    pub fn ports_text(&self) -> String {
        ports_text(&self.ports)
    }
}

/// `port 27017`, `ports 80, 443`, `every port`.
pub fn ports_text(ports: &[PortRange]) -> String {
    let shown: Vec<String> = ports.iter().map(PortRange::to_string).collect();
    match ports {
        [] => "ports that the file does not tell".to_owned(),
        ports if ports.iter().any(PortRange::is_every) => "every port".to_owned(),
        [one] if one.first == one.last => format!("port {one}"),
        _ => format!("ports {}", super::text::phrases(&shown, 5)),
    }
}

/// Groups declared to stand in front of something.
pub fn declared(network: &Network, layer: Layer) -> impl Iterator<Item = &RuleGroup> {
    network.groups.iter().filter(move |group| group.layer == Some(layer))
}

/// Groups that nobody declared and that name MongoDB's port: they are about MongoDB, on whichever layer.
pub fn about_mongodb(network: &Network) -> impl Iterator<Item = &RuleGroup> {
    let undeclared = network.groups.iter().filter(|group| group.layer.is_none());
    undeclared.filter(|group| admissions(group).iter().any(|a| names_port(a, network)))
}

fn names_port(admission: &Admission<'_>, network: &Network) -> bool {
    let narrow = |range: &&PortRange| range.last - range.first < NARROW;
    let mut named = admission.ports.iter().filter(narrow);
    named.any(|range| network.server_ports().iter().any(|&port| range.has(port)))
}

/// Groups that nobody declared, that do not name MongoDB's port, and that would open it to everyone if
/// they stood in front of MongoDB.
pub fn doubtful(network: &Network) -> impl Iterator<Item = &RuleGroup> {
    network.groups.iter().filter(|group| group.layer.is_none()).filter(|group| {
        let admissions = admissions(group);
        !admissions.iter().any(|a| names_port(a, network))
            && admissions
                .iter()
                .any(|a| !a.everyone().is_empty() && a.opens(network.server_ports()))
    })
}

/// `` `mongo` (sg-1) ``, for messages.
pub fn group_text(group: &RuleGroup) -> String {
    match &group.id {
        // Paths of platforms are longer than they are helpful.
        Some(id) if *id != group.name && !id.contains('/') => format!("`{}` ({id})", group.name),
        _ => format!("`{}`", group.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(allows: bool, sources: &[&str], ports: (u16, u16)) -> AccessRule {
        AccessRule {
            allows,
            sources: sources
                .iter()
                .map(|s| s.parse().map_or_else(|_| Peer::Named((*s).to_owned()), Peer::Range))
                .collect(),
            ports: vec![PortRange { protocol: Protocol::Tcp, first: ports.0, last: ports.1 }],
            ..AccessRule::default()
        }
    }

    fn open(rules: &[AccessRule]) -> Vec<&'static str> {
        let group = RuleGroup { rules: rules.to_vec(), ..RuleGroup::default() };
        admissions(&group).iter().flat_map(Admission::everyone).collect()
    }

    #[test]
    fn sc_2_everyone_is_seen_in_pieces_too() {
        let port = (27017, 27017);
        assert_eq!(open(&[rule(true, &["0.0.0.0/0"], port)]), ["0.0.0.0/0"]);
        assert_eq!(open(&[rule(true, &["0.0.0.0/1", "128.0.0.0/1"], port)]), ["0.0.0.0/0"]);
        assert_eq!(open(&[rule(true, &["0.0.0.0/0", "::/0"], port)]), ["0.0.0.0/0", "::/0"]);
        assert!(open(&[rule(true, &["0.0.0.0/1", "sg-1"], port)]).is_empty());
    }

    #[test]
    fn sc_2_what_is_kept_out_before_is_not_let_in() {
        let allow = rule(true, &["0.0.0.0/0", "::/0", "tag"], (27017, 27017));
        let all = (0, u16::MAX);
        assert!(open(&[rule(false, &["0.0.0.0/0", "::/0"], all), allow.clone()]).is_empty());
        assert_eq!(open(&[rule(false, &["0.0.0.0/0"], all), allow.clone()]), ["::/0"]);
        assert_eq!(open(&[rule(false, &["0.0.0.0/0", "::/0"], (80, 80)), allow.clone()]).len(), 2);
        assert_eq!(open(&[rule(false, &["8.0.0.0/8"], all), allow.clone()]).len(), 2);
        assert_eq!(open(&[allow, rule(false, &["0.0.0.0/0", "::/0"], all)]).len(), 2, "too late");
    }
}
