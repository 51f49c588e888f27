//! What must hold whatever a model says: costs do not depend on the order of the file, vetoes look at large
//! children, and nothing lets young documents go.

use docward_design::{Bounds, Design, Verdict, design, read};
use docward_model::ProfileName;

fn designed(text: &str) -> Design {
    let model = read("model.yaml", text).unwrap_or_else(|faults| panic!("{faults:?}"));
    design(&model, ProfileName::Vendor, &Bounds::default())
}

const USER: &str = "
entities:
  user: {count: 1k, fields: {name: string, birthDate: date}, lifecycle: {growth: 1/day, kept: 1 year}}
  photo: {fields: {data: {type: binData, bytes: {typical: 1 MB, p99: 15 MB}}}, lifecycle: {growth: 1/day, kept: forever}}
  address: {fields: {city: string}, lifecycle: {growth: 1/day, kept: forever}}
reads:
  page: {rate: 9/s, from: user, where: [_id], with: [user.photo, user.addresses]}
writes:
  sign up: {rate: 1/s, insert: [user, photo, address]}
relationships:
";
const PHOTO: &str = "  user.photo: {child: photo, children: 1}\n";
const ADDRESSES: &str =
    "  user.addresses: {child: address, children: {p50: 1, p99: 3, max: 5}, growth: bounded}\n";

#[test]
fn er_m_6_er_f_7_a_child_that_is_large_at_p99_is_not_embedded() {
    let design = designed(&format!("{USER}{PHOTO}{ADDRESSES}"));
    let photo = &design.decisions[0];
    assert_eq!(photo.verdict, Verdict::Reference, "{:#?}", photo.ruling);
    assert!(photo.facts.projected() > 15_000_000);
}

#[test]
fn dp_1_costs_do_not_depend_on_the_order_of_the_file() {
    let (one, other) = (
        designed(&format!("{USER}{PHOTO}{ADDRESSES}")),
        designed(&format!("{USER}{ADDRESSES}{PHOTO}")),
    );
    for decision in &one.decisions {
        let same = other.decisions.iter().find(|d| d.relationship == decision.relationship);
        assert_eq!(decision.alternatives, same.unwrap().alternatives, "{}", decision.relationship);
    }
}

#[test]
fn a_birthday_lets_no_document_go() {
    let design = designed(&format!("{USER}{PHOTO}{ADDRESSES}"));
    let user = design.collections.iter().find(|c| c.entity == "user").unwrap();
    assert!(user.indexes.iter().all(|index| index.expire_after.is_none()), "{:?}", user.indexes);
    let advice = design.entities.iter().find(|a| a.entity == "user").unwrap();
    assert!(advice.remarks.iter().any(|r| r.contains("no date field")), "{:?}", advice.remarks);
    let better = USER.replace("birthDate: date", "birthDate: date, createTime: date");
    let design = designed(&format!("{better}{PHOTO}{ADDRESSES}"));
    let user = design.collections.iter().find(|c| c.entity == "user").unwrap();
    let expiring: Vec<_> = user.indexes.iter().filter(|i| i.expire_after.is_some()).collect();
    assert_eq!(expiring.len(), 1);
    assert_eq!(expiring[0].keys, [("createTime".to_owned(), false)]);
}
