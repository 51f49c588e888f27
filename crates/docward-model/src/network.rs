//! Network access in front of the servers: rules of firewalls and security groups, and the
//! addresses declared with them. Only rules for incoming connections are kept.

use std::{fmt, net::IpAddr};

use ipnet::IpNet;

/// MongoDB's default port.
pub const MONGODB_PORT: u16 = 27017;

/// Network facts from the files of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Public addresses bound to the servers themselves; `None` if not declared.
    pub public_addresses: Option<Vec<IpAddr>>,
    /// Addresses from which the load balancer sends health checks; empty if none is declared.
    pub load_balancer_vips: Vec<IpAddr>,
    /// Ports the load balancer listens on; empty if not declared.
    pub listener_ports: Vec<u16>,
    /// Ports the servers listen on, when declared.
    pub mongodb_ports: Vec<u16>,
    /// Groups of rules, in the order they were read.
    pub groups: Vec<RuleGroup>,
    /// Rules, groups and files that could not be read. While there are any, no check passes,
    /// because they may change the result.
    pub unread: Vec<String>,
}

impl Network {
    /// The ports of the servers: declared, or MongoDB's own.
    pub fn server_ports(&self) -> &[u16] {
        if self.mongodb_ports.is_empty() { &[MONGODB_PORT] } else { &self.mongodb_ports }
    }

    /// Returns whether public access goes through a load balancer, as far as the files declare.
    pub fn has_load_balancer(&self) -> bool {
        !self.load_balancer_vips.is_empty()
            || !self.listener_ports.is_empty()
            || self.groups.iter().any(|g| g.layer == Some(Layer::LoadBalancer))
    }
}

/// The component that a group of rules protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The load balancer: the first layer of public access.
    LoadBalancer,
    /// The servers: the second layer.
    MongoDb,
}

impl Layer {
    /// The word used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::LoadBalancer => "load-balancer",
            Self::MongoDb => "mongodb",
        }
    }
}

/// Rules that are applied together: a security group, or the firewall rules of one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleGroup {
    /// Its name, for messages.
    pub name: String,
    /// Its id, if it has one in addition to the name.
    pub id: Option<String>,
    /// The component it protects, if declared.
    pub layer: Option<Layer>,
    /// Rules for incoming connections; if two match, the earlier one decides.
    pub rules: Vec<AccessRule>,
}

/// One rule for incoming connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessRule {
    /// Its name, or a substitute for messages.
    pub name: String,
    /// True if it allows connections, false if it denies them.
    pub allows: bool,
    /// The sources of the connections.
    pub sources: Vec<Peer>,
    /// The ports; empty if the file does not contain them.
    pub ports: Vec<PortRange>,
    /// True if the platform created the rule, so users cannot remove it.
    pub built_in: bool,
    /// True if it was inherited from a wider group, which contains it too.
    pub inherited: bool,
}

/// A source of connections.
#[derive(Clone, Debug, PartialEq)]
pub enum Peer {
    /// Addresses.
    Range(IpNet),
    /// Internal machines known only by name: another group, a tag.
    Named(String),
    /// An address list that is stored elsewhere, by name; it may contain any address.
    Listed(String),
}

/// The protocol of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants say it")]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Any,
}

/// Ports from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PortRange {
    pub protocol: Protocol,
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// Every port of a protocol.
    pub fn every(protocol: Protocol) -> Self {
        Self { protocol, first: 0, last: u16::MAX }
    }

    /// Returns whether the range contains all ports.
    pub fn is_every(&self) -> bool {
        self.first <= 1 && self.last == u16::MAX
    }

    /// Returns whether the range contains a TCP port.
    pub fn has(&self, port: u16) -> bool {
        self.protocol != Protocol::Udp && (self.first..=self.last).contains(&port)
    }

    /// Returns whether the range contains all of the other's ports.
    pub fn covers(&self, other: &Self) -> bool {
        (self.protocol == Protocol::Any || self.protocol == other.protocol)
            && self.first <= other.first
            && self.last >= other.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_every() {
            f.write_str("every port")?;
        } else if self.first == self.last {
            write!(f, "{}", self.first)?;
        } else {
            write!(f, "{}-{}", self.first, self.last)?;
        }
        if self.protocol == Protocol::Udp { f.write_str("/udp") } else { Ok(()) }
    }
}
