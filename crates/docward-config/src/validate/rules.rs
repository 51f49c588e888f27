//! Reads rule settings: selectors, `[rules.CODE]` tables, and settings without an effect.

use std::collections::BTreeMap;

use docward_model::{
    ProfileName, RuleMeta, RuleSettings, Scope, Settings, Severity, ThresholdSetting, selects,
};

use super::{SEVERITIES, today, word};
use crate::{
    Origins,
    diagnostic::Diagnostics,
    keys,
    raw::{At, Raw, RawRule},
    suggest::{self, excerpt},
    threshold,
};

/// The problem with a word of `select` or `ignore` (or `--select`, `--ignore`): the message and the
/// advice. `None` if it selects at least one rule.
pub fn selector_problem(selector: &str, rules: &[&RuleMeta]) -> Option<(String, String)> {
    if rules.iter().any(|rule| selects(selector, rule)) {
        return None;
    }
    let mut letters = selector.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        let mut families: Vec<_> = rules.iter().map(|rule| rule.family().to_string()).collect();
        families.sort();
        families.dedup();
        let families: Vec<_> = families.iter().map(String::as_str).collect();
        let hint = if families.is_empty() {
            LIST_RULES.to_owned()
        } else {
            format!("families are {}", suggest::list(&families, "and"))
        };
        return Some((format!("no family of rules is called `{}`", letter.escape_debug()), hint));
    }
    Some(unknown_rule(selector, rules))
}

const LIST_RULES: &str = "`docward rules` lists them all";

fn unknown_rule(word: &str, rules: &[&RuleMeta]) -> (String, String) {
    let known = rules.iter().flat_map(|rule| [rule.code, rule.name]);
    let hint = suggest::did_you_mean(word, known).unwrap_or_else(|| LIST_RULES.to_owned());
    (format!("unknown rule `{}`", excerpt(word)), hint)
}

/// The words of `select` or `ignore`. Unknown ones are reported and kept: without the only word of
/// `select`, every rule would run.
pub(super) fn selectors(
    key: &str,
    words: &[At<&str>],
    rules: &[&RuleMeta],
    out: &mut Diagnostics<'_>,
) -> Vec<String> {
    for word in words {
        if let Some((message, hint)) = selector_problem(word.value, rules) {
            out.error(word.at, format!("{message} in `{key}`"), Some(hint));
        }
    }
    words.iter().map(|word| word.value.to_owned()).collect()
}

/// The `[rules.CODE]` tables by code, and the position of each setting.
pub(super) fn tables(
    raw: &[RawRule<'_>],
    rules: &[&RuleMeta],
    text: &str,
    out: &mut Diagnostics<'_>,
) -> (BTreeMap<String, RuleSettings>, Origins) {
    let mut by_code = BTreeMap::new();
    let mut origins = Origins::new();
    let mut first_seen: BTreeMap<&str, At<&str>> = BTreeMap::new();
    for table in raw {
        let Some(rule) = find(table.key.value, rules) else {
            let (message, hint) = unknown_rule(table.key.value, rules);
            let family = rules.iter().any(|rule| selects(table.key.value, rule));
            let hint = if family { "settings are for one rule at a time".to_owned() } else { hint };
            out.error(table.key.at, message, Some(hint));
            continue;
        };
        let (settings, places) = one(table, rule, rules, text, out);
        if let Some(first) = first_seen.get(rule.code) {
            let (line, _) = out.lines.position(first.at);
            let message = format!(
                "`{}` and `{}` are the same rule, which line {line} already sets",
                excerpt(table.key.value),
                excerpt(first.value)
            );
            let hint = format!("put everything under `[rules.{}]`", rule.code);
            out.error(table.key.at, message, Some(hint));
            continue;
        }
        first_seen.insert(rule.code, table.key);
        by_code.insert(rule.code.to_owned(), settings);
        origins.extend(
            places
                .into_iter()
                .map(|(key, at)| ((rule.code.to_owned(), key.to_owned()), out.location(at))),
        );
    }
    (by_code, origins)
}

fn find<'r>(word: &str, rules: &[&'r RuleMeta]) -> Option<&'r RuleMeta> {
    rules.iter().copied().find(|rule| rule.code.eq_ignore_ascii_case(word) || rule.name == word)
}

