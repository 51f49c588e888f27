//! SK-4: queries without the shard key.

use docward_model::{Draft, Evidence, QueryStats, Seen, Subject, Unit};

use crate::facts::thresholds::w011::{MIN_COUNT, MIN_TARGETED};
use crate::{
    Cx, declare_rule,
    facts::{
        indexes::sharding::{self, Standing},
        text, workload,
    },
};

declare_rule! {
    /// # Scattered queries
    ///
    /// ## What it checks
    /// Reports a sharded collection if less than 80 % of its reads go to only a few shards. A read does if one of
    /// these holds:
    /// - Its filter sets the first field of the shard key to a value, also next to an `$or`.
    /// - Its filter has a range with two ends on this field, and the key is not hashed.
    /// - A router's log shows that it asked one or two shards. This is used instead of the filter, unless there
    ///   are only two shards.
    ///
    /// A `$lookup` from another collection counts as a read by the field that it compares. The key is that of the
    /// running cluster, or else the one in `docward.toml`.
    ///
    /// ## Why it matters
    /// A query without the key goes to all shards and waits for the slowest one. Adding shards then adds load
    /// instead of distributing it.
    ///
    /// ## Example
    /// ```jsonl,fires,shard-key=db_shop.t_order_item:{"userId":1}
    /// {"_id": 1, "userId": 7}
    /// ran x90 {"command": {"find": "t_order_item", "filter": {"sku": 3}}}
    /// ran x10 {"command": {"find": "t_order_item", "filter": {"userId": 7}}}
    /// ```
    /// ```jsonl,clean,shard-key=db_shop.t_order_item:{"userId":1}
    /// {"_id": 1, "userId": 7}
    /// ran x10 {"command": {"find": "t_order_item", "filter": {"sku": 3}}}
    /// ran x90 {"command": {"find": "t_order_item", "filter": {"userId": 7}}}
    /// ```
    ///
    /// Conditions next to an `$or` must match as well:
    /// ```jsonl,clean,shard-key=db_shop.t_order_item:{"userId":1}
    /// {"_id": 1, "userId": 7}
    /// ran x90 {"command": {"find": "t_order_item", "filter": {"userId": 7, "$or": [{"a": 1}, {"b": 2}]}}}
    /// ```
    ///
    /// ## How to fix
    /// Add the shard key to the filters where the application knows it. Otherwise choose a key that most reads
    /// filter by (`docward shardkey` ranks candidates), with `reshardCollection` from 5.0 on.
    ///
    /// ## When to ignore it
    /// The reads that go to all shards are few reports, which may be slow.
    W011, "scattered-queries",
    level: Mandatory,
    area: Speed,
    clauses: ["SK-4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_TARGETED, MIN_COUNT],
    data: ["reads", "share", "targeted"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for (namespace, shapes) in &sharding::reads(evidence) {
        let (least, often) =
            (cx.limit_at(&MIN_TARGETED, namespace), cx.count_at(&MIN_COUNT, namespace));
        let key = sharding::key_of(evidence, cx.settings(), namespace);
        let standing = sharding::standing(evidence, namespace);
        let told: u64 = shapes.iter().map(|s| s.scattered.1).sum();
        // With two shards, 'two shards' and 'all shards' cannot be distinguished.
        let is_told = told >= often && sharding::shards(evidence, cx.settings()) != Some(2);
        let (all, targeted, how) = if is_told {
            let scattered: u64 = shapes.iter().map(|s| s.scattered.0).sum();
            (told, told - scattered, "used one or two shards".to_owned())
        } else if let Some(key) = key {
            let all: u64 = shapes.iter().map(|s| s.count).sum();
            let with_key = shapes.iter().filter(|s| sharding::is_targeted(&key.fields, &s.shape));
            let fields: Vec<&str> = key.fields.iter().map(|(path, _)| path.as_str()).collect();
            (
                all,
                with_key.map(|s| s.count).sum(),
                format!("name the {} {}", standing.key_name(), text::list(&fields, 3)),
            )
        } else {
            continue;
        };
        let share = targeted as f64 / all.max(1) as f64;
        if all < often || share >= least {
            continue;
        }
        let scattered = |s: &QueryStats| match key {
            _ if is_told => s.scattered.0,
            Some(key) if sharding::is_targeted(&key.fields, &s.shape) => 0,
            _ => s.count,
        };
        // If several shapes have the same count, the first one is shown.
        let worst = shapes.iter().rev().max_by_key(|s| scattered(s)).filter(|s| scattered(s) > 0);
        let example = worst
            .map(|s| format!(", first to `{}`", workload::words(&s.shape)))
            .unwrap_or_default();
        cx.report(
            Draft::new(
                Subject::Collection(namespace.clone()),
                format!("only {} of {} {how}", text::percent(share), text::plural(all, "read")),
                if !is_told && standing == Standing::Planned {
                    "with this key the other reads go to all shards and wait for the slowest, so more shards add load"
                } else {
                    "the other reads go to all shards and wait for the slowest, so more shards add load"
                },
                format!(
                    "add the key to the filter where the application knows it{example}, or choose a key that most reads use (`docward shardkey`)"
                ),
                Seen::all(all, Unit::Operations),
            )
            .data("reads", all)
            .data("targeted", targeted)
            .data("share", share)
            .command(Some("RF-17"), docward_model::Safety::Manual, "docward shardkey SOURCE --workload FILE"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    #[test]
    fn sk_4_a_workload_by_customer_is_targeted_by_a_customer_key() {
        let body = r#"{"_id": 1, "customerId": 7}
            ran x90 {"command": {"find": "t_order_item", "filter": {"customerId": 7}}}
            ran x10 {"command": {"find": "t_order_item", "filter": {"status": 1}}}"#;
        let with =
            |key: &str| check_with("W011", &format!("shard-key=db_shop.t_order_item:{key}"), body);
        assert!(with(r#"{"customerId":1,"createdAt":1}"#).is_empty());
        let found = with(r#"{"region":1,"customerId":1}"#);
        assert!(found[0].what.starts_with("only 0 % of 100 reads"), "{}", found[0].what);
    }

    #[test]
    fn sk_4_ranges_do_not_target_a_hashed_key() {
        let body = r#"{"_id": 1, "userId": 7}
            ran x90 {"command": {"find": "t_order_item", "filter": {"userId": {"$gt": 7}}}}"#;
        assert_eq!(
            check_with("W011", r#"shard-key=db_shop.t_order_item:{"userId":"hashed"}"#, body).len(),
            1
        );
    }

    #[test]
    fn sk_4_ranges_with_one_end_are_scattered() {
        let found = |condition: &str| {
            let body = format!(
                r#"ran x90 {{"command": {{"find": "t_order_item", "filter": {condition}}}}}"#
            );
            check_with("W011", r#"shard-key=db_shop.t_order_item:{"userId":1}"#, &body).len()
        };
        assert_eq!(found(r#"{"userId": {"$gt": 7}}"#), 1);
        assert_eq!(found(r#"{"userId": {"$gt": 7, "$lt": 9}}"#), 0);
        assert_eq!(found(r#"{"$and": [{"userId": {"$gt": 7}}, {"userId": {"$lt": 9}}]}"#), 0);
    }

    #[test]
    fn sk_4_the_query_that_is_scattered_most_is_named() {
        let body = r#"{"_id": 1, "userId": 7}
            ran x90 {"command": {"find": "t_order_item", "filter": {"a": 7}}, "nShards": 1}
            ran x50 {"command": {"find": "t_order_item", "filter": {"userId": 7}}, "nShards": 3}"#;
        for key in ["", r#"shard-key=db_shop.t_order_item:{"userId":1}"#] {
            let found = check_with("W011", key, body);
            assert!(found[0].todo.contains("first to `find by {userId}`"), "{}", found[0].todo);
        }
    }

    #[test]
    fn sk_4_a_planned_key_is_called_so() {
        let body = r#"server {"set": "rs0"}
            ran x90 {"command": {"find": "t_order_item", "filter": {"a": 7}}}"#;
        let found = check_with("W011", r#"shard-key=db_shop.t_order_item:{"userId":1}"#, body);
        assert!(found[0].what.ends_with("name the planned key `userId`"), "{}", found[0].what);
        assert!(
            found[0].why.contains("with this key the other reads go to all shards"),
            "{}",
            found[0].why
        );
    }

    #[test]
    fn sk_4_thresholds_of_a_namespace_are_heard() {
        let body =
            r#"ran x90 {"command": {"find": "t_order_item", "filter": {"a": 7}}, "nShards": 3}"#;
        let at = ("W011", "min-count", docward_model::ThresholdSetting::Int(91));
        assert!(crate::testing::check_at("W011", body, at).is_empty());
    }

    #[test]
    fn sk_4_a_router_tells_itself() {
        let body =
            r#"ran x90 {"command": {"find": "t_order_item", "filter": {"a": 7}}, "nShards": 3}"#;
        assert_eq!(check("W011", body).len(), 1);
        assert!(check("W011", &body.replace("\"nShards\": 3", "\"nShards\": 2")).is_empty());
    }
}
