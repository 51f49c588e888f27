//! The four ways to reach a deployment.

/// How clients reach a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// `mongodb+srv://`: the driver finds all routers in DNS.
    Srv,
    /// One virtual address in front of the routers.
    LoadBalancer,
    /// Every router written into the string.
    AllRouters,
    /// The members of a replica set written into the string.
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

    /// In words, for a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::Srv => "SRV",
            Self::LoadBalancer => "the load balancer",
            Self::AllRouters => "a list of all mongos",
            Self::ReplicaSet => "a list of the replica set's members",
        }
    }

    /// The clause with its formula; replica sets have none in the rule book.
    pub fn formula_clause(self) -> &'static str {
        match self {
            Self::Srv => "PF-2",
            Self::LoadBalancer => "PF-1",
            Self::AllRouters => "PF-3",
            Self::ReplicaSet => "GC-43",
        }
    }

    /// Whether clients keep a pool for every router.
    pub fn has_pool_per_router(self) -> bool {
        matches!(self, Self::Srv | Self::AllRouters)
    }
}
