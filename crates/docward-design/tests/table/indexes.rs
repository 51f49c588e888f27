//! CK-12: equality, sort, range, and the exceptions.

use crate::common::{Case, of};

fn model(reads: &str) -> Case {
    of(&format!(
        "entities:
  thing:
    count: 1000
    lifecycle: {{growth: 0, kept: 30 days}}
    fields: {{a: string, b: string, c: int, code: {{type: string, unique: true}}, tags: {{type: array, items: 9}}, marks: {{type: array, items: 9}}}}
reads:
{reads}
writes:
  w: {{insert: [thing], rate: 1/h}}
"
    ))
}

#[track_caller]
fn first(read: &str) -> String {
    model(&format!("  r: {{from: thing, {read}, rate: 1/s}}")).indexes("thing")[0].clone()
}

#[test]
fn ck_12_equality_then_sort_then_range() {
    assert_eq!(first("where: {c: range, a: equal}, sort: {b: -1}"), "{ a: 1, b: -1, c: 1 }");
    assert_eq!(first("where: [a, b]"), "{ a: 1, b: 1 }");
    assert_eq!(first("sort: [b]"), "{ b: 1 }");
}

#[test]
fn ck_12_a_range_that_leaves_little_stands_before_the_sort() {
    assert_eq!(first("where: {c: narrow-range, a: equal}, sort: {b: -1}"), "{ a: 1, c: 1, b: -1 }");
    assert_eq!(first("where: {c: narrow-range, a: equal}"), "{ a: 1, c: 1 }");
}

#[test]
fn ck_12_one_of_200_values_is_equality_and_of_201_a_range() {
    assert_eq!(first("where: {c: {one-of: 3}}, sort: {b: 1}"), "{ c: 1, b: 1 }");
    assert_eq!(first("where: {c: {one-of: 200}}, sort: {b: 1}"), "{ c: 1, b: 1 }");
    assert_eq!(first("where: {c: {one-of: 201}}, sort: {b: 1}"), "{ b: 1, c: 1 }");
}

#[test]
fn ck_12_one_index_serves_what_it_begins_with() {
    let case = model(
        "  short: {from: thing, where: [a], rate: 1/s}\n  long: {from: thing, where: [a, b], rate: 1/s}",
    );
    assert_eq!(case.indexes("thing"), ["{ a: 1, b: 1 }", "{ code: 1 } unique"]);
    assert_eq!(case.collection("thing").indexes[0].serves, ["`long`", "`short`"]);
}

#[test]
fn ck_12_by_id_there_is_one_already() {
    let case = model("  r: {from: thing, where: [_id], rate: 1/s}");
    assert_eq!(case.indexes("thing"), ["{ code: 1 } unique"]);
}

#[test]
fn ck_12_an_index_goes_through_one_array() {
    let case = model("  r: {from: thing, where: [tags, marks, a], rate: 1/s}");
    assert_eq!(case.indexes("thing")[0], "{ tags: 1, a: 1 }");
    assert_eq!(
        case.collection("thing").indexes[0].notes,
        ["an index goes through one array only, so `marks` is left out"]
    );
}

#[test]
fn what_is_kept_for_a_time_goes_by_itself() {
    let text = "entities:
  thing: {count: 9, lifecycle: {growth: 0, kept: 30 days}, fields: {a: string, at: date}}
reads: {r: {from: thing, where: [a], rate: 1/s}}
writes: {w: {insert: [thing], rate: 1/h}}
";
    assert_eq!(of(text).indexes("thing"), ["{ a: 1 }", "{ at: 1 } for 2592000 s"]);
    let forever = of(&text.replace("30 days", "forever"));
    assert_eq!(forever.indexes("thing"), ["{ a: 1 }"]);
}
