//! Classifies strings. Ordered so that length and first byte decide the common cases.

use docward_model::{BlobKind, TextClass};

/// Longer strings are only tested for encoded files and URLs.
const LONG: usize = 400;

/// Reasons why the first byte and the length of a string may indicate more than plain text. A
/// string is plain if the two have no reason in common.
mod reason {
    /// Begins like a number or a date, at any length.
    pub(super) const NUMBER: u8 = 1;
    pub(super) const URL: u8 = 2;
    pub(super) const BOOLEAN: u8 = 4;
    /// The name of a month or weekday.
    pub(super) const WORDED: u8 = 8;
    /// A file in base64 or a data URI.
    pub(super) const ENCODED: u8 = 16;
    /// Hexadecimal of a characteristic length.
    pub(super) const TOKEN: u8 = 32;
    pub(super) const EMPTY: u8 = 64;
}

const fn with(mut table: [u8; 256], bytes: &[u8], reason: u8) -> [u8; 256] {
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] |= reason;
        i += 1;
    }
    table
}

/// Reasons by first byte. The first byte of an empty string in BSON is its NUL.
const FIRST: [u8; 256] = {
    let table = with([0; 256], b"0123456789+-", reason::NUMBER);
    let table = with(table, b"hHfFsS", reason::URL);
    let table = with(table, b"tTfF", reason::BOOLEAN);
    let table = with(table, b"JFMASONDTW", reason::WORDED);
    let table = with(table, b"di/RJUHA", reason::ENCODED);
    let table = with(table, b"0123456789abcdefABCDEF", reason::TOKEN);
    with(table, b"\0", reason::EMPTY)
};

/// Reasons by length; the last entry is for all longer strings.
const LENGTH: [u8; 66] = {
    let mut table = [0; 66];
    table[0] = reason::EMPTY;
    let mut n = 1;
    while n < table.len() {
        table[n] = reason::NUMBER;
        if n > 5 {
            table[n] |= reason::URL;
        }
        if n == 4 || n == 5 {
            table[n] |= reason::BOOLEAN;
        }
        if n >= 8 && n <= 64 {
            table[n] |= reason::WORDED;
        }
        if n >= 64 {
            table[n] |= reason::ENCODED;
        }
        if is_token_length(n) {
            table[n] |= reason::TOKEN;
        }
        n += 1;
    }
    table
};

const fn is_token_length(n: usize) -> bool {
    matches!(n, 24 | 26 | 32 | 36 | 40 | 64)
}

/// The class of the string `bytes[from..from + n]`; `at_sign` shows whether it may contain an `@`.
/// Two table look-ups identify most strings as plain.
#[inline]
pub(crate) fn classify_at(bytes: &[u8], from: usize, n: usize, at_sign: bool) -> TextClass {
    let first = bytes.get(from).copied().unwrap_or(0);
    let reasons = FIRST[first as usize] & LENGTH[n.min(LENGTH.len() - 1)];
    if reasons == 0 && !at_sign {
        return TextClass::Other;
    }
    classify(&bytes[from..from + n], at_sign)
}

/// The class of a string; `at_sign` shows whether it may contain an `@`.
pub(crate) fn classify(s: &[u8], at_sign: bool) -> TextClass {
    let n = s.len();
    let Some(&first) = s.first() else { return TextClass::Empty };
    if n > LONG {
        return classify_long(s, first);
    }
    if is_token_length(n)
        && let Some(class) = classify_token(s)
    {
        return class;
    }
    match first {
        b'0'..=b'9' => classify_digit_first(s, at_sign),
        b'+' | b'-' if n > 1 && s[1].is_ascii_digit() => classify_number(s),
        b'+' | b'-' => TextClass::Other,
        _ => classify_special(s, first, at_sign),
    }
}

