//! Runs every statement that findings about the example shop propose on a real server, each on
//! freshly loaded data.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{collections::BTreeSet, process::Command};

use bson::doc;
use docward_testkit::{Launch, NotRunnable, Servers, Statement, mongosh, repository, statements};
use serde_json::Value;

const SHOP: &str = "examples/shop";

fn audit(arguments: &[&str]) -> Value {
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .current_dir(repository())
        .args(["audit", "--format", "json", "--no-progress"])
        .args(arguments)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Remedies that are only the first of several steps. The finding stays until the other steps are
/// done.
const FIRST_STEPS: [(&str, &str, &str); 2] = [
    ("R008", "db_shop.t_book_sale", "the overflow collection is prepared, then code must use it"),
    ("R011", "db_shop.t_club_group", "the index makes the other direction fast, then arrays move"),
];

struct Proposal {
    rule: String,
    namespace: String,
    safety: String,
    fingerprint: String,
    command: String,
}

fn proposals(report: &Value) -> Vec<Proposal> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["fix"].is_object())
        .map(|finding| Proposal {
            rule: text(&finding["rule"]),
            namespace: text(&finding["namespace"]),
            safety: text(&finding["fix"]["safety"]),
            fingerprint: text(&finding["fingerprint"]),
            command: text(&finding["fix"]["command"]),
        })
        .collect()
}

fn is_first_step(proposal: &Proposal) -> bool {
    FIRST_STEPS.iter().any(|&(rule, namespace, _)| {
        (rule, namespace) == (proposal.rule.as_str(), proposal.namespace.as_str())
    })
}

/// Whether a statement only shows something, or prepares the next step. The finding then stays.
fn only_shows(statement: &Statement) -> bool {
    matches!(statement.call.method.as_str(), "find" | "aggregate" | "distinct" | "createCollection")
}

fn names(servers: &Servers, database: &str) -> BTreeSet<String> {
    let reply = servers.command(database, doc! { "listCollections": 1, "nameOnly": true });
    let batch = reply.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
    let name =
        |entry: &bson::Bson| entry.as_document().unwrap().get_str("name").unwrap().to_owned();
    batch.iter().map(name).filter(|name| !name.starts_with("system.")).collect()
}

