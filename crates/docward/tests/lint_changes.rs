//! `docward lint --changed-since` reports the findings of a full run on changed lines.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    common::{code, docward, stderr, stdout},
    lint::{git, path, places, project, report},
};

const PUSH: &str = "db.t.updateOne({_id}, {$push: {a: {at: new Date()}}});\n";

/// Creates a repository with everything committed.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = project(files);
    git(folder.path(), &["init", "-q"]);
    commit(&folder);
    folder
}

fn commit(folder: &tempfile::TempDir) {
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-q", "-m", "a commit"]);
}

/// Returns the lines that `git diff -U0` adds, and new files as a whole, by name.
fn changed_lines(folder: &Path, revision: &str) -> BTreeMap<PathBuf, Option<BTreeSet<u64>>> {
    let run = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(folder).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let mut out: BTreeMap<PathBuf, Option<BTreeSet<u64>>> = BTreeMap::new();
    let mut file = PathBuf::new();
    for line in run(&["diff", "-U0", revision]).lines() {
        if let Some(name) = line.strip_prefix("+++ b/") {
            file = folder.join(name.trim_end());
        } else if let Some(rest) = line.strip_prefix("@@ ") {
            let added = rest.split(' ').nth(1).unwrap().trim_start_matches('+');
            let (first, count) = added.split_once(',').unwrap_or((added, "1"));
            let (first, count): (u64, u64) = (first.parse().unwrap(), count.parse().unwrap());
            let lines = out.entry(file.clone()).or_insert_with(|| Some(BTreeSet::new()));
            lines.as_mut().unwrap().extend(first..first + count);
        }
    }
    for name in run(&["ls-files", "--others", "--exclude-standard"]).lines() {
        out.insert(folder.join(name), None);
    }
    out
}

/// Returns the findings of a report with all their places and details.
fn findings(report: &Value) -> Vec<Value> {
    report["findings"].as_array().unwrap().clone()
}

fn is_touched(finding: &Value, changed: &BTreeMap<PathBuf, Option<BTreeSet<u64>>>) -> bool {
    let primary = std::iter::once(&finding["location"]);
    let more = finding["locations"].as_array().into_iter().flatten();
    primary.chain(more).any(|at| {
        let file = Path::new(at["file"].as_str().unwrap_or_default());
        let line = at["line"].as_u64().unwrap_or_default();
        match changed.get(file) {
            Some(Some(lines)) => lines.contains(&line),
            Some(None) => true,
            None => false,
        }
    })
}

