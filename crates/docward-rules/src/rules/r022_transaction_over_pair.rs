//! CK-10: transactions that write parent and child.

use std::collections::BTreeMap;

use docward_model::{Evidence, Severity, code::Transaction};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Transaction over a pair
    ///
    /// ## What it checks
    /// Reports, as a note, two collections that at least two transactions in source code write together, and
    /// nothing else. A parent and a child that must change together could be one document.
    ///
    /// ## Why it matters
    /// An update of one document is atomic without a transaction. Transactions hold resources, can conflict, and
    /// must be retried.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// async function a(session, db) { await session.withTransaction(async () => { await db.collection('t_order').insertOne({}); await db.collection('t_order_item').insertOne({}); }); }
    /// async function b(session, db) { await session.withTransaction(async () => { await db.collection('t_order').updateOne({}, {$set: {a: 1}}); await db.collection('t_order_item').deleteMany({}); }); }
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function a(session, db) { await session.withTransaction(async () => { await db.collection('t_order').insertOne({}); await db.collection('t_order_item').insertOne({}); }); }
    /// async function b(session, db) { await session.withTransaction(async () => { await db.collection('t_stock').insertOne({}); await db.collection('t_ledger').insertOne({}); }); }
    /// ```
    ///
    /// ## How to fix
    /// Embed the child in the parent if its size is bounded and both are read together. Otherwise document why a
    /// transaction is needed.
    ///
    /// ## When to ignore it
    /// Both are large, or are mostly written separately.
    R022, "transaction-over-pair",
    level: Recommended,
    area: Speed,
    severities: [Info],
    clauses: ["CK-10"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["places"],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut pairs: BTreeMap<(&str, &str), Vec<&Transaction>> = BTreeMap::new();
    for transaction in &found.transactions {
        if let [first, second] = transaction.collections.as_slice() {
            pairs.entry((first, second)).or_default().push(transaction);
        }
    }
    for ((first, second), places) in pairs {
        let Some(place) = places.first().filter(|_| places.len() >= 2) else { continue };
        cx.report(
            code::draft(
                evidence,
                &place.place,
                &format!("{first} {second}"),
                format!("`{first}` and `{second}` are written together in {} transactions", places.len()),
                "a write to one document is atomic without a transaction; transactions hold resources and need retries",
                "embed one in the other if its size is limited and both are read together, or document why not",
            )
            .data("places", places.len())
            .locations(places.iter().skip(1).map(|other| other.place.location.clone()))
            .severity(Severity::Info),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn ck_10_one_transaction_says_nothing() {
        let text = "source a.js\nconst {MongoClient} = require('mongodb');\nasync function a(session, db) { await session.withTransaction(async () => { await db.collection('a').insertOne({}); await db.collection('b').insertOne({}); }); }";
        assert!(check("R022", text).is_empty());
    }
}
