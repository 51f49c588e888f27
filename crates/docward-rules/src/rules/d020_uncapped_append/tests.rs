//! Tests of the rule.

use crate::testing::check;

#[test]
fn dm_08_2_the_life_of_one_thing_is_short() {
    use docward_model::Severity::{Info, Warn};
    let severity = |model: &str, path: &str, more: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst {model} = mongoose.model('{model}', s);\nasync function f(id, c) {{ await {model}.updateOne({{_id: id}}, {{$push: {{{path}: c}}{more}}}); }}"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(severity("Order", "events", ""), Info);
    assert_eq!(severity("Shipment", "history", ""), Info);
    assert_eq!(severity("User", "events", ""), Warn);
    assert_eq!(severity("Order", "comments", ""), Warn);
    assert_eq!(severity("Order", "shipment_events", ""), Info);
    assert_eq!(severity("User", "orderHistory", ""), Warn);
    assert_eq!(severity("Parcel", "trackingUpdates", ""), Info);
    assert_eq!(severity("Ticket", "comments", ""), Info);
    // The statement sets the state as well.
    assert_eq!(severity("Thing", "history", ", $set: {status: 'done'}"), Info);
    assert_eq!(severity("Thing", "history", ", $set: {name: 'done'}"), Warn);
    assert_eq!(severity("User", "loginHistory", ", $set: {status: 'in'}"), Warn);
    let loaded = |state: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst Thing = mongoose.model('Thing', s);\nasync function f(id, c) {{ const thing = await Thing.findById(id); {state} thing.history.push(c); await thing.save(); }}"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(loaded("thing.status = 'done';"), Info);
    assert_eq!(loaded("if (thing.status == 'done') { return; }"), Warn);
    // Each step is taken once, whatever the list is called.
    let noted = |before: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst Thing = mongoose.model('Thing', s);\nasync function f(id, c) {{ const thing = await Thing.findById(id); {before} thing.notifications.push(c); await thing.save(); }}"
        );
        check("D020", &text)[0].severity
    };
    let asked = "if (thing.status !== 'new') { return; }";
    assert_eq!(noted(&format!("{asked} thing.status = 'done';")), Info);
    assert_eq!(noted("thing.status = 'done';"), Warn);
    assert_eq!(noted(asked), Warn);
}

