//! What a guard does, and which part of it can be changed while it runs.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use docward_net::{Credential, Limits, TlsServer, Upstream};

use crate::{auth::Auth, hello::Face, rates::RateLimit, rights::FileUsers};

/// Where clients come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Listen {
    /// Whether only programs of this machine get there.
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

/// What a guard does.
#[derive(Debug)]
pub struct Settings {
    /// Where clients come to.
    pub listen: Listen,
    /// The name by which clients reach it, where members are shown; else the address it listens on.
    pub advertise: Option<String>,
    /// What it looks like to them.
    pub face: Face,
    /// How they log in.
    pub auth: Auth,
    /// Who opens connections where nobody logs in, and who looks users up.
    pub service: Credential,
    /// Where servers are.
    pub upstream: Upstream,
    /// The guard's certificate, if clients connect with TLS.
    pub tls: Option<TlsServer>,
}

/// What can be changed while a guard runs.
#[derive(Clone, Debug)]
pub struct Live {
    /// Connections to servers.
    pub limits: Limits,
    /// Clients at most.
    pub max_clients: usize,
    /// How long clients may take to finish when the guard ends.
    pub grace: Duration,
    /// Bytes of messages that are in memory at the same time.
    pub memory: usize,
    /// What users and applications may ask for.
    pub rates: Vec<RateLimit>,
    /// Who may log in, where that is a list of the guard's own.
    pub users: Arc<FileUsers>,
}
