//! The request to read sources, from the flags that all reading commands share.

use std::{env, thread};

use anyhow::{Context, bail};
use docward_collect::{Request, is_uri};
use docward_model::{Filter, Namespace, NamespacePattern};
use docward_uri::parse;

use crate::{args::ReadingArgs, secrets};

/// The default maximum number of profiling threads. More would not help, because disks are the
/// limit, and each thread needs memory.
const MAX_THREADS: usize = 4;

/// Parses the collection of `--as`.
pub(crate) fn namespace(text: &str) -> anyhow::Result<Namespace> {
    if is_uri(text) {
        bail!("expected database.collection, not a connection string");
    }
    Namespace::parse(text).with_context(|| format!("`{text}`: expected database.collection"))
}

/// Returns the default number of profiling threads. For a running server, another thread fetches
/// replies, so one core less is available.
fn threads(sources: &[String]) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let free = if sources.iter().any(|source| is_uri(source)) { cores - 1 } else { cores };
    free.clamp(1, MAX_THREADS)
}

/// Returns the request for the flags that every reading command has.
pub(crate) fn reading(sources: &[String], args: &ReadingArgs) -> anyhow::Result<Request> {
    let glob = |text: &Option<String>, flag: &str| -> anyhow::Result<Option<NamespacePattern>> {
        text.as_deref()
            .map(|text| {
                NamespacePattern::new(text)
                    .map_err(|message| anyhow::anyhow!("{flag} {text}: {message}"))
            })
            .transpose()
    };
    let namespace = args.namespace.as_deref().map(namespace).transpose()?;
    for (number, source) in sources.iter().enumerate() {
        secrets::refuse_lookalike(source, &format!("source {}", number + 1))?;
    }
    Ok(Request {
        sources: sources.to_vec(),
        namespace,
        filter: Filter {
            database: match glob(&args.db, "--db")? {
                None if !args.all_databases => scope(sources)?,
                given => given,
            },
            collection: glob(&args.collection, "--collection")?,
        },
        threads: threads(sources),
        sample: args.sample,
        full: args.full,
        ..Request::default()
    })
}

/// Returns the database in connection strings, which restricts the run, as with mongodump. `admin`
/// does not restrict it, because it is usually named to log in.
pub(crate) fn scope(sources: &[String]) -> anyhow::Result<Option<NamespacePattern>> {
    let named = |source: &String| {
        let uri = parse(source).ok().filter(|_| is_uri(source))?;
        uri.database.map(|part| part.value).filter(|name| name != "admin")
    };
    let databases: Vec<Option<String>> = sources.iter().map(named).collect();
    let Some(Some(first)) = databases.iter().find(|name| name.is_some()) else { return Ok(None) };
    if databases.iter().any(|name| name.as_ref() != Some(first)) {
        bail!(
            "one connection string names the database `{first}`, and another source does not; choose with \
             --db, or read all with --all-databases"
        );
    }
    let pattern = NamespacePattern::exact(first);
    pattern.map(Some).map_err(|message| anyhow::anyhow!("the database `{first}`: {message}"))
}

/// The variable with the connection string of the deployment.
pub(crate) const VARIABLE: &str = "MONGODB_URI";

/// Takes the source from the environment if the user names none.
pub(crate) fn or_from_environment(sources: &mut Vec<String>) -> anyhow::Result<()> {
    if sources.is_empty() {
        sources.push(from_environment()?.context(
            "no source was named; name a mongodump directory, a file or a connection string \
             (mongodb://…), or set MONGODB_URI",
        )?);
    }
    Ok(())
}

/// Takes the connection string from the environment, for a command that judges connection strings.
pub(crate) fn string_from_environment(strings: &mut Vec<String>) -> anyhow::Result<()> {
    let missing = "no connection string was named; name one (mongodb://…), a file with --file, or \
                   set MONGODB_URI";
    strings.push(from_environment()?.context(missing)?);
    Ok(())
}

/// Returns the deployment to change, from the argument or from the environment.
pub(crate) fn deployment(named: Option<&str>) -> anyhow::Result<String> {
    let uri = match named {
        Some(uri) => Some(uri.to_owned()),
        None => from_environment()?,
    };
    uri.context(
        "no deployment was named; name its connection string (mongodb://…), or set MONGODB_URI",
    )
}

/// Returns the connection string in the environment. Other text is refused and not repeated,
/// because it may contain a password.
pub(crate) fn from_environment() -> anyhow::Result<Option<String>> {
    let uri = env::var(VARIABLE).unwrap_or_default();
    let uri = uri.trim();
    if uri.is_empty() {
        return Ok(None);
    }
    secrets::expect_connection_string(uri, VARIABLE)?;
    Ok(Some(uri.to_owned()))
}
