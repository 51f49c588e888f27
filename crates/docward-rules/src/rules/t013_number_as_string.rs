//! DM-09.6, DM-09.4, DM-09.2: amounts and quantities that are always stored as text.

use docward_model::{
    BsonType, Collection, Draft, Field, FieldChange, Profile, Safety, Subject, TextClass, TextForms,
};

use crate::facts::{
    grouping,
    names::{self, meaning},
    remedies::statements,
    text,
    values::{amounts, classes},
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Number as string
    ///
    /// ## What it checks
    /// Reports fields with the name of an amount or a quantity (`price`, `qty`, `weight`, `age`, `population`)
    /// that hold only strings. At least 99 % of the strings must be numbers, apart from empty ones and marks for a
    /// missing value (`N/A`, `null`).
    ///
    /// Also reports fields of any name whose strings are
    /// - amounts with a currency (`$8.09M`, `1,234.50 €`)
    /// - at least 20 different numbers, most with a fraction (`42.53176`), unless the name says version, time
    ///   or label
    ///
    /// Docward does not report ids, codes and versions, or the exact text of a number that a second field holds.
    ///
    /// ## Why it matters
    /// Strings compare character by character: "100" comes before "20". Ranges match the wrong documents, and
    /// `$sum` ignores strings.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x10 {"price": "99.00"}
    /// ```
    /// Use a number:
    /// ```jsonl,clean
    /// x10 {"price": NumberDecimal("99.00"), "zip": "10115", "version": "1.2"}
    /// ```
    ///
    /// ## How to fix
    /// Convert money with `$toDecimal`, and quantities with `$toLong` or `$toDouble`. Then require the type in
    /// the validator.
    ///
    /// ## When to ignore it
    /// The text is what another system sent, and no program calculates with it.
    T013, "number-as-string",
    level: Recommended,
    area: Correctness,
    clauses: ["DM-09.6", "DM-09.4", "DM-09.2"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [SHARE, MIN_VALUES, QUANTITIES],
    data: ["amounts", "examined", "fractions", "strings", "target", "whole"],
    check: Collection(check),
}

threshold!(
    SHARE,
    "number-share",
    Float(0.99),
    "share of strings",
    "DM-09.4",
    "minimum share of numbers among the non-empty strings"
);
threshold!(
    MIN_VALUES,
    "min-values",
    Int(5),
    "strings",
    "our default",
    "minimum number of strings in the field"
);
threshold!(
    QUANTITIES,
    "quantity-words",
    Words(&[
        "quantity",
        "qty",
        "count",
        "stock",
        "weight",
        "age",
        "score",
        "rating",
        "population",
        "points",
        "votes",
        "views",
        "likes",
        "distance",
        "height",
        "width",
        "percentage",
        "latitude",
        "longitude",
        "temperature",
        "mileage",
        "lat",
        "lng",
        "lon",
        "altitude",
        "elevation",
        "runtime",
        "duration",
        "attendance",
        "depth",
        "speed",
        "damage",
    ]),
    "words",
    "our default",
    "last words of names that describe a quantity"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let (share, min, quantities) = (cx.limit(&SHARE), cx.count(&MIN_VALUES), cx.words(&QUANTITIES));
    let drafts = profile
        .fields
        .iter()
        .filter_map(|field| {
            let leaf = field.path.leaf();
            if let Some(forms) = amounts_with_currency(field) {
                let is_meant = has_number_twin(profile, field) || is_for_display(leaf);
                return (!is_meant).then(|| currency_draft(collection, profile, field, forms));
            }
            let money = amounts::is_money_field(profile, field);
            let quantity = names::words(leaf).last().is_some_and(|last| {
                quantities.iter().any(|q| q == last || *q == meaning::singular(last))
            });
            if meaning::is_code(leaf) || meaning::is_id(leaf) {
                return None;
            }
            let numbers = numbers(field, share, min)?;
            if !(money || quantity || are_measured(leaf, field, &numbers)) {
                return None;
            }
            // Only a name proves that zeros at the end mean nothing.
            let is_named = money || quantity;
            (!has_number_twin(profile, field))
                .then(|| draft(collection, profile, field, &numbers, money, is_named))
        })
        .collect();
    grouping::report(cx, &collection.namespace, drafts, "hold numbers as strings");
}

/// Fewer different fractions may be labels.
const MIN_FRACTIONS: f64 = 20.0;

/// Whether the strings look like measurements: most have a fraction, and many are distinct. Versions, times of day and
/// numbers of chapters have such names.
fn are_measured(name: &str, field: &Field, numbers: &Numbers) -> bool {
    let labels = [
        "version",
        "ver",
        "release",
        "build",
        "section",
        "chapter",
        "paragraph",
        "clause",
        "time",
        "date",
        "hour",
        "no",
        "nr",
        "number",
        "key",
        "label",
        "name",
        "title",
        "path",
        "ip",
        "address",
        "grade",
        "class",
        "oid",
        "prefix",
    ];
    let is_label = names::words(name).iter().any(|word| labels.contains(&word.as_str()));
    !is_label
        && !has_significant_zeros(field)
        && numbers.fractions * 10 >= numbers.strings * 9
        && field.distinct.values >= MIN_FRACTIONS
}

/// Whether zeros at the end distinguish values, as in the identifiers `6.12` and `6.120`.
fn has_significant_zeros(field: &Field) -> bool {
    let decimals = field.examples.iter().filter_map(|text| text.trim_matches('"').split_once('.'));
    let decimals: Vec<&str> = decimals.map(|(_, decimals)| decimals).collect();
    let is_uneven = decimals.iter().any(|one| one.len() != decimals[0].len());
    is_uneven && decimals.iter().any(|one| one.len() > 1 && one.ends_with('0'))
}

struct Numbers {
    /// Strings that stand for a missing value.
    marks: u64,
    strings: u64,
    whole: u64,
    fractions: u64,
}

fn numbers(field: &Field, share: f64, min: u64) -> Option<Numbers> {
    if !classes::is_only(field, classes::Class::Text) {
        return None;
    }
    let found = field.text.as_ref()?;
    let strings = found.total() - found.of(TextClass::Empty) - found.placeholders;
    let (whole, fractions) = (found.of(TextClass::Integer), found.of(TextClass::Decimal));
    (strings >= min.max(1) && (whole + fractions) as f64 >= share * strings as f64)
        .then_some(Numbers { strings, whole, fractions, marks: found.placeholders })
}

/// The forms of a field whose strings are amounts with a currency.
fn amounts_with_currency(field: &Field) -> Option<TextForms> {
    let forms =
        field.text.as_ref().filter(|_| classes::is_only(field, classes::Class::Text))?.forms;
    (forms.examined >= MIN_AMOUNTS && forms.money * 10 >= forms.examined * 9).then_some(forms)
}

/// Fewer different amounts may be labels.
const MIN_AMOUNTS: u64 = 5;

/// Whether a name shows that people, and not programs, read the text.
fn is_for_display(name: &str) -> bool {
    let shown = ["display", "displayed", "formatted", "label", "text", "string"];
    names::words(name).iter().any(|word| shown.contains(&word.as_str()))
}

fn currency_draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    forms: TextForms,
) -> Draft {
    let path = &field.path;
    let strings = field.types.of(BsonType::String);
    Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "`{path}` holds amounts with a currency as text ({} of {} examined strings)",
            text::count(forms.money),
            text::count(forms.examined)
        ),
        "MongoDB compares text byte by byte, so ranges and sorting are wrong, and sums ignore strings",
        format!(
            "store the amount of `{}` as Decimal128 and its currency in a second field; the conversion has to remove signs and separators, and to multiply by factors such as M",
            path.dotted()
        ),
        profile.seen_in(field, strings),
    )
    .data("strings", strings)
    .data("examined", forms.examined)
    .data("amounts", forms.money)
    .data("target", "decimal")
    .clauses(&["DM-09.6", "DM-09.2"])
    .change(FieldChange::convert(path, [BsonType::Decimal]))
    .examples(field.examples.iter().cloned())
}

