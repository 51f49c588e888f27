//! DM-02 and DM-03: names of databases and collections in code.

use std::collections::{BTreeMap, BTreeSet};

use docward_model::{
    Collection, DataValue, Deployment, Evidence, Finding, Level, Namespace, Settings, Severity,
    Subject,
    code::{CodeName, NameKind},
};

use crate::{
    Cx, Outcome, RULES, declare_rule, engine,
    facts::{code, deployment::server, text},
};

declare_rule! {
    /// # Name in code
    ///
    /// ## What it checks
    /// Checks literal names of databases and collections in source code (`client.db("Shop")`, `db["Users"]`,
    /// `mongoose.model("User", schema, "users")`, `@Document("users")`). It applies the rules for stored names
    /// with their settings:
    /// - prefix: N002, N006
    /// - characters: N003, N007
    /// - length: N004
    /// - `system.`: N009
    ///
    /// Each name is one finding, at its first place.
    ///
    /// If fewer than a third of the names have the house prefix, the project has its own style. All missing
    /// prefixes are then one note. All names with other characters are one note (`audit-log`, `audit.log`), or
    /// one warning if they contain others (`Audit Log`).
    ///
    /// ## Exceptions
    /// Not reported:
    /// - names that a variable holds or that code builds
    /// - names that the audited deployment contains
    /// - names that only migrations and other scripts use, because their data is already stored
    ///
    /// ## Why it matters
    /// A name is cheap to change before the first document is written. Afterwards a change needs a migration.
    ///
    /// ## Example
    /// ```javascript,fires
    /// const {MongoClient} = require('mongodb');
    /// const users = new MongoClient(process.env.MONGODB_URI).db('db_shop').collection('user-address');
    /// ```
    /// ```javascript,clean
    /// const {MongoClient} = require('mongodb');
    /// const users = new MongoClient(process.env.MONGODB_URI).db('db_shop').collection('t_user_address');
    /// const others = new MongoClient(process.env.MONGODB_URI).db('db_shop').collection(process.env.COLLECTION);
    /// ```
    ///
    /// ## How to fix
    /// Change the name everywhere in the code. If data is already stored under it, rename the collection in the
    /// same step.
    ///
    /// ## When to ignore it
    /// A third-party product sets the name. The `neutral` profile reports only names that servers refuse.
    N021, "name-in-code",
    level: Recommended,
    area: Hygiene,
    severities: [Error, Warn, Info],
    clauses: ["DM-02.1", "DM-02.2", "DM-02.3", "DM-03.1", "DM-03.2", "DM-03.4"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: ["name", "names", "rule"],
    check: Deployment(check),
}

/// Rules that check a single name. If several report the same name, only the most severe finding is kept.
pub(super) const JUDGES: [&str; 6] = ["N009", "N004", "N003", "N007", "N002", "N006"];

/// The rules that require a prefix.
const PREFIX_JUDGES: [&str; 2] = ["N002", "N006"];

/// A prefix is the project's style if at least one of this many names has it.
const FOLLOWING: usize = 3;

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    let mut first: BTreeMap<(NameKind, &str), &CodeName> = BTreeMap::new();
    let is_judged =
        |name: &&CodeName| name.is_literal && !name.in_script && !is_known(evidence, name);
    for name in found.names.iter().filter(is_judged) {
        first
            .entry((name.kind, &name.name))
            .and_modify(|had| {
                if name.place.location < had.place.location {
                    *had = name;
                }
            })
            .or_insert(name);
    }
    let names = || first.keys().copied();
    let place = |(kind, name): &(NameKind, String)| first.get(&(*kind, name.as_str())).copied();
    let lacking = judged(names(), &PREFIX_JUDGES, cx.settings());
    // A project without any prefix did not forget it. Names that the settings exempt are not counted.
    let settings = cx.settings();
    let prefixes = [NameKind::Database, NameKind::Collection]
        .map(|kind| (kind, prefix(kind, settings).unwrap_or_default()));
    let follows = |(kind, name): &(NameKind, &str)| {
        prefixes.iter().any(|(of, prefix)| {
            of == kind && !prefix.is_empty() && name.starts_with(prefix.as_str())
        })
    };
    let is_drift = names().filter(follows).count() * FOLLOWING >= first.len();
    let mut judged = judged(names(), &JUDGES, cx.settings());
    if !is_drift {
        let is_refused = |key: &&(NameKind, String)| {
            judged.get(*key).is_some_and(|finding| finding.severity == Severity::Error)
        };
        let lacking: Vec<&CodeName> =
            lacking.keys().filter(|key| !is_refused(key)).filter_map(place).collect();
        let what = format!(
            "of {} names of databases and collections lack the configured prefix",
            first.len()
        );
        told_once(evidence, &lacking, "house prefix", &what, Severity::Info, cx);
        judged.retain(|_, finding| !PREFIX_JUDGES.contains(&finding.rule.as_ref()));
        // A project may use characters of its own style. Docward reports them once, and as a note unless each use of
        // the name needs quotes.
        let is_signs = |finding: &Finding| {
            matches!(finding.rule.as_ref(), "N003" | "N007") && finding.severity != Severity::Error
        };
        let signs: Vec<&CodeName> = judged
            .iter()
            .filter(|(_, finding)| is_signs(finding))
            .filter_map(|(key, _)| place(key))
            .collect();
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let severity = match signs.iter().all(|name| name.name.chars().all(is_plain)) {
            true => Severity::Info,
            false => Severity::Warn,
        };
        let what = format!(
            "of {} database and collection names contain characters other than letters, digits and underscores",
            first.len()
        );
        told_once(evidence, &signs, "signs in names", &what, severity, cx);
        judged.retain(|_, finding| !is_signs(finding));
    }
    for ((kind, name), finding) in judged {
        let Some(named) = first.get(&(kind, name.as_str())) else { continue };
        let (what, todo) = spoken(&name, &finding);
        let about = format!("{} {name}", word(kind));
        cx.report(
            code::draft(evidence, &named.place, &about, what, WHY, todo)
                .data("name", name.as_str())
                .data("rule", finding.rule.as_ref())
                .severity(finding.severity)
                .level(finding.level),
        );
    }
}

