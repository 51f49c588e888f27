//! What `docward lint` finds in each language, told by the files themselves: a comment `lint: CODE…` stands on each
//! line that must have a finding, and no other line may have an error or a warning.

use std::{collections::BTreeSet, fs, path::Path};

use crate::lint::{places, project, report};

/// Files of a folder with their texts, by name.
fn files(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages").join(folder);
    let mut files: Vec<(String, String)> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

/// Codes with file and line, as comments say them.
fn wanted(files: &[(String, String)]) -> BTreeSet<String> {
    let mut wanted = BTreeSet::new();
    for (name, text) in files {
        for (line, text) in text.lines().enumerate() {
            if let Some((_, codes)) = text.split_once("// lint: ") {
                wanted.extend(codes.split(' ').map(|code| format!("{code} {name}:{}", line + 1)));
            }
        }
    }
    wanted
}

/// Errors and warnings of a folder.
fn found(files: &[(String, String)]) -> BTreeSet<String> {
    let files: Vec<(String, &str)> =
        files.iter().map(|(name, text)| (format!("src/{name}"), text.as_str())).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let mut report = report(&project(&files), &[]);
    let findings = report["findings"].as_array_mut().expect("findings");
    findings.retain(|finding| finding["severity"] != "info");
    places(&report).into_iter().collect()
}

#[track_caller]
fn holds(language: &str) {
    let faulty = files(&format!("{language}/faulty"));
    let wanted = wanted(&faulty);
    assert!(wanted.len() >= 6, "{wanted:?}");
    assert_eq!(found(&faulty), wanted);
    let sound = files(&format!("{language}/sound"));
    assert_eq!(sound.len(), faulty.len(), "each file has a twin");
    assert_eq!(found(&sound), BTreeSet::new());
}

#[test]
fn php_is_read() {
    holds("php");
}

#[test]
fn c_sharp_is_read() {
    holds("csharp");
}
