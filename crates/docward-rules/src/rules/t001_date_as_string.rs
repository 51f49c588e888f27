//! DM-09.1: points in time belong in the date type. This rule also reports strings and real dates in one field
//! (DM-09.6), so `T005` does not report them.

use docward_model::{
    BsonType, Collection, Conversion, Draft, EpochUnit, Field, FieldChange, Level, Profile, Safety,
    Subject, TextClass,
};

use crate::facts::thresholds::t001::{NAMED_SHARE, SHARE};
use crate::facts::values::dates::{self, DateText, DateVerdict};
use crate::facts::{
    grouping,
    names::{self, meaning},
    remedies::statements,
    text,
    values::{classes, moments},
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Date as string
    ///
    /// ## What it checks
    /// Reports fields whose strings are dates, with or without a time. More than 90 % of the strings must be dates.
    /// If the name suggests a point in time (`createTime`, `paidAt`, `order_date`), more than half is enough. Empty
    /// strings and marks for a missing value (`N/A`, `null`) do not count. Strings among real dates in one field
    /// belong to the same finding.
    ///
    /// Also reports fields whose name suggests a time and whose strings are seconds or milliseconds since 1970.
    ///
    /// It is a note for
    /// - labels of a month (`2024-03`)
    /// - fields with the name of a date whose text has an unknown form
    /// - a date in three fields: `year`, `month` and `day`
    ///
    /// Times of day (`09:30`) are not reported.
    ///
    /// ## Why it matters
    /// Strings compare character by character. Ranges, sorting, `$dateTrunc`, TTL indexes and time zones need
    /// real dates. Two spellings of one moment, with another offset or precision, sort differently.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "createTime": "2024-03-15 10:30:00"}
    /// ```
    /// Use a date:
    /// ```jsonl,clean
    /// {"_id": 1, "createTime": ISODate("2024-03-15T10:30:00Z"), "apiVersion": "2022-11-28"}
    /// ```
    ///
    /// ## How to fix
    /// Decide on the time zone of strings without an offset, and on the order of day and month where it is
    /// ambiguous. Then convert with `$dateFromString`, and check the values that do not convert by hand. A day
    /// without a time becomes midnight UTC. Finally require `bsonType: "date"` in the validator.
    ///
    /// ## When to ignore it
    /// The text is what another system sent and is kept as evidence, with a real date in another field.
    T001, "date-as-string",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DM-09.1", "DM-09.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [SHARE, NAMED_SHARE, MIN_UNKNOWN],
    data: ["ambiguous", "dateOnly", "empty", "monthOnly", "noDate", "realDates", "strings", "unknown", "withOffset", "withoutOffset"],
    check: Collection(check),
}

threshold!(
    MIN_UNKNOWN,
    "min-unknown",
    Int(5),
    "strings",
    "our default",
    "minimum number of strings in no known form in a field that is named like a date"
);

const WHY: &str = "MongoDB compares text byte by byte: date ranges, sorting, expiry (TTL) and time zones need the date type";

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let (share, named_share) = (cx.limit(&SHARE), cx.limit(&NAMED_SHARE));
    let min_unknown = cx.count(&MIN_UNKNOWN);
    let mut drafts = Vec::new();
    for field in &profile.fields {
        match dates::judge(field, share, named_share) {
            Some(DateVerdict::Dates(found)) => {
                drafts.push(dates_as_text(collection, profile, field, found))
            }
            Some(DateVerdict::Periods(found)) => {
                drafts.push(periods(collection, profile, field, found))
            }
            None => drafts.extend(
                epochs_as_text(collection, profile, field)
                    .or_else(|| unknown_form(collection, profile, field, min_unknown)),
            ),
        }
    }
    grouping::report(cx, &collection.namespace, drafts, "hold dates as text");
    for parts in split_dates(profile) {
        cx.report(date_in_parts(collection, profile, &parts));
    }
}

/// Year, month and day of one date in three sibling fields: `year`, `month`, `day`, or `startYear`, `startMonth`,
/// `startDay`.
fn split_dates(profile: &Profile) -> Vec<[&Field; 3]> {
    const PARTS: [(&str, f64, f64); 3] =
        [("year", 1000.0, 9999.0), ("month", 1.0, 12.0), ("day", 1.0, 31.0)];
    let part = |field: &Field, (name, min, max): (&str, f64, f64)| {
        let mut words = names::words(&field.name);
        let is_part = words.pop().is_some_and(|last| last == name)
            && classes::is_only(field, classes::Class::Number)
            && field
                .number
                .is_some_and(|n| n.min >= min && n.max <= max && n.fractional_doubles == 0);
        is_part.then(|| words.concat())
    };
    let years = profile.fields.iter().filter_map(|year| Some((year, part(year, PARTS[0])?)));
    let all = years.filter_map(|(year, stem)| {
        let beside = classes::siblings(profile, year);
        let find = |of| beside.iter().copied().find(|f| part(f, of).as_ref() == Some(&stem));
        Some([year, find(PARTS[1])?, find(PARTS[2])?])
    });
    all.collect()
}

