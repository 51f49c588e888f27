//! SK-1 at its edge: documents without the shard key's field all have the value null.

use docward_model::{
    BsonType, Collection, Draft, FieldPath, Look, Profile, Safety, Severity, Step, Subject,
};

use crate::facts::{indexes::sharding, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Missing shard key field
    ///
    /// ## What it checks
    /// Reports a field of a shard key that is missing or null in some documents: an error above 30 % of the
    /// documents, and a warning above 0.1 %. Docward checks the keys of a running cluster and those declared in
    /// `docward.toml`.
    ///
    /// ## Why it matters
    /// The server treats a missing field as null. All such documents have the same key value: they are in one
    /// chunk that cannot be split, and queries by the key do not find them.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order,shard-key=db_shop.t_order:{"customerId":1}
    /// x50 {"customerId": $i}
    /// x10 {"guest": true}
    /// ```
    /// Every document has the field:
    /// ```jsonl,clean,ns=db_shop.t_order,shard-key=db_shop.t_order:{"customerId":1}
    /// x50 {"customerId": $i}
    /// ```
    ///
    /// ## How to fix
    /// Fill the field, or choose a field that every document has. Make it required in the validator.
    ///
    /// ## When to ignore it
    /// The documents without the field are few and will stay few.
    K004, "missing-shard-key-field",
    level: Mandatory,
    area: Speed,
    severities: [Error, Warn],
    clauses: ["SK-1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [ShardKeys, Documents],
    thresholds: [MIN_SHARE, FAIL],
    data: ["documents", "field", "missing"],
    check: Collection(check),
}

threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.001),
    "share of documents",
    "our default",
    "share of documents without the field above which Docward reports it"
);
threshold!(
    FAIL,
    "fail-share",
    Float(0.30),
    "share of documents",
    "SK-2",
    "share of documents without the field above which the finding is an error"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = &collection.profile else { return };
    let Some(key) = sharding::key_of(cx.evidence(), cx.settings(), &collection.namespace) else {
        return;
    };
    // K001 reports that the server rejects such a key.
    if sharding::array_field(profile, &key.fields).is_some() {
        return;
    }
    let name = sharding::standing(cx.evidence(), &collection.namespace).key_name();
    for (path, _) in &key.fields {
        let Some(missing) = missing(profile, path) else { continue };
        let share = missing as f64 / profile.documents.max(1) as f64;
        if share <= cx.limit(&MIN_SHARE) {
            continue;
        }
        let ns = &collection.namespace;
        let all = missing == profile.documents;
        let draft = Draft::new(
            Subject::Collection(ns.clone()),
            format!(
                "`{path}` of {name} {} is missing or null in {} of {} ({})",
                sharding::key_text(&key.fields),
                text::count(missing),
                text::plural(profile.documents, "document"),
                text::percent(share)
            ),
            "MongoDB treats a missing field as null: all these documents share one chunk that it cannot split",
            if all {
                format!("check the spelling of `{path}`: no document has it")
            } else {
                format!("set `{path}` in {}, or choose a field that every document has; make the field required in the validator", text::plural(missing, "document"))
            },
            profile.seen().showing(missing),
        )
        .data("field", path.as_str())
        .data("missing", missing)
        .data("documents", profile.documents)
        .key(path.as_str())
        .plan(
            None,
            Safety::Safe,
            [Step::Inspect {
                namespace: ns.clone(),
                look: Look::CountWithout { path: FieldPath::new(path.as_str()) },
            }],
        );
        let severity = if share > cx.limit(&FAIL) { Severity::Error } else { Severity::Warn };
        cx.report(draft.severity(severity));
    }
}

/// The number of documents without a value at the path; `None` if it cannot be known.
fn missing(profile: &Profile, path: &str) -> Option<u64> {
    match profile.field(path) {
        Some(field) => {
            let nothing = field.types.of(BsonType::Null) + field.types.of(BsonType::Undefined);
            Some(profile.documents.saturating_sub(field.count) + nothing.min(field.count))
        }
        // The table of fields may be full, and this one may be missing in it.
        None if profile.fields_capped => None,
        None => Some(profile.documents),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_with;
    use docward_model::Severity;

    fn run(body: &str) -> Vec<docward_model::Finding> {
        check_with("K004", "shard-key=db_shop.t_order_item:{\"customerId\":1}", body)
    }

    #[test]
    fn sk_1_missing_fields_count_as_one_value() {
        let found = run("x90 {\"customerId\": $i}\nx5 {\"a\": 1}\nx5 {\"customerId\": null}");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].what.contains("10 of 100"), "{}", found[0].what);
        assert_eq!(run("x10 {\"a\": 1}")[0].severity, Severity::Error);
        assert!(run("x100 {\"customerId\": $i}").is_empty());
    }
}