/// Whether a number of the same name accompanies the text: the text is then its exact form.
fn has_number_twin(profile: &Profile, field: &Field) -> bool {
    amounts::twins(profile, field).iter().any(|twin| classes::is_only(twin, classes::Class::Number))
}

fn draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    numbers: &Numbers,
    money: bool,
    is_named: bool,
) -> Draft {
    let path = &field.path;
    let (target, name) = match (money, numbers.fractions) {
        (true, _) => ("decimal", "Decimal128"),
        (false, 0) => ("long", "Long"),
        (false, _) => ("double", "double"),
    };
    let converting = numbers.whole + numbers.fractions;
    let rest = numbers.strings - converting;
    let marks = match numbers.marks {
        0 => String::new(),
        n => format!(
            "; decide first about {} that {} for a missing value, such as `-`",
            text::plural(n, "string"),
            text::form(n, "stands", "stand")
        ),
    };
    let draft = Draft::new(
        Subject::Field(collection.namespace.clone(), path.clone()),
        format!(
            "{} in `{path}` {}",
            text::part(converting, numbers.strings, "string"),
            text::form(converting, "is a number", "are numbers")
        ),
        "MongoDB compares text byte by byte, so ranges and sorting are wrong, and sums ignore strings",
        format!(
            "store `{}` as {name}; {}{marks}{}",
            path.dotted(),
            if rest == 0 {
                "all numbers can be converted".to_owned()
            } else {
                format!(
                    "{} can be converted, {} cannot",
                    text::count(converting),
                    text::count(rest)
                )
            },
            statements::empty_to_null(field)
        ),
        profile.seen_in(field, converting),
    )
    .data("strings", numbers.strings)
    .data("whole", numbers.whole)
    .data("fractions", numbers.fractions)
    .data("target", target)
    .clauses(&["DM-09.6"])
    .examples(field.examples.iter().cloned());
    // Strings that cannot be converted would remain among the numbers.
    let can_convert =
        is_named && rest == 0 && numbers.marks == 0 && statements::can_be_written(profile, field);
    let becomes: Vec<BsonType> = BsonType::from_name(target).into_iter().collect();
    let step = statements::convert(
        &collection.namespace,
        path,
        [BsonType::String],
        becomes,
        statements::cast(field),
    );
    statements::advise(draft, step, can_convert.then_some(Safety::Guarded))
}