fn date_in_parts(collection: &Collection, profile: &Profile, parts: &[&Field; 3]) -> Draft {
    let [year, month, day] = parts.map(|field| field.path.dotted());
    Draft::new(
        Subject::Field(collection.namespace.clone(), parts[0].path.clone()),
        format!("`{year}`, `{month}` and `{day}` hold one date in three fields"),
        "a range of days needs a condition for each part, and date operators and TTL indexes do not work on parts",
        format!("store one Date, for example with {{$dateFromParts: {{year: \"${year}\", month: \"${month}\", day: \"${day}\"}}}}"),
        profile.seen_in(parts[0], parts[0].count),
    )
    .paths(parts.iter().map(|field| field.path.clone()))
    .level(Level::Information)
    .clauses(&["DM-09.1"])
    .key("parts")
}

fn dates_as_text(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    found: DateText,
) -> Draft {
    let path = &field.path;
    let real = field.types.of(BsonType::Date) + field.types.of(BsonType::Timestamp);
    let beside = match real {
        0 => String::new(),
        n => format!("; the field also holds {}", text::plural(n, "real date")),
    };
    let mut steps = vec![if path.as_str() == "_id" {
        "an `_id` cannot be changed: store the time in a separate Date field, or copy the documents to a new `_id`".to_owned()
    } else {
        format!("store `{}` as Date", path.dotted())
    }];
    if found.offset > 0 {
        let convert = text::form(found.offset, "converts directly", "convert directly");
        steps.push(format!("{} with an offset {convert}", text::count(found.offset)));
    }
    if found.local > 0 {
        steps.push(format!(
            "{} no offset, so decide on a time zone first",
            text::verb(found.local, "has", "have")
        ));
    }
    if found.day + found.month > 0 {
        steps.push(format!(
            "{} no time of day and {} midnight UTC",
            text::verb(found.day + found.month, "has", "have"),
            text::form(found.day + found.month, "becomes", "become")
        ));
    }
    let order = Order::of(field, &found);
    if found.ambiguous > 0 {
        let are = text::verb(found.ambiguous, "is", "are");
        steps.push(format!("{are} not in ISO form{}", order.advice()));
    }
    if found.other() > 0 {
        steps.push(text::verb(found.other(), "is not a date", "are not dates"));
    }
    if found.empty > 0 {
        steps.push(format!(
            "{} empty{}, so omit the field in those documents",
            text::verb(found.empty, "is", "are"),
            if field.text.as_ref().is_some_and(|text| text.placeholders > 0) {
                " or a placeholder such as `N/A`"
            } else {
                ""
            }
        ));
    }
    if let Some(mix) = mixed_forms(field, &found) {
        steps.push(mix);
    }
    let draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "{} in `{path}` {}{beside}",
            text::part(found.dates() + found.month, found.strings, "string"),
            text::form(found.dates() + found.month, "is a date", "are dates"),
        ),
        WHY,
        steps.join("; "),
        profile.seen_in(field, found.dates() + found.month),
    )
    .data("strings", found.strings)
    .data("withOffset", found.offset)
    .data("withoutOffset", found.local)
    .data("dateOnly", found.day)
    .data("monthOnly", found.month)
    .data("ambiguous", found.ambiguous)
    .data("noDate", found.other())
    .data("empty", found.empty)
    .data("realDates", real)
    .examples(field.examples.iter().cloned())
    .clauses(if real > 0 { &["DM-09.1", "DM-09.6"] } else { &["DM-09.1"] });
    let can_convert =
        order.is_readable() && path.as_str() != "_id" && statements::can_be_written(profile, field);
    let certain = found.local + found.day + found.month == 0 && order == Order::Zoned;
    let safety = if certain { Safety::Guarded } else { Safety::Manual };
    let step = statements::convert(
        &collection.namespace,
        path,
        [BsonType::String],
        [BsonType::Date],
        Conversion::DateText,
    );
    let mut draft = statements::advise(draft, step, can_convert.then_some(safety));
    if found.empty > 0 {
        draft = draft.change(FieldChange::remove(path));
    }
    draft
}

