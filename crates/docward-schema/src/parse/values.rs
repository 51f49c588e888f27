//! Values of operators: patterns, types, divisors, bits.

use super::{BAD_VALUE, FAILED_TO_PARSE, Result, TYPE_MISMATCH, elements, fault, integer, tag};
use crate::{
    number::Number,
    pattern::Pattern,
    schema::{Bits, Regex, Test, Types},
    value::{ARRAY, BINARY, BOOL, NULL, Raw, UNDEFINED, significant, told_field},
};

/// A regular expression as a test.
pub(crate) fn regex(value: Raw<'_>) -> Result<Test> {
    read_regex(value).map(Test::Pattern)
}

pub(crate) fn read_regex(value: Raw<'_>) -> Result<Regex> {
    let (words, flags) = regex_parts(value);
    build_regex(words, flags)
}

/// The pattern and the flags of a regular expression.
pub(crate) fn regex_parts(value: Raw<'_>) -> (&[u8], &[u8]) {
    let mut parts = value.bytes.split(|byte| *byte == 0);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

pub(crate) fn build_regex(words: &[u8], flags: &[u8]) -> Result<Regex> {
    let pattern =
        Pattern::with_flags(&String::from_utf8_lossy(words), &String::from_utf8_lossy(flags))?;
    Ok(Regex { pattern, words: words.into(), flags: flags.into() })
}

/// Returns whether `$exists` treats a value as true.
pub(crate) fn is_true(value: Raw<'_>) -> bool {
    match (value.tag, value.number()) {
        (_, Some(number)) => number.order(Number::Int(0)).is_ne(),
        (BOOL, _) => value.bytes.first() == Some(&1),
        (NULL | UNDEFINED, _) => false,
        _ => true,
    }
}

/// The types in `$type`.
pub(crate) fn types(path: &[u8], value: Raw<'_>) -> Result<Types> {
    if value.tag != ARRAY {
        return kind(Types::default(), b"$type", value);
    }
    let mut types = Types::default();
    let names = elements(value)?;
    for element in &names {
        types = kind(types, element.key, Raw::from(*element))?;
    }
    if names.is_empty() {
        let path = String::from_utf8_lossy(path);
        return fault(FAILED_TO_PARSE, format!("{path} must match at least one type"));
    }
    Ok(types)
}

/// Adds a type, by name or number.
fn kind(types: Types, name: &[u8], value: Raw<'_>) -> Result<Types> {
    if let Some(text) = value.text() {
        let name = String::from_utf8_lossy(text);
        return match &*name {
            "number" => Ok([0x01, 0x10, 0x12, 0x13].into_iter().fold(types, Types::with)),
            "missing" => {
                let message = "'missing' is not a legal type name. To query for non-existence of a field, use {$exists:false}.";
                fault(BAD_VALUE, message)
            }
            name => match tag(name) {
                Some(tag) => Ok(types.with(tag)),
                None => fault(BAD_VALUE, format!("Unknown type name alias: {name}")),
            },
        };
    }
    let Some(number) = value.number() else {
        return fault(TYPE_MISMATCH, "type must be represented as a number or a string");
    };
    let unknown = |hint: &str| {
        let text = significant(number.as_double(), 6);
        fault(BAD_VALUE, format!("Invalid numerical type code: {text}{hint}"))
    };
    match integer::small(name, value) {
        Ok(0) => unknown(". Instead use {$exists:false}."),
        Ok(-1) => Ok(types.with(0xff)),
        Ok(code @ (1..=19 | 127)) => Ok(types.with(code as u8)),
        _ => unknown(""),
    }
}

/// `[divisor, remainder]`
pub(crate) fn modulo(value: Raw<'_>) -> Result<Test> {
    let refuse = |what: &str| fault(BAD_VALUE, format!("malformed mod, {what}"));
    if value.tag != ARRAY {
        return refuse("needs to be an array");
    }
    let mut numbers = Vec::new();
    let parts = elements(value)?;
    for (at, what) in ["divisor", "remainder"].into_iter().enumerate() {
        let Some(part) = parts.get(at) else { return refuse("not enough elements") };
        match Raw::from(*part).number() {
            Some(number) => numbers.push((number, what)),
            None => return refuse(&format!("{what} not a number")),
        }
    }
    if parts.len() > 2 {
        return refuse("too many elements");
    }
    let mut whole = Vec::new();
    for (number, what) in numbers {
        let why = match number.truncated() {
            Some(n) => {
                whole.push(n);
                continue;
            }
            None if number.is_finite() => "Out of bounds coercing to integral value",
            None => "Unable to coerce NaN/Inf to integral type",
        };
        return refuse(&format!("{what} value is invalid :: caused by :: {why}"));
    }
    match whole[..] {
        [0, _] => fault(BAD_VALUE, "divisor cannot be 0"),
        [divisor, remainder] => Ok(Test::Mod { divisor, remainder }),
        _ => refuse("not enough elements"),
    }
}

/// A mask, positions, or binary data as the mask.
pub(crate) fn bits(path: &[u8], operator: &str, value: Raw<'_>) -> Result<Bits> {
    let mut bits = Bits {
        mask: 0,
        positions: Vec::new(),
        all: operator.starts_with("$bitsAll"),
        set: operator.ends_with("Set"),
    };
    if value.tag == ARRAY {
        for element in elements(value)? {
            match integer::small_positive(element.key, Raw::from(element)) {
                Ok(position) => {
                    // Numbers are sign-extended beyond 64 bits.
                    bits.mask |= 1 << position.min(63);
                    bits.positions.push(u64::from(position));
                }
                Err(why) => {
                    return fault(BAD_VALUE, format!("Failed to parse bit position. {why}"));
                }
            }
        }
    } else if value.number().is_some() {
        bits.mask = integer::positive(operator.as_bytes(), value)
            .or_else(|message| fault(FAILED_TO_PARSE, message))?;
        bits.positions = (0..64).filter(|bit| bits.mask >> bit & 1 == 1).collect();
    } else if value.tag == BINARY {
        for (at, byte) in value.bytes.get(5..).unwrap_or_default().iter().enumerate() {
            if *byte == 0 {
                continue;
            }
            if at < 8 {
                // The server's bytes are signed, so their sign is extended over the mask.
                bits.mask |= i64::from(byte.cast_signed()).cast_unsigned() << (at * 8);
            } else {
                bits.mask |= 1 << 63;
            }
            let base = at as u64 * 8;
            bits.positions.extend((0..8).filter(|bit| byte >> bit & 1 == 1).map(|bit| base + bit));
        }
    } else {
        let (path, got) = (String::from_utf8_lossy(path), told_field(operator.as_bytes(), value));
        let message = format!("{path} takes an Array, a number, or a BinData but received: {got}");
        return fault(BAD_VALUE, message);
    }
    Ok(bits)
}
