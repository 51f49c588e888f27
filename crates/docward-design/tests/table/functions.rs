//! Tests, without a server, the text of generated functions and checks: what they send, which ids
//! they use, and what else they update. `tests/live.rs` runs such functions.

use docward_design::Verdict;

use crate::common::{Case, of, says};

const LIFE: &str = "lifecycle: {growth: 10k/year, kept: forever}";

#[test]
fn er_t_3_the_check_sends_a_child_with_a_list_of_ids() {
    let case = of(&format!(
        "entities:
  policy: {{count: 4M, {LIFE}, fields: {{number: string}}}}
  claim: {{count: 2M, {LIFE}, fields: {{state: string}}}}
  photo: {{{LIFE}, fields: {{url: string}}}}
relationships:
  policy.claims: {{child: claim, children: {{p50: 0, p95: 3, p99: 8, max: 300}}, growth: endless}}
  claim.photos: {{child: photo, children: 10, growth: bounded}}
reads:
  claim: {{from: claim, where: [_id], with: [claim.photos], rate: 30/s}}
  photo: {{from: photo, where: [_id], rate: 90/s}}
  policy: {{from: policy, where: [_id], rate: 40/s}}
writes:
  open: {{insert: [policy, claim, photo], rate: 1/min}}
"
    ));
    assert_eq!(case.named("claim.photos"), ["child-ids-in-parent"]);
    let check = case.file("check.js");
    assert!(check.contains("photoIds: []") && !check.contains("photoIds: true"), "{check}");
}

#[test]
fn gc_37_the_check_sends_what_is_unique_inside_of_a_child() {
    let case = of(&format!(
        "entities:
  crow: {{count: 1M, {LIFE}, fields: {{name: string}}}}
  bear: {{count: 9M, {LIFE}, fields: {{num: long}}}}
  ant: {{count: 9M, {LIFE}, fields: {{code: {{type: string, bytes: 12, unique: true}}}}}}
relationships:
  crow.bears: {{child: bear, children: {{p50: 10, p95: 60, p99: 300, max: 900}}, growth: endless}}
  bear.ant: {{child: ant, children: 1}}
reads:
  q: {{from: bear, where: [_id], with: [bear.ant], rate: 5000/s}}
  r: {{from: crow, where: [_id], rate: 90/s}}
writes:
  i: {{insert: [bear, ant], rate: 1/s}}
  o: {{insert: crow, rate: 1/min}}
"
    ));
    assert_eq!(case.verdict("bear.ant"), Verdict::Embed);
    let check = case.file("check.js");
    let (_, sent) = check.split_once("const one = (i) =>").unwrap();
    let (sent, _) = sent.split_once("const ids").unwrap();
    assert!(sent.contains("ant: { code: \"code \" + String(unique())"), "{sent}");
}

/// Returns a model of rooms that keep only the newest entries.
fn rooms(dates: &str) -> Case {
    of(&format!(
        "entities:
  room: {{count: 1M, {LIFE}, fields: {{name: string}}}}
  entry: {{count: 9M, {LIFE}, fields: {{name: string{dates}}}}}
relationships:
  room.entries: {{child: entry, children: {{p50: 10, p95: 60, p99: 300, max: 9000}}, growth: bounded, keep-newest: 30}}
reads:
  q: {{from: room, where: [_id], count: [room.entries], rate: 5000/s}}
  r: {{from: entry, where: [name], rate: 90/s}}
writes:
  i: {{insert: entry, rate: 1/s}}
  o: {{insert: room, rate: 1/min}}
"
    ))
}

#[test]
fn pt_slice_1_the_newest_are_told_by_the_date_that_says_when_they_came() {
    let newest = "{ roomId: 1, createTime: -1 }".to_owned();
    assert!(rooms(", at: date, createTime: date").indexes("entry").contains(&newest));
    assert!(!rooms(", begin: date, end: date").indexes("entry").contains(&newest));
}

#[test]
fn pt_outlier_1_a_list_in_a_list_has_no_pages() {
    let case = of(&format!(
        "entities:
  change: {{count: 6M, {LIFE}, fields: {{title: string}}}}
  revision: {{{LIFE}, fields: {{sha: {{type: string, bytes: 40}}}}}}
  file: {{{LIFE}, fields: {{path: {{type: string, bytes: 60}}}}}}
relationships:
  change.revisions: {{child: revision, children: {{p50: 2, p95: 12, p99: 30, max: 40}}, growth: bounded}}
  revision.files: {{child: file, children: {{p50: 4, p95: 40, p99: 300, max: 20k}}, growth: bounded}}
reads:
  change: {{from: change, where: [_id], with: {{change.revisions: all, revision.files: all}}, rate: 120/s}}
writes:
  push: {{insert: [revision, file], update: change, rate: 30/min, atomic: true}}
  open: {{insert: [change, revision, file], rate: 6/min, atomic: true}}
"
    ));
    assert_eq!(case.verdict("change.revisions"), Verdict::Embed);
    let files = case.decision("revision.files");
    assert_eq!(files.verdict, Verdict::Reference);
    assert_eq!(files.ruling.decided_by, ["PT-outlier.1", "GC-04"]);
    // Files are separate documents and store the id of their revision.
    assert!(case.find("change", "revisions._id").is_some());
    assert!(case.find("file", "revisionId").is_some());
    assert_eq!(case.find("change", "revisions.hasOverflow"), None);
    // The page needs two reads, and a push writes two documents. The checklist must state both.
    assert_eq!(case.check("CK-9").0, Some(false));
    assert_eq!(case.check("CK-10").0, Some(false));
}

