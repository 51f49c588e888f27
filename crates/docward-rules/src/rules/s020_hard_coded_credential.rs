//! SC-7: passwords belong in the environment or a secret store, not in code.

use std::{borrow::Cow, collections::BTreeMap};

use docward_model::{
    Applicability, Draft, Edit, EditedText, Evidence, Level, Severity,
    code::{Code, CodeSecret, Placeholder},
};

use crate::{Cx, declare_rule, facts::code};

declare_rule! {
    /// # Hard-coded credential
    ///
    /// ## What it checks
    /// Reports passwords of MongoDB in source code and settings: connection strings with a password, also
    /// put together from pieces (`+`, templates, `Sprintf`, `format`, `join`) or with escapes of the file
    /// around them, and passwords given beside one: options of clients, credentials, keys of settings that
    /// are about MongoDB by themselves or by what they stand under. The password is never printed. One account at one host in
    /// several places is one finding, at the first of the gravest, which lists the others, also those that are defaults; so is
    /// one password under the same key of several files. A `.env` that an ignore file names is read where git tracks it, and
    /// where no git says.
    ///
    /// Mentioned with less weight, as they are seldom the ones in use but people copy them, are
    /// - placeholders: words that stand for a password (`password`, `changeme`), but not `admin:admin` at a cluster of Atlas that somebody has;
    /// - passwords that lead to this machine or to a container beside it (also the first password of a container in a `.env`
    ///   that a compose file beside or above it reads), and keys without a host in settings of developers
    ///   (`application-dev.yaml`, `.env.local`);
    /// - defaults for when a variable is not set (`os.getenv(name, "…")`, `process.env.NAME || "…"`); what a schema of settings
    ///   falls back to (`z.string().default("…")`, also of Joi) is in use as it stands, and has full weight;
    /// - comments, example files and examples in texts (messages, prompts), but not a password that looks made by chance at a
    ///   cluster of Atlas that somebody has, also in `.env.example`;
    /// - hosts that nobody can have (`db.example.com`, `cluster0.mongodb.net` without the part of its own that Atlas gives), and
    ///   files with a key that documentation shows to everybody.
    ///
    /// No password is what is filled in later (`<password>`, `${PASSWORD}`, `*****`, a host in capitals, `HOST`), nor a label in
    /// a folder of translations (`locales/`).
    ///
    /// ## Why it matters
    /// Whoever can read the code can read the data: every copy of the repository, every build log, every
    /// former colleague. A password in the history of a repository cannot be taken back, only changed.
    ///
    /// ## Example
    /// ```python,fires
    /// from pymongo import MongoClient
    /// client = MongoClient("mongodb+srv://shop:9dXk2pLw7Q@cluster0.abcde.mongodb.net/shop")
    /// ```
    /// ```python,clean
    /// import os
    /// from pymongo import MongoClient
    /// client = MongoClient(os.environ["MONGODB_URI"])
    /// ```
    ///
    /// ## How to fix
    /// Take it from the environment or from a secret store, and change the password: it is known.
    ///
    /// ## When to ignore it
    /// A throw-away server for tests that only this machine reaches.
    S020, "hard-coded-credential",
    level: Prohibited,
    area: Security,
    severities: [Error, Warn, Info],
    clauses: ["SC-7"],
    maturity: Preview,
    scope: Everywhere,
    needs: [Code],
    thresholds: [],
    data: [],
    check: Deployment(check),
}

fn check(evidence: &Evidence, cx: &mut Cx<'_>) {
    let Some(found) = &evidence.code else { return };
    // One password is one thing to change, wherever else it stands.
    let mut same: BTreeMap<(&str, u64), Vec<&CodeSecret>> = BTreeMap::new();
    for secret in &found.secrets {
        let alone = draft(evidence, found, secret, &[]);
        let is_loud = weight(found, secret).severity >= Severity::Warn;
        match is_loud && !cx.is_accepted(&alone) {
            true => same.entry((account(&secret.shown), secret.mark)).or_default().push(secret),
            false => cx.report(alone),
        }
    }
    for mut secrets in same.into_values() {
        // The loudest is told, and of those the first.
        secrets.sort_by(|a, b| {
            let severity = |secret: &CodeSecret| weight(found, secret).severity;
            let place = |secret: &CodeSecret| secret.place.location.clone();
            severity(b).cmp(&severity(a)).then_with(|| place(a).cmp(&place(b)))
        });
        if let Some((first, others)) = secrets.split_first() {
            cx.report(draft(evidence, found, first, others));
        }
    }
}

