//! Tests from which side reads arrive at a relationship, and the resulting cost (CK-9, PT-extref.1,
//! PT-subset.1).

use docward_design::{OperationCost, Pattern, StorageAlternative};

use crate::common::{Case, WRITTEN, of, pair};

const LIFE: &str = "lifecycle: {growth: 1k/year, kept: forever}";

#[track_caller]
fn read<'c>(
    case: &'c Case,
    relationship: &str,
    way: StorageAlternative,
    name: &str,
) -> &'c OperationCost {
    let ways = &case.decision(relationship).alternatives;
    let way = ways.iter().find(|one| one.way == way).unwrap();
    way.operations.iter().find(|cost| cost.name == name).unwrap()
}

fn reviews(text: &str, page: &str, best: &str) -> Case {
    of(&format!(
        "entities:
  product: {{count: 90k, {LIFE}, fields: {{name: {{type: string, bytes: 30}}}}}}
  review: {{count: 50M, {LIFE}, fields: {{createTime: date, helpful: int, text: {{type: string, bytes: {text}}}}}}}
relationships:
  product.reviews: {{child: review, children: {{p50: 400, p95: 900, p99: 5k, max: 90k}}, growth: endless}}
reads:
  page: {{from: product, where: [_id], with: {{product.reviews: {{{page}}}}}, rate: 900/s}}
  best: {{from: product, where: [_id], with: {{product.reviews: {{{best}}}}}, rate: 800/s}}
writes:
  w: {{insert: review, rate: 1/s}}
  x: {{insert: product, rate: 1/h}}
"
    ))
}

#[test]
fn pt_subset_1_ck_9_ck_12_a_preview_answers_pages_of_its_order_alone() {
    let case = reviews("200", "newest: 5, by: createTime", "newest: 5, by: helpful");
    assert!(
        matches!(&case.patterns("product.reviews")[1], Pattern::Subset { by, .. } if by == "createTime")
    );
    assert_eq!(read(&case, "product.reviews", StorageAlternative::Hybrid, "page").documents, 1.0);
    assert_eq!(read(&case, "product.reviews", StorageAlternative::Hybrid, "best").documents, 6.0);
    assert_eq!(case.check("CK-9"), (Some(false), "more than one document: `best`"));
    let indexes = case.indexes("review");
    assert!(indexes.contains(&"{ productId: 1, helpful: -1 }".to_owned()), "{indexes:?}");
    assert_eq!(case.check("CK-12").0, Some(true));
}

#[test]
fn pt_subset_1_large_fields_of_one_page_leave_the_preview_of_another() {
    let page = "newest: 12, by: createTime, fields: [helpful]";
    let case = reviews("100 KB", page, "newest: 50, by: createTime, fields: [text]");
    assert!(matches!(&case.patterns("product.reviews")[1], Pattern::Subset { newest: 12, .. }));
    assert_eq!(read(&case, "product.reviews", StorageAlternative::Hybrid, "page").documents, 1.0);
    assert!(case.find("product", "recentReviews.text").is_none());
}

#[test]
fn pt_extref_1_ck_9_fields_of_children_are_not_copied_into_them() {
    let case = of(&format!(
        "entities:
  board: {{count: 30k, {LIFE}, fields: {{slug: {{type: string, bytes: 20, unique: true}}}}}}
  column: {{{LIFE}, fields: {{heading: {{type: string, bytes: 40}}}}}}
  card: {{count: 24M, {LIFE}, fields: {{title: {{type: string, bytes: 40}}, html: {{type: string, bytes: 300}}}}}}
relationships:
  board.columns: {{child: column, children: 8, growth: bounded}}
  column.cards: {{child: card, children: {{p50: 100, p95: 200, p99: 2000, max: 9k}}, growth: endless}}
reads:
  board: {{from: board, where: [slug], with: {{board.columns: all, column.cards: [title]}}, rate: 500/s}}
  card: {{from: card, where: [_id], rate: 9/s}}
writes:
  author: {{insert: [board, column], rate: 30/h}}
  add: {{insert: card, rate: 30/h}}
"
    ));
    assert_eq!(case.named("column.cards"), ["parent-id-in-child"]);
    assert!(case.find("card", "column").is_none());
    assert_eq!(case.check("CK-9"), (Some(false), "more than one document: `board`"));
}

