//! Verdicts and advice that follow from costs, sizes and numbers of children.

use docward_design::{Pattern, Verdict};

use crate::common::{Case, of, pair};

const FOREVER: &str = "lifecycle: {growth: 10k/year, kept: forever}";

#[test]
fn dp_2_ck_12_mandatory_failures_outweigh_recommended_ones() {
    let case = of("deployment: {shards: 4}
entities:
  trip: {count: 100M, lifecycle: {growth: 300k/day, kept: 7 years}, fields: {tripNo: {type: string, unique: true}, createTime: date}}
  payment: {count: 110M, lifecycle: {growth: 330k/day, kept: 10 years}, fields: {providerRef: {type: string, unique: true}, amount: decimal, createTime: date}}
relationships:
  trip.payments: {child: payment, children: {p50: 1, p95: 2, p99: 3, max: 6}, growth: bounded}
reads:
  trip page: {from: trip, where: [_id], with: [trip.payments], rate: 100/s}
  settle: {from: payment, where: {createTime: range}, sort: {createTime: 1}, limit: 100, rate: 1/min}
  by ref: {from: payment, where: [providerRef], rate: 2/s}
writes:
  order: {insert: trip, rate: 4/s}
  pay: {insert: payment, update: trip, rate: 4/s, atomic: true}
");
    let decision = case.decision("trip.payments");
    let said = format!("{} {:?}", decision.ruling.how, decision.remarks);
    assert_eq!(decision.choice.map(|c| c.name()), Some("reference"), "{said}");
    assert!(said.contains("CK-12 for `settle`") && said.contains("DP-2 for `trip`"), "{said}");
    assert!(said.contains("at the cost of CK-9 for `trip page`"), "{said}");
}

/// Returns a model of likes that are read 8 times as often as they change.
fn likes(children: &str) -> Case {
    of(&pair(
        &format!("children: {children}, growth: endless"),
        &[
            "from: parent, where: [_id], count: [parent.children], rate: 40/s",
            "from: child, where: [parent], limit: 20, rate: 1/s",
        ],
        &["insert: [parent], rate: 1/day", "insert: [child], rate: 5/s"],
    ))
}

#[test]
fn pt_computed_1_st_27_a_count_of_many_children_is_worth_storing() {
    let is_stored = |case: &Case| {
        case.patterns("parent.children")
            .iter()
            .any(|p| matches!(p, Pattern::Computed { counts: true, .. }))
    };
    assert!(is_stored(&likes("{p50: 800, p95: 2000, p99: 5000, max: 1M}")));
    // With one child each, a count visits no more than a write would.
    assert!(!is_stored(&likes("{p50: 1, p95: 1, p99: 1, max: 2}")));
}

#[test]
fn dm_07_7_a_copy_beside_an_id_is_a_hybrid() {
    let items = |with: &str| {
        of(&format!(
            "entities:
  item: {{count: 3M, {FOREVER}, fields: {{qty: int}}}}
  product: {{count: 900k, {FOREVER}, fields: {{name: string, price: decimal}}}}
relationships:
  item.product: {{child: product, children: 1, parents: {{p50: 3, p99: 100, max: 900}}}}
reads:
  page: {{from: item, where: [_id]{with}, rate: 40/s}}
  product: {{from: product, where: [_id], rate: 100/s}}
writes:
  o: {{insert: item, rate: 1k/day}}
  p: {{insert: product, rate: 900/day}}
"
        ))
    };
    let copied = items(", with: {item.product: [name, price]}");
    assert_eq!(copied.verdict("item.product"), Verdict::Hybrid);
    assert_eq!(items("").verdict("item.product"), Verdict::Reference);
}

#[test]
fn pt_extref_2_small_data_that_rarely_changes_is_cached_by_clients() {
    let items = |count: &str, changes: &str| {
        let case = of(&format!(
            "entities:
  item: {{count: 1B, {FOREVER}, fields: {{level: int}}}}
  kind: {{count: {count}, lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string, icon: {{type: string, bytes: 100}}}}}}
relationships:
  item.kind: {{child: kind, children: 1, parents: {{p50: 50k, p99: 1M, max: 9M}}}}
reads:
  bag: {{from: item, where: [_id], with: {{item.kind: [name, icon]}}, rate: 40/s}}
  kind: {{from: kind, where: [_id], rate: 1/s}}
writes:
  o: {{insert: item, rate: 1k/day}}
  p: {{update: kind, rate: {changes}}}
"
        ));
        case.decision("item.kind").remarks.join(" ")
    };
    assert!(items("20k", "1/day").contains("clients can cache them"), "{}", items("20k", "1/day"));
    assert!(!items("20k", "9/s").contains("cache"));
    assert!(!items("20M", "1/day").contains("cache"));
}

/// Returns the remarks on pages with a field.
fn page(field: &str, reads: &str) -> String {
    let case = of(&format!(
        "entities:
  page: {{count: 1M, {FOREVER}, fields: {{title: string, body: {field}}}}}
reads:
{reads}
writes:
  w: {{insert: page, rate: 1k/day}}
"
    ));
    case.advice("page").remarks.join(" ")
}

