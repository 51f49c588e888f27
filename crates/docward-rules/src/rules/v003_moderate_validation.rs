//! DM-11.3: the effect of level `moderate` (GC-01).

use docward_model::{
    Collection, Draft, Look, Safety, Seen, Severity, Step, Subject, Unit, ValidationAction,
    ValidationLevel,
};

use crate::{
    Cx, declare_rule,
    facts::{schema, text},
};

declare_rule! {
    /// # Moderate validation
    ///
    /// ## What it checks
    /// Reports, as a note, validators with level `moderate` and action `error`. The finding counts the values in
    /// the documents read that break a required field, a type or an array length.
    ///
    /// ## Why it matters
    /// `moderate` checks inserts, and updates of valid documents. A document that is already invalid may be
    /// updated and stay invalid. No level checks stored documents by itself, so the invalid ones must be counted
    /// and repaired before `strict` can be set.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"required": ["sku"]}}, "validationLevel": "moderate"}
    /// {"_id": 1, "sku": "P001"}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"required": ["sku"]}}}
    /// {"_id": 1, "sku": "P001"}
    /// ```
    ///
    /// ## How to fix
    /// Find the invalid documents with `find({$nor: [{$jsonSchema: …}]})` and repair them. Then set level
    /// `strict`.
    ///
    /// ## When to ignore it
    /// A migration is in progress, and the old documents are being repaired.
    V003, "moderate-validation",
    level: Information,
    area: Hygiene,
    clauses: ["DM-11.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options],
    thresholds: [],
    data: ["brokenValues"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(options) = &collection.options else { return };
    let Some(validator) = &options.validator else { return };
    // With action `warn`, the server refuses nothing at any level: V002 reports that.
    if options.validation_level != ValidationLevel::Moderate
        || options.validation_action == ValidationAction::Warn
    {
        return;
    }
    let ns = &collection.namespace;
    let judged = collection.profile.as_ref().filter(|p| p.documents > 0);
    let breaches = judged.map(|p| schema::breaches(validator, p));
    let worst = breaches.iter().flatten().map(|b| b.count).max().unwrap_or(0);
    let (found, todo) = match (&breaches, judged) {
        (Some(found), Some(profile)) if found.is_empty() => (
            format!("none of {} read breaks a required field, type or length", text::plural(profile.documents, "document")),
            "no document seems to need level `moderate`: confirm this with the query in the fix, then set level `strict`".to_owned(),
        ),
        (Some(_), _) => (
            format!(
                "{} {} one of its conditions",
                text::plural(worst, "stored value"),
                text::form(worst, "breaks", "break")
            ),
            "repair the invalid documents, then set level `strict`".to_owned(),
        ),
        _ => (
            "Docward does not know how many stored documents break it".to_owned(),
            "count the invalid documents with the query in the fix, repair them, then set level `strict`".to_owned(),
        ),
    };
    cx.report(
        Draft::new(
            Subject::Collection(ns.clone()),
            format!("the validator is at level `moderate`: {found}"),
            "the server does not check updates of documents that are already invalid, so they stay invalid",
            todo,
            judged.map_or_else(|| Seen::all(1, Unit::Collections), |p| p.seen()),
        )
        .data("brokenValues", worst)
        .plan(
            Some("RF-19"),
            Safety::Safe,
            [Step::Inspect {
                namespace: ns.clone(),
                look: Look::CountBreaches { validator: validator.clone() },
            }],
        )
        .severity(Severity::Info),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    #[test]
    fn dm_11_3_moderate_is_information_with_a_count() {
        let options = r#"options {"validator": {"$jsonSchema": {"required": ["sku"]}}, "validationLevel": "moderate"}"#;
        let found = check(
            "V003",
            &format!("{options}\nx3 {{\"_id\": $i, \"sku\": \"a\"}}\n{{\"_id\": \"z\"}}"),
        );
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.contains("1 stored value breaks"), "{}", found[0].what);
        let found = check("V003", &format!("{options}\nx3 {{\"_id\": $i, \"sku\": \"a\"}}"));
        assert!(found[0].what.contains("none of 3 documents"), "{}", found[0].what);
    }

    #[test]
    fn dm_11_3_warn_belongs_to_v002() {
        let body = r#"options {"validator": {"$jsonSchema": {"required": ["sku"]}}, "validationLevel": "moderate", "validationAction": "warn"}
{"_id": 1}"#;
        assert!(check("V003", body).is_empty());
        assert_eq!(check("V002", body).len(), 1);
    }
}
