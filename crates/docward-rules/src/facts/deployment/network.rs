//! The access that firewalls and security groups allow after their deny rules are applied.

use std::{collections::BTreeSet, fmt, net::IpAddr};

use docward_model::{AccessRule, Layer, Network, Peer, PortRange, Protocol, RuleGroup};
use ipnet::IpNet;

use crate::facts::deployment::addresses::public_shares;

/// Port ranges up to this size are intended for the port; wider ranges contain it by chance.
const NARROW: u16 = 100;

/// The access that one rule allows.
#[derive(Debug)]
pub struct Admission<'a> {
    /// The rule.
    pub rule: &'a AccessRule,
    /// The traffic by ports: earlier rules may deny others on each of them.
    pub ways: Vec<AllowedTraffic<'a>>,
}

/// Ports on which one rule admits the same sources.
#[derive(Debug, PartialEq)]
pub struct AllowedTraffic<'a> {
    /// The ports; `None` if the file does not list them.
    pub ports: Option<PortRange>,
    /// The addresses that are admitted.
    pub ranges: Vec<IpNet>,
    /// The own machines that are admitted, by name.
    pub named: Vec<&'a str>,
    /// External lists whose addresses are admitted.
    pub listed: Vec<&'a str>,
}

/// Returns the traffic that a group allows, by rule. Ranges that earlier rules deny completely are
/// left out; a partly denied range stays.
pub fn admissions(group: &RuleGroup) -> Vec<Admission<'_>> {
    let mut all = Vec::new();
    for (at, rule) in group.rules.iter().enumerate().filter(|(_, rule)| rule.allows) {
        let denials: Vec<&AccessRule> = group.rules[..at].iter().filter(|r| !r.allows).collect();
        let ways: Vec<AllowedTraffic<'_>> = if rule.ports.is_empty() {
            let every = PortRange::every(Protocol::Any);
            open_to(rule, every, None, &denials).into_iter().collect()
        } else {
            rule.ports.iter().flat_map(|&ports| ways(rule, ports, &denials)).collect()
        };
        if !ways.is_empty() {
            all.push(Admission { rule, ways });
        }
    }
    all
}

/// Returns the access to some ports, split at the ports where earlier rules begin or end.
fn ways<'a>(
    rule: &'a AccessRule,
    ports: PortRange,
    denials: &[&AccessRule],
) -> Vec<AllowedTraffic<'a>> {
    let of = |protocol: Protocol| -> Vec<AllowedTraffic<'a>> {
        let denied: Vec<PortRange> = denials
            .iter()
            .flat_map(|denial| &denial.ports)
            .filter(|denied| {
                matches!(denied.protocol, Protocol::Any) || denied.protocol == protocol
            })
            .copied()
            .collect();
        let pieces = pieces(PortRange { protocol, ..ports }, &denied);
        let open =
            pieces.into_iter().filter_map(|piece| open_to(rule, piece, Some(piece), denials));
        let mut ways: Vec<AllowedTraffic<'a>> = Vec::new();
        for way in open {
            match ways.last_mut().map(|last| (last.ports.zip(way.ports).and_then(joined), last)) {
                Some((Some(both), last)) if last.is_for_same(&way) => last.ports = Some(both),
                _ => ways.push(way),
            }
        }
        ways
    };
    if ports.protocol != Protocol::Any {
        return of(ports.protocol);
    }
    let (mut tcp, udp) = (of(Protocol::Tcp), of(Protocol::Udp));
    let same = |(a, b): (&AllowedTraffic<'_>, &AllowedTraffic<'_>)| {
        let bounds = |way: &AllowedTraffic<'_>| way.ports.map(|p| (p.first, p.last));
        bounds(a) == bounds(b) && a.is_for_same(b)
    };
    if tcp.len() == udp.len() && tcp.iter().zip(&udp).all(same) {
        let ports = tcp.iter_mut().filter_map(|way| way.ports.as_mut());
        ports.for_each(|ports| ports.protocol = Protocol::Any);
    } else {
        tcp.extend(udp);
    }
    tcp
}

