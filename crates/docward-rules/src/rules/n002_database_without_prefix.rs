//! DM-02.1 and DM-02.5: business databases have a common prefix.

use docward_model::{Collection, CollectionKind, Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{deployment::server, names, text},
    threshold,
};

use super::n004_long_database_name::LONGEST;

declare_rule! {
    /// # Database without prefix
    ///
    /// ## What it checks
    /// Reports business databases whose name does not begin with the house prefix (`db_`). The server's own
    /// databases and those listed in `exempt` are not reported. The finding says that a database is probably a
    /// leftover if it holds no documents or its name suggests temporary data.
    ///
    /// ## Why it matters
    /// A common prefix shows which databases belong to the business. Without it, an administrator who removes old
    /// databases has to guess.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=UserCenter.t_user
    /// {"_id": 1, "userName": "zhang"}
    /// ```
    /// ```jsonl,clean,ns=db_user_center.t_user
    /// {"_id": 1, "userName": "zhang"}
    /// ```
    ///
    /// ## How to fix
    /// MongoDB cannot rename a database. Copy the collections to the new name, compare the counts and change the
    /// connection strings. Only then drop the old database.
    ///
    /// ## When to ignore it
    /// A third-party product sets the name; list it in `exempt`. The `neutral` profile switches all house naming
    /// off.
    N002, "database-without-prefix",
    level: Recommended,
    area: Hygiene,
    clauses: ["DM-02.1", "DM-02.5"],
    maturity: Stable,
    scope: HouseNaming,
    needs: [Names],
    thresholds: [PREFIX, EXEMPT],
    data: ["collections", "leftoverCandidate", "proposal"],
    check: Deployment(check),
}

