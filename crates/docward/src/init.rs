//! `docward init`: writes a commented `docward.toml` from the data and code that it finds.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, IsTerminal, Write as _},
    path::{Component, Path, PathBuf},
};

use anyhow::bail;
use clap::Args;
use docward_collect::{Request, SourceRequest, collect, is_uri, read_source};
use docward_config::FailOn;
use docward_model::{Evidence, Filter, ProfileName, Settings};
use docward_rules::facts::{
    deployment::business::is_core,
    names::{
        Style, house,
        naming::{named, style_of},
    },
};
use docward_source::FileKind;

use crate::{
    interrupt::Interrupt,
    progress::Bar,
    reading, run,
    terminal::{CLEAN, PROBLEMS, complain, put, quoted, tell},
};

pub(crate) const EXAMPLES: &str = "\
Examples:
  docward init                       looks at $MONGODB_URI, dumps and code in this directory
  docward init dump/ src/            looks at a dump and at code
  docward init mongodb://localhost:27017/shop --yes
  docward init --output -            prints the file

On a terminal, the command asks at most two questions. --yes accepts the detected values.

Exit codes: 0 the file was written, 2 the file was not written.";

/// The number of documents per collection that shows names and styles.
const SAMPLE: u64 = 200;

/// The maximum number of core collections in the file. With more, Docward keeps inferring them.
const LISTED: usize = 40;

/// Directories that may contain a dump.
const DUMPS: [&str; 3] = ["dump", "backup", "data"];

/// The endings of files in a dump.
const DUMP_FILES: [&str; 4] = [".bson", ".bson.gz", ".metadata.json", ".metadata.json.gz"];

/// The endings of files with documents. Beside code, JSON files are usually settings.
const DATA: [&str; 6] = [".bson", ".bson.gz", ".json", ".json.gz", ".jsonl", ".ndjson"];

/// The maximum depth of dump files below a directory: `dump/shop/users.bson`.
const DUMP_DEPTH: usize = 2;

/// The sources to examine, and the destination of the file.
#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Dumps, data files, connection strings and directories with code (default: those in the
    /// working directory)
    #[arg(value_name = "SOURCE|PATH")]
    sources: Vec<String>,

    /// Where to write; - for standard output
    #[arg(short, long, value_name = "FILE", default_value = "docward.toml")]
    output: PathBuf,

    /// Do not ask questions
    #[arg(short, long)]
    yes: bool,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Facts about a project.
#[derive(Debug, Default)]
struct Found {
    /// The examined sources, as the user names them.
    looked_at: Vec<String>,
    /// Whether most names have the house prefixes.
    has_house_names: bool,
    collections: usize,
    /// Source files that were read.
    files: u64,
    /// Namespaces that look business-critical.
    core: Vec<String>,
    /// Commands that judge the examined sources.
    next: Vec<String>,
    camel: usize,
    snake: usize,
}