/// The part of a connection string that a password belongs to: who, and where. One machine may listen at several
/// ports.
fn account(shown: &str) -> &str {
    let from = shown.find("://").map_or(0, |at| at + 3);
    let end = shown[from..].find(['/', '?']).map_or(shown.len(), |at| from + at);
    let hosts = &shown[..end];
    match hosts.rsplit_once(':') {
        Some((before, port))
            if port.bytes().all(|b| b.is_ascii_digit()) && !hosts.contains(',') =>
        {
            before
        }
        _ => hosts,
    }
}

/// What is said of a password, and of the other places where it stands.
fn draft(evidence: &Evidence, found: &Code, secret: &CodeSecret, others: &[&CodeSecret]) -> Draft {
    let Weight { severity, level, kind, remark, why, todo } = weight(found, secret);
    let more = match others.len() {
        0 => String::new(),
        1 => "; the same password is in 1 more place".to_owned(),
        n => format!("; the same password is in {n} more places"),
    };
    let what = format!("{kind} in `{}`{remark}{more}", secret.shown);
    let draft = code::draft(evidence, &secret.place, &secret.shown, what, why, todo)
        .severity(severity)
        .level(level)
        .locations(others.iter().map(|other| other.place.location.clone()));
    // Only what is beyond doubt is taken out of the code.
    let secrets = std::iter::once(secret).chain(others.iter().copied());
    let sure = secrets.filter(|secret| weight(found, secret).severity == Severity::Error);
    let literals = sure.filter_map(|secret| secret.literal.as_ref());
    literals.fold(draft, |draft, (location, lookup)| {
        draft.edit(Edit {
            applicability: Applicability::Unsafe,
            location: location.clone(),
            old: EditedText::Literal,
            new: lookup.expression.to_owned(),
            needs: lookup.needs,
        })
    })
}

/// Whether it is the first password of a container, in a file of variables that a compose file beside or above it
/// reads.
fn is_of_compose(found: &Code, secret: &CodeSecret) -> bool {
    let file = found.within_project(&secret.place.location.file);
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", &file));
    let is_compose = |path: &String| {
        let (beside, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_above = beside.is_empty()
            || folder
                .strip_prefix(beside)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        is_above
            && (name.starts_with("docker-compose") || name.starts_with("compose."))
            && (name.ends_with(".yml") || name.ends_with(".yaml"))
    };
    let is_variables = name.starts_with(".env") || name.ends_with(".env");
    is_variables && secret.shown.contains("initdb") && found.paths.iter().any(is_compose)
}

/// How much a password weighs, and what is said of it.
struct Weight {
    severity: Severity,
    level: Level,
    kind: &'static str,
    remark: Cow<'static, str>,
    why: &'static str,
    todo: &'static str,
}

const LEAKED: &str = "everybody who can read the code can read the data, and a password in the history of a repository cannot be taken back";
const COPIED: &str =
    "people copy it, and a password that stands in a repository is the first that others try";
const CHANGE: &str =
    "read it from the environment or a secret store, and change the password: it is known";
const EXAMPLE: &str =
    "write a placeholder such as <password>; if a server has this password, change it";

fn weight(found: &Code, secret: &CodeSecret) -> Weight {
    let note = |kind, remark: &'static str, todo| Weight {
        severity: Severity::Info,
        level: Level::Information,
        kind,
        remark: remark.into(),
        why: COPIED,
        todo,
    };
    let leak = |severity, remark: &'static str| Weight {
        severity,
        level: Level::Prohibited,
        kind: "plain-text password",
        remark: remark.into(),
        why: LEAKED,
        todo: CHANGE,
    };
    if let Some(Placeholder::Host(host)) = &secret.placeholder {
        let remark = format!(", whose host `{host}` is an example from documentation").into();
        Weight { remark, ..note("password", "", EXAMPLE) }
    } else if secret.placeholder.is_some() {
        note(
            "placeholder password",
            "",
            "read it from the environment, so that no server is started with it",
        )
    } else if secret.in_remark {
        note("password", ", in a comment", EXAMPLE)
    } else if secret.in_prose {
        note("password", ", in the middle of a text, as an example", EXAMPLE)
    } else if secret.in_sample {
        note("password", ", in an example file", EXAMPLE)
    } else if secret.local || is_of_compose(found, secret) {
        note(
            "password of a local server",
            ", on this machine or in a container beside it",
            "read it from the environment, so that no other server gets the same",
        )
    } else if secret.fallback {
        leak(Severity::Warn, ", used when the variable is not set")
    } else {
        leak(Severity::Error, "")
    }
}

