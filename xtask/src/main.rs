//! Development tasks, run as `cargo xtask COMMAND`. One module per command; a new one is a `mod` line
//! and a row in `COMMANDS`.

mod examples;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};

/// A task: its name, what it does in one line, and the function that takes what follows the name.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[Command] = &[Command {
    name: "examples",
    about: "write the example dumps under examples/ (--check: only say whether they are fresh)",
    run: examples::run,
}];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to be done when stderr is closed as well.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let name = arguments.first().map_or("help", String::as_str);
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(&arguments[1..]),
        None if matches!(name, "help" | "--help" | "-h") => help(),
        None => bail!("no task `{name}`; `cargo xtask help` lists them"),
    }
}

fn help() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "cargo xtask COMMAND")?;
    for command in COMMANDS {
        writeln!(out, "  {:<10} {}", command.name, command.about)?;
    }
    Ok(())
}
