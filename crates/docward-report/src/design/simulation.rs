//! What `design simulate` measured, beside what was predicted.

use std::fmt::Write;

use docward_design::measured::{Compared, MeasuredOperation, MeasuredWay, Simulated, Simulation};
use docward_model::text;
use serde_json::{Value, json};

use super::{number, rate};
use crate::connect::{cell, table};
use crate::text::{Paint, wrap};
use crate::{Look, Shape};

/// A simulation as text. There is no page for a browser: HTML is given as Markdown.
pub fn simulation_report(simulation: &Simulation, shape: Shape, look: Look) -> String {
    match shape {
        Shape::Json => json_report(simulation),
        Shape::Markdown | Shape::Html => markdown(simulation),
        Shape::Terminal => terminal(simulation, look),
    }
}

/// How wrong a prediction was: `+12 %` is too high.
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
        way.way.name().to_owned(),
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

/// Operations side by side: all ways of one operation together.
fn operation_rows(simulated: &Simulated) -> Vec<Vec<String>> {
    let mut rows = vec![HEADING.map(str::to_owned).to_vec()];
    let operations = simulated.ways.first().map_or(0, |way| way.operations.len());
    for i in 0..operations {
        let ways = simulated.ways.iter();
        rows.extend(ways.filter_map(|way| Some(operation_row(way, way.operations.get(i)?))));
    }
    rows
}

/// Sizes side by side.
fn size_rows(simulated: &Simulated) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["size".to_owned()]];
    rows[0].extend(simulated.ways.iter().map(|way| way.way.name().to_owned()));
    let mut line = |label: &str, of: &dyn Fn(&MeasuredWay) -> String| {
        let mut row = vec![label.to_owned()];
        row.extend(simulated.ways.iter().map(of));
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
    for (i, label) in ["parent p50", "parent p99", "parent max"].iter().enumerate() {
        line(label, &|way| shown(way.parent[i]));
    }
    line("all documents", &|way| shown(way.data));
    line("index for it", &|way| shown(way.index));
    line("on disk, documents + indexes", &|way| {
        format!("{} + {}", text::bytes(way.on_disk), text::bytes(way.all_indexes))
    });
    rows
}

/// Times that are as near to each other as this share are the same.
const TIE: f64 = 0.05;

/// Whether the chosen way won, either way it went.
fn verdict(simulated: &Simulated) -> String {
    let ranking = simulated.ranking();
    let Some((best, _)) = ranking.first() else { return String::new() };
    let times: Vec<String> = ranking
        .iter()
        .map(|(way, ratio)| {
            let busy = way.busy() * 1e3;
            let times = if *ratio >= 1.05 { format!(", {ratio:.1} times") } else { String::new() };
            format!("{} {} ms{times}", way.way.name(), number(busy))
        })
        .collect();
    let times = times.join("; ");
    let Some((chosen, ratio)) = ranking.iter().find(|(way, _)| way.chosen) else { return times };
    let name = chosen.way.name();
    let second = ranking.iter().find(|(way, _)| !way.chosen);
    let verdict = match second {
        None => format!("{name} is the only way"),
        // Two runs of the same differ by more than this.
        Some((other, second)) if (ratio / second - 1.0).abs() < TIE => {
            format!("the chosen way, {name}, and {} are equally fast here", other.way.name())
        }
        Some((other, second)) if best.chosen => format!(
            "the chosen way, {name}, is the fastest: {} takes {second:.1} times as long",
            other.way.name()
        ),
        Some(_) => format!(
            "the chosen way, {name}, is not the fastest here: it takes {ratio:.1} times as long as {}",
            best.way.name()
        ),
    };
    format!("{verdict}. A second of the declared load takes {times}")
}