/// Runs one statement and checks its effect.
fn run(servers: &Servers, statement: &Statement) -> Result<(), String> {
    let call = &statement.call;
    let reply = servers.run(statement).map_err(|error| error.to_string())?;
    let Some(reply) = reply else { return Ok(()) };
    match call.method.as_str() {
        "updateMany" => {
            let modified = reply.get_i32("nModified").unwrap_or_default();
            if modified == 0 {
                return Err("it changed nothing".to_owned());
            }
        }
        "aggregate" => {
            // A statement that fills a collection returns nothing, so the collection must have
            // documents.
            let (_, command) = call.command();
            let last = command.get_array("pipeline").unwrap().last().cloned();
            let merge = last.and_then(|stage| stage.as_document()?.get("$merge").cloned());
            if let Some(into) = merge.and_then(|merge| merge.as_document()?.get("into").cloned()) {
                let (database, name) = match &into {
                    bson::Bson::Document(into) => {
                        (into.get_str("db").unwrap(), into.get_str("coll").unwrap())
                    }
                    name => (call.database.as_str(), name.as_str().unwrap()),
                };
                let count = servers.command(database, doc! { "count": name });
                if count.get_i32("n").unwrap_or_default() == 0 {
                    return Err(format!("nothing is in {database}.{name}"));
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Restores the parts of a database that a statement may have changed.
fn restore(servers: &Servers, namespace: &str, known: &BTreeSet<String>, touched: &Statement) {
    let database = touched.call.database.as_str();
    for name in names(servers, database).difference(known) {
        servers.command(database, doc! { "drop": name });
    }
    let collection = touched.call.collection.clone().or_else(|| {
        let (own, collection) = namespace.split_once('.')?;
        (own == database).then(|| collection.to_owned())
    });
    if let Some(collection) = collection.filter(|name| known.contains(name)) {
        // The collection may have been renamed.
        let _ = servers.try_command(database, doc! { "drop": &collection });
        let directory = repository().join(SHOP).join(database);
        servers.load_collection(&directory, database, &collection).unwrap();
    }
}

#[test]
fn every_proposed_statement_runs_on_a_server_and_does_something() {
    let servers = Launch::standalone().shared().start();
    let refused: Vec<_> =
        servers.load(&repository().join(SHOP)).into_iter().map(|r| r.namespace).collect();
    let (mut ran, mut templates, mut sharding, mut wrong) = (0, 0, 0, Vec::new());
    for proposal in proposals(&audit(&[SHOP])) {
        if refused.contains(&proposal.namespace) {
            continue;
        }
        let told = format!("{} {}: {}", proposal.rule, proposal.namespace, proposal.command);
        let statements = match statements(&proposal.command) {
            Ok(statements) => statements,
            Err(NotRunnable::Template) => {
                templates += 1;
                // Placeholders are for users, so the safety must be `manual`.
                if proposal.safety != "manual" {
                    wrong.push(format!("{told}\n    has places to fill in, but is not manual"));
                }
                continue;
            }
            Err(NotRunnable::Sharding) => {
                sharding += 1;
                continue;
            }
        };
        let known = names(&servers, &statements[0].call.database);
        for statement in &statements {
            if let Err(why) = run(&servers, statement) {
                wrong.push(format!("{told}\n    {why}"));
            }
            ran += 1;
        }
        restore(&servers, &proposal.namespace, &known, &statements[0]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 60, "{ran} statements, {templates} templates, {sharding} for sharded clusters");
}

#[test]
fn findings_with_a_remedy_are_gone_after_it() {
    let servers = Launch::standalone().shared().start();
    servers.load(&repository().join(SHOP));
    let config = format!("{SHOP}/docward.toml");
    let uri = servers.uri();
    let live = || audit(&[&uri, "--full", "--config", &config]);
    let (mut cured, mut wrong) = (Vec::new(), Vec::new());
    for proposal in proposals(&live()) {
        let Ok(statements) = statements(&proposal.command) else { continue };
        if proposal.safety == "manual" || statements.iter().any(only_shows) {
            continue;
        }
        let outcome: Result<(), String> =
            statements.iter().try_for_each(|statement| run(&servers, statement));
        match outcome {
            Ok(()) => cured.push(proposal),
            Err(why) => wrong.push(format!("{}: {why}", proposal.command)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let after = live();
    let left: BTreeSet<&str> = after["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|f| f["fingerprint"].as_str())
        .collect();
    let mut first_steps = 0;
    let remaining: Vec<_> = cured
        .iter()
        .filter(|proposal| left.contains(proposal.fingerprint.as_str()))
        .filter(|proposal| {
            first_steps += usize::from(is_first_step(proposal));
            !is_first_step(proposal)
        })
        .map(|proposal| format!("{} {}: {}", proposal.rule, proposal.namespace, proposal.command))
        .collect();
    assert_eq!(first_steps, FIRST_STEPS.len());
    assert!(remaining.is_empty(), "still there:\n{}", remaining.join("\n"));
    assert!(cured.len() > 15, "{}", cured.len());
}

/// Returns the state of a database: a hash of its documents, and the validators and indexes of its
/// collections.
fn state(servers: &Servers, database: &str) -> String {
    let hash = servers.command(database, doc! { "dbHash": 1 });
    let options = servers.command(database, doc! { "listCollections": 1 });
    let indexes = names(servers, database).into_iter().map(|name| {
        let indexes = servers.command(database, doc! { "listIndexes": name });
        indexes.get_document("cursor").unwrap().to_string()
    });
    format!("{} {} {}", hash, options.get_document("cursor").unwrap(), indexes.collect::<String>())
        .split("\"timeMillis\"")
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn fixes_are_one_script_that_the_shell_runs() {
    let Some(shell) = mongosh() else { return };
    let servers = Launch::standalone().shared().start();
    servers.load(&repository().join(SHOP));
    let config = format!("{SHOP}/docward.toml");
    let file = servers.directory().join("fixes.js");
    let (uri, script) = (servers.uri(), file.display().to_string());
    let before = audit(&[&uri, "--full", "--config", &config, "--emit-fixes", &script]);
    let run = |apply: Option<&str>| {
        let output = Command::new(&shell)
            .args([&uri, "--quiet", "--norc", &script])
            .env("HOME", servers.directory())
            .envs(apply.map(|level| ("DOCWARD_APPLY", level)))
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8_lossy(&text).into_owned(), output.status.success())
    };
    let last = |text: &str| text.trim_end().lines().last().unwrap_or_default().to_owned();

    // Without the variable nothing happens, and an invalid value is refused.
    let untouched = state(&servers, "db_shop");
    let (told, fine) = run(None);
    assert!(fine && last(&told).starts_with("0 run, "), "{told}");
    let (told_wrong, fine) = run(Some("all"));
    assert!(!fine && told_wrong.contains("write safe or guarded"), "{told_wrong}");
    assert_eq!(state(&servers, "db_shop"), untouched);

    let steps = told.lines().filter(|line| line.starts_with("would run")).count();
    assert!(steps > 15, "{told}");
    let (done, fine) = run(Some("guarded"));
    assert!(fine, "{done}");
    assert_eq!(last(&done), format!("{steps} run, 0 not run, 0 failed"));

    let after = audit(&[&uri, "--full", "--config", &config]);
    let left: BTreeSet<String> = proposals(&after).into_iter().map(|p| p.fingerprint).collect();
    let cures = |proposal: &Proposal| {
        // Renames are manual, because programs have to change with them.
        proposal.safety != "manual"
            && !proposal.rule.starts_with('N')
            && statements(&proposal.command).is_ok_and(|all| !all.iter().any(only_shows))
            && !is_first_step(proposal)
    };
    let remaining: Vec<_> = proposals(&before)
        .into_iter()
        .filter(|proposal| cures(proposal) && left.contains(&proposal.fingerprint))
        .map(|proposal| format!("{} {}: {}", proposal.rule, proposal.namespace, proposal.command))
        .collect();
    assert!(remaining.is_empty(), "still there:\n{}", remaining.join("\n"));
}

#[test]
fn proposed_validators_are_accepted_and_let_the_documents_through() {
    let servers = Launch::standalone().shared().start();
    servers.load(&repository().join(SHOP));
    // Without validators, every collection gets a proposal.
    let mut checked = 0;
    for database in ["db_shop", "db_sample", "db_iot", "db_social"] {
        for name in names(&servers, database) {
            servers.command(database, doc! { "collMod": name, "validator": {} });
        }
    }
    let uri = servers.uri();
    let report = audit(&[&uri, "--full", "--select", "V001"]);
    for proposal in proposals(&report) {
        for statement in statements(&proposal.command).unwrap() {
            run(&servers, &statement).unwrap_or_else(|why| panic!("{}: {why}", proposal.command));
            let (database, command) = statement.call.command();
            let schema = command.get_document("validator").unwrap().clone();
            let invalid = doc! { "count": command.get_str("collMod").unwrap(), "query": { "$nor": [schema] } };
            let invalid = servers.command(&database, invalid).get_i32("n").unwrap();
            assert_eq!(invalid, 0, "documents break it: {}", proposal.command);
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}: {:#}", report["findings"]);
}

/// Returns orders as several programs wrote them, with these faults:
///
/// - money as doubles, strings and objects
/// - dates and digits as strings
/// - empty strings
/// - timestamps as numbers, with 0 for "none"
/// - names in two styles
fn mixed_orders() -> Vec<bson::Document> {
    (0..60)
        .map(|n: i32| {
            let price: bson::Bson = match n % 3 {
                0 => (f64::from(n) + 0.5).into(),
                1 => format!("{n}.25").into(),
                _ => doc! { "value": f64::from(n) }.into(),
            };
            let quantity: bson::Bson = if n % 2 == 0 { n.into() } else { n.to_string().into() };
            let note: bson::Bson = if n % 4 == 0 { "".into() } else { n.into() };
            let paid: bson::Bson =
                if n % 5 == 0 { 0_i64.into() } else { 1_710_498_600_000_i64.into() };
            doc! {
                "_id": n,
                "price": price,
                "totalAmount": f64::from(n) + 0.1,
                "createTime": format!("2024-03-{:02}T10:30:00Z", 1 + n % 28),
                "orderNo": format!("{}", 20_240_315_000_000_i64 + i64::from(n)),
                "quantity": quantity,
                "note": note,
                "paidAt": paid,
                "stock": format!("{n}"),
                "status": n % 3,
                "customer_name": "a",
                "shipping_city": "b",
                "giftWrap": true,
            }
        })
        .collect()
}

/// Runs the statements that findings about the orders propose, with the validator first or last.
fn all_proposals(servers: &Servers, validator_first: bool) -> Vec<(Proposal, Vec<Statement>)> {
    let uri = servers.uri();
    let report = audit(&[&uri, "--full", "--db", "db_shop", "--select", "N,T,V001"]);
    let mut all: Vec<_> = proposals(&report)
        .into_iter()
        .filter_map(|proposal| {
            let statements = statements(&proposal.command).ok()?;
            Some((proposal, statements))
        })
        .filter(|(proposal, _)| proposal.namespace == "db_shop.t_order")
        .collect();
    let is_validator = |proposal: &Proposal| proposal.rule == "V001";
    all.sort_by_key(|(proposal, _)| is_validator(proposal) != validator_first);
    let rules: Vec<_> = all.iter().map(|(proposal, _)| proposal.rule.as_str()).collect();
    for rule in ["V001", "T001", "T002", "T003", "T005", "T012", "T013", "N011"] {
        assert!(rules.contains(&rule), "{rule}: {rules:?}");
    }
    all
}

/// A validator from the report must accept the results of its other proposals.
#[test]
fn dm_11_1_dm_09_6_validator_and_conversions_can_be_applied_in_either_order() {
    for validator_first in [true, false] {
        let servers = Launch::standalone().shared().start();
        servers.insert("db_shop.t_order", mixed_orders());
        for (proposal, statements) in all_proposals(&servers, validator_first) {
            for statement in &statements {
                let ran = run(&servers, statement);
                // Another proposal may have already converted these values.
                let why = ran.err().filter(|why| !why.to_string().contains("it changed nothing"));
                if let Some(why) = why {
                    let rule = &proposal.rule;
                    let command = &proposal.command;
                    panic!("{rule} (validator first: {validator_first}): {why}\n{command}");
                }
            }
            if proposal.rule == "V001" {
                // The final state: the server must refuse documents that fail the validator.
                servers.command(
                    "db_shop",
                    doc! { "collMod": "t_order", "validationLevel": "strict", "validationAction": "error" },
                );
            }
        }
        // The converted values have the types that the validator requires.
        let types = |path: &str, kind: &str| {
            let query = doc! { path: { "$exists": true, "$not": { "$type": kind } } };
            let count = servers.command("db_shop", doc! { "count": "t_order", "query": query });
            assert_eq!(count.get_i32("n").unwrap(), 0, "{path}");
        };
        types("price", "decimal");
        types("totalAmount", "decimal");
        types("createTime", "date");
        types("paidAt", "date");
    }
}

/// An inferred schema accepts its documents before and after the conversion.
#[test]
fn dm_09_2_dm_11_1_an_inferred_schema_admits_stored_and_target_types() {
    let servers = Launch::standalone().shared().start();
    servers.insert("db_shop.t_order", mixed_orders());
    let uri = servers.uri();
    let output = Command::new(assert_cmd::cargo::cargo_bin("docward"))
        .args(["schema", "infer", &uri, "--db", "db_shop", "--full", "--no-progress"])
        .output()
        .unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let price = &schema["$jsonSchema"]["properties"]["price"];
    let described = price["description"].as_str().unwrap();
    assert!(described.contains("Target type: decimal"), "{price}");
    let validator: bson::Document = bson::serialize_to_document(&schema).unwrap();
    servers.command(
        "db_shop",
        doc! { "collMod": "t_order", "validator": validator, "validationLevel": "strict", "validationAction": "error" },
    );
    let report = audit(&[&uri, "--full", "--db", "db_shop", "--select", "T"]);
    let mut ran = 0;
    for proposal in proposals(&report) {
        let Ok(statements) = statements(&proposal.command) else { continue };
        assert!(!proposal.command.contains("collMod"), "{}", proposal.command);
        for statement in &statements {
            let result = run(&servers, statement);
            let why = result.err().filter(|why| !why.to_string().contains("it changed nothing"));
            assert!(why.is_none(), "{}: {why:?}", proposal.command);
            ran += 1;
        }
    }
    assert!(ran >= 6, "{ran}");
}
