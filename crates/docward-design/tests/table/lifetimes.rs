//! DP-2: the retention of documents and their archive.

use docward_design::{Pattern, Verdict};

use super::patterns::{ALONE, ENDLESS};
use crate::common::{WRITTEN, of, pair};

#[test]
fn dp_2_what_has_no_date_does_not_go_by_itself() {
    let page = "from: parent, where: [_id], with: {parent.children: {newest: 3, by: createTime, fields: [a]}}, rate: 10/s";
    let text = pair(ENDLESS, &[page, ALONE], WRITTEN)
        .replace("growth: 500/year, kept: forever", "growth: 500/year, kept: 90 days");
    let goes = |text: &str| {
        let case = of(text);
        assert_eq!(case.verdict("parent.children"), Verdict::Hybrid);
        let remarks = &case.decision("parent.children").remarks;
        remarks.iter().any(|said| said.contains("expires, but"))
    };
    assert!(goes(&text));
    assert!(!goes(&text.replace("createTime", "dueDate")));
}

#[test]
fn dp_2_documents_go_by_the_date_that_is_named() {
    let loans = |life: &str, write: &str| {
        of(&format!(
            "as-of: 2026-01-01
entities:
  loan: {{count: 20k, lifecycle: {{growth: 3k/year, kept: 5 years{life}}}, fields: {{title: string, loanTime: date, dueDate: date}}}}
reads:
  all: {{from: loan, where: [title], limit: 9, rate: 1/s}}
writes:
  lend: {{insert: loan, rate: 3k/year}}
{write}"
        ))
    };
    let documents = |case: &crate::common::Case| -> Vec<u64> {
        let found = case.design.capacity.iter().find(|c| c.collection == "loan").unwrap();
        found.years.iter().map(|(_, size)| size.unwrap().0).collect()
    };
    let named = loans(", by: loanTime", "");
    assert!(named.indexes("loan").contains(&"{ loanTime: 1 } for 157680000 s".to_owned()));
    assert_eq!(documents(&named), [20_000, 19_000, 17_000, 15_000]);
    assert!(named.advice("loan").remarks.is_empty(), "{:?}", named.advice("loan").remarks);
    // Without a declared growth, the number of documents is assumed to stay the same.
    let text =
        "entities:\n  loan: {count: 20k, lifecycle: {kept: 5 years, by: at}, fields: {at: date}}\n";
    assert_eq!(documents(&of(text)), [20_000; 4]);
    // Without a date field, documents do not expire and their number grows.
    let open = loans("", "");
    assert!(!open.indexes("loan").iter().any(|index| index.contains("for")));
    assert_eq!(documents(&open), [20_000, 23_000, 29_000, 35_000]);
    let said = &open.advice("loan").remarks;
    assert!(said.iter().any(|said| said.contains("`by: FIELD` in `lifecycle`")), "{said:?}");
    // The application may delete them instead.
    let deleted = loans("", "  forget: {delete: loan, rate: 3k/year}\n");
    assert_eq!(documents(&deleted), [20_000, 19_000, 17_000, 15_000]);
}

#[test]
fn dp_2_what_documents_go_by_is_a_date() {
    let faults = |by: &str, more: &str| {
        let text = format!(
            "entities:\n  loan:\n    lifecycle: {{growth: 0, kept: 5 years, by: {by}}}\n    fields: {{title: string, loanTime: date, at: date}}\n{more}"
        );
        let faults = docward_design::read("m.yaml", &text).err().unwrap_or_default();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults("loanTime", ""), [""; 0]);
    assert_eq!(
        faults("title", ""),
        ["m.yaml:4:14: `loan` expires by `title`, which is a string; make it a `date`"]
    );
    for by in ["_id", "loanTime.x"] {
        let said = faults(by, "");
        assert!(said.iter().any(|said| said.contains("cannot have an expiry index")), "{said:?}");
    }
    let unknown = faults("lendTime", "");
    assert!(unknown[0].contains("lendTime") && unknown[0].contains("loanTime"), "{unknown:?}");
    assert!(unknown[0].starts_with("m.yaml:3:47: "), "{unknown:?}");
    let series = "    series: {time: at, id: title, rate: 1/min}\n";
    assert_eq!(
        faults("loanTime", series),
        [
            "m.yaml:3:47: `loan` is a series, which expires by its time; remove `by: loanTime`, or write `at`"
        ]
    );
}

#[test]
fn dp_2_what_goes_to_the_archive_goes_from_there_too() {
    let text = pair(ENDLESS, &[ALONE, "from: parent, where: [_id], rate: 1/s"], WRITTEN).replace(
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever}",
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: 90 days, cold-after: 30 days}",
    );
    let case = of(&text);
    assert_eq!(case.indexes("child_archive"), ["{ createTime: 1 } for 7776000 s"]);
}