/// What has to be known about one relationship.
fn notes(simulated: &Simulated) -> Vec<String> {
    let mut notes = Vec::new();
    for way in simulated.ways.iter().filter(|way| way.cut > 0) {
        notes.push(format!(
            "{}: {} would be larger than 16 MB and got as many children as fit",
            way.way.name(),
            text::plural(way.cut, "parent")
        ));
    }
    if !simulated.left_out.is_empty() {
        notes.push(format!(
            "not replayed, because it begins with another entity: {}",
            text::list(&simulated.left_out, 5)
        ));
    }
    notes
}

fn children(simulated: &Simulated) -> String {
    let spread = simulated.children;
    format!(
        "{} children; a parent has {} / {} / {} / {} (p50 / p95 / p99 / max)",
        text::count(simulated.all_children),
        text::count(spread.p50),
        text::count(spread.p95),
        text::count(spread.p99),
        text::count(spread.max)
    )
}

fn about(simulation: &Simulation) -> String {
    format!(
        "{} on {} (MongoDB {}, {}): {} and {} for each way, seed {}",
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
    for simulated in &simulation.relationships {
        let name = paint.bold(&simulated.relationship);
        let word = paint.green(&simulated.verdict.to_uppercase());
        let _ = writeln!(out, "\n{name}  {word}  {}", paint.dim(&children(simulated)));
        let _ = writeln!(out, "  {}", wrap(&verdict(simulated), look.width, 2, 4));
        for note in notes(simulated) {
            let _ = writeln!(out, "  {}", wrap(&format!("· {note}"), look.width, 2, 4));
        }
        out.push('\n');
        out.push_str(&table(&operation_rows(simulated), &[0, 1], 4));
        out.push('\n');
        out.push_str(&table(&size_rows(simulated), &[0, 1, 2, 3], 4));
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
    for simulated in &simulation.relationships {
        let _ = writeln!(out, "\n### `{}`: {}\n", simulated.relationship, simulated.verdict);
        let _ = writeln!(out, "{}.\n", cell(&children(simulated)));
        let _ = writeln!(out, "{}.\n", cell(&verdict(simulated)));
        for note in notes(simulated) {
            let _ = writeln!(out, "- {}", cell(&note));
        }
        let _ = writeln!(out, "\n{}", grid(operation_rows(simulated)));
        out.push_str(&grid(size_rows(simulated)));
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
        "skipped": simulation.skipped.iter().map(|(name, why)| json!({ "relationship": name, "why": why })).collect::<Vec<_>>(),
        "notes": simulation.notes,
    });
    format!("{value:#}\n")
}

fn compared(figure: Compared) -> Value {
    json!({ "predicted": figure.predicted, "measured": figure.measured, "error": figure.error() })
}

fn relationship(simulated: &Simulated) -> Value {
    let ranking = simulated.ranking();
    let spread = simulated.children;
    json!({
        "relationship": simulated.relationship,
        "verdict": simulated.verdict,
        "children": { "p50": spread.p50, "p95": spread.p95, "p99": spread.p99, "max": spread.max },
        "allChildren": simulated.all_children,
        "chosenIsFastest": ranking.first().map(|(way, _)| way.chosen),
        "ranking": ranking.iter().map(|(way, ratio)| json!({ "way": way.way.name(), "times": ratio })).collect::<Vec<_>>(),
        "ways": simulated.ways.iter().map(|way| json!({
            "way": way.way.name(),
            "chosen": way.chosen,
            "secondsPerSecond": way.busy(),
            "operations": way.operations.iter().map(operation).collect::<Vec<_>>(),
            "parentBytes": { "p50": compared(way.parent[0]), "p99": compared(way.parent[1]), "max": compared(way.parent[2]) },
            "dataBytes": compared(way.data),
            "indexBytes": compared(way.index),
            "storageBytes": way.on_disk,
            "allIndexBytes": way.all_indexes,
            "parentsCut": way.cut,
            "transactions": way.transactions,
        })).collect::<Vec<_>>(),
        "notReplayed": simulated.left_out,
        "notes": notes(simulated),
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
