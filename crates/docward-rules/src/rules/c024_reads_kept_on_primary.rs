//! RP-3, RP-4, RP-5, AP-S1.2: services that could read from secondaries but use the primary.

use docward_model::{Evidence, Level, ServiceClass, UriChange};

use crate::{
    Cx, declare_rule,
    facts::deployment::clients::{Shape, clients},
};

declare_rule! {
    /// # Reads from the primary only
    ///
    /// ## What it checks
    /// Reports, as a note, services that read from the primary although their class suggests otherwise:
    /// - `report`: read from secondaries (`secondary`)
    /// - `read-heavy`: read from secondaries when there are any (`secondaryPreferred`)
    /// - `regional`: read from the nearest member (`nearest`)
    ///
    /// Strings of which source code computes a part are not checked, nor are services with `stale-reads-ms = 0`,
    /// local addresses and standalone servers.
    ///
    /// ## Why it matters
    /// Reports on the primary compete with all writes, while the secondaries are idle.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// service {"name": "monthly", "class": "report"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=monthly
    /// ```
    /// ```jsonl,clean
    /// service {"name": "monthly", "class": "report"}
    /// uri mongodb://10.0.0.1,10.0.0.2/db_order?appName=monthly&readPreference=secondary
    /// ```
    ///
    /// ## How to fix
    /// Set the `readPreference` that fits the class.
    ///
    /// ## When to ignore it
    /// The secondaries are small, or exist only for failover.
    C024, "reads-kept-on-primary",
    level: Information,
    area: Speed,
    clauses: ["RP-3", "RP-4", "RP-5", "AP-S1.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let Some(service) = client.service.filter(|service| service.stale_reads_ms != Some(0))
        else {
            continue;
        };
        let (better, clauses): (_, &[&str]) = match service.class {
            Some(ServiceClass::Report) => ("secondary", &["RP-3", "AP-S1.2"]),
            Some(ServiceClass::ReadHeavy) => ("secondaryPreferred", &["RP-4", "AP-S1.2"]),
            Some(ServiceClass::Regional) => ("nearest", &["RP-5"]),
            _ => continue,
        };
        let is_given = client.uri.option("readPreference").is_some();
        if client.reads_secondaries()
            || client.read_preference().is_none()
            || client.shape == Shape::Standalone
            || client.is_local()
            || !(is_given || client.uri.shows_all_options())
        {
            continue;
        }
        let class = service.class.map_or("", ServiceClass::name);
        let draft = client.draft(
            client.place("readPreference"),
            format!(
                "{} belongs to a {class} service and reads from the primary",
                client.uri.owner()
            ),
            "its reads compete with all writes on the primary, while secondaries are idle",
            format!("set readPreference={better}"),
        );
        cx.report(
            draft
                .level(Level::Information)
                .clauses(clauses)
                .uri([UriChange::set("readPreference", better)]),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, of_service};

    #[test]
    fn rp_3_rp_4_rp_5_ap_s1_2_each_class_has_its_place_to_read() {
        let todo = |class: &str, mode: &str| {
            let body = of_service(&format!(", \"class\": \"{class}\""), mode);
            check("C024", &body).first().map(|finding| finding.todo.clone())
        };
        let write = |mode: &str| Some(format!("set readPreference={mode}"));
        assert_eq!(todo("report", ""), write("secondary"));
        assert_eq!(todo("read-heavy", "readPreference=primary"), write("secondaryPreferred"));
        assert_eq!(todo("regional", ""), write("nearest"));
        assert_eq!(todo("report", "readPreference=secondaryPreferred"), None);
        assert_eq!(todo("general", ""), None);
        assert_eq!(todo("core", ""), None);
        assert!(check("C024", "uri mongodb://a,b/").is_empty());
    }
}
