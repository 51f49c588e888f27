//! The values of options as drivers read them.

use docward_model::{NoteKind, OptionValue, UriChange};

use crate::{
    hole::HOLE_CHARACTER,
    options::{OptionInfo, ValueKind},
};

/// A value as drivers read it.
#[derive(Clone, PartialEq)]
pub enum Typed {
    /// An integer.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// A text.
    Text(String),
    /// Words in order.
    Words(Vec<String>),
    /// Pairs in order, of properties or of a tag set.
    Pairs(Vec<(String, String)>),
    /// Computed, or secret.
    Unknown,
    /// An invalid value, for which drivers ignore the option.
    Ignored,
}

impl std::fmt::Debug for Typed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(n) => write!(f, "Int({n})"),
            Self::Bool(b) => write!(f, "Bool({b})"),
            Self::Text(text) => write!(f, "Text({text:?})"),
            Self::Words(words) => write!(f, "Words({words:?})"),
            // Properties of mechanisms may be tokens.
            Self::Pairs(pairs) => {
                let keys: Vec<&str> = pairs.iter().map(|(key, _)| key.as_str()).collect();
                write!(f, "Pairs({keys:?})")
            }
            Self::Unknown => f.write_str("Unknown"),
            Self::Ignored => f.write_str("Ignored"),
        }
    }
}

impl Typed {
    /// The value for rules.
    pub fn for_rules(&self) -> OptionValue {
        match self {
            Self::Int(n) => OptionValue::Int(*n),
            Self::Bool(b) => OptionValue::Bool(*b),
            Self::Text(text) => OptionValue::Text(text.clone()),
            Self::Words(words) => OptionValue::Text(words.join(",")),
            Self::Pairs(_) | Self::Unknown | Self::Ignored => OptionValue::Unknown,
        }
    }
}

/// A mistake in a value: the problem and the advice.
pub(crate) struct Mistake {
    pub(crate) kind: NoteKind,
    pub(crate) what: String,
    pub(crate) todo: String,
    pub(crate) fix: Vec<UriChange>,
}

/// Parses the value of an option, decodes percent codes, and reports mistakes.
pub(crate) fn read(info: &OptionInfo, text: &str) -> (Typed, Option<Mistake>) {
    if text.contains(HOLE_CHARACTER) {
        return (Typed::Unknown, None);
    }
    let name = info.name;
    let wrong_with = |expected: String, todo: String, fix: Vec<UriChange>| {
        let what = if text.is_empty() {
            format!("`{name}` has no value")
        } else {
            format!("`{name}` requires {expected}, not {}", shown(text))
        };
        (Typed::Ignored, Some(Mistake { kind: NoteKind::WrongValue, what, todo, fix }))
    };
    let wrong = |expected, todo| wrong_with(expected, todo, Vec::new());
    match info.kind {
        ValueKind::Secret => (Typed::Unknown, None),
        ValueKind::Text => (Typed::Text(text.to_owned()), None),
        ValueKind::Bool if text.eq_ignore_ascii_case("true") => (Typed::Bool(true), None),
        ValueKind::Bool if text.eq_ignore_ascii_case("false") => (Typed::Bool(false), None),
        ValueKind::Bool => {
            wrong("true or false".to_owned(), format!("set {name}=true or {name}=false"))
        }
        ValueKind::Int { min, max } => match text.parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => (Typed::Int(number), None),
            Ok(_) if max == i64::from(i32::MAX) => wrong(
                format!("numbers from {min}"),
                format!("set {name} to a number of at least {min}"),
            ),
            _ if max == i64::from(i32::MAX) => wrong(
                "a whole number".to_owned(),
                format!("set {name} to a number of at least {min}"),
            ),
            _ => wrong(
                format!("numbers from {min} to {max}"),
                format!("set {name} to a number from {min} to {max}"),
            ),
        },
        ValueKind::Word(words) => match words.iter().find(|word| word.eq_ignore_ascii_case(text)) {
            Some(word) => (Typed::Text((*word).to_owned()), None),
            None => {
                let expected = format!("one of {}", words.join(", "));
                match nearest(text, words) {
                    Some(near) => {
                        let fix = vec![UriChange::set(name, near)];
                        wrong_with(expected, format!("write {name}={near}"), fix)
                    }
                    None => wrong(expected, format!("write one of {}", words.join(", "))),
                }
            }
        },
        ValueKind::Words(words) => list(name, text, words),
        ValueKind::Pairs | ValueKind::TagSet => pairs(info, text),
        ValueKind::Members => members(text),
    }
}

/// A value for messages; long ones are truncated, and parts that may belong to a password are
/// removed.
fn shown(text: &str) -> String {
    if text.contains('@') {
        return "what is there".to_owned();
    }
    let short: String = text.chars().take(24).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{short}{more}`")
}

fn nearest<'w>(text: &str, words: &[&'w str]) -> Option<&'w str> {
    let lower = text.to_ascii_lowercase();
    let near = words
        .iter()
        .map(|word| (strsim::damerau_levenshtein(&lower, &word.to_ascii_lowercase()), *word));
    near.min().filter(|(distance, _)| *distance <= 1 + text.len() / 4).map(|(_, word)| word)
}

fn list(name: &str, text: &str, known: &[&str]) -> (Typed, Option<Mistake>) {
    let given = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let (good, bad): (Vec<&str>, Vec<&str>) =
        given.partition(|word| known.iter().any(|known| known.eq_ignore_ascii_case(word)));
    let mistake = (!bad.is_empty() || text.is_empty()).then(|| Mistake {
        kind: NoteKind::WrongValue,
        what: if bad.is_empty() {
            format!("`{name}` has no value")
        } else {
            format!("no driver knows {} of `{name}`", shown(&bad.join(",")))
        },
        todo: format!("use one or more of these: {}", known.join(", ")),
        fix: Vec::new(),
    });
    (Typed::Words(good.into_iter().map(str::to_owned).collect()), mistake)
}

fn pairs(info: &OptionInfo, text: &str) -> (Typed, Option<Mistake>) {
    let (name, is_tags) = (info.name, info.kind == ValueKind::TagSet);
    let items: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split(',').collect() };
    let read: Option<Vec<(String, String)>> = items
        .iter()
        .map(|item| item.split_once(':').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect();
    match read {
        Some(pairs) if is_tags || !pairs.is_empty() => (Typed::Pairs(pairs), None),
        _ => {
            let example = if is_tags { "dc:ny,rack:1" } else { "SERVICE_NAME:mongodb" };
            let mistake = Mistake {
                kind: NoteKind::WrongValue,
                // The part may belong to a token.
                what: format!("a part of `{name}` is not a key:value pair"),
                todo: format!("write pairs separated by commas, such as {name}={example}"),
                fix: Vec::new(),
            };
            (Typed::Ignored, Some(mistake))
        }
    }
}

fn members(text: &str) -> (Typed, Option<Mistake>) {
    let mistake = |kind, what: &str| {
        let todo = "write w=majority, or a number of members".to_owned();
        let fix = vec![UriChange::set("w", "majority")];
        (Typed::Ignored, Some(Mistake { kind, what: what.to_owned(), todo, fix }))
    };
    match text.parse::<i64>() {
        Ok(number) if number < 0 => {
            mistake(NoteKind::Refused, "`w` is negative: no driver accepts it")
        }
        Ok(number) => (Typed::Int(number), None),
        Err(_) if text.is_empty() => mistake(NoteKind::WrongValue, "`w` has no value"),
        Err(_) => (Typed::Text(text.to_owned()), None),
    }
}