/// Rewords a finding of a naming rule for code, where the content of the deployment is unknown.
pub(super) fn spoken(name: &str, finding: &Finding) -> (String, String) {
    let what = match finding.rule.as_ref() {
        "N002" => format!("database `{name}` does not begin with the configured prefix"),
        _ => finding.what.clone(),
    };
    let todo = match finding.data.get("proposal") {
        Some(DataValue::Text(proposal)) if !proposal.is_empty() => {
            format!("name it `{proposal}`, here and wherever else it is used")
        }
        _ => finding.todo.clone(),
    };
    (what, format!("{todo} ({})", finding.rule))
}

/// The house prefix for names of a kind, from the proposal for a name without one.
fn prefix(kind: NameKind, settings: &Settings) -> Option<String> {
    const BARE: &str = "x";
    let found = judged(std::iter::once((kind, BARE)), &PREFIX_JUDGES, settings);
    match found.values().next()?.data.get("proposal")? {
        DataValue::Text(proposal) => proposal.strip_suffix(BARE).map(str::to_owned),
        _ => None,
    }
}

const WHY: &str =
    "a name is easy to change before documents are stored; later it needs a migration";

fn word(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Database => "database",
        NameKind::Collection => "collection",
    }
}

/// Merges the findings of a project that follows another naming style into one.
fn told_once(
    evidence: &Evidence,
    all: &[&CodeName],
    about: &str,
    what: &str,
    severity: Severity,
    cx: &mut Cx<'_>,
) {
    let Some(first) = all.iter().min_by_key(|name| &name.place.location) else { return };
    let names: Vec<&str> = all.iter().map(|name| name.name.as_str()).collect();
    let mut locations: Vec<_> = all.iter().map(|name| name.place.location.clone()).collect();
    locations.sort();
    let what = format!("{} {what}: {}", names.len(), text::list(&names, 3));
    let todo = "keep names of existing data and name new ones by the rule book; if your project has other naming rules, choose `profile = \"neutral\"`";
    let draft = code::draft(evidence, &first.place, about, what, WHY, todo)
        .data("names", text::list(&names, 20))
        .locations(locations)
        .severity(severity);
    cx.report(match severity {
        Severity::Info => draft.level(Level::Information),
        _ => draft,
    });
}

