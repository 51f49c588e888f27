//! DM-09.2: money belongs in decimals, not in doubles.

use docward_model::{BsonType, Collection, Draft, Safety, Severity, Subject};

use crate::facts::{text, words};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Money as double
    ///
    /// ## What it checks
    /// Reports fields whose name says money (`price`, `totalAmount`, `balance`, …) and whose values
    /// are doubles. Whole numbers in a field that also holds doubles are part of the same finding.
    ///
    /// ## Why it matters
    /// A double cannot hold most decimal fractions: 0.1 + 0.2 is 0.30000000000000004. Sums drift by
    /// cents and reconciliation fails after enough additions.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "price": 199.99}
    /// {"_id": 2, "price": 5}
    /// ```
    /// Use a decimal, or whole minor units in a long:
    /// ```jsonl,clean
    /// {"_id": 1, "price": NumberDecimal("199.99"), "priceCents": NumberLong(19999)}
    /// ```
    ///
    /// ## How to fix
    /// Convert with `$toDecimal` after rounding to the scale of the currency; count the values that
    /// are not representable at that scale first.
    ///
    /// ## When to ignore it
    /// The field is an approximation by intent (an estimate, a chart point), or an exact twin of it
    /// is stored beside it.
    T002, "money-as-double",
    level: Recommended,
    clauses: ["DM-09.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_SHARE],
    check: Collection(check),
}

threshold!(
    MIN_SHARE,
    "min-double-share",
    Float(0.01),
    "share of numbers",
    "no figure in source",
    "share of the numbers that must be doubles before the field is reported"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    for field in &profile.fields {
        let doubles = field.types.of(BsonType::Double);
        let numbers = field.types.numbers();
        if doubles == 0 || !words::is_money(field.path.leaf()) {
            continue;
        }
        if (doubles as f64) < cx.limit(&MIN_SHARE) * numbers as f64 {
            continue;
        }
        // An exact twin (`amountDecimal`, `amountText`) beside the double makes it a cache of the
        // exact value, which MongoDB's own advice allows.
        let twin = field.parent.map_or_else(
            || profile.top_level().collect::<Vec<_>>(),
            |at| profile.children(&profile.fields[at]).collect(),
        );
        let stem = crate::facts::names::normalised(field.path.leaf());
        if twin.iter().any(|f| {
            f.path != field.path
                && f.types.of(BsonType::Decimal) > 0
                && crate::facts::names::normalised(&f.name).starts_with(&stem)
        }) {
            continue;
        }
        let number = field.number.unwrap_or_default();
        let risky = number.examined_doubles - number.short_decimals.min(number.examined_doubles);
        let ns = &collection.namespace;
        let path = field.path.dotted();
        cx.report(
            Draft::new(
                Subject::Field(ns.clone(), field.path.clone()),
                format!(
                    "{} of {} amounts in `{}` are doubles",
                    text::count(doubles),
                    text::count(numbers),
                    field.path
                ),
                "doubles cannot hold most decimal fractions, so sums drift by cents",
                format!(
                    "store `{path}` as Decimal128; {} of {} doubles looked at need rounding because they have more than 4 decimals",
                    text::count(risky),
                    text::count(number.examined_doubles)
                ),
                profile.seen(),
            )
            .data("doubles", doubles)
            .data("numbers", numbers)
            .data("unrounded", risky)
            .fix(
                Some("RF-10"),
                Safety::Guarded,
                format!(
                    "db.getSiblingDB(\"{}\").getCollection(\"{}\").updateMany({{\"{path}\": {{$type: \"double\"}}}}, [{{$set: {{\"{path}\": {{$round: [{{$toDecimal: \"${path}\"}}, 2]}}}}}}])",
                    ns.database, ns.collection
                ),
            )
            .severity(Severity::Warn),
        );
    }
}
