//! PT-*: the patterns of decisions, at their limits.

use docward_design::{Choice, Pattern, Verdict};
use docward_model::BsonType;

use crate::common::{Case, WRITTEN, of, pair};

pub(crate) const SHARED: &str = "children: 1, parents: {p50: 5, p99: 50, max: 500}";
pub(crate) const ENDLESS: &str = "children: {p50: 20, p99: 3000, max: 9000}, growth: 50/year";
/// Lists so short that a count costs no more than a read.
const SHORT: &str = "children: {p50: 20, p99: 60, max: 900}, growth: 50/year";
pub(crate) const ALONE: &str = "from: child, where: [a], rate: 30/s";

#[test]
fn dp_4_copies_of_what_changes_are_named() {
    let read = "from: parent, where: [_id], with: {parent.children: [a, b]}, rate: 10/s";
    let writes = [WRITTEN[0], WRITTEN[1], "update: [child], sets: [child.b], rate: 1/h"];
    let case = of(&pair(SHARED, &[read, ALONE], &writes));
    let [_, Pattern::ExtendedReference { changing, .. }] = case.patterns("parent.children") else {
        panic!("{:?}", case.patterns("parent.children"))
    };
    assert_eq!(changing, &["b"]);
}

#[test]
fn er_m_6_pt_poly_1_a_document_is_of_one_kind() {
    let model = |kinds: &str| {
        of(&format!(
            "entities:
  page: {{count: 1000, lifecycle: {{growth: 1/year, kept: forever}}, fields: {{title: string}}}}
  block:
    count: 9k
    lifecycle: {{growth: 1/year, kept: forever}}
    fields: {{place: int}}
    variants: {{{kinds}}}
relationships:
  page.blocks: {{child: block, children: {{p50: 9, p99: 30, max: 40}}, growth: bounded}}
reads:
  r: {{from: page, where: [_id], with: [page.blocks], rate: 9/s}}
writes:
  w: {{insert: [page, block], rate: 1/h}}
"
        ))
    };
    let kind = |name: &str, bytes: &str| {
        format!("{name}: {{{name}Body: {{type: string, bytes: {bytes}}}}}")
    };
    let three = [kind("text", "25 KB"), kind("code", "25 KB"), kind("image", "25 KB")].join(", ");
    let case = model(&three);
    assert_eq!(
        case.verdict("page.blocks"),
        Verdict::Embed,
        "{}",
        case.decision("page.blocks").ruling.how
    );
    let one = model(&kind("text", "25 KB"));
    let bytes = |case: &Case| case.decision("page.blocks").facts.child_p99;
    assert!(bytes(&case).abs_diff(bytes(&one)) < 10, "{} and {}", bytes(&case), bytes(&one));
    // With large and small children, the mean is the typical size, and the largest is at p99.
    let mixed =
        model(&[kind("text", "100"), kind("code", "300"), "rule: {}".to_owned()].join(", "));
    let facts = &mixed.decision("page.blocks").facts;
    assert!((130..200).contains(&facts.child_bytes), "{}", facts.child_bytes);
    assert!((320..380).contains(&facts.child_p99), "{}", facts.child_p99);
}

