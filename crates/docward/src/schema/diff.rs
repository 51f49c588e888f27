//! `docward schema diff`: compares two schemas with each other and with data (three-way drift).

use std::{collections::BTreeMap, path::Path};

use anyhow::bail;
use bson::{Bson, Document};
use docward_collect::{Collected, Request, collect, is_uri};
use docward_model::{BsonType, Checked, Field, FieldShape, Namespace, Problem, Profile, text};
use docward_refactor::{Action, Level, Operator};
use docward_report::Format;
use docward_schema::{Comparison, Containment, Effect, Outline, ValidatorFault, compare, outline};
use serde_json::{Value as Json, json};

use super::{
    args::DiffArgs,
    check,
    load::{self, Loaded},
    print,
};
use crate::{
    args::ReadingArgs,
    interrupt::Interrupt,
    progress::Bar,
    reading, run,
    terminal::{CLEAN, FINDINGS, PROBLEMS, complain, put, tell},
};

/// The number of failing documents that are fetched from a running deployment for details.
const EXAMPLES: u64 = 1000;

/// One of the two schemas.
struct Side {
    name: String,
    loaded: Loaded,
}

/// Facts about the documents.
struct Data {
    namespace: Namespace,
    profile: Profile,
    first: Option<Checked>,
    second: Option<Checked>,
}

/// A field on which the two schemas and the data disagree.
struct Drift {
    path: String,
    first: String,
    second: String,
    data: String,
}

/// Runs the command.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<u8> {
    let namespace = args.namespace.as_deref().map(reading::namespace).transpose()?;
    let first = side(&args.first, namespace.as_ref())?;
    let second = side(&args.second, namespace.as_ref())?;
    if !args.quiet {
        for side in [&first, &second] {
            side.loaded
                .notes
                .iter()
                .for_each(|note| complain(&format!("note: {}: {note}", side.name)));
        }
    }
    let compared = compare(&first.loaded.validator, &second.loaded.validator);
    let comparison = compared.map_err(|fault| match fault {
        ValidatorFault::Refused(fault) => load::refused(&fault).context("one of the two"),
        other => anyhow::anyhow!("{other}"),
    })?;
    let (data, problems) = if args.data.is_empty() {
        (None, Vec::new())
    } else {
        match read_data(args, namespace.as_ref(), &first, &second)? {
            (None, problems) => return Ok(run::refuse(&problems)),
            read => read,
        }
    };
    let drifts = data.as_ref().map(|data| drifts(&first, &second, data)).unwrap_or_default();
    for problem in &problems {
        tell(&format!("problem: {}: {}", problem.source, problem.message));
    }
    let text = match args.format {
        Format::Json => {
            print::pretty(&json_of(&first, &second, &comparison, data.as_ref(), &drifts))
        }
        _ => told(&first, &second, &comparison, data.as_ref(), &drifts),
    };
    put(&text, args.output.as_deref())?;
    if !problems.is_empty() {
        return Ok(PROBLEMS);
    }
    let differs = comparison.changes.iter().any(|change| change.effect != Effect::Wording);
    let breaks = data.as_ref().is_some_and(|data| {
        [&data.first, &data.second].into_iter().flatten().any(|checked| checked.refused > 0)
    });
    Ok(if differs || breaks || !drifts.is_empty() { FINDINGS } else { CLEAN })
}

/// Returns a schema from a file, or the current validator.
fn side(given: &str, namespace: Option<&Namespace>) -> anyhow::Result<Side> {
    if !is_uri(given) {
        return Ok(Side { name: given.to_owned(), loaded: load::one(Path::new(given))? });
    }
    let Some(namespace) = namespace else {
        bail!(
            "the collection of the validator is missing: name it with --namespace \
         DATABASE.COLLECTION"
        );
    };
    let operator = Operator::connect(given)?;
    let standing = operator.standing(namespace)?;
    let mut notes = Vec::new();
    if standing.validation.level == Level::Off || standing.validation.action == Action::Warn {
        notes.push(format!(
            "it refuses nothing: level {}, action {}",
            standing.validation.level.name(),
            standing.validation.action.name()
        ));
    }
    // A collection without a validator accepts every document.
    let validator = standing.validation.validator.map_or_else(
        || Document::new().to_vec().unwrap_or_default(),
        |raw| raw.as_bytes().to_vec(),
    );
    let name = format!("{namespace} on {}", operator.name);
    Ok(Side { name, loaded: Loaded { validator, notes, ..Loaded::default() } })
}

