//! Formats numbers, lists and dates for messages.

use docward_model::Profile;

pub use docward_model::text::{
    about, bytes, bytes_beyond, count, form, form_of, list, part, paths, percent, plural, rounded,
    small_percent, verb,
};

/// Extrapolates an amount to the whole collection from the documents that were read.
pub fn in_all(profile: &Profile, amount: u64, say: impl Fn(u64) -> String) -> String {
    let all = profile.projected(amount);
    if profile.total > profile.documents { format!("about {}", say(all)) } else { say(all) }
}

/// `2026-03-01` from Unix milliseconds; `None` outside the calendar.
pub fn date(ms: i64) -> Option<String> {
    let stamp = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(stamp.strftime("%Y-%m-%d").to_string())
}

/// Returns `a, b and 3 more`. Texts are not quoted; [`list`] quotes them as names.
pub fn phrases<S: AsRef<str>>(texts: &[S], shown: usize) -> String {
    let first: Vec<&str> = texts.iter().take(shown).map(AsRef::as_ref).collect();
    match texts.len().saturating_sub(shown) {
        0 => first.join(", "),
        n => format!("{} and {} more", first.join(", "), count(n as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        assert_eq!(date(1_710_498_600_000).as_deref(), Some("2024-03-15"));
    }
}
