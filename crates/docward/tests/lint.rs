//! `docward lint` and `docward audit --code` with the real binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use crate::common::{code, docward, stderr, stdout};
use serde_json::Value;

/// Writes files to a new folder.
pub(crate) fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

pub(crate) fn path(folder: &tempfile::TempDir) -> String {
    folder.path().to_str().unwrap().to_owned()
}

pub(crate) fn report(folder: &tempfile::TempDir, more: &[&str]) -> Value {
    let target = path(folder);
    let mut args = vec!["lint", &target, "--format", "json", "--profile", "neutral"];
    args.extend(more);
    let output = docward(&args);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
}

/// Returns codes with file and line, in order.
pub(crate) fn places(report: &Value) -> Vec<String> {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| {
            let file = finding["location"]["file"].as_str().unwrap_or_default();
            let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
            format!("{} {name}:{}", finding["rule"].as_str().unwrap(), finding["location"]["line"])
        })
        .collect()
}

/// Returns the severity of the only finding of a rule.
#[track_caller]
fn severity(report: &Value, rule: &str) -> String {
    let findings = report["findings"].as_array().unwrap();
    let found: Vec<&Value> = findings.iter().filter(|f| f["rule"] == rule).collect();
    assert_eq!(found.len(), 1, "{:#}", report["findings"]);
    found[0]["severity"].as_str().unwrap().to_owned()
}

/// Returns "warn" if a rule reports something by default, or "pedantic" if only users who select
/// `pedantic` see it.
fn level(folder: &tempfile::TempDir, rule: &str) -> &'static str {
    let count = |selected: &str| {
        let report = report(folder, &["--select", selected]);
        let findings = report["findings"].as_array().unwrap();
        findings.iter().filter(|finding| finding["rule"] == rule).count()
    };
    match (count(rule), count(&format!("{rule},pedantic"))) {
        (1, 1) => "warn",
        (0, 1) => "pedantic",
        other => panic!("{rule}: {other:?}"),
    }
}

/// DM-09.2: a likely but unproven finding is reported only on request, and never as a note.
#[test]
fn dm_09_2_likely_money_is_pedantic() {
    let model = "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Table', new mongoose.Schema({ total: Number }));\n";
    let close = "const Table = require('../models/table');\nexports.close = (id, sum) => Table.updateOne({ _id: id }, { total: Number(sum.toFixed(2)) });\n";
    let show =
        "const Table = require('../models/table');\nexports.show = (id) => Table.findById(id);\n";
    for (service, default, pedantic) in [(close, 1, 1), (show, 0, 1)] {
        let folder = project(&[("models/table.js", model), ("lib/table.js", service)]);
        let count = |args: &[&str]| {
            let report = report(&folder, args);
            let all = report["findings"].as_array().into_iter().flatten();
            let found: Vec<&Value> = all.filter(|found| found["rule"] == "T020").collect();
            assert!(found.iter().all(|found| found["severity"] == "warn"), "{found:?}");
            found.len()
        };
        assert_eq!(
            (count(&[]), count(&["--select", "pedantic"])),
            (default, pedantic),
            "{service}"
        );
    }
}

/// CK-15: a method without callers is unreachable, unless a framework calls it because of an
/// annotation or a base class.
#[test]
fn ck_15_methods_that_nobody_calls_are_pedantic() {
    let model = "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Wallet', new mongoose.Schema({ balance: Number }));\n";
    let service = |head: &str| {
        format!(
            "const Wallet = require('../models/wallet');\n{head} {{\n  async addCredit(id, n) {{ const w = await Wallet.findById(id); w.balance += n; await w.save(); }}\n}}\nmodule.exports = {{ Wallets }};\n"
        )
    };
    let route = "const { Wallets } = require('./services/wallets');\napp.post('/', (q, r) => new Wallets().addCredit(q.body.id, 1));\n";
    let own = service("class Wallets");
    let base = service("class Wallets extends Job");
    for (service, other, expected) in
        [(&own, "", "pedantic"), (&own, route, "warn"), (&base, "", "warn")]
    {
        let folder = project(&[
            ("models/wallet.js", model),
            ("services/wallets.js", service),
            ("routes.js", other),
        ]);
        assert_eq!(level(&folder, "W020"), expected, "{service}{other}");
    }
}

