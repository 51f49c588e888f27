//! Settings: keys for a password of MongoDB, at any nesting depth.
//!
//! Lines are read one by one, with their parent keys by indentation, section or braces. This works for YAML, formatted
//! JSON, properties, TOML, INI, Terraform and `.env`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use docward_model::{
    Location,
    code::{CodeSecret, Place, Placeholder, SecretKind},
};

use super::{
    Scanned,
    secrets::{is_local, is_secret, is_word, mark},
};
use crate::place::Places;

/// A key with its parent keys, and its value.
struct Setting {
    /// The path in lower case: `spring.data.mongodb.password`.
    path: String,
    value: String,
    at: usize,
}

/// Folders of translations.
const TRANSLATED: [&str; 7] =
    ["locales", "locale", "i18n", "lang", "langs", "translations", "languages"];

/// Records a secret for each password of MongoDB.
pub(super) fn passwords(
    text: &str,
    file: &str,
    within: &str,
    places: &Places<'_>,
    in_sample: bool,
    out: &mut Scanned,
) {
    let lower = within.to_ascii_lowercase();
    // Translations of the user interface: `password: "Kennwort"`.
    if lower.split('/').rev().skip(1).any(|folder| TRANSLATED.contains(&folder)) {
        return;
    }
    // Lists of packages have versions: `"mongo-password": "^1.0.0"`.
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    if matches!(name, "package.json" | "composer.json" | "bower.json") {
        return;
    }
    let all = settings(text, &lower);
    let about_mongo = |setting: &&Setting| setting.path.contains("mongo");
    // The hosts of the servers, as far as the file shows them.
    let hosts: Vec<&str> = all
        .iter()
        .filter(about_mongo)
        .filter(|setting| is_address(last_key(&setting.path)) && !setting.value.is_empty())
        .map(|setting| host_of(&setting.value))
        .collect();
    // Connection strings of the file also show it: the hosts of a container that only its neighbours reach.
    let strings: Vec<&String> = out.clients.iter().flat_map(|client| &client.hosts).collect();
    let is_beside = !strings.is_empty()
        && strings.iter().all(|host| is_local(host))
        && !out.clients.iter().any(|client| client.srv);
    let has_local_string = strings.iter().any(|host| is_local(host));
    let is_local_host = is_beside || (!hosts.is_empty() && hosts.iter().all(|host| is_local(host)));
    // Containers that developers start on their own machine.
    let is_container = ["compose", "docker", ".github/", ".gitlab-ci", ".circleci"]
        .iter()
        .any(|part| lower.contains(part));
    let is_secret_of_kubernetes =
        text.lines().any(|line| line.trim_end().trim_matches('"') == "kind: Secret");
    for setting in all.iter().filter(about_mongo) {
        let key = last_key(&setting.path);
        // Kubernetes requires values under `data` in base64, which hides nothing.
        let decoded = match is_secret_of_kubernetes && setting.path.starts_with("data.") {
            true => decoded(&setting.value),
            false => None,
        };
        let value = decoded.as_deref().unwrap_or(&setting.value);
        if !is_password(key) || !is_secret(value) || is_filled_in(value) {
            continue;
        }
        let is_word = is_word(value) || names_a_key(value);
        // Below a key about MongoDB, `password: password` is often the name of a field.
        if is_word && !key.contains("mongo") {
            continue;
        }
        let place = places.at(setting.at);
        out.code.secrets.push(CodeSecret {
            place: Place {
                location: Location {
                    file: file.to_owned(),
                    line: place.line,
                    column: place.column,
                },
                function: None,
            },
            kind: SecretKind::Password,
            mark: mark(value),
            shown: match decoded {
                Some(_) => format!("{}=*****, in base64", shown(&setting.path)),
                None => format!("{}=*****", shown(&setting.path)),
            },
            fallback: false,
            // The initial password of a container that the same file starts, next to its client.
            local: is_container
                || is_local_host
                || (hosts.is_empty() && is_of_development(&lower))
                || (key.contains("initdb") && has_local_string)
                || is_bundled(&all, &setting.path, &lower),
            in_remark: false,
            in_sample,
            in_prose: false,
            literal: None,
            placeholder: is_word.then_some(Placeholder::Password),
        });
    }
}

/// Whether a file contains the private settings of developers: `application-dev.yaml`, `.env.development`,
/// `config.local.json`.
fn is_of_development(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split(['-', '.', '_'])
        .any(|word| matches!(word, "dev" | "develop" | "development" | "local"))
}

