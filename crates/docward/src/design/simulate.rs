//! `docward design simulate`: measures the alternatives for storing a relationship or a series on a
//! running server.

use std::{path::PathBuf, sync::atomic::Ordering};

use anyhow::bail;
use clap::Args;
use docward_collect::Progress as _;
use docward_design::{Naming, nearest};
use docward_model::{Namespace, text};
use docward_refactor::{Operator, Trouble};
use docward_report::{Format, simulation_report};
use docward_simulate::{MAX_BYTES, MAX_DOCUMENTS, Scale, SimulationPlan, scratch_name};

use super::{HouseArgs, designed};
use crate::{
    args::{TABLES, formats},
    interrupt::Interrupt,
    progress::Bar,
    secrets,
    terminal::{CLEAN, PROBLEMS, complain, put},
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward design simulate shop.yaml --server mongodb://127.0.0.1/           shows the plan
  docward design simulate shop.yaml --server mongodb://127.0.0.1/ --yes     runs it
  docward design simulate blog.yaml --server mongodb://127.0.0.1/ --relationship post.comments --parents 5000 --yes
  docward design simulate iot.yaml --server mongodb://127.0.0.1/ --series reading --readings 1000000 --yes
  docward design simulate shop.yaml --server mongodb://127.0.0.1/ --yes --format json | jq '.relationships[].ranking'

The command creates a scratch database, docward_simulate_…, and drops it at the end. It does so \
 after a failure, Ctrl-C or SIGTERM as well. docs/design-simulate.md explains the figures.

Exit codes: 0 measured, or plan shown (without --yes), 2 the command could not run.";

/// The maximum number of parents or operations.
const MAX_COUNT: u64 = 1_000_000;
/// The maximum number of readings.
const MAX_READINGS: u64 = 20_000_000;

/// The model to simulate, its target and its size.
#[derive(Args, Debug)]
pub(super) struct SimulateArgs {
    /// The model: a YAML file, or - for standard input
    #[arg(value_name = "MODEL.yaml")]
    model: PathBuf,

    /// Connection string of the server. Its account must be allowed to create and drop a database
    #[arg(long, alias = "uri", value_name = "URI")]
    server: String,

    /// Simulate only this relationship; can be repeated
    #[arg(long, value_name = "NAME")]
    relationship: Vec<String>,

    /// Simulate only this series, an entity with `series`; can be repeated
    #[arg(long, value_name = "ENTITY")]
    series: Vec<String>,

    /// Number of parents for each relationship, and maximum number of series of an entity
    #[arg(long, value_name = "N", default_value_t = 1000)]
    parents: u64,

    /// Number of readings for each entity with a series
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    readings: u64,

    /// Number of operations for each alternative
    #[arg(long, value_name = "N", default_value_t = 2000)]
    operations: u64,

    /// Random seed. The same seed generates the same documents and chooses the same parents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Output format
    #[arg(short, long, value_parser = formats(&TABLES), default_value = "terminal")]
    format: Format,

    /// Write the output to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep the scratch database after success
    #[arg(long)]
    keep: bool,

    /// Run the simulation; without --yes, the command only shows the plan
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    house: HouseArgs,
}

/// Runs the command.
pub(super) fn simulate(args: &SimulateArgs) -> anyhow::Result<u8> {
    for (name, number) in [("--parents", args.parents), ("--operations", args.operations)] {
        if number == 0 || number > MAX_COUNT {
            bail!("{name} is {number}; choose a number from 1 to {}", text::count(MAX_COUNT));
        }
    }
    if args.readings == 0 || args.readings > MAX_READINGS {
        let most = text::count(MAX_READINGS);
        bail!("--readings is {}; choose a number from 1 to {most}", args.readings);
    }
    let Some((model, design, profile)) = designed(&args.model, &args.house)? else {
        return Ok(PROBLEMS);
    };
    let relationships: Vec<&str> = model.relationships.iter().map(|r| r.name.as_str()).collect();
    known("relationship", &relationships, &args.relationship)?;
    let series = model.entities.iter().filter(|entity| entity.series.is_some());
    let series: Vec<&str> = series.map(|entity| entity.name.as_str()).collect();
    known("series", &series, &args.series)?;
    let scale = Scale {
        parents: args.parents,
        readings: args.readings,
        operations: args.operations,
        seed: args.seed,
    };
    let naming = Naming::of(&model, profile);
    let names: Vec<String> = args.relationship.iter().chain(&args.series).cloned().collect();
    let plan = SimulationPlan::new(&model, &design, naming, &names, scale);
    if plan.relationships.is_empty() && plan.series.is_empty() {
        for (name, why) in &plan.skipped {
            complain(&format!("docward: {name}: {why}"));
        }
        bail!("the model has no relationship and no series that can be simulated");
    }
    refuse_huge(&plan)?;
    secrets::expect_connection_string(&args.server, "--server")?;
    let interrupt = Interrupt::listen();
    let operator = Operator::connect(&args.server)?;
    let database = scratch_name();
    let actions = [
        "listCollections",
        "createCollection",
        "createIndex",
        "insert",
        "update",
        "remove",
        "find",
        "collStats",
        "dropCollection",
        "dropDatabase",
    ];
    let missing = operator.missing(&Namespace::new(&database, ""), &actions)?;
    if !missing.is_empty() {
        let actions: Vec<_> = missing.iter().map(|missing| missing.action).collect();
        bail!(
            "the account may not {} on a new database; it needs readWriteAnyDatabase and \
             dbAdminAnyDatabase, which an application's account does not have (GC-33)",
            actions.join(", ")
        );
    }
    if !args.yes {
        put(&intended(args, &plan, &operator.name, &database), args.output.as_deref())?;
        return Ok(CLEAN);
    }
    for (name, why) in &plan.skipped {
        complain(&format!("not simulated: {name}: {why}"));
    }
    complain(&format!("scratch database {database}"));
    let bar = Bar::new(true);
    bar.total_bytes(stores(&plan).iter().map(|(_, _, _, bytes)| bytes).sum());
    let progress = |bytes: u64, documents: u64| bar.advance(bytes, documents);
    let (outcome, left) = docward_simulate::simulate(
        &operator,
        &plan,
        &database,
        args.keep,
        interrupt.stop(),
        &progress,
    );
    bar.finish();
    if let Some(why) = &left {
        complain(&format!(
            "docward: the scratch database {database} still exists; drop it by hand: {why}"
        ));
    }
    let simulation = match outcome {
        Ok(simulation) => simulation,
        Err(trouble) => {
            if left.is_none() && !matches!(trouble, Trouble::DatabaseExists(_)) {
                complain(&format!("docward: the scratch database {database} was dropped"));
            }
            return Err(trouble.into());
        }
    };
    let look = args.house.look(args.output.is_some());
    put(&simulation_report(&simulation, args.format, look), args.output.as_deref())?;
    // Data that could not be removed is a problem, whatever the measurements are.
    let stopped = interrupt.stop().load(Ordering::Relaxed);
    Ok(if left.is_some() || stopped { PROBLEMS } else { CLEAN })
}

/// Refuses names that are missing in the model.
fn known(what: &str, all: &[&str], names: &[String]) -> anyhow::Result<()> {
    for name in names {
        if !all.contains(&name.as_str()) {
            let hint = match nearest(name, all.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if all.is_empty() => "it has none".to_owned(),
                None => format!("there are {}", text::list(all, 10)),
            };
            bail!("the model has no {what} `{name}`; {hint}");
        }
    }
    Ok(())
}

/// Returns the planned storage: the relationship or series, the alternative, documents and bytes.
fn stores<'p>(plan: &'p SimulationPlan<'_>) -> Vec<(&'p str, &'static str, u64, u64)> {
    let relationships = plan.relationships.iter().map(|planned| (planned.name(), planned.sizes()));
    let series = plan.series.iter().map(|planned| (planned.name(), planned.sizes()));
    let all = relationships.chain(series);
    all.flat_map(|(name, sizes)| {
        sizes.into_iter().map(move |(way, documents, bytes)| (name, way, documents, bytes))
    })
    .collect()
}