#[test]
fn er_m_5_dm_07_7_what_is_held_by_its_id_is_part_of_nobody() {
    let case = of("entities:
  mailbox: {count: 1M, lifecycle: {growth: 1k/year, kept: forever}, fields: {address: string}}
  label: {count: 5M, lifecycle: {growth: 1k/year, kept: forever}, fields: {name: string, colour: string}}
  message: {count: 900M, lifecycle: {growth: 1M/year, kept: forever}, fields: {subject: string}}
relationships:
  mailbox.labels: {child: label, children: {p50: 5, p99: 20, max: 40}, growth: bounded}
  message.labels: {child: label, children: {p50: 1, p99: 4, max: 9}, parents: {p50: 90, p99: 9k, max: 90k}, growth: bounded}
reads:
  open: {from: mailbox, where: [_id], with: [mailbox.labels], rate: 90/s}
  message: {from: message, where: [_id], with: {message.labels: [name]}, rate: 9/s}
writes:
  w: {insert: [mailbox, label, message], rate: 1/s}
  rename: {update: label, sets: [label.name], rate: 1/h}
");
    assert_eq!(case.named("message.labels")[0], "child-ids-in-parent");
    let labels = case.decision("mailbox.labels");
    assert_eq!(labels.verdict, Verdict::Reference);
    assert_eq!(labels.ruling.decided_by, ["ER-M.5", "DM-07.6"]);
    assert!(labels.ruling.how.contains("`message.labels` references"));
    assert!(case.has_collection("label"));
    assert!(case.find("mailbox", "labels").is_none());
    let remarks = &case.decision("message.labels").remarks;
    assert!(!remarks.iter().any(|said| said.contains("cannot be stored")), "{remarks:?}");
}

#[test]
fn er_m_5_one_to_one_by_id_no_child_is_held_twice() {
    let read = "from: parent, where: [_id], with: [parent.children], rate: 1/s";
    let case = of(&pair("children: 1", &[read, ALONE], WRITTEN));
    assert_eq!(case.named("parent.children"), ["child-ids-in-parent"]);
    let held = case.indexes("parent");
    assert_eq!(held.len(), 1, "{held:?}");
    assert!(held[0].contains(" unique where ") && held[0].ends_with("Id is there"), "{held:?}");
}

/// Returns the documents that a read needs with the chosen alternative of a relationship.
fn documents(case: &Case, relationship: &str, operation: &str) -> Option<f64> {
    let chosen = &case.decision(relationship).alternatives[0];
    chosen.operations.iter().find(|op| op.name == operation).map(|op| op.documents)
}

#[test]
fn er_x_1_tables_tell_documents_that_are_touched() {
    let case = of("entities:
  dish: {count: 9k, lifecycle: {growth: 1k/year, kept: forever}, fields: {name: string, price: decimal}}
  order: {count: 9M, lifecycle: {growth: 1M/year, kept: forever}, fields: {total: decimal}}
  line: {lifecycle: {growth: 3M/year, kept: forever}, fields: {quantity: int}}
  note: {count: 900k, lifecycle: {growth: 90k/year, kept: forever}, fields: {text: string, createTime: date}}
  reaction: {count: 9M, lifecycle: {growth: 90k/year, kept: forever}, fields: {word: string, createTime: date}}
relationships:
  order.lines: {child: line, children: {p50: 3, p99: 15, max: 40}, growth: bounded}
  dish.lines: {child: line, children: {p50: 900, p99: 9k, max: 90k}, growth: endless}
  order.notes: {child: note, children: {p50: 9, p99: 9k, max: 90k}, growth: endless}
  note.reactions: {child: reaction, children: {p50: 9, p99: 9k, max: 90k}, growth: endless}
reads:
  order: {from: order, where: [_id], with: {order.lines: all, dish.lines: [name]}, rate: 50/s}
  news: {from: order, where: [_id], with: {order.notes: {newest: 3, by: createTime, fields: [text]}}, count: [order.notes], rate: 50/s}
  note: {from: note, where: [_id], with: {note.reactions: {newest: 3, by: createTime}}, rate: 1/s}
  menu: {from: dish, where: [name], rate: 9/s}
writes:
  w: {insert: [dish, order, line, note, reaction], rate: 1/min}
");
    assert!(case.named("dish.lines").contains(&"extended-reference"));
    assert_eq!(documents(&case, "dish.lines", "order"), Some(1.0), "the name is in the line");
    assert_eq!(case.verdict("order.notes"), Verdict::Hybrid);
    assert_eq!(documents(&case, "order.notes", "news"), Some(1.0));
    assert_eq!(documents(&case, "note.reactions", "news"), None, "no note is read");
    assert_eq!(documents(&case, "note.reactions", "note"), Some(1.0));
}

#[test]
fn pt_bucket_1_readings_cost_as_many_documents_as_there_are_buckets() {
    let case = of("deployment: {server: \"4.4\"}
entities:
  trip: {count: 9k, lifecycle: {growth: 1k/year, kept: forever}, fields: {driver: string}}
  ping:
    count: 9M
    lifecycle: {growth: 9M/year, kept: forever}
    fields: {lat: double, lon: double, time: date}
    series: {time: time, id: [trip], rate: 1/s}
relationships:
  trip.pings: {child: ping, children: {p50: 600, p95: 900, p99: 3000, max: 9000}, growth: endless}
reads:
  track: {from: ping, where: [trip], sort: [time], rate: 9/s}
  trip: {from: trip, where: [_id], rate: 9/s}
writes:
  start: {insert: trip, rate: 1/h}
  ping: {insert: ping, rate: 9/s}
");
    let bucket = case.advice("ping").patterns.iter().find_map(|pattern| match pattern {
        Pattern::Bucket(bucket) => Some(bucket.most),
        _ => None,
    });
    assert_eq!(bucket, Some(100));
    let sizes = case.design.capacity.iter().find(|c| c.collection == "ping").unwrap().document;
    assert!(sizes.0 <= sizes.1 && sizes.1 <= sizes.2, "{sizes:?}");
    assert_eq!(documents(&case, "trip.pings", "track"), Some(6.0));
    assert_eq!(documents(&case, "trip.pings", "ping"), Some(1.0));
}

#[test]
fn alg_2_a_hybrid_counts_in_its_table_what_it_counts_in_its_documents() {
    let bytes = |count: &str| {
        let page = format!(
            "from: parent, where: [_id], with: {{parent.children: {{newest: 3, by: createTime, fields: [a]}}}}, {count}rate: 10/s"
        );
        let case = of(&pair(ENDLESS, &[&page, ALONE], WRITTEN));
        let fields = &case.collection("parent").fields;
        assert_eq!(case.find("parent", "childCount").is_some(), !count.is_empty());
        let table = case.decision("parent.children").alternatives[0].parent[0];
        (table.1, docward_design::document_bytes(fields, docward_design::Rank::Typical))
    };
    for count in ["", "count: [parent.children], "] {
        let (table, designed) = bytes(count);
        assert_eq!(table, designed, "{count}");
    }
}

#[test]
fn attributes_are_set_whoever_else_sets_them() {
    let case = crate::common::gallery("catalogue");
    let set = case.function("setProductAttribute");
    assert!(set.contains("attempt") && set.contains("$or"), "{set}");
}

#[test]
fn examples_of_attributes_have_their_names_and_types() {
    let case = of("entities:
  listing:
    count: 9k
    lifecycle: {growth: 1k/year, kept: forever}
    fields: {title: string, pool: {type: bool, required: false}, rooms: {type: int, required: false}, heating: {type: string, required: false}}
    attributes: [pool, rooms, heating]
reads:
  r: {from: listing, where: [pool], rate: 9/s}
  s: {from: listing, where: [rooms], rate: 9/s}
  t: {from: listing, where: [heating], rate: 9/s}
writes:
  w: {insert: listing, rate: 1/h}
");
    let home = case.collection("listing");
    let example = docward_design::example::example(&case.model, home);
    let attributes = example.get_array("attributes").unwrap();
    let first = attributes[0].as_document().unwrap();
    assert_eq!(first.get_str("k").unwrap(), "pool", "{example}");
    assert!(first.get_bool("v").is_ok(), "{example}");
}

#[test]
fn gc_47_a_sum_is_called_a_sum() {
    let read = "from: parent, where: [_id], sum: {parent.children: amount}, rate: 1/s";
    let case = of(&pair(ENDLESS, &[read, ALONE], &[WRITTEN[0], "insert: [child], rate: 9/s"]));
    let remarks = &case.decision("parent.children").remarks;
    assert!(remarks.iter().any(|said| said.starts_with("the sum is read")), "{remarks:?}");
    assert_eq!(case.check("CK-11").1, "summed at every read: `op0`");
}

#[test]
fn alg_2_pairs_are_as_many_as_at_the_mean() {
    let case = of("entities:
  repo: {count: 1M, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  user: {count: 1M, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
relationships:
  repo.stargazers: {child: user, children: {p50: 0, p95: 40, p99: 900, max: 300k}, parents: {p50: 2, p95: 9, p99: 30, max: 5000}, growth: endless}
reads:
  r: {from: repo, where: [_id], with: {repo.stargazers: [name]}, rate: 1/s}
  s: {from: user, where: [_id], rate: 9/s}
writes:
  w: {insert: [repo, user], rate: 1/s}
");
    let pairs = case.collection("repo_stargazer").documents.unwrap();
    let mean = docward_design::quantile::mean(case.decision("repo.stargazers").facts.children);
    assert!((pairs - 1e6 * mean).abs() < 1.0 && pairs > 1e6, "{pairs}");
}

#[test]
fn alg_2_lists_of_parents_spread_as_declared() {
    let case = of("entities:
  star: {count: 1000, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  fan: {count: 100k, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
relationships:
  star.fans: {child: fan, children: {p50: 100, p95: 900, p99: 9k, max: 90k}, parents: {p50: 2, p95: 9, p99: 30, max: 500}, growth: endless}
reads:
  r: {from: fan, where: [_id], with: {star.fans: [name]}, rate: 9/s}
  s: {from: star, where: [_id], rate: 9/s}
writes:
  w: {insert: [star, fan], rate: 1/s}
");
    assert_eq!(case.named("star.fans")[0], "parent-ids-in-child");
    let items = case.field("fan", "starIds").items.unwrap();
    assert_eq!((items.p50, items.p95, items.p99, items.max), (2, 9, 30, 500));
}

#[test]
fn ck_14_gc_04_pages_of_uneven_children_stay_small() {
    let read = "from: parent, where: [_id], with: [parent.children], rate: 90/s";
    let text =
        pair("children: {p50: 3, p95: 9, p99: 20, max: 9000}, growth: bounded", &[read], WRITTEN)
            .replace("{a: string,", "{a: {type: string, bytes: {typical: 600, p99: 20 KB}},");
    let case = of(&text);
    assert_eq!(case.named("parent.children"), ["embedded", "outlier"]);
    assert_eq!(case.check("CK-14").0, Some(true), "{}", case.check("CK-14").1);
}

#[test]
fn gc_47_pt_computed_1_ten_reads_for_a_change_are_enough_and_nine_are_not() {
    let counted = |rate: &str, stale: &str| {
        let read =
            format!("from: parent, where: [_id], count: [parent.children], rate: {rate}{stale}");
        let reads = [read.as_str(), "from: child, where: [parent], rate: 1/s"];
        let writes = ["insert: [parent], rate: 1/day", "insert: [child], rate: 1/s"];
        of(&pair(SHORT, &reads, &writes))
    };
    assert_eq!(counted("9/s", "").named("parent.children"), ["parent-id-in-child"]);
    let ten = counted("10/s", "");
    assert_eq!(ten.named("parent.children"), ["parent-id-in-child", "computed"]);
    assert_eq!(ten.field("parent", "childCount").kind, BsonType::Long);
    assert_eq!(counted("9/s", "").check("CK-11").0, Some(false));
    assert_eq!(ten.check("CK-11").0, Some(true));
}

#[test]
fn pt_computed_2_a_busy_count_that_may_be_old_is_kept_roughly() {
    let counted = |stale: &str, arriving: &str| {
        let read =
            format!("from: parent, where: [_id], count: [parent.children], rate: 200/s{stale}");
        let reads = [read.as_str(), "from: child, where: [parent], rate: 1/s"];
        let child = format!("insert: [child], rate: {arriving}");
        of(&pair(ENDLESS, &reads, &["insert: [parent], rate: 1/day", &child]))
    };
    let rough = counted(", may-be-stale: true", "100/s");
    assert_eq!(rough.patterns("parent.children")[1], Pattern::Approximation { step: 100 });
    assert_eq!(counted("", "100/s").named("parent.children"), ["parent-id-in-child"]);
    let calm = counted(", may-be-stale: true", "99/s");
    assert_eq!(calm.named("parent.children"), ["parent-id-in-child"]);
}

#[test]
fn gc_35_sums_come_with_a_count() {
    let reads = [
        "from: parent, where: [_id], sum: {parent.children: amount}, rate: 50/s",
        "from: child, where: [parent], rate: 1/s",
    ];
    let case = of(&pair(ENDLESS, &reads, WRITTEN));
    let expected = Pattern::Computed { counts: true, sums: vec!["amount".to_owned()] };
    assert_eq!(case.patterns("parent.children")[1], expected);
}

#[test]
fn pt_outlier_1_ten_times_p99_and_a_thousand() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let spread = |p99: u64, max: u64| {
        let figures = format!("children: {{p50: 8, p99: {p99}, max: {max}}}, growth: bounded");
        let case = of(&pair(&figures, &read, WRITTEN));
        (
            case.decision("parent.children").choice.unwrap(),
            case.named("parent.children").contains(&"outlier"),
        )
    };
    assert_eq!(spread(40, 999), (Choice::Embed, false));
    assert_eq!(spread(40, 1000), (Choice::Embed, true));
    assert_eq!(spread(100, 1000), (Choice::Embed, true), "exactly ten times");
    assert_eq!(spread(101, 1009), (Choice::Reference, false), "a broad tail");
    assert_eq!(spread(250, 2500), (Choice::Embed, true));
}

#[test]
fn dm_08_4_pt_slice_1_a_cap_is_an_end() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let case = of(&pair(
        "children: {p50: 20, p99: 150, max: 9000}, growth: 90/year, keep-newest: 10",
        &read,
        WRITTEN,
    ));
    assert_eq!(
        case.patterns("parent.children"),
        [Pattern::Embedded, Pattern::CappedArray { newest: 10 }]
    );
    assert_eq!(case.field("parent", "children").items.unwrap().max, 10);
}

#[test]
fn pt_slice_1_gc_07_what_is_cut_names_its_parent() {
    let reads = [ALONE, "from: parent, where: [_id], with: [parent.children], rate: 1/s"];
    let figures = "children: {p50: 90, p99: 300, max: 900}, growth: 9/year, keep-newest: 200";
    let case = of(&pair(figures, &reads, WRITTEN));
    assert_eq!(case.named("parent.children")[0], "parent-id-in-child");
    // The index finds the oldest children of a parent.
    assert!(
        case.indexes("child").contains(&"{ parentId: 1, createTime: -1 }".to_owned()),
        "{:?}",
        case.indexes("child")
    );
}

#[test]
fn pt_outlier_1_ck_14_pages_of_large_children_are_shorter() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let figures = "children: {p50: 8, p99: 40, max: 5000}, growth: bounded";
    let page = |bytes: &str| {
        let text = pair(figures, &read, WRITTEN)
            .replace("a: string,", &format!("a: {{type: binData, bytes: {bytes}}},"));
        let case = of(&text);
        let patterns = case.patterns("parent.children").to_vec();
        patterns.into_iter().find_map(|pattern| match pattern {
            Pattern::Outlier { page } => Some(page),
            _ => None,
        })
    };
    assert_eq!(page("300 B"), Some(1000));
    let large = page("10 KB").unwrap();
    assert!((150..165).contains(&large), "{large} of 10 KB in 1.6 MB");
}

#[test]
fn dm_08_5_readings_are_never_part_of_a_parent() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &read, WRITTEN).replace(
        "  child:\n    count: 5000",
        "  child:\n    series: {time: createTime, id: parent, rate: 1/h}\n    needs-change-streams-or-updates: false\n    count: 5000",
    );
    let case = of(&text);
    assert_eq!(case.verdict("parent.children"), Verdict::Reference);
    assert_eq!(case.decision("parent.children").ruling.decided_by, ["DM-08.5", "PT-bucket.1"]);
}

#[test]
fn dm_06_1_a_chain_of_parts_is_cut_at_five_levels_and_remarked_on_from_four() {
    let chain = |length: usize| {
        let name = |i: usize| format!("e{i}");
        let mut text = String::from("entities:\n");
        for i in 0..=length {
            text += &format!(
                "  {}: {{count: 90, lifecycle: {{growth: 0, kept: forever}}, fields: {{a: int}}}}\n",
                name(i)
            );
        }
        text += "relationships:\n";
        for i in 0..length {
            text += &format!(
                "  e{i}.below: {{child: e{}, children: {{p50: 2, p99: 3, max: 4}}, growth: bounded}}\n",
                i + 1
            );
        }
        let all: Vec<String> = (0..length).map(|i| format!("e{i}.below")).collect();
        let names: Vec<String> = (0..=length).map(name).collect();
        text += &format!(
            "reads:\n  r: {{from: e0, where: [_id], with: [{}], rate: 1/s}}\nwrites:\n  w: {{insert: [{}], rate: 1/h}}\n",
            all.join(", "),
            names.join(", ")
        );
        of(&text)
    };
    let three = chain(3);
    assert!(three.design.decisions.iter().all(|d| d.remarks.is_empty()));
    let five = chain(5);
    assert!(five.design.decisions.iter().all(|d| d.verdict == Verdict::Embed));
    assert!(five.decision("e0.below").remarks[0].contains("5 levels deep"));
    let seven = chain(7);
    let cut: Vec<&str> = seven
        .design
        .decisions
        .iter()
        .filter(|d| d.verdict != Verdict::Embed)
        .map(|d| d.relationship.as_str())
        .collect();
    assert_eq!(cut, ["e5.below"]);
    assert_eq!(seven.decision("e5.below").ruling.decided_by, ["DM-06.1"]);
    assert!(seven.has_collection("e6"));
}

#[test]
fn dm_08_1_ck_14_of_two_lists_that_are_too_large_together_the_larger_one_goes() {
    let model = |first: &str, second: &str| {
        of(&format!(
            "entities:
  order: {{count: 90, lifecycle: {{growth: 0, kept: forever}}, fields: {{a: int}}}}
  one: {{lifecycle: {{growth: 0, kept: forever}}, fields: {{a: {{type: binData, bytes: {first}}}}}}}
  two: {{lifecycle: {{growth: 0, kept: forever}}, fields: {{a: {{type: binData, bytes: {second}}}}}}}
relationships:
  order.ones: {{child: one, children: {{p50: 9, p99: 20, max: 20}}, growth: bounded}}
  order.twos: {{child: two, children: {{p50: 9, p99: 20, max: 20}}, growth: bounded}}
reads:
  r: {{from: order, where: [_id], with: [order.ones, order.twos], rate: 1/s}}
writes:
  w: {{insert: [order, one, two], rate: 1/h, atomic: true}}
"
        ))
    };
    let first = model("70 KB", "40 KB");
    assert_eq!(first.verdict("order.ones"), Verdict::Reference);
    assert_eq!(first.verdict("order.twos"), Verdict::Embed);
    let second = model("40 KB", "70 KB");
    assert_eq!(second.verdict("order.ones"), Verdict::Embed);
    assert_eq!(second.verdict("order.twos"), Verdict::Reference);
}

#[test]
fn dp_2_what_is_part_of_another_has_no_versions_archive_or_end_of_its_own() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &read, WRITTEN).replace(
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever}",
        "  child:\n    count: 5000\n    keeps-versions: true\n    shape-version: 2\n    lifecycle: {growth: 500/year, kept: 90 days, cold-after: 30 days}",
    );
    let case = of(&text);
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
    let advice = case.advice("child");
    assert!(advice.patterns.is_empty(), "{:?}", advice.patterns);
    assert_eq!(advice.remarks.len(), 4, "{:?}", advice.remarks);
    assert!(advice.remarks.iter().any(|said| said.contains("Every day, remove elements")));
    assert!(case.find("parent", "children.schemaVersion").is_none());
}

#[test]
fn unique_values_stay_unique_inside_a_parent() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &read, WRITTEN)
        .replace("a: string,", "a: {type: string, unique: true},");
    let case = of(&text);
    assert_eq!(case.indexes("parent"), ["{ children.a: 1 } unique where children.a is there"]);
}

