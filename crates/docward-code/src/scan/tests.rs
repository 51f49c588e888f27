//! What is read out of files of every language.

use docward_model::{ClientUri, OptionValue};

use super::*;

fn scanned(file: &str, text: &str) -> Scanned {
    let kind = FileKind::of(file).expect("a file that is looked at");
    let known = survey(file, text, kind);
    scan(file, text, kind, &known)
}

fn clients(file: &str, text: &str) -> Vec<ClientUri> {
    scanned(file, text).clients
}

fn option(client: &ClientUri, name: &str) -> Option<OptionValue> {
    client.option(name).map(|option| option.value.clone())
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
    // What the replica set's sample lacks of the production set.
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
    assert_eq!(found.code.health_checks.len(), 1);
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
    assert_eq!(found.code.health_checks.len(), 1);
}

#[test]
fn constants_of_other_files_are_known() {
    let config =
        "MONGO_URI = 'mongodb://db1.shop.io,db2.shop.io/?replicaSet=rs0&retryWrites=false'\n";
    let mut known = survey("app/config.py", config, FileKind::Code(Language::Python));
    let app = "from app.config import MONGO_URI\nfrom pymongo import MongoClient\nc = MongoClient(MONGO_URI)\n";
    known.absorb(survey("app/db.py", app, FileKind::Code(Language::Python)));
    let found = scan("app/db.py", app, FileKind::Code(Language::Python), &known);
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
    // A name with two values has none.
    let found = clients(
        "a.py",
        "from pymongo import MongoClient\nu = 'mongodb://a.b.c/'\nif x:\n    u = 'mongodb://d.e.f/'\nc = MongoClient(u, maxPoolSize=n)\n",
    );
    let client = found.iter().find(|client| client.driver.is_some()).expect("a client");
    assert!(client.is_partial);
    assert_eq!(option(client, "maxPoolSize"), Some(OptionValue::Unknown));
    // A default for developers is judged by nobody.
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
