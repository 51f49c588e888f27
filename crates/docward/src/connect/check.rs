//! `docward connect check`: reads connection strings as drivers do, judges them and corrects them.
//!
//! `strings` reads them, and `show` prints them with marks under the positions of findings.

mod show;
mod strings;

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use docward_model::{
    Deployment, Driver, Evidence, Finding, Need, Report, RuleMeta, Settings, Source, SourceKind,
};
use docward_report::{Format, View};
use docward_rules::{RULES, judge};

use self::strings::Given;
use crate::{
    args::{FormatArgs, JudgingArgs, ShownArgs},
    output::Look,
    reading,
    run::{self, Run},
    terminal::Color,
};

pub(super) const EXAMPLES: &str = "\
Examples:
  docward connect check \"$MONGODB_URI\"
  docward connect check --file clients.txt --format sarif --output clients.sarif
  docward connect check \"$MONGODB_URI\" --options maxPoolSize=200,w=1 --driver java
                                       with the options that the program sets
  docward connect check \"$MONGODB_URI\" --service order
                                       as the service `order` of docward.toml
  docward connect check \"$MONGODB_URI\" --resolve
                                       looks up mongodb+srv:// names in DNS

Passwords are masked in all output. In a corrected string, replace the words in capitals.

Exit codes: 0 no findings at or above --fail-on, 1 findings, 2 a string could not be read.";

/// Arguments.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Connection strings: mongodb:// or mongodb+srv:// (default: $MONGODB_URI)
    #[arg(value_name = "URI")]
    uris: Vec<String>,

    /// Connection string of a client (the same as the argument URI); can be repeated
    #[arg(long, value_name = "URI")]
    client_uri: Vec<String>,

    /// File with one connection string per line; - for standard input. Blank lines and lines that
    /// begin with # are skipped. Can be repeated
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,

    /// Options that the program sets when it connects. They override the options of the strings.
    /// username=NAME means that the program supplies the credentials
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    options: Vec<String>,

    /// Driver of the program, which determines the defaults
    #[arg(long, value_parser = drivers())]
    driver: Option<Driver>,

    /// Service in docward.toml that uses the strings (default: the service that appName names)
    #[arg(long, value_name = "NAME")]
    service: Option<String>,

    /// Look up the SRV and TXT records of mongodb+srv:// names in DNS
    #[arg(long)]
    resolve: bool,

    #[command(flatten)]
    formats: FormatArgs,

    /// Write the report to a file
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Settings file (default: the nearest docward.toml)
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    config: Option<PathBuf>,

    /// When to use colour
    #[arg(long, value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    color: Color,

    #[command(flatten)]
    judging: JudgingArgs,
}

/// Returns a parser for driver names.
fn drivers() -> impl clap::builder::TypedValueParser<Value = Driver> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    PossibleValuesParser::new(Driver::ALL.map(Driver::name))
        .map(|word| Driver::parse(&word).unwrap_or(Driver::Python))
}

/// Runs the command.
pub(super) fn check(args: &CheckArgs) -> anyhow::Result<u8> {
    let near: Vec<String> = args
        .file
        .iter()
        .filter(|file| *file != Path::new("-"))
        .map(|file| file.display().to_string())
        .collect();
    // The user asked about these strings, so every finding is shown in full.
    let shown = ShownArgs::in_full(&args.formats);
    let look = Look {
        shown: &shown,
        output: args.output.as_deref(),
        color: args.color,
        quiet: args.judging.quiet,
        brief: false,
    };
    let mut run = Run::start(look, &args.judging, args.config.as_deref(), &near, None)?;
    let service = args.service.as_deref();
    if let Some(name) = service {
        strings::known_service(name, &run.config.settings)?;
    }
    let mut problems = Vec::new();
    let overlay = strings::overlay(&args.options)?;
    let mut arguments: Vec<String> = args.uris.iter().chain(&args.client_uri).cloned().collect();
    if arguments.is_empty() && args.file.is_empty() {
        reading::string_from_environment(&mut arguments)?;
    }
    let mut given = strings::read(&arguments, &args.file, &overlay, &mut problems)?;
    for string in &mut given {
        string.client.driver = args.driver;
        string.client.service = service.map(str::to_owned);
    }
    if given.is_empty() && !problems.is_empty() {
        return Ok(run::refuse(&problems));
    }
    if args.resolve {
        strings::resolve(&mut given, &run.config.settings, &mut problems);
    }
    let rules = selected(&run.config.settings)?;
    run.config.settings.select = rules.iter().map(|rule| rule.code.to_owned()).collect();
    run.config.settings.ignore.clear();
    let evidence = evidence(&given, &mut run.config.settings);
    let outcome = judge(&evidence, &run.config.settings);
    let report = Report {
        sources: sources(&given, args),
        problems,
        judged: Some(rules.iter().map(|rule| rule.code.into()).collect()),
        // A string lacks most evidence by nature, so skipped rules are not reported.
        ..run::report(&run.config.settings, outcome, evidence)
    };
    let found = judged_alone(&given, &mut run);
    let (again, found_again) = correct(&given, &found, &overlay, &mut run);
    let corrected = show::corrected(&given, &found, &again, &found_again);
    run.finish_with(&report, View::Findings, |format, text, color| match format {
        Format::Json => show::with_corrected(&text, &corrected),
        Format::Terminal if !args.judging.quiet => {
            text + &show::marked(&given, &report.findings, &corrected, color)
        }
        _ => text,
    })
}

