//! PT-subset, ER-F.5: the newest children in their parent.

use docward_design::{Pattern, StorageAlternative, Verdict};

use super::patterns::{ALONE, ENDLESS};
use crate::common::{Case, WRITTEN, of, pair};

fn page(newest: &str, rate: &str) -> Case {
    let with = format!("{{parent.children: {{{newest}}}}}");
    let read = format!("from: parent, where: [_id], with: {with}, rate: {rate}");
    of(&pair(ENDLESS, &[&read], WRITTEN))
}

#[test]
fn pt_subset_1_n_comes_from_the_read() {
    for n in [3, 5, 10] {
        let case = page(&format!("newest: {n}, by: createTime, fields: [a]"), "10/s");
        assert_eq!(case.verdict("parent.children"), Verdict::Hybrid);
        let expected = Pattern::Subset {
            newest: n,
            by: "createTime".to_owned(),
            fields: vec!["a".to_owned()],
        };
        assert_eq!(case.patterns("parent.children"), [Pattern::ParentInChild, expected]);
        assert_eq!(case.field("parent", "recentChildren").items.unwrap().max, n);
    }
    // The largest preview serves all pages.
    let reads = ["3", "7"].map(|n| {
        format!("from: parent, where: [_id], with: {{parent.children: {{newest: {n}}}}}, rate: 1/s")
    });
    let case = of(&pair(ENDLESS, &[&reads[0], &reads[1]], WRITTEN));
    assert!(matches!(case.patterns("parent.children")[1], Pattern::Subset { newest: 7, .. }));
}

/// Returns a model of a page that shows the newest of an unbounded number of children.
fn newest(with: &str, more: &str) -> Case {
    let read = format!("from: parent, where: [_id], with: {{parent.children: {with}}}, rate: 10/s");
    of(&pair(&format!("{ENDLESS}{more}"), &[&read, ALONE], WRITTEN))
}

#[test]
fn er_f_5_what_must_be_current_is_in_no_preview() {
    let shown = "{newest: 3, by: createTime, fields: [a, amount]}";
    for current in ["[amount]", "[a, amount]", "true", "[createTime]"] {
        let case = newest(shown, &format!(", must-be-current: {current}"));
        assert_eq!(case.verdict("parent.children"), Verdict::Reference, "{current}");
        let remarks = &case.decision("parent.children").remarks;
        assert!(remarks.iter().any(|said| said.ends_with("(ER-F.5)")), "{remarks:?}");
        assert!(case.find("parent", "recentChildren").is_none());
        // The checklist must state the second read.
        let (_, because) = case.check("CK-9");
        assert!(
            because.ends_with("none needs a second read except for data that must be current"),
            "{because}"
        );
    }
    // A read of all fields includes those that must be current.
    let all = newest("{newest: 3, by: createTime}", ", must-be-current: [amount]");
    assert_eq!(all.verdict("parent.children"), Verdict::Reference);
    let other = newest(shown, ", must-be-current: [b]");
    assert_eq!(other.verdict("parent.children"), Verdict::Hybrid);
    assert!(other.find("parent", "recentChildren.b").is_none());
}

#[test]
fn er_f_5_pages_without_what_must_be_current_have_their_preview() {
    let reads = [
        "from: parent, where: [_id], with: {parent.children: {newest: 3, by: createTime, fields: [a]}}, rate: 10/s",
        "from: parent, where: [title], with: {parent.children: {newest: 9, by: createTime, fields: [a, amount]}}, rate: 10/s",
        ALONE,
    ];
    let case = of(&pair(&format!("{ENDLESS}, must-be-current: [amount]"), &reads, WRITTEN));
    let shown = case.field("parent", "recentChildren");
    assert_eq!(shown.items.unwrap().max, 3);
    assert!(case.find("parent", "recentChildren.amount").is_none());
    // The other page reads its nine children.
    let chosen = &case.decision("parent.children").alternatives[0];
    let read = |name: &str| chosen.operations.iter().find(|op| op.name == name).unwrap().documents;
    assert_eq!((read("op0"), read("op1")), (1.0, 10.0));
}

