//! Identifies the deployment that was read, so that a run does not continue with the data of
//! another one.

use std::fmt;

use docward_model::{Server, Topology};
use serde::{Deserialize, Serialize};

/// The identity of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeploymentId {
    /// A replica set, identified by its name, because its hosts can change.
    ReplicaSet(String),
    /// A standalone server, by its own `host:port`: tunnels and aliases give it other names.
    Server(String),
    /// A sharded cluster, by its cluster id.
    Cluster(String),
}

impl DeploymentId {
    /// The identity that the servers report; `None` if they do not report enough.
    pub(crate) fn of(server: &Server) -> Option<Self> {
        match server.topology.as_ref()? {
            Topology::ReplicaSet(name) => Some(Self::ReplicaSet(name.clone())),
            Topology::Standalone => server.host.clone().map(Self::Server),
            Topology::Sharded => server.cluster.as_ref()?.id.clone().map(Self::Cluster),
        }
    }
}

impl fmt::Display for DeploymentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplicaSet(name) => write!(f, "the replica set {name}"),
            Self::Server(host) => write!(f, "the server {host}"),
            Self::Cluster(id) => write!(f, "the sharded cluster {id}"),
        }
    }
}

/// The relation of a deployment to those that an earlier run read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// It is the same deployment.
    Same,
    /// Another deployment.
    Other,
    /// One of them does not report its identity.
    Unknown,
}

impl Likeness {
    /// Compares a deployment with those read earlier.
    pub(crate) fn of(now: Option<&DeploymentId>, earlier: &[DeploymentId]) -> Self {
        match now {
            None => Self::Unknown,
            Some(_) if earlier.is_empty() => Self::Unknown,
            Some(now) if earlier.contains(now) => Self::Same,
            Some(_) => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Cluster;

    use super::*;

    #[test]
    fn a_deployment_is_known_by_what_stays() {
        let set = Server {
            topology: Some(Topology::ReplicaSet("rs0".to_owned())),
            host: Some("a:27017".to_owned()),
            ..Server::default()
        };
        assert_eq!(DeploymentId::of(&set), Some(DeploymentId::ReplicaSet("rs0".to_owned())));
        let alone = Server { topology: Some(Topology::Standalone), ..set.clone() };
        assert_eq!(DeploymentId::of(&alone), Some(DeploymentId::Server("a:27017".to_owned())));
        assert_eq!(DeploymentId::of(&Server { host: None, ..alone }), None);
        let cluster = |id: Option<&str>| Server {
            topology: Some(Topology::Sharded),
            cluster: Some(Cluster { id: id.map(str::to_owned), ..Cluster::default() }),
            ..set.clone()
        };
        assert_eq!(
            DeploymentId::of(&cluster(Some("64"))),
            Some(DeploymentId::Cluster("64".to_owned()))
        );
        assert_eq!(DeploymentId::of(&cluster(None)), None);
    }

    #[test]
    fn only_what_both_sides_say_is_compared() {
        let [one, two] = ["a:1", "a:2"].map(|host| DeploymentId::Server(host.to_owned()));
        let earlier = [one.clone()];
        assert_eq!(Likeness::of(Some(&one), &earlier), Likeness::Same);
        assert_eq!(Likeness::of(Some(&two), &earlier), Likeness::Other);
        assert_eq!(Likeness::of(None, &earlier), Likeness::Unknown);
        assert_eq!(Likeness::of(Some(&one), &[]), Likeness::Unknown);
    }
}
