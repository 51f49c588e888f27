//! CM-1.1, CM-3.4 and AP-S1.5: connection strings that list routers, or whose DNS records do, against the existing
//! routers.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    ClientUri, Draft, Evidence, Purpose, Router, Seen, Severity, Subject, Unit,
    client_uri::with_port,
};

use crate::{
    Cx, declare_rule,
    facts::{indexes::sharding, text},
    threshold,
};

declare_rule! {
    /// # Stale router list
    ///
    /// ## What it checks
    /// Compares connection strings that list routers (`mongos`) with the routers that a sharded cluster knows
    /// (`config.mongos`). Reports:
    /// - an error when live routers are missing from the list
    /// - a warning when the list contains hosts that no router has used for an hour
    ///
    /// For `mongodb+srv://` strings of `--client-uri`, the audit of a running cluster asks DNS, and compares the
    /// records in the same way.
    ///
    /// A router is live when its last sign of life is at most two minutes older than the newest one. Routers send
    /// one every 30 seconds.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - `mongodb+srv://` names that DNS does not resolve, and strings with `replicaSet`
    /// - strings that share no host with the cluster's table, such as the address of a load balancer or another
    ///   deployment
    /// - the connection string that was audited, when it names one host
    ///
    /// ## Why it matters
    /// Drivers do not discover routers, so a router that is missing from the list gets no traffic. Routers that
    /// were added to spread the load stay idle. A host that no longer exists costs each new connection a
    /// time-out.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "clock": 1700000060, "routers": [{"host": "r1:27017", "ping": 1700000050}, {"host": "r2:27017", "ping": 1700000040}]}
    /// uri mongodb://r1:27017/?appName=shop
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "clock": 1700000060, "routers": [{"host": "r1:27017", "ping": 1700000050}, {"host": "r2:27017", "ping": 1700000040}, {"host": "gone:27017", "ping": 1600000000}]}
    /// uri mongodb://r1:27017,r2:27017/?appName=shop
    /// uri mongodb+srv://cluster.example.net/?appName=orders
    /// ```
    ///
    /// ## How to fix
    /// Update the string whenever routers are added or removed. Or use an SRV name: drivers that support it (with
    /// servers from 4.0 on) follow changes within a minute.
    ///
    /// ## When to ignore it
    /// Some routers are reserved for other clients.
    C003, "stale-router-list",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["CM-1.1", "CM-3.4", "AP-S1.5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris, Server],
    thresholds: [ALIVE, GONE],
    data: ["gone", "listed", "live", "missing"],
    check: Deployment(check),
}

threshold!(
    ALIVE,
    "alive-seconds",
    Int(120),
    "seconds",
    "our default; routers give a sign of life every 30 s",
    "routers that have been silent for longer are not required in the list"
);
threshold!(
    GONE,
    "gone-seconds",
    Int(3600),
    "seconds",
    "our default",
    "routers that have been silent for longer must not be in the list"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let routers = sharding::cluster(evidence).and_then(|cluster| cluster.routers.as_deref());
    let Some(routers) = routers.filter(|routers| !routers.is_empty()) else { return };
    let lists: Vec<&ClientUri> =
        evidence.uris.iter().filter(|uri| is_list(evidence, uri)).collect();
    let clock = evidence.server.as_ref().and_then(|server| server.clock_seconds);
    let Some(newest) = routers.iter().filter_map(|router| router.ping).max() else { return };
    // Clocks of routers differ from the server's, so the latest ping is a better "now", unless all routers have been
    // silent for long.
    let gone = i64::try_from(cx.count(&GONE)).unwrap_or(i64::MAX);
    let now = clock.filter(|clock| clock - newest > gone).unwrap_or(newest);
    let alive_within = i64::try_from(cx.count(&ALIVE)).unwrap_or(i64::MAX);
    let silent_for = |router: &Router| router.ping.map(|ping| (now - ping).max(0));
    let known: BTreeSet<String> = routers.iter().map(|router| with_port(&router.host)).collect();
    let alive: BTreeSet<String> = routers
        .iter()
        .filter(|router| silent_for(router).is_some_and(|silent| silent <= alive_within))
        .map(|router| with_port(&router.host))
        .collect();
    let not_gone: BTreeSet<String> = routers
        .iter()
        .filter(|router| silent_for(router).is_some_and(|silent| silent <= gone))
        .map(|router| with_port(&router.host))
        .collect();
    let aliases: BTreeMap<String, String> = routers
        .iter()
        .flat_map(|router| {
            let alias = |name: &String| (same_port(name, &router.host), with_port(&router.host));
            router.also.iter().map(alias)
        })
        .collect();
    for uri in lists {
        let listed: BTreeSet<String> = hosts_of(evidence, uri)
            .iter()
            .map(|host| with_port(host))
            .map(|host| aliases.get(&host).cloned().unwrap_or(host))
            .collect();
        if listed.is_disjoint(&known) || (uri.purpose == Purpose::Source && listed.len() == 1) {
            continue;
        }
        let missing: Vec<&String> = alive.difference(&listed).collect();
        let dead: Vec<&String> = listed.difference(&not_gone).collect();
        if !missing.is_empty() || !dead.is_empty() {
            cx.report(draft(
                uri,
                &alive,
                &missing,
                &dead,
                listed.len(),
                evidence.uris.len() as u64,
            ));
        }
    }
}