/// Splits a range of ports wherever one of the others begins or ends.
fn pieces(ports: PortRange, others: &[PortRange]) -> Vec<PortRange> {
    let inside = |start: &u32| (u32::from(ports.first) + 1..=u32::from(ports.last)).contains(start);
    let starts = others.iter().flat_map(|o| [u32::from(o.first), u32::from(o.last) + 1]);
    let mut starts: Vec<u16> =
        starts.filter(inside).filter_map(|start| u16::try_from(start).ok()).collect();
    starts.push(ports.first);
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([ports.last]);
    starts.iter().zip(ends).map(|(&first, last)| PortRange { first, last, ..ports }).collect()
}

/// Joins two ranges of ports if the second begins where the first ends.
fn joined((a, b): (PortRange, PortRange)) -> Option<PortRange> {
    let follows = a.protocol == b.protocol && a.last.checked_add(1) == Some(b.first);
    follows.then_some(PortRange { last: b.last, ..a })
}

/// Returns the sources that a rule allows on these ports; `told` is the list of ports in the file.
fn open_to<'a>(
    rule: &'a AccessRule,
    ports: PortRange,
    told: Option<PortRange>,
    denials: &[&AccessRule],
) -> Option<AllowedTraffic<'a>> {
    let about: Vec<&Peer> = denials
        .iter()
        .filter(|denial| denial.ports.iter().any(|p| p.covers(&ports)))
        .flat_map(|denial| &denial.sources)
        .collect();
    // Adjacent denied ranges deny the range that they form together.
    let kept_out = IpNet::aggregate(&ranges(about.iter().copied()));
    let all_kept_out = kept_out.iter().filter(|range| range.prefix_len() == 0).count() == 2;
    let is_open = |peer: &&Peer| match peer {
        Peer::Range(range) => !kept_out.iter().any(|denied| denied.contains(range)),
        Peer::Named(_) | Peer::Listed(_) => !all_kept_out && !about.contains(peer),
    };
    let open: Vec<&Peer> = rule.sources.iter().filter(is_open).collect();
    let name = |peer: &&'a Peer| match peer {
        Peer::Named(name) => Some(name.as_str()),
        _ => None,
    };
    let list = |peer: &&'a Peer| match peer {
        Peer::Listed(name) => Some(name.as_str()),
        _ => None,
    };
    (!open.is_empty()).then(|| AllowedTraffic {
        ports: told,
        ranges: ranges(open.iter().copied()),
        named: open.iter().filter_map(name).collect(),
        listed: open.iter().filter_map(list).collect(),
    })
}

fn ranges<'p>(peers: impl Iterator<Item = &'p Peer>) -> Vec<IpNet> {
    let range = |peer: &Peer| match peer {
        Peer::Range(range) => Some(*range),
        Peer::Named(_) | Peer::Listed(_) => None,
    };
    peers.filter_map(range).collect()
}

/// More than this share of the public addresses counts as all addresses, because an attacker can
/// use any of them.
const MAX_PUBLIC_SHARE: f64 = 0.5;

/// Returns the kinds of addresses that are allowed completely or mostly, also by several ranges together.
fn everyone(ranges: &[IpNet]) -> Vec<&'static str> {
    KINDS.iter().filter_map(|kind| kind.everyone(ranges)).collect()
}

/// A kind of addresses.
struct Kind {
    /// All addresses of this kind, in the notation of rules.
    all: &'static str,
    /// Most public addresses of this kind.
    most: &'static str,
    has: fn(&IpNet) -> bool,
    public_share: fn(&[IpNet]) -> f64,
}

const KINDS: [Kind; 2] = [
    Kind {
        all: "0.0.0.0/0",
        most: "most of 0.0.0.0/0",
        has: |range| matches!(range, IpNet::V4(_)),
        public_share: |ranges| public_shares(ranges).0,
    },
    Kind {
        all: "::/0",
        most: "most of ::/0",
        has: |range| matches!(range, IpNet::V6(_)),
        public_share: |ranges| public_shares(ranges).1,
    },
];

