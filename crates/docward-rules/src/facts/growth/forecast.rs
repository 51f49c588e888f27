//! Computes when a growing value reaches a limit. "Now" is the newest document that was read, never a clock, so the
//! same data gives the same dates.

use docward_model::{Growth, Observed};

use crate::facts::text;

const DAY_MS: f64 = 86_400_000.0;

/// The minimum evidence for growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Credible {
    /// The rank correlation with age that must be exceeded.
    pub correlation: f64,
    /// Minimum number of documents behind the value.
    pub rows: u64,
    /// The number of days that the documents must span.
    pub days: f64,
}

impl Credible {
    /// ALG-6's correlation, and enough rows and days to exclude chance.
    pub const DEFAULT: Self = Self { correlation: 0.5, rows: 50, days: 7.0 };

    /// Whether the growth has enough evidence.
    pub fn holds(&self, growth: &Growth) -> bool {
        growth.correlation > self.correlation
            && growth.rows >= self.rows
            && growth.days >= self.days
            && growth.per_day > 0.0
    }

    /// Whether two observations show growth: in as many documents and over as many days as growth with age requires,
    /// and not only in single documents.
    pub fn is_seen(&self, observed: &Observed) -> bool {
        observed.documents >= self.rows
            && observed.days() >= self.days
            && observed.grown >= 3
            && 20 * observed.grown >= observed.documents
            && observed.grown > 2 * observed.shrunk
    }
}

/// A day on which a limit is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Days after the newest document.
    pub days: f64,
    /// The calendar day, `2026-03-01`.
    pub date: String,
    /// The growth rate that it was computed with.
    pub per_day: f64,
}

/// Returns when `now` reaches `target` at `per_day`, counted from `newest_ms`. Returns `None` if it has already reached
/// it, does not grow, or takes longer than `horizon_days`.
pub fn reach(
    now: f64,
    target: f64,
    per_day: f64,
    newest_ms: i64,
    horizon_days: f64,
) -> Option<Forecast> {
    if now >= target || per_day <= 0.0 {
        return None;
    }
    let days = (target - now) / per_day;
    if !days.is_finite() || days > horizon_days {
        return None;
    }
    let ms = newest_ms.checked_add((days * DAY_MS) as i64)?;
    Some(Forecast { days, date: text::date(ms)?, per_day })
}

/// Returns the date when the first document that was seen on two dates reaches `target`. Growth of at most `step` is
/// ignored.
pub fn first_reach(
    observed: &Observed,
    target: f64,
    step: f64,
    horizon_days: f64,
) -> Option<Forecast> {
    let first = observed.first_beyond(target, step).filter(|&(days, _)| days <= horizon_days);
    let (days, per_day) = first?;
    let ms = observed.to_ms.checked_add((days * DAY_MS) as i64)?;
    Some(Forecast { days, date: text::date(ms)?, per_day })
}

/// `grew in 480 of 500 documents seen on 2026-11-01 and 2026-11-08`.
pub fn seen(observed: &Observed) -> String {
    let date = |ms| text::date(ms).unwrap_or_default();
    format!(
        "grew in {} of {} documents seen on {} and {}",
        text::count(observed.grown),
        text::count(observed.documents),
        date(observed.from_ms),
        date(observed.to_ms),
    )
}

/// `10 MB on 2026-01-02 and 16 MB on 2026-05-01`: without a verb, because the days may have passed.
pub fn dates(list: &[(u64, Forecast)]) -> String {
    let parts: Vec<String> = list
        .iter()
        .map(|(limit, when)| format!("{} on {}", text::bytes(*limit), when.date))
        .collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("{} and {last}", rest.join(", "))
        }
        _ => parts.concat(),
    }
}

/// Returns `, counted from the newest document (2024-02-29)`. Without this text, a day in the past looks like a
/// mistake.
pub fn counted_from(growth: &Growth) -> String {
    text::date(growth.newest_ms)
        .map_or_else(String::new, |day| format!(", counted from the newest document ({day})"))
}

/// Elements a day, with the significant digits.
pub fn pace(per_day: f64) -> String {
    if per_day >= 10.0 {
        text::count(per_day.round() as u64)
    } else if per_day >= 1.0 {
        format!("{per_day:.1}")
    } else if per_day >= 0.01 {
        format!("{per_day:.2}")
    } else {
        format!("{per_day:.4}")
    }
}

