//! The four methods to connect to a deployment.

/// The method by which clients connect to a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `mongodb+srv://`: the driver finds all routers through DNS.
    Srv,
    /// One virtual address in front of the routers.
    LoadBalancer,
    /// A list of every router in the string.
    AllRouters,
    /// A list of the members of a replica set in the string.
    ReplicaSet,
}

impl Method {
    /// Every method; those of sharded clusters in the rule book's order of preference (CM-0.1).
    pub const ALL: [Self; 4] = [Self::Srv, Self::LoadBalancer, Self::AllRouters, Self::ReplicaSet];

    /// The word used on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Srv => "srv",
            Self::LoadBalancer => "lb",
            Self::AllRouters => "all-mongos",
            Self::ReplicaSet => "replica-set",
        }
    }

    /// The method as words, for a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::Srv => "SRV",
            Self::LoadBalancer => "the load balancer",
            Self::AllRouters => "a list of all mongos",
            Self::ReplicaSet => "a list of the replica set's members",
        }
    }

    /// The clause with its formula; the rule book has none for replica sets.
    pub fn formula_clause(self) -> &'static str {
        match self {
            Self::Srv => "PF-2",
            Self::LoadBalancer => "PF-1",
            Self::AllRouters => "PF-3",
            Self::ReplicaSet => "GC-43",
        }
    }

    /// Returns whether clients keep a pool for every router.
    pub fn has_pool_per_router(self) -> bool {
        matches!(self, Self::Srv | Self::AllRouters)
    }
}
