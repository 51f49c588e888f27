//! AP-S2.3, AP-S4.3, CK-9: reads that always join.

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, Lookup, Namespace, QueryShape, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Join on every read
    ///
    /// ## What it checks
    /// Reports a collection of whose reads at least half join another collection with `$lookup`, when at
    /// least 20 of them did. The two have to be related: one of the fields compared is an id, or the
    /// documents show the reference. Joins of a collection with itself are not meant.
    ///
    /// ## Why it matters
    /// What is read together and stored apart costs a second search for every document, every time; a
    /// `$lookup` runs one query per document, and across shards it costs more.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x30 {"command": {"aggregate": "t_order_item", "pipeline": [{"$match": {"orderId": 7}}, {"$lookup": {"from": "t_product", "localField": "productId", "foreignField": "_id", "as": "product"}}]}, "nreturned": 5}
    /// ```
    /// ```jsonl,clean
    /// ran x90 {"command": {"find": "t_order_item", "filter": {"orderId": 7}}, "nreturned": 5}
    /// ran x5 {"command": {"aggregate": "t_order_item", "pipeline": [{"$lookup": {"from": "t_product", "localField": "productId", "foreignField": "_id", "as": "product"}}]}, "nreturned": 5}
    /// ```
    ///
    /// ## How to fix
    /// Copy the two or three fields that are shown beside the reference (extended reference), or embed the
    /// small side when it belongs to its parent and is read with it.
    ///
    /// ## When to ignore it
    /// The joins are reports that may take their time.
    W004, "join-on-every-read",
    level: Recommended,
    clauses: ["AP-S2.3", "AP-S4.3", "CK-9"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_SHARE, MIN_COUNT],
    check: Deployment(check),
}

threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.5),
    "share of reads",
    "no figure in source",
    "collections of whose reads fewer join are not reported"
);
threshold!(
    MIN_COUNT,
    "min-count",
    Int(workload::ENOUGH),
    "operations",
    "no figure in source",
    "fewer joins are no pattern"
);

#[derive(Default)]
struct Reads<'a> {
    all: u64,
    joined: u64,
    millis: u64,
    from: BTreeMap<&'a str, u64>,
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut by_collection = BTreeMap::new();
    for stats in workload::business_shapes(evidence).filter(|s| s.shape.operation.is_read()) {
        let reads: &mut Reads<'_> = by_collection.entry(&stats.shape.namespace).or_default();
        reads.all += stats.count;
        let lookups = stats.shape.lookups.iter();
        let related: Vec<_> = lookups.filter(|l| is_related(evidence, &stats.shape, l)).collect();
        if !related.is_empty() {
            reads.joined += stats.count;
            reads.millis = reads.millis.max(stats.millis.1);
            for lookup in related {
                *reads.from.entry(lookup.from.as_str()).or_default() += stats.count;
            }
        }
    }
    for (namespace, reads) in by_collection {
        let joined = reads.joined as f64 / reads.all.max(1) as f64;
        let (share, often) =
            (cx.limit_at(&MIN_SHARE, namespace), cx.count_at(&MIN_COUNT, namespace));
        if reads.joined < often || joined < share {
            continue;
        }
        let mut from: Vec<_> = reads.from.into_iter().collect();
        from.sort_by_key(|&(name, n)| (std::cmp::Reverse(n), name));
        let names: Vec<&str> = from.iter().map(|(name, _)| *name).collect();
        cx.report(
            Draft::new(
                Subject::Collection(namespace.clone()),
                format!(
                    "{} of {} join {} with $lookup",
                    text::percent(joined),
                    text::plural(reads.all, "read"),
                    text::list(&names, 3)
                ),
                "what is read together and stored apart costs a second search for every document, every time",
                format!(
                    "copy the two or three fields that are shown from {} beside the reference, or embed it if it is small and belongs to its parent",
                    text::list(&names, 1)
                ),
                Seen::all(reads.all, Unit::Operations),
            )
            .data("reads", reads.all)
            .data("joined", reads.joined)
            .data("from", names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
            .data("max_millis", reads.millis),
        );
    }
}

/// Whether a join follows a reference, so that what it fetches could be stored with it.
fn is_related(evidence: &Evidence, shape: &QueryShape, lookup: &Lookup) -> bool {
    let from = Namespace::new(&*shape.namespace.database, &*lookup.from);
    let fields = lookup.fields.iter().flat_map(|(local, foreign)| [&**local, &**foreign]);
    workload::are_related(evidence, (&shape.namespace, &from), fields)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn ap_s2_3_ap_s4_3_ck_9_nearly_all_reads_join() {
        let body = r#"ran x95 {"command": {"aggregate": "t_order_item", "pipeline": [{"$lookup": {"from": "t_product", "localField": "p", "foreignField": "_id", "as": "x"}}]}}
            ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}}"#;
        let found = check("W004", body);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.starts_with("95 % of 100 reads join `t_product`"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn ap_s2_3_collections_without_a_reference_are_not_embedded() {
        let joined = |lookup: &str| {
            let body = format!(
                r#"ran x30 {{"command": {{"aggregate": "t_order_item", "pipeline": [{lookup}]}}}}"#
            );
            check("W004", &body).len()
        };
        assert_eq!(
            joined(
                r#"{"$lookup": {"from": "t_rate", "localField": "day", "foreignField": "day", "as": "x"}}"#
            ),
            0
        );
        assert_eq!(
            joined(
                r#"{"$graphLookup": {"from": "t_order_item", "startWith": "$p", "connectFromField": "parentId", "connectToField": "_id", "as": "x"}}"#
            ),
            0
        );
    }

    #[test]
    fn ap_s2_3_thresholds_of_a_namespace_are_heard() {
        let body = r#"ran x19 {"command": {"aggregate": "t_order_item", "pipeline": [{"$lookup": {"from": "t_product", "localField": "p", "foreignField": "_id", "as": "x"}}]}}"#;
        let at = ("W004", "min-count", docward_model::ThresholdSetting::Int(19));
        assert_eq!(crate::testing::check_at("W004", body, at).len(), 1);
    }

    #[test]
    fn ap_s2_3_few_joins_are_no_pattern() {
        let body = r#"ran x19 {"command": {"aggregate": "t_order_item", "pipeline": [{"$lookup": {"from": "t_product", "localField": "p", "foreignField": "_id", "as": "x"}}]}}"#;
        assert!(check("W004", body).is_empty());
    }
}
