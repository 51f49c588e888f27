//! `docward rules`: lists rules, and writes their pages and the schema of the settings.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use anyhow::{Context, bail};
use docward_model::{RuleMeta, ThresholdValue};

use crate::{
    args::{Format, RulesArgs},
    config::metas,
    example,
    ids::{self, Found},
    terminal::{CLEAN, put},
};

/// The first letters of codes, and the subject of each family.
const FAMILIES: [(&str, &str); 12] = [
    ("N", "Naming"),
    ("D", "Document shape and size"),
    ("T", "Types and `_id`"),
    ("V", "Validation"),
    ("R", "Relationships and patterns"),
    ("I", "Indexes"),
    ("K", "Shard keys"),
    ("L", "Capacity"),
    ("C", "Connection strings and clients"),
    ("S", "Security"),
    ("W", "Workload"),
    ("A", "What is accepted for now"),
];

/// Lists rules, writes their pages, or prints the schema of `docward.toml`.
pub(crate) fn rules(args: &RulesArgs) -> anyhow::Result<u8> {
    if args.config_schema {
        put(&docward_config::json_schema(&metas()), None)?;
        return Ok(CLEAN);
    }
    if let Some(family) = &args.family {
        known_family(family)?;
    }
    let chosen: Vec<&RuleMeta> = metas()
        .into_iter()
        .filter(|rule| {
            args.family.as_ref().is_none_or(|f| f.eq_ignore_ascii_case(&rule.code[..1]))
                && args
                    .clause
                    .as_ref()
                    .is_none_or(|c| rule.clauses.iter().any(|cited| cited.eq_ignore_ascii_case(c)))
                && args.grep.as_ref().is_none_or(|text| {
                    let text = text.to_lowercase();
                    [rule.code, rule.name, rule.title()]
                        .iter()
                        .any(|word| word.to_lowercase().contains(&text))
                })
        })
        .collect();
    if chosen.is_empty() {
        bail!("{}", no_match(args)?);
    }
    if let Some(directory) = &args.pages {
        write_pages(directory, &chosen)?;
        return Ok(CLEAN);
    }
    let text = match args.format {
        Format::Json => docward_report::rules_json(&chosen),
        Format::Terminal => list(&chosen),
    };
    put(&text, None)?;
    Ok(CLEAN)
}

/// Returns a usage error for an unknown family, with a list of families.
fn known_family(family: &str) -> anyhow::Result<()> {
    if FAMILIES.iter().any(|(letter, _)| letter.eq_ignore_ascii_case(family)) {
        return Ok(());
    }
    let meant = FAMILIES.iter().find(|(_, title)| {
        !family.is_empty() && title.to_lowercase().starts_with(&family.to_lowercase())
    });
    let hint = match meant {
        Some((letter, _)) => format!("did you mean `{letter}`? "),
        None => String::new(),
    };
    let known: Vec<_> =
        FAMILIES.iter().map(|(letter, title)| format!("{letter} ({title})")).collect();
    bail!("no family of rules is called `{family}`; {hint}there are {}", known.join(", "))
}

/// Returns why no rule matches, with suggestions.
fn no_match(args: &RulesArgs) -> anyhow::Result<String> {
    let meant = |near: Vec<String>| match near.as_slice() {
        [] => String::new(),
        near => format!("; did you mean `{}`?", near.join("` or `")),
    };
    let cited: BTreeSet<&str> =
        metas().into_iter().flat_map(|rule| rule.clauses.iter().copied()).collect();
    if let Some(clause) = &args.clause
        && !cited.iter().any(|id| id.eq_ignore_ascii_case(clause))
    {
        return Ok(match ids::find(clause)? {
            Found::One(entry) => format!(
                "no rule implements `{}`; `docward explain {}` tells what does",
                entry.id, entry.id
            ),
            Found::Group(entries) => {
                let ids = entries.iter().map(|entry| entry.id.clone());
                let ids: Vec<String> =
                    ids.filter(|id| cited.contains(id.as_str())).take(3).collect();
                format!("`{clause}` is a group of clauses{}", meant(ids))
            }
            Found::Nothing(_) => {
                let near = ids::nearest(clause, cited.into_iter());
                format!("no clause is called `{clause}`{}", meant(near))
            }
        });
    }
    let Some(text) = &args.grep else {
        return Ok("no rule has all of that; leave one of the conditions out".to_owned());
    };
    let words = metas().into_iter().flat_map(|rule| {
        rule.name.split('-').chain([rule.code, rule.name]).filter(|word| word.len() > 3)
    });
    Ok(format!(
        "no rule has `{text}` in its code, name or title{}",
        meant(ids::nearest(text, words))
    ))
}

