//! Chooses a connection method (CM-0.3). The disadvantages of each are ranked in a fixed order, and
//! the method with the least severe ones wins. The rule book's preference (CM-0.1) breaks ties.

use docward_model::{DeclaredTopology, LimitScope, text};

use crate::{
    Amount, Deployment, Driver, Given, Load, Method, Plan, Skew, SrvSupport, Verdict, Version,
    plan, simulate,
};

/// With fewer client addresses than this multiple of the routers, hashing does not distribute them
/// evenly.
pub const FEW_CLIENTS_FACTOR: u64 = 3;
/// The provider has to enable SRV, which requires this server version.
const SRV_SERVER: Version = Version { major: 4, minor: 0 };

/// The inputs of a choice. Unknown ones are `None`, and the result lists what they could change.
#[derive(Clone, Debug, Default)]
pub struct ChooseInput {
    /// The topology of the deployment; sharded if routers are given.
    pub topology: Option<DeclaredTopology>,
    /// Routers that clients reach.
    pub routers: Option<u64>,
    /// Members of the replica set.
    pub members: Option<u64>,
    /// The number of client addresses.
    pub client_ips: Option<u32>,
    /// The drivers of all services; one that does not support SRV rules it out.
    pub drivers: Vec<Driver>,
    /// The server's version.
    pub server: Option<Version>,
    /// True if routers are added or removed often.
    pub routers_change_often: bool,
    /// True if traffic must be directed to individual routers.
    pub precise_control: bool,
    /// The clients and the connection limit.
    pub budget: Option<Budget>,
}

/// The inputs for the number of connections of all clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The number of client objects.
    pub clients: u64,
    /// `maxPoolSize`, if it is set.
    pub pool: Option<u64>,
    /// Operations per second of one client and their mean time, which determine the smallest pool.
    pub load: Option<(Amount, Amount)>,
    /// The connection limit.
    pub limit: u64,
    /// The scope of the limit.
    pub scope: LimitScope,
}

/// A reason for the decision, or something to take care of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The clause it is based on.
    pub clause: &'static str,
    /// The reason as a sentence without a period.
    pub message: String,
}

impl Reason {
    fn new(clause: &'static str, message: impl Into<String>) -> Self {
        Self { clause, message: message.into() }
    }
}

/// A row of the comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The clause.
    pub clause: &'static str,
    /// The compared aspect.
    pub aspect: &'static str,
    /// The consequence of each method, in the order of the columns.
    pub cells: Vec<(Method, String)>,
}

/// The result of a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The chosen method.
    pub method: Method,
    /// The method as words, for a sentence.
    pub how: &'static str,
    /// The reasons for it.
    pub reasons: Vec<Reason>,
    /// The second-best method and its disadvantages; `None` for replica sets without SRV.
    pub runner_up: Option<(Method, Vec<Reason>)>,
    /// The methods side by side; empty if there is nothing to choose between.
    pub comparison: Vec<Comparison>,
    /// The preconditions of the method.
    pub preconditions: Vec<Reason>,
    /// The remaining disadvantages of the chosen method.
    pub warnings: Vec<Reason>,
    /// The format of the connection string.
    pub uri: String,
    /// The distribution of the clients by a load balancer.
    pub skew: Option<Skew>,
}

/// The severity of a disadvantage, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// The method meets a requirement less well than the others.
    Wish,
    /// Routers behind a balancer stay idle.
    Skew,
    /// The list of routers is outdated after every change.
    Change,
    /// The number of connections exceeds the budget.
    Budget,
    /// The method does not work at all.
    Impossible,
}

/// A method with its disadvantages.
struct Candidate {
    method: Method,
    against: Vec<(Weight, Reason)>,
}

impl Candidate {
    fn worst(&self) -> Option<Weight> {
        self.against.iter().map(|(weight, _)| *weight).max()
    }

    fn reasons(&self) -> Vec<Reason> {
        self.against.iter().map(|(_, reason)| reason.clone()).collect()
    }
}

/// Chooses a method.
pub fn choose(input: &ChooseInput) -> Choice {
    let sharded = match input.topology {
        Some(topology) => topology == DeclaredTopology::Sharded,
        None => input.routers.is_some(),
    };
    match input.topology {
        _ if sharded => choose_sharded(input),
        Some(DeclaredTopology::Standalone) => choose_standalone(input),
        _ => choose_replica_set(input),
    }
}

fn choose_standalone(input: &ChooseInput) -> Choice {
    Choice {
        // Clients of a standalone server keep one pool, like those of a replica set.
        method: Method::ReplicaSet,
        how: "the address of the server",
        reasons: vec![Reason::new(
            "CM-0.2",
            "a standalone server has one address and no failover, so there is nothing to choose",
        )],
        runner_up: None,
        comparison: Vec::new(),
        preconditions: Vec::new(),
        warnings: budget_warning(input, Method::ReplicaSet).into_iter().collect(),
        uri: format!("mongodb://{CREDENTIALS}@HOST:27017/?authSource=admin&tls=true"),
        skew: None,
    }
}

