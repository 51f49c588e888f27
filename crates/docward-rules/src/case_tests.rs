//! Runs the case files of rules: `cases/T020/*.md`.
//!
//! A case file explains what it shows and holds source files, data and expected findings in fences:
//!
//! - `` ```javascript models/product.js `` is a file of the project.
//! - `` ```jsonl shop.products `` are documents of a collection that the same run reads.
//! - `` ```findings `` lists what the rule reports: the place, `pedantic` for what only `--select pedantic` shows, and
//!   the message. An empty list means that nothing is reported.
//!
//! A heading of the second level begins another project.

use std::{fmt::Write as _, fs, path::Path};

use docward_model::Evidence;

use crate::{Outcome, RULES, engine, testing::Example};

/// Rules whose cases need the import graph: `tests/cases_flow.rs` runs these.
const WITH_IMPORTS: [&str; 6] = ["C040", "C044", "D020", "L020", "S020", "W020"];

/// One project of a case file with its expected findings.
#[derive(Default)]
struct Case {
    title: String,
    sources: String,
    data: Vec<(String, String)>,
    expected: Option<String>,
}

#[test]
fn case_files_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut faults = String::new();
    let mut count = 0;
    for rule in sorted(&folder) {
        let code = rule.file_name().expect("a folder").to_string_lossy().into_owned();
        if WITH_IMPORTS.contains(&code.as_str()) {
            continue;
        }
        for file in sorted(&rule) {
            let text = fs::read_to_string(&file).expect("a case file");
            for case in cases(&text) {
                count += 1;
                let expected = case.expected.as_deref().unwrap_or_else(|| {
                    panic!("{}: `{}` expects no list of findings", file.display(), case.title)
                });
                let found = findings(&code, &case);
                if found != expected {
                    let file = file.display();
                    _ = writeln!(
                        faults,
                        "{file}: {}\nexpected\n{expected}found\n{found}",
                        case.title
                    );
                }
            }
        }
    }
    assert!(count > 0, "no case files in {}", folder.display());
    assert!(faults.is_empty(), "{faults}");
}

fn sorted(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder with cases");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The projects of a case file that hold source code.
fn cases(text: &str) -> Vec<Case> {
    let mut cases = vec![Case::default()];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("# ").or_else(|| line.strip_prefix("## ")) {
            cases.push(Case { title: title.to_owned(), ..Case::default() });
        }
        let Some(info) = line.strip_prefix("```") else { continue };
        let mut body = String::new();
        for line in lines.by_ref().take_while(|line| *line != "```") {
            body.push_str(line);
            body.push('\n');
        }
        let case = cases.last_mut().expect("a case");
        match info.split_once(' ') {
            None if info == "findings" => case.expected = Some(body),
            Some(("jsonl", namespace)) => case.data.push((namespace.to_owned(), body)),
            Some((_, file)) => _ = write!(case.sources, "source {file}\n{body}"),
            None => panic!("{info}: a fence names its file"),
        }
    }
    cases.retain(|case| !case.sources.is_empty());
    cases
}

/// Findings of a rule, one on a line.
fn findings(code: &str, case: &Case) -> String {
    let rule = RULES.iter().find(|rule| rule.meta.code == code).expect("a rule of that code");
    let mut example = Example::new(code, "", &case.sources);
    for (namespace, documents) in &case.data {
        let Evidence { collections, .. } =
            Example::new(code, &format!("ns={namespace}"), documents).evidence;
        example.evidence.collections.extend(collections);
    }
    let mut out = String::new();
    let mut proven = 0;
    for pedantic in [false, true] {
        example.settings.pedantic = pedantic;
        let mut outcome = Outcome::default();
        engine::run(rule, &example.evidence, &example.settings, &mut outcome);
        docward_model::arrange(&mut outcome.findings);
        if !pedantic {
            proven = outcome.findings.len();
            continue;
        }
        let is_pedantic = |finding: &docward_model::Finding| finding.data.get("pedantic").is_some();
        let all = outcome.findings;
        assert_eq!(all.iter().filter(|f| !is_pedantic(f)).count(), proven, "{}", case.title);
        for finding in all {
            let place = finding.location.as_ref().expect("a place");
            let level = if is_pedantic(&finding) { " pedantic:" } else { "" };
            _ = writeln!(out, "{}:{}{level} {}", place.file, place.line, finding.what);
        }
    }
    out
}
