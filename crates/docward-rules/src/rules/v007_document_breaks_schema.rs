//! DM-11.3: documents that break the given schema.

use docward_model::{
    Checked, CheckedBreach, Collection, DataValue, Draft, FieldPath, Seen, Subject, Unit,
};

use crate::{Cx, declare_rule, facts::text};

declare_rule! {
    /// # Document breaks schema
    ///
    /// ## What it checks
    /// Reports each constraint of a schema that documents break, with their number and the `_id`s of the first
    /// ones. `docward schema check SCHEMA SOURCE…` reports this; `docward audit` compares documents with no
    /// schema.
    ///
    /// ObjectIds, UUIDs and whole numbers are listed as they are. Other ids may be confidential values and are
    /// printed only with `--show-values`.
    ///
    /// ## Why it matters
    /// When the schema becomes the collection's validator, level `strict` refuses every write of such a document,
    /// whatever it changes. No level removes these documents, because the server checks stored documents only
    /// when they are written.
    ///
    /// ## Example
    /// ```jsonl,fires
    /// schema {"$jsonSchema": {"required": ["price"], "properties": {"price": {"bsonType": "decimal"}}}}
    /// {"_id": 1, "price": {"$numberDecimal": "99.00"}}
    /// {"_id": 2, "price": "99.00"}
    /// ```
    /// ```jsonl,clean
    /// schema {"$jsonSchema": {"required": ["price"], "properties": {"price": {"bsonType": "decimal"}}}}
    /// {"_id": 1, "price": {"$numberDecimal": "99.00"}}
    /// ```
    ///
    /// ## How to fix
    /// Repair the documents, or extend the schema if the documents are correct. Until then apply it with action
    /// `warn`, then at level `moderate`. `docward schema apply` performs these steps.
    ///
    /// ## When to ignore it
    /// The schema describes a later version of these documents.
    V007, "document-breaks-schema",
    level: Mandatory,
    area: Writes,
    clauses: ["DM-11.3"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Schema],
    thresholds: [],
    data: ["atLeast", "documents", "ids", "keyword", "of", "refusedDocuments"],
    check: AnyCollection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(checked) = &collection.checked else { return };
    for breach in &checked.breaches {
        cx.report(of_breach(collection, checked, breach));
    }
    if checked.refused > 0 && checked.breaches.is_empty() {
        cx.report(of_all(collection, checked));
    }
}

fn seen(checked: &Checked) -> Seen {
    Seen::all(checked.documents, Unit::Documents)
}

fn of_breach(collection: &Collection, checked: &Checked, breach: &CheckedBreach) -> Draft {
    let namespace = collection.namespace.clone();
    // Only some of the invalid documents were examined in detail.
    let at_least = if checked.examined < checked.refused { "at least " } else { "" };
    let (subject, at) = if breach.path.is_empty() {
        (Subject::Collection(namespace), String::new())
    } else {
        (Subject::Field(namespace, FieldPath::new(&breach.path)), format!(" of `{}`", breach.path))
    };
    let what = match breach.keyword.as_str() {
        "required" => format!("required field `{}` is missing", breach.path),
        keyword => format!("constraint `{keyword}`{at} is broken"),
    };
    let opaque: Vec<&str> =
        breach.ids.iter().filter(|id| id.is_opaque).map(|id| id.text.as_str()).collect();
    let listed = match opaque.as_slice() {
        [] => String::new(),
        ids => format!(", the first with _id {}", ids[..ids.len().min(3)].join(", ")),
    };
    Draft::new(
        subject,
        format!(
            "{what} in {at_least}{}{listed}",
            text::part(breach.documents, checked.documents, "document")
        ),
        "if you apply the schema as a validator at level `strict`, the server rejects every write of such a document",
        "repair these documents, or extend the schema where they are correct; `docward schema test SCHEMA DOCUMENT` explains one document",
        seen(checked),
    )
    .data("keyword", breach.keyword.as_str())
    .data("documents", breach.documents)
    .data("atLeast", !at_least.is_empty())
    .data("of", checked.documents)
    .data("refusedDocuments", checked.refused)
    .data("ids", DataValue::List(opaque.into_iter().map(DataValue::from).collect()))
    .examples(breach.ids.iter().filter(|id| !id.is_opaque).map(|id| format!("_id {}", id.text)))
}

/// A server counted the documents, and none was examined here.
fn of_all(collection: &Collection, checked: &Checked) -> Draft {
    Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "{} {} the schema (counted by the server)",
            text::part(checked.refused, checked.documents, "document"),
            text::form_of(checked.refused, checked.documents, "breaks", "break")
        ),
        "if you apply the schema as a validator at level `strict`, the server rejects every write of such a document",
        "find them with the filter {$nor: [SCHEMA]}, and repair them or extend the schema",
        seen(checked),
    )
    .data("documents", checked.refused)
    .data("of", checked.documents)
    .data("refusedDocuments", checked.refused)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_11_3_each_constraint_is_counted_with_the_ids_that_break_it() {
        let schema = r#"schema {"$jsonSchema": {"required": ["price"], "properties": {"price": {"bsonType": "decimal"}}}}"#;
        let body = format!(
            "{schema}\nx3 {{\"_id\": $i, \"price\": \"99.00\"}}\n{{\"_id\": \"a@b.cn\"}}\n{{\"_id\": 9, \"price\": {{\"$numberDecimal\": \"1\"}}}}"
        );
        let found = check("V007", &body);
        let what: Vec<_> = found.iter().map(|finding| finding.what.as_str()).collect();
        assert_eq!(
            what,
            [
                "constraint `bsonType` of `price` is broken in 3 of 5 documents, the first with _id 0, 1, 2",
                "required field `price` is missing in 1 of 5 documents",
            ]
        );
        assert_eq!(found[1].examples, ["_id \"a@b.cn\""]);
    }
}
