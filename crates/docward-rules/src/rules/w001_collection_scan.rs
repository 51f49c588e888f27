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
    /// (`COLLSCAN`), when one of them examined at least 1000 documents; further batches of a cursor count.
    /// Scans that are meant are not reported: without a filter, in the order of storage (`$natural`,
    /// tailable cursors), or returning at least 80 % of what they examined. The index proposed puts exact
    /// values before the sort and the sort before ranges, and has the collation of the query.
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
    /// Nearly everything is wanted:
    /// ```jsonl,clean
    /// ran x5 {"command": {"find": "t_order_item", "filter": {"deleted": {"$ne": true}}}, "planSummary": "COLLSCAN", "docsExamined": 50000, "nreturned": 49000}
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
    thresholds: [MIN_EXAMINED, MIN_COUNT, MEANT_SHARE],
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

threshold!(
    MEANT_SHARE,
    "meant-share",
    Float(0.8),
    "share of the documents examined",
    "no figure in source",
    "scans that return at least this share, unsorted, are meant"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (least, often) = (cx.count(&MIN_EXAMINED), cx.count(&MIN_COUNT));
    let meant = cx.limit(&MEANT_SHARE);
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        let filters = !shape.filter.is_empty() || shape.branches || shape.filters_late;
        let wants_all = shape.sort.is_empty()
            && (!filters || stats.returned as f64 >= meant * stats.documents_examined as f64);
        if stats.collection_scans == 0
            || stats.most_examined < least
            || wants_all
            || shape.in_stored_order
        {
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
    fn ck_12_scans_in_the_order_of_storage_are_meant() {
        assert!(
            scan(r#"{"find": "t_order_item", "filter": {}, "sort": {"$natural": -1}}"#).is_empty()
        );
        assert!(
            scan(r#"{"find": "t_order_item", "filter": {"ts": {"$gt": 5}}, "tailable": true}"#)
                .is_empty()
        );
    }

    #[test]
    fn ck_12_scans_that_run_on_are_found() {
        let body = r#"ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "cursorid": 7$i, "planSummary": "COLLSCAN", "docsExamined": 150, "nreturned": 101}
            ran x5 {"command": {"getMore": 99, "collection": "t_order_item"}, "originatingCommand": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 500000, "nreturned": 50000}"#;
        let found = check("W001", body);
        assert!(found[0].what.contains("up to 500,000 documents"), "{}", found[0].what);
    }

    fn proposed(command: &str) -> String {
        let found = scan(command);
        found[0].fix.as_ref().map(|fix| fix.command.clone()).unwrap_or_default()
    }

    #[test]
    fn ck_12_the_index_has_the_collation_of_the_query() {
        let query = r#"{"find": "t_order_item", "filter": {"name": "x"}, "collation": {"locale": "en", "strength": 2}}"#;
        let command = proposed(query);
        let options = r#"createIndex({name: 1}, {collation: {locale: "en", strength: 2}})"#;
        assert!(command.ends_with(options), "{command}");
        // One without the collation does not serve it.
        let ran = format!(
            r#"ran x5 {{"command": {query}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
        );
        let plain = format!("index {{\"key\": {{\"name\": 1}}, \"name\": \"n\"}}\n{ran}");
        assert!(check("W001", &plain)[0].fix.is_some());
        let collated = format!(
            "index {{\"key\": {{\"name\": 1}}, \"name\": \"n\", \"collation\": {{\"locale\": \"en\", \"strength\": 2, \"caseLevel\": false}}}}\n{ran}"
        );
        assert!(check("W001", &collated)[0].fix.is_none());
    }

    #[test]
    fn ck_12_an_index_has_the_elements_of_one_array_only() {
        let query = r#"{"find": "t_order_item", "filter": {"items": {"$elemMatch": {"sku": 1, "qty": {"$gt": 3}}}, "tags": "x"}}"#;
        let body = format!(
            r#"{{"_id": 1, "items": [{{"sku": 1, "qty": 5}}], "tags": ["x"]}}
            ran x5 {{"command": {query}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
        );
        let found = check("W001", &body);
        let command = &found[0].fix.as_ref().expect("an index").command;
        assert!(command.ends_with(r#"createIndex({"items.sku": 1, "items.qty": 1})"#), "{command}");
    }

    #[test]
    fn ck_12_what_stands_beside_an_or_is_indexed() {
        let command = proposed(
            r#"{"find": "t_order_item", "filter": {"userId": 5, "$or": [{"a": 1}, {"b": 2}]}}"#,
        );
        assert!(command.ends_with("createIndex({userId: 1})"), "{command}");
    }

    #[test]
    fn ck_12_no_index_beside_that_of_a_place() {
        let found = scan(
            r#"{"find": "t_order_item", "filter": {"loc": {"$near": {"$geometry": {"type": "Point", "coordinates": [1, 2]}}}, "status": "x"}}"#,
        );
        assert!(
            found[0].fix.is_none() && found[0].todo.contains("same index"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn ck_12_filters_on_computed_fields_are_seen() {
        let found = scan(
            r#"{"aggregate": "t_order_item", "pipeline": [{"$addFields": {"d": 1}}, {"$match": {"d": 1}}]}"#,
        );
        assert!(found[0].todo.contains("$match at the beginning"), "{}", found[0].todo);
        let command = proposed(
            r#"{"aggregate": "t_order_item", "pipeline": [{"$addFields": {"d": 1}}, {"$match": {"status": 1}}]}"#,
        );
        assert!(command.ends_with("createIndex({status: 1})"), "{command}");
    }

    #[test]
    fn ck_12_branches_need_indexes_of_their_own() {
        let found = scan(r#"{"find": "t_order_item", "filter": {"$or": [{"a": 1}, {"b": 1}]}}"#);
        assert!(found[0].todo.contains("each branch"), "{}", found[0].todo);
    }
}
