//! DM-09.4, opposite case: ids and codes as numbers that have already lost digits.

use docward_model::{
    BsonType, Collection, Draft, Field, FieldChange, Profile, Severity, Subject, TextClass,
};

use crate::facts::{
    names::{self, meaning},
    text,
    values::classes,
};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Digits lost in double
    ///
    /// ## What it checks
    /// Reports fields with the name of an identifier that hold doubles between 2^53 (about 9 × 10^15) and 2^64. From
    /// 2^53 on, a double cannot hold every whole number: the last digits of the identifier are rounded.
    ///
    /// Also reports:
    /// - identifiers stored as longs of 18 digits or more that have the digits of a double
    ///   (`505874924095815700`): they passed through a program that knows only doubles, such as JavaScript
    /// - as a warning, ZIP codes as numbers of 3 to 5 digits (`zip`, `zipCode`), and FIPS codes of counties
    ///   (`fips`) of 4 and 5: such a code has 5 digits, and a number has no leading zeros. Collections with
    ///   several countries are not reported.
    ///
    /// ## Why it matters
    /// The stored number is not the identifier that was written. Two identifiers can become the same number, and a
    /// lookup by the true identifier finds nothing. JavaScript and JSON importers store long numbers this way.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"tweetId": {"$numberDouble": "250075927172759550"}}
    /// ```
    /// Store the identifier as a long:
    /// ```jsonl,clean
    /// {"tweetId": {"$numberLong": "250075927172759552"}}
    /// ```
    ///
    /// ## How to fix
    /// Change the writer to store a long first. Then take the true value from its source, or from a string beside the
    /// number such as `id_str`. A conversion from double to long keeps the rounded digits.
    ///
    /// ## When to ignore it
    /// The numbers are measurements, and nothing looks documents up by them.
    T015, "digits-lost-in-double",
    level: Recommended,
    area: Correctness,
    severities: [Error, Warn],
    clauses: ["DM-09.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["doubles", "rounded", "twin"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    for field in profile.fields.iter().filter(|field| meaning::is_id(field.path.leaf())) {
        let doubles = field.number.map_or(0, |number| number.inexact_doubles);
        if doubles > 0 {
            let what = format!(
                "`{}` holds {} above 2^53, where a double rounds the last digits",
                field.path,
                text::plural(doubles, "double")
            );
            cx.report(draft(collection, profile, field, what).data("doubles", doubles));
        } else if let Some((rounded, examined)) = rounded_longs(field) {
            let what = format!(
                "the longs in `{}` have lost their last digits: {} of {} examined are the text of a double, with zeros at the end",
                field.path,
                text::count(rounded),
                text::count(examined)
            );
            cx.report(draft(collection, profile, field, what).data("rounded", rounded));
        }
    }
    for field in &profile.fields {
        if let Some(code) = lost_zeros(profile, field) {
            cx.report(code_draft(collection, profile, field, code));
        }
    }
}

/// Fewer long numbers prove nothing.
const MIN_LONGS: u64 = 5;

/// The number of examined numbers that have the digits of a double, and the number of all, if nearly all have them.
fn rounded_longs(field: &Field) -> Option<(u64, u64)> {
    let number = field.number?;
    let (rounded, all) = (number.rounded_longs, number.long_ids);
    (all >= MIN_LONGS && field.distinct.values >= MIN_LONGS as f64 && rounded * 20 >= all * 19)
        .then_some((rounded, all))
}

fn draft(collection: &Collection, profile: &Profile, field: &Field, what: String) -> Draft {
    let path = &field.path;
    let twin = twin(profile, field);
    let todo = match twin {
        Some(twin) => format!(
            "take the values of `{}` from `{}`, which has all digits, and store them as longs",
            path.dotted(),
            twin.path.dotted()
        ),
        None => format!(
            "load the values of `{}` again from their source and store them as longs: a conversion keeps the rounded digits",
            path.dotted()
        ),
    };
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        what,
        "two ids can become the same number, and a lookup by the true id finds nothing",
        todo,
        profile.seen_in(field, field.types.numbers()),
    )
    .severity(Severity::Error)
    .data("twin", twin.map_or("", |twin| twin.path.as_str()))
}

/// A kind of code of 5 digits.
struct Code {
    plural: &'static str,
    /// Its names, without separators and capitals.
    names: &'static [&'static str],
    /// The smallest code: 00501 and 01001.
    smallest: f64,
    example: &'static str,
}

static CODES: [Code; 2] = [
    Code {
        plural: "ZIP codes",
        names: &["zip", "zipcode", "zip5", "postalzip"],
        smallest: 501.0,
        example: "a ZIP code has 5 digits: 02138 is stored as 2138",
    },
    Code {
        plural: "FIPS codes",
        names: &["fips", "fipscode", "countyfips", "fipscounty"],
        smallest: 1001.0,
        example: "the FIPS code of a county has 5 digits: 01001 is stored as 1001",
    },
];
const SMALLEST_WHOLE_CODE: f64 = 10_000.0;
const LARGEST_CODE: f64 = 99_999.0;
/// Fewer different codes prove nothing.
const MIN_CODES: f64 = 10.0;

