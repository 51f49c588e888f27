//! The `docward` binary: arguments in, printed reports and exit codes out. Everything else lives in
//! the crates below; this is the only place that prints, reads the environment or exits.

mod args;
mod audit;
mod baseline;
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
mod output;
mod progress;
mod renamed;
mod rules;
mod schema;
mod secrets;
mod shardkey;
mod usage;

use std::{io::Write, process::ExitCode};

use audit::Shown;
use clap::Parser;

/// Nothing at or above `--fail-on`.
const CLEAN: u8 = 0;
/// Findings at or above `--fail-on`.
const FINDINGS: u8 = 1;
/// Could not run, or ran with problems.
const PROBLEMS: u8 = 2;

fn main() -> ExitCode {
    secrets::remember(std::env::args_os().skip(1));
    let cli = match args::Cli::try_parse() {
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
        args::Command::Audit(args) => audit::audit(args, Shown::Findings),
        args::Command::Checklist(args) if args.security => {
            audit::audit(args.audit, Shown::SecurityCheck)
        }
        args::Command::Checklist(args) => audit::audit(args.audit, Shown::Checklists),
        args::Command::ShardKey(args) => shardkey::shardkey(args),
        args::Command::Schema(args) => schema::schema(&args),
        args::Command::Lint(args) => lint::lint(&args),
        args::Command::Connect(args) => connect::connect(&args),
        args::Command::Design(args) => design::design(args),
        args::Command::Guard(args) => guard::guard(&args),
        args::Command::Rules(args) => rules::rules(&args),
        args::Command::Init(args) => init::init(&args),
        args::Command::Diff(args) => diff::diff(&args),
        args::Command::Explain(args) => explain::explain(&args),
        args::Command::Completions(args) => generated::completions(&args),
        args::Command::Man(args) => generated::man(&args),
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

/// A reader that went away (`| head`) is no failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes a line to standard error, without passwords; if that is closed, nobody is listening.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", secrets::in_message(text));
}

/// The same for a line of our own words, which may name hosts and forms of connection strings: only what was
/// given as an argument is masked.
fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", secrets::in_report(text));
}

/// Writes to a file, or to standard output, without passwords that were given as arguments.
fn put(text: &str, file: Option<&std::path::Path>) -> anyhow::Result<()> {
    use anyhow::Context;
    let text = &secrets::in_report(text);
    match file {
        Some(path) => write_whole(path, text)
            .with_context(|| format!("cannot write the report to {}", path.display())),
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes())?;
            out.flush()?;
            Ok(())
        }
    }
}

/// Says that a file was written; what is no ordinary file (a pipe, a device) has its reader already.
fn note_written(path: &std::path::Path, quiet: bool) {
    if !quiet && path.is_file() {
        tell(&format!("wrote {}", path.display()));
    }
}

/// Writes a file so that it is there whole or not at all: beside its place first, then moved there.
/// What is no ordinary file (a pipe, a device) is written to as it is.
fn write_whole(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    // A link stays a link.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let permissions = std::fs::metadata(path).map(|metadata| metadata.permissions());
    let written = std::fs::write(&beside, text).and_then(|()| {
        if let Ok(permissions) = permissions {
            std::fs::set_permissions(&beside, permissions)?;
        }
        std::fs::rename(&beside, path)
    });
    match written {
        // Where nothing new may be put, what is there may still be written to.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let _ = std::fs::remove_file(&beside);
            std::fs::write(path, text)
        }
        Err(error) => {
            let _ = std::fs::remove_file(&beside);
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}
