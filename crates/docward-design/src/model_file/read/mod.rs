//! Reads a YAML model file into a [`DesignModel`]. One run finds all mistakes of a file and reports
//! each with its position. `docs/design-model.md` and `docs/design.schema.json` describe the
//! format.

mod deployment;
mod entities;
mod names;
mod operations;
mod relationships;
#[cfg(test)]
mod tests;
mod wholes;

use docward_model::DesignModel;

use crate::model_file::fault::{Fault, Faults};
use crate::model_file::position::At;
use crate::model_file::quantity;
use crate::model_file::table::Table;
use crate::model_file::yaml::{self, Node};

/// The maximum size of a model file in bytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The maximum number of entities. No team uses more, and a design with this many takes seconds.
const MAX_ENTITIES: usize = 2_000;

/// Reads a model. `file` is its name in messages.
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
    let start = At { line: 1, column: 1 };
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
        database: table.get("database").and_then(|node| database(node, faults)),
        as_of: table.get("as-of").and_then(|n| n.read("the day", "`2026-01-31`", day, faults)),
        ..DesignModel::default()
    };
    let zoned = table
        .get("deployment")
        .and_then(|node| deployment::read(node, &mut model.deployment, faults));
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
    if model.entities.len() > MAX_ENTITIES {
        let message = format!("the model has more than {MAX_ENTITIES} entities");
        faults.push(at, message, Some("split it into several models".to_owned()));
        return None;
    }
    if model.entities.is_empty() && faults.is_empty() {
        let hint = "list them under `entities:`".to_owned();
        faults.push(at, "the model has no entities", Some(hint));
    }
    names::check(&model, faults);
    names::zones(&model, zoned, faults);
    wholes::name(&mut model);
    Some(model)
}

fn one_text(node: Option<&Node>, what: &str, faults: &mut Faults<'_>) -> Option<String> {
    node.and_then(|node| node.text(what, faults)).map(str::to_owned)
}

/// Reads a database name that servers accept on every system (LM-10, DM-02.2).
fn database(node: &Node, faults: &mut Faults<'_>) -> Option<String> {
    let name = node.text("the database", faults)?;
    let why = if name.is_empty() || name.len() > 63 {
        Some("a database name has 1 to 63 bytes")
    } else if name.contains(|c: char| c.is_control() || r#"/\. "$*<>:|?"#.contains(c)) {
        Some(r#"a database has no space and none of /\."$*<>:|? in its name"#)
    } else if ["admin", "local", "config"].contains(&name) {
        Some("`admin`, `local` and `config` are reserved for the server")
    } else {
        None
    };
    if let Some(why) = why {
        faults.push(node.at, format!("`{name}` cannot name the database"), Some(why.to_owned()));
    }
    Some(name.to_owned())
}

/// Reads a collection name that servers accept. Together with the database, it has at most 255
/// bytes (LM-10).
fn collection(node: &Node, faults: &mut Faults<'_>) -> Option<String> {
    let name = node.text("the collection's name", faults)?;
    let why = if name.is_empty() || name.len() > 191 {
        Some(
            "a collection name has 1 to 191 bytes, so that the name with its database has at \
         most 255",
        )
    } else if name.starts_with("system.") {
        Some("names that begin with `system.` are reserved for the server")
    } else if name.contains(|c: char| c.is_control() || c == '$') || name.starts_with('.') {
        Some("a collection has no `$` and no control character in its name, and no dot in front")
    } else {
        None
    };
    if let Some(why) = why {
        faults.push(node.at, format!("`{name}` cannot name a collection"), Some(why.to_owned()));
    }
    Some(name.to_owned())
}

fn day(text: &str) -> Option<(i16, i8, i8)> {
    let date: jiff::civil::Date = text.parse().ok()?;
    Some((date.year(), date.month(), date.day()))
}

fn count(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<f64> {
    node.read(what, "`1200`, `600k` or `2M`", quantity::count, faults)
}

/// Reads an integer of at least 1.
fn at_least_one(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<u64> {
    let read = |text: &str| quantity::count(text).filter(|number| *number >= 1.0);
    node.read(what, "`1`, `1200` or `600k`", read, faults).map(|number| number as u64)
}

/// The notation of rates.
const RATE: &str = "`20/s`, `3/min`, `1k/h` or `5000/day`";

fn rate(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<f64> {
    let rate = node.read(what, RATE, quantity::rate, faults)?;
    if rate > 0.0 {
        return Some(rate);
    }
    let text = node.text(what, faults).unwrap_or_default();
    let hint = Some("remove operations that never happen".to_owned());
    faults.push(node.at, format!("{what} is `{text}`, but a rate must be above zero"), hint);
    None
}
