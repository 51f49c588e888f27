//! DP-1, DM-07.2, ER-M.1, ER-F.1, AP-S0.5, PT-hybrid.1: collections that are always read after one another.

use docward_model::{Draft, Evidence, Seen, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{text, workload},
    threshold,
};

declare_rule! {
    /// # Reads that belong together
    ///
    /// ## What it checks
    /// Follows sessions (or connections) and finds a second collection that is read within a second after a first
    /// one. Reports a pair if both of these hold:
    /// - at least 20 requests did so
    /// - at least 80 % of the reads of the second collection followed the first one
    ///
    /// The collections must be related: the second is queried by an id, or the documents show a reference. The
    /// finding mentions:
    /// - N+1, if most requests read the second collection several times, with one query per document
    /// - the hybrid pattern, if most requests read a few sorted documents of it and count them
    ///
    /// ## Why it matters
    /// Each request needs two or more round trips for data that one document could contain. A log contains only
    /// slow operations unless `slowms` is 0, so the shares refer to the recorded operations.
    ///
    /// ## Example
    /// ```jsonl,fires,min-count=2
    /// @ db_shop.t_order
    /// @ db_shop.t_order_item
    /// ran {"ns": "db_shop.t_order", "client": "a", "command": {"find": "t_order", "filter": {"_id": 1}}}
    /// ran {"client": "a", "command": {"find": "t_order_item", "filter": {"orderId": 1}}}
    /// ran {"ns": "db_shop.t_order", "client": "a", "command": {"find": "t_order", "filter": {"_id": 2}}}
    /// ran {"client": "a", "command": {"find": "t_order_item", "filter": {"orderId": 2}}}
    /// ```
    /// ```jsonl,clean
    /// ran x40 {"client": "a", "command": {"find": "t_order_item", "filter": {"orderId": 1}}}
    /// ```
    ///
    /// ## How to fix
    /// Embed the second collection if each parent has few of its documents and they belong to it. Otherwise copy
    /// the fields that are shown, or keep a bounded preview and the count in the parent (hybrid pattern).
    /// `docward design` compares these options.
    ///
    /// ## When to ignore it
    /// There are many children, or they change on their own. Then use one `$lookup`, or one `$in` for all of
    /// them.
    W006, "reads-that-belong-together",
    level: Recommended,
    area: Speed,
    clauses: ["DP-1", "DM-07.2", "ER-M.1", "ER-F.1", "AP-S0.5", "PT-hybrid.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_COUNT, MIN_SHARE],
    data: ["first", "previews", "repeated", "requests", "share"],
    check: Deployment(check),
}

threshold!(
    MIN_COUNT,
    "min-count",
    Int(20),
    "requests",
    "our default",
    "minimum number of requests"
);
threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.8),
    "share of reads",
    "DM-07.2 gives 1.0 for embed and 0.2 for reference",
    "minimum share of reads of the second collection that follow a read of the first"
);

