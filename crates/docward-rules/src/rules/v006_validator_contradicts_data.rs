//! DM-11.6 and DM-11.3: a validator the stored documents do not meet.

use docward_model::{
    Collection, DataValue, Draft, Safety, Severity, Subject, ValidationAction, ValidationLevel,
};

use crate::{
    Cx, declare_rule,
    facts::{schema::breaches, shell, text},
};

declare_rule! {
    /// # Validator contradicts data
    ///
    /// ## What it checks
    /// Compares what a `$jsonSchema` demands of every document (required fields, types, `maxItems`)
    /// with what the documents hold, and counts the values that break it. Conditions under `anyOf`,
    /// `oneOf` and `not` hold for some documents only and are not judged.
    ///
    /// ## Why it matters
    /// Servers do not check stored documents. At level `strict` the next update of such a document is
    /// refused whatever it changes, and the user who triggers it did nothing wrong.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"required": ["email"], "properties": {"age": {"bsonType": "int"}}}}}
    /// {"_id": 1, "email": "zhang@example.com", "age": 30}
    /// {"_id": 2, "age": "31"}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"required": ["email"], "properties": {"age": {"bsonType": ["int", "long"]}}}}}
    /// {"_id": 1, "email": "zhang@example.com", "age": 30}
    /// {"_id": 2, "email": "li@example.com", "age": NumberLong(31)}
    /// ```
    ///
    /// ## How to fix
    /// Repair the documents the query finds, or widen the validator where the data is right. Until
    /// then level `moderate` lets old documents be updated.
    ///
    /// ## When to ignore it
    /// The old documents are never written again.
    V006, "validator-contradicts-data",
    level: Mandatory,
    clauses: ["DM-11.6", "DM-11.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options, Documents],
    thresholds: [],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(options), Some(profile)) = (&collection.options, &collection.profile) else { return };
    let Some(validator) = &options.validator else { return };
    // Level `off` demands nothing; V002 reports it.
    if options.validation_level == ValidationLevel::Off {
        return;
    }
    let found = breaches(validator, profile);
    let Some(worst) = found.first() else { return };
    let shown: Vec<_> = found
        .iter()
        .take(4)
        .map(|b| {
            format!(
                "`{}` is {} in {} of {}",
                b.path,
                b.what,
                text::count(b.count),
                text::count(b.of)
            )
        })
        .collect();
    let rest = found.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let only_warns = options.validation_action == ValidationAction::Warn;
    let moderate = options.validation_level == ValidationLevel::Moderate;
    let (why, severity) = if only_warns {
        (
            "each write of such a document is logged as a breach and stored all the same",
            Severity::Info,
        )
    } else if moderate {
        (
            "level `moderate` lets these documents be updated and stay invalid; at `strict` every update of them would be refused",
            Severity::Warn,
        )
    } else {
        (
            "the server refuses the next update of each such document, whatever it changes",
            Severity::Error,
        )
    };
    let cautious = if moderate || only_warns {
        "repair them before the level is raised"
    } else {
        "repair them, or set level `moderate` until they are"
    };
    cx.report(
        Draft::new(
            Subject::Collection(collection.namespace.clone()),
            format!("stored documents break their own validator: {}{more}", shown.join("; ")),
            why,
            format!(
                "list the documents with the query below (at least {} of {}) and {cautious}, or widen the schema where the data is right",
                text::count(worst.count.min(profile.documents)),
                text::count(profile.documents)
            ),
            profile.seen(),
        )
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
                        ])
                    })
                    .collect(),
            ),
        )
        .fix(
            Some("RF-19"),
            Safety::Safe,
            format!(
                "{}.find({{$nor: [{}]}})",
                shell::collection(&collection.namespace),
                shell::value(validator)
            ),
        )
        .severity(severity),
    );
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
            found[0].what.contains("`email` is required but absent in 2 of 100"),
            "{}",
            found[0].what
        );
        assert!(
            found[0].what.contains("`age` is string where int is admitted in 2 of 100"),
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
            found[0].what.contains("`items[].sku` is required but absent in 1 of 2"),
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
}
