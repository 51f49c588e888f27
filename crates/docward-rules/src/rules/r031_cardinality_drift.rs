//! DP-2, DM-07.3: parents have the number of children that the model declares.

use docward_design::{Bounds, Decision, Pattern, decide};
use docward_model::{Collection, Distribution, Draft, Spread, Subject};

use crate::facts::schema::declared::{self, Declared};
use crate::facts::text;
use crate::{Cx, declare_rule, threshold};

declare_rule! {
    /// # Cardinality drift
    ///
    /// ## What it checks
    /// Compares the number of children per parent in the data with `children` of the relationship in the model.
    /// Reports:
    /// - more at the 99th percentile than 1.5 times the declared number
    /// - more than the declared `max`
    ///
    /// Docward then decides again with the measured numbers, and the finding says whether the decision changes.
    ///
    /// Children are elements of an embedded array, or documents with the parent's id. Docward counts them where
    /// they are stored, even if the model decides otherwise.
    ///
    /// ## Why it matters
    /// The number of children decides between embedding and referencing. A model that was correct for 20 children
    /// is wrong for 2,000, and an array that exceeds its limit gives no warning.
    ///
    /// ## Example
    /// ```jsonl,fires,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order: {fields: {orderNo: string}, lifecycle: {growth: 1/s, kept: forever}}
    ///   item: {fields: {sku: string}, lifecycle: {growth: 3/s, kept: forever}}
    /// relationships:
    ///   order.items: {child: item, children: {p50: 2, p99: 5, max: 10}, growth: bounded}
    /// reads:
    ///   order page: {rate: 9/s, from: order, where: [orderNo], with: [order.items]}
    /// writes:
    ///   place order: {rate: 1/s, insert: [order, item], atomic: true}
    /// ...
    /// x30 {"orderNo": "A", "items": $array(60, {"sku": "B"})}
    /// ```
    /// The number of children matches the model:
    /// ```jsonl,clean,ns=db_shop.t_order
    /// model
    /// name: shop
    /// entities:
    ///   order: {fields: {orderNo: string}, lifecycle: {growth: 1/s, kept: forever}}
    ///   item: {fields: {sku: string}, lifecycle: {growth: 3/s, kept: forever}}
    /// relationships:
    ///   order.items: {child: item, children: {p50: 2, p99: 5, max: 10}, growth: bounded}
    /// reads:
    ///   order page: {rate: 9/s, from: order, where: [orderNo], with: [order.items]}
    /// writes:
    ///   place order: {rate: 1/s, insert: [order, item], atomic: true}
    /// ...
    /// x30 {"orderNo": "A", "items": $array(4, {"sku": "B"})}
    /// ```
    ///
    /// ## How to fix
    /// Write the measured numbers into the model and run `docward design` again. If the decision changes, follow
    /// the new one.
    ///
    /// ## When to ignore it
    /// The data is test data with parents that no real user would create.
    R031, "cardinality-drift",
    level: Recommended,
    area: Growth,
    clauses: ["DP-1", "DP-2", "DM-07.3"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Documents, Design],
    thresholds: [FACTOR],
    data: ["declaredMax", "declaredP99", "max", "p99", "relationship", "turns"],
    check: Collection(check),
}

threshold!(
    FACTOR,
    "factor",
    Float(1.5),
    "times the declared 99th percentile",
    "our default",
    "maximum ratio of the measured to the declared number of children (99th percentile)"
);

fn check(collection: &Collection, cx: &mut Cx<'_>) {
    let Some(declared) = declared::of(cx) else { return };
    let factor = cx.limit(&FACTOR);
    let embeds = |decision: &Decision| {
        declared.embeds.contains_key(&decision.relationship)
            && decision.patterns.contains(&Pattern::Embedded)
    };
    let mut drafts = Vec::new();
    for decision in &declared.design.decisions {
        let Some(relationship) = declared.model.relationship(&decision.relationship) else {
            continue;
        };
        let Some(spread) = relationship.children else { continue };
        let stored = lengths(collection, cx, &declared, decision);
        let other = match stored.is_some() {
            true if declared.refers.contains_key(&decision.relationship) => {
                " (the data still has references)"
            }
            true if embeds(decision) => " (the data is still embedded)",
            _ => "",
        };
        // Children in migration are counted in both places.
        let arrived = declared.moving(&decision.relationship);
        let arrived = arrived.and_then(|moved| lengths(collection, cx, &declared, moved));
        let Some(seen) = stored.or(arrived) else { continue };
        let over = seen.p99() as f64 > spread.p99 as f64 * factor;
        // Elements that a statement removes are missing by design.
        let capped = relationship.keep_newest.is_some_and(|newest| seen.max <= newest);
        if (over || seen.max > spread.max) && !capped {
            let wanted = declared.decision(&decision.relationship).unwrap_or(decision);
            drafts.push(draft(collection, (wanted, other), spread, &seen));
        }
    }
    for draft in drafts {
        cx.report(draft);
    }
}

