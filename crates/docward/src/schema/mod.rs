//! `docward schema`: infers validators from documents, checks documents, compares and applies
//! schemas.

mod apply;
pub(crate) mod args;
mod check;
mod diff;
mod import;
mod infer;
mod load;
mod print;
mod trial;

use std::path::Path;

use args::{SchemaArgs, SchemaCommand};

use crate::{reading::or_from_environment, terminal::complain};

/// Runs one of the commands.
pub(crate) fn schema(args: &mut SchemaArgs) -> anyhow::Result<u8> {
    match &mut args.command {
        SchemaCommand::Infer(args) => {
            or_from_environment(&mut args.sources)?;
            infer::infer(args)
        }
        SchemaCommand::Check(args) => {
            or_from_environment(&mut args.sources)?;
            check::check(args)
        }
        SchemaCommand::Test(args) => trial::test(args),
        SchemaCommand::Diff(args) => diff::diff(args),
        SchemaCommand::Import(args) => import::import(args),
        SchemaCommand::Apply(args) => apply::apply(args),
        SchemaCommand::Rollback(args) => apply::rollback(args),
    }
}

/// Prints the parts of a file that its schema does not express.
fn tell_notes<'n>(file: &Path, notes: impl IntoIterator<Item = &'n String>, quiet: bool) {
    if !quiet {
        notes.into_iter().for_each(|note| complain(&format!("note: {}: {note}", file.display())));
    }
}