#[test]
fn dm_08_2_emptied_and_taken_out_elsewhere() {
    use docward_model::Severity::{Info, Warn};
    let severity = |other: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst Chat = mongoose.model('Chat', s);\nasync function f(id, c) {{ await Chat.updateOne({{_id: id}}, {{$push: {{messages: c}}}}); }}\nasync function g(id, x) {{ {other} }}"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(severity("await Chat.updateOne({_id: id}, {$set: {messages: []}});"), Info);
    assert_eq!(severity("await Chat.updateOne({_id: id}, x ? {messages: []} : {b: 1});"), Info);
    assert_eq!(
        severity("const c = await Chat.findById(id); c.messages = []; await c.save();"),
        Info
    );
    let begun =
        "const c = await Chat.findById(id); if (!c.messages) { c.messages = []; } await c.save();";
    assert_eq!(severity(begun), Warn);
    let cut = |kept: &str| {
        severity(&format!(
            "const c = await Chat.findById(id); c.messages = c.messages.filter((m) => {kept}); await c.save();"
        ))
    };
    assert_eq!(cut("m.date >= since"), Info);
    assert_eq!(cut("m.quantity > 0"), Warn, "not by their age");
    assert_eq!(cut("m.id !== x"), Warn, "one of them");
    assert_eq!(severity("await Chat.create({_id: id, messages: []});"), Warn);
    assert_eq!(severity("await Chat.find({messages: []});"), Warn);
    let kotlin = |other: &str| {
        let text = format!(
            "source A.kt\nimport com.mongodb.client.model.Updates\nclass A(val users: MongoCollection<User>) {{\n  fun f(id: String, x: String) {{ users.updateOne(eq(\"_id\", id), Updates.addToSet(\"followers\", x)) }}\n  fun g(id: String, x: String) {{ users.updateOne(eq(\"_id\", id), Updates.{other}) }}\n}}\n"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(kotlin("pull(\"followers\", x)"), Info);
    assert_eq!(kotlin("pull(\"following\", x)"), Warn);
}

#[test]
fn dm_08_2_a_document_for_each_day_stays_short() {
    use docward_model::Severity::{Info, Warn};
    let severity = |filter: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst Sheet = mongoose.model('Sheet', s);\nasync function f(job, candidate, date, range, m) {{ const s = await Sheet.findOne({{job, {filter}}}); await Sheet.updateOne({{_id: s._id}}, {{$push: {{messages: m}}}}); }}"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(severity("date"), Info);
    assert_eq!(severity("visitDate: date"), Info);
    assert_eq!(severity("candidate"), Warn, "no day");
    assert_eq!(severity("date: {$gte: range}"), Warn, "many days");
}

#[test]
fn dm_08_2_one_array_is_told_once_from_whichever_files() {
    let file = |name: &str, path: &str| {
        format!(
            "source {name}\nconst {{MongoClient}} = require('mongodb');\nasync function f(repository, x) {{ await repository.findOneAndUpdate({{_id: 1}}, {{$push: {{{path}: x}}}}); }}\n"
        )
    };
    let count =
        |a: &str, b: &str| check("D020", &format!("{}{}", file("a.js", a), file("b.js", b))).len();
    assert_eq!(count("usageHistory", "usageHistory"), 1);
    assert_eq!(count("usageHistory", "priceHistory"), 2);
    assert_eq!(count("comments", "comments"), 2, "an everyday word");
}

#[test]
fn dm_08_2_parts_of_schemas_injected_models_and_helpers() {
    let method = "const mongoose = require('mongoose');\nconst userSchema = new mongoose.Schema({});\nuserSchema.methods.pay = function (x) { this.wallet.transactions.push(x); return this.save(); };";
    assert_eq!(paths("a.js", method), ["wallet.transactions"]);
    let nest = |parameter: &str| {
        let text = format!(
            "source profile.schema.ts\nimport {{ Prop, Schema }} from '@nestjs/mongoose';\n@Schema()\nexport class Profile {{ @Prop() n: number; }}\nsource a.service.ts\nimport {{ Model }} from 'mongoose';\nimport {{ InjectModel }} from '@nestjs/mongoose';\nexport class A {{\n  constructor(@InjectModel(Profile.name) private readonly {parameter}) {{}}\n  async add(id: string, x: any) {{\n    const p = await this.lawyerModel.findById(id);\n    p.reviews.push(x);\n    p.count = p.reviews.length;\n    await p.save({{ validateBeforeSave: false }});\n  }}\n}}\n"
        );
        check("D020", &text)[0].what.contains(" of `Profile` ")
    };
    assert!(nest("lawyerModel: Model<ProfileDocument>"));
    assert!(!nest("lawyerModel: Model<Other>"));
    let helper = |load: &str| {
        let text = format!(
            "source post.js\nconst mongoose = require('mongoose');\nmodule.exports = mongoose.model('Post', new mongoose.Schema({{}}));\nsource a.js\nconst Post = require('./models/post');\nasync function f(id, x) {{ const post = await {load}; post.comments.push(x); await post.save(); }}\n"
        );
        check("D020", &text).len()
    };
    assert_eq!(helper("findPost(id)"), 1);
    assert_eq!(helper("createPost(id)"), 0);
}

#[test]
fn dm_08_2_cut_on_the_way_taken_out_and_other_names() {
    use docward_model::Severity::{Info, Warn};
    let found = |text: &str| {
        let found = check("D020", text);
        found.into_iter().map(|finding| finding.severity).collect::<Vec<_>>()
    };
    let java = "source A.java\nimport org.springframework.data.mongodb.core.query.Update;\nclass A { void f(Object x) {\n  BasicDBObject element = new BasicDBObject(\"$each\", x);\n  element.append(\"$slice\", -5);\n  Update update = new Update();\n  update.push(\"comments\", element);\n} }\n";
    assert!(found(java).is_empty());
    assert_eq!(found(&java.replace("$slice", "$position")), [Warn]);
    let python = "source a.py\nfrom mongoengine import Document\ndef f(post, c):\n    Post.objects(id=1).update(push__comments=c)\ndef g(post, i):\n    post.update(pull__comments__oid=i)\n";
    assert_eq!(found(python), [Info]);
    assert_eq!(found(&python.replace("pull__comments__oid", "set__title")), [Warn]);
    let alias = "source a.js\nconst mongoose = require('mongoose');\nconst schema = new mongoose.Schema({});\nschema.methods.say = async function (text) {\n  const comments = this.comments;\n  comments.push(text);\n  await this.save();\n};\n";
    assert_eq!(found(alias), [Warn]);
    assert!(found(&alias.replace("this.comments;", "[...this.comments];")).is_empty());
}

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
        let text =
            format!("source a.mongodb\ndb.t_user.updateOne({{_id}}, {{$push: {{'{array}': e}}}})");
        check("D020", &text)[0].severity
    };
    use docward_model::Severity::{Info, Warn};
    assert_eq!(
        ["loginLog", "events", "messageIds", "chat.messages", "comments.items", "reply_list"]
            .map(severity),
        [Warn; 6]
    );
    assert_eq!(
        ["roles", "tokenTypes", "x", "memberIds", "members", "linkedExperiments", "logFiles"]
            .map(severity),
        [Info; 7]
    );
    assert_eq!(["lastMessage.starred", "eventTypes", "history.tags"].map(severity), [Info; 3]);
    // What changes its state a few times, and payments of one order.
    assert_eq!(
        ["status.ban.history", "statusLog", "payments.$.transactions"].map(severity),
        [Info; 3]
    );
    assert_eq!(["transactions", "history", "stateless.events"].map(severity), [Warn; 3]);
    // What somebody does a few times, and what is written down each time.
    assert_eq!(["promotionHistory", "revisions", "app_version_list"].map(severity), [Info; 3]);
    assert_eq!(["chatHistory", "logs", "audit_log"].map(severity), [Warn; 3]);
}

