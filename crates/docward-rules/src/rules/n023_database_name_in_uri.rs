//! DM-02.1, DM-02.2, DM-02.3: names of databases in connection strings.

use docward_model::{Evidence, code::NameKind};

use crate::{Cx, declare_rule, facts::deployment::clients::clients};

use super::n021_name_in_code::{JUDGES, judged, spoken};

declare_rule! {
    /// # Database name in URI
    ///
    /// ## What it checks
    /// Checks the database in the path of connection strings. It applies the rules for stored names with their
    /// settings: N002 (prefix), N003 (characters) and N004 (length).
    ///
    /// Docward does not report names that the audited deployment contains, in any letter case (N005), and databases of the
    /// server (C027).
    ///
    /// ## Why it matters
    /// The first write through the string creates the database. Afterwards, another name needs a migration.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db-payment?authSource=admin
    /// ```
    /// ```jsonl,clean
    /// uri mongodb://order@10.0.0.1,10.0.0.2/db_payment?authSource=admin
    /// uri mongodb://order@10.0.0.1,10.0.0.2/?authSource=admin
    /// ```
    ///
    /// ## How to fix
    /// Change the name in all connection strings. If the database exists, copy its collections first.
    ///
    /// ## When to ignore it
    /// A third-party product sets the name. The `neutral` profile reports only names that servers refuse.
    N023, "database-name-in-uri",
    level: Recommended,
    area: Hygiene,
    severities: [Error, Warn, Info],
    clauses: ["DM-02.1", "DM-02.2", "DM-02.3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Uris],
    thresholds: [],
    data: ["rule"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for client in clients(evidence, cx.settings()) {
        let Some(name) = client.uri.database.as_deref() else { continue };
        // A name that differs only by case from a stored one is a finding of N005.
        let is_known = evidence.databases.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is_known || client.uri.is_partial || client.is_local() {
            continue;
        }
        let own = std::iter::once((NameKind::Database, name));
        for finding in judged(own, &JUDGES, cx.settings()).into_values() {
            let (what, todo) = spoken(name, &finding);
            cx.report(
                client
                    .draft(
                        client.uri.places.database.clone().or_else(|| client.start()),
                        what,
                        "the first write through the string creates the database; later its name needs a migration",
                        todo,
                    )
                    .data("rule", finding.rule.as_ref())
                    .severity(finding.severity)
                    .level(finding.level),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    #[test]
    fn dm_02_2_a_hyphen_in_a_connection_string_is_reported() {
        let found = check("N023", "uri mongodb://o@10.0.0.1,10.0.0.2/db-payment");
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("`db-payment`"), "{}", found[0].what);
        for clean in [
            "mongodb://o@10.0.0.1/db_payment",
            "mongodb://o@10.0.0.1/",
            "mongodb://o@10.0.0.1/admin",
        ] {
            assert!(check("N023", &format!("uri {clean}")).is_empty(), "{clean}");
        }
        let neutral = "uri mongodb://o@10.0.0.1/db-payment";
        assert!(check_with("N023", "profile=neutral", neutral).is_empty());
    }
}
