//! Computes pool sizes from demand, and compares their sum with the connection limit (PF-1 to PF-5,
//! CN-03, PP-1, PP-2).
//!
//! Integers throughout: a plan of exactly 80 % passes and one more connection does not. The limit
//! may apply to the whole deployment or to each server (GC-43); clients are instances times
//! processes (GC-44).

mod warnings;

use docward_model::{LimitScope, ServiceClass, Severity, text};

use crate::{Amount, Method, ReadAdvice, read_preference};

/// The proposed `minPoolSize`; never more than the pool.
pub const MIN_POOL: u64 = 10;
/// The proposed `maxIdleTimeMS`.
pub const MAX_IDLE_MS: u64 = 120_000;
/// The proposed `waitQueueTimeoutMS`.
pub const WAIT_QUEUE_MS: u64 = 5_000;
/// The proposed `connectTimeoutMS`.
pub const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// The default pool size of current drivers (GC-39).
const DRIVER_DEFAULT: u64 = 100;
/// The rule book's range for `maxPoolSize` if demand is unknown.
const USUAL_POOL: std::ops::RangeInclusive<u64> = 50..=200;
/// The maximum pool size of a function that is started per request (GC-14).
const SERVERLESS_POOL: u64 = 5;
/// The number of connections that drivers open to every server for monitoring.
const MONITORS: u64 = 2;

/// The deployment that the connections go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The connection method.
    pub method: Method,
    /// Routers that clients reach; at least one.
    pub routers: u64,
    /// Members of the replica set, if known.
    pub members: Option<u64>,
    /// The connection limit; at least one.
    pub limit: u64,
    /// The scope of the limit.
    pub scope: LimitScope,
}

/// The platform that a client runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// Long-lived processes that keep a pool.
    #[default]
    Process,
    /// Functions started per request: as many clients as concurrent requests (GC-14).
    Serverless,
    /// Workers that each keep their own connections (GC-42).
    PhpFpm,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 3] = [Self::Process, Self::Serverless, Self::PhpFpm];

    /// The word used on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Serverless => "serverless",
            Self::PhpFpm => "php-fpm",
        }
    }

    /// The pool size if neither a number nor a demand is given.
    fn pool(self) -> u64 {
        match self {
            Self::Process => DRIVER_DEFAULT,
            Self::Serverless => SERVERLESS_POOL,
            Self::PhpFpm => 1,
        }
    }
}

/// The demand of one instance of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Operations per second at the peak.
    pub qps: Option<Amount>,
    /// Mean time of an operation in milliseconds.
    pub latency_ms: Option<Amount>,
}

/// The known facts about a service.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// The class of the service.
    pub class: Option<ServiceClass>,
    /// The accepted staleness of its reads.
    pub stale_ms: Option<u64>,
    /// Concurrent instances.
    pub instances: u64,
    /// Processes per instance, each with a pool.
    pub processes: u64,
    /// The platform it runs on.
    pub platform: Platform,
    /// The demand of one instance.
    pub load: Load,
    /// `maxPoolSize`, if it is set.
    pub pool: Option<u64>,
    /// Its read preference, if known; otherwise the advised one applies.
    pub read_preference: Option<String>,
}

/// The source of a pool size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// The user set it.
    Given,
    /// Computed from operations per second and their time.
    Formula,
    /// Unknown: the default of drivers.
    Default,
}

impl Pool {
    /// The word used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Formula => "formula",
            Self::Default => "default",
        }
    }
}

/// The relation of a plan to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within 80 %.
    Fits,
    /// Above 80 %, but within the limit.
    OverBudget,
    /// Above the limit: clients are refused.
    OverLimit,
}

impl Verdict {
    /// The word used in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::OverBudget => "violation",
            Self::OverLimit => "critical",
        }
    }
}

/// The importance of a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Clients will be refused.
    Critical,
    /// A mandatory clause is broken.
    Violation,
    /// A recommendation is not followed.
    Warning,
    /// Informational.
    Note,
}

impl Gravity {
    /// The word used in JSON and on the terminal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Violation => "violation",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }

    /// The severity of a finding about it.
    pub fn severity(self) -> Severity {
        match self {
            Self::Critical | Self::Violation => Severity::Error,
            Self::Warning => Severity::Warn,
            Self::Note => Severity::Info,
        }
    }
}

/// A warning about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The importance of the warning.
    pub gravity: Gravity,
    /// The clause it is based on.
    pub clause: &'static str,
    /// The message, with numbers.
    pub message: String,
}

impl Warning {
    fn new(gravity: Gravity, clause: &'static str, message: String) -> Self {
        Self { gravity, clause, message }
    }
}

