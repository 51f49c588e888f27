//! CP-7, interpreted broadly: calls of a driver whose result no code awaits.

use docward_model::{
    Evidence, Severity,
    code::{LostPromise, Promiser},
};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Unawaited promise
    ///
    /// ## What it checks
    /// Reports calls of the Node.js driver, Mongoose, Motor and the asynchronous PyMongo whose promise nothing waits
    /// for: a statement of its own without `await`, `.then` or a callback, the result of a callback of `forEach`, a
    /// variable that is never mentioned again. Also writes in an asynchronous callback of `forEach`, which waits for none.
    ///
    /// | library | what happens | severity |
    /// |---|---|---|
    /// | Mongoose, methods of queries | the query is never sent | error if it writes, or else warning |
    /// | PyMongo asynchronous | the coroutine never runs | error if it writes, or else warning |
    /// | Mongoose, `create`, `save`, `exec` and others; the Node.js driver | it runs, and an error ends the process | warning |
    /// | Motor | it runs, and an error is lost | warning |
    ///
    /// ## Exceptions
    /// - promises that run, if the program handles `unhandledRejection`
    /// - `void` in front of the call, which says that nothing shall wait
    ///
    /// ## Why it matters
    /// A query of Mongoose is sent when something awaits it or calls `exec` or `then`. Without that, the code looks like
    /// a write and does nothing. A promise that runs on its own may fail after the answer was sent. Since Node.js 15, a
    /// rejection that nothing handles ends the process.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const mongoose = require('mongoose');
    /// const User = mongoose.model('User', new mongoose.Schema({seen: Date}));
    /// async function seen(id) {
    ///   User.updateOne({_id: id}, {seen: new Date()});
    /// }
    /// ```
    /// ```javascript,clean
    /// const mongoose = require('mongoose');
    /// const User = mongoose.model('User', new mongoose.Schema({seen: Date}));
    /// async function seen(id) {
    ///   await User.updateOne({_id: id}, {seen: new Date()});
    /// }
    /// ```
    ///
    /// ## How to fix
    /// Await the call. If the answer shall not wait for it, handle the error: `User.updateOne(…).catch(log)`.
    ///
    /// ## When to ignore it
    /// Never for queries of Mongoose. Others may run on their own if a failure does not matter; say so with `void` and
    /// `.catch`.
    W026, "unawaited-promise",
    level: Recommended,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["CP-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    for lost in &found.lost_promises {
        if !lost.never_runs && found.hears_rejections {
            continue;
        }
        let (severity, what, why, todo) = words(lost);
        let about = format!("{} {}", lost.method, lost.collection.as_deref().unwrap_or_default());
        cx.report(code::draft(evidence, &lost.place, &about, what, why, todo).severity(severity));
    }
}

