//! CK-8 to CK-14: each item passes and fails.

use docward_design::Choice;

use crate::common::{WRITTEN, of, pair};

const READ: &str = "from: parent, where: [_id], with: [parent.children], rate: 10/s";
const FEW: &str = "children: {p50: 3, p99: 9, max: 20}, growth: bounded";
const ENDLESS: &str = "children: {p50: 20, p99: 3000, max: 9000}, growth: 50/year";
/// Lists so short that a count costs no more than a read.
const SHORT: &str = "children: {p50: 20, p99: 60, max: 900}, growth: 50/year";

#[test]
fn ck_8_a_declared_array_of_1000_fails() {
    let long = |items: u64| {
        let title = format!("title: {{type: array, items: {items}}}");
        let text = pair(FEW, &[READ], WRITTEN).replace("title: string", &title);
        let case = of(&text);
        let (holds, because) = case.check("CK-8");
        (holds, because.to_owned())
    };
    assert_eq!(long(999).0, Some(true));
    assert_eq!(long(1000), (Some(false), "1000 elements or more: `parent.title`".to_owned()));
}

#[test]
fn ck_9_a_hot_read_of_two_collections_fails() {
    let alone = "from: child, where: [a], rate: 90/s";
    let rate = |rate: &str| {
        let read = format!("from: parent, where: [_id], with: [parent.children], rate: {rate}");
        let case = of(&pair(ENDLESS, &[&read, alone], WRITTEN));
        case.check("CK-9").0
    };
    assert_eq!(rate("1/s"), Some(false));
    assert_eq!(rate("0.9/s"), Some(true), "not hot");
    let embedded = of(&pair(FEW, &[READ], WRITTEN));
    assert_eq!(embedded.check("CK-9").0, Some(true));
}

#[test]
fn ck_10_an_invariant_over_two_documents_needs_a_transaction() {
    let kept = |more: &str| {
        let figures = format!("{ENDLESS}, invariant: total is the sum{more}");
        of(&pair(&figures, &[READ], WRITTEN)).check("CK-10").0
    };
    assert_eq!(kept(""), Some(false));
    assert_eq!(kept(", transaction: true"), Some(true));
    let together = of(&pair(&format!("{FEW}, invariant: total is the sum"), &[READ], WRITTEN));
    assert_eq!(together.check("CK-10").0, Some(true));
    // Atomic writes have the same effect.
    let atomic = [WRITTEN[0], "insert: [child], update: [parent], atomic: true, rate: 1/h"];
    assert_eq!(of(&pair(ENDLESS, &[READ], &atomic)).check("CK-10").0, Some(false));
}

#[test]
fn ck_11_counting_at_every_read_fails() {
    let reads =
        |rate: &str| format!("from: parent, where: [_id], count: [parent.children], rate: {rate}");
    let case = |rate: &str| {
        let writes = [WRITTEN[0], "insert: [child], rate: 1/s"];
        of(&pair(SHORT, &[&reads(rate), READ], &writes))
    };
    assert_eq!(case("9/s").check("CK-11"), (Some(false), "counted at every read: `op0`"));
    assert_eq!(case("10/s").check("CK-11").0, Some(true));
}

#[test]
fn ck_12_a_read_of_everything_fails() {
    let all = of(&pair(FEW, &[READ, "from: parent, rate: 1/h"], WRITTEN));
    let (holds, because) = all.check("CK-12");
    assert_eq!(holds, Some(false));
    assert!(because.ends_with("`op1`"), "{because}");
    let some = of(&pair(FEW, &[READ, "from: parent, limit: 10, rate: 1/h"], WRITTEN));
    assert_eq!(some.check("CK-12").0, Some(true));
    // Reading all of forty documents is as fast as using an index.
    let menu = "entities:\n  menu: {count: 40, lifecycle: {growth: 1/year, kept: forever}, fields: {a: int}}\nreads:\n  all: {from: menu, rate: 1/s}\nwrites:\n  w: {insert: menu, rate: 1/year}\n";
    assert_eq!(of(menu).check("CK-12").0, Some(true));
    assert_eq!(of(&menu.replace("40", "4000")).check("CK-12").0, Some(false));
}

#[test]
fn ck_14_a_tenth_of_the_limit_at_p99() {
    let blob = |bytes: u64| {
        let blob = format!("title: {{type: binData, bytes: {bytes}}}");
        let text = pair(FEW, &[READ], WRITTEN).replace("title: string", &blob);
        of(&text).check("CK-14").0
    };
    assert_eq!(blob(1_600_000), Some(true));
    assert_eq!(blob(1_677_721), Some(false));
}

