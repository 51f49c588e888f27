//! Tests the shop and the bank.

use docward_design::{Choice, Pattern, Purpose, StorageAlternative, Verdict, Vote};
use docward_model::BsonType;

use crate::common::{gallery, gallery_with, of, text_of};

#[test]
fn st_07_ap_s0_5_order_items_are_embedded_and_one_read_is_enough() {
    let shop = gallery("shop");
    let items = shop.decision("order.items");
    assert_eq!((items.verdict, items.choice), (Verdict::Embed, Some(Choice::Embed)));
    assert_eq!(items.ruling.decided_by, ["ER-T.1", "LM-7"]);
    assert_eq!(items.patterns, [Pattern::Embedded]);
    for row in ["ER-T.1", "ER-M.1", "ER-M.2", "ER-M.3", "ER-F.4", "DM-07.2", "DP-3"] {
        assert_eq!(shop.votes("order.items", row), [Vote::Embed], "{row}");
    }
    assert!(!shop.has_collection("item"));
    // The design needs one read for a page instead of two.
    let page = |way: StorageAlternative| {
        let alternative = items.alternatives.iter().find(|a| a.way == way).unwrap();
        let cost = alternative.operations.iter().find(|cost| cost.name == "order page").unwrap();
        (cost.documents, cost.transaction)
    };
    assert_eq!(page(StorageAlternative::Embed).0, 1.0);
    assert_eq!(page(StorageAlternative::Reference).0, 4.0, "the order and three items");
    let placing = |way: StorageAlternative| {
        let alternative = items.alternatives.iter().find(|a| a.way == way).unwrap();
        alternative.operations.iter().find(|c| c.name == "place an order").unwrap().transaction
    };
    assert_eq!(
        (placing(StorageAlternative::Embed), placing(StorageAlternative::Reference)),
        (false, true)
    );
    assert!(!items.needs_transaction);
}

#[test]
fn dm_07_1_a_shop_that_reads_items_alone_keeps_them_apart() {
    // The same model, but stock clerks constantly look up items without their orders.
    let reads = "reads:\n  items alone: {from: item, where: [quantity], rate: 500/s}";
    let text = text_of("shop").replace("reads:", reads);
    // Without atomic writes, nothing keeps items in their orders.
    let free = text.replace("    invariant: total is the sum of price times quantity\n", "");
    let free = of(&free.replace("    atomic: true\n", ""));
    assert_eq!(free.verdict("order.items"), Verdict::Reference);
    assert_eq!(free.votes("order.items", "ER-M.7"), [Vote::Reference]);
    assert!(free.has_collection("item"));
    // Atomicity wins, even with few items (ER-T.4, DP-3).
    let shop = of(&text);
    assert_eq!(shop.verdict("order.items"), Verdict::Embed);
    assert_eq!(shop.decision("order.items").ruling.decided_by, ["ER-T.4"]);
    assert_eq!(shop.check("CK-10").0, Some(true));
}

#[test]
fn st_26_pt_extref_1_orders_carry_name_and_email_of_their_customer() {
    let shop = gallery("shop");
    let patterns = shop.patterns("customer.orders");
    let [Pattern::ParentInChild, Pattern::ExtendedReference { fields, in_parent, changing }] =
        patterns
    else {
        panic!("{patterns:?}")
    };
    assert_eq!(
        (fields.as_slice(), *in_parent),
        (&["name".to_owned(), "email".to_owned()][..], false)
    );
    // Both fields change in profiles, so the user must decide whether orders follow.
    assert_eq!(changing, fields);
    assert_eq!(shop.field("order", "customerId").kind, BsonType::ObjectId);
    let note = |path: &str| shop.field("order", path).origin.note().unwrap();
    assert_eq!(note("customer.name"), "copy of `customer.name`");
    assert_eq!(note("customer.email"), "copy of `customer.email`");
}

#[test]
fn st_05_dm_08_3_orders_of_a_customer_are_never_an_array() {
    let shop = gallery("shop");
    let orders = shop.decision("customer.orders");
    assert_eq!(orders.verdict, Verdict::Reference);
    assert_eq!(orders.ruling.decided_by, ["DM-08.2", "CK-8", "ER-T.5"]);
    assert_eq!(shop.votes("customer.orders", "DM-08.2"), [Vote::Veto]);
    for field in &shop.collection("customer").fields {
        assert!(!field.name.contains("rder"), "{}", field.name);
    }
    assert!(shop.indexes("order").contains(&"{ customerId: 1, createTime: -1 }".to_owned()));
}

