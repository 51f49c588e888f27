//! What stands around a declaration in a model: comments, marks, patterns and defaults that say what its values are.

use std::collections::BTreeMap;

use docward_model::{BsonType, code::DeclaredField};

/// Types of a field without those that what stands around its declaration speaks against: numbers that are whole, and
/// texts that are no points in time.
pub(super) fn as_meant(
    mut types: Vec<BsonType>,
    text: &str,
    line: u32,
    leaf: &str,
) -> Vec<BsonType> {
    // `// amount in cents`: whole numbers, whatever the language calls them.
    if says_cents(text, line)
        || is_tested_whole(text, line)
        || is_shown_divided(text, leaf)
        || has_whole_currency(text)
    {
        types.retain(|kind| *kind != BsonType::Double);
    }
    if is_no_moment(text, line) {
        types.retain(|kind| *kind != BsonType::String);
    }
    types
}

/// Whether a declaration shows a length of time, a day or a time of day: some store them as text, and they are no dates.
pub(super) fn is_no_moment(text: &str, line: u32) -> bool {
    is_length_of_time(text, line) || is_time_of_day(text, line) || is_said_to_be_day(text, line)
}

/// What stands around the declaration on a line.
struct Around<'t> {
    /// Comments on its line and on those directly above, above marks as well.
    remarks: Vec<&'t str>,
    /// Marks before it, `@Prop({…})`, and the lines that it goes on for.
    declared: Vec<&'t str>,
}

impl<'t> Around<'t> {
    fn of(text: &'t str, line: u32) -> Self {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let mut declared = declaration(text, line);
        let remark = declared.first().and_then(|first| remark_behind(first));
        let mut remarks: Vec<&str> = remark.into_iter().collect();
        let (marks, above) = before(text, line);
        declared.extend(marks);
        remarks.extend(above);
        Self { remarks, declared }
    }
}

/// The comment at the end of a line.
fn remark_behind(line: &str) -> Option<&str> {
    let (_, remark) = line.split_once("//").or_else(|| line.split_once('#'))?;
    Some(remark)
}

/// Lines of marks and of comments that stand directly above a line.
fn before(text: &str, line: usize) -> (Vec<&str>, Vec<&str>) {
    /// Nobody reads on for longer.
    const LINES: usize = 24;
    let above = line.saturating_sub(1);
    let lines: Vec<&str> =
        text.lines().take(above).skip(above.saturating_sub(LINES)).map(str::trim).collect();
    let (mut marks, mut remarks) = (Vec::new(), Vec::new());
    let mut at = lines.len();
    while let Some(here) = at.checked_sub(1).map(|at| lines[at]) {
        if is_remark(here) {
            remarks.push(here);
        } else if here.starts_with('@') {
            marks.push(here);
        } else if here.starts_with([')', '}']) && here.ends_with(')') {
            // The end of a mark of several lines: up to the one that begins it.
            let first = lines[..at].iter().rposition(|line| line.starts_with('@'));
            let Some(first) = first.filter(|first| !ends_before(&lines[*first..at - 1])) else {
                break;
            };
            marks.extend(&lines[first..at]);
            at = first;
            continue;
        } else {
            break;
        }
        at -= 1;
    }
    (marks, remarks)
}

/// Whether one of the lines ends a declaration.
fn ends_before(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.ends_with(';') || line.is_empty())
}

/// Whether a line is a comment and nothing else.
fn is_remark(line: &str) -> bool {
    ["//", "/*", "*", "#"].iter().any(|sign| line.starts_with(sign))
}

/// Whether the comment above the type, class or schema of a model says that its dates are days: `Dates are stored as
/// "YYYY-MM-DD"`.
pub(super) fn says_days(text: &str, model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let declares = |line: &str| {
        !line.starts_with(char::is_whitespace)
            && ["type ", "interface ", "class ", "const ", "let ", "var "]
                .iter()
                .any(|word| line.starts_with(word) || line.contains(&format!(" {word}")))
            && line.to_ascii_lowercase().contains(&model)
    };
    !model.is_empty()
        && text.lines().enumerate().filter(|(_, line)| declares(line)).any(|(at, _)| {
            let (_, remarks) = before(text, at + 1);
            remarks.iter().any(|remark| shows_day_form(remark)) || says_days_within(text, at + 1)
        })
}

/// Whether the documentation that a class of Python begins with says so.
fn says_days_within(text: &str, first: usize) -> bool {
    let mut lines = text.lines().skip(first).take(20).map(str::trim);
    let Some(head) = lines.next().filter(|line| line.starts_with("\"\"\"")) else { return false };
    let is_one_line = head.len() > 3 && head.ends_with("\"\"\"");
    let rest = lines.take_while(|line| !is_one_line && !line.ends_with("\"\"\""));
    std::iter::once(head).chain(rest).any(shows_day_form)
}

