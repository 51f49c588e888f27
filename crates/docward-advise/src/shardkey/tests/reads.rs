//! Tests of the number and kinds of reads (SK-4, SK-9).

use super::*;

fn by_user(times: u32) -> String {
    format!(
        "{}ran x{times} {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7}}}}}}",
        orders()
    )
}

#[test]
fn sk_4_a_few_reads_say_nothing_about_a_key() {
    for (times, fields) in [(2, "userId"), (3, "region"), (19, "userId")] {
        let found = report(&by_user(times), &[fields]);
        let targeting = check(&found, "SK-4");
        assert_eq!(targeting.verdict, Verdict::Unknown, "{targeting:?}");
        let said = format!("the workload shows {times} reads of this collection, too few to judge");
        assert!(targeting.evidence.starts_with(&said), "{targeting:?}");
        assert_eq!((found.judged[0].targeted, found.reads), (None, Some(times.into())));
    }
    let enough = report(&by_user(20), &["userId"]);
    assert_eq!(check(&enough, "SK-4").verdict, Verdict::Pass);
    assert!(check(&enough, "SK-4").evidence.starts_with(
        "100 % of 20 reads filter on its first \
     field"
    ));
    // They do not prevent proposals either.
    let other = "ran x2 {\"command\": {\"find\": \"t_order_item\", \"filter\": {\"nobody\": 7}}}";
    let found = report(&format!("{}{other}", orders()), &[]);
    assert!(!found.proposals.is_empty(), "{:?}", found.nothing);
}

#[test]
fn sk_4_the_number_of_reads_is_that_of_the_rule_about_it() {
    let mut example = example(&by_user(2));
    let two = ThresholdSetting::Int(2);
    example.settings.overrides.push(override_at("db_shop.*", "W011", "min-count", two));
    let found =
        ask(&example, &KeyQuestion { keys: vec![key(&["userId"])], ..KeyQuestion::default() });
    assert_eq!(check(&found, "SK-4").verdict, Verdict::Pass);
}

#[test]
fn sk_4_reads_by_a_lookup_of_another_collection_count() {
    let lookup = |fields: &str| {
        format!(
            "{}\nran x60 {{\"ns\": \"db_shop.t_user\", \"command\": {{\"aggregate\": \"t_user\", \"pipeline\": [{{\"$lookup\": {{\"from\": \"t_order_item\", {fields}, \"as\": \"orders\"}}}}]}}}}",
            by_user(40)
        )
    };
    let plain = lookup("\"localField\": \"_id\", \"foreignField\": \"region\"");
    let found = report(&plain, &["userId"]);
    assert_eq!(found.reads, Some(100));
    let targeting = check(&found, "SK-4");
    assert_eq!(targeting.verdict, Verdict::Fail);
    let said = "40 % of 100 reads (60 by a $lookup of other collections) filter on its first field";
    assert!(targeting.evidence.starts_with(said), "{targeting:?}");
    // The fields that a pipeline filters by are unknown.
    assert_eq!(report(&lookup("\"pipeline\": []"), &["userId"]).reads, Some(40));
}

#[test]
fn sk_9_an_order_is_no_range() {
    let sorted = format!(
        "{}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7}}, \"sort\": {{\"userId\": 1}}}}}}",
        orders()
    );
    let found = report(&sorted, &["#userId"]);
    let ranges = check(&found, "SK-9");
    assert_eq!(ranges.verdict, Verdict::Pass, "{ranges:?}");
    assert!(ranges.evidence.starts_with("0 % of 90 reads ask for a range"), "{ranges:?}");
}