#[test]
fn ck_12_one_index_for_what_is_unique_and_asked_for() {
    let reads = [
        "from: parent, where: [_id], with: [parent.children], rate: 10/s",
        "from: child, where: [a], rate: 1/day",
        "from: parent, where: [title], rate: 1/s",
    ];
    let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &reads, WRITTEN)
        .replace("a: string,", "a: {type: string, unique: true},")
        .replace("title: string,", "title: {type: string, unique: true, required: false},");
    assert_eq!(
        of(&text).indexes("parent"),
        [
            "{ children.a: 1 } unique where children.a is there",
            "{ title: 1 } unique where title is there"
        ]
    );
    // Elements without the field would all have the same index key.
    let optional = text.replace(
        "a: {type: string, unique: true}",
        "a: {type: string, unique: true, required: false}",
    );
    let case = of(&optional);
    assert_eq!(case.indexes("parent")[0], "{ children.a: 1 }");
    assert!(case.advice("child").remarks[0].contains("elements that may lack it"));
}

#[test]
fn two_roles_of_one_parent_are_two_lists() {
    let case = of("entities:
  order: {count: 90, lifecycle: {growth: 0, kept: forever}, fields: {a: int}}
  address: {lifecycle: {growth: 0, kept: forever}, fields: {street: string}}
relationships:
  order.billing: {child: address, children: 1}
  order.shipping: {child: address, children: {p50: 1, p99: 3, max: 9}, growth: bounded}
reads:
  r: {from: order, where: [_id], with: [order.billing, order.shipping], rate: 1/s}
writes:
  w: {insert: [order, address], rate: 1/h}
");
    assert_eq!(case.verdict("order.billing"), Verdict::Embed);
    assert_eq!(case.verdict("order.shipping"), Verdict::Embed);
    assert_eq!(case.design.collections.len(), 1);
}

#[test]
fn pt_embed_1_elements_that_are_changed_one_by_one_have_an_id() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let figures = "children: {p50: 3, p99: 9, max: 20}, growth: bounded";
    let case = of(&pair(figures, &read, WRITTEN));
    assert!(case.find("parent", "children._id").is_none());
    let bytes = case.decision("parent.children").facts.child_bytes;
    let updated = [WRITTEN, &["update: [child], rate: 1/day"]].concat();
    let case = of(&pair(figures, &read, &updated));
    assert!(case.find("parent", "children._id").is_some());
    assert_eq!(case.decision("parent.children").facts.child_bytes, bytes + 17);
    // Reads look up children by id, so the id has an index.
    let reads = [read[0], "from: child, where: [_id], rate: 1/day"];
    let case = of(&pair(figures, &reads, WRITTEN));
    assert_eq!(case.indexes("parent"), ["{ children._id: 1 }"]);
}

