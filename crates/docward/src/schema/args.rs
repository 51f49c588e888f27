//! The arguments of `docward schema`.

use std::path::PathBuf;

use clap::{
    Args, Subcommand, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};

use crate::args::{FormatArgs, JudgingArgs, ReadingArgs, words};

fn kinds() -> impl TypedValueParser<Value = docward_code::Kind> {
    words(&docward_code::Kind::ALL, |kind| PossibleValue::new(kind.name()))
}

/// The commands about validators.
#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    #[command(subcommand)]
    pub(crate) command: SchemaCommand,
}

/// The commands about validators.
#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Read a $jsonSchema off documents, with the reason for each constraint
    #[command(after_help = INFER_EXAMPLES)]
    Infer(InferArgs),
    /// Count and list the documents that break a schema
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Ask whether one document meets a schema, and why not, as the server would say it
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArgs),
    /// Compare two schemas: what became tighter or looser, and whether one accepts all the other does
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Turn models declared in code into a $jsonSchema
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Make a schema the validator of a collection, one careful step at a time
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(ApplyArgs),
    /// Put back what a collection had before `schema apply`
    #[command(after_help = ROLLBACK_EXAMPLES)]
    Rollback(RollbackArgs),
}

const DIFF_EXAMPLES: &str = "\
Examples:
  docward schema diff old.schema.json new.schema.json
  docward schema diff user.schema.json \"$MONGODB_URI\" --namespace db_shop.t_user
                                                     a schema and the validator in use
  docward schema diff models/user.js#User \"$MONGODB_URI\" --namespace db_shop.t_user --data \"$MONGODB_URI\"
                                                     code, validator and data: three-way drift
  docward schema diff models.py#User dump/db_shop/t_user.metadata.json --data dump/ --namespace db_shop.t_user

A and B are files (a schema, a validator, the metadata of a mongodump, models in code as FILE#MODEL) or \
connection strings, whose validator of --namespace is meant.

Exit codes: 0 they say the same, 1 they differ, 2 could not run.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  docward schema import models/user.js                         Mongoose, NestJS
  docward schema import prisma/schema.prisma --model User
  docward schema import app/models.py --output schemas/        Pydantic, Beanie: one file per model
  docward schema import internal/model/order.go                Go structs with bson tags
  docward schema import src/main/java/shop/Order.java          Spring Data
  docward schema import src/Document/Order.php                 Doctrine ODM, Laravel MongoDB
  docward schema import Models/Order.cs                        C# classes of the driver
  docward schema import order.schema.json                      JSON Schema, drafts 4 to 2020-12

What a schema cannot say (validators in code, defaults, references) is listed on standard error.

Exit codes: 0 done, 2 could not run, or ran with problems.";

/// What to compare.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A schema: a file, FILE#MODEL in code, or a connection string
    #[arg(value_name = "A")]
    pub(crate) first: String,

    /// Another one
    #[arg(value_name = "B")]
    pub(crate) second: String,

    /// The collection, for connection strings and data
    #[arg(long, value_name = "DB.COLL")]
    pub(crate) namespace: Option<String>,

    /// Documents to hold against both; may be given several times
    #[arg(long, value_name = "SOURCE")]
    pub(crate) data: Vec<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = crate::args::Format::Terminal)]
    pub(crate) format: crate::args::Format,

    /// Write the answer to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// No progress bar, no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Which models to read.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// Files with models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// What they are written with (default: told by name and content)
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<docward_code::Kind>,

    /// Only this model, by its name or its collection
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = ImportFormat::Json)]
    pub(crate) format: ImportFormat,

    /// Write to a file, or one file per model into a directory
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: Option<PathBuf>,

    /// Say nothing on standard error but problems
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Formats of imported schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// The validator: {"$jsonSchema": …}; of several models, by name
    Json,
    /// Schemas with where fields are declared and what was left out, as JSON
    Report,
}

