//! Generates mostly valid documents of a shop, and typical schemas for them.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test takes what it needs; a panic is the message"
)]

use bson::{Bson, Document, doc};

use crate::generate::{Dice, number, value};

#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Tags,
    Address,
    Lines,
    Line,
    Pair,
}

const FIELDS: [(&str, Shape); 8] = [
    ("name", Shape::Text),
    ("status", Shape::Text),
    ("total", Shape::Number),
    ("age", Shape::Number),
    ("tags", Shape::Tags),
    ("address", Shape::Address),
    ("lines", Shape::Lines),
    ("place", Shape::Pair),
];
const ADDRESS: [(&str, Shape); 3] =
    [("city", Shape::Text), ("zip", Shape::Text), ("floor", Shape::Number)];
const LINE: [(&str, Shape); 4] = [
    ("sku", Shape::Text),
    ("price", Shape::Number),
    ("count", Shape::Number),
    ("notes", Shape::Tags),
];
const WORDS: [&str; 8] = ["new", "paid", "sent", "Ann", "Bob", "10115", "Ünna", ""];

fn word(dice: &mut Dice) -> Bson {
    (*dice.pick(&WORDS)).into()
}

fn fields(dice: &mut Dice, names: &[(&str, Shape)]) -> Document {
    let mut out = Document::new();
    for (name, shape) in names {
        if !dice.once_in(4) {
            out.insert(*name, shaped(dice, *shape));
        }
    }
    if dice.once_in(5) {
        out.insert(*dice.pick(&["extra", "x_1", "x_2", "city"]), value(dice, 3));
    }
    out
}

fn shaped(dice: &mut Dice, shape: Shape) -> Bson {
    if dice.once_in(10) {
        return value(dice, 2);
    }
    match shape {
        Shape::Text => word(dice),
        Shape::Number => match dice.roll(4) {
            0 => number(dice),
            1 => Bson::Double(dice.roll(40) as f64 / 4.0),
            2 => Bson::Int64(dice.roll(20) as i64),
            _ => Bson::Int32(dice.roll(20) as i32 - 3),
        },
        Shape::Tags => Bson::Array((0..dice.roll(5)).map(|_| word(dice)).collect()),
        Shape::Address => fields(dice, &ADDRESS).into(),
        Shape::Lines => Bson::Array((0..dice.roll(4)).map(|_| shaped(dice, Shape::Line)).collect()),
        Shape::Line => fields(dice, &LINE).into(),
        Shape::Pair => {
            let mut pair = vec![shaped(dice, Shape::Number), shaped(dice, Shape::Text)];
            for _ in 0..dice.roll(3) {
                pair.push(shaped(dice, Shape::Number));
            }
            pair.truncate(1 + dice.roll(4) as usize);
            Bson::Array(pair)
        }
    }
}

/// An order as it is stored.
pub fn order(dice: &mut Dice, id: i32) -> Document {
    let mut out = doc! { "_id": id };
    out.extend(fields(dice, &FIELDS));
    out
}

/// A schema for orders.
pub fn order_schema(dice: &mut Dice) -> Document {
    about_fields(dice, &FIELDS, 0)
}

fn titled(dice: &mut Dice, out: &mut Document) {
    if dice.once_in(8) {
        out.insert("description", "what it is");
    }
    if dice.once_in(8) {
        out.insert("title", "its title");
    }
}

