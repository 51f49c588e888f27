//! Tests that walk the registry: every page is complete, every example behaves, codes and names are
//! in order.

use std::collections::BTreeSet;

use crate::{RULES, testing};

const HEADINGS: [&str; 5] =
    ["What it checks", "Why it matters", "Example", "How to fix", "When to ignore it"];

#[test]
fn codes_are_unique_sorted_and_match_their_files() {
    let codes: Vec<_> = RULES.iter().map(|r| r.meta.code).collect();
    let sorted: BTreeSet<_> = codes.iter().copied().collect();
    assert_eq!(codes, sorted.into_iter().collect::<Vec<_>>(), "sorted and unique");
    for rule in RULES {
        let meta = &rule.meta;
        let file = format!("{}_{}.rs", meta.code.to_lowercase(), meta.name.replace('-', "_"));
        assert!(
            meta.file.replace('\\', "/").ends_with(&format!("/rules/{file}")),
            "{} is in {}",
            meta.code,
            meta.file
        );
    }
}

#[test]
fn data_keys_are_sorted_and_in_camel_case() {
    for rule in RULES {
        let keys = rule.meta.data;
        assert!(keys.is_sorted(), "{}: {keys:?}", rule.meta.code);
        for key in keys {
            let key = key.strip_suffix('*').unwrap_or(key);
            let is_camel = key.starts_with(|c: char| c.is_ascii_lowercase())
                && key.trim_end_matches('*').bytes().all(|b| b.is_ascii_alphanumeric());
            assert!(is_camel, "{}: {key}", rule.meta.code);
        }
    }
}

#[test]
fn names_read_well_after_allow() {
    let mut seen = BTreeSet::new();
    for rule in RULES {
        let name = rule.meta.name;
        assert!(seen.insert(name), "{name} twice");
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{name}"
        );
        for bad in ["no-", "ban-", "disallow-", "avoid-", "use-", "prefer-"] {
            assert!(!name.starts_with(bad), "{name}: name the bad pattern, not the remedy");
        }
    }
}

#[test]
fn pages_are_complete() {
    for rule in RULES {
        let meta = &rule.meta;
        assert_ne!(meta.title(), meta.name, "{} has no title", meta.code);
        for heading in HEADINGS {
            let section = meta.section(heading);
            assert!(section.is_some_and(|s| !s.is_empty()), "{}: no section {heading}", meta.code);
        }
        // Rules about Docward's own settings do not come from a rule book.
        let is_own = meta.family() == crate::cx::SUPPRESSIONS;
        assert!(is_own || !meta.clauses.is_empty(), "{} cites no clause", meta.code);
        let mut keys = BTreeSet::new();
        for threshold in meta.thresholds {
            assert!(keys.insert(threshold.key), "{}: {} twice", meta.code, threshold.key);
            assert!(!threshold.source.is_empty() && !threshold.help.is_empty(), "{}", meta.code);
            assert!(!threshold.source.contains("no figure"), "{}: say `our default`", meta.code);
            for phrase in ["from which", "how much", "the least", "the most", " say", "speak"] {
                let help = threshold.help;
                assert!(!help.contains(phrase), "{}: write minimum or maximum: {help}", meta.code);
            }
        }
    }
}

/// Fences of a page: kind (`fires`, `clean`), settings, body.
fn fences(doc: &str) -> Vec<(String, String, String)> {
    let mut out = Vec::new();
    let mut open: Option<(String, String, String)> = None;
    for line in doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(info) = line.strip_prefix("```") {
            match open.take() {
                Some(fence) => out.push(fence),
                None if info.starts_with("jsonl,") => {
                    let rest = &info["jsonl,".len()..];
                    let (kind, settings) = rest.split_once(',').unwrap_or((rest, ""));
                    open = Some((kind.to_owned(), settings.to_owned(), String::new()));
                }
                // Rules receive source code as a file of that language.
                None if source_file(info).is_some() => {
                    let (file, rest) = source_file(info).unwrap_or_default();
                    let (kind, settings) = rest.split_once(',').unwrap_or((rest, ""));
                    let body = format!("source {file}\n");
                    open = Some((kind.to_owned(), settings.to_owned(), body));
                }
                None => open = Some(("text".into(), String::new(), String::new())),
            }
        } else if let Some(fence) = &mut open {
            fence.2.push_str(line);
            fence.2.push('\n');
        }
    }
    out
}

/// The name of a file in the language of a fence, and the text after the language.
fn source_file(info: &str) -> Option<(&'static str, &str)> {
    let (language, rest) = info.split_once(',')?;
    let file = match language {
        "python" => "app.py",
        "javascript" => "app.js",
        "typescript" => "app.ts",
        "java" => "App.java",
        "kotlin" => "App.kt",
        "go" => "app.go",
        "mongosh" => "setup.mongodb",
        "env" => ".env",
        "yaml" => "deploy.yaml",
        _ => return None,
    };
    Some((file, rest))
}

