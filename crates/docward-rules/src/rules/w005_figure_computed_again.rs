//! AP-S2.4, CK-11, PT-computed.1: the same figure is computed repeatedly.

use docward_model::{Comparison, Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Figure computed again and again
    ///
    /// ## What it checks
    /// Reports counts, sums and averages by a key, such as the `count` of the comments of a post. Operations of
    /// one shape must have run at least 20 times and examined at least 100 keys or documents on average.
    ///
    /// Calculations over the whole collection or over time ranges count as reports, which this rule ignores.
    ///
    /// ## Why it matters
    /// The work grows with the number of documents and is repeated for every reader. A stored value is one field
    /// of a document that is read anyway.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x50 {"command": {"aggregate": "t_comment", "pipeline": [{"$match": {"postId": $i}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]}, "planSummary": "IXSCAN { postId: 1 }", "keysExamined": 900, "docsExamined": 900, "nreturned": 1}
    /// ```
    /// ```jsonl,clean
    /// ran x3 {"command": {"aggregate": "t_comment", "pipeline": [{"$match": {"postId": $i}}, {"$group": {"_id": 1, "n": {"$sum": 1}}}]}, "planSummary": "IXSCAN { postId: 1 }", "keysExamined": 900, "docsExamined": 900, "nreturned": 1}
    /// ```
    ///
    /// ## How to fix
    /// Store the value in the parent (`commentCount`), and change it with `$inc` in the write that adds or
    /// removes a child. Set it once for the existing documents.
    ///
    /// ## When to ignore it
    /// The value changes far more often than it is read.
    W005, "figure-computed-again",
    level: Recommended,
    area: Speed,
    clauses: ["AP-S2.4", "CK-11", "PT-computed.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_COUNT, MIN_EXAMINED],
    data: ["examinedPerOperation", "operations", "totalMillis"],
    check: Deployment(check),
}

threshold!(
    MIN_COUNT,
    "min-count",
    Int(20),
    "operations",
    "our default",
    "how often the figure must have been computed before Docward reports it"
);
threshold!(
    MIN_EXAMINED,
    "min-examined",
    Int(100),
    "keys or documents per operation",
    "our default",
    "minimum mean number of keys or documents that an operation examines"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    for stats in workload::business_shapes(evidence) {
        let shape = &stats.shape;
        let (often, least) = (
            cx.count_at(&MIN_COUNT, &shape.namespace),
            cx.count_at(&MIN_EXAMINED, &shape.namespace),
        );
        let keys: Vec<&str> = shape
            .filter
            .iter()
            .filter(|p| p.comparison == Comparison::Equality)
            .map(|p| p.path.as_str())
            .collect();
        let of_a_time = shape
            .filter
            .iter()
            .any(|p| matches!(p.comparison, Comparison::Range | Comparison::Between));
        let examined = stats.documents_examined.max(stats.keys_examined) / stats.count.max(1);
        if !shape.computes
            || keys.is_empty()
            || of_a_time
            || stats.count < often
            || examined < least
        {
            continue;
        }
        cx.report(
            Draft::new(
                Subject::Collection(shape.namespace.clone()),
                format!(
                    "a value grouped by {} was computed {} times, from {} entries on average",
                    text::list(&keys, 3),
                    text::count(stats.count),
                    text::count(examined),
                ),
                "the work grows with the number of entries and is repeated for every reader",
                format!(
                    "store the value in the document to which {} refers, and change it with $inc when an entry is added or removed",
                    text::list(&keys, 1)
                ),
                Seen::all(stats.count, Unit::Operations),
            )
            .data("operations", stats.count)
            .data("examinedPerOperation", examined)
            .data("totalMillis", stats.millis.0)
            .key(workload::key(shape)),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn counted(filter: &str) -> usize {
        let body = format!(
            r#"ran x50 {{"command": {{"count": "t_comment", "query": {filter}}}, "keysExamined": 900, "docsExamined": 0}}"#
        );
        check("W005", &body).len()
    }

    #[test]
    fn ck_11_thresholds_of_a_namespace_are_heard() {
        let body = r#"ran x50 {"command": {"count": "t_comment", "query": {"postId": 7}}, "keysExamined": 900, "docsExamined": 0}"#;
        let at = ("W005", "min-examined", docward_model::ThresholdSetting::Int(901));
        assert!(crate::testing::check_at("W005", body, at).is_empty());
    }

    #[test]
    fn ap_s2_4_ck_11_pt_computed_1_counts_on_every_render() {
        assert_eq!(counted(r#"{"postId": 7}"#), 1);
        assert_eq!(counted("{}"), 0);
        assert_eq!(counted(r#"{"postId": 7, "t": {"$gt": 5}}"#), 0);
    }
}
