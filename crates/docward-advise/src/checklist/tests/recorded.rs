//! Tests of items that recorded operations answer, and of places in deep documents.

use super::*;

const ITEMS: [&str; 4] = ["CK-9", "CK-11", "CK-12", "CK-15"];

fn finds(times: u32) -> String {
    format!(
        r#"{{"_id": 1, "a": 2}}
        ran x{times} {{"command": {{"find": "t_order_item", "filter": {{"_id": 1}}}}, "planSummary": "IDHACK", "docsExamined": 1, "nreturned": 1}}"#
    )
}

#[test]
fn ck_9_ck_11_ck_12_ck_15_a_few_operations_vouch_for_nothing() {
    for id in ITEMS {
        for times in [2, 19] {
            let few = item(id, "", &finds(times));
            assert_eq!(few.verdict, Verdict::Unknown, "{id}: {}", few.evidence);
            let said = format!("the workload shows {times} operations, too few to judge");
            assert!(few.evidence.contains(&said), "{id}: {}", few.evidence);
        }
        let enough = item(id, "", &finds(20));
        assert_eq!(enough.verdict, Verdict::Pass, "{id}: {}", enough.evidence);
        assert!(enough.evidence.ends_with(" (20 operations recorded)"), "{}", enough.evidence);
    }
}

fn joins(times: u32, of: u32) -> String {
    format!(
        r#"ran x{times} {{"command": {{"aggregate": "t_order_item", "pipeline": [{{"$match": {{"_id": 7}}}}, {{"$lookup": {{"from": "t_product", "localField": "p", "foreignField": "_id", "as": "x"}}}}]}}}}
        {}"#,
        finds(of - times)
    )
}

#[test]
fn ck_9_a_path_that_joins_every_time_fails_or_is_told() {
    let hot = item("CK-9", "", &joins(250, 750));
    assert_eq!(hot.verdict, Verdict::Fail);
    let said = "1 collection has a hot read path that almost always needs a second collection: \
     `db_shop.t_order_item`";
    assert_eq!(hot.evidence, said);
    let rare = item("CK-9", "", &joins(40, 750));
    assert_eq!(rare.verdict, Verdict::Pass);
    let said = "no hot read path in the workload needs a second collection every time; 1 read \
     path that comes rarely needs a second collection every time, in 40 operations (750 \
     operations recorded)";
    assert_eq!(rare.evidence, said);
}

#[test]
fn ck_12_query_patterns_are_counted_not_collections() {
    let scan = |field: &str| {
        format!(
            "ran x30 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"{field}\": 1}}}}, \"planSummary\": \"COLLSCAN\", \"docsExamined\": 5000, \"nreturned\": 1}}"
        )
    };
    let both = item("CK-12", "", &format!("{{\"_id\": 1}}\n{}\n{}", scan("a"), scan("b")));
    assert_eq!(both.evidence, "2 query patterns have no suitable index: `db_shop.t_order_item`");
}

#[test]
fn ck_3_the_deepest_place_is_named_also_where_it_holds_nothing() {
    let nested = |layers: usize, inside: &str| {
        let document = format!("{}{inside}{}", "{\"n\": ".repeat(layers), "}".repeat(layers));
        item("CK-3", "", &format!("x3 {{\"_id\": $i, \"x\": {document}}}"))
    };
    for inside in ["{}", "1"] {
        let deep = nested(40, inside);
        assert_eq!(deep.verdict, Verdict::Fail);
        assert!(deep.evidence.contains(" at `x.n.n.n.n.n.n.n.…`"), "{}", deep.evidence);
    }
    // Levels are counted around the deepest value, which may be an empty object.
    assert!(nested(40, "{}").evidence.starts_with("40 layers"), "{}", nested(40, "{}").evidence);
    let shallow = nested(2, "1");
    assert!(shallow.evidence.contains(" at `x.n.n`"), "{}", shallow.evidence);
}