impl Kind {
    fn has(&self, range: &IpNet) -> bool {
        (self.has)(range)
    }

    /// Returns the text for everyone of this kind, if these ranges admit them.
    fn everyone(&self, ranges: &[IpNet]) -> Option<&'static str> {
        let joined = IpNet::aggregate(&ranges.to_vec());
        if joined.iter().any(|range| range.prefix_len() == 0 && self.has(range)) {
            return Some(self.all);
        }
        ((self.public_share)(&joined) > MAX_PUBLIC_SHARE).then_some(self.most)
    }
}

/// External lists whose addresses a group admits.
pub fn listed(group: &RuleGroup) -> Vec<&str> {
    let admissions = admissions(group);
    let mut names: Vec<&str> = admissions
        .iter()
        .flat_map(|a| &a.ways)
        .flat_map(|way| way.listed.iter().copied())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl AllowedTraffic<'_> {
    fn is_for_same(&self, other: &Self) -> bool {
        (&self.ranges, &self.named, &self.listed) == (&other.ranges, &other.named, &other.listed)
    }

    fn opens(&self, ports: &[u16]) -> bool {
        self.ports.is_some_and(|range| ports.iter().any(|&port| range.has(port)))
    }
}

impl Admission<'_> {
    /// The ports that it opens; empty if the file does not list them.
    pub fn ports(&self) -> Vec<PortRange> {
        let mut all: Vec<PortRange> = Vec::new();
        self.ways.iter().filter_map(|way| way.ports).for_each(|ports| add_ports(&mut all, ports));
        all
    }

    /// Ports that it opens in addition to the intended ones. Without intended ports, only a rule for all ports is too
    /// much.
    pub fn beyond(&self, meant: &[u16]) -> Vec<PortRange> {
        let is_meant = |range: &PortRange| {
            if meant.is_empty() {
                return !range.is_every();
            }
            range.protocol != Protocol::Udp
                && (range.first..=range.last).all(|port| meant.contains(&port))
        };
        self.ports().into_iter().filter(|range| !is_meant(range)).collect()
    }

    /// Whether it allows an address on one of the ports. A group that is known only by name may
    /// contain any address.
    pub fn may_admit(&self, address: IpAddr, ports: &[u16]) -> bool {
        self.ways.iter().any(|way| {
            (way.ports.is_none() || way.opens(ports))
                && (!way.named.is_empty()
                    || !way.listed.is_empty()
                    || way.ranges.iter().any(|r| r.contains(&address)))
        })
    }
}

fn add_ports(all: &mut Vec<PortRange>, ports: PortRange) {
    match all.last_mut().and_then(|last| Some((joined((*last, ports))?, last))) {
        Some((both, last)) => *last = both,
        None => all.push(ports),
    }
}

/// Rules that allow everyone, alone or together.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The rules, in their order.
    pub rules: Vec<&'a AccessRule>,
    /// The kinds of addresses that are allowed completely or mostly.
    pub everyone: Vec<&'static str>,
    /// The ports; empty if the file does not list them.
    pub ports: Vec<PortRange>,
}

impl Opening<'_> {
    /// Whether it opens one of the ports.
    pub fn opens(&self, ports: &[u16]) -> bool {
        self.ports.iter().any(|range| ports.iter().any(|&port| range.has(port)))
    }
}

impl fmt::Display for Opening<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.rules.iter().map(|rule| format!("`{}`", rule.name)).collect();
        let together = if names.len() > 1 { " together" } else { "" };
        let (everyone, ports) = (self.everyone.join(" and "), ports_text(&self.ports));
        write!(f, "{}{together} ({everyone} on {ports})", crate::facts::text::phrases(&names, 5))
    }
}

