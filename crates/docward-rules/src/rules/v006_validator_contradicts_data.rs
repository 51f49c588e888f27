//! DM-11.6 and DM-11.3: a validator that the stored documents do not meet.

use std::collections::BTreeSet;

use docward_model::{
    Collection, DataValue, Draft, FieldPath, Look, Profile, Safety, Severity, Step, Subject,
    TextClass, ValidationAction, ValidationLevel,
};

use crate::{
    Cx, declare_rule,
    facts::{
        names::path_typos,
        remedies::contradictions::{Gravity, contradictions},
        schema::{Breach, breaches, closed, schemas},
        text,
    },
};

declare_rule! {
    /// # Validator contradicts data
    ///
    /// ## What it checks
    /// Compares the constraints of a `$jsonSchema` with the documents and counts the values that break them:
    /// - required fields, types, `enum`, `maxItems`
    /// - `minimum` and `maximum`, `minLength` and `maxLength`
    /// - fields that a schema with `additionalProperties: false` does not list
    ///
    /// If the exact number is not known, the finding says "at least". If no value meets a constraint, it names
    /// the field that was probably meant. If a running server counts the invalid documents, that number is used.
    ///
    /// It is an error at level `strict`, a warning at `moderate`, and a note with action `warn`. V008 reports
    /// constraints that no document can meet. Conditions under `anyOf`, `oneOf` and `not` apply only to some
    /// documents and are not checked.
    ///
    /// ## Why it matters
    /// Servers do not check stored documents. At level `strict` the next update of such a document is refused,
    /// whatever it changes, although the user made no error.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"required": ["email"], "properties": {"age": {"bsonType": "int"}}}}}
    /// {"_id": 1, "email": "zhang@example.com", "age": 30}
    /// {"_id": 2, "age": "31"}
    /// ```
    /// Only the server can check a pattern on all documents:
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"properties": {"email": {"pattern": "@"}}}}}
    /// stats {"documents": 2, "invalid": 1}
    /// {"_id": 1, "email": "zhang@example.com"}
    /// {"_id": 2, "email": "li"}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"required": ["email"], "properties": {"age": {"bsonType": ["int", "long"]}}}}}
    /// {"_id": 1, "email": "zhang@example.com", "age": 30}
    /// {"_id": 2, "email": "li@example.com", "age": NumberLong(31)}
    /// ```
    ///
    /// ## How to fix
    /// Repair the documents that the query finds, or extend the validator if the data is correct. Until then,
    /// level `moderate` allows updates of old documents. For free text, choose `maxLength` by the purpose of the
    /// field, not by the longest text stored today, or leave it out.
    ///
    /// ## When to ignore it
    /// No program writes to the old documents.
    V006, "validator-contradicts-data",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn, Info],
    clauses: ["DM-11.6", "DM-11.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options, Documents],
    thresholds: [],
    data: ["breaches"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(options), Some(profile)) = (&collection.options, &collection.profile) else { return };
    let Some(validator) = &options.validator else { return };
    // Level `off` enforces nothing; V002 reports it.
    if options.validation_level == ValidationLevel::Off {
        return;
    }
    // A place where no value can pass refuses every document, and so does a closed schema without `_id`. V008 derives
    // this from the schema, and the server's count would add nothing.
    let no_key = schemas(validator).into_iter().filter_map(closed).any(|c| !c.admits("_id"));
    let impossible: BTreeSet<String> = contradictions(&schemas(validator))
        .into_iter()
        .filter(|found| found.gravity == Gravity::Impossible)
        .map(|found| found.path)
        .collect();
    let mut found = breaches(validator, profile);
    found.retain(|breach| {
        let is_told = if breach.path == "_id" { no_key } else { impossible.contains(&breach.path) };
        !is_told || breach.is_absence()
    });
    if found.is_empty() && !impossible.is_empty() {
        return;
    }
    // The server's own count is certain.
    let counted = collection.stats.and_then(|stats| stats.invalid).filter(|_| !no_key);
    if counted.map_or(found.is_empty(), |invalid| invalid == 0) {
        return;
    }
    let shown: Vec<_> = found
        .iter()
        .take(4)
        .map(|b| {
            let count = if meets_none(b) {
                format!("all {}", text::count(b.of))
            } else {
                format!("{} of {}", text::count(b.count), text::count(b.of))
            };
            let least = if b.at_least { "at least " } else { "" };
            format!("`{}` is {} in {least}{count}", b.path, b.what)
        })
        .collect();
    let rest = found.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let only_warns = options.validation_action == ValidationAction::Warn;
    let moderate = options.validation_level == ValidationLevel::Moderate;
    let (why, severity) = if only_warns {
        ("the server logs each write of such a document as invalid, but stores it", Severity::Info)
    } else if moderate {
        (
            "level `moderate` allows updates that leave these documents invalid; level `strict` would reject every update of them",
            Severity::Warn,
        )
    } else {
        (
            "the server rejects the next update of each of these documents, whatever it changes",
            Severity::Error,
        )
    };
    let cautious = if moderate || only_warns {
        "repair them before you raise the level"
    } else {
        "repair them, or set level `moderate` until they are repaired"
    };
    let none = unmet(&found, profile);
    let free = free_texts(&found, profile);
    let lengths = if free.is_empty() {
        String::new()
    } else {
        // The longest text of today is not a limit: no figure comes from the data.
        format!(
            "; for {}, choose `maxLength` by the purpose of the field, or omit it, because free text has no natural length",
            text::paths(&free, 3)
        )
    };
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            match counted {
                Some(invalid) => format!(
                    "{} of {} stored documents {} the validator (counted by the server){}{}{more}",
                    text::count(invalid),
                    text::count(profile.total.max(invalid)),
                    text::form_of(invalid, profile.total.max(invalid), "breaks", "break"),
                    if shown.is_empty() { "" } else { ": " },
                    shown.join("; "),
                ),
                None => format!(
                    "at least {} of {} stored documents {} the validator: {}{more}",
                    text::count(found.first().map_or(1, |worst| worst.count.min(profile.documents))),
                    text::count(profile.documents),
                    text::form_of(found.first().map_or(1, |worst| worst.count.min(profile.documents)), profile.documents, "breaks", "break"),
                    shown.join("; ")
                ),
            },
            why,
            format!(
                "{none}run the query in the fix to list the invalid documents{} and {cautious}, or extend the schema where the data is correct{lengths}",
                match (counted, found.first()) {
                    (None, Some(worst)) => format!(
                        " (at least {} of {})",
                        text::count(worst.count.min(profile.documents)),
                        text::count(profile.documents)
                    ),
                    _ => String::new(),
                }
            ),
            profile.seen(),
        )
        .paths(found.iter().filter(|b| !b.path.is_empty()).map(|b| FieldPath::new(&b.path)))
        .data(
            "breaches",
            DataValue::List(
                found
                    .iter()
                    .map(|b| {
                        DataValue::Map(vec![
                            ("path".to_owned(), DataValue::from(b.path.as_str())),
                            ("fault".to_owned(), DataValue::from(b.what.as_str())),
                            ("count".to_owned(), DataValue::from(b.count)),
                            ("of".to_owned(), DataValue::from(b.of)),
                            ("atLeast".to_owned(), DataValue::from(b.at_least)),
                        ])
                    })
                    .collect(),
            ),
        )
        .plan(
            Some("RF-19"),
            Safety::Safe,
            [Step::Inspect {
                namespace: collection.namespace.clone(),
                look: Look::Breaches { validator: validator.clone() },
            }],
        )
        .severity(severity),
    );
}

