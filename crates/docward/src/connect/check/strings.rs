//! Reads connection strings from arguments and files, and adds the options that the program sets.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use docward_collect::{Resolved, resolve_name};
use docward_model::{
    ClientOption, ClientUri, DeclaredTopology, Location, OptionValue, Problem, Purpose, Settings,
    UriChange, text,
};
use docward_uri::{At, ConnectionString, Fault, canonical_name, lookalike, parse, redact};

/// The file name for `--options` in findings.
pub(super) const OPTIONS: &str = "--options";

/// A connection string to check.
#[derive(Clone)]
pub(super) struct Given {
    /// `argument 1`, or the name of a file.
    pub(super) file: String,
    /// Its line, from 1.
    pub(super) line: u32,
    /// The number of columns before the string in its line.
    indent: usize,
    /// Whether it was read from a file. Positions then refer to the file.
    is_from_file: bool,
    /// The parsed string.
    pub(super) parsed: ConnectionString,
    /// The form that rules check.
    pub(super) client: ClientUri,
    /// Options that the program sets, by canonical name. Correcting the string has no effect on
    /// them.
    pub(super) overlaid: Vec<String>,
    /// The hosts that DNS returns for its name.
    pub(super) resolved: Option<Resolved>,
}

impl Given {
    /// Returns the string with these changes, as the same program uses it. If the changed string is
    /// invalid, returns the original.
    pub(super) fn changed(&self, changes: &[UriChange], overlay: &[Overlay]) -> Option<Self> {
        let text = self.parsed.rewrite(changes);
        let place = Place {
            file: self.file.clone(),
            line: self.line,
            indent: self.indent,
            is_from_file: self.is_from_file,
        };
        let mut new = Self::read(text.reveal().reveal(), place, overlay).ok()?;
        new.client.driver = self.client.driver;
        new.client.service.clone_from(&self.client.service);
        if let Some(resolved) = &self.resolved {
            adopt(&mut new.client, resolved);
        }
        Some(new)
    }

    /// Parses a string.
    fn read(text: &str, place: Place, overlay: &[Overlay]) -> Result<Self, Fault> {
        let parsed = parse(text)?;
        let locate = |at: At| {
            let column = if place.is_from_file {
                place.indent + text.get(..at.offset).unwrap_or(text).chars().count()
            } else {
                // Uses the column in the masked string, because the real one would reveal the
                // length of the password.
                parsed.masked_column(at.offset)
            };
            let column = u32::try_from(column + 1).unwrap_or(u32::MAX);
            Location { file: place.file.clone(), line: place.line, column }
        };
        let client = parsed.client_at(Purpose::Client, &locate);
        let mut client =
            if overlay.is_empty() { client } else { overlaid(&parsed, client, overlay) };
        client.is_from_file = place.is_from_file;
        Ok(Self {
            file: place.file,
            line: place.line,
            indent: place.indent,
            is_from_file: place.is_from_file,
            parsed,
            client,
            overlaid: overlay.iter().map(|option| option.name.clone()).collect(),
            resolved: None,
        })
    }

    /// Returns the name of the string for problems and marks.
    pub(super) fn label(&self) -> String {
        if self.is_from_file { format!("{}:{}", self.file, self.line) } else { self.file.clone() }
    }

    /// Returns the column of a finding in [`ConnectionString::redacted`], counted from 0.
    pub(super) fn shown_column(&self, column: u32) -> usize {
        let column = column.saturating_sub(1) as usize;
        if !self.is_from_file {
            return column;
        }
        let text = self.parsed.text();
        let within = column.saturating_sub(self.indent);
        let offset = text.char_indices().nth(within).map_or(text.len(), |(at, _)| at);
        self.parsed.masked_column(offset)
    }
}