/// Runs the command.
pub(crate) fn init(args: &InitArgs) -> anyhow::Result<u8> {
    let prints = args.output == Path::new("-");
    if !prints && args.output.exists() && !args.force {
        bail!(
            "{} exists already; edit it, write to another file with --output FILE, or overwrite \
             it with --force",
            args.output.display()
        );
    }
    let (sources, named_nothing) = match args.sources.as_slice() {
        [] => (at_hand()?, true),
        named => (named.iter().flat_map(|source| with_dumps(source)).collect(), false),
    };
    let (data, code): (Vec<String>, Vec<String>) =
        sources.into_iter().partition(|source| is_data(source));
    let mut found = Found::default();
    let mut problems = Vec::new();
    if !data.is_empty() {
        // Without a source, `audit` reads the deployment in the environment variable.
        let is_from_environment = named_nothing && is_uri(&data[0]);
        let named: &[String] = if is_from_environment { &[] } else { &data };
        found.next.push(command("audit", named, &args.output));
        let database = reading::scope(&data)?;
        let request = Request {
            sources: data,
            filter: Filter { database, ..Filter::default() },
            sample: Some(SAMPLE),
            threads: 1,
            ..Request::default()
        };
        let interrupt = Interrupt::listen();
        let bar = Bar::new(true);
        let collected = collect(&request, &bar, interrupt.stop());
        bar.finish();
        if collected.interrupted {
            bail!("interrupted; nothing was written");
        }
        problems.extend(collected.problems);
        let names = collected.sources.iter().map(|source| whole_path(source.name.clone()));
        found.looked_at.extend(names);
        of_data(&collected.evidence, &mut found);
    }
    if !code.is_empty() {
        let paths = code.iter().map(PathBuf::from).collect();
        let seen = read_source(&SourceRequest { paths, ..SourceRequest::default() }, &|| false);
        problems.extend(seen.problems);
        if seen.code.files > 0 {
            found.next.push(command("lint", &code, &args.output));
            found.files = seen.code.files;
        }
        found.looked_at.extend(code.into_iter().map(whole_path));
        let names = seen.code.fields.iter().filter(|field| !field.generated);
        let names = names.filter_map(|field| field.path.rsplit('.').next());
        styles(names.map(|name| name.trim_end_matches("[]")), &mut found);
    }
    // Sources that the user names must be readable, unlike those that were found here.
    let is_nothing = !args.sources.is_empty() && found.collections == 0 && found.files == 0;
    if is_nothing && !problems.is_empty() {
        return Ok(run::refuse(&problems));
    }
    for problem in &problems {
        tell(&format!("note: {}: {}", problem.source, problem.message));
    }
    if is_nothing {
        let named = docward_uri::redact(&args.sources.join(" "));
        tell(&format!("error: {named}: found no data and no code; check the paths"));
        return Ok(PROBLEMS);
    }
    let is_asked = !args.yes && !prints && std::io::stdin().is_terminal();
    let (profile, core) = if is_asked {
        ask(&found, &mut std::io::stdin().lock())?
    } else {
        (proposed_profile(&found), Vec::new())
    };
    let text = file(&found, profile, &core);
    if prints {
        put(&text, None)?;
        return Ok(CLEAN);
    }
    put(&text, Some(&args.output))?;
    complain(&format!("wrote {}: {}", args.output.display(), summary(&found, profile, &core)));
    if found.next.is_empty() {
        complain("next: docward audit --help shows which data can be audited");
    }
    for command in &found.next {
        complain(&format!("next: {command}"));
    }
    Ok(CLEAN)
}

/// Returns a shell command for the examined sources.
fn command(name: &str, sources: &[String], settings: &Path) -> String {
    let mut words = vec!["docward".to_owned(), name.to_owned()];
    words.extend(sources.iter().map(|source| quoted(source)));
    if settings != Path::new("docward.toml") {
        words.extend(["--config".to_owned(), quoted(&settings.display().to_string())]);
    }
    words.join(" ")
}

/// Returns the name of a path such as `.` or `..`.
fn whole_path(source: String) -> String {
    let has_name = Path::new(&source).components().any(|c| matches!(c, Component::Normal(_)));
    match Path::new(&source).canonicalize() {
        Ok(path) if !has_name => path.display().to_string(),
        _ => source,
    }
}

/// Returns data and code in the working directory, and the deployment in the environment variable.
fn at_hand() -> anyhow::Result<Vec<String>> {
    let mut sources: Vec<String> = reading::from_environment()?.into_iter().collect();
    sources.extend(with_dumps("."));
    Ok(sources)
}

/// Returns a source and, if it is a directory with code, the dumps in it.
fn with_dumps(source: &str) -> Vec<String> {
    let directory = Path::new(source);
    let mut sources = Vec::new();
    if holds(directory, DUMP_DEPTH, &is_code) {
        let dumps = DUMPS.iter().filter(|name| holds_dump(&directory.join(name), DUMP_DEPTH));
        let inside = |name: &&str| match source {
            "." => (*name).to_owned(),
            _ => directory.join(name).display().to_string(),
        };
        sources.extend(dumps.map(inside));
    }
    sources.push(source.to_owned());
    sources
}

/// Whether a source has documents and not code.
pub(crate) fn is_data(source: &str) -> bool {
    let path = Path::new(source);
    if is_uri(source) {
        return true;
    }
    if path.is_file() {
        return !is_code(source);
    }
    !holds(path, DUMP_DEPTH, &is_code)
        && holds(path, DUMP_DEPTH, &|name| DATA.iter().any(|end| name.ends_with(end)))
}

/// Whether a file has source code, by its name.
fn is_code(name: &str) -> bool {
    let kind = FileKind::of(name);
    matches!(kind, Some(FileKind::Code(_) | FileKind::OtherCode | FileKind::Schema))
}