/// Whether a chart starts the server together with the application: its values name the image.
fn is_bundled(all: &[Setting], path: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let Some((section, _)) = path.split_once('.').filter(|_| name.starts_with("values")) else {
        return false;
    };
    all.iter().any(|setting| {
        setting.path.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')).is_some_and(
            |rest| ["image", "persistence", "architecture"].iter().any(|k| rest.starts_with(k)),
        )
    })
}

/// Decodes a base64 text.
fn decoded(value: &str) -> Option<String> {
    let text = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
    // Values of several lines end in a line break.
    let text = text.trim_end_matches('\n');
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

fn last_key(path: &str) -> &str {
    path.rsplit(['.', ' ']).next().unwrap_or(path)
}

fn is_password(key: &str) -> bool {
    // Sections named after MongoDB also contain passwords of other services.
    const OTHERS: [&str; 12] = [
        "redis",
        "mysql",
        "postgres",
        "rabbit",
        "smtp",
        "mail",
        "elastic",
        "basicauth",
        "keystore",
        "truststore",
        "jwt",
        "grafana",
    ];
    let is_other = ["bypass", "compass"].iter().any(|word| key.ends_with(word))
        || OTHERS.iter().any(|word| key.contains(word));
    !is_other && ["password", "passwd", "pass", "pwd"].iter().any(|word| key.ends_with(word))
}

/// The keys, unless they may contain other text.
fn shown(path: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let last = last_key(path);
    // A key that is clear by itself needs none of its parent keys.
    let is_whole = !last.contains("mongo") && path.len() <= 100 && path.chars().all(is_plain);
    if is_whole { path } else { last }
}

fn is_address(key: &str) -> bool {
    ["host", "hostname", "hosts", "url", "uri", "server", "address"]
        .iter()
        .any(|word| key.ends_with(word))
}

fn host_of(value: &str) -> &str {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    rest.split(['/', '?', ',']).next().unwrap_or(rest)
}

/// Whether a value is computed, looked up or decrypted at run time, or is a connection string, which another function
/// checks.
fn is_filled_in(value: &str) -> bool {
    value.starts_with("mongodb://")
        || value.starts_with("mongodb+srv://")
        || value.contains(['$', '{', '(', ' '])
        || value.starts_with(['*', '&', '!', '<', '|', '>', '@', '['])
        || ["null", "~", "true", "false", "none", "undefined", "nil"]
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word))
        || ["vault:", "secret:", "file:", "ssm:", "aws:", "op://", "var.", "local.", "data."]
            .iter()
            .any(|start| value.starts_with(start))
}

/// `mongodb-root-password`: the name under which a secret is kept, not the secret.
fn names_a_key(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_name = lower.bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'_' | b'.'));
    is_name && ["password", "passwd", "secret", "key", "example"].iter().any(|w| lower.contains(w))
}

/// All keys with their values.
fn settings(text: &str, file: &str) -> Vec<Setting> {
    let mut out = Vec::new();
    // Parent keys, each with its indentation.
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut section = String::new();
    // `- name: MONGO_PASSWORD` of a list, whose value is on another line.
    let mut named: Option<String> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let offset = start;
        start += line.len();
        let trimmed = line.trim();
        // Templates of Helm compute values; the input is in another file.
        if trimmed.is_empty()
            || trimmed.len() > MAX_LINE
            || trimmed.starts_with(['#', '/', ';', '<'])
            || trimmed.contains("{{")
        {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim_matches(['[', ']', '"', ' ']).to_ascii_lowercase();
            above.clear();
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let at = offset + indent;
        let is_item = trimmed.starts_with("- ");
        let content = trimmed.trim_start_matches(['-', ' ']);
        let depth = indent + (trimmed.len() - content.len());
        above.retain(|(outer, _)| *outer < depth);
        if is_item {
            named = None;
        }
        let keys: Vec<&str> = std::iter::once(section.as_str())
            .chain(above.iter().map(|(_, key)| key.as_str()))
            .filter(|key| !key.is_empty())
            .collect();
        let prefix = keys.join(".");
        // A block: `key:`, `"key": {`, `resource "a" "b" {`.
        let opens = content.ends_with('{') && !content.contains('}');
        let head = content.trim_end_matches('{').trim_end();
        let head = head.trim_end_matches([':', '=']).trim_end();
        if opens || content.ends_with(':') {
            above.push((depth, plain_key(head)));
            continue;
        }
        let found = pairs(content, &prefix, at, file);
        for setting in found {
            match last_key(&setting.path) {
                "name" => named = Some(setting.value.to_ascii_lowercase()),
                "value" => out.extend(named.take().map(|name| Setting {
                    path: name,
                    value: setting.value.clone(),
                    at: setting.at,
                })),
                _ => {}
            }
            out.push(setting);
        }
    }
    out
}

