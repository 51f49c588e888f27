//! DM-08.1, LM-8: arrays of 1000 elements and more; bounded by design they are a note (GC-04).

use docward_model::{
    Collection, CollectionKind, CountedField, Distribution, Draft, Field, FieldPath, Level, Look,
    Safety, Step, Subject,
};

use crate::facts::growth::arrays::{self, Limits, Owner};
use crate::facts::growth::patterns::{self, Bound};
use crate::facts::{remedies::proposals, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Large array
    ///
    /// ## What it checks
    /// Reports arrays with 1000 elements or more, and arrays that exceed the limit declared for them. It is a
    /// note when the design bounds the array: a bucket, an overflow page, or a limit in the validator or in
    /// `docward.toml`. With counts from the server, Docward also reports long arrays in documents that it did not
    /// read.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - coordinates and vectors
    /// - arrays that another rule reports: D008 (growth), R006 (ids), R008 (outliers), R011 (many-to-many), D003
    ///   (oversized documents)
    ///
    /// ## Why it matters
    /// An update inside a long array searches it from the start and rewrites all of it. If the array is indexed,
    /// one document has as many index entries as elements.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "cells": $array(1000, {"row": $j})}
    /// ```
    /// ```jsonl,clean
    /// {"_id": 1, "cells": $array(999, {"row": $j})}
    /// ```
    ///
    /// ## How to fix
    /// Keep the elements that are read with the document, such as the newest few. Move the whole list to its own
    /// collection, or split it into pages or buckets.
    ///
    /// ## When to ignore it
    /// The list has a natural limit, is read as a whole and is not indexed. Declare the limit under
    /// `[[collections.bounded]]`.
    D009, "large-array",
    level: Recommended,
    area: Growth,
    severities: [Warn, Info],
    clauses: ["DM-08.1", "LM-8"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Counts],
    thresholds: [MAX_ELEMENTS],
    data: ["bounded", "limit", "max", "over", "p99"],
    check: Collection(check),
}

threshold!(
    MAX_ELEMENTS,
    "max-elements",
    Int(1000),
    "elements",
    "DM-08.1, LM-8, GC-04",
    "arrays of this length or more are reported"
);

/// The cost of a long array.
const WALKS: &str = "MongoDB scans and rewrites the whole array for each update inside it";

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let limit = cx.count(&MAX_ELEMENTS);
    let limits = Limits::of(cx.settings(), &collection.namespace);
    rare(collection, limit, cx);
    let Some(profile) = patterns::user_documents(collection) else { return };
    for field in &profile.fields {
        let Some(array) = &field.array else { continue };
        let owner =
            arrays::owner(cx.settings(), cx.evidence(), collection, profile, field, &limits);
        let bound = patterns::bound(cx.settings(), collection, profile, field);
        if !matches!(owner, None | Some(Owner::Large))
            || matches!(bound, Some(Bound::Geometry | Bound::Vector(_)))
        {
            continue;
        }
        // The server's count covers all documents and is better than the sample. If only this count shows that some
        // arrays are long, `rare` contains it.
        let is_long =
            |counted: &CountedField| counted.lengths.count > 0 && array.lengths.max >= limit;
        let counted = collection.counted.as_ref().and_then(|all| {
            let counted = all.field(field.path.as_str()).filter(|counted| is_long(counted))?;
            Some((&counted.lengths, all.seen()))
        });
        let (lengths, seen) = match counted {
            Some((lengths, seen)) => (lengths, Some(seen)),
            None => (&array.lengths, None),
        };
        // The bound of the documents that were read does not hold if other arrays are longer.
        let bound =
            bound.filter(|bound| lengths.max <= array.lengths.max || is_kept(bound, lengths.max));
        // Pages of exactly the limit are accepted as a bound, also when only the data shows it (GC-04).
        let at_limit = matches!(bound, Some(Bound::Capped(n)) if n == limit);
        let by_design = at_limit || bound.as_ref().is_some_and(Bound::is_by_design);
        let ns = &collection.namespace;
        let declared = cx
            .settings()
            .array_cap(ns, field.path.as_str())
            .filter(|&cap| bound.is_none() && lengths.max > cap);
        if lengths.max < limit && declared.is_none() {
            continue;
        }
        let over = lengths.at_least(declared.map_or(limit, |cap| cap + 1));
        let index = index_on(collection, field);
        let child = proposals::child(cx.evidence(), cx.settings(), collection, profile, field);
        let mut what = match declared {
            Some(cap) => format!(
                "`{}` exceeds its declared limit of {} in {} of {}: p99 {}, longest {}",
                field.path,
                text::count(cap),
                text::count(over),
                text::plural(lengths.count, "array"),
                text::count(lengths.p99()),
                text::count(lengths.max),
            ),
            None => lengths_text(field.path.as_str(), lengths, limit),
        };
        if let Some(index) = index {
            what.push_str(&format!("; index `{index}` has an entry for each element"));
        }
        if declared.is_none()
            && let Some(broken) = patterns::broken_cap(cx.settings(), collection, field)
        {
            what.push_str(&format!("; {broken}"));
        }
        if let Some(bound) = &bound {
            what.push_str(&format!("; it is {}", bound.describe()));
        }
        cx.report(
            Draft::new(
                Subject::Field(ns.clone(), field.path.clone()),
                what,
                if index.is_some() {
                    "every element has an index entry, and one update of the array can change many of them"
                } else {
                    WALKS
                },
                if at_limit {
                    format!(
                        "no change is needed while arrays keep this limit; enforce it with `maxItems` {limit} for `{}` in the validator, or with `$slice` of {} in every push",
                        field.path.dotted(),
                        limit.saturating_sub(1)
                    )
                } else if by_design {
                    "no change is needed while arrays keep this limit; pages of 999 elements, or shorter buckets, avoid this finding".to_owned()
                } else if patterns::is_open_bucket(profile, field) {
                    proposals::close_bucket(field)
                } else {
                    format!(
                        "keep only the newest elements and move all elements ({}) to `{}` with `{}` and the index {}; if the array has a natural limit, declare it under `[[collections.bounded]]` and set `maxItems`",
                        match seen {
                            Some(_) => text::count(lengths.sum),
                            None => text::in_all(profile, lengths.sum, text::count),
                        },
                        child.collection,
                        child.parent_id,
                        child.index,
                    )
                },
                seen.unwrap_or_else(|| profile.seen_in(field, over)),
            )
            .data("p99", lengths.p99())
            .data("max", lengths.max)
            .data("limit", declared.unwrap_or(limit))
            .data("over", over)
            .data("bounded", by_design)
            .level(if by_design { Level::Information } else { Level::Recommended }),
        );
    }
}

