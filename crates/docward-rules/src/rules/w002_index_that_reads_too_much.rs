//! CK-12: queries whose index leaves most of the work to reading documents.

use docward_model::{
    Draft, Evidence, Index, Namespace, NewIndex, Operation, QueryStats, Safety, Seen, Step,
    Subject, Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Index that reads too much
    ///
    /// ## What it checks
    /// Reports operations that used an index but examined many documents or keys: at least 100 for each document
    /// that they returned, matched or removed, and at least 1000 on average.
    ///
    /// Also reports a `$lookup` that examines as much, because no index of the joined collection begins with its
    /// field. This finding is about the joined collection.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - counts, sums and other aggregations, which need the documents they examine
    /// - text searches
    /// - sorts in memory and collection scans, which W003 and W001 report
    /// - shapes with fewer than 3 operations
    ///
    /// ## Why it matters
    /// The index does not narrow the search enough. Most documents are read only to be discarded, and their
    /// number grows with the data.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"status": "new", "userId": $i}}, "planSummary": "IXSCAN { status: 1 }", "docsExamined": 40000, "nreturned": 2}
    /// ```
    /// ```jsonl,clean
    /// ran x20 {"command": {"find": "t_order_item", "filter": {"status": "new", "userId": $i}}, "planSummary": "IXSCAN { userId: 1, status: 1 }", "docsExamined": 2, "nreturned": 2}
    /// ```
    /// All examined documents matched, although none had to be changed:
    /// ```jsonl,clean
    /// ran x20 {"command": {"q": {"status": "x"}, "u": {"$set": {"a": 1}}, "multi": true}, "planSummary": "IXSCAN { status: 1 }", "docsExamined": 5000, "nMatched": 5000, "nModified": 0}
    /// ```
    ///
    /// ## How to fix
    /// Create the proposed compound index. Drop the old index if nothing else needs it.
    ///
    /// ## When to ignore it
    /// The query is rare, or no index can support its filter, such as a pattern in the middle of a text.
    W002, "index-that-reads-too-much",
    level: Recommended,
    area: Speed,
    clauses: ["CK-12"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_RATIO, MIN_EXAMINED, MIN_COUNT],
    data: ["documentsExamined", "maxMillis", "operations", "returned"],
    check: Deployment(check),
}

threshold!(
    MIN_RATIO,
    "min-ratio",
    Int(100),
    "documents examined per document returned",
    "our default",
    "minimum ratio of examined to returned documents"
);
threshold!(
    MIN_EXAMINED,
    "min-examined",
    Int(1000),
    "documents per operation",
    "our default",
    "minimum mean number of documents that an operation examines"
);
threshold!(
    MIN_COUNT,
    "min-count",
    Int(3),
    "operations",
    "our default",
    "minimum number of operations of a shape"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        let namespace = &shape.namespace;
        let ratio = cx.limit_at(&MIN_RATIO, namespace);
        let (least, often) =
            (cx.count_at(&MIN_EXAMINED, namespace), cx.count_at(&MIN_COUNT, namespace));
        let joined = stats.documents_examined.max(stats.keys_examined);
        let needed = stats.returned.max(stats.count).max(1) as f64;
        if !shape.lookups.is_empty()
            && stats.count >= often
            && joined / stats.count.max(1) >= least
            && joined as f64 >= ratio * needed
            && let Some(draft) = unindexed_lookup(evidence, stats, least)
        {
            cx.report(draft);
            continue;
        }
        let fetches = matches!(
            shape.operation,
            Operation::Find | Operation::Update | Operation::Delete | Operation::FindAndModify
        );
        let count = stats.count.saturating_sub(stats.collection_scans);
        let examined = stats.examined_through_indexes();
        let average = examined / count.max(1);
        if !fetches
            || workload::is_told_as_sort(cx.settings(), stats)
            || workload::is_told_as_scan(cx.settings(), stats)
            || shape.filter.iter().any(|p| p.path == "$text")
            || count < often
            || average < least
            || (examined as f64) < ratio * stats.returned.max(1) as f64
        {
            continue;
        }
        let draft = workload::lacking_index(
            evidence,
            stats,
            format!(
                "{} used an index but examined {} {} on average to return {}",
                workload::words(shape),
                text::count(average),
                if stats.keys_examined > stats.documents_examined { "keys" } else { "documents" },
                text::count(stats.returned / stats.count),
            ),
            "the server discards most of what it reads, and this part grows with the data",
        );
        cx.report(draft);
    }
}

