//! What only a running server can tell. A fact that was not asked for, not answered or not allowed
//! is `None`; nothing is filled in with a default.

use serde::{Deserialize, Serialize};

use crate::Cluster;

/// How the servers are put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Topology {
    /// One server on its own.
    Standalone,
    /// A replica set, by name.
    ReplicaSet(String),
    /// Routers in front of shards.
    Sharded,
}

impl Topology {
    /// In words, for a report.
    pub fn text(&self) -> String {
        match self {
            Self::Standalone => "standalone".to_owned(),
            Self::ReplicaSet(name) => format!("replica set {name}"),
            Self::Sharded => "sharded cluster".to_owned(),
        }
    }
}

/// Facts about a deployment and about the server that answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// The full version, `6.0.5`.
    pub version: Option<String>,
    /// `setFeatureCompatibilityVersion`.
    pub feature_compatibility: Option<String>,
    /// How the servers are put together.
    pub topology: Option<Topology>,
    /// The server the facts are about, `host:port`.
    pub host: Option<String>,
    /// Whether it answered `serverStatus` to somebody who did not log in.
    pub answers_anybody: bool,
    /// Where documents were read from, as a read preference mode.
    pub read_preference: Option<String>,
    /// Seconds since the server started: how long counters have been counting.
    pub uptime_seconds: Option<u64>,
    /// The server's clock when it was asked, in seconds of Unix time.
    pub clock_seconds: Option<i64>,
    /// Its connections.
    pub connections: Option<Connections>,
    /// How it was started.
    pub start: Option<StartOptions>,
    /// Parameters that matter for safety, by name, as text.
    pub parameters: Vec<(String, String)>,
    /// The members of the replica set.
    pub members: Option<Vec<Member>>,
    /// Users and their roles.
    pub users: Option<Vec<User>>,
    /// Roles people made that users have.
    #[serde(default)]
    pub custom_roles: Vec<CustomRole>,
    /// What these roles allow, with what they have through others; `None` when nobody asked.
    #[serde(default)]
    pub role_privileges: Option<Vec<RolePrivilege>>,
    /// Default read and write concern of the cluster.
    pub default_concerns: Option<DefaultConcerns>,
    /// What the tables of a sharded cluster say; `None` where there are none.
    #[serde(default)]
    pub cluster: Option<Cluster>,
    /// Collections it keeps for itself; `None` when only a part of the deployment was listed.
    #[serde(default)]
    pub own_collections: Option<u64>,
    /// Files of tables and indexes it holds open at this moment, as the storage engine counts.
    #[serde(default)]
    pub open_data_handles: Option<u64>,
    /// Files its process may have open.
    #[serde(default)]
    pub max_open_files: Option<u64>,
}

impl Server {
    /// The name of the replica set it is one of.
    pub fn replica_set(&self) -> Option<&str> {
        match &self.topology {
            Some(Topology::ReplicaSet(name)) => Some(name),
            _ => None,
        }
    }
}

/// Connections of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Open now.
    pub current: u64,
    /// How many more it would accept.
    pub available: u64,
    /// Made since the start.
    pub total_created: u64,
    /// What came since an earlier date on which the same server was asked, without a start in between.
    #[serde(default)]
    pub since_earlier: Option<ConnectionsSince>,
}

/// Connections between two dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsSince {
    /// How far the dates are apart.
    pub seconds: u64,
    /// Made meanwhile.
    pub created: u64,
    /// Ended meanwhile.
    pub ended: u64,
}

/// Options a server was started with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOptions {
    /// Whether clients must log in: by `security.authorization`, a key file or cluster certificates.
    pub authorization: bool,
    /// Addresses it listens on; `None` when not given, which means the loopback address.
    pub bind_addresses: Option<Vec<String>>,
    /// `net.tls.mode`.
    pub tls_mode: Option<String>,
    /// `security.javascriptEnabled`, when given.
    pub javascript: Option<bool>,
    /// Whether an audit log is written.
    pub audit_log: bool,
    /// `sharding.clusterRole`: what the server is in a sharded cluster, when it is part of one.
    #[serde(default)]
    pub cluster_role: Option<String>,
}

