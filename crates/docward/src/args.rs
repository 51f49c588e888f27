//! The arguments of the commands. Parsing only validates single values.

use std::path::PathBuf;

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use docward_config::FailOn;
use docward_model::ProfileName;
use docward_report::Format;

use crate::terminal::Color;

/// Returns a parser for one of a few values by name, for types that other crates define.
pub(crate) fn words<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    word: impl Fn(T) -> PossibleValue + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|value| word(*value))).try_map(move |given| {
        let found = all.iter().copied().find(|value| word(*value).matches(&given, false));
        found.ok_or("no such value")
    })
}

/// A report format and its output file: `html`, `html=report.html`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) format: Format,
    /// The output file. `None` means the file of `--output`, or standard output.
    pub(crate) file: Option<PathBuf>,
}

/// Parses `FORMAT` and `FORMAT=FILE`.
#[derive(Clone)]
pub(crate) struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = Output;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Output, clap::Error> {
        let text = value.to_string_lossy();
        let (word, file) = match text.split_once('=') {
            Some((word, file)) if !file.is_empty() => (word, Some(PathBuf::from(file))),
            Some((word, _)) => (word, None),
            None => (&*text, None),
        };
        let format = report_formats().parse_ref(command, argument, word.as_ref())?;
        Ok(Output { format, file })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = Format::ALL.iter();
        Some(Box::new(values.map(|f| PossibleValue::new(f.name()).help(f.about()))))
    }
}

/// Formats of lists.
pub(crate) const LISTS: [Format; 2] = [Format::Terminal, Format::Json];
/// Formats of the pages of rules.
const PAGES: [Format; 3] = [Format::Terminal, Format::Markdown, Format::Json];
/// Formats of results with text and tables.
pub(crate) const TABLES: [Format; 3] = [Format::Terminal, Format::Json, Format::Markdown];
/// Formats of results with text, tables and pictures.
pub(crate) const PICTURES: [Format; 4] =
    [Format::Terminal, Format::Json, Format::Markdown, Format::Html];

/// Returns a parser for some of the formats.
pub(crate) fn formats(all: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    words(all, |format| PossibleValue::new(format.name()))
}

pub(crate) fn report_formats() -> impl TypedValueParser<Value = Format> {
    words(&Format::ALL, |format| PossibleValue::new(format.name()).help(format.about()))
}

pub(crate) fn severities() -> impl TypedValueParser<Value = FailOn> {
    words(&FailOn::ALL, |value| {
        let word = PossibleValue::new(value.name());
        // Also accepts the words of earlier versions and of JSON.
        match value.least() {
            Some(severity) => word.alias(severity.name()),
            None => word,
        }
    })
}

pub(crate) fn profiles() -> impl TypedValueParser<Value = ProfileName> {
    words(&ProfileName::ALL, |profile| PossibleValue::new(profile.name()))
}

/// Hides options in the help of a command that ignores them.
pub(crate) fn hidden(names: &'static [&'static str]) -> impl Fn(clap::Arg) -> clap::Arg {
    |arg| {
        let hides = names.contains(&arg.get_id().as_str());
        if hides { arg.hide(true) } else { arg }
    }
}

/// The sources of an audit, and the options of its report.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// mongodump directories, archives, .bson, .json, .jsonl (each also .gz), .zip, - for standard
    /// input, or mongodb:// and mongodb+srv:// connection strings (default: $MONGODB_URI)
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Stop reading after SECONDS and report on what was read
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Reading")]
    pub(crate) max_time: Option<u64>,

    /// Read at most N documents per second from a running deployment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Reading")]
    pub(crate) max_rate: Option<u64>,

    /// Compute sizes, types and array lengths of all documents on the server; only sums and the
    /// sample are transferred
    #[arg(long, conflicts_with = "full", help_heading = "Reading")]
    pub(crate) pushdown: bool,

    /// Read the catalogue and the workload only, no documents
    #[arg(long, help_heading = "Reading")]
    pub(crate) metadata_only: bool,

    /// Connection string of a client. Docward compares its database, routers and tags with the
    /// deployment, and checks its login and TLS. Can be repeated
    #[arg(long = "client-uri", alias = "uri", value_name = "URI")]
    pub(crate) uri: Vec<String>,

    /// Source code of the applications. Docward checks it as `docward lint` does, and together with
    /// the data: a growing array and the update that appends to it, for example. Can be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) code: Vec<String>,

    /// Model file of `docward design`. Docward compares its fields, numbers of children, sizes and
    /// rates with the data
    #[arg(long = "design", alias = "model", value_name = "MODEL.yaml")]
    pub(crate) model: Option<PathBuf>,

    /// Firewall rules or security groups: a JSON export of AWS, Azure, Google Cloud or Tencent
    /// Cloud, or Docward's own format (TOML or JSON, see docs/security.md). Can be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) network_rules: Vec<String>,

    /// Structured mongod or mongos log (4.4 and later, also .gz) that shows the workload. Without a
    /// log, Docward reads the profiler, long-running operations and query statistics of a running
    /// server
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Vec<String>,

    /// Write the proposed statements to a commented mongosh script, in order, each with its risk
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) emit_fixes: Option<PathBuf>,

    /// Write the observed facts to a file, which can be audited elsewhere or compared with a later
    /// run
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) save_evidence: Option<PathBuf>,

    /// Continue an interrupted --full run: the file that its --save-evidence wrote
    #[arg(long, value_name = "FILE", requires = "full", help_heading = "Reading")]
    pub(crate) resume: Option<PathBuf>,

    /// Evidence file of an earlier date. Docward reports what has grown since, and when it will
    /// reach a limit
    #[arg(long, value_name = "FILE")]
    pub(crate) earlier: Option<PathBuf>,

    /// Number of profiling threads (default: number of cores, at most 4, one less for a running
    /// server). Each thread needs memory
    #[arg(long, value_name = "N", help_heading = "Reading")]
    pub(crate) threads: Option<usize>,

    #[command(flatten)]
    pub(crate) shown: ShownArgs,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    #[command(flatten)]
    pub(crate) judging: JudgingArgs,

    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
}

