//! CN-01.1, CM-0.2, CM-2.2: a connection string that names one server of several.

use std::collections::BTreeSet;

use docward_model::{Draft, Evidence, Level, Member, Severity, UriChange, client_uri::with_port};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::clients::{Client, Shape, clients},
        text,
    },
};

declare_rule! {
    /// # Single-point address
    ///
    /// ## What it checks
    /// Compares the hosts of a connection string with the deployment. The type of the deployment comes from a
    /// running server (`audit SOURCE --client-uri`), from `topology` under `[deployment]` in `docward.toml`, or
    /// from `replicaSet` in the string.
    /// - An error: the string names one host of a replica set.
    /// - An error: it names one address that is no member of the set, such as a load balancer in front of it.
    /// - A warning: it names several members, but not all that the running server knows.
    /// - A note: it names one address of a running sharded cluster.
    /// - A note: it names one host, and the type of the deployment is unknown.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - `mongodb+srv://` and `loadBalanced=true`
    /// - local addresses (`localhost`, `mongo`), unless a running server shows a replica set
    /// - hosts that source code computes
    /// - direct connections, which C011 reports
    ///
    /// ## Why it matters
    /// A driver finds the other members through the hosts it is given. If its only host is down, it cannot find
    /// the new primary, and writes fail until the string is changed.
    ///
    /// ## Example
    /// ```jsonl,fires,topology=replica-set
    /// uri mongodb://10.0.0.1:27017/db_order?replicaSet=cmgo-abc
    /// ```
    /// ```jsonl,fires
    /// server {"authorization": true, "set": "rs0", "members": [{"host": "db1:27017"}, {"host": "db2:27017"}, {"host": "db3:27017"}]}
    /// uri mongodb://db1,db2/?replicaSet=rs0
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://10.0.0.1,10.0.0.2,10.0.0.3/db_order?replicaSet=cmgo-abc
    /// uri mongodb+srv://cluster.example.net/db_order
    /// uri mongodb://localhost:27017
    /// ```
    ///
    /// ## How to fix
    /// List all members, as the console shows them, and add `replicaSet`. Or use `mongodb+srv://`.
    ///
    /// ## When to ignore it
    /// A tool has to reach exactly this server.
    C010, "single-point-address",
    level: Prohibited,
    area: Writes,
    severities: [Error, Warn, Info],
    clauses: ["CN-01.1", "CM-0.2", "CM-2.2", "AP-S1.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["missing"],
    check: Deployment(check),
}

const LOST: &str = "if this host is down or no longer the primary, the driver finds no other, and writes fail until someone edits the string";

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let settings = cx.settings();
    let members = evidence.server.as_ref().and_then(|server| server.members.as_deref());
    for client in clients(evidence, settings) {
        let uri = client.uri;
        let is_balanced = client.flag("loadBalanced") == Some(true);
        // C011 reports direct connections.
        if uri.srv || is_balanced || !uri.shows_all_hosts() || is_direct(&client) {
            continue;
        }
        let single = uri.hosts.len() == 1;
        let draft = match (client.shape, members) {
            (Shape::ReplicaSet(_), Some(members)) if client.is_seen => of_members(&client, members),
            (Shape::ReplicaSet(_), _) if single && !client.is_local() => {
                (settings.deployment.members != Some(1)).then(|| one_of_a_set(&client))
            }
            (Shape::Sharded, _) if single && client.is_seen => Some(one_of_a_cluster(&client)),
            (Shape::Unknown, _) if single && !client.is_local() => Some(question(&client)),
            _ => None,
        };
        if let Some(draft) = draft {
            cx.report(draft);
        }
    }
}

fn is_direct(client: &Client<'_>) -> bool {
    client.flag("directConnection") == Some(true)
}