fn choose_replica_set(input: &ChooseInput) -> Choice {
    let mut reasons = vec![Reason::new(
        "CM-0.2",
        "clients of a replica set use a list of its members with replicaSet; members seldom \
         change, so DNS records gain little",
    )];
    reasons.push(Reason::new("CM-2.2", "a load balancer would hide which member is the primary"));
    Choice {
        method: Method::ReplicaSet,
        how: Method::ReplicaSet.text(),
        reasons,
        runner_up: srv_fault(input).is_none().then(|| {
            (
                Method::Srv,
                vec![Reason::new("CM-0.2", "SRV also works if the provider has DNS records")],
            )
        }),
        comparison: compare_for_set(),
        preconditions: vec![Reason::new(
            "CN-01.3",
            "clients must know the name of the replica set, and reach every member by its name in \
             the configuration of the set",
        )],
        warnings: budget_warning(input, Method::ReplicaSet).into_iter().collect(),
        uri: uri_form(Method::ReplicaSet, input.members),
        skew: None,
    }
}

/// The reason why SRV cannot be used.
fn srv_fault(input: &ChooseInput) -> Option<Reason> {
    if let Some(server) = input.server.filter(|server| *server < SRV_SERVER) {
        return Some(Reason::new(
            "CM-1.3",
            format!("server {server} is older than {SRV_SERVER}, which SRV needs"),
        ));
    }
    let old = input.drivers.iter().find(|driver| driver.srv() == SrvSupport::No)?;
    Some(Reason::new(
        "CM-1.3",
        format!(
            "driver too old: {old} does not support mongodb+srv, which needs {}",
            old.language.srv_since()
        ),
    ))
}

fn choose_sharded(input: &ChooseInput) -> Choice {
    let routers = input.routers.unwrap_or(1).max(1);
    let skew = input
        .client_ips
        .and_then(|clients| simulate(clients, u32::try_from(routers).unwrap_or(u32::MAX)));
    let few = few_clients(input, routers);
    let mut candidates: Vec<Candidate> = [Method::Srv, Method::LoadBalancer, Method::AllRouters]
        .into_iter()
        .map(|method| Candidate { method, against: against(method, input, few.as_ref()) })
        .collect();
    // The sort is stable: ties keep the order of the rule book.
    candidates.sort_by_key(Candidate::worst);
    let mut candidates = candidates.into_iter();
    let (Some(winner), Some(second)) = (candidates.next(), candidates.next()) else {
        return choose_replica_set(input);
    };
    let mut reasons: Vec<Reason> = Vec::new();
    // Explains why the methods that the rule book prefers were not chosen.
    for loser in [&second].into_iter().chain(candidates.as_slice()) {
        if loser.method < winner.method || loser.worst() > Some(Weight::Wish) {
            reasons.extend(loser.reasons());
        }
    }
    reasons.dedup_by(|a, b| a.message == b.message);
    reasons.push(for_method(winner.method, input, few.is_some()));
    let mut warnings = winner.reasons();
    warnings.extend(unknowns(input, winner.method));
    Choice {
        method: winner.method,
        how: winner.method.text(),
        reasons,
        runner_up: Some((second.method, second.reasons())),
        comparison: comparison(input),
        preconditions: preconditions(winner.method, input),
        warnings,
        uri: uri_form(winner.method, Some(routers)),
        skew,
    }
}

fn few_clients(input: &ChooseInput, routers: u64) -> Option<Reason> {
    let clients = input.client_ips?;
    if routers < 2 || u64::from(clients) >= FEW_CLIENTS_FACTOR.saturating_mul(routers) {
        return None;
    }
    Some(Reason::new(
        "CM-2.4",
        format!(
            "{} are too few for {} mongos behind a balancer that hashes addresses (fewer than {} \
             per mongos): some mongos get most of the traffic",
            if clients == 1 {
                "1 client address".to_owned()
            } else {
                format!("{} client addresses", text::count(u64::from(clients)))
            },
            text::count(routers),
            FEW_CLIENTS_FACTOR
        ),
    ))
}

