//! Compares complete explanations of refused documents with those of a running server. Settings as
//! in `live.rs`.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

use std::collections::BTreeMap;

use crate::conditions::{conditions, dense, stored};
use crate::generate::{Dice, bytes, schema, setting};
use crate::orders::{order, order_schema};
use bson::{Binary, Bson, Document, doc, spec::BinarySubtype};
use docward_schema::{Validator, ValidatorFault};
use docward_testkit::Launch;

/// Documents per validator.
const DOCUMENTS: usize = 50;

/// Removes properties with an empty name: some schemas about those crash the server.
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

/// Masks from binary data whose bytes have their highest bits set.
fn high_bits(dice: &mut Dice) -> Document {
    let bytes = (0..1 + dice.roll(9)).map(|_| *dice.pick(&[0, 1, 0x80, 0xff])).collect();
    let mask = Binary { subtype: BinarySubtype::Generic, bytes };
    doc! { *dice.pick(&["$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"]): mask }
}

/// Counts the operators and the headings of an explanation.
fn tally(details: &Bson, seen: &mut BTreeMap<String, u64>) {
    match details {
        Bson::Document(inner) => {
            for (heading, value) in inner {
                match (&**heading, value) {
                    ("specifiedAs" | "consideredValue" | "consideredValues", _) => {}
                    ("operatorName", Bson::String(name)) => {
                        *seen.entry(name.clone()).or_default() += 1;
                    }
                    ("reason", Bson::String(words)) => {
                        *seen.entry(words.clone()).or_default() += 1;
                    }
                    _ => *seen.entry(heading.clone()).or_default() += 1,
                }
                if heading.ends_with("details")
                    || heading.ends_with("atisfied")
                    || heading == "failingDependencies"
                {
                    tally(value, seen);
                }
            }
        }
        Bson::Array(parts) => parts.iter().for_each(|part| tally(part, seen)),
        _ => {}
    }
}

fn validator(dice: &mut Dice) -> Document {
    let schema = |dice: &mut Dice| {
        let made = schema(dice, 0);
        let made = if dice.once_in(3) { titled(dice, made) } else { made };
        Bson::Document(doc! { "$jsonSchema": made })
    };
    let made = match dice.roll(21) / 4 {
        0..=1 => schema(dice),
        2..=3 => conditions(dice, 0).into(),
        4 => doc! { *dice.pick(&["$and", "$or", "$nor"]): [schema(dice), conditions(dice, 1)] }
            .into(),
        _ => doc! { *dice.pick(&["a", "b", "a.b"]): high_bits(dice) }.into(),
    };
    match named(made) {
        Bson::Document(out) => out,
        _ => Document::new(),
    }
}

/// A validator for orders: a schema, sometimes with conditions next to it.
fn order_validator(dice: &mut Dice) -> Document {
    let mut out = doc! { "$jsonSchema": order_schema(dice) };
    if dice.once_in(4) {
        let least = doc! { "$gte": dice.roll(9) as i32 };
        out.insert(*dice.pick(&["total", "lines.price", "lines.0.count", "address.floor"]), least);
    }
    if dice.once_in(6) {
        let word = doc! { "$in": ["new", "paid"] };
        out.insert("$or", vec![doc! { "status": word }, doc! { "age": { "$exists": true } }]);
    }
    out
}

#[test]
fn dm_11_2_the_server_explains_the_same_of_orders() {
    compare(order_validator, order);
}

#[test]
fn dm_11_2_the_server_explains_the_same() {
    compare(validator, |dice, id| if id % 2 == 0 { stored(dice, id) } else { dense(dice, id) });
}

#[test]
fn dm_11_2_the_server_explains_the_same_of_conditions() {
    compare(|dice| conditions(dice, 1), dense);
}

