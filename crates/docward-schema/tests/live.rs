//! Compares Docward with a running server on generated schemas and documents.
//! `DOCWARD_SCHEMA_PAIRS` sets the number of pairs, `DOCWARD_SCHEMA_SEED` the random seed; a
//! disagreement prints both so that it can be kept as a case.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

use crate::conditions::{dense, stored};
use crate::generate::{Dice, bytes, schema, setting};
use bson::{Document, doc};
use docward_schema::Schema;
use docward_testkit::Launch;

/// Documents per schema: a schema is sent once and evaluated on all of them.
const DOCUMENTS: usize = 100;

#[test]
fn dm_11_2_the_server_says_the_same() {
    let servers = Launch::standalone().start();
    let pairs = setting("DOCWARD_SCHEMA_PAIRS", 20_000);
    let mut dice = Dice(setting("DOCWARD_SCHEMA_SEED", 0x2545_f491_4f6c_dd1d));
    let (mut compared, mut refused, mut valid) = (0_u64, 0_u64, 0_u64);
    let mut wrong: Vec<String> = Vec::new();
    let mut round = 0;
    while compared < pairs {
        // A new set of documents for every 200 schemas.
        let made = if round % 2 == 0 { stored } else { dense };
        let documents: Vec<Document> = (0..DOCUMENTS).map(|n| made(&mut dice, n as i32)).collect();
        let namespace = format!("db_t.t_{round}");
        servers.insert(&namespace, documents.clone());
        // As the server stores them.
        let stored: Vec<Vec<u8>> = documents.iter().map(bytes).collect();
        for _ in 0..200 {
            let schema = schema(&mut dice, 0);
            let asked = servers.try_command(
                "db_t",
                doc! {
                    "find": format!("t_{round}"),
                    "filter": { "$jsonSchema": schema.clone() },
                    "projection": { "_id": 1 },
                    "batchSize": 1000,
                },
            );
            let ours = Schema::compile(&bytes(&schema));
            match (asked, ours) {
                (Ok(answer), Ok(compiled)) => {
                    let batch =
                        answer.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
                    let accepted: Vec<i32> = batch
                        .iter()
                        .map(|row| row.as_document().unwrap().get_i32("_id").unwrap())
                        .collect();
                    valid += accepted.len() as u64;
                    for (n, document) in stored.iter().enumerate() {
                        compared += 1;
                        let theirs = accepted.contains(&(n as i32));
                        if compiled.accepts(document).unwrap() != theirs {
                            wrong.push(format!(
                                "{}\n  {}\n  the server: {theirs}",
                                schema, documents[n]
                            ));
                        }
                    }
                }
                (Err(theirs), Err(ours)) => {
                    compared += 1;
                    refused += 1;
                    let text = theirs.to_string();
                    if !text.contains(&ours.message)
                        || !text.contains(&format!("code {}", ours.code))
                    {
                        wrong.push(format!("{schema}\n  the server: {text}\n  we: {ours:?}"));
                    }
                }
                (Ok(_), Err(ours)) => {
                    wrong.push(format!("{schema}\n  the server takes it\n  we: {ours:?}"))
                }
                (Err(theirs), Ok(_)) => {
                    wrong.push(format!("{schema}\n  the server: {theirs}\n  we take it"))
                }
            }
            if wrong.len() > 10 {
                break;
            }
        }
        servers.command("db_t", doc! { "drop": format!("t_{round}") });
        round += 1;
        if wrong.len() > 10 {
            break;
        }
    }
    eprintln!("{compared} pairs compared, {valid} valid, {refused} schemas refused");
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
    assert!(valid * 20 > compared && refused > 0, "the generator makes both kinds");
}
