//! DM-03.4: `system.` belongs to the server.

use docward_model::{Collection, Draft, Safety, Seen, Step, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        names::renames::{self, Candidates},
    },
};

declare_rule! {
    /// # System-prefixed collection
    ///
    /// ## What it checks
    /// Reports collections whose name begins with `system.` and that the server does not create itself. Docward
    /// knows the server's own collections (such as `system.views`, `system.profile` and `system.buckets.…`).
    ///
    /// ## Why it matters
    /// The prefix is reserved. Backup and copy tools skip such collections, so a restore does not contain them.
    /// Current servers refuse to create them.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.system.orders
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_system_config
    /// {"_id": 1}
    /// @ db_shop.system.buckets.t_metric
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Rename the collection. If the server refuses, restore it under the new name from a dump
    /// (`mongorestore --nsFrom … --nsTo …`).
    ///
    /// ## When to ignore it
    /// Never for business data. If it is a new collection of the server, report it to this project.
    N009, "system-prefixed-collection",
    level: Prohibited,
    area: Hygiene,
    clauses: ["DM-03.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [],
    data: ["critical", "proposal"],
    check: AnyCollection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let ns = &collection.namespace;
    let Some(rest) = renames::without_system(&ns.collection) else { return };
    // In the server's databases, N001 reports collections that are not the server's own.
    if server::is_system_database(&ns.database) {
        return;
    }
    let prefix = renames::house_prefix(cx.settings(), ns);
    let proposal = renames::house_name(rest, &prefix);
    let candidates = cx.shared(&prefix, |evidence| Candidates::of(evidence, &prefix));
    let obstacle = candidates.obstacle(cx.evidence(), ns, &proposal);
    let is_free = obstacle.is_none();
    let todo = obstacle.unwrap_or_else(|| {
        format!(
            "rename it to `{proposal}`; if the server refuses, restore it from a dump with `mongorestore --nsFrom '{ns}' --nsTo '{}.{proposal}'`",
            ns.database
        )
    });
    let mut draft = Draft::new(
        Subject::Collection(ns.clone()),
        format!("collection `{}` uses the reserved prefix `system.`", ns.collection),
        "backup and copy tools skip `system.` collections, so a restored backup lacks this data",
        todo,
        Seen::all(cx.evidence().collections.len() as u64, Unit::Collections),
    )
    .data("proposal", proposal.as_str())
    .data("critical", true);
    if is_free {
        draft = draft.plan(
            Some("RF-11"),
            Safety::Manual,
            [Step::RenameCollection { namespace: ns.clone(), to: proposal }],
        );
    }
    cx.report(draft);
}

#[cfg(test)]
mod tests {
    use crate::testing::{Example, check, override_at};
    use docward_model::{Severity, ThresholdSetting};

    #[test]
    fn dm_03_4_system_orders_is_found() {
        let found = check("N009", "@ db_shop.system.orders\n{\"_id\": 1}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].todo.contains("`t_orders`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_03_4_server_collections_pass() {
        let body = "@ db_shop.t_system_config\n{\"_id\": 1}\n@ db_shop.system.buckets.t_metric\n{\"_id\": 1}\n\
                    @ db_shop.system.views\n{\"_id\": 1}\n@ db_shop.system.indexes\n{\"_id\": 1}\n\
                    @ admin.system.users\n{\"_id\": 1}\n@ config.system.sessions\n{\"_id\": 1}";
        assert!(check("N009", body).is_empty());
    }

    #[test]
    fn a_taken_name_is_not_proposed_blindly() {
        let alone = check("N009", "@ db_shop.system.orders\n{\"_id\": 1}");
        assert!(alone[0].fix.is_some());
        let taken = check(
            "N009",
            "@ db_shop.system.orders\n{\"_id\": 1}\n@ db_shop.t_orders\n{\"_id\": 1}",
        );
        assert!(taken[0].fix.is_none() && taken[0].todo.contains("exists already"), "{taken:?}");
    }

    #[test]
    fn dm_03_4_dm_03_1_two_collections_do_not_get_one_name() {
        let both = "@ db_shop.system.orders\n{\"_id\": 1}\n@ db_shop.Orders\n{\"_id\": 1}";
        for code in ["N009", "N006"] {
            let found = check(code, both);
            assert_eq!(found.len(), 1, "{code}: {found:?}");
            assert!(found[0].fix.is_none(), "{code}: {found:?}");
            assert!(found[0].todo.contains("would also become `t_orders`"), "{}", found[0].todo);
        }
    }

    #[test]
    fn dm_03_4_dm_03_1_the_prefix_is_the_configured_one() {
        let mut example = Example::new("N009", "", "@ db_shop.system.orders\n{\"_id\": 1}");
        let prefix = ThresholdSetting::Text("c_".to_owned());
        example.settings.overrides.push(override_at("db_shop.*", "N006", "prefix", prefix));
        let outcome = crate::judge(&example.evidence, &example.settings);
        let found: Vec<_> = outcome.findings.iter().filter(|f| f.rule == "N009").collect();
        assert_eq!(found.len(), 1);
        let fix = found[0].fix.as_ref().expect("a command");
        assert!(fix.command().ends_with(".renameCollection(\"c_orders\")"), "{}", fix.command());
    }
}
