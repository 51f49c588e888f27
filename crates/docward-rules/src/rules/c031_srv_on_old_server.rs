//! CM-1.3: `mongodb+srv://` for a server that is too old for it.

use docward_model::Evidence;

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # SRV on an old server
    ///
    /// ## What it checks
    /// Reports `mongodb+srv://` for a server older than 4.0. Docward takes the version from the running server or
    /// from `server-version`. Consoles offer SRV addresses from 4.0 on.
    ///
    /// ## Why it matters
    /// DNS has no SRV records for this name, so the client finds no server.
    ///
    /// ## Example
    /// ```jsonl,fires,version=3.6
    /// uri mongodb+srv://cluster.example.net/db_order
    /// ```
    /// ```jsonl,clean,version=4.0
    /// uri mongodb+srv://cluster.example.net/db_order
    /// ```
    ///
    /// ## How to fix
    /// Use the address of the load balancer, or list all hosts. Or upgrade the server.
    ///
    /// ## When to ignore it
    /// The SRV records were created by hand.
    C031, "srv-on-old-server",
    level: Mandatory,
    area: Writes,
    clauses: ["CM-1.3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let version = evidence.deployment.server_version.or(cx.settings().server_version);
    let Some((major, minor)) = version.filter(|version| *version < (4, 0)) else { return };
    for client in clients(evidence, cx.settings()).iter().filter(|client| client.uri.srv) {
        cx.report(client.draft(
            client.start(),
            format!(
                "{} needs MongoDB 4.0 or later, but the server has {major}.{minor}",
                client.uri.owner()
            ),
            "such a deployment has no DNS records for this name",
            "use the address of the load balancer, or list all hosts with mongodb://",
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;

    #[test]
    fn cm_1_3_srv_needs_4_0() {
        let count = |version: &str| {
            check_with("C031", version, "uri mongodb+srv://c.example.net/\nuri mongodb://a,b").len()
        };
        assert_eq!(["version=3.6", "version=4.0", "version=7.0", ""].map(count), [1, 0, 0, 0]);
    }
}
