//! Scenarios for a plan: more routers, more applications, and what would fit.

use docward_model::text;

use crate::{Deployment, Given, Method, Plan, Pool, ServicePlan, Verdict, plan, share_text};

/// A plan under another assumption.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The assumption.
    pub label: String,
    /// Instances of the planned service, or of all services.
    pub apps: u64,
    /// Routers.
    pub routers: u64,
    /// Members of the replica set, if known.
    pub members: Option<u64>,
    /// `maxPoolSize`; that of the first service if there are several.
    pub pool: u64,
    /// Connections to all servers.
    pub total: u64,
    /// Connections to the fullest server.
    pub per_node: u64,
    /// The share of the limit.
    pub share: f64,
    /// The largest pool that would fit; 0 if none does.
    pub cap: u64,
    /// The verdict on the scenario.
    pub verdict: Verdict,
}

/// Advice, with numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The clause it is based on.
    pub clause: &'static str,
    /// The change to make.
    pub message: String,
}

/// Scenarios, advice and points of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenarios {
    /// The scenarios, today's first.
    pub rows: Vec<Scenario>,
    /// The advised changes, the most urgent first.
    pub advice: Vec<Advice>,
    /// The share of the limit by number of applications: `(apps, share)`.
    pub curve: Vec<(u64, f64)>,
}

/// The services with `more` instances of the first, and today's pools.
fn grown(services: &[Given], today: &Plan, more: u64) -> Vec<Given> {
    let mut services = fixed(services, today);
    if let Some(first) = services.first_mut() {
        first.instances = first.instances.saturating_add(more);
    }
    services
}

/// The services with the pools of a plan, because connection strings in production do not change by
/// themselves.
fn fixed(services: &[Given], today: &Plan) -> Vec<Given> {
    let pools = today.services.iter().map(|part| part.pool);
    services
        .iter()
        .zip(pools)
        .map(|(given, pool)| Given { pool: Some(pool), ..given.clone() })
        .collect()
}

fn row(label: String, deployment: &Deployment, services: &[Given]) -> Scenario {
    let plan = plan(deployment, services);
    let first = plan.services.first();
    Scenario {
        label,
        apps: services.iter().fold(0, |all, s| all.saturating_add(s.instances)),
        routers: deployment.routers,
        members: deployment.members,
        pool: first.map_or(0, |part| part.pool),
        total: plan.total,
        per_node: plan.per_node,
        share: plan.share,
        cap: first.map_or(0, |part| part.cap),
        verdict: plan.verdict,
    }
}

