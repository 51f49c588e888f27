//! Numbers in the notation of model files: `2M`, `20/s`, `1.5 KB`, `90 days`, `20%`.

/// Parses a count: `1200`, `12_000`, `600k`, `2M`, `3 billion`.
pub(crate) fn count(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let times = match unit.to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" | "thousand" => 1e3,
        "m" | "million" => 1e6,
        "b" | "g" | "billion" => 1e9,
        _ => return None,
    };
    // Larger numbers are typing errors.
    Some(number * times).filter(|count| *count <= MAX_COUNT)
}

/// The largest valid number.
const MAX_COUNT: f64 = 1e15;

/// Parses a version, which is an integer from 1 on.
pub(crate) fn version(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|version| (1..=1_000_000).contains(version))
}

/// Parses a rate: `20/s`, `3/min`, `1k/h`, `5000/day`, `2/week`, `1M/year`. Returns the rate per
/// second.
pub(crate) fn rate(text: &str) -> Option<f64> {
    let (number, period) = text.split_once('/').or_else(|| text.split_once(" per "))?;
    Some(count(number.trim())? / seconds_of(period.trim())?)
}

/// Formats a rate for a model file with at most three significant digits: `19/s`, `2.5/min`,
/// `120/day`.
pub(crate) fn written(per_second: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1.0, "s"), (60.0, "min"), (3600.0, "h"), (DAY, "day")];
    let fits = |(seconds, _): &(f64, &str)| per_second * seconds >= 0.995;
    let (seconds, unit) = UNITS.into_iter().find(fits).unwrap_or((YEAR, "year"));
    let number = per_second * seconds;
    let number = match number {
        0.0..9.95 => format!("{number:.2}"),
        0.0..99.5 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    };
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => &number,
    };
    format!("{number}/{unit}")
}

/// Formats a rate in words: `20 times a second`, `3.5 times a day`, `once an hour`.
pub(crate) fn often(per_second: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1.0, "a second"), (60.0, "a minute"), (3600.0, "an hour"), (DAY, "a day")];
    if per_second <= 0.0 {
        return "never".to_owned();
    }
    // A rate that rounds to 1 uses this unit.
    let fits = |(seconds, _): &(f64, &str)| per_second * seconds >= 0.95;
    let (seconds, unit) = UNITS.into_iter().find(fits).unwrap_or((YEAR, "a year"));
    let tenths = (per_second * seconds * 10.0).round() as u64;
    let number = match (tenths / 10, tenths % 10) {
        (1, 0) => return format!("once {unit}"),
        (0, 0) => return format!("less than once {unit}"),
        (whole, 0) => docward_model::text::count(whole),
        (whole @ 0..10, tenth) => format!("{whole}.{tenth}"),
        (whole, tenth) => docward_model::text::count(whole + u64::from(tenth >= 5)),
    };
    format!("{number} times {unit}")
}

/// Parses a number per year: a rate, or the count 0.
pub(crate) fn per_year(text: &str) -> Option<f64> {
    match rate(text) {
        Some(rate) => Some(rate * YEAR),
        None => count(text).filter(|count| *count == 0.0),
    }
}

/// Parses a size in units of 1,024 (GC-56): `300`, `300 B`, `2 KB`, `1.5 MB`.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let times = match unit.to_ascii_lowercase().as_str() {
        "" | "b" | "byte" | "bytes" => 1.0,
        "kb" | "kib" | "k" => 1024.0,
        "mb" | "mib" | "m" => 1024.0 * 1024.0,
        "gb" | "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number * times).round() as u64)
}

/// Parses a duration and returns days: `30 minutes`, `12 hours`, `90 days`, `6 months`, `1 year`.
pub(crate) fn days(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    (!unit.is_empty() && number > 0.0).then_some(())?;
    Some(number * seconds_of(unit)? / DAY)
}

/// Formats seconds for [`days`], in the largest unit without a remainder: `90 days`, `36 hours`,
/// `30 minutes`.
pub(crate) fn time(seconds: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let fits =
        UNITS.into_iter().find(|(size, _)| seconds >= *size && seconds.is_multiple_of(*size));
    let (size, unit) = fits.unwrap_or((1, "second"));
    let number = seconds / size;
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Formats a retention in days, unless this would be inaccurate.
pub(crate) fn lasting(days: f64) -> String {
    match days >= 2.0 {
        true => docward_model::text::plural(days.round() as u64, "day"),
        false => time(seconds(days)),
    }
}

/// Returns days in whole seconds. The minimum is one second, because 0 would delete documents at
/// once.
pub(crate) fn seconds(days: f64) -> u64 {
    (days * DAY).round().max(1.0) as u64
}

/// Parses a share: `0.2` or `20%`.
pub(crate) fn share(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (0.0..=1.0).contains(&value).then_some(value)
}

const DAY: f64 = 86_400.0;
/// The seconds of a year with 365 days, as in the rule book (PT-bucket.1: 525,600 minutes).
pub(crate) const YEAR: f64 = 365.0 * DAY;

fn seconds_of(period: &str) -> Option<f64> {
    Some(match period.to_ascii_lowercase().trim_end_matches('s') {
        "" if period.eq_ignore_ascii_case("s") => 1.0,
        "sec" | "second" => 1.0,
        "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        "d" | "day" => DAY,
        "w" | "week" => 7.0 * DAY,
        "month" => YEAR / 12.0,
        "y" | "year" => YEAR,
        _ => return None,
    })
}

/// Splits a text into its number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | ',')))
        .unwrap_or(text.len());
    let number: String = text[..end].chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some((number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(count("2M"), Some(2e6));
        assert_eq!(count("12_000"), Some(12_000.0));
        assert_eq!(count("1.5k"), Some(1500.0));
        assert_eq!(count("-1"), None);
        assert_eq!(count("many"), None);
        assert_eq!((version("2"), version("0"), version("1.5")), (Some(2), None, None));
        assert_eq!(rate("20/s"), Some(20.0));
        assert_eq!(rate("120 per minute"), Some(2.0));
        assert_eq!(rate("20"), None);
        assert_eq!(per_year("1/min"), Some(525_600.0));
        assert_eq!(bytes("2 KB"), Some(2048));
        assert_eq!(bytes("2 stones"), None);
        assert_eq!(days("1 year"), Some(365.0));
        assert_eq!(days("90"), None);
        assert_eq!(days("0 days"), None, "nothing is kept for no time");
        assert_eq!(days("30 minutes"), Some(1.0 / 48.0));
        assert_eq!(share("20%"), Some(0.2));
        assert_eq!(share("1.2"), None);
    }

    #[test]
    fn dp_2_a_time_is_written_as_it_is_read() {
        for (seconds, written) in [
            (1, "1 second"),
            (1_800, "30 minutes"),
            (3_600, "1 hour"),
            (86_400, "1 day"),
            (129_600, "36 hours"),
            (2_592_001, "2592001 seconds"),
        ] {
            assert_eq!(time(seconds), written);
            assert_eq!(super::seconds(days(written).unwrap()), seconds, "{written}");
        }
        assert_eq!((lasting(1.0 / 48.0), lasting(182.5)), ("30 minutes".into(), "183 days".into()));
    }
}