/// Returns the ports that are open to everyone. Rules that share a port add up: `0.0.0.0/2` in one and `128.0.0.0/1` in
/// another are most of everyone.
pub fn openings<'a>(admissions: &[Admission<'a>]) -> Vec<Opening<'a>> {
    let mut all: Vec<Opening<'a>> = Vec::new();
    for admission in admissions {
        for way in &admission.ways {
            let everyone = everyone(&way.ranges);
            if !everyone.is_empty() {
                add_opening(&mut all, vec![admission.rule], everyone, way.ports);
            }
        }
    }
    // Rules are combined here, because MongoDB needs one TCP port for the whole address range.
    let tcp: Vec<(usize, PortRange, &AllowedTraffic<'a>)> = admissions
        .iter()
        .enumerate()
        .flat_map(|(at, admission)| admission.ways.iter().map(move |way| (at, way)))
        .filter_map(|(at, way)| Some((at, way.ports?, way)))
        .filter(|(_, ports, _)| ports.protocol != Protocol::Udp)
        .collect();
    let bounds: Vec<PortRange> = tcp.iter().map(|(_, ports, _)| *ports).collect();
    for piece in pieces(PortRange::every(Protocol::Tcp), &bounds) {
        let here: Vec<_> = tcp.iter().filter(|(_, ports, _)| ports.has(piece.first)).collect();
        for kind in &KINDS {
            if here.iter().any(|(_, _, way)| kind.everyone(&way.ranges).is_some()) {
                continue;
            }
            let mut parts: Vec<(usize, Vec<IpNet>)> = here
                .iter()
                .map(|(at, _, way)| {
                    (*at, way.ranges.iter().filter(|r| kind.has(r)).copied().collect())
                })
                .filter(|(_, ranges): &(usize, Vec<IpNet>)| !ranges.is_empty())
                .collect();
            let whole: Vec<IpNet> = parts.iter().flat_map(|(_, ranges)| ranges).copied().collect();
            let Some(together) = kind.everyone(&whole) else { continue };
            // The widest rules come first, so that the message names no rule that is not needed to let everyone in.
            parts.sort_by_key(|(_, ranges)| ranges.iter().map(IpNet::prefix_len).min());
            let (mut so_far, mut needed) = (Vec::new(), BTreeSet::new());
            for (at, ranges) in parts {
                so_far = IpNet::aggregate(&[so_far, ranges].concat());
                needed.insert(at);
                if kind.everyone(&so_far) == Some(together) {
                    break;
                }
            }
            let rules = needed.into_iter().map(|at| admissions[at].rule).collect();
            add_opening(&mut all, rules, vec![together], Some(piece));
        }
    }
    all
}

fn add_opening<'a>(
    all: &mut Vec<Opening<'a>>,
    rules: Vec<&'a AccessRule>,
    everyone: Vec<&'static str>,
    ports: Option<PortRange>,
) {
    let same_rules = |opening: &Opening<'a>| {
        opening.rules.len() == rules.len()
            && opening.rules.iter().zip(&rules).all(|(a, b)| std::ptr::eq(*a, *b))
    };
    let known = all.iter_mut().find(|opening| opening.everyone == everyone && same_rules(opening));
    match (known, ports) {
        (Some(opening), Some(ports)) => add_ports(&mut opening.ports, ports),
        (Some(_), None) => {}
        (None, ports) => {
            all.push(Opening { rules, everyone, ports: ports.into_iter().collect() });
        }
    }
}

/// `port 27017`, `ports 80, 443`, `every port`.
pub fn ports_text(ports: &[PortRange]) -> String {
    let shown: Vec<String> = ports.iter().map(PortRange::to_string).collect();
    match ports {
        [] => "ports that the file does not list".to_owned(),
        ports if ports.iter().any(|p| p.is_every() && p.protocol != Protocol::Udp) => {
            "every port".to_owned()
        }
        [one] if one.first == one.last => format!("port {one}"),
        _ => format!("ports {}", crate::facts::text::phrases(&shown, 5)),
    }
}