fn classify_long(s: &[u8], first: u8) -> TextClass {
    if encoded_file(s).is_some() {
        TextClass::EncodedFile
    } else if (first | 0x20) == b'h' && is_url(s) && !s.contains(&b' ') {
        TextClass::Url
    } else {
        TextClass::Other
    }
}

fn classify_digit_first(s: &[u8], at_sign: bool) -> TextClass {
    if s.len() > 40 {
        return classify_tail(s, at_sign);
    }
    let digits = leading_digits(s);
    if digits == s.len() {
        return integer_class(s);
    }
    match (digits, s[digits]) {
        (4, b'-') => classify_iso(s),
        (4, b'/') => year_first(s, b'/'),
        (1 | 2, b'/' | b'-' | b'.') if is_day_first(s, digits) => TextClass::DateAmbiguous,
        (_, b'.') if digits + 1 < s.len() && s[digits + 1..].iter().all(u8::is_ascii_digit) => {
            TextClass::Decimal
        }
        _ => classify_tail(s, at_sign),
    }
}

fn classify_number(s: &[u8]) -> TextClass {
    let body = &s[1..];
    let digits = leading_digits(body);
    if digits == body.len() {
        // "+8613800138000" is a telephone number, not a number; a minus is a sign.
        return if s[0] == b'+' { TextClass::Other } else { integer_class(body) };
    }
    if body[digits] == b'.'
        && digits + 1 < body.len()
        && body[digits + 1..].iter().all(u8::is_ascii_digit)
    {
        return TextClass::Decimal;
    }
    TextClass::Other
}

fn classify_special(s: &[u8], first: u8, at_sign: bool) -> TextClass {
    match first {
        b't' | b'T' if s.eq_ignore_ascii_case(b"true") => return TextClass::Boolean,
        b'f' | b'F' if s.eq_ignore_ascii_case(b"false") => return TextClass::Boolean,
        b'h' | b'H' | b'f' | b'F' | b's' | b'S' if is_url(s) => return TextClass::Url,
        b'A'..=b'Z' if s.len() >= 8 && s.len() <= 64 && is_worded_date(s) => {
            return TextClass::DateAmbiguous;
        }
        _ => {}
    }
    if s.len() >= 64 && encoded_file(s).is_some() {
        return TextClass::EncodedFile;
    }
    classify_tail(s, at_sign)
}

/// Fixed-length identifiers.
#[inline]
fn classify_token(s: &[u8]) -> Option<TextClass> {
    match s.len() {
        36 if s[8] == b'-' && s[13] == b'-' && s[18] == b'-' && s[23] == b'-' => uuid_class(s),
        24 if is_mixed_hex(s) => Some(TextClass::ObjectIdHex),
        26 if is_ulid(s) => Some(TextClass::Ulid),
        32 | 40 | 64 if is_mixed_hex(s) => Some(TextClass::HexDigest),
        _ => None,
    }
}

#[inline]
fn classify_tail(s: &[u8], at_sign: bool) -> TextClass {
    if at_sign && s.len() >= 6 && s.len() <= 128 && is_email(s) {
        TextClass::Email
    } else {
        TextClass::Other
    }
}

fn leading_digits(s: &[u8]) -> usize {
    s.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Digits only.
fn integer_class(digits: &[u8]) -> TextClass {
    if digits.len() > 1 && digits[0] == b'0' {
        TextClass::LeadingZero
    } else if integer_value(digits).is_some() {
        TextClass::Integer
    } else {
        TextClass::HugeInteger
    }
}

/// The value of a run of digits with an optional minus, if it fits 64 bits.
pub(crate) fn integer_value(s: &[u8]) -> Option<i64> {
    let (negative, digits) = match s.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, s),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value: i64 = 0;
    for &d in digits {
        if !d.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(i64::from(d - b'0'))?;
    }
    Some(if negative { -value } else { value })
}

