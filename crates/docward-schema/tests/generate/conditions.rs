//! Generates conditions with query operators, and documents to evaluate them on.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test takes what it needs; a panic is the message"
)]

use bson::{Binary, Bson, Document, JavaScriptCodeWithScope, Regex, doc, spec::BinarySubtype};

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
        let rare = rare(dice);
        let rare = match dice.roll(3) {
            0 => rare,
            1 => vec![rare, value(dice, 3)].into(),
            _ => doc! { "b": rare }.into(),
        };
        out.insert(*dice.pick(&["a", "b", "c"]), rare);
    }
    if dice.once_in(6) {
        let many: Vec<Bson> = (0..dice.roll(14)).map(|_| value(dice, 2)).collect();
        let many: Bson = if dice.once_in(2) { many.into() } else { doc! { "b": many }.into() };
        out.insert(*dice.pick(&["a", "b", "c"]), many);
    }
    out
}

/// A document that has the fields that conditions need, so that they fail for other reasons than a
/// missing field.
pub fn dense(dice: &mut Dice, id: i32) -> Document {
    let mut out = doc! { "_id": id };
    for name in ["a", "b", "ab", "c"] {
        let one = |dice: &mut Dice| match dice.roll(4) {
            0 => rare(dice),
            1 => Bson::String((*dice.pick(&WORDS)).to_owned()),
            _ => number(dice),
        };
        let inner = |dice: &mut Dice| doc! { "a": one(dice), "b": one(dice) };
        let value = match dice.roll(6) {
            0..=1 => one(dice),
            2 => (0..dice.roll(13)).map(|_| one(dice)).collect::<Vec<Bson>>().into(),
            3 => inner(dice).into(),
            4 => (0..dice.roll(4)).map(|_| inner(dice)).collect::<Vec<Document>>().into(),
            _ => doc! { "b": [one(dice), inner(dice), [one(dice)]], "a": inner(dice) }.into(),
        };
        out.insert(name, value);
    }
    out
}

/// Bytes without their highest bit: in a mask, the server sign-extends it in validation, but not in
/// queries.
fn bin(dice: &mut Dice) -> Bson {
    let bytes = (0..dice.roll(10)).map(|_| *dice.pick(&[0_u8, 1, 2, 0x40, 0x7f])).collect();
    Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes })
}

/// Rare types.
fn rare(dice: &mut Dice) -> Bson {
    let word = |dice: &mut Dice| (*dice.pick(&WORDS)).to_owned();
    match dice.roll(9) {
        0 => Bson::Undefined,
        1 => Bson::JavaScriptCode(word(dice)),
        2 => {
            let scope = doc! { "a": dice.roll(2) as i32 };
            Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code: word(dice), scope })
        }
        3 => Bson::MaxKey,
        4 => Bson::MinKey,
        5 => Bson::Symbol(word(dice)),
        6 => Bson::DateTime(bson::DateTime::from_millis(*dice.pick(&[-5, 0, 7]))),
        7 => Bson::Binary(Binary {
            subtype: *dice.pick(&[BinarySubtype::Generic, BinarySubtype::UserDefined(0x80)]),
            bytes: vec![dice.roll(3) as u8; dice.roll(3) as usize],
        }),
        _ => regex(dice),
    }
}

pub fn operand(dice: &mut Dice) -> Bson {
    match dice.roll(14) {
        12 => rare(dice),
        13 => number(dice),
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
