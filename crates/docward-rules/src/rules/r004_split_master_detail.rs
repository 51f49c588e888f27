//! AP-S0.5, DM-07.*, ER-T.1: a small child collection that belongs to its parent is better embedded.

use docward_model::{
    Collection, CollectionKind, Draft, Evidence, Look, Namespace, Reference, Safety, Settings,
    Severity, Step, Subject, Threshold,
};

use crate::facts::names::words;
use crate::facts::relations::{Relation, Tie};
use crate::facts::{names::meaning, text};
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Split master detail
    ///
    /// ## What it checks
    /// Reports two collections that store one document in two parts, such as `t_order` and `t_order_item`, or
    /// `OrderMaster` and `OrderDetail`. All of these must hold:
    /// - Each detail refers to one master, and no other collection refers to the details.
    /// - A master has fewer than 50 details at the 99th percentile, and fewer than 1000 at most.
    /// - A master with its details has at most 100 KB at the 99th percentile.
    ///
    /// It is a note if the names only begin alike (`t_post`, `t_post_tag`). Nothing is reported if a recorded
    /// workload mostly reads or updates details alone; R013 then shows the figures.
    ///
    /// ## Why it matters
    /// Every page needs two queries and joins the results in the program, and writing both parts needs a
    /// transaction. An embedded list needs one read and one atomic write.
    ///
    /// ## Example
    /// ```jsonl,fires,min-parents=3,ns=db_shop.t_order
    /// x3 {"_id": $i, "customer": "c"}
    /// @ db_shop.t_order_item
    /// {"orderId": 0, "product": "a", "quantity": 2}
    /// {"orderId": 0, "product": "b", "quantity": 1}
    /// {"orderId": 1, "product": "a", "quantity": 4}
    /// {"orderId": 2, "product": "c", "quantity": 1}
    /// ```
    /// The order contains its items:
    /// ```jsonl,clean,min-parents=3,ns=db_shop.t_order
    /// x3 {"_id": $i, "customer": "c", "items": [{"product": "a", "quantity": 2}, {"product": "b", "quantity": 1}]}
    /// ```
    ///
    /// ## How to fix
    /// Embed the details as an array, and set `maxItems` for it in the validator. Drop the detail collection when
    /// all readers have switched.
    ///
    /// ## When to ignore it
    /// The details are mostly queried or changed on their own, or their number has no limit.
    R004, "split-master-detail",
    level: Recommended,
    area: Speed,
    severities: [Warn, Info],
    clauses: ["AP-S0.5", "DM-07.1", "DM-07.3", "DM-07.5", "ER-T.1", "ER-M.3", "ER-M.4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents],
    thresholds: [FEW, MAX_BYTES, MIN_PARENTS],
    data: ["detailBytes", "documents", "master", "max", "p50", "p99", "projectedBytes", "reference"],
    check: Collection(check),
}

threshold!(
    FEW,
    "few",
    Int(50),
    "details per master",
    "ER-T.1",
    "number of details per master (99th percentile) at which the rule stops reporting"
);
threshold!(
    MAX_BYTES,
    "max-bytes",
    Int(102_400),
    "bytes",
    "DM-05.1",
    "maximum size of a master with its details (99th percentile) for embedding"
);
threshold!(
    MIN_PARENTS,
    "min-parents",
    Int(20),
    "masters",
    "our default",
    "minimum number of masters with details"
);

/// Last words of a detail collection's name.
const DETAILS: &[&str] = &["item", "detail", "line", "position", "entry", "row"];
/// Last words of a master collection's name.
const MASTERS: &[&str] = &["master", "header", "head", "main"];

/// A master with this many details or more cannot embed them all (DM-08.1).
const MANY: u64 = 1000;

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let limits = Limits {
        few: cx.count(&FEW),
        max_bytes: cx.count(&MAX_BYTES),
        min_parents: cx.limit(&MIN_PARENTS),
    };
    let evidence = cx.evidence();
    for reference in evidence.references.iter().filter(|r| r.from == collection.namespace) {
        if let Some((relation, strong)) = judge(evidence, reference, &limits) {
            cx.report(draft(&relation, strong));
        }
    }
}

