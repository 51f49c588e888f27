//! Checks conventions of the repository: layers, import cycles, generated files, file sizes, the
//! trace table, the code map, links, texts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use toml_edit::DocumentMut;

use crate::{codegen, docs, import_graph, links, module_files, root, site, source, words};

/// Crates and their layers; a dependency on the same or a higher layer is a fault.
const LAYERS: [(&str, u32); 23] = [
    ("docward-model", 0),
    ("docward-bson", 1),
    ("docward-uri", 1),
    ("docward-wire", 1),
    ("docward-source", 2),
    ("docward-connect", 2),
    ("docward-profile", 2),
    ("docward-schema", 2),
    ("docward-workload", 2),
    ("docward-code", 3),
    ("docward-design", 3),
    ("docward-rules", 4),
    ("docward-config", 4),
    ("docward-advise", 5),
    ("docward-collect", 6),
    ("docward-net", 6),
    ("docward-report", 6),
    ("docward-refactor", 6),
    ("docward-guard", 7),
    ("docward-simulate", 7),
    ("docward", 8),
    // Above all layers: only tests may use it.
    ("docward-testkit", 9),
    ("docward-fuzz-cases", 9),
];
/// A longer file contains more than one idea.
const MAX_LINES: usize = 900;
const STATUSES: [&str; 7] =
    ["rule", "command", "advice", "guard", "refactor", "information", "planned"];

/// Runs every check and lists all faults.
pub(crate) fn run() -> Result<()> {
    let mut faults = Vec::new();
    layers(&mut faults)?;
    import_cycles(&mut faults)?;
    compiled(&mut faults)?;
    fresh(&mut faults)?;
    sizes(&mut faults)?;
    trace(&mut faults)?;
    code_map(&mut faults)?;
    licences(&mut faults)?;
    faults.extend(links::faults()?);
    faults.extend(site::faults()?);
    faults.extend(words::faults()?);
    if faults.is_empty() {
        println!("tidy: all in order");
        return Ok(());
    }
    for fault in &faults {
        println!("tidy: {fault}");
    }
    bail!("{} things are not in order", faults.len())
}

fn metadata(arguments: &[&str]) -> Result<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .args(arguments)
        .current_dir(root())
        .output()
        .context("running cargo metadata")?;
    serde_json::from_slice(&output.stdout).context("cargo metadata is JSON")
}

fn layers(faults: &mut Vec<String>) -> Result<()> {
    let layer: BTreeMap<&str, u32> = LAYERS.into_iter().collect();
    let metadata = metadata(&["--no-deps"])?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        if name == "xtask" {
            continue;
        }
        let Some(own) = layer.get(name) else {
            faults.push(format!("{name} has no layer: add it to xtask/src/tidy.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let on = dependency["name"].as_str().unwrap_or_default();
            let normal = dependency["kind"].is_null();
            if let Some(below) = layer.get(on).filter(|_| normal)
                && below >= own
            {
                faults.push(format!("{name} (layer {own}) depends on {on} (layer {below})"));
            }
        }
    }
    Ok(())
}

/// Checks that every source file is part of a target.
fn compiled(faults: &mut Vec<String>) -> Result<()> {
    let metadata = metadata(&["--no-deps"])?;
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let path = |value: &Value| Path::new(value.as_str().unwrap_or_default()).to_owned();
        let targets = package["targets"].as_array().into_iter().flatten();
        let roots: Vec<_> = targets.map(|target| path(&target["src_path"])).collect();
        let manifest = path(&package["manifest_path"]);
        let folder = manifest.parent().unwrap_or(&manifest);
        for file in module_files::orphans(folder, &roots)? {
            let shown = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            faults.push(format!("{shown} is compiled by no target: declare it as a module"));
        }
    }
    Ok(())
}

/// Checks that the modules of a crate have no import cycles.
fn import_cycles(faults: &mut Vec<String>) -> Result<()> {
    for (name, _) in LAYERS {
        let cycles = import_graph::cycles_of(&root().join("crates").join(name).join("src"))?;
        faults.extend(cycle_faults(name, &cycles));
    }
    Ok(())
}

/// The faults of a crate's import cycles.
fn cycle_faults(name: &str, cycles: &[Vec<String>]) -> Vec<String> {
    let fault = |cycle: &Vec<String>| {
        let modules = cycle.join(", ");
        format!("{name} has an import cycle ({modules}): move what they share to a module below")
    };
    cycles.iter().map(fault).collect()
}

