//! `docward design init`: a model file to start from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use docward_collect::{collect, read_logs};
use docward_design::{LooksLikeSeries, STARTER, starter_declared, starter_from};
use docward_model::{Collection, Evidence, Namespace};
use docward_rules::facts::growth::series::{self, Limits};

use super::declared;
use crate::{
    args::ReadingArgs,
    config,
    interrupt::Interrupt,
    progress::Bar,
    reading, run,
    terminal::{CLEAN, PROBLEMS, complain, put, tell},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward design init > shop.yaml
  docward design init --from dump/ --output shop.yaml
  docward design init --from \"$MONGODB_URI\" --db db_shop --output shop.yaml
  docward design init --from dump/ --log mongod.log --output shop.yaml
  docward design init --from models/order.js models/user.js --output shop.yaml
  docward design init --from schema.sql --output shop.yaml

Facts that the source cannot show are questions in the file (`# ?`).";

/// The source of the model.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Fill in the model from any source of `docward audit`, from models in code, or from SQL.
    /// Models are those of Mongoose, Prisma, Pydantic, Go, Spring, PHP and C#; SQL files have
    /// `CREATE TABLE` statements
    #[arg(long, value_name = "SOURCE", num_args = 1..)]
    from: Vec<String>,

    /// With --from: structured mongod or mongos log (4.4 and later, also .gz) that shows the
    /// workload. Without a log, Docward asks a running server
    #[arg(long, value_name = "FILE", requires = "from")]
    log: Vec<String>,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    reading: ReadingArgs,
}

/// The limits for asking about a collection. They are far below those of a finding.
const LIMITS: Limits =
    Limits { documents: 500, per_series: 50.0, mean_bytes: 1024, presence: 0.99 };

/// Returns collections that look like readings over time (ALG-8).
fn readings(evidence: &Evidence) -> BTreeMap<Namespace, LooksLikeSeries> {
    let looks = |collection: &Collection| {
        let profile = collection.profile.as_ref()?;
        let found = series::classify(collection, profile, &LIMITS)?;
        let seconds = (found.hours * 3600.0).max(1.0);
        let looks = LooksLikeSeries {
            time: found.time.path.dotted(),
            id: found.id.path.dotted(),
            // A span of n readings has n - 1 intervals.
            per_second: (found.documents as f64 / found.series.max(1) as f64 - 1.0).max(1.0)
                / seconds,
            series: found.series,
        };
        // A model needs top-level fields here, not fields of nested objects.
        let is_plain = |path: &str| !path.contains('.');
        (is_plain(&looks.time) && is_plain(&looks.id))
            .then(|| (collection.namespace.clone(), looks))
    };
    evidence.collections.iter().filter_map(looks).collect()
}

/// Runs the command.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<u8> {
    let output = args.reading.output.as_deref();
    if let Some(path) = output.filter(|path| path.exists() && !args.force) {
        bail!("{} exists already; --force overwrites it", path.display());
    }
    if args.from.is_empty() {
        let today = config::today().unwrap_or_else(|| "2026-01-01".to_owned());
        put(&STARTER.replace("as-of: 2026-01-01", &format!("as-of: {today}")), output)?;
        return Ok(CLEAN);
    }
    if let Some(entities) = declared::entities(&args.from)? {
        let first = Path::new(&args.from[0]).file_stem().and_then(|stem| stem.to_str());
        let name = first.unwrap_or("model");
        let text = starter_declared(name, &entities, config::today().as_deref());
        return written(&text, output);
    }
    let mut request = reading::reading(&args.from, &args.reading)?;
    // Logs and the server may record the same operations, so reading both would count them twice.
    request.server_workload = args.log.is_empty();
    let interrupt = Interrupt::listen();
    let bar = Bar::new(!args.reading.no_progress);
    let mut collected = collect(&request, &bar, interrupt.stop());
    let logs = read_logs(&args.log, &bar, interrupt.stop());
    collected.evidence.workload = logs.workload.or(collected.evidence.workload);
    collected.problems.extend(logs.problems);
    for note in bar.finish() {
        complain(&format!("note: {note}"));
    }
    let evidence = &collected.evidence;
    let has_none = evidence.collections.iter().all(|c| c.profile.is_none());
    if has_none && !collected.problems.is_empty() {
        return Ok(run::refuse(&collected.problems));
    }
    for problem in &collected.problems {
        tell(&format!("{}: {}", problem.source, problem.message));
    }
    if has_none {
        bail!("the source has no documents to fill in a model from");
    }
    let text = starter_from(evidence, config::today().as_deref(), &readings(evidence));
    written(&text, output)?;
    Ok(if collected.problems.is_empty() && !collected.interrupted { CLEAN } else { PROBLEMS })
}

/// Prints a model, or writes it to a file and explains the next step.
fn written(text: &str, output: Option<&Path>) -> anyhow::Result<u8> {
    put(text, output)?;
    if let Some(path) = output {
        let shown = path.display();
        let questions = text.matches("# ?").count();
        complain(&format!(
            "{shown}: answer the questions marked `# ?` ({questions}), then run docward design \
             {shown}"
        ));
    }
    Ok(CLEAN)
}