/// CK-15, DM-08.2: the controllers of an unmounted router are unreachable too.
#[test]
fn ck_15_dm_08_2_files_that_nobody_takes_in_are_pedantic() {
    let model = "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Wallet', new mongoose.Schema({ balance: Number, events: [{ at: Date }] }));\n";
    let controller = "const Wallet = require('../models/wallet');\nexports.pay = async (id, n) => {\n  const w = await Wallet.findById(id);\n  w.balance += n;\n  await w.save();\n  await Wallet.updateOne({ _id: id }, { $push: { events: { at: n } } });\n};\n";
    let router = "const c = require('../controllers/wallets');\nmodule.exports = router.post('/', (q, r) => c.pay(q.body.id, q.body.n));\n";
    let server = "app.use(require('./routes/users'));\napp.use(require('./routes/orders'));\napp.listen(80);\n";
    let plain = "module.exports = router.get('/', (q, r) => r.end());\n";
    let mounted = format!("{server}app.use(require('./routes/wallets'));\n");
    let loaded = format!("{server}fs.readdirSync('./routes').forEach((name) => load(name));\n");
    for (server, expected) in [(server, "pedantic"), (&mounted, "warn"), (&loaded, "warn")] {
        let folder = project(&[
            ("models/wallet.js", model),
            ("controllers/wallets.js", controller),
            ("controllers/users.js", "exports.a = 1;\n"),
            ("routes/wallets.js", router),
            ("routes/users.js", plain),
            ("routes/orders.js", plain),
            ("server.js", server),
        ]);
        assert_eq!(level(&folder, "W020"), expected, "{server}");
        assert_eq!(level(&folder, "D020"), expected, "{server}");
    }
}

/// A shop whose handlers read too much: models, a service and routes in files of their own.
fn shop(server: &str) -> tempfile::TempDir {
    project(&[
        (
            "models/order.js",
            "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Order', new mongoose.Schema({ no: Number, product: mongoose.ObjectId }));\n",
        ),
        (
            "models/product.js",
            "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Product', new mongoose.Schema({ name: String }));\n",
        ),
        // Neither the word `mongo` nor a model's declaration.
        (
            "services/products.js",
            "const Product = require('../models/product');\nexports.productOfOrder = (id) => Product.findById(id);\n",
        ),
        (
            "routes/orders.js",
            "const Order = require('../models/order');\nconst { productOfOrder } = require('../services/products');\nrouter.get('/', async (req, res) => {\n  const orders = await Order.find();\n  for (const order of orders) order.of = await productOfOrder(order.product);\n  res.json(orders);\n});\nrouter.get('/page', async (req, res) => {\n  res.json(await Order.find({ shop: req.query.shop }).skip(req.query.page * 20).limit(20));\n});\nrouter.post('/', async (req, res) => {\n  const no = (await Order.countDocuments()) + 1;\n  res.json(await Order.create({ no, product: req.body.product }));\n});\nmodule.exports = router;\n",
        ),
        ("routes/users.js", "module.exports = router.get('/', (q, r) => r.end());\n"),
        ("routes/carts.js", "module.exports = router.get('/', (q, r) => r.end());\n"),
        ("routes/items.js", "module.exports = router.get('/', (q, r) => r.end());\n"),
        ("server.js", server),
    ])
}

/// AP-S2.3, CK-12, CK-15: reads that grow with the data are reported across files, and only as `pedantic` in a router that
/// is not mounted.
#[test]
fn ap_s2_3_ck_12_ck_15_reads_that_grow_with_the_data() {
    let users = "app.use(require('./routes/users'));\napp.use(require('./routes/carts'));\napp.use(require('./routes/items'));\napp.listen(80);\n";
    let mounted = format!("{users}app.use(require('./routes/orders'));\n");
    let rules = ["W022", "W023", "W024", "W025"];
    let folder = shop(&mounted);
    let report = report(&folder, &[]);
    let own: BTreeSet<String> =
        places(&report).into_iter().filter(|place| rules.contains(&&place[..4])).collect();
    let expected =
        ["W022 orders.js:5", "W023 orders.js:4", "W024 orders.js:9", "W025 orders.js:12"];
    assert_eq!(own, expected.map(str::to_owned).into(), "{report:#}");
    let idle = shop(users);
    for rule in rules {
        assert_eq!((level(&folder, rule), level(&idle, rule)), ("warn", "pedantic"), "{rule}");
    }
}

/// AP-S2.3: a threshold and a comment decide, and a file that ends in the middle of a loop stops nothing.
#[test]
fn ap_s2_3_settings_comments_and_broken_files() {
    let queries = |comment: &str| {
        format!(
            "const {{MongoClient}} = require('mongodb');\napp.get('/', async (req, res) => {{\n  const all = await db.collection('a').find({{}}).limit(20).toArray();\n  for (const one of all) {{\n    {comment}\n    one.b = await db.collection('b').findOne({{_id: one.b}});\n  }}\n}});\napp.listen(80);\n"
        )
    };
    let found = |source: &str, settings: &str| {
        let folder = project(&[
            ("server.js", source),
            (
                "cut.js",
                "const {MongoClient} = require('mongodb');\nfor (const x of await db.collection('a').find(",
            ),
            ("docward.toml", settings),
        ]);
        let settings = folder.path().join("docward.toml");
        let report = report(&folder, &["--select", "W022", "--config", settings.to_str().unwrap()]);
        (places(&report), report["summary"]["suppressed"].as_u64().unwrap())
    };
    assert_eq!(found(&queries(""), "").0, ["W022 server.js:6"]);
    assert_eq!(found(&queries(""), "[rules.W022]\nmax-queries = 20\n").0.len(), 0);
    assert_eq!(found(&queries("// docward: allow W022 few and small"), ""), (Vec::new(), 1));
}

