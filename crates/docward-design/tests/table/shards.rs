//! SK-1 to SK-13: shard keys from declarations.

use docward_design::KeyCandidate;
use docward_model::ProfileName;

use crate::common::{Case, of};

/// Returns a model of orders on four shards, with additional fields. `reads` has one read per line.
fn orders(server: &str, fields: &str, reads: &str) -> Case {
    of(&format!(
        "deployment: {{server: \"{server}\", shards: 4}}
entities:
  customer: {{count: 1M, lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string}}}}
  order:
    count: 10M
    lifecycle: {{growth: 1M/year, kept: forever}}
    fields: {{total: decimal, createTime: date{fields}}}
relationships:
  customer.orders: {{child: order, children: {{p50: 9, p99: 90, max: 900}}, growth: 9/year}}
reads:
  c: {{from: customer, where: [_id], rate: 1/s}}
{reads}
writes:
  w: {{insert: [customer, order], rate: 1/s}}
"
    ))
}

/// Returns the candidate for orders with the given notation.
fn candidate<'c>(case: &'c Case, text: &str) -> &'c KeyCandidate {
    let plan = case.shard("order");
    let mut all = plan.others.iter().chain([&plan.key]);
    let names: Vec<String> =
        plan.others.iter().chain([&plan.key]).map(KeyCandidate::text).collect();
    all.find(|key| key.text() == text).unwrap_or_else(|| panic!("no {text} in {names:?}"))
}

#[track_caller]
fn holds(case: &Case, key: &str, check: &str) -> Option<bool> {
    let key = candidate(case, key);
    let found = key.checks.iter().find(|(id, _, _)| *id == check);
    found.unwrap_or_else(|| panic!("{check} is not in {:?}", key.checks)).1
}

#[test]
fn sk_1_sk_7_a_status_of_four_values_fails() {
    let status = ", status: {type: string, values: [new, paid, sent, back], top-share: 80%}";
    let case = orders("7.0", status, "  r: {from: order, where: [status], rate: 9/s}");
    assert_eq!(holds(&case, "{ status: 1 }", "SK-1"), Some(false));
    assert_eq!(holds(&case, "{ status: 1 }", "SK-2"), Some(false), "ST-24");
}

#[test]
fn sk_1_a_hundred_values_for_each_shard_and_a_thousand() {
    let values = |distinct: u32, shards: u32| {
        let region = format!(", region: {{type: string, distinct: {distinct}, top-share: 1%}}");
        let case = orders("7.0", &region, "  r: {from: order, where: [region], rate: 9/s}");
        let text = "{ region: 1 }";
        assert_eq!(case.model.deployment.shards, shards);
        holds(&case, text, "SK-1")
    };
    assert_eq!(values(999, 4), Some(false));
    assert_eq!(values(1000, 4), Some(true));
}

#[test]
fn sk_2_sk_8_a_value_in_60_percent_fails_though_there_are_many() {
    let share = |share: &str| {
        let country = format!(", country: {{type: string, distinct: 2000, top-share: {share}}}");
        let case = orders("7.0", &country, "  r: {from: order, where: [country], rate: 9/s}");
        (holds(&case, "{ country: 1 }", "SK-1"), holds(&case, "{ country: 1 }", "SK-2"))
    };
    assert_eq!(share("80%"), (Some(true), Some(false)));
    assert_eq!(share("60%"), (Some(true), Some(false)));
    assert_eq!(share("31%").1, Some(false));
    assert_eq!(share("30%").1, Some(true));
    assert_eq!(share("5%").1, Some(true));
}

#[test]
fn sk_1_sk_2_what_is_not_declared_stays_open() {
    let case = orders("7.0", ", region: string", "  r: {from: order, where: [region], rate: 9/s}");
    assert_eq!(holds(&case, "{ region: 1 }", "SK-1"), None);
    assert_eq!(holds(&case, "{ region: 1 }", "SK-2"), None);
}