/// Compares explanations on generated validators and documents.
fn compare(validator: fn(&mut Dice) -> Document, stored: fn(&mut Dice, i32) -> Document) {
    let mut servers = Launch::standalone().start();
    let pairs = setting("DOCWARD_SCHEMA_PAIRS", 20_000);
    let mut dice = Dice(setting("DOCWARD_SCHEMA_SEED", 0x2545_f491_4f6c_dd1d));
    servers.command("db_t", doc! { "create": "t_explained" });
    let (mut compared, mut refused, mut faults, mut ended) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut wrong: Vec<String> = Vec::new();
    let mut seen = BTreeMap::new();
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
            (Err(theirs), Err(ValidatorFault::Refused(ours)))
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
        let Ok(answer) = servers.try_command("db_t", insert) else {
            // Some explanations crash the server: it accepts the validator and fails an assertion.
            eprintln!("the server does not survive {validator}");
            ended += 1;
            servers = Launch::standalone().shared().start();
            servers.command("db_t", doc! { "create": "t_explained" });
            continue;
        };
        let mut theirs: Vec<Option<Document>> = vec![None; DOCUMENTS];
        for error in answer.get_array("writeErrors").into_iter().flatten() {
            let error = error.as_document().unwrap();
            // Documents that are accepted may already exist.
            if error.get_i32("code").unwrap() == 121 {
                let info = error.get_document("errInfo").unwrap();
                let details = info.get_document("details").cloned().unwrap_or_default();
                theirs[error.get_i32("index").unwrap() as usize] = Some(details);
            }
        }
        for (document, theirs) in documents.iter().zip(theirs) {
            compared += 1;
            let ours = compiled.explain(&bytes(document)).unwrap();
            let violations = compiled.violations(&bytes(document)).unwrap();
            assert_eq!(violations.is_empty(), ours.is_none(), "{validator}\n  {document}");
            if let Some(details) = &ours {
                refused += 1;
                tally(&Bson::Document(details.clone()), &mut seen);
            }
            let same = match (&theirs, &ours) {
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
        "{compared} pairs compared, {refused} refused and explained, {faults} validators refused, {ended} servers ended"
    );
    eprintln!("{seen:?}");
    assert!(wrong.is_empty(), "{} disagreements:\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused * 20 > compared, "the generator makes both kinds");
}

/// Operators that the server accepts in a query but not in a validator, and operators that it
/// accepts and Docward does not evaluate.
#[test]
fn dm_11_2_what_validators_may_not_hold() {
    let servers = Launch::standalone().shared().start();
    let sphere = doc! { "$centerSphere": [[0, 0], 1] };
    let cases = [
        doc! { "$where": "true" },
        doc! { "$text": { "$search": "a" } },
        doc! { "a": { "$near": [0, 0] } },
        doc! { "a": { "$nearSphere": { "$geometry": { "type": "Point", "coordinates": [0, 0] } } } },
        doc! { "a": { "$geoNear": [0, 0] } },
        doc! { "a": { "$gt": 1, "$near": [0, 0] } },
        doc! { "a": { "$where": "true" } },
        doc! { "a": { "$elemMatch": { "$expr": true } } },
        doc! { "a": { "$elemMatch": { "$where": "true" } } },
        doc! { "a": { "$elemMatch": { "$text": { "$search": "a" } } } },
        doc! { "$expr": { "$function": { "body": "f", "args": [], "lang": "js" } } },
        doc! { "$expr": { "$and": [{ "$eq": [1, { "$rand": {} }] }] } },
        doc! { "$expr": { "$_internalJsEmit": { "this": 1, "eval": "f" } } },
        doc! { "$sampleRate": 0.5 },
        doc! { "$sampleRate": 2 },
        doc! { "$sampleRate": "a" },
        doc! { "$sampleRate": 1 },
        doc! { "$expr": { "$gt": ["$a", "$b"] } },
        doc! { "$expr": { "$eq": ["$a", { "$literal": { "$rand": {} } }] } },
        doc! { "a": 1, "$or": [{ "$expr": true }, { "b": { "$x": 1 } }] },
        doc! { "a": { "$geoWithin": sphere.clone() } },
        doc! { "a": { "$not": { "$geoWithin": sphere } } },
        doc! { "a": { "$regex": "(" } },
        doc! { "a": { "$regex": "a", "$options": "z" } },
        doc! { "$jsonSchema": 1 },
        doc! { "$jsonSchema": { "dependencies": { "title": "a", "b": ["c"] } } },
        doc! { "$jsonSchema": { "dependencies": { "other": "a" } } },
    ];
    for (n, case) in cases.into_iter().enumerate() {
        let create = doc! { "create": format!("t_{n}"), "validator": case.clone() };
        let theirs = servers.try_command("db_t", create);
        match (theirs, Validator::compile(&bytes(&case))) {
            (Ok(_), Ok(_) | Err(ValidatorFault::NotEvaluated { .. })) => {}
            (Err(theirs), Err(ValidatorFault::Refused(ours))) => {
                let theirs = theirs.to_string();
                assert!(
                    theirs.contains(&format!("code {}", ours.code)),
                    "{case}: {theirs} {ours:?}"
                );
                let has_words = ours.code == 51_091 || theirs.contains(&ours.message);
                assert!(has_words, "{case}: {theirs} {ours:?}");
            }
            (theirs, ours) => panic!("{case}: {theirs:?} {:?}", ours.err()),
        }
    }
}
