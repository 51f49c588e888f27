//! Tests of keys on generated collections, one for each requirement of the clauses.

mod order;
mod reads;

use docward_model::{IdOrder, ThresholdSetting};

use super::*;
use docward_rules::testing::{Example, override_at};

/// A key: paths, with `#` before hashed ones.
fn key(fields: &[&str]) -> KeyFields {
    let field = |f: &&str| match f.strip_prefix('#') {
        Some(path) => (path.to_owned(), true),
        None => ((*f).to_owned(), false),
    };
    fields.iter().map(field).collect()
}

fn ask(example: &Example, question: &KeyQuestion) -> KeyReport {
    let collection = &example.evidence.collections[0];
    shard_keys(collection, &example.evidence, &example.settings, question)
        .expect("documents were read")
}

fn report(body: &str, fields: &[&str]) -> KeyReport {
    let keys = if fields.is_empty() { Vec::new() } else { vec![key(fields)] };
    let question = KeyQuestion { keys, shards: Some(3), ..KeyQuestion::default() };
    ask(&Example::new("K001", "", body), &question)
}

fn check<'a>(report: &'a KeyReport, clause: &str) -> &'a KeyCheck {
    report.judged[0].checks.iter().find(|c| c.clause == clause).expect("the clause")
}

/// The verdict on a clause for each key, on one collection.
fn verdicts(example: &Example, clause: &str, keys: &[(&[&str], Verdict)]) {
    for (fields, expected) in keys {
        let question =
            KeyQuestion { keys: vec![key(fields)], shards: Some(3), ..KeyQuestion::default() };
        let report = ask(example, &question);
        let found = check(&report, clause);
        assert_eq!(found.verdict, *expected, "{fields:?}: {}", found.evidence);
    }
}

fn proposed(report: &KeyReport) -> Vec<String> {
    report.proposals.iter().map(|p| sharding::key_text(&p.fields)).collect()
}

/// A pseudo-random number that is the same every time.
fn noise(i: u32) -> u32 {
    let mut n = i.wrapping_mul(2_654_435_761).wrapping_add(0x9e37_79b9);
    n ^= n >> 15;
    n = n.wrapping_mul(0x85eb_ca6b);
    n ^ (n >> 13)
}

/// This many documents, each with the fields that a function returns for its number.
fn documents(n: u32, fields: impl Fn(u32) -> String) -> String {
    (0..n).map(|i| format!("{{{}}}\n", fields(i))).collect()
}

fn oid(i: u32) -> String {
    format!("ObjectId(\"{:08x}{:016x}\")", 1_700_000_000 + i, i)
}

fn date(i: u32) -> String {
    format!("{{\"$date\": {}}}", 1_700_000_000_000u64 + u64::from(i) * 1000)
}

/// Marks the documents as drawn by a random walk on a running collection.
fn drawn_at_random(body: &str) -> Example {
    let mut example = Example::new("K001", "", body);
    let profile = example.evidence.collections[0].profile.as_mut().expect("documents");
    profile.shuffled = true;
    profile.id_order = IdOrder::default();
    profile.fields.iter_mut().for_each(|field| field.natural_order = None);
    example
}

/// ST-24: 80 % of documents are active; 200 countries, 60 % of them US.
fn st_24() -> String {
    documents(2500, |i| {
        let mixed = noise(i) >> 4;
        let status = if mixed % 10 < 8 { "active".to_owned() } else { format!("s{}", mixed % 5) };
        let country = if mixed % 100 < 60 { "US".to_owned() } else { format!("C{}", mixed % 199) };
        format!(
            "\"_id\": {}, \"status\": \"{status}\", \"country\": \"{country}\", \"userId\": {mixed}, \"createdAt\": {}",
            oid(i),
            date(i)
        )
    })
}

