//! Tests of scanning, with files in every language.

use docward_model::{ClientUri, OptionValue};

use super::*;

fn scanned(file: &str, text: &str) -> Scanned {
    let kind = FileKind::of(file).expect("a file that is looked at");
    let known = survey(&[(file, kind, text)]);
    scan(file, file, text, kind, &known, |_, _| Vec::new())
}

fn clients(file: &str, text: &str) -> Vec<ClientUri> {
    scanned(file, text).clients
}

fn option(client: &ClientUri, name: &str) -> Option<OptionValue> {
    client.option(name).map(|option| option.value.clone())
}

#[test]
fn only_comments_allow_findings_and_code_is_no_part_of_the_reason() {
    for (file, text) in [
        ("a.js", "/* docward: allow D020 cut every night */ f(\"x\");"),
        ("a.js", "f(); // docward: allow D020 cut every night\ng();"),
        ("a.js", "/*\n * docward: allow D020 cut every night\n */\nf();"),
        ("a.py", "f()  # docward: allow D020 cut every night\n"),
        ("a.rs", "/// docward: allow D020 cut every night\nfn f() {}"),
        ("a.yml", "x: 1  # docward: allow D020 cut every night\n"),
    ] {
        let found = scanned(file, text).allowed;
        let reasons: Vec<&str> = found.iter().map(|allowed| allowed.reason.as_str()).collect();
        assert_eq!(reasons, ["cut every night"], "{file}: {text}");
    }
    let in_string = "f(\"// docward: allow D020 cut every night\");";
    for file in ["a.js", "a.java", "a.py"] {
        assert!(scanned(file, in_string).allowed.is_empty(), "{file}");
    }
}

fn has_production_set(client: &ClientUri) {
    for (name, value) in [
        ("maxPoolSize", 150),
        ("minPoolSize", 10),
        ("maxIdleTimeMS", 120_000),
        ("connectTimeoutMS", 10_000),
        ("serverSelectionTimeoutMS", 5_000),
    ] {
        assert_eq!(option(client, name), Some(OptionValue::Int(value)), "{name}");
    }
    assert_eq!(option(client, "retryWrites"), Some(OptionValue::Bool(true)));
    assert_eq!(option(client, "retryReads"), Some(OptionValue::Bool(true)));
    assert_eq!(option(client, "w"), Some(OptionValue::Text("majority".to_owned())));
    assert_eq!(client.read_preference.as_deref(), Some("secondaryPreferred"));
    assert!(client.site.as_ref().is_some_and(|site| site.is_whole));
}

#[test]
fn sdk_py_1_sn_24_sdk_all_1_options_of_python() {
    let found = clients(
        "a.py",
        "from pymongo import MongoClient, ReadPreference\nURI = 'mongodb+srv://u:${P}@db.example.net/admin'\nc = MongoClient(URI, authSource='admin', maxPoolSize=150, minPoolSize=10, maxIdleTimeMS=120000, waitQueueTimeoutMS=5000, connectTimeoutMS=10000, serverSelectionTimeoutMS=5000, retryWrites=True, retryReads=True, w='majority', read_preference=ReadPreference.SECONDARY_PREFERRED)\n",
    );
    assert_eq!(found.len(), 1, "the constant is the client's");
    assert!(found[0].srv && found[0].auth_source == "admin");
    assert_eq!(option(&found[0], "waitQueueTimeoutMS"), Some(OptionValue::Int(5000)));
    has_production_set(&found[0]);
}

#[test]
fn sdk_py_2_sdk_py_3_sdk_py_4_sdk_all_2_four_methods_of_python() {
    let found = clients(
        "a.py",
        "from pymongo import MongoClient\nrs = MongoClient('mongodb://10.0.0.100:27017,10.0.0.101:27017,10.0.0.102:27017/admin', replicaSet='cmgo-abc', maxPoolSize=150)\nlb = MongoClient('mongodb://10.0.0.100:27017/admin', maxPoolSize=150)\nall = MongoClient('mongodb://10.0.0.100:27017,10.0.0.100:27018,10.0.0.100:27019/admin', maxPoolSize=150)\n",
    );
    let hosts: Vec<usize> = found.iter().map(|client| client.hosts.len()).collect();
    assert_eq!(hosts, [3, 1, 3]);
    assert_eq!(found[0].replica_set.as_deref(), Some("cmgo-abc"));
    // Options of the production set that the sample of the replica set lacks.
    let missing = [
        "minPoolSize",
        "maxIdleTimeMS",
        "waitQueueTimeoutMS",
        "connectTimeoutMS",
        "serverSelectionTimeoutMS",
        "retryReads",
    ];
    assert!(missing.iter().all(|name| option(&found[0], name).is_none()));
}