/// The name of a router's host with the router's port.
fn same_port(name: &str, router: &str) -> String {
    let router = with_port(router);
    let port = router.rsplit_once(':').map_or("27017", |(_, port)| port);
    if name.contains(':') { name.to_owned() } else { with_port(&format!("{name}:{port}")) }
}

/// Whether the string or DNS lists hosts that may be routers, not members of a replica set.
fn is_list(evidence: &Evidence, uri: &ClientUri) -> bool {
    !hosts_of(evidence, uri).is_empty() && uri.replica_set.is_none()
}

/// The hosts of a string. DNS lists the hosts of an SRV name.
fn hosts_of<'a>(evidence: &'a Evidence, uri: &'a ClientUri) -> &'a [String] {
    match uri.hosts.first().filter(|_| uri.srv) {
        Some(name) => evidence.srv_hosts.get(name).map_or(&[], Vec::as_slice),
        None => &uri.hosts,
    }
}

fn draft(
    uri: &ClientUri,
    alive: &BTreeSet<String>,
    missing: &[&String],
    dead: &[&String],
    listed: usize,
    uris: u64,
) -> Draft {
    let mut faults = Vec::new();
    if !missing.is_empty() {
        faults.push(format!(
            "lacks {} of {}: {}",
            text::count(missing.len() as u64),
            text::plural(alive.len() as u64, "live router"),
            text::list(missing, 16)
        ));
    }
    if !dead.is_empty() {
        faults.push(format!(
            "lists {} on which no router runs: {}",
            text::plural(dead.len() as u64, "host"),
            text::list(dead, 16)
        ));
    }
    let hosts: Vec<&str> = alive.iter().map(String::as_str).collect();
    Draft::new(
        Subject::Deployment,
        format!(
            "{}{} {}",
            if uri.srv { "the DNS entry of " } else { "" },
            uri.owner(),
            faults.join(", and ")
        ),
        if missing.is_empty() {
            "each connection attempt to such a host waits until it times out"
        } else {
            "drivers do not discover routers: unlisted ones get no traffic, even if the others are overloaded"
        },
        if uri.srv {
            format!("let the SRV records name {}", hosts.join(", "))
        } else {
            format!(
                "use mongodb://{}/… and update it whenever routers change, or use mongodb+srv://, which follows DNS",
                hosts.join(",")
            )
        },
        Seen::all(uris, Unit::ConnectionStrings),
    )
    .data("listed", listed)
    .data("live", alive.len() as u64)
    .data("missing", missing.iter().map(|host| (*host).clone()).collect::<Vec<_>>())
    .data("gone", dead.iter().map(|host| (*host).clone()).collect::<Vec<_>>())
    .severity(if missing.is_empty() { Severity::Warn } else { Severity::Error })
    .key(uri.key())
}

#[cfg(test)]
mod tests {
    use docward_model::{DataValue, Finding, Severity};

    use crate::{
        judge,
        testing::{Example, check},
    };

