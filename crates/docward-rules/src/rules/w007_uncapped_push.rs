//! DM-08.2, DM-08.4, AP-S2.1: writes that let an array grow without bound.

use docward_model::{
    Draft, Evidence, Field, FieldPath, Level, Namespace, Safety, Seen, Settings, Severity, Step,
    Subject, Unit,
};

use crate::{
    Cx, declare_rule,
    facts::{
        growth::{
            arrays::Limits,
            patterns::{self, Bound},
        },
        text, workload,
    },
    threshold,
};

declare_rule! {
    /// # Uncapped push
    ///
    /// ## What it checks
    /// Reports updates that add to an array (`$push`, `$addToSet`, or `$concatArrays` in a pipeline) without any
    /// limit. It is an error if the documents show that the array grows or is already long. It is a warning
    /// without documents, or if the lengths suggest a limit. Updates that changed nothing, according to the
    /// server, do not count.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - `$slice` in the update
    /// - a counter in the filter (`count: {$lt: 60}` with `$inc` of it)
    /// - a check of the length (`$size`) or of a free position
    /// - a limit in the validator or in `docward.toml` that all arrays keep
    ///
    /// ## Why it matters
    /// An array that only grows reaches the 16 MB limit of a document. Then every write to that document fails.
    /// Long before, each push rewrites a larger document.
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
    /// If only the last N elements are needed, limit the array in the same statement
    /// (`$push: {$each: […], $slice: -N}`). Otherwise store the elements in a separate collection or in buckets.
    ///
    /// ## When to ignore it
    /// The business limits the array (delivery addresses). Declare the limit in `docward.toml`.
    W007, "uncapped-push",
    level: Prohibited,
    area: Growth,
    severities: [Error, Warn],
    clauses: ["DM-08.2", "DM-08.4", "AP-S2.1", "CK-4", "CK-8"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Workload],
    thresholds: [MIN_COUNT, LONG],
    data: ["longest", "updates"],
    check: Deployment(check),
}

threshold!(
    MIN_COUNT,
    "min-count",
    Int(10),
    "operations",
    "our default",
    "minimum number of pushes"
);
threshold!(
    LONG,
    "long-array",
    Int(100),
    "elements",
    "our default; DM-08.1 limits arrays to 1000",
    "minimum length of the longest array for an error, unless the array grows"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let mut pushes = std::collections::BTreeMap::new();
    for stats in workload::business_shapes(evidence) {
        for push in stats.shape.pushes.iter().filter(|p| !p.capped) {
            *pushes.entry((&stats.shape.namespace, push.path.as_str())).or_insert(0) +=
                stats.count.saturating_sub(stats.idle);
        }
    }
    for ((namespace, path), count) in pushes {
        if count < cx.count_at(&MIN_COUNT, namespace) {
            continue;
        }
        let array = Array::find(evidence, cx.settings(), namespace, path);
        if array.bound.as_ref().is_some_and(Bound::is_by_design) {
            continue;
        }
        cx.report(draft(&array, count, cx.count_at(&LONG, namespace)));
    }
}

/// An array to which updates append, with the facts about it.
struct Array<'e> {
    namespace: &'e Namespace,
    path: FieldPath,
    field: Option<&'e Field>,
    bound: Option<Bound>,
    /// A cap that arrays exceed, in words.
    broken: Option<String>,
    grows: bool,
}

impl<'e> Array<'e> {
    fn find(
        evidence: &'e Evidence,
        settings: &Settings,
        namespace: &'e Namespace,
        path: &str,
    ) -> Self {
        let place = workload::place(path);
        let collection = evidence.collection(namespace);
        let known = collection.and_then(|c| {
            let profile = c.profile.as_ref()?;
            let is_it = |f: &&Field| f.array.is_some() && f.path.dotted() == place.dotted();
            Some((c, profile, profile.fields.iter().find(is_it)?))
        });
        let Some((collection, profile, field)) = known else {
            let declared = settings.array_cap(namespace, place.as_str()).map(Bound::Declared);
            let asked = || patterns::validator_cap(collection?, &place, 0).map(Bound::Validator);
            let bound = declared.or_else(asked);
            return Self { namespace, path: place, field: None, bound, broken: None, grows: false };
        };
        let credible = Limits::of(settings, namespace).credible;
        let grows = field.array.as_ref().is_some_and(|array| {
            array.growth.is_some_and(|g| credible.holds(&g))
                || array.observed.is_some_and(|seen| credible.is_seen(&seen))
        });
        Self {
            namespace,
            path: field.path.clone(),
            field: Some(field),
            bound: patterns::bound(settings, collection, profile, field),
            broken: patterns::broken_cap(settings, collection, field),
            grows,
        }
    }

    fn longest(&self) -> Option<u64> {
        Some(self.field?.array.as_ref()?.lengths.max)
    }
}