/// The order of day and month in examined dates outside ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// They name the month, and they have an offset; or all dates are in ISO form.
    Zoned,
    /// They name the month or begin with the year.
    Clear,
    /// No first number is above 12, and some second numbers are.
    MonthFirst,
    /// No second number is above 12, and some first numbers are.
    DayFirst,
    /// Each order occurs.
    Both,
    /// A converter cannot know whether 03/04 is in March or in April.
    Unknown,
}

/// Fewer numbers above 12 prove no order.
const PROOF: u64 = 3;

impl Order {
    fn of(field: &Field, found: &DateText) -> Self {
        let forms = field.text.as_ref().map(|text| text.forms).unwrap_or_default();
        let clear = forms.zoned_dates + forms.clear_dates;
        match (forms.month_first, forms.day_first) {
            _ if found.ambiguous == 0 => Self::Zoned,
            (0, 0) if forms.unclear_dates > 0 || clear == 0 => Self::Unknown,
            (0, 0) if forms.clear_dates == 0 => Self::Zoned,
            (0, 0) => Self::Clear,
            (PROOF.., 0) => Self::MonthFirst,
            (0, PROOF..) => Self::DayFirst,
            (0, _) | (_, 0) => Self::Unknown,
            _ => Self::Both,
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Zoned => ", but name the month and have an offset, so they convert directly",
            Self::Clear => {
                ", but the order of day and month is clear; decide on a time zone where there is no offset"
            }
            Self::MonthFirst => {
                "; the month comes first, because in the examined strings only the second number is above 12"
            }
            Self::DayFirst => {
                "; the day comes first, because in the examined strings only the first number is above 12: give $dateFromString a format that begins with %d"
            }
            Self::Both => {
                "; day first and month first both occur, so find out which program wrote which form"
            }
            Self::Unknown => {
                ", so decide on the order of day and month if it is ambiguous, and remove comments such as `(CEST)` first"
            }
        }
    }

    /// Whether servers read the dates correctly without a format.
    fn is_readable(self) -> bool {
        matches!(self, Self::Zoned | Self::Clear | Self::MonthFirst)
    }
}

/// Text with seconds or milliseconds since 1970.
fn epochs_as_text(collection: &Collection, profile: &Profile, field: &Field) -> Option<Draft> {
    let path = &field.path;
    let text = field.text.as_ref()?;
    let some = text.total() - text.of(TextClass::Empty) - text.placeholders;
    let forms = text.forms;
    let (unit, name, examined) = if forms.epoch_seconds > forms.epoch_milliseconds {
        (EpochUnit::Seconds, "seconds", forms.epoch_seconds)
    } else {
        (EpochUnit::Milliseconds, "milliseconds", forms.epoch_milliseconds)
    };
    let is_time = meaning::is_time(path.leaf()) || moments::mentions_time(path.leaf());
    let others = forms.examined - examined;
    // The empty string and marks for missing values are also examined.
    if !is_time
        || !classes::is_only(field, classes::Class::Text)
        || examined == 0
        || others > 2
        || text.of(TextClass::Integer) != some
        || others > 0 && text.total() == some
    {
        return None;
    }
    let draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "{} in `{path}` {} since 1970 as text",
            text::part(some, text.total(), "string"),
            if some == 1 { format!("is {name}") } else { format!("are {name}") }
        ),
        WHY,
        format!(
            "store `{}` as Date; the command reads the digits as {name} since 1970",
            path.dotted()
        ),
        profile.seen_in(field, some),
    )
    .data("strings", some)
    .clauses(&["DM-09.1"])
    .key("epoch")
    .examples(field.examples.iter().cloned());
    let can_convert = some == text.total() && statements::can_be_written(profile, field);
    let step = statements::convert(
        &collection.namespace,
        path,
        [BsonType::String],
        [BsonType::Date],
        Conversion::Epoch { unit, zero_is_absent: false },
    );
    Some(statements::advise(draft, step, can_convert.then_some(Safety::Guarded)))
}

