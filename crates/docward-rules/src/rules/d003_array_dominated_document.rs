//! DM-05.3, AP-S2.2: oversized documents that are mostly one array become one document per element.

use docward_model::{Collection, Draft, Field, Profile, Safety, Severity, Subject};

use crate::facts::growth::arrays::{self, Limits, Owner};
use crate::facts::thresholds::d003::{MAX_BYTES, MIN_SHARE};
use crate::facts::{growth::patterns, remedies::proposals, text, values::sizes};
use crate::{Cx, declare_rule};

use super::d001_large_document;

declare_rule! {
    /// # Array-dominated document
    ///
    /// ## What it checks
    /// Examines documents larger than 100 KB. Reports an array that holds more than half of the bytes in most of
    /// them. It is a note if fewer than 0.1 % of the documents are that large, and none is larger than 1 MB.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - arrays that grow without limit, which D008 reports
    /// - arrays of ids, and arrays that are long only in a few documents, which R006 and R008 report
    /// - buckets, previews, vectors and geometries
    ///
    /// ## Why it matters
    /// Every read of such a document loads the whole list, even if the query needs one name or one flag. Every
    /// update writes the whole list back.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_user
    /// x5 {"_id": $i, "name": "Ada", "posts": $array(300, {"title": "Post $j", "text": "$pad(400)"})}
    /// ```
    /// One document per element with a reference to the parent; the parent keeps a counter:
    /// ```jsonl,clean,ns=db_shop.t_user
    /// x5 {"_id": $i, "name": "Ada", "postCount": 300}
    /// @ db_shop.t_post
    /// x50 {"_id": $i, "userId": 1, "title": "Post", "text": "$pad(400)"}
    /// ```
    ///
    /// ## How to fix
    /// Create the child collection and its index, and copy the elements with the `_id` of the parent. Switch the
    /// readers, then remove the array.
    ///
    /// ## When to ignore it
    /// The list is always read and written as a whole, and its length has a known limit. Declare the limit under
    /// `[[collections.bounded]]`.
    D003, "array-dominated-document",
    level: Recommended,
    area: Growth,
    severities: [Warn, Info],
    clauses: ["DM-05.3", "AP-S2.2", "DM-08.1"],
    maturity: Stable,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [MAX_BYTES, MIN_SHARE],
    data: ["bytesPerElement", "child", "documentsOver", "elements", "limit", "max", "p99", "parentId"],
    check: Collection(check),
}

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(profile) = patterns::user_documents(collection) else { return };
    let limits = Limits::of(cx.settings(), &collection.namespace);
    for field in &profile.fields {
        let Some(array) = &field.array else { continue };
        let owner =
            arrays::owner(cx.settings(), cx.evidence(), collection, profile, field, &limits);
        if owner != Some(Owner::Dominates) {
            continue;
        }
        let ns = &collection.namespace;
        let child = proposals::child(cx.evidence(), cx.settings(), collection, profile, field);
        let each = child.document_bytes(profile, field);
        let over = profile.documents_larger_than(cx.count(&MAX_BYTES));
        let large = array.lengths.max >= limits.elements;
        let is_rare = profile.sizes.max <= sizes::CORE_LIMIT
            && over * d001_large_document::RARE < profile.documents;
        let open_bucket = patterns::is_open_bucket(profile, field);
        let tree = contains_itself(profile, field);
        let mut draft = Draft::new(
            Subject::Field(ns.clone(), field.path.clone()),
            format!(
                "`{}` takes {} of the bytes of this collection (up to {} and {} per document); {} larger than {}",
                field.path,
                text::percent(field.bytes as f64 / profile.sizes.sum.max(1) as f64),
                text::plural(array.lengths.max, "element"),
                text::bytes(array.bytes.max),
                text::verb(over, "document is", "documents are"),
                text::bytes(cx.count(&MAX_BYTES)),
            ),
            "MongoDB reads and rewrites the whole array whenever it reads or updates the document",
            if open_bucket {
                proposals::close_bucket(field)
            } else if tree {
                "the array is a tree: store one document per node with the id of its parent, or a flat array of nodes with their paths".to_owned()
            } else {
                format!(
                "move each element to a document in `{}` with `{}` and the index {} ({} of about {} each); keep `{}` in `{}`; {}",
                child.collection,
                child.parent_id,
                child.index,
                text::in_all(profile, array.lengths.sum, |n| text::plural(n, "document")),
                text::bytes(each),
                child.counter,
                ns.collection,
                child.ids(),
            )
            },
            profile.seen().showing(over),
        )
        .data("elements", array.lengths.sum)
        .data("p99", array.lengths.p99())
        .data("max", array.lengths.max)
        .data("bytesPerElement", arrays::value_bytes(field))
        .data("documentsOver", over)
        .data("limit", cx.count(&MAX_BYTES))
        .data("child", child.collection.clone())
        .data("parentId", child.parent_id.clone())
        .severity(if is_rare { Severity::Info } else { Severity::Warn })
        .clauses(if large { &["DM-05.3", "AP-S2.2", "DM-08.1"] } else { &["DM-05.3", "AP-S2.2"] });
        debug_assert!(cx.limit(&MIN_SHARE) == limits.owned_share, "one reading of the threshold");
        if !open_bucket
            && !tree
            && let Some(steps) = proposals::split(ns, profile, field, &child)
        {
            draft = draft.plan(Some("RF-01"), Safety::Manual, steps);
        }
        cx.report(draft);
    }
}

