//! DM-12.2: the number of collections of a database (GC-05).

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, Seen, Severity, Subject, TailForm, Unit};

use crate::{
    Cx, declare_rule,
    facts::{deployment::server, text},
    threshold,
};

declare_rule! {
    /// # Crowded database
    ///
    /// ## What it checks
    /// Reports databases with more than 100 business collections, as an error above 5000. Views, GridFS
    /// collections and the server's own collections do not count. L001 checks the limit of the whole instance.
    ///
    /// ## Why it matters
    /// A database with more than 100 collections is hard to manage. The number usually comes from splitting one
    /// collection by device, day or tenant.
    ///
    /// ## Example
    /// ```jsonl,fires,max-collections=1
    /// @ db_iot.t_device_a
    /// {"_id": 1}
    /// @ db_iot.t_device_b
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean
    /// @ db_iot.t_device
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Merge collections with similar documents, or divide the database by module.
    ///
    /// ## When to ignore it
    /// A third-party product created the database.
    L002, "crowded-database",
    level: Recommended,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["DM-12.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [MAX_COLLECTIONS, FAIL],
    data: ["collections", "limit"],
    check: Deployment(check),
}

threshold!(
    MAX_COLLECTIONS,
    "max-collections",
    Int(100),
    "collections",
    "DM-12.2, GC-05",
    "maximum number of business collections in a database"
);

threshold!(
    FAIL,
    "fail-collections",
    Int(5000),
    "collections",
    "DM-12.1: the limit of a whole instance",
    "number of business collections in a database above which the finding is an error"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (max, fail) = (cx.count(&MAX_COLLECTIONS), cx.count(&FAIL));
    let mut counts: BTreeMap<&String, u64> = BTreeMap::new();
    for collection in evidence.collections.iter().filter(|c| c.kind.is_business()) {
        let ns = &collection.namespace;
        if !server::is_system_database(&ns.database)
            && !ns.collection.starts_with("system.")
            && !server::is_gridfs(evidence, ns)
        {
            *counts.entry(&ns.database).or_default() += 1;
        }
    }
    for (database, n) in counts.into_iter().filter(|(_, n)| *n > max) {
        let mut families: Vec<_> = evidence
            .families
            .iter()
            .filter(|f| {
                &f.database == database && (f.form == TailForm::Number || f.members.len() >= 24)
            })
            .collect();
        families.sort_by_key(|f| (std::cmp::Reverse(f.members.len()), &f.stem));
        let saved: u64 = families.iter().map(|f| f.members.len() as u64 - 1).sum();
        let todo = match families.first() {
            Some(family) => format!(
                "merge the {} collections `{}…` into one (see R012); {} would remain after merging all such families",
                text::count(family.members.len() as u64),
                family.stem,
                text::plural(n.saturating_sub(saved), "collection")
            ),
            None => {
                "split the database by module, or merge collections of similar documents".to_owned()
            }
        };
        cx.report(
            Draft::new(
                Subject::Database(database.clone()),
                format!(
                    "{} in database `{database}` (limit {max})",
                    text::plural(n, "business collection")
                ),
                "a database with this many collections is hard to manage; usually one collection \
                 was split by name",
                todo,
                Seen::all(n, Unit::Collections),
            )
            .data("collections", n)
            .data("limit", max)
            .severity(if n > fail { Severity::Error } else { Severity::Warn }),
        );
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{check, check_with};

    fn with(n: usize) -> Vec<docward_model::Finding> {
        let word = |n: usize| {
            format!("{}{}", char::from(b'a' + (n / 26) as u8), char::from(b'a' + (n % 26) as u8))
        };
        let body: String =
            (0..n).map(|n| format!("@ db_a.t_{}\n{{\"_id\": 1}}\n", word(n))).collect();
        check("L002", &body)
    }

    #[test]
    fn dm_12_2_100_pass_101_warn() {
        assert!(with(100).is_empty());
        assert_eq!(with(101).len(), 1);
        assert_eq!(with(101)[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_12_2_more_than_an_instance_should_have_is_an_error() {
        let body = "@ db_a.t_a\n{\"_id\": 1}\n@ db_a.t_b\n{\"_id\": 1}";
        let severity = |fail: &str| check_with("L002", fail, body)[0].severity;
        assert_eq!(severity("max-collections=1,fail-collections=2"), Severity::Warn);
        assert_eq!(severity("max-collections=1,fail-collections=1"), Severity::Error);
    }

    #[test]
    fn ck_7_120_in_one_database_warns_on_that_database_only() {
        assert_eq!(with(120).len(), 1);
        assert!(check("L001", "").is_empty());
    }

    #[test]
    fn dm_12_2_gridfs_does_not_count() {
        let body = "@ db_a.t_a\n{\"_id\": 1}\n@ db_a.fs.files\n{\"_id\": 1}\n@ db_a.fs.chunks\n{\"_id\": 1}";
        assert!(check_with("L002", "max-collections=1", body).is_empty());
        let found = check_with("L002", "max-collections=0", body);
        assert!(found[0].what.starts_with("1 business collection in"), "{}", found[0].what);
    }
}