/// Orders of 1,200 users in two regions, in three states, in creation order.
fn orders() -> String {
    documents(3000, |i| {
        format!(
            "\"_id\": {}, \"status\": \"s{}\", \"region\": \"{}\", \"userId\": {}, \"createdAt\": {}, \"late\": \"{}\", \"score\": 0.{:09}, \"sub\": {{\"tenant\": {}}}, \"tags\": [1, 2]",
            oid(i),
            noise(i) % 3,
            if noise(i + 7).is_multiple_of(2) { "EU" } else { "US" },
            noise(i + 11) % 1200,
            date(i),
            if i >= 2600 { 9 } else { noise(i + 3) % 9 },
            noise(i + 5) % 999_999_999 + 1,
            noise(i + 13) % 1500,
        )
    })
}

fn example(body: &str) -> Example {
    Example::new("K001", "", body)
}

#[test]
fn sk_1_sk_2_sk_7_sk_8_dominated_keys_fail_whatever_their_cardinality() {
    let example = example(&st_24());
    verdicts(&example, "SK-1", &[(&["status"], Verdict::Fail)]);
    verdicts(&example, "SK-2", &[(&["status"], Verdict::Fail), (&["country"], Verdict::Fail)]);
    // A frequent value is not a hot end: the old documents have it as often.
    verdicts(&example, "SK-3", &[(&["country"], Verdict::Pass)]);
    let country = report(&st_24(), &["country"]).judged[0].spread.expect("values");
    assert!((country.top_share - 0.6).abs() < 0.05);
    assert!(country.fullest_shard > 0.55);
}

#[test]
fn sk_3_sk_5_sk_6_rising_keys_fail_and_hashed_ones_pass() {
    verdicts(
        &example(&st_24()),
        "SK-3",
        &[
            (&["_id"], Verdict::Fail),
            (&["createdAt"], Verdict::Fail),
            (&["#_id"], Verdict::Pass),
            (&["userId"], Verdict::Pass),
        ],
    );
    let hashed = &report(&st_24(), &["#_id"]).judged[0];
    let spread = hashed.spread.expect("values");
    assert_eq!(hashed.verdict, Verdict::Pass);
    assert!(spread.fullest_shard < 0.45);
    assert!(spread.newest_share.expect("enough documents") < 0.2);
}

#[test]
fn sk_3_documents_drawn_at_random_are_judged_by_type() {
    let without_time = drawn_at_random(&documents(3000, |i| {
        format!(
            "\"_id\": \"{:08x}{:08x}\", \"seq\": {i}, \"word\": \"w{}\", \"madeId\": {}, \"userId\": {}",
            noise(i),
            noise(i + 1),
            noise(i + 9),
            oid(i),
            noise(i + 2) % 1200
        )
    }));
    verdicts(
        &without_time,
        "SK-3",
        &[
            (&["seq"], Verdict::Unknown),
            (&["word"], Verdict::Unknown),
            (&["userId"], Verdict::Unknown),
            (&["madeId"], Verdict::Fail),
            (&["#seq"], Verdict::Pass),
        ],
    );
    let question = KeyQuestion { shards: Some(3), ..KeyQuestion::default() };
    let keys = proposed(&ask(&without_time, &question));
    assert!(!keys.is_empty());
    assert!(!keys.contains(&"{ seq: 1 }".to_owned()), "{keys:?}");
    assert!(!keys.contains(&"{ madeId: 1 }".to_owned()), "{keys:?}");
    // ObjectIds give the age in any order.
    let with_time = drawn_at_random(&documents(3000, |i| {
        let at = noise(i) % 1_000_000;
        format!("\"_id\": {}, \"seq\": {at}, \"userId\": {}", oid(at), noise(i + 2) % 1200)
    }));
    verdicts(
        &with_time,
        "SK-3",
        &[(&["_id"], Verdict::Fail), (&["seq"], Verdict::Fail), (&["userId"], Verdict::Pass)],
    );
}

