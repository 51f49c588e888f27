//! Declarations of users about their deployment and the services that connect to it.

use crate::NamespacePattern;

/// The declared topology of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredTopology {
    /// One standalone server.
    Standalone,
    /// A replica set.
    ReplicaSet,
    /// Routers in front of shards.
    Sharded,
}

impl DeclaredTopology {
    /// Every topology.
    pub const ALL: [Self; 3] = [Self::Standalone, Self::ReplicaSet, Self::Sharded];

    /// The word used in `docward.toml` and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::ReplicaSet => "replica-set",
            Self::Sharded => "sharded",
        }
    }
}

/// The scope of a connection limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// The limit applies to the deployment as a whole.
    Total,
    /// The limit applies to each server (router or member).
    PerNode,
}

impl LimitScope {
    /// Every scope.
    pub const ALL: [Self; 2] = [Self::Total, Self::PerNode];

    /// The word used in `docward.toml` and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::PerNode => "per-node",
        }
    }
}

/// Facts about the deployment from `[deployment]`. Undeclared facts are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredDeployment {
    /// The topology.
    pub topology: Option<DeclaredTopology>,
    /// Routers (`mongos`) that clients reach.
    pub routers: Option<u32>,
    /// Members of the replica set that clients may read from.
    pub members: Option<u32>,
    /// The connection limit.
    pub connection_limit: Option<u64>,
    /// The scope of the limit.
    pub limit_scope: Option<LimitScope>,
    /// The number of client addresses.
    pub client_ips: Option<u32>,
    /// True if routers are added or removed often.
    pub routers_change_often: Option<bool>,
}

/// The requirements of a service on its reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceClass {
    /// Core business: money, orders, accounts. Reads the primary and writes to a majority.
    Core,
    /// An ordinary service.
    General,
    /// Mostly reads; slightly stale data is acceptable.
    ReadHeavy,
    /// Reports and analysis: reads only.
    Report,
    /// Serves several regions and reads from the nearest member.
    Regional,
}

impl ServiceClass {
    /// Every class.
    pub const ALL: [Self; 5] =
        [Self::Core, Self::General, Self::ReadHeavy, Self::Report, Self::Regional];

    /// The word used in `docward.toml` and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::General => "general",
            Self::ReadHeavy => "read-heavy",
            Self::Report => "report",
            Self::Regional => "regional",
        }
    }
}

/// A service that connects, from `[[service]]`.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// Its name; connection strings with this `appName` belong to it.
    pub name: String,
    /// The class of the service.
    pub class: Option<ServiceClass>,
    /// Files of its source code.
    pub code: Vec<NamespacePattern>,
    /// Operations in a second at the peak, of one instance.
    pub peak_qps: Option<f64>,
    /// Mean time of an operation in milliseconds.
    pub latency_ms: Option<f64>,
    /// Instances that run at the same time.
    pub instances: Option<u32>,
    /// Processes (workers) in an instance, each with a separate pool.
    pub processes: Option<u32>,
    /// The accepted staleness of its reads in milliseconds; 0 if reads must be current.
    pub stale_reads_ms: Option<u64>,
    /// `maxPoolSize`, if it is declared and does not come from a connection string.
    pub pool: Option<u32>,
}

impl Service {
    /// Concurrent clients: instances times processes.
    pub fn clients(&self) -> u32 {
        self.instances.unwrap_or(1).saturating_mul(self.processes.unwrap_or(1))
    }
}
