//! `docward lint --fix` and `--diff`: changes by default, changes on request, and patches for git.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{
    common::{code, docward, stderr, stdout},
    lint::{git, path, project, report},
};

/// A refused call (safe), two old options (unsafe) and a password (unsafe).
const APP: &str = "from pymongo import MongoClient, ReadPreference\n# ünïcode stays\na = MongoClient('mongodb://db.shop.io/?sslAllowInvalidHostnames=false&retryWrites=false', readPreference=ReadPreference.NEAREST)\nb = MongoClient('mongodb://x:9dXk2pLw7Q@db.shop.io/')\n";
const SAFE: &str = "from pymongo import MongoClient, ReadPreference\n# ünïcode stays\na = MongoClient('mongodb://db.shop.io/?sslAllowInvalidHostnames=false&retryWrites=false', readPreference=\"nearest\")\nb = MongoClient('mongodb://x:9dXk2pLw7Q@db.shop.io/')\n";
const ALL: &str = "import os\nfrom pymongo import MongoClient, ReadPreference\n# ünïcode stays\na = MongoClient('mongodb://db.shop.io/?tlsAllowInvalidHostnames=false&retryWrites=true', readPreference=\"nearest\")\nb = MongoClient(os.environ[\"MONGODB_URI\"])\n";

fn text_of(folder: &tempfile::TempDir, file: &str) -> String {
    fs::read_to_string(folder.path().join(file)).unwrap()
}

#[test]
fn fixes_that_change_a_working_program_are_made_on_request_only() {
    let folder = project(&[("app.py", APP)]);
    let first = docward(&["lint", &path(&folder), "--fix"]);
    let said = stderr(&first);
    assert!(
        said.contains("note: applied 1 fix in 1 file; 3 more are available with --unsafe-fixes"),
        "{said}"
    );
    assert_eq!(text_of(&folder, "app.py"), SAFE);
    assert!(!stdout(&first).contains("C043"), "{}", stdout(&first));
    let again = docward(&["lint", &path(&folder), "--fix"]);
    assert!(
        stderr(&again).contains("note: applied no fixes; 3 more are available"),
        "{}",
        stderr(&again)
    );
    assert_eq!(text_of(&folder, "app.py"), SAFE);
    let more = docward(&["lint", &path(&folder), "--fix", "--unsafe-fixes"]);
    assert!(stderr(&more).contains("note: applied 3 fixes in 1 file\n"), "{}", stderr(&more));
    assert!(stderr(&more).contains("note: set MONGODB_URI to the connection"), "{}", stderr(&more));
    assert!(!said.contains("MONGODB_URI"), "no password was touched: {said}");
    assert_eq!(text_of(&folder, "app.py"), ALL);
    // The import moved all lines. The remaining findings must have their new positions.
    let told = docward(&["lint", &path(&folder), "--diff", "--unsafe-fixes"]);
    assert_eq!((code(&told), stdout(&told)), (0, String::new()));
    assert!(stderr(&told).contains("note: the patch has no fixes"), "{}", stderr(&told));
    // `--unsafe-fixes` alone is a usage error.
    assert_eq!(code(&docward(&["lint", &path(&folder), "--unsafe-fixes"])), 2);
}

#[test]
fn findings_that_are_left_are_reported_where_they_stand_after_a_fix() {
    let source = "from pymongo import MongoClient\nb = MongoClient('mongodb://x:9dXk2pLw7Q@db.shop.io/')\nb.shop.t_user.update_one({'_id': 1}, {'$push': {'logins': {'at': datetime.now()}}})\n";
    let folder = project(&[("app.py", source)]);
    let found = report(&folder, &["--fix", "--unsafe-fixes"]);
    let findings = found["findings"].as_array().unwrap();
    let line = |rule: &str| {
        let found = findings.iter().find(|finding| finding["rule"] == rule);
        found.map(|finding| finding["location"]["line"].as_u64().unwrap())
    };
    assert_eq!((line("D020"), line("S020")), (Some(4), None));
}

#[test]
fn reports_announce_fixes_that_can_be_made() {
    let folder = project(&[
        ("app.py", APP),
        // A list accepts no other expression.
        (
            "b.py",
            "from pymongo import MongoClient\nX = [MongoClient('mongodb://db2.shop.io/?retryReads=' + str(f))]\n",
        ),
    ]);
    let found = report(&folder, &[]);
    let findings = found["findings"].as_array().unwrap();
    let fixes = |rule: &str| -> Vec<(String, String)> {
        let all = findings.iter().filter(|finding| finding["rule"] == rule);
        all.flat_map(|finding| finding["fixes"].as_array().cloned().unwrap_or_default())
            .map(|fix| {
                let text = |key: &str| fix[key].as_str().unwrap().to_owned();
                (text("applicability"), text("replacement"))
            })
            .collect()
    };
    let one = |how: &str, what: &str| vec![(how.to_owned(), what.to_owned())];
    assert_eq!(fixes("C043"), one("safe", "\"nearest\""));
    assert_eq!(fixes("C016"), one("unsafe", "retryWrites=true"));
    assert_eq!(fixes("S020"), one("unsafe", "os.environ[\"MONGODB_URI\"]"));
    let text = stdout(&docward(&["lint", &path(&folder)]));
    assert!(text.contains("C043 refused-call [*]: "), "{text}");
    assert!(text.contains("[*] 1 fix available with --fix, 3 more with --unsafe-fixes"), "{text}");
    // Two connection strings are two deployments, so a single variable cannot replace both.
    let two = project(&[(
        "app.py",
        "from pymongo import MongoClient\na = MongoClient('mongodb://x:9dXk2pLw7Q@a.shop.io/')\nb = MongoClient('mongodb://x:8dXk2pLw7Q@b.shop.io/')\n",
    )]);
    let found = report(&two, &["--select", "S020"]);
    let all = found["findings"].as_array().unwrap();
    assert!(all.len() == 2 && all.iter().all(|finding| finding["fixes"] == Value::Null), "{found}");
}