/// Whether no value meets the constraint.
fn meets_none(breach: &Breach) -> bool {
    breach.count >= breach.of && breach.of > 1 && !breach.at_least
}

/// Returns the first step if no stored value meets a constraint: the schema is usually wrong, often a name.
fn unmet(found: &[Breach], profile: &Profile) -> String {
    let none: Vec<&Breach> = found.iter().filter(|breach| meets_none(breach)).collect();
    if none.is_empty() {
        return String::new();
    }
    let named = |breach: &&&Breach| profile.field(&breach.path).is_none();
    let meant: Vec<String> = none
        .iter()
        .filter(named)
        .filter_map(|breach| {
            let near = path_typos::nearest(profile, &breach.path, 2)?;
            Some(format!("`{near}` is probably meant by `{}`", breach.path))
        })
        .take(3)
        .collect();
    let mut paths: Vec<&str> = none.iter().map(|breach| breach.path.as_str()).collect();
    paths.dedup();
    let meant = if meant.is_empty() { String::new() } else { format!(" ({})", meant.join("; ")) };
    format!(
        "first check whether the schema is wrong about {}, for which no stored value passes{meant}; then ",
        text::paths(&paths, 3)
    )
}

/// Fields without a known form whose texts are longer than the validator allows.
fn free_texts<'b>(found: &'b [Breach], profile: &Profile) -> Vec<&'b str> {
    let is_free = |breach: &&Breach| {
        let text = profile.field(&breach.path).and_then(|field| field.text.as_ref());
        breach.too_long && text.is_some_and(|t| 2 * t.of(TextClass::Other) > t.total())
    };
    found.iter().filter(is_free).map(|breach| breach.path.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn with(extra: &str, body: &str) -> Vec<docward_model::Finding> {
        let schema = r#"{"required": ["email"], "properties": {"age": {"bsonType": "int"}, "tags": {"bsonType": "array", "maxItems": 2}, "items": {"bsonType": "array", "items": {"required": ["sku"]}}}}"#;
        check(
            "V006",
            &format!("options {{\"validator\": {{\"$jsonSchema\": {schema}}}{extra}}}\n{body}"),
        )
    }

    #[test]
    fn dm_11_6_absent_fields_and_wrong_types_are_counted() {
        let body =
            "x98 {\"_id\": $i, \"email\": \"a\", \"age\": 1}\nx2 {\"_id\": $i, \"age\": \"1\"}";
        let found = with("", body);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(
            found[0].what.contains("`email` is required but missing in 2 of 100"),
            "{}",
            found[0].what
        );
        assert!(
            found[0].what.contains("`age` is string instead of int in 2 of 100"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn dm_11_6_nested_and_length_demands() {
        let body =
            r#"{"_id": 1, "email": "a", "tags": [1, 2, 3], "items": [{"sku": 1}, {"qty": 2}]}"#;
        let found = with("", body);
        assert!(
            found[0].what.contains("`tags` is longer than 2 elements in 1 of 1"),
            "{}",
            found[0].what
        );
        assert!(
            found[0].what.contains("`items[].sku` is required but missing in 1 of 2"),
            "{}",
            found[0].what
        );
    }

    #[test]
    fn dm_11_3_severity_follows_level_and_action() {
        let bad = r#"{"_id": 1}"#;
        assert_eq!(with(r#", "validationLevel": "moderate""#, bad)[0].severity, Severity::Warn);
        assert_eq!(with(r#", "validationAction": "warn""#, bad)[0].severity, Severity::Info);
        assert!(with(r#", "validationLevel": "off""#, bad).is_empty());
    }

    #[test]
    fn dm_11_6_clean_documents_pass() {
        assert!(
            with("", r#"{"_id": 1, "email": null, "age": 3, "tags": [1], "items": [{"sku": 1}]}"#)
                .is_empty()
        );
    }

    fn property(schema: &str, body: &str) -> Vec<docward_model::Finding> {
        check(
            "V006",
            &format!(
                "options {{\"validator\": {{\"$jsonSchema\": {{\"properties\": {{\"a\": {schema}}}}}}}}}\n{body}"
            ),
        )
    }

    #[test]
    fn dm_11_6_enumerations_are_compared() {
        let body = "x8 {\"_id\": $i, \"a\": \"on\"}\nx2 {\"_id\": $i, \"a\": \"gone\"}";
        let found = property(r#"{"enum": ["on", "off"]}"#, body);
        assert!(found[0].what.contains("in its `enum` in 2 of 10"), "{}", found[0].what);
        assert!(!found[0].what.contains("gone"), "values stay out of the message");
        assert!(property(r#"{"enum": ["on", "off", "gone"]}"#, body).is_empty());
        assert!(property(r#"{"enum": [1, "on"]}"#, body).is_empty(), "not compared");
        let null = "{\"_id\": 1, \"a\": null}\n{\"_id\": 2, \"a\": \"on\"}";
        assert_eq!(property(r#"{"enum": ["on"]}"#, null).len(), 1);
        assert!(property(r#"{"enum": ["on", null]}"#, null).is_empty());
    }

    #[test]
    fn dm_11_6_ranges_are_compared() {
        let body = "{\"_id\": 1, \"a\": 0}\n{\"_id\": 2, \"a\": 150}\n{\"_id\": 3, \"a\": \"x\"}";
        assert!(property(r#"{"minimum": 0, "maximum": 150}"#, body).is_empty());
        let found = property(r#"{"minimum": 1}"#, body);
        assert!(
            found[0].what.contains("`a` is below its minimum 1 in at least 1 of 2"),
            "{}",
            found[0].what
        );
        assert_eq!(property(r#"{"maximum": 150, "exclusiveMaximum": true}"#, body).len(), 1);
        assert_eq!(property(r#"{"maximum": 149.5}"#, body).len(), 1);
    }

    #[test]
    fn dm_11_6_breaches_are_counted_where_values_are_kept() {
        let body = "x280 {\"_id\": $i, \"a\": 5}\nx20 {\"_id\": $i, \"a\": 11}";
        let found = property(r#"{"maximum": 10}"#, body);
        assert!(found[0].what.contains("above its maximum 10 in 20 of 300"), "{}", found[0].what);
        let ids = "x300 {\"_id\": $i, \"a\": \"$uuid\"}";
        let found = property(r#"{"maxLength": 20}"#, ids);
        assert!(found[0].what.contains("longer than 20 characters"), "{}", found[0].what);
        let long =
            "x200 {\"_id\": $i, \"a\": \"v$i $pad(400)\"}\nx100 {\"_id\": $i, \"a\": \"w$i\"}";
        let found = property(r#"{"maxLength": 20}"#, long);
        assert!(found[0].what.contains("in at least 200 of 300"), "{}", found[0].what);
    }

    #[test]
    fn dm_11_6_lengths_are_characters() {
        let body = "{\"_id\": 1, \"a\": \"张三\"}\n{\"_id\": 2, \"a\": \"abc\"}";
        assert!(property(r#"{"minLength": 2, "maxLength": 3}"#, body).is_empty());
        assert_eq!(property(r#"{"maxLength": 2}"#, body).len(), 1);
        assert_eq!(property(r#"{"minLength": 3}"#, body).len(), 1);
        let many = "x200 {\"_id\": $i, \"a\": \"v$i $pad(76)\"}";
        assert!(property(r#"{"minLength": 5, "maxLength": 80}"#, many).is_empty());
        let users = "x200 {\"_id\": $i, \"a\": \"user$i\"}";
        assert_eq!(property(r#"{"maxLength": 2}"#, users).len(), 1, "an example shows it");
        assert!(property(r#"{"maxLength": 7}"#, users).is_empty());
        let found = property(r#"{"maxLength": 10}"#, many);
        assert!(found[0].what.contains("in all 200"), "{}", found[0].what);
    }

    #[test]
    fn dm_11_6_a_closed_schema_refuses_what_it_does_not_list() {
        let closed = |properties: &str, documents: &str| {
            check(
                "V006",
                &format!(
                    "options {{\"validator\": {{\"$jsonSchema\": {{\"additionalProperties\": false, {properties}}}}}}}\n{documents}"
                ),
            )
        };
        let body = r#"{"_id": 1, "a": 1}"#;
        // The schema alone shows that the key is not listed.
        assert!(closed(r#""properties": {"a": {}}"#, body).is_empty());
        let counted = format!("stats {{\"documents\": 1, \"invalid\": 1}}\n{body}");
        assert!(closed(r#""properties": {"a": {}}"#, &counted).is_empty());
        assert!(closed(r#""properties": {"_id": {}, "a": {}}"#, body).is_empty());
        assert!(
            closed(r#""properties": {"_id": {}}, "patternProperties": {"^a": {}}"#, body)
                .is_empty()
        );
        let found = closed(r#""properties": {"_id": {}}"#, body);
        assert!(found[0].what.contains("`a` is not a property"), "{}", found[0].what);
    }

    #[test]
    fn dm_11_6_a_demand_that_nothing_meets_is_told_as_such() {
        let body = "x50 {\"_id\": $i, \"a\": \"x\", \"userName\": \"zhang\"}";
        let found = property(r#"{"bsonType": "int"}"#, body);
        assert!(
            found[0].what.contains("`a` is string instead of int in all 50"),
            "{}",
            found[0].what
        );
        assert!(
            found[0].todo.starts_with("first check whether the schema is wrong about `a`"),
            "{}",
            found[0].todo
        );
        let required =
            "options {\"validator\": {\"$jsonSchema\": {\"required\": [\"user_name\"]}}}";
        let found = check("V006", &format!("{required}\n{body}"));
        assert!(
            found[0].todo.contains("`userName` is probably meant by `user_name`"),
            "{}",
            found[0].todo
        );
        let some = "x49 {\"_id\": $i, \"a\": \"x\"}\n{\"_id\": 1, \"a\": 1}";
        let found = property(r#"{"bsonType": "int"}"#, some);
        assert!(found[0].what.contains("in 49 of 50"), "{}", found[0].what);
        assert!(found[0].todo.starts_with("run the query in the fix"), "{}", found[0].todo);
    }

    #[test]
    fn dm_11_6_what_no_value_can_meet_is_told_by_the_schema_alone() {
        let body = "x50 {\"_id\": $i, \"a\": 5}";
        let limits = r#"{"minimum": 9, "maximum": 1}"#;
        assert!(property(limits, body).is_empty());
        assert!(
            property(limits, &format!("stats {{\"documents\": 50, \"invalid\": 50}}\n{body}"))
                .is_empty()
        );
        assert_eq!(property(r#"{"minimum": 9, "maximum": 10}"#, body).len(), 1);
    }

    #[test]
    fn dm_11_6_no_length_is_made_up_for_free_text() {
        let long = "x50 {\"_id\": $i, \"a\": \"v$i $pad(90)\"}";
        let found = property(r#"{"maxLength": 20}"#, long);
        assert!(
            found[0].todo.contains("for `a`, choose `maxLength` by the purpose of the field"),
            "{found:?}"
        );
        let figures = |n: &str| found[0].todo.contains(n);
        assert!(!figures("92") && !figures("93") && !figures("100"), "{}", found[0].todo);
        let ids = "x300 {\"_id\": $i, \"a\": \"$uuid\"}";
        assert!(!property(r#"{"maxLength": 20}"#, ids)[0].todo.contains("maxLength"), "a form");
        // The rules that propose or extend a schema report nothing either.
        for code in ["V001", "V004"] {
            let texts = "@ db_shop.t_article\nx50 {\"_id\": $i, \"body\": \"v$i $pad(90)\"}";
            let found = check(code, texts);
            assert!(!format!("{found:?}").contains("maxLength"), "{found:?}");
        }
    }
}
