//! ER-*, DM-07.*, LM-7: the results of data and workload for each relation, row by row, and the open rows.

use docward_design::{Bounds, Choice, Ruling, Vote};
use docward_model::{Collection, CollectionKind, DataValue, Draft, Reference, Subject};

use super::r004_split_master_detail as r004;
use crate::facts::relations::access::{Access, Share};
use crate::facts::relations::{self, Relation, Tie};
use crate::facts::{
    grouping,
    growth::patterns,
    names::{self, meaning},
    text,
};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Relationship advice
    ///
    /// ## What it checks
    /// For each field that refers to another collection, Docward applies the rows of the decision tables that the
    /// data can answer:
    /// - how many children a parent has
    /// - how large the children are together
    /// - whether several parents share them
    /// - whether a parent with its children comes near 16 MB, which excludes embedding
    ///
    /// The finding shows what the rows suggest and which questions only a workload can answer. Without a
    /// workload, embedding is not suggested from 50 children on, nor for children that keep coming, such as
    /// orders, comments and messages.
    ///
    /// ## Exceptions
    /// Not reported:
    /// - parents that already hold a preview of the children
    /// - a suggestion to embed that would rest on a sample of the children, which understates their number
    /// - pairs that R004 reports, trees, and auxiliary collections such as logs and sessions
    ///
    /// ## With a workload
    /// These rows are applied as well, if the workload answers them:
    /// - how often children are read without their parent (ER-M.7)
    /// - how often they are read with it (ER-M.1, ER-T.2)
    /// - how often they are changed without it (ER-M.2, DM-07.4)
    /// - how often both change in one transaction (ER-T.4)
    ///
    /// The workload must contain fast operations: the profiler at level 2, a `slowms` of 0 or below, or query
    /// statistics. Slow operations alone do not represent the frequent ones. These rows are not applied below 60
    /// operations, if unrecorded operations could change the result, or for many-to-many relationships.
    ///
    /// ## Why it matters
    /// The choice between embedding and referencing is the most expensive one to change later. The data contains
    /// the numbers. Only a workload shows whether both sides are read and written together.
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
    /// With a workload, more rows are answered:
    /// ```jsonl,fires,ns=db_blog.t_picture
    /// x4 {"postId": 1}
    /// x4 {"postId": 2}
    /// @ db_blog.t_post
    /// {"_id": 1}
    /// {"_id": 2}
    /// @ db_blog.t_picture
    /// ran x80 {"millis": 0, "command": {"find": "t_picture", "filter": {"postId": 1}}}
    /// ran x20 {"millis": 0, "command": {"find": "t_picture", "filter": {"colour": "red"}}}
    /// ```
    /// Without a reference there is nothing to decide:
    /// ```jsonl,clean,ns=db_blog.t_comment
    /// x30 {"text": "well said"}
    /// ```
    ///
    /// ## How to fix
    /// No change is required. Answer the open questions. Embed if both sides are read together and the rows
    /// suggest it. If the rows suggest referencing, copy the two or three fields that a list shows beside the
    /// reference.
    ///
    /// ## When to ignore it
    /// The decision has been made and documented.
    R013, "relationship-advice",
    level: Information,
    area: Hygiene,
    clauses: [
        "ER-M.1", "ER-M.2", "ER-M.3", "ER-M.4", "ER-M.5", "ER-M.6", "ER-M.7", "ER-F.1", "ER-F.2",
        "ER-F.3", "ER-F.4", "ER-F.6", "ER-F.7", "ER-T.1", "ER-T.2", "ER-T.3", "ER-T.4", "ER-T.5",
        "ER-T.6", "ER-X.1", "DM-07.2", "DM-07.3", "DM-07.4", "DM-07.5", "DM-07.6", "DM-08.2", "LM-7",
    ],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [FEW, MANY, SMALL_BYTES, SAFE_BYTES],
    data: ["answered", "childBytes", "decidedBy", "max", "measured", "open", "p50", "p99", "projectedBytes", "reason", "target", "votes"],
    check: Collection(check),
}

