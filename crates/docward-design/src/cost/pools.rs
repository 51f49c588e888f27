//! Sizes the connection pools of a design's clients with the arithmetic of `docward connect plan`
//! (ALG-3, CN-03.1). Missing facts about the deployment become questions and are never guessed.

use docward_connect::{
    CONNECT_TIMEOUT_MS, Deployment, Given, Gravity, MAX_IDLE_MS, Method, Plan, WAIT_QUEUE_MS, plan,
    share_text,
};
use docward_model::{DesignModel, LimitScope, text};

use crate::decide::derive::Question;

/// The largest recommended pool if the model does not say how long an operation takes (PP-1).
const LARGEST: u64 = 200;

/// The result of sizing the pools.
#[derive(Clone, Debug, PartialEq)]
pub enum Pools {
    /// The limit and the clients are declared.
    Planned(Box<PoolPlan>),
    /// One of them is missing. The question says what to declare.
    Open(Question),
}

/// The plan for the pool of each client.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolPlan {
    /// The declared number of client objects.
    pub clients: u64,
    /// The maximum pool size that keeps the total within 80 % of the limit. 0 if no size does.
    pub cap: u64,
    /// The declared reads and writes per second, of all clients together.
    pub per_second: f64,
    /// The plan with this pool size: total, share of the limit, and warnings.
    pub plan: Plan,
}

/// Sizes the pools of the clients in a model.
pub fn pools(model: &DesignModel) -> Pools {
    let declared = &model.deployment;
    let limit = declared.connection_limit.filter(|limit| *limit > 0);
    let clients = declared.clients.filter(|clients| *clients > 0);
    let (Some(limit), Some(clients)) = (limit, clients) else {
        return Pools::Open(question(limit.is_none(), clients.is_none()));
    };
    // Each member of a replica set counts separately, as in `docward connect plan`. Clients of
    // shards are assumed to use a load balancer, because the model does not say how many mongos
    // there are.
    let (method, scope) = match declared.shards {
        0 | 1 => (Method::ReplicaSet, LimitScope::PerNode),
        _ => (Method::LoadBalancer, LimitScope::Total),
    };
    let deployment = Deployment { method, routers: 1, members: None, limit, scope };
    let with = |pool: u64| {
        let pool = Some(pool);
        let given = Given { instances: clients, processes: 1, pool, ..Given::default() };
        plan(&deployment, &[given])
    };
    let cap = with(1).services.first().map_or(0, |service| service.cap);
    // Drivers read a pool size of 0 as "no limit". If no size fits, the plan therefore uses one
    // connection and warns.
    let plan = with(cap.clamp(1, LARGEST));
    let reads = model.reads.iter().map(|read| read.per_second);
    let writes = model.writes.iter().map(|write| write.per_second);
    Pools::Planned(Box::new(PoolPlan { clients, cap, per_second: reads.chain(writes).sum(), plan }))
}

fn question(no_limit: bool, no_clients: bool) -> Question {
    let mut asked = Vec::new();
    let mut keys = Vec::new();
    if no_limit {
        asked.push("how many connections does the deployment accept");
        keys.push("`connection-limit: 3000`");
    }
    if no_clients {
        asked.push("how many clients (instances times processes) share its connections");
        keys.push("`clients: 20`");
    }
    Question {
        about: "deployment".to_owned(),
        ask: format!("{}?", asked.join(", and ")),
        write: format!("to size pools, add {} to `deployment`", keys.join(" and ")),
    }
}

impl PoolPlan {
    /// Returns `maxPoolSize`.
    pub fn max_pool(&self) -> u64 {
        self.plan.services.first().map_or(1, |service| service.pool)
    }

    /// Returns the options of every client: name, value, clause.
    pub fn options(&self) -> [(&'static str, u64, &'static str); 5] {
        let min = self.plan.services.first().map_or(1, |service| service.min_pool);
        [
            ("maxPoolSize", self.max_pool(), "CN-03.1"),
            ("minPoolSize", min, "PP-2"),
            ("maxIdleTimeMS", MAX_IDLE_MS, "PP-3"),
            ("waitQueueTimeoutMS", WAIT_QUEUE_MS, "PP-4"),
            ("connectTimeoutMS", CONNECT_TIMEOUT_MS, "PP-5"),
        ]
    }

    /// Returns the formula of the pool size with its figures.
    pub fn formula(&self) -> String {
        let limit = text::count(self.plan.deployment.limit);
        let each = format!(
            "80 % of {limit} connections / {} = {} each",
            text::plural(self.clients, "client"),
            text::count(self.cap)
        );
        match self.cap {
            0 => format!("{each}: even one connection per client exceeds the budget (CN-03.1)"),
            cap if cap > LARGEST => {
                format!("{each}, limited to the usual maximum of {LARGEST} (CN-03.1, ALG-3, PP-1)")
            }
            _ => format!("{each} (CN-03.1, ALG-3)"),
        }
    }

