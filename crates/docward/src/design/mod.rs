//! `docward design`: turns a declared model into decisions, and decisions into files.

mod ask;
mod check;
mod declared;
mod init;
mod rule_book;
mod simulate;
mod sql;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use docward_config::FailOn;
use docward_design::{Bounds, CheckId, Design, Verdict, design as decide, pools};
use docward_model::{DesignModel, ProfileName, Settings, Severity};
use docward_report::{Detail, Format, Look, design_pictures, design_report};

use crate::{
    args::{PICTURES, formats, hidden, profiles, severities},
    config,
    model_file::{print_faults, read_model},
    terminal::{CLEAN, Color, FINDINGS, PROBLEMS, complain, put},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward design shop.yaml                      verdicts, documents, indexes and costs
  docward design shop.yaml --explain            every vote and the cost of each operation
  docward design shop.yaml --brief              verdicts only
  docward design shop.yaml --format html --output shop.html
  docward design shop.yaml --brief --emit shop/ scripts, validators, statements and pictures
  docward design init > shop.yaml               a model to start from
  docward design init --from dump/ > shop.yaml  filled in from data
  docward design check shop.yaml dump/          whether data still follows the model
  docward design simulate shop.yaml --server mongodb://127.0.0.1/ --yes
  docward design shop.yaml --format json | jq '.decisions[] | {relationship, verdict, pattern}'

docs/design.md explains the method, docs/design-model.md every key of a model file.

Exit codes: 0 all decided, 1 a question is open or a mandatory check fails, 2 the model cannot be \
 read.";

/// The model to design, and its outputs.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct DesignArgs {
    #[command(subcommand)]
    command: Option<DesignCommand>,

    #[command(flatten)]
    shown: ShowArgs,
}

/// The commands in addition to the design itself.
#[derive(Debug, Subcommand)]
enum DesignCommand {
    /// Write a model to start from: a commented template, or one filled in from data
    #[command(after_help = init::EXAMPLES)]
    Init(Box<init::InitArgs>),
    /// Answer questions to get a model and its design
    #[command(after_help = ask::EXAMPLES)]
    Ask(ask::AskArgs),
    /// Compare a model with data: fields, numbers of children, sizes, rates
    #[command(after_help = check::EXAMPLES, mut_args = hidden(&check::OF_AUDIT_ONLY))]
    Check(Box<check::CheckArgs>),
    /// Build each storage alternative on a server, run the declared operations, and compare with
    /// the predictions
    #[command(after_help = simulate::EXAMPLES)]
    Simulate(simulate::SimulateArgs),
}

/// A model and how its design is shown.
#[derive(Args, Debug)]
struct ShowArgs {
    /// The model: a YAML file, or - for standard input
    #[arg(value_name = "MODEL.yaml", required = true)]
    model: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_parser = formats(&PICTURES), default_value = "terminal")]
    format: Format,

    /// Write the output to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print verdicts without documents and costs
    #[arg(long)]
    brief: bool,

    /// Print every vote with its clauses, the cost of each operation, and each check
    #[arg(long, conflicts_with = "brief")]
    explain: bool,

    /// Write the design to a directory: mongosh scripts, validators, statements, a test that runs
    /// them, diagrams and a README
    #[arg(long, value_name = "DIR")]
    emit: Option<PathBuf>,

    /// With --emit: overwrite existing files
    #[arg(long, requires = "emit")]
    force: bool,

    /// Exit with 1 for failures of this severity or higher: error for open questions and mandatory
    /// checks, warning for recommended checks
    #[arg(long, value_parser = severities(), default_value = "error")]
    fail_on: FailOn,

    #[command(flatten)]
    house: HouseArgs,
}

/// The options of every design: settings, naming, colours.
#[derive(Args, Debug)]
struct HouseArgs {
    /// Rule preset: `vendor` uses house names (db_, t_), `neutral` does not (default: as configured)
    #[arg(long, value_parser = profiles())]
    profile: Option<ProfileName>,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    color: Color,
}

impl HouseArgs {
    /// Returns the requested profile, or the one of the settings near the model.
    fn profile(&self, model: &Path) -> anyhow::Result<ProfileName> {
        Ok(self.profile.unwrap_or(self.settings(model)?.profile))
    }

    /// Returns the settings near the model.
    fn settings(&self, model: &Path) -> anyhow::Result<Settings> {
        config::settings(self.config.as_deref(), &[model.display().to_string()])
    }

