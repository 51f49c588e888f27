//! AP-S2.3, AP-S4.3, CK-9: reads that always join.

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{relations::joins, text, workload},
    threshold,
};

declare_rule! {
    /// # Join on every read
    ///
    /// ## What it checks
    /// Reports a collection whose reads often join another collection with `$lookup`, at least 20 times:
    /// - at least half of its reads join, or
    /// - operations of one shape, which make up at least a fifth of the reads, all join
    ///
    /// The collections must be related: one of the compared fields is an id, or the documents show the reference.
    /// Joins of a collection with itself are not reported.
    ///
    /// ## Why it matters
    /// Data that is read together but stored separately costs a second search for every document and every read.
    /// `$lookup` runs one query per document, and costs more across shards.
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
    /// Keep the reference and copy the two or three fields that are shown (extended reference). Or embed the
    /// smaller collection if its documents belong to the parent and are read with it.
    ///
    /// ## When to ignore it
    /// The joins are reports without time constraints.
    W004, "join-on-every-read",
    level: Recommended,
    area: Speed,
    clauses: ["AP-S2.3", "AP-S4.3", "CK-9"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_SHARE, HOT_SHARE, MIN_COUNT],
    data: ["from", "joined", "maxMillis", "reads"],
    check: Deployment(check),
}

threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.5),
    "share of reads",
    "our default",
    "minimum share of the reads of a collection that join"
);
threshold!(
    HOT_SHARE,
    "hot-share",
    Float(joins::HOT_SHARE),
    "share of reads",
    "our default",
    "minimum share of its collection's reads for a separate finding about a read path"
);
threshold!(MIN_COUNT, "min-count", Int(20), "operations", "our default", "minimum number of joins");

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for (namespace, reads) in joins::reads(evidence) {
        let joined = reads.share(reads.joined);
        let often = cx.count_at(&MIN_COUNT, namespace);
        let hottest = reads.hottest().filter(|path| {
            path.count >= often && reads.share(path.count) >= cx.limit_at(&HOT_SHARE, namespace)
        });
        let counted = text::plural(reads.all, "read");
        let from = |counts: &BTreeMap<&str, u64>| {
            let mut from: Vec<_> = counts.iter().map(|(name, n)| (*name, *n)).collect();
            from.sort_by_key(|&(name, n)| (std::cmp::Reverse(n), name));
            from.into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        let names = from(&reads.from);
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        let what = if reads.joined >= often && joined >= cx.limit_at(&MIN_SHARE, namespace) {
            let listed = text::list(&listed, 3);
            format!("{} of {counted} join {listed} with $lookup", text::percent(joined))
        } else if let Some(path) = hottest {
            let mut from: Vec<&str> =
                path.shape.lookups.iter().map(|lookup| lookup.from.as_str()).collect();
            from.dedup();
            format!(
                "`{}` always joins {} with $lookup: {} of {counted}",
                workload::words(&path.shape),
                text::list(&from, 3),
                text::count(path.count)
            )
        } else {
            continue;
        };
        cx.report(
            Draft::new(
                Subject::Collection(namespace.clone()),
                what,
                "data that is read together but stored separately needs a second lookup for every document",
                format!(
                    "store the two or three displayed fields of {} next to the reference, or embed it if it is small and belongs to one parent",
                    text::list(&listed, 1)
                ),
                Seen::all(reads.all, Unit::Operations),
            )
            .data("reads", reads.all)
            .data("joined", reads.joined)
            .data("from", names)
            .data("maxMillis", reads.millis),
        );
    }
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
    fn ck_9_a_hot_path_that_joins_every_time_is_reported_among_others() {
        let workload = |joins: u32| {
            let finds = 750 - joins;
            format!(
                r#"ran x{joins} {{"command": {{"aggregate": "t_order_item", "pipeline": [{{"$match": {{"_id": 7}}}}, {{"$lookup": {{"from": "t_product", "localField": "p", "foreignField": "_id", "as": "x"}}}}]}}}}
                ran x{finds} {{"command": {{"find": "t_order_item", "filter": {{"a": 1}}}}}}"#
            )
        };
        let found = check("W004", &workload(250));
        assert_eq!(found.len(), 1);
        let said = "`aggregate by {_id}` always joins `t_product` with $lookup: 250 of 750 reads";
        assert_eq!(found[0].what, said);
        assert!(check("W004", &workload(149)).is_empty(), "less than a fifth");
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