fn refuse_huge(plan: &SimulationPlan<'_>) -> anyhow::Result<()> {
    let mut huge = Vec::new();
    for (name, way, documents, bytes) in stores(plan) {
        if bytes > MAX_BYTES || documents > MAX_DOCUMENTS {
            huge.push(format!("{name} ({way}): {}", size(documents, bytes)));
        }
    }
    if huge.is_empty() {
        return Ok(());
    }
    bail!(
        "too large to simulate (limit {} or {} per alternative): {}; use fewer --readings, or \
         select others with --relationship or --series",
        text::bytes(MAX_BYTES),
        size_of_documents(MAX_DOCUMENTS),
        huge.join("; ")
    )
}

fn size_of_documents(documents: u64) -> String {
    text::plural(documents, "document")
}

fn size(documents: u64, bytes: u64) -> String {
    format!("{}, {}", size_of_documents(documents), text::bytes(bytes))
}

/// Describes the intended actions of the command.
fn intended(
    args: &SimulateArgs,
    plan: &SimulationPlan<'_>,
    server: &str,
    database: &str,
) -> String {
    let rows = stores(plan);
    let notes = plan.relationships.iter().flat_map(|planned| {
        planned.notes().iter().map(move |note| (planned.name(), note.as_str()))
    });
    if args.format == Format::Json {
        let value = serde_json::json!({
            "version": 1,
            "dryRun": true,
            "server": server,
            "database": database,
            "operations": args.operations,
            "seed": args.seed,
            "stores": rows.iter().map(|(name, way, documents, bytes)| serde_json::json!({
                "relationship": name, "way": way, "documents": documents, "bytes": bytes,
            })).collect::<Vec<_>>(),
            "skipped": plan.skipped.iter().map(|(name, why)| serde_json::json!({
                "relationship": name, "why": why,
            })).collect::<Vec<_>>(),
            "notes": notes.map(|(name, note)| serde_json::json!({
                "relationship": name, "note": note,
            })).collect::<Vec<_>>(),
        });
        return format!("{value:#}\n");
    }
    let mut out = format!(
        "This run would create a scratch database such as {database} on {server}, and store one \
         alternative after the other:\n"
    );
    for (name, way, documents, bytes) in &rows {
        out += &format!("  {name} ({way}): {}\n", size(*documents, *bytes));
    }
    out += &format!(
        "It would run about {} on each alternative{}.\n",
        text::plural(args.operations, "operation"),
        if args.keep { " and keep the database" } else { ", then drop the database" }
    );
    for (name, note) in notes {
        out += &format!("{name}: {note}\n");
    }
    for (name, why) in &plan.skipped {
        out += &format!("not simulated: {name}: {why}\n");
    }
    out + "nothing was written; run again with --yes\n"
}
