//! `docward schema check`: counts and lists the documents that fail a schema.

use std::sync::Arc;

use anyhow::{Context, bail};
use docward_collect::{Check, Collected, Progress, Request, collect, is_uri};
use docward_model::{Checked, Filter, Namespace, NamespacePattern, Report, text};
use docward_report::View;
use docward_rules::judge;

use super::{
    args::CheckArgs,
    load::{self, Loaded},
};
use crate::{
    args::ShownArgs,
    interrupt::Interrupt,
    output::Look,
    progress::Bar,
    reading,
    run::{self, Run},
    terminal::complain,
};

/// The rule that reports the result.
const RULE: &str = "V007";

/// Runs the command.
pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    let schemas = load::load(&args.schema)?;
    super::tell_notes(
        &args.schema,
        schemas.iter().flat_map(|schema| &schema.notes),
        args.judging.quiet,
    );
    // The user asked about the schema, so every constraint is shown.
    let shown = ShownArgs::in_full(&args.formats);
    let look = Look {
        shown: &shown,
        output: args.reading.output.as_deref(),
        color: args.reading.color,
        quiet: args.judging.quiet,
        brief: false,
    };
    let settings = args.reading.config.as_deref();
    let mut run = Run::start(look, &args.judging, settings, &args.sources, None)?;
    let settings = &mut run.config.settings;
    // The settings must not disable the requested rule.
    settings.select = vec![RULE.to_owned()];
    settings.ignore.clear();
    let reading = reading::reading(&args.sources, &args.reading)?;
    let request = Request { threads: args.threads.unwrap_or(reading.threads), ..reading };
    if schemas.len() > 1 && args.sources.iter().any(|source| source == "-") {
        bail!("standard input can be read only once, but the file has {} schemas", schemas.len());
    }
    let interrupt = Interrupt::listen();
    let bar = Bar::new(!args.reading.no_progress && !args.judging.quiet);
    let mut collected: Option<Collected> = None;
    if schemas.len() > 1 && request.namespace.is_some() {
        bail!("--as names one collection, but the file has schemas of {}", schemas.len());
    }
    let wanted = |schema: &&Loaded| {
        schema.namespace.as_ref().is_none_or(|namespace| request.filter.wants(namespace))
    };
    for schema in schemas.iter().filter(wanted) {
        let some = hold(&request, schema, args.examples, &bar, &interrupt)
            .with_context(|| args.schema.display().to_string())?;
        collected = Some(match collected {
            None => some,
            Some(before) => joined(before, some),
        });
    }
    let Some(Collected { evidence, sources, problems, interrupted, .. }) = collected else {
        bail!(
            "{}: the file has no schema of a collection that matches --db and --collection",
            args.schema.display()
        );
    };
    interrupt.judging();
    bar.finish();
    let checked: Vec<(&Namespace, &Checked)> = evidence
        .collections
        .iter()
        .filter_map(|c| Some((&c.namespace, c.checked.as_deref()?)))
        .collect();
    if checked.is_empty() && interrupted {
        bail!("interrupted before any collection was checked");
    }
    if checked.is_empty() && !problems.is_empty() {
        return Ok(run::refuse(&problems));
    }
    if checked.is_empty() {
        bail!("no document was checked; check the sources, --db and --collection");
    }
    if !args.judging.quiet && args.formats.is_for_people() {
        checked.iter().for_each(|(namespace, checked)| complain(&told(namespace, checked)));
    }
    let outcome = judge(&evidence, &run.config.settings);
    let namespaces = evidence.collections.iter().map(|c| c.namespace.to_string()).collect();
    let report = Report {
        sources,
        problems,
        interrupted,
        show_values: args.judging.show_values,
        judged: Some(vec![RULE.into()]),
        filter: request.filter,
        namespaces: Some(namespaces),
        ..run::report(&run.config.settings, outcome, evidence)
    };
    interrupt.writing();
    run.finish(&report, View::Findings)
}

/// Returns the result of one collection in a line.
fn told(namespace: &Namespace, checked: &Checked) -> String {
    let documents = text::plural(checked.documents, "document");
    match checked.refused {
        0 => format!("{namespace}: {documents}, all meet the schema"),
        refused => format!(
            "{namespace}: {documents}, {} the schema",
            text::verb(refused, "breaks", "break")
        ),
    }
}

/// Compiles a schema. Refuses a schema that only a server can evaluate, unless all sources are
/// servers.
pub(super) fn prepared(
    schema: &Loaded,
    sources: &[String],
    examples: u64,
) -> anyhow::Result<Check> {
    let validator = match schema.compile()? {
        Ok(validator) => Some(Arc::new(validator)),
        Err(operator) => {
            if let Some(file) = sources.iter().find(|source| !is_uri(source)) {
                bail!(
                    "Docward cannot evaluate `{operator}` offline, so it cannot check {file}; import the \
                     documents into a server and name its connection string, because the server can"
                );
            }
            None
        }
    };
    let filter = schema.validator.clone();
    Ok(Check { filter, validator, examples })
}

/// Checks documents against a schema. If the schema names a collection, only that collection is
/// checked.
pub(super) fn hold(
    request: &Request,
    schema: &Loaded,
    examples: u64,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> anyhow::Result<Collected> {
    let mut request = Request {
        check: Some(prepared(schema, &request.sources, examples)?),
        documents_only: true,
        server_workload: false,
        full: true,
        sample: None,
        ..request.clone()
    };
    if let Some(namespace) = &schema.namespace
        && request.namespace.is_none()
    {
        request.filter = only(namespace)?;
    }
    Ok(collect(&request, progress, interrupt.stop()))
}

/// Returns the result for one collection.
pub(super) fn of_collection(collected: Collected, namespace: &Namespace) -> Option<Checked> {
    let mut collections = collected.evidence.collections.into_iter();
    Some(*collections.find(|collection| collection.namespace == *namespace)?.checked?)
}

/// Returns a filter for one collection.
pub(super) fn only(namespace: &Namespace) -> anyhow::Result<Filter> {
    let escaped = |text: &str| -> String {
        text.chars()
            .flat_map(|c| {
                let is_special = matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\');
                is_special.then_some('\\').into_iter().chain([c])
            })
            .collect()
    };
    let pattern = |text: &str| {
        NamespacePattern::new(text).map_err(|message| anyhow::anyhow!("{text}: {message}"))
    };
    Ok(Filter {
        database: Some(pattern(&escaped(&namespace.database))?),
        collection: Some(pattern(&escaped(&namespace.collection))?),
    })
}

/// Combines two readings of the same sources with different collections.
fn joined(mut before: Collected, other: Collected) -> Collected {
    before.evidence.absorb(other.evidence);
    for (source, more) in before.sources.iter_mut().zip(other.sources) {
        source.documents += more.documents;
        source.bytes += more.bytes;
    }
    for problem in other.problems {
        if !before.problems.contains(&problem) {
            before.problems.push(problem);
        }
    }
    before.interrupted |= other.interrupted;
    before
}