/// The reason why the strings do not sort in order of time, if there is one.
fn mixed_forms(field: &Field, found: &DateText) -> Option<String> {
    if found.forms() > 1 {
        return Some(format!(
            "the strings have {} different forms, so they do not sort by time",
            found.forms()
        ));
    }
    let lengths = &field.text.as_ref()?.lengths;
    let whole = found.other() == 0 && found.empty == 0;
    (whole && found.offset + found.local > 0 && lengths.min != lengths.max).then(|| {
        format!(
            "the precision or offset varies ({} to {} bytes), so the strings may not sort by time",
            lengths.min, lengths.max
        )
    })
}

fn periods(collection: &Collection, profile: &Profile, field: &Field, found: DateText) -> Draft {
    let path = &field.path;
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "{} in `{path}` {} of a month",
            text::part(found.month, found.strings, "string"),
            text::form(found.month, "is the label", "are labels")
        ),
        "such a label sorts and groups well, but date operators and TTL indexes do not work on it",
        format!(
            "keep `{}` if it is used only for grouping; if it is compared with dates, store the first moment of the month as Date",
            path.dotted()
        ),
        profile.seen_in(field, found.month),
    )
    .data("strings", found.strings)
    .data("monthOnly", found.month)
    .level(Level::Information)
    .clauses(&["DM-09.1"])
    .key("period")
    .examples(field.examples.iter().cloned())
}