#[test]
fn sk_3_the_measured_hot_end_decides() {
    let nested = documents(3000, |i| {
        let made = if i.is_multiple_of(100) { "\"2024-01-01\"".to_owned() } else { date(i) };
        format!(
            "\"_id\": \"{:08x}\", \"meta\": {{\"at\": {}, \"seq\": {i}}}, \"madeOn\": {made}, \"n\": {}, \"customer\": {{\"createdAt\": {}}}",
            noise(i),
            date(i),
            noise(i + 1),
            date(noise(i + 2) % 900)
        )
    });
    verdicts(
        &example(&nested),
        "SK-3",
        &[
            (&["meta.at"], Verdict::Fail),
            (&["meta.seq"], Verdict::Fail),
            (&["madeOn"], Verdict::Fail),
            (&["n"], Verdict::Pass),
            (&["customer.createdAt"], Verdict::Pass),
        ],
    );
    verdicts(
        &example(&orders()),
        "SK-3",
        &[
            (&["late"], Verdict::Fail),
            (&["late", "userId"], Verdict::Fail),
            (&["late", "createdAt"], Verdict::Fail),
        ],
    );
    for body in [nested, orders()] {
        let proposals = report(&body, &[]).proposals;
        assert!(!proposals.is_empty());
        for proposal in proposals {
            assert!(!proposal.spread.expect("values").hot_end, "{:?}", proposal.fields);
        }
    }
}

#[test]
fn sk_10_few_values_before_a_rising_field_fail() {
    let body = orders();
    verdicts(
        &example(&body),
        "SK-3",
        &[
            (&["status", "_id"], Verdict::Fail),
            (&["region", "createdAt"], Verdict::Fail),
            (&["#status", "createdAt"], Verdict::Fail),
            (&["status", "#_id"], Verdict::Pass),
            (&["region", "userId"], Verdict::Pass),
            (&["userId", "createdAt"], Verdict::Pass),
        ],
    );
    let keys = proposed(&report(&body, &[]));
    assert_eq!(keys[0], "{ userId: 1 }", "{keys:?}");
    assert!(keys.iter().all(|k| !k.contains(" _id: 1") && !k.contains("createdAt: 1")), "{keys:?}");
    let only_status =
        documents(3000, |i| format!("\"_id\": {}, \"status\": \"s{}\"", oid(i), noise(i) % 3));
    assert_eq!(proposed(&report(&only_status, &[])), ["{ _id: \"hashed\" }"]);
}

#[test]
fn sk_3_rising_text_is_seen() {
    let stamp = |i: u32| {
        format!(
            "2024-{:02}-{:02}T{:02}:{:02}:00Z",
            1 + i / 2240,
            1 + i / 80 % 28,
            i / 4 % 20,
            i % 4
        )
    };
    let in_order = documents(3000, |i| {
        format!(
            "\"_id\": \"{:08x}\", \"stamp\": \"{}\", \"urn\": \"urn:uuid:{:012x}-{:08x}\", \"far\": \"https://example.com/orders/of/the/shop/{:x}/x\"",
            noise(i),
            stamp(i),
            1_700_000_000_000u64 + u64::from(i) * 600_000,
            noise(i + 1),
            noise(i + 2)
        )
    });
    verdicts(
        &example(&in_order),
        "SK-3",
        &[
            (&["stamp"], Verdict::Fail),
            (&["urn"], Verdict::Fail),
            // Their common beginning is longer than the part that is kept.
            (&["far"], Verdict::Unknown),
        ],
    );
    // Sorted by another field: the name and the form of the values show it.
    let sorted = documents(3000, |i| {
        let at = noise(i) % 6000;
        format!(
            "\"_id\": \"{i:08}-{:08x}\", \"createdAt\": \"{}\", \"userId\": {}",
            noise(i + 1),
            stamp(at),
            noise(i + 2) % 1200
        )
    });
    verdicts(
        &example(&sorted),
        "SK-3",
        &[(&["createdAt"], Verdict::Fail), (&["userId"], Verdict::Pass)],
    );
}