    /// A cluster with this number of live routers, all of the same age.
    fn with(routers: usize, uris: &str) -> Vec<Finding> {
        let routers: Vec<String> = (0..routers)
            .map(|n| format!(r#"{{"host": "r{n:02}:27017", "ping": 1700000000}}"#))
            .collect();
        let routers = routers.join(", ");
        check(
            "C003",
            &format!(
                r#"server {{"authorization": true, "clock": 1700000010, "routers": [{routers}, {{"host": "old:27017", "ping": 1690000000}}, {{"host": "napping:27017", "ping": 1699999500}}]}}
                {uris}"#
            ),
        )
    }

    fn hosts(range: std::ops::Range<usize>) -> String {
        range.map(|n| format!("r{n:02}:27017")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn cm_3_4_eight_of_sixteen_routers_are_missing_and_named() {
        let found = with(16, &format!("uri mongodb://{}/?appName=shop", hosts(0..8)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        let Some(DataValue::List(missing)) = found[0].data.get("missing") else { panic!() };
        assert_eq!(missing.len(), 8);
        for n in 8..16 {
            assert!(found[0].what.contains(&format!("r{n:02}:27017")), "{}", found[0].what);
        }
        assert!(with(16, &format!("uri mongodb://{}/", hosts(0..16))).is_empty());
    }

    #[test]
    fn ap_s1_5_hosts_that_are_gone_are_named_and_a_short_silence_is_none() {
        let found = with(2, "uri mongodb://r00,R01,old,never/");
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.ends_with("`never:27017` and `old:27017`"), "{}", found[0].what);
        // A router that has been silent for minutes: it may be in the list or missing.
        assert!(with(2, "uri mongodb://r00,r01,napping/").is_empty());
        assert!(with(2, "uri mongodb://r00,r01/").is_empty());
    }

    #[test]
    fn cm_3_4_routers_go_by_other_names_too() {
        let of = |uri: &str| {
            let router = |n: u32, also: &str| {
                format!(r#"{{"host": "m{n}:27017", "also": "{also}", "ping": 1700000000}}"#)
            };
            let routers =
                [router(0, "m0.x"), router(1, "m1.x"), router(2, "m2.x:27017")].join(", ");
            check(
                "C003",
                &format!(
                    r#"server {{"authorization": true, "clock": 1700000010, "routers": [{routers}]}}
                uri mongodb://{uri}/"#
                ),
            )
        };
        for all in ["m0,m1.x,m2:27017", "m0.x,m1.x,m2.x", "M0.x:27017,m1,m2.x"] {
            assert!(of(all).is_empty(), "{all}: {:?}", of(all));
        }
        // Another port is another router.
        assert_eq!(of("m0.x,m1.x,m2.x:27018").len(), 1);
        let stale = of("m0.x,m1.x,gone.x");
        assert_eq!(stale.len(), 1);
        let what = &stale[0].what;
        assert!(what.contains("1 of 3 live routers: `m2:27017`"), "{what}");
        assert!(what.ends_with("`gone.x:27017`"), "{what}");
    }

    #[test]
    fn cm_3_4_what_is_no_list_of_routers_is_left_alone() {
        for uri in [
            "uri mongodb+srv://cluster.example.net/",
            "uri mongodb://10.0.0.100:27017/",
            "uri mongodb://10.0.0.100:27017,10.0.0.100:27018/",
            "uri mongodb://db1,db2/?replicaSet=rs0",
            "source mongodb://r00:27017/",
        ] {
            assert!(with(4, uri).is_empty(), "{uri}");
        }
        assert_eq!(with(4, "source mongodb://r00,r01/").len(), 1);
        assert!(check("C003", "server {\"authorization\": true}\nuri mongodb://a,b/").is_empty());
    }

    #[test]
    fn cm_1_1_dns_records_name_all_live_routers() {
        let body = r#"server {"authorization": true, "clock": 1700000010, "routers": [{"host": "r1:27017", "ping": 1700000000}, {"host": "r2:27017", "ping": 1700000000}]}
uri mongodb+srv://cluster.example.net/?appName=shop"#;
        let found = |hosts: &[&str]| {
            let mut example = Example::new("C003", "", body);
            let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
            example.evidence.srv_hosts.insert("cluster.example.net".to_owned(), hosts);
            let mut found = judge(&example.evidence, &example.settings).findings;
            found.retain(|finding| finding.rule == "C003");
            found
        };
        let missing = found(&["r1:27017"]);
        assert_eq!((missing.len(), missing[0].severity), (1, Severity::Error));
        assert!(
            missing[0].what.contains("lacks 1 of 2 live routers: `r2:27017`"),
            "{}",
            missing[0].what
        );
        for clean in [&["r1:27017", "r2:27017"][..], &["other:27017"], &[]] {
            assert!(found(clean).is_empty(), "{clean:?}");
        }
    }
}
