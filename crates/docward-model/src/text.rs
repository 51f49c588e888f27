//! Numbers and lists as messages and reports print them. Binary units throughout (GC-56).

/// `850 B`, `12.3 KB`, `1.4 MB`: 1 KB is 1024 bytes.
pub fn bytes(n: u64) -> String {
    let (value, scale) = scaled(n);
    let digits = usize::from(scale > 0 && value < 100.0 && value.fract() > 0.05);
    format!("{value:.digits$} {}", UNITS[scale])
}

const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];

/// A number of bytes scaled to its unit, and the index of that unit.
fn scaled(n: u64) -> (f64, usize) {
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    (value, unit)
}

/// Bytes with as many digits as needed to distinguish them from a limit: `1.03 MB` next to `1 MB`.
pub fn bytes_beyond(n: u64, limit: u64) -> String {
    let shown = bytes(n);
    if n == limit || shown != bytes(limit) {
        return shown;
    }
    let (value, unit) = scaled(n);
    let in_digits = |n: f64, digits: usize| format!("{n:.digits$}");
    let scale = 1024_f64.powi(unit as i32);
    (2..=4)
        .find(|&digits| in_digits(value, digits) != in_digits(limit as f64 / scale, digits))
        .map_or_else(
            || format!("{} bytes", count(n)),
            |digits| format!("{} {}", in_digits(value, digits), UNITS[unit]),
        )
}

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `1,234` if the number is exact, otherwise `about 1,200`: an estimate has two significant digits.
pub fn about(n: f64, exact: bool) -> String {
    if exact { count(n.round() as u64) } else { format!("about {}", count(rounded(n))) }
}

/// Rounds an estimate to two significant digits: 1,234 becomes 1,200.
pub fn rounded(n: f64) -> u64 {
    let n = n.max(0.0).round();
    if n < 100.0 {
        return n as u64;
    }
    let unit = 10_f64.powi(n.log10().floor() as i32 - 1);
    ((n / unit).round() * unit) as u64
}

/// `12 %`, `0.3 %`, `<0.1 %`, `100 %`; never rounds a part up to 100 %.
pub fn percent(share: f64) -> String {
    let p = share * 100.0;
    if p <= 0.0 {
        "0 %".to_owned()
    } else if p < 0.1 {
        "<0.1 %".to_owned()
    } else if p < 10.0 {
        format!("{p:.1} %")
    } else if (99.5..100.0).contains(&p) {
        format!("{:.1} %", (p * 10.0).floor() / 10.0)
    } else {
        format!("{p:.0} %")
    }
}

/// `0.015 %`, `1.5 %`: an upper bound of a share, with its significant digits.
pub fn small_percent(share: f64) -> String {
    let p = share * 100.0;
    let digits = digits_of(p);
    format!("{} %", trimmed(format!("{:.digits$}", rounded_up(p, digits))))
}

/// `0.13 to 0.26 %`: two shares, rounded away from each other to at most three digits. A share
/// above 0 is never printed as 0, and a share below 1 is never printed as 100 %.
pub fn percent_range(low: f64, high: f64) -> String {
    let (low, high) = (low * 100.0, high * 100.0);
    // Limited to below 100, so that 99.95 keeps its digit next to 100.
    let whole_digits = high.clamp(1e-4, 99.9).log10().floor();
    let most = (2.0 - whole_digits).clamp(0.0, 6.0) as usize;
    let digits = digits_of((high - low).max(1e-4)).min(most);
    let nearest = |p: f64| trimmed(format!("{p:.digits$}"));
    if nearest(low) == nearest(high) && nearest(low) != "0" {
        return match nearest(low).as_str() {
            "100" if low < 100.0 => "nearly 100 %".to_owned(),
            both => format!("{both} %"),
        };
    }
    let high = trimmed(format!("{:.digits$}", rounded_up(high, digits)));
    match trimmed(format!("{:.digits$}", -rounded_up(-low, digits) + 0.0)).as_str() {
        "0" => format!("up to {high} %"),
        low => format!("{low} to {high} %"),
    }
}

/// Rounds up to this many decimals, ignoring floating-point error in the last place.
fn rounded_up(number: f64, digits: usize) -> f64 {
    let scale = 10_f64.powi(i32::try_from(digits).unwrap_or_default());
    (number * scale - 1e-9).ceil() / scale
}

/// The number of decimals needed to show two significant digits.
fn digits_of(number: f64) -> usize {
    (1.0 - number.log10().floor()).clamp(0.0, 6.0) as usize
}

fn trimmed(number: String) -> String {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number,
    }
}

/// ``"`a`, `b` and 3 more"``: at most `shown` names.
pub fn list<S: AsRef<str>>(names: &[S], shown: usize) -> String {
    let quoted: Vec<_> = names.iter().take(shown).map(|n| format!("`{}`", n.as_ref())).collect();
    let rest = names.len().saturating_sub(shown);
    joined(&quoted, rest)
}

fn joined(quoted: &[String], rest: usize) -> String {
    match (quoted, rest) {
        ([first @ .., last], 0) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (_, 0) => quoted.concat(),
        _ => format!("{} and {} more", quoted.join(", "), count(rest as u64)),
    }
}

/// The maximum number of characters of a path in a list; longer paths are shortened in the middle.
const PATH: usize = 48;

/// A list of paths, each shortened to fit. Paths that are equal when shortened are shown once.
pub fn paths<S: AsRef<str>>(paths: &[S], shown: usize) -> String {
    let mut quoted: Vec<String> = Vec::new();
    for path in paths.iter().map(|path| format!("`{}`", short_path(path.as_ref()))) {
        if quoted.len() < shown && !quoted.contains(&path) {
            quoted.push(path);
        }
    }
    joined(&quoted, paths.len().saturating_sub(quoted.len()))
}

