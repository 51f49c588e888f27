//! Tests two relationships between the same two entities, and optional ends.

use docward_design::{Bounds, Verdict, clashes, design, read};
use docward_model::ProfileName;

use crate::common::{Case, of};

/// Returns a model of mail that users send and receive, with `field` options of both relationships
/// and one more read.
fn mail(sent: &str, received: &str, read: &str) -> String {
    format!(
        "entities:
  user: {{count: 1M, lifecycle: {{growth: 100k/year, kept: forever}}, fields: {{name: string}}}}
  mail: {{count: 90M, lifecycle: {{growth: 30M/year, kept: forever}}, fields: {{subject: string, createTime: date}}}}
relationships:
  user.sent: {{child: mail, {sent}children: {{p50: 40, p95: 400, p99: 3000, max: 90k}}, growth: endless}}
  user.received: {{child: mail, {received}children: {{p50: 40, p95: 400, p99: 3000, max: 90k}}, growth: endless}}
reads:
  inbox: {{from: user, where: [_id], with: {{user.received: {{newest: 20, by: createTime, fields: [subject]}}}}, rate: 60/s}}
  show: {{from: mail, where: [_id], with: {{user.sent: [name], user.received: [name]}}, rate: 60/s}}
  {read}
writes:
  send: {{insert: mail, rate: 1/s}}
  join: {{insert: user, update: user, sets: [user.name], rate: 1/min}}
"
    )
}

const BY: (&str, &str) = ("field: senderId, ", "field: receiverId, ");

#[test]
fn pt_ref_1_two_relationships_of_the_same_ends_are_two_fields() {
    let text = mail("", "", "");
    let model = read("m.yaml", &text).unwrap();
    let made = design(&model, ProfileName::Neutral, &Bounds::default());
    let said: Vec<String> =
        clashes(&model, &made, ProfileName::Neutral).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "m.yaml:6:3: `userId` would contain the ids of both `user.sent` and `user.received`; give each of them a `field:` of its own"
        ]
    );
    let case = of(&mail(BY.0, BY.1, ""));
    assert!(clashes(&case.model, &case.design, ProfileName::Neutral).is_empty());
    assert_eq!(
        case.indexes("mail"),
        ["{ senderId: 1 }", "{ receiverId: 1, createTime: -1 }"],
        "each is found by its own"
    );
    for path in ["sender.name", "receiver.name"] {
        assert!(case.find("mail", path).is_some(), "{path}");
    }
}

#[test]
fn ck_12_a_parent_that_is_had_in_two_ways_is_named_by_one() {
    let said = |read: &str| -> Vec<String> {
        let text = mail(BY.0, BY.1, read);
        match docward_design::read("m.yaml", &text) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(|fault| fault.to_string()).collect(),
        }
    };
    let by = |name: &str| format!("list: {{from: mail, where: [{name}], rate: 9/s}}");
    assert_eq!(
        said(&by("user")),
        [
            "m.yaml:10:3: `list` filters on `user`, which is ambiguous: `user.sent` and `user.received`; write one of `senderId` and `receiverId`"
        ]
    );
    assert!(said(&by("receiverId")).is_empty());
    let case = of(&mail(BY.0, BY.1, &by("receiverId")));
    assert_eq!(case.check("CK-12").0, Some(true));
    // The second part of the path is looked up in the other entity.
    let dotted = said(&by("user.received"));
    assert!(dotted.iter().any(|said| said.contains("field of `user` `received`")), "{dotted:?}");
}

#[test]
fn ck_12_the_index_of_a_list_is_on_that_list() {
    let text = "entities:
  person: {count: 8M, lifecycle: {growth: 900k/year, kept: forever}, fields: {name: string}}
  film: {count: 2M, lifecycle: {growth: 200k/year, kept: forever}, fields: {title: string}}
relationships:
  film.directors: {child: person, children: {p50: 1, p99: 4, max: 9}, growth: bounded, parents: {p50: 1, p99: 3, max: 12}}
  film.cast: {child: person, children: {p50: 3, p99: 14, max: 30}, growth: bounded, parents: {p50: 1, p99: 2, max: 3}}
reads:
  film: {from: film, where: [_id], with: {film.directors: [name], film.cast: [name]}, rate: 40/s}
  person: {from: person, where: [_id], rate: 60/s}
  films of an actor: {from: film, where: [cast], rate: 20/s}
writes:
  w: {insert: [person, film], rate: 1/min}
";
    assert_eq!(of(text).indexes("film"), ["{ cast.personId: 1 }"]);
}