    /// Returns how text for people looks.
    fn look(&self, to_file: bool) -> Look {
        let color = crate::terminal::wants_color(self.color, to_file);
        Look { color, width: crate::terminal::terminal_width() }
    }
}

/// Runs the command.
pub(crate) fn design(args: DesignArgs) -> anyhow::Result<u8> {
    match args.command {
        Some(DesignCommand::Init(args)) => init::init(&args),
        Some(DesignCommand::Ask(args)) => ask::ask(&args),
        Some(DesignCommand::Check(args)) => check::check(*args),
        Some(DesignCommand::Simulate(args)) => simulate::simulate(&args),
        None => show(&args.shown),
    }
}

fn show(args: &ShowArgs) -> anyhow::Result<u8> {
    let Some(file) = &args.model else { bail!("name a model file") };
    let Some((model, mut design, profile)) = designed(file, &args.house)? else {
        return Ok(PROBLEMS);
    };
    for refusal in docward_design::maintain::refusals(&model, &design, profile) {
        let of_relationship = design.decisions.iter_mut().find(|d| d.relationship == refusal.about);
        let of_entity = design.entities.iter_mut().find(|advice| advice.entity == refusal.about);
        let remarks = of_relationship.map(|decision| &mut decision.remarks);
        if let Some(remarks) = remarks.or(of_entity.map(|advice| &mut advice.remarks)) {
            remarks.push(refusal.sentence);
        }
    }
    let look = args.house.look(args.output.is_some());
    let detail = match (args.brief, args.explain) {
        (true, _) => Detail::Brief,
        (_, true) => Detail::Explained,
        _ => Detail::Usual,
    };
    let report = design_report(&design, &pools(&model), args.format, look, detail);
    put(&report, args.output.as_deref())?;
    if let Some(directory) = &args.emit {
        emit(directory, args.force, &model, &design, profile)?;
    }
    Ok(exit_code(&design, args.fail_on))
}

/// Writes the files of a design. Writes nothing if one of them already exists.
fn emit(
    directory: &Path,
    force: bool,
    model: &DesignModel,
    design: &Design,
    profile: ProfileName,
) -> anyhow::Result<()> {
    let mut files = docward_design::emit::files(model, design, profile);
    let pictures = design_pictures(design).into_iter();
    files.extend(pictures.map(|(name, text)| (name.to_owned(), text)));
    let there = files.iter().map(|(name, _)| directory.join(name)).find(|path| path.exists());
    if let Some(path) = there.filter(|_| !force) {
        bail!("{} exists already; --force overwrites it", path.display());
    }
    for (name, text) in &files {
        let path = directory.join(name);
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create the directory {}", parent.display()))?;
        put(text, Some(&path))?;
    }
    let shown = directory.display();
    complain(&format!("{shown}: {} files; begin with {shown}/README.md", files.len()));
    for refusal in docward_design::maintain::refusals(model, design, profile) {
        complain(&refusal.sentence);
    }
    Ok(())
}

/// Reads a model and designs it. Names that the design would use twice are reported like other
/// mistakes of the file.
fn designed(
    file: &Path,
    house: &HouseArgs,
) -> anyhow::Result<Option<(DesignModel, Design, ProfileName)>> {
    let Some(model) = read_model(file)? else { return Ok(None) };
    let profile = house.profile(file)?;
    let mut design = decide(&model, profile, &Bounds::default());
    rule_book::apply(&model, &house.settings(file)?, &mut design);
    let clashes = docward_design::clashes(&model, &design, profile);
    if !clashes.is_empty() {
        print_faults(&clashes);
        return Ok(None);
    }
    Ok(Some((model, design, profile)))
}

/// Checklist items that are only recommendations.
const RECOMMENDED: [CheckId; 5] =
    [CheckId::SingleReads, CheckId::Aggregates, CheckId::Depth, CheckId::Names, CheckId::Types];

fn exit_code(design: &Design, fail_on: FailOn) -> u8 {
    let open = design.decisions.iter().any(|decision| decision.verdict == Verdict::Undecided)
        || !design.questions().is_empty();
    let failed = |recommended: bool| {
        design.checks.iter().any(|check| {
            check.holds == Some(false) && RECOMMENDED.contains(&check.id) == recommended
        })
    };
    let bad = match fail_on {
        FailOn::Never => false,
        FailOn::AtLeast(Severity::Error) => open || failed(false),
        FailOn::AtLeast(Severity::Warn | Severity::Info) => open || failed(false) || failed(true),
    };
    if bad { FINDINGS } else { CLEAN }
}