/// Names whose fields are two ends of one thing, and so of one form.
const ENDS: [(&str, &str); 14] = [
    ("start", "end"),
    ("begin", "end"),
    ("from", "to"),
    ("from", "until"),
    ("from", "till"),
    ("open", "close"),
    ("opens", "closes"),
    ("opening", "closing"),
    ("checkin", "checkout"),
    ("clockin", "clockout"),
    ("arrival", "departure"),
    ("pickup", "return"),
    ("pickup", "dropoff"),
    ("first", "last"),
];

/// Whether two names are the two ends of one thing: `startDate` and `endDate`, `dateFrom` and `dateTo`.
fn are_ends(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace(['_', '-'], "").to_ascii_lowercase();
    let (one, other) = (plain(one), plain(other));
    let turned = |from: &str, to: &str| {
        one.match_indices(from)
            .any(|(at, _)| format!("{}{to}{}", &one[..at], &one[at + from.len()..]) == other)
    };
    ENDS.iter().any(|(first, last)| turned(first, last) || turned(last, first))
}

/// Whether a name may be that of an end.
fn is_end(name: &str) -> bool {
    let plain = name.replace(['_', '-'], "").to_ascii_lowercase();
    ENDS.iter().any(|(first, last)| plain.contains(first) || plain.contains(last))
}

/// Takes texts that are days or times of day by what is said of the other end, or of the whole model, for what they
/// are.
pub(super) fn settle(fields: &mut [DeclaredField], text: &str) {
    let split = |path: &str| match path.rsplit_once('.') {
        Some((above, leaf)) => (above.to_owned(), leaf.to_owned()),
        None => (String::new(), path.to_owned()),
    };
    let shown: Vec<(String, String, String)> = fields
        .iter()
        .filter(|field| is_end(&field.path) && is_no_moment(text, field.place.location.line))
        .map(|field| {
            let (above, leaf) = split(&field.path);
            (field.model.clone(), above, leaf)
        })
        .collect();
    let mut models = BTreeMap::new();
    for field in fields.iter_mut().filter(|field| field.types.contains(&BsonType::String)) {
        let (above, leaf) = split(&field.path);
        let is_end = shown.iter().any(|(model, other, name)| {
            *model == field.model && *other == above && are_ends(&leaf, name)
        });
        let lower = leaf.to_ascii_lowercase();
        let is_of_days = (lower.ends_with("date") || lower.ends_with("day"))
            && *models.entry(field.model.clone()).or_insert_with(|| says_days(text, &field.model));
        if is_end || is_of_days {
            field.types.retain(|kind| *kind != BsonType::String);
        }
    }
}

/// Currencies without minor units, or whose minor units nobody uses, of which people write shops.
const WHOLE: [&str; 21] = [
    "VND", "IDR", "JPY", "KRW", "XAF", "XOF", "FCFA", "CFA", "CLP", "PYG", "UGX", "RWF", "ISK",
    "MNT", "GNF", "BIF", "DJF", "KMF", "XPF", "LAK", "IRR",
];

/// Their signs, and the language of a country whose money has none.
const WHOLE_SIGNS: [&str; 4] = ["₫", "₮", "₩", "vi-VN"];

/// Whether amounts are of a currency without minor units unless something else is said: `default: 'VND'`.
fn has_whole_currency(text: &str) -> bool {
    WHOLE.iter().any(|code| {
        text.match_indices(code).any(|(at, _)| {
            let before = text[..at].strip_suffix(['"', '\'']).map(str::trim_end);
            before
                .is_some_and(|before| before.ends_with("default:") || before.ends_with("default="))
        })
    })
}

/// Whether a file says that amounts are of a currency without minor units: a payment provider of its country, or its
/// code where no other currency is named.
pub(super) fn names_whole_currency(text: &str) -> bool {
    const PROVIDERS: [&str; 8] =
        ["VNPay", "vnpay", "VNPAY", "ZaloPay", "zalopay", "ZALOPAY", "PayOS", "payos"];
    let quoted = |code: &str| ['"', '\''].iter().any(|q| text.contains(&format!("{q}{code}{q}")));
    let is_whole = WHOLE.iter().any(|code| quoted(code))
        || WHOLE_SIGNS.iter().any(|sign| text.contains(sign))
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "FCFA");
    PROVIDERS.iter().any(|provider| text.contains(provider))
        || (is_whole && !quoted("USD") && !quoted("EUR"))
}