#[test]
fn gc_06_dm_08_1_a_preview_is_short_and_small() {
    let preview = |case: &Case| {
        case.patterns("parent.children").iter().find_map(|pattern| match pattern {
            Pattern::Subset { newest, .. } => Some(*newest),
            _ => None,
        })
    };
    let shown =
        |number: u64| newest(&format!("{{newest: {number}, by: createTime, fields: [a]}}"), "");
    assert_eq!(preview(&shown(200)), Some(200));
    let cut = shown(3000);
    assert_eq!(preview(&cut), None);
    let remarks = &cut.decision("parent.children").remarks;
    assert!(remarks.iter().any(|said| said.contains("newest 3,000 are more")), "{remarks:?}");
    assert_eq!(cut.check("CK-9").0, Some(false), "it does not answer the read");
    let large = |bytes: &str, newest: u64| {
        let read = format!(
            "from: parent, where: [_id], with: {{parent.children: {{newest: {newest}, by: createTime, fields: [a]}}}}, rate: 10/s"
        );
        of(&pair(ENDLESS, &[&read, ALONE], WRITTEN)
            .replace("{a: string,", &format!("{{a: {{type: string, bytes: {bytes}}},")))
    };
    let case = large("20 KB", 40);
    assert_eq!((preview(&case), preview(&large("20 KB", 60))), (Some(40), None));
    assert!(
        docward_design::document_bytes(
            &case.collection("parent").fields,
            docward_design::Rank::P99
        ) <= 1_048_576
    );
    assert_eq!(preview(&large("2 MB", 1)), None);
}

#[test]
fn ck_14_a_preview_has_the_room_that_lists_beside_it_leave() {
    let model = |bytes: &str| {
        of(&format!(
            "entities:
  board: {{count: 1000, lifecycle: {{growth: 1/year, kept: forever}}, fields: {{title: string}}}}
  rule: {{count: 9k, lifecycle: {{growth: 1/year, kept: forever}}, fields: {{text: {{type: string, bytes: {bytes}}}}}}}
  topic: {{count: 9M, lifecycle: {{growth: 1/year, kept: forever}}, fields: {{text: {{type: string, bytes: 9 KB}}, createTime: date}}}}
relationships:
  board.rules: {{child: rule, children: {{p50: 9, p99: 30, max: 40}}, growth: bounded}}
  board.topics: {{child: topic, children: {{p50: 900, p99: 9k, max: 90k}}, growth: endless}}
reads:
  r: {{from: board, where: [_id], with: {{board.rules: all, board.topics: {{newest: 90, by: createTime}}}}, rate: 9/s}}
  few: {{from: board, where: [_id], with: {{board.topics: {{newest: 20, by: createTime}}}}, rate: 9/s}}
writes:
  w: {{insert: [board, rule, topic], rate: 1/h}}
"
        ))
    };
    let shown = |case: &Case| {
        assert_eq!(case.check("CK-14").0, Some(true), "{}", case.check("CK-14").1);
        assert_eq!(case.verdict("board.rules"), Verdict::Embed);
        case.find("board", "recentTopics").and_then(|list| list.items).map_or(0, |items| items.max)
    };
    assert_eq!(shown(&model("1 KB")), 90);
    // The preview is as long as the remaining page needs.
    assert_eq!(shown(&model("40 KB")), 20);
    assert_eq!(model("55800").verdict("board.topics"), Verdict::Reference);
}

