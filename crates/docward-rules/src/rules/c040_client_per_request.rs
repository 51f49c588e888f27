//! CN-02.1 and SDK-ALL.3: clients that are made for each request instead of once.

use std::collections::BTreeMap;

use docward_model::{Draft, Evidence, Severity, code::RemadeClient};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Client per request
    ///
    /// ## What it checks
    /// Reports source code that makes a client inside of what runs again and again: a handler of requests
    /// (Flask, Bottle, Django, FastAPI, Express, Nest, Next.js, Spring, JAX-RS, Gin, Echo, Fiber, `net/http`,
    /// Ktor), the function of a serverless platform, a task of a queue, or a loop; also when the handler
    /// calls a function, of the same file or imported from another, that makes a new client each time, or
    /// makes an object of a class whose constructor does; that is one finding, however many call it, and so are the
    /// handlers of one file that make one each.
    /// Clients that are kept are left alone: behind a test whether there is one, in a cache, a bean, a
    /// fixture or a start-up hook; and so are loops that try again until a connection succeeds, and functions that make
    /// one only where a parameter with a default asks for it, or that close it and end the process. `mongoose.connect` does nothing while its connection is open, and
    /// is left alone in a file that closes none. What Flask keeps in `g` is gone with the request.
    ///
    /// ## Why it matters
    /// A client is a pool with threads that watch the servers, made to live as long as the process. For
    /// each request:
    ///
    /// | | a connection per request | one client, reused |
    /// |---|---|---|
    /// | login | every time, 10 to 50 ms (TCP, TLS, SCRAM) | once |
    /// | connections | grow with the requests | stay within the pool |
    /// | at the limit | the server refuses everybody | requests wait their turn |
    /// | for | nothing in production | all of production |
    ///
    /// ## Example
    /// ```python,fires
    /// from flask import Flask
    /// from pymongo import MongoClient
    /// app = Flask(__name__)
    ///
    /// @app.route("/users")
    /// def users():
    ///     client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    ///     return list(client.shop.t_user.find())
    /// ```
    /// ```python,clean
    /// from flask import Flask
    /// from pymongo import MongoClient
    /// app = Flask(__name__)
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    ///
    /// @app.route("/users")
    /// def users():
    ///     return list(client.shop.t_user.find())
    /// ```
    ///
    /// ## How to fix
    /// Make the client once, at the top of a module or where the application starts, and use it everywhere.
    /// On platforms that keep no memory between calls, keep it outside of the handler so that warm calls
    /// reuse it, and put a pooling proxy in between.
    ///
    /// ## When to ignore it
    /// The handler runs a few times a day, or connects to a different deployment each time.
    C040, "client-per-request",
    level: Mandatory,
    area: Writes,
    severities: [Error, Warn],
    clauses: ["CN-02.1", "SDK-ALL.3", "CN-02.2"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // A function that many handlers call is one thing to fix.
    let mut causes: BTreeMap<Cause<'_>, Vec<&RemadeClient>> = BTreeMap::new();
    for client in &found.remade_clients {
        let alone = draft(evidence, client, &[]);
        if cx.is_accepted(&alone) {
            cx.report(alone);
            continue;
        }
        let own = client.through.is_none();
        let own = own.then_some((client.place.location.file.as_str(), client.within == "a loop"));
        causes.entry((client.through.as_deref(), own)).or_default().push(client);
    }
    for mut clients in causes.into_values() {
        clients.sort_by(|a, b| a.place.location.cmp(&b.place.location));
        if let Some((client, others)) = clients.split_first() {
            cx.report(draft(evidence, client, others));
        }
    }
}

/// What is said of a place, and of others that call the same function.
fn draft(evidence: &Evidence, client: &RemadeClient, others: &[&RemadeClient]) -> Draft {
    let more = match (others.len(), &client.through) {
        (0, _) => String::new(),
        (1, Some(_)) => "; it is called in one more place".to_owned(),
        (n, Some(_)) => format!("; it is called in {n} more places"),
        (1, None) => ", and in one more place of the file".to_owned(),
        (n, None) => format!(", and in {n} more places of the file"),
    };
    let what = match &client.through {
        Some(function) => format!(
            "`{function}` makes a new client each time, and {} calls it{more}",
            client.within
        ),
        None => format!("a client is made in {}{more}", client.within),
    };
    let is_loop = client.within == "a loop";
    code::draft(
        evidence,
        &client.place,
        "client",
        what,
        "each one logs in anew (10 to 50 ms) and opens connections of its own: their number grows with the requests until the server refuses them",
        "make the client once, outside, and reuse it for the whole life of the process",
    )
    .severity(if is_loop { Severity::Warn } else { Severity::Error })
    .locations(others.iter().map(|other| other.place.location.clone()))
}