/// Shortens a long path in the middle: the beginning and the end are the most informative,
/// `claims.….references[].hash`.
fn short_path(path: &str) -> String {
    if path.chars().count() <= PATH {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('.').collect();
    let first = parts[0];
    let head = format!("{first}.…");
    let mut room = PATH.saturating_sub(head.chars().count());
    let mut tail = String::new();
    for part in parts[1..].iter().rev() {
        let length = part.chars().count() + 1;
        if length > room {
            break;
        }
        room -= length;
        tail.insert_str(0, &format!(".{part}"));
    }
    if !tail.is_empty() {
        return head + &tail;
    }
    // A single name exceeds the limit.
    let chars: Vec<char> = path.chars().collect();
    let (start, end) = (&chars[..PATH / 2], &chars[chars.len() - PATH / 2 + 1..]);
    start.iter().chain(&['…']).chain(end).collect()
}

/// `1 document`, `2 documents`.
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), form(n, "", "s"))
}

/// A noun with its article: `a string`, `an int`.
pub fn a(noun: &str) -> String {
    let first = noun.trim_start_matches('`').chars().next().unwrap_or(' ');
    let article = if "aeiouAEIOU".contains(first) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// `1 has`, `2 have`: a count with the matching verb form.
pub fn verb(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), form(n, one, many))
}

/// The verb form for a count printed elsewhere: `is` for 1, `are` for any other number.
pub fn form<'a>(n: u64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

/// The verb form for a part of a whole: `1 of 3 is`, `0 of 1 is`, `2 of 3 are`.
pub fn form_of<'a>(n: u64, of: u64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 || of == 1 { one } else { many }
}

/// `1 of 3 strings`; the verb after it agrees with the first number.
pub fn part(n: u64, of: u64, noun: &str) -> String {
    format!("{} of {}", count(n), plural(of, noun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ck_2_what_is_beyond_a_limit_does_not_look_like_it() {
        assert_eq!(bytes_beyond(1_080_615, 1_048_576), "1.03 MB");
        assert_eq!(bytes_beyond(1_048_577, 1_048_576), "1,048,577 bytes");
        assert_eq!(bytes_beyond(2_097_152, 1_048_576), "2 MB");
        assert_eq!(bytes_beyond(1_048_576, 1_048_576), "1 MB");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(102_400), "100 KB");
        assert_eq!(bytes(102_401), "100 KB");
        assert_eq!(bytes(16_777_216), "16 MB");
        assert_eq!(bytes(1_500), "1.5 KB");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(about(1_234.4, true), "1,234");
        assert_eq!(about(1_234.4, false), "about 1,200");
        assert_eq!(about(99_600.0, false), "about 100,000");
        assert_eq!(about(37.0, false), "about 37");
        assert_eq!(percent(0.9999), "99.9 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0004), "<0.1 %");
        assert_eq!(list(&["a", "b", "c"], 5), "`a`, `b` and `c`");
        assert_eq!(list(&["a", "b", "c"], 1), "`a` and 2 more");
        assert_eq!(plural(1, "document"), "1 document");
        assert_eq!(verb(1, "is", "are"), "1 is");
        assert_eq!(form(0, "is", "are"), "are");
        assert_eq!(part(1, 1, "string"), "1 of 1 string");
        assert_eq!(verb(1_200, "is", "are"), "1,200 are");
    }

    #[test]
    fn bounds_read_well() {
        for (low, high, said) in [
            (0.000_003_5, 0.012, "up to 1.2 %"),
            (0.0, 0.012, "up to 1.2 %"),
            (0.499_987, 0.500_013, "50 %"),
            (0.999_999_9, 1.0, "nearly 100 %"),
            (1.0, 1.0, "100 %"),
            (0.998, 1.0, "99.8 to 100 %"),
            (0.72, 1.0, "72 to 100 %"),
            (0.001_342, 0.002_549, "0.13 to 0.26 %"),
            (0.028_46, 0.041_37, "2.8 to 4.2 %"),
            (0.000_000_01, 0.000_000_02, "up to 0.00001 %"),
            (0.497_623_86, 0.497_630_65, "49.8 %"),
        ] {
            assert_eq!(percent_range(low, high), said);
        }
        assert_eq!(small_percent(3.0 / 200.0), "1.5 %");
        assert_eq!(small_percent(3.0 / 90.0), "3.4 %", "a bound is not rounded down");
        assert_eq!(small_percent(3.0 / 20_000.0), "0.015 %");
        assert_eq!(small_percent(3.0 / 20.0), "15 %");
    }

    #[test]
    fn long_paths_lose_their_middle() {
        let deep = "claims.P31.mainsnak.datavalue.value.qualifiers.P580.amount";
        let short = paths(&["a.b", deep], 5);
        assert_eq!(short, "`a.b` and `claims.….datavalue.value.qualifiers.P580.amount`");
        assert!(short_path(deep).chars().count() <= PATH);
        let tree = |depth| format!("tree.{}weight", "kids[].".repeat(depth));
        assert_eq!(
            paths(&["a".to_owned(), tree(8), tree(9), tree(10)], 3),
            "`a`, `tree.….kids[].kids[].kids[].kids[].kids[].weight` and 2 more"
        );
        assert_eq!(short_path(&"长".repeat(60)).chars().count(), PATH);
        assert_eq!(short_path(&format!("{}.b", "a".repeat(60))).chars().count(), PATH);
    }
}
