//! DM-06.3: an index on a path that no document has.

use docward_model::{
    Collection, CollectionKind, DirectionKind, Draft, FieldPath, Index, Profile, Safety, Severity,
    Step, Subject,
};

use crate::{
    Cx, declare_rule,
    facts::{
        names::path_typos::{is_absent, nearest},
        text,
    },
    threshold,
};

declare_rule! {
    /// # Index on an absent field
    ///
    /// ## What it checks
    /// Compares the paths of index keys with the paths in the documents. Reports keys that no document has:
    /// - a warning if a similar path exists, which suggests a typing error
    /// - a note otherwise. Sparse, partial and TTL indexes are then not reported, because their fields may come
    ///   and go
    ///
    /// Collections are not checked if they have fewer than 100 documents or were only sampled. Paths that contain
    /// data as field names are not checked either.
    ///
    /// ## Why it matters
    /// The index holds one null per document and serves no query. The query that it was built for scans the
    /// collection.
    ///
    /// ## Example
    /// ```jsonl,fires,min-documents=3
    /// index {"key": {"customerID": 1}, "name": "customerID_1"}
    /// x3 {"_id": $i, "customerId": $i}
    /// ```
    /// ```jsonl,clean,min-documents=3
    /// index {"key": {"items.sku": 1}, "name": "items.sku_1"}
    /// x3 {"_id": $i, "items": [{"sku": "P$i"}]}
    /// ```
    ///
    /// ## How to fix
    /// Build the index on the existing path, then drop this one. Without a similar path, check whether the field
    /// is planned for a later release.
    ///
    /// ## When to ignore it
    /// The field belongs to a release that has not written documents yet.
    I005, "index-on-absent-field",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["DM-06.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Indexes, Documents],
    thresholds: [MIN_DOCUMENTS],
    data: ["absent", "index", "nearest"],
    check: Collection(check),
}

threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(100),
    "documents",
    "our default",
    "minimum number of documents that show that a field is absent"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(indexes), Some(profile)) = (&collection.indexes, &collection.profile) else { return };
    // A time series stores its fields inside buckets, under other paths.
    if profile.documents < cx.count(&MIN_DOCUMENTS)
        || profile.documents < profile.total
        || profile.fields_capped
        || collection.kind == CollectionKind::TimeSeries
    {
        return;
    }
    for index in indexes {
        let absent: Vec<(&str, Option<String>)> = index
            .keys
            .iter()
            .filter(|k| k.kind != DirectionKind::Text && is_absent(profile, &k.path))
            .map(|k| (k.path.as_str(), nearest(profile, &k.path, 2)))
            .collect();
        let typo = absent.iter().find_map(|(path, near)| Some((*path, near.clone()?)));
        let comes_and_goes =
            index.sparse || index.partial_filter.is_some() || index.ttl_seconds.is_some();
        if absent.is_empty() || (comes_and_goes && typo.is_none()) {
            continue;
        }
        report(collection, profile, index, &absent, typo, cx);
    }
}

