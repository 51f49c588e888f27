//! What stands between the network and the servers: rules of firewalls and security groups, and the
//! addresses people declared beside them. Only what lets connections in; what goes out is not kept.

use std::{fmt, net::IpAddr};

use ipnet::IpNet;

/// The port MongoDB listens on unless told otherwise.
pub const MONGODB_PORT: u16 = 27017;

/// Everything the files of a run say about the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Public addresses bound to the servers themselves; `None` when nobody said.
    pub public_addresses: Option<Vec<IpAddr>>,
    /// Addresses of the load balancer that its health checks come from; empty when none is declared.
    pub load_balancer_vips: Vec<IpAddr>,
    /// Ports the load balancer listens on; empty when nobody said.
    pub listener_ports: Vec<u16>,
    /// Ports the servers listen on, when declared.
    pub mongodb_ports: Vec<u16>,
    /// Groups of rules, in the order they were read.
    pub groups: Vec<RuleGroup>,
    /// What was given and could not be read: rules, groups, whole files. Nothing passes while it may
    /// say otherwise.
    pub unread: Vec<String>,
}

impl Network {
    /// The ports of the servers: declared, or MongoDB's own.
    pub fn server_ports(&self) -> &[u16] {
        if self.mongodb_ports.is_empty() { &[MONGODB_PORT] } else { &self.mongodb_ports }
    }

    /// Whether public access goes through a load balancer, as far as declared.
    pub fn has_load_balancer(&self) -> bool {
        !self.load_balancer_vips.is_empty()
            || !self.listener_ports.is_empty()
            || self.groups.iter().any(|g| g.layer == Some(Layer::LoadBalancer))
    }
}

/// What a group of rules stands in front of.
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

/// Rules that are applied together: a security group, or what a firewall has for one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleGroup {
    /// Its name, for messages.
    pub name: String,
    /// Its id, when it has one beside the name.
    pub id: Option<String>,
    /// What it stands in front of, when declared.
    pub layer: Option<Layer>,
    /// Rules about incoming connections; of two that match, the earlier one decides.
    pub rules: Vec<AccessRule>,
}

/// One rule about incoming connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessRule {
    /// Its name, or what it can be called by.
    pub name: String,
    /// Whether it lets in; else it keeps out.
    pub allows: bool,
    /// From where.
    pub sources: Vec<Peer>,
    /// On which ports; empty when the file does not tell.
    pub ports: Vec<PortRange>,
    /// Whether the platform made it, so that nobody can be asked to remove it.
    pub built_in: bool,
    /// Whether it was taken over from a wider group, which has it too.
    pub inherited: bool,
}

/// Where connections come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Peer {
    /// Addresses.
    Range(IpNet),
    /// Machines of one's own that are known by name only: another group, a tag.
    Named(String),
    /// Addresses that are kept elsewhere, by the name of their list: there may be any among them.
    Listed(String),
}

/// Which protocol a port is of.
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

    /// Whether that is every port there is.
    pub fn is_every(&self) -> bool {
        self.first <= 1 && self.last == u16::MAX
    }

    /// Whether a TCP port is among them.
    pub fn has(&self, port: u16) -> bool {
        self.protocol != Protocol::Udp && (self.first..=self.last).contains(&port)
    }

    /// Whether all of the other's ports are among them.
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
