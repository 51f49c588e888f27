//! Annotations of fields in their declarations: comments, validators, patterns and defaults.

use docward_model::{
    BsonType,
    code::{Annotation, CURRENCIES_WITHOUT_MINOR_UNIT, TextForm},
};

use super::allow_comments;
use crate::place::Place;

/// The declarations of a file.
pub(super) struct Declarations<'t> {
    lines: Vec<&'t str>,
}

/// One declaration with its annotations.
struct Declaration<'t> {
    /// The text before the name on its line: the type, in Java.
    head: &'t str,
    /// From the name of the field to the end of its value.
    text: String,
    /// Decorators and Java annotations above it.
    marks: Vec<&'t str>,
    /// Comments on its lines and directly above it.
    comments: Vec<&'t str>,
}

impl<'t> Declarations<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { lines: text.lines().collect() }
    }

    /// Returns the annotations of a field's declaration that apply to its types.
    pub(super) fn annotations(&self, types: &[BsonType], at: Place) -> Vec<Annotation> {
        let declaration = self.declaration(at);
        let mut out = Vec::new();
        if types.contains(&BsonType::Double) {
            if declaration.counts_minor_units() {
                out.push(Annotation::MinorUnits);
            }
            if declaration.admits_whole_numbers_only() {
                out.push(Annotation::WholeNumbers);
            }
        } else if types.contains(&BsonType::String) {
            out.extend(declaration.text_form().map(Annotation::TextForm));
            out.extend(declaration.default().map(|text| Annotation::Default(text.to_owned())));
        }
        out
    }

    /// Whether a comment or the declaration marks a field as no longer used.
    pub(super) fn is_deprecated(&self, at: Place) -> bool {
        let declaration = self.declaration(at);
        declaration.comments.iter().chain(&declaration.marks).any(|text| {
            let lower = text.to_ascii_lowercase();
            lower.contains("deprecated") || lower.contains("legacy field")
        })
    }

    fn declaration(&self, at: Place) -> Declaration<'t> {
        let line = usize::try_from(at.line).unwrap_or(usize::MAX).saturating_sub(1);
        let column = usize::try_from(at.column).unwrap_or(usize::MAX).saturating_sub(1);
        let (text, last) = self.extent(line, column);
        let whole = self.lines.get(line).copied().unwrap_or_default();
        let name = whole.char_indices().nth(column).map_or(whole.len(), |(at, _)| at);
        let (marks, mut comments) = self.above(line);
        let own = self.lines.iter().take(last.saturating_add(1)).skip(line);
        comments.extend(own.filter_map(|line| allow_comments::at_end(line)));
        Declaration { head: &whole[..name], text, marks, comments }
    }

    /// The text of a declaration up to the comma, semicolon or end of line outside of brackets, and its last line.
    fn extent(&self, line: usize, column: usize) -> (String, usize) {
        /// Longer declarations are not fields.
        const LINES: usize = 24;
        let (mut text, mut depth, mut quote) = (String::new(), 0_i32, None);
        for (at, whole) in self.lines.iter().enumerate().skip(line).take(LINES) {
            let skipped = if at == line { column } else { 0 };
            let comment = allow_comments::at_end(whole).map_or(0, str::len);
            let code = whole.get(..whole.len() - comment).unwrap_or(whole);
            for c in code.chars().skip(skipped) {
                match quote {
                    Some(open) if c == open => quote = None,
                    Some(_) => {}
                    None => match c {
                        '"' | '\'' | '`' => quote = Some(c),
                        '(' | '{' | '[' => depth += 1,
                        ')' | '}' | ']' => depth -= 1,
                        ',' | ';' if depth == 0 => return (text, at),
                        _ => {}
                    },
                }
                if depth < 0 {
                    return (text, at);
                }
                text.push(c);
            }
            if depth == 0 {
                return (text, at);
            }
            text.push('\n');
            quote = quote.filter(|open| *open == '`');
        }
        (text, line)
    }

    /// Decorators and comments directly above a line.
    fn above(&self, line: usize) -> (Vec<&'t str>, Vec<&'t str>) {
        /// A decorator with more lines belongs to something else.
        const LINES: usize = 24;
        let line = line.min(self.lines.len());
        let lines: Vec<&str> =
            self.lines[line.saturating_sub(LINES)..line].iter().map(|line| line.trim()).collect();
        let (mut marks, mut comments) = (Vec::new(), Vec::new());
        let mut at = lines.len();
        while let Some(here) = at.checked_sub(1).map(|at| lines[at]) {
            if ["//", "/*", "*", "#"].iter().any(|sign| here.starts_with(sign)) {
                comments.push(here);
            } else if here.starts_with('@') {
                marks.push(here);
            } else if here.starts_with([')', '}']) && here.ends_with(')') {
                // The end of a decorator of several lines.
                let first = lines[..at].iter().rposition(|line| line.starts_with('@'));
                let ends = |line: &&str| line.ends_with(';') || line.is_empty();
                let Some(first) = first.filter(|first| !lines[*first..at - 1].iter().any(ends))
                else {
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
        (marks, comments)
    }
}

impl Declaration<'_> {
    fn counts_minor_units(&self) -> bool {
        let described = self.text.contains("description").then_some(self.text.as_str());
        let marks = self.marks.iter().copied().filter(|mark| mark.contains("description"));
        self.comments.iter().copied().chain(described).chain(marks).any(names_minor_unit)
    }

    fn admits_whole_numbers_only(&self) -> bool {
        let setter = self.text.split_once("set:").map(|(_, setter)| setter);
        self.text.contains(".isInteger")
            || self.marks.iter().any(|mark| mark.starts_with("@IsInt("))
            || setter.is_some_and(|set| set.contains("Math.round(") && !set.contains('/'))
    }

    fn text_form(&self) -> Option<TextForm> {
        let lines = self.text.lines().chain(self.marks.iter().copied());
        let mut types = self.head.split(|c: char| !c.is_alphanumeric());
        if types.any(|word| matches!(word, "Duration" | "Period")) {
            return Some(TextForm::TimeOfDay);
        }
        lines.chain(self.comments.iter().copied()).find_map(form_of)
    }

    /// `default: 'JPY'`, `@default("JPY")`, `default="JPY"`.
    fn default(&self) -> Option<&str> {
        let (_, behind) = self.text.split_once("default")?;
        let value = behind.trim_start_matches([':', '=', '(', ' ']);
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        value[1..].split_once(quote).map(|(text, _)| text)
    }
}

/// Minor units of currencies.
const MINOR_UNITS: [&str; 14] = [
    "cents", "pence", "paise", "paisa", "kobo", "pesewas", "centavos", "centimes", "groszy", "øre",
    "öre", "fils", "satoshi", "satoshis",
];

/// Whether a comment states that an amount counts minor units, or names a currency without minor units.
fn names_minor_unit(comment: &str) -> bool {
    let lower = comment.to_lowercase();
    ["minor unit", "smallest unit", "smallest currency", "whole unit"]
        .iter()
        .any(|words| lower.contains(words))
        || comment.split(|c: char| !c.is_alphanumeric()).any(|word| {
            MINOR_UNITS.contains(&word.to_lowercase().as_str())
                || CURRENCIES_WITHOUT_MINOR_UNIT.contains(&word)
        })
}

/// Whether a name shows that a number counts minor units: `toCents`, `amountInKobo`.
pub(super) fn is_minor_unit(name: &str) -> bool {
    let words = docward_model::words::split(name);
    words.last().is_some_and(|last| MINOR_UNITS.contains(&last.as_str()))
        || words.ends_with(&["minor".to_owned(), "units".to_owned()])
}

/// Whether a name may be that of a day: `visitDate`, not `createdAt` nor `candidate`.
pub(super) fn is_day(name: &str) -> bool {
    const OTHERWISE: [&str; 4] = ["candidate", "update", "mandate", "validate"];
    let last = docward_model::words::split(name).pop().unwrap_or_default();
    matches!(last.as_str(), "day" | "today" | "datekey")
        || (last.ends_with("date") && !OTHERWISE.contains(&last.as_str()))
}

/// The form that a comment, a pattern, a format or an expression shows: `YYYY-MM-DD`, `/^\d{4}-\d{2}-\d{2}$/`,
/// `"09:00"`, `2024-03-15T10:30:00Z`, `new Date().toISOString()`.
pub(super) fn form_of(text: &str) -> Option<TextForm> {
    const DAYS: [&str; 9] = [
        "yyyy-mm-dd",
        "yyyy/mm/dd",
        "yyyy.mm.dd",
        "dd-mm-yyyy",
        "dd/mm/yyyy",
        "dd.mm.yyyy",
        "mm/dd/yyyy",
        "2006-01-02",
        "%y-%m-%d",
    ];
    const PARTS_OF_DAYS: [&str; 8] = [
        "mm-dd",
        "mm/yy",
        "mm-yy",
        "mm/dd",
        "dd/mm",
        "yyyy-mm",
        "day of month",
        "day of the month",
    ];
    const TIMES: [&str; 8] =
        ["hh:", "hhmm", "h:mm", "%h", "15:04", "time of day", "[0-5]", "2[0-3]"];
    const INSTANTS: [&str; 13] = [
        "toisostring",
        "isoformat",
        "date-time",
        "iso 8601",
        "iso8601",
        "iso-8601",
        "iso string",
        "iso date",
        "iso timestamp",
        "rfc3339",
        "date.now",
        "datetime.now",
        "datetime.utcnow",
    ];
    /// Methods that keep only the day of an instant.
    const CUT: [&str; 7] = [
        ".slice(0",
        ".substring(0",
        ".split('t')[0]",
        ".split(\"t\")[0]",
        "[:10]",
        ".date()",
        "datestring",
    ];
    let lower = text.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    let pattern = lower.replace("[0-9]", "\\d").replace("\\\\", "\\").replace("\\/", "/");
    let pattern: String = pattern.chars().filter(|c| !matches!(c, '(' | ')')).collect();
    let shows_pattern = |parts: &[&str]| parts.iter().any(|part| pattern.contains(part));
    let day = has(&DAYS)
        || shows_pattern(&["\\d{4}-\\d{2}-\\d{2}", "\\d{4}/\\d{2}/\\d{2}", "\\d{2}/\\d{2}/\\d{4}"])
        || shows_day(&lower);
    let time = has(&TIMES) || shows_time(&lower) || shows_pattern(&["\\d{2}:\\d{2}", "-\\d{2}t"]);
    if has(&INSTANTS) {
        return Some(if has(&CUT) { TextForm::Day } else { TextForm::Instant });
    }
    match (day, time) {
        (true, true) => Some(TextForm::Instant),
        (true, false) => Some(TextForm::Day),
        (false, true) => Some(TextForm::TimeOfDay),
        (false, false) if has(&PARTS_OF_DAYS) || shows_pattern(&["1[0-2]/\\d{2}"]) => {
            Some(TextForm::Day)
        }
        (false, false) => {
            let is_length = |word: &str| matches!(word, "duration" | "period" | "timedelta");
            let mut words = lower.split(|c: char| !c.is_alphanumeric());
            words.any(is_length).then_some(TextForm::TimeOfDay)
        }
    }
}

/// Whether a text contains a day: `2024-03-01`.
fn shows_day(text: &str) -> bool {
    text.as_bytes().windows(10).any(|day| {
        day.iter().enumerate().all(|(n, byte)| match n {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    })
}

/// Whether a text contains a time: `09:30`, `t10:`.
fn shows_time(text: &str) -> bool {
    text.match_indices(':').any(|(at, _)| {
        let digits = |text: &mut dyn Iterator<Item = u8>| {
            text.take_while(u8::is_ascii_digit).take(3).count()
        };
        let before = digits(&mut text[..at].bytes().rev());
        let after = digits(&mut text[at + 1..].bytes());
        (1..=2).contains(&before) && after == 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_dates_in_comments_patterns_and_defaults() {
        use TextForm::{Day, Instant, TimeOfDay};
        for (text, form) in [
            ("// YYYY-MM-DD", Some(Day)),
            ("# e.g. 2024-03-01", Some(Day)),
            ("match: /^\\d{4}-\\d{2}-\\d{2}$/", Some(Day)),
            ("match: /^([01]\\d|2[0-3]):([0-5]\\d)$/", Some(TimeOfDay)),
            ("// MM/YY on the card", Some(Day)),
            ("default: '09:00'", Some(TimeOfDay)),
            ("private Duration timeout", Some(TimeOfDay)),
            ("// 2024-03-01T10:30:00Z", Some(Instant)),
            ("@JsonFormat(pattern = \"yyyy-MM-dd HH:mm\")", Some(Instant)),
            ("default: () => new Date().toISOString()", Some(Instant)),
            ("default: () => new Date().toISOString().slice(0, 10)", Some(Day)),
            ("type: String, required: true", None),
            ("default: () => `${new Date().getFullYear()}`", None),
            ("// when they come", None),
        ] {
            assert_eq!(form_of(text), form, "{text}");
        }
    }

    #[test]
    fn a_declaration_ends_where_its_field_does() {
        let text = "new Schema({price: Number, fee: {type: Number, validate: Number.isInteger}, tip: Number}); // in kobo\n  // docs\n  total: {\n    type: Number, // in cents\n  },\n";
        let all = Declarations::new(text);
        let of = |line, column| all.annotations(&[BsonType::Double], Place { line, column });
        let kobo = Annotation::MinorUnits;
        assert_eq!(of(1, 13), std::slice::from_ref(&kobo));
        assert_eq!(of(1, 28), [kobo.clone(), Annotation::WholeNumbers]);
        assert_eq!(of(1, 76), std::slice::from_ref(&kobo));
        assert_eq!(of(3, 3), [kobo]);
        assert!(of(2, 3).is_empty());
    }
}
