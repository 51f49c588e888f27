//! Formats schemas: JSON for programs, and a commented script for people.

use std::path::Path;

use docward_advise::infer::Inferred;
use docward_model::{Checked, CheckedBreach, Namespace, Seen, Value, shell, text};
use serde_json::{Map, Number, Value as Json, json};

/// Returns a tree as JSON with its keys in order.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(is) => Json::Bool(*is),
        Value::Int(n) => Json::from(*n),
        Value::Double(n) => Number::from_f64(*n).map_or(Json::Null, Json::Number),
        Value::Text(text) | Value::Other(text) => Json::String(text.clone()),
        Value::Date(ms) => json!({ "$date": { "$numberLong": ms.to_string() } }),
        Value::List(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Map(entries) => {
            let fields: Map<String, Json> =
                entries.iter().map(|(key, value)| (key.clone(), to_json(value))).collect();
            Json::Object(fields)
        }
    }
}

/// Returns indented JSON with a final line break.
pub(crate) fn pretty(json: &Json) -> String {
    let mut text = serde_json::to_string_pretty(json).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns text without line breaks. A name from a document must not begin a line of a script,
/// because the line would be executed.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                format!("\\u{:04x}", u32::from(c))
            }
            c => c.to_string(),
        })
        .collect()
}

/// Returns a key of an object literal. `__proto__` would set the prototype, even in quotes.
fn key(name: &str) -> String {
    if name == "__proto__" { "[\"__proto__\"]".to_owned() } else { shell::key(name) }
}

/// Describes the documents that a schema is based on: `all 80 documents`.
pub(crate) fn seen(inferred: &Inferred) -> String {
    let documents = text::plural(inferred.documents, "document");
    match inferred.documents {
        1 if inferred.total <= 1 => format!("the only {documents}"),
        n if n >= inferred.total => format!("all {documents}"),
        n => text::part(n, inferred.total, "document"),
    }
}

/// Describes what a sample shows about the documents that were not read.
pub(crate) fn of_others(inferred: &Inferred) -> Option<String> {
    let Seen { sampled, total, .. } = inferred.seen;
    (sampled < total).then(|| match inferred.seen.unseen_below() {
        Some(share) if share < 1.0 => format!(
            "This is a sample. Fewer than {} of all documents break a constraint that no sampled \
             document breaks (95 % confidence).",
            text::small_percent(share)
        ),
        Some(_) => "The sample is too small for statements about documents that were not \
         read."
            .to_owned(),
        None => "The sample is not random, so the documents that were not read may \
         differ."
            .to_owned(),
    })
}

/// Returns a script that sets the validator. Each constraint has a comment with its reason.
pub(crate) fn script(namespace: &Namespace, inferred: &Inferred) -> String {
    let mut out = String::new();
    let seen = seen(inferred);
    out.push_str(&one_line(&format!("// {namespace}: derived from {seen}.")));
    out.push('\n');
    if let Some(said) = of_others(inferred) {
        out.push_str(&format!("// {said}\n"));
    }
    for open in &inferred.undecided {
        let path = if open.path.is_empty() { "the document" } else { &open.path };
        out.push_str(&one_line(&format!("// not constrained: {path}: {}", open.why)));
        out.push('\n');
    }
    out.push_str(&format!(
        "db.getSiblingDB({}).runCommand({{\n  collMod: {},\n  validator: {{\n    $jsonSchema: ",
        shell::quote(&namespace.database),
        shell::quote(&namespace.collection)
    ));
    node(&mut out, &inferred.schema, inferred, "", 2);
    out.push_str("\n  },\n  validationLevel: \"strict\",\n  validationAction: \"warn\"\n})\n");
    out
}

