//! DP-2: a missing declaration becomes a question, and nothing is decided before it is answered.

use docward_design::Verdict;

use crate::common::{WRITTEN, of, pair};

const READ: &[&str] = &["from: parent, where: [_id], with: [parent.children], rate: 10/s"];
const FEW: &str = "children: {p50: 3, p99: 9, max: 20}, growth: bounded";

#[test]
fn dp_2_with_all_answers_there_is_a_verdict() {
    let case = of(&pair(FEW, READ, WRITTEN));
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
    assert!(case.design.questions().is_empty());
}

/// Removes a piece of the complete model. The verdict must disappear, and one question with a hint
/// must appear.
#[track_caller]
fn missing(from: &str, to: &str, about: &str, ask: &str, write: &str) {
    let text = pair(FEW, READ, WRITTEN);
    assert!(text.contains(from), "{text}");
    let case = of(&text.replacen(from, to, 1));
    let decision = case.decision("parent.children");
    assert_eq!((decision.verdict, decision.choice), (Verdict::Undecided, None));
    assert!(decision.patterns.is_empty() && decision.alternatives.is_empty());
    let [question] = decision.questions.as_slice() else { panic!("{:#?}", decision.questions) };
    assert_eq!((question.about.as_str(), question.ask.as_str()), (about, ask));
    assert!(question.write.contains(write), "{}", question.write);
    let (holds, because) = case.check("CK-8");
    assert_eq!((holds, because), (None, "1 relationship undecided"));
}

#[test]
fn dp_2_question_1_how_it_is_written() {
    missing(
        "insert: [child]",
        "insert: [parent]",
        "child",
        "how is `child` written: how often is it inserted, how often updated?",
        "`written: never` to entity `child`",
    );
}

#[test]
fn dp_2_question_2_how_it_is_read() {
    missing(
        ", with: [parent.children]",
        "",
        "child",
        "how is `child` read: which fields together, how often, by what?",
        "`read: never` to entity `child`",
    );
}

#[test]
fn dp_2_question_3_how_it_lives() {
    missing(
        "    lifecycle: {growth: 500/year, kept: forever}\n",
        "",
        "child",
        "what is the lifecycle of `child`: how many are added, are they ever deleted?",
        "add `lifecycle: {growth: 600k/month, kept: forever}` to entity `child`",
    );
}

#[test]
fn dp_2_question_3_what_is_left_out_of_a_lifecycle_is_asked() {
    missing(
        "lifecycle: {growth: 500/year, kept: forever}",
        "lifecycle: {growth: 500/year}",
        "child",
        "how long is `child` kept: are documents ever deleted?",
        "add `kept: forever`, or `kept: 90 days`, to `lifecycle` of entity `child`",
    );
    missing(
        "lifecycle: {growth: 500/year, kept: forever}",
        "lifecycle: {kept: 30 minutes}",
        "child",
        "how many new `child` are there?",
        "add `growth: 600k/month`, or `growth: 0`, to `lifecycle` of entity `child`",
    );
}

#[test]
fn dp_2_how_many_children_and_whether_they_end() {
    missing(
        "children: {p50: 3, p99: 9, max: 20}, ",
        "",
        "parent.children",
        "how many `children` does one `parent` have?",
        "`children: 1`",
    );
    missing(
        ", growth: bounded",
        "",
        "parent.children",
        "is the number of `children` per `parent` bounded?",
        "`growth: endless`",
    );
}

#[test]
fn dp_2_never_is_an_answer() {
    let text = pair(FEW, READ, &["insert: [parent], rate: 1/day"]);
    assert_eq!(of(&text).verdict("parent.children"), Verdict::Undecided);
    let text = text.replace("count: 5000", "count: 5000\n    written: never");
    assert_eq!(of(&text).verdict("parent.children"), Verdict::Embed);
}

#[test]
fn dp_2_one_child_needs_no_word_about_growth() {
    let case = of(&pair("children: 1", READ, WRITTEN));
    assert_eq!(case.verdict("parent.children"), Verdict::Embed);
}