fn words(lost: &LostPromise) -> (Severity, String, &'static str, String) {
    let of = code::of(lost.collection.as_deref());
    let method = &lost.method;
    let severity = match lost.never_runs && lost.writes {
        true => Severity::Error,
        false => Severity::Warn,
    };
    let what = match lost.never_runs {
        true => format!("{method}{of} is never sent: nothing awaits it"),
        false if lost.in_for_each => {
            format!("forEach does not wait for its asynchronous callback, which calls {method}{of}")
        }
        false => format!("no code awaits {method}{of} or handles its error"),
    };
    let why = match lost.library {
        Promiser::Mongoose if lost.never_runs => {
            "a Mongoose query is sent only when something awaits it, or calls exec() or then()"
        }
        Promiser::PyMongo => "a coroutine that is not awaited does not run",
        Promiser::Motor => "if the operation fails, the error is lost",
        Promiser::Mongoose | Promiser::Node => {
            "if the operation fails, the unhandled rejection ends the process"
        }
    };
    let todo = match lost.library {
        _ if lost.in_for_each => {
            "await Promise.all(list.map(…)), or write `for (const item of list)` with `await`"
                .to_owned()
        }
        Promiser::Motor | Promiser::PyMongo => format!("write `await` before {method}"),
        _ => format!("write `await` before {method}, or handle the error with .catch()"),
    };
    (severity, what, why, todo)
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{check, severities};

    fn of_mongoose(body: &str) -> Vec<Severity> {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', new mongoose.Schema({{n: Number}}));\nasync function f(id, ids, next) {{\n{body}\n}}\n"
        );
        severities("W026", "", &text)
    }

    #[test]
    fn cp_7_queries_of_mongoose_are_never_sent() {
        for (body, severity) in [
            ("User.updateOne({_id: id}, {n: 1});", Severity::Error),
            ("User.deleteMany({n: 1})", Severity::Error),
            ("if (id) User.findByIdAndDelete(id);", Severity::Error),
            ("ids.forEach((i) => User.updateOne({_id: i}, {n: 1}));", Severity::Error),
            ("ids.forEach((i) => { User.updateOne({_id: i}, {n: 1}); });", Severity::Error),
            ("const done1 = User.updateOne({_id: id}, {n: 1});", Severity::Error),
            ("User.find({n: 1}).sort({n: 1});", Severity::Warn),
            ("User.updateOne({_id: id}, {n: 1}).exec();", Severity::Warn),
            ("User.create({n: 1});", Severity::Warn),
            ("const user = new User({n: 1});\nuser.save();", Severity::Warn),
            ("const user = await User.findById(id);\nuser.n = 1;\nuser.save();", Severity::Warn),
        ] {
            assert_eq!(of_mongoose(body), [severity], "{body}");
        }
    }

    #[test]
    fn cp_7_what_is_waited_for_is_not_lost() {
        for body in [
            "await User.updateOne({_id: id}, {n: 1});",
            "return User.updateOne({_id: id}, {n: 1});",
            "User.updateOne({_id: id}, {n: 1}).then(next);",
            "User.updateOne({_id: id}, {n: 1}).catch(next);",
            "User.updateOne({_id: id}, {n: 1}).exec(next);",
            "User.updateOne({_id: id}, {n: 1}, (error) => next(error));",
            "User.updateOne({_id: id}, {n: 1}, callback);",
            "const all = [];\nall.push(User.updateOne({_id: id}, {n: 1}));\nawait Promise.all(all);",
            "await Promise.all([\n  User.updateOne({_id: id}, {n: 1}),\n  User.deleteOne({n: 2}),\n]);",
            "await Promise.all(ids.map((i) => User.updateOne({_id: i}, {n: 1})));",
            "const query = User.find({n: 1});\nreturn query;",
            "const found = id\n  ? User.find({n: 1})\n  : User.find({n: 2});\nreturn found;",
            "return (\n  User.find({n: 1})\n);",
            "void User.create({n: 1});",
            "for (const user of await User.find({n: 1})) next(user);",
            "for await (const user of User.find({n: 1})) { next(user); }",
            "if (await User.exists({n: 1})) next();",
            "User.find({n: 1}).cursor().on('data', next);",
            "User.findOne;",
            "const user = new User({n: 1});\nuser.save(next);",
            "const user = new User({n: 1});\nuser.save(deferred.makeNodeResolver());",
            "User.deleteOne({n: 1}, onEnd(id));",
        ] {
            assert!(of_mongoose(body).is_empty(), "{body}");
        }
    }

    #[test]
    fn cp_7_drivers_run_and_nobody_learns_of_errors() {
        let node = "source a.js\nconst {MongoClient} = require('mongodb');\nasync function f() {\n  db.collection('t_log').insertOne({a: 1});\n  await db.collection('t_log').findOne({a: 1});\n  const cursor = db.collection('t_log').find({a: 1});\n}\n";
        assert_eq!(severities("W026", "", node), [Severity::Warn]);
        let heard = node
            .replace("async function", "process.on('unhandledRejection', log);\nasync function");
        assert!(check("W026", &heard).is_empty());
        let python = |client: &str, module: &str, call: &str| {
            let text = format!(
                "source a.py\nfrom {module} import {client}\nusers = {client}('mongodb://a')['db']['t_user']\nasync def f():\n    {call}\n"
            );
            severities("W026", "", &text)
        };
        let call = "users.update_one({'a': 1}, {'$set': {'b': 1}})";
        assert_eq!(python("AsyncMongoClient", "pymongo", call), [Severity::Error]);
        assert_eq!(python("AsyncIOMotorClient", "motor.motor_asyncio", call), [Severity::Warn]);
        assert!(python("MongoClient", "pymongo", call).is_empty());
        assert!(python("AsyncMongoClient", "pymongo", &format!("await {call}")).is_empty());
        assert!(
            python("AsyncMongoClient", "pymongo", &format!("x = await {call}\n    print(x)"))
                .is_empty()
        );
        let task = format!("t = asyncio.create_task({call})\n    await t");
        assert!(python("AsyncMongoClient", "pymongo", &task).is_empty());
        let shell = "source a.js\ndb.t_user.updateOne({a: 1}, {$set: {b: 1}})\n";
        assert!(check("W026", shell).is_empty());
    }
}