fn fresh(faults: &mut Vec<String>) -> Result<()> {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
    if read(codegen::MODULE) != codegen::module()? {
        faults.push(format!("{} is stale: cargo xtask codegen", codegen::MODULE));
    }
    if read(codegen::CLAUSES) != codegen::clauses()? {
        faults.push(format!("{} is stale: cargo xtask codegen", codegen::CLAUSES));
    }
    let fresh = std::env::temp_dir().join(format!("docward-docs-{}", std::process::id()));
    fs::create_dir_all(&fresh)?;
    let outcome =
        docs::generate(&fresh).and_then(|()| compare(&fresh, &root().join("docs"), "", faults));
    let drawn = |at: &Path| -> BTreeSet<String> {
        let entries = fs::read_dir(at.join("pictures")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    for name in drawn(&root().join("docs")).difference(&drawn(&fresh)) {
        faults.push(format!("docs/pictures/{name} belongs to no page: cargo xtask docs"));
    }
    outcome?;
    let codes = codegen::rule_modules()?;
    let codes = codes.iter().map(|m| m.split('_').next().unwrap_or_default().to_uppercase());
    // A family also has a page.
    let pages: BTreeSet<String> = codes.flat_map(|code| [code[..1].to_owned(), code]).collect();
    for entry in fs::read_dir(root().join("docs/commands"))? {
        let name = entry?.file_name();
        if !fresh.join("commands").join(&name).exists() {
            faults.push(format!("docs/commands/{} belongs to no command", name.display()));
        }
    }
    fs::remove_dir_all(&fresh)?;
    for entry in fs::read_dir(root().join("docs/rules"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let stem = name.trim_end_matches(".md");
        if stem != "README" && !pages.contains(stem) {
            faults.push(format!("docs/rules/{name} belongs to no rule"));
        }
    }
    Ok(())
}

/// Checks that every file of `fresh` is the same under `kept`.
fn compare(fresh: &Path, kept: &Path, below: &str, faults: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(fresh)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let shown = format!("{below}{name}");
        if entry.path().is_dir() {
            compare(&entry.path(), &kept.join(&name), &format!("{shown}/"), faults)?;
        } else if fs::read(entry.path())? != fs::read(kept.join(&name)).unwrap_or_default() {
            faults.push(format!("docs/{shown} is stale: cargo xtask docs"));
        }
    }
    Ok(())
}

fn sizes(faults: &mut Vec<String>) -> Result<()> {
    for file in source::rust_files()? {
        let shown = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        faults.extend(size_fault(&shown, &fs::read_to_string(&file)?));
    }
    Ok(())
}

/// The fault of a file that is too long.
fn size_fault(shown: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MAX_LINES).then(|| format!("{shown} has {lines} lines (limit {MAX_LINES}): split it"))
}

fn trace(faults: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(root().join(codegen::CLAUSES))?;
    let document: DocumentMut = text.parse()?;
    let clauses = document["clause"].as_array_of_tables().context("no [[clause]]")?;
    let mut known = BTreeSet::new();
    let tests: BTreeSet<String> = source::test_names()?.into_iter().collect();
    for clause in clauses {
        let id = clause["id"].as_str().unwrap_or_default().to_owned();
        let status = clause["status"].as_str().unwrap_or_default();
        let by = codegen::strings(clause.get("by"));
        let named = codegen::strings(clause.get("tests"));
        if !STATUSES.contains(&status) {
            faults.push(format!("clause {id}: unknown status `{status}`"));
        }
        let done = status != "planned" && status != "information";
        if done && by.is_empty() {
            faults.push(format!("clause {id} is `{status}` but nothing implements it"));
        }
        if done && named.is_empty() {
            faults.push(format!("clause {id} is `{status}` but no test cites it"));
        }
        if status == "planned" && by.iter().any(|b| codegen::is_rule_code(b)) {
            faults.push(format!(
                "clause {id}: {} implements it, but no test is named after it ({}_…)",
                by.join(", "),
                codegen::test_form(&id)
            ));
        }
        for test in named.iter().filter(|t| !tests.contains(*t)) {
            faults.push(format!("clause {id} names the test {test}, which does not exist"));
        }
        if !known.insert(id.clone()) {
            faults.push(format!("clause {id} is listed twice"));
        }
    }
    for (code, ids) in codegen::rule_clauses()? {
        for id in ids.iter().filter(|id| !known.contains(*id)) {
            faults.push(format!("{code} cites the clause {id}, which does not exist"));
        }
    }
    Ok(())
}

fn code_map(faults: &mut Vec<String>) -> Result<()> {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap_or_default();
    for (name, _) in LAYERS {
        if !map.contains(&format!("crates/{name}")) {
            faults.push(format!("ARCHITECTURE.md does not mention crates/{name}"));
        }
        if !root().join("crates").join(name).is_dir() {
            faults.push(format!("crates/{name} is in the layer table but does not exist"));
        }
    }
    Ok(())
}

/// Checks that every dependency has a licence of the list in deny.toml.
fn licences(faults: &mut Vec<String>) -> Result<()> {
    let deny: DocumentMut = fs::read_to_string(root().join("deny.toml"))?.parse()?;
    let allowed = codegen::strings(deny["licenses"].get("allow"));
    for package in metadata(&[])?["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence, &allowed) {
            faults
                .push(format!("{name} has the licence `{licence}`, which deny.toml does not list"));
        }
    }
    Ok(())
}

/// Returns whether one alternative of every part of an SPDX expression is permitted.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    !expression.is_empty()
        && expression.split(" AND ").all(|part| {
            part.split(" OR ")
                .flat_map(|choice| choice.split('/'))
                .map(|choice| choice.trim_matches(['(', ')', ' ']))
                .any(|choice| allowed.iter().any(|a| a == choice))
        })
}

#[cfg(test)]
mod tests {
    use super::{cycle_faults, is_allowed, size_fault};

    #[test]
    fn import_cycles_are_faults() {
        assert_eq!(cycle_faults("docward-x", &[]), Vec::<String>::new());
        let faults = cycle_faults("docward-x", &[vec!["a".to_owned(), "b".to_owned()]]);
        assert!(matches!(&faults[..], [one] if one.contains("import cycle (a, b)")), "{faults:?}");
    }

    #[test]
    fn files_over_900_lines_are_faults() {
        assert_eq!(size_fault("a.rs", &"\n".repeat(900)), None);
        let fault = size_fault("a.rs", &"\n".repeat(901));
        assert_eq!(fault.as_deref(), Some("a.rs has 901 lines (limit 900): split it"));
    }

    #[test]
    fn licences_are_read_as_expressions() {
        let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()];
        for (expression, expect) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("GPL-3.0", false),
            ("MIT AND GPL-3.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expect, "{expression}");
        }
    }
}
