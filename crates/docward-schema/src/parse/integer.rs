//! Integers in keywords, and the server's messages for other values.

use crate::{
    number::{NotWhole, Number},
    value::{Raw, told_field},
};

/// The integer in a field.
pub(crate) fn number(name: &[u8], value: Raw<'_>) -> Result<i64, String> {
    let why = match value.number().map(Number::whole) {
        Some(Ok(whole)) => return Ok(whole),
        None => "Expected a number in",
        Some(Err(NotWhole::NaN)) => "Expected an integer, but found NaN in",
        Some(Err(NotWhole::TooLarge)) => "Cannot represent as a 64-bit integer",
        Some(Err(NotWhole::Fraction)) => "Expected an integer",
    };
    Err(format!("{why}: {}", told_field(name, value)))
}

/// An integer that is not negative.
pub(crate) fn positive(name: &[u8], value: Raw<'_>) -> Result<u64, String> {
    let whole = number(name, value)?;
    u64::try_from(whole)
        .map_err(|_| format!("Expected a non-negative number in: {}", told_field(name, value)))
}

/// An integer that fits 32 bits.
pub(crate) fn small(name: &[u8], value: Raw<'_>) -> Result<i32, String> {
    let whole = number(name, value)?;
    i32::try_from(whole)
        .map_err(|_| format!("Cannot represent {} in an int", told_field(name, value)))
}

/// An integer that fits 32 bits and is not negative.
pub(crate) fn small_positive(name: &[u8], value: Raw<'_>) -> Result<u32, String> {
    let whole = small(name, value)?;
    u32::try_from(whole)
        .map_err(|_| format!("Expected a non-negative number in: {}", told_field(name, value)))
}