/// SE-7: code in a file without importers never runs.
#[test]
fn se_7_connections_of_files_that_nobody_takes_in_are_information() {
    let helper = "from pymongo import MongoClient\n\ndef direct():\n    return MongoClient('mongodb://10.0.0.5:27017/?tls=true&tlsInsecure=true')\n";
    let model = "import uuid\n\ndef pay(db, n):\n    w = db.wallets.find_one({'_id': 1})\n    db.wallets.update_one({'_id': 1}, {'$set': {'n': w['n'] + n}})\n";
    let main = "from app.utils import names\nfrom app.utils import dates\nfrom app.utils.pay import pay\npay(db, 1)\n";
    let used = format!("{main}from app.utils.direct import direct\n");
    for (main, expected) in [(main, "info"), (&used, "warn")] {
        let folder = project(&[
            ("main.py", main),
            ("app/utils/names.py", "A = 1\n"),
            ("app/utils/dates.py", "B = 1\n"),
            ("app/utils/pay.py", model),
            ("app/utils/direct.py", helper),
        ]);
        assert_eq!(severity(&report(&folder, &[]), "S009"), expected, "{main}");
    }
}

/// CK-15: a method that only tests call counts as unreachable. Looking up a method's name does not
/// call it.
#[test]
fn ck_15_methods_that_only_tests_call_are_pedantic() {
    let model = "const mongoose = require('mongoose');\nconst s = new mongoose.Schema({ held: Number });\ns.methods.holdBack = async function (n) {\n  this.held += n;\n  await this.save();\n};\nmodule.exports = mongoose.model('Wallet', s);\n";
    let call = "const Wallet = require('../models/wallet');\nWallet.findOne().then((w) => w.holdBack(1));\n";
    let asks = "const Wallet = require('../models/wallet');\nif (names.includes('holdBack')) log('holdBack() is there');\n";
    for (files, expected) in [
        ([("tests/wallet.test.js", call), ("scripts/verify.js", asks)], "pedantic"),
        ([("tests/wallet.test.js", call), ("lib/pay.js", call)], "warn"),
    ] {
        let folder = project(&[("models/wallet.js", model), files[0], files[1]]);
        assert_eq!(level(&folder, "W020"), expected, "{files:?}");
    }
}

/// DM-04.1: names in an unused model are ignored, even beside a used one.
#[test]
fn dm_04_1_names_in_models_that_nothing_takes_in_are_left_alone() {
    let model = |name: &str| {
        format!(
            "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('{name}', new mongoose.Schema({{ userName: String, itemCount: Number, payTime: Date, created_at: Date }}));\n"
        )
    };
    let (admin, order) = (model("Admin").replace("created_at", "createTime"), model("Order"));
    for (main, expected) in [
        ("require('./models_old/admin');\nrequire('./models/order');\n", 0),
        ("require('./models_old/admin');\nrequire('./models_old/order');\n", 1),
    ] {
        let folder = project(&[
            ("app.js", main),
            ("models_old/admin.js", &admin),
            ("models_old/order.js", &order),
        ]);
        let report = report(&folder, &[]);
        let all = report["findings"].as_array().into_iter().flatten();
        assert_eq!(all.filter(|found| found["rule"] == "N022").count(), expected, "{main}");
    }
}

/// CK-15: a platform calls the functions that its settings name.
#[test]
fn ck_15_settings_name_functions() {
    let model = "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Wallet', new mongoose.Schema({ balance: Number }));\n";
    let source = "const Wallet = require('./wallet');\nexports.payOut = async (id) => {\n  const w = await Wallet.findById(id);\n  w.balance -= 1;\n  await w.save();\n};\n";
    for (settings, expected) in
        [("a: b\n", "pedantic"), ("functions:\n  pay:\n    handler: pay.payOut\n", "warn")]
    {
        let folder =
            project(&[("wallet.js", model), ("pay.js", source), ("serverless.yml", settings)]);
        assert_eq!(level(&folder, "W020"), expected, "{settings}");
    }
}