#[test]
fn pt_computed_1_a_part_is_found_by_its_own_id() {
    let case = of(&format!(
        "entities:
  user: {{count: 900k, {LIFE}, fields: {{nick: {{type: string, bytes: 12, unique: true}}}}}}
  profile: {{{LIFE}, fields: {{bio: {{type: string, bytes: 200}}}}}}
  post: {{count: 90M, {LIFE}, fields: {{title: string, createTime: date, stars: int}}}}
relationships:
  user.profile: {{child: profile, children: 1}}
  profile.posts: {{child: post, children: {{p50: 10, p95: 90, p99: 4000, max: 30k}}, growth: endless}}
reads:
  home: {{from: user, where: [nick], with: {{user.profile: all, profile.posts: {{newest: 5, by: createTime, fields: [title]}}}}, count: [profile.posts], sum: {{profile.posts: stars}}, rate: 900/s}}
  prof: {{from: profile, where: [_id], with: {{profile.posts: {{newest: 5, by: createTime, fields: [title]}}}}, count: [profile.posts], sum: {{profile.posts: stars}}, rate: 90/s}}
writes:
  w: {{insert: post, rate: 1/s}}
  e: {{update: post, sets: [post.title], rate: 1/s}}
  x: {{insert: [user, profile], rate: 1/min}}
"
    ));
    assert_eq!(case.verdict("user.profile"), Verdict::Embed);
    // A profile belongs to only one user (GC-37).
    assert!(case.indexes("user").contains(&"{ profile._id: 1 } unique".to_owned()));
}

#[test]
fn ck_12_pt_outlier_1_pages_are_asked_like_their_parents() {
    let case = of(&format!(
        "entities:
  lot: {{count: 3M, {LIFE}, fields: {{title: string}}}}
  bid: {{count: 200M, {LIFE}, fields: {{time: date, amount: decimal}}}}
  bidder: {{count: 2M, {LIFE}, fields: {{paddle: string}}}}
relationships:
  lot.bids: {{child: bid, children: {{p50: 20, p95: 150, p99: 600, max: 9k}}, growth: bounded}}
  bidder.bids: {{child: bid, children: {{p50: 10, p95: 400, p99: 5k, max: 90k}}, growth: endless}}
reads:
  lot: {{from: lot, where: [_id], with: {{lot.bids: all}}, rate: 900/s}}
  bidder: {{from: bidder, where: [_id], rate: 1/s}}
  my bids: {{from: bid, where: [bidder], rate: 9/s}}
  of lot: {{from: bid, where: [lot], rate: 9/s}}
writes:
  bid: {{insert: bid, rate: 30/s}}
  consign: {{insert: lot, rate: 2/min}}
  register: {{insert: bidder, rate: 1/min}}
"
    ));
    assert_eq!(case.named("lot.bids"), ["embedded", "outlier"]);
    assert!(case.indexes("lot").contains(&"{ bids.bidderId: 1 }".to_owned()));
    assert_eq!(
        case.indexes("lot_bid_overflow"),
        ["{ lotId: 1, page: 1 } unique", "{ bids.bidderId: 1 }"]
    );
}

#[test]
fn dp_4_what_a_preview_answers_is_not_copied_into_pairs() {
    let text = format!(
        "entities:
  user: {{count: 900k, {LIFE}, fields: {{nick: {{type: string, bytes: 12, unique: true}}}}}}
  group: {{count: 90k, {LIFE}, fields: {{name: string, createTime: date}}}}
relationships:
  user.groups: {{child: group, children: {{p50: 10, p95: 90, p99: 400, max: 3k}}, growth: bounded, parents: {{p50: 50, p95: 900, p99: 5k, max: 200k}}}}
reads:
  home: {{from: user, where: [nick], with: {{user.groups: {{newest: 5, by: createTime, fields: [name]}}}}, rate: 900/s}}
  group: {{from: group, where: [_id], rate: 90/s}}
writes:
  w: {{insert: group, rate: 1/h}}
  j: {{update: user, rate: 1/s}}
  x: {{insert: user, rate: 1/min}}
"
    );
    assert_eq!(of(&text).named("user.groups"), ["junction", "subset"]);
    let all = "  all: {from: user, where: [_id], with: {user.groups: [name]}, rate: 9/s}\nwrites:";
    let more = of(&text.replace("writes:", all));
    assert!(more.named("user.groups").contains(&"extended-reference"));
}