#[test]
fn sk_3_sk_6_what_rises_fails_unless_it_is_hashed() {
    let case = orders("7.0", "", "  r: {from: order, where: [createTime], rate: 9/s}");
    assert_eq!(holds(&case, "{ createTime: 1 }", "SK-3"), Some(false));
    assert_eq!(holds(&case, "{ createTime: \"hashed\" }", "SK-3"), Some(true));
}

#[test]
fn sk_3_sk_5_sk_13_gc_13_id_rises_so_it_is_hashed() {
    let case = orders("7.0", "", "  r: {from: order, where: [_id], rate: 9/s}");
    let plan = case.shard("order");
    assert_eq!(plan.key.text(), "{ _id: \"hashed\" }");
    assert!(plan.key.is_sound(), "{:?}", plan.key.checks);
    assert!(plan.others.iter().all(|key| key.text() != "{ _id: 1 }"));
    assert_eq!(case.check("CK-13").0, Some(true));
}

#[test]
fn sk_4_nine_reads_of_ten_by_customer() {
    let case = orders(
        "7.0",
        "",
        "  r: {from: order, where: [customer], rate: 9/s}\n  s: {from: order, where: [total], rate: 1/s}",
    );
    let key = &case.shard("order").key;
    assert_eq!(key.fields[0].0, "customerId");
    assert!((key.targeted - 0.9).abs() < 1e-9);
    assert!(key.is_sound());
    // If fewer than 80 % of the reads contain the key, a warning names the others.
    let half = orders(
        "7.0",
        "",
        "  r: {from: order, where: [customer], rate: 79/s}\n  s: {from: order, where: [total], rate: 21/s}",
    );
    assert_eq!(holds(&half, &half.shard("order").key.text(), "SK-4"), Some(false));
    let (sound, because) = half.check("CK-13");
    assert_eq!(sound, Some(true));
    assert!(
        because.contains("warning for `order` (SK-4: 79 % of the reads filter on it"),
        "{because}"
    );
    assert!(because.contains("add `customer` to `where` of `s`"), "{because}");
}

#[test]
fn sk_9_ranges_speak_against_a_hash() {
    let reads = |ranges: u32| {
        format!(
            "  r: {{from: order, where: [total], rate: {}/s}}\n  s: {{from: order, where: {{total: range}}, rate: {ranges}/s}}",
            100 - ranges
        )
    };
    let many = orders("7.0", "", &reads(21));
    assert_eq!(holds(&many, "{ total: \"hashed\" }", "SK-9"), Some(false));
    let few = orders("7.0", "", &reads(20));
    let key = candidate(&few, "{ total: \"hashed\" }");
    assert!(key.checks.iter().all(|(id, _, _)| *id != "SK-9"));
}

#[test]
fn sk_10_customer_and_time_rank_first_for_orders() {
    let reads = "  r: {from: order, where: [customer], sort: {createTime: -1}, rate: 9/s}";
    let case = orders("7.0", "", reads);
    assert_eq!(case.shard("order").key.text(), "{ customerId: 1, createTime: 1 }");
}

/// Returns a model of sessions in two zones, with the fields on which reads filter.
fn sessions(filter: &str) -> Case {
    of(&format!(
        "deployment: {{shards: 4, zones: {{field: region, values: [EU, US]}}}}
entities:
  session:
    count: 1M
    lifecycle: {{growth: 0, kept: forever}}
    fields: {{region: {{type: string, values: [EU, US]}}, userId: {{type: objectId, distinct: 500k, top-share: 0.1%, rising: false}}}}
reads:
  r: {{from: session, where: [{filter}], rate: 9/s}}
writes:
  w: {{insert: [session], rate: 1/s}}
"
    ))
}

#[test]
fn sk_11_both_zones_are_planned_and_lead_the_key() {
    let reads = "  r: {from: order, where: [region, customer], rate: 9/s}";
    let case = orders("7.0", ", region: {type: string, values: [EU, US]}", reads);
    assert!(case.shard("order").zones.is_empty(), "only where zones are declared");
    let zoned = sessions("region, userId");
    let plan = zoned.shard("session");
    assert_eq!(plan.key.text(), "{ region: 1, userId: 1 }");
    assert_eq!(plan.zones, ["EU", "US"]);
    assert!(plan.key.is_sound(), "{:?}", plan.key.checks);
}