/// CK-15: in a terminal, one user does one thing after the other.
#[test]
fn ck_15_programs_for_one_person_are_pedantic() {
    let account = "package a.model;\nimport org.springframework.data.mongodb.core.mapping.Document;\n@Document\npublic class Account { private String id; private int balance; }\n";
    let service = "package a;\nimport a.model.Account;\nclass Service {\n  void pay(String id, int n) {\n    Account account = accountRepository.findById(id).orElseThrow();\n    account.setBalance(account.getBalance() - n);\n    accountRepository.save(account);\n  }\n}\n";
    let menu = "class Menu { void run() { new Service().pay(new java.util.Scanner(System.in).next(), 1); } }\n";
    let web = "import org.springframework.web.bind.annotation.*;\n@RestController class Web { @PostMapping(\"/\") void pay() { new Service().pay(\"1\", 1); } }\n";
    for (files, expected) in
        [(vec![menu], "pedantic"), (vec![web], "warn"), (vec![menu, web], "warn")]
    {
        let mut all =
            vec![("Account.java".to_owned(), account), ("Service.java".to_owned(), service)];
        all.extend(files.iter().enumerate().map(|(i, text)| (format!("Main{i}.java"), *text)));
        let all: Vec<(&str, &str)> =
            all.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        let folder = project(&all);
        assert_eq!(level(&folder, "W020"), expected, "{files:?}");
    }
}

#[test]
fn expired_suppressions_are_told_and_hold_no_more() {
    let source = "from pymongo import MongoClient\nclient = MongoClient('mongodb://10.0.0.1,10.0.0.2/?retryWrites=false')\n";
    for (day, told) in [("2999-12-31", &[][..]), ("2020-01-31", &["A001", "C016"])] {
        let entry = format!("[[suppress]]\nrule = \"C016\"\nreason = \"old\"\nexpires = {day}\n");
        let folder = project(&[("app.py", source), ("docward.toml", &entry)]);
        let config = folder.path().join("docward.toml");
        let found = report(&folder, &["--config", config.to_str().unwrap()]);
        let findings = found["findings"].as_array().unwrap();
        let mut codes: Vec<&str> = findings.iter().filter_map(|f| f["rule"].as_str()).collect();
        codes.retain(|code| ["A001", "C016"].contains(code));
        codes.sort_unstable();
        assert_eq!(codes, told, "{day}");
    }
}

const APP: &str = "from flask import Flask\nfrom pymongo import MongoClient\napp = Flask(__name__)\n\n@app.route('/')\ndef index():\n    client = MongoClient('mongodb+srv://shop:9dXk2pLw7Q@cluster0.abcde.mongodb.net/shop')\n    client.shop.t_user.update_one({'_id': 1}, {'$push': {'logins': {'at': datetime.now()}}})\n    return 'ok'\n";

#[test]
fn cn_02_1_sc_7_dm_08_2_a_small_application_is_judged() {
    let folder = project(&[("app.py", APP)]);
    let output = docward(&["lint", &path(&folder), "--profile", "neutral"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 1, "{text}{}", stderr(&output));
    for part in ["lint of", "C040", "S020", "D020", "app.py:7:", "app.py:8:"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let found = places(&report(&folder, &[]));
    for wanted in ["C040 app.py:7", "S020 app.py:7", "D020 app.py:8"] {
        assert!(found.contains(&wanted.to_owned()), "{wanted} in {found:?}");
    }
}

#[test]
fn sc_7_passwords_appear_in_no_format() {
    let folder = project(&[
        ("app.py", APP),
        (".env", "MONGO_URL=mongodb://a:9dXk2pLw7Q@db.shop.io/x\nMONGO_PASSWORD=9dXk2pLw7Q\n"),
        (
            "b.js",
            "const u = 'mongodb://a:' + '9dXk2pLw7Q' + '@db.shop.io/?retryWrites=false'; new MongoClient(u);",
        ),
    ]);
    for format in ["terminal", "json", "sarif", "junit", "markdown", "html", "github", "gitlab"] {
        let output = docward(&["lint", &path(&folder), "--format", format]);
        let all = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!all.contains("9dXk2pLw7Q"), "{format}");
        assert!(all.contains("S020"), "{format}: {all}");
    }
    for more in [&["--diff"][..], &["--diff", "--unsafe-fixes"], &["--verbose"]] {
        let target = path(&folder);
        let mut args = vec!["lint", &target];
        args.extend(more);
        let output = docward(&args);
        let all = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!all.contains("9dXk2pLw7Q"), "{more:?}: {all}");
    }
    // Docward also hides the password of a misplaced connection string, or of one in a comment.
    let uri = "mongodb://a:9dXk2pLw7Q@db.shop.io/x";
    let comment =
        project(&[("c.js", &format!("// docward: allow {uri} because\nconst mongo = 1;\n"))]);
    for args in [
        vec!["lint", uri],
        vec![uri],
        vec!["connect", uri],
        vec!["connect", "check", "--file", uri],
        vec!["lint", ".", "--changed-since", uri],
        vec!["lint", comment.path().to_str().unwrap()],
        vec!["connect", "check", "mongodb://db.shop.io/?pwd=9dXk2pLw7Q"],
    ] {
        let output = docward(&args);
        let all = format!("{}{}", stdout(&output), stderr(&output));
        assert!(!all.contains("9dXk2pLw7Q"), "{args:?}: {all}");
    }
}

