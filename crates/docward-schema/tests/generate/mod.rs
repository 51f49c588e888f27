//! Generates the values, documents and schemas for tests against a running server, at random.

#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "each test takes what it needs; a panic is the message"
)]

use bson::{Bson, Decimal128, Document, doc, oid::ObjectId};

/// A small random generator that gives the same numbers everywhere.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len() as u64) as usize]
    }

    pub fn once_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }
}

pub const NAMES: [&str; 7] = ["a", "b", "ab", "c", "", "é", "a.b"];
pub const PATTERNS: [&str; 15] = [
    "^a",
    "b$",
    "a|c",
    "^.{1,2}$",
    "\\d+",
    "[[:alpha:]]",
    "é",
    "^$",
    "(?i)A",
    "^.$",
    "^..$",
    "(?i)É",
    "^.{,2}$",
    "a{1, 2}",
    "(?<=a)b",
];
pub const TYPES: [&str; 16] = [
    "double",
    "string",
    "object",
    "array",
    "binData",
    "objectId",
    "bool",
    "date",
    "null",
    "regex",
    "int",
    "timestamp",
    "long",
    "decimal",
    "number",
    "minKey",
];
pub const WORDS: [&str; 10] = ["", "a", "b", "ab", "aé", "héllo", "12", "a b", "AB", "\u{1f600}"];

pub fn number(dice: &mut Dice) -> Bson {
    let decimals = ["0", "1", "1.5", "0.1", "-3", "1E+30", "NaN", "Infinity", "2.50"];
    let doubles = [
        0.0,
        -0.0,
        1.0,
        1.5,
        0.1,
        0.3,
        -2.0,
        1e18,
        f64::NAN,
        f64::INFINITY,
        9_007_199_254_740_993.0,
    ];
    match dice.roll(4) {
        0 => Bson::Int32(dice.roll(7) as i32 - 2),
        1 => Bson::Int64([0, 1, 2, -1, 9_007_199_254_740_993, i64::MAX, 3][dice.roll(7) as usize]),
        2 => Bson::Double(*dice.pick(&doubles)),
        _ => Bson::Decimal128(dice.pick(&decimals).parse::<Decimal128>().unwrap()),
    }
}

pub fn value(dice: &mut Dice, depth: u32) -> Bson {
    match dice.roll(if depth > 3 { 8 } else { 12 }) {
        0..=2 => number(dice),
        3..=4 => Bson::String((*dice.pick(&WORDS)).to_owned()),
        5 => Bson::Boolean(dice.once_in(2)),
        6 => match dice.roll(8) {
            0 => Bson::Null,
            1 => Bson::ObjectId(ObjectId::from_bytes([dice.roll(2) as u8; 12])),
            2 => Bson::DateTime(bson::DateTime::from_millis(dice.roll(3) as i64)),
            3 => Bson::Timestamp(bson::Timestamp { time: dice.roll(2) as u32, increment: 1 }),
            4 => Bson::Binary(bson::Binary {
                subtype: bson::spec::BinarySubtype::Generic,
                bytes: vec![dice.roll(2) as u8],
            }),
            5 => Bson::RegularExpression(bson::Regex {
                pattern: "a".try_into().unwrap(),
                options: "i".try_into().unwrap(),
            }),
            6 => Bson::MinKey,
            _ => Bson::Symbol((*dice.pick(&WORDS)).to_owned()),
        },
        7 => Bson::Null,
        8..=9 => Bson::Array((0..dice.roll(4)).map(|_| value(dice, depth + 1)).collect()),
        _ => Bson::Document(document(dice, depth + 1)),
    }
}

pub fn document(dice: &mut Dice, depth: u32) -> Document {
    (0..dice.roll(5)).map(|_| ((*dice.pick(&NAMES)).to_owned(), value(dice, depth))).collect()
}

