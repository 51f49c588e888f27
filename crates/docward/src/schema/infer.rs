//! `docward schema infer`: derives a validator from documents and checks which of them it would
//! refuse.

use anyhow::{Context, bail};
use docward_advise::infer::{Choices, Inferred, infer as read_off};
use docward_bson::value::to_bytes;
use docward_collect::{Collected, Request, collect};
use docward_model::{Checked, Collection, CollectionKind, Namespace, Value, text};
use docward_rules::{facts::schema::targets::Targets, type_changes};
use serde_json::{Map, Value as Json, json};

use super::{
    args::{InferArgs, InferFormat},
    check,
    load::Loaded,
    print,
};
use crate::{
    config,
    interrupt::Interrupt,
    output,
    progress::Bar,
    reading, run,
    terminal::{CLEAN, PROBLEMS, complain, put},
};

/// The maximum number of rounds in which a schema is corrected and checked again.
const MAX_ROUNDS: usize = 5;

/// The number of failing documents that are fetched from a running deployment for details.
const EXAMPLES: u64 = 1000;

/// The maximum number of lines of one kind about a schema.
const SHOWN: usize = 5;

/// A collection and its inferred schema.
struct Outcome<'c> {
    namespace: &'c Namespace,
    inferred: Inferred,
    /// The result of checking its documents. `None` if they were not checked.
    checked: Option<Checked>,
}

/// Runs the command.
pub(crate) fn infer(args: &InferArgs) -> anyhow::Result<u8> {
    let docward_config::Config { settings, .. } =
        config::load(args.reading.config.as_deref(), &args.sources, args.quiet)?;
    output::spare(args.reading.output.as_deref(), &args.sources)?;
    let reading = reading::reading(&args.sources, &args.reading)?;
    let threads = args.threads.unwrap_or(reading.threads);
    let request = Request { server_workload: false, documents_only: true, threads, ..reading };
    let interrupt = Interrupt::listen();
    let bar = Bar::new(!args.reading.no_progress && !args.quiet);
    let Collected { evidence, problems, mut interrupted, .. } =
        collect(&request, &bar, interrupt.stop());
    // Standard input cannot be read twice.
    let is_read_once = args.sources.iter().any(|source| source == "-");
    let is_checked = !args.no_check && !is_read_once && !interrupted;
    let choices = Choices {
        tolerance: args.tolerance,
        strict: args.strict,
        depth: args.depth,
        values: !args.no_values,
        descriptions: !args.no_descriptions,
        by_name: is_checked,
    };
    let changes = type_changes(&evidence, &settings);
    let mut outcomes = Vec::new();
    for collection in &evidence.collections {
        if let Some(why) = no_validator(collection) {
            if !args.quiet {
                complain(&format!("note: {}: {why}", collection.namespace));
            }
            continue;
        }
        let Some(profile) = collection.profile.as_ref().filter(|p| p.documents > 0) else {
            continue;
        };
        let targets = Targets::new(&changes, &collection.namespace);
        let inferred = read_off(profile, &targets, &choices);
        outcomes.push(Outcome { namespace: &collection.namespace, inferred, checked: None });
    }
    if outcomes.is_empty() {
        if !problems.is_empty() {
            return Ok(run::refuse(&problems));
        }
        bail!("no collection with documents was found; check the source, --db and --collection");
    }
    if is_checked {
        for outcome in &mut outcomes {
            let hold =
                |inferred: &Inferred| hold(&request, &bar, &interrupt, outcome.namespace, inferred);
            let (mut checked, mut stopped) = hold(&outcome.inferred)?;
            // A constraint that rests only on names is removed if documents fail it or could not be
            // checked. With a tolerance of 0, every constraint that a document fails is removed.
            for path in outcome.inferred.tentative.clone() {
                if stopped || checked.is_none() {
                    outcome.inferred.withdraw(&path, "pattern");
                }
            }
            for _ in 0..MAX_ROUNDS {
                let broken: Vec<(String, String)> = checked
                    .iter()
                    .flat_map(|checked| &checked.breaches)
                    .filter(|breach| {
                        let is_tentative = breach.keyword == "pattern"
                            && outcome.inferred.tentative.contains(&breach.path);
                        args.tolerance == 0.0 || is_tentative
                    })
                    .map(|breach| (breach.path.clone(), breach.keyword.clone()))
                    .collect();
                let mut is_changed = false;
                for (path, keyword) in &broken {
                    is_changed |= outcome.inferred.withdraw(path, keyword);
                }
                if !is_changed || stopped {
                    break;
                }
                (checked, stopped) = hold(&outcome.inferred)?;
            }
            outcome.checked = checked;
            interrupted |= stopped;
        }
    }
    interrupt.judging();
    bar.finish();
    for problem in &problems {
        complain(&format!("problem: {}: {}", problem.source, problem.message));
    }
    if !args.quiet {
        if is_read_once && !args.no_check {
            complain(
                "note: standard input can be read only once, so the schema was not checked \
                 against it",
            );
        }
        outcomes.iter().for_each(|outcome| tell(outcome, args.format));
        if args.format == InferFormat::Json {
            complain("note: --format mongosh gives the reason for each constraint");
        }
    }
    interrupt.writing();
    write(args, &outcomes)?;
    Ok(if problems.is_empty() && !interrupted { CLEAN } else { PROBLEMS })
}