#[test]
fn ck_14_lists_that_are_too_large_together_are_not_embedded_together() {
    // Each list fits alone. Both together do not, so one is referenced.
    let text = "entities:
  p: {count: 9, lifecycle: {growth: 0, kept: forever}, fields: {t: string}}
  a: {count: 9, lifecycle: {growth: 0, kept: forever}, fields: {x: {type: binData, bytes: 25000}}}
  b: {count: 9, lifecycle: {growth: 0, kept: forever}, fields: {x: {type: binData, bytes: 20000}}}
relationships:
  p.as: {child: a, children: 40, growth: bounded}
  p.bs: {child: b, children: 40, growth: bounded}
reads:
  r: {from: p, where: [_id], with: [p.as, p.bs], rate: 1/s}
writes:
  w: {insert: [p, a, b], rate: 1/h}
";
    let both = of(text);
    let apart: Vec<_> =
        both.design.decisions.iter().filter(|d| d.choice == Some(Choice::Reference)).collect();
    assert_eq!(apart.len(), 1);
    assert_eq!(apart[0].ruling.decided_by, ["ER-M.6", "ER-F.7"]);
    assert_eq!(both.check("CK-14").0, Some(true));
    let smaller = of(&text.replace("bytes: 25000", "bytes: 15000"));
    assert_eq!((smaller.named("p.as")[0], smaller.named("p.bs")[0]), ("embedded", "embedded"));
}

#[test]
fn ck_10_two_documents_of_one_entity_take_two_writes() {
    let model = |write: &str| {
        of(&format!(
            "entities:
  player: {{count: 1M, lifecycle: {{growth: 0, kept: forever}}, fields: {{name: string}}}}
relationships:
  player.friends: {{child: player, children: {{p50: 20, p99: 300, max: 900}}, parents: {{p50: 20, p99: 300, max: 900}}, growth: bounded}}
reads:
  r: {{from: player, where: [_id], with: {{player.friends: [name]}}, rate: 9/s}}
writes:
  w: {{{write}, atomic: true, rate: 1/s}}
"
        ))
        .decision("player.friends")
        .facts
        .atomic
    };
    assert_eq!(model("update: player"), Some(false), "one of them is changed");
    assert_eq!(model("insert: player, update: player"), Some(true));
}

#[test]
fn ck_10_atomic_writes_of_what_is_not_related_are_seen() {
    let model = |more: &str| {
        of(&format!(
            "entities:
  wallet: {{count: 1000, lifecycle: {{growth: 0, kept: forever}}, fields: {{balance: decimal}}}}
  stock: {{count: 1000, lifecycle: {{growth: 0, kept: forever}}, fields: {{pieces: int}}}}
reads:
  w: {{from: wallet, where: [_id], rate: 1/s}}
  s: {{from: stock, where: [_id], rate: 1/s}}
writes:
  spend: {{update: [wallet, stock], rate: 1/s{more}}}
"
        ))
        .check("CK-10")
        .0
    };
    assert_eq!(model(", atomic: true"), Some(false));
    assert_eq!(model(""), Some(true));
}

#[test]
fn ck_9_ck_11_what_is_counted_elsewhere_is_a_second_read() {
    let read = |more: &str| format!("from: parent, where: [_id], {more}rate: 10/s");
    let alone = "from: child, where: [a], rate: 90/s";
    let counted = of(&pair(ENDLESS, &[&read("count: [parent.children], "), alone], WRITTEN));
    let kept = counted.decision("parent.children").patterns.len() > 1;
    assert_eq!(counted.check("CK-9").0, Some(kept));
    // The ids in the parent can be counted without reading children.
    let few =
        "children: {p50: 3, p99: 9, max: 20}, parents: {p50: 4, p99: 20, max: 90}, growth: bounded";
    let listed = of(&pair(few, &[&read("count: [parent.children], "), alone], WRITTEN));
    assert_eq!(listed.check("CK-11").0, Some(true), "{:?}", listed.patterns("parent.children"));
}

#[test]
fn ck_14_dm_05_4_binary_data_has_a_better_place() {
    let text = pair(FEW, &[READ], WRITTEN)
        .replace("title: string", "scan: {type: binData, bytes: {typical: 2 MB, p99: 4 MB}}");
    let case = of(&text);
    let (holds, because) = case.check("CK-14");
    assert_eq!(holds, Some(false));
    assert!(
        because.contains(
            "`scan` is large binary \
     data"
        ) && because.contains("DM-05.4"),
        "{because}"
    );
}