/// Whether an array of this length complies with a bound.
fn is_kept(bound: &Bound, length: u64) -> bool {
    match bound {
        Bound::Geometry | Bound::Vector(_) => true,
        Bound::Declared(most)
        | Bound::Validator(most)
        | Bound::Bucket(most)
        | Bound::OverflowPage(most)
        | Bound::Preview(most)
        | Bound::Capped(most)
        | Bound::FixedLength(most) => length <= *most,
    }
}

/// Arrays that only the server's count shows to be long, because few are.
fn rare(collection: &Collection, limit: u64, cx: &mut Cx<'_>) {
    let Some(counted) = &collection.counted else { return };
    if collection.kind == CollectionKind::TimeSeries || patterns::holds_server_buckets(collection) {
        return;
    }
    let read = patterns::user_documents(collection);
    for field in &counted.fields {
        let lengths = &field.lengths;
        let ns = &collection.namespace;
        let over = lengths.at_least(limit);
        // Vectors contain fractions and have the same length in each document. Lists of ids and of whole numbers are
        // lists.
        let are_vectors =
            field.long_vectors == over && lengths.count > 1 && lengths.min == lengths.max;
        if over == 0 || are_vectors {
            continue;
        }
        let known = read.and_then(|profile| {
            let known = profile.field(&field.name)?;
            Some((known, patterns::bound(cx.settings(), collection, profile, known)))
        });
        let is_told = known.as_ref().is_some_and(|(known, bound)| {
            known.array.as_ref().is_some_and(|array| array.lengths.max >= limit)
                || matches!(bound, Some(Bound::Geometry | Bound::Vector(_)))
        });
        let cap = cx.settings().array_cap(ns, &field.name);
        if is_told || cap.is_some_and(|cap| lengths.max <= cap) {
            continue;
        }
        cx.report(
            Draft::new(
                Subject::Field(ns.clone(), FieldPath::new(&field.name)),
                lengths_text(&field.name, lengths, limit),
                WALKS,
                "look at the longest arrays, which the server counted but Docward did not read; then keep only the newest elements and move all to a separate collection",
                counted.seen(),
            )
            .data("p99", lengths.p99())
            .data("max", lengths.max)
            .data("limit", limit)
            .data("over", over)
            .data("bounded", false)
            .plan(
                None,
                Safety::Safe,
                [Step::Inspect {
                    namespace: ns.clone(),
                    look: Look::LongArrays {
                        path: FieldPath::new(&field.name),
                        elements: limit,
                    },
                }],
            ),
        );
    }
}

