//! Parses dates in text: ISO 8601 as Extended JSON, `mongoexport` and the shells write it.
//!
//! Not included: the other formats that JavaScript's `Date` accepts, because they depend on locale
//! and time zone.

/// Parses a date to milliseconds since 1970 in UTC; `None` if it is invalid.
///
/// `-` and `:` are optional, and `T` may be a space. A date without a time is midnight, and one
/// without an offset is in UTC, both as in `ISODate`. Digits beyond milliseconds are dropped.
pub(super) fn parse(text: &[u8]) -> Option<i64> {
    let mut text = Text(text);
    let year = match text.0.first()? {
        sign @ (b'-' | b'+') => {
            text.0 = &text.0[1..];
            let year = text.number(6)?;
            if *sign == b'-' { -year } else { year }
        }
        _ => text.number(4)?,
    };
    text.skip(b"-");
    let month = text.number(2)?;
    text.skip(b"-");
    let day = text.number(2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let midnight = days_before(year, month, day) * 86_400_000;
    if text.0.is_empty() {
        return Some(midnight);
    }
    if !text.skip(b"Tt ") {
        return None;
    }
    let hour = text.number(2)?;
    text.skip(b":");
    let minute = text.number(2)?;
    let (mut second, mut millisecond) = (0, 0);
    if text.skip(b":") || text.0.first().is_some_and(u8::is_ascii_digit) {
        second = text.number(2)?;
        if text.skip(b".,") {
            millisecond = text.fraction()?;
        }
    }
    let end_of_day = hour == 24 && minute == 0 && second == 0 && millisecond == 0;
    if (hour > 23 && !end_of_day) || minute > 59 || second > 59 {
        return None;
    }
    let minutes = hour * 60 + minute - text.offset()?;
    text.0.is_empty().then_some(midnight + (minutes * 60 + second) * 1000 + millisecond)
}

/// The rest of the text to parse.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    /// Reads exactly this many digits.
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut value = 0;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(digit - b'0');
        }
        self.0 = rest;
        Some(value)
    }

    /// Skips one of these bytes if it comes next.
    fn skip(&mut self, bytes: &[u8]) -> bool {
        let found = self.0.first().is_some_and(|byte| bytes.contains(byte));
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    /// Reads the digits after a decimal point, as milliseconds.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        let digit = |index: usize| digits.get(index).map_or(0, |byte| i64::from(byte - b'0'));
        (count > 0).then(|| digit(0) * 100 + digit(1) * 10 + digit(2))
    }

    /// Reads the offset from UTC, in minutes.
    fn offset(&mut self) -> Option<i64> {
        self.skip(b" ");
        let sign = match self.0.first() {
            None => return Some(0),
            Some(b'Z' | b'z') => {
                self.0 = &self.0[1..];
                return Some(0);
            }
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2)?;
        let minutes = if self.skip(b":") || !self.0.is_empty() { self.number(2)? } else { 0 };
        (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The number of days from 1970-01-01 to a day of the Gregorian calendar.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    const BEFORE_1970: i64 = 719_162;
    let years = year - 1;
    let leap_days = years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    let this_leap_day = i64::from(month > 2 && is_leap(year));
    let before_month = BEFORE_MONTH.get((month - 1) as usize).copied().unwrap_or_default();
    years * 365 + leap_days - BEFORE_1970 + before_month + this_leap_day + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let cases: [(&str, i64); 22] = [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01", 0),
            ("1970-01-01T00:00:00", 0),
            ("2012-12-24T12:15:30.501Z", 1_356_351_330_501),
            ("2012-12-24T12:15:30.5019999Z", 1_356_351_330_501),
            ("2012-12-24 12:15:30,501z", 1_356_351_330_501),
            ("20121224T121530.501Z", 1_356_351_330_501),
            ("2012-12-24T12:15:30.5Z", 1_356_351_330_500),
            ("2012-12-24T13:15:30.501+01:00", 1_356_351_330_501),
            ("2012-12-24T13:15:30.501+0100", 1_356_351_330_501),
            ("2012-12-24T13:15:30.501+01", 1_356_351_330_501),
            ("2012-12-24T05:15:30.501-0700", 1_356_351_330_501),
            ("2012-12-24T05:15:30.501 -07:00", 1_356_351_330_501),
            ("2012-12-24T12:15Z", 1_356_351_300_000),
            ("2000-02-29T24:00:00Z", 951_868_800_000),
            ("1969-12-31T23:59:59.999Z", -1),
            ("1960-12-24T12:15:30.499Z", -284_643_869_501),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("-000001-01-01T00:00:00Z", -62_198_755_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("+010000-01-01T00:00:00Z", 253_402_300_800_000),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn not_dates() {
        for text in [
            "",
            "x",
            "2012",
            "2012-13-01",
            "2012-00-01",
            "2012-02-30",
            "2011-02-29",
            "1900-02-29",
            "2012-12-24T",
            "2012-12-24T12",
            "2012-12-24T25:00:00Z",
            "2012-12-24T12:60:00Z",
            "2012-12-24T12:00:60Z",
            "2012-12-24T24:00:01Z",
            "2012-12-24T12:00:00.Z",
            "2012-12-24T12:00:00ZZ",
            "2012-12-24T12:00:00+1",
            "2012-12-24T12:00:00+01:0",
            "2012-12-24T12:00:00+99:00",
            "24/12/2012",
            "-",
            "+2012-12-24",
            "2012-12-24x",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
