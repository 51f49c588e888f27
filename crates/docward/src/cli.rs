//! The command line: all commands and their examples.

use clap::{Parser, Subcommand};

use crate::args::{
    AuditArgs, ChecklistArgs, CompletionsArgs, DiffArgs, ExplainArgs, ManArgs, RulesArgs,
    ShardKeyArgs, hidden,
};

/// Checks MongoDB data, source code, connection strings and designs against a rule book.
#[derive(Debug, Parser)]
#[command(name = "docward", version, about, long_about = LONG_ABOUT, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const LONG_ABOUT: &str = "\
Docward checks MongoDB data, source code, connection strings and designs against a rule book. It \
 reads mongodump directories and archives, BSON and JSON files, and running deployments. Each \
 finding says what is wrong, why it matters and how to fix it.";

const EXAMPLES: &str = "\
Examples:
  docward audit dump/                      audit a mongodump directory
  docward audit orders.json users.bson.gz  audit single files
  docward audit mongodb://localhost:27017  audit a running deployment
  docward checklist dump/                  the launch review, item by item
  docward schema infer dump/ --collection t_user   derive a validator from documents
  docward explain D008                     what a rule checks, why, and how to fix it
  docward rules --family T                 list rules

Exit codes: 0 no findings at or above --fail-on, 1 findings, 2 the run failed or had problems.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check stored data, from files or a running deployment: documents, options, indexes, workload
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(AuditArgs),
    /// Answer the launch review and the security self-check: pass, fail or unknown, with the evidence
    #[command(after_help = CHECKLIST_EXAMPLES, mut_args = hidden(&NOT_OF_CHECKLIST))]
    Checklist(ChecklistArgs),
    /// Evaluate shard keys, or propose new ones
    #[command(name = "shardkey", after_help = SHARDKEY_EXAMPLES)]
    ShardKey(ShardKeyArgs),
    /// Derive validators from documents, check documents, compare and apply validators
    #[command(after_help = SCHEMA_EXAMPLES)]
    Schema(crate::schema::args::SchemaArgs),
    /// Check source code and settings: clients, connection strings, updates, models, secrets
    #[command(after_help = crate::lint::EXAMPLES)]
    Lint(crate::lint::LintArgs),
    /// Check connection strings, size pools, choose a connection method, generate clients
    Connect(crate::connect::ConnectArgs),
    /// Design documents from a model of entities: embed, reference or hybrid, with the costs
    #[command(after_help = crate::design::EXAMPLES)]
    Design(crate::design::DesignArgs),
    /// Run a proxy that pools connections; drivers see it as a router
    #[command(after_help = crate::guard::EXAMPLES)]
    Guard(crate::guard::GuardArgs),
    /// Write a commented docward.toml from the data or code at hand
    #[command(after_help = crate::init::EXAMPLES)]
    Init(crate::init::InitArgs),
    /// Compare two reports: what is new, fixed or changed
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArgs),
    /// List the rules
    #[command(after_help = RULES_EXAMPLES)]
    Rules(RulesArgs),
    /// Explain a rule: what it checks, why it matters, how to fix it
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Print shell completions
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write the pages of all commands
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

const SCHEMA_EXAMPLES: &str = "\
Examples:
  docward schema infer dump/ --collection t_user > user.schema.json
  docward schema check user.schema.json dump/ --collection t_user
  docward schema apply \"$OPERATOR_URI\" --schema user.schema.json --namespace db_shop.t_user

Each command has its own --help. docs/schema.md describes all of them.";

const DIFF_EXAMPLES: &str = "\
Examples:
  docward audit dump/ --format json --output monday.json
  docward diff monday.json friday.json
  docward audit dump --format json | docward diff monday.json -
  docward diff main.json branch.json --format markdown --fail-on warning

Findings that the later run did not check are counted separately and are not called fixed: the \
 rule was off, a filter was different, or a source could not be read.

Exit codes: 0 no new findings at or above --fail-on, 1 new findings, 2 the comparison failed, or \
 the later run did not read everything.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  docward completions bash > /etc/bash_completion.d/docward
  docward completions zsh > \"${fpath[1]}/_docward\"
  docward completions fish > ~/.config/fish/completions/docward.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  docward man | man -l -
  docward man /usr/local/share/man/man1";

