//! Runs the case files of rules: `cases/T020/*.md`.
//!
//! A case file explains what it shows and contains source files, data and expected findings in fences:
//!
//! - `` ```javascript models/product.js `` is a file of the project.
//! - `` ```jsonl shop.products `` are documents of a collection that the same run reads.
//! - `` ```findings `` lists the findings that the rule must report, one finding on a line: the place, `error:` or
//!   `pedantic:` unless it is a plain warning, and the message or its beginning. An empty list means that nothing is
//!   reported.
//!
//! A heading begins another project.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use docward_model::{Evidence, Finding, Severity};

use crate::{Outcome, RULES, engine, testing::Example};

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
    let mut faults = String::new();
    let mut count = 0;
    for rule in sorted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")) {
        let code = rule.file_name().expect("a folder").to_string_lossy().into_owned();
        for file in sorted(&rule) {
            for case in cases(&fs::read_to_string(&file).expect("a case file")) {
                count += 1;
                let expected = case.expected.as_deref().unwrap_or_else(|| {
                    panic!("{}: `{}` expects no list of findings", file.display(), case.title)
                });
                let found = findings(&code, &case);
                let fits = found.len() == expected.lines().count()
                    && expected.lines().all(|line| found.iter().any(|own| own.starts_with(line)));
                if !fits {
                    let (file, found) = (file.display(), found.join("\n"));
                    _ = writeln!(
                        faults,
                        "{file}: {}\nexpected\n{expected}found\n{found}\n",
                        case.title
                    );
                }
            }
        }
    }
    assert!(count > 0, "no case files");
    assert!(faults.is_empty(), "{faults}");
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder with cases");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.sort();
    paths
}

/// The projects of a case file that contain source code.
fn cases(text: &str) -> Vec<Case> {
    let mut cases = vec![Case::default()];
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_owned();
            cases.push(Case { title, ..Case::default() });
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

/// Returns the findings of a rule as the case files write them. The findings of a plain run do not depend on the level.
fn findings(code: &str, case: &Case) -> Vec<String> {
    let rule = RULES.iter().find(|rule| rule.meta.code == code).expect("a rule of that code");
    let mut example = Example::new(code, "", &case.sources);
    for (namespace, documents) in &case.data {
        let Evidence { collections, .. } =
            Example::new(code, &format!("ns={namespace}"), documents).evidence;
        example.evidence.collections.extend(collections);
    }
    let mut run = |pedantic| {
        example.settings.pedantic = pedantic;
        let mut outcome = Outcome::default();
        engine::run(rule, &example.evidence, &example.settings, &mut outcome);
        docward_model::arrange(&mut outcome.findings);
        outcome.findings
    };
    let (plain, all) = (run(false).len(), run(true));
    assert_eq!(all.iter().filter(|f| !is_pedantic(f)).count(), plain, "{}", case.title);
    all.iter().map(shown).collect()
}

fn is_pedantic(finding: &Finding) -> bool {
    finding.data.get("pedantic").is_some()
}

fn shown(finding: &Finding) -> String {
    let place = finding.location.as_ref().expect("a place");
    let level = match finding.severity {
        _ if is_pedantic(finding) => "pedantic: ",
        Severity::Error => "error: ",
        _ => "",
    };
    format!("{}:{} {level}{}", place.file, place.line, finding.what)
}
