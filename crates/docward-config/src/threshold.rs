//! Values of thresholds: the type of the default, in the range of the unit.
//!
//! A threshold declares no range. Its unit determines it: a share is between 0 and 1, a correlation
//! between -1 and 1, a time is unrestricted, and all counts and measures are non-negative. The
//! schema uses the same ranges.

use docward_model::{Threshold, ThresholdSetting, ThresholdValue};
use toml_edit::{Item, Value};

use crate::{raw, suggest};

/// The reason why a value cannot be used, with its position.
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

/// Reads a value for a threshold of a rule; faults do not always prevent a value (one invalid word
/// of many is left out).
pub(crate) fn read(
    code: &str,
    threshold: &Threshold,
    item: &Item,
    text: &str,
) -> (Option<ThresholdSetting>, Vec<Fault>) {
    let name = format!("`{}` of {code}", threshold.key);
    let at = raw::start(item, 0);
    let mut faults = Vec::new();
    let value = match (&threshold.default, item.as_value()) {
        (ThresholdValue::Int(_), Some(Value::Integer(n))) => {
            Some(ThresholdSetting::Int(*n.value()))
        }
        (ThresholdValue::Float(_), Some(Value::Float(n))) => {
            Some(ThresholdSetting::Float(*n.value()))
        }
        (ThresholdValue::Float(_), Some(Value::Integer(n))) => {
            Some(ThresholdSetting::Float(*n.value() as f64))
        }
        (ThresholdValue::Flag(_), Some(Value::Boolean(b))) => {
            Some(ThresholdSetting::Flag(*b.value()))
        }
        (ThresholdValue::Text(_), Some(Value::String(word))) => {
            Some(ThresholdSetting::Text(word.value().clone()))
        }
        (ThresholdValue::Words(_), Some(Value::Array(list))) => {
            let mut words = Vec::new();
            for value in list {
                match value.as_str() {
                    Some(word) => words.push(word.to_owned()),
                    None => faults.push(Fault {
                        at: value.span().map_or(at, |span| span.start),
                        message: format!(
                            "{name} must be a list of strings, not of {}",
                            raw::plural(value)
                        ),
                        hint: None,
                    }),
                }
            }
            Some(ThresholdSetting::Words(words))
        }
        (default, _) => {
            let message = format!("{name} must be {}, not {}", wanted(default), raw::kind(item));
            faults.push(Fault { at, message, hint: type_hint(threshold, item, text) });
            None
        }
    };
    let Some(value) = value else { return (None, faults) };
    match range_fault(&name, threshold, &value, &raw::source(text, item)) {
        Some((message, hint)) => {
            faults.push(Fault { at, message, hint });
            (None, faults)
        }
        None => (Some(value), faults),
    }
}

/// The minimum and the maximum of a number.
pub(crate) fn range(threshold: &Threshold) -> (Option<f64>, Option<f64>) {
    let (low, high) = match threshold.unit {
        unit if unit.starts_with("share") => (Some(0.0), Some(1.0)),
        unit if unit.starts_with("percent") => (Some(0.0), Some(100.0)),
        unit if unit.contains("correlation") => (Some(-1.0), Some(1.0)),
        // A time, not an amount.
        unit if unit.contains("since") => (None, None),
        _ => (Some(0.0), None),
    };
    // A default outside the range shows that the unit was misread, so the default wins.
    let default = threshold.default_number();
    (low.filter(|low| default >= *low), high.filter(|high| default <= *high))
}

/// The permitted words of a text, if the unit lists them ("camelCase or snake_case").
pub(crate) fn choices(threshold: &Threshold) -> Option<Vec<&'static str>> {
    let ThresholdValue::Text(default) = threshold.default else { return None };
    let words: Vec<_> =
        threshold.unit.split(", ").flat_map(|part| part.split(" or ")).map(str::trim).collect();
    (words.len() > 1 && words.contains(&default)).then_some(words)
}

fn range_fault(
    name: &str,
    threshold: &Threshold,
    value: &ThresholdSetting,
    written: &str,
) -> Option<(String, Option<String>)> {
    let number = match value {
        ThresholdSetting::Int(n) => *n as f64,
        ThresholdSetting::Float(n) => *n,
        ThresholdSetting::Text(word) => {
            let known = choices(threshold)?;
            if known.contains(&word.as_str()) {
                return None;
            }
            let hint = suggest::did_you_mean(word, known.iter().copied())
                .unwrap_or_else(|| format!("write {}", suggest::list(&known, "or")));
            return Some((format!("{name} cannot be `{}`", suggest::excerpt(word)), Some(hint)));
        }
        ThresholdSetting::Flag(_) | ThresholdSetting::Words(_) => return None,
    };
    if !number.is_finite() {
        return Some((format!("{name} must be a finite number, not {written}"), None));
    }
    match range(threshold) {
        (Some(low), Some(high)) if number < low || number > high => {
            // `80` for 0.8 is the usual mistake with shares.
            let hint = (low == 0.0 && high == 1.0 && number > 1.0 && number <= 100.0)
                .then(|| format!("write {} for {written} percent", number / 100.0));
            Some((format!("{name} must be between {low} and {high}, not {written}"), hint))
        }
        (Some(low), None) if number < low => {
            Some((format!("{name} counts {} and cannot be negative", threshold.unit), None))
        }
        _ => None,
    }
}

fn wanted(default: &ThresholdValue) -> &'static str {
    match default {
        ThresholdValue::Int(_) => "a whole number",
        ThresholdValue::Float(_) => "a number",
        ThresholdValue::Flag(_) => "`true` or `false`",
        ThresholdValue::Text(_) => "a string",
        ThresholdValue::Words(_) => "a list of strings",
    }
}

fn type_hint(threshold: &Threshold, item: &Item, text: &str) -> Option<String> {
    let key = threshold.key;
    let quoted = item.as_str().map(str::trim);
    let write = |value: &str| Some(format!("write `{key} = {value}`"));
    match threshold.default {
        ThresholdValue::Int(_) => quoted.filter(|s| s.parse::<i64>().is_ok()).and_then(write),
        ThresholdValue::Float(_) => quoted.filter(|s| s.parse::<f64>().is_ok()).and_then(write),
        ThresholdValue::Flag(_) => {
            quoted.filter(|s| matches!(*s, "true" | "false")).and_then(write)
        }
        ThresholdValue::Words(_) if item.is_str() => {
            write(&format!("[{}]", raw::source(text, item)))
        }
        ThresholdValue::Text(_) | ThresholdValue::Words(_) => None,
    }
}