fn against(method: Method, input: &ChooseInput, few: Option<&Reason>) -> Vec<(Weight, Reason)> {
    let mut out = Vec::new();
    match method {
        Method::Srv => {
            out.extend(srv_fault(input).map(|fault| (Weight::Impossible, fault)));
            if input.precise_control {
                let why = "the application must direct traffic, but with SRV the driver decides";
                out.push((Weight::Wish, Reason::new("CM-3.3", why)));
            }
        }
        Method::LoadBalancer => {
            out.extend(few.map(|reason| (Weight::Skew, reason.clone())));
            if input.precise_control {
                let why = "the application must direct traffic, but the balancer hashes addresses";
                out.push((Weight::Wish, Reason::new("CM-3.3", why)));
            }
        }
        Method::AllRouters => {
            if input.routers_change_often {
                let why = "mongos change often, and every change makes the list in the connection \
                 string wrong";
                out.push((Weight::Change, Reason::new("CM-3.4", why)));
            }
        }
        Method::ReplicaSet => {}
    }
    // A balancer needs the fewest connections. If even those are too many, it is still the best
    // method, and the breach is a warning about it.
    let total = |method| planned(input, method).map(|plan| plan.total);
    let weight =
        if total(method) > total(Method::LoadBalancer) { Weight::Budget } else { Weight::Wish };
    out.extend(budget_warning(input, method).map(|reason| (weight, reason)));
    out
}

/// The connections of all clients with a method; `None` if the clients are unknown.
fn planned(input: &ChooseInput, method: Method) -> Option<Plan> {
    let budget = input.budget?;
    let deployment = Deployment {
        method,
        routers: input.routers.unwrap_or(1).max(1),
        members: input.members,
        limit: budget.limit,
        scope: budget.scope,
    };
    let load = match budget.load {
        Some((qps, latency)) => Load { qps: Some(qps), latency_ms: Some(latency) },
        None => Load::default(),
    };
    // If the demand is known, the formula gives the smallest pool that works, whatever is set
    // today.
    let pool = if budget.load.is_some() { None } else { budget.pool };
    let service = Given { instances: budget.clients, processes: 1, load, pool, ..Given::default() };
    Some(plan(&deployment, &[service]))
}

fn budget_warning(input: &ChooseInput, method: Method) -> Option<Reason> {
    let plan = planned(input, method).filter(|plan| plan.verdict != Verdict::Fits)?;
    let part = plan.services.first()?;
    let times = if method.has_pool_per_router() {
        format!(" × {} mongos", text::count(plan.deployment.routers))
    } else {
        String::new()
    };
    Some(Reason::new(
        "CN-03.1",
        format!(
            "with {} {} × a pool of {}{times} = {} connections exceed 80 % of {}",
            method.text(),
            text::plural(part.clients, "client"),
            text::count(part.pool),
            text::count(plan.total),
            text::count(plan.deployment.limit)
        ),
    ))
}

/// The advantage of the chosen method.
fn for_method(method: Method, input: &ChooseInput, few: bool) -> Reason {
    match method {
        Method::Srv if input.routers_change_often => Reason::new(
            "CM-1.5",
            "with SRV, drivers find new mongos in DNS, typically within 60 s, and connection \
             strings stay the same",
        ),
        Method::Srv if few => Reason::new(
            "CM-CMP.4",
            "with SRV, each client distributes its connections over all mongos, even if there are \
             few clients",
        ),
        Method::Srv => Reason::new(
            "CM-0.1",
            "SRV is the first choice: drivers find the mongos in DNS and balance over them",
        ),
        Method::LoadBalancer => Reason::new(
            "CM-0.1",
            "a load balancer has one address for all mongos, and clients keep one pool",
        ),
        Method::AllRouters => Reason::new(
            "CM-3.3",
            "with a list of all mongos, each client distributes its connections over them, and \
             the application can direct traffic",
        ),
        Method::ReplicaSet => Reason::new(
            "CM-0.2",
            "the connection string lists the members, \
         with replicaSet",
        ),
    }
}

fn preconditions(method: Method, input: &ChooseInput) -> Vec<Reason> {
    match method {
        Method::Srv => {
            let mut out = vec![Reason::new(
                "CM-1.3",
                format!("the server is {SRV_SERVER} or later, and SRV is enabled at the provider"),
            )];
            let drivers: Vec<String> = input
                .drivers
                .iter()
                .map(|driver| {
                    format!("{} from {} on", driver.language.name(), driver.language.srv_since())
                })
                .collect();
            out.push(Reason::new(
                "CM-1.3",
                if drivers.is_empty() {
                    "every driver supports mongodb+srv (python and java since 3.6, node since \
                     3.0, go and rust since 1.0)"
                        .to_owned()
                } else {
                    format!("every driver supports mongodb+srv: {}", drivers.join(", "))
                },
            ));
            out.push(Reason::new(
                "GC-51",
                "SRV turns TLS on: the servers must support it, or the connection string must \
                 contain tls=false",
            ));
            out
        }
        Method::LoadBalancer => vec![Reason::new(
            "CM-2.1",
            "the balancer keeps each address on one mongos, because cursors and transactions need \
             it",
        )],
        Method::AllRouters => vec![
            Reason::new(
                "CM-3.2",
                "the addresses of individual mongos must first be enabled at the provider",
            ),
            Reason::new(
                "CM-3.4",
                "every connection string must be updated as soon as a mongos is added or removed",
            ),
        ],
        Method::ReplicaSet => Vec::new(),
    }
}

