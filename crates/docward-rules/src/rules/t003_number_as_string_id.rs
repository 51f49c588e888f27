//! DM-09.4: large numeric ids belong in a long. Digits that are codes stay strings.

use docward_model::{
    BsonType, Collection, Draft, Field, Level, Namespace, Profile, Safety, Subject,
};

use crate::facts::thresholds::t003::{MIN_VALUES, SHARE};
use crate::facts::values::ids::{self, Digits};
use crate::facts::{grouping, remedies::statements, text, values::classes};
use crate::{Cx, declare_rule};

declare_rule! {
    /// # Number as string id
    ///
    /// ## What it checks
    /// Reports fields with the name of an id (`orderId`, `order_no`, `_id`) whose strings are whole numbers. At
    /// least 99 % of the non-empty strings must contain only digits and fit a 64-bit integer. With leading zeros
    /// it is a note, because a number would lose them.
    ///
    /// Ids with 17 digits or more are a note, because JavaScript programs would round them.
    ///
    /// Codes (`zip`, `phone`, `isbn`, card and tax numbers) and ids with 20 or more digits are not reported.
    ///
    /// ## Why it matters
    /// As text, "9" comes after "10". Ranges and sorting are wrong once the number of digits changes. A long
    /// takes 8 bytes in the document and in every index; a string of 14 digits takes 19.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// x20 {"orderId": "2024031500000$i"}
    /// ```
    /// Use a long:
    /// ```jsonl,clean
    /// x20 {"orderId": NumberLong("2024031500000$i"), "zip": "10115", "phoneId": "4930123456$i"}
    /// ```
    ///
    /// ## How to fix
    /// Convert with `$toLong`, together with every field that refers to the id. An `_id` cannot be changed in
    /// place. Write new documents, and keep the old value in a unique field until all references are changed.
    ///
    /// ## When to ignore it
    /// The id belongs to another system and is passed on unchanged. Or JavaScript clients read it: they represent
    /// whole numbers exactly only up to 2^53.
    T003, "number-as-string-id",
    level: Recommended,
    area: Correctness,
    severities: [Warn, Info],
    clauses: ["DM-09.4"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [SHARE, MIN_VALUES],
    data: ["integers", "leadingZeros", "strings"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = classes::shaped_by_people(collection) else { return };
    let (share, min) = (cx.limit(&SHARE), cx.count(&MIN_VALUES));
    let mut drafts = Vec::new();
    for field in &profile.fields {
        let Some(digits) = ids::digits(field, share, min) else { continue };
        // `R001` reports it if the target is already a number.
        let reference = cx
            .evidence()
            .references
            .iter()
            .find(|r| r.from == collection.namespace && r.path == field.path && r.is_by_id());
        if reference.is_some_and(|r| r.needs_conversion) {
            continue;
        }
        drafts.push(draft(collection, profile, field, &digits, reference.map(|r| &r.to)));
    }
    grouping::report(cx, &collection.namespace, drafts, "hold numbers as strings");
}

/// The mean number of digits from which ids are usually above 2^53.
const BEYOND_DOUBLE: f64 = 17.0;

/// A smaller saving is not worth mentioning.
const MIN_SAVED: u64 = 1024;

fn draft(
    collection: &Collection,
    profile: &Profile,
    field: &Field,
    digits: &Digits,
    target: Option<&Namespace>,
) -> Draft {
    let path = &field.path;
    let ns = &collection.namespace;
    let rest = digits.strings - digits.integers - digits.leading_zero;
    let base = |what: String, why: &'static str, todo: String, showing: u64| {
        let seen = profile.seen_in(field, showing);
        Draft::new(Subject::Field(ns.clone(), path.clone()), what, why, todo, seen)
            .data("strings", digits.strings)
            .data("integers", digits.integers)
            .data("leadingZeros", digits.leading_zero)
            .examples(field.examples.iter().cloned())
    };
    if digits.leading_zero > 0 {
        return base(
            format!(
                "{} in `{path}` {} leading zeros",
                text::part(digits.leading_zero, digits.strings, "numeric id"),
                text::form(digits.leading_zero, "has", "have")
            ),
            "numbers cannot keep leading zeros, so ids with leading zeros must remain text",
            format!(
                "keep `{}` as a string, and pad all values to the same length so that they sort correctly",
                path.dotted()
            ),
            digits.leading_zero,
        )
        .level(Level::Information)
        .key("leading zeros");
    }
    let mut todo = if path.as_str() == "_id" {
        "an `_id` cannot be changed: copy the documents to a Long `_id` and keep the old string in a unique field until all references are converted".to_owned()
    } else {
        format!("store `{}` as Long", path.dotted())
    };
    if let Some(target) = target {
        todo.push_str(&format!(", together with the `_id` of `{target}`, to which it refers"));
    }
    todo.push_str(&statements::empty_to_null(field));
    if rest > 0 {
        todo.push_str(&format!("; {} cannot be converted", text::count(rest)));
    }
    let lengths = field.text.as_ref().map_or(0.0, |t| t.lengths.mean());
    // A BSON string is its bytes, a length of 4 and a final zero; a long is 8.
    let saved = ((lengths + 5.0 - 8.0).max(0.0) * digits.integers as f64) as u64;
    if saved >= MIN_SAVED {
        todo.push_str(&format!(
            "; this saves about {} in documents, and as much in each index on the field",
            text::bytes(saved)
        ));
    }
    let is_beyond_double = lengths >= BEYOND_DOUBLE;
    if is_beyond_double {
        todo.push_str(
            "; keep the text if JavaScript programs read it as a number, because they round \
             numbers above 2^53",
        );
    }
    let draft = base(
        format!(
            "{} in `{path}` {}",
            text::part(digits.integers, digits.strings, "string"),
            text::form(digits.integers, "is a whole number", "are whole numbers")
        ),
        "MongoDB compares text digit by digit: ranges and sorting are wrong once the number of digits changes",
        todo,
        digits.integers,
    );
    let draft = if is_beyond_double { draft.level(Level::Information) } else { draft };
    // Strings that cannot be converted would remain among the numbers.
    let can_convert = path.as_str() != "_id"
        && target.is_none()
        && rest == 0
        && statements::can_be_written(profile, field);
    let conversion = statements::cast(field);
    let step = statements::convert(ns, path, [BsonType::String], [BsonType::Long], conversion);
    statements::advise(draft, step, can_convert.then_some(Safety::Guarded))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    #[test]
    fn dm_09_4_a_conversion_leaves_no_strings_behind() {
        let found = check("T003", "x20 {\"orderId\": \"20240315000001\"}\nx2 {\"orderId\": \"\"}");
        assert!(found[0].todo.contains("; 2 empty strings become null"), "{}", found[0].todo);
        let command = found[0].fix.as_ref().expect("a fix").command();
        assert!(
            command.contains(r#"{$cond: [{$eq: ["$orderId", ""]}, null, "$orderId"]}"#),
            "{command}"
        );
        let mixed = "x200 {\"orderId\": \"20240315000001\"}\n{\"orderId\": \"unknown\"}";
        assert_eq!(check("T003", mixed)[0].fix, None);
    }

    #[test]
    fn dm_09_4_digits_are_reported_leading_zeros_are_information_20_digits_are_silent() {
        let found = check("T003", "x20 {\"orderId\": \"20240315000001\"}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        let found = check("T003", "x20 {\"orderId\": \"00123\"}");
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("keep"), "{}", found[0].todo);
        assert!(check("T003", "x20 {\"orderId\": \"20240315000001000001\"}").is_empty());
    }

    #[test]
    fn dm_09_4_ids_that_doubles_would_round_are_a_note() {
        let found = check("T003", "x20 {\"tweetId\": \"1278747501642657792\"}");
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].todo.contains("above 2^53"), "{}", found[0].todo);
    }

    #[test]
    fn few_values_say_nothing() {
        assert!(check("T003", "x19 {\"orderId\": \"12\"}").is_empty());
        assert_eq!(check_with("T003", "min-values=1", "{\"orderId\": \"12\"}").len(), 1);
    }

    #[test]
    fn codes_stay_strings() {
        for name in ["zip", "phoneNumber", "isbn", "cardId", "taxId", "barcode", "accountNumber"] {
            assert!(check("T003", &format!("x20 {{\"{name}\": \"10115\"}}")).is_empty(), "{name}");
        }
    }

    #[test]
    fn an_id_cannot_be_changed_in_place() {
        let found = check("T003", "x50 {\"_id\": \"$i\"}");
        assert_eq!(found.len(), 1);
        assert!(found[0].fix.is_none());
    }
}
