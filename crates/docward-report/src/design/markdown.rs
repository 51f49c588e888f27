//! A design for a pull request or a page of documentation.

use std::fmt::Write;

use docward_design::{Design, Verdict};

use super::{costs, crossings, keys, patterns, rows};
use crate::connect::cell;

pub(super) fn markdown(design: &Design) -> String {
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
            decision.relationship
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
        let crossings = crossings(decision);
        if !crossings.is_empty() {
            let _ =
                writeln!(out, "\nEmbedded, a parent at p99 would cross {}.", crossings.join(", "));
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
    let _ = writeln!(out, "\n| collection | indexes | shard key |\n|---|---|---|");
    for collection in &design.collections {
        let indexes: Vec<String> =
            collection.indexes.iter().map(|index| format!("`{}`", keys(&index.keys))).collect();
        let shard =
            collection.shard.as_ref().map(|s| format!("`{}`", s.key.text())).unwrap_or_default();
        let _ = writeln!(
            out,
            "| `{}` ({}) | {} | {shard} |",
            collection.name,
            collection.purpose.name(),
            indexes.join(" ")
        );
    }
    let _ = writeln!(out, "\n| check | verdict | because |\n|---|---|---|");
    for check in &design.checks {
        let word = match check.holds {
            Some(true) => "pass",
            Some(false) => "**fail**",
            None => "unknown",
        };
        let _ = writeln!(out, "| {} | {word} | {} |", check.id, cell(&check.because));
    }
    let questions = design.questions();
    if !questions.is_empty() {
        out.push_str("\nTo be answered:\n\n");
        for question in questions {
            let _ = writeln!(out, "- {} {}", cell(&question.ask), cell(&question.write));
        }
    }
    out
}