fn report(
    collection: &Collection,
    profile: &Profile,
    index: &Index,
    absent: &[(&str, Option<String>)],
    typo: Option<(&str, String)>,
    cx: &mut Cx<'_>,
) {
    let ns = &collection.namespace;
    let paths: Vec<_> = absent.iter().map(|(path, _)| *path).collect();
    let key = if paths.len() == 1 { "key" } else { "keys" };
    let ttl = index.ttl_seconds.is_some();
    let why = if ttl {
        "documents without the field never expire"
    } else if paths.len() == index.keys.len() {
        "the index holds one null for each document and supports no query"
    } else {
        "the absent part of the key filters nothing, so the queries it was made for read too many documents"
    };
    let todo = match &typo {
        Some((path, near)) => format!(
            "the documents have `{near}`: create the index with it instead of `{path}`, then drop `{}`",
            index.name
        ),
        None => format!(
            "find out whether the field is planned; if not, hide `{}` and then drop it",
            index.name
        ),
    };
    let mut draft = Draft::new(
        Subject::Index(ns.clone(), index.name.clone()),
        format!(
            "no document of {} has the {key} {} of index `{}`",
            text::count(profile.documents),
            text::paths(&paths, 3),
            index.name
        ),
        why,
        todo,
        profile.seen(),
    )
    .paths(paths.iter().map(|path| FieldPath::new(*path)))
    .data("index", index.name.as_str())
    .data("absent", paths.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>());
    if let Some((_, near)) = &typo {
        draft = draft.data("nearest", near.as_str());
    } else {
        draft = draft
            .plan(
                Some("RF-20"),
                Safety::Safe,
                [Step::HideIndex { namespace: ns.clone(), index: index.name.clone() }],
            )
            // Without a likely typing error, the field may simply not have been written yet.
            .severity(Severity::Info);
    }
    cx.report(draft);
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    fn with(index: &str, documents: &str) -> Vec<docward_model::Finding> {
        check("I005", &format!("index {index}\n{documents}"))
    }

    const DEEP: &str = r#"x100 {"_id": $i, "a": {"b": {"c": {"d": {"e": {"f": {"g": {"value": 1}}}}}}}, "customerId": 1, "items": [{"sku": 1}]}"#;

    #[test]
    fn dm_06_3_a_slip_in_a_deep_path_is_named() {
        let found = with(r#"{"key": {"a.b.c.d.e.f.h.value": 1}, "name": "deep"}"#, DEEP);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("`a.b.c.d.e.f.g.value`"), "{}", found[0].todo);
        assert_eq!(found[0].severity, Severity::Warn);
    }

    #[test]
    fn dm_06_3_existing_paths_pass() {
        for key in ["customerId", "items.sku", "items.0.sku", "a.b", "_id", "$**", "a.b.$**"] {
            let index = format!(r#"{{"key": {{"{key}": 1}}, "name": "i"}}"#);
            assert!(with(&index, DEEP).is_empty(), "{key}");
        }
    }

    #[test]
    fn dm_06_3_optional_indexes_need_a_near_path() {
        for more in [
            r#""sparse": true"#,
            r#""expireAfterSeconds": 0"#,
            r#""partialFilterExpression": {"x": 1}"#,
        ] {
            assert!(
                with(&format!(r#"{{"key": {{"expireAt": 1}}, "name": "i", {more}}}"#), DEEP)
                    .is_empty(),
                "{more}"
            );
            let near = format!(r#"{{"key": {{"customerID": 1}}, "name": "i", {more}}}"#);
            assert_eq!(with(&near, DEEP).len(), 1, "{more}");
        }
        let plain = with(r#"{"key": {"expireAt": 1}, "name": "i"}"#, DEEP);
        assert_eq!(plain[0].severity, Severity::Info);
    }

    #[test]
    fn dm_06_3_few_documents_and_data_keys_are_not_judged() {
        let few = DEEP.replace("x100", "x99");
        assert!(with(r#"{"key": {"customerID": 1}, "name": "i"}"#, &few).is_empty());
        let map = r#"x200 {"_id": $i, "perUser": {"u$i": {"n": 1}}}"#;
        assert!(with(r#"{"key": {"perUser.admin.n": 1}, "name": "i"}"#, map).is_empty());
        assert_eq!(
            check_with(
                "I005",
                "min-documents=50",
                &format!("index {{\"key\": {{\"customerID\": 1}}, \"name\": \"i\"}}\n{few}")
            )
            .len(),
            1
        );
    }

    #[test]
    fn dm_06_3_text_indexes_pass() {
        let text = r#"{"key": {"_fts": "text", "_ftsx": 1}, "name": "t", "weights": {"plot": 1}}"#;
        assert!(with(text, DEEP).is_empty());
    }
}