#[test]
fn gc_35_two_lists_that_sum_the_same_field_keep_two_sums() {
    let model = "entities:
  order: {count: 90, lifecycle: {growth: 0, kept: forever}, fields: {a: int}}
  item: {lifecycle: {growth: 0, kept: forever}, fields: {price: decimal}}
  refund: {lifecycle: {growth: 0, kept: forever}, fields: {price: {type: decimal, required: false}}}
relationships:
  order.items: {child: item, children: {p50: 9, p99: 20, max: 20}, growth: bounded}
  order.refunds: {child: refund, children: {p50: 9, p99: 20, max: 20}, growth: bounded}
reads:
  r: {from: order, where: [_id], with: [order.items, order.refunds], sum: {order.items: price, order.refunds: price}, rate: 90/s}
writes:
  w: {insert: [order, item, refund], rate: 1/h}
";
    let case = of(model);
    for name in [
        "itemPriceSum",
        "itemPriceAverage",
        "refundPriceSum",
        "refundPriceAverage",
        "refundPriceGivenCount",
    ] {
        assert!(case.find("order", name).is_some(), "{name}");
    }
    assert!(case.find("order", "itemPriceGivenCount").is_none());
}

#[test]
fn gc_07_er_t_3_ids_in_the_parent_up_to_999_and_in_the_child_from_1000_on() {
    let reads = [ALONE, "from: parent, where: [_id], with: [parent.children], rate: 1/s"];
    let holder = |max: u64, growth: &str| {
        let figures = format!("children: {{p50: 90, p99: 300, max: {max}}}, growth: {growth}");
        of(&pair(&figures, &reads, WRITTEN)).named("parent.children")[0]
    };
    assert_eq!(holder(300, "bounded"), "child-ids-in-parent");
    assert_eq!(holder(999, "bounded"), "child-ids-in-parent");
    assert_eq!(holder(1000, "bounded"), "parent-id-in-child");
    assert_eq!(holder(300, "10/year"), "parent-id-in-child");
}

