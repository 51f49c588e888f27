//! The `docward` binary: takes arguments, prints reports and returns exit codes. Only this crate
//! prints, reads the environment or exits; all other code is in the library crates.

mod args;
mod audit;
mod baseline;
mod cli;
mod config;
mod connect;
mod design;
mod diff;
mod example;
mod excerpt;
mod explain;
mod fix;
mod generated;
mod guard;
mod ids;
mod init;
mod interrupt;
mod lint;
mod model_file;
mod output;
mod progress;
mod reading;
mod renamed;
mod rules;
mod run;
mod schema;
mod secrets;
mod shardkey;
mod source_code;
mod terminal;
mod usage;

use std::process::ExitCode;

use audit::Shown;
use clap::Parser;

use crate::terminal::{CLEAN, PROBLEMS, complain};

fn main() -> ExitCode {
    secrets::remember(std::env::args_os().skip(1).chain(std::env::var_os(reading::VARIABLE)));
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let error = usage::with_tip(error, std::env::args_os().skip(1));
            let text = error.to_string();
            // Usage errors repeat arguments, and an argument may hold a password.
            if error.use_stderr() && secrets::in_message(&text) != text {
                complain(text.trim_end());
                return ExitCode::from(PROBLEMS);
            }
            error.exit()
        }
    };
    renamed::note_old_names(std::env::args_os().skip(1));
    let outcome = match cli.command {
        cli::Command::Audit(args) => audit::audit(args, Shown::Findings),
        cli::Command::Checklist(args) if args.security => {
            audit::audit(args.audit, Shown::SecurityCheck)
        }
        cli::Command::Checklist(args) => audit::audit(args.audit, Shown::Checklists),
        cli::Command::ShardKey(args) => shardkey::shardkey(args),
        cli::Command::Schema(mut args) => schema::schema(&mut args),
        cli::Command::Lint(args) => lint::lint(&args),
        cli::Command::Connect(args) => connect::connect(&args),
        cli::Command::Design(args) => design::design(args),
        cli::Command::Guard(args) => guard::guard(&args),
        cli::Command::Rules(args) => rules::rules(&args),
        cli::Command::Init(args) => init::init(&args),
        cli::Command::Diff(args) => diff::diff(&args),
        cli::Command::Explain(args) => explain::explain(&args),
        cli::Command::Completions(args) => generated::completions(&args),
        cli::Command::Man(args) => generated::man(&args),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::from(CLEAN),
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::from(PROBLEMS)
        }
    }
}

/// A closed pipe is not a failure, as with `| head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}
