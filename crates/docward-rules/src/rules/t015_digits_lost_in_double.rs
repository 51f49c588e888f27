//! DM-09.4, the other side: ids and codes as numbers that have lost digits already.

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
    /// Whole numbers are reported too if their digits are those of rounded doubles, and a text beside them (`id_str`)
    /// has all digits.
    ///
    /// Also reports, as a warning, ZIP codes as numbers of 3 to 5 digits (`zip`, `zipCode`): a ZIP code has 5
    /// digits, and a number has no leading zeros. Collections with several countries are not reported.
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
    data: ["doubles", "twin"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    for field in profile.fields.iter().filter(|field| meaning::is_id(field.path.leaf())) {
        let doubles = field.number.map_or(0, |number| number.inexact_doubles);
        if doubles > 0 {
            cx.report(draft(collection, profile, field, doubles));
        }
    }
    for field in profile.fields.iter().filter(|field| meaning::is_id(field.path.leaf())) {
        if let Some(twin) = twin(profile, field).filter(|twin| lost_before(field, twin)) {
            cx.report(rounded_draft(collection, profile, field, twin));
        }
    }
    for field in profile.fields.iter().filter(|field| lost_zeros(profile, field)) {
        cx.report(zip_draft(collection, profile, field));
    }
}

fn draft(collection: &Collection, profile: &Profile, field: &Field, doubles: u64) -> Draft {
    let path = &field.path;
    let twin = twin(profile, field);
    let todo = match twin {
        Some(twin) => format!(
            "store `{}` as long and take the value from `{}`, which has all digits",
            path.dotted(),
            twin.path.dotted()
        ),
        None => format!(
            "store `{}` as long, and load the values again from their source: a conversion keeps the rounded digits",
            path.dotted()
        ),
    };
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "`{path}` holds {} above 2^53, where a double rounds the last digits",
            text::plural(doubles, "double")
        ),
        "two ids can become the same number, and a lookup by the true id finds nothing",
        todo,
        profile.seen_in(field, field.types.numbers()),
    )
    .severity(Severity::Error)
    .data("doubles", doubles)
    .data("twin", twin.map_or("", |twin| twin.path.as_str()))
}

/// Whether a program has rounded whole numbers before they were stored, while the text beside them has all digits.
/// The shortest text of a double ends with zeros, and the digits of ids do not.
fn lost_before(field: &Field, twin: &Field) -> bool {
    let is_whole = classes::is_only(field, classes::Class::Number)
        && field.types.of(BsonType::Double) == 0
        && field.number.is_some_and(|number| number.max >= 2_f64.powi(53));
    let is_rounded = |digits: &String| {
        digits.parse::<f64>().is_ok_and(|n| n >= 2_f64.powi(53) && n.to_string() == *digits)
    };
    is_whole
        && field.examples.len() >= MIN_EXAMPLES
        && field.examples.iter().all(is_rounded)
        && !twin.examples.iter().any(is_rounded)
}

/// One of a hundred ids ends with the zeros of a rounded number by chance.
const MIN_EXAMPLES: usize = 3;

fn rounded_draft(collection: &Collection, profile: &Profile, field: &Field, twin: &Field) -> Draft {
    let (path, text) = (&field.path, &twin.path);
    let numbers = field.types.numbers();
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "{} in `{path}` {} digits that a double rounded; `{text}` has all digits",
            text::plural(numbers, "number"),
            text::form(numbers, "has", "have")
        ),
        "two ids can become the same number, and a lookup by the true id finds nothing",
        format!(
            "take `{}` as long from `{}`, and read JSON with a parser that keeps 64-bit integers",
            path.dotted(),
            text.dotted()
        ),
        profile.seen_in(field, numbers),
    )
    .severity(Severity::Error)
    .data("twin", text.as_str())
    .key("rounded")
}

/// ZIP codes of 5 digits, and shorter ones: 00501 is the smallest.
const SMALLEST_ZIP: f64 = 501.0;
const SMALLEST_WHOLE_ZIP: f64 = 10_000.0;
const LARGEST_ZIP: f64 = 99_999.0;
/// Fewer different codes prove nothing.
const MIN_ZIPS: f64 = 10.0;

/// Whether the widths of the numbers prove that they are ZIP codes without their leading zeros.
fn lost_zeros(profile: &Profile, field: &Field) -> bool {
    let is_zip = matches!(
        names::normalised(field.path.leaf()).as_str(),
        "zip" | "zipcode" | "zip5" | "postalzip"
    );
    let in_one_country = classes::siblings(profile, field)
        .iter()
        .all(|other| !other.name.to_lowercase().contains("country") || other.distinct.values < 1.5);
    is_zip
        && in_one_country
        && classes::is_only(field, classes::Class::Number)
        && field.distinct.values >= MIN_ZIPS
        && field.number.is_some_and(|number| {
            number.fractional_doubles == 0
                && (SMALLEST_ZIP..SMALLEST_WHOLE_ZIP).contains(&number.min)
                && (SMALLEST_WHOLE_ZIP..=LARGEST_ZIP).contains(&number.max)
        })
}

fn zip_draft(collection: &Collection, profile: &Profile, field: &Field) -> Draft {
    let path = &field.path;
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!("`{path}` holds ZIP codes as numbers, and some have lost leading zeros"),
        "a ZIP code has 5 digits: 02138 is stored as 2138, and a lookup by the code finds nothing",
        format!("store `{}` as a string of 5 digits, with zeros in front", path.dotted()),
        profile.seen_in(field, field.types.numbers()),
    )
    .severity(Severity::Warn)
    .change(FieldChange::convert(path, [BsonType::String]))
    .key("zeros")
}

/// Returns the sibling field with the same identifier as text: `id_str` for `id`.
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
        assert!(found[0].todo.contains("take the value from `id_str`"), "{}", found[0].todo);
        let alone = check("T015", "x40 {\"userId\": {\"$numberDouble\": \"25007592717275955$i\"}}");
        assert!(alone[0].todo.contains("load the values again"), "{}", alone[0].todo);
    }

    #[test]
    fn dm_09_4_zip_codes_of_several_widths_have_lost_zeros() {
        let found = check("T015", r#"x12 {"zipCode": 213$i}"#);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warn));
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