#[test]
fn gc_07_er_t_6_many_to_many_by_bounds_of_both_sides() {
    let holder = |children: u64, parents: u64| {
        let figures = format!(
            "children: {{p50: 5, p99: 30, max: {children}}}, growth: bounded, parents: {{p50: 5, p99: 30, max: {parents}}}"
        );
        let reads = [ALONE, "from: parent, where: [_id], with: [parent.children], rate: 1/s"];
        of(&pair(&figures, &reads, WRITTEN)).named("parent.children")[0]
    };
    assert_eq!(holder(999, 999), "child-ids-in-parent");
    assert_eq!(holder(999, 500_000), "child-ids-in-parent");
    assert_eq!(holder(1000, 999), "parent-ids-in-child");
    assert_eq!(holder(1000, 1000), "junction");
}

#[test]
fn er_t_6_a_course_of_3000_lists_nobody_from_whichever_side_it_is_told() {
    let model = |relationship: &str| {
        of(&format!(
            "entities:
  student: {{count: 9000, lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string}}}}
  course: {{count: 90, lifecycle: {{growth: 0, kept: forever}}, fields: {{title: string}}}}
relationships:
  {relationship}
reads:
  s: {{from: student, where: [_id], rate: 10/s}}
  c: {{from: course, where: [_id], rate: 10/s}}
writes:
  w: {{insert: [student], update: [course], rate: 1/h}}
"
        ))
    };
    let told_by_courses = model(
        "course.students: {child: student, children: {p50: 30, p99: 900, max: 3000}, growth: bounded, parents: {p50: 4, p99: 10, max: 40}}",
    );
    let told_by_students = model(
        "student.courses: {child: course, children: {p50: 4, p99: 10, max: 40}, growth: bounded, parents: {p50: 30, p99: 900, max: 3000}}",
    );
    for case in [&told_by_courses, &told_by_students] {
        assert_eq!(case.field("student", "courseIds").items.unwrap().max, 40);
        assert!(case.collection("course").fields.iter().all(|field| field.items.is_none()));
    }
}