/// Clauses of collections that are read one after the other.
const APART: &[&str] = &["DP-1", "DM-07.2", "ER-M.1", "ER-F.1", "AP-S0.5"];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let sequences = evidence.workload.iter().flat_map(|w| &w.sequences);
    for pair in sequences {
        let (often, least) =
            (cx.count_at(&MIN_COUNT, &pair.then), cx.limit_at(&MIN_SHARE, &pair.then));
        let share = pair.following as f64 / pair.reads.1.max(1) as f64;
        if pair.count < often
            || share < least
            || !workload::is_business(&pair.first)
            || !workload::is_business(&pair.then)
            || !workload::are_related(
                evidence,
                (&pair.first, &pair.then),
                pair.by.iter().map(String::as_str),
            )
        {
            continue;
        }
        let parent = &pair.first.collection;
        let each = pair.following as f64 / pair.count.max(1) as f64;
        let most = |requests: u64| requests * 2 > pair.count;
        let (row, todo, clauses): (_, _, &[&str]) = if most(pair.previews) {
            (
                ": a few documents and a count (hybrid pattern)".to_owned(),
                format!(
                    "store the count and the few documents in `{parent}` too, and read this collection only for more"
                ),
                &["PT-hybrid.1", "DP-1", "AP-S0.5"],
            )
        } else if most(pair.repeated) {
            (
                format!(", {each:.1} times each (N+1)"),
                format!(
                    "read all of them with one query ($in or $lookup), or embed the displayed fields in `{parent}`"
                ),
                APART,
            )
        } else {
            (
                String::new(),
                format!(
                    "embed it in `{parent}` if each parent has few of its documents; otherwise copy the displayed fields; `docward design` compares the costs"
                ),
                APART,
            )
        };
        cx.report(
            Draft::new(
                Subject::Collection(pair.then.clone()),
                format!(
                    "{} requests read `{}` and then this collection{row}; they cause {} of its reads",
                    text::count(pair.count),
                    pair.first,
                    text::percent(share),
                ),
                "each request needs two or more round trips for data that one document could hold",
                todo,
                Seen::all(pair.reads.0 + pair.reads.1, Unit::Operations),
            )
            .data("first", pair.first.to_string())
            .data("requests", pair.count)
            .data("share", share)
            .data("repeated", pair.repeated)
            .data("previews", pair.previews)
            .clauses(clauses)
            .key(pair.first.to_string()),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn requests(n: usize, alone: usize, items: usize) -> String {
        let mut body = String::from("@ db_shop.t_order_item\n");
        for i in 0..n {
            body += &format!(
                "ran {{\"ns\": \"db_shop.t_order\", \"client\": \"c{i}\", \"command\": {{\"find\": \"t_order\", \"filter\": {{\"_id\": 1}}}}}}\n"
            );
            for _ in 0..items {
                body += &format!(
                    "ran {{\"client\": \"c{i}\", \"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"orderId\": 1}}}}}}\n"
                );
            }
        }
        for i in 0..alone {
            body += &format!(
                "ran {{\"client\": \"alone{i}\", \"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"sku\": 1}}}}}}\n"
            );
        }
        body
    }

    #[test]
    fn dp_1_dm_07_2_er_m_1_er_f_1_always_read_together() {
        let found = check("W006", &requests(30, 0, 1));
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("embed it in `t_order`"), "{}", found[0].todo);
    }

    #[test]
    fn dm_07_2_thresholds_of_a_namespace_are_heard() {
        let at = ("W006", "min-count", docward_model::ThresholdSetting::Int(31));
        assert!(crate::testing::check_at("W006", &requests(30, 0, 1), at).is_empty());
    }

    #[test]
    fn dm_07_2_often_read_alone_is_a_reference() {
        assert!(check("W006", &requests(30, 120, 1)).is_empty());
    }

    #[test]
    fn dp_1_collections_without_a_reference_are_not_embedded() {
        let body = requests(30, 0, 1).replace("orderId", "sku");
        assert!(check("W006", &body).is_empty());
    }

    #[test]
    fn ap_s0_5_rows_of_reads_do_not_hide_those_alone() {
        // 60 of 1060 reads.
        assert!(check("W006", &requests(20, 1000, 3)).is_empty());
    }

    #[test]
    fn pt_hybrid_1_a_preview_and_a_count_are_the_hybrid_pattern() {
        let read = |i: usize, command: &str| {
            format!("ran {{\"client\": \"c{i}\", \"command\": {command}}}\n")
        };
        let newest =
            r#"{"find": "t_order_item", "filter": {"orderId": 1}, "sort": {"at": -1}, "limit": 3}"#;
        let count = r#"{"count": "t_order_item", "query": {"orderId": 1}}"#;
        let hybrid = |second: &str| {
            let orders = requests(30, 0, 0);
            let (head, orders) = orders.split_once('\n').unwrap();
            let reads = orders.lines().enumerate();
            let reads = reads
                .map(|(i, of_order)| format!("{of_order}\n{}{}", read(i, newest), read(i, second)));
            check("W006", &format!("{head}\n{}", reads.collect::<String>()))
        };
        let found = hybrid(count);
        assert!(found[0].what.contains("(hybrid pattern)"), "{}", found[0].what);
        assert!(found[0].todo.contains("the count"), "{}", found[0].todo);
        assert!(found[0].cites("PT-hybrid.1"));
        let found = hybrid(newest);
        assert!(found[0].what.contains("2.0 times each (N+1)"), "{}", found[0].what);
        assert!(!found[0].cites("PT-hybrid.1"));
    }

    #[test]
    fn ap_s0_5_one_query_per_document() {
        let found = check("W006", &requests(30, 10, 4));
        assert!(
            found[0].what.contains("4.0 times each (N+1); they cause 92 %"),
            "{}",
            found[0].what
        );
        assert!(found[0].todo.contains("with one query"), "{}", found[0].todo);
    }
}
