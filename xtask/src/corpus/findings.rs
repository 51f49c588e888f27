//! Findings of a whole corpus: running `docward lint` on each package, and `corpus/findings.jsonl`.

use std::{
    io::{self, Write},
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{fetch, packages::Package};

/// The place of a finding. Findings about a project have no file and line 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) line: u32,
}

/// A finding without its text, so that a reworded sentence changes nothing here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) package: String,
    pub(super) rule: String,
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) severity: String,
    /// Reported with `--select pedantic` only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) pedantic: bool,
    pub(super) fingerprint: String,
    /// Further places that the finding covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) also: Vec<Place>,
}

impl Row {
    /// Whether a plain run reports it as an error or a warning.
    pub(super) fn is_loud(&self) -> bool {
        !self.pedantic && self.severity != "info"
    }
}

/// Reads recorded findings.
pub(super) fn parse(text: &str) -> Result<Vec<Row>> {
    let row = |(at, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("line {} is no finding", at + 1))
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(row).collect()
}

/// Formats findings for [`parse`].
pub(super) fn text(rows: &[Row]) -> Result<String> {
    let mut out = String::new();
    for row in rows {
        out.push_str(&serde_json::to_string(row)?);
        out.push('\n');
    }
    Ok(out)
}

/// Runs the program on every package, with defaults and with `--select pedantic`.
pub(super) fn lint(bin: &Path, packages: &[&Package]) -> Result<Vec<Row>> {
    let bin = bin.canonicalize().with_context(|| {
        format!("{} does not exist: run `cargo build`, or name a program with --bin", bin.display())
    })?;
    for package in packages {
        if !fetch::folder(package)?.is_dir() {
            bail!("{} is not in the cache: run `cargo xtask corpus fetch`", package.name);
        }
    }
    let mut out = Vec::new();
    for (at, package) in packages.iter().enumerate() {
        // Reports progress. If stderr is closed, the error is ignored.
        let _ = writeln!(io::stderr(), "{}/{} {}", at + 1, packages.len(), package.name);
        let folder = fetch::folder(package)?;
        let plain = report(&bin, &folder, &[]).with_context(|| package.name.clone())?;
        let more = report(&bin, &folder, &["--select", "pedantic"])
            .with_context(|| package.name.clone())?;
        out.extend(merged(&package.name, &plain, &more)?);
    }
    out.sort();
    Ok(out)
}

fn report(bin: &Path, folder: &Path, more: &[&str]) -> Result<Value> {
    let output = Command::new(bin)
        .args(["lint", ".", "--format", "json", "--color", "never"])
        .args(more)
        .current_dir(folder)
        .output()
        .with_context(|| format!("cannot run {}", bin.display()))?;
    let message = || {
        let stderr = String::from_utf8_lossy(&output.stderr);
        format!("{} printed no report ({}): {}", bin.display(), output.status, stderr.trim())
    };
    serde_json::from_slice(&output.stdout).with_context(message)
}

/// Merges the findings of both reports. Findings that only the second one has are pedantic.
fn merged(package: &str, plain: &Value, more: &Value) -> Result<Vec<Row>> {
    let mut out = rows(package, plain)?;
    for mut row in rows(package, more)? {
        if !out.contains(&row) {
            row.pedantic = true;
            out.push(row);
        }
    }
    Ok(out)
}

fn rows(package: &str, report: &Value) -> Result<Vec<Row>> {
    let findings = report["findings"].as_array().context("the report has no findings")?;
    findings
        .iter()
        .map(|finding| {
            let text = |key: &str| {
                let value = finding[key].as_str().map(str::to_owned);
                value.with_context(|| format!("a finding has no `{key}`"))
            };
            let first = place(&finding["location"]);
            let places = finding["locations"].as_array().into_iter().flatten().map(place);
            let mut also: Vec<Place> = places.filter(|place| *place != first).collect();
            also.sort();
            also.dedup();
            Ok(Row {
                package: package.to_owned(),
                rule: text("rule")?,
                file: first.file,
                line: first.line,
                severity: text("severity")?,
                pedantic: false,
                fingerprint: text("fingerprint")?,
                also,
            })
        })
        .collect()
}

fn place(location: &Value) -> Place {
    let file = location["file"].as_str().unwrap_or_default();
    Place {
        file: file.strip_prefix("./").unwrap_or(file).to_owned(),
        line: location["line"].as_u64().and_then(|line| line.try_into().ok()).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_become_rows_without_words() {
        let finding = json!({
            "rule": "D020", "severity": "warn", "what": "words", "fingerprint": "1f",
            "location": {"file": "./src/a.js", "line": 4, "column": 2},
            "locations": [{"file": "./src/a.js", "line": 4}, {"file": "src/b.js", "line": 9}],
        });
        let whole = json!({"rule": "C042", "severity": "info", "fingerprint": "2f"});
        let plain = json!({"findings": [finding]});
        let more = json!({"findings": [finding, whole]});
        let rows = merged("shop", &plain, &more).unwrap();
        let lines = text(&rows).unwrap();
        assert_eq!(
            lines,
            "{\"package\":\"shop\",\"rule\":\"D020\",\"file\":\"src/a.js\",\"line\":4,\
             \"severity\":\"warn\",\"fingerprint\":\"1f\",\"also\":[{\"file\":\"src/b.js\",\"line\":9}]}\n\
             {\"package\":\"shop\",\"rule\":\"C042\",\"file\":\"\",\"line\":0,\"severity\":\"info\",\
             \"pedantic\":true,\"fingerprint\":\"2f\"}\n"
        );
        assert_eq!(parse(&lines).unwrap(), rows);
    }

    #[test]
    fn a_line_that_is_no_finding_is_named() {
        let error = format!("{:#}", parse("\n{\"package\": \"shop\"}\n").unwrap_err());
        assert!(error.starts_with("line 2 is no finding: missing field `rule`"), "{error}");
    }

    #[test]
    fn a_report_of_another_shape_is_refused() {
        let error = rows("shop", &json!({"version": 1})).unwrap_err();
        assert_eq!(error.to_string(), "the report has no findings");
        let error = rows("shop", &json!({"findings": [{"rule": "D020"}]})).unwrap_err();
        assert_eq!(error.to_string(), "a finding has no `severity`");
    }
}
