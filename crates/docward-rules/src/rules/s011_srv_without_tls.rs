//! CM-1.4, SE-7: `mongodb+srv://` and TLS, which it turns on.

use docward_model::{Evidence, Level, Severity, UriChange};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

declare_rule! {
    /// # SRV without TLS
    ///
    /// ## What it checks
    /// `mongodb+srv://` switches TLS on. Reports:
    /// - a warning: the string switches it off again with `tls=false` or `ssl=false`. Consoles print such strings
    ///   for servers without TLS
    /// - a note: the string does not mention TLS. It then works only with servers that use TLS
    ///
    /// Strings for MongoDB Atlas (`*.mongodb.net`) that do not mention TLS are not reported.
    ///
    /// ## Why it matters
    /// Without TLS, anyone on the network path can read the documents. The driver connects to the host that DNS
    /// names and cannot verify it. If TLS is on and the server does not support it, no connection succeeds.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb+srv://order@cluster.example.net/db_order?authSource=admin&ssl=false
    /// ```
    /// ```jsonl,clean
    /// uri mongodb+srv://order@cluster.example.net/db_order?authSource=admin&tls=true
    /// ```
    ///
    /// ## How to fix
    /// Enable TLS on the server and write `tls=true`.
    ///
    /// ## When to ignore it
    /// The servers are reachable only in a private network and do not support TLS.
    S011, "srv-without-tls",
    level: Recommended,
    area: Security,
    severities: [Warn, Info],
    clauses: ["CM-1.4", "SE-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()).iter().filter(|client| client.uri.srv) {
        let uri = client.uri;
        let draft = match client.flag("tls") {
            Some(false) => client
                .draft(
                    client.place("tls"),
                    format!("{} turns off TLS, which mongodb+srv:// turns on by default", uri.owner()),
                    "DNS decides where the driver connects, and without TLS the driver cannot verify the server",
                    "set tls=true after you turn on TLS on the server",
                )
                .severity(Severity::Warn),
            None if uri.option("tls").is_none() && uri.shows_all_options() && !is_atlas(&uri.hosts) => {
                client
                    .draft(
                        client.start(),
                        format!("{} does not set `tls`, and mongodb+srv:// turns TLS on", uri.owner()),
                        "connections to a server without TLS fail, and the string does not show why",
                        "set tls=true",
                    )
                    .level(Level::Information)
                    .clauses(&["CM-1.4"])
                    .uri([UriChange::set("tls", true)])
            }
            _ => continue,
        };
        cx.report(draft);
    }
}

fn is_atlas(hosts: &[String]) -> bool {
    hosts.iter().all(|host| host.to_ascii_lowercase().ends_with(".mongodb.net"))
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Info, Warn};

    use crate::testing::severities;

    #[test]
    fn cm_1_4_gc_51_se_7_srv_brings_tls() {
        let found =
            |rest: &str| -> Vec<Severity> { severities("S011", "", &format!("uri mongodb{rest}")) };
        assert_eq!(found("+srv://c.tencentmdb.com/test?ssl=false"), [Warn]);
        assert_eq!(found("+srv://c.tencentcdb.com/admin"), [Info]);
        assert!(found("+srv://c.example.net/?tls=true").is_empty());
        assert!(found("+srv://c0.abcde.mongodb.net/?retryWrites=true").is_empty());
        assert!(found("://a,b/?tls=false").is_empty());
    }
}
