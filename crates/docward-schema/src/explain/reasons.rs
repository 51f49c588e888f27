//! The server's reasons why a condition on values failed.

use crate::{
    schema::Test,
    value::{BINARY, REGEX, STRING, SYMBOL},
};

/// The numeric types.
pub(crate) const NUMBERS: [u8; 4] = [0x01, 0x10, 0x12, 0x13];
/// The types that patterns apply to.
pub(crate) const PATTERNS: [u8; 3] = [STRING, SYMBOL, REGEX];
/// The types that bit tests apply to.
pub(crate) const BITS: [u8; 5] = [0x01, 0x10, 0x12, 0x13, BINARY];

/// The reasons why a test failed, and why its negation failed.
pub(crate) fn reasons(test: &Test) -> (&'static str, &'static str) {
    match test {
        Test::Compare(..) => ("comparison failed", "comparison succeeded"),
        Test::In(_) => ("no matching value found in array", "matching value found in array"),
        Test::Pattern(_) => ("regular expression did not match", "regular expression did match"),
        Test::Mod { .. } => (
            "$mod did not evaluate to expected remainder",
            "$mod did evaluate to expected remainder",
        ),
        Test::Bits(_) => {
            ("bitwise operator failed to match", "bitwise operator matched successfully")
        }
        Test::Size(_) => {
            ("array length was not equal to given size", "array length was equal to given size")
        }
        Test::AnyObject(_) | Test::AnyValue(_) => {
            ("array did not satisfy the child predicate", "array did satisfy the child predicate")
        }
        Test::MultipleOf(_) => (
            "considered value is not a multiple of the specified value",
            "considered value is a multiple of the specified value",
        ),
        Test::Length(_) => {
            ("specified string length was not satisfied", "specified string length was satisfied")
        }
        _ => ("type did not match", "type did match"),
    }
}
