//! DM-06.3: long paths in updates.

use docward_model::Evidence;

use crate::{Cx, declare_rule, facts::code, threshold};

declare_rule! {
    /// # Deep update path
    ///
    /// ## What it checks
    /// Reports updates in source code whose field path has more than five parts, such as
    /// `$set: {"a.b.c.d.e.f": 1}`. Array positions (`$`, `$[]`, `$[x]`, numbers) do not count as parts.
    ///
    /// ## Why it matters
    /// Long paths are easily mistyped, and the mistyped update succeeds: the server creates the missing fields.
    /// An index rarely covers such a deep field.
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
    /// Flatten fields that are always used together, or move the inner part to its own collection.
    ///
    /// ## When to ignore it
    /// A standard defines the structure, and the document stores it unchanged.
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

threshold!(
    MAX_PARTS,
    "max-parts",
    Int(5),
    "parts of a path",
    "DM-06.3",
    "maximum number of parts in a path"
);

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
                format!("{} writes to `{}`{}, a path of {parts} parts (limit {most})", set.operator, set.path, code::of(set.collection.as_deref())),
                "an update with a mistyped path succeeds and creates a new field, and fields this deep seldom have an index",
                "flatten the fields that are used together, or move the inner part to a separate collection",
            )
            .data("parts", parts),
        );
    }
}

/// The number of parts of a path, without positions in arrays.
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