fn two(s: &[u8], at: usize) -> Option<u32> {
    let (a, b) = (*s.get(at)?, *s.get(at + 1)?);
    (a.is_ascii_digit() && b.is_ascii_digit())
        .then(|| u32::from(a - b'0') * 10 + u32::from(b - b'0'))
}

fn is_year(s: &[u8]) -> bool {
    // The last two years stand for "never".
    two(s, 0).is_some_and(|century| (16..=22).contains(&century)) && two(s, 2).is_some()
        || s.starts_with(b"2999")
        || s.starts_with(b"9999")
}

fn is_month(month: Option<u32>) -> bool {
    month.is_some_and(|m| (1..=12).contains(&m))
}

fn is_day(day: Option<u32>) -> bool {
    day.is_some_and(|d| (1..=31).contains(&d))
}

/// `2024-03`, `2024-03-15`, `2024-03-15T10:30:00+08:00`.
fn classify_iso(s: &[u8]) -> TextClass {
    if !is_year(s) || !is_month(two(s, 5)) {
        return TextClass::Other;
    }
    if s.len() == 7 {
        return TextClass::YearMonth;
    }
    if s[7] != b'-' || !is_day(two(s, 8)) {
        return TextClass::Other;
    }
    if s.len() == 10 {
        return TextClass::DateOnly;
    }
    match s[10] {
        b'T' | b't' | b' ' => time_of_day(&s[11..]).unwrap_or(TextClass::Other),
        _ => TextClass::Other,
    }
}

/// `2024/03/15`, with or without a time.
fn year_first(s: &[u8], separator: u8) -> TextClass {
    let ok = is_year(s)
        && is_month(two(s, 5))
        && s.get(7) == Some(&separator)
        && is_day(two(s, 8))
        && (s.len() == 10 || s.get(10).is_some_and(|&c| c == b' ' || c == b'T'));
    if ok { TextClass::DateAmbiguous } else { TextClass::Other }
}

/// `15/03/2024`, `3/15/2024 10:30`, `15.03.2024`.
fn is_day_first(s: &[u8], digits: usize) -> bool {
    let separator = s[digits];
    let rest = &s[digits + 1..];
    let second = leading_digits(rest);
    if !(1..=2).contains(&second) || rest.get(second) != Some(&separator) {
        return false;
    }
    let year = &rest[second + 1..];
    let parse = |part: &[u8]| part.iter().fold(0u32, |n, &d| n * 10 + u32::from(d - b'0'));
    let (a, b) = (parse(&s[..digits]), parse(&rest[..second]));
    let plausible = (1..=31).contains(&a) && (1..=31).contains(&b) && (a <= 12 || b <= 12);
    plausible
        && leading_digits(year) == 4
        && is_year(year)
        && (year.len() == 4 || matches!(year[4], b' ' | b'T' | b','))
}

/// After the date: `10:30`, `10:30:00.123`, then an offset or nothing.
fn time_of_day(s: &[u8]) -> Option<TextClass> {
    let hour = two(s, 0)?;
    if hour > 24 || *s.get(2)? != b':' || two(s, 3)? > 59 {
        return None;
    }
    let mut at = 5;
    if s.get(at) == Some(&b':') {
        if two(s, at + 1)? > 60 {
            return None;
        }
        at += 3;
        if matches!(s.get(at), Some(b'.' | b',')) {
            at += 1 + leading_digits(&s[at + 1..]);
        }
    }
    let rest = &s[at..];
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    match rest {
        [] => Some(TextClass::DateTimeLocal),
        b"Z" | b"z" | b"UTC" | b"GMT" => Some(TextClass::DateTimeOffset),
        [b'+' | b'-', offset @ ..]
            if (2..=5).contains(&offset.len())
                && offset.iter().all(|c| c.is_ascii_digit() || *c == b':') =>
        {
            Some(TextClass::DateTimeOffset)
        }
        _ => None,
    }
}

