//! Applies all proposals of an audit of the example shop to a real server, and audits again.

use docward_testkit::{Launch, Outcome, Trace, converge, repository};

/// Findings that stay because the rest is people's work, with the reason.
const FIRST_STEPS: [(&str, &str); 7] = [
    ("D003", "the elements are copied first; the array goes when programs read the copy"),
    ("D008", "the elements are copied first; the array goes when programs read the copy"),
    ("D013", "the time series is created; programs write to it before documents move"),
    ("N001", "the collection is copied first; the old one goes when programs use the copy"),
    ("R008", "the overflow collection is prepared, then code must use it"),
    ("R011", "the index makes the other direction fast, then arrays move"),
    ("R012", "the time series is created; programs write to it before documents move"),
];

/// Findings about collections that a proposal created or renamed.
const NEXT_STEPS: [(&str, &str); 5] = [
    ("N008", "only people know the module of a collection"),
    ("R013", "advice on the relationship to the new collection"),
    ("R020", "names the pattern that the proposal introduced"),
    ("T009", "elements get ids of parent and position, so that copies can be repeated"),
    ("V001", "the validator of a new collection follows when its documents are there"),
];

/// Findings that appear in any collection, with the reason.
const ANYWHERE: [(&str, &str); 5] = [
    ("N017", "a proposed name does not separate words that the old name runs together"),
    ("R013", "a converted reference shows a relationship for the first time"),
    ("T001", "a key that becomes a value is the label of a month"),
    ("V002", "a new validator begins with `warn`; the next audit asks for `error`"),
    ("V004", "a field whose words people must choose has no type until then"),
];

fn shop() -> Trace {
    let servers = Launch::standalone().start();
    let shop = repository().join("examples/shop");
    servers.load(&shop);
    let config = shop.join("docward.toml").display().to_string();
    converge(&servers, &assert_cmd::cargo::cargo_bin("docward"), &["--config", &config])
}

/// Whether a proposal created the collection, or gave it this name.
fn is_new_place(trace: &Trace, place: &str) -> bool {
    let namespace = place.split(' ').next().unwrap_or_default();
    let collection = namespace.split_once('.').map_or("", |(_, collection)| collection);
    let names = ["into: ", "createCollection(", "renameCollection("];
    let makes = |command: &str| {
        names.iter().any(|before| command.contains(&format!("{before}\"{collection}\"")))
    };
    trace.proposals.iter().any(|one| makes(&one.command))
}

#[test]
fn the_findings_of_applied_proposals_are_gone_and_no_value_is_lost() {
    let trace = shop();
    let told = |outcome: &Outcome| -> Vec<String> {
        let with = trace.proposals.iter().filter(|one| one.outcome == *outcome);
        with.filter(|one| !FIRST_STEPS.iter().any(|(rule, _)| *rule == one.rule))
            .map(|one| format!("{} {}: {}", one.rule, one.place, one.command))
            .collect()
    };
    let failed: Vec<_> =
        trace.proposals.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(told(&Outcome::Left).is_empty(), "{:#?}", told(&Outcome::Left));
    assert!(trace.lost.is_empty(), "{:#?}", trace.lost);
    let gone = told(&Outcome::Gone).len();
    assert!(gone > 30, "only {gone} proposals ran and are gone");
    let is_next_step = |rule: &str, place: &str| {
        ANYWHERE.iter().any(|(known, _)| *known == rule)
            || (NEXT_STEPS.iter().any(|(known, _)| *known == rule) && is_new_place(&trace, place))
    };
    let new = trace.new.iter().filter(|(rule, place, _)| !is_next_step(rule, place));
    let new: Vec<_> = new.collect();
    assert!(new.is_empty(), "{new:#?}");
}
