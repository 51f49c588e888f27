//! `docward design init`: a model file to start from.

use anyhow::bail;
use clap::Args;
use docward_collect::{collect, read_logs};
use docward_design::{STARTER, starter_from};

use crate::{
    CLEAN, PROBLEMS, args::ReadingArgs, audit, complain, interrupt::Interrupt, progress::Bar, put,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward design init > shop.yaml
  docward design init --from dump/ --output shop.yaml
  docward design init --from \"$MONGODB_URI\" --db db_shop --output shop.yaml
  docward design init --from dump/ --log mongod.log --output shop.yaml

What data cannot answer stands in the file as a question (`# ?`).";

/// Where the model comes from.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Fill it in from data: everything that `audit` reads
    #[arg(long, value_name = "SOURCE", num_args = 1..)]
    from: Vec<String>,

    /// With --from: a structured mongod or mongos log (4.4 and later, also .gz) that shows the workload; without
    /// one, a running server is asked
    #[arg(long, value_name = "FILE", requires = "from")]
    log: Vec<String>,

    /// Write over a file that is there
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    reading: ReadingArgs,
}

/// Runs the command.
pub(super) fn init(args: &InitArgs) -> anyhow::Result<u8> {
    let output = args.reading.output.as_deref();
    if let Some(path) = output.filter(|path| path.exists() && !args.force) {
        bail!("{} is there already; --force writes over it", path.display());
    }
    if args.from.is_empty() {
        let today = audit::today().unwrap_or_else(|| "2026-01-01".to_owned());
        put(&STARTER.replace("as-of: 2026-01-01", &format!("as-of: {today}")), output)?;
        return Ok(CLEAN);
    }
    let mut request = audit::reading(&args.from, &args.reading)?;
    // The same operations would be counted twice.
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
    for problem in &collected.problems {
        complain(&format!("{}: {}", problem.source, problem.message));
    }
    let evidence = &collected.evidence;
    if evidence.collections.iter().all(|c| c.profile.is_none()) {
        bail!("there are no documents to fill a model in from");
    }
    let text = starter_from(evidence, audit::today().as_deref());
    put(&text, output)?;
    if let Some(path) = output {
        let shown = path.display();
        let questions = text.matches("# ?").count();
        complain(&format!(
            "{shown}: {questions} questions are marked `# ?`; then run docward design {shown}"
        ));
    }
    Ok(if collected.problems.is_empty() && !collected.interrupted { CLEAN } else { PROBLEMS })
}