#[test]
fn sk_3_a_file_sorted_by_the_key_is_ordered_by_the_time_in_its_ids() {
    let sorted = |id: &dyn Fn(u32) -> String| {
        documents(3000, |i| format!("\"_id\": {}, \"userId\": {}", id(i), i * 2 / 5))
    };
    let by_id = sorted(&|i| oid(noise(i) % 1_000_000));
    verdicts(&example(&by_id), "SK-3", &[(&["userId"], Verdict::Pass)]);
    assert_eq!(proposed(&report(&by_id, &[]))[0], "{ userId: 1 }");
    // Loaded within minutes: the ids contain the time of loading, not the age of the documents.
    let loaded = documents(3000, |i| {
        let (id, made) = (oid(i / 10), date(noise(i) % 90_000_000));
        format!("\"_id\": {id}, \"userId\": {}, \"createdAt\": {made}", i * 2 / 5)
    });
    verdicts(&example(&loaded), "SK-3", &[(&["userId"], Verdict::Pass)]);
    // Without such ids it is unknown whether the values were sorted or increase.
    let by_word = sorted(&|i| format!("\"{:08x}\"", noise(i)));
    verdicts(&example(&by_word), "SK-3", &[(&["userId"], Verdict::Unknown)]);
}

#[test]
fn sk_3_a_file_sorted_by_random_ids_says_nothing_about_insertion_order() {
    let body = documents(3000, |i| {
        let id = format!("{:08x}-1234-4abc-8def-{:012x}", i * 1_431_655, noise(i));
        format!("\"_id\": \"{id}\", \"seq\": {}", noise(i + 1) % 1_000_000)
    });
    verdicts(&example(&body), "SK-3", &[(&["seq"], Verdict::Unknown), (&["_id"], Verdict::Pass)]);
    let keys = proposed(&report(&body, &[]));
    assert!(!keys.is_empty() && keys.iter().all(|k| !k.contains("seq: 1")), "{keys:?}");
}

#[test]
fn sk_1_sk_2_hashing_cuts_doubles_to_whole_numbers() {
    let found = report(&orders(), &["#score"]);
    assert_eq!(check(&found, "SK-1").verdict, Verdict::Fail);
    assert_eq!(check(&found, "SK-2").verdict, Verdict::Fail);
    assert_eq!(found.judged[0].spread.expect("values").values, 1.0);
    assert!(check(&found, "SK-1").evidence.starts_with("about 1 different value in"));
    let ranged = report(&orders(), &["score"]);
    assert_eq!(check(&ranged, "SK-1").verdict, Verdict::Pass);
}

#[test]
fn sk_8_sk_10_a_finer_field_mends_a_dominated_one() {
    let pair = report(&st_24(), &["country", "userId"]);
    assert_eq!(pair.judged[0].verdict, Verdict::Pass, "{:?}", pair.judged[0].checks);
}

#[test]
fn sk_4_the_workload_decides_among_good_keys() {
    let body = st_24();
    let by_user = format!(
        "{body}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7}}}}}}\nran x10 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"country\": \"US\"}}}}}}"
    );
    let proposals = report(&by_user, &[]).proposals;
    assert_eq!(proposals[0].fields, key(&["userId"]));
    assert_eq!(proposals[0].targeted, Some(0.9));
}

/// Reads with a condition on `userId` only.
fn reads_by_user(condition: &str) -> String {
    format!(
        "{}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": {condition}}}}}}}",
        st_24()
    )
}

#[test]
fn sk_4_ranges_count_when_they_have_two_ends() {
    for (condition, verdict) in [
        ("7", Verdict::Pass),
        ("{\"$in\": [7, 8]}", Verdict::Pass),
        ("{\"$gte\": 7, \"$lt\": 9}", Verdict::Pass),
        ("{\"$gt\": 7}", Verdict::Fail),
        ("{\"$lte\": 7}", Verdict::Fail),
    ] {
        let found = report(&reads_by_user(condition), &["userId"]);
        assert_eq!(check(&found, "SK-4").verdict, verdict, "{condition}");
    }
    let between = report(&reads_by_user("{\"$gte\": 7, \"$lt\": 9}"), &["userId"]);
    let evidence = &check(&between, "SK-4").evidence;
    assert!(evidence.contains("100 % by a bounded range"), "{evidence}");
    // A hash scatters even those.
    let hashed = report(&reads_by_user("{\"$gte\": 7, \"$lt\": 9}"), &["#userId"]);
    assert_eq!(check(&hashed, "SK-4").verdict, Verdict::Fail);
}

