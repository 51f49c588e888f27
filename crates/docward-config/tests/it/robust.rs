//! No text makes the parser panic, hang, or report a position outside the file.

use proptest::prelude::*;

use crate::{guide, rules};

/// Parses, and checks invariants that hold for every text.
fn survive(text: &str) {
    let (config, problems) = docward_config::parse(text, "docward.toml", &rules::all());
    let lines: Vec<_> = text.split('\n').collect();
    let mut last = (0, 0);
    for problem in &problems {
        let line = lines.get(problem.line as usize - 1).expect("the line exists");
        assert!(problem.column as usize <= line.chars().count() + 1, "{problem}");
        assert!((problem.line, problem.column) >= last, "in the order of the file");
        last = (problem.line, problem.column);
        assert!(!problem.to_string().contains(['\n', '\u{1b}']), "one line, nothing to obey");
    }
    // Every setting can be queried.
    for rule in rules::all() {
        let _ = config.settings.is_on(rule);
        let _ = config.settings.severity_at(rule, Some("a.b"));
        let _ = config.origin(rule.code, "max-elements", Some("a.b"));
    }
}

/// Fragments of files: random combinations reach deeper than random characters.
const PIECES: &[&str] = &[
    "profile",
    "select",
    "ignore",
    "fail-on",
    "rules",
    "namespaces",
    "collections",
    "deployment",
    "match",
    "core",
    "bounded",
    "mirrors",
    "shard-keys",
    "path",
    "max",
    "namespace",
    "key",
    "server-version",
    "shards",
    "severity",
    "enabled",
    "max-elements",
    "D008",
    "unbounded-array",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    " = ",
    ".",
    ",",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "#",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "1",
    "-1",
    "1.5",
    "nan",
    "true",
    "1979-05-27",
    "'D'",
    "'a.b'",
    "'a['",
    "\"\\u00e9\"",
    "é",
    "\u{feff}",
    "\u{0}",
    "\\",
    "[rules.D008]\n",
    "[[namespaces]]\n",
    "[rules]\n",
    "match = 'a.*'\n",
    "max-elements = 3\n",
    "[[collections.bounded]]\n",
    "[[collections.shard-keys]]\n",
    "key = { a = 1 }\n",
    "rules.D008.",
    "[namespaces.rules.D008]\n",
    "a = [\n",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        survive(&text);
    }

    #[test]
    fn any_characters(text in proptest::collection::vec(any::<char>(), 0..200)) {
        survive(&text.into_iter().collect::<String>());
    }

    #[test]
    fn any_pieces(pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60)) {
        survive(&pieces.concat());
    }

    #[test]
    fn the_guide_with_a_few_changes(
        changes in proptest::collection::vec(
            (any::<proptest::sample::Index>(), 0..30_usize, proptest::sample::select(PIECES)),
            1..6,
        )
    ) {
        let mut text: Vec<char> = guide::complete_example().chars().collect();
        for (at, gone, piece) in changes {
            let from = at.index(text.len() + 1);
            let to = (from + gone).min(text.len());
            text.splice(from..to, piece.chars());
        }
        survive(&text.into_iter().collect::<String>());
    }
}

#[test]
fn every_beginning_of_the_guide() {
    let text = guide::complete_example();
    // Every third position is enough to split every kind of token.
    for (at, _) in text.char_indices().step_by(3) {
        survive(&text[..at]);
    }
}

#[test]
fn deep_and_long_texts() {
    for text in [
        format!("[{}]", vec!["a"; 100_000].join(".")),
        format!("{} = 1", vec!["a"; 100_000].join(".")),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
        format!("[rules.{}]", "x".repeat(1_000_000)),
        format!("select = ['{}']", "x".repeat(1_000_000)),
        format!("profile = '{}'", "é".repeat(100_000)),
        format!("[collections]\ncore = ['{}']", "{a,".repeat(1_000)),
        "a = 1\n".repeat(5_000),
        "[[namespaces]]\n".repeat(5_000),
        "x = 1\ny = [\n".repeat(3_000),
        "\n".repeat(500_000),
    ] {
        survive(&text);
    }
}