threshold!(
    FEW,
    "few",
    Int(50),
    "children per parent",
    "LM-7",
    "number of children per parent (99th percentile) below which they count as few"
);
threshold!(
    MANY,
    "many",
    Int(1000),
    "children per parent",
    "LM-7",
    "number of children per parent (99th percentile) at which Docward no longer embeds all of them"
);
threshold!(
    SMALL_BYTES,
    "small-bytes",
    Int(102_400),
    "bytes",
    "DM-05.1",
    "maximum size of all children of a parent (99th percentile) to count as small"
);
threshold!(
    SAFE_BYTES,
    "safe-bytes",
    Int(1_677_721),
    "bytes",
    "CK-14",
    "maximum projected size of a parent with its children for embedding"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    if patterns::user_documents(collection).is_none() {
        return;
    }
    let bounds = Bounds {
        few: cx.count(&FEW),
        many: cx.count(&MANY),
        small_bytes: cx.count(&SMALL_BYTES),
        safe_bytes: cx.count(&SAFE_BYTES),
        // Data alone does not request them.
        overflow_pages: false,
        ..Bounds::default()
    };
    let evidence = cx.evidence();
    let ns = &collection.namespace;
    let mut drafts = Vec::new();
    // A collection that refers to itself is a tree; it cannot be embedded.
    let sure = |r: &&Reference| r.from == *ns && r.to != *ns && r.agreement() >= relations::SURE;
    for reference in evidence.references.iter().filter(sure) {
        if relations::is_copy_in_id(collection, reference) {
            continue;
        }
        // `R004` reports masters and their details in more detail.
        if r004::judge(evidence, reference, &r004::Limits::of(cx.settings(), ns)).is_some() {
            continue;
        }
        // Logs, sessions and similar data are stored separately, regardless of their number.
        if let Some(relation) = Relation::of(evidence, reference)
            && relation.child.kind == CollectionKind::Plain
            && !meaning::is_auxiliary_name(&relation.child.namespace.collection)
            && !has_preview(&relation)
        {
            let ruling = relations::ruling(&relation, &bounds);
            // A sample of the children shows fewer of each parent than exist: too few to advise embedding.
            let is_counted = relation.complete || relation.tie == Tie::ParentHoldsChildren;
            if is_counted || ruling.choice == Choice::Reference {
                drafts.push(draft(collection, &relation, &ruling));
            }
        }
    }
    grouping::report(cx, ns, drafts, "refer to other collections");
}

/// Whether the parent already contains the newest few of the children: the decision was made, and `R020` names the
/// pattern.
fn has_preview(relation: &Relation<'_>) -> bool {
    let noun = |name: &str| names::words(name).last().map(|w| meaning::singular(w));
    let child = noun(&relation.child.namespace.collection);
    relation.parent.profile.as_ref().is_some_and(|profile| {
        profile
            .fields
            .iter()
            .any(|f| noun(&f.name) == child && patterns::preview(profile, f).is_some())
    })
}

/// Questions that data cannot answer: whether both are read together or written together, whether the child is read
/// alone, and whether both change atomically.
const QUESTIONS: &[&str] = &["ER-M.1", "ER-M.2", "ER-M.7", "ER-T.4"];