/// Unknown inputs that could change the result.
fn unknowns(input: &ChooseInput, winner: Method) -> Vec<Reason> {
    let mut out = Vec::new();
    let unknown_driver = input.drivers.is_empty()
        || input.drivers.iter().any(|driver| driver.srv() == SrvSupport::Unknown);
    if winner == Method::Srv && unknown_driver {
        out.push(Reason::new(
            "CM-1.3",
            "the driver versions are unknown (--driver LANG@VERSION, --lock FILE)",
        ));
    }
    if input.client_ips.is_none() && winner == Method::LoadBalancer {
        out.push(Reason::new(
            "CM-2.4",
            "the number of client addresses is unknown (--client-ips): with few addresses, a \
             balancer loads the mongos unevenly",
        ));
    }
    if input.budget.is_none() {
        out.push(Reason::new(
            "CN-03.1",
            "the connection budget was not checked (--apps, --pool and --limit)",
        ));
    }
    out
}

/// Compares a list of members with SRV.
fn compare_for_set() -> Vec<Comparison> {
    let row = |clause, aspect, list: &str, srv: &str| Comparison {
        clause,
        aspect,
        cells: vec![(Method::ReplicaSet, list.to_owned()), (Method::Srv, srv.to_owned())],
    };
    vec![
        row("CM-0.2", "effort", "medium: all members are listed", "low: one short name"),
        row("CM-0.2", "members change", "update every string", "nothing to change"),
        row(
            "CN-01.3",
            "name of the set",
            "replicaSet in the string",
            "in the DNS TXT record, or the string",
        ),
        row("CM-1.3", "needs", "nothing more", "DNS records of the provider, a driver with SRV"),
        row("GC-51", "TLS", "as the string says", "on unless the string says tls=false"),
    ]
}

fn comparison(input: &ChooseInput) -> Vec<Comparison> {
    let cells = |srv: String, lb: String, all_routers: String| {
        vec![(Method::Srv, srv), (Method::LoadBalancer, lb), (Method::AllRouters, all_routers)]
    };
    let row = |clause, aspect, srv: &str, lb: &str, all_routers: &str| Comparison {
        clause,
        aspect,
        cells: cells(srv.to_owned(), lb.to_owned(), all_routers.to_owned()),
    };
    let total = |method| {
        planned(input, method)
            .map_or(String::new(), |plan| format!(": {}", text::count(plan.total)))
    };
    let times = input.routers.map_or("× mongos".to_owned(), |m| format!("× {}", text::count(m)));
    let many = |method| format!("yes, {times}{}", total(method));
    vec![
        row(
            "CM-CMP.1",
            "effort",
            "low: one short name",
            "low: one address",
            "medium: all are listed",
        ),
        row(
            "CM-CMP.2",
            "mongos change",
            "nothing to change",
            "nothing to change",
            "update every string",
        ),
        row(
            "CM-CMP.3",
            "balancing",
            "by the driver, per connection",
            "hash of the client address",
            "by the driver, per connection",
        ),
        row("CM-CMP.4", "few client addresses", "balanced", "possibly unbalanced", "balanced"),
        Comparison {
            clause: "CM-CMP.5",
            aspect: "more connections",
            cells: cells(
                many(Method::Srv),
                format!("no{}", total(Method::LoadBalancer)),
                many(Method::AllRouters),
            ),
        },
    ]
}

/// Environment variables, because credentials do not belong in files.
const CREDENTIALS: &str = "${MONGODB_USER}:${MONGODB_PASSWORD}";

/// The format of a connection string, with capitals for the parts to fill in.
pub fn uri_form(method: Method, servers: Option<u64>) -> String {
    let count = servers.unwrap_or(3).clamp(1, 3);
    let list = |word: &str| -> String {
        let hosts: Vec<String> = (1..=count).map(|n| format!("{word}{n}:27017")).collect();
        let more = if servers.is_some_and(|all| all > 3) { ",…" } else { "" };
        hosts.join(",") + more
    };
    let user = CREDENTIALS;
    match method {
        Method::Srv => format!("mongodb+srv://{user}@NAME/?authSource=admin&tls=true"),
        Method::LoadBalancer => {
            format!("mongodb://{user}@ADDRESS:27017/?authSource=admin&tls=true")
        }
        Method::AllRouters => {
            format!("mongodb://{user}@{}/?authSource=admin&tls=true", list("MONGOS"))
        }
        Method::ReplicaSet => {
            format!(
                "mongodb://{user}@{}/?authSource=admin&replicaSet=NAME&tls=true",
                list("MEMBER")
            )
        }
    }
}
