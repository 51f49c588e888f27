//! Tests real data from other sources, if it is available. Also tests the bundled examples against
//! their expected findings.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::common::{audit_json, findings, root, shared_data};

/// The same documents as mongodump output and as Extended JSON must give the same findings about
/// documents.
#[test]
fn atlas_samples_as_dump_and_as_json_agree() {
    let (Some(dump), Some(json)) =
        (shared_data("datasets/atlas-mcampo2/dump"), shared_data("datasets/neelabalan"))
    else {
        return;
    };
    // Only collections that both have, and only rules about documents.
    let documents = "D,T,R006,R008,R009,R020,N011,N012,N013,N014,N015,N016";
    for collection in ["accounts", "customers", "sessions", "theaters", "users"] {
        let of = |source: &std::path::Path| {
            let (report, _) = audit_json(&[
                source.to_str().unwrap(),
                "--collection",
                collection,
                "--select",
                documents,
            ]);
            assert_eq!(report["problems"].as_array().unwrap().len(), 0, "{}", report["problems"]);
            assert!(report["sources"][0]["documents"].as_u64().unwrap() > 0, "{collection}");
            let mut lines: Vec<String> = report["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| {
                    format!(
                        "{} {} {} {} {}",
                        f["rule"], f["namespace"], f["path"], f["what"], f["fingerprint"]
                    )
                })
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(of(&dump), of(&json), "{collection}");
    }
}

/// Broken, truncated, deeply nested and random files must always give a report.
#[test]
fn every_file_of_the_tools_test_data_gives_a_report() {
    let Some(folder) = shared_data("datasets/mongo-tools-testdata") else { return };
    let mut files = Vec::new();
    gather(&folder, &mut files);
    assert!(files.len() > 10);
    for file in files {
        let (report, code) = audit_json(&[file.to_str().unwrap()]);
        let problems = report["problems"].as_array().unwrap();
        let documents = report["sources"][0]["documents"].as_u64().unwrap_or(0);
        assert!(documents > 0 || !problems.is_empty(), "{}: {report}", file.display());
        assert_eq!(code == 2, !problems.is_empty(), "{}", file.display());
    }
}

fn gather(folder: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { gather(&path, files) } else { files.push(path) }
    }
    files.sort();
}

/// Precision on real data: there are few errors, and all are known.
#[test]
fn errors_on_real_data_are_the_known_ones() {
    let Some(folder) = shared_data("datasets") else { return };
    let expected: BTreeMap<&str, &[(&str, &str)]> = [
        ("atlas-mcampo2/dump", &[("D010", "sample_analytics.customers")][..]),
        ("dbkoda-data/OrderExample/dump", &[]),
        ("dbkoda-data/SampleCollections/dump", &[]),
        ("real-dumps/fuelguru/dump", &[]),
        ("docs-assets", &[]),
        ("npm-vega-datasets-3.2.1/data", &[]),
    ]
    .into();
    for (name, errors) in expected {
        let (report, _) =
            audit_json(&[folder.join(name).to_str().unwrap(), "--profile", "neutral"]);
        let found: Vec<(String, String)> =
            findings(&report).into_iter().filter(|f| f.0 == "error").map(|f| (f.1, f.2)).collect();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(found, errors, "{name}");
    }
}

/// Each story of the example shop is found by exactly the expected rules (ST-01 to ST-12, ST-20 to
/// ST-28, SN-30). There are no other findings at warning or above.
#[test]
fn the_example_shop_commits_exactly_the_listed_sins() {
    let text = fs::read_to_string(root().join("examples/expected.toml")).unwrap();
    let expected: toml_edit::DocumentMut = text.parse().unwrap();
    let mut by_dump: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    let mut uris: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in expected["case"].as_array_of_tables().unwrap() {
        let word = |key: &str| case[key].as_str().unwrap().to_owned();
        if let Some(uri) = case.get("uri").and_then(|u| u.as_str()) {
            uris.entry(word("dump")).or_default().extend(["--uri".to_owned(), uri.to_owned()]);
        }
        let rules =
            case["rules"].as_array().unwrap().iter().map(|r| r.as_str().unwrap().to_owned());
        by_dump
            .entry(word("dump"))
            .or_default()
            .entry(word("namespace"))
            .or_default()
            .extend(rules);
    }
    let mut faults = Vec::new();
    for (dump, mut namespaces) in by_dump {
        let source = format!("examples/{dump}");
        let mut arguments = vec![source.as_str()];
        arguments.extend(uris.get(&dump).into_iter().flatten().map(String::as_str));
        let (report, _) = audit_json(&arguments);
        assert_eq!(
            report["problems"].as_array().unwrap().len(),
            0,
            "{dump}: {}",
            report["problems"]
        );
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (severity, rule, namespace, _) in findings(&report) {
            if severity != "info" {
                found.entry(namespace).or_default().insert(rule);
            }
        }
        namespaces.retain(|_, rules| !rules.is_empty());
        for namespace in namespaces.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
            let (want, got) = (namespaces.get(namespace), found.get(namespace));
            if want != got {
                faults.push(format!("{dump} {namespace}: expected {want:?}, found {got:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
