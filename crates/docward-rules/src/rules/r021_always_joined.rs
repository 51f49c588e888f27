//! AP-S2.3: collections that are always joined.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{Evidence, Severity, code::Pipeline};

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Always joined
    ///
    /// ## What it checks
    /// Reports, as a note, a collection that source code nearly always joins with the same other collection by
    /// `$lookup`. At least 95 % of the pipelines that read it must contain the join, and at least two. Pipelines
    /// whose stages Docward cannot read count as pipelines without a join.
    ///
    /// ## Why it matters
    /// Each join is a second read for every document. A document that contains the joined data needs only one
    /// read.
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
    /// Embed data that belongs to one document only. If several documents share the other side, keep the
    /// reference and copy the two or three fields that are shown.
    ///
    /// ## When to ignore it
    /// The joined collection is large, or it changes often and must be current.
    R021, "always-joined",
    level: Recommended,
    area: Speed,
    severities: [Info],
    clauses: ["AP-S2.3", "AP-S4.3", "CK-9"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MIN_PLACES, MIN_SHARE],
    data: ["places"],
    check: Deployment(check),
}

threshold!(
    MIN_PLACES,
    "min-places",
    Int(2),
    "pipelines",
    "our default",
    "minimum number of pipelines with the join"
);
threshold!(
    MIN_SHARE,
    "min-share",
    Float(0.95),
    "share",
    "AP-S2.3",
    "minimum share of a collection's pipelines that join the other collection"
);

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let least = cx.count(&MIN_PLACES);
    let share = cx.limit(&MIN_SHARE);
    let mut by_collection: BTreeMap<&str, Vec<&Pipeline>> = BTreeMap::new();
    for pipeline in &found.pipelines {
        if let Some(collection) = &pipeline.collection
            && !found.is_hand_run(&pipeline.place.location.file)
        {
            by_collection.entry(collection).or_default().push(pipeline);
        }
    }
    for (collection, pipelines) in by_collection {
        let joined: BTreeSet<&String> = pipelines.iter().flat_map(|p| &p.joined).collect();
        for joined in joined {
            let joining: Vec<_> = pipelines.iter().filter(|p| p.joined.contains(joined)).collect();
            let is_rule = joining.len() as f64 >= share * pipelines.len() as f64;
            let Some(first) = joining.first().filter(|_| is_rule && joining.len() as u64 >= least)
            else {
                continue;
            };
            let all = if joining.len() == pipelines.len() { "all" } else { "nearly all" };
            cx.report(
                code::draft(
                    evidence,
                    &first.place,
                    &format!("{collection} {joined}"),
                    format!("`{joined}` is joined to `{collection}` in {all} of its {} pipelines", pipelines.len()),
                    "each join needs a second read for every document; data that is always read together can be stored together",
                    "embed it if it belongs to only one document, or copy the few fields that you display and keep the reference",
                )
                .data("places", joining.len())
                .locations(joining.iter().skip(1).map(|pipeline| pipeline.place.location.clone()))
                .severity(Severity::Info),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    /// A function for each text: a pipeline on `t_order`.
    fn count(stages: &[&str]) -> usize {
        let mut text = "source a.js\nconst {MongoClient} = require('mongodb');\n".to_owned();
        for (n, stages) in stages.iter().enumerate() {
            text += &format!(
                "async function f{n}(db, more) {{ return db.collection('t_order').aggregate({stages}); }}\n"
            );
        }
        check("R021", &text).len()
    }

    #[test]
    fn ap_s2_3_ck_9_only_what_every_pipeline_joins_is_the_rule() {
        let join =
            "[{$lookup: {from: 't_customer', localField: 'c', foreignField: '_id', as: 'c'}}]";
        let other = "[{$lookup: {from: 't_shop', localField: 's', foreignField: '_id', as: 's'}}]";
        let none = "[{$match: {x: 1}}]";
        assert_eq!(count(&[join, join]), 1);
        assert_eq!(count(&[join]), 0, "one is no rule");
        assert_eq!(count(&[join, join, join, none]), 0, "three of four");
        assert_eq!(count(&[join, join, other]), 0, "two partners");
        assert_eq!(count(&[join, join, "more"]), 0, "one cannot be read");
        let mut many = vec![join; 19];
        many.push(none);
        assert_eq!(count(&many), 1, "95 of 100");
        let twice = join.replace(
            "[{",
            "[{$lookup: {from: 't_customer', localField: 'd', foreignField: '_id', as: 'd'}}, {",
        );
        assert_eq!(count(&[&twice]), 0, "two joins of one pipeline are one place");
    }

    #[test]
    fn ap_s4_3_pipelines_that_write_are_no_reads() {
        let write = "[{$lookup: {from: 't_customer', localField: 'c', foreignField: '_id', as: 'c'}}, {$merge: {into: 't_all'}}]";
        assert_eq!(count(&[write, write]), 0);
    }
}