#[cfg(test)]
mod tests {
    use docward_model::Severity;

    use crate::testing::check;

    fn severities(file: &str, text: &str) -> Vec<Severity> {
        let found = check("S020", &format!("source {file}\n{text}"));
        for finding in &found {
            assert!(!format!("{finding:?}").contains("9dXk2pLw7Q"), "{finding:?}");
        }
        found.into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn sc_7_a_literal_password_is_a_violation_and_is_masked() {
        assert_eq!(
            severities("a.py", "C = MongoClient('mongodb://app:9dXk2pLw7Q@db.shop.io/x')"),
            [Severity::Error]
        );
        assert_eq!(
            severities("a.js", "const u = 'mongodb://app:' + '9dXk2pLw7Q' + '@db.shop.io/x';"),
            [Severity::Error]
        );
        assert_eq!(
            severities(".env.production", "MONGO_URL=mongodb://app:9dXk2pLw7Q@db.shop.io/x\n"),
            [Severity::Error]
        );
        assert_eq!(
            severities("a.yaml", "spring.data.mongodb.password: 9dXk2pLw7Q\n"),
            [Severity::Error]
        );
    }

    #[test]
    fn sc_7_a_placeholder_is_no_leak() {
        let found = check("S020", "source .env\nMONGO_PASSWORD=password\n");
        assert_eq!(found[0].severity, Severity::Info);
        assert!(found[0].what.starts_with("placeholder password in"), "{}", found[0].what);
        assert!(!found[0].todo.contains("change"), "{}", found[0].todo);
        let host = "source .env\nU=mongodb://app:9dXk2pLw7Q@db.example.com/x\n";
        let found = check("S020", host);
        assert_eq!(found[0].severity, Severity::Info);
        assert!(!found[0].what.contains("placeholder"), "{}", found[0].what);
        assert!(
            found[0].what.ends_with("whose host `db.example.com` is an example from documentation"),
            "{}",
            found[0].what
        );
        let found = check("S020", "source .env\nMONGO_PASSWORD=9dXk2pLw7Q\n");
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].what.starts_with("plain-text password in"), "{}", found[0].what);
        assert!(found[0].todo.contains("change the password"), "{}", found[0].todo);
    }

    #[test]
    fn sc_7_connection_strings_without_a_scheme_have_passwords_too() {
        for (file, text) in [
            (
                "a.js",
                "const mongo = require('mongoskin');\nconst db = mongo.db('shop:9dXk2pLw7Q@h.shop.io:10099/shop?w=1');",
            ),
            ("a.js", "const db = require('monk')('shop:9dXk2pLw7Q@h.shop.io:10099/shop');"),
            (
                "a.js",
                "const monk = require('monk');\nconst db = monk('shop:9dXk2pLw7Q@h.shop.io/shop');",
            ),
            (
                "a.js",
                "import mongojs from 'mongojs';\nconst db = mongojs('shop:9dXk2pLw7Q@h.shop.io/shop', ['a']);",
            ),
            (
                "a.js",
                "const monk = require('monk');\nconst db = monk('shop:9dXk/2pLw7Q@h.shop.io/shop');",
            ),
            (
                "a.js",
                "const monk = require('monk');\nconst db = monk(`shop:9dXk2pLw7Q@${host}/shop`);",
            ),
            (
                "a.py",
                "from pymongo import MongoClient\nc = MongoClient('shop:9dXk2pLw7Q@h.shop.io')\n",
            ),
        ] {
            assert_eq!(severities(file, text), [Severity::Error], "{text}");
        }
        let local = "const monk = require('monk');\nconst db = monk('localhost/shop');";
        assert!(severities("a.js", local).is_empty());
    }

    #[test]
    fn sc_7_secrets_of_kubernetes_are_decoded() {
        let secret = |value: &str| {
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: mongo\ndata:\n  mongo-root-password: {value}\n"
            )
        };
        // `password`, `9dXk2pLw7Q`, and a text that is no base64.
        assert_eq!(severities("a.yaml", &secret("cGFzc3dvcmQ= # a remark")), [Severity::Info]);
        assert_eq!(severities("a.yaml", &secret("OWRYazJwTHc3UQ==")), [Severity::Error]);
        let told = check("S020", &format!("source a.yaml\n{}", secret("OWRYazJwTHc3UQ==")));
        assert!(told[0].what.contains("in base64") && !told[0].what.contains("clear text"));
        let plain = secret("cGFzc3dvcmQ=").replace("kind: Secret", "kind: ConfigMap");
        assert_eq!(severities("a.yaml", &plain), [Severity::Error]);
    }

    #[test]
    fn sc_7_servers_beside_the_application_weigh_less() {
        let values = "mongodb:\n  image:\n    tag: 6.0.5\n  mongodbPassword: 9dXk2pLw7Q\n";
        assert_eq!(severities("helm/shop/values.yaml", values), [Severity::Info]);
        assert_eq!(severities("helm/shop/settings.yaml", values), [Severity::Error]);
        let remote = values.replace("  image:\n    tag: 6.0.5\n", "");
        assert_eq!(severities("helm/shop/values.yaml", &remote), [Severity::Error]);
        let either = "def f(docker):\n    host = 'mongodb' if docker else 'localhost'\n    return MongoClient(f'mongodb://root:9dXk2pLw7Q@{host}:27017')\n";
        assert_eq!(severities("a.py", either), [Severity::Info]);
        assert_eq!(
            severities("a.py", &either.replace("'localhost'", "'db.shop.io'")),
            [Severity::Error]
        );
    }

    #[test]
    fn sc_7_placeholders_and_the_environment_pass() {
        for text in [
            "u = os.environ['MONGODB_URI']",
            "u = f'mongodb://{user}:{password}@db.shop.io/x'",
            "u = 'mongodb://user:<password>@db.shop.io/x'",
            "u = 'mongodb://user:%s@db.shop.io/x' % pw",
            "u = 'mongodb://db.shop.io/x'",
        ] {
            assert!(severities("a.py", text).is_empty(), "{text}");
        }
        let yours =
            "A=mongodb+srv://your_user:your_production_password@your_cluster.mongodb.net/x\n";
        assert_eq!(severities(".env.production", yours), [Severity::Info]);
        assert!(severities("a.yaml", "url: mongodb://${U}:${P}@db.shop.io/x\n").is_empty());
        assert!(
            severities("a.yaml", "url: mongodb://{{ .Values.u }}:{{ .Values.p }}@db.shop.io/x\n")
                .is_empty()
        );
    }

    #[test]
    fn sc_7_texts_for_people_and_language_models_hold_examples() {
        let uri = "mongodb+srv://app:9dXk2pLw7Q@c.shop.io/x";
        let message = format!("I have got the string {uri} from the page and it does not connect");
        assert_eq!(severities("cases.yml", &format!("- content: {message}\n")), [Severity::Info]);
        assert_eq!(
            severities("a.ts", &format!("const PROMPT = `{message} ${{x}}`;")),
            [Severity::Info]
        );
        for (file, text) in [
            ("a.yml", format!("uri: {uri}\n")),
            ("a.yml", format!("command: [\"node\", \"app.js\", \"--uri={uri}\"]\n")),
            ("a.ts", format!("exec(`mongodump --gzip --uri={uri} --out dump`);")),
        ] {
            assert_eq!(severities(file, &text), [Severity::Error], "{text}");
        }
        let chat =
            format!("- role: user\n  content: |\n    MONGO_URI={uri}\n    connect with this\n");
        assert_eq!(severities("cases.yml", &chat), [Severity::Info]);
        assert_eq!(severities("cases.yml", &chat.replace("user", "writer")), [Severity::Error]);
        // A client of a message is nobody's.
        let found = check("C017", &format!("source cases.yml\n- content: {message}\n"));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn sc_7_remarks_at_the_end_of_a_line_are_remarks() {
        let uri = "mongodb://app:9dXk2pLw7Q@db.shop.io/x";
        for text in [format!("uri: \"FILL_ME\" # {uri}\n"), format!("uri: x   // {uri}\n")] {
            assert_eq!(severities("values.yaml", &text), [Severity::Info], "{text}");
        }
        assert_eq!(
            severities("values.yaml", &format!("uri: \"{uri}\" # ours\n")),
            [Severity::Error]
        );
        assert_eq!(severities("a.env", &format!("A=b#c {uri}\n")), [Severity::Error]);
    }

    #[test]
    fn sc_7_a_container_that_only_its_neighbours_reach_weighs_less() {
        let task = |host: &str| {
            format!(
                "MONGO_INITDB_ROOT_PASSWORD: 9dXk2pLw7Q\nMONGODB_URI: mongodb://{host}:27017/x\n"
            )
        };
        assert_eq!(severities("deploy/task.yml", &task("127.0.0.1")), [Severity::Info]);
        assert_eq!(severities("deploy/task.yml", &task("db.shop.io")), [Severity::Error]);
    }

    #[test]
    fn sc_7_the_environment_of_a_compose_file_is_its_containers() {
        let env = "MONGO_INITDB_ROOT_PASSWORD=9dXk2pLw7Q\n";
        let compose = "services:\n  mongo:\n    image: mongo:7\n";
        let both = |file: &str| format!("{env}source {file}\n{compose}");
        assert_eq!(severities(".env", &both("docker-compose.yml")), [Severity::Info]);
        assert_eq!(severities(".env", &both("other/docker-compose.yml")), [Severity::Error]);
        for file in [".env.mongo", "deploy/.env", ".envs/mongo.env"] {
            let found = severities(file, &both("docker-compose.yml"));
            assert_eq!(found, [Severity::Info], "{file}");
        }
        assert_eq!(severities(".env", env), [Severity::Error]);
        let other = both("docker-compose.yml").replace("INITDB_ROOT_", "");
        assert_eq!(severities(".env", &other), [Severity::Error]);
    }

    #[test]
    fn sc_7_one_account_at_two_ports_is_one_password() {
        let text = |second: &str| {
            format!(
                "a: mongodb://app:9dXk2pLw7Q@db.shop.io:10250/x\nb: mongodb://app:{second}@db.shop.io:14338/x\n"
            )
        };
        assert_eq!(severities("a.yml", &text("9dXk2pLw7Q")).len(), 1);
        let other = text("9dXk2pLw7Q").replacen("db.shop", "eu.shop", 1);
        assert_eq!(severities("a.yml", &other).len(), 2);
        let place = text("PUTPASSHERE").replace("9dXk2pLw7Q", "TOPPASSHERE2");
        assert!(severities("a.yml", &place).iter().all(|one| *one < Severity::Warn));
    }

    #[test]
    fn sc_7_settings_called_test_lead_to_a_server_all_the_same() {
        let text = "{\"db\": \"mongodb://app:9dXk2pLw7Q@db.shop.io/x\"}\n";
        assert_eq!(severities("config/test.json", text), [Severity::Error]);
        let code = "db = 'mongodb://app:9dXk2pLw7Q@db.shop.io/x'\n";
        assert_eq!(severities("queue/test.py", code), severities("queue/test_queue.py", code));
    }

    #[test]
    fn sc_7_versions_of_packages_are_no_passwords() {
        let text = "{\"dependencies\": {\"@accounts/mongo-password\": \"^0.33.2\"}}\n";
        assert_eq!(severities("package.json", text), []);
        let uri = "{\"scripts\": {\"seed\": \"mongosh mongodb://app:9dXk2pLw7Q@db.shop.io/x\"}}\n";
        assert_eq!(severities("package.json", uri), [Severity::Error]);
    }

    #[test]
    fn sc_7_clusters_that_somebody_has() {
        let uri = |login: &str, host: &str| format!("U=mongodb+srv://{login}@{host}/x\n");
        let real = "cluster0.k3x9q.mongodb.net";
        let found = |file: &str, text: String| severities(file, &text);
        assert_eq!(found(".env", uri("admin:admin", real)), [Severity::Error]);
        assert_eq!(found(".env", uri("user:password", real)), [Severity::Info]);
        assert_eq!(
            found(".env", uri("admin:admin", "cluster0.abcde.mongodb.net")),
            [Severity::Info]
        );
        assert_eq!(found(".env", uri("admin:admin", "db.shop.io")), [Severity::Info]);
        let sample = ".env.example";
        assert_eq!(found(sample, uri("shop:k7Qw2ZpLx9Rt4Vbn", real)), [Severity::Error]);
        assert_eq!(found(sample, uri("shop:hunter22", real)), [Severity::Info]);
        assert_eq!(found(sample, uri("shop:YourPassword1234", real)), [Severity::Info]);
        let other = uri("shop:k7Qw2ZpLx9Rt4Vbn", "cluster0.xxxxx.mongodb.net");
        assert_eq!(found(sample, other), [Severity::Info]);
    }

    #[test]
    fn sc_7_one_password_is_told_once() {
        let uri = "mongodb://app:9dXk2pLw7Q@db.shop.io/x";
        let text = format!("source a.env\nU={uri}\nsource b.env\nU={uri}\n");
        let found = check("S020", &text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].locations[0].file, "b.env", "{found:?}");
        assert_eq!(check("S020", &text.replacen("/x", "/y", 1)).len(), 1, "the same account");
        assert_eq!(check("S020", &text.replacen("app:", "web:", 1)).len(), 2);
    }

    #[test]
    fn sc_7_names_in_texts_of_kotlin_are_no_passwords() {
        let text = |login: &str| {
            format!(
                "source A.kt\nimport com.mongodb.kotlin.client.MongoClient\nval pw = System.getenv(\"PW\")\nval base = \"shop\"\nval c = MongoClient.create(\"mongodb+srv://{login}@cluster0.k3x9q.mongodb.net/$base?w=majority\")\n"
            )
        };
        for rule in ["S020", "C029"] {
            assert!(check(rule, &text("shop:$pw")).is_empty(), "{rule}");
        }
        assert_eq!(check("S020", &text("shop:k7Qw2ZpLx9Rt4Vbn")).len(), 1);
    }

    #[test]
    fn sc_7_forms_are_no_strings() {
        let form = "mongodb+srv://(User):(Password)@(Cluster)/(database name)?w=majority";
        for (file, text) in [
            ("a.py", format!("C = MongoClient(\"{form}\")\nD = {{'host': '{form}'}}\n")),
            ("a.yaml", format!("uri: {form}\n")),
        ] {
            let body = format!("source {file}\n{text}");
            for rule in ["S020", "C029"] {
                assert!(check(rule, &body).is_empty(), "{rule} {text}");
            }
        }
    }

    #[test]
    fn sc_7_what_is_seldom_in_use_weighs_less() {
        assert_eq!(
            severities("a.py", "# mongodb://app:9dXk2pLw7Q@db.shop.io/x\n"),
            [Severity::Info]
        );
        assert_eq!(
            severities("a.py", "u = 'mongodb://root:9dXk2pLw7Q@localhost:27017'"),
            [Severity::Info]
        );
        assert_eq!(
            severities(
                "a.js",
                "const u = process.env.U || 'mongodb://app:9dXk2pLw7Q@db.shop.io/x';"
            ),
            [Severity::Warn]
        );
        assert_eq!(
            severities(".env.example", "U=mongodb://app:9dXk2pLw7Q@db.shop.io/x\n"),
            [Severity::Info]
        );
        assert_eq!(
            severities(
                "env.ts",
                "export const env = z.object({U: z.string().default('mongodb://app:9dXk2pLw7Q@db.shop.io/x')});"
            ),
            [Severity::Error]
        );
    }

    #[test]
    fn sc_7_defaults_and_other_databases_of_one_account_are_told_once() {
        let uri = "mongodb+srv://app:9dXk2pLw7Q@cluster0.k3x9q.mongodb.net/x";
        let text = format!(
            "source a.py\nimport os\nu = os.getenv(\"U\", \"{uri}\")\nsource b.py\nu = \"{uri}?w=1\"\nsource c.js\nconst u = process.env.U || '{uri}';\n"
        );
        let found = check("S020", &text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Error);
        let others: Vec<_> = found[0].locations.iter().map(|at| at.file.as_str()).collect();
        assert_eq!(others, ["a.py", "c.js"]);
        let other = text.replacen("app:", "web:", 1);
        assert_eq!(check("S020", &other).len(), 2);
    }

    #[test]
    fn sc_7_hosts_that_nobody_has_and_keys_that_everybody_knows() {
        let at = |host: &str| {
            severities("a.sh", &format!("curl -H \"x: mongodb+srv://app:9dXk2pLw7Q@{host}/x\"\n"))
        };
        for nobody in ["cluster.net", "cluster0.mongodb.net", "db.example.com", "DB_HOST"] {
            assert_eq!(at(nobody), [Severity::Info], "{nobody}");
        }
        for somebody in ["cluster0.k3x9q.mongodb.net", "cluster0-k3x9q.mongodb.net", "db.shop.io"] {
            assert_eq!(at(somebody), [Severity::Error], "{somebody}");
        }
        let form = "url = 'mongodb://user:9dXk2pLw7Q@HOST:PORT/DBNAME'\n";
        assert!(severities("production.rb", form).is_empty());
        let label = "de:\n  mongoid:\n    user:\n      password: \"Kennwort7\"\n";
        assert!(severities("config/locales/users.de.yml", label).is_empty());
        assert_eq!(severities("config/users.yml", label), [Severity::Error]);
        let known = "K=AKIAIOSFODNN7EXAMPLE\nU=mongodb://app:9dXk2pLw7Q@db.shop.io/x\n";
        assert_eq!(severities("run.env", known), [Severity::Info]);
    }
}
