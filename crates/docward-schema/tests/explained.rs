//! Explanations of refused documents, ours and those of a running server, compared whole. Settings as in
//! `live.rs`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

#[path = "generate/conditions.rs"]
mod conditions;
mod generate;

use bson::{Bson, Document, doc};
use conditions::{conditions, stored};
use docward_schema::Validator;
use docward_testkit::Launch;
use generate::{Dice, bytes, schema, setting};

/// Documents per validator.
const DOCUMENTS: usize = 50;

/// Without properties that have no name: some that a schema says of those end the server.
fn named(value: Bson) -> Bson {
    match value {
        Bson::Document(inner) => Bson::Document(
            inner
                .into_iter()
                .map(|(name, value)| {
                    (if name.is_empty() { "d".to_owned() } else { name }, named(value))
                })
                .collect(),
        ),
        Bson::Array(parts) => Bson::Array(parts.into_iter().map(named).collect()),
        other => other,
    }
}

fn titled(dice: &mut Dice, schema: Document) -> Document {
    let mut out = Document::new();
    if dice.once_in(3) {
        out.insert("description", "what it is");
    }
    if dice.once_in(3) {
        out.insert("title", "its title");
    }
    for (keyword, rule) in schema {
        let rule = match rule {
            Bson::Document(inner)
                if matches!(
                    &*keyword,
                    "items" | "not" | "additionalProperties" | "additionalItems"
                ) =>
            {
                titled(dice, inner).into()
            }
            Bson::Document(inner) if matches!(&*keyword, "properties" | "patternProperties") => {
                let each = |(name, schema)| match schema {
                    Bson::Document(schema) => (name, titled(dice, schema).into()),
                    other => (name, other),
                };
                Bson::Document(inner.into_iter().map(each).collect())
            }
            Bson::Array(parts) if matches!(&*keyword, "allOf" | "anyOf" | "oneOf" | "items") => {
                let each = |part| match part {
                    Bson::Document(schema) => titled(dice, schema).into(),
                    other => other,
                };
                Bson::Array(parts.into_iter().map(each).collect())
            }
            other => other,
        };
        out.insert(keyword, rule);
    }
    out
}

fn validator(dice: &mut Dice) -> Document {
    let schema = |dice: &mut Dice| {
        let made = schema(dice, 0);
        let made = if dice.once_in(3) { titled(dice, made) } else { made };
        Bson::Document(doc! { "$jsonSchema": made })
    };
    let made = match dice.roll(5) {
        0..=1 => schema(dice),
        2..=3 => conditions(dice, 0).into(),
        _ => doc! { *dice.pick(&["$and", "$or", "$nor"]): [schema(dice), conditions(dice, 1)] }
            .into(),
    };
    match named(made) {
        Bson::Document(out) => out,
        _ => Document::new(),
    }
}

#[test]
fn dm_11_2_the_server_explains_the_same() {
    let servers = Launch::standalone().start();
    let pairs = setting("DOCWARD_SCHEMA_PAIRS", 20_000);
    let mut dice = Dice(setting("DOCWARD_SCHEMA_SEED", 0x2545_f491_4f6c_dd1d));
    servers.command("db_t", doc! { "create": "t_explained" });
    let (mut compared, mut refused, mut faults) = (0_u64, 0_u64, 0_u64);
    let mut wrong: Vec<String> = Vec::new();
    let mut documents: Vec<Document> = Vec::new();
    let mut round = 0;
    while compared < pairs && wrong.len() < 15 {
        if round % 50 == 0 {
            documents = (0..DOCUMENTS).map(|n| stored(&mut dice, n as i32)).collect();
        }
        round += 1;
        let validator = validator(&mut dice);
        let set = servers
            .try_command("db_t", doc! { "collMod": "t_explained", "validator": validator.clone() });
        let compiled = match (set, Validator::compile(&bytes(&validator))) {
            (Ok(_), Ok(compiled)) => compiled,
            (Err(theirs), Err(docward_schema::ValidatorFault::Refused(ours)))
                if theirs.to_string().contains(&format!("code {}", ours.code)) =>
            {
                faults += 1;
                continue;
            }
            (theirs, ours) => {
                wrong
                    .push(format!("{validator}\n  the server: {theirs:?}\n  we: {:?}", ours.err()));
                continue;
            }
        };
        let insert =
            doc! { "insert": "t_explained", "documents": documents.clone(), "ordered": false };
        let answer = servers.command("db_t", insert);
        let mut theirs: Vec<Option<Document>> = vec![None; DOCUMENTS];
        for error in answer.get_array("writeErrors").into_iter().flatten() {
            let error = error.as_document().unwrap();
            // Those that are accepted may be there already.
            if error.get_i32("code").unwrap() == 121 {
                let info = error.get_document("errInfo").unwrap();
                let details = info.get_document("details").cloned().unwrap_or_default();
                theirs[error.get_i32("index").unwrap() as usize] = Some(details);
            }
        }
        for (document, theirs) in documents.iter().zip(theirs) {
            compared += 1;
            let ours = compiled.explain(&bytes(document)).unwrap();
            refused += u64::from(ours.is_some());
            let same = match (&theirs, &ours) {
                // Why it has no explanation is told with the server's own form of the validator.
                (Some(theirs), Some(ours)) if theirs.contains_key("code") => {
                    theirs.get("code") == ours.get("code")
                }
                (Some(theirs), Some(ours)) => bytes(theirs) == bytes(ours),
                (theirs, ours) => theirs.is_some() == ours.is_some(),
            };
            if !same {
                let told = |details: Option<Document>| {
                    details.map_or_else(|| "accepted".to_owned(), |details| details.to_string())
                };
                wrong.push(format!(
                    "{validator}\n  {document}\n  the server: {}\n  we:         {}",
                    told(theirs),
                    told(ours)
                ));
                break;
            }
        }
    }
    eprintln!(
        "{compared} pairs compared, {refused} refused and explained, {faults} validators refused"
    );
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused * 20 > compared && faults > 0, "the generator makes all kinds");
}
