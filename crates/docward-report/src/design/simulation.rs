//! Formats the measurements of `design simulate`, next to the predictions.

use std::fmt::Write;

use docward_design::measured::{
    Compared, MeasuredOperation, MeasuredWay, Simulated, SimulatedSeries, Simulation, ranking,
};
use docward_model::text;
use serde_json::{Value, json};

use super::{number, rate};
use crate::markdown::cell;
use crate::table::table;
use crate::text::{Paint, wrap};
use crate::{Format, Look};

/// A simulation as text: JSON, Markdown, or text for a terminal.
pub fn simulation_report(simulation: &Simulation, format: Format, look: Look) -> String {
    match format {
        Format::Json => json_report(simulation),
        Format::Markdown => markdown(simulation),
        _ => terminal(simulation, look),
    }
}

/// The error of a prediction: `+12 %` means that it is too high.
fn error(compared: Compared) -> String {
    match compared.error() {
        None => "nothing measured".to_owned(),
        Some(share) if share.abs() < 0.000_5 => "exact".to_owned(),
        Some(share) if share.abs() < 0.1 => format!("{:+.1} %", share * 100.0),
        Some(share) => format!("{:+.0} %", share * 100.0),
    }
}

fn bytes(value: f64) -> String {
    text::bytes(value.round() as u64)
}

fn micros(value: u64) -> String {
    if value >= 10_000 { format!("{:.1} ms", value as f64 / 1e3) } else { format!("{value} µs") }
}

const HEADING: [&str; 12] = [
    "way",
    "operation",
    "rate",
    "runs",
    "docs pred.",
    "docs meas.",
    "error",
    "bytes pred.",
    "bytes meas.",
    "error",
    "p50",
    "p95",
];

fn operation_row(way: &MeasuredWay, op: &MeasuredOperation) -> Vec<String> {
    let name = if op.transaction { format!("{} (transaction)", op.name) } else { op.name.clone() };
    vec![
        way.name.to_owned(),
        name,
        rate(op.per_second),
        text::count(op.runs),
        number(op.documents.predicted),
        number(op.documents.measured),
        error(op.documents),
        bytes(op.bytes.predicted),
        bytes(op.bytes.measured),
        error(op.bytes),
        micros(op.p50_micros),
        micros(op.p95_micros),
    ]
}

/// Operations side by side: all alternatives of one operation together.
fn operation_rows(ways: &[MeasuredWay]) -> Vec<Vec<String>> {
    let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
    let operations = ways.first().map_or(0, |way| way.operations.len());
    for i in 0..operations {
        let ways = ways.iter();
        rows.extend(ways.filter_map(|way| Some(operation_row(way, way.operations.get(i)?))));
    }
    rows
}

/// Sizes side by side.
fn size_rows(ways: &[MeasuredWay]) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["size".to_owned()]];
    rows[0].extend(ways.iter().map(|way| way.name.to_owned()));
    let mut line = |label: &str, of: &dyn Fn(&MeasuredWay) -> String| {
        let mut row = vec![label.to_owned()];
        row.extend(ways.iter().map(of));
        rows.push(row);
    };
    let shown = |compared: Compared| {
        if compared.predicted == 0.0 && compared.measured == 0.0 {
            return "none".to_owned();
        }
        format!(
            "{} pred., {} meas. ({})",
            bytes(compared.predicted),
            bytes(compared.measured),
            error(compared)
        )
    };
    line("documents", &|way| {
        let Compared { predicted, measured } = way.documents;
        if predicted == measured {
            return text::count(measured as u64);
        }
        format!(
            "{} pred., {} meas. ({})",
            text::count(predicted as u64),
            text::count(measured as u64),
            error(way.documents)
        )
    });
    if ways.iter().any(|way| way.parent.is_some()) {
        for (i, label) in ["parent p50", "parent p99", "largest parent"].iter().enumerate() {
            line(label, &|way| way.parent.map_or_else(String::new, |parent| shown(parent[i])));
        }
    }
    line("all documents", &|way| shown(way.data));
    line("index for it", &|way| shown(way.index));
    line("on disk, documents + indexes", &|way| {
        format!("{} + {}", text::bytes(way.on_disk), text::bytes(way.all_indexes))
    });
    rows
}