pub(super) struct Limits {
    few: u64,
    max_bytes: u64,
    min_parents: f64,
}

impl Limits {
    /// Returns the limits as configured for the collection of the details.
    pub(super) fn of(settings: &Settings, namespace: &Namespace) -> Self {
        let read = |threshold: &Threshold| settings.limit("R004", threshold, namespace);
        Self {
            few: read(&FEW) as u64,
            max_bytes: read(&MAX_BYTES) as u64,
            min_parents: read(&MIN_PARENTS),
        }
    }
}

/// The pair, and whether its names show master and detail; `None` if the collections are not such a pair.
pub(super) fn judge<'a>(
    evidence: &'a Evidence,
    reference: &'a Reference,
    limits: &Limits,
) -> Option<(Relation<'a>, bool)> {
    if reference.from == reference.to || reference.from.database != reference.to.database {
        return None;
    }
    if reference.agreement() < 0.9 {
        return None;
    }
    let strong = is_pair(&reference.to.collection, &reference.from.collection)?;
    let relation = Relation::of(evidence, reference)?;
    let one_parent = matches!(relation.tie, Tie::ChildHoldsParent | Tie::OneToOne);
    let fits = one_parent
        && relation.complete
        && relation.shared_by.is_empty()
        && reference.parents >= limits.min_parents
        && relation.children.1 < limits.few
        && relation.children.2 < MANY
        && relation.projected() <= limits.max_bytes
        && relation.child.kind == CollectionKind::Plain
        // `R013` reports collections that the workload reads or changes separately.
        && !relation.access.has_its_own_life()
        // Logs and queues are stored separately on purpose, even if the names are similar.
        && !meaning::is_auxiliary_name(&reference.from.collection);
    fits.then_some((relation, strong))
}

/// Whether the names show master and detail (`Some(true)`), begin alike (`Some(false)`) or neither.
fn is_pair(master: &str, detail: &str) -> Option<bool> {
    let bare = |name: &str| -> Vec<String> {
        let mut all: Vec<String> = words(name).iter().map(|w| meaning::singular(w)).collect();
        if all.len() > 1 && all[0] == "t" {
            all.remove(0);
        }
        all
    };
    let (mut master, mut detail) = (bare(master), bare(detail));
    let named_master = master.len() > 1 && MASTERS.contains(&master.last()?.as_str());
    if named_master {
        master.pop();
    }
    let named_detail = detail.len() > 1 && DETAILS.contains(&detail.last()?.as_str());
    if named_detail {
        detail.pop();
        // `order_line_item`.
        if detail.len() > 1 && DETAILS.contains(&detail.last()?.as_str()) {
            detail.pop();
        }
    }
    if named_detail && master == detail {
        return Some(true);
    }
    (!named_detail && detail.len() > master.len() && detail.starts_with(&master)).then_some(false)
}

fn draft(relation: &Relation<'_>, strong: bool) -> Draft {
    let (child, parent) = (&relation.child.namespace, &relation.parent.namespace);
    let (p50, p99, max) = relation.children;
    let documents = relation.child.profile.as_ref().map_or(0, |p| p.documents);
    let seen = relation.child.profile.as_ref().map_or_else(
        || docward_model::Seen::all(documents, docward_model::Unit::Documents),
        docward_model::Profile::seen,
    );
    let draft = Draft::new(
        Subject::Collection(child.clone()),
        format!(
            "`{}` holds the details of `{}`; details per document: {p50} at the median, {p99} at p99, {}; {} each",
            child.collection,
            parent.collection,
            relation.maximum(),
            text::bytes(relation.child_bytes)
        ),
        "data that is split into two collections needs two reads or a join, and a transaction for each write",
        format!(
            "embed `{}` in `{}`: this removes {} and their indexes; a document with its details takes {} at p99 ({} + {p99} × {}) and needs one read; first check that no code reads or changes details alone",
            child.collection,
            parent.collection,
            text::plural(documents, "document"),
            text::bytes(relation.projected()),
            text::bytes(relation.parent_p99),
            text::bytes(relation.child_bytes)
        ),
        seen,
    )
    .data("master", parent.to_string())
    .data("reference", relation.reference.path.as_str())
    .data("p50", p50)
    .data("p99", p99)
    .data("max", max)
    .data("detailBytes", relation.child_bytes)
    .data("projectedBytes", relation.projected())
    .data("documents", documents)
    .key(parent.to_string())
    .plan(
        Some("RF-15"),
        Safety::Manual,
        [Step::Inspect {
            namespace: parent.clone(),
            look: Look::WithDetails {
                path: relation.reference.to_path.clone(),
                details: child.collection.clone(),
                reference: relation.reference.path.clone(),
            },
        }],
    );
    if strong { draft } else { draft.severity(Severity::Info) }
}

