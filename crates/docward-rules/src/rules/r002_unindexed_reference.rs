//! PT-ref.1: a field that refers to another collection needs an index that begins with it.

use docward_model::{
    Collection, DirectionKind, Draft, FieldPath, Index, NewIndex, Reference, Safety, Severity,
    Step, Subject,
};

use crate::facts::{growth::patterns, relations, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Unindexed reference
    ///
    /// ## What it checks
    /// Reports fields that hold the `_id`s of another collection, if no index begins with the field. Only
    /// collections with 1000 documents or more are checked.
    ///
    /// - A reference inside an array is a note: such references are mostly followed through the `_id` of the
    ///   other collection.
    /// - A field is not reported if one value matches more than half of the documents on average. An index would
    ///   not help.
    ///
    /// ## Why it matters
    /// Without an index, "all comments of this post" reads the whole collection. `$lookup` does the same for
    /// every document.
    ///
    /// ## Example
    /// ```jsonl,fires,min-documents=100,ns=db_blog.t_comment
    /// x50 {"postId": 1}
    /// x50 {"postId": 2}
    /// x50 {"postId": 3}
    /// index {"key": {"userId": 1, "postId": 1}, "name": "userId_1_postId_1"}
    /// @ db_blog.t_post
    /// {"_id": 1}
    /// {"_id": 2}
    /// {"_id": 3}
    /// ```
    /// An index begins with the field:
    /// ```jsonl,clean,min-documents=100,ns=db_blog.t_comment
    /// x50 {"postId": 1}
    /// x50 {"postId": 2}
    /// x50 {"postId": 3}
    /// index {"key": {"postId": 1, "createTime": -1}, "name": "postId_1_createTime_-1"}
    /// @ db_blog.t_post
    /// {"_id": 1}
    /// {"_id": 2}
    /// {"_id": 3}
    /// ```
    ///
    /// ## How to fix
    /// Create an index that begins with the field. Append the field by which the list is sorted.
    ///
    /// ## When to ignore it
    /// The reference is only followed from this document to the other one. The `_id` index of the other
    /// collection supports this.
    R002, "unindexed-reference",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["PT-ref.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Indexes, Documents],
    thresholds: [MIN_DOCUMENTS, MAX_SHARE],
    data: ["documents", "perParent", "target"],
    check: Collection(check),
}

threshold!(
    MIN_DOCUMENTS,
    "min-documents",
    Int(1000),
    "documents",
    "our default",
    "minimum number of documents in the collection"
);
threshold!(
    MAX_SHARE,
    "max-share",
    Float(0.50),
    "share of documents",
    "our default",
    "maximum share of documents with one value for an index to be useful"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let (Some(profile), Some(indexes)) =
        (patterns::user_documents(collection), &collection.indexes)
    else {
        return;
    };
    let documents = profile.total.max(profile.documents);
    if documents < cx.count(&MIN_DOCUMENTS) {
        return;
    }
    let max_share = cx.limit(&MAX_SHARE);
    let evidence = cx.evidence();
    let ns = &collection.namespace;
    for reference in evidence.references.iter().filter(|r| r.from == *ns) {
        let path = reference.path.dotted();
        // Folded keys have no path that an index could use.
        if path == "_id"
            || path.contains('*')
            || serves(indexes, &path)
            || relations::is_copy_in_id(collection, reference)
        {
            continue;
        }
        if reference.children_per_parent.mean() > max_share * profile.documents as f64 {
            continue;
        }
        cx.report(draft(collection, reference, indexes, documents, &path));
    }
}

/// Whether an index begins with the path, or covers every path.
fn serves(indexes: &[Index], path: &str) -> bool {
    indexes.iter().filter(|i| !i.hidden && i.partial_filter.is_none()).any(|index| {
        index.keys.first().is_some_and(|key| {
            let covers = key.path == path
                || key.path == "$**"
                || key.path.strip_suffix(".$**").is_some_and(|stem| {
                    path.strip_prefix(stem)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                });
            covers && !matches!(key.kind, DirectionKind::Text | DirectionKind::Geo(_))
        })
    })
}

fn draft(
    collection: &Collection,
    reference: &Reference,
    indexes: &[Index],
    documents: u64,
    path: &str,
) -> Draft {
    let ns = &collection.namespace;
    let to = &reference.to;
    let behind = indexes
        .iter()
        .find(|i| i.keys.iter().skip(1).any(|k| k.path == path))
        .map(|i| format!("; index `{}` contains it, but not as the first field", i.name))
        .unwrap_or_default();
    let listed = reference.path.in_array();
    let per_parent = reference.children_per_parent.mean().round().max(1.0) as u64;
    let seen = collection.profile.as_ref().map_or_else(
        || docward_model::Seen::all(documents, docward_model::Unit::Documents),
        |p| p.seen(),
    );
    let is_sample = collection.profile.as_ref().is_some_and(|p| p.documents < p.total);
    let draft = Draft::new(
        Subject::Field(ns.clone(), FieldPath::new(reference.path.as_str())),
        format!(
            "`{}` refers to {}, and no index begins with it{behind}",
            reference.path,
            reference.target()
        ),
        "a query by this reference, or a $lookup from the other collection, reads the whole collection",
        format!(
            "create an index on `{path}`: \"all `{}` of one `{}`\" reads {} documents without it and {} with it",
            ns.collection,
            to.collection,
            text::count(documents),
            // A sample shows fewer of each than exist.
            if is_sample { "only its own".to_owned() } else { format!("about {}", text::count(per_parent)) }
        ),
        seen,
    )
    .data("target", to.to_string())
    .data("documents", documents)
    .data("perParent", per_parent)
    .plan(
        Some("RF-20"),
        Safety::Safe,
        [Step::CreateIndex { namespace: ns.clone(), index: NewIndex::ascending([path]) }],
    );
    if listed { draft.severity(Severity::Info) } else { draft }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use docward_model::Severity;

    fn body(documents: u32, index: &str) -> String {
        let mut body = String::from("@ db_blog.t_post\nx10 {\"_id\": $i}\n@ db_blog.t_comment\n");
        if !index.is_empty() {
            body.push_str(&format!("index {{\"key\": {index}, \"name\": \"i\"}}\n"));
        }
        for i in 0..documents {
            body.push_str(&format!("{{\"_id\": {i}, \"postId\": {}}}\n", i % 10));
        }
        body
    }

    #[test]
    fn pt_ref_1_a_copy_in_the_id_needs_no_index() {
        let mut body = String::from(
            "@ db_blog.t_post\nx10 {\"_id\": $i}\n@ db_blog.t_comment\nindex {\"key\": {\"postId\": 1}, \"name\": \"i\"}\n",
        );
        for i in 0..1000 {
            let post = i % 10;
            body.push_str(&format!(
                "{{\"_id\": {{\"postId\": {post}, \"no\": {i}}}, \"postId\": {post}}}\n"
            ));
        }
        assert_eq!(check("R002", &body), []);
    }

    #[test]
    fn pt_ref_1_a_reference_without_an_index_is_reported_from_1000_documents() {
        assert!(check("R002", &body(999, "")).is_empty());
        let found = check("R002", &body(1000, ""));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(
            found[0].todo.contains("reads 1,000 documents without it and about 100"),
            "{}",
            found[0].todo
        );
    }

    #[test]
    fn only_the_first_field_of_an_index_counts() {
        let few = |index| check_with("R002", "min-documents=100", &body(200, index)).len();
        assert_eq!(few("{\"postId\": 1, \"at\": 1}"), 0);
        assert_eq!(few("{\"postId\": \"hashed\"}"), 0);
        assert_eq!(few("{\"$**\": 1}"), 0);
        assert_eq!(few("{\"at\": 1, \"postId\": 1}"), 1);
    }
}