fn draft(collection: &Collection, relation: &Relation<'_>, ruling: &Ruling) -> Draft {
    // Rows that only a workload can answer are listed separately. The branches of the tree state the result of each
    // answer.
    let rows: Vec<_> = ruling
        .rows
        .iter()
        .filter(|row| row.vote != Vote::Open || row.rows.contains(&"ER-T.2"))
        .collect();
    let is_open = |question: &&str| {
        ruling.rows.iter().any(|row| row.vote == Vote::Open && row.rows.contains(question))
    };
    let (open, answered): (Vec<&str>, Vec<&str>) = QUESTIONS.iter().copied().partition(is_open);
    let ns = &collection.namespace;
    let (child, parent) = (&relation.child.namespace, &relation.parent.namespace);
    let path = &relation.reference.path;
    let (p50, p99, max) = relation.children;
    let said: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row.rows[0], row.vote.name())).collect();
    let said = said.join(", ");
    let is_vetoed = rows.iter().any(|row| row.vote == Vote::Veto);
    let leaning = match (ruling.choice, is_vetoed) {
        (_, true) => "the data rules out embedding".to_owned(),
        (choice, _) => {
            let who = match (answered.is_empty(), open.is_empty()) {
                (true, _) => "the data suggests",
                (false, false) => "data and workload suggest",
                (false, true) => "data and workload decide for",
            };
            match choice {
                Choice::Embed => {
                    let rivals = relation.rivals().iter().map(|ns| format!("`{}`", ns.collection));
                    let rivals: Vec<String> = rivals.collect();
                    let only_one = match rivals.as_slice() {
                        [] => String::new(),
                        rivals => format!(
                            " or in {}, whichever reads it more often (only one can contain it)",
                            rivals.join(" or ")
                        ),
                    };
                    format!(
                        "{who} embedding `{}` in `{}`{only_one}",
                        child.collection, parent.collection
                    )
                }
                Choice::Reference => format!("{who} the reference"),
            }
        }
    };
    // A single row before the count of the votes may decide.
    let reason = ruling.how.trim_start_matches("vetoed: ");
    let reason = match ruling.decided_by {
        ["ER-X.1" | "DM-07.1", ..] | [] => reason.to_owned(),
        _ if is_vetoed => reason.to_owned(),
        [row, ..] => format!("{reason}; {row} overrides the votes"),
    };
    let questions = match (answered.is_empty(), open.is_empty()) {
        (true, _) => format!(
            "; the workload decides whether both are read and written together ({})",
            open.join(", ")
        ),
        (false, false) => {
            format!("; measured: {}; still open: {}", measured(relation), open.join(", "))
        }
        (false, true) => format!("; measured: {}", measured(relation)),
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
    let draft = Draft::new(
        Subject::Field(ns.clone(), path.clone()),
        format!(
            "`{path}` refers to {} ({kind}); documents in `{}` per document in `{}`: {} at the median, {} at p99, {}; {} each",
            relation.reference.target(),
            child.collection,
            parent.collection,
            text::count(p50),
            text::count(p99),
            relation.maximum(),
            text::bytes(relation.child_bytes)
        ),
        if answered.is_empty() {
            "the choice between embedding and referencing is expensive to change later, and stored data answers only part of it"
        } else {
            "the choice to embed or to reference is expensive to change later; it depends on which data is read and written together"
        },
        format!("{leaning}: {reason} ({said}){questions}{direction}{caution}"),
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
    .data("decidedBy", ruling.decided_by.to_vec())
    .data("reason", reason)
    .data("open", open);
    if answered.is_empty() {
        return draft;
    }
    draft.data("answered", answered).data("measured", figures(&relation.access))
}

/// Describes the results of the workload.
fn measured(relation: &Relation<'_>) -> String {
    let Access { reads, updates, writes, .. } = relation.access;
    let access = &relation.access;
    let parent = &relation.parent.namespace.collection;
    let alone = access.queried_alone.map(|share| {
        let reads = text::plural(reads, "read");
        format!("{} of {reads} read it without its `{parent}`", text::percent(share))
    });
    let both = access.co_read.map(|share| {
        let bound = match share {
            Share::AtLeast(share) if share < 1.0 => "at least ",
            Share::AtMost(share) if share > 0.0 => "at most ",
            _ => "",
        };
        let reads = text::plural(reads, "read");
        format!("{bound}{} of {reads} also read `{parent}`", text::percent(share.value()))
    });
    let changed = access.child_only_update.map(|share| {
        let updates = text::plural(updates, "update");
        format!("{} of {updates} of both collections change only this one", text::percent(share))
    });
    let at_once = access.co_update.map(|share| {
        let writes = text::plural(writes, "write");
        format!("{} of {writes} are in one transaction with `{parent}`", text::percent(share))
    });
    [alone, both, changed, at_once].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the results as data.
fn figures(access: &Access) -> DataValue {
    let mut figures: Vec<(String, DataValue)> = Vec::new();
    let mut add = |name: &str, value: DataValue| figures.push((name.to_owned(), value));
    if access.queried_alone.is_some() || access.co_read.is_some() {
        add("reads", access.reads.into());
    }
    if let Some(share) = access.queried_alone {
        add("queriedAlone", share.into());
    }
    match access.co_read {
        Some(Share::AtLeast(share)) => add("coReadAtLeast", share.into()),
        Some(Share::AtMost(share)) => add("coReadAtMost", share.into()),
        None => {}
    }
    if let Some(share) = access.child_only_update {
        add("updates", access.updates.into());
        add("childOnlyUpdate", share.into());
    }
    if let Some(share) = access.co_update {
        add("writes", access.writes.into());
        add("coUpdate", share.into());
    }
    DataValue::Map(figures)
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
        let pictures = check("R013", &body(49).replace("t_comment", "t_picture"));
        assert!(pictures[0].todo.contains("ER-T.1 embed"), "{}", pictures[0].todo);
        assert!(todo(50).contains("ER-T.2 open"), "{}", todo(50));
        assert!(todo(999).contains("ER-T.2 open"), "{}", todo(999));
        assert!(todo(1000).contains("veto"), "{}", todo(1000));
    }

    /// Two parents that could each contain the child, but only one of them can.
    #[test]
    fn dm_07_6_a_child_is_embedded_in_one_parent() {
        let reviews = |fields: &str| {
            let id = |n: u32| format!("ObjectId(\"65a{n:021x}\")");
            let mut body = String::from("@ db_blog.t_post\nx9 {\"_id\": $i}\n@ db_blog.t_reader\n");
            (0..9).for_each(|n| body.push_str(&format!("{{\"_id\": {}}}\n", id(n))));
            body.push_str("@ db_blog.t_picture\n");
            for post in 0..9 {
                for reader in 0..3 {
                    let reader = id((post + reader) % 9);
                    body.push_str(&format!(
                        "{{\"postId\": {post}, \"readerId\": {reader}{fields}}}\n"
                    ));
                }
            }
            let found = check("R013", &body);
            assert_eq!(found.len(), 2, "{found:?}");
            found.into_iter().map(|finding| finding.todo).collect::<Vec<_>>()
        };
        for advice in reviews(", \"text\": \"a long text about this\", \"title\": \"it\"") {
            assert!(advice.contains(" or in `t_"), "{advice}");
            assert!(advice.contains("only one can contain it"), "{advice}");
        }
        // DM-07.5: a document with two references and few other fields is a many-to-many link.
        for advice in reviews(", \"weight\": 3") {
            assert!(advice.contains("the reference"), "{advice}");
        }
    }

    /// Every database has a 1, a 2 and a 3: only ids that occur nowhere else lead from one to another.
    #[test]
    fn dm_07_2_small_numbers_link_no_databases() {
        assert_eq!(check("R013", &body(4).replace("db_blog.t_post", "db_shop.t_post")), []);
        let ids = |database: &str| {
            let id = |n: u32| format!("ObjectId(\"65a{n:021x}\")");
            let mut body = format!("@ {database}.t_post\n");
            (0..5).for_each(|n| body.push_str(&format!("{{\"_id\": {}}}\n", id(n))));
            body.push_str("@ db_blog.t_comment\n");
            (0..5).for_each(|n| body.push_str(&format!("x4 {{\"postId\": {}}}\n", id(n))));
            check("R013", &body).len()
        };
        assert_eq!((ids("db_blog"), ids("db_shop")), (1, 1));
    }

    #[test]
    fn the_advice_is_no_longer_than_that_of_other_rules() {
        for children in [4, 49, 50, 1000] {
            assert!(todo(children).chars().count() < 320, "{}", todo(children));
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
        assert!(text.contains("suggests embedding"), "{text}");
        assert!(text.contains("ER-T.1 embed"), "{text}");
    }

    #[test]
    fn gc_06_from_fifty_children_on_data_alone_never_leans_to_embedding() {
        for children in [50, 60, 300, 990] {
            let text =
                check("R013", &body(children).replace("t_comment", "t_picture"))[0].todo.clone();
            assert!(text.starts_with("the data suggests the reference"), "{text}");
        }
    }

    #[test]
    fn dm_08_2_what_keeps_coming_is_never_advised_to_be_embedded() {
        for name in [
            "t_comment",
            "t_shop_order",
            "t_followers",
            "t_message",
            "t_reading",
            "t_invoice",
            "t_shipment",
            "t_order_line",
            "t_order_notice",
        ] {
            let text = check("R013", &body(4).replace("t_comment", name))[0].todo.clone();
            for vote in ["ER-F.6 reference", "ER-M.4 reference"] {
                assert!(text.contains(vote), "{name}: {text}");
            }
            assert!(!text.contains("ER-T.1"), "{name}: {text}");
            assert!(text.starts_with("the data suggests the reference"), "{name}: {text}");
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
        let found = check("R013", &body(30).replace("t_comment", "t_picture"));
        let votes = format!("{:?}", found[0].data.get("votes"));
        assert!(found[0].todo.contains("ER-M.4 embed"), "{}", found[0].todo);
        assert!(votes.contains("30 children at p99, 17 B each"), "{votes}");
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

    /// Operations of clients on the pictures of posts, each half a minute after the previous one.
    fn with(children: u32, operations: &[(usize, &str, &str)]) -> docward_model::Finding {
        let mut body = body(children).replace("t_comment", "t_picture");
        let commands = operations
            .iter()
            .flat_map(|(times, of, command)| std::iter::repeat_n((of, command), *times));
        for (n, (of, command)) in commands.enumerate() {
            let at = 1_710_000_000_000 + n * 30_000;
            body += &format!(
                "ran {{\"ns\": \"db_blog.{of}\", \"ts\": {{\"$date\": {{\"$numberLong\": \"{at}\"}}}}, \"client\": \"c{n}\", \"millis\": 0, \"command\": {command}}}\n"
            );
        }
        let found = check("R013", &body);
        assert_eq!(found.len(), 1);
        found.into_iter().next().expect("one")
    }

    const BY_POST: &str = r#"{"find": "t_picture", "filter": {"postId": 1}}"#;
    const BY_AUTHOR: &str = r#"{"find": "t_picture", "filter": {"author": "a"}}"#;
    const JOIN: &str = r#"{"aggregate": "t_post", "pipeline": [{"$lookup": {"from": "t_picture", "localField": "_id", "foreignField": "postId", "as": "pictures"}}]}"#;
    const SET: &str = r#"{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}"#;

    #[test]
    fn er_m_7_what_is_never_asked_for_alone_votes_to_embed() {
        let found = with(4, &[(100, "t_picture", BY_POST)]);
        assert!(found.todo.starts_with("data and workload suggest embedding"), "{}", found.todo);
        assert!(found.todo.contains("ER-M.7 embed"), "{}", found.todo);
        let measured = "measured: 0 % of 100 reads read it without its `t_post`";
        assert!(found.todo.contains(measured), "{}", found.todo);
        assert!(found.todo.ends_with("still open: ER-M.2, ER-T.4"), "{}", found.todo);
    }

    #[test]
    fn er_m_7_dm_07_2_few_that_are_mostly_asked_for_alone_stay_apart() {
        let found = with(4, &[(40, "t_picture", BY_POST), (60, "t_picture", BY_AUTHOR)]);
        assert!(
            found.todo.starts_with("data and workload suggest the reference"),
            "{}",
            found.todo
        );
        assert!(found.todo.contains("60 % of 100 reads read it without"), "{}", found.todo);
    }

    #[test]
    fn er_t_2_dm_07_2_children_that_are_always_read_with_the_parent_may_be_embedded() {
        let joined = with(200, &[(100, "t_post", JOIN)]);
        assert!(joined.todo.contains("ER-T.2 embed"), "{}", joined.todo);
        assert!(joined.todo.starts_with("data and workload suggest embedding"), "{}", joined.todo);
        let apart = with(200, &[(100, "t_picture", BY_POST)]);
        assert!(apart.todo.contains("ER-T.3 reference"), "{}", apart.todo);
        assert!(
            apart.todo.starts_with("data and workload suggest the reference"),
            "{}",
            apart.todo
        );
    }

    #[test]
    fn er_m_2_dm_07_4_er_f_2_children_that_change_alone_vote_for_the_reference() {
        let found = with(4, &[(90, "t_picture", SET), (10, "t_post", SET)]);
        assert!(found.todo.contains("ER-M.2 reference, DM-07.4 reference"), "{}", found.todo);
        assert!(
            found.todo.contains("90 % of 100 updates of both collections change only this one"),
            "{}",
            found.todo
        );
        // The data shows which rows a workload answered, and what it measured.
        let data = |key: &str| format!("{:?}", found.data.get(key));
        assert!(data("answered").contains("ER-M.2") && !data("open").contains("ER-M.2"));
        assert!(data("open").contains("ER-M.7") && !data("answered").contains("ER-M.7"));
        assert!(data("measured").contains("childOnlyUpdate"), "{}", data("measured"));
    }

    #[test]
    fn er_x_1_a_veto_of_the_data_stands_whatever_the_workload_says() {
        let found = with(1000, &[(100, "t_post", JOIN)]);
        assert!(found.todo.starts_with("the data rules out embedding"), "{}", found.todo);
        assert!(found.todo.contains("100 % of 100 reads also read `t_post`"), "{}", found.todo);
    }

    #[test]
    fn er_x_1_slow_operations_alone_change_no_word() {
        let mut body = body(30);
        let silent = check("R013", &body);
        body += &format!("ran x300 {{\"millis\": 120, \"command\": {BY_AUTHOR}}}\n")
            .replace("picture", "comment");
        let found = check("R013", &body);
        assert_eq!((&found[0].todo, &found[0].data), (&silent[0].todo, &silent[0].data));
    }
}
