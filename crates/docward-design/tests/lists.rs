//! Lists inside their parents and what other patterns make of the same fields, without a server.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

mod common;

use common::{Case, WRITTEN, of, pair};
use docward_design::maintain::scripts;
use docward_design::statement::Job;
use docward_model::ProfileName;

fn lists() -> Case {
    of(include_str!("models/lists.yaml"))
}

/// A function of the scripts.
#[track_caller]
fn job(case: &Case, name: &str) -> Job {
    let all = scripts(&case.model, &case.design, ProfileName::Neutral);
    let mut jobs = all.into_iter().flat_map(|script| script.jobs);
    jobs.find(|job| job.name == name).unwrap_or_else(|| panic!("no function {name}"))
}

const OUTLIER: &str = "children: {p50: 1, p99: 40, max: 5000}, growth: bounded";
const PAGE: &str = "from: parent, where: [_id], with: [parent.children], rate: 10/s";

#[test]
fn pt_outlier_1_gc_35_an_element_in_the_parent_and_its_count_are_one_statement() {
    let add = job(&lists(), "addBuyer");
    let statements = add.statements();
    let on_books: Vec<String> = statements
        .iter()
        .filter(|s| s.collection == "book")
        .map(|s| s.update_part().unwrap().to_string())
        .collect();
    // With the element, for the flag, and after a page took the element.
    let [push, flag, count] = on_books.as_slice() else { panic!("{on_books:#?}") };
    assert!(push.contains("$concatArrays") && push.contains("buyerCount"), "{push}");
    assert!(flag.contains("hasOverflow") && !flag.contains("buyerCount"), "{flag}");
    assert!(count.contains("buyerCount") && !count.contains("$concatArrays"), "{count}");
    let place = |of: &str| statements.iter().rposition(|s| s.collection == of);
    assert!(place("book") > place("book_buyer_overflow"), "a page that refuses is not counted");
}

#[test]
fn pt_outlier_1_what_is_unique_is_looked_for_in_parents_and_on_pages() {
    let case = lists();
    assert_eq!(
        case.indexes("book_buyer_overflow"),
        ["{ bookId: 1, page: 1 } unique", "{ buyers.email: 1 } unique where buyers.email is there"]
    );
    let asked: Vec<String> =
        job(&case, "hasBuyer").statements().iter().map(|s| s.collection.clone()).collect();
    assert_eq!(asked, ["book", "book_buyer_overflow"]);
    for statement in job(&case, "addBuyer").statements() {
        let filter = statement.filter().map(ToString::to_string).unwrap_or_default();
        let pushes = statement.update_part().is_some_and(|u| u.to_string().contains("buyers"));
        assert!(!pushes || filter.contains("\"buyers.email\": { \"$ne\""), "{filter}");
    }
}

#[test]
fn pt_outlier_1_elements_are_removed_and_changed_on_pages_too() {
    let case = lists();
    for name in ["changeBuyer", "removeBuyer", "expireBuyers", "rebuildBuyers"] {
        let text = job(&case, name).shell();
        for collection in ["\"book\"", "\"book_buyer_overflow\""] {
            assert!(text.contains(collection), "{name} does not look at {collection}");
        }
    }
}

#[test]
fn pt_outlier_1_pages_go_with_their_parent() {
    let case = lists();
    let removed = job(&case, "removeMessage");
    let on_pages = |name: &str| {
        let pages = "message_reaction_overflow";
        job(&case, name).statements().iter().any(|s| s.collection == pages)
    };
    assert!(on_pages("removeMessage") && on_pages("dropPagesOfReactions"), "{removed:?}");
    // Both by the date of the message.
    for collection in ["message", "message_reaction_overflow"] {
        let indexes = case.indexes(collection);
        assert!(indexes.iter().any(|i| i == "{ at: 1 } for 31536000 s"), "{indexes:?}");
    }
    assert!(job(&case, "addReaction").shell().contains("...pick(marked, [\"at\"])"));
    // A book stays, and so do its pages.
    assert_eq!(case.find("book_buyer_overflow", "boughtAt"), None);
}