/// Writes a schema as an object literal with comments.
fn node(out: &mut String, schema: &Value, inferred: &Inferred, path: &str, depth: usize) {
    let indent = |depth: usize| "  ".repeat(depth);
    let entries = schema.entries();
    if entries.is_empty() {
        out.push_str("{}");
        return;
    }
    let child = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    out.push_str("{\n");
    for (at, (keyword, value)) in entries.iter().enumerate() {
        let comma = if at + 1 < entries.len() { "," } else { "" };
        out.push_str(&indent(depth + 1));
        match (keyword.as_str(), value) {
            ("properties", Value::Map(properties)) => {
                out.push_str("properties: {\n");
                for (at, (name, schema)) in properties.iter().enumerate() {
                    let comma = if at + 1 < properties.len() { "," } else { "" };
                    out.push_str(&format!("{}{}: ", indent(depth + 2), key(name)));
                    node(out, schema, inferred, &child(name), depth + 2);
                    out.push_str(&format!("{comma}\n"));
                }
                out.push_str(&format!("{}}}{comma}\n", indent(depth + 1)));
            }
            ("items", Value::Map(_)) => {
                out.push_str("items: ");
                node(out, value, inferred, &format!("{path}[]"), depth + 1);
                out.push_str(&format!("{comma}\n"));
            }
            ("additionalProperties", Value::Map(_)) => {
                out.push_str("additionalProperties: ");
                node(out, value, inferred, &child("*"), depth + 1);
                out.push_str(&format!("{comma}\n"));
            }
            ("required", Value::List(names)) => {
                out.push_str("required: [\n");
                for (at, name) in names.iter().enumerate() {
                    let name = name.as_text().unwrap_or_default();
                    let comma = if at + 1 < names.len() { "," } else { "" };
                    let why = why(inferred, &child(name), "required");
                    out.push_str(&format!(
                        "{}{}{comma}{why}\n",
                        indent(depth + 2),
                        shell::quote(name)
                    ));
                }
                out.push_str(&format!("{}]{comma}\n", indent(depth + 1)));
            }
            (keyword, value) => {
                let why = why(inferred, path, keyword);
                out.push_str(&format!(
                    "{}: {}{comma}{why}\n",
                    shell::key(keyword),
                    docward_rules::facts::remedies::shell::value(value)
                ));
            }
        }
    }
    out.push_str(&format!("{}}}", indent(depth)));
}

fn why(inferred: &Inferred, path: &str, keyword: &str) -> String {
    let reason = inferred.reasons.iter().find(|r| r.path == path && r.keyword == keyword);
    reason.map_or_else(String::new, |reason| format!(" // {}", one_line(&reason.why)))
}

/// Returns BSON as relaxed Extended JSON.
pub(crate) fn extended_json(document: &bson::Document) -> String {
    pretty(&bson::Bson::Document(document.clone()).into_relaxed_extjson())
}

/// Returns the output of `schema test --format json`.
pub(crate) fn verdict(details: Option<&bson::Document>) -> String {
    let details = details
        .map_or(Json::Null, |details| bson::Bson::Document(details.clone()).into_relaxed_extjson());
    pretty(&json!({ "version": 1, "accepted": details.is_null(), "details": details }))
}

/// Returns the failed constraints as JSON.
pub(crate) fn breaches(checked: &Checked) -> Vec<Json> {
    let breach = |breach: &CheckedBreach| {
        let ids: Vec<&str> = opaque_ids(breach).collect();
        json!({
            "path": breach.path,
            "keyword": breach.keyword,
            "documents": breach.documents,
            "ids": ids,
        })
    };
    checked.breaches.iter().map(breach).collect()
}

/// Returns a line for each of the first failed constraints.
pub(crate) fn breach_lines(checked: &Checked) -> Vec<String> {
    const SHOWN: usize = 5;
    let line = |breach: &CheckedBreach| {
        let at = if breach.path.is_empty() { "the document" } else { &breach.path };
        let ids: Vec<&str> = opaque_ids(breach).take(3).collect();
        let ids = if ids.is_empty() { String::new() } else { format!(" (_id {})", ids.join(", ")) };
        let documents = if checked.examined < checked.refused {
            // Only this many documents were fetched for details.
            let looked_at = text::count(checked.examined);
            format!("{} of the {looked_at} that were examined", text::count(breach.documents))
        } else {
            text::plural(breach.documents, "document")
        };
        one_line(&format!("{at}: {} in {documents}{ids}", breach.keyword))
    };
    let mut lines: Vec<String> = checked.breaches.iter().take(SHOWN).map(line).collect();
    if checked.breaches.len() > SHOWN {
        lines.push(format!("{} more", checked.breaches.len() - SHOWN));
    }
    lines
}

fn opaque_ids(breach: &CheckedBreach) -> impl Iterator<Item = &str> {
    breach.ids.iter().filter(|id| id.is_opaque).map(|id| id.text.as_str())
}

/// Returns a file name for a name, which may contain characters that file systems refuse.
pub(crate) fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// Whether the path is a directory that gets one file for each schema.
pub(crate) fn is_directory(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(['/', '\\'])
}