#[test]
fn ck_9_a_read_through_pairs_takes_two() {
    let often = of(&super::indexes::pairs(300));
    assert_eq!(often.check("CK-9"), (Some(false), "more than one document: `of a party`"));
    assert_eq!(of(&super::indexes::pairs(5)).check("CK-9").0, Some(true), "not hot");
}

#[test]
fn ck_10_what_another_relationship_puts_into_one_document_needs_no_transaction() {
    let text = "entities:
  paper: {count: 30k, lifecycle: {growth: 6k/year, kept: forever}, fields: {title: {type: string, bytes: 20}}}
  citation: {lifecycle: {growth: 60k/year, kept: forever}, fields: {page: int}}
relationships:
  paper.citations: {child: citation, children: {p50: 4, p99: 30, max: 40}, growth: bounded}
  citation.cited: {child: paper, children: 1, parents: {p50: 0, p95: 10, p99: 90, max: 20k}}
reads:
  paper: {from: paper, where: [_id], with: [paper.citations], rate: 50/s}
writes:
  file: {insert: [paper, citation], rate: 10/min, atomic: true}
";
    let case = of(text);
    assert_eq!(case.decision("paper.citations").choice, Some(Choice::Embed));
    assert_eq!(case.decision("citation.cited").choice, Some(Choice::Reference));
    assert_eq!(case.check("CK-10").0, Some(true));
    let file = &case.decision("citation.cited").alternatives[0].operations[1];
    assert_eq!((file.documents, file.transaction), (1.0, false));
    // An invariant of a relationship applies to its own ends.
    let held = of(&text.replace("max: 20k}}", "max: 20k}, invariant: cited before}"));
    assert_eq!(held.check("CK-10").0, Some(false));
}

#[test]
fn ck_13_a_key_is_open_while_a_relationship_is() {
    let shards = |growth: &str| {
        let figures = format!("children: {{p50: 20, p99: 3000, max: 9000}}{growth}");
        let reads = [
            "from: parent, where: [_id], rate: 1/s",
            "from: child, where: [a], rate: 9/s",
            "from: child, where: [b], rate: 9/s",
        ];
        let text = pair(&figures, &reads, WRITTEN)
            .replace("{server: \"6.0\"}", "{server: \"6.0\", shards: 8}")
            .replace("count: 5000", "count: 900M");
        of(&text).check("CK-13").1.to_owned()
    };
    assert!(shards(", growth: 50/year").contains("warning for `child` (SK-4"));
    assert!(shards("").contains("relationships are undecided"));
}

#[test]
fn ck_9_gc_47_what_is_rare_is_said_in_its_unit() {
    let reads = ["from: parent, where: [_id], with: [parent.children], rate: 1/h"];
    let rare = of(&pair(FEW, &reads, WRITTEN));
    assert_eq!(rare.check("CK-9"), (Some(true), "no read runs at least once per second"));
    let page = "from: parent, where: [_id], count: [parent.children], rate: 3/h";
    let alone = "from: child, where: [a], rate: 90/s";
    let counted = of(&pair(ENDLESS, &[page, alone], WRITTEN));
    let remarks = counted.decision("parent.children").remarks.join("\n");
    assert!(remarks.contains("is read 3 times an hour and changes once an hour"), "{remarks}");
}

#[test]
fn ck_9_without_reads_nothing_is_known() {
    let case = of(
        "entities:\n  thing: {read: never, written: never, lifecycle: {growth: 0, kept: forever}, fields: {no: int}}\n",
    );
    assert_eq!(case.check("CK-9"), (None, "no read is declared"));
}

#[test]
fn er_t_6_nothing_is_linked_to_itself() {
    let case = of("entities:
  player: {count: 10k, lifecycle: {growth: 1k/year, kept: forever}, fields: {name: string}}
relationships:
  player.friends: {child: player, children: {p50: 9, p99: 90, max: 400}, growth: bounded, parents: {p50: 9, p99: 90, max: 400}}
reads:
  page: {from: player, where: [_id], with: {player.friends: [name]}, rate: 9/s}
writes:
  join: {insert: player, rate: 1/h}
");
    let link = case.function("linkFriend");
    assert!(link.contains("if (String(playerId) === String(friendId)) throw"), "{link}");
}