/// Whether the elements contain an array of the same name: a tree, of which a single level cannot be moved.
fn contains_itself(profile: &Profile, field: &Field) -> bool {
    profile.element(field).is_some_and(|element| {
        profile.children(element).any(|c| c.array.is_some() && c.name == field.name)
    })
}

#[cfg(test)]
mod tests {
    use crate::testing;

    /// Texts are written as TEXT: a placeholder of the grammar per element would make tests slow.
    fn filled(body: &str) -> String {
        body.replace("TEXT", &"lorem ipsum ".repeat(34))
    }

    fn check(code: &str, body: &str) -> Vec<docward_model::Finding> {
        testing::check(code, &filled(body))
    }

    fn check_with(code: &str, settings: &str, body: &str) -> Vec<docward_model::Finding> {
        testing::check_with(code, settings, &filled(body))
    }

    const USER: &str = "x5 {\"_id\": $i, \"name\": \"Ada\", \"posts\": $array(300, {\"title\": \"Post\", \"text\": \"TEXT\"})}";

    #[test]
    fn dm_05_3_a_tree_is_not_cut_at_its_first_level() {
        let leaf = r#"{"name": "$pad(400)"}"#;
        let node = format!(r#"{{"name": "a", "kids": $array(150, {leaf})}}"#);
        let body = format!(r#"{{"_id": 1, "kids": [{node}, {node}, {node}]}}"#);
        let found = check("D003", &body);
        let tree = found.iter().find(|f| f.at.path().is_some_and(|p| p.as_str() == "kids"));
        let tree = tree.expect("the tree is reported");
        assert!(tree.todo.contains("one document per node"), "{}", tree.todo);
        assert!(tree.fix.is_none());
    }

    #[test]
    fn dm_05_3_the_child_is_named_with_its_reference() {
        let found = check_with("D003", "ns=db_shop.t_user", USER);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].at.path().map(|p| p.as_str()), Some("posts"));
        assert!(found[0].todo.contains("`t_post` with `userId`"), "{}", found[0].todo);
        assert!(found[0].todo.contains("1,500 documents"), "{}", found[0].todo);
        let sampled = testing::check_sampled("D003", &filled(USER), 5000);
        assert!(sampled[0].todo.contains("about 1,500,000 documents"), "{}", sampled[0].todo);
        assert_eq!(found[0].clauses, ["DM-05.3", "AP-S2.2"]);
    }

    #[test]
    fn dm_05_3_the_index_uses_the_date_of_the_elements() {
        let body = "x5 {\"_id\": $i, \"posts\": $array(300, {\"date\": ISODate(\"2024-03-01T00:00:00Z\"), \"text\": \"TEXT\"})}";
        let found = check_with("D003", "ns=db_shop.t_user", body);
        assert!(found[0].todo.contains("{ userId: 1, date: -1 }"), "{}", found[0].todo);
    }

    #[test]
    fn ap_s2_2_a_text_that_owns_the_bytes_is_not_an_array() {
        let body = "x5 {\"_id\": $i, \"tags\": $array(3, \"t$j\"), \"body\": \"$pad(200000)\"}";
        assert_eq!(check("D003", body), []);
    }

    #[test]
    fn small_documents_and_geometries_are_left_alone() {
        assert_eq!(check("D003", "x5 {\"_id\": $i, \"tags\": $array(30, \"t$j\")}"), []);
        let border = "x5 {\"_id\": $i, \"area\": {\"type\": \"Polygon\", \"coordinates\": [$array(9000, [1.5, 2.5])]}}";
        assert_eq!(check("D003", border), []);
    }

    #[test]
    fn dm_05_3_one_document_of_more_than_a_thousand_is_a_note() {
        let body =
            format!("x4500 {{\"_id\": -$i, \"name\": \"Ada\"}}\n{}", USER.replace("x5", "x4"));
        assert_eq!(check("D003", &body)[0].severity, docward_model::Severity::Info);
        assert_eq!(check("D003", USER)[0].severity, docward_model::Severity::Warn);
    }

    #[test]
    fn the_share_is_a_threshold() {
        let half = "x5 {\"_id\": $i, \"note\": \"$pad(100000)\", \"posts\": $array(120, {\"text\": \"TEXT\"})}";
        assert_eq!(check_with("D003", "ns=db_shop.t_user", half), []);
        assert_eq!(
            check_with("D003", "ns=db_shop.t_user,max-bytes=50000,min-share=0.1", USER).len(),
            1
        );
    }

    #[test]
    fn open_buckets_are_to_be_closed_not_split() {
        let body = "x20 {\"_id\": $i, \"roomId\": \"r\", \"date\": ISODate(\"2024-03-01T00:00:00Z\"), \"chats\": $array($i+1100, {\"ts\": ISODate(\"2024-03-01T10:00:00Z\"), \"text\": \"TEXT\"})}";
        let found = check("D003", body);
        assert!(found[0].todo.contains("`count` below 100"), "{}", found[0].todo);
        assert!(found[0].fix.is_none());
    }
}
