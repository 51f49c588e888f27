//! Facts that only a running server provides. A fact that was not requested, not answered or not
//! permitted is `None`; no defaults are filled in.

use serde::{Deserialize, Serialize};

use crate::Cluster;

/// The topology of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Topology {
    /// One standalone server.
    Standalone,
    /// A replica set, by name.
    ReplicaSet(String),
    /// Routers in front of shards.
    Sharded,
}

impl Topology {
    /// The topology as text, for a report.
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
    /// The topology of the deployment.
    pub topology: Option<Topology>,
    /// The server the facts are about, `host:port`.
    pub host: Option<String>,
    /// True if it answered `serverStatus` to a client that did not log in.
    pub answers_anybody: bool,
    /// The read preference mode that was used to read documents.
    pub read_preference: Option<String>,
    /// Seconds since the server started, which is the period its counters cover.
    pub uptime_seconds: Option<u64>,
    /// The server's clock at the time of the request, in seconds of Unix time.
    pub clock_seconds: Option<i64>,
    /// Its connections.
    pub connections: Option<Connections>,
    /// Its start options.
    pub start: Option<StartOptions>,
    /// Parameters that are relevant for safety, by name, as text.
    pub parameters: Vec<(String, String)>,
    /// The members of the replica set.
    pub members: Option<Vec<Member>>,
    /// Users and their roles.
    pub users: Option<Vec<User>>,
    /// User-defined roles that users have.
    #[serde(default)]
    pub custom_roles: Vec<CustomRole>,
    /// The privileges of these roles, including inherited ones; `None` if not requested.
    #[serde(default)]
    pub role_privileges: Option<Vec<RolePrivilege>>,
    /// Default read and write concern of the cluster.
    pub default_concerns: Option<DefaultConcerns>,
    /// The state of a sharded cluster; `None` if there is none.
    #[serde(default)]
    pub cluster: Option<Cluster>,
    /// The number of internal collections; `None` if only a part of the deployment was listed.
    #[serde(default)]
    pub own_collections: Option<u64>,
    /// Files of tables and indexes that the storage engine currently holds open.
    #[serde(default)]
    pub open_data_handles: Option<u64>,
    /// The limit of open files of its process.
    #[serde(default)]
    pub max_open_files: Option<u64>,
}

impl Server {
    /// The name of its replica set.
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
    /// The number of further connections it would accept.
    pub available: u64,
    /// Created since the start.
    pub total_created: u64,
    /// The connections since an earlier run on the same server, if it did not restart in between.
    #[serde(default)]
    pub since_earlier: Option<ConnectionsSince>,
}

/// Connections between two dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsSince {
    /// Seconds between the two dates.
    pub seconds: u64,
    /// Created in that time.
    pub created: u64,
    /// Closed in that time.
    pub ended: u64,
}

/// Start options of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOptions {
    /// True if clients must log in, because of `security.authorization`, a key file or cluster
    /// certificates.
    pub authorization: bool,
    /// Addresses it listens on; `None` if not set, which means the loopback address.
    pub bind_addresses: Option<Vec<String>>,
    /// `net.tls.mode`.
    pub tls_mode: Option<String>,
    /// `security.javascriptEnabled`, if set.
    pub javascript: Option<bool>,
    /// True if an audit log is written.
    pub audit_log: bool,
    /// `sharding.clusterRole`: the role of the server in a sharded cluster, if it is part of one.
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
    /// True if the other members reach it.
    pub healthy: Option<bool>,
    /// Seconds behind the primary.
    pub lag_seconds: Option<u64>,
    /// Votes in elections; `None` without the set's configuration.
    pub votes: Option<u64>,
    /// Priority in elections, in thousandths.
    pub priority_milli: Option<u64>,
    /// True if hidden from clients.
    pub hidden: Option<bool>,
    /// True if it is an arbiter, which holds no data.
    pub arbiter: Option<bool>,
    /// The configured delay.
    pub delay_seconds: Option<u64>,
    /// Tags, sorted; `None` without the set's configuration.
    #[serde(default)]
    pub tags: Option<Vec<(String, String)>>,
}

impl Member {
    /// Returns whether clients can discover it and may read from it: neither hidden nor an arbiter.
    pub fn is_visible(&self) -> bool {
        self.hidden != Some(true) && self.arbiter != Some(true)
    }

    /// Returns whether clients that read from secondaries use it: a secondary without a configured
    /// delay.
    pub fn is_read_from(&self) -> bool {
        self.state.as_deref() == Some("SECONDARY")
            && self.healthy != Some(false)
            && self.is_visible()
            && self.delay_seconds.unwrap_or(0) == 0
    }
}

/// The read-only role that Docward advises users to create for its own account.
pub const AUDIT_ROLE: &str = "docwardAudit";

/// The default for the maximum lag of a member in seconds, above which its data counts as stale.
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

/// A user-defined role, built from others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CustomRole {
    /// The database it is defined in.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Roles it inherits, directly or indirectly, as (database, role).
    pub inherits: Vec<(String, String)>,
    /// The collections where its direct and inherited privileges permit inserts or updates, as
    /// (database, collection). An empty name means any.
    #[serde(default)]
    pub writes: Vec<(String, String)>,
    /// The collections where its privileges permit storing documents that fail the validator.
    #[serde(default)]
    pub bypasses: Vec<(String, String)>,
}

/// Actions that a user-defined role permits on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RolePrivilege {
    /// The role, as (database, role).
    pub role: (String, String),
    /// The resource.
    pub place: PrivilegePlace,
    /// The actions, as the server names them.
    pub actions: Vec<String>,
}

/// The resource of a privilege.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PrivilegePlace {
    /// Everything, including system collections.
    Everywhere,
    /// The deployment as a whole.
    Cluster,
    /// A database and a collection in it; an empty name means any.
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

/// The statistics of a collection on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionStats {
    /// The number of documents.
    pub documents: u64,
    /// The size of the documents in bytes of BSON.
    pub data_bytes: u64,
    /// Mean size of a document in bytes, rounded down by the server.
    pub average_bytes: u64,
    /// Bytes on disk, without indexes.
    pub storage_bytes: u64,
    /// Bytes of all indexes.
    pub index_bytes: u64,
    /// True if the collection is sharded.
    pub sharded: bool,
    /// Documents that fail the validator; `None` without one, or if counting took too long.
    pub invalid: Option<u64>,
}

/// The usage of an index since the server began to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexUsage {
    /// Operations that used it.
    pub operations: u64,
    /// The start of counting, in seconds of Unix time.
    pub since: Option<i64>,
    /// The number of replica set members asked, each with its own counter; 0 elsewhere.
    #[serde(default)]
    pub members: u32,
}

impl IndexUsage {
    /// Adds the usage counted by another server, which has its own counter. The shortest counting
    /// period applies to the sum.
    pub fn with(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            since: self.since.max(other.since),
            members: self.members + other.members,
        }
    }
}
