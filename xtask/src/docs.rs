//! Generates the documentation: pages of rules and commands, the contents of the site, the schema of `docward.toml`, the trace page, the
//! gallery of designs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};
use toml_edit::DocumentMut;

use crate::{codegen, command_pages, gallery, root, site};

#[path = "../../crates/docward/tests/conformance/page.rs"]
#[expect(dead_code, reason = "the tests also use the inputs and the commands of the cases")]
mod page;

use page::{Clause, Kind};

/// Writes everything under `docs/`.
pub(crate) fn run() -> Result<()> {
    let docs = root().join("docs");
    for folder in ["rules", "commands", "pictures"] {
        let _ = fs::remove_dir_all(docs.join(folder));
    }
    generate(&docs)
}

/// Writes the generated files below a folder.
pub(crate) fn generate(docs: &Path) -> Result<()> {
    let rules = docs.join("rules");
    docward(&["rules", "--pages", &rules.display().to_string()])?;
    let schema = docward(&["rules", "--config-schema"])?;
    fs::write(docs.join("docward.schema.json"), schema).context("writing the schema")?;
    fs::write(docs.join("clauses.md"), trace_page()?).context("writing the trace page")?;
    command_pages::generate(docs)?;
    gallery::generate(docs)?;
    site::write_summary(docs)
}

/// The path of the binary: the one that `DOCWARD_BIN` names, or one that is built once.
pub(crate) fn binary() -> Result<PathBuf> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    if let Some(built) = BUILT.get() {
        return Ok(built.clone());
    }
    let found = match std::env::var_os("DOCWARD_BIN") {
        Some(built) => fs::canonicalize(&built).context("DOCWARD_BIN")?,
        None => build()?,
    };
    Ok(BUILT.get_or_init(|| found).clone())
}

fn build() -> Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        // The features of the whole workspace, as in the tests: others would compile the driver again.
        .args(["build", "--workspace", "--bin", "docward"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root())
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("building docward")?;
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let made = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .next_back();
    made.filter(|_| output.status.success()).context("docward was not built")
}

/// Runs the binary and returns its output.
pub(crate) fn docward(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(binary()?);
    let output = command.args(arguments).current_dir(root()).output().context("running docward")?;
    if !output.status.success() {
        bail!("docward {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// One row per clause, with the numbers by status at the top. A test runs the cases and fails if they do not hold,
/// except for those that are marked: for these, the page states what is missing.
pub(crate) fn trace_page() -> Result<String> {
    let text = fs::read_to_string(root().join(codegen::CLAUSES)).context("docs/clauses.toml")?;
    let document: DocumentMut = text.parse()?;
    let clauses = document["clause"].as_array_of_tables().context("no [[clause]]")?;
    let mut by_status: BTreeMap<String, usize> = BTreeMap::new();
    let mut rows = String::new();
    let shown = page::read(&root().join("conformance")).context("conformance")?;
    let shown: BTreeMap<&str, &Clause> =
        shown.iter().map(|clause| (clause.id.as_str(), clause)).collect();
    let cases = || shown.values().flat_map(|clause| &clause.cases);
    let open = cases().filter(|case| case.fails.is_some()).count();
    for clause in clauses {
        let get = |key: &str| clause.get(key).and_then(|v| v.as_str()).unwrap_or("").to_owned();
        *by_status.entry(get("status")).or_default() += 1;
        let by: Vec<String> = codegen::strings(clause.get("by"))
            .into_iter()
            .map(|name| match codegen::is_rule_code(&name) {
                true => format!("[{name}](rules/{name}.md)"),
                false => name,
            })
            .collect();
        rows += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            get("id"),
            get("title"),
            get("level"),
            get("status"),
            by.join(", "),
            shown.get(get("id").as_str()).map_or_else(String::new, |clause| checked(clause))
        );
    }
    let counts: Vec<String> = by_status.iter().map(|(s, n)| format!("{n} {s}")).collect();
    Ok(format!(
        "<!-- Generated by `cargo xtask docs` from clauses.toml and conformance/. -->\n# Clauses\n\n{} clauses: {}.\n\nThe last column counts the cases of the folder `conformance`, which tests run through the binary: {} cases, of which {open} fail.\n\n| id | what it asks | level | status | by | checked with |\n|---|---|---|---|---|---|\n{rows}",
        clauses.len(),
        counts.join(", "),
        cases().count(),
    ))
}

/// The cases that check a clause, and what those that fail show.
fn checked(clause: &Clause) -> String {
    let number = |kind: Kind| clause.cases.iter().filter(|case| case.kind == kind).count();
    let kinds =
        [(Kind::Violating, "violating"), (Kind::Compliant, "compliant"), (Kind::Advice, "advice")];
    let mut parts: Vec<String> = kinds
        .into_iter()
        .filter(|&(kind, _)| number(kind) > 0)
        .map(|(kind, name)| format!("{} {name}", number(kind)))
        .collect();
    parts.extend(clause.same_as.iter().map(|other| format!("cases of {other}")));
    let fails = clause.cases.iter().filter_map(|case| case.fails.as_deref());
    let fails = fails.map(|fails| format!(" **Fails:** {fails}"));
    parts.join(", ") + &fails.collect::<String>()
}