const MONTHS: [&[u8]; 12] = [
    b"January",
    b"February",
    b"March",
    b"April",
    b"May",
    b"June",
    b"July",
    b"August",
    b"September",
    b"October",
    b"November",
    b"December",
];
const DAYS: [&[u8; 3]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];

/// The first three letters of these words, which distinguish most texts.
const HEADS: [[u8; 3]; 19] = {
    let mut heads = [[0; 3]; 19];
    let mut i = 0;
    while i < heads.len() {
        let name: &[u8] = if i < MONTHS.len() { MONTHS[i] } else { DAYS[i - MONTHS.len()] };
        heads[i] = [name[0], name[1], name[2]];
        i += 1;
    }
    heads
};

/// A month's English name, whole or its first three letters.
fn is_month_name(word: &[u8]) -> bool {
    MONTHS.iter().any(|month| word == *month || word == &month[..3])
}

/// `Fri Mar 15 2024 10:30:00`, `Fri Mar 15 10:30:00 2024` (C's `ctime`), `Fri, 15 Mar 2024`, `October 1, 2009`.
fn is_worded_date(s: &[u8]) -> bool {
    let head: &[u8] = &s[..3];
    if !HEADS.contains(&[head[0], head[1], head[2]]) {
        return false;
    }
    let rest = if DAYS.iter().any(|d| d.as_slice() == head) && matches!(s[3], b' ' | b',') {
        s[3..].trim_ascii_start().strip_prefix(b",").unwrap_or(&s[3..]).trim_ascii_start()
    } else if s.split(|&c| c == b' ').next().is_some_and(is_month_name) {
        s
    } else {
        return false;
    };
    // There must be a day number and a year, and a month name before or after the day number.
    let has_month = rest.split(|&c| c == b' ' || c == b',').take(2).any(is_month_name);
    let mut numbers = rest
        .split(|c| !c.is_ascii_alphanumeric())
        .filter(|w| !w.is_empty() && w.iter().all(u8::is_ascii_digit));
    let day = numbers.next().is_some_and(|w| w.len() <= 2);
    // `ctime` puts the time of day before the year; some services also write an offset there.
    let mut numbers = numbers.skip_while(|w| w.len() == 2 || w.len() == 4 && !is_year(w));
    let year = numbers.next().is_some_and(|w| w.len() == 4 && is_year(w));
    has_month && day && year
}

fn uuid_class(s: &[u8]) -> Option<TextClass> {
    let hex =
        s.iter().enumerate().all(|(i, c)| matches!(i, 8 | 13 | 18 | 23) || c.is_ascii_hexdigit());
    if !hex {
        return None;
    }
    let variant = matches!(s[19], b'8' | b'9' | b'a' | b'b' | b'A' | b'B');
    Some(match s[14] {
        b'4' if variant => TextClass::UuidV4,
        b'6' | b'7' if variant => TextClass::UuidV7,
        _ => TextClass::Uuid,
    })
}

/// Returns whether a text is hexadecimal with at least one letter, because a long decimal number is
/// not a digest. Reads eight bytes at a time; all lengths that occur are multiples of eight.
fn is_mixed_hex(s: &[u8]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    // Sets the high bit of each byte between two bounds; no byte of `x` has its high bit set.
    let between = |x: u64, low: u64, high: u64| {
        (x + (0x80 - low) * EACH) & !(x + (0x7f - high) * EACH) & HIGH
    };
    let mut letters = 0;
    let (words, rest) = s.as_chunks::<8>();
    rest.is_empty()
        && words.iter().all(|word| {
            let x = u64::from_le_bytes(*word);
            if x & HIGH != 0 {
                return false;
            }
            let letter = between(x | (0x20 * EACH), u64::from(b'a'), u64::from(b'f'));
            letters |= letter;
            letter | between(x, u64::from(b'0'), u64::from(b'9')) == HIGH
        })
        && letters != 0
}

