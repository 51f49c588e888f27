//! The recipes of `docs/ci.md`: every command in them that begins with `docward` runs and does what
//! the page says.

#![allow(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::{fs, path::Path, process::Command};

use crate::common::root;

/// Returns the `docward …` commands in the YAML blocks of the page, in order.
fn commands(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut out = Vec::new();
    for line in page.lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = language == "yaml";
            continue;
        }
        let line = line.trim().trim_start_matches("- ");
        let line = line.strip_prefix("run: ").or(line.strip_prefix("entry: ")).unwrap_or(line);
        if inside && line.starts_with("docward ") {
            out.push(line.to_owned());
        }
    }
    out
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn recipes_of_the_ci_page_run() {
    let page = fs::read_to_string(root().join("docs/ci.md")).unwrap();
    let commands = commands(&page);
    assert!(commands.len() >= 10, "{commands:?}");
    let project = tempfile::tempdir().unwrap();
    copy(&root().join("examples/shop"), &project.path().join("fixtures"));
    let binary = assert_cmd::cargo::cargo_bin!("docward");
    let path = format!("{}:{}", binary.parent().unwrap().display(), env!("PATH"));
    let run = |command: &str| {
        Command::new("sh")
            .args(["-c", command])
            .current_dir(project.path())
            .env("PATH", &path)
            .env("MONGODB_URI", "fixtures")
            .output()
            .unwrap()
    };
    // A project that adopts a recipe has this baseline.
    assert!(run("docward audit fixtures/ --write-baseline").status.success());
    assert!(
        run("docward audit fixtures --format json --output yesterday.json --fail-on never")
            .status
            .success()
    );
    for command in &commands {
        let output = run(command);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {told}");
    }
    for file in [
        "docward.sarif",
        "docward.html",
        "comment.md",
        "gl-code-quality-report.json",
        "docward.xml",
    ] {
        assert!(fs::metadata(project.path().join(file)).unwrap().len() > 2, "{file}");
    }
    // A new fault must fail the check.
    let orders = project.path().join("fixtures/db_shop/t_new.json");
    fs::write(
        orders,
        "{\"_id\": 1, \"price\": 1.5, \"createTime\": \"2024-03-15 10:30:00\"}\n".repeat(50),
    )
    .unwrap();
    let strict =
        commands.iter().filter(|c| c.contains("--baseline") && c.contains("--fail-on warning"));
    for command in strict {
        assert_eq!(run(command).status.code(), Some(1), "{command}");
    }
}
