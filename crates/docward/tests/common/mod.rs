//! Runs the real binary.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "test helpers: a panic is the message"
)]

pub(crate) mod guard;

use std::{
    path::{Path, PathBuf},
    process::{Child, Output},
};

use assert_cmd::Command;
use serde_json::Value;

/// Returns the root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Returns a data set that is not part of the repository. Returns `None` with a message if it is
/// missing.
pub(crate) fn shared_data(name: &str) -> Option<PathBuf> {
    let path = root().join("../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}

/// Runs docward in the root of the repository.
pub(crate) fn docward(arguments: &[&str]) -> Output {
    Command::cargo_bin("docward")
        .unwrap()
        .args(arguments)
        .current_dir(root())
        .env_remove("NO_COLOR")
        .env_remove("DOCWARD_DOCS_URL")
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}

/// Sends a signal, by its name without `SIG`.
pub(crate) fn signal(child: &Child, name: &str) {
    let (name, id) = (format!("-{name}"), child.id().to_string());
    let sent = std::process::Command::new("kill").args([name, id]).status().unwrap();
    assert!(sent.success());
}

/// Returns the report of an audit that `--max-time` ends early, and that time in seconds. On a busy
/// machine, the audit may need more than a second before it reads anything. The function then tries
/// a longer time.
pub(crate) fn cut_by_time(
    is_enough: impl Fn(&Value) -> bool,
    audit: impl Fn(&str) -> Value,
) -> (Value, &'static str) {
    let times = ["1", "4", "16"];
    let mut reports = times.iter().map(|seconds| (audit(seconds), *seconds));
    reports
        .find(|(report, _)| is_enough(report))
        .expect("something is read within a quarter of a minute")
}

/// Whether documents were read.
pub(crate) fn has_documents(report: &Value) -> bool {
    report["sources"][0]["documents"].as_u64() > Some(0)
}

/// Returns the exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Returns standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Returns standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the JSON report of an audit with these arguments, and the exit code.
pub(crate) fn audit_json(arguments: &[&str]) -> (Value, i32) {
    let mut all = vec!["audit", "--format", "json"];
    all.extend(arguments);
    let output = docward(&all);
    (report(&output), code(&output))
}

/// Returns the JSON report on standard output. A run that could read nothing writes no report, so
/// its errors become the problems of an empty one.
pub(crate) fn report(output: &Output) -> Value {
    if output.stdout.is_empty() && code(output) == 2 {
        let text = stderr(output);
        let errors = text.lines().filter_map(|line| line.strip_prefix("error: "));
        let problems: Vec<Value> =
            errors.map(|line| serde_json::json!({ "source": "", "message": line })).collect();
        assert!(!problems.is_empty(), "{text}");
        return serde_json::json!({ "problems": problems, "findings": [], "sources": [{}] });
    }
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", stdout(output), stderr(output)))
}

/// Returns `(severity, rule, namespace, path)` of every finding.
pub(crate) fn findings(report: &Value) -> Vec<(String, String, String, String)> {
    let text = |f: &Value, key: &str| f[key].as_str().unwrap_or("").to_owned();
    report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (text(f, "severity"), text(f, "rule"), text(f, "namespace"), text(f, "path")))
        .collect()
}

/// Returns the path of a language's driver. Returns `None` with a message if it is missing.
pub(crate) fn driver(language: &str) -> Option<PathBuf> {
    let script = root().join("scripts/clients.py");
    let output = std::process::Command::new("python3").arg(script).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{language} "))).unwrap();
    if let Some(why) = line.strip_prefix("missing: ") {
        let required = std::env::var("DOCWARD_REQUIRE_CLIENTS").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == language), "{language}: {why}");
        eprintln!(
            "skipped: programs with {language} were not run: {why}; scripts/clients.py --install"
        );
        return None;
    }
    Some(PathBuf::from(line))
}

/// Returns the rules that "Fix first" must name, each with its severity, derived from the JSON.
pub(crate) fn chosen_first(report: &Value) -> Vec<(String, String)> {
    let mut rules: Vec<(String, String, String)> = Vec::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let rule = (text("rule"), text("severity"), text("area"));
        if rule.1 != "info" && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let areas = ["writes", "correctness", "security", "growth", "speed", "hygiene"];
    let mut chosen = Vec::new();
    // Every area gives its first rule, then its second, and so on; a warning waits one turn, and
    // hygiene fills what is left.
    for (at, area) in areas.iter().enumerate() {
        let of_area = rules.iter().filter(|(.., of)| of == area).enumerate();
        chosen.extend(of_area.map(|(turn, (rule, severity, _))| {
            let turn = turn + usize::from(severity == "warn");
            (at == 5, turn, at, (rule.clone(), severity.clone()))
        }));
    }
    chosen.sort();
    chosen.truncate(5);
    chosen.sort_by_key(|(_, turn, at, _)| (*at, *turn));
    chosen.into_iter().map(|(.., rule)| rule).collect()
}