/// Refuses a service that is not declared.
pub(super) fn known_service(name: &str, settings: &Settings) -> anyhow::Result<()> {
    let names: Vec<&str> = settings.services.iter().map(|service| service.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    if names.is_empty() {
        bail!(
            "--service {name}: docward.toml declares no services; add [[service]] with this name"
        );
    }
    bail!("--service {name}: docward.toml declares {}", text::list(&names, 8));
}

/// The options of `--options`: names and values, with the column of each.
pub(super) struct Overlay {
    name: String,
    value: String,
    column: u32,
}

/// Parses `--options`.
pub(super) fn overlay(options: &[String]) -> anyhow::Result<Vec<Overlay>> {
    let mut column = 1;
    let mut out = Vec::new();
    for option in options {
        let Some((name, value)) = option.split_once('=') else {
            bail!("--options: write name=value,name=value");
        };
        let (name, value) = (name.trim(), value.trim());
        // Programs write max_pool_size and MaxPoolSize.
        let plain = name.replace('_', "");
        let canonical = canonical_name(name).or_else(|| canonical_name(&plain)).unwrap_or(name);
        out.push(Overlay { name: canonical.to_owned(), value: value.to_owned(), column });
        column += u32::try_from(option.chars().count()).unwrap_or(0) + 1;
    }
    Ok(out)
}

/// Reads all strings. An invalid one is reported as a problem, and reading continues.
pub(super) fn read(
    arguments: &[String],
    files: &[PathBuf],
    overlay: &[Overlay],
    problems: &mut Vec<Problem>,
) -> anyhow::Result<Vec<Given>> {
    let mut given = Vec::new();
    for (number, text) in arguments.iter().enumerate() {
        let file = format!("argument {}", number + 1);
        let place = Place { file, line: 1, indent: 0, is_from_file: false };
        given.extend(one(text, place, overlay, problems));
    }
    for path in files {
        let (name, content) = content(path)?;
        let lines = content.lines().enumerate();
        let before = given.len() + problems.len();
        for (number, line) in lines {
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let indent = line.chars().take_while(|c| c.is_whitespace()).count();
            let line = u32::try_from(number + 1).unwrap_or(u32::MAX);
            let place = Place { file: name.clone(), line, indent, is_from_file: true };
            given.extend(one(text, place, overlay, problems));
        }
        if given.len() + problems.len() == before {
            let message = "holds no connection string".to_owned();
            problems.push(Problem { source: name, message });
        }
    }
    Ok(given)
}

fn content(path: &Path) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
        return Ok(("standard input".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    Ok((name, text))
}

/// The position of a string.
struct Place {
    file: String,
    line: u32,
    indent: usize,
    is_from_file: bool,
}

fn one(
    text: &str,
    place: Place,
    overlay: &[Overlay],
    problems: &mut Vec<Problem>,
) -> Option<Given> {
    let (file, line, indent, is_from_file) =
        (place.file.clone(), place.line, place.indent, place.is_from_file);
    match Given::read(text, place, overlay) {
        Ok(given) => Some(given),
        Err(fault) => {
            let column = text.get(..fault.span.start).unwrap_or_default().chars().count() + 1;
            let source = if is_from_file {
                format!("{file}:{line}:{}", indent + column)
            } else {
                format!("{file}, column {column}")
            };
            let message = lookalike(text).map_or_else(|| fault.to_string(), |l| l.to_string());
            problems.push(Problem { source, message });
            None
        }
    }
}

/// Names of credentials that programs pass when they connect.
const CREDENTIALS: [&str; 6] =
    ["auth", "credential", "credentials", "password", "user", "username"];

fn gives_credentials(option: &Overlay) -> bool {
    CREDENTIALS.iter().any(|name| option.name.eq_ignore_ascii_case(name))
}

/// Adds the options of the program, which override those of the string.
fn overlaid(parsed: &ConnectionString, own: ClientUri, overlay: &[Overlay]) -> ClientUri {
    let changes: Vec<UriChange> = overlay
        .iter()
        .filter(|option| !gives_credentials(option))
        .map(|option| UriChange::set(&option.name, &option.value))
        .collect();
    let Ok(both) = parse(parsed.rewrite(&changes).reveal().reveal()) else { return own };
    let mut client = both.client(Purpose::Client);
    let place = |name: &str| {
        let option = overlay.iter().find(|option| option.name == name)?;
        Some(Location { file: OPTIONS.to_owned(), line: 1, column: option.column })
    };
    for option in &mut client.options {
        option.location = place(&option.name).or_else(|| {
            own.options.iter().find(|other| other.name == option.name)?.location.clone()
        });
    }
    for note in &mut client.notes {
        note.location = place(&note.option).or_else(|| {
            let same = |kind, option: &str| kind == note.kind && option == note.option;
            own.notes.iter().find(|other| same(other.kind, &other.option))?.location.clone()
        });
    }
    client.places = own.places;
    client.has_credentials_in_code = overlay.iter().any(gives_credentials);
    client
}

/// Resolves names with DNS, adds the options of text records, and compares the result with the
/// declared deployment.
pub(super) fn resolve(given: &mut [Given], settings: &Settings, problems: &mut Vec<Problem>) {
    for string in given.iter_mut().filter(|string| string.client.srv) {
        let Some(name) = string.client.hosts.first().cloned() else { continue };
        match resolve_name(&name) {
            Ok(resolved) => {
                adopt(&mut string.client, &resolved);
                if let Some(message) = differs(&resolved, settings) {
                    problems.push(Problem { source: string.label(), message });
                }
                string.resolved = Some(resolved);
            }
            Err(message) => {
                problems.push(Problem { source: string.label(), message: redact(&message) });
            }
        }
    }
}

/// Options of a text record apply if the string does not set them.
fn adopt(client: &mut ClientUri, resolved: &Resolved) {
    let said = [("replicaSet", &resolved.replica_set), ("authSource", &resolved.auth_source)];
    for (name, value) in said {
        let Some(value) = value else { continue };
        // The driver sets `admin` by default, so this value does not come from a text record.
        if client.option(name).is_some() || (name == "authSource" && value == "admin") {
            continue;
        }
        client.options.push(ClientOption {
            name: name.to_owned(),
            written: name.to_owned(),
            value: OptionValue::Text(value.clone()),
            location: None,
            may_be_meant: false,
            is_asked_for: false,
        });
        if name == "replicaSet" {
            client.replica_set = Some(value.clone());
        } else {
            client.auth_source.clone_from(value);
        }
    }
}

/// Describes how the declared deployment differs from DNS.
fn differs(resolved: &Resolved, settings: &Settings) -> Option<String> {
    let (declared, what) = match settings.deployment.topology? {
        DeclaredTopology::Sharded => (settings.deployment.routers?, "router"),
        DeclaredTopology::ReplicaSet => (settings.deployment.members?, "member"),
        DeclaredTopology::Standalone => return None,
    };
    let found = resolved.hosts.len() as u64;
    (found != u64::from(declared)).then(|| {
        format!(
            "DNS leads to {}, and docward.toml declares {}",
            text::plural(found, "host"),
            text::plural(u64::from(declared), what)
        )
    })
}
