//! `docward design simulate`: the ways to store a relationship, measured on a running server.

use std::{path::PathBuf, sync::atomic::Ordering};

use anyhow::bail;
use clap::{Args, ValueEnum};
use docward_collect::Progress as _;
use docward_design::{Naming, Way, nearest};
use docward_model::{DesignModel, Namespace, text};
use docward_refactor::{Operator, SimulationPlan, Trouble};
use docward_report::{Shape, simulation_report};

use super::{HouseArgs, designed};
use crate::{CLEAN, PROBLEMS, complain, interrupt::Interrupt, progress::Bar, put};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward design simulate shop.yaml --uri mongodb://127.0.0.1/           what would be done
  docward design simulate shop.yaml --uri mongodb://127.0.0.1/ --yes     do it
  docward design simulate blog.yaml --uri mongodb://127.0.0.1/ --relationship post.comments --parents 5000 --yes
  docward design simulate shop.yaml --uri mongodb://127.0.0.1/ --yes --format json | jq '.relationships[].ranking'

It writes to a database of its own, docward_simulate_…, which did not exist before, and drops it at the end,
also after a failure, Ctrl-C and SIGTERM. docs/design-simulate.md explains the figures.

Exit codes: 0 measured (or shown, without --yes), 2 it could not be done.";

/// More bytes than this in one way are refused.
const MOST_BYTES: u64 = 8 << 30;
/// More documents than this in one way are refused.
const MOST_DOCUMENTS: u64 = 50_000_000;
/// More parents or operations than this are refused.
const MOST: u64 = 1_000_000;

/// Shapes of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Terminal,
    Json,
    Markdown,
}

/// What is simulated, where, and how large.
#[derive(Args, Debug)]
pub(super) struct SimulateArgs {
    /// The model: a YAML file, or - for standard input
    #[arg(value_name = "MODEL.yaml")]
    model: PathBuf,

    /// The server; an account that may make and drop a database
    #[arg(long, value_name = "URI")]
    uri: String,

    /// Only this relationship; can be repeated
    #[arg(long, value_name = "NAME")]
    relationship: Vec<String>,

    /// Parents that are stored for each relationship
    #[arg(long, value_name = "N", default_value_t = 1000)]
    parents: u64,

    /// Operations that are run on each way
    #[arg(long, value_name = "N", default_value_t = 2000)]
    operations: u64,

    /// The same seed makes the same documents and chooses the same parents
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Shape of the answer
    #[arg(long, value_enum, default_value_t = Format::Terminal)]
    format: Format,

    /// Write it to a file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Keep the scratch database after success
    #[arg(long)]
    keep: bool,

    /// Do it; without it is only told what would be done
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    house: HouseArgs,
}