/// Checks that the findings since a revision are those of a full run on changed lines. Returns
/// their number.
fn compare(folder: &tempfile::TempDir, revision: &str) -> usize {
    let root = folder.path().canonicalize().unwrap();
    let target = root.to_str().unwrap();
    let run = |more: &[&str]| {
        let mut args = vec!["lint", target, "--format", "json", "--profile", "neutral"];
        args.extend(["--select", "pedantic"]);
        args.extend(more);
        let output = docward(&args);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let changed = changed_lines(&root, revision);
    let mut expected = findings(&run(&[]));
    expected.retain(|finding| is_touched(finding, &changed));
    let found = findings(&run(&["--changed-since", revision]));
    assert_eq!(found, expected);
    found.len()
}

/// A shop with separate files for models, helpers and routes.
const MODEL: &str = "const mongoose = require('mongoose');\nconst schema = new mongoose.Schema({\n  name: String,\n  price: Number,\n  events: [{ at: Date }],\n});\nmodule.exports = mongoose.model('Product', schema);\n";
const ROUTE: &str = "const Product = require('../models/product');\nexports.total = async (ids) => {\n  const all = await Product.find({ _id: ids });\n  return all.reduce((sum, one) => sum + one.price, 0).toFixed(2);\n};\n";
const SERVER: &str = "const mongoose = require('mongoose');\nmongoose.connect('mongodb://db1.shop.io,db2.shop.io/shop?replicaSet=rs0');\nrequire('./routes/product');\n";

#[test]
fn unchanged_files_are_read_for_what_changed_ones_need() {
    let folder = repository(&[
        ("models/product.js", MODEL),
        ("routes/product.js", ROUTE),
        ("server.js", SERVER),
    ]);
    assert_eq!(compare(&folder, "HEAD"), 0);
    // The model declares the array, but only the route changed.
    let appended = format!(
        "{ROUTE}exports.log = async (id) => {{\n  const product = await Product.findById(id);\n  product.events.push({{ at: new Date() }});\n  await product.save();\n}};\n"
    );
    fs::write(folder.path().join("routes/product.js"), &appended).unwrap();
    assert!(compare(&folder, "HEAD") > 0);
    // The route uses the price, but only the model changed.
    commit(&folder);
    let model = MODEL.replace("  price: Number,", "  price: { type: Number },");
    fs::write(folder.path().join("models/product.js"), model).unwrap();
    assert!(compare(&folder, "HEAD") > 0);
}

#[test]
fn every_way_to_change_a_file_counts() {
    let lines: String = (0..30).map(|n| PUSH.replace("db.t.", &format!("db.t{n}."))).collect();
    let folder = repository(&[
        ("old.mongodb", &lines),
        ("gone.mongodb", PUSH),
        ("moved.mongodb", &lines.replace("db.t", "db.m")),
    ]);
    let at = |name: &str| folder.path().join(name);
    // A line is changed, one is deleted and one is added.
    let changed = lines
        .replace("db.t3.updateOne({_id}", "db.t3.updateOne({_id: 1}")
        .replace(&PUSH.replace("db.t.", "db.t9."), "")
        .replace("db.t20.", "db.more.updateOne({_id}, {$push: {c: {at: new Date()}}});\ndb.t20.");
    fs::write(at("old.mongodb"), &changed).unwrap();
    assert_eq!(compare(&folder, "HEAD"), 2);
    // Files are deleted, moved with a change, new, with a space in the name, or staged but not
    // committed.
    fs::remove_file(at("gone.mongodb")).unwrap();
    git(folder.path(), &["mv", "moved.mongodb", "there.mongodb"]);
    let moved = fs::read_to_string(at("there.mongodb")).unwrap();
    fs::write(
        at("there.mongodb"),
        moved.replace("db.m5.updateOne({_id}", "db.m5.updateOne({_id: 2}"),
    )
    .unwrap();
    assert_eq!(compare(&folder, "HEAD"), 3);
    fs::write(at("a new.mongodb"), PUSH.replace("db.t.", "db.n.")).unwrap();
    fs::write(at("added.mongodb"), PUSH.replace("db.t.", "db.o.")).unwrap();
    git(folder.path(), &["add", "added.mongodb"]);
    assert_eq!(compare(&folder, "HEAD"), 5);
    commit(&folder);
    assert_eq!((compare(&folder, "HEAD"), compare(&folder, "HEAD~1")), (0, 5));
}

#[test]
fn a_finding_counts_when_any_of_its_places_changed() {
    let two = "db.t_user.updateOne({_id: 1}, {$push: {logins: {at: new Date()}}});\nlet x = 1;\ndb.t_user.updateOne({_id: 2}, {$push: {logins: {at: new Date()}}});\n";
    let folder = repository(&[("a.mongodb", two)]);
    fs::write(folder.path().join("a.mongodb"), two.replace("_id: 2", "_id: 3")).unwrap();
    let found = report(&folder, &["--changed-since", "HEAD", "--select", "D020,pedantic"]);
    assert_eq!(places(&found), ["D020 a.mongodb:1"]);
    fs::write(folder.path().join("a.mongodb"), two.replace("x = 1", "x = 2")).unwrap();
    let found = report(&folder, &["--changed-since", "HEAD", "--select", "D020,pedantic"]);
    assert!(places(&found).is_empty(), "{found}");
}

#[test]
fn revisions_that_git_does_not_know_end_the_run() {
    let folder = repository(&[("old.mongodb", PUSH)]);
    for revision in ["no-such-revision", "--output=/tmp/x"] {
        let bad = docward(&["lint", &path(&folder), &format!("--changed-since={revision}")]);
        assert_eq!((code(&bad), stdout(&bad)), (2, String::new()));
        assert!(
            stderr(&bad).starts_with(&format!("error: --changed-since {revision}: ")),
            "{}",
            stderr(&bad)
        );
    }
}

#[test]
fn known_findings_of_unchanged_lines_are_not_fixed() {
    let folder = repository(&[("old.mongodb", PUSH)]);
    let baseline = folder.path().join("known.json");
    let baseline = baseline.to_str().unwrap();
    report(&folder, &["--baseline", baseline, "--write-baseline"]);
    fs::write(folder.path().join("new.mongodb"), PUSH.replace("db.t.", "db.u.")).unwrap();
    let found = report(&folder, &["--baseline", baseline, "--changed-since", "HEAD"]);
    assert_eq!(places(&found), ["D020 new.mongodb:1"]);
    assert_eq!(found["compared"]["fixed"], serde_json::json!([]));
}
