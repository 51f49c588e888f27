//! CK-12: queries that read the whole collection.

use docward_model::{Evidence, Severity};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Collection scan
    ///
    /// ## What it checks
    /// Reports operations that filter or sort and were answered by reading the whole collection
    /// (`COLLSCAN`), when one of them examined at least 1000 documents. Operations without a filter, which
    /// want everything, are not meant. The index proposed puts exact values before the sort and the sort
    /// before ranges.
    ///
    /// ## Why it matters
    /// The time grows with the collection, every scan pushes other data out of memory, and an update
    /// without an index locks and examines documents it does not change.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x5 {"command": {"find": "t_order_item", "filter": {"orderNo": "A$i"}}, "planSummary": "COLLSCAN", "docsExamined": 50000, "nreturned": 1}
    /// ```
    /// ```jsonl,clean
    /// ran x5 {"command": {"find": "t_order_item", "filter": {"orderNo": "A$i"}}, "planSummary": "IXSCAN { orderNo: 1 }", "docsExamined": 1, "nreturned": 1}
    /// ```
    ///
    /// ## How to fix
    /// Create the index proposed, and check with `explain()` that the query uses it.
    ///
    /// ## When to ignore it
    /// A report that runs once a night on a secondary, or an operation of an administrator.
    W001, "collection-scan",
    level: Mandatory,
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_EXAMINED, MIN_COUNT],
    check: Deployment(check),
}

threshold!(
    MIN_EXAMINED,
    "min-examined",
    Int(1000),
    "documents",
    "no figure in source",
    "scans of smaller collections are not reported"
);
threshold!(
    MIN_COUNT,
    "min-count",
    Int(3),
    "operations",
    "no figure in source",
    "fewer operations of a shape are told as information"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (least, often) = (cx.count(&MIN_EXAMINED), cx.count(&MIN_COUNT));
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        let asks = !shape.filter.is_empty() || shape.branches || !shape.sort.is_empty();
        if stats.collection_scans == 0 || stats.most_examined < least || !asks {
            continue;
        }
        let mut draft = workload::lacking_index(
            evidence,
            stats,
            format!(
                "{} scanned the collection in {}, examining up to {} documents to return {} in all",
                workload::words(shape),
                text::plural(stats.collection_scans, "operation"),
                text::count(stats.most_examined),
                text::count(stats.returned),
            ),
            format!(
                "the time grows with the collection ({} ms at most so far), and each scan pushes other data out of memory",
                text::count(stats.millis.1)
            ),
        )
        .data("collection_scans", stats.collection_scans);
        if stats.collection_scans < often {
            draft = draft.severity(Severity::Info);
        }
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn scan(command: &str) -> Vec<docward_model::Finding> {
        check(
            "W001",
            &format!(
                r#"ran x5 {{"command": {command}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
            ),
        )
    }

    #[test]
    fn ck_12_the_index_puts_equality_before_sort_before_range() {
        let found = scan(
            r#"{"find": "t_order_item", "filter": {"t": {"$gt": 1}, "status": "new", "kind": {"$in": [1, 2]}}, "sort": {"n": -1}}"#,
        );
        let fix = found[0].fix.as_ref().expect("an index");
        assert!(
            fix.command.contains("createIndex({kind: 1, status: 1, n: -1, t: 1})"),
            "{}",
            fix.command
        );
    }

    #[test]
    fn ck_12_an_index_that_is_there_is_not_proposed() {
        let body = r#"index {"key": {"a": 1, "b": 1}, "name": "a_1_b_1"}
            {"_id": 1, "a": 1}
            ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}"#;
        let found = check("W001", body);
        assert!(found[0].fix.is_none() && found[0].todo.contains("a_1_b_1"), "{}", found[0].todo);
    }

    #[test]
    fn ck_12_reading_everything_or_little_is_no_fault() {
        assert!(scan(r#"{"find": "t_order_item", "filter": {}}"#).is_empty());
        let small = r#"ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 99, "nreturned": 1}"#;
        assert!(check("W001", small).is_empty());
    }

    #[test]
    fn ck_12_branches_need_indexes_of_their_own() {
        let found = scan(r#"{"find": "t_order_item", "filter": {"$or": [{"a": 1}, {"b": 1}]}}"#);
        assert!(found[0].todo.contains("each branch"), "{}", found[0].todo);
    }
}
