//! Reads the declarations about collections and the deployment.

use docward_model::{CoreSource, Namespace, NamespacePattern, Settings, ShardKey};
use toml_edit::{Item, Value};

use super::pattern;
use crate::{
    diagnostic::Diagnostics,
    keys::SHARDS,
    raw::{self, At, Raw, RawShardKey},
    suggest::excerpt,
};

/// Reads `[collections]`, and the keys of `[deployment]` about its servers.
pub(super) fn read(raw: &Raw<'_>, text: &str, settings: &mut Settings, out: &mut Diagnostics<'_>) {
    if let Some(core) = &raw.core {
        let patterns = core.iter().filter_map(|text| of_collections(*text, out)).collect();
        settings.core = CoreSource::Declared(patterns);
    }
    for entry in &raw.bounded {
        let pattern = of_collections(entry.pattern, out);
        let path = array_path(entry.path, out);
        let max = u64::try_from(entry.max.value).ok().filter(|max| *max > 0);
        if max.is_none() {
            out.error(
                entry.max.at,
                format!("`max` must be 1 or more, not {}", entry.max.value),
                None,
            );
        }
        if let (Some(pattern), Some(path), Some(max)) = (pattern, path, max) {
            let known = &settings.bounded_arrays;
            // The first entry wins, see `Settings::array_cap`.
            if known.iter().any(|(p, known, _)| p.as_str() == pattern.as_str() && known == path) {
                let message = format!("`{}` has a limit already, above", excerpt(path));
                out.note(entry.at, message, Some("the first entry counts".to_owned()));
            }
            settings.bounded_arrays.push((pattern, path.to_owned(), max));
        }
    }
    for entry in &raw.mirrors {
        if let (Some(pattern), Some(path)) =
            (of_collections(entry.pattern, out), field_path(entry.path, out))
        {
            settings.mirrors.push((pattern, path.to_owned()));
        }
    }
    for entry in &raw.shard_keys {
        if let Some(key) = shard_key(entry, text, &settings.shard_keys, out) {
            settings.shard_keys.push(key);
        }
    }
    settings.server_version =
        raw.deployment.server_version.and_then(|text| server_version(text, out));
    if let Some(shards) = raw.deployment.shards {
        settings.shards = u32::try_from(shards.value).ok().filter(|shards| SHARDS.contains(shards));
        if settings.shards.is_none() {
            let (least, most) = (SHARDS.start(), SHARDS.end());
            let message = format!("`shards` must be {least} to {most}, not {}", shards.value);
            out.error(shards.at, message, None);
        }
    }
}

/// A pattern that can match a collection. A plain name without a dot can only match a database.
fn of_collections(text: At<&str>, out: &mut Diagnostics<'_>) -> Option<NamespacePattern> {
    let found = pattern(text, out)?;
    if !text.value.contains(['.', '*', '?', '[', '{', '\\']) {
        let name = excerpt(text.value);
        let message = format!("`{name}` matches no collection: it names no database");
        out.error(text.at, message, Some(format!("write `*.{name}` or `database.{name}`")));
        return None;
    }
    Some(found)
}

/// A path as reports print it: names separated by dots, `[]` after arrays.
fn field_path<'d>(path: At<&'d str>, out: &mut Diagnostics<'_>) -> Option<&'d str> {
    let why = if path.value.is_empty() {
        "it is empty"
    } else if path.value.starts_with('$') {
        "paths do not start with `$`"
    } else if path.value.split('.').any(|name| name.trim_end_matches("[]").is_empty()) {
        "a name between two dots is empty"
    } else {
        return Some(path.value);
    };
    let message = format!("`{}` is not a path: {why}", excerpt(path.value));
    out.error(path.at, message, Some("write it as reports do, `items[].price`".to_owned()));
    None
}

/// The path of an array itself, not of its elements.
fn array_path<'d>(path: At<&'d str>, out: &mut Diagnostics<'_>) -> Option<&'d str> {
    let found = field_path(path, out)?;
    if let Some(array) = found.strip_suffix("[]") {
        let message = format!("`{}` means the elements, not the array", excerpt(found));
        out.error(path.at, message, Some(format!("write `{}`", excerpt(array))));
        return None;
    }
    Some(found)
}

