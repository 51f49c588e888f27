//! Forms of texts that no class covers: amounts of money, lists, JSON, and marks for a missing value.

use docward_bson::json;
use docward_model::{TextClass, TextForms};
use serde::{Deserialize, Serialize};

use crate::text::{self, classify};

/// The maximum number of different texts of a field whose form is kept.
const EXAMINED: usize = 128;
/// Longer texts are prose.
const LONGEST_LIST: usize = 500;
/// Longer items are phrases.
const LONGEST_ITEM: usize = 40;
const MOST_WORDS: usize = 4;

/// Signs and codes of currencies; those that contain another one precede it.
const CURRENCIES: [&str; 18] = [
    "US$", "USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "CAD", "AUD", "BRL", "$", "€", "£",
    "¥", "₹", "₩", "₽",
];
/// Suffixes of amounts that denote a factor.
const FACTORS: [&str; 9] = ["million", "billion", "Mio", "bn", "K", "k", "M", "m", "B"];
/// Texts that denote a missing value.
const PLACEHOLDERS: [&[u8]; 14] = [
    b"N/A",
    b"n/a",
    b"NA",
    b"NaN",
    b"nan",
    b"NULL",
    b"null",
    b"None",
    b"none",
    b"nil",
    b"undefined",
    b"\\N",
    b"-",
    b"--",
];
const LONGEST_PLACEHOLDER: usize = 9;

/// Whether a text denotes a missing value.
#[inline]
pub(crate) fn is_placeholder(s: &[u8]) -> bool {
    s.len() <= LONGEST_PLACEHOLDER && PLACEHOLDERS.contains(&s)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Form {
    Plain,
    Money,
    List,
    Json,
    ZonedDate,
    ClearDate,
    MonthFirst,
    DayFirst,
    UnclearDate,
    EpochSeconds,
    EpochMilliseconds,
    Clock,
}

impl Form {
    pub(crate) fn of(text: &str) -> Self {
        let text = text.trim();
        if is_json(text) {
            Self::Json
        } else if is_money(text) {
            Self::Money
        } else if let Some(form) = Self::of_moment(text) {
            form
        } else if is_list(text) {
            Self::List
        } else {
            Self::Plain
        }
    }

    /// The form of a date outside ISO 8601, of a moment as a number, or of a time of day.
    fn of_moment(text: &str) -> Option<Self> {
        match classify(text.as_bytes(), false) {
            TextClass::DateAmbiguous => Some(Self::of_date(text)),
            TextClass::Integer => {
                let value = text::integer_value(text.as_bytes())?;
                if EPOCH.contains(&value) {
                    Some(Self::EpochSeconds)
                } else {
                    EPOCH.contains(&(value / 1000)).then_some(Self::EpochMilliseconds)
                }
            }
            TextClass::Other => is_clock(text).then_some(Self::Clock),
            _ => None,
        }
    }

    fn of_date(text: &str) -> Self {
        if text.ends_with(')') {
            // Servers do not read comments such as `(CEST)`.
            return Self::UnclearDate;
        }
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let is_zone = |word: &str| {
                let digits = word.trim_start_matches(['+', '-']);
                matches!(word, "GMT" | "UTC" | "Z")
                    || (digits.len() + 1 == word.len()
                        && digits.len() == 4
                        && digits.bytes().all(|c| c.is_ascii_digit()))
            };
            return if text.split(' ').any(is_zone) { Self::ZonedDate } else { Self::ClearDate };
        }
        let mut parts = text.split(|c: char| !c.is_ascii_digit());
        let first = parts.next().unwrap_or_default();
        let number = |part: Option<&str>| part.and_then(|p| p.parse::<u32>().ok()).unwrap_or(0);
        let slashes = text.as_bytes().get(first.len()) == Some(&b'/');
        match (first.len(), number(Some(first)), number(parts.next())) {
            (4, ..) => Self::ClearDate,
            (_, 13.., _) => Self::DayFirst,
            (_, _, 13..) if slashes => Self::MonthFirst,
            _ => Self::UnclearDate,
        }
    }
}

/// Seconds since 1970 that are plausible moments: from 1990 to 2100.
const EPOCH: std::ops::Range<i64> = 631_152_000..4_102_444_800;

/// `09:30`, `00:43:55.328`.
fn is_clock(text: &str) -> bool {
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let is_part =
        |part: &str| (1..=2).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit());
    (2..=3).contains(&whole.split(':').count())
        && whole.split(':').all(is_part)
        && !fraction.is_empty()
        && fraction.bytes().all(|c| c.is_ascii_digit())
}

/// An object or array with content.
fn is_json(text: &str) -> bool {
    let is_within = |open, close| text.len() > 2 && text.starts_with(open) && text.ends_with(close);
    if is_within('{', '}') {
        json::parse_one(text).is_ok()
    } else {
        // `[1]` is a footnote.
        is_within('[', ']')
            && text.contains([',', '{', '"'])
            && json::parse_one(&format!("{{\"all\":{text}}}")).is_ok()
    }
}

