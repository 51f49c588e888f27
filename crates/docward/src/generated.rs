//! `docward completions` and `docward man`, generated from the definition of the command line.

use anyhow::Context;
use clap::CommandFactory;

use crate::{
    args::{CompletionsArgs, ManArgs},
    cli::Cli,
    terminal::{CLEAN, put},
};

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "docward", &mut script);
    put(&String::from_utf8_lossy(&script), None)?;
    Ok(CLEAN)
}

/// Prints the manual page, or writes one per command.
pub(crate) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    let Some(directory) = &args.directory else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut page)?;
        put(&String::from_utf8_lossy(&page), None)?;
        return Ok(CLEAN);
    };
    let place = directory.display();
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {place}"))?;
    // The command `help` only repeats the others.
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, directory)
        .with_context(|| format!("cannot write manual pages into {place}"))?;
    Ok(CLEAN)
}
