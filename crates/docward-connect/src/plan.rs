//! Pool sizes from demand, and their sum against the connection limit (PF-1 to PF-5, CN-03, PP-1, PP-2).
//!
//! Whole numbers throughout: a plan of exactly 80 % passes and one connection more does not. The limit may
//! be about the whole deployment or about each server (GC-43); clients are instances times processes
//! (GC-44).

mod warnings;

use docward_model::{LimitScope, ServiceClass, Severity, text};

use crate::{Amount, Method, ReadAdvice, read_preference};

/// `minPoolSize` that is proposed; never more than the pool.
pub const MIN_POOL: u64 = 10;
/// `maxIdleTimeMS` that is proposed.
pub const MAX_IDLE_MS: u64 = 120_000;
/// `waitQueueTimeoutMS` that is proposed.
pub const WAIT_QUEUE_MS: u64 = 5_000;
/// `connectTimeoutMS` that is proposed.
pub const CONNECT_TIMEOUT_MS: u64 = 10_000;
/// The pool of current drivers when nothing is set (GC-39).
const DRIVER_DEFAULT: u64 = 100;
/// Where the rule book wants `maxPoolSize` when demand is not known.
const USUAL_POOL: std::ops::RangeInclusive<u64> = 50..=200;
/// The largest pool of a function that is started per request (GC-14).
const SERVERLESS_POOL: u64 = 5;
/// Connections that drivers open to every server to watch it.
const MONITORS: u64 = 2;

/// What the connections go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// How it is reached.
    pub method: Method,
    /// Routers that clients reach; at least one.
    pub routers: u64,
    /// Members of the replica set, when known.
    pub members: Option<u64>,
    /// Connections that are accepted; at least one.
    pub limit: u64,
    /// By the whole or by each server.
    pub scope: LimitScope,
}

/// What a client runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Platform {
    /// Processes that live long and keep a pool.
    #[default]
    Process,
    /// Functions started per request: as many clients as run at the same time (GC-14).
    Serverless,
    /// Workers that keep connections each for itself (GC-42).
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

    /// The pool when neither a number nor a demand is given.
    fn pool(self) -> u64 {
        match self {
            Self::Process => DRIVER_DEFAULT,
            Self::Serverless => SERVERLESS_POOL,
            Self::PhpFpm => 1,
        }
    }
}

/// What a service asks of the database; of one instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Operations in a second at the peak.
    pub qps: Option<Amount>,
    /// Mean time of one in milliseconds.
    pub latency_ms: Option<Amount>,
}

/// What is known of a service.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Its name.
    pub name: String,
    /// What it may expect.
    pub class: Option<ServiceClass>,
    /// How old what it reads may be.
    pub stale_ms: Option<u64>,
    /// Instances at the same time.
    pub instances: u64,
    /// Processes of an instance, each with a pool.
    pub processes: u64,
    /// What it runs in.
    pub platform: Platform,
    /// What it asks.
    pub load: Load,
    /// `maxPoolSize`, when it is set.
    pub pool: Option<u64>,
    /// Its read preference, when it is known; advice otherwise.
    pub read_preference: Option<String>,
}

/// Where a pool size comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Somebody set it.
    Given,
    /// From operations in a second and their time.
    Formula,
    /// Nothing is known: what drivers take by themselves.
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

/// How a plan stands to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within 80 %.
    Fits,
    /// Above 80 %, not above the limit.
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

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gravity {
    /// Clients will be refused.
    Critical,
    /// A mandatory clause is broken.
    Violation,
    /// A recommendation is not followed.
    Warning,
    /// Worth knowing.
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

    /// How loud a finding about it would be.
    pub fn severity(self) -> Severity {
        match self {
            Self::Critical | Self::Violation => Severity::Error,
            Self::Warning => Severity::Warn,
            Self::Note => Severity::Info,
        }
    }
}

/// Something to know about a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// How much it matters.
    pub gravity: Gravity,
    /// The clause it follows.
    pub clause: &'static str,
    /// What, with numbers.
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
    /// What it runs in.
    pub platform: Platform,
    /// `maxPoolSize`.
    pub pool: u64,
    /// Where that comes from.
    pub source: Pool,
    /// `minPoolSize`.
    pub min_pool: u64,
    /// Connections one instance needs at the same time, when demand is known.
    pub base: Option<u64>,
    /// All its connections.
    pub total: u64,
    /// Its connections to the fullest server, when they are spread evenly.
    pub per_node: u64,
    /// Its part of the limit.
    pub share: f64,
    /// The largest pool that fits while the other services stay as they are; 0 when none does.
    pub cap: u64,
    /// The pool when all services give up the same part; the pool itself when the plan fits, 0 when no pool does.
    pub fair: u64,
    /// Mean time of an operation, in milliseconds, that its connections are enough for.
    pub longest_mean_ms: Option<f64>,
    /// Where it should read.
    pub reads: ReadAdvice,
}

