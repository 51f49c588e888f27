//! `docward design` with the real binary: the rule book on declared names and types, models from
//! code and SQL, models from data with usual names, simulations of large relationships.
#![expect(clippy::unwrap_used, reason = "tests: a panic is the message")]

use std::fs;

use crate::common::{code, docward, stderr, stdout};
use docward_testkit::Launch;
use serde_json::Value;

/// Writes a file to a new directory. Returns the directory and the path.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (directory, path)
}

fn design(text: &str) -> Value {
    let (_directory, path) = file("model.yaml", text);
    let output = docward(&["design", &path, "--format", "json"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
}

fn check<'d>(design: &'d Value, id: &str) -> &'d Value {
    design["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap()
}

/// Returns a model of users with more fields.
fn users(fields: &str) -> String {
    format!(
        "entities:
  user:
    count: 1k
    lifecycle: {{growth: 0, kept: forever}}
    fields: {{email: string, nickName: string, createTime: date{fields}}}
reads: {{r: {{from: user, where: [_id], rate: 1/s}}}}
writes: {{w: {{insert: user, rate: 1/s}}}}
"
    )
}

#[test]
fn ck_1_ck_5_dm_04_dm_09_declared_names_and_types_are_judged() {
    let bad = design(&users(
        ", Create_Time: date, _total: int, price: double, birthDate: string, status: int",
    ));
    let remarks = bad["entities"][0]["remarks"].to_string();
    for said in ["Create_Time", "_total", "`price`", "DM-09.2", "`birthDate`"] {
        assert!(remarks.contains(said), "{said} in {remarks}");
    }
    assert_eq!(check(&bad, "CK-1")["verdict"], "fail");
    assert_eq!(check(&bad, "CK-5")["verdict"], "fail");
    let good = design(&users(
        ", total: int, price: decimal, birthDate: date, status: {type: string, values: [a, b]}",
    ));
    assert_eq!(check(&good, "CK-1")["verdict"], "pass");
    assert_eq!(check(&good, "CK-5")["verdict"], "pass");
    // Recommendations do not fail the command, unless it is asked to.
    let (_directory, path) = file("model.yaml", &users(", price: double"));
    assert_eq!(code(&docward(&["design", &path])), 0);
    assert_eq!(code(&docward(&["design", &path, "--fail-on", "warning"])), 1);
}

#[test]
fn dp_2_a_question_about_an_entity_is_printed_once() {
    let (_directory, path) = file(
        "model.yaml",
        "entities:
  a: {fields: {n: int}}
  b: {fields: {n: int}}
  c: {fields: {n: int}}
relationships:
  a.bs: {child: b, children: 1}
  a.cs: {child: c, children: 1}
",
    );
    let shown = stdout(&docward(&["design", &path]));
    assert_eq!(shown.matches("what is the lifecycle of `a`").count(), 1, "{shown}");
    assert!(shown.contains("questions about `a` and `b` are open"), "{shown}");
}

#[test]
fn pt_extref_1_the_id_may_have_the_name_of_the_parent() {
    let made = design(
        "entities:
  region: {count: 1000, lifecycle: {growth: 10/year, kept: forever}, fields: {name: string}}
  summit: {count: 30k, lifecycle: {growth: 10/year, kept: forever}, fields: {title: string}}
relationships:
  region.summits: {child: summit, field: region, children: {p50: 20, p99: 1200, max: 2000}, growth: bounded}
reads:
  p: {from: summit, where: [_id], with: {region.summits: [name]}, rate: 10/s}
  r: {from: region, where: [_id], rate: 1/s}
writes:
  w: {insert: summit, rate: 10/year}
  v: {insert: region, rate: 10/year}
",
    );
    let summit = made["collections"].as_array().unwrap().iter().find(|c| c["name"] == "summit");
    let fields = summit.unwrap()["fields"].to_string();
    assert!(fields.contains("\"region\"") && fields.contains("\"regionCopy\""), "{fields}");
}

#[test]
fn dp_2_parents_without_children_count() {
    let directory = tempfile::tempdir().unwrap();
    let id = |kind: u32, n: u32| format!("{{\"$oid\": \"66{kind}00000000000000000{n:04}\"}}");
    let regions: Vec<String> =
        (0..60).map(|n| format!("{{\"_id\": {}, \"name\": \"r{n}\"}}", id(1, n))).collect();
    let summits: Vec<String> = (0..400)
        .map(|n| {
            format!("{{\"_id\": {}, \"title\": \"s\", \"region\": {}}}", id(2, n), id(1, n % 20))
        })
        .collect();
    fs::write(directory.path().join("region.json"), regions.join("\n")).unwrap();
    fs::write(directory.path().join("summit.json"), summits.join("\n")).unwrap();
    let path = directory.path().display().to_string();
    let text = stdout(&docward(&["design", "init", "--from", &path, "--no-progress"]));
    // 20 of 60 regions have 20 summits each.
    assert!(text.contains("children: {p50: 0, p95: 20, p99: 20, max: 20}"), "{text}");
}

const MONGOOSE: &str = "const mongoose = require('mongoose');
const user = new mongoose.Schema({
  email: { type: String, required: true, unique: true },
  tags: [String],
});
const order = new mongoose.Schema({
  status: { type: String, enum: ['new', 'paid'], required: true },
  buyer: { type: mongoose.Schema.Types.ObjectId, ref: 'User', required: true },
  items: [{ product: { type: mongoose.Schema.Types.ObjectId, ref: 'Product' }, quantity: Number }],
});
const product = new mongoose.Schema({ name: String, price: mongoose.Schema.Types.Decimal128 });
module.exports = {
  User: mongoose.model('User', user),
  Order: mongoose.model('Order', order),
  Product: mongoose.model('Product', product),
};
";

/// Returns the model that `design init --from` writes. `docward design` reads it.
fn starter(name: &str, text: &str) -> String {
    let (_directory, path) = file(name, text);
    let output = docward(&["design", "init", "--from", &path]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let model = stdout(&output);
    let (_directory, path) = file("model.yaml", &model);
    let read = docward(&["design", &path]);
    assert_eq!(code(&read), 1, "questions are open: {}\\n{model}", stderr(&read));
    model
}

#[test]
fn design_init_reads_models_in_code() {
    let model = starter("models.js", MONGOOSE);
    for said in [
        "email: {type: string, unique: true}",
        "status: {type: string, values: [new, paid]}",
        "  user.orders:\n    child: order\n    field: buyer\n",
        "  order.items:\n    child: order_item\n",
        "  order_item.product:\n    child: product\n    field: product\n    children: 1\n",
        "collection: orders",
    ] {
        assert!(model.contains(said), "{said} in\n{model}");
    }
}

#[test]
fn design_init_reads_tables_of_sql() {
    let model = starter(
        "shop.sql",
        "CREATE TABLE customers (id SERIAL PRIMARY KEY, email VARCHAR(80) NOT NULL UNIQUE);
CREATE TABLE orders (id BIGINT PRIMARY KEY, total DECIMAL(10,2) NOT NULL,
  customer_id INT NOT NULL REFERENCES customers(id));
",
    );
    for said in [
        "email: {type: string, bytes: {typical: 40, p99: 80}, unique: true}",
        "total: decimal",
        "  customer.orders:\n    child: order\n    field: customer_id\n",
    ] {
        assert!(model.contains(said), "{said} in\n{model}");
    }
}

#[test]
fn design_simulate_makes_a_large_relationship_smaller_and_runs_the_others() {
    let servers = Launch::standalone().start();
    let (_directory, path) = file(
        "model.yaml",
        "entities:
  tenant: {count: 20k, lifecycle: {growth: 0, kept: forever}, fields: {name: string}}
  seat: {count: 90k, lifecycle: {growth: 0, kept: forever}, fields: {email: string}}
  deal: {count: 2B, lifecycle: {growth: 0, kept: forever}, fields: {title: string}}
relationships:
  tenant.seats: {child: seat, children: {p50: 4, p99: 9, max: 20}, growth: bounded}
  tenant.deals: {child: deal, children: {p50: 90k, p99: 200k, max: 300k}, growth: endless}
reads:
  t: {from: tenant, where: [_id], with: [tenant.seats], rate: 9/s}
  d: {from: deal, where: [tenant], limit: 20, rate: 9/s}
writes:
  t: {insert: tenant, rate: 1/year}
  s: {insert: seat, rate: 1/year}
  d: {insert: deal, rate: 9/s}
",
    );
    let uri = servers.uri();
    let plan = ["design", "simulate", &path, "--uri", &uri];
    let output = docward(&plan);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let shown = stdout(&output);
    let note = "tenant.deals: the simulation has ";
    let said =
        shown.lines().find(|line| line.starts_with(note)).unwrap_or_else(|| panic!("{shown}"));
    assert!(said.contains(" instead of 1,000"), "{said}");
    assert!(shown.contains("tenant.seats (embed): 1,000 documents"), "{shown}");
}