/// The numbers of children per parent, as this collection shows them; `None` if it does not.
fn lengths(
    collection: &Collection,
    cx: &Cx<'_>,
    declared: &Declared,
    decision: &Decision,
) -> Option<Distribution> {
    let role = decision.relationship.rsplit_once('.').map_or("", |(_, role)| role);
    let profile = collection.profile.as_ref()?;
    if decision.patterns.contains(&Pattern::Embedded) {
        let home = declared.home(&decision.parent)?;
        Declared::is_home(home, &collection.namespace).then_some(())?;
        return Some(profile.field(role)?.array.as_ref()?.lengths.clone());
    }
    if decision.patterns.contains(&Pattern::ParentInChild) {
        let (home, target) = (declared.home(&decision.child)?, declared.home(&decision.parent)?);
        Declared::is_home(home, &collection.namespace).then_some(())?;
        let held = declared.model.relationship(&decision.relationship)?.field.as_deref();
        let leads = |reference: &&docward_model::Reference| {
            reference.from == collection.namespace && reference.to.collection == target.name
        };
        let mut all = cx.evidence().references.iter().filter(leads);
        let by_field = all.clone().find(|reference| Some(&*reference.path.to_string()) == held);
        let found = by_field.or_else(|| all.next())?;
        return Some(found.children_per_parent.clone());
    }
    None
}

fn draft(
    collection: &Collection,
    (decision, other): (&Decision, &str),
    declared: Spread,
    seen: &Distribution,
) -> Draft {
    let mut facts = decision.facts.clone();
    facts.children =
        Spread { p50: seen.p50(), p95: seen.quantile(0.95), p99: seen.p99(), max: seen.max };
    let now = decide(&facts, &Bounds::default());
    let turned = decision.choice.filter(|choice| *choice != now.choice);
    let todo = match turned {
        Some(was) => format!(
            "with these numbers the verdict changes from {} to {} ({}, {}): enter them in the model and change the design",
            was.name(),
            now.choice.name(),
            now.how,
            now.decided_by.join(", ")
        ),
        None if decision.choice.is_none() => {
            "enter the numbers in the model, which has no verdict yet".to_owned()
        }
        None => {
            format!("enter the numbers in the model; the verdict remains {}", now.choice.name())
        }
    };
    let seen_documents = collection.profile.as_ref().map_or_else(
        || docward_model::Seen::all(0, docward_model::Unit::Documents),
        docward_model::Profile::seen,
    );
    Draft::new(
        Subject::Collection(collection.namespace.clone()),
        format!(
            "`{}` has {} children per parent at p99 and {} at most{}; the model declares {} and {}",
            decision.relationship,
            text::count(seen.p99()),
            text::count(seen.max),
            other,
            text::count(declared.p99),
            text::count(declared.max)
        ),
        "the choice between embedding and referencing depends on the number of children, and the design used other numbers",
        todo,
        seen_documents,
    )
    .data("relationship", decision.relationship.clone())
    .data("p99", seen.p99())
    .data("max", seen.max)
    .data("declaredP99", declared.p99)
    .data("declaredMax", declared.max)
    .data("turns", turned.is_some())
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn model(children: &str) -> String {
        format!(
            "model\nname: shop\nentities:\n  \
             order: {{fields: {{orderNo: string}}, lifecycle: {{growth: 1/s, kept: forever}}}}\n  \
             item: {{fields: {{sku: string}}, lifecycle: {{growth: 3/s, kept: forever}}}}\n\
             relationships:\n  order.items: {{child: item, children: {children}, growth: bounded}}\n\
             reads:\n  order page: {{rate: 9/s, from: order, where: [orderNo], with: [order.items]}}\n  \
             items alone: {{rate: 9/s, from: item, where: [sku]}}\n\
             writes:\n  place order: {{rate: 1/s, insert: [order, item]}}\n...\n@ db_shop.t_order\n"
        )
    }

    #[test]
    fn dp_1_the_decision_is_made_again_with_the_numbers_found() {
        let body = format!(
            "{}x30 {{\"items\": $array(60, {{\"sku\": \"B\"}})}}",
            model("{p99: 5, max: 10}")
        );
        let found = check("R031", &body);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("60 children per parent at p99"), "{}", found[0].what);
        assert!(found[0].todo.contains("changes from embed to reference"), "{}", found[0].todo);
    }

    #[test]
    fn dm_07_3_more_within_the_same_branch_keeps_the_verdict() {
        let body = format!(
            "{}x30 {{\"items\": $array(20, {{\"sku\": \"B\"}})}}",
            model("{p99: 5, max: 10}")
        );
        let found = check("R031", &body);
        assert!(found[0].todo.contains("remains embed"), "{}", found[0].todo);
    }

    #[test]
    fn dp_1_dm_07_3_where_the_data_still_refers_documents_are_counted() {
        let model = model("{p99: 5, max: 10}");
        let documents = |each: usize| {
            let mut text = model.clone();
            for order in 0..30 {
                text.push_str(&format!("{{\"_id\": {order}, \"orderNo\": \"A\"}}\n"));
            }
            text.push_str("@ db_shop.t_item\n");
            for item in 0..30 * each {
                let line =
                    format!("{{\"_id\": {item}, \"sku\": \"B\", \"orderId\": {}}}\n", item / each);
                text.push_str(&line);
            }
            text
        };
        let found = check("R031", &documents(60));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].what,
            "`order.items` has 60 children per parent at p99 and 60 at most (the data still has references); the model declares 5 and 10"
        );
        assert!(found[0].todo.contains("changes from embed to reference"), "{}", found[0].todo);
        assert_eq!(check("R031", &documents(4)).len(), 0);
    }

    #[test]
    fn dp_2_fewer_than_declared_is_fine() {
        let body = format!(
            "{}x30 {{\"items\": $array(2, {{\"sku\": \"B\"}})}}",
            model("{p99: 5, max: 10}")
        );
        assert_eq!(check("R031", &body).len(), 0);
    }
}