const APPLY_EXAMPLES: &str = "\
Examples:
  docward schema apply \"$OPERATOR_URI\" --schema user.schema.json --namespace db_shop.t_user
                                                     a dry run: what would be refused today
  docward schema apply \"$OPERATOR_URI\" --schema user.schema.json --namespace db_shop.t_user --yes
                                                     the next step: warn, then moderate, then strict
  docward schema apply \"$OPERATOR_URI\" --schema user.schema.json --namespace db_shop.t_user --step strict --yes
  docward schema apply \"$OPERATOR_URI\" --schema user.schema.json --namespace db_shop.t_user --measure-cost

Steps: warn (what breaks the schema is logged), moderate (new documents must meet it, old ones may stay as \
they are), strict (every write must meet it). Strict is refused while documents break the schema.

What was there before is kept in a file; `docward schema rollback FILE URI` puts it back.

Exit codes: 0 done, or a dry run, 1 held back (documents break the schema, or writes that are refused now \
would be stored), 2 could not run.";

const ROLLBACK_EXAMPLES: &str = "\
Examples:
  docward schema rollback docward-undo/db_shop.t_user-1767225600000.json \"$OPERATOR_URI\"
  docward schema rollback docward-undo/db_shop.t_user-1767225600000.json \"$OPERATOR_URI\" --yes";

/// What to apply where.
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    /// The deployment: a connection string with an operator's account [default: $MONGODB_URI]
    #[arg(value_name = "URI")]
    pub(crate) uri: Option<String>,

    /// A file that holds a schema or validator
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,

    /// The collection
    #[arg(long, value_name = "DB.COLL")]
    pub(crate) namespace: Option<String>,

    /// How far to go
    #[arg(long, value_enum, default_value_t = Step::Next)]
    pub(crate) step: Step,

    /// Do it; without, only what would happen is shown
    #[arg(long)]
    pub(crate) yes: bool,

    /// Go to strict though documents break the schema
    #[arg(long)]
    pub(crate) allow_violations: bool,

    /// Let a collection that refuses writes now store them, while the new schema is tried
    #[arg(long)]
    pub(crate) allow_lowering: bool,

    /// Measure what validation costs inserts, in scratch collections that are dropped again; this is done
    /// without --yes, too
    #[arg(long)]
    pub(crate) measure_cost: bool,

    /// Turns of that measurement
    #[arg(long, value_name = "N", default_value = "7", value_parser = turns)]
    pub(crate) turns: usize,

    /// Where files that undo changes are kept
    #[arg(long, value_name = "DIR", default_value = "docward-undo")]
    pub(crate) undo: PathBuf,

    /// Documents that are fetched to see what they break
    #[arg(long, alias = "max-violations", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) examples: u64,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = crate::args::Format::Terminal)]
    pub(crate) format: crate::args::Format,

    /// Write the answer to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Steps from a trial to a strict validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// The one above where the collection stands
    Next,
    /// Writes that break the schema are logged
    Warn,
    /// They are refused, but documents that break it already may be changed
    Moderate,
    /// They are refused
    Strict,
}

/// What to undo where.
#[derive(Args, Debug)]
pub(crate) struct RollbackArgs {
    /// A file that `schema apply` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The deployment: a connection string with an operator's account [default: $MONGODB_URI]
    #[arg(value_name = "URI")]
    pub(crate) uri: Option<String>,

    /// Do it; without, only what would happen is shown
    #[arg(long)]
    pub(crate) yes: bool,

    /// Overwrite what others changed since
    #[arg(long)]
    pub(crate) force: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = crate::args::Format::Terminal)]
    pub(crate) format: crate::args::Format,
}

const INFER_EXAMPLES: &str = "\
Examples:
  docward schema infer dump/ --collection t_user               the $jsonSchema on standard output
  docward schema infer dump/ --collection t_user --format mongosh   a script, with comments on why
  docward schema infer dump/ --output schemas/                 one file per collection
  docward schema infer \"$MONGODB_URI\" --collection db_shop.t_user --full
  docward schema infer users.json --tolerance 0                accept everything that was seen
  docward schema infer users.json --strict                     admit no fields but those seen