#[test]
fn dm_08_2_arrays_that_are_cut_or_searched_are_a_note() {
    use docward_model::Severity::{Info, Warn};
    let severity = |body: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nconst Post = mongoose.model('Post', s);\n{body}"
        );
        let found = check("D020", &text);
        assert_eq!(found.len(), 1, "{body}: {found:?}");
        found[0].severity
    };
    let push =
        "async function f(id, c) { await User.updateOne({_id: id}, {$push: {logins: c}}); }\n";
    assert_eq!(severity(push), Warn);
    for cut in ["{$pull: {logins: c}}", "{$pop: {logins: -1}}", "{$pullAll: {logins: c}}"] {
        let other = |model: &str| {
            format!(
                "{push}async function g(id, c) {{ await {model}.updateOne({{_id: id}}, {cut}); }}"
            )
        };
        assert_eq!(severity(&other("User")), Info, "{cut}");
        assert_eq!(severity(&other("Post")), Warn, "another collection: {cut}");
    }
    let searched = "async function f(id, c) { const user = await User.findById(id); const had = user.logins.find((l) => l.kind === c.kind); if (had) { had.at = c.at; } else { user.logins.push(c); } await user.save(); }";
    assert_eq!(severity(searched), Info);
    assert_eq!(severity(&searched.replace("user.logins.find", "user.others.find")), Warn);
    let taken = "async function f(id, key) { const user = await User.findById(id); user.logins = user.logins.filter((l) => l.key.toString() !== key); user.logins.push({ key, at: 1 }); await user.save(); }";
    assert_eq!(severity(taken), Info);
    assert_eq!(severity(&taken.replace("l.key.", "l.other.")), Warn, "another key");
    assert_eq!(
        severity(
            "async function f(id, c) { const user = await User.findById(id); if (!user.logins.some((l) => l.kind === c)) { user.logins.push(c); } await user.save(); }"
        ),
        Info
    );
}

