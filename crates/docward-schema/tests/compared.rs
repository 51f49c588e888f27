//! Checks the results of comparisons on generated documents: the containment claim holds, and a
//! counterexample is one.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests: a panic is the message")]

use crate::conditions::{dense, stored};
use crate::generate::{self, Dice, bytes, schema, setting};
use bson::{Bson, Document, doc};
use docward_schema::{Containment, Validator, as_stored, compare};

/// Returns the schema with something removed, added or replaced.
fn altered(dice: &mut Dice, schema: &Document, depth: u32) -> Document {
    let mut out = schema.clone();
    for _ in 0..1 + dice.roll(2) {
        let other = generate::schema(dice, depth);
        let keys: Vec<String> = out.keys().chain(other.keys()).cloned().collect();
        if keys.is_empty() {
            return other;
        }
        let key = dice.pick(&keys).clone();
        match (out.get(&key).cloned(), other.get(&key).cloned()) {
            (Some(Bson::Document(inner)), _) if key == "properties" && !inner.is_empty() => {
                let names: Vec<String> = inner.keys().cloned().collect();
                let name = dice.pick(&names).clone();
                let mut properties = inner;
                if dice.once_in(4) {
                    properties.remove(&name);
                } else if let Ok(property) = properties.get_document(&name) {
                    let property = altered(dice, &property.clone(), depth + 1);
                    properties.insert(name, property);
                }
                out.insert(key, properties);
            }
            (_, Some(value)) => {
                out.insert(key, value);
            }
            (Some(_), None) => {
                out.remove(&key);
            }
            (None, None) => {}
        }
    }
    out
}

fn check(
    dice: &mut Dice,
    first: Document,
    second: Document,
    documents: &[Vec<u8>],
) -> (u64, u64, u64) {
    let (first, second) = (doc! { "$jsonSchema": first }, doc! { "$jsonSchema": second });
    let _ = dice;
    let (a, b) = (bytes(&first), bytes(&second));
    let (Ok(asked_a), Ok(asked_b)) = (Validator::compile(&a), Validator::compile(&b)) else {
        return (0, 0, 0);
    };
    let comparison = compare(&a, &b).unwrap();
    let mut counts = (0, 0, 0);
    for (claim, from, to) in [
        (&comparison.second_accepts_first, &asked_a, &asked_b),
        (&comparison.first_accepts_second, &asked_b, &asked_a),
    ] {
        match claim {
            Containment::Yes => {
                counts.0 += 1;
                for document in documents {
                    // The comparison concerns documents as they are stored.
                    let document = &as_stored(document).unwrap();
                    let holds = !from.accepts(document).unwrap() || to.accepts(document).unwrap();
                    let shown = Document::from_reader(document.as_ref()).unwrap();
                    assert!(holds, "{first} and {second} on {shown}: {:?}", comparison.changes);
                }
            }
            Containment::No(document) => {
                counts.1 += 1;
                let document = bytes(document);
                let document = as_stored(&document).unwrap();
                assert!(from.accepts(&document).unwrap() && !to.accepts(&document).unwrap());
            }
            Containment::Undecided => counts.2 += 1,
        }
    }
    counts
}

#[test]
fn dm_11_5_a_claim_of_containment_holds_on_generated_documents() {
    let mut dice = Dice(setting("DOCWARD_SCHEMA_SEED", 0x9e37_79b9_7f4a_7c15));
    let pairs = setting("DOCWARD_SCHEMA_COMPARED", 1000);
    let mut total = (0, 0, 0);
    for round in 0..pairs {
        let made = if round % 2 == 0 { stored } else { dense };
        let (first, documents): (Document, Vec<Vec<u8>>) = if round % 3 == 0 {
            let schema = crate::orders::order_schema(&mut dice);
            (schema, (0..60).map(|n| bytes(&crate::orders::order(&mut dice, n))).collect())
        } else {
            (schema(&mut dice, 0), (0..60).map(|n| bytes(&made(&mut dice, n))).collect())
        };
        let second = altered(&mut dice, &first, 0);
        let counts = check(&mut dice, first, second, &documents);
        total = (total.0 + counts.0, total.1 + counts.1, total.2 + counts.2);
    }
    eprintln!("yes {}, no {}, undecided {}", total.0, total.1, total.2);
    assert!(total.0 > pairs / 10 && total.1 > pairs / 20, "{total:?}");
}