/// A member of a replica set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// `host:port`.
    pub host: String,
    /// `PRIMARY`, `SECONDARY`, `ARBITER`, …; `None` without the set's status.
    pub state: Option<String>,
    /// Whether the others reach it.
    pub healthy: Option<bool>,
    /// Seconds behind the primary.
    pub lag_seconds: Option<u64>,
    /// Votes in elections; `None` without the set's configuration.
    pub votes: Option<u64>,
    /// Priority in elections, in thousandths.
    pub priority_milli: Option<u64>,
    /// Not shown to clients.
    pub hidden: Option<bool>,
    /// Holds no data.
    pub arbiter: Option<bool>,
    /// Deliberate delay.
    pub delay_seconds: Option<u64>,
    /// Tags, sorted; `None` without the set's configuration.
    #[serde(default)]
    pub tags: Option<Vec<(String, String)>>,
}

impl Member {
    /// Whether clients know it and may read from it: neither hidden nor an arbiter.
    pub fn is_visible(&self) -> bool {
        self.hidden != Some(true) && self.arbiter != Some(true)
    }

    /// Whether clients that read from secondaries read from it: one that follows the primary as fast as it can.
    pub fn is_read_from(&self) -> bool {
        self.state.as_deref() == Some("SECONDARY")
            && self.healthy != Some(false)
            && self.is_visible()
            && self.delay_seconds.unwrap_or(0) == 0
    }
}

/// The role that Docward tells people to make for the account it logs in with: it reads.
pub const AUDIT_ROLE: &str = "docwardAudit";

/// Seconds that a member may be behind before what it says is old, unless something else is configured.
pub const TOLERATED_LAG: u64 = 10;

/// A user of the deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct User {
    /// The database it logs in to.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Roles as (database, role).
    pub roles: Vec<(String, String)>,
}

/// A role people made, out of others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CustomRole {
    /// The database it was made in.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Roles it holds, at any depth, as (database, role).
    pub inherits: Vec<(String, String)>,
    /// Where its privileges, at any depth, let it insert or update, as (database, collection); an empty
    /// name stands for any.
    #[serde(default)]
    pub writes: Vec<(String, String)>,
    /// Where they let it store documents that break the validator.
    #[serde(default)]
    pub bypasses: Vec<(String, String)>,
}

/// Actions that a role people made allows in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RolePrivilege {
    /// The role, as (database, role).
    pub role: (String, String),
    /// Where.
    pub place: PrivilegePlace,
    /// The actions, as the server names them.
    pub actions: Vec<String>,
}

/// Where a privilege holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PrivilegePlace {
    /// Everywhere, with what the server keeps for itself.
    Everywhere,
    /// The deployment as a whole.
    Cluster,
    /// A database and a collection of it; an empty name stands for any.
    Collections(String, String),
}

/// Default concerns of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultConcerns {
    /// `w` of the default write concern.
    pub write: Option<String>,
    /// Level of the default read concern.
    pub read: Option<String>,
}

/// What the server counts for a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionStats {
    /// Documents.
    pub documents: u64,
    /// Bytes of BSON they have.
    pub data_bytes: u64,
    /// Mean size of a document in bytes, rounded down by the server.
    pub average_bytes: u64,
    /// Bytes on disk, without indexes.
    pub storage_bytes: u64,
    /// Bytes of all indexes.
    pub index_bytes: u64,
    /// Whether it is sharded.
    pub sharded: bool,
    /// Documents that break the validator; `None` without one, or when counting took too long.
    pub invalid: Option<u64>,
}

/// How an index has been used since the server began to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexUsage {
    /// Operations that used it.
    pub operations: u64,
    /// Since when, in seconds of Unix time.
    pub since: Option<i64>,
    /// Members of a replica set that were asked, each of which counts for itself; 0 elsewhere.
    #[serde(default)]
    pub members: u32,
}

impl IndexUsage {
    /// Together with what another server counts, which keeps its own count. The shortest memory limits
    /// what can be said.
    pub fn with(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            since: self.since.max(other.since),
            members: self.members + other.members,
        }
    }
}
