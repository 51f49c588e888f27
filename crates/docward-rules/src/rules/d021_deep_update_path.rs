//! DM-06.3: long paths in updates.

use docward_model::Evidence;

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Deep update path
    ///
    /// ## What it checks
    /// Reports updates in source code that name a field by a path of more than five parts (`$set: {"a.b.c.d.e.f":
    /// 1}`). Positions in arrays (`$`, `$[]`, `$[x]`, numbers) are no parts of their own.
    ///
    /// ## Why it matters
    /// Long paths get mistyped, and a mistyped one succeeds: the server creates what is missing. Fields so deep
    /// seldom have an index that helps.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// async function save(db, id, v) {
    ///   await db.collection('t_config').updateOne({_id: id}, {$set: {'a.b.c.d.e.f.g.value': v}});
    /// }
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function save(db, id, v) {
    ///   await db.collection('t_config').updateOne({_id: id}, {$set: {'items.$[i].price.net': v}});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Flatten what is always used together, or move the inner part to a collection of its own.
    ///
    /// ## When to ignore it
    /// The structure is given by a standard that the document stores as it is.
    D021, "deep-update-path",
    level: Recommended,
    area: Hygiene,
    clauses: ["DM-06.3", "DM-06.1"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [MAX_PARTS],
    data: ["parts"],
    check: Deployment(check),
}

threshold!(MAX_PARTS, "max-parts", Int(5), "parts of a path", "DM-06.3", "parts a path may have");

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let most = cx.count(&MAX_PARTS);
    for set in &found.set_paths {
        let parts = parts(&set.path);
        if parts <= most {
            continue;
        }
        cx.report(
            code::draft(
                evidence,
                &set.place,
                &set.path,
                format!("{} writes to `{}`{}: {parts} parts", set.operator, set.path, code::of(set.collection.as_deref())),
                "a mistyped path succeeds and creates a new field, and fields so deep seldom have an index",
                "flatten what is used together, or move the inner part to a collection of its own",
            )
            .data("parts", parts),
        );
    }
}

/// Parts of a path, positions in arrays aside.
fn parts(path: &str) -> u64 {
    path.split('.')
        .filter(|part| !part.starts_with('$') && part.parse::<u32>().is_err() && !part.is_empty())
        .count() as u64
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn dm_06_3_five_parts_pass_and_six_do_not() {
        let count = |path: &str| {
            check(
                "D021",
                &format!("source a.mongodb\ndb.t.updateOne({{_id}}, {{$set: {{'{path}': 1}}}})"),
            )
            .len()
        };
        assert_eq!(["a.b.c.d.e", "a.b.c.d.e.f", "a.0.b.$.c.$[x].d.e"].map(count), [0, 1, 0]);
    }
}