#[test]
fn sk_9_ranges_of_a_hashed_field_are_warned_about() {
    let example = |targeted: f64| {
        let mut example = example(&reads_by_user("{\"$gte\": 7, \"$lt\": 9}"));
        let value = ThresholdSetting::Float(targeted);
        example.settings.overrides.push(override_at("db_shop.*", "W011", "min-targeted", value));
        example
    };
    let hashed = KeyQuestion { keys: vec![key(&["#userId"])], ..KeyQuestion::default() };
    let found = ask(&example(0.0), &hashed);
    assert_eq!(check(&found, "SK-9").verdict, Verdict::Warn);
    assert_eq!(found.judged[0].verdict, Verdict::Pass, "a warning is no failure");
    // Ranged keys are preferred.
    let proposals = proposed(&ask(&example(0.0), &KeyQuestion::default()));
    assert_eq!(proposals[0], "{ userId: 1 }", "{proposals:?}");
}

#[test]
fn sk_10_the_order_workload_ranks_the_compound_key_first() {
    let body = format!(
        "{}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7}}, \"sort\": {{\"createdAt\": -1}}}}}}\nran x60 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7, \"createdAt\": {{\"$gte\": 1}}}}}}}}",
        orders()
    );
    let keys = proposed(&report(&body, &[]));
    assert_eq!(keys[0], "{ userId: 1, createdAt: 1 }", "{keys:?}");
    assert!(keys.contains(&"{ userId: 1 }".to_owned()), "{keys:?}");
}

fn zoned(body: &str, zone: &str, show_values: bool) -> KeyReport {
    let question =
        KeyQuestion { shards: Some(3), zone: Some(zone.into()), show_values, keys: Vec::new() };
    ask(&example(body), &question)
}

#[test]
fn sk_11_zones_are_planned_without_values_unless_they_are_asked_for() {
    let plan = zoned(&orders(), "region", false).zones.expect("zones");
    assert!(plan.values_hidden);
    assert_eq!(
        plan.commands[..2],
        [
            "sh.addShardToZone(\"<shard for <value 1>>\", \"<value 1>\")",
            "sh.updateZoneKeyRange(\"db_shop.t_order_item\", { region: \"<value 1>\", userId: MinKey }, { region: \"<value 1>\", userId: MaxKey }, \"<value 1>\")",
        ]
    );
    assert!(plan.commands[3].contains("<value 2>"), "{plan:?}");
    assert!(plan.commands.iter().all(|c| !c.contains("EU") && !c.contains("US")), "{plan:?}");
    // Too many values for zones, so the flag would have no effect.
    let many = zoned(&orders(), "sub.tenant", false).zones.expect("zones");
    assert!(!many.values_hidden && many.commands.len() == 2, "{many:?}");
    let (field, values) = many.too_many.expect("more than anybody writes out");
    assert!(field == "sub.tenant" && values > 20, "{field} {values}");
    assert_eq!(plan.too_many, None);
}

#[test]
fn sk_11_the_zone_comes_first_and_the_plan_has_both_zones() {
    let zone = |body: &str, zone: &str| zoned(body, zone, true);
    let found = zone(&orders(), "region");
    assert_eq!(proposed(&found)[0], "{ region: 1, userId: 1 }", "{:?}", proposed(&found));
    assert!(found.proposals.iter().all(|p| p.fields[0].0 == "region" && p.fields.len() == 2));
    let plan = found.zones.expect("zones");
    assert!(plan.commands.len() == 4 && !plan.values_hidden, "{plan:?}");
    for name in ["EU", "US"] {
        let range = format!(
            "sh.updateZoneKeyRange(\"db_shop.t_order_item\", {{ region: \"{name}\", userId: MinKey }}, {{ region: \"{name}\", userId: MaxKey }}, \"{name}\")"
        );
        assert!(plan.commands.contains(&range), "{plan:?}");
        let shard = format!("sh.addShardToZone(\"<shard for {name}>\", \"{name}\")");
        assert!(plan.commands.contains(&shard), "{plan:?}");
    }
    // The field that reads filter by follows the zone field.
    let by_tenant = format!(
        "{}ran x90 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"sub.tenant\": 7}}}}}}",
        orders()
    );
    let found = zone(&by_tenant, "region");
    assert_eq!(proposed(&found)[0], "{ region: 1, \"sub.tenant\": 1 }");
    let nowhere = zone(&orders(), "nope");
    assert!(nowhere.proposals.is_empty() && nowhere.zones.is_none());
    assert_eq!(nowhere.nothing.as_deref(), Some("no document has `nope`"));
}

