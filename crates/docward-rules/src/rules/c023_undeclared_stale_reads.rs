//! RP-7, RP-4: reads of stale data by services that do not declare that they accept it.

use docward_model::{Evidence, Level, ServiceClass, Severity, UriChange};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::clients::{Client, Shape, clients},
        text,
    },
};

declare_rule! {
    /// # Undeclared stale reads
    ///
    /// ## What it checks
    /// Checks clients that read with `secondary`, `secondaryPreferred` or `nearest`. A service accepts stale
    /// reads by a `stale-reads-ms` above 0, or by its class: `read-heavy`, `report` or `regional`.
    /// - An error: a declared service accepts no stale reads, or has `stale-reads-ms = 0`.
    /// - A warning: a member of the running set lags more than the declared time.
    /// - A note: the string belongs to no declared service.
    ///
    /// Core services are reported by C022. Local addresses and standalone servers are not reported.
    ///
    /// ## Why it matters
    /// Secondaries usually lag by 10 to 100 milliseconds. A program that reads what it has just written does not
    /// find it.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// service {"name": "stock", "class": "general"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_stock?appName=stock&readPreference=secondaryPreferred
    /// ```
    /// ```jsonl,clean
    /// service {"name": "stock", "class": "general", "stale-reads-ms": 2000}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_stock?appName=stock&readPreference=secondaryPreferred
    /// ```
    ///
    /// ## How to fix
    /// Read from the primary. Or declare `stale-reads-ms` for the service when stale reads are known to be
    /// harmless.
    ///
    /// ## When to ignore it
    /// The client uses sessions with causal consistency, which read their own writes.
    C023, "undeclared-stale-reads",
    level: Mandatory,
    area: Correctness,
    severities: [Error, Warn, Info],
    clauses: ["RP-7", "RP-4", "CP-3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["lagSeconds", "mode"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let is_core = client.class() == Some(ServiceClass::Core);
        if !client.reads_secondaries() || is_core || client.is_local() {
            continue;
        }
        // A standalone server has no replication lag.
        if client.shape == Shape::Standalone {
            continue;
        }
        if let Some(draft) = judge(&client, evidence) {
            let mode = client.read_preference().unwrap_or_default();
            cx.report(draft.data("mode", mode));
        }
    }
}

fn judge(client: &Client<'_>, evidence: &Evidence) -> Option<docward_model::Draft> {
    let owner = client.uri.owner();
    let mode = client.read_preference()?;
    let place = client.place("readPreference");
    let Some(service) = client.service else {
        return Some(
            client
                .draft(
                    place,
                    format!("{owner} uses read preference {mode}, but no declared service allows stale reads"),
                    "recent writes can be missing from these reads, which is acceptable for reports but not for balances or order states",
                    "declare the service with class and stale-reads-ms in docward.toml, or read from the primary",
                )
                .level(Level::Information),
        );
    };
    let by_class = matches!(
        service.class,
        Some(ServiceClass::ReadHeavy | ServiceClass::Report | ServiceClass::Regional)
    );
    match service.stale_reads_ms {
        Some(0) => Some(must_be_current(
            client,
            &format!(
                "{owner} uses read preference {mode}, but stale-reads-ms of `{}` is 0",
                service.name
            ),
        )),
        None if !by_class => Some(must_be_current(
            client,
            &format!(
                "{owner} uses read preference {mode}, but `{}` does not declare stale-reads-ms",
                service.name
            ),
        )),
        None => None,
        Some(most) => {
            let lags = evidence.server.iter().flat_map(|server| server.members.iter().flatten());
            // A member that is delayed on purpose is hidden from clients.
            let behind = lags
                .filter(|member| member.is_visible())
                .filter_map(|member| Some((member.lag_seconds?, member.host.as_str())))
                .max()
                .filter(|(seconds, _)| seconds * 1000 > most)?;
            let (seconds, host) = behind;
            Some(
                client
                    .draft(
                        place,
                        format!("{owner} accepts stale reads up to {} ms, but {host} is {} behind", text::count(most), text::plural(seconds, "second")),
                        "the service reads older values than it accepts",
                        "find out why the member is behind, or set maxStalenessSeconds (90 or more)",
                    )
                    .severity(Severity::Warn)
                    .clauses(&["RP-7"])
                    .data("lagSeconds", seconds),
            )
        }
    }
}

fn must_be_current(client: &Client<'_>, what: &str) -> docward_model::Draft {
    client
        .draft(
            client.place("readPreference"),
            what,
            "secondaries lag behind: the service may not see its own recent writes",
            "read from the primary, or declare stale-reads-ms for the service",
        )
        .uri([UriChange::set("readPreference", "primary")])
}

#[cfg(test)]
mod tests {
    use docward_model::Severity::{self, Error, Info, Warn};

    use crate::testing::{of_service, severities};

    fn found(service: &str, more: &str) -> Vec<Severity> {
        let client = of_service(service, "readPreference=secondaryPreferred");
        severities("C023", "", &format!("{more}\n{client}"))
    }

    #[test]
    fn rp_7_rp_4_old_values_have_to_be_harmless() {
        assert_eq!(found(r#", "class": "general""#, ""), [Error]);
        assert_eq!(found("", ""), [Error]);
        assert_eq!(found(r#", "class": "report", "stale-reads-ms": 0"#, ""), [Error]);
        assert!(found(r#", "class": "general", "stale-reads-ms": 500"#, "").is_empty());
        for class in ["read-heavy", "report", "regional"] {
            assert!(found(&format!(r#", "class": "{class}""#), "").is_empty(), "{class}");
        }
        assert!(found(r#", "class": "core""#, "").is_empty(), "C022 tells it");
    }

    #[test]
    fn rp_7_members_that_are_too_far_behind_are_named() {
        let set = |lag: u32| {
            format!(
                r#"server {{"authorization": true, "set": "rs0", "members": [{{"host": "a:27017"}}, {{"host": "b:27017", "lag": {lag}}}]}}"#
            )
        };
        let service = r#", "class": "report", "stale-reads-ms": 5000"#;
        assert_eq!(found(service, &set(6)), [Warn]);
        assert!(found(service, &set(5)).is_empty());
    }

    #[test]
    fn gc_10_cp_3_an_unknown_service_is_a_question() {
        let with = |uri: &str| -> Vec<Severity> { severities("C023", "", &format!("uri {uri}")) };
        assert_eq!(with("mongodb://a,b/?readPreference=secondary"), [Info]);
        assert!(with("mongodb://a,b/?readPreference=primaryPreferred").is_empty());
        assert!(with("mongodb://a,b/").is_empty());
        assert!(with("mongodb://localhost/?readPreference=secondary").is_empty());
    }
}
