//! Whole numbers where the server wants one, and its words where it gets something else.

use crate::{
    number::{NotWhole, Number},
    value::{Raw, told_field},
};

/// The whole number that a field holds.
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

/// One that is not below zero.
pub(crate) fn positive(name: &[u8], value: Raw<'_>) -> Result<u64, String> {
    let whole = number(name, value)?;
    u64::try_from(whole)
        .map_err(|_| format!("Expected a non-negative number in: {}", told_field(name, value)))
}

/// One that 32 bits hold.
pub(crate) fn small(name: &[u8], value: Raw<'_>) -> Result<i32, String> {
    let whole = number(name, value)?;
    i32::try_from(whole)
        .map_err(|_| format!("Cannot represent {} in an int", told_field(name, value)))
}

/// One that 32 bits hold and that is not below zero.
pub(crate) fn small_positive(name: &[u8], value: Raw<'_>) -> Result<u32, String> {
    let whole = small(name, value)?;
    u32::try_from(whole)
        .map_err(|_| format!("Expected a non-negative number in: {}", told_field(name, value)))
}
