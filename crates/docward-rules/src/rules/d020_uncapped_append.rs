//! DM-08.2: statements that make an array longer with nothing that keeps it short.

use docward_model::{
    Collection, Evidence, Level, Severity,
    code::{Append, AppendKind, Cap},
};

use crate::{
    Cx, declare_rule,
    facts::{
        arrays::{self, Limits, Owner},
        code, names, patterns, words,
    },
};

declare_rule! {
    /// # Uncapped append
    ///
    /// ## What it checks
    /// Reports statements in source code that add to an array of a stored document without a bound:
    /// `$push` and `$addToSet` without `$slice`, `$concatArrays` in an update, `push__field` of MongoEngine,
    /// `Updates.push` and Spring's `Update.push`, and elements added to a document that was loaded and is
    /// saved again. A filter that matches only while there is room (`count: {$lt: 60}` with `$inc`,
    /// `"items.99": {$exists: false}`, `$size`) bounds it, so does cutting or testing the length in the same
    /// function, and `maxItems` of the model. So does a document that the same function makes, or of which there is
    /// one for each day or hour (a part of a date in the filter, with an upsert). Values that stand in the code
    /// itself (`$addToSet: {roles: "admin"}`), or are looked up in a list that does, are few. A statement alone does not tell a list of roles from a list of
    /// logins: it is a warning where the name says something of which there is more each day (`comments`,
    /// `events`, `loginHistory`, `memberIds`), and a note elsewhere. `$push` of a `$group` stage stores nothing, and what migrations and other
    /// scripts do once grows nothing.
    ///
    /// ## Why it matters
    /// The array grows with every call until the document reaches 16 MB and no write succeeds. Long before
    /// that, each read and each write carries all of it.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// async function login(db, id, entry) {
    ///   await db.collection('t_user').updateOne({_id: id}, {$push: {logins: entry}});
    /// }
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// async function login(db, id, entry) {
    ///   await db.collection('t_user').updateOne({_id: id}, {$push: {logins: {$each: [entry], $slice: -10}}});
    ///   await db.collection('t_sensor').updateOne(
    ///     {sensorId: id, count: {$lt: 60}}, {$push: {readings: entry}, $inc: {count: 1}}, {upsert: true});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Only the last ones matter: `$push` with `$each` and `$slice: -N`. Each is an entity of its own: a
    /// collection with a reference to the parent, and a count on the parent. Measurements: a time series, or
    /// one document per hour. A few giants: overflow pages.
    ///
    /// ## When to ignore it
    /// The application bounds it elsewhere; say so with `[[collections.bounded]]` in `docward.toml`.
    D020, "uncapped-append",
    level: Prohibited,
    clauses: ["DM-08.2", "DM-08.4", "CK-4", "CK-8", "AP-S2.1", "AP-S4.1", "AP-S0.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for append in found.appends.iter().filter(|append| append.cap == Cap::None) {
        if is_declared(append, evidence, cx) || is_told_with_the_data(append, evidence, cx) {
            continue;
        }
        let sliced = found.appends.iter().any(|other| {
            other.path == append.path
                && !append.path.contains(['*', '['])
                && other.collection == append.collection
                && other.place.location.file == append.place.location.file
                && matches!(other.cap, Cap::Slice(_))
        });
        cx.report(draft(evidence, append, sliced));
    }
}

/// Whether the documents show the array growing: then code and data are one finding, D008's.
fn is_told_with_the_data(append: &Append, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let named = |collection: &&Collection| {
        append.collection.as_deref() == Some(collection.namespace.collection.as_str())
    };
    evidence.collections.iter().filter(named).any(|collection| {
        let Some(profile) = patterns::user_documents(collection) else { return false };
        let limits = Limits::of(cx.settings(), &collection.namespace);
        let path = code::plain_path(&append.path);
        profile.fields.iter().filter(|field| field.path.as_str().replace("[]", "") == path).any(
            |field| {
                let owner =
                    arrays::owner(cx.settings(), evidence, collection, profile, field, &limits);
                matches!(owner, Some(Owner::Unbounded(_)))
            },
        )
    })
}

