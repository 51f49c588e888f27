//! DM-09.4, the other side: ids as doubles that have lost digits already.

use docward_model::{Collection, Draft, Field, Profile, Subject, TextClass};

use crate::facts::{classes, text, words};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Digits lost in double
    ///
    /// ## What it checks
    /// Reports fields with the name of an identifier that hold doubles between 2^53 (about 9 × 10^15) and 2^64. From
    /// 2^53 on, a double cannot hold every whole number: the last digits of the identifier are rounded.
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
    severities: [Error],
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
    for field in profile.fields.iter().filter(|field| words::is_id(field.path.leaf())) {
        let doubles = field.number.map_or(0, |number| number.inexact_doubles);
        if doubles > 0 {
            cx.report(draft(collection, profile, field, doubles));
        }
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
    .data("doubles", doubles)
    .data("twin", twin.map_or("", |twin| twin.path.as_str()))
}

/// A field beside this one that holds the same identifier as text: `id_str` beside `id`.
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