#[test]
fn dm_07_7_an_item_keeps_name_and_price_of_the_day() {
    let shop = gallery("shop");
    let patterns = shop.patterns("item.product");
    let expected = Pattern::ExtendedReference {
        fields: vec!["name".to_owned(), "price".to_owned()],
        in_parent: true,
        changing: vec!["price".to_owned()],
    };
    assert_eq!(patterns, [Pattern::ChildrenInParent, expected]);
    assert_eq!(shop.votes("item.product", "DM-07.6"), [Vote::Reference]);
    assert_eq!(shop.field("order", "items.productId").kind, BsonType::ObjectId);
    assert_eq!(shop.field("order", "items.product.name").kind, BsonType::String);
    assert_eq!(shop.field("order", "items.product.price").kind, BsonType::Decimal);
}

#[test]
fn st_28_pt_subset_1_a_product_shows_five_of_2847_reviews_count_and_average() {
    let shop = gallery("shop");
    let reviews = shop.decision("product.reviews");
    assert_eq!(reviews.verdict, Verdict::Hybrid);
    assert_eq!(reviews.facts.children.p99, 2847);
    let fields = ["author", "rating", "text"].map(str::to_owned).to_vec();
    assert_eq!(
        reviews.patterns,
        [
            Pattern::ParentInChild,
            Pattern::Subset { newest: 5, by: "createTime".to_owned(), fields },
            Pattern::Computed { counts: true, sums: vec!["rating".to_owned()] },
        ]
    );
    assert_eq!(shop.field("product", "recentReviews").items.unwrap().max, 5);
    // GC-36: elements contain their sort field.
    assert_eq!(shop.field("product", "recentReviews.createTime").kind, BsonType::Date);
    assert_eq!(shop.field("product", "reviewCount").kind, BsonType::Long);
    // GC-35: the sum is stored beside the count, so that the average is exact.
    assert_eq!(shop.field("product", "ratingSum").kind, BsonType::Long);
    assert_eq!(shop.field("product", "ratingAverage").kind, BsonType::Double);
    assert_eq!(shop.indexes("review"), ["{ productId: 1, createTime: -1 }", "{ author: 1 }"]);
}

#[test]
fn dm_05_1_lm_3_the_dates_on_which_reviews_would_cross_the_tiers() {
    let shop = gallery("shop");
    let reviews = shop.decision("product.reviews");
    let embed = reviews.alternatives.iter().find(|a| a.way == StorageAlternative::Embed).unwrap();
    let facts = &reviews.facts;
    let labels: Vec<&str> = embed.crossings.iter().map(|c| c.label).collect();
    assert_eq!(labels, ["100 KB", "1 MB", "10 MB", "16 MB"]);
    // 2,847 reviews exceed the first tier, so the crossing has happened.
    assert_eq!(embed.crossings[0].date.as_deref(), Some("2026-01"));
    assert_eq!(embed.crossings[0].years, Some(0.0));
    for crossing in &embed.crossings[1..] {
        let years = crossing.children.saturating_sub(facts.children.p99) as f64 / 900.0;
        assert!((crossing.years.unwrap() - years).abs() < 1e-9, "{crossing:?}");
        let from_january_2026 = 2026.0 + years * 365.0 / 365.2425;
        let year: f64 = crossing.date.as_ref().unwrap()[..4].parse().unwrap();
        assert!((year - from_january_2026.floor()).abs() <= 1.0, "{crossing:?}");
        // The tier has room for exactly this number of children.
        let base = facts.parent_bytes + docward_design::size::element("reviews", 0);
        // Nothing looks up a review by id, so neither the decision nor the table counts one.
        let (mean, large) = (facts.child_bytes, facts.child_p99);
        let size = |n: u64| base + docward_design::size::large_array(n, mean, large);
        let tier = match crossing.label {
            "1 MB" => 1_048_576,
            "10 MB" => 10_485_760,
            _ => 16_777_216,
        };
        assert!(size(crossing.children) <= tier && size(crossing.children + 1) > tier);
    }
    let hybrid = &reviews.alternatives[0];
    assert_eq!(hybrid.way, StorageAlternative::Hybrid);
    assert!(hybrid.crossings.is_empty(), "five reviews never cross anything");
    let (first, last) = (hybrid.parent.first().unwrap(), hybrid.parent.last().unwrap());
    assert_eq!((first.2, last.0), (last.2, 5), "and the product is as large in five years");
}

#[test]
fn st_22_pt_slice_1_the_audit_log_keeps_the_newest_hundred() {
    let shop = gallery("shop");
    let log = shop.decision("order.auditLog");
    assert_eq!(log.verdict, Verdict::Embed);
    assert_eq!(log.patterns, [Pattern::Embedded, Pattern::CappedArray { newest: 100 }]);
    assert_eq!(shop.field("order", "auditLog").items.unwrap().max, 100);
    // Without the limit, only overflow pages bound the list. It must also be read as a whole.
    let endless = gallery_with("shop", "    keep-newest: 100\n", "");
    assert_eq!(endless.named("order.auditLog"), ["embedded", "outlier"]);
    assert_eq!(endless.votes("order.auditLog", "PT-outlier.1"), [Vote::Abstain]);
}