/// What makes a client again and again: a function, or a file, in loops or in what answers requests.
type Cause<'a> = (Option<&'a str>, Option<(&'a str, bool)>);

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn count(file: &str, text: &str) -> usize {
        check("C040", &format!("source {file}\n{text}")).len()
    }

    #[test]
    fn cn_02_1_routes_of_bottle() {
        let count = |module: &str| {
            let text = format!(
                "source a.py\nfrom {module} import route\nfrom pymongo import MongoClient\n@route('/a')\ndef a():\n    client = MongoClient('mongodb://db/')\n    return client.shop.t.find_one()\n"
            );
            check("C040", &text).len()
        };
        assert_eq!(count("bottle"), 1);
        assert_eq!(count("planner"), 0);
    }

    #[test]
    fn cn_02_1_an_address_that_comes_with_the_request_leads_elsewhere_each_time() {
        let text = |data: &str| {
            format!(
                "import json, pymongo\nfrom flask import request\n@app.route('/dbs')\ndef dbs():\n    data = {data}\n    url = data['url']\n    client = pymongo.MongoClient(url)\n    return client.list_database_names()\n"
            )
        };
        assert_eq!(count("a.py", &text("json.loads(request.data)")), 0);
        assert_eq!(count("a.py", &text("settings()")), 1);
    }

    #[test]
    fn cn_02_1_handlers_of_frameworks_are_known() {
        let express = "const {MongoClient} = require('mongodb');\napp.get('/', async (req, res) => { const c = new MongoClient(process.env.URI); await c.connect(); res.json(await c.db('a').collection('b').find().toArray()); });";
        assert_eq!(count("a.js", express), 1);
        let lambda = "const {MongoClient} = require('mongodb');\nexports.handler = async (event) => { const c = await MongoClient.connect(process.env.URI); return c.db().collection('x').findOne(); };";
        assert_eq!(count("a.js", lambda), 1);
        let gin = "package main\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc list(c *gin.Context) {\n client, _ := mongo.Connect(ctx, options.Client().ApplyURI(uri))\n _ = client\n}";
        assert_eq!(count("a.go", gin), 1);
        let spring = "import com.mongodb.client.MongoClients;\nclass A { @GetMapping(\"/x\") public String x() { MongoClient c = MongoClients.create(uri); return c.toString(); } }";
        assert_eq!(count("A.java", spring), 1);
        let lambda = "from pymongo import MongoClient\ndef lambda_handler(event, context):\n    client = MongoClient(URI)\n    return client.a.b.find_one()\n";
        assert_eq!(count("a.py", lambda), 1);
    }

    #[test]
    fn cn_02_1_helpers_that_hand_on_what_helpers_make() {
        let helpers = "from pymongo import MongoClient\ndef connect():\n    return MongoClient(URI)\ndef rates():\n    return connect()['a']['rates']\n";
        let app = "source app.py\nfrom flask import Flask\nfrom helpers import rates\n@app.route('/')\ndef x():\n    return rates().find_one()\n";
        assert_eq!(count("helpers.py", &format!("{helpers}{app}")), 1);
        let kept = helpers
            .replace("    return connect()", "    return client")
            .replace("def rates", "client = connect()\ndef rates");
        assert_eq!(count("helpers.py", &format!("{kept}{app}")), 0);
    }

    #[test]
    fn sdk_all_3_what_is_kept_is_not_made_again() {
        let cached = "const {MongoClient} = require('mongodb');\nlet cached = null;\nexports.handler = async (event) => { if (!cached) { cached = await MongoClient.connect(process.env.URI); } return cached.db().collection('x').findOne(); };";
        assert_eq!(count("a.js", cached), 0);
        let early = "from pymongo import MongoClient\nclient = None\ndef get():\n    global client\n    if client is not None:\n        return client\n    client = MongoClient(URI)\n    return client\n@app.route('/')\ndef x():\n    return get().a.b.find_one()\n";
        assert_eq!(count("a.py", early), 0);
        let bean =
            "class A { @Bean public MongoClient client() { return MongoClients.create(uri); } }";
        assert_eq!(count("A.java", bean), 0);
        let tries = "from pymongo import MongoClient\nfor i in range(5):\n    try:\n        client = MongoClient(URI)\n        break\n    except Exception:\n        pass\n";
        assert_eq!(count("a.py", tries), 0);
        let script = "from pymongo import MongoClient\ndef main():\n    client = MongoClient(URI)\n    client.a.b.insert_one({})\nif __name__ == '__main__':\n    main()\n";
        assert_eq!(count("a.py", script), 0);
    }

    #[test]
    fn cn_02_1_an_early_return_keeps_no_client() {
        let node = "const {MongoClient} = require('mongodb');\napp.get('/', async (req, res) => { const q = req.query.q; if (!q) { return res.redirect('/'); } const files = list(); if (files.length === 0) return res.end(); const c = new MongoClient(process.env.URI); res.json(await c.db('a').collection('b').find().toArray()); });";
        assert_eq!(count("a.js", node), 1);
        assert_eq!(count("a.js", &node.replace("const q =", "var q =")), 1);
        let go = "package main\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc list(c *gin.Context) {\n err := c.Bind(&x)\n if err != nil {\n  return\n }\n client, err := mongo.Connect(ctx, options.Client().ApplyURI(uri))\n _ = client\n}";
        assert_eq!(count("a.go", go), 1);
        let java = "import com.mongodb.client.MongoClients;\nclass A { @GetMapping(\"/x\") public String x(String q) {\n  String name = find(q);\n  if (name == null) { return \"\"; }\n  MongoClient c = MongoClients.create(uri);\n  return c.toString();\n} }";
        assert_eq!(count("A.java", java), 1);
        // Where the name is the module's or the object's, it lives on.
        let kept = "const {MongoClient} = require('mongodb');\nlet c;\napp.get('/', async (req, res) => { if (!c) { c = new MongoClient(process.env.URI); } res.json(await c.db('a').collection('b').find().toArray()); });";
        assert_eq!(count("a.js", kept), 0);
        let kept = "package main\nimport \"go.mongodb.org/mongo-driver/mongo\"\nvar client *mongo.Client\nfunc list(c *gin.Context) {\n if client == nil {\n  client, _ = mongo.Connect(ctx, options.Client().ApplyURI(uri))\n }\n}";
        assert_eq!(count("a.go", kept), 0);
    }

    #[test]
    fn cn_02_1_what_lives_as_long_as_a_request_is_not_kept() {
        let flask = "from flask import Flask, g\nfrom pymongo import MongoClient\napp = Flask(__name__)\ndef get_db():\n    if 'client' not in g:\n        g.client = MongoClient(URI)\n    return g.client.shop\n@app.route('/')\ndef x():\n    return get_db().t_user.find_one()\n";
        assert_eq!(count("a.py", flask), 1);
        let old = flask.replace("    if 'client' not in g:\n        g.client = MongoClient(URI)\n    return g.client.shop", "    db = getattr(g, '_db', None)\n    if db is None:\n        db = g._db = MongoClient(URI)\n    return db");
        assert_eq!(count("a.py", &old), 1);
        // An object that lives on, and a table of the module.
        let kept =
            flask.replace("not in g:", "not in app.config:").replace("g.client", "app.client");
        let kept = kept.replace("'client' not in app.config", "app.client is None");
        assert_eq!(count("a.py", &kept), 0);
        let table = "from pymongo import MongoClient\nclients = {}\n@app.route('/')\ndef x(name):\n    if name not in clients:\n        clients[name] = MongoClient(URI)\n    return clients[name].a.b.find_one()\n";
        assert_eq!(count("a.py", table), 0);
        let local = table
            .replace("clients = {}\n", "")
            .replace("def x(name):\n", "def x(name):\n    clients = {}\n");
        assert_eq!(count("a.py", &local), 1);
    }

    #[test]
    fn cn_02_1_a_client_that_is_handed_on_within_a_request() {
        let text = "from flask import Flask, g\nimport pymongo\napp = Flask(__name__)\ndef connect():\n    return pymongo.MongoClient(URI).shop\ndef get_db():\n    if not hasattr(g, 'db'):\n        g.db = connect()\n    return g.db\n@app.route('/')\ndef x():\n    return get_db().t_user.find_one()\n";
        assert_eq!(count("a.py", text), 1);
        assert_eq!(
            count("a.py", &text.replace("g.db", "app.db").replace("hasattr(g, 'db')", "app.db")),
            0
        );
    }

    #[test]
    fn sdk_all_3_a_client_that_only_some_callers_ask_for() {
        let text = "import pymongo\nshared = pymongo.MongoClient(URI)\ndef get_db(own=False):\n    if own:\n        client = pymongo.MongoClient(URI)\n    else:\n        client = shared\n    return client.shop\n@app.route('/')\ndef x():\n    return get_db().t_user.find_one()\n";
        assert_eq!(count("a.py", text), 0);
        assert_eq!(
            count("a.py", &text.replace("client = shared", "client = pymongo.MongoClient(OTHER)")),
            1
        );
        assert_eq!(count("a.py", &text.replace("own=False", "own")), 1, "each caller decides");
    }

    #[test]
    fn cn_02_1_handlers_of_ktor() {
        let ktor = "import com.mongodb.kotlin.client.coroutine.MongoClient\nfun Application.module() {\n    routing {\n        get(\"/users\") {\n            val client = MongoClient.create(uri)\n            call.respond(client.getDatabase(\"db_shop\"))\n        }\n    }\n}\n";
        assert_eq!(count("A.kt", ktor), 1);
        let nested = ktor
            .replace("get(\"/users\") {", "route(\"/a\") { post {")
            .replace("        }\n    }\n}", "        } }\n    }\n}");
        assert_eq!(count("A.kt", &nested), 1);
        let once = "import com.mongodb.kotlin.client.coroutine.MongoClient\nfun Application.module() {\n    val client = MongoClient.create(uri)\n    routing {\n        get(\"/users\") {\n            call.respond(client.getDatabase(\"db_shop\"))\n        }\n    }\n}\n";
        assert_eq!(count("A.kt", once), 0);
    }

    #[test]
    fn cn_02_1_a_function_that_makes_one_each_time_is_found_through_its_caller() {
        let text = "from fastapi import FastAPI\nfrom pymongo import MongoClient\napp = FastAPI()\ndef get_db():\n    client = MongoClient(URI)\n    return client.shop\n@app.get('/')\ndef read():\n    return get_db().t_user.find_one()\n";
        let found = check("C040", &format!("source a.py\n{text}"));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.starts_with("`get_db` makes a new client each time"),
            "{}",
            found[0].what
        );
        // At the top of a module it is called once.
        let once =
            text.replace("    return get_db().t_user", "    return db.t_user") + "db = get_db()\n";
        assert_eq!(count("a.py", &once), 0);
    }

    #[test]
    fn cn_02_1_a_function_that_ends_the_process_leaves_no_client() {
        let count = |end: &str| {
            let text = format!(
                "const express = require('express');\nconst mongoose = require('mongoose');\nasync function cleanUp() {{ await mongoose.connect('mongodb://db1,db2/a'); await mongoose.connection.db.dropCollection('old'); await mongoose.disconnect(); {end} }}\nconst app = express();\napp.post('/clean', async (req, res) => {{ await cleanUp(); res.end(); }});\n"
            );
            count("a.js", &text)
        };
        assert_eq!(count(""), 1);
        assert_eq!(count("process.exit(0);"), 0);
    }

    #[test]
    fn cn_02_1_a_class_that_makes_one_for_itself_is_found_through_its_caller() {
        let class = "import pymongo\nclass Store():\n    def __init__(self):\n        self.client = pymongo.MongoClient(URI)\n";
        let route = "@app.route('/')\ndef x():\n    return Store().all()\n";
        assert_eq!(count("a.py", &format!("{class}{route}")), 1);
        let other = format!("{class}source views.py\nfrom store import Store\n{route}");
        let found = check("C040", &format!("source store.py\n{other}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.starts_with("`Store` makes a new client"), "{}", found[0].what);
        let twice = format!("{other}{}", route.replace("def x", "def y"));
        let found = check("C040", &format!("source store.py\n{twice}"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.ends_with("it is called in one more place"), "{}", found[0].what);
        // One for all, made where the module is read.
        let once =
            format!("{class}store = Store()\n@app.route('/')\ndef x():\n    return store.all()\n");
        assert_eq!(count("a.py", &once), 0);
        let shared = class.replace("class Store():\n", "class Store():\n    _instance = None\n");
        assert_eq!(count("a.py", &format!("{shared}{route}")), 0);
        let node = "const {MongoClient} = require('mongodb');\nclass Store { constructor() { this.client = new MongoClient(process.env.URI); } }\napp.get('/', async (req, res) => { const store = new Store(); res.json(await store.all()); });";
        assert_eq!(count("a.js", node), 1);
    }

    #[test]
    fn cn_02_1_other_databases_are_none_of_ours() {
        let sqlite = "import sqlite3\n@app.route('/')\ndef x():\n    c = sqlite3.connect('a.db')\n    return c.execute('select 1')\n";
        assert_eq!(count("a.py", sqlite), 0);
    }

    #[test]
    fn cn_02_1_routes_of_one_file_are_one_finding() {
        let route = |name: &str| {
            format!(
                "@app.route('/{name}')\ndef {name}():\n    client = MongoClient('mongodb://db/')\n    return client.shop.t.find_one()\n"
            )
        };
        let text = format!(
            "source a.py\nfrom flask import Flask\nfrom pymongo import MongoClient\napp = Flask(__name__)\n{}{}{}",
            route("a"),
            route("b"),
            route("c")
        );
        let found = check("C040", &text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].what.ends_with("and in 2 more places of the file"), "{found:?}");
    }
}