fn read_data(
    args: &DiffArgs,
    namespace: Option<&Namespace>,
    first: &Side,
    second: &Side,
) -> anyhow::Result<(Option<Data>, Vec<Problem>)> {
    let reading = ReadingArgs::default();
    let mut request = Request {
        server_workload: false,
        documents_only: true,
        ..reading::reading(&args.data, &reading)?
    };
    if let Some(namespace) = namespace {
        request.filter = check::only(namespace)?;
    }
    let interrupt = Interrupt::listen();
    let bar = Bar::new(!args.quiet);
    let Collected { evidence, mut problems, .. } = collect(&request, &bar, interrupt.stop());
    let mut read: Vec<_> = evidence
        .collections
        .into_iter()
        .filter_map(|c| Some((c.namespace, c.profile.filter(|p| p.documents > 0)?)))
        .collect();
    if read.len() > 1 {
        let names: Vec<_> =
            read.iter().take(5).map(|(namespace, _)| namespace.to_string()).collect();
        bail!("--data has several collections ({}); choose one with --namespace", names.join(", "));
    }
    let Some((namespace, profile)) = read.pop() else {
        if problems.is_empty() {
            bail!("--data: no documents were found; check the source and --namespace");
        }
        return Ok((None, problems));
    };
    let mut held = |side: &Side| -> anyhow::Result<Option<Checked>> {
        let schema = Loaded { namespace: Some(namespace.clone()), ..side.loaded.clone() };
        let collected = check::hold(&request, &schema, EXAMPLES, &bar, &interrupt)?;
        problems.extend(collected.problems.iter().cloned());
        Ok(check::of_collection(collected, &namespace))
    };
    let (first, second) = (held(first)?, held(second)?);
    problems.sort();
    problems.dedup();
    bar.finish();
    Ok((Some(Data { namespace, profile, first, second }), problems))
}