/// Times whose relative difference is below this are considered equal.
const TIE: f64 = 0.05;

/// Says whether the chosen alternative won.
fn verdict(ways: &[MeasuredWay]) -> String {
    let ranking = ranking(ways);
    let Some((best, _)) = ranking.first() else { return String::new() };
    let times: Vec<String> = ranking
        .iter()
        .map(|(way, ratio)| {
            let busy = way.busy() * 1e3;
            let times = if *ratio >= 1.05 { format!(", {ratio:.1} times") } else { String::new() };
            format!("{} {} ms{times}", way.name, number(busy))
        })
        .collect();
    let times = times.join("; ");
    let Some((chosen, ratio)) = ranking.iter().find(|(way, _)| way.chosen) else {
        return format!(
            "none of these alternatives is the design. One second of the declared load takes \
             {times}"
        );
    };
    let name = chosen.name;
    let second = ranking.iter().find(|(way, _)| !way.chosen);
    let verdict = match second {
        None => format!("{name} is the only alternative"),
        // Two runs of the same alternative differ by more than this.
        Some((other, second)) if (ratio / second - 1.0).abs() < TIE => {
            format!("the chosen alternative, {name}, and {} are equally fast here", other.name)
        }
        Some((other, second)) if best.chosen => format!(
            "the chosen alternative, {name}, is the fastest: {} takes {second:.1} times as long",
            other.name
        ),
        Some(_) => format!(
            "the chosen alternative, {name}, is not the fastest here: it takes {ratio:.1} times \
             as long as {}",
            best.name
        ),
    };
    format!("{verdict}. One second of the declared load takes {times}")
}

/// Notes on one relationship.
fn notes(simulated: &Simulated) -> Vec<String> {
    let mut notes = Vec::new();
    for way in simulated.ways.iter().filter(|way| way.cut > 0) {
        notes.push(format!(
            "{}: {} would be larger than 16 MB, and have as many children as fit",
            way.name,
            text::plural(way.cut, "parent")
        ));
    }
    notes.extend(simulated.notes.iter().cloned());
    notes.extend(left_out(&simulated.left_out, "it begins with another entity"));
    notes
}

fn left_out(names: &[String], why: &str) -> Option<String> {
    let names = text::list(names, 5);
    (!names.is_empty()).then(|| format!("not replayed, because {why}: {names}"))
}

fn series_notes(simulated: &SimulatedSeries) -> Vec<String> {
    let why = "it concerns more than one series, or deletes readings";
    simulated.notes.iter().cloned().chain(left_out(&simulated.left_out, why)).collect()
}

fn readings(simulated: &SimulatedSeries) -> String {
    format!(
        "{} of {} each, one every {} s; a bucket contains {}",
        text::verb(simulated.series, "series", "series"),
        text::plural(simulated.readings, "reading"),
        number(simulated.step),
        text::count(simulated.bucket)
    )
}

fn children(simulated: &Simulated) -> String {
    let spread = simulated.children;
    let of = match simulated.different {
        Some(different) => format!(" of {} different ones", text::count(different)),
        None => String::new(),
    };
    format!(
        "{} children{of}; a parent has {} / {} / {} / {} (p50 / p95 / p99 / max)",
        text::count(simulated.all_children),
        text::count(spread.p50),
        text::count(spread.p95),
        text::count(spread.p99),
        text::count(spread.max)
    )
}

