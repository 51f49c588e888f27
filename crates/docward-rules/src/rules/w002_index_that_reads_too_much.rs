//! CK-12: queries whose index leaves most of the work to reading documents.

use docward_model::{Evidence, Operation};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Index that reads too much
    ///
    /// ## What it checks
    /// Reports operations that used an index and still examined at least 100 documents for each one
    /// returned, and at least 1000 on average. Counts, sums and other aggregations need what they examine
    /// and are not meant.
    ///
    /// ## Why it matters
    /// The index narrows the search too little: most documents are read to be thrown away, and that part
    /// grows with the data.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"status": "new", "userId": $i}}, "planSummary": "IXSCAN { status: 1 }", "docsExamined": 40000, "nreturned": 2}
    /// ```
    /// ```jsonl,clean
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"status": "new", "userId": $i}}, "planSummary": "IXSCAN { userId: 1, status: 1 }", "docsExamined": 2, "nreturned": 2}
    /// ```
    ///
    /// ## How to fix
    /// Create the compound index proposed and drop the narrow one if nothing else needs it.
    ///
    /// ## When to ignore it
    /// The query is rare, or its filter cannot be indexed (a pattern in the middle of a text).
    W002, "index-that-reads-too-much",
    level: Recommended,
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_RATIO, MIN_EXAMINED, MIN_COUNT],
    check: Deployment(check),
}

threshold!(
    MIN_RATIO,
    "min-ratio",
    Int(100),
    "documents examined per document returned",
    "no figure in source",
    "a lower ratio is not reported"
);
threshold!(
    MIN_EXAMINED,
    "min-examined",
    Int(1000),
    "documents per operation",
    "no figure in source",
    "operations that examine fewer on average are not reported"
);
threshold!(
    MIN_COUNT,
    "min-count",
    Int(3),
    "operations",
    "no figure in source",
    "shapes seen less often are not reported"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (ratio, least, often) =
        (cx.limit(&MIN_RATIO), cx.count(&MIN_EXAMINED), cx.count(&MIN_COUNT));
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        let fetches = matches!(
            shape.operation,
            Operation::Find | Operation::Update | Operation::Delete | Operation::FindAndModify
        );
        let average = stats.documents_examined / stats.count.max(1);
        if !fetches
            || stats.collection_scans > 0
            || stats.count < often
            || average < least
            || stats.examined_per_returned() < ratio
        {
            continue;
        }
        let draft = workload::lacking_index(
            evidence,
            stats,
            format!(
                "{} examined {} documents on average to return {}, through an index",
                workload::words(shape),
                text::count(average),
                text::count(stats.returned / stats.count),
            ),
            "most documents are read to be thrown away, and that part grows with the data",
        );
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn ck_12_aggregations_need_what_they_examine() {
        let body = r#"ran x9 {"command": {"aggregate": "t_order_item", "pipeline": [{"$match": {"a": 1}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]}, "planSummary": "IXSCAN { a: 1 }", "docsExamined": 90000, "nreturned": 1}"#;
        assert!(check("W002", body).is_empty());
    }

    #[test]
    fn ck_12_few_operations_are_no_pattern() {
        let body = r#"ran x2 {"command": {"find": "t_order_item", "filter": {"a": 1, "b": 2}}, "planSummary": "IXSCAN { a: 1 }", "docsExamined": 90000, "nreturned": 1}"#;
        assert!(check("W002", body).is_empty());
    }
}
