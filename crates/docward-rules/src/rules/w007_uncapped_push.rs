//! DM-08.2, DM-08.4, AP-S2.1: writes that let an array grow without end.

use docward_model::{Draft, Evidence, Field, FieldPath, Level, Seen, Severity, Subject, Unit};

use crate::{
    Cx, declare_rule,
    facts::{shell, text, workload},
    threshold,
};

declare_rule! {
    /// # Uncapped push
    ///
    /// ## What it checks
    /// Reports updates that add to an array with `$push`, `$addToSet` or `$concatArrays` in a pipeline, and
    /// nothing that bounds it: no `$slice`, no counter in the filter (`count: {$lt: 60}` with `$inc` of it),
    /// no question for its length (`$size`) or a free place, no `maxItems` in the validator, no cap declared
    /// in `docward.toml`. It is an error when the documents show that the array grows or is long already;
    /// without documents it is a warning.
    ///
    /// ## Why it matters
    /// An array that only grows ends at the 16 MB of a document, and then every write to that document
    /// fails. Long before, each push rewrites a larger document.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// ran x20 {"command": {"q": {"_id": 7}, "u": {"$push": {"loginLog": {"at": 1}}}}, "nModified": 1}
    /// ```
    /// ```jsonl,clean
    /// ran x20 {"command": {"q": {"_id": 7}, "u": {"$push": {"loginLog": {"$each": [{"at": 1}], "$slice": -10}}}}, "nModified": 1}
    /// ```
    ///
    /// ## How to fix
    /// Cap it in the same statement (`$push: {$each: […], $slice: -N}`) when the last N matter; else give
    /// the elements a collection of their own, or buckets.
    ///
    /// ## When to ignore it
    /// The business bounds the array (delivery addresses): declare its cap in `docward.toml`.
    W007, "uncapped-push",
    level: Prohibited,
    clauses: ["DM-08.2", "DM-08.4", "AP-S2.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_COUNT, LONG],
    check: Deployment(check),
}

threshold!(
    MIN_COUNT,
    "min-count",
    Int(10),
    "operations",
    "no figure in source",
    "fewer pushes are not reported"
);
threshold!(
    LONG,
    "long-array",
    Int(100),
    "elements",
    "no figure in source; DM-08.1 limits arrays to 1000",
    "an array whose longest has fewer elements and does not grow is reported as a warning"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let (often, long) = (cx.count(&MIN_COUNT), cx.count(&LONG));
    let mut pushes = std::collections::BTreeMap::new();
    for stats in workload::business_shapes(evidence) {
        for push in stats.shape.pushes.iter().filter(|p| !p.capped) {
            *pushes.entry((&stats.shape.namespace, push.path.as_str())).or_insert(0) += stats.count;
        }
    }
    for ((namespace, path), count) in pushes {
        if count < often || is_bounded(evidence, cx, namespace, path) {
            continue;
        }
        let field = evidence.collection(namespace).and_then(|c| array(c.profile.as_ref()?, path));
        let lengths = field.and_then(|f| f.array.as_ref());
        let grows = lengths.is_some_and(|a| a.growth.is_some());
        let longest = lengths.map(|a| a.lengths.max);
        let proven = grows || longest.is_some_and(|n| n >= long);
        let seen = match longest {
            Some(n) => format!("; the longest has {} now", text::plural(n, "element")),
            None => String::new(),
        };
        let mut draft = Draft::new(
            Subject::Field(namespace.clone(), FieldPath::new(path)),
            format!(
                "{} added to the array and nothing bounds it{seen}",
                text::plural(count, "update")
            ),
            "an array that only grows ends at the 16 MB of a document, and then every write to that document fails",
            "cap it in the same statement with $slice if the last N matter, else give the elements a collection of their own or buckets",
            Seen::all(count, Unit::Operations),
        )
        .data("updates", count)
        .fix(
            Some("RF-04"),
            docward_model::Safety::Manual,
            format!(
                "{}.updateOne({{_id: <id>}}, {{$push: {{{}: {{$each: [<element>], $slice: -100}}}}}})",
                shell::collection(namespace),
                shell::key(path)
            ),
        );
        if let Some(longest) = longest {
            draft = draft.data("longest", longest);
        }
        if !proven {
            draft = draft.level(Level::Recommended).severity(Severity::Warn);
        }
        cx.report(draft);
    }
}

fn array<'a>(profile: &'a docward_model::Profile, path: &str) -> Option<&'a Field> {
    profile.fields.iter().find(|f| f.array.is_some() && f.path.dotted() == path)
}