#[test]
fn dm_08_2_periods_and_elements_that_are_replaced_are_a_note() {
    use docward_model::Severity::{Info, Warn};
    let severity = |update: &str| {
        let text = format!("source a.mongodb\ndb.t_user.updateOne({{_id}}, {update})");
        check("D020", &text)[0].severity
    };
    assert_eq!(severity("{$addToSet: {activity: period}}"), Info);
    assert_eq!(severity("{$addToSet: {activity: entry}}"), Warn);
    assert_eq!(severity("{$push: {activity: period}}"), Warn);
    let by_day = "source a.mongodb\ndb.t_agent.updateOne({agentId, date}, {$push: {history: h}})";
    assert_eq!(check("D020", by_day)[0].severity, Info);
    let by_id = by_day.replace("agentId, date", "_id, date");
    assert_eq!(check("D020", &by_id)[0].severity, Warn, "the date is only a condition");
    let replaced = "[{$set: {logs: {$filter: {input: '$logs', cond: c}}}}, {$set: {logs: {$concatArrays: ['$logs', more]}}}]";
    assert_eq!(severity(replaced), Info);
    assert_eq!(severity(&replaced.replace("{logs: {$filter", "{others: {$filter")), Warn);
}

#[test]
fn dm_08_2_new_documents_grow_once() {
    let js = |body: &str| {
        paths(
            "a.js",
            &format!(
                "const mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\n{body}"
            ),
        )
    };
    // Two variables of one name, each in a block of its own.
    let blocks = "async function f(req, c) { if (req.user) { let user = await User.findById(req.user); user.name = c; await user.save(); } else { const user = new User(); user.logins.push(c); await user.save(); } }";
    assert!(js(blocks).is_empty(), "{:?}", js(blocks));
    assert_eq!(js(&blocks.replace("user.name = c", "user.logins.push(c)")), ["logins"]);
    let one = "async function f(req, c) { let user; if (req.user) { user = await User.findById(req.user); } else { user = new User(); } user.logins.push(c); await user.save(); }";
    assert_eq!(js(one), ["logins"], "the same variable");
    let replaced = "async function f(id, c) { let user = await User.findById(id); if (user) { return user; } user = new User(); if (c) { user.logins.push(c); } await user.save(); }";
    assert!(js(replaced).is_empty(), "{:?}", js(replaced));
    let before = "async function f(id, c) { let user = new User(); if (id) { user = await User.findById(id); } user.logins.push(c); await user.save(); }";
    assert_eq!(js(before), ["logins"]);
    let fresh = "async function f(mail) { const msgId = Random.id(); await insert(msgId); mail.files.forEach(async (file) => { await User.updateOne({_id: msgId}, {$addToSet: {messages: file}}); }); }";
    assert!(js(fresh).is_empty());
    assert_eq!(js(&fresh.replace("Random.id()", "mail.id")), ["messages"]);
    let text = "from pymongo import MongoClient\nimport uuid\ndef f(db, x):\n    key = str(uuid.uuid4())\n    db.t.insert_one({'_id': key})\n    db.t.update_one({'_id': key}, {'$push': {'events': x}})\n";
    assert!(paths("a.py", text).is_empty());
    assert_eq!(paths("a.py", &text.replace("str(uuid.uuid4())", "str(x)")), ["events"]);
}

#[test]
fn dm_08_2_updates_built_by_assignment_and_those_of_meteor() {
    for (text, path) in [
        ("function f(u, v) { u.$push = {versions: v}; }", "versions"),
        ("function f(u, v) { u.$push.comments = v; }", "comments"),
        ("function f(u, v) { u['$push'].comments = v; }", "comments"),
        ("function f(u, v, t) { u.$push[t] = v; }", "[t]"),
        (
            "import {Mongo} from 'meteor/mongo';\nconst Boards = new Mongo.Collection('boards');\nasync function f(id, m) { await Boards.updateAsync(id, {$push: {members: m}}); }",
            "members",
        ),
    ] {
        assert_eq!(paths("a.js", text), [path], "{text}");
    }
    let python = "def f(db, u, v):\n    u['$addToSet']['analyses'] = v\n    db.t.find_one_and_update({'_id': 1}, u)\n";
    assert_eq!(paths("a.py", python), ["analyses"]);
    assert!(paths("a.py", &python.replace("$addToSet", "$set")).is_empty());
    assert!(
        paths("a.js", "function f(u, v) { u.$set.comments = v; u.push.comments = v; }").is_empty()
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
    // What adds nothing and cuts is no second site, and keeps the array short.
    for cut in [
        text.replace("[e], $slice", "[], $slice"),
        "source A.java\nimport com.mongodb.client.model.Updates;\nclass A {\n  void f() {\n    c.updateOne(q, Updates.pushEach(\"log\", new ArrayList<>(), new PushOptions().slice(-9)));\n  }\n  void g() {\n    c.updateOne(q, Updates.push(\"log\", e));\n  }\n}\n".to_owned(),
    ] {
        let found = check("D020", &cut);
        assert_eq!(found.len(), 1, "{cut}");
        assert_eq!(found[0].severity, docward_model::Severity::Info, "{cut}");
    }
}

#[test]
fn dm_08_2_one_array_is_told_once() {
    let shop = "source a.js\nconst {MongoClient} = require('mongodb');\nasync function f(db, x) { await db.collection('t_job').updateOne({_id: 1}, {$push: {log: x}}); }\nasync function g(db, x) { await db.collection('t_job').updateOne({_id: 2}, {$push: {log: x}}); }\n";
    let found = check("D020", shop);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].what.ends_with("another statement does, too"), "{}", found[0].what);
    assert_eq!(found[0].location.as_ref().map(|at| at.line), Some(2));
    assert_eq!(check("D020", &shop.replacen("t_job", "t_task", 1)).len(), 2, "another collection");
    assert_eq!(check("D020", &shop.replacen("log", "events", 1)).len(), 2, "another array");
}

