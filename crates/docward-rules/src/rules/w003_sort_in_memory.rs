//! CK-12: sorts without an index.

use docward_model::{Evidence, Operation};

use crate::facts::thresholds::w003::{MIN_COUNT, MIN_SORTED};
use crate::{
    Cx, declare_rule,
    facts::{text, workload},
};

declare_rule! {
    /// # Sort in memory
    ///
    /// ## What it checks
    /// Reports operations that used an index for their filter but sorted at least 1000 documents in memory on
    /// average. Docward counts the documents returned; if these are only the first of the matches, it counts the
    /// documents examined.
    ///
    /// W001 reports collection scans. Sorts by a score, and sorts after a `$limit`, are not reported, because no
    /// index can support them.
    ///
    /// ## Why it matters
    /// All matching documents are read and sorted before the first one is returned, even for a page of ten. Above
    /// 100 MB the sort fails or uses the disk.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"userId": 7}, "sort": {"createTime": -1}, "limit": 10}, "planSummary": "IXSCAN { userId: 1 }", "hasSortStage": true, "docsExamined": 8000, "nreturned": 10}
    /// ```
    /// ```jsonl,clean
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"userId": 7}, "sort": {"createTime": -1}, "limit": 10}, "planSummary": "IXSCAN { userId: 1, createTime: -1 }", "docsExamined": 10, "nreturned": 10}
    /// ```
    ///
    /// ## How to fix
    /// Create one compound index with the fields compared for equality, followed by the sort field.
    ///
    /// ## When to ignore it
    /// The result is small and will stay small.
    W003, "sort-in-memory",
    level: Recommended,
    area: Speed,
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_SORTED, MIN_COUNT],
    data: ["documentsExamined", "maxMillis", "operations", "returned", "sorts"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        let average = stats.sorted / stats.sorts.max(1);
        if !workload::is_told_as_sort(cx.settings(), stats)
            || workload::is_told_as_scan(cx.settings(), stats)
        {
            continue;
        }
        let is_all = shape.operation == Operation::Find && !shape.limited;
        let draft = workload::lacking_index(
            evidence,
            stats,
            format!(
                "{} sorted in memory in {}, {} {} documents each time",
                workload::words(shape),
                text::plural(stats.sorts, "operation"),
                if is_all { "about" } else { "up to" },
                text::count(average),
            ),
            "the server reads and sorts all matching documents before it returns the first; above 100 MB the sort fails or uses the disk",
        )
        .data("sorts", stats.sorts);
        cx.report(draft);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_at};
    use docward_model::ThresholdSetting;

    #[test]
    fn ck_12_the_sort_field_follows_the_equality() {
        let body = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"userId": 7, "n": {"$gt": 3}}, "sort": {"t": -1}, "limit": 10}, "planSummary": "IXSCAN { userId: 1 }", "hasSortStage": true, "docsExamined": 8000, "nreturned": 10}"#;
        let found = check("W003", body);
        assert!(
            found[0].fix.as_ref().is_some_and(|f| f.command().contains("{userId: 1, t: -1, n: 1}"))
        );
        assert!(found[0].todo.contains("before the sort"), "{}", found[0].todo);
    }

    #[test]
    fn ck_12_an_index_is_read_forwards_or_backwards_as_a_whole() {
        let fix = |index: &str| {
            let body = format!(
                r#"index {{"key": {index}, "name": "i"}}
                ran x20 {{"command": {{"find": "t_order_item", "filter": {{"u": 1}}, "sort": {{"x": 1, "y": -1}}}}, "planSummary": "IXSCAN {{ u: 1 }}", "hasSortStage": true, "docsExamined": 1000, "nreturned": 1000}}"#
            );
            check("W003", &body)[0].fix.as_ref().map(|fix| fix.command())
        };
        let proposed = fix(r#"{"u": 1, "x": 1, "y": 1}"#).expect("an index");
        assert!(proposed.ends_with("createIndex({u: 1, x: 1, y: -1})"), "{proposed}");
        assert!(fix(r#"{"u": 1, "x": 1, "y": -1}"#).is_none());
        assert!(fix(r#"{"u": 1, "x": -1, "y": 1}"#).is_none());
    }

    #[test]
    fn ck_12_what_is_examined_is_not_all_sorted() {
        let body = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"u": 1, "n": 3}, "sort": {"t": 1}}, "planSummary": "IXSCAN { u: 1 }", "hasSortStage": true, "docsExamined": 90000, "nreturned": 1500}"#;
        let found = check("W003", body);
        assert!(found[0].what.contains("about 1,500 documents"), "{}", found[0].what);
        assert!(check("W003", &body.replace("1500", "15")).is_empty());
        let page = body.replace(r#""t": 1}}"#, r#""t": 1}, "limit": 15}"#).replace("1500", "15");
        assert!(check("W003", &page)[0].what.contains("up to 90,000 documents"));
    }

    #[test]
    fn ck_12_one_scan_does_not_hide_the_sorts() {
        let body = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"u": 1}, "sort": {"t": 1}}, "planSummary": "IXSCAN { u: 1 }", "hasSortStage": true, "docsExamined": 2000, "nreturned": 2000}
            ran {"command": {"find": "t_order_item", "filter": {"u": 1}, "sort": {"t": 1}}, "planSummary": "COLLSCAN", "hasSortStage": true, "docsExamined": 9000, "nreturned": 2000}"#;
        assert_eq!(check("W003", body).len(), 1);
    }

    #[test]
    fn ck_12_thresholds_of_a_namespace_are_heard() {
        let body = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"u": 1}, "sort": {"t": 1}}, "planSummary": "IXSCAN { u: 1 }", "hasSortStage": true, "docsExamined": 2000, "nreturned": 2000}"#;
        let at =
            |n: i64| check_at("W003", body, ("W003", "min-sorted", ThresholdSetting::Int(n))).len();
        assert_eq!((at(2000), at(2001)), (1, 0));
    }

    #[test]
    fn ck_12_what_a_limit_let_through_is_sorted_without_an_index() {
        let body = r#"ran x20 {"command": {"aggregate": "t_order_item", "pipeline": [{"$match": {"a": 1}}, {"$limit": 2000}, {"$sort": {"x": 1}}]}, "planSummary": "IXSCAN { a: 1 }", "hasSortStage": true, "docsExamined": 2000, "nreturned": 2000}"#;
        assert!(check("W003", body).is_empty());
    }
}