#[test]
fn sdk_jv_1_sdk_jv_2_sn_25_builders_of_java() {
    let text = r#"
import com.mongodb.client.MongoClients;
class Clients {
  static final String HOSTS = "10.0.0.100:27017,10.0.0.101:27017";
  static MongoClient create() {
    String uri = "mongodb://" + HOSTS + "/admin?authSource=admin&replicaSet=cmgo-abc";
    MongoClientSettings settings = MongoClientSettings.builder()
      .applyConnectionString(new ConnectionString(uri))
      .applyToConnectionPoolSettings(b -> b.maxSize(150).minSize(10)
        .maxConnectionIdleTime(120, TimeUnit.SECONDS).maxWaitTime(5, TimeUnit.SECONDS))
      .applyToSocketSettings(b -> b.connectTimeout(10, TimeUnit.SECONDS).readTimeout(30, TimeUnit.SECONDS))
      .applyToClusterSettings(b -> b.serverSelectionTimeout(5, TimeUnit.SECONDS))
      .retryWrites(true).retryReads(true)
      .writeConcern(WriteConcern.MAJORITY).readPreference(ReadPreference.secondaryPreferred())
      .build();
    return MongoClients.create(settings);
  }
}"#;
    let found = clients("Clients.java", text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].hosts.len(), 2, "folded from pieces");
    assert_eq!(found[0].replica_set.as_deref(), Some("cmgo-abc"));
    assert_eq!(option(&found[0], "waitQueueTimeoutMS"), Some(OptionValue::Int(5_000)));
    assert_eq!(option(&found[0], "socketTimeoutMS"), Some(OptionValue::Int(30_000)));
    has_production_set(&found[0]);
}

#[test]
fn sdk_nd_1_sdk_nd_2_sn_26_options_of_node_by_name() {
    let text = "
const { MongoClient, ReadPreference } = require('mongodb');
const commonOptions = { maxPoolSize: 150, minPoolSize: 10, maxIdleTimeMS: 120000, waitQueueTimeoutMS: 5000,
  connectTimeoutMS: 10000, serverSelectionTimeoutMS: 5000, retryWrites: true, retryReads: true, w: 'majority',
  readPreference: ReadPreference.SECONDARY_PREFERRED };
async function connectWithSRV() {
  const client = new MongoClient('mongodb+srv://db.example.net/admin?authSource=admin', commonOptions);
  await client.connect();
  await client.db('admin').command({ ping: 1 });
}";
    let found = scanned("a.js", text);
    assert_eq!(found.clients.len(), 1);
    has_production_set(&found.clients[0]);
    assert!(!found.code.health_checks.is_empty());
}

#[test]
fn sdk_go_1_sdk_go_2_sdk_go_3_sn_27_chains_of_go() {
    let text = "
package db
import (
  \"go.mongodb.org/mongo-driver/mongo\"
  \"go.mongodb.org/mongo-driver/mongo/options\"
)
func create(ctx context.Context, uri string) (*mongo.Client, error) {
  opts := options.Client().ApplyURI(\"mongodb://10.0.0.100:27017,10.0.0.100:27018/admin\").
    SetMaxPoolSize(150).SetMinPoolSize(10).SetMaxConnIdleTime(120 * time.Second).
    SetConnectTimeout(10 * time.Second).SetServerSelectionTimeout(5 * time.Second).
    SetRetryWrites(true).SetRetryReads(true).
    SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.SecondaryPreferred())
  client, err := mongo.Connect(ctx, opts)
  if err := client.Ping(ctx, readpref.Primary()); err != nil { return nil, err }
  return client, err
}";
    let found = scanned("a.go", text);
    assert_eq!(found.clients.len(), 1);
    assert_eq!(found.clients[0].hosts.len(), 2);
    has_production_set(&found.clients[0]);
    assert!(!found.code.health_checks.is_empty());
}

#[test]
fn constants_of_other_files_are_known() {
    let config =
        "MONGO_URI = 'mongodb://db1.shop.io,db2.shop.io/?replicaSet=rs0&retryWrites=false'\n";
    let app = "from app.config import MONGO_URI\nfrom pymongo import MongoClient\nc = MongoClient(MONGO_URI)\n";
    let kind = FileKind::Code(Language::Python);
    let known = survey(&[("app/config.py", kind, config), ("app/db.py", kind, app)]);
    let found = scan("app/db.py", "app/db.py", app, kind, &known, |_, _| Vec::new());
    assert_eq!(found.clients[0].replica_set.as_deref(), Some("rs0"));
    assert_eq!(option(&found.clients[0], "retryWrites"), Some(OptionValue::Bool(false)));
}