/// Whether the settings or the model bound the array.
fn is_declared(append: &Append, evidence: &Evidence, cx: &Cx<'_>) -> bool {
    let by_settings = cx.settings().bounded_arrays.iter().any(|(pattern, path, _)| {
        *path == append.path
            && append.collection.as_ref().is_none_or(|collection| {
                pattern.matches(collection) || pattern.as_str().ends_with(&format!(".{collection}"))
            })
    });
    let fields = evidence.code.iter().flat_map(|code| &code.fields);
    by_settings
        || fields.into_iter().any(|field| {
            field.path == append.path
                && field.max_items.is_some()
                && append.collection.as_ref().is_some_and(|collection| {
                    *collection == field.model || field.collection.as_ref() == Some(collection)
                })
        })
}

fn draft(evidence: &Evidence, append: &Append, sliced: bool) -> docward_model::Draft {
    let path = match append.path.as_str() {
        "*" => "an array whose name is computed".to_owned(),
        path if path.starts_with('[') => {
            format!("the array named by `{}`", path.trim_matches(['[', ']']))
        }
        path => format!("`{path}`"),
    };
    let of = code::of(append.collection.as_deref());
    let also = if sliced {
        "; another statement keeps it short with $slice, this one does not"
    } else {
        ""
    };
    let what = format!("{} makes {path}{of} longer with no bound{also}", append.kind.text());
    let todo = match append.kind {
        AppendKind::Push | AppendKind::Concat | AppendKind::Document => format!(
            "if only the last ones matter: {{$push: {{{}: {{$each: […], $slice: -100}}}}}}; if each is an entity of its own: a collection that refers to the parent",
            if append.path == "*" { "field" } else { &append.path }
        ),
        AppendKind::AddToSet => "keep the pairs in a collection of their own with a unique index on both ids, or test the length in the filter".to_owned(),
    };
    code::draft(
        evidence,
        &append.place,
        &format!("{} {}", append.kind.text(), append.path),
        what,
        "it grows with every call until the document reaches 16 MB and every write fails; before that, each read and write carries all of it",
        todo,
    )
    .data("path", append.path.as_str())
    // One site, whatever the data look like: likely rather than certain.
    .severity(match (sliced, grows_by_nature(&append.path)) {
        (true, _) => Severity::Error,
        (false, true) => Severity::Warn,
        (false, false) => Severity::Info,
    })
    .level(Level::Prohibited)
}

