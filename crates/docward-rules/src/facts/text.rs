//! Numbers, lists and dates as messages print them.

pub use docward_model::text::{
    about, bytes, count, form, form_of, list, part, paths, percent, plural, rounded, verb,
};

/// `2026-03-01` from Unix milliseconds; `None` outside the calendar.
pub fn date(ms: i64) -> Option<String> {
    let stamp = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(stamp.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        assert_eq!(date(1_710_498_600_000).as_deref(), Some("2024-03-15"));
    }
}