/// A value that is invalid for most keywords.
pub fn nonsense(dice: &mut Dice) -> Bson {
    value(dice, 3)
}

pub fn types(dice: &mut Dice) -> Bson {
    if dice.once_in(3) {
        Bson::Array((0..1 + dice.roll(3)).map(|_| (*dice.pick(&TYPES)).into()).collect())
    } else {
        (*dice.pick(&TYPES)).into()
    }
}

pub fn schemas(dice: &mut Dice, depth: u32) -> Bson {
    Bson::Array((0..1 + dice.roll(3)).map(|_| schema(dice, depth + 1).into()).collect())
}

pub fn by_name(dice: &mut Dice, names: &[&str], depth: u32) -> Bson {
    let mut out = Document::new();
    for _ in 0..dice.roll(4) {
        let name = (*dice.pick(names)).to_owned();
        out.insert(name, schema(dice, depth + 1));
    }
    out.into()
}

pub fn names(dice: &mut Dice) -> Bson {
    Bson::Array((0..1 + dice.roll(2)).map(|_| (*dice.pick(&NAMES)).into()).collect())
}

pub fn schema(dice: &mut Dice, depth: u32) -> Document {
    let mut out = Document::new();
    if depth > 4 {
        return out;
    }
    for _ in 0..dice.roll(4) {
        let (keyword, rule) = match dice.roll(27) {
            0..=2 => ("bsonType", types(dice)),
            3 => (
                "type",
                (*dice.pick(&["string", "object", "number", "array", "boolean", "null"])).into(),
            ),
            4 => ("maximum", number(dice)),
            5 => ("minimum", number(dice)),
            6 => ("exclusiveMaximum", dice.once_in(2).into()),
            7 => ("exclusiveMinimum", dice.once_in(2).into()),
            8 => ("multipleOf", number(dice)),
            9 => ("maxLength", (dice.roll(4) as i32).into()),
            10 => ("minLength", (dice.roll(4) as i64).into()),
            11 => ("pattern", (*dice.pick(&PATTERNS)).into()),
            12 => (
                "items",
                if dice.once_in(2) { schemas(dice, depth) } else { schema(dice, depth + 1).into() },
            ),
            13 => (
                "additionalItems",
                if dice.once_in(2) {
                    dice.once_in(2).into()
                } else {
                    schema(dice, depth + 1).into()
                },
            ),
            14 => ("maxItems", (dice.roll(4) as f64).into()),
            15 => ("minItems", (dice.roll(3) as i32).into()),
            16 => ("uniqueItems", true.into()),
            17..=19 => ("properties", by_name(dice, &NAMES, depth)),
            20 => ("patternProperties", by_name(dice, &PATTERNS, depth)),
            21 => (
                "additionalProperties",
                if dice.once_in(2) {
                    dice.once_in(2).into()
                } else {
                    schema(dice, depth + 1).into()
                },
            ),
            22 => ("required", names(dice)),
            23 => match dice.roll(2) {
                0 => ("maxProperties", (dice.roll(5) as i32).into()),
                _ => ("minProperties", (dice.roll(4) as i32).into()),
            },
            24 => {
                let rule =
                    if dice.once_in(2) { names(dice) } else { schema(dice, depth + 1).into() };
                ("dependencies", doc! { *dice.pick(&NAMES): rule }.into())
            }
            25 => (*dice.pick(&["allOf", "anyOf", "oneOf"]), schemas(dice, depth)),
            _ => match dice.roll(2) {
                0 => ("not", schema(dice, depth + 1).into()),
                _ => ("enum", Bson::Array((0..1 + dice.roll(4)).map(|_| value(dice, 2)).collect())),
            },
        };
        let rule = if dice.once_in(60) { nonsense(dice) } else { rule };
        out.insert(keyword, rule);
    }
    out
}

pub fn bytes(document: &Document) -> Vec<u8> {
    bson::serialize_to_vec(document).unwrap()
}

pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