/// Whether a directory has dump files, up to a few levels below it.
fn holds_dump(directory: &Path, depth: usize) -> bool {
    holds(directory, depth, &|name| DUMP_FILES.iter().any(|end| name.ends_with(end)))
}

/// Whether a directory has such a file, up to a few levels below it.
fn holds(directory: &Path, depth: usize, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_entered = depth > 0 && !name.starts_with('.') && name != "node_modules";
        is_wanted(&name) || is_entered && holds(&entry.path(), depth - 1, is_wanted)
    })
}

fn of_data(evidence: &Evidence, found: &mut Found) {
    let settings = Settings::default();
    found.has_house_names = house::has_prefixes(evidence);
    found.collections = evidence.collections.len();
    let core = evidence.collections.iter().filter(|collection| is_core(&settings, collection));
    found.core = core.map(|collection| collection.namespace.to_string()).collect();
    let profiles = evidence.collections.iter().filter_map(|c| c.profile.as_ref());
    let names: BTreeSet<String> = profiles.flat_map(named).map(|n| n.name().to_owned()).collect();
    styles(names.iter().map(String::as_str), found);
}

fn styles<'n>(names: impl Iterator<Item = &'n str>, found: &mut Found) {
    let names: BTreeSet<&str> = names.collect();
    found.camel += names.iter().filter(|name| style_of(name) == Style::Camel).count();
    found.snake += names.iter().filter(|name| style_of(name) == Style::Snake).count();
}

fn proposed_profile(found: &Found) -> ProfileName {
    if found.has_house_names { ProfileName::Vendor } else { ProfileName::Neutral }
}

/// Asks the two questions that only the user can answer. An empty answer keeps the detected profile
/// and declares no core collections, because these would only be a guess.
fn ask(found: &Found, answers: &mut impl BufRead) -> anyhow::Result<(ProfileName, Vec<String>)> {
    let mut ask = |prompt: &str| -> anyhow::Result<String> {
        let mut err = std::io::stderr();
        write!(err, "{prompt}")?;
        err.flush()?;
        let mut line = String::new();
        if answers.read_line(&mut line)? == 0 {
            bail!("cancelled; nothing was written");
        }
        Ok(line.trim().to_owned())
    };
    let proposed = proposed_profile(found);
    let profile = loop {
        let answer = ask(&format!(
            "Rule preset, neutral or vendor (vendor requires names such as db_… and t_…) [{}]: ",
            proposed.name()
        ))?;
        match ProfileName::parse(&answer) {
            Some(profile) => break profile,
            None if answer.is_empty() => break proposed,
            None => complain("write neutral or vendor"),
        }
    };
    if found.core.is_empty() || found.core.len() > LISTED {
        return Ok((profile, Vec::new()));
    }
    let answer = ask(&format!(
        "Business-critical collections, separated by commas (a guess: {}) [not declared]: ",
        found.core.join(", ")
    ))?;
    let named: Vec<String> = answer.split(',').map(|name| name.trim().to_owned()).collect();
    Ok((profile, named.into_iter().filter(|name| !name.is_empty()).collect()))
}

fn prefers(found: &Found) -> Option<&'static str> {
    match found.camel.cmp(&found.snake) {
        std::cmp::Ordering::Greater => Some("camelCase"),
        std::cmp::Ordering::Less => Some("snake_case"),
        std::cmp::Ordering::Equal => None,
    }
}

fn summary(found: &Found, profile: ProfileName, core: &[String]) -> String {
    let mut parts = vec![format!("{} profile", profile.name())];
    parts.extend(prefers(found).map(|style| format!("{style} fields")));
    if !core.is_empty() {
        let n = core.len() as u64;
        parts.push(docward_model::text::plural(n, "core collection"));
    }
    parts.join(", ")
}