/// The kind of code whose leading zeros the numbers have lost, as the number of their digits proves.
fn lost_zeros(profile: &Profile, field: &Field) -> Option<&'static Code> {
    let name = names::normalised(field.path.leaf());
    let code = CODES.iter().find(|code| code.names.contains(&name.as_str()))?;
    let in_one_country = classes::siblings(profile, field)
        .iter()
        .all(|other| !other.name.to_lowercase().contains("country") || other.distinct.values < 1.5);
    let is_lost = in_one_country
        && classes::is_only(field, classes::Class::Number)
        && field.distinct.values >= MIN_CODES
        && field.number.is_some_and(|number| {
            number.fractional_doubles == 0
                && (code.smallest..SMALLEST_WHOLE_CODE).contains(&number.min)
                && (SMALLEST_WHOLE_CODE..=LARGEST_CODE).contains(&number.max)
        });
    is_lost.then_some(code)
}

fn code_draft(collection: &Collection, profile: &Profile, field: &Field, code: &Code) -> Draft {
    let path = &field.path;
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!("`{path}` holds {} as numbers, and some have lost leading zeros", code.plural),
        format!("{}, and a lookup by the code finds nothing", code.example),
        format!("store `{}` as a string of 5 digits, with zeros in front", path.dotted()),
        profile.seen_in(field, field.types.numbers()),
    )
    .severity(Severity::Warn)
    .change(FieldChange::convert(path, [BsonType::String]))
    .key("zeros")
}

/// A sibling field that contains the same identifier as text: `id_str` next to `id`.
fn twin<'a>(profile: &'a Profile, field: &Field) -> Option<&'a Field> {
    let name = field.path.leaf();
    profile.fields.iter().find(|other| {
        let suffix = other.path.leaf().strip_prefix(name);
        let is_text = suffix.is_some_and(|suffix| {
            matches!(
                suffix.trim_start_matches('_').to_ascii_lowercase().as_str(),
                "str" | "string" | "text"
            )
        });
        other.parent == field.parent
            && is_text
            && other.text.as_ref().is_some_and(|text| {
                let digits = text.of(TextClass::Integer) + text.of(TextClass::HugeInteger);
                digits > 0 && digits + text.of(TextClass::Empty) == text.total()
            })
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_4_ids_beyond_two_to_the_53_are_an_error() {
        let tweets = "x40 {\"id\": {\"$numberDouble\": \"25007592717275955$i\"}, \"id_str\": \"2500759271727595$i\"}";
        let found = check("T015", tweets);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
        assert!(found[0].what.contains("holds 40 doubles above 2^53"), "{}", found[0].what);
        assert!(found[0].todo.contains("from `id_str`, which has all"), "{}", found[0].todo);
        let alone = check("T015", "x40 {\"userId\": {\"$numberDouble\": \"25007592717275955$i\"}}");
        assert!(alone[0].todo.contains("load the values of `userId` again"), "{}", alone[0].todo);
    }

    #[test]
    fn dm_09_4_zip_codes_of_several_widths_have_lost_zeros() {
        let found = check("T015", r#"x12 {"zipCode": 213$i}"#);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warn));
        let found = check("T015", r#"x12 {"fips": 101$i}"#);
        assert!(found[0].what.contains("FIPS codes as numbers"), "{}", found[0].what);
        for clean in [
            r#"x9 {"zip": 9021$i}"#,
            r#"x40 {"zip": "021$i"}"#,
            r#"x9 {"zip": 213$i, "country": "CH"}
x9 {"zip": 9021$i, "country": "US"}"#,
            r#"x9 {"zip": 213$i}
x9 {"zip": 90213$i}"#,
            r#"x9 {"plot": 213$i}
x9 {"plot": 9021$i}"#,
        ] {
            assert!(check("T015", clean).is_empty(), "{clean}");
        }
    }

    #[test]
    fn dm_09_4_longs_with_the_digits_of_doubles_are_an_error() {
        let ids = [
            "505874924095815681",
            "505874922023837696",
            "505874920140591104",
            "505874918198624256",
            "505874915338104833",
            "505874913551314944",
        ];
        let body = |rounded: bool| -> String {
            let shown = |id: &str| {
                let double = id.parse::<f64>().unwrap().to_string();
                if rounded { double } else { id.to_owned() }
            };
            let row = |id: &&str| {
                format!("{{\"id\": {{\"$numberLong\": \"{}\"}}, \"id_str\": \"{id}\"}}", shown(id))
            };
            ids.iter().map(row).collect::<Vec<_>>().join("\n")
        };
        let found = check("T015", &body(true));
        assert_eq!((found.len(), found[0].severity), (1, Severity::Error));
        assert!(found[0].what.contains("6 of 6 examined"), "{}", found[0].what);
        assert!(found[0].todo.contains("from `id_str`"), "{}", found[0].todo);
        assert!(check("T015", &body(false)).is_empty());
    }

    #[test]
    fn dm_09_4_exact_ids_longs_and_measurements_pass() {
        for clean in [
            "x40 {\"id\": {\"$numberLong\": \"25007592717275955$i\"}}",
            "x40 {\"id\": {\"$numberDouble\": \"9007199254740992\"}}",
            "x40 {\"mass\": {\"$numberDouble\": \"25007592717275955$i\"}}",
            "x40 {\"id\": {\"$numberDouble\": \"1e300\"}}",
        ] {
            assert!(check("T015", clean).is_empty(), "{clean}");
        }
    }
}
