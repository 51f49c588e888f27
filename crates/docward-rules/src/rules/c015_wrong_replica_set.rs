//! CN-01.3: a `replicaSet` that the deployment does not have.

use docward_model::{Evidence, Severity, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Shape, clients},
};

declare_rule! {
    /// # Wrong replicaSet
    ///
    /// ## What it checks
    /// Compares `replicaSet` in connection strings with the deployment:
    /// - an error when the running set has another name
    /// - a warning when the deployment is a sharded cluster, running or declared: routers belong to no replica
    ///   set
    ///
    /// ## Why it matters
    /// A driver refuses every server that does not belong to the set named in the string. The client finds no
    /// server and times out.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "set": "cmgo-abc"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abd
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "set": "cmgo-abc"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?replicaSet=cmgo-abc
    /// ```
    ///
    /// ## How to fix
    /// Write the name that `rs.conf()._id` shows. For a sharded cluster, remove the option.
    ///
    /// ## When to ignore it
    /// The string belongs to another deployment.
    C015, "wrong-replica-set",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["CN-01.3", "CP-2"],
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
        let Some(named) = &uri.replica_set else { continue };
        let draft = match client.shape {
            Shape::ReplicaSet(Some(real)) if client.is_seen && real != named => client
                .draft(
                    client.place("replicaSet"),
                    format!(
                        "{} uses replica set `{named}`, but the set's name is `{real}`",
                        uri.owner()
                    ),
                    "drivers reject members of other sets, so the client finds no server",
                    format!("write replicaSet={real}"),
                )
                .uri([UriChange::set("replicaSet", real)]),
            Shape::Sharded => client
                .draft(
                    client.place("replicaSet"),
                    format!("{} uses replica set `{named}` for a sharded cluster", uri.owner()),
                    "routers belong to no replica set, so drivers that use the option find no server",
                    "remove replicaSet",
                )
                .severity(Severity::Warn)
                .uri([UriChange::remove("replicaSet")]),
            _ => continue,
        };
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Warn};

    use crate::testing::severities;

    #[test]
    fn cn_01_3_the_name_is_that_of_the_running_set() {
        let found =
            |settings: &str, body: &str| -> Vec<Severity> { severities("C015", settings, body) };
        let set = r#"server {"authorization": true, "set": "cmgo-abc"}"#;
        assert_eq!(found("", &format!("{set}\nuri mongodb://a,b/?replicaSet=x")), [Error]);
        assert!(found("", &format!("{set}\nuri mongodb://a,b/?replicaSet=cmgo-abc")).is_empty());
        assert_eq!(found("topology=sharded", "uri mongodb://a,b/?replicaSet=x"), [Warn]);
        assert!(found("topology=replica-set", "uri mongodb://a,b/?replicaSet=x").is_empty());
        assert!(found("", "uri mongodb://a,b/?replicaSet=x").is_empty());
    }
}
