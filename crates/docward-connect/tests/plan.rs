//! Tests pools and budgets with the rule book's own numbers.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_connect::{
    Amount, Deployment, Given, Gravity, Load, Method, Plan, Platform, Verdict, base_demand,
    fitting_clients, plan, scenarios,
};
use docward_model::{LimitScope, ServiceClass};
use proptest::prelude::*;

fn deployment(method: Method, routers: u64, limit: u64) -> Deployment {
    Deployment { method, routers, members: None, limit, scope: LimitScope::Total }
}

fn with_pool(instances: u64, pool: u64) -> Given {
    Given { instances, processes: 1, pool: Some(pool), ..Given::default() }
}

fn with_load(instances: u64, qps: &str, latency: &str) -> Given {
    let amount = |text| Some(Amount::parse(text).unwrap());
    let load = Load { qps: amount(qps), latency_ms: amount(latency) };
    Given { instances, processes: 1, load, ..Given::default() }
}

fn one(method: Method, routers: u64, limit: u64, given: Given) -> Plan {
    plan(&deployment(method, routers, limit), &[given])
}

#[test]
fn pf_4_1000_operations_of_20_ms_need_30_connections() {
    let amount = |text| Amount::parse(text).unwrap();
    assert_eq!(base_demand(amount("1000"), amount("20")), 30);
    assert_eq!(base_demand(amount("1000"), amount("20.001")), 31, "rounded up");
    assert_eq!(base_demand(amount("0.1"), amount("0.1")), 1);
}

#[test]
fn pf_5_the_demand_is_split_over_the_pools() {
    let lb = one(Method::LoadBalancer, 8, 3000, with_load(20, "1000", "20"));
    assert_eq!((lb.services[0].pool, lb.total), (30, 600));
    let srv = one(Method::Srv, 8, 3000, with_load(20, "1000", "20"));
    assert_eq!((srv.services[0].pool, srv.services[0].min_pool, srv.total), (4, 4, 640));
    let note = srv.warnings.iter().find(|w| w.clause == "PP-1").unwrap();
    assert_eq!(note.gravity, Gravity::Note, "it follows from the demand (GC-09)");
}

#[test]
fn pf_1_pf_2_pf_3_formulas() {
    for (method, routers, apps, pool, total) in [
        (Method::LoadBalancer, 8, 20, 200, 4_000),
        (Method::Srv, 16, 20, 150, 48_000),
        (Method::AllRouters, 3, 10, 50, 1_500),
    ] {
        assert_eq!(one(method, routers, 3000, with_pool(apps, pool)).total, total);
    }
}

#[test]
fn cn_03_1_the_budget_is_four_fifths_exactly() {
    for (apps, pool, verdict) in [
        (20, 200, Verdict::OverLimit),
        (25, 200, Verdict::OverLimit),
        (25, 100, Verdict::OverBudget),
        (25, 96, Verdict::Fits),
        (25, 97, Verdict::OverBudget),
        (30, 100, Verdict::OverBudget),
        (30, 80, Verdict::Fits),
    ] {
        let plan = one(Method::LoadBalancer, 8, 3000, with_pool(apps, pool));
        assert_eq!(plan.verdict, verdict, "{apps} x {pool}");
        assert_eq!(plan.budget, 2400);
    }
}

#[test]
fn cn_03_1_caps_of_the_story() {
    for (method, routers, apps, cap) in [
        (Method::LoadBalancer, 8, 20, 120),
        (Method::LoadBalancer, 8, 25, 96),
        (Method::LoadBalancer, 8, 30, 80),
        (Method::Srv, 16, 20, 7),
    ] {
        let plan = one(method, routers, 3000, with_pool(apps, 200));
        assert_eq!(plan.services[0].cap, cap);
    }
}

#[test]
fn gc_43_replica_sets_and_limits_per_node() {
    let set = |scope, members, mode: &str| {
        let deployment =
            Deployment { method: Method::ReplicaSet, routers: 1, members, limit: 3000, scope };
        let given = Given { read_preference: Some(mode.to_owned()), ..with_pool(20, 100) };
        plan(&deployment, &[given])
    };
    let spread = set(LimitScope::Total, Some(3), "secondaryPreferred");
    assert_eq!((spread.total, spread.per_node, spread.verdict), (6000, 2000, Verdict::OverLimit));
    assert_eq!(spread.monitoring, 2 * 20 * 3);
    let primary = set(LimitScope::Total, Some(3), "primary");
    assert_eq!((primary.total, primary.verdict), (2000, Verdict::Fits), "one member is reached");
    let node = set(LimitScope::PerNode, Some(3), "nearest");
    assert_eq!((node.total, node.per_node, node.verdict), (6000, 2000, Verdict::Fits));
    assert_eq!(set(LimitScope::PerNode, None, "nearest").total, 2000, "members are not known");
    // A balancer distributes connections among the routers.
    let lb = Deployment { scope: LimitScope::PerNode, ..deployment(Method::LoadBalancer, 8, 500) };
    let lb = plan(&lb, &[with_pool(20, 150)]);
    assert_eq!((lb.total, lb.per_node, lb.verdict), (3000, 375, Verdict::Fits));
}

