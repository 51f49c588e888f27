//! Tests entities that are elements of lists: stored figures, copies, and how they are found.

use crate::common::{Case, of};

fn elements() -> Case {
    of(include_str!("../models/elements.yaml"))
}

#[test]
fn pt_computed_1_ck_11_counts_and_sums_are_kept_in_elements_of_a_list() {
    let case = elements();
    assert_eq!(case.named("option.votes"), ["parent-id-in-child", "computed"]);
    for path in ["voteCount", "weightSum", "weightAverage", "weightGivenCount"] {
        assert!(case.find("poll", &format!("options.{path}")).is_some(), "{path}");
    }
    assert!(case.indexes("poll").contains(&"{ options._id: 1 }".to_owned()));
    let (holds, because) = case.check("CK-11");
    assert_eq!(holds, Some(true), "{because}");
    let costs = &case.decision("option.votes").alternatives[0].operations;
    assert!(costs.iter().all(|cost| cost.name != "poll" || cost.documents == 1.0), "{costs:#?}");
}

#[test]
fn pt_computed_2_dm_09_6_a_check_sends_null_where_a_field_must_be_there() {
    let text = |amount: &str| {
        let model = format!(
            "name: shop\nentities:\n  shop: {{count: 1k, lifecycle: {{growth: 9/year, kept: forever}}, fields: {{name: {{type: string, bytes: 9}}}}}}\n  sale: {{count: 9M, lifecycle: {{growth: 1M/year, kept: forever}}, fields: {{amount: {{type: decimal, {amount}}}}}}}\nrelationships:\n  shop.sales: {{child: sale, children: {{p50: 900, p99: 9k, max: 90k}}, growth: endless}}\nreads:\n  shop: {{from: shop, where: [_id], count: [shop.sales], sum: {{shop.sales: amount}}, rate: 900/s}}\n  sale: {{from: sale, where: [_id], rate: 1/s}}\nwrites:\n  open: {{insert: shop, rate: 1/h}}\n  sell: {{insert: sale, rate: 1/s}}\n"
        );
        of(&model).file("check.js")
    };
    let null = text("nullable: true");
    assert!(null.contains("without.amount = null") && !null.contains("delete without"), "{null}");
    assert!(text("required: false").contains("delete without.amount"));
}

#[test]
fn pt_computed_1_what_else_a_list_would_keep_is_said_to_be_read() {
    let text = include_str!("../models/elements.yaml").replace(
        "count: [option.votes], sum: {option.votes: weight}, rate: 5000/s",
        "count: [option.votes], rate: 5000/s",
    );
    let shown = text.replace(
        "with: [poll.options], count",
        "with: {poll.options: all, option.votes: {newest: 3, by: createTime, fields: [createTime]}}, count",
    );
    assert_ne!(text, shown);
    let case = of(&shown);
    assert_eq!(case.named("option.votes"), ["parent-id-in-child", "computed"]);
    let remarks = case.decision("option.votes").remarks.join(" ");
    assert!(remarks.contains("which can keep only counts and sums of its `vote`"), "{remarks}");
    let (holds, because) = case.check("CK-9");
    assert_eq!(holds, Some(false), "{because}");
}

#[test]
fn pt_extref_2_copies_in_elements_are_refreshed_and_found_by_an_index() {
    let case = elements();
    assert!(case.indexes("order").contains(&"{ lines.dishId: 1 }".to_owned()));
    let refresh = case.job("refreshCopiesOfDish");
    let update = refresh.statements().into_iter().find(|s| s.collection == "order").unwrap();
    assert_eq!(update.filter().unwrap().keys().collect::<Vec<_>>(), ["lines.dishId"]);
    let set = update.update_part().unwrap().to_string();
    assert!(set.contains("lines.$[part].dish"), "{set}");
    assert_eq!(
        update.arguments[2].to_string(),
        "{ \"arrayFilters\": [{ \"part.dishId\": dishId }] }",
    );
    assert!(!refresh.does.contains("reads all"), "{}", refresh.does);
}

#[test]
fn pt_extref_2_what_no_write_changes_has_no_index_of_its_own() {
    let text = include_str!("../models/elements.yaml").replace(
        "menu: {insert: dish, update: dish, sets: [dish.name], rate: 1/min}",
        "menu: {insert: dish, rate: 1/min}",
    );
    let case = of(&text);
    assert!(!case.indexes("order").iter().any(|index| index.contains("dishId")));
    let refresh = case.job("refreshCopiesOfDish");
    assert!(refresh.does.contains("create an index on `lines.dishId` first"), "{}", refresh.does);
    let index = |case: &Case| case.decision("line.dish").alternatives[0].index_bytes;
    assert_eq!(index(&case), Some(0));
    assert!(index(&elements()).is_some_and(|bytes| bytes > 0));
}

#[test]
fn pt_outlier_1_ck_12_elements_are_found_in_parents_and_on_pages() {
    let case = elements();
    for collection in ["lot", "lot_bid_overflow"] {
        let indexes = case.indexes(collection);
        assert!(indexes.iter().any(|i| i.starts_with("{ bids.bidderId: 1")), "{indexes:?}");
    }
    // Some bids are on full pages, which are larger than parents.
    let bytes = |case: &Case| {
        let ways = &case.decision("lot.bids").alternatives;
        assert!(ways[0].chosen);
        ways[0].operations.iter().find(|cost| cost.name == "my bids").unwrap().bytes
    };
    let text = include_str!("../models/elements.yaml");
    let few = of(&text
        .replace("p50: 20, p95: 150, p99: 600, max: 9k", "p50: 20, p95: 150, p99: 600, max: 900"));
    assert!(bytes(&case) > 1.2 * bytes(&few), "{} {}", bytes(&case), bytes(&few));
}

#[test]
fn gc_07_a_parent_inside_of_another_document_is_known_by_its_own_id() {
    let case = elements();
    assert!(case.find("user", "profile._id").is_some());
    assert_eq!(case.named("profile.topics")[0], "child-ids-in-parent");
    assert_eq!(case.named("profile.groups")[0], "junction");
    assert_eq!(case.named("profile.teams")[0], "parent-ids-in-child");
}
