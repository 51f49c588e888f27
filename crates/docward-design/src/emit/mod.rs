//! The files of a design: mongosh scripts, validators, functions for every pattern, a check that
//! runs them all, diagrams and a README. This module only returns text and writes no files.

mod check;
pub mod example;
mod expectations;
pub mod js;
pub mod maintain;
mod mermaid;
mod readme;
mod shard;
pub mod statement;

use bson::{Bson, Document, doc};
use docward_model::shell::quote;
use docward_model::{DesignModel, ProfileName};

use crate::emit::example::example;
use crate::emit::maintain::{Plans, refusals, scripts};
use crate::emit::statement::{Job, Script, wrapped};
use crate::layout::collection::{CollectionPlan, Purpose};
use crate::layout::index_plan::{IndexPlan, number};
use crate::layout::plan::Design;
use crate::layout::validator::validator;
use crate::model_file::quantity;

/// Returns every file of a design: its path and its text.
pub fn files(model: &DesignModel, design: &Design, profile: ProfileName) -> Vec<(String, String)> {
    let plans = Plans::new(model, design, profile);
    let scripts = scripts(model, design, profile);
    let mut files = vec![
        (
            "README.md".to_owned(),
            readme::page(model, design, &scripts, &refusals(model, design, profile)),
        ),
        ("01-collections.js".to_owned(), collections(model, design)),
        ("02-indexes.js".to_owned(), indexes(model, design)),
        ("03-shard.js".to_owned(), shard::script(design)),
        ("check.js".to_owned(), check::script(model, &plans, &scripts)),
        ("model.mmd".to_owned(), mermaid::model(model)),
        ("design.mmd".to_owned(), mermaid::design(design)),
    ];
    for collection in &design.collections {
        if let Some(validator) = validator(model, collection) {
            let path = format!("validators/{}.json", file_name(&collection.name));
            files.push((path, json(&validator)));
        }
        let path = format!("examples/{}.json", file_name(&collection.name));
        files.push((path, json(&example(model, collection))));
    }
    for script in &scripts {
        files.push((format!("patterns/{}", script.file()), pattern(script)));
    }
    files
}

/// Returns a file name for a collection. Collection names may contain characters that paths must
/// not.
fn file_name(name: &str) -> String {
    let made: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' })
        .collect();
    if made.starts_with('.') { format!("_{made}") } else { made }
}

/// Returns relaxed Extended JSON with indentation.
fn json(document: &Document) -> String {
    let value = Bson::from(document.clone()).into_relaxed_extjson();
    format!("{value:#}\n")
}

/// Returns the first lines of every script.
fn heading(text: &str) -> String {
    wrapped(text, 96).into_iter().map(|line| format!("// {line}\n")).collect()
}

/// Returns the line that selects the database of a script.
fn database(design: &Design) -> String {
    format!(
        "var database = typeof database === \"string\" ? database : {};\n",
        quote(&design.database)
    )
}

fn collections(model: &DesignModel, design: &Design) -> String {
    let mut text = heading(
        "Creates the collections with their validators (strict, error). An existing collection \
         gets the validator of the design. It can be run repeatedly. To use another database, set \
         `database` first.",
    );
    text.push_str(&database(design));
    text.push_str(&format!("\n{CREATE}"));
    for collection in &design.collections {
        text.push_str(&format!(
            "\ncreateOrChange(db.getSiblingDB(database), {}, {});\n",
            quote(&collection.name),
            js::object(&options(model, collection), 0)
        ));
    }
    text
}

const CREATE: &str = include_str!("scripts/create.js");

/// Returns the options for creating a collection.
pub fn options(model: &DesignModel, collection: &CollectionPlan) -> Document {
    let mut made = Document::new();
    if let Purpose::TimeSeries { time, meta, granularity } = &collection.purpose {
        let series = doc! { "timeField": time, "metaField": meta, "granularity": *granularity };
        made.insert("timeseries", series);
        if let Some(days) = collection.kept_days {
            made.insert("expireAfterSeconds", number(quantity::seconds(days)));
        }
    }
    if let Some(validator) = validator(model, collection) {
        made.insert("validator", validator);
        made.insert("validationLevel", "strict");
        made.insert("validationAction", "error");
    }
    made
}

fn indexes(model: &DesignModel, design: &Design) -> String {
    let mut text = heading(
        "Creates the indexes: equality, then sort, then range (CK-12). An existing index does not \
         change, except for its expiry time. It can be run repeatedly. To use another database, \
         set `database` first.",
    );
    text.push_str(&database(design));
    let mut all = design.collections.iter().flat_map(|collection| &collection.indexes);
    if all.any(|index| index.expire_after.is_some()) {
        text.push_str(&format!("\n{EXPIRING}"));
    }
    for collection in &design.collections {
        for index in &collection.indexes {
            text.push('\n');
            for line in index.serves.iter().chain(&index.notes) {
                text.push_str(&heading(line));
            }
            if let Some(why) = not_here(model, collection, index) {
                text.push_str(&heading(&format!("Not created: {why}.")));
                continue;
            }
            let (keys, options) = index_of(index);
            let mut parts = vec![js::object(&keys, 2)];
            if !options.is_empty() {
                parts.push(js::object(&options, 2));
            }
            let name = quote(&collection.name);
            let open = if index.expire_after.is_some() {
                parts.insert(0, name);
                "expiring(".to_owned()
            } else {
                format!("db.getSiblingDB(database).getCollection({name}).createIndex(")
            };
            text.push_str(&js::enclosed(&open, parts, ");\n", 0));
        }
    }
    text
}

/// Updates the expiry time of an existing index.
const EXPIRING: &str = include_str!("scripts/expiring.js");

/// Returns the keys and options of an index for `createIndex`.
pub fn index_of(index: &IndexPlan) -> (Document, Document) {
    let mut options = Document::new();
    if index.unique {
        options.insert("unique", true);
    }
    if let Some(only) = &index.only {
        options.insert("partialFilterExpression", only.filter());
    }
    if let Some(seconds) = index.expire_after {
        options.insert("expireAfterSeconds", number(seconds));
    }
    (index.key_document(), options)
}

/// Returns why the server would refuse an index.
fn not_here(
    model: &DesignModel,
    collection: &CollectionPlan,
    index: &IndexPlan,
) -> Option<&'static str> {
    let Purpose::TimeSeries { time, meta, .. } = &collection.purpose else { return None };
    let on_series = index
        .keys
        .iter()
        .all(|(name, _)| name == time || name == meta || name.starts_with(&format!("{meta}.")));
    if index.unique {
        return Some("a time series has no unique index (GC-30)");
    }
    if !on_series && model.deployment.server < (6, 0) {
        return Some("before 6.0, a time series has only indexes on its time and meta field");
    }
    None
}

/// Functions that several files need, and how they are called.
const SHARED: [(&str, &str); 3] = [
    ("pick(", include_str!("scripts/pick.js")),
    ("withKey(", include_str!("scripts/with_key.js")),
    ("inTransaction(", include_str!("scripts/transaction.js")),
];

fn pattern(script: &Script) -> String {
    let mut text = heading(&format!(
        "{} Functions for mongosh: load this file, then call them with a database. In an application, write the same statements with its driver.",
        script.intro
    ));
    let jobs: Vec<String> = script.jobs.iter().map(Job::shell).collect();
    let body = jobs.join("\n");
    for (_, function) in SHARED.iter().filter(|(call, _)| body.contains(call)) {
        text.push_str(&format!("\n{function}"));
    }
    format!("{text}\n{body}")
}
