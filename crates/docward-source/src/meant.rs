//! What stands around a declaration in a model: comments, marks, patterns and defaults that say what its values are.

use std::collections::BTreeMap;

use docward_model::{
    BsonType,
    code::{DeclaredField, Meant},
    words::split,
};

use super::allow_comments;

/// A file, and what is asked of it for each of its fields.
pub(super) struct Sheet<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    /// Whether amounts are of a currency without minor units unless something else is said.
    has_whole_currency: bool,
    /// Whether something in it is divided by a power of ten.
    divides: bool,
}

impl<'t> Sheet<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            lines: text.lines().collect(),
            has_whole_currency: has_whole_currency(text) || remarks_say_whole(text),
            divides: text.contains("/ 100") || text.contains("/100"),
        }
    }

    /// What a field is by what stands around its declaration: a number that is whole, or a text that is no point in
    /// time.
    pub(super) fn meant(&self, types: &[BsonType], line: u32, leaf: &str) -> Option<Meant> {
        if types.contains(&BsonType::Double) {
            // `// amount in cents`: whole numbers, whatever the language calls them.
            let is_whole = self.has_whole_currency
                || (self.divides && is_shown_divided(self.text, leaf))
                || self.around(line).is_whole();
            is_whole.then_some(Meant::Whole)
        } else if types.contains(&BsonType::String) {
            self.is_no_moment(line).then_some(Meant::NoMoment)
        } else {
            None
        }
    }

    /// Whether a declaration shows a length of time, a day or a time of day: some store them as text, and they are no
    /// dates.
    fn is_no_moment(&self, line: u32) -> bool {
        is_length_of_time(self.line(line)) || self.around(line).is_no_moment()
    }

    /// Whether a remark or the declaration itself says that nothing is written to a field any more.
    pub(super) fn is_retired(&self, line: u32) -> bool {
        let around = self.around(line);
        let says = |text: &&&str| {
            let lower = text.to_ascii_lowercase();
            lower.contains("deprecated") || lower.contains("legacy field")
        };
        around.remarks.iter().chain(&around.declared).any(|text| says(&text))
    }

    fn line(&self, line: u32) -> &'t str {
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        self.lines.get(at).copied().unwrap_or_default()
    }

    /// What stands around the declaration on a line.
    fn around(&self, line: u32) -> Around<'t> {
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let mut declared = declaration(&self.lines, line);
        let remark = declared.first().and_then(|first| allow_comments::at_end(first));
        let mut remarks: Vec<&str> = remark.into_iter().collect();
        let (marks, above) = before(&self.lines, line);
        declared.extend(marks);
        remarks.extend(above);
        Around { remarks, declared }
    }
}

/// Whether remarks behind several numbers of an interface say that they count the smallest unit: `total: number; // in
/// paise`. What the file declares beside them counts the same.
fn remarks_say_whole(text: &str) -> bool {
    const SEVERAL: usize = 2;
    let says = |line: &&str| {
        let declared = line.split('/').next().unwrap_or_default().trim_end();
        let is_number = declared.ends_with(": number;") || declared.ends_with(": number,");
        // What is named after the unit says nothing of others.
        let lower = declared.to_ascii_lowercase();
        let is_named = ["cent", "paise", "kobo", "minor"].iter().any(|unit| lower.contains(unit));
        is_number && !is_named && allow_comments::at_end(line).is_some_and(names_smallest_unit)
    };
    text.lines().filter(says).count() >= SEVERAL
}

/// What stands around a declaration.
struct Around<'t> {
    /// Comments on its line and on those directly above, above marks as well.
    remarks: Vec<&'t str>,
    /// Marks before it, `@Prop({…})`, and the lines that it goes on for.
    declared: Vec<&'t str>,
}

impl Around<'_> {
    /// Whether a comment, or a description in the declaration, says that a field counts the smallest unit or a
    /// currency that has no smaller one; or the declaration lets whole numbers in only (`validate: Number.isInteger`,
    /// `@IsInt()`), or makes them whole.
    fn is_whole(&self) -> bool {
        let is_said = |line: &&&str| line.contains("description") || line.contains("message");
        let described = self.declared.iter().filter(is_said);
        self.remarks.iter().chain(described).any(|remark| names_smallest_unit(remark))
            || self.declared.iter().any(|line| {
                line.contains("@IsInt(") || line.contains(".isInteger") || sets_whole(line)
            })
    }

    /// Whether a comment says that a field is a day and no more, `// YYYY-MM-DD` or `// "2024-03-01"`, or a pattern or a
    /// default of the declaration does: `match: /^\d{4}-\d{2}-\d{2}$/`, `@JsonFormat(pattern = "yyyy-MM-dd")`; or the
    /// declaration shows a time of day: an example (`"09:00"`), a form (`HH:mm`) or a pattern, and no date with it.
    fn is_no_moment(&self) -> bool {
        self.remarks.iter().chain(&self.declared).any(|line| shows_day_form(line))
            || self.declared.iter().any(|line| shows_time_of_day(line))
    }
}

