//! Formats a design for a pull request or a page of documentation.

use std::fmt::Write;

use docward_design::{Design, EntityAdvice, Pools, Verdict};
use docward_model::text;

use super::{costs, crossings, keys, patterns, pool_notes, rows};
use crate::markdown::{cell, escaped};

pub(crate) fn markdown(design: &Design, pools: &Pools) -> String {
    let mut out = format!(
        "## {}\n\n| relationship | verdict | decided by | becomes |\n|---|---|---|---|\n",
        cell(&design.name)
    );
    for decision in &design.decisions {
        let by = match decision.verdict {
            Verdict::Undecided => "questions are open".to_owned(),
            _ => format!(
                "{} ({})",
                cell(&decision.ruling.how),
                decision.ruling.decided_by.join(", ")
            ),
        };
        let _ = writeln!(
            out,
            "| `{}` | **{}** | {by} | {} |",
            decision.relationship,
            decision.verdict.name(),
            cell(&patterns(&decision.patterns).join("; "))
        );
    }
    for decision in design.decisions.iter().filter(|d| d.verdict != Verdict::Undecided) {
        let _ = writeln!(
            out,
            "\n<details><summary><code>{}</code>: rows and costs</summary>\n",
            escaped(&decision.relationship)
        );
        let _ = writeln!(out, "| vote | rows | because |\n|---|---|---|");
        for (vote, clauses, because) in rows(decision) {
            let _ = writeln!(out, "| {} | {clauses} | {} |", vote.name(), cell(because));
        }
        let turns: Vec<&str> = decision.turns.iter().map(|turn| turn.when.as_str()).collect();
        if !turns.is_empty() {
            let other = decision.ruling.choice.other().name();
            let _ = writeln!(out, "\n{other} if {}.", cell(&turns.join("; or ")));
        }
        if let Some(crossings) = crossings(decision) {
            let _ = writeln!(out, "\n{crossings}.");
        }
        for (i, row) in costs(decision).iter().enumerate() {
            let row: Vec<String> = row.iter().map(|c| cell(c)).collect();
            let _ = writeln!(out, "{}| {} |", if i == 0 { "\n" } else { "" }, row.join(" | "));
            if i == 0 {
                let _ = writeln!(out, "|{}", "---|".repeat(row.len()));
            }
        }
        out.push_str("\n</details>\n");
    }
    let advised = || {
        let patterns =
            |advice: &EntityAdvice| !advice.patterns.is_empty() || !advice.remarks.is_empty();
        design.entities.iter().filter(move |advice| patterns(advice))
    };
    if advised().next().is_some() {
        let _ = writeln!(out, "\n| entity | becomes | notes |\n|---|---|---|");
    }
    for advice in advised() {
        let _ = writeln!(
            out,
            "| `{}` | {} | {} |",
            advice.entity,
            cell(&patterns(&advice.patterns).join("; ")),
            cell(&advice.remarks.join("; "))
        );
    }
    let _ = writeln!(
        out,
        "\n| collection | indexes | shard key | document p50 / p99 / max | data in 5 years |\n|---|---|---|---|---|"
    );
    for (collection, size) in design.collections.iter().zip(&design.capacity) {
        let indexes: Vec<String> =
            collection.indexes.iter().map(|index| format!("`{}`", keys(index))).collect();
        let shard =
            collection.shard.as_ref().map(|s| format!("`{}`", s.key.text())).unwrap_or_default();
        let (p50, p99, max) = size.document;
        let later = size.years.last().and_then(|(_, amount)| *amount);
        let _ = writeln!(
            out,
            "| `{}` ({}) | {} | {shard} | {} / {} / {} | {} |",
            collection.name,
            collection.purpose.name(),
            indexes.join(" "),
            text::bytes(p50),
            text::bytes(p99),
            text::bytes(max),
            later.map(|(_, bytes)| text::bytes(bytes)).unwrap_or_default()
        );
    }
    let _ = writeln!(out, "\n| check | verdict | because |\n|---|---|---|");
    for check in &design.checks {
        let word = match check.holds {
            Some(true) => "pass",
            Some(false) => "**fail**",
            None => "unknown",
        };
        let _ = writeln!(out, "| {} | {word} | {} |", check.id.name(), cell(&check.because));
    }
    out.push_str(&clients(pools));
    let questions = design.questions();
    if !questions.is_empty() {
        out.push_str("\nOpen questions:\n\n");
        for question in questions {
            let _ = writeln!(out, "- {} {}", cell(&question.ask), cell(&question.write));
        }
    }
    out
}

/// The options of the clients, or the missing declarations for them.
fn clients(pools: &Pools) -> String {
    let mut out = String::new();
    match pools {
        Pools::Planned(plan) => {
            let _ = writeln!(out, "\n| option of every client | value | by |\n|---|---|---|");
            for (name, value, clause) in plan.options() {
                let _ = writeln!(out, "| `{name}` | {value} | {clause} |");
            }
            out.push('\n');
            for note in pool_notes(plan) {
                let _ = writeln!(out, "- {}", cell(&note));
            }
        }
        Pools::Open(question) => {
            let (ask, write) = (cell(&question.ask), cell(&question.write));
            let _ = writeln!(out, "\nConnection pools: {ask} {write}.");
        }
    }
    out
}
