//! `docward explain`: prints the page of a rule with the current thresholds, or the meaning of
//! another id.

use std::fmt::Write;

use anyhow::bail;
use docward_report::{Format, wrap};

use crate::{
    args::ExplainArgs,
    config, example,
    ids::{self, Found},
    rules::{default_text, page},
    terminal::terminal_width,
    terminal::{CLEAN, put},
};

/// Prints the checks of a rule, their reason, and the fix of its findings. For another id, prints
/// its meaning.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<u8> {
    let rule = match docward_rules::find(&args.rule) {
        Ok(rule) => &rule.meta,
        Err(near) => {
            put(&explain_id(args, &near)?, None)?;
            return Ok(CLEAN);
        }
    };
    let text = match args.format {
        Format::Markdown => page(rule),
        Format::Json => docward_report::rules_json(&[rule], &config::site()),
        _ => {
            let config = config::load(args.config.as_deref(), &[], true)?;
            let mut out = format!(
                "{} {}   {} · {} · {}\n\n",
                rule.code,
                rule.name,
                rule.severity_text(),
                rule.maturity.name(),
                rule.clauses.join(" "),
            );
            terminal_page(rule.doc, &mut out);
            if !rule.thresholds.is_empty() {
                out.push_str("\nThresholds\n");
            }
            for threshold in rule.thresholds {
                let _ = write!(
                    out,
                    "  {} = {} {}",
                    threshold.key,
                    default_text(threshold.default).trim_matches('`'),
                    threshold.unit
                );
                if let Some(origin) = config.origin(rule.code, threshold.key, None) {
                    let _ = write!(out, "  (yours: {}:{})", origin.file, origin.line);
                }
                let _ = writeln!(out, "\n      {}; source: {}", threshold.help, threshold.source);
            }
            if let Some(page) = config::site().rule(rule.code) {
                let _ = writeln!(out, "\nMore: {page}");
            }
            out
        }
    };
    put(&text, None)?;
    Ok(CLEAN)
}

/// Explains an id that is not a rule. `rules` are rules with a similar spelling.
fn explain_id(args: &ExplainArgs, rules: &[&str]) -> anyhow::Result<String> {
    let id = &args.rule;
    let entries = match ids::find(id)? {
        Found::One(entry) => vec![entry],
        Found::Group(entries) => match args.format {
            Format::Json | Format::Markdown => entries,
            _ => return Ok(ids::list(&entries, terminal_width())),
        },
        Found::Nothing(near) => {
            // An argument with the form of an id is not a misspelt rule.
            let mut near = near;
            if !ids::is_id(id) {
                near.extend(rules.iter().map(|rule| (*rule).to_owned()));
            }
            let hint = match near.as_slice() {
                [] => "`docward rules` lists the rules".to_owned(),
                near => format!("did you mean `{}`?", near.join("` or `")),
            };
            bail!("no rule or id is called `{id}`; {hint}");
        }
    };
    Ok(match args.format {
        Format::Markdown => {
            let pages: Vec<String> = entries.iter().map(ids::Entry::markdown).collect();
            pages.join("\n")
        }
        Format::Json => {
            let list: Vec<serde_json::Value> = entries.iter().map(ids::Entry::json).collect();
            format!("{}\n", serde_json::to_string_pretty(&list).unwrap_or_default())
        }
        _ => entries.iter().map(|entry| entry.terminal(terminal_width())).collect(),
    })
}

/// Wraps headings and paragraphs to the width of the terminal, and keeps fences as they are.
fn terminal_page(doc: &str, out: &mut String) {
    let width = terminal_width();
    let mut paragraph = String::new();
    let (mut fenced, mut is_notation) = (false, false);
    let flush = |paragraph: &mut String, out: &mut String| {
        if !paragraph.is_empty() {
            let _ = writeln!(out, "  {}", wrap(paragraph, width, 2, 2));
            paragraph.clear();
        }
    };
    let mut table: Vec<Vec<String>> = Vec::new();
    for line in doc.lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if !fenced && line.starts_with('|') {
            flush(&mut paragraph, out);
            table.push(cells(line));
            continue;
        }
        put_table(&mut table, out);
        if let Some(info) = line.strip_prefix("```") {
            flush(&mut paragraph, out);
            fenced = !fenced;
            is_notation = example::is_notation(info);
            if let Some(label) = example::label(info) {
                let _ = writeln!(out, "    {label}");
            }
        } else if fenced && is_notation {
            let _ = writeln!(out, "      {}", example::readable(line));
        } else if fenced {
            let _ = writeln!(out, "      {line}");
        } else if let Some(heading) = line.strip_prefix("## ") {
            flush(&mut paragraph, out);
            let _ = writeln!(out, "\n{heading}");
        } else if let Some(title) = line.strip_prefix("# ") {
            let _ = writeln!(out, "{title}");
        } else if line.trim().is_empty() {
            flush(&mut paragraph, out);
        } else {
            if line.trim_start().starts_with("- ") {
                flush(&mut paragraph, out);
            }
            paragraph.push_str(line.trim());
            paragraph.push(' ');
        }
    }
    flush(&mut paragraph, out);
    put_table(&mut table, out);
}

/// Returns the cells of a table row.
fn cells(row: &str) -> Vec<String> {
    row.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// Writes a table in columns with an underlined head.
fn put_table(table: &mut Vec<Vec<String>>, out: &mut String) {
    let rows = std::mem::take(table);
    let is_line = |row: &[String]| row.iter().all(|cell| cell.chars().all(|c| "-: ".contains(c)));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        let cells = rows.iter().filter(|row| !is_line(row)).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(widest).collect();
    for (at, row) in rows.iter().enumerate() {
        let cells: Vec<String> = if at == 1 && is_line(row) {
            widths.iter().map(|width| "-".repeat(*width)).collect()
        } else {
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect()
        };
        let _ = writeln!(out, "  {}", cells.join("  ").trim_end());
    }
}
