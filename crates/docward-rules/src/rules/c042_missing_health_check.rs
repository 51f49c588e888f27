//! SDK-ALL.4: programs that discover only with their first request that the server is not reachable.

use docward_model::{Driver, Evidence, Severity, code::Place};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Missing health check
    ///
    /// ## What it checks
    /// Reports, as a note, a project that creates clients, does not contact the server at its start, and has no
    /// health check.
    ///
    /// Docward does not report projects whose code does one of these:
    /// - It sends a command anywhere (`ping`, `buildInfo`, `connectionStatus`, `server_info()`, any
    ///   `db.command(…)`).
    /// - It connects at once and handles the result: an awaited `client.connect()` or `mongoose.connect()`, or
    ///   one with `then`, `catch`, a callback or a listener for errors. `MongooseModule.forRoot` and `mgo.Dial`
    ///   do this by themselves.
    /// - It runs an operation when it starts: at the top level of a file, in a function called there, or in a
    ///   start-up hook of a framework (`init_beanie`, creation of indexes).
    ///
    /// ## Why it matters
    /// The clients of PyMongo, Go and Java connect with their first operation. A process that starts without its
    /// database looks healthy, accepts requests and fails each of them.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    /// ```
    /// ```python,clean
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb://db1,db2/?replicaSet=rs0")
    ///
    /// def is_there():
    ///     try:
    ///         return client.admin.command("ping")["ok"] == 1
    ///     except Exception:
    ///         return False
    /// ```
    ///
    /// ## How to fix
    /// Ping the `admin` database when the program starts and in the health check that the platform calls.
    /// `docward connect sdk` writes such a check for each language.
    ///
    /// ## When to ignore it
    /// A wrapper around the driver contacts the server at the start, and Docward cannot see it.
    C042, "missing-health-check",
    level: Information,
    area: Hygiene,
    clauses: ["SDK-ALL.4", "SDK-PY.5"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

const PING: &str = "ping the admin database at startup and in a health check; `docward connect sdk` generates both";

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    if found.has_health_check() {
        return;
    }
    // The first client that code creates; connection strings in settings are not clients.
    let Some(client) = evidence.uris.iter().find(|uri| uri.driver.is_some() && uri.site.is_some())
    else {
        return;
    };
    let Some(site) = &client.site else { return };
    let place = Place { location: site.location.clone(), function: None };
    let (why, todo) = match client.driver {
        Some(Driver::Node | Driver::Mongoose) if found.connects_in_handler => (
            "connect() runs in a request handler, so a wrong address or password shows in the first request, not at the start of the program",
            "connect once when the program starts and exit if that fails; ping the admin database in the health check",
        ),
        Some(Driver::Node | Driver::Mongoose) => (
            "the code does not wait for connect(), so a wrong address or password shows only in the first request",
            PING,
        ),
        _ => (
            "the driver connects with the first operation, so a wrong address or password shows only in the first request",
            PING,
        ),
    };
    cx.report(
        code::draft(
            evidence,
            &place,
            "health",
            "the program does not contact the server at its start, and has no health check",
            why,
            todo,
        )
        .severity(Severity::Info),
    );
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    fn count(text: &str) -> usize {
        check("C042", text).len()
    }

    #[test]
    fn sdk_all_4_every_language_pings_in_its_own_way() {
        let go = "source a.go\npackage a\nfunc main() { c, _ := mongo.Connect(ctx, options.Client().ApplyURI(u)); PING }";
        assert_eq!(count(&go.replace("PING", "")), 1);
        assert_eq!(count(&go.replace("PING", "c.Ping(ctx, readpref.Primary())")), 0);
        let node = "source a.js\nconst c = new MongoClient(u); PING";
        assert_eq!(count(&node.replace("PING", "")), 1);
        assert_eq!(count(&node.replace("PING", "c.db('admin').command({ping: 1})")), 0);
    }

    #[test]
    fn sdk_all_4_a_handler_answers_with_the_state_of_the_connection() {
        let state = "mongoose.connection.readyState === 1";
        let handler = format!("app.get('/health', (q, r) => r.sendStatus({state} ? 200 : 503));");
        let client = "source a.js\nconst mongoose = require('mongoose');\nconst {MongoClient} = require('mongodb');\nconst c = new MongoClient(u);\nASK";
        assert_eq!(count(&client.replace("ASK", &handler)), 0);
        // A connection that is kept between calls is not a health check.
        let kept = format!("function open() {{ if ({state}) return; }}");
        assert_eq!(count(&client.replace("ASK", &kept)), 1);
    }

    #[test]
    fn sdk_all_4_any_command_reaches_the_server() {
        let node = "source a.js\nconst {MongoClient} = require('mongodb');\nconst c = new MongoClient(u);\nasync function check() { ASK }";
        for ask in [
            "await mongo.db.command({ connectionStatus: 1 });",
            "await c.db().admin().serverStatus();",
            "await c.db().admin().ping();",
        ] {
            assert_eq!(count(&node.replace("ASK", ask)), 0, "{ask}");
        }
        assert_eq!(count(&node.replace("ASK", "program.command('serve');")), 1);
        assert_eq!(count(&node.replace("ASK", "await redisClient.ping();")), 1);
        let python = "source a.py\nfrom motor.motor_asyncio import AsyncIOMotorClient\nclass Api:\n    def __init__(self):\n        self.db = AsyncIOMotorClient(URI).bot\n    async def validate(self):\n        ASK\n";
        for ask in ["await self.db.command('buildinfo')", "await self.client.server_info()"] {
            assert_eq!(count(&python.replace("ASK", ask)), 0, "{ask}");
        }
        assert_eq!(count(&python.replace("ASK", "await self.bot.command('say')")), 1);
        let go = "source a.go\npackage a\nfunc open() { c, _ := mongo.Connect(ctx, options.Client().ApplyURI(u)); c.Database(\"a\").RunCommand(ctx, bson.D{{\"hello\", 1}}) }";
        assert_eq!(count(go), 0);
    }

    #[test]
    fn sdk_all_4_connecting_contacts_the_server_where_somebody_hears_of_it() {
        let mongoose = "source db.js\nconst mongoose = require('mongoose');\nCONNECT";
        for connect in [
            "const connectDB = async () => { try { await mongoose.connect(uri); } catch (e) { process.exit(1); } };\nmodule.exports = connectDB;",
            "mongoose.connect(uri).then(() => app.listen(80)).catch(console.error);",
            "mongoose.connect(uri, (error) => { if (error) throw error; });",
            "mongoose.connect(uri);\nmongoose.connection.on('error', (e) => { console.error(e); process.exit(1); });",
            "mongoose.connect(uri);\nconst db = mongoose.connection;\ndb.on('error', console.error);",
            "module.exports = () => mongoose.connect(uri);",
        ] {
            assert_eq!(count(&mongoose.replace("CONNECT", connect)), 0, "{connect}");
        }
        assert_eq!(count(&mongoose.replace("CONNECT", "mongoose.connect(uri);")), 1);
        let node = "source a.js\nconst {MongoClient} = require('mongodb');\nconst client = new MongoClient(u);\n";
        assert_eq!(count(&format!("{node}async function open() {{ await client.connect(); }}")), 0);
        assert_eq!(count(&format!("{node}export default client.connect();")), 0);
        let other = format!("{node}async function open() {{ await redisClient.connect(); }}");
        assert_eq!(count(&other), 1);
        // Each request opens its own connection: the first one fails.
        let handler = "source a.js\nconst {MongoClient} = require('mongodb');\napp.get('/', async (req, res) => { const client = new MongoClient(u); await client.connect(); res.end(); });";
        let found = check("C042", handler);
        assert_eq!(found.len(), 1);
        assert!(found[0].why.contains("runs in a request handler"), "{}", found[0].why);
        assert!(found[0].todo.starts_with("connect once when the program starts"));
        let unheard = handler.replace("await client", "client");
        assert!(check("C042", &unheard)[0].why.starts_with("the code does not wait"), "{unheard}");
        // The client of Go starts to connect, and does not wait.
        let go = "source a.go\npackage a\nfunc main() { c, err := mongo.Connect(ctx, options.Client().ApplyURI(u)); if err != nil { panic(err) }; serve(c) }";
        assert_eq!(count(go), 1);
        assert_eq!(
            count("source a.go\npackage a\nfunc main() { s, err := mgo.Dial(u); serve(s) }"),
            0
        );
    }

    #[test]
    fn sdk_all_4_operations_at_the_start_contact_the_server() {
        let python = "source a.py\nfrom pymongo import MongoClient\nclient = MongoClient(URI)\ndb = client.shop\nREST";
        for rest in [
            "db.users.create_index('email')\n",
            "if __name__ == '__main__':\n    print(db.users.find_one({}))\n",
            "def load():\n    return list(db.users.find({}))\n\nUSERS = load()\n",
            "@app.on_event('startup')\nasync def begin():\n    db.users.find_one({})\n",
            "def prepare():\n    db.users.create_index('email')\n",
            "source b.py\nfrom beanie import init_beanie\nasync def lifespan(app):\n    await init_beanie(database=db, document_models=[User])\n",
        ] {
            assert_eq!(count(&python.replace("REST", rest)), 0, "{rest}");
        }
        for rest in [
            "",
            "def load():\n    return list(db.users.find({}))\n",
            "@app.route('/')\ndef index():\n    return db.users.find_one({})\n",
            "@app.route('/')\ndef index():\n    db.users.create_index('email')\n    return ''\n",
        ] {
            assert_eq!(count(&python.replace("REST", rest)), 1, "{rest}");
        }
        // A file calls a function that another file declares.
        let store = python.replace("REST", "def load():\n    return list(db.users.find({}))\n");
        assert_eq!(
            count(&format!("{store}source main.py\nimport pymongo\nfrom a import load\nload()\n")),
            0
        );
        let go = "source a.go\npackage a\nfunc main() { c, _ := mongo.Connect(ctx, options.Client().ApplyURI(u)); col := c.Database(\"a\").Collection(\"b\"); REST }";
        assert_eq!(count(&go.replace("REST", "col.FindOne(ctx, bson.M{})")), 0);
        assert_eq!(count(&go.replace("REST", "http.ListenAndServe(\":80\", nil)")), 1);
    }
}
