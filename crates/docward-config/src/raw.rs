//! The typed values: every key with its value and its position, not interpreted.
//!
//! This step knows the structure of the file (tables, keys, TOML types). `validate` interprets
//! rules, patterns and numbers.

mod guard;
mod services;

use docward_model::RuleMeta;
use toml_edit::{Item, Table, TableLike, Value};

pub use guard::{AUTHS, FACES, GuardLimit, GuardSettings, GuardUser, RIGHTS};
pub(crate) use services::{RawDeployment, RawService};

use crate::{
    diagnostic::Diagnostics,
    keys::{self, Section},
    suggest::excerpt,
};

/// A typed value and its byte offset.
#[derive(Clone, Copy)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) at: usize,
}

/// The whole file.
#[derive(Default)]
pub(crate) struct Raw<'d> {
    pub(crate) profile: Option<At<&'d str>>,
    pub(crate) select: Vec<At<&'d str>>,
    pub(crate) ignore: Vec<At<&'d str>>,
    pub(crate) fail_on: Option<At<&'d str>>,
    pub(crate) rules: Vec<RawRule<'d>>,
    pub(crate) namespaces: Vec<RawNamespace<'d>>,
    pub(crate) core: Option<Vec<At<&'d str>>>,
    pub(crate) bounded: Vec<RawBounded<'d>>,
    pub(crate) mirrors: Vec<RawMirror<'d>>,
    pub(crate) shard_keys: Vec<RawShardKey<'d>>,
    pub(crate) deployment: RawDeployment<'d>,
    pub(crate) services: Vec<RawService<'d>>,
    pub(crate) guard: GuardSettings,
    pub(crate) baseline: Option<At<&'d str>>,
    pub(crate) suppress: Vec<RawSuppression<'d>>,
    pub(crate) waive: Vec<RawWaiver<'d>>,
}

/// `[[suppress]]`, complete.
pub(crate) struct RawSuppression<'d> {
    pub(crate) at: usize,
    pub(crate) rule: At<&'d str>,
    pub(crate) pattern: Option<At<&'d str>>,
    pub(crate) path: Option<At<&'d str>>,
    pub(crate) file: Option<At<&'d str>>,
    pub(crate) reason: At<&'d str>,
    pub(crate) expires: At<Day>,
}

/// `[[waive]]`, complete.
pub(crate) struct RawWaiver<'d> {
    pub(crate) item: At<&'d str>,
    pub(crate) reason: At<&'d str>,
    pub(crate) by: Option<At<&'d str>>,
    pub(crate) expires: At<Day>,
}

/// The last day on which an entry is valid, `2027-01-31`; `None` for unlimited.
pub(crate) type Day = Option<String>;

/// `[rules.D008]`. Only the rule knows the types of its thresholds.
pub(crate) struct RawRule<'d> {
    pub(crate) key: At<&'d str>,
    pub(crate) severity: Option<At<&'d str>>,
    pub(crate) enabled: Option<At<bool>>,
    pub(crate) thresholds: Vec<(At<&'d str>, &'d Item)>,
    /// The offsets of the keys `severity` and `enabled`, not of their values.
    pub(crate) severity_key: usize,
    pub(crate) enabled_key: usize,
}

/// `[[namespaces]]`.
pub(crate) struct RawNamespace<'d> {
    pub(crate) at: usize,
    pub(crate) pattern: Option<At<&'d str>>,
    pub(crate) ignore: Vec<At<&'d str>>,
    pub(crate) select: Vec<At<&'d str>>,
    pub(crate) rules: Vec<RawRule<'d>>,
    /// True if neither `ignore` nor `select` nor `rules` was written.
    pub(crate) idle: bool,
}

/// `[[collections.bounded]]`, complete.
pub(crate) struct RawBounded<'d> {
    pub(crate) at: usize,
    pub(crate) pattern: At<&'d str>,
    pub(crate) path: At<&'d str>,
    pub(crate) max: At<i64>,
}

/// `[[collections.mirrors]]`, complete.
pub(crate) struct RawMirror<'d> {
    pub(crate) pattern: At<&'d str>,
    pub(crate) path: At<&'d str>,
}

/// `[[collections.shard-keys]]`, complete.
pub(crate) struct RawShardKey<'d> {
    pub(crate) namespace: At<&'d str>,
    /// Fields in the order written.
    pub(crate) key: At<Vec<(At<&'d str>, &'d Item)>>,
}

