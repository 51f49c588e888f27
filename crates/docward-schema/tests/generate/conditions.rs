//! Conditions with query operators, and documents they are asked of.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test takes what it needs; a panic is the message"
)]

use bson::{Binary, Bson, Document, Regex, doc, spec::BinarySubtype};

use crate::generate::{Dice, TYPES, WORDS, document, number, schema, value};

pub const PATHS: [&str; 16] = [
    "a", "b", "ab", "c", "a.b", "a.a", "a.0", "a.0.b", "a.b.0", "b.1", "a.b.a", "b.0.0", "", "a.",
    "c.a", "a.0.0.b",
];
const PATTERNS: [&str; 10] = ["^a", "b$", "a|c", "A", "^.{1,2}$", "\\d+", "a b", "é", "^$", "a.b"];

/// A document as it is stored.
pub fn stored(dice: &mut Dice, id: i32) -> Document {
    let mut out = doc! { "_id": id };
    out.extend(document(dice, 0));
    if dice.once_in(6) {
        let many: Vec<Bson> = (0..dice.roll(14)).map(|_| value(dice, 2)).collect();
        let many: Bson = if dice.once_in(2) { many.into() } else { doc! { "b": many }.into() };
        out.insert(*dice.pick(&["a", "b", "c"]), many);
    }
    out
}

/// Bytes without their highest bit: in a mask it spreads over the bits above when the server validates, and
/// does not when it searches.
fn bin(dice: &mut Dice) -> Bson {
    let bytes = (0..dice.roll(10)).map(|_| *dice.pick(&[0_u8, 1, 2, 0x40, 0x7f])).collect();
    Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes })
}

pub fn operand(dice: &mut Dice) -> Bson {
    match dice.roll(12) {
        0 => Bson::Null,
        1 => Bson::MaxKey,
        2 => Bson::MinKey,
        3 => bin(dice),
        4 => Bson::JavaScriptCode((*dice.pick(&WORDS)).to_owned()),
        5 if dice.once_in(10) => Bson::Undefined,
        _ => value(dice, 2),
    }
}

fn regex(dice: &mut Dice) -> Bson {
    let options = *dice.pick(&["", "", "i", "m", "s", "x", "im", "isx"]);
    Bson::RegularExpression(Regex {
        pattern: (*dice.pick(&PATTERNS)).try_into().unwrap(),
        options: options.try_into().unwrap(),
    })
}

fn operands(dice: &mut Dice) -> Bson {
    let one = |dice: &mut Dice| if dice.once_in(6) { regex(dice) } else { operand(dice) };
    Bson::Array((0..dice.roll(4)).map(|_| one(dice)).collect())
}

fn kinds(dice: &mut Dice) -> Bson {
    let one = |dice: &mut Dice| -> Bson {
        match dice.roll(4) {
            0 => Bson::Int32(*dice.pick(&[1, 2, 3, 4, 5, 7, 8, 10, 14, 16, 18, 19, -1, 127])),
            1 => Bson::Double(*dice.pick(&[1.0, 2.0, 16.0, 18.0])),
            _ => (*dice.pick(&TYPES)).into(),
        }
    };
    if dice.once_in(3) {
        Bson::Array((0..dice.roll(4)).map(|_| one(dice)).collect())
    } else {
        one(dice)
    }
}

fn bits(dice: &mut Dice) -> Bson {
    match dice.roll(3) {
        0 => (*dice.pick(&[0_i64, 1, 2, 3, 5, 1 << 40, i64::MAX])).into(),
        1 => Bson::Array(
            (0..dice.roll(4))
                .map(|_| (*dice.pick(&[0, 1, 2, 5, 62, 63, 64, 100])).into())
                .collect(),
        ),
        _ => bin(dice),
    }
}

/// `{$gt: 1, $lt: 5}`
pub fn operators(dice: &mut Dice, depth: u32) -> Document {
    let mut out = Document::new();
    for _ in 0..1 + dice.roll(2) {
        let (name, value): (&str, Bson) = match dice.roll(if depth > 3 { 17 } else { 22 }) {
            0 => ("$eq", operand(dice)),
            1 => ("$ne", operand(dice)),
            2 => ("$gt", operand(dice)),
            3 => ("$gte", operand(dice)),
            4 => ("$lt", operand(dice)),
            5 => ("$lte", operand(dice)),
            6 => ("$in", operands(dice)),
            7 => ("$nin", operands(dice)),
            8 => ("$exists", if dice.once_in(3) { operand(dice) } else { dice.once_in(2).into() }),
            9..=10 => ("$type", kinds(dice)),
            11 => {
                if dice.once_in(2) {
                    out.insert("$options", *dice.pick(&["", "i", "ix", "ms", "x", "u"]));
                }
                let pattern =
                    if dice.once_in(4) { regex(dice) } else { (*dice.pick(&PATTERNS)).into() };
                ("$regex", pattern)
            }
            12 => {
                let divisor = *dice.pick(&[2, 3, -1, 7, 1]);
                let divisor = if dice.once_in(4) { number(dice) } else { divisor.into() };
                ("$mod", Bson::Array(vec![divisor, (dice.roll(3) as i32).into()]))
            }
            13 => ("$size", (dice.roll(4) as i32).into()),
            14 => ("$all", operands(dice)),
            15..=16 => (
                *dice.pick(&["$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"]),
                bits(dice),
            ),
            17..=18 => (
                "$not",
                if dice.once_in(8) { regex(dice) } else { operators(dice, depth + 1).into() },
            ),
            19..=20 => ("$elemMatch", elem_match(dice, depth)),
            _ => {
                let one = |dice: &mut Dice| doc! { "$elemMatch": elem_match(dice, depth) }.into();
                ("$all", Bson::Array((0..1 + dice.roll(2)).map(|_| one(dice)).collect()))
            }
        };
        let value = if dice.once_in(40) { operand(dice) } else { value };
        out.insert(name, value);
    }
    out
}

fn elem_match(dice: &mut Dice, depth: u32) -> Bson {
    if dice.once_in(2) {
        operators(dice, depth + 1).into()
    } else {
        conditions(dice, depth + 1).into()
    }
}

pub fn clauses(dice: &mut Dice, depth: u32) -> Bson {
    Bson::Array((0..1 + dice.roll(3)).map(|_| conditions(dice, depth + 1).into()).collect())
}

/// A whole validator.
pub fn conditions(dice: &mut Dice, depth: u32) -> Document {
    let mut out = Document::new();
    let most = if depth > 3 { 16 } else { 23 };
    for _ in 0..1 + dice.roll(2) {
        let path = *dice.pick(&PATHS);
        match dice.roll(most) {
            0..=2 => {
                let value = if dice.once_in(5) { regex(dice) } else { operand(dice) };
                out.insert(path, value);
            }
            3..=15 => {
                out.insert(path, operators(dice, depth));
            }
            16..=19 => {
                out.insert(*dice.pick(&["$and", "$or", "$nor"]), clauses(dice, depth));
            }
            20 => {
                out.insert("$jsonSchema", schema(dice, 2));
            }
            21 => {
                out.insert("$comment", "a word");
            }
            _ => {
                let name = *dice.pick(&["$alwaysTrue", "$alwaysFalse", "$and", "$not", "$x"]);
                out.insert(name, if dice.once_in(4) { operand(dice) } else { 1.into() });
            }
        }
    }
    out
}
