//! DM-11.2: a validator refuses invalid documents.

use docward_model::{
    Collection, Draft, Safety, Seen, Severity, Step, Subject, Unit, ValidationAction,
    ValidationLevel,
};

use crate::{
    Cx, declare_rule,
    facts::{remedies::shell, schema, text},
};

declare_rule! {
    /// # Weak validation
    ///
    /// ## What it checks
    /// Reports validators that refuse nothing: `validationLevel: "off"`, or `validationAction: "warn"`, which
    /// only writes a log line. It is a warning for core collections and a note for others. V003 reports level
    /// `moderate` with action `error`, which does refuse invalid documents.
    ///
    /// ## Why it matters
    /// The constraints are defined, but invalid documents are still stored. The log is usually read too late.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// options {"validator": {"$jsonSchema": {"required": ["sku"]}}, "validationAction": "warn"}
    /// {"_id": 1, "sku": "P001"}
    /// ```
    /// ```jsonl,clean
    /// options {"validator": {"$jsonSchema": {"required": ["sku"]}}, "validationLevel": "strict", "validationAction": "error"}
    /// {"_id": 1, "sku": "P001"}
    /// ```
    ///
    /// ## How to fix
    /// If all documents meet the validator, set level `strict` and action `error` with `collMod`. Some
    /// constraints must first be counted on the server: ranges, lengths, enumerations, patterns, alternatives and
    /// query operators. The finding says whether this is necessary.
    ///
    /// If old documents do not meet it, use level `moderate` with action `error`. New documents are then refused.
    ///
    /// ## When to ignore it
    /// The validator is new and is observed before it may refuse documents.
    V002, "weak-validation",
    level: Recommended,
    area: Hygiene,
    severities: [Warn, Info],
    clauses: ["DM-11.2", "CK-6"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Options],
    thresholds: [],
    data: ["action", "core", "demandsBroken", "level"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(options) = &collection.options else { return };
    let Some(validator) = &options.validator else { return };
    let off = options.validation_level == ValidationLevel::Off;
    let warn = options.validation_action == ValidationAction::Warn;
    if !off && !warn {
        return;
    }
    let setting = if off { "`validationLevel: \"off\"`" } else { "`validationAction: \"warn\"`" };
    let effect = if off {
        "checks nothing"
    } else {
        "so MongoDB stores invalid documents and only logs them"
    };
    let breaches = collection
        .profile
        .as_ref()
        .filter(|p| p.documents > 0)
        .map(|p| schema::breaches(validator, p));
    let ns = &collection.namespace;
    let unchecked = schema::unchecked(validator);
    let whole = collection
        .profile
        .as_ref()
        .is_some_and(|p| p.documents >= p.total && !p.fields_capped && unchecked.is_empty());
    let count_first = format!(
        "count invalid documents with `{}.countDocuments({{$nor: [validator]}})`; if there are none, set level `strict` and action `error`",
        shell::collection(ns)
    );
    let by_server = collection.stats.and_then(|stats| stats.invalid);
    let (level, counted, todo) = match &breaches {
        _ if by_server == Some(0) => (
            ValidationLevel::Strict,
            false,
            "the server counts no invalid documents: set level `strict` and action `error`".to_owned(),
        ),
        _ if by_server.is_some() => (
            ValidationLevel::Moderate,
            false,
            format!(
                "set level `moderate` and action `error` to check new documents, repair the {} documents that the server counts as invalid, then set `strict`",
                text::count(by_server.unwrap_or(0))
            ),
        ),
        Some(found) if found.is_empty() && whole => (
            ValidationLevel::Strict,
            false,
            "all documents pass the required fields, types and array lengths, and the validator has no other conditions: set level `strict` and action `error`".to_owned(),
        ),
        Some(found) if found.is_empty() => {
            let names: Vec<_> = unchecked.iter().collect();
            let rest = if names.is_empty() {
                "Docward did not read all documents".to_owned()
            } else {
                format!("only the server can evaluate {}", text::list(&names, 5))
            };
            (ValidationLevel::Strict, true, format!("Docward found no invalid documents, but {rest}: {count_first}"))
        }
        Some(found) => {
            let worst: u64 = found.iter().map(|b| b.count).max().unwrap_or(0);
            let bound = if found.iter().any(|b| b.at_least) { "at least" } else { "up to" };
            (
                ValidationLevel::Moderate,
                false,
                format!(
                    "set level `moderate` and action `error` to check new documents, repair the old ones ({bound} {} break one condition), then set `strict`",
                    text::count(worst)
                ),
            )
        }
        None => (ValidationLevel::Strict, true, count_first),
    };
    let core = cx.is_core(collection);
    let mut draft = Draft::new(
        Subject::Collection(ns.clone()),
        format!("the validator has {setting} and {effect}"),
        "clients can still store invalid documents, although the collection has a validator",
        todo,
        collection.profile.as_ref().map_or_else(|| Seen::all(1, Unit::Collections), |p| p.seen()),
    )
    .data("level", options.validation_level.name())
    .data("action", if warn { "warn" } else { "error" })
    .data("core", core)
    // A validator that is turned off has no effect. One that warns is an intermediate step.
    .clauses(match options.validation_level {
        ValidationLevel::Off => &["DM-11.2", "CK-6"],
        _ => &["DM-11.2"],
    });
    if let Some(found) = &breaches {
        draft = draft.data("demandsBroken", found.len());
    }
    // Constraints that were not checked may refuse writes, so the statement checks first.
    let raise = Step::SetValidation {
        namespace: ns.clone(),
        level,
        action: ValidationAction::Error,
        unless_broken: counted.then(|| validator.clone()),
    };
    draft = draft.plan(Some("RF-19"), Safety::Safe, [raise]);
    if !core {
        draft = draft.severity(Severity::Info);
    }
    cx.report(draft);
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    fn with(level: &str, action: &str, document: &str) -> Vec<docward_model::Finding> {
        check(
            "V002",
            &format!(
                "options {{\"validator\": {{\"$jsonSchema\": {{\"required\": [\"sku\"]}}}}, \"validationLevel\": \"{level}\", \"validationAction\": \"{action}\"}}\n{document}"
            ),
        )
    }

    #[test]
    fn dm_11_2_off_and_warn_are_weak() {
        let good = r#"{"_id": 1, "sku": "a"}"#;
        assert_eq!(with("off", "error", good)[0].severity, Severity::Warn);
        assert_eq!(with("strict", "warn", good).len(), 1);
        assert_eq!(with("moderate", "warn", good).len(), 1);
        assert!(with("strict", "error", good).is_empty());
        assert!(with("moderate", "error", good).is_empty());
        assert!(with("strict", "errorAndLog", good).is_empty());
    }

    #[test]
    fn dm_11_2_only_warning_is_loud_on_core_collections() {
        let body = "options {\"validator\": {\"$jsonSchema\": {\"required\": [\"sku\"]}}, \"validationAction\": \"warn\"}\n{\"_id\": 1, \"sku\": \"a\"}";
        let severity = |core: &str| check_with("V002", core, body)[0].severity;
        assert_eq!(severity("core=db_shop.t_order_item"), Severity::Warn);
        assert_eq!(severity("core=db_shop.t_other"), Severity::Info);
    }

    #[test]
    fn dm_11_2_advice_depends_on_the_data() {
        let clean = with("strict", "warn", r#"{"_id": 1, "sku": "a"}"#);
        assert!(clean[0].fix.as_ref().unwrap().command().contains("\"strict\""));
        let dirty = with("strict", "warn", r#"{"_id": 1}"#);
        assert!(dirty[0].fix.as_ref().unwrap().command().contains("\"moderate\""));
    }

    #[test]
    fn dm_11_2_only_what_was_checked_is_claimed() {
        let plain = with("strict", "warn", r#"{"_id": 1, "sku": "a"}"#);
        assert!(plain[0].todo.contains("has no other conditions"), "{}", plain[0].todo);
        let found = check(
            "V002",
            r#"options {"validator": {"$jsonSchema": {"properties": {"note": {"bsonType": "string", "pattern": "^x"}}}}, "validationAction": "warn"}
{"_id": 1, "note": "y"}"#,
        );
        assert!(
            found[0].todo.contains("only the server can evaluate `pattern`"),
            "{}",
            found[0].todo
        );
        assert!(found[0].todo.contains("countDocuments({$nor: [validator]})"), "{}", found[0].todo);
        assert!(found[0].fix.as_ref().unwrap().command().starts_with("if ("));
    }
}