#[test]
fn what_is_computed_stays_unknown() {
    let found = clients(
        "a.py",
        "import os\nfrom pymongo import MongoClient\nc = MongoClient(os.environ['U'], **options)\n",
    );
    assert!(found[0].is_partial && found[0].site.as_ref().is_some_and(|site| !site.is_whole));
    // A name with two values has no known value.
    let found = clients(
        "a.py",
        "from pymongo import MongoClient\nu = 'mongodb://a.b.c/'\nif x:\n    u = 'mongodb://d.e.f/'\nc = MongoClient(u, maxPoolSize=n)\n",
    );
    let client = found.iter().find(|client| client.driver.is_some()).expect("a client");
    assert!(client.is_partial);
    assert_eq!(option(client, "maxPoolSize"), Some(OptionValue::Unknown));
    // No rule checks a default for development.
    let found = clients(
        "a.js",
        "const c = new MongoClient(process.env.U || 'mongodb://a.b.c/?retryWrites=false');",
    );
    assert!(found.iter().all(|client| option(client, "retryWrites").is_none()));
}

#[test]
fn places_are_those_of_the_file() {
    let found = clients(
        "a.py",
        "from pymongo import MongoClient\nc = MongoClient(\n    'mongodb://db.shop.io/?w=1&retryWrites=false')\n",
    );
    let at =
        found[0].option("retryWrites").and_then(|option| option.location.clone()).expect("a place");
    assert_eq!((at.line, at.column), (3, 32));
}

#[test]
fn settings_are_searched_with_what_is_filled_in() {
    let text = "services:\n  app:\n    environment:\n      - MONGO_URL=mongodb://${USER}:${PASS}@db.shop.io:27017/shop?retryWrites=false\n      # mongodb://old:9dXk2pLw7Q@db.shop.io/\n";
    let found = scanned("deploy.yaml", text);
    assert_eq!(found.clients.len(), 1);
    assert_eq!(option(&found.clients[0], "retryWrites"), Some(OptionValue::Bool(false)));
    assert_eq!(found.code.secrets.len(), 1);
    assert!(found.code.secrets[0].in_remark);
}

#[test]
fn damaged_and_hostile_files_end() {
    let deep = "f(".repeat(50_000);
    for (file, text) in [
        ("a.py", deep.as_str()),
        ("a.js", deep.as_str()),
        ("a.go", "package a\nfunc f() { mongo.Connect(("),
        ("a.py", "a = a.b\nb = b['c']\nc = MongoClient(a, b)\nx = y\ny = x\nMongoClient(x)\n"),
        ("a.js", "const a = {...a, mongo: a}; new MongoClient(a.mongo, a);"),
        ("a.env", "MONGO_URL=mongodb://${"),
        ("A.java", "class MongoClient { MongoClient x = new MongoClient(x"),
        ("a.kt", "val mongo = mongo.mongo { mongo"),
    ] {
        let _ = scanned(file, text);
    }
    let deep_sum = format!("mongo = {}1", "1 + ".repeat(20_000));
    let _ = scanned("a.py", &deep_sum);
}

