//! Formats shard keys for the terminal and as JSON.

use std::fmt::Write;

use docward_model::{
    Fullest, KeyMetrics, KeyReport, KeyVerdict, Placement, Problem, Verdict, key_text,
    text::{count, percent, plural},
};
use serde_json::{Map, Value, json};

use crate::text::{Paint, wrap};

const ZONE_VALUES_HIDDEN: &str = "values from documents are not shown; --show-values shows them";

/// Notes that there are too few reads to base a verdict on.
fn unused(report: &KeyReport) -> &'static str {
    let mut verdicts = report.judged.iter().chain(&report.proposals);
    let is_used = verdicts.any(|verdict| verdict.targeted.is_some());
    let has_verdict = !(report.judged.is_empty() && report.proposals.is_empty());
    if has_verdict && !is_used && report.reads > Some(0) { " (too few to judge by)" } else { "" }
}

/// The keys of each collection: the requested ones, then the proposals.
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
            report.reads.map_or(String::new(), |n| format!(
                ", {}{}",
                plural(n, "read"),
                unused(report)
            ))
        );
        for verdict in &report.judged {
            let word = match verdict.verdict {
                Verdict::Pass | Verdict::Warn => paint.green("good"),
                Verdict::Fail => paint.red("BAD "),
                Verdict::Unknown | Verdict::NotApplicable => paint.yellow("open"),
            };
            let _ = writeln!(out, "\n  {word} {}", paint.bold(&key_text(&verdict.fields)));
            checks(&mut out, verdict, paint, width);
            if let Some(placement) = &report.placement
                && placement.fields == verdict.fields
            {
                let _ = writeln!(out, "    {}", wrap(&placed(placement), width, 4, 4));
            }
            if let Some(said) = analysis(verdict) {
                let _ = writeln!(out, "    {}", wrap(&said, width, 4, 4));
            }
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
        if let Some(plan) = &report.zones {
            let _ = writeln!(out, "\n  {}", paint.bold("zones, for the first of them"));
            for command in &plan.commands {
                let _ = writeln!(out, "     {}", paint.dim(command));
            }
            if plan.values_hidden {
                let _ = writeln!(out, "     {}", wrap(ZONE_VALUES_HIDDEN, width, 5, 5));
            }
            if let Some((field, values)) = &plan.too_many {
                let line = format!(
                    "`{field}` has about {} values: choose a few zones, and repeat the second \
                     command for each value or range of values of a zone",
                    count(*values)
                );
                let _ = writeln!(out, "     {}", wrap(&line, width, 5, 5));
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
            Verdict::Warn => paint.yellow("warn   "),
            Verdict::Fail => paint.red("FAIL   "),
            Verdict::Unknown => paint.yellow("unknown"),
            Verdict::NotApplicable => paint.dim("n/a"),
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

/// The placement of documents, by shard.
fn placed(placement: &Placement) -> String {
    let Some((shares, by)) = placement.shares() else {
        return "the collection has this key; the distribution of its chunks could not be \
         read"
            .to_owned();
    };
    let shards: Vec<String> = shares
        .iter()
        .map(|(part, share)| {
            let jumbo = match part.jumbo {
                0 => String::new(),
                n => format!(", {} too large to move", count(n)),
            };
            format!("{} {} ({}{jumbo})", part.shard, percent(*share), plural(part.chunks, "chunk"))
        })
        .collect();
    let of = if by == Fullest::Data { "the data" } else { "the chunks" };
    let mut text = format!("the collection has this key; of {of}: {}", shards.join(" · "));
    if !placement.zones.is_empty() {
        text.push_str(&format!("; zones {}", placement.zones.join(", ")));
    }
    if placement.balanced == Some(false) {
        text.push_str("; the balancer does not move its chunks");
    }
    text
}

/// The server's analysis of the key, next to Docward's figures.
fn analysis(verdict: &KeyVerdict) -> Option<String> {
    let metrics = match verdict.analysis.as_ref()? {
        Ok(metrics) => metrics,
        Err(why) => return Some(format!("the server's analyzeShardKey has no result: {why}")),
    };
    let mut parts = Vec::new();
    if let Some(values) = metrics.values {
        let of =
            metrics.sampled.map_or(String::new(), |n| format!(" in {}", plural(n, "document")));
        parts.push(format!("{}{of}", plural(values, "value")));
    }
    if let Some(share) = most_frequent_share(metrics) {
        parts.push(format!("most frequent {}", percent(share)));
    }
    parts.extend(metrics.monotonicity.clone());
    let mut shares = |kind: &str, sampled: Option<u64>, one: Option<f64>, all: Option<f64>| {
        if let (Some(sampled), Some(one)) = (sampled.filter(|n| *n > 0), one) {
            let all = all.map_or(String::new(), |all| format!(", {} to all", percent(all / 100.0)));
            let of = count(sampled);
            parts
                .push(format!("of {of} sampled {kind} {} to one shard{all}", percent(one / 100.0)));
        }
    };
    shares("reads", metrics.reads, metrics.reads_to_one_shard, metrics.reads_to_all_shards);
    shares("writes", metrics.writes, metrics.writes_to_one_shard, metrics.writes_to_all_shards);
    if parts.is_empty() {
        parts.push("no result; it needs an index that begins with the key".to_owned());
    }
    Some(format!("the server's analyzeShardKey: {}", parts.join(" · ")))
}

fn most_frequent_share(metrics: &KeyMetrics) -> Option<f64> {
    let of = metrics.sampled.or(metrics.documents).filter(|n| *n > 0)?;
    Some(metrics.most_frequent? as f64 / of as f64)
}

/// The change to a key.
fn change(out: &mut String, verdict: &KeyVerdict, paint: Paint, width: usize) {
    let _ = writeln!(out, "     {}", wrap(&verdict.change, width, 5, 5));
    for command in &verdict.commands {
        let _ = writeln!(out, "     {}", paint.dim(command));
    }
}

/// The figures that keys are compared by, on one line.
fn figures(verdict: &KeyVerdict) -> String {
    let mut parts = Vec::new();
    if let Some(share) = verdict.targeted {
        parts.push(format!("{} of reads targeted", percent(share)));
    }
    if let Some(spread) = &verdict.spread {
        let about = if spread.exact { "" } else { "about " };
        parts.push(format!("{about}{}", plural(spread.values.round() as u64, "value")));
        parts.push(format!("most frequent {}", percent(spread.top_share)));
        let measured = match spread.fullest_by {
            Fullest::Simulated => "",
            Fullest::Chunks => " of the current chunks",
            Fullest::Data => " of the current data",
        };
        parts.push(format!("fullest shard {}{measured}", percent(spread.fullest_shard)));
        if let Some(share) = spread.newest_share {
            parts.push(format!("newest in one chunk {}", percent(share)));
        }
    }
    parts.join(" · ")
}

/// Formats shard key reports as JSON, version 1.
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
                "current": report.placement.as_ref().map(placement_json),
                "keys": report.judged.iter().map(verdict_json).collect::<Vec<_>>(),
                "proposals": report.proposals.iter().map(verdict_json).collect::<Vec<_>>(),
                "nothing": report.nothing,
                "zones": report.zones.as_ref().map_or(&[][..], |plan| &plan.commands),
                "zoneValuesHidden": report.zones.as_ref().is_some_and(|plan| plan.values_hidden),
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
    json!({
        "key": key_json(&verdict.fields),
        "verdict": verdict.verdict.name(),
        "good": verdict.verdict == Verdict::Pass,
        "refusals": verdict.refusals,
        "values": spread.map(|s| s.values.round() as u64),
        "exact": spread.map(|s| s.exact),
        "topShare": spread.map(|s| round(s.top_share)),
        "fullestShard": spread.map(|s| round(s.fullest_shard)),
        "fullestBy": spread.map(|s| s.fullest_by.name()),
        "newestInOneChunk": spread.and_then(|s| s.newest_share).map(round),
        "targeted": verdict.targeted.map(round),
        "hashedRanges": verdict.hashed_ranges.map(round),
        "checks": verdict.checks.iter().map(|c| json!({
            "clause": c.clause, "verdict": c.verdict.name(), "evidence": c.evidence,
        })).collect::<Vec<_>>(),
        "analyzeShardKey": verdict.analysis.as_ref().map(analysis_json),
        "change": verdict.change,
        "commands": verdict.commands,
    })
}

fn key_json(fields: &[(String, bool)]) -> Map<String, Value> {
    let kind = |hashed: bool| if hashed { json!("hashed") } else { json!(1) };
    fields.iter().map(|(path, hashed)| (path.clone(), kind(*hashed))).collect()
}

fn placement_json(placement: &Placement) -> Value {
    let parts = placement.parts.as_ref().map(|parts| {
        let part = parts.iter().map(|part| {
            json!({
                "shard": part.shard, "chunks": part.chunks, "jumbo": part.jumbo,
                "bytes": part.data_bytes,
            })
        });
        part.collect::<Vec<_>>()
    });
    json!({
        "key": key_json(&placement.fields),
        "shards": parts,
        "zones": placement.zones,
        "balanced": placement.balanced,
    })
}

fn analysis_json(answer: &Result<KeyMetrics, String>) -> Value {
    match answer {
        Ok(metrics) => json!({
            "documents": metrics.documents,
            "sampled": metrics.sampled,
            "unique": metrics.unique,
            "values": metrics.values,
            "mostFrequent": metrics.most_frequent,
            "monotonicity": metrics.monotonicity,
            "reads": metrics.reads,
            "readsToOneShard": metrics.reads_to_one_shard,
            "readsToAllShards": metrics.reads_to_all_shards,
            "writes": metrics.writes,
            "writesToOneShard": metrics.writes_to_one_shard,
            "writesToAllShards": metrics.writes_to_all_shards,
        }),
        Err(why) => json!({"error": why}),
    }
}
