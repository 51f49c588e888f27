//! Tests `docward lint` in each language with annotated files. A comment `lint: CODE…` marks each
//! line that must have a finding, of any severity. No other line may have an error or a warning.
//! Corrected versions of the files must have no errors, no warnings, and no findings of the same
//! rules.

use std::{collections::BTreeSet, fs, path::Path};

use crate::lint::{places, project, report};

/// Returns the files of a folder with their texts, by name.
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

/// Returns codes with file and line from the comments.
fn wanted(files: &[(String, String)]) -> BTreeSet<String> {
    let mut wanted = BTreeSet::new();
    for (name, text) in files {
        for (line, text) in text.lines().enumerate() {
            let comment = text.split_once("// lint: ").or_else(|| text.split_once("# lint: "));
            if let Some((_, codes)) = comment {
                wanted.extend(codes.split(' ').map(|code| format!("{code} {name}:{}", line + 1)));
            }
        }
    }
    wanted
}

/// Returns the findings of a folder: errors, warnings, and all findings of these rules.
fn found(files: &[(String, String)], rules: &BTreeSet<String>) -> BTreeSet<String> {
    let files: Vec<(String, &str)> =
        files.iter().map(|(name, text)| (format!("src/{name}"), text.as_str())).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let mut report = report(&project(&files), &[]);
    let findings = report["findings"].as_array_mut().expect("findings");
    findings.retain(|finding| {
        finding["severity"] != "info"
            || finding["rule"].as_str().is_some_and(|rule| rules.contains(rule))
    });
    places(&report).into_iter().collect()
}

#[track_caller]
fn holds(language: &str) {
    let faulty = files(&format!("{language}/faulty"));
    let wanted = wanted(&faulty);
    let rule = |place: &String| place.split(' ').next().unwrap_or_default().to_owned();
    let rules: BTreeSet<String> = wanted.iter().map(rule).collect();
    assert!(rules.len() >= 6, "{rules:?}");
    assert_eq!(found(&faulty, &rules), wanted);
    let sound = files(&format!("{language}/sound"));
    assert_eq!(sound.len(), faulty.len(), "each file has a twin");
    assert_eq!(found(&sound, &rules), BTreeSet::new());
}

#[test]
fn php_is_read() {
    holds("php");
}

#[test]
fn c_sharp_is_read() {
    holds("csharp");
}

/// Documents, queries and names are followed through modules, callbacks, classes and callers.
#[test]
fn ck_9_ck_12_ck_15_dm_08_2_a_project_is_read_across_functions() {
    holds("project");
}

/// A damaged file ends neither the run nor the search in other files. A text that the parser
/// abandons is named.
#[test]
fn damaged_files_hide_nothing_in_others() {
    let password = "mongodb://shop:Tr0ub4dor@db1.shop.io/shop";
    let php = format!("<?php\n$client = new MongoDB\\Client('{password}');\n");
    let sharp =
        format!("class A {{\n  object C = new MongoDB.Driver.MongoClient(\"{password}\");\n}}\n");
    let deep = format!("<?php $mongo = {};", "[".repeat(30_000));
    let files = [
        ("src/sound.php", php.clone()),
        ("src/Sound.cs", sharp.clone()),
        ("src/cut.php", format!("{php}class A extends {{ function (")),
        ("src/Cut.cs", format!("{sharp} namespace {{ class B : {{ void (")),
        ("src/nul.php", format!("{php}\0 $a = \"\0")),
        ("src/Nul.cs", format!("{sharp}\0 class \0 {{")),
        ("src/deep.php", deep),
        ("src/Deep.cs", format!("var mongo = {};", "f(".repeat(30_000))),
        ("src/other.php", "\u{feff}mongo \u{0}\u{1}".to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = project(&files);
    let report = report(&folder, &["--select", "S020"]);
    for file in ["sound.php", "Sound.cs", "cut.php", "Cut.cs", "nul.php", "Nul.cs"] {
        // One password in many files is one finding with all its places.
        let found = report["findings"].to_string();
        assert!(found.contains(&format!("/{file}\"")), "{file}: {found}");
    }
}