fn is_ulid(s: &[u8]) -> bool {
    let mut letter = false;
    s[0] <= b'7'
        && s.iter().all(|&c| {
            letter |= c.is_ascii_uppercase();
            c.is_ascii_digit()
                || (c.is_ascii_uppercase() && !matches!(c, b'I' | b'L' | b'O' | b'U'))
        })
        && letter
}

fn is_url(s: &[u8]) -> bool {
    if !s.get(2..6).is_some_and(|scheme_end| scheme_end.contains(&b':')) {
        return false;
    }
    let starts =
        |prefix: &[u8]| s.len() > prefix.len() && s[..prefix.len()].eq_ignore_ascii_case(prefix);
    starts(b"https://") || starts(b"http://") || starts(b"ftp://") || starts(b"s3://")
}

#[inline]
fn is_email(s: &[u8]) -> bool {
    let Some(at) = memchr::memchr(b'@', s) else { return false };
    let (local, domain) = (&s[..at], &s[at + 1..]);
    !local.is_empty()
        && domain.len() >= 4
        && domain
            .iter()
            .rposition(|&c| c == b'.')
            .is_some_and(|dot| dot > 0 && domain.len() - dot > 2)
        && domain.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-'))
        && local.iter().all(|c| !c.is_ascii_whitespace() && *c != b'@' && *c != b',')
}

/// The kind of file a base64 text or data URI holds, with the offset at which the base64 begins.
pub(crate) fn encoded_file(s: &[u8]) -> Option<(BlobKind, usize)> {
    if s.starts_with(b"data:") {
        let head = &s[..s.len().min(100)];
        let comma = head.iter().position(|&c| c == b',')?;
        if !head[..comma].ends_with(b";base64") {
            return None;
        }
        let kind = encoded_kind(&s[comma + 1..]).unwrap_or(BlobKind::Unknown);
        return Some((kind, comma + 1));
    }
    encoded_kind(s).map(|kind| (kind, 0))
}

fn encoded_kind(s: &[u8]) -> Option<BlobKind> {
    let kind = match s {
        [b'i', b'V', b'B', b'O', b'R', b'w', b'0', b'K', ..] => BlobKind::Png,
        [b'/', b'9', b'j', b'/', ..] => BlobKind::Jpeg,
        [b'R', b'0', b'l', b'G', b'O', b'D', ..] => BlobKind::Gif,
        [b'J', b'V', b'B', b'E', b'R', b'i', b'0', ..] => BlobKind::Pdf,
        [b'U', b'E', b's', b'D', b'B', ..] => BlobKind::Zip,
        [b'H', b'4', b's', b'I', ..] => BlobKind::Gzip,
        [b'U', b'k', b'l', b'G', ..] => BlobKind::WebP,
        [b'A', b'A', b'A', b'A', ..] if s.len() > 12 && &s[5..11] == b"GZ0eXA" => BlobKind::Mp4,
        _ => return None,
    };
    // The header alone may match by chance; the next bytes must also be base64.
    let head = &s[..s.len().min(64)];
    head.iter()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=' | b'\r' | b'\n'))
        .then_some(kind)
}