/// A service's part of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlan {
    /// Its name.
    pub name: String,
    /// Client objects: instances times processes.
    pub clients: u64,
    /// The platform it runs on.
    pub platform: Platform,
    /// `maxPoolSize`.
    pub pool: u64,
    /// The source of the pool size.
    pub source: Pool,
    /// `minPoolSize`.
    pub min_pool: u64,
    /// Concurrent connections that one instance needs, if demand is known.
    pub base: Option<u64>,
    /// All its connections.
    pub total: u64,
    /// Its connections to the fullest server, if they are spread evenly.
    pub per_node: u64,
    /// Its share of the limit.
    pub share: f64,
    /// The largest pool that fits while the other services stay unchanged; 0 if none does.
    pub cap: u64,
    /// The pool if all services are reduced by the same factor; the pool itself if the plan fits, 0
    /// if no pool does.
    pub fair: u64,
    /// The longest mean time of an operation, in milliseconds, that its connections can sustain.
    pub longest_mean_ms: Option<f64>,
    /// The advised read preference.
    pub reads: ReadAdvice,
}

/// A complete plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The deployment of the plan.
    pub deployment: Deployment,
    /// The services in the order given.
    pub services: Vec<ServicePlan>,
    /// All connections to the deployment.
    pub total: u64,
    /// Connections to the fullest server, if they are spread evenly.
    pub per_node: u64,
    /// Four fifths of the limit.
    pub budget: u64,
    /// The share of the limit, by the limit's scope.
    pub share: f64,
    /// The verdict on the plan.
    pub verdict: Verdict,
    /// Connections that drivers open in addition to the pools, to monitor servers.
    pub monitoring: u64,
    /// Connections that are open while clients are idle.
    pub warm: u64,
    /// Warnings, the most important first.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// The connections to compare with the limit: all, or those to the fullest server.
    pub fn counted(&self) -> u64 {
        match self.deployment.scope {
            LimitScope::Total => self.total,
            LimitScope::PerNode => self.per_node,
        }
    }

    /// The compared connections as text.
    pub fn counted_text(&self) -> String {
        let connections = text::plural(self.counted(), "connection");
        match self.deployment.scope {
            LimitScope::Total => connections,
            LimitScope::PerNode => format!("{connections} to one server"),
        }
    }
}

/// Concurrent connections that an instance needs: operations per second times seconds, plus 50 %
/// for jitter, rounded up (PF-4).
pub fn base_demand(qps: Amount, latency_ms: Amount) -> u64 {
    pool_for(qps, latency_ms, 1)
}

/// Returns the concurrent connections of each of `parts` pools that share a demand. A single
/// rounding gives the same result as two.
pub fn pool_for(qps: Amount, latency_ms: Amount, parts: u64) -> u64 {
    // Millionths of operations times millionths of milliseconds, times 3/2.
    let product = qps.millionths().saturating_mul(latency_ms.millionths()).saturating_mul(3);
    let divisor = (2 * 1_000 * 1_000_000_000_000_u128).saturating_mul(u128::from(parts.max(1)));
    narrow(product.div_ceil(divisor))
}

fn narrow(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn product(factors: &[u64]) -> u128 {
    factors.iter().fold(1, |all, factor| all.saturating_mul(u128::from(*factor)))
}

impl Deployment {
    /// The number of pools that a client keeps for operations.
    fn pools(&self) -> u64 {
        if self.method.has_pool_per_router() { self.routers.max(1) } else { 1 }
    }

    /// The number of servers that a client discovers, as far as known.
    fn servers(&self) -> u64 {
        match self.method {
            Method::LoadBalancer => 1,
            Method::ReplicaSet => self.members.unwrap_or(1),
            Method::Srv | Method::AllRouters => self.routers.max(1),
        }
    }

    /// The number of servers that a service's operations can reach: with `primary` one member of a
    /// replica set.
    fn reachable(&self, mode: &str) -> u64 {
        match self.method {
            Method::ReplicaSet if mode == "primary" => 1,
            Method::ReplicaSet => self.members.unwrap_or(1).max(1),
            _ => self.pools(),
        }
    }

    /// The factor by which a client's pool counts against the limit.
    fn weight(&self, mode: &str) -> u64 {
        match self.scope {
            LimitScope::Total => self.reachable(mode),
            LimitScope::PerNode => 1,
        }
    }

    /// The limit, times the routers if a balancer distributes connections among them.
    fn room(&self) -> u128 {
        let behind = match (self.scope, self.method) {
            (LimitScope::PerNode, Method::LoadBalancer) => self.routers.max(1),
            _ => 1,
        };
        product(&[self.limit, behind])
    }

    /// The verdict on a number of connections.
    pub(crate) fn verdict(&self, counted: u128) -> Verdict {
        if counted > self.room() {
            Verdict::OverLimit
        } else if counted.saturating_mul(5) > self.room().saturating_mul(4) {
            Verdict::OverBudget
        } else {
            Verdict::Fits
        }
    }

    /// The connections of all pools to the fullest server: a balancer spreads them evenly.
    fn on_one(&self, pooled: u128) -> u128 {
        match self.method {
            Method::LoadBalancer => pooled.div_ceil(u128::from(self.routers.max(1))),
            _ => pooled,
        }
    }

    /// The largest pool of `clients`, in addition to `others`, that stays within 80 %.
    fn cap(&self, clients: u64, weight: u64, others: u128) -> u64 {
        let left = self.room().saturating_mul(4).saturating_sub(others.saturating_mul(5));
        let each = product(&[5, clients.max(1), weight.max(1)]);
        narrow(left / each.max(1))
    }
}

/// A service with the values computed from its inputs.
struct Sized<'a> {
    given: &'a Given,
    clients: u64,
    pool: u64,
    source: Pool,
    base: Option<u64>,
    reads: ReadAdvice,
    mode: String,
}

