//! PT-outlier.1: a few documents with far longer arrays than the rest.

use docward_model::{Collection, Draft, Namespace, NewIndex, Safety, Step, Subject};

use crate::facts::growth::arrays::{self, Limits, Owner};
use crate::facts::thresholds::r008::{MIN_ELEMENTS, MIN_RATIO};
use crate::facts::{growth::patterns, remedies::proposals, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Outlier documents
    ///
    /// ## What it checks
    /// Reports arrays that are short in 99 % of the documents and far too long in a few. The longest array has at
    /// least 1000 elements and ten times as many as the 99th percentile.
    ///
    /// D008 reports arrays that grow with age. Documents that already use overflow pages are not reported.
    ///
    /// ## Why it matters
    /// A design for the few very large documents slows down all others. A design for the others fails for the
    /// large ones, which are often the most read: the viral post, the bestseller.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_book
    /// x200 {"_id": $i, "title": "Book", "buyers": $array(5, "name $j")}
    /// {"_id": "bestseller", "title": "Book", "buyers": $array(2500, "name $j")}
    /// ```
    /// The first thousand elements stay inline, the others are on pages in a second collection:
    /// ```jsonl,clean,ns=db_shop.t_book
    /// x200 {"_id": $i, "title": "Book", "buyers": $array(5, "name $j"), "hasOverflow": false}
    /// {"_id": "bestseller", "title": "Book", "buyers": $array(1000, "name $j"), "hasOverflow": true}
    /// @ db_shop.t_book_overflow
    /// {"_id": 1, "bookId": "bestseller", "page": 2, "buyers": $array(1000, "name $j")}
    /// {"_id": 2, "bookId": "bestseller", "page": 3, "buyers": $array(500, "name $j")}
    /// ```
    ///
    /// ## How to fix
    /// Keep the first page inline and set a flag on documents with more pages. Write further pages to an overflow
    /// collection, which readers query only if the flag is set.
    ///
    /// ## When to ignore it
    /// The large documents are test data, or errors that will be removed.
    R008, "outlier-documents",
    level: Recommended,
    area: Growth,
    clauses: ["PT-outlier.1", "DM-08.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_RATIO, MIN_ELEMENTS, PAGE],
    data: ["limit", "max", "outliers", "p99", "pageSize", "pages"],
    check: Collection(check),
}

threshold!(
    PAGE,
    "page-elements",
    Int(1000),
    "elements",
    "PT-outlier.1, GC-04",
    "number of elements in the parent and on each page"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = Limits::of(cx.settings(), &collection.namespace);
    debug_assert!(
        limits.outlier_ratio == cx.limit(&MIN_RATIO)
            && limits.outlier_elements == cx.count(&MIN_ELEMENTS),
        "one reading of the thresholds"
    );
    let page = cx.count(&PAGE).max(1);
    for field in &profile.fields {
        let Some(array) = &field.array else { continue };
        let owner =
            arrays::owner(cx.settings(), cx.evidence(), collection, profile, field, &limits);
        if owner != Some(Owner::Outliers) {
            continue;
        }
        let lengths = &array.lengths;
        let ns = &collection.namespace;
        let style = proposals::field_style(profile);
        let parent = proposals::entity(&ns.collection);
        let parent_id = proposals::field_name(&parent, "id", style);
        let overflow = proposals::collection_name(
            cx.settings(),
            collection,
            &format!("{}_overflow", parent.join("_")),
        );
        let flag = patterns::overflow_flag(profile).map_or_else(
            || proposals::field_name(&["has".to_owned()], "overflow", style),
            |f| f.name.clone(),
        );
        let full = page.min(lengths.max);
        let giants = lengths.at_least(full).max(1);
        let pages = lengths.max.saturating_sub(page).div_ceil(page);
        let last = lengths.max.saturating_sub(page) - pages.saturating_sub(1) * page;
        cx.report(
            Draft::new(
                Subject::Field(ns.clone(), field.path.clone()),
                format!(
                    "the longest `{}` has {} elements, {} times the 99th percentile of {}; {} of {} arrays {} {} or more",
                    field.path,
                    text::count(lengths.max),
                    text::count(lengths.max / lengths.p99().max(1)),
                    text::count(lengths.p99()),
                    text::count(giants),
                    text::count(lengths.count),
                    text::form(giants, "has", "have"),
                    text::count(full),
                ),
                "a design for the few very long arrays slows down all documents, and a design for the others fails on them",
                if pages == 0 {
                    format!("set `{flag}` when the array is full, and write further elements to `{overflow}` in pages of {} (the first is page 2)", text::count(page))
                } else {
                    format!(
                        "keep the first {} elements in the document, set `{flag}`, and move the rest to `{overflow}` ({{{parent_id}, page, {}}}, unique index {{ {parent_id}: 1, page: 1 }}); the longest array needs {}, the last with {} elements",
                        text::count(page),
                        field.path.leaf(),
                        text::plural(pages, "page"),
                        text::count(last),
                    )
                },
                profile.seen_in(field, giants),
            )
            .data("p99", lengths.p99())
            .data("max", lengths.max)
            .data("limit", limits.outlier_elements)
            .data("outliers", giants)
            .data("pages", pages)
            .data("pageSize", page)
            .plan(
                Some("RF-05"),
                Safety::Safe,
                [Step::CreateIndex {
                    namespace: Namespace::new(ns.database.as_str(), overflow),
                    index: NewIndex::ascending([parent_id.as_str(), "page"]).unique(),
                }],
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use docward_model::DataValue;

    use crate::testing::{check, check_with};

    fn books(longest: u64, others: u64) -> String {
        format!(
            "x200 {{\"_id\": $i, \"buyers\": $array({others}, \"n$j\")}}\n{{\"_id\": \"b\", \"buyers\": $array({longest}, \"n$j\")}}"
        )
    }

    #[test]
    fn pt_outlier_1_pages_of_the_longest_are_counted() {
        let found = check_with("R008", "ns=db_shop.t_book", &books(2500, 5));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].data.get("pages"), Some(&DataValue::Int(2)));
        assert!(found[0].todo.contains("`hasOverflow`"), "{}", found[0].todo);
        assert!(
            found[0].todo.contains("`t_book_overflow` ({bookId, page, buyers}"),
            "{}",
            found[0].todo
        );
        assert!(
            found[0].todo.ends_with("the longest array needs 2 pages, the last with 500 elements"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn pt_outlier_1_ratio_and_length_are_both_needed() {
        assert_eq!(check("R008", &books(999, 5)), []);
        let found = check("R008", &books(1000, 5));
        assert_eq!(found.len(), 1);
        assert!(found[0].what.ends_with("1 of 201 arrays has 1,000 or more"), "{}", found[0].what);
        assert_eq!(check("R008", &books(2500, 300)), []);
    }

    #[test]
    fn pt_outlier_1_is_one_finding_with_the_large_array() {
        let body = books(2500, 5);
        assert_eq!(check("D009", &body), []);
        assert_eq!(check("D008", &body), []);
        assert!(check("R008", &body)[0].cites("DM-08.1"));
    }

    #[test]
    fn pt_outlier_1_ids_are_judged_alike() {
        let body = books(2500, 5).replace("\"n$j\"", "ObjectId(\"65f3a2b8c1d2e3f4a5b6c7d8\")");
        assert_eq!(check("R008", &body).len(), 1);
        assert_eq!(check("R006", &body), []);
    }
}