/// `about 10 days`, `about 14 months`, `about 3 years`.
pub fn span(days: f64) -> String {
    let (n, unit) = if days < 60.0 {
        (days.round().max(1.0), "day")
    } else if days < 730.0 {
        ((days / 30.44).round(), "month")
    } else {
        ((days / 365.25).round(), "year")
    };
    format!("about {}", text::plural(n as u64, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWEST: i64 = 1_710_460_800_000; // 2024-03-15

    #[test]
    fn lm_5_hundred_kilobytes_a_day_at_fifteen_megabytes_is_ten_days() {
        let at =
            reach(15_728_640.0, 16_777_216.0, 102_400.0, NEWEST, 1826.0).expect("within reach");
        assert!((at.days - 10.24).abs() < 1e-9);
        assert_eq!(at.date, "2024-03-25");
        assert_eq!(span(at.days), "about 10 days");
    }

    #[test]
    fn nothing_is_said_beyond_the_horizon_or_backwards() {
        assert_eq!(reach(0.0, 100.0, 0.01, NEWEST, 1826.0), None);
        assert_eq!(reach(100.0, 100.0, 1.0, NEWEST, 1826.0), None);
        assert_eq!(reach(0.0, 100.0, -1.0, NEWEST, 1826.0), None);
    }

    #[test]
    fn paces_keep_the_digits_that_say_something() {
        let shown = [12_345.6, 9.96, 0.81, 0.0012].map(pace);
        assert_eq!(shown, ["12,346", "10.0", "0.81", "0.0012"]);
    }

    #[test]
    fn spans_read_well() {
        assert_eq!(span(0.2), "about 1 day");
        assert_eq!(span(425.0), "about 14 months");
        assert_eq!(span(1095.0), "about 3 years");
    }

    #[test]
    fn growth_needs_rows_days_and_direction() {
        let growth =
            Growth { correlation: 0.8, rows: 50, per_day: 1.0, days: 7.0, newest_ms: NEWEST };
        assert!(Credible::DEFAULT.holds(&growth));
        for weak in [
            Growth { correlation: 0.5, ..growth },
            Growth { rows: 49, ..growth },
            Growth { days: 6.9, ..growth },
            Growth { per_day: 0.0, ..growth },
        ] {
            assert!(!Credible::DEFAULT.holds(&weak), "{weak:?}");
        }
    }

    const DAY: i64 = 86_400_000;

    /// 100 documents, of which `grown` have grown by `by` to `now` in `days` days.
    fn observed(grown: u64, by: f64, now: u64, days: i64) -> Observed {
        let per_day = by / days as f64;
        let mut leaders = [(0, 0.0); 4];
        leaders[0] = (now, per_day);
        let (from_ms, to_ms) = (NEWEST - days * DAY, NEWEST);
        let largest_then = now - by as u64;
        Observed {
            documents: 100,
            grown,
            shrunk: 0,
            per_day,
            leaders,
            largest_then,
            ways_to_largest: 1,
            from_ms,
            to_ms,
        }
    }

    #[test]
    fn alg_6_dm_08_2_growth_on_two_dates_needs_documents_and_days() {
        let enough = observed(6, 10.0, 40, 7);
        assert!(Credible::DEFAULT.is_seen(&enough));
        assert!(!Credible::DEFAULT.is_seen(&observed(6, 10.0, 40, 6)), "a week, as with ages");
        assert!(!Credible::DEFAULT.is_seen(&Observed { documents: 49, ..enough }));
        assert!(!Credible::DEFAULT.is_seen(&observed(4, 10.0, 40, 7)), "one in twenty");
        assert!(!Credible::DEFAULT.is_seen(&Observed { shrunk: 3, ..enough }));
        assert!(Credible { days: 1.0, ..Credible::DEFAULT }.is_seen(&observed(6, 1.0, 4, 1)));
    }

    #[test]
    fn alg_6_dm_08_2_one_element_more_is_no_pace() {
        let first = |by: f64| first_reach(&observed(6, by, 4, 7), 1000.0, 1.0, 9999.0);
        assert_eq!(first(1.0), None);
        let two = first(2.0).expect("a pace");
        assert!((two.days - 3486.0).abs() < 1e-6, "996 at 2 in 7 days");
    }
}