    /// Returns a description of the total of all pools.
    pub fn sum(&self) -> String {
        let (clients, pool) = (text::count(self.clients), text::count(self.max_pool()));
        let sum = text::count(self.clients.saturating_mul(self.max_pool()));
        format!(
            "{clients} × {pool} = {sum}, {} of the limit: {}",
            share_text(self.plan.share),
            self.plan.verdict.name()
        )
    }

    /// Returns a description of the assumed connection method, and of what changes with another
    /// one.
    pub fn way(&self) -> &'static str {
        match self.plan.deployment.method {
            Method::ReplicaSet => {
                "this assumes that each member of a replica set has this limit: a client has a \
                 pool for every member that it reads from"
            }
            _ => {
                "this assumes a load balancer (PF-1); with SRV or a list of mongos, a client has \
                 a pool for each mongos: divide maxPoolSize by the number of mongos (PF-2, PF-3)"
            }
        }
    }

    /// Returns the command that computes the need of the declared operations. Users run it once
    /// they know the duration of an operation.
    pub fn next(&self) -> Option<String> {
        let each = self.per_second / self.clients as f64;
        // A rate that rounds to 0 needs no plan.
        let each = (each * 100.0).ceil() / 100.0;
        (each > 0.0).then(|| {
            format!(
                "docward connect plan --apps {} --method {} --limit {} --qps {each} --latency-ms MS",
                self.clients,
                self.plan.deployment.method.name(),
                self.plan.deployment.limit
            )
        })
    }

    /// Returns the warnings, the most important first.
    pub fn warnings(&self) -> impl Iterator<Item = &docward_connect::Warning> {
        self.plan.warnings.iter().filter(|warning| warning.gravity < Gravity::Note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docward_connect::Verdict;

    fn sized(shards: u32, limit: u64, clients: u64) -> PoolPlan {
        let mut model = crate::read("model.yaml", crate::STARTER).unwrap_or_default();
        model.deployment.shards = shards;
        model.deployment.connection_limit = Some(limit);
        model.deployment.clients = Some(clients);
        match pools(&model) {
            Pools::Planned(plan) => *plan,
            Pools::Open(question) => panic!("{question:?}"),
        }
    }

    #[test]
    fn alg_3_cn_03_1_pools_are_those_of_connect_plan() {
        for (limit, clients, cap, pool) in [
            (3000, 25, 96, 96),
            (3000, 30, 80, 80),
            (3000, 20, 120, 120),
            // A larger pool would fit, but 200 is the maximum. Only pools below 50 cause a warning.
            (3000, 2, 1200, 200),
            (3000, 100, 24, 24),
        ] {
            for shards in [1, 4] {
                let plan = sized(shards, limit, clients);
                assert_eq!((plan.cap, plan.max_pool()), (cap, pool), "{limit} {clients}");
                assert_eq!(plan.plan.verdict, Verdict::Fits, "{limit} {clients}");
                assert_eq!(plan.warnings().count(), usize::from(pool < 50), "{limit} {clients}");
            }
        }
    }

    #[test]
    fn cn_03_1_where_nothing_fits_that_is_said() {
        let plan = sized(4, 100, 90);
        assert_eq!((plan.cap, plan.max_pool()), (0, 1));
        assert_eq!(plan.plan.verdict, Verdict::OverBudget);
        assert!(plan.formula().contains("even one connection per client"), "{}", plan.formula());
        assert!(plan.warnings().any(|warning| warning.clause == "CN-03.1"));
    }

    #[test]
    fn cn_03_1_what_is_not_declared_is_asked_for() {
        let mut model = crate::read("model.yaml", crate::STARTER).unwrap_or_default();
        for (limit, clients, wanted, other) in [
            (None, None, "connection-limit", ""),
            (None, Some(3), "connection-limit", "clients:"),
            (Some(3000), None, "clients:", "connection-limit"),
            (Some(0), Some(0), "connection-limit", ""),
        ] {
            model.deployment.connection_limit = limit;
            model.deployment.clients = clients;
            let Pools::Open(question) = pools(&model) else { panic!("{limit:?} {clients:?}") };
            assert!(question.write.contains(wanted), "{question:?}");
            assert!(other.is_empty() || !question.write.contains(other), "{question:?}");
        }
    }

    #[test]
    fn pf_4_the_next_command_has_the_declared_rate_of_a_client() {
        let plan = sized(4, 4000, 40);
        let each = (plan.per_second / 40.0 * 100.0).ceil() / 100.0;
        let next = plan.next().unwrap_or_default();
        assert!(
            next.contains(&format!("--apps 40 --method lb --limit 4000 --qps {each} ")),
            "{next}"
        );
    }
}
