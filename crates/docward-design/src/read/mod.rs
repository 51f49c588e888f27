//! The model file: YAML to [`DesignModel`], every mistake with its place. All mistakes of a file are
//! found in one go. The format is described in `docs/design-model.md` and `docs/design.schema.json`.

mod deployment;
mod entities;
mod names;
mod operations;
mod relationships;
#[cfg(test)]
mod tests;

use docward_model::DesignModel;

use crate::fault::{Fault, Faults};
use crate::quantity;
use crate::table::Table;
use crate::yaml::{self, Node};

/// Longer files are no models.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Reads a model; `file` is its name in messages.
pub fn read(file: &str, text: &str) -> Result<DesignModel, Vec<Fault>> {
    let mut faults = Faults::new(file);
    let model = model(text, &mut faults);
    let found = faults.finish();
    match model {
        Some(model) if found.is_empty() => Ok(model),
        _ => Err(found),
    }
}

fn model(text: &str, faults: &mut Faults<'_>) -> Option<DesignModel> {
    let start = yaml::At { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        faults.push(start, "the file is longer than 8 MB", Some("split the model".to_owned()));
        return None;
    }
    let Some(root) = yaml::parse(text, faults) else {
        if faults.is_empty() {
            let hint = "`docward design init` writes one to start from".to_owned();
            faults.push(start, "the file holds no model", Some(hint));
        }
        return None;
    };
    let mut table = Table::of(&root, "a model", faults)?;
    if let Some(node) = table.get("version") {
        let read = |text: &str| (text == "1").then_some(());
        node.read("the version of the format", "`1`", read, faults);
    }
    let mut model = DesignModel {
        name: one_text(table.get("name"), "the name", faults).unwrap_or_else(|| "model".into()),
        database: one_text(table.get("database"), "the database", faults),
        as_of: table.get("as-of").and_then(|n| n.read("the day", "`2026-01-31`", day, faults)),
        ..DesignModel::default()
    };
    if let Some(node) = table.get("deployment") {
        deployment::read(node, &mut model.deployment, faults);
    }
    if let Some(node) = table.get("entities") {
        model.entities = entities::read(node, faults);
    }
    if let Some(node) = table.get("relationships") {
        model.relationships = relationships::read(node, faults);
    }
    if let Some(node) = table.get("reads") {
        model.reads = operations::reads(node, faults);
    }
    if let Some(node) = table.get("writes") {
        model.writes = operations::writes(node, faults);
    }
    let at = table.at;
    table.finish("a model", faults);
    if model.entities.is_empty() && faults.is_empty() {
        let hint = "list them under `entities:`".to_owned();
        faults.push(at, "the model has no entities", Some(hint));
    }
    names::check(&model, faults);
    Some(model)
}

fn one_text(node: Option<&Node>, what: &str, faults: &mut Faults<'_>) -> Option<String> {
    node.and_then(|node| node.text(what, faults)).map(str::to_owned)
}

fn day(text: &str) -> Option<(i16, i8, i8)> {
    let date: jiff::civil::Date = text.parse().ok()?;
    Some((date.year(), date.month(), date.day()))
}

fn count(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<f64> {
    node.read(what, "`1200`, `600k` or `2M`", quantity::count, faults)
}

/// How a rate is written.
const RATE: &str = "`20/s`, `3/min`, `1k/h` or `5000/day`";

fn rate(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<f64> {
    node.read(what, RATE, quantity::rate, faults)
}