#[test]
fn er_x_1_sums_that_are_worked_out_are_read_also_from_elsewhere() {
    let case = of(&format!(
        "entities:
  poll: {{count: 10k, {LIFE}, fields: {{title: {{type: string, bytes: 40}}}}}}
  option: {{{LIFE}, fields: {{text: {{type: string, bytes: 30}}}}}}
  vote: {{count: 4M, {LIFE}, fields: {{weight: int}}}}
relationships:
  poll.options: {{child: option, children: 4, growth: bounded}}
  option.votes: {{child: vote, children: {{p50: 100, p95: 1k, p99: 9k, max: 90k}}, growth: endless}}
reads:
  poll: {{from: poll, where: [_id], with: [poll.options], sum: {{option.votes: weight}}, rate: 5000/s}}
writes:
  author: {{insert: [poll, option], rate: 30/h}}
  vote: {{insert: vote, rate: 90000/s}}
"
    ));
    let poll = read(&case, "option.votes", StorageAlternative::Reference, "poll");
    assert_eq!(poll.documents, 401.0);
    // A read has the same figures in every table.
    let there = read(&case, "poll.options", StorageAlternative::Embed, "poll");
    assert_eq!((poll.documents, poll.bytes), (there.documents, there.bytes));
}

#[test]
fn er_x_1_insert_or_update_is_each_half_of_the_time() {
    let placed = |write: &str| {
        let case = of(&format!(
            "entities:
  order: {{count: 10k, {LIFE}, fields: {{no: int}}}}
  item: {{count: 200k, {LIFE}, fields: {{sku: int}}}}
relationships:
  order.items: {{child: item, children: 20, growth: bounded}}
reads:
  order: {{from: order, where: [_id], with: [order.items], rate: 9/s}}
writes:
  place: {{{write}, rate: 3/s}}
"
        ));
        let cost = read(&case, "order.items", StorageAlternative::Reference, "place");
        (cost.documents, cost.entries)
    };
    let (documents, entries) = placed("insert: [order, item]");
    assert_eq!(documents, 21.0);
    assert_eq!(placed("update: [order, item]"), (2.0, 0.0));
    assert_eq!(placed("insert: [order, item], update: [order, item]"), (11.5, entries / 2.0));
}

#[test]
fn er_x_1_what_is_inserted_with_its_parent_is_there() {
    let case = of(&format!(
        "entities:
  cook: {{count: 10k, {LIFE}, fields: {{name: string}}}}
  recipe: {{count: 3k, {LIFE}, fields: {{text: {{type: string, bytes: 4 KB}}}}}}
relationships:
  cook.recipes: {{child: recipe, children: {{p50: 0, p95: 3, p99: 20, max: 900}}, growth: endless}}
reads:
  recipe: {{from: recipe, where: [_id], rate: 9/s}}
  cook: {{from: cook, where: [_id], rate: 9/s}}
writes:
  w: {{insert: [cook, recipe], rate: 1/min}}
"
    ));
    let written = read(&case, "cook.recipes", StorageAlternative::Reference, "w");
    assert_eq!(written.documents, 2.0);
    assert!(written.bytes > 4096.0, "{}", written.bytes);
}

#[test]
fn ck_10_ck_11_ck_12_nothing_declared_is_not_known() {
    let case = of("entities: {a: {fields: {x: int}}}");
    for id in ["CK-10", "CK-11", "CK-12"] {
        assert_eq!(case.check(id).0, None, "{id}");
    }
}

#[test]
fn dm_05_4_sizes_have_an_upper_end() {
    let text = "entities: {a: {fields: {x: {type: string, bytes: 18446744073709551614}}}}";
    let faults = docward_design::read("m.yaml", text).unwrap_err();
    assert!(faults[0].to_string().contains("no more than 1024 GB"), "{}", faults[0]);
}

#[test]
fn dm_09_6_null_is_taken_where_it_is_declared_and_nowhere_else() {
    let fields = "k: string, y: {type: string, required: false}, n: {type: int, nullable: true}, z: {type: string, values: [a, b], required: false, nullable: true}";
    let case = of(&pair("children: 3, growth: bounded", &[], WRITTEN)
        .replace("title: string, createTime: date", fields));
    let made =
        docward_design::validator::validator(&case.model, case.collection("parent")).unwrap();
    let schema = made.get_document("$jsonSchema").unwrap();
    let fields = schema.get_document("properties").unwrap();
    let of = |name: &str| fields.get_document(name).unwrap().to_string();
    assert!(!of("k").contains("null") && !of("y").contains("null"), "{schema}");
    assert!(of("n").contains("null") && of("z").matches("null").count() == 2, "{schema}");
    // The field is required and can be null.
    let required = schema.get_array("required").unwrap();
    assert!(required.contains(&"n".into()) && !required.contains(&"z".into()), "{required:?}");
    // A null value does not count in an average.
    let summed = pair(
        "children: {p50: 20, p99: 3000, max: 9000}, growth: 50/year",
        &["from: parent, where: [_id], sum: {parent.children: amount}, rate: 9000/s"],
        WRITTEN,
    );
    let case =
        crate::common::of(&summed.replace("amount: int", "amount: {type: int, nullable: true}"));
    assert!(case.find("parent", "amountGivenCount").is_some());
}