/// Returns the fields on which code, validator and data disagree.
fn drifts(first: &Side, second: &Side, data: &Data) -> Vec<Drift> {
    let (a, b) = (outline(&first.loaded.validator), outline(&second.loaded.validator));
    let seen: BTreeMap<&str, &Field> = data
        .profile
        .fields
        .iter()
        .filter(|field| field.shape != FieldShape::AnyKey && field.count > 0)
        .map(|field| (field.path.as_str(), field))
        .collect();
    let mut paths: Vec<&str> =
        a.keys().chain(b.keys()).map(String::as_str).chain(seen.keys().copied()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut out = Vec::new();
    for path in paths {
        let (in_a, in_b, in_data) = (a.get(path), b.get(path), seen.get(path).copied());
        // If the parent is unknown to both, its fields are not listed separately.
        let parent = path.rfind(['.', '[']).map(|at| path[..at].trim_end_matches("[]"));
        let is_part = parent.is_some_and(|parent| {
            !parent.is_empty() && !a.contains_key(parent) && !b.contains_key(parent)
        });
        if path == "_id" || is_part || (in_a.is_none() && in_b.is_none() && path.ends_with("[]")) {
            continue;
        }
        let agrees = |said: Option<&Outline>| match (said, in_data) {
            (None, None) => true,
            (Some(said), Some(field)) => fits(said, field),
            (Some(said), None) => !said.required,
            (None, Some(_)) => false,
        };
        let same = match (in_a, in_b) {
            (Some(x), Some(y)) => x == y,
            (None, None) => true,
            _ => false,
        };
        if same && agrees(in_a) && agrees(in_b) {
            continue;
        }
        out.push(Drift {
            path: path.to_owned(),
            first: said(in_a),
            second: said(in_b),
            data: in_data.map_or_else(|| absent(path, &seen), shown),
        });
    }
    out
}

/// Describes a field that no document has, and a similar field name if there is one.
fn absent(path: &str, seen: &BTreeMap<&str, &Field>) -> String {
    let bare = |path: &str| path.replace(['_', '-'], "").to_lowercase();
    let meant = seen.keys().find(|other| bare(other) == bare(path));
    meant.map_or_else(|| "absent".to_owned(), |other| format!("absent; similar name: `{other}`"))
}

fn fits(said: &Outline, field: &Field) -> bool {
    let types = said
        .types
        .as_ref()
        .is_none_or(|types| field.types.seen().into_iter().all(|(kind, _)| types.contains(&kind)));
    types && !(said.required && field.count < field.parents)
}

fn said(outline: Option<&Outline>) -> String {
    let Some(outline) = outline else { return "-".to_owned() };
    let types = match &outline.types {
        None => "any".to_owned(),
        Some(types) => {
            let names: Vec<_> = types.iter().map(|kind: &BsonType| kind.name()).collect();
            names.join("|")
        }
    };
    if outline.required { format!("{types}, required") } else { types }
}

fn shown(field: &Field) -> String {
    let types = field.types.describe();
    if field.count < field.parents {
        format!("{types}; absent in {}", text::count(field.parents - field.count))
    } else {
        types
    }
}

/// Returns a document as JSON without loss of types.
fn witness(document: &Document) -> serde_json::Value {
    let plain = Bson::Document(document.clone()).into_relaxed_extjson();
    let read = docward_bson::json::parse_one(&plain.to_string()).ok();
    match document.to_vec().is_ok_and(|bytes| read == Some(bytes)) {
        true => plain,
        false => Bson::Document(document.clone()).into_canonical_extjson(),
    }
}

fn containment(a: &str, b: &str, containment: &Containment) -> String {
    match containment {
        Containment::Yes => format!("{b} accepts everything {a} accepts"),
        Containment::No(document) => {
            format!("{b} refuses some of what {a} accepts: {}", witness(document))
        }
        Containment::Undecided => {
            format!("it is undecided whether {b} accepts everything {a} accepts")
        }
    }
}

fn value(value: Option<&Bson>) -> String {
    value.map_or_else(
        || "nothing".to_owned(),
        |value| {
            let text = value.clone().into_relaxed_extjson().to_string();
            match text.char_indices().nth(80) {
                Some((cut, _)) => format!("{}…", &text[..cut]),
                None => text,
            }
        },
    )
}

fn told(
    first: &Side,
    second: &Side,
    comparison: &Comparison,
    data: Option<&Data>,
    drifts: &[Drift],
) -> String {
    let mut out = format!("A  {}\nB  {}\n", first.name, second.name);
    if !comparison.changes.is_empty() {
        out.push_str("from A to B:\n");
    }
    for change in &comparison.changes {
        let at = if change.path.is_empty() { "the document" } else { &change.path };
        let what = match (change.keyword.as_str(), &change.before, &change.after) {
            ("required", None, _) => "required in B".to_owned(),
            ("required", ..) => "required in A only".to_owned(),
            ("properties", None, _) => "named in B only".to_owned(),
            ("properties", ..) => "named in A only".to_owned(),
            (keyword, before, after) => {
                format!(
                    "{keyword}: {} in A, {} in B",
                    value(before.as_ref()),
                    value(after.as_ref())
                )
            }
        };
        out.push_str(&format!("  {:8} {at}: {what}\n", change.effect.name()));
    }
    if comparison.changes.is_empty() {
        out.push_str("the schemas are equivalent\n");
    } else {
        out.push_str(&format!("{}\n", containment("A", "B", &comparison.second_accepts_first)));
        out.push_str(&format!("{}\n", containment("B", "A", &comparison.first_accepts_second)));
    }
    let Some(data) = data else { return out };
    let documents = text::plural(data.profile.documents, "document");
    out.push_str(&format!("\ndata: {}, {documents}\n", data.namespace));
    for (name, checked) in [("A", &data.first), ("B", &data.second)] {
        let Some(checked) = checked else { continue };
        if checked.refused == 0 {
            out.push_str(&format!(
                "  all of {} meet {name}\n",
                text::plural(checked.documents, "document")
            ));
            continue;
        }
        out.push_str(&format!(
            "  {} of {} break {name}:\n",
            text::count(checked.refused),
            text::plural(checked.documents, "document")
        ));
        for line in print::breach_lines(checked) {
            out.push_str(&format!("    {line}\n"));
        }
    }
    if drifts.is_empty() {
        out.push_str("  A, B and the data agree on every field\n");
        return out;
    }
    let width = |cells: &dyn Fn(&Drift) -> &str, head: &str| {
        drifts
            .iter()
            .map(|drift| cells(drift).chars().count())
            .chain([head.len()])
            .max()
            .unwrap_or(0)
    };
    let (w1, w2, w3) =
        (width(&|d| &d.path, "field"), width(&|d| &d.first, "A"), width(&|d| &d.second, "B"));
    out.push_str(&format!("\n  {:w1$}  {:w2$}  {:w3$}  data\n", "field", "A", "B"));
    for drift in drifts {
        out.push_str(&format!(
            "  {:w1$}  {:w2$}  {:w3$}  {}\n",
            drift.path, drift.first, drift.second, drift.data
        ));
    }
    out
}

fn json_of(
    first: &Side,
    second: &Side,
    comparison: &Comparison,
    data: Option<&Data>,
    drifts: &[Drift],
) -> Json {
    let json_value =
        |value: Option<&Bson>| value.map_or(Json::Null, |v| v.clone().into_relaxed_extjson());
    let changes: Vec<Json> = comparison
        .changes
        .iter()
        .map(|change| {
            json!({
                "path": change.path,
                "keyword": change.keyword,
                "a": json_value(change.before.as_ref()),
                "b": json_value(change.after.as_ref()),
                "effect": change.effect.name(),
            })
        })
        .collect();
    let answer = |containment: &Containment| match containment {
        Containment::Yes => json!({ "answer": "yes" }),
        Containment::No(document) => {
            json!({ "answer": "no", "document": witness(document) })
        }
        Containment::Undecided => json!({ "answer": "undecided" }),
    };
    let held = |checked: Option<&Checked>| {
        checked.map(|checked| {
            let breaches = print::breaches(checked);
            json!({ "documents": checked.documents, "refused": checked.refused, "breaches": breaches })
        })
    };
    let data = data.map(|data| {
        let drift: Vec<Json> = drifts
            .iter()
            .map(|d| json!({ "path": d.path, "a": d.first, "b": d.second, "data": d.data }))
            .collect();
        json!({
            "namespace": data.namespace.to_string(),
            "documents": data.profile.documents,
            "a": held(data.first.as_ref()),
            "b": held(data.second.as_ref()),
            "drift": drift,
        })
    });
    json!({
        "version": 1,
        "a": first.name,
        "b": second.name,
        "changes": changes,
        "bAcceptsEverythingAAccepts": answer(&comparison.second_accepts_first),
        "aAcceptsEverythingBAccepts": answer(&comparison.first_accepts_second),
        "data": data,
    })
}