#[test]
fn sk_4_sk_11_reads_that_do_not_name_the_zone_ask_every_zone() {
    let zoned = sessions("userId");
    let key = &zoned.shard("session").key;
    assert_eq!(key.text(), "{ region: 1, userId: 1 }");
    let check = key.checks.iter().find(|(id, ..)| *id == "SK-4").unwrap();
    assert_eq!(check.1, Some(false));
    assert_eq!(check.2, "0 % of the reads filter on `region`; the others go to every zone");
}

#[test]
fn sk_12_a_field_that_writes_change_is_no_key() {
    let reads = "  r: {from: order, where: [customer], sort: [changeTime], rate: 9/s}";
    let text = |sets: &str| {
        format!(
            "deployment: {{shards: 4}}
entities:
  customer: {{count: 1M, lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string}}}}
  order: {{count: 90M, lifecycle: {{growth: 1M/year, kept: forever}}, fields: {{changeTime: date}}}}
relationships:
  customer.orders: {{child: order, children: {{p50: 9, p99: 90, max: 9M}}, growth: 9/year}}
reads:
{reads}
  c: {{from: customer, where: [_id], rate: 1/s}}
writes:
  w: {{insert: [customer, order], rate: 1/s}}
  touch: {{update: order, rate: 9/s{sets}}}
"
        )
    };
    let key = |sets: &str| of(&text(sets)).shard("order").key.text();
    assert_eq!(key(""), "{ customerId: 1, changeTime: 1 }");
    assert_eq!(key(", sets: [order.changeTime]"), "{ customerId: 1, _id: 1 }");
}

