//! DM-09.1, numeric part: seconds or milliseconds since 1970 in place of a date. A note.

use docward_model::{
    BsonType, Collection, Conversion, Draft, EpochUnit, Field, FieldShape, Profile, Safety, Subject,
};

use crate::facts::{
    grouping,
    names::meaning,
    remedies::statements,
    text,
    values::{classes, moments},
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Epoch as number
    ///
    /// ## What it checks
    /// Reports, as a note, fields whose name suggests a point in time and whose numbers are seconds or
    /// milliseconds since 1970. All values must be between 1990 and 2100, except 0 or −1 for "none". Durations
    /// and compact dates such as 20240315 are outside this range.
    ///
    /// ## Why it matters
    /// Numbers sort in order of time, so ranges work. But TTL indexes, date operators and time series need dates,
    /// and the field does not show whether 1710498600 is in seconds.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "createdAt": NumberLong("1710498600000")}
    /// ```
    /// Use a date:
    /// ```jsonl,clean
    /// {"_id": 1, "createdAt": ISODate("2024-03-15T10:30:00Z"), "playTime": 1710498600}
    /// ```
    ///
    /// ## How to fix
    /// Convert with `$toDate`, which expects milliseconds; multiply seconds by 1000 first. Change readers and
    /// writers at the same time.
    ///
    /// ## When to ignore it
    /// Another system defines the field, or the values are more precise than milliseconds.
    T012, "epoch-as-number",
    level: Information,
    area: Hygiene,
    clauses: ["DM-09.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [EARLIEST, LATEST],
    data: ["numbers", "unit"],
    check: Collection(check),
}

threshold!(
    EARLIEST,
    "earliest",
    Int(631_152_000),
    "seconds since 1970",
    "our default",
    "earliest plausible time (1990)"
);
threshold!(
    LATEST,
    "latest",
    Int(4_102_444_800),
    "seconds since 1970",
    "our default",
    "latest plausible time (2100)"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let (earliest, latest) = (cx.limit(&EARLIEST), cx.limit(&LATEST));
    let drafts = profile
        .fields
        .iter()
        .filter(|field| {
            let name = match field.path.leaf() {
                leaf if field.shape == FieldShape::Element => leaf.trim_end_matches("[]"),
                leaf => leaf,
            };
            meaning::is_time(name) || moments::mentions_time(name)
        })
        .filter_map(|field| Some((field, unit(field, earliest, latest)?)))
        .map(|(field, unit)| draft(collection, profile, field, &unit))
        .collect();
    grouping::report(cx, &collection.namespace, drafts, "hold points in time as numbers");
}

struct Unit {
    name: &'static str,
    per_second: f64,
    sentinel: bool,
}

fn unit(field: &Field, earliest: f64, latest: f64) -> Option<Unit> {
    if !classes::is_only(field, classes::Class::Number) {
        return None;
    }
    let number = field.number?;
    // 0 and −1 usually mean "no value"; then only the largest value counts.
    let sentinel = number.min == 0.0 || number.min == -1.0;
    [("seconds", 1.0), ("milliseconds", 1000.0)].into_iter().find_map(|(name, per_second)| {
        let plausible = |v: f64| v >= earliest * per_second && v <= latest * per_second;
        (plausible(number.max) && (sentinel || plausible(number.min)) && number.not_finite == 0)
            .then_some(Unit { name, per_second, sentinel })
    })
}

fn draft(collection: &Collection, profile: &Profile, field: &Field, unit: &Unit) -> Draft {
    let path = &field.path;
    let numbers = field.types.numbers();
    let none = if unit.sentinel { "; omit the field where it is 0 or -1" } else { "" };
    let draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "{} in `{path}` {} ({} since 1970)",
            text::plural(numbers, "number"),
            text::form(numbers, "is a point in time", "are points in time"),
            unit.name
        ),
        "TTL indexes, date operators and time series need dates, and a number does not show its unit",
        format!("store `{}` as Date, and change readers and writers at the same time{none}", path.dotted()),
        profile.seen_in(field, numbers),
    )
    .data("numbers", numbers)
    .data("unit", unit.name);
    let types: Vec<_> = field.types.values().into_iter().map(|(kind, _)| kind).collect();
    let conversion = Conversion::Epoch {
        unit: match unit.per_second > 1.0 {
            true => EpochUnit::Milliseconds,
            false => EpochUnit::Seconds,
        },
        zero_is_absent: unit.sentinel,
    };
    let can_convert = statements::can_be_written(profile, field);
    let step =
        statements::convert(&collection.namespace, path, types, [BsonType::Date], conversion);
    statements::advise(draft, step, can_convert.then_some(Safety::Guarded))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_1_plausible_epochs_are_information() {
        let found =
            check("T012", "{\"createdAt\": NumberLong(\"1710498600000\")}\n{\"createdAt\": 0}");
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.contains("milliseconds"), "{}", found[0].what);
        let found = check("T012", "{\"createdAt\": 1710498600}");
        assert!(found[0].what.contains("(seconds since 1970)"), "{}", found[0].what);
    }

    #[test]
    fn dm_09_1_other_names_of_moments() {
        for name in ["create_at", "last_post_at", "earningsTimestampStart", "expiration"] {
            let body = format!("{{\"{name}\": NumberLong(\"1502177267593\")}}");
            assert_eq!(check("T012", &body).len(), 1, "{name}");
        }
        assert_eq!(check("T012", "{\"expirationDates\": [1502177267, 1502177268]}").len(), 1);
    }

    #[test]
    fn compact_dates_years_and_durations_are_none() {
        assert!(
            check(
                "T012",
                "{\"orderDate\": 20240315, \"playTime\": 1710498600, \"releaseDate\": 1999}"
            )
            .is_empty()
        );
        assert!(check("T012", "{\"createdAt\": 1710498600}\n{\"createdAt\": 17}").is_empty());
    }
}