/// Returns the content of the file.
fn file(found: &Found, profile: ProfileName, core: &[String]) -> String {
    let looked_at = match found.looked_at.as_slice() {
        [] => String::new(),
        names => format!(" from {}", names.join(", ")),
    };
    let mut out = format!(
        "# Settings of Docward, written by `docward init`{}.\n\
         # `docward rules` lists the rules, `docward explain CODE` shows the thresholds of a \
          rule, and\n\
         # `docward rules --config-schema` prints a schema of this file for editors.\n\n",
        docward_uri::redact(&looked_at).replace('\n', " ")
    );
    out.push_str(
        "# Rule preset: \"vendor\" requires names such as db_… and t_…, \"neutral\" does not.\n",
    );
    out.push_str(&format!("profile = \"{}\"\n\n", profile.name()));
    let words: Vec<String> =
        FailOn::ALL.iter().map(|word| format!("\"{}\"", word.name())).collect();
    out.push_str(&format!(
        "# Findings of this severity or higher set the exit code to 1: {}.\nfail-on = \
         \"error\"\n\n",
        words.join(", ")
    ));
    match prefers(found) {
        Some(style) => out.push_str(&format!(
            "# The style to propose for field names. Names found here: {} camelCase, {} snake_case.\n\
             [rules.N011]\nprefer = \"{style}\"\n\n",
            found.camel, found.snake
        )),
        None => out.push_str(
            "# The style to propose for field names.\n# [rules.N011]\n# prefer = \"camelCase\"\n\n",
        ),
    }
    out.push_str(
        "# Business-critical collections: stricter limits of size, and a validator is mandatory.\n\
         # Without a list, Docward infers it: ordinary collections with documents, except logs, \
          caches and sessions.\n",
    );
    let is_guess = core.is_empty();
    let (mark, listed) = if is_guess { ("# ", found.core.as_slice()) } else { ("", core) };
    if is_guess && (listed.is_empty() || listed.len() > LISTED) {
        out.push_str("# [collections]\n# core = [\"shop.orders\", \"shop.pay*\"]\n\n");
    } else {
        if is_guess {
            out.push_str(
                "# This list is a guess: remove what is not business-critical, then uncomment \
                 it.\n",
            );
        }
        out.push_str(&format!("{mark}[collections]\n{mark}core = [\n"));
        for name in listed {
            out.push_str(&format!("{mark}  {},\n", toml_text(name)));
        }
        out.push_str(&format!("{mark}]\n\n"));
    }
    out.push_str(
        "# Exceptions for some collections.\n\
         # [[namespaces]]\n# match = \"shop.import_*\"\n# ignore = [\"D008\"]\n\n\
         # An accepted finding, with a reason and an expiry date.\n\
         # [[suppress]]\n# rule = \"T002\"\n# match = \"shop.orders\"\n\
         # reason = \"converted with the next release\"\n# expires = \"2027-06-30\"\n",
    );
    out
}

/// Returns a TOML string.
fn toml_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Whether the text is a valid settings file.
#[cfg(test)]
fn is_sound(text: &str) -> bool {
    docward_config::parse(text, "docward.toml", &crate::config::metas()).1.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(core: &[&str], camel: usize, snake: usize) -> Found {
        Found {
            looked_at: vec!["dump".to_owned()],
            has_house_names: false,
            collections: core.len(),
            files: 0,
            core: core.iter().map(|name| (*name).to_owned()).collect(),
            next: Vec::new(),
            camel,
            snake,
        }
    }

    #[test]
    fn every_file_is_sound() {
        let many: Vec<String> = (0..100).map(|n| format!("shop.c{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (core, camel, snake) in [
            (vec![], 0, 0),
            (vec!["shop.orders", "shop.a\"b\\c\u{1}"], 3, 1),
            (vec!["db_shop.t_order"], 1, 3),
            (many, 0, 1),
        ] {
            let found = found(&core, camel, snake);
            for profile in ProfileName::ALL {
                for declared in [&found.core[..], &[]] {
                    let text = file(&found, profile, declared);
                    assert!(is_sound(&text), "{text}");
                    assert_eq!(text.contains("\n[collections]"), !declared.is_empty(), "{text}");
                }
            }
        }
    }

    #[test]
    fn answers_are_taken_and_empty_ones_are_not() {
        let found = found(&["shop.orders", "shop.users"], 1, 0);
        let ask = |text: &str| ask(&found, &mut text.as_bytes()).ok();
        assert_eq!(ask("\n\n"), Some((ProfileName::Neutral, Vec::new())));
        assert_eq!(
            ask("vendr\nvendor\nshop.orders, \n"),
            Some((ProfileName::Vendor, vec!["shop.orders".to_owned()]))
        );
        assert_eq!(ask("vendor\n"), None, "cancelled");
    }
}
