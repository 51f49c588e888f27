//! AP-S4.6: an index for every field instead of one for every query (GC-38).

use docward_model::{Collection, Draft, Subject};

use crate::{
    Cx, declare_rule,
    facts::{indexes::leading_fields, text},
    threshold,
};

declare_rule! {
    /// # Index on every field
    ///
    /// ## What it checks
    /// Reports collections in which at least 80 % of the top-level fields, and at least five, are the first key
    /// of an index.
    ///
    /// - `_id` and fields of object mappers do not count.
    /// - Several indexes with the same first field count once.
    /// - Indexes that were used since the server started do not count.
    /// - An index does not count if recorded operations filter or sort by its first field.
    ///
    /// ## Why it matters
    /// Indexes that were created field by field do not match the queries. Most of them are never used, but every
    /// insert writes all of them.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// index {"key": {"a": 1}, "name": "a_1"}
    /// index {"key": {"b": 1}, "name": "b_1"}
    /// index {"key": {"c": 1}, "name": "c_1"}
    /// index {"key": {"d": 1}, "name": "d_1"}
    /// index {"key": {"e": 1}, "name": "e_1"}
    /// {"_id": 1, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
    /// ```
    /// ```jsonl,clean
    /// index {"key": {"a": 1, "d": -1}, "name": "a_1_d_-1"}
    /// index {"key": {"b": 1}, "name": "b_1"}
    /// {"_id": 1, "a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
    /// ```
    ///
    /// ## How to fix
    /// List the queries and build one compound index for each kind of query (equality, sort, range). Hide the
    /// other indexes, and drop them if nothing gets slower.
    ///
    /// ## When to ignore it
    /// The collection is a small reference table that is rarely written.
    I003, "index-on-every-field",
    level: Recommended,
    area: Speed,
    clauses: ["AP-S4.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Indexes, Documents],
    thresholds: [RATIO, LEAST],
    data: ["fieldsWithIndex", "indexes"],
    check: Collection(check),
}

threshold!(
    RATIO,
    "min-ratio",
    Float(0.8),
    "share of top-level fields",
    "GC-38",
    "minimum share of fields with their own index"
);
threshold!(
    LEAST,
    "min-indexes",
    Int(5),
    "fields",
    "GC-38",
    "minimum number of fields with their own index"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let Some((leading, fields)) = leading_fields(cx.evidence(), collection) else { return };
    let own = leading.len() as u64;
    if own < cx.count(&LEAST) || (own as f64) < cx.limit(&RATIO) * fields as f64 {
        return;
    }
    let indexes = collection.indexes.as_ref().map_or(0, Vec::len) as u64;
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!(
                "{own} of {} top-level fields have a separate index ({indexes} indexes in total)",
                text::count(fields as u64)
            ),
            "every insert updates all of these indexes, but single-field indexes rarely match whole queries",
            format!(
                "keep one index for each kind of query (see `$indexStats`), hide the others, and drop them if no query gets slower; each insert now writes {} or more index entries",
text::count(indexes)
            ),
            profile.seen(),
        )
        .data("fieldsWithIndex", own)
        .data("fields", fields)
        .data("indexes", indexes),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn with(fields: usize, indexed: usize) -> Vec<docward_model::Finding> {
        let names: Vec<_> = (0..fields).map(|i| format!("field{i}")).collect();
        let document: Vec<_> = names.iter().map(|n| format!("\"{n}\": 1")).collect();
        let indexes: String = names
            .iter()
            .take(indexed)
            .map(|n| format!("index {{\"key\": {{\"{n}\": 1}}, \"name\": \"{n}_1\"}}\n"))
            .collect();
        check("I003", &format!("{indexes}{{\"_id\": 1, {}}}", document.join(", ")))
    }

    #[test]
    fn ap_s4_6_ten_fields_ten_indexes_are_found() {
        let found = with(10, 10);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("10 of 10"), "{}", found[0].what);
        // The number of indexes is the same cause and not reported again.
        assert!(check("I002", "").is_empty());
    }

    #[test]
    fn ap_s4_6_boundaries() {
        assert_eq!(with(10, 8).len(), 1);
        assert!(with(10, 7).is_empty());
        assert!(with(4, 4).is_empty());
        assert_eq!(with(5, 5).len(), 1);
    }

    #[test]
    fn ap_s4_6_compound_indexes_of_one_field_pass() {
        let indexes: String = ["b", "c", "d", "e", "f"]
            .iter()
            .map(|n| format!("index {{\"key\": {{\"a\": 1, \"{n}\": 1}}, \"name\": \"a_{n}\"}}\n"))
            .collect();
        let body = format!(
            "{indexes}{{\"_id\": 1, \"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1, \"e\": 1, \"f\": 1}}"
        );
        assert!(check("I003", &body).is_empty());
    }

    #[test]
    fn ap_s4_6_indexes_that_follow_queries_do_not_count() {
        let body = |queries: &str| {
            let names: Vec<_> = (0..7).map(|i| format!("field{i}")).collect();
            let document: Vec<_> = names.iter().map(|n| format!("\"{n}\": 1")).collect();
            let index =
                |n: &String| format!("index {{\"key\": {{\"{n}\": 1}}, \"name\": \"{n}_1\"}}\n");
            let indexes: String = names.iter().map(index).collect();
            format!("{indexes}{{\"_id\": 1, {}}}\n{queries}", document.join(", "))
        };
        assert_eq!(check("I003", &body("")).len(), 1);
        let queries = "ran x9 {\"command\": {\"find\": \"t_order_item\", \"filter\": {\"field1\": 1}, \"sort\": {\"field2\": 1}}}";
        assert!(check("I003", &body(queries)).is_empty(), "two of seven follow a query");
        let one = queries.replace(", \"sort\": {\"field2\": 1}", "");
        assert!(check("I003", &body(&one))[0].what.starts_with("6 of 7 top-level fields"));
    }
}