/// Whether an option of a field makes its values whole, or one that money never has is given: `set: v =>
/// Math.round(v * 100)`, `default: Infinity`.
fn sets_whole(line: &str) -> bool {
    let of = |option: &str| line.trim_start().strip_prefix(option).map(str::trim_start);
    let sets = |rule: &str| rule.contains("* 100") || rule.contains("*100");
    of("set:").is_some_and(sets)
        || of("default:").is_some_and(|value| value.starts_with("Infinity"))
}

/// Lines of marks and of comments that stand directly above a line.
fn before<'t>(all: &[&'t str], line: usize) -> (Vec<&'t str>, Vec<&'t str>) {
    /// Nobody reads on for longer.
    const LINES: usize = 24;
    let above = line.saturating_sub(1).min(all.len());
    let lines: Vec<&str> =
        all[above.saturating_sub(LINES)..above].iter().map(|line| line.trim()).collect();
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
fn says_days(lines: &[&str], model: &str) -> bool {
    // `userSchema` and `UserModel` declare `User`.
    let named = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| {
            let rest = word.get(..model.len()).filter(|head| head.eq_ignore_ascii_case(model));
            rest.is_some_and(|_| {
                let tail = word[model.len()..].trim_start_matches('_').to_ascii_lowercase();
                matches!(tail.as_str(), "" | "schema" | "model" | "type" | "document")
            })
        })
    };
    let declares = |line: &str| {
        !line.starts_with(char::is_whitespace)
            && ["type ", "interface ", "class ", "const ", "let ", "var "]
                .iter()
                .any(|word| line.starts_with(word) || line.contains(&format!(" {word}")))
            && named(line)
    };
    !model.is_empty()
        && lines.iter().enumerate().filter(|(_, line)| declares(line)).any(|(at, _)| {
            let (_, remarks) = before(lines, at + 1);
            remarks.iter().any(|remark| shows_day_form(remark)) || says_days_within(lines, at + 1)
        })
}