#[test]
fn er_t_2_5000_items_that_are_always_read_with_the_parent_are_not_embedded() {
    let read = ["from: parent, where: [_id], with: {parent.children: {newest: 10}}, rate: 10/s"];
    let case =
        of(&pair("children: {p50: 90, p99: 5000, max: 5000}, growth: bounded", &read, WRITTEN));
    assert_eq!(case.verdict("parent.children"), Verdict::Hybrid);
}

#[test]
fn trees_keep_the_parent_and_all_above() {
    let case = of("entities:
  node: {count: 90, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
relationships:
  node.below: {child: node, children: {p50: 3, p99: 9, max: 30}, growth: bounded}
reads:
  r: {from: node, where: [_id], rate: 1/s}
writes:
  w: {insert: [node], rate: 1/h}
");
    assert_eq!(case.patterns("node.below"), [Pattern::Tree, Pattern::ParentInChild]);
    assert!(case.decision("node.below").turns.is_empty());
    assert_eq!(case.indexes("node"), ["{ parentId: 1 }", "{ ancestors: 1 }"]);
}

#[test]
fn pt_poly_1_a_discriminator_is_found_or_made() {
    let model = |fields: &str| {
        of(&format!(
            "entities:
  thing:
    count: 90
    lifecycle: {{growth: 0, kept: forever}}
    fields: {{name: string{fields}}}
    variants: {{car: {{doors: int, engine: int}}, boat: {{length: int, engine: int}}}}
reads:
  doors: {{from: thing, where: {{doors: range}}, rate: 1/s}}
  engines: {{from: thing, where: {{engine: range}}, rate: 1/s}}
writes:
  w: {{insert: [thing], rate: 1/h}}
"
        ))
    };
    let found = model(", kind: {type: string, values: [car, boat]}");
    assert_eq!(
        found.advice("thing").patterns,
        [Pattern::Polymorphic { discriminator: "kind".to_owned() }]
    );
    let made = model("");
    assert_eq!(
        made.advice("thing").patterns,
        [Pattern::Polymorphic { discriminator: "type".to_owned() }]
    );
    assert_eq!(made.field("thing", "type").values, ["car", "boat"]);
    // PT-poly.2: an index on a field of one kind is partial, an index on a field of two kinds is
    // not.
    assert_eq!(made.indexes("thing"), ["{ doors: 1 } where type is car", "{ engine: 1 }"]);
}

#[test]
fn pf_1_there_are_no_more_than_come_while_one_is_kept() {
    let text = pair(ENDLESS, &[ALONE, "from: parent, where: [_id], rate: 1/s"], WRITTEN).replace(
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever}",
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: 2 years}",
    );
    let case = of(&text);
    let found = case.design.capacity.iter().find(|c| c.collection == "child").unwrap();
    let documents: Vec<u64> = found.years.iter().map(|(_, size)| size.unwrap().0).collect();
    // The existing 5,000 documents expire within two years, and 500 are added each year.
    assert_eq!(documents, [5000, 3000, 1000, 1000]);
}