const AUDIT_EXAMPLES: &str = "\
Examples:
  docward audit dump/                               a mongodump directory, plain or --gzip
  docward audit backup.archive.gz                   a mongodump --archive file
  docward audit exports/orders.json --as db_shop.t_order
  docward audit mongodb://localhost:27017           a running deployment: a sample of each collection
  docward audit \"$MONGODB_URI\" --full              every document
  docward audit \"$MONGODB_URI\" --pushdown          a sample, and figures that the server computes
  docward audit \"$MONGODB_URI\" --metadata-only     options, indexes and counts, no documents
  docward audit \"$MONGODB_URI\" --save-evidence monday.json.gz
  docward audit monday.json.gz                      the saved facts, without the deployment
  docward audit \"$MONGODB_URI\" --earlier monday.json.gz    what has grown since
  docward audit \"$MONGODB_URI\" --full --resume all.json.gz --save-evidence all.json.gz
                                                    continue an interrupted run
  docward audit \"$MONGODB_URI\" --db 'db_*' --sample 50000
  mongoexport ... | docward audit - --as db_shop.t_order
  docward audit dump/ --format json --output report.json
  docward audit dump/ --format html --output report.html
  docward audit dump/ --write-baseline              accept the existing findings, …
  docward audit dump/ --baseline docward-baseline.json   … and report only what is new
  docward audit dump/ --select D,T002 --fail-on warning
  docward audit dump/ --profile vendor              with house naming (db_, t_)
  docward audit dump/ --show D008                   every finding of one rule, in full
  docward audit dump/ --show db_shop.t_order        every finding of one collection, in full
  docward audit dump/ --verbose                     every finding in full
  docward audit dump/ -f html=report.html -f sarif=report.sarif
  docward audit dump/ --emit-fixes fixes.js         the proposed statements as one script
  docward audit \"$MONGODB_URI\" --client-uri \"$APP_URI\" --network-rules network.toml
  docward audit dump/ --code src/                   code and data in one report
  docward audit --network-rules network.toml --network-rules security-groups.json

Settings come from the nearest docward.toml; see docs/configuration.md.";

const CHECKLIST_EXAMPLES: &str = "\
Examples:
  docward checklist dump/
  docward checklist dump/ --format json
  docward checklist dump/ --fail-on warning             fail on warnings, too
  docward checklist dump/ --format html --output review.html
  docward checklist \"$MONGODB_URI\" --security --client-uri \"$APP_URI\" --network-rules network.toml";

const SHARDKEY_EXAMPLES: &str = "\
Examples:
  docward shardkey dump/ --collection t_order                      propose keys
  docward shardkey dump/ --collection t_order --key '{\"status\": 1}'
  docward shardkey orders.bson --key '{\"customerId\": 1, \"createdAt\": 1}' --key '{\"_id\": \"hashed\"}'
  docward shardkey dump/ --collection t_order --log mongod.log  use the reads in a log
  docward shardkey dump/ --collection t_session --zone region      data that must stay in a region
  docward shardkey \"$MONGODB_URI\" --collection t_order            the current key, and better ones
  docward shardkey \"$MONGODB_URI\" --collection t_order --full     every document, in storage order

On MongoDB 7.0 and later, Docward also runs the server's analyzeShardKey.

Exit codes: 0 the current key and all given keys pass, 1 one of them fails, 2 the run failed or \
 had problems.";

const RULES_EXAMPLES: &str = "\
Examples:
  docward rules
  docward rules --family D
  docward rules --clause DM-08.2
  docward rules --format json
  docward rules --config-schema > docward.schema.json";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  docward explain D008
  docward explain money-as-double
  docward explain D008 --format markdown";

/// Options of `audit` that have no effect on a checklist.
const NOT_OF_CHECKLIST: [&str; 8] = [
    "emit_fixes",
    "verbose",
    "show",
    "statistics",
    "baseline",
    "write_baseline",
    "update_baseline",
    "allow_growth",
];