const BARE: &str = "const monk = require('monk');\nconst db = monk('shop:hunter2@h.shop.io:10099/shop');\nconst skin = require('mongoskin');\nconst other = skin.db('shop:hunter2@h.shop.io:10099/shop?auto_reconnect=true');\nother.collection('t_user').update({}, {$push: {logins: x}});\n";

#[test]
fn sc_7_se_6_strings_without_a_scheme_hide_their_passwords_and_have_a_place() {
    let alone = "const db = require('monk')('shop:hunter2@h.shop.io/shop');\n";
    let folder = project(&[("app.js", BARE), ("alone.js", alone)]);
    for format in ["terminal", "json", "sarif", "markdown", "gitlab"] {
        let output = docward(&["lint", &path(&folder), "--format", format]);
        assert!(!stdout(&output).contains("hunter2"), "{format}: {}", stdout(&output));
        assert!(!stderr(&output).contains("hunter2"), "{format}");
    }
    let found = report(&folder, &[]);
    let findings = found["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["location"]["line"].is_u64()), "{findings:?}");
    let found = places(&found);
    // The same account on the same host is one finding, whatever the port.
    let secrets: Vec<_> = found.iter().filter(|place| place.starts_with("S020")).collect();
    assert_eq!(secrets, ["S020 alone.js:1"]);
    // The strength of a password does not matter if it has to be changed anyway.
    assert!(!found.iter().any(|place| place.starts_with("S008")), "{found:?}");
    assert!(!found.iter().any(|place| place.starts_with("N021")), "{found:?}");
}

#[test]
fn fingerprints_do_not_depend_on_how_a_path_is_written() {
    let folder = project(&[
        ("shop/app.py", APP),
        ("shop/deploy/.env", "MONGO_URL=mongodb://app:9dXk2pLw7Q@db.shop.io/x\n"),
        ("shop/scripts/app.py", APP),
    ]);
    let fingerprints = |within: &str, paths: &[&str], more: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("docward").unwrap();
        command.current_dir(folder.path().join(within)).arg("lint").args(paths);
        let output = command.args(["--format", "json", "--profile", "neutral"]).args(more).output();
        let found: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let findings = found["findings"].as_array().unwrap().clone();
        let mut out: Vec<String> =
            findings.iter().map(|f| f["fingerprint"].as_str().unwrap().to_owned()).collect();
        out.sort();
        out
    };
    let whole = folder.path().join("shop");
    let whole = whole.to_str().unwrap();
    let one = fingerprints("shop", &["."], &[]);
    assert!(one.len() >= 4, "{one:?}");
    for (within, paths) in [
        ("shop", &[whole][..]),
        ("", &["shop"]),
        ("", &["./shop/"]),
        ("shop/deploy", &[".."]),
        ("shop", &["app.py", "deploy", "scripts"]),
        ("", &[whole, "shop/deploy"]),
    ] {
        assert_eq!(fingerprints(within, paths, &[]), one, "{within} {paths:?}");
    }
    // If settings mark the project, a part of it is identified by its path in the project.
    fs::write(folder.path().join("shop/docward.toml"), "").unwrap();
    let part = fingerprints("shop/deploy", &["."], &[]);
    assert!(!part.is_empty() && part.iter().all(|f| one.contains(f)), "{part:?} of {one:?}");
    // A baseline from one directory also applies in the other.
    let baseline = folder.path().join("known.json");
    let baseline = ["--baseline", baseline.to_str().unwrap()];
    fingerprints("shop", &["."], &[baseline[0], baseline[1], "--write-baseline"]);
    assert!(fingerprints("", &[whole], &baseline).is_empty());
}

#[test]
fn the_summary_counts_files() {
    let folder = project(&[("a.py", "import pymongo\n"), ("b.py", "import pymongo\n")]);
    for more in [&[][..], &["--quiet"]] {
        let mut args = vec!["lint", folder.path().to_str().unwrap(), "--profile", "neutral"];
        args.extend(more);
        let text = stdout(&docward(&args));
        assert!(text.contains("2 files read") && !text.contains("document"), "{text}");
    }
}