fn list(rules: &[&RuleMeta]) -> String {
    let mut out = String::new();
    let width = rules.iter().map(|r| r.name.len()).max().unwrap_or(0);
    for rule in rules {
        let severity = rule.severity_text();
        let _ =
            writeln!(out, "{} {:<width$}  {severity:<19}  {}", rule.code, rule.name, rule.title());
    }
    let _ = writeln!(
        out,
        "\n{}; `docward explain CODE` tells more",
        docward_model::text::plural(rules.len() as u64, "rule")
    );
    out
}

fn write_pages(directory: &Path, rules: &[&RuleMeta]) -> anyhow::Result<()> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make the directory {}", directory.display()))?;
    let save = |name: &str, text: &str| {
        let path = directory.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    for rule in rules {
        save(&format!("{}.md", rule.code), &page(rule))?;
    }
    save("README.md", &index(rules))
}

/// Returns the page of a rule: head, thresholds, and the sections of its doc comment.
pub(crate) fn page(rule: &RuleMeta) -> String {
    let mut out = String::from("<!-- Generated by `cargo xtask docs` from the rule's file. -->\n");
    let _ = writeln!(out, "# {} {}: {}\n", rule.code, rule.name, rule.title());
    let _ = writeln!(
        out,
        "| severity | level | maturity | clauses | needs |\n|---|---|---|---|---|\n| {} | {} | {} | {} | {} |\n",
        rule.severity_text(),
        rule.level.name(),
        rule.maturity.name(),
        rule.clauses.join(", "),
        rule.needs.iter().map(|n| n.name()).collect::<Vec<_>>().join(", "),
    );
    if rule.scope == docward_model::Scope::HouseNaming {
        out.push_str("House naming: on in the `vendor` profile, off in `neutral`.\n\n");
    }
    let mut is_notation = false;
    for line in rule.doc.lines().skip_while(|l| !l.trim_start().starts_with("## ")) {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        let fence = line.strip_prefix("```");
        if let Some(info) = fence {
            is_notation = example::is_notation(info);
            // Readers only need the language of a fence.
            if let (Some(label), Some(language)) = (example::label(info), info.split(',').next()) {
                let mut letters = label.chars();
                let first = letters.next().map(|c| c.to_ascii_uppercase()).unwrap_or_default();
                let language = if is_notation { "js" } else { language };
                let _ = writeln!(out, "{first}{}\n\n```{language}", letters.as_str());
                continue;
            }
        }
        if is_notation && fence.is_none() {
            let _ = writeln!(out, "{}", example::readable(line));
        } else {
            let _ = writeln!(out, "{line}");
        }
    }
    if !rule.thresholds.is_empty() {
        let _ = writeln!(
            out,
            "\n## Thresholds\n\nSet them under `[rules.{}]` in `docward.toml`.\n\n| key | default | unit | source | |\n|---|---|---|---|---|",
            rule.code
        );
        for t in rule.thresholds {
            let default = default_text(t.default);
            let _ = writeln!(
                out,
                "| `{}` | {default} | {} | {} | {} |",
                t.key, t.unit, t.source, t.help
            );
        }
    }
    if !rule.data.is_empty() {
        let keys: Vec<String> = rule.data.iter().map(|key| format!("`{key}`")).collect();
        let _ =
            writeln!(out, "\n## In JSON\n\n`data` of its findings may have: {}.", keys.join(", "));
    }
    out
}

pub(crate) fn default_text(value: ThresholdValue) -> String {
    match value {
        ThresholdValue::Int(n) => n.to_string(),
        ThresholdValue::Float(n) => n.to_string(),
        ThresholdValue::Flag(b) => b.to_string(),
        ThresholdValue::Text(text) => format!("`{text}`"),
        ThresholdValue::Words(words) if words.len() > 12 => format!("{} words", words.len()),
        ThresholdValue::Words(words) => words.join(" "),
    }
}

fn index(rules: &[&RuleMeta]) -> String {
    let mut out = String::from(
        "<!-- Generated by `cargo xtask docs` from the rules' files. -->\n# Rules\n\nEvery example on these pages is executed as a test.\n",
    );
    for (family, title) in FAMILIES {
        let of: Vec<_> = rules.iter().filter(|r| r.code.starts_with(family)).collect();
        if of.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "\n## {family}: {title}\n\n| rule | name | severity | |\n|---|---|---|---|"
        );
        for rule in of {
            let _ = writeln!(
                out,
                "| [{}]({}.md) | {} | {} | {} |",
                rule.code,
                rule.code,
                rule.name,
                rule.severity_text(),
                rule.title()
            );
        }
    }
    out
}