/// Returns a model of a relationship whose children grow cold after a year.
fn cold() -> String {
    pair(ENDLESS, &[ALONE, "from: parent, where: [_id], rate: 1/s"], WRITTEN).replace(
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever}",
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever, cold-after: 1 year}",
    )
}

#[test]
fn dp_2_what_grows_cold_is_found_by_an_index_and_counted_where_it_is() {
    let case = of(&cold());
    assert!(case.indexes("child").contains(&"{ createTime: 1 }".to_owned()));
    let documents = |name: &str| -> Vec<u64> {
        let found = case.design.capacity.iter().find(|c| c.collection == name).unwrap();
        found.years.iter().map(|(_, size)| size.unwrap().0).collect()
    };
    // The number now, and after 1, 3 and 5 years.
    assert_eq!(documents("child"), [500, 500, 500, 500]);
    assert_eq!(documents("child_archive"), [4500, 5000, 6000, 7000]);
    let archive = case.design.capacity.iter().find(|c| c.collection == "child_archive").unwrap();
    assert_eq!(archive.working_set, Some((archive.index_bytes.unwrap(), false)));
}

#[test]
fn dp_2_a_birthday_is_no_age() {
    let dated = |name: &str| of(&cold().replace("createTime: date}", &format!("{name}: date}}")));
    for name in ["birthDate", "bornAt", "startsAt", "closesAt", "takenAt", "renewsOn"] {
        let other = dated(name);
        assert!(other.advice("child").patterns.is_empty(), "{name}");
        let said = &other.advice("child").remarks;
        assert!(said.iter().any(|said| said.contains("no archive is planned")), "{name}: {said:?}");
        assert!(!other.has_collection("child_archive"), "{name}");
    }
    // Expiry needs a creation date. The archive may use any date that does not mean something else.
    let visit = dated("visitDate");
    assert_eq!(visit.advice("child").patterns, [Pattern::Archive { days: 365 }]);
    assert!(visit.indexes("child").contains(&"{ visitDate: 1 }".to_owned()));
}

#[test]
fn dp_2_what_goes_with_its_parent_needs_no_date() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &read, WRITTEN)
        .replace("kept: forever", "kept: 90 days")
        .replace("amount: int, createTime: date", "amount: int");
    let case = of(&text);
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
    // Children are deleted with their parent, and those added later are deleted earlier than
    // declared.
    let remarks = &case.advice("child").remarks;
    assert!(
        matches!(&remarks[..], [one] if one.contains("adds elements to an existing `parent`")),
        "{remarks:?}"
    );
    assert_eq!(case.indexes("parent"), ["{ createTime: 1 } for 7776000 s"]);
    let together = text.replace("insert: [child], rate", "insert: [parent, child], rate");
    assert!(of(&together).advice("child").remarks.is_empty());
}

#[test]
fn dp_2_documents_go_by_a_date_that_says_when_they_came() {
    let index = |dates: &str| {
        let text = pair(ENDLESS, &[ALONE, "from: parent, where: [_id], rate: 1/s"], WRITTEN)
            .replace("kept: forever", "kept: 90 days")
            .replace("amount: int, createTime: date", &format!("amount: int, {dates}"));
        let case = of(&text);
        let all = case.indexes("child");
        all.into_iter().find(|index| index.ends_with(" s"))
    };
    let on = |field: &str| Some(format!("{{ {field}: 1 }} for 7776000 s"));
    assert_eq!(index("bornAt: date, createTime: date"), on("createTime"));
    assert_eq!(index("closesAt: date, sentAt: date"), on("sentAt"));
    assert_eq!(index("time: date"), on("time"));
    for other in ["bornAt", "startsAt", "takenAt", "hiredOn", "closesAt", "endTime"] {
        assert_eq!(index(&format!("{other}: date")), None, "{other}");
    }
}

