//! `docward schema`: validators inferred from documents, held against documents, compared and applied.

mod apply;
pub(crate) mod args;
mod check;
mod infer;
mod load;
mod print;
mod trial;

use args::{SchemaArgs, SchemaCommand};

/// Runs one of the commands.
pub(crate) fn schema(args: &SchemaArgs) -> anyhow::Result<u8> {
    match &args.command {
        SchemaCommand::Infer(args) => infer::infer(args),
        SchemaCommand::Check(args) => check::check(args),
        SchemaCommand::Test(args) => trial::test(args),
        SchemaCommand::Apply(args) => apply::apply(args),
        SchemaCommand::Rollback(args) => apply::rollback(args),
    }
}