/// Whether the validator or the settings bound an array.
fn is_bounded(
    evidence: &Evidence,
    cx: &Cx<'_>,
    namespace: &docward_model::Namespace,
    path: &str,
) -> bool {
    let declared = cx.settings().bounded_arrays.iter().any(|(pattern, at, _)| {
        at.replace("[]", "") == path && pattern.matches(&namespace.to_string())
    });
    let options = evidence.collection(namespace).and_then(|c| c.options.as_ref());
    let schema = options.and_then(|o| o.json_schema());
    let mut at = schema.cloned();
    for part in path.split('.') {
        at = at.and_then(|schema| {
            let schema = schema.get("items").cloned().unwrap_or(schema);
            schema.get("properties")?.get(part).cloned()
        });
    }
    declared || at.is_some_and(|schema| schema.get("maxItems").is_some())
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    const PUSH: &str = r#"ran x20 {"command": {"q": {"_id": 7}, "u": {"$push": {"log": 1}}}}"#;

    #[test]
    fn dm_08_2_ap_s2_1_without_documents_it_is_a_warning() {
        assert_eq!(check("W007", PUSH)[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_08_2_long_arrays_prove_it() {
        let body = format!("x5 {{\"_id\": $i, \"log\": $array(150, $j)}}\n{PUSH}");
        assert_eq!(check("W007", &body)[0].severity, Severity::Error);
    }

    #[test]
    fn dm_08_4_capped_pushes_are_fine() {
        let counted = r#"ran x20 {"command": {"q": {"_id": 7, "n": {"$lt": 60}}, "u": {"$push": {"log": 1}, "$inc": {"n": 1}}}}"#;
        assert!(check("W007", counted).is_empty());
    }

    #[test]
    fn dm_08_2_only_what_asks_for_the_length_bounds_it() {
        let found = |q: &str, u: &str| {
            check("W007", &format!(r#"ran x20 {{"command": {{"q": {q}, "u": {u}}}}}"#)).len()
        };
        let push = r#"{"$push": {"log": 1}}"#;
        assert_eq!(found(r#"{"_id": 7, "$expr": {"$lt": [{"$size": "$log"}, 10]}}"#, push), 0);
        assert_eq!(found(r#"{"_id": 7, "log": {"$type": "array"}}"#, push), 1);
        let dated = r#"{"$push": {"log": 1}, "$set": {"updatedAt": 5}}"#;
        assert_eq!(found(r#"{"_id": 7, "updatedAt": {"$lt": 5}}"#, dated), 1);
        let pipeline = r#"[{"$set": {"log": {"$concatArrays": ["$log", [1]]}}}]"#;
        assert_eq!(found(r#"{"_id": 7}"#, pipeline), 1);
    }

    #[test]
    fn dm_08_2_pushes_in_the_log_of_a_router_count() {
        let body = r#"ran x20 {"command": {"update": "t_order_item", "updates": [{"q": {"_id": 7}, "u": {"$push": {"log": 1}}}]}, "nShards": 1}"#;
        assert_eq!(check("W007", body).len(), 1);
    }

    #[test]
    fn dm_08_2_validators_and_declared_caps_bound_it() {
        let options = r#"options {"validator": {"$jsonSchema": {"properties": {"log": {"bsonType": "array", "maxItems": 50}}}}}"#;
        assert!(check("W007", &format!("{options}\n{PUSH}")).is_empty());
        assert!(check_with("W007", "cap=db_shop.t_order_item:log:50", PUSH).is_empty());
    }
}
