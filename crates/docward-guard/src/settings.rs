//! The settings of a guard, and those of them that can change while it runs.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use docward_net::{Credential, Limits, TlsServer, Upstream};

use crate::{hello::Face, rates::RateLimit, rights::FileUsers};

/// The address that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Listen {
    /// Whether only programs on this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl std::fmt::Display for Listen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The time limit for the guard's own commands.
pub(crate) const OWN_COMMANDS: Duration = Duration::from_secs(10);

/// The login of clients.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Clients do not log in. The guard opens all connections as the user of the upstream connection string.
    Off,
    /// Clients log in as users of the servers. The upstream account needs the right to read their verifiers.
    Mirror,
    /// Clients log in as users of the guard's own list, with a password or a certificate.
    List,
}

/// Settings that need a restart to change.
#[derive(Debug)]
pub struct Settings {
    /// The address that clients connect to.
    pub listen: Listen,
    /// With `--face member`, the host name that clients use for the guard. The default is the address it listens on.
    pub advertise: Option<String>,
    /// The kind of server that the guard presents to clients.
    pub face: Face,
    /// The login of clients.
    pub auth: Auth,
    /// The account of the upstream connection string. The guard uses it for its own commands, and except with
    /// `--auth mirror` for the commands of all clients.
    pub service: Credential,
    /// The deployment, and how to connect to it.
    pub upstream: Upstream,
    /// The guard's certificate, if clients connect with TLS.
    pub tls: Option<TlsServer>,
}

/// Settings that can change while the guard runs.
#[derive(Clone, Debug)]
pub struct Live {
    /// The limits for connections to servers.
    pub limits: Limits,
    /// The maximum number of clients.
    pub max_clients: usize,
    /// The time that clients have to finish during a shutdown.
    pub grace: Duration,
    /// The maximum size of all messages in memory together, in bytes.
    pub memory: usize,
    /// The limits of users and applications.
    pub rates: Vec<RateLimit>,
    /// The users of the list, for `--auth list`.
    pub users: Arc<FileUsers>,
}