#[test]
fn dm_09_6_what_is_unique_is_not_null() {
    let text = pair("children: 3, growth: bounded", &[], WRITTEN)
        .replace("title: string", "title: {type: string, unique: true, nullable: true}");
    let faults = docward_design::read("m.yaml", &text).unwrap_err();
    assert!(faults[0].to_string().contains("null would be so too"), "{}", faults[0]);
}

/// Returns a model of permits for garages: the figures of both lists, and reads.
fn permits(children: &str, parents: &str, reads: &str) -> Case {
    of(&format!(
        "entities:
  garage: {{count: 1200, {LIFE}, fields: {{code: {{type: string, bytes: 6, unique: true}}}}}}
  permit: {{count: 90k, {LIFE}, fields: {{plate: {{type: string, bytes: 8}}, kind: {{type: string, values: [day, night]}}, validTo: date}}}}
relationships:
  garage.permits: {{child: permit, children: {children}, growth: bounded, parents: {parents}}}
reads:
  page: {{from: garage, where: [code], rate: 60/s}}
  all: {{from: permit, where: [validTo], rate: 1/h}}
{reads}writes:
  sell: {{insert: permit, rate: 60/day}}
  renew: {{update: permit, sets: [permit.validTo], rate: 60/day}}
  build: {{insert: garage, rate: 1/day}}
"
    ))
}

#[test]
fn er_t_6_ids_are_held_where_reads_come_from_or_in_the_shorter_list() {
    let (many, few) =
        ("{p50: 40, p95: 200, p99: 600, max: 900}", "{p50: 1, p95: 3, p99: 10, max: 50}");
    let side = |case: &Case| case.named("garage.permits")[0];
    let park = "  park: {from: permit, where: {plate: equal, garage: equal}, rate: 30/s}\n";
    let list = "  list: {from: garage, where: [code], with: [garage.permits], rate: 50/s}\n";
    let asked = permits(many, few, park);
    assert_eq!(side(&asked), "parent-ids-in-child");
    assert_eq!(
        read(&asked, "garage.permits", StorageAlternative::Reference, "park").documents,
        1.0
    );
    assert_eq!(asked.check("CK-9").0, Some(true));
    assert_eq!(asked.check("CK-12").0, Some(true));
    let indexes = asked.indexes("permit");
    assert!(indexes.contains(&"{ plate: 1, garageIds: 1 }".to_owned()), "{indexes:?}");
    // Without such reads, the shorter list is used.
    assert_eq!(side(&permits(many, few, "")), "parent-ids-in-child");
    assert_eq!(side(&permits(few, many, "")), "child-ids-in-parent");
    // More reads show garages with their permits.
    let listed = permits(many, few, &format!("{park}{list}"));
    assert_eq!(side(&listed), "child-ids-in-parent");
    // A selective field finds a permit faster than up to 900 ids do. A field that half of the
    // permits share does not.
    let indexes = listed.indexes("permit");
    assert!(indexes.contains(&"{ plate: 1 }".to_owned()), "{indexes:?}");
    let kind = permits(many, few, &format!("{}{list}", park.replace("plate", "kind")));
    assert!(!kind.indexes("permit").iter().any(|index| index.contains("kind")));
}

#[test]
fn dp_1_services_that_share_a_document_are_named() {
    let shop = |billing: &str| {
        of(&format!(
            "entities:
  order: {{count: 1k, {LIFE}, services: [shop], fields: {{no: string}}}}
  invoice: {{count: 1k, {LIFE}, services: {billing}, fields: {{total: decimal}}}}
relationships:
  order.invoice: {{child: invoice, children: 1}}
reads:
  r: {{from: order, where: [no], with: [order.invoice], rate: 9/s}}
writes:
  w: {{insert: [order, invoice], rate: 1/s}}
"
        ))
    };
    let apart = shop("[billing, tax]");
    assert_eq!(apart.named("order.invoice"), ["embedded"]);
    assert_eq!(apart.collection("order").services, ["billing", "shop", "tax"]);
    let said = |case: &Case| {
        let remarks = &case.decision("order.invoice").remarks;
        remarks
            .iter()
            .any(|r| r.starts_with("`order` belongs to `shop` and `invoice` to `billing`"))
    };
    assert!(said(&apart), "{:?}", apart.decision("order.invoice").remarks);
    // A common service, or none, causes no remark. Services never affect the decision.
    for billing in ["[billing, shop]", "[]"] {
        let case = shop(billing);
        assert!(!said(&case), "{billing}");
        assert_eq!(case.decision("order.invoice").ruling, apart.decision("order.invoice").ruling);
    }
}