/// The number of instances of the first service that fit with the current pools.
pub fn fitting_clients(deployment: &Deployment, services: &[Given], today: &Plan) -> u64 {
    let fits = |instances: u64| {
        let mut services = fixed(services, today);
        if let Some(first) = services.first_mut() {
            first.instances = instances;
        }
        plan(deployment, &services).verdict == Verdict::Fits
    };
    // Shares only grow with the number of instances, so a binary search finds the last one that
    // fits.
    let (mut low, mut high) = (0_u64, 1_u64);
    while high < 1 << 40 && fits(high) {
        low = high;
        high *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// Computes the scenarios of a plan. `more_apps` are added to the first service, one row each;
/// `routers` is their number after a scale-out.
pub fn scenarios(
    deployment: &Deployment,
    services: &[Given],
    more_apps: &[u64],
    routers: Option<u64>,
) -> Scenarios {
    let today = plan(deployment, services);
    let mut rows = vec![row("today".to_owned(), deployment, services)];
    if let Some(routers) = routers {
        let scaled = Deployment { routers, ..*deployment };
        let what = format!("{} mongos", text::count(routers));
        rows.push(row(format!("{what}, pools unchanged"), &scaled, &fixed(services, &today)));
        if today.services.iter().any(|part| part.source == Pool::Formula) {
            rows.push(row(format!("{what}, pools computed from demand"), &scaled, services));
        }
    }
    for &more in more_apps {
        let noun = text::form(more, "application", "applications");
        let label = format!("{} more {noun}", text::count(more));
        rows.push(row(label, deployment, &grown(services, &today, more)));
    }
    let fits: Vec<Scenario> =
        rows.iter().filter_map(|row| fitting(row, deployment, services, &today)).collect();
    rows.extend(fits);
    let advice = advice(deployment, services, &today, more_apps, routers);
    let curve = curve(deployment, services, &today, more_apps);
    Scenarios { rows, advice, curve }
}

/// Returns a row with the largest pool that fits. It is only needed for a row about a single
/// service that does not fit.
fn fitting(
    over: &Scenario,
    deployment: &Deployment,
    services: &[Given],
    today: &Plan,
) -> Option<Scenario> {
    let [_] = services else { return None };
    if over.verdict == Verdict::Fits || over.cap == 0 {
        return None;
    }
    let deployment = Deployment { routers: over.routers, ..*deployment };
    let mut changed = fixed(services, today);
    let first = changed.first_mut()?;
    first.instances = over.apps;
    first.pool = Some(over.cap);
    Some(row(format!("would fit: {}", over.label), &deployment, &changed))
}

fn advice(
    deployment: &Deployment,
    services: &[Given],
    today: &Plan,
    more_apps: &[u64],
    routers: Option<u64>,
) -> Vec<Advice> {
    let mut out = Vec::new();
    let mut advise = |clause, message: String| out.push(Advice { clause, message });
    let future = routers.map(|routers| {
        let scaled = Deployment { routers, ..*deployment };
        (scaled, plan(&scaled, &fixed(services, today)))
    });
    if today.verdict != Verdict::Fits {
        let over = today.services.iter().filter(|part| part.fair < part.pool);
        match services {
            [_] => {
                let part = &today.services[0];
                if part.cap == 0 {
                    advise("CN-03.1", format!("no pool is small enough: {NO_POOL_FITS}"));
                } else {
                    advise(
                        "CN-03.1",
                        format!("set maxPoolSize to at most {}", text::count(part.cap)),
                    );
                    let whole = part.cap.saturating_mul(deployment_pools(deployment));
                    if part.base.is_some_and(|base| base > whole) {
                        advise(
                            "CN-03.3",
                            format!(
                                "that is less than the {} connections that an instance needs, so \
                                 requests would wait",
                                text::count(part.base.unwrap_or(0))
                            ),
                        );
                    }
                }
            }
            _ => {
                for part in over {
                    advise("CN-03.1", smaller_pool(part));
                }
            }
        }
        if deployment.method.has_pool_per_router() {
            other_methods(deployment, services, today, &mut advise);
        }
        advise(
            "CN-02.3",
            "put a pooling proxy between the applications and the database; then only the pool of \
             the proxy counts"
                .to_owned(),
        );
        let needed = limit_needed(deployment, today);
        advise(
            "CN-03.1",
            format!("or use a server that accepts at least {} connections", text::count(needed)),
        );
    } else {
        let room = fitting_clients(deployment, services, today);
        let pool = today.services.first().map_or(0, |part| part.pool);
        let name = services.first().map(|s| s.name.as_str()).filter(|name| !name.is_empty());
        let of = name.map_or(String::new(), |name| format!(" of {name}"));
        advise(
            "CN-03.1",
            format!(
                "with maxPoolSize {} there is room for {}{of}",
                text::count(pool),
                text::plural(room, "application")
            ),
        );
    }
    if let Some((scaled, then)) = future.filter(|(_, then)| then.verdict != Verdict::Fits) {
        let cap = then.services.first().map_or(0, |part| part.cap);
        let when = format!("before there are {} mongos", text::count(scaled.routers));
        advise(deployment.method.formula_clause(), in_time(&when, cap, &then));
    }
    for &more in more_apps {
        let then = plan(deployment, &grown(services, today, more));
        if then.verdict != Verdict::Fits
            && let Some(part) = then.services.first()
        {
            let verb = text::form(more, "is", "are");
            let when = format!("before {} {verb} added", text::plural(more, "application"));
            advise("CN-03.1", in_time(&when, part.cap, &then));
        }
    }
    out
}

/// Proposes a smaller pool for one of several services. A pool of 0 means no limit, so it is never
/// proposed.
fn smaller_pool(part: &ServicePlan) -> String {
    let name = &part.name;
    let fair = match part.fair {
        0 => None,
        fair => Some(format!(
            "{} (all services reduce their pools by the same \
         fraction)",
            text::count(fair)
        )),
    };
    let cap = match part.cap {
        0 => None,
        cap => Some(format!("at most {} if the other services stay the same", text::count(cap))),
    };
    match (fair, cap) {
        (Some(fair), Some(cap)) => format!("{name}: set maxPoolSize to {fair}, or to {cap}"),
        (Some(one), None) | (None, Some(one)) => format!("{name}: set maxPoolSize to {one}"),
        (None, None) => format!("{name}: {NO_POOL_FITS}"),
    }
}

/// Advice before a change that breaks the budget.
fn in_time(when: &str, cap: u64, then: &Plan) -> String {
    let what = match cap {
        0 => format!("make room: {NO_POOL_FITS}"),
        cap => format!("lower maxPoolSize to {}", text::count(cap)),
    };
    format!(
        "{when}, {what}; with today's pools, {} would be {}",
        then.counted_text(),
        share_text(then.share)
    )
}

const NO_POOL_FITS: &str = "even one connection per client exceeds the budget";

fn deployment_pools(deployment: &Deployment) -> u64 {
    if deployment.method.has_pool_per_router() { deployment.routers.max(1) } else { 1 }
}

/// The result with a balancer, or with fewer routers per client.
fn other_methods(
    deployment: &Deployment,
    services: &[Given],
    today: &Plan,
    advise: &mut impl FnMut(&'static str, String),
) {
    // Behind a balancer a client has one pool, which takes the whole demand.
    let balanced = Deployment { method: Method::LoadBalancer, ..*deployment };
    let one_pool: Vec<Given> = fixed(services, today)
        .into_iter()
        .zip(services)
        .map(|(fixed, given)| if given.pool.is_none() { given.clone() } else { fixed })
        .collect();
    let lb = plan(&balanced, &one_pool);
    advise(
        "PF-1",
        format!(
            "behind a load balancer, clients keep one pool: {} connections, {} of the limit{}",
            text::count(lb.total),
            share_text(lb.share),
            if lb.verdict == Verdict::Fits { "" } else { ", still too many" }
        ),
    );
    let fewer = (1..deployment.routers).rev().take(4096).find(|&routers| {
        plan(&Deployment { routers, ..*deployment }, services).verdict == Verdict::Fits
    });
    if let Some(hosts) = fewer.filter(|_| deployment.method == Method::Srv) {
        advise(
            "PF-2",
            format!(
                "srvMaxHosts={hosts} lets each client use {hosts} of the {} mongos, which fits",
                text::count(deployment.routers)
            ),
        );
    }
}

/// The smallest limit of which 80 % fit the plan.
fn limit_needed(deployment: &Deployment, today: &Plan) -> u64 {
    let counted = match deployment.scope {
        docward_model::LimitScope::Total => today.total,
        docward_model::LimitScope::PerNode => today.per_node,
    };
    u64::try_from((u128::from(counted) * 5).div_ceil(4)).unwrap_or(u64::MAX)
}

/// Points from one application to 1.5 times the number planned or fitting, at most 60.
fn curve(
    deployment: &Deployment,
    services: &[Given],
    today: &Plan,
    more_apps: &[u64],
) -> Vec<(u64, f64)> {
    let Some(first) = services.first() else { return Vec::new() };
    let planned = first.instances.saturating_add(more_apps.iter().copied().max().unwrap_or(0));
    let room = fitting_clients(deployment, services, today);
    let last = planned.max(room.min(planned.saturating_mul(2))).saturating_mul(5) / 4;
    let last = last.max(2);
    let step = last.div_ceil(60).max(1);
    let steps = (1..=last.div_ceil(step)).map(|at| at.saturating_mul(step));
    let start = (step > 1).then_some(1);
    start
        .into_iter()
        .chain(steps)
        .map(|apps| {
            let mut services = fixed(services, today);
            if let Some(first) = services.first_mut() {
                first.instances = apps;
            }
            (apps, plan(deployment, &services).share)
        })
        .collect()
}