#[test]
fn comments_allow_findings_with_a_reason() {
    let line = "db.t_user.updateOne({_id}, {$push: {logins: {at: new Date()}}});";
    let with = |comment: &str| {
        let folder = project(&[("a.mongodb", &format!("{comment}\n{line}\n"))]);
        let report = report(&folder, &[]);
        let problems = report["problems"].as_array().unwrap().len();
        (places(&report).len(), report["summary"]["suppressed"].as_u64().unwrap(), problems)
    };
    assert_eq!(with("// nothing"), (1, 0, 0));
    assert_eq!(with("// docward: allow D020 cut every night"), (0, 1, 0));
    assert_eq!(with("// docward: allow uncapped-append: cut every night"), (0, 1, 0));
    assert_eq!(with("// docward: allow T020 another rule"), (2, 0, 0), "and is not needed");
    assert_eq!(with("// docward: allow D020"), (1, 0, 1), "a reason is asked for");
    assert_eq!(with("// docward: allow D999 because"), (1, 0, 1), "rules have names");
}

#[test]
fn ignore_files_tests_and_folders_of_others_are_left_out() {
    let push = "db.t.updateOne({_id}, {$push: {a: {at: new Date()}}});\n";
    let folder = project(&[
        ("src/a.mongodb", push),
        ("node_modules/x/a.mongodb", push),
        ("tests/a.mongodb", &push.replace("db.t.", "db.u.")),
        ("made/a.mongodb", push),
        ("mine/a.mongodb", push),
        (".gitignore", "made/\n"),
        (".docwardignore", "mine/\n"),
    ]);
    assert_eq!(places(&report(&folder, &[])), ["D020 a.mongodb:1"]);
    assert_eq!(places(&report(&folder, &["--include-tests"])).len(), 2);
}