#[test]
fn pt_computed_1_nothing_is_said_of_figures_that_are_not_kept() {
    let case = of(&format!(
        "entities:
  title: {{count: 1M, {LIFE}, fields: {{name: string}}}}
  reader: {{count: 1M, {LIFE}, fields: {{name: string}}}}
  hold: {{count: 2M, lifecycle: {{growth: 1M/year, kept: 90 days}}, fields: {{createTime: date}}}}
relationships:
  reader.holds: {{child: hold, children: {{p50: 1, p95: 4, p99: 8, max: 20}}, growth: bounded}}
  title.holds: {{child: hold, children: {{p50: 1, p95: 9, p99: 90, max: 900}}, growth: endless}}
reads:
  reader: {{from: reader, where: [_id], with: [reader.holds], rate: 900/s}}
  title: {{from: title, where: [_id], count: [title.holds], rate: 300/s}}
writes:
  hold: {{insert: hold, rate: 1/min}}
  join: {{insert: [reader, title], rate: 1/min}}
"
    ));
    assert_eq!(case.verdict("reader.holds"), Verdict::Embed);
    let remarks = case.decision("title.holds").remarks.join(" ");
    assert!(remarks.contains("is not a separate document"), "{remarks}");
    assert!(!remarks.contains("rebuild") && !remarks.contains("expires, but"), "{remarks}");
}

#[test]
fn an_archive_says_by_which_date_where_none_says_when_a_document_came() {
    let said = |dates: &str| {
        let case = of(&format!(
            "entities:
  trade: {{count: 1M, lifecycle: {{growth: 10k/year, kept: forever, cold-after: 90 days}}, fields: {{{dates}}}}}
reads:
  r: {{from: trade, where: [_id], rate: 9/s}}
writes:
  w: {{insert: trade, rate: 9/s}}
"
        ));
        case.advice("trade").remarks.join(" ")
    };
    let remarks = said("deliverTime: date, tradeTime: date");
    assert!(remarks.contains("the archive uses `deliverTime`"), "{remarks}");
    assert_eq!(said("deliverTime: date, createTime: date"), "");
}

#[test]
fn dp_3_er_t_4_what_is_embedded_to_change_together_does_so_in_one_statement() {
    let function = |name: &str, write: &str, invariant: &str| {
        let case = of(&format!(
            "entities:
  flight: {{count: 10k, lifecycle: {{growth: 0, kept: forever}}, fields: {{code: string, free: int}}}}
  seat: {{lifecycle: {{growth: 0, kept: forever}}, fields: {{place: string, taken: bool}}}}
relationships:
  flight.seats: {{child: seat, children: {{p50: 100, p99: 300, max: 600}}, growth: bounded{invariant}}}
reads:
  map: {{from: flight, where: [_id], with: [flight.seats], rate: 20/s}}
writes:
  change: {{{write}, rate: 2/s}}
  new: {{insert: [flight, seat], rate: 1/h}}
  touch: {{update: [seat], rate: 1/h}}
"
        ));
        case.function(name)
    };
    let add = |write: &str| function("addSeat", write, "");
    let alone = add("insert: seat, update: flight");
    assert!(alone.contains("addSeat(db, flightId, seat) {"), "{alone}");
    let free = add("insert: seat, update: flight, atomic: true");
    assert!(free.contains("addSeat(db, flightId, seat, flightUpdate = {}) {"), "{free}");
    let set = add("insert: seat, update: flight, sets: [flight.free], atomic: true");
    says(
        &set,
        &[
            "addSeat(db, flightId, seat, flightUpdate) {",
            "if (flightUpdate == null) throw",
            "{ ...flightUpdate, $push: { ...flightUpdate.$push, seats: { ...seat, _id } } }",
        ],
    );
    let both = "update: [flight, seat], sets: [flight.free, seat.taken], atomic: true";
    let change = function("changeSeat", both, "");
    assert!(change.contains("changeSeat(db, flightId, seatId, changes, flightUpdate) {"));
    assert!(change.contains("...flightUpdate.$set"), "{change}");
    let remove = function("removeSeat", both, "");
    assert!(remove.contains("removeSeat(db, flightId, seatId) {"), "{remove}");
    // A function for a relationship with an invariant requires the parent update.
    let kept = function("removeSeat", both, ", invariant: free is what is not taken");
    assert!(kept.contains("removeSeat(db, flightId, seatId, flightUpdate) {"), "{kept}");
}