#[test]
fn dp_2_what_goes_with_a_parent_before_its_time_is_told() {
    let read = ["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
    let model = |writes: &[&str]| {
        let text = pair("children: {p50: 3, p99: 9, max: 20}, growth: bounded", &read, writes);
        of(&text.replace("{growth: 100/year, kept: forever}", "{growth: 100/year, kept: 30 days}"))
    };
    // Embedded children would keep their parents from expiring.
    assert_eq!(model(WRITTEN).verdict("parent.children"), Verdict::Reference);
    let case = model(&[WRITTEN[0], "insert: [child], update: [parent], atomic: true, rate: 1/h"]);
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
    let said = &case.advice("child").remarks;
    assert!(
        said[0].starts_with("kept forever, but part of `parent`, which expires after 30 days"),
        "{said:?}"
    );
}

#[test]
fn dp_2_versions_go_when_their_document_may() {
    let text = pair(ENDLESS, &[ALONE, "from: parent, where: [_id], rate: 1/s"], WRITTEN).replace(
        "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever}",
        "  child:\n    count: 5000\n    keeps-versions: true\n    lifecycle: {growth: 500/year, kept: 90 days}",
    );
    let goes = "{ createTime: 1 } for 7776000 s".to_owned();
    assert!(of(&text).indexes("child_versions").contains(&goes));
}

#[test]
fn dp_2_documents_without_the_date_never_go_and_it_is_said() {
    let text = |date: &str| {
        let alone = format!("{ALONE}, limit: 9");
        pair(ENDLESS, &[&alone, "from: parent, where: [_id], rate: 1/s"], WRITTEN)
            .replace(
                "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: forever}",
                "  child:\n    count: 5000\n    lifecycle: {growth: 500/year, kept: 90 days, cold-after: 30 days}",
            )
            .replace("amount: int, createTime: date", &format!("amount: int, {date}"))
    };
    let remarks = |date: &str| of(&text(date)).advice("child").remarks.join("\n");
    assert_eq!(remarks("createTime: date"), "");
    let null = remarks("createTime: {type: date, nullable: true}");
    assert!(
        null.contains("`createTime`, which can be null: documents without it never expire")
            && null.contains("are never archived"),
        "{null}"
    );
    let missing = remarks("createTime: {type: date, required: false}");
    assert!(missing.contains("`createTime`, which can be missing"), "{missing}");
    // A date that every document has is preferred.
    let other = "createTime: {type: date, nullable: true}, insertTime: date";
    assert_eq!(remarks(other), "");
    assert!(of(&text(other)).indexes("child").iter().any(|index| index.contains("insertTime: 1")));
}

#[test]
fn dp_2_nothing_lets_go_what_holds_parts_that_are_kept_longer() {
    let trips = |kept: &str| {
        of(&format!(
            "entities:
  trip: {{count: 1k, lifecycle: {{growth: 1k/year, kept: 1 year, by: endedAt}}, fields: {{endedAt: date}}}}
  receipt: {{lifecycle: {{growth: 3k/year, kept: {kept}}}, fields: {{amount: decimal}}}}
relationships:
  trip.receipts: {{child: receipt, children: {{p50: 3, p99: 9, max: 20}}, growth: bounded}}
reads:
  trip: {{from: trip, where: [_id], with: [trip.receipts], rate: 5/s}}
writes:
  w: {{insert: [trip, receipt], atomic: true, rate: 5/h}}
"
        ))
    };
    let goes = |case: &crate::common::Case| {
        assert_eq!(case.verdict("trip.receipts"), Verdict::Embed);
        case.indexes("trip").iter().any(|index| index.contains("for 31536000 s"))
    };
    assert!(goes(&trips("1 year")));
    for longer in ["10 years", "forever"] {
        let case = trips(longer);
        assert!(!goes(&case), "{longer}");
        let said = case.advice("receipt").remarks.join(" ");
        assert!(said.contains("so the design has no expiry for `trip`"), "{said}");
        let trips = case.design.capacity.iter().find(|c| c.collection == "trip").unwrap();
        assert_eq!(trips.years.last().unwrap().1.unwrap().0, 6000, "there are ever more");
    }
}

#[test]
fn dp_2_children_that_outlive_their_parents_are_told() {
    let said = |parent: &str, child: &str| {
        let case = of(&format!(
            "entities:
  trip: {{count: 1k, lifecycle: {{growth: 1k/year, kept: {parent}, by: endedAt}}, fields: {{endedAt: date}}}}
  photo: {{count: 1M, lifecycle: {{growth: 1M/year, kept: {child}, by: takenAt}}, fields: {{takenAt: date}}}}
relationships:
  trip.photos: {{child: photo, children: {{p50: 900, p99: 5k, max: 9k}}, growth: bounded}}
reads:
  trip: {{from: trip, where: [_id], rate: 5/s}}
  photos: {{from: photo, where: [trip], rate: 5/s}}
writes:
  w: {{insert: [trip, photo], rate: 5/h}}
"
        ));
        assert_eq!(case.verdict("trip.photos"), Verdict::Reference);
        case.decision("trip.photos").remarks.iter().any(|said| {
            said.contains(
                "remove them \
         regularly",
            )
        })
    };
    assert!(said("1 year", "10 years"));
    assert!(said("1 year", "forever"));
    assert!(!said("1 year", "1 year"));
    assert!(!said("forever", "10 years"));
}