/// A field named like a date whose text is in no known form: spelled-out months, digits.
fn unknown_form(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    min: u64,
) -> Option<Draft> {
    let path = &field.path;
    let leaf = path.leaf();
    // `openTime` may be a time of day, which is not a date; the other names denote at least a day.
    let says_day = meaning::is_time(leaf) && names::words(leaf).last().is_some_and(|w| w != "time");
    if !says_day || !classes::is_only(field, classes::Class::Text) {
        return None;
    }
    let strings = field.text.as_ref()?;
    let some = strings.total() - strings.of(TextClass::Empty);
    let unknown = strings.of(TextClass::Other) + strings.of(TextClass::Integer);
    // Minutes of a match and hours of a day are not dates.
    let clocks = strings.forms.clocks * 2 > strings.forms.examined;
    if clocks || some < min || (unknown as f64) < 0.9 * some as f64 || strings.lengths.p50() < 8 {
        return None;
    }
    let draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "`{path}` is named like a date and holds {} in a form that Docward does not recognise",
            text::plural(unknown, "string")
        ),
        WHY,
        format!(
            "if `{}` is a point in time, store it as Date; {} need a custom conversion",
            path.dotted(),
            text::plural(unknown, "string")
        ),
        profile.seen_in(field, unknown),
    )
    .data("strings", some)
    .data("unknown", unknown)
    .level(Level::Information)
    .clauses(&["DM-09.1"])
    .key("unknown form")
    .examples(field.examples.iter().cloned());
    Some(draft)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_1_a_date_string_is_reported_and_a_month_label_is_information() {
        let found = check("T001", r#"{"_id": 1, "createTime": "2024-03-15 10:30:00"}"#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("time zone"), "{}", found[0].todo);
        let found = check("T001", r#"{"_id": 1, "month": "2024-03"}"#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Info);
    }

    #[test]
    fn dm_09_1_nine_in_ten_are_not_enough_and_more_are() {
        let body = |dates: u32, words: u32| {
            format!("x{dates} {{\"label\": \"2024-03-15\"}}\nx{words} {{\"label\": \"later\"}}")
        };
        assert!(check("T001", &body(90, 10)).is_empty());
        assert_eq!(check("T001", &body(91, 9)).len(), 1);
    }

    #[test]
    fn strings_among_real_dates_are_one_finding() {
        let body = "x90 {\"paidAt\": ISODate(\"2024-03-15T10:30:00Z\")}\nx10 {\"paidAt\": \"2024-03-15T10:30:00Z\"}";
        let found = check("T001", body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("also holds 90 real dates"), "{}", found[0].what);
        assert!(check("T005", body).is_empty());
    }

    #[test]
    fn dm_09_1_dates_that_name_the_month_convert_directly() {
        for date in ["Sun Aug 31 00:29:02 +0000 20$i", "Tue, 23 Sep 20$i 10:25:15 -0700"] {
            let found =
                check("T001", &format!("x9 {{\"date\": \"{}\"}}", date.replace("20$i", "201$i")));
            assert!(found[0].todo.contains("name the month"), "{}", found[0].todo);
            let fix = found[0].fix.as_ref().expect("a command");
            assert!(fix.command().contains("$dateFromString"), "{}", fix.command());
        }
        let found = check("T001", "x9 {\"date\": \"Tue, 23 Sep 201$i 10:25:15 -0500 (EST)\"}");
        assert!(found[0].fix.is_none() && found[0].todo.contains("comments"), "{}", found[0].todo);
    }

    #[test]
    fn dm_09_1_numbers_above_12_prove_the_order_of_day_and_month() {
        let todo = |date: &str| {
            let found = check("T001", &format!("x9 {{\"date\": \"{date}\"}}"));
            (found[0].todo.clone(), found[0].fix.is_some())
        };
        let (text, can_run) = todo("7/2$i/1989");
        assert!(text.contains("the month comes first") && can_run, "{text}");
        let (text, can_run) = todo("2$i/7/1989");
        assert!(text.contains("the day comes first") && !can_run, "{text}");
        let (text, can_run) = todo("$i/7/1989");
        assert!(text.contains("decide on the order") && !can_run, "{text}");
        let both = check("T001", "x5 {\"date\": \"2$i/7/1989\"}\nx4 {\"date\": \"7/2$i/1989\"}");
        assert!(both[0].todo.contains("both occur"), "{}", both[0].todo);
    }

    #[test]
    fn dm_09_1_seconds_as_text_are_dates_and_clocks_are_not() {
        let found = check("T001", "x9 {\"timestamp\": \"151092242$i\"}");
        assert_eq!(found[0].severity, Severity::Warn);
        let command = found[0].fix.as_ref().expect("a command").command();
        assert!(command.contains("{$multiply: [{$toLong: \"$timestamp\"}, 1000]}"), "{command}");
        assert!(check("T001", "x9 {\"phone\": \"151092242$i\"}").is_empty());
        assert!(check("T001", "x9 {\"timestamp\": \"00:4$i:55.328\"}").is_empty());
    }

    #[test]
    fn mixed_forms_break_the_order_of_text() {
        let found = check(
            "T001",
            "x10 {\"at\": \"2024-03-15T10:30:00Z\"}\nx10 {\"at\": \"2024-03-15 10:30:00\"}",
        );
        assert!(found[0].todo.contains("2 different forms"), "{}", found[0].todo);
        let found = check(
            "T001",
            "x10 {\"at\": \"2024-03-15T10:30:00Z\"}\nx10 {\"at\": \"2024-03-15T10:30:00.123Z\"}",
        );
        assert!(found[0].todo.contains("precision"), "{}", found[0].todo);
    }

    #[test]
    fn values_stay_out_of_the_words() {
        let found = check("T001", r#"{"_id": 1, "createTime": "2024-03-15 10:30:00"}"#);
        for part in [&found[0].what, &found[0].why, &found[0].todo] {
            assert!(!part.contains("2024"), "{part}");
        }
    }

    #[test]
    fn a_date_in_an_array_is_converted_element_by_element() {
        let found = check("T001", r#"{"_id": 1, "items": [{"soldAt": "2024-03-15T10:30:00Z"}]}"#);
        let command = &found[0].fix.as_ref().unwrap().command();
        assert!(command.contains("$map"), "{command}");
    }

    #[test]
    fn dm_09_1_a_date_in_three_fields_is_a_note() {
        let found = check("T001", r#"x9 {"start_year": 2024, "start_month": 3, "start_day": 8$i}"#);
        assert_eq!(found.len(), 0, "a day of 81");
        let found = check("T001", r#"x9 {"startYear": 2024, "startMonth": 3, "startDay": 1$i}"#);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Info));
        assert_eq!(found[0].paths.len(), 3);
        for clean in [
            r#"x9 {"year": 2024, "month": 3}"#,
            r#"x9 {"year": 2024, "month": 3, "endDay": 1}"#,
            r#"x9 {"year": 1, "month": 3, "day": 1}"#,
        ] {
            assert!(check("T001", clean).is_empty(), "{clean}");
        }
    }

    #[test]
    fn times_of_day_and_versions_are_no_dates() {
        assert!(
            check("T001", "x20 {\"openTime\": \"09:30:00\", \"version\": \"2012-10-17\"}")
                .is_empty()
        );
        assert_eq!(check("T001", "x20 {\"createdAt\": \"Tue Apr 21 15:03\"}").len(), 1);
    }

    #[test]
    fn dm_09_1_the_key_cannot_be_changed_in_place() {
        let found = check("T001", "x30 {\"_id\": \"2024-03-15T10:30:00.$iZ\"}");
        assert_eq!(found.len(), 1);
        assert!(
            found.iter().all(|f| f.fix.is_none() && f.todo.contains("an `_id` cannot be changed"))
        );
    }
}
