//! Warnings about a plan, the most important first.

use docward_model::{LimitScope, text};

use super::{
    Gravity, Plan, Platform, Pool, SERVERLESS_POOL, ServicePlan, Sized, USUAL_POOL, Verdict,
    Warning, narrow, product, share_text,
};
use crate::Method;

pub(super) fn warnings(plan: &Plan, sized: &[Sized<'_>]) -> Vec<Warning> {
    let deployment = &plan.deployment;
    let mut out = Vec::new();
    let share = share_text(plan.share);
    let limit = text::count(deployment.limit);
    let counted = plan.counted_text();
    match plan.verdict {
        Verdict::OverLimit => out.push(Warning::new(
            Gravity::Critical,
            "CN-03.1",
            format!("{counted} are {share} of the limit of {limit}: clients will be refused"),
        )),
        Verdict::OverBudget => out.push(Warning::new(
            Gravity::Violation,
            "CN-03.1",
            format!(
                "{counted} are {share} of the limit of {limit}; at most 80 % ({}) leaves room for \
                 growth and for reconnects after a failover",
                text::count(plan.budget)
            ),
        )),
        Verdict::Fits => {}
    }
    for (service, part) in sized.iter().zip(&plan.services) {
        service_warnings(service, part, plan, &mut out);
    }
    if deployment.method.has_pool_per_router() && deployment.routers > 1 {
        out.push(Warning::new(
            Gravity::Note,
            deployment.method.formula_clause(),
            format!(
                "every client keeps a pool for each of {} mongos; twice as many mongos with the \
                 same pools would mean {} connections",
                text::count(deployment.routers),
                text::count(plan.total.saturating_mul(2))
            ),
        ));
    }
    if deployment.method == Method::ReplicaSet && deployment.members.is_none() {
        out.push(Warning::new(
            Gravity::Note,
            "GC-43",
            "the number of members is unknown, so this counts connections to one member; give \
             --members for the total"
                .to_owned(),
        ));
    }
    if deployment.method == Method::LoadBalancer && deployment.scope == LimitScope::PerNode {
        out.push(Warning::new(
            Gravity::Note,
            "CM-2.4",
            "this assumes that the balancer distributes connections evenly, which it does not do \
             with few client addresses; see `docward connect choose`"
                .to_owned(),
        ));
    }
    out.push(Warning::new(
        Gravity::Note,
        "GC-43",
        format!(
            "drivers open about {} more connections to monitor servers, which the formulas of the \
             rule book do not count",
            text::count(plan.monitoring)
        ),
    ));
    out.sort_by_key(|warning| warning.gravity);
    out
}

fn service_warnings(service: &Sized<'_>, part: &ServicePlan, plan: &Plan, out: &mut Vec<Warning>) {
    let whose = if part.name.is_empty() { String::new() } else { format!("{}: ", part.name) };
    let mut warn = |gravity, clause, message: String| {
        out.push(Warning::new(gravity, clause, format!("{whose}{message}")));
    };
    let pool = text::count(part.pool);
    // The usual range applies to all connections of a client for operations, not to its pool per
    // mongos.
    let pools = plan.deployment.pools();
    let whole = part.pool.saturating_mul(pools);
    if !USUAL_POOL.contains(&whole) && service.given.platform == Platform::Process {
        let what = if pools > 1 {
            format!("maxPoolSize {pool} × {} mongos = {}", text::count(pools), text::count(whole))
        } else {
            format!("maxPoolSize {pool}")
        };
        match part.source {
            Pool::Formula => warn(
                Gravity::Note,
                "PP-1",
                format!(
                    "{what} is outside the usual range of 50 to 200, but correct, because it follows \
                     from the demand (GC-09)"
                ),
            ),
            _ if part.base.is_some_and(|base| base <= whole && whole <= *USUAL_POOL.end()) => {}
            _ => warn(
                Gravity::Warning,
                "PP-1",
                format!("{what} is outside the usual range of 50 to 200"),
            ),
        }
    }
    if part.source == Pool::Default {
        match service.given.platform {
            Platform::Process => warn(
                Gravity::Warning,
                "CN-03.2",
                format!("maxPoolSize is not set, so the plan uses the drivers' default of {pool}"),
            ),
            Platform::Serverless => warn(
                Gravity::Note,
                "GC-14",
                format!("the plan counts a pool of {pool} for each running function"),
            ),
            Platform::PhpFpm => warn(
                Gravity::Note,
                "GC-42",
                "each worker keeps one connection to every server: the extension has no pool"
                    .to_owned(),
            ),
        }
    }
    if part.source == Pool::Given
        && let Some(qps) = service.given.load.qps
        && qps.millionths() == product(&[part.pool, 1_000_000])
    {
        warn(
            Gravity::Warning,
            "CN-03.2",
            format!(
                "maxPoolSize {pool} is the number of operations per second, but one connection \
                 serves many operations"
            ),
        );
    }
    if part.source == Pool::Given
        && let Some(base) = part.base
    {
        let pools = plan.deployment.pools().saturating_mul(service.given.processes.max(1));
        let has = product(&[part.pool, pools]);
        if has < u128::from(base) {
            warn(
                Gravity::Warning,
                "CN-03.3",
                format!(
                    "an instance needs {} connections at peak load and has {}, so requests will \
                     wait",
                    text::count(base),
                    text::count(narrow(has))
                ),
            );
        }
    }
    match service.given.platform {
        Platform::Process => {}
        Platform::Serverless if part.pool > SERVERLESS_POOL => warn(
            Gravity::Warning,
            "GC-14",
            format!(
                "a pool of {pool} in a function is too large; use at most 5, and keep the client \
                 between warm calls"
            ),
        ),
        Platform::Serverless | Platform::PhpFpm => {}
    }
    if service.given.platform != Platform::Process {
        warn(
            Gravity::Warning,
            "CN-02.3",
            format!(
                "{} keeps no pool in memory; put a pooling proxy between it and the database",
                match service.given.platform {
                    Platform::PhpFpm => "PHP-FPM",
                    _ => "a function that starts for each request",
                }
            ),
        );
    }
    if part.reads.asks && plan.deployment.method == Method::ReplicaSet {
        warn(Gravity::Note, part.reads.clause, part.reads.why.to_owned());
    }
}