#[test]
fn sk_4_what_nobody_reads_needs_no_aim_and_what_is_small_needs_no_key() {
    let case = of(
        "deployment: {shards: 4}
entities:
  log: {count: 900M, read: never, lifecycle: {growth: 1M/year, kept: forever}, fields: {text: string}}
  plan: {count: 40, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
reads:
  r: {from: plan, where: [name], rate: 9/s}
writes:
  w: {insert: [log, plan], rate: 1/s}
",
    );
    let check = case.shard("log").key.checks.iter().find(|(id, ..)| *id == "SK-4").unwrap().clone();
    assert_eq!((check.1, check.2.as_str()), (Some(true), "no declared read uses the collection"));
    assert!(case.design.collections.iter().any(|c| c.entity == "plan" && c.shard.is_none()));
}

#[test]
fn sk_12_what_can_be_done_later_depends_on_the_server() {
    let reads = "  r: {from: order, where: [customer], rate: 9/s}";
    let change = |server: &str| orders(server, "", reads).shard("order").change;
    assert!(change("4.0").contains("new collection"));
    assert!(change("4.2").contains("new collection") && change("4.2").contains("updated"));
    assert!(change("4.4").starts_with("`refineCollectionShardKey`"));
    assert!(change("5.0").starts_with("`reshardCollection`"));
    assert_eq!(change("5.0"), change("8.0"));
}

#[test]
fn ck_13_unique_indexes_must_begin_with_the_key() {
    let reads = "  r: {from: order, where: [customer], rate: 9/s}";
    let case = orders("7.0", ", number: {type: string, unique: true}", reads);
    let plan = case.shard("order");
    // The values move to a collection of their own, because the server refuses both together.
    assert_eq!(plan.key.text(), "{ customerId: 1 }");
    assert!(plan.key.is_possible() && plan.key.is_sound());
    assert_eq!(plan.lookups.iter().map(|l| l.field.as_str()).collect::<Vec<_>>(), ["number"]);
    assert!(case.collection("order").indexes.iter().all(|index| !index.unique));
}

#[test]
fn sk_3_sk_7_sk_8_what_rises_behind_few_values_is_hot() {
    let kind = |figures: &str| {
        let field = format!(", kind: {{type: string, {figures}}}");
        orders("7.0", &field, "  r: {from: order, where: [kind], rate: 9/s}")
    };
    let hot = |case: &Case| {
        let key = candidate(case, "{ kind: 1, _id: 1 }");
        key.checks.iter().find(|(id, ..)| *id == "SK-3").unwrap().clone()
    };
    let few = kind("values: [a, b, c]");
    assert_eq!(hot(&few).1, Some(false));
    assert_eq!(
        hot(&few).2,
        "`_id` increases monotonically, and `kind` before it has only 3 values: new documents go to the ends of a few ranges"
    );
    // With the hashed id, inserts spread, and reads still contain the key.
    let key = &few.shard("order").key;
    assert_eq!(key.text(), "{ kind: 1, _id: \"hashed\" }");
    assert!(key.is_sound(), "{:?}", key.checks);
    let one = kind("distinct: 200k, top-share: 60%");
    assert_eq!(hot(&one).1, Some(false), "{}", hot(&one).2);
    assert_eq!(one.shard("order").key.text(), "{ kind: 1, _id: \"hashed\" }");
    assert_eq!(hot(&kind("distinct: 200k, top-share: 1%")).1, Some(true));
    // Eight growing ranges for each of the four shards keep all shards busy.
    assert_eq!(hot(&kind("distinct: 31, top-share: 9%")).1, Some(false));
    assert_eq!(hot(&kind("distinct: 32, top-share: 9%")).1, Some(true));
    assert_eq!(hot(&kind("top-share: 1%")).1, None, "who knows how many");
    // Before 4.4, a part of a key cannot be hashed. Asking every shard is then better than writing
    // to one.
    let old = orders(
        "4.2",
        ", kind: {type: string, values: [a, b, c]}",
        "  r: {from: order, where: [kind], rate: 9/s}",
    );
    assert_eq!(old.shard("order").key.text(), "{ _id: \"hashed\" }");
    assert!(old.check("CK-13").1.contains("warning for `order` (SK-4"));
}

#[test]
fn ck_13_gc_07_on_shards_children_name_their_parent() {
    let model = |shards: u32| {
        of(&format!(
            "deployment: {{shards: {shards}}}
entities:
  deal: {{count: 90M, lifecycle: {{growth: 1M/year, kept: forever}}, fields: {{title: string}}}}
  contract: {{count: 190M, lifecycle: {{growth: 1M/year, kept: forever}}, fields: {{text: string, signTime: date}}}}
relationships:
  deal.contracts: {{child: contract, children: {{p50: 2, p99: 9, max: 20}}, growth: bounded}}
reads:
  deal: {{from: deal, where: [_id], with: [deal.contracts], rate: 1/s}}
  one: {{from: contract, where: [_id], rate: 90/s}}
writes:
  w: {{insert: [deal, contract], rate: 1/s}}
"
        ))
    };
    assert_eq!(model(1).named("deal.contracts")[0], "child-ids-in-parent");
    assert_eq!(
        model(1).indexes("deal"),
        ["{ contractIds: 1 } unique where contractIds.0 is there"]
    );
    let spread = model(4);
    assert_eq!(spread.named("deal.contracts")[0], "parent-id-in-child");
    assert!(spread.shard("deal").key.is_possible());
}

#[test]
fn sk_4_a_step_down_a_tree_asks_by_the_id_of_the_parent() {
    let case = of("deployment: {shards: 4}
entities:
  folder: {count: 90M, lifecycle: {growth: 1M/year, kept: forever}, fields: {name: string}}
relationships:
  folder.folders: {child: folder, children: {p50: 4, p99: 90, max: 900}, growth: bounded}
reads:
  open: {from: folder, where: [_id], with: [folder.folders], rate: 300/s}
writes:
  w: {insert: folder, rate: 1/s}
");
    let plan = case.shard("folder");
    let all: Vec<_> = plan.others.iter().chain([&plan.key]).collect();
    for text in ["{ _id: \"hashed\" }", "{ parentId: 1 }"] {
        let key = all.iter().find(|key| key.text() == text).unwrap();
        assert!((key.targeted - 0.5).abs() < 1e-9, "{text}: {}", key.targeted);
    }
    assert!(case.check("CK-13").1.contains("warning for `folder` (SK-4"));
}

#[test]
fn sk_4_friends_that_pairs_have_copies_of_are_not_read_again() {
    let case = of("deployment: {shards: 4}
entities:
  member: {count: 90M, lifecycle: {growth: 1M/year, kept: forever}, fields: {handle: {type: string, unique: true}, name: string}}
relationships:
  member.friends: {child: member, children: {p50: 100, p99: 3000, max: 5000}, parents: {p50: 100, p99: 3000, max: 5000}, growth: endless}
reads:
  profile: {from: member, where: [handle], rate: 9k/s}
  friends: {from: member, where: [handle], with: {member.friends: [handle, name]}, rate: 5k/s}
writes:
  w: {insert: member, rate: 1/s}
");
    assert_eq!(case.named("member.friends"), ["junction", "extended-reference"]);
    let key = &case.shard("member").key;
    assert_eq!(key.fields[0].0, "handle");
    assert!((key.targeted - 1.0).abs() < 1e-9, "{}", key.targeted);
}

#[test]
fn sk_1_says_what_it_knows_and_invents_no_number() {
    let reads = "  r: {from: order, where: [_id], rate: 9/s}";
    let case = orders("7.0", "", reads);
    let key = candidate(&case, "{ _id: \"hashed\" }");
    let (_, holds, why) = key.checks.iter().find(|(id, _, _)| *id == "SK-1").unwrap();
    assert_eq!(*holds, Some(true));
    assert_eq!(why, "`_id` is unique in every document");
}

#[test]
fn without_shards_there_is_no_key() {
    let reads = "  r: {from: order, where: [customer], rate: 9/s}";
    let one = orders("7.0", "", reads);
    assert!(one.collection("order").shard.is_some());
    let text = "entities:\n  t: {count: 9, lifecycle: {growth: 0, kept: forever}, fields: {a: int}}\nreads: {r: {from: t, where: [a], rate: 1/s}}\nwrites: {w: {insert: t, rate: 1/s}}\n";
    let none = of(text);
    assert!(none.collection("t").shard.is_none());
    assert_eq!(none.check("CK-13"), (None, "not sharded"));
}

#[test]
fn sk_1_sk_3_a_bool_has_two_values_and_does_not_rise() {
    let fields = ", open: bool";
    let reads = "  r: {from: order, where: [open], sort: {createTime: -1}, rate: 300/s}";
    let case = orders("6.0", fields, reads);
    assert_eq!(holds(&case, "{ open: 1 }", "SK-1"), Some(false));
    assert_eq!(holds(&case, "{ open: 1 }", "SK-2"), Some(false));
    assert_eq!(holds(&case, "{ open: 1, _id: 1 }", "SK-3"), Some(false));
    assert_eq!(case.shard("order").key.text(), "{ open: 1, _id: \"hashed\" }");
}

#[test]
fn sk_1_sk_2_few_values_of_each_part_are_many_series() {
    let case = of("deployment: {server: \"4.4\", shards: 2}
entities:
  garage: {count: 900, lifecycle: {growth: 50/year, kept: forever}, fields: {code: {type: string, bytes: 6, unique: true}}}
  event: {count: 900M, lifecycle: {growth: 500M/year, kept: 90 days}, series: {time: time, id: [garage, gate], rate: 2/min, series: 4k}, fields: {time: date, gate: {type: string, bytes: 4}, plate: {type: string, bytes: 8}}}
relationships:
  garage.events: {child: event, children: {p50: 300k, p95: 900k, p99: 2M, max: 3M}, growth: endless}
reads:
  garage: {from: garage, where: [code], rate: 1/s}
  log: {from: event, where: {garage: equal, gate: equal, time: range}, sort: {time: -1}, limit: 200, rate: 3/s}
writes:
  gate: {insert: event, rate: 20/s}
  build: {insert: garage, rate: 2/week}
");
    let plan = case.shard("event");
    assert_eq!(plan.key.text(), "{ gate: 1, garageId: 1 }");
    assert!(plan.key.checks.iter().all(|(_, holds, _)| *holds == Some(true)), "{:?}", plan.key);
    assert_eq!(case.check("CK-13").0, Some(true));
}

#[test]
fn sk_2_sk_11_ck_13_documents_without_a_field_of_the_key_share_a_value() {
    let region = |more: &str| {
        let field = format!(", region: {{type: string, distinct: 5000, top-share: 1%{more}}}");
        move |server: &str| orders(server, &field, "  r: {from: order, where: [region], rate: 9/s}")
    };
    let always = region("")("7.0");
    assert_eq!(holds(&always, "{ region: 1 }", "SK-2"), Some(true));
    for (more, word) in
        [(", required: false", "can be missing"), (", nullable: true", "can be null")]
    {
        let case = region(more)("7.0");
        assert_eq!(case.shard("order").key.text(), "{ region: 1, _id: \"hashed\" }");
        let (_, fine, why) = &candidate(&case, "{ region: 1 }").checks[1];
        assert!(*fine == Some(false) && why.contains(word), "{why}");
    }
    // Servers before 4.4 refuse a document without the field, but accept null.
    let old = region(", required: false")("4.2");
    assert_eq!(holds(&old, "{ region: 1 }", "CK-13"), Some(false));
    let null = region(", nullable: true")("4.2");
    assert!(candidate(&null, "{ region: 1 }").is_possible());
    // The field is unique only among documents that have it.
    let no = ", no: {type: string, unique: true, required: false}";
    let unique = orders("7.0", no, "  r: {from: order, where: [no], rate: 9/s}");
    assert_eq!(holds(&unique, "{ no: \"hashed\" }", "SK-2"), Some(false));
}

#[test]
fn sk_11_documents_without_the_field_of_the_zones_belong_to_none() {
    let zoned = |more: &str| {
        let case = of(&format!(
            "deployment: {{server: \"7.0\", shards: 4, zones: {{field: region, values: [EU, US]}}}}
entities:
  visit:
    count: 900M
    lifecycle: {{growth: 90M/year, kept: forever}}
    fields: {{region: {{type: string, values: [EU, US]{more}}}, code: {{type: string, distinct: 9M, top-share: 1%}}}}
reads:
  r: {{from: visit, where: [region, code], rate: 9/s}}
writes:
  w: {{insert: visit, rate: 9/s}}
"
        ));
        let key = case.shard("visit").key.clone();
        (key.is_sound(), key.checks.iter().any(|(id, ..)| *id == "SK-11"))
    };
    assert_eq!(zoned(""), (true, false));
    assert_eq!(zoned(", nullable: true"), (false, true));
}

/// SK-1: archives and versions of sharded documents are sharded too.
#[test]
fn sk_1_sk_11_archives_and_versions_have_keys() {
    let case = |zones: &str| {
        of(&format!(
            "deployment: {{server: \"7.0\", shards: 4{zones}}}
entities:
  order:
    count: 90M
    keeps-versions: true
    lifecycle: {{growth: 40M/year, kept: forever, cold-after: 1 year}}
    fields: {{total: decimal, region: string, createTime: date}}
reads:
  r: {{from: order, where: [_id], rate: 9/s}}
writes:
  w: {{insert: order, rate: 1/s}}
  u: {{update: order, sets: [order.total], rate: 1/s}}
"
        ))
    };
    let key = |case: &Case, name: &str| case.shard(name).key.text();
    let plain = case("");
    assert_eq!(key(&plain, "order_archive"), "{ _id: \"hashed\" }");
    assert_eq!(key(&plain, "order_versions"), "{ orderId: 1, version: 1 }");
    let zoned = case(", zones: {field: region, values: [EU, US]}");
    assert_eq!(key(&zoned, "order_archive"), "{ region: 1, _id: \"hashed\" }");
    assert_eq!(zoned.shard("order_archive").zones, ["EU", "US"]);
}

/// Returns the calls on a collection that write or find one document, each with the text up to the
/// end of the next line.
fn calls(text: &str, collection: &str) -> Vec<String> {
    let begin = format!("getCollection(\"{collection}\").findOneAnd");
    let one = |part: &str| part.split(");").next().unwrap_or_default().to_owned();
    text.split(&begin).skip(1).map(one).collect()
}

/// Returns the text of all functions of a design.
fn functions(case: &Case) -> String {
    let jobs = case.scripts().into_iter().flat_map(|script| script.jobs);
    jobs.map(|job| job.shell()).collect()
}

#[test]
fn sk_4_functions_name_the_shard_key_of_the_document_they_find() {
    let models = [
        include_str!("../../../../examples/models/bank.yaml"),
        include_str!("../models/all.yaml"),
        include_str!("../models/kept.yaml"),
        include_str!("../models/lists.yaml"),
        include_str!("../models/more.yaml"),
        include_str!("../models/together.yaml"),
    ];
    let mut found = 0;
    for (text, server) in models.iter().flat_map(|text| [(text, "7.0"), (text, "8.0")]) {
        let mut model = docward_design::read("m.yaml", text).unwrap();
        model.deployment.shards = 8;
        model.deployment.server = if server == "7.0" { (7, 0) } else { (8, 0) };
        let bounds = docward_design::Bounds::default();
        let design = docward_design::design(&model, ProfileName::Neutral, &bounds);
        let case = Case { model, design };
        let text = functions(&case);
        for collection in &case.design.collections {
            let Some(plan) = &collection.shard else { continue };
            for call in calls(&text, &collection.name) {
                let named = plan.key.fields.iter().all(|(field, _)| call.contains(field.as_str()));
                let looked_up = call.contains("withKey(");
                assert!(
                    server == "8.0" || named,
                    "{} by {}: {call}",
                    collection.name,
                    plan.key.text()
                );
                assert!(server == "7.0" || !looked_up, "{call}");
                found += usize::from(looked_up);
            }
        }
    }
    assert!(found > 2, "{found}");
}

#[test]
fn sk_4_a_key_that_the_filter_has_is_not_looked_up() {
    let reads = "  o: {from: order, where: {customer: equal, createTime: range}, rate: 9/s}";
    let removal = |server: &str| {
        let text = functions(&orders(server, "", reads));
        let call = calls(&text, "order").remove(0);
        call.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let case = orders("7.0", "", reads);
    assert_eq!(case.shard("order").key.text(), "{ customerId: 1, createTime: 1 }");
    assert_eq!(
        removal("7.0"),
        "Delete( withKey(db, \"order\", { _id: orderId, customerId }, [\"createTime\"]),"
    );
    assert_eq!(removal("8.0"), "Delete({ _id: orderId, customerId }");
    let page = case.file("README.md");
    assert!(page.contains("not through a `mongos`"), "{page}");
    assert!(page.contains("(`withKey`)") && page.contains("`removeOrder`"), "{page}");
}

#[test]
fn sk_7_sk_8_sk_10_the_order_of_names_in_a_read_decides_nothing() {
    let key = |first: &str, named: &str| {
        let text = format!(
            "deployment: {{server: \"6.0\", shards: 5}}
entities:
  doc:
    count: 500M
    lifecycle: {{growth: 100M/year, kept: forever}}
    fields: {{{first}, userId: {{type: string, bytes: 12, distinct: 10M, top-share: 0.01%}}}}
reads: {{a: {{from: doc, where: [{named}], rate: 9/s}}}}
writes: {{w: {{insert: doc, rate: 5/s}}}}
"
        );
        of(&text).shard("doc").key.text()
    };
    let country = "country: {type: string, bytes: 2, distinct: 200, top-share: 60%}";
    for named in ["country, userId", "userId, country"] {
        let found = key(country, named);
        assert!(
            found == "{ country: 1, userId: 1 }" || found.starts_with("{ userId: 1"),
            "{named}: {found}"
        );
    }
    let status = "status: {type: string, values: [new, paid, sent], top-share: 50%}";
    for named in ["status, userId", "userId, status"] {
        let found = key(status, named);
        assert!(found.contains("userId: 1") && !found.contains("hashed"), "{named}: {found}");
    }
}