/// Compares hosts with the members that a running server reports.
fn of_members(client: &Client<'_>, members: &[Member]) -> Option<Draft> {
    let uri = client.uri;
    let visible: Vec<&Member> = members
        .iter()
        .filter(|m| m.is_visible() && m.state.as_deref() != Some("ARBITER"))
        .collect();
    if visible.len() < 2 {
        return None;
    }
    let listed: BTreeSet<String> = uri.hosts.iter().map(|host| with_port(host)).collect();
    let missing: Vec<&str> = visible
        .iter()
        .map(|member| member.host.as_str())
        .filter(|host| !listed.contains(&with_port(host)))
        .collect();
    let all: Vec<String> = visible.iter().map(|member| member.host.clone()).collect();
    let todo = format!("list all members: mongodb://{}/…", all.join(","));
    let change = [UriChange::Hosts(all)];
    if missing.is_empty() {
        return None;
    }
    if missing.len() == visible.len() {
        // Clients may know the members under other names, but one address cannot be all members.
        return (uri.hosts.len() == 1).then(|| {
            client
                .draft(
                    client.host_place(),
                    format!(
                        "{} has one address, which is not one of the {} members of the replica set",
                        uri.owner(),
                        visible.len()
                    ),
                    "a load balancer in front of a replica set can send writes to secondaries, which reject them",
                    todo,
                )
                .clauses(&["CN-01.1", "CM-0.2", "CM-2.2"])
                .uri(change)
        });
    }
    let single = uri.hosts.len() == 1;
    let draft = client
        .draft(
            client.host_place(),
            format!(
                "{} lists {} of {} members of the replica set and lacks {}",
                uri.owner(),
                text::count((visible.len() - missing.len()) as u64),
                text::count(visible.len() as u64),
                text::list(&missing, 8)
            ),
            LOST,
            todo,
        )
        .data("missing", missing.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
        .uri(change)
        .clauses(&["CN-01.1", "AP-S1.6"]);
    Some(if single { draft } else { draft.severity(Severity::Warn) })
}

fn one_of_a_set(client: &Client<'_>) -> Draft {
    let host = &client.uri.hosts[0];
    let hosts = [host.clone(), "SECOND_HOST:27017".to_owned(), "THIRD_HOST:27017".to_owned()];
    client
        .draft(
            client.host_place(),
            format!("{} lists only one host of a replica set", client.uri.owner()),
            LOST,
            "list all members with their ports (rs.conf() shows them), or use mongodb+srv://",
        )
        .clauses(&["CN-01.1", "CM-0.2", "AP-S1.6"])
        .uri([UriChange::Hosts(hosts.to_vec())])
}

fn one_of_a_cluster(client: &Client<'_>) -> Draft {
    client
        .draft(
            client.host_place(),
            format!("{} has only one address of a sharded cluster", client.uri.owner()),
            "this is correct for a load balancer; with a single router, the client loses its connection when that router stops",
            "check that the address is a load balancer; otherwise list all routers or use mongodb+srv://",
        )
        .clauses(&["CN-01.1"])
        .level(Level::Information)
}

fn question(client: &Client<'_>) -> Draft {
    client
        .draft(
            client.host_place(),
            format!("{} has one host, and its topology is not declared", client.uri.owner()),
            "one member of a replica set is a single point of failure; a load balancer of a sharded cluster is not",
            "declare `topology` under [deployment] in docward.toml; for a replica set, list all members",
        )
        .clauses(&["CN-01.1"])
        .level(Level::Information)
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::{check, severities};

    const SET: &str = r#"server {"authorization": true, "set": "rs0", "members": [{"host": "db1:27017"}, {"host": "db2:27017"}, {"host": "db3:27017"}, {"host": "old:27017", "hidden": true}]}"#;

    fn found(settings: &str, body: &str) -> Vec<Severity> {
        severities("C010", settings, body)
    }

    #[test]
    fn cn_01_1_one_of_three_breaks_it_and_three_of_three_pass() {
        let with = |uri: &str| found("", &format!("{SET}\nuri {uri}"));
        assert_eq!(with("mongodb://db1/?replicaSet=rs0"), [Error]);
        assert_eq!(with("mongodb://db1,db2/?replicaSet=rs0"), [Warn]);
        assert!(with("mongodb://db1,DB2,db3:27017/?replicaSet=rs0").is_empty());
        assert!(with("mongodb+srv://rs0.example.net/").is_empty());
        assert!(with("mongodb://a.lan,b.lan,c.lan/").is_empty(), "known by other names");
        assert!(found("", &format!("{SET}\nsource mongodb://db1/")).is_empty(), "no client");
        assert!(found("", &format!("{SET}\ntemplate mongodb://{{}}/?replicaSet=rs0")).is_empty());
        let missing = check("C010", &format!("{SET}\nuri mongodb://db1,db2/"));
        assert!(missing[0].what.ends_with("lacks `db3:27017`"), "{}", missing[0].what);
    }

    #[test]
    fn cm_2_2_cm_0_2_a_load_balancer_stands_in_front_of_shards_only() {
        let set = check("C010", &format!("{SET}\nuri mongodb://10.0.0.100:27017/"));
        assert!(set[0].severity == Error && set[0].cites("CM-2.2") && set[0].cites("CM-0.2"));
        let sharded = r#"server {"authorization": true, "topology": "sharded"}"#;
        assert_eq!(found("", &format!("{sharded}\nuri mongodb://10.0.0.100:27017/")), [Info]);
        assert!(found("topology=sharded", "uri mongodb://10.0.0.100:27017/").is_empty());
        assert!(found("", "uri mongodb://lb.example.net/?loadBalanced=true").is_empty());
    }

    #[test]
    fn cn_01_1_ap_s1_6_what_is_declared_is_believed_and_the_rest_is_asked() {
        assert_eq!(found("topology=replica-set", "uri mongodb://10.0.0.1/"), [Error]);
        assert_eq!(found("", "uri mongodb://10.0.0.1/?replicaSet=rs0"), [Error]);
        assert!(found("topology=replica-set,members=1", "uri mongodb://10.0.0.1/").is_empty());
        assert!(found("topology=standalone", "uri mongodb://10.0.0.1/").is_empty());
        assert_eq!(found("", "uri mongodb://10.0.0.1/"), [Info]);
        for local in ["localhost:27017", "127.0.0.1", "mongo:27017", "localhost/?replicaSet=rs0"] {
            assert!(found("", &format!("uri mongodb://{local}")).is_empty(), "{local}");
        }
    }
}