#[test]
fn dm_05_1_dm_05_5_a_large_text_is_named_with_what_to_do() {
    let read = "  p: {from: page, where: [_id], rate: 9/s}";
    let large = page("{type: string, bytes: {typical: 200 KB, p99: 900 KB}}", read);
    assert!(large.contains("`body` takes 900 KB of it: compress it"), "{large}");
    assert!(!page("{type: string, bytes: 9 KB}", read).contains("recommended"));
    let blob = page("{type: binData, bytes: 3 MB}", read);
    assert!(blob.contains("GridFS"), "{blob}");
}

#[test]
fn pt_subset_1_lists_of_large_documents_are_split_off() {
    let body = "{type: string, bytes: 20 KB}";
    let list = "  list: {from: page, fields: [title], sort: {title: 1}, limit: 50, rate: 30/s}\n  p: {from: page, where: [_id], rate: 9/s}";
    let said = page(body, list);
    assert!(said.contains("store `body` in a separate document"), "{said}");
    let shown = "  list: {from: page, fields: [title], sort: {title: 1}, limit: 50, rate: 1/h}\n  p: {from: page, where: [_id], rate: 9/s}";
    assert!(!page(body, shown).contains("separate document"));
}

#[test]
fn ck_3_dm_06_1_declared_objects_may_be_too_deep() {
    let nested = |levels: usize| {
        let open = "a: {type: object, fields: {".repeat(levels);
        let close = "}}".repeat(levels);
        of(&format!(
            "entities:\n  t: {{count: 9, {FOREVER}, fields: {{{open}n: int{close}}}}}\nreads: {{r: {{from: t, where: [_id], rate: 1/s}}}}\nwrites: {{w: {{insert: t, rate: 1/s}}}}\n"
        ))
    };
    assert_eq!(nested(5).check("CK-3").0, Some(true));
    let deep = nested(6);
    let (holds, why) = deep.check("CK-3");
    assert!(holds == Some(false) && why.contains("6 levels"), "{why}");
}

#[track_caller]
fn faults(text: &str) -> String {
    let faults = docward_design::read("m.yaml", text).unwrap_err();
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn alg_2_an_array_without_a_length_is_a_mistake_in_every_form() {
    let said = faults("entities:\n  t: {fields: {tags: array}}\n");
    assert!(
        said.starts_with("m.yaml:2:22: field `tags` is an array without a declared length"),
        "{said}"
    );
}

#[test]
fn yaml_an_open_bracket_is_named_and_not_the_next_line() {
    let said = faults("entities:\n  a: {count: 3, fields: {x: int}\n  b: {count: 3}\n");
    assert!(said.starts_with("m.yaml:2:6: `{` is not closed"), "{said}");
    let said = faults("entities:\n  a: {services: [x, y}\n");
    assert!(said.starts_with("m.yaml:2:17: `[` is not closed"), "{said}");
}

/// Returns a model of places that are searched.
fn places(conditions: &str, more: &str) -> String {
    format!(
        "entities:
  place:
    count: 1M
    lifecycle: {{growth: 10k/year, kept: forever}}
    fields:
      city: string
      name: string
      about: string
      location: {{type: object, fields: {{type: {{type: string, values: [Point]}}, coordinates: {{type: array, of: double, items: 2}}}}}}
      extra: object
reads:
  r: {{from: place, where: {conditions}, limit: 20, rate: 9/s}}
{more}writes:
  w: {{insert: place, rate: 1/s}}
"
    )
}

#[test]
fn ck_12_places_words_and_any_field_have_indexes_of_their_kind() {
    let keys = |conditions: &str, more: &str| -> Vec<String> {
        let case = of(&places(conditions, more));
        let indexes = &case.collection("place").indexes;
        indexes.iter().map(|index| index.key_document().to_string()).collect()
    };
    assert_eq!(
        keys("{city: equal, location: near}", ""),
        ["{ \"city\": 1, \"location\": \"2dsphere\" }"]
    );
    // A collection can have only one text index.
    let about = "  s: {from: place, where: {about: text}, limit: 20, rate: 9/s}\n";
    assert_eq!(keys("{name: text}", about), ["{ \"name\": \"text\", \"about\": \"text\" }"]);
    assert_eq!(keys("{extra: any-field}", ""), ["{ \"extra.$**\": 1 }"]);
    let said = faults(&places("{name: near}", ""));
    assert!(said.contains("`r` cannot search `name` like this; write `{type: object"), "{said}");
}

#[test]
fn st_25_pt_outlier_1_ap_s4_1_an_endless_list_of_few_large_parents_gets_pages() {
    let sales = |growth: &str, read: &str| {
        let text = pair(
            &format!("children: {{p50: 8, p95: 20, p99: 40, max: 100k}}, growth: {growth}"),
            &[read],
            &["insert: [parent], rate: 1/day", "insert: [child], rate: 5/min"],
        );
        of(&text).named("parent.children")
    };
    let page = "from: parent, where: [_id], with: [parent.children], rate: 40/s";
    assert_eq!(sales("endless", page), ["embedded", "outlier"]);
    // A list that soon is long for many parents, or that is read alone, stays separate.
    assert!(!sales("{typical: 30/year, p99: 900/year}", page).contains(&"outlier"));
    assert!(
        !sales("endless", "from: child, where: [a], limit: 1, rate: 40/s").contains(&"outlier")
    );
}
