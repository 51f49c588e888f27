//! Which names say a point in time, which a time of day, and which two are about one event.

use std::collections::BTreeSet;

use super::{names, words};

/// Whether a name that ends in `time` may say a time of day: unless something happened then (`createTime`, `paidTime`).
pub fn may_be_of_day(leaf: &str) -> bool {
    const EVENTS: [&str; 48] = [
        "create",
        "creation",
        "update",
        "modify",
        "change",
        "delete",
        "insert",
        "add",
        "login",
        "logon",
        "logout",
        "signin",
        "signup",
        "pay",
        "payment",
        "purchase",
        "register",
        "registration",
        "registe",
        "expire",
        "expiry",
        "expiration",
        "birth",
        "publish",
        "post",
        "send",
        "sent",
        "receive",
        "order",
        "finish",
        "complete",
        "upload",
        "download",
        "visit",
        "access",
        "join",
        "seen",
        "sync",
        "refresh",
        "crawl",
        "fetch",
        "import",
        "submit",
        "record",
        "event",
        "release",
        "issue",
        "online",
    ];
    let all = names::words(leaf);
    let Some((last, before)) = all.split_last() else { return false };
    // What is laid down beforehand has not happened; `blockedTime` is a length of time.
    const AHEAD: [&str; 16] = [
        "expected",
        "scheduled",
        "estimated",
        "preferred",
        "planned",
        "requested",
        "reserved",
        "blocked",
        "desired",
        "fixed",
        "allotted",
        "allowed",
        "selected",
        "proposed",
        "suggested",
        "needed",
    ];
    let happened = |word: &String| {
        EVENTS.contains(&word.as_str())
            || (word.len() > 4 && word.ends_with("ed") && !AHEAD.contains(&word.as_str()))
    };
    let is_edge = before.last().is_some_and(|word| matches!(word.as_str(), "start" | "end"));
    last == "time" && (is_edge || !before.iter().any(happened))
}

/// Whether a name may say a day of the calendar, which has no time and no zone: `dueDate`, `dateOfBirth`. What a
/// program writes down by itself (`createdDate`, `lastLoginDate`) is a moment.
pub fn may_be_a_day(leaf: &str) -> bool {
    const RECORDED: [&str; 23] = [
        "creat", "updat", "modif", "chang", "delet", "insert", "added", "login", "logon", "logout",
        "logged", "signin", "signup", "seen", "sync", "refresh", "crawl", "fetch", "import",
        "upload", "access", "time", "stamp",
    ];
    // What a program saw last (`lastActiveDate`) is a moment; what people did last (`lastLeaveDate`) is a day.
    const SEEN: [&str; 14] = [
        "active", "activ", "visit", "used", "run", "check", "sent", "read", "scan", "ping", "poll",
        "online", "connect", "notif",
    ];
    let all = names::words(leaf);
    let is_day = matches!(all.last().map(String::as_str), Some("date" | "day" | "birthday"))
        || all.first().is_some_and(|first| first == "date")
        || matches!(names::normalised(leaf).as_str(), "dateofbirth" | "birthdate" | "dob");
    let says =
        |stems: &[&str]| all.iter().any(|word| stems.iter().any(|stem| word.starts_with(stem)));
    let is_bare = all.len() < 3 && all.first().is_some_and(|first| first == "last");
    let is_seen = all.iter().any(|word| word == "last") && (is_bare || says(&SEEN));
    is_day && !is_seen && !says(&RECORDED)
}

/// Whether a name says a point in time. `runtime`, `timezone` and formats of dates do not.
pub fn says_time(name: &str) -> bool {
    // A time of day has no date; `blockedOn` is not a time at all.
    const OF_DAY: [&str; 10] = [
        "daily", "at", "hourly", "opening", "closing", "weekly", "open", "close", "business",
        "clock",
    ];
    // What is shown to people, beside what is meant.
    const SHOWN: [&str; 7] =
        ["formatted", "display", "pretty", "readable", "human", "simplified", "localized"];
    // How long something takes or lasts.
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
    // `dateOfBirth`, also where nobody can tell the words apart.
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
    words::is_time(name) && is_point && !is_of_day && !is_shown
}

/// Whether two names are about one event in other words: `expiryDateTime` and `expiresAt`.
pub fn shares_stem(name: &str, other: &str) -> bool {
    /// Letters that words of one stem share.
    const STEM: usize = 5;
    let stems = |name: &str| -> BTreeSet<String> {
        let all = names::words(name);
        all.iter().filter_map(|word| word.get(..STEM)).map(str::to_owned).collect()
    };
    // `dateti(me)` and `timest(amp)` are what every such name ends with.
    let ends = |stem: &String| matches!(stem.as_str(), "datet" | "times");
    !name.contains('.') && stems(name).intersection(&stems(other)).any(|stem| !ends(stem))
}

/// Whether two names are about one thing: `date` and `isodate`, `startDate` and `startDateParsed`, `scheduledDate`
/// and the `scheduledTime` of that day.
pub fn shares_word(name: &str, other: &str) -> bool {
    let (one, two) = (names::normalised(name), names::normalised(other));
    let of_day = |time: &str, date: &str| {
        time.strip_suffix("time").is_some_and(|stem| date.strip_suffix("date") == Some(stem))
    };
    !name.contains('.') && (one.contains(&two) || two.contains(&one) || of_day(&two, &one))
}

/// Whether a number is the same point in time: `lastUpdate` of `lastUpdateTime`, `createdAtMs` of `createdAt`.
pub fn is_same_moment(number: &str, text: &str) -> bool {
    let (number, text) = (names::normalised(number), names::normalised(text));
    let ends = |longer: &str, shorter: &str, tails: &[&str]| {
        longer.strip_prefix(shorter).is_some_and(|tail| tails.contains(&tail))
    };
    ends(&text, &number, &["time", "date", "at", "string", "str"])
        || ends(&number, &text, &["ms", "ts", "timestamp", "millis", "epoch", "unix"])
        || (says_count_of_time(&number) && matches!(text.as_str(), "datetime" | "date" | "isodate"))
}

/// Whether a number counts from the beginning of time, by its name.
pub fn says_count_of_time(name: &str) -> bool {
    matches!(names::normalised(name).as_str(), "timestamp" | "ts" | "epoch" | "unixtime")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dm_09_1_days_and_moments() {
        for day in [
            "dueDate",
            "dateOfBirth",
            "dob",
            "start_date",
            "date",
            "expiryDate",
            "eventDay",
            "lastLeaveDate",
            "last_tap_date",
        ] {
            assert!(may_be_a_day(day), "{day}");
        }
        for moment in [
            "createdDate",
            "dateCreated",
            "lastLoginDate",
            "lastActiveDate",
            "lastDate",
            "createdAt",
            "updateTime",
        ] {
            assert!(!may_be_a_day(moment), "{moment}");
        }
    }
}