#[test]
fn pt_outlier_1_pt_computed_1_a_list_with_pages_is_not_counted_by_its_size() {
    let counting = |rate: &str| {
        let read = format!("from: parent, where: [_id], count: [parent.children], rate: {rate}");
        of(&pair(OUTLIER, &[PAGE, &read], WRITTEN))
    };
    let often = counting("9/s");
    assert_eq!(often.named("parent.children"), ["embedded", "outlier", "computed"]);
    let seldom = counting("1/day");
    assert_eq!(seldom.named("parent.children"), ["embedded", "outlier"]);
    let remarks = seldom.decision("parent.children").remarks.join(" ");
    assert!(remarks.contains("and of the pages") && !remarks.contains("without"), "{remarks}");
}

#[test]
fn pt_outlier_1_pt_slice_1_what_is_cut_has_no_pages() {
    let kept = |newest: u64| {
        let shape = format!("children: {{p50: 1, p99: 40, max: 5000}}, keep-newest: {newest}");
        of(&pair(&format!("{shape}, growth: endless"), &[PAGE], WRITTEN))
    };
    assert_eq!(kept(100).named("parent.children"), ["embedded", "capped-array"]);
    let many = kept(1500);
    assert_eq!(many.named("parent.children"), ["embedded", "outlier"]);
    let remarks = &many.decision("parent.children").remarks;
    assert!(remarks.iter().any(|r| r.contains("nothing is cut")), "{remarks:?}");
}

#[test]
fn pt_outlier_1_two_lists_with_pages_have_a_flag_each() {
    let text = pair(OUTLIER, &[PAGE], WRITTEN).replace(
        "relationships:\n",
        &format!("relationships:\n  parent.others: {{child: child, {OUTLIER}}}\n"),
    );
    let both = of(&text.replace("[parent.children]", "[parent.children, parent.others]"));
    let flags = |case: &Case| -> Vec<String> {
        let fields = case.collection("parent").fields.iter();
        fields.filter(|f| f.name.contains("verflow")).map(|f| f.name.clone()).collect()
    };
    assert_eq!(flags(&both), ["hasOthersOverflow", "hasChildrenOverflow"]);
    assert_eq!(flags(&of(&pair(OUTLIER, &[PAGE], WRITTEN))), ["hasOverflow"]);
}

#[test]
fn pt_ts_1_pt_bucket_4_what_is_copied_is_no_part_of_a_series() {
    for server in ["6.0", "4.4"] {
        let text =
            include_str!("models/lists.yaml").replace("server: 6.0", &format!("server: {server}"));
        let case = of(&text);
        for (relationship, collection) in [("host.metrics", "metric"), ("host.probes", "probe")] {
            assert_eq!(case.named(relationship), ["parent-id-in-child"]);
            let remarks = &case.decision(relationship).remarks;
            assert!(remarks.iter().any(|r| r.contains("not copied into each")), "{remarks:?}");
            let copies = format!("{:?}", case.collection(collection).fields);
            assert!(!copies.contains("Copy("), "{copies}");
        }
        let open = case.indexes("probe");
        assert!(
            open.contains(
                &"{ hostId: 1, bucketStart: -1 } unique where count is below 60".to_owned()
            ),
            "{open:?}"
        );
    }
}

#[test]
fn sn_05_gc_36_the_newest_by_their_id_are_sorted_by_the_name_it_has_in_elements() {
    let case = lists();
    let update = |name: &str| {
        let job = job(&case, name);
        let of_host = |s: &&&docward_design::statement::Statement| s.collection == "host";
        job.statements().iter().find(of_host).unwrap().update_part().unwrap().to_string()
    };
    let visit = update("addVisit");
    assert!(visit.contains("\"$sort\": { \"visitId\": -1 }"), "{visit}");
    let alarm = update("addAlarm");
    assert!(alarm.contains("$$this.alarmId") && !alarm.contains("$$this._id"), "{alarm}");
    // Documents of their own have it as it is.
    assert!(job(&case, "rebuildAlarms").shell().contains("sort({ _id: -1 })"));
}
