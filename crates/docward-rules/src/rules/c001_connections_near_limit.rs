//! CN-03.1: open connections against the server's limit.

use docward_model::{Draft, Evidence, Need, Seen, Severity, Subject, Unit};

use crate::{Cx, declare_rule, facts::text, threshold};

declare_rule! {
    /// # Connections near the limit
    ///
    /// ## What it checks
    /// Reports a server that has more than 80 % of its connection limit open. Docward reads both numbers from
    /// `serverStatus`. They hold for the moment of the audit; other moments can be worse.
    ///
    /// ## Why it matters
    /// After a failover, all clients reconnect at once. A new primary without spare connections refuses some of
    /// them, and these clients keep retrying.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "connections": 2500, "available": 500}
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "connections": 2400, "available": 600}
    /// ```
    ///
    /// ## How to fix
    /// Lower `maxPoolSize` until clients × pool size × routers is within 80 % of the limit. Or raise the limit:
    /// `net.maxIncomingConnections` and the number of open files.
    ///
    /// ## When to ignore it
    /// The limit was set low on purpose, and the number of clients is known.
    C001, "connections-near-limit",
    level: Mandatory,
    area: Writes,
    clauses: ["CN-03.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [MAX_SHARE],
    data: ["current", "limit", "share"],
    check: Deployment(check),
}

threshold!(
    MAX_SHARE,
    "max-share",
    Float(0.8),
    "share of the limit",
    "CN-03.1",
    "maximum share of the limit in use"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(server) = &evidence.server else { return };
    let Some(connections) = server.connections else {
        cx.skip(Need::Server);
        return;
    };
    let limit = connections.current + connections.available;
    if limit == 0 {
        return;
    }
    let (share, most) = (connections.current as f64 / limit as f64, cx.limit(&MAX_SHARE));
    if share <= most {
        return;
    }
    let host = server.host.as_deref().unwrap_or("the server");
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!(
                "{} of {} connections of {host} are open (threshold {}, {} of the limit)",
                text::count(connections.current),
                text::count(limit),
                text::count((limit as f64 * most) as u64),
                text::percent(most),
            ),
            "after a failover all clients reconnect at once, and a server near its limit rejects some of them",
            format!(
                "keep the sum of all pools within {} connections: lower maxPoolSize of the clients, or raise net.maxIncomingConnections",
                text::count((limit as f64 * most) as u64)
            ),
            Seen::all(1, Unit::Servers),
        )
        .data("current", connections.current)
        .data("limit", limit)
        .data("share", share)
        .severity(Severity::Error),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{Example, check};

    /// The figures of the rule book, as open connections of 3,000.
    #[test]
    fn cn_03_1_eighty_percent_pass_and_more_do_not() {
        let count = |current: u64| {
            let facts = format!(
                r#"server {{"authorization": true, "connections": {current}, "available": {}}}"#,
                3000 - current
            );
            check("C001", &facts).len()
        };
        assert_eq!([2400, 2401, 2500, 3000].map(count), [0, 1, 1, 1]);
        let found = check("C001", r#"server {"connections": 2401, "available": 599}"#);
        assert!(
            found[0].what.ends_with("are open (threshold 2,400, 80 % of the limit)"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn cn_03_1_a_server_that_does_not_say_is_not_judged() {
        let judged = |facts: &str| {
            let example = Example::new("C001", "", &format!("server {facts}"));
            let outcome = crate::judge(&example.evidence, &example.settings);
            assert!(!outcome.findings.iter().any(|f| f.rule == "C001"));
            !outcome.skipped.iter().any(|skipped| skipped.rule == "C001")
        };
        assert!(!judged(r#"{"authorization": true}"#));
        assert!(judged(r#"{"authorization": true, "connections": 5, "available": 500}"#));
    }
}
