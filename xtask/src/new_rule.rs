//! `cargo xtask new-rule CODE name`: creates a rule file to fill in, and updates the registry.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{codegen, root};

/// Writes the file.
pub(crate) fn run(code: &str, name: &str) -> Result<()> {
    if !codegen::is_rule_code(code) {
        bail!("`{code}` is not a code: a family letter and three digits, such as D014");
    }
    if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        bail!(
            "`{name}` is not a name: lower-case words joined by hyphens, such as unbounded-array"
        );
    }
    if codegen::RETIRED.contains(&code) {
        bail!("{code} belonged to a rule that was removed; choose a number that was never used");
    }
    if codegen::rule_modules()?.iter().any(|m| m.starts_with(&format!("{}_", code.to_lowercase())))
    {
        bail!("{code} exists; codes are never used again");
    }
    let file = format!("{}_{}.rs", code.to_lowercase(), name.replace('-', "_"));
    let path = root().join("crates/docward-rules/src/rules").join(&file);
    let title = name.replace('-', " ");
    let mut letters = title.chars();
    let title: String =
        letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect();
    let text = TEMPLATE.replace("CODE", code).replace("NAME", name).replace("TITLE", &title);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    codegen::run()?;
    println!(
        "{}\nFill in the page, the clauses and the check; then: cargo test -p docward-rules",
        path.display()
    );
    Ok(())
}

const TEMPLATE: &str = r#"//! Which clause, and the idea of the check.

use docward_model::{Collection, Draft, Subject};

use crate::{Cx, declare_rule};

declare_rule! {
    /// # TITLE
    ///
    /// ## What it checks
    /// Reports …
    ///
    /// ## Why it matters
    /// …
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1}
    /// ```
    /// Better:
    /// ```jsonl,clean
    /// {"_id": 1}
    /// ```
    ///
    /// ## How to fix
    /// …
    ///
    /// ## When to ignore it
    /// …
    CODE, "NAME",
    level: Recommended,
    area: Hygiene,
    clauses: ["DM-00.0"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: [],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    cx.report(Draft::new(
        Subject::Collection(collection.namespace.clone()),
        "what is wrong, with the numbers",
        "why it matters to the reader",
        "what to do, concretely",
        profile.seen(),
    ));
}
"#;