#[cfg(test)]
mod tests {
    use super::is_pair;
    use crate::testing::check;
    use docward_model::Severity;

    fn body(child: &str, children: u32, masters: u32) -> String {
        let mut body =
            format!("@ db_shop.t_order\nx{masters} {{\"_id\": $i}}\n@ db_shop.{child}\n");
        for order in 0..masters {
            for n in 0..children {
                body.push_str(&format!("{{\"orderId\": {order}, \"line\": {n}}}\n"));
            }
        }
        body
    }

    #[test]
    fn ap_s0_5_small_details_are_proposed_for_embedding() {
        let found = check("R004", &body("t_order_item", 3, 30));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Warn);
        assert!(found[0].todo.contains("90 documents"), "{}", found[0].todo);
        let found = check("R004", &body("t_order_note", 3, 30));
        assert_eq!(found[0].severity, Severity::Info);
        assert!(check("R004", &body("t_payment", 3, 30)).is_empty());
    }

    #[test]
    fn er_t_1_49_embed_and_50_take_the_next_branch() {
        assert_eq!(check("R004", &body("t_order_item", 49, 20)).len(), 1);
        assert!(check("R004", &body("t_order_item", 50, 20)).is_empty());
    }

    #[test]
    fn dm_07_1_details_that_others_refer_to_stay() {
        let mut body = body("t_order_item", 3, 30);
        body = body.replace(
            "{\"orderId\": 0, \"line\": 0}",
            "{\"_id\": ObjectId(\"65f3a2b8c1d2e3f4a5b6c701\"), \"orderId\": 0, \"line\": 0}",
        );
        body = body.replace(
            "{\"orderId\": 0, \"line\": 1}",
            "{\"_id\": ObjectId(\"65f3a2b8c1d2e3f4a5b6c702\"), \"orderId\": 0, \"line\": 1}",
        );
        body.push_str("@ db_shop.t_return\n{\"itemId\": ObjectId(\"65f3a2b8c1d2e3f4a5b6c701\")}\n{\"itemId\": ObjectId(\"65f3a2b8c1d2e3f4a5b6c702\")}\n");
        assert!(check("R004", &body).is_empty());
    }

    #[test]
    fn dm_07_2_dm_07_4_details_with_a_life_of_their_own_stay() {
        let ran = |command: &str| {
            let body = body("t_order_item", 3, 30);
            let body = format!("{body}ran x80 {{\"millis\": 0, \"command\": {command}}}\n");
            (check("R004", &body).len(), check("R013", &body).len())
        };
        let find = |by: &str| format!(r#"{{"find": "t_order_item", "filter": {{"{by}": 1}}}}"#);
        assert_eq!(ran(&find("orderId")), (1, 0));
        assert_eq!(ran(&find("product")), (0, 1), "asked for alone");
        let update = r#"{"q": {"_id": 1}, "u": {"$set": {"n": 1}}}"#;
        assert_eq!(ran(update), (0, 1), "changed alone");
    }

    #[test]
    fn names_say_master_and_detail() {
        for (master, detail, expect) in [
            ("t_order", "t_order_item", Some(true)),
            ("t_orders", "t_order_items", Some(true)),
            ("OrderMaster", "OrderDetail", Some(true)),
            ("orders", "order_line_items", Some(true)),
            ("t_post", "t_post_tag", Some(false)),
            ("t_customer", "t_order", None),
            ("t_item", "t_order_item", None),
            ("users", "userlog", None),
        ] {
            assert_eq!(is_pair(master, detail), expect, "{master} {detail}");
        }
    }
}
