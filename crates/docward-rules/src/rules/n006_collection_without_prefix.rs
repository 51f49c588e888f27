//! DM-03.1: collections have the house prefix.

use docward_model::{Collection, CollectionKind, Draft, Safety, Seen, Step, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{
        deployment::server,
        names::renames::{self, Candidates},
    },
    threshold,
};

declare_rule! {
    /// # Collection without prefix
    ///
    /// ## What it checks
    /// Reports collections whose name does not begin with the house prefix (`t_`). Views, GridFS collections,
    /// time series buckets, the server's collections and those of well-known migration tools are not reported.
    ///
    /// ## Why it matters
    /// With one naming pattern, people and scripts recognise business collections, and each name has only one
    /// spelling.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.OrderDetail
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_order_detail
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Rename the collection: `renameCollection` is quick inside one database. Keep a view under the old name
    /// until every client has switched.
    ///
    /// ## When to ignore it
    /// The collection belongs to a third-party product; list it in `exempt`. The `neutral` profile switches all
    /// house naming off.
    N006, "collection-without-prefix",
    level: Recommended,
    area: Hygiene,
    clauses: ["DM-03.1"],
    maturity: Stable,
    scope: HouseNaming,
    needs: [Names],
    thresholds: [PREFIX, EXEMPT],
    data: ["proposal"],
    check: Collection(check),
}

threshold!(PREFIX, "prefix", Text("t_"), "text", "DM-03.1", "prefix of the names of collections");
threshold!(
    EXEMPT,
    "exempt",
    Words(&[]),
    "collection names",
    "our default",
    "collections whose names need no prefix"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let ns = &collection.namespace;
    let name = &ns.collection;
    let prefix = cx.text(&PREFIX);
    if name.starts_with(&prefix)
        || name.starts_with("system.")
        || server::is_system_database(&ns.database)
        || server::is_tool_collection(name)
        || server::is_gridfs(cx.evidence(), ns)
        || cx.words(&EXEMPT).contains(name)
    {
        return;
    }
    let proposal = renames::house_name(name, &prefix);
    let candidates = cx.shared(&prefix, |evidence| Candidates::of(evidence, &prefix));
    let obstacle = candidates.obstacle(cx.evidence(), ns, &proposal);
    let renamable = obstacle.is_none() && collection.kind != CollectionKind::TimeSeries;
    let todo = if let Some(obstacle) = obstacle {
        obstacle
    } else if collection.kind == CollectionKind::TimeSeries {
        format!(
            "create `{proposal}` and copy the data, because a time series collection cannot be renamed"
        )
    } else {
        format!(
            "rename it to `{proposal}`, and keep a view with the old name until all clients use the new one"
        )
    };
    let mut draft = Draft::new(
        Subject::Collection(ns.clone()),
        format!("collection `{name}` does not begin with `{prefix}`"),
        "with a common prefix, people and scripts recognise business collections, and each name has only one spelling",
        todo,
        Seen::all(cx.evidence().collections.len() as u64, Unit::Collections),
    )
    .data("proposal", proposal.as_str());
    if renamable {
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
    use crate::testing::{check, check_with};

    #[test]
    fn dm_03_1_order_detail_gets_a_proposal() {
        let found = check("N006", "@ db_shop.OrderDetail\n{\"_id\": 1}");
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("`t_order_detail`"), "{}", found[0].todo);
        let found = check("N006", "@ db_shop.tbl_user\n{\"_id\": 1}");
        assert!(found[0].todo.contains("`t_user`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_03_1_gridfs_views_and_server_collections_are_exempt() {
        let body = "@ db_shop.fs.chunks\n{\"_id\": 1, \"files_id\": 1, \"n\": 0, \"data\": BinData(0, \"AAAA\")}\n\
                    @ db_shop.fs.files\n{\"_id\": 1, \"length\": NumberLong(3), \"chunkSize\": 261120}\n\
                    @ db_shop.open_orders\noptions {\"viewOn\": \"t_order\", \"pipeline\": []}\n\
                    @ db_shop.system.profile\n{\"_id\": 1}\n@ db_shop.system.buckets.t_metric\n{\"_id\": 1}\n\
                    @ db_shop.DATABASECHANGELOG\n{\"_id\": 1}\n@ db_shop.t_order\n{\"_id\": 1}";
        assert!(check("N006", body).is_empty());
    }

    #[test]
    fn dm_03_1_a_taken_name_is_not_proposed_blindly() {
        let found =
            check("N006", "@ db_shop.orders\n{\"_id\": 1}\n@ db_shop.t_orders\n{\"_id\": 1}");
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("exists already"), "{}", found[0].todo);
        assert!(found[0].fix.is_none());
    }

    #[test]
    fn dm_03_1_two_proposals_never_collide() {
        let found = check(
            "N006",
            "@ db_shop.OrderDetail\n{\"_id\": 1}\n@ db_shop.order_detail\n{\"_id\": 1}\n@ db_other.OrderDetail\n{\"_id\": 1}",
        );
        assert_eq!(found.len(), 3);
        for finding in &found {
            let alone = finding.at.namespace().is_some_and(|ns| ns.starts_with("db_other"));
            assert_eq!(finding.fix.is_some(), alone, "{}", finding.what);
            assert_eq!(finding.todo.contains("would also become"), !alone, "{}", finding.todo);
        }
    }

    #[test]
    fn dm_03_1_two_spellings_of_one_name_are_not_proposed() {
        let found =
            check("N006", "@ db_a.orderdetail\n{\"_id\": 1}\n@ db_a.order_detail\n{\"_id\": 1}");
        assert_eq!(found.len(), 2);
        for finding in &found {
            assert!(finding.fix.is_none() && finding.todo.contains("would also become"));
        }
    }

    #[test]
    fn dm_03_1_exempt_names_pass() {
        assert!(check_with("N006", "exempt=legacy", "@ db_shop.legacy\n{\"_id\": 1}").is_empty());
    }
}
