//! AP-S2.4 and SN-18: counts worked out for each request.

use docward_model::{Evidence, Severity};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Count per request
    ///
    /// ## What it checks
    /// Mentions `countDocuments` with a filter in a handler of requests: documents are counted each time somebody
    /// looks.
    ///
    /// ## Why it matters
    /// Counting reads every index entry that matches. On a page that many people look at, the same number is
    /// worked out again and again.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// app.get('/posts/:id', async (req, res) => {
    ///   const likes = await db.collection('t_like').countDocuments({postId: req.params.id});
    ///   res.json({likes});
    /// });
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function nightly() {
    ///   return db.collection('t_like').countDocuments({postId: 1});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Keep the number where it is shown (`$inc` on the parent), or work it out in the background.
    ///
    /// ## When to ignore it
    /// The page is looked at seldom, or few documents match.
    W021, "count-per-request",
    level: Recommended,
    area: Speed,
    clauses: ["AP-S2.4", "CK-11"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let counts = found.counts.iter().filter(|read| read.in_handler && !read.fields.is_empty());
    for read in counts {
        let fields: Vec<String> = read.fields.iter().map(|field| format!("`{field}`")).collect();
        cx.report(
            code::draft(
                evidence,
                &read.place,
                "count",
                format!("documents{} are counted by {} for each request", code::of(read.collection.as_deref()), fields.join(", ")),
                "counting reads every index entry that matches, again for everybody who looks",
                "keep the number where it is shown ($inc on the parent), or work it out in the background",
            )
            .severity(Severity::Info),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn ap_s2_4_sn_18_handlers_of_python() {
        let text = "source a.py\nfrom pymongo import MongoClient\n@app.route('/')\ndef f():\n    return str(db.t_like.count_documents({'postId': 1}))\n";
        assert_eq!(check("W021", text).len(), 1);
        assert!(check("W021", &text.replace("@app.route('/')\n", "")).is_empty());
    }
}
