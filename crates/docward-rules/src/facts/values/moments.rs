//! Recognises names of points in time.

use crate::facts::names::{self, meaning};

/// Whether a name denotes a point in time. `runtime`, `timezone` and formats of dates do not.
pub fn says_time(name: &str) -> bool {
    // A time of day has no date; `blockedOn` is not a time.
    const OF_DAY: [&str; 10] = [
        "daily", "at", "hourly", "opening", "closing", "weekly", "open", "close", "business",
        "clock",
    ];
    // Texts for display, next to the actual value.
    const SHOWN: [&str; 7] =
        ["formatted", "display", "pretty", "readable", "human", "simplified", "localized"];
    // Words for the duration of something.
    const LENGTHS: [&str; 10] = [
        "life",
        "up",
        "run",
        "elapsed",
        "response",
        "wait",
        "cache",
        "processing",
        "total",
        "lead",
    ];
    let all = names::words(name);
    let Some((last, before)) = all.split_last() else { return false };
    let is_of_day = last == "time"
        && (before.iter().any(|word| OF_DAY.contains(&word.as_str()))
            || before.last().is_some_and(|word| LENGTHS.contains(&word.as_str())));
    // `dateOfBirth`, even without a separator between the words.
    let is_of = all.len() > 2 && all[0] == "date" && all[1] == "of"
        || matches!(names::normalised(name).as_str(), "dateofbirth" | "birthdate" | "dob");
    if is_of {
        return true;
    }
    let is_shown = before.iter().any(|word| SHOWN.contains(&word.as_str()));
    let is_point = match last.as_str() {
        "at" | "date" | "datetime" | "timestamp" => true,
        "time" => !before.is_empty(),
        "on" => before
            .iter()
            .any(|word| matches!(word.as_str(), "created" | "updated" | "modified" | "deleted")),
        _ => false,
    };
    meaning::is_time(name) && is_point && !is_of_day && !is_shown
}

/// Whether any word of a name denotes a point in time: `expirationDates`, `earningsTimestampStart`,
/// `create_at`. Such a field counts only if its values can be moments.
pub fn mentions_time(name: &str) -> bool {
    const POINTS: [&str; 6] = ["timestamp", "date", "datetime", "expiration", "expiry", "expires"];
    let all = names::words(name);
    let is_verb = |word: &String| {
        matches!(
            word.as_str(),
            "create" | "update" | "delete" | "post" | "modify" | "join" | "edit"
        )
    };
    all.iter().any(|word| POINTS.contains(&meaning::singular(word).as_str()))
        || matches!(&all[..], [.., verb, at] if at == "at" && is_verb(verb))
}

#[cfg(test)]
mod tests {
    use super::says_time;

    #[test]
    fn dm_09_1_points_in_time_and_other_times() {
        for name in ["createdAt", "dueDate", "dateOfBirth", "updateTime", "timestamp", "expires_at"]
        {
            assert!(says_time(name), "{name}");
        }
        for name in
            ["time", "closingTime", "responseTime", "formattedDate", "blockedOn", "timeZone"]
        {
            assert!(!says_time(name), "{name}");
        }
    }
}
