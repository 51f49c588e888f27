//! DM-09.6, numeric part: widths of numbers in one path. Reported as a note, because numbers compare across widths. A
//! mix of int and long is not reported (GC-52).

use docward_model::{BsonType, Collection, DataValue, Draft, Field, FieldChange, Profile, Subject};

use crate::facts::{
    growth::patterns,
    text,
    values::{amounts, classes},
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Mixed number types
    ///
    /// ## What it checks
    /// Reports, as a note once per collection, the fields that mix doubles with integers, or decimals with other
    /// numbers. Fields with ints and longs are not reported: these differ only in width. T002 reports money as
    /// doubles.
    ///
    /// ## Why it matters
    /// Numbers of different types compare and sort correctly, so queries work. But a validator that requires
    /// `int` refuses the doubles that a shell wrote. Sums of decimals and doubles have the rounding errors of
    /// doubles, and a reader in a typed language gets an unexpected type.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "height": NumberInt(180)}
    /// {"_id": 2, "height": 178.5}
    /// ```
    /// One type per field; int and long may be mixed:
    /// ```jsonl,clean
    /// {"_id": 1, "height": 180.5, "views": NumberInt(7)}
    /// {"_id": 2, "height": 178.5, "views": NumberLong(7)}
    /// ```
    ///
    /// ## How to fix
    /// If both types occur by design, let the validator accept `["int", "long", "double"]`. Otherwise write one
    /// type in all programs, and convert the stored values with `$toInt`, `$toLong` or `$toDouble`.
    ///
    /// ## When to ignore it
    /// The driver chooses the type (JavaScript writes 5 as int and 5.5 as double), and no validator requires one.
    T006, "mixed-number-types",
    level: Information,
    area: Correctness,
    clauses: ["DM-09.6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_SHARE],
    data: [],
    check: Collection(check),
}

threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.0),
    "share of numbers",
    "our default",
    "minimum share of the rarer type among the numbers"
);

/// The mixed types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mix {
    /// Integers, and doubles that are whole numbers.
    WholeDoubles,
    /// Integers and doubles with fractions.
    Fractions,
    /// Decimals and others.
    Decimals,
}

impl Mix {
    /// The types that the advice leaves.
    fn kinds(self) -> &'static [BsonType] {
        match self {
            Self::WholeDoubles => &[BsonType::Int, BsonType::Long],
            Self::Fractions => &[BsonType::Int, BsonType::Long, BsonType::Double],
            Self::Decimals => &[BsonType::Decimal],
        }
    }
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let min_share = cx.limit(&MIN_SHARE);
    let found: Vec<(&Field, Mix)> = profile
        .fields
        .iter()
        .filter_map(|field| Some((field, mix(profile, field, min_share)?)))
        .collect();
    if found.is_empty() {
        return;
    }
    let paths: Vec<&str> = found.iter().map(|(f, _)| f.path.as_str()).collect();
    let of = |mix: Mix| found.iter().filter(|(_, m)| *m == mix).count() as u64;
    let mut parts = Vec::new();
    for (mix, advice) in [
        (
            Mix::WholeDoubles,
            "doubles without a fraction, as written by the shell and by some drivers: convert them to int or long",
        ),
        (
            Mix::Fractions,
            "doubles with fractions and integers: accept int, long and double in the validator, or always write doubles",
        ),
        (Mix::Decimals, "decimals and other numbers: always write decimals"),
    ] {
        if of(mix) > 0 {
            parts.push(format!(
                "{} {advice}",
                if of(mix) == 1 {
                    "1 field has".to_owned()
                } else {
                    format!("{} fields have", text::count(of(mix)))
                }
            ));
        }
    }
    let changes = found.iter().map(|(field, mix)| FieldChange::convert(&field.path, mix.kinds()));
    let mut draft =
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!(
                "{} numbers of several types: {}",
                if found.len() == 1 { "1 field holds".to_owned() } else { format!("{} fields hold", found.len()) },
                text::paths(&paths, 5)
            ),
            "queries compare number types correctly, but a validator for one type rejects the others, and readers in typed languages can fail",
            parts.join("; "),
            profile.seen(),
        )
        .paths(found.iter().map(|(f, _)| f.path.clone()))
        .data(
            "fields",
            found
                .iter()
                .map(|(f, _)| {
                    DataValue::Map(vec![
                        ("path".to_owned(), f.path.as_str().into()),
                        ("types".to_owned(), f.types.describe().into()),
                    ])
                })
                .collect::<Vec<_>>(),
        );
    draft.changes = changes.collect();
    cx.report(draft);
}

