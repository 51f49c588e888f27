//! PT-poly.2: indexes on fields of one type only.

use docward_model::{
    Collection, Draft, Field, FieldShape, NewIndex, Profile, Safety, Step, Subject,
};

use crate::{
    Cx, declare_rule,
    facts::{indexes::is_plain, remedies::shell, text},
    threshold,
};

declare_rule! {
    /// # Full index on a type-specific field
    ///
    /// ## What it checks
    /// Reports full indexes whose first field belongs to only one type of document. This applies to collections
    /// with several types, which one field (the discriminator) distinguishes.
    ///
    /// A field belongs to one type if the number of documents with it matches, within 2 %, the number with one
    /// discriminator value. At least a fifth of the documents must lack the field.
    ///
    /// ## Why it matters
    /// The index holds a null for every document of the other types. It is larger than needed and is written on
    /// every insert.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// index {"key": {"payload_kg": 1}, "name": "payload_kg_1"}
    /// x40 {"_id": $i, "type": "car", "doors": 4}
    /// x20 {"_id": $i, "type": "truck", "payload_kg": 5000}
    /// x30 {"_id": $i, "type": "motorcycle", "engine_cc": 1200}
    /// ```
    /// ```jsonl,clean
    /// index {"key": {"payload_kg": 1}, "name": "payload_kg_1", "partialFilterExpression": {"type": "truck"}}
    /// x40 {"_id": $i, "type": "car", "doors": 4}
    /// x20 {"_id": $i, "type": "truck", "payload_kg": 5000}
    /// x30 {"_id": $i, "type": "motorcycle", "engine_cc": 1200}
    /// ```
    ///
    /// ## How to fix
    /// Build a partial index with `partialFilterExpression` on the discriminator, and name the type in the
    /// queries so that they can use it. Then drop the full index.
    ///
    /// ## When to ignore it
    /// Queries search the field without naming the type.
    I006, "full-index-on-type-specific-field",
    level: Recommended,
    area: Speed,
    clauses: ["PT-poly.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Indexes, Documents],
    thresholds: [MIN_OTHERS],
    data: ["discriminator", "documents", "index", "withField"],
    check: Collection(check),
}

threshold!(
    MIN_OTHERS,
    "min-other-share",
    Float(0.2),
    "share of documents",
    "our default",
    "minimum share of documents without the field for which a partial index pays off"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(indexes), Some(profile)) = (&collection.indexes, &collection.profile) else { return };
    let Some(kind) = profile.discriminator.as_ref().and_then(|d| profile.fields.get(d.field))
    else {
        return;
    };
    for index in indexes {
        let plain = is_plain(index)
            && !index.is_id()
            && !index.unique
            && !index.sparse
            && !index.hidden
            && index.partial_filter.is_none()
            && index.ttl_seconds.is_none();
        let Some(first) = index.keys.first().filter(|_| plain) else { continue };
        let top = first.path.split('.').next().unwrap_or(&first.path);
        let Some(field) = profile.top_level().find(|f| f.name == top) else { continue };
        let others = profile.documents.saturating_sub(field.count);
        if (others as f64) < cx.limit(&MIN_OTHERS) * profile.documents as f64
            || !is_of_one_type(profile, field, kind)
        {
            continue;
        }
        let ns = &collection.namespace;
        let filter = format!("{{{}: <its type>}}", shell::key(&kind.name));
        cx.report(
            Draft::new(
                Subject::Index(ns.clone(), index.name.clone()),
                format!(
                    "index `{}` {} covers {}, but only {} `{top}`: those with one value of `{}`",
                    index.name,
                    index.key_text(),
                    text::plural(profile.documents, "document"),
                    text::verb(field.count, "has", "have"),
                    kind.name
                ),
                "the index has an entry for every document of the other types, and each of their inserts updates it",
                format!(
                    "create it with `partialFilterExpression: {filter}`, add this filter to the queries, then drop the full index: about {} fewer entries ({})",
                    text::count(others),
                    text::percent(others as f64 / profile.documents as f64)
                ),
                profile.seen().showing(others),
            )
            .data("index", index.name.as_str())
            .data("documents", profile.documents)
            .data("withField", field.count)
            .data("discriminator", kind.name.as_str())
            .plan(
                Some("RF-18"),
                Safety::Manual,
                [Step::CreateIndex {
                    namespace: ns.clone(),
                    index: NewIndex {
                        keys: index.keys.clone(),
                        name: Some(format!("{}_partial", index.name)),
                        only_kinds_of: Some(kind.name.clone()),
                        ..NewIndex::default()
                    },
                }],
            ),
        );
    }
}

/// Whether the field belongs to one value of the discriminator: both occur in the same number of documents.
fn is_of_one_type(profile: &Profile, field: &Field, kind: &Field) -> bool {
    let close = |a: u64, b: u64| a.abs_diff(b) as f64 <= 0.02 * a.max(b) as f64;
    field.shape == FieldShape::Named
        && field.path != kind.path
        && field.count > 0
        && field.count < profile.documents
        && kind
            .enumeration
            .as_ref()
            .is_some_and(|values| values.iter().any(|(_, n)| close(*n, field.count)))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    const VEHICLES: &str = r#"x40 {"_id": $i, "type": "car", "brand": "a", "doors": 4, "trunk_size_liters": 450}
x25 {"_id": $i, "type": "truck", "brand": "b", "doors": 2, "payload_kg": 5000}
x30 {"_id": $i, "type": "motorcycle", "brand": "c", "engine_cc": 1200}"#;

    fn with(index: &str) -> Vec<docward_model::Finding> {
        check("I006", &format!("index {index}\n{VEHICLES}"))
    }

    #[test]
    fn pt_poly_2_a_full_index_on_payload_is_found() {
        let found = with(r#"{"key": {"payload_kg": 1}, "name": "payload_kg_1"}"#);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("only 25 have `payload_kg`"), "{}", found[0].what);
        assert!(found[0].todo.contains("about 70 fewer entries (74 %)"), "{}", found[0].todo);
        assert!(!found[0].todo.contains("truck"), "values stay out of the message");
    }

    #[test]
    fn pt_poly_2_common_fields_and_partial_indexes_pass() {
        for index in [
            r#"{"key": {"brand": 1}, "name": "i"}"#,
            r#"{"key": {"type": 1}, "name": "i"}"#,
            r#"{"key": {"doors": 1}, "name": "i"}"#,
            r#"{"key": {"payload_kg": 1}, "name": "i", "partialFilterExpression": {"type": "truck"}}"#,
            r#"{"key": {"payload_kg": 1}, "name": "i", "sparse": true}"#,
            r#"{"key": {"type": 1, "payload_kg": 1}, "name": "i"}"#,
        ] {
            assert!(with(index).is_empty(), "{index}");
        }
    }
}
