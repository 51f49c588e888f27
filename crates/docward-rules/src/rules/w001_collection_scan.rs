//! CK-12: queries that read the whole collection.

use docward_model::{Draft, Evidence, QueryStats, Severity};

use crate::facts::thresholds::w001::{MIN_COUNT, MIN_EXAMINED};
use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Collection scan
    ///
    /// ## What it checks
    /// Reports operations that filter or sort and read the whole collection (`COLLSCAN`), if one of them examined
    /// at least 1000 documents. Later batches of the same cursor (getMore) are included.
    /// - An error: at least 3 operations of one shape.
    /// - A note: fewer operations, or scans on a running server that had not ended after some seconds.
    ///
    /// Intended scans are not reported: without a filter, in storage order (`$natural`, tailable cursors), or
    /// returning at least 80 % of the documents examined.
    ///
    /// ## The proposed index
    /// The index contains exact values before the sort fields, and sort fields before ranges. It has the
    /// collation of the query. Each branch of an `$or` gets its own index. An index that serves several queries
    /// is proposed for all of them.
    ///
    /// ## Why it matters
    /// The time grows with the collection, and every scan evicts other data from memory. An update without an
    /// index locks and examines documents that it does not change.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x5 {"command": {"find": "t_order_item", "filter": {"orderNo": "A$i"}}, "planSummary": "COLLSCAN", "docsExamined": 50000, "nreturned": 1}
    /// ```
    /// ```jsonl,clean
    /// ran x5 {"command": {"find": "t_order_item", "filter": {"orderNo": "A$i"}}, "planSummary": "IXSCAN { orderNo: 1 }", "docsExamined": 1, "nreturned": 1}
    /// ```
    /// The query returns nearly all documents:
    /// ```jsonl,clean
    /// ran x5 {"command": {"find": "t_order_item", "filter": {"deleted": {"$ne": true}}}, "planSummary": "COLLSCAN", "docsExamined": 50000, "nreturned": 49000}
    /// ```
    ///
    /// ## How to fix
    /// Create the proposed index, and check with `explain()` that the query uses it.
    ///
    /// ## When to ignore it
    /// A nightly report on a secondary, or an operation of an administrator.
    W001, "collection-scan",
    level: Mandatory,
    area: Speed,
    severities: [Error, Info],
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_EXAMINED, MIN_COUNT, MEANT_SHARE],
    data: [
        "collectionScans", "documentsExamined", "maxMillis", "operations", "returned",
        "runningScans",
    ],
    check: Deployment(check),
}

threshold!(
    MEANT_SHARE,
    "meant-share",
    Float(0.8),
    "share of the documents examined",
    "our default",
    "unsorted scans that return at least this share count as intended"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for stats in workload::all_business_shapes(evidence) {
        let shape = &stats.shape;
        let namespace = &shape.namespace;
        let (least, often) =
            (cx.count_at(&MIN_EXAMINED, namespace), cx.count_at(&MIN_COUNT, namespace));
        let meant = cx.limit_at(&MEANT_SHARE, namespace);
        let filters = !shape.filter.is_empty() || shape.branches || shape.filters_late;
        let wants_all = shape.sort.is_empty()
            && (!filters || stats.returned as f64 >= meant * stats.documents_examined as f64);
        let wants_order = filters || !shape.sort.is_empty();
        if stats.collection_scans == 0 || stats.most_scanned < least || wants_all {
            if stats.running.collection_scans > 0 && wants_order && !shape.in_stored_order {
                cx.report(still_scanning(evidence, stats));
            }
            continue;
        }
        if shape.in_stored_order {
            continue;
        }
        let mut draft = workload::lacking_index(
            evidence,
            stats,
            format!(
                "{} scanned the collection in {}: up to {} documents examined per operation, {} returned in total",
                workload::words(shape),
                text::plural(stats.collection_scans, "operation"),
                text::count(stats.most_scanned),
                text::count(stats.returned),
            ),
            format!(
                "the time grows with the collection (at most {} ms so far), and each scan evicts other data from the cache",
                text::count(stats.millis.1)
            ),
        )
        .data("collectionScans", stats.collection_scans);
        if stats.collection_scans < often {
            draft = draft.severity(Severity::Info);
        }
        cx.report(draft);
    }
}