/// A join by a field that no index of the joined collection begins with: each join reads the whole collection. If its
/// size is less than `least`, the operations read something else.
fn unindexed_lookup(evidence: &Evidence, stats: &QueryStats, least: u64) -> Option<Draft> {
    let shape = &stats.shape;
    let lacking = shape.lookups.iter().find_map(|lookup| {
        let (_, foreign) = lookup.fields.as_ref()?;
        let joined = Namespace::new(&shape.namespace.database, &lookup.from);
        let collection = evidence.collection(&joined)?;
        let indexes = collection.indexes.as_deref()?;
        let documents = collection.stats.as_ref().map(|stats| stats.documents);
        let documents = documents.or(collection.profile.as_ref().map(|p| p.total.max(p.documents)));
        if documents.is_some_and(|documents| documents < least) {
            return None;
        }
        let serves = |index: &Index| {
            !index.hidden
                && index.partial_filter.is_none()
                && index.keys.first().is_some_and(|key| key.path == *foreign || key.path == "$**")
        };
        (!indexes.iter().any(serves)).then_some((joined, foreign))
    });
    let (joined, foreign) = lacking?;
    let keys = workload::keys(&[(foreign.clone(), 1)]);
    let average = stats.documents_examined / stats.count.max(1);
    let draft = Draft::new(
        Subject::Collection(joined.clone()),
        format!(
            "`$lookup` from `{}` joins by `{foreign}`, but no index begins with this field: {} documents examined on average",
            shape.namespace.collection,
            text::count(average)
        ),
        "for each document of one collection, the server reads the whole other collection",
        format!("create the index {keys} on `{joined}`"),
        Seen::all(stats.count, Unit::Operations),
    );
    let draft = draft
        .data("operations", stats.count)
        .data("documentsExamined", stats.documents_examined)
        .data("returned", stats.returned)
        .key(format!("lookup {joined} {foreign}"))
        .plan(
            None,
            Safety::Safe,
            [Step::CreateIndex { namespace: joined, index: NewIndex::ascending([foreign]) }],
        );
    Some(draft)
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
    fn ck_12_joins_by_a_field_without_an_index() {
        let found = |index: &str, examined: u64, stats: &str| {
            let body = format!(
                r#"{{"_id": 1, "sku": "a"}}
            ran x9 {{"command": {{"aggregate": "t_order_item", "pipeline": [{{"$match": {{"_id": 1}}}}, {{"$lookup": {{"from": "t_stock", "localField": "sku", "foreignField": "code", "as": "s"}}}}]}}, "planSummary": "IXSCAN {{ _id: 1 }}", "docsExamined": {examined}, "nreturned": 1}}
            @ db_shop.t_stock
            index {{"key": {{"_id": 1}}, "name": "_id_"}}
            index {index}
            stats {stats}
            {{"_id": 1, "code": "a"}}"#
            );
            check("W002", &body)
        };
        let other = r#"{"key": {"b": 1, "code": 1}, "name": "b"}"#;
        let large = r#"{"documents": 20000}"#;
        let told = found(other, 20_001, large);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].what.contains("joins by `code`"), "{}", told[0].what);
        let command = &told[0].fix.as_ref().expect("an index").command();
        assert!(command.ends_with("createIndex({code: 1})"), "{command}");
        assert!(found(other, 12, large).is_empty(), "little is read");
        // Ten documents are not the ones that were read.
        assert!(found(other, 20_001, r#"{"documents": 10}"#).is_empty());
        let served = r#"{"key": {"code": 1, "b": 1}, "name": "c"}"#;
        assert!(found(served, 20_001, large).is_empty());
    }

    #[test]
    fn ck_12_keys_count_where_they_are_more() {
        let body = r#"ran x9 {"command": {"find": "t_order_item", "filter": {"name": {"$regex": "x"}}}, "planSummary": "IXSCAN { name: 1 }", "docsExamined": 2, "keysExamined": 1000000, "nreturned": 2}"#;
        assert!(check("W002", body)[0].what.contains("1,000,000 keys"));
    }

    #[test]
    fn ck_12_the_index_that_was_used_is_not_proposed() {
        let body = r#"ran x9 {"command": {"find": "t_order_item", "filter": {"a": 1, "b": {"$ne": 2}}}, "planSummary": "IXSCAN { a: 1 }", "docsExamined": 90000, "nreturned": 1}"#;
        let found = check("W002", body);
        assert!(
            found[0].fix.is_none() && found[0].todo.contains("already uses"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn ck_12_sorts_in_memory_and_searches_for_words_are_not_meant() {
        let sorted = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"userId": 7}, "sort": {"createTime": -1}, "limit": 10}, "planSummary": "IXSCAN { userId: 1 }", "hasSortStage": true, "docsExamined": 8000, "nreturned": 10}"#;
        assert!(check("W002", sorted).is_empty());
        assert_eq!(check("W003", sorted).len(), 1);
        let words = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"$text": {"$search": "x"}}, "sort": {"score": {"$meta": "textScore"}}, "limit": 10}, "planSummary": "TEXT {}", "hasSortStage": true, "docsExamined": 8000, "nreturned": 10}"#;
        assert!(check("W002", words).is_empty() && check("W003", words).is_empty());
    }

    #[test]
    fn ck_12_one_scan_does_not_hide_the_rest() {
        let body = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"a": 1, "b": 2}}, "planSummary": "IXSCAN { a: 1 }", "docsExamined": 40000, "nreturned": 1}
            ran {"command": {"find": "t_order_item", "filter": {"a": 1, "b": 2}}, "planSummary": "COLLSCAN", "docsExamined": 9000000, "nreturned": 1}"#;
        let found = check("W002", body);
        assert!(found[0].what.contains("examined 40,000 documents"), "{}", found[0].what);
        // The result of one operation does not represent the others.
        assert!(check("W002", &body.replace("40000", "4")).is_empty());
        let scans = body.replace("ran {", "ran x3 {");
        assert!(check("W002", &scans).is_empty(), "W001 reports it");
    }

    #[test]
    fn ck_12_small_sorts_of_what_was_thrown_away_are_meant() {
        let body = r#"ran x20 {"command": {"find": "t_order_item", "filter": {"u": 7, "n": 3}, "sort": {"t": 1}}, "planSummary": "IXSCAN { u: 1 }", "hasSortStage": true, "docsExamined": 8000, "nreturned": 10}"#;
        assert_eq!((check("W002", body).len(), check("W003", body).len()), (1, 0));
    }

    #[test]
    fn ck_12_few_operations_are_no_pattern() {
        let body = r#"ran x2 {"command": {"find": "t_order_item", "filter": {"a": 1, "b": 2}}, "planSummary": "IXSCAN { a: 1 }", "docsExamined": 90000, "nreturned": 1}"#;
        assert!(check("W002", body).is_empty());
    }
}
