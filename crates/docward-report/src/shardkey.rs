//! Shard keys, on the terminal and as JSON.

use std::fmt::Write;

use docward_model::{
    KeyReport, KeyVerdict, Problem, Verdict, key_text,
    text::{count, percent},
};
use serde_json::{Map, Value, json};

use crate::text::{Paint, wrap};

/// Keys of each collection: what was asked about, then what is proposed.
pub fn shard_keys(
    reports: &[KeyReport],
    problems: &[Problem],
    color: bool,
    width: usize,
) -> String {
    let paint = Paint { color };
    let mut out = String::new();
    for report in reports {
        let _ = writeln!(
            out,
            "{}  {} documents, {} drawn at random, {} shards{}",
            paint.bold(&report.namespace.to_string()),
            count(report.documents),
            count(report.sampled),
            report.shards,
            report.reads.map_or(String::new(), |n| format!(", {} reads", count(n)))
        );
        for verdict in &report.judged {
            let word = if verdict.good { paint.green("good") } else { paint.red("BAD ") };
            let _ = writeln!(out, "\n  {word} {}", paint.bold(&key_text(&verdict.fields)));
            checks(&mut out, verdict, paint, width);
        }
        if !report.proposals.is_empty() {
            let _ = writeln!(out, "\n  {}", paint.bold("proposed, best first"));
            for (at, verdict) in report.proposals.iter().enumerate() {
                let _ = writeln!(out, "  {}. {}", at + 1, paint.bold(&key_text(&verdict.fields)));
                let _ = writeln!(out, "     {}", wrap(&figures(verdict), width, 5, 5));
            }
            let best = &report.proposals[0];
            let _ = writeln!(out, "     {}", wrap(&best.change, width, 5, 5));
            if let Some(command) = &best.command {
                let _ = writeln!(out, "     {}", paint.dim(command));
            }
        }
        if let Some(why) = &report.nothing {
            let _ =
                writeln!(out, "\n  {}", wrap(&format!("nothing to propose: {why}"), width, 2, 2));
        }
        out.push('\n');
    }
    for problem in problems {
        let line = format!("{}: {}", problem.source, problem.message);
        let _ = writeln!(out, "{} {}", paint.yellow("problem"), wrap(&line, width, 8, 2));
    }
    out
}

fn checks(out: &mut String, verdict: &KeyVerdict, paint: Paint, width: usize) {
    for check in &verdict.checks {
        let word = match check.verdict {
            Verdict::Pass => paint.green("pass   "),
            Verdict::Fail => paint.red("FAIL   "),
            Verdict::Unknown => paint.yellow("unknown"),
        };
        let _ = writeln!(
            out,
            "    {word} {:<5} {}",
            check.clause,
            wrap(&check.evidence, width, 18, 18)
        );
    }
    let _ = writeln!(out, "    {}", wrap(&figures(verdict), width, 4, 4));
}

/// The figures keys are compared by, in one line.
fn figures(verdict: &KeyVerdict) -> String {
    let mut parts = Vec::new();
    if let Some(share) = verdict.targeted {
        parts.push(format!("{} of reads targeted", percent(share)));
    }
    let about = if verdict.exact { "" } else { "about " };
    parts.push(format!("{about}{} values", count(verdict.values.round() as u64)));
    parts.push(format!("most frequent {}", percent(verdict.top_share)));
    parts.push(format!("fullest shard {}", percent(verdict.fullest_shard)));
    if let Some(share) = verdict.newest_share {
        parts.push(format!("newest in one chunk {}", percent(share)));
    }
    parts.join(" · ")
}

/// The same as JSON, version 1.
pub fn shard_keys_json(reports: &[KeyReport], problems: &[Problem]) -> String {
    let reports: Vec<Value> = reports
        .iter()
        .map(|report| {
            json!({
                "namespace": report.namespace.to_string(),
                "documents": report.documents,
                "sampled": report.sampled,
                "shards": report.shards,
                "reads": report.reads,
                "keys": report.judged.iter().map(verdict_json).collect::<Vec<_>>(),
                "proposals": report.proposals.iter().map(verdict_json).collect::<Vec<_>>(),
                "nothing": report.nothing,
            })
        })
        .collect();
    let problems: Vec<Value> =
        problems.iter().map(|p| json!({"source": p.source, "message": p.message})).collect();
    let root = json!({"version": 1, "collections": reports, "problems": problems});
    let mut out = serde_json::to_string_pretty(&root).unwrap_or_default();
    out.push('\n');
    out
}

fn verdict_json(verdict: &KeyVerdict) -> Value {
    let round = |n: f64| (n * 1e6).round() / 1e6;
    let key: Map<String, Value> = verdict
        .fields
        .iter()
        .map(|(path, hashed)| (path.clone(), if *hashed { json!("hashed") } else { json!(1) }))
        .collect();
    json!({
        "key": key,
        "good": verdict.good,
        "values": verdict.values.round() as u64,
        "exact": verdict.exact,
        "topShare": round(verdict.top_share),
        "fullestShard": round(verdict.fullest_shard),
        "newestInOneChunk": verdict.newest_share.map(round),
        "targeted": verdict.targeted.map(round),
        "hashedRanges": verdict.hashed_ranges.map(round),
        "checks": verdict.checks.iter().map(|c| json!({
            "clause": c.clause, "verdict": c.verdict.name(), "evidence": c.evidence,
        })).collect::<Vec<_>>(),
        "change": verdict.change,
        "command": verdict.command,
    })
}
