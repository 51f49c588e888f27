//! What would turn a decision, checked by deciding again; sizes, checked by encoding.

use docward_design::{Bounds, Choice, Facts, Planned, Rank, Turn, decide, document_bytes};
use docward_model::BsonType;

use crate::common::{GALLERY, WRITTEN, gallery, of, pair};

/// The facts with the one that a turn speaks of moved to a value.
fn moved(facts: &Facts, turn: &Turn, value: f64) -> Facts {
    let mut facts = facts.clone();
    let when = turn.when.as_str();
    if when.starts_with("a parent has") {
        let (number, before) = (value as u64, facts.children.p99);
        let children = &mut facts.children;
        children.p99 = number;
        children.p50 = children.p50.min(number);
        children.p95 = children.p95.min(number);
        children.max = if number < before { number } else { children.max.max(number) };
    } else if when.starts_with("a child has") {
        facts.child_bytes = value as u64;
    } else if when.starts_with("reads have both") {
        facts.co_read = Some(value);
        facts.queried_alone = facts.queried_alone.map(|alone| alone.min(1.0 - value));
    } else if when.starts_with("reads want the child alone") {
        facts.queried_alone = Some(value);
        facts.co_read = facts.co_read.map(|both| both.min(1.0 - value));
    } else if when.starts_with("updates change the child alone") {
        facts.child_only_update = Some(value);
    } else {
        panic!("{when}");
    }
    facts
}

#[test]
fn every_turn_with_a_figure_turns_there_and_not_a_step_before() {
    let bounds = Bounds::default();
    let mut seen = 0;
    for name in GALLERY {
        for decision in &gallery(name).design.decisions {
            for turn in &decision.turns {
                let Some(from) = turn.from else { continue };
                seen += 1;
                let at = |value: f64| decide(&moved(&decision.facts, turn, value), &bounds).choice;
                let what = format!("{name} {}: {}", decision.relationship, turn.when);
                assert_eq!(at(from), turn.choice, "{what}");
                let step = if from < 1.0 || turn.when.contains('%') { 0.01 } else { 1.0 };
                let before = if turn.when.contains("or more") { from - step } else { from + step };
                assert_eq!(at(before), turn.choice.other(), "{what}, a step before");
            }
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_turn_of_a_model_is_where_the_model_turns() {
    let read = [
        "from: parent, where: [_id], with: [parent.children], rate: 6/s",
        "from: child, where: [parent], rate: 4/s",
    ];
    let with = |p99: u64| {
        let figures = format!("children: {{p50: 3, p99: {p99}, max: {p99}}}, growth: bounded");
        of(&pair(&figures, &read, WRITTEN))
    };
    let few = with(9);
    let turn = few.decision("parent.children").turns.iter().find(|t| t.when.contains("at p99"));
    let from = turn.unwrap().from.unwrap() as u64;
    assert_eq!(from, 50, "GC-06: from 50 on only what is mostly read together is embedded");
    assert_eq!(with(from - 1).decision("parent.children").choice, Some(Choice::Embed));
    assert_eq!(with(from).decision("parent.children").choice, Some(Choice::Reference));
}

/// A document of the planned shape at its typical size.
fn built(fields: &[Planned]) -> bson::Document {
    fields.iter().map(|field| (field.name.clone(), value(field))).collect()
}

fn value(field: &Planned) -> bson::Bson {
    match field.kind {
        BsonType::Object => bson::Bson::Document(built(&field.fields)),
        BsonType::Array => {
            let one = || match field.element {
                Some(kind) => scalar(kind, field.bytes.0),
                None => bson::Bson::Document(built(&field.fields)),
            };
            (0..field.items.map_or(0, |items| items.p50)).map(|_| one()).collect()
        }
        kind => scalar(kind, field.bytes.0),
    }
}

fn scalar(kind: BsonType, bytes: u64) -> bson::Bson {
    match kind {
        BsonType::String => bson::Bson::String("x".repeat(bytes as usize)),
        BsonType::BinData => bson::Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![0; bytes as usize],
        }),
        BsonType::Int => bson::Bson::Int32(1),
        BsonType::Long => bson::Bson::Int64(1),
        BsonType::Double => bson::Bson::Double(1.0),
        BsonType::Decimal => bson::Bson::Decimal128("1.00".parse().unwrap()),
        BsonType::Bool => bson::Bson::Boolean(true),
        BsonType::Date => bson::Bson::DateTime(bson::DateTime::from_millis(0)),
        BsonType::ObjectId => bson::Bson::ObjectId(bson::oid::ObjectId::new()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn alg_2_planned_sizes_are_those_of_the_encoder() {
    let mut seen = 0;
    for name in GALLERY {
        for collection in &gallery(name).design.collections {
            let encoded = built(&collection.fields).to_vec().unwrap().len() as u64;
            let planned = document_bytes(&collection.fields, Rank::Typical);
            assert_eq!(planned, encoded, "{name} {}", collection.name);
            seen += 1;
        }
    }
    assert!(seen > 20);
}