impl<'a> Sized<'a> {
    fn of(given: &'a Given, deployment: &Deployment) -> Self {
        let processes = given.processes.max(1);
        let clients = given.instances.saturating_mul(processes);
        let base = match (given.load.qps, given.load.latency_ms) {
            (Some(qps), Some(latency)) => Some(base_demand(qps, latency)),
            _ => None,
        };
        let (pool, source) = match (given.pool, given.load.qps, given.load.latency_ms) {
            (Some(pool), _, _) => (pool, Pool::Given),
            (None, Some(qps), Some(latency)) => {
                // The processes of an instance share its demand, and so do the pools of a process.
                let parts = processes.saturating_mul(deployment.pools());
                (pool_for(qps, latency, parts).max(1), Pool::Formula)
            }
            _ => (given.platform.pool(), Pool::Default),
        };
        let reads = read_preference(given.class, given.stale_ms);
        // A service of an unknown class may read from any member: the more conservative count.
        let unknown = if reads.asks { "nearest" } else { reads.mode };
        let mode = given.read_preference.clone().unwrap_or_else(|| unknown.to_owned());
        Self { given, clients, pool, source, base, reads, mode }
    }

    fn counted(&self, deployment: &Deployment) -> u128 {
        product(&[self.clients, self.pool, deployment.weight(&self.mode)])
    }

    fn total(&self, deployment: &Deployment) -> u128 {
        product(&[self.clients, self.pool, deployment.reachable(&self.mode)])
    }
}

/// Sizes every pool that is not given, adds them up, and reports problems of the sum.
pub fn plan(deployment: &Deployment, services: &[Given]) -> Plan {
    let sized: Vec<Sized<'_>> = services.iter().map(|s| Sized::of(s, deployment)).collect();
    let sum = |values: &mut dyn Iterator<Item = u128>| values.fold(0_u128, u128::saturating_add);
    let counted = sum(&mut sized.iter().map(|s| s.counted(deployment)));
    let total = sum(&mut sized.iter().map(|s| s.total(deployment)));
    let pooled = sum(&mut sized.iter().map(|s| product(&[s.clients, s.pool])));
    let clients = sum(&mut sized.iter().map(|s| u128::from(s.clients)));
    let room = deployment.room();
    let verdict = deployment.verdict(counted);
    let plans: Vec<ServicePlan> = sized
        .iter()
        .map(|service| {
            let own = service.counted(deployment);
            let weight = deployment.weight(&service.mode);
            let fair = if verdict == Verdict::Fits {
                service.pool
            } else {
                let shrunk = u128::from(service.pool).saturating_mul(room.saturating_mul(4));
                narrow(shrunk / counted.saturating_mul(5).max(1))
            };
            ServicePlan {
                name: service.given.name.clone(),
                clients: service.clients,
                platform: service.given.platform,
                pool: service.pool,
                source: service.source,
                min_pool: MIN_POOL.min(service.pool),
                base: service.base,
                total: narrow(service.total(deployment)),
                per_node: narrow(deployment.on_one(product(&[service.clients, service.pool]))),
                share: own as f64 / room as f64,
                cap: deployment.cap(service.clients, weight, counted.saturating_sub(own)),
                fair,
                longest_mean_ms: longest_mean(service, deployment),
                reads: service.reads,
            }
        })
        .collect();
    let servers = deployment.servers();
    let warm = sum(&mut sized.iter().map(|s| {
        let kept = if s.given.platform == Platform::Process { MIN_POOL.min(s.pool) } else { 1 };
        product(&[s.clients, kept, servers])
    }));
    let mut plan = Plan {
        deployment: *deployment,
        services: plans,
        total: narrow(total),
        per_node: narrow(deployment.on_one(pooled)),
        budget: narrow(product(&[deployment.limit, 4]) / 5),
        share: counted as f64 / room as f64,
        verdict,
        monitoring: narrow(clients.saturating_mul(product(&[MONITORS, servers]))),
        warm: narrow(warm),
        warnings: Vec::new(),
    };
    plan.warnings = warnings::warnings(&plan, &sized);
    plan
}

/// Little's law: connections divided by operations per second.
fn longest_mean(service: &Sized<'_>, deployment: &Deployment) -> Option<f64> {
    let qps = service.given.load.qps?;
    let connections = product(&[service.pool, service.given.processes.max(1), deployment.pools()]);
    Some(connections as f64 * 1_000.0 / qps.as_f64())
}

/// `133.3 %`: one decimal, never rounded across 80 % or 100 %.
pub fn share_text(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    let crossed = [0.8, 1.0].iter().any(|line| (share > *line) != (tenths / 100.0 > *line));
    if crossed { format!("{:.4} %", share * 100.0) } else { format!("{tenths:.1} %") }
}