/// The whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it is about.
    pub deployment: Deployment,
    /// The services in the order given.
    pub services: Vec<ServicePlan>,
    /// All connections to the deployment.
    pub total: u64,
    /// Connections to the fullest server, when they are spread evenly.
    pub per_node: u64,
    /// Four fifths of the limit.
    pub budget: u64,
    /// Part of the limit: of what its scope counts.
    pub share: f64,
    /// How it stands.
    pub verdict: Verdict,
    /// Connections drivers open beside the pools, to watch servers.
    pub monitoring: u64,
    /// Connections that are open while nothing happens.
    pub warm: u64,
    /// What to know, what matters most first.
    pub warnings: Vec<Warning>,
}

impl Plan {
    /// Connections that the limit is compared with: all, or those to the fullest server.
    pub fn counted(&self) -> u64 {
        match self.deployment.scope {
            LimitScope::Total => self.total,
            LimitScope::PerNode => self.per_node,
        }
    }

    /// The same in words.
    pub fn counted_text(&self) -> String {
        let connections = text::plural(self.counted(), "connection");
        match self.deployment.scope {
            LimitScope::Total => connections,
            LimitScope::PerNode => format!("{connections} to one server"),
        }
    }
}

/// Connections that an instance needs at the same time: operations in a second times seconds, and half as
/// much again for jitter, rounded up (PF-4).
pub fn base_demand(qps: Amount, latency_ms: Amount) -> u64 {
    pool_for(qps, latency_ms, 1)
}

/// The same, split over `parts` pools. Rounding up once is the same as rounding up twice.
pub fn pool_for(qps: Amount, latency_ms: Amount, parts: u64) -> u64 {
    // Millionths of operations times millionths of milliseconds, times three halves.
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
    /// Pools that a client keeps for operations.
    fn pools(&self) -> u64 {
        if self.method.has_pool_per_router() { self.routers.max(1) } else { 1 }
    }

    /// Servers that a client sees, as far as that is known.
    fn servers(&self) -> u64 {
        match self.method {
            Method::LoadBalancer => 1,
            Method::ReplicaSet => self.members.unwrap_or(1),
            Method::Srv | Method::AllRouters => self.routers.max(1),
        }
    }

    /// Servers that a service's operations can go to: with `primary` one member of a replica set.
    fn reachable(&self, mode: &str) -> u64 {
        match self.method {
            Method::ReplicaSet if mode == "primary" => 1,
            Method::ReplicaSet => self.members.unwrap_or(1).max(1),
            _ => self.pools(),
        }
    }

    /// How often a client's pool counts against the limit.
    fn weight(&self, mode: &str) -> u64 {
        match self.scope {
            LimitScope::Total => self.reachable(mode),
            LimitScope::PerNode => 1,
        }
    }

    /// The limit, times the routers where a balancer shares connections out among them.
    fn room(&self) -> u128 {
        let behind = match (self.scope, self.method) {
            (LimitScope::PerNode, Method::LoadBalancer) => self.routers.max(1),
            _ => 1,
        };
        product(&[self.limit, behind])
    }

    /// How many connections stand to the room.
    pub(crate) fn verdict(&self, counted: u128) -> Verdict {
        if counted > self.room() {
            Verdict::OverLimit
        } else if counted.saturating_mul(5) > self.room().saturating_mul(4) {
            Verdict::OverBudget
        } else {
            Verdict::Fits
        }
    }

    /// How many connections of all pools reach the fullest server: a balancer shares them out evenly.
    fn on_one(&self, pooled: u128) -> u128 {
        match self.method {
            Method::LoadBalancer => pooled.div_ceil(u128::from(self.routers.max(1))),
            _ => pooled,
        }
    }

    /// The largest pool of `clients` beside `others` that stays within four fifths.
    fn cap(&self, clients: u64, weight: u64, others: u128) -> u64 {
        let left = self.room().saturating_mul(4).saturating_sub(others.saturating_mul(5));
        let each = product(&[5, clients.max(1), weight.max(1)]);
        narrow(left / each.max(1))
    }
}

/// A service with what follows from what is given.
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
        // A class that is not known may read anywhere: the more careful count.
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

/// Sizes every pool that is not given, adds up, and says what is wrong with the sum.
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

/// By Little's law: connections divided by operations in a second.
fn longest_mean(service: &Sized<'_>, deployment: &Deployment) -> Option<f64> {
    let qps = service.given.load.qps?;
    let connections = product(&[service.pool, service.given.processes.max(1), deployment.pools()]);
    Some(connections as f64 * 1_000.0 / qps.as_f64())
}

/// `133.3 %`: one digit behind the point, never rounded across 80 % or 100 %.
pub fn share_text(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    let crossed = [0.8, 1.0].iter().any(|line| (share > *line) != (tenths / 100.0 > *line));
    if crossed { format!("{:.4} %", share * 100.0) } else { format!("{tenths:.1} %") }
}
