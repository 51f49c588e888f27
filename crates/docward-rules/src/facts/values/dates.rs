//! Dates stored as text: their formats, their number, and the rule that reports them (DM-09.1,
//! GC-34).

use crate::facts::thresholds::t001;
use docward_model::{Field, Namespace, Settings, TextClass};

use crate::facts::names::meaning;
use crate::facts::values::classes::{Class, classes};

/// The strings of a field by the form of their date.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DateText {
    /// Strings with at least one character.
    pub strings: u64,
    /// Empty strings, and marks for a missing value such as `N/A`.
    pub empty: u64,
    /// Date and time with an offset.
    pub offset: u64,
    /// Date and time without an offset.
    pub local: u64,
    /// A day, with the year first.
    pub day: u64,
    /// Dates for which it is unknown whether the day or the month is first.
    pub ambiguous: u64,
    /// Year and month.
    pub month: u64,
}

impl DateText {
    /// Counts the forms of a field's strings; `None` without strings.
    pub fn of(field: &Field) -> Option<Self> {
        let text = field.text.as_ref()?;
        let empty = text.of(TextClass::Empty) + text.placeholders;
        let strings = text.total() - empty;
        (strings > 0).then(|| Self {
            strings,
            empty,
            offset: text.of(TextClass::DateTimeOffset),
            local: text.of(TextClass::DateTimeLocal),
            day: text.of(TextClass::DateOnly),
            ambiguous: text.of(TextClass::DateAmbiguous),
            month: text.of(TextClass::YearMonth),
        })
    }

    /// Full dates, with or without a time.
    pub fn dates(&self) -> u64 {
        self.offset + self.local + self.day + self.ambiguous
    }

    /// The number of forms that occur, including month labels.
    pub fn forms(&self) -> usize {
        [self.offset, self.local, self.day, self.ambiguous, self.month]
            .iter()
            .filter(|&&n| n > 0)
            .count()
    }

    /// The number of strings that are not dates.
    pub fn other(&self) -> u64 {
        self.strings - self.dates() - self.month
    }
}

/// The strings of a field, classified as dates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DateVerdict {
    /// Dates that should be of the date type.
    Dates(DateText),
    /// Labels of months.
    Periods(DateText),
}

/// Classifies a field that holds strings, or strings and real dates. Returns `None` for other mixes of types.
pub fn judge(field: &Field, share: f64, named_share: f64) -> Option<DateVerdict> {
    let text = DateText::of(field)?;
    if classes(field).iter().any(|(class, _)| !matches!(class, Class::Text | Class::Date)) {
        return None;
    }
    // `2012-10-17` in a version or a code is a label that looks like a date.
    let leaf = field.path.leaf();
    if meaning::is_code(leaf) {
        return None;
    }
    let strings = text.strings as f64;
    let needed = if meaning::is_time(leaf) { named_share } else { share };
    // Month labels among full dates are dates of lower precision; on their own they are labels.
    if text.dates() > text.month && (text.dates() + text.month) as f64 > needed * strings {
        return Some(DateVerdict::Dates(text));
    }
    (text.month as f64 > share * strings).then_some(DateVerdict::Periods(text))
}

/// Whether T001 reports the strings and real dates in this field, so that the rule about mixed types does not. The
/// thresholds are those of `T001`.
pub fn owns_mix(settings: &Settings, namespace: &Namespace, field: &Field) -> bool {
    let t001 = |threshold| t001::limit(settings, namespace, threshold);
    let mixed = classes(field);
    mixed.len() == 2
        && mixed.iter().all(|(class, _)| matches!(class, Class::Text | Class::Date))
        && matches!(
            judge(field, t001(&t001::SHARE), t001(&t001::NAMED_SHARE)),
            Some(DateVerdict::Dates(_))
        )
}