#[test]
fn dm_08_2_guards_in_code_and_filter_are_a_note() {
    use docward_model::Severity::{Info, Warn};
    let severity = |body: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nasync function f(id, c, now) {{ {body} }}"
        );
        let found = check("D020", &text);
        assert_eq!(found.len(), 1, "{body}: {found:?}");
        found[0].severity
    };
    for guarded in [
        "const user = await User.findById(id); if (user.followers.indexOf(c) == -1) { user.followers.push(c); } await user.save();",
        "const user = await User.findById(id); if (user.followers.includes(c)) { return; } user.followers.push(c); await user.save();",
        "await User.updateOne({_id: id, 'warning.active': {$ne: true}}, {$set: {'warning.active': true}, $push: {history: c}});",
        "const set = {state: 'done'}; await User.updateOne({_id: id, state: 'running'}, {$set: set, $push: {history: c}});",
        "await User.updateOne({_id: id, 'followers.user': {$ne: c.user}}, {$push: {followers: c}});",
        "await User.updateOne({_id: id, createdAt: {$gt: now}}, {$push: {comments: c}});",
    ] {
        assert_eq!(severity(guarded), Info, "{guarded}");
    }
    for open in [
        "const user = await User.findById(id); if (user.friends.indexOf(c) == -1) { user.followers.push(c); } await user.save();",
        "await User.updateOne({_id: id, 'warning.active': {$ne: true}}, {$set: {other: true}, $push: {history: c}});",
        "await User.updateOne({_id: id, version: c.version}, {$set: {version: c.version + 1}, $push: {history: c}});",
        "await User.updateOne({_id: id, state: 'running'}, {$set: {state: 'running'}, $push: {history: c}});",
    ] {
        assert_eq!(severity(open), Warn, "{open}");
    }
    let elsewhere = "source a.js\nconst {MongoClient} = require('mongodb');\nfunction room(chat) { return chat.messages.length < MAX_MESSAGES; }\nasync function f(db, id, m) { await db.collection('t').updateOne({_id: id}, {$push: {messages: m}}); }";
    assert_eq!(check("D020", elsewhere)[0].severity, Info);
    let empty = elsewhere.replace("< MAX_MESSAGES", "> 0");
    assert_eq!(check("D020", &empty)[0].severity, Warn);
}

#[test]
fn dm_08_2_dictionaries_and_conditions_are_followed() {
    let python = "from mongoengine import Document\nclass Task(Document):\n    def log(self, line):\n        statement = {'push__logs': line}\n        self.update(**statement)\n";
    assert_eq!(paths("a.py", python), ["logs"]);
    let node = "const {MongoClient} = require('mongodb');\nasync function f(db, id, pick, b) { await db.collection('t').updateOne({_id: id}, {$push: pick === 'home' ? {homeBets: b} : {awayBets: b}}); }";
    let mut found = paths("a.js", node);
    found.sort();
    assert_eq!(found, ["awayBets", "homeBets"]);
}

