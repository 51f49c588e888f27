//! PT-extref.*: what is copied beside a reference, and what is not.

use docward_design::Pattern;

use super::patterns::{ALONE, SHARED};
use crate::common::{Case, WRITTEN, of, pair};

/// Returns a model of parents that share a child and show some of its fields.
fn shown(fields: &str, more: &str) -> Case {
    let read =
        format!("from: parent, where: [_id], with: {{parent.children: {fields}}}, rate: 10/s");
    of(&pair(&format!("{SHARED}{more}"), &[&read, ALONE], WRITTEN))
}

fn copied(case: &Case) -> Option<Vec<String>> {
    case.patterns("parent.children").iter().find_map(|pattern| match pattern {
        Pattern::ExtendedReference { fields, .. } => Some(fields.clone()),
        _ => None,
    })
}

#[test]
fn pt_extref_1_two_or_three_fields_are_copied_and_four_are_not() {
    assert_eq!(copied(&shown("[a, b]", "")), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(copied(&shown("[a, b, c]", "")).map(|fields| fields.len()), Some(3));
    let four = shown("[a, b, c, d]", "");
    assert_eq!(copied(&four), None);
    assert!(four.decision("parent.children").remarks[0].ends_with("(PT-extref.1)"));
    let all = shown("all", "");
    assert_eq!(copied(&all), None);
    assert!(all.decision("parent.children").remarks[0].contains("needs all of `child`"));
}

#[test]
fn pt_extref_2_what_must_be_current_is_not_copied() {
    let none = shown("[a, b]", ", must-be-current: true");
    assert_eq!(copied(&none), None);
    assert_eq!(
        none.decision("parent.children").remarks,
        ["`a` and `b` must be current, so they are not copied (PT-extref.2)"]
    );
    // A read that fetches `a` from its source gets `b` there too.
    assert_eq!(copied(&shown("[a, b]", ", must-be-current: [a]")), None);
    assert_eq!(copied(&shown("[b]", ", must-be-current: [a]")), Some(vec!["b".to_owned()]));
    assert_eq!(copied(&shown("[a, b]", ", must-be-current: false")).unwrap().len(), 2);
}

#[test]
fn pt_extref_2_copies_that_cost_more_than_they_spare_are_told() {
    let read = "from: child, where: [_id], with: {parent.children: [title]}, rate: 10/s";
    let case = |writes: &str, more: &str| {
        let change = format!("update: [parent], sets: [parent.title], rate: {writes}");
        let figures =
            format!("children: {{p50: 2000, p99: 5000, max: 9000}}, growth: endless{more}");
        of(&pair(&figures, &[read, ALONE], &[WRITTEN[0], WRITTEN[1], &change]))
    };
    let said = |case: &Case| -> Vec<String> {
        let remarks = case.decision("parent.children").remarks.iter();
        remarks.filter(|said| said.contains("PT-extref.2")).cloned().collect()
    };
    // Each change writes two thousand documents, compared with ten reads per second.
    let dear = case("1/min", "");
    assert_eq!(copied(&dear).unwrap(), ["title"]);
    assert!(said(&dear)[0].contains("(2,000 documents each time)"), "{:?}", said(&dear));
    assert!(said(&case("1/h", "")).is_empty());
    // The recommended option must work.
    let fresh = case("1/min", ", must-be-current: [title]");
    assert_eq!(copied(&fresh), None);
    assert_eq!(fresh.check("CK-9").0, Some(true), "{}", fresh.check("CK-9").1);
}

/// PT-extref.1, DM-07.7: a copy is stored beside the id of its source.
#[test]
fn pt_extref_1_dm_07_7_no_copy_goes_to_a_child_that_does_not_hold_the_id() {
    let all = "children: {p50: 100, p95: 500, p99: 900, max: 999}, growth: bounded";
    let list = "from: parent, where: [_id], with: {parent.children: all}, rate: 2/s";
    let large = |reads: &[&str]| {
        of(&pair(all, reads, WRITTEN).replace("a: string,", "a: {type: string, bytes: 6 KB},"))
    };
    // No read goes from a child to its parent, so the parent lists ids and children store nothing.
    let down = large(&[list]);
    assert_eq!(down.named("parent.children"), ["child-ids-in-parent"]);
    // A read goes from the child to its parent, so the child stores the id and the copy.
    let up = "from: child, where: [_id], with: {parent.children: [title]}, rate: 9/s";
    let both = large(&[list, up]);
    assert_eq!(both.named("parent.children"), ["parent-id-in-child", "extended-reference"]);
    both.field("child", "parentId");
    both.field("child", "parent.title");
}

/// PT-extref.1: a field that is copied by name cannot be in the attribute list.
#[test]
fn pt_extref_1_what_is_copied_is_no_attribute() {
    let up = "from: child, where: [_id], with: {parent.children: [title, hue]}, rate: 9/s";
    let text = pair("children: {p50: 100, p99: 9000, max: 90k}, growth: endless", &[up], WRITTEN)
        .replace("{title: string,", "{title: string, hue: string, size: string, shape: string,");
    assert_eq!(of(&text).named("parent.children"), ["parent-id-in-child", "extended-reference"]);
    let listed =
        text.replacen("    lifecycle", "    attributes: [hue, size, shape]\n    lifecycle", 1);
    let listed = of(&listed);
    assert_eq!(listed.named("parent.children"), ["parent-id-in-child", "extended-reference"]);
    listed.field("parent", "hue");
    listed.field("child", "parent.hue");
}

/// PT-extref.1: a read of all fields of a small entity counts as a read of its two or three fields.
#[test]
fn pt_extref_1_something_small_is_copied_whole() {
    let case = |fields: &str| {
        of(&format!(
            "entities:
  ticket: {{count: 90M, lifecycle: {{growth: 40M/year, kept: forever}}, fields: {{subject: string}}}}
  label: {{count: 30k, lifecycle: {{growth: 2k/year, kept: forever}}, fields: {{{fields}}}}}
relationships:
  ticket.labels: {{child: label, children: {{p50: 1, p95: 4, p99: 8, max: 20}}, growth: bounded, parents: {{p50: 300, p99: 200k, max: 4M}}}}
reads:
  ticket: {{from: ticket, where: [_id], with: [ticket.labels], rate: 9/s}}
  label: {{from: label, where: [_id], rate: 9/s}}
writes:
  w: {{insert: [ticket, label], rate: 1/s}}
"
        ))
    };
    let small = case("text: {type: string, bytes: 14}, colour: {type: string, bytes: 7}");
    assert_eq!(small.named("ticket.labels"), ["child-ids-in-parent", "extended-reference"]);
    let large = case("text: {type: string, bytes: 14}, icon: {type: binData, bytes: 2 KB}");
    assert_eq!(large.named("ticket.labels"), ["child-ids-in-parent"]);
    let said = &large.decision("ticket.labels").remarks;
    assert!(said[0].contains("needs all of `label`"), "{said:?}");
}

/// PT-extref.1: a parent that lists ids can store copies beside them.
#[test]
fn pt_extref_1_a_list_of_ids_has_copies_beside_them() {
    let lessons = of("entities:
  course: {count: 30k, lifecycle: {growth: 6k/year, kept: forever}, fields: {title: {type: string, bytes: 30}}}
  lesson: {count: 2M, lifecycle: {growth: 400k/year, kept: forever}, fields: {title: {type: string, bytes: 40}, position: int, html: {type: string, bytes: {typical: 8 KB, p99: 64 KB}}}}
relationships:
  course.lessons: {child: lesson, children: {p50: 18, p95: 60, p99: 90, max: 200}, growth: bounded}
reads:
  course: {from: course, where: [_id], with: {course.lessons: [title, position]}, rate: 80/s}
  lesson: {from: lesson, where: [_id], rate: 90/s}
writes:
  w: {insert: [course, lesson], rate: 1/h}
  edit: {update: lesson, sets: [lesson.title], rate: 1/h}
");
    assert_eq!(lessons.named("course.lessons"), ["child-ids-in-parent", "extended-reference"]);
    assert!(lessons.find("course", "lessons.title").is_some());
    assert_eq!(lessons.check("CK-9").0, Some(true));
}

/// PT-extref.1: a child that lists its parents' ids cannot store copies, and the design says so.
#[test]
fn pt_extref_1_a_list_of_parents_has_no_copies() {
    let users = of("entities:
  tenant: {count: 4k, lifecycle: {growth: 500/year, kept: forever}, fields: {name: string, region: string, slug: string, plan: string}}
  user: {count: 600k, lifecycle: {growth: 60k/year, kept: forever}, fields: {email: string}}
relationships:
  tenant.users: {child: user, children: {p50: 100, p99: 9k, max: 90k}, growth: endless, parents: {p50: 1, p99: 4, max: 20}}
reads:
  sign in: {from: user, where: [email], with: {tenant.users: [name, region]}, rate: 30/s}
  tenant: {from: tenant, where: [_id], rate: 9/s}
writes:
  w: {insert: [tenant, user], rate: 1/s}
");
    let said = &users.decision("tenant.users").remarks;
    assert!(
        said.iter().any(|said| said.contains("`sign in` fetches documents of `tenant`")),
        "{said:?}"
    );
}