/// Runs git in a folder with a user name.
pub(crate) fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.net"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn findings_are_shown_with_their_lines() {
    let app = "from pymongo import MongoClient\n\nclient = MongoClient('mongodb://u:9dXk2pLw7Q@db.shop.io/?retryWrites=false')\nclient.shop.t_user.update_one({'_id': 1}, {'$push': {'logins': {'at': datetime.now()}}})\nclient.shop.t_user.update_one({'_id': 2}, {'$push': {'logins': {'at': datetime.now()}}})\n";
    let folder = project(&[("app.py", app), ("more/tests/test_a.py", "import pymongo\n")]);
    let run = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_docward"));
        command.args(["lint", "app.py", "more", "--profile", "neutral"]).args(more);
        let output = command.current_dir(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    for part in [
        "app.py:3:23: S020 hard-coded-credential: plain-text password in\n    `mongodb://u:*****@db.shop.io",
        "      3 | client = MongoClient('mongodb://u:*****@db.shop.io/?retryWrites=false')\n        |                       ^\n",
        "      3 | client = MongoClient('mongodb://u:*****@db.shop.io/?retryWrites=false')\n        |                                                     ^\n",
        "app.py:4:54: D020 uncapped-append: ",
        "      4 | client.shop.t_user.update_one({'_id': 1}, {'$push': {'logins': {'at': datetime.now()}}})\n",
        "    also: line 5\n",
        "    fix: read it from the environment or a secret store",
        "1 test file skipped",
        "(unsafe fix available)",
        "    why: ",
        "hidden; --verbose or --show note prints",
        "--fix --unsafe-fixes",
        "next: docward explain",
    ] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    for part in ["9dXk2pLw7Q", "seen:", "NOTES", " documents,", "documents read"] {
        assert!(!text.contains(part), "{part} in:\n{text}");
    }
    assert!(run(&["--verbose"]).contains("NOTES"));
    let shown = run(&["--show", "D020"]);
    assert!(shown.contains("D020 uncapped-append") && !shown.contains("S020 hard"), "{shown}");
    let found = report(&folder, &[]);
    let all = found["findings"].as_array().unwrap();
    let grown = all.iter().find(|finding| finding["rule"] == "D020").unwrap();
    let lines: Vec<u64> = grown["locations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|location| location["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [4, 5]);
    let sarif = docward(&["lint", &path(&folder), "--format", "sarif"]);
    let sarif: Value = serde_json::from_slice(&sarif.stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let grown = results.iter().find(|result| result["ruleId"] == "D020").unwrap();
    let related = &grown["relatedLocations"][0]["physicalLocation"]["region"]["startLine"];
    assert_eq!(related, 5);
}

#[test]
fn a_model_of_one_file_is_known_in_the_others() {
    let folder = project(&[
        (
            "models/user.js",
            "const mongoose = require('mongoose');\nmodule.exports = mongoose.model('Member', new mongoose.Schema({name: String, visits: [{ at: Date }]}));\n",
        ),
        (
            "routes/user.js",
            "const Member = require('../lib/member');\nexports.f = async (id) => { const m = await Member.findById(id); m.visits.push({ at: new Date() }); await m.save(); };\n",
        ),
    ]);
    let found = places(&report(&folder, &["--select", "pedantic"]));
    assert!(found.contains(&"D020 user.js:2".to_owned()), "{found:?}");
}

#[test]
fn dm_08_2_alg_6_code_and_data_are_joined() {
    let mut documents = String::new();
    for day in 0..120_u32 {
        let elements = vec!["{\"n\": 1}"; (1 + (120 - day) * 5) as usize].join(",");
        let id = format!("{:08x}0000000000000000", 0x6500_0000_u32 + day * 86_400);
        documents.push_str(&format!(
            "{{\"_id\": {{\"$oid\": \"{id}\"}}, \"events\": [{elements}], \"colour\": 1}}\n"
        ));
    }
    let folder = project(&[
        ("data/t_device.jsonl", &documents),
        (
            "src/app.mongodb",
            "db.t_device.updateOne({_id}, {$push: {events: {at: new Date()}}});\ndb.t_device.updateOne({_id}, {$set: {coluor: 2}});\n",
        ),
    ]);
    let data = folder.path().join("data/t_device.jsonl");
    let source = folder.path().join("src");
    let run = |more: &[&str]| -> Value {
        let mut args = vec![
            "audit",
            data.to_str().unwrap(),
            "--namespace",
            "db_iot.t_device",
            "--format",
            "json",
            "--select",
            "D008,D020,D022",
        ];
        args.extend(more);
        serde_json::from_slice(&docward(&args).stdout).unwrap()
    };
    let alone = run(&[]);
    assert_eq!(alone["findings"][0]["severity"], "warn");
    let both = run(&["--code", source.to_str().unwrap()]);
    let rules: Vec<&str> =
        both["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["D008", "D022"], "{both}");
    assert_eq!(both["findings"][0]["severity"], "error");
    assert_eq!(both["findings"][0]["data"]["verdict"], "certain");
    assert!(
        both["findings"][0]["what"]
            .as_str()
            .unwrap()
            .contains("app.mongodb:1 appends to it without a limit")
    );
    assert_eq!(both["findings"][1]["data"]["nearest"], "colour");
}

#[test]
fn st_22_st_34_sn_06_capped_pushes_pass() {
    let folder = project(&[(
        "a.mongodb",
        "db.t_order.updateOne({_id}, {$push: {auditLog: {$each: [e], $slice: -100}}});\ndb.t_user.updateOne({_id}, {$push: {logins: {$each: [e], $slice: -10}}});\n",
    )]);
    assert!(places(&report(&folder, &[])).is_empty());
}

#[test]
fn rp_1_st_18_services_are_known_by_their_files() {
    let folder = project(&[
        (
            "docward.toml",
            "[[service]]\nname = \"balance\"\nclass = \"core\"\ncode = [\"**/pay/**\"]\n",
        ),
        (
            "pay/db.py",
            "from pymongo import MongoClient\nc = MongoClient('mongodb://db1.bank.io,db2.bank.io/?replicaSet=rs0&readPreference=secondary')\n",
        ),
        (
            "news/db.py",
            "from pymongo import MongoClient\nc = MongoClient('mongodb://db1.bank.io,db2.bank.io/?replicaSet=rs0&readPreference=secondary')\n",
        ),
    ]);
    let found = report(&folder, &["--select", "C022"]);
    assert_eq!(places(&found), ["C022 db.py:2"], "{found}");
    assert!(found["findings"][0]["location"]["file"].as_str().unwrap().contains("pay/"));
}

#[test]
fn bad_input_is_told_and_the_rest_goes_on() {
    let folder = project(&[
        ("a.mongodb", "db.t.updateOne({_id}, {$push: {a: {at: new Date()}}});\n"),
        ("b.py", "\u{0}\u{1}mongo(((((\n"),
    ]);
    let missing = docward(&["lint", "/no/such/path"]);
    assert_eq!((code(&missing), stdout(&missing)), (2, String::new()));
    assert_eq!(
        stderr(&missing),
        "error: /no/such/path: no such file or directory; check the path\n"
    );
    let missing = docward(&["lint", &path(&folder), "/no/such/path", "--format", "json"]);
    assert_eq!(code(&missing), 2);
    let report: Value = serde_json::from_slice(&missing.stdout).unwrap();
    assert!(report["problems"][0]["message"].as_str().unwrap().contains("no such file"));
    assert!(!places(&report).is_empty());
    let empty = project(&[("a.txt", "x")]);
    let elsewhere = tempfile::tempdir().unwrap();
    let kept = elsewhere.path().join("kept.json");
    fs::write(&kept, "yesterday").unwrap();
    let nothing = docward(&["lint", &path(&empty), "--output", kept.to_str().unwrap()]);
    assert_eq!((code(&nothing), stdout(&nothing)), (2, String::new()));
    assert!(stderr(&nothing).contains("nothing was checked"), "{}", stderr(&nothing));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "yesterday");
    assert_eq!(code(&docward(&["lint"])), 2);
    assert_eq!(code(&docward(&["lint", ".", "--threads", "0"])), 2);
}

#[test]
fn sc_7_files_that_git_tracks_are_read_whatever_ignore_files_say() {
    let secret = "MONGO_URL=mongodb+srv://app:9dXk2pLw7Q@c.shop.io/x\n";
    let folder = project(&[
        ("server/app.js", "start();\n"),
        ("server/.env", secret),
        ("server/.env.local", secret),
        ("mine/.env", secret),
        ("server/.gitignore", ".env*\n"),
        ("mine/.gitignore", ".env\n"),
        (".docwardignore", "mine/\n"),
    ]);
    let git = |args: &[&str]| git(folder.path(), args);
    let found = || places(&report(&folder, &["--select", "S020"]));
    // Without git it is unknown whether the file is published, so it counts as published.
    assert_eq!(found(), ["S020 .env:1"]);
    git(&["init", "-q"]);
    assert!(found().is_empty(), "nothing is tracked yet");
    git(&["add", "-f", "server/.env", "mine/.env"]);
    assert_eq!(found(), ["S020 .env:1"]);
    let below =
        docward(&["lint", folder.path().join("server").to_str().unwrap(), "--format", "json"]);
    assert!(stdout(&below).contains("S020"), "{}", stdout(&below));
}

#[test]
fn a_folder_may_be_called_like_a_database() {
    let push = "db.t.updateOne({_id}, {$push: {a: {at: new Date()}}});\n";
    let folder = project(&[("mongodb-app/a.mongodb", push)]);
    let run = |target: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_docward"));
        command.args(["lint", target, "--verbose"]).current_dir(folder.path()).output().unwrap()
    };
    assert!(stdout(&run("mongodb-app")).contains("D020"), "{}", stderr(&run("mongodb-app")));
    for uri in ["mongodb://db.shop.io/x", "mongodb+srv://db.shop.io/x"] {
        assert!(stderr(&run(uri)).contains("connect check"), "{uri}");
    }
}

