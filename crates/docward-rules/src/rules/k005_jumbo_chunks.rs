//! SK-1 and SK-2 in a running cluster: chunks that can no longer be split or moved.

use docward_model::{Collection, Draft, Evidence, Seen, Severity, ShardKey, Subject, Unit};

use crate::facts::thresholds::{k001, k002};
use crate::facts::{
    indexes::{key_change, sharding},
    text,
};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Jumbo chunks
    ///
    /// ## What it checks
    /// Reports sharded collections of a running cluster with chunks marked as `jumbo`. These chunks have exceeded
    /// the maximum chunk size and could not be split. If the documents show the cause, K001 or K002 reports it
    /// together with the number of such chunks, and this rule does not.
    ///
    /// ## Why it matters
    /// A chunk that cannot be split holds few values of the key, often only one. The balancer cannot move it, and
    /// it fills up its shard.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order
    /// server {"authorization": true, "shards": ["s0", "s1"], "sharded": [{"ns": "db_shop.t_order", "key": {"country": 1}, "chunks": {"s0": 9, "s1": 3}, "jumbo": {"s0": 4}}]}
    /// x50 {"country": "country $i"}
    /// ```
    /// ```jsonl,clean,ns=db_shop.t_order
    /// server {"authorization": true, "shards": ["s0", "s1"], "sharded": [{"ns": "db_shop.t_order", "key": {"customerId": 1}, "chunks": {"s0": 6, "s1": 6}}]}
    /// x50 {"customerId": $i}
    /// ```
    ///
    /// ## How to fix
    /// Find the frequent values. Then do one of these:
    /// - Append a field with more values to the key (`refineCollectionShardKey`, 4.4 and later).
    /// - Choose another key (`reshardCollection`, 5.0 and later).
    /// - If documents were deleted since, run `clearJumboFlag` so that the balancer tries again.
    ///
    /// ## When to ignore it
    /// The chunk belongs to a zone with only one shard, where it stays whatever its size.
    K005, "jumbo-chunks",
    level: Mandatory,
    area: Growth,
    severities: [Warn],
    clauses: ["SK-1", "SK-2", "SK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Server],
    thresholds: [],
    data: ["chunks", "jumbo", "key"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (evidence, ns) = (cx.evidence(), &collection.namespace);
    let Some((chunks, jumbo)) = sharding::jumbo(evidence, ns) else { return };
    let Some(key) = sharding::key_of(evidence, cx.settings(), ns) else { return };
    if is_said_by_others(collection, evidence, key, cx) {
        return;
    }
    let version = cx.settings().server_version.or(evidence.deployment.server_version);
    let key_text = sharding::key_text(&key.fields);
    cx.report(
        Draft::new(
            Subject::Collection(ns.clone()),
            format!(
                "{} of {} of shard key {key_text} {} too large to move",
                text::count(jumbo),
                text::plural(chunks, "chunk"),
                if jumbo == 1 { "is marked as" } else { "are marked as" }
            ),
            "MongoDB cannot split a chunk with too few key values: it stays on its shard and grows there",
            format!(
                "find the frequent values with `docward shardkey` and append a field with more values to the key; {}",
                key_change::how_to_change(version, true)
            ),
            Seen::all(chunks, Unit::Chunks),
        )
        .data("key", key_text)
        .data("chunks", chunks)
        .data("jumbo", jumbo)
        // The mark may be older than the documents.
        .severity(Severity::Warn),
    );
}

/// Whether the documents show what K001 (too few values) or K002 (a dominating value) reports.
fn is_said_by_others(
    collection: &Collection,
    evidence: &Evidence,
    key: &ShardKey,
    cx: &Cx<'_>,
) -> bool {
    let (settings, ns) = (cx.settings(), &collection.namespace);
    let Some(profile) = &collection.profile else { return false };
    let k001 = |threshold| k001::limit(settings, ns, threshold);
    let needed = sharding::needed_values(
        k001(&k001::MIN_VALUES) as u64,
        k001(&k001::PER_SHARD) as u64,
        sharding::shards(evidence, settings),
    );
    let few = sharding::values(profile, key).is_some_and(|values| {
        values.most < needed as f64
            && profile.documents as f64 / values.most.max(1.0) >= k001(&k001::MIN_REPEATS)
    });
    let least = k002::limit(settings, ns, &k002::MIN_DOCUMENTS);
    let dominated = profile.documents as f64 >= least
        && sharding::least_top_share(profile, key)
            .is_some_and(|(share, _)| share > sharding::max_share(settings, ns));
    few || dominated
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};

    const CLUSTER: &str = r#"server {"authorization": true, "shards": ["s0", "s1"], "sharded": [{"ns": "db_shop.t_order_item", "key": {"status": 1}, "chunks": {"s0": 3, "s1": 1}, "jumbo": {"s0": 1}}]}"#;

    #[test]
    fn sk_1_the_key_of_the_cluster_is_judged_and_its_chunks_are_counted_once() {
        let body = format!("{CLUSTER}\nx60 {{\"status\": \"a\"}}\nx60 {{\"status\": \"b\"}}");
        let found = check("K001", &body);
        assert!(
            found[0].what.ends_with("1 of its 4 chunks is marked as too large to move"),
            "{}",
            found[0].what
        );
        assert!(check("K005", &body).is_empty(), "said by K001");
        // The declaration is the plan; the cluster shows the current state.
        let declared = "shard-key=db_shop.t_order_item:{\"_id\":\"hashed\"}";
        assert_eq!(check_with("K001", declared, &body).len(), 1);
    }

    #[test]
    fn sk_1_without_documents_the_chunks_speak_for_themselves() {
        let found = check("K005", &format!("{CLUSTER}\n@ db_shop.t_order_item"));
        assert!(
            found[0].what.starts_with("1 of 4 chunks of shard key { status: 1 }"),
            "{}",
            found[0].what
        );
    }
}
