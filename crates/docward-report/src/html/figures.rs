//! Formats the figures of a finding with labels and units for people. Their keys are those of the
//! JSON report.

use docward_model::{DataValue, text};
use maud::{Markup, html};

use crate::text::plain;

/// Labels for keys whose words alone do not show what they count.
const LABELS: [(&str, &str); 17] = [
    ("p50", "median"),
    ("p95", "95th percentile"),
    ("p99", "99th percentile"),
    ("max", "largest"),
    ("min", "smallest"),
    ("ms", "milliseconds"),
    ("of", "out of"),
    ("perDay", "growth per day (typical document)"),
    ("longestPerDay", "growth per day (longest array, in elements)"),
    ("largestPerDay", "growth per day (largest document, in bytes)"),
    ("correlation", "correlation with age (0 to 1)"),
    ("full16MbOn", "reaches 16 MB on"),
    ("reachesLimitOn", "reaches the limit on"),
    ("countedFrom", "counted from the newest document of"),
    ("critical", "business-critical collection"),
    ("core", "business-critical collection"),
    ("exact", "counted exactly"),
];

/// A list of labels and values.
pub(super) fn drawn(entries: &[(String, DataValue)]) -> Markup {
    html! {
        ul .figures {
            @for (key, value) in entries {
                li { (label(key)) ": " (drawn_value(key, value)) }
            }
        }
    }
}

fn drawn_value(key: &str, value: &DataValue) -> Markup {
    match value {
        DataValue::List(items) if items.iter().any(|item| matches!(item, DataValue::Map(_))) => {
            html! { ul { @for item in items { li { (drawn_value(key, item)) } } } }
        }
        _ => html! { b { (plain(&value_text(key, value))) } },
    }
}

/// Converts `reaches1MbOn` to `reaches 1 MB on`.
fn label(key: &str) -> String {
    if let Some((_, label)) = LABELS.iter().find(|(known, _)| *known == key) {
        return (*label).to_owned();
    }
    let words: Vec<String> = words(key).iter().map(|word| spelled(word)).collect();
    plain(&words.join(" "))
}

/// The words of a key in camelCase or snake_case, in lower case; numbers are words.
fn words(key: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in key.chars() {
        let is_start = c.is_uppercase() && !before.is_uppercase()
            || c.is_ascii_digit() && !before.is_ascii_digit() && before != 'p' && before != 'P'
            || c.is_alphabetic() && before.is_ascii_digit();
        if c == '_' || c == '-' || c == ' ' {
            words.push(String::new());
        } else {
            if is_start {
                words.push(String::new());
            }
            match words.last_mut() {
                Some(last) => last.extend(c.to_lowercase()),
                None => words.push(c.to_lowercase().collect()),
            }
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn spelled(word: &str) -> String {
    match word {
        "kb" | "mb" | "gb" | "tls" | "ttl" | "uri" => word.to_uppercase(),
        "ms" | "millis" => "milliseconds".to_owned(),
        "p50" | "p95" | "p99" => label(word),
        _ => word.to_owned(),
    }
}

fn value_text(key: &str, value: &DataValue) -> String {
    let last = words(key).pop().unwrap_or_default();
    match value {
        DataValue::Int(n) => match u64::try_from(*n) {
            Ok(n) if last == "bytes" => text::bytes(n),
            Ok(n) => text::count(n),
            Err(_) => n.to_string(),
        },
        DataValue::Float(share) if last == "share" && (0.0..=1.0).contains(share) => {
            text::percent(*share)
        }
        DataValue::Float(n) => rounded(*n),
        DataValue::Bool(b) => if *b { "yes" } else { "no" }.to_owned(),
        DataValue::Text(text) => text.clone(),
        DataValue::List(items) => {
            items.iter().map(|item| value_text(key, item)).collect::<Vec<_>>().join(", ")
        }
        DataValue::Map(entries) => {
            let part = |(key, value): &(String, DataValue)| {
                format!("{}: {}", label(key), value_text(key, value))
            };
            entries.iter().map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Rounds to three digits, which are precise enough for a reader.
fn rounded(n: f64) -> String {
    if n == n.trunc() || n.abs() >= 100.0 {
        return format!("{n:.0}");
    }
    let digits = if n.abs() >= 10.0 { 1 } else { 2 };
    let digits = if n.abs() < 0.1 { 4 } else { digits };
    let text = format!("{n:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_words() {
        for (key, expect) in [
            ("reaches1MbOn", "reaches 1 MB on"),
            ("longestPerDay", "growth per day (longest array, in elements)"),
            ("average_bytes", "average bytes"),
            ("predictedP99", "predicted 99th percentile"),
            ("median_life_ms", "median life milliseconds"),
            ("p99", "99th percentile"),
            ("tls_mode", "TLS mode"),
            ("documents", "documents"),
        ] {
            assert_eq!(label(key), expect);
        }
    }

    #[test]
    fn values_have_units_and_few_digits() {
        for (key, value, expect) in [
            ("correlation", DataValue::Float(0.998924), "1"),
            ("perDay", DataValue::Float(1.018633), "1.02"),
            ("topShare", DataValue::Float(0.25), "25 %"),
            ("projectedBytes", DataValue::Int(2_097_152), "2 MB"),
            ("critical", DataValue::Bool(true), "yes"),
            ("x", DataValue::Float(0.01234), "0.0123"),
            ("x", DataValue::Float(123.7), "124"),
        ] {
            assert_eq!(value_text(key, &value), expect, "{key}");
        }
        let breach = DataValue::Map(vec![
            ("path".to_owned(), DataValue::Text("city".to_owned())),
            ("atLeast".to_owned(), DataValue::Bool(false)),
        ]);
        let drawn = drawn_value("breaches", &DataValue::List(vec![breach])).into_string();
        assert_eq!(drawn, "<ul><li><b>path: city, at least: no</b></li></ul>");
    }
}
