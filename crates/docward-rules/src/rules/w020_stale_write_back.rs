//! CK-15: values read, changed in memory and written back.

use docward_model::Evidence;

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Stale write-back
    ///
    /// ## What it checks
    /// Reports code that reads a value, changes it in memory and writes it back: `doc.count += 1; doc.save()`, or
    /// `$set: {count: doc.count + 1}` with a `doc` read before, in one function.
    ///
    /// ## Why it matters
    /// Between the two, another process reads the same value: both write, and one change is lost. Counters,
    /// balances and stocks drift.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const Post = mongoose.model('Post', schema);
    /// async function view(id) {
    ///   const post = await Post.findById(id);
    ///   post.views += 1;
    ///   await post.save();
    /// }
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const Post = mongoose.model('Post', schema);
    /// async function view(id) {
    ///   await Post.updateOne({_id: id}, {$inc: {views: 1}});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Let the server do it: `$inc`, `$mul`, `$min`, `$max`, an update with a pipeline, or `findOneAndUpdate`
    /// when the result is needed. Where that cannot be, put the value that was read into the filter, or a
    /// version.
    ///
    /// ## When to ignore it
    /// One process writes at a time, or the value is a guess anyway.
    W020, "stale-write-back",
    level: Recommended,
    clauses: ["CK-15"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for write in found.read_then_writes.iter().filter(|write| !write.truncates) {
        cx.report(code::draft(
            evidence,
            &write.place,
            &write.path,
            format!(
                "`{}`{} is read, changed in memory and written back",
                write.path,
                code::of(write.collection.as_deref())
            ),
            "another process that does the same at that moment loses its change",
            format!(
                "{{$inc: {{{}: …}}}}, or findOneAndUpdate when the new value is needed",
                write.path
            ),
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn ck_15_a_counter_read_and_set_is_a_race() {
        let count = |text: &str| check("W020", text).len();
        let python = "source a.py\nfrom pymongo import MongoClient\ndef f(db):\n    doc = db.t.find_one({'_id': 1})\n    db.t.update_one({'_id': 1}, {'$set': {'n': doc['n'] + 1}})\n";
        assert_eq!(count(python), 1);
        assert_eq!(count(&python.replace("'$set': {'n': doc['n'] + 1}", "'$inc': {'n': 1}")), 0);
        assert_eq!(count(&python.replace("doc['n'] + 1", "other + 1")), 0);
        let fresh = "source a.js\nconst mongoose = require('mongoose');\nasync function f() { const post = new Post(); post.views += 1; await post.save(); }";
        assert_eq!(count(fresh), 0);
    }
}
