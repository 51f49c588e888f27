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
fn ck_12_pt_ref_1_what_is_unique_takes_no_index_of_the_parent_along() {
    let case = of("entities:
  a: {count: 1k, lifecycle: {growth: 0, kept: forever}, fields: {n: int}}
  b: {count: 1M, lifecycle: {growth: 1M/year, kept: forever}, fields: {code: {type: string, bytes: 8, unique: true}, t: date}}
relationships:
  a.bs: {child: b, children: {p50: 500, p95: 2000, p99: 3000, max: 9000}, growth: endless}
reads:
  one: {from: b, where: [a, code], rate: 5/s}
  all: {from: a, where: [_id], with: [a.bs], rate: 5/s}
writes:
  w: {insert: [a, b], update: a, rate: 1/min}
");
    assert_eq!(case.indexes("b"), ["{ aId: 1 }", "{ code: 1 } unique"]);
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
        ["an index can contain only one array, so `marks` is left out"]
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

#[test]
fn ck_12_the_newest_few_without_a_preview_have_an_index_in_their_order() {
    let text = "entities:
  item: {count: 1k, lifecycle: {growth: 10/year, kept: forever}, fields: {code: {type: string, unique: true}}}
  offer: {count: 900k, lifecycle: {growth: 100k/year, kept: forever}, fields: {price: decimal, left: int, createTime: date}}
relationships:
  item.offers: {child: offer, children: {p50: 800, p95: 900, p99: 9000, max: 40k}, growth: endless, must-be-current: [left]}
reads:
  r: {from: item, where: [code], with: {item.offers: {newest: 3, by: createTime, fields: [price, left]}}, rate: 300/s}
writes:
  w: {insert: [item, offer], update: offer, sets: [offer.left], rate: 1/min}
";
    let case = of(text);
    assert_eq!(case.named("item.offers"), ["parent-id-in-child"]);
    assert_eq!(case.indexes("offer"), ["{ itemId: 1, createTime: -1 }"]);
    assert_eq!(case.check("CK-12").0, Some(true));
    // Each sort field gets an index. Without a sort field, the id is used.
    let two = of(&text.replace(
        "writes:",
        "  q: {from: item, where: [code], with: {item.offers: {newest: 5, by: price, fields: [left]}}, rate: 30/s}\nwrites:",
    ));
    assert_eq!(two.indexes("offer"), ["{ itemId: 1, createTime: -1 }", "{ itemId: 1, price: -1 }"]);
    let by_id = of(&text.replace(", by: createTime", "").replace(", createTime: date", ""));
    assert_eq!(by_id.indexes("offer"), ["{ itemId: 1, _id: -1 }"]);
}

#[test]
fn ck_12_what_is_found_by_ids_out_of_pairs_has_no_other_index() {
    let case = of(&pairs(5));
    assert_eq!(case.named("case.parties"), ["junction"]);
    assert!(case.indexes("case").is_empty(), "{:?}", case.indexes("case"));
}

/// Returns a model of cases and parties with enough on both sides that junction documents link
/// them.
pub(crate) fn pairs(rate: u32) -> String {
    format!(
        "entities:
  case: {{count: 500k, lifecycle: {{growth: 6k/year, kept: forever}}, fields: {{status: {{type: string, values: [open, closed]}}, openTime: date}}}}
  party: {{count: 1M, lifecycle: {{growth: 60k/year, kept: forever}}, fields: {{name: {{type: string, bytes: 20}}}}}}
relationships:
  case.parties: {{child: party, children: {{p50: 1, p95: 5, p99: 20, max: 3000}}, growth: bounded, parents: {{p50: 1, p95: 5, p99: 90, max: 4k}}}}
reads:
  of a party: {{from: case, where: {{parties: equal, status: equal}}, sort: {{openTime: -1}}, limit: 20, rate: {rate}/min}}
  case: {{from: case, where: [_id], rate: 50/s}}
  party: {{from: party, where: [_id], rate: 50/s}}
writes:
  file: {{insert: [case, party], rate: 10/min}}
"
    )
}

#[test]
fn ck_12_an_index_waits_for_what_is_undecided() {
    let case = of("entities:
  student: {lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  enrolment: {lifecycle: {growth: 0, kept: forever}, fields: {state: string, startTime: date}}
relationships:
  student.enrolments: {child: enrolment}
reads:
  my courses: {from: enrolment, where: [student, state], sort: {startTime: -1}, rate: 9/s}
writes:
  w: {insert: [student, enrolment], rate: 1/h}
");
    assert_eq!(case.decision("student.enrolments").choice, None);
    assert!(case.indexes("enrolment").is_empty(), "{:?}", case.indexes("enrolment"));
    assert_eq!(case.check("CK-12"), (None, "1 relationship undecided"));
}

#[test]
fn ck_12_who_gives_what_is_unique_needs_no_other_index() {
    let case = model("  r: {from: thing, where: [a, code], sort: {b: 1}, rate: 1/s}");
    let indexes = case.indexes("thing");
    assert_eq!(indexes, ["{ code: 1 } unique"]);
    let serves = &case.collection("thing").indexes[0].serves;
    assert!(serves.contains(&"`r`".to_owned()), "{serves:?}");
    // A range on the unique field can match several documents.
    let case = model("  r: {from: thing, where: {a: equal, code: range}, rate: 1/s}");
    assert!(case.indexes("thing").contains(&"{ a: 1, code: 1 }".to_owned()));
}

/// Two relationships with the same entity are distinguished by their roles, each of which has its
/// own field.
#[test]
fn ck_12_a_role_is_the_id_that_it_stands_for() {
    let case = of("entities:
  hub: {count: 900, lifecycle: {growth: 0, kept: forever}, fields: {city: {type: string, bytes: 10}, capacity: int, code: {type: string, bytes: 6}, phone: {type: string, bytes: 12}}}
  shipment: {count: 20M, lifecycle: {growth: 8M/year, kept: forever}, fields: {state: string, createTime: date}}
relationships:
  shipment.origin: {child: hub, children: 1, parents: {p50: 20k, p99: 500k, max: 2M}, field: originHubId}
  shipment.destination: {child: hub, children: 1, parents: {p50: 20k, p99: 500k, max: 2M}, field: destinationHubId}
reads:
  track: {from: shipment, where: [_id], with: {shipment.origin: [city], shipment.destination: [city]}, rate: 300/s}
  out of a hub: {from: shipment, where: {origin: equal, state: equal, createTime: range}, sort: {createTime: -1}, limit: 100, rate: 5/s}
  hub: {from: hub, where: [code], rate: 1/s}
writes:
  w: {insert: [shipment, hub], rate: 1/s}
");
    let indexes = case.indexes("shipment");
    assert!(
        indexes.contains(&"{ originHubId: 1, state: 1, createTime: -1 }".to_owned()),
        "{indexes:?}"
    );
    assert_eq!(case.check("CK-12").0, Some(true));
}

#[test]
fn ck_12_elements_of_many_documents_are_sorted_at_every_read() {
    let case = |filter: &str| {
        of(&format!(
            "entities:
  buyer: {{count: 20k, lifecycle: {{growth: 0, kept: forever}}, fields: {{handle: string}}}}
  listing: {{count: 900k, lifecycle: {{growth: 0, kept: forever}}, fields: {{title: string}}}}
  bid: {{count: 4M, lifecycle: {{growth: 0, kept: forever}}, fields: {{price: decimal, createTime: date}}}}
relationships:
  listing.bids: {{child: bid, children: {{p50: 4, p95: 20, p99: 40, max: 90}}, growth: bounded}}
  buyer.bids: {{child: bid, children: {{p50: 20, p95: 90, p99: 2k, max: 9k}}, growth: endless}}
reads:
  listing: {{from: listing, where: [_id], with: [listing.bids], rate: 90/s}}
  bids: {{from: bid, where: {{{filter}}}, sort: {{createTime: -1}}, rate: 1/s}}
  buyer: {{from: buyer, where: [_id], rate: 1/s}}
writes:
  bid: {{insert: bid, update: listing, rate: 1/s, atomic: true}}
  w: {{insert: [listing, buyer], rate: 1/s}}
"
        ))
    };
    let of_buyer = case("buyer: equal, createTime: range");
    let (holds, why) = of_buyer.check("CK-12");
    assert!(holds == Some(false) && why.contains("sorted at every read"), "{why}");
    assert!(why.contains("read them by their parent (name it in `where`)"), "{why}");
    // The documents of one listing are in one document.
    assert_eq!(case("listing: equal").check("CK-12").0, Some(true));
}
