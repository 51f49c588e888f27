//! Connections of a server between two dates.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_model::{Connections, ConnectionsSince, Evidence, Server};
use docward_profile::observe_growth;

/// A server at this uptime in seconds and this time of its clock.
fn server(uptime: u64, clock: i64, current: u64, total_created: u64) -> Evidence {
    let server = Server {
        host: Some("db1:27017".to_owned()),
        uptime_seconds: Some(uptime),
        clock_seconds: Some(clock),
        connections: Some(Connections {
            current,
            available: 100,
            total_created,
            since_earlier: None,
        }),
        ..Server::default()
    };
    Evidence { server: Some(server), ..Evidence::default() }
}

fn between(mut now: Evidence, earlier: &Evidence) -> Option<ConnectionsSince> {
    observe_growth(&mut now, 2, earlier, 1);
    now.server.unwrap().connections.unwrap().since_earlier
}

#[test]
fn cn_02_1_st_16_connections_are_counted_between_two_dates() {
    let earlier = server(1000, 50_000, 30, 400);
    let since = between(server(4600, 53_600, 20, 18_400), &earlier).unwrap();
    assert_eq!(since, ConnectionsSince { seconds: 3600, created: 18_000, ended: 18_010 });
}

#[test]
fn cn_02_1_counters_of_another_start_or_server_are_not_compared() {
    let earlier = server(1000, 50_000, 30, 400);
    assert_eq!(between(server(900, 53_600, 20, 18_400), &earlier), None, "started since");
    assert_eq!(
        between(server(4600, 99_000, 20, 18_400), &earlier),
        None,
        "started since, long ago"
    );
    assert_eq!(between(server(4600, 53_600, 20, 300), &earlier), None, "it counts anew");
    let mut other = server(4600, 53_600, 20, 18_400);
    other.server.as_mut().unwrap().host = Some("db2:27017".to_owned());
    assert_eq!(between(other, &earlier), None);
}