/// Whether the name says something of which there is more each day: the statement alone does not tell a list of
/// roles from a list of logins.
fn grows_by_nature(path: &str) -> bool {
    const GROWS: [&str; 62] = [
        "log",
        "history",
        "event",
        "activity",
        "action",
        "execution",
        "message",
        "comment",
        "reply",
        "review",
        "vote",
        "like",
        "view",
        "visit",
        "session",
        "login",
        "token",
        "bookmark",
        "favorite",
        "favourite",
        "starred",
        "muted",
        "blocked",
        "subscriber",
        "subscription",
        "follower",
        "following",
        "friend",
        "member",
        "user",
        "customer",
        "participant",
        "attachment",
        "file",
        "blob",
        "upload",
        "image",
        "photo",
        "reference",
        "relationship",
        "order",
        "transaction",
        "payment",
        "purchase",
        "reading",
        "measurement",
        "record",
        "entry",
        "version",
        "revision",
        "artifact",
        "post",
        "attempt",
        "audit",
        "trace",
        "change",
        "step",
        "timestamp",
        "device",
        "ticket",
        "invoice",
        "experiment",
    ];
    // Arrays that seldom have more than a handful, whatever they are lists of.
    const FEW: [&str; 14] = [
        "role",
        "permission",
        "scope",
        "tag",
        "label",
        "email",
        "alias",
        "address",
        "phone",
        "type",
        "field",
        "name",
        "method",
        "option",
    ];
    let mut parts = path.trim_matches(['[', ']']).rsplit('.').filter(|part| !part.starts_with('$'));
    let Some(last) = parts.next() else { return false };
    let has = |part: &str, list: &[&str]| {
        names::words(part).iter().any(|word| list.contains(&words::singular(word).as_str()))
    };
    !has(last, &FEW)
        && (has(last, &GROWS) || parts.next().is_some_and(|parent| has(parent, &GROWS)))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn paths(file: &str, text: &str) -> Vec<String> {
        check("D020", &format!("source {file}\n{text}"))
            .into_iter()
            .map(|f| match f.data.get("path") {
                Some(docward_model::DataValue::Text(path)) => path.clone(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn dm_08_2_statements_of_every_language() {
        let py = "from pymongo import MongoClient\ndef f(db, x):\n    db.t_user.update_one({'_id': 1}, {'$push': {'logins': x}})\n    db.t_user.update_one({'_id': 1}, {'$addToSet': {'followers': x}})\n    db.t_user.update_one({'_id': 1}, {'$push': {'a': {'$each': [x], '$position': 0}}})\n";
        let mut found = paths("a.py", py);
        found.sort();
        assert_eq!(found, ["a", "followers", "logins"]);
        let go = "package a\nfunc f() { coll.UpdateOne(ctx, bson.M{\"_id\": id}, bson.M{\"$push\": bson.M{\"events\": e}})\n coll.UpdateOne(ctx, f, bson.D{{\"$addToSet\", bson.D{{\"members\", m}}}}) }";
        assert_eq!(paths("a.go", go), ["events", "members"]);
        let java = "import com.mongodb.client.model.Updates;\nclass A { void f() { c.updateOne(eq(\"_id\", 1), Updates.push(\"events\", e)); c.updateOne(f, new Document(\"$push\", new Document(\"logs\", e))); mongo.updateFirst(q, new Update().push(\"items\", x), A.class); } }";
        let mut found = paths("A.java", java);
        found.sort();
        assert_eq!(found, ["events", "items", "logs"]);
        let kotlin =
            "import org.litote.kmongo.push\nfun f() { col.updateOne(id, push(User::comments, c)) }";
        assert_eq!(paths("A.kt", kotlin), ["comments"]);
        let shell = "db.t_order.updateOne({_id: 1}, {$push: {auditLog: {$each: [e]}}})";
        assert_eq!(paths("a.mongodb", shell), ["auditLog"]);
    }

    #[test]
    fn ap_s0_2_a_login_log_weighs_more_than_a_list_of_roles() {
        let severity = |array: &str| {
            let text = format!(
                "source a.mongodb\ndb.t_user.updateOne({{_id}}, {{$push: {{{array}: e}}}})"
            );
            check("D020", &text)[0].severity
        };
        use docward_model::Severity::{Info, Warn};
        assert_eq!(
            ["loginLog", "events", "memberIds", "roles", "tokenTypes", "x"].map(severity),
            [Warn, Warn, Warn, Info, Info, Info]
        );
    }

    #[test]
    fn dm_08_2_mappers() {
        let mongoose = "const mongoose = require('mongoose');\nconst Post = mongoose.model('Post', s);\nasync function f(id, c) { const post = await Post.findById(id); post.comments.push(c); await post.save(); }";
        assert_eq!(paths("a.js", mongoose), ["comments"]);
        let engine = "from mongoengine import Document\nclass User(Document):\n    pass\ndef f(x):\n    User.objects(id=1).update(push__logins=x)\n    u = User.objects.get(id=1)\n    u.events.append(x)\n    u.save()\n";
        assert_eq!(paths("a.py", engine), ["logins", "events"]);
    }

    #[test]
    fn dm_08_4_sn_05_sn_06_sn_08_bounds_are_seen() {
        for text in [
            "db.orders.updateOne({_id}, {$push: {auditLog: {$each: [e], $slice: -100}}})",
            "db.products.updateOne({_id}, {$push: {recentReviews: {$each: [r], $sort: {date: -1}, $slice: 5}}, $inc: {reviewCount: 1}})",
            "db.sensor_data.updateOne({sensorId, hour, count: {$lt: 60}}, {$push: {readings: r}, $inc: {count: 1}}, {upsert: true})",
            "db.t.updateOne({_id, 'items.99': {$exists: false}}, {$push: {items: r}})",
            "db.users.updateOne({_id}, {$addToSet: {roles: 'admin'}})",
        ] {
            assert!(paths("a.mongodb", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn dm_08_2_what_looks_like_it_stays_silent() {
        for (file, text) in [
            (
                "a.js",
                "const mongoose = require('mongoose');\nOrder.aggregate([{$group: {_id: '$user', items: {$push: '$item'}}}])",
            ),
            (
                "a.js",
                "const group = {_id: '$user', items: {$push: {name: '$name'}}};\nconst m = require('mongodb');\nc.aggregate([{$group: group}])",
            ),
            (
                "a.js",
                "const m = require('mongodb');\nhistory.push('/home'); router.push({path: '/'}); errors.push(new Error('x'));",
            ),
            (
                "a.js",
                "const mongoose = require('mongoose');\nasync function f() { const users = await User.find(); const out = []; for (const u of users) { out.push(u.name); } return out; }",
            ),
            (
                "a.js",
                "const mongoose = require('mongoose');\nasync function f(id, c) { const post = await Post.findById(id); if (post.comments.length < 100) { post.comments.push(c); await post.save(); } }",
            ),
            (
                "a.py",
                "from pymongo import MongoClient\n\"\"\"db.t.update_one({}, {'$push': {'a': x}})\"\"\"\n# {'$push': {'a': x}}\n",
            ),
        ] {
            assert!(paths(file, text).is_empty(), "{text}: {:?}", paths(file, text));
        }
    }

    #[test]
    fn dm_08_2_documents_made_here_and_tests_before_bound_it() {
        let js = |body: &str| {
            format!(
                "const {{MongoClient}} = require('mongodb');\nconst ROLES = ['a', 'b'];\nconst names = {{a: 1, b: 2}};\nasync function f(db, x, user, day) {{ {body} }}"
            )
        };
        let open = "db.collection('t').updateOne({_id: user._id}, {$push: {events: x}});";
        assert_eq!(paths("a.js", &js(open)), ["events"]);
        for body in [
            // The id was made by the same function.
            "const r = await db.collection('t').insertOne({a: 1}); for (const e of x) { await db.collection('t').updateOne({_id: r.insertedId}, {$push: {events: e}}); }",
            "const id = new ObjectId(); await db.collection('t').insertOne({_id: id}); await db.collection('t').updateOne({_id: id}, {$push: {events: x}});",
            // Its length is tested.
            "if (user.events.length >= 20) { throw new Error('full'); } db.collection('t').updateOne({_id: user._id}, {$push: {events: x}});",
            "if (user.events.length < MAX_EVENTS) { db.collection('t').updateOne({_id: user._id}, {$push: {events: x}}); }",
            // One of a few.
            "if (!ROLES.includes(x)) { return; } db.collection('t').updateOne({_id: user._id}, {$addToSet: {members: x}});",
            "if (!names[x]) { return; } db.collection('t').updateOne({_id: user._id}, {$addToSet: {members: x}});",
            // A filter about room that another function makes.
            "db.collection('t').updateOne({_id: user._id, ...availableSeatFilter(x)}, {$push: {members: x}});",
            // One document per day.
            "db.collection('t').updateOne({sensor: x.id, day}, {$push: {readings: x}, $inc: {n: 1}}, {upsert: true});",
        ] {
            assert!(paths("a.js", &js(body)).is_empty(), "{body}");
        }
        for body in [
            "const id = new ObjectId(user.id); await db.collection('t').updateOne({_id: id}, {$push: {events: x}});",
            "const r = await db.collection('n').insertOne({a: 1}); await db.collection('t').updateOne({_id: r.parentId}, {$push: {events: x}});",
            "db.collection('t').updateOne({_id: user._id, ...tenantFilter(x)}, {$push: {members: x}});",
            // Somebody else's id, a test for one, a list that is no constant, a day without an upsert.
            "const r = await db.collection('t').findOne({a: 1}); await db.collection('t').updateOne({_id: r._id}, {$push: {events: x}});",
            "if (user.events.length > 0) { db.collection('t').updateOne({_id: user._id}, {$push: {events: x}}); }",
            "if (user.members.includes(x)) { return; } db.collection('t').updateOne({_id: user._id}, {$push: {members: x}});",
            "db.collection('t').updateOne({_id: user._id, day}, {$push: {readings: x}});",
        ] {
            assert_eq!(paths("a.js", &js(body)).len(), 1, "{body}");
        }
        let py = "from pymongo import MongoClient\nROLES = ('a', 'b')\ndef f(db, x):\n    if x not in ROLES:\n        return\n    db.t.update_one({'_id': 1}, {'$addToSet': {'members': x}})\n";
        assert!(paths("a.py", py).is_empty());
        assert_eq!(paths("a.py", &py.replace("not in ROLES", "not in others")), ["members"]);
        let go = "package a\nfunc f(ctx context.Context, c *mongo.Collection, e Event) {\n r, _ := c.InsertOne(ctx, bson.M{\"a\": 1})\n c.UpdateByID(ctx, r.InsertedID, bson.M{\"$push\": bson.M{\"events\": e}})\n}";
        assert!(paths("a.go", go).is_empty());
    }

    #[test]
    fn dm_08_2_one_site_with_slice_and_one_without_is_an_error() {
        let text = "source a.mongodb\ndb.t.updateOne({_id}, {$push: {log: {$each: [e], $slice: -10}}});\ndb.t.updateOne({_id}, {$push: {log: e}});";
        let found = check("D020", text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, docward_model::Severity::Error);
    }
}