#[test]
fn keys_the_server_refuses_are_told_apart_from_bad_ones() {
    let refused = |more: &str, fields: &[&str]| -> Vec<String> {
        let body = format!("{}{more}", orders());
        let judged = report(&body, fields).judged.remove(0);
        assert_eq!(judged.verdict, Verdict::Fail, "{fields:?}");
        assert!(judged.commands.is_empty(), "{:?}", judged.commands);
        let cardinality = judged.checks.iter().filter(|c| c.clause == "SK-1");
        // Arrays are not counted.
        let expected = usize::from(fields != ["tags"]);
        assert_eq!(cardinality.count(), expected, "{:?}", judged.checks);
        judged.refusals
    };
    let email = "index {\"key\": {\"email\": 1}, \"name\": \"email_1\", \"unique\": true}";
    assert!(refused(email, &["userId"])[0].contains("unique index `email_1` { email: 1 }"));
    assert_eq!(refused("options {\"capped\": true, \"size\": 4096}", &["userId"]).len(), 1);
    assert_eq!(refused("", &["userId", "userId"]), ["the key contains `userId` twice"]);
    assert_eq!(
        refused("", &["tags"]),
        ["`tags` contains 3,000 arrays, which a shard key must not \
     have"]
    );
    assert_eq!(refused("", &["#userId", "#region"]), ["a key can have only one hashed field"]);

    // Unique indexes that begin with the key, or with `_id`, can stay.
    let stays = format!(
        "{}index {{\"key\": {{\"userId\": 1, \"createdAt\": 1}}, \"unique\": true}}\nindex {{\"key\": {{\"_id\": 1}}, \"unique\": true}}",
        orders()
    );
    for fields in [&["userId"][..], &["#userId"], &["userId", "createdAt"]] {
        assert_eq!(report(&stays, fields).judged[0].refusals, [""; 0], "{fields:?}");
    }
    let capped = report(&format!("{}options {{\"capped\": true}}", orders()), &[]);
    assert_eq!(capped.nothing.as_deref(), Some("capped collections cannot be sharded"));
}

#[test]
fn sk_1_unique_indexes_that_refuse_every_good_key_are_named() {
    let nothing = |indexes: &str, zone: Option<&str>| {
        let question = KeyQuestion { zone: zone.map(str::to_owned), ..KeyQuestion::default() };
        let found = ask(&example(&format!("{}{indexes}", orders())), &question);
        assert!(found.proposals.is_empty(), "{:?}", proposed(&found));
        found.nothing.expect("a reason")
    };
    let late = "index {\"key\": {\"late\": 1}, \"name\": \"late_1\", \"unique\": true}\n";
    let status = "index {\"key\": {\"status\": 1}, \"name\": \"status_1\", \"unique\": true}\n";
    let one = nothing(late, None);
    assert!(one.contains("of the unique index `late_1` { late: 1 };"), "{one}");
    assert!(one.contains("to use { userId: 1 }, drop it or rebuild it"), "{one}");
    let two = nothing(&format!("{late}{status}"), None);
    assert!(two.contains("`late_1` { late: 1 }, `status_1` { status: 1 };"), "{two}");
    let zoned = nothing(late, Some("region"));
    assert!(zoned.contains("to use { region: 1, userId: 1 }, drop it"), "{zoned}");
    // If reads contain no key at all, indexes are not the reason.
    let reads = "ran x90 {\"command\": {\"find\": \"t_order_item\", \"filter\": {\"other\": 7}}}";
    let scattered = nothing(&format!("{late}{reads}"), None);
    assert!(scattered.contains("of 90 reads"), "{scattered}");
}