#[test]
fn orders_that_have_grown_cold_go_to_an_archive() {
    let shop = gallery("shop");
    assert_eq!(shop.advice("order").patterns, [Pattern::Archive { days: 730 }]);
    assert_eq!(shop.collection("order_archive").purpose, Purpose::Archive);
    assert_eq!(shop.collection("order_archive").fields, shop.collection("order").fields);
}

#[test]
fn ck_12_the_indexes_of_the_shop() {
    let shop = gallery("shop");
    assert_eq!(shop.indexes("customer"), ["{ email: 1 } unique"]);
    assert_eq!(shop.indexes("product"), ["{ sku: 1 } unique"]);
    assert_eq!(
        shop.indexes("order"),
        [
            "{ orderNo: 1 } unique",
            "{ customerId: 1, createTime: -1 }",
            "{ status: 1, createTime: 1 }",
            "{ items.productId: 1 }",
            "{ createTime: 1 } for 315360000 s",
        ]
    );
}

#[test]
fn er_f_5_pt_extref_2_a_balance_is_never_copied() {
    let bank = gallery("bank");
    let account = bank.decision("payment.account");
    assert_eq!(account.verdict, Verdict::Reference);
    assert_eq!(account.ruling.decided_by, ["ER-F.5"]);
    assert_eq!(account.patterns, [Pattern::ChildrenInParent]);
    assert_eq!(account.remarks, ["`balance` must be current, so it is not copied (PT-extref.2)"]);
    assert!(bank.find("payment", "account").is_none());
    assert_eq!(bank.field("payment", "accountId").kind, BsonType::ObjectId);
    // If an outdated balance were acceptable, it would be copied.
    let old = gallery_with("bank", "    must-be-current: [balance]\n", "");
    assert!(old.named("payment.account").contains(&"extended-reference"));
    assert_eq!(old.field("payment", "account.balance").kind, BsonType::Decimal);
}

#[test]
fn ck_10_a_transfer_spans_two_documents_and_is_written_down() {
    let bank = gallery("bank");
    let entries = bank.decision("account.entries");
    assert_eq!(entries.verdict, Verdict::Reference);
    assert!(entries.needs_transaction);
    let (holds, because) = bank.check("CK-10");
    assert_eq!(holds, Some(true));
    assert!(because.starts_with("1 transaction declared"), "{because}");
    let silent = gallery_with("bank", "    transaction: true\n", "");
    let (holds, because) = silent.check("CK-10");
    assert_eq!(holds, Some(false));
    assert!(because.ends_with("`account.entries`"), "{because}");
}

#[test]
fn er_m_6_statements_have_an_end_but_no_room() {
    let bank = gallery("bank");
    let statements = bank.decision("account.statements");
    assert_eq!(statements.ruling.decided_by, ["ER-M.6", "ER-F.7"]);
    assert_eq!(statements.verdict, Verdict::Reference);
    assert_eq!(bank.advice("statement").patterns, [Pattern::Archive { days: 365 }]);
}

#[test]
fn sk_10_payments_are_sharded_by_customer_and_time() {
    let bank = gallery("bank");
    let plan = bank.shard("payment");
    assert_eq!(plan.key.text(), "{ customerId: 1, createTime: 1 }");
    assert!(plan.key.is_sound());
    assert_eq!(plan.key.targeted, 1.0);
    assert!(plan.zones.is_empty());
    assert_eq!(bank.shard("entry").key.text(), "{ accountId: 1, bookTime: 1 }");
}

#[test]
fn sk_11_accounts_stay_in_their_region() {
    let bank = gallery("bank");
    let plan = bank.shard("account");
    assert_eq!(plan.key.text(), "{ region: 1, customerId: 1 }");
    assert_eq!(plan.zones, ["EU", "US"]);
    // SK-13: `_id` increases within a region, so it is hashed.
    let customer = bank.shard("customer");
    assert_eq!(customer.key.text(), "{ region: 1, _id: \"hashed\" }");
    assert!(customer.key.is_sound(), "{:?}", customer.key.checks);
    let old = gallery_with("bank", "server: \"7.0\"", "server: \"4.2\"");
    let customer = &old.shard("customer").key;
    assert_eq!(customer.text(), "{ region: 1, _id: 1 }", "before 4.4 no hash behind a field");
    assert!(!customer.is_sound());
}

#[test]
fn every_version_of_a_contract_is_kept() {
    let bank = gallery("bank");
    assert_eq!(bank.advice("contract").patterns, [Pattern::DocumentVersioning]);
    assert_eq!(bank.collection("contract_versions").purpose, Purpose::Versions);
    assert_eq!(bank.field("contract", "version").kind, BsonType::Int);
    assert_eq!(bank.indexes("contract_versions"), ["{ contractId: 1, version: -1 } unique"]);
    // ER-M.7: a one-to-one relationship is still referenced, because the child is read alone.
    assert_eq!(bank.decision("account.contract").ruling.decided_by, ["ER-M.7", "DM-07.2"]);
}