fn is_money(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']);
    let amount = CURRENCIES
        .iter()
        .find_map(|sign| text.strip_prefix(sign).or_else(|| text.strip_suffix(sign)));
    let Some(amount) = amount.map(str::trim) else { return false };
    let amount = amount.trim_start_matches(['-', '+']);
    let number = FACTORS.iter().find_map(|factor| amount.strip_suffix(factor)).unwrap_or(amount);
    let number = number.trim_end();
    let is_digit = |c: char| c.is_ascii_digit();
    number.starts_with(is_digit)
        && number.ends_with(is_digit)
        && number
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | ' ' | '\u{a0}'))
}

/// `Drama, Comedy`, `red;green;blue`.
fn is_list(text: &str) -> bool {
    let is_item = |item: &str| {
        let item = item.trim();
        !item.is_empty()
            && item.len() <= LONGEST_ITEM
            && item.split(' ').count() <= MOST_WORDS
            && item.chars().all(|c| c.is_alphanumeric() || " '-_&/#+".contains(c))
    };
    text.len() <= LONGEST_LIST
        && text.contains(char::is_alphabetic)
        && [',', ';', '|']
            .iter()
            .any(|separator| text.contains(*separator) && text.split(*separator).all(is_item))
}

/// The forms of the texts with the smallest hashes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Forms(Vec<(u64, Form)>);

impl Forms {
    /// Records a text that the field has not had before.
    pub(crate) fn add(&mut self, hash: u64, text: impl FnOnce() -> String) {
        let is_full = self.0.len() >= EXAMINED;
        if is_full && self.0.last().is_some_and(|&(largest, _)| hash > largest) {
            return;
        }
        let at = self.0.partition_point(|&(known, _)| known < hash);
        if self.0.get(at).is_none_or(|&(known, _)| known != hash) {
            self.0.insert(at, (hash, Form::of(&text())));
            self.0.truncate(EXAMINED);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_unstable();
        self.0.dedup_by_key(|&mut (hash, _)| hash);
        self.0.truncate(EXAMINED);
    }

    pub(crate) fn shrink(&mut self, most: usize) {
        self.0.truncate(most);
    }

    pub(crate) fn finish(&self) -> TextForms {
        let of = |form| self.0.iter().filter(|&&(_, own)| own == form).count() as u64;
        TextForms {
            examined: self.0.len() as u64,
            money: of(Form::Money),
            lists: of(Form::List),
            json: of(Form::Json),
            zoned_dates: of(Form::ZonedDate),
            clear_dates: of(Form::ClearDate),
            month_first: of(Form::MonthFirst),
            day_first: of(Form::DayFirst),
            unclear_dates: of(Form::UnclearDate),
            epoch_seconds: of(Form::EpochSeconds),
            epoch_milliseconds: of(Form::EpochMilliseconds),
            clocks: of(Form::Clock),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_texts() {
        for (text, form) in [
            ("$8.09M", Form::Money),
            ("1,234.50 €", Form::Money),
            ("-$5", Form::Money),
            ("USD 20", Form::Money),
            ("US$ 1.5 million", Form::Money),
            ("$name", Form::Plain),
            ("M", Form::Plain),
            ("€", Form::Plain),
            ("Drama, Comedy", Form::List),
            ("red;green;blue", Form::List),
            ("1,234,567", Form::Plain),
            ("The box arrived late, and the customer sent it back to the shop.", Form::Plain),
            ("a, , b", Form::Plain),
            ("{\"a\": 1}", Form::Json),
            ("[{\"a\": 1}]", Form::Json),
            ("[1, 2]", Form::Json),
            ("[1]", Form::Plain),
            ("{name}", Form::Plain),
            ("{}", Form::Plain),
            ("Tue, 23 Sep 2014 10:25:15 -0700", Form::ZonedDate),
            ("Mon, 05 Jan 1998 15:59:20 GMT", Form::ZonedDate),
            ("Oct 05, 2012", Form::ClearDate),
            ("2024/03/15", Form::ClearDate),
            ("3/26/2016", Form::MonthFirst),
            ("26/3/2016", Form::DayFirst),
            ("7/10/1989", Form::UnclearDate),
            ("Tue, 23 Sep 2014 10:25:15 -0500 (EST)", Form::UnclearDate),
            ("1510922427", Form::EpochSeconds),
            ("1502177267593", Form::EpochMilliseconds),
            ("20240315", Form::Plain),
            ("00:43:55.328", Form::Clock),
            ("9:30", Form::Clock),
            ("1:2:3:4", Form::Plain),
        ] {
            assert_eq!(Form::of(text), form, "{text}");
        }
    }

    #[test]
    fn parts_in_any_order_give_the_same_forms() {
        let text = |hash: u64| if hash.is_multiple_of(3) { "a, b" } else { "a" }.to_owned();
        let part = |hashes: &mut dyn Iterator<Item = u64>| {
            let mut forms = Forms::default();
            hashes.for_each(|hash| forms.add(hash, || text(hash)));
            forms
        };
        let whole = part(&mut (0..1000).rev());
        let mut merged = part(&mut (0..1000).filter(|hash| hash % 2 == 0));
        merged.merge(part(&mut (0..1000).filter(|hash| hash % 2 == 1 || hash % 5 == 0)));
        assert_eq!(whole.finish(), merged.finish());
        assert_eq!((whole.finish().examined, whole.finish().lists), (128, 43));
    }
}
