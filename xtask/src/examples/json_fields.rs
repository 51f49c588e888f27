//! Checks that `docs/json.md` lists every field that commands print with `--format json`.

use std::{collections::BTreeSet, fs, process::Command};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{docs, root};

const PAGE: &str = "docs/json.md";
/// A command for each kind of output, run in `examples/`.
const COMMANDS: [&str; 16] = [
    "audit shop --code guard --client-uri mongodb://app:x@db1/shop --format json",
    "audit shop --sample 50 --show-values --format json",
    "checklist shop --format json",
    "lint guard --format json",
    "connect check mongodb://app:x@db1/shop --format json",
    "schema check drift/user.validator.json drift/users.jsonl --format json",
    "design check models/shop.yaml shop-clean --db db_* --format json",
    "connect plan --apps 20 --method lb --limit 3000 --pool 50 --format json",
    "connect choose --topology sharded --mongos 16 --client-ips 4 --format json",
    "schema infer drift/users.jsonl --format report",
    "schema import drift/models/user.js --format report",
    "schema test drift/user.validator.json {} --format json",
    "schema diff drift/models/user.js drift/user.validator.json --format json",
    "design models/shop.yaml --format json",
    "shardkey shop --collection t_order --format json",
    "rules --format json",
];
/// Fields of a report whose own fields are also listed on the page.
const OPENED: [&str; 11] = [
    "tool",
    "sources",
    "summary",
    "findings",
    "skipped",
    "problems",
    "checklist",
    "suppressions",
    "seen",
    "filter",
    "waiver",
];

/// A fault for each field that the page leaves out.
pub(super) fn check() -> Result<()> {
    let page = fs::read_to_string(root().join(PAGE)).context(PAGE)?;
    let mut faults = Vec::new();
    for command in COMMANDS {
        let output = Command::new(docs::binary()?)
            .args(command.split(' '))
            .current_dir(root().join("examples"))
            .output()
            .with_context(|| format!("running docward {command}"))?;
        let printed: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`docward {command}` prints no JSON"))?;
        let is_report = printed.get("findings").is_some();
        let missing =
            fields(&printed, is_report).into_iter().filter(|field| !is_listed(&page, field));
        faults.extend(
            missing.map(|field| format!("{PAGE} leaves out `{field}` of `docward {command}`")),
        );
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

fn is_listed(page: &str, field: &str) -> bool {
    page.contains(&format!("`{field}`"))
}

/// The fields at the top of a value, and in a report those of its parts.
fn fields(value: &Value, is_report: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    match value {
        Value::Array(items) => items.iter().for_each(|item| found.extend(fields(item, is_report))),
        Value::Object(entries) => {
            for (name, inner) in entries {
                found.insert(name.clone());
                if is_report && OPENED.contains(&name.as_str()) {
                    found.extend(fields(inner, is_report));
                }
            }
        }
        _ => {}
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_of_parts_are_found_in_reports_only() {
        let report =
            json!({"version": 1, "findings": [{"seen": {"total": 1}, "data": {"max": 2}}]});
        let all: Vec<String> = fields(&report, true).into_iter().collect();
        assert_eq!(all, ["data", "findings", "seen", "total", "version"]);
        assert_eq!(fields(&report, false).len(), 2);
        assert!(is_listed("| `seen` |", "seen") && !is_listed("| `seen` |", "total"));
    }
}