/// Reads the root table.
pub(crate) fn read<'d>(
    root: &'d Table,
    text: &str,
    rules: &[&RuleMeta],
    out: &mut Diagnostics<'_>,
) -> Raw<'d> {
    let mut reader = Reader { text, rules, out };
    let mut raw = Raw::default();
    for (key, item) in entries(root) {
        match key.value {
            "profile" => raw.profile = reader.string("profile", item),
            "select" => raw.select = reader.strings("select", item).unwrap_or_default(),
            "ignore" => raw.ignore = reader.strings("ignore", item).unwrap_or_default(),
            "fail-on" => raw.fail_on = reader.string("fail-on", item),
            "rules" => raw.rules = reader.rules(key.at, item),
            "namespaces" => raw.namespaces = reader.namespaces(key.at, item),
            "collections" => reader.collections(key.at, item, &mut raw),
            "deployment" => raw.deployment = reader.deployment(key.at, item),
            "service" => raw.services = reader.services(key.at, item),
            "guard" => raw.guard = reader.guard(key.at, item),
            "baseline" => raw.baseline = reader.string("baseline", item),
            "suppress" => raw.suppress = reader.suppressions(key.at, item),
            "waive" => raw.waive = reader.waivers(key.at, item),
            _ => reader.unknown(key, keys::ROOT),
        }
    }
    raw
}

/// Reads the root table of a users file.
pub(crate) fn read_users(root: &Table, text: &str, out: &mut Diagnostics<'_>) -> Vec<GuardUser> {
    let mut reader = Reader { text, rules: &[], out };
    let mut users = Vec::new();
    for (key, item) in entries(root) {
        match key.value {
            "user" => users = reader.users(key.at, item),
            _ => reader.unknown(key, guard::USERS_ROOT),
        }
    }
    users
}

struct Reader<'a, 't> {
    text: &'a str,
    /// The rules, only for hints: a misplaced key may belong to a rule.
    rules: &'a [&'a RuleMeta],
    out: &'a mut Diagnostics<'t>,
}