/// Whether the documentation that a class of Python begins with says so.
fn says_days_within(lines: &[&str], first: usize) -> bool {
    let mut lines = lines.iter().skip(first).take(20).map(|line| line.trim());
    let Some(head) = lines.next().filter(|line| line.starts_with("\"\"\"")) else { return false };
    let mut is_over = head.len() > 3 && head.ends_with("\"\"\"");
    // The line that ends it belongs to it.
    let rest = lines.take_while(|line| {
        let is_within = !is_over;
        is_over |= line.ends_with("\"\"\"");
        is_within
    });
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
pub(super) fn settle(fields: &mut [DeclaredField], sheet: &Sheet<'_>) {
    let parted = |path: &str| match path.rsplit_once('.') {
        Some((above, leaf)) => (above.to_owned(), leaf.to_owned()),
        None => (String::new(), path.to_owned()),
    };
    let shown: Vec<(String, String, String)> = fields
        .iter()
        .filter(|field| is_end(&field.path) && sheet.is_no_moment(field.place.location.line))
        .map(|field| {
            let (above, leaf) = parted(&field.path);
            (field.model.clone(), above, leaf)
        })
        .collect();
    let mut models = BTreeMap::new();
    for field in fields.iter_mut().filter(|field| field.types.contains(&BsonType::String)) {
        let (above, leaf) = parted(&field.path);
        let is_end = shown.iter().any(|(model, other, name)| {
            *model == field.model && *other == above && are_ends(&leaf, name)
        });
        let is_of_days = is_day(&leaf)
            && *models
                .entry(field.model.clone())
                .or_insert_with(|| says_days(&sheet.lines, &field.model));
        if is_end || is_of_days {
            field.meant = Some(Meant::NoMoment);
        }
    }
}

/// Whether a name may be that of a day: `visitDate`, not `createdAt` nor `candidate`.
pub(super) fn is_day(name: &str) -> bool {
    const OTHERWISE: [&str; 4] = ["candidate", "update", "mandate", "validate"];
    let last = split(name).pop().unwrap_or_default();
    matches!(last.as_str(), "day" | "today" | "datekey")
        || (last.ends_with("date") && !OTHERWISE.contains(&last.as_str()))
}

/// Whether a name says that a number counts the smallest unit: `toCents`, `amountInKobo`.
pub(super) fn is_of_smallest_unit(name: &str) -> bool {
    let all = split(name);
    let last = all.last().map(String::as_str).unwrap_or_default();
    SMALLEST.contains(&last)
        || last.contains("satoshi")
        || all.ends_with(&["minor".to_owned(), "units".to_owned()])
}

/// Currencies without minor units, or whose minor units nobody uses, of which people write shops.
const WHOLE: [&str; 27] = [
    "VND", "COP", "IRT", "IRR", "IDR", "JPY", "KRW", "XAF", "XOF", "FCFA", "CFA", "CLP", "PYG",
    "UGX", "RWF", "ISK", "MNT", "GNF", "BIF", "DJF", "KMF", "XPF", "LAK", "MGA", "TZS", "KHR",
    "MMK",
];

/// Their signs.
const WHOLE_SIGNS: [&str; 3] = ["₫", "₮", "₩"];

/// Whether amounts are of a currency without minor units unless something else is said: `default: 'VND'`.
fn has_whole_currency(text: &str) -> bool {
    WHOLE.iter().any(|code| {
        text.match_indices(code).any(|(at, _)| {
            let before = text[..at].strip_suffix(['"', '\'']).map(str::trim_end);
            let is_default = before
                .is_some_and(|before| before.ends_with("default:") || before.ends_with("default="));
            is_default && text[at + code.len()..].starts_with(['"', '\''])
        })
    })
}

/// Whether a file says that amounts are of a currency without minor units: a payment provider of its country, or its
/// code, its sign or how its numbers are written, where no other currency is named.
pub(super) fn names_whole_currency(text: &str) -> bool {
    const PROVIDERS: [&str; 8] =
        ["VNPay", "vnpay", "VNPAY", "ZaloPay", "zalopay", "ZALOPAY", "PayOS", "payos"];
    const FORMATS: [&str; 4] = [
        "toLocaleString('vi-VN'",
        "toLocaleString(\"vi-VN\"",
        "NumberFormat('vi-VN'",
        "NumberFormat(\"vi-VN\"",
    ];
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(&PROVIDERS) || says_smallest_unit(text) {
        return true;
    }
    let word = |wanted: &str| {
        text.contains(wanted)
            && text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == wanted)
    };
    let quoted = |code: &str| ['"', '\''].iter().any(|q| text.contains(&format!("{q}{code}{q}")));
    let is_whole =
        WHOLE.iter().any(|code| quoted(code)) || has(&WHOLE_SIGNS) || has(&FORMATS) || word("FCFA");
    is_whole && !["USD", "EUR", "GBP"].iter().any(|code| word(code)) && !has(&["€", "£"])
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

/// Whether a comment says of all amounts what they count: `// amounts are stored as the smallest unit`, `// Amounts in
/// whole rupees.`
fn says_smallest_unit(text: &str) -> bool {
    let says = |line: &&str| line.contains("smallest unit") || line.contains("whole ");
    text.lines().filter(says).any(|line| {
        let remark = ["//", "#", "*"].iter().find_map(|sign| line.split_once(sign));
        remark.is_some_and(|(_, remark)| {
            let lower = remark.to_ascii_lowercase();
            let of_all = lower.contains("amounts are") || lower.contains("all amounts");
            let in_whole = lower.contains("amounts in whole ") && names_whole_units(&lower);
            of_all && (remark.contains("smallest unit") || names_whole_units(&lower)) || in_whole
        })
    })
}

/// Whether words for people, in small letters, say that only whole units of a currency are counted: `whole naira`.
fn names_whole_units(lower: &str) -> bool {
    const CURRENCIES: [&str; 22] = [
        "rupee",
        "rupees",
        "inr",
        "naira",
        "ngn",
        "dollar",
        "dollars",
        "usd",
        "euro",
        "euros",
        "pound",
        "pounds",
        "shilling",
        "shillings",
        "kes",
        "peso",
        "pesos",
        "taka",
        "baht",
        "rand",
        "cedis",
        "birr",
    ];
    lower.split("whole ").skip(1).any(|behind| {
        let word = behind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        CURRENCIES.contains(&word)
    })
}

/// Whether words for people name the smallest unit of a currency, or a currency that has none.
pub(super) fn names_smallest_unit(remark: &str) -> bool {
    let lower = remark.to_lowercase();
    ["minor unit", "smallest unit", "smallest currency", "lowest denomination"]
        .iter()
        .any(|words| lower.contains(words))
        || names_whole_units(&lower)
        || WHOLE_SIGNS.iter().any(|sign| lower.contains(sign))
        || lower.split(|c: char| !c.is_alphanumeric()).any(|word| {
            SMALLEST.contains(&word) || WHOLE.iter().any(|code| code.eq_ignore_ascii_case(word))
        })
}

/// Minor units of currencies, and what people call currencies without.
const SMALLEST: [&str; 36] = [
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
    "vnđ",
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
fn is_length_of_time(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| matches!(word, "Duration" | "Period" | "timedelta"))
}

/// The lines of a declaration: one in braces goes on to the line that closes it.
fn declaration<'t>(lines: &[&'t str], line: usize) -> Vec<&'t str> {
    let mut near = lines.iter().copied().skip(line.saturating_sub(1));
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

pub(super) fn braces(line: &str) -> i32 {
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
