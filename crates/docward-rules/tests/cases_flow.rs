//! Cases of rules about source code, as files: `cases/RULE/*.md`.
//!
//! A case is a heading, prose, fences with source files (` ```javascript models/post.js `) and a fence ` ```findings `
//! with one line for each finding: `FILE:LINE what is reported`. A line may say `error:` or `pedantic:` in front of the
//! text; without one the finding is a warning. The text may be the beginning of what is reported. Findings that the
//! case does not list fail it.

use std::{collections::BTreeMap, fs, path::Path};

use docward_model::{
    Code, DataValue, Evidence, Finding, ProfileName, RuleSettings, Settings, Severity,
};
use docward_source::{FileKind, Known, importers, module, scan, survey};

/// A case: its heading, its files and what is expected.
#[derive(Default)]
struct Case {
    title: String,
    files: Vec<(String, String)>,
    expected: Option<Vec<String>>,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some(info) = line.strip_prefix("```") {
            let case = cases.last_mut().expect("a heading before the first fence");
            match open.take() {
                None => open = Some((info.trim().to_owned(), String::new())),
                Some((kind, body)) if kind == "findings" => {
                    case.expected = Some(body.lines().map(str::to_owned).collect());
                }
                Some((kind, body)) => {
                    let file = kind.split_once(' ').expect("a language and a file").1;
                    case.files.push((file.to_owned(), body));
                }
            }
        } else if let Some((_, body)) = &mut open {
            body.push_str(line);
            body.push('\n');
        } else if let Some(title) = line.strip_prefix('#') {
            let title = title.trim_start_matches('#').trim().to_owned();
            cases.push(Case { title, ..Case::default() });
        }
    }
    cases.retain(|case| !case.files.is_empty());
    cases
}

fn findings(rule: &str, files: &[(String, String)]) -> Vec<Finding> {
    let kind = |file: &str| FileKind::of(file).expect("a file that is read");
    let mut known = Known::default();
    for (file, text) in files {
        known.absorb(survey(file, text, kind(file)));
    }
    let mut evidence = Evidence::default();
    let mut code = Code { files: files.len() as u64, ..Code::default() };
    for (file, text) in files {
        let read_models = docward_code::declared_models;
        let scanned = scan(file, file, text, kind(file), &known, read_models);
        assert!(scanned.problems.is_empty(), "{:?}", scanned.problems);
        evidence.uris.extend(scanned.clients);
        code.absorb(scanned.code);
    }
    let modules = files.iter().filter_map(|(file, text)| {
        Some((file.clone(), module(kind(file), file, text.as_bytes())?))
    });
    code.imported_by = importers(&modules.collect());
    code.paths = files.iter().map(|(file, _)| file.clone()).collect();
    evidence.code = Some(code);
    let settings = Settings {
        profile: ProfileName::Vendor,
        select: vec![rule.to_owned()],
        pedantic: true,
        rules: BTreeMap::<String, RuleSettings>::new(),
        ..Settings::default()
    };
    docward_rules::judge(&evidence, &settings).findings
}

fn shown(finding: &Finding) -> String {
    let place = finding.location.as_ref().map(|at| format!("{}:{}", at.file, at.line));
    let is_pedantic = finding.data.get("pedantic") == Some(&DataValue::Bool(true));
    let level = match finding.severity {
        _ if is_pedantic => "pedantic: ",
        Severity::Error => "error: ",
        _ => "",
    };
    format!("{} {level}{}", place.unwrap_or_default(), finding.what)
}

#[test]
fn cases_report_what_they_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut faults = Vec::new();
    for rule in ["C040", "C044", "D020", "L020", "S020", "W020"] {
        let files = fs::read_dir(root.join(rule)).expect("a folder of cases");
        let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{rule} has no cases");
        for file in files {
            for case in cases(&fs::read_to_string(&file).expect("text")) {
                let found: Vec<String> = findings(rule, &case.files).iter().map(shown).collect();
                let expected = case.expected.unwrap_or_default();
                let fits = found.len() == expected.len()
                    && expected.iter().all(|line| found.iter().any(|own| own.starts_with(line)));
                if !fits {
                    faults.push(format!(
                        "{}: {}\n  expected {expected:#?}\n  found {found:#?}",
                        file.display(),
                        case.title
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