/// Whether a declaration lets whole numbers in only: `validate: Number.isInteger`, `@IsInt()` before it.
fn is_tested_whole(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let before = text.lines().take(line.saturating_sub(1)).skip(line.saturating_sub(5));
    let marks: Vec<&str> = before.collect();
    let mut marks = marks.iter().rev().take_while(|line| line.trim_start().starts_with('@'));
    marks.any(|mark| mark.contains("@IsInt("))
        || declaration(text, line).iter().any(|line| line.contains(".isInteger"))
}

/// Whether a comment on the line or above says that a field is a day and no more, `// YYYY-MM-DD` or `// "2024-03-01"`,
/// or a pattern or a default of the declaration does: `match: /^\d{4}-\d{2}-\d{2}$/`, `@JsonFormat(pattern = "yyyy-MM-dd")`.
fn is_said_to_be_day(text: &str, line: u32) -> bool {
    let around = Around::of(text, line);
    around.remarks.iter().chain(&around.declared).any(|line| shows_day_form(line))
}

/// Whether a text shows the form of a day, or how one is made, and no time with it.
fn shows_day_form(text: &str) -> bool {
    const FORMS: [&str; 8] = [
        "yyyy-mm-dd",
        "yyyy/mm/dd",
        "yyyy.mm.dd",
        "dd-mm-yyyy",
        "dd/mm/yyyy",
        "dd.mm.yyyy",
        "mm/dd/yyyy",
        "mm-dd-yyyy",
    ];
    // Of patterns, without groups, and with one word for a digit.
    const PATTERNS: [&str; 4] = [
        "\\d{4}-\\d{2}-\\d{2}",
        "\\d{4}/\\d{2}/\\d{2}",
        "\\d{2}/\\d{2}/\\d{4}",
        "\\d\\d\\d\\d-\\d\\d-\\d\\d",
    ];
    const MADE: [&str; 5] = [
        ".slice(0, 10)",
        ".slice(0,10)",
        ".substring(0, 10)",
        ".split('t')[0]",
        ".split(\"t\")[0]",
    ];
    let lower = text.to_ascii_lowercase();
    if ["hh:", "hhmm", "hh.mm", "%h"].iter().any(|hours| lower.contains(hours)) {
        return false;
    }
    let ends = |at: usize| {
        let behind = lower[at..].trim_start_matches(['"', '\'', '`', ')']);
        !behind.starts_with(['t', ':', '[']) && !behind.starts_with(" \\d")
    };
    let has = |part: &str| lower.match_indices(part).any(|(at, _)| ends(at + part.len()));
    let plain = lower.replace("[0-9]", "\\d").replace("\\\\", "\\").replace("\\/", "/");
    let plain: String = plain.chars().filter(|c| !matches!(c, '(' | ')')).collect();
    let is_pattern = PATTERNS.iter().any(|form| {
        plain.match_indices(form).any(|(at, _)| {
            let behind = &plain[at + form.len()..];
            behind.is_empty() || behind.starts_with(['$', '/', '"', '\'', '`'])
        })
    });
    FORMS.iter().any(|form| has(form))
        || shows_day_of_year(&lower)
        || ["day of month", "day of the month"].iter().any(|said| lower.contains(said))
        // A month and two figures of a year, as cards have it.
        || ["1[0-2]/\\d{2}", "1[0-2]-\\d{2}"].iter().any(|form| plain.contains(form))
        || is_pattern
        || lower.contains("%y-%m-%d")
        || MADE.iter().any(|made| lower.contains(made))
        || shows_day(&lower)
}

/// Whether a text shows the form of a day of any year or of a month, by itself: `MM-DD`, `MM/YY`.
fn shows_day_of_year(lower: &str) -> bool {
    lower.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '/' | '.' | ':')).any(|word| {
        matches!(
            word.trim_end_matches(['.', ':']),
            "mm-dd"
                | "dd-mm"
                | "mm/dd"
                | "dd/mm"
                | "mm/yy"
                | "mm-yy"
                | "mm/yyyy"
                | "mm-yyyy"
                | "yyyy-mm"
                | "yyyy/mm"
        )
    })
}

