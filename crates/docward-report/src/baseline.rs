//! The baseline file: findings that are accepted for now. One line each and no figures, so that it
//! changes only if a finding appears or disappears, and the diff is easy to review.

use std::fmt::Write;

use docward_model::{Known, Severity, Subject};
use serde::{Deserialize, Serialize};

/// The reason why a text is not a baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineFault {
    /// The file is not JSON or has another structure.
    #[error("this is not a baseline: {0}")]
    Shape(#[from] serde_json::Error),
    /// Written by a newer Docward.
    #[error(
        "this file has version {0}, but this version of Docward reads only version 1; use a newer \
     Docward"
    )]
    Version(u64),
    /// An entry with an invalid severity.
    #[error("an entry has the severity `{0}`; write error, warn or info")]
    Severity(String),
}

#[derive(Deserialize)]
struct File {
    version: u64,
    findings: Vec<Entry>,
}

#[derive(Deserialize, Serialize)]
struct Entry {
    fingerprint: String,
    rule: String,
    name: String,
    severity: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<String>,
}

/// Reads a baseline.
pub fn read_baseline(text: &str) -> Result<Vec<Known>, BaselineFault> {
    let file: File = serde_json::from_str(text)?;
    if file.version != 1 {
        return Err(BaselineFault::Version(file.version));
    }
    file.findings
        .into_iter()
        .map(|entry| {
            let severity = Severity::parse(&entry.severity)
                .ok_or_else(|| BaselineFault::Severity(entry.severity.clone()))?;
            let at = Subject::from_parts(
                entry.namespace.as_deref(),
                entry.path.as_deref(),
                entry.index.as_deref(),
            );
            Ok(Known {
                rule: entry.rule,
                at,
                fingerprint: entry.fingerprint,
                name: entry.name,
                severity,
                what: String::new(),
            })
        })
        .collect()
}

/// Writes a baseline: sorted, one finding per line.
pub fn baseline_json(tool_version: &str, known: &[Known]) -> String {
    let mut known: Vec<&Known> = known.iter().collect();
    known.sort();
    let lines: Vec<String> = known
        .iter()
        .map(|known| {
            let entry = Entry {
                fingerprint: known.fingerprint.clone(),
                rule: known.rule.clone(),
                name: known.name.clone(),
                severity: known.severity.name().to_owned(),
                namespace: known.at.namespace(),
                path: known.at.path().map(|path| path.as_str().to_owned()),
                index: known.at.index().map(str::to_owned),
            };
            format!("    {}", serde_json::to_string(&entry).unwrap_or_default())
        })
        .collect();
    let mut out = String::from("{\n  \"version\": 1,\n");
    let tool = serde_json::json!({ "name": "docward", "version": tool_version });
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  \"tool\": {tool},\n  \"findings\": [");
    if !lines.is_empty() {
        let _ = writeln!(out, "{}", lines.join(",\n"));
    }
    out.push_str("  ]\n}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use docward_model::{FieldPath, Namespace};

    #[test]
    fn what_is_written_is_read_again() {
        let ns = Namespace::new("db_shop", "t_user.old");
        let known: Vec<Known> = [
            Subject::Field(ns.clone(), FieldPath::new("items[].price")),
            Subject::Index(ns.clone(), "a_1".to_owned()),
            Subject::Collection(ns),
            Subject::Database("db_shop".to_owned()),
            Subject::Deployment,
        ]
        .into_iter()
        .enumerate()
        .map(|(n, at)| Known {
            rule: format!("D{n:03}"),
            at,
            fingerprint: n.to_string(),
            name: "x".to_owned(),
            severity: Severity::Warn,
            what: String::new(),
        })
        .collect();
        let text = baseline_json("0.0.0", &known);
        assert_eq!(read_baseline(&text).unwrap(), known);
        assert_eq!(read_baseline(&baseline_json("0.0.0", &[])).unwrap(), []);
        assert_eq!(text.lines().count(), known.len() + 6);
    }

    #[test]
    fn what_is_no_baseline_is_told() {
        for (text, expect) in [
            ("[]", "is not a baseline"),
            ("{\"version\": 2, \"findings\": []}", "version 2"),
            (
                "{\"version\": 1, \"findings\": [{\"fingerprint\": \"a\", \"rule\": \"D001\", \"name\": \"x\", \"severity\": \"loud\"}]}",
                "`loud`",
            ),
        ] {
            let fault = read_baseline(text).unwrap_err().to_string();
            assert!(fault.contains(expect), "{fault}");
        }
    }
}