#[test]
fn gc_44_clients_are_instances_times_processes() {
    let given = Given { processes: 4, ..with_load(10, "1000", "20") };
    let plan = one(Method::LoadBalancer, 8, 3000, given);
    assert_eq!((plan.services[0].clients, plan.services[0].pool, plan.total), (40, 8, 320));
}

#[test]
fn gc_14_gc_42_functions_and_workers_are_counted() {
    let function =
        Given { platform: Platform::Serverless, instances: 2, processes: 500, ..Given::default() };
    let lambda = one(Method::LoadBalancer, 8, 3000, function.clone());
    assert_eq!((lambda.services[0].pool, lambda.total), (5, 5000));
    assert!(lambda.warnings.iter().any(|w| w.clause == "CN-02.3"));
    let big = one(Method::LoadBalancer, 8, 3000, Given { pool: Some(50), ..function });
    assert!(big.warnings.iter().any(|w| w.clause == "GC-14" && w.gravity == Gravity::Warning));
    let php =
        Given { platform: Platform::PhpFpm, instances: 10, processes: 50, ..Given::default() };
    assert_eq!(one(Method::Srv, 4, 3000, php).total, 10 * 50 * 4);
}

#[test]
fn cn_03_2_defaults_and_rates_are_no_pool_sizes() {
    let none = Given { instances: 20, processes: 1, ..Given::default() };
    let plan = one(Method::LoadBalancer, 8, 3000, none);
    assert_eq!(plan.services[0].pool, 100);
    assert!(plan.warnings.iter().any(|w| w.clause == "CN-03.2" && w.message.contains("100")));
    let same = Given { pool: Some(1000), ..with_load(1, "1000", "20") };
    let plan = one(Method::LoadBalancer, 8, 3000, same);
    assert!(plan.warnings.iter().any(|w| w.clause == "CN-03.2"));
}

#[test]
fn cn_03_3_a_pool_below_the_demand_queues() {
    let small = Given { pool: Some(20), ..with_load(1, "1000", "20") };
    let plan = one(Method::LoadBalancer, 8, 3000, small);
    let queue = plan.warnings.iter().find(|w| w.clause == "CN-03.3").unwrap();
    assert!(queue.message.contains("30") && queue.message.contains("20"), "{queue:?}");
}

#[test]
fn pp_1_the_usual_range_holds_where_demand_is_unknown() {
    for (pool, warned) in [(49, true), (50, false), (200, false), (201, true)] {
        let plan = one(Method::LoadBalancer, 8, 300_000, with_pool(1, pool));
        assert_eq!(plan.warnings.iter().any(|w| w.clause == "PP-1"), warned, "{pool}");
    }
    // For all mongos together: 15 for each of 8 are 120.
    let srv = one(Method::Srv, 8, 300_000, with_pool(1, 15));
    assert!(!srv.warnings.iter().any(|w| w.clause == "PP-1"), "{:?}", srv.warnings);
    let srv = one(Method::Srv, 16, 300_000, with_pool(1, 150));
    assert!(srv.warnings.iter().any(|w| w.clause == "PP-1" && w.message.contains("2,400")));
}

#[test]
fn pp_2_the_smallest_pool_is_no_larger_than_the_largest() {
    for (pool, min) in [(150, 10), (10, 10), (4, 4)] {
        let plan = one(Method::LoadBalancer, 8, 3000, with_pool(1, pool));
        assert_eq!(plan.services[0].min_pool, min);
    }
}

