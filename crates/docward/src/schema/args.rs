//! The arguments of `docward schema`.

use std::path::PathBuf;

use clap::{
    Args, Subcommand, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};

use docward_report::Format;

use crate::args::{FormatArgs, JudgingArgs, LISTS, ReadingArgs, formats, words};

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
    /// Derive a $jsonSchema from documents, with the reason for each constraint
    #[command(after_help = INFER_EXAMPLES)]
    Infer(InferArgs),
    /// Count and list the documents that break a schema
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Test one document against a schema, and show the error that the server would return
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArgs),
    /// Compare two schemas: which constraints differ, and whether one accepts everything that the
    /// other accepts
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// Convert models in code into a $jsonSchema
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(ImportArgs),
    /// Set a schema as the validator of a collection, step by step
    #[command(after_help = APPLY_EXAMPLES)]
    Apply(ApplyArgs),
    /// Restore the validator that a collection had before `schema apply`
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

A and B are files or connection strings. A file is a schema, a validator, the metadata of a \
 mongodump, or a model in code (FILE#MODEL). With a connection string, Docward reads the \
 validator of --namespace.

Exit codes: 0 the schemas are equivalent, 1 they differ, 2 the command could not run.";

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

Docward lists what a schema cannot express (validators in code, defaults, references) on standard \
 error.

Exit codes: 0 done, 2 the run failed or had problems.";

/// The schemas to compare.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// A schema: a file, FILE#MODEL in code, or a connection string
    #[arg(value_name = "A")]
    pub(crate) first: String,

    /// The other schema
    #[arg(value_name = "B")]
    pub(crate) second: String,

    /// Collection for connection strings and data
    #[arg(long, value_name = "DB.COLL")]
    pub(crate) namespace: Option<String>,

    /// Documents to check against both schemas; can be repeated
    #[arg(long, value_name = "SOURCE")]
    pub(crate) data: Vec<String>,

    /// Output format
    #[arg(short, long, value_parser = formats(&LISTS), default_value = "terminal")]
    pub(crate) format: Format,

    /// Write the output to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Do not show a progress bar or notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Which models to read.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// Files with models
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Library of the models (default: detected from the file name and content)
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Option<docward_code::Kind>,

    /// Only the model with this name or collection
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = ImportFormat::Json)]
    pub(crate) format: ImportFormat,

    /// Write to a file, or one file per model into a directory
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub(crate) output: Option<PathBuf>,

    /// Print only problems on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Formats of imported schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// The validator: {"$jsonSchema": …}; several models are keyed by name
    Json,
    /// JSON with the schemas, where fields are declared, and what was left out
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

Steps: with warn, MongoDB logs writes that break the schema. With moderate, new documents must \
 meet it, and documents that break it already can be updated. With strict, every write must meet \
 it. Docward does not set strict while documents break the schema.

Docward saves the previous validator in a file. `docward schema rollback FILE URI` restores it.

Exit codes: 0 done or dry run, 1 not done (documents break the schema, or the step would accept \
 writes that are refused now), 2 the command could not run.";

const ROLLBACK_EXAMPLES: &str = "\
Examples:
  docward schema rollback docward-undo/db_shop.t_user-1767225600000.json \"$OPERATOR_URI\"
  docward schema rollback docward-undo/db_shop.t_user-1767225600000.json \"$OPERATOR_URI\" --yes";

/// Arguments of `schema apply`.
#[derive(Args, Debug)]
pub(crate) struct ApplyArgs {
    /// The deployment: a connection string with an operator's account [default: $MONGODB_URI]
    #[arg(value_name = "URI")]
    pub(crate) uri: Option<String>,

    /// File with a schema or validator
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,

    /// The collection
    #[arg(long, value_name = "DB.COLL")]
    pub(crate) namespace: Option<String>,

    /// The step to set
    #[arg(long, value_enum, default_value_t = Step::Next)]
    pub(crate) step: Step,

    /// Apply the change; without --yes, the command only shows it
    #[arg(long)]
    pub(crate) yes: bool,

    /// Set `strict` even if documents break the schema
    #[arg(long)]
    pub(crate) allow_violations: bool,

    /// Allow a step that accepts writes which the collection refuses now
    #[arg(long)]
    pub(crate) allow_lowering: bool,

    /// Measure the cost of validation for inserts in scratch collections, which are dropped again,
    /// even without --yes
    #[arg(long)]
    pub(crate) measure_cost: bool,

    /// Number of measurement rounds for --measure-cost
    #[arg(long, value_name = "N", default_value = "7", value_parser = turns)]
    pub(crate) turns: usize,

    /// Directory for undo files
    #[arg(long, value_name = "DIR", default_value = "docward-undo")]
    pub(crate) undo: PathBuf,

    /// Number of invalid documents to fetch and explain
    #[arg(long, alias = "max-violations", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) examples: u64,

    /// Output format
    #[arg(short, long, value_parser = formats(&LISTS), default_value = "terminal")]
    pub(crate) format: Format,

    /// Write the output to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Steps from a trial to a strict validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// The step after the current one
    Next,
    /// MongoDB logs writes that break the schema
    Warn,
    /// MongoDB refuses them, except updates of documents that break the schema already
    Moderate,
    /// MongoDB refuses all writes that break the schema
    Strict,
}