fn names(dice: &mut Dice, of: &[(&str, Shape)]) -> Bson {
    let mut out: Vec<Bson> = Vec::new();
    for _ in 0..1 + dice.roll(3) {
        let name = Bson::from(dice.pick(of).0);
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out.into()
}

fn about_fields(dice: &mut Dice, of: &[(&str, Shape)], depth: u32) -> Document {
    let mut out = Document::new();
    titled(dice, &mut out);
    if dice.once_in(3) {
        out.insert("bsonType", "object");
    }
    if dice.once_in(2) {
        out.insert("required", names(dice, of));
    }
    let mut properties = Document::new();
    for (name, shape) in of {
        if dice.once_in(2) {
            properties.insert(*name, about(dice, *shape, depth + 1));
        }
    }
    if !properties.is_empty() || dice.once_in(3) {
        if depth == 0 && dice.once_in(2) {
            properties.insert("_id", Document::new());
        }
        out.insert("properties", properties);
    }
    if dice.once_in(5) {
        let rule: Bson =
            if dice.once_in(2) { false.into() } else { about(dice, Shape::Text, depth + 1).into() };
        out.insert("additionalProperties", rule);
    }
    if dice.once_in(6) {
        let shape = *dice.pick(&[Shape::Text, Shape::Number]);
        out.insert("patternProperties", doc! { "^x_": about(dice, shape, depth + 1), "s$": {} });
    }
    if dice.once_in(6) {
        let rule = if dice.once_in(2) {
            names(dice, of)
        } else {
            about_fields(dice, of, depth + 2).into()
        };
        out.insert("dependencies", doc! { dice.pick(of).0: rule });
    }
    if dice.once_in(10) {
        out.insert("minProperties", dice.roll(6) as i32);
    }
    if dice.once_in(10) {
        out.insert("maxProperties", dice.roll(6) as i32);
    }
    if depth < 3 && dice.once_in(8) {
        let schemas: Vec<Bson> =
            (0..1 + dice.roll(3)).map(|_| about_fields(dice, of, depth + 2).into()).collect();
        out.insert(*dice.pick(&["allOf", "anyOf", "oneOf"]), schemas);
    }
    out
}

fn about(dice: &mut Dice, shape: Shape, depth: u32) -> Document {
    let mut out = match shape {
        Shape::Address => about_fields(dice, &ADDRESS, depth),
        Shape::Line => about_fields(dice, &LINE, depth),
        _ => Document::new(),
    };
    titled(dice, &mut out);
    let own = match shape {
        Shape::Text => "string",
        Shape::Number => *dice.pick(&["int", "number", "double"]),
        Shape::Tags | Shape::Lines | Shape::Pair => "array",
        Shape::Address | Shape::Line => "object",
    };
    match dice.roll(6) {
        0..=1 => {
            out.insert("bsonType", own);
        }
        2 => {
            out.insert("bsonType", vec![own, "null"]);
        }
        3 => {
            out.remove("bsonType");
            let own = if own == "int" || own == "double" { "number" } else { own };
            out.insert("type", own);
        }
        _ => {}
    }
    for _ in 0..dice.roll(3) {
        match shape {
            Shape::Text => match dice.roll(4) {
                0 => out.insert("minLength", dice.roll(6) as i32),
                1 => out.insert("maxLength", dice.roll(6) as i64),
                2 => out.insert("pattern", *dice.pick(&["^[A-Z]", "^\\d{5}$", "n", "^$"])),
                _ => out.insert("enum", vec!["new", "paid"]),
            },
            Shape::Number => match dice.roll(5) {
                0 => {
                    out.insert("exclusiveMinimum", dice.once_in(2));
                    out.insert("minimum", dice.roll(9) as i32)
                }
                1 => {
                    out.insert("maximum", dice.roll(20) as f64 / 2.0);
                    out.insert("exclusiveMaximum", dice.once_in(2))
                }
                2 => out.insert("multipleOf", *dice.pick(&[0.25, 0.5, 2.0, 3.0])),
                3 => out.insert("maximum", dice.roll(9) as i64),
                _ => out.insert("enum", vec![1, 2, 3]),
            },
            Shape::Tags | Shape::Lines | Shape::Pair => match dice.roll(5) {
                0 => out.insert("minItems", dice.roll(4) as i32),
                1 => out.insert("maxItems", dice.roll(4) as i32),
                2 => out.insert("uniqueItems", !dice.once_in(4)),
                _ => {
                    let inner = match shape {
                        Shape::Lines => Shape::Line,
                        _ => Shape::Text,
                    };
                    if dice.once_in(3) || matches!(shape, Shape::Pair) {
                        let rest = match dice.roll(3) {
                            0 => Bson::Boolean(dice.once_in(3)),
                            _ => about(dice, Shape::Number, depth + 1).into(),
                        };
                        out.insert("additionalItems", rest);
                        let first = about(dice, Shape::Number, depth + 1);
                        out.insert("items", vec![first, about(dice, inner, depth + 1)])
                    } else {
                        out.insert("items", about(dice, inner, depth + 1))
                    }
                }
            },
            Shape::Address | Shape::Line => None,
        };
    }
    if depth < 4 && dice.once_in(8) {
        let schemas: Vec<Bson> =
            (0..1 + dice.roll(3)).map(|_| about(dice, shape, depth + 1).into()).collect();
        out.insert(*dice.pick(&["allOf", "anyOf", "oneOf"]), schemas);
    }
    if depth < 4 && dice.once_in(12) {
        out.insert("not", about(dice, shape, depth + 1));
    }
    if out.contains_key("type") {
        out.remove("bsonType");
    }
    out
}
