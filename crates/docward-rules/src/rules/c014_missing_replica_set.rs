//! CN-01.3, CP-2: a replica set whose name is missing in the string.

use docward_model::{Evidence, Level, Severity, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Client, Shape, clients},
};

declare_rule! {
    /// # Missing replicaSet
    ///
    /// ## What it checks
    /// Reports connection strings of a replica set without `replicaSet`:
    /// - an error with one host: some drivers then use that host alone
    /// - a warning with several hosts: current drivers detect the set by themselves
    /// - a note with several hosts when the type of the deployment is unknown: a list of routers needs no name
    ///
    /// A running server, or `topology` in `docward.toml`, tells Docward that the deployment is a replica set.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - `mongodb+srv://`, which may get the name from DNS
    /// - `loadBalanced=true` and direct connections
    /// - local addresses, unless a running server shows a replica set
    /// - strings whose hosts or options source code computes
    ///
    /// ## Why it matters
    /// With the name, the driver knows from the start that it talks to a replica set and follows the primary
    /// after a failover within seconds. It also refuses a server of another set that has taken over the address.
    ///
    /// ## Example
    /// ```jsonl,fires,topology=replica-set
    /// uri mongodb://10.0.0.1,10.0.0.2,10.0.0.3/db_order
    /// ```
    /// ```jsonl,clean,topology=replica-set
    /// uri mongodb://10.0.0.1,10.0.0.2,10.0.0.3/db_order?replicaSet=cmgo-abc
    /// ```
    ///
    /// ## How to fix
    /// Add `replicaSet` with the name that `rs.conf()._id` or the console shows.
    ///
    /// ## When to ignore it
    /// The program sets the option when it connects, and Docward did not read that program.
    C014, "missing-replica-set",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn, Info],
    clauses: ["CN-01.3", "CP-2", "AP-S1.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let uri = client.uri;
        let is_other = uri.srv
            || client.flag("loadBalanced") == Some(true)
            || client.flag("directConnection") == Some(true);
        if !client.lacks("replicaSet")
            || is_other
            || !uri.shows_all_options()
            || !uri.shows_all_hosts()
            || (client.is_local() && !client.is_seen)
        {
            continue;
        }
        match client.shape {
            Shape::ReplicaSet(name) => report(&client, name, cx),
            // C010 reports strings with one host.
            Shape::Unknown if uri.hosts.len() > 1 => cx.report(
                client
                    .draft(
                        client.start(),
                        format!("{} lists several hosts without replicaSet", uri.owner()),
                        "this is correct for routers of a sharded cluster; for a replica set, the driver needs the name to follow failovers",
                        "declare `topology` under [deployment] in docward.toml; for a replica set, add replicaSet",
                    )
                    .level(Level::Information)
                    .clauses(&["CN-01.3", "CP-2"]),
            ),
            _ => {}
        }
    }
}

fn report(client: &Client<'_>, name: Option<&str>, cx: &mut Cx<'_>) {
    let single = client.uri.hosts.len() == 1;
    let (what, why) = if single {
        (
            "one host and no replicaSet",
            "some drivers then use only this host, and after a failover all writes fail with \"not primary\"",
        )
    } else {
        (
            "the hosts of a replica set without replicaSet",
            "older drivers treat the hosts as routers and do not follow the primary; no driver detects a server of another set",
        )
    };
    let value = name.unwrap_or("NAME_OF_THE_SET");
    let todo = name.map_or_else(
        || "add replicaSet with the name that rs.conf()._id shows".to_owned(),
        |name| format!("add replicaSet={name}"),
    );
    let draft = client
        .draft(client.start(), format!("{} has {what}", client.uri.owner()), why, todo)
        .uri([UriChange::set("replicaSet", value)]);
    cx.report(if single { draft } else { draft.severity(Severity::Warn) });
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::{check, severities};

    fn found(settings: &str, body: &str) -> Vec<Severity> {
        severities("C014", settings, body)
    }

    #[test]
    fn cn_01_3_cp_2_gc_40_one_host_is_worse_than_several() {
        let set = r#"server {"authorization": true, "set": "cmgo-abc"}"#;
        let with = |uri: &str| found("", &format!("{set}\nuri mongodb://{uri}"));
        assert_eq!(with("db1/"), [Error]);
        assert_eq!(with("db1,db2/"), [Warn]);
        assert!(with("db1/?replicaSet=cmgo-abc").is_empty());
        let named = check("C014", &format!("{set}\nuri mongodb://db1,db2"));
        assert_eq!(named[0].todo, "add replicaSet=cmgo-abc");
        assert_eq!(found("topology=replica-set", "uri mongodb://db1/"), [Error]);
    }

    #[test]
    fn cn_01_3_ap_s1_6_others_need_no_name() {
        assert!(found("topology=sharded", "uri mongodb://db1,db2/").is_empty());
        assert!(found("topology=standalone", "uri mongodb://db1/").is_empty());
        assert!(found("topology=replica-set", "uri mongodb+srv://c.example.net/").is_empty());
        assert!(found("topology=replica-set", "uri mongodb://localhost/").is_empty());
        assert!(found("topology=replica-set", "template mongodb://db1,db2/{}").is_empty());
        assert_eq!(found("", "uri mongodb://db1,db2/"), [Info]);
        assert!(found("", "uri mongodb://db1/").is_empty(), "C010 asks");
    }
}