/// Longer lines are data.
const MAX_LINE: usize = 2000;

fn plain_key(text: &str) -> String {
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ','])).collect();
    words.join(" ").to_ascii_lowercase()
}

/// The keys and values of one line, also those in `{…}`.
fn pairs(line: &str, prefix: &str, at: usize, file: &str) -> Vec<Setting> {
    let mut out = Vec::new();
    pairs_into(line, prefix, at, file, 0, &mut out);
    out
}

fn pairs_into(line: &str, prefix: &str, at: usize, file: &str, depth: u32, out: &mut Vec<Setting>) {
    let line = line.trim().trim_end_matches(',');
    if let Some(inner) = line.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        if depth < 8 {
            for part in split_at_commas(inner) {
                pairs_into(part, prefix, at, file, depth + 1, out);
            }
        }
        return;
    }
    // `- 'MONGO_PASSWORD=…'`: the pair is in quotes.
    let quoted = line.chars().next().filter(|c| matches!(c, '"' | '\''));
    let line = quoted
        .and_then(|quote| line.strip_prefix(quote)?.strip_suffix(quote))
        .filter(|inner| !inner.contains(['"', '\'']))
        .unwrap_or(line);
    let Some((key, value)) = line.split_once(['=', ':']) else { return };
    let key = plain_key(key.trim().trim_end_matches([' ', '\\']));
    let key = key.strip_prefix("env ").or(key.strip_prefix("export ")).unwrap_or(&key);
    let value = value.trim_start_matches('=').trim();
    let path = if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") };
    if value.starts_with('{') && value.ends_with('}') {
        return pairs_into(value, &path, at, file, depth + 1, out);
    }
    let quoted = value.starts_with(['"', '\'']);
    // Without quotes, values of Terraform and code are names.
    if !quoted && (file.ends_with(".tf") || file.ends_with(".hcl")) {
        return;
    }
    let value = match value.chars().next().filter(|_| quoted) {
        Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
        // A comment after the value.
        None => value.split(" #").next().unwrap_or(value).trim(),
    };
    out.push(Setting { path, value: value.to_owned(), at });
}

/// The parts of a text between commas that are outside of quotes and braces.
fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut from) = (0_i32, None, 0);
    let mut out = Vec::new();
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('{' | '[', None) => depth += 1,
            ('}' | ']', None) => depth -= 1,
            (',', None) if depth == 0 => {
                out.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

/// Databases in which a script creates accounts: `db.getSiblingDB('shop').createUser(…)`.
pub(super) fn accounts_in(text: &str) -> impl Iterator<Item = String> {
    let switches = text.contains("createUser").then(|| text.match_indices("getSiblingDB("));
    switches.into_iter().flatten().filter_map(|(at, call)| {
        let rest = text[at + call.len()..].trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split_once(quote).map(|(name, _)| name.to_owned())
    })
}

/// The number of single-member replica sets that a text initiates:
/// `rs.initiate({_id: "rs0", members: [{_id: 0, host: "db:27017"}]})`.
pub(super) fn single_sets(text: &str) -> u64 {
    /// Maximum number of characters of a replica set definition that Docward reads.
    const LONGEST: usize = 600;
    let made = text.match_indices("rs.initiate(").map(|(at, call)| &text[at + call.len()..]);
    let single = made.filter(|rest| {
        let mut depth = 1;
        let held = rest.chars().take(LONGEST).take_while(|c| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth > 0
        });
        let held: String = held.collect();
        // A variable may contain any set.
        held.trim().is_empty() || (held.contains("members") && held.matches("host").count() == 1)
    });
    // A compose file may start only one server of a set.
    let is_compose = text.contains("services:") && text.matches("--replSet").count() == 1;
    single.count() as u64 + u64::from(is_compose && !text.contains("rs.initiate("))
}
