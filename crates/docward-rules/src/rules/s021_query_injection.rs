//! SE-9, interpreted broadly: queries that the sender of a request can change.

use std::collections::BTreeMap;

use docward_model::{
    Draft, Evidence, Severity,
    code::{Code, Injection, InjectionKind, InputGuard},
};

use crate::{
    Cx, declare_rule,
    facts::{code, text},
};

declare_rule! {
    /// # Query injection
    ///
    /// ## What it checks
    /// Reports queries that are built from a request, if bindings prove the way from the request to the query:
    ///
    /// | what the request reaches | severity |
    /// |---|---|
    /// | JavaScript for the server: `$where`, `$function`, `$accumulator` | error |
    /// | the text of a query: `BasicQuery`, `Document.parse` | error |
    /// | the whole filter: `find(req.body)` | error |
    /// | the condition on a password, token or code: `{password: req.body.password}` | error |
    /// | the condition on another field | warning |
    /// | the condition on `_id` alone | note |
    /// | a regular expression without escaping | warning |
    /// | the whole update of Mongoose: `findByIdAndUpdate(id, req.body)` | warning |
    ///
    /// JSON bodies, PHP arrays and the query strings of Express 4 hold objects, so that the value may be an operator:
    /// `{"password": {"$ne": null}}` matches every password. Mongoose does not prevent this: it casts the value inside
    /// `$ne` to the type of the field and keeps the operator, unless `sanitizeFilter` is on.
    ///
    /// A cast (`String(value)`), an escape, `$eq`, a check by type or by a schema, and a method that only texts have
    /// end the way. So does every function that Docward does not know.
    ///
    /// ## Exceptions
    /// - conditions on fields and whole filters, if the project removes operators: `express-mongo-sanitize`,
    ///   `sanitizeFilter`
    /// - only with `--select pedantic`: the same, if the project has a library that checks requests against a schema
    /// - conditions from `req.query`, if the project uses Express 5, which does not nest query strings
    ///
    /// ## Why it matters
    /// The sender of the request decides what the query matches: a login without a password, documents of other users,
    /// a deletion of everything. A free pattern can match everything and read a whole collection.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// app.post('/login', async (req, res) => {
    ///   const user = await db.collection('t_user').findOne({name: req.body.name, password: req.body.password});
    ///   res.json(user);
    /// });
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// app.post('/login', async (req, res) => {
    ///   const user = await db.collection('t_user').findOne({name: String(req.body.name)});
    ///   res.json(user);
    /// });
    /// ```
    ///
    /// ## How to fix
    /// Cast the value to its type, or wrap it: `{name: {$eq: value}}`. Escape what goes into a regular expression.
    /// Replace `$where` by operators. Check requests against a schema before they reach a query.
    ///
    /// ## When to ignore it
    /// Only administrators reach the route, or a proxy in front of it checks the request.
    S021, "query-injection",
    level: Prohibited,
    area: Security,
    severities: [Error, Warn, Info],
    clauses: ["SE-9"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

/// Parts of names of fields with credentials.
const CREDENTIALS: [&str; 9] =
    ["password", "passwd", "pwd", "token", "secret", "otp", "apikey", "api_key", "pincode"];

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // Conditions of one query are one finding. They are on a few lines of one function.
    let mut queries: BTreeMap<(&str, Option<&str>, &'static str, u32), Vec<&Injection>> =
        BTreeMap::new();
    for injection in &found.injections.found {
        let place = &injection.place;
        if found.is_hand_run(&place.location.file) || is_guarded(found, injection) {
            continue;
        }
        let function = place.function.as_deref();
        let kind = name_of(&injection.kind);
        let line = if function.is_some() { 0 } else { place.location.line };
        queries
            .entry((place.location.file.as_str(), function, kind, line))
            .or_default()
            .push(injection);
    }
    for mut injections in queries.into_values() {
        injections.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        let draft = draft(evidence, &injections);
        let is_checked = found.injections.guards.contains(&InputGuard::Validator)
            && matches!(name_of(&injections[0].kind), "filter" | "operator" | "update");
        cx.report(if is_checked { draft.pedantic() } else { draft });
    }
}

/// Whether the project ensures that a request contains no operators.
fn is_guarded(found: &Code, injection: &Injection) -> bool {
    let guards = &found.injections.guards;
    match injection.kind {
        InjectionKind::Filter | InjectionKind::Operator(_) | InjectionKind::Update => {
            guards.contains(&InputGuard::Sanitizer)
                || (injection.needs_nested_query && guards.contains(&InputGuard::FlatQueries))
        }
        _ => false,
    }
}

fn name_of(kind: &InjectionKind) -> &'static str {
    match kind {
        InjectionKind::Script(_) => "script",
        InjectionKind::Json(_) => "json",
        InjectionKind::Pattern(_) => "pattern",
        InjectionKind::Filter => "filter",
        InjectionKind::Operator(_) => "operator",
        InjectionKind::Update => "update",
    }
}

fn is_credential(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    CREDENTIALS.iter().any(|word| lower.contains(word))
}

fn draft(evidence: &Evidence, injections: &[&Injection]) -> Draft {
    let first = injections[0];
    let of = code::of(first.collection.as_deref());
    let mut inputs: Vec<&str> = injections.iter().map(|i| i.input.as_str()).collect();
    inputs.dedup();
    let shown = text::list(&inputs, 3);
    let (is, becomes) = if inputs.len() == 1 { ("is", "becomes") } else { ("are", "become") };
    let paths: Vec<&str> = injections
        .iter()
        .filter_map(|injection| match &injection.kind {
            InjectionKind::Operator(path) => Some(path.as_str()),
            _ => None,
        })
        .collect();
    let (severity, what, why, todo) = match &first.kind {
        InjectionKind::Script(operator) => (
            Severity::Error,
            format!("{shown} {becomes} part of the JavaScript in {operator}{of}"),
            "the sender of the request runs code in the database",
            format!("replace {operator} by query operators, or pass the value as a checked number"),
        ),
        InjectionKind::Json(parser) => (
            Severity::Error,
            format!("{shown} {becomes} part of the query text that {parser} parses"),
            "the sender of the request can add conditions and operators to the query",
            "build the query from a document or with Filters, so that the value stays a value".to_owned(),
        ),
        InjectionKind::Pattern(_) => (
            Severity::Warn,
            format!("{shown} {is} used as a regular expression{of} without escaping"),
            "a request can send a pattern that matches everything or takes very long, and `(` alone ends in an error",
            "escape the value first (RegExp.escape, _.escapeRegExp, re.escape, Pattern.quote, regexp.QuoteMeta, preg_quote), or use a text index"
                .to_owned(),
        ),
        InjectionKind::Filter => (
            Severity::Error,
            format!("{shown} {is} the whole filter{of}"),
            "the sender of the request chooses the condition, with any field and any operator",
            "take the allowed fields one by one and cast each of them: {name: String(value)}".to_owned(),
        ),
        InjectionKind::Update => (
            Severity::Warn,
            format!("{shown} {is} the whole update{of}"),
            "anyone who sends the request can set any field of the model, and may send operators",
            "take the allowed fields one by one: {$set: {name: String(value)}}".to_owned(),
        ),
        InjectionKind::Operator(_) => {
            let severity = if paths.iter().any(|path| is_credential(path)) {
                Severity::Error
            } else if paths.iter().all(|path| *path == "_id") {
                Severity::Info
            } else {
                Severity::Warn
            };
            (
                severity,
                format!("{shown} {is} compared with {}{of} without a check of its type", text::list(&paths, 3)),
                "a request can send an operator instead of a value: {\"$ne\": null} matches every document that has one",
                "cast the value to its type, for example String(value), or wrap it: {$eq: value}".to_owned(),
            )
        }
    };
    let about = format!("{} {}", name_of(&first.kind), inputs.join(" "));
    code::draft(evidence, &first.place, &about, what, why, todo)
        .severity(severity)
        .locations(injections.iter().skip(1).map(|other| other.place.location.clone()))
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{check, check_pedantic, severities};

    fn node(body: &str) -> String {
        format!(
            "source a.js\nconst {{MongoClient}} = require('mongodb');\nconst users = db.collection('t_user');\napp.post('/a', async (req, res) => {{\n{body}\n}});\n"
        )
    }

    fn of_node(body: &str) -> Vec<Severity> {
        severities("S021", "", &node(body))
    }

    #[test]
    fn se_9_values_of_requests_may_be_operators() {
        for (body, severity) in [
            ("await users.findOne({name: req.body.name});", Severity::Warn),
            ("const {token} = req.body; await users.findOne({token});", Severity::Error),
            ("await users.findOne({_id: req.body.id});", Severity::Info),
            ("await users.find(req.body).toArray();", Severity::Error),
            ("await users.find({...req.query, a: 1}).toArray();", Severity::Error),
            ("const q = {}; q.name = req.query.name; await users.findOne(q);", Severity::Warn),
            ("await users.deleteMany({$or: [{a: 1}, {b: req.body.b || null}]});", Severity::Warn),
            (
                "const f = JSON.parse(req.query.filter); await users.find(f).toArray();",
                Severity::Error,
            ),
            ("await users.aggregate([{$match: {a: req.body.a}}]).toArray();", Severity::Warn),
        ] {
            assert_eq!(of_node(body), [severity], "{body}");
        }
    }

    #[test]
    fn se_9_casts_checks_and_unknown_functions_end_the_way() {
        for body in [
            "await users.findOne({name: String(req.body.name)});",
            "await users.findOne({name: `${req.body.name}`});",
            "await users.findOne({name: req.body.name + ''});",
            "await users.findOne({age: +req.body.age});",
            "await users.findOne({name: {$eq: req.body.name}});",
            "await users.findOne({_id: new ObjectId(req.body.id)});",
            "await users.findOne({name: req.params.name});",
            "await users.findOne({name: normalise(req.body.name)});",
            "const {name} = req.body; if (typeof name !== 'string') return; await users.findOne({name});",
            "const {name} = req.body; if (!validator.isEmail(name)) return; await users.findOne({name});",
            "const body = schema.parse(req.body); await users.findOne({name: body.name});",
            "await check(req.body); await users.findOne({name: req.body.name});",
            "const name = req.body.name.trim(); await users.findOne({name});",
            "await users.insertOne({name: req.body.name});",
            "let {name} = req.body; name = sure(name); await users.findOne({name});",
        ] {
            assert!(of_node(body).is_empty(), "{body}");
        }
        let route = node("await users.findOne({name: req.body.name});");
        assert!(
            check("S021", &route.replace("'/a', async", "'/a', validate(rules), async")).is_empty()
        );
        let plain = route.replace("app.post('/a', async (req, res) =>", "helper(async (req) =>");
        assert!(check("S021", &plain).is_empty(), "no handler");
    }

    #[test]
    fn se_9_patterns_and_scripts_of_requests() {
        for (body, severity) in [
            (
                "await users.find({name: {$regex: req.query.q, $options: 'i'}}).toArray();",
                Severity::Warn,
            ),
            ("await users.find({name: new RegExp(req.params.q, 'i')}).toArray();", Severity::Warn),
            (
                "const re = new RegExp('^' + req.query.q); await users.find({name: re}).toArray();",
                Severity::Warn,
            ),
            (
                "await users.find({$where: `this.name == '${req.query.q}'`}).toArray();",
                Severity::Error,
            ),
        ] {
            assert_eq!(of_node(body), [severity], "{body}");
        }
        for body in [
            "await users.find({name: {$regex: _.escapeRegExp(req.query.q)}}).toArray();",
            "const q = req.query.q.replace(/[.*+?]/g, '\\\\$&'); await users.find({name: new RegExp(q)}).toArray();",
            "const re = new RegExp(req.query.q); res.json(names.filter((n) => re.test(n)));",
            "await users.find({$where: `this.n > ${Number(req.query.n)}`}).toArray();",
        ] {
            assert!(of_node(body).is_empty(), "{body}");
        }
    }

    #[test]
    fn se_9_models_of_mongoose_keep_operators_unless_filters_are_sanitized() {
        let text = "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', new mongoose.Schema({name: String}));\nexports.login = async (req, res) => { res.json(await User.findOne({name: req.body.name})); };\n";
        assert_eq!(severities("S021", "", text), [Severity::Warn]);
        let sanitized = text.replace("exports", "mongoose.set('sanitizeFilter', true);\nexports");
        assert!(check("S021", &sanitized).is_empty());
        let guarded =
            text.replace("exports", "app.use(require('express-mongo-sanitize')());\nexports");
        assert_eq!(severities("S021", "", &guarded), [Severity::Warn], "a name is needed");
        let guarded =
            text.replace("exports", "const s = require('express-mongo-sanitize');\nexports");
        assert!(check("S021", &guarded).is_empty());
        let validated = text.replace("exports", "const joi = require('joi');\nexports");
        assert!(check("S021", &validated).is_empty());
        assert_eq!(check_pedantic("S021", &validated).len(), 1);
    }

    #[test]
    fn se_9_requests_are_no_updates() {
        let update = |body: &str| {
            let text = format!(
                "source a.js\nconst mongoose = require('mongoose');\nconst User = mongoose.model('User', new mongoose.Schema({{name: String}}));\nexports.put = async (req, res) => {{ {body} }};\n"
            );
            severities("S021", "", &text)
        };
        for body in [
            "await User.findByIdAndUpdate(req.params.id, req.body);",
            "const fields = req.body; await User.findByIdAndUpdate(req.params.id, fields, {new: true});",
        ] {
            assert_eq!(update(body), [Severity::Warn], "{body}");
        }
        for body in [
            "await User.findByIdAndUpdate(req.params.id, {name: String(req.body.name)});",
            "await User.findByIdAndUpdate(req.params.id, {$set: {name: String(req.body.name)}});",
            "const fields = pick(req.body); await User.findByIdAndUpdate(req.params.id, fields);",
        ] {
            assert!(update(body).is_empty(), "{body}");
        }
    }

    #[test]
    fn se_9_other_languages() {
        for text in [
            "source a.py\nfrom flask import request\nfrom pymongo import MongoClient\nusers = MongoClient('mongodb://a')['db']['t_user']\n@app.route('/')\ndef f():\n    return users.find_one({'name': request.json['name']})\n",
            "source a.py\nfrom flask import request\nfrom pymongo import MongoClient\nusers = MongoClient('mongodb://a')['db']['t_user']\n@app.route('/')\ndef f():\n    q = request.args.get('q')\n    return users.find({'name': {'$regex': q}})\n",
            "source a.php\n<?php $users = (new MongoDB\\Client('mongodb://a'))->db->t_user;\n$u = $users->findOne(['name' => $_POST['name']]);\n",
            "source a.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc Search(c *gin.Context) {\n  q := c.Query(\"q\")\n  users.Find(ctx, bson.M{\"name\": bson.M{\"$regex\": q}})\n}\n",
            "source A.java\nimport org.springframework.data.mongodb.core.MongoTemplate;\nclass A {\n  @GetMapping(\"/a\")\n  List<User> find(@RequestParam String q) {\n    return mongoTemplate.find(new Query(Criteria.where(\"name\").regex(q)), User.class);\n  }\n}\n",
        ] {
            assert_eq!(check("S021", text).len(), 1, "{text}");
        }
        for text in [
            "source a.py\nfrom flask import request\nfrom pymongo import MongoClient\nusers = MongoClient('mongodb://a')['db']['t_user']\n@app.route('/')\ndef f():\n    return users.find_one({'name': request.form['name']})\n",
            "source a.php\n<?php $users = (new MongoDB\\Client('mongodb://a'))->db->t_user;\n$u = $users->findOne(['name' => (string) $_POST['name']]);\n",
            "source a.go\npackage a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc Search(c *gin.Context) {\n  users.Find(ctx, bson.M{\"name\": bson.M{\"$regex\": regexp.QuoteMeta(c.Query(\"q\"))}, \"a\": c.Query(\"a\")})\n}\n",
        ] {
            assert!(check("S021", text).is_empty(), "{text}");
        }
    }
}
