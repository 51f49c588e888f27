//! Names that a design would use twice are reported with their position, like other mistakes of a
//! model.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use docward_design::{Bounds, clashes, design, read};
use docward_model::ProfileName;

fn said(text: &str) -> Vec<String> {
    let model = read("m.yaml", text).unwrap_or_else(|faults| panic!("{faults:#?}"));
    let design = design(&model, ProfileName::Neutral, &Bounds::default());
    clashes(&model, &design, ProfileName::Neutral).iter().map(ToString::to_string).collect()
}

const ALIVE: &str = "lifecycle: {growth: 0, kept: forever}, written: never, read: never";

#[test]
fn dm_03_1_two_entities_of_one_collection() {
    let model = format!(
        "entities:
  userProfile: {{{ALIVE}, fields: {{a: int}}}}
  user_profile: {{{ALIVE}, fields: {{b: int}}}}
"
    );
    assert_eq!(
        said(&model),
        [
            "m.yaml:3:3: `userProfile` and `user_profile` would both use the collection `user_profile`; set `collection:` of an entity, or rename one of them"
        ]
    );
    let named = model.replace("user_profile: {", "user_profile: {collection: profiles, ");
    assert_eq!(said(&named), [""; 0]);
}

#[test]
fn what_a_pattern_makes_and_what_is_declared() {
    let model = format!(
        "entities:
  article:
    lifecycle: {{growth: 0, kept: forever}}
    written: never
    read: never
    keeps-versions: true
    fields:
      version: string
  article_versions: {{{ALIVE}, fields: {{a: int}}}}
"
    );
    assert_eq!(
        said(&model),
        [
            "m.yaml:8:7: `version` of `article` would be a field of the document versioning pattern and the declared field; rename one of them",
            "m.yaml:9:3: the versions of `article` and `article_versions` would both use the collection `article_versions`; set `collection:` of an entity, or rename one of them",
        ]
    );
}

#[test]
fn an_id_and_what_is_declared() {
    let model = "entities:
  post: {count: 9, lifecycle: {growth: 0, kept: forever}, fields: {title: string}}
  comment:
    lifecycle: {growth: 0, kept: forever}
    fields: {text: string, postId: string}
relationships:
  post.comments: {child: comment, children: {p50: 9, p99: 9k, max: 9k}, growth: endless}
reads:
  p: {from: post, where: [_id], rate: 1/s}
  r: {from: comment, where: [post], rate: 1/s}
writes:
  w: {insert: [post, comment], rate: 1/s}
";
    assert_eq!(
        said(model),
        [
            "m.yaml:5:28: `postId` of `comment` would be the declared field and the id of `post`; rename one of them"
        ]
    );
}

#[test]
fn the_gallery_has_none() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models");
    let mut models = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(said(&std::fs::read_to_string(&path).unwrap()), [""; 0], "{}", path.display());
        models += 1;
    }
    assert!(models >= 7);
}

#[test]
fn pt_ref_1_two_trees_of_one_entity() {
    let text = "entities:
  person: {lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
relationships:
  person.reports: {child: person, children: {p50: 0, p95: 8, p99: 20, max: 60}, growth: bounded}
  person.mentees: {child: person, children: {p50: 0, p95: 8, p99: 20, max: 60}, growth: bounded}
reads:
  p: {from: person, where: [name], with: [person.reports, person.mentees], rate: 50/s}
writes:
  w: {insert: [person], rate: 1/min}
";
    let found = said(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("m.yaml:5:3: `person.reports` and `person.mentees` are two trees"),
        "{}",
        found[0]
    );
}