/// Arguments of `schema rollback`.
#[derive(Args, Debug)]
pub(crate) struct RollbackArgs {
    /// A file that `schema apply` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// The deployment: a connection string with an operator's account [default: $MONGODB_URI]
    #[arg(value_name = "URI")]
    pub(crate) uri: Option<String>,

    /// Apply the change; without --yes, the command only shows it
    #[arg(long)]
    pub(crate) yes: bool,

    /// Overwrite changes that others made since
    #[arg(long)]
    pub(crate) force: bool,

    /// Output format
    #[arg(short, long, value_parser = formats(&LISTS), default_value = "terminal")]
    pub(crate) format: Format,
}

const INFER_EXAMPLES: &str = "\
Examples:
  docward schema infer dump/ --collection t_user               the $jsonSchema on standard output
  docward schema infer dump/ --collection t_user --format mongosh   a script with the reasons as \
   comments
  docward schema infer dump/ --output schemas/                 one file per collection
  docward schema infer \"$MONGODB_URI\" --collection db_shop.t_user --full
  docward schema infer users.json --tolerance 0                accept everything that was seen
  docward schema infer users.json --strict                     allow only fields that were seen

Docward checks the schema against the documents it was derived from, and reports on standard \
 error which documents it would refuse. Enumerations and ranges contain values from documents; \
 --no-values omits them.

Exit codes: 0 done, 2 the run failed or had problems.";

const CHECK_EXAMPLES: &str = "\
Examples:
  docward schema check user.schema.json dump/ --collection t_user
  docward schema check user.schema.json users.jsonl --format json
  docward schema check user.schema.json \"$MONGODB_URI\" --collection db_shop.t_user
  docward schema check dump/db_shop/t_user.metadata.json dump/ --collection t_user

For a running deployment, the server counts, and Docward fetches only documents that break the schema.

SCHEMA is a file with a $jsonSchema, a validator, a collMod or create command, or the metadata of \
 a mongodump. It can have schemas for several collections, as `schema infer` writes them.

Exit codes: 0 nothing at or above --fail-on, 1 documents break the schema, 2 the command could not run or ran with \
problems.";

const TEST_EXAMPLES: &str = "\
Examples:
  docward schema test user.schema.json '{\"userName\": \"zhang\", \"age\": 200}'
  docward schema test user.schema.json user.json
  mongoexport ... --limit 1 | docward schema test user.schema.json -

Exit codes: 0 accepted, 1 refused, 2 the command could not run.";

/// The documents from which to infer a schema.
#[derive(Args, Debug)]
pub(crate) struct InferArgs {
    /// As for `docward audit`: dumps, archives, .bson, .json, .zip, - for standard input, or
    /// connection strings [default: $MONGODB_URI]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Fraction of documents that are treated as exceptions. A field is required if at most this
    /// fraction lacks it. A type is ignored if at most this fraction has it. 0 accepts everything that
    /// was seen
    #[arg(long, value_name = "SHARE", default_value_t = 0.001, value_parser = share, allow_negative_numbers = true)]
    pub(crate) tolerance: f64,

    /// Allow only fields that were seen
    #[arg(long)]
    pub(crate) strict: bool,

    /// Maximum nesting depth that the schema describes
    #[arg(long, value_name = "LEVELS", default_value_t = 5, value_parser = clap::value_parser!(u32).range(0..=50))]
    pub(crate) depth: u32,

    /// Omit enumerations and ranges, which contain values from documents
    #[arg(long)]
    pub(crate) no_values: bool,

    /// Omit descriptions, which the server repeats when it refuses a document
    #[arg(long)]
    pub(crate) no_descriptions: bool,

    /// Do not check the schema against the documents it was derived from
    #[arg(long)]
    pub(crate) no_check: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = InferFormat::Json)]
    pub(crate) format: InferFormat,

    /// Print only problems on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Number of threads (default: number of cores, at most 4, one less for a running server)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

fn turns(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(turns) if (1..=99).contains(&turns) => Ok(turns),
        _ => Err("expected a number of rounds between 1 and 99".to_owned()),
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
    /// A mongosh script with the reason for each constraint as a comment
    Mongosh,
    /// JSON with the schema, the reason for each constraint, open questions, and the documents that the schema refuses
    Report,
}

/// Arguments of `schema check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// File with a schema or validator
    #[arg(value_name = "SCHEMA")]
    pub(crate) schema: PathBuf,

    /// As for `docward audit`: dumps, archives, .bson, .json, .zip, - for standard input, or
    /// connection strings [default: $MONGODB_URI]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Maximum number of violating documents to fetch from a running deployment and explain
    #[arg(long, alias = "max-violations", value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) examples: u64,

    /// Number of threads (default: number of cores, at most 4, one less for a running server)
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) formats: FormatArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) judging: JudgingArgs,
}

/// The document to test.
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// File with a schema or validator
    #[arg(value_name = "SCHEMA")]
    pub(crate) schema: PathBuf,

    /// The document: JSON text, a JSON file, or - for standard input
    #[arg(value_name = "DOC")]
    pub(crate) document: String,

    /// Output format
    #[arg(short, long, value_parser = formats(&LISTS), default_value = "terminal")]
    pub(crate) format: Format,
}