#[test]
fn services_share_one_limit() {
    let named = |name: &str, given| Given { name: name.to_owned(), ..given };
    let services = [named("a", with_pool(10, 200)), named("b", with_pool(10, 100))];
    let plan = plan(&deployment(Method::LoadBalancer, 8, 3000), &services);
    assert_eq!((plan.total, plan.verdict), (3000, Verdict::OverBudget));
    // The rest after the other service: 2400 - 1000 and 2400 - 2000.
    assert_eq!((plan.services[0].cap, plan.services[1].cap), (140, 40));
    // Both are reduced by a fifth.
    assert_eq!((plan.services[0].fair, plan.services[1].fair), (160, 80));
}

#[test]
fn st_13_twice_the_mongos_are_twice_the_connections() {
    let given = [with_pool(20, 10)];
    let all = scenarios(&deployment(Method::AllRouters, 8, 3000), &given, &[5], Some(16));
    let totals: Vec<u64> = all.rows.iter().take(3).map(|row| row.total).collect();
    assert_eq!(totals, [1600, 3200, 2000]);
    assert!(all.advice.iter().any(|a| a.clause == "PF-3" && a.message.contains("16 mongos")));
}

#[test]
fn scenarios_of_huge_numbers_end() {
    let services = [Given { class: Some(ServiceClass::Core), ..with_pool(u64::MAX, u64::MAX) }];
    let deployment = deployment(Method::Srv, u64::MAX, u64::MAX);
    let all = scenarios(&deployment, &services, &[u64::MAX], Some(u64::MAX));
    assert_eq!(all.rows[0].verdict, Verdict::OverLimit);
    assert!(all.curve.len() <= 62);
}

prop_compose! {
    fn any_method()(n in 0..4_usize) -> Method { Method::ALL[n] }
}

proptest! {
    /// The cap fits and one more connection does not.
    #[test]
    fn the_cap_is_the_largest_pool_that_fits(
        method in any_method(), routers in 1..40_u64, limit in 1..100_000_u64, apps in 1..500_u64,
        pool in 1..500_u64, per_node: bool, members in proptest::option::of(1..7_u64),
    ) {
        let scope = if per_node { LimitScope::PerNode } else { LimitScope::Total };
        let deployment = Deployment { method, routers, members, limit, scope };
        let cap = plan(&deployment, &[with_pool(apps, pool)]).services[0].cap;
        if cap > 0 {
            let at = plan(&deployment, &[with_pool(apps, cap)]);
            prop_assert_eq!(at.verdict, Verdict::Fits);
            prop_assert_eq!(at.services[0].cap, cap);
        }
        prop_assert_ne!(plan(&deployment, &[with_pool(apps, cap + 1)]).verdict, Verdict::Fits);
    }

    /// More of any input never reduces the share of the limit, and the fitting number is exact.
    #[test]
    fn shares_are_monotone(
        method in any_method(), routers in 1..40_u64, limit in 1..100_000_u64, apps in 1..500_u64,
        pool in 1..500_u64,
    ) {
        let base = deployment(method, routers, limit);
        let share = |d: &Deployment, apps, pool| plan(d, &[with_pool(apps, pool)]).share;
        let here = share(&base, apps, pool);
        prop_assert!(share(&base, apps + 1, pool) >= here);
        prop_assert!(share(&base, apps, pool + 1) >= here);
        let wider = Deployment { routers: routers + 1, ..base };
        prop_assert!(share(&wider, apps, pool) >= here);
        let services = [with_pool(apps, pool)];
        let today = plan(&base, &services);
        let room = fitting_clients(&base, &services, &today);
        prop_assert_eq!(room >= apps, today.verdict == Verdict::Fits);
    }

    /// The demand equals that of exact arithmetic.
    #[test]
    fn demand_is_exact(qps in 1..100_000_u64, latency in 1..10_000_u64) {
        let amount = |n: u64| Amount::parse(&n.to_string()).unwrap();
        prop_assert_eq!(base_demand(amount(qps), amount(latency)), (qps * latency * 3).div_ceil(2000));
    }

    /// All services fit with their fair pools.
    #[test]
    fn fair_pools_fit(pools in proptest::collection::vec((1..50_u64, 1..300_u64), 1..5), limit in 100..9_000_u64) {
        let deployment = deployment(Method::LoadBalancer, 4, limit);
        let services: Vec<Given> = pools.iter().map(|&(apps, pool)| with_pool(apps, pool)).collect();
        let first = plan(&deployment, &services);
        let fair: Vec<Given> = services.iter().zip(&first.services)
            .map(|(given, part)| Given { pool: Some(part.fair), ..given.clone() }).collect();
        prop_assert_eq!(plan(&deployment, &fair).verdict, Verdict::Fits);
    }
}