fn shard_key(
    entry: &RawShardKey<'_>,
    text: &str,
    known: &[ShardKey],
    out: &mut Diagnostics<'_>,
) -> Option<ShardKey> {
    let namespace = collection(entry.namespace, out);
    let fields = shard_fields(&entry.key, text, out);
    let (namespace, fields) = (namespace?, fields?);
    if known.iter().any(|key| key.namespace == namespace) {
        let message =
            format!("`{}` has a shard key already, above", excerpt(entry.namespace.value));
        out.error(entry.namespace.at, message, Some("the first entry counts".to_owned()));
        return None;
    }
    Some(ShardKey { namespace, fields })
}

fn collection(text: At<&str>, out: &mut Diagnostics<'_>) -> Option<Namespace> {
    let name = excerpt(text.value);
    if text.value.contains(['*', '?', '[', '{']) {
        let message = format!("`namespace` must name one collection, and `{name}` is a pattern");
        out.error(text.at, message, None);
        return None;
    }
    let found = Namespace::parse(text.value);
    if found.is_none() {
        let message = format!("`namespace` must be `database.collection`, not `{name}`");
        out.error(text.at, message, None);
    }
    found
}

fn shard_fields(
    key: &At<Vec<(At<&str>, &Item)>>,
    text: &str,
    out: &mut Diagnostics<'_>,
) -> Option<Vec<(String, bool)>> {
    if key.value.is_empty() {
        let hint = "write `key = { customerId = 1 }`".to_owned();
        out.error(key.at, "a shard key needs a field", Some(hint));
        return None;
    }
    let mut sound = true;
    let mut fields: Vec<(String, bool)> = Vec::new();
    for (name, item) in &key.value {
        let shown = excerpt(name.value);
        let at = raw::start(item, name.at);
        let hashed = match item.as_value() {
            Some(Value::Integer(n)) if *n.value() == 1 => Some(false),
            Some(Value::String(word)) if word.value() == "hashed" => Some(true),
            // `address.zip = 1` is a nested table in TOML, which loses its position in the order.
            _ if item.is_table_like() => {
                let message = format!("`{shown}` is a table, and a shard key has only fields");
                let hint = format!("quote paths: `\"{shown}.field\" = 1`");
                out.error(name.at, message, Some(hint));
                None
            }
            _ => {
                let written = raw::source(text, item);
                let message = format!("`{shown}` must be 1 or \"hashed\", not {written}");
                let hint = matches!(item.as_integer(), Some(-1))
                    .then(|| "shard keys only ascend".to_owned());
                out.error(at, message, hint);
                None
            }
        };
        if name.value.contains("[]") {
            let message = format!("`{shown}` is in an array, which a shard key cannot contain");
            out.error(name.at, message, None);
            sound = false;
        } else {
            sound &= field_path(*name, out).is_some();
        }
        if hashed == Some(true) && fields.iter().any(|(_, hashed)| *hashed) {
            out.error(at, "a shard key can have only one hashed field", None);
            sound = false;
        }
        match hashed {
            Some(hashed) => fields.push((name.value.to_owned(), hashed)),
            None => sound = false,
        }
    }
    // A key without one of its fields is a different key, so it is dropped completely.
    sound.then_some(fields)
}

/// Parses `6.0`, or `6.0.14`, ignoring the patch version.
fn server_version(text: At<&str>, out: &mut Diagnostics<'_>) -> Option<(u32, u32)> {
    // `parse` alone would accept `+6`.
    let number =
        |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u32>().ok())?;
    let mut parts = text.value.split('.').map(number);
    if let (Some(Some(major)), Some(Some(minor)), None | Some(Some(_)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    {
        return Some((major, minor));
    }
    let message = format!("`{}` is not a server version", excerpt(text.value));
    out.error(text.at, message, Some("write major and minor, `\"6.0\"`".to_owned()));
    None
}