#[test]
fn sk_12_a_collation_and_a_missing_index_are_in_the_commands() {
    let commands =
        |more: &str| report(&format!("{}{more}", orders()), &["userId"]).judged.remove(0).commands;
    let collection = "db.getSiblingDB(\"db_shop\").getCollection(\"t_order_item\")";
    let shard = "sh.shardCollection(\"db_shop.t_order_item\", { userId: 1 })";
    assert_eq!(commands(""), [format!("{collection}.createIndex({{userId: 1}})"), shard.into()]);
    assert_eq!(commands("index {\"key\": {\"userId\": 1, \"a\": 1}}"), [shard]);
    let german = "options {\"collation\": {\"locale\": \"de\"}}\nindex {\"key\": {\"userId\": 1}, \"collation\": {\"locale\": \"de\"}}";
    assert_eq!(
        commands(german),
        [
            format!("{collection}.createIndex({{userId: 1}}, {{collation: {{locale: \"simple\"}}}})"),
            "sh.shardCollection(\"db_shop.t_order_item\", { userId: 1 }, false, { collation: { locale: \"simple\" } })".to_owned()
        ]
    );
}

#[test]
fn sk_12_the_key_in_use_is_not_changed_to_itself() {
    let cluster =
        "server {\"sharded\": [{\"ns\": \"db_shop.t_order_item\", \"key\": {\"userId\": 1}}]}";
    let example = Example::new("K001", "version=6.0", &format!("{cluster}\n{}", orders()));
    let change = |fields: &[&str]| {
        let question = KeyQuestion { keys: vec![key(fields)], ..KeyQuestion::default() };
        let judged = ask(&example, &question).judged.remove(0);
        (judged.change, judged.commands)
    };
    let (same, commands) = change(&["userId"]);
    assert!(same.contains("already") && commands.is_empty(), "{commands:?}");
    let (_, refined) = change(&["userId", "createdAt"]);
    assert!(refined[0].contains("createIndex") && refined[1].contains("refine"), "{refined:?}");
    let (_, moved) = change(&["#_id"]);
    assert!(moved.len() == 1 && moved[0].starts_with("sh.reshardCollection"), "{moved:?}");
    // If the current key is good, others are shown for comparison.
    let found = ask(&example, &KeyQuestion::default());
    assert_eq!(found.judged[0].verdict, Verdict::Pass, "{:?}", found.judged[0].checks);
    assert!(!found.proposals.is_empty());
    for other in &found.proposals {
        assert!(other.commands.is_empty() && other.change.contains("comparison"), "{other:?}");
    }
}

#[test]
fn few_documents_are_too_few_to_tell() {
    let tiny = "x3 {\"_id\": $i, \"status\": \"a\"}\n{\"_id\": 9, \"status\": \"b\"}";
    for fields in [&["status"][..], &["_id"]] {
        let found = report(tiny, fields);
        assert_eq!(found.judged[0].verdict, Verdict::Unknown, "{:?}", found.judged[0].checks);
        assert!(found.proposals.is_empty());
        assert!(found.nothing.as_deref().expect("a reason").contains("too few"));
    }
    assert!(
        check(&report(tiny, &["status"]), "SK-1").evidence.contains("too few documents to judge")
    );
    let one = report("{\"_id\": 1, \"a\": 1}", &["a"]);
    assert!(check(&one, "SK-1").evidence.starts_with("1 different value in 1 document:"));
}

