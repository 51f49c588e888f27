//! SK-5 to SK-8: shard keys whose name shows that they are not suitable.

use docward_model::Evidence;

use crate::facts::names::{self, meaning};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Poor shard key in code
    ///
    /// ## What it checks
    /// Reports statements in source code that shard a collection by one unsuitable field, judged by its name:
    /// - `{_id: 1}` and creation times: every insert goes to the last chunk
    /// - a status, country, region or gender: few values, and some of them are very frequent
    ///
    /// Hashed and compound keys are not reported.
    ///
    /// ## Why it matters
    /// An increasing key sends all new documents to one shard. A key with few values makes chunks that cannot be
    /// split. Changing the key later moves all data.
    ///
    /// ## Example
    /// ```mongosh,fires
    /// sh.shardCollection("db_shop.t_order", {createdAt: 1})
    /// sh.shardCollection("db_shop.t_user", {country: 1})
    /// ```
    /// ```mongosh,clean
    /// sh.shardCollection("db_shop.t_user", {userId: "hashed"})
    /// sh.shardCollection("db_shop.t_order", {customerId: 1, createdAt: 1})
    /// sh.shardCollection("db_shop.t_session", {region: 1, userId: 1})
    /// ```
    ///
    /// ## How to fix
    /// Hash a field with many values. Or put a field first that has evenly distributed values and that queries
    /// filter by. `docward shardkey` checks keys against the data.
    ///
    /// ## When to ignore it
    /// The collection holds a fixed set of documents.
    K020, "poor-shard-key-in-code",
    level: Prohibited,
    area: Growth,
    clauses: ["SK-5", "SK-6", "SK-7", "SK-8"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for sharding in &found.shardings {
        let [(field, false)] = sharding.key.as_slice() else { continue };
        let (what, clauses): (_, &'static [&'static str]) = if field == "_id" {
            ("always increases: every insert goes to the last chunk", &["SK-5"])
        } else if meaning::is_creation_time(field) {
            ("always increases: every insert goes to the last chunk", &["SK-6"])
        } else if meaning::is_status(field) {
            ("has few values, some of them very frequent", &["SK-7"])
        } else if matches!(
            names::normalised(field).as_str(),
            "country" | "countrycode" | "region" | "continent" | "gender"
        ) {
            ("has few values, some of them very frequent", &["SK-8"])
        } else {
            continue;
        };
        cx.report(
            code::draft(
                evidence,
                &sharding.place,
                &sharding.namespace,
                format!("the code shards `{}` by `{field}`, which {what}", sharding.namespace),
                "one shard gets most of the load, or chunks cannot be split; changing the key later moves all data",
                "use a hashed field with many values, or begin with a field with many values that queries use; `docward shardkey` evaluates keys on your data",
            )
            .clauses(clauses),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn sk_5_sk_6_sk_7_sk_8_sn_17_bad_keys_fail() {
        for key in ["{_id: 1}", "{createdAt: 1}", "{status: 1}", "{country: 1}"] {
            let text = format!("source a.mongodb\nsh.shardCollection('mydb.users', {key})");
            assert_eq!(check("K020", &text).len(), 1, "{key}");
        }
    }

    #[test]
    fn sn_14_sn_15_sn_16_good_keys_pass() {
        for key in [
            "{userId: 'hashed'}",
            "{customerId: 1, createdAt: 1}",
            "{region: 1, userId: 1}",
            "{_id: 'hashed'}",
        ] {
            let text = format!("source a.mongodb\nsh.shardCollection('mydb.users', {key})");
            assert!(check("K020", &text).is_empty(), "{key}");
        }
    }
}