/// The kind of file a binary holds.
pub(crate) fn blob_kind(s: &[u8]) -> BlobKind {
    match s {
        [0x89, b'P', b'N', b'G', ..] => BlobKind::Png,
        [0xff, 0xd8, 0xff, ..] => BlobKind::Jpeg,
        [b'G', b'I', b'F', b'8', ..] => BlobKind::Gif,
        [b'%', b'P', b'D', b'F', ..] => BlobKind::Pdf,
        [b'P', b'K', 3, 4, ..] => BlobKind::Zip,
        [0x1f, 0x8b, 8, ..] => BlobKind::Gzip,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => BlobKind::WebP,
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => BlobKind::Mp4,
        _ => BlobKind::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TextClass as T;

    #[test]
    fn classes() {
        for (text, expect) in [
            ("", T::Empty),
            ("2024-03-15T10:30:00Z", T::DateTimeOffset),
            ("2024-03-15T10:30:00.123+08:00", T::DateTimeOffset),
            ("2014-01-01T00:00:00.000+0100", T::DateTimeOffset),
            ("2024-03-15 10:30:00", T::DateTimeLocal),
            ("2024-03-15 10:30", T::DateTimeLocal),
            ("2024-03-15", T::DateOnly),
            ("2024-03", T::YearMonth),
            ("2024-13", T::Other),
            ("2024-02-41", T::Other),
            ("15/03/2024", T::DateAmbiguous),
            ("3/15/2024 10:30", T::DateAmbiguous),
            ("15.03.2024", T::DateAmbiguous),
            ("2024/03/15", T::DateAmbiguous),
            ("Fri Mar 15 2024 10:30:00 GMT+0000", T::DateAmbiguous),
            ("Fri Mar 15 10:30:00 2024", T::DateAmbiguous),
            ("Wed Aug 27 13:08:45 +0000 2008", T::DateAmbiguous),
            ("Wed Aug 27 13:08:45 +0530 2008", T::DateAmbiguous),
            ("Mon Mar 15 10:30:00", T::Other),
            ("Fri, 15 Mar 2024 10:30:00 GMT", T::DateAmbiguous),
            ("October 1, 2009", T::DateAmbiguous),
            ("Mars Attacks 1996 edition", T::Other),
            ("Maybe 12 of 2024", T::Other),
            ("20240315000001", T::Integer),
            ("-5", T::Integer),
            ("+8613800138000", T::Other),
            ("00123", T::LeadingZero),
            ("0", T::Integer),
            ("9223372036854775807", T::Integer),
            ("9223372036854775808", T::HugeInteger),
            ("12345678901234567890", T::HugeInteger),
            ("99.00", T::Decimal),
            ("-0.5", T::Decimal),
            ("1.2.3", T::Other),
            ("192.168.1.1", T::Other),
            ("12 Main Street", T::Other),
            ("550e8400-e29b-41d4-a716-446655440000", T::UuidV4),
            ("018f3b2e-7c1a-7b3e-9f00-000000000001", T::UuidV7),
            ("550e8400-e29b-11d4-a716-446655440000", T::Uuid),
            ("01ARZ3NDEKTSV4RRFFQ69G5FAV", T::Ulid),
            ("65f3a2b8c1d2e3f4a5b6c7d8", T::ObjectIdHex),
            ("650312480112030415060718", T::HugeInteger),
            ("050312480112030415060718", T::LeadingZero),
            ("d41d8cd98f00b204e9800998ecf8427e", T::HexDigest),
            ("zhangsan@example.com", T::Email),
            ("a@b", T::Other),
            ("meet me @ noon.ok", T::Other),
            ("https://example.com/a?b=c", T::Url),
            ("true", T::Boolean),
            ("False", T::Boolean),
            ("paid", T::Other),
            (
                "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
                T::EncodedFile,
            ),
            ("random-uuid-string", T::Other),
            ("Straße 5", T::Other),
        ] {
            assert_eq!(classify(text.as_bytes(), text.contains('@')), expect, "{text:?}");
            let stored = [text.as_bytes(), b"\0"].concat();
            assert_eq!(classify_at(&stored, 0, text.len(), text.contains('@')), expect, "{text:?}");
        }
    }

    #[test]
    fn no_bytes_panic() {
        let mut state = 7u64;
        for len in 0..48 {
            for _ in 0..2000 {
                let bytes: Vec<u8> = (0..len)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6364136223846793005)
                            .wrapping_add(1442695040888963407);
                        b"0123456789-:/.TZ +@aFdataMrFi,\xff"[(state >> 59) as usize % 31]
                    })
                    .collect();
                classify(&bytes, true);
            }
        }
    }
}