impl Reader<'_, '_> {
    fn rules<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawRule<'d>> {
        let Some(table) = self.table("rules", at, item, "write `[rules.CODE]`") else {
            return Vec::new();
        };
        entries(table).into_iter().filter_map(|(key, item)| self.rule(key, item)).collect()
    }

    fn rule<'d>(&mut self, key: At<&'d str>, item: &'d Item) -> Option<RawRule<'d>> {
        let name = excerpt(key.value);
        // `D008 = "warn"` and `D008 = false` are the syntax of other linters.
        let hint = match item.as_value() {
            Some(Value::Boolean(_)) => {
                format!("write `{name} = {{ enabled = {} }}`", self.source(item))
            }
            Some(Value::String(word)) if matches!(word.value().as_str(), "off" | "allow") => {
                format!("write `{name} = {{ enabled = false }}`")
            }
            Some(Value::String(_)) => {
                format!("write `{name} = {{ severity = {} }}`", self.source(item))
            }
            _ => format!("write `[rules.{name}]` and its settings below"),
        };
        let table = self.table(key.value, key.at, item, &hint)?;
        let mut rule = RawRule {
            key,
            severity: None,
            enabled: None,
            thresholds: Vec::new(),
            severity_key: key.at,
            enabled_key: key.at,
        };
        for (key, item) in entries(table) {
            match key.value {
                "severity" => {
                    rule.severity = self.string("severity", item);
                    rule.severity_key = key.at;
                }
                "enabled" => {
                    rule.enabled = self.boolean("enabled", item);
                    rule.enabled_key = key.at;
                }
                _ => rule.thresholds.push((key, item)),
            }
        }
        Some(rule)
    }

    fn namespaces<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawNamespace<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("namespaces", at, item, keys::NAMESPACES) {
            let mut namespace = RawNamespace {
                at,
                pattern: None,
                ignore: Vec::new(),
                select: Vec::new(),
                rules: Vec::new(),
                idle: true,
            };
            for (key, item) in entries(table) {
                match key.value {
                    "match" => namespace.pattern = self.string("match", item),
                    "ignore" => {
                        namespace.ignore = self.strings("ignore", item).unwrap_or_default();
                    }
                    "select" => {
                        namespace.select = self.strings("select", item).unwrap_or_default();
                    }
                    "rules" => namespace.rules = self.rules(key.at, item),
                    _ => self.unknown(key, keys::NAMESPACES),
                }
                namespace.idle &= key.value == "match";
            }
            self.missing(at, table, keys::NAMESPACES, &["match"]);
            out.push(namespace);
        }
        out
    }

    fn collections<'d>(&mut self, at: usize, item: &'d Item, raw: &mut Raw<'d>) {
        let Some(table) = self.table("collections", at, item, "write `[collections]`") else {
            return;
        };
        for (key, item) in entries(table) {
            match key.value {
                "core" => raw.core = self.strings("core", item),
                "bounded" => raw.bounded = self.bounded(key.at, item),
                "mirrors" => raw.mirrors = self.mirrors(key.at, item),
                "shard-keys" => raw.shard_keys = self.shard_keys(key.at, item),
                _ => self.unknown(key, keys::COLLECTIONS),
            }
        }
    }

    fn bounded<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawBounded<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("bounded", at, item, keys::BOUNDED) {
            let (mut pattern, mut path, mut max) = (None, None, None);
            for (key, item) in entries(table) {
                match key.value {
                    "match" => pattern = self.string("match", item),
                    "path" => path = self.string("path", item),
                    "max" => max = self.integer("max", item),
                    _ => self.unknown(key, keys::BOUNDED),
                }
            }
            self.missing(at, table, keys::BOUNDED, keys::BOUNDED.keys);
            if let (Some(pattern), Some(path), Some(max)) = (pattern, path, max) {
                out.push(RawBounded { at, pattern, path, max });
            }
        }
        out
    }

    fn mirrors<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawMirror<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("mirrors", at, item, keys::MIRRORS) {
            let (mut pattern, mut path) = (None, None);
            for (key, item) in entries(table) {
                match key.value {
                    "match" => pattern = self.string("match", item),
                    "path" => path = self.string("path", item),
                    _ => self.unknown(key, keys::MIRRORS),
                }
            }
            self.missing(at, table, keys::MIRRORS, keys::MIRRORS.keys);
            if let (Some(pattern), Some(path)) = (pattern, path) {
                out.push(RawMirror { pattern, path });
            }
        }
        out
    }

    fn shard_keys<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawShardKey<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("shard-keys", at, item, keys::SHARD_KEYS) {
            let (mut namespace, mut fields) = (None, None);
            for (key, item) in entries(table) {
                match key.value {
                    "namespace" => namespace = self.string("namespace", item),
                    "key" => {
                        let hint = "write `key = { customerId = 1, createdAt = 1 }`";
                        fields = self
                            .table("key", key.at, item, hint)
                            .map(|table| At { value: entries(table), at: start(item, key.at) });
                    }
                    _ => self.unknown(key, keys::SHARD_KEYS),
                }
            }
            self.missing(at, table, keys::SHARD_KEYS, keys::SHARD_KEYS.keys);
            if let (Some(namespace), Some(key)) = (namespace, fields) {
                out.push(RawShardKey { namespace, key });
            }
        }
        out
    }
}

/// Entries that accept findings for a time.
impl Reader<'_, '_> {
    fn suppressions<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawSuppression<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("suppress", at, item, keys::SUPPRESS) {
            let (mut rule, mut pattern, mut path, mut file) = (None, None, None, None);
            let (mut reason, mut expires) = (None, None);
            for (key, item) in entries(table) {
                match key.value {
                    "rule" => rule = self.string("rule", item),
                    "match" => pattern = self.string("match", item),
                    "path" => path = self.string("path", item),
                    "file" => file = self.string("file", item),
                    "reason" => reason = self.string("reason", item),
                    "expires" => expires = self.day("expires", item),
                    _ => self.unknown(key, keys::SUPPRESS),
                }
            }
            self.missing(at, table, keys::SUPPRESS, &["rule", "reason", "expires"]);
            // A pattern of the wrong type must not extend the entry to everything.
            let narrowed = pattern.is_some() == table.contains_key("match")
                && path.is_some() == table.contains_key("path")
                && file.is_some() == table.contains_key("file");
            if let (Some(rule), Some(reason), Some(expires), true) =
                (rule, reason, expires, narrowed)
            {
                out.push(RawSuppression { at, rule, pattern, path, file, reason, expires });
            }
        }
        out
    }

    fn waivers<'d>(&mut self, at: usize, item: &'d Item) -> Vec<RawWaiver<'d>> {
        let mut out = Vec::new();
        for (at, table) in self.tables("waive", at, item, keys::WAIVE) {
            let (mut id, mut reason, mut by, mut expires) = (None, None, None, None);
            for (key, item) in entries(table) {
                match key.value {
                    "item" => id = self.string("item", item),
                    "reason" => reason = self.string("reason", item),
                    "by" => by = self.string("by", item),
                    "expires" => expires = self.day("expires", item),
                    _ => self.unknown(key, keys::WAIVE),
                }
            }
            self.missing(at, table, keys::WAIVE, &["item", "reason", "expires"]);
            if let (Some(item), Some(reason), Some(expires)) = (id, reason, expires) {
                out.push(RawWaiver { item, reason, by, expires });
            }
        }
        out
    }

    /// A calendar date, as a TOML date or in quotes, or `"never"`.
    fn day(&mut self, name: &str, item: &Item) -> Option<At<Day>> {
        let at = start(item, 0);
        if item.as_str() == Some("never") {
            return Some(At { value: None, at });
        }
        let date = match item.as_datetime() {
            Some(date) => Some(*date),
            None => item.as_str().and_then(|text| text.parse().ok()),
        };
        match date.and_then(whole_day) {
            Some(day) => Some(At { value: Some(day), at }),
            None => {
                let hint = format!("write `{name} = 2027-01-31`, or `{name} = \"never\"`");
                self.wrong(name, item, "a day", Some(hint));
                None
            }
        }
    }
}

