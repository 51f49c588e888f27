//! AP-S0.1: one spelling per collection name in a project.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Collection, Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{names, naming::concept, server, text},
    threshold,
};

declare_rule! {
    /// # Divergent collection names
    ///
    /// ## What it checks
    /// Reports collections in all databases whose names consist of the same words in different spellings:
    /// `OrderDetail`, `order_detail`, `orderdetail`. Between databases, a house prefix is not a difference.
    /// Within one database, `orders` and `t_orders` are two spellings.
    ///
    /// ## Why it matters
    /// Code that uses the other spelling reads an empty collection or creates a new one. It is then unclear which
    /// collection holds the real data.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.OrderDetail
    /// {"_id": 1}
    /// @ db_shop.order_detail
    /// {"_id": 1}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_order_detail
    /// {"_id": 1}
    /// @ db_archive.t_order_detail
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// Choose one spelling, merge the documents, and rename the collections.
    ///
    /// ## When to ignore it
    /// The databases belong to unrelated projects.
    N017, "divergent-collection-names",
    level: Recommended,
    area: Hygiene,
    clauses: ["AP-S0.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Names],
    thresholds: [PREFIX],
    data: ["collections", "spellings"],
    check: Deployment(check),
}

threshold!(
    PREFIX,
    "prefix",
    Text("t_"),
    "text",
    "DM-03.1",
    "the house prefix, which is not part of the concept"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let prefix = cx.text(&PREFIX);
    let bare = |c: &Collection| {
        let name = &c.namespace.collection;
        name.strip_prefix(&prefix).unwrap_or(name).to_owned()
    };
    let mut groups: BTreeMap<String, Vec<&Collection>> = BTreeMap::new();
    for collection in &evidence.collections {
        let ns = &collection.namespace;
        if collection.kind.is_business()
            && !server::is_system_database(&ns.database)
            && !ns.collection.starts_with("system.")
            && !server::is_tool_collection(&ns.collection)
        {
            groups.entry(concept(&bare(collection))).or_default().push(collection);
        }
    }
    for members in groups.values() {
        let spellings: BTreeSet<&str> =
            members.iter().map(|c| c.namespace.collection.as_str()).collect();
        let without_prefix: BTreeSet<String> = members.iter().map(|c| bare(c)).collect();
        let one_database = members
            .iter()
            .map(|c| &c.namespace.database)
            .any(|db| members.iter().filter(|c| &c.namespace.database == db).count() > 1);
        if spellings.len() < 2 || (without_prefix.len() < 2 && !one_database) {
            continue;
        }
        let documents = |c: &Collection| c.profile.as_ref().map_or(0, |p| p.total.max(p.documents));
        let Some(main) = members.iter().max_by_key(|c| {
            (
                documents(c),
                c.namespace.collection.starts_with(&prefix),
                std::cmp::Reverse(&c.namespace),
            )
        }) else {
            continue;
        };
        // The finding stands with a spelling that has to change, not with the one to keep.
        let astray = members
            .iter()
            .find(|c| c.namespace.collection != main.namespace.collection)
            .unwrap_or(main);
        let known = members.iter().any(|c| c.profile.is_some());
        let parts: Vec<_> = members
            .iter()
            .take(6)
            .map(|c| {
                if known {
                    format!("`{}` ({})", c.namespace, text::plural(documents(c), "document"))
                } else {
                    format!("`{}`", c.namespace)
                }
            })
            .collect();
        let rest = members.len() - parts.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let house = cx.settings().profile == docward_model::ProfileName::Vendor;
        let name = if house {
            names::prefixed(&main.namespace.collection, &prefix)
        } else {
            main.namespace.collection.clone()
        };
        cx.report(
            Draft::new(
                Subject::Collection(astray.namespace.clone()),
                format!(
                    "the same name has {} spellings: {}{more}",
                    spellings.len(),
                    parts.join(", ")
                ),
                "code with the wrong spelling reads an empty collection or creates a new one",
                format!("use `{name}` everywhere and merge the collections that belong together"),
                Seen::all(evidence.collections.len() as u64, Unit::Collections),
            )
            .data("spellings", spellings.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
            .data("collections", members.len())
            .key(concept(&bare(main))),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn named(names: &[&str]) -> Vec<docward_model::Finding> {
        let body: String = names.iter().map(|n| format!("@ {n}\n{{\"_id\": 1}}\n")).collect();
        check("N017", &body)
    }

    #[test]
    fn ap_s0_1_three_spellings_are_one_finding() {
        let found = named(&["db_a.OrderDetail", "db_a.order_detail", "db_b.orderdetail"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("3 spellings"), "{}", found[0].what);
        assert!(found[0].todo.contains("`t_order_detail`"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s0_1_equal_names_and_other_words_pass() {
        assert!(
            named(&[
                "db_a.t_order",
                "db_b.t_order",
                "db_a.t_orders",
                "db_a.t_log_1_12",
                "db_a.t_log_11_2"
            ])
            .is_empty()
        );
        assert!(named(&["db_a.t_order", "db_b.order"]).is_empty());
    }

    #[test]
    fn ap_s0_1_half_prefixed_in_one_database_is_found() {
        assert_eq!(named(&["db_a.t_order", "db_a.order"]).len(), 1);
    }
}
