//! Tests the choice of a method on the rule book's own cases.
#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_connect::{Amount, Budget, Choice, ChooseInput, Driver, Method, Version, choose};
use docward_model::{DeclaredTopology, LimitScope};

fn sharded(routers: u64) -> ChooseInput {
    ChooseInput {
        topology: Some(DeclaredTopology::Sharded),
        routers: Some(routers),
        ..ChooseInput::default()
    }
}

fn drivers(text: &str) -> Vec<Driver> {
    vec![Driver::parse(text).unwrap()]
}

fn budget(clients: u64, pool: u64, limit: u64) -> Option<Budget> {
    Some(Budget { clients, pool: Some(pool), load: None, limit, scope: LimitScope::Total })
}

fn cites(choice: &Choice, clause: &str) -> bool {
    choice.reasons.iter().any(|reason| reason.clause == clause)
}

#[test]
fn cm_0_2_cm_2_2_replica_sets_list_their_members() {
    let input = ChooseInput {
        topology: Some(DeclaredTopology::ReplicaSet),
        members: Some(3),
        ..ChooseInput::default()
    };
    let choice = choose(&input);
    assert_eq!(choice.method, Method::ReplicaSet);
    assert!(cites(&choice, "CM-0.2") && cites(&choice, "CM-2.2"));
    assert!(choice.uri.contains("MEMBER1:27017,MEMBER2:27017,MEMBER3:27017"), "{}", choice.uri);
    assert!(choice.uri.contains("replicaSet="));
    assert_eq!(choice.runner_up.map(|(method, _)| method), Some(Method::Srv));
}

#[test]
fn cm_0_1_cm_0_3_srv_is_the_first_choice_and_the_balancer_the_second() {
    let choice = choose(&sharded(8));
    assert_eq!(choice.method, Method::Srv);
    assert_eq!(choice.runner_up.map(|(method, _)| method), Some(Method::LoadBalancer));
}

#[test]
fn cm_0_3_cm_1_3_st_14_an_old_driver_means_the_balancer() {
    let choice = choose(&ChooseInput { drivers: drivers("python@3.4"), ..sharded(8) });
    assert_eq!(choice.method, Method::LoadBalancer);
    assert!(choice.reasons[0].message.contains("driver too old"), "{:?}", choice.reasons);
    let one_of_many =
        ChooseInput { drivers: [drivers("go@1.13"), drivers("node@2.2")].concat(), ..sharded(8) };
    assert_eq!(choose(&one_of_many).method, Method::LoadBalancer);
}

#[test]
fn cm_1_3_an_old_server_has_no_srv() {
    let old = Some(Version { major: 3, minor: 6 });
    let choice = choose(&ChooseInput { server: old, ..sharded(8) });
    assert_eq!(choice.method, Method::LoadBalancer);
    assert_ne!(choice.runner_up.unwrap().0, Method::Srv, "not offered at all");
    let new = Some(Version { major: 4, minor: 0 });
    assert_eq!(choose(&ChooseInput { server: new, ..sharded(8) }).method, Method::Srv);
}

#[test]
fn cm_0_3_cm_2_4_st_30_few_client_addresses_mean_srv() {
    let choice = choose(&ChooseInput { client_ips: Some(4), ..sharded(16) });
    assert_eq!(choice.method, Method::Srv);
    assert!(cites(&choice, "CM-2.4"));
    assert_eq!(choice.runner_up.as_ref().unwrap().0, Method::AllRouters);
    let skew = choice.skew.unwrap();
    assert!(skew.idle_least >= 12 && skew.alarms());
    let many = choose(&ChooseInput { client_ips: Some(48), ..sharded(16) });
    assert!(!cites(&many, "CM-2.4"), "three for each mongos are enough");
}

#[test]
fn cm_0_3_a_broken_budget_means_the_balancer_with_a_warning_about_skew() {
    let input = ChooseInput {
        client_ips: Some(4),
        budget: budget(20, 100, 3000),
        drivers: drivers("python@4.6"),
        ..sharded(16)
    };
    let choice = choose(&input);
    assert_eq!(choice.method, Method::LoadBalancer);
    assert!(cites(&choice, "CN-03.1"), "{:?}", choice.reasons);
    assert!(choice.warnings.iter().any(|w| w.clause == "CM-2.4"), "{:?}", choice.warnings);
    // Even if the balancer exceeds it as well: it needs the fewest connections.
    let worse = ChooseInput { budget: budget(20, 200, 3000), ..input.clone() };
    let choice = choose(&worse);
    assert_eq!(choice.method, Method::LoadBalancer);
    assert!(choice.warnings.iter().any(|w| w.clause == "CN-03.1"));
    // If demand is known, the smallest pool that works decides, not the current one.
    let amount = |text| Amount::parse(text).unwrap();
    let load = Some((amount("1000"), amount("20")));
    let small = Budget { load, ..input.budget.unwrap() };
    let input = ChooseInput { budget: Some(small), ..input };
    assert_eq!(choose(&input).method, Method::Srv, "20 x 2 x 16 = 640");
}

#[test]
fn cm_3_3_cm_3_2_an_uneven_balancer_and_an_old_driver_mean_all_mongos() {
    let input = ChooseInput { client_ips: Some(4), drivers: drivers("java@3.4"), ..sharded(16) };
    let choice = choose(&input);
    assert_eq!(choice.method, Method::AllRouters);
    assert!(choice.preconditions.iter().any(|p| p.clause == "CM-3.2"));
    let often = ChooseInput { routers_change_often: true, ..input };
    assert_eq!(choose(&often).method, Method::LoadBalancer, "a list would be wrong all the time");
    let steered = ChooseInput { precise_control: true, ..sharded(4) };
    assert_eq!(choose(&steered).method, Method::AllRouters);
}

#[test]
fn cm_1_5_st_13_mongos_that_come_and_go_mean_srv() {
    let choice = choose(&ChooseInput { routers_change_often: true, ..sharded(8) });
    assert_eq!(choice.method, Method::Srv);
    assert!(cites(&choice, "CM-1.5") && cites(&choice, "CM-3.4"));
}

#[test]
fn cm_cmp_1_cm_cmp_2_cm_cmp_3_cm_cmp_4_cm_cmp_5_are_five_rows() {
    let choice = choose(&ChooseInput { budget: budget(20, 10, 3000), ..sharded(8) });
    let clauses: Vec<&str> = choice.comparison.iter().map(|row| row.clause).collect();
    assert_eq!(clauses, ["CM-CMP.1", "CM-CMP.2", "CM-CMP.3", "CM-CMP.4", "CM-CMP.5"]);
    let last = &choice.comparison[4];
    let cell =
        |method| last.cells.iter().find(|(m, _)| *m == method).map(|(_, text)| text.as_str());
    assert_eq!(cell(Method::Srv), Some("yes, × 8: 1,600"));
    assert_eq!(cell(Method::LoadBalancer), Some("no: 200"));
}

#[test]
fn strings_have_no_credentials_and_list_no_more_than_there_are() {
    let input = ChooseInput { precise_control: true, ..sharded(16) };
    let uri = choose(&input).uri;
    assert!(uri.contains("${MONGODB_PASSWORD}") && uri.contains("MONGOS3:27017,…"), "{uri}");
    assert!(choose(&sharded(16)).uri.starts_with("mongodb+srv://"));
}
