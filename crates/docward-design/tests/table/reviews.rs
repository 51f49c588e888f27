//! Tests how the finished design can speak against an embedded list: failing checks, lifetimes,
//! costs.

use crate::common::{Case, of};
use docward_design::{CheckId, Verdict};

const FOREVER: &str = "lifecycle: {growth: 10k/year, kept: forever}";

/// Returns a model of trips with payments that change atomically with them. Payments must be kept
/// longer.
fn trips(kept: &str, atomic: &str) -> Case {
    of(&format!(
        "deployment: {{shards: 4}}
entities:
  rider: {{count: 9M, {FOREVER}, fields: {{phone: {{type: string, bytes: 14}}}}}}
  trip: {{count: 900M, lifecycle: {{growth: 400M/year, kept: 7 years}}, fields: {{createTime: date, fare: decimal}}}}
  payment: {{count: 950M, lifecycle: {{growth: 420M/year, kept: {kept}}}, fields: {{providerRef: {{type: string, bytes: 24, unique: true}}, amount: decimal, createTime: date, state: {{type: string, values: [open, done]}}}}}}
relationships:
  rider.trips: {{child: trip, children: {{p50: 40, p99: 900, max: 12k}}, growth: 60/year}}
  trip.payments: {{child: payment, children: {{p50: 1, p99: 3, max: 8}}, growth: bounded}}
reads:
  profile: {{from: rider, where: [phone], limit: 1, rate: 9/s}}
  trips of a rider: {{from: trip, where: [rider], sort: {{createTime: -1}}, limit: 20, rate: 90/s}}
  settle: {{from: payment, where: [state], sort: {{createTime: 1}}, limit: 500, rate: 2/s}}
  callback: {{from: payment, where: [providerRef], limit: 1, rate: 12/s}}
  receipt: {{from: trip, where: [rider, _id], with: [trip.payments], rate: 1/min}}
writes:
  sign up: {{insert: rider, rate: 1/min}}
  ride: {{insert: trip, rate: 12/s}}
  pay: {{insert: payment, update: trip, sets: [trip.fare], rate: 12/s{atomic}}}
"
    ))
}

#[test]
fn dp_2_ck_12_ck_13_what_fails_because_of_an_embedded_list_makes_it_a_reference() {
    let case = trips("10 years", ", atomic: true");
    let payments = case.decision("trip.payments");
    assert_eq!(
        payments.verdict,
        Verdict::Reference,
        "{:?} {:#?}",
        payments.remarks,
        case.design.checks
    );
    let how = &payments.ruling.how;
    for said in ["CK-12 for `settle`", "DP-2 for `trip`"] {
        assert!(how.contains(said), "{said} in {how}");
    }
    let (holds, because) = case.check("CK-12");
    assert_eq!(holds, Some(true), "{because}");
    // Three failures outweigh the transaction that references need.
    let transaction = case.design.checks.iter().find(|check| check.id == CheckId::Atomicity);
    assert_eq!(transaction.and_then(|check| check.holds), Some(false));
    // Trips can now expire in time.
    let expiring = |name: &str| case.indexes(name).iter().any(|index| index.contains(" for "));
    assert!(expiring("trip") && expiring("payment"), "{:?}", case.indexes("trip"));
}

#[test]
fn dp_2_er_t_4_what_must_change_together_stays_where_less_would_be_right_without() {
    let one = of("entities:
  order: {count: 9M, lifecycle: {growth: 1M/year, kept: 2 years}, fields: {no: {type: string, bytes: 12}, total: decimal, createTime: date}}
  item: {count: 30M, lifecycle: {growth: 3M/year, kept: forever}, fields: {price: decimal}}
relationships:
  order.items: {child: item, children: {p50: 3, p99: 20, max: 80}, growth: bounded}
reads:
  page: {from: order, where: [no], with: [order.items], rate: 90/s}
writes:
  add: {insert: item, update: order, sets: [order.total], rate: 1/s, atomic: true}
  new: {insert: order, rate: 1/s}
");
    let items = one.decision("order.items");
    assert_eq!(items.verdict, Verdict::Embed);
    let remarks = items.remarks.join(" ");
    assert!(
        remarks.contains("DP-2 for `order`") && remarks.contains("it stays embedded"),
        "{remarks}"
    );
}

/// Returns a model of enrolments with essays. Reads find essays by enrolment, but never show both
/// together.
fn essays(bytes: &str, page: &str) -> Case {
    of(&format!(
        "entities:
  enrolment: {{count: 2M, {FOREVER}, fields: {{title: {{type: string, bytes: 20}}, progress: int}}}}
  essay: {{count: 20M, {FOREVER}, fields: {{text: {{type: string, bytes: {bytes}}}, createTime: date}}}}
relationships:
  enrolment.essays: {{child: essay, children: {{p50: 8, p99: 25, max: 40}}, growth: bounded}}
reads:
  progress: {{from: enrolment, where: [_id], rate: 400/s}}
  page: {{from: enrolment, where: [_id], {page}rate: 4/s}}
  grade: {{from: essay, where: [enrolment], limit: 1, rate: 4/s}}
writes:
  enrol: {{insert: enrolment, rate: 1/min}}
  hand in: {{insert: essay, rate: 1/s}}
  work: {{update: enrolment, sets: [enrolment.progress], rate: 20/s}}
"
    ))
}

#[test]
fn dm_05_1_dm_07_2_a_large_list_that_costs_more_in_every_operation_is_a_reference() {
    let large = essays("{typical: 10 KB, p99: 60 KB}", "");
    let decision = large.decision("enrolment.essays");
    assert_eq!(decision.verdict, Verdict::Reference, "{}", decision.ruling.how);
    assert_eq!(decision.ruling.decided_by, ["DM-05.1", "DM-07.2"]);
    assert!(decision.ruling.how.contains("no operation needs more documents"));
    // A small list stays embedded, and the report says so.
    let small = essays("{typical: 100, p99: 400}", "");
    let decision = small.decision("enrolment.essays");
    assert_eq!(decision.verdict, Verdict::Embed);
    let remarks = decision.remarks.join(" ");
    assert!(remarks.contains("is small, so it stays embedded (DM-05.1)"), "{remarks}");
    // A page that shows both would need more documents with references, so no remark appears.
    let shown = essays("{typical: 10 KB, p99: 60 KB}", "with: [enrolment.essays], ");
    let decision = shown.decision("enrolment.essays");
    assert!(!decision.ruling.decided_by.contains(&"DM-05.1"), "{}", decision.ruling.how);
}
