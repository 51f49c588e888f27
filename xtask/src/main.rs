//! Development tasks, run as `cargo xtask COMMAND`. One module per command; to add one, add a `mod`
//! line and a row in `COMMANDS`.
#![allow(clippy::print_stdout, reason = "a developer's tool talks to the terminal")]

mod codegen;
mod command_pages;
mod converge;
mod corpus;
mod docs;
mod examples;
mod gallery;
mod import_graph;
mod links;
mod module_files;
mod new_rule;
mod site;
mod source;
mod tidy;
mod words;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Result, bail};

/// A task: its name, a one-line description, and the function that receives the arguments.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "codegen",
        about: "write the rule registry and the rule columns of docs/clauses.toml",
        run: |_| codegen::run(),
    },
    Command {
        name: "converge",
        about: "[FOLDER...]: apply all proposals to copies of data sets and audit again (docs/converge.md)",
        run: converge::run,
    },
    Command {
        name: "corpus",
        about: "lint pinned programs and compare with recorded findings and labels (docs/corpus.md)",
        run: corpus::run,
    },
    Command {
        name: "docs",
        about: "write docs/rules, docs/commands, the contents of the site, docs/clauses.md, the schema, the gallery",
        run: |_| docs::run(),
    },
    Command {
        name: "examples",
        about: "write the example dumps and run the commands of the design pages (--check: change nothing)",
        run: examples::run,
    },
    Command {
        name: "new-rule",
        about: "CODE NAME: write a rule file to fill in",
        run: |words| match words {
            [code, name] => new_rule::run(code, name),
            _ => bail!("usage: cargo xtask new-rule CODE name-of-the-bad-pattern"),
        },
    },
    Command {
        name: "site",
        about: "build target/site with mdBook and check its links (scripts/mdbook.py --install comes first)",
        run: |_| site::run(),
    },
    Command {
        name: "tidy",
        about: "check layers, import cycles, generated files, file sizes, the trace table, the code map, links and texts",
        run: |_| tidy::run(),
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is also closed, there is no place left to report to.
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

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