fn about(simulation: &Simulation) -> String {
    format!(
        "{} on {} (MongoDB {}, {}): {} and {} for each alternative, seed {}",
        simulation.model,
        simulation.server,
        simulation.version,
        simulation.topology,
        text::plural(simulation.parents, "parent"),
        text::plural(simulation.operations, "operation"),
        simulation.seed
    )
}

fn left(simulation: &Simulation) -> String {
    if simulation.kept {
        format!("the scratch database {} was kept; drop it by hand", simulation.database)
    } else {
        format!("the scratch database {} was dropped", simulation.database)
    }
}

fn terminal(simulation: &Simulation, look: Look) -> String {
    let paint = Paint { color: look.color };
    let mut out = format!("{}\n", paint.bold(&about(simulation)));
    let mut part = |name: &str, verdict_word: &str, about: &str, notes: Vec<String>, ways| {
        let (name, word) = (paint.bold(name), paint.green(&verdict_word.to_uppercase()));
        let _ = writeln!(out, "\n{name}  {word}  {}", paint.dim(about));
        let _ = writeln!(out, "  {}", wrap(&verdict(ways), look.width, 2, 4));
        for note in notes {
            let _ = writeln!(out, "  {}", wrap(&format!("· {note}"), look.width, 2, 4));
        }
        out.push('\n');
        out.push_str(&table(&operation_rows(ways), &[0, 1], 4));
        out.push('\n');
        out.push_str(&table(&size_rows(ways), &[0, 1, 2, 3, 4], 4));
    };
    for each in &simulation.relationships {
        part(&each.relationship, each.verdict, &children(each), notes(each), &each.ways);
    }
    for each in &simulation.series {
        part(&each.entity, each.verdict, &readings(each), series_notes(each), &each.ways);
    }
    if !simulation.skipped.is_empty() {
        let _ = writeln!(out, "\n{}", paint.yellow("not simulated"));
        for (name, why) in &simulation.skipped {
            let _ = writeln!(out, "  {}", wrap(&format!("{name}: {why}"), look.width, 2, 4));
        }
    }
    out.push('\n');
    for note in &simulation.notes {
        let _ = writeln!(out, "{}", wrap(note, look.width, 0, 2));
    }
    let _ = writeln!(out, "{}", paint.dim(&left(simulation)));
    out
}

fn markdown(simulation: &Simulation) -> String {
    let mut out = format!("## Simulation of {}\n", cell(&simulation.model));
    let _ = writeln!(out, "\n{}.", cell(&about(simulation)));
    let grid = |rows: Vec<Vec<String>>| {
        let mut out = String::new();
        for (i, row) in rows.iter().enumerate() {
            let row: Vec<String> = row.iter().map(|text| cell(text)).collect();
            let _ = writeln!(out, "| {} |", row.join(" | "));
            if i == 0 {
                let _ = writeln!(out, "|{}", "---|".repeat(row.len()));
            }
        }
        out
    };
    let mut part = |name: &str, word: &str, about: &str, notes: Vec<String>, ways| {
        let _ = writeln!(out, "\n### `{name}`: {word}\n");
        let _ = writeln!(out, "{}.\n", cell(about));
        let _ = writeln!(out, "{}.\n", cell(&verdict(ways)));
        for note in notes {
            let _ = writeln!(out, "- {}", cell(&note));
        }
        let _ = writeln!(out, "\n{}", grid(operation_rows(ways)));
        out.push_str(&grid(size_rows(ways)));
    };
    for each in &simulation.relationships {
        part(&each.relationship, each.verdict, &children(each), notes(each), &each.ways);
    }
    for each in &simulation.series {
        part(&each.entity, each.verdict, &readings(each), series_notes(each), &each.ways);
    }
    if !simulation.skipped.is_empty() {
        out.push_str("\nNot simulated:\n\n");
        for (name, why) in &simulation.skipped {
            let _ = writeln!(out, "- `{name}`: {}", cell(why));
        }
    }
    out.push('\n');
    for note in &simulation.notes {
        let _ = writeln!(out, "- {}", cell(note));
    }
    let _ = writeln!(out, "- {}", cell(&left(simulation)));
    out
}

