//! ER-*, DM-07.*, LM-7: what data alone says about each relation, row by row, and what it cannot say.

use docward_design::{Bounds, Choice, Ruling, Vote};
use docward_model::{Collection, CollectionKind, DataValue, Draft, Reference, Subject};

use super::r004_split_master_detail as r004;
use crate::facts::relations::{self, Relation, Tie};
use crate::facts::{fold, names, patterns, text, words};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Relationship advice
    ///
    /// ## What it checks
    /// For every field that refers to another collection it lets the rows of the decision tables vote
    /// that data can answer: how many children a parent has, how large they are together, whether they
    /// are shared, and whether a parent with its children comes near 16 MB, which is a veto. It lists
    /// what only a workload can answer and never decides without it: from 50 children on it does not
    /// lean to embedding, and neither for orders, comments, messages and the like, which keep coming.
    /// Where the parent shows a preview of the children, nothing is said.
    ///
    /// ## Why it matters
    /// Embed or reference is the choice that costs most to change later. The figures are in the data;
    /// what is missing is whether both sides are read and written together.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_blog.t_comment
    /// x30 {"postId": 1, "text": "well said"}
    /// x30 {"postId": 2, "text": "well said"}
    /// x30 {"postId": 3, "text": "well said"}
    /// @ db_blog.t_post
    /// {"_id": 1}
    /// {"_id": 2}
    /// {"_id": 3}
    /// ```
    /// Without a reference there is nothing to weigh:
    /// ```jsonl,clean,ns=db_blog.t_comment
    /// x30 {"text": "well said"}
    /// ```
    ///
    /// ## How to fix
    /// Nothing has to be done. Answer the open questions; when both sides are read together and the rows
    /// lean to embedding, embed. When they lean to referencing and a list needs two or three fields of
    /// the other side, copy those beside the reference.
    ///
    /// ## When to ignore it
    /// The decision has been made and written down.
    R013, "relationship-advice",
    level: Information,
    clauses: [
        "ER-M.3", "ER-M.4", "ER-M.5", "ER-M.6", "ER-F.3", "ER-F.6", "ER-F.7", "ER-T.1", "ER-T.2",
        "ER-T.3", "ER-T.5", "ER-T.6", "ER-X.1", "DM-07.3", "DM-07.5", "DM-07.6", "DM-08.2", "LM-7",
    ],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [FEW, MANY, SMALL_BYTES, SAFE_BYTES],
    check: Collection(check),
}

threshold!(
    FEW,
    "few",
    Int(50),
    "children per parent",
    "LM-7",
    "children per parent (99th percentile) below which they are few"
);
threshold!(
    MANY,
    "many",
    Int(1000),
    "children per parent",
    "LM-7",
    "children per parent (99th percentile) from which they are never embedded whole"
);
threshold!(
    SMALL_BYTES,
    "small-bytes",
    Int(102_400),
    "bytes",
    "DM-05.1",
    "bytes of all children of a parent (99th percentile) up to which they are small"
);
threshold!(
    SAFE_BYTES,
    "safe-bytes",
    Int(1_677_721),
    "bytes",
    "CK-14",
    "projected bytes of a parent with its children above which embedding is vetoed"
);

/// Share of the values that must exist on the other side for the relation to be advised on.
const SURE: f64 = 0.9;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    if patterns::user_documents(collection).is_none() {
        return;
    }
    let bounds = Bounds {
        few: cx.count(&FEW),
        many: cx.count(&MANY),
        small_bytes: cx.count(&SMALL_BYTES),
        safe_bytes: cx.count(&SAFE_BYTES),
        ..Bounds::default()
    };
    let evidence = cx.evidence();
    let ns = &collection.namespace;
    let mut drafts = Vec::new();
    // A collection that refers to itself is a tree; there is nothing to embed it in.
    let sure = |r: &&Reference| r.from == *ns && r.to != *ns && r.contained >= SURE;
    for reference in evidence.references.iter().filter(sure) {
        // `R004` says more about masters and their details.
        if r004::judge(evidence, reference, &r004::Limits::of(cx.settings(), ns)).is_some() {
            continue;
        }
        // Logs, sessions and the like are kept apart whatever their number.
        if let Some(relation) = Relation::of(evidence, reference)
            && relation.child.kind == CollectionKind::Plain
            && !words::is_auxiliary_name(&relation.child.namespace.collection)
            && !has_preview(&relation)
        {
            drafts.push(draft(collection, &relation, &relations::ruling(&relation, &bounds)));
        }
    }
    fold::report(cx, ns, drafts, "refer to other collections");
}