/// The formats and the destination of a report.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormatArgs {
    /// Output format. FORMAT=FILE writes to a file, and can be repeated
    #[arg(short, long, value_name = "FORMAT[=FILE]", value_parser = OutputParser)]
    pub(crate) format: Vec<Output>,
}

/// Options that select the contents and the destination of a report.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct ShownArgs {
    #[command(flatten)]
    pub(crate) formats: FormatArgs,

    /// Print every finding in full
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print the findings of a rule, family, severity, database or collection in full; can be
    /// repeated
    #[arg(long, value_name = "RULE|NAMESPACE", value_delimiter = ',')]
    pub(crate) show: Vec<String>,

    /// Print the number of findings for each rule
    #[arg(long, conflicts_with_all = ["verbose", "show"])]
    pub(crate) statistics: bool,

    /// Print repeated findings in full as well: of all rules, or of the rules given (implies --verbose)
    #[arg(long, hide = true, value_name = "CODES", num_args = 0..=1, require_equals = false, default_missing_value = "all", value_delimiter = ',')]
    pub(crate) expand: Vec<String>,
}

impl FormatArgs {
    /// Whether text for people is written to standard output.
    pub(crate) fn is_for_people(&self) -> bool {
        let mut rest = self.format.iter().filter(|one| one.file.is_none());
        rest.all(|one| one.format == Format::Terminal)
    }
}

impl ShownArgs {
    /// Returns arguments that show every finding in full.
    pub(crate) fn in_full(formats: &FormatArgs) -> Self {
        Self { formats: formats.clone(), expand: vec!["all".to_owned()], ..Self::default() }
    }
}

/// The options of the baseline of known findings.
#[derive(Args, Debug)]
#[command(next_help_heading = "Baseline")]
pub(crate) struct BaselineArgs {
    /// Report only findings that are not in this file, and findings of this file that are fixed
    /// (default: `baseline` in docward.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Accept all findings of this run: write them to the baseline (default file:
    /// docward-baseline.json)
    #[arg(long, conflicts_with = "update_baseline")]
    pub(crate) write_baseline: bool,

    /// Remove fixed findings from the baseline; add none
    #[arg(long)]
    pub(crate) update_baseline: bool,

    /// Let --write-baseline and --update-baseline add findings to an existing baseline
    #[arg(long)]
    pub(crate) allow_growth: bool,
}

/// Which list to answer.
#[derive(Args, Debug)]
pub(crate) struct ChecklistArgs {
    /// Answer only the security items (SE-1 to SE-9, and the self-check SC-1 to SC-7)
    #[arg(long)]
    pub(crate) security: bool,

    #[command(flatten)]
    pub(crate) audit: AuditArgs,
}

/// Which shard keys to look at.
#[derive(Args, Debug)]
pub(crate) struct ShardKeyArgs {
    /// As for `docward audit`: dumps, archives, .bson, .json, .zip, - for standard input, or
    /// connection strings
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,

    /// Shard key to evaluate: {"field": 1, …} or {"field": "hashed"}; can be repeated
    #[arg(long, value_name = "JSON")]
    pub(crate) key: Vec<String>,

