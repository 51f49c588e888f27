//! AP-S2.4 and SN-18: counts that each request computes.

use docward_model::{Evidence, Severity};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Count per request
    ///
    /// ## What it checks
    /// Mentions `countDocuments` with a filter in a handler of requests, and tells two uses apart:
    /// - the number itself is used: documents are counted again for each request;
    /// - the number is only compared with 0 or 1, or is a condition: the code asks whether there is a document. Where it
    ///   then stores one in the same collection, two requests at a time both find none and both store one.
    ///
    /// ## Why it matters
    /// Counting reads every index entry that matches. A page that many people look at computes the same number again
    /// and again. A check before an insert does not keep values unique: only a unique index does.
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
    /// Keep a number that is shown on its parent (`$inc`), or compute it in the background. Replace a check before an insert
    /// by a unique index, and handle the duplicate-key error (code 11000). For other checks use `findOne` with a
    /// projection of `_id`, or `limit: 1`.
    ///
    /// ## When to ignore it
    /// The page is looked at seldom, or few documents match.
    W021, "count-per-request",
    level: Recommended,
    area: Speed,
    severities: [Info],
    clauses: ["AP-S2.4", "CK-11"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let counts = found.counts.iter().filter(|read| {
        read.in_handler && !read.fields.is_empty() && !found.is_hand_run(&read.place.location.file)
    });
    for read in counts {
        let fields: Vec<String> = read.fields.iter().map(|field| format!("`{field}`")).collect();
        let (of, fields) = (code::of(read.collection.as_deref()), fields.join(", "));
        let (what, why, todo) = match (read.is_existence, read.before_insert) {
            (true, true) => (
                format!("the code counts by {fields} to check that no document{of} exists before it inserts one"),
                "two simultaneous requests can both find none and both insert one; only a unique index prevents this",
                format!("create a unique index on {fields}, insert without the check, and handle the duplicate-key error (code 11000)"),
            ),
            (true, false) => (
                format!("the code counts documents{of} by {fields} only to check whether one exists"),
                "a count reads every matching index entry, although one entry would show that a document exists",
                "use findOne with a projection of _id, or limit: 1; if the code inserts a document when none exists, also create a unique index".to_owned(),
            ),
            (false, _) => (
                format!("each request counts documents{of} by {fields}"),
                "a count reads every matching index entry, and does so for each request",
                "store the number in the parent ($inc), or compute it in the background".to_owned(),
            ),
        };
        cx.report(
            code::draft(evidence, &read.place, "count", what, why, todo).severity(Severity::Info),
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

    #[test]
    fn ap_s2_4_ck_11_checks_for_existence_want_a_unique_index() {
        let todo = |text: &str| {
            let found = check("W021", text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            found[0].todo.clone()
        };
        let go = "source a.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc SignUp(c *gin.Context) {\n  users := client.Database(\"a\").Collection(\"user\")\n  count, err := users.CountDocuments(ctx, bson.M{\"email\": user.Email})\n  if err != nil { return }\n  count, err = users.CountDocuments(ctx, bson.M{\"phone\": user.Phone})\n  if err != nil { return }\n  if count > 0 { return }\n  users.InsertOne(ctx, user)\n}\n";
        let found = check("W021", go);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found.iter().all(|f| f.todo.contains("unique index") && !f.todo.contains("$inc")),
            "{found:?}"
        );
        let node = "source a.js\nconst {MongoClient} = require('mongodb');\napp.post('/', async (req, res) => { const files = db.collection('files'); USE });";
        for insert in [
            "if (await files.countDocuments({hash: h}) > 0) return; await files.insertOne({hash: h});",
            "const n = await files.countDocuments({hash: h}); if (n === 0) { await files.insertOne({hash: h}); }",
            "const n = await files.countDocuments({hash: h}); if (!n) { await files.insertOne({hash: h}); }",
        ] {
            assert!(
                todo(&node.replace("USE", insert)).starts_with("create a unique index on `hash`"),
                "{insert}"
            );
        }
        for asks in [
            "const n = await files.countDocuments({hash: h}); res.json({known: n > 0});",
            "if (await files.countDocuments({hash: h})) { res.end(); }",
            "const n = await files.countDocuments({hash: h}); if (n > 0) { console.log(`known: ${n}`); res.end(); }",
        ] {
            assert!(todo(&node.replace("USE", asks)).starts_with("use findOne"), "{asks}");
        }
        for counts in [
            "res.json({n: await files.countDocuments({hash: h})});",
            "const n = await files.countDocuments({hash: h}); if (n > 0) res.json({n});",
            "const n = await files.countDocuments({hash: h}); if (n > 0) res.send(`${n} files`);",
            "const n = await files.countDocuments({hash: h}); if (n > 100) { res.end(); }",
        ] {
            assert!(todo(&node.replace("USE", counts)).contains("$inc"), "{counts}");
        }
        let python = "source a.py\nfrom pymongo import MongoClient\n@app.route('/')\ndef f():\n    if db.t_user.count_documents({'email': e}) > 0:\n        return 'known'\n    db.t_user.insert_one({'email': e})\n    return 'ok'\n";
        assert!(todo(python).contains("unique index"));
    }
}