/// Returns a model of comments on posts or photos.
fn comments(parents: &str) -> Case {
    of(&format!(
        "entities:
  post: {{count: 100k, lifecycle: {{growth: 1k/year, kept: forever}}, fields: {{slug: string}}}}
  photo: {{count: 100k, lifecycle: {{growth: 10/year, kept: forever}}, fields: {{path: string}}}}
  comment: {{count: 3M, lifecycle: {{growth: 200k/year, kept: forever}}, fields: {{text: string, createTime: date}}}}
relationships:
  post.comments: {{child: comment, children: {{p50: 10, p95: 200, p99: 3000, max: 9000}}, growth: endless{parents}}}
  photo.comments: {{child: comment, children: {{p50: 10, p95: 200, p99: 3000, max: 9000}}, growth: endless{parents}}}
reads:
  c: {{from: post, where: [slug], with: {{post.comments: {{newest: 5, by: createTime, fields: [text]}}}}, rate: 9/s}}
  s: {{from: photo, where: [path], with: {{photo.comments: {{newest: 5, by: createTime, fields: [text]}}}}, rate: 9/s}}
writes:
  w: {{insert: comment, rate: 2/min}}
  v: {{insert: [post, photo], rate: 2/day}}
"
    ))
}

#[test]
fn pt_ref_1_an_end_that_may_be_missing_is_not_required() {
    let required =
        |case: &Case| ["postId", "photoId"].map(|path| case.field("comment", path).required);
    assert_eq!(required(&comments("")), [true, true]);
    let case = comments(", parents: {p50: 0, p95: 1, p99: 1, max: 1}");
    assert_eq!(required(&case), [false, false]);
    let add = case.function("addPhotoComment");
    assert!(add.contains("(comment.postId ?? null) === null ? undefined"), "{add}");
}

#[test]
fn dm_07_6_a_child_of_another_parent_alone_has_no_home() {
    let case = of("entities:
  customer: {count: 1000, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  supplier: {count: 100, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  address: {lifecycle: {growth: 0, kept: forever}, fields: {city: string}}
relationships:
  customer.address: {child: address, children: 1}
  supplier.address: {child: address, children: 1}
reads:
  c: {from: customer, where: [_id], with: [customer.address], rate: 9/s}
  s: {from: supplier, where: [_id], with: [supplier.address], rate: 9/s}
writes:
  w: {insert: [customer, address], rate: 1/h}
  v: {insert: [supplier, address], rate: 1/h}
");
    let said = &case.decision("supplier.address").remarks;
    assert!(said.iter().any(|said| said.contains("cannot be stored")), "{said:?}");
}

#[test]
fn dm_06_1_a_circle_is_cut_above_what_reads_begin_with() {
    let entity = |name: &str| {
        format!("  {name}: {{fields: {{x: string}}, lifecycle: {{growth: 0, kept: forever}}}}\n")
    };
    for order in [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]] {
        let entities: String = order.iter().map(|name| entity(name)).collect();
        let case = of(&format!(
            "entities:\n{entities}relationships:
  a.bs: {{child: b, children: {{p50: 1, p99: 2, max: 3}}, growth: bounded}}
  b.cs: {{child: c, children: {{p50: 1, p99: 2, max: 3}}, growth: bounded}}
  c.as: {{child: a, children: {{p50: 1, p99: 2, max: 3}}, growth: bounded}}
reads:
  r: {{from: a, with: [a.bs, b.cs, c.as], where: [x], rate: 1/s}}
writes:
  w: {{insert: [a, b, c], rate: 1/s, atomic: true}}
"
        ));
        let verdicts = ["a.bs", "b.cs", "c.as"].map(|name| case.verdict(name));
        assert_eq!(verdicts, [Verdict::Embed, Verdict::Embed, Verdict::Reference], "{order:?}");
    }
}