    /// Structured mongod or mongos log that shows which fields queries filter on. Without a log,
    /// Docward asks a running server
    #[arg(long = "log", alias = "workload", value_name = "FILE")]
    pub(crate) workload: Vec<String>,

    /// Number of shards (default: from docward.toml, otherwise that of the cluster, otherwise 3)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) shards: Option<u32>,

    /// Field that determines where documents must be stored. It comes first in every proposed key,
    /// and Docward plans zones for its values
    #[arg(long, value_name = "FIELD")]
    pub(crate) zone: Option<String>,

    /// Output format
    #[arg(short, long, value_parser = formats(&LISTS), default_value = "terminal")]
    pub(crate) format: Format,

    /// Include the values of the zone field in the zone plan
    #[arg(long)]
    pub(crate) show_values: bool,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// Flags of every command that reads data.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArgs {
    /// Name for the collection of a source that has only one collection
    #[arg(long = "as", alias = "namespace", value_name = "DB.COLL")]
    pub(crate) namespace: Option<String>,

    /// Only databases that match (default: the database of the connection string, or all if there is
    /// none or it is `admin`)
    #[arg(long, value_name = "GLOB")]
    pub(crate) db: Option<String>,

    /// Read all databases, even if the connection string names one
    #[arg(long, conflicts_with = "db")]
    pub(crate) all_databases: bool,

    /// Audit only collections whose name or namespace matches
    #[arg(long, value_name = "GLOB")]
    pub(crate) collection: Option<String>,

    /// Read every document (default for files; the default for a running deployment is a sample)
    #[arg(long, conflicts_with = "sample")]
    pub(crate) full: bool,

    /// Read only N documents of each collection: the first N of a file, or a random sample of about
    /// N of a running deployment (default there: 10000)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample: Option<u64>,

    /// Write the report to a file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(crate) config: Option<PathBuf>,

    /// Do not show a progress bar
    #[arg(long, help_heading = "Output")]
    pub(crate) no_progress: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    pub(crate) color: Color,
}

/// The options that select findings, and the extent of their output.
#[derive(Args, Debug)]
#[command(next_help_heading = "Rules")]
pub(crate) struct JudgingArgs {
    /// Exit with 1 if there is a finding of this severity or higher (default: error)
    #[arg(long, value_parser = severities())]
    pub(crate) fail_on: Option<FailOn>,

    /// Only these rules: codes, families or names; `pedantic` adds findings that are likely but not
    /// proven
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    pub(crate) select: Vec<String>,

    /// Skip these rules: codes, families or names
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,

    /// Rule preset: `vendor` requires house names (db_, t_), `neutral` does not (default: vendor if
    /// most names have these prefixes, otherwise neutral)
    #[arg(long, value_parser = profiles())]
    pub(crate) profile: Option<ProfileName>,

    /// Print values from documents as examples
    #[arg(long, help_heading = "Output")]
    pub(crate) show_values: bool,

    /// Print only problems and the summary, without a progress bar
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Two reports to compare.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// Earlier report, written with `--format json`; - for standard input
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,

    /// Later report; - for standard input
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) shown: ShownArgs,

    /// Write the comparison to a file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Exit with 1 if a finding of this severity or higher is new or has a higher severity than
    /// before
    #[arg(long, value_parser = severities(), default_value = "error")]
    pub(crate) fail_on: FailOn,

    /// Print only problems and the summary
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// For which shell.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// The destination of manual pages.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Write docward.1 and one page per command into this directory (default: print docward.1)
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// Which rules to list.
#[derive(Args, Debug)]
pub(crate) struct RulesArgs {
    /// List only rules of this family (N, D, T, V, R, I, K, L, C, S, W, A)
    #[arg(long, value_name = "LETTER")]
    pub(crate) family: Option<String>,

    /// List only rules that implement this clause
    #[arg(long, value_name = "ID")]
    pub(crate) clause: Option<String>,

    /// List only rules whose code, name or title contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,

    /// Output format
    #[arg(short, long, value_parser = formats(&LISTS), default_value = "terminal")]
    pub(crate) format: Format,

    /// Write one Markdown page per rule, and an index, into a directory
    #[arg(long, value_name = "DIR")]
    pub(crate) pages: Option<PathBuf>,

    /// Print the JSON Schema of docward.toml
    #[arg(long)]
    pub(crate) config_schema: bool,
}

/// Which rule to explain.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// Code or name of a rule, or any other id that Docward prints: DM-08.2, CK-4, RF-14, GC-43
    #[arg(value_name = "CODE|NAME|ID")]
    pub(crate) rule: String,

    /// Output format
    #[arg(short, long, value_parser = formats(&PAGES), default_value = "terminal")]
    pub(crate) format: Format,

    /// Settings whose thresholds are shown (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