fn json_report(simulation: &Simulation) -> String {
    let value = json!({
        "version": 1,
        "model": simulation.model,
        "server": simulation.server,
        "serverVersion": simulation.version,
        "topology": simulation.topology,
        "database": simulation.database,
        "kept": simulation.kept,
        "parents": simulation.parents,
        "operations": simulation.operations,
        "seed": simulation.seed,
        "relationships": simulation.relationships.iter().map(relationship).collect::<Vec<_>>(),
        "series": simulation.series.iter().map(series).collect::<Vec<_>>(),
        "skipped": simulation.skipped.iter().map(|(name, why)| json!({ "relationship": name, "why": why })).collect::<Vec<_>>(),
        "notes": simulation.notes,
    });
    format!("{value:#}\n")
}

fn compared(figure: Compared) -> Value {
    json!({ "predicted": figure.predicted, "measured": figure.measured, "error": figure.error() })
}

fn ranked(ways: &[MeasuredWay]) -> Value {
    let each = ranking(ways);
    each.iter().map(|(way, ratio)| json!({ "way": way.name, "times": ratio })).collect()
}

/// Whether the chosen alternative was the fastest. `None` if none of them is the design.
fn is_fastest(ways: &[MeasuredWay]) -> Option<bool> {
    ways.iter().find(|way| way.chosen)?;
    ranking(ways).first().map(|(way, _)| way.chosen)
}

fn relationship(simulated: &Simulated) -> Value {
    let spread = simulated.children;
    json!({
        "relationship": simulated.relationship,
        "verdict": simulated.verdict,
        "children": { "p50": spread.p50, "p95": spread.p95, "p99": spread.p99, "max": spread.max },
        "allChildren": simulated.all_children,
        "differentChildren": simulated.different,
        "chosenIsFastest": is_fastest(&simulated.ways),
        "ranking": ranked(&simulated.ways),
        "ways": simulated.ways.iter().map(way).collect::<Vec<_>>(),
        "notReplayed": simulated.left_out,
        "notes": notes(simulated),
    })
}

fn series(simulated: &SimulatedSeries) -> Value {
    json!({
        "entity": simulated.entity,
        "verdict": simulated.verdict,
        "series": simulated.series,
        "readings": simulated.readings,
        "secondsBetween": simulated.step,
        "bucketReadings": simulated.bucket,
        "chosenIsFastest": is_fastest(&simulated.ways),
        "ranking": ranked(&simulated.ways),
        "ways": simulated.ways.iter().map(way).collect::<Vec<_>>(),
        "notReplayed": simulated.left_out,
        "notes": series_notes(simulated),
    })
}

fn way(way: &MeasuredWay) -> Value {
    let parent = way.parent.map(|[p50, p99, max]| {
        json!({ "p50": compared(p50), "p99": compared(p99), "max": compared(max) })
    });
    json!({
        "way": way.name,
        "chosen": way.chosen,
        "secondsPerSecond": way.busy(),
        "operations": way.operations.iter().map(operation).collect::<Vec<_>>(),
        "documents": compared(way.documents),
        "parentBytes": parent,
        "dataBytes": compared(way.data),
        "indexBytes": compared(way.index),
        "storageBytes": way.on_disk,
        "allIndexBytes": way.all_indexes,
        "parentsCut": way.cut,
        "transactions": way.transactions,
    })
}

fn operation(op: &MeasuredOperation) -> Value {
    json!({
        "name": op.name,
        "writes": op.writes,
        "perSecond": op.per_second,
        "runs": op.runs,
        "documents": compared(op.documents),
        "bytes": compared(op.bytes),
        "meanMicros": op.mean_micros,
        "p50Micros": op.p50_micros,
        "p95Micros": op.p95_micros,
        "transaction": op.transaction,
    })
}
