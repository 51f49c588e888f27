//! Finds values that documents lost through a change: values that they contained before and contain
//! in no form afterwards.
//!
//! A conversion keeps a value: `"12.50"` and the decimal 12.5 are the same one, and so are the text of
//! a date and the date. Null, an empty string and an empty container are no values.

use std::collections::{BTreeMap, HashMap};

use bson::{Bson, DateTime, Document};

/// The values of a document, by each form in which they can be written.
type Forms = HashMap<String, usize>;

/// The documents of a collection by their `_id`.
pub(crate) type Documents = BTreeMap<String, Document>;

/// Returns the paths and values that a change removed from the documents of a collection, once per path.
pub(crate) fn lost(before: &Documents, after: &Documents, may_drop_copies: bool) -> Lost {
    let mut lost = Lost::default();
    for (id, document) in before {
        let mut kept = Forms::new();
        for (_, value) in after.get(id).map(leaves).unwrap_or_default() {
            for form in forms(value) {
                *kept.entry(form).or_default() += 1;
            }
        }
        let mut needed = Forms::new();
        for (path, value) in leaves(document) {
            let all = forms(value);
            let Some(main) = all.first() else { continue };
            let needed = needed.entry(main.clone()).or_default();
            *needed += if may_drop_copies && *needed > 0 { 0 } else { 1 };
            let kept = all.iter().filter_map(|form| kept.get(form)).max();
            if kept.is_none_or(|kept| kept < needed) {
                lost.count += 1;
                lost.examples.entry(path).or_insert_with(|| value.to_string());
            }
        }
    }
    lost
}

/// Values that are gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lost {
    /// The number of values.
    pub(crate) count: usize,
    /// A value by path.
    pub(crate) examples: BTreeMap<String, String>,
}

/// The values of a document with their paths; `[]` denotes elements.
fn leaves(document: &Document) -> Vec<(String, &Bson)> {
    fn walk<'d>(path: &str, value: &'d Bson, out: &mut Vec<(String, &'d Bson)>) {
        match value {
            Bson::Document(inside) => {
                inside.iter().for_each(|(name, value)| walk(&format!("{path}.{name}"), value, out));
            }
            Bson::Array(items) => {
                items.iter().for_each(|item| walk(&format!("{path}[]"), item, out));
            }
            value => out.push((path.to_owned(), value)),
        }
    }
    let mut out = Vec::new();
    document.iter().for_each(|(name, value)| walk(name, value, &mut out));
    out
}

/// The forms of a value, its own form first. Empty for missing values, such as null and the empty
/// string.
fn forms(value: &Bson) -> Vec<String> {
    match value {
        Bson::Null | Bson::Undefined => Vec::new(),
        Bson::String(text) if text.is_empty() => Vec::new(),
        Bson::String(text) => {
            let mut all = vec![format!("text {text}")];
            all.extend(number_in(text));
            all.extend(moment_in(text).map(moment));
            if let word @ ("true" | "false") = text.to_lowercase().as_str() {
                all.push(format!("truth {word}"));
            }
            all
        }
        Bson::Int32(n) => of_number(&n.to_string(), *n == 0 || *n == 1),
        Bson::Int64(n) => of_number(&n.to_string(), *n == 0 || *n == 1),
        Bson::Double(n) => of_number(&n.to_string(), false),
        Bson::Decimal128(n) => of_number(&n.to_string(), false),
        Bson::Boolean(truth) => {
            vec![format!("truth {truth}"), format!("number {}", i32::from(*truth))]
        }
        Bson::DateTime(date) => {
            let millis = date.timestamp_millis();
            let mut all = vec![moment(millis), format!("number {millis}")];
            if millis % 1000 == 0 {
                all.push(format!("number {}", millis / 1000));
            }
            all
        }
        Bson::ObjectId(id) => vec![format!("text {id}")],
        other => vec![format!("other {other}")],
    }
}

fn of_number(text: &str, is_truth: bool) -> Vec<String> {
    let mut all: Vec<String> = number_in(text).into_iter().collect();
    if all.is_empty() {
        all.push(format!("number {text}"));
    }
    if is_truth {
        all.push(format!("truth {}", text == "1"));
    }
    all
}

/// A number in a form that all types share. Twelve digits are those of a sum that a double always
/// represents.
fn number_in(text: &str) -> Option<String> {
    let number: f64 = text.trim().parse().ok().filter(|n: &f64| n.is_finite())?;
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    match whole.parse::<i128>() {
        Ok(whole) if fraction.bytes().all(|digit| digit == b'0') => Some(format!("number {whole}")),
        _ if number.fract() == 0.0 && number.abs() < 1e15 => Some(format!("number {number:.0}")),
        _ => Some(format!("number {number:.11e}")),
    }
}

fn moment(millis: i64) -> String {
    format!("moment {millis}")
}

/// The moment that a text names: `2024-03-15`, `2024-03-15 10:30:00`, `20240315`, with or without an offset.
fn moment_in(text: &str) -> Option<i64> {
    let text = text.trim();
    if !text.is_ascii() {
        return None;
    }
    let all_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = match all_digits {
        true => format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]),
        false => text.replacen(' ', "T", 1),
    };
    let (date, time) = text.split_once('T').unwrap_or((&text, "00:00:00"));
    let time = match time.matches(':').count() {
        1 if time.len() == 5 => format!("{time}:00"),
        _ => time.to_owned(),
    };
    let date = date.replace('/', "-");
    let has_offset = time.ends_with(['Z', 'z']) || time[8.min(time.len())..].contains(['+', '-']);
    let time = match (has_offset, time.as_bytes()) {
        (false, _) => format!("{time}Z"),
        // `+0200` is written `+02:00` in RFC 3339.
        (true, [.., b'+' | b'-', _, _, _, _]) => {
            let (time, minutes) = time.split_at(time.len() - 2);
            format!("{time}:{minutes}")
        }
        (true, _) => time,
    };
    let parsed = DateTime::parse_rfc3339_str(format!("{date}T{time}")).ok()?;
    Some(parsed.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    fn lost_between(before: Document, after: Document) -> Vec<String> {
        let of = |document| Documents::from([("1".to_owned(), document)]);
        lost(&of(before), &of(after), false).examples.into_keys().collect()
    }

    #[test]
    fn converted_and_moved_values_are_kept() {
        let date = DateTime::from_millis(1_710_498_600_000);
        let decimal: bson::Decimal128 = "12.50".parse().unwrap();
        let before = doc! {
            "price": "12.50", "at": "2024-03-15T10:30:00Z", "since": 1_710_498_600_i64,
            "local": "2024-03-15 12:30:00+0200", "sum": 0.1 + 0.2, "on": "TRUE", "none": "", "old": 7,
        };
        let after = doc! {
            "price": decimal, "at": date, "since": date, "local": date, "sum": 0.3, "on": true,
            "list": [{ "new": 7_i64 }],
        };
        assert_eq!(lost_between(before, after), Vec::<String>::new());
    }

    #[test]
    fn values_that_no_field_holds_are_lost() {
        let before = doc! { "a": 12.345, "b": f64::NAN, "c": "x", "d": [1, 1], "e": 9_007_199_254_740_993_i64 };
        let after = doc! { "a": 12.35, "b": "NaN", "d": [1], "e": 9_007_199_254_740_992_i64 };
        assert_eq!(lost_between(before, after), ["a", "b", "c", "d[]", "e"]);
    }
}