/// A calendar date without a time.
fn whole_day(date: toml_edit::Datetime) -> Option<String> {
    match date {
        toml_edit::Datetime { date: Some(day), time: None, offset: None } => Some(day.to_string()),
        _ => None,
    }
}

/// Returns whether a text is a calendar date, `2027-01-31`.
pub fn is_day(text: &str) -> bool {
    text.parse().is_ok_and(|date| whole_day(date).is_some())
}

/// Readers for the TOML types.
impl Reader<'_, '_> {
    fn string<'d>(&mut self, name: &str, item: &'d Item) -> Option<At<&'d str>> {
        if let Some(value) = item.as_str() {
            return Some(At { value, at: start(item, 0) });
        }
        // `server-version = 6.0`: quotes matter there, because the number 4.10 is 4.1.
        let hint = matches!(item.as_value(), Some(v) if !v.is_array() && !v.is_inline_table())
            .then(|| format!("write `{name} = \"{}\"`", self.source(item)));
        self.wrong(name, item, "a string", hint);
        None
    }

    fn integer(&mut self, name: &str, item: &Item) -> Option<At<i64>> {
        if let Some(value) = item.as_integer() {
            return Some(At { value, at: start(item, 0) });
        }
        let hint = item
            .as_str()
            .and_then(|text| text.trim().parse::<i64>().ok())
            .map(|number| format!("write `{name} = {number}`"));
        self.wrong(name, item, "a whole number", hint);
        None
    }

    /// A number, with or without decimals.
    fn number(&mut self, name: &str, item: &Item) -> Option<At<f64>> {
        let at = start(item, 0);
        if let Some(value) = item.as_float().or(item.as_integer().map(|whole| whole as f64)) {
            return Some(At { value, at });
        }
        let hint = item
            .as_str()
            .and_then(|text| text.trim().parse::<f64>().ok())
            .map(|number| format!("write `{name} = {number}`"));
        self.wrong(name, item, "a number", hint);
        None
    }

    fn boolean(&mut self, name: &str, item: &Item) -> Option<At<bool>> {
        if let Some(value) = item.as_bool() {
            return Some(At { value, at: start(item, 0) });
        }
        let hint = item
            .as_str()
            .filter(|text| matches!(*text, "true" | "false"))
            .map(|text| format!("write `{name} = {text}`"));
        self.wrong(name, item, "`true` or `false`", hint);
        None
    }

    /// A list of strings; elements of other types are reported individually and left out.
    fn strings<'d>(&mut self, name: &str, item: &'d Item) -> Option<Vec<At<&'d str>>> {
        let Some(list) = item.as_array() else {
            let hint = item.as_str().map(|_| format!("write `{name} = [{}]`", self.source(item)));
            self.wrong(name, item, "a list of strings", hint);
            return None;
        };
        let mut out = Vec::new();
        for value in list {
            let at = value.span().map_or(0, |span| span.start);
            match value.as_str() {
                Some(value) => out.push(At { value, at }),
                None => {
                    let message =
                        format!("`{name}` must be a list of strings, not of {}", plural(value));
                    self.out.error(at, message, None);
                }
            }
        }
        Some(out)
    }

    fn table<'d>(
        &mut self,
        name: &str,
        at: usize,
        item: &'d Item,
        hint: &str,
    ) -> Option<&'d dyn TableLike> {
        let table = item.as_table_like();
        if table.is_none() {
            let message = format!("`{}` must be a table, not {}", excerpt(name), kind(item));
            self.out.error(at, message, Some(hint.to_owned()));
        }
        table
    }

    /// The tables of `[[name]]`, or of `name = [{ … }]`, each with its position.
    fn tables<'d>(
        &mut self,
        name: &str,
        at: usize,
        item: &'d Item,
        section: Section,
    ) -> Vec<(usize, &'d dyn TableLike)> {
        match item {
            Item::ArrayOfTables(tables) => tables
                .iter()
                .map(|table| (table.span().map_or(at, |s| s.start), table as &dyn TableLike))
                .collect(),
            Item::Value(Value::Array(list)) => {
                let mut out = Vec::new();
                for value in list {
                    let at = value.span().map_or(at, |span| span.start);
                    match value.as_inline_table() {
                        Some(table) => out.push((at, table as &dyn TableLike)),
                        None => {
                            let message = format!(
                                "`{name}` must be a list of tables, not of {}",
                                plural(value)
                            );
                            self.out.error(at, message, None);
                        }
                    }
                }
                out
            }
            other => {
                let message = format!("`{name}` must be a list of tables, not {}", kind(other));
                let hint = format!("write `{}`, with two brackets", section.header);
                self.out.error(at, message, Some(hint));
                // A lone table is read as the single element it was meant to be, so that its own
                // problems are reported in the same run.
                other.as_table_like().map(|table| (at, table)).into_iter().collect()
            }
        }
    }

    /// Reports missing mandatory keys of a table. A key of the wrong type was already reported.
    fn missing(&mut self, at: usize, table: &dyn TableLike, section: Section, needed: &[&str]) {
        for key in needed.iter().filter(|key| !table.contains_key(key)) {
            self.out.error(at, format!("`{}` needs `{key}`", section.header), None);
        }
    }

    fn unknown(&mut self, key: At<&str>, section: Section) {
        let place = if section.header.is_empty() {
            String::new()
        } else {
            format!(" in `{}`", section.header)
        };
        let message = format!("unknown key `{}`{place}", excerpt(key.value));
        let hint = keys::unknown_key_hint(key.value, section, self.rules);
        self.out.error(key.at, message, Some(hint));
    }

    fn wrong(&mut self, name: &str, item: &Item, wanted: &str, hint: Option<String>) {
        let message = format!("`{name}` must be {wanted}, not {}", kind(item));
        self.out.error(start(item, 0), message, hint);
    }

    fn source(&self, item: &Item) -> String {
        source(self.text, item)
    }
}

