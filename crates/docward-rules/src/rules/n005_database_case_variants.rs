//! DM-02.4: one spelling per database name, over the catalogue and connection strings (GC-22).

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, ProfileName, Seen, Severity, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{names, text},
};

declare_rule! {
    /// # Database case variants
    ///
    /// ## What it checks
    /// Compares the existing databases and those named in connection strings (`--client-uri`). Reports names that
    /// differ only in upper and lower case.
    ///
    /// ## Why it matters
    /// Database names are case-sensitive. A client that connects to `usercenter` while the data is in
    /// `UserCenter` reads nothing and gets no error. Its first write fails with code 13297 (DatabaseDifferCase),
    /// because servers refuse a second database that differs only in case.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=UserCenter.t_user
    /// {"_id": 1}
    /// @ usercenter.t_user
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_user_center.t_user
    /// {"_id": 1}
    /// @ db_order.t_user
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Use the name of the database that holds the data in every connection string. Choose lower-case names for
    /// new databases.
    ///
    /// ## When to ignore it
    /// The names come from two servers that never share a client.
    N005, "database-case-variants",
    level: Recommended,
    area: Hygiene,
    severities: [Error],
    clauses: ["DM-02.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [],
    data: ["critical", "spellings"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    // Groups by spelling: whether it is in the catalogue, and the number of its connection strings.
    let mut groups: BTreeMap<String, BTreeMap<&str, (bool, u64)>> = BTreeMap::new();
    for database in &evidence.databases {
        groups.entry(database.to_lowercase()).or_default().entry(database).or_default().0 = true;
    }
    for database in cx.settings().uri_databases.iter().filter(|d| !d.is_empty()) {
        groups.entry(database.to_lowercase()).or_default().entry(database).or_default().1 += 1;
    }
    for spellings in groups.values().filter(|s| s.len() > 1) {
        let documents = |name: &str| -> u64 {
            evidence
                .collections
                .iter()
                .filter(|c| c.namespace.database == name)
                .filter_map(|c| c.profile.as_ref())
                .map(|p| p.total.max(p.documents))
                .sum()
        };
        // The data is in the spelling with most documents; among equals, in that of the catalogue.
        let Some(home) = spellings
            .iter()
            .max_by_key(|(name, (stored, _))| (*stored, documents(name), std::cmp::Reverse(**name)))
            .map(|(name, _)| (*name).to_owned())
        else {
            continue;
        };
        let parts: Vec<_> = spellings
            .iter()
            .map(|(name, (stored, uris))| {
                let place = match (*stored, *uris) {
                    (true, 0) => "on the server".to_owned(),
                    (true, n) => {
                        format!("on the server and in {}", text::plural(n, "connection string"))
                    }
                    (false, n) => format!("in {}", text::plural(n, "connection string")),
                };
                format!("`{name}` {place}")
            })
            .collect();
        let others: Vec<_> = spellings.keys().filter(|n| **n != home).collect();
        let stored = spellings.values().filter(|(stored, _)| *stored).count();
        let todo = if stored > 1 {
            format!(
                "merge {} into `{home}`, which holds the most documents, and use `{home}` in every connection string",
                text::list(&others, 3)
            )
        } else {
            let house = cx.settings().profile == ProfileName::Vendor;
            let better = names::prefixed(&home, if house { "db_" } else { "" });
            let moved = format!("; when you next move it, name it `{better}`");
            let moved = if better == home { "" } else { &moved };
            format!("use `{home}` in every connection string{moved}")
        };
        let other = evidence.uris.iter().find(|uri| {
            uri.database.as_ref().is_some_and(|name| others.iter().any(|other| *other == name))
        });
        let draft =
            Draft::new(
                Subject::Database(home.clone()),
                format!("one database name has {} spellings: {}", spellings.len(), parts.join(", ")),
                "database names are case-sensitive: reads of the other spelling return nothing, and writes to it fail with error 13297",
                todo,
                Seen::all(spellings.len() as u64, Unit::Databases),
            )
            .data("spellings", spellings.keys().map(|n| (*n).to_owned()).collect::<Vec<_>>())
            .data("critical", true)
            .severity(Severity::Error);
        cx.report(match other.and_then(|uri| uri.places.database.clone()) {
            Some(place) => draft.location(place),
            None => draft,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    #[test]
    fn dm_02_4_a_name_that_is_right_is_not_proposed_again() {
        let todo = |home: &str, other: &str| {
            let body = format!("@ {home}.t_user\n{{\"_id\": 1}}");
            check_with("N005", &format!("uri-db={other}"), &body)[0].todo.clone()
        };
        assert_eq!(todo("db_ix", "db_IX"), "use `db_ix` in every connection string");
        assert!(todo("UserCenter", "usercenter").contains("name it `db_"));
    }

    #[test]
    fn dm_02_4_uri_differs_from_the_catalogue() {
        let body = "@ UserCenter.t_user\n{\"_id\": 1}";
        let found = check_with("N005", "uri-db=usercenter,uri-db=usercenter", body);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(
            found[0].what.contains("`usercenter` in 2 connection strings"),
            "{}",
            found[0].what
        );
        assert!(found[0].todo.contains("use `UserCenter`"), "{}", found[0].todo);
        assert!(found[0].todo.contains("`db_user_center`"), "{}", found[0].todo);
        assert!(check_with("N005", "uri-db=UserCenter,uri-db=db_order", body).is_empty());
    }

    #[test]
    fn dm_02_4_two_databases_in_the_catalogue() {
        let body = "@ db_a.t_user\n{\"_id\": 1}\n@ DB_A.t_user\n{\"_id\": 1}\n{\"_id\": 2}";
        let found = check("N005", body);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("into `DB_A`"), "{}", found[0].todo);
    }
}
