//! Shard keys, on the terminal and as JSON.

use std::fmt::Write;

use docward_model::{
    KeyReport, KeyVerdict, Problem, Verdict, key_text,
    text::{count, percent, plural},
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
            "{}  {}{}, {} compared, {} shards{}",
            paint.bold(&report.namespace.to_string()),
            plural(report.documents, "document"),
            if report.read < report.documents {
                format!(", {} read", count(report.read))
            } else {
                String::new()
            },
            count(report.sampled),
            report.shards,
            report.reads.map_or(String::new(), |n| format!(", {}", plural(n, "read")))
        );
        for verdict in &report.judged {
            let word = match verdict.verdict {
                Verdict::Pass => paint.green("good"),
                Verdict::Fail => paint.red("BAD "),
                Verdict::Unknown => paint.yellow("open"),
            };
            let _ = writeln!(out, "\n  {word} {}", paint.bold(&key_text(&verdict.fields)));
            checks(&mut out, verdict, paint, width);
            if verdict.verdict != Verdict::Fail {
                change(&mut out, verdict, paint, width);
            }
        }
        if !report.proposals.is_empty() {
            let _ = writeln!(out, "\n  {}", paint.bold("proposed, best first"));
            for (at, verdict) in report.proposals.iter().enumerate() {
                let _ = writeln!(out, "  {}. {}", at + 1, paint.bold(&key_text(&verdict.fields)));
                let _ = writeln!(out, "     {}", wrap(&figures(verdict), width, 5, 5));
            }
            change(&mut out, &report.proposals[0], paint, width);
        }
        if !report.zones.is_empty() {
            let _ = writeln!(out, "\n  {}", paint.bold("zones, for the first of them"));
            for command in &report.zones {
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
    for refusal in &verdict.refusals {
        let word = paint.red("REFUSED");
        let _ = writeln!(out, "    {word} {}", wrap(refusal, width, 12, 12));
    }
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
    let figures = figures(verdict);
    if !figures.is_empty() {
        let _ = writeln!(out, "    {}", wrap(&figures, width, 4, 4));
    }
}

/// How to get to a key.
fn change(out: &mut String, verdict: &KeyVerdict, paint: Paint, width: usize) {
    let _ = writeln!(out, "     {}", wrap(&verdict.change, width, 5, 5));
    for command in &verdict.commands {
        let _ = writeln!(out, "     {}", paint.dim(command));
    }
}

/// The figures keys are compared by, in one line.
fn figures(verdict: &KeyVerdict) -> String {
    let mut parts = Vec::new();
    if let Some(share) = verdict.targeted {
        parts.push(format!("{} of reads targeted", percent(share)));
    }
    if let Some(spread) = &verdict.spread {
        let about = if spread.exact { "" } else { "about " };
        parts.push(format!("{about}{}", plural(spread.values.round() as u64, "value")));
        parts.push(format!("most frequent {}", percent(spread.top_share)));
        parts.push(format!("fullest shard {}", percent(spread.fullest_shard)));
        if let Some(share) = spread.newest_share {
            parts.push(format!("newest in one chunk {}", percent(share)));
        }
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
                "read": report.read,
                "sampled": report.sampled,
                "shards": report.shards,
                "reads": report.reads,
                "keys": report.judged.iter().map(verdict_json).collect::<Vec<_>>(),
                "proposals": report.proposals.iter().map(verdict_json).collect::<Vec<_>>(),
                "nothing": report.nothing,
                "zones": report.zones,
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
    let spread = verdict.spread;
    let key: Map<String, Value> = verdict
        .fields
        .iter()
        .map(|(path, hashed)| (path.clone(), if *hashed { json!("hashed") } else { json!(1) }))
        .collect();
    json!({
        "key": key,
        "verdict": verdict.verdict.name(),
        "good": verdict.verdict == Verdict::Pass,
        "refusals": verdict.refusals,
        "values": spread.map(|s| s.values.round() as u64),
        "exact": spread.map(|s| s.exact),
        "topShare": spread.map(|s| round(s.top_share)),
        "fullestShard": spread.map(|s| round(s.fullest_shard)),
        "newestInOneChunk": spread.and_then(|s| s.newest_share).map(round),
        "targeted": verdict.targeted.map(round),
        "hashedRanges": verdict.hashed_ranges.map(round),
        "checks": verdict.checks.iter().map(|c| json!({
            "clause": c.clause, "verdict": c.verdict.name(), "evidence": c.evidence,
        })).collect::<Vec<_>>(),
        "change": verdict.change,
        "commands": verdict.commands,
    })
}
