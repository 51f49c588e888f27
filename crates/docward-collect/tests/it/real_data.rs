//! External data sets next to the repository. Tests are skipped with a message if the data is
//! missing.

use std::path::{Path, PathBuf};

use docward_collect::Request;

use crate::support::*;

/// A data set, if it exists.
fn data(path: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/datasets");
    let path = root.join(path);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { files(&entry, found) } else { found.push(entry) }
    }
}

#[test]
fn mongo_tools_own_test_data_gives_documents_or_problems() {
    let Some(path) = data("mongo-tools-testdata") else { return };
    let mut all = Vec::new();
    files(&path, &mut all);
    assert!(all.len() > 20);
    for file in &all {
        let collected = read(&[file]);
        let source = &collected.sources[0];
        assert!(
            source.documents > 0 || !collected.problems.is_empty(),
            "{}: neither documents nor problems",
            file.display()
        );
        let is_broken = ["partial_file", "bad_", "random_bytes", ".csv", ".tsv"]
            .iter()
            .any(|name| file.file_name().unwrap().to_string_lossy().contains(name));
        if is_broken {
            assert!(!collected.problems.is_empty(), "{}", file.display());
        }
    }
    let whole = read(&[&path]);
    assert!(whole.sources[0].documents > 100);
}

#[test]
fn dumps_and_json_of_the_same_documents_agree() {
    let (Some(dump), Some(json)) = (data("atlas-mcampo2/dump"), data("neelabalan")) else { return };
    let (dump, json) = (read(&[&dump]), read(&[&json]));
    assert_eq!(problems(&dump), [""; 0]);
    assert_eq!(problems(&json), [""; 0]);
    assert!(dump.evidence.deployment.names_are_real);
    assert!(!json.evidence.deployment.names_are_real);
    for name in [
        "sample_analytics.accounts",
        "sample_analytics.customers",
        "sample_mflix.theaters",
        "sample_mflix.users",
        "sample_mflix.sessions",
    ] {
        let fields = |collected| {
            let profile = collection(collected, name).profile.as_ref().unwrap();
            let mut fields: Vec<_> = profile
                .fields
                .iter()
                .map(|field| format!("{} {} {}", field.path, field.count, field.types.describe()))
                .collect();
            fields.sort();
            (profile.documents, fields)
        };
        assert_eq!(fields(&dump), fields(&json), "{name}");
    }
    let users = collection(&dump, "sample_mflix.users");
    assert!(users.indexes.as_ref().unwrap().iter().any(|index| index.unique));
}

#[test]
fn packed_dumps_of_dbkoda() {
    let Some(path) = data("dbkoda-data") else { return };
    let collected = read(&[&path]);
    assert_eq!(problems(&collected), [""; 0]);
    assert_eq!(collected.evidence.databases, ["OrderExample", "SampleCollections"]);
    assert!(documents(&collected, "OrderExample.orders") > 0);
    assert!(documents(&collected, "SampleCollections.Sakila_films") > 0);
    // Only its metadata is known.
    assert!(collection(&collected, "OrderExample.lineitems").profile.is_none());
    assert!(collected.evidence.deployment.names_are_real);
    for threads in [1, 2] {
        let again = run(&Request { threads, ..request(&[&path]) });
        assert!(evidence(&again) == evidence(&collected));
    }
}

#[test]
fn old_dumps_of_real_applications() {
    let Some(path) = data("real-dumps") else { return };
    let collected = read(&[&path]);
    assert_eq!(problems(&collected), [""; 0]);
    assert!(documents(&collected, "test.prices") > 0);
    assert!(documents(&collected, "heroku_app36443634.bits") > 0);
    assert!(collection(&collected, "test.stations").indexes.is_some());
}

#[test]
fn a_zip_of_json() {
    let Some(path) = data("ozlerhakan/datasets/palbum.zip") else { return };
    let collected = read(&[&path]);
    assert_eq!(problems(&collected), [""; 0]);
    assert_eq!(names(&collected), ["palbum.albums", "palbum.images"]);
    assert!(documents(&collected, "palbum.images") > 1000);
}

#[test]
fn json_as_the_web_has_it() {
    for set in ["ozlerhakan", "docs-assets", "npm-vega-datasets-3.2.1"] {
        let Some(path) = data(set) else { continue };
        let collected = read(&[&path]);
        assert!(collected.sources[0].documents > 0, "{set}");
        assert!(collected.problems.len() < 30, "{set}: {:#?}", problems(&collected));
    }
}