/// Checks a schema against its documents. Also returns whether the check was interrupted.
fn hold(
    request: &Request,
    bar: &Bar,
    interrupt: &Interrupt,
    namespace: &Namespace,
    inferred: &Inferred,
) -> anyhow::Result<(Option<Checked>, bool)> {
    let schema = Loaded {
        namespace: Some(namespace.clone()),
        validator: to_bytes(validator_tree(inferred).entries()),
        ..Loaded::default()
    };
    let collected = check::hold(request, &schema, EXAMPLES, bar, interrupt)
        .with_context(|| format!("the schema of {namespace}"))?;
    let stopped = collected.interrupted;
    Ok((check::of_collection(collected, namespace), stopped))
}

/// Returns why a collection cannot have a validator.
fn no_validator(collection: &Collection) -> Option<&'static str> {
    match collection.kind {
        CollectionKind::TimeSeries => {
            Some("a time series collection, which cannot have a validator (GC-30)")
        }
        CollectionKind::View => {
            Some("a view, which cannot have a validator; name the collection that it reads")
        }
        CollectionKind::System => Some("a system collection"),
        _ => None,
    }
}

fn validator_tree(inferred: &Inferred) -> Value {
    Value::Map(vec![("$jsonSchema".to_owned(), inferred.schema.clone())])
}

/// Prints a few lines about one schema.
fn tell(outcome: &Outcome<'_>, format: InferFormat) {
    let Outcome { namespace, inferred, checked } = outcome;
    let count =
        |keyword: &str| inferred.reasons.iter().filter(|r| r.keyword == keyword).count() as u64;
    let seen = print::seen(inferred);
    let met = match checked {
        Some(checked) if checked.refused == 0 && checked.documents > inferred.documents => {
            format!("; all {} meet it", text::plural(checked.documents, "document"))
        }
        Some(checked) if checked.refused == 0 => "; all of them meet it".to_owned(),
        Some(checked) => format!(
            "; {} {} it",
            text::part(checked.refused, checked.documents, "document"),
            text::form_of(checked.refused, checked.documents, "breaks", "break")
        ),
        None => String::new(),
    };
    complain(&format!(
        "{namespace}: {} described, {} required, derived from {seen}{met}",
        text::plural(count("bsonType"), "field"),
        text::count(count("required")),
    ));
    for line in checked.iter().flat_map(print::breach_lines) {
        complain(&format!("  breaks: {line}"));
    }
    // The check covered all documents, including those that were not read.
    if let Some(said) = print::of_others(inferred).filter(|_| checked.is_none()) {
        complain(&format!("  {said}"));
    }
    // The script contains them as comments.
    if format != InferFormat::Mongosh {
        for open in inferred.undecided.iter().take(SHOWN) {
            let path = if open.path.is_empty() { "the document" } else { &open.path };
            complain(&print::one_line(&format!("  not constrained: {path}: {}", open.why)));
        }
        if inferred.undecided.len() > SHOWN {
            let more = inferred.undecided.len() - SHOWN;
            complain(&format!("  not constrained: {more} more; --format report lists them"));
        }
    }
}

fn write(args: &InferArgs, outcomes: &[Outcome<'_>]) -> anyhow::Result<()> {
    let output = args.reading.output.as_deref();
    if let Some(directory) = output.filter(|path| print::is_directory(path)) {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create the directory {}", directory.display()))?;
        for outcome in outcomes {
            let ending = match args.format {
                InferFormat::Json => "schema.json",
                InferFormat::Mongosh => "js",
                InferFormat::Report => "report.json",
            };
            let name = print::file_name(&outcome.namespace.to_string());
            put(
                &text_of(args.format, std::slice::from_ref(outcome)),
                Some(&directory.join(format!("{name}.{ending}"))),
            )?;
        }
        return Ok(());
    }
    put(&text_of(args.format, outcomes), output)
}

fn text_of(format: InferFormat, outcomes: &[Outcome<'_>]) -> String {
    match (format, outcomes) {
        (InferFormat::Mongosh, outcomes) => {
            let scripts: Vec<_> =
                outcomes.iter().map(|o| print::script(o.namespace, &o.inferred)).collect();
            scripts.join("\n")
        }
        (InferFormat::Json, [one]) => {
            print::pretty(&print::to_json(&validator_tree(&one.inferred)))
        }
        (InferFormat::Json, several) => {
            let schemas: Map<String, Json> = several
                .iter()
                .map(|o| (o.namespace.to_string(), print::to_json(&validator_tree(&o.inferred))))
                .collect();
            print::pretty(&Json::Object(schemas))
        }
        (InferFormat::Report, outcomes) => {
            let collections: Vec<Json> = outcomes.iter().map(report).collect();
            print::pretty(&json!({ "version": 1, "collections": collections }))
        }
    }
}

fn report(outcome: &Outcome<'_>) -> Json {
    let Outcome { namespace, inferred, checked } = outcome;
    let reasons: Vec<Json> = inferred
        .reasons
        .iter()
        .map(
            |r| json!({ "path": r.path, "keyword": r.keyword, "why": r.why, "refuses": r.refuses }),
        )
        .collect();
    let undecided: Vec<Json> = inferred
        .undecided
        .iter()
        .map(|open| json!({ "path": open.path, "why": open.why }))
        .collect();
    let checked = checked.as_ref().map(|checked| {
        let breaches = print::breaches(checked);
        json!({ "documents": checked.documents, "refused": checked.refused, "breaches": breaches })
    });
    json!({
        "namespace": namespace.to_string(),
        "documents": inferred.documents,
        "total": inferred.total,
        "unseenShare": if inferred.documents < inferred.total { inferred.seen.unseen_below() } else { Some(0.0) },
        "schema": print::to_json(&inferred.schema),
        "reasons": reasons,
        "undecided": undecided,
        "checked": checked,
    })
}