/// Returns the groups that are declared to protect a layer.
pub fn declared(network: &Network, layer: Layer) -> impl Iterator<Item = &RuleGroup> {
    network.groups.iter().filter(move |group| group.layer == Some(layer))
}

/// Undeclared groups that name MongoDB's port: they protect MongoDB on an unknown layer.
pub fn about_mongodb(network: &Network) -> impl Iterator<Item = &RuleGroup> {
    let undeclared = network.groups.iter().filter(|group| group.layer.is_none());
    undeclared.filter(|group| names_port(&admissions(group), network))
}

fn names_port(admissions: &[Admission<'_>], network: &Network) -> bool {
    let narrow = |range: &PortRange| range.last - range.first < NARROW;
    // An inherited rule for all machines does not show which of them runs MongoDB.
    let own = admissions.iter().filter(|a| !a.rule.inherited);
    own.flat_map(Admission::ports)
        .filter(narrow)
        .any(|range| network.server_ports().iter().any(|&port| range.has(port)))
}

/// Undeclared groups that do not name MongoDB's port, but would open it to all addresses if they
/// protected MongoDB.
pub fn doubtful(network: &Network) -> impl Iterator<Item = &RuleGroup> {
    network.groups.iter().filter(|group| group.layer.is_none()).filter(|group| {
        let admissions = admissions(group);
        !names_port(&admissions, network)
            && openings(&admissions).iter().any(|opening| {
                opening.opens(network.server_ports())
                    // The wider group has its own finding.
                    && !opening.rules.iter().all(|rule| rule.inherited)
            })
    })
}

/// Identifies a group in findings. Names are unique only within one network of a platform.
pub fn group_key(group: &RuleGroup) -> String {
    match &group.id {
        Some(id) if *id != group.name => format!("{} {id}", group.name),
        _ => group.name.clone(),
    }
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
        let mut all: Vec<_> =
            openings(&admissions(&group)).into_iter().flat_map(|o| o.everyone).collect();
        all.sort_unstable();
        all
    }

    /// Returns the openings to everyone as messages state them.
    fn told(rules: &[AccessRule]) -> Vec<String> {
        let rules = rules.iter().zip(1..);
        let rules = rules.map(|(rule, n)| AccessRule { name: format!("r{n}"), ..rule.clone() });
        let group = RuleGroup { rules: rules.collect(), ..RuleGroup::default() };
        openings(&admissions(&group)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn sc_2_everyone_is_seen_in_pieces_too() {
        let port = (27017, 27017);
        assert_eq!(open(&[rule(true, &["0.0.0.0/0"], port)]), ["0.0.0.0/0"]);
        assert_eq!(open(&[rule(true, &["0.0.0.0/1", "128.0.0.0/1"], port)]), ["0.0.0.0/0"]);
        assert_eq!(open(&[rule(true, &["0.0.0.0/0", "::/0"], port)]), ["0.0.0.0/0", "::/0"]);
        assert!(open(&[rule(true, &["128.0.0.0/1", "sg-1"], port)]).is_empty());
    }

    #[test]
    fn sc_2_most_of_the_public_addresses_are_everyone() {
        let port = (27017, 27017);
        let but_ten = [
            "0.0.0.0/5",
            "8.0.0.0/7",
            "11.0.0.0/8",
            "12.0.0.0/6",
            "16.0.0.0/4",
            "32.0.0.0/3",
            "64.0.0.0/2",
            "128.0.0.0/1",
        ];
        assert_eq!(open(&[rule(true, &but_ten, port)]), ["most of 0.0.0.0/0"]);
        assert_eq!(open(&[rule(true, &["0.0.0.0/1"], port)]), ["most of 0.0.0.0/0"]);
        assert_eq!(open(&[rule(true, &["2000::/3"], port)]), ["most of ::/0"]);
        // A private range is large, but not reachable from outside.
        let private =
            ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"];
        assert!(open(&[rule(true, &private, port)]).is_empty());
        assert!(open(&[rule(true, &["64.0.0.0/2", "2001:db8::/32"], port)]).is_empty());
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

    #[test]
    fn sc_2_se_5_rules_that_share_a_port_add_up() {
        let (port, half, other) = ((27017, 27017), ["0.0.0.0/2"], ["128.0.0.0/1"]);
        assert_eq!(
            told(&[rule(true, &half, port), rule(true, &other, port)]),
            ["`r1`, `r2` together (most of 0.0.0.0/0 on port 27017)"]
        );
        assert_eq!(
            told(&[
                rule(true, &half, port),
                rule(true, &["64.0.0.0/2"], port),
                rule(true, &other, port)
            ]),
            ["`r1`, `r2`, `r3` together (0.0.0.0/0 on port 27017)"]
        );
        // Only where the ranges overlap, and without rules that add nothing.
        assert_eq!(
            told(&[
                rule(true, &["10.0.0.0/8"], port),
                rule(true, &half, (27000, 27018)),
                rule(true, &other, (27017, 28000)),
            ]),
            ["`r2`, `r3` together (most of 0.0.0.0/0 on ports 27017-27018)"]
        );
        assert_eq!(
            told(&[rule(true, &["2000::/4"], port), rule(true, &["3000::/4"], port)]),
            ["`r1`, `r2` together (most of ::/0 on port 27017)"]
        );
        assert!(told(&[rule(true, &half, port), rule(true, &other, (27018, 27018))]).is_empty());
        assert!(told(&[rule(true, &half, port), rule(true, &["2000::/4"], port)]).is_empty());
        // A rule that admits everyone alone has its own finding.
        assert_eq!(
            told(&[rule(true, &half, port), rule(true, &["0.0.0.0/0"], port)]),
            ["`r2` (0.0.0.0/0 on port 27017)"]
        );
    }

    #[test]
    fn sc_2_se_5_denials_in_pieces_keep_out_what_they_make_up() {
        let port = (27017, 27017);
        let everyone = rule(true, &["0.0.0.0/0"], port);
        let halves = [rule(false, &["0.0.0.0/1"], port), rule(false, &["128.0.0.0/1"], port)];
        assert!(told(&[halves[0].clone(), halves[1].clone(), everyone.clone()]).is_empty());
        assert_eq!(told(&[halves[0].clone(), everyone]).len(), 1, "half of everyone is too many");
        // By ports.
        let denied = |ports| rule(false, &["0.0.0.0/0"], ports);
        let wide = rule(true, &["0.0.0.0/0"], (27017, 27019));
        assert_eq!(told(&[denied(port), wide.clone()]), ["`r2` (0.0.0.0/0 on ports 27018-27019)"]);
        assert_eq!(
            told(&[denied((27018, 27018)), wide.clone()]),
            ["`r2` (0.0.0.0/0 on ports 27017, 27019)"]
        );
        assert!(told(&[denied(port), denied((27018, 30000)), wide.clone()]).is_empty());
        // Only one kind of addresses is denied on one port.
        let both = rule(true, &["0.0.0.0/0", "::/0"], (27017, 27018));
        assert_eq!(
            told(&[denied(port), both]),
            ["`r2` (::/0 on port 27017)", "`r2` (0.0.0.0/0 and ::/0 on port 27018)"]
        );
    }

    #[test]
    fn sc_2_a_denial_of_tcp_leaves_the_rest_of_a_rule_for_every_protocol() {
        let any = AccessRule {
            ports: vec![PortRange::every(Protocol::Any)],
            ..rule(true, &["0.0.0.0/0"], (0, 0))
        };
        assert_eq!(told(std::slice::from_ref(&any)), ["`r1` (0.0.0.0/0 on every port)"]);
        let denied = rule(false, &["0.0.0.0/0"], (27017, 27017));
        let group = RuleGroup { rules: vec![denied, any], ..RuleGroup::default() };
        let admissions = admissions(&group);
        let openings = openings(&admissions);
        assert_eq!(openings.len(), 1);
        assert!(!openings[0].opens(&[27017]) && openings[0].opens(&[27018]), "{openings:?}");
    }
}
