//! What people declare about their deployment and about the services that connect to it.

use crate::NamespacePattern;

/// How the deployment is put together, as declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclaredTopology {
    /// One server on its own.
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

/// What a connection limit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// All connections of the deployment together.
    Total,
    /// Each server (router or member) has its own.
    PerNode,
}

impl LimitScope {
    /// Both scopes.
    pub const ALL: [Self; 2] = [Self::Total, Self::PerNode];

    /// The word used in `docward.toml` and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::PerNode => "per-node",
        }
    }
}

/// Facts about the deployment that `[deployment]` declares. What is not declared is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeclaredDeployment {
    /// How it is put together.
    pub topology: Option<DeclaredTopology>,
    /// Routers (`mongos`) that clients reach.
    pub routers: Option<u32>,
    /// Members of the replica set that clients may read from.
    pub members: Option<u32>,
    /// Connections that are accepted.
    pub connection_limit: Option<u64>,
    /// What the limit is about.
    pub limit_scope: Option<LimitScope>,
    /// Addresses that clients come from.
    pub client_ips: Option<u32>,
    /// Whether routers are added or removed often.
    pub routers_change_often: Option<bool>,
}

/// What a service may expect of its reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceClass {
    /// Core business: money, orders, accounts. Reads the primary and writes to a majority.
    Core,
    /// An ordinary service.
    General,
    /// Mostly reads, and may read what is a little old.
    ReadHeavy,
    /// Reports and analysis: reads only.
    Report,
    /// Serves several regions and reads what is nearest.
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
    /// What it may expect.
    pub class: Option<ServiceClass>,
    /// Files of its source code.
    pub code: Vec<NamespacePattern>,
    /// Operations in a second at the peak, of one instance.
    pub peak_qps: Option<f64>,
    /// Mean time of an operation in milliseconds.
    pub latency_ms: Option<f64>,
    /// Instances that run at the same time.
    pub instances: Option<u32>,
    /// Processes (workers) in an instance, each with a pool of its own.
    pub processes: Option<u32>,
    /// How old, in milliseconds, what it reads may be; 0 when it must be current.
    pub stale_reads_ms: Option<u64>,
    /// `maxPoolSize`, when it is declared rather than read off a connection string.
    pub pool: Option<u32>,
}

impl Service {
    /// Clients at the same time: instances times processes.
    pub fn clients(&self) -> u32 {
        self.instances.unwrap_or(1).saturating_mul(self.processes.unwrap_or(1))
    }
}