/// A page, `explain` and `rules` show the declared severities. Debug builds compare the reported severity with them
/// (`Cx::report`), so every test of a rule checks its declaration.
#[test]
fn findings_have_severities_that_their_rule_declares() {
    for rule in RULES {
        let meta = &rule.meta;
        let declared = meta.severities;
        assert!(!declared.is_empty(), "{} declares no severity", meta.code);
        let is_sorted = declared.windows(2).all(|pair| pair[0] > pair[1]);
        assert!(is_sorted, "{}: loudest first, each once: {declared:?}", meta.code);
        for (_, settings, body) in fences(meta.doc).into_iter().filter(|f| f.0 == "fires") {
            for finding in testing::check_with(meta.code, &settings, &body) {
                assert!(declared.contains(&finding.severity), "{}: {finding:?}", meta.code);
            }
        }
    }
}

#[test]
fn examples_behave() {
    let mut faults = Vec::new();
    for rule in RULES {
        let code = rule.meta.code;
        let fences = fences(rule.meta.doc);
        for wanted in ["fires", "clean"] {
            if !fences.iter().any(|f| f.0 == wanted) {
                faults.push(format!("{code} has no `{wanted}` example"));
            }
        }
        for (kind, settings, body) in fences {
            let findings = testing::check_with(code, &settings, &body);
            match kind.as_str() {
                "fires" if findings.is_empty() => {
                    faults.push(format!("{code} does not fire on:\n{body}"))
                }
                "clean" if !findings.is_empty() => {
                    faults.push(format!(
                        "{code} fires on a clean example: {}\n{body}",
                        findings[0].what
                    ));
                }
                _ => {}
            }
            for finding in findings {
                faults.extend(message_faults(&finding));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the violations of the house style of messages: lower-case start, no final stop, all
/// three parts exist.
fn message_faults(finding: &docward_model::Finding) -> Vec<String> {
    let mut faults = Vec::new();
    let code = &finding.rule;
    for (part, text) in [("what", &finding.what), ("why", &finding.why), ("todo", &finding.todo)] {
        if text.trim().is_empty() {
            faults.push(format!("{code}: {part} is empty"));
        }
        if text.ends_with('.') {
            faults.push(format!("{code}: {part} ends with a stop: {text}"));
        }
        let first = text.chars().next().unwrap_or(' ');
        let second = text.chars().nth(1).unwrap_or(' ');
        if first.is_uppercase()
            && !second.is_uppercase()
            && !text.starts_with("Decimal128")
            && !text.starts_with("MongoDB")
            && !text.starts_with("ObjectId")
        {
            faults.push(format!("{code}: {part} starts with a capital: {text}"));
        }
        if disagrees(text) {
            faults.push(format!("{code}: {part} has a plural with 1: {text}"));
        }
    }
    faults
}

/// Whether a 1 precedes a plural: `1 documents`, `1 of 3 strings are`.
fn disagrees(text: &str) -> bool {
    let nouns = "documents|fields|values|elements|arrays|strings|numbers|ids|copies|indexes|\
                 collections|names|bytes|levels|words|types|amounts|doubles|databases|objects|keys|\
                 details|children|clients|connections";
    let verbs = "are|have|do|differ|occur|need|hold|break|exceed|convert|carry";
    let noun = format!("(?:^|[ (])1 (?:different )?(?:{nouns})\\b");
    let verb = format!("(?:^|[ (])1 of [0-9,]+ [a-z -]+(?:in `[^`]+` )?(?:{verbs})\\b");
    let whole = format!("(?:^|[ (])(?:of )?1 [a-z]+ (?:in `[^`]+` )?(?:{verbs})\\b");
    [noun, verb, whole]
        .iter()
        .any(|pattern| regex::Regex::new(pattern).expect("a pattern").is_match(text))
}

#[test]
fn numbers_and_words_agree() {
    for bad in ["1 documents", "of 1 document are", "1 of 3 strings in `a` are dates"] {
        assert!(disagrees(bad), "{bad}");
    }
    for good in ["1 of 3 strings in `a` is a date", "21 documents are", "0.1 documents", "1 is"] {
        assert!(!disagrees(good), "{good}");
    }
    // Runs each example again with every document once, so that counts become 1.
    let mut faults = Vec::new();
    for rule in RULES {
        for (_, settings, body) in fences(rule.meta.doc) {
            let once: String = body
                .lines()
                .map(|line| match line.strip_prefix('x').and_then(|l| l.split_once(' ')) {
                    Some((n, rest)) if n.parse::<u32>().is_ok() => format!("x1 {rest}\n"),
                    _ => format!("{line}\n"),
                })
                .collect();
            for finding in testing::check_with(rule.meta.code, &settings, &once) {
                faults.extend(message_faults(&finding));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