/// Returns a sentence with the number of long arrays and their lengths.
fn lengths_text(path: &str, lengths: &Distribution, limit: u64) -> String {
    let over = lengths.at_least(limit);
    format!(
        "{} of {} in `{path}` {} {} elements or more: p99 {}, longest {}",
        text::count(over),
        text::plural(lengths.count, "array"),
        text::form(over, "has", "have"),
        text::count(limit),
        text::count(lengths.p99()),
        text::count(lengths.max),
    )
}

/// An index that has an entry per element.
fn index_on<'a>(collection: &'a Collection, field: &Field) -> Option<&'a str> {
    let dotted = field.path.dotted();
    let inside = format!("{dotted}.");
    collection.indexes.as_ref()?.iter().find_map(|index| {
        index
            .keys
            .iter()
            .any(|key| key.path == dotted || key.path.starts_with(&inside))
            .then_some(index.name.as_str())
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_08_1_maps_and_grids_are_no_lists() {
        let map = r#"{"type": "Topology", "objects": {"all": {"type": "GeometryCollection", "geometries": $array(1200, {"type": "Polygon", "arcs": [[1, 2, 3]]})}}, "arcs": $array(1500, [[1, 2], [3, 4], [5, 6]])}"#;
        assert_eq!(check("D009", map), []);
        assert_eq!(check("D003", map), []);
        let grid = r#"{"width": 40, "height": 50, "values": $array(2000, 7)}"#;
        assert_eq!(check("D009", grid), []);
        let list = r#"{"width": 41, "height": 50, "values": $array(2000, 7)}"#;
        assert_eq!(check("D009", list).len(), 1);
    }

    use docward_model::{Counted, CountedField, DataValue, Distribution, Severity, TypeCounts};

    use crate::testing::{check, check_counted, check_sampled, check_with};

    #[test]
    fn dm_08_1_999_passes_1000_warns() {
        let body = |n: u64| format!("{{\"_id\": 1, \"cells\": $array({n}, {{\"row\": $j}})}}");
        assert_eq!(check("D009", &body(999)), []);
        let found = check("D009", &body(1000));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert_eq!(found[0].clauses, ["DM-08.1", "LM-8"]);
        assert_eq!(found[0].data.get("max"), Some(&DataValue::Int(1000)));
    }

    #[test]
    fn lm_8_nested_arrays_count_too() {
        let body = "{\"_id\": 1, \"sheets\": [{\"cells\": $array(1000, 7)}]}";
        let found = check("D009", body);
        assert_eq!(found[0].at.path().map(|p| p.as_str()), Some("sheets[].cells"));
    }

    #[test]
    fn gc_04_pages_of_exactly_1000_are_information() {
        let page =
            "x3 {\"_id\": $i, \"book_id\": 7, \"page\": 2, \"customers\": $array(1000, \"c$j\")}";
        let found = check_with("D009", "ns=db_shop.t_book_overflow", page);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.ends_with("a page of at most 1,000 elements"), "{}", found[0].what);
    }

    #[test]
    fn gc_04_a_validator_makes_it_information() {
        let body = "options {\"validator\": {\"$jsonSchema\": {\"properties\": {\"cells\": {\"maxItems\": 5000}}}}}\n{\"_id\": 1, \"cells\": $array(1000, 7)}";
        assert_eq!(check("D009", body)[0].severity, Severity::Info);
    }

    #[test]
    fn an_index_on_the_array_is_named() {
        let body = "index {\"key\": {\"cells.row\": 1}, \"name\": \"cells.row_1\"}\n{\"_id\": 1, \"cells\": $array(1000, {\"row\": $j})}";
        assert!(check("D009", body)[0].what.contains("`cells.row_1`"));
    }

    #[test]
    fn vectors_and_coordinates_are_no_lists() {
        let vector = "x3 {\"_id\": $i, \"embedding\": $array(1536, 0.25)}";
        assert_eq!(check("D009", vector), []);
        let ring = "{\"_id\": 1, \"area\": {\"type\": \"Polygon\", \"coordinates\": [$array(1500, [1.5, 2.5])]}}";
        assert_eq!(check("D009", ring), []);
    }

    #[test]
    fn the_limit_is_a_threshold() {
        let body = "{\"_id\": 1, \"cells\": $array(250, 7)}";
        assert_eq!(check_with("D009", "max-elements=250", body).len(), 1);
    }

    #[test]
    fn a_declared_limit_is_held_to() {
        let body = "{\"_id\": 1, \"cells\": $array(60, 7)}";
        assert_eq!(check_with("D009", "cap=db_shop.*:cells:60", body), []);
        let found = check_with("D009", "cap=db_shop.*:cells:50", body);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.contains("declared limit of 50"), "{}", found[0].what);
    }

    #[test]
    fn gc_04_a_pile_at_exactly_1000_is_information_from_one_rule() {
        let body = "x30 {\"_id\": $i, \"cells\": $array(1000, {\"n\": $j})}";
        let found = check("D009", body);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("`maxItems` 1000"), "{}", found[0].todo);
        assert_eq!(check("R020", body), []);
        // Arrays that accumulate at a length above the limit are reported and are not a pattern.
        let longer = body.replace("1000", "2000");
        assert_eq!(check("D009", &longer)[0].severity, Severity::Warn);
        assert_eq!(check("R020", &longer), []);
    }

    #[test]
    fn dm_08_1_a_rare_long_array_is_counted_by_the_server() {
        let counted = |max: u64, long_vectors: u64| {
            let lengths = Distribution {
                count: 500_000,
                min: 1,
                max,
                sum: 500_000,
                buckets: vec![(1, 1, 499_999), (max, max, 1)],
                exact: Some((1000, u64::from(max >= 1000))),
            };
            of_lengths(lengths, long_vectors)
        };
        fn of_lengths(lengths: Distribution, long_vectors: u64) -> Counted {
            let tags = CountedField {
                name: "tags".to_owned(),
                types: TypeCounts::default(),
                bytes: 0,
                lengths,
                long_vectors,
            };
            Counted { documents: 500_000, fields: vec![tags], ..Counted::default() }
        }
        let body = "x200 {\"_id\": $i, \"tags\": [\"a\"]}";
        let found = check_counted("D009", body, counted(1000, 0));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.starts_with("1 of 500,000 arrays in `tags` has"),
            "{}",
            found[0].what
        );
        let fix = found[0].fix.as_ref().map(|fix| fix.command());
        assert_eq!(
            fix.as_deref(),
            Some(
                "db.getSiblingDB(\"db_shop\").getCollection(\"t_order_item\").find({\"tags.999\": {$exists: true}}).limit(20)"
            )
        );
        assert_eq!(check_counted("D009", body, counted(999, 0)).len(), 0);
        assert_eq!(check_counted("D009", body, counted(1536, 1)).len(), 1, "ids, not a vector");
        let vectors = Distribution {
            count: 500_000,
            min: 1536,
            max: 1536,
            sum: 500_000 * 1536,
            buckets: vec![(1536, 1536, 500_000)],
            exact: Some((1000, 500_000)),
        };
        assert_eq!(
            check_counted("D009", "{\"_id\": 1}", of_lengths(vectors, 500_000)).len(),
            0,
            "vectors"
        );
        // A finding in the documents that were read is reported once, with the server's figures.
        let read = "x2 {\"_id\": $i, \"tags\": $array(1000, {\"row\": $j})}";
        let found = check_counted("D009", read, counted(4000, 0));
        assert_eq!(found.len(), 1);
        let what = "1 of 500,000 arrays in `tags` has 1,000 elements or more: p99 1, longest 4,000";
        assert_eq!(found[0].what, what);
        assert_eq!(found[0].seen.total, 500_000);
        assert!(found[0].todo.contains("all elements (500,000)"), "{}", found[0].todo);
        // If the server counted longer arrays, a length at which all documents read stop is no cap.
        let pile = "x30 {\"_id\": $i, \"tags\": $array(1000, {\"n\": $j})}";
        assert_eq!(check_counted("D009", pile, counted(1000, 0))[0].severity, Severity::Info);
        assert_eq!(check_counted("D009", pile, counted(4000, 0))[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_08_1_what_is_to_be_moved_is_told_of_the_whole_collection() {
        let body = "x10 {\"_id\": $i, \"cells\": $array($i+1000, {\"row\": $j})}";
        let whole = check("D009", body)[0].todo.clone();
        assert!(whole.contains("all elements (10,045)"), "{whole}");
        let sampled = check_sampled("D009", body, 10_000)[0].todo.clone();
        assert!(sampled.contains("all elements (about 10,045,000)"), "{sampled}");
    }
}