#[test]
fn alg_2_what_few_parents_have_is_stored_all_the_same() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let text = pair("children: {p50: 0, p95: 2, p99: 6, max: 20}, growth: bounded", &read, WRITTEN)
        .replace("count: 1000\n", "count: 10000\n")
        .replace("a: string,", "a: {type: string, bytes: 4 KB},");
    let case = of(&text);
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
    let (_, bytes) = case.design.capacity[0].years[0].1.unwrap();
    // Five thousand children with more than 4 KB each.
    assert!(bytes > 5000 * 4096, "{bytes}");
    let table = case.decision("parent.children").alternatives[0].storage.unwrap();
    assert!(bytes.abs_diff(table) < bytes / 20, "{bytes} {table}");
}

#[test]
fn dp_2_figures_that_do_not_go_together_are_told() {
    let said = |children: &str| {
        let text = pair(children, &[ALONE, "from: parent, where: [_id], rate: 1/s"], WRITTEN);
        let case = of(&text);
        case.decision("parent.children").remarks.iter().any(|said| said.contains("values is wrong"))
    };
    // A thousand parents have five thousand children.
    assert!(!said("children: {p50: 3, p95: 9, p99: 20, max: 80}, growth: bounded"));
    assert!(said("children: {p50: 300, p95: 900, p99: 2000, max: 8000}, growth: bounded"));
    assert!(said("children: {p50: 1, p95: 1, p99: 2, max: 3}, growth: bounded"));
}