fn draft(array: &Array<'_>, count: u64, long: u64) -> Draft {
    let longest = array.longest();
    // Lengths that accumulate show a cap, even if these updates have none.
    let is_proven = array.bound.is_none() && (array.grows || longest.is_some_and(|n| n >= long));
    let bounds = match &array.broken {
        Some(broken) => format!(" without a limit; {broken}"),
        None => ", and nothing limits its length".to_owned(),
    };
    let seen = match longest {
        Some(n) => format!("; the longest array has {}", text::plural(n, "element")),
        None => String::new(),
    };
    let mut draft = Draft::new(
        Subject::Field(array.namespace.clone(), array.path.clone()),
        format!("{} added to the array{bounds}{seen}", text::plural(count, "update")),
        "the array can grow until its document reaches 16 MB, and then every append fails",
        "if only the last N elements matter, add $slice to the same statement; otherwise store the elements in a separate collection or in buckets",
        Seen::all(count, Unit::Operations),
    )
    .data("updates", count);
    // Only the application knows which element of an outer array is updated.
    if !array.path.in_array() {
        draft = draft.plan(
            Some("RF-04"),
            Safety::Manual,
            [Step::CapArray {
                namespace: array.namespace.clone(),
                path: array.path.clone(),
                keep: 100,
            }],
        );
    }
    if let Some(longest) = longest {
        draft = draft.data("longest", longest);
    }
    if is_proven { draft } else { draft.level(Level::Recommended).severity(Severity::Warn) }
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
    fn dm_08_2_updates_that_changed_nothing_do_not_count() {
        let ran = |figures: &str| {
            let push = r#""command": {"q": {"_id": 7}, "u": {"$push": {"log": 1}}, "upsert": "#;
            let found = check("W007", &format!("ran x20 {{{push} {figures}}}"));
            found.first().map(|found| found.what.split(' ').next().map(str::to_owned))
        };
        let told = Some(Some("20".to_owned()));
        assert_eq!(ran(r#"false}, "nMatched": 0, "nModified": 0, "nUpserted": 0"#), None);
        assert_eq!(ran(r#"false}, "nMatched": 0, "nModified": 0"#), None, "an older server");
        assert_eq!(ran(r#"true}, "nMatched": 0, "nModified": 0, "nUpserted": 1"#), told);
        assert_eq!(ran(r#"true}, "nMatched": 0, "nModified": 0"#), told, "it may have added one");
        assert_eq!(ran(r#"false}, "nMatched": 1, "nModified": 1"#), told);
        assert_eq!(ran("false}"), told, "nobody says");
    }

    #[test]
    fn dm_08_2_validators_and_declared_caps_bound_it() {
        let options = r#"options {"validator": {"$jsonSchema": {"properties": {"log": {"bsonType": "array", "maxItems": 50}}}}}"#;
        assert!(check("W007", &format!("{options}\n{PUSH}")).is_empty());
        assert!(check_with("W007", "cap=db_shop.t_order_item:log:50", PUSH).is_empty());
    }

    #[test]
    fn dm_08_2_alg_6_lengths_that_do_not_rise_with_age_are_no_growth() {
        let lengths = [2, 1, 3, 1, 2, 3, 3, 1, 2, 1, 3, 2, 2];
        let mut body = String::new();
        for i in 0..200_usize {
            // ObjectIds a day apart.
            let id = format!("{:08x}{:016x}", 1_700_000_000 + i * 86_400, i);
            let tags = &["a", "b", "c"][..lengths[i * 7 % 13]];
            body += &format!("{{\"_id\": {{\"$oid\": \"{id}\"}}, \"log\": {tags:?}}}\n");
        }
        assert_eq!(check("W007", &(body + PUSH))[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_08_4_caps_bound_an_array_as_long_as_they_are_kept() {
        let found = |validator: &str, more: &str, length: usize| {
            let body = format!(
                "options {{\"validator\": {validator}{more}}}\nx5 {{\"_id\": $i, \"log\": $array({length}, $j)}}\n{PUSH}"
            );
            check("W007", &body)
        };
        let plain = r#"{"$jsonSchema": {"properties": {"log": {"maxItems": 50}}}}"#;
        let part = r#"{"$jsonSchema": {"allOf": [{"properties": {"log": {"maxItems": 50}}}]}}"#;
        let query = r#"{"log.50": {"$exists": false}}"#;
        for validator in [plain, part, query] {
            assert!(found(validator, "", 7).is_empty(), "{validator}");
            assert_eq!(found(validator, r#", "validationLevel": "off""#, 7).len(), 1);
            let broken = found(validator, "", 60);
            assert!(broken[0].what.contains("the limit of 50 in the validator"), "{validator}");
        }
        let body = format!("x5 {{\"_id\": $i, \"log\": $array(60, $j)}}\n{PUSH}");
        assert_eq!(check_with("W007", "cap=db_shop.t_order_item:log:50", &body).len(), 1);
    }

    #[test]
    fn dm_08_2_arrays_inside_arrays_are_named_and_get_no_command() {
        let push = r#"ran x20 {"command": {"q": {"_id": 7, "items.sku": 1}, "u": {"$push": {"items.$.log": 1}}}}"#;
        let documents = r#"x5 {"_id": $i, "items": [{"sku": 1, "log": [1, 2]}]}"#;
        for body in [push.to_owned(), format!("{documents}\n{push}")] {
            let found = check("W007", &body);
            assert_eq!(found[0].at.path().map(|p| p.as_str()), Some("items[].log"));
            assert!(found[0].fix.is_none(), "{:?}", found[0].fix);
        }
        let cap = "cap=db_shop.t_order_item:items[].log:50";
        assert!(check_with("W007", cap, push).is_empty());
    }

    #[test]
    fn dm_08_2_thresholds_of_a_namespace_are_heard() {
        let at = ("W007", "min-count", docward_model::ThresholdSetting::Int(21));
        assert!(crate::testing::check_at("W007", PUSH, at).is_empty());
    }
}
