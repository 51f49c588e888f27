//! Interprets the typed values.
//!
//! Each value is checked on its own, so an invalid value affects nothing else.

mod accepted;
mod collections;
mod rules;
mod services;

use docward_model::{
    NamespaceOverride, NamespacePattern, PEDANTIC, ProfileName, RuleMeta, Severity,
};

pub use rules::selector_problem;

use crate::{
    Config, FailOn,
    diagnostic::Diagnostics,
    raw::{At, Raw},
    suggest,
};

/// Interprets a file.
pub(crate) fn validate(
    raw: &Raw<'_>,
    text: &str,
    rules: &[&RuleMeta],
    out: &mut Diagnostics<'_>,
) -> Config {
    let mut config = Config::default();
    let settings = &mut config.settings;

    if let Some(profile) = raw.profile {
        let all = &ProfileName::ALL;
        config.profile = word("profile", profile, all, ProfileName::name, out);
        settings.profile = config.profile.unwrap_or_default();
    }
    if let Some(fail_on) = raw.fail_on {
        config.fail_on = word("fail-on", today(fail_on), &FailOn::ALL, FailOn::name, out);
    }
    let of_rules: Vec<_> =
        raw.select.iter().filter(|word| word.value != PEDANTIC).copied().collect();
    settings.set_select(raw.select.iter().map(|word| word.value.to_owned()).collect());
    settings.select = rules::selectors("select", &of_rules, rules, out);
    settings.ignore = rules::selectors("ignore", &raw.ignore, rules, out);
    (settings.rules, config.origins) = rules::tables(&raw.rules, rules, text, out);

    for namespace in &raw.namespaces {
        let ignore = rules::selectors("ignore", &namespace.ignore, rules, out);
        let select = rules::selectors("select", &namespace.select, rules, out);
        let (by_code, origins) = rules::tables(&namespace.rules, rules, text, out);
        // Without a valid pattern, the scope of the entry is unknown; this was already reported.
        if let Some(pattern) = namespace.pattern.and_then(|text| pattern(text, out)) {
            if namespace.idle {
                let hint = "add `ignore`, `select` or `[namespaces.rules.CODE]`".to_owned();
                out.note(namespace.at, "`[[namespaces]]` changes nothing", Some(hint));
            }
            settings.overrides.push(NamespaceOverride { pattern, ignore, select, rules: by_code });
            config.override_origins.push(origins);
        }
    }

    collections::read(raw, text, settings, out);
    services::read(raw, settings, out);
    accepted::read(raw, settings, rules, out);
    rules::note_idle(raw, rules, settings, out);
    config.baseline = accepted::baseline(raw, out);
    config.guard = raw.guard.clone();
    config
}

/// A glob over namespaces.
fn pattern(text: At<&str>, out: &mut Diagnostics<'_>) -> Option<NamespacePattern> {
    if text.value.is_empty() {
        out.error(text.at, "an empty pattern matches nothing", Some("write `*` for all".into()));
        return None;
    }
    match NamespacePattern::new(text.value) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            let message = format!("`{}` is not a pattern: {why}", suggest::excerpt(text.value));
            out.error(text.at, message, None);
            None
        }
    }
}

/// Maps older names of severities, because JSON and earlier settings use `warn` and `info`.
fn today(written: At<&str>) -> At<&str> {
    match Severity::parse(written.value) {
        Some(severity) => At { value: severity.word(), ..written },
        None => written,
    }
}

/// A value from a short list of words.
fn word<T: Copy>(
    key: &str,
    written: At<&str>,
    all: &[T],
    name: fn(T) -> &'static str,
    out: &mut Diagnostics<'_>,
) -> Option<T> {
    let found = all.iter().copied().find(|value| name(*value) == written.value);
    if found.is_none() {
        let names: Vec<_> = all.iter().map(|value| name(*value)).collect();
        let hint = suggest::did_you_mean(written.value, names.iter().copied())
            .unwrap_or_else(|| format!("write {}", suggest::list(&names, "or")));
        let message = format!("`{key}` cannot be `{}`", suggest::excerpt(written.value));
        out.error(written.at, message, Some(hint));
    }
    found
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warn, Severity::Info];
