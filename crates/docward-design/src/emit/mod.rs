//! The files of a design: mongosh scripts, validators, functions for every pattern, a check that
//! runs them all, diagrams and a README. This module only returns text and writes no files.

mod check;
pub mod example;
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
    text.push_str(CREATE);
    for collection in &design.collections {
        text.push_str(&format!(
            "\ncreateOrChange(db.getSiblingDB(database), {}, {});\n",
            quote(&collection.name),
            js::object(&options(model, collection), 0)
        ));
    }
    text
}

const CREATE: &str = r#"
function createOrChange(db, name, options) {
  const found = db.getCollectionInfos({ name });
  if (found.length === 0) {
    db.createCollection(name, options);
    print(`created ${name}`);
    return;
  }
  const change = { collMod: name };
  if (options.timeseries) {
    if (found[0].type !== "timeseries") throw new Error(`${name} exists already and is not a time series`);
    // The server expects "off" for readings that are kept forever.
    change.expireAfterSeconds = options.expireAfterSeconds ?? "off";
  } else {
    Object.assign(change, options);
  }
  db.runCommand(change);
  print(`changed ${name}`);
}
"#;

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
        text.push_str(EXPIRING);
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
const EXPIRING: &str = r#"
function expiring(name, keys, options) {
  try {
    db.getSiblingDB(database).getCollection(name).createIndex(keys, options);
  } catch (error) {
    if (error.code !== 85) throw error;
    const { expireAfterSeconds } = options;
    db.getSiblingDB(database).runCommand({ collMod: name, index: { keyPattern: keys, expireAfterSeconds } });
  }
}
"#;

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

/// Functions that several files need.
const PICK: &str = r#"
/** Returns the given fields that exist. */
function pick(from, fields) {
  return Object.fromEntries(fields.filter((f) => from[f] !== undefined).map((f) => [f, from[f]]));
}
"#;

const WITH_KEY: &str = r#"
/**
 * Adds the shard key of the document to a filter, as servers before 7.1 require. If another writer changes the key
 * in between, the filter does not match. Without shards, it has no effect.
 */
function withKey(db, collection, filter, fields) {
  const found = db.getCollection(collection).findOne(filter, Object.fromEntries(fields.map((f) => [f, 1])));
  const value = (field) => field.split(".").reduce((at, part) => at?.[part], found) ?? null;
  return { ...filter, ...Object.fromEntries(fields.map((f) => [f, value(f)])) };
}
"#;

const TRANSACTION: &str = r#"
/**
 * Runs `work` in one transaction: all of its writes happen, or none. Transient errors are retried for two minutes.
 */
function inTransaction(db, work) {
  const session = db.getMongo().startSession();
  const last = Date.now() + 120000;
  const has = (error, label) => typeof error.hasErrorLabel === "function" && error.hasErrorLabel(label);
  try {
    for (;;) {
      session.startTransaction({ readConcern: { level: "snapshot" }, writeConcern: { w: "majority" } });
      try {
        const result = work(session.getDatabase(db.getName()));
        for (;;) {
          try {
            session.commitTransaction();
            return result;
          } catch (error) {
            if (!has(error, "UnknownTransactionCommitResult") || Date.now() > last) throw error;
          }
        }
      } catch (error) {
        try {
          session.abortTransaction();
        } catch (ignored) {
          // It has ended already.
        }
        if (!has(error, "TransientTransactionError") || Date.now() > last) throw error;
        sleep(Math.random() * 20);
      }
    }
  } finally {
    session.endSession();
  }
}
"#;

fn pattern(script: &Script) -> String {
    let mut text = heading(&format!(
        "{} Functions for mongosh: load this file, then call them with a database. In an application, write the same statements with its driver.",
        script.intro
    ));
    let jobs: Vec<String> = script.jobs.iter().map(Job::shell).collect();
    let body = jobs.join("\n");
    if body.contains("pick(") {
        text.push_str(PICK);
    }
    if body.contains("withKey(") {
        text.push_str(WITH_KEY);
    }
    if body.contains("inTransaction(") {
        text.push_str(TRANSACTION);
    }
    format!("{text}\n{body}")
}
