//! DM-09.6: numbers and dates that represent a missing value.

use docward_model::{BsonType, Collection, Draft, Field, Profile, Severity, Subject};

use crate::facts::{
    text,
    values::classes::{self, Class},
};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Placeholder value
    ///
    /// ## What it checks
    /// Reports, as a note, fields with values that stand for a missing one:
    /// - `NaN` among the numbers of a field
    /// - dates of the year 9999, or of the year 1, among other dates
    /// - strings such as `N/A`, `\N` and `null` among more than 20 different other strings
    ///
    /// T001, T005 and T013 judge such strings in fields of dates and numbers.
    ///
    /// ## Why it matters
    /// Ranges, minima, maxima and averages include such values. `NaN` makes every sum and average `NaN`. A date
    /// of the year 9999 is the newest in each sort, and a TTL index never removes its document.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "weight": 70.5}
    /// {"_id": 2, "weight": {"$numberDouble": "NaN"}}
    /// ```
    /// Omit the field:
    /// ```jsonl,clean
    /// {"_id": 1, "weight": 70.5}
    /// {"_id": 2}
    /// ```
    ///
    /// ## How to fix
    /// Remove the field where the value is missing, and query with `$exists`.
    ///
    /// ## When to ignore it
    /// All programs know the value, and every query excludes it.
    T016, "placeholder-value",
    level: Recommended,
    area: Correctness,
    severities: [Info],
    clauses: ["DM-09.6"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [],
    data: ["marks", "notFinite"],
    check: Collection(check),
}

/// 9999-01-01, in milliseconds.
const LAST_YEAR: i64 = 253_370_764_800_000;
/// 0002-01-01: the smallest date of some languages is earlier.
const SECOND_YEAR: i64 = -62_104_060_800_000;
/// `none` among a few strings is one of the choices.
const CHOICES: f64 = 20.0;

/// `NA` and `None` stand for a missing value if at least one of this number of strings is such a word.
const WORDS_ONE_IN: u64 = 20;

/// The number of strings that stand for a missing value, in a field of other texts.
fn marks(field: &Field) -> Option<u64> {
    let text = field.text.as_ref().filter(|_| classes::is_only(field, Class::Text))?;
    let others = text.total() - text.placeholders;
    let judged = text.count(|c| c.is_date() || c.is_number());
    // A few `NA` may be Namibia, and a `None` a name.
    let words = text.placeholder_words;
    let marks = match words * WORDS_ONE_IN >= text.total() {
        true => text.placeholders,
        false => text.placeholders - words,
    };
    (marks > 0 && field.distinct.values > CHOICES && 2 * judged < others).then_some(marks)
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    for field in &profile.fields {
        let not_finite = field.number.map_or(0, |number| number.not_finite);
        let draft = if not_finite > 0 && not_finite < field.types.numbers() {
            draft(
                collection,
                profile,
                field,
                not_finite,
                format!(
                    "{} of `{}` {} NaN or infinite",
                    text::part(not_finite, field.types.numbers(), "number"),
                    field.path,
                    text::form(not_finite, "is", "are")
                ),
                "sums and averages over them are NaN or infinite, too",
            )
            .data("notFinite", not_finite)
        } else if field.dates.is_some_and(|(first, last)| first < LAST_YEAR && last >= LAST_YEAR) {
            draft(
                collection,
                profile,
                field,
                1,
                format!("`{}` holds dates of the year 9999 among others", field.path),
                "such a date is the newest in each sort, and ranges and TTL indexes include it",
            )
        } else if field.dates.is_some_and(|(first, last)| first < SECOND_YEAR && last > SECOND_YEAR)
        {
            draft(
                collection,
                profile,
                field,
                1,
                format!("`{}` holds dates of the year 1 among others", field.path),
                "such a date is the oldest in each sort, and a TTL index removes its document at once",
            )
        } else if let Some(marks) = marks(field) {
            draft(
                collection,
                profile,
                field,
                marks,
                format!(
                    "{} in `{}` {} for a missing value, such as `N/A` or `null`",
                    text::part(marks, field.types.of(BsonType::String), "string"),
                    field.path,
                    text::form(marks, "stands", "stand")
                ),
                "such a string is a value to each query, count and sort",
            )
            .data("marks", marks)
        } else {
            continue;
        };
        cx.report(draft);
    }
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    count: u64,
    what: String,
    why: &'static str,
) -> Draft {
    Draft::new(
        Subject::Field(collection.namespace.clone(), field.path.clone()),
        what,
        why,
        format!("remove `{}` where there is no value, and query with $exists", field.path.dotted()),
        profile.seen_in(field, count),
    )
    .severity(Severity::Info)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_09_6_nan_and_the_year_9999_stand_for_nothing() {
        for body in [
            r#"x20 {"weight": 70.$i}
x20 {"weight": {"$numberDouble": "NaN"}}"#,
            r#"x20 {"until": ISODate("2024-03-15T10:30:00Z")}
x20 {"until": ISODate("9999-12-31T00:00:00Z")}"#,
            r#"x20 {"until": ISODate("2024-03-15T10:30:00Z")}
x20 {"until": ISODate("0001-01-01T00:00:00Z")}"#,
            r#"x30 {"street": "Road $i"}
x4 {"street": "N/A"}"#,
        ] {
            assert_eq!(check("T016", body).len(), 1, "{body}");
        }
        for body in [
            r#"x20 {"weight": {"$numberDouble": "NaN"}}"#,
            r#"x20 {"weight": 70.$i}"#,
            r#"x20 {"until": ISODate("9999-12-31T00:00:00Z")}"#,
            r#"x20 {"until": ISODate("2099-12-31T00:00:00Z")}"#,
            r#"x30 {"size": "large"}
x4 {"size": "none"}"#,
            r#"x90 {"country": "C$i"}
x2 {"country": "NA"}"#,
            r#"x30 {"price": "1.$i"}
x4 {"price": "N/A"}"#,
        ] {
            assert!(check("T016", body).is_empty(), "{body}");
        }
    }
}