#[test]
fn tests_and_scripts_are_told_by_their_paths() {
    for path in [
        "src/test/java/A.java",
        "tests/a.py",
        "a_test.go",
        "b.spec.ts",
        "conftest.py",
        "x/__tests__/a.js",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in ["src/main/java/A.java", "latest/a.py", "contest.js", "attestation/a.go"] {
        assert!(!is_test(path), "{path}");
    }
    assert!(is_script("db/migrations/001.js") && !is_script("src/app.js"));
}

/// Returns the displayed texts of secrets that count as such, each with its line. No text contains
/// the password.
fn secrets(file: &str, text: &str) -> Vec<String> {
    let found = scanned(file, text).code.secrets;
    assert!(!format!("{found:?}").contains("9dXk2pLw7Q"), "{found:?}");
    let counts = found
        .into_iter()
        .filter(|s| !(s.placeholder.is_some() || s.local || s.in_sample || s.in_remark));
    counts.map(|s| format!("{}: {}", s.place.location.line, s.shown)).collect()
}

#[test]
fn sc_7_passwords_beside_the_string_are_found() {
    for (file, text, shown) in [
        (
            "a.js",
            "const {MongoClient} = require('mongodb');\nnew MongoClient(process.env.URI, {auth: {username: 'a', password: '9dXk2pLw7Q'}});",
            "2: auth.password=*****",
        ),
        (
            "a.js",
            "const mongoose = require('mongoose');\nconst o = {user: 'a', pass: '9dXk2pLw7Q'};\nmongoose.connect(process.env.URI, o);",
            "2: pass=*****",
        ),
        (
            "config.js",
            "module.exports = {mongodb: {host: 'db.shop.io', user: 'a', password: '9dXk2pLw7Q'}};",
            "1: password=*****",
        ),
        (
            "a.py",
            "from pymongo import MongoClient\nPW = '9dXk2pLw7Q'\nMongoClient('db.shop.io', username='a', password=PW)\n",
            "3: password=*****",
        ),
        (
            "a.go",
            "package a\nimport \"go.mongodb.org/mongo-driver/mongo/options\"\nfunc f() {\n cred := options.Credential{Username: \"a\", Password: \"9dXk2pLw7Q\"}\n o := options.Client().ApplyURI(uri).SetAuth(cred)\n}",
            "4: Password=*****",
        ),
        (
            "A.java",
            "import com.mongodb.MongoCredential;\nclass A { MongoCredential c = MongoCredential.createCredential(\"a\", \"admin\", \"9dXk2pLw7Q\".toCharArray()); }",
            "2: password=*****",
        ),
        (
            "A.kt",
            "import com.mongodb.MongoCredential\nval c = MongoCredential.createScramSha256Credential(\"a\", \"admin\", \"9dXk2pLw7Q\".toCharArray())\n",
            "2: password=*****",
        ),
    ] {
        assert_eq!(secrets(file, text), [shown], "{text}");
        let asked = text.replace("'9dXk2pLw7Q'", "secret").replace("\"9dXk2pLw7Q\"", "secret");
        assert!(secrets(file, &asked).is_empty(), "{asked}");
    }
}

#[test]
fn sc_7_strings_put_together_by_functions_are_found() {
    for (file, text) in [
        (
            "a.go",
            "package a\nvar u = fmt.Sprintf(\"mongodb://%s:%s@%s/x\", \"a\", \"9dXk2pLw7Q\", host)",
        ),
        (
            "a.go",
            "package a\nvar u = strings.Join([]string{\"mongodb://a:\", \"9dXk2pLw7Q\", \"@db.shop.io\"}, \"\")",
        ),
        (
            "A.java",
            "class A { String u = String.format(\"mongodb://%s:%2$s@db.shop.io\", \"a\", \"9dXk2pLw7Q\"); }",
        ),
        (
            "A.java",
            "class A { String u = \"\"\"\n    mongodb://a:9dXk2pLw7Q@db.shop.io/x\n    \"\"\"; }",
        ),
        (
            "A.java",
            "class A { @Value(\"${spring.data.mongodb.uri:mongodb://a:9dXk2pLw7Q@db.shop.io/x}\") String u; }",
        ),
        ("A.kt", "val u = \"mongodb://%s:%s@db.shop.io\".format(\"a\", \"9dXk2pLw7Q\")"),
        (
            "A.kt",
            "class A { @Value(\"\\${uri:mongodb://a:9dXk2pLw7Q@db.shop.io/x}\") lateinit var u: String }",
        ),
        ("A.kt", "@Config(uri = \"mongodb://a:9dXk2pLw7Q@db.shop.io/x\")\nclass A"),
        ("A.kt", "fun f(uri: String = \"mongodb://a:9dXk2pLw7Q@db.shop.io/x\") {}"),
        ("a.py", "u = 'mongodb://{}:{}@db.shop.io'.format('a', '9dXk2pLw7Q')"),
        ("a.py", "u = 'mongodb://{u}:{p}@db.shop.io'.format(u='a', p='9dXk2pLw7Q')"),
        ("a.py", "u = 'mongodb://%s:%s@db.shop.io' % ('a', '9dXk2pLw7Q')"),
        ("a.py", "u = 'mongodb://%(u)s:%(p)s@db.shop.io' % {'u': 'a', 'p': '9dXk2pLw7Q'}"),
        ("a.py", "u = ''.join(['mongodb://a:', '9dXk2pLw7Q', '@db.shop.io'])"),
        ("a.py", "u = 'MongoDB://a:9dXk2pLw7Q@db.shop.io/x'"),
        ("a.py", "CLIENTS = {'mongodb://a:9dXk2pLw7Q@db.shop.io/x': 1}"),
        ("a.py", "run('mongodump --uri=mongodb://a:9dXk2pLw7Q@db.shop.io/x')"),
        ("a.ts", "function f(uri: string = 'mongodb://a:9dXk2pLw7Q@db.shop.io/x') {}"),
        ("a.js", "const f = (uri = 'mongodb://a:9dXk2pLw7Q@db.shop.io/x') => uri;"),
        ("a.js", "const u = ['mongodb://a:', '9dXk2pLw7Q', '@db.shop.io'].join('');"),
        ("a.js", "const u = 'mongodb://a:9dXk/2pLw7Q@db.shop.io/x';"),
        ("a.properties", "spring.data.mongodb.uri=mongodb\\://a\\:9dXk2pLw7Q@db.shop.io/x\n"),
        ("a.json", "{\"uri\": \"mongodb:\\/\\/a:9dXk2pLw7Q@db.shop.io\\/x\"}\n"),
        ("a.env", "URL=MONGODB://a:9dXk2pLw7Q@db.shop.io/x\n"),
    ] {
        assert_eq!(secrets(file, text).len(), 1, "{text}: {:?}", secrets(file, text));
    }
}

#[test]
fn sc_7_nested_settings_are_found() {
    for (file, text, shown) in [
        (
            "a.yaml",
            "spring:\n  data:\n    mongodb:\n      host: db.shop.io\n      password: 9dXk2pLw7Q\n",
            "5: spring.data.mongodb.password=*****",
        ),
        ("a.yaml", "mongodb: {user: a, password: 9dXk2pLw7Q}\n", "1: mongodb.password=*****"),
        (
            "a.json",
            "{\n  \"mongodb\": {\n    \"auth\": {\n      \"password\": \"9dXk2pLw7Q\"\n    }\n  }\n}\n",
            "4: mongodb.auth.password=*****",
        ),
        (
            "a.json",
            "{\"mongo\": {\"user\": \"a\", \"pass\": \"9dXk2pLw7Q\"}}\n",
            "1: mongo.pass=*****",
        ),
        (".env", "MONGO_PASS=9dXk2pLw7Q\n", "1: mongo_pass=*****"),
        (
            ".env",
            "export MONGO_INITDB_ROOT_PASSWORD='9dXk2pLw7Q'\n",
            "1: mongo_initdb_root_password=*****",
        ),
        (
            "pod.yaml",
            "env:\n  - name: MONGO_PASSWORD\n    value: 9dXk2pLw7Q\n",
            "3: mongo_password=*****",
        ),
        ("a.toml", "[mongodb]\npassword = \"9dXk2pLw7Q\"\n", "2: mongodb.password=*****"),
        (
            "a.tf",
            "resource \"mongodbatlas_database_user\" \"a\" {\n  password = \"9dXk2pLw7Q\"\n}\n",
            "2: password=*****",
        ),
    ] {
        assert_eq!(secrets(file, text), [shown], "{text}");
    }
}

#[test]
fn sc_7_what_is_no_password_stays_silent() {
    for (file, text) in [
        (
            ".env",
            "MONGO_PASS=\nMONGO_PASSWORD=${PW}\nMONGO_PWD=$PW\nMONGO_PASSWORD=<password>\nMONGO_PASS=changeme\n",
        ),
        (".env", "MONGO_HOST=localhost\nMONGO_PASSWORD=9dXk2pLw7Q\n"),
        (".env.example", "MONGO_PASSWORD=9dXk2pLw7Q\n"),
        (
            "docker-compose.yml",
            "services:\n  mongo:\n    environment:\n      MONGO_INITDB_ROOT_PASSWORD: 9dXk2pLw7Q\n",
        ),
        (
            "a.yaml",
            "mongodb:\n  password: ''\n  username: 9dXk2pLw7Q\nother:\n  password: 9dXk2pLw7Q\n",
        ),
        (
            "a.yaml",
            "mongodb:\n  auth:\n    existingSecretPasswordKey: root\n    password: mongodb-root-password\n  redisPassword: 9dXk2pLw7Q\n",
        ),
        (
            "a.yaml",
            "- name: MONGO_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      key: 9dXk2pLw7Q\n- name: OTHER\n  value: 9dXk2pLw7Q\n",
        ),
        ("a.tf", "resource \"mongodbatlas_database_user\" \"a\" {\n  password = var.password\n}\n"),
        ("a.yaml", "mongodb-compass: 9dXk2pLw7Q\nmongodb:\n  password: null\n"),
        (
            "a.js",
            "const pg = new Client({host: 'h', password: '9dXk2pLw7Q'});\nconst mysql = {connection: {host: 'h', password: '9dXk2pLw7Q'}};",
        ),
        ("a.py", "u = 'mongodb://{}:{}@db.shop.io'.format(user, password)"),
        ("a.py", "u = 'mongodb://%s:%s@db.shop.io' % (user, password)"),
        ("a.py", "raise Error('expected mongodb://user:pass@host/db')"),
        (
            "a.js",
            "const form = 'mongodb://[username:password@]host1[:port1][,host2[:port2]][/[database][?options]]';",
        ),
        ("a.go", "package a\nvar u = \"mongodb://$(MONGO_USER):$(MONGO_PW)@localhost:$(PORT)\""),
        ("a.yaml", "mongoRealm:\n  prop-password: password\n"),
        ("a.yaml", "environment:\n  - 'MONGO_PASSWORD=secret'\n"),
        (
            "a.go",
            "package a\nvar u = fmt.Sprintf(\"mongodb://%s:%s@%s/x\", os.Getenv(\"U\"), os.Getenv(\"P\"), host)",
        ),
        (
            "A.java",
            "class A { String u = String.format(\"mongodb://%s:%s@%s\", user, password, host); boolean b = u.startsWith(\"mongodb+srv://\"); }",
        ),
        (
            "A.kt",
            "class A(val c: MongoCredential = MongoCredential.createCredential(user, \"admin\", password.toCharArray()))",
        ),
    ] {
        assert!(secrets(file, text).is_empty(), "{text}: {:?}", secrets(file, text));
    }
}

/// The appended paths of a file, with `|` between kind, path and whether a cap was seen.
fn appends(file: &str, text: &str) -> Vec<String> {
    let found = scanned(file, text).code.appends;
    found
        .iter()
        .map(|a| format!("{:?} {} {:?} {:?}", a.kind, a.path, a.collection, a.cap))
        .collect()
}

#[test]
fn options_of_php() {
    let found = clients(
        "a.php",
        "<?php
use MongoDB\\Client as Mongo;
use MongoDB\\Driver\\{Manager, ReadPreference};
const HOST = 'db1.shop.example';
define('PASSWORD', getenv('PASSWORD'));
$client = new Mongo('mongodb://app:' . PASSWORD . '@' . HOST . '/shop?authSource=admin', [
    'replicaSet' => 'rs0',
    'serverSelectionTimeoutMS' => 5_000,
    'maxPoolSize' => 150,
    'readPreference' => 'secondaryPreferred',
] + []);
$manager = new Manager(uri: sprintf('mongodb://%s/?retryWrites=false', HOST));
$whole = new \\MongoDB\\Driver\\Manager(\"mongodb+srv://{$config['host']}/shop\");
$other = new GuzzleHttp\\Client('mongodb://nothing');
$local = new Mongo($_ENV['URI'] ?? 'mongodb://localhost');
",
    );
    let drivers: Vec<_> = found.iter().map(|client| client.driver.map(|d| d.name())).collect();
    assert_eq!(drivers, [Some("php"), Some("php"), Some("php"), Some("php"), None]);
    assert_eq!(found[0].hosts, ["db1.shop.example"]);
    assert_eq!(found[0].auth_source, "admin");
    assert_eq!(option(&found[1], "retryWrites"), Some(OptionValue::Bool(false)));
    assert!(found[2].srv);
    assert!(found[3].site.as_ref().is_some_and(|site| site.is_local_by_default));
    let found = clients(
        "a.php",
        "<?php new MongoDB\\Client('mongodb://db1.shop.example/', ['w' => 0, 'maxPoolSize' => 500], []);",
    );
    assert_eq!(option(&found[0], "w"), Some(OptionValue::Int(0)));
    // One connection for each process: there is no pool whose size could be wrong.
    assert_eq!(option(&found[0], "maxPoolSize"), None);
    assert!(found[0].site.as_ref().is_some_and(|site| site.is_whole));
}

#[test]
fn options_of_c_sharp() {
    let text = "using MongoDB.Driver;
class Startup {
    const string Host = \"db1.shop.example,db2.shop.example\";
    readonly MongoClientSettings _settings = MongoClientSettings.FromUrl(new MongoUrl($\"mongodb://{Host}/?replicaSet=rs0\"));
    void A() {
        _settings.MaxConnectionPoolSize = 150;
        _settings.ServerSelectionTimeout = TimeSpan.FromSeconds(5);
        _settings.ReadPreference = ReadPreference.SecondaryPreferred;
        var client = new MongoClient(_settings);
    }
    void B() {
        MongoClient client = new(string.Format(\"mongodb://{0}/?w=0\", \"db3.shop.example\"));
        var other = new MongoClient(new MongoClientSettings {
            Server = new MongoServerAddress(\"db4.shop.example\", 27018),
            RetryWrites = false,
            SslSettings = new SslSettings { ServerCertificateValidationCallback = (a, b, c, d) => true },
        });
        var local = new MongoClient(Environment.GetEnvironmentVariable(\"URI\") ?? \"mongodb://localhost\");
    }
}
";
    let found = clients("Startup.cs", text);
    assert_eq!(found.len(), 4, "{found:#?}");
    assert_eq!(found[0].hosts.len(), 2);
    assert_eq!(option(&found[0], "maxPoolSize"), Some(OptionValue::Int(150)));
    assert_eq!(option(&found[0], "serverSelectionTimeoutMS"), Some(OptionValue::Int(5000)));
    assert_eq!(found[0].read_preference.as_deref(), Some("secondaryPreferred"));
    assert!(found[0].site.as_ref().is_some_and(|site| site.is_whole));
    assert_eq!(found[1].hosts, ["db3.shop.example"]);
    assert_eq!(option(&found[1], "w"), Some(OptionValue::Int(0)));
    assert_eq!(found[2].hosts, ["db4.shop.example:27018"]);
    assert_eq!(option(&found[2], "retryWrites"), Some(OptionValue::Bool(false)));
    assert_eq!(option(&found[2], "tlsAllowInvalidCertificates"), Some(OptionValue::Bool(true)));
    assert!(found[3].site.as_ref().is_some_and(|site| site.is_local_by_default));
}

#[test]
fn updates_of_php_and_c_sharp() {
    let php = "<?php
$users = (new MongoDB\\Client)->shop->users;
$users->updateOne(['_id' => $id], ['$push' => ['logins' => $entry], '$addToSet' => ['tags' => ['$each' => $tags]]]);
$users->findOneAndUpdate(['_id' => $id], ['$push' => ['last' => ['$each' => [$entry], '$slice' => -10]]]);
$bulk = new MongoDB\\Driver\\BulkWrite;
$bulk->update(['_id' => 1], ['$push' => ['notes' => $note]]);
";
    assert_eq!(
        appends("a.php", php),
        [
            "Push logins Some(\"users\") None",
            "AddToSet tags Some(\"users\") None",
            "Push last Some(\"users\") Slice(-10)",
            "Push notes None None",
        ]
    );
    let sharp = "using MongoDB.Driver;
class Users {
    readonly IMongoCollection<User> _users;
    readonly UpdateDefinitionBuilder<User> _update = Builders<User>.Update;
    Users(IMongoDatabase database) { _users = database.GetCollection<User>(\"users\"); }
    async Task A(string id, Entry entry) {
        var filter = Builders<User>.Filter.Eq(u => u.Id, id) & Builders<User>.Filter.Gt(\"age\", 18);
        await _users.UpdateOneAsync(filter, Builders<User>.Update.Set(u => u.Name, \"x\").Push(u => u.Address.Logins, entry));
        await _users.UpdateManyAsync(u => u.Id == id, _update.AddToSet(\"tags\", entry));
        var update = _update.Combine(_update.PushEach(u => u.Last, new[] { entry }, slice: -10), _update.Inc(u => u.Count, 1));
        await _users.FindOneAndUpdateAsync(filter, update);
        await _users.UpdateOneAsync(new BsonDocument(\"_id\", id), new BsonDocument { { \"$push\", new BsonDocument(\"notes\", entry) } });
    }
}
";
    assert_eq!(
        appends("Users.cs", sharp),
        [
            "Push Address.Logins Some(\"users\") None",
            "AddToSet tags Some(\"users\") None",
            "Push Last Some(\"users\") Slice(-10)",
            "Push notes Some(\"users\") None",
        ]
    );
    let sets: Vec<String> = scanned("Users.cs", sharp)
        .code
        .set_paths
        .iter()
        .map(|s| format!("{} {}", s.operator, s.path))
        .collect();
    assert_eq!(sets, ["$set Name", "$inc Count"]);
}

#[test]
fn models_of_laravel_push() {
    let text = "<?php
use MongoDB\\Laravel\\Eloquent\\Model;
class Cart extends Model { protected $collection = 'carts'; }
class CartController {
    function add(Request $request) {
        Cart::where('user', $request->user)->push('items', ['id' => $request->id]);
        $cart = Cart::find(1);
        $cart->push('tags', $request->tag, true);
        $request->session()->push('seen', $request->id);
        $list->push('a', 'b');
    }
}
";
    assert_eq!(
        appends("a.php", text),
        ["Push items Some(\"carts\") None", "AddToSet tags Some(\"carts\") None"]
    );
}

#[test]
fn conditions_of_c_sharp_are_filters() {
    for (condition, expect) in [
        ("u => u.Email == email", "Email"),
        ("u => u.Age > 18 && u.Address.City != city", "Age Address.City"),
        ("u => !u.Deleted", "Deleted"),
        ("u => u.Active && (18 <= u.Age)", "Active Age"),
        ("u => ids.Contains(u.Id)", "_id"),
        ("u => u.Tags.Contains(tag)", "Tags"),
        ("u => u.A == 1 || u.B == 2", "$or"),
        ("Builders<User>.Filter.Eq(u => u.Email, email)", "Email"),
        ("Builders<User>.Filter.Empty", ""),
        ("_ => true", ""),
        ("u => Check(u)", ""),
    ] {
        let text = format!(
            "using MongoDB.Driver;\nclass C {{\n readonly IMongoCollection<User> _users;\n async Task<long> A() {{ return await _users.CountDocumentsAsync({condition}); }}\n}}\n"
        );
        let found = scanned("C.cs", &text).code.counts;
        assert_eq!(found.len(), 1, "{condition}");
        assert_eq!(found[0].fields.join(" "), expect, "{condition}");
    }
}

#[test]
fn clients_of_php_and_c_sharp_share_connections_unless_told_otherwise() {
    let remade = |file: &str, text: &str| scanned(file, text).code.remade_clients.len();
    let php = |options: &str| {
        let text = format!(
            "<?php use MongoDB\\Client;\nclass AController extends Controller {{ public function show(Request $r) {{ $c = new Client('mongodb://db1/', [], {options}); }} }}"
        );
        remade("a.php", &text)
    };
    assert_eq!(php("['disableClientPersistence' => true]"), 1);
    assert_eq!(php("['disableClientPersistence' => false]"), 0);
    assert_eq!(php("[]"), 0);
    let sharp = |configurator: &str| {
        let text = format!(
            "using MongoDB.Driver;\nclass A : ControllerBase {{ readonly ILogger _log; [HttpGet] public void Get() {{ var s = MongoClientSettings.FromConnectionString(\"mongodb://db1/\"); s.ClusterConfigurator = {configurator}; new MongoClient(s); }} }}"
        );
        remade("A.cs", &text)
    };
    assert_eq!(sharp("b => b.Subscribe<E>(e => _log.Log(e))"), 1);
    // A function that captures nothing is one object for all calls.
    assert_eq!(sharp("b => b.Subscribe<E>(e => Console.WriteLine(e))"), 0);
    let scoped = "using MongoDB.Driver;\nvar log = Create();\nbuilder.Services.AddScoped<IMongoClient>(_ => new MongoClient(new MongoClientSettings { ClusterConfigurator = b => b.Subscribe<E>(e => log.Log(e)) }));";
    assert_eq!(remade("Program.cs", scoped), 1);
    assert_eq!(remade("Program.cs", &scoped.replace("AddScoped", "AddSingleton")), 0);
}

#[test]
fn passwords_in_php_and_c_sharp() {
    let secrets = |file: &str, text: &str| scanned(file, text).code.secrets.len();
    let php = "<?php new MongoDB\\Client('mongodb://db1.shop.io/', ['username' => 'app', 'password' => '9dXk2pLw7Q']);";
    assert_eq!(secrets("a.php", php), 1);
    assert_eq!(secrets("a.php", &php.replace("'9dXk2pLw7Q'", "getenv('PASSWORD')")), 0);
    let sharp = "using MongoDB.Driver; class A { object C = MongoCredential.CreateCredential(\"admin\", \"app\", \"9dXk2pLw7Q\"); }";
    assert_eq!(secrets("A.cs", sharp), 1);
    assert_eq!(secrets("A.cs", &sharp.replace("\"9dXk2pLw7Q\"", "password")), 0);
    let laravel = "<?php return ['mongodb' => ['driver' => 'mongodb', 'host' => 'db1.shop.io', 'password' => '9dXk2pLw7Q']];";
    assert_eq!(secrets("database.php", laravel), 1);
}

#[test]
fn hostile_php_and_c_sharp_end() {
    let chain = |link: &str| format!("{}{}", "Builders<A>.Filter", link.repeat(3_000));
    let nested = "Find(x => x.A == c.".repeat(3_000);
    let lambdas = "Find(x => x.A == y && c.".repeat(200);
    for (file, text) in [
        ("a.php", format!("<?php {}", "f(".repeat(50_000))),
        ("a.php", format!("<?php $mongo = {};", "[".repeat(50_000))),
        ("a.php", format!("<?php $mongo = {}1;", "$a ?: ".repeat(20_000))),
        ("a.php", "<?php $a = $a['b']; $b = [...$a, 'mongo' => $a]; new MongoDB\\Client($a, $b, $b);".to_owned()),
        ("a.php", "<?php use MongoDB\\{".to_owned()),
        ("a.php", "<?php \0 class A extends \0 { use B; $x = \"mongodb://{$a".to_owned()),
        ("A.cs", "class A { void F() { f(".to_owned() + &"(".repeat(50_000)),
        ("A.cs", format!("class A {{ object F() => {}; }}", chain(".Eq(x => x.B, 1)"))),
        ("A.cs", format!("class A {{ object F() => {}; }}", chain(".Mongo(x => x.B)"))),
        ("A.cs", format!("class A {{ object F() => c.{nested}")),
        ("A.cs", format!("class A {{ object F() => c.{lambdas}")),
        ("A.cs", "var a = a; var b = new MongoClient(b); settings.A = settings; new MongoClient(settings)".to_owned()),
        ("A.cs", "class Mongo { \0 string x = $\"mongodb://{a".to_owned()),
        ("A.cs", format!("var mongo = {}1;", "1 + ".repeat(20_000))),
    ] {
        let _ = scanned(file, &text);
    }
    let huge = format!("<?php $mongo = '{}';", "a".repeat(MAX_TEXT));
    assert_eq!(scanned("a.php", &huge).problems.len(), 1);
}

#[test]
fn tests_of_php_and_c_sharp_are_told_by_their_names() {
    for path in ["src/UserTest.php", "Shop.Tests/Orders.cs", "src/OrderTests.cs"] {
        assert!(is_test(path), "{path}");
    }
    for path in ["src/Contest.cs.php", "src/Orders.cs", "src/Attestation.php"] {
        assert!(!is_test(path), "{path}");
    }
}