/// Returns the findings about each string as if it was the only one. Rules report some mistakes only
/// once for each deployment, but every string must be corrected.
fn judged_alone(strings: &[Given], run: &mut Run<'_>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for string in strings {
        let alone = evidence(std::slice::from_ref(string), &mut run.config.settings);
        let found = judge(&alone, &run.config.settings).findings;
        // Options of the program belong to every string.
        let is_known = |one: &Finding| {
            all.iter().any(|had| had.fingerprint == one.fingerprint && had.location == one.location)
        };
        let new: Vec<Finding> = found.into_iter().filter(|one| !is_known(one)).collect();
        all.extend(new);
    }
    all
}

/// The maximum number of times that a corrected string is checked and corrected again.
const ROUNDS: usize = 8;

/// Corrects the strings until the findings about them propose no change. Returns the corrected
/// strings and the findings about them.
fn correct(
    given: &[Given],
    findings: &[Finding],
    overlay: &[strings::Overlay],
    run: &mut Run<'_>,
) -> (Vec<Given>, Vec<Finding>) {
    let (mut strings, mut found) = (given.to_vec(), findings.to_vec());
    for _ in 0..ROUNDS {
        let mut is_changed = false;
        let changes = show::changes_of(&strings, &found);
        for (string, changes) in strings.iter_mut().zip(changes) {
            if let Some(new) = string.changed(&changes, overlay) {
                is_changed |= new.parsed.redacted() != string.parsed.redacted();
                *string = new;
            }
        }
        found = judged_alone(&strings, run);
        if !is_changed {
            break;
        }
    }
    (strings, found)
}

/// Returns the enabled rules that need only a connection string.
fn selected(settings: &Settings) -> anyhow::Result<Vec<&'static RuleMeta>> {
    let is_about_strings = |rule: &&RuleMeta| {
        let needs = rule.needs;
        needs == [Need::Uris] || rule.code == DATABASE_SPELLINGS
    };
    let rules = RULES.iter().map(|rule| &rule.meta).filter(is_about_strings);
    let rules: Vec<&RuleMeta> = rules.filter(|rule| settings.is_on(rule)).collect();
    if rules.is_empty() {
        bail!("none of the selected rules checks connection strings");
    }
    Ok(rules)
}

/// The rule that compares the databases of several strings.
const DATABASE_SPELLINGS: &str = "N005";

fn evidence(given: &[Given], settings: &mut Settings) -> Evidence {
    let uris: Vec<_> = given.iter().map(|string| string.client.clone()).collect();
    settings.uri_databases = uris.iter().filter_map(|uri| uri.database.clone()).collect();
    Evidence {
        deployment: Deployment { server_version: settings.server_version, names_are_real: true },
        uris,
        ..Evidence::default()
    }
}

/// Returns arguments and files as sources, each with its number of strings.
fn sources(given: &[Given], args: &CheckArgs) -> Vec<Source> {
    let empty = |name: String| Source {
        kind: SourceKind::ConnectionStrings,
        name,
        documents: 0,
        bytes: 0,
        sampled: false,
        server: None,
    };
    let mut sources: Vec<Source> = Vec::new();
    for string in given {
        match sources.iter_mut().find(|source| source.name == string.file) {
            Some(source) => source.documents += 1,
            None => sources.push(Source { documents: 1, ..empty(string.file.clone()) }),
        }
    }
    if sources.is_empty() {
        // The files hold no connection string.
        sources.extend(args.file.iter().map(|file| empty(file.display().to_string())));
    }
    sources
}