threshold!(
    PREFIX,
    "prefix",
    Text("db_"),
    "text",
    "DM-02.1",
    "prefix of the names of business databases"
);
threshold!(
    EXEMPT,
    "exempt",
    Words(&[]),
    "database names",
    "DM-02.5",
    "databases whose names need no prefix"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let prefix = cx.text(&PREFIX);
    let exempt = cx.words(&EXEMPT);
    for database in &evidence.databases {
        if database.starts_with(&prefix)
            || database.is_empty()
            || server::is_system_database(database)
            || exempt.contains(database)
        {
            continue;
        }
        // Collections are sorted by namespace, so the collections of a database are adjacent.
        let start = evidence.collections.partition_point(|c| &c.namespace.database < database);
        let all: Vec<_> = evidence.collections[start..]
            .iter()
            .take_while(|c| &c.namespace.database == database)
            .collect();
        let inside: Vec<_> = all.iter().filter(|c| c.kind.is_business()).collect();
        // The number of documents is known only if every collection was read.
        let documents: Option<u64> =
            inside.iter().map(|c| c.profile.as_ref().map(|p| p.total.max(p.documents))).sum();
        // Views store nothing. Everything else counts: buckets of a time series are measurements.
        let is_empty = |c: &&Collection| {
            let is_read = c.kind != CollectionKind::TimeSeries;
            c.kind == CollectionKind::View
                || c.stats.is_some_and(|stats| stats.documents == 0)
                || c.profile.as_ref().is_some_and(|p| is_read && p.total.max(p.documents) == 0)
        };
        let empty = !all.is_empty() && all.iter().all(is_empty);
        let temporary = names::words(database).iter().any(|w| {
            let stem = w.trim_end_matches(|c: char| c.is_ascii_digit());
            matches!(stem, "tmp" | "temp" | "test" | "bak" | "backup" | "old" | "copy" | "demo")
        });
        // `OrderDB` already contains the word database.
        let bare = ["_db", "-db", "DB", "Db", "_database", "Database"]
            .iter()
            .find_map(|tail| database.strip_suffix(tail))
            .filter(|rest| rest.len() > 1)
            .unwrap_or(database);
        // A name that servers refuse is not proposed.
        let proposal = Some(names::prefixed(bare, &prefix)).filter(|p| p.len() <= LONGEST);
        let name = proposal.as_ref().map_or_else(
            || {
                format!(
                    "with `{prefix}` and at most {} more bytes",
                    LONGEST.saturating_sub(prefix.len())
                )
            },
            |p| format!("`{p}`"),
        );
        let holds = match documents {
            Some(n) => format!(
                "{}, {}",
                text::plural(inside.len() as u64, "collection"),
                text::plural(n, "document")
            ),
            None => text::plural(inside.len() as u64, "collection"),
        };
        let why = if database == "test" {
            "clients write to `test` if their connection string has no database"
        } else if empty || temporary {
            "without the prefix, administrators cannot distinguish leftovers from business databases"
        } else {
            "without a common prefix, administrators cannot distinguish business databases from leftovers"
        };
        let todo = if database == "test" {
            format!(
                "set the database in the connection string and move the data to a business database such as `{prefix}<module>`"
            )
        } else if empty {
            format!("drop it if it is unused (it holds no documents); otherwise name it {name}")
        } else if temporary {
            format!("archive it if it is unused; otherwise name it {name}")
        } else {
            format!(
                "name it {name}: copy the collections, change the connection strings, then drop the old database"
            )
        };
        cx.report(
            Draft::new(
                Subject::Database(database.clone()),
                format!("database `{database}` ({holds}) does not begin with `{prefix}`"),
                why,
                todo,
                Seen::all(evidence.databases.len() as u64, Unit::Databases),
            )
            .data("proposal", proposal.unwrap_or_default())
            .data("collections", inside.len())
            .data("leftoverCandidate", empty || temporary),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::{DataValue, Severity};

    #[test]
    fn dm_02_1_order_gets_a_proposal() {
        let found =
            check("N002", "@ Order.t_order\n{\"_id\": 1}\n@ db_order.t_order\n{\"_id\": 1}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("`db_order`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_02_1_user_center_is_split_into_words() {
        let found = check("N002", "@ UserCenter.t_user\n{\"_id\": 1}");
        assert!(found[0].todo.contains("`db_user_center`"), "{}", found[0].todo);
        let found = check("N002", "@ OrderDB.t_user\n{\"_id\": 1}");
        assert!(found[0].todo.contains("`db_order`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_02_5_leftovers_are_pointed_out() {
        let found = check("N002", "@ tmp_test1.t_a\n{\"_id\": 1}");
        assert_eq!(found[0].data.get("leftoverCandidate"), Some(&DataValue::Bool(true)));
        let found = check("N002", "@ orders.t_a\n{\"_id\": 1}");
        assert_eq!(found[0].data.get("leftoverCandidate"), Some(&DataValue::Bool(false)));
    }

    /// Measurements are in buckets, which are not a separate collection: they count anyway.
    #[test]
    fn dm_02_5_what_was_not_counted_is_not_to_be_dropped() {
        let buckets = "@ iot.system.buckets.t_reading\n{\"_id\": 1, \"control\": {}, \"data\": {}}";
        let found = check("N002", buckets);
        assert!(!found[0].todo.starts_with("drop"), "{}", found[0].todo);
        let unread = "@ iot.t_reading\noptions {\"timeseries\": {\"timeField\": \"ts\"}}";
        assert!(!check("N002", unread)[0].todo.starts_with("drop"));
    }

    #[test]
    fn dm_02_1_test_is_the_default_database() {
        let found = check("N002", "@ test.t_a\n{\"_id\": 1}");
        assert!(found[0].why.contains("connection string has no database"), "{}", found[0].why);
    }

    #[test]
    fn dm_02_5_system_and_exempt_databases_pass() {
        assert!(check("N002", "@ admin.system.users\n{\"_id\": 1}").is_empty());
        assert!(check_with("N002", "exempt=grafana", "@ grafana.t_a\n{\"_id\": 1}").is_empty());
        assert!(check_with("N002", "prefix=app_", "@ app_shop.t_a\n{\"_id\": 1}").is_empty());
    }

    #[test]
    fn dm_02_3_a_proposal_is_no_longer_than_servers_take() {
        let found = check("N002", &format!("@ {}.t_a\n{{\"_id\": 1}}", "a".repeat(62)));
        assert!(found[0].todo.contains("at most 60 more bytes"), "{}", found[0].todo);
        let found = check("N002", &format!("@ {}.t_a\n{{\"_id\": 1}}", "a".repeat(60)));
        assert!(found[0].todo.contains(&format!("`db_{}`", "a".repeat(60))), "{}", found[0].todo);
    }
}