/// Whether the deployment has the name: then the rules for data check it.
fn is_known(evidence: &Evidence, name: &CodeName) -> bool {
    match name.kind {
        NameKind::Database => evidence.databases.contains(&name.name),
        NameKind::Collection => {
            // The server's own (`$cmd.sys.inprog`), and the two halves of a bucket of GridFS.
            server::is_own_collection("", &name.name)
                || name.name.ends_with(".files")
                || name.name.ends_with(".chunks")
                || evidence.collections.iter().any(|c| c.namespace.collection == name.name)
        }
    }
}

/// Returns the findings of the naming rules about names that occur only in code.
pub(super) fn judged<'n>(
    names: impl Iterator<Item = (NameKind, &'n str)>,
    judges: &[&str],
    settings: &Settings,
) -> BTreeMap<(NameKind, String), Finding> {
    let mut evidence = Evidence {
        deployment: Deployment { names_are_real: true, ..Deployment::default() },
        ..Evidence::default()
    };
    let mut seen = BTreeSet::new();
    for (kind, name) in names.filter(|name| seen.insert(*name)) {
        match kind {
            NameKind::Database => evidence.databases.push(name.to_owned()),
            NameKind::Collection => {
                evidence.collections.push(Collection::named(Namespace::new("", name)));
            }
        }
    }
    // The selected rules apply to findings under their own codes.
    let settings = Settings { select: Vec::new(), ..settings.clone() };
    let mut outcome = Outcome::default();
    for code in judges {
        let rule = RULES.iter().copied().find(|rule| rule.meta.code == *code);
        if let Some(rule) = rule.filter(|rule| settings.is_on(&rule.meta)) {
            engine::run(rule, &evidence, &settings, &mut outcome);
        }
    }
    let mut out: BTreeMap<(NameKind, String), Finding> = BTreeMap::new();
    for finding in outcome.findings {
        let key = match &finding.at {
            Subject::Database(name) => (NameKind::Database, name.clone()),
            Subject::Collection(ns) => (NameKind::Collection, ns.collection.clone()),
            _ => continue,
        };
        let is_louder = out.get(&key).is_none_or(|had| finding.severity > had.severity);
        if is_louder {
            out.insert(key, finding);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::{check, check_with};

    fn names(file: &str, text: &str) -> Vec<String> {
        let found = check("N021", &format!("source {file}\n{text}"));
        // The single names, or the names in the one finding for the project.
        let mut names: Vec<String> = found
            .iter()
            .flat_map(|finding| match finding.data.get("name").or(finding.data.get("names")) {
                Some(docward_model::DataValue::Text(name)) if !name.contains('`') => {
                    vec![name.clone()]
                }
                Some(docward_model::DataValue::Text(names)) => {
                    names.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        names.sort();
        names
    }

    #[test]
    fn dm_02_1_dm_03_1_a_project_with_another_style_is_told_once() {
        let project = |collections: &[&str]| {
            let calls: String = collections
                .iter()
                .map(|name| format!("db.collection('{name}').find();\n"))
                .collect();
            format!("source a.js\nconst {{MongoClient}} = require('mongodb');\n{calls}")
        };
        let other = check("N021", &project(&["users", "orders", "items", "carts", "t_log"]));
        assert_eq!(other.len(), 1, "{other:?}");
        assert_eq!(other[0].severity, Severity::Info);
        assert!(
            other[0].what.starts_with("4 of 5 names of databases and collections"),
            "{}",
            other[0].what
        );
        let drift = check("N021", &project(&["t_user", "t_order", "t_item", "carts", "t_log"]));
        assert_eq!(drift.len(), 1, "{drift:?}");
        assert_eq!(drift[0].severity, Severity::Warn);
        assert!(drift[0].what.contains("`carts`"), "{}", drift[0].what);
        let signs = check("N021", &project(&["users", "orders", "a.b", "a.c", "a-d"]));
        assert_eq!(signs.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Info; 2]);
        assert!(
            signs.iter().any(|f| f.what.starts_with("3 of 5 database and collection names")),
            "{signs:?}"
        );
        let spaces = check("N021", &project(&["users", "User Role", "Leave Type", "Tax Rule"]));
        assert_eq!(spaces.iter().filter(|f| f.severity == Severity::Warn).count(), 1, "{spaces:?}");
        let few = check("N021", &project(&["users", "fs.files", "DATABASECHANGELOG"]));
        assert_eq!(few.iter().map(|f| f.severity).collect::<Vec<_>>(), [Severity::Info], "{few:?}");
        // Names that servers reject are reported in every style.
        let refused = check("N021", &project(&["users", "orders", "items", "system.x"]));
        assert_eq!(refused.iter().filter(|f| f.severity == Severity::Error).count(), 1);
    }

    #[test]
    fn dm_03_1_names_of_migrations_do_not_count() {
        let text = "const {MongoClient} = require('mongodb');\ndb.collection('users').find();\n";
        assert!(names("migrations/0001_first.js", text).is_empty());
        assert_eq!(names("src/a.js", text), ["users"]);
    }

    #[test]
    fn dm_02_1_dm_03_1_dm_03_2_literal_names_of_every_language() {
        let python = "from pymongo import MongoClient\nclient = MongoClient(URI)\ndb = client['Shop']\ndb['Users'].find_one()\nclient.get_database('db_ok').get_collection('t_ok').find_one()\n";
        assert_eq!(names("a.py", python), ["Shop", "Users"]);
        let node = "const {MongoClient} = require('mongodb');\nconst db = client.db('Shop');\ndb.collection('Users').find();\ndb.createCollection('Orders');";
        assert_eq!(names("a.js", node), ["Orders", "Shop", "Users"]);
        let mongoose = "const mongoose = require('mongoose');\nconst a = new mongoose.Schema({x: String}, {collection: 'Users'});\nmodule.exports = mongoose.model('User', a, 'Orders');";
        assert_eq!(names("a.js", mongoose), ["Orders", "Users"]);
        let go = "package a\nimport \"go.mongodb.org/mongo-driver/mongo\"\nfunc f(c *mongo.Client) { c.Database(\"Shop\").Collection(\"Users\") }";
        assert_eq!(names("a.go", go), ["Shop", "Users"]);
        let java = "import com.mongodb.client.MongoClient;\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document(collection = \"Users\") class A { void f(MongoClient c) { c.getDatabase(\"Shop\").getCollection(\"Orders\"); } }";
        assert_eq!(names("A.java", java), ["Orders", "Shop", "Users"]);
        let kotlin = "import org.springframework.data.mongodb.core.mapping.Document\n@Document(\"Users\")\ndata class A(val id: String)\n";
        assert_eq!(names("A.kt", kotlin), ["Users"]);
        let engine = "from mongoengine import Document\nclass A(Document):\n    meta = {'collection': 'Users'}\n";
        assert_eq!(names("a.py", engine), ["Users"]);
        assert_eq!(names("a.mongodb", "db.Users.find({})\n"), ["Users"]);
    }

    #[test]
    fn dm_03_1_variables_and_other_databases_are_not_judged() {
        for (file, text) in [
            (
                "a.js",
                "const {MongoClient} = require('mongodb');\nconst NAME = 'Users';\nclient.db(process.env.DB).collection(NAME);\nclient.db(`x_${tenant}`);",
            ),
            (
                "a.js",
                "const {getFirestore} = require('firebase-admin/firestore');\nconst mongo = require('mongodb');\ndb.collection('Users');",
            ),
            ("a.js", "const knex = require('knex');\nknex.db('Shop').collection('Users');"),
            (
                "a.py",
                "from pymongo import MongoClient\ndb = MongoClient(URI)['admin']\ndb['fs.files'].find_one()\ndb['$cmd.sys.inprog'].find_one()\n",
            ),
        ] {
            assert!(names(file, text).is_empty(), "{text}: {:?}", names(file, text));
        }
    }

    #[test]
    fn dm_02_2_dm_03_4_the_neutral_profile_knows_no_prefix() {
        let text = "source a.js\nconst {MongoClient} = require('mongodb');\nconst db = client.db('Shop');\ndb.collection('Users');\ndb.collection('system.orders');\nclient.db('a.b');";
        let found = check_with("N021", "profile=neutral", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|finding| finding.severity == Severity::Error));
    }

    #[test]
    fn dm_02_2_sc_7_an_address_is_no_name_and_shows_no_password() {
        for text in [
            "const mongo = require('mongoskin');\nconst db = mongo.db('shop:9dXk2pLw7Q@h.shop.io:10099/shop?auto_reconnect=true');\ndb.collection('t_user').find();",
            "const db = require('mongoskin').db('shop:9dXk2pLw7Q@h.shop.io:10099/shop');",
            "const mongo = require('mongoskin');\nconst db = mongo.db('localhost/shop');",
            "const mongo = require('mongoskin');\nconst db = mongo.db('localhost:27017/shop?w=1');",
            "const db = require('monk')('shop:9dXk2pLw7Q@h.shop.io:10099/shop');",
            "const {MongoClient} = require('mongodb');\nclient.db('shop:9dXk2pLw7Q@h.shop.io/x').collection('t_user').insertOne({});",
            "const {MongoClient} = require('mongodb');\nclient.db('mongodb://shop:9dXk2pLw7Q@h.shop.io/x').collection('mongodb://shop:9dXk2pLw7Q@h.shop.io/x').insertOne({});",
        ] {
            let body = format!("source a.js\n{text}");
            assert!(names("a.js", text).is_empty(), "{text}");
            for rule in crate::RULES {
                let found = check(rule.meta.code, &body);
                assert!(!format!("{found:?}").contains("9dXk2pLw7Q"), "{} {text}", rule.meta.code);
            }
        }
    }

    #[test]
    fn dm_02_3_a_name_is_told_once_at_its_first_place() {
        let long = "a".repeat(70);
        let text = format!(
            "source a.js\nconst {{MongoClient}} = require('mongodb');\nclient.db('{long}');\nclient.db('{long}');\n"
        );
        let found = check("N021", &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].location.as_ref().map(|at| at.line), Some(2));
        assert_eq!(found[0].severity, Severity::Error, "{found:?}");
    }

    #[test]
    fn dm_02_1_messages_are_no_names() {
        let found = |call: &str| {
            let text = format!(
                "source a.js\nconst {{ MongoClient }} = require('mongodb');\nconst debug = {{ db: require('debug')('app:db') }};\nasync function f(client) {{ {call}; }}"
            );
            check("N021", &text).len()
        };
        assert_eq!(found("debug.db('Lock unlocked')"), 0);
        assert_eq!(found("debug.db('Unlocking')"), 0);
        assert_eq!(found("client.db('Lock unlocked')"), 0);
    }
}