/// Whether a text has a day in it and no time behind: `2024-03-01`.
fn shows_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(10).enumerate().any(|(at, day)| {
        let is_day = day.iter().enumerate().all(|(n, byte)| match n {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
        let behind = bytes.get(at + 10..).unwrap_or_default();
        let is_time =
            behind.starts_with(b"t") || matches!(behind, [b' ', hour, ..] if hour.is_ascii_digit());
        is_day && !is_time && !behind.first().is_some_and(u8::is_ascii_digit)
    })
}

/// Whether a comment on the line or above, or a description in the declaration, says that a field counts the smallest
/// unit, or a currency that has no smaller one.
fn says_cents(text: &str, line: u32) -> bool {
    let around = Around::of(text, line);
    let is_said = |line: &&&str| line.contains("description") || line.contains("message");
    let described = around.declared.iter().filter(is_said);
    around.remarks.iter().chain(described).any(|remark| names_smallest_unit(remark))
}

/// Whether words for people name the smallest unit of a currency, or a currency that has none.
pub(super) fn names_smallest_unit(remark: &str) -> bool {
    let lower = remark.to_lowercase();
    ["minor unit", "smallest unit", "smallest currency", "lowest denomination"]
        .iter()
        .any(|words| lower.contains(words))
        || WHOLE_SIGNS.iter().any(|sign| lower.contains(sign))
        || lower.split(|c: char| !c.is_alphanumeric()).any(|word| SMALLEST.contains(&word))
}

/// Minor units of currencies, and currencies without.
const SMALLEST: [&str; 45] = [
    "cents",
    "pence",
    "paise",
    "paisa",
    "kobo",
    "pesewas",
    "centavos",
    "centimes",
    "kopecks",
    "kopeks",
    "kuruş",
    "kurus",
    "groszy",
    "halalas",
    "fils",
    "sen",
    "øre",
    "öre",
    "satoshi",
    "satoshis",
    "vnd",
    "vnđ",
    "jpy",
    "krw",
    "idr",
    "xaf",
    "xof",
    "fcfa",
    "cfa",
    "mnt",
    "tugrik",
    "tugriks",
    "rupiah",
    "céntimos",
    "centimos",
    "cêntimos",
    "piastres",
    "millimes",
    "копейках",
    "копеек",
    "копейки",
    "центах",
    "центов",
    "центы",
    "төгрөг",
];

/// Whether methods of the model show a field divided by a hundred: `format(this.amount / 100)`.
fn is_shown_divided(text: &str, leaf: &str) -> bool {
    ["this", "self", "doc", "ret"].iter().any(|of| {
        let member = format!("{of}.{leaf}");
        text.match_indices(member.as_str()).any(|(at, _)| {
            let rest = text[at + member.len()..].trim_start();
            let divisor = rest.strip_prefix('/').map(str::trim_start);
            divisor.is_some_and(|divisor| {
                let digits = divisor.bytes().take_while(u8::is_ascii_digit).count();
                matches!(&divisor[..digits], "100" | "1000" | "100000000")
            })
        })
    })
}

/// Whether the type on a line is a length of time: `Duration timeout`.
fn is_length_of_time(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let text = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| matches!(word, "Duration" | "Period" | "timedelta"))
}

/// Whether a declaration shows a time of day: an example (`"09:00"`), a form (`HH:mm`) or a pattern
/// (`/^([01]\d|2[0-3]):…/`) on its lines, and no date with it.
fn is_time_of_day(text: &str, line: u32) -> bool {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    declaration(text, line).iter().any(|line| shows_time_of_day(line))
}

/// The lines of a declaration: one in braces goes on to the line that closes it.
fn declaration(text: &str, line: usize) -> Vec<&str> {
    let mut near = text.lines().skip(line.saturating_sub(1));
    let Some(first) = near.next() else { return Vec::new() };
    let mut depth = braces(first);
    let mut declared = vec![first];
    while depth > 0 && declared.len() < 20 {
        let Some(next) = near.next() else { break };
        depth += braces(next);
        declared.push(next);
    }
    declared
}

fn braces(line: &str) -> i32 {
    line.chars().fold(0, |depth, c| match c {
        '{' => depth + 1,
        '}' => depth - 1,
        _ => depth,
    })
}

fn shows_time_of_day(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    if lower.contains("yy") || lower.contains("iso") || lower.contains("t00:") {
        return false;
    }
    let is_form =
        lower.contains("hh:mm") || lower.contains("h:mm") || lower.contains("time of day");
    let is_pattern = line.contains("2[0-3]") || line.contains("[0-5]");
    // `09:00`, and neither a date before it nor seconds that belong to one.
    let is_example = line.match_indices(':').any(|(at, _)| {
        let before = line[..at].bytes().rev().take_while(u8::is_ascii_digit).count();
        let after = line[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let starts = at - before;
        let head = &line[..starts];
        let has_date = head.ends_with(['T', '-', '/', ':']) || shows_day(head);
        (1..=2).contains(&before) && after == 2 && !has_date
    });
    is_form || is_pattern || is_example
}
