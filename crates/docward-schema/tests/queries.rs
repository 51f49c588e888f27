//! Compares Docward with a running server on generated conditions and documents.
//! `DOCWARD_SCHEMA_PAIRS` and `DOCWARD_SCHEMA_SEED` as in `live.rs`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

use crate::conditions::{conditions, dense, stored};
use crate::generate::{Dice, bytes, setting};
use bson::{Document, doc};
use docward_schema::{Validator, ValidatorFault};
use docward_testkit::Launch;

/// Documents per validator: one is sent once and evaluated on all of them.
const DOCUMENTS: usize = 100;

/// Returns whether the server's refusal equals Docward's. Messages about patterns come from its
/// older library.
fn same_refusal(theirs: &str, ours: &ValidatorFault) -> bool {
    let ValidatorFault::Refused(ours) = ours else { return false };
    theirs.contains(&format!("code {}", ours.code))
        && (ours.code == 51_091 || theirs.contains(&ours.message))
}

#[test]
fn dm_11_2_the_server_says_the_same_of_conditions() {
    let servers = Launch::standalone().shared().start();
    let pairs = setting("DOCWARD_SCHEMA_PAIRS", 20_000);
    let mut dice = Dice(setting("DOCWARD_SCHEMA_SEED", 0x2545_f491_4f6c_dd1d));
    let (mut compared, mut refused, mut valid) = (0_u64, 0_u64, 0_u64);
    let mut wrong: Vec<String> = Vec::new();
    let mut round = 0;
    while compared < pairs && wrong.len() <= 20 {
        // Every other set consists of dense documents.
        let made = if round % 2 == 0 { stored } else { dense };
        let documents: Vec<Document> = (0..DOCUMENTS).map(|n| made(&mut dice, n as i32)).collect();
        let name = format!("t_{round}");
        servers.insert(&format!("db_t.{name}"), documents.clone());
        let as_bytes: Vec<Vec<u8>> = documents.iter().map(bytes).collect();
        for _ in 0..200 {
            let filter = conditions(&mut dice, 0);
            let asked = servers.try_command(
                "db_t",
                doc! {
                    "find": &name,
                    "filter": filter.clone(),
                    "projection": { "_id": 1 },
                    "batchSize": 1000,
                },
            );
            match (asked, Validator::compile(&bytes(&filter))) {
                (Ok(answer), Ok(compiled)) => {
                    let batch =
                        answer.get_document("cursor").unwrap().get_array("firstBatch").unwrap();
                    let mut accepted = [false; DOCUMENTS];
                    for row in batch {
                        let n = row.as_document().unwrap().get_i32("_id").unwrap();
                        accepted[n as usize] = true;
                    }
                    for (n, document) in as_bytes.iter().enumerate() {
                        compared += 1;
                        valid += u64::from(accepted[n]);
                        if compiled.accepts(document).unwrap() != accepted[n] {
                            wrong.push(format!(
                                "{filter}\n  {}\n  the server: {}",
                                documents[n], accepted[n]
                            ));
                            break;
                        }
                    }
                }
                (Err(theirs), Err(ours)) => {
                    compared += 1;
                    refused += 1;
                    let text = theirs.to_string();
                    if !same_refusal(&text, &ours) {
                        wrong.push(format!("{filter}\n  the server: {text}\n  we: {ours:?}"));
                    }
                }
                (Ok(_), Err(ours)) => {
                    wrong.push(format!("{filter}\n  the server takes it\n  we: {ours:?}"));
                }
                (Err(theirs), Ok(_)) => {
                    wrong.push(format!("{filter}\n  the server: {theirs}\n  we take it"));
                }
            }
            if wrong.len() > 20 {
                break;
            }
        }
        servers.command("db_t", doc! { "drop": &name });
        round += 1;
    }
    eprintln!("{compared} pairs compared, {valid} valid, {refused} conditions refused");
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
    assert!(valid * 20 > compared && refused > 0, "the generator makes both kinds");
}
