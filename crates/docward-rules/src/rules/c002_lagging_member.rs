//! RP-7: members that lag behind the primary.

use docward_model::{
    Draft, Evidence, Member, Need, Seen, Severity, Subject, TOLERATED_LAG, Topology, Unit,
};

use crate::{Cx, declare_rule, facts::text, threshold};

declare_rule! {
    /// # Lagging member
    ///
    /// ## What it checks
    /// Reports secondaries that were more than 10 seconds behind the primary when Docward ran `replSetGetStatus`.
    ///
    /// Docward does not report members that clients do not read from: members with a configured delay, arbiters, hidden
    /// members, and members that are down.
    ///
    /// ## Why it matters
    /// Reads from a lagging secondary return data of that age. A failover has to wait for the secondary to catch
    /// up, or loses the writes it has not copied.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// server {"authorization": true, "members": [{"host": "db1:27017", "state": "PRIMARY"}, {"host": "db2:27017", "state": "SECONDARY", "lag": 95}]}
    /// ```
    /// ```jsonl,clean
    /// server {"authorization": true, "members": [{"host": "db1:27017", "state": "PRIMARY"}, {"host": "db2:27017", "state": "SECONDARY", "lag": 1}, {"host": "db3:27017", "state": "SECONDARY", "lag": 3600, "delay": 3600}]}
    /// ```
    ///
    /// ## How to fix
    /// Find the cause of the delay: disk, network, a long index build or a burst of writes. Until it is solved,
    /// set `maxStalenessSeconds` (90 or more). Read from the primary wherever the latest write must be visible.
    ///
    /// ## When to ignore it
    /// The member was being resynchronised at that moment, or no client reads from secondaries.
    C002, "lagging-member",
    level: Mandatory,
    area: Correctness,
    severities: [Warn],
    clauses: ["RP-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [TOLERANCE],
    data: ["lagSeconds", "tolerance"],
    check: Deployment(check),
}

threshold!(
    TOLERANCE,
    "tolerance",
    Int(TOLERATED_LAG as i64),
    "seconds",
    "our default",
    "maximum replication lag of reads"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(server) = &evidence.server else { return };
    let Some(members) = &server.members else {
        // A standalone server has no members.
        if server.topology != Some(Topology::Standalone) {
            cx.skip(Need::Server);
        }
        return;
    };
    let tolerance = cx.count(&TOLERANCE);
    let lagging: Vec<(&Member, u64)> = members
        .iter()
        .filter(|member| member.is_read_from())
        .filter_map(|member| Some((member, member.lag_seconds?)))
        .filter(|(_, lag)| *lag > tolerance)
        .collect();
    let Some(worst) = lagging.iter().map(|(_, lag)| *lag).max() else { return };
    let named: Vec<String> = lagging
        .iter()
        .map(|(member, lag)| format!("{} by {}", member.host, text::plural(*lag, "second")))
        .collect();
    cx.report(
        Draft::new(
            Subject::Deployment,
            format!("{} behind the primary: {}", text::plural(lagging.len() as u64, "member"), text::list(&named, 5)),
            "reads from these secondaries return data that is out of date by this time",
            "find the cause of the lag; until then, set maxStalenessSeconds (at least 90), or read recent writes from the primary",
            Seen::all(members.len() as u64, Unit::Servers),
        )
        .data("lagSeconds", worst)
        .data("tolerance", tolerance)
        .severity(Severity::Warn),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::{Example, check, check_with};
    use docward_model::Topology;

    #[test]
    fn rp_7_the_tolerance_is_configured() {
        let set = r#"server {"authorization": true, "members": [{"host": "a:1", "state": "PRIMARY"}, {"host": "b:1", "state": "SECONDARY", "lag": 11}]}"#;
        assert_eq!(check("C002", set).len(), 1);
        assert!(check_with("C002", "tolerance = 60", set).is_empty());
    }

    #[test]
    fn rp_7_a_set_that_does_not_say_is_not_judged() {
        let judged = |facts: &str, topology: Option<Topology>| {
            let mut example = Example::new("C002", "", &format!("server {facts}"));
            let server = example.evidence.server.as_mut().expect("a server");
            server.topology = topology.or(server.topology.take());
            let outcome = crate::judge(&example.evidence, &example.settings);
            !outcome.skipped.iter().any(|skipped| skipped.rule == "C002")
        };
        assert!(!judged(r#"{"authorization": true, "set": "rs0"}"#, None));
        assert!(!judged(r#"{"authorization": true}"#, Some(Topology::Sharded)));
        assert!(judged(r#"{"authorization": true}"#, Some(Topology::Standalone)));
        let members =
            r#"{"authorization": true, "members": [{"host": "a:1", "state": "PRIMARY"}]}"#;
        assert!(judged(members, None));
    }
}