#[test]
fn ck_10_pt_outlier_1_what_changes_together_on_pages_needs_a_transaction() {
    let case = |more: &str| {
        of(&format!("entities:
  fund: {{count: 10k, lifecycle: {{growth: 0, kept: forever}}, fields: {{code: string, raised: long}}}}
  gift: {{lifecycle: {{growth: 0, kept: forever}}, fields: {{amount: long, at: date}}}}
relationships:
  fund.gifts: {{child: gift, children: {{p50: 9, p95: 40, p99: 90, max: 5000}}, growth: bounded, invariant: raised is the sum of the amounts{more}}}
reads:
  page: {{from: fund, where: [_id], with: [fund.gifts], rate: 20/s}}
writes:
  give: {{insert: gift, update: fund, sets: [fund.raised], atomic: true, rate: 2/s}}
  correct: {{update: [gift, fund], sets: [gift.amount, fund.raised], atomic: true, rate: 2/h}}
  new: {{insert: [fund, gift], rate: 1/h}}
"))
    };
    let open = case("");
    assert_eq!(open.named("fund.gifts"), ["embedded", "outlier"]);
    assert!(open.decision("fund.gifts").needs_transaction);
    assert_eq!(open.check("CK-10").0, Some(false));
    assert_eq!(case(", transaction: true").check("CK-10").0, Some(true));
}

#[test]
fn pt_outlier_1_pt_computed_1_ck_10_what_is_not_generated_is_told_with_one_sentence() {
    let told = |relationships: &str, operations: &str| -> Vec<String> {
        let case = of(&format!(
            "entities:
  root: {{count: 10k, {LIFE}, fields: {{title: string}}}}
  part: {{count: 90k, {LIFE}, fields: {{code: string, amount: int, createTime: date}}}}
  leaf: {{count: 900k, {LIFE}, fields: {{text: string, amount: int}}}}
relationships:
{relationships}
reads:
  page: {{from: root, where: [_id], with: [root.parts, part.leaves], rate: 90/s}}
writes:
  new: {{insert: [root, part, leaf], rate: 1/h}}
{operations}
"
        ));
        let page = case.file("README.md");
        let told = case.refusals();
        says(&page, &told.iter().map(String::as_str).collect::<Vec<_>>());
        told
    };
    let few = "children: {p50: 3, p99: 9, max: 20}, growth: bounded";
    let giants = "children: {p50: 3, p99: 30, max: 5000}, growth: bounded";
    let both =
        format!("  root.parts: {{child: part, {few}}}\n  part.leaves: {{child: leaf, {few}}}");
    assert_eq!(
        told(&both, ""),
        [
            "Functions for `part.leaves` are not generated: `leaf` is embedded in `part`, which is part of another document itself."
        ]
    );
    let paged =
        format!("  root.parts: {{child: part, {giants}}}\n  part.leaves: {{child: leaf, {few}}}");
    let found = told(&paged, "  fix: {update: part, sets: [part.code], rate: 1/h}");
    let pages = "Functions for `root.parts` are not generated: overflow pages (PT-outlier.1) of a list whose `part` is changed or removed by its id.";
    assert!(found.contains(&pages.to_owned()), "{found:#?}");
}

#[test]
fn pt_computed_1_pt_extref_2_functions_that_few_models_need_are_named() {
    for (text, sentence) in [
        (
            include_str!("../models/referenced.yaml"),
            "A function that changes a `visit` is not generated, because `patient` stores copies or sums of its fields: change the document, then call `rebuildPatientVisits`.",
        ),
        (
            include_str!("../models/referenced.yaml"),
            "A function for `likeCount` is not generated: let one of 100 inserts of `like` increase it by 100, and one of 100 removals decrease it.",
        ),
        (
            include_str!("../models/more.yaml"),
            "A function that upgrades old documents of `invoice` is not generated: find them by `schemaVersion`, and write each only if it is unchanged since it was read.",
        ),
        (
            include_str!("../models/elements.yaml"),
            "Functions for `bidder.bids` are not generated: `bid` has copies of `bidder`, and is not an element of one list of one collection: refresh them with `updateMany` and `arrayFilters`.",
        ),
    ] {
        let case = of(text);
        assert!(case.refusals().contains(&sentence.to_owned()), "{:#?}", case.refusals());
        says(&case.file("README.md"), &[sentence]);
    }
    // Doctors store only a count, which no change of a visit affects.
    let unchanged = include_str!("../models/referenced.yaml")
        .replace("update: [visit], sets: [visit.cost, visit.reason]", "update: [doctor]");
    assert!(of(&unchanged).refusals().iter().all(|said| !said.contains("changes a `visit`")));
}