#[test]
fn gc_35_pt_computed_2_changes_of_what_is_kept_are_written_twice() {
    let page = "from: parent, where: [_id], with: {parent.children: {newest: 3, by: createTime, fields: [a]}}, sum: {parent.children: amount}, rate: 900/s";
    let written = |sets: &str| {
        let change = format!("update: [child], {sets}rate: 1/s");
        let case = of(&pair(ENDLESS, &[page, ALONE], &[WRITTEN[0], WRITTEN[1], &change]));
        assert_eq!(case.verdict("parent.children"), Verdict::Hybrid);
        let chosen = &case.decision("parent.children").alternatives[0];
        let change = chosen.operations.iter().rfind(|op| op.writes).unwrap();
        change.documents
    };
    assert_eq!(written("sets: [child.amount], "), 2.0, "summed");
    assert_eq!(written("sets: [child.a], "), 2.0, "shown");
    assert_eq!(written("sets: [child.b], "), 1.0);
    assert_eq!(written(""), 2.0, "anything");
}

#[test]
fn pt_subset_2_the_one_date_of_a_child_is_found_and_two_are_asked_about() {
    let one = page("newest: 3", "10/s");
    assert!(
        matches!(&one.patterns("parent.children")[1], Pattern::Subset { by, .. } if by == "createTime")
    );
    let read = "from: parent, where: [_id], with: {parent.children: {newest: 3}}, rate: 10/s";
    let two = pair(ENDLESS, &[read], WRITTEN).replace("amount: int", "amount: date");
    let two = of(&two);
    assert_eq!(two.named("parent.children"), ["parent-id-in-child"]);
    assert_eq!(two.asked("parent.children"), ["by which field are the newest `children` found?"]);
}

#[test]
fn pt_subset_1_a_preview_that_changes_more_than_it_is_read_is_left() {
    let with = "with: {parent.children: {newest: 3}}";
    let read = |rate: &str| format!("from: parent, where: [_id], {with}, rate: {rate}");
    let writes = ["insert: [parent], rate: 1/day", "insert: [child], rate: 10/s"];
    let often = of(&pair(ENDLESS, &[&read("10/s")], &writes));
    assert!(often.named("parent.children").contains(&"subset"));
    let seldom = of(&pair(ENDLESS, &[&read("9/s")], &writes));
    assert_eq!(seldom.named("parent.children"), ["parent-id-in-child"]);
    assert!(seldom.decision("parent.children").remarks[0].contains("written more often than read"));
}

#[test]
fn pt_subset_1_er_t_2_a_page_of_the_newest_is_no_read_of_the_list() {
    let bookings = |with: &str, more: &str| {
        let list =
            format!("from: parent, where: [_id], with: {{parent.children: {with}}}, rate: 480/s");
        let alone = "from: child, where: [a], rate: 30/s";
        let figures =
            format!("children: {{p50: 150, p95: 280, p99: 400, max: 600}}, growth: bounded{more}");
        of(&pair(&figures, &[&list, alone], WRITTEN))
    };
    let page = "{newest: 10, by: createTime, fields: [a]}";
    let hybrid = bookings(page, "");
    assert_eq!(hybrid.verdict("parent.children"), Verdict::Hybrid);
    let decision = hybrid.decision("parent.children");
    let share = decision.facts.co_read.unwrap();
    assert!((share - 480.0 / 510.0 / 15.0).abs() < 1e-9, "{share}");
    // By its own table, the hybrid reads and writes less.
    let bytes = |way: StorageAlternative| {
        let found = decision.alternatives.iter().find(|a| a.way == way).unwrap();
        found.per_second(false, |cost| cost.bytes) + found.per_second(true, |cost| cost.bytes)
    };
    assert!(bytes(StorageAlternative::Hybrid) * 2.0 < bytes(StorageAlternative::Embed));
    // A page that shows all or almost all children reads the list.
    assert_eq!(bookings("all", "").verdict("parent.children"), Verdict::Embed);
    let most = "{newest: 140, by: createTime, fields: [a]}";
    assert_eq!(bookings(most, "").verdict("parent.children"), Verdict::Embed);
    // Fields that must be current are read from their source.
    let current = bookings(page, ", must-be-current: [a]");
    assert_eq!(current.decision("parent.children").facts.co_read, Some(480.0 / 510.0));
}