#[test]
fn dm_08_2_updates_that_are_held_in_a_variable() {
    let text = "const mongoose = require('mongoose');\nconst User = mongoose.model('User', s);\nasync function toggle(id, post, has) {\n  let update;\n  if (has) { update = {$pull: {likes: post}}; } else { update = {$addToSet: {likes: post}}; }\n  await User.findByIdAndUpdate(id, update);\n}\n";
    assert!(paths("a.js", text).is_empty(), "{:?}", paths("a.js", text));
    assert_eq!(paths("a.js", &text.replace("$pull", "$set")), ["likes"]);
}

#[test]
fn dm_08_2_a_list_that_is_read_made_longer_and_set() {
    let text = "const {MongoClient} = require('mongodb');\nfunction add(orders, req) {\n  orders.findOne({name: req.name}).then((doc) => {\n    const list = doc.history;\n    list.push(req.body);\n    return orders.updateOne({name: req.name}, {$set: {history: list}});\n  });\n}\n";
    assert_eq!(paths("a.js", text), ["history"]);
    assert!(paths("a.js", &text.replace("list.push(req.body)", "list.sort()")).is_empty());
    assert!(
        paths("a.js", &text.replace("list.push(req.body)", "list.push(req.body); list.shift()"))
            .is_empty()
    );
}

#[test]
fn dm_08_2_audit_trails_and_attempts_of_one_thing() {
    use docward_model::Severity::{Info, Warn};
    let severity = |model: &str, path: &str, more: &str| {
        let text = format!(
            "source a.js\nconst mongoose = require('mongoose');\nconst {model} = mongoose.model('{model}', s);\nasync function f(id, c) {{ await {model}.updateOne({{_id: id}}, {{$push: {{{path}: c}}{more}}}); }}"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(severity("Share", "audit_log", ", $set: {status: 'revoked'}"), Info);
    assert_eq!(severity("Share", "audit_log", ""), Warn);
    assert_eq!(severity("Payment", "attempts", ""), Info);
    assert_eq!(severity("User", "loginAttempts", ""), Warn);
}

#[test]
fn dm_08_2_one_array_under_other_names_is_told_once() {
    let model = "source models/Guest.js\nconst mongoose = require('mongoose');\nconst guestSchema = new mongoose.Schema({});\nguestSchema.methods.tell = async function (x) { this.messages.push(x); await this.save(); };\nmodule.exports = mongoose.model('Guest', guestSchema);\n";
    let user = |file: &str, name: &str| {
        format!(
            "source {file}\nconst {name} = require('./models/Guest');\nasync function f(id, x) {{ await {name}.findByIdAndUpdate(id, {{$push: {{messages: x}}}}); }}\n"
        )
    };
    let count = |text: &str| check("D020", text).len();
    assert_eq!(count(&user("a.js", "guestsModel")), 1);
    assert_eq!(
        count(&format!("{model}{}{}", user("a.js", "guestsModel"), user("b.js", "GuestModel"))),
        1
    );
    let loaded = format!(
        "{}async function g(id, x) {{ const guest = await GuestModel.findOneAndUpdate({{_id: id}}, {{a: 1}}); await guest.update({{$push: {{messages: x}}}}); }}\n",
        user("a.js", "GuestModel")
    );
    assert_eq!(count(&loaded), 1);
    let other = user("a.js", "guestsModel").replace("models/Guest", "models/Host");
    assert_eq!(count(&format!("{model}{other}")), 2, "another model");
}

#[test]
fn dm_08_2_documents_of_a_day_stay_short() {
    use docward_model::Severity::{Info, Warn};
    let severity = |filter: &str| {
        let text = format!(
            "source models/Shift.js\nconst mongoose = require('mongoose');\nconst shiftSchema = new mongoose.Schema({{}});\nshiftSchema.methods.begin = async function (x) {{ this.sessions.push(x); await this.save(); }};\nmodule.exports = mongoose.model('Shift', shiftSchema);\nsource a.js\nconst Shift = require('./models/Shift');\nasync function f(owner, today) {{ return Shift.findOne({{{filter}}}); }}\n"
        );
        check("D020", &text)[0].severity
    };
    assert_eq!(severity("owner, today"), Info);
    assert_eq!(severity("owner"), Warn);
}