/// Scans that were still running when the server was asked: the number of documents they will examine is unknown.
fn still_scanning(evidence: &Evidence, stats: &QueryStats) -> Draft {
    let running = stats.running;
    workload::lacking_index(
        evidence,
        stats,
        format!(
            "{} was still scanning the collection in {}, the longest for {} s",
            workload::words(&stats.shape),
            text::plural(running.collection_scans, "operation"),
            running.most_millis / 1000,
        ),
        "the time grows with the collection, and each scan evicts other data from the cache",
    )
    .data("runningScans", running.collection_scans)
    .severity(Severity::Info)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_at};
    use docward_model::ThresholdSetting;

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
            fix.command().contains("createIndex({kind: 1, status: 1, n: -1, t: 1})"),
            "{}",
            fix.command()
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

    /// The finding does not propose an index that the server would refuse to create.
    #[test]
    fn ck_12_hidden_indexes_and_those_of_the_same_name() {
        let with = |index: &str| {
            let body = format!(
                r#"index {index}
            {{"_id": 1, "a": 1}}
            ran x5 {{"command": {{"find": "t_order_item", "filter": {{"a": 1}}}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
            );
            let found = check("W001", &body);
            let command = found[0].fix.as_ref().map_or(String::new(), |fix| fix.command());
            (found[0].todo.to_string(), command)
        };
        let (todo, command) = with(r#"{"key": {"a": 1}, "name": "a_1", "hidden": true}"#);
        assert!(
            todo.contains("is hidden") && command.ends_with(r#"unhideIndex("a_1")"#),
            "{todo} {command}"
        );
        let (todo, command) = with(
            r#"{"key": {"a": 1}, "name": "a_1", "partialFilterExpression": {"b": {"$exists": true}}}"#,
        );
        assert!(todo.contains("the new index needs another name"), "{todo}");
        assert!(command.ends_with(r#"createIndex({a: 1}, {name: "a_1_all"})"#), "{command}");
        let body = r#"{"_id": 1, "a": 1}
            ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}"#;
        let view = crate::testing::check_changed("W001", body, |collection| {
            collection.kind = docward_model::CollectionKind::View;
        });
        assert!(view[0].fix.is_none() && view[0].todo.contains("is a view"), "{}", view[0].todo);
    }

    #[test]
    fn ck_12_reading_everything_or_little_is_no_fault() {
        assert!(scan(r#"{"find": "t_order_item", "filter": {}}"#).is_empty());
        let small = r#"ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 99, "nreturned": 1}"#;
        assert!(check("W001", small).is_empty());
    }

    #[test]
    fn ck_12_what_was_read_through_an_index_is_no_scan() {
        let body = r#"ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 8, "nreturned": 1}
            ran x2 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "IXSCAN { a: 1 }", "docsExamined": 40000, "nreturned": 1}"#;
        assert!(check("W001", body).is_empty());
    }

    #[test]
    fn ck_12_thresholds_of_a_namespace_are_heard() {
        let body = r#"ran x5 {"command": {"find": "t_order_item", "filter": {"a": 1}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}"#;
        let at = |n: i64| {
            check_at("W001", body, ("W001", "min-examined", ThresholdSetting::Int(n))).len()
        };
        assert_eq!((at(5000), at(5001)), (1, 0));
    }

    #[test]
    fn ck_12_pages_by_id_have_the_id_in_their_index() {
        for (command, keys) in [
            (
                r#"{"find": "t_order_item", "filter": {"status": 1}, "sort": {"_id": -1}}"#,
                "({status: 1, _id: -1})",
            ),
            (
                r#"{"find": "t_order_item", "filter": {"userId": 1, "_id": {"$gt": 5}}}"#,
                "({userId: 1, _id: 1})",
            ),
        ] {
            let command = proposed(command);
            assert!(command.ends_with(keys), "{command}");
        }
    }

    #[test]
    fn ck_12_names_that_look_like_positions_are_indexed_as_they_are() {
        let index = |path: &str| {
            proposed(&format!(r#"{{"find": "t_order_item", "filter": {{"{path}": 5}}}}"#))
        };
        for (path, keys) in [
            ("author.$ref", r#"({"author.$ref": 1})"#),
            ("2024", r#"({"2024": 1})"#),
            ("stats.2024", r#"({"stats.2024": 1})"#),
        ] {
            assert!(index(path).ends_with(keys), "{}", index(path));
        }
        // An index on `items.sku` does not serve queries on the third element.
        assert_eq!(index("items.3.sku"), "");
        let beside = r#"{"find": "t_order_item", "filter": {"items.3.sku": 1, "a": 1}}"#;
        assert!(proposed(beside).ends_with("createIndex({a: 1})"));
    }

    #[test]
    fn ck_12_an_index_of_another_strength_does_not_serve() {
        let is_proposed = |collation: &str, index: &str| {
            let body = format!(
                r#"index {{"key": {{"name": 1}}, "name": "n", "collation": {index}}}
                ran x5 {{"command": {{"find": "t_order_item", "filter": {{"name": "x"}}, "collation": {collation}}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
            );
            check("W001", &body)[0].fix.is_some()
        };
        let en = r#"{"locale": "en"}"#;
        assert!(is_proposed(en, r#"{"locale": "en", "strength": 2}"#));
        assert!(!is_proposed(en, r#"{"locale": "en", "strength": 3, "caseFirst": "off"}"#));
        assert!(!is_proposed(r#"{"locale": "en", "strength": 3}"#, en));
        assert!(is_proposed(en, r#"{"locale": "en_US", "strength": 3}"#));
        let danish = r#"{"locale": "da", "strength": 3, "caseFirst": "upper"}"#;
        assert!(!is_proposed(r#"{"locale": "da"}"#, danish), "its own default");
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

    #[test]
    fn ck_12_scans_that_have_not_ended_are_told_as_information() {
        let row = r#"running {"secs_running": 42, "microsecs_running": 42000000, "planSummary": "COLLSCAN", "command": {"find": "t_order_item", "filter": {"a": 1}}}"#;
        let found = check("W001", row);
        assert_eq!(found[0].severity, docward_model::Severity::Info);
        assert!(found[0].what.contains("for 42 s"), "{}", found[0].what);
        assert!(
            found[0].fix.as_ref().is_some_and(|f| f.command().ends_with("createIndex({a: 1})"))
        );
        for meant in [
            row.replace("COLLSCAN", "IXSCAN { a: 1 }"),
            row.replace(r#"{"a": 1}}"#, r#"{}}"#),
            row.replace(r#""filter""#, r#""hint": {"$natural": 1}, "filter""#),
        ] {
            assert!(check("W001", &meant).is_empty(), "{meant}");
        }
    }

    fn proposed(command: &str) -> String {
        let found = scan(command);
        found[0].fix.as_ref().map(|fix| fix.command()).unwrap_or_default()
    }

    #[test]
    fn ck_12_the_index_has_the_collation_of_the_query() {
        let query = r#"{"find": "t_order_item", "filter": {"name": "x"}, "collation": {"locale": "en", "strength": 2}}"#;
        let command = proposed(query);
        let options = r#"createIndex({name: 1}, {collation: {locale: "en", strength: 2}})"#;
        assert!(command.ends_with(options), "{command}");
        // An index without the collation does not serve it.
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
        let command = &found[0].fix.as_ref().expect("an index").command();
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
    fn ck_12_a_sort_and_a_range_of_one_field_share_one_index() {
        let ran = |rest: &str| {
            format!(
                r#"ran x5 {{"command": {{"find": "t_order_item", "filter": {{"customerId": 1, "status": 2{rest}}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
            )
        };
        let latest = ran(r#"}, "sort": {"at": -1}"#);
        let since = ran(r#", "at": {"$gt": 5}}"#);
        let oldest = ran(r#"}, "sort": {"at": 1}"#);
        for body in [
            format!("{latest}\n{since}"),
            format!("{oldest}\n{latest}"),
            format!("{since}\n{oldest}\n{latest}"),
        ] {
            let found = check("W001", &body);
            assert_eq!(found.len(), body.lines().count(), "{found:?}");
            for finding in &found {
                let command = &finding.fix.as_ref().expect("an index").command();
                let one = "createIndex({customerId: 1, status: 1, at: -1})";
                assert!(command.ends_with(one), "{command}");
            }
        }
    }

    #[test]
    fn ck_12_branches_need_indexes_of_their_own() {
        let query = r#"{"find": "t_order_item", "filter": {"$or": [{"a": 1}, {"b": {"$gt": 1}, "c": 2}]}, "sort": {"t": -1}}"#;
        let found = scan(query);
        assert!(found[0].todo.contains("each branch"), "{}", found[0].todo);
        let command = &found[0].fix.as_ref().expect("indexes").command();
        let both = ["createIndex({a: 1, t: -1}); ", "createIndex({c: 1, t: -1, b: 1})"];
        assert!(both.iter().all(|index| command.contains(index)), "{command}");
        // Only the missing index is proposed.
        let body = format!(
            r#"index {{"key": {{"a": 1, "t": -1}}, "name": "i"}}
            ran x5 {{"command": {query}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
        );
        let command = check("W001", &body)[0].fix.as_ref().expect("an index").command();
        assert!(!command.contains("{a: 1") && command.ends_with(both[1]), "{command}");
        // A branch without an index makes the others useless.
        let found =
            scan(r#"{"find": "t_order_item", "filter": {"$or": [{"a": 1}, {"b": {"$ne": 1}}]}}"#);
        assert!(
            found[0].fix.is_none() && found[0].todo.contains("$or branch on b"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn ck_12_negations_and_patterns_in_the_middle_are_no_part_of_an_index() {
        for (filter, index) in [
            (r#"{"a": 1, "b": {"$ne": 2}, "c": {"$nin": [1]}}"#, "{a: 1}"),
            (r#"{"a": 1, "b": {"$regex": "x"}}"#, "{a: 1}"),
            (r#"{"a": 1, "b": {"$regex": "^x"}}"#, "{a: 1, b: 1}"),
            (r#"{"a": 1, "b": {"$not": {"$gt": 2}}, "c": {"$exists": true}}"#, "{a: 1}"),
            (r#"{"b": {"$ne": 2}}"#, ""),
            (r#"{"b": {"$regex": "x"}}"#, ""),
        ] {
            let command = proposed(&format!(r#"{{"find": "t_order_item", "filter": {filter}}}"#));
            let expected =
                if index.is_empty() { String::new() } else { format!("createIndex({index})") };
            assert!(
                command.ends_with(&expected) && command.is_empty() == index.is_empty(),
                "{filter}: {command}"
            );
        }
    }

    #[test]
    fn ck_12_lists_stand_before_the_sort_as_long_as_the_server_merges_them() {
        let of = |n: usize| {
            let list = format!("{:?}", (0..n).collect::<Vec<_>>());
            proposed(&format!(
                r#"{{"find": "t_order_item", "filter": {{"a": {{"$in": {list}}}}}, "sort": {{"t": 1}}}}"#
            ))
        };
        assert!(of(200).ends_with("createIndex({a: 1, t: 1})"), "{}", of(200));
        assert!(of(201).ends_with("createIndex({t: 1, a: 1})"), "{}", of(201));
    }

    #[test]
    fn ck_12_an_array_that_is_asked_for_cannot_be_sorted_by() {
        let body = r#"{"_id": 1, "u": 1, "items": [{"n": 5}], "t": 1}
            ran x5 {"command": {"find": "t_order_item", "filter": {"u": 1, "items.n": {"$gt": 3}}, "sort": {"items.n": 1}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}"#;
        let command = check("W001", body)[0].fix.as_ref().expect("an index").command();
        assert!(command.ends_with(r#"createIndex({u: 1, "items.n": 1})"#), "{command}");
    }

    #[test]
    fn ck_12_pages_by_id_end_with_the_id() {
        let command = proposed(
            r#"{"find": "t_order_item", "filter": {"status": "x", "_id": {"$gt": 5}}, "sort": {"_id": 1}}"#,
        );
        assert!(command.ends_with("createIndex({status: 1, _id: 1})"), "{command}");
        let command = proposed(
            r#"{"find": "t_order_item", "filter": {"n": {"$gt": 5}}, "sort": {"_id": 1}}"#,
        );
        assert!(command.ends_with("createIndex({n: 1})"), "{command}");
    }

    #[test]
    fn ck_12_hashed_and_wildcard_indexes_serve_single_fields() {
        let fix = |index: &str, filter: &str| {
            let body = format!(
                r#"index {{"key": {index}, "name": "i"}}
                ran x5 {{"command": {{"find": "t_order_item", "filter": {filter}}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
            );
            check("W001", &body)[0].fix.is_some()
        };
        assert!(!fix(r#"{"a": "hashed"}"#, r#"{"a": 1}"#));
        assert!(fix(r#"{"a": "hashed"}"#, r#"{"a": {"$gt": 1}}"#), "a hash has no order");
        assert!(!fix(r#"{"$**": 1}"#, r#"{"a.b": 1}"#));
        assert!(!fix(r#"{"a.$**": 1}"#, r#"{"a.b": 1}"#));
        assert!(fix(r#"{"a.$**": 1}"#, r#"{"b": 1}"#));
        assert!(fix(r#"{"$**": 1}"#, r#"{"a": 1, "b": 1}"#), "one field at a time");
    }

    #[test]
    fn ck_12_one_index_is_proposed_for_all_the_queries_it_serves() {
        let ran = |command: &str| {
            format!(
                r#"ran x5 {{"command": {{"find": "t_order_item", {command}}}, "planSummary": "COLLSCAN", "docsExamined": 5000, "nreturned": 1}}"#
            )
        };
        let both = ran(r#""filter": {"b": 1}"#)
            + "\n"
            + &ran(r#""filter": {"a": 1, "b": 1}, "sort": {"t": -1}"#)
            + "\n"
            + &ran(r#""filter": {"c": 1}"#);
        let found = check("W001", &both);
        let commands: Vec<_> =
            found.iter().map(|f| f.fix.as_ref().expect("an index").command()).collect();
        let shared = commands.iter().filter(|c| c.ends_with("createIndex({b: 1, a: 1, t: -1})"));
        assert_eq!((shared.count(), commands.len()), (2, 3), "{commands:?}");
        assert!(found.iter().any(|f| f.todo.contains("it also supports find by {b}")));
        assert!(commands.iter().any(|c| c.ends_with("createIndex({c: 1})")), "{commands:?}");
        // Strings with another collation need a separate index.
        let other = ran(r#""filter": {"b": 1}"#)
            + "\n"
            + &ran(r#""filter": {"a": 1, "b": 1}, "collation": {"locale": "en"}"#);
        let found = check("W001", &other);
        let shared = found
            .iter()
            .filter(|f| f.fix.as_ref().is_some_and(|f| f.command().ends_with("({b: 1})")));
        assert_eq!(shared.count(), 1);
    }
}