/// Whether the parent shows the newest few of the children already: the decision has been made, and
/// `R020` names the pattern.
fn has_preview(relation: &Relation<'_>) -> bool {
    let noun = |name: &str| names::words(name).last().map(|w| words::singular(w));
    let child = noun(&relation.child.namespace.collection);
    relation.parent.profile.as_ref().is_some_and(|profile| {
        profile
            .fields
            .iter()
            .any(|f| noun(&f.name) == child && patterns::preview(profile, f).is_some())
    })
}

/// What data cannot answer: read together, written together, the child asked for alone, both changed
/// at once.
const OPEN: &[&str] = &["ER-M.1", "ER-M.2", "ER-M.7", "ER-T.4"];

fn draft(collection: &Collection, relation: &Relation<'_>, ruling: &Ruling) -> Draft {
    // What only a workload answers is listed apart; the branches of the tree say what it would decide.
    let rows: Vec<_> = ruling
        .rows
        .iter()
        .filter(|row| row.vote != Vote::Open || row.rows.contains(&"ER-T.2"))
        .collect();
    let ns = &collection.namespace;
    let (child, parent) = (&relation.child.namespace, &relation.parent.namespace);
    let path = &relation.reference.path;
    let (p50, p99, max) = relation.children;
    let count = |vote| rows.iter().filter(|r| r.vote == vote).count();
    let said: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row.rows[0], row.vote.name())).collect();
    let leaning = match (ruling.choice, count(Vote::Veto)) {
        (_, 1..) => "the data alone vetoes embedding".to_owned(),
        (Choice::Embed, _) => format!(
            "the data alone leans to embedding `{}` in `{}`",
            child.collection, parent.collection
        ),
        _ => "the data alone leans to the reference".to_owned(),
    };
    let direction = if relation.tie == Tie::ParentHoldsChildren && p99 >= 1000 {
        format!(
            "; let `{}` hold the id of its `{}` in place of the list",
            child.collection, parent.collection
        )
    } else {
        String::new()
    };
    let caution =
        if relation.complete { "" } else { "; counts come from a sample and are lower bounds" };
    let kind = match relation.tie {
        Tie::OneToOne => "one to one",
        Tie::ChildHoldsParent | Tie::ParentHoldsChildren => "one to many",
        Tie::ManyToMany => "many to many",
    };
    let seen = collection.profile.as_ref().map_or_else(
        || docward_model::Seen::all(0, docward_model::Unit::Documents),
        docward_model::Profile::seen,
    );
    Draft::new(
        Subject::Field(ns.clone(), path.clone()),
        format!(
            "`{path}` refers to {}, {kind}: {} of `{}` for one of `{}` at the median, {} at p99, {} at most, {} each",
            relation.reference.target(),
            text::count(p50),
            child.collection,
            parent.collection,
            text::count(p99),
            text::count(max),
            text::bytes(relation.child_bytes)
        ),
        "embed or reference is the choice that costs most to change later, and data answers only a part of it",
        format!(
            "{leaning} ({}); the workload decides: are both read and written together ({}){direction}{caution}",
            said.join(", "),
            OPEN.join(", ")
        ),
        seen,
    )
    // The rows that voted are named in the advice.
    .clauses(&["ER-X.1", "LM-7"])
    .data("target", relation.reference.to.to_string())
    .data("p50", p50)
    .data("p99", p99)
    .data("max", max)
    .data("childBytes", relation.child_bytes)
    .data("projectedBytes", relation.projected())
    .data(
        "votes",
        rows.iter()
            .map(|row| {
                DataValue::Map(vec![
                    ("rows".to_owned(), row.rows.to_vec().into()),
                    ("vote".to_owned(), row.vote.name().into()),
                    ("because".to_owned(), row.because.as_str().into()),
                ])
            })
            .collect::<Vec<_>>(),
    )
    .data("open", OPEN.to_vec())
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use docward_model::Severity;

    fn body(children: u32) -> String {
        let mut body = String::from("@ db_blog.t_post\nx5 {\"_id\": $i}\n@ db_blog.t_comment\n");
        for post in 0..5 {
            body.push_str(&format!("x{children} {{\"postId\": {post}}}\n"));
        }
        body
    }

    fn todo(children: u32) -> String {
        let found = check("R013", &body(children));
        assert_eq!(found.len(), 1, "{children}");
        assert_eq!(found[0].severity, Severity::Info);
        found[0].todo.clone()
    }

    #[test]
    fn lm_7_the_bounds_change_the_advice() {
        assert!(todo(49).contains("ER-T.1 embed"), "{}", todo(49));
        assert!(todo(50).contains("ER-T.2 open"), "{}", todo(50));
        assert!(todo(999).contains("ER-T.2 open"), "{}", todo(999));
        assert!(todo(1000).contains("veto"), "{}", todo(1000));
    }

    #[test]
    fn the_advice_is_no_longer_than_that_of_other_rules() {
        for children in [4, 49, 50, 1000] {
            assert!(todo(children).chars().count() < 260, "{}", todo(children));
        }
    }

    #[test]
    fn er_x_1_rows_and_open_questions_are_listed() {
        let text = todo(30);
        for row in ["ER-M.4", "ER-M.5", "ER-M.6", "ER-M.1", "ER-T.4"] {
            assert!(text.contains(row), "{row} in {text}");
        }
    }

    #[test]
    fn er_t_5_ids_listed_by_the_parent_in_thousands_should_move_to_the_child() {
        let ids: Vec<String> = (0..1200).map(|i| (i + 100).to_string()).collect();
        let body = format!(
            "@ db_ops.t_host\n{{\"_id\": 1, \"entryIds\": [{}]}}\n@ db_ops.t_entry\nx1300 {{\"_id\": $i}}\n",
            ids.join(", ")
        );
        let found = check("R013", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("ER-T.5 veto"), "{}", found[0].todo);
        assert!(found[0].todo.contains("in place of the list"), "{}", found[0].todo);
    }

    #[test]
    fn er_t_3_a_bounded_list_of_ids_may_stay() {
        let ids: Vec<String> = (0..300).map(|i| i.to_string()).collect();
        let body = format!(
            "@ db_ops.t_host\n{{\"_id\": 1, \"entryIds\": [{}]}}\n@ db_ops.t_entry\nx300 {{\"_id\": $i}}\n",
            ids.join(", ")
        );
        let found = check("R013", &body);
        assert!(found[0].todo.contains("ER-T.2 open"), "{}", found[0].todo);
        assert!(!found[0].todo.contains("in place of the list"), "{}", found[0].todo);
    }

    #[test]
    fn er_m_3_dm_07_5_few_children_lean_to_embedding() {
        let text = check("R013", &body(4).replace("t_comment", "t_picture"))[0].todo.clone();
        assert!(text.contains("leans to embedding"), "{text}");
        assert!(text.contains("ER-T.1 embed"), "{text}");
    }

    #[test]
    fn gc_06_from_fifty_children_on_data_alone_never_leans_to_embedding() {
        for children in [50, 60, 300, 990] {
            let text =
                check("R013", &body(children).replace("t_comment", "t_picture"))[0].todo.clone();
            assert!(text.starts_with("the data alone leans to the reference"), "{text}");
        }
    }

    #[test]
    fn dm_08_2_what_keeps_coming_is_never_advised_to_be_embedded() {
        for name in ["t_comment", "t_shop_order", "t_followers", "t_message", "t_reading"] {
            let text = check("R013", &body(4).replace("t_comment", name))[0].todo.clone();
            assert!(text.starts_with("the data alone leans to the reference"), "{name}: {text}");
            assert!(text.contains("DM-08.2 reference"), "{name}: {text}");
        }
    }

    #[test]
    fn pt_subset_1_children_of_a_preview_are_left_alone() {
        let mut text = String::from(
            "@ db_shop.t_product\nx5 {\"_id\": $i, \"reviewCount\": 30, \"recentReviews\": $array(3, {\"text\": \"a\"})}\n@ db_shop.t_review\n",
        );
        for product in 0..5 {
            text.push_str(&format!("x30 {{\"productId\": {product}}}\n"));
        }
        assert_eq!(check("R013", &text), []);
        assert_eq!(check("R013", &text.replace("recentReviews", "labels")).len(), 1);
    }

    #[test]
    fn er_m_4_er_f_3_bytes_per_child_times_children_are_weighed() {
        let found = check("R013", &body(30));
        let votes = format!("{:?}", found[0].data.get("votes"));
        assert!(found[0].todo.contains("ER-M.4 embed"), "{}", found[0].todo);
        assert!(votes.contains("30 ×"), "{votes}");
    }

    #[test]
    fn er_m_5_dm_07_6_what_many_share_is_referenced() {
        let body = "@ db_shop.t_product\nx8 {\"_id\": $i}\n@ db_shop.t_order\n\
                    x40 {\"_id\": $i, \"items\": [{\"productId\": 1}, {\"productId\": 2}, {\"productId\": 3}]}\n";
        let found = check("R013", body);
        assert_eq!(found.len(), 1);
        assert!(found[0].todo.contains("ER-M.5 reference"), "{}", found[0].todo);
    }

    #[test]
    fn er_t_2_from_fifty_children_on_the_workload_decides() {
        assert!(todo(200).contains("ER-T.2 open"), "{}", todo(200));
    }
}