The schema is held against the documents it was read off, and what it would refuse is reported on \
standard error. Enumerations and ranges hold values out of documents; --no-values leaves them out.

Exit codes: 0 done, 2 could not run or ran with problems.";

const CHECK_EXAMPLES: &str = "\
Examples:
  docward schema check user.schema.json dump/ --collection t_user
  docward schema check user.schema.json users.jsonl --format json
  docward schema check user.schema.json \"$MONGODB_URI\" --collection db_shop.t_user
  docward schema check dump/db_shop/t_user.metadata.json dump/ --collection t_user

A running deployment counts by itself, and only documents that break the schema travel.

SCHEMA is a file with a $jsonSchema, a validator, a collMod or create command, or the metadata of a \
mongodump; what `schema infer` writes for several collections is checked collection by collection.

Exit codes: 0 nothing at or above --fail-on, 1 documents break the schema, 2 could not run or ran with \
problems.";

const TEST_EXAMPLES: &str = "\
Examples:
  docward schema test user.schema.json '{\"userName\": \"zhang\", \"age\": 200}'
  docward schema test user.schema.json user.json
  mongoexport ... --limit 1 | docward schema test user.schema.json -

Exit codes: 0 accepted, 1 refused, 2 could not run.";

/// How to read a schema off documents.
#[derive(Args, Debug)]
pub(crate) struct InferArgs {
    /// As for audit: dumps, archives, .bson, .json, .zip, - for stdin, or connection strings [default: $MONGODB_URI]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Share of values that may be left out: fields absent from no more documents are required, types
    /// of no more values are taken for drift; 0 accepts everything that was seen
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = share, allow_negative_numbers = true)]
    pub(crate) tolerance: f64,

    /// Admit no fields but those seen
    #[arg(long)]
    pub(crate) strict: bool,

    /// Objects within objects that are described
    #[arg(long, value_name = "LEVELS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub(crate) depth: u32,

    /// Leave out what holds values of documents: enumerations and ranges
    #[arg(long)]
    pub(crate) no_values: bool,

    /// Leave out descriptions, which the server repeats when it refuses a document
    #[arg(long)]
    pub(crate) no_descriptions: bool,

    /// Do not hold the schema against the documents it was read off
    #[arg(long)]
    pub(crate) no_check: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = InferFormat::Json)]
    pub(crate) format: InferFormat,

    /// Say nothing on standard error but problems
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Threads that read and look (default: as many as there are cores, up to 4, one less for a running server)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

fn turns(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(turns) if (1..=99).contains(&turns) => Ok(turns),
        _ => Err("expected a number of turns between 1 and 99".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=0.5).contains(&share) => Ok(share),
        _ => Err("expected a share between 0 and 0.5, such as 0.001".to_owned()),
    }
}

/// Formats of an inferred schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InferFormat {
    /// The validator: {"$jsonSchema": …}
    Json,
    /// A script for mongosh, with comments on why each constraint is there
    Mongosh,
    /// The schema with reasons, what stayed open, and what it refuses, as JSON
    Report,
}

/// What to hold against what.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// A file that holds a schema or validator
    #[arg(value_name = "SCHEMA")]
    pub(crate) schema: PathBuf,

    /// As for audit: dumps, archives, .bson, .json, .zip, - for stdin, or connection strings [default: $MONGODB_URI]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Documents of a running deployment that are fetched to see what they break
    #[arg(long, alias = "max-violations", value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) examples: u64,

    /// Threads that read and look (default: as many as there are cores, up to 4, one less for a running server)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) formats: FormatArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}

/// Which document to ask about.
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// A file that holds a schema or validator
    #[arg(value_name = "SCHEMA")]
    pub(crate) schema: PathBuf,

    /// A document: JSON, a file that holds one, or - for standard input
    #[arg(value_name = "DOC")]
    pub(crate) document: String,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = crate::args::Format::Terminal)]
    pub(crate) format: crate::args::Format,
}
