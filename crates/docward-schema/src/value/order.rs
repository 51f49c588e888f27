//! The server's total order of values: first by type, then by value; the order of fields in objects
//! matters.

use std::cmp::Ordering;

use docward_bson::walk::{Fault, FaultKind, MAX_DEPTH};

use super::{ARRAY, BOOL, CODE, OBJECT, Raw, SCOPED_CODE, STRING, SYMBOL, text};

/// The rank of a type among the others. Types of one rank are compared by value.
pub(crate) fn rank(tag: u8) -> i16 {
    match tag {
        0xff => -1,
        0x06 => 0,
        0x0a => 5,
        0x01 | 0x10 | 0x12 | 0x13 => 10,
        STRING | SYMBOL => 15,
        OBJECT => 20,
        ARRAY => 25,
        0x05 => 30,
        0x07 => 35,
        BOOL => 40,
        0x09 => 45,
        0x11 => 47,
        0x0b => 50,
        0x0c => 55,
        CODE => 60,
        SCOPED_CODE => 65,
        _ => 127,
    }
}

/// The order of two values.
pub(crate) fn order(a: Raw<'_>, b: Raw<'_>) -> Result<Ordering, Fault> {
    order_at(a, b, 0)
}

fn order_at(a: Raw<'_>, b: Raw<'_>, depth: u32) -> Result<Ordering, Fault> {
    let ranks = rank(a.tag).cmp(&rank(b.tag));
    if ranks != Ordering::Equal {
        return Ok(ranks);
    }
    if let (Some(a), Some(b)) = (a.number(), b.number()) {
        return Ok(a.order(b));
    }
    Ok(match a.tag {
        STRING | SYMBOL | CODE => text(a.bytes).cmp(text(b.bytes)),
        OBJECT | ARRAY => return fields(a, b, depth),
        // Dates are signed, timestamps are not.
        0x09 => whole(a).map(u64::cast_signed).cmp(&whole(b).map(u64::cast_signed)),
        0x11 => whole(a).cmp(&whole(b)),
        // Shorter ones first; the length precedes the data.
        0x05 | 0x0c => a.bytes.len().cmp(&b.bytes.len()).then_with(|| a.bytes.cmp(b.bytes)),
        SCOPED_CODE => return scoped(a, b, depth),
        _ => a.bytes.cmp(b.bytes),
    })
}

fn whole(value: Raw<'_>) -> Option<u64> {
    Some(u64::from_le_bytes(value.bytes.try_into().ok()?))
}

/// Compares fields in pairs: type, name, value.
fn fields(a: Raw<'_>, b: Raw<'_>, depth: u32) -> Result<Ordering, Fault> {
    if depth > MAX_DEPTH {
        return Err(Fault::new(0, FaultKind::Depth));
    }
    let (mut a, mut b) = (a.elements()?, b.elements()?);
    loop {
        let (x, y) = match (a.next().transpose()?, b.next().transpose()?) {
            (None, None) => return Ok(Ordering::Equal),
            (None, Some(_)) => return Ok(Ordering::Less),
            (Some(_), None) => return Ok(Ordering::Greater),
            (Some(x), Some(y)) => (x, y),
        };
        let order = match rank(x.tag).cmp(&rank(y.tag)).then_with(|| x.key.cmp(y.key)) {
            Ordering::Equal => order_at(Raw::from(x), Raw::from(y), depth + 1)?,
            order => order,
        };
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
}

/// Compares code with scope: first the code.
fn scoped(a: Raw<'_>, b: Raw<'_>, depth: u32) -> Result<Ordering, Fault> {
    let (Some((code, scope)), Some((other_code, other_scope))) = (a.scoped_code(), b.scoped_code())
    else {
        return Err(Fault::new(0, FaultKind::Length));
    };
    match code.cmp(other_code) {
        Ordering::Equal => fields(scope, other_scope, depth),
        order => Ok(order),
    }
}