/// Runs `git apply` in a folder and returns its output on failure.
fn git_apply(folder: &Path, patch: &[u8]) -> Result<(), String> {
    let mut child = Command::new("git")
        .arg("apply")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(patch).unwrap();
    let output = child.wait_with_output().unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn diff(within: &Path, args: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_docward"));
    command.arg("lint").args(args).arg("--diff").current_dir(within).output().unwrap()
}

/// `--fix` and the patch must change a project in the same way, wherever the command runs.
#[test]
fn git_applies_the_patch_where_the_command_ran() {
    let head = "from pymongo import MongoClient, ReadPreference\n";
    let refused = "a = MongoClient('mongodb://db.shop.io/', readPreference=ReadPreference.NEAREST)";
    let lines = |n: usize| "x = 1\n".repeat(n);
    let files: Vec<(&str, String)> = vec![
        ("app.py", format!("{head}{refused}\n")),
        ("no_end.py", format!("{head}{refused}")),
        ("windows.py", format!("{head}{refused}\n{}", lines(3)).replace('\n', "\r\n")),
        (
            "sub/with blank.py",
            format!(
                "{head}{}{refused}\n{}{refused}\n{}{refused}\n",
                lines(10),
                lines(2),
                lines(20)
            ),
        ),
        ("sub/deep/ünïcode.py", format!("{refused}\n{head}{}", lines(9))),
    ];
    let given: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    for (within, target) in [("", "."), ("sub", "."), ("sub", "deep"), ("sub/deep", ".")] {
        let patched = project(&given);
        let fixed = project(&given);
        for folder in [&patched, &fixed] {
            git(folder.path(), &["init", "-q"]);
        }
        let here = patched.path().join(within);
        let output = diff(&here, &[target]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(!output.stdout.is_empty(), "{within} {target}");
        git_apply(&here, &output.stdout)
            .unwrap_or_else(|error| panic!("{within} {target}: {error}\n{}", stdout(&output)));
        let there = fixed.path().join(within).join(target);
        docward(&["lint", there.to_str().unwrap(), "--fix"]);
        for (name, _) in &files {
            assert_eq!(text_of(&patched, name), text_of(&fixed, name), "{within} {target} {name}");
        }
        assert_ne!(text_of(&fixed, "sub/deep/ünïcode.py"), files[4].1);
    }
    // Without a repository, paths are relative to the current directory.
    let bare = project(&given);
    let output = diff(bare.path(), &["."]);
    git_apply(bare.path(), &output.stdout).unwrap();
    assert!(text_of(&bare, "app.py").contains("readPreference=\"nearest\""));
}

/// SC-7: a patch that removes a password would show it.
#[test]
fn sc_7_patches_show_no_password() {
    let folder = project(&[("app.py", APP)]);
    git(folder.path(), &["init", "-q"]);
    // The password is on the line after the change, and git could not place the change without that
    // line.
    for more in [&["."][..], &[".", "--unsafe-fixes"]] {
        let output = diff(folder.path(), more);
        let said = stderr(&output);
        assert!(!format!("{said}{}", stdout(&output)).contains("9dXk2pLw7Q"), "{said}");
        assert!(said.contains("because it would show a password"), "{said}");
        assert_eq!(stdout(&output), "", "{more:?}");
    }
    // Changes far from the password are in the patch.
    let apart = APP.replace("b = ", &format!("{}b = ", "x = 1\n".repeat(8)));
    fs::write(folder.path().join("app.py"), &apart).unwrap();
    let output = diff(folder.path(), &[".", "--unsafe-fixes"]);
    let said = stderr(&output);
    assert!(said.contains("the patch omits app.py:12") && !said.contains("app.py:3 "), "{said}");
    assert!(said.contains("note: the patch has 3 fixes in 1 file"), "{said}");
    git_apply(folder.path(), &output.stdout).unwrap();
    let expected = ALL.replace("import os\n", "").replace(
        "b = MongoClient(os.environ[\"MONGODB_URI\"])",
        &format!("{}b = MongoClient('mongodb://x:9dXk2pLw7Q@db.shop.io/')", "x = 1\n".repeat(8)),
    );
    assert_eq!(text_of(&folder, "app.py"), expected);
}

#[test]
fn files_that_nobody_may_write_are_left_as_they_are() {
    let before = "from pymongo import MongoClient\na = MongoClient('mongodb://db.shop.io/?retryWrites=false')\n";
    let folder = project(&[("locked.py", before), ("open.py", before)]);
    let locked = folder.path().join("locked.py");
    let mut permissions = fs::metadata(&locked).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&locked, permissions).unwrap();
    let output = docward(&["lint", &path(&folder), "--fix", "--unsafe-fixes"]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    assert!(stdout(&output).contains("is read-only and was not changed"), "{}", stdout(&output));
    assert!(stderr(&output).contains("applied 1 fix in 1 file"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&locked).unwrap(), before);
    assert!(text_of(&folder, "open.py").contains("retryWrites=true"));
}