/// A value as written.
pub(crate) fn source(text: &str, item: &Item) -> String {
    excerpt(item.span().and_then(|span| text.get(span)).unwrap_or("…").trim())
}

/// The entries of a table in the order written, which for reopened tables differs from the order
/// stored.
fn entries(table: &dyn TableLike) -> Vec<(At<&str>, &Item)> {
    let mut out: Vec<_> = table
        .iter()
        .map(|(key, item)| {
            let at = table.key(key).and_then(toml_edit::Key::span).map(|span| span.start);
            (At { value: key, at: at.unwrap_or_else(|| start(item, 0)) }, item)
        })
        .collect();
    out.sort_by_key(|(key, _)| key.at);
    out
}

/// The start of a value.
pub(crate) fn start(item: &Item, otherwise: usize) -> usize {
    item.span().map_or(otherwise, |span| span.start)
}

/// The type of a value, with its article.
pub(crate) fn kind(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(value) => match value {
            Value::String(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a decimal number",
            Value::Boolean(_) => "a boolean",
            Value::Datetime(_) => "a date",
            Value::Array(_) => "a list",
            Value::InlineTable(_) => "a table",
        },
    }
}

/// The type of list elements, in the plural.
pub(crate) fn plural(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "strings",
        Value::Integer(_) | Value::Float(_) => "numbers",
        Value::Boolean(_) => "booleans",
        Value::Datetime(_) => "dates",
        Value::Array(_) => "lists",
        Value::InlineTable(_) => "tables",
    }
}
