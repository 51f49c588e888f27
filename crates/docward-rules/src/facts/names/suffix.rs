//! Time suffixes of collection names (DM-03.5): `_YYYYMM`, also `_YYYY` and `_YYYYMMDD`. Numbers that
//! only might be a date are left alone: `t_device_17`, `t_covid_19` and six-digit ids are not time.

use std::sync::LazyLock;

use regex::Regex;

/// A tail that means a time but is not in the house form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddTail {
    /// The text before the suffix, without separators: `t_log`.
    pub stem: String,
    /// The fault, as text after "the time suffix".
    pub fault: String,
    /// The name in the house form, if the time is clear.
    pub proposal: Option<String>,
    /// Whether the date does not exist in the calendar.
    pub impossible: bool,
}

/// The kind of a name's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// No time.
    None,
    /// A time in the house form.
    Good,
    /// A time in another form.
    Odd(OddTail),
}

static DIGITS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?P<stem>.*?[^0-9_.$-])(?P<sep>[_.$-]*)(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})?$",
    )
});
static PARTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?P<stem>.*?[^0-9_.$-])[_.$-]*(?P<year>\d{4})[_.-](?P<month>\d{2})(?:[_.-](?P<day>\d{2}))?$",
    )
});
static WORDED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)^(?P<stem>.+?)[_.$-](?:(?P<before>\d{4})[_.-]?)?(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?:[_.-]?(?P<after>\d{4}|\d{2}))?$",
    )
});
static MONTH_FIRST: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?P<stem>.*?[^0-9_.$-])[_.$-](?P<month>0[1-9]|1[0-2])(?P<year>20[0-3]\d)$")
});
static YEAR: LazyLock<Regex> = LazyLock::new(|| regex(r"^.*[^0-9_.$-]_(?:19[7-9]\d|20\d\d)$"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns of this file are constants")
}

/// Years in suffixes; a number outside them is an id.
fn is_plausible(year: u32) -> bool {
    (2000..=2039).contains(&year)
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

/// Reads the end of a collection name.
pub fn time_tail(name: &str) -> Tail {
    if let Some(found) = DIGITS.captures(name) {
        return from_digits(&found);
    }
    if let Some(found) = PARTED.captures(name) {
        let number = |key: &str| found.name(key).and_then(|m| m.as_str().parse::<u32>().ok());
        let (Some(year), Some(month)) = (number("year"), number("month")) else {
            return Tail::None;
        };
        let day = number("day");
        let valid =
            (1..=12).contains(&month) && day.is_none_or(|d| (1..=days(year, month)).contains(&d));
        if !is_plausible(year) || !valid {
            return Tail::None;
        }
        let tail =
            format!("{year}{month:02}{}", day.map(|d| format!("{d:02}")).unwrap_or_default());
        return odd(&found["stem"], "contains separators", Some(&tail), false);
    }
    if let Some(found) = WORDED.captures(name) {
        let year = found.name("before").or(found.name("after")).map(|m| m.as_str());
        let month = month_number(&found["month"]);
        // A bare `t_` before it leaves no entity that the suffix could belong to.
        if let (Some(year), true) = (year, found["stem"].len() > 1) {
            let year = year.parse::<u32>().map_or(0, |y| if y < 100 { 2000 + y } else { y });
            if is_plausible(year) {
                let tail = format!("{year}{month:02}");
                return odd(&found["stem"], "has the month as a word", Some(&tail), false);
            }
        }
        return Tail::None;
    }
    if YEAR.is_match(name) { Tail::Good } else { Tail::None }
}

/// Reads a name that is known to belong to a family split by time: month before year also counts.
pub fn time_tail_in_family(name: &str) -> Tail {
    match (time_tail(name), MONTH_FIRST.captures(name)) {
        (Tail::None, Some(found)) => {
            let tail = format!("{}{}", &found["year"], &found["month"]);
            odd(&found["stem"], "has the month before the year", Some(&tail), false)
        }
        (tail, _) => tail,
    }
}

fn from_digits(found: &regex::Captures<'_>) -> Tail {
    let number = |key: &str| found.name(key).and_then(|m| m.as_str().parse::<u32>().ok());
    let (Some(year), Some(month)) = (number("year"), number("month")) else { return Tail::None };
    let day = number("day");
    let (stem, sep) = (&found["stem"], &found["sep"]);
    let month_exists = (1..=12).contains(&month);
    let day_exists = day.is_none_or(|d| (1..=days(year, month)).contains(&d));
    if month_exists && day_exists {
        if sep == "_" && (1970..=2099).contains(&year) {
            return Tail::Good;
        }
        if !is_plausible(year) {
            return Tail::None;
        }
        let tail =
            format!("{year}{month:02}{}", day.map(|d| format!("{d:02}")).unwrap_or_default());
        let fault = match sep {
            "" => "has no underscore before it".to_owned(),
            sep => format!("follows `{sep}` instead of one underscore"),
        };
        return odd(stem, &fault, Some(&tail), false);
    }
    // Other figures are ids that begin like a year by chance.
    let near_month = month == 0 || (13..=31).contains(&month);
    let near_day = day.is_none_or(|d| d <= 39);
    if !is_plausible(year) || sep.is_empty() || !near_day || !(month_exists || near_month) {
        return Tail::None;
    }
    let fault = if month_exists {
        format!("names day {} of month {month}, which does not exist", day.unwrap_or(0))
    } else {
        format!("names month {month}, which does not exist")
    };
    odd(stem, &fault, None, true)
}

fn odd(stem: &str, fault: &str, tail: Option<&str>, impossible: bool) -> Tail {
    let stem = stem.trim_end_matches(['_', '.', '$', '-']).to_owned();
    let proposal = tail.map(|tail| format!("{stem}_{tail}"));
    Tail::Odd(OddTail { stem, fault: fault.to_owned(), proposal, impossible })
}

fn month_number(word: &str) -> u32 {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let word = word.to_lowercase();
    MONTHS.iter().position(|m| word.starts_with(m)).map_or(0, |at| at as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_03_5_house_forms_are_good() {
        for name in ["t_log_202403", "t_log_2024", "t_log_20240315", "orders_199912"] {
            assert_eq!(time_tail(name), Tail::Good, "{name}");
        }
    }

    #[test]
    fn dm_03_5_numbers_and_words_are_not_time() {
        for name in [
            "t_device_17",
            "t_covid_19",
            "t_users",
            "t_device_202455",
            "t_device_123456",
            "t_march",
            "t_item_00012345",
            "t_device_20245678",
            "t_office2019",
            "t_may_24",
            "t_v2",
            "t_log_2024_13",
        ] {
            assert_eq!(time_tail(name), Tail::None, "{name}");
        }
    }

    #[test]
    fn dm_03_5_odd_forms_have_proposals() {
        for (name, proposal) in [
            ("t_log_mar24", Some("t_log_202403")),
            ("t_log_march_2024", Some("t_log_202403")),
            ("t_log_2024_mar", Some("t_log_202403")),
            ("t_log$202403", Some("t_log_202403")),
            ("t_log-202403", Some("t_log_202403")),
            ("t_log202403", Some("t_log_202403")),
            ("t_log_2024_03", Some("t_log_202403")),
            ("t_log-2024-03-15", Some("t_log_20240315")),
            ("t_log_202413", None),
            ("t_log_20240230", None),
        ] {
            let Tail::Odd(odd) = time_tail(name) else { panic!("{name} is not odd") };
            assert_eq!(odd.proposal.as_deref(), proposal, "{name}");
            assert_eq!(odd.stem, "t_log", "{name}");
            assert_eq!(odd.impossible, proposal.is_none(), "{name}");
        }
    }

    #[test]
    fn dm_03_5_month_first_needs_a_family() {
        assert_eq!(time_tail("t_log_032024"), Tail::None);
        assert!(matches!(time_tail_in_family("t_log_032024"), Tail::Odd(_)));
    }
}
