//! `docward connect`: checks connection strings, plans pools, chooses methods and generates
//! clients.

mod check;
mod choose;
mod inputs;
mod plan;
mod sdk;

use clap::{Args, Subcommand};

/// Which command.
#[derive(Args, Debug)]
pub(crate) struct ConnectArgs {
    #[command(subcommand)]
    command: ConnectCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
enum ConnectCommand {
    /// Check connection strings and print the corrected ones
    #[command(after_help = check::EXAMPLES)]
    Check(Box<check::CheckArgs>),
    /// Size connection pools and compare them with the connection limit
    #[command(after_help = plan::EXAMPLES)]
    Plan(plan::PlanArgs),
    /// Choose between SRV, a load balancer and a list of all mongos
    #[command(after_help = choose::EXAMPLES)]
    Choose(choose::ChooseArgs),
    /// Generate client code that follows the rules
    #[command(after_help = sdk::EXAMPLES)]
    Sdk(sdk::SdkArgs),
}

/// Runs one of the commands.
pub(crate) fn connect(args: &ConnectArgs) -> anyhow::Result<u8> {
    match &args.command {
        ConnectCommand::Check(args) => check::check(args),
        ConnectCommand::Plan(args) => plan::plan(args),
        ConnectCommand::Choose(args) => choose::choose(args),
        ConnectCommand::Sdk(args) => sdk::sdk(args),
    }
}
