//! DM-09.2: money belongs in decimals, not in doubles. Longs in minor units are correct, and so are doubles with an
//! exact copy.

use docward_model::{
    BsonType, Collection, Conversion, Draft, Field, NumberProfile, Profile, Safety, Severity,
    Subject,
};

use crate::facts::values::amounts;
use crate::facts::{grouping, remedies::statements, text, values::classes};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Money as double
    ///
    /// ## What it checks
    /// Reports fields whose name suggests money (`price`, `totalAmount`, `balance`, `price.value`, …) and whose
    /// values are doubles. Whole numbers in the same field belong to the finding. At least 1 % of the numbers
    /// must be doubles.
    ///
    /// - It is a note if no double has a fraction.
    /// - It is a note without a command if most values have more than 4 decimals: they are results of calculations,
    ///   or a person must first decide on the scale.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - values with more than 4 decimals under less specific names (`fuelCost`), which are rates or measurements
    /// - quantities with a unit (`{amount: 1.5, unit: "grams"}`)
    /// - exchange rates (`rates.USD`) and shares (`discount` and `tax` between 0 and 1)
    /// - doubles with an exact copy in a second field (`priceDecimal`, `price_cents`)
    ///
    /// ## Why it matters
    /// A double cannot represent most decimal fractions: 0.1 + 0.2 is 0.30000000000000004. Sums become wrong by
    /// cents, and reconciliation fails after enough additions.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// {"_id": 1, "price": 199.99}
    /// {"_id": 2, "price": 5}
    /// ```
    /// A price with rounding errors is reported as well:
    /// ```jsonl,fires
    /// {"_id": 1, "price": 12.990000000000002}
    /// {"_id": 2, "price": 7.489999771118164}
    /// ```
    /// Use a decimal, or whole minor units in a long:
    /// ```jsonl,clean
    /// {"_id": 1, "price": NumberDecimal("199.99"), "feeCents": NumberLong(19999), "taxRate": 0.19}
    /// ```
    ///
    /// ## How to fix
    /// Convert every number of the field with `$toDecimal`, including whole numbers, and round to the scale of
    /// the currency. First count the values that this scale cannot represent.
    ///
    /// ## When to ignore it
    /// The field is an approximation on purpose (an estimate, a chart point), or an exact value is stored under
    /// another name.
    T002, "money-as-double",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DM-09.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MIN_SHARE, SCALE],
    data: ["doubles", "examined", "fractional", "notFinite", "numbers", "unrounded"],
    check: Collection(check),
}

threshold!(
    MIN_SHARE,
    "min-double-share",
    Float(0.01),
    "share of numbers",
    "our default",
    "minimum share of doubles among the numbers"
);
threshold!(
    SCALE,
    "scale",
    Int(4),
    "decimals",
    "DM-09.2",
    "number of decimals to which the proposed conversion rounds"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let (min_share, scale) = (cx.limit(&MIN_SHARE), cx.count(&SCALE));
    let drafts = profile
        .fields
        .iter()
        .filter(|field| amounts::is_money_field(profile, field))
        .filter(|field| {
            let doubles = field.types.of(BsonType::Double);
            doubles > 0 && doubles as f64 >= min_share * field.types.numbers() as f64
        })
        .filter(|field| is_amount(field) && !has_exact_twin(profile, field))
        .filter(|field| !is_finer_than_money(field) || amounts::is_strong(profile, field))
        .map(|field| draft(collection, profile, field, scale))
        .collect();
    grouping::report(cx, &collection.namespace, drafts, "hold money as doubles");
}

/// Whether the numbers can be amounts.
fn is_amount(field: &Field) -> bool {
    let number = field.number.unwrap_or_default();
    let leaf = field.path.leaf();
    if amounts::may_be_a_rate(leaf) && number.min >= 0.0 {
        let fraction_of_one = number.max <= 1.0;
        let percent = number.max <= 100.0 && number.fractional_doubles == 0;
        if fraction_of_one || percent {
            return false;
        }
    }
    // A bare `total` may count anything: only short decimals show that it is money.
    !amounts::is_vague(leaf)
        || (number.fractional_doubles > 0
            && number.short_decimals as f64 >= 0.9 * number.examined_doubles as f64)
}

/// Whether most doubles have more than 4 decimals: rates, telemetry and results of calculations do, amounts of money do
/// not.
fn is_finer_than_money(field: &Field) -> bool {
    let number = field.number.unwrap_or_default();
    2 * unrounded(field) > number.examined_doubles
}

/// Fewer doubles do not show the decimals of the others.
const MIN_EXAMINED: u64 = 10;