#[test]
fn figures_are_right_or_not_given() {
    let body = orders();
    let embedded = report(&body, &["sub"]);
    assert_eq!(embedded.judged[0].verdict, Verdict::Unknown);
    assert_eq!(embedded.judged[0].spread, None);
    assert!(check(&embedded, "SK-1").evidence.contains("as `sub.tenant`"));
    // `_id` is unique by definition.
    let id = report(&body, &["#_id"]).judged[0].spread.expect("values");
    assert_eq!((id.values, id.exact), (3000.0, true));
    // The sample contains only the first scalars of a wide document, so missing ones must not count
    // as null.
    let wide = documents(400, |i| {
        let many: Vec<String> = (0..140).map(|n| format!("\"f{n}\": {}", noise(i + n))).collect();
        format!("\"_id\": {i}, {}", many.join(", "))
    });
    assert_eq!(report(&wide, &["f3"]).judged[0].verdict, Verdict::Unknown);
    assert!(report(&wide, &["f3"]).judged[0].spread.is_some());
    assert!(report(&wide, &["f139", "f3"]).judged[0].spread.is_none());
    // A field that no document has is not a reason for the server to refuse the key.
    let nobody = report(&body, &["nobody"]);
    assert_eq!(check(&nobody, "SK-1").verdict, Verdict::Fail);
    assert_eq!(nobody.judged[0].refusals, [""; 0]);
    let spread = nobody.judged[0].spread.expect("values");
    assert_eq!((spread.values, spread.top_share), (1.0, 1.0));
}

#[test]
fn limits_are_those_of_the_rules() {
    let with = |code: &str, name: &str, value: ThresholdSetting, clause: &str, fields: &[&str]| {
        let body = format!(
            "{}ran x100 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"userId\": 7}}}}}}\nran x60 {{\"command\": {{\"find\": \"t_order_item\", \"filter\": {{\"a\": 7}}}}}}",
            orders()
        );
        let mut example = example(&body);
        example.settings.overrides.push(override_at("db_shop.*", code, name, value));
        let question = KeyQuestion { keys: vec![key(fields)], ..KeyQuestion::default() };
        check(&ask(&example, &question), clause).verdict
    };
    let (int, float) = (ThresholdSetting::Int, ThresholdSetting::Float);
    assert_eq!(with("K001", "min-values", int(1000), "SK-1", &["userId"]), Verdict::Pass);
    assert_eq!(with("K001", "min-values", int(1_300), "SK-1", &["userId"]), Verdict::Fail);
    assert_eq!(with("K002", "fail-share", float(0.9), "SK-2", &["region"]), Verdict::Warn);
    assert_eq!(with("K002", "fail-share", float(0.3), "SK-2", &["region"]), Verdict::Fail);
    assert_eq!(with("W011", "min-targeted", float(0.6), "SK-4", &["userId"]), Verdict::Pass);
    assert_eq!(with("W011", "min-targeted", float(0.7), "SK-4", &["userId"]), Verdict::Fail);
}

#[test]
fn sk_1_uuids_and_whole_doubles_are_candidates() {
    let body = documents(5000, |i| {
        format!(
            "\"_id\": UUID(\"{:08x}-0000-4000-8000-{:012x}\"), \"2faId\": {}.0, \"rate\": {}.5",
            noise(i),
            i,
            noise(i) % 1_000_000,
            noise(i + 7) % 1_000_000
        )
    });
    let proposals = proposed(&report(&body, &[]));
    assert!(proposals.iter().any(|key| key.contains("_id")), "{proposals:?}");
    assert!(proposals.iter().any(|key| key.contains("\"2faId\"")), "{proposals:?}");
    assert!(proposals.iter().all(|key| !key.contains("rate")), "{proposals:?}");
}

#[test]
fn sk_12_databases_are_enabled_where_the_server_asks_for_it() {
    let body = documents(5000, |i| format!("\"_id\": {i}, \"customerId\": {}", noise(i)));
    let commands = |version: &str| {
        let question = KeyQuestion { keys: vec![key(&["customerId"])], ..KeyQuestion::default() };
        let report = ask(&Example::new("K001", version, &body), &question);
        report.judged[0].commands.clone()
    };
    assert_eq!(commands("version=5.0")[0], "sh.enableSharding(\"db_shop\")");
    assert!(commands("version=6.0").iter().all(|command| !command.contains("enableSharding")));
}
