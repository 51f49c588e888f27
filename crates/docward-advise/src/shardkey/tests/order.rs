//! Tests of SK-3 if the order of documents may differ from the order of inserts.

use super::*;

/// 500 documents with consecutive ids, stored by sixteen threads: each takes every sixteenth one.
fn stored_in_runs(id: impl Fn(u32) -> String) -> String {
    let numbers = (0..16u32).flat_map(|thread| (0..32).map(move |n| n * 16 + thread));
    numbers.filter(|n| *n < 500).map(|n| format!("{{\"_id\": {}}}\n", id(n))).collect()
}

fn read_from_a_copy(body: &str, fields: &[&str]) -> KeyReport {
    let mut example = example(body);
    example.evidence.collections[0].profile.as_mut().expect("documents").copied = true;
    ask(&example, &KeyQuestion { keys: vec![key(fields)], ..KeyQuestion::default() })
}

#[test]
fn sk_3_the_order_of_a_member_that_copies_makes_no_key_good() {
    let body = stored_in_runs(|n| format!("\"{}\"", noise(n)));
    let sure = report(&body, &["_id"]);
    assert_eq!(check(&sure, "SK-3").verdict, Verdict::Pass, "{:?}", check(&sure, "SK-3"));
    let found = read_from_a_copy(&body, &["_id"]);
    assert_eq!(check(&found, "SK-3").verdict, Verdict::Unknown);
    let evidence = &check(&found, "SK-3").evidence;
    assert!(evidence.contains("come from a secondary"), "{evidence}");
    assert!(evidence.contains("readPreference=primary"), "{evidence}");
    assert!(proposed(&found).iter().all(|key| key != "{ _id: 1 }"), "{:?}", proposed(&found));
    // Values that increase even there do increase, and random ids need no order.
    let rising = documents(3000, |i| format!("\"_id\": {i}"));
    assert_eq!(check(&read_from_a_copy(&rising, &["_id"]), "SK-3").verdict, Verdict::Fail);
    let random =
        documents(3000, |i| format!("\"_id\": UUID(\"{:08x}-0000-4000-8000-{i:012x}\")", noise(i)));
    assert_eq!(check(&read_from_a_copy(&random, &["_id"]), "SK-3").verdict, Verdict::Pass);
}

/// A secondary that became primary keeps the storage order of its copies.
#[test]
fn sk_3_numbers_without_gaps_are_not_good_because_of_where_they_lie() {
    let found = report(&stored_in_runs(|n| n.to_string()), &["_id"]);
    assert_eq!(check(&found, "SK-3").verdict, Verdict::Unknown);
    let evidence = &check(&found, "SK-3").evidence;
    assert!(evidence.contains("almost without gaps"), "{evidence}");
    let sparse = report(&stored_in_runs(|n| noise(n).to_string()), &["_id"]);
    assert_eq!(check(&sparse, "SK-3").verdict, Verdict::Pass);
}