#[test]
fn dm_09_2_structs_with_tags_alone_and_schemas_of_prisma_are_read() {
    let folder = project(&[
        (
            "models/order.go",
            "package models\n\ntype Order struct {\n\tID    string  `bson:\"_id\"`\n\tTotal float64 `bson:\"totalPrice\"`\n}\n\nfunc New() Order { return Order{Total: 1} }\n",
        ),
        (
            "prisma/schema.prisma",
            "datasource db {\n  provider = \"mongodb\"\n  url      = env(\"DATABASE_URL\")\n}\n\nmodel Item {\n  id    String @id @map(\"_id\")\n  price Float\n}\n",
        ),
    ]);
    let found = places(&report(&folder, &["--select", "T020"]));
    assert_eq!(found, ["T020 order.go:5", "T020 schema.prisma:8"]);
}

/// If files have the same content, the used one is read, in any order.
#[test]
fn copies_of_a_file_are_told_once() {
    let model = format!(
        "const mongoose = require('mongoose');\nconst schema = new mongoose.Schema({{\n  name: String,\n  price: Number,\n}});\nmodule.exports = mongoose.model('Product', schema);\n{}",
        "// A product of the shop, as the catalogue knows it.\n".repeat(12)
    );
    for others in [
        &["models/product.1.js"][..],
        &["backup/models/product.js", "docs/product.js"],
        &["bin/product.js", "a/tests/product.js"],
    ] {
        let sum = "module.exports = (products) => products.reduce((sum, one) => sum + one.price, 0).toFixed(2);\n";
        let mut files = vec![("models/product.js", model.as_str()), ("lib/sum.js", sum)];
        files.extend(others.iter().map(|other| (*other, model.as_str())));
        let folder = project(&files);
        let found = report(&folder, &["--select", "T020"]);
        let findings = found["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{others:?}: {findings:#?}");
        let file = findings[0]["location"]["file"].as_str().unwrap();
        assert!(file.ends_with("/models/product.js") && !file.contains("backup"), "{file}");
        assert_eq!(findings[0]["severity"], "warn", "{others:?}");
    }
}

#[test]
fn what_compilers_and_bundlers_write_is_not_judged() {
    let push = "const {MongoClient} = require('mongodb');\nexports.f = (c, e) => c.updateOne({_id: e}, {$push: {events: {at: new Date()}}});\n";
    let marked = format!(
        "\"use strict\";\nObject.defineProperty(exports, \"__esModule\", {{ value: true }});\n{push}"
    );
    let mapped = format!("{push}//# sourceMappingURL=a.js.map\n");
    let bundle = format!("{}{}", push.replace('\n', ""), "var a=1;".repeat(2000));
    let folder = project(&[
        ("src/a.js", push),
        ("lib/a.js", &marked),
        ("out/a.js", &mapped),
        ("wwwroot/umi.1e9e8e71.js", &bundle),
    ]);
    assert_eq!(places(&report(&folder, &["--select", "pedantic"])), ["D020 a.js:2"]);
}