fn mix(profile: &Profile, field: &Field, min_share: f64) -> Option<Mix> {
    // If the field also holds strings or other types, T005 reports that mix instead.
    // A writer of JSON drops the fraction of a coordinate that has none.
    if !classes::is_only(field, classes::Class::Number) || patterns::is_geometry(profile, field) {
        return None;
    }
    let doubles = field.types.of(BsonType::Double);
    let decimals = field.types.of(BsonType::Decimal);
    let integers = field.types.of(BsonType::Int) + field.types.of(BsonType::Long);
    if doubles > 0 && amounts::is_money_field(profile, field) {
        return None;
    }
    let kinds = [doubles, decimals, integers];
    if kinds.iter().filter(|&&n| n > 0).count() < 2 {
        return None;
    }
    let rarest = kinds.iter().copied().filter(|&n| n > 0).min()?;
    if (rarest as f64) < min_share * field.types.numbers() as f64 {
        return None;
    }
    Some(if decimals > 0 {
        Mix::Decimals
    } else if field.number.is_some_and(|n| n.fractional_doubles > 0 || n.not_finite > 0) {
        Mix::Fractions
    } else {
        Mix::WholeDoubles
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_09_6_coordinates_without_a_fraction_are_no_mix() {
        let places = r#"x9 {"loc": {"type": "Point", "coordinates": [1.5, 48.$i]}}
x9 {"loc": {"type": "Point", "coordinates": [2, 48.$i]}}"#;
        assert_eq!(check("T006", places), []);
    }

    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_6_widths_are_information_and_int_beside_long_is_silent() {
        let found = check(
            "T006",
            "{\"n\": NumberInt(1)}\n{\"n\": 1.5}\n{\"m\": NumberInt(2)}\n{\"m\": 2.5}",
        );
        assert_eq!(found.len(), 1, "one finding for the collection");
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.contains("2 fields hold"), "{}", found[0].what);
        assert!(check("T006", "{\"n\": NumberInt(1)}\n{\"n\": NumberLong(2)}").is_empty());
    }

    #[test]
    fn money_and_strings_belong_to_other_rules() {
        assert!(check("T006", "{\"price\": NumberInt(1)}\n{\"price\": 1.5}").is_empty());
        assert!(check("T006", "{\"n\": NumberInt(1)}\n{\"n\": 1.5}\n{\"n\": \"2\"}").is_empty());
        assert_eq!(
            check("T006", "{\"price\": NumberInt(1)}\n{\"price\": NumberDecimal(\"1.5\")}").len(),
            1
        );
    }

    #[test]
    fn long_paths_are_shortened_in_the_message_alone() {
        let nested = |value: &str| {
            format!(
                "{{\"statistics\": {{\"distribution\": {{\"percentiles\": {{\"responseTimes\": {value}}}}}}}}}"
            )
        };
        let found = check("T006", &format!("{}\n{}", nested("NumberInt(1)"), nested("1.5")));
        let whole = "statistics.distribution.percentiles.responseTimes";
        assert!(
            found[0].what.ends_with("`statistics.….percentiles.responseTimes`"),
            "{}",
            found[0].what
        );
        assert!(format!("{:?}", found[0].data).contains(whole));
    }
}