#[test]
fn dp_2_pt_ts_1_growth_and_rates_of_a_series_that_do_not_go_together_are_told() {
    let said = |growth: &str, series: &str| {
        let case = of(&format!(
            "entities:
  gps:
    lifecycle: {{growth: {growth}, kept: 90 days}}
    needs-change-streams-or-updates: false
    fields: {{at: date, deviceNo: string, lat: double}}
    series: {{time: at, id: deviceNo, rate: 1/s{series}}}
    written: never
    read: never
"
        ));
        let advice = case.design.entities.iter().find(|advice| advice.entity == "gps").unwrap();
        advice.remarks.iter().find(|said| said.contains("values is wrong")).cloned()
    };
    assert_eq!(
        said("900M/year", ", series: 500").as_deref(),
        Some(
            "`growth` is 900,000,000 per year, but 500 series of one reading a second are 15,768,000,000 per year: one of these values is wrong (DP-2)"
        )
    );
    // Rounded figures may differ slightly. Without the number of series, no comparison is possible.
    assert_eq!(said("10000M/year", ", series: 500"), None);
    assert_eq!(said("30000M/year", ", series: 500"), None);
    assert!(said("40000M/year", ", series: 500").is_some());
    assert_eq!(said("900M/year", ""), None);
}

#[test]
fn dp_2_elements_that_are_kept_for_hours_are_not_gone_at_once() {
    let reads = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &reads, WRITTEN);
    let case =
        of(&text
            .replace("{growth: 500/year, kept: forever}", "{growth: 500/year, kept: 12 hours}"));
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
    let advice = case.design.entities.iter().find(|advice| advice.entity == "child").unwrap();
    assert!(advice.remarks[0].starts_with("kept for 12 hours"), "{:?}", advice.remarks);
}

/// Returns a model of a buyer who lists watched listings, which expire.
fn watched(listing: &str, write: &str) -> Case {
    of(&format!(
        "entities:
  buyer: {{count: 9k, lifecycle: {{growth: 1k/year, kept: forever}}, fields: {{name: string}}}}
  listing: {{count: 90k, lifecycle: {{growth: 9k/year, kept: {listing}}}, fields: {{title: string, text: {{type: string, bytes: 4 KB}}, createTime: date}}}}
relationships:
  buyer.watched: {{child: listing, children: {{p50: 5, p95: 40, p99: 100, max: 500}}, growth: bounded, parents: {{p50: 2, p99: 3000, max: 90k}}}}
reads:
  watch list: {{from: buyer, where: [_id], with: [buyer.watched], rate: 9/s}}
  listing: {{from: listing, where: [_id], rate: 90/s}}
writes:
  w: {{insert: [buyer, listing], rate: 1/s}}
{write}"
    ))
}

#[test]
fn gc_07_ids_of_what_goes_stay_in_lists_and_that_is_told() {
    let told = |case: &Case| -> Vec<String> {
        assert_eq!(case.named("buyer.watched")[0], "child-ids-in-parent");
        let said = &case.decision("buyer.watched").remarks;
        said.iter().filter(|said| said.contains("dangling ids")).cloned().collect()
    };
    assert!(told(&watched("forever", "")).is_empty());
    let expiring = told(&watched("1 year", ""));
    assert!(expiring[0].contains("expires after 365 days"), "{expiring:?}");
    let deleted = told(&watched("forever", "  gone: {delete: listing, rate: 1/h}\n"));
    assert!(deleted[0].contains("`gone` deletes"), "{deleted:?}");
}
