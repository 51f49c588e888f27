//! AP-S2.3: collections that are always joined.

use std::collections::BTreeMap;

use docward_model::{
    Evidence, Severity,
    code::{RequestRead, RequestReadKind},
};

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Always joined
    ///
    /// ## What it checks
    /// Mentions collections that source code joins with `$lookup` in every pipeline it runs on them, in three
    /// places or more: what is always read together may as well be stored together.
    ///
    /// ## Why it matters
    /// Each join is a second read for every document, and cannot use more than one index. Documents that hold
    /// what they are read with need one read.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// const join = {$lookup: {from: 't_customer', localField: 'customerId', foreignField: '_id', as: 'customer'}};
    /// async function a(db) { return db.collection('t_order').aggregate([{$match: {x: 1}}, {$lookup: {from: 't_customer', localField: 'customerId', foreignField: '_id', as: 'customer'}}]); }
    /// async function b(db) { return db.collection('t_order').aggregate([{$lookup: {from: 't_customer', localField: 'customerId', foreignField: '_id', as: 'customer'}}]); }
    /// async function c(db) { return db.collection('t_order').aggregate([{$sort: {x: 1}}, {$lookup: {from: 't_customer', localField: 'customerId', foreignField: '_id', as: 'customer'}}]); }
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function a(db) { return db.collection('t_order').aggregate([{$lookup: {from: 't_customer', localField: 'customerId', foreignField: '_id', as: 'customer'}}]); }
    /// async function b(db) { return db.collection('t_order').aggregate([{$match: {x: 1}}]); }
    /// ```
    ///
    /// ## How to fix
    /// Embed what belongs to one document only; copy the two or three fields that are shown (and keep the
    /// reference) where the other side is shared.
    ///
    /// ## When to ignore it
    /// The joined side is large, or changes often and must be current.
    R021, "always-joined",
    level: Recommended,
    clauses: ["AP-S2.3", "AP-S4.3", "CK-9"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MIN_PLACES],
    check: Deployment(check),
}

threshold!(
    MIN_PLACES,
    "min-places",
    Int(3),
    "places",
    "no figure in source",
    "places from which a join counts as the rule"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let least = cx.count(&MIN_PLACES);
    let mut pairs: BTreeMap<(&str, &str), Vec<&RequestRead>> = BTreeMap::new();
    for read in found.request_reads.iter().filter(|read| read.kind == RequestReadKind::Lookup) {
        if let (Some(collection), Some(joined)) = (&read.collection, &read.joined) {
            pairs.entry((collection, joined)).or_default().push(read);
        }
    }
    for ((collection, joined), places) in pairs {
        if (places.len() as u64) < least {
            continue;
        }
        let Some(first) = places.first() else { continue };
        cx.report(
            code::draft(
                evidence,
                &first.place,
                &format!("{collection} {joined}"),
                format!("`{joined}` is joined to `{collection}` in {} places", places.len()),
                "each join is a second read for every document; what is always read together may be stored together",
                "embed it where it belongs to one document only, or copy the few fields that are shown and keep the reference",
            )
            .data("places", places.len())
            .severity(Severity::Info),
        );
    }
}