/// One `[rules.CODE]` table, and the offsets of its keys.
fn one<'d>(
    table: &RawRule<'d>,
    rule: &RuleMeta,
    rules: &[&RuleMeta],
    text: &str,
    out: &mut Diagnostics<'_>,
) -> (RuleSettings, Vec<(&'d str, usize)>) {
    let mut settings = RuleSettings::default();
    let mut places = Vec::new();
    if let Some(written) = table.severity {
        settings.severity = severity(written, out);
        if settings.severity.is_some() {
            places.push(("severity", table.severity_key));
        }
    }
    if let Some(enabled) = table.enabled {
        settings.enabled = Some(enabled.value);
        places.push(("enabled", table.enabled_key));
    }
    for (key, item) in &table.thresholds {
        let Some(known) = rule.thresholds.iter().find(|t| t.key == key.value) else {
            unknown_threshold(*key, rule, rules, out);
            continue;
        };
        let (value, faults) = threshold::read(rule.code, known, item, text);
        for fault in faults {
            out.error(fault.at, fault.message, fault.hint);
        }
        let Some(value) = value else { continue };
        note_empty(&value, *key, rule, out);
        settings.thresholds.insert(known.key.to_owned(), value);
        places.push((key.value, key.at));
    }
    (settings, places)
}

fn severity(written: At<&str>, out: &mut Diagnostics<'_>) -> Option<Severity> {
    if matches!(written.value, "off" | "none" | "never" | "allow" | "ignore") {
        let message = format!("`severity` cannot be `{}`", written.value);
        let hint = "`enabled = false` turns a rule off".to_owned();
        out.error(written.at, message, Some(hint));
        return None;
    }
    word("severity", today(written), &SEVERITIES, Severity::word, out)
}

fn unknown_threshold(
    key: At<&str>,
    rule: &RuleMeta,
    rules: &[&RuleMeta],
    out: &mut Diagnostics<'_>,
) {
    let known: Vec<_> =
        rule.thresholds.iter().map(|t| t.key).chain(keys::RULE.iter().copied()).collect();
    let section = keys::Section { header: "[rules.CODE]", keys: &[] };
    // Similar keys of this rule come first: many rules share the names of their thresholds.
    let hint = suggest::did_you_mean(key.value, known.iter().copied())
        .or_else(|| keys::elsewhere(key.value, section, rules))
        .unwrap_or_else(|| format!("{} has {}", rule.code, suggest::list(&known, "and")));
    let message = format!("unknown threshold `{}` of {}", excerpt(key.value), rule.code);
    out.error(key.at, message, Some(hint));
}

/// Words are added to the rule's own list, so an empty list has no effect; in particular, it does
/// not clear the list.
fn note_empty(value: &ThresholdSetting, key: At<&str>, rule: &RuleMeta, out: &mut Diagnostics<'_>) {
    if matches!(value, ThresholdSetting::Words(words) if words.is_empty()) {
        let message = format!("`{}` of {} is empty and changes nothing", key.value, rule.code);
        out.note(
            key.at,
            message,
            Some(
                "the words are added to the default list of the \
         rule"
                    .into(),
            ),
        );
    }
}

/// Notes valid settings that have no effect, because another one overrides them.
pub(super) fn note_idle(
    raw: &Raw<'_>,
    rules: &[&RuleMeta],
    settings: &Settings,
    out: &mut Diagnostics<'_>,
) {
    for table in &raw.rules {
        let Some(rule) = find(table.key.value, rules) else { continue };
        let ignored = settings.ignore.iter().any(|s| selects(s, rule));
        let selected = settings.select.iter().any(|s| selects(s, rule));
        let by_select = !settings.select.is_empty();
        let code = rule.code;
        match table.enabled.map(|enabled| enabled.value) {
            Some(true) if ignored => out.note(
                table.enabled_key,
                format!("`enabled = true` has no effect: `ignore` names {code}"),
                None,
            ),
            Some(true) if by_select && !selected => out.note(
                table.enabled_key,
                format!("`enabled = true` has no effect: `select` does not name {code}"),
                Some(format!("add \"{code}\" to `select`")),
            ),
            Some(false) if by_select && selected && !ignored => out.note(
                table.enabled_key,
                format!("`enabled = false` has no effect: `select` names {code}"),
                Some(format!("add \"{code}\" to `ignore`")),
            ),
            None if !by_select
                && settings.profile == ProfileName::Neutral
                && rule.scope == Scope::HouseNaming =>
            {
                out.note(
                    table.key.at,
                    format!(
                        "these settings have no effect: the profile `neutral` turns {code} \
                     off"
                    ),
                    Some("`enabled = true` turns it on".to_owned()),
                );
            }
            _ => {}
        }
    }
    // An entry can only turn on rules that it, or an earlier one, turns off.
    let mut off: Vec<&RuleMeta> = Vec::new();
    for namespace in &raw.namespaces {
        let named = |list: &[At<&str>], rule| list.iter().any(|s| selects(s.value, rule));
        let table = |rule: &RuleMeta| {
            namespace
                .rules
                .iter()
                .find(|t| find(t.key.value, rules).is_some_and(|found| found.code == rule.code))
        };
        let enabled = |rule| table(rule).and_then(|t| t.enabled).map(|enabled| enabled.value);
        for rule in rules {
            if named(&namespace.ignore, rule) || enabled(rule) == Some(false) {
                off.push(rule);
            }
        }
        let is_off = |rule: &RuleMeta| off.iter().any(|other| other.code == rule.code);
        for word in &namespace.select {
            let meant = || rules.iter().filter(|rule| selects(word.value, rule));
            if meant().next().is_some() && !meant().any(|rule| is_off(rule)) {
                out.note(
                    word.at,
                    format!("\"{}\" has no effect here: no earlier entry turns it off", word.value),
                    Some(
                        "`select` of an entry only reverts `ignore` of earlier \
                     entries"
                            .to_owned(),
                    ),
                );
            }
        }
        for table in &namespace.rules {
            if table.enabled.is_some_and(|enabled| enabled.value)
                && let Some(rule) = find(table.key.value, rules)
                && !is_off(rule)
            {
                out.note(
                    table.enabled_key,
                    "`enabled = true` has no effect here: no earlier entry turns the rule off",
                    Some(format!("remove it, or set it under `[rules.{}]`", rule.code)),
                );
            }
        }
    }
}