/// The number of examined doubles with more than 4 decimals. NaN has no short text; it is counted separately, in
/// proportion to the sample.
fn unrounded(field: &Field) -> u64 {
    let NumberProfile { short_decimals, examined_doubles, not_finite, .. } =
        field.number.unwrap_or_default();
    let doubles = field.types.of(BsonType::Double).max(1);
    let odd = (examined_doubles as f64 * not_finite as f64 / doubles as f64).round() as u64;
    examined_doubles.saturating_sub(short_decimals + odd)
}

/// Whether a decimal, a number as text, or whole minor units accompany the double. The double is then a copy for
/// computations, which MongoDB's own guide to money allows.
fn has_exact_twin(profile: &Profile, field: &Field) -> bool {
    amounts::twins(profile, field).iter().any(|twin| {
        let whole = twin.types.of(BsonType::Int) + twin.types.of(BsonType::Long);
        let digits = twin.text.as_ref().map_or(0, |t| t.count(|c| c.is_number()));
        2 * (twin.types.of(BsonType::Decimal) + whole + digits) > twin.types.non_null()
    })
}

fn draft(collection: &Collection, profile: &Profile, field: &Field, scale: u64) -> Draft {
    let doubles = field.types.of(BsonType::Double);
    let numbers = field.types.numbers();
    let NumberProfile { fractional_doubles, examined_doubles, not_finite, .. } =
        field.number.unwrap_or_default();
    let path = &field.path;
    let ns = &collection.namespace;
    let unrounded = unrounded(field);
    let finer = is_finer_than_money(field);
    let too_few = examined_doubles < doubles.min(MIN_EXAMINED);
    let mut todo = if fractional_doubles == 0 {
        format!(
            "store `{}` as Decimal128, or as Long in minor units; no value has a fraction, so the conversion rounds nothing",
            path.dotted()
        )
    } else if finer {
        format!(
            "{} of {} examined {} more than 4 decimals: if `{}` is an amount, choose a scale and store it as Decimal128; leave rates and results of calculations as they are",
            text::count(unrounded),
            text::plural(examined_doubles, "double"),
            text::form(unrounded, "has", "have"),
            path.dotted()
        )
    } else if too_few {
        format!(
            "store `{}` as Decimal128; look at the decimals first, because Docward examined {} of {} only",
            path.dotted(),
            text::count(examined_doubles),
            text::plural(doubles, "double")
        )
    } else if unrounded == 0 {
        format!(
            "store `{}` as Decimal128; none of {} examined has more than 4 decimals, so the conversion rounds nothing",
            path.dotted(),
            text::plural(examined_doubles, "double")
        )
    } else {
        format!(
            "store `{}` as Decimal128; {} examined {} rounding",
            path.dotted(),
            text::part(unrounded, examined_doubles, "double"),
            text::form(
                unrounded,
                "has more than 4 decimals and needs",
                "have more than 4 decimals and need"
            )
        )
    };
    if not_finite > 0 {
        todo.push_str(&format!(
            "; {} NaN or infinite and {} a manual decision first",
            text::verb(not_finite, "is", "are"),
            text::form(not_finite, "needs", "need"),
        ));
    }
    // Amounts without a fraction may also become minor units.
    let kinds = if fractional_doubles == 0 {
        vec![BsonType::Decimal, BsonType::Long]
    } else {
        vec![BsonType::Decimal]
    };
    // Whole numbers too: a validator for the target types refuses every other number.
    let mut converted = vec![BsonType::Int, BsonType::Long, BsonType::Double];
    converted.retain(|number| !kinds.contains(number));
    let mut draft = Draft::new(
        Subject::Field(ns.clone(), path.clone()),
        format!(
            "{} in `{path}` {}",
            text::part(doubles, numbers, "amount"),
            text::form(doubles, "is a double", "are doubles")
        ),
        "a double cannot represent most decimal fractions exactly, so sums are off by cents",
        todo,
        profile.seen_in(field, doubles),
    )
    .data("doubles", doubles)
    .data("numbers", numbers)
    .data("fractional", fractional_doubles)
    .data("examined", examined_doubles)
    .data("unrounded", unrounded)
    .data("notFinite", not_finite);
    // Whole numbers as doubles come from shells and drivers without integers (GC-52). Numbers with more decimals than
    // money come from calculations.
    if (fractional_doubles == 0 && not_finite == 0) || finer {
        draft = draft.severity(Severity::Info);
    }
    // Long fractions under a plain money name are amounts with noise (a float widened to a double). They are still
    // amounts, but a person must choose the scale for rounding.
    let can_convert = !finer
        && (!too_few || fractional_doubles == 0)
        && path.as_str() != "_id"
        && statements::can_be_written(profile, field);
    let safety = if not_finite > 0 { Safety::Manual } else { Safety::Guarded };
    let step = statements::convert(ns, path, converted, kinds, Conversion::Rounded { scale });
    statements::advise(draft, step, can_convert.then_some(safety))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_09_2_a_double_is_reported_and_a_decimal_is_not() {
        let found = check("T002", r#"{"_id": 1, "amount": 199.99}"#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(check("T002", r#"{"_id": 1, "amount": NumberDecimal("199.99")}"#).is_empty());
        let found = check("T002", "{\"amount\": 199.5}\n{\"amount\": 199}");
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("1 of 2"), "{}", found[0].what);
    }

    #[test]
    fn dm_09_2_an_amount_with_a_unit_is_a_quantity() {
        assert!(check("T002", r#"{"protein": {"amount": 1.5, "unit": "grams"}}"#).is_empty());
        assert_eq!(check("T002", r#"{"fee": {"amount": 1.5, "unit": "EUR"}}"#).len(), 1);
        assert_eq!(check("T002", r#"{"price": 1.5, "unit": "kg"}"#).len(), 1);
    }

    #[test]
    fn dm_09_2_names_of_election_reports_say_money() {
        for name in ["Total_Receipts", "Debts_Owed_By", "Cash_on_Hand", "Contributions"] {
            assert_eq!(check("T002", &format!("{{\"{name}\": 199.25}}")).len(), 1, "{name}");
        }
    }

    #[test]
    fn scaled_longs_and_exact_twins_are_legitimate() {
        assert!(check("T002", r#"{"amount": NumberLong(19999), "scale": 2}"#).is_empty());
        assert!(check("T002", r#"{"amount": 199.99, "amountText": "199.99"}"#).is_empty());
        assert!(
            check("T002", r#"{"amount": 199.99, "amountDecimal": NumberDecimal("199.99")}"#)
                .is_empty()
        );
        assert!(check("T002", r#"{"amount": 199.99, "amountCents": 19999}"#).is_empty());
        assert_eq!(
            check("T002", r#"{"amount": 199.99, "amountPaid": NumberDecimal("1.5")}"#).len(),
            1
        );
    }

    #[test]
    fn shares_and_coordinates_are_no_money() {
        assert!(check("T002", "{\"discount\": 0.25, \"tax\": 0.19}").is_empty());
        assert!(
            check("T002", "{\"location\": [13.41, 52.52], \"whiteBalance\": 5500.5}").is_empty()
        );
        assert_eq!(check("T002", "{\"discount\": 12.25}").len(), 1);
    }

    #[test]
    fn dm_09_2_paid_due_and_per_unit_are_amounts() {
        for name in
            ["amountPaid", "amount_paid", "totalDue", "balanceDue", "cost_per_unit", "price1"]
        {
            let body = format!("{{\"{name}\": 12.25}}\n{{\"{name}\": 19.99}}");
            assert_eq!(check("T002", &body).len(), 1, "{name}");
        }
        assert_eq!(check("T002", "{\"priceHistory\": [12.25, 19.99]}").len(), 1);
    }

    #[test]
    fn an_amount_inside_a_price_is_money() {
        assert_eq!(check("T002", r#"{"price": {"value": 12.5, "currency": "EUR"}}"#).len(), 1);
        assert_eq!(check("T002", r#"{"prices": [12.5, 13.75]}"#).len(), 1);
        assert!(check("T002", r#"{"sensor": {"value": 12.5}}"#).is_empty());
    }

    #[test]
    fn not_a_number_needs_a_decision() {
        let found = check("T002", "{\"price\": 12.5}\n{\"price\": {\"$numberDouble\": \"NaN\"}}");
        assert!(found[0].todo.contains("1 is NaN"), "{}", found[0].todo);
    }

    #[test]
    fn conversions_inside_arrays_go_element_by_element() {
        let found = check("T002", r#"{"items": [{"price": 9.5}]}"#);
        let command = &found[0].fix.as_ref().unwrap().command();
        assert!(command.contains("$map") && command.contains("$mergeObjects"), "{command}");
        let every_number = "{\"items.price\": {$type: [\"int\", \"long\", \"double\"]}}";
        assert!(command.contains(every_number), "{command}");
    }

    #[test]
    fn dm_09_2_long_fractions_are_rates_not_amounts() {
        let long = |name: &str| {
            format!("{{\"{name}\": 0.123456789}}\n{{\"{name}\": 17.98765432}}\n{{\"{name}\": 1.5}}")
        };
        assert!(check("T002", &long("fuelCost")).is_empty());
        let found = check("T002", &long("price"));
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].fix.is_none(), "the scale is for a person to say");
        assert!(check("T002", r#"{"rates": {"USD": 1.08, "EUR": 1.0, "CNY": 7.85}}"#).is_empty());
        assert!(!check("T002", r#"{"prices": {"USD": 1.08, "EUR": 1.25}}"#).is_empty());
    }
}