#[cfg(test)]
mod tests {
    #[test]
    fn dm_09_6_many_fractions_are_measurements_whatever_their_name() {
        let many = |name: &str| check("T013", &format!("x30 {{\"{name}\": \"0.9$i\"}}")).len();
        assert_eq!((many("bv"), many("lat")), (1, 1));
        assert_eq!((many("apiVersion"), many("startTime"), many("section")), (0, 0, 0));
        assert_eq!(check("T013", "x30 {\"bv\": \"0.9\"}"), []);
        assert_eq!(check("T013", "x30 {\"year\": \"1999\"}"), [], "a label");
    }

    use crate::testing::check;

    #[test]
    fn dm_09_6_a_price_as_text_throughout_is_reported() {
        let found = check("T013", "x10 {\"price\": \"99.00\", \"qty\": \"3\"}");
        assert_eq!(found.len(), 2);
        assert!(found.iter().any(|f| f.todo.contains("Decimal128")));
        assert!(found.iter().any(|f| f.todo.contains("Long")));
    }

    #[test]
    fn dm_09_6_coordinates_and_measurements_as_text_are_reported() {
        let found =
            check("T013", "x30 {\"lat\": \"42.5$i\", \"lng\": \"1.5$i\", \"bv\": \"0.9$i\"}");
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(check("T013", "x30 {\"bv\": \"0.9\", \"osVersion\": \"9.$i\"}").is_empty());
    }

    #[test]
    fn dm_09_6_a_conversion_leaves_no_strings_behind() {
        let found = check("T013", "x20 {\"price\": \"99.00\"}\n{\"price\": \"\"}");
        assert!(found[0].todo.contains("; 1 empty string becomes null"), "{}", found[0].todo);
        let command = found[0].fix.as_ref().expect("a fix").command();
        assert!(
            command.contains(r#"{$cond: [{$eq: ["$price", ""]}, null, "$price"]}"#),
            "{command}"
        );
        let mixed = "x200 {\"price\": \"99.00\"}\n{\"price\": \"on request\"}";
        assert_eq!(check("T013", mixed)[0].fix, None);
    }

    #[test]
    fn codes_ids_versions_and_words_are_left_alone() {
        for name in ["zip", "phone", "version", "orderId", "year", "name", "countryCode", "size"] {
            assert!(check("T013", &format!("x20 {{\"{name}\": \"42\"}}")).is_empty(), "{name}");
        }
        assert!(check("T013", "x20 {\"price\": \"on request\"}").is_empty());
    }

    #[test]
    fn dm_09_2_dm_09_6_amounts_with_a_currency_are_reported_under_any_name() {
        for body in [
            r#"x40 {"worldwideGross": "$$i.09M"}"#,
            r#"x40 {"due": "1,2$i.50 €"}"#,
            r#"x40 {"cost": "USD $i"}"#,
        ] {
            let found = check("T013", body);
            assert_eq!(found.len(), 1, "{body}");
            assert!(found[0].what.contains("amounts with a currency"), "{}", found[0].what);
        }
        for body in [
            r#"x40 {"due": "$$i off the next order"}"#,
            r#"x40 {"due": "$"}"#,
            r#"x40 {"dueText": "$$i.09", "due": NumberDecimal("$i.09")}"#,
            r#"x40 {"formattedPrice": "$$i.09"}"#,
        ] {
            assert!(check("T013", body).is_empty(), "{body}");
        }
    }

    #[test]
    fn dm_09_6_marks_for_a_missing_value_are_no_numbers_and_hide_none() {
        let mixed = r#"x40 {"price": "$i.10"}
x40 {"price": "N/A"}"#;
        assert_eq!(check("T013", mixed).len(), 1);
        assert!(check("T013", r#"x40 {"price": "N/A"}"#).is_empty());
        assert!(
            check(
                "T013",
                r#"x40 {"price": "$i.10"}
x40 {"price": "call"}"#
            )
            .is_empty()
        );
    }

    #[test]
    fn the_exact_text_beside_a_double_is_legitimate() {
        assert!(check("T013", "x20 {\"priceText\": \"42.10\", \"price\": 42.1}").is_empty());
    }
}