/// Runs the command.
pub(super) fn simulate(args: &SimulateArgs) -> anyhow::Result<u8> {
    for (name, number) in [("--parents", args.parents), ("--operations", args.operations)] {
        if number == 0 || number > MOST {
            bail!("{name} is {number}; choose a number from 1 to {}", text::count(MOST));
        }
    }
    let Some((model, design, profile)) = designed(&args.model, &args.house)? else {
        return Ok(PROBLEMS);
    };
    known(&model, &args.relationship)?;
    let scale = (args.parents, args.operations, args.seed);
    let naming = Naming::of(&model, profile);
    let plan = SimulationPlan::new(&model, &design, naming, &args.relationship, scale);
    if plan.relationships.is_empty() {
        for (name, why) in &plan.skipped {
            complain(&format!("docward: {name}: {why}"));
        }
        bail!("the model has no relationship that can be simulated");
    }
    refuse_huge(&plan)?;
    let interrupt = Interrupt::listen();
    let operator = Operator::connect(&args.uri)?;
    let database = Operator::scratch_name();
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
            "the account may not {} on a new database; it needs readWriteAnyDatabase and dbAdminAnyDatabase, which an application's account has not (GC-33)",
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
    bar.total_bytes(plan.relationships.iter().flat_map(|r| r.sizes()).map(|(_, _, b)| b).sum());
    let progress = |bytes: u64, documents: u64| bar.advance(bytes, documents);
    let (outcome, left) =
        operator.simulate(&plan, &database, args.keep, interrupt.stop(), &progress);
    bar.finish();
    if let Some(why) = &left {
        complain(&docward_uri::redact(&format!(
            "docward: the scratch database {database} is still there, drop it by hand: {why}"
        )));
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
    let shape = match args.format {
        Format::Terminal => Shape::Terminal,
        Format::Json => Shape::Json,
        Format::Markdown => Shape::Markdown,
    };
    let look = args.house.look(args.output.is_some());
    put(&simulation_report(&simulation, shape, look), args.output.as_deref())?;
    // What could not be removed is a problem, whatever was measured.
    let stopped = interrupt.stop().load(Ordering::Relaxed);
    Ok(if left.is_some() || stopped { PROBLEMS } else { CLEAN })
}

/// Refuses names that the model does not have.
fn known(model: &DesignModel, names: &[String]) -> anyhow::Result<()> {
    let all: Vec<&str> = model.relationships.iter().map(|r| r.name.as_str()).collect();
    for name in names {
        if !all.contains(&name.as_str()) {
            let hint = match nearest(name, all.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are {}", text::list(&all, 10)),
            };
            bail!("the model has no relationship `{name}`; {hint}");
        }
    }
    Ok(())
}

fn refuse_huge(plan: &SimulationPlan<'_>) -> anyhow::Result<()> {
    let mut huge = Vec::new();
    for planned in &plan.relationships {
        for (way, documents, bytes) in planned.sizes() {
            if bytes > MOST_BYTES || documents > MOST_DOCUMENTS {
                huge.push(format!(
                    "{} ({}): {}",
                    planned.name(),
                    way.name(),
                    size(documents, bytes)
                ));
            }
        }
    }
    if huge.is_empty() {
        return Ok(());
    }
    bail!(
        "too large to be stored for a trial (at most {} or {} a way): {}; choose fewer --parents, or others by --relationship",
        text::bytes(MOST_BYTES),
        size_of_documents(MOST_DOCUMENTS),
        huge.join("; ")
    )
}

fn size_of_documents(documents: u64) -> String {
    text::plural(documents, "document")
}

fn size(documents: u64, bytes: u64) -> String {
    format!("{}, {}", size_of_documents(documents), text::bytes(bytes))
}

/// What would be done.
fn intended(
    args: &SimulateArgs,
    plan: &SimulationPlan<'_>,
    server: &str,
    database: &str,
) -> String {
    let mut rows: Vec<(String, Way, u64, u64)> = Vec::new();
    for planned in &plan.relationships {
        let sizes = planned.sizes().into_iter();
        rows.extend(sizes.map(|(way, docs, bytes)| (planned.name().to_owned(), way, docs, bytes)));
    }
    if args.format == Format::Json {
        let value = serde_json::json!({
            "version": 1,
            "dryRun": true,
            "server": server,
            "database": database,
            "operations": plan.operations,
            "seed": plan.seed,
            "stores": rows.iter().map(|(name, way, documents, bytes)| serde_json::json!({
                "relationship": name, "way": way.name(), "documents": documents, "bytes": bytes,
            })).collect::<Vec<_>>(),
            "skipped": plan.skipped.iter().map(|(name, why)| serde_json::json!({
                "relationship": name, "why": why,
            })).collect::<Vec<_>>(),
        });
        return format!("{value:#}\n");
    }
    let mut out = format!(
        "{server} would get a scratch database like {database}, with one relationship after the other:\n"
    );
    for (name, way, documents, bytes) in &rows {
        out += &format!("  {name} ({}): {}\n", way.name(), size(*documents, *bytes));
    }
    out += &format!(
        "about {} would be run on each, and the database dropped{}\n",
        text::plural(plan.operations, "operation"),
        if args.keep { " by you, because of --keep" } else { "" }
    );
    for (name, why) in &plan.skipped {
        out += &format!("not simulated: {name}: {why}\n");
    }
    out + "nothing was written; run again with --yes\n"
}
